// SPDX-License-Identifier: Apache-2.0
// Ways and the stop word of the emulated GPU backend's mesh.
#include "mesh.h"

#include "stage/poke_mesh.h"

static_assert((int)MESH_CUFFT == POKE_LIBRARY && (int)MESH_BLOCK == POKE_BLOCK && (int)MESH_GEMM == POKE_GEMM, "the same names");

int poke_mesh_way(mds_device *d, int way)
{
    d->mesh->wish = (mesh_way)way;
    d->mesh->order = 0; // plans anew
    return GPU_NAME(mesh_set)(d) == MDS_OK ? (int)d->mesh->way : -1;
}

enum { TIMES = 20 };

static mds_status part(mds_device *d, int which)
{
    if (which != 1) return GPU_NAME(mesh)(d, which ? MDS_GATHER : MDS_SPREAD, 0);
    MDS_TRY(GPU_NAME(mesh)(d, MDS_FFT, 0));
    MDS_TRY(GPU_NAME(mesh)(d, MDS_SOLVE, 0));
    return GPU_NAME(mesh)(d, MDS_IFFT, 0);
}

int poke_mesh_time(mds_device *d, double seconds[3])
{
    cudaEvent_t mark[2] = {};
    bool        good = cudaEventCreate(&mark[0]) == cudaSuccess && cudaEventCreate(&mark[1]) == cudaSuccess;

    for (int which = 0; which < 3 && good; which++) {
        cudaGraph_t     graph = NULL;
        cudaGraphExec_t steps = NULL;
        float           ms = 0;

        good = part(d, which) == MDS_OK && cudaDeviceSynchronize() == cudaSuccess; // what is made on first use
        good = good && cudaStreamBeginCapture(d->mesh_stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
        for (int k = 0; k < TIMES && good; k++) good = part(d, which) == MDS_OK;
        good = good && cudaStreamEndCapture(d->mesh_stream, &graph) == cudaSuccess && cudaGraphInstantiate(&steps, graph, 0) == cudaSuccess;
        good = good && cudaGraphLaunch(steps, d->mesh_stream) == cudaSuccess;
        good = good && cudaEventRecord(mark[0], d->mesh_stream) == cudaSuccess && cudaGraphLaunch(steps, d->mesh_stream) == cudaSuccess;
        good = good && cudaEventRecord(mark[1], d->mesh_stream) == cudaSuccess && cudaEventSynchronize(mark[1]) == cudaSuccess;
        good = good && cudaEventElapsedTime(&ms, mark[0], mark[1]) == cudaSuccess;
        seconds[which] = 1e-3 * (double)ms / TIMES;
        if (steps) (void)cudaGraphExecDestroy(steps);
        if (graph) (void)cudaGraphDestroy(graph);
    }
    for (int k = 0; k < 2; k++) (void)cudaEventDestroy(mark[k]);
    return good ? 0 : -1;
}

void poke_mesh_stop(mds_device *d, int stop)
{
    if (cudaDeviceSynchronize() != cudaSuccess ||
        cudaMemcpy(&d->view.control->tripped, &stop, sizeof stop, cudaMemcpyHostToDevice) != cudaSuccess)
        abort();
}
