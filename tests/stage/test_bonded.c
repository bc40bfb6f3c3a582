// SPDX-License-Identifier: Apache-2.0
// Bonded terms against closed forms in simple geometries, where nothing is defined (cases c21, c22), and, for other
// backends, against ref on a molecule that has every term.
#include "stage/stage.h"

static const char *backend;
// Relative rounding of forces: ref none; cpu keeps them in float (6e-8), few terms each; a GPU does a term in float, some ten
// operations and angles good to 3e-7 rad. Of energies: only a GPU, the same; 1e-5 is what it promises.
static double float_force, float_energy;
static bool   small; // watched for races: everything takes a hundred times as long

static const double no_box[3][3] = {{0}};

/// One term on its own: energy of `energy`, and the force on atom 0.
static void one_term(mds_term_kind kind, const double (*x)[3], const double *param, mds_frame *frame)
{
    const int32_t chain[5] = {0, 1, 2, 3, 4};
    const int     n = mds_term_table[kind].n_atoms;
    mds_params    params = stage_params(0);
    mds_system    system = {0};
    mds_state     state;

    params.coulomb = MDS_COULOMB_NONE;
    stage_atoms(&system, n, 0);
    TEST_OK(mds_system_add_term(&system, kind, chain, param));
    TEST_OK(mds_system_freeze(&system));
    stage_state(&system, no_box, &state);
    memcpy(state.x, x, (size_t)n * sizeof *state.x);
    memset(frame, 0, sizeof *frame);
    stage_once(backend, &system, &params, &state, STAGE_BONDED, frame);
    mds_state_free(&state);
    mds_system_free(&system);
}

static void expect(mds_term_kind kind, const double (*x)[3], const double *param, double energy, const double force0[3])
{
    const double size = mds_norm(force0);
    mds_frame    frame;

    one_term(kind, x, param, &frame);
    // ten digits are written out below; double keeps fifteen of them
    TEST_NEAR(frame.energy[mds_term_table[kind].energy], energy, (1e-9 + float_energy) * (1 + fabs(energy)));
    TEST_NEAR(mds_frame_potential(&frame), energy, (1e-9 + float_energy) * (1 + fabs(energy)));
    for (int k = 0; k < 3; k++) TEST_NEAR(frame.f[0][k], force0[k], (1e-9 + float_force) * (1 + size));
    mds_frame_free(&frame);
}

static void distances(void)
{
    const double x[2][3] = {{0, 0, 0}, {0, 0.2, 0}};
    mds_frame    frame;

    // 1/2 2500 0.06^2; k x towards atom 1
    expect(MDS_TERM_BOND, x, (double[]){0.14, 2500}, 4.5, (double[3]){0, 150, 0});
    // 1/4 8000 (0.04 - 0.0225)^2; k (r^2 - r0^2) r
    expect(MDS_TERM_BOND_G96, x, (double[]){0.15, 8000}, 0.6125, (double[3]){0, 28, 0});
    // e = exp(-18 0.07); 400 (1 - e)^2; 2 400 18 (1 - e) e
    const double e = exp(-1.26);
    expect(MDS_TERM_BOND_MORSE, x, (double[]){0.13, 400, 18}, 400 * (1 - e) * (1 - e), (double[3]){0, 14400 * (1 - e) * e, 0});
    // a pair: LJ and Coulomb counted apart
    one_term(MDS_TERM_PAIR14, x, (double[]){1e-3, 1e-6, -0.25}, &frame);
    TEST_NEAR(frame.energy[MDS_EN_LJ14], 1e-6 / 4.096e-9 - 1e-3 / 6.4e-5, 1e-9 + 250 * float_energy);
    TEST_NEAR(frame.energy[MDS_EN_COUL14], -0.25 * 138.935458 / 0.2, 1e-9 + 170 * float_energy);
    TEST_NEAR(frame.f[0][1], -(12 * 1e-6 / 4.096e-9 - 6 * 1e-3 / 6.4e-5 - 0.25 * 138.935458 / 0.2) / 0.2, 1e-4 + 15e3 * float_energy);
    mds_frame_free(&frame);
    // 1/2 (1000 0.1^2 + 250 0.2^2)
    expect(MDS_TERM_RESTRAINT, x, (double[]){0.1, 0, -0.2, 1000, 500, 250}, 10, (double[3]){100, 0, -50});
}

