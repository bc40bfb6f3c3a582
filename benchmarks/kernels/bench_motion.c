// SPDX-License-Identifier: Apache-2.0
// What everything but pairs and mesh costs in a step: bonded terms, excluded pairs, motion with constraints, coupling.
//
//     bench_motion input.conf [steps 200] [threads 1] [level auto] [cold 1]
//
// Real steps of the input, every stage timed apart; medians, with and without energies; measure and couple in every tenth step.
// With nothing due the second half of a move waits for the first of the next step, and costs nothing where it is called. Between stages a buffer of `cold` times
// 2 MiB is read, as pairs and mesh do: a stage finds its arrays where it would find them in a run. Core cycles are
// seconds times the clock rate, which is measured with a chain of dependent additions (mds_machine_clock).
#include "cpu/move.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != MDS_OK) {                                                                              \
            fprintf(stderr, "%s\n", mds_error_text());                                                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { BONDED, EXCLUDED, FINISH, BEFORE, AFTER, MEASURE, COUPLE, N_STAGES };
static const char *const names[] = {"bonded", "excluded", "finish", "move before", "move after", "measure", "couple"};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *value, int n)
{
    qsort(value, (size_t)n, sizeof *value, by_value);
    return value[n / 2];
}

static volatile long sink;

static void chill(const char *buffer, size_t n)
{
    long sum = 0;

    for (size_t k = 0; k < n; k += 64) sum += buffer[k];
    sink += sum;
}

typedef struct {
    const char *buffer;
    size_t      n;
    double     *seconds[N_STAGES];
} stopwatch;

static void step(mds_sim *s, mds_work work, stopwatch *w, int k)
{
    mds_device *d = s->dev;
    mds_poll    now;
    double      start;
    const cpu_measure what = {.half_step = s->integrator->half_step_velocities, .forces = work & MDS_VIRIAL};

#define TIMED(stage, call)                                                                                   \
    do {                                                                                                     \
        chill(w->buffer, w->n);                                                                              \
        start = mds_clock();                                                                                 \
        call;                                                                                                \
        w->seconds[stage][k] = mds_clock() - start;                                                          \
    } while (0)
    TIMED(BEFORE, MUST(mds_cpu_move_stage(d, s->integrator->before, work)));
    MUST(s->be->poll(d, &now));
    if (now.tripped || k % 10 == 0) MUST(mds_redistribute(s));
    MUST(s->be->begin(d, work));
    TIMED(EXCLUDED, mds_cpu_excluded_again(d, 1)); // once more, to be timed alone
    d->lines_clear = false;
    MUST(s->be->begin(d, work));
    MUST(s->be->pair(d, MDS_HOME, work));
    TIMED(BONDED, MUST(mds_cpu_bonded_stage(d, work)));
    if (s->params.coulomb == MDS_COULOMB_PME) MUST(s->be->mesh(d, MDS_MESH_ALL, work));
    TIMED(FINISH, MUST(s->be->finish(d, work)));
    TIMED(AFTER, MUST(mds_cpu_move_stage(d, s->integrator->after, work)));
    if (k % 10 == 0) { // else what ends a step may wait for what begins the next
        mds_cpu_move_flush(d);
        TIMED(MEASURE, mds_cpu_measure(d, &what));
        TIMED(COUPLE, MUST(s->be->couple(d, work | MDS_COUPLE)));
    } else {
        w->seconds[MEASURE][k] = w->seconds[MEASURE][k / 10 * 10];
        w->seconds[COUPLE][k] = w->seconds[COUPLE][k / 10 * 10];
    }
}

int main(int argc, char **argv)
{
    const int   n = argc > 2 ? atoi(argv[2]) : 200;
    mds_config  config = {0};
    mds_sim     sim;
    stopwatch   w = {.n = (size_t)(argc > 5 ? atoi(argv[5]) : 1) << 21};

    if (argc < 2) return fprintf(stderr, "usage: bench_motion input.conf [steps] [threads] [level] [cold]\n"), 2;
    MUST(mds_config_read(argv[1], NULL, 0, &config));
    MUST(mds_sim_setup(&sim, &config, true));
    sim.threads = argc > 3 ? atoi(argv[3]) : 1;
    if (argc > 4) snprintf(sim.isa, sizeof sim.isa, "%s", argv[4]);
    mds_state_draw_velocities(&sim.system, 300, 1, &sim.start);
    MUST(mds_sim_open(&sim));
    MUST(mds_redistribute(&sim));
    MUST(mds_forces(&sim, MDS_ENERGY | MDS_VIRIAL));
    char *buffer = calloc(w.n + 1, 1);
    w.buffer = buffer;
    for (int k = 0; k < N_STAGES; k++) w.seconds[k] = calloc((size_t)n, sizeof(double));
    const double rate = mds_machine_clock(), per_atom = rate * sim.threads / sim.system.n_atoms;

    printf("%s, %d atoms, clock %.2f GHz; medians of %d steps\n", sim.be->describe(sim.dev), sim.system.n_atoms,
           rate * 1e-9, n);
    for (int due = 0; due < 2; due++) {
        for (int k = 0; k < n; k++) step(&sim, due ? MDS_ENERGY | MDS_VIRIAL : MDS_UNSEEN, &w, k);
        double sum = 0;

        printf("%s:", due ? "energies and virial" : "forces only");
        for (int k = 0; k < N_STAGES; k++) {
            const double seconds = median(w.seconds[k], n);

            sum += seconds;
            printf("  %s %.3f ms (%.1f)", names[k], 1e3 * seconds, seconds * per_atom);
        }
        printf("  sum %.3f ms (%.1f core cycles an atom)\n", 1e3 * sum, sum * per_atom);
    }
    for (int k = 0; k < N_STAGES; k++) free(w.seconds[k]);
    free(buffer);
    mds_sim_close(&sim);
    mds_config_free(&config);
    return 0;
}
