// SPDX-License-Identifier: Apache-2.0
// The inner list: what of the outer list is near enough to be computed now. Made anew every few steps, by exact distances.
//
// A search is dear, so the outer list is wide and lasts; a pruning costs about a tenth of what the outer list would cost if it were computed.
// The rules are those of cpu/copy.c (docs/decisions/005-list-buffer.md): the inner list holds as long as no two atoms, by class heavy or
// light, have come further since it was made than its buffer and the depth of their kind; it is made for positions expected halfway to the
// next pruning, x + v t, where those are near enough; not at a search, whose velocities a resumed run does not have.
//
// Two kernels, always launched, for a recorded step cannot ask the host. k_ways goes over all slots (16 + 16 bytes a slot) and finds
// the two largest ways of each class; the last of its blocks to end looks at all shares and decides. In recorded steps the kernel that moves
// the atoms does that in passing where it can (survey.h). k_prune ends at once unless pruning is due. Else a warp takes a chunk of the
// outer list, the i atoms in shared memory and up to two entries a lane, tries the atoms of the octets that an entry had, drops what is far, sorts the rest by octets as list.cu does (a match of lanes gives ranks) and writes it where
// the outer chunk begins: the inner list has the chunks of the outer one, only shorter.
// k_prune_rows does the same for a list in rows: a warp an octet, 32 atoms a turn, packed by ballots.
//
// The largest two of all are the same in any order, so decisions do not depend on the order of blocks.
#include "prune.h"
#include "rows.h"

#include <math.h>

enum { THREADS = 128, WARPS = THREADS / GPU_WARP, WAYS_SHARES = 128, WAYS_THREADS = 256, WAYS_WARPS = WAYS_THREADS / GPU_WARP };

/// Over the block; thread 0 has the result.
static __device__ gpu_ways block_ways(gpu_ways *shared, gpu_ways mine)
{
    const int t = (int)threadIdx.x;
    int       distance, k;

    for (distance = GPU_WARP / 2; distance > 0; distance /= 2) {
        gpu_ways other;

        GPU_UNROLL
        for (k = 0; k < 2; k++) {
            other.first[k] = __shfl_xor_sync(GPU_ALL, mine.first[k], distance);
            other.second[k] = __shfl_xor_sync(GPU_ALL, mine.second[k], distance);
        }
        prune_add_ways(&mine, &other);
    }
    if (t % GPU_WARP == 0) shared[t / GPU_WARP] = mine;
    __syncthreads();
    for (k = 1; t == 0 && k < WAYS_WARPS; k++) prune_add_ways(&mine, &shared[k]);
    __syncthreads();
    return mine;
}

