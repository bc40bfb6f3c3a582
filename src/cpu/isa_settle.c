// SPDX-License-Identifier: Apache-2.0
// Rigid waters, a vector of them at a time: the whole list of operations in one pass over their atoms, and their measurements.
//
// SETTLE [miyamoto1992] gives the exact solution of the three position constraints: constraint forces lie in the plane of
// the old triangle, so each atom keeps its height above that plane (measured from the new centre of mass); the heights
// fix two tilt angles of the rigid triangle, and zero torque about the plane's normal fixes the third. Lengths are right to
// rounding because the triangle is built, not corrected. Coordinates are taken relative to the old oxygen. Where no
// triangle exists (an atom thrown across the room) a root is of a negative number and the water ends as NaN, which the
// check of ways finds in the same pass.
//
// Velocities: the 3x3 system of constrain.c by cofactors, exact as well.
//
// A vector holds one coordinate of as many waters as a register takes: eight with AVX-512, four with AVX2, two otherwise.
// This file is compiled once per instruction set level (isa.h) and one is chosen at run time. Filling lanes at the end
// repeat a water and are neither stored nor counted.
#include "cpu/move.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
enum { W = 8 }; // waters a vector
#elif defined(__AVX2__)
enum { W = 4 };
#else
enum { W = 2 };
#endif
// mds_isa_settle_run_avx2 and so on
#define MDS_PASTE(part, level) mds_isa_settle_##part##_##level
#define MDS_EXPAND(part, level) MDS_PASTE(part, level)
#define MDS_SETTLE(part) MDS_EXPAND(part, MDS_ISA_LEVEL)
#define INLINE static inline __attribute__((always_inline))

typedef double vd __attribute__((vector_size(8 * W)));

typedef struct {
    vd      x[9], v[9], f[9], r[9]; // atom and axis: O, H, H; r: positions that directions come from, nm
    int32_t slot[3][W];
} batch;

INLINE vd root(vd a)
{
    vd  out;
    int l;

    for (l = 0; l < W; l++) out[l] = sqrt(a[l]);
    return out;
}