static void angles(void)
{
    const double right[3][3] = {{0.1, 0, 0}, {0, 0, 0}, {0, 0.2, 0}};

    // 90 degrees against 60: x = pi/6. The force on atom 0 closes the angle: k x / 0.1 along +y
    const double x = MDS_PI / 6;
    expect(MDS_TERM_ANGLE, right, (double[]){MDS_PI / 3, 300}, 150 * x * x, (double[3]){0, 300 * x / 0.1, 0});
    // cos: 0 against 1/2: 1/2 300 / 4; d cos/dx0 = y/0.1, force = k/2 / 0.1
    expect(MDS_TERM_ANGLE_G96, right, (double[]){MDS_PI / 3, 300}, 37.5, (double[3]){0, 1500, 0});
    // and the 1-3 distance sqrt(0.05) against 0.2
    const double r = sqrt(0.05), pull = 1000 * (r - 0.2) / r;
    expect(MDS_TERM_UREY_BRADLEY, right, (double[]){MDS_PI / 3, 300, 0.2, 1000},
           150 * x * x + 500 * (r - 0.2) * (r - 0.2), (double[3]){-0.1 * pull, 300 * x / 0.1 + 0.2 * pull, 0});
}

/// Atom 3 turned by phi about the axis from atom 1 to 2 (x), atom 0 at +y: IUPAC positive is clockwise seen from 1 to 2.
static void torsion_atoms(double phi, double x[5][3])
{
    const double chain[3][3] = {{0, 0.1, 0}, {0, 0, 0}, {0.15, 0, 0}};

    memcpy(x, chain, sizeof chain);
    x[3][0] = 0.15;
    x[3][1] = 0.1 * cos(phi);
    x[3][2] = 0.1 * sin(phi);
    x[4][0] = 0.25; // for CMAP
    x[4][1] = 0.1 * cos(phi);
    x[4][2] = 0.1 * sin(phi) + 0.03;
}

static void torsions(void)
{
    double x[5][3];

    for (int sign = -1; sign <= 1; sign += 2) {
        const double phi = sign * MDS_PI / 2;

        // looking along +x from atom 1 to 2, y to z is clockwise: phi is +90 for atom 3 at +z. Turning atom 0 towards +z
        // lessens phi: its force along z is dV/dphi / 0.1
        torsion_atoms(phi, x);
        expect(MDS_TERM_PROPER, (const double(*)[3])x, (double[]){0.3, 9, 1}, 9 * (1 + cos(phi - 0.3)),
               (double[3]){0, 0, -9 * sin(phi - 0.3) / 0.1});
        expect(MDS_TERM_PERIODIC_IMPROPER, (const double(*)[3])x, (double[]){0.3, 9, 3}, 9 * (1 + cos(3 * phi - 0.3)),
               (double[3]){0, 0, -27 * sin(3 * phi - 0.3) / 0.1});
        expect(MDS_TERM_IMPROPER, (const double(*)[3])x, (double[]){0.2, 160}, 80 * (phi - 0.2) * (phi - 0.2),
               (double[3]){0, 0, 160 * (phi - 0.2) / 0.1});
        // cos(phi - pi) = 0: only c0 is left; dV/dphi = c1 sin(phi)
        expect(MDS_TERM_RB, (const double(*)[3])x, (double[]){9, 3, -13, -4, 26, -31}, 9, (double[3]){0, 0, 3 * sin(phi) / 0.1});
    }
    // across 180 degrees: 179 against -179 is 2 degrees, not 358 (case c22)
    const double degree = MDS_PI / 180, off = 2 * degree;
    torsion_atoms(-179 * degree, x);
    mds_frame frame;
    one_term(MDS_TERM_IMPROPER, (const double(*)[3])x, (double[]){179 * degree, 160}, &frame);
    TEST_NEAR(frame.energy[MDS_EN_IMPROPER], 80 * off * off, 1e-10 + float_energy);
    mds_frame_free(&frame);
    for (int side = -1; side <= 1; side += 2) {
        torsion_atoms(side * (MDS_PI - 1e-7), x);
        one_term(MDS_TERM_PROPER, (const double(*)[3])x, (double[]){0, 9, 3}, &frame);
        TEST_NEAR(frame.energy[MDS_EN_PROPER], 0, 1e-11 + 9 * float_energy); // 9 (1 + cos 3 phi), quadratic in the 1e-7
        TEST_NEAR(frame.f[0][2], 0, 1e-3);                // 81 x 1e-7 / 0.1, continuous through zero
        mds_frame_free(&frame);
    }
}

