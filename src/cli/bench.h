// SPDX-License-Identifier: Apache-2.0
// Private to mdsim bench: bench.c (cases, table, JSON), bench_page.c (HTML), bench_compare.c (an earlier JSON),
// bench_calibrate.c (the planner's file).
#ifndef MDS_BENCH_H
#define MDS_BENCH_H

#include "cli/cli.h"

enum { BENCH_MAX_SIZES = 32 };

typedef struct {
    const char       *input, *system; // one of them, or neither: water
    int32_t           size[BENCH_MAX_SIZES];
    int               n_sizes;
    bool              stages, calibrate;
    const char       *json, *html, *compare, *calibration, *instance;
    double            price; // USD/h, 0: not given
    const char       *set[CLI_MAX_SET];
    int               n_set;
    mds_bench_options run;
} bench_options;

typedef struct {
    char             name[64];
    double           wants_error; // pme.force_error, kJ/mol/nm
    mds_bench_result r;
} bench_case;

/// Core cycles: a slot, a useful pair, and an atom and step.
typedef struct {
    double slots, efficiency, per_slot, per_pair, prune, spread_gather, fft, solve, bonded, move, search, sums, couple, whole;
} bench_figures;

/// Measure a made system of about `atoms` atoms, or with 0 the input.
mds_status bench_case_run(const bench_options *options, int32_t atoms, bench_case *out);
void       bench_kernel_figures(const mds_bench_result *result, bench_figures *out);
void       bench_date(char *out, size_t size); // UTC, 2026-11-30
/// Ratios to the cases of the same name, size and threads in an earlier JSON; printed if `print`.
/// Errors: MDS_E_MISSING, MDS_E_INPUT (no benchmark of ours).
mds_status bench_compare(const char *path, const bench_case *cases, int n, bool print);
mds_status bench_page(const bench_options *options, const bench_case *cases, int n);
/// Line time = fixed + slope * work of least relative deviations, fixed >= 0; error: the largest deviation left, relative. n >= 1.
void       bench_fit_line(const double *work, const double *time, int n, double *fixed, double *slope, double *error);
/// Fit the costs of the stages and write the calibration file.
mds_status bench_calibration(const bench_options *options, const bench_case *cases, int n);

#endif
