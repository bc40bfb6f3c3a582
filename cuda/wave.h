// SPDX-License-Identifier: Apache-2.0
// One wave of the mesh: its vector, its influence factor, its terms of energy and virial. For the kernels of solve.cu and fft.cu.
#ifndef MDS_CUDA_WAVE_H
#define MDS_CUDA_WAVE_H

#include "mesh.h"

#include "base/units.h"

enum { WAVE_SUMS = 7 }; // energy; xx, xy, xz, yy, yz, zz of sum E_K (K ghat'/ghat - 2) K K/K^2

/// Of a box, in shared memory.
typedef struct {
    float vector[6]; // 2 pi times the inverse: 00, 10, 11, 20, 21, 22
    float green;     // 4 pi/V times the charge of a unit of the mesh
} mesh_box;

/// The box, by the first threads of a block; a barrier must follow.
static __device__ __forceinline__ void wave_box(const gpu_control *c, double unit, mesh_box *box)
{
    const int t = (int)threadIdx.x, row = t < 1 ? 0 : t < 3 ? 1 : 2;

    if (t < 6) box->vector[t] = (float)(2 * MDS_PI * c->inverse[row][t - row * (row + 1) / 2]);
    if (t == 6) box->green = (float)(4 * MDS_PI / mds_box_volume(&c->box) * unit);
}

static __device__ __forceinline__ float wave_cubic(const float4 *table, float at, int cells)
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
    w.factor = w.green * wave_cubic(m->spectrum, w.at, m->cells);
    return w;
}

/// Terms of a wave with the square s2 of its amplitude.
static __device__ __forceinline__ void wave_terms(const mesh_view *m, const mesh_wave *w, float s2, float sum[WAVE_SUMS])
{
    const float energy = s2 * w->factor;
    const float part = w->k2 > 0 ? (s2 * w->green * wave_cubic(m->slope, w->at, m->cells) - 2 * energy) / w->k2 : 0.0f;

    sum[0] += energy;
    sum[1] += part * w->k[0] * w->k[0];
    sum[2] += part * w->k[0] * w->k[1];
    sum[3] += part * w->k[0] * w->k[2];
    sum[4] += part * w->k[1] * w->k[1];
    sum[5] += part * w->k[1] * w->k[2];
    sum[6] += part * w->k[2] * w->k[2];
}

/// Sums of all threads of a block, in units of the mesh, into those of the step.
template <int THREADS> static __device__ __forceinline__ void wave_sums(gpu_control *c, const float sum[WAVE_SUMS], double unit)
{
    GPU_SHARED(double, of_warp, [THREADS / GPU_WARP][WAVE_SUMS]);
    const int t = (int)threadIdx.x;

    for (int s = 0; s < WAVE_SUMS; s++) {
        const double all = gpu_sum_warp((double)sum[s]);

        if (t % GPU_WARP == 0) of_warp[t / GPU_WARP][s] = all;
    }
    __syncthreads();
    if (t > 9) return;
    // thread 9: energy; others: a component of the virial
    const int k = t / 3, l = t % 3, low = k < l ? k : l, s = t == 9 ? 0 : 1 + k + l + (low ? 1 : 0);
    double    energy = 0, part = 0;

    for (int w = 0; w < THREADS / GPU_WARP && w * GPU_WARP < (int)blockDim.x; w++) {
        energy += of_warp[w][0];
        part += of_warp[w][s];
    }
    if (t == 9) gpu_add_sum(c, GPU_ENERGY + MDS_EN_RECIP, unit * energy);
    else gpu_add_sum(c, GPU_VIRIAL + t, -0.5 * unit * (part + (k == l ? energy : 0)));
}

/// The uniform background of a net charge, by one thread of all.
static __device__ __forceinline__ void wave_background(gpu_control *c, const mesh_view *m)
{
    const double energy = m->background / mds_box_volume(&c->box);

    gpu_add_sum(c, GPU_ENERGY + MDS_EN_RECIP, energy);
    for (int k = 0; k < 3; k++) gpu_add_sum(c, GPU_VIRIAL + 4 * k, -0.5 * energy);
}

#endif