static void check_finite(mds_term_kind kind, const double (*x)[3], const double *param, bool no_force, const char *what)
{
    const int n = mds_term_table[kind].n_atoms;
    double    size = 0, sum = 0;
    mds_frame frame;

    one_term(kind, x, param, &frame);
    if (!isfinite(mds_frame_potential(&frame))) fprintf(stderr, "%s: %s\n", mds_term_table[kind].name, what);
    TEST_TRUE(isfinite(mds_frame_potential(&frame)));
    for (int k = 0; k < 3; k++) {
        double here = 0;

        for (int i = 0; i < n; i++) {
            here += frame.f[i][k];
            size += fabs(frame.f[i][k]);
        }
        sum += fabs(here);
    }
    TEST_TRUE(isfinite(size));
    if (no_force) TEST_NEAR(size, 0, 0); // undefined: zero, not small
    TEST_NEAR(sum, 0, (1e-12 + float_force) * (1 + size));
    TEST_TRUE(isfinite(stage_tensor_size(frame.virial)));
    mds_frame_free(&frame);
}

/// Cases c21 and c22: atoms at one point, straight angles, collinear torsions.
static void undefined(void)
{
    static const double point[5][3] = {{0.1, 0.2, 0.3}, {0.1, 0.2, 0.3}, {0.1, 0.2, 0.3}, {0.1, 0.2, 0.3}, {0.1, 0.2, 0.3}};
    static const double line[5][3] = {{0, 0, 0}, {0.1, 0, 0}, {0.2, 0, 0}, {0.3, 0, 0}, {0.4, 0, 0}};
    static const double tilted[5][3] = {{0.1, 0.2, 0.3}, {0.17, 0.27, 0.37}, {0.24, 0.34, 0.44}, {0.31, 0.41, 0.51}, {0.5, 0.4, 0.3}};
    double    almost[5][3];
    double    map[24 * 24];
    mds_frame frame;

    one_term(MDS_TERM_BOND, point, (double[]){0.14, 2500}, &frame);
    TEST_NEAR(frame.energy[MDS_EN_BOND], 0.5 * 2500 * 0.0196, 1e-12 + 25 * float_energy); // k r0^2 / 2 (c21)
    TEST_NEAR(stage_force_size(&frame), 0, 0);
    mds_frame_free(&frame);
    memcpy(almost, line, sizeof almost);
    almost[0][1] = 0.1 * 1.7453e-5; // 179.999 degrees
    almost[3][2] = 0.1 * 1.7453e-5;
    for (int k = 0; k < 24 * 24; k++) map[k] = sin(0.3 * k);

    for (int kind = 0; kind < MDS_N_TERMS; kind++) {
        static const double param[6] = {0.3, 100, 2, 0.15, 0.2, 0.1};
        const int           n = mds_term_table[kind].n_atoms;

        if (kind == MDS_TERM_CMAP || kind == MDS_TERM_RESTRAINT) continue; // CMAP: below; a restraint is never undefined
        check_finite((mds_term_kind)kind, point, param, true, "at one point");
        if (small) continue;
        check_finite((mds_term_kind)kind, line, param, n == 4, "on a line");
        check_finite((mds_term_kind)kind, tilted, param, n == 4, "on a tilted line");
        check_finite((mds_term_kind)kind, almost, param, false, "almost on a line");
    }
    for (int geometry = 0; geometry < 3; geometry++) {
        const double(*x)[3] = geometry == 0 ? point : geometry == 1 ? line : (const double(*)[3])almost;
        mds_system system = {0};
        mds_params params = stage_params(0);
        mds_state  state;
        int32_t    index;

        params.coulomb = MDS_COULOMB_NONE;
        stage_atoms(&system, 5, 0);
        TEST_OK(mds_system_add_map(&system, 24, map, &index));
        TEST_OK(mds_system_add_term(&system, MDS_TERM_CMAP, (int32_t[]){0, 1, 2, 3, 4}, (double[]){0}));
        TEST_OK(mds_system_freeze(&system));
        stage_state(&system, no_box, &state);
        memcpy(state.x, x, 5 * sizeof *state.x);
        memset(&frame, 0, sizeof frame);
        stage_once(backend, &system, &params, &state, STAGE_BONDED, &frame);
        TEST_TRUE(isfinite(frame.energy[MDS_EN_CMAP]) && isfinite(stage_force_size(&frame)));
        if (geometry < 2) TEST_NEAR(stage_force_size(&frame), 0, 0);
        mds_frame_free(&frame);
        mds_state_free(&state);
        mds_system_free(&system);
    }
}

