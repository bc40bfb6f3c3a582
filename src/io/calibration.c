// SPDX-License-Identifier: Apache-2.0
// Calibration files: what `mdsim bench --calibrate` measured on a machine, for the planner. Format: docs/calibration.md.
//
// The file is written by us but lies in the user's hands: whatever is missing, of another type or out of range is refused
// with its name, and names that we do not know are skipped, so that later versions may say more.
#include "io/io.h"

#include "io/config.h"

#include <libconfig.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT = 1, MAX_CASES = 256 };

static void add_number(mds_text *out, const char *name, double value)
{
    mds_text_add(out, "%s = ", name);
    mds_key_number(value, out);
    mds_text_add(out, "; ");
}

/// A word as libconfig text: quotes, backslashes and control characters cannot break out.
static void add_word(mds_text *out, const char *name, const char *word)
{
    mds_text_add(out, "%s = \"", name);
    for (; *word; word++) {
        if (*word == '"' || *word == '\\') mds_text_add(out, "\\");
        mds_text_add(out, "%c", (unsigned char)*word < 32 ? ' ' : *word);
    }
    mds_text_add(out, "\"; ");
}

static void write_case(const mds_calibration_case *c, bool last, mds_text *out)
{
    int k;

    mds_text_add(out, "  { ");
    add_word(out, "system", c->system);
    mds_text_add(out, "atoms = %d; ", c->atoms);
    add_number(out, "pairs", c->pairs);
    add_number(out, "points", c->points);
    mds_text_add(out, "order = %d; ", c->order);
    add_number(out, "cutoff", c->cutoff);
    add_number(out, "force_error", c->force_error);
    add_number(out, "dt_fs", c->dt_fs);
    add_number(out, "ms_per_step", c->ms_per_step);
    add_number(out, "spread", c->spread);
    mds_text_add(out, "\n    stages = { ");
    for (k = 0; k < MDS_N_WORK_STAGES; k++)
        if (c->stage_ms[k] > 0) add_number(out, mds_work_stage_name(k), c->stage_ms[k]);
    mds_text_add(out, "}; }%s\n", last ? "" : ",");
}

mds_status mds_calibration_write(const char *path, const mds_calibration *c)
{
    mds_text   text = {0};
    mds_status status;
    int32_t    k;

    mds_text_add(&text, "// measured by mdsim bench --calibrate; meaning and units: docs/calibration.md\nformat = %d;\n", FORMAT);
    add_word(&text, "program", c->program);
    add_word(&text, "date", c->date);
    mds_text_add(&text, "\nmachine = { ");
    add_word(&text, "instance", c->instance);
    add_word(&text, "cpu", c->cpu);
    add_word(&text, "device", c->device);
    add_word(&text, "backend", c->backend);
    add_word(&text, "isa", c->isa);
    mds_text_add(&text, "cores = %d; threads = %d; ", c->cores, c->threads);
    add_number(&text, "clock_ghz", c->clock_ghz);
    add_number(&text, "memory_gib", c->memory_gib);
    mds_text_add(&text, "};\nmemory = { ");
    add_number(&text, "fixed_mib", c->fixed_mib);
    add_number(&text, "bytes_per_atom", c->bytes_per_atom);
    mds_text_add(&text, "};\ncases = (\n");
    for (k = 0; k < c->n_cases; k++) write_case(&c->cases[k], k + 1 == c->n_cases, &text);
    mds_text_add(&text, ");\ncosts = (\n");
    for (k = 0; k < c->n_costs; k++) {
        mds_text_add(&text, "  { ");
        add_word(&text, "stage", mds_work_stage_name(c->cost[k].stage));
        add_word(&text, "work", mds_work_unit_name(c->cost[k].work));
        add_number(&text, "fixed_us", c->cost[k].fixed_us);
        add_number(&text, "ns", c->cost[k].ns);
        add_number(&text, "error", c->cost[k].error);
        mds_text_add(&text, "}%s\n", k + 1 == c->n_costs ? "" : ",");
    }
    mds_text_add(&text, ");\n");
    status = text.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : mds_file_write(path, text.s, text.n);
    mds_text_free(&text);
    return status;
}

