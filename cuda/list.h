// SPDX-License-Identifier: Apache-2.0
// What the files of the pair list share: list.cu makes it, sort.cu orders and counts it, prune.cu makes the inner one of it.
#ifndef MDS_CUDA_LIST_H
#define MDS_CUDA_LIST_H

#include "search.h"

#define GPU_NOWHERE 1e30f    // nm: where empty boxes lie; nm^2: beyond every distance squared
#define GPU_EVERYWHERE 1e9   // nm: a radius that takes every pair

/// Square of the distance of a point from a box, nm^2. Of an empty box: infinite.
static __device__ __forceinline__ float gpu_box_distance2(float4 lo, float4 hi, float x, float y, float z)
{
    const float dx = fmaxf(fmaxf(lo.x - x, x - hi.x), 0.0f), dy = fmaxf(fmaxf(lo.y - y, y - hi.y), 0.0f);
    const float dz = fmaxf(fmaxf(lo.z - z, z - hi.z), 0.0f);

    return dx * dx + dy * dy + dz * dz;
}

/// Where a set of octets comes in Gray code: neighbours differ in one octet.
static __device__ __forceinline__ int gpu_gray_rank(unsigned octets)
{
    return (int)((octets ^ octets >> 1 ^ octets >> 2 ^ octets >> 3) & 15u);
}

/// n entries with filling.
static __device__ __forceinline__ int gpu_padded(int n)
{
    return (n + GPU_J_STEP - 1) / GPU_J_STEP * GPU_J_STEP;
}

/// Enqueue: the fresh chunks into the outer list, longest first.
mds_status GPU_NAME(list_sort)(mds_device *d, int n_chunks);

#endif
