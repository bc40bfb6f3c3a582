// SPDX-License-Identifier: Apache-2.0
// Couplings: removal of the common motion, stochastic velocity rescaling [bussi2007], stochastic cell rescaling
// [bernetti2020]. Formulas and bookkeeping: docs/theory/coupling.md.
//
// Order: common motion, thermostat, barostat. The velocities change here, and `kinetic` with them, so that a frame
// taken afterwards describes the state that the next step starts from. The box changes later, at the start of the
// next step (mds_ref_apply_scale), so that x, f and energies of a finished step belong together.
//
// Draws (step = the step just finished). Thermostat: index 0, first number: the Gaussian; from index 1 in pairs, a
// Gaussian and a uniform, the trials of the gamma variate (Marsaglia and Tsang's squeeze-free form, marsaglia2000). Barostat: index 0.
#include "ref/ref.h"

#include "base/rng.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

static double trace(double m[3][3])
{
    return m[0][0] + m[1][1] + m[2][2];
}

static void kinetic_tensor(const mds_device *d, double out[3][3])
{
    int32_t i;
    int     k, l;

    memset(out, 0, 9 * sizeof out[0][0]);
    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) out[k][l] += 0.5 * d->system->mass[i] * d->v[i][k] * d->v[i][l];
}

/// v -= V + w x (r - R) of the whole system; without `rotation` only V. Gas of one atom: w is left alone.
static void remove_motion(mds_device *d, bool rotation)
{
    double  mass = 0, centre[3] = {0}, v[3] = {0}, l[3] = {0}, inertia[3][3] = {{0}}, w[3] = {0}, r[3], u[3];
    int32_t i;
    int     j, k;

    for (i = 0; i < d->n; i++) {
        const double m = d->system->mass[i];

        mass += m;
        for (k = 0; k < 3; k++) {
            centre[k] += m * d->x[i][k];
            v[k] += m * d->v[i][k];
        }
    }
    for (k = 0; k < 3; k++) {
        centre[k] /= mass;
        v[k] /= mass;
    }
    for (i = 0; i < d->n; i++) {
        const double m = d->system->mass[i];

        for (k = 0; k < 3; k++) r[k] = d->x[i][k] - centre[k];
        mds_cross(r, d->v[i], u);
        for (k = 0; k < 3; k++) {
            l[k] += m * u[k];
            for (j = 0; j < 3; j++) inertia[k][j] += m * ((j == k) * mds_dot(r, r) - r[k] * r[j]);
        }
    }
    if (rotation) {
        // Cramer's rule; no rotation is taken from a line or a point
        double c[3][3], det;

        for (k = 0; k < 3; k++) mds_cross(inertia[(k + 1) % 3], inertia[(k + 2) % 3], c[k]);
        det = mds_dot(inertia[0], c[0]);
        if (det > 1e-12 * pow(trace(inertia), 3))
            for (k = 0; k < 3; k++) w[k] = (c[0][k] * l[0] + c[1][k] * l[1] + c[2][k] * l[2]) / det;
    }
    for (i = 0; i < d->n; i++) {
        if (d->system->mass[i] <= 0) continue;
        for (k = 0; k < 3; k++) r[k] = d->x[i][k] - centre[k];
        mds_cross(w, r, u);
        for (k = 0; k < 3; k++) d->v[i][k] -= v[k] + u[k];
    }
}

/// Gamma variate of shape a > 0, scale 1.
static double gamma_variate(const mds_device *d, double a)
{
    const double   b = (a < 1 ? a + 1 : a) - 1.0 / 3;
    const uint64_t step = (uint64_t)d->step;
    double         gauss[4], u[4];
    uint32_t       trial;

    for (trial = 0;; trial++) {
        double t;

        mds_gauss4(d->params.seed, MDS_RNG_THERMOSTAT, step, 1 + 2 * trial, gauss);
        mds_uniform4(d->params.seed, MDS_RNG_THERMOSTAT, step, 2 + 2 * trial, u);
        t = pow(1 + gauss[0] / sqrt(9 * b), 3);
        if (t > 0 && log(u[0]) < 0.5 * gauss[0] * gauss[0] + b * (1 - t + log(t)))
            return b * t * (a < 1 ? pow(u[1], 1 / a) : 1);
    }
}

/// One exact step of the thermostat over `h`: the scaling of velocities.
static double v_rescale_alpha(const mds_device *d, double kinetic, double h)
{
    const mds_params *p = &d->params;
    const double      n = p->n_degrees, c = exp(-h / p->tau_t), ratio = (1 - c) * 0.5 * MDS_BOLTZMANN * p->temperature / kinetic;
    double            gauss[4], rest, alpha;

    mds_gauss4(p->seed, MDS_RNG_THERMOSTAT, (uint64_t)d->step, 0, gauss);
    rest = n > 1 ? 2 * gamma_variate(d, 0.5 * (n - 1)) : 0; // sum of n - 1 squared Gaussians
    alpha = sqrt(c + ratio * (gauss[0] * gauss[0] + rest) + 2 * gauss[0] * sqrt(c * ratio));
    return gauss[0] + sqrt(c / ratio) < 0 ? -alpha : alpha;
}

