// SPDX-License-Identifier: Apache-2.0
// Help for tests of readers: small files in a directory of their own, topologies from text.
#ifndef READ_TEXT_H
#define READ_TEXT_H

#include "read/read.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static char work[256]; // directory of this test's files

static inline void work_begin(void)
{
    snprintf(work, sizeof work, "%s/mds-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(work)) {
        fprintf(stderr, "cannot make %s\n", work);
        exit(1);
    }
}

static inline void work_end(void)
{
    char command[300];

    snprintf(command, sizeof command, "rm -rf '%s'", work);
    if (system(command)) fprintf(stderr, "cannot remove %s\n", work);
}

/// Write a file below the directory; its path in a static buffer (sixteen at a time).
static inline const char *put(const char *name, const char *text)
{
    static char path[16][512];
    static int  turn;
    char       *p = path[turn++ % 16], *slash;

    snprintf(p, sizeof path[0], "%s/%s", work, name);
    for (slash = strchr(p + strlen(work) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(p, 0777);
        *slash = '/';
    }
    if (mds_file_write(p, text, strlen(text)) != MDS_OK) {
        fprintf(stderr, "%s\n", mds_error_text());
        exit(1);
    }
    return p;
}

/// Read a topology given as text; `system` is freed first.
static inline mds_status top_from(const char *text, mds_system *system)
{
    const mds_read_request request = {.topology = put("topol.top", text)};

    mds_system_free(system);
    return mds_read_top(&request, system, NULL);
}

#endif
