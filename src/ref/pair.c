// SPDX-License-Identifier: Apache-2.0
// Non-bonded pairs, plainly: every pair within the cut-offs once, at the nearest image, in double.
//
//   LJ       c12/r^12 - c6/r^6, and -c4/r^4 (12-6-4, never shifted), for r < cut_lj. Modifiers: none; potential shift;
//            potential switch, V S(r) with the quintic S of [gromacs2022, 5.1.1]; force switch, each power alpha
//            of 1/r on its own as in [gromacs2022, 5.1.1; steinbach1994].
//   Coulomb  f qi qj times, for r < cut_q: (1 - Phi(r))/r (PME); 1/r + k r^2 - c (reaction field [tironi1995]); 1/r.
//
// Excluded pairs have neither. What the mesh gives them all the same, Phi(r)/r, is taken back at any distance; with
// reaction field they keep k r^2 - c inside the cut-off (GROMACS' convention). Each charge also sees itself: the limit
// of the same at r = 0, once for both halves of the pair. All of this counts as coul_sr.
//
// A cut-off is at most half the smallest width of the box, so one image of a pair is enough. A sweep over cells not
// smaller than the cut-off only saves time; with fewer than three cells a side, or no cut-off, it is all pairs.
#include "ref/ref.h"

#include "base/units.h"

#include <float.h>
#include <math.h>

/// Coulomb and LJ numbers of a sweep.
typedef struct {
    mds_device *d;
    double      cut_lj, cut_q, cut; // nm; HUGE_VAL: none
    double      k_rf, c_rf;         // 1/nm^3, 1/nm
    double      q_shift;            // 1/nm, taken off f qq (...)
    mds_images  images;
} sweep;

/// (1 - Phi(r))/r and -d/dr of it. For the Gaussian through erfc, which does not cancel.
static void real_space(const mds_device *d, double r, double *value, double *force)
{
    double       r_dphi;
    const double phi = mds_ref_split_phi(d, r, &r_dphi);
    const double rest = d->split.prolate ? 1 - phi : erfc(d->split.beta * r);

    *value = rest / r;
    *force = (rest + r_dphi) / (r * r);
}

/// Value and -derivative of the force-switched 1/r^alpha between r1 and rc.
static void force_switch(int alpha, double r, double r1, double rc, double *value, double *force)
{
    const double w = rc - r1;
    const double a = -alpha * ((alpha + 4) * rc - (alpha + 1) * r1) / (pow(rc, alpha + 2) * w * w);
    const double b = alpha * ((alpha + 3) * rc - (alpha + 1) * r1) / (pow(rc, alpha + 2) * w * w * w);
    const double c = pow(rc, -alpha) - a / 3 * w * w * w - b / 4 * w * w * w * w;
    const double t = r > r1 ? r - r1 : 0;

    *value = pow(r, -alpha) - a / 3 * t * t * t - b / 4 * t * t * t * t - c;
    *force = alpha * pow(r, -alpha - 1) + a * t * t + b * t * t * t;
}

/// LJ energy of a pair inside the cut-off and -dV/dr.
static double lennard_jones(const mds_params *p, double c6, double c12, double c4, double r, double *force)
{
    const double r1 = p->lj_switch, rc = p->cut_lj;
    const double r6 = pow(r, -6), r12 = pow(r, -12);
    double       v = c12 * r12 - c6 * r6, f = (12 * c12 * r12 - 6 * c6 * r6) / r;

    switch (rc > 0 ? p->lj_modifier : MDS_LJ_CUT) {
    case MDS_LJ_CUT:
        break;
    case MDS_LJ_SHIFT:
        v -= c12 * pow(rc, -12) - c6 * pow(rc, -6);
        break;
    case MDS_LJ_SWITCH:
        if (r > r1) {
            const double w = rc - r1, t = (r - r1) / w;
            const double s = 1 - t * t * t * (10 - 15 * t + 6 * t * t), ds = -30 * t * t * (1 - t) * (1 - t) / w;

            f = f * s - v * ds;
            v *= s;
        }
        break;
    case MDS_LJ_FORCE_SWITCH: {
        double v6, f6, v12, f12;

        force_switch(6, r, r1, rc, &v6, &f6);
        force_switch(12, r, r1, rc, &v12, &f12);
        v = c12 * v12 - c6 * v6;
        f = c12 * f12 - c6 * f6;
        break;
    }
    }
    *force = f - 4 * c4 * pow(r, -5);
    return v - c4 * pow(r, -4);
}

