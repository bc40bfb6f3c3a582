// SPDX-License-Identifier: Apache-2.0
// Every force is minus the gradient of its energy and every virial the strain derivative: for each kind of bonded term,
// of virtual site, of cut-off and split. Sums vanish; bonded energies do not change with rotation, translation or the
// image that single atoms are in.
#include "stage/stage.h"

static const char *backend;
static double      tolerance; // of the largest force or virial element
static double      rounding;  // of bonded energies, relative: a GPU does them in float
static int         seeds, every; // random positions a kind of term; one atom in so many is moved where systems are larger

static const double no_box[3][3] = {{0}};
static const double triclinic[3][3] = {{2.4, 0, 0}, {0.5, 2.3, 0}, {-0.7, 0.4, 2.2}};

static void random_positions(mds_state *state, uint64_t seed, double size)
{
    for (int32_t i = 0; i < state->n_atoms; i++)
        for (int k = 0; k < 3; k++) state->x[i][k] = size * stage_random(seed, (uint32_t)(3 * i + k));
}

/// A smooth map with structure in both directions and across the edge.
static void add_map(mds_system *system)
{
    enum { N = 24 };
    double  grid[N * N];
    int32_t index;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const double phi = 2 * MDS_PI * i / N - MDS_PI, psi = 2 * MDS_PI * j / N - MDS_PI;

            grid[i * N + j] = 3 * sin(phi + 0.4) * cos(2 * psi) + 2 * cos(phi - psi) + sin(3 * psi);
        }
    TEST_OK(mds_system_add_map(system, N, grid, &index));
}

static const double term_parameters[MDS_N_TERMS][6] = {
    [MDS_TERM_BOND] = {0.14, 2.5e3},
    [MDS_TERM_BOND_G96] = {0.15, 8e3},
    [MDS_TERM_BOND_MORSE] = {0.13, 400, 18},
    [MDS_TERM_ANGLE] = {1.9, 350},
    [MDS_TERM_ANGLE_G96] = {1.9, 350},
    [MDS_TERM_UREY_BRADLEY] = {1.9, 350, 0.25, 4e3},
    [MDS_TERM_PROPER] = {0.6, 9, 3},
    [MDS_TERM_PERIODIC_IMPROPER] = {3.14159, 4.6, 2},
    [MDS_TERM_RB] = {9.2, 3.1, -13.1, -3.7, 26.2, -31.5},
    [MDS_TERM_IMPROPER] = {2.9, 160},
    [MDS_TERM_CMAP] = {0},
    [MDS_TERM_PAIR14] = {1e-3, 1e-6, 0.2},
    [MDS_TERM_RESTRAINT] = {0.1, 0.2, 2.1, 1000, 500, 250},
};

static void check_sums(const mds_frame *frame, double allowed, const char *what)
{
    const double size = stage_force_size(frame);

    TEST_TRUE(size > 0);
    // action and reaction cancel to the rounding of the largest force
    for (int k = 0; k < 3; k++) {
        double sum = 0;

        for (int32_t i = 0; i < frame->n; i++) sum += frame->f[i][k];
        if (!(fabs(sum) <= allowed * size)) fprintf(stderr, "%s: sum of forces %d is %g\n", what, k, sum);
        TEST_NEAR(sum, 0, allowed * size);
    }
}

/// Rotation about an axis that is no axis of the box, then a shift. Energy must stay; only without a box.
static void check_motion(stage *s, const mds_state *state)
{
    const double c = cos(0.7), d = sin(0.7), e = cos(-1.1), g = sin(-1.1);
    const double energy = mds_frame_potential(&s->frame);
    mds_state    moved;

    stage_state(s->system, no_box, &moved);
    for (int32_t i = 0; i < state->n_atoms; i++) {
        const double *x = state->x[i], y[3] = {c * x[0] - d * x[1], d * x[0] + c * x[1], x[2]};

        moved.x[i][0] = y[0] + 31.4;
        moved.x[i][1] = e * y[1] - g * y[2] - 27.2;
        moved.x[i][2] = g * y[1] + e * y[2] + 14.1;
    }
    stage_forces(s, &moved, STAGE_BONDED);
    // positions of 40 nm carry 1e-14 nm of rounding, times forces of some thousand
    TEST_NEAR(mds_frame_potential(&s->frame), energy, (1e-9 + rounding) * (1 + fabs(energy)));
    mds_state_free(&moved);
}

