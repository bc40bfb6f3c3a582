// SPDX-License-Identifier: Apache-2.0
// Prefix sums of rows of counts, in three launches.
//
// A row is cut into parts of 2048. The first launch sums each part, the second makes of the parts' sums what comes before each part
// (one block a row, some 2048 x 256 counts a turn), the third sums again within each part and adds. Every count is read twice and
// written once: 12 bytes. No block waits for another one (no look-back), so it runs anywhere and in any order of blocks.
//
// Within a block of 256: eight consecutive counts a thread, a scan over the lanes of a warp in five shuffles, then over the eight warps
// through shared memory. Sums are 64 bits wide, so an overflow of the 31 that an index has is seen in the total.
#include "search.h"

enum { THREADS = 256, EACH = 8, PART = THREADS * EACH, WARPS = THREADS / GPU_WARP };

static_assert(WARPS <= GPU_WARP, "one lane a warp");

/// Sum of v over the threads of the block before this one; *all gets the sum over all. `shared` has WARPS + 1 places.
static __device__ long long before_in_block(long long v, long long *shared, long long *all)
{
    const int lane = (int)threadIdx.x % GPU_WARP, warp = (int)threadIdx.x / GPU_WARP;
    long long up = v;
    int       distance, k;

    for (distance = 1; distance < GPU_WARP; distance *= 2) {
        const long long other = __shfl_up_sync(GPU_ALL, up, (unsigned)distance);

        if (lane >= distance) up += other;
    }
    if (lane == GPU_WARP - 1) shared[warp] = up;
    __syncthreads();
    if (threadIdx.x == 0) {
        long long sum = 0;

        for (k = 0; k < WARPS; k++) {
            const long long mine = shared[k];

            shared[k] = sum;
            sum += mine;
        }
        shared[WARPS] = sum;
    }
    __syncthreads();
    const long long out = shared[warp] + up - v;
    *all = shared[WARPS];
    __syncthreads(); // before the next turn writes
    return out;
}

/// The counts of this thread; beyond n: 0.
static __device__ __forceinline__ void load(const int *row, size_t n, int own[EACH])
{
    const size_t first = (size_t)blockIdx.x * PART + threadIdx.x * EACH;
    int          k;

    for (k = 0; k < EACH; k++) own[k] = first + (size_t)k < n ? row[first + (size_t)k] : 0;
}

static __global__ void __launch_bounds__(THREADS) k_scan_parts(const int *data, size_t n, long long *part)
{
    GPU_SHARED(long long, shared, [WARPS + 1]);
    int       own[EACH], k;
    long long sum = 0, all;

    load(data + blockIdx.y * (n + 1), n, own);
    for (k = 0; k < EACH; k++) sum += own[k];
    (void)before_in_block(sum, shared, &all);
    if (threadIdx.x == 0) part[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = all;
}

static __global__ void __launch_bounds__(THREADS) k_scan_sums(long long *part, size_t n_parts, long long *total)
{
    GPU_SHARED(long long, shared, [WARPS + 1]);
    long long *row = part + blockIdx.x * n_parts;
    long long  sum = 0, all;
    size_t     first;

    for (first = 0; first < n_parts; first += THREADS) {
        const size_t    k = first + threadIdx.x;
        const long long mine = k < n_parts ? row[k] : 0, before = before_in_block(mine, shared, &all);

        if (k < n_parts) row[k] = sum + before;
        sum += all;
    }
    if (threadIdx.x == 0) total[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(THREADS) k_scan_apply(int *data, size_t n, const long long *part)
{
    GPU_SHARED(long long, shared, [WARPS + 1]);
    int         *row = data + blockIdx.y * (n + 1);
    const size_t first = (size_t)blockIdx.x * PART + threadIdx.x * EACH;
    int          own[EACH], k;
    long long    sum = 0, all;

    load(row, n, own);
    for (k = 0; k < EACH; k++) sum += own[k];
    sum = part[(size_t)blockIdx.y * gridDim.x + blockIdx.x] + before_in_block(sum, shared, &all);
    for (k = 0; k < EACH; k++) {
        if (first + (size_t)k <= n) row[first + (size_t)k] = (int)(sum & 0x7fffffff);
        sum += own[k];
    }
}

mds_status GPU_NAME(scan)(mds_device *d, gpu_scan *s, int *data, int rows, size_t n)
{
    const size_t n_parts = n / PART + 1; // the place at n is in the last one
    const dim3   grid((unsigned)n_parts, (unsigned)rows);

    MDS_TRY(gpu_room(&s->part, &s->part_room, n_parts * (size_t)rows));
    MDS_TRY(gpu_room(&s->total, &s->total_room, rows));
    GPU_LAUNCH(k_scan_parts, grid, THREADS, 0, d->stream, data, n, s->part);
    GPU_LAUNCH(k_scan_sums, (unsigned)rows, THREADS, 0, d->stream, s->part, n_parts, s->total);
    GPU_LAUNCH(k_scan_apply, grid, THREADS, 0, d->stream, data, n, s->part);
    return MDS_OK;
}

void GPU_NAME(scan_close)(gpu_scan *s)
{
    GPU_NAME(release)(s->part);
    GPU_NAME(release)(s->total);
    *s = gpu_scan{};
}
