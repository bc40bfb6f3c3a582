// SPDX-License-Identifier: Apache-2.0
// The 3-D real transform of the mesh, cut into pieces that threads can share.
//
// Forward: real 1-D transforms of the rows of every plane (fixed first index), then of its columns, then
// complex 1-D transforms along the first index, CHUNK neighbouring columns at a time. Backward: the other way
// round. The pieces and their plans are the same for any number of threads, so the bits are too, and FFTW's
// own threads (a second library) are not needed. A plane of a usual mesh fits into the second-level cache,
// and CHUNK columns into the first. Every piece goes from the mesh into a buffer of the thread and back: the
// plans that FFTW estimates for transforms in place are two to four times slower on many sizes (40: 138
// against 37 microseconds a direction, measured).
//
// FFTW's planner is not thread-safe: plans are made and destroyed by one thread at a time, and ESTIMATE makes
// the choice a function of the sizes alone. Executing a plan on other arrays of the same alignment is safe
// [frigo2005].
#include "num/num.h"

#include <fftw3.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { CHUNK = 16 }; // columns of one piece: 128 bytes of each plane

struct mds_fft {
    int32_t    n[3];
    int        threads;
    int32_t    row;     // floats of a row, padding included
    size_t     plane;   // floats of a plane
    int32_t    columns; // complex columns, padding included: that stays 0
    float     *grid;
    size_t     room;                          // floats of a buffer
    float     *buffer;                        // [threads][room]
    fftwf_plan rows_forward, rows_backward;   // mesh to buffer, buffer to mesh: all rows of a plane
    fftwf_plan plane_forward, plane_backward; // buffer to mesh, mesh to buffer: all columns of a plane
    fftwf_plan chunk_forward, chunk_backward; // mesh to buffer: CHUNK columns along the first index
    fftwf_plan rest_forward, rest_backward;   // what is left of them, NULL if nothing
};

int32_t mds_fft_size(int32_t n)
{
    static const int factor[] = {2, 3, 5, 7};

    for (n = n < 1 ? 1 : n;; n++) {
        int32_t rest = n;
        int     k;

        for (k = 0; k < 4; k++)
            while (rest % factor[k] == 0) rest /= factor[k];
        if (rest == 1) return n;
    }
}

/// `columns` neighbours along the first index, from the mesh into a buffer [n0][columns].
static fftwf_plan plan_chunk(mds_fft *fft, int columns, int sign)
{
    if (!columns) return NULL;
    return fftwf_plan_many_dft(1, &fft->n[0], columns, (fftwf_complex *)fft->grid, NULL,
                               (int)(fft->plane / 2), 1, (fftwf_complex *)fft->buffer, NULL, columns, 1, sign,
                               FFTW_ESTIMATE);
}

static bool plan(mds_fft *fft)
{
    const int row = fft->row, half = fft->row / 2, used = fft->n[2] / 2 + 1,
              whole = fft->columns >= CHUNK ? CHUNK : 0, rest = fft->columns % CHUNK;
    float         *grid = fft->grid, *buffer = fft->buffer;
    fftwf_complex *waves = (fftwf_complex *)grid, *held = (fftwf_complex *)buffer;

    fft->rows_forward = fftwf_plan_many_dft_r2c(1, &fft->n[2], fft->n[1], grid, NULL, 1, row, held, NULL, 1,
                                                half, FFTW_ESTIMATE);
    fft->rows_backward = fftwf_plan_many_dft_c2r(1, &fft->n[2], fft->n[1], held, NULL, 1, half, grid, NULL, 1,
                                                 row, FFTW_ESTIMATE);
    fft->plane_forward = fftwf_plan_many_dft(1, &fft->n[1], used, held, NULL, half, 1, waves, NULL, half, 1,
                                             FFTW_FORWARD, FFTW_ESTIMATE);
    fft->plane_backward = fftwf_plan_many_dft(1, &fft->n[1], used, waves, NULL, half, 1, held, NULL, half, 1,
                                              FFTW_BACKWARD, FFTW_ESTIMATE);
    fft->chunk_forward = plan_chunk(fft, whole, FFTW_FORWARD);
    fft->chunk_backward = plan_chunk(fft, whole, FFTW_BACKWARD);
    fft->rest_forward = plan_chunk(fft, rest, FFTW_FORWARD);
    fft->rest_backward = plan_chunk(fft, rest, FFTW_BACKWARD);
    return fft->rows_forward && fft->rows_backward && fft->plane_forward && fft->plane_backward &&
           (!whole || (fft->chunk_forward && fft->chunk_backward)) &&
           (!rest || (fft->rest_forward && fft->rest_backward));
}