/// Every atom in turn by a box vector, and all of them by half a box with single wrapping: nothing changes (case c11).
static void check_wrapping(stage *s, const mds_state *state)
{
    const double energy = mds_frame_potential(&s->frame);
    mds_frame    before = {0};
    mds_state    moved;

    TEST_OK(mds_frame_copy(&before, &s->frame));
    stage_state(s->system, state->box.a, &moved);
    for (int32_t i = 0; i <= state->n_atoms; i++) {
        memcpy(moved.x, state->x, (size_t)state->n_atoms * sizeof *moved.x);
        for (int k = 0; k < 3; k++)
            if (i < state->n_atoms)
                moved.x[i][k] += 2 * state->box.a[0][k] - state->box.a[1][k] + state->box.a[2][k];
            else
                for (int32_t j = 0; j < state->n_atoms; j++)
                    moved.x[j][k] += (j % 2 ? 1 : -3) * state->box.a[j % 3][k];
        stage_forces(s, &moved, STAGE_BONDED);
        // rounding of positions of some nm (1e-15) times the stiffest force constant; cpu adds forces in float
        TEST_NEAR(mds_frame_potential(&s->frame), energy, (1e-10 + rounding) * (1 + fabs(energy)));
        TEST_NEAR(stage_force_gap(&s->frame, &before), 0, fmax(1e-9, 0.1 * tolerance) * stage_force_size(&before));
        TEST_NEAR(stage_tensor_gap(s->frame.virial, before.virial), 0, (1e-9 + rounding) * (1 + stage_tensor_size(before.virial)));
    }
    mds_frame_free(&before);
    mds_state_free(&moved);
}

static void bonded_terms(void)
{
    for (int kind = 0; kind < MDS_N_TERMS; kind++) {
        const mds_term_info *info = &mds_term_table[kind];

        for (int boxed = 0; boxed < 2; boxed++)
            for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
                const int32_t chain[5] = {0, 1, 2, 3, 4};
                mds_system    system = {0};
                mds_state     state;
                mds_params    params = stage_params(0);
                stage         s;
                char          what[64];

                params.coulomb = MDS_COULOMB_NONE;
                if (boxed) params.cut_lj = params.cut_q = 0.9, params.list_radius = 0.95, params.prune_radius = 0.92;
                stage_atoms(&system, info->n_atoms, 0);
                if (kind == MDS_TERM_CMAP) add_map(&system);
                TEST_OK(mds_system_add_term(&system, (mds_term_kind)kind, chain, term_parameters[kind]));
                TEST_OK(mds_system_freeze(&system));
                stage_state(&system, boxed ? triclinic : no_box, &state);
                random_positions(&state, seed, 0.4);
                snprintf(what, sizeof what, "%s%s, seed %d", info->name, boxed ? " in a box" : "", (int)seed);
                stage_open(backend, &system, &params, &s);
                s.step = rounding > 0 ? 2e-3 : 0;
                TEST_INT(stage_check_gradient(&s, &state, STAGE_BONDED, tolerance, what), 0);
                // the GPU's sums are integers, and it makes a term's forces add up to zero in them
                if (kind != MDS_TERM_RESTRAINT) check_sums(&s.frame, rounding > 0 ? 0 : tolerance, what);
                if (boxed)
                    check_wrapping(&s, &state);
                else if (kind != MDS_TERM_RESTRAINT)
                    check_motion(&s, &state);
                stage_close(&s);
                mds_state_free(&state);
                mds_system_free(&system);
            }
    }
}

/// A small charged liquid: types 0 and 1, some exclusions, sites if asked for. Net charge is not zero.
static void liquid(mds_system *system, int32_t n, bool with_c4)
{
    TEST_OK(mds_system_set_types(system, 2, with_c4));
    mds_system_set_lj(system, 0, 0, 2.0e-3, 2.0e-6);
    mds_system_set_lj(system, 0, 1, 1.0e-3, 0.8e-6);
    mds_system_set_lj(system, 1, 1, 0.5e-3, 0.3e-6);
    if (with_c4)
        for (int k = 0; k < 4; k++) system->c4[k] = k ? 5e-3 : 0;
    stage_atoms(system, n, 0);
    for (int32_t i = 0; i < n; i++) {
        system->type[i] = i % 2;
        system->charge[i] = 0.3 + (i % 3 == 0 ? -0.8 : 0.4);
        if (i % 4 == 3) {
            TEST_OK(mds_system_add_exclusion(system, i, i - 1));
            TEST_OK(mds_system_add_exclusion(system, i, i - 3));
        }
    }
}

