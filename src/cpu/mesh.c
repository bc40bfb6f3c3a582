// SPDX-License-Identifier: Apache-2.0
// Smooth particle-mesh Ewald on threads [essmann1995]. Formulas: docs/theory/mesh.md; kernels: isa_mesh.c.
//
//   place   cell and offsets of every slot, in double. Slots are in cluster order already: neighbours in memory are
//           neighbours in space, and nothing is sorted here
//   spread  thread t takes an equal, contiguous share of the slots: its planes are a short range, kept in its own
//           slab, padded by order - 1 points at the low side of every direction so that no kernel ever wraps
//   reduce  the slabs are added in thread order into the mesh of the FFT, padding folded back
//   solve   forward FFT, every wave times its influence factor, energy and virial sums in double, backward FFT
//   expand  the potential goes into one padded mesh that all threads read
//   gather  forces from derivatives of the weights, added to the thread's force lines
//
// The planes of a share are found anew in every step, from the cells themselves; a share that goes round the box gets a
// slab of the whole mesh. How many planes a slab has changes no sum. Shares and sums depend on positions and number of
// threads only, so the bits do. Influence factors are kept for a box and made anew when the box has changed.
//
//   mesh wave m: K = 2 pi h^-1 m with m_k > n_k/2 counted as m_k - n_k (as GROMACS does, m = n/2 goes to -n/2
//   in the first two directions); factor = f/V 4 pi/K^2 ghat(K) |b_0 b_1 b_2|^2; energy 1/2 sum factor |S|^2;
//   virial -1/2 sum E_K [1 + (K ghat'/ghat - 2) K K/K^2]; the net charge's background -f B Q^2/V counts here
//   too.
#include "cpu/cpu.h"

#include "base/units.h"
#include "cpu/isa_mesh.h"

#include <math.h>
#include <string.h>

/// A thread's share of one step: blocks [first, first + n).
typedef struct {
    int32_t first, n;
    int32_t low;    // plane of its lowest charge; its slab begins order - 1 planes below
    int32_t planes; // of the slab
    int32_t range[2];
    float  *slab; // [planes][rows][row]
    size_t  room; // floats
    char    spare[16];
} share;

struct cpu_mesh {
    const isa_mesh *isa;
    mds_fft        *fft;
    int32_t         n[3], order;
    int32_t         row, rows;                // floats of a padded row, rows of a padded plane
    float           theta[MESH_MAX_ORDER][8]; // see mesh_job
    float          *potential;                // [n0 + order - 1][rows][row]
    share          *share;                    // [threads]
    int             n_shares;
    mesh_block     *block; // [slots / MESH_BLOCK]
    size_t          capacity;

    // influence: [n0][n1][complex row of the FFT]
    double *moduli[3];
    float  *factor, *slope; // f/V 4 pi/K^2 |b|^2 times ghat, and times K dghat/dK; kJ/mol/e^2
    mds_box box;            // that they belong to
    double  total_charge;   // e
};

void mds_cpu_mesh_close(mds_device *d)
{
    cpu_mesh *m = d->mesh;
    int       k, t;

    if (!m) return;
    mds_fft_close(m->fft);
    for (t = 0; t < m->n_shares; t++) mds_free(m->share[t].slab);
    mds_free(m->share);
    mds_free(m->potential);
    mds_free(m->block);
    for (k = 0; k < 3; k++) mds_free(m->moduli[k]);
    mds_free(m->factor);
    mds_free(m->slope);
    mds_free(m);
    d->mesh = NULL;
}

const isa_mesh *mds_cpu_mesh_kernels(const char *level)
{
#ifdef MDS_HAVE_AVX512
    if (!strcmp(level, "avx512")) return &mds_isa_mesh_avx512;
#endif
#ifdef MDS_HAVE_AVX2
    if (!strcmp(level, "avx2")) return &mds_isa_mesh_avx2;
#endif
    (void)level;
    return &mds_isa_mesh_generic;
}

mds_status mds_cpu_mesh_open(mds_device *d)
{
    MDS_TRY(mds_alloc(&d->mesh, 1, sizeof *d->mesh));
    d->mesh->isa = mds_cpu_mesh_kernels(d->isa);
    d->mesh->total_charge = d->system->total_charge;
    MDS_TRY(mds_alloc(&d->mesh->share, (size_t)d->n_threads, sizeof *d->mesh->share));
    d->mesh->n_shares = d->n_threads;
    return MDS_OK;
}

