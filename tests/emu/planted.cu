// SPDX-License-Identifier: Apache-2.0
// The checker checked: kernels with one planted fault each, and the same kernels without it.
//
//     planted CASE broken|right
// exits with 0 when the numbers are right, 1 when they are wrong, EMU_EXIT when the emulation refuses, and with a
// sanitizer's own status otherwise. planted.py runs every case both ways in every mode and knows what must catch what.
// The file is CUDA as well: nvcc compiles it.
#include "gpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { N = 128 };

static mds_status wrong(const char *what)
{
    printf("wrong: %s\n", what);
    exit(1);
}

// ------------------------------------------------------------------------------------------- order inside a block

/// out[i] = i' of the opposite thread, through shared memory.
static __global__ void k_reverse(int *out, int broken)
{
    GPU_SHARED(int, box, [N]);
    const int i = (int)threadIdx.x;

    box[i] = 3 * i;
    if (!broken) __syncthreads();
    out[i] = box[N - 1 - i];
}

/// A second round overwrites what others have still to read.
static __global__ void k_rounds(int *out, int broken)
{
    GPU_SHARED(int, box, [N]);
    const int i = (int)threadIdx.x;
    int       round, sum = 0;

    for (round = 0; round < 3; round++) {
        box[i] = round * N + i;
        __syncthreads();
        sum += box[(i + 17) % N] - round * N;
        if (!broken) __syncthreads();
    }
    out[i] = sum / 3;
}

/// Neighbours in a warp exchange through shared memory.
static __global__ void k_warp_box(int *out, int broken)
{
    GPU_SHARED(int, box, [N]);
    const int i = (int)threadIdx.x;

    box[i] = 3 * i;
    if (!broken) __syncwarp();
    out[i] = box[i ^ 1];
}

/// A shuffle between write and read orders registers, not memory.
static __global__ void k_shuffle_fence(int *out, int broken)
{
    GPU_SHARED(int, box, [N]);
    const int i = (int)threadIdx.x;

    box[i] = 3 * i;
    const int other = __shfl_xor_sync(GPU_ALL, i, 1);
    if (!broken) __syncwarp();
    out[i] = box[other];
}

/// Shared memory that nobody has written.
static __global__ void k_unwritten(float *out, int broken)
{
    GPU_SHARED(float, box, [N]);
    const int i = (int)threadIdx.x;

    if (!broken || i != 5) box[i] = 1;
    __syncthreads();
    out[i] = box[i];
}

// ------------------------------------------------------------------------------------------------------- bounds

static __global__ void k_past_end(int *out, int broken)
{
    const int i = (int)threadIdx.x;

    out[i] = i;
    if (broken && i == N - 1) out[N] = 7;
}

static __global__ void k_past_shared(int *out, int broken)
{
    GPU_SHARED(int, box, [N]);
    const int i = (int)threadIdx.x;

    box[i] = i;
    if (broken && i == N - 1) box[N + (int)blockIdx.x] = 7;
    __syncthreads();
    out[i] = box[i];
}

static __global__ void k_large_local(int *out, int broken)
{
    volatile char room[100 * 1024];
    const int     size = broken ? (int)sizeof room : 1024;
    int           k, sum = 0;

    for (k = size - 1; k >= 0; k -= 512) room[k] = 1;
    for (k = size - 1; k >= 0; k -= 512) sum += room[k];
    out[threadIdx.x] = sum ? (int)threadIdx.x : -1;
}
static __global__ void k_small_local(int *out, int)
{
    out[threadIdx.x] = (int)threadIdx.x;
}

static __global__ void k_cast(int *out, const float *in, int broken)
{
    const int i = (int)threadIdx.x;

    out[i] = (int)(broken ? in[i] * 1e12f : in[i]);
}

// --------------------------------------------------------------------------------------------------- warp operations

static __global__ void k_branches(int *out, int broken)
{
    const int i = (int)threadIdx.x;
    int       v;

    if (!broken) {
        v = __shfl_xor_sync(GPU_ALL, i, 1);
    } else if (i % 2) {
        v = __shfl_xor_sync(GPU_ALL, i, 1);
    } else {
        v = __shfl_xor_sync(GPU_ALL, i, 1);
    }
    out[i] = v;
}

static __global__ void k_half(int *out, int broken)
{
    const int i = (int)threadIdx.x;

    out[i] = i ^ 1;
    if (i % 32 < 16) {
        const unsigned mask = broken ? GPU_ALL : 0x0000ffffu;

        out[i] = __shfl_xor_sync(mask, i, 1);
    }
}

static __global__ void k_early(int *out, int broken)
{
    const int i = (int)threadIdx.x;

    out[i] = i ^ 1;
    if (broken && i % 32 == 9) return;
    out[i] = __shfl_xor_sync(GPU_ALL, i, 1);
}

