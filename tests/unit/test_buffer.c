// SPDX-License-Identifier: Apache-2.0
// The estimator of list buffers: its energy is what a simulation of its own assumptions finds, its depths bound the force,
// and what it chooses meets the tolerance.
#include "num/num.h"

#include "base/rng.h"
#include "base/units.h"
#include "test.h"

static mds_split split;
static mds_short form;

/// TIP3P water at 300 K, cut-off 0.9 nm: a third of the atoms heavy.
static mds_buffer_system water(void)
{
    return (mds_buffer_system){.cut = 0.9,
                               .cut_lj = 0.9,
                               .coulomb = &form,
                               .n_atoms = 24000,
                               .density = 100,
                               .share = {1.0 / 3, 2.0 / 3},
                               .speed = {0.38, 1.15},
                               .qq_mean = {0.834 * 0.834, 0.834 * 0.417, 0.417 * 0.417},
                               .qq_most = {0.834 * 0.834, 0.834 * 0.417, 0.417 * 0.417},
                               .lj_mean = {{2.489e-3, 2.435e-6}},
                               .lj_most = {{2.489e-3, 2.435e-6}}};
}

/// Short-range energy of unit charges, from the split itself.
static double coulomb(double r)
{
    double slope;

    return MDS_COULOMB * (1 - mds_split_phi(&split, r, &slope)) / r;
}

static double water_pair(const mds_buffer_system *s, int kind, double r)
{
    const double r6 = pow(r, -6);

    return s->qq_mean[kind] * coulomb(r) + s->lj_mean[kind][1] * r6 * r6 - s->lj_mean[kind][0] * r6;
}

/// Pairs drawn beyond the list's radius and moved along their line: the mean energy of those that end within the cut-off.
static double drawn(const mds_buffer_system *s, int kind, double width, double buffer)
{
    enum { DRAWS = 400000 };
    const double reach = 7 * width;
    double       sum = 0;

    if (reach <= buffer) return 0;
    for (int32_t i = 0; i < DRAWS; i++) {
        double u[4], gauss[4];

        mds_uniform4(3, 1, (uint64_t)kind, (uint32_t)i, u);
        mds_gauss4(3, 2, (uint64_t)kind, (uint32_t)i, gauss);
        const double then = s->cut + buffer + u[0] * (reach - buffer), now = then - width * gauss[0];

        if (now < s->cut) sum += fabs(water_pair(s, kind, now) - water_pair(s, kind, s->cut));
    }
    const double pairs = 0.5 * (kind == 1 ? 2 * s->share[0] * s->share[1] : s->share[kind / 2] * s->share[kind / 2]);

    return 4 * MDS_PI * s->cut * s->cut * s->density * pairs * (reach - buffer) * sum / DRAWS;
}

static void energy_is_what_drawing_finds(void)
{
    mds_buffer_system s = water();
    const double      t = 0.004, buffer = 0.006;
    const double      x = t / 0.015, light = s.speed[1] * 0.015 * sqrt(2 * (x - 1 + exp(-x))), heavy = s.speed[0] * t;
    double            want = 0;

    want += drawn(&s, 0, heavy * sqrt(2), buffer) + drawn(&s, 1, hypot(heavy, light), buffer) + drawn(&s, 2, light * sqrt(2), buffer);
    // some ten thousand of the draws count: a few per cent
    TEST_NEAR(mds_buffer_error(&s, buffer, t) / want, 1, 0.1);
}

static void buffers_meet_the_tolerance(void)
{
    mds_buffer_system s = water();
    double            before = 0;

    for (double tolerance = 1e-3; tolerance > 1e-9; tolerance /= 10) {
        const double buffer = mds_buffer_for(&s, 0.02, 0.02, tolerance);

        TEST_NEAR(mds_buffer_error(&s, buffer, 0.02) / (0.02 * tolerance), 1, 1e-2); // bisected to 1e-7 nm
        TEST_TRUE(buffer > before);
        before = buffer;
    }
    TEST_TRUE(mds_buffer_for(&s, 0.04, 0.04, 1e-6) > mds_buffer_for(&s, 0.02, 0.02, 1e-6));
    TEST_NEAR(mds_buffer_for(&s, 0.02, 0.02, 1e3), 0, 0);
}

