// SPDX-License-Identifier: Apache-2.0
// Ranges of NVTX, named after the stages: what the host queues in them is found under these names in a profiler's timeline.
//
// NVTX is a header of the CUDA toolkit and no library. The first range looks for a profiler in the environment; without one a range costs
// a test of a pointer. Steps that are replayed are queued by one call, so they are one range, "replay"; a step's own ranges show while it
// is recorded and in steps with something due. Where the header is not found there are no ranges.
#ifndef MDS_CUDA_ANNOTATE_H
#define MDS_CUDA_ANNOTATE_H

#if defined(EMU_CUDA) && !defined(EMU_NVTX)
#define GPU_HAS_RANGES 0 // an emulated program is annotated where its test is
#elif defined(__has_include)
#define GPU_HAS_RANGES __has_include(<nvtx3/nvToolsExt.h>)
#else
#define GPU_HAS_RANGES 0
#endif

#if GPU_HAS_RANGES
#include <nvtx3/nvToolsExt.h>
#define GPU_RANGE_BEGIN(name) (void)nvtxRangePushA(name)
#define GPU_RANGE_END() (void)nvtxRangePop()
#else
#define GPU_RANGE_BEGIN(name) (void)0
#define GPU_RANGE_END() (void)0
#endif

/// Body of a function that passes on to a stage, in a range of that name.
#define GPU_IN_RANGE(name, call)                                                                             \
    {                                                                                                        \
        GPU_RANGE_BEGIN(name);                                                                               \
        const mds_status status_in_range = (call);                                                           \
        GPU_RANGE_END();                                                                                     \
        return status_in_range;                                                                              \
    }

#endif
