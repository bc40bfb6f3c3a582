// SPDX-License-Identifier: Apache-2.0
// Networks of links (all bonds constrained, rings, triangles): a block each, its threads along the atoms or the links in turn.
//
// Every constraint problem is A lambda = g with A = J M^-1 J^T (docs/theory/constraints.md). A is never stored: A times a vector is
// a pass over the atoms, which gather the impulses of the links that touch them, and a pass over the links, which take the difference
// of their ends. Conjugate gradients with the diagonal as preconditioner need some ten such products whatever the size; positions take
// Newton's steps with the matrix of the old directions, each good for about a digit and a half. As in cpu/constrain.c, with the same
// limits. Gathering in place of adding to shared atoms keeps every sum in one order, so results do not depend on the threads.
//
// Six barriers a product, some hundred products a step: networks are what all-bonds costs on a GPU, and why only bonds to
// hydrogen are constrained by default. Work arrays are in global memory and stay in the caches.
#ifndef MDS_CUDA_NETWORK_H
#define MDS_CUDA_NETWORK_H

#include "move.h"
#include "reduce.h"

/// One network at work, the same in every thread of its block.
typedef struct {
    const gpu_networks *n;
    const gpu_view     *p;
    double             *part;                          // shared, [GPU_MAX_WARPS]
    int                 atom_end, link_end;
    int                 first_atom, first_link, stride; // of this thread
} gpu_network;

static __device__ __forceinline__ gpu_network gpu_network_of(const gpu_networks *n, const gpu_view *p, int k, double *part)
{
    gpu_network w;

    w.n = n;
    w.p = p;
    w.part = part;
    w.first_atom = n->atom_start[k] + (int)threadIdx.x;
    w.atom_end = n->atom_start[k + 1];
    w.first_link = n->link_start[k] + (int)threadIdx.x;
    w.link_end = n->link_start[k + 1];
    w.stride = (int)blockDim.x;
    return w;
}

/// Vectors of atoms are rows of this network's work arrays, or of arrays by atom id (BY_ID).
template <bool BY_ID> static __device__ __forceinline__ int gpu_network_row(const gpu_network *w, int row)
{
    return BY_ID ? w->n->atom[row] : row;
}

/// Directions and diagonal of A from the positions. Ends with a barrier.
static __device__ __forceinline__ void gpu_network_directions(const gpu_network *w)
{
    int c, k;

    for (c = w->first_link; c < w->link_end; c += w->stride) {
        const int i = w->n->atom[w->n->pair[c].x], j = w->n->atom[w->n->pair[c].y];
        double    square = 0;

        for (k = 0; k < 3; k++) {
            const double r = w->p->x[i][k] - w->p->x[j][k];

            w->n->dir[c][k] = r;
            square += r * r;
        }
        w->n->diagonal[c] = (w->p->inv_mass[i] + w->p->inv_mass[j]) * square;
    }
    __syncthreads();
}

/// Impulse of the links on an atom, per inverse mass: - sum of +-lambda d.
static __device__ __forceinline__ void gpu_network_gather(const gpu_network *w, int row, const double *lambda, double sum[3])
{
    int t, k;

    for (k = 0; k < 3; k++) sum[k] = 0;
    for (t = w->n->touch_start[row]; t < w->n->touch_start[row + 1]; t++) {
        const int    c = w->n->touch[t] >> 1;
        const double impulse = w->n->touch[t] & 1 ? lambda[c] : -lambda[c];

        for (k = 0; k < 3; k++) sum[k] += impulse * w->n->dir[c][k];
    }
}

/// to -= M^-1 J^T lambda. Begins with a barrier.
template <bool BY_ID> static __device__ __forceinline__ void gpu_network_push(const gpu_network *w, double (*to)[3])
{
    int i, k;

    __syncthreads();
    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const double im = w->p->inv_mass[w->n->atom[i]];
        const int    row = gpu_network_row<BY_ID>(w, i);
        double       sum[3];

        gpu_network_gather(w, i, w->n->lambda, sum);
        for (k = 0; k < 3; k++) to[row][k] += im * sum[k];
    }
}

/// image = A search, and search . image.
static __device__ __forceinline__ double gpu_network_multiply(const gpu_network *w)
{
    double curvature = 0;
    int    i, c, k;

    __syncthreads();
    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const double im = w->p->inv_mass[w->n->atom[i]];
        double       sum[3];

        gpu_network_gather(w, i, w->n->search, sum);
        for (k = 0; k < 3; k++) w->n->u[i][k] = im * sum[k];
    }
    __syncthreads();
    for (c = w->first_link; c < w->link_end; c += w->stride) {
        const int2 end = w->n->pair[c];
        double     along = 0;

        for (k = 0; k < 3; k++) along -= w->n->dir[c][k] * (w->n->u[end.x][k] - w->n->u[end.y][k]);
        w->n->image[c] = along;
        curvature += w->n->search[c] * along;
    }
    return gpu_sum_block(curvature, w->part);
}