static void thermostat(mds_device *d, double h)
{
    const double kinetic = trace(d->kinetic);
    double       alpha;
    int32_t      i;
    int          k, l;

    if (!(kinetic > 0)) return; // nothing to scale
    alpha = v_rescale_alpha(d, kinetic, h);
    d->work_scale += (alpha * alpha - 1) * kinetic;
    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3; k++) d->v[i][k] *= alpha;
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) {
            d->kinetic[k][l] *= alpha * alpha;
            d->constraint_virial[k][l] += (alpha * alpha - 1) * d->constraint_inertia[k][l];
            d->constraint_inertia[k][l] *= alpha * alpha;
        }
    d->coupling[MDS_CPL_ALPHA] = alpha;
}

/// Rigidly scaled groups: group[i] is the smallest atom bound to i by constraints.
static mds_status find_groups(const mds_device *d, int32_t **group)
{
    const mds_links *c = &d->system->constraint;
    bool             changed = true;
    int32_t          i, k;

    MDS_TRY(mds_alloc(group, (size_t)d->n, sizeof **group));
    for (i = 0; i < d->n; i++) (*group)[i] = i;
    while (changed) {
        changed = false;
        for (k = 0; k < c->n; k++) {
            int32_t *a = &(*group)[c->atom[2 * k]], *b = &(*group)[c->atom[2 * k + 1]];

            if (*a == *b) continue;
            if (*a < *b)
                *b = *a;
            else
                *a = *b;
            changed = true;
        }
    }
    return MDS_OK;
}

/// Weighted mean of y over each group, at its first atom.
static void centres(const mds_device *d, const int32_t *group, double (*const y)[3], double *mass, double (*centre)[3])
{
    int32_t i;
    int     k;

    for (i = 0; i < d->n; i++) {
        mass[i] = 0;
        for (k = 0; k < 3; k++) centre[i][k] = 0;
    }
    for (i = 0; i < d->n; i++) {
        mass[group[i]] += d->system->mass[i];
        for (k = 0; k < 3; k++) centre[group[i]][k] += d->system->mass[i] * y[i][k];
    }
    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3 && mass[i] > 0; k++) centre[i][k] /= mass[i];
}

/// Kinetic energy of the groups' centres and their virial (without the tail): the pressure that scaling the centres
/// meets. half_step: mean over v and v - dt f/m.
static mds_status group_sums(const mds_device *d, bool half_step, double *kinetic, double *virial)
{
    int32_t *group, i;
    double (*centre)[3], (*w)[3], *mass;
    int      k, turn;

    MDS_TRY(find_groups(d, &group));
    MDS_TRY(mds_alloc(&centre, 2 * (size_t)d->n, sizeof *centre));
    MDS_TRY(mds_alloc(&mass, (size_t)d->n, sizeof *mass));
    w = centre + d->n;
    *kinetic = 0;
    for (turn = 0; turn < 2; turn++) {
        for (i = 0; i < d->n; i++)
            for (k = 0; k < 3; k++)
                w[i][k] = d->v[i][k] - (turn && half_step && d->system->mass[i] > 0 ? d->params.dt * d->f[i][k] / d->system->mass[i] : 0);
        centres(d, group, w, mass, centre);
        for (i = 0; i < d->n; i++) *kinetic += 0.25 * mass[i] * mds_dot(centre[i], centre[i]);
    }
    centres(d, group, d->x, mass, centre);
    *virial = trace((double(*)[3])d->virial) + 1.5 * d->params.tail_pressure / mds_box_volume(&d->box);
    for (i = 0; i < d->n; i++)
        for (k = 0; k < 3 && d->system->mass[i] > 0; k++)
            *virial += 0.5 * (d->x[i][k] - centre[group[i]][k]) * d->f[i][k];
    mds_free(group);
    mds_free(centre);
    mds_free(mass);
    return MDS_OK;
}

/// One Euler step of the stochastic cell in sqrt(V), whose noise does not depend on V. The scaling is left waiting.
static mds_status barostat(mds_device *d, double h)
{
    const mds_params *p = &d->params;
    const double      volume = mds_box_volume(&d->box), root = sqrt(volume), kt = MDS_BOLTZMANN * p->temperature;
    const double      beta = p->compressibility * MDS_BAR, rate = 0.5 * beta * h / p->tau_p;
    double            gauss[4], kinetic, virial, inside, next, mu;

    MDS_CHECK(volume > 0, MDS_E_INTERNAL, "a barostat without a box");
    MDS_CHECK(d->has_virial, MDS_E_INTERNAL, "the barostat acts on a step without virial");
    MDS_TRY(group_sums(d, d->half_step, &kinetic, &virial));
    inside = 2 * (kinetic - virial) / (3 * volume) + p->tail_pressure / (volume * volume);
    mds_gauss4(p->seed, MDS_RNG_BAROSTAT, (uint64_t)d->step, 0, gauss);
    next = root - rate * root * (p->pressure / MDS_BAR - inside - 0.5 * kt / volume) + sqrt(rate * kt) * gauss[0];
    mu = pow(fmin(fmax(next / root, 0.95), 1.05), 2.0 / 3); // a wild start shrinks or grows in many steps
    d->coupling[MDS_CPL_SCALE] = mu;
    d->coupling[MDS_CPL_VIRIAL] = virial;
    d->coupling[MDS_CPL_PRESSURE] = inside * MDS_BAR;
    return MDS_OK;
}

