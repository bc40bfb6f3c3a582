// SPDX-License-Identifier: Apache-2.0
// Bonded terms in double precision: the formulas of num/bonded.h, which cpu uses too, one thread a term.
//
// A block does up to TERM_THREADS terms of one kind, so no warp diverges; atoms and parameters lie as the system has them. Forces are
// made fixed point one by one and taken off the last atom's, so a term pushes nothing as a whole (terms.h). Angles of cosines are turned
// into [-pi, pi] first: the general reduction of large arguments would cost every thread local memory.
#include "terms.h"

#include "num/bonded.h"

/// On the device.
typedef struct {
    const int4   *block; // [n_blocks] mds_term_kind, terms, where in atom and in param it begins
    const int    *atom;
    const double *param, *cells; // cells [n_maps][map_size][map_size][16]
    int           map_size;
} bonded_lists;

struct gpu_bonded_double {
    int          n_blocks;
    bonded_lists lists;
};

/// Where a thread works and what its term gives, kJ/mol.
typedef struct {
    const gpu_view    *p;
    const term_images *images;
    const int         *atom;
    unsigned           fault;
    double             energy, coulomb, virial[9];
} place;
enum { N_SUMS = 11 };

// ------------------------------------------------------------------------------------------------- kernel

/// x_a - x_b at the nearest image, a and b counted in the term.
static __device__ __forceinline__ void difference(const place *w, int a, int b, double r[3])
{
    const double *x = w->p->x[w->atom[a]], *y = w->p->x[w->atom[b]];
    int           k;

    for (k = 0; k < 3; k++) r[k] = x[k] - y[k];
    mds_images_nearest(&w->images->m, r);
}

/// Force f on an atom that is at r from the one that gets `rest`.
template <bool want> static __device__ __forceinline__ void push(place *w, int a, const double r[3], const double f[3], long long (&rest)[3])
{
    int k, l;

    term_push(w->p, w->p->slot_of[w->atom[a]], f, rest, &w->fault);
    for (k = 0; want && k < 3; k++)
        for (l = 0; l < 3; l++) w->virial[3 * k + l] -= 0.5 * r[k] * f[l];
}

template <bool want> static __device__ __forceinline__ void pull(place *w, int a, int b, const double r[3], double s)
{
    const double f[3] = {s * r[0], s * r[1], s * r[2]};
    long long    rest[3] = {0, 0, 0};

    push<want>(w, a, r, f, rest);
    term_push_rest(w->p, w->p->slot_of[w->atom[b]], rest);
}

template <bool want> static __device__ __forceinline__ void bond(place *w, int b, double r0, double stiffness)
{
    double r[3], s;

    difference(w, 0, b, r);
    w->energy += mds_bond(mds_dot(r, r), r0, stiffness, &s);
    pull<want>(w, 0, b, r, s);
}

template <bool want> static __device__ __forceinline__ void two_atoms(place *w, int kind, const double *q)
{
    double r[3], s;

    difference(w, 0, 1, r);
    const double r2 = mds_dot(r, r);
    if (kind == MDS_TERM_BOND_G96)
        w->energy = mds_bond_g96(r2, q[0], q[1], &s);
    else if (kind == MDS_TERM_BOND_MORSE)
        w->energy = mds_bond_morse(r2, q[0], q[1], q[2], &s);
    else
        w->energy = mds_pair14(r2, q[0], q[1], q[2], &s, &w->coulomb);
    pull<want>(w, 0, 1, r, s);
}

template <bool want> static __device__ __forceinline__ void angle(place *w, int kind, const double *q)
{
    double    u[3], v[3], fu[3], fv[3];
    long long rest[3] = {0, 0, 0};
    int       k;

    difference(w, 0, 1, u);
    difference(w, 2, 1, v);
    if (kind == MDS_TERM_ANGLE_G96) {
        double sine, cosine;

        sincospi(q[0] / MDS_PI, &sine, &cosine);
        w->energy = mds_angle_g96(u, v, cosine, q[1], fu, fv);
    } else {
        const double off = mds_angle(u, v, fu, fv) - q[0];

        w->energy = 0.5 * q[1] * off * off;
        for (k = 0; k < 3; k++) {
            fu[k] *= -q[1] * off;
            fv[k] *= -q[1] * off;
        }
    }
    push<want>(w, 0, u, fu, rest);
    push<want>(w, 2, v, fv, rest);
    term_push_rest(w->p, w->p->slot_of[w->atom[1]], rest);
}

