// SPDX-License-Identifier: Apache-2.0
// Private matters of the GPU mesh that its test decides.
#ifndef MDS_TEST_POKE_MESH_H
#define MDS_TEST_POKE_MESH_H

#include "backend/backend.h"

MDS_BEGIN

/// How to transform: as the backend likes; cuFFT; in one block where that can be done; by matrix products.
enum { POKE_CHOOSE, POKE_LIBRARY, POKE_BLOCK, POKE_GEMM };
/// Ask for a way; returns the one that is taken.
int poke_mesh_way(mds_device *device, int way);
/// Set or clear the stop word.
void poke_mesh_stop(mds_device *device, int stop);

MDS_END
#endif
