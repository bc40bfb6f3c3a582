// SPDX-License-Identifier: Apache-2.0
// Couplings on the device: common motion, thermostat, barostat; arithmetic in num/couple.h, order and bookkeeping in
// ref/couple.c and docs/theory/coupling.md.
#include "cpu/move.h"

#include "base/units.h"
#include "num/couple.h"

#include <math.h>
#include <string.h>

static double trace(double m[3][3])
{
    return m[0][0] + m[1][1] + m[2][2];
}

// ------------------------------------------------------------------------------------------ common motion

/// Mass, centre, momentum, angular momentum and inertia about the origin, one thread's share.
typedef struct {
    double mass, centre[3], momentum[3], spin[3], second[3][3], kinetic[3][3], pad[4];
} motion;

static void add_motion(const mds_device *d, int32_t slot, motion *m)
{
    const double mass = 1 / d->inv_mass[slot], *x = d->x[slot], *v = d->v[slot];
    double       spin[3];
    int          k, l;

    mds_cross(x, v, spin);
    m->mass += mass;
    for (k = 0; k < 3; k++) {
        m->centre[k] += mass * x[k];
        m->momentum[k] += mass * v[k];
        m->spin[k] += mass * spin[k];
        for (l = 0; l < 3; l++) {
            m->second[k][l] += mass * x[k] * x[l];
            m->kinetic[k][l] += 0.5 * mass * v[k] * v[l];
        }
    }
}

static mds_status sum_motion(const mds_device *d, motion *out)
{
    motion *part;
    int     t;
    size_t  k;

    MDS_TRY(mds_alloc(&part, (size_t)d->n_threads, sizeof *part));
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) {
        int32_t first, last, slot;

        mds_cpu_share(d, t, d->n_slots, &first, &last);
        for (slot = first; slot < last; slot++)
            if (d->inv_mass[slot] > 0) add_motion(d, slot, &part[t]);
    }
    *out = part[0];
    for (t = 1; t < d->n_threads; t++)
        for (k = 0; k < sizeof *out / sizeof(double); k++) ((double *)out)[k] += ((const double *)&part[t])[k];
    mds_free(part);
    return MDS_OK;
}

/// Angular velocity of the whole about its centre; none for a line or a point.
static void rotation(const motion *m, const double centre[3], double w[3])
{
    double inertia[3][3], spin[3], shift[3], c[3][3], square = 0, det;
    int    k, l;

    mds_cross(centre, m->momentum, shift);
    for (k = 0; k < 3; k++) {
        spin[k] = m->spin[k] - shift[k];
        square += m->second[k][k] - m->mass * centre[k] * centre[k];
        w[k] = 0;
    }
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) inertia[k][l] = (k == l) * square - (m->second[k][l] - m->mass * centre[k] * centre[l]);
    for (k = 0; k < 3; k++) mds_cross(inertia[(k + 1) % 3], inertia[(k + 2) % 3], c[k]);
    det = mds_dot(inertia[0], c[0]);
    if (!(det > 1e-12 * pow(trace(inertia), 3))) return;
    for (k = 0; k < 3; k++) w[k] = (c[0][k] * spin[0] + c[1][k] * spin[1] + c[2][k] * spin[2]) / det;
}

/// Velocity of the whole, and its kinetic energy booked as gone; who scales velocities next takes it out (change_velocities). A sum
/// over all atoms of m v alone: the change of kinetic energy follows from it.
static mds_status drop_drift(mds_device *d, double u[3])
{
    motion *part;
    double  mass = 0, momentum[3] = {0};

    MDS_TRY(mds_alloc(&part, (size_t)d->n_threads, sizeof *part));
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (int t = 0; t < d->n_threads; t++) {
        double  m = 0, p0 = 0, p1 = 0, p2 = 0;
        int32_t first, last;

        mds_cpu_share(d, t, d->n_slots, &first, &last);
        for (int32_t slot = first; slot < last; slot++) {
            const double here = d->inv_mass[slot] > 0 ? 1 / d->inv_mass[slot] : 0;

            m += here;
            p0 += here * d->v[slot][0];
            p1 += here * d->v[slot][1];
            p2 += here * d->v[slot][2];
        }
        part[t] = (motion){.mass = m, .momentum = {p0, p1, p2}};
    }
    for (int t = 0; t < d->n_threads; t++) {
        mass += part[t].mass;
        for (int k = 0; k < 3; k++) momentum[k] += part[t].momentum[k];
    }
    mds_free(part);
    if (!(mass > 0)) return MDS_OK;
    for (int k = 0; k < 3; k++) u[k] = momentum[k] / mass;
    d->work_scale -= 0.5 * mass * mds_dot(u, u);
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) d->kinetic[k][l] -= 0.5 * mass * u[k] * u[l];
    return MDS_OK;
}

/// v = alpha (v - u). Sites and padding have no mass and no share in u.
static void change_velocities(mds_device *d, const double u[3], double alpha)
{
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (int32_t slot = 0; slot < d->n_slots; slot++)
        for (int k = 0; k < 3; k++) d->v[slot][k] = alpha * (d->v[slot][k] - (d->inv_mass[slot] > 0 ? u[k] : 0));
}

