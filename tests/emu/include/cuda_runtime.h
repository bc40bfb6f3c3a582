// SPDX-License-Identifier: Apache-2.0
// The part of CUDA that mdsim uses, for a host compiler. First on the include path, it makes a .cu file C++17 for g++ or clang++.
// Signatures are those of the CUDA runtime API and the CUDA C++ programming guide [cuda13]; meaning and limits: tests/emu/README.md.
#ifndef EMU_CUDA_RUNTIME_H
#define EMU_CUDA_RUNTIME_H

#include "emu_kernel.h"

#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>

#define EMU_CUDA 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

// ------------------------------------------------------------------------------------------------ vector types

#define EMU_VECTORS(type, base, align2, align4)                                                              \
    struct __align__(align2) type##2 { base x, y; };                                                         \
    struct type##3 { base x, y, z; };                                                                        \
    struct __align__(align4) type##4 { base x, y, z, w; };                                                   \
    static inline type##2 make_##type##2(base x, base y) { return {x, y}; }                                  \
    static inline type##3 make_##type##3(base x, base y, base z) { return {x, y, z}; }                       \
    static inline type##4 make_##type##4(base x, base y, base z, base w) { return {x, y, z, w}; }
EMU_VECTORS(float, float, 8, 16)
EMU_VECTORS(int, int, 8, 16)
EMU_VECTORS(double, double, 16, 16)
struct __align__(8) uint2 { unsigned x, y; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

#define threadIdx (emu_self->index)
#define blockIdx (emu_now.block)
#define blockDim (emu_now.block_dim)
#define gridDim (emu_now.grid_dim)

// ------------------------------------------------------------------------------------------------- collectives

#define EMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(EMU_HERE) { emu_barrier(EMU_SYNC, 0, file, line); }
static inline int  __syncthreads_or(int p, EMU_HERE) { return emu_barrier(EMU_OR, p, file, line); }
static inline int  __syncthreads_and(int p, EMU_HERE) { return emu_barrier(EMU_AND, p, file, line); }
static inline int  __syncthreads_count(int p, EMU_HERE) { return emu_barrier(EMU_COUNT, p, file, line); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, EMU_HERE) { emu_warp(EMU_SYNC, mask, 0, 0, 32, file, line); }
static inline void __threadfence() { emu_fence(); }
static inline void __threadfence_block() { emu_fence(); }

template <class T> static inline uint64_t emu_pack(T v)
{
    uint64_t bits = 0;

    static_assert(sizeof v <= 8, "4 or 8 bytes");
    memcpy(&bits, &v, sizeof v);
    return bits;
}
template <class T> static inline T emu_unpack(uint64_t bits)
{
    T v;

    memcpy(&v, &bits, sizeof v);
    return v;
}
#define EMU_SHUFFLE(name, kind, type)                                                                        \
    template <class T> static inline T name(unsigned mask, T v, type arg, int width = 32, EMU_HERE)          \
    {                                                                                                        \
        return emu_unpack<T>(emu_warp(kind, mask, emu_pack(v), (int)arg, width, file, line));                \
    }
EMU_SHUFFLE(__shfl_sync, EMU_SHFL, int)
EMU_SHUFFLE(__shfl_up_sync, EMU_SHFL_UP, unsigned)
EMU_SHUFFLE(__shfl_down_sync, EMU_SHFL_DOWN, unsigned)
EMU_SHUFFLE(__shfl_xor_sync, EMU_SHFL_XOR, int)
static inline unsigned __ballot_sync(unsigned mask, int p, EMU_HERE) { return (unsigned)emu_warp(EMU_BALLOT, mask, p != 0, 0, 32, file, line); }
static inline int __any_sync(unsigned mask, int p, EMU_HERE) { return (int)emu_warp(EMU_ANY, mask, p != 0, 0, 32, file, line); }
static inline int __all_sync(unsigned mask, int p, EMU_HERE) { return (int)emu_warp(EMU_ALL, mask, p != 0, 0, 32, file, line); }
template <class T> static inline unsigned __match_any_sync(unsigned mask, T v, EMU_HERE)
{
    return (unsigned)emu_warp(EMU_MATCH, mask, emu_pack(v), 0, 32, file, line);
}
/// Its own bit only: what CUDA guarantees of it is no more.
static inline unsigned __activemask() { return 1u << (emu_self->linear % 32); }
#define EMU_REDUCE(name, kind_u, kind_s)                                                                     \
    static inline unsigned name(unsigned mask, unsigned v, EMU_HERE) { return (unsigned)emu_warp(kind_u, mask, v, 0, 32, file, line); } \
    static inline int name(unsigned mask, int v, EMU_HERE) { return (int)emu_warp(kind_s, mask, (unsigned)v, 0, 32, file, line); }
EMU_REDUCE(__reduce_add_sync, EMU_ADD, EMU_ADD)
EMU_REDUCE(__reduce_min_sync, EMU_MIN, EMU_MIN_SIGNED)
EMU_REDUCE(__reduce_max_sync, EMU_MAX, EMU_MAX_SIGNED)
static inline unsigned __reduce_and_sync(unsigned mask, unsigned v, EMU_HERE) { return (unsigned)emu_warp(EMU_BAND, mask, v, 0, 32, file, line); }
static inline unsigned __reduce_or_sync(unsigned mask, unsigned v, EMU_HERE) { return (unsigned)emu_warp(EMU_BOR, mask, v, 0, 32, file, line); }
static inline unsigned __reduce_xor_sync(unsigned mask, unsigned v, EMU_HERE) { return (unsigned)emu_warp(EMU_BXOR, mask, v, 0, 32, file, line); }

// ----------------------------------------------------------------------------------------------------- atomics
// Relaxed: they order nothing but themselves, as on the device.

static inline void emu_count_atomic() { __atomic_fetch_add(&emu_counts.atomics, 1, __ATOMIC_RELAXED); }
template <class T> static inline T emu_atomic(T *to, T (*op)(T, T), T v)
{
    T old, next;

    emu_count_atomic();
    __atomic_load(to, &old, __ATOMIC_RELAXED);
    do next = op(old, v);
    while (!__atomic_compare_exchange(to, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
#define EMU_ATOMIC(name, type, expression)                                                                   \
    static inline type name(type *to, type v) { return emu_atomic<type>(to, [](type a, type b) -> type { (void)a; return expression; }, v); }
#define EMU_INTEGER_ATOMICS(type, unsigned_type)                                                             \
    EMU_ATOMIC(atomicAdd, type, (type)((unsigned_type)a + (unsigned_type)b))                                 \
    EMU_ATOMIC(atomicMin, type, a < b ? a : b)                                                               \
    EMU_ATOMIC(atomicMax, type, a > b ? a : b)                                                               \
    EMU_ATOMIC(atomicAnd, type, a & b)                                                                       \
    EMU_ATOMIC(atomicOr, type, a | b)                                                                        \
    EMU_ATOMIC(atomicExch, type, b)                                                                          \
    static inline type atomicCAS(type *to, type compare, type v)                                             \
    {                                                                                                        \
        emu_count_atomic();                                                                                  \
        __atomic_compare_exchange(to, &compare, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);              \
        return compare;                                                                                      \
    }
EMU_INTEGER_ATOMICS(int, unsigned)
EMU_INTEGER_ATOMICS(unsigned, unsigned)
EMU_INTEGER_ATOMICS(unsigned long long, unsigned long long)
EMU_ATOMIC(atomicAdd, float, a + b)
EMU_ATOMIC(atomicAdd, double, a + b)
/// Of sm_90 and later, in global memory: each component by itself is added at once, the four are not.
static inline float4 atomicAdd(float4 *to, float4 v)
{
    float4 old;

    old.x = atomicAdd(&to->x, v.x);
    old.y = atomicAdd(&to->y, v.y);
    old.z = atomicAdd(&to->z, v.z);
    old.w = atomicAdd(&to->w, v.w);
    return old;
}
EMU_ATOMIC(atomicExch, float, b)

// ------------------------------------------------------------------------------------------------- arithmetic
// glibc has functions of some of these names, so they are macros here.

template <class T> static inline T emu_min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T emu_max(T a, T b) { return a < b ? b : a; }
static inline int min(int a, int b) { return emu_min(a, b); }
static inline int max(int a, int b) { return emu_max(a, b); }
static inline unsigned min(unsigned a, unsigned b) { return emu_min(a, b); }
static inline unsigned max(unsigned a, unsigned b) { return emu_max(a, b); }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline float emu_rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double emu_rsqrt(double x) { return 1.0 / sqrt(x); }
#define rsqrtf emu_rsqrtf
#define rsqrt emu_rsqrt
static inline void emu_sincospi(double x, double *s, double *c) { *s = sin(3.14159265358979324 * x), *c = cos(3.14159265358979324 * x); }
#define sincospi emu_sincospi
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __sincosf(x, s, c) sincosf(x, s, c)
#define __fdividef(a, b) ((a) / (b))
#define __frcp_rn(x) (1.0f / (x))
#define __fmaf_rn(a, b, c) fmaf(a, b, c)
#define __fadd_rn(a, b) ((a) + (b))
#define __fmul_rn(a, b) ((a) * (b))
static inline int __float2int_rn(float x) { return (int)lrintf(x); }
static inline int __float2int_rd(float x) { return (int)floorf(x); }
static inline long long __float2ll_rn(float x) { return llrintf(x); }
static inline long long __double2ll_rn(double x) { return llrint(x); }
static inline int __float_as_int(float x) { return emu_unpack<int>(emu_pack(x)); }
static inline float __int_as_float(int x) { return emu_unpack<float>(emu_pack(x)); }
static inline unsigned __float_as_uint(float x) { return emu_unpack<unsigned>(emu_pack(x)); }
static inline float __uint_as_float(unsigned x) { return emu_unpack<float>(emu_pack(x)); }
static inline long long __double_as_longlong(double x) { return emu_unpack<long long>(emu_pack(x)); }
static inline double __longlong_as_double(long long x) { return emu_unpack<double>(emu_pack(x)); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
template <class T> static inline T __ldg(const T *p) { return *p; }

// --------------------------------------------------------------------------------------------------- host calls

enum cudaError_t {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
    cudaErrorNoDevice = 100, cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600, cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901, cudaErrorStreamCaptureImplicit = 906, cudaErrorGraphExecUpdateFailure = 910
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2, cudaHostAllocDefault = 0,
       cudaHostAllocMapped = 2 };
typedef struct emu_stream *cudaStream_t;
typedef struct emu_event  *cudaEvent_t;
typedef struct emu_graph  *cudaGraph_t;
typedef struct emu_graph  *cudaGraphExec_t;
typedef struct {
    int result; // 0: updated
} cudaGraphExecUpdateResultInfo;
struct cudaDeviceProp {
    char   name[256];
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin;
    int    major, minor, multiProcessorCount, warpSize, maxThreadsPerBlock;
};

extern "C" {
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **p, size_t size);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t size);
cudaError_t cudaHostAlloc(void **p, size_t size, unsigned flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void *to, int value, size_t size);
cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t emu_properties(cudaDeviceProp *properties);
cudaError_t emu_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                       void (*body)(void *), void *argument, void (*destroy)(void *));
cudaError_t emu_attribute(const void *kernel, cudaFuncAttribute attribute, int value);
}
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) { return emu_properties(p); }
template <class F> static inline cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute attribute, int value)
{
    return emu_attribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
template <class T> static inline cudaError_t cudaMalloc(T **p, size_t size) { return cudaMalloc(reinterpret_cast<void **>(p), size); }
template <class T> static inline cudaError_t cudaMallocHost(T **p, size_t size) { return cudaMallocHost(reinterpret_cast<void **>(p), size); }

/// A kernel and its arguments, copied at the call as a launch does; the compiler checks number and conversions.
template <class... P> struct emu_call {
    void (*kernel)(P...);
    std::tuple<P...> arguments;
};
template <class... P> static void emu_call_body(void *call)
{
    const emu_call<P...> *c = static_cast<const emu_call<P...> *>(call);

    std::apply(c->kernel, c->arguments);
}
template <class... P> static void emu_call_free(void *call)
{
    delete static_cast<emu_call<P...> *>(call);
}
template <class... P, class... A>
static void emu_launch_typed(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                             const A &...arguments)
{
    static_assert(sizeof...(P) == sizeof...(A), "as many arguments as the kernel has parameters");
    emu_launch(name, reinterpret_cast<const void *>(kernel), grid, block, shared, stream, emu_call_body<P...>,
               new emu_call<P...>{kernel, std::tuple<P...>(arguments...)}, emu_call_free<P...>);
}

#endif
