// SPDX-License-Identifier: Apache-2.0
// What kernels of terms share (bonded.cu, excluded.cu, vsite.cu): differences at the nearest image, forces that add up to exactly
// zero, sums over a block.
//
// One thread is one term. Positions are read in atom order, forces go to the slots of the atoms. A molecule is usually in one
// piece, so the image is decided by one comparison in float; the search for it (mds_images_nearest, double) is a branch that
// warps seldom take. The box of the present step is copied to shared memory once a block.
//
// A term's forces are made fixed point one by one, but that of one of its atoms is minus the sum of the others' units: a term
// pushes nothing as a whole, to the last bit, whatever float arithmetic did to its parts.
#ifndef MDS_CUDA_TERMS_H
#define MDS_CUDA_TERMS_H

#include "device.h"

enum { TERM_THREADS = 128, TERM_WARPS = TERM_THREADS / GPU_WARP };

/// In shared memory.
typedef struct {
    mds_images m;
    float      near2; // nm^2, a little below m.near2; HUGE_VALF without a box
} term_images;

/// The images of the step's box, by the threads of a block (at least 9). A barrier must follow.
static __device__ __forceinline__ void term_images_of(const gpu_control *c, term_images *out)
{
    const int t = (int)threadIdx.x;

    if (t < 9) {
        out->m.box.a[t / 3][t % 3] = c->box.a[t / 3][t % 3];
        out->m.inv[t / 3][t % 3] = c->inverse[t / 3][t % 3];
    }
    if (t == 0) {
        double steepest = 0; // 1/width^2 of the narrowest direction
        int    k;

        for (k = 0; k < 3; k++) {
            const double x = c->inverse[0][k], y = c->inverse[1][k], z = c->inverse[2][k];

            steepest = fmax(steepest, x * x + y * y + z * z);
        }
        out->m.periodic = !mds_box_is_none(&c->box);
        out->m.skewed = !mds_box_is_rectangular(&c->box);
        out->m.near2 = out->m.periodic ? 0.25 / steepest : 0;
        out->near2 = out->m.periodic ? (float)(0.25 / steepest) * (1 - 1e-6f) : HUGE_VALF;
    }
}

static __device__ __forceinline__ float term_dot(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static __device__ __forceinline__ void term_cross(const float a[3], const float b[3], float out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/// r = a - b at the nearest image: subtracted in double, so that it keeps 6e-8 of its own length however far from the origin.
static __device__ __forceinline__ void term_difference(const term_images *images, const double a[3], const double b[3], float r[3])
{
    double d[3];
    int    k;

    for (k = 0; k < 3; k++) {
        d[k] = a[k] - b[k];
        r[k] = (float)d[k];
    }
    if (!(term_dot(r, r) > images->near2)) return;
    mds_images_nearest(&images->m, d);
    for (k = 0; k < 3; k++) r[k] = (float)d[k];
}

/// Units of force, cut like gpu_add_force does it; `fault` collects what was cut.
static __device__ __forceinline__ long long term_units(float f, unsigned *fault)
{
    const float limit = 576460752303423488.0f, scaled = f * GPU_FORCE_SCALE;
    const bool  fits = fabsf(scaled) < limit;

    if (!fits) *fault |= isnan(f) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE;
    return __float2ll_rn(fits ? scaled : scaled > 0 ? limit : scaled < 0 ? -limit : 0.0f);
}

/// Of a warp, in shared memory: units of force on their way to slots.
typedef struct {
    long long units[GPU_WARP * 3];
    int       slot[GPU_WARP];
} term_stage;

/// Units of force of one atom a lane onto its slot (-1: of none). Every lane of the warp calls it. Through shared memory, so that
/// lanes side by side add the three components of a slot: atomics are counted in sectors of 32 bytes, and a slot is one. Two's
/// complement wraps, so units are added as unsigned numbers.
static __device__ __forceinline__ void term_add(const gpu_view *p, term_stage *stage, int slot, const long long (&units)[3])
{
    const int lane = (int)threadIdx.x % GPU_WARP;
    int       k;

    for (k = 0; k < 3; k++) stage->units[3 * lane + k] = units[k];
    stage->slot[lane] = slot;
    __syncwarp();
    for (k = 0; k < 3; k++) {
        const int at = GPU_WARP * k + lane, to = stage->slot[at / 3];

        if (to >= 0 && p->in_float)
            atomicAdd(&gpu_float_sum(p, to)->x + at % 3, (1 / GPU_FORCE_SCALE) * (float)stage->units[at]);
        else if (to >= 0)
            atomicAdd(&p->force[to][at % 3], (unsigned long long)stage->units[at]);
    }
    __syncwarp();
}

/// Forces f on n - 1 atoms of a term, minus their sum on the last. slot [n], f [n - 1][3] kJ/mol/nm. Every lane of the warp calls
/// it, with active false where there is no term.
template <int n> static __device__ __forceinline__ void term_add_forces(const gpu_view *p, term_stage *stage, bool active,
                                                                        const int (&slot)[n], const float (&f)[n - 1][3])
{
    long long rest[3] = {0, 0, 0};
    unsigned  fault = 0;
    int       a, k;

    for (a = 0; a < n - 1; a++) {
        long long units[3];

        for (k = 0; k < 3; k++) {
            units[k] = term_units(f[a][k], &fault);
            rest[k] -= units[k];
        }
        term_add(p, stage, active ? slot[a] : -1, units);
    }
    term_add(p, stage, active ? slot[n - 1] : -1, rest);
    if (active && fault) gpu_fault(p->control, fault, p->atom_of[slot[0]]);
}

/// Force f on a slot, and its units taken off `rest`: what the last atom of a term then gets by term_push_rest. For terms in double.
static __device__ __forceinline__ void term_push(const gpu_view *p, int slot, const double f[3], long long (&rest)[3], unsigned *fault)
{
    const double limit = 576460752303423488.0; // as gpu_add_force_double
    int          k;

    for (k = 0; k < 3; k++) {
        const double    scaled = f[k] * (double)GPU_FORCE_SCALE;
        const bool      fits = fabs(scaled) < limit;
        const long long units = __double2ll_rn(fits ? scaled : scaled > 0 ? limit : scaled < 0 ? -limit : 0.0);

        if (!fits) *fault |= isnan(f[k]) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE;
        atomicAdd(&p->force[slot][k], (unsigned long long)units);
        rest[k] -= units;
    }
}

static __device__ __forceinline__ void term_push_rest(const gpu_view *p, int slot, const long long (&rest)[3])
{
    for (int k = 0; k < 3; k++) atomicAdd(&p->force[slot][k], (unsigned long long)rest[k]);
}

/// Sums over a block of TERM_THREADS of n numbers a thread, in a fixed order. Thread t < n returns the t-th, others 0. Every
/// thread of the block calls it; `part` is shared.
template <int n> static __device__ __forceinline__ double term_block_sum(const double (&v)[n], double (&part)[TERM_WARPS][n])
{
    const int t = (int)threadIdx.x;
    double    sum = 0;
    int       k;

    GPU_UNROLL
    for (k = 0; k < n; k++) {
        const double warp = gpu_sum_warp(v[k]);

        if (t % GPU_WARP == 0) part[t / GPU_WARP][k] = warp;
    }
    __syncthreads();
    for (k = 0; t < n && k < TERM_WARPS; k++) sum += part[k][t];
    return sum;
}

#endif
