// SPDX-License-Identifier: Apache-2.0
// Cardinal B-splines and their Fourier side [essmann1995].
//
// M_n is built up from M_2 by M_n(u) = (u M_n-1(u) + (n - u) M_n-1(u - 1))/(n - 1); its derivative is
// M_n'(u) = M_n-1(u) - M_n-1(u - 1). A charge at scaled coordinate u = floor(u) + w touches the `order` grid points
// floor(u) - order + 1 + k with weight M_order(w + order - 1 - k). The Euler spline turns grid into wave:
// b(m) = e^{...}/sum_k M_n(k + 1) e^{2 pi i m k/N}; only |b|^2 is needed.
#include "num/num.h"

#include "base/units.h"

#include <math.h>

void mds_spline(int order, double w, double *theta, double *dtheta)
{
    int n, k;

    theta[0] = 1 - w; // M_2(w + 1), M_2(w)
    theta[1] = w;
    for (n = 3; n <= order; n++) {
        const double scale = 1.0 / (n - 1);

        if (n == order) { // derivative from the order below
            dtheta[0] = -theta[0];
            for (k = 1; k < order - 1; k++) dtheta[k] = theta[k - 1] - theta[k];
            dtheta[order - 1] = theta[order - 2];
        }
        theta[n - 1] = scale * w * theta[n - 2];
        for (k = n - 2; k > 0; k--) theta[k] = scale * ((w + n - 1 - k) * theta[k - 1] + (k + 1 - w) * theta[k]);
        theta[0] = scale * (1 - w) * theta[0];
    }
}

void mds_spline_moduli(int n, int order, double *b2)
{
    double point[16], slope[16]; // M_order at 1 .. order-1, from the end of the interval: w = 0
    int    m, k;

    MDS_ASSERT(order >= 3 && order <= 12);
    mds_spline(order, 0, point, slope);
    for (m = 0; m < n; m++) {
        double re = 0, im = 0;

        for (k = 0; k < order - 1; k++) { // weight of point k is M(order - 1 - k): symmetric, order does not matter
            const double angle = 2 * MDS_PI * (double)((int64_t)m * k % n) / n;

            re += point[k] * cos(angle);
            im += point[k] * sin(angle);
        }
        b2[m] = 1 / (re * re + im * im);
    }
    // odd orders cannot carry the wave that alternates from point to point, the sum is 0 there: its neighbours' value, as GROMACS does
    if (order % 2 && n % 2 == 0) b2[n / 2] = n > 2 ? b2[n / 2 - 1] : 1;
}
