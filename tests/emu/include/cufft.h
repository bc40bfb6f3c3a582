// SPDX-License-Identifier: Apache-2.0
// The part of cuFFT that mdsim uses, over FFTW. C2R transforms ruin their input here, because cuFFT may.
#ifndef EMU_CUFFT_H
#define EMU_CUFFT_H

#include <cuda_runtime.h>

enum cufftResult { CUFFT_SUCCESS = 0, CUFFT_INVALID_PLAN = 1, CUFFT_ALLOC_FAILED = 2, CUFFT_INVALID_VALUE = 4, CUFFT_EXEC_FAILED = 6,
                   CUFFT_INVALID_SIZE = 8 };
enum cufftType { CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_C2C = 0x29, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c };
enum { CUFFT_FORWARD = -1, CUFFT_INVERSE = 1 };
typedef int    cufftHandle;
typedef float  cufftReal;
typedef double cufftDoubleReal;
typedef float2  cufftComplex;
typedef double2 cufftDoubleComplex;

extern "C" {
cufftResult cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftGetSize(cufftHandle plan, size_t *bytes);
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out);
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out);
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out);
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out);
}

#endif
