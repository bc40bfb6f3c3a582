// SPDX-License-Identifier: Apache-2.0
// Bonded terms by the textbook: energy, its derivative along one internal coordinate, and the chain rule to atoms.
//
// Formulas: model.h (mds_term_kind), docs/theory/bonded.md [gromacs2022, 5.2-5.4; brooks2009; mackerell2004].
// Every difference of positions is taken at the nearest image, and the virial -1/2 sum d (x) f from the same differences
// d to one atom of the term: wrapping single atoms changes nothing.
//
// Where a direction is undefined (bond of length zero, torsion over collinear atoms, bent angle at 0 or 180 degrees) the
// energy is finite and the force zero.
//
// CMAP: the map is interpolated bicubically (Hermite form) with slopes from periodic cubic splines along grid lines.
#include "ref/ref.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

/// sin^2 below which atoms count as collinear (an angle of 1e-12 rad: the rounding of positions in a box).
static const double collinear = 1e-24;

/// x_a - x_b at the nearest image.
static void difference(const mds_device *d, int32_t a, int32_t b, double r[3])
{
    for (int k = 0; k < 3; k++) r[k] = d->x[a][k] - d->x[b][k];
    mds_box_nearest(&d->box, r);
}

/// Add force f on `atom`, found at r from the term's origin atom.
static void add(mds_device *d, int32_t atom, const double r[3], const double f[3])
{
    for (int k = 0; k < 3; k++) {
        d->f[atom][k] += f[k];
        for (int l = 0; l < 3; l++) d->virial[k][l] -= 0.5 * r[k] * f[l];
    }
}

static const double origin[3] = {0, 0, 0};

// ------------------------------------------------------------------------------------------ two atoms

/// Force -dv_dr along the line of a and b.
static void pull(mds_device *d, int32_t a, int32_t b, double dv_dr)
{
    double r[3], f[3], g[3];

    difference(d, a, b, r);
    const double length = mds_norm(r);
    if (length == 0) return;
    for (int k = 0; k < 3; k++) {
        f[k] = -dv_dr * r[k] / length;
        g[k] = -f[k];
    }
    add(d, a, r, f);
    add(d, b, origin, g);
}

static void harmonic_distance(mds_device *d, int32_t a, int32_t b, double r0, double k, mds_energy term)
{
    double r[3];

    difference(d, a, b, r);
    const double x = mds_norm(r) - r0;
    d->energy[term] += 0.5 * k * x * x;
    pull(d, a, b, k * x);
}

static void bond_g96(mds_device *d, const int32_t *a, const double *p)
{
    double r[3];

    difference(d, a[0], a[1], r);
    const double x = mds_dot(r, r) - p[0] * p[0];
    d->energy[MDS_EN_BOND] += 0.25 * p[1] * x * x;
    pull(d, a[0], a[1], p[1] * x * mds_norm(r));
}

static void bond_morse(mds_device *d, const int32_t *a, const double *p)
{
    double r[3];

    difference(d, a[0], a[1], r);
    const double e = exp(-p[2] * (mds_norm(r) - p[0]));
    d->energy[MDS_EN_BOND] += p[1] * (1 - e) * (1 - e);
    pull(d, a[0], a[1], 2 * p[1] * p[2] * (1 - e) * e);
}

static void pair14(mds_device *d, const int32_t *a, const double *p)
{
    double r[3];

    difference(d, a[0], a[1], r);
    const double length = fmax(mds_norm(r), 1e-6); // as in pair.c: at one point huge but finite
    const double v6 = p[0] * pow(length, -6), v12 = p[1] * pow(length, -12), vq = MDS_COULOMB * p[2] / length;
    d->energy[MDS_EN_LJ14] += v12 - v6;
    d->energy[MDS_EN_COUL14] += vq;
    pull(d, a[0], a[1], -(12 * v12 - 6 * v6 + vq) / length);
}

// ---------------------------------------------------------------------------------------- three atoms

/// Unit-free geometry of the angle a[0] a[1] a[2]: vectors from the middle, the angle, and its gradients (1/nm).
/// False where the gradient is undefined.
static bool angle_geometry(const mds_device *d, const int32_t *a, double u[3], double v[3], double *theta,
                           double grad_u[3], double grad_v[3])
{
    double n[3];

    difference(d, a[0], a[1], u);
    difference(d, a[2], a[1], v);
    mds_cross(u, v, n);
    const double sine = mds_norm(n), u2 = mds_dot(u, u), v2 = mds_dot(v, v);
    *theta = atan2(sine, mds_dot(u, v));
    if (sine * sine <= collinear * u2 * v2) return false;
    // u x n lies in the plane, at right angles to u, away from v: |u x n| = |u| |n|
    mds_cross(u, n, grad_u);
    mds_cross(n, v, grad_v);
    for (int k = 0; k < 3; k++) {
        grad_u[k] /= u2 * sine;
        grad_v[k] /= v2 * sine;
    }
    return true;
}

