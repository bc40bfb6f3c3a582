// SPDX-License-Identifier: Apache-2.0
// The mesh transform at every level this machine runs: against the defining sum, forth and back, on sides of every
// radix it has code for and on primes it has none for; the same bits on any number of threads.
#include "cpu/fft.h"

#include "base/units.h"
#include "cpu/isa.h"
#include "test.h"

typedef struct {
    const fft_plan *plan;
    float          *mesh; // [n0][n1][n2]
} mesh;

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / 8388608.0f - 1;
}

static void fill(void *context, int32_t p, float *real)
{
    const mesh    *m = context;
    const int32_t *n = m->plan->n;

    memset(real, 0, (size_t)n[1] * (size_t)m->plan->row * sizeof *real);
    for (int32_t y = 0; y < n[1]; y++)
        memcpy(real + y * m->plan->row, m->mesh + ((size_t)p * (size_t)n[1] + (size_t)y) * (size_t)n[2], (size_t)n[2] * sizeof *real);
}

static void drain(void *context, int32_t p, float *real)
{
    const mesh    *m = context;
    const int32_t *n = m->plan->n;

    for (int32_t y = 0; y < n[1]; y++)
        memcpy(m->mesh + ((size_t)p * (size_t)n[1] + (size_t)y) * (size_t)n[2], real + y * m->plan->row, (size_t)n[2] * sizeof *real);
}

static mesh mesh_of(const cpu_fft *fft, uint32_t seed)
{
    mesh         m = {.plan = mds_cpu_fft_plan(fft)};
    const size_t size = (size_t)m.plan->n[0] * (size_t)m.plan->n[1] * (size_t)m.plan->n[2];

    m.mesh = malloc(size * sizeof *m.mesh);
    for (size_t i = 0; i < size; i++) m.mesh[i] = noise(&seed);
    return m;
}

/// One wave by its sum, from tables of the phases.
static void wave_of(const mesh *m, const int32_t k[3], double *re, double *im)
{
    const int32_t *n = m->plan->n;

    *re = *im = 0;
    for (int32_t x = 0; x < n[0]; x++)
        for (int32_t y = 0; y < n[1]; y++)
            for (int32_t z = 0; z < n[2]; z++) {
                const double a = -2 * MDS_PI * ((double)(x * k[0] % n[0]) / n[0] + (double)(y * k[1] % n[1]) / n[1] +
                                                (double)(z * k[2] % n[2]) / n[2]);
                const double value = (double)m->mesh[(x * n[1] + y) * n[2] + z];

                *re += value * cos(a);
                *im += value * sin(a);
            }
}

static void against_sum(const char *level, int32_t n0, int32_t n1, int32_t n2)
{
    const int32_t n[3] = {n0, n1, n2};
    const size_t  size = (size_t)n0 * (size_t)n1 * (size_t)n2;
    const int     stride = size > 3000 ? 7 : 1; // of the waves looked at; no side of these is a multiple
    double        worst = 0, back = 0;
    cpu_fft      *fft;
    mesh          in, out;
    int           turn = 0;

    TEST_OK(mds_cpu_fft_open(n, 2, level, &fft));
    in = mesh_of(fft, 7);
    out = mesh_of(fft, 8);
    mds_cpu_fft_forward(fft, fill, &in);
    for (int32_t p = 0; p < n0; p++)
        for (int32_t r = 0; r < n2; r++)
            for (int32_t q = 0; q <= n1 / 2; q++) {
                const float *wave = mds_cpu_fft_waves(fft, p, r) + q / FFT_LANES * FFT_WAVE + q % FFT_LANES;
                double       re, im;

                if (turn++ % stride) continue;
                wave_of(&in, (const int32_t[3]){p, q, r}, &re, &im);
                worst = fmax(worst, fmax(fabs(re - (double)wave[0]), fabs(im - (double)wave[FFT_LANES])));
            }
    // float: eps sqrt(log2 N) of the root of the sum of squares, with a margin of ten
    TEST_TRUE(worst <= 10 * 6e-8 * sqrt(log2((double)size) * (double)size));
    mds_cpu_fft_backward(fft, drain, &out);
    for (size_t i = 0; i < size; i++) back = fmax(back, fabs((double)out.mesh[i] / (double)size - (double)in.mesh[i]));
    TEST_TRUE(back < 2e-6);
    mds_cpu_fft_close(fft);
    free(in.mesh);
    free(out.mesh);
}

