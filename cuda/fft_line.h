// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of lines of up to some 40 complex points in the registers of one thread.
//
// A length N = A B is done as B transforms of length A, turns, A transforms of length B [cooley1965]; what remains are 2, 4 and odd
// primes. All is unfolded by templates: indices and turns are constants, nothing goes through memory, and output is in natural
// order. Flops: 4 x 8 points 372 additions and 88 products for 32; 5 and 7 by sums and differences of opposite points.
#ifndef MDS_CUDA_FFT_LINE_H
#define MDS_CUDA_FFT_LINE_H

#include "gpu.h"

/// cos and sin of 2 pi k/n for 0 <= k < n, by their series: the compiler works them out.
static __host__ __device__ constexpr double fft_cos(int k, int n)
{
    const double x2 = 39.478417604357434 * k * k / ((double)n * n); // (2 pi)^2
    double       term = 1, sum = 1;

    for (int i = 1; i < 26; i++) {
        term *= -x2 / ((2 * i - 1) * (2 * i));
        sum += term;
    }
    return sum;
}

static __host__ __device__ constexpr double fft_sin(int k, int n)
{
    const double x = 6.283185307179586 * k / n;
    double       term = x, sum = x;

    for (int i = 1; i < 26; i++) {
        term *= -x * x / ((2 * i) * (2 * i + 1));
        sum += term;
    }
    return sum;
}

static __host__ __device__ constexpr int fft_factor(int n)
{
    return n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : n % 5 == 0 ? 5 : n % 7 == 0 ? 7 : n;
}

/// Times e^(-2 pi i K/N).
template <int K, int N> static __device__ __forceinline__ void fft_turn(float *re, float *im)
{
    const float x = *re, y = *im;

    if constexpr (K == 0) {
        return;
    } else if constexpr (4 * K == N) {
        *re = y;
        *im = -x;
    } else if constexpr (2 * K == N) {
        *re = -x;
        *im = -y;
    } else if constexpr (4 * K == 3 * N) {
        *re = -y;
        *im = x;
    } else {
        constexpr float c = (float)fft_cos(K, N), s = (float)fft_sin(K, N);

        *re = fmaf(y, s, x * c);
        *im = fmaf(-x, s, y * c);
    }
}

/// Points J and P - J of an odd prime P, from sums (a) and differences (b) of the opposite points K and P - K.
template <int P, int J, int K>
static __device__ GPU_PART void fft_opposite(const float (&re)[P], const float (&im)[P], float sum[2], float difference[2])
{
    if constexpr (2 * K < P) {
        constexpr float c = (float)fft_cos(J * K % P, P), s = (float)fft_sin(J * K % P, P);

        sum[0] = fmaf(c, re[K], sum[0]);
        sum[1] = fmaf(c, im[K], sum[1]);
        difference[0] = fmaf(s, re[P - K], difference[0]);
        difference[1] = fmaf(s, im[P - K], difference[1]);
        fft_opposite<P, J, K + 1>(re, im, sum, difference);
    }
}

template <int P, int J>
static __device__ GPU_PART void fft_odd(const float (&re)[P], const float (&im)[P], float (&to_re)[P], float (&to_im)[P])
{
    if constexpr (2 * J < P) {
        float sum[2] = {re[0], im[0]}, difference[2] = {0, 0};

        fft_opposite<P, J, 1>(re, im, sum, difference);
        to_re[J] = sum[0] + difference[1];
        to_im[J] = sum[1] - difference[0];
        to_re[P - J] = sum[0] - difference[1];
        to_im[P - J] = sum[1] + difference[0];
        fft_odd<P, J + 1>(re, im, to_re, to_im);
    }
}

template <int N> static __device__ GPU_PART void fft_line(float (&re)[N], float (&im)[N]);

/// Turns of the points K.. of a line of A that is column C of N = A B.
template <int N, int A, int C, int K> static __device__ GPU_PART void fft_turns(float (&re)[A], float (&im)[A])
{
    if constexpr (K < A) {
        fft_turn<C * K % N, N>(&re[K], &im[K]);
        fft_turns<N, A, C, K + 1>(re, im);
    }
}

/// Columns C.. of N = A B: every B-th point from C, transformed and turned, where it was.
template <int N, int A, int C> static __device__ GPU_PART void fft_columns(float (&re)[N], float (&im)[N])
{
    constexpr int B = N / A;

    if constexpr (C < B) {
        float x[A], y[A];

        GPU_UNROLL
        for (int k = 0; k < A; k++) {
            x[k] = re[B * k + C];
            y[k] = im[B * k + C];
        }
        fft_line<A>(x, y);
        fft_turns<N, A, C, 1>(x, y);
        GPU_UNROLL
        for (int k = 0; k < A; k++) {
            re[B * k + C] = x[k];
            im[B * k + C] = y[k];
        }
        fft_columns<N, A, C + 1>(re, im);
    }
}

/// Rows R.. of N = A B: B neighbours, transformed, to every A-th point from R.
template <int N, int A, int R>
static __device__ GPU_PART void fft_rows(const float (&re)[N], const float (&im)[N], float (&to_re)[N], float (&to_im)[N])
{
    constexpr int B = N / A;

    if constexpr (R < A) {
        float x[B], y[B];

        GPU_UNROLL
        for (int k = 0; k < B; k++) {
            x[k] = re[B * R + k];
            y[k] = im[B * R + k];
        }
        fft_line<B>(x, y);
        GPU_UNROLL
        for (int k = 0; k < B; k++) {
            to_re[A * k + R] = x[k];
            to_im[A * k + R] = y[k];
        }
        fft_rows<N, A, R + 1>(re, im, to_re, to_im);
    }
}

/// sum_n x[n] e^(-2 pi i k n/N), in place, k in order. With re and im exchanged before and after: the inverse, not divided by N.
template <int N> static __device__ GPU_PART void fft_line(float (&re)[N], float (&im)[N])
{
    if constexpr (N == 2) {
        const float x = re[1], y = im[1];

        re[1] = re[0] - x;
        im[1] = im[0] - y;
        re[0] += x;
        im[0] += y;
    } else if constexpr (N == 4) {
        const float ax = re[0] + re[2], ay = im[0] + im[2], bx = re[0] - re[2], by = im[0] - im[2];
        const float cx = re[1] + re[3], cy = im[1] + im[3], dx = re[1] - re[3], dy = im[1] - im[3];

        re[0] = ax + cx;
        im[0] = ay + cy;
        re[1] = bx + dy;
        im[1] = by - dx;
        re[2] = ax - cx;
        im[2] = ay - cy;
        re[3] = bx - dy;
        im[3] = by + dx;
    } else if constexpr (fft_factor(N) == N) {
        float x[N], y[N];

        x[0] = re[0];
        y[0] = im[0];
        GPU_UNROLL
        for (int k = 1; 2 * k < N; k++) {
            x[k] = re[k] + re[N - k];
            y[k] = im[k] + im[N - k];
            x[N - k] = re[k] - re[N - k];
            y[N - k] = im[k] - im[N - k];
        }
        GPU_UNROLL
        for (int k = 1; 2 * k < N; k++) {
            re[0] += x[k];
            im[0] += y[k];
        }
        fft_odd<N, 1>(x, y, re, im);
    } else {
        constexpr int A = fft_factor(N);
        float         x[N], y[N];

        GPU_UNROLL
        for (int k = 0; k < N; k++) {
            x[k] = re[k];
            y[k] = im[k];
        }
        fft_columns<N, A, 0>(x, y);
        fft_rows<N, A, 0>(x, y, re, im);
    }
}

#endif
