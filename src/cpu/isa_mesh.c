// SPDX-License-Identifier: Apache-2.0
// Spread and gather, compiled once per ISA level (ISA_TABLE is the name of the table).
//
// The weights of one atom along one direction are a vector over its `order` points, each a polynomial in y = w - 1/2: Horner's
// rule on vectors, with no recursion and no transposition. Along z that vector meets a row of the mesh directly (4 or 8
// floats); along x and y its elements are broadcast.
//   spread: v_b = q theta_y[b] theta_z once per b, then row(a,b) += theta_x[a] v_b: 16 loads, FMAs and stores at order 4
//   gather: per a, sums over b of theta_y row and theta_y' row, then three FMAs: 44 FMAs at order 4, three sums at the end
// Loops have constant lengths so that the compiler unrolls them and keeps vectors in registers; orders 5 to 8 use 8 floats
// of which the last weights are 0, and rows are padded so that the extra floats exist.
#include "cpu/isa_mesh.h"

#include <math.h>
#include <stddef.h>

#define ALWAYS static inline __attribute__((always_inline))

enum { LANES = 8 };

/// Vector width of a row at this order.
ALWAYS int width(int order)
{
    return order == 4 ? 4 : LANES;
}

ALWAYS void weights(const float *theta, int order, float y, float *restrict w)
{
    for (int k = 0; k < width(order); k++) w[k] = theta[(order - 1) * LANES + k];
    for (int j = order - 2; j >= 0; j--)
        for (int k = 0; k < width(order); k++) w[k] = w[k] * y + theta[j * LANES + k];
}

ALWAYS void slopes(const float *theta, int order, float y, float *restrict w)
{
    for (int k = 0; k < width(order); k++) w[k] = (float)(order - 1) * theta[(order - 1) * LANES + k];
    for (int j = order - 2; j >= 1; j--)
        for (int k = 0; k < width(order); k++) w[k] = w[k] * y + (float)j * theta[j * LANES + k];
}

ALWAYS void spread(const mesh_job *job, int order)
{
    const int       lanes = width(order);
    const ptrdiff_t row = job->row, plane = job->plane;

    for (int32_t i = 0; i < job->n; i++) {
        const mesh_atom atom = job->atom[i];
        float *restrict grid = job->slab + job->start[i];
        float           x[LANES], y[LANES], z[LANES], v[LANES][LANES];

        weights(job->theta, order, atom.y[0], x);
        weights(job->theta, order, atom.y[1], y);
        weights(job->theta, order, atom.y[2], z);
        for (int k = 0; k < lanes; k++) z[k] *= atom.q;
        for (int b = 0; b < order; b++)
            for (int k = 0; k < lanes; k++) v[b][k] = y[b] * z[k];
        for (int a = 0; a < order; a++)
            for (int b = 0; b < order; b++) {
                float *restrict line = grid + a * plane + b * row;

                for (int k = 0; k < lanes; k++) line[k] += x[a] * v[b][k];
            }
    }
}

ALWAYS void gather(const mesh_job *job, int order)
{
    const int       lanes = width(order);
    const ptrdiff_t row = job->row, plane = job->plane;

    for (int32_t i = 0; i < job->n; i++) {
        const mesh_atom    atom = job->atom[i];
        const float *const grid = job->slab + job->start[i];
        float              x[LANES], y[LANES], z[LANES], dx[LANES], dy[LANES], dz[LANES];
        float              fx[LANES] = { 0 }, fy[LANES] = { 0 }, fz[LANES] = { 0 };
        float              sum[3] = { 0, 0, 0 };

        weights(job->theta, order, atom.y[0], x);
        weights(job->theta, order, atom.y[1], y);
        weights(job->theta, order, atom.y[2], z);
        slopes(job->theta, order, atom.y[0], dx);
        slopes(job->theta, order, atom.y[1], dy);
        slopes(job->theta, order, atom.y[2], dz);
        for (int a = 0; a < order; a++) {
            float s[LANES] = { 0 }, d[LANES] = { 0 };

            for (int b = 0; b < order; b++) {
                const float *line = grid + a * plane + b * row;

                for (int k = 0; k < lanes; k++) s[k] += y[b] * line[k];
                for (int k = 0; k < lanes; k++) d[k] += dy[b] * line[k];
            }
            for (int k = 0; k < lanes; k++) fx[k] += dx[a] * s[k];
            for (int k = 0; k < lanes; k++) fy[k] += x[a] * d[k];
            for (int k = 0; k < lanes; k++) fz[k] += x[a] * s[k];
        }
        for (int k = 0; k < lanes; k++) {
            sum[0] += z[k] * fx[k];
            sum[1] += z[k] * fy[k];
            sum[2] += dz[k] * fz[k];
        }
        for (int k = 0; k < 3; k++) job->force[i][k] = -atom.q * sum[k];
    }
}

static void place(const mesh_frame *frame, int32_t begin, int32_t end, const double (*x)[3], const double *charge,
                  int32_t *plane, int32_t *start, mesh_atom *atom)
{
    for (int32_t s = begin; s < end; s++) {
        int32_t cell[3];

        for (int k = 0; k < 3; k++) {
            const double n = frame->n[k];
            double       u = x[s][0] * frame->inv[0][k] + x[s][1] * frame->inv[1][k] + x[s][2] * frame->inv[2][k];

            u -= n * floor(u / n);
            u = u > 0 ? u : 0;                                    // rounding; and NaN, so that bad positions stay inside
            cell[k] = u < n ? (int32_t)u : frame->n[k] - 1;       // u = n by rounding: the end of the last cell
            atom[s].y[k] = (float)(u - cell[k] - 0.5);
        }
        atom[s].q = (float)charge[s];
        plane[s] = cell[0];
        start[s] = cell[1] * frame->row + cell[2];
    }
}

#define FLAVOUR(order)                                                                                       \
    static void spread_##order(const mesh_job *job)                                                          \
    {                                                                                                        \
        spread(job, order);                                                                                  \
    }                                                                                                        \
    static void gather_##order(const mesh_job *job)                                                          \
    {                                                                                                        \
        gather(job, order);                                                                                  \
    }

FLAVOUR(4)
FLAVOUR(5)
FLAVOUR(6)
FLAVOUR(7)
FLAVOUR(8)

const isa_mesh ISA_TABLE = {
    .place = place,
    .spread = { 0, 0, 0, 0, spread_4, spread_5, spread_6, spread_7, spread_8 },
    .gather = { 0, 0, 0, 0, gather_4, gather_5, gather_6, gather_7, gather_8 },
};
