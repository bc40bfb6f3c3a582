// SPDX-License-Identifier: Apache-2.0
// Short-range Coulomb as 1/r minus a polynomial in u = (r/rc)^2.
//
// p(u) = Phi(r) rc/r is an even, entire function of r (Gaussian) or smooth up to rc (prolate): its Chebyshev
// series on u in [0,1] falls faster than geometrically. The force polynomial is -2 p'(u), differentiated
// inside the series, so that no cancelling difference is ever formed at small r. Both are cut where the sum
// of what follows is below the tolerance (Chebyshev coefficients bound the error), then turned into powers in
// long double. In x = 2u - 1 the powers of these functions have few sign changes to lose (their sum of
// magnitudes is the value at r = 0), in u they alternate: the larger beta rc, the worse, about exp((beta
// rc)^2). Hence both sets; float arithmetic uses x.
#include "num/num.h"

#include <math.h>

enum { NODES = 64 };

/// Chebyshev coefficients (of T_n(2u - 1), n < NODES) of p(u) = Phi rc/r.
static void fit(const mds_split *split, long double *coefficient)
{
    const long double pi = acosl(-1); // to the last bit: an error here is noise in every coefficient
    long double       value[NODES];
    int               i, n;

    for (i = 0; i < NODES; i++) {
        const long double u = 0.5L * (1 + cosl(pi * (i + 0.5L) / NODES)), t = sqrtl(u);

        if (split->kind == MDS_NUM_GAUSSIAN) {
            value[i] = erfl((long double)split->shape * split->cut * t) / t;
        } else {
            long double weight, phi;

            mds_split_weight(split, t, &weight, &phi);
            value[i] = phi / t;
        }
    }
    for (n = 0; n < NODES; n++) {
        long double sum = 0;

        for (i = 0; i < NODES; i++) sum += value[i] * cosl(pi * n * (i + 0.5L) / NODES);
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

/// Chebyshev series to powers of its variable x.
static void to_powers(const long double *a, int degree, long double *power)
{
    long double below[MDS_SHORT_MAX + 2] = {0}, here[MDS_SHORT_MAX + 2] = {1}; // T_n-1, T_n in powers of x
    int         n, k;

    for (k = 0; k <= MDS_SHORT_MAX; k++) power[k] = 0;
    for (n = 0; n <= degree; n++) {
        for (k = 0; k <= n; k++) power[k] += a[n] * here[k];
        for (k = n + 1; k >= 0; k--) { // T_1 = x, T_n+1 = 2 x T_n - T_n-1
            const long double next = (n ? 2 : 1) * (k > 0 ? here[k - 1] : 0) - (n ? below[k] : 0);

            below[k] = here[k];
            here[k] = next;
        }
    }
}

/// Powers of x = 2u - 1 to powers of u, by Horner's rule on polynomials.
static void from_centred(const long double *centred, int degree, long double *power)
{
    int n, k;

    for (k = 0; k <= MDS_SHORT_MAX; k++) power[k] = 0;
    for (n = degree; n >= 0; n--) {
        for (k = degree; k >= 0; k--) power[k] = (k > 0 ? 2 * power[k - 1] : 0) - power[k];
        power[0] += centred[n];
    }
}

/// Smallest degree whose error bound is below tolerance times the largest value, and both sets of powers.
static int truncate_series(const long double *a, double tolerance, double *power, double *centred)
{
    long double size = 0, tail = 0, c[MDS_SHORT_MAX + 1], p[MDS_SHORT_MAX + 1];
    int         degree = NODES - 1, n;

    for (n = 0; n < NODES; n++) size += fabsl(a[n]); // the largest value is at u = 0, where the signs agree
    while (degree > 0 && tail + fabsl(a[degree]) < tolerance * size) tail += fabsl(a[degree--]);
    if (degree > MDS_SHORT_MAX) degree = MDS_SHORT_MAX;
    to_powers(a, degree, c);
    from_centred(c, degree, p);
    for (n = 0; n <= MDS_SHORT_MAX; n++) {
        centred[n] = n <= degree ? (double)c[n] : 0;
        power[n] = n <= degree ? (double)p[n] : 0;
    }
    return degree;
}

mds_status mds_short_ewald(const mds_split *split, bool shift, double tolerance, mds_short *out)
{
    long double potential[NODES], force[NODES];

    *out = (mds_short){.cut = split->cut};
    MDS_CHECK(split->cut > 0 && tolerance > 0, MDS_E_INTERNAL,
              "short range of a split without a cut-off or tolerance");
    MDS_CHECK(split->kind == MDS_NUM_PROLATE || split->shape * split->cut <= 6, MDS_E_INPUT,
              "beta times cut-off is %.3g; above 6 the short-range part is below rounding long before the "
              "cut-off: use a smaller beta",
              split->shape * split->cut);
    fit(split, potential);
    differentiate(potential, force);
    // what a potential leaves out has one sign over wide shells of neighbours, and charges are correlated: it
    // adds up where forces average out (216 waters: 1.4e-5 of the Coulomb energy at 1e-6). Only steps that
    // ask for energies pay.
    out->degree_pot = truncate_series(potential, 0.01 * tolerance, out->pot, out->pot_centred);
    out->degree_force = truncate_series(force, tolerance, out->force, out->force_centred);
    if (shift && split->kind == MDS_NUM_GAUSSIAN) {
        out->pot[0] += erfc(split->shape * split->cut);
        out->pot_centred[0] += erfc(split->shape * split->cut);
    }
    return MDS_OK;
}

void mds_short_reaction_field(double cut, double epsilon, mds_short *out)
{
    // k rc^3 of V = 1/r + k r^2 - c with c = 1/rc + k rc^2, so that V(rc) = 0 (GROMACS manual 2022, 5.1.3)
    const double k = epsilon > 0 ? (epsilon - 1) / (2 * epsilon + 1) : 0.5;

    *out = (mds_short){.cut = cut, .degree_pot = 1, .degree_force = 0};
    out->pot[0] = 1 + k;
    out->pot[1] = -k;
    out->pot_centred[0] = 1 + k - 0.5 * k; // u = (1 + x)/2
    out->pot_centred[1] = -0.5 * k;
    out->force[0] = out->force_centred[0] = 2 * k;
}

void mds_short_cutoff(double cut, bool shift, mds_short *out)
{
    *out = (mds_short){.cut = cut};
    out->pot[0] = out->pot_centred[0] = shift && cut > 0 ? 1 : 0;
}

mds_status mds_short_form(const mds_short_wish *wish, mds_split *split, mds_short *out)
{
    // of the value at r = 0, some 8 (prolate) and 25 (Gaussian) times 1/rc^2: a pair force is then good to a few 1e-3
    // kJ/mol/nm, as good as floats make it (the potential is taken closer)
    const double tolerance = wish->split == MDS_NUM_PROLATE ? 1e-6 : 3e-7;

    mds_split_free(split);
    switch (wish->kind) {
    case MDS_NUM_PME: // 4x covers the corners of the mesh's Brillouin zone and shrinking boxes
        MDS_TRY(mds_split_init(split, wish->split, wish->shape, wish->cut, 4 * 3.15 / wish->spacing));
        return mds_short_ewald(split, wish->shift && wish->split == MDS_NUM_GAUSSIAN, tolerance, out);
    case MDS_NUM_REACTION_FIELD:
        mds_short_reaction_field(wish->cut, wish->dielectric, out);
        return MDS_OK;
    case MDS_NUM_CUT:
    case MDS_NUM_NO_COULOMB:
        mds_short_cutoff(wish->cut, wish->kind == MDS_NUM_CUT && wish->shift, out);
        return MDS_OK;
    }
    MDS_FAIL(MDS_E_INTERNAL, "unknown Coulomb form %d", (int)wish->kind);
}
