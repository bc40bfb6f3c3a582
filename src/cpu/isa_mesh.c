// SPDX-License-Identifier: Apache-2.0
// Spread and gather, compiled once per ISA level.
//
// The weights of one atom along one direction are a vector over its `order` points, each a polynomial in y =
// w - 1/2: Horner's rule on vectors, with no recursion and no transposition. Along z that vector meets a row
// of the mesh directly (4 or 8 floats); along x and y its elements are broadcast.
//   spread: v_b = q theta_y[b] theta_z once per b, then row(a,b) += theta_x[a] v_b: 16 loads, FMAs and stores
//   at order 4 gather: per a, sums over b of theta_y row and theta_y' row, then three FMAs: 44 FMAs at order
//   4, three sums at the end
// Orders 5 to 8 use vectors of 8 floats of which the last weights are 0; rows are padded so that the extra
// floats exist. Loops have constant lengths and are unrolled, so that vectors stay in registers and elements
// are picked by constants.
#include "cpu/isa.h"
#include "cpu/isa_mesh.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

enum { LANES = 8 };

typedef float row4 __attribute__((vector_size(16), may_alias));
typedef float row8 __attribute__((vector_size(32), may_alias));

#define ROW row4
#define NAME(f) f##_row4
#include "cpu/isa_rows.h"
#define ROW row8
#define NAME(f) f##_row8
#include "cpu/isa_rows.h"

static void place(const mesh_frame *frame, int32_t begin, int32_t end, const double (*x)[3],
                  const double *charge, int32_t *plane, int32_t *start, mesh_atom *atom)
{
    for (int32_t s = begin; s < end; s++) {
        int32_t cell[3];

        for (int k = 0; k < 3; k++) {
            const double n = frame->n[k];
            double u = x[s][0] * frame->inv[0][k] + x[s][1] * frame->inv[1][k] + x[s][2] * frame->inv[2][k];

            u -= n * floor(u / n);
            u = u > 0 ? u : 0; // rounding; and NaN, so that bad positions stay inside
            cell[k] = u < n ? (int32_t)u : frame->n[k] - 1; // u = n by rounding: the end of the last cell
            atom[s].y[k] = (float)(u - cell[k] - 0.5);
        }
        atom[s].q = (float)charge[s];
        plane[s] = cell[0];
        start[s] = cell[1] * frame->row + cell[2];
    }
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
