// SPDX-License-Identifier: Apache-2.0
// The guard of the pair list: has a pair that the list may lack come so near that it matters?
//
// The rule is that of cpu/guard.c and ref/move.c (docs/decisions/005-list-buffer.md): a list is at its end when a pair that was beyond its
// radius at the search is nearer now than the cut-off less the depth of its kind; also, without asking pairs, when an atom has gone half the
// cut-off, when more than one in a hundred is beyond its limit, or where params.list_pairwise is off. A position or a velocity that is not
// finite is a fault and ends the list as well.
//
// Two kernels, which end at once unless `move` has seen an atom beyond its limit. k_collect goes over all atoms, 48 bytes each, and
// notes the fast ones and the largest ways; in recorded steps move does that itself where it can (survey.h), and k_ask runs beside the
// forces: its verdict then comes too late for them, but not for the step. k_ask gives each fast atom to a warp. All is taken in the frame of the search: where the atom's
// octet was then, with a radius that covers what both atoms have gone, it compares the boxes of blocks, 32 at a time; of a block that is near
// each lane takes one atom and asks exactly, in double. Some 35 of 23,558 atoms are fast after 20 steps of DHFR; for a million, 1,500 atoms times
// 33,000 blocks are 1.5 million rounds of a warp, the worth of a step's pair kernel on a few of 132 processors.
// The last block of k_ask to end gives the verdict and clears the state for the next step.
//
// The answer, yes or no, depends neither on the order of the fast atoms nor on that of blocks.
#include "list.h"

#include <math.h>

enum { BLOCKS = 128, THREADS = 128, WARPS = THREADS / GPU_WARP };

typedef struct {
    gpu_view         view;
    gpu_brick        brick;
    gpu_bounds       octet, block;
    int             *fast;
    gpu_guard_state *state;
    mds_params       params;
    bool             late; // forces are under way: other kernels are reading the stop word
} guard_args;

/// Numbers of a look.
typedef struct {
    double cut, buffer, lag;  // nm: larger cut-off; what the list has beyond it now; what atoms lag behind a uniform scaling
    double scale, most[2];    // of the box since the search; nm: largest ways, heavy and light
} guard_numbers;

static __device__ guard_numbers numbers_of(const guard_args *a)
{
    const gpu_control *c = a->view.control;
    const mds_params  *p = &a->params;
    guard_numbers      g;

    g.cut = fmax(p->cut_lj, p->cut_q);
    g.scale = c->list_scale;
    g.lag = fabs(1 - g.scale) * c->extent;
    g.buffer = p->list_radius * g.scale - g.cut - 2 * g.lag;
    g.most[0] = sqrt(__longlong_as_double((long long)a->state->most2[0]));
    g.most[1] = sqrt(__longlong_as_double((long long)a->state->most2[1]));
    return g;
}

static __device__ __forceinline__ int is_light(const guard_args *a, int i)
{
    return a->view.inv_mass[i] > 1 / MDS_LIGHT;
}

static __device__ __forceinline__ double depth_of(const mds_params *p, int n_light)
{
    return n_light == 0 ? p->list_depth[0] : n_light == 1 ? p->list_depth[1] : p->list_depth[2];
}

static __device__ __forceinline__ void way_of(const guard_args *a, int i, double way[3])
{
    int k;

    for (k = 0; k < 3; k++) way[k] = a->view.x[i][k] - a->view.x_list[i][k];
}

/// The largest of a warp into *most, as bits: those of numbers that are not negative are in the order of the numbers.
static __device__ __forceinline__ void put_most(unsigned long long *most, double mine)
{
    int distance;

    for (distance = GPU_WARP / 2; distance > 0; distance /= 2) mine = fmax(mine, __shfl_xor_sync(GPU_ALL, mine, distance));
    if (threadIdx.x % GPU_WARP == 0) atomicMax(most, (unsigned long long)__double_as_longlong(mine));
}

/// Fast atoms, largest ways, and what is not finite.
static __global__ void __launch_bounds__(THREADS) k_collect(guard_args a)
{
    gpu_guard_state   *s = a.state;
    const gpu_control *c = a.view.control;
    double             limit2[2], far2, heavy2 = 0, light2 = 0;
    int                i;

    if (c->tripped || !c->suspect) return;
    gpu_guard_limits(&a.params, c, limit2);
    far2 = 0.25 * fmax(a.params.cut_lj, a.params.cut_q) * fmax(a.params.cut_lj, a.params.cut_q);
    for (i = (int)(blockIdx.x * THREADS + threadIdx.x); i < a.view.n_atoms; i += (int)gridDim.x * THREADS) {
        const bool light = is_light(&a, i);
        double     way[3];

        if (!isfinite(mds_dot(a.view.x[i], a.view.x[i])) || !isfinite(mds_dot(a.view.v[i], a.view.v[i]))) {
            atomicMax(&s->lost, a.view.n_atoms - i);
            continue;
        }
        way_of(&a, i, way);
        const double way2 = mds_dot(way, way);
        heavy2 = fmax(heavy2, light ? 0 : way2);
        light2 = fmax(light2, light ? way2 : 0);
        if (way2 <= (light ? limit2[1] : limit2[0])) continue;
        if (way2 > far2) atomicOr(&s->far, 1);
        const int place = atomicAdd(&s->n_fast, 1);
        if (place < GPU_FAST(a.view.n_atoms)) a.fast[place] = i;
    }
    put_most(&s->most2[0], heavy2);
    put_most(&s->most2[1], light2);
}