INLINE vd dot(const vd a[3], const vd b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

INLINE void cross(const vd a[3], const vd b[3], vd out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

INLINE void load_rows(double (*const from)[3], const batch *b, vd *to)
{
    double row[9][W];
    int    a, k, l;

    for (a = 0; a < 3; a++)
        for (l = 0; l < W; l++)
            for (k = 0; k < 3; k++) row[3 * a + k][l] = from[b->slot[a][l]][k];
    memcpy(to, row, sizeof row);
}

INLINE void store_rows(const vd *from, const batch *b, int n, double (*to)[3])
{
    double row[9][W];
    int    a, k, l;

    memcpy(row, from, sizeof row);
    for (a = 0; a < 3; a++)
        for (l = 0; l < n; l++)
            for (k = 0; k < 3; k++) to[b->slot[a][l]][k] = row[3 * a + k][l];
}

/// Slots of the waters from `part` on in batch k; returns how many lanes are real (0 or less: none).
INLINE int load_slots(const cpu_move *m, int32_t k, int part, batch *b)
{
    const cpu_water_kind *w = &m->kind[m->batch_kind[k]];
    const int32_t         start = m->batch_first[k] + part, left = w->first + w->n - start;
    const int             n = left < W ? left : W;
    int                   a, l;

    if (n <= 0) return n;

    for (l = 0; l < W; l++)
        for (a = 0; a < 3; a++) b->slot[a][l] = m->water_slot[3 * (size_t)(start + (l < n ? l : 0)) + (size_t)a];
    return n;
}

INLINE void drift(batch *b, double h, double max_move)
{
    int a, k, l;

    for (a = 0; a < 3 && max_move > 0; a++) {
        const vd way = h * root(dot(b->v + 3 * a, b->v + 3 * a));
        vd       cut;

        for (l = 0; l < W; l++) cut[l] = way[l] > max_move ? max_move / way[l] : 1;
        for (k = 0; k < 3; k++) b->v[3 * a + k] *= cut;
    }
    for (k = 0; k < 9; k++) b->x[k] += h * b->v[k];
}

/// The canonical triangle in the frame of the old plane, turned to fit. p1, p2: old O-H vectors; now: new O, H, H from their
/// centre of mass; axes u (across the new O), t, n (normal). out: new positions in that frame.
INLINE void turn_triangle(const cpu_water_kind *w, const vd u[3], const vd t[3], const vd n[3], const vd p1[3], const vd p2[3],
                          const vd now[9], vd out[9])
{
    const vd p1u = dot(u, p1), p1t = dot(t, p1), p2u = dot(u, p2), p2t = dot(t, p2);
    const vd b1u = dot(u, now + 3), b1t = dot(t, now + 3), b1n = dot(n, now + 3);
    const vd b2u = dot(u, now + 6), b2t = dot(t, now + 6), b2n = dot(n, now + 6), an = dot(n, now);
    const vd sin_phi = an / w->ra, cos_phi = root(1 - sin_phi * sin_phi);
    const vd sin_psi = (b1n - b2n) / (2 * w->rc * cos_phi), cos_psi = root(1 - sin_psi * sin_psi);
    const vd ya = w->ra * cos_phi, xb = -w->rc * cos_psi, tilt = w->rc * sin_psi * sin_phi;
    const vd yb = -w->rb * cos_phi - tilt, yc = -w->rb * cos_phi + tilt;
    const vd alpha = xb * (p1u - p2u) + p1t * yb + p2t * yc, beta = xb * (p2t - p1t) + p1u * yb + p2u * yc;
    const vd gamma = p1u * b1t - b1u * p1t + p2u * b2t - b2u * p2t, square = alpha * alpha + beta * beta;
    const vd sine = (alpha * gamma - beta * root(square - gamma * gamma)) / square, cosine = root(1 - sine * sine);

    out[0] = -ya * sine;
    out[1] = ya * cosine;
    out[2] = an;
    out[3] = xb * cosine - yb * sine;
    out[4] = xb * sine + yb * cosine;
    out[5] = b1n;
    out[6] = -xb * cosine - yc * sine;
    out[7] = -xb * sine + yc * cosine;
    out[8] = b2n;
}

/// x onto the constraints, v += (change of x) inv_h, r = x.
INLINE void fix_x(batch *b, const cpu_water_kind *w, double inv_h)
{
    vd  p1[3], p2[3], now[9], com[3], u[3], t[3], n[3], turned[9], scale;
    int k, a;

    for (k = 0; k < 3; k++) {
        p1[k] = b->r[3 + k] - b->r[k];
        p2[k] = b->r[6 + k] - b->r[k];
        for (a = 0; a < 9; a += 3) now[a + k] = b->x[a + k] - b->r[k];
        com[k] = w->weight_o * now[k] + w->weight_h * (now[3 + k] + now[6 + k]);
        for (a = 0; a < 9; a += 3) now[a + k] -= com[k];
    }
    cross(p1, p2, n);
    scale = 1 / root(dot(n, n));
    for (k = 0; k < 3; k++) n[k] *= scale;
    cross(now, n, u);
    scale = 1 / root(dot(u, u));
    for (k = 0; k < 3; k++) u[k] *= scale;
    cross(n, u, t);
    turn_triangle(w, u, t, n, p1, p2, now, turned);
    for (k = 0; k < 3; k++) {
        const vd origin = b->r[k] + com[k];

        for (a = 0; a < 9; a += 3) {
            const vd to = u[k] * turned[a] + t[k] * turned[a + 1] + n[k] * turned[a + 2];

            b->v[a + k] += (to - now[a + k]) * inv_h;
            b->x[a + k] = origin + to;
        }
    }
    for (k = 0; k < 9; k++) b->r[k] = b->x[k];
}

/// From w take what makes r_ij.w_ij + bias differ from 0 for the three distances of x: A lambda = g by cofactors.
INLINE void project(const cpu_water_kind *kind, const vd *x, vd *w, const vd *bias)
{
    const double o = kind->im_o, m = kind->im_h;
    vd           r1[3], r2[3], r3[3], w1[3], w2[3], w3[3], g1, g2, g3, l1, l2, l3, inv;
    int          k;

    for (k = 0; k < 3; k++) {
        r1[k] = x[k] - x[3 + k];
        r2[k] = x[k] - x[6 + k];
        r3[k] = x[3 + k] - x[6 + k];
        w1[k] = w[k] - w[3 + k];
        w2[k] = w[k] - w[6 + k];
        w3[k] = w[3 + k] - w[6 + k];
    }
    g1 = dot(r1, w1);
    g2 = dot(r2, w2);
    g3 = dot(r3, w3);
    if (bias) {
        g1 += bias[0];
        g2 += bias[1];
        g3 += bias[2];
    }
    const vd a11 = (o + m) * dot(r1, r1), a22 = (o + m) * dot(r2, r2), a33 = 2 * m * dot(r3, r3);
    const vd a12 = o * dot(r1, r2), a13 = -m * dot(r1, r3), a23 = m * dot(r2, r3);
    const vd c11 = a22 * a33 - a23 * a23, c12 = a13 * a23 - a12 * a33, c13 = a12 * a23 - a13 * a22;
    const vd c22 = a11 * a33 - a13 * a13, c23 = a12 * a13 - a11 * a23, c33 = a11 * a22 - a12 * a12;

    inv = 1 / (a11 * c11 + a12 * c12 + a13 * c13);
    l1 = inv * (c11 * g1 + c12 * g2 + c13 * g3);
    l2 = inv * (c12 * g1 + c22 * g2 + c23 * g3);
    l3 = inv * (c13 * g1 + c23 * g2 + c33 * g3);
    for (k = 0; k < 3; k++) {
        w[k] -= o * (l1 * r1[k] + l2 * r2[k]);
        w[3 + k] += m * (l1 * r1[k] - l3 * r3[k]);
        w[6 + k] += m * (l2 * r2[k] + l3 * r3[k]);
    }
}

/// Sum over the n real lanes, in lane order.
INLINE double sum_lanes(vd a, int n)
{
    double sum = 0;
    int    l;

    for (l = 0; l < n; l++) sum += a[l];
    return sum;
}

INLINE vd kinetic(const batch *b, const cpu_water_kind *w)
{
    return 0.5 / w->im_o * dot(b->v, b->v) + 0.5 / w->im_h * (dot(b->v + 3, b->v + 3) + dot(b->v + 6, b->v + 6));
}

INLINE void noise(const mds_device *d, batch *b, const cpu_water_kind *w, const cpu_op *op, int n, cpu_move_sums *sums)
{
    const vd before = kinetic(b, w);
    double   kick[9][W] = {{0}};
    int      a, k, l;

    for (a = 0; a < 3; a++)
        for (l = 0; l < n; l++) {
            double gauss[4];

            mds_gauss4(d->params.seed, op->stream, (uint64_t)d->step, (uint32_t)d->atom_of[b->slot[a][l]], gauss);
            for (k = 0; k < 3; k++) kick[3 * a + k][l] = gauss[k];
        }
    for (k = 0; k < 9; k++) {
        const double spread = sqrt(op->spread * (k < 3 ? w->im_o : w->im_h));
        vd           g;

        memcpy(&g, kick[k], sizeof g);
        b->v[k] = op->c * b->v[k] + spread * g;
    }
    project(w, b->x, b->v, NULL);
    sums->work_noise += sum_lanes(kinetic(b, w) - before, n);
}

/// Moved too far since the search, or not a number: the stage then looks atom by atom. Three comparisons that NaN fails.
INLINE bool is_suspect(const vd *now, const vd *from, double limit2)
{
    bool good = true;
    int  a, k, l;

    for (a = 0; a < 9; a += 3) {
        vd way[3], square;

        for (k = 0; k < 3; k++) way[k] = from ? now[a + k] - from[a + k] : now[a + k];
        square = dot(way, way);
        for (l = 0; l < W; l++) good &= square[l] <= limit2;
    }
    return !good;
}

/// Waters that FIX_X left as NaN.
static void find_unsolved(const mds_device *d, const batch *b, int n, cpu_move_sums *sums)
{
    int l;

    for (l = 0; l < n; l++) {
        const int32_t oxygen = d->atom_of[b->slot[0][l]];

        if (isnan(b->x[0][l]) && oxygen < sums->unsolved) sums->unsolved = oxygen;
    }
}

INLINE void run_op(const mds_device *d, const cpu_water_kind *w, const cpu_op *op, double max_move, int n, batch *b,
                   cpu_move_sums *sums)
{
    int k;

    switch (op->kind) {
    case MDS_KICK:
        for (k = 0; k < 9; k++) b->v[k] += op->h * (k < 3 ? w->im_o : w->im_h) * b->f[k];
        break;
    case MDS_DRIFT:
        drift(b, op->h, max_move);
        break;
    case MDS_NOISE:
        noise(d, b, w, op, n, sums);
        break;
    case MDS_FIX_X:
        fix_x(b, w, op->inv_h);
        break;
    case MDS_FIX_V:
        project(w, b->x, b->v, NULL);
        break;
    case MDS_MIX:
    case MDS_STOP:
        break;
    }
}

void MDS_SETTLE(run)(mds_device *d, const cpu_ops *ops, int32_t first, int32_t last, cpu_move_sums *sums)
{
    const cpu_move *m = d->move;
    batch           b;
    vd              list[9];
    int32_t         q;
    int             p;

    for (q = first * (CPU_WATERS / W); q < last * (CPU_WATERS / W); q++) {
        const int32_t         k = q / (CPU_WATERS / W);
        const cpu_water_kind *w = &m->kind[m->batch_kind[k]];
        const int             n = load_slots(m, k, q % (CPU_WATERS / W) * W, &b);
        bool                  suspect;

        if (n <= 0) continue;
        load_rows(d->x, &b, b.x);
        load_rows(d->v, &b, b.v);
        if (ops->kicks) load_rows(d->f, &b, b.f);
        memcpy(b.r, b.x, sizeof b.r);
        for (p = 0; p < ops->n; p++) run_op(d, w, &ops->op[p], ops->max_move, n, &b, sums);
        if (ops->drifts) {
            load_rows(d->x_list, &b, list);
            suspect = is_suspect(b.x, list, ops->limit2);
        } else
            suspect = is_suspect(b.v, NULL, 1e200);
        if (suspect) find_unsolved(d, &b, n, sums);
        sums->suspect |= suspect;
        if (ops->moves) store_rows(b.x, &b, n, d->x);
        store_rows(b.v, &b, n, d->v);
    }
}

// ------------------------------------------------------------------------------------------- measurement

/// sum[k][l] += factor a_k b_l over the three atoms; factors for O and H.
INLINE void add_outer(vd sum[3][3], double oxygen, double hydrogen, const vd *a, const vd *b)
{
    int k, l, q;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++)
            for (q = 0; q < 9; q += 3) sum[k][l] += (q ? hydrogen : oxygen) * a[q + k] * b[q + l];
}

INLINE void add_sums(const vd sum[3][3], int n, double to[3][3])
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) to[k][l] += sum_lanes(sum[k][l], n);
}

