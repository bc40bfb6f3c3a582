// SPDX-License-Identifier: Apache-2.0
// Bonded terms, a vector of them at a time, in double (formulas: num/bonded.h, docs/theory/bonded.md).
//
// No term here needs a sine or an exponential. Torsions that are sums of cosines are polynomials in cos phi and sin phi, which
// the vectors give without the angle; harmonic ones need the angle, by vd_atan2. What has no direction (zero bonds, straight
// angles, collinear torsions) has no force, by the same thresholds as the scalar forms.
//
// Differences are those of positions, which for a molecule in one piece is the nearest image; where one of a batch is longer
// than half the box, its lanes are taken one by one, and the virial, which is otherwise summed over atoms, gets the share of the
// box vectors.
//
// Compiled once per instruction set level (isa.h).
#include "cpu/bonded.h"
#include "cpu/isa.h"
#include "cpu/simd_double.h"

#include "num/bonded.h"

enum { PARTS = BONDED_LANES / VD_WIDTH };

/// Up to three difference vectors of a batch and the box vectors that were added to them.
typedef struct {
    vd   r[3][3];
    vd   square[3];
    vd   image[3][3];
    bool moved;
} differences;

static void take_nearest(const bonded_place *p, int n, differences *d)
{
    memset(d->image, 0, sizeof d->image);
    d->moved = true;
    for (int m = 0; m < n; m++) {
        for (int l = 0; l < VD_WIDTH; l++) {
            const double before[3] = {d->r[m][0][l], d->r[m][1][l], d->r[m][2][l]};
            double       r[3] = {before[0], before[1], before[2]};

            mds_images_nearest(p->images, r);
            for (int k = 0; k < 3; k++) {
                d->image[m][k][l] = r[k] - before[k];
                d->r[m][k][l] = r[k];
            }
        }
        d->square[m] = vd_dot(d->r[m], d->r[m]);
    }
}

/// Virial of forces f on the far ends of the differences, as far as it goes with the box vectors.
static void image_virial(const bonded_place *p, int n, const differences *d, const vd (*f)[3])
{
    for (int m = 0; m < n; m++)
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++) p->virial[k][l] -= 0.5 * vd_sum(d->image[m][k] * f[m][l]);
}

/// r[m] = x[from[m]] - x[to[m]] at the nearest image, and squares.
VD_INLINE void differ(const bonded_place *p, int n, const vd (*x)[3], const int *from, const int *to, differences *d)
{
    vd longest = {0};

    for (int m = 0; m < n; m++) {
        for (int k = 0; k < 3; k++) d->r[m][k] = x[from[m]][k] - x[to[m]][k];
        d->square[m] = vd_dot(d->r[m], d->r[m]);
        longest = vd_if_greater(d->square[m], longest, d->square[m], longest);
    }
    d->moved = false;
    if (p->images->periodic && vd_any_greater(longest, vd_set(p->images->near2))) take_nearest(p, n, d);
}

/// Atoms, rows of one part of a batch.
typedef struct {
    const int32_t *offset; // [atoms][BONDED_LANES], of this part
    const double  *param;
} part;

VD_INLINE vd param(const part *b, int k)
{
    return vd_load(b->param + k * BONDED_LANES);
}

VD_INLINE void load(const bonded_place *p, const part *b, int n, vd (*x)[3])
{
    for (int a = 0; a < n; a++) vd_rows(p->x, b->offset + a * BONDED_LANES, x[a]);
}

VD_INLINE void add(const bonded_place *p, const part *b, int n, const vd (*f)[3])
{
    for (int a = 0; a < n; a++) vd_add_rows(p->f, b->offset + a * BONDED_LANES, f[a]);
}

/// Sums over a run, by lanes: the run's energy and, of pairs, the Coulomb part.
typedef struct {
    vd energy, coulomb;
} run_sums;

