// SPDX-License-Identifier: Apache-2.0
// Rigid waters, eight at a time: the whole list of operations in one pass over their atoms.
//
// SETTLE [miyamoto1992] gives the exact solution of the three position constraints: constraint forces lie in the plane of
// the old triangle, so each atom keeps its height above that plane (measured from the new centre of mass); the heights
// fix two tilt angles of the rigid triangle, and zero torque about the plane's normal fixes the third. Lengths are right to
// rounding because the triangle is built, not corrected. Coordinates are taken relative to the old oxygen.
//
// Velocities: the 3x3 system of constrain.c by cofactors, exact as well.
//
// Lanes: eight waters as [atom and axis][lane] arrays, so that each loop over lanes is one register wide with AVX-512
// and two with AVX2. The same text is compiled for three instruction sets and chosen at run time. Filling lanes of the
// last batch repeat its first water and are neither stored nor counted.
#include "cpu/move.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { W = CPU_WATERS };
#define LANES for (l = 0; l < W; l++)
#define INLINE static inline __attribute__((always_inline))

typedef struct {
    double  x[9][W], v[9][W], f[9][W], r[9][W]; // O, H, H; r: positions that directions come from, nm
    int32_t slot[3][W];
    double  failed[W];                          // not 0: the new triangle does not exist
} batch;

INLINE void load_rows(double (*const from)[3], const batch *b, double (*to)[W])
{
    int a, k, l;

    for (a = 0; a < 3; a++)
        for (l = 0; l < W; l++)
            for (k = 0; k < 3; k++) to[3 * a + k][l] = from[b->slot[a][l]][k];
}

INLINE void store_rows(const double (*from)[W], const batch *b, int n, double (*to)[3])
{
    int a, k, l;

    for (a = 0; a < 3; a++)
        for (l = 0; l < n; l++)
            for (k = 0; k < 3; k++) to[b->slot[a][l]][k] = from[3 * a + k][l];
}

/// The mass factor of row q = 3 atom + axis.
INLINE double by_row(int q, double oxygen, double hydrogen)
{
    return q < 3 ? oxygen : hydrogen;
}

INLINE void kick(batch *b, const cpu_water_kind *w, double h)
{
    int q, l;

    for (q = 0; q < 9; q++) {
        const double factor = by_row(q, h * w->im_o, h * w->im_h);

        LANES b->v[q][l] += factor * b->f[q][l];
    }
}

INLINE void drift(batch *b, double h, double max_move)
{
    int a, q, l;

    for (a = 0; a < 3 && max_move > 0; a++)
        LANES
        {
            double *const vx = &b->v[3 * a][l], *const vy = &b->v[3 * a + 1][l], *const vz = &b->v[3 * a + 2][l];
            const double  way = h * sqrt(*vx * *vx + *vy * *vy + *vz * *vz), cut = way > max_move ? max_move / way : 1;

            *vx *= cut;
            *vy *= cut;
            *vz *= cut;
        }
    for (q = 0; q < 9; q++) LANES b->x[q][l] += h * b->v[q][l];
}

