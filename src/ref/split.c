// SPDX-License-Identifier: Apache-2.0
// The Ewald split: which share Phi(r) of 1/r goes to the mesh, and the spectrum ghat(k) that the mesh needs for it.
//
// Gaussian: Phi = erf(beta r), ghat = exp(-k^2 / 4 beta^2) [ewald1921, essmann1995].
//
// Prolate [liang2025]: with t = r/rc, Phi(t) = int_0^t psi / int_0^1 psi and Phi = 1 beyond rc, where psi is the prolate
// spheroidal wave function of order zero and bandwidth c, minus its edge value psi(1): potential and force are then
// exactly zero at rc. ghat(k) = int_0^1 psi(t) cos(k rc t) dt / int_0^1 psi.
//
// psi is the even solution with the smallest chi of
//     (1 - t^2) psi'' - 2 t psi' + (chi - c^2 t^2) psi = 0      that stays finite at t = 1   [slepian1961].
// A power series psi = sum a_k t^(2k) turns the equation into a three-term recursion for a_k. For a wrong chi the
// solution has a logarithm at t = 1 and the a_k fall like 1/k only, with a sign that tells on which side of the
// eigenvalue chi lies: so chi is found by bisection. The recursion runs upwards as long as the a_k grow and, as ratios from
// the far end, downwards where they fall, the stable way each time. The terms cancel like exp(c/2), which long double covers
// for every c that is of use. (The product expands psi in Legendre polynomials.)
#include "ref/ref.h"

#include "base/units.h"

#include <float.h>
#include <math.h>

enum { RECURSION = 400, MIN_SHAPE = 1, MAX_SHAPE = 30 };

/// Coefficients of the even solution with value 1 at t = 0. Returns the last one: its sign is that of psi near t = 1.
static long double recursion(long double c, long double chi, long double a[RECURSION])
{
    a[0] = 1;
    for (int k = 0; k + 1 < RECURSION; k++) {
        const long double m = 2 * k;

        a[k + 1] = ((m * (m + 1) - chi) * a[k] + (k ? c * c * a[k - 1] : 0)) / ((m + 2) * (m + 1));
    }
    return a[RECURSION - 1];
}

static void solve_prolate(double c, ref_split *s)
{
    long double a[RECURSION], low = 0, high = c + 1; // the next even eigenvalue is above 5 for every c

    while (high - low > 2 * LDBL_EPSILON * high) {
        const long double middle = (low + high) / 2;

        if (middle <= low || middle >= high) break;
        if (recursion(c, middle, a) > 0)
            low = middle;
        else
            high = middle;
    }
    const long double chi = (low + high) / 2;
    recursion(c, chi, a);
    long double ratio[REF_SERIES]; // a[k+1]/a[k]
    const int   peak = (int)(c / 4);
    ratio[REF_SERIES - 1] = 0;
    for (int k = REF_SERIES - 1; k > peak; k--) {
        const long double m = 2 * k;

        ratio[k - 1] = c * c / ((m + 2) * (m + 1) * ratio[k] - (m * (m + 1) - chi));
    }
    int n = peak + 1;
    for (int k = peak; k + 1 < REF_SERIES && fabsl(a[k]) > LDBL_EPSILON * 1e-3L; k++) {
        a[k + 1] = a[k] * ratio[k];
        n = k + 2;
    }

    long double edge = 0;
    for (int k = 0; k < n; k++) edge += a[k];
    s->n = n;
    s->integral = 0;
    for (int k = 0; k < n; k++) {
        s->a[k] = a[k] - (k ? 0 : edge);
        s->integral += s->a[k] / (2 * k + 1);
    }
}

/// Nodes and weights of Gauss and Legendre on [0, 1], by Newton's method on P_n.
static void gauss_legendre(int n, double *node, double *weight)
{
    for (int i = 0; i < n; i++) {
        double x = cos(MDS_PI * (i + 0.75) / (n + 0.5)), slope = 1;

        for (int iteration = 0; iteration < 100; iteration++) {
            double p0 = 1, p1 = x;

            for (int k = 2; k <= n; k++) {
                const double p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;

                p0 = p1;
                p1 = p2;
            }
            slope = n * (x * p1 - p0) / (x * x - 1);
            const double step = p1 / slope;
            x -= step;
            if (fabs(step) < 1e-15) break;
        }
        node[i] = (1 + x) / 2;
        weight[i] = 1 / ((1 - x * x) * slope * slope);
    }
}

