// SPDX-License-Identifier: Apache-2.0
// Groups of atoms that constraints tie together, one group a thread, in registers and in double.
//
// Rigid waters. SETTLE [miyamoto1992], the exact solution: constraint forces lie in the plane of the old triangle, so each atom keeps
// its height above that plane; the heights fix two tilt angles of the rigid triangle, and zero torque about the plane's normal fixes
// the third. Where no triangle exists a root is of a negative number and the water ends as NaN, which the check of ways finds.
// X-H clusters. One hydrogen: a quadratic equation. Two and three: Newton's steps with exact derivatives [krautler2001] until the
// lengths are within the tolerance, and the step after that, which brings rounding; one that does not get there ends as NaN.
// Velocities of all: the linear system of docs/theory/constraints.md by cofactors, exact as well. The cpu has the same formulas by
// the vector (cpu/isa_group.h).
//
// Arrays here are registers: every index is known when a kernel is compiled, loops over atoms and axes are unrolled, and the kind of
// group is a template parameter. A water takes about 350 operations for positions and 130 for velocities.
#ifndef MDS_CUDA_CONSTRAIN_H
#define MDS_CUDA_CONSTRAIN_H

#include "move.h"

/// A group at work. Entries beyond its atoms are never touched.
typedef struct {
    double x[12], v[12], r[12]; // atom and axis; r: positions that directions come from; nm, nm/ps
    double im[4];               // 1/Da
    double length2[3];          // nm^2, of clusters
    int    atom[4];             // ids
    const gpu_water *water;     // of waters
} gpu_group;

/// Group k of a kind: ids, inverse masses, lengths.
template <int KIND> static __device__ __forceinline__ void gpu_group_find(const gpu_groups *g, const gpu_view *p, int k, gpu_group *out)
{
    const int atoms = gpu_atoms(KIND);
    int       a, c;

    if (KIND == GPU_FREE) {
        out->atom[0] = g->free[k];
    } else {
        const int4 id = g->group[KIND][k];

        out->atom[0] = id.x;
        out->atom[1] = id.y;
        if (atoms > 2) out->atom[2] = id.z;
        if (atoms > 3) out->atom[3] = id.w;
        if (KIND == GPU_WATER) out->water = g->water + id.w;
    }
    if (KIND == GPU_WATER) {
        out->im[0] = out->water->im_o;
        out->im[1] = out->im[2] = out->water->im_h;
    } else {
        for (a = 0; a < atoms; a++) out->im[a] = p->inv_mass[out->atom[a]];
        for (c = 0; c < atoms - 1; c++) out->length2[c] = g->length2[KIND][(size_t)k * (size_t)(atoms - 1) + (size_t)c];
    }
}

template <int KIND> static __device__ __forceinline__ void gpu_group_load(const gpu_group *b, const double (*from)[3], double *to)
{
    int a, k;

    for (a = 0; a < gpu_atoms(KIND); a++)
        for (k = 0; k < 3; k++) to[3 * a + k] = from[b->atom[a]][k];
}

template <int KIND> static __device__ __forceinline__ void gpu_group_store(const gpu_group *b, const double *from, double (*to)[3])
{
    int a, k;

    for (a = 0; a < gpu_atoms(KIND); a++)
        for (k = 0; k < 3; k++) to[b->atom[a]][k] = from[3 * a + k];
}

/// Mass-weighted mean of y; the mass.
template <int KIND> static __device__ __forceinline__ double gpu_group_centre(const gpu_group *b, const double *y, double centre[3])
{
    double mass = 0;
    int    a, k;

    for (k = 0; k < 3; k++) centre[k] = 0;
    for (a = 0; a < gpu_atoms(KIND); a++) {
        const double m = 1 / b->im[a];

        mass += m;
        for (k = 0; k < 3; k++) centre[k] += m * y[3 * a + k];
    }
    for (k = 0; k < 3; k++) centre[k] /= mass;
    return mass;
}

// ------------------------------------------------------------------------------------------------ waters

