// SPDX-License-Identifier: Apache-2.0
// AMBER's netCDF restarts in a build without the library (MDS_MINIMAL): refused by name.
#include "read/read.h"

mds_status mds_read_ncrst(const char *path, const mds_system *system, mds_state *state)
{
    (void)system, (void)state;
    MDS_FAIL(MDS_E_UNSUPPORTED, "%s: a netCDF restart: this is a minimal build (MDS_MINIMAL), which reads .gro, .pdb and AMBER's text formats", path);
}
