// SPDX-License-Identifier: Apache-2.0
// When the inner list has to be made anew: private to prune.cu, whose k_ways asks it alone, and to move.cu, which asks it in passing.
#ifndef MDS_CUDA_PRUNE_H
#define MDS_CUDA_PRUNE_H

#include "list.h"

/// What the kernels need.
typedef struct {
    gpu_view         view;
    float4          *x_prune, *x_ahead;
    gpu_ways        *ways;
    gpu_prune_state *state;
    double           buffer, depth[3]; // nm: of the inner list beyond the cut-off
    double           ahead;            // ps to where positions are foreseen, 0: they are not
    int              interval;
    float            radius2;
    gpu_list         outer;
    int             *n;
    unsigned        *j, *allow;
    gpu_rows         rows; // or these, the outer ones
    int             *row;
    unsigned short  *word;
} prune_args;

static __device__ __forceinline__ gpu_ways prune_no_ways()
{
    return gpu_ways{{0, 0}, {0, 0}};
}

/// The largest two of two and two.
static __device__ __forceinline__ void prune_add_ways(gpu_ways *to, const gpu_ways *from)
{
    int k;

    GPU_UNROLL
    for (k = 0; k < 2; k++) {
        to->second[k] = fmaxf(fminf(to->first[k], from->first[k]), fmaxf(to->second[k], from->second[k]));
        to->first[k] = fmaxf(to->first[k], from->first[k]);
    }
}

static __device__ __forceinline__ void prune_add_way(gpu_ways *to, float light, float x, float y, float z)
{
    const float    way = fmaf(z, z, fmaf(y, y, x * x)); // said in full: the same bits in every kernel
    const gpu_ways one = {{way * (1 - light), way * light}, {0, 0}};

    prune_add_ways(to, &one);
}

/// Whether a list made when atoms were these ways from where they are holds every pair that matters (cpu/copy.c).
static __device__ __forceinline__ bool prune_still_holds(const prune_args *a, const gpu_ways *w)
{
    const double heavy = sqrt((double)w->first[0]), light = sqrt((double)w->first[1]);
    const double heavies = heavy + sqrt((double)w->second[0]), lights = light + sqrt((double)w->second[1]);

    return heavies < a->buffer + a->depth[0] && heavy + light < a->buffer + a->depth[1] && lights < a->buffer + a->depth[2];
}

/// Whether it is time in a step.
static __device__ __forceinline__ bool prune_scheduled(const prune_args *a, int64_t step)
{
    const gpu_prune_state *s = a->state;

    return a->interval > 0 && step - s->step >= (s->foreseen ? a->interval : (a->interval + 1) / 2);
}

/// By one thread: whether pruning is due, and for which positions.
static __device__ __forceinline__ void prune_decide(const prune_args *a, const gpu_ways *moved, const gpu_ways *ahead, bool has_ahead)
{
    gpu_prune_state *s = a->state;
    const mds_box   *box = &a->view.control->box;
    bool             due = s->fresh || prune_scheduled(a, a->view.control->step) || !prune_still_holds(a, moved);
    int              k;

    for (k = 0; k < 9; k++) due = due || box->a[k / 3][k % 3] != s->box.a[k / 3][k % 3]; // images have moved
    s->due = 0;
    if (!due) return;
    s->foreseen = has_ahead && prune_still_holds(a, ahead);
    s->due = s->foreseen ? 2 : 1;
    s->step = a->view.control->step;
    s->box = *box;
    s->fresh = 0;
    s->n_prunes++;
}

/// Positions ahead of a slot, where it is at x; the way to it.
static __device__ __forceinline__ void prune_look_ahead(const prune_args *a, int slot, float4 x, float light, const double v[3], gpu_ways *ahead)
{
    const float u[3] = {(float)(a->ahead * v[0]), (float)(a->ahead * v[1]), (float)(a->ahead * v[2])};

    a->x_ahead[slot] = make_float4(x.x + u[0], x.y + u[1], x.z + u[2], light);
    prune_add_way(ahead, light, u[0], u[1], u[2]);
}

/// The arguments of the present list; state NULL where it has no inner one.
prune_args GPU_NAME(prune_arguments)(const mds_device *d);

#endif
