// SPDX-License-Identifier: Apache-2.0
// Excluded pairs and the self energy.
//
// The pair kernels skip excluded pairs altogether, but the mesh cannot: it has given every pair its long-range share
// Phi(r)/r, and every charge one with itself. Both are taken back here, for the nearest image at any distance:
//     E = -f qq Phi(r)/r,  F.r = f qq (Phi' - Phi/r),  self: E = -f/2 q^2 lim Phi/r (docs/theory/mesh.md)
// Inside the cut-off these are polynomials in u = (r/rc)^2: no division, no cancellation, and r = 0 is nothing special. Beyond it
// Phi is 1 (prolate) or erf (Gaussian, rare). Reaction field has the same form with k r^2 - c in place of -Phi/r, and nothing
// beyond the cut-off (GROMACS' convention). These terms count as coul_sr.
//
// Precision. Forces in float: Phi is smooth, so a water's are some 100 kJ/mol/nm and good to 1e-4, where the mesh leaves 1e-2;
// the polynomial is fitted to 1e-8. Energies add up to five times the whole Coulomb energy, and what a rigid water gets wrong all
// of them get wrong: positions, polynomial (fitted to 1e-12) and sum are double, in steps that ask for them. Forces do
// not depend on whether they do. In double precision (k_excluded_double) forces are double too, with a polynomial of their own fitted
// to 1e-15; a thread does one pair.
//
// Three consecutive atoms that exclude each other and nobody else, as waters do, are triples: one thread takes three positions,
// 72 consecutive bytes, for three pairs, and adds 9 numbers in place of 18. All charged pairs that are in no triple are pairs,
// one a thread. One launch: blocks of triples, then blocks of pairs.
#include "terms.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

/// What Phi is beyond the cut-off.
typedef enum { BEYOND_NOTHING, BEYOND_ONE, BEYOND_ERF } beyond_kind;

/// Everything that the kernel needs beside the view.
typedef struct {
    int           n_triples, n_pairs, triple_blocks;
    const int    *lead;          // [n_triples] first atom
    const int2   *pair;          // [n_pairs] atoms
    const double *qq;            // [n_pairs] charge product, kJ nm/mol
    double        triple_qq[3];  // 01, 02, 12
    beyond_kind   beyond;
    int           degree_force, degree_pot;
    double        beta, cut2, inv_cut, inv_cut2; // 1/nm, nm^2
    double        self;          // kJ/mol, of all charges
    int           times;         // forces act so many times as strongly (an impulse): units, so that bits are those of so many
    double        pot[MDS_SHORT_MAX + 1];   // powers of 2u - 1; times 1/rc
    float         force[MDS_SHORT_MAX + 1]; // powers of 2u - 1, 1/nm^3
} excluded_args;

/// Of the kernel in double precision.
typedef struct {
    int    degree;
    double force[MDS_SHORT_MAX + 1]; // as excluded_args.force
} excluded_double;

struct gpu_excluded {
    excluded_args args;
    excluded_double in_double;
    double        sum_q2; // e^2
    // what the polynomials were made for
    bool          ready, made_double;
    mds_coulomb   coulomb;
    mds_num_split kind;
    double        cut, shape;
};

// -------------------------------------------------------------------------------------------------- kernel

/// Phi/r beyond the cut-off.
static __device__ __forceinline__ double far_potential(const excluded_args *a, double r2)
{
    const double inv = rsqrt(r2);

    return a->beyond == BEYOND_NOTHING ? 0 : a->beyond == BEYOND_ONE ? inv : erf(a->beta * r2 * inv) * inv;
}

/// (Phi/r - Phi')/r^2 beyond the cut-off.
static __device__ __forceinline__ double far_force(const excluded_args *a, double r2)
{
    const double inv = rsqrt(r2), br = a->beta * r2 * inv;
    const double slope = a->beyond == BEYOND_ERF ? 1.1283791670955126 * br * exp(-br * br) : 0; // r dPhi/dr

    return (far_potential(a, r2) - slope * inv) * inv * inv;
}

