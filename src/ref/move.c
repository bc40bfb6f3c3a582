// SPDX-License-Identifier: Apache-2.0
// Moving atoms: the operations of an integrator one after the other, each a plain loop (backend/backend.h).
//
// Clock. A list with a DRIFT begins a step: the box scaling left by `couple` is applied first, step and time advance
// at its end, and there the sites are placed and the way since the last search is looked at. A list without DRIFT
// ends a step: kinetic energy and constraint virial are measured at its end if energies are due.
//
// Which kinetic energy. Verlet's v is at the time of x. Leap-frog's is half a step ahead after the full kick; the
// half step behind is P(v - dt f/m), P taking out what is along constraints, and the mean of the two energies is
// reported. The middle scheme's v after its full kick is the one with Maxwell's distribution. So a full KICK in a
// list without DRIFT means leap-frog unless the step began with NOISE.
//
// Constraint virial. The constraint force at (x, v, f) makes the second derivative of every squared length vanish:
// r.a_ij + v_ij^2 = 0. It is solved for directly, so it is a function of the state like every other force, the
// same whatever the integrator, and P V = N kT for free rigid bodies without an error of the time step
// (docs/theory/constraints.md).
#include "ref/ref.h"

#include "base/rng.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

static void kick(mds_device *d, double h)
{
    int32_t i;
    int     k;

    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3 && d->system->mass[i] > 0; k++) d->v[i][k] += h * d->f[i][k] / d->system->mass[i];
}

/// With max_move, an atom that would go further goes that far, and its velocity is cut to match.
static void drift(mds_device *d, double h)
{
    int32_t i;
    int     k;

    if (!d->drifted) memcpy(d->x_fix, d->x, (size_t)d->n * sizeof *d->x);
    d->drifted = true;
    for (i = 0; i < d->n; i++) {
        const double way = h * mds_norm(d->v[i]), limit = d->params.max_move;

        if (d->system->mass[i] <= 0) continue;
        for (k = 0; limit > 0 && way > limit && k < 3; k++) d->v[i][k] *= limit / way;
        for (k = 0; k < 3; k++) d->x[i][k] += h * d->v[i][k];
    }
}

static double kinetic_energy(const mds_device *d)
{
    double  sum = 0;
    int32_t i;

    for (i = 0; i < d->n; i++) sum += 0.5 * d->system->mass[i] * mds_dot(d->v[i], d->v[i]);
    return sum;
}

/// v = c v + sqrt((1 - c^2) kT/m) gauss, c = exp(-h/tau): exact for any h. The nth NOISE of a list draws from its own
/// stream.
static void noise(mds_device *d, double h, uint32_t nth)
{
    const mds_params *p = &d->params;
    const double      c = exp(-h / p->tau_t), spread = (1 - c * c) * MDS_BOLTZMANN * p->temperature;
    const double      before = kinetic_energy(d);
    int32_t           i;
    int               k;

    for (i = 0; i < d->n; i++) {
        double gauss[4];

        if (d->system->mass[i] <= 0) continue;
        mds_gauss4(p->seed, MDS_RNG_LANGEVIN + (nth << 8), (uint64_t)d->step, (uint32_t)i, gauss);
        for (k = 0; k < 3; k++) d->v[i][k] = c * d->v[i][k] + sqrt(spread / d->system->mass[i]) * gauss[k];
    }
    mds_ref_project(d, d->v, NULL);
    d->work_noise += kinetic_energy(d) - before;
}

/// FIRE's mixing. The force is the part that constraints leave; uphill, or told to by a negative mix, all stops
/// [bitzek2006].
static mds_status mix(mds_device *d)
{
    const double m = d->params.mix;
    double (*a)[3];
    int32_t i;
    int     k;

    MDS_TRY(mds_alloc(&a, (size_t)d->n, sizeof *a));
    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3; k++) a[i][k] = d->system->mass[i] > 0 ? d->f[i][k] / d->system->mass[i] : 0;
    mds_ref_project(d, a, NULL);
    d->fv = d->ff = d->vv = 0;
    for (i = 0; i < d->n; i++) {
        const double mass = d->system->mass[i];

        d->fv += mass * mds_dot(a[i], d->v[i]);
        d->ff += mass * mass * mds_dot(a[i], a[i]);
        d->vv += mds_dot(d->v[i], d->v[i]);
    }
    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3; k++)
            d->v[i][k] = m >= 0 && d->fv > 0 ? (1 - m) * d->v[i][k] + m * sqrt(d->vv / d->ff) * d->system->mass[i] * a[i][k] : 0;
    mds_ref_project(d, d->v, NULL);
    mds_free(a);
    return MDS_OK;
}

