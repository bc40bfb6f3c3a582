// SPDX-License-Identifier: Apache-2.0
// Choice of the instruction set level: the best one that was compiled in and that this machine runs.
#include "cpu/isa.h"

#include <stdlib.h>
#include <string.h>

extern const cpu_isa mds_isa_generic;
#ifdef MDS_HAVE_AVX2
extern const cpu_isa mds_isa_avx2;
#endif
#ifdef MDS_HAVE_AVX512
extern const cpu_isa mds_isa_avx512;
#endif

const cpu_isa *const mds_isa_levels[] = {
#ifdef MDS_HAVE_AVX512
    &mds_isa_avx512,
#endif
#ifdef MDS_HAVE_AVX2
    &mds_isa_avx2,
#endif
    &mds_isa_generic,
    NULL,
};

bool mds_isa_runs(const cpu_isa *isa)
{
#if defined(MDS_HAVE_AVX2) || defined(MDS_HAVE_AVX512)
    // these tests include the operating system's consent to save the wide registers
    if (!strcmp(isa->name, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(isa->name, "avx512"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
#endif
    return !strcmp(isa->name, "generic");
}

mds_status mds_isa_find(const char *name, const cpu_isa **out)
{
    mds_text there = {0};
    int      k;

    if (!name || !*name || !strcmp(name, "auto")) name = getenv("MDS_ISA");
    const bool any = !name || !*name || !strcmp(name, "auto");

    *out = NULL;
    for (k = 0; mds_isa_levels[k]; k++) {
        const cpu_isa *level = mds_isa_levels[k];

        if (!mds_isa_runs(level)) continue;
        if (any || !strcmp(name, level->name)) {
            *out = level;
            break;
        }
        mds_text_add(&there, "%s%s", there.n ? ", " : "", level->name);
    }
    if (!*out)
        mds_fail(MDS_E_UNSUPPORTED, __FILE__, __LINE__,
                 "instruction set level \"%s\" is not to be had; this build on this machine has: %s", name,
                 there.n ? there.s : "none");
    mds_text_free(&there);
    return *out ? MDS_OK : MDS_E_UNSUPPORTED;
}

const char *mds_isa_names(void)
{
    static char names[64];
    size_t      n = 0, length;
    int         k;

    for (k = 0; mds_isa_levels[k]; k++) {
        length = strlen(mds_isa_levels[k]->name);
        if (!mds_isa_runs(mds_isa_levels[k]) || n + length + 2 > sizeof names) continue;
        if (n) names[n++] = ' ';
        memcpy(names + n, mds_isa_levels[k]->name, length + 1);
        n += length;
    }
    return names;
}
