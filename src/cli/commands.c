// SPDX-License-Identifier: Apache-2.0
// The subcommands around one input: run, check, explain, energy; and info, document.
#include "cli/cli.h"

#include "base/units.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

typedef mds_status (*sim_action)(mds_sim *, const cli_options *);

/// Read the conf, set the simulation up, act, and take everything down again.
static mds_status with_sim(const cli_options *o, bool dynamics, sim_action action)
{
    mds_config config = {0};
    mds_sim    sim = {0};
    mds_status status = mds_config_read(strcmp(o->input, "-") ? o->input : NULL, o->set, o->n_set, &config);

    if (status == MDS_OK) status = mds_sim_setup(&sim, &config, dynamics);
    if (status == MDS_OK) status = action(&sim, o);
    mds_sim_close(&sim);
    mds_config_free(&config);
    return status;
}

static mds_status do_run(mds_sim *s, const cli_options *o)
{
    return mds_sim_run(s, o->restart);
}

mds_status mds_cli_run(const cli_options *o)
{
    mds_signals_install(); // the other commands end by a signal like any program
    return with_sim(o, true, do_run);
}

static void print_system(const mds_sim *s)
{
    const mds_system *m = &s->system;
    const mds_box    *b = &s->start.box;

    if (s->read_report.text) mds_print("%s\n", s->read_report.text);
    mds_print("atoms %d, molecules %d, net charge %+.4f e\n", m->n_atoms, m->n_molecules, m->total_charge);
    mds_print("rigid waters %d, X-H clusters %d, other constraints %d, virtual sites %d, degrees of freedom %.0f\n", m->water.n,
              m->cluster.n, m->link.n, m->vsite.n, s->n_degrees);
    if (mds_box_is_none(b)) {
        mds_print("box: none\n");
    } else {
        const double ab = mds_dot(b->a[0], b->a[1]) / (mds_norm(b->a[0]) * mds_norm(b->a[1]));
        const double ac = mds_dot(b->a[0], b->a[2]) / (mds_norm(b->a[0]) * mds_norm(b->a[2]));
        const double bc = mds_dot(b->a[1], b->a[2]) / (mds_norm(b->a[1]) * mds_norm(b->a[2]));

        mds_print("box: lengths %.6f %.6f %.6f nm, angles %.4f %.4f %.4f degrees, volume %.4f nm^3\n", mds_norm(b->a[0]),
                  mds_norm(b->a[1]), mds_norm(b->a[2]), acos(bc) * 180 / MDS_PI, acos(ac) * 180 / MDS_PI, acos(ab) * 180 / MDS_PI,
                  mds_box_volume(b));
    }
}

static mds_status do_check(mds_sim *s, const cli_options *o)
{
    // where outputs go, then opening the device, are the last things a run could refuse
    MDS_TRY(mds_output_name(s));
    MDS_TRY(mds_sim_open(s));
    print_system(s);
    mds_print("%s: a run would start (%d warning%s)\n", o->input, mds_log_n_warnings(), mds_log_n_warnings() == 1 ? "" : "s");
    return MDS_OK;
}

mds_status mds_cli_check(const cli_options *o)
{
    return with_sim(o, true, do_check);
}

static mds_status do_explain(mds_sim *s, const cli_options *o)
{
    mds_text value = {0};
    int      k;

    (void)o;
    for (k = 0; k < mds_config_n_keys(); k++) {
        const char *name = mds_config_key_name(k), *zero = mds_config_key_zero(k);

        value.n = 0;
        mds_config_value(s->config, k, &value);
        if (value.failed || strspn(value.s, "[0., ]") < value.n) zero = NULL;
        mds_print("%-28s = %-24s %-12s # %s%s%s%s\n", name, value.n ? value.s : "", mds_config_key_unit(k),
                  mds_config_origin(s->config, name), zero ? " (" : "", zero ? zero : "", zero ? ")" : "");
    }
    mds_text_free(&value);
    mds_print("\n");
    print_system(s);
    MDS_TRY(mds_sim_tune(s, MDS_TUNE_LOOK));
    MDS_TRY(mds_sim_open(s));
    mds_print("backend: %s (%s)\n", s->be->describe(s->dev), s->choices.backend_reason);
    mds_print("%s", s->choices.text.s ? s->choices.text.s : "");
    if (s->params.coulomb == MDS_COULOMB_PME) mds_print("estimated force error: %.4g kJ/mol/nm (rms over atoms)\n", s->choices.force_error);
    return MDS_OK;
}

mds_status mds_cli_explain(const cli_options *o)
{
    return with_sim(o, true, do_explain);
}

/// The name to write in the JSON: beside it as a bare name, elsewhere as an absolute path.
static mds_status forces_name(const char *forces, const char *json, char **out)
{
    const char *slash_f = strrchr(forces, '/'), *slash_j = json ? strrchr(json, '/') : NULL;
    const size_t dir_f = slash_f ? (size_t)(slash_f - forces) : 0, dir_j = slash_j ? (size_t)(slash_j - json) : 0;
    char          whole[PATH_MAX];

    if (dir_f == dir_j && !strncmp(forces, json ? json : "", dir_f)) return mds_copy_text(out, slash_f ? slash_f + 1 : forces, SIZE_MAX);
    return mds_copy_text(out, realpath(forces, whole) ? whole : forces, SIZE_MAX);
}

