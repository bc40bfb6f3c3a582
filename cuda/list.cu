// SPDX-License-Identifier: Apache-2.0
// The pair list: which atoms come near which octets of a block.
//
// A warp works for a block of 32 i atoms in one periodic image after another (a "unit": block and image) and goes through the j blocks
// near it: of every column that may be near, those in the range of z, found by bisection, a lane a column. They are laid end to end
// and compared by their boxes, 32 at a time, a lane each. For a j block that is near, each lane has one of its atoms,
// tries the boxes of the four octets and, where that one is near, its eight atoms: distances are exact, which keeps the list 20 to 25 %
// shorter than boxes alone (algorithm: an octet against single atoms has 0.52 of its pairs within the cut-off in water, tiles of 8 x 4 0.40).
// Ballots put the atoms found one after another.
//
// Each pair once. Of two blocks a < b the lower is the block of i atoms if a + b is odd, else the higher: so all blocks have about
// equally long lists. A block meets itself in half of the images other than the own one, those whose first non-zero number is
// positive; in its own image an atom j meets the i atoms before it. Such pairs and those with exclusions need a word that says
// which i atoms count; they are kept apart ("bound"), so that chunks of the others ("free") need no words.
//
// Order. The free entries of a unit are sorted by the octets that they are near to, in Gray code, so that four in a row mostly share
// them: in windows of 1024 in shared memory. Chunks are cut from that at every 64 entries. At last all chunks are sorted by length,
// longest first (sort.cu): the last ones to be computed are short then, and warps end together.
//
// Rows. For the row kernels (pair_rows.cu) every octet has a list of its own instead: the atoms near to it, in the order in which they are
// found, in all images one after another, each with a word that holds its image and which of the octet's atoms count. Rows need no order
// by octets, no filling between images and no chunks of their own for exclusions. A row's entries may be quads, four atoms in a row of
// slots (tiles of 8 x 4), taken where one of the four is near. So that warps have equal work, rows are cut into items of equal numbers of atoms.
//
// Two passes, count and fill, and sums between: places never depend on who came first. A block's entries lie together, bound ones of
// all units first, then the free ones.
//
// Shared memory: 5.5 KB a warp.
#include "list_kernel.h"
#include "sizes.h"

#include <math.h>
#include <string.h>

enum { WARPS = 4, THREADS = WARPS * GPU_WARP };

// ---------------------------------------------------------------------------------------------------- boxes

/// One warp a block: boxes around its octets and around all of it. Padding is in none.
static __global__ void __launch_bounds__(THREADS) k_bounds(gpu_view p, gpu_bounds octet, gpu_bounds block)
{
    const int b = (int)blockIdx.x * WARPS + (int)threadIdx.x / GPU_WARP, lane = (int)threadIdx.x % GPU_WARP;
    const int slot = b * GPU_BLOCK + lane;
    int       distance;

    if (b >= p.n_blocks) return;
    const bool real = p.atom_of[slot] >= 0;
    float4     lo = real ? p.xq[slot] : make_float4(GPU_NOWHERE, GPU_NOWHERE, GPU_NOWHERE, 0);
    float4     hi = real ? lo : make_float4(-GPU_NOWHERE, -GPU_NOWHERE, -GPU_NOWHERE, 0);
    for (distance = 1; distance < GPU_WARP; distance *= 2) {
        if (distance == GPU_OCTET && lane % GPU_OCTET == 0) {
            octet.lo[(size_t)slot / GPU_OCTET] = lo;
            octet.hi[(size_t)slot / GPU_OCTET] = hi;
        }
        lo.x = fminf(lo.x, __shfl_xor_sync(GPU_ALL, lo.x, distance));
        lo.y = fminf(lo.y, __shfl_xor_sync(GPU_ALL, lo.y, distance));
        lo.z = fminf(lo.z, __shfl_xor_sync(GPU_ALL, lo.z, distance));
        hi.x = fmaxf(hi.x, __shfl_xor_sync(GPU_ALL, hi.x, distance));
        hi.y = fmaxf(hi.y, __shfl_xor_sync(GPU_ALL, hi.y, distance));
        hi.z = fmaxf(hi.z, __shfl_xor_sync(GPU_ALL, hi.z, distance));
    }
    if (lane == 0) {
        block.lo[b] = lo;
        block.hi[b] = hi;
    }
}

// ------------------------------------------------------------------------------------------------- one j block

