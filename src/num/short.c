// SPDX-License-Identifier: Apache-2.0
// Short-range Coulomb as 1/r minus a polynomial in u = (r/rc)^2.
//
// p(u) = Phi(r) rc/r is an even, entire function of r (Gaussian) or smooth up to rc (prolate): its Chebyshev series on
// u in [0,1] falls faster than geometrically. The force polynomial is -2 p'(u), differentiated inside the series, so that
// no cancelling difference is ever formed at small r. Both are cut where the sum of what follows is below the tolerance
// (Chebyshev coefficients bound the error), then turned into powers of u in long double.
// Powers of u alternate in sign: in float, Horner's rule loses about eps sum |c_k|, a few 1e-6 of the largest value at the
// settings of production (beta rc 3.1, c 10); tests/unit/test_short.c keeps watch.
#include "num/num.h"

#include "base/units.h"

#include <math.h>

enum { NODES = 64 };

/// Chebyshev coefficients (of T_n(2u - 1), n < NODES) of p(u) = Phi rc/r.
static void fit(const mds_split *split, long double *coefficient)
{
    long double value[NODES];
    int         i, n;

    for (i = 0; i < NODES; i++) {
        const long double u = 0.5L * (1 + cosl((long double)MDS_PI * (i + 0.5L) / NODES)), t = sqrtl(u);

        if (split->kind == MDS_NUM_GAUSSIAN) {
            value[i] = erfl((long double)split->shape * split->cut * t) / t;
        } else {
            double r_dphi;

            value[i] = mds_split_phi(split, (double)(t * split->cut), &r_dphi) / t;
        }
    }
    for (n = 0; n < NODES; n++) {
        long double sum = 0;

        for (i = 0; i < NODES; i++) sum += value[i] * cosl((long double)MDS_PI * n * (i + 0.5L) / NODES);
        coefficient[n] = (n ? 2 : 1) * sum / NODES;
    }
}

/// Series of -2 d/du: T_n(2u - 1)' by the backward recurrence b_n-1 = b_n+1 + 2 n a_n, and du = dx/2.
static void differentiate(const long double *a, long double *b)
{
    long double above = 0, here = 0;
    int         n;

    b[NODES - 1] = 0;
    for (n = NODES - 1; n > 0; n--) {
        const long double below = above + 2 * n * a[n];

        b[n - 1] = -4 * below;
        above = here;
        here = below;
    }
    b[0] /= 2;
}

/// Smallest degree whose error bound is below tolerance times the largest value; powers of u into out.
static int truncate_series(const long double *a, double tolerance, double *out)
{
    long double power[MDS_SHORT_MAX + 1] = { 0 }, below[MDS_SHORT_MAX + 1] = { 0 }, here[MDS_SHORT_MAX + 1] = { 0 };
    long double size = 0, tail = 0;
    int         degree = NODES - 1, n, k;

    for (n = 0; n < NODES; n++) size += fabsl(a[n]); // the largest value is at u = 0, where the signs agree
    while (degree > 0 && tail + fabsl(a[degree]) < tolerance * size) tail += fabsl(a[degree--]);
    if (degree > MDS_SHORT_MAX) degree = MDS_SHORT_MAX;
    here[0] = 1; // T_0; T_n+1 = 2 (2u - 1) T_n - T_n-1, the first without the 2
    for (n = 0; n <= degree; n++) {
        for (k = 0; k <= n; k++) power[k] += a[n] * here[k];
        for (k = n + 1; k >= 0 && n < degree; k--) {
            const long double up = (k > 0 ? 2 * here[k - 1] : 0) - (k <= n ? here[k] : 0);
            const long double next = (n ? 2 : 1) * up - (n ? below[k] : 0);

            below[k] = here[k];
            here[k] = next;
        }
    }
    for (k = 0; k <= MDS_SHORT_MAX; k++) out[k] = k <= degree ? (double)power[k] : 0;
    return degree;
}

mds_status mds_short_ewald(const mds_split *split, bool shift, double tolerance, mds_short *out)
{
    long double potential[NODES], force[NODES];

    *out = (mds_short){ .cut = split->cut };
    MDS_CHECK(split->cut > 0 && tolerance > 0, MDS_E_INTERNAL, "short range of a split without a cut-off or tolerance");
    MDS_CHECK(split->kind == MDS_NUM_PROLATE || split->shape * split->cut <= 6, MDS_E_INPUT,
              "beta times cut-off is %.3g; above 6 the short-range part is below rounding long before the cut-off: use a smaller beta",
              split->shape * split->cut);
    fit(split, potential);
    differentiate(potential, force);
    out->degree_pot = truncate_series(potential, tolerance, out->pot);
    out->degree_force = truncate_series(force, tolerance, out->force);
    if (shift) out->pot[0] += split->kind == MDS_NUM_GAUSSIAN ? erfc(split->shape * split->cut) : 0;
    return MDS_OK;
}

void mds_short_reaction_field(double cut, double epsilon, mds_short *out)
{
    // k rc^3 of V = 1/r + k r^2 - c with c = 1/rc + k rc^2, so that V(rc) = 0 (GROMACS manual 2022, 5.1.3)
    const double k = epsilon > 0 ? (epsilon - 1) / (2 * epsilon + 1) : 0.5;

    *out = (mds_short){ .cut = cut, .degree_pot = 1, .degree_force = 0 };
    out->pot[0] = 1 + k;
    out->pot[1] = -k;
    out->force[0] = 2 * k;
}

void mds_short_cutoff(double cut, bool shift, mds_short *out)
{
    *out = (mds_short){ .cut = cut };
    out->pot[0] = shift && cut > 0 ? 1 : 0;
}
