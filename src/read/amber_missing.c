// SPDX-License-Identifier: Apache-2.0
// Stand-ins until the AMBER readers are in the tree: weak, so that the real ones replace them. To be removed with them.
#include "read/read.h"

__attribute__((weak)) mds_status mds_read_prmtop(const mds_read_request *r, mds_system *s, mds_box *b, mds_read_report *p)
{
    (void)s, (void)b, (void)p;
    MDS_FAIL(MDS_E_UNSUPPORTED, "%s: AMBER files are not read yet", r->topology);
}

__attribute__((weak)) mds_status mds_read_inpcrd(const char *path, const mds_system *s, int extra, mds_state *state)
{
    (void)s, (void)extra, (void)state;
    MDS_FAIL(MDS_E_UNSUPPORTED, "%s: AMBER files are not read yet", path);
}

__attribute__((weak)) mds_status mds_read_ncrst(const char *path, const mds_system *s, mds_state *state)
{
    (void)s, (void)state;
    MDS_FAIL(MDS_E_UNSUPPORTED, "%s: AMBER files are not read yet", path);
}

__attribute__((weak)) bool mds_is_netcdf(const char *path)
{
    (void)path;
    return false;
}
