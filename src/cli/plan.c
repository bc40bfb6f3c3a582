// SPDX-License-Identifier: Apache-2.0
// mdsim plan: its words, from a conf or a number of atoms to a request; the answer to the terminal and to files.
#include "cli/cli.h"

#include "base/units.h"
#include "plan/plan.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { MAX_PRICES = 32 };

/// What the words of the command line say, as they stand.
typedef struct {
    const char *input, *atoms, *cutoff, *dt, *ensemble, *coulomb, *density, *trajectory_every;
    const char *ns_per_day, *max_price, *length, *budget, *deadline, *replicas, *reserved, *interruptions, *restart;
    const char *provider, *regions, *as_of, *objective, *security, *device, *ranks;
    const char *tables, *prices_as_of, *calibration, *json, *plot, *top;
    const char *pick, *emit, *out, *profile;
    const char *prices[MAX_PRICES], *set[CLI_MAX_SET];
    int         n_prices, n_set;
    bool        spot, force;
} words;

#define WORD(name, field) {name, offsetof(words, field)}
static const struct {
    const char *name;
    size_t      field;
} value_words[] = {WORD("--atoms", atoms), WORD("--cutoff", cutoff), WORD("--dt", dt), WORD("--ensemble", ensemble), WORD("--coulomb", coulomb),
                   WORD("--density", density), WORD("--trajectory-every", trajectory_every), WORD("--ns-per-day", ns_per_day),
                   WORD("--max-price", max_price), WORD("--length", length), WORD("--budget", budget), WORD("--deadline", deadline),
                   WORD("--replicas", replicas), WORD("--reserved", reserved), WORD("--interruptions", interruptions), WORD("--restart-time", restart),
                   WORD("--provider", provider), WORD("--only-regions", regions), WORD("--as-of", as_of), WORD("--objective", objective),
                   WORD("--security", security), WORD("--device", device), WORD("--ranks", ranks), WORD("--tables", tables), WORD("--prices-as-of", prices_as_of), WORD("--calibration", calibration),
                   WORD("--json", json), WORD("--plot", plot), WORD("--top", top), WORD("--pick", pick), WORD("--emit", emit), WORD("--out", out), WORD("--profile", profile)};
enum { N_VALUE_WORDS = sizeof value_words / sizeof value_words[0] };

static const char plan_help[] =
    "usage: mdsim plan input.conf|--atoms N [options]        which machine, at which price; no network\n\n"
    "what is to be run (a conf says all of it):\n"
    "  --atoms N            92000, 92k or 1.1M; with --cutoff 0.9 (nm), --dt 4fs, --ensemble nve|nvt|npt,\n"
    "                       --coulomb pme|reaction-field, --density 100 (atoms/nm^3), --trajectory-every 5000\n"
    "  --set key=value      override a key of the conf\n"
    "what is wanted:\n"
    "  --ns-per-day X       speed of each trajectory (held against the low end of the prediction)\n"
    "  --max-price X        $/h of the machine;  --budget X: $ for everything;  --deadline 3d|12h\n"
    "  --length 1us|500ns   of each trajectory;  --replicas N: independent trajectories\n"
    "  --objective cheapest|fastest   order of the table; fastest if only a price or budget is limited\n"
    "which machines:\n"
    "  --provider aws,gcp   --only-regions us-east-1,eu-*   --security open|private\n"
    "  --device any|cpu|gpu   --ranks N: at most N GPUs for one run\n"
    "  --spot               spot prices too; --interruptions 0.05 (an hour), --restart-time 5m\n"
    "  --reserved 0.4       reserved prices too, at that discount\n"
    "  --force              take prices that are not believed\n"
    "where facts come from:\n"
    "  --prices PROVIDER=FILE   our CSV or a SkyPilot vms.csv, in place of the built-in rows; --prices-as-of DATE\n"
    "  --as-of DATE         the day of the plan (today)\n"
    "  --tables DIR         other tables and calibrations than the installed ones (launch files stay the installed ones)\n"
    "  --calibration FILE   of mdsim bench --calibrate, in place of those\n"
    "the answer:\n"
    "  --top N              rows of the table (15);  --json FILE;  --plot FILE.html|FILE.svg\n"
    "launch files for one of them (docs/cloud-launch.md):\n"
    "  --pick RANK|INSTANCE --emit skypilot|slurm|kubernetes|dstack --out DIR [--profile FILE]\n";