/// n pairs with the differences d_in: r at the nearest image, and s with the force s r on the first; v: potentials, kJ/mol, if
/// wanted. The force is made from the same numbers in both forms.
template <int n, bool want>
static __device__ __forceinline__ void evaluate(const excluded_args *a, const term_images *images, const double (&d_in)[n][3],
                                                const double (&qq)[n], float (&r)[n][3], float (&s)[n], double (&v)[n])
{
    double x[n], r2[n];
    float  y[n];
    int    m, k, degree;

    GPU_UNROLL
    for (m = 0; m < n; m++) {
        double d[3];

        for (k = 0; k < 3; k++) {
            d[k] = d_in[m][k];
            r[m][k] = (float)d[k];
        }
        if (term_dot(r[m], r[m]) > images->near2) {
            mds_images_nearest(&images->m, d);
            for (k = 0; k < 3; k++) r[m][k] = (float)d[k];
        }
        r2[m] = want ? mds_dot(d, d) : 0;
        x[m] = 2 * a->inv_cut2 * r2[m] - 1;
        y[m] = 2 * (float)a->inv_cut2 * term_dot(r[m], r[m]) - 1;
        s[m] = a->force[a->degree_force];
        v[m] = want ? a->pot[a->degree_pot] : 0;
    }
    for (degree = a->degree_force - 1; degree >= 0; degree--) {
        const float next = a->force[degree];

    GPU_UNROLL
        for (m = 0; m < n; m++) s[m] = s[m] * y[m] + next;
    }
    for (degree = want ? a->degree_pot - 1 : -1; degree >= 0; degree--) {
        const double next = a->pot[degree];

    GPU_UNROLL
        for (m = 0; m < n; m++) v[m] = v[m] * x[m] + next;
    }
    GPU_UNROLL
    for (m = 0; m < n; m++) {
        v[m] *= a->inv_cut;
        if (y[m] > 1) {
            s[m] = (float)far_force(a, (double)term_dot(r[m], r[m]));
            if (want) v[m] = far_potential(a, r2[m]);
        }
        v[m] *= -qq[m];
        s[m] *= (float)-qq[m];
    }
}

enum { N_SUMS = 10 }; // energy, virial

template <int n> static __device__ __forceinline__ void add_sums(const float (&r)[n][3], const float (&s)[n], const double (&v)[n],
                                                                 double (&sum)[N_SUMS])
{
    int m, k, l;

    GPU_UNROLL
    for (m = 0; m < n; m++) {
        sum[0] += v[m];
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) sum[1 + 3 * k + l] -= (double)(0.5f * s[m] * r[m][k] * r[m][l]);
    }
}

/// A water: the forces of its pairs are made fixed point, so that what its atoms get adds up to zero.
template <bool want> static __device__ __forceinline__ void triple(const gpu_view *p, const excluded_args *a, const term_images *images,
                                                                   term_stage *stage, bool active, int first, double (&sum)[N_SUMS])
{
    const double(*x)[3] = p->x + first;
    const double qq[3] = {a->triple_qq[0], a->triple_qq[1], a->triple_qq[2]};
    double       d[3][3], v[3];
    float        r[3][3], s[3];
    long long    units[3][3];
    unsigned     fault = 0;
    int          k;

    for (k = 0; k < 3; k++) {
        const double x0 = x[0][k], x1 = x[1][k], x2 = x[2][k];

        d[0][k] = x0 - x1;
        d[1][k] = x0 - x2;
        d[2][k] = x1 - x2;
    }
    evaluate<3, want>(a, images, d, qq, r, s, v);
    for (k = 0; k < 3; k++) {
        const long long f01 = a->times * term_units(s[0] * r[0][k], &fault), f02 = a->times * term_units(s[1] * r[1][k], &fault);
        const long long f12 = a->times * term_units(s[2] * r[2][k], &fault);

        units[0][k] = f01 + f02;
        units[1][k] = f12 - f01;
        units[2][k] = -f02 - f12;
    }
    for (k = 0; k < 3; k++) term_add(p, stage, active ? p->slot_of[first + k] : -1, units[k]);
    if (active && fault) gpu_fault(p->control, fault, first);
    if (want && active) add_sums(r, s, v, sum);
}

template <bool want> static __device__ __forceinline__ void pair(const gpu_view *p, const excluded_args *a, const term_images *images,
                                                                 term_stage *stage, bool active, int i, double (&sum)[N_SUMS])
{
    const int2    atom = a->pair[i];
    const double *x = p->x[atom.x], *y = p->x[atom.y];
    const double  d[1][3] = {{x[0] - y[0], x[1] - y[1], x[2] - y[2]}}, qq[1] = {a->qq[i]};
    const int     slot[2] = {p->slot_of[atom.x], p->slot_of[atom.y]};
    double        v[1];
    float         r[1][3], s[1];
    long long     units[3], against[3];
    unsigned      fault = 0;
    int           k;

    evaluate<1, want>(a, images, d, qq, r, s, v);
    for (k = 0; k < 3; k++) {
        units[k] = a->times * term_units(s[0] * r[0][k], &fault);
        against[k] = -units[k];
    }
    term_add(p, stage, active ? slot[0] : -1, units);
    term_add(p, stage, active ? slot[1] : -1, against);
    if (active && fault) gpu_fault(p->control, fault, atom.x);
    if (want && active) add_sums(r, s, v, sum);
}

