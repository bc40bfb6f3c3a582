// SPDX-License-Identifier: Apache-2.0
// The tables of cloud/ and price files of others -> GPUs, CPUs, storage, providers, machines.
//
// Columns are read by name, so that a table may gain some. Empty means that nobody has read it: NAN. What is needed for a
// judgement and not there leads to a refusal with a reason later (rank.c), never to a guess here, with one exception: a
// price file that does not know a machine's CPU or links gets them from the built-in row of the same machine.
#include "plan/inside.h"

#include "io/io.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

mds_status plan_keep(mds_plan_catalog *c, const char **out, const char *fmt, ...)
{
    mds_text text = {0};
    va_list  args;

    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    if (text.failed || mds_grow(&c->kept, &c->cap_kept, c->n_kept + 1, sizeof *c->kept) != MDS_OK) {
        mds_text_free(&text);
        MDS_FAIL(MDS_E_MEMORY, "out of memory for a text");
    }
    c->kept[c->n_kept++] = text.s;
    *out = text.s;
    return MDS_OK;
}

mds_status plan_catalog_table(mds_plan_catalog *c, const char *path, plan_table **out)
{
    const int most = (int)(sizeof c->table / sizeof c->table[0]);

    MDS_CHECK(c->n_tables < most, MDS_E_USAGE, "more than %d tables and price files", most);
    *out = &c->table[c->n_tables];
    MDS_TRY(plan_table_read(path, *out));
    c->n_tables++;
    return MDS_OK;
}

mds_plan_machine plan_machine_blank(void)
{
    return (mds_plan_machine){.provider = "", .region = "", .instance = "", .vcpus = NAN, .cores = NAN, .memory = NAN, .cpu = "", .isa = "",
                              .gpu_name = "", .gpu_memory = NAN, .on_demand = NAN, .spot_low = NAN, .spot_high = NAN, .part_on_demand = NAN,
                              .part_spot = NAN, .link = "", .source = "", .notes = "", .as_of = MDS_PLAN_UNDATED, .file = "", .whole = true};
}

mds_status plan_machine_add(mds_plan_catalog *c, const mds_plan_machine *m)
{
    MDS_TRY(mds_grow(&c->machine, &c->cap_machine, c->n_machine + 1, sizeof *c->machine));
    c->machine[c->n_machine++] = *m;
    return MDS_OK;
}

/// Is `word` one of the words of a list separated by |? Case does not count.
static bool listed(const char *list, const char *word)
{
    const size_t n = strlen(word);

    while (*list) {
        const size_t k = strcspn(list, "|");

        if (k == n && !strncasecmp(list, word, n)) return true;
        list += k + (list[k] == '|');
    }
    return false;
}

const mds_plan_gpu *plan_gpu_find(const mds_plan_catalog *c, const char *name, double memory)
{
    const mds_plan_gpu *best = NULL;
    size_t              k;

    for (k = 0; k < c->n_gpu; k++)
        if (!strcmp(c->gpu[k].key, name)) return &c->gpu[k];
    for (k = 0; k < c->n_gpu; k++) {
        const mds_plan_gpu *g = &c->gpu[k];

        if (!listed(g->names, name)) continue;
        if (!best || (!isnan(memory) && fabs(g->memory - memory) < fabs(best->memory - memory))) best = g;
    }
    return best;
}

const plan_cpu *plan_cpu_find(const mds_plan_catalog *c, const char *cpu)
{
    size_t k;

    for (k = 0; k < c->n_cpu; k++)
        if (strstr(cpu, c->cpu[k].family)) return &c->cpu[k];
    return NULL;
}

const plan_provider *plan_provider_find(const mds_plan_catalog *c, const char *id)
{
    size_t k;

    for (k = 0; k < c->n_provider; k++)
        if (!strcasecmp(c->provider[k].id, id)) return &c->provider[k];
    return NULL;
}

