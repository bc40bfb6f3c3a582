// SPDX-License-Identifier: Apache-2.0
// Replay: identical steps recorded once into a CUDA graph and launched as often as asked.
//
// The list of operations that ends a plain step is not run there but with that which begins the next one: one kernel, one pass over the
// atoms in place of two. So a recorded step begins with the end of the one before. What has been postponed when a batch ends waits for
// the next batch; anything else that wants x, v or f calls catch_up first. A poll does not: neither the clock nor the stop word change.
//
// Recording runs the engine's own step on capturing streams: the mesh's stream is drawn in by the event it waits for and joined by the
// one it records. Pointers and launch sizes are constant between searches, parameters between calls of `set`: the graph is kept until
// one of them says that it is stale. Steps that come after a trip fall through on the device, so a batch may be launched without looking.
#include "device.h"

void GPU_NAME(graph_forget)(mds_device *d)
{
    d->graph_true = false;
}

void GPU_NAME(graph_close)(mds_device *d)
{
    if (d->graph) (void)cudaGraphExecDestroy(d->graph);
    d->graph = NULL;
    d->graph_true = false;
}

/// Makes of a recorded step what can be launched. After a search it has the same kernels with other sizes and pointers: then what was made
/// of the last one is changed, which is cheaper, and launches under way keep what they were launched with.
static bool make_executable(mds_device *d, cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo how;

    if (d->graph && cudaGraphExecUpdate(d->graph, graph, &how) == cudaSuccess) return true;
    (void)cudaGetLastError(); // an answer: it has other kernels
    GPU_NAME(graph_close)(d);
    return cudaGraphInstantiate(&d->graph, graph, 0) == cudaSuccess;
}

static mds_status record_step(mds_device *d, mds_status (*record)(void *), void *arg)
{
    cudaGraph_t graph = NULL;
    mds_status  status;

    d->graph_joins = d->postponed;
    GPU_TRY(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    status = record(arg);
    const cudaError_t ended = cudaStreamEndCapture(d->stream, &graph);
    d->graph_true = status == MDS_OK && ended == cudaSuccess && make_executable(d, graph);
    if (graph) (void)cudaGraphDestroy(graph);
    MDS_TRY(status);
    MDS_CHECK(d->graph_true, MDS_E_DEVICE, "a step cannot be recorded: %s", cudaGetErrorString(cudaGetLastError()));
    return MDS_OK;
}

static mds_status run_steps(mds_device *d, mds_status (*record)(void *), void *arg, int n)
{
    // The first step after anything else runs as it is: there is no end of a step to begin with, and after a search what is made on
    // first use is made outside a recording.
    if (n > 0 && (!d->graph_true || d->graph_joins != d->postponed)) {
        MDS_TRY(record(arg));
        n--;
    }
    if (n > 0 && !d->graph_true) MDS_TRY(record_step(d, record, arg));
    for (; n > 0; n--) GPU_TRY(cudaGraphLaunch(d->graph, d->stream));
    return MDS_OK;
}

mds_status GPU_NAME(replay)(mds_device *d, mds_status (*record)(void *), void *arg, int n)
{
    mds_status status;

    d->postpones = true;
    status = run_steps(d, record, arg, n);
    d->postpones = false;
    return status;
}