static void add_outer(double sum[3][3], double factor, const double a[3], const double b[3])
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) sum[k][l] += factor * a[k] * b[l];
}

/// Sums of a measurement, from work arrays: a, the force part of the constraint accelerations; b, their inertial part;
/// w, the velocities half a step behind (or v itself).
static void measure_sums(mds_device *d, double (*const a)[3], double (*const b)[3], double (*const w)[3])
{
    int32_t i;
    int     k;

    memset(d->kinetic, 0, sizeof d->kinetic);
    memset(d->constraint_virial, 0, sizeof d->constraint_virial);
    memset(d->constraint_inertia, 0, sizeof d->constraint_inertia);
    d->fv = d->ff = d->vv = 0;
    for (i = 0; i < d->n; i++) {
        const double mass = d->system->mass[i];
        double       pull[3];

        if (mass <= 0) continue;
        add_outer(d->kinetic, 0.25 * mass, d->v[i], d->v[i]);
        add_outer(d->kinetic, 0.25 * mass, w[i], w[i]);
        for (k = 0; k < 3; k++) pull[k] = a[i][k] - d->f_seen[i][k] / mass;
        add_outer(d->constraint_virial, -0.5 * mass, d->x[i], pull);
        add_outer(d->constraint_inertia, -0.5 * mass, d->x[i], b[i]);
        d->fv += mass * mds_dot(a[i], d->v[i]);
        d->ff += mass * mass * mds_dot(a[i], a[i]);
        d->vv += mds_dot(d->v[i], d->v[i]);
    }
    for (i = 0; i < 9; i++) d->constraint_virial[i / 3][i % 3] += d->constraint_inertia[i / 3][i % 3];
}

mds_status mds_ref_measure(mds_device *d, bool half_step)
{
    const int32_t nc = mds_ref_n_constraints(d->system);
    const double  dt = d->params.dt;
    double (*a)[3], (*b)[3], (*w)[3], *bias;
    int32_t i;
    int     k;

    MDS_TRY(mds_alloc(&a, 3 * (size_t)d->n, sizeof *a));
    MDS_TRY(mds_alloc(&bias, (size_t)nc + 1, sizeof *bias));
    b = a + d->n;
    w = b + d->n;
    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3; k++) {
            a[i][k] = d->system->mass[i] > 0 ? d->f_seen[i][k] / d->system->mass[i] : 0;
            w[i][k] = half_step && d->system->mass[i] > 0 ? d->v[i][k] - dt * (d->f[i][k] / d->system->mass[i]) : d->v[i][k];
        }
    d->half_step = half_step;
    if (half_step) mds_ref_project(d, w, NULL);
    mds_ref_project(d, a, NULL);
    mds_ref_squares(d, d->v, 0.5, bias);
    mds_ref_squares(d, w, 0.5, bias);
    mds_ref_project(d, b, bias);
    measure_sums(d, a, b, w);
    mds_free(a);
    mds_free(bias);
    return MDS_OK;
}

/// The guard of the list, as cpu/guard.c explains it: does any pair that was beyond the list's radius at the search matter now?
static bool guard_trips(const mds_device *d)
{
    const mds_params *p = &d->params;
    const double      cut = fmax(p->cut_lj, p->cut_q), radius = p->list_radius * d->list_scale;
    const mds_images  images = mds_images_of(&d->box);
    int32_t           n_fast = 0, i, j;
    int               k;

    for (i = 0; i < d->n; i++) {
        const int    light = mds_is_light(d->system->mass[i]);
        const double depth = p->list_pairwise ? fmin(p->list_depth[light], p->list_depth[light + 1]) : 0;
        double       way[3];

        for (k = 0; k < 3; k++) way[k] = d->x[i][k] - d->x_list[i][k];
        if (mds_norm(way) <= fmin(0.5 * (radius - cut + depth), 0.5 * cut)) continue;
        if (!p->list_pairwise || mds_norm(way) > 0.5 * cut || ++n_fast > d->n / 100 + 8) return true;
    }
    for (i = 0; n_fast && i < d->n; i++)
        for (j = i + 1; j < d->n; j++) {
            double now[3], then[3];

            for (k = 0; k < 3; k++) now[k] = d->x[i][k] - d->x[j][k];
            mds_images_nearest(&images, now);
            for (k = 0; k < 3; k++) then[k] = now[k] - (d->x[i][k] - d->x_list[i][k]) + (d->x[j][k] - d->x_list[j][k]);
            const double depth = p->list_depth[mds_is_light(d->system->mass[i]) + mds_is_light(d->system->mass[j])];
            if (mds_norm(now) < cut - depth && mds_norm(then) > radius) return true;
        }
    return false;
}

