// SPDX-License-Identifier: Apache-2.0
// Fourier sums in place of FFTW, for test_neon.sh: each direction by its definition, n^4 operations, in double.
#include <fftw3.h>
#include <math.h>
#include <stdlib.h>

typedef double pair[2]; // re, im: how a complex number lies in memory

struct neon_plan {
    int           n[3], sign;
    double       *real;
    pair         *wave;
};

static fftw_plan plan(int n0, int n1, int n2, double *real, fftw_complex *wave, int sign)
{
    struct neon_plan *p = malloc(sizeof *p);

    if (p) *p = (struct neon_plan){{n0, n1, n2}, sign, real, (pair *)wave};
    return p;
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

void fftw_destroy_plan(fftw_plan p)
{
    free(p);
}

/// n values, `stride` apart, by their sums. held [n].
static void line(int n, int sign, pair *at, size_t stride, pair *held)
{
    for (int k = 0; k < n; k++) {
        held[k][0] = held[k][1] = 0;
        for (int j = 0; j < n; j++) {
            const double angle = sign * 2 * 3.14159265358979323846 * (double)((long)j * k % n) / n, c = cos(angle), s = sin(angle);
            const double *x = at[(size_t)j * stride];

            held[k][0] += c * x[0] - s * x[1];
            held[k][1] += c * x[1] + s * x[0];
        }
    }
    for (int k = 0; k < n; k++) at[(size_t)k * stride][0] = held[k][0], at[(size_t)k * stride][1] = held[k][1];
}

/// The whole complex mesh along its three directions.
static void whole(const struct neon_plan *p, pair *mesh)
{
    const size_t  n1 = (size_t)p->n[1], n2 = (size_t)p->n[2], all = (size_t)p->n[0] * n1 * n2;
    pair        *held = malloc((size_t)(p->n[0] + p->n[1] + p->n[2]) * sizeof *held);

    for (size_t i = 0; i < all; i++) {
        const size_t x = i / (n1 * n2), y = i / n2 % n1, z = i % n2;

        if (z == 0) line(p->n[2], p->sign, mesh + i, 1, held);
        if (z + 1 == n2 && y + 1 == n1) // the plane has all of its z
            for (size_t k = 0; k < n2; k++) line(p->n[1], p->sign, mesh + x * n1 * n2 + k, n2, held);
    }
    for (size_t k = 0; k < n1 * n2; k++) line(p->n[0], p->sign, mesh + k, n1 * n2, held);
    free(held);
}

void fftw_execute(fftw_plan p)
{
    const int     n0 = p->n[0], n1 = p->n[1], n2 = p->n[2], half = n2 / 2 + 1;
    pair         *mesh = malloc((size_t)n0 * (size_t)n1 * (size_t)n2 * sizeof *mesh);

    for (int x = 0; x < n0; x++)
        for (int y = 0; y < n1; y++)
            for (int z = 0; z < n2; z++) {
                double   *to = mesh[((size_t)x * (size_t)n1 + (size_t)y) * (size_t)n2 + (size_t)z];
                const int back = z >= half; // the wave is the opposite's conjugate
                const int a = back ? (n0 - x) % n0 : x, b = back ? (n1 - y) % n1 : y, c = back ? n2 - z : z;
                const double *from = p->wave[((size_t)a * (size_t)n1 + (size_t)b) * (size_t)half + (size_t)c];

                to[0] = p->sign < 0 ? p->real[((size_t)x * (size_t)n1 + (size_t)y) * (size_t)n2 + (size_t)z] : from[0];
                to[1] = p->sign < 0 ? 0 : back ? -from[1] : from[1];
            }
    whole(p, mesh);
    for (int x = 0; x < n0; x++)
        for (int y = 0; y < n1; y++)
            for (int z = 0; z < n2; z++) {
                const double *from = mesh[((size_t)x * (size_t)n1 + (size_t)y) * (size_t)n2 + (size_t)z];

                if (p->sign > 0) {
                    p->real[((size_t)x * (size_t)n1 + (size_t)y) * (size_t)n2 + (size_t)z] = from[0];
                } else if (z < half) {
                    double *to = p->wave[((size_t)x * (size_t)n1 + (size_t)y) * (size_t)half + (size_t)z];

                    to[0] = from[0], to[1] = from[1];
                }
            }
    free(mesh);
}
