// SPDX-License-Identifier: Apache-2.0
// Waves of the mesh: influence factors, energy, virial. Formulas: docs/theory/mesh.md.
//
//   wave m: K = 2 pi h^-1 m with m_k > n_k/2 counted as m_k - n_k; factor = f/V 4 pi/K^2 ghat(K) |b_0 b_1 b_2|^2;
//   energy 1/2 sum factor |S|^2; virial -1/2 sum E_K [1 + (K ghat'/ghat - 2) K K/K^2]; the net charge's background
//   -f B Q^2/V counts here too.
//
// At m = n/2 the sign is a matter of choice, and in a skewed box it changes |K|. We follow GROMACS: m = n/2 goes to -n/2 in
// the first two directions, to n/2 in the third, as seen from the half of the waves with m_2 >= 0; where a wave and its
// opposite are then given different factors (m_2 = 0 or n/2), both count half. The transform keeps the half with m_1 >= 0, so
// waves of the other half are looked up as their opposites (images).
//
// Indices count along the mesh's own axes, y first (mesh.c); the rule above has the first two directions alike.
// Factors are kept for a box and made anew when the box has changed.
#include "cpu/mesh.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

static int32_t frequency(int32_t m, int32_t n)
{
    return m < (n + 1) / 2 ? m : m - n;
}

static void vector_of(const double inv[3][3], double i, double j, double k, double wave[3])
{
    for (int a = 0; a < 3; a++) wave[a] = 2 * MDS_PI * (inv[a][0] * i + inv[a][1] * j + inv[a][2] * k);
}

/// The vectors that the wave (i, j, k) stands for, up to their signs: one or two. Returns how many.
static int images(const cpu_mesh *m, const double inv[3][3], int32_t i, int32_t j, int32_t k, double wave[2][3])
{
    const int32_t back_i = (m->n[0] - i) % m->n[0], back_j = (m->n[1] - j) % m->n[1];

    if (2 * k > m->n[2]) {
        vector_of(inv, frequency(back_i, m->n[0]), frequency(back_j, m->n[1]), m->n[2] - k, wave[0]);
        return 1;
    }
    vector_of(inv, frequency(i, m->n[0]), frequency(j, m->n[1]), k, wave[0]);
    if (k > 0 && 2 * k < m->n[2]) return 1;
    vector_of(inv, frequency(back_i, m->n[0]), frequency(back_j, m->n[1]), k, wave[1]);
    return 2;
}

/// Factor of a vector, and the same with K dghat/dK in place of ghat.
static void influence(const mds_device *d, const double wave[3], double b2, double *factor, double *slope)
{
    const double k2 = mds_dot(wave, wave);
    double       ghat, rise;

    *factor = *slope = 0;
    if (!(k2 > 0)) return;
    mds_split_spectrum(&d->split, sqrt(k2), &ghat, &rise);
    const double g = MDS_COULOMB * 4 * MDS_PI / mds_box_volume(&d->box) * b2 / k2;
    *factor = g * ghat;
    *slope = g * rise;
}

static double moduli_of(const cpu_mesh *m, int32_t i, int32_t j, int32_t k)
{
    return m->moduli[0][i] * m->moduli[1][j] * m->moduli[2][k];
}

/// Influence factors of the present box.
void mds_cpu_mesh_refresh(mds_device *d)
{
    cpu_mesh       *m = d->mesh;
    const fft_plan *plan = mds_cpu_fft_plan(m->fft);
    const int32_t   lines = m->n[0] * m->n[2];
    double          inv[3][3];
    int32_t         line;

    if (!memcmp(&m->box, &d->box, sizeof m->box)) return;
    mds_cpu_mesh_inverse(d, inv);
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (line = 0; line < lines; line++) {
        const int32_t i = line / m->n[2], k = line % m->n[2];
        const size_t  at = (size_t)line * (size_t)plan->blocks * FFT_LANES;

        for (int32_t j = 0; j < plan->half; j++) {
            double    wave[2][3], factor[2] = {0}, slope[2] = {0};
            const int n = images(m, (const double(*)[3])inv, i, j, k, wave);

            for (int c = 0; c < n; c++) influence(d, wave[c], moduli_of(m, i, j, k), &factor[c], &slope[c]);
            m->factor[at + (size_t)j] = (float)(n == 1 ? factor[0] : 0.5 * (factor[0] + factor[1]));
            m->slope[at + (size_t)j] = (float)(n == 1 ? slope[0] : 0.5 * (slope[0] + slope[1]));
        }
    }
    m->box = d->box;
}

/// Sums over one line of waves: energy; and of E_K (K g'/g - 2)/K^2 times 1, j and j^2, for K = base + j end.
typedef struct {
    double energy, part[3], tensor[3][3];
} line_sums;

