// SPDX-License-Identifier: Apache-2.0
// The pair list: private to search.c, order.c, copy.c, list.c, pair.c and the kernels. docs/theory/pair.md draws it.
//
// i is a super of 8 atoms (two clusters, A and B), j a cluster of 4. The outer list holds, for every super, periodic
// image and region of space, the clusters j within list_radius as (j, mask) tiles; it lives until the next search. The inner
// list is what of it lies within prune_radius now, one for each thread, sorted into six segments so that a kernel needs no
// branch: j close to A and B, to A alone, to B alone, each first with those tiles that need a mask.
#ifndef MDS_CPU_LIST_H
#define MDS_CPU_LIST_H

#include "cpu/cpu.h"
#include "cpu/isa.h"

enum {
    CPU_SUPER = 8, // atoms of a super
    CPU_CHUNK = 64 // supers whose tiles share one growing array: the grain of building in parallel
};

/// Cost of a part of an entry, of a tile and of each half of it, in units of an eighth of half a tile's arithmetic.
enum { CPU_WEIGHT_HALF = 8, CPU_WEIGHT_TILE = 5, CPU_WEIGHT_ENTRY = 40 };
/// Cost of pruning an entry beside that of its tiles, in tiles.
enum { CPU_WEIGHT_PRUNE = 6 };

/// Stands for "no cut-off": larger than any distance, and its square is a float. nm
#define CPU_EVERYWHERE 4e9
/// Positions beyond this are a fault: doubles no longer resolve 1e-8 nm there. nm
#define CPU_FARTHEST 1e8
/// Where padding slots are in xq: beyond any cut-off. nm
#define CPU_PADDING 1e4
/// Tiles past the last that the sorting of tiles may load, and numbers past the last that it may write to the inner list (isa_search.c,
/// place): less than the 16 of one turn. At least CPU_AHEAD.
#define CPU_TILES_BEYOND 16
/// How far a super may reach along an axis. nm
#define CPU_REACH 4.0
/// How many atoms the guard looks at before it asks for a new list.
#define CPU_FAST(n_atoms) ((n_atoms) / 100 + 8)
/// Bound on what the rounding of float positions does to a distance. nm
#define CPU_ROUNDING 4e-6

/// Tiles of CPU_CHUNK supers, in order.
typedef struct {
    cpu_entry *entry; // [n_entries]
    cpu_tile  *tile;  // [n_tiles + CPU_TILES_BEYOND]
    size_t     n_entries, n_tiles, cap_entry, cap_tile;
} cpu_chunk;

/// A place between two parts of the inner lists.
typedef struct {
    int     lane;
    int32_t part;
} cpu_cut;

/// What one thread needs: scratch while the list is built, then its share of the outer list, the inner list that it makes of that, and its
/// share of all inner lists.
typedef struct {
    size_t    first_chunk, first_entry, end_chunk, end_entry; // outer entries: from first up to end, not included
    size_t    next_chunk, last_chunk; // while the list is built: chunks of its own that nobody has taken yet
    cpu_inner inner;
    int64_t   weight;     // of its parts
    cpu_cut   begin, end; // parts of all lanes, in order: from begin up to end, not included
    uint32_t *scratch;  // [MDS_PRUNE_SCRATCH(tiles of the longest entry)] for pruning one entry
    uint32_t *excluded; // [n_clusters] bits of excluded pairs with the super at hand; all 0 between supers
    cpu_run  *run;      // [n_columns + 16] where clusters near the super and image at hand may be
    int32_t  *found;    // [n_clusters + 16] those that are
    int32_t  *region;   // [n_clusters + 16] of them, those of one region
    size_t    tiles;    // of the chunk built last: about what the next one will have
    size_t    cap_part, cap_j, cap_mask, cap_scratch, cap_excluded, cap_run, cap_found, cap_region;
    double    seconds;  // of pruning
} cpu_lane;

/// An atom on its way to its slot.
typedef struct {
    float   w[3]; // nm: wrapped position from the centre of the brick
    int32_t column;
} cpu_place;

/// An atom that has gone far since the search.
typedef struct {
    double  way2; // nm^2
    int32_t slot, light; // 1: of the light class
} cpu_fast;

typedef struct cpu_common cpu_common; // common.c

struct cpu_list {
    const cpu_isa *isa;

    // the frame of the last search
    bool     periodic;
    double   centre[3];    // nm: middle of the brick that atoms are wrapped into
    double   length[3];    // nm: its edges
    double   spacing[3];   // nm: of the origins of regions
    double   inverse[3];   // 1/nm: of the box's diagonal
    bool     one_region;   // every origin is 0
    double   extent;       // nm: largest distance from the centre along an axis
    int32_t  n_column[2];  // columns along x and y
    bool     narrow;       // no column is wider than a super may be
    int32_t *column_key;   // [n_columns + 1] first key
    int32_t *column_start; // [n_columns + 1 + 16] first cluster
    cpu_columns columns;
    cpu_place *place;      // [n_slots] of before
    uint64_t *key, *key_swap; // [n_atoms] z and atom id
    int32_t *order;        // [n_slots] slot that an atom comes from, -1: padding
    double (*swap)[3];     // [capacity] the other half of a change of order

