// SPDX-License-Identifier: Apache-2.0
// Chunks sorted by length, longest first, and what a list is like (figures).
//
// Counting sort, stable: lengths are multiples of four up to 64, so there are sixteen. Each block of 256 chunks counts its lengths; the counts
// in the order (length, block) are summed up; each block then puts its chunks where they belong, one after another within a length. The
// place within a warp comes from a match of lengths, that of a warp within the block from counts in shared memory.
#include "list.h"
#include "rows.h"

#include <math.h>

enum { THREADS = 256, WARPS = THREADS / GPU_WARP, LENGTHS = GPU_CHUNK / GPU_J_STEP, TALLY_WARPS = 4 };

static __device__ __forceinline__ int length_bin(int n)
{
    return LENGTHS - n / GPU_J_STEP; // longest first; a chunk has at least one step
}

/// count[length][block of chunks].
static __global__ void __launch_bounds__(THREADS) k_lengths(int n_chunks, const int *n, int *count)
{
    GPU_SHARED(int, bin, [LENGTHS]);
    const int t = (int)threadIdx.x, i = (int)blockIdx.x * THREADS + t;

    if (t < LENGTHS) bin[t] = 0;
    __syncthreads();
    if (i < n_chunks) atomicAdd(&bin[length_bin(n[i])], 1);
    __syncthreads();
    if (t < LENGTHS) count[(size_t)t * gridDim.x + blockIdx.x] = bin[t];
}

static __global__ void __launch_bounds__(THREADS)
k_by_length(int n_chunks, const int *n, const gpu_chunk *chunk, const int *start, int *n_out, gpu_chunk *chunk_out)
{
    GPU_SHARED(int, place, [WARPS][LENGTHS + 1]);
    const int t = (int)threadIdx.x, lane = t % GPU_WARP, warp = t / GPU_WARP, i = (int)blockIdx.x * THREADS + t;
    const int bin = i < n_chunks ? length_bin(n[i]) : LENGTHS;
    int       w;

    if (lane <= LENGTHS) place[warp][lane] = 0;
    __syncwarp();
    const unsigned same = __match_any_sync(GPU_ALL, bin), before = same & ((1u << lane) - 1);
    if (!before) place[warp][bin] = __popc(same);
    __syncthreads();
    if (t < LENGTHS) {
        int sum = start[(size_t)t * gridDim.x + blockIdx.x];

        for (w = 0; w < WARPS; w++) {
            const int mine = place[w][t];

            place[w][t] = sum;
            sum += mine;
        }
    }
    __syncthreads();
    if (i >= n_chunks) return;
    const int to = place[warp][bin] + __popc(before);
    n_out[to] = n[i];
    chunk_out[to] = chunk[i];
}

mds_status GPU_NAME(list_sort)(mds_device *d, int n_chunks)
{
    gpu_search    *s = d->search;
    const unsigned grid = (unsigned)(n_chunks + THREADS - 1) / THREADS;

    if (!n_chunks) return MDS_OK;
    MDS_TRY(gpu_room(&s->bin, &s->bin_room, (size_t)grid * LENGTHS + 1));
    GPU_LAUNCH(k_lengths, grid, THREADS, 0, d->stream, n_chunks, s->fresh.n, s->bin);
    MDS_TRY(GPU_NAME(scan)(d, &s->scan, s->bin, 1, (size_t)grid * LENGTHS));
    GPU_LAUNCH(k_by_length, grid, THREADS, 0, d->stream, n_chunks, s->fresh.n, s->fresh.chunk, s->bin, s->outer.n, s->outer.chunk);
    return MDS_OK;
}

// -------------------------------------------------------------------------------------------------- figures

/// tally[0] += pair slots: eight for every octet of every entry; tally[1] += pairs of a list that are nearer than `cut`.
static __global__ void __launch_bounds__(TALLY_WARPS * GPU_WARP) k_tally(gpu_view p, gpu_list l, float cut2, unsigned long long *tally)
{
    const gpu_control *c = p.control;
    const int          q = (int)blockIdx.x * TALLY_WARPS + (int)threadIdx.x / GPU_WARP, lane = (int)threadIdx.x % GPU_WARP;
    unsigned long long slots = 0, inside = 0;
    int                k, i;

    if (q >= l.n_chunks) return;
    const gpu_chunk chunk = l.chunk[q];
    const float4    from = p.origin[chunk.block];
    for (k = lane; k < l.n[q]; k += GPU_WARP) {
        const unsigned entry = l.j[chunk.first + k], octets = GPU_J_OCTETS(entry);
        const unsigned allow = chunk.allow < 0 ? GPU_ALL : l.allow[chunk.allow + k];
        const int      slot = GPU_J_SLOT(entry);
        const float4   to = p.origin[slot / GPU_BLOCK], xj = p.xq[slot];
        const double   origin[2][3] = {{(double)from.x, (double)from.y, (double)from.z}, {(double)to.x, (double)to.y, (double)to.z}};
        float          t[3];

        for (i = 0; i < 3; i++) {
            const double shift = chunk.image[0] * c->box.a[0][i] + chunk.image[1] * c->box.a[1][i] + chunk.image[2] * c->box.a[2][i];

            t[i] = (float)(origin[1][i] - origin[0][i] - shift);
        }
        slots += (unsigned)(GPU_OCTET * __popc(octets));
        for (i = 0; i < GPU_BLOCK; i++) {
            const float4 xi = p.xq[chunk.block * GPU_BLOCK + i];
            const float  dx = xi.x - (xj.x + t[0]), dy = xi.y - (xj.y + t[1]), dz = xi.z - (xj.z + t[2]);

            inside += (octets >> i / GPU_OCTET & 1) && (allow >> i & 1) && p.atom_of[chunk.block * GPU_BLOCK + i] >= 0 &&
                      dx * dx + dy * dy + dz * dz < cut2;
        }
    }
    slots = gpu_sum_warp(slots);
    inside = gpu_sum_warp(inside);
    if (lane == 0) atomicAdd(&tally[0], slots);
    if (lane == 0) atomicAdd(&tally[1], inside);
}

