// SPDX-License-Identifier: Apache-2.0
// Waves of the mesh: influence factors, energy, virial. Formulas: docs/theory/mesh.md; conventions as in src/cpu/mesh_solve.c.
//
// A thread a wave, blocks of 128 along the waves (m1, m2) of one m0. The factor f/V 4 pi/K^2 ghat(K) |b0 b1 b2|^2 is made here
// and now from the box in gpu_control, so it follows a barostat: three products a component of K, a square root, a cubic from a table
// that the first-level cache holds. Everything of a wave is float; sums over a block are double, in fixed order, and go to
// the sums of the step once a block. Bytes: a wave is read and written, 16; flops: some 40, 60 more when sums are due.
//
// The half m2 >= 0 of the waves is kept. At m = n/2 the sign is a matter of choice and in a skewed box changes |K|: m = n/2 goes to
// -n/2 in the first two directions, to n/2 in the third. Where a wave and its opposite are both in the half (m2 = 0 or n2/2)
// both get the mean of their factors: what comes back is real, whatever the inverse transform makes of these planes.
#include "mesh.h"

#include "base/units.h"

enum { SUMS = 7 }; // energy; xx, xy, xz, yy, yz, zz of sum E_K (K ghat'/ghat - 2) K K/K^2

/// Of a box, in shared memory.
typedef struct {
    float vector[6]; // 2 pi times the inverse: 00, 10, 11, 20, 21, 22
    float green;     // 4 pi/V times the charge of a unit of the mesh
} mesh_box;

static __device__ __forceinline__ float cubic(const float4 *table, float at, int cells)
{
    const int    i = min((int)at, cells - 1);
    const float  s = fminf(at - (float)i, 1.0f); // beyond the table its last value: of the order of the split's own error
    const float4 c = __ldg(table + i);

    return fmaf(fmaf(fmaf(c.w, s, c.z), s, c.y), s, c.x);
}

/// A wave vector, and its factor without the moduli.
typedef struct {
    float k[3], k2, at, green, factor;
} mesh_wave;

static __device__ __forceinline__ mesh_wave wave_of(const mesh_view *m, const mesh_box *box, int i, int j, int l)
{
    const float x = (float)i, y = (float)j, z = (float)l;
    mesh_wave   w;

    w.k[0] = box->vector[0] * x;
    w.k[1] = fmaf(box->vector[1], x, box->vector[2] * y);
    w.k[2] = fmaf(box->vector[3], x, fmaf(box->vector[4], y, box->vector[5] * z));
    w.k2 = fmaf(w.k[0], w.k[0], fmaf(w.k[1], w.k[1], w.k[2] * w.k[2]));
    w.green = w.k2 > 0 ? box->green / w.k2 : 0.0f;
    w.at = sqrtf(w.k2) * m->rate;
    w.factor = w.green * cubic(m->spectrum, w.at, m->cells);
    return w;
}

/// Terms of a wave with the square s2 of its amplitude.
static __device__ __forceinline__ void add_terms(const mesh_view *m, const mesh_wave *w, float s2, float sum[SUMS])
{
    const float energy = s2 * w->factor;
    const float part = w->k2 > 0 ? (s2 * w->green * cubic(m->slope, w->at, m->cells) - 2 * energy) / w->k2 : 0.0f;

    sum[0] += energy;
    sum[1] += part * w->k[0] * w->k[0];
    sum[2] += part * w->k[0] * w->k[1];
    sum[3] += part * w->k[0] * w->k[2];
    sum[4] += part * w->k[1] * w->k[1];
    sum[5] += part * w->k[1] * w->k[2];
    sum[6] += part * w->k[2] * w->k[2];
}

