// SPDX-License-Identifier: Apache-2.0
// What a device's pairs cost, by the device's own clock: what the start-up tuner (engine/tune.c) compares pair kernels by.
//
// Events on the stream stand before and after what is timed, so the host's share does not count: in a recorded step it has none. Kernels
// follow each other several times between two events, as a single one of a small system is shorter than their resolution (half a
// microsecond). Forces pile up in the sums meanwhile; the next search clears them.
#include "search.h"

enum { TIMES = 8 };

static mds_status pairs(mds_device *d, int times)
{
    for (int k = 0; k < times; k++) MDS_TRY(GPU_NAME(pair)(d, MDS_HOME, 0));
    return MDS_OK;
}

static mds_status time_all(mds_device *d, const mds_domain *domain, cudaEvent_t mark[4], double seconds[3])
{
    MDS_TRY(GPU_NAME(search)(d, domain));
    MDS_TRY(pairs(d, 2)); // memory has been touched, code is loaded
    GPU_TRY(cudaEventRecord(mark[0], d->stream));
    MDS_TRY(GPU_NAME(search)(d, domain));
    GPU_TRY(cudaEventRecord(mark[1], d->stream));
    MDS_TRY(pairs(d, 1)); // prunes
    GPU_TRY(cudaEventRecord(mark[2], d->stream));
    MDS_TRY(pairs(d, TIMES));
    GPU_TRY(cudaEventRecord(mark[3], d->stream));
    GPU_TRY(cudaEventSynchronize(mark[3]));
    for (int k = 0; k < 3; k++) {
        float ms;

        GPU_TRY(cudaEventElapsedTime(&ms, mark[k], mark[k + 1]));
        seconds[k] = 1e-3 * (double)ms;
    }
    seconds[2] /= TIMES;
    seconds[1] = seconds[1] > seconds[2] ? seconds[1] - seconds[2] : 0;
    return GPU_NAME(search)(d, domain); // clears the sums
}

mds_status GPU_NAME(time_pairs)(mds_device *d, const mds_domain *domain, double seconds[3])
{
    cudaEvent_t mark[4] = {};
    mds_status  status = MDS_OK;

    GPU_NAME(graph_forget)(d);
    MDS_TRY(GPU_NAME(catch_up)(d));
    MDS_TRY(GPU_NAME(sum_forces)(d));
    MDS_TRY(GPU_NAME(guard_reset)(d));
    for (int k = 0; k < 4 && status == MDS_OK; k++)
        if (cudaEventCreate(&mark[k]) != cudaSuccess) status = mds_fail(MDS_E_DEVICE, __FILE__, __LINE__, "no event can be had");
    if (status == MDS_OK) status = time_all(d, domain, mark, seconds);
    for (int k = 0; k < 4; k++)
        if (mark[k]) (void)cudaEventDestroy(mark[k]);
    return status;
}
