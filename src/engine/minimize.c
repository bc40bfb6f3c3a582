// SPDX-License-Identifier: Apache-2.0
// Energy minimisation by FIRE: dynamics that is turned towards the force and stopped when it goes uphill [bitzek2006].
//
//   P = f.v > 0 for more than N_MIN steps: longer steps, less steering;   P <= 0: stop, half the step, full steering.
// The largest move of an atom in a step is capped, so that overlapping atoms are pushed apart instead of thrown out.
// FIRE may be on its way uphill when the steps run out: of the states looked at, the lowest is what the run ends with.
// A stopped minimisation resumes like any run: dt, mixing and the count of downhill steps belong to the kept state.
// This is one of the two places that wait for the device in every step: the steering needs three sums.
#include "engine/engine.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { N_MIN = 5, LOOK_EVERY = 50 };

static const double grow = 1.1, shrink = 0.5, mix_start = 0.1, mix_decay = 0.99;

/// Steer with the sums of the newest frame; zero the velocities when the last step went uphill.
static mds_status steer(mds_sim *s, double longest_dt, int *downhill)
{
    static const mds_op mix_only[] = {{MDS_MIX, 1}, {MDS_STOP, 0}};
    mds_params         *p = &s->params;

    if (s->frame.fv > 0) {
        if (++*downhill > N_MIN) {
            p->dt = fmin(p->dt * grow, longest_dt);
            p->mix *= mix_decay;
        }
        return s->be->set(s->dev, p);
    }
    *downhill = 0;
    p->dt = fmax(p->dt * shrink, 1e-6);
    p->mix = -1; // a negative mix stops all motion
    MDS_TRY(s->be->set(s->dev, p));
    MDS_TRY(s->be->move(s->dev, mix_only, 0));
    p->mix = mix_start;
    return s->be->set(s->dev, p);
}

/// A state that was looked at: where the atoms are, and the largest force that constraints leave.
typedef struct {
    mds_frame frame; // x; v is the probe's
    double    energy, largest;
    int32_t   atom;  // that has it
} stop;

/// The largest free force: kick from rest, project, look at m v/dt. Leaves the system at rest.
static mds_status look(mds_sim *s, stop *out)
{
    static const mds_op rest[] = {{MDS_MIX, 1}, {MDS_STOP, 0}}, kick[] = {{MDS_KICK, 1}, {MDS_FIX_V, 1}, {MDS_STOP, 0}};
    mds_params         *p = &s->params;
    const double        mix = p->mix;
    mds_frame          *f = &out->frame;
    int32_t             k;

    p->mix = -1;
    MDS_TRY(s->be->set(s->dev, p));
    MDS_TRY(s->be->move(s->dev, rest, 0));
    MDS_TRY(s->be->move(s->dev, kick, 0));
    MDS_TRY(s->be->observe(s->dev, MDS_FIELD_X | MDS_FIELD_V, 1));
    MDS_TRY(s->be->collect(s->dev, 1, f));
    MDS_TRY(s->be->move(s->dev, rest, 0));
    p->mix = mix;
    out->energy = mds_frame_potential(&s->frame);
    out->largest = 0;
    out->atom = -1;
    for (k = 0; k < f->n; k++) {
        const double size = mds_norm(f->v[k]) * s->system.mass[f->id[k]] / p->dt;

        if (!(size <= out->largest)) {
            out->largest = size;
            out->atom = f->id[k];
        }
    }
    s->free_force = out->largest;
    return s->be->set(s->dev, p);
}

/// Look at where the minimisation stands; *best becomes it if it is the lowest so far.
static mds_status compare(mds_sim *s, stop *here, stop *best)
{
    MDS_TRY(look(s, here));
    if (here->energy <= best->energy) {
        const stop other = *best;

        *best = *here;
        *here = other;
    }
    return MDS_OK;
}

/// Go back to a state: the run ends there.
static mds_status go_back(mds_sim *s, stop *to)
{
    const size_t n = (size_t)s->system.n_atoms;

    mds_frame_sort(&to->frame);
    memcpy(s->start.x, to->frame.x, n * sizeof *s->start.x);
    memset(s->start.v, 0, n * sizeof *s->start.v);
    s->start.step = s->step;
    s->start.time = s->frame.time;
    MDS_TRY(s->be->upload(s->dev, &s->domain, &s->start));
    MDS_TRY(mds_redistribute(s));
    MDS_TRY(mds_forces(s, MDS_ENERGY | MDS_VIRIAL));
    MDS_TRY(s->be->observe(s->dev, 0, 0));
    return s->be->collect(s->dev, 0, &s->frame);
}

/// Keep the state as a checkpoint would hold it. MDS_CPL_ALPHA is the thermostat's, which minimisation has not.
static mds_status keep(mds_sim *s, int downhill)
{
    MDS_TRY(mds_keep(s));
    s->kept_dt = s->params.dt;
    s->kept_mix = s->params.mix;
    s->kept.coupling[MDS_CPL_ALPHA] = downhill;
    return MDS_OK;
}