/// Constraint virial and FIRE's sums of one batch (measure.c). w: velocities half a step behind, or v.
INLINE void measure_forces(const cpu_water_kind *kind, const batch *b, const vd *w, int n, cpu_move_sums *sums)
{
    const double mo = 1 / kind->im_o, mh = 1 / kind->im_h;
    vd           a[9], bend[9], from[9], bias[3], force[3][3] = {{{0}}}, inertia[3][3] = {{{0}}}, fv = {0}, ff = {0}, vv = {0};
    int          k, q;

    for (q = 0; q < 9; q++) {
        a[q] = (q < 3 ? kind->im_o : kind->im_h) * b->f[q];
        bend[q] = a[q] * 0;
        from[q] = b->x[q] - b->x[q % 3];
    }
    project(kind, b->x, a, NULL);
    for (k = 0; k < 3; k++) bias[k] = fv;
    for (k = 0; k < 3; k++) {
        const vd v1 = b->v[k] - b->v[3 + k], v2 = b->v[k] - b->v[6 + k], v3 = b->v[3 + k] - b->v[6 + k];
        const vd w1 = w[k] - w[3 + k], w2 = w[k] - w[6 + k], w3 = w[3 + k] - w[6 + k];

        bias[0] += 0.5 * (v1 * v1 + w1 * w1);
        bias[1] += 0.5 * (v2 * v2 + w2 * w2);
        bias[2] += 0.5 * (v3 * v3 + w3 * w3);
    }
    project(kind, b->x, bend, bias);
    add_outer(inertia, -0.5 * mo, -0.5 * mh, from, bend);
    for (q = 0; q < 9; q++) {
        const double mass = q < 3 ? mo : mh;

        fv += mass * a[q] * b->v[q];
        ff += mass * mass * a[q] * a[q];
        vv += b->v[q] * b->v[q];
        a[q] -= (q < 3 ? kind->im_o : kind->im_h) * b->f[q];
    }
    add_outer(force, -0.5 * mo, -0.5 * mh, from, a);
    add_sums((const vd(*)[3])force, n, sums->virial);
    add_sums((const vd(*)[3])inertia, n, sums->inertia);
    sums->fv += sum_lanes(fv, n);
    sums->ff += sum_lanes(ff, n);
    sums->vv += sum_lanes(vv, n);
}

