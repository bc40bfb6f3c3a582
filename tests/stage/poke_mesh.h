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
/// Seconds that spreading [0], the way from charges to potential [1] and gathering [2] take on the device, recorded and repeated, by its own
/// clock. Forces and mesh are worth nothing afterwards. Returns 0 if all went well.
int poke_mesh_time(mds_device *device, double seconds[3]);
/// Set or clear the stop word.
void poke_mesh_stop(mds_device *device, int stop);

MDS_END
#endif
