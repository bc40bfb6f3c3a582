// SPDX-License-Identifier: Apache-2.0
// Made systems are whole, dense as promised, free of overlaps, liquid, neutral, repeatable.
#include "base/units.h"
#include "base/vec.h"
#include "model/model.h"
#include "test.h"

typedef struct {
    mds_system system;
    mds_state  state;
} made;

static made make(const char *name, int32_t n_atoms, uint64_t seed)
{
    made m = {0};

    TEST_OK(mds_make(name, n_atoms, seed, &m.system, &m.state));
    TEST_OK(mds_system_freeze(&m.system));
    return m;
}

static void drop(made *m)
{
    mds_system_free(&m->system);
    mds_state_free(&m->state);
}

static double density(const made *m)
{
    double mass = 0;

    for (int32_t i = 0; i < m->system.n_atoms; i++) mass += m->system.mass[i];
    return mass * MDS_DENSITY / mds_box_volume(&m->state.box);
}

static double distance(const made *m, int32_t i, int32_t j)
{
    const double edge = m->state.box.a[0][0]; // made boxes are cubes
    double       d[3];

    for (int k = 0; k < 3; k++) {
        d[k] = m->state.x[j][k] - m->state.x[i][k];
        while (d[k] > edge / 2) d[k] -= edge;
        while (d[k] < -edge / 2) d[k] += edge;
    }
    return mds_norm(d);
}

/// Kinetic temperature of the drawn velocities, every atom free, K.
static double temperature(const made *m)
{
    double twice = 0;

    for (int32_t i = 0; i < m->system.n_atoms; i++)
        twice += m->system.mass[i] * mds_dot(m->state.v[i], m->state.v[i]);
    return twice / (3.0 * m->system.n_atoms * MDS_BOLTZMANN);
}

static double momentum(const made *m, int k)
{
    double sum = 0;

    for (int32_t i = 0; i < m->system.n_atoms; i++) sum += m->system.mass[i] * m->state.v[i][k];
    return sum;
}

static bool same_molecule(const made *m, int32_t i, int32_t j)
{
    return m->system.name.residue_of[i] == m->system.name.residue_of[j];
}

/// Nearest distance between atoms of two elements in different molecules, and the mean number within `reach`.
static double nearest(const made *m, int32_t one, int32_t two, double reach, double *neighbours)
{
    double  least = INFINITY;
    int64_t pairs = 0, ones = 0;

    for (int32_t i = 0; i < m->system.n_atoms; i++) {
        if (m->system.atomic_number[i] != one) continue;
        ones++;
        for (int32_t j = 0; j < m->system.n_atoms; j++) {
            double r;

            if (m->system.atomic_number[j] != two || i == j || same_molecule(m, i, j)) continue;
            r = distance(m, i, j);
            if (r < least) least = r;
            if (r < reach) pairs++;
        }
    }
    *neighbours = ones ? (double)pairs / (double)ones : 0;
    return least;
}

static void water_has_the_models_geometry_and_density(const char *name, double oh, double hh, double want_density)
{
    made   m = make(name, 3000, 1);
    double around;

    TEST_INT(m.system.n_atoms, 3000);
    TEST_INT(m.system.water.n, 1000);
    TEST_INT(m.system.n_molecules, 1000);
    TEST_INT(m.system.link.n + m.system.cluster.n, 0);
    TEST_NEAR(density(&m), want_density, 1e-6 * want_density); // the box is computed from it, up to rounding
    TEST_NEAR(m.system.total_charge, 0, 1e-9);                 // rounding of 3000 sums
    for (int32_t w = 0; w < m.system.n_atoms; w += 3) {
        // whole molecules: plain differences, exact up to the rounding of thousands of small turns
        double d[3];

        for (int k = 0; k < 3; k++) d[k] = m.state.x[w + 1][k] - m.state.x[w][k];
        TEST_NEAR(mds_norm(d), oh, 1e-10);
        TEST_NEAR(distance(&m, w, w + 2), oh, 1e-10);
        TEST_NEAR(distance(&m, w + 1, w + 2), hh, 1e-10);
    }
    for (int32_t w = 0; w < m.system.water.n; w++) TEST_NEAR(m.system.water.length[2 * w + 1], hh, 1e-9);
    // g_OO and g_OH of liquid water are below 1e-3 inside 0.24 and 0.15 nm; two in 1e6 pairs may be a little nearer
    TEST_TRUE(nearest(&m, 8, 8, 0.335, &around) > 0.225);
    TEST_TRUE(around > 3.9 && around < 5.6); // first shell: about 4.7 in TIP3P and SPC/E up to the first minimum
    TEST_TRUE(nearest(&m, 8, 1, 0.245, &around) > 0.14);
    TEST_TRUE(around > 1.5 && around < 2.1); // hydrogen bonds an oxygen takes: 1.7 to 1.9 (a lattice at random: 0.9)
    // 9000 Gaussians: standard deviation 300 sqrt(2/9000) = 4.5 K; 4 sigma
    TEST_NEAR(temperature(&m), 300, 18);
    // rounding of 3000 terms of about 10 Da nm/ps; drawn and left alone it would be some 200
    for (int k = 0; k < 3; k++) TEST_NEAR(momentum(&m, k), 0, 1e-9);
    drop(&m);
}

