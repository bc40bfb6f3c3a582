// SPDX-License-Identifier: Apache-2.0
// The mesh's own Fourier transform: threads and memory around the kernels of isa_fft.c. Any size; fast for the factors
// 2, 3, 5, 7.
#ifndef MDS_CPU_FFT_H
#define MDS_CPU_FFT_H

#include "base/base.h"
#include "cpu/isa_fft.h"

typedef struct cpu_fft cpu_fft;

/// Fill or take one plane: real [n1][row], row as in the plan. What lies beyond n2 in a row must be 0 when filled. Called by
/// several threads at once, for different planes.
typedef void (*cpu_fft_plane)(void *context, int32_t plane, float *real);

/// n in [1, 4096]. level: an ISA level's name. Owner: mds_cpu_fft_close. Errors: MDS_E_INPUT, MDS_E_MEMORY.
mds_status      mds_cpu_fft_open(const int32_t n[3], int threads, const char *level, cpu_fft **out);
void            mds_cpu_fft_close(cpu_fft *fft);
/// Planes, as `fill` gives them, to waves. The same bits for any number of threads.
void            mds_cpu_fft_forward(cpu_fft *fft, cpu_fft_plane fill, void *context);
/// Waves to planes, unnormalised; the waves are lost.
void            mds_cpu_fft_backward(cpu_fft *fft, cpu_fft_plane drain, void *context);
/// Forward, every wave times its factor, [n0][n2][blocks][FFT_LANES], and backward: the same bits as one after the other,
/// with one pass over the waves in place of three.
void            mds_cpu_fft_convolve(cpu_fft *fft, cpu_fft_plane fill, cpu_fft_plane drain, void *context, const float *factor);
const fft_plan *mds_cpu_fft_plan(const cpu_fft *fft);
/// The waves kx, kz: [blocks][FFT_WAVE] over ky = 0 .. n1/2, eight real parts, then eight imaginary ones.
float          *mds_cpu_fft_waves(cpu_fft *fft, int32_t kx, int32_t kz);

#endif
