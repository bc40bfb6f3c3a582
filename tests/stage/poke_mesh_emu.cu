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

void poke_mesh_stop(mds_device *d, int stop)
{
    if (cudaDeviceSynchronize() != cudaSuccess ||
        cudaMemcpy(&d->view.control->tripped, &stop, sizeof stop, cudaMemcpyHostToDevice) != cudaSuccess)
        abort();
}