static void angle(mds_device *d, const int32_t *a, double theta0, double k_theta, mds_energy term)
{
    double u[3], v[3], gu[3], gv[3], fu[3], fv[3], f0[3], theta;

    const bool   defined = angle_geometry(d, a, u, v, &theta, gu, gv);
    const double x = theta - theta0;
    d->energy[term] += 0.5 * k_theta * x * x;
    if (!defined) return;
    for (int k = 0; k < 3; k++) {
        fu[k] = -k_theta * x * gu[k];
        fv[k] = -k_theta * x * gv[k];
        f0[k] = -fu[k] - fv[k];
    }
    add(d, a[0], u, fu);
    add(d, a[2], v, fv);
    add(d, a[1], origin, f0);
}

static void angle_g96(mds_device *d, const int32_t *a, const double *p)
{
    double u[3], v[3], fu[3], fv[3], f0[3];

    difference(d, a[0], a[1], u);
    difference(d, a[2], a[1], v);
    const double lu = mds_norm(u), lv = mds_norm(v);
    const double cosine = lu > 0 && lv > 0 ? mds_dot(u, v) / (lu * lv) : 1;
    const double x = cosine - cos(p[0]);
    d->energy[MDS_EN_ANGLE] += 0.5 * p[1] * x * x;
    if (lu == 0 || lv == 0) return;
    for (int k = 0; k < 3; k++) {
        fu[k] = -p[1] * x * (v[k] / lv - cosine * u[k] / lu) / lu;
        fv[k] = -p[1] * x * (u[k] / lu - cosine * v[k] / lv) / lv;
        f0[k] = -fu[k] - fv[k];
    }
    add(d, a[0], u, fu);
    add(d, a[2], v, fv);
    add(d, a[1], origin, f0);
}

// ------------------------------------------------------------------------------------------- torsions

/// A torsion: bond vectors b[0..2] along the chain, the angle in (-pi, pi], and its gradient along each b (rad/nm).
typedef struct {
    double b[3][3], phi, grad[3][3];
    bool   defined;
} torsion;

/// With m = b1 x b2 and n = b2 x b3: x = m.n = |m||n| cos phi, y = |b2| b1.n = |m||n| sin phi, phi = atan2(y, x) and
/// dphi = (x dy - y dx)/(x^2 + y^2).
static torsion torsion_geometry(const mds_device *d, const int32_t *a)
{
    torsion t;
    double  m[3], n[3], dx[3][3], dy[3][3], c1[3], c2[3];

    for (int k = 0; k < 3; k++) difference(d, a[k + 1], a[k], t.b[k]);
    const double *b1 = t.b[0], *b2 = t.b[1], *b3 = t.b[2];
    mds_cross(b1, b2, m);
    mds_cross(b2, b3, n);
    const double length = mds_norm(b2), m2 = mds_dot(m, m), n2 = mds_dot(n, n), b22 = length * length;
    const double x = mds_dot(m, n), y = length * mds_dot(b1, n);
    t.phi = atan2(y, x);
    t.defined = m2 > collinear * mds_dot(b1, b1) * b22 && n2 > collinear * mds_dot(b3, b3) * b22;
    memset(t.grad, 0, sizeof t.grad);
    if (!t.defined) return t;

    mds_cross(b2, n, dx[0]);
    mds_cross(n, b1, c1);
    mds_cross(b3, m, c2);
    for (int k = 0; k < 3; k++) dx[1][k] = c1[k] + c2[k];
    mds_cross(m, b2, dx[2]);
    mds_cross(b3, b1, c1);
    for (int k = 0; k < 3; k++) {
        dy[0][k] = length * n[k];
        dy[1][k] = b2[k] / length * mds_dot(b1, n) + length * c1[k];
        dy[2][k] = length * m[k];
    }
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) t.grad[j][k] = (x * dy[j][k] - y * dx[j][k]) / (x * x + y * y);
    return t;
}

