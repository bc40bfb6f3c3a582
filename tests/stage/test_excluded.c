// SPDX-License-Identifier: Apache-2.0
// What excluded pairs and charges with themselves give back, alone: molecules so far apart that no other pair is within the
// cut-off. Waters of four sites and of three, a molecule that excludes all its pairs, and ions far apart that exclude each other
// all the same; every atom in some image of a skewed box. Against ref; without the sums the same forces; in any order of
// threads the same bits.
#include "stage/stage.h"

#include <inttypes.h>

static const char *backend;

enum { SIDE = 3, MOLECULES = SIDE * SIDE * SIDE };

static const double box[3][3] = {{4.2, 0, 0}, {0.5, 4.2, 0}, {-0.7, 0.4, 4.2}};

/// Molecule m: 0 water with a site, 1 water, 2 six atoms.
static int kind_of(int m)
{
    return m % 3;
}

static void exclude_all(mds_system *s, int32_t first, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) TEST_OK(mds_system_add_exclusion(s, first + i, first + j));
}

static void add_molecule(mds_system *s, int m)
{
    static const double charge[3][6] = {{0, 0.52, 0.52, -1.04}, {-0.83, 0.41, 0.42}, {0.3, -0.5, 0.4, 0, -0.6, 0.7}};
    static const int    size[3] = {4, 3, 6};
    const int           kind = kind_of(m);
    const int32_t       first = stage_atoms(s, size[kind], 0);

    for (int i = 0; i < size[kind]; i++) s->charge[first + i] = charge[kind][i];
    exclude_all(s, first, size[kind]);
    if (kind) return;
    s->mass[first + 3] = 0;
    TEST_OK(mds_system_add_vsite(s, MDS_VSITE_LINEAR, first + 3, 3, (int32_t[]){first, first + 1, first + 2},
                                 (double[]){0.8, 0.1, 0.1}, NULL));
}

/// far: also ions in different molecules, 1.4 nm apart and more, that exclude each other: with beta 1.5 erf is not yet 1 there. bonded: with some terms.
static void molecules(mds_system *s, mds_state *state, bool far, bool bonded)
{
    int32_t first[MOLECULES];

    memset(s, 0, sizeof *s);
    for (int m = 0; m < MOLECULES; m++) {
        first[m] = s->n_atoms;
        add_molecule(s, m);
    }
    if (far) {
        TEST_OK(mds_system_add_exclusion(s, first[2], first[5] + 4));
        TEST_OK(mds_system_add_exclusion(s, first[2], first[14]));
        TEST_OK(mds_system_add_exclusion(s, first[0] + 1, first[13]));
        TEST_OK(mds_system_add_exclusion(s, first[5] + 1, first[20] + 5));
    }
    for (int32_t i = 0; bonded && i + 3 < s->n_atoms; i++) {
        const int32_t atom[4] = {i, i + 1, i + 2, i + 3};

        TEST_OK(mds_system_add_term(s, MDS_TERM_BOND, atom, (double[]){0.1, 3e4}));
        TEST_OK(mds_system_add_term(s, MDS_TERM_PROPER, atom, (double[]){0.3, 9, 2}));
    }
    TEST_OK(mds_system_freeze(s));
    stage_state(s, box, state);
    for (int m = 0; m < MOLECULES; m++)
        for (int32_t i = first[m]; i < (m + 1 < MOLECULES ? first[m + 1] : s->n_atoms); i++)
            for (int k = 0; k < 3; k++) {
                const int at[3] = {m % SIDE, m / SIDE % SIDE, m / SIDE / SIDE};

                // 1.4 nm apart and 0.1 nm wide; then to some other image
                for (int c = 0; c < 3; c++) state->x[i][k] += (at[c] / (double)SIDE + i * (c + 1) % 4 - 1) * box[c][k];
                state->x[i][k] += 0.1 * stage_random(8, (uint32_t)(3 * i + k));
            }
}

typedef struct {
    const char    *name;
    mds_coulomb    coulomb;
    mds_split_kind split;
    double         shape, dielectric;
    bool           far;
} form;

static const form forms[] = {
    {"Gaussian", MDS_COULOMB_PME, MDS_SPLIT_GAUSSIAN, 3.1, 0, false}, {"Gaussian, far", MDS_COULOMB_PME, MDS_SPLIT_GAUSSIAN, 1.5, 0, true},
    {"prolate", MDS_COULOMB_PME, MDS_SPLIT_PROLATE, 10, 0, false},    {"prolate, far", MDS_COULOMB_PME, MDS_SPLIT_PROLATE, 12, 0, true},
    {"reaction field", MDS_COULOMB_REACTION_FIELD, 0, 0, 54, false},  {"reaction field, far", MDS_COULOMB_REACTION_FIELD, 0, 0, 0, true},
    {"cut-off", MDS_COULOMB_CUT, 0, 0, 0, true},
};

