// SPDX-License-Identifier: Apache-2.0
// The list of backends: one row each, linked in or not.
#include "backend/backend.h"

#include <string.h>

extern const mds_backend mds_backend_ref, mds_backend_cpu;
// present in programs that were linked with the backend, else NULL
extern const mds_backend mds_backend_cuda __attribute__((weak)), mds_backend_emu __attribute__((weak));

static const struct {
    const char        *name;
    const mds_backend *backend;
} rows[] = {{"ref", &mds_backend_ref}, {"cpu", &mds_backend_cpu}, {"cuda", &mds_backend_cuda}, {"emu", &mds_backend_emu}};

mds_status mds_backend_find(const char *name, const mds_backend **out)
{
    size_t k;

    *out = NULL;
    for (k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (!strcmp(rows[k].name, name)) {
            MDS_CHECK(rows[k].backend, MDS_E_UNSUPPORTED, "backend \"%s\" is not compiled in; use \"cpu\" or \"auto\"",
                      name);
            *out = rows[k].backend;
            return MDS_OK;
        }
    MDS_FAIL(MDS_E_INPUT, "there is no backend \"%s\" (ref, cpu, cuda, emu)", name);
}

const mds_backend *mds_backend_at(int k)
{
    size_t row;

    for (row = 0; row < sizeof rows / sizeof rows[0]; row++)
        if (rows[row].backend && k-- == 0) return rows[row].backend;
    return NULL;
}
