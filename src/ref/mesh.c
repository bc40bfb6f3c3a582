// SPDX-License-Identifier: Apache-2.0
// Smooth particle-mesh Ewald in double, any grid, order 4 to 8, any triclinic box [essmann1995]; and the exact sum.
//
// Charges are spread with cardinal B-splines M_n on a grid of K1 x K2 x K3 points in fractional coordinates; the
// structure factor is the FFT of that grid times the Euler-spline factors b(m):
//     E = f/(2V) sum_{m != 0} 4 pi/k^2 ghat(k) |b1 b2 b3|^2 |FFT(Q)|^2,     k = 2 pi (m1 a* + m2 b* + m3 c*)
// The potential grid is dE/dQ, so forces are the derivatives of the spline weights times it: exact derivatives of E,
// which do not quite sum to zero (nor do GROMACS'). Virial as -1/2 sum r (x) f, with E_k the terms of the sum:
//     -1/2 sum E_k [delta_ab + (k_a k_b/k^2) (k ghat'(k)/ghat(k) - 2)].
// The neutralising background of a net charge is the k = 0 term: algorithm and value in split.c.
//
// M_n comes from its closed form of truncated powers (the product uses the recursion):
//     M_n(u) = 1/(n-1)! sum_k (-1)^k C(n,k) (u - k)_+^(n-1),   M_n(u) = M_n(n - u),   M_n' = M_{n-1}(u) - M_{n-1}(u-1).
// Indices above K/2 are negative frequencies; m = K/2 counts as -K/2 along the first two directions, as in GROMACS.
// Odd orders have no Euler spline at K/2 and a bad one beside it: they use the least-squares factor [hockney1988].
#include "ref/ref.h"

#include "base/units.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <string.h>

enum { MIN_ORDER = 3, MAX_ORDER = 12 };

struct ref_mesh {
    int32_t    n[3], order, nz; // nz: complex points along the last direction
    double    *grid;            // [n0][n1][n2] charges, then potential (kJ/mol/e)
    fftw_complex *mode;         // [n0][n1][nz]
    fftw_plan  forward, backward;
    double    *moduli[3];       // [n[k]] |b(m)|^2
    double    *green, *slope;   // [n0][n1][nz] 4 pi/k^2 |b|^2 times ghat, and times k dghat/dk; of `box`
    mds_box    box;
    bool       ready;           // green and slope belong to box and parameters
};

static double b_spline(int n, double u)
{
    if (u <= 0 || u >= n) return 0;
    if (2 * u > n) u = n - u; // fewer terms, and they cancel less
    double sum = 0, binomial = 1, factorial = 1;
    for (int k = 0; k < u; k++) {
        double power = 1;

        for (int m = 1; m < n; m++) power *= u - k;
        sum += (k % 2 ? -1 : 1) * binomial * power;
        binomial *= (double)(n - k) / (k + 1);
    }
    for (int m = 2; m < n; m++) factorial *= m;
    return sum / factorial;
}

static double b_spline_slope(int n, double u)
{
    return b_spline(n - 1, u) - b_spline(n - 1, u - 1);
}

/// Even orders: the Euler spline. Odd orders: U^2/(sum_s U_s^2)^2 with the spectrum U = (sin x/x)^n at the wave and its
/// aliases, whose sum of squares is the Fourier sum of the spline's autocorrelation, M_2n at the integers.
static void moduli(int32_t n, int order, double *b2)
{
    for (int32_t m = 0; m < n; m++) {
        double complex sum = 0;

        if (order % 2 == 0) {
            for (int k = 0; k < order - 1; k++) sum += b_spline(order, k + 1) * cexp(2 * MDS_PI * I * (double)m * k / n);
            b2[m] = 1 / (creal(sum) * creal(sum) + cimag(sum) * cimag(sum));
        } else {
            const double x = MDS_PI * (2 * m > n ? m - n : m) / n, u = m ? pow(sin(x) / x, order) : 1;

            for (int k = -order; k <= order; k++) sum += b_spline(2 * order, order + k) * cexp(2 * MDS_PI * I * (double)m * k / n);
            b2[m] = u * u / (creal(sum) * creal(sum));
        }
    }
}

