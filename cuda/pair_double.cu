// SPDX-License-Identifier: Apache-2.0
// pair in double precision: the list of pair.cu, positions in double, for validation and minimisation; written to be read.
//
// A warp works on a chunk, a lane on one atom i of its block, over the entries j one after another. Positions come from x, in atom
// order, and whole box vectors: those by which search moved the atoms (image) and that of the chunk. Forces on i are summed in the lane,
// forces on j over the warp, in a fixed order both; from there on sums are fixed point, so bits do not depend on the schedule.
//
// Formulas are those of pair_kernel.h. LJ comes from the table by types only. The polynomial of the Coulomb form is fitted to 1e-15 of its
// largest value, the coefficients' own rounding; a Gaussian needs degree 20 to 30, a prolate of the usual shapes about as much. With atoms
// closer than 1e-6 nm energies are as if they were there: huge, finite, and cut by the fixed point.
#include "device.h"

#include "base/units.h"

#include <math.h>

enum { THREADS = 128, WARPS = THREADS / GPU_WARP };
enum { N_SUMS = 8 }; // LJ, Coulomb, virial xx xy xz yy yz zz
#define EVERYWHERE 1e100 // nm^2: the square of what stands for no cut-off
#define NEAREST2 1e-12   // nm^2

/// Constants of the forms, by value. Polynomials are in powers of 2 (r/rc)^2 - 1.
typedef struct {
    double cut2, cut2_lj, cut2_q; // nm^2; the first is the larger; 0: no such force
    int    modifier;              // mds_lj_modifier
    double shift12, shift6;       // of the potential shift: rc^-12, rc^-6
    double lj_switch, inv_width;  // where modifiers begin, nm; 1/(rc - that)
    double a12, b12, c12, a6, b6, c6; // force switch [gromacs2022, 5.1.1]
    double rate;                  // 2/rc^2, 1/nm^2
    int    degree_force, degree_pot;
    double force[MDS_SHORT_MAX + 1], pot[MDS_SHORT_MAX + 1]; // over rc^3, over rc
} pair_form;

typedef struct {
    double c12, c6, c4;
} pair_lj;

typedef struct {
    gpu_view       view;
    gpu_list       list;
    const pair_lj *lj; // [n_types][n_types]
    int            n_types;
    pair_form      form;
} pair_args;

struct gpu_pair_double {
    pair_lj  *lj; // device
    pair_form form;
};

// ------------------------------------------------------------------------------------------------- kernels

/// c12 (r^-12 and its modifier) - c6 (likewise) - c4 r^-4: F/r and energy. y: 1/r.
static __device__ __forceinline__ double lennard_jones(const pair_form *f, const pair_lj *lj, double r2, double y, double *energy)
{
    const double c12 = lj->c12, c6 = lj->c6;
    const double y2 = y * y, y4 = y2 * y2, y6 = y4 * y2, y12 = y6 * y6, t = fmax(r2 * y - f->lj_switch, 0.0);
    double       force = (12 * c12 * y12 - 6 * c6 * y6) * y2, v = c12 * y12 - c6 * y6;

    if (f->modifier == MDS_LJ_SHIFT) {
        v -= c12 * f->shift12 - c6 * f->shift6;
    } else if (f->modifier == MDS_LJ_SWITCH) {
        const double u = t * f->inv_width, level = 1 - u * u * u * (10 - 15 * u + 6 * u * u);
        const double slope = -30 * u * u * (1 - u) * (1 - u) * f->inv_width;

        force = force * level - v * slope * y;
        v *= level;
    } else if (f->modifier == MDS_LJ_FORCE_SWITCH) {
        force += (c12 * (f->a12 + f->b12 * t) - c6 * (f->a6 + f->b6 * t)) * t * t * y;
        v -= c12 * (t * t * t * (f->a12 / 3 + f->b12 / 4 * t) + f->c12) - c6 * (t * t * t * (f->a6 / 3 + f->b6 / 4 * t) + f->c6);
    }
    *energy = v - lj->c4 * y4;
    return force - 4 * lj->c4 * y6;
}

/// F/r of a pair; its energies are added to sum[0], sum[1].
template <int ENERGY>
static __device__ __forceinline__ double pair_force(const pair_args *a, int type, double qq, double square, double (&sum)[N_SUMS])
{
    const pair_form *f = &a->form;
    const double     r2 = fmax(square, NEAREST2), y = 1 / sqrt(r2), x = f->rate * r2 - 1;
    double           force = 0, energy;
    int              k;

    if (r2 < f->cut2_lj) {
        const pair_lj lj = a->lj[type];

        force = lennard_jones(f, &lj, r2, y, &energy);
        if (ENERGY) sum[0] += energy;
    }
    if (r2 < f->cut2_q) {
        double p = f->force[f->degree_force], v = f->pot[f->degree_pot];

        for (k = f->degree_force - 1; k >= 0; k--) p = p * x + f->force[k];
        for (k = f->degree_pot - 1; ENERGY && k >= 0; k--) v = v * x + f->pot[k];
        force += qq * (y * y * y - p);
        if (ENERGY) sum[1] += qq * (y - v);
    }
    return force;
}

