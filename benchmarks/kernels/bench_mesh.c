// SPDX-License-Identifier: Apache-2.0
// What the mesh row of the cpu backend costs: its phases, and the three kernels by themselves.
//
//     bench_mesh [order 4] [points 40] [threads 1] [level auto] [atoms 24000] [rule water]
//
// Core cycles an atom: seconds times threads times the clock rate, which is measured beside the phases with a chain of
// dependent additions (one a cycle on every core we know). Best and median over repeats, so a warm cache. With more
// threads than one, one thread and that many take turns in the same process, and their ratio is printed.
#include "engine/engine.h"
#include "cpu/cpu.h"
#include "cpu/isa_mesh.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 64, TURNS = 8 };

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

/// One device, and the times of its phases: begin, the five of the mesh, finish, the whole mesh in one go.
enum { PHASES = 8 };
typedef struct {
    mds_device *device;
    int         threads;
    double      t[PHASES][REPEATS];
} bench;

static void turn(bench *b, int k)
{
    mds_device *d = b->device;
    double      now, start = mds_clock();
    int         p;

#define TIME(which, call)                                                                                    \
    MUST(call);                                                                                              \
    now = mds_clock();                                                                                       \
    if (k >= 0) b->t[which][k] = now - start;                                                                \
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

/// Best and median of every phase, and how many times faster the last bench is than the first.
static void report(bench *b, int n, double cycles)
{
    static const char *const name[PHASES] = {"begin", "spread", "fft", "solve", "inverse", "gather", "finish", "whole mesh"};

    printf("%-11s", "");
    for (int i = 0; i < n; i++) printf(" %2d threads: best  median", b[i].threads);
    printf(n > 1 ? "   first over last: best, median\n" : "\n");
    for (int p = 0; p < PHASES; p++) {
        double middle[2], best[2];

        printf("%-11s", name[p]);
        for (int i = 0; i < n; i++) {
            middle[i] = median(b[i].t[p], REPEATS); // sorted from here on
            best[i] = b[i].t[p][0];
            printf("        %8.2f %8.2f", best[i] * cycles * b[i].threads, middle[i] * cycles * b[i].threads);
        }
        if (n > 1) printf("   %.2f, %.2f", best[0] / best[n - 1], middle[0] / middle[n - 1]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const int     order = argc > 1 ? atoi(argv[1]) : 4, n = argc > 2 ? atoi(argv[2]) : 40, threads = argc > 3 ? atoi(argv[3]) : 1;
    const char   *level = argc > 4 ? argv[4] : "auto";
    const int     n_benches = threads > 1 ? 2 : 1;
    mds_params    params = {.coulomb = MDS_COULOMB_PME, .split = MDS_SPLIT_PROLATE, .split_shape = 10, .lj_modifier = MDS_LJ_SHIFT,
                            .cut_lj = 0.9, .cut_q = 0.9, .list_radius = 1.0, .prune_radius = 0.96, .grid = {n, n, n}, .order = order};
    mds_system    system = {0};
    mds_state     state = {0};
    bench        *b;

    MUST(mds_make(argc > 6 ? argv[6] : "water", argc > 5 ? atoi(argv[5]) : 24000, 1, &system, &state));
    MUST(mds_system_freeze(&system));
    MUST(mds_alloc(&b, 2, sizeof *b));
    const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = system.n_atoms, .n_all = system.n_atoms};
    for (int i = 0; i < n_benches; i++) {
        b[i].threads = i == 0 ? 1 : threads;
        MUST(mds_backend_cpu.open(&system, &params, b[i].threads, level, &b[i].device));
        MUST(mds_backend_cpu.upload(b[i].device, &domain, &state));
        MUST(mds_cpu_search(b[i].device, &domain));
    }
    // in turn, so that a machine that changes its speed changes both
    for (int first = 0; first < REPEATS; first += TURNS)
        for (int i = 0; i < n_benches; i++)
            for (int k = -2; k < TURNS; k++) turn(&b[i], k < 0 ? k : first + k); // two to fill the caches
    const double rate = mds_machine_clock(), cycles = rate / system.n_atoms;
    printf("%s, %d atoms, order %d, %d^3, clock %.2f GHz: core cycles an atom\n", b[0].device->about, system.n_atoms, order, n, rate * 1e-9);
    report(b, n_benches, cycles);
    kernels(b[0].device, n, order, cycles);
    for (int i = 0; i < n_benches; i++) mds_backend_cpu.close(b[i].device);
    mds_free(b);
    mds_system_free(&system);
    mds_state_free(&state);
    return 0;
}
