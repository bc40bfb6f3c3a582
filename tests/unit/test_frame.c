// SPDX-License-Identifier: Apache-2.0
// Frames: sums, pressure, sorting into global order, copies that keep their own memory.
#include "base/units.h"
#include "model/model.h"
#include "test.h"

static void sums_and_pressure(void)
{
    mds_frame f = {0};
    int       k;

    for (k = 0; k < MDS_N_ENERGY; k++) f.energy[k] = 1 << k;
    TEST_NEAR(mds_frame_potential(&f), (1 << MDS_N_ENERGY) - 1, 0); // every term once
    f.kinetic[0][0] = 1;
    f.kinetic[1][1] = 2;
    f.kinetic[2][2] = 4;
    f.kinetic[0][1] = 99; // no part of the trace
    TEST_NEAR(mds_frame_kinetic(&f), 7, 0);
    TEST_NEAR(mds_frame_temperature(&f, 100), 14 / (100 * MDS_BOLTZMANN), 1e-12);
    TEST_NEAR(mds_frame_temperature(&f, 0), 0, 0);
    f.virial[0][0] = -3;
    f.virial[1][1] = 5;
    f.constraint_virial[2][2] = 0.5;
    TEST_NEAR(mds_frame_pressure(&f), 0, 0); // no box
    f.box = (mds_box){{{2, 0, 0}, {0.5, 2, 0}, {0.5, 0.5, 2}}};
    // P = 2 (Ekin - Xi) / (3 V) with Xi = -3 + 5 + 0.5
    TEST_NEAR(mds_frame_pressure(&f), 2 * (7 - 2.5) / (3 * 8) * 16.6053906717385, 1e-12);
    f.work_noise = 10;
    f.work_scale = 100;
    TEST_NEAR(mds_frame_conserved(&f), (1 << MDS_N_ENERGY) - 1 + 7 - 110, 0);
}

/// 1000 molecules of an ideal gas: P V = N k T, in bar.
static void ideal_gas(void)
{
    mds_frame f = {0};

    f.box = (mds_box){{{10, 0, 0}, {0, 10, 0}, {0, 0, 10}}};
    f.kinetic[0][0] = f.kinetic[1][1] = f.kinetic[2][2] = 0.5 * 1000 * 0.00831446261815324 * 300;
    TEST_NEAR(mds_frame_temperature(&f, 3000), 300, 1e-10);
    TEST_NEAR(mds_frame_pressure(&f), 1000 * 1.380649e-23 * 300 / 1e-24 * 1e-5, 1e-9); // N k T / V in SI, to bar
}

static void sorts_into_global_order(void)
{
    enum { N = 101 };
    mds_frame f = {0}, copy = {0};
    int32_t   i, good = 0;

    TEST_OK(mds_frame_reserve(&f, N, MDS_FIELD_X | MDS_FIELD_F));
    f.n = N;
    for (i = 0; i < N; i++) {
        f.id[i] = (i * 37 + 5) % N; // a permutation: 37 and 101 share no factor
        f.x[i][0] = f.id[i];
        f.x[i][2] = -f.id[i];
        f.f[i][1] = 10 * f.id[i];
    }
    f.step = 77;
    TEST_OK(mds_frame_copy(&copy, &f));
    TEST_TRUE(copy.x != f.x && !copy.v && copy.step == 77 && copy.n == N);
    mds_frame_sort(&copy);
    for (i = 0; i < N; i++) good += copy.id[i] == i && copy.x[i][0] == i && copy.x[i][2] == -i && copy.f[i][1] == 10 * i;
    TEST_INT(good, N);
    TEST_INT(f.id[0], 5); // the original is as it was
    mds_frame_free(&copy);
    TEST_OK(mds_frame_reserve(&f, 5, MDS_FIELD_V)); // smaller, but a new array: it must have room for the old size
    TEST_INT(f.capacity >= N, 1);
    f.v[N - 1][2] = 3; // the address sanitizer looks here
    TEST_NEAR(f.x[7][0], f.id[7], 0);
    mds_frame_free(&f);
    TEST_TRUE(!f.x && !f.capacity);
}

int main(void)
{
    sums_and_pressure();
    ideal_gas();
    sorts_into_global_order();
    return test_end();
}