void mds_ref_mesh_close(mds_device *d)
{
    ref_mesh *m = d->mesh;

    if (!m) return;
    if (m->forward) fftw_destroy_plan(m->forward);
    if (m->backward) fftw_destroy_plan(m->backward);
    mds_free(m->grid);
    mds_free(m->mode);
    for (int k = 0; k < 3; k++) mds_free(m->moduli[k]);
    mds_free(m->green);
    mds_free(m->slope);
    mds_free(m);
    d->mesh = NULL;
}

mds_status mds_ref_mesh_set(mds_device *d)
{
    const mds_params *p = &d->params;

    mds_ref_mesh_close(d);
    MDS_TRY(mds_ref_split_set(d));
    if (p->coulomb != MDS_COULOMB_PME) return MDS_OK;
    MDS_CHECK(p->order >= MIN_ORDER && p->order <= MAX_ORDER, MDS_E_INPUT, "mesh order %d is not in %d..%d",
              (int)p->order, MIN_ORDER, MAX_ORDER);
    for (int k = 0; k < 3; k++)
        MDS_CHECK(p->grid[k] >= p->order, MDS_E_INPUT, "a mesh of %d points is too small for order %d", (int)p->grid[k],
                  (int)p->order);
    MDS_TRY(mds_alloc(&d->mesh, 1, sizeof *d->mesh));

    ref_mesh *m = d->mesh;
    memcpy(m->n, p->grid, sizeof m->n);
    m->order = p->order;
    m->nz = m->n[2] / 2 + 1;
    const size_t rows = (size_t)m->n[0] * (size_t)m->n[1], points = rows * (size_t)m->n[2], modes = rows * (size_t)m->nz;
    MDS_TRY(mds_alloc(&m->grid, points, sizeof *m->grid));
    MDS_TRY(mds_alloc(&m->mode, modes, sizeof *m->mode));
    MDS_TRY(mds_alloc(&m->green, modes, sizeof *m->green));
    MDS_TRY(mds_alloc(&m->slope, modes, sizeof *m->slope));
    for (int k = 0; k < 3; k++) {
        MDS_TRY(mds_alloc(&m->moduli[k], (size_t)m->n[k], sizeof *m->moduli[k]));
        moduli(m->n[k], m->order, m->moduli[k]);
    }
    m->forward = fftw_plan_dft_r2c_3d(m->n[0], m->n[1], m->n[2], m->grid, m->mode, FFTW_ESTIMATE);
    m->backward = fftw_plan_dft_c2r_3d(m->n[0], m->n[1], m->n[2], m->mode, m->grid, FFTW_ESTIMATE);
    MDS_CHECK(m->forward && m->backward, MDS_E_MEMORY, "no FFT plan for a mesh of %d x %d x %d", (int)m->n[0],
              (int)m->n[1], (int)m->n[2]);
    return MDS_OK;
}

/// Wave vector of integers m, 1/nm; inv holds the reciprocal vectors as columns.
static void wave_vector(const double inv[3][3], const double m[3], double k[3])
{
    for (int a = 0; a < 3; a++) k[a] = 2 * MDS_PI * (inv[a][0] * m[0] + inv[a][1] * m[1] + inv[a][2] * m[2]);
}

static int32_t frequency(int32_t m, int32_t n)
{
    return m < (n + 1) / 2 ? m : m - n;
}

/// Index of a mode and its wave vector; the same walk for tables and sums.
#define FOR_MODES(mesh, at, i)                                                                               \
    for (size_t at = 0, i[3] = {0}; i[0] < (size_t)(mesh)->n[0];                                             \
         at++, i[2]++, i[2] == (size_t)(mesh)->nz ? (i[2] = 0, i[1]++) : 0,                                  \
                i[1] == (size_t)(mesh)->n[1] ? (i[1] = 0, i[0]++) : 0)

static void mode_vector(const ref_mesh *m, const double inv[3][3], const size_t i[3], double k[3])
{
    const double integer[3] = {frequency((int32_t)i[0], m->n[0]), frequency((int32_t)i[1], m->n[1]), (double)i[2]};

    wave_vector(inv, integer, k);
}

/// Tables of the Green function, once per box.
static void refresh(mds_device *d)
{
    ref_mesh *m = d->mesh;
    double    inv[3][3], k[3], k_dghat;

    if (m->ready && !memcmp(&m->box, &d->box, sizeof m->box)) return;
    mds_box_inverse(&d->box, inv);
    FOR_MODES(m, at, i) {
        mode_vector(m, inv, i, k);
        const double k2 = mds_dot(k, k);
        const double b2 = m->moduli[0][i[0]] * m->moduli[1][i[1]] * m->moduli[2][i[2]];
        const double ghat = mds_ref_split_spectrum(d, sqrt(k2), &k_dghat);

        m->green[at] = k2 > 0 ? 4 * MDS_PI / k2 * b2 * ghat : 0;
        m->slope[at] = k2 > 0 ? 4 * MDS_PI / k2 * b2 * k_dghat : 0;
    }
    m->box = d->box;
    m->ready = true;
}