static mds_status read_gpus(mds_plan_catalog *c, const plan_table *t)
{
    const int key = plan_column(t, "gpu"), sm = plan_column(t, "sm"), lanes = plan_column(t, "lanes_per_sm"), clock = plan_column(t, "boost_mhz");
    int       row, needed;

    MDS_TRY(plan_column_needed(t, "gpu", &needed));
    for (row = 1; row < t->n_rows; row++) {
        mds_plan_gpu g = {.key = plan_cell(t, row, key), .model = plan_cell(t, row, plan_column(t, "model")),
                          .names = plan_cell(t, row, plan_column(t, "catalogue_names")), .bus = plan_cell(t, row, plan_column(t, "link"))};
        double       a, b, mhz;

        MDS_TRY(plan_number(t, row, plan_column(t, "fp32_tflops"), &g.tflops));
        MDS_TRY(plan_number(t, row, plan_column(t, "memory_gb"), &g.memory));
        MDS_TRY(plan_number(t, row, plan_column(t, "bandwidth_gb_s"), &g.bandwidth));
        MDS_TRY(plan_number(t, row, plan_column(t, "l2_mib"), &g.l2));
        MDS_TRY(plan_number(t, row, plan_column(t, "link_gb_s"), &g.link));
        MDS_TRY(plan_number(t, row, plan_column(t, "tdp_w"), &g.tdp));
        MDS_TRY(plan_number(t, row, sm, &a));
        MDS_TRY(plan_number(t, row, lanes, &b));
        MDS_TRY(plan_number(t, row, clock, &mhz));
        g.lanes_per_sm = b;
        if (isnan(g.tflops)) g.tflops = 2e-6 * a * b * mhz; // 2 x cores x clock, which holds for all rows that have both
        MDS_TRY(mds_grow(&c->gpu, &c->cap_gpu, c->n_gpu + 1, sizeof *c->gpu));
        c->gpu[c->n_gpu++] = g;
    }
    return MDS_OK;
}

static mds_status read_cpus(mds_plan_catalog *c, const plan_table *t)
{
    int row;

    for (row = 1; row < t->n_rows; row++) {
        plan_cpu cpu = {.family = plan_cell(t, row, plan_column(t, "family")), .isa = plan_cell(t, row, plan_column(t, "isa"))};

        MDS_TRY(plan_number(t, row, plan_column(t, "ghz"), &cpu.ghz));
        MDS_TRY(plan_number(t, row, plan_column(t, "flops_per_cycle"), &cpu.flops_per_cycle));
        MDS_CHECK(*cpu.family && cpu.ghz > 0 && cpu.flops_per_cycle > 0, MDS_E_INPUT, "%s:%d: family, ghz and flops_per_cycle are needed", t->path,
                  t->line[row]);
        MDS_TRY(mds_grow(&c->cpu, &c->cap_cpu, c->n_cpu + 1, sizeof *c->cpu));
        c->cpu[c->n_cpu++] = cpu;
    }
    return MDS_OK;
}

static mds_status read_storage(mds_plan_catalog *c, const plan_table *t)
{
    int row;

    for (row = 1; row < t->n_rows; row++) {
        plan_storage s = {plan_cell(t, row, plan_column(t, "provider")), plan_cell(t, row, plan_column(t, "class")),
                          plan_cell(t, row, plan_column(t, "name")), NAN};

        MDS_TRY(plan_number(t, row, plan_column(t, "usd_per_gb_month"), &s.usd_per_gb_month));
        MDS_TRY(mds_grow(&c->storage, &c->cap_storage, c->n_storage + 1, sizeof *c->storage));
        c->storage[c->n_storage++] = s;
    }
    return MDS_OK;
}

static mds_status read_providers(mds_plan_catalog *c, const plan_table *t)
{
    int row;

    for (row = 1; row < t->n_rows; row++) {
        MDS_TRY(mds_grow(&c->provider, &c->cap_provider, c->n_provider + 1, sizeof *c->provider));
        c->provider[c->n_provider++] = (plan_provider){
            plan_cell(t, row, plan_column(t, "provider")), plan_cell(t, row, plan_column(t, "name")), plan_cell(t, row, plan_column(t, "object_store")),
            !strcmp(plan_cell(t, row, plan_column(t, "private_network")), "yes"), !strcmp(plan_cell(t, row, plan_column(t, "encrypted_disk")), "yes")};
    }
    return MDS_OK;
}