/// Linear and angular motion about the centre.
static mds_status remove_motion(mds_device *d)
{
    motion  before, after;
    double  centre[3], v[3], w[3];
    int32_t slot;
    int     k, l;

    MDS_TRY(sum_motion(d, &before));
    if (!(before.mass > 0)) return MDS_OK;
    for (k = 0; k < 3; k++) {
        centre[k] = before.centre[k] / before.mass;
        v[k] = before.momentum[k] / before.mass;
    }
    rotation(&before, centre, w);
#pragma omp parallel for schedule(static) num_threads(d->n_threads) private(k)
    for (slot = 0; slot < d->n_slots; slot++) {
        double r[3], u[3];

        if (!(d->inv_mass[slot] > 0)) continue;
        for (k = 0; k < 3; k++) r[k] = d->x[slot][k] - centre[k];
        mds_cross(w, r, u);
        for (k = 0; k < 3; k++) d->v[slot][k] -= v[k] + u[k];
    }
    MDS_TRY(sum_motion(d, &after));
    d->work_scale += trace(after.kinetic) - trace(before.kinetic);
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) d->kinetic[k][l] += after.kinetic[k][l] - before.kinetic[k][l];
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------- thermostat

/// What velocities are to be multiplied with; books it.
static double thermostat(mds_device *d, double h)
{
    const mds_params *p = &d->params;
    const double      kinetic = trace(d->kinetic), target = 0.5 * p->n_degrees * MDS_BOLTZMANN * p->temperature;
    double            alpha;
    int               k, l;

    if (!(kinetic > 0)) return 1; // nothing to scale
    alpha = mds_couple_alpha(p->seed, (uint64_t)d->step, kinetic, target, p->n_degrees, h, p->tau_t);
    d->work_scale += (alpha * alpha - 1) * kinetic;
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) {
            d->kinetic[k][l] *= alpha * alpha;
            d->constraint_virial[k][l] += (alpha * alpha - 1) * d->move->inertia[k][l];
            d->move->inertia[k][l] *= alpha * alpha;
        }
    d->coupling[MDS_CPL_ALPHA] = alpha;
    return alpha;
}

// ----------------------------------------------------------------------------------------------- barostat

/// Mass-weighted mean of the group's rows of `y`; its mass.
static double centre_of(const mds_device *d, const cpu_group *g, double (*const y)[3], double centre[3])
{
    double  mass = 0;
    int32_t i;
    int     k;

    for (k = 0; k < 3; k++) centre[k] = 0;
    for (i = 0; i < g->n; i++) {
        const double m = 1 / d->inv_mass[g->slot[i]];

        mass += m;
        for (k = 0; k < 3; k++) centre[k] += m * y[g->slot[i]][k];
    }
    for (k = 0; k < 3; k++) centre[k] /= mass;
    return mass;
}

/// Kinetic energy of the group's centre (mean of both half steps for leap-frog), and 1/2 sum s.f about it.
static void visit_centre(mds_device *d, const cpu_group *g, cpu_scratch *s, cpu_move_sums *sums, const void *arg)
{
    double  x[3], v[3], mass, behind[3], force[3] = {0};
    int32_t i;
    int     k;

    (void)s;
    (void)arg;
    mass = centre_of(d, g, d->v, v);
    centre_of(d, g, d->x, x);
    for (i = 0; i < g->n; i++)
        for (k = 0; k < 3; k++) {
            force[k] += d->f[g->slot[i]][k];
            sums->centre_virial += 0.5 * (d->x[g->slot[i]][k] - x[k]) * d->f[g->slot[i]][k];
        }
    for (k = 0; k < 3; k++) behind[k] = d->move->half_step ? v[k] - d->params.dt * force[k] / mass : v[k];
    sums->centre_kinetic += 0.25 * mass * (mds_dot(v, v) + mds_dot(behind, behind));
}

/// Trace of the virial of the groups' centres, without the tail correction; kinetic energy of the centres in the sums.
static double centre_virial(mds_device *d)
{
    mds_cpu_visit_groups(d, visit_centre, NULL);
    return trace(d->virial) + 1.5 * d->params.tail_pressure / mds_box_volume(&d->box) + d->move->sums->centre_virial;
}

void mds_cpu_book_scale(mds_device *d)
{
    const double log_scale = d->move->log_scale;

    d->move->log_scale = 0;
    if (log_scale == 0 || !d->has_virial) return;
    d->work_scale += log_scale * (centre_virial(d) - d->coupling[MDS_CPL_VIRIAL]);
}