    // by slot, cluster and super
    mds_box  box;          // box that `offset` is made for
    int32_t (*image)[3];   // [n_slots] box vectors that wrap the atom
    double  (*offset)[3];  // [n_slots] nm: xq = x + offset
    double  (*origin)[3];  // [n_supers] nm: xq of a super's atoms is relative to centre + origin
    int64_t  *region;      // [n_supers] a number for each origin
    float   *bounds[6];    // [n_clusters + 16] boxes around clusters, nm from the centre: lo x y z, hi x y z
    float   *lj;           // [n_clusters][8] a4 b4, LJ parameters by combination rule
    int32_t *type;         // [n_clusters][4] 4 * LJ type: where a column of the matrix starts
    float   *xq_prune;     // [n_clusters][CPU_LINE] positions that the inner list was made for
    float   *light;        // [n_clusters][4] 1: a light atom, 0: another
    int32_t  n_supers;
    size_t   cap_column, cap_reaching, cap_place, cap_slots, cap_extra;

    // the list
    size_t     n_chunks, cap_chunk;
    cpu_chunk *chunk;
    cpu_lane  *lane;       // [n_threads]
    bool       boxes_only; // tiles are near by their boxes, and positions are those of the search: pruning cuts the outer list too
    bool       prune_due;
    bool       fresh;      // of this step's search
    bool       foreseen;   // xq_prune holds where atoms were expected halfway to the next prune
    int64_t    step_pruned;
    cpu_fast  *fast;       // [CPU_FAST(n_atoms)] atoms that the guard looks at

    // parameters
    int      rule;         // CPU_LJ_...
    cpu_form form;
    float   *matrix;       // [n_types + 1][n_types + 1][4] scaled c12, c6, c4, 0
    double  (*type_lj)[2]; // [n_types + 1] a, b of the combination rule
    bool    *has_lj;       // [n_types + 1] whether it has LJ with any type
    double   charge_scale; // into xq
    void   (*kernel_force)(cpu_pair_args *), (*kernel_energy)(cpu_pair_args *);
    int      kernel_common, kernel_common_energy; // of common clusters, or -1: the others do those too
    cpu_common *common;
    double   cut_max;      // nm; CPU_EVERYWHERE without a cut-off
    double   radius_outer, radius_inner; // nm

    int64_t n_prunes, n_searches;
};

/// The whole number below s, in 0..n-1.
static inline int32_t mds_cpu_clamped(double s, int32_t n)
{
    return s <= 0 ? 0 : s >= n - 1 ? n - 1 : (int32_t)s;
}

static inline int32_t mds_cpu_key_atom(uint64_t key)
{
    return (int32_t)(uint32_t)key;
}

/// Keys of all atoms from their places, grouped by column, each column by z and then atom id. Errors: MDS_E_MEMORY. order.c.
mds_status mds_cpu_order_sort(mds_device *device);
/// First column of thread t's share: about as many atoms in each, and the same columns wherever atoms are put in order. order.c.
int32_t mds_cpu_order_share(const mds_device *device, int t);
/// Number of atoms, from key `first` of n on, that make the next super. order.c.
int32_t mds_cpu_order_length(const mds_device *device, const uint64_t *first, int32_t n);
/// Deal the n atoms of a super, at present slots, to its two clusters, four to the first; those with LJ come first in either. order.c.
void mds_cpu_order_deal(const mds_device *device, int32_t slot[CPU_SUPER], int32_t n);
/// Work for one thread that needs the new order of slots and nothing of the list. Errors: MDS_E_MEMORY.
typedef mds_status (*cpu_beside)(mds_device *device);
/// The outer list from the ordered particles, and each thread's share of it. beside [n_beside]: done at the same time. Errors: MDS_E_MEMORY.
mds_status mds_cpu_list_build(mds_device *device, size_t n_beside, const cpu_beside *beside);
/// Deal the outer entries to threads, contiguous and about equal in weight; from the next pruning on. Inner lists stay as
/// they are. Errors: MDS_E_MEMORY.
mds_status mds_cpu_list_deal(mds_device *device);
/// Offsets of all slots for the present box. copy.c.
void mds_cpu_list_offsets(mds_device *device);
/// xq of all slots; the inner list is to be made from it. copy.c.
void mds_cpu_list_copy(mds_device *device);
/// Call `visit` for every image n that takes the box lo..hi (nm from the centre) to within radius of the brick; `box`: of
/// the search. Errors: the first of visit's.
typedef mds_status (*cpu_visit_image)(void *arg, const int32_t n[3]);
mds_status mds_cpu_list_images(const cpu_list *list, const mds_box *box, const double lo[3], const double hi[3], double radius,
                               cpu_visit_image visit, void *arg);
/// Clusters near the box of `query`, lo..hi, from cluster `least` on, into lane->found. Returns how many.
int32_t mds_cpu_list_near(const mds_device *device, cpu_lane *lane, const cpu_near *query, const double lo[3],
                          const double hi[3], double radius, int32_t least);
/// Boxes around columns, and where in them each bin along z begins, from the bounds of clusters. Errors: MDS_E_MEMORY.
mds_status mds_cpu_list_columns(mds_device *device);
/// Free the chunks and lanes.
void mds_cpu_list_clear(mds_device *device);
/// What takes a super at image `image` to where `origin` of its neighbours' super is zero. t [3] nm.
void mds_cpu_list_translation(const cpu_list *list, const int8_t image[3], int32_t super, int32_t other, double t[3]);
/// Common clusters of the present order, if that is new. Errors: MDS_E_MEMORY. common.c.
mds_status mds_cpu_common_find(mds_device *device);
/// Their table into args.
void mds_cpu_common_parts(const cpu_list *list, cpu_pair_args *args);
/// Parameters have changed.
void mds_cpu_common_forget(cpu_list *list);
void mds_cpu_common_close(cpu_list *list);
/// Constants, kernels and radii from the parameters. pair.c. Errors: none today.
mds_status mds_cpu_pair_set(mds_device *device);

#endif