static __global__ void k_source(int *out, int broken)
{
    const int i = (int)threadIdx.x;

    out[i] = i ^ 1;
    if (i % 32 < 16) {
        const int from = broken && i % 32 == 3 ? 20 : i % 32 ^ 1;

        out[i] = __shfl_sync(0x0000ffffu, i, from);
    }
}

static __global__ void k_two_barriers(int *out, int broken)
{
    GPU_SHARED(int, box, [N]);
    const int i = (int)threadIdx.x;

    box[i] = i;
    if (broken && i < 64) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    out[i] = box[i ^ 1];
}

static __global__ void k_barrier_after_return(int *out, int broken)
{
    GPU_SHARED(int, box, [N]);
    const int i = (int)threadIdx.x;

    out[i] = i ^ 1;
    box[i] = i;
    if (broken && i == 77) return;
    __syncthreads();
    out[i] = box[i ^ 1];
}

static __global__ void k_spin(int *out, int *flag, int broken)
{
    volatile int *f = flag;
    const int     i = (int)threadIdx.x;

    if (broken && i == 0)
        while (*f == 0) continue;
    if (i == 1) *f = 1;
    out[i] = i;
}

// ------------------------------------------------------------------------------------------------ between threads

static __global__ void k_sum(unsigned *sum, int broken)
{
    if (broken)
        *sum += 1;
    else
        atomicAdd(sum, 1u);
}

/// Every block writes the same cell, which only one may.
static __global__ void k_blocks(int *out, int broken)
{
    if (threadIdx.x == 0) out[broken ? 0 : blockIdx.x] = 1;
}

/// Blocks leave a part each; the last one to come adds them up.
static __global__ void k_last_block(unsigned *part, unsigned *count, unsigned *total, int broken)
{
    if (threadIdx.x != 0) return;
    part[blockIdx.x] = blockIdx.x + 1;
    if (!broken) __threadfence();
    if (atomicAdd(count, 1u) != gridDim.x - 1) return;
    if (!broken) __threadfence();
    unsigned k, sum = 0;
    for (k = 0; k < gridDim.x; k++) sum += part[k];
    *total = sum;
}

static __global__ void k_fill(int *out, int n, int value)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < n) out[i] = value;
}

static __global__ void k_copy(int *out, const int *in, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < n) out[i] = in[i];
}

// -------------------------------------------------------------------------------------------------------- cases

static mds_status expect(const int *device, int n, int (*value)(int))
{
    int host[4 * N], i;

    GPU_TRY(cudaMemcpy(host, device, (size_t)n * sizeof *host, cudaMemcpyDeviceToHost));
    for (i = 0; i < n; i++)
        if (host[i] != value(i)) return wrong("a value of the kernel");
    return MDS_OK;
}

static int opposite(int i) { return 3 * (N - 1 - i); }
static int shifted(int i) { return (i + 17) % N; }
static int triple(int i) { return 3 * (i ^ 1); }
static int same(int i) { return i; }
static int partner(int i) { return i ^ 1; }
static int one(int) { return 1; }
static int nine(int) { return 9; }

