// SPDX-License-Identifier: Apache-2.0
// Smooth particle-mesh Ewald on threads [essmann1995]. Formulas: docs/theory/mesh.md; kernels: isa_mesh.c.
//
// The mesh's first axis is the box's y, its second one x: slots are in cluster order already, and that goes row by row of
// columns, y slowest (order.c). So an equal, contiguous share of the slots is a range of planes, and what a thread spreads, transforms
// first and last, and gathers from is, but for the overlap, its own. Planes of x would give every thread all of them.
//
//   place   cell and offsets of every slot, in double. Nothing is sorted here
//   spread  thread t takes an equal, contiguous share of the slots: its planes are a short range, kept in its own
//           slab, padded by order - 1 points at the low side of every direction so that no kernel ever wraps
//   FFT     each plane begins by adding the slabs in thread order, padding folded back (reduce)
//   solve   every wave times its influence factor, energy and virial sums in double (mesh_solve.c)
//   FFT     back; each plane ends by going into one padded mesh of the potential, which all threads read (expand)
//   gather  forces from derivatives of the weights, added to the thread's force lines
//
// The planes of a share are found anew in every step, from the cells themselves; a share that goes round the box gets a
// slab of the whole mesh. How many planes a slab has changes no sum. Shares and sums depend on positions and number of
// threads only, so the bits do.
#include "cpu/mesh.h"

#include <math.h>
#include <string.h>

