// SPDX-License-Identifier: Apache-2.0
// The pair list in rows, as its readers see it: images, slots, positions.
//
// An octet has one row for all images, so that rows are long and lanes are full to the end: an entry says by a number which image its atom
// is in. The vectors of the images lie in shared memory, made by every block at its beginning: the part on the raster of the blocks'
// origins, which is exact in float, and the rest (docs/decisions/007-gpu-order.md).
#ifndef MDS_CUDA_ROWS_H
#define MDS_CUDA_ROWS_H

#include "search.h"

/// What an image takes off a j atom, nm.
typedef struct __align__(16) {
    float4 raster, rest; // w unused
} gpu_image;

/// By the n threads t of a block: the images. A barrier must follow.
static __device__ __forceinline__ void gpu_row_images(const gpu_rows *r, const gpu_control *c, gpu_image *out, int t, int n)
{
    const int nx = 2 * r->most[0] + 1, ny = 2 * r->most[1] + 1, all = nx * ny * (2 * r->most[2] + 1);

    for (; t < all; t += n) {
        const float x = (float)(t % nx - r->most[0]), y = (float)(t / nx % ny - r->most[1]), z = (float)(t / nx / ny - r->most[2]);

        out[t].raster = make_float4(x * c->raster[0][0] + y * c->raster[1][0] + z * c->raster[2][0], y * c->raster[1][1] + z * c->raster[2][1],
                                    z * c->raster[2][2], 0);
        out[t].rest = make_float4(x * c->rest[0][0] + y * c->rest[1][0] + z * c->rest[2][0], y * c->rest[1][1] + z * c->rest[2][1],
                                  z * c->rest[2][2], 0);
    }
}

/// The slot at place `pos` of a row.
static __device__ __forceinline__ int gpu_row_slot(const gpu_rows *r, int first, int pos)
{
    return (int)(r->j[first + (pos >> r->shift)] << r->shift) | (pos & ((1 << r->shift) - 1));
}

/// An atom at x of a block whose origin is `from`, in an image, as the octet with the origin `base` sees it.
static __device__ __forceinline__ float3 gpu_row_place(float4 x, float4 from, float4 base, const gpu_image *image)
{
    const float4 raster = image->raster, rest = image->rest;

    return float3{(x.x - rest.x) + (from.x - raster.x - base.x), (x.y - rest.y) + (from.y - raster.y - base.y),
                  (x.z - rest.z) + (from.z - raster.z - base.z)};
}

#endif