static void add_list(const char *const *word, mds_text *out)
{
    int k;

    for (k = 0; word[k]; k++) mds_text_add(out, "%s%s", k ? ", " : "", word[k]);
}

/// Fail with a message that ends in the list of words that would do.
static mds_status refuse_word(const char *option, const char *text, const char *what, const char *const *known)
{
    mds_text   list = {0};
    mds_status status;

    add_list(known, &list);
    status = mds_fail(MDS_E_USAGE, __FILE__, __LINE__, "%s: '%s' %s: %s", option, text, what, list.s ? list.s : "");
    mds_text_free(&list);
    return status;
}

/// A number with an optional unit of a list "name factor ..."; without a unit the factor is 1.
static mds_status with_unit(const char *option, const char *text, const char *const *unit, const double *factor, double *out)
{
    char *end;
    int   k;

    *out = strtod(text, &end);
    MDS_CHECK(end != text && isfinite(*out) && *out >= 0, MDS_E_USAGE, "%s: '%s' is no number of 0 or more", option, text);
    if (!*end) return MDS_OK;
    for (k = 0; unit && unit[k]; k++)
        if (!strcmp(end, unit[k])) {
            *out *= factor[k];
            return MDS_OK;
        }
    MDS_CHECK(unit, MDS_E_USAGE, "%s: '%s' is no number: '%s' stands behind it", option, text, end);
    return refuse_word(option, text, "has an unknown unit; known are", unit);
}

static mds_status plain(const char *option, const char *text, double *out)
{
    return text ? with_unit(option, text, NULL, NULL, out) : MDS_OK;
}

/// What is limited or wanted must be something: a budget of 0 would be no guard at all in a launch file.
static mds_status above_zero(const char *option, double value)
{
    MDS_CHECK(isnan(value) || value > 0, MDS_E_USAGE, "%s: must be above 0", option);
    return MDS_OK;
}

static mds_status length_of(const char *text, double *ns)
{
    static const char *const units[] = {"fs", "ps", "ns", "us", "ms", NULL};
    static const double      factors[] = {1e-6, 1e-3, 1, 1e3, 1e6};

    return text ? with_unit("--length", text, units, factors, ns) : MDS_OK;
}

static mds_status hours_of(const char *option, const char *text, double *hours)
{
    static const char *const units[] = {"s", "m", "min", "h", "d", "w", NULL};
    static const double      factors[] = {1.0 / 3600, 1.0 / 60, 1.0 / 60, 1, 24, 168};

    return text ? with_unit(option, text, units, factors, hours) : MDS_OK;
}

static mds_status count_of(const char *option, const char *text, double *n)
{
    static const char *const units[] = {"k", "K", "M", NULL};
    static const double      factors[] = {1e3, 1e3, 1e6};

    return text ? with_unit(option, text, units, factors, n) : MDS_OK;
}

/// Which of two or more words; *out keeps its value where nothing was said.
static mds_status one_of(const char *option, const char *text, const char *const *choices, int *out)
{
    int k;

    for (k = 0; text && choices[k]; k++)
        if (!strcmp(text, choices[k])) {
            *out = k;
            return MDS_OK;
        }
    return text ? refuse_word(option, text, "is none of its words", choices) : MDS_OK;
}