/// No pair crosses a cut-off while positions or box vary by the step of the differences (2 x 2e-4 nm). Sites too: the
/// positions are those of a frame.
static bool clear_of_cutoffs(const mds_frame *frame, const mds_params *params)
{
    const double cut[3] = {params->cut_lj, params->cut_q, params->lj_switch};

    for (int32_t i = 0; i < frame->n; i++)
        for (int32_t j = 0; j < i; j++) {
            double r[3];

            for (int k = 0; k < 3; k++) r[k] = frame->x[i][k] - frame->x[j][k];
            mds_box_nearest(&frame->box, r);
            for (int k = 0; k < 3; k++)
                if (cut[k] > 0 && fabs(mds_norm(r) - cut[k]) < 1e-3) return false;
        }
    return true;
}

/// Positions on a jittered lattice of the triclinic box: no pair closer than about 0.2 nm.
static void lattice(mds_state *state, int32_t n, uint64_t seed)
{
    const int side = (int)ceil(cbrt(n));

    for (int32_t i = 0; i < n; i++) {
        const int at[3] = {i % side, i / side % side, i / side / side};
        double    s[3];

        for (int k = 0; k < 3; k++) s[k] = (at[k] + 0.5 * stage_random(seed, (uint32_t)(3 * i + k))) / side;
        for (int k = 0; k < 3; k++)
            state->x[i][k] = s[0] * triclinic[0][k] + s[1] * triclinic[1][k] + s[2] * triclinic[2][k];
    }
}

/// The first seed from `seed` on whose positions keep clear of the cut-offs.
static void settle_positions(stage *s, mds_state *state, int32_t n, uint64_t seed, const mds_params *params)
{
    for (int tries = 0; tries < 1000; tries++) {
        lattice(state, n, seed++);
        stage_forces(s, state, 0);
        if (clear_of_cutoffs(&s->frame, params)) return;
    }
    TEST_TRUE(false && "positions clear of the cut-offs");
}

static void pair_forms(void)
{
    static const struct {
        const char     *name;
        mds_lj_modifier modifier;
        mds_coulomb     coulomb;
        mds_split_kind  split;
        double          shape, cut_lj, cut_q;
        bool            shift, c4, vacuum;
    } rows[] = {
        {"cut-off, plain", MDS_LJ_CUT, MDS_COULOMB_CUT, 0, 0, 0.9, 0.9, false, false, false},
        {"potential shift", MDS_LJ_SHIFT, MDS_COULOMB_CUT, 0, 0, 0.9, 0.9, true, true, false},
        {"potential switch, short LJ", MDS_LJ_SWITCH, MDS_COULOMB_REACTION_FIELD, 0, 0, 0.8, 1.0, false, false, false},
        {"force switch, short Coulomb", MDS_LJ_FORCE_SWITCH, MDS_COULOMB_NONE, 0, 0, 1.0, 0.8, false, true, false},
        {"Gaussian PME", MDS_LJ_CUT, MDS_COULOMB_PME, MDS_SPLIT_GAUSSIAN, 3.4, 0.9, 0.9, false, true, false},
        {"Gaussian PME, shifted", MDS_LJ_SHIFT, MDS_COULOMB_PME, MDS_SPLIT_GAUSSIAN, 3.1, 0.8, 0.9, true, false, false},
        {"prolate PME", MDS_LJ_SHIFT, MDS_COULOMB_PME, MDS_SPLIT_PROLATE, 10, 0.9, 0.9, false, false, false},
        {"vacuum", MDS_LJ_CUT, MDS_COULOMB_CUT, 0, 0, 0, 0, false, false, true},
    };

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        enum { N = 40 };
        mds_system system = {0};
        mds_state  state;
        mds_params params = stage_params(1.0);
        stage      s;

        liquid(&system, N, rows[row].c4);
        TEST_OK(mds_system_freeze(&system));
        stage_state(&system, rows[row].vacuum ? no_box : triclinic, &state);
        if (rows[row].vacuum) params = stage_params(0);
        params.lj_modifier = rows[row].modifier;
        params.lj_switch = 0.6;
        params.cut_lj = rows[row].cut_lj;
        params.cut_q = rows[row].cut_q;
        params.rf_dielectric = 54;
        if (rows[row].coulomb == MDS_COULOMB_PME)
            stage_pme(&params, rows[row].split, rows[row].shape, 5 + (int)row % 2, 20);
        params.coulomb = rows[row].coulomb;
        params.coulomb_shift = rows[row].shift;
        stage_open(backend, &system, &params, &s);
        s.every = every; // time; the rest is compared with ref elsewhere
        settle_positions(&s, &state, N, 1000 * row, &params);
        TEST_INT(stage_check_gradient(&s, &state, STAGE_ALL, tolerance, rows[row].name), 0);
        if (params.coulomb != MDS_COULOMB_PME) check_sums(&s.frame, tolerance, rows[row].name); // a mesh pushes a little
        stage_close(&s);
        mds_state_free(&state);
        mds_system_free(&system);
    }
}

