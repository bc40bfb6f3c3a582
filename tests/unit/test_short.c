// SPDX-License-Identifier: Apache-2.0
// Short-range polynomials: right to their tolerance in double, usable in float, and the reaction field's
// closed form.
#include "num/num.h"

#include "test.h"

static double horner(const double *c, int degree, double u)
{
    double sum = 0;

    for (; degree >= 0; degree--) sum = sum * u + c[degree];
    return sum;
}

static float horner_float(const double *c, int degree, float u)
{
    float sum = 0;

    for (; degree >= 0; degree--) sum = sum * u + (float)c[degree];
    return sum;
}

/// Largest errors of both polynomials against the split, in units of the largest value, double and float
/// arithmetic.
static void check(mds_num_split kind, double shape, double cut, double tolerance, int degree, double in_u)
{
    mds_split split;
    mds_short out;
    double    largest_p = 0, largest_f = 0, error_p = 0, error_f = 0, float_p = 0, float_f = 0, plain = 0;
    int       i;

    TEST_OK(mds_split_init(&split, kind, shape, cut, 0));
    TEST_OK(mds_short_ewald(&split, false, tolerance, &out));
    for (i = 1; i <= 1000; i++) {
        const double t = 0.03 + 0.97 * i / 1000, u = t * t;
        double       slope, phi = mds_split_phi(&split, t * cut, &slope), p = phi / t,
                      f = (phi / t - slope / t) / (t * t);

        largest_p = fmax(largest_p, fabs(p));
        largest_f = fmax(largest_f, fabs(f));
        error_p = fmax(error_p, fabs(p - horner(out.pot_centred, out.degree_pot, 2 * u - 1)));
        error_f = fmax(error_f, fabs(f - horner(out.force_centred, out.degree_force, 2 * u - 1)));
        float_p = fmax(float_p,
                       fabs(p - (double)horner_float(out.pot_centred, out.degree_pot, (float)(2 * u - 1))));
        float_f = fmax(
            float_f, fabs(f - (double)horner_float(out.force_centred, out.degree_force, (float)(2 * u - 1))));
        plain = fmax(plain, fabs(f - (double)horner_float(out.force, out.degree_force, (float)u)));
        // the two sets are one polynomial; powers of u lose digits as told in short.c
        TEST_NEAR(horner(out.force, out.degree_force, u) /
                      horner(out.force_centred, out.degree_force, 2 * u - 1),
                  1, in_u);
        TEST_NEAR(horner(out.pot, out.degree_pot, u) / horner(out.pot_centred, out.degree_pot, 2 * u - 1), 1,
                  in_u);
    }
    printf("%s %g, tolerance %g: degrees %d %d, error %.1e %.1e, in float %.1e %.1e (powers of u: %.1e)\n",
           kind == MDS_NUM_PROLATE ? "prolate" : "gaussian", shape * (kind == MDS_NUM_PROLATE ? 1 : cut),
           tolerance, out.degree_pot, out.degree_force, error_p / largest_p, error_f / largest_f,
           float_p / largest_p, float_f / largest_f, plain / largest_f);
    // 1e-13: cancellation in this test's own f at t = 0.03, eps/t^2
    TEST_TRUE(error_p <= tolerance * largest_p + 1e-13);
    TEST_TRUE(error_f <= tolerance * largest_f + 1e-12);
    // float: a rounding of x and one of each of `degree` steps, 6e-8 each, of values up to the largest
    TEST_TRUE(float_p <= (tolerance + 1e-6) * largest_p);
    TEST_TRUE(float_f <= (tolerance + 1e-6) * largest_f);
    TEST_TRUE(out.degree_force <= degree);
    // the limit at r = 0 is twice the self energy
    TEST_NEAR(out.pot[0] / cut, 2 * split.self, 2 * tolerance * 2 * split.self + 1e-12);
    mds_split_free(&split);
}

int main(void)
{
    mds_split split;
    mds_short out;
    double    slope;

    // degrees: 7 for c 10 and 10 to 11 for beta rc 3.12 at about 1e-6 are what this design counts on
    check(MDS_NUM_PROLATE, 10, 0.9, 1e-6, 7, 1e-12);
    check(MDS_NUM_PROLATE, 12, 1.2, 1e-6, 8, 1e-12);
    check(MDS_NUM_PROLATE, 20, 0.9, 1e-6, 10, 1e-11);
    check(MDS_NUM_GAUSSIAN, 3.12 / 0.9, 0.9, 1e-6, 11, 1e-11);
    check(MDS_NUM_GAUSSIAN, 3.46 / 0.9, 0.9, 1e-6, 12, 1e-10);
    check(MDS_NUM_GAUSSIAN, 5, 1, 1e-6, 18, 1e-7);
    check(MDS_NUM_GAUSSIAN, 3.12 / 0.9, 0.9, 1e-12, 20, 1e-9);
    check(MDS_NUM_PROLATE, 10, 0.9, 1e-12, 13, 1e-9);
    check(MDS_NUM_PROLATE, 40, 0.9, 1e-12, 26, 1);

    // shift: the potential at the cut-off is 0
    TEST_OK(mds_split_init(&split, MDS_NUM_GAUSSIAN, 3.12, 1, 0));
    TEST_OK(mds_short_ewald(&split, true, 1e-12, &out));
    TEST_NEAR(1 - horner(out.pot, out.degree_pot, 1), 0, 1e-11);
    TEST_NEAR(horner(out.force, out.degree_force, 1), mds_split_phi(&split, 1, &slope) - slope, 1e-11);
    mds_split_free(&split);
    // prolate: potential and force vanish at the cut-off, to the tolerance
    TEST_OK(mds_split_init(&split, MDS_NUM_PROLATE, 10, 0.9, 0));
    TEST_OK(mds_short_ewald(&split, true, 1e-9, &out));
    TEST_NEAR(horner(out.pot, out.degree_pot, 1), 1, 5e-9);
    TEST_NEAR(horner(out.force, out.degree_force, 1), 1, 2e-8);
    mds_split_free(&split);
    TEST_OK(mds_split_init(&split, MDS_NUM_GAUSSIAN, 7, 1, 0));
    TEST_FAILS(mds_short_ewald(&split, true, 1e-6, &out), MDS_E_INPUT, "smaller beta");
    mds_split_free(&split);

    // reaction field, epsilon 78.5, rc 1.2 at r = 0.7: GROMACS' formula written out
    {
        const double rc = 1.2, r = 0.7, e = 78.5, k = (e - 1) / ((2 * e + 1) * rc * rc * rc),
                     u = r * r / (rc * rc);

        mds_short_reaction_field(rc, e, &out);
        TEST_NEAR(1 / r - horner(out.pot, out.degree_pot, u) / rc, 1 / r + k * r * r - (1 / rc + k * rc * rc),
                  1e-15);
        TEST_NEAR(1 / (r * r * r) - horner(out.force, out.degree_force, u) / (rc * rc * rc),
                  1 / (r * r * r) - 2 * k, 1e-14);
        mds_short_reaction_field(rc, 0, &out);
        TEST_NEAR(horner(out.force, out.degree_force, 1), 1,
                  1e-15); // infinite dielectric: no force at the cut-off
    }
    mds_short_cutoff(1.1, true, &out);
    TEST_NEAR(horner(out.pot, out.degree_pot, 1), 1, 0);
    mds_short_cutoff(0, true, &out);
    TEST_NEAR(out.pot[0], 0, 0);
    return test_end();
}