/// Whether atom j was too far from i to be listed, and matters now.
static __device__ bool lacks(const guard_args *a, const guard_numbers *g, const mds_images *images, int i, const double way[3], int j)
{
    const double depth = depth_of(&a->params, is_light(a, i) + is_light(a, j)), now = g->cut - depth, beyond = g->cut + g->buffer;
    double       r[3], other[3];
    int          k;

    way_of(a, j, other);
    const double least = g->buffer + depth - mds_norm(way); // what j must have gone: almost none has, so ask this first
    if (least > 0 && mds_dot(other, other) < least * least) return false;
    for (k = 0; k < 3; k++) r[k] = a->view.x[i][k] - a->view.x[j][k];
    mds_images_nearest(images, r);
    if (!(mds_dot(r, r) < now * now)) return false;
    for (k = 0; k < 3; k++) r[k] -= way[k] - other[k]; // where the same image was at the search
    return mds_dot(r, r) > beyond * beyond;
}

/// One fast atom and where to look for it: the box around its octet at the search, in one image after another.
typedef struct {
    double way[3], lo[3], hi[3], radius;
    int    atom;
} look;

/// Whether block b may hold atoms for the look, its box being moved by shift.
static __device__ __forceinline__ bool block_near(const guard_args *a, const look *l, const double shift[3], int b)
{
    const float4 o = a->view.origin[b], lo = a->block.lo[b], hi = a->block.hi[b];
    const double dx = fmax(fmax((double)o.x + (double)lo.x - l->hi[0] - shift[0], l->lo[0] + shift[0] - (double)o.x - (double)hi.x), 0.0);
    const double dy = fmax(fmax((double)o.y + (double)lo.y - l->hi[1] - shift[1], l->lo[1] + shift[1] - (double)o.y - (double)hi.y), 0.0);
    const double dz = fmax(fmax((double)o.z + (double)lo.z - l->hi[2] - shift[2], l->lo[2] + shift[2] - (double)o.z - (double)hi.z), 0.0);

    return dx * dx + dy * dy + dz * dz <= l->radius * l->radius;
}

/// All blocks against one image of the look, by a warp.
static __device__ bool look_at_image(const guard_args *a, const guard_numbers *g, const mds_images *images, const look *l, const double shift[3], int lane)
{
    bool out = false;
    int  first;

    for (first = 0; first < a->view.n_blocks; first += GPU_WARP) {
        const bool near = first + lane < a->view.n_blocks && block_near(a, l, shift, first + lane);
        unsigned   found = gpu_ballot(near);

        for (; found; found &= found - 1) {
            const int j = a->view.atom_of[(first + __ffs((int)found) - 1) * GPU_BLOCK + lane];

            out = out || (j >= 0 && j != l->atom && lacks(a, g, images, l->atom, l->way, j));
        }
    }
    return out;
}

/// One fast atom against all that may be near it now.
static __device__ bool look_around(const guard_args *a, const guard_numbers *g, const mds_images *images, int i, int lane)
{
    const int    light = is_light(a, i), slot = a->view.slot_of[i];
    const double depth = light ? a->params.list_depth[2] : a->params.list_depth[0], other = light ? g->most[0] : g->most[1];
    const float4 o = a->view.origin[slot / GPU_BLOCK], low = a->octet.lo[slot / GPU_OCTET], high = a->octet.hi[slot / GPU_OCTET];
    look         l;
    double       h[3][3];
    int          c[2], b[2], r[2], n[3], k;
    bool         out = false;

    way_of(a, i, l.way);
    const double way = mds_norm(l.way);
    // of two atoms of one class it is enough that the faster one looks
    if (!(way > 0.5 * (g->buffer + depth) || way + other > g->buffer + a->params.list_depth[1])) return false;
    l.atom = i;
    l.radius = (g->cut + way + fmax(g->most[0], g->most[1])) / g->scale + 2 * g->lag + 4 * GPU_ROUNDING;
    l.lo[0] = (double)o.x + (double)low.x;
    l.lo[1] = (double)o.y + (double)low.y;
    l.lo[2] = (double)o.z + (double)low.z;
    l.hi[0] = (double)o.x + (double)high.x;
    l.hi[1] = (double)o.y + (double)high.y;
    l.hi[2] = (double)o.z + (double)high.z;
    GPU_UNROLL
    for (k = 0; k < 9; k++) h[k / 3][k % 3] = a->brick.box.a[k / 3][k % 3];
    gpu_image_range(l.lo[2], l.hi[2], h[2][2], l.radius, c);
    for (n[2] = c[0]; n[2] <= c[1]; n[2]++) {
        gpu_image_range(l.lo[1] + n[2] * h[2][1], l.hi[1] + n[2] * h[2][1], h[1][1], l.radius, b);
        for (n[1] = b[0]; n[1] <= b[1]; n[1]++) {
            const double x = n[2] * h[2][0] + n[1] * h[1][0];

            gpu_image_range(l.lo[0] + x, l.hi[0] + x, h[0][0], l.radius, r);
            for (n[0] = r[0]; n[0] <= r[1]; n[0]++) {
                const double shift[3] = {x + n[0] * h[0][0], n[2] * h[2][1] + n[1] * h[1][1], n[2] * h[2][2]};

                out = look_at_image(a, g, images, &l, shift, lane) || out;
            }
        }
    }
    return out;
}

