// SPDX-License-Identifier: Apache-2.0
// The outer pair list: for every super, the clusters within list_radius, and the masks of what must not interact.
//
// Each pair of clusters (c, d, image) occurs once: with d > c at any image, or d = c at the images whose first non-zero
// number is positive; c with itself at image 0 keeps the upper triangle of the tile. Every image that comes near enough is
// taken, so that only the cut-off, not the list radius, must fit into half the box.
//
// Steps for a super: mark its excluded partners; for each image, columns that are near give runs of clusters, from a table of
// where along z they are; then boxes around clusters are compared. Exact distances are left to the first pruning (pair.c). Tiles whose
// j lie in different regions go to different entries, because an entry has one translation. Chunks of supers are built in parallel
// into arrays of their own; their order, and so the list, does not depend on threads. What other stages keep by slot is one thread's
// work each, and is done beside them. Finally entries are dealt to threads for pruning, contiguous, by what that costs; once more when
// the first pruning has cut them.
#include "cpu/list.h"

#include <math.h>
#include <string.h>

void mds_cpu_list_clear(mds_device *d)
{
    cpu_list *list = d->list;
    size_t    k;
    int       t;

    for (k = 0; k < list->cap_chunk; k++) {
        mds_free(list->chunk[k].entry);
        mds_free(list->chunk[k].tile);
    }
    mds_free(list->chunk);
    for (t = 0; list->lane && t < d->n_threads; t++) {
        cpu_lane *lane = &list->lane[t];

        mds_free(lane->inner.part);
        mds_free(lane->inner.j);
        mds_free(lane->inner.mask);
        mds_free(lane->scratch);
        mds_free(lane->excluded);
        mds_free(lane->run);
        mds_free(lane->found);
        mds_free(lane->region);
    }
    mds_free(list->lane);
}

void mds_cpu_list_translation(const cpu_list *list, const int8_t image[3], int32_t super, int32_t other, double t[3])
{
    const double(*h)[3] = list->box.a;
    const bool here = !(image[0] | image[1] | image[2]); // mostly
    int k;

    for (k = 0; k < 3; k++)
        t[k] = here ? list->origin[super][k] - list->origin[other][k] : image[0] * h[0][k] + image[1] * h[1][k] + image[2] * h[2][k] + list->origin[super][k] -
               list->origin[other][k];
}

/// Set (or take back) the bits of pairs that are excluded from interacting with the atoms of a super.
static void mark_excluded(const mds_device *d, cpu_lane *lane, int32_t super, bool set)
{
    const mds_system *s = d->system;
    int32_t           lane_i, k;

    for (lane_i = 0; lane_i < CPU_SUPER; lane_i++) {
        const int32_t atom = d->atom_of[CPU_SUPER * super + lane_i];

        if (atom < 0) continue;
        for (k = s->excl_start[atom]; k < s->excl_start[atom + 1]; k++) {
            const int32_t  slot = d->slot_of[s->excl[k]];
            const uint32_t bit = 1u << (4 * lane_i + slot % CPU_CLUSTER);

            if (set)
                lane->excluded[slot / CPU_CLUSTER] |= bit;
            else
                lane->excluded[slot / CPU_CLUSTER] = 0;
        }
    }
}

/// -1, 0, 1: which of an image and its opposite stands for both.
static int image_sign(const int8_t image[3])
{
    int k;

    for (k = 0; k < 3; k++)
        if (image[k]) return image[k] > 0 ? 1 : -1;
    return 0;
}

/// Pairs of a super with its own clusters that another image of them stands for, as excluded bits. Cluster B against A is A
/// against B at the opposite image.
static void mark_self(uint32_t own[2], int sign)
{
    enum { UPPER = 0x08ce }; // bits 4 i + j with j > i
    const uint32_t self = sign > 0 ? 0xffff : sign < 0 ? 0 : UPPER;

    own[0] |= ~self;
    own[1] |= ~(0xffff | self << 16);
}

