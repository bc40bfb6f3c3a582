// SPDX-License-Identifier: Apache-2.0
// Fourier transforms in place of FFTW where it is not installed: the oracle's mesh is all that uses them, so they are plain.
//
// A line of n points is cut by the smallest prime factor p into p interleaved lines of n/p, each transformed the same way, and put
// together with the roots of unity: n times the sum of n's prime factors operations (Cooley and Tukey's scheme for any radix). A prime
// length is its definition's sum. The real transforms go through the whole complex mesh; the half that they leave out is the conjugate of the
// opposite wave. Everything in double.
#include "base/base.h"

#include <fftw3.h>
#include <math.h>

struct minimal_plan {
    int             n[3], sign;
    double         *real;   // [n0][n1][n2]
    double complex *wave;   // [n0][n1][n2 / 2 + 1]
    double complex *mesh;   // [n0][n1][n2]
    double complex *root[3]; // [n[d]] exp(sign 2 pi i k / n)
    double complex *line, *held; // [largest n]
};

void fftw_destroy_plan(fftw_plan p)
{
    int d;

    if (!p) return;
    for (d = 0; d < 3; d++) mds_free(p->root[d]);
    mds_free(p->mesh);
    mds_free(p->line);
    mds_free(p->held);
    mds_free(p);
}

static mds_status fill(fftw_plan p)
{
    const double two_pi = 6.283185307179586476925;
    int          d, k, largest = 1;

    for (d = 0; d < 3; d++) {
        const int n = p->n[d];

        MDS_TRY(mds_alloc(&p->root[d], (size_t)n, sizeof *p->root[d]));
        for (k = 0; k < n; k++) p->root[d][k] = cos(two_pi * k / n) + p->sign * sin(two_pi * k / n) * I;
        if (n > largest) largest = n;
    }
    MDS_TRY(mds_alloc(&p->line, (size_t)largest, sizeof *p->line));
    MDS_TRY(mds_alloc(&p->held, (size_t)largest, sizeof *p->held));
    return mds_alloc(&p->mesh, (size_t)p->n[0] * (size_t)p->n[1] * (size_t)p->n[2], sizeof *p->mesh);
}

static fftw_plan plan(int n0, int n1, int n2, double *real, fftw_complex *wave, int sign)
{
    fftw_plan p = NULL;

    if (mds_alloc(&p, 1, sizeof *p) != MDS_OK) return NULL;
    *p = (struct minimal_plan){.n = {n0, n1, n2}, .sign = sign, .real = real, .wave = wave};
    if (fill(p) == MDS_OK) return p;
    fftw_destroy_plan(p);
    return NULL;
}

fftw_plan fftw_plan_dft_r2c_3d(int n0, int n1, int n2, double *in, fftw_complex *out, unsigned flags)
{
    (void)flags;
    return plan(n0, n1, n2, in, out, -1);
}

fftw_plan fftw_plan_dft_c2r_3d(int n0, int n1, int n2, fftw_complex *in, double *out, unsigned flags)
{
    (void)flags;
    return plan(n0, n1, n2, out, in, 1);
}

/// out [n] from n values of `in`, `stride` apart. root: of a whole line of n * step; held [n] is overwritten.
static void transform(int n, const double complex *in, size_t stride, double complex *out, const double complex *root, int step,
                      double complex *held)
{
    int p = 2, m, r, k;

    if (n == 1) {
        out[0] = in[0];
        return;
    }
    while (n % p) p++;
    m = n / p;
    for (r = 0; r < p; r++) transform(m, in + (size_t)r * stride, stride * (size_t)p, out + r * m, root, step * p, held);
    for (k = 0; k < n; k++) {
        double complex sum = 0;

        for (r = 0; r < p; r++) sum += out[r * m + k % m] * root[(int)((int64_t)r * k % n) * step];
        held[k] = sum;
    }
    for (k = 0; k < n; k++) out[k] = held[k];
}

/// Every line along direction d of the mesh.
static void transform_lines(fftw_plan p, int d)
{
    const size_t n = (size_t)p->n[d], stride = d == 2 ? 1 : d == 1 ? (size_t)p->n[2] : (size_t)p->n[1] * (size_t)p->n[2];
    const size_t lines = (size_t)p->n[0] * (size_t)p->n[1] * (size_t)p->n[2] / n;
    size_t       i, k;

    for (i = 0; i < lines; i++) {
        double complex *first = p->mesh + i / stride * stride * n + i % stride;

        transform((int)n, first, stride, p->line, p->root[d], 1, p->held);
        for (k = 0; k < n; k++) first[k * stride] = p->line[k];
    }
}

/// The wave of mesh point (x, y, z), from its half of the mesh or as the conjugate of the opposite one.
static double complex wave_at(const struct minimal_plan *p, int x, int y, int z)
{
    const int    half = p->n[2] / 2 + 1;
    const bool   back = z >= half;
    const size_t a = (size_t)(back ? (p->n[0] - x) % p->n[0] : x), b = (size_t)(back ? (p->n[1] - y) % p->n[1] : y);
    const size_t c = (size_t)(back ? p->n[2] - z : z);
    const double complex wave = p->wave[(a * (size_t)p->n[1] + b) * (size_t)half + c];

    return back ? conj(wave) : wave;
}

void fftw_execute(fftw_plan p)
{
    const int half = p->n[2] / 2 + 1;
    size_t    i, w;
    int       x, y, z;

    for (x = 0, i = 0; x < p->n[0]; x++)
        for (y = 0; y < p->n[1]; y++)
            for (z = 0; z < p->n[2]; z++, i++) p->mesh[i] = p->sign < 0 ? p->real[i] : wave_at(p, x, y, z);
    for (x = 2; x >= 0; x--) transform_lines(p, x);
    for (x = 0, i = 0, w = 0; x < p->n[0]; x++)
        for (y = 0; y < p->n[1]; y++)
            for (z = 0; z < p->n[2]; z++, i++) {
                if (p->sign > 0)
                    p->real[i] = creal(p->mesh[i]);
                else if (z < half)
                    p->wave[w++] = p->mesh[i];
            }
}
