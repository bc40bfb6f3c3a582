// SPDX-License-Identifier: Apache-2.0
// mdsim bench: cases, their measurement (engine/bench.c), and the table and JSON of what was found.
//
// A case is a made system of a given size (water, argon, ...) or an input file. Sizes are measured in ascending order, one
// process, one case at a time. JSON: an array with one object a case; names are part of the outside contract, null stands for
// "not known". Text that comes from files goes through the JSON writer, so no name can break out of it.
#include "cli/bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void mds_cli_bench_help(void)
{
    mds_print("usage: mdsim bench [--system NAME | input.conf] [options]\n\n"
              "  - in place of input.conf           no file, --set alone: --set system.topology=a.top --set system.coordinates=a.gro\n"
              "  --system water|spce|argon|salt   made on the fly, water by default\n"
              "  --sizes 3k,24k,96k,1M            atoms of each case\n"
              "  --stages                         time of each stage, core cycles of each kernel\n"
              "  --seconds S                      time for a case (5)\n"
              "  --repeats N                      blocks that it is cut into (5)\n"
              "  --steps N                        steps of a block, instead of --seconds\n"
              "  --set section.key=value          a key of the input; backend.tune=fixed does not tune\n"
              "  --json FILE                      results (- is standard output)\n"
              "  --html FILE                      a page with charts; --price-per-hour USD adds cost\n"
              "  --compare OLD.json               speed over that of an earlier result\n"
              "  --calibrate                      measure water of several sizes for mdsim plan (docs/calibration.md), into the user's cache\n"
              "  --calibration FILE               the same into FILE; --instance NAME is noted in it\n"
              "  --quiet | --verbose              fewer or more messages\n");
}

// ---------------------------------------------------------------------------------------------- arguments

/// "24000", "24k", "1.5M" atoms.
static mds_status read_size(const char *text, size_t n, int32_t *out)
{
    char   word[32], *end;
    double value;

    MDS_CHECK(n > 0 && n < sizeof word, MDS_E_USAGE, "--sizes %.*s: not a number of atoms", (int)n, text);
    memcpy(word, text, n);
    word[n] = '\0';
    value = strtod(word, &end);
    if (*end == 'k') {
        value *= 1e3;
        end++;
    } else if (*end == 'M') {
        value *= 1e6;
        end++;
    }
    MDS_CHECK(!*end && value >= 1 && value <= INT32_MAX / 8, MDS_E_USAGE, "--sizes %s: not a number of atoms (3000, 24k, 1.5M)", word);
    *out = (int32_t)lrint(value);
    return MDS_OK;
}

