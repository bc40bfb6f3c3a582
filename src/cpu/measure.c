// SPDX-License-Identifier: Apache-2.0
// What is known of a finished step: kinetic energy, constraint virial, and the sums that FIRE steers by.
//
// Kinetic energy is always measured, the rest with the virial. All of it is a function of (x, v, f), so it does not depend on when it was last asked for. For each group
//   a = P(f/m)            acceleration that the constraints leave; m (a - f/m) is their force against f
//   b: r.b_ij = -v_ij^2   what bends the paths: constraint acceleration against inertia
//   w = P(v - dt f/m)     leap-frog: velocity half a step behind
// and the virial is -1/2 sum x (x) m (a - f/m + b), with v^2 the mean of both half steps for leap-frog. ref/move.c and
// docs/theory/constraints.md say why. The sums of a thread are in group order; threads are added in order.
#include "cpu/move.h"

#include <math.h>
#include <string.h>

static void add_outer(double sum[3][3], double factor, const double a[3], const double b[3])
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) sum[k][l] += factor * a[k] * b[l];
}

/// a = P(f/m); v and w into scratch. Returns false if a solver failed.
static bool accelerations(const mds_device *d, const cpu_group *g, cpu_scratch *s, bool half_step)
{
    const double dt = d->params.dt;
    int32_t      i;
    int          k;
    bool         solved;

    mds_cpu_group_load(d, g, s);
    for (i = 0; i < g->n; i++)
        for (k = 0; k < 3; k++) {
            s->v[i][k] = d->v[g->slot[i]][k];
            s->a[i][k] = s->f[i][k] = s->im[i] * d->f[g->slot[i]][k];
            s->w[i][k] = half_step ? s->v[i][k] - dt * s->a[i][k] : s->v[i][k];
        }
    solved = mds_cpu_group_project(g, s, (const double(*)[3])s->x, s->a, NULL);
    if (half_step) solved &= mds_cpu_group_project(g, s, (const double(*)[3])s->x, s->w, NULL);
    return solved;
}

static void inertia(const cpu_group *g, cpu_scratch *s, bool *solved)
{
    int32_t c;
    int     k;

    for (c = 0; c < g->nc; c++) {
        const int32_t i = g->pair[2 * c], j = g->pair[2 * c + 1];

        s->bias[c] = 0;
        for (k = 0; k < 3; k++) {
            const double dv = s->v[i][k] - s->v[j][k], dw = s->w[i][k] - s->w[j][k];

            s->bias[c] += 0.5 * (dv * dv + dw * dw);
        }
    }
    memset(s->r, 0, (size_t)g->n * sizeof *s->r);
    *solved &= mds_cpu_group_project(g, s, (const double(*)[3])s->x, s->r, s->bias);
}

static void visit_kinetic(mds_device *d, const cpu_group *g, cpu_scratch *s, cpu_move_sums *sums, const void *arg)
{
    int32_t i;

    (void)s;
    (void)arg;
    for (i = 0; i < g->n; i++) {
        const double *v = d->v[g->slot[i]];

        add_outer(sums->kinetic, 0.5 / d->inv_mass[g->slot[i]], v, v);
    }
}

static void visit_measure(mds_device *d, const cpu_group *g, cpu_scratch *s, cpu_move_sums *sums, const void *arg)
{
    const cpu_measure *what = arg;
    bool               solved = accelerations(d, g, s, what->half_step);
    int32_t            i;
    int                k;

    if (g->nc) inertia(g, s, &solved);
    for (i = 0; i < g->n; i++) {
        const double mass = 1 / s->im[i];
        double       pull[3], from[3];

        add_outer(sums->kinetic, 0.25 * mass, s->v[i], s->v[i]);
        add_outer(sums->kinetic, 0.25 * mass, s->w[i], s->w[i]);
        sums->fv += mass * mds_dot(s->a[i], s->v[i]);
        sums->ff += mass * mass * mds_dot(s->a[i], s->a[i]);
        sums->vv += mds_dot(s->v[i], s->v[i]);
        if (!g->nc) continue;
        // the forces of a group add up to zero: any origin will do, its first atom saves digits
        for (k = 0; k < 3; k++) {
            pull[k] = s->a[i][k] - s->f[i][k];
            from[k] = s->x[i][k] - s->x[0][k];
        }
        add_outer(sums->virial, -0.5 * mass, from, pull);
        add_outer(sums->inertia, -0.5 * mass, from, s->r[i]);
        if (!solved && d->atom_of[g->slot[i]] < sums->unsolved) sums->unsolved = d->atom_of[g->slot[i]];
    }
}