void MDS_SETTLE(measure)(const mds_device *d, const cpu_measure *what, int32_t first, int32_t last, cpu_move_sums *sums)
{
    const cpu_move *m = d->move;
    batch           b;
    int32_t         p;
    int             q;

    for (p = first * (CPU_WATERS / W); p < last * (CPU_WATERS / W); p++) {
        const int32_t         k = p / (CPU_WATERS / W);
        const cpu_water_kind *kind = &m->kind[m->batch_kind[k]];
        const int             n = load_slots(m, k, p % (CPU_WATERS / W) * W, &b);
        const double          share = what->half_step ? 0.25 : 0.5;
        vd                    w[9], sum[3][3] = {{{0}}};

        if (n <= 0) continue;
        load_rows(d->v, &b, b.v);
        load_rows(d->x, &b, b.x);
        load_rows(d->f, &b, b.f);
        memcpy(w, b.v, sizeof w);
        for (q = 0; q < 9 && what->half_step; q++) w[q] -= d->params.dt * (q < 3 ? kind->im_o : kind->im_h) * b.f[q];
        if (what->half_step) project(kind, b.x, w, NULL);
        add_outer(sum, share / kind->im_o, share / kind->im_h, b.v, b.v);
        if (what->half_step) add_outer(sum, share / kind->im_o, share / kind->im_h, w, w);
        add_sums((const vd(*)[3])sum, n, sums->kinetic);
        if (what->forces) measure_forces(kind, &b, w, n, sums);
    }
}
