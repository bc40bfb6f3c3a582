// SPDX-License-Identifier: Apache-2.0
// B-spline weights: partition of unity, first moment, derivative, known values; Euler moduli against the
// exponential they approximate.
#include "num/num.h"

#include "base/units.h"
#include "test.h"

int main(void)
{
    int order, k;

    for (order = 4; order <= 8; order++) {
        double w, theta[8], slope[8], up[8], down[8], none[8];

        for (w = 0; w < 1; w += 0.09) {
            double sum = 0, sum_slope = 0, moment = 0;

            mds_spline(order, w, theta, slope);
            mds_spline(order, w + 1e-5, up, none);
            mds_spline(order, w - 1e-5, down, none);
            for (k = 0; k < order; k++) {
                TEST_TRUE(theta[k] >= 0);
                sum += theta[k];
                sum_slope += slope[k];
                moment += theta[k] * (k - order + 1 - w);
                TEST_NEAR(slope[k], (up[k] - down[k]) / 2e-5,
                          1e-9); // central difference: h^2/6 M''' = 2e-11, rounding 1e-11
            }
            TEST_NEAR(sum, 1, 1e-15);
            TEST_NEAR(sum_slope, 0, 1e-15);
            TEST_NEAR(moment, -0.5 * order, 1e-14); // M_n is symmetric about n/2
        }
    }
    {
        double theta[8], slope[8], b2[30];

        mds_spline(4, 0, theta, slope); // M_4(3), M_4(2), M_4(1), M_4(0)
        TEST_NEAR(theta[0], 1.0 / 6, 1e-15);
        TEST_NEAR(theta[1], 4.0 / 6, 1e-15);
        TEST_NEAR(theta[2], 1.0 / 6, 1e-15);
        TEST_NEAR(theta[3], 0, 0);
        // closed form of order 4: 1/(2/3 + cos(2 pi m/n)/3)^2
        mds_spline_moduli(30, 4, b2);
        for (k = 0; k < 30; k++) TEST_NEAR(b2[k], pow(2.0 / 3 + cos(2 * MDS_PI * k / 30) / 3, -2), 1e-12);
        // closed form of order 5: sum_s U_s^2 = sum_k M_10(5 + k) cos(k theta), with M_10 at integers
        // (Euler's numbers over 9!)
        mds_spline_moduli(30, 5, b2);
        for (k = 0; k < 30; k++) {
            const double a = 2 * MDS_PI * (k > 15 ? k - 30 : k) / 30,
                         u = k ? pow(sin(a / 2) / (a / 2), 5) : 1;
            const double sum =
                (156190 + 2 * (88234 * cos(a) + 14608 * cos(2 * a) + 502 * cos(3 * a) + cos(4 * a))) / 362880;

            TEST_NEAR(b2[k], u * u / (sum * sum), 1e-9); // 17 aliases: the next adds (1/17 pi)^10
        }
        TEST_TRUE(b2[15] < 100); // the alternating wave is not magnified (the Euler spline has 1/0)
    }
    // e^{2 pi i m u/n} = b(m) sum_k M(u - k) e^{2 pi i m k/n} up to O((2m/n)^order): so |sum|^2 |b|^2 is 1
    for (order = 4; order <= 8; order++) {
        const int n = 32, m = 3;
        double    theta[8], slope[8], b2[32], w, worst = 0;

        mds_spline_moduli(n, order, b2);
        for (w = 0.05; w < 1; w += 0.1) {
            double re = 0, im = 0;

            mds_spline(order, w, theta, slope);
            for (k = 0; k < order; k++) {
                re += theta[k] * cos(2 * MDS_PI * m * k / n);
                im += theta[k] * sin(2 * MDS_PI * m * k / n);
            }
            worst = fmax(worst, fabs(b2[m] * (re * re + im * im) - 1));
        }
        TEST_TRUE(worst < 5 * pow(2.0 * m / n, order)); // the error's order of magnitude and no more
        TEST_TRUE(worst > 0.001 * pow(2.0 * m / n, order));
    }
    return test_end();
}
