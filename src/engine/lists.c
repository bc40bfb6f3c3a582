// SPDX-License-Identifier: Apache-2.0
// The pair lists' radii and intervals: what the estimator (num/buffer.c) must know of the system, and its answer.
//
// Decision 005 has the reasons. The estimator keeps what the lists miss on average below nonbonded.list_tolerance; the guard
// (cpu/guard.c) sees to it that no single pair is missed whose force exceeds a bound. The bound is what PME is allowed to be
// wrong by on every atom, pme.force_error; without PME it is 0, that is, no pair within the cut-off may be missing.
#include "engine/engine.h"

#include "base/units.h"
#include "num/num.h"

#include <math.h>
#include <string.h>

/// Mean square speed of the atoms of a rigid water, kT/Da: translation and rotation about its centre of mass.
static void water_speeds(const double length[2], double mo, double mh, double v2[2])
{
    const double half = 0.5 * length[1], height = sqrt(length[0] * length[0] - half * half), mass = mo + 2 * mh;
    const double o = height * 2 * mh / mass, h = height - o; // from the centre of mass
    const double ix = mo * o * o + 2 * mh * h * h, iy = 2 * mh * half * half, iz = ix + iy;

    v2[0] = 3 / mass + o * o / ix + o * o / iz;
    v2[1] = 3 / mass + h * h / ix + half * half / iy + (h * h + half * half) / iz;
}

/// Mean square speed of every atom, kT/Da. Networks of links count as free atoms: faster than they are.
static void speeds(const mds_system *m, double *v2)
{
    int32_t i, k;
    int     a;

    for (i = 0; i < m->n_atoms; i++) v2[i] = m->mass[i] > 0 ? 3 / m->mass[i] : 0;
    for (k = 0; k < m->water.n; k++) {
        const int32_t *atom = m->water.atom + 3 * (size_t)k;
        double         of[2];

        water_speeds(m->water.length + 2 * (size_t)k, m->mass[atom[0]], m->mass[atom[1]], of);
        v2[atom[0]] = of[0];
        v2[atom[1]] = v2[atom[2]] = of[1];
    }
    for (k = 0; k < m->cluster.n; k++)
        for (a = 1; a < 4; a++) {
            const int32_t x = m->cluster.atom[4 * (size_t)k], h = m->cluster.atom[4 * (size_t)k + (size_t)a];

            // across the bond it turns freely, along it it takes its heavy atom with it
            if (h >= 0) v2[h] = 2 / m->mass[h] + 1 / (m->mass[h] + m->mass[x]);
        }
}

/// Sums over the atoms of one class.
typedef struct {
    double number, charge, charge_most, v2, massive;
} sums;

/// LJ of the mean and of the strongest pair of each kind, from how many atoms of each type and class there are.
static void pair_types(const mds_system *m, const double (*number)[2], const sums of[2], mds_buffer_system *b)
{
    const size_t n = (size_t)m->n_types;
    double       most[3] = {0};

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (int k = 0; k < 4; k++) {
                const int    a = k / 2, c = k % 2, kind = a + c;
                const double pairs = number[i][a] * number[j][c] / (of[a].number * of[c].number * (kind == 1 ? 2 : 1));
                // 12-6-4: a C6 with at least its force inside the cut-off
                const double c4 = m->c4 ? 2.0 / 3 * m->c4[i * n + j] * b->cut * b->cut : 0;
                const double c6 = fabs(m->c6[i * n + j]) + fabs(c4), c12 = m->c12[i * n + j];

                if (!(number[i][a] > 0 && number[j][c] > 0)) continue;
                b->lj_mean[kind][0] += pairs * c6;
                b->lj_mean[kind][1] += pairs * c12;
                const double force = 6 * c6 + 12 * c12 * pow(b->cut, -6);
                if (force <= most[kind]) continue;
                most[kind] = force;
                b->lj_most[kind][0] = c6;
                b->lj_most[kind][1] = c12;
            }
}

/// Temperature to expect, K: that of the thermostat, if there is one, or, where it is higher, that of the start: of its velocities or of
/// those to be drawn. A start at rest will warm up: half of run.temperature at least.
static double warmth(const mds_sim *s)
{
    const mds_config *c = s->config;
    const bool        coupled = c->thermostat.kind != MDS_THERMOSTAT_NONE || c->run.integrator == MDS_INTEGRATOR_LANGEVIN;
    const double      asked = mds_config_given(c, "thermostat.temperature") ? c->thermostat.temperature : c->run.temperature;
    const double      bath = coupled ? asked : 0, n_degrees = (double)mds_system_n_degrees(&s->system, false, false);
    double            twice_kinetic = 0;
    int32_t           i;

    if (c->system.velocities != MDS_VELOCITIES_FILE || !s->start.has_velocities || !(n_degrees > 0))
        return fmax(c->run.temperature, bath);
    for (i = 0; i < s->system.n_atoms; i++) twice_kinetic += s->system.mass[i] * mds_dot(s->start.v[i], s->start.v[i]);
    return fmax(fmax(twice_kinetic / (n_degrees * MDS_BOLTZMANN), 0.5 * c->run.temperature), bath);
}

