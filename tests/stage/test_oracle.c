// SPDX-License-Identifier: Apache-2.0
// Non-bonded energies that are known: cases c01, c02, c03, c05 and a crystal, on the backend named. For ref also what
// makes it an oracle: the split against its defining equations and against num/, mesh against the exact sum, the
// independence of the split, cells against a plain double loop.
#include "stage/stage.h"

#include "num/num.h"
#include "ref/ref.h"

static const char *backend;
static bool        is_ref;

static double coulomb(const mds_frame *frame)
{
    return frame->energy[MDS_EN_COUL] + frame->energy[MDS_EN_RECIP];
}

static double trace(const mds_frame *frame)
{
    return frame->virial[0][0] + frame->virial[1][1] + frame->virial[2][2];
}

/// Charges at positions in a cube of 3 nm, all excluded from each other or none, with the Gaussian split beta.
static void charges(int n, const double *q, const double (*x)[3], bool excluded, double beta, mds_frame *frame)
{
    const double box[3][3] = {{3, 0, 0}, {0, 3, 0}, {0, 0, 3}};
    mds_params   params = stage_params(1.2);
    mds_system   system = {0};
    mds_state    state;

    stage_atoms(&system, n, 0);
    for (int i = 0; i < n; i++) {
        system.charge[i] = q[i];
        for (int j = 0; excluded && j < i; j++) TEST_OK(mds_system_add_exclusion(&system, i, j));
    }
    TEST_OK(mds_system_freeze(&system));
    stage_state(&system, box, &state);
    memcpy(state.x, x, (size_t)n * sizeof *state.x);
    stage_pme(&params, MDS_SPLIT_GAUSSIAN, beta, 8, 48);
    memset(frame, 0, sizeof *frame);
    stage_once(backend, &system, &params, &state, STAGE_ALL, frame);
    mds_state_free(&state);
    mds_system_free(&system);
}

/// c01: one ion and its neutralising background, -2.837297 f/(2 L) for any beta; pressure E/(3 V), so the trace is -E/2.
static void net_charge(void)
{
    // the value is given to 4 decimals; other backends keep the mesh in float: 1e-6 of self energy and sum (some 200)
    const double tolerance = is_ref ? 5e-5 : 3e-4;

    for (int k = 0; k < 3; k++) {
        mds_frame frame;

        charges(1, (double[]){1}, (double[1][3]){{0.3, 0.4, 0.5}}, false, 2 + 0.5 * k, &frame);
        TEST_NEAR(coulomb(&frame), -65.7002, tolerance);
        TEST_NEAR(trace(&frame), 0.5 * 65.7002, tolerance);
        mds_frame_free(&frame);
    }
}

/// c02, c03: excluded pairs at one point and in other images.
static void excluded(void)
{
    const double tolerance = is_ref ? 5e-5 : 1e-3; // as above, two charges
    mds_frame    frame;

    for (int k = 0; k < 3; k++) {
        const double x[2][3] = {{0.7, 0.1, 0.2}, {0.7, 0.1, 0.2}};

        charges(2, (double[]){1, -1}, x, true, 2.5 + 0.4 * k, &frame);
        TEST_NEAR(coulomb(&frame), 0, tolerance);
        TEST_NEAR(stage_force_size(&frame), 0, is_ref ? 1e-9 : 1e-3);
        mds_frame_free(&frame);
        charges(2, (double[]){1, 1}, x, true, 2.5 + 0.4 * k, &frame);
        TEST_NEAR(coulomb(&frame), -262.8008, 4 * tolerance);
        mds_frame_free(&frame);
    }
    for (int k = 0; k < 3; k++) {
        const double x[2][3] = {{0, 0, 0}, {k == 0 ? 2.0 : k == 1 ? -1.0 : 5.0, 0, 0}};

        charges(2, (double[]){1, -1}, x, true, 3, &frame);
        TEST_NEAR(coulomb(&frame), -12.6149, tolerance);
        mds_frame_free(&frame);
        charges(2, (double[]){1, -1}, x, false, 3, &frame);
        TEST_NEAR(coulomb(&frame), -151.5503, tolerance);
        mds_frame_free(&frame);
    }
}