static mds_status barostat(mds_device *d, double h)
{
    const mds_params *p = &d->params;
    const double      volume = mds_box_volume(&d->box);
    double            virial, inside, mu;

    MDS_CHECK(volume > 0, MDS_E_INTERNAL, "a barostat without a box");
    MDS_CHECK(d->has_virial, MDS_E_INTERNAL, "the barostat acts on a step without virial");
    virial = centre_virial(d);
    inside = 2 * (d->move->sums->centre_kinetic - virial) / (3 * volume) + p->tail_pressure / (volume * volume);
    mu = mds_couple_scale(p->seed, (uint64_t)d->step, volume, inside, p->pressure / MDS_BAR, MDS_BOLTZMANN * p->temperature,
                          p->compressibility * MDS_BAR, h, p->tau_p);
    d->coupling[MDS_CPL_SCALE] = mu;
    d->coupling[MDS_CPL_VIRIAL] = virial;
    d->coupling[MDS_CPL_PRESSURE] = inside * MDS_BAR;
    return MDS_OK;
}

/// The group follows its centre: x and x_list by mu, v by 1/mu.
static void visit_scale(mds_device *d, const cpu_group *g, cpu_scratch *s, cpu_move_sums *sums, const void *arg)
{
    const double mu = *(const double *)arg;
    double       x[3], list[3], v[3], mass;
    int32_t      i;
    int          k;

    (void)s;
    mass = centre_of(d, g, d->v, v);
    centre_of(d, g, d->x, x);
    centre_of(d, g, d->x_list, list);
    sums->centre_kinetic += 0.5 * mass * mds_dot(v, v) * (1 / (mu * mu) - 1);
    for (i = 0; i < g->n; i++) {
        const int32_t slot = g->slot[i];
        double        arm[3];

        for (k = 0; k < 3; k++) {
            arm[k] = d->x[slot][k] - x[k];
            d->x[slot][k] += (mu - 1) * x[k];
            d->v[slot][k] += (1 / mu - 1) * v[k];
            d->x_list[slot][k] += (mu - 1) * list[k];
            if (d->move->shift) d->move->shift[d->atom_of[slot]][k] = (mu - 1) * list[k];
        }
        sums->extent = fmax(sums->extent, mds_norm(arm));
    }
}

/// Sites are placed anew after the drift; where the list thinks they are goes with their first atom.
static void scale_sites(mds_device *d)
{
    const mds_vsites *s = &d->system->vsite;
    int32_t           k;
    int               l;

    for (k = 0; k < s->n; k++) {
        const int32_t site = s->site[k], first = s->atom[s->start[k]];

        for (l = 0; l < 3; l++) {
            d->move->shift[site][l] = d->move->shift[first][l];
            d->x_list[d->slot_of[site]][l] += d->move->shift[site][l];
        }
    }
}

void mds_cpu_apply_scale(mds_device *d)
{
    const mds_params *p = &d->params;
    const double      mu = d->coupling[MDS_CPL_SCALE], volume = mds_box_volume(&d->box);
    int               k, l;

    if (mu == 0) return;
    mds_cpu_visit_groups(d, visit_scale, &mu);
    if (d->move->shift) scale_sites(d);
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) d->box.a[k][l] *= mu;
    d->list_scale *= mu;
    d->move->list_kept = false;
    d->move->extent = d->move->sums->extent;
    // potential energy to first order now, to second at the end of the step if there is a virial (mds_cpu_book_scale)
    d->move->log_scale = log(mu);
    d->work_scale += 2 * d->coupling[MDS_CPL_VIRIAL] * log(mu) +
                     d->params.tail_energy * (1 / mds_box_volume(&d->box) - 1 / volume) + d->move->sums->centre_kinetic;
    d->coupling[MDS_CPL_SCALE] = 0;
    if (!(mds_box_reach(&d->box) >= fmax(p->cut_lj, p->cut_q))) d->fault |= MDS_FAULT_CUTOFF;
}

mds_status mds_cpu_couple(mds_device *d, mds_work work)
{
    const mds_params *p = &d->params;
    const double      h = p->dt * p->couple_every;
    double            u[3] = {0}, alpha = 1;

    if (d->tripped || !(work & MDS_COUPLE)) return MDS_OK;
    mds_cpu_move_flush(d);
    if (p->remove_com == 1) MDS_TRY(drop_drift(d, u));
    if (p->remove_com == 2) MDS_TRY(remove_motion(d));
    switch (p->thermostat) {
    case MDS_THERMOSTAT_V_RESCALE:
        alpha = thermostat(d, h);
        break;
    case MDS_THERMOSTAT_NONE:
    case MDS_THERMOSTAT_LANGEVIN: // the NOISE operation
        break;
    case MDS_THERMOSTAT_NOSE_HOOVER:
    case MDS_THERMOSTAT_ANDERSEN:
    case MDS_THERMOSTAT_BERENDSEN:
        MDS_FAIL(MDS_E_UNSUPPORTED, "this thermostat is not there yet; use v-rescale or langevin");
    }
    if (p->remove_com == 1 || alpha != 1) change_velocities(d, u, alpha);
    if (p->barostat == MDS_BAROSTAT_NONE) return MDS_OK;
    MDS_CHECK(p->barostat == MDS_BAROSTAT_C_RESCALE, MDS_E_UNSUPPORTED, "this barostat is not there yet; use c-rescale");
    return barostat(d, h);
}
