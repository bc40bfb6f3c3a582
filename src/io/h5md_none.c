// SPDX-License-Identifier: Apache-2.0
// Trajectories in a build without HDF5 (MDS_MINIMAL): there are none, and whoever asks for one is told so.
#include "io/io.h"

static mds_status refuse(void)
{
    MDS_FAIL(MDS_E_UNSUPPORTED, "this is a minimal build (MDS_MINIMAL): it has no HDF5 and no trajectories");
}

mds_status mds_h5md_create(const mds_h5md_options *options, const mds_system *system, bool periodic, mds_h5md **out)
{
    (void)options, (void)system, (void)periodic;
    *out = NULL;
    return refuse();
}

mds_status mds_h5md_resume(const mds_h5md_options *options, const mds_system *system, bool periodic, int64_t n_frames,
                           int64_t last_step, mds_h5md **out)
{
    (void)n_frames, (void)last_step;
    return mds_h5md_create(options, system, periodic, out);
}

mds_status mds_h5md_append(mds_h5md *file, const mds_frame *frame)
{
    (void)file, (void)frame;
    return refuse();
}

mds_status mds_h5md_roll(mds_h5md *file, bool *rolled)
{
    (void)file;
    *rolled = false;
    return refuse();
}

int32_t mds_h5md_part(const mds_h5md *file)
{
    (void)file;
    return 0;
}

mds_status mds_h5md_sync(mds_h5md *file)
{
    (void)file;
    return refuse();
}

int64_t mds_h5md_n_frames(const mds_h5md *file)
{
    (void)file;
    return 0;
}

mds_status mds_h5md_close(mds_h5md *file)
{
    (void)file; // NULL: nothing was opened
    return MDS_OK;
}

mds_status mds_h5md_read(const char *path, int64_t k, mds_frame *frame, int64_t *n_frames)
{
    (void)path, (void)k, (void)frame;
    *n_frames = 0;
    return refuse();
}
