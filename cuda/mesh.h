// SPDX-License-Identifier: Apache-2.0
// Private data of the mesh stage (mesh.cu, spread.cu, solve.cu, gather.cu), and the spline weights that spread and gather share.
//
// Charges carry sqrt(MDS_COULOMB), as in gpu_view.xq, so the mesh holds kJ/mol throughout. Its points lie with the third direction
// innermost. A 32-bit fraction of the box times the number of points, as one 64-bit product, is the cell (upper half) and the place
// in it (lower half): no double, and no rounding of positions that depends on where the box begins.
#ifndef MDS_CUDA_MESH_H
#define MDS_CUDA_MESH_H

#include "device.h"

#include <cublas_v2.h>
#include <cufft.h>

enum { MESH_MIN_ORDER = 4, MESH_MAX_ORDER = 8, MESH_THREADS = 128 };

/// What the kernels get, by value.
typedef struct {
    int           n[3], half;          // points; waves kept along the third direction, n[2]/2 + 1
    unsigned      magic;               // upper half of a 64-bit product with it divides by half
    float         scale;               // of charges on the way to the fixed-point mesh, a power of two
    double        unit, norm;          // charge of a unit of that mesh; (order - 1)!^-3
    int          *charge;              // [n0 n1 n2, up to a multiple of 4] units; 0 between the steps
    float        *real;                // [the same] units, then the potential
    float2       *wave;                // [n0][n1][half] of units, then of the potential
    const float  *moduli[3];           // [n[k]] |b(m)|^2
    const float2 *turn;                // [half] cos, sin of 2 pi k/n[2]
    const float4 *spectrum, *slope;    // [cells] cubics of ghat, of k dghat/dk over k in steps of 1/rate
    int           cells;
    float         rate;                // cells a 1/nm
    double        background;          // energy of a net charge's background times volume, kJ/mol nm^3
} mesh_view;

typedef struct gpu_mesh_double gpu_mesh_double; // mesh_double.cu

/// How charges become potential: by cuFFT, in one block (fft.cu), by matrix products (dft.cu).
typedef enum { MESH_CHOOSE, MESH_CUFFT, MESH_BLOCK, MESH_GEMM } mesh_way;
enum { MESH_DFT_Z, MESH_DFT_Y_RE, MESH_DFT_Y_IM, MESH_DFT_X, MESH_DFT_MATRICES };

struct gpu_mesh {
    mesh_view   view;
    double      largest;               // charge, sqrt(MDS_COULOMB) e
    int         order, planned[3];     // the mesh that there are arrays and plans for; 0: none
    mesh_way    wish, way;             // what a test asks for; what is done
    cufftHandle forward, backward;     // MESH_CUFFT
    cublasHandle_t blas;               // MESH_GEMM
    const float *dft[MESH_DFT_MATRICES];
    float       *second;               // [as wave] beside it
    gpu_mesh_double *in_double;        // NULL unless params.double_precision; then it is the mesh, and what is above has no arrays
};

mds_status GPU_NAME(mesh_spread)(mds_device *d);              // enqueue: charges onto the fixed-point mesh
mds_status GPU_NAME(mesh_convert)(mds_device *d);             // enqueue: that mesh to float, and cleared for the next step
mds_status GPU_NAME(mesh_solve)(mds_device *d, mds_work work); // enqueue: waves times their influence factors, energy, virial
enum { MESH_GEMM_MOST = 160 };                                // points along a direction: beyond, n flops a point are never worth it
bool       GPU_NAME(mesh_fits)(const mesh_view *m, bool wanted); // can the mesh be done in one block, and (if not wanted) is it worth it?
mds_status GPU_NAME(mesh_transform)(mds_device *d, mds_work work); // enqueue, in place of convert, FFT, solve, FFT: all of it in one block
mds_status GPU_NAME(mesh_dft_open)(mds_device *d);
void       GPU_NAME(mesh_dft_close)(gpu_mesh *m);
mds_status GPU_NAME(mesh_dft)(mds_device *d, bool back);      // enqueue: the transforms as matrix products
mds_status GPU_NAME(mesh_gather)(mds_device *d, int times, cudaStream_t stream); // enqueue: forces, so many times as strong
mds_status GPU_NAME(mesh_double_set)(mds_device *d);          // the same, all of it in double
void       GPU_NAME(mesh_double_close)(gpu_mesh *m);
mds_status GPU_NAME(mesh_double)(mds_device *d, mds_phase phase, mds_work work);
mds_status GPU_NAME(mesh_double_gather)(mds_device *d, int times, cudaStream_t stream);

