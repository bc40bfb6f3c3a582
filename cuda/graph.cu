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
//
// With multiple time steps there are two kinds, with the mesh and without, each a graph of its own; a list that was postponed in a step
// of one kind is as well run by one of the other.
#include "device.h"

void GPU_NAME(graph_forget)(mds_device *d)
{
    for (int kind = 0; kind < 2; kind++) d->recorded[kind].is_true = d->recorded[kind].run = false;
}

static void drop(gpu_recorded *r)
{
    if (r->graph) (void)cudaGraphExecDestroy(r->graph);
    r->graph = NULL;
    r->is_true = false;
}

void GPU_NAME(graph_close)(mds_device *d)
{
    drop(&d->recorded[0]);
    drop(&d->recorded[1]);
}

/// Makes of a recorded step what can be launched. After a search it has the same kernels with other sizes and pointers: then what was made
/// of the last one is changed, which is cheaper, and launches under way keep what they were launched with.
static bool make_executable(gpu_recorded *r, cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo how;

    if (r->graph && cudaGraphExecUpdate(r->graph, graph, &how) == cudaSuccess) return true;
    (void)cudaGetLastError(); // an answer: it has other kernels
    drop(r);
    return cudaGraphInstantiate(&r->graph, graph, 0) == cudaSuccess;
}

static mds_status record_step(mds_device *d, gpu_recorded *r, mds_status (*record)(void *), void *arg)
{
    cudaGraph_t graph = NULL;
    mds_status  status;

    GPU_TRY(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    status = record(arg);
    const cudaError_t ended = cudaStreamEndCapture(d->stream, &graph);
    r->is_true = status == MDS_OK && ended == cudaSuccess && make_executable(r, graph);
    if (graph) (void)cudaGraphDestroy(graph);
    MDS_TRY(status);
    MDS_CHECK(r->is_true, MDS_E_DEVICE, "a step cannot be recorded: %s", cudaGetErrorString(cudaGetLastError()));
    return MDS_OK;
}

static mds_status run_steps(mds_device *d, gpu_recorded *r, mds_status (*record)(void *), void *arg, int n)
{
    // The first step after anything else runs as it is: there is no end of a step to begin with, and after a search what is made on
    // first use is made outside a recording.
    if (n > 0 && (!r->run || r->leaves != d->postponed)) {
        MDS_TRY(record(arg));
        r->run = true;
        r->leaves = d->postponed;
        n--;
    }
    if (n > 0 && !r->is_true) MDS_TRY(record_step(d, r, record, arg));
    for (; n > 0; n--) GPU_TRY(cudaGraphLaunch(r->graph, d->stream));
    return MDS_OK;
}

mds_status GPU_NAME(replay)(mds_device *d, mds_status (*record)(void *), void *arg, mds_work kind, int n)
{
    mds_status status;

    d->postpones = true;
    status = run_steps(d, &d->recorded[kind == MDS_FAST], record, arg, n);
    d->postpones = false;
    return status;
}
