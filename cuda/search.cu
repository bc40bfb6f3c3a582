// SPDX-License-Identifier: Apache-2.0
// Search: put the atoms into slot order, and start a new pair list (list.cu).
//
// Order. Atoms are wrapped (privately: x stays continuous) into the brick (search.h). The brick is cut into columns along z with a
// square base of about twice an octet's side, 0.86 nm in water, so that a block of 32 atoms is two by two octets. Each column is sorted by
// z, ties by atom id, and cut into blocks; within a block the atoms are sorted by y into two halves and each half by x into two
// octets, so that octets are about as wide as they are long. The last block of a column is filled up with padding; so is one whose atoms
// would not stay within GPU_REACH of its first one (gaps, atoms far outside of the brick).
//
// How. A cell is a piece of a column, some sixteen atoms long. Counting sort over cells: a histogram whose atomics give each atom a
// place in its cell (k_keys), sums before (scan.cu), scatter (k_scatter). The places depend on who came first; then every atom counts the
// atoms of its cell that are before it by (z, id), and that count is its place (k_rank). One thread an atom, whose reads
// are those of its neighbours: 16 atoms of 24 bytes from the cache. A crowded cell costs the square of its atoms over the width of the
// chip and gives the same order. So the result depends on positions and ids alone. Then a warp a column makes blocks (k_columns, twice: count
// and write), and a warp a block sorts by rank in shared memory and writes what is in slot order (k_blocks).
//
// Traffic, bytes an atom: k_keys 24 + 28 + 36, k_scatter 52, k_rank 24 + 16, k_columns 2 x 16, k_blocks 16 + 8 + 60.
//
// The host waits three times: for box, bounds and density; for the number of blocks; in list.cu for the size of the list.
#include "search.h"
#include "sizes.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

static_assert((int)GPU_BLOCK == (int)GPU_SLOTS_A_BLOCK, "the block of sizes.h");

enum { THREADS = 128, WARPS = THREADS / GPU_WARP, PARTS = 64, SIDE = 16, BINS = 256, CELL = 16 };

// ------------------------------------------------------------------------------------------- looking at it all

static __global__ void k_start(gpu_control *c)
{
    c->tripped = c->listed = c->suspect = 0;
}

static __global__ void k_ready(gpu_control *c)
{
    c->listed = 1;
    c->list_scale = 1;
}

/// A fault that ends this search: every stage falls through until the engine has looked.
static __global__ void k_refuse(gpu_control *c, unsigned fault)
{
    c->fault |= fault;
    c->tripped = 1;
}

/// Coarse cells along an axis: some 30 atoms a cell if they filled the brick.
static __host__ __device__ inline int coarse_side(const double length[3], int n_atoms, int k)
{
    return (int)fmin((double)SIDE, fmax(1.0, length[k] / cbrt(30 * length[0] * length[1] * length[2] / n_atoms)));
}

/// x into the brick: the box vectors that are added into image, the position into w.
static __device__ __forceinline__ void wrap(const mds_box *box, bool periodic, const double x[3], double w[3], int image[3])
{
    int k, l;

    for (k = 0; k < 3; k++) w[k] = x[k];
    for (k = 2; k >= 0; k--) {
        image[k] = periodic ? -(int)floor(w[k] / box->a[k][k]) : 0; // rounding may leave w a hair outside: no harm
        for (l = 0; periodic && l <= k; l++) w[l] += image[k] * box->a[k][l];
    }
}

