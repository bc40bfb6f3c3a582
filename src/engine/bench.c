// SPDX-License-Identifier: Apache-2.0
// One benchmark case: a real simulation, stepped and timed, with nothing written.
//
// Set-up and first step are timed apart. Then a warm-up (the clock rises, memory is touched, lists grow to their size), then
// repeats of equal blocks, each a whole number of list intervals so that every block does the same work. The time of a
// step is the median of the blocks, with the best and the spread beside it. Core cycles are seconds times a clock that is
// measured right after the blocks (machine.c). On a backend that replays steps the host's clock tells how long queueing took, nothing
// about a stage: only whole blocks, whose ends wait for the device, are timed there. What is not known is NAN: drift unless the case ran NVE for long enough, energy
// unless the machine counts it (processor packages; on a GPU, its board).
#include "engine/engine.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// NVE time below which a slope of the total energy says nothing: it fluctuates more than it drifts. ps
static const double drift_needs = 20;

static mds_status advance(mds_sim *s, int64_t n)
{
    const int64_t last = s->step + n;
    mds_poll      now;

    while (s->step < last) {
        const mds_work work = mds_due(s->config, &s->params, s->step + 1);

        // as a run does it: plain steps in one go, which a GPU replays without the host
        if (work)
            MDS_TRY(mds_step(s, work));
        else
            MDS_TRY(mds_repeat(s, mds_plain_steps(s->config, &s->params, s->step, last)));
        MDS_TRY(s->be->poll(s->dev, &now)); // and waits for the device: a block ends when its last step has
        if (now.fault) return mds_diagnose(s, now.fault);
        if (!(work & MDS_OBSERVE)) continue;
        MDS_TRY(s->be->collect(s->dev, 0, &s->frame));
        if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
        if (s->frame.has_energy) mds_line_fit_add(&s->drift, s->frame.time, mds_frame_conserved(&s->frame));
    }
    return MDS_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/// Resident memory is counted anew from here, where the system allows it.
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (!file) return;
    (void)fputs("5\n", file);
    fclose(file);
}

/// Steps of a block: a whole number of list intervals that fills `seconds`, and of cycles of the mesh where it has multiple time steps.
static int64_t block_steps(const mds_sim *s, double per_step, double seconds)
{
    const int64_t list = s->params.list_interval > 0 ? s->params.list_interval : 20, mesh = s->params.mesh_every;
    const int64_t interval = mesh > 1 && list % mesh ? list * mesh : list;
    const double  want = per_step > 0 ? seconds / per_step / (double)interval : 1;

    return interval * (int64_t)fmin(fmax(1, floor(want)), 1e7);
}

static mds_status time_blocks(mds_sim *s, const mds_bench_options *o, mds_bench_result *r)
{
    mds_energy_counters before, after;
    mds_power           power;
    mds_power_figures   board;
    double              began = mds_clock(), warm;
    int64_t             warm_steps = block_steps(s, 0, 0), n;
    int                 k, repeats = o->repeats < 1 ? 1 : o->repeats > MDS_BENCH_REPEATS ? MDS_BENCH_REPEATS : o->repeats;
    double              sorted[MDS_BENCH_REPEATS], total = 0;

    MDS_TRY(advance(s, warm_steps)); // the first lists grow: not the time of a step
    began = mds_clock();
    MDS_TRY(advance(s, warm_steps));
    warm = (mds_clock() - began) / (double)warm_steps;
    if (0.1 * o->seconds > warm * (double)warm_steps) {
        n = block_steps(s, warm, 0.1 * o->seconds);
        began = mds_clock();
        MDS_TRY(advance(s, n));
        warm = (mds_clock() - began) / (double)n;
    }
    n = o->steps > 0 ? o->steps : block_steps(s, warm, o->seconds / repeats);
    mds_timer_reset();
    s->n_searches = s->n_trips = 0;
    memset(&s->drift, 0, sizeof s->drift);
    mds_energy_look(o->powercap ? o->powercap : MDS_POWERCAP, &before);
    mds_power_begin(s->be, s->dev, &power);
    for (k = 0; k < repeats; k++) {
        began = mds_clock();
        MDS_TRY(advance(s, n));
        r->block_ms[k] = sorted[k] = 1000 * (mds_clock() - began) / (double)n;
        total += sorted[k] / repeats;
        mds_power_look(s->be, s->dev, k == repeats - 1, &power);
    }
    mds_energy_look(o->powercap ? o->powercap : MDS_POWERCAP, &after);
    r->clock_ghz = 1e-9 * mds_machine_clock();
    qsort(sorted, (size_t)repeats, sizeof *sorted, by_size);
    r->repeats = repeats;
    r->steps = n;
    r->ms_best = sorted[0];
    r->ms_per_step = 0.5 * (sorted[(repeats - 1) / 2] + sorted[repeats / 2]);
    r->spread = (sorted[repeats - 1] - sorted[0]) / r->ms_per_step;
    for (k = 0; k < MDS_N_TIMERS; k++) // the share of a stage in the mean, at the median's size
        r->stage_ms[k] = 1000 * mds_timer_seconds((mds_timer)k) / (double)(n * repeats) * r->ms_per_step / total;
    r->queued = s->be->replay != NULL;
    for (k = 0; k < MDS_N_TIMERS && r->queued; k++) r->stage_ms[k] = NAN;
    if (r->queued) r->clock_ghz = NAN;
    mds_power_tell(&power, &board);
    r->joule_per_step = (r->queued ? board.joule : mds_energy_between(&before, &after)) / (double)(n * repeats);
    r->watt = r->queued ? board.watt : 1000 * r->joule_per_step / total;
    r->sm_mhz = board.clock_mhz;
    r->searches_per_step = (double)s->n_searches / (double)(n * repeats);
    r->trips = s->n_trips;
    return MDS_OK;
}

