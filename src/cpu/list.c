// SPDX-License-Identifier: Apache-2.0
// The outer pair list: for every super, the clusters within list_radius, and the masks of what must not interact.
//
// Each pair of clusters (c, d, image) occurs once: with d > c at any image, or d = c at the images whose first non-zero
// number is positive; c with itself at image 0 keeps the upper triangle of the tile. Every image that comes near enough is
// taken, so that only the cut-off, not the list radius, must fit into half the box.
//
// Steps for a super: mark its excluded partners; for each image, rows of columns give contiguous runs of clusters; boxes
// around clusters are compared first, then exact distances (trim). Tiles whose j lie in different regions go to
// different entries, because an entry has one translation. Chunks of supers are built in parallel into arrays of their
// own; their order, and so the list, does not depend on threads. Finally entries are dealt to threads by weight, contiguous.
#include "cpu/list.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

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
        mds_free(lane->found);
    }
    mds_free(list->lane);
}

void mds_cpu_list_translation(const cpu_list *list, const int8_t image[3], int32_t super, int32_t other, double t[3])
{
    const double(*h)[3] = list->box.a;
    int k;

    for (k = 0; k < 3; k++)
        t[k] = image[0] * h[0][k] + image[1] * h[1][k] + image[2] * h[2][k] + list->origin[super][k] -
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

/// Masks of n tiles found near A (bit 0 of what near gives), B (bit 1), into place; empty ones go. Returns how many stay.
static int32_t set_masks(cpu_lane *lane, int32_t super, int sign, int32_t n)
{
    enum { UPPER = 0x08ce }; // bits 4 i + j with j > i
    const uint32_t self = sign > 0 ? 0xffff : sign < 0 ? 0 : UPPER;
    cpu_tile      *found = lane->found;
    int32_t        k, left = 0;

    for (k = 0; k < n; k++) {
        const int32_t  j = found[k].j;
        const uint32_t a = found[k].mask & 1, b = found[k].mask >> 1;
        uint32_t       mask = ((0u - a) >> 16 | (0u - b) << 16) & ~lane->excluded[j];

        if (j < 2 * super + 2) // the super itself; cluster B against A is A against B at the opposite image
            mask &= j == 2 * super ? self : 0xffff | self << 16;
        found[left].j = j;
        found[left].mask = mask;
        left += mask != 0;
    }
    return left;
}

/// Cost of a tile and of an entry, in units of an eighth of half a tile's arithmetic.
enum { WEIGHT_HALF = 8, WEIGHT_TILE = 5, WEIGHT_ENTRY = 40 };

/// Exact distances; then the entry's numbers. Leaves no entry if nothing is left.
static void finish_entry(mds_device *d, cpu_chunk *chunk, cpu_entry *entry)
{
    cpu_list       *list = d->list;
    cpu_tile       *tile = chunk->tile + entry->first;
    double          t[3];
    const float     r = (float)(list->radius_outer + CPU_ROUNDING);
    const cpu_exact query = {.xq = d->xq, .radius2 = r * r, .t = t, .super = entry->super};
    int32_t         k, halves = 0;

    mds_cpu_list_translation(list, entry->image, entry->super, tile[0].j / 2, t);
    entry->n = list->isa->trim(&query, tile, entry->n);
    chunk->n_tiles = (size_t)entry->first + (size_t)entry->n;
    for (k = 0; k < entry->n; k++) {
        const uint16_t a = (uint16_t)tile[k].mask, b = (uint16_t)(tile[k].mask >> 16);

        halves += (a != 0) + (b != 0);
        entry->n_masked += (uint16_t)(a - 1) < 0xfffe || (uint16_t)(b - 1) < 0xfffe; // a half neither empty nor full
    }
    entry->weight = WEIGHT_ENTRY + WEIGHT_TILE * entry->n + WEIGHT_HALF * halves;
    if (entry->n) chunk->n_entries++;
}

/// Tiles found for a super and an image into the chunk, one entry for each region.
static mds_status add_entries(mds_device *d, cpu_lane *lane, cpu_chunk *chunk, int32_t super, const int8_t image[3],
                              int32_t n)
{
    const cpu_list *list = d->list;
    int32_t         left = set_masks(lane, super, image_sign(image), n), k;

    while (left) {
        const double *origin = list->origin[lane->found[0].j / 2];
        const int32_t here = left;

        MDS_TRY(mds_grow(&chunk->entry, &chunk->cap_entry, chunk->n_entries + 1, sizeof *chunk->entry));
        MDS_TRY(mds_grow(&chunk->tile, &chunk->cap_tile, chunk->n_tiles + (size_t)left + 16, sizeof *chunk->tile));
        cpu_entry *entry = &chunk->entry[chunk->n_entries];

        *entry = (cpu_entry){.first = (int64_t)chunk->n_tiles, .super = super, .image = {image[0], image[1], image[2]}};
        if (list->one_region) {
            memcpy(chunk->tile + chunk->n_tiles, lane->found, (size_t)left * sizeof *lane->found);
            chunk->n_tiles += (size_t)left;
            entry->n = left;
            left = 0;
        }
        for (k = 0, left = 0; k < here && !list->one_region; k++) {
            const cpu_tile tile = lane->found[k];

            if (!memcmp(list->origin[tile.j / 2], origin, sizeof list->origin[0]))
                chunk->tile[chunk->n_tiles++] = tile, entry->n++;
            else
                lane->found[left++] = tile;
        }
        finish_entry(d, chunk, entry);
    }
    return MDS_OK;
}

/// Column of a coordinate along axis k (0, 1): a monotonous map, clamped, so that a range of coordinates is a range of columns.
static int32_t column_index(const cpu_list *list, int k, double w)
{
    const double  s = floor((w / list->length[k] + 0.5) * list->n_column[k]);
    const int32_t last = list->n_column[k] - 1;

    return s <= 0 ? 0 : s >= last ? last : (int32_t)s;
}

/// First cluster of [j0, j1) in one column whose box reaches up to z, and first whose box begins beyond it.
static int32_t first_reaching(const float *bound, int32_t j0, int32_t j1, float z)
{
    while (j0 < j1) {
        const int32_t middle = j0 + (j1 - j0) / 2;

        if (bound[middle] < z)
            j0 = middle + 1;
        else
            j1 = middle;
    }
    return j0;
}

int32_t mds_cpu_list_near(const mds_device *d, cpu_lane *lane, const cpu_near *query, const double lo[3],
                          const double hi[3], double radius, int32_t least)
{
    enum { LONG_COLUMN = 32 }; // clusters: from there on, look for the part of a column that is near along z
    const cpu_list *list = d->list;
    const int32_t   nx = list->n_column[0];
    const int32_t   x0 = column_index(list, 0, lo[0] - radius), x1 = column_index(list, 0, hi[0] + radius);
    const int32_t   y0 = column_index(list, 1, lo[1] - radius), y1 = column_index(list, 1, hi[1] + radius);
    const bool      is_long = d->n_clusters / (list->n_column[0] * list->n_column[1]) > LONG_COLUMN;
    int32_t         x, y, n = 0;

    for (y = y0; y <= y1; y++) {
        const int32_t *start = list->column_start + (size_t)y * (size_t)nx;

        if (start[x1 + 1] <= least) continue;
        if (!is_long) {
            const int32_t j0 = start[x0] > least ? start[x0] : least;

            n += list->isa->near(query, j0, start[x1 + 1], lane->found + n);
            continue;
        }
        for (x = x0; x <= x1; x++) {
            int32_t j0 = start[x] > least ? start[x] : least;

            if (j0 >= start[x + 1]) continue;
            j0 = first_reaching(list->bounds[5], j0, start[x + 1], (float)(lo[2] - radius));
            n += list->isa->near(query, j0, first_reaching(list->bounds[2], j0, start[x + 1], (float)(hi[2] + radius)),
                                 lane->found + n);
        }
    }
    return n;
}

/// Box around both clusters, nm from the centre. The bounds of an empty cluster do not count.
static void super_box(const cpu_list *list, int32_t super, double lo[3], double hi[3])
{
    const int32_t a = 2 * super;
    int           k;

    for (k = 0; k < 3; k++) {
        lo[k] = fmin((double)list->bounds[k][a], (double)list->bounds[k][a + 1]);
        hi[k] = fmax((double)list->bounds[3 + k][a], (double)list->bounds[3 + k][a + 1]);
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
    double       low[3], high[3];
    cpu_near     query = {.bounds = list->bounds, .radius2 = (float)(b->radius * b->radius)};
    int          k, half;

    for (k = 0; k < 3; k++) {
        const double shift = n[0] * h[0][k] + n[1] * h[1][k] + n[2] * h[2][k];

        low[k] = b->lo[k] + shift;
        high[k] = b->hi[k] + shift;
        for (half = 0; half < 2; half++) {
            query.box[half][k] = (float)((double)list->bounds[k][2 * b->super + half] + shift);
            query.box[half][3 + k] = (float)((double)list->bounds[3 + k][2 * b->super + half] + shift);
        }
    }
    return add_entries(b->d, b->lane, b->chunk, b->super, image,
                       mds_cpu_list_near(b->d, b->lane, &query, low, high, b->radius, 2 * b->super));
}

/// Range of whole numbers n for which [lo, hi] + n a comes within radius of the brick along an axis.
static void image_range(double lo, double hi, double a, double length, double radius, int32_t range[2])
{
    range[0] = a > 0 ? (int32_t)ceil((-0.5 * length - radius - hi) / a) : 0;
    range[1] = a > 0 ? (int32_t)floor((0.5 * length + radius - lo) / a) : 0;
}

/// Rows of the box are lower triangular, so z settles n_c, then y n_b, then x n_a.
mds_status mds_cpu_list_images(const cpu_list *list, const mds_box *box, const double lo[3], const double hi[3], double radius,
                               cpu_visit_image visit, void *arg)
{
    const double(*h)[3] = box->a;
    int32_t n[3], c[2], b[2], a[2];

    image_range(lo[2], hi[2], h[2][2], list->length[2], radius, c);
    for (n[2] = c[0]; n[2] <= c[1]; n[2]++) {
        const double y = n[2] * h[2][1];

        image_range(lo[1] + y, hi[1] + y, h[1][1], list->length[1], radius, b);
        for (n[1] = b[0]; n[1] <= b[1]; n[1]++) {
            const double x = n[2] * h[2][0] + n[1] * h[1][0];

            image_range(lo[0] + x, hi[0] + x, h[0][0], list->length[0], radius, a);
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
    for (super = first; super < first + CPU_CHUNK && super < d->list->n_supers; super++)
        MDS_TRY(build_super(d, lane, chunk, super));
    return MDS_OK;
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
    MDS_TRY(mds_grow(&lane->inner.part, &lane->cap_part, s->parts, sizeof *lane->inner.part));
    MDS_TRY(mds_grow(&lane->inner.j, &lane->cap_j, s->j + 1, sizeof *lane->inner.j)); // one for what prune drops
    MDS_TRY(mds_grow(&lane->inner.mask, &lane->cap_mask, s->mask, sizeof *lane->inner.mask));
    *s = (share){0};
    return MDS_OK;
}

/// Deal the entries to threads, contiguous and about equal in weight.
static mds_status deal(mds_device *d)
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

mds_status mds_cpu_list_build(mds_device *d)
{
    cpu_list    *list = d->list;
    const size_t n_clusters = (size_t)d->n_clusters;
    size_t       c;
    int          t;

    list->n_chunks = ((size_t)list->n_supers + CPU_CHUNK - 1) / CPU_CHUNK;
    MDS_TRY(mds_grow(&list->chunk, &list->cap_chunk, list->n_chunks, sizeof *list->chunk));
    for (t = 0; t < d->n_threads; t++) {
        cpu_lane *lane = &list->lane[t];

        MDS_TRY(mds_grow(&lane->excluded, &lane->cap_excluded, n_clusters, sizeof *lane->excluded));
        MDS_TRY(mds_grow(&lane->found, &lane->cap_found, n_clusters + 16, sizeof *lane->found));
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(d->n_threads)
    for (c = 0; c < list->n_chunks; c++) {
#ifdef _OPENMP
        cpu_lane *lane = &list->lane[omp_get_thread_num()];
#else
        cpu_lane *lane = list->lane;
#endif
        list->chunk[c].status = build_chunk(d, lane, c);
    }
    for (c = 0; c < list->n_chunks; c++) // the message stayed with the thread
        MDS_CHECK(list->chunk[c].status == MDS_OK, list->chunk[c].status, "out of memory for the pair list");
    return deal(d);
}
