// SPDX-License-Identifier: Apache-2.0
// Bonded terms in double, inline, for the product backends: energy and force factors from difference vectors.
//
// Distances give s with force = s * (x_a - x_b) on a. Angles and torsions give dV/d(angle), which a geometry turns into
// forces. Formulas and derivations: docs/theory/bonded.md. Torsion forces in the form of [bekker1995] (also
// [blondel1996]): with F = x_i - x_j, G = x_k - x_j, H = x_k - x_l, m = F x G, n = G x H
//     f_i = -V' |G|/m^2 m,   f_l = V' |G|/n^2 n,   f_j = -f_i + S,   f_k = -f_l - S,   S = (F.G f_i - H.G f_l)/G^2.
// What has no direction (zero bonds, straight angles, collinear torsions) has no force; energies stay finite.
//
// CMAP cells are polynomials sum c[a][b] u^a v^b, u and v in grid steps; their coefficients come from values and slopes of
// periodic cubic splines through the map (mackerell2004). The spline's slopes solve s[i-1] + 4 s[i] + s[i+1] =
// 3 (f[i+1] - f[i-1]), whose inverse on a ring of n is (z^k + z^(n-k))/((4 + 2z)(1 - z^n)) with z = sqrt(3) - 2.
#ifndef MDS_NUM_BONDED_H
#define MDS_NUM_BONDED_H

#include "base/units.h"
#include "base/vec.h"

#include <math.h>
#include <stdint.h>

/// sin^2 below which three points count as collinear: 1e-12 rad, the rounding of positions some nm from the origin.
#define MDS_COLLINEAR 1e-24

// ------------------------------------------------------------------------------------------- distances

/// 1/2 k (r - r0)^2. r2: squared distance.
MDS_INLINE double mds_bond(double r2, double r0, double k, double *s)
{
    const double r = sqrt(r2), x = r - r0;

    *s = r > 0 ? -k * x / r : 0;
    return 0.5 * k * x * x;
}

/// 1/4 k (r^2 - r0^2)^2.
MDS_INLINE double mds_bond_g96(double r2, double r0, double k, double *s)
{
    const double x = r2 - r0 * r0;

    *s = -k * x;
    return 0.25 * k * x * x;
}

/// depth (1 - exp(-b (r - r0)))^2.
MDS_INLINE double mds_bond_morse(double r2, double r0, double depth, double b, double *s)
{
    const double r = sqrt(r2), e = exp(-b * (r - r0)), x = 1 - e;

    *s = r > 0 ? -2 * depth * b * x * e / r : 0;
    return depth * x * x;
}

/// c12/r^12 - c6/r^6, and Coulomb with charge product qq (e^2) apart. At one point: huge but finite.
MDS_INLINE double mds_pair14(double r2, double c6, double c12, double qq, double *s, double *coulomb)
{
    const double inv2 = 1 / fmax(r2, 1e-12), inv6 = inv2 * inv2 * inv2;
    const double v6 = c6 * inv6, v12 = c12 * inv6 * inv6;

    *coulomb = MDS_COULOMB * qq * sqrt(inv2);
    *s = (12 * v12 - 6 * v6 + *coulomb) * inv2;
    return v12 - v6;
}

// ---------------------------------------------------------------------------------------------- angles

/// The angle between u and v (vectors from the middle atom) and its gradients gu, gv (1/nm; zero where undefined).
MDS_INLINE double mds_angle(const double u[3], const double v[3], double gu[3], double gv[3])
{
    double       n[3];
    const double u2 = mds_dot(u, u), v2 = mds_dot(v, v), uv = mds_dot(u, v);
    double       sine2, inv_sine;
    int          k;

    mds_cross(u, v, n);
    sine2 = mds_dot(n, n); // (|u||v| sin)^2
    inv_sine = sine2 > MDS_COLLINEAR * u2 * v2 ? 1 / sqrt(sine2) : 0;
    for (k = 0; k < 3; k++) {
        gu[k] = inv_sine > 0 ? (uv / u2 * u[k] - v[k]) * inv_sine : 0;
        gv[k] = inv_sine > 0 ? (uv / v2 * v[k] - u[k]) * inv_sine : 0;
    }
    return atan2(sqrt(sine2), uv);
}