/// A lambda = residual, until the residual's norm (in units of the diagonal) fell by `factor` or below `floor2` in square. Destroys
/// residual. False: no progress.
static __device__ __forceinline__ bool gpu_network_solve(const gpu_network *w, double factor, double floor2, int links)
{
    const gpu_networks *n = w->n;
    const int           max_rounds = 10 * links + 100;
    double              norm = 0;
    int                 c, round;

    for (c = w->first_link; c < w->link_end; c += w->stride) {
        n->lambda[c] = 0;
        n->search[c] = n->residual[c] / n->diagonal[c];
        norm += n->residual[c] * n->search[c];
    }
    norm = gpu_sum_block(norm, w->part);
    const double stop = fmax(norm * factor * factor, floor2);
    for (round = 0; round < max_rounds && norm > stop; round++) {
        const double curvature = gpu_network_multiply(w);
        double       next = 0;

        if (!(curvature > 0)) return false;
        const double step = norm / curvature;
        for (c = w->first_link; c < w->link_end; c += w->stride) {
            n->lambda[c] += step * n->search[c];
            n->residual[c] -= step * n->image[c];
            next += n->residual[c] * n->residual[c] / n->diagonal[c];
        }
        next = gpu_sum_block(next, w->part);
        for (c = w->first_link; c < w->link_end; c += w->stride)
            n->search[c] = n->residual[c] / n->diagonal[c] + next / norm * n->search[c];
        norm = next;
    }
    return norm <= stop;
}

/// From `to` take what makes d.to_ij + bias differ from 0 for the bonds of the present positions (bias NULL: zeros). Barriers before
/// and after. False: did not converge.
template <bool BY_ID>
static __device__ __forceinline__ bool gpu_network_project(const gpu_network *w, double (*to)[3], const double *bias)
{
    double floor2 = 0;
    int    c, k;

    __syncthreads();
    gpu_network_directions(w);
    for (c = w->first_link; c < w->link_end; c += w->stride) {
        const int2   end = w->n->pair[c];
        const int    i = gpu_network_row<BY_ID>(w, end.x), j = gpu_network_row<BY_ID>(w, end.y);
        const double im = w->p->inv_mass[w->n->atom[end.x]] + w->p->inv_mass[w->n->atom[end.y]];
        double       along = bias ? bias[c] : 0, size = 0;

        for (k = 0; k < 3; k++) {
            along += w->n->dir[c][k] * (to[i][k] - to[j][k]);
            size += to[i][k] * to[i][k] + to[j][k] * to[j][k];
        }
        w->n->residual[c] = along;
        floor2 += 1e-31 * size / im; // a difference is good to some 1e-16: below that there is nothing to solve
    }
    floor2 = gpu_sum_block(floor2, w->part);
    const bool solved = gpu_network_solve(w, 1e-14, floor2, w->link_end - w->first_link + (int)threadIdx.x);
    gpu_network_push<BY_ID>(w, to);
    __syncthreads();
    return solved;
}

/// residual = (r^2 - L^2)/2 of the present positions; the largest relative error of a length.
static __device__ __forceinline__ double gpu_network_errors(const gpu_network *w)
{
    double worst = 0;
    int    c, k;

    for (c = w->first_link; c < w->link_end; c += w->stride) {
        const int i = w->n->atom[w->n->pair[c].x], j = w->n->atom[w->n->pair[c].y];
        double    square = 0;

        for (k = 0; k < 3; k++) square += (w->p->x[i][k] - w->p->x[j][k]) * (w->p->x[i][k] - w->p->x[j][k]);
        const double off = 0.5 * (square - w->n->length2[c]), error = fabs(off) / w->n->length2[c];
        w->n->residual[c] = off;
        worst = fmax(worst, isnan(error) ? HUGE_VAL : error);
    }
    return gpu_max_block(worst, w->part);
}

/// Positions onto the constraints along the directions, v += (change of x) inv_h; then the directions are those of the new
/// positions. Barriers before and after. False: did not converge.
static __device__ __forceinline__ bool gpu_network_fix_x(const gpu_network *w, double inv_h, double tolerance)
{
    const int links = w->link_end - w->first_link + (int)threadIdx.x;
    double    error = 0, last = HUGE_VAL;
    int       round, i, k;
    bool      solved = true;

    for (i = w->first_atom; i < w->atom_end; i += w->stride)
        for (k = 0; k < 3; k++) w->n->before[i][k] = w->p->x[w->n->atom[i]][k];
    for (round = 0; round < 500 && solved; round++) {
        __syncthreads();
        error = gpu_network_errors(w);
        // past the tolerance go on while it pays: the last digits cost little and keep runs reversible
        if (!(error < 1e6) || (error <= tolerance && error > 0.3 * last) || error < 1e-15) break;
        last = error;
        solved = gpu_network_solve(w, 0.02, 0, links);
        if (solved) gpu_network_push<true>(w, w->p->x);
    }
    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const int id = w->n->atom[i];

        for (k = 0; k < 3; k++) w->p->v[id][k] += (w->p->x[id][k] - w->n->before[i][k]) * inv_h;
    }
    __syncthreads();
    gpu_network_directions(w);
    return error <= tolerance;
}

/// Mass-weighted mean of y (by atom id); the mass.
static __device__ __forceinline__ double gpu_network_centre(const gpu_network *w, const double (*y)[3], double centre[3])
{
    double mass = 0, sum[3] = {0, 0, 0};
    int    i, k;

    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const int    id = w->n->atom[i];
        const double m = 1 / w->p->inv_mass[id];

        mass += m;
        for (k = 0; k < 3; k++) sum[k] += m * y[id][k];
    }
    mass = gpu_sum_block(mass, w->part);
    for (k = 0; k < 3; k++) centre[k] = gpu_sum_block(sum[k], w->part) / mass;
    return mass;
}

#endif
