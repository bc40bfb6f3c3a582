// SPDX-License-Identifier: Apache-2.0
// What an emulated kernel sees of the scheduler (block.cpp).
#ifndef EMU_KERNEL_H
#define EMU_KERNEL_H

#include <cstddef>
#include <cstdint>

struct uint3 {
    unsigned x, y, z;
};

struct emu_thread {
    uint3    index;
    int      linear, fibre;
    uint64_t value; // what the last collective gave
};
struct emu_indices {
    uint3 block, block_dim, grid_dim;
};
/// Of the process: for budgets of collectives and atomics a kernel (benchmarks/gpu_static).
struct emu_counters {
    long long grids, blocks, barriers, warp_operations, atomics;
};

extern emu_thread  *emu_self;
extern emu_indices  emu_now;
extern emu_counters emu_counts;

enum emu_kind {
    EMU_SYNC, EMU_SHFL, EMU_SHFL_UP, EMU_SHFL_DOWN, EMU_SHFL_XOR, EMU_BALLOT, EMU_ANY, EMU_ALL, EMU_MATCH,
    EMU_ADD, EMU_MIN, EMU_MAX, EMU_MIN_SIGNED, EMU_MAX_SIGNED, EMU_BAND, EMU_BOR, EMU_BXOR, EMU_OR, EMU_AND, EMU_COUNT
};
inline const char *emu_kind_name(int kind)
{
    static const char *const names[] = {"__syncwarp", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
                                        "__ballot_sync", "__any_sync", "__all_sync", "__match_any_sync", "__reduce_add_sync",
                                        "__reduce_min_sync", "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync",
                                        "__reduce_and_sync", "__reduce_or_sync", "__reduce_xor_sync", "__syncthreads_or",
                                        "__syncthreads_and", "__syncthreads_count"};
    return names[kind];
}

/// All threads of the block; kind EMU_SYNC, EMU_OR, EMU_AND or EMU_COUNT over the predicate.
int      emu_barrier(int kind, int predicate, const char *file, int line);
/// One warp operation of the lanes in mask.
uint64_t emu_warp(int kind, unsigned mask, uint64_t value, int argument, int width, const char *file, int line);
void     emu_fence();
/// Shared array of the declaration that `key` stands for; the same memory for every thread of a block.
void    *emu_shared(const void *key, size_t size);
void    *emu_shared_dynamic();

#endif