/// Sine and cosine of any angle.
static __device__ __forceinline__ void turn(double angle, double *sine, double *cosine)
{
    const double turns = angle / (2 * MDS_PI);

    sincospi(2 * (turns - rint(turns)), sine, cosine);
}

/// A torsion and the vectors from its second atom to the others.
typedef struct {
    double      first[3], third[3], last[3];
    mds_torsion t;
} twist;

static __device__ __forceinline__ void twist_of(const place *w, int a, twist *t)
{
    double h[3];
    int    k;

    difference(w, a, a + 1, t->first);
    difference(w, a + 2, a + 1, t->third);
    difference(w, a + 2, a + 3, h);
    for (k = 0; k < 3; k++) t->last[k] = t->third[k] - h[k];
    mds_torsion_of(t->first, t->third, h, &t->t);
}

template <bool want> static __device__ __forceinline__ void twist_forces(place *w, int a, const twist *t, double slope)
{
    double    f[3][3];
    long long rest[3] = {0, 0, 0};
    int       k;

    for (k = 0; k < 3; k++) {
        f[0][k] = -slope * t->t.grad[0][k];
        f[1][k] = -slope * t->t.grad[2][k];
        f[2][k] = -slope * t->t.grad[3][k];
    }
    push<want>(w, a, t->first, f[0], rest);
    push<want>(w, a + 2, t->third, f[1], rest);
    push<want>(w, a + 3, t->last, f[2], rest);
    term_push_rest(w->p, w->p->slot_of[w->atom[a + 1]], rest);
}

template <bool want> static __device__ __forceinline__ void torsion(place *w, int kind, const double *q)
{
    double sine, cosine, slope;
    twist  t;
    int    m;

    twist_of(w, 0, &t);
    if (kind == MDS_TERM_IMPROPER) {
        w->energy = mds_improper(t.t.phi, q[0], q[1], &slope);
    } else if (kind == MDS_TERM_RB) { // powers of cos(phi - pi)
        turn(t.t.phi, &sine, &cosine);
        double v = q[5], dv = 0;
        for (m = 4; m >= 0; m--) {
            dv = v - dv * cosine;
            v = q[m] - v * cosine;
        }
        w->energy = v;
        slope = dv * sine;
    } else {
        turn(q[2] * t.t.phi - q[0], &sine, &cosine);
        w->energy = q[1] * (1 + cosine);
        slope = -q[1] * q[2] * sine;
    }
    twist_forces<want>(w, 0, &t, slope);
}

template <bool want> static __device__ __forceinline__ void map(place *w, const bonded_lists *b, const double *q)
{
    double phi[2], slope[2];
    twist  t;
    int    m;

    GPU_UNROLL
    for (m = 0; m < 2; m++) {
        twist_of(w, m, &t);
        phi[m] = t.t.phi;
    }
    w->energy = mds_cmap(b->map_size, b->cells + (int64_t)q[0] * 16 * b->map_size * b->map_size, phi[0], phi[1], slope);
    GPU_UNROLL
    for (m = 0; m < 2; m++) { // made once more: two at a time would not fit the registers
        twist_of(w, m, &t);
        twist_forces<want>(w, m, &t, slope[m]);
    }
}

/// The virial counts from the origin of space (docs/theory/bonded.md).
template <bool want> static __device__ __forceinline__ void restraint(place *w, const double *q)
{
    const double *x = w->p->x[w->atom[0]];
    double        r[3] = {x[0] - q[0], x[1] - q[1], x[2] - q[2]}, f[3], image[3];
    long long     rest[3] = {0, 0, 0};
    int           k;

    mds_images_nearest(&w->images->m, r);
    for (k = 0; k < 3; k++) {
        f[k] = -q[3 + k] * r[k];
        w->energy -= 0.5 * f[k] * r[k];
        image[k] = q[k] + r[k];
    }
    push<want>(w, 0, image, f, rest);
}