/// Ways since the last pruning, positions ahead and the ways to them where a pruning is scheduled; the last block decides.
static __global__ void __launch_bounds__(WAYS_THREADS) k_ways(prune_args a)
{
    GPU_SHARED(gpu_ways, shared, [WAYS_WARPS]);
    GPU_SHARED(int, last, [1]);
    gpu_prune_state *s = a.state;
    const int        t = (int)threadIdx.x;
    gpu_ways         moved = prune_no_ways(), ahead = prune_no_ways();
    int              i;

    if (a.view.control->tripped) return;
    const bool looks = a.ahead > 0 && !s->fresh && prune_scheduled(&a, a.view.control->step);
    for (i = (int)blockIdx.x * WAYS_THREADS + t; i < a.view.n_slots; i += (int)gridDim.x * WAYS_THREADS) {
        const int    atom = a.view.atom_of[i];
        const float4 x = a.view.xq[i], then = a.x_prune[i];

        if (atom < 0) continue;
        prune_add_way(&moved, then.w, x.x - then.x, x.y - then.y, x.z - then.z);
        if (looks) prune_look_ahead(&a, i, x, then.w, a.view.v[atom], &ahead);
    }
    moved = block_ways(shared, moved);
    if (looks) ahead = block_ways(shared, ahead);
    if (t == 0) {
        a.ways[blockIdx.x] = moved;
        a.ways[WAYS_SHARES + blockIdx.x] = ahead;
        __threadfence();
        last[0] = atomicAdd(&s->done, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last[0]) return;
    moved = t < (int)gridDim.x ? a.ways[t] : prune_no_ways();
    ahead = t < (int)gridDim.x ? a.ways[WAYS_SHARES + t] : prune_no_ways();
    moved = block_ways(shared, moved);
    if (looks) ahead = block_ways(shared, ahead);
    if (t != 0) return;
    prune_decide(&a, &moved, &ahead, looks);
    s->done = 0;
}

static_assert(WAYS_SHARES <= WAYS_THREADS, "the last block has a thread for every share");

// ------------------------------------------------------------------------------------------------- pruning

/// Of one warp.
typedef struct {
    float4 x[GPU_BLOCK];
    int    bin[GPU_WARP];
} prune_room;

/// Of an entry's octets those with an atom within the inner radius that counts.
static __device__ __forceinline__ unsigned near_octets(const prune_args *a, const prune_room *s, unsigned octets, unsigned allow, float x, float y, float z)
{
    unsigned out = 0;
    int      o, i;

    for (o = 0; o < GPU_BLOCK / GPU_OCTET; o++) {
        float best = 2 * GPU_NOWHERE; // of none

        if (!(octets >> o & 1)) continue;
        for (i = GPU_OCTET * o; i < GPU_OCTET * (o + 1); i++) {
            const float dx = s->x[i].x - x, dy = s->x[i].y - y, dz = s->x[i].z - z;

            if (allow >> i & 1) best = fminf(best, dx * dx + dy * dy + dz * dz);
        }
        if (best <= a->radius2) out |= 1u << o;
    }
    return out;
}

/// The entry's octets that stay. `base`: origin of the i atoms in this image, as far as it is on the raster.
static __device__ __forceinline__ unsigned keep(const prune_args *a, const prune_room *s, const float4 *x, float3 base, unsigned entry, unsigned allow)
{
    const int    slot = GPU_J_SLOT(entry);
    const float4 xj = x[slot], from = a->view.origin[slot / GPU_BLOCK];

    return near_octets(a, s, GPU_J_OCTETS(entry), allow, xj.x + (from.x - base.x), xj.y + (from.y - base.y), xj.z + (from.z - base.z));
}

static __device__ __forceinline__ float along(const float a[3][3], const int image[3], int k)
{
    return (float)image[0] * a[0][k] + (float)image[1] * a[1][k] + (float)image[2] * a[2][k];
}

static __device__ void prune_chunk(const prune_args *a, prune_room *s, const float4 *x, int c, int lane)
{
    const gpu_control *control = a->view.control;
    const gpu_chunk    chunk = a->outer.chunk[c];
    const int          n = a->outer.n[c];
    const unsigned     lower = (1u << lane) - 1;
    const float4       origin = a->view.origin[chunk.block], xi = x[chunk.block * GPU_BLOCK + lane];
    const float3       base = {origin.x + along(control->raster, chunk.image, 0), origin.y + along(control->raster, chunk.image, 1),
                               origin.z + along(control->raster, chunk.image, 2)};
    unsigned           entry[2], allow[2], same[2];
    int                key[2], k, sum = 0;

    s->x[lane] = make_float4(xi.x + along(control->rest, chunk.image, 0), xi.y + along(control->rest, chunk.image, 1),
                             xi.z + along(control->rest, chunk.image, 2), 0);
    s->bin[lane] = 0;
    __syncwarp();
    GPU_UNROLL
    for (k = 0; k < 2; k++) {
        const int at = GPU_WARP * k + lane;

        entry[k] = at < n ? a->outer.j[chunk.first + at] : 0;
        allow[k] = chunk.allow < 0 || at >= n ? GPU_ALL : a->outer.allow[chunk.allow + at];
        const unsigned octets = keep(a, s, x, base, entry[k], allow[k]);
        entry[k] = (entry[k] & 0x0fffffffu) | octets << 28;
        key[k] = octets ? gpu_gray_rank(octets) : 16;
        same[k] = __match_any_sync(GPU_ALL, key[k]);
        if (!(same[k] & lower)) s->bin[key[k]] += __popc(same[k]);
        __syncwarp();
    }
    for (k = 0; k < lane; k++) sum += s->bin[k];
    const int kept = gpu_shuffle(sum, 16);
    __syncwarp();
    s->bin[lane] = sum;
    __syncwarp();
    GPU_UNROLL
    for (k = 0; k < 2; k++) {
        const int place = s->bin[key[k]] + __popc(same[k] & lower);

        if (key[k] < 16) {
            a->j[chunk.first + place] = entry[k];
            if (chunk.allow >= 0) a->allow[chunk.allow + place] = allow[k];
        }
        __syncwarp();
        if (!(same[k] & lower)) s->bin[key[k]] += __popc(same[k]);
        __syncwarp();
    }
    if (kept + lane < gpu_padded(kept)) {
        a->j[chunk.first + kept + lane] = (unsigned)(chunk.block * GPU_BLOCK); // near no octet
        if (chunk.allow >= 0) a->allow[chunk.allow + kept + lane] = 0;
    }
    if (lane == 0) a->n[c] = gpu_padded(kept);
}

static_assert(GPU_CHUNK <= 2 * GPU_WARP, "two entries a lane");

/// One warp chunk after chunk, where pruning is due. Also notes the positions that it was made for.
static __global__ void __launch_bounds__(THREADS) k_prune(prune_args a)
{
    GPU_SHARED(prune_room, rooms, [WARPS]);
    const int due = a.state->due, lane = (int)threadIdx.x % GPU_WARP;
    int       i, c;

    if (a.view.control->tripped || !due) return;
    const float4 *x = due == 2 ? a.x_ahead : a.view.xq;
    for (i = (int)(blockIdx.x * THREADS + threadIdx.x); i < a.view.n_slots; i += (int)gridDim.x * THREADS) {
        const float4 now = x[i];

        a.x_prune[i] = make_float4(now.x, now.y, now.z, a.x_prune[i].w);
    }
    for (c = (int)blockIdx.x * WARPS + (int)threadIdx.x / GPU_WARP; c < a.outer.n_chunks; c += (int)gridDim.x * WARPS) {
        prune_chunk(&a, &rooms[threadIdx.x / GPU_WARP], x, c, lane);
        __syncwarp();
    }
}

// ---------------------------------------------------------------------------------------------------- rows

/// A row of the outer list to one of the inner: 32 atoms a turn, a lane each, against the octet's eight.
static __device__ void prune_row(const prune_args *a, float4 *xi, const gpu_image *image, const float4 *x, int octet, int lane)
{
    const gpu_rows *r = &a->rows;
    const int       first = r->first[octet], n = r->n[octet] << r->shift;
    const float4    base = a->view.origin[octet / (GPU_BLOCK / GPU_OCTET)];
    int             at, k, kept = 0;

    if (lane < GPU_OCTET) xi[lane] = x[GPU_OCTET * octet + lane];
    __syncwarp();
    for (at = 0; at < n; at += GPU_WARP) {
        const int      pos = at + lane, lead = lane >> r->shift << r->shift;
        const unsigned word = pos < n ? r->word[(first << r->shift) + pos] : 0;
        const int      slot = pos < n ? gpu_row_slot(r, first, pos) : octet * GPU_OCTET;
        const float3   p = gpu_row_place(x[slot], a->view.origin[slot / GPU_BLOCK], base, &image[word >> 8]);
        float          best = 2 * GPU_NOWHERE; // of none

        for (k = 0; k < GPU_OCTET; k++) {
            const float dx = xi[k].x - p.x, dy = xi[k].y - p.y, dz = xi[k].z - p.z;

            if (word >> k & 1) best = fminf(best, dx * dx + dy * dy + dz * dz);
        }
        unsigned who = gpu_ballot(best <= a->radius2);
        if (r->shift) {
            who |= who >> 1;
            who = (who | who >> 2) & 0x11111111u; // the first of each four
        }
        const int to = first + kept + __popc(who & ((1u << lead) - 1));
        kept += __popc(who);
        if (!(who >> lead & 1)) continue;
        if (lane == lead) a->j[to] = (unsigned)slot >> r->shift;
        a->word[(to << r->shift) + (lane - lead)] = (unsigned short)word;
    }
    if (lane == 0) a->row[octet] = kept;
}

/// One warp row after row, where pruning is due. Also notes the positions that it was made for.
static __global__ void __launch_bounds__(THREADS) k_prune_rows(prune_args a)
{
    GPU_SHARED(float4, x_i, [WARPS][GPU_OCTET]);
    GPU_SHARED(gpu_image, image, [GPU_MOST_IMAGES]);
    const int due = a.state->due, warp = (int)threadIdx.x / GPU_WARP;
    int       i, octet;

    if (a.view.control->tripped || !due) return;
    const float4 *x = due == 2 ? a.x_ahead : a.view.xq;
    gpu_row_images(&a.rows, a.view.control, image, (int)threadIdx.x, THREADS);
    for (i = (int)(blockIdx.x * THREADS + threadIdx.x); i < a.view.n_slots; i += (int)gridDim.x * THREADS) {
        const float4 now = x[i];

        a.x_prune[i] = make_float4(now.x, now.y, now.z, a.x_prune[i].w);
    }
    __syncthreads();
    for (octet = (int)blockIdx.x * WARPS + warp; octet < a.view.n_slots / GPU_OCTET; octet += (int)gridDim.x * WARPS) {
        prune_row(&a, x_i[warp], image, x, octet, (int)threadIdx.x % GPU_WARP);
        __syncwarp();
    }
}

/// After a search: classes, positions until the first pruning, and padding of what is foreseen.
static __global__ void k_reset(prune_args a)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i == 0) {
        a.state->fresh = 1;
        a.state->foreseen = a.state->due = 0;
    }
    if (i >= a.view.n_slots) return;
    const int atom = a.view.atom_of[i];
    float4    x = a.view.xq[i];
    x.w = atom >= 0 && a.view.inv_mass[atom] > 1 / MDS_LIGHT ? 1 : 0;
    a.x_prune[i] = a.x_ahead[i] = x;
}