/// An entry of n clusters j of one region.
static mds_status add_entry(cpu_lane *lane, cpu_chunk *chunk, int32_t super, const int8_t image[3], const int32_t *j, int32_t n)
{
    MDS_TRY(mds_grow(&chunk->entry, &chunk->cap_entry, chunk->n_entries + 1, sizeof *chunk->entry));
    const size_t tiles = chunk->n_tiles + (size_t)n + CPU_TILES_BEYOND; // a fifth of a run's memory: little room to spare
    MDS_TRY(mds_reserve(&chunk->tile, &chunk->cap_tile, tiles, tiles / 8, sizeof *chunk->tile));
    cpu_entry *entry = &chunk->entry[chunk->n_entries++];
    cpu_tile  *tile = chunk->tile + chunk->n_tiles;

    *entry = (cpu_entry){.first = (int64_t)chunk->n_tiles,
                         .super = super,
                         .image = {image[0], image[1], image[2]},
                         .n = n,
                         .weight = CPU_WEIGHT_PRUNE + n};
    for (int32_t k = 0; k < n; k++) {
        const uint32_t excluded = lane->excluded[j[k]];

        tile[k] = (cpu_tile){j[k], ~excluded};
        if (excluded) { // seldom
            const cpu_tile swap = tile[k];

            tile[k] = tile[entry->n_masked];
            tile[entry->n_masked++] = swap;
        }
    }
    chunk->n_tiles += (size_t)n;
    return MDS_OK;
}

/// The clusters found for a super and an image into the chunk, one entry for each region.
static mds_status add_entries(mds_device *d, cpu_lane *lane, cpu_chunk *chunk, int32_t super, const int8_t image[3], int32_t n)
{
    const cpu_list *list = d->list;
    const int64_t  *region = list->region;
    int32_t         left = n, k;

    if (list->one_region) return n ? add_entry(lane, chunk, super, image, lane->found, n) : MDS_OK;
    while (left) {
        const int64_t first = region[lane->found[0] / 2];
        const int32_t here = left;
        int64_t       differ = 0;
        int32_t       same = 0;

        for (k = 0; k < here; k++) differ |= region[lane->found[k] / 2] ^ first;
        if (!differ) return add_entry(lane, chunk, super, image, lane->found, here);
        for (k = 0, left = 0; k < here; k++) { // no branch
            const int32_t j = lane->found[k];
            const bool    is_same = region[j / 2] == first;

            lane->region[same] = lane->found[left] = j;
            same += is_same;
            left += !is_same;
        }
        MDS_TRY(add_entry(lane, chunk, super, image, lane->region, same));
    }
    return MDS_OK;
}

/// Column of a coordinate along axis k (0, 1): a monotonous map, clamped, so that a range of coordinates is a range of columns. As in order.c.
static int32_t column_index(const cpu_list *list, int k, double w)
{
    return mds_cpu_clamped((w / list->length[k] + 0.5) * list->n_column[k], list->n_column[k]);
}

static int32_t up_to(int32_t a, int32_t most)
{
    return a < most ? a : most;
}

/// Box and bins of one column.
static void set_column(cpu_list *list, int32_t c)
{
    const cpu_columns *columns = &list->columns;
    const int32_t      end = columns->start[c + 1];
    int32_t           *reaching = columns->reaching + (size_t)c * (size_t)(columns->n_bins + 1), j, b;

    for (int k = 0; k < 2; k++) {
        float low = 3e18f, high = -3e18f;

        for (j = columns->start[c]; j < end; j++) {
            const float lo = list->bounds[k][j], hi = list->bounds[3 + k][j];

            low = lo < low ? lo : low;
            high = hi > high ? hi : high;
        }
        columns->box[2 * k][c] = low;
        columns->box[2 * k + 1][c] = high;
    }
    reaching[0] = j = columns->start[c];
    for (b = 1; b < columns->n_bins; b++) {
        const float edge = (float)(list->length[2] * ((double)b / columns->n_bins - 0.5));

        while (j < end && list->bounds[5][j] < edge) j++;
        reaching[b] = j;
    }
    reaching[columns->n_bins] = end;
}