static mds_params parameters(const form *f)
{
    mds_params params = stage_params(0.9);

    params.coulomb = f->coulomb;
    params.rf_dielectric = f->dielectric;
    if (f->coulomb == MDS_COULOMB_PME) stage_pme(&params, f->split, f->shape, 4, 32);
    return params;
}

static void against_ref(void)
{
    const bool is_gpu = strcmp(backend, "cpu") != 0, coarse = is_gpu && !stage_double();

    for (size_t row = 0; row < sizeof forms / sizeof forms[0]; row++) {
        const form *f = &forms[row];
        mds_params  params = parameters(f);
        mds_system  system;
        mds_state   state;
        mds_frame   want = {0}, got = {0};
        stage       s;

        molecules(&system, &state, f->far, false);
        stage_once("ref", &system, &params, &state, STAGE_PAIR | STAGE_BONDED, &want);
        const double size = stage_force_size(&want), energy = want.energy[MDS_EN_COUL];
        TEST_TRUE((size > 1 && fabs(energy) > 10) == (f->coulomb != MDS_COULOMB_CUT)); // there is something, or nothing
        stage_open(backend, &system, &params, &s);
        stage_forces(&s, &state, STAGE_PAIR | STAGE_BONDED);
        TEST_OK(mds_frame_copy(&got, &s.frame));
        // double, polynomials good to 1e-12; the GPU's sums are integers, 6e-8 kJ/mol a block
        TEST_NEAR(mds_frame_potential(&got), mds_frame_potential(&want), (is_gpu ? 1e-12 : 1e-10) * fabs(energy) + (coarse ? 1e-6 : 0));
        TEST_NEAR(got.energy[MDS_EN_COUL], energy, (is_gpu ? 1e-12 : 1e-10) * fabs(energy) + (coarse ? 1e-6 : 0));
        // sums of forces on an atom in float (cpu); float throughout, a polynomial of degree ten (GPU)
        TEST_NEAR(stage_force_gap(&got, &want), 0, (stage_double() ? 1e-10 : 1e-6) * size); // double: units of 2^-32, of some 10
        TEST_NEAR(stage_tensor_gap(got.virial, want.virial), 0, (coarse ? 1e-6 : 1e-9) * stage_tensor_size(want.virial));
        s.force_only = true;
        stage_forces(&s, &state, STAGE_PAIR | STAGE_BONDED);
        // compilers may contract the two forms of a kernel in other ways: one rounding
        TEST_NEAR(stage_force_gap(&got, &s.frame), 0, 1e-7 * size);
        for (int k = 0; k < 3 && is_gpu; k++) { // the terms push nothing as a whole, in integers
            double sum = 0;

            for (int32_t i = 0; i < got.n; i++) sum += got.f[i][k];
            TEST_NEAR(sum, 0, 1e-7); // but for the forces of sites on their atoms, each rounded to 2^-32
        }
        if (test_failures) fprintf(stderr, "%s: failures so far: %d\n", f->name, test_failures);
        stage_close(&s);
        mds_frame_free(&want);
        mds_frame_free(&got);
        mds_state_free(&state);
        mds_system_free(&system);
    }
}

// ------------------------------------------------------------------------------------------ rigid waters

/// Sums over atoms [first, first + 3) of the difference of two forces, and of its torque; and its size.
static double push(const mds_frame *a, const mds_frame *b, int32_t first, double force[3], double torque[3])
{
    double size = 0;

    memset(force, 0, 3 * sizeof *force);
    memset(torque, 0, 3 * sizeof *torque);
    for (int32_t i = first; i < first + 3; i++)
        for (int k = 0; k < 3; k++) {
            const int    l = (k + 1) % 3, m = (k + 2) % 3;
            const double x[2] = {a->x[i][l] - a->x[first][l], a->x[i][m] - a->x[first][m]};

            force[k] += a->f[i][k] - b->f[i][k];
            torque[k] += x[0] * (a->f[i][m] - b->f[i][m]) - x[1] * (a->f[i][l] - b->f[i][l]);
            size = fmax(size, fabs(a->f[i][k] - b->f[i][k]));
        }
    return size;
}