#define FFT_TRY(call)                                                                                        \
    do {                                                                                                     \
        const cufftResult fft_error = (call);                                                                \
        if (fft_error != CUFFT_SUCCESS)                                                                      \
            MDS_FAIL(fft_error == CUFFT_ALLOC_FAILED ? MDS_E_MEMORY : MDS_E_DEVICE, "%s: cuFFT error %d", #call, (int)fft_error); \
    } while (0)

/// Launch the kernel of the mesh's order on a stream.
#define MESH_LAUNCH(kernel, d, stream, ...)                                                                          \
    switch ((d)->mesh->order) {                                                                              \
    case 4: GPU_LAUNCH(kernel<4>, (unsigned)(d)->view.n_blocks, MESH_THREADS, 0, stream, __VA_ARGS__); break; \
    case 5: GPU_LAUNCH(kernel<5>, (unsigned)(d)->view.n_blocks, MESH_THREADS, 0, stream, __VA_ARGS__); break; \
    case 6: GPU_LAUNCH(kernel<6>, (unsigned)(d)->view.n_blocks, MESH_THREADS, 0, stream, __VA_ARGS__); break; \
    case 7: GPU_LAUNCH(kernel<7>, (unsigned)(d)->view.n_blocks, MESH_THREADS, 0, stream, __VA_ARGS__); break; \
    case 8: GPU_LAUNCH(kernel<8>, (unsigned)(d)->view.n_blocks, MESH_THREADS, 0, stream, __VA_ARGS__); break; \
    }

/// Weights of order ORDER at w in [0, 1] of a cell, times (ORDER - 1)!, by the recursion of num/spline.c without its divisions: those
/// would round the same way for every atom, and all energies with them: the factor is where the box is. All terms are positive, so float loses nothing.
/// Point k lies ORDER - 1 - k cells before that of the charge. slope: d theta/d w, from the weights of one order less.
template <int ORDER> static __device__ __forceinline__ void mesh_weights(float w, float (&theta)[ORDER], float (&slope)[ORDER])
{
    theta[0] = 1 - w;
    theta[1] = w;
    for (int n = 3; n <= ORDER; n++) {
        if (n == ORDER) {
            slope[0] = (float)(1 - ORDER) * theta[0];
            for (int k = 1; k < ORDER - 1; k++) slope[k] = (float)(ORDER - 1) * (theta[k - 1] - theta[k]);
            slope[ORDER - 1] = (float)(ORDER - 1) * theta[ORDER - 2];
        }
        theta[n - 1] = w * theta[n - 2];
        for (int k = n - 2; k > 0; k--) theta[k] = (w + (float)(n - 1 - k)) * theta[k - 1] + ((float)(k + 1) - w) * theta[k];
        theta[0] = (1 - w) * theta[0];
    }
}

/// A component of three without an index into them, which would put them into local memory.
template <class T> static __device__ __forceinline__ T mesh_pick(int k, T x, T y, T z)
{
    return k == 0 ? x : k == 1 ? y : z;
}

/// Where an atom meets the mesh along direction k: its cell, and the place in it from 0 to 1.
static __device__ __forceinline__ int mesh_cell(const mesh_view *m, const uint4 *fraction, int k, float *w)
{
    const uint4              f = *fraction;
    const unsigned           n = (unsigned)mesh_pick(k, m->n[0], m->n[1], m->n[2]);
    const unsigned long long u = (unsigned long long)mesh_pick(k, f.x, f.y, f.z) * n;

    *w = (float)(unsigned)u * 2.3283064365386963e-10f; // 2^-32
    return (int)(u >> 32);
}

#endif