/// Lost atoms; the bounds of every PARTS-th share; with a box, atoms in every coarse cell.
static __global__ void __launch_bounds__(THREADS) k_look(gpu_view p, double *bounds, int *coarse)
{
    GPU_SHARED(double, shared, [6][THREADS]);
    gpu_control *c = p.control;
    const bool   periodic = c->box.a[0][0] > 0;
    const double length[3] = {c->box.a[0][0], c->box.a[1][1], c->box.a[2][2]};
    const int    t = (int)threadIdx.x;
    double       lo[3] = {1e300, 1e300, 1e300}, hi[3] = {-1e300, -1e300, -1e300}, w[3];
    int          i, k, image[3];

    for (i = (int)blockIdx.x * THREADS + t; i < p.n_atoms; i += PARTS * THREADS) {
        bool lost = false;

        for (k = 0; k < 3; k++) {
            lost |= !(fabs(p.x[i][k]) <= GPU_FARTHEST); // not a number too
            lo[k] = fmin(lo[k], p.x[i][k]);
            hi[k] = fmax(hi[k], p.x[i][k]);
        }
        if (lost) {
            gpu_fault(c, MDS_FAULT_NOT_FINITE, i);
            atomicOr(&c->tripped, 1);
        } else if (periodic) {
            int cell = 0;

            wrap(&c->box, true, p.x[i], w, image);
            for (k = 0; k < 3; k++) {
                const int n = coarse_side(length, p.n_atoms, k);

                cell = cell * n + gpu_piece(w[k], 0, length[k], n);
            }
            atomicAdd(&coarse[cell], 1);
        }
    }
    for (k = 0; k < 3; k++) {
        shared[k][t] = lo[k];
        shared[3 + k][t] = hi[k];
    }
    __syncthreads();
    if (t >= 6) return;
    double best = shared[t][0];
    for (k = 1; k < THREADS; k++) best = t < 3 ? fmin(best, shared[t][k]) : fmax(best, shared[t][k]);
    bounds[6 * blockIdx.x + t] = best;
}

/// Histogram over BINS bins of each coordinate between lo and lo + BINS width.
typedef struct {
    double lo[3], width[3];
} span;
static __global__ void k_span(gpu_view p, span s, int *count)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int       k;

    if (i >= p.n_atoms) return;
    for (k = 0; k < 3; k++) {
        const double bin = s.width[k] > 0 ? (p.x[i][k] - s.lo[k]) / s.width[k] : -1;

        if (bin >= 0 && bin < BINS + 1) atomicAdd(&count[k * BINS + (bin < BINS ? (int)bin : BINS - 1)], 1);
    }
}

/// Coarse cells of the bulk, without a box.
static __global__ void k_coarse(gpu_view p, gpu_brick b, int *coarse)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int       k, cell = 0;

    if (i >= p.n_atoms) return;
    for (k = 0; k < 3; k++) {
        const int n = coarse_side(b.length, p.n_atoms, k);

        cell = cell * n + gpu_piece(p.x[i][k], b.lo[k], b.length[k], n);
    }
    atomicAdd(&coarse[cell], 1);
}

// -------------------------------------------------------------------------------------------------- the order

/// Image and key of each atom, its place in its cell by arrival, and the positions that ways are taken from.
static __global__ void k_keys(gpu_view p, gpu_brick b, gpu_item *key, int *arrival, int *cell)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    double    w[3];
    int       image[3], k;

    if (i >= p.n_atoms) return;
    wrap(&b.box, b.periodic, p.x[i], w, image);
    for (k = 0; k < 3; k++) {
        p.image[i][k] = image[k];
        p.x_list[i][k] = p.x[i][k];
    }
    const int column = gpu_piece(w[1], b.lo[1], b.length[1], b.n_column[1]) * b.n_column[0] + gpu_piece(w[0], b.lo[0], b.length[0], b.n_column[0]);
    const int mine = column * b.n_bins + gpu_piece(w[2], b.lo[2], b.length[2], b.n_bins);
    key[i] = gpu_item{w[2], (float)w[0], (float)w[1], i, mine};
    arrival[i] = atomicAdd(&cell[mine], 1);
}

static __global__ void k_scatter(int n, const gpu_item *key, const int *arrival, const int *cell, gpu_item *item)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i >= n) return;
    const gpu_item it = key[i];
    item[cell[it.cell] + arrival[i]] = it;
}

static __global__ void k_rank(int n, const gpu_item *item, const int *cell, gpu_sorted *sorted)
{
    const int q = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (q >= n) return;
    const gpu_item it = item[q];
    const int      first = cell[it.cell], end = cell[it.cell + 1];
    int            rank = 0, k;
    for (k = first; k < end; k++) rank += item[k].z < it.z || (item[k].z == it.z && item[k].atom < it.atom);
    sorted[first + rank] = gpu_sorted{it.x, it.y, (float)it.z, it.atom};
}

/// Whether an atom may be in a block that begins with `first`.
static __device__ __forceinline__ bool within_reach(gpu_sorted first, gpu_sorted a)
{
    const float reach = (float)GPU_REACH;

    return fabsf(a.x - first.x) <= reach && fabsf(a.y - first.y) <= reach && fabsf(a.z - first.z) <= reach;
}