/// Forces of dv_dphi on the four atoms: b1 = x1 - x0 and so on.
static void twist(mds_device *d, const int32_t *a, const torsion *t, double dv_dphi)
{
    double f[4][3], r[4][3];

    if (!t->defined) return;
    for (int k = 0; k < 3; k++) {
        f[0][k] = dv_dphi * t->grad[0][k];
        f[1][k] = dv_dphi * (t->grad[1][k] - t->grad[0][k]);
        f[2][k] = dv_dphi * (t->grad[2][k] - t->grad[1][k]);
        f[3][k] = -dv_dphi * t->grad[2][k];
        r[0][k] = -t->b[0][k];
        r[1][k] = 0;
        r[2][k] = t->b[1][k];
        r[3][k] = t->b[1][k] + t->b[2][k];
    }
    for (int j = 0; j < 4; j++) add(d, a[j], r[j], f[j]);
}

static void periodic_torsion(mds_device *d, const int32_t *a, const double *p, mds_energy term)
{
    const torsion t = torsion_geometry(d, a);

    d->energy[term] += p[1] * (1 + cos(p[2] * t.phi - p[0]));
    twist(d, a, &t, -p[1] * p[2] * sin(p[2] * t.phi - p[0]));
}

static void ryckaert_bellemans(mds_device *d, const int32_t *a, const double *p)
{
    const torsion t = torsion_geometry(d, a);
    const double  psi = t.phi - MDS_PI;
    double        dv = 0;

    for (int m = 0; m < 6; m++) {
        d->energy[MDS_EN_RB] += p[m] * pow(cos(psi), m);
        if (m) dv -= p[m] * m * pow(cos(psi), m - 1) * sin(psi);
    }
    twist(d, a, &t, dv);
}

static void harmonic_improper(mds_device *d, const int32_t *a, const double *p)
{
    const torsion t = torsion_geometry(d, a);
    const double  x = remainder(t.phi - p[0], 2 * MDS_PI);

    d->energy[MDS_EN_IMPROPER] += 0.5 * p[1] * x * x;
    twist(d, a, &t, p[1] * x);
}

// ----------------------------------------------------------------------------------------------- CMAP

/// Slopes (per grid step) of the periodic cubic spline through f[0], f[stride], ...: they solve
/// s[i-1] + 4 s[i] + s[i+1] = 3 (f[i+1] - f[i-1]). Gauss and Seidel's sweep shrinks the error by more than two.
static void spline_slopes(int n, int stride, const double *f, double *s)
{
    for (int i = 0; i < n; i++) s[i * stride] = 0;
    for (int sweep = 0; sweep < 60; sweep++)
        for (int i = 0; i < n; i++) {
            const int next = (i + 1) % n * stride, last = (i + n - 1) % n * stride;

            s[i * stride] = (3 * (f[next] - f[last]) - s[last] - s[next]) / 4;
        }
}

/// Value, slope at 0, value at 1, slope at 1: the four Hermite polynomials and their derivatives at t.
static void hermite(double t, double h[4], double dh[4])
{
    h[0] = 1 - t * t * (3 - 2 * t);
    h[1] = t * (1 - t) * (1 - t);
    h[2] = t * t * (3 - 2 * t);
    h[3] = -t * t * (1 - t);
    dh[0] = -6 * t * (1 - t);
    dh[1] = (1 - t) * (1 - 3 * t);
    dh[2] = 6 * t * (1 - t);
    dh[3] = t * (3 * t - 2);
}

/// Value and slopes (per radian) of a map at two torsions. table: [4][n][n] value, d/dphi, d/dpsi, d2, per grid step.
static double map_value(int n, const double *table, double phi, double psi, double slope[2])
{
    const double steps = n / (2 * MDS_PI);
    const double u = (phi + MDS_PI) * steps, v = (psi + MDS_PI) * steps;
    const int    i = (int)floor(u), j = (int)floor(v);
    double       hu[4], du[4], hv[4], dv[4], value = 0;

    hermite(u - i, hu, du);
    hermite(v - j, hv, dv);
    slope[0] = slope[1] = 0;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            const size_t row = (size_t)((i + a / 2) % n), column = (size_t)((j + b / 2) % n), size = (size_t)n;
            const double c = table[(((size_t)(a % 2) + 2 * (size_t)(b % 2)) * size + row) * size + column];

            value += c * hu[a] * hv[b];
            slope[0] += c * du[a] * hv[b] * steps;
            slope[1] += c * hu[a] * dv[b] * steps;
        }
    return value;
}

