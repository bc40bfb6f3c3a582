// SPDX-License-Identifier: Apache-2.0
// Virtual sites: where each kind is placed, in closed form; that force and torque are handed on whole; sites of sites;
// and, for other backends, positions, forces and virial against ref.
#include "stage/stage.h"

static const char *backend;

static const double cube[3][3] = {{3, 0, 0}, {0, 3, 0}, {0, 0, 3}};

/// Sites on four atoms at the origin and 0.1 nm along x, y, z: all geometry can be read off.
static void closed_forms(void)
{
    const double third = 1 / sqrt(3.0), half = sqrt(0.5);
    const struct {
        mds_vsite_kind kind;
        int            n;
        double         weight[4], param[3], want[3];
    } rows[] = {
        {MDS_VSITE_LINEAR, 2, {0.3, 0.7}, {0}, {0.07, 0, 0}},
        {MDS_VSITE_LINEAR, 3, {0.786646558, 0.106676721, 0.106676721}, {0}, {0.0106676721, 0.0106676721, 0}}, // TIP4P-Ew
        {MDS_VSITE_LINEAR, 4, {0.1, 0.2, 0.3, 0.4}, {0}, {0.02, 0.03, 0.04}},
        {MDS_VSITE_TWO_FD, 2, {0}, {-0.05}, {-0.05, 0, 0}},
        {MDS_VSITE_THREE_FD, 3, {0}, {0.5, 0.2}, {0.2 * half, 0.2 * half, 0}},
        {MDS_VSITE_THREE_FAD, 3, {0}, {MDS_PI / 3, 0.2}, {0.2 * 0.5, 0.2 * sqrt(0.75), 0}},
        {MDS_VSITE_THREE_OUT, 3, {0}, {0.2, 0.3, -4}, {0.02, 0.03, -0.04}},
        {MDS_VSITE_FOUR_FDN, 4, {0}, {1, 1, 0.15}, {0.15 * third, 0.15 * third, 0.15 * third}},
    };

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (int split = 0; split < 2; split++) {
            const int32_t atoms[4] = {0, 1, 2, 3};
            mds_params    params = stage_params(0.9);
            mds_system    system = {0};
            mds_state     state;
            mds_frame     frame = {0};

            stage_atoms(&system, 4, 0);
            system.mass[stage_atoms(&system, 1, 0)] = 0;
            TEST_OK(mds_system_add_vsite(&system, rows[row].kind, 4, rows[row].n, atoms, rows[row].weight, rows[row].param));
            TEST_OK(mds_system_freeze(&system));
            stage_state(&system, cube, &state);
            for (int k = 0; k < 3; k++) {
                state.x[0][k] = 0.01 * (k + 1); // the origin
                for (int m = 1; m < 4; m++) state.x[m][k] = state.x[0][k] + (m - 1 == k ? 0.1 : 0) - (split && m == k + 1 ? 3 : 0);
                state.x[4][k] = 1.5; // wherever the file had it
            }
            stage_once(backend, &system, &params, &state, 0, &frame);
            // nm, from the first atom; double throughout, constants to their printed digits
            for (int k = 0; k < 3; k++) TEST_NEAR(frame.x[4][k] - state.x[0][k], rows[row].want[k], 1e-10);
            mds_frame_free(&frame);
            mds_state_free(&state);
            mds_system_free(&system);
        }
}