/// Blocks of a column's atoms [first, end), by a whole warp: their number, and with `out` what is in each. Nearly always every 32 atoms
/// make one; where they do not, lane 0 goes through them one by one.
static __device__ int column_blocks(const gpu_sorted *sorted, int first, int end, int2 *out)
{
    const int lane = (int)threadIdx.x % GPU_WARP;
    bool      fits = true;
    int       at, n = 0;

    for (at = first; at < end; at += GPU_BLOCK) {
        const bool near = at + lane >= end || within_reach(sorted[at], sorted[at + lane]);

        fits = fits && __all_sync(GPU_ALL, near);
    }
    if (fits) {
        n = (end - first + GPU_BLOCK - 1) / GPU_BLOCK;
        for (at = lane; out && at < n; at += GPU_WARP) out[at] = make_int2(first + GPU_BLOCK * at, min(GPU_BLOCK, end - first - GPU_BLOCK * at));
    } else if (lane == 0) {
        for (at = first; at < end; n++) {
            int k = 1;

            while (k < GPU_BLOCK && at + k < end && within_reach(sorted[at], sorted[at + k])) k++;
            if (out) out[n] = make_int2(at, k);
            at += k;
        }
    }
    return gpu_shuffle(n, 0);
}

/// One warp a column: counts its blocks into column[], or, those being summed up, writes them.
template <bool WRITE>
static __global__ void __launch_bounds__(THREADS) k_columns(int n_columns, int n_bins, const gpu_sorted *sorted, const int *cell, int *column, int2 *range)
{
    const int c = (int)blockIdx.x * WARPS + (int)threadIdx.x / GPU_WARP;

    if (c >= n_columns) return;
    const int first = cell[(size_t)c * n_bins], end = cell[(size_t)(c + 1) * n_bins];
    const int n = column_blocks(sorted, first, end, WRITE ? range + column[c] : NULL);
    if (!WRITE && threadIdx.x % GPU_WARP == 0) column[c] = n;
}

typedef struct {
    float key[GPU_WARP];
    int   id[GPU_WARP], from[GPU_WARP];
} sort_room;

/// The lane that comes at this lane's place when groups of `width` lanes are sorted by (key, id).
static __device__ __forceinline__ int sort_lanes(sort_room *s, int lane, int width, float key, int id)
{
    const int first = lane / width * width;
    int       rank = first, k;

    s->key[lane] = key;
    s->id[lane] = id;
    __syncwarp();
    for (k = first; k < first + width; k++) rank += s->key[k] < key || (s->key[k] == key && s->id[k] < id);
    s->from[rank] = lane;
    __syncwarp();
    k = s->from[lane];
    __syncwarp();
    return k;
}

/// Smallest and largest of the lanes that take part.
static __device__ __forceinline__ float middle_of(bool part, float v)
{
    float lo = part ? v : 3e38f, hi = part ? v : -3e38f;
    int   distance;

    for (distance = GPU_WARP / 2; distance > 0; distance /= 2) {
        lo = fminf(lo, __shfl_xor_sync(GPU_ALL, lo, distance));
        hi = fmaxf(hi, __shfl_xor_sync(GPU_ALL, hi, distance));
    }
    return 0.5f * lo + 0.5f * hi;
}

/// On a raster of 2^-10 nm, or of the floats where that is coarser: differences of origins near each other are exact.
static __device__ __forceinline__ float on_raster(float v)
{
    return fabsf(v) < 8192 ? rintf(v * 1024) * (1.0f / 1024) : v;
}