/// An atom and where the slot order thinks it is.
typedef struct {
    int    atom, type, image[3];
    double x[3], q;
} place;

static __device__ __forceinline__ place place_of(const gpu_view *p, int slot)
{
    place w;
    int   k;

    w.atom = p->atom_of[slot];
    const int i = w.atom < 0 ? 0 : w.atom; // padding reads the first and counts for nothing
    w.type = p->type[i];
    w.q = p->charge[i];
    for (k = 0; k < 3; k++) {
        w.x[k] = p->x[i][k];
        w.image[k] = p->image[i][k];
    }
    return w;
}

/// A chunk's sum, cut where a thousand such still fit the step's: a start with atoms on top of each other must not look like a minimum.
/// atom: whose it is, GPU_NO_ATOM if many have a share in it.
static __device__ __forceinline__ double sum_within(gpu_control *c, double v, int atom)
{
    const double most = GPU_PART_LIMIT; // kJ/mol

    if (fabs(v) < most) return v;
    gpu_fault(c, isnan(v) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE, atom);
    return v > 0 ? most : v < 0 ? -most : 0;
}

template <int ENERGY> static __global__ void __launch_bounds__(THREADS) k_pair_double(const GPU_CONSTANT pair_args a)
{
    const gpu_control *control = a.view.control;
    const int          lane = (int)threadIdx.x % GPU_WARP, c = (int)(blockIdx.x * WARPS + threadIdx.x / GPU_WARP);
    double             sum[N_SUMS] = {0, 0, 0, 0, 0, 0, 0, 0}, fi[3] = {0, 0, 0};
    int                e, k, l;

    if (control->tripped || c >= a.list.n_chunks) return; // a warp as a whole
    const gpu_chunk chunk = a.list.chunk[c];
    const int       n = a.list.n[c], slot = GPU_BLOCK * chunk.block + lane;
    const place     i = place_of(&a.view, slot);
    for (e = 0; e < n; e++) {
        const unsigned entry = a.list.j[chunk.first + e];
        const place    j = place_of(&a.view, GPU_J_SLOT(entry));
        const int      image[3] = {i.image[0] + chunk.image[0] - j.image[0], i.image[1] + chunk.image[1] - j.image[1],
                                   i.image[2] + chunk.image[2] - j.image[2]};
        bool           counts = i.atom >= 0 && j.atom >= 0 && (GPU_J_OCTETS(entry) >> (lane / GPU_OCTET) & 1);
        double         d[3], fj[3];

        if (chunk.allow >= 0) counts = counts && (a.list.allow[chunk.allow + e] >> lane & 1);
        for (k = 0; k < 3; k++) {
            d[k] = j.x[k] - i.x[k];
            for (l = k; l < 3; l++) d[k] -= image[l] * control->box.a[l][k];
        }
        const double r2 = mds_dot(d, d);
        counts = counts && r2 < a.form.cut2;
        if (!gpu_ballot(counts)) continue;
        const double f = counts ? pair_force<ENERGY>(&a, i.type * a.n_types + j.type, MDS_COULOMB * i.q * j.q, r2, sum) : 0;
        for (k = 0; k < 3; k++) {
            fi[k] -= f * d[k];
            fj[k] = gpu_sum_warp(f * d[k]);
        }
        if (lane < 3) gpu_add_force_double(&a.view, GPU_J_SLOT(entry), lane, lane == 0 ? fj[0] : lane == 1 ? fj[1] : fj[2]);
        if (ENERGY) {
            sum[2] -= 0.5 * f * d[0] * d[0];
            sum[3] -= 0.5 * f * d[0] * d[1];
            sum[4] -= 0.5 * f * d[0] * d[2];
            sum[5] -= 0.5 * f * d[1] * d[1];
            sum[6] -= 0.5 * f * d[1] * d[2];
            sum[7] -= 0.5 * f * d[2] * d[2];
        }
    }
    for (k = 0; k < 3 && i.atom >= 0; k++) gpu_add_force_double(&a.view, slot, k, fi[k]);
    if (!ENERGY) return;
    if (i.atom >= 0)
        for (k = 0; k < 2; k++) sum_within(a.view.control, sum[k], i.atom); // to name it
    double mine = 0; // lane k takes the sum of k
    GPU_UNROLL
    for (k = 0; k < N_SUMS; k++) {
        const double all = gpu_sum_warp(sum[k]);
        mine = lane == k ? all : mine;
    }
    mine = sum_within(a.view.control, mine, GPU_NO_ATOM);
    if (lane < 2) gpu_add_sum_fine(a.view.control, GPU_ENERGY + (lane ? MDS_EN_COUL : MDS_EN_LJ), mine);
    if (lane < 2 || lane >= N_SUMS) return;
    k = lane < 5 ? 0 : lane < 7 ? 1 : 2;
    l = lane < 5 ? lane - 2 : lane < 7 ? lane - 4 : 2;
    gpu_add_sum_fine(a.view.control, GPU_VIRIAL + 3 * k + l, mine);
    if (k != l) gpu_add_sum_fine(a.view.control, GPU_VIRIAL + 3 * l + k, mine);
}