static int by_size(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static mds_status read_sizes(const char *text, bench_options *o)
{
    o->n_sizes = 0;
    while (*text) {
        const size_t n = strcspn(text, ",");

        MDS_CHECK(o->n_sizes < BENCH_MAX_SIZES, MDS_E_USAGE, "--sizes: more than %d", BENCH_MAX_SIZES);
        MDS_TRY(read_size(text, n, &o->size[o->n_sizes++]));
        text += n;
        if (*text) {
            text++;
            MDS_CHECK(*text, MDS_E_USAGE, "--sizes ends with a comma");
        }
    }
    qsort(o->size, (size_t)o->n_sizes, sizeof *o->size, by_size);
    return MDS_OK;
}

static mds_status read_number(const char *option, const char *text, double low, double high, double *out)
{
    char *end;

    *out = strtod(text, &end);
    MDS_CHECK(end != text && !*end && *out >= low && *out <= high, MDS_E_USAGE, "%s %s: a number from %g to %g is needed", option, text, low, high);
    return MDS_OK;
}

static mds_status use(bench_options *o, const char *name, const char *value)
{
    double number;

    if (!strcmp(name, "--system")) {
        o->system = value;
    } else if (!strcmp(name, "--sizes")) {
        return read_sizes(value, o);
    } else if (!strcmp(name, "--json")) {
        o->json = value;
    } else if (!strcmp(name, "--html")) {
        o->html = value;
    } else if (!strcmp(name, "--compare")) {
        o->compare = value;
    } else if (!strcmp(name, "--calibration")) {
        o->calibration = value;
        o->calibrate = true;
    } else if (!strcmp(name, "--instance")) {
        MDS_CHECK(strlen(value) < 64 && strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") == strlen(value), MDS_E_USAGE,
                  "--instance %s: letters, digits and . _ / - only", value);
        o->instance = value;
    } else if (!strcmp(name, "--price-per-hour")) {
        return read_number(name, value, 0, 1e6, &o->price);
    } else if (!strcmp(name, "--seconds")) {
        return read_number(name, value, 0.01, 86400, &o->run.seconds);
    } else if (!strcmp(name, "--repeats")) {
        MDS_TRY(read_number(name, value, 1, MDS_BENCH_REPEATS, &number));
        o->run.repeats = (int)number;
    } else if (!strcmp(name, "--steps")) {
        MDS_TRY(read_number(name, value, 1, 1e9, &number));
        o->run.steps = (int64_t)number;
    } else { // --set
        MDS_CHECK(o->n_set < CLI_MAX_SET, MDS_E_USAGE, "more than %d --set options", CLI_MAX_SET);
        o->set[o->n_set++] = value;
    }
    return MDS_OK;
}

static mds_status parse(int n, char **words, bench_options *o)
{
    static const char *const valued[] = {"--system", "--sizes", "--json", "--html", "--compare", "--calibration", "--instance", "--price-per-hour", "--seconds",
                                         "--repeats", "--steps", "--set"};
    const char              *value;
    size_t                   v;
    int                      k;

    *o = (bench_options){.run = {.seconds = 5, .repeats = 5}};
    for (k = 0; k < n; k++) {
        const int before = k;

        if (!strcmp(words[k], "--quiet") || !strcmp(words[k], "--verbose")) {
            mds_log_set_level(!strcmp(words[k], "--quiet") ? MDS_LOG_WARN : MDS_LOG_DEBUG);
            continue;
        }
        if (!strcmp(words[k], "--stages") || !strcmp(words[k], "--calibrate")) {
            if (words[k][2] == 's')
                o->stages = true;
            else
                o->calibrate = true;
            continue;
        }
        for (v = 0, value = NULL; v < sizeof valued / sizeof *valued && !value; v++) {
            MDS_TRY(mds_cli_value(valued[v], n, words, &k, &value));
            if (value) MDS_TRY(use(o, valued[v], value));
        }
        if (value) continue;
        MDS_CHECK(words[before][0] != '-' || !words[before][1], MDS_E_USAGE, "option %s is not known to bench; try mdsim bench --help", words[before]);
        MDS_CHECK(!o->input, MDS_E_USAGE, "'%s' is one word too many; try mdsim bench --help", words[before]);
        o->input = words[before];
    }
    if (o->system && strchr(o->system, '.')) { // --system NAME|input.conf
        MDS_CHECK(!o->input, MDS_E_USAGE, "give one input, not %s and %s", o->input, o->system);
        o->input = o->system;
        o->system = NULL;
    }
    MDS_CHECK(!o->input || (!o->system && !o->n_sizes), MDS_E_USAGE, "an input has its own size: --system and --sizes do not go with %s", o->input);
    MDS_CHECK(!o->input || !o->calibrate, MDS_E_USAGE, "--calibrate measures made systems: give no input");
    return MDS_OK;
}

// -------------------------------------------------------------------------------------------------- cases

/// Settings of a made case, before those of the user.
static mds_status made_config(const bench_options *o, int32_t atoms, mds_config *config)
{
    const char *system = o->system ? o->system : "water";
    const bool  argon = !strcmp(system, "argon");
    const char *set[CLI_MAX_SET + 16];
    char        name[64], size[64];
    int         n = 0, k;

    MDS_CHECK(strlen(system) < 32 && strspn(system, "abcdefghijklmnopqrstuvwxyz0123456789") == strlen(system), MDS_E_INPUT,
              "--system %s: is none of %s, nor an input file", system, mds_make_names());
    snprintf(name, sizeof name, "system.generate=\"%s\"", system);
    snprintf(size, sizeof size, "system.atoms=%dL", atoms);
    set[n++] = name;
    set[n++] = size;
    set[n++] = "system.velocities=draw";
    set[n++] = "run.steps=1000000000L";
    set[n++] = "output.trajectory_every=0";
    if (argon) { // 2.5 sigma, near the triple point
        set[n++] = "nonbonded.coulomb=none";
        set[n++] = "nonbonded.cutoff=0.85";
        set[n++] = "run.temperature=94.4";
        set[n++] = "run.dt=0.004";
    }
    for (k = 0; k < o->n_set; k++) set[n++] = o->set[k];
    return mds_config_read(NULL, set, n, config);
}

/// "water-24k": the system and its size as asked for.
static void made_name(const bench_options *o, int32_t atoms, char *out, size_t size)
{
    const char *system = o->system ? o->system : "water";

    if (atoms >= 1000000 && atoms % 1000000 == 0)
        snprintf(out, size, "%s-%dM", system, atoms / 1000000);
    else if (atoms >= 1000 && atoms % 1000 == 0)
        snprintf(out, size, "%s-%dk", system, atoms / 1000);
    else
        snprintf(out, size, "%s-%d", system, atoms);
}

/// Of an input file, or of the topology where there is none.
static void input_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

    snprintf(out, size, "%.*s", (int)(dot && dot > name ? dot - name : (ptrdiff_t)strlen(name)), name);
}