// --------------------------------------------------------------------------------------------- on the host

static prune_args arguments(const mds_device *d)
{
    const mds_params *p = &d->params;
    const gpu_search *s = d->search;
    const double      radius = s->radius_inner + GPU_ROUNDING;

    return prune_args{d->view, s->x_prune, s->x_ahead, s->ways, s->prune,
                      s->radius_inner - fmax(p->cut_lj, p->cut_q) - GPU_ROUNDING, {p->list_depth[0], p->list_depth[1], p->list_depth[2]},
                      0.5 * (p->prune_interval - 1) * p->dt, p->prune_interval, (float)(radius * radius),
                      {d->list.n_chunks, s->outer.chunk, s->outer.n, s->outer.j, s->outer.allow}, s->inner.n, s->inner.j, s->inner.allow,
                      GPU_NAME(rows_outer)(d), s->row_inner, s->word_inner};
}

mds_status GPU_NAME(prune_reset)(mds_device *d, const long long total[3])
{
    gpu_search *s = d->search;

    d->list = gpu_list{(int)total[0], s->outer.chunk, s->outer.n, s->outer.j, s->outer.allow};
    s->has_inner = s->radius_inner < s->radius_outer && total[0] > 0;
    if (!s->has_inner) return MDS_OK;
    MDS_TRY(gpu_room(&s->inner.n, &s->inner.n_room, total[0]));
    MDS_TRY(gpu_room(&s->inner.j, &s->inner.j_room, total[1]));
    MDS_TRY(gpu_room(&s->inner.allow, &s->inner.allow_room, total[2]));
    MDS_TRY(gpu_room(&s->x_prune, &s->x_prune_room, d->view.n_slots));
    MDS_TRY(gpu_room(&s->x_ahead, &s->x_ahead_room, d->view.n_slots));
    GPU_TRY(cudaMemsetAsync(s->inner.n, 0, (size_t)total[0] * sizeof *s->inner.n, d->stream)); // empty until it is made
    GPU_LAUNCH(k_reset, (unsigned)(d->view.n_slots + THREADS - 1) / THREADS, THREADS, 0, d->stream, arguments(d));
    d->list = gpu_list{(int)total[0], s->outer.chunk, s->inner.n, s->inner.j, s->inner.allow};
    return MDS_OK;
}