// ---------------------------------------------------------------------------------------------------- life

/// A, B and the constant of the force switch of 1/r^alpha.
static void force_switch(int alpha, double rs, double rc, double *a, double *b, double *c)
{
    const double w = rc - rs, p = pow(rc, alpha + 2);

    *a = -alpha * ((alpha + 4) * rc - (alpha + 1) * rs) / (p * w * w);
    *b = alpha * ((alpha + 3) * rc - (alpha + 1) * rs) / (p * w * w * w);
    *c = pow(rc, -alpha) - *a / 3 * w * w * w - *b / 4 * w * w * w * w;
}

static mds_status set_coulomb(const mds_device *d, pair_form *f)
{
    const mds_params *p = &d->params;
    mds_short         s = d->short_range; // reaction field and plain cut-off are exact

    if (p->coulomb == MDS_COULOMB_PME) MDS_TRY(mds_short_ewald(&d->split, p->coulomb_shift, 1e-15, &s));
    f->cut2_q = p->coulomb == MDS_COULOMB_NONE ? 0 : p->cut_q > 0 ? p->cut_q * p->cut_q : EVERYWHERE;
    if (!(s.cut > 0)) return MDS_OK; // 1/r alone
    f->rate = 2 / (s.cut * s.cut);
    f->degree_force = s.degree_force;
    f->degree_pot = s.degree_pot;
    for (int k = 0; k <= MDS_SHORT_MAX; k++) {
        f->force[k] = s.force_centred[k] / (s.cut * s.cut * s.cut);
        f->pot[k] = s.pot_centred[k] / s.cut;
    }
    return MDS_OK;
}

static mds_status copy_table(const mds_system *s, gpu_pair_double *g)
{
    const size_t n = (size_t)s->n_types * (size_t)s->n_types;
    pair_lj     *lj;
    mds_status   status;

    MDS_TRY(mds_alloc(&lj, n, sizeof *lj));
    for (size_t k = 0; k < n; k++) lj[k] = pair_lj{s->c12[k], s->c6[k], s->c4 ? s->c4[k] : 0};
    status = gpu_copy_in(&g->lj, lj, n);
    mds_free(lj);
    return status;
}

void GPU_NAME(pair_double_close)(mds_device *d)
{
    if (!d->pair_double) return;
    GPU_NAME(release)(d->pair_double->lj);
    mds_free(d->pair_double);
    d->pair_double = NULL;
}

mds_status GPU_NAME(pair_double_set)(mds_device *d)
{
    const mds_params *p = &d->params;
    const double      rc = p->cut_lj, rs = p->lj_switch;

    if (!d->pair_double) {
        MDS_TRY(mds_alloc(&d->pair_double, 1, sizeof *d->pair_double));
        MDS_TRY(copy_table(d->system, d->pair_double));
    }
    pair_form *f = &d->pair_double->form;
    *f = pair_form{};
    MDS_TRY(set_coulomb(d, f));
    f->cut2_lj = rc > 0 ? rc * rc : EVERYWHERE;
    f->cut2 = fmax(f->cut2_lj, f->cut2_q);
    f->modifier = rc > 0 ? p->lj_modifier : MDS_LJ_CUT;
    f->lj_switch = rs;
    if (f->modifier == MDS_LJ_SHIFT) f->shift12 = pow(rc, -12), f->shift6 = pow(rc, -6);
    if (f->modifier == MDS_LJ_SWITCH) f->inv_width = 1 / (rc - rs);
    if (f->modifier == MDS_LJ_FORCE_SWITCH) {
        force_switch(12, rs, rc, &f->a12, &f->b12, &f->c12);
        force_switch(6, rs, rc, &f->a6, &f->b6, &f->c6);
    }
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------- the stage

mds_status GPU_NAME(pair_double)(mds_device *d, mds_work work)
{
    const gpu_pair_double *g = d->pair_double;
    const unsigned         blocks = (unsigned)(d->list.n_chunks + WARPS - 1) / WARPS;
    const pair_args        args = {d->view, d->list, g->lj, d->system->n_types, g->form};

    if (work & (MDS_ENERGY | MDS_VIRIAL))
        GPU_LAUNCH(k_pair_double<1>, blocks, THREADS, 0, d->stream, args);
    else
        GPU_LAUNCH(k_pair_double<0>, blocks, THREADS, 0, d->stream, args);
    return MDS_OK;
}