template <bool want> static __global__ void __launch_bounds__(TERM_THREADS) k_excluded(gpu_view p, excluded_args a)
{
    GPU_SHARED(term_images, images, [1]);
    GPU_SHARED(term_stage, stage, [TERM_WARPS]);
    GPU_SHARED(double, part, [TERM_WARPS][N_SUMS]);
    const int  t = (int)threadIdx.x;
    const bool triples = (int)blockIdx.x < a.triple_blocks;
    const int  i = ((int)blockIdx.x - (triples ? 0 : a.triple_blocks)) * TERM_THREADS + t;
    double     sum[N_SUMS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    if (p.control->tripped) return;
    term_images_of(p.control, images);
    __syncthreads();
    // threads beyond the last do the first again and keep it for themselves
    if (triples)
        triple<want>(&p, &a, images, &stage[t / GPU_WARP], i < a.n_triples, a.lead[i < a.n_triples ? i : 0], sum);
    else if (a.n_pairs > 0)
        pair<want>(&p, &a, images, &stage[t / GPU_WARP], i < a.n_pairs, i < a.n_pairs ? i : 0, sum);
    if (!want) return;
    const double total = term_block_sum(sum, part);
    if (t == 0) gpu_add_sum(p.control, MDS_EN_COUL, blockIdx.x == 0 ? total - a.self : total);
    if (t > 0 && t < N_SUMS) gpu_add_sum(p.control, GPU_VIRIAL + t - 1, total);
}

/// Atoms and charge product of pair i: three of each triple, then the others.
static __device__ __forceinline__ int2 pair_of(const excluded_args *a, int i, double *qq)
{
    const int m = i % 3;

    if (i >= 3 * a->n_triples) {
        *qq = a->qq[i - 3 * a->n_triples];
        return a->pair[i - 3 * a->n_triples];
    }
    *qq = m == 0 ? a->triple_qq[0] : m == 1 ? a->triple_qq[1] : a->triple_qq[2];
    const int first = a->lead[i / 3];
    return make_int2(first + (m == 2), first + (m == 0 ? 1 : 2));
}

template <bool want> static __global__ void __launch_bounds__(TERM_THREADS) k_excluded_double(gpu_view p, const GPU_CONSTANT excluded_args a,
                                                                                            const GPU_CONSTANT excluded_double b)
{
    GPU_SHARED(term_images, images, [1]);
    GPU_SHARED(double, part, [TERM_WARPS][N_SUMS]);
    const int t = (int)threadIdx.x, i = (int)blockIdx.x * TERM_THREADS + t;
    double    sum[N_SUMS] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int       k, l;

    if (p.control->tripped) return;
    term_images_of(p.control, images);
    __syncthreads();
    if (i < 3 * a.n_triples + a.n_pairs) {
        double     qq, s, v = 0, f[3], r[3];
        const int2 atom = pair_of(&a, i, &qq);
        long long  rest[3] = {0, 0, 0};
        unsigned   fault = 0;

        for (k = 0; k < 3; k++) r[k] = p.x[atom.x][k] - p.x[atom.y][k];
        mds_images_nearest(&images->m, r);
        const double r2 = mds_dot(r, r), x = 2 * a.inv_cut2 * r2 - 1;
        if (x <= 1) {
            s = b.force[b.degree];
            for (k = b.degree - 1; k >= 0; k--) s = s * x + b.force[k];
            if (want) {
                v = a.pot[a.degree_pot];
                for (k = a.degree_pot - 1; k >= 0; k--) v = v * x + a.pot[k];
                v *= a.inv_cut;
            }
        } else {
            s = far_force(&a, r2);
            if (want) v = far_potential(&a, r2);
        }
        for (k = 0; k < 3; k++) f[k] = -qq * s * r[k] * a.times;
        term_push(&p, p.slot_of[atom.x], f, rest, &fault);
        term_push_rest(&p, p.slot_of[atom.y], rest);
        if (fault) gpu_fault(p.control, fault, atom.x);
        sum[0] = -qq * v;
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) sum[1 + 3 * k + l] = -0.5 * r[k] * f[l];
    }
    if (!want) return;
    const double total = term_block_sum(sum, part);
    if (t == 0) gpu_add_sum_fine(p.control, MDS_EN_COUL, blockIdx.x == 0 ? total - a.self : total);
    if (t > 0 && t < N_SUMS) gpu_add_sum_fine(p.control, GPU_VIRIAL + t - 1, total);
}

