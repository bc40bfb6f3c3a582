// SPDX-License-Identifier: Apache-2.0
// The Ewald splits against closed forms, against the differential equation that defines the prolate function,
// and against plain quadrature of what split.c gets from series and tables.
#include "num/num.h"

#include "base/units.h"
#include "test.h"

static const double k_shapes[] = {4, 8, 10, 12, 20, 40};
enum { N_SHAPES = sizeof k_shapes / sizeof k_shapes[0] };

/// Composite Simpson of f(t) on [0,1], n even.
static double simpson(double (*f)(const mds_split *, double, double), const mds_split *split, double x, int n)
{
    double sum = f(split, 0, x) + f(split, 1, x);
    int    i;

    for (i = 1; i < n; i++) sum += (i % 2 ? 4 : 2) * f(split, (double)i / n, x);
    return sum / (3.0 * n);
}

/// w(t) = r dPhi/dr / t away from 0; at 0 twice the self energy times rc.
static double weight(const mds_split *split, double t)
{
    double slope;

    if (t <= 0) return 2 * split->self * split->cut;
    mds_split_phi(split, t * split->cut * (1 - 1e-16), &slope);
    return slope / t;
}

static double cosine(const mds_split *split, double t, double x)
{
    return weight(split, t) * cos(x * t);
}

static double minus_t_sine(const mds_split *split, double t, double x)
{
    return -weight(split, t) * t * sin(x * t);
}

static double screened(const mds_split *split, double t, double x)
{
    double slope;

    (void)x;
    return t * (1 - mds_split_phi(split, t * split->cut, &slope));
}

static void gaussian(void)
{
    const double beta = 3.12, cut = 0.9;
    mds_split    split;
    double       slope, ghat;

    TEST_OK(mds_split_init(&split, MDS_NUM_GAUSSIAN, beta, cut, 100));
    TEST_NEAR(mds_split_phi(&split, 0.3, &slope), erf(beta * 0.3), 1e-16);
    TEST_NEAR(slope, 0.3 * 2 * beta / sqrt(MDS_PI) * exp(-beta * beta * 0.09), 1e-15);
    TEST_NEAR(mds_split_phi(&split, 5, &slope), 1, 0);
    mds_split_spectrum(&split, 7, &ghat, &slope);
    TEST_NEAR(ghat, exp(-49 / (4 * beta * beta)), 1e-16);
    TEST_NEAR(slope, -49 / (2 * beta * beta) * ghat, 1e-15);
    TEST_NEAR(split.self, beta / sqrt(MDS_PI), 1e-15);
    TEST_NEAR(split.background, MDS_PI / (2 * beta * beta), 1e-15);
    mds_split_free(&split);
}

/// psi of bandwidth c solves (1 - t^2) psi'' - 2 t psi' + (chi - c^2 t^2) psi = 0. w is psi up to scale and
/// offset, and at t = 1 the equation alone gives psi(1) = 2 psi'(1)/(c^2 - chi): so chi, offset and shape are
/// all checked.
static void solves_equation(double c)
{
    const double h = 1e-3; // differences of fourth order: error h^4 w^(6)/90 with w^(6) < (2c)^3 15 w, and
                           // rounding eps/h^2
    mds_split    split;
    double       w[5], chi = 0, edge = 0, first;
    int          turn, i;

    TEST_OK(mds_split_init(&split, MDS_NUM_PROLATE, c, 1.3, 50));
    for (i = 0; i < 5; i++) w[i] = weight(&split, 1 - i * h);
    first = -(-25 * w[0] + 48 * w[1] - 36 * w[2] + 16 * w[3] - 3 * w[4]) / (12 * h);
    for (turn = 0; turn < 30; turn++) { // at t = 0: psi'' + chi psi = 0, with psi = w + edge
        const double second =
            (-2 * weight(&split, 2 * h) + 32 * weight(&split, h) - 30 * weight(&split, 0)) / (12 * h * h);

        chi = -second / (weight(&split, 0) + edge);
        edge = 2 * first / (chi - c * c);
    }
    for (i = 1; i < 19; i++) {
        const double t = 0.05 * i, m = weight(&split, t);
        const double lo2 = weight(&split, t - 2 * h), lo = weight(&split, t - h), hi = weight(&split, t + h),
                     hi2 = weight(&split, t + 2 * h);
        const double d1 = (lo2 - 8 * lo + 8 * hi - hi2) / (12 * h),
                     d2 = (-lo2 + 16 * lo - 30 * m + 16 * hi - hi2) / (12 * h * h);

        TEST_NEAR(((1 - t * t) * d2 - 2 * t * d1 + (chi - c * c * t * t) * (m + edge)) / chi, 0, 2e-7);
    }
    TEST_TRUE(chi > c - 1 && chi < c + 1); // chi_0 = c - 3/4 - 3/(16 c) ... [slepian1961]; small c lies above
    TEST_NEAR(weight(&split, 1), 0, 1e-15 * weight(&split, 0));
    mds_split_free(&split);
}

