// SPDX-License-Identifier: Apache-2.0
// From measured cases to a calibration file: for every stage a line time = fixed + ns * work. Format: docs/calibration.md.
//
// Fitted is the sum of squared relative deviations, so that small systems count as much as large ones. A line that would cost
// less than nothing at no work goes through zero instead. `error` is the largest deviation left: what a reader must expect
// between the sizes measured, and more outside of them.
#include "cli/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_POINTS = BENCH_MAX_SIZES };

void bench_fit_line(const double *work, const double *time, int n, double *fixed, double *slope, double *error)
{
    double s1 = 0, sw = 0, sww = 0, st = 0, swt = 0, determinant;
    int    k;

    for (k = 0; k < n; k++) {
        const double weight = 1 / (time[k] * time[k]);

        s1 += weight;
        sw += weight * work[k];
        sww += weight * work[k] * work[k];
        st += weight * time[k];
        swt += weight * work[k] * time[k];
    }
    determinant = s1 * sww - sw * sw;
    *slope = determinant > 0 ? (s1 * swt - sw * st) / determinant : 0;
    *fixed = s1 > 0 ? (st - *slope * sw) / s1 : 0;
    if (!(*fixed > 0) || !(*slope > 0)) {
        *fixed = 0;
        *slope = sww > 0 ? swt / sww : 0;
    }
    *error = 0;
    for (k = 0; k < n; k++) *error = fmax(*error, fabs((*fixed + *slope * work[k]) / time[k] - 1));
}

static double stage_of(const mds_bench_result *r, int stage)
{
    switch (stage) {
    case MDS_WS_PAIR: return r->stage_ms[MDS_T_PAIR];
    case MDS_WS_SEARCH: return r->stage_ms[MDS_T_SEARCH];
    case MDS_WS_SPREAD: return r->stage_ms[MDS_T_SPREAD];
    case MDS_WS_FFT: return r->stage_ms[MDS_T_FFT];
    case MDS_WS_SOLVE: return r->stage_ms[MDS_T_SOLVE];
    case MDS_WS_GATHER: return r->stage_ms[MDS_T_GATHER];
    case MDS_WS_MOVE: return r->stage_ms[MDS_T_MOVE];
    case MDS_WS_BONDED: return 0; // water has none: the stage's own few microseconds say nothing about it
    default: {
        double known = 0;
        int    k;

        for (k = 0; k < MDS_WS_OTHER; k++) known += stage_of(r, k);
        return r->ms_per_step - known;
    }
    }
}

static mds_work_unit unit_of(int stage)
{
    return stage == MDS_WS_PAIR ? MDS_PER_PAIR : stage == MDS_WS_FFT || stage == MDS_WS_SOLVE ? MDS_PER_POINT : MDS_PER_ATOM;
}

static void fill_case(const bench_case *from, mds_calibration_case *to)
{
    const mds_bench_result *r = &from->r;
    int                     k;

    snprintf(to->system, sizeof to->system, "water");
    to->atoms = r->n_atoms;
    to->order = r->order;
    to->pairs = (double)r->list.inside;
    to->points = r->points;
    to->cutoff = r->cutoff;
    to->force_error = r->order ? r->force_error : 0;
    to->dt_fs = r->dt_fs;
    to->ms_per_step = r->ms_per_step;
    to->spread = r->spread;
    for (k = 0; k < MDS_N_WORK_STAGES; k++) to->stage_ms[k] = fmax(0, stage_of(r, k));
}

static void fit_stage(const mds_calibration *c, int stage, mds_stage_cost *out)
{
    double work[MAX_POINTS], time[MAX_POINTS], fixed, slope;
    int    k, n = 0;

    out->stage = stage;
    out->work = unit_of(stage);
    for (k = 0; k < c->n_cases && n < MAX_POINTS; k++) {
        const mds_calibration_case *at = &c->cases[k];

        work[n] = out->work == MDS_PER_ATOM ? at->atoms : out->work == MDS_PER_PAIR ? at->pairs : at->points;
        time[n] = at->stage_ms[stage];
        if (work[n] > 0 && time[n] > 0) n++;
    }
    if (n < 2) return;
    bench_fit_line(work, time, n, &fixed, &slope, &out->error);
    out->fixed_us = 1e3 * fixed;
    out->ns = 1e6 * slope;
}

/// Peak memory: a line through the smallest and the largest system.
static void fit_memory(const bench_case *c, int n, mds_calibration *out)
{
    const double atoms = c[n - 1].r.n_atoms - c[0].r.n_atoms, bytes = c[n - 1].r.peak_bytes - c[0].r.peak_bytes;

    out->bytes_per_atom = atoms > 0 && bytes > 0 ? bytes / atoms : 0;
    out->fixed_mib = fmax(0, (c[0].r.peak_bytes - out->bytes_per_atom * c[0].r.n_atoms) / (1024 * 1024));
}

static mds_status write_file(const bench_options *o, const mds_calibration *c)
{
    char      *path = NULL;
    mds_status status = o->calibration ? mds_copy_text(&path, o->calibration, SIZE_MAX) : mds_cache_path("calibration.conf", true, &path);

    if (status == MDS_OK && !path) status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "there is no cache directory (HOME is not set): give --calibration FILE");
    if (status == MDS_OK) status = mds_calibration_write(path, c);
    if (status == MDS_OK) mds_note("wrote %s", path);
    mds_free(path);
    return status;
}

mds_status bench_calibration(const bench_options *o, const bench_case *cases, int n)
{
    const mds_bench_result *r = &cases[n - 1].r;
    mds_calibration         c = {.cores = mds_cores_here(), .threads = r->threads, .clock_ghz = r->clock_ghz, .memory_gib = mds_machine_memory(), .n_cases = n};
    mds_status              status;
    int                     k;

    MDS_CHECK(!r->queued, MDS_E_UNSUPPORTED, "--calibrate needs the time of each stage, which is not known on backend \"%s\": --set backend.kind=cpu", r->backend);
    for (k = 0; k < n; k++)
        MDS_CHECK(cases[k].r.threads == r->threads, MDS_E_INPUT,
                  "the tuner took %d threads for %s and %d for %s: set backend.threads to calibrate", cases[k].r.threads, cases[k].name, r->threads,
                  cases[n - 1].name);
    snprintf(c.program, sizeof c.program, "%s", MDS_VERSION);
    bench_date(c.date, sizeof c.date);
    snprintf(c.instance, sizeof c.instance, "%s", o->instance ? o->instance : "");
    snprintf(c.cpu, sizeof c.cpu, "%s", r->device);
    snprintf(c.backend, sizeof c.backend, "%s", r->backend);
    snprintf(c.isa, sizeof c.isa, "%s", r->isa);
    MDS_TRY(mds_alloc(&c.cases, (size_t)n, sizeof *c.cases));
    for (k = 0; k < n; k++) fill_case(&cases[k], &c.cases[k]);
    for (k = 0; k < MDS_N_WORK_STAGES; k++) {
        mds_stage_cost cost = {0};

        fit_stage(&c, k, &cost);
        if (cost.ns > 0) c.cost[c.n_costs++] = cost;
    }
    fit_memory(cases, n, &c);
    status = write_file(o, &c);
    mds_calibration_free(&c);
    return status;
}
