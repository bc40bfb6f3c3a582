// SPDX-License-Identifier: Apache-2.0
// Where the entries that list.cu finds go: free ones through a window that is put in order, bound ones with their words, or into the rows of
// the octets. Each function is for a whole warp; with FILL entries are written, without they are counted.
#ifndef MDS_CUDA_LIST_KERNEL_H
#define MDS_CUDA_LIST_KERNEL_H

#include "list.h"

enum { WINDOW = 1024, OCTETS = GPU_BLOCK / GPU_OCTET };
enum { N_COUNTS = 3, N_ROW_COUNTS = 2 }; // chunks, entries, words of a block; entries and items of an octet

/// Of one warp.
typedef struct {
    float4   x[GPU_BLOCK];                // i atoms
    float4   lo[GPU_WARP / GPU_OCTET], hi[GPU_WARP / GPU_OCTET];
    unsigned window[WINDOW + GPU_WARP];   // free entries not yet in order
    int      bin[GPU_WARP];
    int      before[GPU_WARP], block[GPU_WARP]; // of 32 columns: candidates in those before; first candidate, less that
} list_room;

/// What k_list needs, beside the view.
typedef struct {
    gpu_view    view;
    gpu_brick   brick;
    const int  *column; // first blocks
    double      radius;
    float       radius2;
    gpu_bounds  octet, block;
    const int  *excl_start, *excl;
    int        *count; // rows of n_blocks + 1
    gpu_chunk  *chunk; // fill:
    int        *n;
    unsigned   *j, *allow;
    // rows, with `count` [N_ROW_COUNTS][octets + 1]:
    int             shift, per_item; // j atoms
    int             most[3];
    gpu_row_item   *item;
    int            *row;
    unsigned short *word;
} list_args;

/// A unit under way, the same in all lanes.
typedef struct {
    int      block, lane, image[3];
    double   shift[3];    // of the i atoms, nm
    unsigned real;        // i slots with atoms
    int      n_window;    // entries in the window
    int      n_free, n_bound; // found so far
    // where the next go; count: how many there are
    int      at_chunk, at_bound, at_free, at_word;
    int      at_row[GPU_BLOCK / GPU_OCTET];
} unit;

// ------------------------------------------------------------------------------------------- free and bound entries

/// The first n entries of the window, sorted, to out; of equals the earlier first. Whole warp.
static __device__ void put_in_order(list_room *s, int lane, int n, unsigned *out)
{
    const unsigned before = (1u << lane) - 1;
    int            first, k, sum = 0;

    s->bin[lane] = 0;
    __syncwarp();
    for (first = 0; first < n; first += GPU_WARP) {
        const int      key = first + lane < n ? gpu_gray_rank(GPU_J_OCTETS(s->window[first + lane])) : 16;
        const unsigned same = __match_any_sync(GPU_ALL, key);

        if (!(same & before)) s->bin[key] += __popc(same);
        __syncwarp();
    }
    for (k = 0; k < lane; k++) sum += s->bin[k];
    __syncwarp();
    s->bin[lane] = sum;
    __syncwarp();
    for (first = 0; first < n; first += GPU_WARP) {
        const int      key = first + lane < n ? gpu_gray_rank(GPU_J_OCTETS(s->window[first + lane])) : 16;
        const unsigned same = __match_any_sync(GPU_ALL, key);
        const int      place = s->bin[key] + __popc(same & before);

        if (first + lane < n) out[place] = s->window[first + lane];
        __syncwarp();
        if (!(same & before)) s->bin[key] += __popc(same);
        __syncwarp();
    }
}

/// One more free entry from each lane of `who`.
template <bool FILL> static __device__ __forceinline__ void add_free(const list_args *a, list_room *s, unit *u, unsigned who, unsigned entry)
{
    const unsigned mine = 1u << u->lane;

    u->n_free += __popc(who);
    if (!FILL) return;
    if (who & mine) s->window[u->n_window + __popc(who & (mine - 1))] = entry;
    u->n_window += __popc(who);
    __syncwarp();
    if (u->n_window < WINDOW) return;
    put_in_order(s, u->lane, WINDOW, a->j + u->at_free);
    const unsigned rest = s->window[WINDOW + u->lane];
    __syncwarp();
    s->window[u->lane] = rest;
    u->n_window -= WINDOW;
    u->at_free += WINDOW;
    __syncwarp();
}

/// One more bound entry from each lane of `who`.
template <bool FILL> static __device__ __forceinline__ void add_bound(const list_args *a, unit *u, unsigned who, unsigned entry, unsigned allow)
{
    const unsigned mine = 1u << u->lane;
    const int      place = u->n_bound + __popc(who & (mine - 1));

    u->n_bound += __popc(who);
    if (!FILL || !(who & mine)) return;
    a->j[u->at_bound + place] = entry;
    a->allow[u->at_word + place] = allow;
}

// ------------------------------------------------------------------------------------------------------ rows

/// Entries of the octets' rows: one for each lane that is near, or for each four lanes of which one is.
template <bool FILL> static __device__ __forceinline__ void add_rows(const list_args *a, unit *u, int slot, unsigned octets, unsigned allow)
{
    const int      *most = a->most;
    const unsigned image = (unsigned)(((u->image[2] + most[2]) * (2 * most[1] + 1) + u->image[1] + most[1]) * (2 * most[0] + 1) + u->image[0] + most[0]);
    int            o;

    GPU_UNROLL
    for (o = 0; o < OCTETS; o++) {
        const bool near = octets >> o & 1;
        unsigned   who = gpu_ballot(near);

        if (a->shift) {
            who |= who >> 1;
            who = (who | who >> 2) & 0x11111111u; // the first of each four
        }
        const int first = u->lane >> a->shift << a->shift, at = u->at_row[o] + __popc(who & ((1u << first) - 1));
        u->at_row[o] += __popc(who);
        if (!FILL || !(who >> first & 1)) continue;
        if (u->lane == first) a->j[at] = (unsigned)slot >> a->shift;
        a->word[(at << a->shift) + (u->lane - first)] = (unsigned short)(image << 8 | (near ? allow >> (GPU_OCTET * o) & 0xff : 0));
    }
}

/// Begin the rows of a block.
template <bool FILL> static __device__ __forceinline__ void begin_rows(const list_args *a, unit *u)
{
    int o;

    for (o = 0; o < OCTETS; o++) u->at_row[o] = FILL ? a->count[OCTETS * u->block + o] : 0;
}

/// Their lengths, or the items that they are cut into.
template <bool FILL> static __device__ __forceinline__ void end_rows(const list_args *a, const unit *u)
{
    const int stride = OCTETS * a->view.n_blocks + 1;
    int       o, k;

    GPU_UNROLL
    for (o = 0; o < OCTETS; o++) {
        const int octet = OCTETS * u->block + o, n = FILL ? u->at_row[o] - a->count[octet] : u->at_row[o];
        const int items = ((n << a->shift) + a->per_item - 1) / a->per_item;

        if (FILL) {
            for (k = u->lane; k < items; k += GPU_WARP) a->item[a->count[stride + octet] + k] = gpu_row_item{octet, k, items, items < 2 ? 0 : 0xffffffffu / (unsigned)items + 1};
            if (u->lane == o) a->row[octet] = n;
        } else if (u->lane == o) {
            a->count[octet] = (n + GPU_ROW_PAD - 1) / GPU_ROW_PAD * GPU_ROW_PAD;
            a->count[stride + octet] = items;
        }
    }
}

#endif