/// A wave on the edge of the zone, by its images.
static void sum_edge(const mds_device *d, const double inv[3][3], const int32_t ijk[3], double s2, line_sums *sums)
{
    const cpu_mesh *m = d->mesh;
    double          wave[2][3];
    const int       n = images(m, inv, ijk[0], ijk[1], ijk[2], wave);

    for (int c = 0; c < n; c++) {
        const double k2 = mds_dot(wave[c], wave[c]);
        double       factor, slope;

        influence(d, wave[c], moduli_of(m, ijk[0], ijk[1], ijk[2]), &factor, &slope);
        sums->energy += s2 * factor / n;
        if (!(k2 > 0)) continue;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) sums->tensor[a][b] += s2 * (slope - 2 * factor) / (n * k2) * wave[c][a] * wave[c][b];
    }
}

/// Energy and virial of one line of waves. Waves j and -j are one entry but at the two ends of the line.
static void sum_line(const mds_device *d, const double inv[3][3], int32_t i, int32_t k, const float *waves, cpu_sums *sums)
{
    const cpu_mesh *m = d->mesh;
    const fft_plan *plan = mds_cpu_fft_plan(m->fft);
    const size_t    at = ((size_t)i * (size_t)m->n[2] + (size_t)k) * (size_t)plan->blocks * FFT_LANES;
    const bool      edge = 2 * i == m->n[0] || 2 * k == m->n[2];
    double          base[3], end[3];
    line_sums       here = {0};

    vector_of(inv, frequency(i, m->n[0]), 0, frequency(k, m->n[2]), base);
    vector_of(inv, 0, 1, 0, end);
    for (int32_t j = 0; j < plan->half; j++) {
        const float *wave = waves + j / FFT_LANES * FFT_WAVE + j % FFT_LANES;
        const double re = (double)wave[0], im = (double)wave[FFT_LANES];
        const double s2 = (j == 0 || 2 * j == m->n[1] ? 0.5 : 1) * (re * re + im * im);

        if (edge || 2 * j == m->n[1]) {
            sum_edge(d, inv, (const int32_t[3]){i, j, k}, s2, &here);
            continue;
        }
        const double factor = (double)m->factor[at + (size_t)j], slope = (double)m->slope[at + (size_t)j];
        const double K[3] = {base[0] + j * end[0], base[1] + j * end[1], base[2] + j * end[2]}, k2 = mds_dot(K, K);
        const double part = k2 > 0 ? s2 * (slope - 2 * factor) / k2 : 0;

        here.energy += s2 * factor;
        here.part[0] += part;
        here.part[1] += part * j;
        here.part[2] += part * j * j;
    }
    sums->energy[MDS_EN_RECIP] += here.energy;
    for (int a = 0; a < 3; a++) {
        sums->virial[a][a] -= 0.5 * here.energy;
        for (int b = 0; b < 3; b++)
            sums->virial[a][b] -= 0.5 * (here.tensor[a][b] + base[a] * base[b] * here.part[0] +
                                         (base[a] * end[b] + base[b] * end[a]) * here.part[1] + end[a] * end[b] * here.part[2]);
    }
}

static void add_background(mds_device *d)
{
    const double charge = d->mesh->total_charge;
    const double background = -MDS_COULOMB * d->split.background * charge * charge / mds_box_volume(&d->box);

    d->sums[0].energy[MDS_EN_RECIP] += background;
    for (int a = 0; a < 3; a++) d->sums[0].virial[a][a] -= 0.5 * background;
}

void mds_cpu_mesh_solve(mds_device *d, mds_work work)
{
    cpu_mesh     *m = d->mesh;
    const int32_t lines = m->n[0] * m->n[2], blocks = mds_cpu_fft_plan(m->fft)->blocks;
    const int     threads = d->n_threads;
    const bool    due = work & (MDS_ENERGY | MDS_VIRIAL);
    double        inv[3][3];
    int           t;

    mds_cpu_mesh_refresh(d);
    mds_cpu_mesh_inverse(d, inv);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < threads; t++) {
        const int32_t end = (int32_t)((int64_t)lines * (t + 1) / threads);

        for (int32_t line = (int32_t)((int64_t)lines * t / threads); line < end; line++) {
            float *restrict waves = mds_cpu_fft_waves(m->fft, line / m->n[2], line % m->n[2]);
            const float *restrict factor = m->factor + (size_t)line * (size_t)blocks * FFT_LANES;

            if (due) sum_line(d, (const double(*)[3])inv, line / m->n[2], line % m->n[2], waves, &d->sums[t]);
            for (int32_t b = 0; b < blocks; b++)
                for (int l = 0; l < FFT_LANES; l++) {
                    waves[b * FFT_WAVE + l] *= factor[b * FFT_LANES + l];
                    waves[b * FFT_WAVE + FFT_LANES + l] *= factor[b * FFT_LANES + l];
                }
        }
    }
    if (due) add_background(d);
}