static void print_energies(const mds_sim *s)
{
    const double volume = mds_box_volume(&s->frame.box);
    double       trace = 0;
    int          k;

    for (k = 0; k < MDS_N_ENERGY; k++)
        if (s->frame.energy[k] != 0) mds_print("%-20s %18.6f kJ/mol\n", mds_energy_name((mds_energy)k), s->frame.energy[k]);
    mds_print("%-20s %18.6f kJ/mol\n", "potential", mds_frame_potential(&s->frame));
    for (k = 0; k < 3; k++) trace += s->frame.virial[k][k];
    if (volume > 0) mds_print("%-20s %18.6f bar (configurational)\n", "pressure", -2 * trace / (3 * volume) * MDS_BAR);
}

static mds_status do_energy(mds_sim *s, const cli_options *o)
{
    mds_text   json = {0};
    char      *name = NULL;
    mds_status status = mds_single_point(s);

    if (status == MDS_OK && o->forces) {
        status = mds_npy_write(o->forces, (const double(*)[3])s->frame.f, s->system.n_atoms);
        if (status == MDS_OK) status = forces_name(o->forces, o->json, &name);
    }
    if (status == MDS_OK && o->json) {
        mds_energy_json(s, name, &json);
        status = mds_file_write(o->json, json.s, json.n);
    }
    if (status == MDS_OK && (!o->json || strcmp(o->json, "-"))) print_energies(s);
    mds_text_free(&json);
    mds_free(name);
    return status;
}

mds_status mds_cli_energy(const cli_options *o)
{
    return with_sim(o, false, do_energy);
}

/// Words separated by blanks as a JSON list of strings.
static void add_words(mds_text *out, const char *words)
{
    const char *sep = "";

    mds_text_add(out, "[");
    while (*words) {
        const size_t n = strcspn(words, " ");

        mds_text_add(out, "%s\"%.*s\"", sep, (int)n, words);
        words += n + strspn(words + n, " ");
        sep = ", ";
    }
    mds_text_add(out, "]");
}

/// GPUs that answer, and a text about GPU k or why there is none.
static int n_gpus(int k, char *text, size_t size)
{
    const mds_backend *gpu;

    if (mds_backend_find("cuda", &gpu) == MDS_OK || mds_backend_find("emu", &gpu) == MDS_OK) return gpu->devices(k, text, size);
    snprintf(text, size, "no GPU backend in this build");
    return 0;
}

static mds_status info_json(const cli_options *o, int cores)
{
    char               about[160];
    mds_text           text = {0};
    const mds_backend *be;
    mds_status         status;
    int                k;

    mds_text_add(&text, "{ \"program\": \"mdsim %s\", \"compiler\": ", MDS_VERSION);
    mds_text_add_json(&text, COMPILER);
    mds_text_add(&text, ",\n  \"backends\": {");
    for (k = 0; (be = mds_backend_at(k)); k++) {
        mds_text_add(&text, "%s\"%s\": ", k ? ", " : " ", be->name);
        add_words(&text, be->flavours());
    }
    mds_text_add(&text, " },\n  \"cpu_levels\": ");
    if (mds_backend_find("cpu", &be) == MDS_OK) add_words(&text, be->flavours());
    mds_text_add(&text, ",\n  \"threads\": %d, \"gpus\": [", cores);
    for (k = 0; k < n_gpus(k, about, sizeof about); k++) {
        mds_text_add(&text, "%s", k ? ", " : "");
        mds_text_add_json(&text, about);
    }
    mds_text_add(&text, "], \"mpi\": null }\n");
    status = text.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : mds_file_write(o->json, text.s, text.n);
    mds_text_free(&text);
    return status;
}

mds_status mds_cli_info(const cli_options *o)
{
    const int          cores = mds_cores_here();
    const mds_backend *be;
    char               about[160];
    int                k;

    if (o->json) return info_json(o, cores);
    mds_print("mdsim %s%s, compiled with %s\n", MDS_VERSION, CLI_MINIMAL ? " (minimal build: energy, bench, info)" : "", COMPILER);
    for (k = 0; (be = mds_backend_at(k)); k++) mds_print("backend %s: %s\n", be->name, be->flavours());
    mds_print("threads: %d (cores this process may use)\n", cores);
    for (k = 0; k < n_gpus(k, about, sizeof about); k++) mds_print("GPU %d: %s\n", k, about);
    if (k == 0) mds_print("GPUs: none (%s)\n", about);
    mds_print("MPI: none (one rank)\n");
    return MDS_OK;
}

mds_status mds_cli_document(const cli_options *o)
{
    mds_text   text = {0};
    mds_status status;

    (void)o;
    mds_config_document(&text);
    status = mds_file_write("-", text.s, text.n);
    mds_text_free(&text);
    return status;
}