/// A row of our own layout.
static mds_status machine_row(mds_plan_catalog *c, const plan_table *t, int row, mds_plan_machine *m)
{
    const char *date = plan_cell(t, row, plan_column(t, "as_of"));
    double      gpus;
    const struct {
        const char *name;
        double     *number;
    } numbers[] = {{"vcpus", &m->vcpus}, {"cores", &m->cores}, {"memory_gib", &m->memory}, {"gpus", &gpus}, {"gpu_memory_gib", &m->gpu_memory},
                   {"on_demand_usd_h", &m->on_demand}, {"spot_low_usd_h", &m->spot_low}, {"spot_high_usd_h", &m->spot_high},
                   {"gpu_part_on_demand_usd_h", &m->part_on_demand}, {"gpu_part_spot_usd_h", &m->part_spot}};
    const struct {
        const char  *name;
        const char **text;
    } texts[] = {{"provider", &m->provider}, {"region", &m->region}, {"instance", &m->instance}, {"cpu", &m->cpu}, {"isa", &m->isa}, {"gpu", &m->gpu_name},
                 {"gpu_link", &m->link}, {"source", &m->source}, {"notes", &m->notes}};
    size_t k;

    for (k = 0; k < sizeof numbers / sizeof numbers[0]; k++) MDS_TRY(plan_number(t, row, plan_column(t, numbers[k].name), numbers[k].number));
    for (k = 0; k < sizeof texts / sizeof texts[0]; k++) *texts[k].text = plan_cell(t, row, plan_column(t, texts[k].name));
    MDS_CHECK(*m->instance, MDS_E_INPUT, "%s:%d: the instance has no name", t->path, t->line[row]);
    if (isnan(m->spot_high)) m->spot_high = m->spot_low;
    if (isnan(m->spot_low)) m->spot_low = m->spot_high;
    m->whole = strcmp(plan_cell(t, row, plan_column(t, "kind")), "part") != 0;
    m->file = t->path;
    m->line = t->line[row];
    MDS_TRY(plan_set_gpus(c, m, gpus));
    if (mds_plan_date(date, &m->as_of) != MDS_OK) {
        mds_error_prefix("%s:%d: as_of: ", t->path, t->line[row]);
        return MDS_E_INPUT;
    }
    return MDS_OK;
}

static mds_status read_machines(mds_plan_catalog *c, const plan_table *t, const char *provider, int as_of)
{
    int row, needed;

    MDS_TRY(plan_column_needed(t, "instance", &needed));
    MDS_TRY(plan_column_needed(t, "on_demand_usd_h", &needed));
    for (row = 1; row < t->n_rows; row++) {
        mds_plan_machine m = plan_machine_blank();

        MDS_TRY(machine_row(c, t, row, &m));
        MDS_CHECK(provider || *m.provider, MDS_E_INPUT, "%s:%d: the provider is missing", t->path, t->line[row]);
        MDS_CHECK(!provider || !*m.provider || !strcasecmp(m.provider, provider), MDS_E_INPUT, "%s:%d: provider '%s' in a file for '%s'", t->path,
                  t->line[row], m.provider, provider);
        if (provider) m.provider = provider;
        if (m.as_of == MDS_PLAN_UNDATED) m.as_of = as_of;
        MDS_TRY(plan_machine_add(c, &m));
    }
    return MDS_OK;
}

static mds_status read_seeds(mds_plan_catalog *c, const plan_table *t)
{
    int row;

    for (row = 1; row < t->n_rows; row++) {
        mds_plan_machine m = plan_machine_blank();

        m.provider = plan_cell(t, row, plan_column(t, "provider"));
        MDS_TRY(plan_number(t, row, plan_column(t, "on_demand_usd_h"), &m.on_demand));
        MDS_TRY(plan_number(t, row, plan_column(t, "gpu_memory_gib"), &m.gpu_memory));
        MDS_TRY(mds_plan_date(plan_cell(t, row, plan_column(t, "as_of")), &m.as_of));
        m.gpu_name = plan_cell(t, row, plan_column(t, "gpu"));
        m.gpu = plan_gpu_find(c, m.gpu_name, m.gpu_memory);
        m.gpus = 1;
        m.region = "-";
        m.source = plan_cell(t, row, plan_column(t, "source"));
        m.notes = plan_cell(t, row, plan_column(t, "notes"));
        m.whole = false;
        m.file = t->path;
        m.line = t->line[row];
        MDS_TRY(plan_keep(c, &m.instance, "seed-price-%s", plan_cell(t, row, plan_column(t, "gpu_as_named"))));
        MDS_TRY(plan_keep(c, &m.doubt, "a seed price of 2023 per GPU: no region and no machine behind it"));
        MDS_TRY(plan_machine_add(c, &m));
    }
    return MDS_OK;
}