// ------------------------------------------------------------------------------------------------- names

static const char *const stages[MDS_N_WORK_STAGES] = {"pair", "search", "spread", "fft", "solve", "gather", "move", "bonded", "other"};
static const char *const units[] = {"atoms", "pairs", "points"};

const char *mds_work_stage_name(int stage)
{
    return stages[stage];
}

const char *mds_work_unit_name(mds_work_unit unit)
{
    return units[unit];
}

// ----------------------------------------------------------------------------------------------- reading

/// Where a group is read from, and the first thing that was wrong with it.
typedef struct {
    const char             *path;
    const config_setting_t *group;
    mds_status              status;
} source;

static void wrong(source *s, const char *name, const char *what)
{
    if (s->status != MDS_OK) return;
    s->status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s:%d: %s %s: not a calibration of this version; measure again with mdsim bench --calibrate",
                         s->path, s->group ? config_setting_source_line(s->group) : 0, name, what);
}

static double number(source *s, const char *name, double low, double high)
{
    const config_setting_t *at = s->group ? config_setting_get_member(s->group, name) : NULL;
    double                  value = NAN;

    if (at && config_setting_type(at) == CONFIG_TYPE_INT) value = config_setting_get_int(at);
    if (at && config_setting_type(at) == CONFIG_TYPE_INT64) value = (double)config_setting_get_int64(at);
    if (at && config_setting_type(at) == CONFIG_TYPE_FLOAT) value = config_setting_get_float(at);
    if (!(value >= low && value <= high)) {
        wrong(s, name, at ? "is no number or out of range" : "is missing");
        return low;
    }
    return value;
}

static void word(source *s, const char *name, char *out, size_t size)
{
    const char *value = NULL;

    if (!s->group || config_setting_lookup_string(s->group, name, &value) != CONFIG_TRUE) wrong(s, name, "is missing or no text");
    snprintf(out, size, "%s", value ? value : "");
}

static void read_case(source *s, mds_calibration_case *c)
{
    const config_setting_t *at = config_setting_get_member(s->group, "stages");
    source                  inner = {s->path, at, MDS_OK};
    int                     k;

    word(s, "system", c->system, sizeof c->system);
    c->atoms = (int32_t)number(s, "atoms", 1, INT32_MAX);
    c->pairs = number(s, "pairs", 0, 1e15);
    c->points = number(s, "points", 0, 1e12);
    c->order = (int32_t)number(s, "order", 0, 16);
    c->cutoff = number(s, "cutoff", 0, 100);
    c->force_error = number(s, "force_error", 0, 1e6);
    c->dt_fs = number(s, "dt_fs", 1e-6, 1e3);
    c->ms_per_step = number(s, "ms_per_step", 1e-9, 1e9);
    c->spread = number(s, "spread", 0, 1e3);
    for (k = 0; k < MDS_N_WORK_STAGES; k++)
        if (at && config_setting_get_member(at, stages[k])) c->stage_ms[k] = number(&inner, stages[k], 0, 1e9);
    if (s->status == MDS_OK) s->status = inner.status;
}

static void read_cost(source *s, mds_stage_cost *c)
{
    char stage[16] = "", unit[16] = "";
    int  k;

    word(s, "stage", stage, sizeof stage);
    word(s, "work", unit, sizeof unit);
    c->stage = -1;
    for (k = 0; k < MDS_N_WORK_STAGES; k++)
        if (!strcmp(stage, stages[k])) c->stage = k;
    for (k = 0; k < (int)(sizeof units / sizeof *units); k++)
        if (!strcmp(unit, units[k])) break;
    c->work = (mds_work_unit)k;
    if (k == (int)(sizeof units / sizeof *units)) wrong(s, "work", "is none of atoms, pairs, points");
    c->fixed_us = number(s, "fixed_us", 0, 1e9);
    c->ns = number(s, "ns", 1e-12, 1e12);
    c->error = number(s, "error", 0, 1e6);
}

