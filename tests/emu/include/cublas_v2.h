// SPDX-License-Identifier: Apache-2.0
// The part of cuBLAS that mdsim uses, as plain loops. Column-major, as everywhere in BLAS.
#ifndef EMU_CUBLAS_V2_H
#define EMU_CUBLAS_V2_H

#include <cuda_runtime.h>

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_INVALID_VALUE = 7,
                      CUBLAS_STATUS_EXECUTION_FAILED = 13 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
typedef struct emu_blas *cublasHandle_t;

extern "C" {
cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
/// Sum of x[i incx] y[i incy]. In host mode the call waits for its stream.
cublasStatus_t cublasSdot(cublasHandle_t handle, int n, const float *x, int incx, const float *y, int incy, float *result);
/// C = alpha op(A) op(B) + beta C for each of `count` triples of matrices at fixed strides.
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t opa, cublasOperation_t opb, int m, int n, int k,
                                         const float *alpha, const float *a, int lda, long long stride_a, const float *b, int ldb,
                                         long long stride_b, const float *beta, float *c, int ldc, long long stride_c, int count);
}

#endif
