// SPDX-License-Identifier: Apache-2.0
// The 3-D real transform of the mesh, cut into pieces that threads can share.
//
// Forward: a plane (first index fixed) is filled by the caller into a buffer of the thread, transformed along its two
// directions and written to the waves; then eight neighbouring columns at a time go along the first index. Backward: the other way
// round. So the real mesh never exists as a whole: summing the slabs of the charges, or copying the potential out, is
// the first or last step of a plane that is in the cache. Pieces are the same for any number of threads, so the bits are.
//
// The kernels are ours because the meshes are small (24 to 48 points a side): plans that FFTW estimates for them leave
// half of the vector units idle (benchmarks/results), and its planner is neither thread-safe nor quick enough to measure.
#include "cpu/fft.h"

#include "base/units.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

struct cpu_fft {
    fft_plan       plan;
    const isa_fft *isa;
    int            threads;
    float         *table[3]; // roots and twiddles of the lines
    size_t         plane;    // floats of a plane of waves
    float         *waves;    // [n0][plane]
    size_t         room;     // floats of a thread
    float         *work;     // [threads][room]: a real plane, and the kernels' work
};

static const isa_fft *kernels(const char *level)
{
#ifdef MDS_HAVE_AVX512
    if (!strcmp(level, "avx512")) return &mds_isa_fft_avx512;
#endif
#ifdef MDS_HAVE_AVX2
    if (!strcmp(level, "avx2")) return &mds_isa_fft_avx2;
#endif
    (void)level;
    return &mds_isa_fft_generic;
}

/// Radices of n, large ones first. Returns the floats of their tables.
static size_t factor(int32_t n, fft_line *line)
{
    static const int radix[] = {4, 2, 3, 5, 7};
    int32_t          rest = n;
    size_t           floats = 0;
    int              k, i;

    line->n = n;
    line->n_stages = 0;
    for (k = 0; k < 5; k++)
        while (rest % radix[k] == 0) line->radix[line->n_stages++] = radix[k], rest /= radix[k];
    for (i = 11; rest > 1; i += 2)
        while (rest % i == 0) line->radix[line->n_stages++] = i, rest /= i;
    for (k = 0, rest = n; k < line->n_stages; rest /= line->radix[k++])
        floats += 2 * (size_t)(rest / line->radix[k]) * (size_t)(line->radix[k] - 1) + 2 * (size_t)line->radix[k];
    return floats;
}

static float *put_root(float *to, int64_t k, int32_t n)
{
    const double angle = 2 * MDS_PI * (double)(k % n) / n;

    to[0] = (float)cos(angle);
    to[1] = (float)-sin(angle);
    return to + 2;
}

static mds_status prepare_line(int32_t n, fft_line *line, float **table)
{
    float  *at;
    int32_t k, p, j, rest = n;

    MDS_TRY(mds_alloc(table, factor(n, line) + 1, sizeof **table));
    at = *table;
    for (k = 0; k < line->n_stages; k++) {
        const int32_t r = line->radix[k], m = rest / r;

        line->twiddle[k] = at;
        for (p = 0; p < m; p++)
            for (j = 1; j < r; j++) at = put_root(at, (int64_t)p * j, rest);
        line->root[k] = at;
        for (j = 0; j < r; j++) at = put_root(at, j, r);
        rest = m;
    }
    return MDS_OK;
}

static mds_status prepare(cpu_fft *fft)
{
    fft_plan     *p = &fft->plan;
    const size_t  n0 = (size_t)p->n[0], n1 = (size_t)p->n[1], n2 = (size_t)p->n[2];
    size_t        longest = n0 > n1 ? n0 : n1, row, work;

    longest = longest > n2 ? longest : n2;
    p->row = (p->n[2] + FFT_WAVE - 1) / FFT_WAVE * FFT_WAVE;
    row = (size_t)p->row;
    p->half = p->n[1] / 2 + 1;
    p->blocks = (p->half + FFT_LANES - 1) / FFT_LANES;
    // an odd number of waves, so that a column does not fall on few sets of the cache
    fft->plane = (n2 * (size_t)p->blocks | 1) * FFT_WAVE;
    work = 2 * longest * FFT_WAVE + (row > longest ? row : longest) * FFT_WAVE + row * (size_t)p->blocks * FFT_WAVE;
    fft->room = n1 * row + work + FFT_WAVE;
    for (int k = 0; k < 3; k++) MDS_TRY(prepare_line(p->n[k], &p->line[k], &fft->table[k]));
    MDS_TRY(mds_alloc(&fft->waves, n0 * fft->plane, sizeof *fft->waves));
    return mds_alloc(&fft->work, (size_t)fft->threads * fft->room, sizeof *fft->work);
}