VD_INLINE void distance(const bonded_place *p, const part *b, bonded_batch kind, run_sums *sums)
{
    static const int from[] = {0}, to[] = {1};
    const vd         zero = {0};
    differences      d;
    vd               x[2][3], f[2][3], s;

    load(p, b, 2, x);
    differ(p, 1, (const vd(*)[3])x, from, to, &d);
    if (kind == BONDED_DISTANCE) {
        const vd r = vd_root(d.square[0]), off = r - param(b, 0), pull = param(b, 1) * off;

        s = vd_if_greater(r, zero, -pull / r, zero);
        sums->energy += 0.5 * pull * off;
    } else {
        const vd least = zero + 1e-12, inv2 = 1 / vd_if_greater(d.square[0], least, d.square[0], least);
        const vd inv6 = inv2 * inv2 * inv2, v6 = param(b, 0) * inv6, v12 = param(b, 1) * inv6 * inv6;
        const vd coulomb = MDS_COULOMB * param(b, 2) * vd_root(inv2);

        s = (12 * v12 - 6 * v6 + coulomb) * inv2;
        sums->energy += v12 - v6;
        sums->coulomb += coulomb;
    }
    for (int k = 0; k < 3; k++) {
        f[0][k] = s * d.r[0][k];
        f[1][k] = -f[0][k];
    }
    if (d.moved) image_virial(p, 1, &d, (const vd(*)[3])f);
    add(p, b, 2, (const vd(*)[3])f);
}

VD_INLINE void angle(const bonded_place *p, const part *b, run_sums *sums)
{
    static const int from[] = {0, 2}, to[] = {1, 1};
    const vd         zero = {0}, one = zero + 1;
    differences      d;
    vd               x[3][3], f[3][3], ends[2][3], n[3];

    load(p, b, 3, x);
    differ(p, 2, (const vd(*)[3])x, from, to, &d);
    const vd u2 = d.square[0], v2 = d.square[1], uv = vd_dot(d.r[0], d.r[1]), product = u2 * v2;
    vd_cross(d.r[0], d.r[1], n);
    const vd sine2 = vd_dot(n, n), sine = vd_root(sine2), off = vd_atan2(sine, uv) - param(b, 0), slope = param(b, 1) * off;
    const vd inv = 1 / vd_if_greater(product, zero, product, one);
    const vd straight = MDS_COLLINEAR * product;
    const vd pull = vd_if_greater(sine2, straight, slope / vd_if_greater(sine2, straight, sine, one), zero); // -V'/(|u||v| sin)
    const vd pu = uv * v2 * inv, pv = uv * u2 * inv;
    sums->energy += 0.5 * slope * off;
    for (int k = 0; k < 3; k++) {
        ends[0][k] = f[0][k] = pull * (d.r[1][k] - pu * d.r[0][k]);
        ends[1][k] = f[2][k] = pull * (d.r[0][k] - pv * d.r[1][k]);
        f[1][k] = -f[0][k] - f[2][k];
    }
    if (d.moved) image_virial(p, 2, &d, (const vd(*)[3])ends);
    add(p, b, 3, (const vd(*)[3])f);
}

/// Value and slope of P(c) + s Q(c) by phi, c = cos phi, s = sin phi.
VD_INLINE void polynomial(const part *b, int degree, bool sines, vd c, vd s, vd *value, vd *slope)
{
    const vd zero = {0};
    vd       v = param(b, degree), dv = zero;

#pragma GCC unroll 6
    for (int k = degree - 1; k >= 0; k--) {
        dv = dv * c + v;
        v = v * c + param(b, k);
    }
    *value = v;
    *slope = -s * dv;
    if (!sines) return;
    v = param(b, 2 * degree);
    dv = zero;
#pragma GCC unroll 6
    for (int k = degree - 2; k >= 0; k--) {
        dv = dv * c + v;
        v = v * c + param(b, degree + 1 + k);
    }
    *value += s * v;
    *slope += c * v - s * s * dv;
}

