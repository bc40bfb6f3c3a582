// SPDX-License-Identifier: Apache-2.0
// The GPU backend in double precision against ref, which sums the same terms in another order: pairs of every modifier and
// Coulomb form, excluded pairs, meshes of every order, boxes of every shape and none. The same bits on any schedule. Beside it
// the same points in mixed precision, which must miss the tolerance: it can fail. (Bonded terms, sites and closed forms: the tests of those
// stages with MDS_DOUBLE, CMakeLists.txt. Whole systems: tests/physics/test_double.py.)
#include "stage/stage.h"

#include <inttypes.h>

static const char *backend;
static bool        small; // watched for races

enum { N = 180, N_TYPES = 4 };

static const double cuboid[3][3] = {{2.2, 0, 0}, {0, 2.3, 0}, {0, 0, 2.4}}, skewed[3][3] = {{2.4, 0, 0}, {0.5, 2.3, 0}, {-0.7, 0.4, 2.2}},
                    no_box[3][3] = {{0}};

/// Atoms of four kinds with charges (not neutral) on a shaken lattice, a few of them excluded from each other, in images here and there.
static void fluid(mds_system *s, mds_state *state, const double box[3][3], bool far)
{
    const int side = 6;

    memset(s, 0, sizeof *s);
    TEST_OK(mds_system_set_types(s, N_TYPES, true));
    for (int i = 0; i < N_TYPES; i++)
        for (int j = 0; j <= i; j++) {
            const double sigma = 0.28 + 0.01 * (i + j) * (i == j ? 1 : 0.9), epsilon = 0.3 + 0.1 * i * j, c6 = 4 * epsilon * pow(sigma, 6);

            mds_system_set_lj(s, i, j, c6, c6 * pow(sigma, 6));
            s->c4[N_TYPES * i + j] = s->c4[N_TYPES * j + i] = 1e-3 * (i + j);
        }
    stage_atoms(s, N, 0);
    for (int32_t i = 0; i < N; i++) {
        s->type[i] = i * 7 / 3 % N_TYPES;
        s->charge[i] = i % 9 == 4 ? 0 : i % 2 ? 0.42 : -0.4;
    }
    for (int32_t i = 0; i + 3 < N; i += 3) {
        TEST_OK(mds_system_add_exclusion(s, i, i + 1));
        TEST_OK(mds_system_add_exclusion(s, i, i + 2));
        if (i % 2) TEST_OK(mds_system_add_exclusion(s, i + 1, i + 2)); // a triple
    }
    if (far) TEST_OK(mds_system_add_exclusion(s, 0, N - 1));
    TEST_OK(mds_system_freeze(s));
    stage_state(s, box, state);
    for (int32_t i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            const int    at[3] = {i % side, i / side % side, i / side / side};
            const double shaken = (at[k] + 0.3 * stage_random(3, (uint32_t)(3 * i + k))) / side;

            if (box[0][0] > 0)
                for (int c = 0; c < 3; c++) state->x[i][c] += (shaken + i * (k + 1) % 5 - 2) * box[k][c];
            else
                state->x[i][k] = 2.3 * shaken;
        }
}

/// Largest differences in units of what double arithmetic may leave.
static double gap(const mds_frame *got, const mds_frame *want)
{
    double sum = 0, size = 1;

    for (int32_t i = 0; i < want->n; i++) sum += mds_dot(want->f[i], want->f[i]);
    for (int k = 0; k < MDS_N_ENERGY; k++) size += fabs(want->energy[k]);
    // sums of some 1e2 terms that are 10 times the rms (1e-14), and units of 2^-32 kJ/mol/nm, a hundred additions to a sum
    double worst = stage_force_gap(got, want) / (1e-12 * sqrt(sum / want->n) + 1e-8);
    // sums of some 1e5 terms ten times their size, 1e-16 each; ghat from a table good to 1e-12
    for (int k = 0; k < MDS_N_ENERGY; k++) worst = fmax(worst, fabs(got->energy[k] - want->energy[k]) / (2e-12 * size));
    return fmax(worst, stage_tensor_gap(got->virial, want->virial) / (1e-11 * (1 + stage_tensor_size(want->virial))));
}