/// i atoms that an atom may not interact with, as bits.
static __device__ __forceinline__ unsigned excluded_bits(const list_args *a, int block, int atom)
{
    unsigned bits = 0;
    int      k;

    for (k = a->excl_start[atom]; k < a->excl_start[atom + 1]; k++) {
        const int slot = a->view.slot_of[a->excl[k]];

        if (slot / GPU_BLOCK == block) bits |= 1u << (slot % GPU_BLOCK);
    }
    return bits;
}

/// Octets that have an atom within the radius of (x, y, z). Only those atoms count that have their bit in `allow`.
static __device__ __forceinline__ unsigned near_octets(const list_args *a, const list_room *s, float x, float y, float z, unsigned allow)
{
    unsigned octets = 0;
    int      o, i;

    for (o = 0; o < GPU_BLOCK / GPU_OCTET; o++) {
        float best = 2 * GPU_NOWHERE; // of none

        if (!(gpu_box_distance2(s->lo[o], s->hi[o], x, y, z) <= a->radius2)) continue;
        for (i = GPU_OCTET * o; i < GPU_OCTET * (o + 1); i++) {
            const float dx = s->x[i].x - x, dy = s->x[i].y - y, dz = s->x[i].z - z;

            if (allow >> i & 1) best = fminf(best, dx * dx + dy * dy + dz * dz);
        }
        if (best <= a->radius2) octets |= 1u << o;
    }
    return octets;
}

/// The atoms of block b that are near the unit's.
template <bool FILL, bool ROWS> static __device__ __forceinline__ void add_block(const list_args *a, list_room *s, unit *u, int b)
{
    const int    slot = b * GPU_BLOCK + u->lane, atom = a->view.atom_of[slot];
    const float4 from = a->view.origin[u->block], to = a->view.origin[b], x = a->view.xq[slot];
    const bool   self = b == u->block && !u->image[0] && !u->image[1] && !u->image[2];
    unsigned     allow = self ? u->real & ((1u << u->lane) - 1) : u->real, octets = 0;

    const float at[3] = {x.x + (float)((double)to.x - (double)from.x - u->shift[0]), x.y + (float)((double)to.y - (double)from.y - u->shift[1]),
                         x.z + (float)((double)to.z - (double)from.z - u->shift[2])};
    if (atom >= 0) octets = near_octets(a, s, at[0], at[1], at[2], allow);
    bool bound = self;
    if (octets) {
        const unsigned excluded = excluded_bits(a, u->block, atom) & allow;

        allow &= ~excluded;
        bound = bound || excluded;
        if (excluded) octets = near_octets(a, s, at[0], at[1], at[2], allow); // what was near may be excluded
    }
    if (ROWS) {
        add_rows<FILL>(a, u, slot, octets, allow);
        return;
    }
    const unsigned frees = gpu_ballot(octets && !bound);
    const unsigned bounds = gpu_ballot(octets && bound);
    if (frees) add_free<FILL>(a, s, u, frees, (unsigned)slot | octets << 28);
    if (bounds) add_bound<FILL>(a, u, bounds, (unsigned)slot | octets << 28, allow);
}

// --------------------------------------------------------------------------------------------------- one unit

/// Chunks of n entries from `first` on, and filling behind the last. at_word < 0: free ones.
static __device__ void write_chunks(const list_args *a, const unit *u, int at_chunk, int first, int n, int at_word)
{
    int k;

    for (k = u->lane; k < (n + GPU_CHUNK - 1) / GPU_CHUNK; k += GPU_WARP) {
        a->chunk[at_chunk + k] = gpu_chunk{u->block, {u->image[0], u->image[1], u->image[2]}, first + GPU_CHUNK * k,
                                           at_word < 0 ? -1 : at_word + GPU_CHUNK * k};
        a->n[at_chunk + k] = min(GPU_CHUNK, gpu_padded(n) - GPU_CHUNK * k);
    }
    if (n + u->lane >= gpu_padded(n)) return;
    a->j[first + n + u->lane] = (unsigned)(u->block * GPU_BLOCK); // near no octet
    if (at_word >= 0) a->allow[at_word + n + u->lane] = 0;
}

/// Whether the list of block i has this pair of blocks, the image being that of i.
static __device__ __forceinline__ bool owns(int i, int j, const int image[3])
{
    if (i != j) return ((i + j) & 1 ? min(i, j) : max(i, j)) == i;
    return image[0] ? image[0] > 0 : image[1] ? image[1] > 0 : image[2] >= 0;
}

