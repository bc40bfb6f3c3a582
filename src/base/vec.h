// SPDX-License-Identifier: Apache-2.0
// Vectors of three and periodic boxes, in double, inline.
//
// A box holds its vectors as rows, lower triangular: a = (ax, 0, 0), b = (bx, by, 0), c = (cx, cy, cz).
// A box of zeros means no box (vacuum). Reduced: |bx| <= ax/2, |cx| <= ax/2, |cy| <= by/2.
#ifndef MDS_VEC_H
#define MDS_VEC_H

#include "base/inline.h"

#include <math.h>
#include <stdbool.h>

typedef struct {
    double a[3][3]; // rows are box vectors, nm
} mds_box;

MDS_INLINE double mds_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

MDS_INLINE void mds_cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

MDS_INLINE double mds_norm(const double a[3])
{
    return sqrt(mds_dot(a, a));
}

MDS_INLINE bool mds_box_is_none(const mds_box *box)
{
    return !(box->a[0][0] > 0 && box->a[1][1] > 0 && box->a[2][2] > 0);
}

/// Volume, nm^3 (0 without a box).
MDS_INLINE double mds_box_volume(const mds_box *box)
{
    return box->a[0][0] * box->a[1][1] * box->a[2][2];
}

/// Inverse as columns: fractional coordinate s_k = sum_d x_d inv[d][k]. 1/nm. Needs a box.
MDS_INLINE void mds_box_inverse(const mds_box *box, double inv[3][3])
{
    const double(*h)[3] = box->a;

    inv[0][0] = 1 / h[0][0];
    inv[0][1] = inv[0][2] = inv[1][2] = 0;
    inv[1][1] = 1 / h[1][1];
    inv[2][2] = 1 / h[2][2];
    inv[1][0] = -h[1][0] / (h[0][0] * h[1][1]);
    inv[2][1] = -h[2][1] / (h[1][1] * h[2][2]);
    inv[2][0] = (h[1][0] * h[2][1] - h[1][1] * h[2][0]) / (h[0][0] * h[1][1] * h[2][2]);
}

/// Perpendicular widths along the three reciprocal directions, nm.
MDS_INLINE void mds_box_widths(const mds_box *box, double width[3])
{
    double inv[3][3];
    int    k;

    mds_box_inverse(box, inv);
    for (k = 0; k < 3; k++)
        width[k] = 1 / sqrt(inv[0][k] * inv[0][k] + inv[1][k] * inv[1][k] + inv[2][k] * inv[2][k]);
}

MDS_INLINE bool mds_box_is_rectangular(const mds_box *box)
{
    return box->a[1][0] == 0 && box->a[2][0] == 0 && box->a[2][1] == 0;
}

/// d + one of the 27 combinations of box vectors with coefficients -1, 0, 1: the shortest, into d. Returns its square.
MDS_INLINE double mds_box_best_of_27(const mds_box *box, double d[3])
{
    const double(*h)[3] = box->a;
    double best[3] = {d[0], d[1], d[2]}, least = mds_dot(d, d);
    int    i, j, k, c;

    for (i = -1; i <= 1; i++)
        for (j = -1; j <= 1; j++)
            for (k = -1; k <= 1; k++) {
                double e[3];

                for (c = 0; c < 3; c++) e[c] = d[c] + i * h[0][c] + j * h[1][c] + k * h[2][c];
                if (mds_dot(e, e) >= least) continue;
                least = mds_dot(e, e);
                for (c = 0; c < 3; c++) best[c] = e[c];
            }
    for (c = 0; c < 3; c++) d[c] = best[c];
    return least;
}

/// Half the shortest lattice vector, nm: up to this distance a neighbour is one image only, so it bounds every cut-off.
/// In a skewed box it is more than half the smallest perpendicular width. HUGE_VAL without a box.
MDS_INLINE double mds_box_reach(const mds_box *box)
{
    const double(*h)[3] = box->a;
    double least = HUGE_VAL;
    int    i, j, k, c;

    if (mds_box_is_none(box)) return HUGE_VAL;
    for (i = -2; i <= 2; i++)
        for (j = -2; j <= 2; j++)
            for (k = -2; k <= 2; k++) {
                double e[3];

                for (c = 0; c < 3; c++) e[c] = i * h[0][c] + j * h[1][c] + k * h[2][c];
                if ((i || j || k) && mds_dot(e, e) < least) least = mds_dot(e, e);
            }
    return 0.5 * sqrt(least);
}

/// A box prepared for many nearest images.
typedef struct {
    bool    periodic, skewed;
    double  near2; // nm^2: what is shorter than half the smallest width is the nearest image already
    mds_box box;
    double  inv[3][3]; // 1/nm
} mds_images;

MDS_INLINE mds_images mds_images_of(const mds_box *box)
{
    mds_images m;
    double     width[3];
    int        k;

    m.periodic = !mds_box_is_none(box);
    m.skewed = !mds_box_is_rectangular(box);
    m.box = *box;
    m.near2 = 0;
    for (k = 0; k < 9; k++) m.inv[k / 3][k % 3] = 0;
    if (m.periodic) {
        mds_box_inverse(box, m.inv);
        mds_box_widths(box, width);
        m.near2 = 0.25 * pow(fmin(width[0], fmin(width[1], width[2])), 2);
    }
    return m;
}

/// Replace d by its nearest periodic image, in any reduced box. No box: unchanged.
MDS_INLINE void mds_images_nearest(const mds_images *m, double d[3])
{
    const double(*h)[3] = m->box.a;
    double s0, s1, s2;

    if (!m->periodic || mds_dot(d, d) <= m->near2) return;
    s0 = rint(d[0] * m->inv[0][0] + d[1] * m->inv[1][0] + d[2] * m->inv[2][0]);
    s1 = rint(d[1] * m->inv[1][1] + d[2] * m->inv[2][1]);
    s2 = rint(d[2] * m->inv[2][2]);
    d[0] -= s0 * h[0][0] + s1 * h[1][0] + s2 * h[2][0];
    d[1] -= s1 * h[1][1] + s2 * h[2][1];
    d[2] -= s2 * h[2][2];
    // rounding fractions may miss the nearest image beyond half the smallest width, which is at most half of cz, by, ax
    if (m->skewed && mds_dot(d, d) > m->near2) (void)mds_box_best_of_27(&m->box, d);
}

/// The same for one vector.
MDS_INLINE void mds_box_nearest(const mds_box *box, double d[3])
{
    const mds_images m = mds_images_of(box);

    mds_images_nearest(&m, d);
}

#endif
