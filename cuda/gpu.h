// SPDX-License-Identifier: Apache-2.0
// The dialect of the kernels: launch, shared memory, warp operations, names. The only file that asks which compiler is at work.
//
// The same .cu text is built twice: by nvcc for a GPU, and by the host's C++ compiler against tests/emu, which runs a
// block's threads one after another in an order of its choice. Rules that keep one text right on both:
//   - launch and declare shared arrays through these macros only; one collective per source line;
//   - every thread of a block reaches every barrier, every lane of a mask its warp operation: no return before;
//   - memory is ordered by __syncthreads, __syncwarp, __threadfence and atomics, by nothing else; no waiting in a loop;
//   - what only newer chips have stands in a file of its own beside a portable twin.
#ifndef MDS_GPU_H
#define MDS_GPU_H

#include "base/base.h"

#include <cuda_runtime.h>

#define GPU_WARP 32
#define GPU_ALL 0xffffffffu // mask of a whole warp

#ifdef EMU_CUDA
#define GPU_NAME(stage) mds_emu_##stage
#define GPU_TABLE mds_backend_emu
#define GPU_CONSTANT
#define GPU_LABEL "emu"
#define GPU_START(kernel, grid, block, shared, stream, ...)                                                  \
    emu_launch_typed(#kernel, kernel, grid, block, shared, stream, __VA_ARGS__)
#define GPU_SHARED(type, name, dims)                                                                         \
    static char name##_key;                                                                                  \
    type(&name) dims = *reinterpret_cast<type(*) dims>(emu_shared(&name##_key, sizeof(type dims)))
#define GPU_SHARED_DYN(type, name) type *const name = static_cast<type *>(emu_shared_dynamic())
#else
#define GPU_NAME(stage) mds_cuda_##stage
#define GPU_TABLE mds_backend_cuda
#define GPU_CONSTANT __grid_constant__ // an argument that is read by address stays where it is
#define GPU_LABEL "cuda"
#define GPU_START(kernel, grid, block, shared, stream, ...) (kernel)<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
#define GPU_SHARED(type, name, dims) __shared__ type name dims
#define GPU_SHARED_DYN(type, name)                                                                           \
    extern __shared__ __align__(16) unsigned char gpu_dynamic[];                                             \
    type *const name = reinterpret_cast<type *>(gpu_dynamic)
#endif

/// Before a loop: write it out, so that arrays indexed by its counter live in registers.
#ifdef EMU_CUDA
#define GPU_UNROLL
#else
#define GPU_UNROLL _Pragma("unroll")
#endif

/// A large part of a kernel: inlined for a chip; on the host, where a thread's stack is small, a function with a frame of its own.
#ifdef EMU_CUDA
#define GPU_PART __attribute__((noinline))
#else
#define GPU_PART __forceinline__
#endif

/// A call of the runtime that must succeed; else the function ends with MDS_E_DEVICE (MDS_E_MEMORY for memory).
#define GPU_TRY(call)                                                                                        \
    do {                                                                                                     \
        const cudaError_t gpu_error = (call);                                                                \
        if (gpu_error != cudaSuccess)                                                                        \
            MDS_FAIL(gpu_error == cudaErrorMemoryAllocation ? MDS_E_MEMORY : MDS_E_DEVICE, "%s: %s", #call, \
                     cudaGetErrorString(gpu_error));                                                         \
    } while (0)

/// Queue a kernel; a launch that the device refuses ends the function like GPU_TRY.
#define GPU_LAUNCH(kernel, grid, block, shared, stream, ...)                                                 \
    do {                                                                                                     \
        GPU_START(kernel, grid, block, shared, stream, __VA_ARGS__);                                         \
        GPU_TRY(cudaGetLastError());                                                                         \
    } while (0)

/// Sum over a whole warp, the same in every lane. Fixed order: lanes at distance 16, 8, 4, 2, 1.
template <class T> static __device__ __forceinline__ T gpu_sum_warp(T v)
{
    int distance;

    for (distance = GPU_WARP / 2; distance > 0; distance /= 2) v += __shfl_xor_sync(GPU_ALL, v, distance);
    return v;
}

/// 1/sqrt(x) of a normal x > 0, good to two units in the last place: one instruction, where rsqrtf takes care of denormal x in five.
static __device__ __forceinline__ float gpu_rsqrt(float x)
{
#ifdef EMU_CUDA
    return rsqrtf(x);
#else
    float y;

    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/// v of another lane of the whole warp.
template <class T> static __device__ __forceinline__ T gpu_shuffle(T v, int lane)
{
    return __shfl_sync(GPU_ALL, v, lane);
}

/// Lanes of the whole warp where p is true.
static __device__ __forceinline__ unsigned gpu_ballot(bool p)
{
    return __ballot_sync(GPU_ALL, p);
}

/// Whether the chip adds four floats in one operation. Elsewhere neighbouring lanes with one float each do as well: they share a sector.
#if defined(EMU_CUDA) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
#define GPU_VECTOR_ADD 1
#else
#define GPU_VECTOR_ADD 0
#endif

/// Add v, in units of 1/scale, to a sum that does not depend on the order of its terms. Returns false where v does not fit: then it
/// is cut to +-2^59/scale, and not a number counts as 0. Two's complement wraps, so the sum is made of unsigned numbers.
static __device__ __forceinline__ bool gpu_add_fixed(unsigned long long *sum, float v, float scale)
{
    const float limit = 576460752303423488.0f; // 2^59: sixteen such terms still fit
    const float scaled = v * scale;
    const bool  fits = fabsf(scaled) < limit;

    atomicAdd(sum, (unsigned long long)__float2ll_rn(fits ? scaled : scaled > 0 ? limit : scaled < 0 ? -limit : 0.0f));
    return fits;
}

#endif
