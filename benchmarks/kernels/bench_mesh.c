// SPDX-License-Identifier: Apache-2.0
// What the mesh row of the cpu backend costs: its phases, and the three kernels by themselves.
//
//     bench_mesh [order 4] [points 40] [threads 1] [level auto] [atoms 24000] [rule water]
//
// Core cycles an atom: seconds times threads times the clock rate, which is measured beside the phases with a chain of
// dependent additions (one a cycle on every core we know). Times are the median over repeats, so a warm cache.
#include "engine/engine.h"
#include "cpu/cpu.h"
#include "cpu/isa_mesh.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 60 };

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != MDS_OK) {                                                                              \
            fprintf(stderr, "%s\n", mds_error_text());                                                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, by_size);
    return t[n / 2];
}

/// The kernels alone, one thread, all atoms, one slab: core cycles an atom.
static void kernels(mds_device *d, int32_t n, int order, double cycles)
{
    const isa_mesh *isa = mds_cpu_mesh_kernels(d->isa);
    const int32_t   row = (n - 1 + 8 + 7) / 8 * 8 + 8, rows = n + order - 1, blocks = (d->n_slots + 15) / 16;
    mesh_frame      frame = {.n = {n, n, n}, .row = row, .plane = row * rows};
    mesh_block     *block;
    float          *slab, theta[MESH_MAX_ORDER][8];
    double          place[REPEATS], spread[REPEATS], gather[REPEATS];

    MUST(mds_alloc(&block, (size_t)blocks, sizeof *block));
    MUST(mds_alloc(&slab, (size_t)rows * (size_t)rows * (size_t)row, sizeof *slab));
    mds_box_inverse(&d->box, frame.inv);
    for (int j = 0; j < MESH_MAX_ORDER; j++)
        for (int k = 0; k < 8; k++) theta[j][k] = k < order ? 0.1f * (float)(j - k) : 0;
    const mesh_job job = {.n = blocks, .block = block, .slab = slab, .row = row, .plane = frame.plane,
                          .theta = theta[0], .scale = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .line = d->f_thread[0]};
    for (int k = 0; k < REPEATS; k++) {
        int32_t range[2] = {0, 0};
        double  start = mds_clock(), now;

        isa->place(&frame, d->n_slots, (const double(*)[3])d->x, d->charge, block, range);
        now = mds_clock(), place[k] = now - start, start = now;
        isa->spread[order](&job);
        now = mds_clock(), spread[k] = now - start, start = now;
        isa->gather[order](&job);
        gather[k] = mds_clock() - start;
        for (size_t i = 0; i < (size_t)rows * (size_t)rows * (size_t)row; i++) slab[i] *= 1e-3f;
    }
    printf("kernels alone: place %.1f, spread %.1f, gather %.1f\n", median(place, REPEATS) * cycles,
           median(spread, REPEATS) * cycles, median(gather, REPEATS) * cycles);
    mds_free(block);
    mds_free(slab);
}

int main(int argc, char **argv)
{
    const int     order = argc > 1 ? atoi(argv[1]) : 4, n = argc > 2 ? atoi(argv[2]) : 40, threads = argc > 3 ? atoi(argv[3]) : 1;
    const char   *level = argc > 4 ? argv[4] : "auto";
    mds_params    params = {.coulomb = MDS_COULOMB_PME, .split = MDS_SPLIT_PROLATE, .split_shape = 10, .lj_modifier = MDS_LJ_SHIFT,
                            .cut_lj = 0.9, .cut_q = 0.9, .list_radius = 1.0, .prune_radius = 0.96, .grid = {n, n, n}, .order = order};
    mds_system    system = {0};
    mds_state     state = {0};
    mds_device   *d;
    double        t[8][REPEATS], middle[8], cycles;
    int           k, p;

    MUST(mds_make(argc > 6 ? argv[6] : "water", argc > 5 ? atoi(argv[5]) : 24000, 1, &system, &state));
    MUST(mds_system_freeze(&system));
    const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = system.n_atoms, .n_all = system.n_atoms};
    MUST(mds_backend_cpu.open(&system, &params, threads, level, &d));
    MUST(mds_backend_cpu.upload(d, &domain, &state));
    MUST(mds_cpu_search(d, &domain));
    for (k = -3; k < REPEATS; k++) {
        double now, start = mds_clock();

#define TIME(which, call)                                                                                    \
    MUST(call);                                                                                              \
    now = mds_clock();                                                                                       \
    if (k >= 0) t[which][k] = now - start;                                                                   \
    start = now;
        TIME(0, mds_backend_cpu.begin(d, 0))
        for (p = 0; p < 5; p++) {
            TIME(1 + p, mds_cpu_mesh_stage(d, (mds_phase)(MDS_SPREAD + p), 0))
        }
        TIME(6, mds_backend_cpu.finish(d, 0))
        MUST(mds_backend_cpu.begin(d, 0));
        start = mds_clock();
        TIME(7, mds_cpu_mesh_stage(d, MDS_MESH_ALL, 0))
        MUST(mds_backend_cpu.finish(d, 0));
    }
    const double rate = mds_machine_clock();
    cycles = rate * threads / system.n_atoms;
    for (p = 0; p < 8; p++) middle[p] = median(t[p], REPEATS) * cycles;
    printf("%s, %d atoms, order %d, %d^3, clock %.2f GHz: core cycles an atom\n", d->about, system.n_atoms, order, n, rate * 1e-9);
    printf("begin %.1f, spread %.1f, fft %.1f + %.1f, solve %.1f, gather %.1f, finish %.1f; whole mesh in one go %.1f\n",
           middle[0], middle[1], middle[2], middle[4], middle[3], middle[5], middle[6],
           middle[7]);
    if (threads == 1) kernels(d, n, order, cycles);
    mds_backend_cpu.close(d);
    mds_system_free(&system);
    mds_state_free(&state);
    return 0;
}