mds_status mds_cpu_list_columns(mds_device *d)
{
    enum { PER_CLUSTER = 2 }; // bins
    cpu_list     *list = d->list;
    cpu_columns  *columns = &list->columns;
    const int32_t n = list->n_column[0] * list->n_column[1], per_column = 2 * list->n_supers / n + 1;
    int32_t       c;

    columns->n_bins = PER_CLUSTER * per_column;
    columns->bin = (float)(columns->n_bins / list->length[2]);
    columns->at0 = 0.5f * (float)columns->n_bins;
    columns->start = list->column_start;
    MDS_CHECK((double)n * (columns->n_bins + 1) < INT32_MAX, MDS_E_UNSUPPORTED, "%d columns of atoms are too many", (int)n);
    MDS_TRY(mds_grow(&columns->reaching, &list->cap_reaching, (size_t)n * (size_t)(columns->n_bins + 1), sizeof *columns->reaching));
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (c = 0; c < n; c++) set_column(list, c);
    return MDS_OK;
}

int32_t mds_cpu_list_near(const mds_device *d, cpu_lane *lane, const cpu_near *query, const double lo[3],
                          const double hi[3], double radius, int32_t least)
{
    const cpu_list *list = d->list;
    const int32_t   nx = list->n_column[0];
    const int32_t   x0 = column_index(list, 0, lo[0] - radius);
    const int32_t   x1 = up_to(column_index(list, 0, hi[0] + radius) + 1, nx - 1); // an atom may have been passed on by one (order.c)
    const int32_t   y0 = column_index(list, 1, lo[1] - radius), y1 = column_index(list, 1, hi[1] + radius);
    int32_t         y, n = 0;

    for (y = y0; y <= y1; y++) {
        const int32_t c = y * nx;

        if (list->column_start[c + x1 + 1] > least)
            n += list->isa->columns(query, &list->columns, c + x0, c + x1 + 1, least, lane->run + n);
    }
    return list->isa->near(query, lane->run, n, lane->found);
}

/// Box around both clusters, nm from the centre. The bounds of an empty cluster do not count.
static void super_box(const cpu_list *list, int32_t super, double lo[3], double hi[3])
{
    const int32_t a = 2 * super;
    int           k;

    for (k = 0; k < 3; k++) {
        const float low[2] = {list->bounds[k][a], list->bounds[k][a + 1]};
        const float high[2] = {list->bounds[3 + k][a], list->bounds[3 + k][a + 1]};

        lo[k] = (double)(low[1] < low[0] ? low[1] : low[0]);
        hi[k] = (double)(high[1] > high[0] ? high[1] : high[0]);
    }
}

/// A super on its way into the list.
typedef struct {
    mds_device *d;
    cpu_lane   *lane;
    cpu_chunk  *chunk;
    int32_t     super;
    double      lo[3], hi[3], radius;
} building;

/// All tiles of a super at one image.
static mds_status build_image(void *arg, const int32_t n[3])
{
    building       *b = arg;
    const cpu_list *list = b->d->list;
    const double(*h)[3] = b->d->box.a;
    const int8_t image[3] = {(int8_t)n[0], (int8_t)n[1], (int8_t)n[2]};
    uint32_t    *own = b->lane->excluded + 2 * b->super;
    const uint32_t kept[2] = {own[0], own[1]};
    double       low[3], high[3];
    cpu_near     query = {.bounds = list->bounds, .radius2 = (float)(b->radius * b->radius)};
    int          k;

    for (k = 0; k < 3; k++) {
        const double shift = n[0] * h[0][k] + n[1] * h[1][k] + n[2] * h[2][k];

        low[k] = b->lo[k] + shift;
        high[k] = b->hi[k] + shift;
        query.box[k] = (float)low[k];
        query.box[3 + k] = (float)high[k];
    }
    const int32_t found = mds_cpu_list_near(b->d, b->lane, &query, low, high, b->radius, 2 * b->super);
    mark_self(own, image_sign(image));
    MDS_TRY(add_entries(b->d, b->lane, b->chunk, b->super, image, found));
    memcpy(own, kept, sizeof kept);
    return MDS_OK;
}

static int32_t whole_below(double a)
{
    const int32_t n = (int32_t)a; // floor is a call where the base level has no rounding

    return n - (a < n);
}

