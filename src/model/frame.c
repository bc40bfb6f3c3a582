// SPDX-License-Identifier: Apache-2.0
// Frames: their memory, and what follows from their sums.
#include "model/model.h"

#include "base/units.h"

#include <string.h>

mds_status mds_frame_reserve(mds_frame *f, int32_t n, uint32_t fields)
{
    size_t cap;

#define ROOM(array) (cap = (array) ? (size_t)f->capacity : 0, mds_grow(&(array), &cap, (size_t)(n > f->capacity ? n : f->capacity), sizeof *(array)))
    MDS_TRY(ROOM(f->id));
    if (f->x || (fields & MDS_FIELD_X)) MDS_TRY(ROOM(f->x));
    if (f->v || (fields & MDS_FIELD_V)) MDS_TRY(ROOM(f->v));
    if (f->f || (fields & MDS_FIELD_F)) MDS_TRY(ROOM(f->f));
#undef ROOM
    if (n > f->capacity) f->capacity = n;
    return MDS_OK;
}

void mds_frame_free_arrays(mds_frame *f)
{
    mds_free(f->id);
    mds_free(f->x);
    mds_free(f->v);
    mds_free(f->f);
    f->id = NULL;
    f->x = f->v = f->f = NULL;
    f->n = f->capacity = 0;
}

void mds_frame_free(mds_frame *f)
{
    mds_frame_free_arrays(f);
    memset(f, 0, sizeof *f);
}

mds_status mds_frame_copy(mds_frame *to, const mds_frame *from)
{
    const uint32_t fields = (from->x ? MDS_FIELD_X : 0u) | (from->v ? MDS_FIELD_V : 0u) | (from->f ? MDS_FIELD_F : 0u);
    mds_frame      own;

    if (from->n) MDS_TRY(mds_frame_reserve(to, from->n, fields));
    own = *to;
    *to = *from;
    to->id = own.id;
    to->x = own.x;
    to->v = own.v;
    to->f = own.f;
    to->capacity = own.capacity;
    if (!from->n) return MDS_OK;
    const size_t n = (size_t)from->n;

    memcpy(to->id, from->id, n * sizeof *to->id);
    if (from->x) memcpy(to->x, from->x, n * sizeof *to->x);
    if (from->v) memcpy(to->v, from->v, n * sizeof *to->v);
    if (from->f) memcpy(to->f, from->f, n * sizeof *to->f);
    return MDS_OK;
}

static void swap_rows(double (*rows)[3], int32_t i, int32_t j)
{
    double old[3];

    if (!rows) return;
    memcpy(old, rows[i], sizeof old);
    memcpy(rows[i], rows[j], sizeof old);
    memcpy(rows[j], old, sizeof old);
}

void mds_frame_sort(mds_frame *f)
{
    int32_t i;

    // follow the cycles of the permutation: every swap brings one row home
    for (i = 0; i < f->n; i++)
        while (f->id[i] != i) {
            const int32_t j = f->id[i];

            MDS_ASSERT(j >= 0 && j < f->n && f->id[j] != j);
            swap_rows(f->x, i, j);
            swap_rows(f->v, i, j);
            swap_rows(f->f, i, j);
            f->id[i] = f->id[j];
            f->id[j] = j;
        }
}

double mds_frame_potential(const mds_frame *f)
{
    double sum = 0;
    int    k;

    for (k = 0; k < MDS_N_ENERGY; k++) sum += f->energy[k];
    return sum;
}

double mds_frame_kinetic(const mds_frame *f)
{
    return f->kinetic[0][0] + f->kinetic[1][1] + f->kinetic[2][2];
}

double mds_frame_temperature(const mds_frame *f, double n_degrees)
{
    return n_degrees > 0 ? 2 * mds_frame_kinetic(f) / (n_degrees * MDS_BOLTZMANN) : 0;
}

double mds_frame_pressure(const mds_frame *f)
{
    const double volume = mds_box_volume(&f->box);
    double       sum = mds_frame_kinetic(f);
    int          k;

    if (volume <= 0) return 0;
    for (k = 0; k < 3; k++) sum -= f->virial[k][k] + f->constraint_virial[k][k];
    return 2 * sum / (3 * volume) * MDS_BAR;
}

double mds_frame_conserved(const mds_frame *f)
{
    return mds_frame_potential(f) + mds_frame_kinetic(f) - f->work_noise - f->work_scale;
}