/// Convolution in one go gives the bits of its three parts.
static void convolved(const char *level, int32_t n0)
{
    const int32_t n[3] = {n0, 9, 14};
    const size_t  size = (size_t)n0 * 9 * 14;
    cpu_fft      *fft;

    TEST_OK(mds_cpu_fft_open(n, 2, level, &fft));
    const fft_plan *plan = mds_cpu_fft_plan(fft);
    const int32_t   of_line = plan->blocks * FFT_LANES;
    mesh            in = mesh_of(fft, 5), one = mesh_of(fft, 5), three = mesh_of(fft, 5);
    float          *factor = calloc((size_t)(n0 * 14 * of_line), sizeof *factor);
    uint32_t        seed = 9;

    for (int32_t i = 0; i < n0 * 14 * of_line; i++) factor[i] = noise(&seed);
    mds_cpu_fft_convolve(fft, fill, drain, &one, factor);
    mds_cpu_fft_forward(fft, fill, &three);
    for (int32_t line = 0; line < n0 * 14; line++)
        for (int32_t j = 0; j < of_line; j++) {
            float *wave = mds_cpu_fft_waves(fft, line / 14, line % 14) + j / FFT_LANES * FFT_WAVE + j % FFT_LANES;

            wave[0] *= factor[line * of_line + j];
            wave[FFT_LANES] *= factor[line * of_line + j];
        }
    mds_cpu_fft_backward(fft, drain, &three);
    TEST_TRUE(!memcmp(one.mesh, three.mesh, size * sizeof(float)));
    TEST_TRUE(memcmp(one.mesh, in.mesh, size * sizeof(float)) != 0);
    mds_cpu_fft_close(fft);
    free(in.mesh), free(one.mesh), free(three.mesh), free(factor);
}

static void same_bits(const char *level)
{
    const int32_t n[3] = {20, 18, 27};
    const size_t  size = 20 * 18 * 27;
    mesh          out[3];

    for (int t = 0; t < 3; t++) {
        cpu_fft *fft;

        TEST_OK(mds_cpu_fft_open(n, t + 1, level, &fft));
        out[t] = mesh_of(fft, 3);
        for (int turn = 0; turn < 2; turn++) { // what the first one leaves behind must not matter
            mds_cpu_fft_forward(fft, fill, &out[t]);
            mds_cpu_fft_backward(fft, drain, &out[t]);
            for (size_t i = 0; i < size; i++) out[t].mesh[i] /= (float)size;
        }
        mds_cpu_fft_close(fft);
    }
    TEST_TRUE(!memcmp(out[0].mesh, out[1].mesh, size * sizeof(float)));
    TEST_TRUE(!memcmp(out[0].mesh, out[2].mesh, size * sizeof(float)));
    for (int t = 0; t < 3; t++) free(out[t].mesh);
}

int main(void)
{
    const int32_t bad[3] = {8, 0, 8};
    cpu_fft      *fft;

    for (int k = 0; mds_isa_levels[k]; k++) {
        const char *level = mds_isa_levels[k]->name;

        if (!mds_isa_runs(mds_isa_levels[k])) continue;
        against_sum(level, 8, 9, 10);
        against_sum(level, 5, 7, 15);
        against_sum(level, 13, 6, 4); // 104 = 8 x 13 occurs in reference systems
        against_sum(level, 6, 22, 19);
        against_sum(level, 2, 1, 1);
        against_sum(level, 1, 2, 3);
        against_sum(level, 4, 5, 33);
        against_sum(level, 16, 27, 28);
        against_sum(level, 30, 24, 20);
        convolved(level, 1);
        convolved(level, 13);
        convolved(level, 36);
        same_bits(level);
    }
    TEST_FAILS(mds_cpu_fft_open(bad, 1, "generic", &fft), MDS_E_INPUT, "out of range");
    TEST_TRUE(!fft);
    mds_cpu_fft_close(NULL);
    TEST_INT(mds_fft_size(1), 1);
    TEST_INT(mds_fft_size(11), 12);
    TEST_INT(mds_fft_size(52), 54);
    TEST_INT(mds_fft_size(97), 98);
    TEST_INT(mds_fft_size(121), 125);
    return test_end();
}