mds_status bench_case_run(const bench_options *o, int32_t atoms, bench_case *out)
{
    mds_config config = {0};
    mds_status status;

    memset(out, 0, sizeof *out);
    if (atoms)
        made_name(o, atoms, out->name, sizeof out->name);
    status = atoms ? made_config(o, atoms, &config) : mds_config_read(strcmp(o->input, "-") ? o->input : NULL, o->set, o->n_set, &config);
    if (!atoms && status == MDS_OK)
        input_name(config.system.topology && !strcmp(o->input, "-") ? config.system.topology : o->input, out->name, sizeof out->name);
    if (status == MDS_OK) status = mds_bench_run(&config, &o->run, &out->r);
    out->wants_error = config.pme.force_error;
    mds_config_free(&config);
    return status;
}

// --------------------------------------------------------------------------------------------------- table

static void print_head(void)
{
    mds_print("%-14s %9s %7s %10s %10s %6s %9s %12s %8s %8s %8s\n", "case", "atoms", "threads", "ms/step", "best", "spread", "ns/day", "core-ns/atom",
              "error", "peak MB", "start s");
}

static void print_case(const bench_case *c)
{
    const mds_bench_result *r = &c->r;

    mds_print("%-14s %9d %7d %10.4f %10.4f %5.1f%% %9.3f ", c->name, r->n_atoms, r->threads, r->ms_per_step, r->ms_best, 100 * r->spread, r->ns_per_day);
    if (r->queued)
        mds_print("%12s ", "-");
    else
        mds_print("%12.1f ", r->core_ns);
    if (r->force_error > 0)
        mds_print("%7.3fe", r->force_error);
    else
        mds_print("%8s", "-");
    mds_print(" %8.1f %8.2f\n", 1e-6 * r->peak_bytes, r->setup_s + r->first_step_s);
}

static void print_foot(const bench_case *c, int n)
{
    int k;

    mds_print("ms/step: median of %d blocks; spread: (slowest - fastest)/median; error: estimated (e) rms force error of the mesh, kJ/mol/nm; start: read or\n"
              "make, build, first step; nothing is written to disk while timing. ",
              c[n - 1].r.repeats);
    if (!c[n - 1].r.queued) mds_print("Core clock %.2f GHz, ", c[n - 1].r.clock_ghz);
    mds_print("%s, %s\n", c[n - 1].r.device, c[n - 1].r.isa);
    for (k = 0; k < n; k++) {
        mds_print("%s: %s (tuning %.2f s)", c[k].name, c[k].r.choices, c[k].r.tune_s);
        if (!isnan(c[k].r.drift)) mds_print("; NVE drift %.3g kJ/mol/ns/atom", c[k].r.drift);
        if (!isnan(c[k].r.wh_per_ns))
            mds_print("; %.4g Wh/ns, %.1f W (%s)", c[k].r.wh_per_ns, c[k].r.watt, c[k].r.queued ? "whole GPU board" : "whole processor packages");
        if (!isnan(c[k].r.sm_mhz)) mds_print("; SM clock %.0f MHz", c[k].r.sm_mhz);
        mds_print("\n");
    }
}

