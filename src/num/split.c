// SPDX-License-Identifier: Apache-2.0
// The Ewald split: which share of 1/r is summed on the mesh. Formulas and reasons: docs/theory/mesh.md.
//
// With t = r/rc and a weight w on [0,1] of unit integral, Phi(t) = integral of w from 0 to t; Phi(r)/r goes
// to the mesh, (1 - Phi(r))/r is short range, and the mesh's Green function is 4 pi/k^2 ghat(k) with ghat(k)
// = int w(t) cos(k rc t) dt. Gaussian: Phi = erf(beta r), ghat = exp(-k^2/4 beta^2) [essmann1995]. Prolate: w
// is the prolate spheroidal wave function of order 0, psi(t; c), less its edge value psi(1), normalised. Of
// all functions that end at rc, psi has the most of its spectrum inside |k| < c/rc [slepian1961], so a
// coarser mesh will do. Taking psi(1) off makes potential and force exactly zero at rc.
//
// psi is the lowest eigenfunction of d/dt (1 - t^2) d/dt - c^2 t^2. In normalised Legendre polynomials of
// even order that operator is a symmetric tridiagonal matrix, positive definite with the sign changed:
// inverse iteration from psi = 1 finds its lowest vector (the next eigenvalue is about five times larger, so
// 60 turns leave nothing) [xiao2001]. w is then kept as sum_j a_j P_2j(t) with a_0 = 1, the unit integral.
#include "num/num.h"

#include "base/units.h"

#include <math.h>

enum { PANEL = 16 };                  // Gauss-Legendre points a panel of the spectrum's quadrature
static const double k_shape_max = 60; // c: 64 even Legendre polynomials carry psi to rounding up to here
static const double k_spectrum_step =
    0.1; // in k rc; quintic interpolation is good to 1e-12 there, see spectrum_at

/// Lowest eigenvector of the operator above: coefficients of normalised even Legendre polynomials.
static void prolate_vector(double c, int n, long double *vector)
{
    long double diagonal[MDS_SPLIT_TERMS], beside[MDS_SPLIT_TERMS], pivot[MDS_SPLIT_TERMS];
    int         j, turn;

    for (j = 0; j < n; j++) {
        const long double k = 2 * j, c2 = (long double)c * c;

        diagonal[j] = k * (k + 1) + c2 * (2 * k * (k + 1) - 1) / ((2 * k + 3) * (2 * k - 1));
        beside[j] = c2 * (k + 2) * (k + 1) / ((2 * k + 3) * sqrtl((2 * k + 1) * (2 * k + 5)));
        vector[j] = j == 0;
    }
    pivot[0] = diagonal[0];
    for (j = 1; j < n; j++) pivot[j] = diagonal[j] - beside[j - 1] * beside[j - 1] / pivot[j - 1];
    for (turn = 0; turn < 60; turn++) {
        long double norm = 0;

        for (j = 1; j < n; j++) vector[j] -= vector[j - 1] * beside[j - 1] / pivot[j - 1];
        vector[n - 1] /= pivot[n - 1];
        for (j = n - 2; j >= 0; j--) vector[j] = (vector[j] - beside[j] * vector[j + 1]) / pivot[j];
        for (j = 0; j < n; j++) norm += vector[j] * vector[j];
        norm = sqrtl(norm);
        for (j = 0; j < n; j++) vector[j] /= norm;
    }
}

void mds_split_weight(const mds_split *split, long double t, long double *weight, long double *phi)
{
    // int P_k = (P_k+1 - P_k-1)/(2k + 1)
    long double below = 0, here = 1, w = 0, sum = 0; // P_k-1, P_k at k = 0
    int         k;

    for (k = 0; k <= 2 * (split->n_terms - 1); k++) {
        const long double above = ((2 * k + 1) * t * here - k * below) / (k + 1);

        if (k % 2 == 0) {
            w += split->term[k / 2] * here;
            sum += split->term[k / 2] * (k ? (above - below) / (2 * k + 1) : t);
        }
        below = here;
        here = above;
    }
    *weight = w;
    *phi = sum;
}

