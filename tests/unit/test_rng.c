// SPDX-License-Identifier: Apache-2.0
// Philox against the published vectors, and what the physics needs of the streams built on it.
#include "base/rng.h"
#include "test.h"

/// Known answers of philox4x32 with 10 rounds, from the file kat_vectors of Random123 [salmon2011].
static void published_vectors(void)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                 {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                 {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    size_t k, m;

    for (k = 0; k < 3; k++) {
        uint32_t out[4];

        mds_philox(cases[k].counter, cases[k].key[0] | (uint64_t)cases[k].key[1] << 32, out);
        for (m = 0; m < 4; m++) TEST_INT(out[m], cases[k].out[m]);
    }
}

static void uniform_numbers_are_inside_zero_and_one(void)
{
    double   u[4], least = 1, most = 0, sum = 0;
    uint32_t i;
    int      k;

    for (i = 0; i < 100000; i++) {
        mds_uniform4(7, MDS_RNG_MAKE, 3, i, u);
        for (k = 0; k < 4; k++) {
            least = fmin(least, u[k]);
            most = fmax(most, u[k]);
            sum += u[k];
        }
    }
    TEST_TRUE(least > 0 && most < 1); // log(0) in the Gaussians otherwise
    TEST_NEAR(sum / 400000, 0.5, 5 * sqrt(1.0 / 12 / 400000)); // five standard errors
}

/// Moments of 400000 Gaussians: each within five standard errors of what the normal distribution has.
static void gaussian_moments(void)
{
    const double n = 400000;
    double       g[4], m[5] = {0}, cross = 0;
    uint32_t     i;
    int          k;

    for (i = 0; i < 100000; i++) {
        mds_gauss4(11, MDS_RNG_LANGEVIN, 1000000007, i, g);
        for (k = 0; k < 4; k++) {
            m[1] += g[k];
            m[2] += g[k] * g[k];
            m[3] += pow(g[k], 3);
            m[4] += pow(g[k], 4);
        }
        cross += g[0] * g[1] + g[2] * g[3]; // the two of one Box-Muller pair
    }
    TEST_NEAR(m[1] / n, 0, 5 * sqrt(1 / n));
    TEST_NEAR(m[2] / n, 1, 5 * sqrt(2 / n));
    TEST_NEAR(m[3] / n, 0, 5 * sqrt(15 / n));
    TEST_NEAR(m[4] / n, 3, 5 * sqrt(96 / n));
    TEST_NEAR(cross / (n / 2), 0, 5 * sqrt(2 / n));
}

/// Seed, purpose, step (all 64 bits of it) and atom each give other numbers.
static void every_part_of_the_counter_counts(void)
{
    double base[4], other[4];

    mds_uniform4(1, 2, 3, 4, base);
    mds_uniform4(1, 2, 3, 4, other);
    TEST_TRUE(!memcmp(base, other, sizeof base));
    mds_uniform4(2, 2, 3, 4, other);
    TEST_TRUE(base[0] != other[0]);
    mds_uniform4(1 + (1ull << 32), 2, 3, 4, other);
    TEST_TRUE(base[0] != other[0]);
    mds_uniform4(1, 3, 3, 4, other);
    TEST_TRUE(base[0] != other[0]);
    mds_uniform4(1, 2, 3 + (1ull << 32), 4, other);
    TEST_TRUE(base[0] != other[0]);
    mds_uniform4(1, 2, 3, 5, other);
    TEST_TRUE(base[0] != other[0]);
}

int main(void)
{
    published_vectors();
    uniform_numbers_are_inside_zero_and_one();
    gaussian_moments();
    every_part_of_the_counter_counts();
    return test_end();
}