static void figure(const char *what, double value, const char *unit)
{
    mds_print("  %-46s %10.2f %s\n", what, value, unit);
}

void bench_kernel_figures(const mds_bench_result *r, bench_figures *f)
{
    const double atoms = r->n_atoms, kernel = r->stage_ms[MDS_T_PAIR] - r->stage_ms[MDS_T_PRUNE];

    f->slots = (double)r->list.inner / atoms;
    f->efficiency = r->list.inner ? (double)r->list.inside / (double)r->list.inner : NAN;
    f->per_slot = r->list.inner ? mds_bench_cycles(r, kernel) / (double)r->list.inner : NAN;
    f->per_pair = r->list.inside ? mds_bench_cycles(r, kernel) / (double)r->list.inside : NAN;
    f->prune = mds_bench_cycles(r, r->stage_ms[MDS_T_PRUNE]) / atoms;
    f->spread_gather = mds_bench_cycles(r, r->stage_ms[MDS_T_SPREAD] + r->stage_ms[MDS_T_GATHER]) / atoms;
    f->fft = mds_bench_cycles(r, r->stage_ms[MDS_T_FFT]) / atoms;
    f->solve = mds_bench_cycles(r, r->stage_ms[MDS_T_SOLVE]) / atoms;
    f->bonded = mds_bench_cycles(r, r->stage_ms[MDS_T_BONDED]) / atoms;
    f->move = mds_bench_cycles(r, r->stage_ms[MDS_T_MOVE]) / atoms;
    f->search = mds_bench_cycles(r, r->stage_ms[MDS_T_SEARCH]) / atoms;
    f->sums = mds_bench_cycles(r, r->stage_ms[MDS_T_BEGIN] + r->stage_ms[MDS_T_FINISH]) / atoms;
    f->couple = mds_bench_cycles(r, r->stage_ms[MDS_T_COUPLE]) / atoms;
    f->whole = mds_bench_cycles(r, r->ms_per_step) / atoms;
}

static void print_stages(const bench_case *c)
{
    const mds_bench_result *r = &c->r;
    bench_figures           f;
    char                    text[64];
    double                  known = 0;
    int                     k;

    if (r->queued) {
        mds_print("\n%s: stages are not timed: on \"%s\" the host only queues them\n", c->name, r->backend);
        return;
    }
    bench_kernel_figures(r, &f);
    mds_print("\n%s: stages, ms a step\n", c->name);
    for (k = MDS_T_SEARCH; k < MDS_N_TIMERS; k++) {
        if (!(r->stage_ms[k] > 0)) continue;
        mds_print("  %-14s %9.4f %6.1f %%%s\n", mds_timer_name((mds_timer)k), r->stage_ms[k], 100 * r->stage_ms[k] / r->ms_per_step,
                  k == MDS_T_PRUNE ? "  (inside pair)" : "");
        if (k != MDS_T_PRUNE) known += r->stage_ms[k];
    }
    mds_print("  %-14s %9.4f %6.1f %%\n", "rest", r->ms_per_step - known, 100 * (1 - known / r->ms_per_step));
    mds_print("%s: core cycles (seconds x measured clock x threads)\n", c->name);
    if (r->list.inner > 0) {
        figure("pair slots an atom", f.slots, "");
        figure("pair slots of the outer list an atom", (double)r->list.outer / r->n_atoms, "");
        figure("efficiency: pairs within the cut-off a slot", f.efficiency, "");
        figure("pair, without pruning, a slot", f.per_slot, "cycles");
        figure("pair, without pruning, a useful pair", f.per_pair, "cycles");
        figure("pruning", f.prune, "cycles/atom");
    }
    if (r->order) {
        snprintf(text, sizeof text, "splines, spread, gather at order %d", r->order);
        figure(text, f.spread_gather, "cycles/atom");
        figure("FFT, both ways", f.fft, "cycles/atom");
        figure("solve", f.solve, "cycles/atom");
    }
    if (f.bonded > 0.5) figure("bonded", f.bonded, "cycles/atom");
    figure("constraints and update", f.move, "cycles/atom");
    figure("search, amortised", f.search, "cycles/atom");
    figure("clearing and summing forces", f.sums, "cycles/atom");
    figure("coupling", f.couple, "cycles/atom");
    figure("whole step", f.whole, "cycles/atom");
    mds_print("  lists: one in %.1f steps", r->searches_per_step > 0 ? 1 / r->searches_per_step : 0);
    mds_print("; %lld of the timed ones because atoms had moved too far\n", (long long)r->trips);
    if (!isnan(r->roofline))
        mds_print("  roofline: the pair stage does %.0f %% of the measured peak of %.0f Gflop/s, at %d flop a useful pair\n", 100 * r->roofline,
                  1e-9 * r->peak_flops, MDS_BENCH_PAIR_FLOPS);
}