static void prolate_integrals(double c)
{
    const double cut = 0.9;
    mds_split    split;
    double       slope, ghat, x, largest = 0, largest_slope = 0;

    TEST_OK(mds_split_init(&split, MDS_NUM_PROLATE, c, cut, 130));
    TEST_NEAR(mds_split_phi(&split, cut, &slope), 1, 1e-15);
    TEST_NEAR(slope, 0, 0);
    TEST_NEAR(mds_split_phi(&split, 0, &slope), 0, 0);
    // Simpson on 4000 points: h^4/180 w^(4) < 1e-13 for all c here
    TEST_NEAR(simpson(cosine, &split, 0, 4000), 1, 1e-11);
    TEST_NEAR(2 * MDS_PI * cut * cut * simpson(screened, &split, 0, 4000), split.background,
              1e-11 * split.background);
    for (x = 0; x < 115; x += 3.737) {
        mds_split_spectrum(&split, x / cut, &ghat, &slope);
        largest = fmax(largest, fabs(ghat - simpson(cosine, &split, x, 4000)));
        largest_slope = fmax(largest_slope, fabs(slope - x * simpson(minus_t_sine, &split, x, 4000)));
    }
    TEST_NEAR(largest, 0,
              1e-10); // Simpson at x = 115: h^4 x^4/180 = 4e-9 of int w cos, itself below 1e-2 there
    TEST_NEAR(largest_slope, 0, 1e-8);
    mds_split_spectrum(&split, 200, &ghat, &slope); // beyond the table
    TEST_NEAR(ghat, simpson(cosine, &split, 200 * cut, 40000), 1e-12);
    mds_split_free(&split);
}

/// Interpolation between the points of the table against a table that starts elsewhere: the integral itself.
static void spectrum_is_smooth(double c)
{
    mds_split short_table, table;
    double    x, a, b, sa, sb, worst = 0, worst_slope = 0;

    TEST_OK(mds_split_init(&short_table, MDS_NUM_PROLATE, c, 1, 0));
    TEST_OK(mds_split_init(&table, MDS_NUM_PROLATE, c, 1, 60));
    for (x = 0.2513; x < 60; x += 0.3317) {
        mds_split_spectrum(&short_table, x, &a, &sa); // beyond its table: quadrature
        mds_split_spectrum(&table, x, &b, &sb);
        worst = fmax(worst, fabs(a - b));
        worst_slope = fmax(worst_slope, fabs(sa - sb));
    }
    TEST_NEAR(worst, 0, 3e-12);      // promised 1e-11
    TEST_NEAR(worst_slope, 0, 1e-9); // k rc times the error of the derivative
    mds_split_free(&short_table);
    mds_split_free(&table);
}

int main(void)
{
    mds_split split;
    int       i;

    gaussian();
    for (i = 0; i < N_SHAPES; i++) {
        solves_equation(k_shapes[i]);
        prolate_integrals(k_shapes[i]);
        spectrum_is_smooth(k_shapes[i]);
    }
    TEST_FAILS(mds_split_init(&split, MDS_NUM_PROLATE, 0.5, 0.9, 10), MDS_E_INPUT, "between 1 and 60");
    TEST_FAILS(mds_split_init(&split, MDS_NUM_PROLATE, NAN, 0.9, 10), MDS_E_INPUT, "between 1 and 60");
    TEST_FAILS(mds_split_init(&split, MDS_NUM_GAUSSIAN, -1, 0.9, 10), MDS_E_INPUT, "above 0");
    TEST_FAILS(mds_split_init(&split, MDS_NUM_PROLATE, 10, 0, 10), MDS_E_INPUT, "cut-off");
    return test_end();
}
