// SPDX-License-Identifier: Apache-2.0
// A GPU that is not there, for the tuner: the emulation under the name "cuda", with a model's name and pair times of the test's choice.
//
// FAKE_GPU is the model. FAKE_TIMES are milliseconds of the kernels and of the ways to transform the mesh, "octet=3 lane=2 tile=1 gemm=0.5"; FAKE_NOISE
// is how much every second answer is off, as a share. FAKE_CALLS is a file that gets a line for each question: kernel, hyphen, way. The first question is put to the backend too, so that what it
// does when it is asked has been done; its own times say nothing here, and take long.
#include "backend/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MDS_BEGIN
extern const mds_backend mds_backend_emu, mds_backend_cuda;
MDS_END

static int n_calls;

static int devices(int k, char *text, size_t size)
{
    const char *model = getenv("FAKE_GPU");

    (void)k;
    if (size) snprintf(text, size, "%s", model ? model : "no model");
    return model ? 1 : 0;
}

static double milliseconds(const char *kernel, size_t n)
{
    const char *times = getenv("FAKE_TIMES");

    for (const char *at = times; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (!strncmp(at, kernel, n) && at[n] == '=') return atof(at + n + 1);
    return 1;
}

static mds_status time_pairs(mds_device *d, const mds_domain *domain, double seconds[4])
{
    const char  *noise = getenv("FAKE_NOISE"), *path = getenv("FAKE_CALLS"), *kernel = mds_backend_emu.flavour(d), *way = mds_backend_emu.ways(d);
    const size_t n_kernel = strcspn(kernel, "-"), n_way = strcspn(way, " ");
    const double off = noise && n_calls / 3 % 2 ? 1 + atof(noise) : 1;
    FILE        *calls = path ? fopen(path, "a") : NULL;

    if (n_calls++ == 0) MDS_TRY(mds_backend_emu.time_pairs(d, domain, seconds));
    if (calls) {
        fprintf(calls, "%.*s-%.*s\n", (int)n_kernel, kernel, (int)n_way, way);
        fclose(calls);
    }
    seconds[0] = seconds[1] = 0;
    seconds[2] = 1e-3 * milliseconds(kernel, n_kernel) * off;
    seconds[3] = 1e-3 * milliseconds(way, n_way) * (getenv("FAKE_MESH_NOISE") && n_calls / 3 % 2 ? 2 : off);
    return MDS_OK;
}

static mds_backend made(void)
{
    mds_backend table = mds_backend_emu;

    table.name = "cuda";
    table.devices = devices;
    table.time_pairs = time_pairs;
    return table;
}

const mds_backend mds_backend_cuda = made();
