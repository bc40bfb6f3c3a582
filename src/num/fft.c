// SPDX-License-Identifier: Apache-2.0
// The 3-D real transform of the mesh, cut into pieces that threads can share.
//
// Forward: a real 2-D transform of every plane (fixed first index), then complex 1-D transforms along the first index, a
// few neighbouring columns at a time. Backward: the other way round. The pieces and their plans are the same for any
// number of threads, so the bits are too, and FFTW's own threads (a second library) are not needed. A plane of a usual
// mesh fits into the second-level cache, and CHUNK columns into the first.
//
// FFTW's planner is not thread-safe: plans are made and destroyed by one thread at a time, and ESTIMATE makes the choice
// a function of the sizes alone. Executing a plan on other arrays of the same alignment is safe [frigo2005].
#include "num/num.h"

#include <fftw3.h>

enum { CHUNK = 16 }; // columns of one piece: 128 bytes of each plane

struct mds_fft {
    int32_t    n[3];
    int        threads;
    int32_t    row;     // floats of a row, padding included
    size_t     plane;   // floats of a plane
    int32_t    columns; // complex columns, padding included (their transforms are never looked at)
    float     *grid;
    fftwf_plan plane_forward, plane_backward;
    fftwf_plan chunk_forward, chunk_backward; // CHUNK columns
    fftwf_plan rest_forward, rest_backward;   // what is left of them, NULL if nothing
};

int32_t mds_fft_size(int32_t n)
{
    static const int factor[] = { 2, 3, 5, 7 };

    for (n = n < 1 ? 1 : n;; n++) {
        int32_t rest = n;
        int     k;

        for (k = 0; k < 4; k++)
            while (rest % factor[k] == 0) rest /= factor[k];
        if (rest == 1) return n;
    }
}

static fftwf_plan plan_columns(mds_fft *fft, int columns, int sign)
{
    fftwf_complex *data = (fftwf_complex *)fft->grid;
    const int      stride = (int)(fft->plane / 2);

    if (!columns) return NULL;
    return fftwf_plan_many_dft(1, &fft->n[0], columns, data, NULL, stride, 1, data, NULL, stride, 1, sign, FFTW_ESTIMATE);
}

mds_status mds_fft_open(const int32_t n[3], int threads, mds_fft **out)
{
    mds_fft   *fft;
    mds_status status = MDS_OK;
    bool       planned;
    int        k;

    *out = NULL;
    for (k = 0; k < 3; k++)
        MDS_CHECK(n[k] >= 1 && n[k] <= 4096, MDS_E_INPUT, "a mesh of %d points along one side is out of range (1 to 4096)", (int)n[k]);
    MDS_TRY(mds_alloc(&fft, 1, sizeof *fft));
    for (k = 0; k < 3; k++) fft->n[k] = n[k];
    fft->threads = threads > 1 ? threads : 1;
    fft->row = (2 * (n[2] / 2 + 1) + 3) / 4 * 4; // rows on 16 bytes: FFTW's SIMD alignment, the same for every plane
    fft->plane = (size_t)n[1] * (size_t)fft->row;
    fft->columns = n[1] * (fft->row / 2);
    status = mds_alloc(&fft->grid, (size_t)n[0] * fft->plane, sizeof *fft->grid);
    if (status != MDS_OK) {
        mds_free(fft);
        return status;
    }
#pragma omp critical(mds_fftw_planner)
    {
        const int sides[2] = { n[1], n[2] }, real[2] = { n[1], fft->row }, complex[2] = { n[1], fft->row / 2 };
        fftwf_complex *data = (fftwf_complex *)fft->grid;

        fft->plane_forward = fftwf_plan_many_dft_r2c(2, sides, 1, fft->grid, real, 1, 0, data, complex, 1, 0, FFTW_ESTIMATE);
        fft->plane_backward = fftwf_plan_many_dft_c2r(2, sides, 1, data, complex, 1, 0, fft->grid, real, 1, 0, FFTW_ESTIMATE);
        fft->chunk_forward = plan_columns(fft, CHUNK <= fft->columns ? CHUNK : 0, FFTW_FORWARD);
        fft->chunk_backward = plan_columns(fft, CHUNK <= fft->columns ? CHUNK : 0, FFTW_BACKWARD);
        fft->rest_forward = plan_columns(fft, fft->columns % CHUNK, FFTW_FORWARD);
        fft->rest_backward = plan_columns(fft, fft->columns % CHUNK, FFTW_BACKWARD);
    }
    planned = fft->plane_forward && fft->plane_backward && (CHUNK > fft->columns || (fft->chunk_forward && fft->chunk_backward)) &&
              (fft->columns % CHUNK == 0 || (fft->rest_forward && fft->rest_backward));
    if (!planned) {
        mds_fft_close(fft);
        MDS_FAIL(MDS_E_MEMORY, "FFTW gave no plan for a mesh of %d x %d x %d", (int)n[0], (int)n[1], (int)n[2]);
    }
    *out = fft;
    return MDS_OK;
}

void mds_fft_close(mds_fft *fft)
{
    if (!fft) return;
#pragma omp critical(mds_fftw_planner)
    {
        fftwf_destroy_plan(fft->plane_forward); // NULL is fine
        fftwf_destroy_plan(fft->plane_backward);
        fftwf_destroy_plan(fft->chunk_forward);
        fftwf_destroy_plan(fft->chunk_backward);
        fftwf_destroy_plan(fft->rest_forward);
        fftwf_destroy_plan(fft->rest_backward);
    }
    mds_free(fft->grid);
    mds_free(fft);
}

float *mds_fft_grid(mds_fft *fft)
{
    return fft->grid;
}

int32_t mds_fft_row(const mds_fft *fft)
{
    return fft->row;
}

static void columns(mds_fft *fft, fftwf_plan chunk, fftwf_plan rest)
{
    fftwf_complex *data = (fftwf_complex *)fft->grid;
    const int32_t  pieces = (fft->columns + CHUNK - 1) / CHUNK;
    int32_t        p;

#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < pieces; p++) {
        fftwf_complex *piece = data + (size_t)p * CHUNK;

        fftwf_execute_dft((p + 1) * CHUNK <= fft->columns ? chunk : rest, piece, piece);
    }
}

void mds_fft_forward(mds_fft *fft)
{
    int32_t p;

#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < fft->n[0]; p++) {
        float *plane = fft->grid + (size_t)p * fft->plane;

        fftwf_execute_dft_r2c(fft->plane_forward, plane, (fftwf_complex *)plane);
    }
    columns(fft, fft->chunk_forward, fft->rest_forward);
}

void mds_fft_backward(mds_fft *fft)
{
    int32_t p;

    columns(fft, fft->chunk_backward, fft->rest_backward);
#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < fft->n[0]; p++) {
        float *plane = fft->grid + (size_t)p * fft->plane;

        fftwf_execute_dft_c2r(fft->plane_backward, (fftwf_complex *)plane, plane);
    }
}
