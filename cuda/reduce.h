// SPDX-License-Identifier: Apache-2.0
// Sums of doubles that come out the same whatever order blocks and threads run in.
//
// Three levels, each in an order fixed by the numbers of blocks and threads alone. In a warp: lanes at distances 16, 8, 4, 2, 1, a
// tree in which every lane ends with the same sum. In a block: its warps in order. In a grid: every block leaves a row of partial
// sums, and the block that happens to come last adds all rows up, so no second kernel is needed. Which block that is does not
// matter: the rows and their order are the same.
//
// The counter of blocks that have come is put back to zero by the last one, ready for the next kernel of the stream (and for a
// replay of a recorded graph). Every block of the grid must come, or none.
#ifndef MDS_CUDA_REDUCE_H
#define MDS_CUDA_REDUCE_H

#include "gpu.h"

enum { GPU_MAX_WARPS = 8 }; // a block that sums

/// Sum over the block, the same in every thread. `part` is shared, [GPU_MAX_WARPS]. Also a barrier: what threads wrote before it, all
/// threads see after it.
static __device__ __forceinline__ double gpu_sum_block(double v, double *part)
{
    const int warp = (int)threadIdx.x / GPU_WARP, n = (int)blockDim.x / GPU_WARP;
    double    sum;
    int       k;

    v = gpu_sum_warp(v);
    __syncthreads(); // the sum before this one has been read
    if (threadIdx.x % GPU_WARP == 0) part[warp] = v;
    __syncthreads();
    for (sum = part[0], k = 1; k < n; k++) sum += part[k];
    return sum;
}

/// Largest of the block's numbers, none of which is NaN; likewise.
static __device__ __forceinline__ double gpu_max_block(double v, double *part)
{
    const int warp = (int)threadIdx.x / GPU_WARP, n = (int)blockDim.x / GPU_WARP;
    int       k;

    for (k = GPU_WARP / 2; k > 0; k /= 2) v = fmax(v, __shfl_xor_sync(GPU_ALL, v, k));
    __syncthreads();
    if (threadIdx.x % GPU_WARP == 0) part[warp] = v;
    __syncthreads();
    for (k = 0; k < n; k++) v = fmax(v, part[k]);
    return v;
}

/// Column k of the block's row: the warp's sum of v into part[k][warp]; part is shared, [columns][GPU_MAX_WARPS].
static __device__ __forceinline__ void gpu_put_sum(double *part, int k, double v)
{
    v = gpu_sum_warp(v);
    if (threadIdx.x % GPU_WARP == 0) part[k * GPU_MAX_WARPS + (int)threadIdx.x / GPU_WARP] = v;
}

/// The same for a maximum.
static __device__ __forceinline__ void gpu_put_max(double *part, int k, double v)
{
    int distance;

    for (distance = GPU_WARP / 2; distance > 0; distance /= 2) v = fmax(v, __shfl_xor_sync(GPU_ALL, v, distance));
    if (threadIdx.x % GPU_WARP == 0) part[k * GPU_MAX_WARPS + (int)threadIdx.x / GPU_WARP] = v;
}

/// Ends the block's row: columns [0, n), of which those from first_max on are maxima, from shared part to row[n].
static __device__ __forceinline__ void gpu_end_row(const double *part, int n, int first_max, double *row)
{
    const int warps = (int)blockDim.x / GPU_WARP;
    int       k, w;

    __syncthreads();
    for (k = (int)threadIdx.x; k < n; k += (int)blockDim.x) {
        double sum = part[k * GPU_MAX_WARPS];

        for (w = 1; w < warps; w++) {
            const double other = part[k * GPU_MAX_WARPS + w];

            sum = k < first_max ? sum + other : fmax(sum, other);
        }
        row[k] = sum;
    }
}

/// True, in all its threads, in the block that comes last of the grid; it sees what all others have written. All threads of all blocks
/// must call it.
static __device__ __forceinline__ bool gpu_is_last_block(unsigned *counter)
{
    GPU_SHARED(int, last, [1]);

    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last[0] = atomicAdd(counter, 1u) == gridDim.x - 1;
        if (last[0]) atomicExch(counter, 0u);
    }
    __syncthreads();
    if (last[0]) __threadfence();
    return last[0] != 0;
}

/// The last block adds up column k of n_rows rows of `width` numbers; the same in every thread. part: as in gpu_sum_block.
static __device__ __forceinline__ double gpu_sum_rows(const double *rows, int n_rows, int width, int k, double *part)
{
    double sum = 0;
    int    r;

    for (r = (int)threadIdx.x; r < n_rows; r += (int)blockDim.x) sum += rows[(size_t)r * (size_t)width + (size_t)k];
    return gpu_sum_block(sum, part);
}

static __device__ __forceinline__ double gpu_max_rows(const double *rows, int n_rows, int width, int k, double *part)
{
    double most = 0;
    int    r;

    for (r = (int)threadIdx.x; r < n_rows; r += (int)blockDim.x) most = fmax(most, rows[(size_t)r * (size_t)width + (size_t)k]);
    return gpu_max_block(most, part);
}

#endif
