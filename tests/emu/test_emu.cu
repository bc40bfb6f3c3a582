// SPDX-License-Identifier: Apache-2.0
// Warp operations, barriers, atomics, transforms and matrix products give what their definitions say.
// Definitions: CUDA C++ programming guide, chapter "C++ language extensions" [cuda13]. CUDA as well: with nvcc and a GPU this file tests gpu.h.
#include "gpu.h"

#include <cublas_v2.h>
#include <cufft.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

enum { N = 160 }; // a block of five warps: no power of two

static int failures;

static void check(bool good, const char *what, double got, double want)
{
    if (good) return;
    failures++;
    printf("%s: %.9g, not %.9g\n", what, got, want);
}

struct warp_results {
    int idx[N], up[N], down[N], x[N], sub[N], any[N], all[N], add[N], orr[N], count[N];
    unsigned ballot[N];
    double   wide[N];
};

static __global__ void k_warp(warp_results *r)
{
    const int      t = (int)threadIdx.x, lane = t % 32;
    const unsigned pair = 3u << (lane & ~1); // masks of two lanes

    r->idx[t] = __shfl_sync(GPU_ALL, 10 * t, lane * 7 + 3);
    r->up[t] = __shfl_up_sync(GPU_ALL, t, 5);
    r->down[t] = __shfl_down_sync(GPU_ALL, t, 9);
    r->x[t] = __shfl_xor_sync(GPU_ALL, t, 21);
    r->sub[t] = __shfl_down_sync(GPU_ALL, t, 3, 8);
    r->ballot[t] = gpu_ballot(t % 3 == 0);
    r->any[t] = __any_sync(pair, t % 4 == 0);
    r->all[t] = __all_sync(GPU_ALL, t >= 64);
    r->add[t] = gpu_sum_warp(t);
    r->wide[t] = gpu_shuffle(0.1 * t, 31 - lane);
    r->count[t] = __syncthreads_count(t % 5 == 0);
    r->orr[t] = 2 * __syncthreads_or(t == 77) + __syncthreads_and(t != 77);
}

static mds_status test_warp()
{
    static warp_results host;
    warp_results       *r;
    int                 t, k;

    GPU_TRY(cudaMalloc(&r, sizeof host));
    GPU_LAUNCH(k_warp, 1, N, 0, 0, r);
    GPU_TRY(cudaMemcpy(&host, r, sizeof host, cudaMemcpyDeviceToHost));
    for (t = 0; t < N; t++) {
        const int lane = t % 32, first = t - lane;
        unsigned  votes = 0;

        for (k = 0; k < 32; k++) votes |= (unsigned)((first + k) % 3 == 0) << k;
        check(host.idx[t] == 10 * (first + (lane * 7 + 3) % 32), "shuffle", host.idx[t], 10 * (first + (lane * 7 + 3) % 32));
        check(host.up[t] == (lane < 5 ? t : t - 5), "shuffle up", host.up[t], lane < 5 ? t : t - 5);
        check(host.down[t] == (lane > 22 ? t : t + 9), "shuffle down", host.down[t], lane > 22 ? t : t + 9);
        check(host.x[t] == first + (lane ^ 21), "shuffle xor", host.x[t], first + (lane ^ 21));
        check(host.sub[t] == (lane % 8 > 4 ? t : t + 3), "shuffle of width 8", host.sub[t], lane % 8 > 4 ? t : t + 3);
        check(host.ballot[t] == votes, "ballot", host.ballot[t], votes);
        check(host.any[t] == (t % 4 < 2), "any of a pair", host.any[t], t % 4 < 2);
        check(host.all[t] == (first >= 64), "all", host.all[t], first >= 64);
        check(host.add[t] == 32 * first + 496, "sum of a warp", host.add[t], 32 * first + 496);
        check(host.wide[t] == 0.1 * (first + 31 - lane), "shuffle of a double", host.wide[t], 0.1 * (first + 31 - lane));
        check(host.count[t] == N / 5, "count of a block", host.count[t], N / 5);
        check(host.orr[t] == 2, "or, and of a block", host.orr[t], 2);
    }
    GPU_TRY(cudaFree(r));
    return MDS_OK;
}

