// SPDX-License-Identifier: Apache-2.0
// Forces from the potential on the mesh, by the derivatives of the weights: exact derivatives of the mesh's energy.
//
// Blocks and columns are those of spread.cu: 128 threads for 32 atoms, a column of points (y, z) of one atom a thread. Along its
// column a thread sums theta_x phi and theta_x' phi, two multiply-adds a point; the weights of y and z come in once at its end.
// The column's three sums go to shared memory, where a thread an atom and direction adds the order^2 of them in their order (a
// third of the instructions that shuffles would take, and the same bits on every schedule) and puts them, one atomic a component,
// to the sums of forces. Neighbouring lanes hold neighbouring slots there.
// Per atom: order^3 reads of 4 bytes that neighbours share, 32 bytes of its own, 3 atomics of 8 bytes.
#include "mesh.h"

template <int ORDER> static __global__ __launch_bounds__(MESH_THREADS) void k_gather(gpu_view p, mesh_view m, int times)
{
    enum { COLUMNS = ORDER * ORDER, ROW = (3 * ORDER) | 1, PART = COLUMNS | 1 }; // odd: no two lanes in one bank
    GPU_SHARED(float2, weight, [GPU_BLOCK][ROW]); // theta and theta'
    GPU_SHARED(unsigned, offset, [GPU_BLOCK][ROW]);
    GPU_SHARED(float, part, [3][GPU_BLOCK][PART]); // -dE/du of a column
    GPU_SHARED(float, slope, [3][GPU_BLOCK]);      // and of an atom
    GPU_SHARED(float, inverse, [3][3]);
    const int t = (int)threadIdx.x, atom = t % GPU_WARP, k = t / GPU_WARP, slot = (int)blockIdx.x * GPU_BLOCK + atom;

    if (p.control->tripped) return;
    if (k < 3) {
        float       w, theta[ORDER], rise[ORDER];
        const int   cell = mesh_cell(&m, &p.fraction[slot], k, &w) - (ORDER - 1);
        const int   n = mesh_pick(k, m.n[0], m.n[1], m.n[2]), stride = mesh_pick(k, m.n[1] * m.n[2], m.n[2], 1);
        const float q = k == 2 ? -p.xq[slot].w : 1.0f;

        mesh_weights<ORDER>(w, theta, rise);
        for (int j = 0; j < ORDER; j++) {
            const int at = cell + j;

            weight[atom][k * ORDER + j] = make_float2(q * theta[j], q * rise[j]);
            offset[atom][k * ORDER + j] = (unsigned)((at < 0 ? at + n : at) * stride);
        }
    } else if (atom < 9) {
        const int row = atom / 3, l = atom % 3;

        inverse[row][l] = (float)(p.control->inverse[row][l] * m.norm * mesh_pick(l, m.n[0], m.n[1], m.n[2]));
    }
    __syncthreads();
    for (unsigned c = threadIdx.x; c < GPU_BLOCK * COLUMNS; c += MESH_THREADS) {
        const unsigned of = c / COLUMNS, column = c % COLUMNS, y = ORDER + column / ORDER, z = 2 * ORDER + c % ORDER;
        const float2  *here = weight[of], wy = here[y], wz = here[z];
        const unsigned yz = offset[of][y] + offset[of][z];
        float          sum = 0, rise = 0;

        for (int j = 0; j < ORDER; j++) {
            const float phi = __ldg(&m.real[yz + offset[of][j]]);

            sum += here[j].x * phi;
            rise += here[j].y * phi;
        }
        part[0][of][column] = rise * (wy.x * wz.x);
        part[1][of][column] = sum * (wy.y * wz.x);
        part[2][of][column] = sum * (wy.x * wz.y);
    }
    __syncthreads();
    if (k < 3) {
        float sum = 0;

        for (int column = 0; column < COLUMNS; column++) sum += part[k][atom][column];
        slope[k][atom] = sum;
    }
    __syncthreads();
    if (k < 3 && p.xq[slot].w != 0) { // the inverse of a lower triangular box is lower triangular
        float f = slope[0][atom] * inverse[k][0];

        if (k > 0) f += slope[1][atom] * inverse[k][1];
        if (k > 1) f += slope[2][atom] * inverse[k][2];
        gpu_add_force_times(&p, slot, k, f, times);
    }
}

mds_status GPU_NAME(mesh_gather)(mds_device *d, int times, cudaStream_t stream)
{
    MESH_LAUNCH(k_gather, d, stream, d->view, d->mesh->view, times);
    return MDS_OK;
}