/// Weights as polynomials in y = w - 1/2, by the recursion of spline.c on polynomials: w = y + 1/2.
static void weight_table(int order, float theta[MESH_MAX_ORDER][8])
{
    double p[MESH_MAX_ORDER][MESH_MAX_ORDER + 1] = {{0}}; // [point][power]
    int    n, k, j;

    p[0][0] = p[1][0] = 0.5; // order 2: 1 - w and w
    p[0][1] = -1;
    p[1][1] = 1;
    for (n = 3; n <= order; n++)
        for (k = n - 1; k >= 0; k--) {
            double next[MESH_MAX_ORDER + 1] = {0};

            for (j = 0; j < n; j++) { // ((w + n - 1 - k) p[k-1] + (k + 1 - w) p[k]) / (n - 1)
                const double left = k ? p[k - 1][j] : 0, right = k < n - 1 ? p[k][j] : 0;

                next[j] += ((n - 0.5 - k) * left + (k + 0.5) * right) / (n - 1);
                next[j + 1] += (left - right) / (n - 1);
            }
            memcpy(p[k], next, sizeof next);
        }
    memset(theta, 0, MESH_MAX_ORDER * 8 * sizeof(float));
    for (j = 0; j < order; j++)
        for (k = 0; k < order; k++) theta[j][k] = (float)p[k][j];
}

mds_status mds_cpu_mesh_set(mds_device *d)
{
    const mds_params *p = &d->params;
    cpu_mesh         *m = d->mesh;
    size_t            modes;
    int               k;

    MDS_CHECK(p->order >= MESH_MIN_ORDER && p->order <= MESH_MAX_ORDER, MDS_E_INPUT,
              "mesh order %d is not in %d to %d", (int)p->order, MESH_MIN_ORDER, MESH_MAX_ORDER);
    for (k = 0; k < 3; k++)
        MDS_CHECK(p->grid[k] >= p->order, MDS_E_INPUT, "a mesh of %d points is too small for order %d",
                  (int)p->grid[k], (int)p->order);
    memset(&m->box, 0, sizeof m->box); // the split may have changed: influence factors anew
    if (m->fft && m->order == p->order && !memcmp(m->n, p->grid, sizeof m->n)) return MDS_OK;
    mds_fft_close(m->fft);
    m->fft = NULL;
    MDS_TRY(mds_fft_open(p->grid, d->n_threads, &m->fft));
    memcpy(m->n, p->grid, sizeof m->n);
    m->order = p->order;
    m->rows = m->n[1] + m->order - 1;
    m->row = (m->n[2] - 1 + 8 + 7) / 8 * 8; // the last start is n2 - 1, and kernels touch up to 8 floats
    if (m->row < m->n[2] + m->order - 1) m->row += 8;
    MDS_CHECK((double)m->rows * m->row * (m->n[0] + m->order) < INT32_MAX,
              MDS_E_UNSUPPORTED, "a mesh of %d x %d x %d is too large", (int)m->n[0], (int)m->n[1],
              (int)m->n[2]);
    weight_table(m->order, m->theta);

    modes = (size_t)m->n[0] * (size_t)m->n[1] * (size_t)(mds_fft_row(m->fft) / 2);
    mds_free(m->potential);
    mds_free(m->factor);
    mds_free(m->slope);
    m->potential = NULL, m->factor = NULL, m->slope = NULL;
    MDS_TRY(mds_alloc(&m->potential, (size_t)(m->n[0] + m->order - 1) * (size_t)m->rows * (size_t)m->row,
                      sizeof *m->potential));
    MDS_TRY(mds_alloc(&m->factor, modes, sizeof *m->factor));
    MDS_TRY(mds_alloc(&m->slope, modes, sizeof *m->slope));
    for (k = 0; k < 3; k++) {
        mds_free(m->moduli[k]);
        m->moduli[k] = NULL;
        MDS_TRY(mds_alloc(&m->moduli[k], (size_t)m->n[k], sizeof *m->moduli[k]));
        mds_spline_moduli(m->n[k], m->order, m->moduli[k]);
    }
    return MDS_OK;
}

mds_status mds_cpu_mesh_remap(mds_device *d)
{
    cpu_mesh *m = d->mesh;

    if (d->params.coulomb != MDS_COULOMB_PME) return MDS_OK;
    return mds_grow(&m->block, &m->capacity, ((size_t)d->n_slots + MESH_BLOCK - 1) / MESH_BLOCK, sizeof *m->block);
}