/// A chain of atoms that builds sites of every kind, sites of sites, against outside charges; no box, all pairs.
static void random_system(mds_system *system, mds_state *state, int copies)
{
    static const struct {
        mds_vsite_kind kind;
        int            n;
        int32_t        atom[4]; // within the copy; 6 and more are sites
        double         weight[4], param[3];
    } rows[] = {
        {MDS_VSITE_LINEAR, 3, {0, 1, 2}, {0.7, 0.2, 0.1}, {0}}, {MDS_VSITE_TWO_FD, 2, {1, 2}, {0}, {0.07}},
        {MDS_VSITE_THREE_FD, 3, {2, 3, 4}, {0}, {0.4, 0.12}},   {MDS_VSITE_THREE_FAD, 3, {0, 2, 5}, {0}, {2.0, 0.11}},
        {MDS_VSITE_THREE_OUT, 3, {3, 4, 5}, {0}, {0.3, 0.4, 2}}, {MDS_VSITE_FOUR_FDN, 4, {1, 3, 4, 5}, {0}, {0.9, 1.1, 0.1}},
        {MDS_VSITE_THREE_FD, 3, {6, 8, 9}, {0}, {0.5, 0.1}},    {MDS_VSITE_LINEAR, 2, {12, 0}, {0.5, 0.5}, {0}},
    };
    enum { ATOMS = 6, SITES = sizeof rows / sizeof rows[0], ALL = ATOMS + SITES };

    memset(system, 0, sizeof *system);
    for (int copy = 0; copy < copies; copy++) {
        const int32_t first = stage_atoms(system, ALL, 0.2);

        for (int k = 0; k < SITES; k++) {
            int32_t atoms[4];

            for (int m = 0; m < 4; m++) atoms[m] = first + rows[k].atom[m];
            system->mass[first + ATOMS + k] = 0;
            system->charge[first + ATOMS + k] = -0.15 + 0.05 * k;
            TEST_OK(mds_system_add_vsite(system, rows[k].kind, first + ATOMS + k, rows[k].n, atoms, rows[k].weight, rows[k].param));
        }
        for (int i = 0; i < ALL; i++)
            for (int j = 0; j < i; j++) TEST_OK(mds_system_add_exclusion(system, first + i, first + j));
    }
    TEST_OK(mds_system_freeze(system));
    stage_state(system, (const double[3][3]){{0}}, state);
    for (int32_t i = 0; i < system->n_atoms; i++)
        for (int k = 0; k < 3; k++)
            state->x[i][k] = 0.8 * (i / ALL >> k & 1) + 0.3 * stage_random(3, (uint32_t)(3 * i + k));
}

static void whole_and_like_ref(void)
{
    mds_params params = stage_params(0);
    mds_system system;
    mds_state  state;
    mds_frame  got = {0}, want = {0};
    double     torque[3] = {0, 0, 0}, sum[3] = {0, 0, 0}, moment = 0;

    random_system(&system, &state, 7);
    stage_once(backend, &system, &params, &state, STAGE_PAIR, &got);
    const double size = stage_force_size(&got);
    TEST_TRUE(size > 1);
    for (int32_t i = 0; i < got.n; i++) {
        double t[3];

        mds_cross(got.x[i], got.f[i], t);
        for (int k = 0; k < 3; k++) {
            torque[k] += t[k];
            sum[k] += got.f[i][k];
            if (system.mass[i] == 0) TEST_NEAR(got.f[i][k], 0, 0);
        }
        moment += mds_dot(got.x[i], got.f[i]);
    }
    // pair forces are central, so no net force or torque; rounding of some hundred terms, in float for others than ref
    const double tolerance = stage_double() ? 1e-11 : strcmp(backend, "ref") ? 1e-5 : 1e-12;
    for (int k = 0; k < 3; k++) {
        TEST_NEAR(sum[k], 0, tolerance * size);
        TEST_NEAR(torque[k], 0, tolerance * size);
    }
    // without a box the virial is that of the forces on atoms as they are
    TEST_NEAR(got.virial[0][0] + got.virial[1][1] + got.virial[2][2], -0.5 * moment, tolerance * size * 10);
    stage_once("ref", &system, &params, &state, STAGE_PAIR, &want);
    for (int32_t i = 0; i < got.n; i++)
        for (int k = 0; k < 3; k++) TEST_NEAR(got.x[i][k], want.x[i][k], 1e-14); // the same doubles but for rounding
    TEST_NEAR(stage_force_gap(&got, &want), 0, tolerance * size);
    TEST_NEAR(stage_tensor_gap(got.virial, want.virial), 0, 10 * tolerance * stage_tensor_size(want.virial));
    mds_frame_free(&got);
    mds_frame_free(&want);
    mds_state_free(&state);
    mds_system_free(&system);
}

int main(int argc, char **argv)
{
    backend = argc > 1 ? argv[1] : "ref";
    closed_forms();
    whole_and_like_ref();
    return test_end();
}