/// Each kind of site, charged, in a small charged liquid with a mesh: forces and virial reach its atoms.
static void virtual_sites(void)
{
    static const struct {
        const char    *name;
        mds_vsite_kind kind;
        int            n;
        double         weight[4], param[3];
    } rows[] = {
        {"linear of 2", MDS_VSITE_LINEAR, 2, {0.7, 0.3}, {0}},
        {"linear of 4", MDS_VSITE_LINEAR, 4, {0.1, 0.2, 0.3, 0.4}, {0}},
        {"2fd", MDS_VSITE_TWO_FD, 2, {0}, {0.12}},
        {"3fd", MDS_VSITE_THREE_FD, 3, {0}, {0.4, 0.15}},
        {"3fad", MDS_VSITE_THREE_FAD, 3, {0}, {2.1, 0.11}},
        {"3out", MDS_VSITE_THREE_OUT, 3, {0}, {0.3, 0.4, 1.6}},
        {"4fdn", MDS_VSITE_FOUR_FDN, 4, {0}, {0.9, 1.1, 0.13}},
    };

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        enum { N = 40 };
        const int32_t atoms[4] = {8, 9, 11, 10};
        mds_system    system = {0};
        mds_state     state;
        mds_params    params = stage_params(0.9);
        int32_t       site, second;
        stage         s;

        liquid(&system, N, false);
        site = stage_atoms(&system, 2, -0.7);
        second = site + 1; // a site built from a site
        system.mass[site] = system.mass[second] = 0;
        TEST_OK(mds_system_add_vsite(&system, rows[row].kind, site, rows[row].n, atoms, rows[row].weight, rows[row].param));
        TEST_OK(mds_system_add_vsite(&system, MDS_VSITE_LINEAR, second, 2, (int32_t[2]){site, 9}, (double[2]){0.5, 0.5}, NULL));
        for (int32_t k = 0; k < 4; k++) {
            TEST_OK(mds_system_add_exclusion(&system, site, atoms[k]));
            TEST_OK(mds_system_add_exclusion(&system, second, atoms[k]));
        }
        TEST_OK(mds_system_add_exclusion(&system, site, second));
        TEST_OK(mds_system_freeze(&system));
        stage_state(&system, triclinic, &state);
        stage_pme(&params, MDS_SPLIT_GAUSSIAN, 3.4, 6, 20);
        stage_open(backend, &system, &params, &s);
        s.every = every; // time; the rest is compared with ref elsewhere
        settle_positions(&s, &state, N, 1000 * row, &params);
        for (int k = 0; k < 3; k++) state.x[9][k] += state.box.a[1][k]; // one of its atoms in another image
        TEST_INT(stage_check_gradient(&s, &state, STAGE_ALL, tolerance, rows[row].name), 0);
        stage_close(&s);
        mds_state_free(&state);
        mds_system_free(&system);
    }
}

int main(int argc, char **argv)
{
    backend = argc > 1 ? argv[1] : "ref";
    // ref: the fourth-order difference leaves 1e-8 and less. Others: float pair and mesh sums, differentiated with
    // h = 2e-4 nm, leave some 1e-3 of the largest force; their forces are compared with ref's far more sharply in test_pair,
    // test_mesh and test_bonded, so what is looked for here is a wrong term, not rounding.
    // Bonded energies are double but on a GPU: their rounding (1e-7 of some 100 kJ/mol) over a longer step leaves 1e-3 of the virial.
    const bool is_ref = !strcmp(backend, "ref"), is_cpu = !strcmp(backend, "cpu");
    rounding = is_ref || is_cpu ? 0 : 2e-6;
    seeds = is_ref || is_cpu ? 3 : 1; // the emulation is slow
    every = is_ref ? 1 : is_cpu ? 6 : 20;
    tolerance = is_ref ? 2e-8 : is_cpu ? 1e-5 : 1e-3;
    bonded_terms();
    if (!is_ref) tolerance = 5e-3;
    pair_forms();
    virtual_sites();
    return test_end();
}
