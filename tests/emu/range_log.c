// SPDX-License-Identifier: Apache-2.0
// What a profiler does to see NVTX ranges, in its smallest form: NVTX loads the library that NVTX_INJECTION64_PATH names, which puts
// functions of its own into the table of calls. They write "+name" and "-" into RANGE_LOG_FILE.
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>

static FILE *out;

static int NVTX_API push(const char *name)
{
    fprintf(out, "+%s\n", name);
    return 0;
}

static int NVTX_API pop(void)
{
    fprintf(out, "-\n");
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    const char                     *path = getenv("RANGE_LOG_FILE");
    NvtxFunctionTable               table;
    unsigned                        size;

    if (!path || !callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
    out = fopen(path, "w");
    if (!out || size <= NVTX_CBID_CORE_RangePop) return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