static mds_status read_words(int argc, char **argv, words *w)
{
    int k, i;

    for (k = 0; k < argc; k++) {
        const char *value = NULL, *word = argv[k];

        for (i = 0; i < N_VALUE_WORDS && !value; i++) {
            MDS_TRY(mds_cli_value(value_words[i].name, argc, argv, &k, &value));
            if (value) *(const char **)((char *)w + value_words[i].field) = value;
        }
        if (value) continue;
        MDS_TRY(mds_cli_value("--prices", argc, argv, &k, &value));
        if (value) {
            MDS_CHECK(w->n_prices < MAX_PRICES, MDS_E_USAGE, "more than %d price files", MAX_PRICES);
            w->prices[w->n_prices++] = value;
            continue;
        }
        MDS_TRY(mds_cli_value("--set", argc, argv, &k, &value));
        if (value) {
            MDS_CHECK(w->n_set < CLI_MAX_SET, MDS_E_USAGE, "more than %d --set options", CLI_MAX_SET);
            w->set[w->n_set++] = value;
            continue;
        }
        if (!strcmp(word, "--spot"))
            w->spot = true;
        else if (!strcmp(word, "--force"))
            w->force = true;
        else if (!strcmp(word, "--quiet"))
            mds_log_set_level(MDS_LOG_WARN);
        else if (!strcmp(word, "--verbose"))
            mds_log_set_level(MDS_LOG_DEBUG);
        else {
            MDS_CHECK(word[0] != '-', MDS_E_USAGE, "option %s is not known here; try mdsim plan --help", word);
            MDS_CHECK(!w->input, MDS_E_USAGE, "'%s' is one word too many; try mdsim plan --help", word);
            w->input = word;
        }
    }
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------- the work

static double frame_bytes(const mds_config *c, double atoms)
{
    return (12.0 * atoms) * (1 + (c->output.velocities ? 1 : 0) + (c->output.forces ? 1 : 0)) + 100; // float triples; step, time, box
}

/// From a conf: atoms, terms, mesh, list as a run would have them.
static mds_status work_of_conf(const words *w, mds_plan_request *r)
{
    mds_config     c = {0};
    mds_sim        s = {0};
    mds_status     status = mds_config_read(w->input, w->set, w->n_set, &c);
    mds_plan_work *o = &r->work;
    int            k;

    if (status == MDS_OK) status = mds_sim_setup(&s, &c, false);
    if (status == MDS_OK) {
        const mds_params *p = &s.params;
        const double      volume = mds_box_volume(&s.start.box), atoms = s.system.n_atoms;

        o->name = w->input;
        o->atoms = atoms;
        o->density = volume > 0 ? atoms / volume : 100;
        o->cut = fmax(p->cut_lj, p->cut_q);
        o->pairs = o->cut > 0 ? fmin(0.5 * atoms * (atoms - 1), atoms * o->density * 2 / 3 * MDS_PI * pow(o->cut, 3)) : 0.5 * atoms * (atoms - 1);
        if (o->cut <= 0) o->cut = 1; // every pair: no halo is ever made of this
        o->mesh_points = p->coulomb == MDS_COULOMB_PME ? (double)p->grid[0] * p->grid[1] * p->grid[2] : 0;
        o->mesh_order = o->mesh_points > 0 ? p->order : 0;
        for (k = 0; k < MDS_N_TERMS; k++) o->bonded += s.system.term[k].n;
        o->dt = p->dt;
        o->list_interval = p->list_interval;
        o->thermostat = p->thermostat != MDS_THERMOSTAT_NONE;
        o->barostat = p->barostat != MDS_BAROSTAT_NONE;
        o->frame_bytes = frame_bytes(&c, atoms);
        o->trajectory_every = (double)c.output.trajectory_every;
        o->force_error = o->mesh_points > 0 ? s.choices.force_error : NAN;
        if (isnan(r->length) && c.run.integrator != MDS_INTEGRATOR_MINIMIZE) r->length = 1e-3 * p->dt * (double)c.run.steps;
        if (r->length <= 0) r->length = NAN;
    }
    mds_sim_close(&s);
    mds_config_free(&c);
    return status;
}

/// From a number of atoms: a biomolecule in water with the defaults of a conf.
static mds_status work_of_atoms(const words *w, mds_plan_request *r)
{
    static const char *const fs[] = {"fs", "ps", NULL}, *const nm[] = {"nm", NULL};
    static const char *const ensembles[] = {"nvt", "npt", "nve", NULL}, *const kinds[] = {"pme", "reaction-field", NULL};
    static const double      ps[] = {1e-3, 1}, one[] = {1};
    mds_plan_work           *o = &r->work;
    int                      ensemble = 0, coulomb = 0;
    // What pme.force_error = 0.5 chooses for DHFR at 0.9 nm: order 5, 27 points on 6.22 nm. It follows the cut-off.
    const double spacing_of_cut = 0.256;

    *o = (mds_plan_work){.density = 100, .cut = 0.9, .dt = 0.002, .list_interval = 20, .trajectory_every = 5000, .force_error = NAN};
    MDS_TRY(count_of("--atoms", w->atoms, &o->atoms));
    MDS_TRY(w->cutoff ? with_unit("--cutoff", w->cutoff, nm, one, &o->cut) : MDS_OK);
    MDS_TRY(w->dt ? with_unit("--dt", w->dt, fs, ps, &o->dt) : MDS_OK);
    MDS_TRY(plain("--density", w->density, &o->density));
    MDS_TRY(count_of("--trajectory-every", w->trajectory_every, &o->trajectory_every));
    MDS_TRY(one_of("--ensemble", w->ensemble, ensembles, &ensemble));
    MDS_TRY(one_of("--coulomb", w->coulomb, kinds, &coulomb));
    MDS_CHECK(o->atoms >= 1 && o->density > 0 && o->cut > 0, MDS_E_USAGE, "--atoms, --density and --cutoff must be above 0");
    o->pairs = fmin(0.5 * o->atoms * o->atoms, o->atoms * o->density * 2 / 3 * MDS_PI * pow(o->cut, 3));
    o->bonded = 0.5 * o->atoms; // DHFR in water: 12 thousand terms on 23,558 atoms
    o->thermostat = ensemble != 2;
    o->barostat = ensemble == 1;
    if (!coulomb) {
        o->mesh_points = fmax(512, o->atoms / o->density / pow(spacing_of_cut * o->cut, 3));
        o->mesh_order = 5;
    }
    o->frame_bytes = 12 * o->atoms + 100;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------- the request

static mds_status request_of(const words *w, mds_plan_request *r)
{
    static const char *const objectives[] = {"cheapest", "fastest", NULL}, *const levels[] = {"open", "private", NULL}, *const devices[] = {"any", "cpu", "gpu", NULL};
    const mds_backend       *gpu;
    double                   replicas = 1, ranks = 0;
    int                      objective, level = 0, device = 0;

    mds_plan_request_init(r);
    MDS_TRY(length_of(w->length, &r->length));
    MDS_TRY(plain("--ns-per-day", w->ns_per_day, &r->ns_per_day));
    MDS_TRY(plain("--max-price", w->max_price, &r->max_price));
    MDS_TRY(plain("--budget", w->budget, &r->budget));
    MDS_TRY(hours_of("--deadline", w->deadline, &r->deadline));
    MDS_TRY(above_zero("--length", r->length));
    MDS_TRY(above_zero("--ns-per-day", r->ns_per_day));
    MDS_TRY(above_zero("--max-price", r->max_price));
    MDS_TRY(above_zero("--budget", r->budget));
    MDS_TRY(above_zero("--deadline", r->deadline));
    MDS_TRY(plain("--replicas", w->replicas, &replicas));
    MDS_CHECK(replicas >= 1 && replicas <= 1e6 && replicas == floor(replicas), MDS_E_USAGE, "--replicas: '%s' is no whole number from 1", w->replicas);
    r->replicas = (int)replicas;
    MDS_TRY(plain("--ranks", w->ranks, &ranks));
    MDS_CHECK(ranks >= 0 && ranks <= 1024 && ranks == floor(ranks), MDS_E_USAGE, "--ranks: '%s' is no whole number", w->ranks);
    r->max_ranks = (int)ranks;
    MDS_TRY(plain("--reserved", w->reserved, &r->reserved));
    MDS_TRY(plain("--interruptions", w->interruptions, &r->interruptions));
    MDS_TRY(hours_of("--restart-time", w->restart, &r->restart));
    objective = isnan(r->ns_per_day) && (!isnan(r->max_price) || !isnan(r->budget)) ? MDS_PLAN_FASTEST : MDS_PLAN_CHEAPEST;
    MDS_TRY(one_of("--objective", w->objective, objectives, &objective));
    MDS_TRY(one_of("--security", w->security, levels, &level));
    MDS_TRY(one_of("--device", w->device, devices, &device));
    r->device = (mds_plan_device)device;
    r->objective = (mds_plan_objective)objective;
    r->security = (mds_plan_security)level;
    r->providers = w->provider;
    r->regions = w->regions;
    r->spot = w->spot;
    r->force = w->force;
    r->gpu_engine = mds_backend_find("cuda", &gpu) == MDS_OK;
    mds_error_clear();
    MDS_CHECK(!w->input || !w->atoms, MDS_E_USAGE, "give a conf or --atoms, not both");
    MDS_CHECK(w->input || w->atoms, MDS_E_USAGE, "give an input file or --atoms N; try mdsim plan --help");
    return w->atoms ? work_of_atoms(w, r) : work_of_conf(w, r);
}

static mds_status date_of(const char *option, const char *text, int *days)
{
    if (mds_plan_date(text, days) == MDS_OK) return MDS_OK;
    mds_error_prefix("%s: ", option);
    return MDS_E_USAGE;
}

static mds_status sources_of(const words *w, mds_plan_sources *s)
{
    *s = (mds_plan_sources){.directory = w->tables, .prices = w->prices, .n_prices = w->n_prices, .prices_as_of = MDS_PLAN_UNDATED,
                            .as_of = (int)(time(NULL) / 86400), .calibration = w->calibration};
    if (w->as_of) MDS_TRY(date_of("--as-of", w->as_of, &s->as_of));
    MDS_CHECK(s->as_of != MDS_PLAN_UNDATED, MDS_E_USAGE, "--as-of: '%s' is no date like 2026-11-30", w->as_of);
    if (w->prices_as_of) MDS_TRY(date_of("--prices-as-of", w->prices_as_of, &s->prices_as_of));
    return MDS_OK;
}

/// Write one of the files; "-" is standard output.
static mds_status write_text(const char *path, mds_text *text)
{
    mds_status status = text->failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for %s", path) : mds_file_write(path, text->s, text->n);

    mds_text_free(text);
    return status;
}

static mds_status answer(const words *w, const mds_plan_catalog *c, const mds_plan *p)
{
    mds_text text = {0};
    double   top = 15;
    const size_t n = w->plot ? strlen(w->plot) : 0;
    const bool   svg = n > 4 && !strcasecmp(w->plot + n - 4, ".svg"), html = n > 5 && !strcasecmp(w->plot + n - 5, ".html");

    MDS_TRY(plain("--top", w->top, &top));
    MDS_CHECK(!w->plot || svg || html || !strcmp(w->plot, "-"), MDS_E_USAGE, "--plot %s: draws FILE.html or FILE.svg", w->plot);
    if (w->json) {
        mds_plan_json(c, p, &text);
        MDS_TRY(write_text(w->json, &text));
    }
    if (w->plot) {
        mds_plan_plot(c, p, svg, &text);
        MDS_TRY(write_text(w->plot, &text));
    }
    if (!(w->json && !strcmp(w->json, "-")) && !(w->plot && !strcmp(w->plot, "-"))) mds_plan_print(c, p, (int)fmin(top, 1e6));
    return MDS_OK;
}

/// Launch files for the option that was picked.
static mds_status launch(const words *w, const mds_plan_catalog *c, const mds_plan *p)
{
    const mds_plan_option *pick;
    mds_config             config = {0};
    mds_status             status;

    if (!w->pick && !w->emit && !w->out && !w->profile) return MDS_OK;
    MDS_CHECK(w->pick && w->emit && w->out, MDS_E_USAGE, "launch files need --pick RANK|INSTANCE, --emit TARGET and --out DIR together");
    MDS_TRY(mds_plan_pick(p, w->pick, &pick));
    if (w->input) MDS_TRY(mds_config_read(w->input, w->set, w->n_set, &config));
    status = mds_plan_emit(c, p, pick, &(mds_plan_emit_options){.target = w->emit, .out = w->out, .profile = w->profile, .conf = w->input, .output = config.output.name});
    mds_config_free(&config);
    return status;
}

mds_status mds_cli_plan(const cli_options *o)
{
    words             w = {0};
    mds_plan_request  request;
    mds_plan_sources  sources;
    mds_plan_catalog *catalog = NULL;
    mds_plan          plan = {0};
    mds_status        status;

    MDS_TRY(read_words(o->n_words, o->words, &w));
    MDS_TRY(request_of(&w, &request));
    MDS_TRY(sources_of(&w, &sources));
    status = mds_plan_catalog_open(&sources, &catalog);
    if (status == MDS_OK) status = mds_plan_make(catalog, &request, &plan);
    if (status == MDS_OK) status = answer(&w, catalog, &plan);
    if (status == MDS_OK) status = launch(&w, catalog, &plan);
    mds_plan_free(&plan);
    mds_plan_catalog_close(catalog);
    return status;
}

void mds_cli_plan_help(void)
{
    mds_print("%s", plan_help);
}