/// The canonical triangle in the frame of the old plane, turned to fit. p1, p2: old O-H vectors; now: new O, H, H from their
/// centre of mass; axes u (across the new O), t, n (normal). out: new positions in that frame.
static __device__ __forceinline__ void gpu_turn_triangle(const gpu_water *w, const double u[3], const double t[3], const double n[3],
                                                         const double p1[3], const double p2[3], const double now[9], double out[9])
{
    const double p1u = mds_dot(u, p1), p1t = mds_dot(t, p1), p2u = mds_dot(u, p2), p2t = mds_dot(t, p2);
    const double b1u = mds_dot(u, now + 3), b1t = mds_dot(t, now + 3), b1n = mds_dot(n, now + 3);
    const double b2u = mds_dot(u, now + 6), b2t = mds_dot(t, now + 6), b2n = mds_dot(n, now + 6), an = mds_dot(n, now);
    const double sin_phi = an * w->inv_ra, cos2_phi = 1 - sin_phi * sin_phi, inv_cos = gpu_inv_root(cos2_phi);
    const double cos_phi = cos2_phi * inv_cos, sin_psi = (b1n - b2n) * w->inv_2rc * inv_cos, cos2_psi = 1 - sin_psi * sin_psi;
    const double cos_psi = cos2_psi * gpu_inv_root(cos2_psi);
    const double ya = w->ra * cos_phi, xb = -w->rc * cos_psi, tilt = w->rc * sin_psi * sin_phi;
    const double yb = -w->rb * cos_phi - tilt, yc = -w->rb * cos_phi + tilt;
    const double alpha = xb * (p1u - p2u) + p1t * yb + p2t * yc, beta = xb * (p2t - p1t) + p1u * yb + p2u * yc;
    const double gamma = p1u * b1t - b1u * p1t + p2u * b2t - b2u * p2t, square = alpha * alpha + beta * beta;
    const double rest2 = square - gamma * gamma, rest = rest2 * gpu_inv_root(rest2), inv_square = 1 / square;
    const double sine = (alpha * gamma - beta * rest) * inv_square, cosine = (beta * gamma + alpha * rest) * inv_square;

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
static __device__ __forceinline__ void gpu_water_fix_x(gpu_group *b, double inv_h)
{
    const gpu_water *w = b->water;
    double p1[3], p2[3], now[9], com[3], u[3], t[3], n[3], turned[9], scale;
    int    k, a;

    for (k = 0; k < 3; k++) {
        p1[k] = b->r[3 + k] - b->r[k];
        p2[k] = b->r[6 + k] - b->r[k];
        for (a = 0; a < 9; a += 3) now[a + k] = b->x[a + k] - b->r[k];
        com[k] = w->weight_o * now[k] + w->weight_h * (now[3 + k] + now[6 + k]);
        for (a = 0; a < 9; a += 3) now[a + k] -= com[k];
    }
    mds_cross(p1, p2, n);
    scale = gpu_inv_root(mds_dot(n, n));
    for (k = 0; k < 3; k++) n[k] *= scale;
    mds_cross(now, n, u);
    scale = gpu_inv_root(mds_dot(u, u));
    for (k = 0; k < 3; k++) u[k] *= scale;
    mds_cross(n, u, t);
    gpu_turn_triangle(w, u, t, n, p1, p2, now, turned);
    for (k = 0; k < 3; k++) {
        const double origin = b->r[k] + com[k];

        for (a = 0; a < 9; a += 3) {
            const double to = u[k] * turned[a] + t[k] * turned[a + 1] + n[k] * turned[a + 2];

            b->v[a + k] += (to - now[a + k]) * inv_h;
            b->x[a + k] = origin + to;
        }
    }
}

/// From w take what makes r_ij.w_ij + bias differ from 0 for the three distances of x.
static __device__ __forceinline__ void gpu_water_project(const gpu_water *kind, const double *x, double *w, const double *bias)
{
    const double o = kind->im_o, m = kind->im_h;
    double       r1[3], r2[3], r3[3], w1[3], w2[3], w3[3], l0, l1, l2;
    int          k;

    for (k = 0; k < 3; k++) {
        r1[k] = x[k] - x[3 + k];
        r2[k] = x[k] - x[6 + k];
        r3[k] = x[3 + k] - x[6 + k];
        w1[k] = w[k] - w[3 + k];
        w2[k] = w[k] - w[6 + k];
        w3[k] = w[3 + k] - w[6 + k];
    }
    const double g0 = mds_dot(r1, w1) + (bias ? bias[0] : 0), g1 = mds_dot(r2, w2) + (bias ? bias[1] : 0);
    const double g2 = mds_dot(r3, w3) + (bias ? bias[2] : 0);
    // the symmetric matrix and its cofactors
    const double a01 = o * mds_dot(r1, r2), a02 = -m * mds_dot(r1, r3), a12 = m * mds_dot(r2, r3);
    const double a00 = (o + m) * mds_dot(r1, r1), a11 = (o + m) * mds_dot(r2, r2), a22 = 2 * m * mds_dot(r3, r3);
    const double c00 = a11 * a22 - a12 * a12, c01 = a02 * a12 - a01 * a22, c02 = a01 * a12 - a02 * a11;
    const double c11 = a00 * a22 - a02 * a02, c12 = a01 * a02 - a00 * a12, c22 = a00 * a11 - a01 * a01;
    const double inv = 1 / (a00 * c00 + a01 * c01 + a02 * c02);
    l0 = inv * (c00 * g0 + c01 * g1 + c02 * g2);
    l1 = inv * (c01 * g0 + c11 * g1 + c12 * g2);
    l2 = inv * (c02 * g0 + c12 * g1 + c22 * g2);
    for (k = 0; k < 3; k++) {
        w[k] -= o * (l0 * r1[k] + l1 * r2[k]);
        w[3 + k] += m * (l0 * r1[k] - l2 * r3[k]);
        w[6 + k] += m * (l1 * r2[k] + l2 * r3[k]);
    }
}

// ---------------------------------------------------------------------------------------- X-H clusters

/// Bonds of N hydrogens: x0 - x_c.
template <int N> static __device__ __forceinline__ void gpu_bonds(const double *x, double out[3][3])
{
    int c, k;

    for (c = 0; c < N; c++)
        for (k = 0; k < 3; k++) out[c][k] = x[k] - x[3 + 3 * c + k];
}

/// w -= M^-1 J^T lambda along the directions.
template <int N>
static __device__ __forceinline__ void gpu_push(const double *im, const double dir[3][3], const double *lambda, double *w)
{
    int c, k;

    for (c = 0; c < N; c++)
        for (k = 0; k < 3; k++) {
            const double impulse = lambda[c] * dir[c][k];

            w[k] -= im[0] * impulse;
            w[3 + 3 * c + k] += im[1 + c] * impulse;
        }
}

/// A lambda = g, A[c][l] = (im0 + im_c if c = l) left_c . right_l.
template <int N>
static __device__ __forceinline__ void gpu_solve(const double *im, const double left[3][3], const double right[3][3], const double *g,
                                                 double *lambda)
{
    double a[3][3];
    int    c, l;

    for (c = 0; c < N; c++)
        for (l = 0; l < N; l++) a[c][l] = (c == l ? im[0] + im[1 + c] : im[0]) * mds_dot(left[c], right[l]);
    if (N == 1) {
        lambda[0] = g[0] / a[0][0];
    } else if (N == 2) {
        const double inv = 1 / (a[0][0] * a[1][1] - a[0][1] * a[1][0]);

        lambda[0] = inv * (a[1][1] * g[0] - a[0][1] * g[1]);
        lambda[1] = inv * (a[0][0] * g[1] - a[1][0] * g[0]);
    } else {
        double cofactor[3][3]; // the columns of A's adjugate

        mds_cross(a[1], a[2], cofactor[0]);
        mds_cross(a[2], a[0], cofactor[1]);
        mds_cross(a[0], a[1], cofactor[2]);
        const double inv = 1 / mds_dot(a[0], cofactor[0]);
        for (l = 0; l < 3; l++) lambda[l] = inv * (cofactor[0][l] * g[0] + cofactor[1][l] * g[1] + cofactor[2][l] * g[2]);
    }
}

/// One link: the smaller root of |r - mu lambda d|^2 = L^2.
static __device__ __forceinline__ void gpu_fix_one(gpu_group *b, const double dir[3][3])
{
    const double mu = b->im[0] + b->im[1];
    double       now[3][3], lambda[3];

    gpu_bonds<1>(b->x, now);
    const double along = mds_dot(now[0], dir[0]), off = mds_dot(now[0], now[0]) - b->length2[0];
    lambda[0] = off / (mu * (along + sqrt(along * along - mds_dot(dir[0], dir[0]) * off)));
    gpu_push<1>(b->im, dir, lambda, b->x);
}

/// Several links: Newton's steps until within the tolerance and one more.
template <int N> static __device__ __forceinline__ void gpu_fix_some(gpu_group *b, const double dir[3][3], double tolerance)
{
    double worst = 0;
    int    round, c, k;

    for (round = 0; round < 50; round++) {
        double now[3][3], off[3], lambda[3];

        worst = 0;
        gpu_bonds<N>(b->x, now);
        for (c = 0; c < N; c++) {
            off[c] = 0.5 * (mds_dot(now[c], now[c]) - b->length2[c]);
            worst = fmax(worst, fabs(off[c]) / b->length2[c]);
        }
        gpu_solve<N>(b->im, now, dir, off, lambda);
        gpu_push<N>(b->im, dir, lambda, b->x);
        if (!(worst > tolerance)) return; // NaN ends it too
    }
    for (k = 0; k < 3 * (N + 1); k++) b->x[k] = (double)NAN;
}

template <int N> static __device__ __forceinline__ void gpu_cluster_fix_x(gpu_group *b, double inv_h, double tolerance)
{
    double dir[3][3], before[12];
    int    k;

    gpu_bonds<N>(b->r, dir);
    for (k = 0; k < 3 * (N + 1); k++) before[k] = b->x[k];
    if (N == 1)
        gpu_fix_one(b, dir);
    else
        gpu_fix_some<N>(b, dir, tolerance);
    for (k = 0; k < 3 * (N + 1); k++) b->v[k] += (b->x[k] - before[k]) * inv_h;
}

template <int N>
static __device__ __forceinline__ void gpu_cluster_project(const double *im, const double *x, double *w, const double *bias)
{
    double dir[3][3], speed[3][3], g[3], lambda[3];
    int    c;

    gpu_bonds<N>(x, dir);
    gpu_bonds<N>(w, speed);
    for (c = 0; c < N; c++) g[c] = mds_dot(dir[c], speed[c]) + (bias ? bias[c] : 0);
    gpu_solve<N>(im, dir, dir, g, lambda);
    gpu_push<N>(im, dir, lambda, w);
}

// ---------------------------------------------------------------------------------------------- any group

/// x onto the constraints along the bonds of r, v += (change of x) inv_h, r = x.
template <int KIND> static __device__ __forceinline__ void gpu_group_fix_x(gpu_group *b, double inv_h, double tolerance)
{
    int k;

    if (KIND == GPU_WATER) gpu_water_fix_x(b, inv_h);
    if (KIND == GPU_XH1) gpu_cluster_fix_x<1>(b, inv_h, tolerance);
    if (KIND == GPU_XH2) gpu_cluster_fix_x<2>(b, inv_h, tolerance);
    if (KIND == GPU_XH3) gpu_cluster_fix_x<3>(b, inv_h, tolerance);
    for (k = 0; k < 3 * gpu_atoms(KIND); k++) b->r[k] = b->x[k];
}

/// From w take what makes r_ij.w_ij + bias differ from 0 for the distances of x. bias NULL: zeros.
template <int KIND> static __device__ __forceinline__ void gpu_group_project(const gpu_group *b, double *w, const double *bias)
{
    if (KIND == GPU_WATER) gpu_water_project(b->water, b->x, w, bias);
    if (KIND == GPU_XH1) gpu_cluster_project<1>(b->im, b->x, w, bias);
    if (KIND == GPU_XH2) gpu_cluster_project<2>(b->im, b->x, w, bias);
    if (KIND == GPU_XH3) gpu_cluster_project<3>(b->im, b->x, w, bias);
}

#endif