template <bool want> static __device__ GPU_PART void term(place *w, const bonded_lists *b, int kind, const double *q)
{
    if (kind == MDS_TERM_CMAP) {
        map<want>(w, b, q);
    } else if (kind == MDS_TERM_RESTRAINT) {
        restraint<want>(w, q);
    } else if (kind == MDS_TERM_PROPER || kind == MDS_TERM_PERIODIC_IMPROPER || kind == MDS_TERM_RB || kind == MDS_TERM_IMPROPER) {
        torsion<want>(w, kind, q);
    } else if (kind == MDS_TERM_ANGLE || kind == MDS_TERM_ANGLE_G96 || kind == MDS_TERM_UREY_BRADLEY) {
        angle<want>(w, kind, q);
        if (kind == MDS_TERM_UREY_BRADLEY) bond<want>(w, 2, q[2], q[3]);
    } else if (kind == MDS_TERM_BOND) {
        bond<want>(w, 1, q[0], q[1]);
    } else {
        two_atoms<want>(w, kind, q);
    }
}

/// n_atoms, n_params: of every kind, from mds_term_table.
typedef struct {
    signed char n_atoms[MDS_N_TERMS], n_params[MDS_N_TERMS], energy[MDS_N_TERMS];
} bonded_shape;

template <bool want> static __global__ void __launch_bounds__(TERM_THREADS) k_bonded_double(gpu_view p, bonded_lists b, const GPU_CONSTANT bonded_shape shape)
{
    GPU_SHARED(term_images, images, [1]);
    GPU_SHARED(double, part, [TERM_WARPS][N_SUMS]);
    const int t = (int)threadIdx.x;
    int       k;

    if (p.control->tripped) return;
    term_images_of(p.control, images);
    __syncthreads();
    const int4 block = b.block[blockIdx.x];
    place      w = {&p, images, b.atom + block.z + t * shape.n_atoms[block.x], 0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0}};

    if (t < block.y) {
        term<want>(&w, &b, block.x, b.param + block.w + t * shape.n_params[block.x]);
        if (w.fault) gpu_fault(p.control, w.fault, w.atom[0]);
    }
    if (!want) return;
    double v[N_SUMS] = {w.energy, w.coulomb};
    for (k = 0; k < 9; k++) v[2 + k] = w.virial[k];
    const double total = term_block_sum(v, part);
    if (t == 0) gpu_add_sum_fine(p.control, shape.energy[block.x], total);
    if (t == 1 && block.x == MDS_TERM_PAIR14) gpu_add_sum_fine(p.control, MDS_EN_COUL14, total);
    if (t >= 2 && t < N_SUMS) gpu_add_sum_fine(p.control, GPU_VIRIAL + t - 2, total);
}

// ---------------------------------------------------------------------------------------------------- life

/// Host lists on their way.
typedef struct {
    int4   *block;
    int    *atom;
    double *param;
    size_t  room_block, room_atom, room_param, n_blocks, n_atoms, n_params;
} builder;

static mds_status collect(const mds_system *s, builder *b)
{
    for (int kind = 0; kind < MDS_N_TERMS; kind++) {
        const mds_terms *terms = &s->term[kind];
        const size_t     na = (size_t)mds_term_table[kind].n_atoms, np = (size_t)mds_term_table[kind].n_params, n = (size_t)terms->n;

        if (!n) continue;
        MDS_TRY(mds_grow(&b->atom, &b->room_atom, b->n_atoms + n * na, sizeof *b->atom));
        MDS_TRY(mds_grow(&b->param, &b->room_param, b->n_params + n * np, sizeof *b->param));
        for (size_t k = 0; k < n * na; k++) b->atom[b->n_atoms + k] = terms->atom[k];
        for (size_t k = 0; k < n * np; k++) b->param[b->n_params + k] = terms->param[k];
        for (size_t first = 0; first < n; first += TERM_THREADS) {
            MDS_TRY(mds_grow(&b->block, &b->room_block, b->n_blocks + 1, sizeof *b->block));
            b->block[b->n_blocks++] = make_int4(kind, n - first < TERM_THREADS ? (int)(n - first) : (int)TERM_THREADS, (int)(b->n_atoms + first * na),
                                                (int)(b->n_params + first * np));
        }
        b->n_atoms += n * na;
        b->n_params += n * np;
    }
    return MDS_OK;
}