static const config_setting_t *list_of(source *s, const config_setting_t *root, const char *name, int most)
{
    const config_setting_t *list = config_setting_get_member(root, name);

    s->group = root;
    if (!list || !config_setting_is_list(list) || config_setting_length(list) > most) {
        wrong(s, name, "is missing, no list or too long");
        return NULL;
    }
    return list;
}

static mds_status read_root(const char *path, const config_setting_t *root, mds_calibration *c)
{
    source                  s = {path, root, MDS_OK};
    const config_setting_t *list;
    int                     k;

    if (number(&s, "format", 0, 1e6) != FORMAT) wrong(&s, "format", "is another one");
    word(&s, "program", c->program, sizeof c->program);
    word(&s, "date", c->date, sizeof c->date);
    s.group = config_setting_get_member(root, "machine");
    word(&s, "instance", c->instance, sizeof c->instance);
    word(&s, "cpu", c->cpu, sizeof c->cpu);
    word(&s, "device", c->device, sizeof c->device);
    word(&s, "backend", c->backend, sizeof c->backend);
    word(&s, "isa", c->isa, sizeof c->isa);
    c->cores = (int32_t)number(&s, "cores", 1, 1 << 20);
    c->threads = (int32_t)number(&s, "threads", 1, 1 << 20);
    c->clock_ghz = number(&s, "clock_ghz", 0, 100);
    c->memory_gib = number(&s, "memory_gib", 0, 1e9);
    s.group = config_setting_get_member(root, "memory");
    c->fixed_mib = number(&s, "fixed_mib", 0, 1e9);
    c->bytes_per_atom = number(&s, "bytes_per_atom", 0, 1e9);
    list = list_of(&s, root, "cases", MAX_CASES);
    if (list && s.status == MDS_OK) s.status = mds_alloc(&c->cases, (size_t)config_setting_length(list), sizeof *c->cases);
    for (k = 0; list && s.status == MDS_OK && k < config_setting_length(list); k++) {
        s.group = config_setting_get_elem(list, (unsigned)k);
        read_case(&s, &c->cases[k]);
        c->n_cases = k + 1;
    }
    list = s.status == MDS_OK ? list_of(&s, root, "costs", MAX_CASES) : NULL;
    for (k = 0; list && s.status == MDS_OK && k < config_setting_length(list); k++) {
        mds_stage_cost cost = {0};

        s.group = config_setting_get_elem(list, (unsigned)k);
        read_cost(&s, &cost);
        if (cost.stage >= 0 && c->n_costs < MDS_N_WORK_STAGES) c->cost[c->n_costs++] = cost; // a later version may know more stages
    }
    return s.status;
}

mds_status mds_calibration_read(const char *path, mds_calibration *out)
{
    config_t   tree;
    char      *text;
    size_t     n;
    mds_status status;

    memset(out, 0, sizeof *out);
    MDS_TRY(mds_file_read(path, &text, &n));
    config_init(&tree);
    if (strlen(text) != n || strstr(text, "@include") || config_read_string(&tree, text) != CONFIG_TRUE)
        status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s:%d: not a calibration: %s", path, config_error_line(&tree),
                          config_error_text(&tree) ? config_error_text(&tree) : "not a text of settings");
    else
        status = read_root(path, config_root_setting(&tree), out);
    config_destroy(&tree);
    mds_free(text);
    if (status != MDS_OK) mds_calibration_free(out);
    return status;
}

void mds_calibration_free(mds_calibration *c)
{
    mds_free(c->cases);
    memset(c, 0, sizeof *c);
}