static mds_status unwritten(int broken)
{
    float *out, host[N];
    int    i;

    GPU_TRY(cudaMalloc(&out, sizeof host));
    GPU_LAUNCH(k_unwritten, 1, N, 0, 0, out, broken);
    GPU_TRY(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (i = 0; i < N; i++)
        if (!(host[i] == 1)) return wrong("a value of the kernel");
    GPU_TRY(cudaFree(out));
    return MDS_OK;
}

static mds_status cast(int broken)
{
    float *in, host[N];
    int   *out, i;

    for (i = 0; i < N; i++) host[i] = (float)i;
    GPU_TRY(cudaMalloc(&in, sizeof host));
    GPU_TRY(cudaMalloc(&out, N * sizeof *out));
    GPU_TRY(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
    GPU_LAUNCH(k_cast, 1, N, 0, 0, out, in, broken);
    MDS_TRY(expect(out, N, same));
    GPU_TRY(cudaFree(in));
    GPU_TRY(cudaFree(out));
    return MDS_OK;
}

static mds_status spin(int broken)
{
    int *out, *flag;

    GPU_TRY(cudaMalloc(&out, N * sizeof *out));
    GPU_TRY(cudaMalloc(&flag, sizeof *flag));
    GPU_TRY(cudaMemset(flag, 0, sizeof *flag));
    GPU_LAUNCH(k_spin, 1, N, 0, 0, out, flag, broken);
    MDS_TRY(expect(out, N, same));
    GPU_TRY(cudaFree(out));
    GPU_TRY(cudaFree(flag));
    return MDS_OK;
}

static mds_status sum(int broken)
{
    unsigned *count, host;

    GPU_TRY(cudaMalloc(&count, sizeof host));
    GPU_TRY(cudaMemset(count, 0, sizeof host));
    GPU_LAUNCH(k_sum, 3, N, 0, 0, count, broken);
    GPU_TRY(cudaMemcpy(&host, count, sizeof host, cudaMemcpyDeviceToHost));
    if (host != 3 * N) return wrong("a sum");
    GPU_TRY(cudaFree(count));
    return MDS_OK;
}

static mds_status blocks(int broken)
{
    int *out;

    GPU_TRY(cudaMalloc(&out, 4 * sizeof *out));
    GPU_TRY(cudaMemset(out, 0, 4 * sizeof *out));
    GPU_LAUNCH(k_blocks, 4, 32, 0, 0, out, broken);
    if (!broken) MDS_TRY(expect(out, 4, one));
    GPU_TRY(cudaFree(out));
    return MDS_OK;
}

static mds_status last_block(int broken)
{
    unsigned *part, host[2];

    GPU_TRY(cudaMalloc(&part, 10 * sizeof *part));
    GPU_TRY(cudaMemset(part, 0, 10 * sizeof *part));
    GPU_LAUNCH(k_last_block, 4, 32, 0, 0, part, part + 8, part + 9, broken);
    GPU_TRY(cudaMemcpy(host, part + 8, sizeof host, cudaMemcpyDeviceToHost));
    if (host[0] != 4 || host[1] != 10) return wrong("the last block's sum");
    GPU_TRY(cudaFree(part));
    return MDS_OK;
}

/// The host reads its pinned copy before the stream has been waited for.
static mds_status early_read(int broken)
{
    cudaStream_t stream;
    int         *out, *host, first;

    GPU_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GPU_TRY(cudaMalloc(&out, N * sizeof *out));
    GPU_TRY(cudaMallocHost(&host, N * sizeof *host));
    memset(host, 0, N * sizeof *host);
    GPU_LAUNCH(k_fill, 1, N, 0, stream, out, N, 9);
    GPU_TRY(cudaMemcpyAsync(host, out, N * sizeof *host, cudaMemcpyDeviceToHost, stream));
    if (!broken) GPU_TRY(cudaStreamSynchronize(stream));
    first = host[0];
    if (first != 9) return wrong("a frame");
    GPU_TRY(cudaStreamDestroy(stream));
    GPU_TRY(cudaFreeHost(host));
    GPU_TRY(cudaFree(out));
    return MDS_OK;
}

/// One stream uses what another makes.
static mds_status two_streams(int broken)
{
    cudaStream_t a, b;
    cudaEvent_t  made;
    int         *from, *to;

    GPU_TRY(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    GPU_TRY(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    GPU_TRY(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    GPU_TRY(cudaMalloc(&from, N * sizeof *from));
    GPU_TRY(cudaMalloc(&to, N * sizeof *to));
    GPU_TRY(cudaMemset(from, 0, N * sizeof *from));
    GPU_LAUNCH(k_fill, 1, N, 0, a, from, N, 9);
    GPU_TRY(cudaEventRecord(made, a));
    if (!broken) GPU_TRY(cudaStreamWaitEvent(b, made, 0));
    GPU_LAUNCH(k_copy, 1, N, 0, b, to, from, N);
    GPU_TRY(cudaStreamSynchronize(b));
    MDS_TRY(expect(to, N, nine));
    GPU_TRY(cudaStreamSynchronize(a));
    GPU_TRY(cudaEventDestroy(made));
    GPU_TRY(cudaStreamDestroy(a));
    GPU_TRY(cudaStreamDestroy(b));
    GPU_TRY(cudaFree(from));
    GPU_TRY(cudaFree(to));
    return MDS_OK;
}

static mds_status after_free(int broken)
{
    int *out;

    GPU_TRY(cudaMalloc(&out, N * sizeof *out));
    if (broken) GPU_TRY(cudaFree(out));
    GPU_LAUNCH(k_fill, 1, N, 0, 0, out, N, 9);
    if (broken) return MDS_OK;
    MDS_TRY(expect(out, N, nine));
    GPU_TRY(cudaFree(out));
    return MDS_OK;
}

static mds_status host_reads(int broken)
{
    int *out, host = 9;

    GPU_TRY(cudaMalloc(&out, N * sizeof *out));
    GPU_LAUNCH(k_fill, 1, N, 0, 0, out, N, 9);
    GPU_TRY(cudaDeviceSynchronize());
    if (broken)
        host = *(volatile int *)out;
    else
        GPU_TRY(cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost));
    if (host != 9) return wrong("a value");
    GPU_TRY(cudaFree(out));
    return MDS_OK;
}

static mds_status large_block(int broken)
{
    int *out;

    GPU_TRY(cudaMalloc(&out, N * sizeof *out));
    GPU_START(k_fill, 1, broken ? 2000 : N, 0, 0, out, N, 9);
    if (cudaGetLastError() != cudaSuccess) return wrong("the launch is refused");
    MDS_TRY(expect(out, N, nine));
    GPU_TRY(cudaFree(out));
    return MDS_OK;
}

/// A step recorded once and replayed: no allocation while recording.
static mds_status graph(int broken)
{
    cudaStream_t    stream;
    cudaGraph_t     recorded;
    cudaGraphExec_t ready;
    int            *a, *b, *late = NULL;
    cudaError_t     e = cudaSuccess;

    GPU_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GPU_TRY(cudaMalloc(&a, N * sizeof *a));
    GPU_TRY(cudaMalloc(&b, N * sizeof *b));
    GPU_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    GPU_LAUNCH(k_fill, 1, N, 0, stream, a, N, 9);
    if (broken) {
        e = cudaMalloc(&late, 16);
        (void)cudaGetLastError();
    }
    GPU_LAUNCH(k_copy, 1, N, 0, stream, b, a, N);
    GPU_TRY(cudaStreamEndCapture(stream, &recorded));
    if (e != cudaSuccess) return wrong("an allocation while recording is refused");
    GPU_TRY(cudaGraphInstantiate(&ready, recorded, 0));
    GPU_TRY(cudaMemset(b, 0, N * sizeof *b));
    GPU_TRY(cudaGraphLaunch(ready, stream));
    GPU_TRY(cudaGraphLaunch(ready, stream));
    GPU_TRY(cudaStreamSynchronize(stream));
    MDS_TRY(expect(b, N, nine));
    GPU_TRY(cudaGraphExecDestroy(ready));
    GPU_TRY(cudaGraphDestroy(recorded));
    GPU_TRY(cudaStreamDestroy(stream));
    GPU_TRY(cudaFree(a));
    GPU_TRY(cudaFree(b));
    return MDS_OK;
}

#define SIMPLE(name, kernel, value)                                                                          \
    static mds_status name(int broken)                                                                       \
    {                                                                                                        \
        int *out;                                                                                            \
                                                                                                             \
        GPU_TRY(cudaMalloc(&out, N * sizeof *out));                                                          \
        GPU_LAUNCH(kernel, 1, N, 0, 0, out, broken);                                                         \
        MDS_TRY(expect(out, N, value));                                                                      \
        GPU_TRY(cudaFree(out));                                                                              \
        return MDS_OK;                                                                                       \
    }
SIMPLE(reverse, k_reverse, opposite)
SIMPLE(rounds, k_rounds, shifted)
SIMPLE(warp_box, k_warp_box, triple)
SIMPLE(shuffle_fence, k_shuffle_fence, triple)
SIMPLE(past_end, k_past_end, same)
SIMPLE(past_shared, k_past_shared, same)
SIMPLE(branches, k_branches, partner)
SIMPLE(half, k_half, partner)
SIMPLE(early, k_early, partner)
SIMPLE(source, k_source, partner)
SIMPLE(two_barriers, k_two_barriers, partner)
SIMPLE(barrier_after_return, k_barrier_after_return, partner)
SIMPLE(too_large_local, k_large_local, same)
SIMPLE(small_local, k_small_local, same)
static mds_status large_local(int broken)
{
    return broken ? too_large_local(1) : small_local(0);
}

static const struct {
    const char *name;
    mds_status (*run)(int broken);
} cases[] = {{"reverse", reverse}, {"rounds", rounds}, {"warp_box", warp_box}, {"shuffle_fence", shuffle_fence},
             {"unwritten", unwritten}, {"past_end", past_end}, {"past_shared", past_shared}, {"large_local", large_local},
             {"cast", cast}, {"branches", branches}, {"half", half}, {"early", early}, {"source", source},
             {"two_barriers", two_barriers}, {"barrier_after_return", barrier_after_return}, {"spin", spin}, {"sum", sum},
             {"blocks", blocks}, {"last_block", last_block}, {"early_read", early_read}, {"two_streams", two_streams},
             {"after_free", after_free}, {"host_reads", host_reads}, {"large_block", large_block}, {"graph", graph}};

int main(int argc, char **argv)
{
    size_t k;

    if (argc != 3) {
        for (k = 0; k < sizeof cases / sizeof *cases; k++) printf("%s\n", cases[k].name);
        return 0;
    }
    for (k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (strcmp(argv[1], cases[k].name) != 0) continue;
        const mds_status status = cases[k].run(strcmp(argv[2], "broken") == 0);

        if (status != MDS_OK) printf("%s\n", mds_error_text());
        return status == MDS_OK ? 0 : 3;
    }
    return 2;
}