/// Shift every atom with its group: y += (mu - 1) centre. A site goes with its first atom.
static void scale_centres(const mds_device *d, const int32_t *group, double (*y)[3], double factor, double *mass, double (*centre)[3])
{
    const mds_vsites *s = &d->system->vsite;
    int32_t           i, k;
    int               l;

    centres(d, group, y, mass, centre);
    for (i = 0; i < d->n; i++)
        for (l = 0; l < 3 && d->system->mass[i] > 0; l++) y[i][l] += (factor - 1) * centre[group[i]][l];
    for (k = 0; k < s->n; k++) {
        int32_t first = s->atom[s->start[k]];

        // a site built on a site: sites come in order, so it has its first real atom's group already
        while (d->system->mass[first] <= 0) {
            int32_t m;

            for (m = 0; s->site[m] != first; m++)
                ;
            first = s->atom[s->start[m]];
        }
        for (l = 0; l < 3; l++) y[s->site[k]][l] += (factor - 1) * centre[group[first]][l];
    }
}

mds_status mds_ref_apply_scale(mds_device *d)
{
    const mds_params *p = &d->params;
    const double      mu = d->coupling[MDS_CPL_SCALE], volume = mds_box_volume(&d->box);
    double            before[3][3], after[3][3], (*centre)[3], *mass;
    int32_t          *group;
    int               k, l;

    if (mu == 0) return MDS_OK;
    MDS_TRY(find_groups(d, &group));
    MDS_TRY(mds_alloc(&centre, (size_t)d->n, sizeof *centre));
    MDS_TRY(mds_alloc(&mass, (size_t)d->n, sizeof *mass));
    kinetic_tensor(d, before);
    scale_centres(d, group, d->x, mu, mass, centre);
    scale_centres(d, group, d->x_list, mu, mass, centre);
    scale_centres(d, group, d->v, 1 / mu, mass, centre);
    kinetic_tensor(d, after);
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) d->box.a[k][l] *= mu;
    d->list_scale *= mu;
    // potential energy to first order now, to second at the end of the step if there is a virial (mds_ref_book_scale)
    d->log_scale = log(mu);
    d->work_scale += 2 * d->coupling[MDS_CPL_VIRIAL] * log(mu) +
                     d->params.tail_energy * (1 / mds_box_volume(&d->box) - 1 / volume) + trace(after) - trace(before);
    d->coupling[MDS_CPL_SCALE] = 0;
    if (!(mds_box_reach(&d->box) >= fmax(p->cut_lj, p->cut_q))) d->fault |= MDS_FAULT_CUTOFF;
    mds_free(group);
    mds_free(centre);
    mds_free(mass);
    return MDS_OK;
}

mds_status mds_ref_book_scale(mds_device *d)
{
    const double log_scale = d->log_scale;
    double       kinetic, virial;

    d->log_scale = 0;
    if (log_scale == 0 || !d->has_virial) return MDS_OK;
    MDS_TRY(group_sums(d, false, &kinetic, &virial));
    d->work_scale += log_scale * (virial - d->coupling[MDS_CPL_VIRIAL]);
    return MDS_OK;
}

mds_status mds_ref_couple(mds_device *d, mds_work work)
{
    const mds_params *p = &d->params;
    const double      h = p->dt * p->couple_every;
    int               k, l;

    if (d->tripped || !(work & MDS_COUPLE)) return MDS_OK;
    if (p->remove_com) {
        double before[3][3], after[3][3];

        kinetic_tensor(d, before);
        remove_motion(d, p->remove_com == 2);
        kinetic_tensor(d, after);
        d->work_scale += trace(after) - trace(before);
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) d->kinetic[k][l] += after[k][l] - before[k][l];
    }
    switch (p->thermostat) {
    case MDS_THERMOSTAT_V_RESCALE:
        thermostat(d, h);
        break;
    case MDS_THERMOSTAT_NONE:
    case MDS_THERMOSTAT_LANGEVIN: // the NOISE operation
        break;
    case MDS_THERMOSTAT_NOSE_HOOVER:
    case MDS_THERMOSTAT_ANDERSEN:
    case MDS_THERMOSTAT_BERENDSEN:
        MDS_FAIL(MDS_E_UNSUPPORTED, "this thermostat is not there yet; use v-rescale or langevin");
    }
    if (p->barostat == MDS_BAROSTAT_NONE) return MDS_OK;
    MDS_CHECK(p->barostat == MDS_BAROSTAT_C_RESCALE, MDS_E_UNSUPPORTED, "this barostat is not there yet; use c-rescale");
    return barostat(d, h);
}