static mds_status cmap(mds_device *d, const mds_terms *terms)
{
    const mds_system *s = d->system;
    const size_t      n = (size_t)s->map_size, points = n * n;
    double           *table;

    if (!terms->n) return MDS_OK;
    MDS_TRY(mds_alloc(&table, 4 * points * (size_t)s->n_maps, sizeof *table));
    for (int32_t map = 0; map < s->n_maps; map++) {
        double *t = table + 4 * points * (size_t)map;

        memcpy(t, s->map + points * (size_t)map, points * sizeof *t);
        for (size_t k = 0; k < n; k++) spline_slopes((int)n, (int)n, t + k, t + points + k);
        for (size_t k = 0; k < n; k++) spline_slopes((int)n, 1, t + n * k, t + 2 * points + n * k);
        for (size_t k = 0; k < n; k++) spline_slopes((int)n, 1, t + points + n * k, t + 3 * points + n * k);
    }
    for (int32_t k = 0; k < terms->n; k++) {
        const int32_t *a = terms->atom + 5 * (size_t)k;
        const torsion  first = torsion_geometry(d, a), second = torsion_geometry(d, a + 1);
        double         slope[2];

        d->energy[MDS_EN_CMAP] +=
            map_value((int)n, table + 4 * points * (size_t)terms->param[k], first.phi, second.phi, slope);
        twist(d, a, &first, slope[0]);
        twist(d, a + 1, &second, slope[1]);
    }
    mds_free(table);
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------- restraint

/// The reference point stays where it is when the box scales, so the virial counts from the origin of space to the
/// image of the atom that is nearest to it (GROMACS: refcoord-scaling = no).
static void restraint(mds_device *d, const int32_t *a, const double *p)
{
    double r[3], f[3], image[3];

    for (int k = 0; k < 3; k++) r[k] = d->x[a[0]][k] - p[k];
    mds_box_nearest(&d->box, r);
    for (int k = 0; k < 3; k++) {
        d->energy[MDS_EN_RESTRAINT] += 0.5 * p[3 + k] * r[k] * r[k];
        f[k] = -p[3 + k] * r[k];
        image[k] = p[k] + r[k];
    }
    add(d, a[0], image, f);
}

static mds_status term(mds_device *d, mds_term_kind kind, const int32_t *a, const double *p)
{
    switch (kind) {
    case MDS_TERM_BOND:
        harmonic_distance(d, a[0], a[1], p[0], p[1], MDS_EN_BOND);
        break;
    case MDS_TERM_BOND_G96:
        bond_g96(d, a, p);
        break;
    case MDS_TERM_BOND_MORSE:
        bond_morse(d, a, p);
        break;
    case MDS_TERM_ANGLE:
        angle(d, a, p[0], p[1], MDS_EN_ANGLE);
        break;
    case MDS_TERM_ANGLE_G96:
        angle_g96(d, a, p);
        break;
    case MDS_TERM_UREY_BRADLEY:
        angle(d, a, p[0], p[1], MDS_EN_UREY_BRADLEY);
        harmonic_distance(d, a[0], a[2], p[2], p[3], MDS_EN_UREY_BRADLEY);
        break;
    case MDS_TERM_PROPER:
        periodic_torsion(d, a, p, MDS_EN_PROPER);
        break;
    case MDS_TERM_PERIODIC_IMPROPER:
        periodic_torsion(d, a, p, MDS_EN_PERIODIC_IMPROPER);
        break;
    case MDS_TERM_RB:
        ryckaert_bellemans(d, a, p);
        break;
    case MDS_TERM_IMPROPER:
        harmonic_improper(d, a, p);
        break;
    case MDS_TERM_PAIR14:
        pair14(d, a, p);
        break;
    case MDS_TERM_RESTRAINT:
        restraint(d, a, p);
        break;
    default:
        MDS_FAIL(MDS_E_INTERNAL, "ref has no bonded term of kind %d", (int)kind);
    }
    return MDS_OK;
}

mds_status mds_ref_bonded(mds_device *d, mds_work work)
{
    (void)work; // energies and virial always
    if (d->tripped) return MDS_OK;
    for (int kind = 0; kind < MDS_N_TERMS; kind++) {
        const mds_terms *terms = &d->system->term[kind];
        const size_t     n_atoms = (size_t)mds_term_table[kind].n_atoms, n_params = (size_t)mds_term_table[kind].n_params;

        if (kind == MDS_TERM_CMAP) {
            MDS_TRY(cmap(d, terms));
            continue;
        }
        for (int32_t k = 0; k < terms->n; k++)
            MDS_TRY(term(d, kind, terms->atom + n_atoms * (size_t)k, terms->param + n_params * (size_t)k));
    }
    return MDS_OK;
}