/// By one thread of the last block: what all have found.
static __device__ void judge(const guard_args *a)
{
    gpu_guard_state *s = a->state;
    gpu_control     *c = a->view.control;

    if (s->lost) gpu_fault(c, MDS_FAULT_NOT_FINITE, a->view.n_atoms - s->lost);
    if (s->lost || s->far || s->lacks || s->n_fast > GPU_FAST(a->view.n_atoms) || (s->n_fast > 0 && !a->params.list_pairwise))
        *(a->late ? &c->outdated : &c->tripped) = 1;
    c->suspect = 0;
    s->n_fast = s->far = s->lacks = s->lost = 0;
    s->most2[0] = s->most2[1] = 0;
    s->done = 0;
}

/// One warp a fast atom, and the verdict.
static __global__ void __launch_bounds__(THREADS) k_ask(guard_args a)
{
    GPU_SHARED(mds_images, images, [1]);
    gpu_guard_state *s = a.state;
    const int        lane = (int)threadIdx.x % GPU_WARP;
    int              k;

    if (a.view.control->tripped || !a.view.control->suspect) return;
    if (threadIdx.x == 0) images[0] = mds_images_of(&a.view.control->box);
    __syncthreads();
    const bool ask = a.params.list_pairwise && !s->lost && !s->far && s->n_fast <= GPU_FAST(a.view.n_atoms);
    if (ask) {
        const guard_numbers g = numbers_of(&a);
        const int           n = s->n_fast;
        bool                found = false;

        for (k = (int)(blockIdx.x * WARPS + threadIdx.x / GPU_WARP); k < n; k += (int)gridDim.x * WARPS)
            found = look_around(&a, &g, images, a.fast[k], lane) || found;
        if (found) atomicOr(&s->lacks, 1);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence();
    const bool last = atomicAdd(&s->done, 1u) == gridDim.x - 1;
    __threadfence();
    if (last) judge(&a);
}

static guard_args arguments(const mds_device *d, bool late)
{
    const gpu_search *s = d->search;

    return guard_args{d->view, s->brick, s->octet, s->block, s->fast, s->guard, d->params, late};
}

static unsigned blocks_for(const mds_device *d)
{
    const unsigned some = (unsigned)(d->view.n_atoms / (4 * THREADS) + 1);

    return some < (unsigned)BLOCKS ? some : (unsigned)BLOCKS;
}

mds_status GPU_NAME(guard)(mds_device *d)
{
    GPU_LAUNCH(k_collect, blocks_for(d), THREADS, 0, d->stream, arguments(d, false));
    GPU_LAUNCH(k_ask, blocks_for(d), THREADS, 0, d->stream, arguments(d, false));
    return MDS_OK;
}

mds_status GPU_NAME(guard_ask)(mds_device *d)
{
    if (d->unasked) GPU_LAUNCH(k_ask, blocks_for(d), THREADS, 0, d->term_stream, arguments(d, true));
    d->unasked = false;
    return MDS_OK;
}

mds_status GPU_NAME(guard_reset)(mds_device *d)
{
    GPU_TRY(cudaMemsetAsync(d->search->guard, 0, sizeof *d->search->guard, d->stream));
    return MDS_OK;
}

mds_status GPU_NAME(guard_open)(mds_device *d)
{
    gpu_search *s = d->search;

    MDS_TRY(gpu_alloc(&s->fast, GPU_FAST((size_t)d->system->n_atoms)));
    MDS_TRY(gpu_alloc(&s->guard, 1));
    GPU_TRY(cudaMemset(s->guard, 0, sizeof *s->guard));
    return MDS_OK;
}

void GPU_NAME(guard_close)(mds_device *d)
{
    GPU_NAME(release)(d->search->fast);
    GPU_NAME(release)(d->search->guard);
}
