// SPDX-License-Identifier: Apache-2.0
// Where the GPU backend's indices end. Atoms, entries and points are counted in 64 bits or in double and come through here before anything
// is reserved for them or a kernel gets their number as an int; bytes are size_t throughout. Apart from the kernels, so that a test can
// stand at every edge without the memory that it takes (tests/unit/test_gpu_sizes.c).
#ifndef MDS_CUDA_SIZES_H
#define MDS_CUDA_SIZES_H

#include "base/base.h"

#include <limits.h>
#include <stdint.h>

/// A slot in an entry of the pair list: the low bits; the octets that it is near to are above them.
enum { GPU_SLOT_BITS = 28, GPU_SLOTS_A_BLOCK = 32 };

/// Blocks of slots, so that each slot has its number in an entry. Errors: MDS_E_UNSUPPORTED, as all here.
static inline mds_status gpu_fit_blocks(long long blocks)
{
    MDS_CHECK(blocks >= 0 && blocks < (1 << GPU_SLOT_BITS) / GPU_SLOTS_A_BLOCK, MDS_E_UNSUPPORTED, "%lld blocks of atoms are too many for one GPU",
              blocks);
    return MDS_OK;
}

/// Entries, chunks or masks of a pair list, each with an index in an int.
static inline mds_status gpu_fit_list(long long entries)
{
    MDS_CHECK(entries >= 0 && entries < INT_MAX, MDS_E_UNSUPPORTED, "a pair list of %lld entries is too long", entries);
    return MDS_OK;
}

/// Cells of the search: columns times bins of a column, and one more.
static inline mds_status gpu_fit_cells(double columns, double bins)
{
    MDS_CHECK(columns * bins < INT_MAX, MDS_E_UNSUPPORTED, "too many cells in a system of this shape");
    return MDS_OK;
}

/// Multiplier for at / half as (at * magic) >> 32.
static inline uint32_t gpu_magic(int half)
{
    return (uint32_t)(4294967296.0 / half) + 1;
}

/// Points of a mesh, with three of filling, and waves whose place is divided by gpu_magic exactly: at half < 2^32 for each
/// place at < n[1] half.
static inline mds_status gpu_fit_mesh(const int32_t n[3])
{
    const double points = (double)n[0] * n[1] * n[2], half = n[2] / 2 + 1;

    MDS_CHECK(points < 2147483644.0 && n[1] * half * half < 4294967296.0 && n[0] < 65536, MDS_E_UNSUPPORTED, "a mesh of %d x %d x %d is too large",
              (int)n[0], (int)n[1], (int)n[2]);
    return MDS_OK;
}

#endif