/// What a price file leaves open about a machine and the built-in row of the same machine knows.
static void fill_from_built_in(const mds_plan_catalog *c, size_t n_built_in, mds_plan_machine *m)
{
    size_t k;

    for (k = 0; k < n_built_in; k++) {
        const mds_plan_machine *b = &c->machine[k];

        if (strcasecmp(b->provider, m->provider) || strcmp(b->instance, m->instance) || !b->whole) continue;
        if (isnan(m->vcpus)) m->vcpus = b->vcpus;
        if (isnan(m->cores)) m->cores = b->cores;
        if (isnan(m->memory)) m->memory = b->memory;
        if (!*m->cpu) m->cpu = b->cpu;
        if (!*m->isa) m->isa = b->isa;
        if (!*m->link) m->link = b->link;
        if (b->gpus == m->gpus && b->gpu && m->gpu && fabs(b->gpu->memory - m->gpu->memory) < 1) m->gpu = b->gpu; // the variant: SXM or PCIe
    }
}

static mds_status read_price_file(mds_plan_catalog *c, const char *word, int as_of, size_t *n_built_in)
{
    const char *equals = strchr(word, '='), *provider;
    plan_table *t = NULL;
    size_t      first = c->n_machine, k, n = 0, i, built_in = 0;

    MDS_CHECK(equals && equals > word && equals[1], MDS_E_USAGE, "--prices wants PROVIDER=FILE, not '%s'", word);
    for (i = 0; word[i] != '='; i++)
        MDS_CHECK(isalnum((unsigned char)word[i]) || strchr("-_.", word[i]), MDS_E_USAGE, "--prices: '%.*s' is no provider's name", (int)(equals - word), word);
    MDS_TRY(plan_keep(c, &provider, "%.*s", (int)(equals - word), word));
    for (i = 0; provider[i]; i++) c->kept[c->n_kept - 1][i] = (char)tolower((unsigned char)provider[i]);
    MDS_TRY(plan_catalog_table(c, equals + 1, &t));
    if (plan_is_skypilot(t))
        MDS_TRY(plan_skypilot(c, t, provider, as_of));
    else
        MDS_TRY(read_machines(c, t, provider, as_of));
    for (k = first; k < c->n_machine; k++) fill_from_built_in(c, *n_built_in, &c->machine[k]);
    for (k = 0; k < c->n_machine; k++) { // the built-in rows of this provider go; seed prices stay listed
        const bool gone = k < *n_built_in && !strcasecmp(c->machine[k].provider, provider) && !c->machine[k].doubt;

        if (!gone) c->machine[n++] = c->machine[k];
        if (k + 1 == *n_built_in) built_in = n;
    }
    *n_built_in = built_in;
    c->n_machine = n;
    return MDS_OK;
}

/// The folder that has instances.csv, by the order that plan.h gives.
static mds_status find_directory(const char *wanted, char **out)
{
    const char *environment = getenv("MDSIM_CLOUD");
    mds_text    near = {0}, file = {0};
    char        self[4096];
    ssize_t     n = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *place[2] = {NULL, MDS_CLOUD_SOURCE};
    int         k;

    if (!wanted && environment && *environment) wanted = environment;
    if (wanted) return mds_copy_text(out, wanted, SIZE_MAX);
    if (n > 0) {
        self[n] = '\0';
        *strrchr(self, '/') = '\0';
        mds_text_add(&near, "%s/../share/mdsim/cloud", self);
        place[0] = near.s;
    }
    for (k = 0; k < 2 && !*out; k++) {
        file.n = 0;
        mds_text_add(&file, "%s/instances.csv", place[k] ? place[k] : "");
        if (place[k] && mds_file_exists(file.s)) MDS_TRY(mds_copy_text(out, place[k], SIZE_MAX));
    }
    mds_text_free(&near);
    mds_text_free(&file);
    MDS_CHECK(*out, MDS_E_MISSING, "the instance tables are not where they were installed; say where with --tables DIR or MDSIM_CLOUD");
    return MDS_OK;
}

