// SPDX-License-Identifier: Apache-2.0
// Groups of atoms by the vector: one coordinate of one atom of VD_WIDTH groups a register. Shared by isa_move.c and isa_measure.c.
//
// Rigid waters. SETTLE [miyamoto1992] gives the exact solution of the three position constraints: constraint forces lie in the
// plane of the old triangle, so each atom keeps its height above that plane (measured from the new centre of mass); the heights
// fix two tilt angles of the rigid triangle, and zero torque about the plane's normal fixes the third. Lengths are right to
// rounding because the triangle is built, not corrected. Where no triangle exists (an atom thrown across the room) a root is of a
// negative number and the water ends as NaN, which the check of ways finds in the same pass. Roots are taken as a (1/root a), with
// two Newton steps from the hardware's estimate: the units that take roots and quotients would otherwise be what a step waits for.
//
// X-H clusters. One hydrogen: a quadratic equation. Two and three: Newton's steps with exact derivatives [krautler2001], the
// system solved by cofactors. A lane that has converged is left alone while others go on, so that its result does not depend on
// whom it shares a vector with.
//
// Velocities of all: the linear system of constrain.c by cofactors, exact as well.
#ifndef MDS_CPU_ISA_GROUP_H
#define MDS_CPU_ISA_GROUP_H

#include "cpu/move.h"
#include "cpu/simd_double.h"

enum { GROUP_PARTS = CPU_BATCH / VD_WIDTH };

typedef struct {
    vd x[12], v[12], f[12], r[12]; // atom and axis; r: positions that directions come from, nm
    vd im[4];                      // 1/Da
    vd length[3];                  // nm, of clusters
    const cpu_water_kind *water;   // of waters
    const int32_t *offset;         // [atoms][CPU_BATCH] rows in arrays by slot, doubles
    size_t  kept;                  // where the batch begins in arrays [atoms][3][CPU_BATCH] by batch, doubles
    int     n;                     // lanes that are real
} batch;

/// Part `part` of batch k of a kind of group. Lanes that fill up repeat the first of the batch. False: no lane of it is real.
VD_INLINE bool batch_find(const cpu_move *m, int kind, int32_t k, int part, batch *b)
{
    const cpu_batches *g = &m->batches[kind];
    const int          atoms = cpu_group_atoms[kind], links = kind == CPU_XH1 || kind == CPU_XH2 || kind == CPU_XH3 ? atoms - 1 : 0;

    b->n = g->count[k] - part * VD_WIDTH;
    if (b->n <= 0) return false;
    if (b->n > VD_WIDTH) b->n = VD_WIDTH;
    b->offset = g->offset + (size_t)k * (size_t)atoms * CPU_BATCH + part * VD_WIDTH;
    b->kept = (size_t)k * (size_t)atoms * 3 * CPU_BATCH + (size_t)(part * VD_WIDTH);
    if (kind == CPU_WATER) {
        b->water = &m->kind[m->batch_kind[k]];
        b->im[0] = vd_set(b->water->im_o);
        b->im[1] = b->im[2] = vd_set(b->water->im_h);
        return true;
    }
    for (int a = 0; a < atoms; a++) b->im[a] = vd_load(g->im + ((size_t)k * (size_t)atoms + (size_t)a) * CPU_BATCH + part * VD_WIDTH);
    for (int c = 0; c < links; c++)
        b->length[c] = vd_load(g->length + ((size_t)k * (size_t)links + (size_t)c) * CPU_BATCH + part * VD_WIDTH);
    return true;
}

/// Ask for the rows of batch k while the one before it is at work: slots are near each other, but in no order that hardware guesses.
VD_INLINE void batch_prefetch(const cpu_batches *g, int atoms, int32_t k, int n, const double *const *from)
{
    if (k >= g->n) return;
    const int32_t *offset = g->offset + (size_t)k * (size_t)atoms * CPU_BATCH;

#pragma GCC unroll 4
    for (int l = 0; l < atoms * CPU_BATCH; l++)
        for (int a = 0; a < n; a++) __builtin_prefetch(from[a] + offset[l]);
}

/// Rows of `from`. The compiler must not keep the offsets from one array to the next: they are read again for less than they are spilled.
VD_INLINE void batch_load(const batch *b, int atoms, const double (*from)[3], vd *to)
{
    const int32_t *offset = b->offset;

    __asm__("" : "+r"(offset));
    for (int a = 0; a < atoms; a++) vd_rows((const double *)from, offset + a * CPU_BATCH, to + 3 * a);
}

