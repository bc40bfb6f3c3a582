// SPDX-License-Identifier: Apache-2.0
// Spread and gather, compiled once per ISA level.
//
// Charges are handled in blocks of 16 neighbouring slots. Their cells come first (place). Weights along x and y are
// made for the 16 atoms at once, one vector a point, and lie in the first-level cache, from where the rows take them as
// broadcasts; along z a vector over the `order` points of one atom is what meets a row of the mesh, and Horner's rule
// makes it directly: w - 1/2 is broadcast, the coefficients of the points are the vectors.
//   spread: v_b = q theta_y[b] theta_z once per b, then row(a,b) += theta_x[a] v_b: 16 loads, FMAs and stores at
//           order 4
//   gather: per a, sums over b of theta_y row and theta_y' row, then three FMAs: 44 FMAs at order 4. The sums over
//           z are left to the end of the block, where four atoms share their shuffles.
// Orders 5 to 8 use rows of 8 floats of which the last weights are 0; rows are padded so that the extra floats
// exist. Loops have constant lengths and are unrolled, so that vectors stay in registers.
#include "cpu/isa_mesh.h"
#include "cpu/isa.h"
#include "cpu/shuffle.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

enum { LANES = 8 };

// The widest vector that the level has for a block's weights. A wider one is no error, but gcc then works element by
// element, and eight times as long.
#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX__)
#define WIDTH 8
#else
#define WIDTH 4
#endif

typedef float part_of_block __attribute__((vector_size(4 * WIDTH), may_alias));
typedef float row4 __attribute__((vector_size(16), may_alias));
#if WIDTH > 4
typedef float row8 __attribute__((vector_size(32), may_alias));
#else
typedef struct {
    row4 low, high;
} row8;
#endif

/// Weights of the points along one direction for the atoms of a block, and their slopes: [order][MESH_BLOCK].
ALWAYS void weights(const float *theta, int order, const float *y, float (*w)[MESH_BLOCK])
{
#pragma GCC unroll 4
    for (int i = 0; i < MESH_BLOCK; i += WIDTH) {
        part_of_block at;

        memcpy(&at, y + i, sizeof at);
#pragma GCC unroll 8
        for (int k = 0; k < order; k++) {
            part_of_block sum = theta[(order - 1) * LANES + k] * at + theta[(order - 2) * LANES + k];

#pragma GCC unroll 8
            for (int j = order - 3; j >= 0; j--) sum = sum * at + theta[j * LANES + k];
            memcpy(&w[k][i], &sum, sizeof sum);
        }
    }
}

ALWAYS void slopes(const float *theta, int order, const float *y, float (*w)[MESH_BLOCK])
{
#pragma GCC unroll 4
    for (int i = 0; i < MESH_BLOCK; i += WIDTH) {
        part_of_block at;

        memcpy(&at, y + i, sizeof at);
#pragma GCC unroll 8
        for (int k = 0; k < order; k++) {
            part_of_block sum = (float)(order - 1) * theta[(order - 1) * LANES + k] * at +
                                (float)(order - 2) * theta[(order - 2) * LANES + k];

#pragma GCC unroll 8
            for (int j = order - 3; j >= 1; j--) sum = sum * at + (float)j * theta[j * LANES + k];
            memcpy(&w[k][i], &sum, sizeof sum);
        }
    }
}

/// out[i] = sum of v[i] for four vectors: the usual transposition, adding on the way.
ALWAYS row4 sums_of(const row4 *v)
{
    const row4 a = SHUFFLE4(v[0], v[1], 0, 4, 1, 5) + SHUFFLE4(v[0], v[1], 2, 6, 3, 7);
    const row4 b = SHUFFLE4(v[2], v[3], 0, 4, 1, 5) + SHUFFLE4(v[2], v[3], 2, 6, 3, 7);

    return SHUFFLE4(a, b, 0, 1, 4, 5) + SHUFFLE4(a, b, 2, 3, 6, 7);
}

// What isa_rows.h does with a row, for one vector and for two.
ALWAYS row4 scale_row4(row4 v, float s)
{
    return v * s;
}
ALWAYS row4 add_row4(row4 sum, float s, row4 v) // sum + s v
{
    return sum + s * v;
}
ALWAYS row4 horner_row4(row4 w, float y, row4 c) // w y + c
{
    return w * y + c;
}
ALWAYS row4 product_row4(row4 a, row4 b) // over lanes four apart
{
    return a * b;
}
#if WIDTH > 4
ALWAYS row8 scale_row8(row8 v, float s)
{
    return v * s;
}
ALWAYS row8 add_row8(row8 sum, float s, row8 v)
{
    return sum + s * v;
}
ALWAYS row8 horner_row8(row8 w, float y, row8 c)
{
    return w * y + c;
}
ALWAYS row4 product_row8(row8 a, row8 b)
{
    const row8 ab = a * b;
    row4       half[2];

    memcpy(half, &ab, sizeof ab);
    return half[0] + half[1];
}
#else
ALWAYS row8 scale_row8(row8 v, float s)
{
    return (row8){v.low * s, v.high * s};
}
ALWAYS row8 add_row8(row8 sum, float s, row8 v)
{
    return (row8){sum.low + s * v.low, sum.high + s * v.high};
}
ALWAYS row8 horner_row8(row8 w, float y, row8 c)
{
    return (row8){w.low * y + c.low, w.high * y + c.high};
}
ALWAYS row4 product_row8(row8 a, row8 b)
{
    return a.low * b.low + a.high * b.high;
}
#endif

