// SPDX-License-Identifier: Apache-2.0
// Lennard-Jones parameters as a whole: combination rules, and the dispersion beyond the cut-off.
//
// Tail correction. Beyond some distance g(r) = 1, and the dispersion energy that the cut-off (or a modifier) takes away
// is an integral. With v(r) = -1/r^6 and v_eff(r) what is really computed, both per unit of C6,
//     E = N^2/(2V) <C6> 4 pi int r^2 (v - v_eff) dr + N/2 <C6> (v_eff - v)(r -> 0)
//     P = -N^2/(6V^2) <C6> 4 pi int r^3 d/dr (v - v_eff) dr
// <C6> is the mean over the pairs that are not excluded. The second part of E takes back what a shifted potential
// would give an atom for itself. A jump at the cut-off has no force in it. Repulsion is not corrected [allen2017 2.8;
// the convention is that of GROMACS, so that energies compare].
#include "model/model.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

void mds_lj_combine(int rule, const double a[2], const double b[2], double *c6, double *c12)
{
    if (rule == 1) {
        *c6 = sqrt(a[0] * b[0]);
        *c12 = sqrt(a[1] * b[1]);
        return;
    }
    const double sigma = rule == 2 ? 0.5 * (a[0] + b[0]) : sqrt(a[0] * b[0]);
    const double s6 = pow(sigma, 6), e4 = 4 * sqrt(a[1] * b[1]);

    *c6 = e4 * s6;
    *c12 = e4 * s6 * s6;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

mds_lj_rule mds_system_lj_rule(const mds_system *s)
{
    const int32_t n = s->n_types;
    bool          geometric = true, lorentz = true;
    int32_t       i, j;

    if (s->c4) return MDS_LJ_MATRIX;
    for (i = 0; i < n && (geometric || lorentz); i++)
        for (j = 0; j < i && (geometric || lorentz); j++) {
            const double c6 = s->c6[i * (size_t)n + j], c12 = s->c12[i * (size_t)n + j];
            const double ii[2] = {s->c6[i * (size_t)n + i], s->c12[i * (size_t)n + i]};
            const double jj[2] = {s->c6[j * (size_t)n + j], s->c12[j * (size_t)n + j]};
            double       r6, r12, si[2] = {0, 0}, sj[2] = {0, 0};

            mds_lj_combine(1, ii, jj, &r6, &r12);
            if (!close_to(r6, c6) || !close_to(r12, c12)) geometric = false;
            if (ii[0] > 0 && ii[1] > 0) si[0] = pow(ii[1] / ii[0], 1.0 / 6), si[1] = ii[0] * ii[0] / (4 * ii[1]);
            if (jj[0] > 0 && jj[1] > 0) sj[0] = pow(jj[1] / jj[0], 1.0 / 6), sj[1] = jj[0] * jj[0] / (4 * jj[1]);
            mds_lj_combine(2, si, sj, &r6, &r12);
            if (!close_to(r6, c6) || !close_to(r12, c12)) lorentz = false;
            if ((ii[0] > 0) != (ii[1] > 0) || (jj[0] > 0) != (jj[1] > 0)) lorentz = false; // no sigma, no epsilon
        }
    return geometric ? MDS_LJ_GEOMETRIC : lorentz ? MDS_LJ_LORENTZ_BERTHELOT : MDS_LJ_MATRIX;
}

/// Mean C6 over pairs that are not excluded, kJ/mol nm^6.
static double mean_c6(const mds_system *s)
{
    const size_t n = (size_t)s->n_types;
    double       sum = 0, pairs = 0.5 * s->n_atoms * (s->n_atoms - 1.0);
    double      *count;
    size_t       i, j;
    int32_t      a, k;

    if (mds_alloc(&count, n, sizeof *count) != MDS_OK) return NAN;
    for (a = 0; a < s->n_atoms; a++) count[s->type[a]]++;
    for (i = 0; i < n; i++) {
        for (j = 0; j < i; j++) sum += count[i] * count[j] * s->c6[i * n + j];
        sum += 0.5 * count[i] * (count[i] - 1) * s->c6[i * n + i];
    }
    mds_free(count);
    for (a = 0; a < s->n_atoms; a++)
        for (k = s->excl_start[a]; k < s->excl_start[a + 1]; k++) {
            if (s->excl[k] > a) continue;
            sum -= s->c6[(size_t)s->type[a] * n + (size_t)s->type[s->excl[k]]];
            pairs -= 1;
        }
    return pairs > 0 ? sum / pairs : 0;
}

/// What the modifiers make of -1/r^6 at r, and its slope. rs: where switching begins.
static void modified(mds_lj_modifier modifier, double rs, double rc, double r, double *v, double *slope)
{
    const double t = r - rs, w = rc - rs;

    *v = -pow(r, -6);
    *slope = 6 * pow(r, -7);
    if (modifier == MDS_LJ_SWITCH && r > rs) {
        const double x = t / w, sw = 1 - x * x * x * (10 - x * (15 - 6 * x));
        const double dsw = -30 * x * x * (1 - x) * (1 - x) / w;

        *slope = *slope * sw + *v * dsw;
        *v *= sw;
    }
    if (modifier == MDS_LJ_FORCE_SWITCH) {
        // force 6/r^7 + A t^2 + B t^3 of +1/r^6 goes to zero with zero slope at rc
        const double a = -6 * (10 * rc - 7 * rs) / (pow(rc, 8) * w * w);
        const double b = 6 * (9 * rc - 7 * rs) / (pow(rc, 8) * w * w * w);
        const double c = pow(rc, -6) - a / 3 * w * w * w - b / 4 * w * w * w * w;
        const double u = r > rs ? t : 0;

        *v = -(pow(r, -6) - a / 3 * u * u * u - b / 4 * u * u * u * u - c);
        *slope = 6 * pow(r, -7) + a * u * u + b * u * u * u;
    }
    if (modifier == MDS_LJ_SHIFT) *v += pow(rc, -6);
}

void mds_tail_correction(const mds_system *s, mds_params *p)
{
    enum { N_SIMPSON = 2000 };
    const double n = s->n_atoms, c6 = mean_c6(s), rc = p->cut_lj;
    const bool   switched = p->lj_modifier == MDS_LJ_SWITCH || p->lj_modifier == MDS_LJ_FORCE_SWITCH;
    const double rs = switched ? p->lj_switch : rc, h = (rc - rs) / N_SIMPSON;
    double       v, slope, inner, energy, pressure;
    int          k;

    modified(p->lj_modifier, rs, rc, 0.5 * rs, &v, &slope);
    inner = v + pow(0.5 * rs, -6); // v_eff - v below the switch: a constant
    energy = -1 / (3 * pow(rc, 3)) - inner * pow(rs, 3) / 3;
    pressure = 2 / pow(rc, 3);
    for (k = 0; switched && k <= N_SIMPSON; k++) {
        const double r = rs + k * h, weight = h / 3 * (k == 0 || k == N_SIMPSON ? 1 : k % 2 ? 4 : 2);

        modified(p->lj_modifier, rs, rc, r, &v, &slope);
        energy += weight * r * r * (-pow(r, -6) - v);
        pressure += weight * r * r * r * (6 * pow(r, -7) - slope);
    }
    p->tail_energy = 0.5 * n * n * c6 * 4 * MDS_PI * energy;
    p->tail_constant = 0.5 * n * c6 * inner;
    p->tail_pressure = -n * n * c6 * 4 * MDS_PI * pressure / 6;
}

bool mds_params_same_forces(const mds_params *a, const mds_params *b)
{
    return a->lj_modifier == b->lj_modifier && a->coulomb == b->coulomb && a->coulomb_shift == b->coulomb_shift &&
           a->cut_lj == b->cut_lj && a->cut_q == b->cut_q && a->lj_switch == b->lj_switch &&
           a->rf_dielectric == b->rf_dielectric && a->list_radius == b->list_radius && a->prune_radius == b->prune_radius &&
           a->split == b->split && a->double_precision == b->double_precision && a->split_shape == b->split_shape && a->order == b->order &&
           !memcmp(a->grid, b->grid, sizeof a->grid);
}