mds_status mds_ref_split_set(mds_device *d)
{
    const mds_params *p = &d->params;
    ref_split        *s = &d->split;

    if (p->coulomb != MDS_COULOMB_PME) return MDS_OK;
    s->prolate = p->split == MDS_SPLIT_PROLATE;
    s->cut = p->cut_q;
    s->beta = s->prolate ? 0 : p->split_shape;
    MDS_CHECK(s->cut > 0, MDS_E_INPUT, "PME needs a Coulomb cut-off above 0");
    if (!s->prolate) {
        MDS_CHECK(s->beta > 0, MDS_E_INPUT, "the Gaussian split needs beta above 0, got %g 1/nm", s->beta);
        return MDS_OK;
    }
    MDS_CHECK(p->split_shape >= MIN_SHAPE && p->split_shape <= MAX_SHAPE, MDS_E_INPUT,
              "the prolate split needs c from %d to %d, got %g", MIN_SHAPE, MAX_SHAPE, p->split_shape);
    solve_prolate(p->split_shape, s);
    gauss_legendre(REF_NODES, s->node, s->weight);
    for (int i = 0; i < REF_NODES; i++) {
        double r_dphi;

        mds_ref_split_phi(d, s->node[i] * s->cut, &r_dphi);
        s->weight[i] *= r_dphi / s->node[i]; // psi / I
    }
    return MDS_OK;
}

double mds_ref_split_phi(const mds_device *d, double r, double *r_dphi)
{
    const ref_split *s = &d->split;

    if (!s->prolate) {
        const double x = s->beta * r;

        *r_dphi = 2 / sqrt(MDS_PI) * x * exp(-x * x);
        return erf(x);
    }
    if (r >= s->cut) {
        *r_dphi = 0;
        return 1;
    }
    const long double t = r / s->cut, u = t * t;
    long double       psi = 0, integral = 0;
    for (int k = s->n - 1; k >= 0; k--) {
        psi = psi * u + s->a[k];
        integral = integral * u + s->a[k] / (2 * k + 1);
    }
    *r_dphi = (double)(t * psi / s->integral);
    return (double)(t * integral / s->integral);
}

void mds_ref_split_smooth(const mds_device *d, double r, double *phi_over_r, double *slope)
{
    const ref_split *s = &d->split;

    if (s->prolate && r < s->cut) {
        const long double t = r / s->cut, u = t * t, rc = s->cut;
        long double       sum = 0, dsum = 0;

        // Phi/t = sum a_k t^2k/(2k+1); (Phi/t - Phi')/t^2 = -sum_{k>0} a_k 2k/(2k+1) t^(2k-2)
        for (int k = s->n - 1; k >= 0; k--) {
            sum = sum * u + s->a[k] / (2 * k + 1);
            if (k) dsum = dsum * u - s->a[k] * 2 * k / (2 * k + 1);
        }
        *phi_over_r = (double)(sum / s->integral / rc);
        *slope = (double)(dsum / s->integral / (rc * rc * rc));
        return;
    }
    if (!s->prolate && s->beta * r < 0.5) {
        // erf(x)/x = 2/sqrt(pi) sum_k (-x^2)^k / (k! (2k+1)): the closed form cancels at small x
        const double x2 = s->beta * r * s->beta * r;
        double       power = 2 / sqrt(MDS_PI), sum = power, dsum = 0; // power: (-x^2)^k / k!

        for (int k = 1; k < 20; k++) {
            dsum += power * 2 / (2 * k + 1); // -2k/(2k+1) of term k, one x^2 taken out
            power *= -x2 / k;
            sum += power / (2 * k + 1);
        }
        *phi_over_r = s->beta * sum;
        *slope = s->beta * s->beta * s->beta * dsum;
        return;
    }
    double       r_dphi;
    const double phi = mds_ref_split_phi(d, r, &r_dphi);
    *phi_over_r = phi / r;
    *slope = (phi - r_dphi) / (r * r * r);
}

double mds_ref_split_spectrum(const mds_device *d, double k, double *k_dghat)
{
    const ref_split *s = &d->split;

    if (!s->prolate) {
        const double y = k * k / (4 * s->beta * s->beta);

        *k_dghat = -2 * y * exp(-y);
        return exp(-y);
    }
    // n nodes integrate degree 2n - 1 exactly; psi cos(y t) needs degree y and some c more
    const double y = k * s->cut;
    if (y > 1.5 * REF_NODES) return *k_dghat = 0; // there is nothing left that far out
    double value = 0, slope = 0;
    for (int i = 0; i < REF_NODES; i++) {
        value += s->weight[i] * cos(y * s->node[i]);
        slope -= s->weight[i] * y * s->node[i] * sin(y * s->node[i]);
    }
    *k_dghat = slope;
    return value;
}

double mds_ref_split_background(const mds_device *d)
{
    const ref_split *s = &d->split;

    if (!s->prolate) return MDS_PI / (s->beta * s->beta);
    // int_0^1 t (1 - Phi) dt, term by term: Phi = sum a_k t^(2k+1) / ((2k+1) I)
    long double integral = 0.5L;
    for (int k = 0; k < s->n; k++) integral -= s->a[k] / ((2 * k + 1) * s->integral * (2 * k + 3));
    return (double)(4 * MDS_PI * s->cut * s->cut * integral);
}
