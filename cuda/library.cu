// SPDX-License-Identifier: Apache-2.0
// cuFFT and cuBLAS, opened when a mesh first asks for them: linked, they would cost every command of the program a tenth of a second
// at its start (half a million relocations), with a GPU or without.
//
// The functions that mdsim calls are defined here under the libraries' own names and pass on to them. Only in nvcc's build: the
// emulation has its own.
#include <cublas_v2.h>
#include <cufft.h>

#include <dlfcn.h>
#include <stdio.h>

/// A function of a library, opened at the first call; NULL if there is none of this major version.
static void *function_of(void **library, const char *name, int version, const char *function)
{
    char file[64];

    snprintf(file, sizeof file, "lib%s.so.%d", name, version);
    if (!*library) *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return *library ? dlsym(*library, function) : nullptr;
}

static void *fft_library, *blas_library; // stay open until the end

#define FFT_CALL(function, types, names)                                                                     \
    cufftResult CUFFTAPI function types                                                                      \
    {                                                                                                        \
        typedef cufftResult (*call) types;                                                                   \
        call f = reinterpret_cast<call>(function_of(&fft_library, "cufft", CUFFT_VER_MAJOR, #function));     \
                                                                                                             \
        return f ? f names : CUFFT_SETUP_FAILED;                                                             \
    }
#define BLAS_TEXT(x) BLAS_TEXT_OF(x)
#define BLAS_TEXT_OF(x) #x
#define BLAS_CALL(function, types, names)                                                                    \
    cublasStatus_t CUBLASWINAPI function types                                                               \
    {                                                                                                        \
        typedef cublasStatus_t (*call) types;                                                    \
        call f = reinterpret_cast<call>(function_of(&blas_library, "cublas", CUBLAS_VER_MAJOR, BLAS_TEXT(function))); \
                                                                                                             \
        return f ? f names : CUBLAS_STATUS_NOT_INITIALIZED;                                                  \
    }

extern "C" {
FFT_CALL(cufftPlan3d, (cufftHandle * plan, int nx, int ny, int nz, cufftType type), (plan, nx, ny, nz, type))
FFT_CALL(cufftSetStream, (cufftHandle plan, cudaStream_t stream), (plan, stream))
FFT_CALL(cufftDestroy, (cufftHandle plan), (plan))
FFT_CALL(cufftExecR2C, (cufftHandle plan, cufftReal *in, cufftComplex *out), (plan, in, out))
FFT_CALL(cufftExecC2R, (cufftHandle plan, cufftComplex *in, cufftReal *out), (plan, in, out))
FFT_CALL(cufftExecD2Z, (cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out), (plan, in, out))
FFT_CALL(cufftExecZ2D, (cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out), (plan, in, out))
// the header's names are macros for those of the present version
BLAS_CALL(cublasCreate_v2, (cublasHandle_t * handle), (handle))
BLAS_CALL(cublasDestroy_v2, (cublasHandle_t handle), (handle))
BLAS_CALL(cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream), (handle, stream))
BLAS_CALL(cublasSgemmStridedBatched,
          (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const float *alpha, const float *A,
           int lda, long long int strideA, const float *B, int ldb, long long int strideB, const float *beta, float *C, int ldc,
           long long int strideC, int batchCount),
          (handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, batchCount))
}