/// Where an atom falls: the first grid index of its spline along each direction, weights and their derivatives.
typedef struct {
    int32_t start[3];
    double  w[3][MAX_ORDER], dw[3][MAX_ORDER];
} ref_stencil;

static ref_stencil stencil(const mds_device *d, const double inv[3][3], const double x[3])
{
    const ref_mesh *m = d->mesh;
    ref_stencil     s;

    for (int k = 0; k < 3; k++) {
        const double fraction = x[0] * inv[0][k] + x[1] * inv[1][k] + x[2] * inv[2][k];
        const double u = (fraction - floor(fraction)) * m->n[k];
        const double base = floor(u);

        // grid point base - order + 1 + j has weight M_n(u - point)
        s.start[k] = ((int32_t)base - m->order + 1 + m->n[k]) % m->n[k];
        for (int j = 0; j < m->order; j++) {
            s.w[k][j] = b_spline(m->order, u - base + m->order - 1 - j);
            s.dw[k][j] = b_spline_slope(m->order, u - base + m->order - 1 - j);
        }
    }
    return s;
}

static size_t grid_row(const ref_mesh *m, const ref_stencil *s, int a, int b)
{
    const size_t i = (size_t)((s->start[0] + a) % m->n[0]), j = (size_t)((s->start[1] + b) % m->n[1]);

    return (i * (size_t)m->n[1] + j) * (size_t)m->n[2];
}

static void spread(mds_device *d, const double inv[3][3])
{
    ref_mesh *m = d->mesh;

    memset(m->grid, 0, (size_t)m->n[0] * (size_t)m->n[1] * (size_t)m->n[2] * sizeof *m->grid);
    for (int32_t i = 0; i < d->n; i++) {
        const double q = d->system->charge[i];

        if (q == 0) continue;
        const ref_stencil s = stencil(d, inv, d->x[i]);
        for (int a = 0; a < m->order; a++)
            for (int b = 0; b < m->order; b++) {
                double *row = m->grid + grid_row(m, &s, a, b);

                for (int c = 0; c < m->order; c++)
                    row[(s.start[2] + c) % m->n[2]] += q * s.w[0][a] * s.w[1][b] * s.w[2][c];
            }
    }
}

/// Energy and virial, and the modes turned from charge into potential.
static void solve(mds_device *d, const double inv[3][3])
{
    ref_mesh    *m = d->mesh;
    const double factor = MDS_COULOMB / mds_box_volume(&d->box);
    double       k[3];

    FOR_MODES(m, at, i) {
        double complex *s = &m->mode[at];
        // the half that r2c leaves out is the complex conjugate of this one
        const double twice = i[2] == 0 || 2 * i[2] == (size_t)m->n[2] ? 0.5 : 1;
        const double s2 = twice * factor * (creal(*s) * creal(*s) + cimag(*s) * cimag(*s));

        mode_vector(m, inv, i, k);
        const double k2 = mds_dot(k, k), energy = s2 * m->green[at], slope = s2 * m->slope[at];
        d->energy[MDS_EN_RECIP] += energy;
        if (k2 > 0)
            for (int a = 0; a < 3; a++) {
                d->virial[a][a] -= 0.5 * energy;
                for (int b = 0; b < 3; b++) d->virial[a][b] -= 0.5 * k[a] * k[b] / k2 * (slope - 2 * energy);
            }
        *s *= factor * m->green[at];
    }
}

static void gather(mds_device *d, const double inv[3][3])
{
    const ref_mesh *m = d->mesh;

    for (int32_t i = 0; i < d->n; i++) {
        const double q = d->system->charge[i];
        double       du[3] = {0, 0, 0}; // dE/du, u in grid units

        if (q == 0) continue;
        const ref_stencil s = stencil(d, inv, d->x[i]);
        for (int a = 0; a < m->order; a++)
            for (int b = 0; b < m->order; b++) {
                const double *row = m->grid + grid_row(m, &s, a, b);
                double        sum = 0, dsum = 0;

                for (int c = 0; c < m->order; c++) {
                    const double potential = row[(s.start[2] + c) % m->n[2]];

                    sum += s.w[2][c] * potential;
                    dsum += s.dw[2][c] * potential;
                }
                du[0] += q * s.dw[0][a] * s.w[1][b] * sum;
                du[1] += q * s.w[0][a] * s.dw[1][b] * sum;
                du[2] += q * s.w[0][a] * s.w[1][b] * dsum;
            }
        for (int a = 0; a < 3; a++)
            for (int k = 0; k < 3; k++) d->f_slow[i][a] -= m->n[k] * inv[a][k] * du[k];
    }
}