/// Sums of all threads of a block, in units of the mesh, into those of the step.
static __device__ __forceinline__ void add_sums(gpu_control *c, const float sum[SUMS], double unit)
{
    GPU_SHARED(double, of_warp, [MESH_THREADS / GPU_WARP][SUMS]);
    const int t = (int)threadIdx.x;

    for (int s = 0; s < SUMS; s++) {
        const double all = gpu_sum_warp((double)sum[s]);

        if (t % GPU_WARP == 0) of_warp[t / GPU_WARP][s] = all;
    }
    __syncthreads();
    if (t > 9) return;
    // thread 9: energy; others: a component of the virial
    const int k = t / 3, l = t % 3, low = k < l ? k : l, s = t == 9 ? 0 : 1 + k + l + (low ? 1 : 0);
    double    energy = 0, part = 0;

    for (int w = 0; w < MESH_THREADS / GPU_WARP; w++) {
        energy += of_warp[w][0];
        part += of_warp[w][s];
    }
    if (t == 9) gpu_add_sum(c, GPU_ENERGY + MDS_EN_RECIP, unit * energy);
    else gpu_add_sum(c, GPU_VIRIAL + t, -0.5 * unit * (part + (k == l ? energy : 0)));
}

static __global__ __launch_bounds__(MESH_THREADS) void k_solve(gpu_control *c, mesh_view m, int due)
{
    GPU_SHARED(mesh_box, box, [1]);
    const int t = (int)threadIdx.x, at = (int)blockIdx.x * MESH_THREADS + t, i = (int)blockIdx.y;
    float     sum[SUMS] = {0, 0, 0, 0, 0, 0, 0};

    if (c->tripped) return;
    if (t < 6) {
        const int row = t < 1 ? 0 : t < 3 ? 1 : 2;

        box->vector[t] = (float)(2 * MDS_PI * c->inverse[row][t - row * (row + 1) / 2]);
    }
    if (t == 6) box->green = (float)(4 * MDS_PI / mds_box_volume(&c->box) * m.unit);
    __syncthreads();
    if (at < m.n[1] * m.half) {
        const int    j = (int)__umulhi((unsigned)at, m.magic), l = at - j * m.half;
        const bool   both = l == 0 || 2 * l == m.n[2];
        const float  b2 = m.moduli[0][i] * m.moduli[1][j] * m.moduli[2][l];
        const int    fi = 2 * i < m.n[0] ? i : i - m.n[0], fj = 2 * j < m.n[1] ? j : j - m.n[1];
        float2      *here = m.wave + ((size_t)i * (size_t)(m.n[1] * m.half) + (size_t)at);
        const float2 s = *here;
        float        s2 = b2 * fmaf(s.x, s.x, s.y * s.y);
        mesh_wave    w = wave_of(&m, box, fi, fj, l);
        float        factor = w.factor;

        if (both) {
            const mesh_wave opposite = wave_of(&m, box, 2 * i == m.n[0] ? fi : -fi, 2 * j == m.n[1] ? fj : -fj, l);

            factor = 0.5f * (factor + opposite.factor);
            s2 *= 0.25f; // half of a wave for each image, and its opposite comes too
            if (due) add_terms(&m, &opposite, s2, sum);
        }
        if (due) add_terms(&m, &w, s2, sum);
        factor *= b2;
        *here = make_float2(s.x * factor, s.y * factor);
    }
    if (!due) return;
    if (t == 0 && blockIdx.x == 0 && i == 0) { // the uniform background of a net charge
        const double energy = m.background / mds_box_volume(&c->box);

        gpu_add_sum(c, GPU_ENERGY + MDS_EN_RECIP, energy);
        for (int k = 0; k < 3; k++) gpu_add_sum(c, GPU_VIRIAL + 4 * k, -0.5 * energy);
    }
    add_sums(c, sum, m.unit);
}

mds_status GPU_NAME(mesh_solve)(mds_device *d, mds_work work)
{
    const mesh_view *m = &d->mesh->view;
    const dim3       grid((unsigned)(m->n[1] * m->half + MESH_THREADS - 1) / MESH_THREADS, (unsigned)m->n[0]);

    GPU_LAUNCH(k_solve, grid, MESH_THREADS, 0, d->mesh_stream, d->view.control, *m, (work & (MDS_ENERGY | MDS_VIRIAL)) != 0);
    return MDS_OK;
}