/// Atoms at one point push each other nowhere: move every atom by about 0.1 pm, so that they have a direction to part in.
static mds_status nudge(mds_sim *s)
{
    static const mds_op fix_x[] = {{MDS_FIX_X, 1}, {MDS_STOP, 0}};
    const double        way = 1e-4; // nm
    int32_t             i;
    int                 k;

    for (i = 0; i < s->system.n_atoms; i++) {
        double gauss[4];

        mds_gauss4((uint64_t)s->config->run.seed, MDS_RNG_MINIMIZE, 0, (uint32_t)i, gauss);
        for (k = 0; k < 3; k++) s->start.x[i][k] += way * gauss[k];
    }
    MDS_TRY(s->be->upload(s->dev, &s->domain, &s->start));
    MDS_TRY(mds_redistribute(s));
    if (s->system.constraint.n) MDS_TRY(s->be->move(s->dev, fix_x, 0));
    MDS_TRY(mds_redistribute(s));
    MDS_TRY(mds_forces(s, MDS_ENERGY | MDS_VIRIAL));
    mds_note("atoms lie on top of each other: every atom was moved by about 0.1 pm, so that they can part");
    return MDS_OK;
}

/// The first look: FIRE's first step, or where the checkpoint left it.
static mds_status begin(mds_sim *s, int *downhill, stop *here, stop *best)
{
    best->energy = INFINITY;
    s->free_force = INFINITY;
    if (s->resumed) {
        MDS_TRY(s->be->observe(s->dev, 0, 0));
        MDS_TRY(s->be->collect(s->dev, 0, &s->frame));
        *downhill = (int)s->start.coupling[MDS_CPL_ALPHA];
        return keep(s, *downhill);
    }
    *downhill = 0;
    s->params.dt = 0.1 * s->config->run.dt;
    s->params.mix = mix_start;
    MDS_TRY(s->be->set(s->dev, &s->params));
    if (!(mds_frame_potential(&s->frame) <= MDS_ABSURD_ENERGY * s->system.n_atoms)) {
        MDS_TRY(nudge(s));
        MDS_TRY(s->be->observe(s->dev, 0, 0));
        MDS_TRY(s->be->collect(s->dev, 0, &s->frame));
        if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
    }
    MDS_TRY(compare(s, here, best));
    return keep(s, *downhill);
}

/// One step of FIRE and what is due after it.
static mds_status advance(mds_sim *s, int *downhill, stop *here, stop *best)
{
    const mds_work work = mds_due(s->config, &s->params, s->step + 1) | MDS_OBSERVE | MDS_ENERGY;

    MDS_TRY(mds_step(s, work));
    MDS_TRY(s->be->collect(s->dev, 0, &s->frame));
    if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
    MDS_TRY(mds_output_frame(s));
    MDS_TRY(steer(s, 2 * s->config->run.dt, downhill));
    if (s->step % LOOK_EVERY == 0 || s->frame.f_max < s->config->run.force_tolerance) {
        MDS_TRY(compare(s, here, best));
        *downhill = 0;
    }
    if (work & MDS_SEARCH) MDS_TRY(keep(s, *downhill));
    MDS_TRY(mds_checkpoint_if_due(s));
    mds_report_progress(s, false);
    return MDS_OK;
}

/// The lowest state, and in words whether it is good enough.
static mds_status end(mds_sim *s, double start_energy, stop *here, stop *best)
{
    const double goal = s->config->run.force_tolerance;
    char         label[64];

    if (!(s->free_force <= goal)) MDS_TRY(compare(s, here, best));
    if (!(mds_frame_potential(&s->frame) <= best->energy)) MDS_TRY(go_back(s, best));
    mds_system_atom_label(&s->system, best->atom, label, sizeof label);
    mds_log(best->largest <= goal ? MDS_LOG_NOTE : MDS_LOG_WARN,
            "minimised from %.8g to %.8g kJ/mol in %lld steps; largest force %.4g kJ/mol/nm on %s: %s run.force_tolerance = %g%s",
            start_energy, best->energy, (long long)s->step, best->largest, label, best->largest <= goal ? "within" : "NOT within",
            goal, best->largest <= goal ? "" : "; raise run.steps and run again to go on");
    s->last_step = s->step; // converged early is complete
    return MDS_OK;
}

static mds_status minimize(mds_sim *s, stop *here, stop *best)
{
    int    downhill;
    double start_energy;

    MDS_TRY(begin(s, &downhill, here, best));
    start_energy = mds_frame_potential(&s->frame);
    while (s->step < s->last_step && !(s->free_force <= s->config->run.force_tolerance)) {
        if (mds_signal_stop() || (s->guard = mds_guard_tripped(s))) return MDS_OK;
        MDS_TRY(advance(s, &downhill, here, best));
    }
    return end(s, start_energy, here, best);
}

mds_status mds_minimize(mds_sim *s)
{
    stop       here = {0}, best = {0};
    mds_status status = minimize(s, &here, &best);

    mds_frame_free(&here.frame);
    mds_frame_free(&best.frame);
    return status;
}