/// In a step that nobody sees a rigid water may lack forces that neither push nor turn it, a flexible molecule none.
static void rigid_water_lacks_nothing_that_moves_it(bool site, bool rigid)
{
    const int   size = site ? 4 : 3;
    mds_params  params = parameters(&forms[2]);
    mds_system  system = {0};
    mds_state   state;
    mds_frame   full = {0};
    stage       s;
    double      left_out = 0;
    static const double place[4][3] = {{0, 0, 0}, {0.0757, 0.0586, 0}, {-0.0757, 0.0586, 0}, {0, 0.0117, 0}};

    for (int m = 0; m < MOLECULES; m++) {
        const int32_t first = stage_atoms(&system, size, 0);

        system.charge[first + (site ? 3 : 0)] = -0.84;
        system.charge[first + 1] = system.charge[first + 2] = 0.42;
        system.mass[first + 1] = system.mass[first + 2] = 1;
        exclude_all(&system, first, size);
        for (int i = 0; i < 3 && rigid; i++) {
            const int j = (i + 1) % 3, lower = i < j ? i : j, higher = i < j ? j : i;

            TEST_OK(mds_system_add_constraint(&system, first + lower, first + higher,
                                              hypot(place[i][0] - place[j][0], place[i][1] - place[j][1])));
        }
        if (!site) continue;
        system.mass[first + 3] = 0;
        TEST_OK(mds_system_add_vsite(&system, MDS_VSITE_LINEAR, first + 3, 3, (int32_t[]){first, first + 1, first + 2},
                                     (double[]){0.8, 0.1, 0.1}, NULL));
    }
    TEST_OK(mds_system_freeze(&system));
    TEST_INT(system.water.n, rigid ? MOLECULES : 0);
    stage_state(&system, box, &state);
    for (int32_t i = 0; i < system.n_atoms; i++)
        for (int k = 0; k < 3; k++) {
            const int m = i / size, at[3] = {m % SIDE, m / SIDE % SIDE, m / SIDE / SIDE};

            state.x[i][k] = place[i % size][(k + m) % 3];
            for (int c = 0; c < 3; c++) state.x[i][k] += at[c] / (double)SIDE * box[c][k];
        }
    stage_open(backend, &system, &params, &s);
    s.force_only = true;
    stage_forces(&s, &state, STAGE_PAIR | STAGE_BONDED);
    TEST_OK(mds_frame_copy(&full, &s.frame));
    s.also = MDS_UNSEEN;
    stage_forces(&s, &state, STAGE_PAIR | STAGE_BONDED);
    for (int m = 0; m < MOLECULES; m++) {
        double force[3], torque[3];

        left_out = fmax(left_out, push(&full, &s.frame, m * size, force, torque));
        for (int k = 0; k < 3; k++) {
            TEST_NEAR(force[k], 0, 1e-6 * stage_force_size(&full)); // sums in float
            TEST_NEAR(torque[k], 0, 1e-7 * stage_force_size(&full)); // the same at 0.1 nm
        }
    }
    TEST_TRUE(stage_force_size(&full) > 10);
    // the cpu backend makes use of it, which is what this test is about; others need not
    TEST_TRUE(strcmp(backend, "cpu") ? true : rigid ? left_out > 10 : left_out == 0);
    stage_close(&s);
    mds_frame_free(&full);
    mds_state_free(&state);
    mds_system_free(&system);
}

// ------------------------------------------------------------------------------------------ order of threads

/// Of forces, energies and virial.
static uint64_t fingerprint(void)
{
    mds_params params = parameters(&forms[1]);
    uint64_t   h;
    mds_system system;
    mds_state  state;
    mds_frame  frame = {0};

    molecules(&system, &state, true, true);
    stage_once(backend, &system, &params, &state, STAGE_PAIR | STAGE_BONDED, &frame);
    h = stage_fingerprint(&frame);
    mds_frame_free(&frame);
    mds_state_free(&state);
    mds_system_free(&system);
    return h;
}

int main(int argc, char **argv)
{
    backend = argc > 1 ? argv[1] : "cpu";
    if (argc > 2) {
        printf("%" PRIx64 "\n", fingerprint());
        return 0;
    }
    against_ref();
    for (int k = 0; k < 4; k++) rigid_water_lacks_nothing_that_moves_it(k & 1, k & 2);
    if (strcmp(backend, "cpu") && !getenv("MDS_SMALL")) stage_check_orders(argv[0], backend, fingerprint());
    return test_end();
}
