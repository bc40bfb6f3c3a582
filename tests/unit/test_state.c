// SPDX-License-Identifier: Apache-2.0
// Boxes (reduction, lengths and angles, nearest images), whole molecules, drawn velocities.
#include "base/rng.h"
#include "base/units.h"
#include "model/model.h"
#include "test.h"

static uint32_t draws;

static double uniform(double low, double high)
{
    double u[4];

    mds_uniform4(2026, MDS_RNG_MAKE, 1, draws++, u);
    return low + (high - low) * u[0];
}

/// Truncated octahedron of a = 10.412634 nm: numbers of AMBER's 109.4712 degrees, given to seven digits (so 1e-5).
static void truncated_octahedron(void)
{
    const double length[3] = {10.412634, 10.412634, 10.412634}, angle[3] = {109.4712, 109.4712, 109.4712};
    mds_box      box;
    double       width[3];

    TEST_OK(mds_box_from_lengths(length, angle, &box));
    TEST_NEAR(box.a[1][0], -3.470878, 1e-5);
    TEST_NEAR(box.a[1][1], 9.817126, 1e-5);
    TEST_NEAR(box.a[2][0], -3.470878, 1e-5);
    TEST_NEAR(box.a[2][1], -4.908562, 1e-5);
    TEST_NEAR(box.a[2][2], 8.501880, 1e-5);
    TEST_NEAR(mds_box_volume(&box), 869.080, 1e-3);
    mds_box_widths(&box, width);
    TEST_NEAR(fmin(width[0], fmin(width[1], width[2])), 8.501880, 1e-5);
    TEST_NEAR(mds_box_reach(&box), 0.5 * 10.412634, 1e-5); // a itself is a shortest vector
    TEST_OK(mds_box_reduce(&box, NULL, NULL, 0));
    TEST_TRUE(fabs(box.a[1][0]) <= box.a[0][0] / 2 && fabs(box.a[2][0]) <= box.a[0][0] / 2 && fabs(box.a[2][1]) <= box.a[1][1] / 2);
    TEST_NEAR(mds_box_volume(&box), 869.080, 1e-3);
}