/// Range of whole numbers n for which [lo, hi] + n a comes within radius of the brick along an axis; inverse: 1/a.
static void image_range(double lo, double hi, double inverse, double length, double radius, int32_t range[2])
{
    range[0] = -whole_below((0.5 * length + radius + hi) * inverse);
    range[1] = whole_below((0.5 * length + radius - lo) * inverse);
}

/// Rows of the box are lower triangular, so z settles n_c, then y n_b, then x n_a.
mds_status mds_cpu_list_images(const cpu_list *list, const mds_box *box, const double lo[3], const double hi[3], double radius,
                               cpu_visit_image visit, void *arg)
{
    const double(*h)[3] = box->a;
    int32_t n[3], c[2], b[2], a[2];
    double  inverse[3];

    for (int k = 0; k < 3; k++) inverse[k] = h[k][k] > 0 ? 1 / h[k][k] : 0;
    image_range(lo[2], hi[2], inverse[2], list->length[2], radius, c);
    for (n[2] = c[0]; n[2] <= c[1]; n[2]++) {
        const double y = n[2] * h[2][1];

        image_range(lo[1] + y, hi[1] + y, inverse[1], list->length[1], radius, b);
        for (n[1] = b[0]; n[1] <= b[1]; n[1]++) {
            const double x = n[2] * h[2][0] + n[1] * h[1][0];

            image_range(lo[0] + x, hi[0] + x, inverse[0], list->length[0], radius, a);
            for (n[0] = a[0]; n[0] <= a[1]; n[0]++) MDS_TRY(visit(arg, n));
        }
    }
    return MDS_OK;
}

/// All entries of a super: every image of it that comes near the brick.
static mds_status build_super(mds_device *d, cpu_lane *lane, cpu_chunk *chunk, int32_t super)
{
    building b = {.d = d, .lane = lane, .chunk = chunk, .super = super};

    // boxes are floats from the centre: their rounding grows with the extent of the system
    b.radius = d->list->radius_outer + 2 * CPU_ROUNDING + 1e-6 * d->list->extent;
    super_box(d->list, super, b.lo, b.hi);
    mark_excluded(d, lane, super, true);
    MDS_TRY(mds_cpu_list_images(d->list, &d->box, b.lo, b.hi, b.radius, build_image, &b));
    mark_excluded(d, lane, super, false);
    return MDS_OK;
}

static mds_status build_chunk(mds_device *d, cpu_lane *lane, size_t index)
{
    cpu_chunk    *chunk = &d->list->chunk[index];
    const int32_t first = (int32_t)index * CPU_CHUNK;
    int32_t       super;

    chunk->n_entries = chunk->n_tiles = 0;
    if (!chunk->tile) MDS_TRY(mds_reserve(&chunk->tile, &chunk->cap_tile, lane->tiles, lane->tiles / 16, sizeof *chunk->tile));
    for (super = first; super < first + CPU_CHUNK && super < d->list->n_supers; super++)
        MDS_TRY(build_super(d, lane, chunk, super));
    lane->tiles = chunk->n_tiles + CPU_TILES_BEYOND;
    return MDS_OK;
}

/// One more of the numbers from *next on, which several threads take.
static size_t take(size_t *next)
{
    size_t taken;

#pragma omp atomic capture
    taken = (*next)++;
    return taken;
}

/// Thread t's part of the building: what is beside first, then chunks of its own, which it will prune too and whose atoms it has put in
/// order, then those that others have not got to.
static mds_status build_share(mds_device *d, int t, size_t n_beside, const cpu_beside *beside, size_t *begun)
{
    mds_status status = MDS_OK;
    size_t     c;

    while ((c = take(begun)) < n_beside)
        if (beside[c](d) != MDS_OK) status = MDS_E_MEMORY;
    for (int k = 0; k < d->n_threads; k++) {
        cpu_lane *of = &d->list->lane[(t + k) % d->n_threads];

        while ((c = take(&of->next_chunk)) < of->last_chunk)
            if (build_chunk(d, &d->list->lane[t], c) != MDS_OK) status = MDS_E_MEMORY;
    }
    return status;
}