/// The canonical triangle in the frame of the old plane (x along u, y along t, z along n), turned to fit.
/// in: old H-O vectors p1, p2 and new positions from the centre of mass a, b1, b2, in that frame. out: new ones.
INLINE void settle_lane(const cpu_water_kind *w, const double p1[2], const double p2[2], double za, const double b1[3],
                        const double b2[3], double out[9], double *failed)
{
    const double sin_phi = za / w->ra, c2_phi = 1 - sin_phi * sin_phi, cos_phi = sqrt(c2_phi > 0 ? c2_phi : 1e-30);
    const double sin_psi = (b1[2] - b2[2]) / (2 * w->rc * cos_phi), c2_psi = 1 - sin_psi * sin_psi;
    const double cos_psi = sqrt(c2_psi > 0 ? c2_psi : 0);
    const double ya = w->ra * cos_phi, xb = -w->rc * cos_psi, tilt = w->rc * sin_psi * sin_phi;
    const double yb = -w->rb * cos_phi - tilt, yc = -w->rb * cos_phi + tilt;
    const double alpha = xb * (p1[0] - p2[0]) + p1[1] * yb + p2[1] * yc;
    const double beta = xb * (p2[1] - p1[1]) + p1[0] * yb + p2[0] * yc;
    const double gamma = p1[0] * b1[1] - b1[0] * p1[1] + p2[0] * b2[1] - b2[0] * p2[1];
    const double square = alpha * alpha + beta * beta, rest = square - gamma * gamma;
    const double sine = (alpha * gamma - beta * sqrt(rest > 0 ? rest : 0)) / square;
    const double c2 = 1 - sine * sine, cosine = sqrt(c2 > 0 ? c2 : 0);

    *failed = c2_phi > 0 && c2_psi >= 0 && rest >= 0 ? 0 : 1;
    out[0] = -ya * sine;
    out[1] = ya * cosine;
    out[2] = za;
    out[3] = xb * cosine - yb * sine;
    out[4] = xb * sine + yb * cosine;
    out[5] = b1[2];
    out[6] = -xb * cosine - yc * sine;
    out[7] = -xb * sine + yc * cosine;
    out[8] = b2[2];
}

INLINE double dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// x onto the constraints, v += (change of x) inv_h, r = x.
INLINE void fix_x(batch *b, const cpu_water_kind *w, double inv_h)
{
    int l;

    LANES
    {
        double p1[3], p2[3], now[9], com[3], n[3], u[3], t[3], s, in1[3], in2[3], q1[2], q2[2], turned[9];
        int    k, a;

        for (k = 0; k < 3; k++) {
            p1[k] = b->r[3 + k][l] - b->r[k][l];
            p2[k] = b->r[6 + k][l] - b->r[k][l];
            for (a = 0; a < 3; a++) now[3 * a + k] = b->x[3 * a + k][l] - b->r[k][l];
            com[k] = w->weight_o * now[k] + w->weight_h * (now[3 + k] + now[6 + k]);
            for (a = 0; a < 3; a++) now[3 * a + k] -= com[k];
        }
        // n: normal of the old plane; u: in the plane, across the new O direction; t: the third
        n[0] = p1[1] * p2[2] - p1[2] * p2[1];
        n[1] = p1[2] * p2[0] - p1[0] * p2[2];
        n[2] = p1[0] * p2[1] - p1[1] * p2[0];
        s = 1 / sqrt(dot3(n, n));
        for (k = 0; k < 3; k++) n[k] *= s;
        u[0] = now[1] * n[2] - now[2] * n[1];
        u[1] = now[2] * n[0] - now[0] * n[2];
        u[2] = now[0] * n[1] - now[1] * n[0];
        s = 1 / sqrt(dot3(u, u));
        for (k = 0; k < 3; k++) u[k] *= s;
        t[0] = n[1] * u[2] - n[2] * u[1];
        t[1] = n[2] * u[0] - n[0] * u[2];
        t[2] = n[0] * u[1] - n[1] * u[0];
        q1[0] = dot3(u, p1);
        q1[1] = dot3(t, p1);
        q2[0] = dot3(u, p2);
        q2[1] = dot3(t, p2);
        in1[0] = dot3(u, now + 3);
        in1[1] = dot3(t, now + 3);
        in1[2] = dot3(n, now + 3);
        in2[0] = dot3(u, now + 6);
        in2[1] = dot3(t, now + 6);
        in2[2] = dot3(n, now + 6);
        settle_lane(w, q1, q2, dot3(n, now), in1, in2, turned, &b->failed[l]);
        for (k = 0; k < 3; k++)
            for (a = 0; a < 3; a++) {
                const double to = u[k] * turned[3 * a] + t[k] * turned[3 * a + 1] + n[k] * turned[3 * a + 2];

                b->v[3 * a + k][l] += (to - now[3 * a + k]) * inv_h;
                now[3 * a + k] = to;
            }
        for (k = 0; k < 3; k++) {
            const double origin = b->r[k][l] + com[k];

            for (a = 0; a < 3; a++) b->x[3 * a + k][l] = b->r[3 * a + k][l] = origin + now[3 * a + k];
        }
    }
}

