// SPDX-License-Identifier: Apache-2.0
// cuBLAS calls as plain loops: sums in double, so that they are no worse than any order the library may take.
#include "emu.h"

#include <cublas_v2.h>

struct emu_blas {
    cudaStream_t        stream;
    cublasPointerMode_t mode;
};

struct dot_work {
    int          n, incx, incy;
    const float *x, *y;
    float       *result;
};

static void run_dot(void *argument)
{
    const dot_work *w = static_cast<const dot_work *>(argument);
    double          sum = 0;

    emu_device_enter();
    for (long i = 0; i < w->n; i++) sum += static_cast<double>(w->x[i * w->incx]) * static_cast<double>(w->y[i * w->incy]);
    *w->result = static_cast<float>(sum);
    emu_device_leave();
}

static void free_dot(void *argument)
{
    delete static_cast<dot_work *>(argument);
}

struct gemm_work {
    cublasOperation_t opa, opb;
    int               m, n, k, lda, ldb, ldc, count;
    float             alpha, beta; // read at the call in host mode
    const float      *alpha_at, *beta_at, *a, *b;
    float            *c;
    long long         stride_a, stride_b, stride_c;
};

static void run_gemm(void *argument)
{
    const gemm_work *w = static_cast<const gemm_work *>(argument);

    emu_device_enter();
    const float alpha = w->alpha_at ? *w->alpha_at : w->alpha, beta = w->beta_at ? *w->beta_at : w->beta;
    for (long long p = 0; p < w->count; p++)
        for (long j = 0; j < w->n; j++)
            for (long i = 0; i < w->m; i++) {
                const float *a = w->a + p * w->stride_a, *b = w->b + p * w->stride_b;
                float       *c = w->c + p * w->stride_c + i + j * w->ldc;
                double       sum = 0;

                for (long l = 0; l < w->k; l++)
                    sum += static_cast<double>(w->opa == CUBLAS_OP_N ? a[i + l * w->lda] : a[l + i * w->lda]) *
                           static_cast<double>(w->opb == CUBLAS_OP_N ? b[l + j * w->ldb] : b[j + l * w->ldb]);
                *c = static_cast<float>(static_cast<double>(alpha) * sum) + (beta == 0 ? 0 : beta * *c);
            }
    emu_device_leave();
}

static void free_gemm(void *argument)
{
    delete static_cast<gemm_work *>(argument);
}

extern "C" cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = new emu_blas{nullptr, CUBLAS_POINTER_MODE_HOST};
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode)
{
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSdot(cublasHandle_t handle, int n, const float *x, int incx, const float *y, int incy, float *result)
{
    const bool host = handle->mode == CUBLAS_POINTER_MODE_HOST;

    if (host == emu_is_device(result)) emu_fault("cublasSdot: the result is not where the pointer mode says");
    if (n > 0 && (!emu_is_device(x) || !emu_is_device(y))) emu_fault("cublasSdot: vectors must be device memory");
    if (emu_enqueue(handle->stream, run_dot, new dot_work{n, incx, incy, x, y, result}, free_dot)) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (host && emu_wait(handle->stream)) return CUBLAS_STATUS_EXECUTION_FAILED;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t opa, cublasOperation_t opb, int m, int n,
                                                    int k, const float *alpha, const float *a, int lda, long long stride_a,
                                                    const float *b, int ldb, long long stride_b, const float *beta, float *c, int ldc,
                                                    long long stride_c, int count)
{
    const bool host = handle->mode == CUBLAS_POINTER_MODE_HOST;
    const int  rows_a = opa == CUBLAS_OP_N ? m : k, rows_b = opb == CUBLAS_OP_N ? k : n;

    if (m < 0 || n < 0 || k < 0 || lda < rows_a || ldb < rows_b || ldc < m) return CUBLAS_STATUS_INVALID_VALUE;
    if (!emu_is_device(a) || !emu_is_device(b) || !emu_is_device(c)) emu_fault("cublasSgemmStridedBatched: matrices must be device memory");
    gemm_work *w = new gemm_work{opa, opb, m, n, k, lda, ldb, ldc, count, host ? *alpha : 0, host ? *beta : 0, host ? nullptr : alpha,
                                 host ? nullptr : beta, a, b, c, stride_a, stride_b, stride_c};
    return emu_enqueue(handle->stream, run_gemm, w, free_gemm) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