static void bad_boxes_are_refused(void)
{
    const double good[3] = {3, 3, 3}, right[3] = {90, 90, 90};
    mds_box      box;

    TEST_FAILS(mds_box_from_lengths((double[]){3, -3, 3}, right, &box), MDS_E_INPUT, "box length -3");
    TEST_FAILS(mds_box_from_lengths((double[]){3, NAN, 3}, right, &box), MDS_E_INPUT, "box length");
    TEST_FAILS(mds_box_from_lengths(good, (double[]){0, 90, 90}, &box), MDS_E_INPUT, "box angle 0");
    TEST_FAILS(mds_box_from_lengths(good, (double[]){120, 120, 121}, &box), MDS_E_INPUT, "do not make a box");
    TEST_OK(mds_box_from_lengths(good, right, &box));
    TEST_TRUE(mds_box_is_rectangular(&box)); // exactly: cos(90 degrees) is not quite zero
    box = (mds_box){{{1, 0, 0}, {2, 0, 0}, {0, 0, 1}}};
    TEST_FAILS(mds_box_reduce(&box, NULL, NULL, 0), MDS_E_INPUT, "no positive volume");
    box = (mds_box){{{0, 1, 0}, {1, 0, 0}, {0, 0, 1}}}; // left-handed
    TEST_FAILS(mds_box_reduce(&box, NULL, NULL, 0), MDS_E_INPUT, "no positive volume");
    box = (mds_box){{{INFINITY, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    TEST_FAILS(mds_box_reduce(&box, NULL, NULL, 0), MDS_E_INPUT, "box vector 1");
}

static mds_box random_reduced_box(void)
{
    mds_box box = {{{uniform(1, 3)}, {0, uniform(1, 3)}, {0, 0, uniform(1, 3)}}};

    box.a[1][0] = uniform(-0.5, 0.5) * box.a[0][0];
    box.a[2][0] = uniform(-0.5, 0.5) * box.a[0][0];
    box.a[2][1] = uniform(-0.5, 0.5) * box.a[1][1];
    return box;
}

/// Any frame and any choice of vectors of a lattice end as the same reduced triangle; atoms and velocities turn along.
static void rotated_frames_are_turned_back(void)
{
    int trial;

    for (trial = 0; trial < 200; trial++) {
        const mds_box want = random_reduced_box();
        double        axis[3], q[4], r[3][3], x0[4][3], v0[4][3], x[4][3], v[4][3], size = 0;
        mds_box       box;
        int           i, k, l;

        for (k = 0; k < 4; k++) q[k] = uniform(-1, 1), size += q[k] * q[k];
        for (k = 0; k < 4; k++) q[k] /= sqrt(size);
        for (k = 0; k < 3; k++) axis[k] = q[k + 1];
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++)
                r[k][l] = (k == l ? q[0] * q[0] - mds_dot(axis, axis) : 0) + 2 * axis[k] * axis[l] +
                          (k == l ? 0 : 2 * q[0] * axis[3 - k - l] * ((l - k + 3) % 3 == 1 ? -1 : 1));
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) box.a[k][l] = r[l][0] * want.a[k][0] + r[l][1] * want.a[k][1] + r[l][2] * want.a[k][2];
        for (l = 0; l < 3; l++) { // other vectors of the same lattice
            box.a[1][l] += (trial % 3 - 1) * box.a[0][l];
            box.a[2][l] += (trial % 5 - 2) * box.a[1][l] + (trial % 2) * box.a[0][l];
        }
        for (i = 0; i < 4; i++)
            for (k = 0; k < 3; k++) x0[i][k] = uniform(-2, 2), v0[i][k] = uniform(-1, 1);
        for (i = 0; i < 4; i++)
            for (k = 0; k < 3; k++) x[i][k] = mds_dot(r[k], x0[i]), v[i][k] = mds_dot(r[k], v0[i]);
        TEST_OK(mds_box_reduce(&box, x, v, 4));
        // rounding of a handful of operations on numbers near 1
        for (k = 0; k < 9; k++) TEST_NEAR(box.a[k / 3][k % 3], want.a[k / 3][k % 3], 1e-12);
        for (i = 0; i < 12; i++) {
            TEST_NEAR(x[i / 3][i % 3], x0[i / 3][i % 3], 1e-12);
            TEST_NEAR(v[i / 3][i % 3], v0[i / 3][i % 3], 1e-12);
        }
    }
}

/// The nearest of 125 images, found by trying them all, in 20000 random reduced boxes.
static void nearest_image_is_the_nearest(void)
{
    int trial, in_reach = 0, skewed_cases = 0;

    for (trial = 0; trial < 20000; trial++) {
        const mds_box box = trial % 10 == 0 ? (mds_box){{{2, 0, 0}, {1, 2, 0}, {1, 1, 1}}} : random_reduced_box(); // the first: as skewed as can be
        const double  s[3] = {uniform(-0.5, 0.5), uniform(-0.5, 0.5), uniform(-0.5, 0.5)};
        double        base[3], d[3], best[3] = {0, 0, 0}, least = HUGE_VAL;
        int           i, j, k, c;

        for (c = 0; c < 3; c++) base[c] = s[0] * box.a[0][c] + s[1] * box.a[1][c] + s[2] * box.a[2][c];
        for (i = -2; i <= 2; i++)
            for (j = -2; j <= 2; j++)
                for (k = -2; k <= 2; k++) {
                    double e[3];

                    for (c = 0; c < 3; c++) e[c] = base[c] + i * box.a[0][c] + j * box.a[1][c] + k * box.a[2][c];
                    if (mds_dot(e, e) < least) {
                        least = mds_dot(e, e);
                        memcpy(best, e, sizeof best);
                    }
                }
        skewed_cases += memcmp(best, base, sizeof best) != 0;
        for (c = 0; c < 3; c++)
            d[c] = base[c] + (trial % 7 - 3) * box.a[0][c] + (trial % 5 - 2) * box.a[1][c] + (trial % 3 - 1) * box.a[2][c];
        mds_box_nearest(&box, d);
        // squared lengths of up to 9 nm^2 summed with a dozen roundings
        TEST_NEAR(mds_dot(d, d), least, 1e-13);
        if (sqrt(least) < mds_box_reach(&box) - 1e-6) { // here the image itself is unique
            in_reach++;
            for (c = 0; c < 3; c++) TEST_NEAR(d[c], best[c], 1e-13);
        }
    }
    TEST_TRUE(in_reach > 5000 && skewed_cases > 1000); // both kinds were really met
}

static void no_box_no_images(void)
{
    const mds_box none = {{{0}}};
    double        d[3] = {100, -200, 300};

    mds_box_nearest(&none, d);
    TEST_TRUE(d[0] == 100 && d[1] == -200 && d[2] == 300);
    TEST_TRUE(isinf(mds_box_reach(&none)));
}

/// A chain of 40 atoms that winds through the box, cut by wrapping every atom, comes back as it was; so do a constraint's
/// atom and a site. Atom 0 stays.
static void cut_molecules_are_made_whole(void)
{
    enum { N = 42 };
    mds_system sys = {0};
    mds_state  state;
    double     whole[N][3], inv[3][3];
    int32_t    i, residue;
    int        k;

    TEST_OK(mds_system_set_types(&sys, 1, false));
    TEST_OK(mds_system_add_residue(&sys, "CHN", 1, &residue));
    for (i = 0; i < N; i++) TEST_OK(mds_system_add_atom(&sys, "C", residue, 0, 0, i == N - 1 ? 0 : 12, 6, NULL));
    for (i = 40 - 1; i > 0; i--) // last bond first: the order of terms must not matter
        TEST_OK(mds_system_add_term(&sys, MDS_TERM_BOND, (int32_t[]){i, i - 1}, (double[]){0.15, 1000}));
    TEST_OK(mds_system_add_constraint(&sys, 39, 40, 0.1));
    TEST_OK(mds_system_add_vsite(&sys, MDS_VSITE_LINEAR, 41, 2, (int32_t[]){40, 39}, (double[]){0.5, 0.5}, NULL));
    TEST_OK(mds_system_freeze(&sys));
    TEST_OK(mds_state_init(&state, N));
    state.box = (mds_box){{{1.0, 0, 0}, {0.4, 1.1, 0}, {-0.5, 0.3, 0.9}}};
    mds_box_inverse(&state.box, inv);
    for (i = 0; i < N; i++)
        for (k = 0; k < 3; k++) {
            whole[i][k] = 0.3 + (i ? whole[i - 1][k] - 0.3 : 0) + (i ? 0.15 * (k == i % 3) + 0.05 : 0);
            state.x[i][k] = whole[i][k];
        }
    for (i = 1; i < N; i++)
        for (k = 2; k >= 0; k--) {
            const double n = floor(state.x[i][0] * inv[0][k] + state.x[i][1] * inv[1][k] + state.x[i][2] * inv[2][k]);
            int          c;

            for (c = 0; c < 3; c++) state.x[i][c] -= n * state.box.a[k][c];
        }
    TEST_TRUE(fabs(state.x[N - 1][0] - whole[N - 1][0]) > 1); // it was cut
    TEST_OK(mds_state_make_whole(&sys, &state));
    for (i = 0; i < N; i++)
        for (k = 0; k < 3; k++) TEST_NEAR(state.x[i][k], whole[i][k], 1e-12); // forty sums of numbers below 10
    state.box = (mds_box){{{0}}};
    TEST_OK(mds_state_make_whole(&sys, &state)); // vacuum: nothing to do
    mds_state_free(&state);
    mds_system_free(&sys);
}

/// Maxwell: mean 0 and variance k T / m per component, within five standard errors; sites stand still; an atom's velocity
/// depends on its id and the seed only.
static void velocities_have_maxwells_distribution(void)
{
    enum { N = 30000 };
    const double mass[3] = {1.008, 15.9994, 0}, kT = MDS_BOLTZMANN * 300;
    mds_system   sys = {0};
    mds_state    state, again = {0};
    double       sum[3] = {0}, square[3] = {0}, fourth[3] = {0};
    int32_t      i;
    int          k;

    for (i = 0; i < N; i++) TEST_OK(mds_system_add_atom(&sys, "X", -1, 0, 0, mass[i % 3], 0, NULL));
    TEST_OK(mds_state_init(&state, N));
    mds_state_draw_velocities(&sys, 300, 5, &state);
    TEST_TRUE(state.has_velocities);
    for (i = 0; i < N; i++)
        for (k = 0; k < 3; k++) {
            const double v = state.v[i][k];

            sum[i % 3] += v;
            square[i % 3] += v * v;
            fourth[i % 3] += pow(v, 4);
        }
    for (k = 0; k < 2; k++) {
        const double n = N, variance = kT / mass[k]; // N / 3 atoms, three components each

        TEST_NEAR(sum[k] / n, 0, 5 * sqrt(variance / n));
        TEST_NEAR(square[k] / n / variance, 1, 5 * sqrt(2 / n));
        TEST_NEAR(fourth[k] / n / (variance * variance), 3, 5 * sqrt(96 / n));
    }
    TEST_NEAR(square[2], 0, 0);
    TEST_OK(mds_state_copy(&again, &state));
    TEST_TRUE(again.v != state.v && !memcmp(again.v, state.v, N * sizeof *state.v));
    again.n_atoms = 7; // fewer atoms, the same velocities
    memset(again.v, 0, N * sizeof *again.v);
    mds_state_draw_velocities(&sys, 300, 5, &again);
    TEST_TRUE(!memcmp(again.v, state.v, 7 * sizeof *state.v) && again.v[7][0] == 0);
    mds_state_draw_velocities(&sys, 300, 6, &again);
    TEST_TRUE(again.v[0][0] != state.v[0][0]);
    mds_state_free(&state);
    mds_state_free(&again);
    mds_system_free(&sys);
}

int main(void)
{
    truncated_octahedron();
    bad_boxes_are_refused();
    rotated_frames_are_turned_back();
    nearest_image_is_the_nearest();
    no_box_no_images();
    cut_molecules_are_made_whole();
    velocities_have_maxwells_distribution();
    return test_end();
}