static void against_ref(const char *what, const mds_system *s, const mds_state *state, mds_params params)
{
    mds_frame want = {0}, got = {0};
    stage     gpu;

    stage_once("ref", s, &params, state, STAGE_ALL, &want);
    params.double_precision = true;
    stage_open(backend, s, &params, &gpu);
    stage_forces(&gpu, state, STAGE_ALL);
    TEST_OK(mds_frame_copy(&got, &gpu.frame));
    const double worst = gap(&got, &want);
    if (!(worst <= 1)) fprintf(stderr, "%s: %.3g times what is allowed\n", what, worst);
    TEST_TRUE(worst <= 1);
    TEST_INT(got.fault, 0);
    gpu.force_only = true; // compilers may contract the two forms of a kernel in other ways: one rounding
    stage_forces(&gpu, state, STAGE_ALL);
    TEST_NEAR(stage_force_gap(&got, &gpu.frame), 0, 1e-13 * stage_force_size(&want) + 1e-8);
    params.double_precision = false; // and back, on the same device
    TEST_OK(gpu.backend->set(gpu.device, &params));
    gpu.force_only = false;
    stage_forces(&gpu, state, STAGE_ALL);
    TEST_TRUE(gap(&gpu.frame, &want) > 100); // or nothing has been shown
    stage_close(&gpu);
    mds_frame_free(&want);
    mds_frame_free(&got);
}

static void pairs(void)
{
    static const struct {
        const char     *name;
        mds_coulomb     coulomb;
        mds_split_kind  split;
        double          shape, dielectric;
        bool            shift;
        mds_lj_modifier modifier;
        double          cut_lj, cut_q;
    } form[] = {
        {"Gaussian, shifted", MDS_COULOMB_PME, MDS_SPLIT_GAUSSIAN, 3.4, 0, true, MDS_LJ_SHIFT, 0.9, 0.9},
        {"steep Gaussian, LJ cut shorter", MDS_COULOMB_PME, MDS_SPLIT_GAUSSIAN, 4.4, 0, false, MDS_LJ_FORCE_SWITCH, 0.8, 0.9},
        {"prolate", MDS_COULOMB_PME, MDS_SPLIT_PROLATE, 11, 0, false, MDS_LJ_SWITCH, 0.9, 0.9},
        {"prolate, many waves, LJ longer", MDS_COULOMB_PME, MDS_SPLIT_PROLATE, 25, 0, false, MDS_LJ_CUT, 0.9, 0.8},
        {"reaction field", MDS_COULOMB_REACTION_FIELD, 0, 0, 78, false, MDS_LJ_FORCE_SWITCH, 0.9, 0.9},
        {"reaction field, conducting", MDS_COULOMB_REACTION_FIELD, 0, 0, 0, false, MDS_LJ_SHIFT, 0.7, 0.9},
        {"shifted cut-off", MDS_COULOMB_CUT, 0, 0, 0, true, MDS_LJ_SWITCH, 0.9, 0.7},
        {"plain cut-off", MDS_COULOMB_CUT, 0, 0, 0, false, MDS_LJ_CUT, 0.9, 0.9},
        {"LJ alone", MDS_COULOMB_NONE, 0, 0, 0, false, MDS_LJ_SHIFT, 0.9, 0.9},
    };

    for (size_t k = 0; k < sizeof form / sizeof form[0]; k++) {
        mds_params params = stage_params(0.9);
        mds_system s;
        mds_state  state;

        if (small && k != 1 && k != 5) continue;
        if (form[k].coulomb == MDS_COULOMB_PME) stage_pme(&params, form[k].split, form[k].shape, 5, 20);
        params.coulomb = form[k].coulomb;
        params.rf_dielectric = form[k].dielectric;
        params.coulomb_shift = form[k].shift;
        params.lj_modifier = form[k].modifier;
        params.lj_switch = 0.6;
        params.cut_lj = form[k].cut_lj;
        params.cut_q = form[k].cut_q;
        fluid(&s, &state, k % 2 ? skewed : cuboid, true);
        against_ref(form[k].name, &s, &state, params);
        mds_state_free(&state);
        mds_system_free(&s);
    }
}