/// c05: the LJ cut-off is LJ's own.
static void two_cutoffs(void)
{
    const double box[3][3] = {{3, 0, 0}, {0, 3, 0}, {0, 0, 3}};
    const double s6 = pow(0.34, 6);
    mds_params   params = stage_params(1.2);
    mds_system   system = {0};
    mds_state    state;
    mds_frame    frame = {0};

    stage_atoms(&system, 2, 0);
    mds_system_set_lj(&system, 0, 0, 4 * 0.997 * s6, 4 * 0.997 * s6 * s6);
    TEST_OK(mds_system_freeze(&system));
    stage_state(&system, box, &state);
    params.cut_lj = 0.9;
    params.coulomb = MDS_COULOMB_REACTION_FIELD;
    params.rf_dielectric = 78;
    state.x[1][1] = 0.95;
    stage_once(backend, &system, &params, &state, STAGE_PAIR, &frame);
    TEST_NEAR(frame.energy[MDS_EN_LJ], 0, 0);
    TEST_NEAR(stage_force_size(&frame), 0, 0);
    state.x[1][1] = 0.40;
    stage_once(backend, &system, &params, &state, STAGE_PAIR, &frame);
    // the case gives five decimals
    TEST_NEAR(frame.energy[MDS_EN_LJ], -0.93681, 1e-5);
    TEST_NEAR(frame.f[1][1], -5.54328, 1e-5);
    TEST_NEAR(-2 * trace(&frame) / (3 * 27) * MDS_BAR, -0.45456, 1e-5);
    mds_frame_free(&frame);
    mds_state_free(&state);
    mds_system_free(&system);
}

/// Rock salt: 216 ions at a spacing of 0.28 nm; Madelung's constant 1.747564594633 (per ion pair and nearest distance).
static void crystal(mds_split_kind split, double shape)
{
    enum { SIDE = 6, N = SIDE * SIDE * SIDE };
    const double a = 0.28, length = a * SIDE, box[3][3] = {{length, 0, 0}, {0, length, 0}, {0, 0, length}};
    mds_params   params = stage_params(0.8);
    mds_system   system = {0};
    mds_state    state;
    mds_frame    frame = {0};

    stage_atoms(&system, N, 0);
    for (int i = 0; i < N; i++) system.charge[i] = (i + i / SIDE + i / SIDE / SIDE) % 2 ? 1 : -1;
    TEST_OK(mds_system_freeze(&system));
    stage_state(&system, box, &state);
    for (int i = 0; i < N; i++) {
        state.x[i][0] = a * (i % SIDE);
        state.x[i][1] = a * (i / SIDE % SIDE);
        state.x[i][2] = a * (i / SIDE / SIDE);
    }
    stage_pme(&params, split, shape, 8, 36);
    stage_once(backend, &system, &params, &state, STAGE_ALL, &frame);
    const double want = -0.5 * N * 1.747564594633 * MDS_COULOMB / a;
    // ref: real space ends at erfc(5.2 0.8) = 4e-9 (prolate c = 20 leaves less), of neighbours of either sign. Others: float
    // pair sums, 1e-6 of the sum
    TEST_NEAR(coulomb(&frame), want, (is_ref ? 1e-8 : 2e-6) * fabs(want));
    TEST_NEAR(trace(&frame), -0.5 * want, (is_ref ? 1e-7 : 1e-5) * fabs(want)); // Coulomb alone: sum r.f = E
    mds_frame_free(&frame);
    mds_state_free(&state);
    mds_system_free(&system);
}

// ---------------------------------------------------------------------------------------------- ref alone

static const double triclinic[3][3] = {{2.4, 0, 0}, {0.5, 2.3, 0}, {-0.7, 0.4, 2.2}};

/// 60 charges at random, net charge 1.8, some excluded.
static void random_charges(mds_system *system, mds_state *state)
{
    enum { N = 60 };

    memset(system, 0, sizeof *system);
    stage_atoms(system, N, 0);
    for (int i = 0; i < N; i++) {
        system->charge[i] = stage_random(1, (uint32_t)i) - 0.47;
        if (i % 3) TEST_OK(mds_system_add_exclusion(system, i, i - 1));
    }
    TEST_OK(mds_system_freeze(system));
    stage_state(system, triclinic, state);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            state->x[i][k] = 3 * stage_random(2, (uint32_t)(3 * i + k));
}