// ------------------------------------------------------------------------------------------------ spread

static int32_t part(int32_t n, int t, int threads)
{
    return (int32_t)((int64_t)n * t / threads);
}

/// Blocks of share t, and the planes they touch.
static void place(mds_device *d, mesh_frame frame, int t)
{
    cpu_mesh     *m = d->mesh;
    share        *s = &m->share[t];
    const int32_t blocks = (d->n_slots + MESH_BLOCK - 1) / MESH_BLOCK, begin = part(blocks, t, d->n_threads);
    const int32_t first = begin * MESH_BLOCK, end = part(blocks, t + 1, d->n_threads);
    const int32_t slots = (end * MESH_BLOCK < d->n_slots ? end * MESH_BLOCK : d->n_slots) - first;
    int32_t       at[2] = {0, 0};

    s->first = begin;
    s->n = end - begin;
    s->planes = 0;
    if (!s->n) return;
    // the planes are counted from that of the share's middle
    m->isa->place(&frame, 1, (const double(*)[3])d->x + first + slots / 2, d->charge + first + slots / 2, m->block + begin, at);
    frame.centre = m->block[begin].start[0] / frame.plane;
    at[0] = at[1] = 0;
    m->isa->place(&frame, slots, (const double(*)[3])d->x + first, d->charge + first, m->block + begin, at);
    s->low = (frame.centre + at[0] + m->n[0]) % m->n[0];
    s->planes = at[1] - at[0] + m->order;
    if (s->planes >= m->n[0]) {
        s->low = 0;
        s->planes = m->n[0] + m->order - 1;
    }
}

/// Room for the slabs.
static mds_status divide(cpu_mesh *m)
{
    for (int t = 0; t < m->n_shares; t++) {
        share       *s = &m->share[t];
        const size_t need = (size_t)s->planes * (size_t)m->rows * (size_t)m->row;

        if (need <= s->room) continue;
        mds_free(s->slab);
        s->slab = NULL;
        s->room = 0;
        MDS_TRY(mds_grow(&s->slab, &s->room, need + need / 16, sizeof *s->slab));
    }
    return MDS_OK;
}

static mesh_job job_of(const mds_device *d, int t)
{
    const cpu_mesh *m = d->mesh;
    const share    *s = &m->share[t];
    const int32_t   plane = m->rows * m->row;

    return (mesh_job){.n = s->n,
                      .block = m->block + s->first,
                      .slab = s->slab,
                      .row = m->row,
                      .plane = plane,
                      .split = s->low * plane,
                      .before = (m->n[0] - s->low) * plane,
                      .after = -s->low * plane,
                      .theta = m->theta[0]};
}

/// One row of the FFT's mesh from the rows of the slabs that hold parts of it, in thread order.
static void reduce_row(const mds_device *d, int32_t p, int32_t y, float *restrict out)
{
    const cpu_mesh *m = d->mesh;
    const int32_t   pad = m->order - 1, n1 = m->n[1], n2 = m->n[2];
    int             t;

    memset(out, 0, (size_t)n2 * sizeof *out);
    for (t = 0; t < d->n_threads; t++) {
        const share *s = &m->share[t];
        int32_t      q, r, z;

        for (q = ((p - s->low + pad) % m->n[0] + m->n[0]) % m->n[0]; q < s->planes; q += m->n[0])
            for (r = (y + pad) % n1; r < m->rows; r += n1) {
                const float *restrict in =
                    s->slab + ((size_t)q * (size_t)m->rows + (size_t)r) * (size_t)m->row;

                for (z = 0; z < n2; z++) out[z] += in[pad + z];
                for (z = 0; z < pad; z++) out[n2 - pad + z] += in[z];
            }
    }
}