/// A map of few waves: cubic splines of 15 degrees reproduce it to the fourth power of the step, and its grid points exactly.
static void map_values(void)
{
    enum { N = 24 };
    double     grid[N * N], x[5][3];
    mds_system system = {0};
    mds_params params = stage_params(0);
    mds_state  state;
    int32_t    index;
    stage      s;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            grid[N * i + j] = 3 * sin(2 * MDS_PI * i / N - MDS_PI) + 5 * cos(2 * MDS_PI * j / N - MDS_PI + 0.2);
    params.coulomb = MDS_COULOMB_NONE;
    stage_atoms(&system, 5, 0);
    TEST_OK(mds_system_add_map(&system, N, grid, &index));
    TEST_OK(mds_system_add_term(&system, MDS_TERM_CMAP, (int32_t[]){0, 1, 2, 3, 4}, (double[]){0}));
    TEST_OK(mds_system_freeze(&system));
    stage_state(&system, no_box, &state);
    stage_open(backend, &system, &params, &s);
    for (int step = -12; step <= 12; step += small ? 7 : 1) {
        // first torsion phi. The second is +90 degrees: seen along e, from atom 2 to 3, the way from atom 1 (-x) to atom 4
        // (x cross e) is a right-handed quarter turn about e
        const double phi = step * MDS_PI / 12 + (step % 2 ? 0.1 : 0);

        torsion_atoms(phi, x);
        x[4][0] = 0.15;
        x[4][1] = 0.1 * cos(phi) - 0.1 * sin(phi);
        x[4][2] = 0.1 * sin(phi) + 0.1 * cos(phi);
        memcpy(state.x, x, sizeof x);
        stage_forces(&s, &state, STAGE_BONDED);
        const double got = s.frame.energy[MDS_EN_CMAP];
        const double plus = 3 * sin(phi) + 5 * cos(MDS_PI / 2 + 0.2), minus = 3 * sin(phi) + 5 * cos(-MDS_PI / 2 + 0.2);
        // spline error h^4 f''''/384; none on the grid
        const double tolerance = (step % 2 ? 8 * pow(MDS_PI / 12, 4) / 384 : 1e-9) + 8 * float_energy;
        TEST_TRUE(fabs(plus - minus) > 1); // the sign of the second torsion shows
        TEST_NEAR(got, plus, tolerance);
    }
    stage_close(&s);
    mds_state_free(&state);
    mds_system_free(&system);
}

/// A random walk of bonds near 0.15 nm, atoms wrapped one by one.
static void walk(mds_state *state, const double box[3][3])
{
    for (int32_t i = 0; i < state->n_atoms; i++)
        for (int k = 0; k < 3; k++) {
            state->x[i][k] = (i ? state->x[i - 1][k] : 0) + 0.2 * (stage_random(9, (uint32_t)(3 * i + k)) - 0.45);
            if (k == 2 && i % 3 == 0)
                for (int c = 0; c < 3; c++) state->x[i][c] += box[i % 2][c];
        }
}

/// Parameters of term i of a kind between atoms i and on. 1-4 pairs fit their distance, so that all of them count.
static void some_parameters(int kind, int32_t i, const mds_state *state, double p[6])
{
    double r[3];

    for (int k = 0; k < 6; k++) p[k] = 0.1 + stage_random(5, (uint32_t)(100 * i + 6 * kind + k));
    if (kind == MDS_TERM_CMAP) p[0] = i % 2;
    if (kind == MDS_TERM_PROPER || kind == MDS_TERM_PERIODIC_IMPROPER) p[2] = i % 8; // 7 is a rare one
    if (kind == MDS_TERM_PROPER && i % 9 == 0) p[2] = 2.5;
    if (kind == MDS_TERM_PROPER && i % 5 < 2) p[0] = i % 5 * MDS_PI; // no sine
    if (kind != MDS_TERM_PAIR14) return;
    for (int k = 0; k < 3; k++) r[k] = state->x[i][k] - state->x[i + 1][k];
    mds_box_nearest(&state->box, r);
    p[0] *= pow(mds_norm(r), 6);
    p[1] *= pow(mds_norm(r), 12);
}