/// Velocities along the three distances out: A lambda = g by cofactors.
INLINE void fix_v(batch *b, const cpu_water_kind *w)
{
    const double o = w->im_o, m = w->im_h;
    int          l;

    LANES
    {
        double r1[3], r2[3], r3[3], w1[3], w2[3], w3[3], a11, a12, a13, a22, a23, a33, c11, c12, c13, c22, c23, c33, g1, g2, g3,
            inv, l1, l2, l3;
        int k;

        for (k = 0; k < 3; k++) {
            r1[k] = b->x[k][l] - b->x[3 + k][l];
            r2[k] = b->x[k][l] - b->x[6 + k][l];
            r3[k] = b->x[3 + k][l] - b->x[6 + k][l];
            w1[k] = b->v[k][l] - b->v[3 + k][l];
            w2[k] = b->v[k][l] - b->v[6 + k][l];
            w3[k] = b->v[3 + k][l] - b->v[6 + k][l];
        }
        g1 = dot3(r1, w1);
        g2 = dot3(r2, w2);
        g3 = dot3(r3, w3);
        a11 = (o + m) * dot3(r1, r1);
        a22 = (o + m) * dot3(r2, r2);
        a33 = 2 * m * dot3(r3, r3);
        a12 = o * dot3(r1, r2);
        a13 = -m * dot3(r1, r3);
        a23 = m * dot3(r2, r3);
        c11 = a22 * a33 - a23 * a23;
        c12 = a13 * a23 - a12 * a33;
        c13 = a12 * a23 - a13 * a22;
        c22 = a11 * a33 - a13 * a13;
        c23 = a12 * a13 - a11 * a23;
        c33 = a11 * a22 - a12 * a12;
        inv = 1 / (a11 * c11 + a12 * c12 + a13 * c13);
        l1 = inv * (c11 * g1 + c12 * g2 + c13 * g3);
        l2 = inv * (c12 * g1 + c22 * g2 + c23 * g3);
        l3 = inv * (c13 * g1 + c23 * g2 + c33 * g3);
        for (k = 0; k < 3; k++) {
            b->v[k][l] -= o * (l1 * r1[k] + l2 * r2[k]);
            b->v[3 + k][l] += m * (l1 * r1[k] - l3 * r3[k]);
            b->v[6 + k][l] += m * (l2 * r2[k] + l3 * r3[k]);
        }
    }
}

INLINE double kinetic(const batch *b, const cpu_water_kind *w, int n)
{
    double sum = 0;
    int    q, l;

    for (q = 0; q < 9; q++)
        for (l = 0; l < n; l++) sum += by_row(q, 0.5 / w->im_o, 0.5 / w->im_h) * b->v[q][l] * b->v[q][l];
    return sum;
}

INLINE void noise(const mds_device *d, batch *b, const cpu_water_kind *w, const cpu_op *op, int n, cpu_move_sums *sums)
{
    const double before = kinetic(b, w, n);
    int          a, k, l;

    for (a = 0; a < 3; a++) {
        const double spread = sqrt(op->spread * (a ? w->im_h : w->im_o));

        for (l = 0; l < n; l++) {
            double gauss[4];

            mds_gauss4(d->params.seed, op->stream, (uint64_t)d->step, (uint32_t)d->atom_of[b->slot[a][l]], gauss);
            for (k = 0; k < 3; k++) b->v[3 * a + k][l] = op->c * b->v[3 * a + k][l] + spread * gauss[k];
        }
    }
    fix_v(b, w);
    sums->work_noise += kinetic(b, w, n) - before;
}