static mds_status spread(mds_device *d)
{
    cpu_mesh     *m = d->mesh;
    const int     threads = d->n_threads;
    const int32_t lines = m->n[0] * m->n[1], stride = mds_fft_row(m->fft);
    float        *grid = mds_fft_grid(m->fft);
    mesh_frame    frame = {.n = {m->n[0], m->n[1], m->n[2]}, .row = m->row, .plane = m->rows * m->row};
    int32_t       line;
    int           t;

    mds_box_inverse(&d->box, frame.inv);
    // loops over t, not over the team: every share is done however many threads OpenMP gives
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < threads; t++) place(d, frame, t);
    MDS_TRY(divide(m));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < threads; t++) {
        const mesh_job job = job_of(d, t);

        if (!job.n) continue;
        memset(job.slab, 0, (size_t)m->share[t].planes * (size_t)job.plane * sizeof *job.slab);
        m->isa->spread[m->order](&job);
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (line = 0; line < lines; line++)
        reduce_row(d, line / m->n[1], line % m->n[1], grid + (size_t)line * (size_t)stride);
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- solve

static int32_t frequency(int32_t m, int32_t n)
{
    return m < (n + 1) / 2 ? m : m - n;
}

/// Wave vector of line (i, j) at k = 0, and its change with k.
static void wave_line(const cpu_mesh *m, const double inv[3][3], int32_t line, double base[3])
{
    const double i = frequency(line / m->n[1], m->n[0]), j = frequency(line % m->n[1], m->n[1]);
    int          a;

    for (a = 0; a < 3; a++) base[a] = 2 * MDS_PI * (inv[a][0] * i + inv[a][1] * j);
}

/// Influence factors of the present box.
static void refresh(mds_device *d)
{
    cpu_mesh     *m = d->mesh;
    const int32_t lines = m->n[0] * m->n[1], half = m->n[2] / 2 + 1, stride = mds_fft_row(m->fft) / 2;
    const double  scale = MDS_COULOMB * 4 * MDS_PI / mds_box_volume(&d->box);
    double        inv[3][3];
    int32_t       line;

    if (!memcmp(&m->box, &d->box, sizeof m->box)) return;
    mds_box_inverse(&d->box, inv);
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (line = 0; line < lines; line++) {
        const double b2 = m->moduli[0][line / m->n[1]] * m->moduli[1][line % m->n[1]];
        double       base[3];
        int32_t      k;

        wave_line(m, (const double(*)[3])inv, line, base);
        for (k = 0; k < half; k++) {
            const double wave[3] = {base[0], base[1], base[2] + 2 * MDS_PI * inv[2][2] * k};
            const double k2 = mds_dot(wave, wave), g = k2 > 0 ? scale * b2 * m->moduli[2][k] / k2 : 0;
            double       ghat, slope;

            mds_split_spectrum(&d->split, sqrt(k2), &ghat, &slope);
            m->factor[(size_t)line * (size_t)stride + (size_t)k] = (float)(g * ghat);
            m->slope[(size_t)line * (size_t)stride + (size_t)k] = (float)(g * slope);
        }
    }
    m->box = d->box;
}

/// Energy and virial of one line of waves. Waves k and -k are one entry but at the two ends of the line.
static void sum_line(const mds_device *d, const double inv[3][3], int32_t line, const float *wave,
                     cpu_sums *sums)
{
    const cpu_mesh *m = d->mesh;
    const int32_t   half = m->n[2] / 2 + 1, stride = mds_fft_row(m->fft) / 2;
    const float    *factor = m->factor + (size_t)line * (size_t)stride,
                *slope = m->slope + (size_t)line * (size_t)stride;
    double base[3], energy = 0,
                    tensor[3] = {0}; // sums of e_K c, e_K c K_z, e_K c K_z^2 with c = (K g'/g - 2)/K^2
    int32_t k;
    int     a, b;

    wave_line(m, inv, line, base);
    for (k = 0; k < half; k++) {
        const double weight = k == 0 || 2 * k == m->n[2] ? 0.5 : 1, z = 2 * MDS_PI * inv[2][2] * k;
        const double k2 = base[0] * base[0] + base[1] * base[1] + (base[2] + z) * (base[2] + z);
        const double re = (double)wave[2 * k], im = (double)wave[2 * k + 1],
                     s2 = weight * (re * re + im * im);
        const double part_of = k2 > 0 ? s2 * ((double)slope[k] - 2 * (double)factor[k]) / k2 : 0;

        energy += s2 * (double)factor[k];
        tensor[0] += part_of;
        tensor[1] += part_of * z;
        tensor[2] += part_of * z * z;
    }
    sums->energy[MDS_EN_RECIP] += energy;
    for (a = 0; a < 3; a++) {
        const double end_a = a == 2; // K_a = base_a + z end_a

        sums->virial[a][a] -= 0.5 * energy;
        for (b = 0; b < 3; b++) {
            const double end_b = b == 2;

            sums->virial[a][b] -=
                0.5 * (base[a] * base[b] * tensor[0] + (base[a] * end_b + base[b] * end_a) * tensor[1] +
                       end_a * end_b * tensor[2]);
        }
    }
}

static void solve(mds_device *d, mds_work work)
{
    cpu_mesh     *m = d->mesh;
    const int32_t lines = m->n[0] * m->n[1], half = m->n[2] / 2 + 1, stride = mds_fft_row(m->fft);
    const int     threads = d->n_threads;
    float        *grid = mds_fft_grid(m->fft);
    double        inv[3][3];
    int           t;

    refresh(d);
    mds_box_inverse(&d->box, inv);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < threads; t++) {
        int32_t line, k;

        for (line = part(lines, t, threads); line < part(lines, t + 1, threads); line++) {
            float *restrict wave = grid + (size_t)line * (size_t)stride;
            const float *factor = m->factor + (size_t)line * (size_t)(stride / 2);

            if (work & (MDS_ENERGY | MDS_VIRIAL))
                sum_line(d, (const double(*)[3])inv, line, wave, &d->sums[t]);
            for (k = 0; k < half; k++) {
                wave[2 * k] *= factor[k];
                wave[2 * k + 1] *= factor[k];
            }
        }
    }
    if (work & (MDS_ENERGY | MDS_VIRIAL)) {
        const double background =
            -MDS_COULOMB * d->split.background * m->total_charge * m->total_charge / mds_box_volume(&d->box);
        int a;

        d->sums[0].energy[MDS_EN_RECIP] += background;
        for (a = 0; a < 3; a++) d->sums[0].virial[a][a] -= 0.5 * background;
    }
}