mds_status mds_fft_open(const int32_t n[3], int threads, mds_fft **out)
{
    mds_fft   *fft;
    mds_status status = MDS_OK;
    bool       planned;
    int        k;

    *out = NULL;
    for (k = 0; k < 3; k++)
        MDS_CHECK(n[k] >= 1 && n[k] <= 4096, MDS_E_INPUT,
                  "a mesh of %d points along one side is out of range (1 to 4096)", (int)n[k]);
    MDS_TRY(mds_alloc(&fft, 1, sizeof *fft));
    for (k = 0; k < 3; k++) fft->n[k] = n[k];
    fft->threads = threads > 1 ? threads : 1;
    fft->row =
        (2 * (n[2] / 2 + 1) + 3) / 4 * 4; // rows on 16 bytes: FFTW's SIMD alignment, the same for every plane
    fft->plane = (size_t)n[1] * (size_t)fft->row;
    fft->columns = n[1] * (fft->row / 2);
    fft->room = (fft->plane > (size_t)n[0] * CHUNK * 2 ? fft->plane : (size_t)n[0] * CHUNK * 2) + 16;
    fft->room = (fft->room + 15) / 16 * 16;
    status = mds_alloc(&fft->grid, (size_t)n[0] * fft->plane, sizeof *fft->grid);
    if (status == MDS_OK)
        status = mds_alloc(&fft->buffer, (size_t)fft->threads * fft->room, sizeof *fft->buffer);
    if (status != MDS_OK) {
        mds_free(fft->grid);
        mds_free(fft);
        return status;
    }
#pragma omp critical(mds_fftw_planner)
    planned = plan(fft);
    if (!planned) {
        mds_fft_close(fft);
        MDS_FAIL(MDS_E_MEMORY, "FFTW gave no plan for a mesh of %d x %d x %d", (int)n[0], (int)n[1],
                 (int)n[2]);
    }
    *out = fft;
    return MDS_OK;
}

void mds_fft_close(mds_fft *fft)
{
    if (!fft) return;
#pragma omp critical(mds_fftw_planner)
    {
        fftwf_destroy_plan(fft->rows_forward); // NULL is fine
        fftwf_destroy_plan(fft->rows_backward);
        fftwf_destroy_plan(fft->plane_forward);
        fftwf_destroy_plan(fft->plane_backward);
        fftwf_destroy_plan(fft->chunk_forward);
        fftwf_destroy_plan(fft->chunk_backward);
        fftwf_destroy_plan(fft->rest_forward);
        fftwf_destroy_plan(fft->rest_backward);
    }
    mds_free(fft->grid);
    mds_free(fft->buffer);
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

static float *my_buffer(const mds_fft *fft)
{
#ifdef _OPENMP
    return fft->buffer + (size_t)omp_get_thread_num() * fft->room;
#else
    return fft->buffer;
#endif
}

/// Transforms along the first index, in place for the caller.
static void along_first(mds_fft *fft, fftwf_plan chunk, fftwf_plan rest)
{
    const int32_t pieces = (fft->columns + CHUNK - 1) / CHUNK;
    int32_t       p;

#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < pieces; p++) {
        const int32_t width = fft->columns - p * CHUNK < CHUNK ? fft->columns - p * CHUNK : CHUNK;
        float        *piece = fft->grid + (size_t)p * CHUNK * 2, *buffer = my_buffer(fft);
        int32_t       i;

        fftwf_execute_dft(width == CHUNK ? chunk : rest, (fftwf_complex *)piece, (fftwf_complex *)buffer);
        for (i = 0; i < fft->n[0]; i++)
            memcpy(piece + (size_t)i * fft->plane, buffer + (size_t)i * 2 * (size_t)width,
                   2 * (size_t)width * sizeof *piece);
    }
}

void mds_fft_forward(mds_fft *fft)
{
    int32_t p;

#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < fft->n[0]; p++) {
        float         *plane = fft->grid + (size_t)p * fft->plane;
        fftwf_complex *buffer = (fftwf_complex *)my_buffer(fft);

        fftwf_execute_dft_r2c(fft->rows_forward, plane, buffer);
        fftwf_execute_dft(fft->plane_forward, buffer, (fftwf_complex *)plane);
    }
    along_first(fft, fft->chunk_forward, fft->rest_forward);
}

void mds_fft_backward(mds_fft *fft)
{
    int32_t p;

    along_first(fft, fft->chunk_backward, fft->rest_backward);
#pragma omp parallel for schedule(static) num_threads(fft->threads)
    for (p = 0; p < fft->n[0]; p++) {
        float         *plane = fft->grid + (size_t)p * fft->plane;
        fftwf_complex *buffer = (fftwf_complex *)my_buffer(fft);

        fftwf_execute_dft(fft->plane_backward, (fftwf_complex *)plane, buffer);
        fftwf_execute_dft_c2r(fft->rows_backward, buffer, plane);
    }
}