/// The sums over all groups.
static void visit_all(mds_device *d, const cpu_measure *what)
{
    const cpu_visit visit = what->forces || what->half_step ? visit_measure : visit_kinetic;
    int             t;

    mds_cpu_clear_sums(d);
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) {
        for (int kind = 0; kind < CPU_N_GROUPS; kind++) {
            int32_t first, last;

            mds_cpu_share(d, t, d->move->batches[kind].n, &first, &last);
            d->move->measure(d, kind, what, first, last, &d->move->sums[t]);
        }
        mds_cpu_visit_networks(d, t, visit, what);
    }
    mds_cpu_add_sums(d);
}

/// f holds an impulse (multiple time steps): kinetic energy and inertia, measured with it, stand, for so the velocities went; what
/// constraints take is that against the forces themselves.
static void measure_seen(mds_device *d)
{
    const cpu_measure forces = {.forces = true};
    double (*const f)[3] = d->f;

    d->f = d->f_seen;
    visit_all(d, &forces);
    d->f = f;
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) d->constraint_virial[k][l] = d->move->sums->virial[k][l] + d->move->inertia[k][l];
}

void mds_cpu_measure(mds_device *d, const cpu_measure *what)
{
    const cpu_move_sums *sum = d->move->sums;
    int                  k, l;

    visit_all(d, what);
    memcpy(d->kinetic, sum->kinetic, sizeof d->kinetic);
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) {
            d->move->inertia[k][l] = what->forces ? sum->inertia[k][l] : 0;
            d->constraint_virial[k][l] = what->forces ? sum->virial[k][l] + sum->inertia[k][l] : 0;
        }
    d->fv = what->forces ? sum->fv : 0;
    d->ff = what->forces ? sum->ff : 0;
    d->vv = what->forces ? sum->vv : 0;
    d->move->half_step = what->half_step;
    if (d->seen && what->forces) measure_seen(d);
}

static void visit_mix(mds_device *d, const cpu_group *g, cpu_scratch *s, cpu_move_sums *sums, const void *arg)
{
    const double m = d->params.mix, along = *(const double *)arg;
    bool         solved = accelerations(d, g, s, false);
    int32_t      i;
    int          k;

    for (i = 0; i < g->n; i++)
        for (k = 0; k < 3; k++) s->v[i][k] = m >= 0 && d->fv > 0 ? (1 - m) * s->v[i][k] + along * s->a[i][k] / s->im[i] : 0;
    solved &= mds_cpu_group_project(g, s, (const double(*)[3])s->x, s->v, NULL);
    for (i = 0; i < g->n; i++) {
        memcpy(d->v[g->slot[i]], s->v[i], sizeof s->v[i]);
        if (!solved && d->atom_of[g->slot[i]] < sums->unsolved) sums->unsolved = d->atom_of[g->slot[i]];
    }
}

/// v <- (1 - mix) v + mix |v| f/|f| with the force that constraints leave; uphill, or told to by a negative mix, all
/// stops [bitzek2006].
void mds_cpu_mix(mds_device *d)
{
    const double along = d->ff > 0 ? d->params.mix * sqrt(d->vv / d->ff) : 0;

    mds_cpu_visit_groups(d, visit_mix, &along);
}
