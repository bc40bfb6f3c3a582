// SPDX-License-Identifier: Apache-2.0
// Private data of the neighbour search: the order of atoms (search.cu), the list (list.cu, sort.cu), its guard (guard.cu), and the
// prefix sums that they share (scan.cu).
#ifndef MDS_CUDA_SEARCH_H
#define MDS_CUDA_SEARCH_H

#include "device.h"

// Float positions are taken from their block's origin and may be this far from the block's first atom, nm: floats below 16 are
// spaced 1e-6 and rounded to half of that.
#define GPU_REACH 8.0
// What float arithmetic may be off by in a distance between two atoms near each other, nm; lists are that much wider.
#define GPU_ROUNDING 4e-6
#define GPU_FARTHEST 1e8 // nm: what is further from the origin is lost

/// The region that is cut into columns, and how. Periodic: the brick [0, ax) x [0, by) x [0, cz), which tiles space as the box
/// does, its rows being lower triangular. Else the bulk of the atoms; the outermost columns and bins reach to infinity.
typedef struct {
    bool    periodic;
    mds_box box;
    double  lo[3], length[3]; // nm
    int     n_column[2], n_bins; // columns along x and y; bins along z of each column
} gpu_brick;

/// A number of rows of counts, each with one place more at its end, summed up in place: what was at k becomes the sum before k.
typedef struct {
    long long *part;  // [rows][parts]
    long long *total; // [rows] sums of whole rows
    size_t     part_room, total_room;
} gpu_scan;

/// Enqueue the sums of data[rows][n + 1]; the place at n, whatever was there, gets the sum of the row (its low 31 bits: s->total has all).
mds_status GPU_NAME(scan)(mds_device *d, gpu_scan *s, int *data, int rows, size_t n);
void       GPU_NAME(scan_close)(gpu_scan *s);

/// An atom on its way into the order.
typedef struct {
    double z;       // nm, in the brick
    float  x, y;
    int    atom, cell;
} gpu_item;
/// An atom in the order of columns and z.
typedef struct __align__(16) {
    float x, y, z;
    int   atom;
} gpu_sorted;

/// Boxes around octets or blocks, nm from the block's origin; nothing in them: lo > hi.
typedef struct {
    float4 *lo, *hi;
} gpu_bounds;

/// The two largest squares of ways, nm^2, of heavy [0] and light [1] atoms.
typedef struct {
    float first[2], second[2];
} gpu_ways;
/// What pruning knows of itself, on the device.
typedef struct {
    int64_t  step;     // of the last pruning
    mds_box  box;      // of then
    int      due;      // in this step: 0 no, 1 for the present positions, 2 for those foreseen
    int      foreseen; // the last one was
    int      fresh;    // none since the search
    int      n_prunes;
    unsigned done;     // blocks of k_ways that have ended
} gpu_prune_state;

/// What the guard has found in this step, on the device; zeros in between.
typedef struct {
    int                n_fast, far, lacks, lost; // lost: n_atoms less the smallest id whose numbers are not finite
    unsigned long long most2[2];                 // bits of the largest squared ways, heavy and light
    unsigned           done;
} gpu_guard_state;

/// A piece of work of the row kernels: one part of the row of an octet, of so many. inverse: 2^32 over their number, rounded up (0: of one).
typedef struct __align__(16) {
    int      octet, part, parts;
    unsigned inverse;
} gpu_row_item;
/// The list as the row kernels read it: a row of entries for every octet, images in the entries.
typedef struct {
    int             n_items, shift; // shift: an entry is 2^shift consecutive slots
    int             most[3];        // images are numbered from -most to most along each box vector
    const gpu_row_item *item;       // [n_items]
    const int      *first;          // [octets] first entry of the row
    const int      *n;              // [octets] entries of the row
    const unsigned *j;              // entries: slot >> shift
    const unsigned short *word;     // [entries << shift] low byte: i atoms that count; high byte: number of the image to take off the j atom
} gpu_rows;
enum { GPU_MOST_IMAGES = 128, GPU_ROW_PAD = 32 }; // rows begin at multiples of the second

