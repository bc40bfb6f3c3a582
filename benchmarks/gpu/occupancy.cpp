// SPDX-License-Identifier: Apache-2.0
// Blocks that a multiprocessor holds at once, by the toolkit's own calculator (cuda_occupancy.h, which needs no GPU).
// usage: occupancy < lines of "compute_capability threads registers shared_bytes"; prints blocks and percent of the warps.
#include <cstdio>
#include <cuda_occupancy.h>

/// Limits of a multiprocessor [CUDA C++ programming guide 13.0, table "Technical Specifications per Compute Capability"].
struct limits {
    int capability, threads, blocks, shared_kib;
};
static const limits table[] = {{75, 1024, 16, 64},   {80, 2048, 32, 164}, {86, 1536, 16, 100}, {89, 1536, 24, 100},
                               {90, 2048, 32, 228}, {100, 2048, 32, 228}, {120, 1536, 24, 100}};

int main()
{
    int capability, threads, registers, shared;

    while (scanf("%d %d %d %d", &capability, &threads, &registers, &shared) == 4) {
        cudaOccDeviceProp     chip;
        cudaOccFuncAttributes kernel;
        cudaOccDeviceState    state;
        cudaOccResult         result;

        for (const limits &l : table)
            if (l.capability == capability) {
                chip.computeMajor = capability / 10;
                chip.computeMinor = capability % 10;
                chip.maxThreadsPerBlock = 1024;
                chip.maxThreadsPerMultiprocessor = l.threads;
                chip.regsPerBlock = chip.regsPerMultiprocessor = 65536;
                chip.warpSize = 32;
                chip.sharedMemPerBlock = 48 << 10;
                chip.sharedMemPerMultiprocessor = static_cast<size_t>(l.shared_kib) << 10;
                chip.sharedMemPerBlockOptin = (static_cast<size_t>(l.shared_kib) << 10) - 1024;
                chip.reservedSharedMemPerBlock = capability >= 80 ? 1024 : 0;
                chip.numSms = 1;
            }
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = static_cast<size_t>(shared);
        kernel.maxDynamicSharedSizeBytes = 48 << 10;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &chip, &kernel, &state, threads, 0) != CUDA_OCC_SUCCESS)
            printf("0 0\n");
        else
            printf("%d %d\n", result.activeBlocksPerMultiprocessor,
                   100 * result.activeBlocksPerMultiprocessor * threads / static_cast<int>(chip.maxThreadsPerMultiprocessor));
    }
    return 0;
}