static void depth_bounds_the_force(void)
{
    mds_buffer_system s = water();

    for (int kind = 0; kind < 3; kind++)
        for (double bound = 0.05; bound < 3; bound *= 3) {
            const double depth = mds_buffer_depth(&s, kind, bound);
            double       most = 0, beyond = 0;

            for (double r = 0.9 - depth; r < 0.9 - 1e-4; r += 1e-4)
                most = fmax(most, fabs(water_pair(&s, kind, r + 1e-6) - water_pair(&s, kind, r - 1e-6)) / 2e-6);
            for (double r = 0.9 - depth - 1e-3; r < 0.9 - depth; r += 1e-4)
                beyond = fmax(beyond, fabs(water_pair(&s, kind, r + 1e-6) - water_pair(&s, kind, r - 1e-6)) / 2e-6);
            TEST_TRUE(most <= bound);
            // Coulomb and LJ of heavy pairs are added by size, so their depth may be smaller than it could be
            if (kind) TEST_TRUE(beyond > bound);
            TEST_TRUE(depth > 0 && depth < 0.25 * 0.9);
        }
    TEST_NEAR(mds_buffer_depth(&s, 0, 0), 0, 0);
    // a cut-off without anything smooth about it: no depth for what pulls harder than the bound at the cut-off
    mds_short plain = {0};
    mds_short_cutoff(0.9, true, &plain);
    s.coulomb = &plain;
    TEST_NEAR(mds_buffer_depth(&s, 1, 0.5), 0, 0);
}

static void choices(void)
{
    mds_buffer_system s = water();
    mds_buffer_choice none = {0}, given = {.list_interval = 17, .outer = 0.123}, a, b;

    for (int kind = 0; kind < 3; kind++) s.depth[kind] = mds_buffer_depth(&s, kind, 0.5);
    mds_buffer_choose(&s, 0.002, 1e-6, &none, &a);
    TEST_TRUE(a.list_interval >= 20 && a.list_interval <= 50); // 40 to 100 fs
    TEST_TRUE(a.prune_interval >= 2 && a.outer > a.inner && a.inner > 0);
    TEST_TRUE(mds_buffer_error(&s, a.outer, 0.002 * a.list_interval) <= 1e-6 * 0.002 * a.list_interval * 1.01);
    TEST_TRUE(mds_buffer_misses(&s, a.outer, 0.002 * a.list_interval) < 0.011);
    mds_buffer_choose(&s, 0.002, 1e-6, &given, &b);
    TEST_INT(b.list_interval, 17);
    TEST_NEAR(b.outer, 0.123, 0);
    TEST_TRUE(b.inner <= b.outer);
    given.outer = 0;
    mds_buffer_choose(&s, 0.002, 1e-6, &given, &b);
    const double small = b.outer;
    s.n_atoms = 1e6; // more pairs: rarer ones happen
    mds_buffer_choose(&s, 0.002, 1e-6, &given, &b);
    TEST_TRUE(b.outer >= small);
    for (int kind = 0; kind < 3; kind++) s.depth[kind] = 0;
    mds_buffer_choose(&s, 0.002, 1e-6, &given, &b);
    TEST_TRUE(b.outer > small && mds_buffer_misses(&s, b.outer, 0.034) < 0.011);
}

/// A search costs about the same in any liquid, what is done with its tiles goes with their number: a thin liquid's list lives longer.
static void thin_liquid_searches_seldom(void)
{
    mds_buffer_system s = water();
    mds_buffer_choice none = {0}, dense, thin;

    mds_buffer_choose(&s, 0.002, 1e-6, &none, &dense);
    s.density *= 0.2;
    mds_buffer_choose(&s, 0.002, 1e-6, &none, &thin);
    TEST_TRUE(thin.list_interval > dense.list_interval);
}

int main(void)
{
    TEST_OK(mds_split_init(&split, MDS_NUM_PROLATE, 10, 0.9, 1));
    TEST_OK(mds_short_ewald(&split, false, 1e-9, &form));
    energy_is_what_drawing_finds();
    buffers_meet_the_tolerance();
    depth_bounds_the_force();
    choices();
    thin_liquid_searches_seldom();
    mds_split_free(&split);
    return test_end();
}