/// One warp a block: halves by y, octets by x, and everything that is in slot order but the positions.
static __global__ void __launch_bounds__(THREADS) k_blocks(gpu_view p, const gpu_sorted *sorted, const int2 *range, float charge_scale)
{
    GPU_SHARED(sort_room, rooms, [WARPS]);
    sort_room *s = &rooms[threadIdx.x / GPU_WARP];
    const int  block = (int)blockIdx.x * WARPS + (int)threadIdx.x / GPU_WARP, lane = (int)threadIdx.x % GPU_WARP;

    if (block >= p.n_blocks) return;
    const int2 r = range[block];
    // padding comes last: beyond every key, and each of them different
    gpu_sorted a = {3e38f, 3e38f, 3e38f, GPU_NO_ATOM - GPU_WARP + lane};
    if (lane < r.y) a = sorted[r.x + lane];
    const int y = sort_lanes(s, lane, GPU_BLOCK, a.y, a.atom);
    a.x = gpu_shuffle(a.x, y);
    a.y = gpu_shuffle(a.y, y);
    a.z = gpu_shuffle(a.z, y);
    a.atom = gpu_shuffle(a.atom, y);
    const int x = sort_lanes(s, lane, GPU_BLOCK / 2, a.x, a.atom);
    a.x = gpu_shuffle(a.x, x);
    a.y = gpu_shuffle(a.y, x);
    a.z = gpu_shuffle(a.z, x);
    a.atom = gpu_shuffle(a.atom, x);

    const bool  real = a.atom < p.n_atoms;
    const float ox = on_raster(middle_of(real, a.x)), oy = on_raster(middle_of(real, a.y)), oz = on_raster(middle_of(real, a.z));
    const int   slot = block * GPU_BLOCK + lane;
    if (lane == 0) p.origin[block] = make_float4(ox, oy, oz, 0);
    p.atom_of[slot] = real ? a.atom : -1;
    // padding is nowhere near anything, and never changes
    p.xq[slot] = make_float4(1e4f + 8.0f * (float)lane, 1e4f, 1e4f + 8.0f * (float)(block % 1024), real ? (float)p.charge[a.atom] * charge_scale : 0);
    p.fraction[slot] = make_uint4(0, 0, 0, 0);
    p.force[slot][0] = p.force[slot][1] = p.force[slot][2] = p.force[slot][3] = 0;
    if (real) p.slot_of[a.atom] = slot;
}

// --------------------------------------------------------------------------------------------- on the host

/// Where the bulk of the atoms is, without a box: zoom into the span that holds all but a hundredth at either end, while that
/// shrinks it much.
static mds_status find_bulk(mds_device *d, const double bounds[6])
{
    gpu_search *s = d->search;
    gpu_brick  *b = &s->brick;
    const int   n = d->view.n_atoms;
    int         count[3 * BINS], round, k;
    double      hi[3];
    bool        more = true;

    for (k = 0; k < 3; k++) {
        b->lo[k] = bounds[k];
        hi[k] = bounds[3 + k];
    }
    for (round = 0; round < 8 && more; round++) {
        span at;

        more = false;
        for (k = 0; k < 3; k++) {
            at.lo[k] = b->lo[k];
            at.width[k] = (hi[k] - b->lo[k]) / BINS;
        }
        GPU_TRY(cudaMemsetAsync(s->coarse, 0, sizeof count, d->stream));
        GPU_LAUNCH(k_span, (unsigned)(n + THREADS - 1) / THREADS, THREADS, 0, d->stream, d->view, at, s->coarse);
        GPU_TRY(cudaMemcpyAsync(count, s->coarse, sizeof count, cudaMemcpyDeviceToHost, d->stream));
        GPU_TRY(cudaStreamSynchronize(d->stream));
        for (k = 0; k < 3; k++) {
            int64_t below = 0, above = 0;
            int     first = 0, last = BINS - 1;

            if (!(at.width[k] > 0)) continue;
            while (first < last && below + count[k * BINS + first] <= n / 100) below += count[k * BINS + first++];
            while (last > first && above + count[k * BINS + last] <= n / 100) above += count[k * BINS + last--];
            if (last - first + 1 > BINS / 4) continue;
            b->lo[k] = at.lo[k] + first * at.width[k];
            hi[k] = at.lo[k] + (last + 1) * at.width[k];
            more = true;
        }
    }
    for (k = 0; k < 3; k++) b->length[k] = fmax(hi[k] - b->lo[k], 0.1); // a plane or a line of atoms still needs a volume
    GPU_TRY(cudaMemsetAsync(s->coarse, 0, SIDE * SIDE * SIDE * sizeof *s->coarse, d->stream));
    GPU_LAUNCH(k_coarse, (unsigned)(n + THREADS - 1) / THREADS, THREADS, 0, d->stream, d->view, *b, s->coarse);
    return MDS_OK;
}