// ---------------------------------------------------------------------------------------------------- life

/// Charge product of an excluded pair, kJ nm/mol.
static double product(const mds_system *s, int32_t i, int32_t j)
{
    return MDS_COULOMB * s->charge[i] * s->charge[j];
}

/// Excluded partners of i with a charge, if i has one and there are at most two; their number, or 3 for more.
static int partners(const mds_system *s, int32_t i, int32_t out[2])
{
    int n = 0;

    for (int32_t e = s->excl_start[i]; e < s->excl_start[i + 1] && n < 3; e++) {
        if (s->excl[e] == i || product(s, i, s->excl[e]) == 0) continue;
        if (n < 2) out[n] = s->excl[e];
        n++;
    }
    return n;
}

/// Whether i, i + 1, i + 2 exclude each other and nobody else.
static bool is_triple(const mds_system *s, int32_t i)
{
    int32_t j[3][2];

    if (i + 2 >= s->n_atoms) return false;
    for (int a = 0; a < 3; a++) {
        if (partners(s, i + a, j[a]) != 2) return false;
        for (int k = 0; k < 2; k++)
            if (j[a][k] < i || j[a][k] > i + 2) return false;
    }
    return true;
}

/// Host lists on their way.
typedef struct {
    int    *lead;
    int2   *pair;
    double *qq;
    size_t  room_lead, room_pair, room_qq;
    int     n_triples, n_pairs;
    double  triple_qq[3];
} lists;

/// Triples with the charges of the first; all other pairs of charges one by one.
static mds_status collect(const mds_system *s, lists *l)
{
    int32_t beyond_triple = 0; // atoms below are in one

    for (int32_t i = 0; i < s->n_atoms; i++) {
        if (i >= beyond_triple && is_triple(s, i)) {
            const double qq[3] = {product(s, i, i + 1), product(s, i, i + 2), product(s, i + 1, i + 2)};

            if (!l->n_triples) memcpy(l->triple_qq, qq, sizeof qq);
            if (!memcmp(l->triple_qq, qq, sizeof qq)) {
                MDS_TRY(mds_grow(&l->lead, &l->room_lead, (size_t)l->n_triples + 1, sizeof *l->lead));
                l->lead[l->n_triples++] = i;
                beyond_triple = i + 3;
            }
        }
        if (i < beyond_triple) continue;
        for (int32_t e = s->excl_start[i]; e < s->excl_start[i + 1]; e++) {
            const int32_t j = s->excl[e];

            if (j <= i || product(s, i, j) == 0) continue;
            MDS_TRY(mds_grow(&l->pair, &l->room_pair, (size_t)l->n_pairs + 1, sizeof *l->pair));
            MDS_TRY(mds_grow(&l->qq, &l->room_qq, (size_t)l->n_pairs + 1, sizeof *l->qq));
            l->pair[l->n_pairs] = make_int2(i, j);
            l->qq[l->n_pairs++] = product(s, i, j);
        }
    }
    return MDS_OK;
}

static mds_status copy_lists(const lists *l, excluded_args *out)
{
    int    *lead;
    int2   *pair;
    double *qq;

    out->n_triples = l->n_triples;
    out->n_pairs = l->n_pairs;
    out->triple_blocks = (l->n_triples + TERM_THREADS - 1) / TERM_THREADS;
    memcpy(out->triple_qq, l->triple_qq, sizeof out->triple_qq);
    MDS_TRY(gpu_copy_in(&lead, l->lead, l->n_triples));
    out->lead = lead;
    MDS_TRY(gpu_copy_in(&pair, l->pair, l->n_pairs));
    out->pair = pair;
    MDS_TRY(gpu_copy_in(&qq, l->qq, l->n_pairs));
    out->qq = qq;
    return MDS_OK;
}

mds_status GPU_NAME(excluded_open)(mds_device *d)
{
    const mds_system *s = d->system;
    lists             l = {};
    mds_status        status;

    MDS_TRY(mds_alloc(&d->excluded, 1, sizeof *d->excluded));
    for (int32_t i = 0; i < s->n_atoms; i++) d->excluded->sum_q2 += s->charge[i] * s->charge[i];
    status = collect(s, &l);
    if (status == MDS_OK) status = copy_lists(&l, &d->excluded->args);
    mds_free(l.lead);
    mds_free(l.pair);
    mds_free(l.qq);
    return status;
}