void mds_cpu_mesh_close(mds_device *d)
{
    cpu_mesh *m = d->mesh;
    int       k, t;

    if (!m) return;
    mds_cpu_fft_close(m->fft);
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

void mds_cpu_mesh_inverse(const mds_device *d, double inv[3][3])
{
    mds_box_inverse(&d->box, inv);
    for (int k = 0; k < 3; k++) {
        const double x = inv[k][0];

        inv[k][0] = inv[k][1];
        inv[k][1] = x;
    }
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
    const int32_t     n[3] = {p->grid[1], p->grid[0], p->grid[2]};
    cpu_mesh         *m = d->mesh;
    size_t            modes;
    int               k;

    MDS_CHECK(p->order >= MESH_MIN_ORDER && p->order <= MESH_MAX_ORDER, MDS_E_INPUT,
              "mesh order %d is not in %d to %d", (int)p->order, MESH_MIN_ORDER, MESH_MAX_ORDER);
    for (k = 0; k < 3; k++)
        MDS_CHECK(p->grid[k] >= p->order, MDS_E_INPUT, "a mesh of %d points is too small for order %d",
                  (int)p->grid[k], (int)p->order);
    memset(&m->box, 0, sizeof m->box); // the split may have changed: influence factors anew
    if (m->fft && m->order == p->order && !memcmp(m->n, n, sizeof m->n)) return MDS_OK;
    mds_cpu_fft_close(m->fft);
    m->fft = NULL;
    MDS_TRY(mds_cpu_fft_open(n, d->n_threads, d->isa, &m->fft));
    memcpy(m->n, n, sizeof m->n);
    m->order = p->order;
    m->rows = m->n[1] + m->order - 1;
    m->row = (m->n[2] - 1 + 8 + 7) / 8 * 8; // the last start is n2 - 1, and kernels touch up to 8 floats
    if (m->row < m->n[2] + m->order - 1) m->row += 8;
    MDS_CHECK((double)m->rows * m->row * (m->n[0] + m->order) < INT32_MAX,
              MDS_E_UNSUPPORTED, "a mesh of %d x %d x %d is too large", (int)m->n[0], (int)m->n[1],
              (int)m->n[2]);
    weight_table(m->order, m->theta);

    modes = (size_t)m->n[0] * (size_t)m->n[2] * (size_t)mds_cpu_fft_plan(m->fft)->blocks * FFT_LANES;
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

/// One plane of the transform from the rows of the slabs that hold parts of it, in thread order.
static void reduce(void *context, int32_t p, float *real)
{
    const mds_device *d = context;
    const cpu_mesh   *m = d->mesh;
    const int32_t     pad = m->order - 1, n1 = m->n[1], n2 = m->n[2], row = mds_cpu_fft_plan(m->fft)->row;

    memset(real, 0, (size_t)n1 * (size_t)row * sizeof *real);
    for (int t = 0; t < d->n_threads; t++) {
        const share *s = &m->share[t];

        for (int32_t q = ((p - s->low + pad) % m->n[0] + m->n[0]) % m->n[0]; q < s->planes; q += m->n[0])
            for (int32_t r = 0, y = ((1 - m->order) % n1 + n1) % n1; r < m->rows; r++, y = y + 1 < n1 ? y + 1 : 0) {
                const float *restrict in = s->slab + ((size_t)q * (size_t)m->rows + (size_t)r) * (size_t)m->row;
                float *restrict out = real + (size_t)y * (size_t)row;

                for (int32_t z = 0; z < n2; z++) out[z] += in[pad + z];
                for (int32_t z = 0; z < pad; z++) out[n2 - pad + z] += in[z];
            }
    }
}

static mds_status spread(mds_device *d)
{
    cpu_mesh     *m = d->mesh;
    const int     threads = d->n_threads;
    mesh_frame    frame = {.n = {m->n[0], m->n[1], m->n[2]}, .row = m->row, .plane = m->rows * m->row};
    int           t;

    mds_cpu_mesh_inverse(d, frame.inv);
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
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------ gather

/// One plane of the potential into the padded mesh, wherever it occurs there.
static void expand(void *context, int32_t p, float *real)
{
    const mds_device *d = context;
    const cpu_mesh   *m = d->mesh;
    const int32_t     pad = m->order - 1, n1 = m->n[1], n2 = m->n[2], row = mds_cpu_fft_plan(m->fft)->row;

    for (int32_t q = (p + pad) % m->n[0]; q < m->n[0] + pad; q += m->n[0])
        for (int32_t r = 0; r < m->rows; r++) {
            const float *in = real + (size_t)((r - pad + n1) % n1) * (size_t)row;
            float       *out = m->potential + ((size_t)q * (size_t)m->rows + (size_t)r) * (size_t)m->row;

            memcpy(out, in + n2 - pad, (size_t)pad * sizeof *out);
            memcpy(out + pad, in, (size_t)n2 * sizeof *out);
        }
}

static void convolve(mds_device *d)
{
    mds_cpu_mesh_refresh(d);
    mds_cpu_fft_convolve(d->mesh->fft, reduce, expand, d, d->mesh->factor);
}

static void gather(mds_device *d, double weight)
{
    cpu_mesh     *m = d->mesh;
    const int     threads = d->n_threads;
    double        inv[3][3];
    int           t;

    mds_box_inverse(&d->box, inv);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < threads; t++) {
        mesh_job job = job_of(d, t);

        job.slab = m->potential;
        job.line = d->f_thread[t] + (size_t)m->share[t].first * (MESH_BLOCK / CPU_CLUSTER * CPU_LINE);
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++) job.scale[k][l] = (float)(inv[k][l] * d->params.grid[l] * weight);
        m->isa->gather[m->order](&job);
    }
}

void mds_cpu_mesh_again(mds_device *d, double weight)
{
    gather(d, weight); // shares, weights and the potential are still there
}

// ------------------------------------------------------------------------------------------------- stage

mds_status mds_cpu_mesh_stage(mds_device *d, mds_phase phase, mds_work work)
{
    const bool all = phase == MDS_MESH_ALL;
    const bool plain = all && !(work & (MDS_ENERGY | MDS_VIRIAL)); // nothing to sum over the waves
    double     clock, now;

    if (d->tripped || d->params.coulomb != MDS_COULOMB_PME) return MDS_OK;
    MDS_CHECK(!mds_box_is_none(&d->box), MDS_E_INPUT, "PME needs a box");
    clock = mds_clock();
#define PHASE(due, timer, call)                                                                              \
    if (due) {                                                                                               \
        call;                                                                                                \
        now = mds_clock();                                                                                   \
        mds_timer_add((timer), now - clock);                                                                 \
        clock = now;                                                                                         \
    }
    PHASE(all || phase == MDS_SPREAD, MDS_T_SPREAD, MDS_TRY(spread(d)))
    PHASE(plain, MDS_T_FFT, convolve(d))
    PHASE((all && !plain) || phase == MDS_FFT, MDS_T_FFT, mds_cpu_fft_forward(d->mesh->fft, reduce, d))
    PHASE((all && !plain) || phase == MDS_SOLVE, MDS_T_SOLVE, mds_cpu_mesh_solve(d, work))
    PHASE((all && !plain) || phase == MDS_IFFT, MDS_T_FFT, mds_cpu_fft_backward(d->mesh->fft, expand, d))
    PHASE(all || phase == MDS_GATHER, MDS_T_GATHER, gather(d, mds_cpu_slow_weight(d, work)))
#undef PHASE
    return MDS_OK;
}