static mds_status copy_maps(const mds_system *s, bonded_lists *out)
{
    const size_t points = (size_t)s->map_size * (size_t)s->map_size, n = 16 * points * (size_t)s->n_maps;
    double      *cells = NULL, *slopes = NULL, *there;
    mds_status   status;

    out->map_size = s->map_size;
    if (!n) return MDS_OK;
    MDS_TRY_GOTO(mds_alloc(&cells, n, sizeof *cells));
    MDS_TRY_GOTO(mds_alloc(&slopes, 3 * points, sizeof *slopes));
    for (int32_t k = 0; k < s->n_maps; k++)
        mds_cmap_cells(s->map_size, s->map + points * (size_t)k, slopes, cells + 16 * points * (size_t)k);
    MDS_TRY_GOTO(gpu_copy_in(&there, cells, n));
    out->cells = there;
fail:
    mds_free(cells);
    mds_free(slopes);
    return status;
}

static mds_status copy_lists(const mds_system *s, const builder *b, gpu_bonded_double *out)
{
    int4   *block;
    int    *atom;
    double *param;

    out->n_blocks = (int)b->n_blocks;
    MDS_TRY(gpu_copy_in(&block, b->block, b->n_blocks));
    out->lists.block = block;
    MDS_TRY(gpu_copy_in(&atom, b->atom, b->n_atoms));
    out->lists.atom = atom;
    MDS_TRY(gpu_copy_in(&param, b->param, b->n_params));
    out->lists.param = param;
    return copy_maps(s, &out->lists);
}

void GPU_NAME(bonded_double_close)(mds_device *d)
{
    gpu_bonded_double *b = d->bonded_double;

    if (!b) return;
    GPU_NAME(release)(b->lists.block);
    GPU_NAME(release)(b->lists.atom);
    GPU_NAME(release)(b->lists.param);
    GPU_NAME(release)(b->lists.cells);
    mds_free(b);
    d->bonded_double = NULL;
}

/// Terms never change: done once.
mds_status GPU_NAME(bonded_double_set)(mds_device *d)
{
    builder    b = {};
    mds_status status;

    if (d->bonded_double) return MDS_OK;
    MDS_TRY(mds_alloc(&d->bonded_double, 1, sizeof *d->bonded_double));
    status = collect(d->system, &b);
    if (status == MDS_OK) status = copy_lists(d->system, &b, d->bonded_double);
    mds_free(b.block);
    mds_free(b.atom);
    mds_free(b.param);
    return status;
}

mds_status GPU_NAME(bonded_double)(mds_device *d, mds_work work)
{
    const gpu_bonded_double *b = d->bonded_double;
    bonded_shape             shape;

    for (int kind = 0; kind < MDS_N_TERMS; kind++) {
        shape.n_atoms[kind] = (signed char)mds_term_table[kind].n_atoms;
        shape.n_params[kind] = (signed char)mds_term_table[kind].n_params;
        shape.energy[kind] = (signed char)mds_term_table[kind].energy;
    }
    if (b->n_blocks && (work & (MDS_ENERGY | MDS_VIRIAL)))
        GPU_LAUNCH(k_bonded_double<true>, (unsigned)b->n_blocks, TERM_THREADS, 0, d->term_stream, d->view, b->lists, shape);
    else if (b->n_blocks)
        GPU_LAUNCH(k_bonded_double<false>, (unsigned)b->n_blocks, TERM_THREADS, 0, d->term_stream, d->view, b->lists, shape);
    return MDS_OK;
}
