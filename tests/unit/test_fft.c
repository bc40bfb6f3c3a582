// SPDX-License-Identifier: Apache-2.0
// The mesh transform against the defining sum, forth and back, on even, odd and prime sides; the same bits on
// any number of threads; several objects opened at once.
#include "num/num.h"

#include "base/units.h"
#include "test.h"

static float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / 8388608.0f - 1;
}

static void against_sum(int32_t n0, int32_t n1, int32_t n2)
{
    const int32_t n[3] = {n0, n1, n2};
    const size_t  size = (size_t)n0 * (size_t)n1 * (size_t)n2;
    float        *in = malloc(size * sizeof *in), *grid;
    uint32_t      seed = 7;
    mds_fft      *fft;
    int32_t       row, i, j, k, p, q, r;
    double        worst = 0, back = 0;

    TEST_OK(mds_fft_open(n, 2, &fft));
    grid = mds_fft_grid(fft);
    row = mds_fft_row(fft);
    TEST_TRUE(row >= 2 * (n2 / 2 + 1) && row % 4 == 0);
    for (i = 0; i < n0; i++)
        for (j = 0; j < n1; j++)
            for (k = 0; k < n2; k++) grid[(i * n1 + j) * row + k] = in[(i * n1 + j) * n2 + k] = noise(&seed);
    mds_fft_forward(fft);
    for (p = 0; p < n0; p += 2)
        for (q = 0; q < n1; q += 3)
            for (r = 0; r <= n2 / 2; r++) {
                double re = 0, im = 0;

                for (i = 0; i < n0; i++)
                    for (j = 0; j < n1; j++)
                        for (k = 0; k < n2; k++) {
                            const double a = -2 * MDS_PI *
                                             ((double)(i * p % n0) / n0 + (double)(j * q % n1) / n1 +
                                              (double)(k * r % n2) / n2);

                            re += (double)in[(i * n1 + j) * n2 + k] * cos(a);
                            im += (double)in[(i * n1 + j) * n2 + k] * sin(a);
                        }
                worst = fmax(worst, fabs(re - (double)grid[(p * n1 + q) * row + 2 * r]));
                worst = fmax(worst, fabs(im - (double)grid[(p * n1 + q) * row + 2 * r + 1]));
            }
    // float: eps sqrt(log2 N) of the root of the sum of squares, with a margin of ten
    TEST_TRUE(worst <= 10 * 6e-8 * sqrt(log2((double)size) * (double)size));
    mds_fft_backward(fft);
    for (i = 0; i < n0; i++)
        for (j = 0; j < n1; j++)
            for (k = 0; k < n2; k++)
                back = fmax(back, fabs((double)grid[(i * n1 + j) * row + k] / (double)size -
                                       (double)in[(i * n1 + j) * n2 + k]));
    TEST_TRUE(back < 2e-6);
    mds_fft_close(fft);
    free(in);
}

static void same_bits(void)
{
    const int32_t n[3] = {20, 18, 24};
    mds_fft      *fft[3];
    size_t        size;
    int           t;

    for (t = 0; t < 3; t++) TEST_OK(mds_fft_open(n, t + 1, &fft[t]));
    size = 20 * 18 * (size_t)mds_fft_row(fft[0]);
    for (t = 0; t < 3; t++) {
        uint32_t seed = 3;
        size_t   i;

        for (i = 0; i < size; i++) mds_fft_grid(fft[t])[i] = noise(&seed);
        mds_fft_forward(fft[t]);
        mds_fft_backward(fft[t]);
    }
    TEST_TRUE(!memcmp(mds_fft_grid(fft[0]), mds_fft_grid(fft[1]), size * sizeof(float)));
    TEST_TRUE(!memcmp(mds_fft_grid(fft[0]), mds_fft_grid(fft[2]), size * sizeof(float)));
    for (t = 0; t < 3; t++) mds_fft_close(fft[t]);
}

int main(void)
{
    const int32_t bad[3] = {8, 0, 8};
    mds_fft      *fft;

    against_sum(8, 9, 10);
    against_sum(5, 7, 15);
    against_sum(13, 6, 4); // 104 = 8 x 13 occurs in reference systems
    against_sum(2, 1, 1);
    same_bits();
    TEST_FAILS(mds_fft_open(bad, 1, &fft), MDS_E_INPUT, "out of range");
    TEST_TRUE(!fft);
    mds_fft_close(NULL);
    TEST_INT(mds_fft_size(1), 1);
    TEST_INT(mds_fft_size(11), 12);
    TEST_INT(mds_fft_size(52), 54);
    TEST_INT(mds_fft_size(97), 98);
    TEST_INT(mds_fft_size(121), 125);
    return test_end();
}