mds_status mds_cpu_fft_open(const int32_t n[3], int threads, const char *level, cpu_fft **out)
{
    cpu_fft   *fft;
    mds_status status;

    *out = NULL;
    for (int k = 0; k < 3; k++)
        MDS_CHECK(n[k] >= 1 && n[k] <= 4096, MDS_E_INPUT,
                  "a mesh of %d points along one side is out of range (1 to 4096)", (int)n[k]);
    MDS_TRY(mds_alloc(&fft, 1, sizeof *fft));
    for (int k = 0; k < 3; k++) fft->plan.n[k] = n[k];
    fft->threads = threads > 1 ? threads : 1;
    fft->isa = kernels(level);
    status = prepare(fft);
    if (status != MDS_OK) {
        mds_cpu_fft_close(fft);
        return status;
    }
    *out = fft;
    return MDS_OK;
}

void mds_cpu_fft_close(cpu_fft *fft)
{
    if (!fft) return;
    for (int k = 0; k < 3; k++) mds_free(fft->table[k]);
    mds_free(fft->waves);
    mds_free(fft->work);
    mds_free(fft);
}

const fft_plan *mds_cpu_fft_plan(const cpu_fft *fft)
{
    return &fft->plan;
}

float *mds_cpu_fft_waves(cpu_fft *fft, int32_t kx, int32_t kz)
{
    return fft->waves + (size_t)kx * fft->plane + (size_t)kz * (size_t)fft->plan.blocks * FFT_WAVE;
}

/// This thread's real plane; the kernels' work follows it.
static float *my_plane(const cpu_fft *fft)
{
#ifdef _OPENMP
    return fft->work + (size_t)omp_get_thread_num() * fft->room;
#else
    return fft->work;
#endif
}

static float *work_of(const cpu_fft *fft, float *plane)
{
    return plane + (size_t)fft->plan.n[1] * (size_t)fft->plan.row;
}

static void along_first(cpu_fft *fft, int sign)
{
    const int32_t pieces = fft->plan.n[2] * fft->plan.blocks;
    int32_t       p;

#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < pieces; p++)
        fft->isa->along(&fft->plan, sign, fft->waves + (size_t)p * FFT_WAVE, (int32_t)fft->plane, work_of(fft, my_plane(fft)));
}

static void planes_forward(cpu_fft *fft, cpu_fft_plane fill, void *context)
{
    int32_t p;

#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < fft->plan.n[0]; p++) {
        float *plane = my_plane(fft);

        fill(context, p, plane);
        fft->isa->forward(&fft->plan, plane, fft->waves + (size_t)p * fft->plane, work_of(fft, plane));
    }
}

static void planes_backward(cpu_fft *fft, cpu_fft_plane drain, void *context)
{
    int32_t p;

#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < fft->plan.n[0]; p++) {
        float *plane = my_plane(fft);

        fft->isa->backward(&fft->plan, fft->waves + (size_t)p * fft->plane, plane, work_of(fft, plane));
        drain(context, p, plane);
    }
}

void mds_cpu_fft_forward(cpu_fft *fft, cpu_fft_plane fill, void *context)
{
    planes_forward(fft, fill, context);
    along_first(fft, -1);
}

void mds_cpu_fft_backward(cpu_fft *fft, cpu_fft_plane drain, void *context)
{
    along_first(fft, 1);
    planes_backward(fft, drain, context);
}

void mds_cpu_fft_convolve(cpu_fft *fft, cpu_fft_plane fill, cpu_fft_plane drain, void *context, const float *factor)
{
    const int32_t pieces = fft->plan.n[2] * fft->plan.blocks;
    int32_t       p;

    planes_forward(fft, fill, context);
#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < pieces; p++)
        fft->isa->convolve(&fft->plan, fft->waves + (size_t)p * FFT_WAVE, (int32_t)fft->plane, factor + (size_t)p * FFT_LANES,
                           pieces * FFT_LANES, work_of(fft, my_plane(fft)));
    planes_backward(fft, drain, context);
}