/// Sum of a block through dynamic shared memory, then over blocks in fixed point.
static __global__ void k_fixed(unsigned long long *sum, unsigned *fault, const float *x, int n)
{
    GPU_SHARED_DYN(float, box);
    const int t = (int)threadIdx.x, i = (int)(blockIdx.x * blockDim.x) + t;
    int       k;

    box[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (k = (int)blockDim.x / 2; k > 0; k /= 2) {
        if (t < k) box[t] += box[t + k];
        __syncthreads();
    }
    if (t == 0 && !gpu_add_fixed(sum, box[0], 65536.0f)) atomicOr(fault, 1u);
}

static mds_status fixed_sum(const float *x, int n, long long *sum, unsigned *fault)
{
    unsigned long long *device;
    float              *dx;

    GPU_TRY(cudaMalloc(&device, 2 * sizeof *device));
    GPU_TRY(cudaMalloc(&dx, (size_t)n * sizeof *dx));
    GPU_TRY(cudaMemset(device, 0, 2 * sizeof *device));
    GPU_TRY(cudaMemcpy(dx, x, (size_t)n * sizeof *dx, cudaMemcpyHostToDevice));
    GPU_LAUNCH(k_fixed, (n + 63) / 64, 64, 64 * sizeof(float), 0, device, reinterpret_cast<unsigned *>(device + 1), dx, n);
    GPU_TRY(cudaMemcpy(sum, device, sizeof *sum, cudaMemcpyDeviceToHost));
    GPU_TRY(cudaMemcpy(fault, device + 1, sizeof *fault, cudaMemcpyDeviceToHost));
    GPU_TRY(cudaFree(device));
    GPU_TRY(cudaFree(dx));
    return MDS_OK;
}

static mds_status test_fixed()
{
    enum { M = 1000 };
    float     x[M];
    double    exact = 0;
    long long sum;
    unsigned  fault;
    int       i;

    for (i = 0; i < M; i++) exact += x[i] = (float)((i * 37 % 101) - 50) / 16; // sums of these are exact in float
    MDS_TRY(fixed_sum(x, M, &sum, &fault));
    check((double)sum == exact * 65536, "fixed-point sum", (double)sum / 65536, exact);
    check(fault == 0, "fault bit of a good sum", fault, 0);
    x[M / 2] = 3e20f;
    MDS_TRY(fixed_sum(x, M, &sum, &fault));
    check(fault == 1, "fault bit of a value that does not fit", fault, 1);
    x[M / 2] = NAN;
    MDS_TRY(fixed_sum(x, M, &sum, &fault));
    check(fault == 1, "fault bit of NaN", fault, 1);
    return MDS_OK;
}

/// One wave on a small mesh, there and back; compared with the closed form.
static mds_status test_fft()
{
    enum { NX = 4, NY = 6, NZ = 10, HALF = NZ / 2 + 1 };
    float        x[NX * NY * NZ], back[NX * NY * NZ];
    float2       f[NX * NY * HALF];
    float       *dx;
    float2      *df;
    cufftHandle  forward, inverse;
    cudaStream_t stream;
    const double tau = 6.283185307179586;
    int          i, j, k;

    for (i = 0; i < NX * NY * NZ; i++) x[i] = (float)cos(tau * (1.0 * (i / (NY * NZ)) / NX + 2.0 * (i / NZ % NY) / NY + 3.0 * (i % NZ) / NZ));
    GPU_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GPU_TRY(cudaMalloc(&dx, sizeof x));
    GPU_TRY(cudaMalloc(&df, sizeof f));
    MDS_CHECK(cufftPlan3d(&forward, NX, NY, NZ, CUFFT_R2C) == CUFFT_SUCCESS && cufftPlan3d(&inverse, NX, NY, NZ, CUFFT_C2R) == CUFFT_SUCCESS &&
                  cufftSetStream(forward, stream) == CUFFT_SUCCESS && cufftSetStream(inverse, stream) == CUFFT_SUCCESS,
              MDS_E_DEVICE, "cuFFT plans");
    GPU_TRY(cudaMemcpyAsync(dx, x, sizeof x, cudaMemcpyHostToDevice, stream));
    MDS_CHECK(cufftExecR2C(forward, dx, df) == CUFFT_SUCCESS, MDS_E_DEVICE, "forward transform");
    GPU_TRY(cudaMemcpyAsync(f, df, sizeof f, cudaMemcpyDeviceToHost, stream));
    MDS_CHECK(cufftExecC2R(inverse, df, dx) == CUFFT_SUCCESS, MDS_E_DEVICE, "inverse transform");
    GPU_TRY(cudaMemcpyAsync(back, dx, sizeof back, cudaMemcpyDeviceToHost, stream));
    GPU_TRY(cudaStreamSynchronize(stream));
    const double all = NX * NY * NZ, tolerance = 1e-5 * all; // rounding of float sums of 240 terms
    for (i = 0; i < NX; i++)
        for (j = 0; j < NY; j++)
            for (k = 0; k < HALF; k++) {
                const float2 v = f[(i * NY + j) * HALF + k];
                const double want = i == 1 && j == 2 && k == 3 ? all / 2 : 0;

                check(fabs(v.x - want) < tolerance && fabs(v.y) < tolerance, "transform of a wave", v.x, want);
            }
    for (i = 0; i < NX * NY * NZ; i++) check(fabs(back[i] - all * x[i]) < tolerance, "there and back", back[i], all * x[i]);
    cufftDestroy(forward);
    cufftDestroy(inverse);
    GPU_TRY(cudaStreamDestroy(stream));
    GPU_TRY(cudaFree(dx));
    GPU_TRY(cudaFree(df));
    return MDS_OK;
}

/// C = 2 A' B + C for two pairs of 2 x 2 matrices, and a dot product, small enough for the head.
static mds_status test_blas()
{
    const float    a[8] = {1, 2, 3, 4, 0, 1, 1, 0}, b[8] = {5, 6, 7, 8, 1, 2, 3, 4}, two = 2, one = 1;
    const float    want[8] = {2 * 17 + 1, 2 * 39 + 1, 2 * 23 + 1, 2 * 53 + 1, 2 * 2 + 1, 2 * 1 + 1, 2 * 4 + 1, 2 * 3 + 1};
    float          c[8] = {1, 1, 1, 1, 1, 1, 1, 1}, dot, *d;
    cublasHandle_t handle;
    int            i;

    GPU_TRY(cudaMalloc(&d, 24 * sizeof *d));
    GPU_TRY(cudaMemcpy(d, a, sizeof a, cudaMemcpyHostToDevice));
    GPU_TRY(cudaMemcpy(d + 8, b, sizeof b, cudaMemcpyHostToDevice));
    GPU_TRY(cudaMemcpy(d + 16, c, sizeof c, cudaMemcpyHostToDevice));
    MDS_CHECK(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, MDS_E_DEVICE, "cuBLAS handle");
    MDS_CHECK(cublasSgemmStridedBatched(handle, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 2, &two, d, 2, 4, d + 8, 2, 4, &one, d + 16, 2, 4, 2) ==
                  CUBLAS_STATUS_SUCCESS,
              MDS_E_DEVICE, "matrix products");
    MDS_CHECK(cublasSdot(handle, 8, d, 1, d + 8, 1, &dot) == CUBLAS_STATUS_SUCCESS, MDS_E_DEVICE, "dot product");
    GPU_TRY(cudaMemcpy(c, d + 16, sizeof c, cudaMemcpyDeviceToHost));
    for (i = 0; i < 8; i++) check(c[i] == want[i], "matrix product", c[i], want[i]);
    check(dot == 75, "dot product", dot, 75);
    cublasDestroy(handle);
    GPU_TRY(cudaFree(d));
    return MDS_OK;
}

int main()
{
    mds_status (*const tests[])() = {test_warp, test_fixed, test_fft, test_blas};
    size_t k;

    for (k = 0; k < sizeof tests / sizeof *tests; k++)
        if (tests[k]() != MDS_OK) {
            printf("%s\n", mds_error_text());
            failures++;
        }
    printf("%d failures\n", failures);
    return failures != 0;
}