/// Not a number is a fault and trips; else the guard decides.
static void check_way(mds_device *d)
{
    const mds_params *p = &d->params;
    const bool        all_pairs = mds_box_is_none(&d->box) && (p->cut_lj <= 0 || (p->coulomb != MDS_COULOMB_NONE && p->cut_q <= 0));
    int32_t           i;

    for (i = 0; i < d->n; i++) {
        if (isfinite(mds_dot(d->x[i], d->x[i])) && isfinite(mds_dot(d->v[i], d->v[i]))) continue;
        if (!(d->fault & MDS_FAULT_NOT_FINITE)) d->fault_atom = i;
        d->fault |= MDS_FAULT_NOT_FINITE;
        d->tripped = true;
    }
    if (d->tripped || !d->listed || fmax(p->cut_lj, p->cut_q) <= 0 || all_pairs) return;
    d->tripped = guard_trips(d);
}

/// End of a step's first list: sites, clock, buffer.
static void advance(mds_device *d)
{
    // time is a compensated sum, its carry saved with the state: exact to a rounding after any number of steps and
    // the same bits after a resume
    const double step = d->params.dt - d->coupling[MDS_CPL_TIME_CARRY], sum = d->time + step;

    d->coupling[MDS_CPL_TIME_CARRY] = (sum - d->time) - step;
    d->time = sum;
    d->step++;
    mds_ref_vsite_place(d);
    check_way(d);
}

static bool has(const mds_op *ops, mds_op_kind kind)
{
    for (; ops->kind != MDS_STOP; ops++)
        if (ops->kind == kind) return true;
    return false;
}

static mds_status do_op(mds_device *d, mds_op op, uint32_t nth_noise)
{
    const double h = op.fraction * d->params.dt;

    switch (op.kind) {
    case MDS_KICK:
        kick(d, h);
        return MDS_OK;
    case MDS_DRIFT:
        drift(d, h);
        return MDS_OK;
    case MDS_NOISE:
        noise(d, h, nth_noise);
        return MDS_OK;
    case MDS_FIX_X:
        if (!d->drifted) memcpy(d->x_fix, d->x, (size_t)d->n * sizeof *d->x);
        d->drifted = false;
        return mds_ref_fix_x(d, h);
    case MDS_FIX_V:
        mds_ref_project(d, d->v, NULL);
        return MDS_OK;
    case MDS_MIX:
        return mix(d);
    case MDS_STOP:
        return MDS_OK;
    }
    MDS_FAIL(MDS_E_INTERNAL, "unknown operation %d", (int)op.kind);
}

mds_status mds_ref_move(mds_device *d, const mds_op *ops, mds_work work)
{
    const bool    begins = has(ops, MDS_DRIFT);
    bool          half_step = false;
    uint32_t      nth_noise = 0;
    const mds_op *op;

    if (d->tripped) return MDS_OK;
    if (begins) MDS_TRY(mds_ref_apply_scale(d));
    if (begins) d->noisy = has(ops, MDS_NOISE);
    for (op = ops; op->kind != MDS_STOP; op++) {
        MDS_TRY(do_op(d, *op, nth_noise));
        nth_noise += op->kind == MDS_NOISE;
        half_step |= op->kind == MDS_KICK && op->fraction == 1;
    }
    if (begins)
        advance(d);
    else if (work & (MDS_ENERGY | MDS_VIRIAL | MDS_COUPLE | MDS_OBSERVE)) {
        const double fv = d->fv, ff = d->ff, vv = d->vv;

        MDS_TRY(mds_ref_measure(d, half_step && !d->noisy));
        if (!(work & MDS_VIRIAL) && !has(ops, MDS_MIX)) { // measured with the virial only
            memset(d->constraint_virial, 0, sizeof d->constraint_virial);
            memset(d->constraint_inertia, 0, sizeof d->constraint_inertia);
            d->fv = d->ff = d->vv = 0;
        }
        if (has(ops, MDS_MIX)) { // FIRE decides by the sums from before its mixing
            d->fv = fv;
            d->ff = ff;
            d->vv = vv;
        }
    }
    return begins ? MDS_OK : mds_ref_book_scale(d);
}