/// Energy of the uniform background that makes the box neutral, kJ/mol. It scales like 1/V.
static double background(const mds_device *d)
{
    double charge = 0;

    for (int32_t i = 0; i < d->n; i++) charge += d->system->charge[i];
    return -0.5 * MDS_COULOMB * charge * charge / mds_box_volume(&d->box) * mds_ref_split_background(d);
}

mds_status mds_ref_mesh(mds_device *d, mds_phase phase, mds_work work)
{
    double     inv[3][3];
    const bool all = phase == MDS_MESH_ALL;

    (void)work; // energies and virial always
    if (d->tripped || d->params.coulomb != MDS_COULOMB_PME) return MDS_OK;
    MDS_CHECK(!mds_box_is_none(&d->box), MDS_E_INPUT, "PME needs a box");
    mds_box_inverse(&d->box, inv);
    if (all || phase == MDS_SPREAD) spread(d, inv);
    if (all || phase == MDS_FFT) fftw_execute(d->mesh->forward);
    if (all || phase == MDS_SOLVE) {
        refresh(d);
        solve(d, inv);
        const double energy = background(d);
        d->energy[MDS_EN_RECIP] += energy;
        for (int a = 0; a < 3; a++) d->virial[a][a] -= 0.5 * energy;
    }
    if (all || phase == MDS_IFFT) fftw_execute(d->mesh->backward);
    if (all || phase == MDS_GATHER) gather(d, inv);
    return MDS_OK;
}

void mds_ref_ewald_sum(const mds_device *d, double k_max, double *energy, double (*force)[3], double virial[3][3])
{
    const double factor = MDS_COULOMB / mds_box_volume(&d->box);
    double       inv[3][3], k[3], k_dghat;
    int          top[3];

    mds_box_inverse(&d->box, inv);
    for (int a = 0; a < 3; a++) top[a] = (int)(k_max / (2 * MDS_PI) * mds_norm(d->box.a[a])) + 1;
    memset(virial, 0, 9 * sizeof(double));
    memset(force, 0, (size_t)d->n * sizeof *force);
    *energy = background(d);
    for (int a = 0; a < 3; a++) virial[a][a] = -0.5 * *energy;
    for (int m0 = -top[0]; m0 <= top[0]; m0++)
        for (int m1 = -top[1]; m1 <= top[1]; m1++)
            for (int m2 = 0; m2 <= top[2]; m2++) { // half of the vectors: the other half is their opposite
                if (m2 == 0 && (m1 < 0 || (m1 == 0 && m0 <= 0))) continue;
                wave_vector(inv, (double[3]){m0, m1, m2}, k);
                const double k2 = mds_dot(k, k);
                if (k2 > k_max * k_max) continue;
                const double ghat = mds_ref_split_spectrum(d, sqrt(k2), &k_dghat), green = factor * 4 * MDS_PI / k2;
                double       re = 0, im = 0;
                for (int32_t i = 0; i < d->n; i++) {
                    re += d->system->charge[i] * cos(mds_dot(k, d->x[i]));
                    im += d->system->charge[i] * sin(mds_dot(k, d->x[i]));
                }
                const double s2 = green * (re * re + im * im);
                *energy += s2 * ghat;
                for (int a = 0; a < 3; a++) {
                    virial[a][a] -= 0.5 * s2 * ghat;
                    for (int b = 0; b < 3; b++) virial[a][b] -= 0.5 * s2 * k[a] * k[b] / k2 * (k_dghat - 2 * ghat);
                }
                for (int32_t i = 0; i < d->n; i++) {
                    const double phase = mds_dot(k, d->x[i]);
                    const double f = 2 * green * ghat * d->system->charge[i] * (re * sin(phase) - im * cos(phase));

                    for (int a = 0; a < 3; a++) force[i][a] += f * k[a];
                }
            }
}