/// Every term many times over on random atoms of a skewed box, in pieces, against ref. Enough of them for several blocks, and
/// numbers of terms that fill no vector.
static void against_ref(void)
{
    enum { N = 200 };
    const double box[3][3] = {{2.4, 0, 0}, {0.5, 2.3, 0}, {-0.7, 0.4, 2.2}};
    mds_system   system = {0};
    mds_params   params = stage_params(0.9);
    mds_state    state;
    mds_frame    want = {0}, got = {0};
    double       map[24 * 24];
    int32_t      index;
    stage        s;

    params.coulomb = MDS_COULOMB_NONE;
    stage_atoms(&system, N, 0);
    stage_state(&system, box, &state);
    walk(&state, box);
    for (int m = 0; m < 2; m++) {
        for (int k = 0; k < 24 * 24; k++) map[k] = 5 * stage_random(77, (uint32_t)(600 * m + k));
        TEST_OK(mds_system_add_map(&system, 24, map, &index));
    }
    for (int32_t i = 0; i + 5 <= N; i++)
        for (int kind = 0; kind < MDS_N_TERMS; kind++) {
            const int32_t atoms[5] = {i, i + 1, i + 2, i + 3, i + 4};
            double        p[6];

            some_parameters(kind, i, &state, p);
            if (kind == MDS_TERM_PROPER && i % 3 == 0) { // two on the same atoms
                const double more[3] = {0.2, 0.7, 1 + i % 3};

                TEST_OK(mds_system_add_term(&system, MDS_TERM_PROPER, atoms, more));
            }
            TEST_OK(mds_system_add_term(&system, (mds_term_kind)kind, atoms, p));
        }
    TEST_OK(mds_system_freeze(&system));
    stage_once("ref", &system, &params, &state, STAGE_BONDED, &want);
    stage_open(backend, &system, &params, &s);
    stage_forces(&s, &state, STAGE_BONDED);
    TEST_OK(mds_frame_copy(&got, &s.frame));
    for (int k = 0; k < MDS_N_ENERGY; k++) // double, another order of sums
        TEST_NEAR(got.energy[k], want.energy[k], (1e-11 + float_energy) * (1 + fabs(want.energy[k])));
    // a dozen additions in float to the largest forces
    TEST_NEAR(stage_force_gap(&got, &want), 0, (8e-7 + float_force) * stage_force_size(&want));
    TEST_NEAR(stage_tensor_gap(got.virial, want.virial), 0, (1e-11 + float_energy) * (1 + stage_tensor_size(want.virial)));
    s.force_only = true; // compilers may contract the two forms of a kernel in other ways: one rounding
    stage_forces(&s, &state, STAGE_BONDED);
    TEST_NEAR(stage_force_gap(&got, &s.frame), 0, 1e-7 * stage_force_size(&want));
    stage_close(&s);
    mds_frame_free(&want);
    mds_frame_free(&got);
    mds_state_free(&state);
    mds_system_free(&system);
}

/// The instruction set levels of the backend that run here, separated by blanks.
static const char *at_levels(void)
{
    const mds_backend *be;

    TEST_OK(mds_backend_find(backend, &be));
    return be->flavours();
}

int main(int argc, char **argv)
{
    backend = argc > 1 ? argv[1] : "ref";
    small = getenv("MDS_SMALL") != NULL;
    float_force = !strcmp(backend, "ref") ? 0 : !strcmp(backend, "cpu") ? 2e-7 : 2e-6;
    float_energy = !strcmp(backend, "ref") || !strcmp(backend, "cpu") ? 0 : 2e-6;
    if (stage_double()) float_force = float_energy = 1e-11; // sums of forces in units of 2^-32 kJ/mol/nm
    if (!strcmp(backend, "ref")) {
        distances();
        angles();
        torsions();
        undefined();
        map_values();
    }
    for (const char *level = strcmp(backend, "ref") ? at_levels() : ""; *level; level += strcspn(level, " ") + (strchr(level, ' ') != NULL)) {
        char name[16] = "";

        memcpy(name, level, strcspn(level, " "));
        setenv("MDS_ISA", name, 1); // what a level that is not named is taken from
        distances();
        angles();
        torsions();
        undefined();
        map_values();
        against_ref();
    }
    return test_end();
}
