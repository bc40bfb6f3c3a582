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
#include "wave.h"

/// GEMM: waves lie as dft.cu makes them, [m1][m0][part][m2], and get the weight of both halves.
template <bool GEMM> static __global__ __launch_bounds__(MESH_THREADS, 4) void k_solve(gpu_control *c, mesh_view m, int due)
{
    GPU_SHARED(mesh_box, box, [1]);
    const int t = (int)threadIdx.x, at = (int)blockIdx.x * MESH_THREADS + t, i = (int)blockIdx.y;
    float     sum[WAVE_SUMS] = {0, 0, 0, 0, 0, 0, 0};

    if (c->tripped) return;
    wave_box(c, m.unit, box);
    __syncthreads();
    if (at < m.n[1] * m.half) {
        const int    j = (int)__umulhi((unsigned)at, m.magic), l = at - j * m.half;
        const bool   both = l == 0 || 2 * l == m.n[2];
        const float  b2 = m.moduli[0][i] * m.moduli[1][j] * m.moduli[2][l];
        const int    fi = 2 * i < m.n[0] ? i : i - m.n[0], fj = 2 * j < m.n[1] ? j : j - m.n[1];
        float2      *here = m.wave + ((size_t)i * (size_t)(m.n[1] * m.half) + (size_t)at);
        float       *apart = (float *)m.wave + ((size_t)(j * m.n[0] + i) * 2 * (size_t)m.half + (size_t)l);
        const float2 s = GEMM ? make_float2(apart[0], apart[m.half]) : *here;
        float        s2 = b2 * fmaf(s.x, s.x, s.y * s.y);
        mesh_wave    w = wave_of(&m, box, fi, fj, l);
        float        factor = w.factor;

        if (both) {
            const mesh_wave opposite = wave_of(&m, box, 2 * i == m.n[0] ? fi : -fi, 2 * j == m.n[1] ? fj : -fj, l);

            factor = 0.5f * (factor + opposite.factor);
            s2 *= 0.25f; // half of a wave for each image, and its opposite comes too
            if (due) wave_terms(&m, &opposite, s2, sum);
        }
        if (due) wave_terms(&m, &w, s2, sum);
        factor *= b2;
        if (GEMM) {
            factor *= both ? 1.0f : 2.0f;
            apart[0] = s.x * factor;
            apart[m.half] = s.y * factor;
        } else {
            *here = make_float2(s.x * factor, s.y * factor);
        }
    }
    if (!due) return;
    if (t == 0 && blockIdx.x == 0 && i == 0) wave_background(c, &m);
    wave_sums<MESH_THREADS>(c, sum, m.unit);
}

mds_status GPU_NAME(mesh_solve)(mds_device *d, mds_work work)
{
    const mesh_view *m = &d->mesh->view;
    const dim3       grid((unsigned)(m->n[1] * m->half + MESH_THREADS - 1) / MESH_THREADS, (unsigned)m->n[0]);

    const int        due = (work & (MDS_ENERGY | MDS_VIRIAL)) != 0;

    if (d->mesh->way == MESH_GEMM) GPU_LAUNCH(k_solve<true>, grid, MESH_THREADS, 0, d->mesh_stream, d->view.control, *m, due);
    else GPU_LAUNCH(k_solve<false>, grid, MESH_THREADS, 0, d->mesh_stream, d->view.control, *m, due);
    return MDS_OK;
}