/// The mesh against the exact sum: errors fall by a known power with the order, for both splits, with net charge.
static void mesh_converges(mds_split_kind split, double shape)
{
    // [order 4, 6, 8]: energy relative, force and virial to the largest; two to three times what is found at 0.06 nm (4e-4,
    // 3.5e-6, 7e-8 for both splits), so that a wrong weight, factor or derivative shows
    static const double bound[3] = {1e-3, 1e-5, 2e-7};
    mds_system system;
    mds_state  state;
    double     last = 1;

    random_charges(&system, &state);
    double(*force)[3] = malloc((size_t)system.n_atoms * sizeof *force);
    for (int k = 0; k < 3; k++) {
        mds_params params = stage_params(0.9);
        double     energy, virial[3][3], gap = 0, size = 0;
        stage      s;

        stage_pme(&params, split, shape, 4 + 2 * k, 40);
        stage_open("ref", &system, &params, &s);
        stage_forces(&s, &state, STAGE_MESH);
        // beyond 75/nm the Gaussian is exp(-75^2/(4 3.4^2)) and the prolate split's tail 1e-9
        mds_ref_ewald_sum(s.device, 75, &energy, force, virial);
        for (int i = 0; i < system.n_atoms; i++)
            for (int c = 0; c < 3; c++) {
                gap = fmax(gap, fabs(force[i][c] - s.frame.f[i][c]));
                size = fmax(size, fabs(force[i][c]));
            }
        TEST_NEAR(s.frame.energy[MDS_EN_RECIP], energy, bound[k] * fabs(energy));
        TEST_NEAR(gap, 0, bound[k] * size);
        TEST_NEAR(stage_tensor_gap(s.frame.virial, virial), 0, bound[k] * stage_tensor_size(virial));
        TEST_TRUE(gap / size < 0.2 * last); // and the order does what it should
        last = gap / size;
        stage_close(&s);
    }
    free(force);
    mds_state_free(&state);
    mds_system_free(&system);
}

/// Energy, forces and virial of everything do not depend on where the split is, nor on its kind.
static void split_independence(void)
{
    static const struct {
        mds_split_kind split;
        double         shape;
    } rows[] = {{MDS_SPLIT_GAUSSIAN, 5.4}, {MDS_SPLIT_GAUSSIAN, 5.8}, {MDS_SPLIT_PROLATE, 20}, {MDS_SPLIT_PROLATE, 25}};
    mds_system system;
    mds_state  state;
    mds_frame  first = {0}, other = {0};

    random_charges(&system, &state);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        mds_params params = stage_params(1.0);

        stage_pme(&params, rows[k].split, rows[k].shape, 8, 90);
        stage_once("ref", &system, &params, &state, STAGE_ALL, k ? &other : &first);
        if (!k) continue;
        // what is left: mesh of 0.027 nm at order 8, erfc(5.4) = 2e-14, the prolate band limit exp(-c)
        TEST_NEAR(coulomb(&other), coulomb(&first), 2e-7 * fabs(coulomb(&first)));
        TEST_NEAR(stage_force_gap(&other, &first), 0, 2e-7 * stage_force_size(&first));
        TEST_NEAR(stage_tensor_gap(other.virial, first.virial), 0, 2e-7 * fabs(coulomb(&first)));
    }
    mds_frame_free(&first);
    mds_frame_free(&other);
    mds_state_free(&state);
    mds_system_free(&system);
}

/// psi is an eigenfunction of the finite Fourier transform: int_0^1 psi(t) cos(c x t) dt = lambda psi(x) for every x.
static void prolate_equation(const mds_device *d, double c)
{
    const ref_split *s = &d->split;
    const double     edge = 1 - (double)s->a[0]; // psi(0) = 1 before the edge was taken off
    double           lambda = 0;

    for (int k = 0; k <= 10; k++) {
        const double x = 0.1 * k;
        double       sum = 0, r_dphi, here;
        const int    n = 2000; // Simpson: error (c/n)^4 / 180

        for (int i = 0; i <= n; i++) {
            const double t = (double)i / n;
            double       psi = 1 - edge;

            if (i) {
                mds_ref_split_phi(d, t * s->cut * (1 - 1e-15), &r_dphi);
                psi = r_dphi / t * (double)s->integral;
            }
            sum += (i == 0 || i == n ? 1 : i % 2 ? 4 : 2) * (psi + edge) * cos(c * x * t) / (3 * n);
        }
        if (k) mds_ref_split_phi(d, x * s->cut * (1 - 1e-15), &r_dphi);
        here = k ? r_dphi / x * (double)s->integral + edge : 1;
        if (!k) lambda = sum;
        TEST_NEAR(sum, lambda * here, 1e-10);
    }
    TEST_TRUE(lambda > 0);
}