/// Moved too far since the search, or not a number: the stage then looks atom by atom.
INLINE bool is_suspect(const batch *b, const double (*list)[W], bool drifts, double limit2)
{
    double worst = 0;
    int    a, l;

    for (a = 0; a < 3; a++) {
        double over[W];

        LANES
        {
            const double x = drifts ? b->x[3 * a][l] - list[3 * a][l] : b->v[3 * a][l];
            const double y = drifts ? b->x[3 * a + 1][l] - list[3 * a + 1][l] : b->v[3 * a + 1][l];
            const double z = drifts ? b->x[3 * a + 2][l] - list[3 * a + 2][l] : b->v[3 * a + 2][l];

            over[l] = x * x + y * y + z * z <= limit2 ? 0 : 1;
        }
        for (l = 0; l < W; l++) worst += over[l];
    }
    return worst > 0;
}

INLINE void run(mds_device *d, const cpu_ops *ops, int32_t first, int32_t last, cpu_move_sums *sums)
{
    const cpu_move *m = d->move;
    batch           b;
    double          list[9][W];
    int32_t         k;
    int             a, l, p;

    for (k = first; k < last; k++) {
        const cpu_water_kind *w = &m->kind[m->batch_kind[k]];
        const int32_t         start = m->batch_first[k], left = w->first + w->n - start;
        const int             n = left < W ? left : W;

        for (l = 0; l < W; l++)
            for (a = 0; a < 3; a++) b.slot[a][l] = m->water_slot[3 * (start + (l < n ? l : 0)) + a];
        load_rows(d->x, &b, b.x);
        load_rows(d->v, &b, b.v);
        if (ops->kicks) load_rows(d->f, &b, b.f);
        if (ops->drifts) load_rows(d->x_list, &b, list);
        memcpy(b.r, b.x, sizeof b.r);
        memset(b.failed, 0, sizeof b.failed);
        for (p = 0; p < ops->n; p++) {
            const cpu_op *op = &ops->op[p];

            if (op->kind == MDS_KICK) kick(&b, w, op->h);
            if (op->kind == MDS_DRIFT) drift(&b, op->h, ops->max_move);
            if (op->kind == MDS_NOISE) noise(d, &b, w, op, n, sums);
            if (op->kind == MDS_FIX_V) fix_v(&b, w);
            if (op->kind != MDS_FIX_X) continue;
            fix_x(&b, w, op->inv_h);
            for (l = 0; l < n; l++)
                if (b.failed[l] != 0 && d->atom_of[b.slot[0][l]] < sums->unsolved) sums->unsolved = d->atom_of[b.slot[0][l]];
        }
        sums->suspect |= is_suspect(&b, (const double(*)[W])list, ops->drifts, ops->drifts ? ops->limit2 : 1e200);
        store_rows((const double(*)[W])b.x, &b, n, d->x);
        store_rows((const double(*)[W])b.v, &b, n, d->v);
    }
}

static void run_generic(mds_device *d, const cpu_ops *ops, int32_t first, int32_t last, cpu_move_sums *sums)
{
    run(d, ops, first, last, sums);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void run_avx2(mds_device *d, const cpu_ops *ops, int32_t first, int32_t last,
                                                         cpu_move_sums *sums)
{
    run(d, ops, first, last, sums);
}

__attribute__((target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512"))) static void
run_avx512(mds_device *d, const cpu_ops *ops, int32_t first, int32_t last, cpu_move_sums *sums)
{
    run(d, ops, first, last, sums);
}
#endif

void mds_cpu_settle(mds_device *d, const cpu_ops *ops, int32_t first, int32_t last, cpu_move_sums *sums)
{
#if defined(__x86_64__)
    if (d->move->level == 2) {
        run_avx512(d, ops, first, last, sums);
        return;
    }
    if (d->move->level == 1) {
        run_avx2(d, ops, first, last, sums);
        return;
    }
#endif
    run_generic(d, ops, first, last, sums);
}
