// SPDX-License-Identifier: Apache-2.0
// Charges onto the mesh, in 32-bit fixed point: integer sums do not depend on their order, so bits do not depend on the schedule.
//
// A block of 128 threads takes the 32 atoms of a block of slots, which lie close together. First three warps make the weights, a
// thread an atom and direction, and put them with the wrapped offset of their point into shared memory (26 to 50 words an atom). Then the
// 32 order^2 columns of points that are one (y, z) each are dealt out to the threads, z fastest: no lane is idle at any order, and
// the 32 atomics of a warp fall into runs of `order` neighbouring words, at order 4 eight runs of 16 bytes. A thread follows its
// column along x: order additions, of each two words of shared memory, a product, a conversion. Nothing is read back.
// Per atom: order^3 atomics, 32 bytes read.
//
// Scale: the largest power of two (times the weights' common factor) at which eight times the largest charge on one point would fit
// and a charge has at most 2^26 units. One point gets at most 0.3 of a charge (order 4); where more than half the range is
// used nevertheless, convert reports a fault.
#include "mesh.h"

/// A point's weight in one direction, and its share of the index.
typedef struct __align__(8) {
    float    weight;
    unsigned offset;
} mesh_point;

template <int ORDER> static __global__ __launch_bounds__(MESH_THREADS) void k_spread(gpu_view p, mesh_view m)
{
    enum { COLUMNS = ORDER * ORDER, ROW = (3 * ORDER) | 1 }; // an odd number of pairs of words: writers meet different banks
    GPU_SHARED(mesh_point, point, [GPU_BLOCK][ROW]);
    const int t = (int)threadIdx.x, atom = t % GPU_WARP, k = t / GPU_WARP, slot = (int)blockIdx.x * GPU_BLOCK + atom;

    if (p.control->tripped) return;
    if (k < 3) {
        float       w, theta[ORDER], slope[ORDER];
        const int   cell = mesh_cell(&m, &p.fraction[slot], k, &w) - (ORDER - 1);
        const int   n = mesh_pick(k, m.n[0], m.n[1], m.n[2]), stride = mesh_pick(k, m.n[1] * m.n[2], m.n[2], 1);
        const float q = k == 2 ? p.xq[slot].w * m.scale : 1.0f;

        mesh_weights<ORDER>(w, theta, slope);
        for (int j = 0; j < ORDER; j++) {
            const int at = cell + j;

            point[atom][k * ORDER + j] = mesh_point{q * theta[j], (unsigned)((at < 0 ? at + n : at) * stride)};
        }
    }
    __syncthreads();
    for (unsigned c = threadIdx.x; c < GPU_BLOCK * COLUMNS; c += MESH_THREADS) { // unsigned: divisions are a shift or a product
        const mesh_point *here = point[c / COLUMNS];
        const mesh_point  y = here[ORDER + c % COLUMNS / ORDER], z = here[2 * ORDER + c % ORDER];
        const float       qyz = y.weight * z.weight;
        const unsigned    yz = y.offset + z.offset;

        if (qyz == 0) continue; // padding, atoms without charge
        for (int j = 0; j < ORDER; j++) atomicAdd(&m.charge[yz + here[j].offset], __float2int_rn(qyz * here[j].weight));
    }
}

/// Four points a thread: 16 bytes read, 32 written.
static __global__ void k_convert(gpu_control *c, int4 *charge, float4 *real, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), half = 1 << 30;

    if (c->tripped || i >= n) return;
    const int4 q = charge[i];
    real[i] = make_float4((float)q.x, (float)q.y, (float)q.z, (float)q.w);
    charge[i] = make_int4(0, 0, 0, 0);
    if (max(max(q.x, q.y), max(q.z, q.w)) > half || min(min(q.x, q.y), min(q.z, q.w)) < -half) gpu_fault(c, MDS_FAULT_RANGE, GPU_NO_ATOM);
}

mds_status GPU_NAME(mesh_spread)(mds_device *d)
{
    MESH_LAUNCH(k_spread, d, d->mesh_stream, d->view, d->mesh->view);
    return MDS_OK;
}

mds_status GPU_NAME(mesh_convert)(mds_device *d)
{
    const mesh_view *m = &d->mesh->view;
    const int        n = (m->n[0] * m->n[1] * m->n[2] + 3) / 4;

    GPU_LAUNCH(k_convert, (unsigned)(n + MESH_THREADS - 1) / MESH_THREADS, MESH_THREADS, 0, d->mesh_stream, d->view.control,
               (int4 *)m->charge, (float4 *)m->real, n);
    return MDS_OK;
}