gpu_rows GPU_NAME(rows_outer)(const mds_device *d)
{
    const gpu_search *s = d->search;
    gpu_rows          r = s->rows;

    r.n = s->row_outer;
    r.j = s->outer.j;
    r.word = s->word_outer;
    return r;
}

mds_status GPU_NAME(rows_reset)(mds_device *d, const long long total[2])
{
    gpu_search  *s = d->search;
    const int    octets = d->view.n_slots / GPU_OCTET;
    const size_t entries = (size_t)total[0];

    s->rows.n_items = (int)total[1];
    s->rows.item = s->row_item;
    s->rows.first = s->count;
    s->rows = GPU_NAME(rows_outer)(d);
    s->has_inner = s->radius_inner < s->radius_outer && total[1] > 0;
    if (!s->has_inner) return MDS_OK;
    MDS_TRY(gpu_room(&s->row_inner, &s->row_room[1], octets));
    MDS_TRY(gpu_room(&s->inner.j, &s->inner.j_room, entries));
    MDS_TRY(gpu_room(&s->word_inner, &s->word_room[1], entries << s->rows.shift));
    MDS_TRY(gpu_room(&s->x_prune, &s->x_prune_room, d->view.n_slots));
    MDS_TRY(gpu_room(&s->x_ahead, &s->x_ahead_room, d->view.n_slots));
    GPU_TRY(cudaMemsetAsync(s->row_inner, 0, (size_t)octets * sizeof *s->row_inner, d->stream)); // empty until it is made
    GPU_LAUNCH(k_reset, (unsigned)(d->view.n_slots + THREADS - 1) / THREADS, THREADS, 0, d->stream, arguments(d));
    s->rows.n = s->row_inner;
    s->rows.j = s->inner.j;
    s->rows.word = s->word_inner;
    return MDS_OK;
}

