// SPDX-License-Identifier: Apache-2.0
// The user's cache directory. Nothing in it is needed: whatever cannot be read or written there is done without.
#include "io/io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

mds_status mds_cache_path(const char *name, bool make, char **out)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    mds_text    path = {0};
    mds_status  status = MDS_OK;

    *out = NULL;
    if (cache && cache[0] == '/') // the XDG rule: a relative path is ignored
        mds_text_add(&path, "%s", cache);
    else if (home && home[0] == '/')
        mds_text_add(&path, "%s/.cache", home);
    else
        return MDS_OK;
    if (make && path.s) (void)mkdir(path.s, 0700);
    mds_text_add(&path, "/mdsim");
    if (make && path.s) (void)mkdir(path.s, 0700); // a failure shows when the file is written
    mds_text_add(&path, "/%s", name);
    status = path.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : mds_copy_text(out, path.s, SIZE_MAX);
    mds_text_free(&path);
    return status;
}
