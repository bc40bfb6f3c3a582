// SPDX-License-Identifier: Apache-2.0
// The float copy of positions that the kernels read, and the watch over how far atoms have moved since the last prune.
//
// A float has 24 bits, so large coordinates would lose what small distances need. Each super belongs to a region of at most
// some 8 nm (search.c chooses it); xq = x + offset are positions from the middle of that region, the offset made of the box
// vectors that wrap the atom. Differences of origins and images go into the translation of a list entry, in double.
#include "cpu/list.h"

#include <math.h>
#include <string.h>

void mds_cpu_list_offsets(mds_device *d)
{
    cpu_list *list = d->list;
    int32_t   slot;

    list->box = d->box;
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (slot = 0; slot < d->n_slots; slot++) {
        const int32_t *n = list->image[slot];
        const double(*h)[3] = list->box.a;

        for (int k = 0; k < 3; k++)
            list->offset[slot][k] = d->atom_of[slot] < 0
                                        ? CPU_PADDING - d->x[slot][k]
                                        : n[0] * h[0][k] + n[1] * h[1][k] + n[2] * h[2][k] - list->centre[k] -
                                              list->origin[slot / CPU_SUPER][k];
    }
}

/// The two largest of what was seen.
typedef struct {
    float first, second;
} top2;

static top2 top2_add(top2 a, float b)
{
    return b > a.first ? (top2){b, a.first} : b > a.second ? (top2){a.first, b} : a;
}

/// xq of clusters [c0, c1) and the two largest squared displacements since the last prune.
static top2 write_lines(mds_device *d, int32_t c0, int32_t c1)
{
    const cpu_list *list = d->list;
    float           most[CPU_CLUSTER] = {0}, next[CPU_CLUSTER] = {0};
    top2            top = {0, 0};
    int32_t         c;
    int             lane, k;

    for (c = c0; c < c1; c++) {
        float       *line = d->xq + (size_t)CPU_LINE * (size_t)c;
        const float *then = list->xq_prune + (size_t)CPU_LINE * (size_t)c;
        float        moved[CPU_CLUSTER] = {0};

        for (k = 0; k < 3; k++)
            for (lane = 0; lane < CPU_CLUSTER; lane++) {
                const int32_t slot = CPU_CLUSTER * c + lane;
                const float   x = (float)(d->x[slot][k] + list->offset[slot][k]), u = x - then[4 * k + lane];

                line[4 * k + lane] = x;
                moved[lane] += u * u;
            }
        for (lane = 0; lane < CPU_CLUSTER; lane++) {
            const float low = moved[lane] < most[lane] ? moved[lane] : most[lane];

            next[lane] = low > next[lane] ? low : next[lane];
            most[lane] = moved[lane] > most[lane] ? moved[lane] : most[lane];
        }
    }
    for (lane = 0; lane < CPU_CLUSTER; lane++) top = top2_add(top2_add(top, most[lane]), next[lane]);
    return top;
}

void mds_cpu_list_copy(mds_device *d)
{
    write_lines(d, 0, d->n_clusters);
    memcpy(d->list->xq_prune, d->xq, (size_t)d->n_clusters * CPU_LINE * sizeof(float));
    d->list->prune_due = true;
}

void mds_cpu_list_refresh(mds_device *d)
{
    cpu_list *list = d->list;
    top2      top = {0, 0};
    int       t;

    if (!d->listed) return;
    // a changed box changes the images' distances too: what is pruned anew needs no bound for that
    if (memcmp(&list->box, &d->box, sizeof d->box)) {
        mds_cpu_list_offsets(d);
        list->prune_due = true;
    }
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) {
        const int64_t n = d->n_clusters;
        const top2    mine = write_lines(d, (int32_t)(n * t / d->n_threads), (int32_t)(n * (t + 1) / d->n_threads));

#pragma omp critical(mds_cpu_refresh) // the largest two of all are the same in any order
        {
            top = top2_add(top2_add(top, mine.first), mine.second);
        }
    }
    // a pair left out was beyond radius_inner: it takes both of its atoms to come within the cut-off
    const double moved = sqrt((double)top.first) + sqrt((double)top.second);
    if (list->radius_inner < list->radius_outer && moved + CPU_ROUNDING >= list->radius_inner - list->cut_max)
        list->prune_due = true;
    if (!list->prune_due) return;
    // each thread copies what it has just written: on some machines lines come slowly from the other core
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) {
        const int64_t n = d->n_clusters;
        const size_t  first = (size_t)(n * t / d->n_threads), end = (size_t)(n * (t + 1) / d->n_threads);

        memcpy(list->xq_prune + first * CPU_LINE, d->xq + first * CPU_LINE, (end - first) * CPU_LINE * sizeof(float));
    }
}
