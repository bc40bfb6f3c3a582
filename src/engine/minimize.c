// SPDX-License-Identifier: Apache-2.0
// Energy minimisation by FIRE: dynamics that is turned towards the force and stopped when it goes uphill [bitzek2006].
//
//   P = f.v > 0 for more than N_MIN steps: longer steps, less steering;   P <= 0: stop, half the step, full steering.
// The largest move of an atom in a step is capped, so that overlapping atoms are pushed apart instead of thrown out.
// This is one of the two places that wait for the device in every step: the steering needs three sums.
#include "engine/engine.h"

#include <math.h>
#include <string.h>

enum { N_MIN = 5, CHECK_EVERY = 50 };

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

/// Largest force that constraints leave, kJ/mol/nm: kick from rest, project, look at m v/dt. Leaves the system at rest.
static mds_status free_force(mds_sim *s, double *largest, int32_t *atom)
{
    static const mds_op stop[] = {{MDS_MIX, 1}, {MDS_STOP, 0}}, kick[] = {{MDS_KICK, 1}, {MDS_FIX_V, 1}, {MDS_STOP, 0}};
    mds_params         *p = &s->params;
    const double        mix = p->mix;
    mds_frame          *f = &s->kept;
    int32_t             k;

    p->mix = -1;
    MDS_TRY(s->be->set(s->dev, p));
    MDS_TRY(s->be->move(s->dev, stop, 0));
    MDS_TRY(s->be->move(s->dev, kick, 0));
    MDS_TRY(s->be->observe(s->dev, MDS_FIELD_V, 1));
    MDS_TRY(s->be->collect(s->dev, 1, f));
    MDS_TRY(s->be->move(s->dev, stop, 0));
    p->mix = mix;
    *largest = 0;
    *atom = -1;
    for (k = 0; k < f->n; k++) {
        const double size = mds_norm(f->v[k]) * s->system.mass[f->id[k]] / p->dt;

        if (!(size <= *largest)) {
            *largest = size;
            *atom = f->id[k];
        }
    }
    return s->be->set(s->dev, p);
}

mds_status mds_minimize(mds_sim *s)
{
    const double longest_dt = 2 * s->config->run.dt, goal = s->config->run.force_tolerance;
    const double start_energy = mds_frame_potential(&s->frame);
    double       largest = s->frame.f_max;
    int32_t      atom = s->frame.f_max_atom;
    int          downhill = 0;
    char         label[64];

    s->params.dt = 0.1 * s->config->run.dt;
    s->params.mix = mix_start;
    MDS_TRY(s->be->set(s->dev, &s->params));
    MDS_TRY(free_force(s, &largest, &atom));
    while (s->step < s->last_step && largest > goal && !mds_signal_stop()) {
        const mds_work work = mds_due(s->config, &s->params, s->step + 1) | MDS_OBSERVE | MDS_ENERGY;

        MDS_TRY(mds_step(s, work));
        MDS_TRY(s->be->collect(s->dev, 0, &s->frame));
        if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
        MDS_TRY(mds_output_frame(s));
        MDS_TRY(steer(s, longest_dt, &downhill));
        if (s->step % CHECK_EVERY == 0 || s->frame.f_max < goal) {
            MDS_TRY(free_force(s, &largest, &atom));
            downhill = 0;
        }
        mds_report_progress(s, false);
    }
    MDS_TRY(free_force(s, &largest, &atom));
    mds_system_atom_label(&s->system, atom, label, sizeof label);
    mds_note("minimised from %.6g to %.6g kJ/mol in %lld steps; largest force %.4g kJ/mol/nm on %s%s", start_energy,
             mds_frame_potential(&s->frame), (long long)s->step, largest, label,
             largest > goal ? " (not converged: raise run.steps)" : "");
    s->last_step = s->step; // converged early is complete
    return mds_signal_stop() ? mds_fail(MDS_E_STOPPED, __FILE__, __LINE__, "stopped by a signal at step %lld", (long long)s->step)
                             : MDS_OK;
}
