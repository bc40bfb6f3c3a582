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

/// The two largest squares of ways from xq_prune, of heavy [0] and light [1] atoms, nm^2.
typedef struct {
    top2 way[2];
} ways;

static void ways_add(ways *to, const ways *from)
{
    for (int k = 0; k < 2; k++) to->way[k] = top2_add(top2_add(to->way[k], from->way[k].first), from->way[k].second);
}

/// Four lanes at a time: squares into the two largest of each lane.
typedef struct {
    float most[CPU_CLUSTER], next[CPU_CLUSTER];
} lanes2;

static void lanes2_add(lanes2 *to, const float moved[CPU_CLUSTER])
{
    for (int lane = 0; lane < CPU_CLUSTER; lane++) {
        const float low = moved[lane] < to->most[lane] ? moved[lane] : to->most[lane];

        to->next[lane] = low > to->next[lane] ? low : to->next[lane];
        to->most[lane] = moved[lane] > to->most[lane] ? moved[lane] : to->most[lane];
    }
}

static void add_moved(const cpu_list *list, int32_t c, const float moved[CPU_CLUSTER], lanes2 to[2])
{
    const float *light = list->light + (size_t)CPU_CLUSTER * (size_t)c;
    float        of_light[CPU_CLUSTER], of_heavy[CPU_CLUSTER];

    for (int lane = 0; lane < CPU_CLUSTER; lane++) {
        of_light[lane] = moved[lane] * light[lane];
        of_heavy[lane] = moved[lane] - of_light[lane];
    }
    lanes2_add(&to[0], of_heavy);
    lanes2_add(&to[1], of_light);
}

static ways reduce(const lanes2 from[2])
{
    ways out = {0};

    for (int k = 0; k < 2; k++)
        for (int lane = 0; lane < CPU_CLUSTER; lane++)
            out.way[k] = top2_add(top2_add(out.way[k], from[k].most[lane]), from[k].next[lane]);
    return out;
}

/// xq of clusters [c0, c1) and the largest ways from xq_prune.
static ways write_lines(mds_device *d, int32_t c0, int32_t c1)
{
    const cpu_list *list = d->list;
    lanes2          most[2] = {0};
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
        add_moved(list, c, moved, most);
    }
    return reduce(most);
}

/// xq_prune of clusters [c0, c1): where atoms are to be expected in `time` (ps), and how far that is from where they are.
static ways foresee_lines(mds_device *d, int32_t c0, int32_t c1, double time)
{
    const cpu_list *list = d->list;
    lanes2          most[2] = {0};
    int32_t         c;
    int             lane, k;

    for (c = c0; c < c1; c++) {
        const float *line = d->xq + (size_t)CPU_LINE * (size_t)c;
        float       *then = list->xq_prune + (size_t)CPU_LINE * (size_t)c;
        float        moved[CPU_CLUSTER] = {0};

        for (k = 0; k < 3; k++)
            for (lane = 0; lane < CPU_CLUSTER; lane++) {
                const float u = (float)(time * d->v[CPU_CLUSTER * c + lane][k]);

                then[4 * k + lane] = line[4 * k + lane] + u;
                moved[lane] += u * u;
            }
        add_moved(list, c, moved, most);
    }
    return reduce(most);
}

void mds_cpu_list_copy(mds_device *d)
{
    write_lines(d, 0, d->n_clusters);
    memcpy(d->list->xq_prune, d->xq, (size_t)d->n_clusters * CPU_LINE * sizeof(float));
    d->list->foreseen = false;
    d->list->step_pruned = d->step;
    d->list->fresh = d->list->prune_due = true;
}

/// Whether the inner list still holds every pair that matters: one left out was beyond radius_inner when it was made, and
/// it takes both of its atoms to come within the cut-off, or a depth below it (guard.c).
static bool still_holds(const mds_device *d, const ways *w)
{
    const cpu_list *list = d->list;
    const double   *depth = d->params.list_depth, buffer = list->radius_inner - list->cut_max - CPU_ROUNDING;
    const double    heavy = sqrt((double)w->way[0].first), light = sqrt((double)w->way[1].first);
    const double    heavies = heavy + sqrt((double)w->way[0].second), lights = light + sqrt((double)w->way[1].second);

    return list->radius_inner >= list->radius_outer ||
           (heavies < buffer + depth[0] && heavy + light < buffer + depth[1] && lights < buffer + depth[2]);
}

/// One of the two passes over all lines, threads side by side; `time` 0: write_lines.
static ways pass_over(mds_device *d, double time)
{
    ways all = {0};
    int  t;

#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) {
        const int32_t c0 = (int32_t)((int64_t)d->n_clusters * t / d->n_threads);
        const int32_t c1 = (int32_t)((int64_t)d->n_clusters * (t + 1) / d->n_threads);
        const ways    mine = time > 0 ? foresee_lines(d, c0, c1, time) : write_lines(d, c0, c1);

#pragma omp critical(mds_cpu_refresh) // the largest two of all are the same in any order
        {
            ways_add(&all, &mine);
        }
    }
    return all;
}

/// Positions that the next inner list is made for. Where prunings are scheduled, those expected halfway to the next one:
/// then no atom is ever more than half of the interval away from them, and the buffer can be half as wide. Not at a
/// search, whose velocities differ by a kick between a run and its resumption; the interval after it is half as long.
static void aim(mds_device *d)
{
    cpu_list    *list = d->list;
    const double time = 0.5 * (d->params.prune_interval - 1) * d->params.dt;
    int          t;

    list->step_pruned = d->step;
    list->foreseen = false;
    if (time > 0 && !list->fresh) {
        mds_cpu_move_put_v(d);
        const ways ahead = pass_over(d, time);

        list->foreseen = still_holds(d, &ahead);
    }
    if (list->foreseen) return;
    // each thread copies what it has just written: on some machines lines come slowly from the other core
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) {
        const int64_t n = d->n_clusters;
        const size_t  first = (size_t)(n * t / d->n_threads), end = (size_t)(n * (t + 1) / d->n_threads);

        memcpy(list->xq_prune + first * CPU_LINE, d->xq + first * CPU_LINE, (end - first) * CPU_LINE * sizeof(float));
    }
}

void mds_cpu_list_refresh(mds_device *d)
{
    cpu_list     *list = d->list;
    const int32_t interval = d->params.prune_interval;

    if (!d->listed) return;
    // a changed box changes the images' distances too: what is pruned anew needs no bound for that
    if (memcmp(&list->box, &d->box, sizeof d->box)) {
        mds_cpu_list_offsets(d);
        list->prune_due = true;
        list->boxes_only = false;
    }
    const ways moved = pass_over(d, 0);

    if (moved.way[0].first > 0 || moved.way[1].first > 0) list->boxes_only = false;

    if (interval > 0 && d->step - list->step_pruned >= (list->foreseen ? interval : (interval + 1) / 2)) list->prune_due = true;
    if (!still_holds(d, &moved)) list->prune_due = true;
    if (list->prune_due) aim(d);
    list->fresh = false;
}