VD_INLINE void torsion(const bonded_place *p, const part *b, bonded_batch kind, run_sums *sums)
{
    static const int from[] = {0, 2, 2}, to[] = {1, 1, 3};
    const vd         zero = {0}, one = zero + 1;
    differences      d;
    vd               x[4][3], f[4][3], m[3], n[3], value, slope;

    load(p, b, 4, x);
    differ(p, 3, (const vd(*)[3])x, from, to, &d);
    const vd f2 = d.square[0], g2 = d.square[1], h2 = d.square[2], axis = vd_root(g2);
    vd_cross(d.r[0], d.r[1], m);
    vd_cross(d.r[1], d.r[2], n);
    vd       m2 = vd_dot(m, m), n2 = vd_dot(n, n);
    const vd sine = axis * vd_dot(d.r[0], n), cosine = vd_dot(m, n);
    // lanes without a direction: numbers that do no harm, and no force at the end
    const vd whole = vd_if_greater(m2, MDS_COLLINEAR * f2 * g2, vd_if_greater(n2, MDS_COLLINEAR * h2 * g2, one, zero), zero);
    m2 = vd_if_greater(whole, zero, m2, one);
    n2 = vd_if_greater(whole, zero, n2, one);
    const vd both = 1 / (m2 * n2), inv_g2 = 1 / vd_if_greater(g2, zero, g2, one);
    if (kind == BONDED_IMPROPER) {
        vd off = vd_atan2(sine, cosine) - param(b, 0);

        off -= 6.283185307179586477 * vd_nearest(off * 0.15915494309189533577);
        slope = param(b, 1) * off;
        value = 0.5 * slope * off;
    } else {
        const vd norm = vd_root(both);

        polynomial(b, kind == BONDED_COSINE_3 ? 3 : BONDED_MAX_COSINE, kind == BONDED_FOURIER,
                   vd_if_greater(whole, zero, cosine * norm, one), vd_if_greater(whole, zero, sine * norm, zero), &value, &slope);
    }
    sums->energy += value;
    const vd pull = -slope * axis * whole * both, a = pull * n2, e = pull * m2; // of m on the first, of -n on the last atom
    const vd pf = vd_dot(d.r[0], d.r[1]) * inv_g2, ph = vd_dot(d.r[2], d.r[1]) * inv_g2;
    vd       ends[3][3]; // forces that go with f, with g less h's, and with h: those on atoms 0, 2 + 3 and, turned, 3
    for (int k = 0; k < 3; k++) {
        const vd first = a * m[k], last = -e * n[k], shift = pf * first - ph * last;

        f[0][k] = first;
        f[1][k] = shift - first;
        f[2][k] = -shift - last;
        f[3][k] = last;
        ends[0][k] = first;
        ends[1][k] = f[2][k] + last;
        ends[2][k] = -last;
    }
    if (d.moved) image_virial(p, 3, &d, (const vd(*)[3])ends);
    add(p, b, 4, (const vd(*)[3])f);
}

VD_INLINE void run(const bonded_run *r, const bonded_place *p, bonded_batch kind, int atoms, int params)
{
    run_sums sums = {{0}, {0}};

    for (int32_t i = 0; i < r->n; i++)
        for (int q = 0; q < PARTS; q++) {
            const part b = {r->offset + (size_t)i * (size_t)atoms * BONDED_LANES + q * VD_WIDTH,
                            r->param + (size_t)i * (size_t)params * BONDED_LANES + q * VD_WIDTH};

            if (atoms == 2)
                distance(p, &b, kind, &sums);
            else if (atoms == 3)
                angle(p, &b, &sums);
            else
                torsion(p, &b, kind, &sums);
        }
    if (!p->sums) return;
    p->energy[r->energy] += vd_sum(sums.energy);
    if (kind == BONDED_PAIR14) p->energy[MDS_EN_COUL14] += vd_sum(sums.coulomb);
}

void MDS_ISA_NAME(mds_isa_bonded)(const bonded_run *r, const bonded_place *p)
{
    switch (r->kind) {
    case BONDED_DISTANCE:
        run(r, p, BONDED_DISTANCE, 2, 2);
        break;
    case BONDED_PAIR14:
        run(r, p, BONDED_PAIR14, 2, 3);
        break;
    case BONDED_ANGLE:
        run(r, p, BONDED_ANGLE, 3, 2);
        break;
    case BONDED_COSINE_3:
        run(r, p, BONDED_COSINE_3, 4, 4);
        break;
    case BONDED_COSINE_6:
        run(r, p, BONDED_COSINE_6, 4, 7);
        break;
    case BONDED_FOURIER:
        run(r, p, BONDED_FOURIER, 4, 13);
        break;
    case BONDED_IMPROPER:
        run(r, p, BONDED_IMPROPER, 4, 2);
        break;
    case BONDED_EXCLUDED_PAIR: // isa_excluded.c
    case BONDED_N_BATCHES:
        break;
    }
}