static void argon_is_rahmans_liquid(void)
{
    made   m = make("argon", 864, 3);
    double around;

    TEST_INT(m.system.n_atoms, 864);
    TEST_NEAR(density(&m), 1374, 1e-3);
    TEST_NEAR(m.system.c6[m.system.type[0] * m.system.n_types + m.system.type[0]], 4 * 0.997735514 * pow(0.34, 6), 1e-9);
    TEST_TRUE(nearest(&m, 18, 18, 0.52, &around) > 0.29); // 0.85 sigma costs 25 epsilon, 32 kT
    TEST_TRUE(around > 11.5 && around < 13.5);            // about 12.5 in the first shell (a simple cubic lattice: 6 or 18)
    TEST_NEAR(temperature(&m), 94.4, 4 * 94.4 * sqrt(2.0 / (3 * 864)));
    drop(&m);
}

static void salt_has_its_concentration_and_is_neutral(void)
{
    const int32_t sizes[] = {3000, 24000};

    for (int k = 0; k < 2; k++) {
        made    m = make("salt", sizes[k], 1);
        int32_t sodium = 0, chlorine = 0;
        double  molar;

        for (int32_t i = 0; i < m.system.n_atoms; i++) {
            sodium += m.system.atomic_number[i] == 11;
            chlorine += m.system.atomic_number[i] == 17;
        }
        molar = sodium / (0.602214076 * mds_box_volume(&m.state.box));
        TEST_INT(sodium, chlorine);
        TEST_TRUE(abs(m.system.n_atoms - sizes[k]) <= 1);
        // half a pair of rounding, and the ions' volume (1 part in 400)
        TEST_NEAR(molar, 0.15, 0.15 * (0.5 / sodium + 0.004));
        TEST_NEAR(m.system.total_charge, 0, 1e-7);
        if (k == 0) {
            double around;

            TEST_TRUE(nearest(&m, 11, 8, 0.32, &around) > 0.2); // Na-O peaks at 0.24 nm
            TEST_TRUE(around > 4 && around < 7.5);              // 5 to 6 waters round sodium
            TEST_TRUE(nearest(&m, 17, 8, 0.4, &around) > 0.27);
            TEST_TRUE(nearest(&m, 17, 1, 0.3, &around) > 0.17);
        }
        drop(&m);
    }
}

static void any_size_gives_the_nearest_whole_molecules(void)
{
    const int32_t sizes[] = {3, 30, 1540, 12345};

    for (int k = 0; k < 4; k++) {
        made m = make("water", sizes[k], 1);

        TEST_INT(m.system.n_atoms, 3 * ((sizes[k] + 1) / 3));
        TEST_NEAR(density(&m), 985, 1e-3);
        drop(&m);
    }
}

static void a_copied_box_has_no_overlap_where_copies_meet(void)
{
    made   m = make("water", 6000, 1); // 2 x 2 x 2 copies
    double around;

    TEST_TRUE(nearest(&m, 8, 8, 0.335, &around) > 0.225);
    TEST_TRUE(nearest(&m, 1, 1, 0.2, &around) > 0.13);
    drop(&m);
}

static void the_seed_decides_everything(void)
{
    made   a = make("salt", 400, 7), b = make("salt", 400, 7), c = make("salt", 400, 8);
    size_t bytes = (size_t)a.state.n_atoms * sizeof *a.state.x;

    TEST_TRUE(!memcmp(a.state.x, b.state.x, bytes));
    TEST_TRUE(!memcmp(a.state.v, b.state.v, bytes));
    TEST_TRUE(memcmp(a.state.x, c.state.x, bytes));
    drop(&a);
    drop(&b);
    drop(&c);
}

static void a_million_atoms_take_seconds(void)
{
    const double start = mds_clock();
    made         m = make("water", 1000000, 1);

    TEST_INT(m.system.n_atoms, 999999);
    TEST_NEAR(density(&m), 985, 1e-3);
    TEST_TRUE(mds_clock() - start < 60); // 3 s on an idle core; the bound is for loaded machines and sanitizers
    drop(&m);
}

static void bad_requests_are_refused_with_the_names_that_exist(void)
{
    mds_system system = {0};
    mds_state  state = {0};

    TEST_FAILS(mds_make("beer", 3000, 1, &system, &state), MDS_E_INPUT, "water, spce, argon, salt");
    TEST_FAILS(mds_make("water", 2, 1, &system, &state), MDS_E_INPUT, "at least one molecule");
    TEST_FAILS(mds_make("water", -5, 1, &system, &state), MDS_E_INPUT, "at least one molecule");
    TEST_FAILS(mds_make("salt", 4, 1, &system, &state), MDS_E_INPUT, "ion pair");
    mds_system_free(&system);
    mds_state_free(&state);
}

int main(void)
{
    water_has_the_models_geometry_and_density("water", 0.09572, 0.15139006545, 985);
    water_has_the_models_geometry_and_density("spce", 0.1, 0.16329808618, 997);
    argon_is_rahmans_liquid();
    salt_has_its_concentration_and_is_neutral();
    any_size_gives_the_nearest_whole_molecules();
    a_copied_box_has_no_overlap_where_copies_meet();
    the_seed_decides_everything();
    a_million_atoms_take_seconds();
    bad_requests_are_refused_with_the_names_that_exist();
    return test_end();
}