/// Nodes (on [-1,1]) and weights of Gauss-Legendre quadrature, by Newton's method.
static void gauss_legendre(int n, double *node, double *weight)
{
    int i, k, turn;

    for (i = 0; i < n; i++) {
        long double x = cosl((long double)MDS_PI * (i + 0.75L) / (n + 0.5L)), slope = 1;

        for (turn = 0; turn < 8; turn++) {
            long double below = 0, here = 1;

            for (k = 0; k < n; k++) {
                const long double above = ((2 * k + 1) * x * here - k * below) / (k + 1);

                below = here;
                here = above;
            }
            slope = n * (below - x * here) / (1 - x * x);
            x -= here / slope;
        }
        node[i] = (double)x;
        weight[i] = (double)(2 / ((1 - x * x) * slope * slope));
    }
}

/// Nodes and weights times w(t) for int_0^1 w(t) f(x t) dt, right to rounding for oscillations up to x.
typedef struct {
    size_t  n;
    double *t, *w;
} quadrature;

static mds_status quadrature_init(const mds_split *split, double x, quadrature *q)
{
    const int panels = (int)((x + 2 * split->shape) / 8) + 2; // at most 8 radians a panel of 16 points
    double    node[PANEL], weight[PANEL];
    int       p, i;

    q->n = (size_t)panels * PANEL;
    MDS_TRY(mds_alloc(&q->t, q->n, sizeof *q->t));
    MDS_TRY(mds_alloc(&q->w, q->n, sizeof *q->w));
    gauss_legendre(PANEL, node, weight);
    for (p = 0; p < panels; p++)
        for (i = 0; i < PANEL; i++) {
            long double w, integral;
            double     *t = &q->t[p * PANEL + i];

            *t = (p + 0.5 * (1 + node[i])) / panels;
            mds_split_weight(split, *t, &w, &integral);
            q->w[p * PANEL + i] = (double)w * weight[i] / (2 * panels);
        }
    return MDS_OK;
}

/// ghat and its first two derivatives with respect to x = k rc.
static void spectrum_sum(const quadrature *q, double x, double *g)
{
    size_t i;

    g[0] = g[1] = g[2] = 0;
    for (i = 0; i < q->n; i++) {
        const double t = q->t[i], c = q->w[i] * cos(x * t);

        g[0] += c;
        g[1] -= q->w[i] * t * sin(x * t);
        g[2] -= t * t * c;
    }
}

/// The table of (ghat, ghat', ghat'') up to x_max, and with n_k = 0 nothing but the value at x_max.
static mds_status spectrum_table(mds_split *split, double x_max)
{
    quadrature q = {0, NULL, NULL};
    mds_status status = MDS_OK;
    int32_t    i;

    split->n_k = (int32_t)(x_max / k_spectrum_step) + 2;
    split->k_step = k_spectrum_step / split->cut;
    MDS_TRY_GOTO(mds_alloc(&split->spectrum, (size_t)split->n_k, sizeof *split->spectrum));
    MDS_TRY_GOTO(quadrature_init(split, split->n_k * k_spectrum_step, &q));
    for (i = 0; i < split->n_k; i++) spectrum_sum(&q, i * k_spectrum_step, split->spectrum[i]);
fail:
    mds_free(q.t);
    mds_free(q.w);
    return status;
}

static mds_status prolate_init(mds_split *split, double k_max)
{
    long double vector[MDS_SPLIT_TERMS], edge = 0, integral;
    int         j, n = MDS_SPLIT_TERMS;

    prolate_vector(split->shape, n, vector);
    for (j = 0; j < n; j++) vector[j] *= sqrtl(2 * j + 0.5L); // from normalised polynomials to P_2j
    for (j = 0; j < n; j++) edge += vector[j];                // P_k(1) = 1
    vector[0] -= edge;
    integral = vector[0];
    while (n > 1 && fabsl(vector[n - 1] / integral) < 1e-19L) n--;
    split->n_terms = n;
    for (j = 0; j < n; j++) split->term[j] = vector[j] / integral;
    {
        long double w, none;

        mds_split_weight(split, 0, &w, &none);
        split->self = (double)w / (2 * split->cut);
    }
    // int t (1 - Phi) dt = 1/2 int t^2 w dt, and t^2 = P_0/3 + 2 P_2/3 with int P_2^2 = 1/5
    split->background =
        MDS_PI * split->cut * split->cut * (double)(split->term[0] / 3 + 2 * split->term[1] / 15);
    return spectrum_table(split, k_max * split->cut);
}