/// 1/2 k (cos - cos0)^2 with forces on the outer atoms.
MDS_INLINE double mds_angle_g96(const double u[3], const double v[3], double cos0, double k, double fu[3], double fv[3])
{
    const double u2 = mds_dot(u, u), v2 = mds_dot(v, v), length = sqrt(u2 * v2), uv = mds_dot(u, v);
    const double cosine = length > 0 ? uv / length : 1, x = cosine - cos0;
    int          m;

    for (m = 0; m < 3; m++) {
        fu[m] = length > 0 ? -k * x * (v[m] / length - cosine * u[m] / u2) : 0;
        fv[m] = length > 0 ? -k * x * (u[m] / length - cosine * v[m] / v2) : 0;
    }
    return 0.5 * k * x * x;
}

// -------------------------------------------------------------------------------------------- torsions

/// Geometry of a torsion: the angle (IUPAC, cis = 0, in (-pi, pi]) and dphi/dx of each atom (rad/nm; zero if undefined).
typedef struct {
    double phi;
    double grad[4][3];
} mds_torsion;

/// f = x_i - x_j, g = x_k - x_j, h = x_k - x_l.
MDS_INLINE void mds_torsion_of(const double f[3], const double g[3], const double h[3], mds_torsion *t)
{
    double       m[3], n[3];
    const double g2 = mds_dot(g, g), length = sqrt(g2);
    double       m2, n2;
    int          k;

    mds_cross(f, g, m);
    mds_cross(g, h, n);
    m2 = mds_dot(m, m);
    n2 = mds_dot(n, n);
    t->phi = atan2(length * mds_dot(f, n), mds_dot(m, n));
    if (m2 > MDS_COLLINEAR * mds_dot(f, f) * g2 && n2 > MDS_COLLINEAR * mds_dot(h, h) * g2) {
        const double p = mds_dot(f, g) / g2, q = mds_dot(h, g) / g2;

        for (k = 0; k < 3; k++) {
            const double gi = length / m2 * m[k], gl = -length / n2 * n[k], shift = p * gi - q * gl;

            t->grad[0][k] = gi;
            t->grad[1][k] = shift - gi;
            t->grad[2][k] = -shift - gl;
            t->grad[3][k] = gl;
        }
    } else {
        for (k = 0; k < 12; k++) t->grad[k / 3][k % 3] = 0;
    }
}

/// k (1 + cos(n phi - phi0)).
MDS_INLINE double mds_proper(double phi, double phi0, double k, double n, double *slope)
{
    *slope = -k * n * sin(n * phi - phi0);
    return k * (1 + cos(n * phi - phi0));
}

/// sum c_m cos^m(phi - pi), m < 6.
MDS_INLINE double mds_ryckaert(double phi, const double c[6], double *slope)
{
    const double x = -cos(phi); // d/dphi = sin(phi) d/dx
    double       v = c[5], dv = 0;
    int          m;

    for (m = 4; m >= 0; m--) {
        dv = dv * x + v;
        v = v * x + c[m];
    }
    *slope = dv * sin(phi);
    return v;
}

/// 1/2 k (xi - xi0)^2, the difference taken into [-pi, pi].
MDS_INLINE double mds_improper(double xi, double xi0, double k, double *slope)
{
    double x = xi - xi0;

    x -= 2 * MDS_PI * rint(x / (2 * MDS_PI));
    *slope = k * x;
    return 0.5 * k * x * x;
}

enum { MDS_MAX_COSINE = 6 }; // largest multiple that is made a polynomial

/// p += cosine T_n, q += sine U_(n-1), n <= MDS_MAX_COSINE: cos(n phi) = T_n(cos phi), sin(n phi) = sin phi U_(n-1)(cos phi).
/// p [MDS_MAX_COSINE + 1], q [MDS_MAX_COSINE]: coefficients of the powers of cos phi.
MDS_INLINE void mds_multiple_powers(int n, double cosine, double sine, double *p, double *q)
{
    double t[2][MDS_MAX_COSINE + 2] = {{1}, {0, 1}}, u[2][MDS_MAX_COSINE + 2] = {{0}, {1}}; // of n - 1 and n, from n = 1
    int    m, k;

    for (m = 1; m < n; m++) {
        double next_t[MDS_MAX_COSINE + 2] = {0}, next_u[MDS_MAX_COSINE + 2] = {0};

        for (k = 0; k <= m + 1; k++) {
            next_t[k] = (k ? 2 * t[1][k - 1] : 0) - t[0][k];
            next_u[k] = (k ? 2 * u[1][k - 1] : 0) - u[0][k];
        }
        for (k = 0; k < MDS_MAX_COSINE + 2; k++) {
            t[0][k] = t[1][k];
            t[1][k] = next_t[k];
            u[0][k] = u[1][k];
            u[1][k] = next_u[k];
        }
    }
    for (k = 0; k <= n; k++) p[k] += cosine * t[n > 0][k];
    for (k = 0; k < n; k++) q[k] += sine * u[1][k];
}

