// SPDX-License-Identifier: Apache-2.0
// The few calls of FFTW that the oracle's mesh makes, by fourier.c: for the minimal build and for tests/stage/test_neon.sh.
#ifndef MINIMAL_FFTW3_H
#define MINIMAL_FFTW3_H

#include <complex.h>

enum { FFTW_ESTIMATE };
typedef double complex       fftw_complex;
typedef struct minimal_plan *fftw_plan;

/// NULL: out of memory.
fftw_plan fftw_plan_dft_r2c_3d(int n0, int n1, int n2, double *in, fftw_complex *out, unsigned flags);
fftw_plan fftw_plan_dft_c2r_3d(int n0, int n1, int n2, fftw_complex *in, double *out, unsigned flags);
void      fftw_execute(fftw_plan plan);
void      fftw_destroy_plan(fftw_plan plan);

#endif
