// SPDX-License-Identifier: Apache-2.0
// Sums of doubles that come out the same whatever order blocks and threads run in.
//
// Three levels, each in an order fixed by the numbers of blocks and threads alone. In a warp: lanes at distances 16, 8, 4, 2, 1, a
// tree in which every lane ends with the same sum; where there are many sums, through shared memory, which takes a fifth of the
// instructions. In a block: its warps in order. In a grid: every block leaves a row of partial sums, and the block that happens to
// come last adds all rows up, so no second kernel is needed. Which block that is does not matter: the rows and their order are the
// same.
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

/// The same for many columns: each thread has put its own numbers into part[column][thread] (shared, [n][blockDim.x]); threads then take
/// 32 of them each, lanes starting at different ones so that they do not wait for each other's bank.
static __device__ __forceinline__ void gpu_end_row_of_threads(double *part, int n, double *row)
{
    const int warps = (int)blockDim.x / GPU_WARP, lane = (int)threadIdx.x % GPU_WARP;
    int       k, w, l;

    __syncthreads();
    for (k = (int)threadIdx.x; k < n * warps; k += (int)blockDim.x) {
        double sum = 0;

        for (l = 0; l < GPU_WARP; l++) sum += part[k * GPU_WARP + (l + lane) % GPU_WARP];
        part[k * GPU_WARP] = sum; // nobody else reads these 32
    }
    __syncthreads();
    for (k = (int)threadIdx.x; k < n; k += (int)blockDim.x) {
        double sum = 0;

        for (w = 0; w < warps; w++) sum += part[(k * warps + w) * GPU_WARP];
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

/// The last block adds up columns [0, n) of n_rows rows of `width` numbers, those from first_max on being maxima, into total (shared,
/// [n]): a warp a column. Ends with a barrier.
static __device__ __forceinline__ void gpu_sum_rows(const double *rows, int n_rows, int width, int n, int first_max, double *total)
{
    const int lane = (int)threadIdx.x % GPU_WARP;
    int       k, r, distance;

    for (k = (int)threadIdx.x / GPU_WARP; k < n; k += (int)blockDim.x / GPU_WARP) {
        double sum = 0;

        for (r = lane; r < n_rows; r += GPU_WARP) {
            const double v = rows[(size_t)r * (size_t)width + (size_t)k];

            sum = k < first_max ? sum + v : fmax(sum, v);
        }
        for (distance = GPU_WARP / 2; distance > 0; distance /= 2) {
            const double other = __shfl_xor_sync(GPU_ALL, sum, distance);

            sum = k < first_max ? sum + other : fmax(sum, other);
        }
        if (lane == 0) total[k] = sum;
    }
    __syncthreads();
}

#endif