static bool is_excluded(const mds_system *s, int32_t i, int32_t j)
{
    for (int32_t k = s->excl_start[i]; k < s->excl_start[i + 1]; k++)
        if (s->excl[k] == j) return true;
    return false;
}

/// Nearest image of x_i - x_j.
static void nearest(const sweep *w, int32_t i, int32_t j, double r[3])
{
    for (int k = 0; k < 3; k++) r[k] = w->d->x[i][k] - w->d->x[j][k];
    mds_images_nearest(&w->images, r);
}

/// Add force f_over_r * r on i, its opposite on j, to f, and the virial.
static void apply(mds_device *d, double (*f)[3], int32_t i, int32_t j, const double r[3], double f_over_r)
{
    for (int k = 0; k < 3; k++) {
        f[i][k] += f_over_r * r[k];
        f[j][k] -= f_over_r * r[k];
        for (int l = 0; l < 3; l++) d->virial[k][l] -= 0.5 * r[k] * f_over_r * r[l];
    }
}

static void pair(sweep *w, int32_t i, int32_t j)
{
    mds_device       *d = w->d;
    const mds_system *s = d->system;
    const mds_params *p = &d->params;
    double            r[3], v, f, force = 0;

    nearest(w, i, j, r);
    // two atoms at one point have no direction: a tiny distance keeps the energy huge but finite and the force zero
    const double r2 = fmax(mds_dot(r, r), 1e-12);
    if (r2 >= w->cut * w->cut || is_excluded(s, i, j)) return;
    const double distance = sqrt(r2);

    if (distance < w->cut_lj) {
        const size_t type = (size_t)s->type[i] * (size_t)s->n_types + (size_t)s->type[j];
        const double c4 = s->c4 ? s->c4[type] : 0;

        if (s->c6[type] != 0 || s->c12[type] != 0 || c4 != 0) {
            v = lennard_jones(p, s->c6[type], s->c12[type], c4, distance, &f);
            d->energy[MDS_EN_LJ] += v;
            force += f;
        }
    }
    const double qq = MDS_COULOMB * s->charge[i] * s->charge[j];
    if (distance < w->cut_q && qq != 0) {
        if (p->coulomb == MDS_COULOMB_PME) {
            real_space(d, distance, &v, &f);
        } else {
            v = 1 / distance + w->k_rf * r2;
            f = 1 / r2 - 2 * w->k_rf * distance;
        }
        d->energy[MDS_EN_COUL] += qq * (v - w->c_rf - w->q_shift);
        force += qq * f;
    }
    if (force != 0) apply(d, d->f, i, j, r, force / distance);
}

/// What excluded pairs and each charge with itself get or give back.
static void excluded_pairs(sweep *w)
{
    mds_device       *d = w->d;
    const mds_system *s = d->system;
    const bool        pme = d->params.coulomb == MDS_COULOMB_PME;

    if (!pme && d->params.coulomb != MDS_COULOMB_REACTION_FIELD) return;
    for (int32_t i = 0; i < d->n; i++)
        for (int32_t k = s->excl_start[i]; k < s->excl_start[i + 1]; k++) {
            const int32_t j = s->excl[k];
            const double  qq = MDS_COULOMB * s->charge[i] * s->charge[j];
            double        r[3], phi, slope;

            if (j <= i) continue;
            nearest(w, i, j, r);
            if (pme) {
                mds_ref_split_smooth(d, mds_norm(r), &phi, &slope);
                d->energy[MDS_EN_COUL] -= qq * phi;
                apply(d, d->f_slow, i, j, r, -qq * slope); // with the mesh, whose share it takes back
            } else if (mds_norm(r) < w->cut_q) {
                d->energy[MDS_EN_COUL] += qq * (w->k_rf * mds_dot(r, r) - w->c_rf);
                apply(d, d->f, i, j, r, -qq * 2 * w->k_rf);
            }
        }
    double self = w->c_rf, slope;
    if (pme) mds_ref_split_smooth(d, 0, &self, &slope);
    for (int32_t i = 0; i < d->n; i++)
        d->energy[MDS_EN_COUL] -= 0.5 * MDS_COULOMB * s->charge[i] * s->charge[i] * self;
}

