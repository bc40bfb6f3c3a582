// SPDX-License-Identifier: Apache-2.0
// What the pair row of the cpu backend costs: search, prune, float copy, kernels; and what the lists look like.
//
//     bench_pair [atoms 24000] [threads 1] [level auto] [cut 0.9] [list 1.05] [prune 0.96] [rule water|spce|argon|salt]
//
// Core cycles are seconds times the clock rate, which is measured beside the kernels with a chain of dependent additions (one
// a cycle on every core we know), because time stamp counters tick at another rate. A slot is one of the 16 pairs of a tile.
#include "engine/engine.h"
#include "cpu/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int threads_used;

/// With one thread processor time, which other work on the machine disturbs less; else wall time. s
static double now(void)
{
    struct timespec t;

    if (threads_used > 1) return mds_clock();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != MDS_OK) {                                                                              \
            fprintf(stderr, "%s\n", mds_error_text());                                                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/// Best time of `repeats` calls of pair, s.
static double time_pair(mds_device *d, mds_work work, int repeats)
{
    double best = 1e9;

    for (int k = 0; k < repeats; k++) {
        MUST(mds_backend_cpu.begin(d, work));
        const double start = now();
        MUST(mds_cpu_pair(d, MDS_HOME, work));
        const double seconds = now() - start;
        if (seconds < best) best = seconds;
    }
    return best;
}

int main(int argc, char **argv)
{
    const int32_t n = argc > 1 ? atoi(argv[1]) : 24000;
    const int     threads = argc > 2 ? atoi(argv[2]) : 1;
    const char   *level = argc > 3 ? argv[3] : "auto";
    const double  cut = argc > 4 ? atof(argv[4]) : 0.9;
    mds_params    params = {.coulomb = MDS_COULOMB_PME,
                            .split = MDS_SPLIT_PROLATE,
                            .split_shape = 10,
                            .lj_modifier = MDS_LJ_SHIFT,
                            .cut_lj = cut,
                            .cut_q = cut,
                            .list_radius = argc > 5 ? atof(argv[5]) : 1.05,
                            .prune_radius = argc > 6 ? atof(argv[6]) : 0.96,
                            .grid = {40, 40, 40},
                            .order = 4};
    mds_system    system = {0};
    mds_state     state = {0};
    mds_device   *d;
    double        search = 1e9, prune, begin = 1e9;
    cpu_list_statistics s;

    threads_used = threads;
    MUST(mds_make(argc > 7 ? argv[7] : "water", n, 1, &system, &state));
    MUST(mds_system_freeze(&system));
    const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = system.n_atoms, .n_all = system.n_atoms};
    MUST(mds_backend_cpu.open(&system, &params, threads, level, &d));
    MUST(mds_backend_cpu.upload(d, &domain, &state));
    for (int k = 0; k < 5; k++) {
        const double start = now();

        MUST(mds_cpu_search(d, &domain));
        if (now() - start < search) search = now() - start;
    }
    double first = 1e9; // prunes and computes
    for (int k = 0; k < 10; k++) {
        d->list->prune_due = true;
        const double seconds = time_pair(d, 0, 1);
        if (seconds < first) first = seconds;
    }
    double force = time_pair(d, 0, 40), energy = time_pair(d, MDS_ENERGY | MDS_VIRIAL, 10);
    prune = first - force;
    for (int k = 0; k < 10; k++) {
        const double start = now();

        MUST(mds_backend_cpu.begin(d, 0));
        if (now() - start < begin) begin = now() - start;
    }
    double excluded = 1e9;
    for (int k = 0; k < 10; k++) {
        const double start = now();

        mds_cpu_excluded_again(d, 1);
        if (now() - start < excluded) excluded = now() - start;
    }
    mds_cpu_list_statistics(d, &s);
    force -= excluded;
    energy -= excluded; // nearly
    const double rate = mds_machine_clock(), atoms = system.n_atoms, slots = (double)s.inner_pairs;

    printf("%s, %d atoms, cut %.3f list %.3f prune %.3f nm, clock %.2f GHz\n", d->about, system.n_atoms, cut,
           params.list_radius, params.prune_radius, rate * 1e-9);
    printf("search %.2f ms, prune %.2f ms, begin %.3f ms, pair forces %.2f ms, energies %.2f ms, excluded pairs %.2f ms\n",
           search * 1e3, prune * 1e3, begin * 1e3, force * 1e3, energy * 1e3, excluded * 1e3);
    printf("slots/atom: outer %.0f inner %.0f, efficiency %.3f, tiles with both halves %.2f, entries %lld, padding %.3f\n",
           (double)s.outer_pairs / atoms, slots / atoms, (double)s.inside / slots, slots / 16 / (double)s.n_tiles - 1,
           (long long)s.n_parts, (double)s.n_slots / atoms);
    printf("core cycles/slot: forces %.2f energies %.2f; per useful pair %.2f; prune per outer slot %.2f; search per atom %.0f\n",
           force * rate * threads / slots, energy * rate * threads / slots, force * rate * threads / (double)s.inside,
           prune * rate * threads / (double)s.outer_pairs, search * rate * threads / atoms);
    mds_backend_cpu.close(d);
    mds_system_free(&system);
    mds_state_free(&state);
    return 0;
}