/// Entries, tiles and masked tiles of a thread.
typedef struct {
    size_t parts, j, mask;
} share;

/// End thread t's share before entry e of chunk c, where the next thread begins; room for the inner list.
static mds_status close_share(mds_device *d, int t, size_t c, size_t e, share *s)
{
    cpu_lane *lane = &d->list->lane[t];

    lane->end_chunk = c;
    lane->end_entry = e;
    if (t + 1 < d->n_threads) {
        lane[1].first_chunk = c;
        lane[1].first_entry = e;
    }
    MDS_TRY(mds_reserve(&lane->inner.part, &lane->cap_part, s->parts, s->parts / 16, sizeof *lane->inner.part));
    // prune writes whole vectors, kernels look ahead
    MDS_TRY(mds_reserve(&lane->inner.j, &lane->cap_j, s->j + CPU_TILES_BEYOND, s->j / 16, sizeof *lane->inner.j));
    MDS_TRY(mds_grow(&lane->inner.mask, &lane->cap_mask, s->mask + CPU_TILES_BEYOND, sizeof *lane->inner.mask));
    *s = (share){0};
    return MDS_OK;
}

mds_status mds_cpu_list_deal(mds_device *d)
{
    cpu_list *list = d->list;
    double    total = 0, sum = 0;
    share     s = {0};
    size_t    c, e;
    int       t = 0;

    for (c = 0; c < list->n_chunks; c++)
        for (e = 0; e < list->chunk[c].n_entries; e++) total += list->chunk[c].entry[e].weight;
    list->lane[0].first_chunk = list->lane[0].first_entry = 0;
    for (c = 0; c < list->n_chunks; c++)
        for (e = 0; e < list->chunk[c].n_entries; e++) {
            const cpu_entry *entry = &list->chunk[c].entry[e];

            while (t + 1 < d->n_threads && sum >= total * (t + 1) / d->n_threads)
                MDS_TRY(close_share(d, t++, c, e, &s));
            sum += entry->weight;
            s.parts++;
            s.j += (size_t)entry->n;
            s.mask += (size_t)entry->n_masked;
        }
    for (; t < d->n_threads; t++) MDS_TRY(close_share(d, t, list->n_chunks, 0, &s));
    return MDS_OK;
}

mds_status mds_cpu_list_build(mds_device *d, size_t n_beside, const cpu_beside *beside)
{
    cpu_list    *list = d->list;
    const size_t n_clusters = (size_t)d->n_clusters, n_columns = (size_t)list->n_column[0] * (size_t)list->n_column[1];
    size_t       begun = 0;
    bool         failed = false;
    int          t;

    list->n_chunks = ((size_t)list->n_supers + CPU_CHUNK - 1) / CPU_CHUNK;
    MDS_TRY(mds_grow(&list->chunk, &list->cap_chunk, list->n_chunks, sizeof *list->chunk));
    for (t = 0; t < d->n_threads; t++) {
        cpu_lane *lane = &list->lane[t];

        MDS_TRY(mds_grow(&lane->excluded, &lane->cap_excluded, n_clusters, sizeof *lane->excluded));
        MDS_TRY(mds_grow(&lane->run, &lane->cap_run, n_columns + 16, sizeof *lane->run));
        MDS_TRY(mds_grow(&lane->found, &lane->cap_found, n_clusters + 16, sizeof *lane->found));
        MDS_TRY(mds_grow(&lane->region, &lane->cap_region, n_clusters + 16, sizeof *lane->region));
        lane->next_chunk = list->n_chunks * (size_t)t / (size_t)d->n_threads;
        lane->last_chunk = list->n_chunks * ((size_t)t + 1) / (size_t)d->n_threads;
    }
#pragma omp parallel for schedule(static, 1) num_threads(d->n_threads) reduction(| : failed)
    for (t = 0; t < d->n_threads; t++) failed |= build_share(d, t, n_beside, beside, &begun) != MDS_OK;
    MDS_CHECK(!failed, MDS_E_MEMORY, "out of memory for the pair list"); // the message stayed with the thread
    list->boxes_only = true;
    return mds_cpu_list_deal(d);
}