// ---------------------------------------------------------------------------------------------------- JSON

static void add_number(mds_text *out, const char *name, double value)
{
    if (isfinite(value))
        mds_text_add(out, ", \"%s\": %.8g", name, value);
    else
        mds_text_add(out, ", \"%s\": null", name);
}

static void add_word(mds_text *out, const char *name, const char *word)
{
    mds_text_add(out, ", \"%s\": ", name);
    mds_text_add_json(out, word);
}

static void add_figures(const mds_bench_result *r, mds_text *out)
{
    bench_figures f;

    bench_kernel_figures(r, &f);
    mds_text_add(out, ",\n    \"kernels\": { \"unit\": \"core cycles\"");
    add_number(out, "slots_per_atom", f.slots);
    add_number(out, "efficiency", f.efficiency);
    add_number(out, "cycles_per_slot", f.per_slot);
    add_number(out, "cycles_per_useful_pair", f.per_pair);
    add_number(out, "prune", f.prune);
    mds_text_add(out, ", \"order\": %d", r->order);
    add_number(out, "spline_spread_gather", f.spread_gather);
    add_number(out, "fft", f.fft);
    add_number(out, "solve", f.solve);
    add_number(out, "bonded", f.bonded);
    add_number(out, "constraints_update", f.move);
    add_number(out, "search_amortised", f.search);
    add_number(out, "sums", f.sums);
    add_number(out, "whole_step", f.whole);
    add_number(out, "roofline", r->roofline);
    add_number(out, "peak_gflops", 1e-9 * r->peak_flops);
    mds_text_add(out, " }");
}

static void add_case(const bench_case *c, const char *date, mds_text *out)
{
    const mds_bench_result *r = &c->r;
    const char             *sep = " ";
    int                     k;

    mds_text_add(out, "  { \"case\": ");
    mds_text_add_json(out, c->name);
    mds_text_add(out, ", \"n_atoms\": %d", r->n_atoms);
    add_word(out, "backend", r->backend);
    add_word(out, "device", r->device);
    mds_text_add(out, ", \"threads\": %d, \"ranks\": 1", r->threads);
    add_number(out, "dt_fs", r->dt_fs);
    add_number(out, "ms_per_step", r->ms_per_step);
    add_number(out, "ns_per_day", r->ns_per_day);
    add_number(out, "core_ns_per_atom_step", r->core_ns);
    add_number(out, "force_error", r->order ? r->force_error : NAN);
    add_word(out, "force_error_basis", r->order ? "estimated" : "none");
    add_number(out, "drift_kj_mol_ns_atom", r->drift);
    mds_text_add(out, ",\n    \"stages\": {");
    for (k = MDS_T_SEARCH; k < MDS_N_TIMERS; k++) {
        if (!(r->stage_ms[k] > 0)) continue;
        mds_text_add(out, "%s\"%s\": %.6g", sep, mds_timer_name((mds_timer)k), r->stage_ms[k]);
        sep = ", ";
    }
    mds_text_add(out, " }");
    add_figures(r, out);
    add_number(out, "energy_wh_per_ns", r->wh_per_ns);
    add_number(out, "power_w", r->watt);
    add_number(out, "sm_clock_mhz", r->sm_mhz);
    mds_text_add(out, ",\n    \"repeats\": %d, \"steps\": %lld", r->repeats, (long long)r->steps);
    add_number(out, "ms_per_step_best", r->ms_best);
    add_number(out, "spread", r->spread);
    add_word(out, "isa", r->isa);
    add_number(out, "clock_ghz", r->clock_ghz);
    add_number(out, "cutoff_nm", r->cutoff);
    add_number(out, "mesh_points", r->points);
    add_word(out, "choices", r->choices);
    add_number(out, "setup_s", r->setup_s);
    add_number(out, "tune_s", r->tune_s);
    add_number(out, "first_step_s", r->first_step_s);
    add_number(out, "peak_memory_bytes", r->peak_bytes);
    add_word(out, "version", MDS_VERSION);
    add_word(out, "date", date);
    mds_text_add(out, " }");
}

