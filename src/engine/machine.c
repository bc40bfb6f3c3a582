// SPDX-License-Identifier: Apache-2.0
// Facts about the machine that a benchmark needs: name, core clock, peak arithmetic, energy counters.
//
// The time-stamp counter ticks at its own rate whatever the core does, so cycles come from a loop whose length in core cycles
// is known: a chain of dependent additions of two registers, one a cycle (of an immediate, some cores do more). Peak arithmetic is
// that of fused multiply-adds on as many independent registers as hide their latency, in the width of an instruction set level.
// Energy is what the processor's own counters say (RAPL): whole packages, so with whatever else runs on them.
#include "engine/engine.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void mds_machine_name(char *out, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char  line[512];

    snprintf(out, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) || !colon) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, size, "%s", colon + 1 + (colon[1] == ' '));
        break;
    }
    if (file) fclose(file);
}

int mds_threads_per_core(void)
{
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "r");
    char  text[64] = "";
    int   n = 1, first, last;

    if (file && fgets(text, sizeof text, file)) { // "0,64" or "0-1"
        const char *s;

        for (s = text; *s; s++) n += *s == ',';
        if (sscanf(text, "%d-%d", &first, &last) == 2 && last > first && last - first < 8) n = last - first + 1;
    }
    if (file) fclose(file);
    return n;
}

double mds_machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);

    return pages > 0 && page > 0 ? (double)pages * (double)page / (1024.0 * 1024 * 1024) : 0;
}

double mds_machine_clock(void)
{
    const long rounds = 100000, n = 16 * rounds; // half a millisecond: shorter than a time slice, long against the clock's resolution
    double     best = 0;
    int        round;

    for (round = 0; round < 9; round++) {
        const double start = mds_clock();
        double       rate;
        long         k, sum = round, step = 3;

#define ADD                                                                                                  \
    sum += step;                                                                                             \
    __asm__ volatile("" : "+r"(sum), "+r"(step)); // or the compiler sums the series
        for (k = 0; k < rounds; k++) { // 16 to a round: longer than what the loop itself takes
            ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
        }
#undef ADD
        rate = (double)n / (mds_clock() - start);
        if (rate > best) best = rate;
    }
    return best;
}

// -------------------------------------------------------------------------------------- peak arithmetic

enum { FMA_ROUNDS = 100000, FMA_CHAINS = 12 }; // latency 4 or 5, at most two a cycle: 10 chains are enough

/// Time of FMA_ROUNDS times FMA_CHAINS fused multiply-adds of `width` floats, s. `v` holds the registers' type.
#define FMA_LOOP(name, width, attributes)                                                                    \
    attributes static double name(void)                                                                      \
    {                                                                                                        \
        typedef float v __attribute__((vector_size(4 * (width))));                                           \
        v      sum[FMA_CHAINS] = {{0}}, a = {0}, b = {0};                                                    \
        double start;                                                                                        \
        int    k, c;                                                                                         \
                                                                                                             \
        a += 0.999999f;                                                                                      \
        b += 1e-6f;                                                                                          \
        for (c = 0; c < FMA_CHAINS; c++) sum[c] += (float)(c + 2); /* no two alike, none at rest */           \
        start = mds_clock();                                                                                 \
        for (k = 0; k < FMA_ROUNDS; k++)                                                                     \
            _Pragma("GCC unroll 12") for (c = 0; c < FMA_CHAINS; c++) sum[c] = sum[c] * a + b;               \
        start = mds_clock() - start;                                                                         \
        for (c = 0; c < FMA_CHAINS; c++) b += sum[c];                                                        \
        return b[0] > -1 ? start : 0;                                                                        \
    }

#if defined(__x86_64__)
FMA_LOOP(fma_avx512, 16, __attribute__((target("avx512f"))))
FMA_LOOP(fma_avx2, 8, __attribute__((target("avx2,fma"))))
#endif
FMA_LOOP(fma_generic, 4, )

double mds_machine_flops(const char *isa)
{
    double (*loop)(void) = fma_generic;
    double best = INFINITY;
    int    width = 4, round;

#if defined(__x86_64__)
    if (!strcmp(isa, "avx512") && __builtin_cpu_supports("avx512f")) {
        loop = fma_avx512;
        width = 16;
    } else if (!strcmp(isa, "avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        loop = fma_avx2;
        width = 8;
    }
#else
    (void)isa;
#endif
    for (round = 0; round < 7; round++) best = fmin(best, loop());
    return best > 0 && isfinite(best) ? 2.0 * FMA_ROUNDS * FMA_CHAINS * width / best : 0;
}

// -------------------------------------------------------------------------------------------- energy

static bool read_counter(const char *root, const char *zone, const char *file, double *value)
{
    char  path[600];
    FILE *f;
    bool  good;

    snprintf(path, sizeof path, "%s/%s/%s", root, zone, file);
    f = fopen(path, "r");
    good = f && fscanf(f, "%lf", value) == 1;
    if (f) fclose(f);
    return good;
}

void mds_energy_look(const char *root, mds_energy_counters *out)
{
    DIR           *dir = opendir(root);
    struct dirent *entry;

    out->n = 0;
    while (dir && (entry = readdir(dir)) && out->n < MDS_MAX_PACKAGES) {
        const char *name = entry->d_name, *colon = strchr(name, ':');
        double      energy, range = 0;

        // "intel-rapl:0" is a package (also on AMD); "intel-rapl:0:1" a part of it; "intel-rapl-mmio:0" the same once more
        if (strncmp(name, "intel-rapl:", 11) || strchr(colon + 1, ':')) continue;
        if (!read_counter(root, name, "energy_uj", &energy)) continue;
        (void)read_counter(root, name, "max_energy_range_uj", &range);
        snprintf(out->zone[out->n], sizeof out->zone[0], "%.*s", (int)sizeof out->zone[0] - 1, name);
        out->joule[out->n] = 1e-6 * energy;
        out->range[out->n++] = 1e-6 * range;
    }
    if (dir) closedir(dir);
}

double mds_energy_between(const mds_energy_counters *a, const mds_energy_counters *b)
{
    double sum = 0;
    int    i, j, found = 0;

    for (i = 0; i < a->n; i++)
        for (j = 0; j < b->n; j++)
            if (!strcmp(a->zone[i], b->zone[j])) {
                const double spent = b->joule[j] - a->joule[i];

                sum += spent < 0 ? spent + a->range[i] : spent; // the counter went round
                found++;
            }
    return found && found == a->n ? sum : NAN;
}