void GPU_NAME(excluded_close)(mds_device *d)
{
    gpu_excluded *e = d->excluded;

    if (!e) return;
    GPU_NAME(release)(e->args.lead);
    GPU_NAME(release)(e->args.pair);
    GPU_NAME(release)(e->args.qq);
    mds_free(e);
    d->excluded = NULL;
}

/// The polynomials of the present parameters; the device's split is up to date.
mds_status GPU_NAME(excluded_set)(mds_device *d)
{
    gpu_excluded     *e = d->excluded;
    excluded_args    *a = &e->args;
    const mds_params *p = &d->params;
    const bool        pme = p->coulomb == MDS_COULOMB_PME;
    const double      shape = pme ? d->split.shape : p->rf_dielectric;
    mds_short         forces, energies;

    if (!pme && p->coulomb != MDS_COULOMB_REACTION_FIELD) return MDS_OK;
    if (e->ready && e->coulomb == p->coulomb && e->kind == d->split.kind && e->cut == p->cut_q && e->shape == shape &&
        e->made_double == p->double_precision)
        return MDS_OK;
    if (pme) {
        MDS_TRY(mds_short_ewald(&d->split, false, 1e-8, &forces));
        MDS_TRY(mds_short_ewald(&d->split, false, p->double_precision ? 1e-15 : 1e-12, &energies));
    } else {
        mds_short_reaction_field(p->cut_q, p->rf_dielectric, &energies);
        forces = energies;
    }
    a->degree_force = forces.degree_force;
    a->degree_pot = energies.degree_pot;
    for (int k = 0; k <= MDS_SHORT_MAX; k++) {
        a->force[k] = (float)(forces.force_centred[k] / (p->cut_q * p->cut_q * p->cut_q));
        a->pot[k] = energies.pot_centred[k];
        e->in_double.force[k] = energies.force_centred[k] / (p->cut_q * p->cut_q * p->cut_q);
    }
    e->in_double.degree = energies.degree_force;
    e->made_double = p->double_precision;
    a->beyond = !pme ? BEYOND_NOTHING : d->split.kind == MDS_NUM_GAUSSIAN ? BEYOND_ERF : BEYOND_ONE;
    a->beta = d->split.shape;
    a->cut2 = p->cut_q * p->cut_q;
    a->inv_cut = 1 / p->cut_q;
    a->inv_cut2 = 1 / a->cut2;
    a->self = MDS_COULOMB * e->sum_q2 * (pme ? d->split.self : 0.5 * energies.pot[0] / p->cut_q);
    e->coulomb = p->coulomb;
    e->kind = d->split.kind;
    e->cut = p->cut_q;
    e->shape = shape;
    e->ready = true;
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------------- stage

static mds_status enqueue(mds_device *d, bool want, int times, cudaStream_t stream)
{
    gpu_excluded *e = d->excluded;
    const int     blocks = e->args.triple_blocks + (e->args.n_pairs + TERM_THREADS - 1) / TERM_THREADS;

    e->args.times = times;
    if (d->params.double_precision) {
        const int pairs = 3 * e->args.n_triples + e->args.n_pairs, most = pairs ? (pairs + TERM_THREADS - 1) / TERM_THREADS : 1;

        if (want)
            GPU_LAUNCH(k_excluded_double<true>, (unsigned)most, TERM_THREADS, 0, stream, d->view, e->args, e->in_double);
        else if (pairs)
            GPU_LAUNCH(k_excluded_double<false>, (unsigned)most, TERM_THREADS, 0, stream, d->view, e->args, e->in_double);
        return MDS_OK;
    }
    if (want && e->sum_q2 > 0) // one block at least: the self energy
        GPU_LAUNCH(k_excluded<true>, (unsigned)(blocks ? blocks : 1), TERM_THREADS, 0, stream, d->view, e->args);
    else if (blocks)
        GPU_LAUNCH(k_excluded<false>, (unsigned)blocks, TERM_THREADS, 0, stream, d->view, e->args);
    return MDS_OK;
}

mds_status GPU_NAME(excluded)(mds_device *d, mds_work work)
{
    if (d->params.coulomb != MDS_COULOMB_PME && d->params.coulomb != MDS_COULOMB_REACTION_FIELD) return MDS_OK;
    if ((work & MDS_FAST) && d->params.coulomb == MDS_COULOMB_PME) return MDS_OK; // goes with the mesh, whose share it takes back
    return enqueue(d, work & (MDS_ENERGY | MDS_VIRIAL), gpu_slow_times(d, work), d->term_stream);
}

mds_status GPU_NAME(excluded_again)(mds_device *d, int times)
{
    return enqueue(d, false, times, d->stream);
}