/// Cell of an atom along direction k, n cells.
static int32_t cell_of(const sweep *w, int32_t i, int k, int32_t n)
{
    const double *x = w->d->x[i];
    const double(*inv)[3] = w->images.inv;
    const double  s = x[0] * inv[0][k] + x[1] * inv[1][k] + x[2] * inv[2][k];
    const int32_t cell = (int32_t)((s - floor(s)) * n);

    return cell < n ? cell : n - 1;
}

/// All pairs of atoms in the same or neighbouring cells, n[k] >= 3 cells a side.
static mds_status sweep_cells(sweep *w, const int32_t n[3])
{
    mds_device *d = w->d;
    int32_t(*cell)[3] = NULL, *first = NULL, *next = NULL;
    mds_status status;

    MDS_TRY_GOTO(mds_alloc(&cell, (size_t)d->n, sizeof *cell));
    MDS_TRY_GOTO(mds_alloc(&next, (size_t)d->n, sizeof *next));
    MDS_TRY_GOTO(mds_alloc(&first, (size_t)n[0] * (size_t)n[1] * (size_t)n[2], sizeof *first));
    // atoms enter from the last to the first, so that a cell's chain ascends; 0 ends it (ids are stored plus one)
    for (int32_t i = d->n - 1; i >= 0; i--) {
        for (int k = 0; k < 3; k++) cell[i][k] = cell_of(w, i, k, n[k]);
        int32_t *head = &first[((size_t)cell[i][0] * (size_t)n[1] + (size_t)cell[i][1]) * (size_t)n[2] + (size_t)cell[i][2]];
        next[i] = *head;
        *head = i + 1;
    }
    for (int32_t i = 0; i < d->n; i++)
        for (int neighbour = 0; neighbour < 27; neighbour++) {
            const int step[3] = {neighbour / 9 - 1, neighbour / 3 % 3 - 1, neighbour % 3 - 1};
            size_t    at = 0;

            for (int k = 0; k < 3; k++) at = at * (size_t)n[k] + (size_t)((cell[i][k] + step[k] + n[k]) % n[k]);
            for (int32_t j = first[at] - 1; j >= 0; j = next[j] - 1)
                if (j > i) pair(w, i, j);
        }
fail:
    mds_free(cell);
    mds_free(first);
    mds_free(next);
    return status;
}

static sweep prepare(mds_device *d)
{
    const mds_params *p = &d->params;
    sweep             w = {.d = d};
    double            force;

    w.cut_lj = p->cut_lj > 0 ? p->cut_lj : HUGE_VAL;
    w.cut_q = p->coulomb == MDS_COULOMB_NONE ? 0 : p->cut_q > 0 ? p->cut_q : HUGE_VAL;
    w.cut = fmax(w.cut_lj, w.cut_q);
    if (p->coulomb == MDS_COULOMB_REACTION_FIELD && p->cut_q > 0) {
        const double rc = p->cut_q, e = p->rf_dielectric;

        w.k_rf = e > 0 ? (e - 1) / ((2 * e + 1) * rc * rc * rc) : 1 / (2 * rc * rc * rc);
        w.c_rf = 1 / rc + w.k_rf * rc * rc;
    }
    if (p->coulomb_shift && p->cut_q > 0) {
        if (p->coulomb == MDS_COULOMB_CUT) w.q_shift = 1 / p->cut_q;
        if (p->coulomb == MDS_COULOMB_PME && !d->split.prolate) real_space(d, p->cut_q, &w.q_shift, &force);
    }
    w.images = mds_images_of(&d->box);
    return w;
}

mds_status mds_ref_pair(mds_device *d, mds_where where, mds_work work)
{
    if (d->tripped || where != MDS_HOME) return MDS_OK;

    sweep   w = prepare(d);
    int32_t n[3] = {0, 0, 0};
    if (!mds_box_is_none(&d->box) && w.cut < HUGE_VAL) {
        double width[3];

        mds_box_widths(&d->box, width);
        for (int k = 0; k < 3; k++) n[k] = (int32_t)fmin(width[k] / w.cut, 64);
    }
    if (!(work & MDS_FAST) || d->params.coulomb != MDS_COULOMB_PME) excluded_pairs(&w); // energies and virial always
    if (n[0] >= 3 && n[1] >= 3 && n[2] >= 3) return sweep_cells(&w, n);
    for (int32_t i = 0; i < d->n; i++)
        for (int32_t j = i + 1; j < d->n; j++) pair(&w, i, j);
    return MDS_OK;
}