static mds_status gather(const mds_sim *s, mds_buffer_system *b)
{
    const mds_system *m = &s->system;
    const double      volume = mds_box_volume(&s->start.box), kt = MDS_BOLTZMANN * warmth(s);
    double           *v2 = NULL, (*number)[2] = NULL;
    sums              of[2] = {{0}};
    mds_status        status;
    int32_t           i;
    int               k;

    MDS_TRY_GOTO(mds_alloc(&v2, (size_t)m->n_atoms, sizeof *v2));
    MDS_TRY_GOTO(mds_alloc(&number, (size_t)m->n_types, sizeof *number));
    speeds(m, v2);
    for (i = 0; i < m->n_atoms; i++) {
        const int light = mds_is_light(m->mass[i]);
        const double q = s->params.coulomb == MDS_COULOMB_NONE ? 0 : fabs(m->charge[i]);

        of[light].number += 1;
        of[light].charge += q;
        of[light].charge_most = fmax(of[light].charge_most, q);
        of[light].v2 += v2[i];
        of[light].massive += m->mass[i] > 0;
        number[m->type[i]][light] += 1;
    }
    // a slab or a droplet is denser than its box: that of thin matter at least
    b->density = fmax(volume > 0 ? m->n_atoms / volume : 0, 30);
    b->n_atoms = m->n_atoms;
    for (k = 0; k < 2; k++) {
        b->share[k] = of[k].number / m->n_atoms;
        b->speed[k] = of[k].massive > 0 ? sqrt(kt * of[k].v2 / (3 * of[k].massive)) : 0;
    }
    for (k = 0; k < 4; k++) {
        const sums *a = &of[k / 2], *other = &of[k % 2];

        b->qq_mean[k / 2 + k % 2] = a->number * other->number > 0 ? a->charge * other->charge / (a->number * other->number) : 0;
        b->qq_most[k / 2 + k % 2] = a->charge_most * other->charge_most;
    }
    pair_types(m, (const double(*)[2])number, of, b);
    status = MDS_OK;
fail:
    mds_free(v2);
    mds_free(number);
    return status;
}

static mds_status coulomb_form(const mds_params *p, mds_short *out)
{
    mds_split  split = {0};
    mds_status status;

    switch (p->coulomb) {
    case MDS_COULOMB_PME:
        MDS_TRY(mds_split_init(&split, p->split == MDS_SPLIT_PROLATE ? MDS_NUM_PROLATE : MDS_NUM_GAUSSIAN, p->split_shape, p->cut_q, 1));
        status = mds_short_ewald(&split, false, 1e-9, out);
        mds_split_free(&split);
        return status;
    case MDS_COULOMB_REACTION_FIELD:
        mds_short_reaction_field(p->cut_q, p->rf_dielectric, out);
        return MDS_OK;
    case MDS_COULOMB_CUT:
    case MDS_COULOMB_NONE:
        mds_short_cutoff(p->cut_q, false, out);
        return MDS_OK;
    }
    MDS_FAIL(MDS_E_INTERNAL, "unknown Coulomb form %d", (int)p->coulomb);
}

/// A minimisation has no speeds to foresee anything from: wide lists, and an atom beyond half the buffer makes a new one.
static void choose_still(mds_sim *s, double cut)
{
    const mds_config *c = s->config;
    mds_params       *p = &s->params;
    const double      buffer = c->nonbonded.list_buffer > 0 ? c->nonbonded.list_buffer : 0.17;

    p->list_interval = c->run.list_interval > 0 ? (int32_t)c->run.list_interval : 10;
    p->list_radius = cut + buffer;
    p->prune_radius = cut + fmin(0.5 * buffer, 0.05);
    mds_sim_say(s, "list: outer radius %.3f nm, inner %.3f nm, rebuilt every %d steps and whenever an atom has moved %.3f nm",
                p->list_radius, p->prune_radius, p->list_interval, 0.5 * buffer);
}

mds_status mds_sim_choose_list(mds_sim *s)
{
    const mds_config *c = s->config;
    mds_params       *p = &s->params;
    const double      cut = fmax(p->cut_lj, p->cut_q);
    mds_buffer_system b = {.cut = cut, .cut_lj = p->cut_lj};
    const int32_t     interval = c->run.list_interval > 0 ? (int32_t)c->run.list_interval : s->tuned.list_interval;
    mds_buffer_choice choice = {0}, given = {.list_interval = interval, .outer = c->nonbonded.list_buffer};
    mds_short         form = {0};
    int               kind;

    if (!(cut > 0)) {
        p->list_interval = c->run.list_interval > 0 ? (int32_t)c->run.list_interval : 20;
        mds_sim_say(s, "list: every pair");
        return MDS_OK;
    }
    if (c->run.integrator == MDS_INTEGRATOR_MINIMIZE) {
        choose_still(s, cut);
        return MDS_OK;
    }
    MDS_TRY(coulomb_form(p, &form));
    b.coulomb = &form;
    MDS_TRY(gather(s, &b));
    for (kind = 0; kind < 3; kind++)
        b.depth[kind] = p->list_depth[kind] = p->coulomb == MDS_COULOMB_PME ? mds_buffer_depth(&b, kind, c->pme.force_error) : 0;
    mds_buffer_choose(&b, p->dt, c->nonbonded.list_tolerance, &given, &choice);
    p->list_pairwise = true;
    p->list_interval = choice.list_interval;
    p->prune_interval = choice.prune_interval;
    p->list_radius = cut + choice.outer;
    p->prune_radius = cut + choice.inner;
    mds_sim_say(s, "list: outer radius %.3f nm for %d steps, inner %.3f nm for %d; a new one before its time if it lacks a pair more than "
                   "%.3f, %.3f, %.3f nm inside the cut-off (with none, one, two hydrogens)",
                p->list_radius, p->list_interval, p->prune_radius, p->prune_interval, p->list_depth[0], p->list_depth[1], p->list_depth[2]);
    return MDS_OK;
}