/// Blocks for n warps' work: no more than the chip holds at once, for in most steps all they do is to end.
static unsigned blocks_for(const mds_device *d, int n)
{
    const unsigned wanted = (unsigned)(n + WARPS - 1) / WARPS;

    return wanted < d->search->prune_blocks ? wanted : d->search->prune_blocks;
}

mds_status GPU_NAME(prune)(mds_device *d)
{
    const int  shares = (d->view.n_slots + 4 * WAYS_THREADS - 1) / (4 * WAYS_THREADS); // some slots a thread, if there are that many
    const bool surveyed = d->surveyed;

    d->surveyed = false;
    if (!d->search->has_inner) return MDS_OK;
    if (!surveyed) GPU_LAUNCH(k_ways, (unsigned)(shares < WAYS_SHARES ? shares : WAYS_SHARES), WAYS_THREADS, 0, d->stream, arguments(d));
    if (d->search->rows.n_items) {
        GPU_LAUNCH(k_prune_rows, blocks_for(d, d->view.n_slots / GPU_OCTET), THREADS, 0, d->stream, arguments(d));
        return MDS_OK;
    }
    GPU_LAUNCH(k_prune, blocks_for(d, d->list.n_chunks), THREADS, 0, d->stream, arguments(d));
    return MDS_OK;
}

prune_args GPU_NAME(prune_arguments)(const mds_device *d)
{
    prune_args a = arguments(d);

    if (!d->search->has_inner) a.state = NULL;
    return a;
}

mds_status GPU_NAME(prune_open)(mds_device *d)
{
    gpu_search    *s = d->search;
    cudaDeviceProp about;

    GPU_TRY(cudaGetDeviceProperties(&about, 0));
    s->prune_blocks = 16 * (unsigned)about.multiProcessorCount; // 2048 threads
    MDS_TRY(gpu_alloc(&s->ways, 2 * WAYS_SHARES));
    MDS_TRY(gpu_alloc(&s->prune, 1));
    GPU_TRY(cudaMemset(s->prune, 0, sizeof *s->prune));
    return MDS_OK;
}

void GPU_NAME(prune_close)(mds_device *d)
{
    gpu_search *s = d->search;

    GPU_NAME(release)(s->ways);
    GPU_NAME(release)(s->prune);
    GPU_NAME(release)(s->x_prune);
    GPU_NAME(release)(s->x_ahead);
}