/// Forces of a block, from the sums that are still spread over four lanes, into its four lines.
ALWAYS void add_forces(const mesh_job *job, const mesh_block *block, float *line, row4 (*part)[MESH_BLOCK])
{
    const float(*scale)[3] = job->scale;

    for (int c = 0; c < MESH_BLOCK / 4; c++) {
        const row4 *q = (const row4 *)&block->q[4 * c];
        const row4  x = -*q * sums_of(&part[0][4 * c]), y = -*q * sums_of(&part[1][4 * c]),
                   z = -*q * sums_of(&part[2][4 * c]);
        row4 *to = (row4 *)(line + 16 * c);

        to[0] += x * scale[0][0]; // the inverse of a lower triangular box is lower triangular
        to[1] += x * scale[1][0] + y * scale[1][1];
        to[2] += x * scale[2][0] + y * scale[2][1] + z * scale[2][2];
    }
}

/// A job in registers: stores to the mesh would have the compiler read it again and again.
typedef struct {
    char        *slab;
    ptrdiff_t    row, row3, plane; // bytes; three rows
    int32_t      split, before, after;
    const float *theta;
} view;

ALWAYS view view_of(const mesh_job *job)
{
    return (view){.slab = (char *)job->slab, .row = 4 * (ptrdiff_t)job->row, .row3 = 12 * (ptrdiff_t)job->row,
                  .plane = 4 * (ptrdiff_t)job->plane, .split = job->split, .before = job->before, .after = job->after,
                  .theta = job->theta};
}

#define ROW row4
#define NAME(f) f##_row4
#include "cpu/isa_rows.h"
#define ROW row8
#define NAME(f) f##_row8
#include "cpu/isa_rows.h"

ALWAYS void place_block(const mesh_frame *frame, const double (*x)[3], const double *charge, mesh_block *block,
                        int32_t range[2])
{
    double  at[3][MESH_BLOCK];
    int32_t cell[3][MESH_BLOCK], half = frame->n[0] / 2, low = range[0], high = range[1];

    for (int i = 0; i < MESH_BLOCK; i++)
        for (int k = 0; k < 3; k++) at[k][i] = x[i][k];
    for (int k = 0; k < 3; k++) {
        const double n = frame->n[k], a = frame->inv[0][k], b = frame->inv[1][k], c = frame->inv[2][k];

        for (int i = 0; i < MESH_BLOCK; i++) {
            double u = at[0][i] * a + at[1][i] * b + at[2][i] * c;

            u = (u - floor(u)) * n;
            u = u > 0 ? u : 0; // NaN too, so that bad positions stay inside
            u = u < n ? u : n; // infinite ones
            int32_t whole = (int32_t)u;
            whole = whole < frame->n[k] ? whole : frame->n[k] - 1; // u = n by rounding: the end of the last cell
            cell[k][i] = whole;
            block->y[k][i] = (float)(u - whole - 0.5);
        }
    }
    for (int i = 0; i < MESH_BLOCK; i++) {
        int32_t way = cell[0][i] - frame->centre;

        way += way < -half ? frame->n[0] : 0;
        way -= way >= frame->n[0] - half ? frame->n[0] : 0;
        low = way < low ? way : low;
        high = way > high ? way : high;
        block->start[i] = cell[0][i] * frame->plane + cell[1][i] * frame->row + cell[2][i];
        block->q[i] = (float)charge[i];
    }
    range[0] = low;
    range[1] = high;
}

static void place(const mesh_frame *frame, int32_t n, const double (*x)[3], const double *charge, mesh_block *block,
                  int32_t range[2])
{
    double  x_end[MESH_BLOCK][3], charge_end[MESH_BLOCK] = {0};
    int32_t s, i;

    for (s = 0; s + MESH_BLOCK <= n; s += MESH_BLOCK) place_block(frame, x + s, charge + s, block++, range);
    if (s == n) return;
    for (i = 0; i < MESH_BLOCK; i++) memcpy(x_end[i], x[s + i < n ? s + i : s], sizeof x_end[i]);
    memcpy(charge_end, charge + s, (size_t)(n - s) * sizeof *charge_end);
    place_block(frame, (const double(*)[3])x_end, charge_end, block, range);
}

static void polynomial(const double *c, int degree, const double *x, double *value)
{
    double sum[EXCLUDED_BLOCK], at[EXCLUDED_BLOCK];

    for (int i = 0; i < EXCLUDED_BLOCK; i++) sum[i] = c[degree];
    for (int i = 0; i < EXCLUDED_BLOCK; i++) at[i] = x[i];
    while (degree-- > 0)
        for (int i = 0; i < EXCLUDED_BLOCK; i++) sum[i] = sum[i] * at[i] + c[degree];
    for (int i = 0; i < EXCLUDED_BLOCK; i++) value[i] = sum[i];
}

#define FLAVOUR(order, width)                                                                                \
    static void spread_##order(const mesh_job *job)                                                          \
    {                                                                                                        \
        spread_##width(job, order);                                                                          \
    }                                                                                                        \
    static void gather_##order(const mesh_job *job)                                                          \
    {                                                                                                        \
        gather_##width(job, order);                                                                          \
    }

FLAVOUR(4, row4)
FLAVOUR(5, row8)
FLAVOUR(6, row8)
FLAVOUR(7, row8)
FLAVOUR(8, row8)

extern const isa_mesh MDS_ISA_NAME(mds_isa_mesh);
const isa_mesh        MDS_ISA_NAME(mds_isa_mesh) = {
           .place = place,
           .polynomial = polynomial,
           .spread = {0, 0, 0, 0, spread_4, spread_5, spread_6, spread_7, spread_8},
           .gather = {0, 0, 0, 0, gather_4, gather_5, gather_6, gather_7, gather_8},
};