static mds_status read_built_in(mds_plan_catalog *c)
{
    static const char *const names[] = {"gpus.csv", "cpus.csv", "storage.csv", "providers.csv", "instances.csv", "seeds.csv"};
    plan_table              *t[sizeof names / sizeof names[0]];
    size_t                   k;

    for (k = 0; k < sizeof names / sizeof names[0]; k++) {
        char      *path = NULL;
        mds_status status = mds_plan_shared(c, names[k], &path);

        if (status == MDS_OK) status = plan_catalog_table(c, path, &t[k]);
        mds_free(path);
        MDS_TRY(status);
    }
    MDS_TRY(read_gpus(c, t[0]));
    MDS_TRY(read_cpus(c, t[1]));
    MDS_TRY(read_storage(c, t[2]));
    MDS_TRY(read_providers(c, t[3]));
    MDS_TRY(read_machines(c, t[4], NULL, MDS_PLAN_UNDATED));
    return read_seeds(c, t[5]);
}

static void count(mds_plan_catalog *c)
{
    size_t k;

    for (k = 0; k < c->n_machine; k++) {
        if (c->machine[k].doubt) continue; // a seed price
        c->n_read++;
        c->n_read_gpu += c->machine[k].gpus > 0;
        c->n_dated += c->machine[k].as_of != MDS_PLAN_UNDATED;
    }
}

static void hash(mds_plan_catalog *c)
{
    mds_sha256 sha;
    uint8_t    sum[32];
    int        k;

    mds_sha256_init(&sha);
    for (k = 0; k < c->n_tables; k++) mds_sha256_add(&sha, c->table[k].sha, sizeof c->table[k].sha);
    mds_sha256_end(&sha, sum);
    for (k = 0; k < 32; k++) snprintf(c->hash + 2 * k, 3, "%02x", sum[k]);
}

static mds_status open_all(mds_plan_catalog *c, const mds_plan_sources *s)
{
    size_t n_built_in;
    int    k;

    MDS_TRY(find_directory(s->directory, &c->directory));
    MDS_TRY(read_built_in(c));
    n_built_in = c->n_machine;
    for (k = 0; k < s->n_prices; k++) MDS_TRY(read_price_file(c, s->prices[k], s->prices_as_of, &n_built_in));
    count(c);
    hash(c);
    MDS_TRY(plan_trust(c));
    return plan_calibrations(c, s->calibration);
}

mds_status mds_plan_catalog_open(const mds_plan_sources *sources, mds_plan_catalog **out)
{
    mds_status status;

    *out = NULL;
    MDS_TRY(mds_alloc(out, 1, sizeof **out));
    (*out)->as_of = sources->as_of;
    status = open_all(*out, sources);
    if (status != MDS_OK) {
        mds_plan_catalog_close(*out);
        *out = NULL;
    }
    return status;
}

void mds_plan_catalog_close(mds_plan_catalog *c)
{
    size_t k;

    if (!c) return;
    for (k = 0; k < (size_t)c->n_tables; k++) plan_table_free(&c->table[k]);
    for (k = 0; k < c->n_kept; k++) mds_free(c->kept[k]);
    mds_free(c->kept);
    mds_free(c->gpu);
    mds_free(c->cpu);
    mds_free(c->storage);
    mds_free(c->provider);
    mds_free(c->machine);
    mds_free(c->point);
    mds_free(c->set);
    mds_free(c->directory);
    mds_free(c);
}

int mds_plan_n_machines(const mds_plan_catalog *c)
{
    return (int)c->n_machine;
}

const mds_plan_machine *mds_plan_machine_at(const mds_plan_catalog *c, int k)
{
    return &c->machine[k];
}

static mds_status below(const char *directory, const char *name, char **path)
{
    mds_text text = {0};

    mds_text_add(&text, "%s/%s", directory, name);
    MDS_CHECK(!text.failed, MDS_E_MEMORY, "out of memory for a path");
    *path = text.s;
    return MDS_OK;
}

mds_status mds_plan_shared(const mds_plan_catalog *c, const char *name, char **path)
{
    return below(c->directory, name, path);
}

mds_status mds_plan_template(const char *name, char **path)
{
    char      *directory = NULL;
    mds_status status;

    MDS_TRY(find_directory(NULL, &directory));
    status = below(directory, name, path);
    mds_free(directory);
    return status;
}

const char *mds_plan_catalog_hash(const mds_plan_catalog *c)
{
    return c->hash;
}