/// The same of a list in rows, a warp an octet.
static __global__ void __launch_bounds__(TALLY_WARPS * GPU_WARP) k_tally_rows(gpu_view p, gpu_rows r, float cut2, unsigned long long *tally)
{
    GPU_SHARED(gpu_image, image, [GPU_MOST_IMAGES]);
    const int          octet = (int)blockIdx.x * TALLY_WARPS + (int)threadIdx.x / GPU_WARP, lane = (int)threadIdx.x % GPU_WARP;
    unsigned long long slots = 0, inside = 0;
    int                at, k;

    gpu_row_images(&r, p.control, image, (int)threadIdx.x, TALLY_WARPS * GPU_WARP);
    __syncthreads();
    if (octet >= p.n_slots / GPU_OCTET) return;
    const float4 base = p.origin[octet / (GPU_BLOCK / GPU_OCTET)];
    for (at = lane; at < r.n[octet] << r.shift; at += GPU_WARP) {
        const int      slot = gpu_row_slot(&r, r.first[octet], at);
        const unsigned word = r.word[(r.first[octet] << r.shift) + at];
        const float3   x = gpu_row_place(p.xq[slot], p.origin[slot / GPU_BLOCK], base, &image[word >> 8]);

        slots += GPU_OCTET;
        for (k = 0; k < GPU_OCTET; k++) {
            const float4 xi = p.xq[GPU_OCTET * octet + k];
            const float  dx = xi.x - x.x, dy = xi.y - x.y, dz = xi.z - x.z;

            inside += (word >> k & 1) && dx * dx + dy * dy + dz * dz < cut2;
        }
    }
    slots = gpu_sum_warp(slots);
    inside = gpu_sum_warp(inside);
    if (lane == 0) atomicAdd(&tally[0], slots);
    if (lane == 0) atomicAdd(&tally[1], inside);
}

static mds_status tally(const mds_device *d, const gpu_list *l, const gpu_rows *rows, float cut2, unsigned long long out[2])
{
    out[0] = out[1] = 0;
    if (!l->n_chunks && !rows->n_items) return MDS_OK;
    GPU_TRY(cudaMemsetAsync(d->search->tally, 0, 2 * sizeof *out, d->stream));
    if (rows->n_items)
        GPU_LAUNCH(k_tally_rows, (unsigned)(d->view.n_slots / GPU_OCTET + TALLY_WARPS - 1) / TALLY_WARPS, TALLY_WARPS * GPU_WARP, 0, d->stream,
                   d->view, *rows, cut2, d->search->tally);
    else
        GPU_LAUNCH(k_tally, (unsigned)(l->n_chunks + TALLY_WARPS - 1) / TALLY_WARPS, TALLY_WARPS * GPU_WARP, 0, d->stream, d->view, *l, cut2,
                   d->search->tally);
    GPU_TRY(cudaMemcpyAsync(out, d->search->tally, 2 * sizeof *out, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    return MDS_OK;
}

void GPU_NAME(figures)(const mds_device *d, mds_list_figures *out)
{
    const gpu_search *s = d->search;
    const double      cut = s->radius_outer < GPU_EVERYWHERE ? fmax(d->params.cut_lj, d->params.cut_q) : 1e15;
    const gpu_list    outer = {d->list.n_chunks, s->outer.chunk, s->outer.n, s->outer.j, s->outer.allow};
    unsigned long long of_outer[2] = {0, 0}, of_inner[2] = {0, 0};

    *out = mds_list_figures{};
    const gpu_rows rows = GPU_NAME(rows_outer)(d);
    if (tally(d, &outer, &rows, (float)(cut * cut), of_outer) != MDS_OK || tally(d, &d->list, &s->rows, (float)(cut * cut), of_inner) != MDS_OK) return;
    out->outer = (int64_t)of_outer[0];
    out->inner = (int64_t)of_inner[0];
    out->inside = (int64_t)of_inner[1];
    out->searches = s->n_searches;
    gpu_prune_state state;
    if (cudaMemcpy(&state, s->prune, sizeof state, cudaMemcpyDeviceToHost) == cudaSuccess) out->prunes = state.n_prunes;
}