static void vacuum(void)
{
    mds_params params = stage_params(0);
    mds_system s;
    mds_state  state;

    fluid(&s, &state, no_box, false);
    against_ref("no box, every pair", &s, &state, params);
    params = stage_params(0.9);
    params.coulomb_shift = true;
    against_ref("no box, cut-off", &s, &state, params);
    mds_state_free(&state);
    mds_system_free(&s);
}

static void meshes(void)
{
    static const int grid[][3] = {{20, 24, 27}, {19, 22, 28}, {15, 16, 20}, {32, 31, 30}, {22, 26, 21}, {8, 9, 10}};

    for (int order = 4; order <= 8; order++)
        for (int split = 0; split < 2; split++) {
            const size_t g = (size_t)(order + 3 * split) % (sizeof grid / sizeof grid[0]);
            mds_params   params = stage_params(0.9);
            mds_system   s;
            mds_state    state;
            char         name[80];

            if (small && (order != 7 || split)) continue;
            stage_pme(&params, split ? MDS_SPLIT_PROLATE : MDS_SPLIT_GAUSSIAN, split ? 8 + order : 2 + 0.3 * order, order, 0);
            for (int k = 0; k < 3; k++) params.grid[k] = grid[g][k];
            snprintf(name, sizeof name, "order %d, %s, %d x %d x %d", order, split ? "prolate" : "Gaussian", grid[g][0], grid[g][1], grid[g][2]);
            fluid(&s, &state, order % 2 ? cuboid : skewed, false);
            against_ref(name, &s, &state, params);
            mds_state_free(&state);
            mds_system_free(&s);
        }
}

/// Two atoms on one point: energies and forces are cut to what the sums hold, which is said, and nothing else is touched.
static void one_point(void)
{
    mds_params params = stage_params(0.9);
    mds_frame  want = {0}, got = {0};
    mds_system s;
    mds_state  state;

    params.double_precision = true;
    params.max_move = 0; // a minimiser is not told of it
    fluid(&s, &state, cuboid, false);
    memcpy(state.x[10], state.x[20], sizeof state.x[10]);
    state.x[10][1] += 1e-9;
    stage_once("ref", &s, &params, &state, STAGE_ALL, &want);
    stage_once(backend, &s, &params, &state, STAGE_ALL, &got);
    TEST_TRUE(got.fault & MDS_FAULT_RANGE && got.energy[MDS_EN_LJ] > 5e8 && isfinite(got.energy[MDS_EN_LJ]));
    for (int32_t i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            if (i != 10 && i != 20) TEST_NEAR(got.f[i][k], want.f[i][k], 1e-8 + 1e-12 * fabs(want.f[i][k]));
            else TEST_TRUE(isfinite(got.f[i][k]));
        }
    mds_frame_free(&want);
    mds_frame_free(&got);
    mds_state_free(&state);
    mds_system_free(&s);
}

// ------------------------------------------------------------------------------------------ order of threads

/// Of forces, energies and virial.
static uint64_t fingerprint(void)
{
    mds_params params = stage_params(0.9);
    mds_frame  frame = {0};
    uint64_t   h;
    mds_system s;
    mds_state  state;

    stage_pme(&params, MDS_SPLIT_PROLATE, 10, 6, 20);
    params.double_precision = true;
    fluid(&s, &state, skewed, true);
    stage_once(backend, &s, &params, &state, STAGE_ALL, &frame);
    h = stage_fingerprint(&frame);
    mds_frame_free(&frame);
    mds_state_free(&state);
    mds_system_free(&s);
    return h;
}

int main(int argc, char **argv)
{
    backend = argc > 1 ? argv[1] : "emu";
    small = getenv("MDS_SMALL") != NULL;
    if (argc > 2) {
        printf("%" PRIx64 "\n", fingerprint());
        return 0;
    }
    pairs();
    meshes();
    if (!small) vacuum();
    if (!small) one_point();
    if (!small) stage_check_orders(argv[0], backend, fingerprint());
    return test_end();
}