/// Whether the boxes of blocks come near each other.
static __device__ __forceinline__ bool near_blocks(const list_args *a, const unit *u, float4 from, float4 lo, float4 hi, int b)
{
    const float4 to = a->view.origin[b], other_lo = a->block.lo[b], other_hi = a->block.hi[b];
    const float  x = (float)((double)to.x - (double)from.x - u->shift[0]), y = (float)((double)to.y - (double)from.y - u->shift[1]);
    const float  z = (float)((double)to.z - (double)from.z - u->shift[2]);
    const float  dx = fmaxf(fmaxf(other_lo.x + x - hi.x, lo.x - other_hi.x - x), 0.0f);
    const float  dy = fmaxf(fmaxf(other_lo.y + y - hi.y, lo.y - other_hi.y - y), 0.0f);
    const float  dz = fmaxf(fmaxf(other_lo.z + z - hi.z, lo.z - other_hi.z - z), 0.0f);

    return dx * dx + dy * dy + dz * dz <= a->radius2;
}

/// First block of [first, end), all of one column and so sorted by z, of which the upper (or lower) end is not below z.
static __device__ int first_above(const list_args *a, const float4 *side, int first, int end, double z)
{
    while (first < end) {
        const int middle = first + (end - first) / 2;

        if ((double)a->view.origin[middle].z + (double)side[middle].z < z)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/// The unit's box, nm in the brick's frame, made wider by the radius.
typedef struct {
    double lo[3], hi[3];
} reach_box;

/// Candidates of up to 32 columns, of the n in the rectangle that begins at (x0, y0) and is `width` wide, from number `first` on: where they
/// are goes into s->before and s->block. Returns how many there are.
static __device__ int find_candidates(const list_args *a, list_room *s, int lane, const reach_box *box, int x0, int y0, int width, int first, int n)
{
    const int k = first + lane;
    int       from = 0, count = 0, distance;

    if (k < n) {
        const int column = (y0 + k / width) * a->brick.n_column[0] + x0 + k % width;
        const int begin = a->column[column], end = a->column[column + 1];

        from = first_above(a, a->block.hi, begin, end, box->lo[2]);
        count = first_above(a, a->block.lo, from, end, box->hi[2]) - from;
    }
    int sum = count;
    for (distance = 1; distance < GPU_WARP; distance *= 2) {
        const int other = __shfl_up_sync(GPU_ALL, sum, (unsigned)distance);

        if (lane >= distance) sum += other;
    }
    __syncwarp();
    s->before[lane] = sum - count;
    s->block[lane] = from - (sum - count);
    __syncwarp();
    return gpu_shuffle(sum, GPU_WARP - 1);
}

/// Candidate k: in the last column that has fewer before it than k + 1.
static __device__ __forceinline__ int candidate(const list_room *s, int k)
{
    int q = 0, step;

    for (step = GPU_WARP / 2; step > 0; step /= 2)
        if (s->before[q + step] <= k) q += step;
    return s->block[q] + k;
}

template <bool FILL, bool ROWS> static __device__ void do_unit(const list_args *a, list_room *s, unit *u)
{
    const gpu_brick *brick = &a->brick;
    const float4     from = a->view.origin[u->block], lo = a->block.lo[u->block], hi = a->block.hi[u->block];
    int              first, c, k;

    for (k = 0; k < 3; k++) u->shift[k] = u->image[0] * brick->box.a[0][k] + u->image[1] * brick->box.a[1][k] + u->image[2] * brick->box.a[2][k];
    u->n_free = u->n_bound = u->n_window = 0;
    const double    x = (double)from.x + u->shift[0], y = (double)from.y + u->shift[1], z = (double)from.z + u->shift[2], r = a->radius;
    const reach_box box = {{x + (double)lo.x - r, y + (double)lo.y - r, z + (double)lo.z - r},
                           {x + (double)hi.x + r, y + (double)hi.y + r, z + (double)hi.z + r}};
    const int x0 = gpu_piece(box.lo[0], brick->lo[0], brick->length[0], brick->n_column[0]);
    const int y0 = gpu_piece(box.lo[1], brick->lo[1], brick->length[1], brick->n_column[1]);
    const int width = gpu_piece(box.hi[0], brick->lo[0], brick->length[0], brick->n_column[0]) - x0 + 1;
    const int n_columns = width * (gpu_piece(box.hi[1], brick->lo[1], brick->length[1], brick->n_column[1]) - y0 + 1);

    for (c = 0; c < n_columns; c += GPU_WARP) {
        const int n = find_candidates(a, s, u->lane, &box, x0, y0, width, c, n_columns);

        for (first = 0; first < n; first += GPU_WARP) {
            const int  b = first + u->lane < n ? candidate(s, first + u->lane) : -1;
            const bool near = b >= 0 && owns(u->block, b, u->image) && near_blocks(a, u, from, lo, hi, b);
            unsigned   found = gpu_ballot(near);

            for (; found; found &= found - 1) {
                const int other = gpu_shuffle(b, __ffs((int)found) - 1);

                add_block<FILL, ROWS>(a, s, u, other);
            }
        }
    }
    if (ROWS) return;
    const int free_chunks = (u->n_free + GPU_CHUNK - 1) / GPU_CHUNK, bound_chunks = (u->n_bound + GPU_CHUNK - 1) / GPU_CHUNK;
    if (FILL) {
        const int done = u->n_free - u->n_window; // put in order already

        put_in_order(s, u->lane, u->n_window, a->j + u->at_free);
        write_chunks(a, u, u->at_chunk, u->at_bound, u->n_bound, u->at_word);
        write_chunks(a, u, u->at_chunk + bound_chunks, u->at_free - done, u->n_free, -1);
        u->at_free -= done;
        __syncwarp();
    }
    u->at_chunk += free_chunks + bound_chunks;
    u->at_free += gpu_padded(u->n_free);
    u->at_bound += gpu_padded(u->n_bound);
    u->at_word += gpu_padded(u->n_bound);
}

/// One warp a block: all its units, counted or written.
template <bool FILL, bool ROWS> static __global__ void __launch_bounds__(THREADS, 4) k_list(list_args a)
{
    GPU_SHARED(list_room, rooms, [WARPS]);
    list_room *s = &rooms[threadIdx.x / GPU_WARP];
    unit       u = {};
    const int  stride = a.view.n_blocks + 1;
    int        c[2], b[2], x[2];

    u.block = (int)blockIdx.x * WARPS + (int)threadIdx.x / GPU_WARP;
    u.lane = (int)threadIdx.x % GPU_WARP;
    if (u.block >= a.view.n_blocks) return;
    s->x[u.lane] = a.view.xq[u.block * GPU_BLOCK + u.lane];
    if (u.lane < GPU_BLOCK / GPU_OCTET) {
        s->lo[u.lane] = a.octet.lo[u.block * (GPU_BLOCK / GPU_OCTET) + u.lane];
        s->hi[u.lane] = a.octet.hi[u.block * (GPU_BLOCK / GPU_OCTET) + u.lane];
    }
    u.real = gpu_ballot(a.view.atom_of[u.block * GPU_BLOCK + u.lane] >= 0);
    __syncwarp();
    if (ROWS) {
        begin_rows<FILL>(&a, &u);
    } else if (FILL) {
        const int *chunks = a.count + u.block, *entries = chunks + stride, *words = entries + stride;

        u.at_chunk = chunks[0];
        u.at_bound = entries[0];
        u.at_free = entries[0] + words[1] - words[0];
        u.at_word = words[0];
    }
    // every image of the block that comes near the brick: rows of the box are lower triangular, so z settles the third number and so on
    const float4 o = a.view.origin[u.block], l = a.block.lo[u.block], h = a.block.hi[u.block];
    const double lo[3] = {(double)o.x + (double)l.x, (double)o.y + (double)l.y, (double)o.z + (double)l.z};
    const double hi[3] = {(double)o.x + (double)h.x, (double)o.y + (double)h.y, (double)o.z + (double)h.z};
    gpu_image_range(lo[2], hi[2], a.brick.box.a[2][2], a.radius, c);
    for (u.image[2] = c[0]; u.image[2] <= c[1]; u.image[2]++) {
        const double y = u.image[2] * a.brick.box.a[2][1];

        gpu_image_range(lo[1] + y, hi[1] + y, a.brick.box.a[1][1], a.radius, b);
        for (u.image[1] = b[0]; u.image[1] <= b[1]; u.image[1]++) {
            const double z = u.image[2] * a.brick.box.a[2][0] + u.image[1] * a.brick.box.a[1][0];

            gpu_image_range(lo[0] + z, hi[0] + z, a.brick.box.a[0][0], a.radius, x);
            for (u.image[0] = x[0]; u.image[0] <= x[1]; u.image[0]++) do_unit<FILL, ROWS>(&a, s, &u);
        }
    }
    if (ROWS) {
        end_rows<FILL>(&a, &u);
        return;
    }
    if (FILL || u.lane) return;
    a.count[u.block] = u.at_chunk;
    a.count[stride + u.block] = u.at_free + u.at_bound;
    a.count[2 * stride + u.block] = u.at_word;
}

// --------------------------------------------------------------------------------------------- on the host

static list_args arguments(const mds_device *d)
{
    const gpu_search *s = d->search;
    const double      radius = s->radius_outer + GPU_ROUNDING;
    list_args         a = {};

    a.view = d->view;
    a.brick = s->brick;
    a.column = s->column;
    a.radius = radius + GPU_ROUNDING;
    a.radius2 = s->radius_outer < GPU_EVERYWHERE ? (float)(radius * radius) : GPU_NOWHERE;
    a.octet = s->octet;
    a.block = s->block;
    a.excl_start = s->excl_start;
    a.excl = s->excl;
    a.count = s->count;
    a.chunk = s->fresh.chunk;
    a.n = s->fresh.n;
    a.j = s->outer.j;
    a.allow = s->outer.allow;
    a.shift = s->rows.shift;
    a.per_item = d->view.n_blocks < 512 ? 128 : d->view.n_blocks < 2048 ? 256 : 512; // enough warps for any chip, then longer ones
    memcpy(a.most, s->rows.most, sizeof a.most);
    a.item = s->row_item;
    a.row = s->row_outer;
    a.word = s->word_outer;
    return a;
}

/// Room for what the first pass has counted.
static mds_status reserve(mds_device *d, const long long total[N_COUNTS])
{
    gpu_search *s = d->search;

    for (int k = 0; k < N_COUNTS; k++) MDS_TRY(gpu_fit_list(total[k]));
    MDS_TRY(gpu_room(&s->fresh.chunk, &s->fresh.chunk_room, total[0]));
    MDS_TRY(gpu_room(&s->fresh.n, &s->fresh.n_room, total[0]));
    MDS_TRY(gpu_room(&s->outer.chunk, &s->outer.chunk_room, total[0]));
    MDS_TRY(gpu_room(&s->outer.n, &s->outer.n_room, total[0]));
    MDS_TRY(gpu_room(&s->outer.j, &s->outer.j_room, total[1]));
    return gpu_room(&s->outer.allow, &s->outer.allow_room, total[2]);
}

/// Largest numbers of images of a block in the brick that come within the radius of it; zeros without a box. Returns how many images that makes.
static long long most_images(const gpu_brick *b, double radius, int most[3])
{
    const double(*a)[3] = b->box.a, r = radius + 0.001;

    most[0] = most[1] = most[2] = 0;
    if (!b->periodic) return 1;
    most[2] = (int)(1 + r / a[2][2]);
    most[1] = (int)(1 + (r + most[2] * fabs(a[2][1])) / a[1][1]);
    most[0] = (int)(1 + (r + most[2] * fabs(a[2][0]) + most[1] * fabs(a[1][0])) / a[0][0]);
    return (2LL * most[0] + 1) * (2 * most[1] + 1) * (2 * most[2] + 1);
}

/// The list in rows.
static mds_status build_rows(mds_device *d)
{
    gpu_search    *s = d->search;
    const int      n = d->view.n_blocks * OCTETS;
    const unsigned grid = (unsigned)(d->view.n_blocks + WARPS - 1) / WARPS;

    d->list = gpu_list{};
    MDS_TRY(gpu_room(&s->count, &s->count_room, N_ROW_COUNTS * ((size_t)n + 1)));
    GPU_LAUNCH((k_list<false, true>), grid, THREADS, 0, d->stream, arguments(d));
    MDS_TRY(GPU_NAME(scan)(d, &s->scan, s->count, N_ROW_COUNTS, (size_t)n));
    GPU_TRY(cudaMemcpyAsync(s->totals, s->scan.total, N_ROW_COUNTS * sizeof *s->totals, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    const long long entries = s->totals[0], items = s->totals[1];
    MDS_TRY(gpu_fit_list(entries << s->rows.shift));
    MDS_TRY(gpu_room(&s->row_item, &s->row_item_room, items));
    MDS_TRY(gpu_room(&s->row_outer, &s->row_room[0], n));
    MDS_TRY(gpu_room(&s->outer.j, &s->outer.j_room, entries));
    MDS_TRY(gpu_room(&s->word_outer, &s->word_room[0], entries << s->rows.shift));
    GPU_LAUNCH((k_list<true, true>), grid, THREADS, 0, d->stream, arguments(d));
    return GPU_NAME(rows_reset)(d, s->totals);
}

mds_status GPU_NAME(list_build)(mds_device *d)
{
    gpu_search    *s = d->search;
    const int      n = d->view.n_blocks;
    const unsigned grid = (unsigned)(n + WARPS - 1) / WARPS;

    MDS_TRY(gpu_room(&s->octet.lo, &s->octet_room[0], n * (GPU_BLOCK / GPU_OCTET)));
    MDS_TRY(gpu_room(&s->octet.hi, &s->octet_room[1], n * (GPU_BLOCK / GPU_OCTET)));
    MDS_TRY(gpu_room(&s->block.lo, &s->block_room[0], n));
    MDS_TRY(gpu_room(&s->block.hi, &s->block_room[1], n));
    MDS_TRY(gpu_room(&s->count, &s->count_room, N_COUNTS * ((size_t)n + 1)));
    GPU_LAUNCH(k_bounds, grid, THREADS, 0, d->stream, d->view, s->octet, s->block);
    s->rows = gpu_rows{};
    s->rows.shift = !strcmp(d->kernel, "tile") ? 2 : 0;
    // the double kernel knows chunks alone
    if (!d->params.double_precision && strcmp(d->kernel, "octet") && most_images(&s->brick, s->radius_outer, s->rows.most) <= GPU_MOST_IMAGES) return build_rows(d);
    GPU_LAUNCH((k_list<false, false>), grid, THREADS, 0, d->stream, arguments(d));
    MDS_TRY(GPU_NAME(scan)(d, &s->scan, s->count, N_COUNTS, (size_t)n));
    GPU_TRY(cudaMemcpyAsync(s->totals, s->scan.total, N_COUNTS * sizeof *s->totals, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    MDS_TRY(reserve(d, s->totals));
    GPU_LAUNCH((k_list<true, false>), grid, THREADS, 0, d->stream, arguments(d));
    MDS_TRY(GPU_NAME(list_sort)(d, (int)s->totals[0]));
    return GPU_NAME(prune_reset)(d, s->totals);
}

mds_status GPU_NAME(search_set)(mds_device *d)
{
    const mds_params *p = &d->params;
    const double      cut = fmax(p->cut_lj, p->cut_q);
    gpu_search       *s = d->search;
    const bool        all = !d->periodic && (p->cut_lj <= 0 || (p->coulomb != MDS_COULOMB_NONE && p->cut_q <= 0));

    s->radius_outer = all ? GPU_EVERYWHERE : fmax(p->list_radius, cut);
    s->radius_inner = p->prune_radius > 0 && !all ? fmin(fmax(p->prune_radius, cut), s->radius_outer) : s->radius_outer;
    return MDS_OK;
}

mds_status GPU_NAME(list_open)(mds_device *d)
{
    const mds_system *m = d->system;
    gpu_search       *s = d->search;

    MDS_TRY(gpu_copy_in(&s->excl_start, m->excl_start, m->n_atoms + 1));
    MDS_TRY(gpu_copy_in(&s->excl, m->excl, m->excl_start[m->n_atoms]));
    MDS_TRY(gpu_alloc(&s->tally, 2));
    return GPU_NAME(prune_open)(d);
}

static void drop(gpu_list_memory *m)
{
    GPU_NAME(release)(m->chunk);
    GPU_NAME(release)(m->n);
    GPU_NAME(release)(m->j);
    GPU_NAME(release)(m->allow);
}

void GPU_NAME(list_close)(mds_device *d)
{
    gpu_search *s = d->search;

    GPU_NAME(prune_close)(d);
    drop(&s->fresh);
    drop(&s->outer);
    drop(&s->inner);
    const void *const memory[] = {s->excl_start, s->excl, s->octet.lo, s->octet.hi, s->block.lo, s->block.hi, s->count, s->bin, s->tally,
                                  s->row_item, s->row_outer, s->row_inner, s->word_outer, s->word_inner};
    for (size_t k = 0; k < sizeof memory / sizeof memory[0]; k++) GPU_NAME(release)(memory[k]);
}