/// Memory of one list; a gpu_list is a view of it.
typedef struct {
    gpu_chunk *chunk;
    int       *n;
    unsigned  *j, *allow;
    size_t     chunk_room, n_room, j_room, allow_room;
} gpu_list_memory;

struct gpu_search {
    gpu_brick   brick;
    gpu_scan    scan;
    // order
    double     *bounds;    // [PARTS][6] of all atoms
    int        *coarse;    // counts of coarse cells, for the density; of bins, for the bulk
    gpu_item   *key, *item; // [n_atoms] in atom order and by cell
    int        *arrival;   // [n_atoms] place within its cell in the order of arrival
    gpu_sorted *sorted;    // [n_atoms]
    int        *cell;      // [n_cells + 1] counts, then first items
    int        *column;    // [n_columns + 1] blocks, then first blocks
    int2       *range;     // [n_blocks] first atom in `sorted` and how many
    size_t      cell_room, column_room, range_room;
    // list
    int        *excl_start, *excl; // as in the system
    gpu_bounds  octet, block;      // [4 n_blocks], [n_blocks]
    size_t      octet_room[2], block_room[2];
    double      radius_outer, radius_inner; // nm; HUGE_VAL: every pair
    int        *count;     // [3][n_blocks + 1] chunks, entries, words of a block, then where they begin
    size_t      count_room;
    gpu_list_memory fresh, outer, inner; // fresh: chunks before they are sorted by length
    int        *bin;       // counts of lengths
    size_t      bin_room;
    long long  *totals;    // pinned [3]
    unsigned long long *tally; // [2] device, for figures
    // the list in rows, instead of the other one
    gpu_rows        rows;            // the one to be computed now; n_items 0: the other list is
    gpu_row_item   *row_item;
    int            *row_outer, *row_inner; // entries of every octet's row
    unsigned short *word_outer, *word_inner;
    size_t          row_item_room, row_room[2], word_room[2];
    // inner list
    bool             has_inner;
    float4          *x_prune, *x_ahead; // [n_slots] positions of the last pruning, those expected halfway to the next; w: 1 light, 0 heavy
    size_t           x_prune_room, x_ahead_room;
    gpu_ways        *ways;  // [2 WAYS_SHARES] of every share of slots: from x_prune to now, from now to x_ahead
    gpu_prune_state *prune;
    unsigned         prune_blocks;      // at most
    // guard
    int             *fast;  // [GPU_FAST(n_atoms)] atoms beyond their limits
    gpu_guard_state *guard;
    int64_t     n_searches;
};
#define GPU_FAST(n_atoms) ((n_atoms) / 100 + 8)

/// The list of the present order and positions: d->list.
mds_status GPU_NAME(list_build)(mds_device *d);
mds_status GPU_NAME(list_open)(mds_device *d);
void       GPU_NAME(list_close)(mds_device *d);
mds_status GPU_NAME(prune_open)(mds_device *d);
void       GPU_NAME(prune_close)(mds_device *d);
/// Room for the inner list of the outer one just made, of so many chunks, entries and words, and d->list.
mds_status GPU_NAME(prune_reset)(mds_device *d, const long long total[3]);
/// The outer list in rows.
gpu_rows   GPU_NAME(rows_outer)(const mds_device *d);
/// The same as prune_reset in rows: d->search->rows.
mds_status GPU_NAME(rows_reset)(mds_device *d, const long long total[2]);
mds_status GPU_NAME(guard_open)(mds_device *d);
void       GPU_NAME(guard_close)(mds_device *d);

/// The column or bin, of n, that a coordinate belongs to. Monotonous and clamped, for atoms and for ranges alike.
static __device__ __forceinline__ int gpu_piece(double w, double lo, double length, int n)
{
    return (int)fmin(fmax((w - lo) / length * n, 0.0), (double)(n - 1));
}

/// Numbers n for which [lo, hi] + n a comes within radius of [0, length).
static __device__ __forceinline__ void gpu_image_range(double lo, double hi, double a, double radius, int range[2])
{
    range[0] = a > 0 ? (int)ceil((-radius - hi) / a) : 0;
    range[1] = a > 0 ? (int)floor((a + radius - lo) / a) : 0;
}

#endif
