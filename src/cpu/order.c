// SPDX-License-Identifier: Apache-2.0
// Order: atoms by column, each column by z, and where supers end.
//
// An atom's key is one word, its z above its id: as numbers, keys sort by z and then by atom id, whatever order they come in. So the
// order depends on positions and input index alone. A column is cut into supers of 8 = two clusters of 4; what is left
// over would have to be filled up with padding, which costs what atoms cost. So along each row of columns every one passes those of its atoms
// that are nearest to the next one on to it, until only whole supers are left; the last one of the row is padded. On
// DHFR that is 2 in 100 fewer clusters, hardly wider ones. A column then holds atoms of its own and of the one before it.
//
// A super is about a cube, and its lower and upper four need not be its best halves: of the 35 ways to deal its eight atoms to two
// clusters the one is taken whose clusters are farthest apart, which is the one whose atoms are closest together. On water
// that is 3 in 100 fewer pairs of atoms in the list. Within a cluster, atoms with LJ parameters come first (isa_pair.c).
#include "cpu/list.h"

#include <string.h>

/// A key that sorts by z, then by atom id.
static uint64_t key_of(float z, int32_t atom)
{
    uint32_t bits;

    memcpy(&bits, &z, sizeof bits);
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return (uint64_t)bits << 32 | (uint32_t)atom;
}

static float z_of_key(uint64_t key)
{
    uint32_t bits = (uint32_t)(key >> 32);
    float    z;

    bits ^= bits >> 31 ? 0x80000000u : 0xffffffffu;
    memcpy(&z, &bits, sizeof z);
    return z;
}

/// a[0..na) and b[0..nb), both sorted, into `to`.
static void merge(const uint64_t *a, int32_t na, const uint64_t *b, int32_t nb, uint64_t *to)
{
    int32_t i = 0, j = 0;

    while (i < na && j < nb) {
        const uint64_t p = a[i], q = b[j];
        const bool     second = q < p; // no branch: cannot be foreseen

        to[i + j] = second ? q : p;
        i += !second;
        j += second;
    }
    to += i + j;
    memcpy(to, a + i, (size_t)(na - i) * sizeof *to);
    memcpy(to + (na - i), b + j, (size_t)(nb - j) * sizeof *to);
}

/// Merge sort of short runs that were sorted by insertion; `swap` is room for as many.
static void sort_keys(uint64_t *key, uint64_t *swap, int32_t n)
{
    enum { RUN = 8 };
    uint64_t *from = key, *to = swap;
    int32_t   start, run, k, l;

    for (start = 0; start < n; start += RUN)
        for (k = start + 1; k < n && k < start + RUN; k++) {
            const uint64_t here = key[k];

            for (l = k; l > start && key[l - 1] > here; l--) key[l] = key[l - 1];
            key[l] = here;
        }
    for (run = RUN; run < n; run *= 2) {
        for (start = 0; start < n; start += 2 * run) {
            const int32_t middle = start + run < n ? start + run : n, end = middle + run < n ? middle + run : n;

            merge(from + start, middle - start, from + middle, end - middle, to + start);
        }
        uint64_t *other = from;
        from = to;
        to = other;
    }
    if (from != key) memcpy(key, from, (size_t)n * sizeof *key);
}

static const float *place_of(const mds_device *d, uint64_t key)
{
    return d->list->place[d->slot_of[mds_cpu_key_atom(key)]].w;
}

/// Of n keys of one column, those of the r atoms that are highest along x, atom id where they are level, to the end. x: room for n.
static void highest_last(const mds_device *d, uint64_t *key, uint64_t *x, int32_t n, int32_t r)
{
    uint64_t best[CPU_SUPER] = {0}; // the r highest so far, ascending
    int32_t  i, k;

    for (i = 0; i < n; i++) {
        const int32_t atom = mds_cpu_key_atom(key[i]);

        x[i] = key_of(place_of(d, key[i])[0], atom);
        if (x[i] <= best[0]) continue;
        for (k = 0; k + 1 < r && best[k + 1] < x[i]; k++) best[k] = best[k + 1];
        best[k] = x[i];
    }
    for (i = n - 1, k = n; i >= 0; i--)
        if (x[i] >= best[0]) {
            const uint64_t swap = key[--k];

            key[k] = key[i];
            key[i] = swap;
        }
}

/// In a row of columns along x, from each one to the next what it has beyond whole supers: no padding then, but in the last. So that no atom
/// goes farther than one column, only those with atoms enough pass any on.
static void level_row(mds_device *d, int32_t *start)
{
    enum { ENOUGH = 2 * CPU_SUPER };
    cpu_list *list = d->list;

    for (int32_t c = 0, own = start[0]; c + 1 < list->n_column[0]; c++) {
        const int32_t first = own, end = start[c + 1], r = (end - start[c]) % CPU_SUPER;

        own = end;
        if (end - first < ENOUGH || r == 0) continue;
        highest_last(d, list->key + first, list->key_swap + first, end - first, r);
        start[c + 1] = end - r;
    }
}