mds_status mds_split_init(mds_split *split, mds_num_split kind, double shape, double cut, double k_max)
{
    mds_status status;

    *split = (mds_split){.kind = kind, .shape = shape, .cut = cut};
    MDS_CHECK(isfinite(cut) && cut > 0, MDS_E_INPUT, "the Ewald split needs a cut-off above 0, got %g nm",
              cut);
    MDS_CHECK(isfinite(k_max) && k_max >= 0, MDS_E_INTERNAL, "largest wave number %g 1/nm", k_max);
    if (kind == MDS_NUM_GAUSSIAN) {
        MDS_CHECK(isfinite(shape) && shape > 0, MDS_E_INPUT,
                  "beta of the Gaussian Ewald split must be above 0, got %g 1/nm", shape);
        split->self = shape / sqrt(MDS_PI);
        split->background = MDS_PI / (2 * shape * shape);
        return MDS_OK;
    }
    MDS_CHECK(shape >= 1 && shape <= k_shape_max, MDS_E_INPUT,
              "c of the prolate Ewald split must be between 1 and %g, got %g", k_shape_max, shape);
    status = prolate_init(split, k_max);
    if (status != MDS_OK) mds_split_free(split);
    return status;
}

void mds_split_free(mds_split *split)
{
    mds_free(split->spectrum);
    *split = (mds_split){.kind = MDS_NUM_PROLATE};
}

double mds_split_phi(const mds_split *split, double r, double *r_dphi)
{
    long double w, phi;

    if (split->kind == MDS_NUM_GAUSSIAN) {
        const double x = split->shape * r;

        *r_dphi = 2 / sqrt(MDS_PI) * x * exp(-x * x);
        return erf(x);
    }
    if (r >= split->cut) {
        *r_dphi = 0;
        return 1;
    }
    mds_split_weight(split, (long double)r / split->cut, &w, &phi);
    *r_dphi = (double)(w * r / split->cut);
    return (double)phi;
}

/// Beyond the table: the integral itself, slow and rare (a box much smaller than the one the table was made
/// for). A failed allocation there leaves the last value of the table, which is of the order of the split's
/// own error.
static void spectrum_far(const mds_split *split, double x, double g[3])
{
    quadrature q = {0, NULL, NULL};

    if (quadrature_init(split, x, &q) == MDS_OK)
        spectrum_sum(&q, x, g);
    else
        g[0] = g[1] = 0;
    mds_free(q.t);
    mds_free(q.w);
}

void mds_split_spectrum(const mds_split *split, double k, double *ghat, double *slope)
{
    const double x = k * split->cut, y = x / k_spectrum_step;

    if (split->kind == MDS_NUM_GAUSSIAN) {
        const double z = k * k / (4 * split->shape * split->shape);

        *ghat = exp(-z);
        *slope = -2 * z * *ghat;
    } else if (y >= split->n_k - 1) {
        double g[3];

        spectrum_far(split, x, g);
        *ghat = g[0];
        *slope = x * g[1];
    } else {
        // quintic Hermite: value and two derivatives at both ends. Error of the value h^6/46080 |ghat^(6)| <=
        // 1e-12 as |ghat^(6)| <= int t^6 w < 0.05 for c > 4.
        const int     i = (int)y;
        const double  s = y - i, h = k_spectrum_step;
        const double *a = split->spectrum[i], *b = split->spectrum[i + 1];
        const double  a1 = h * a[1], a2 = 0.5 * h * h * a[2], b1 = h * b[1], b2 = 0.5 * h * h * b[2];
        const double  d = b[0] - a[0] - a1 - a2, e = b1 - a1 - 2 * a2, f = b2 - a2;
        const double  c3 = 10 * d - 4 * e + f, c4 = -15 * d + 7 * e - 2 * f, c5 = 6 * d - 3 * e + f;

        *ghat = a[0] + s * (a1 + s * (a2 + s * (c3 + s * (c4 + s * c5))));
        *slope = y * (a1 + s * (2 * a2 + s * (3 * c3 + s * (4 * c4 + s * 5 * c5))));
    }
}