static void describe(const mds_sim *s, mds_bench_result *r)
{
    const mds_params *p = &s->params;
    const bool        nve = p->thermostat == MDS_THERMOSTAT_NONE && p->barostat == MDS_BAROSTAT_NONE;
    mds_text          words = {0};

    r->n_atoms = s->system.n_atoms;
    r->threads = s->threads;
    r->dt_fs = 1000 * p->dt;
    r->cutoff = fmax(p->cut_lj, p->cut_q);
    r->order = p->coulomb == MDS_COULOMB_PME ? p->order : 0;
    r->points = r->order ? (double)p->grid[0] * p->grid[1] * p->grid[2] : 0;
    r->force_error = s->choices.force_error;
    snprintf(r->backend, sizeof r->backend, "%s", s->be->name);
    snprintf(r->isa, sizeof r->isa, "%s", s->be->flavour(s->dev));
    if (r->queued)
        snprintf(r->device, sizeof r->device, "%s", s->be->describe(s->dev));
    else
        mds_machine_name(r->device, sizeof r->device);
    mds_choices_words(s, &words);
    snprintf(r->choices, sizeof r->choices, "%s", words.s ? words.s : "");
    mds_text_free(&words);
    r->drift = NAN;
    if (nve && s->drift.n > 19 && 1e-3 * r->dt_fs * (double)(r->steps * r->repeats) >= drift_needs)
        r->drift = 1000 * mds_line_fit_slope(&s->drift) / r->n_atoms;
    r->ns_per_day = 86.4 * p->dt * 1000 / r->ms_per_step;
    r->core_ns = r->queued ? NAN : 1e6 * r->ms_per_step * r->threads / r->n_atoms;
    r->wh_per_ns = r->joule_per_step / 3600 / (1e-3 * p->dt);
    r->peak_flops = r->queued ? NAN : 0; // of the host's cores
    if (r->list.inside > 0 && !r->queued) {
        const double kernel = 1e-3 * (r->stage_ms[MDS_T_PAIR] - r->stage_ms[MDS_T_PRUNE]);

        r->peak_flops = mds_machine_flops(r->isa) * r->threads;
        r->roofline = r->peak_flops > 0 && kernel > 0 ? MDS_BENCH_PAIR_FLOPS * (double)r->list.inside / kernel / r->peak_flops : NAN;
    } else {
        r->roofline = NAN;
    }
}

static mds_status measure(mds_sim *s, const mds_config *c, const mds_bench_options *o, mds_bench_result *r)
{
    const double began = mds_clock();
    double       now;

    MDS_TRY(mds_sim_setup(s, c, true));
    now = mds_clock();
    r->setup_s = now - began;
    MDS_TRY(mds_sim_tune(s, MDS_TUNE_ALWAYS));
    r->tune_s = mds_clock() - now;
    now = mds_clock();
    MDS_TRY(mds_sim_start(s));
    MDS_TRY(advance(s, 1));
    r->first_step_s = mds_clock() - now;
    MDS_TRY(advance(s, block_steps(s, 0, 0) - 1)); // blocks begin with a search
    MDS_TRY(time_blocks(s, o, r));
    s->be->figures(s->dev, &r->list);
    describe(s, r);
    r->peak_bytes = (double)mds_memory_peak();
    return MDS_OK;
}

mds_status mds_bench_run(const mds_config *c, const mds_bench_options *o, mds_bench_result *r)
{
    mds_sim    sim = {0};
    mds_status status;

    memset(r, 0, sizeof *r);
    if (c->run.integrator == MDS_INTEGRATOR_MINIMIZE)
        return mds_key_fail(c, "run.integrator", MDS_E_INPUT, "a minimisation has no speed to measure; bench a dynamics input");
    forget_peak();
    status = measure(&sim, c, o, r);
    mds_sim_close(&sim);
    return status;
}

double mds_bench_cycles(const mds_bench_result *r, double ms)
{
    return 1e6 * ms * r->clock_ghz * r->threads;
}