static void splits(void)
{
    static const double shapes[2][4] = {{9.5, 12, 20, 29}, {2.5, 3.12, 4, 5.5}};

    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; k < 4; k++) {
            const double shape = shapes[kind][k], cut = 0.9;
            mds_system   system = {0};
            mds_params   params = stage_params(cut);
            mds_split    split = {0};
            stage        s;
            double       mine, slope, other, other_slope, phi, zero;

            stage_atoms(&system, 1, 1);
            TEST_OK(mds_system_freeze(&system));
            stage_pme(&params, kind ? MDS_SPLIT_GAUSSIAN : MDS_SPLIT_PROLATE, shape, 4, 16);
            stage_open("ref", &system, &params, &s);
            TEST_OK(mds_split_init(&split, kind ? MDS_NUM_GAUSSIAN : MDS_NUM_PROLATE, shape, cut, 80));
            if (!kind) prolate_equation(s.device, shape);
            for (int i = 0; i <= 40; i++) {
                const double r = 0.03 * i;

                // two derivations, each good to rounding of values of order 1 (long double series cancel by exp(c/2))
                mine = mds_ref_split_phi(s.device, r, &slope);
                other = mds_split_phi(&split, r, &other_slope);
                TEST_NEAR(mine, other, 1e-12);
                TEST_NEAR(slope, other_slope, 1e-11);
                // the smooth form agrees with the plain one where that does not cancel, and is even at zero
                mds_ref_split_smooth(s.device, r, &phi, &zero);
                if (i > 3) TEST_NEAR(phi, mine / r, 1e-12 / r);
                if (i > 3) TEST_NEAR(zero, (mine - slope) / (r * r * r), 1e-11 / (r * r * r));
            }
            mds_ref_split_smooth(s.device, 0, &phi, &zero);
            TEST_NEAR(0.5 * phi, split.self, 1e-11 * split.self);
            TEST_NEAR(0.5 * mds_ref_split_background(s.device), split.background, 1e-10 * split.background);
            for (int i = 0; i <= 50; i++) {
                const double wave = 1.5 * i;

                mine = mds_ref_split_spectrum(s.device, wave, &slope);
                mds_split_spectrum(&split, wave, &other, &other_slope);
                TEST_NEAR(mine, other, 1e-9); // num interpolates a table; ghat(0) = 1
                TEST_NEAR(slope, other_slope, 1e-8); // and so is its slope
            }
            mds_split_free(&split);
            stage_close(&s);
            mds_system_free(&system);
        }
}

/// More than three cells a side: the sweep visits every pair once. Against a plain double loop written here.
static void cells(void)
{
    enum { N = 700 };
    const double box[3][3] = {{4.2, 0, 0}, {1.1, 4.4, 0}, {-0.9, 1.3, 4.1}};
    mds_params   params = stage_params(0.8);
    mds_system   system = {0};
    mds_state    state;
    mds_frame    frame = {0};
    double       energy = 0;

    params.coulomb = MDS_COULOMB_NONE;
    stage_atoms(&system, N, 0);
    mds_system_set_lj(&system, 0, 0, 1e-3, 0);
    TEST_OK(mds_system_freeze(&system));
    stage_state(&system, box, &state);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) state.x[i][k] = 20 * (stage_random(4, (uint32_t)(3 * i + k)) - 0.5); // far outside too
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            double r[3];

            for (int k = 0; k < 3; k++) r[k] = state.x[i][k] - state.x[j][k];
            mds_box_nearest(&state.box, r);
            if (mds_dot(r, r) < 0.64) energy -= 1e-3 * pow(mds_dot(r, r), -3);
        }
    stage_once(backend, &system, &params, &state, STAGE_PAIR, &frame);
    TEST_NEAR(frame.energy[MDS_EN_LJ], energy, (is_ref ? 1e-11 : 1e-4) * fabs(energy)); // float: the closest pairs rule
    mds_frame_free(&frame);
    mds_state_free(&state);
    mds_system_free(&system);
}

int main(int argc, char **argv)
{
    backend = argc > 1 ? argv[1] : "ref";
    is_ref = !strcmp(backend, "ref") || stage_double();
    net_charge();
    excluded();
    two_cutoffs();
    crystal(MDS_SPLIT_GAUSSIAN, 5.2);
    crystal(MDS_SPLIT_PROLATE, 20);
    cells();
    if (is_ref) {
        splits();
        mesh_converges(MDS_SPLIT_GAUSSIAN, 3.4);
        mesh_converges(MDS_SPLIT_PROLATE, 20); // smaller c: the kink at the cut-off shows beside order 8
        split_independence();
    }
    return test_end();
}