/// Columns and bins. The density is the mean over atoms of that of the coarse cell they are in: in a homogeneous system N/V,
/// beside empty space that of the matter.
static mds_status cut_brick(mds_device *d)
{
    gpu_search *s = d->search;
    gpu_brick  *b = &s->brick;
    const int   n = d->view.n_atoms;
    int         count[SIDE * SIDE * SIDE], cells = 1, k;
    double      volume = 1, sum = 0;

    GPU_TRY(cudaMemcpyAsync(count, s->coarse, sizeof count, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    for (k = 0; k < 3; k++) {
        const int side = coarse_side(b->length, n, k);

        volume *= b->length[k] / side;
        cells *= side;
    }
    for (k = 0; k < cells; k++) sum += (double)count[k] * count[k];
    const double density = sum / (n * volume), most = n / GPU_BLOCK + 1;
    const double side = fmin(fmax(2 * cbrt(GPU_OCTET / density), sqrt(b->length[0] * b->length[1] / most)), GPU_REACH);
    for (k = 0; k < 2; k++) b->n_column[k] = (int)fmin(most, fmax(1, rint(b->length[k] / side)));
    const double columns = (double)b->n_column[0] * b->n_column[1];
    b->n_bins = (int)fmax(1, rint(n / (CELL * columns)));
    return gpu_fit_cells(columns, b->n_bins);
}

/// Box, lost atoms, brick. False in *go: the search was refused.
static mds_status set_brick(mds_device *d, bool *go)
{
    gpu_search *s = d->search;
    gpu_brick  *b = &s->brick;
    double      part[PARTS][6], bounds[6];
    int         k, i;

    *go = false;
    GPU_TRY(cudaMemsetAsync(s->coarse, 0, SIDE * SIDE * SIDE * sizeof *s->coarse, d->stream));
    GPU_LAUNCH(k_look, PARTS, THREADS, 0, d->stream, d->view, s->bounds, s->coarse);
    GPU_TRY(cudaMemcpyAsync(d->peek, d->view.control, sizeof *d->peek, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaMemcpyAsync(part, s->bounds, sizeof part, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    d->box = b->box = d->peek->box;
    d->periodic = b->periodic = !mds_box_is_none(&d->box);
    if (d->peek->tripped) return MDS_OK;
    if (!(fmax(d->params.cut_lj, d->params.cut_q) <= mds_box_reach(&d->box) * (1 + 1e-12))) { // a neighbour must be one image
        GPU_LAUNCH(k_refuse, 1, 1, 0, d->stream, d->view.control, (unsigned)MDS_FAULT_CUTOFF);
        return MDS_OK;
    }
    *go = true;
    for (k = 0; k < 6; k++) {
        bounds[k] = part[0][k];
        for (i = 1; i < PARTS; i++) bounds[k] = k < 3 ? fmin(bounds[k], part[i][k]) : fmax(bounds[k], part[i][k]);
    }
    for (k = 0; k < 3; k++) {
        b->lo[k] = 0;
        b->length[k] = d->box.a[k][k];
    }
    if (!b->periodic) MDS_TRY(find_bulk(d, bounds));
    return cut_brick(d);
}

/// Room for everything in slot order.
static mds_status reserve(mds_device *d)
{
    gpu_view    *p = &d->view;
    const size_t n = (size_t)p->n_slots;
    size_t       room[5], most = 0;
    int          k;

    for (k = 0; k < 5; k++) room[k] = d->n_slots_room;
    MDS_TRY(gpu_room(&p->atom_of, &room[0], n));
    MDS_TRY(gpu_room(&p->xq, &room[1], n));
    MDS_TRY(gpu_room(&p->fraction, &room[2], n));
    MDS_TRY(gpu_room(&p->force, &room[3], n));
    MDS_TRY(gpu_room(&p->origin, &room[4], n)); // one in 32 would do
    for (k = 0; k < 5; k++) most = room[k] > most ? room[k] : most;
    d->n_slots_room = most;
    return MDS_OK;
}

static mds_status sort_atoms(mds_device *d)
{
    gpu_search     *s = d->search;
    gpu_view       *p = &d->view;
    const gpu_brick b = s->brick;
    const int       n = p->n_atoms, n_columns = b.n_column[0] * b.n_column[1];
    const size_t    n_cells = (size_t)n_columns * (size_t)b.n_bins;
    const unsigned  grid = (unsigned)(n + THREADS - 1) / THREADS, column_grid = (unsigned)(n_columns + WARPS - 1) / WARPS;

    MDS_TRY(gpu_room(&s->cell, &s->cell_room, n_cells + 1));
    MDS_TRY(gpu_room(&s->column, &s->column_room, n_columns + 1));
    GPU_TRY(cudaMemsetAsync(s->cell, 0, (n_cells + 1) * sizeof *s->cell, d->stream));
    GPU_LAUNCH(k_keys, grid, THREADS, 0, d->stream, *p, b, s->key, s->arrival, s->cell);
    MDS_TRY(GPU_NAME(scan)(d, &s->scan, s->cell, 1, n_cells));
    GPU_LAUNCH(k_scatter, grid, THREADS, 0, d->stream, n, s->key, s->arrival, s->cell, s->item);
    GPU_LAUNCH(k_rank, grid, THREADS, 0, d->stream, n, s->item, s->cell, s->sorted);
    GPU_LAUNCH(k_columns<false>, column_grid, THREADS, 0, d->stream, n_columns, b.n_bins, s->sorted, s->cell, s->column, s->range);
    MDS_TRY(GPU_NAME(scan)(d, &s->scan, s->column, 1, (size_t)n_columns));
    GPU_TRY(cudaMemcpyAsync(s->totals, s->scan.total, sizeof *s->totals, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    MDS_TRY(gpu_fit_blocks(s->totals[0]));
    p->n_blocks = (int)s->totals[0];
    p->n_slots = p->n_blocks * GPU_BLOCK;
    MDS_TRY(reserve(d));
    MDS_TRY(gpu_room(&s->range, &s->range_room, p->n_blocks));
    GPU_LAUNCH(k_columns<true>, column_grid, THREADS, 0, d->stream, n_columns, b.n_bins, s->sorted, s->cell, s->column, s->range);
    GPU_LAUNCH(k_blocks, (unsigned)(p->n_blocks + WARPS - 1) / WARPS, THREADS, 0, d->stream, *p, s->sorted, s->range, (float)sqrt(MDS_COULOMB));
    return MDS_OK;
}

mds_status GPU_NAME(search)(mds_device *d, const mds_domain *domain)
{
    bool go;

    (void)domain;
    GPU_LAUNCH(k_start, 1, 1, 0, d->stream, d->view.control);
    MDS_TRY(GPU_NAME(vsite_place)(d));
    MDS_TRY(set_brick(d, &go));
    if (!go) return MDS_OK;
    MDS_TRY(sort_atoms(d));
    GPU_LAUNCH(k_ready, 1, 1, 0, d->stream, d->view.control);
    MDS_TRY(GPU_NAME(refresh)(d));
    MDS_TRY(GPU_NAME(list_build)(d));
    d->search->n_searches++;
    return GPU_NAME(pair_remap)(d);
}

mds_status GPU_NAME(search_open)(mds_device *d)
{
    const size_t n = (size_t)d->system->n_atoms;
    gpu_search  *s;

    MDS_TRY(mds_alloc(&d->search, 1, sizeof *d->search));
    s = d->search;
    MDS_TRY(gpu_alloc(&s->bounds, 6 * PARTS));
    MDS_TRY(gpu_alloc(&s->coarse, SIDE * SIDE * SIDE));
    MDS_TRY(gpu_alloc(&s->key, n));
    MDS_TRY(gpu_alloc(&s->item, n));
    MDS_TRY(gpu_alloc(&s->arrival, n));
    MDS_TRY(gpu_alloc(&s->sorted, n));
    GPU_TRY(cudaMallocHost(&s->totals, 4 * sizeof *s->totals));
    MDS_TRY(GPU_NAME(guard_open)(d));
    return GPU_NAME(list_open)(d);
}

void GPU_NAME(search_close)(mds_device *d)
{
    gpu_search *s = d->search;
    gpu_view   *p = &d->view;

    if (!s) return;
    GPU_NAME(guard_close)(d);
    GPU_NAME(list_close)(d);
    GPU_NAME(scan_close)(&s->scan);
    const void *const memory[] = {s->bounds, s->coarse, s->key, s->item, s->arrival, s->sorted, s->cell, s->column, s->range,
                                  p->atom_of, p->xq, p->fraction, p->origin, p->force};
    for (size_t k = 0; k < sizeof memory / sizeof memory[0]; k++) GPU_NAME(release)(memory[k]);
    if (s->totals) (void)cudaFreeHost(s->totals);
    mds_free(s);
    d->search = NULL;
}
