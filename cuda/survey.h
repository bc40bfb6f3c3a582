// SPDX-License-Identifier: Apache-2.0
// What the pass that moves atoms sees on its way, so that nobody has to go over them again before the forces: which atoms are beyond
// the limits of the pair list's guard (guard.cu), and how far atoms have come since the inner list was made (prune.cu).
//
// A recorded step would else begin with four more launches, one after the other, before its pairs: two of the guard, which nearly
// always end at once, k_ways and k_prune. Atoms and numbers are in registers here: 16 bytes more are read an atom (where it was when
// the inner list was made). A block leaves a row; the last block of the pass draws the sum and decides whether pruning is due.
// All numbers are largest ones, the same in any order, and the same as those of k_collect and k_ways, so a recorded step decides as a
// single one does. Only the largest ways since the search, with which the guard leaves out what cannot matter, are rounded up to float.
//
// Not for sites, which are placed after the pass, nor where a barostat has changed the limits in it.
#ifndef MDS_CUDA_SURVEY_H
#define MDS_CUDA_SURVEY_H

#include "prune.h"

#include "move.h"

/// Of a thread, a block (a row), all atoms.
struct gpu_survey {
    gpu_ways moved, ahead; // since the last pruning; from now to where positions are foreseen
    float    most[2];      // nm^2: largest ways since the search, heavy and light
};

/// For the kernel, by value.
typedef struct {
    bool             on;
    prune_args       prune; // state NULL: there is no inner list
    gpu_survey      *row;   // one a block
    int             *fast;
    gpu_guard_state *guard;
    double           far2;  // nm^2: beyond it no list is asked
} survey_args;

static __device__ __forceinline__ gpu_survey survey_none()
{
    return gpu_survey{{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}, {0, 0}};
}

/// Whether positions are foreseen in the step that is about to begin.
static __device__ __forceinline__ bool survey_looks(const survey_args *a)
{
    const prune_args *p = &a->prune;

    return a->on && p->state && p->ahead > 0 && !p->state->fresh && prune_scheduled(p, p->view.control->step + 1);
}

/// An atom beyond its limit.
static __device__ __forceinline__ void survey_fast(const survey_args *a, int id, double way2)
{
    if (way2 > a->far2) atomicOr(&a->guard->far, 1);
    const int place = atomicAdd(&a->guard->n_fast, 1);
    if (place < GPU_FAST(a->prune.view.n_atoms)) a->fast[place] = id;
}

/// Any atom: its way since the search, its float position and velocity now.
static __device__ __forceinline__ void survey_atom(const survey_args *a, bool looks, int id, bool light, double way2, float4 now,
                                                   const double v[3], gpu_survey *mine)
{
    const float up = (float)way2 * 1.0000003f; // more than half an ulp of float: not less than way2

    mine->most[0] = fmaxf(mine->most[0], light ? 0.0f : up);
    mine->most[1] = fmaxf(mine->most[1], light ? up : 0.0f);
    if (!a->prune.state) return;
    const int    slot = a->prune.view.slot_of[id];
    const float4 then = a->prune.x_prune[slot];
    prune_add_way(&mine->moved, then.w, now.x - then.x, now.y - then.y, now.z - then.z);
    if (looks) prune_look_ahead(&a->prune, slot, now, then.w, v, &mine->ahead);
}

static __device__ __forceinline__ void survey_add(gpu_survey *to, const gpu_survey *from)
{
    prune_add_ways(&to->moved, &from->moved);
    prune_add_ways(&to->ahead, &from->ahead);
    to->most[0] = fmaxf(to->most[0], from->most[0]);
    to->most[1] = fmaxf(to->most[1], from->most[1]);
}

/// Of the ways of a lane and those of the one at a distance.
static __device__ __forceinline__ void survey_exchange(gpu_ways *mine, int distance)
{
    gpu_ways other;
    int      k;

    GPU_UNROLL
    for (k = 0; k < 2; k++) {
        other.first[k] = __shfl_xor_sync(GPU_ALL, mine->first[k], distance);
        other.second[k] = __shfl_xor_sync(GPU_ALL, mine->second[k], distance);
    }
    prune_add_ways(mine, &other);
}

/// Over a block, by all its threads; thread 0 has the result. shared: one a warp. `looks`: alike in all.
static __device__ __forceinline__ void survey_block(gpu_survey *shared, bool looks, gpu_survey *mine)
{
    const int t = (int)threadIdx.x;
    int       distance, k;

    for (distance = GPU_WARP / 2; distance > 0; distance /= 2) {
        survey_exchange(&mine->moved, distance);
        if (looks) survey_exchange(&mine->ahead, distance);
        GPU_UNROLL
        for (k = 0; k < 2; k++) mine->most[k] = fmaxf(mine->most[k], __shfl_xor_sync(GPU_ALL, mine->most[k], distance));
    }
    if (t % GPU_WARP == 0) shared[t / GPU_WARP] = *mine;
    __syncthreads();
    for (k = 1; t == 0 && k < GPU_GROUPS / GPU_WARP; k++) survey_add(mine, &shared[k]);
    __syncthreads();
}

/// By the last block, of all rows; thread 0 has the result.
static __device__ __forceinline__ gpu_survey survey_total(const survey_args *a, int n_rows, gpu_survey *shared, bool looks)
{
    gpu_survey all = survey_none();
    int        r;

    for (r = (int)threadIdx.x; r < n_rows; r += GPU_GROUPS) survey_add(&all, &a->row[r]);
    survey_block(shared, looks, &all);
    return all;
}

/// By one thread, when clock and box are those of the step that has begun.
static __device__ __forceinline__ void survey_end(const survey_args *a, const gpu_survey *all, bool looks)
{
    int k;

    for (k = 0; k < 2; k++) a->guard->most2[k] = (unsigned long long)__double_as_longlong((double)all->most[k]);
    if (a->prune.state) prune_decide(&a->prune, &all->moved, &all->ahead, looks);
}

#endif