int32_t mds_cpu_order_share(const mds_device *d, int t)
{
    const int32_t *key = d->list->column_key, first = (int32_t)((int64_t)d->n_atoms * t / d->n_threads);
    int32_t        low = 0, high = d->list->n_column[0] * d->list->n_column[1];

    if (t >= d->n_threads) return high; // columns at the end may be empty
    while (low < high) {
        const int32_t middle = (low + high) / 2;

        if (key[middle] < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

mds_status mds_cpu_order_sort(mds_device *d)
{
    cpu_list     *list = d->list;
    const int32_t nx = list->n_column[0], ny = list->n_column[1], n_columns = nx * ny;
    const double  scale[2] = {nx / list->length[0], ny / list->length[1]};
    int32_t       slot, c;

    if (!list->key) MDS_TRY(mds_alloc(&list->key, (size_t)d->n_atoms, sizeof *list->key));
    if (!list->key_swap) MDS_TRY(mds_alloc(&list->key_swap, (size_t)d->n_atoms, sizeof *list->key_swap));
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (slot = 0; slot < d->n_slots; slot++) { // as column_index in list.c
        cpu_place *at = &list->place[slot];

        if (d->atom_of[slot] >= 0)
            at->column = mds_cpu_clamped((double)at->w[1] * scale[1] + 0.5 * ny, ny) * nx + mds_cpu_clamped((double)at->w[0] * scale[0] + 0.5 * nx, nx);
    }
    memset(list->column_key, 0, ((size_t)n_columns + 1) * sizeof *list->column_key);
    for (slot = 0; slot < d->n_slots; slot++)
        if (d->atom_of[slot] >= 0) list->column_key[list->place[slot].column + 1]++;
    for (c = 0; c < n_columns; c++) list->column_key[c + 1] += list->column_key[c];
    for (slot = 0; slot < d->n_slots; slot++) {
        const cpu_place *at = &list->place[slot];

        if (d->atom_of[slot] >= 0) list->key[list->column_key[at->column]++] = key_of(at->w[2], d->atom_of[slot]);
    }
    for (c = n_columns; c > 0; c--) list->column_key[c] = list->column_key[c - 1];
    list->column_key[0] = 0;
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (c = 0; c < ny; c++) level_row(d, list->column_key + (size_t)c * (size_t)nx);
#pragma omp parallel for schedule(static, 1) num_threads(d->n_threads)
    for (int t = 0; t < d->n_threads; t++)
        for (int32_t k = mds_cpu_order_share(d, t); k < mds_cpu_order_share(d, t + 1); k++)
            sort_keys(list->key + list->column_key[k], list->key_swap + list->column_key[k], list->column_key[k + 1] - list->column_key[k]);
    return MDS_OK;
}

int32_t mds_cpu_order_length(const mds_device *d, const uint64_t *first, int32_t n)
{
    const float reach = (float)CPU_REACH;
    float       lo[3], hi[3];
    int32_t     i;
    int         k;

    if (n > CPU_SUPER) n = CPU_SUPER;
    while (z_of_key(first[n - 1]) - z_of_key(first[0]) > reach) n--;
    if (d->list->narrow) return n;
    memcpy(lo, place_of(d, first[0]), sizeof lo);
    memcpy(hi, lo, sizeof hi);
    for (i = 1; i < n; i++) {
        const float *w = place_of(d, first[i]);

        for (k = 0; k < 2; k++) {
            lo[k] = w[k] < lo[k] ? w[k] : lo[k];
            hi[k] = w[k] > hi[k] ? w[k] : hi[k];
            if (hi[k] - lo[k] > reach) return i;
        }
    }
    return n;
}

/// Which of the eight go with the first one: all sets of four.
static const uint8_t split[35] = {
    15, 23, 27, 29, 39, 43, 45, 51, 53, 57, 71, 75, 77, 83, 85, 89, 99, 101,
    105, 113, 135, 139, 141, 147, 149, 153, 163, 165, 169, 177, 195, 197, 201, 209, 225
};

/// Sums of four places over their 16 choices of signs, + where the bit is set.
static void signed_sums(const float *const w[4], float sum[16][3])
{
    for (int k = 0; k < 3; k++) {
        const float a[4] = {-w[0][k] - w[1][k], w[0][k] - w[1][k], w[1][k] - w[0][k], w[0][k] + w[1][k]};
        const float b[4] = {-w[2][k] - w[3][k], w[2][k] - w[3][k], w[3][k] - w[2][k], w[2][k] + w[3][k]};

        for (int s = 0; s < 16; s++) sum[s][k] = a[s & 3] + b[s >> 2];
    }
}

/// The split whose two centres are farthest apart.
static int best_split(const float *const w[CPU_SUPER])
{
    float low[16][3], high[16][3], most = -1;
    int   best = 0;

    signed_sums(w, low);
    signed_sums(w + 4, high);
    for (int s = 0; s < 35; s++) {
        const float *a = low[split[s] & 15], *b = high[split[s] >> 4];
        const float  x = a[0] + b[0], y = a[1] + b[1], z = a[2] + b[2];
        const float  apart = x * x + y * y + z * z;

        if (apart > most) {
            most = apart;
            best = split[s];
        }
    }
    return best;
}

void mds_cpu_order_deal(const mds_device *d, int32_t slot[CPU_SUPER], int32_t n)
{
    const mds_system *s = d->system;
    const float      *w[CPU_SUPER];
    int32_t           old[CPU_SUPER];
    unsigned          lj = 0, first = 15;
    int32_t           i, at[2][2] = {{0, 0}, {CPU_CLUSTER, CPU_CLUSTER}}; // of either cluster: with LJ, without

    for (i = 0; i < n; i++) {
        w[i] = d->list->place[slot[i]].w;
        lj |= (unsigned)d->list->has_lj[s->type[d->atom_of[slot[i]]]] << i;
    }
    if (n == CPU_SUPER) first = (unsigned)best_split(w);
    at[0][1] += __builtin_popcount(lj & first);
    at[1][1] += __builtin_popcount(lj & ~first);
    memcpy(old, slot, sizeof old);
    for (i = 0; i < n; i++) slot[at[!(first >> i & 1)][!(lj >> i & 1)]++] = old[i];
}