/// P and Q of k (1 + cos(n phi - phi0)), added; false, and nothing done, where n is no whole number up to MDS_MAX_COSINE.
MDS_INLINE bool mds_proper_powers(double phi0, double k, double n, double *p, double *q)
{
    const double sine = sin(phi0);

    if (!(n >= 0 && n <= MDS_MAX_COSINE && n == floor(n))) return false;
    p[0] += k;
    // half a turn written in double has a sine of 1e-16
    mds_multiple_powers((int)n, k * cos(phi0), fabs(sine) > 1e-15 ? k * sine : 0, p, q);
    return true;
}

// ------------------------------------------------------------------------------------------------ CMAP

/// Slopes of the periodic cubic spline through n values a stride apart, written `out_stride` apart, per grid step.
MDS_INLINE void mds_ring_slopes(int n, const double *f, int stride, double *out, int out_stride)
{
    const double z = sqrt(3.0) - 2, norm = (4 + 2 * z) * (1 - pow(z, n));
    int          i, k;

    for (i = 0; i < n; i++) {
        double sum = 0;

        for (k = 0; k < n; k++)
            sum += 3 * (f[(i + k + 1) % n * stride] - f[(i + k + n - 1) % n * stride]) * (pow(z, k) + pow(z, n - k));
        out[i * out_stride] = sum / norm;
    }
}

/// Values {f(0), f'(0), f(1), f'(1)} to the coefficients of the cubic, in place, `stride` apart.
MDS_INLINE void mds_hermite_to_power(double *c, int stride)
{
    const double f0 = c[0], s0 = c[stride], f1 = c[2 * stride], s1 = c[3 * stride];

    c[2 * stride] = 3 * (f1 - f0) - 2 * s0 - s1;
    c[3 * stride] = 2 * (f0 - f1) + s0 + s1;
}

/// Coefficients [n][n][4][4] of a map [n][n] (first torsion along rows). slopes: room for 3 n n.
MDS_INLINE void mds_cmap_cells(int n, const double *map, double *slopes, double *cells)
{
    double *du = slopes, *dv = slopes + n * n, *duv = slopes + 2 * n * n;
    int     i, j, a, b;

    for (i = 0; i < n; i++) mds_ring_slopes(n, map + i, n, du + i, n);
    for (i = 0; i < n; i++) mds_ring_slopes(n, map + i * n, 1, dv + i * n, 1);
    for (i = 0; i < n; i++) mds_ring_slopes(n, du + i * n, 1, duv + i * n, 1);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            double *c = cells + (int64_t)16 * (i * n + j);

            for (a = 0; a < 2; a++)
                for (b = 0; b < 2; b++) {
                    const int at = (i + a) % n * n + (j + b) % n;

                    c[(2 * a) * 4 + 2 * b] = map[at];
                    c[(2 * a + 1) * 4 + 2 * b] = du[at];
                    c[(2 * a) * 4 + 2 * b + 1] = dv[at];
                    c[(2 * a + 1) * 4 + 2 * b + 1] = duv[at];
                }
            for (a = 0; a < 4; a++) mds_hermite_to_power(c + 4 * a, 1);
            for (b = 0; b < 4; b++) mds_hermite_to_power(c + b, 4);
        }
}

/// Energy of a map at two torsions, and its slopes (kJ/mol/rad).
MDS_INLINE double mds_cmap(int n, const double *cells, double phi, double psi, double slope[2])
{
    const double steps = n / (2 * MDS_PI);
    const double x = (phi + MDS_PI) * steps, y = (psi + MDS_PI) * steps;
    const double fx = floor(x), fy = floor(y), u = x - fx, v = y - fy;
    const int    i = ((int)fx % n + n) % n, j = ((int)fy % n + n) % n;
    const double *c = cells + (int64_t)16 * (i * n + j);
    double       e = 0, du = 0, dv = 0;
    int          a;

    for (a = 3; a >= 0; a--) {
        const double row = ((c[4 * a + 3] * v + c[4 * a + 2]) * v + c[4 * a + 1]) * v + c[4 * a];
        const double drow = (3 * c[4 * a + 3] * v + 2 * c[4 * a + 2]) * v + c[4 * a + 1];

        du = du * u + e;
        e = e * u + row;
        dv = dv * u + drow;
    }
    slope[0] = du * steps;
    slope[1] = dv * steps;
    return e;
}

#endif