VD_INLINE void batch_store(const batch *b, int atoms, const vd *from, double (*to)[3])
{
    const int32_t *offset = b->offset;

    __asm__("" : "+r"(offset));
    for (int a = 0; a < atoms; a++) vd_store_rows((double *)to, offset + a * CPU_BATCH, b->n, from + 3 * a);
}

/// From and to an array by batch.
VD_INLINE void batch_take(const batch *b, int atoms, const double *from, vd *to)
{
    for (int k = 0; k < 3 * atoms; k++) to[k] = vd_load(from + b->kept + k * CPU_BATCH);
}

VD_INLINE void batch_keep(const batch *b, int atoms, const vd *from, double *to)
{
    for (int k = 0; k < 3 * atoms; k++) memcpy(to + b->kept + k * CPU_BATCH, &from[k], sizeof from[k]);
}

// ------------------------------------------------------------------------------------------------ waters

/// The canonical triangle in the frame of the old plane, turned to fit. p1, p2: old O-H vectors; now: new O, H, H from their
/// centre of mass; axes u (across the new O), t, n (normal). out: new positions in that frame.
VD_INLINE void turn_triangle(const cpu_water_kind *w, const vd u[3], const vd t[3], const vd n[3], const vd p1[3], const vd p2[3],
                             const vd now[9], vd out[9])
{
    const vd     p1u = vd_dot(u, p1), p1t = vd_dot(t, p1), p2u = vd_dot(u, p2), p2t = vd_dot(t, p2);
    const vd     b1u = vd_dot(u, now + 3), b1t = vd_dot(t, now + 3), b1n = vd_dot(n, now + 3);
    const vd     b2u = vd_dot(u, now + 6), b2t = vd_dot(t, now + 6), b2n = vd_dot(n, now + 6), an = vd_dot(n, now);
    // sin psi = q/cos phi, cos psi = root(cos^2 phi - q^2)/cos phi: two roots side by side, not one after the other
    const vd     sin_phi = an * w->inv_ra, cos2_phi = 1 - sin_phi * sin_phi, inv_cos = vd_inv_root(cos2_phi), cos_phi = cos2_phi * inv_cos;
    const vd     q = (b1n - b2n) * w->inv_2rc, both2 = cos2_phi - q * q, sin_psi = q * inv_cos, cos_psi = both2 * vd_inv_root(both2) * inv_cos;
    const vd     ya = w->ra * cos_phi, xb = -w->rc * cos_psi, tilt = w->rc * sin_psi * sin_phi;
    const vd     yb = -w->rb * cos_phi - tilt, yc = -w->rb * cos_phi + tilt;
    const vd     alpha = xb * (p1u - p2u) + p1t * yb + p2t * yc, beta = xb * (p2t - p1t) + p1u * yb + p2u * yc;
    const vd     gamma = p1u * b1t - b1u * p1t + p2u * b2t - b2u * p2t, square = alpha * alpha + beta * beta;
    const vd     rest2 = square - gamma * gamma, rest = rest2 * vd_inv_root(rest2), inv_square = 1 / square;
    const vd     sine = (alpha * gamma - beta * rest) * inv_square, cosine = (beta * gamma + alpha * rest) * inv_square;

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

/// x onto the constraints, v += (change of x) inv_h.
VD_INLINE void water_fix_x(batch *b, double inv_h)
{
    const cpu_water_kind *w = b->water;
    vd  p1[3], p2[3], now[9], com[3], u[3], t[3], n[3], turned[9];
    int k, a;

    for (k = 0; k < 3; k++) {
        p1[k] = b->r[3 + k] - b->r[k];
        p2[k] = b->r[6 + k] - b->r[k];
        for (a = 0; a < 9; a += 3) now[a + k] = b->x[a + k] - b->r[k];
        com[k] = w->weight_o * now[k] + w->weight_h * (now[3 + k] + now[6 + k]);
        for (a = 0; a < 9; a += 3) now[a + k] -= com[k];
    }
    vd_cross(p1, p2, n); // not yet of length 1, so that neither root waits for the other
    vd_cross(now, n, u);
    vd_cross(n, u, t);
    const vd scale_n = vd_inv_root(vd_dot(n, n)), scale_u = vd_inv_root(vd_dot(u, u)), scale_t = scale_n * scale_u;
    for (k = 0; k < 3; k++) {
        n[k] *= scale_n;
        u[k] *= scale_u;
        t[k] *= scale_t;
    }
    turn_triangle(w, u, t, n, p1, p2, now, turned);
    for (k = 0; k < 3; k++) {
        const vd origin = b->r[k] + com[k];

        for (a = 0; a < 9; a += 3) {
            const vd to = u[k] * turned[a] + t[k] * turned[a + 1] + n[k] * turned[a + 2];

            b->v[a + k] += (to - now[a + k]) * inv_h;
            b->x[a + k] = origin + to;
        }
    }
}

/// Solve a symmetric 3x3 system by cofactors.
VD_INLINE void solve_three(const vd a[3][3], const vd g[3], vd out[3])
{
    const vd c11 = a[1][1] * a[2][2] - a[1][2] * a[1][2], c12 = a[0][2] * a[1][2] - a[0][1] * a[2][2];
    const vd c13 = a[0][1] * a[1][2] - a[0][2] * a[1][1], c22 = a[0][0] * a[2][2] - a[0][2] * a[0][2];
    const vd c23 = a[0][1] * a[0][2] - a[0][0] * a[1][2], c33 = a[0][0] * a[1][1] - a[0][1] * a[0][1];
    const vd inv = 1 / (a[0][0] * c11 + a[0][1] * c12 + a[0][2] * c13);

    out[0] = inv * (c11 * g[0] + c12 * g[1] + c13 * g[2]);
    out[1] = inv * (c12 * g[0] + c22 * g[1] + c23 * g[2]);
    out[2] = inv * (c13 * g[0] + c23 * g[1] + c33 * g[2]);
}

/// From w take what makes r_ij.w_ij + bias differ from 0 for the three distances of x.
VD_INLINE void water_project(const cpu_water_kind *kind, const vd *x, vd *w, const vd *bias)
{
    const double o = kind->im_o, m = kind->im_h;
    vd           r1[3], r2[3], r3[3], w1[3], w2[3], w3[3], g[3], l[3];
    int          k;

    for (k = 0; k < 3; k++) {
        r1[k] = x[k] - x[3 + k];
        r2[k] = x[k] - x[6 + k];
        r3[k] = x[3 + k] - x[6 + k];
        w1[k] = w[k] - w[3 + k];
        w2[k] = w[k] - w[6 + k];
        w3[k] = w[3 + k] - w[6 + k];
    }
    g[0] = vd_dot(r1, w1);
    g[1] = vd_dot(r2, w2);
    g[2] = vd_dot(r3, w3);
    for (k = 0; k < 3 && bias; k++) g[k] += bias[k];
    const vd a12 = o * vd_dot(r1, r2), a13 = -m * vd_dot(r1, r3), a23 = m * vd_dot(r2, r3);
    const vd a[3][3] = {{(o + m) * vd_dot(r1, r1), a12, a13}, {a12, (o + m) * vd_dot(r2, r2), a23}, {a13, a23, 2 * m * vd_dot(r3, r3)}};
    solve_three(a, g, l);
    for (k = 0; k < 3; k++) {
        w[k] -= o * (l[0] * r1[k] + l[1] * r2[k]);
        w[3 + k] += m * (l[0] * r1[k] - l[2] * r3[k]);
        w[6 + k] += m * (l[1] * r2[k] + l[2] * r3[k]);
    }
}

// ---------------------------------------------------------------------------------------- X-H clusters

/// Bonds of n hydrogens: x0 - x_c.
VD_INLINE void bonds(int n, const vd *x, vd out[3][3])
{
    for (int c = 0; c < n; c++)
        for (int k = 0; k < 3; k++) out[c][k] = x[k] - x[3 + 3 * c + k];
}

/// w -= M^-1 J^T lambda along the directions.
VD_INLINE void push(int n, const vd *im, const vd dir[3][3], const vd *lambda, vd *w)
{
    for (int c = 0; c < n; c++)
        for (int k = 0; k < 3; k++) {
            const vd impulse = lambda[c] * dir[c][k];

            w[k] -= im[0] * impulse;
            w[3 + 3 * c + k] += im[1 + c] * impulse;
        }
}

/// A lambda = g, A[c][l] = (im0 + im_c if c = l) left_c . right_l, for n of 1 to 3.
VD_INLINE void cluster_solve(int n, const vd *im, const vd left[3][3], const vd right[3][3], const vd *g, vd *lambda)
{
    vd a[3][3];

    for (int c = 0; c < n; c++)
        for (int l = 0; l < n; l++) {
            a[c][l] = im[0] * vd_dot(left[c], right[l]);
            if (c == l) a[c][l] += im[1 + c] * vd_dot(left[c], right[l]);
        }
    if (n == 1) {
        lambda[0] = g[0] / a[0][0];
    } else if (n == 2) {
        const vd inv = 1 / (a[0][0] * a[1][1] - a[0][1] * a[1][0]);

        lambda[0] = inv * (a[1][1] * g[0] - a[0][1] * g[1]);
        lambda[1] = inv * (a[0][0] * g[1] - a[1][0] * g[0]);
    } else {
        vd row[3][3], cofactor[3][3]; // of A, and its adjugate's columns

        memcpy(row, a, sizeof row);
        for (int c = 0; c < 3; c++) vd_cross(row[(c + 1) % 3], row[(c + 2) % 3], cofactor[c]);
        const vd inv = 1 / vd_dot(row[0], cofactor[0]);
        for (int k = 0; k < 3; k++) lambda[k] = inv * (cofactor[0][k] * g[0] + cofactor[1][k] * g[1] + cofactor[2][k] * g[2]);
    }
}

/// One link: the smaller root of |r - mu lambda d|^2 = L^2.
VD_INLINE void fix_one(batch *b, const vd dir[3][3], const vd *length2)
{
    const vd mu = b->im[0] + b->im[1];
    vd       now[3][3], lambda[1];

    bonds(1, b->x, now);
    const vd along = vd_dot(now[0], dir[0]), off = vd_dot(now[0], now[0]) - length2[0];
    lambda[0] = off / (mu * (along + vd_root(along * along - vd_dot(dir[0], dir[0]) * off)));
    push(1, b->im, dir, lambda, b->x);
}

/// Several links: Newton's steps until every lane is within the tolerance and has made one more. Lanes that do not get there become NaN.
static inline void fix_some(batch *b, int n, const vd dir[3][3], const vd *length2, double tolerance)
{
    const vd zero = {0};
    vd       open = zero + 1; // 1: still to be solved

    for (int round = 0; round < 50; round++) {
        vd now[3][3], off[3], lambda[3], worst = zero;

        bonds(n, b->x, now);
        for (int c = 0; c < n; c++) {
            off[c] = 0.5 * (vd_dot(now[c], now[c]) - length2[c]);
            const vd error = vd_abs(off[c]) / length2[c];
            worst = vd_if_greater(error, worst, error, worst);
        }
        cluster_solve(n, b->im, (const vd(*)[3])now, dir, off, lambda);
        for (int c = 0; c < n; c++) lambda[c] = vd_if_greater(open, zero, lambda[c], zero);
        push(n, b->im, dir, lambda, b->x);
        open = vd_if_greater(worst, zero + tolerance, open, zero);
        if (!vd_any_greater(open, zero)) return;
    }
    for (int k = 0; k < 3 * (n + 1); k++) b->x[k] += vd_if_greater(open, zero, zero + (double)NAN, zero);
}

VD_INLINE void cluster_fix_x(batch *b, int n, double inv_h, double tolerance)
{
    vd dir[3][3], before[12], length2[3];

    bonds(n, b->r, dir);
    for (int k = 0; k < 3 * (n + 1); k++) before[k] = b->x[k];
    for (int c = 0; c < n; c++) length2[c] = b->length[c] * b->length[c];
    if (n == 1)
        fix_one(b, (const vd(*)[3])dir, length2);
    else
        fix_some(b, n, (const vd(*)[3])dir, length2, tolerance);
    for (int k = 0; k < 3 * (n + 1); k++) b->v[k] += (b->x[k] - before[k]) * inv_h;
}

VD_INLINE void cluster_project(int n, const vd *im, const vd *x, vd *w, const vd *bias)
{
    vd dir[3][3], speed[3][3], g[3], lambda[3];

    bonds(n, x, dir);
    bonds(n, w, speed);
    for (int c = 0; c < n; c++) {
        g[c] = vd_dot(dir[c], speed[c]);
        if (bias) g[c] += bias[c];
    }
    cluster_solve(n, im, (const vd(*)[3])dir, (const vd(*)[3])dir, g, lambda);
    push(n, im, (const vd(*)[3])dir, lambda, w);
}

// ---------------------------------------------------------------------------------------------- any group

/// x onto the constraints along the bonds of r, v += (change of x) inv_h, r = x.
VD_INLINE void group_fix_x(batch *b, int kind, double inv_h, double tolerance)
{
    const int atoms = cpu_group_atoms[kind];

    if (kind == CPU_WATER)
        water_fix_x(b, inv_h);
    else if (kind != CPU_FREE)
        cluster_fix_x(b, atoms - 1, inv_h, tolerance);
    for (int k = 0; k < 3 * atoms; k++) b->r[k] = b->x[k];
}

/// From w take what makes r_ij.w_ij + bias differ from 0 for the distances of x.
VD_INLINE void group_project(const batch *b, int kind, const vd *x, vd *w, const vd *bias)
{
    if (kind == CPU_WATER)
        water_project(b->water, x, w, bias);
    else if (kind != CPU_FREE)
        cluster_project(cpu_group_atoms[kind] - 1, b->im, x, w, bias);
}

#endif
