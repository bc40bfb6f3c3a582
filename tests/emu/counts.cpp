// SPDX-License-Identifier: Apache-2.0
// What each kernel did, for budgets (benchmarks/gpu_static.sh): with EMU_COUNTS=FILE a table is written when the process ends, one line a
// kernel: name, launches, blocks, threads, barriers, warp operations, atomics. A barrier counts once a block, a warp operation once a warp.
#include "emu.h"
#include "emu_kernel.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

struct emu_kernel_counts {
    long long    launches, threads;
    emu_counters sums;
};
static std::map<std::string, emu_kernel_counts> *table;

static void write_table()
{
    FILE *out = fopen(getenv("EMU_COUNTS"), "w");

    if (!out) return;
    fprintf(out, "kernel,launches,blocks,threads,barriers,warp_operations,atomics\n");
    for (const auto &[name, k] : *table)
        fprintf(out, "\"%s\",%lld,%lld,%lld,%lld,%lld,%lld\n", name.c_str(), k.launches, k.sums.blocks, k.threads, k.sums.barriers,
                k.sums.warp_operations, k.sums.atomics);
    fclose(out);
}

void emu_count_grid(const emu_grid *grid, const emu_counters *before)
{
    static const bool wanted = getenv("EMU_COUNTS") != nullptr;
    const long long   n_blocks = static_cast<long long>(grid->grid[0]) * grid->grid[1] * grid->grid[2];

    if (!wanted) return;
    if (!table) {
        table = new std::map<std::string, emu_kernel_counts>; // alive until the end of the process
        atexit(write_table);
    }
    emu_kernel_counts &k = (*table)[grid->name];
    k.launches++;
    k.threads += n_blocks * grid->block[0] * grid->block[1] * grid->block[2];
    k.sums.blocks += n_blocks;
    k.sums.barriers += emu_counts.barriers - before->barriers;
    k.sums.warp_operations += emu_counts.warp_operations - before->warp_operations;
    k.sums.atomics += emu_counts.atomics - before->atomics;
}
