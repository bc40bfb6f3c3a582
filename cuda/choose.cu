// SPDX-License-Identifier: Apache-2.0
// What a device's pairs and its mesh cost, by the device's own clock: what the start-up tuner (engine/tune.c) compares pair kernels by, and ways
// to transform the mesh.
//
// Events on the stream stand before and after what is timed, so the host's share does not count: in a recorded step it has none. Kernels
// follow each other several times between two events, as a single one of a small system is shorter than their resolution (half a
// microsecond). The mesh is a chain of small kernels, which a host launches more slowly than a device runs them: they are recorded, as in a
// step, and the recording is timed. Forces pile up in the sums meanwhile; the next search clears them.
#include "search.h"

enum { TIMES = 8 };

static mds_status pairs(mds_device *d, int times)
{
    for (int k = 0; k < times; k++) MDS_TRY(GPU_NAME(pair)(d, MDS_HOME, 0));
    return MDS_OK;
}

static mds_status launch_meshes(mds_device *d, cudaGraph_t graph, cudaEvent_t mark[2])
{
    cudaGraphExec_t steps;
    mds_status      status = MDS_OK;

    GPU_TRY(cudaGraphInstantiate(&steps, graph, 0));
    for (int k = 0; k < 2 && status == MDS_OK; k++) // the first: it is on the device
        if (cudaEventRecord(mark[0], d->mesh_stream) != cudaSuccess || cudaGraphLaunch(steps, d->mesh_stream) != cudaSuccess ||
            cudaEventRecord(mark[1], d->mesh_stream) != cudaSuccess || cudaEventSynchronize(mark[1]) != cudaSuccess)
            status = mds_fail(MDS_E_DEVICE, __FILE__, __LINE__, "the mesh cannot be timed: %s", cudaGetErrorString(cudaGetLastError()));
    (void)cudaGraphExecDestroy(steps);
    return status;
}

/// The mesh of a step, s; 0 if there is none.
static mds_status time_mesh(mds_device *d, cudaEvent_t mark[2], double *seconds)
{
    cudaGraph_t graph = NULL;
    mds_status  status = MDS_OK;
    float       ms;

    *seconds = 0;
    if (!*GPU_NAME(ways)(d)) return MDS_OK;
    GPU_TRY(cudaStreamSynchronize(d->stream));
    MDS_TRY(GPU_NAME(mesh)(d, MDS_MESH_ALL, 0)); // what is made on first use
    GPU_TRY(cudaStreamSynchronize(d->mesh_stream));
    GPU_TRY(cudaStreamBeginCapture(d->mesh_stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < TIMES && status == MDS_OK; k++) status = GPU_NAME(mesh)(d, MDS_MESH_ALL, 0);
    const cudaError_t ended = cudaStreamEndCapture(d->mesh_stream, &graph);
    if (status == MDS_OK && ended != cudaSuccess) status = mds_fail(MDS_E_DEVICE, __FILE__, __LINE__, "the mesh cannot be recorded: %s", cudaGetErrorString(ended));
    if (status == MDS_OK) status = launch_meshes(d, graph, mark);
    if (graph) (void)cudaGraphDestroy(graph);
    MDS_TRY(status);
    GPU_TRY(cudaEventElapsedTime(&ms, mark[0], mark[1]));
    *seconds = 1e-3 * (double)ms / TIMES;
    return MDS_OK;
}

static mds_status time_all(mds_device *d, const mds_domain *domain, cudaEvent_t mark[4], double seconds[4])
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
    MDS_TRY(time_mesh(d, mark, &seconds[3]));
    return GPU_NAME(search)(d, domain); // clears the sums
}

mds_status GPU_NAME(time_pairs)(mds_device *d, const mds_domain *domain, double seconds[4])
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
