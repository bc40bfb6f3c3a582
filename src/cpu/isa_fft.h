// SPDX-License-Identifier: Apache-2.0
// What fft.c and the kernels of isa_fft.c share: plans, layouts, and the table each ISA level shows.
#ifndef MDS_CPU_ISA_FFT_H
#define MDS_CPU_ISA_FFT_H

#include <stdint.h>

enum { FFT_LANES = 8, FFT_WAVE = 2 * FFT_LANES, FFT_STAGES = 16 };

/// A 1-D complex transform as a chain of radices, Stockham's way: no stage is in place and the last one leaves the
/// waves in order.
typedef struct {
    int32_t      n, n_stages;
    int32_t      radix[FFT_STAGES];
    const float *twiddle[FFT_STAGES]; // [n/radix of the stage][radix - 1][2] cos, -sin
    const float *root[FFT_STAGES];    // [radix][2], for radices without code of their own
} fft_line;

/// The transform of one mesh. A wave is eight waves along the second axis: re[8], im[8].
typedef struct {
    fft_line line[3];
    int32_t  n[3];
    int32_t  row;    // floats of a real row, a multiple of FFT_WAVE
    int32_t  half;   // n1/2 + 1
    int32_t  blocks; // waves for them
} fft_plan;

typedef struct {
    /// One plane: real [n1][row], zero beyond n2, to waves [n2][blocks][FFT_WAVE]; work as fft.c gives it.
    void (*forward)(const fft_plan *plan, const float *real, float *waves, float *work);
    /// And back, unnormalised.
    void (*backward)(const fft_plan *plan, const float *waves, float *real, float *work);
    /// Along the first axis, in place: n0 waves, `stride` floats apart. sign -1: forward, 1: backward.
    void (*along)(const fft_plan *plan, int sign, float *waves, int32_t stride, float *work);
    /// Forward, times factor [n0] of FFT_LANES, `factor_stride` floats apart, and backward, in one go.
    void (*convolve)(const fft_plan *plan, float *waves, int32_t stride, const float *factor, int32_t factor_stride,
                     float *work);
} isa_fft;

extern const isa_fft mds_isa_fft_generic, mds_isa_fft_avx2, mds_isa_fft_avx512;

#endif
