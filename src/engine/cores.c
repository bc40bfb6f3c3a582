// SPDX-License-Identifier: Apache-2.0
// How many cores this process may use.
//
// Three answers, of which the smallest counts: the cores that the system lets it run on; what OpenMP knew of them before it
// bound the first thread to one (OMP_PROC_BIND), for which that one core would be the answer now; and the processor time that a
// container is allowed, as the kernel's control groups have it ("cpu.max" of version 2, "cpu.cfs_quota_us" of version 1).
// With more threads than the last allows, all of them are stopped together for the rest of every period, in the middle of a step.
#include "engine/engine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/// A number in a small file, or two; how many were read. "max" is none.
static int numbers_of(const char *root, const char *group, const char *name, double value[2])
{
    char  path[1200];
    FILE *file;
    int   n = 0;

    if ((size_t)snprintf(path, sizeof path, "%s%s/%s", root, group, name) >= sizeof path || !(file = fopen(path, "r"))) return 0;
    n = fscanf(file, "%lf %lf", &value[0], &value[1]);
    fclose(file);
    return n > 0 ? n : 0;
}

double mds_cores_allowed(const char *root, const char *group)
{
    char   at[1000], controller[1100];
    double least = 1e9, value[2], period[2];

    snprintf(at, sizeof at, "%s", strcmp(group, "/") ? group : "");
    snprintf(controller, sizeof controller, "%s/cpu", root);
    for (;;) { // every group above limits it too
        char *slash;

        if (numbers_of(root, at, "cpu.max", value) == 2 && value[0] > 0 && value[1] > 0 && value[0] / value[1] < least)
            least = value[0] / value[1];
        if (numbers_of(controller, at, "cpu.cfs_quota_us", value) > 0 && value[0] > 0 &&
            numbers_of(controller, at, "cpu.cfs_period_us", period) > 0 && period[0] > 0 && value[0] / period[0] < least)
            least = value[0] / period[0];
        if (!(slash = strrchr(at, '/'))) return least;
        *slash = '\0';
    }
}

/// The group of this process: version 2's line is "0::PATH", version 1's "N:...cpu...:PATH".
static void own_group(char *out, size_t size)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    char  line[1000];

    snprintf(out, size, "/");
    while (file && fgets(line, sizeof line, file)) {
        char *first = strchr(line, ':'), *path = first ? strchr(first + 1, ':') : NULL;

        if (!path) continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (first[1] && !strstr(first, "cpu")) continue;
        snprintf(out, size, "%s", path);
        if (first[1]) break; // the controller of version 1 is named, so it holds the limit
    }
    if (file) fclose(file);
}

int mds_cores_here(void)
{
    char      group[1000];
    cpu_set_t set;
    double    allowed;
    int       n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

#ifdef _OPENMP
    if (omp_get_num_procs() > n) n = omp_get_num_procs();
#endif
    own_group(group, sizeof group);
    allowed = mds_cores_allowed("/sys/fs/cgroup", group);
    if (allowed < n) n = (int)(allowed + 0.01);
    return n > 0 ? n : 1;
}