void bench_date(char *out, size_t size)
{
    const time_t now = time(NULL);
    struct tm    utc;

    gmtime_r(&now, &utc);
    strftime(out, size, "%Y-%m-%d", &utc);
}

static mds_status write_json(const char *path, const bench_case *c, int n)
{
    mds_text   text = {0};
    char       date[16];
    mds_status status;
    int        k;

    bench_date(date, sizeof date);
    mds_text_add(&text, "[\n");
    for (k = 0; k < n; k++) {
        add_case(&c[k], date, &text);
        mds_text_add(&text, k + 1 < n ? ",\n" : "\n");
    }
    mds_text_add(&text, "]\n");
    status = text.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : mds_file_write(path, text.s, text.n);
    mds_text_free(&text);
    return status;
}

// --------------------------------------------------------------------------------------------------- whole

static mds_status report(const bench_options *o, const bench_case *c, int n)
{
    int k;

    if (!o->json || strcmp(o->json, "-")) {
        if (n) print_foot(c, n);
        for (k = 0; k < n && o->stages; k++) print_stages(&c[k]);
    }
    if (o->compare) MDS_TRY(bench_compare(o->compare, c, n, !o->json || strcmp(o->json, "-")));
    if (o->html) MDS_TRY(bench_page(o, c, n));
    if (o->json) MDS_TRY(write_json(o->json, c, n));
    return o->calibrate ? bench_calibration(o, c, n) : MDS_OK;
}

mds_status mds_cli_bench(const cli_options *words)
{
    static const int32_t usual[] = {3000, 24000, 96000}, calibrating[] = {3000, 12000, 48000, 192000};
    bench_options        o;
    bench_case          *c = NULL;
    const bool           table = true;
    mds_status           status = MDS_OK;
    int                  n, k;

    MDS_TRY(parse(words->n_words, words->words, &o));
    if (!o.input && !o.n_sizes) {
        o.n_sizes = o.calibrate ? 4 : 3;
        memcpy(o.size, o.calibrate ? calibrating : usual, (size_t)o.n_sizes * sizeof *o.size);
    }
    if (o.calibrate && o.system) MDS_CHECK(!strcmp(o.system, "water"), MDS_E_USAGE, "--calibrate measures water, not %s", o.system);
    if (o.calibrate) MDS_CHECK(o.n_sizes >= 2, MDS_E_USAGE, "--calibrate needs two sizes or more: a cost is a line through them");
    n = o.input ? 1 : o.n_sizes;
    MDS_TRY(mds_alloc(&c, (size_t)n, sizeof *c));
    if (table && (!o.json || strcmp(o.json, "-"))) print_head();
    for (k = 0; k < n && status == MDS_OK; k++) {
        status = bench_case_run(&o, o.input ? 0 : o.size[k], &c[k]);
        if (status == MDS_OK && (!o.json || strcmp(o.json, "-"))) {
            print_case(&c[k]);
            status = mds_print_flush();
        }
    }
    if (status == MDS_OK) status = report(&o, c, n);
    mds_free(c);
    return status;
}