// ------------------------------------------------------------------------------------------------ gather

/// One plane of the potential into the padded mesh.
static void expand(const cpu_mesh *m, int32_t q)
{
    const int32_t pad = m->order - 1, n1 = m->n[1], n2 = m->n[2], p = (q - pad + m->n[0]) % m->n[0];
    const size_t  stride = (size_t)mds_fft_row(m->fft);
    const float  *plane = mds_fft_grid(m->fft) + (size_t)p * (size_t)n1 * stride;
    int32_t       r;

    for (r = 0; r < m->rows; r++) {
        const float *in = plane + (size_t)((r - pad + n1) % n1) * stride;
        float       *out = m->potential + ((size_t)q * (size_t)m->rows + (size_t)r) * (size_t)m->row;

        memcpy(out, in + n2 - pad, (size_t)pad * sizeof *out);
        memcpy(out + pad, in, (size_t)n2 * sizeof *out);
    }
}

static void gather(mds_device *d)
{
    cpu_mesh     *m = d->mesh;
    const int     threads = d->n_threads;
    const int32_t planes = m->n[0] + m->order - 1;
    double        inv[3][3];
    int32_t       q;
    int           t;

    mds_box_inverse(&d->box, inv);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (q = 0; q < planes; q++) expand(m, q);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < threads; t++) {
        mesh_job job = job_of(d, t);

        job.slab = m->potential;
        job.line = d->f_thread[t] + (size_t)m->share[t].first * (MESH_BLOCK / CPU_CLUSTER * CPU_LINE);
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++) job.scale[k][l] = (float)(inv[k][l] * m->n[l]);
        m->isa->gather[m->order](&job);
    }
}

// ------------------------------------------------------------------------------------------------- stage

mds_status mds_cpu_mesh_stage(mds_device *d, mds_phase phase, mds_work work)
{
    const bool all = phase == MDS_MESH_ALL;
    double     clock, now;

    if (d->tripped || d->params.coulomb != MDS_COULOMB_PME) return MDS_OK;
    MDS_CHECK(!mds_box_is_none(&d->box), MDS_E_INPUT, "PME needs a box");
    clock = mds_clock();
#define PHASE(which, timer, call)                                                                            \
    if (all || phase == (which)) {                                                                           \
        call;                                                                                                \
        now = mds_clock();                                                                                   \
        mds_timer_add((timer), now - clock);                                                                 \
        clock = now;                                                                                         \
    }
    PHASE(MDS_SPREAD, MDS_T_SPREAD, MDS_TRY(spread(d)))
    PHASE(MDS_FFT, MDS_T_FFT, mds_fft_forward(d->mesh->fft))
    PHASE(MDS_SOLVE, MDS_T_SOLVE, solve(d, work))
    PHASE(MDS_IFFT, MDS_T_FFT, mds_fft_backward(d->mesh->fft))
    PHASE(MDS_GATHER, MDS_T_GATHER, gather(d))
#undef PHASE
    return MDS_OK;
}
