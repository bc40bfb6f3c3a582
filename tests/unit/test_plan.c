// SPDX-License-Identifier: Apache-2.0
// The adviser inside: tables as text has them, dates, price checks on the built-in tables, preemptions against a simulation, the
// shape of the model, and properties that hold for any request.
#include "base/rng.h"
#include "plan/inside.h"
#include "test.h"

#include <unistd.h>

static mds_plan_catalog *catalog;

static void write_file(const char *path, const char *bytes, size_t n)
{
    TEST_OK(mds_file_write(path, bytes, n));
}

static void a_table_is_cut_as_csv_has_it(void)
{
    const char good[] = "\xef\xbb\xbf" "a,b,c\r\n1,\"x, \"\"y\"\"\",\r\n\n\"two\nlines\",\x1b[31mred,\xff\xe2\x80\xae\xc3\xa9\n";
    const struct {
        const char *text, *says;
    } bad[] = {{"", "is empty"}, {"a,b\n1\n", "2: 1 columns where the header has 2"}, {"a,b\n1,2,3\n", "2: 3 columns"}, {"a,b\n1,\"2\n", "2: a quote is not closed"},
               {"a,b\n\"1\"x,2\n", "2: text behind a closing quote"}};
    plan_table t;
    double     x;
    size_t     k;

    write_file("table.csv", good, sizeof good - 1);
    TEST_OK(plan_table_read("table.csv", &t));
    TEST_INT(t.n_rows, 3);
    TEST_INT(t.n_columns, 3);
    TEST_INT(t.line[2], 4); // the empty line counts
    TEST_INT(plan_column(&t, "b"), 1);
    TEST_INT(plan_column(&t, "d"), -1);
    TEST_TRUE(!strcmp(plan_cell(&t, 1, 1), "x, \"y\"") && !*plan_cell(&t, 1, 2) && !*plan_cell(&t, 1, -1));
    TEST_TRUE(!strcmp(plan_cell(&t, 2, 0), "two?lines") && !strcmp(plan_cell(&t, 2, 1), "?[31mred"));
    TEST_TRUE(!strcmp(plan_cell(&t, 2, 2), "????\xc3\xa9")); // no UTF-8, and a mark that turns the direction of writing
    TEST_OK(plan_number(&t, 1, 0, &x));
    TEST_NEAR(x, 1, 0); // exact
    TEST_OK(plan_number(&t, 1, 2, &x));
    TEST_TRUE(isnan(x));
    TEST_FAILS(plan_number(&t, 2, 1, &x), MDS_E_INPUT, "table.csv:4: b: '?[31mred' is no number");
    plan_table_free(&t);
    for (k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        write_file("table.csv", bad[k].text, strlen(bad[k].text));
        TEST_FAILS(plan_table_read("table.csv", &t), MDS_E_INPUT, bad[k].says);
    }
    write_file("table.csv", "a,b\n1\0,2\n", 9);
    TEST_FAILS(plan_table_read("table.csv", &t), MDS_E_INPUT, "zero byte");
    write_file("table.csv", "a\n-1\n", 5);
    TEST_OK(plan_table_read("table.csv", &t));
    TEST_FAILS(plan_number(&t, 1, 0, &x), MDS_E_INPUT, "0 or more");
    plan_table_free(&t);
    TEST_FAILS(plan_table_read("not-there.csv", &t), MDS_E_MISSING, "not-there.csv");
}

static void dates_are_days_of_the_calendar(void)
{
    int  days;
    char room[24];

    TEST_OK(mds_plan_date("1970-01-02", &days));
    TEST_INT(days, 1);
    TEST_OK(mds_plan_date("2026-11-30", &days)); // 20,787 days: 56 years of 365, 14 leap days, 333 days of 2026
    TEST_INT(days, 56 * 365 + 14 + 333);
    TEST_TRUE(!strcmp(plan_date_text(days, room), "2026-11-30"));
    TEST_OK(mds_plan_date("2023-11", &days));
    TEST_TRUE(!strcmp(plan_date_text(days, room), "2023-11-01"));
    TEST_OK(mds_plan_date("undated", &days));
    TEST_INT(days, MDS_PLAN_UNDATED);
    TEST_FAILS(mds_plan_date("2026-02-29", &days), MDS_E_INPUT, "no day");
    TEST_FAILS(mds_plan_date("30.11.2026", &days), MDS_E_INPUT, "no date");
    TEST_FAILS(mds_plan_date("2026-11-30x", &days), MDS_E_INPUT, "no date");
}

static void the_two_wrong_prices_are_doubted_and_no_honest_one(void)
{
    int k, n_doubted = 0, n_parts = 0, n_dropped = 0;

    for (k = 0; k < mds_plan_n_machines(catalog); k++) {
        const mds_plan_machine *m = mds_plan_machine_at(catalog, k);

        TEST_TRUE(!m->whole == !strncmp(m->instance, "seed-price", 10) || !strcmp(m->instance, "accelerator"));
        n_dropped += m->dropped != NULL;
        n_parts += m->doubt && !m->whole;
        if (!m->doubt || !m->whole) continue;
        n_doubted++;
        TEST_TRUE(!strcmp(m->provider, "gcp") && !strcmp(m->region, "us-central1"));
        TEST_TRUE(!strcmp(m->instance, "a2-ultragpu-1g") || !strcmp(m->instance, "a3-highgpu-8g"));
        TEST_TRUE(strstr(m->doubt, m->instance[1] == '2' ? "on demand than on spot" : "0.49 of what gcp asks") != NULL);
    }
    TEST_INT(n_doubted, 2);
    TEST_INT(n_parts, 7); // three accelerators of GCP, four seed prices
    TEST_INT(n_dropped, 1); // AWS us-east-2 p5.48xlarge without a date
    TEST_INT(catalog->n_read, 126);
    TEST_INT(catalog->n_read_gpu, 90);
    TEST_INT(catalog->n_dated, 5);
}

static void every_gpu_of_the_tables_has_facts(void)
{
    int k;

    for (k = 0; k < mds_plan_n_machines(catalog); k++) {
        const mds_plan_machine *m = mds_plan_machine_at(catalog, k);

        TEST_TRUE(!m->gpus || (m->gpu && m->gpu->tflops > 0 && m->gpu->bandwidth > 0));
        TEST_TRUE(m->gpus || !isnan(m->cores));
        TEST_TRUE(m->gpus || plan_cpu_find(catalog, m->cpu));
    }
}

// ------------------------------------------------------------------------------------------------ preemptions

static double uniform(uint64_t *counter)
{
    double four[4];

    mds_uniform4(7, 0, (*counter)++, 0, four);
    return four[0];
}

/// Hours that a run of `work` hours takes with losses at random, played through.
static double play(double work, double rate, double tau, double d, double restart, uint64_t *counter)
{
    double clock = 0, done = 0, next = -log(uniform(counter)) / rate;

    while (done < work) {
        const double segment = tau + d;

        if (clock + segment <= next) {
            clock += segment;
            done += tau;
        } else {
            clock = next + restart; // the segment is lost; a loss during the restart begins it anew
            while ((next = clock - restart - log(uniform(counter)) / rate) < clock) clock = next + restart;
        }
    }
    return clock;
}

static void expected_time_on_spot_is_that_of_many_runs_played(void)
{
    const mds_plan_work w = plan_water(1e6, 0.9, 1e6, 5, 0.004);
    const double        rate = 0.4, restart = 0.25, work = 200, d = (2 + 48e6 / 100e6) / 3600; // d as cost.c has it for a million atoms
    const double        tau = plan_checkpoint_hours(&w, rate), factor = plan_spot_factor(&w, rate, restart);
    const int           n = 400;
    uint64_t            counter = 1;
    double              sum = 0, best = INFINITY, at = 0, t;
    int                 k;

    for (k = 0; k < n; k++) sum += play(work, rate, tau, d, restart, &counter) / work;
    // about 80 losses a run of 0.28 h each, n = 400: standard error of the mean sqrt(80) 0.3 / 200 / 20 = 0.0007
    TEST_NEAR(factor, sum / n, 0.003);
    for (t = tau / 4; t < 4 * tau; t *= 1.002) { // the interval is the best one
        const double e = exp(rate * restart) * expm1(rate * (t + d)) / (rate * t);

        if (e < best) {
            best = e;
            at = t;
        }
    }
    TEST_NEAR(tau / at, 1, 0.02);         // the series of daly2006 leaves terms of order (d rate)^1.5
    TEST_NEAR(factor / best, 1, 1e-5);    // flat at the minimum
    TEST_NEAR(plan_spot_factor(&w, 0, restart), 1, 0);
}

// ------------------------------------------------------------------------------------------------ the model

static void the_model_gives_back_the_measurement_it_is_made_of(void)
{
    // DHFR, one thread, Zen 4 at 3.7 GHz: 14.4 ms in stages (benchmarks/results, 2026-11-30)
    mds_plan_work w = plan_water(23558, 0.9, 27 * 27 * 27, 5, 0.002);
    plan_cpu      cpu = *plan_cpu_find(catalog, "x (Genoa)");
    double        stage[PLAN_N_STAGES], seconds;

    w.density = 98.7;
    w.pairs *= 0.987;
    w.bonded = 12000;
    w.list_interval = 20;
    cpu.ghz = 3.7;
    seconds = plan_cpu_step(&w, &cpu, &(plan_share){1, 0, 1, 1}, stage);
    TEST_NEAR(1e3 * seconds, 14.4, 0.3); // the constants are rounded to three digits, the number of terms to two
    TEST_NEAR(1e3 * stage[PLAN_PAIR], 8.4, 0.1);
    TEST_NEAR(1e3 * (stage[PLAN_SPREAD] + stage[PLAN_FFT]), 1.4, 0.15);
}

static void more_gpus_or_threads_are_slower_for_small_systems(void)
{
    const mds_plan_gpu *h100 = plan_gpu_find(catalog, "H100-SXM5", NAN);
    const plan_cpu     *turin = plan_cpu_find(catalog, "x (Turin)");
    const mds_plan_work small = plan_water(3000, 0.9, 3000, 5, 0.004), large = plan_water(2e7, 0.9, 0, 0, 0.004);
    double              stage[PLAN_N_STAGES];

    TEST_TRUE(plan_gpu_step(&small, h100, "NVSwitch", &(plan_share){1, 8, 1, 1}, stage) > plan_gpu_step(&small, h100, "NVSwitch", &(plan_share){1, 1, 1, 1}, stage));
    TEST_TRUE(plan_gpu_step(&large, h100, "NVSwitch", &(plan_share){1, 8, 1, 1}, stage) < plan_gpu_step(&large, h100, "NVSwitch", &(plan_share){1, 1, 1, 1}, stage) / 4);
    TEST_TRUE(plan_gpu_step(&large, h100, "PCIe", &(plan_share){1, 8, 1, 1}, stage) > plan_gpu_step(&large, h100, "NVSwitch", &(plan_share){1, 8, 1, 1}, stage));
    TEST_TRUE(plan_cpu_step(&small, turin, &(plan_share){192, 0, 1, 1}, stage) > 0.5 * plan_cpu_step(&small, turin, &(plan_share){32, 0, 1, 1}, stage));
    // eight packed runs make more than one, and each is slower
    TEST_TRUE(plan_gpu_step(&small, h100, "", &(plan_share){1, 1, 8, 8}, stage) < 8 * plan_gpu_step(&small, h100, "", &(plan_share){1, 1, 1, 1}, stage));
    TEST_TRUE(plan_gpu_step(&small, h100, "", &(plan_share){1, 1, 8, 8}, stage) > plan_gpu_step(&small, h100, "", &(plan_share){1, 1, 1, 1}, stage));
}

// --------------------------------------------------------------------------------------------- properties

static double log_uniform(uint64_t *counter, double low, double high)
{
    return low * pow(high / low, uniform(counter));
}

static mds_plan_request random_request(uint64_t *counter)
{
    mds_plan_request r;

    mds_plan_request_init(&r);
    r.work = plan_water(floor(log_uniform(counter, 2e3, 3e7)), 0.9, 0, 0, uniform(counter) < 0.5 ? 0.002 : 0.004);
    if (uniform(counter) < 0.8) {
        r.work.mesh_points = r.work.atoms;
        r.work.mesh_order = 5;
    }
    r.work.bonded = 0.5 * r.work.atoms;
    r.work.trajectory_every = 5000;
    r.length = log_uniform(counter, 1, 1e5);
    if (uniform(counter) < 0.5) r.ns_per_day = log_uniform(counter, 1, 3000);
    if (uniform(counter) < 0.5) r.max_price = log_uniform(counter, 0.3, 100);
    if (uniform(counter) < 0.5) r.budget = log_uniform(counter, 1, 1e5);
    if (uniform(counter) < 0.3) r.deadline = log_uniform(counter, 1, 1e4);
    if (uniform(counter) < 0.3) r.reserved = uniform(counter);
    if (uniform(counter) < 0.4) r.replicas = 1 + (int)(40 * uniform(counter));
    r.spot = uniform(counter) < 0.5;
    r.force = uniform(counter) < 0.2;
    r.objective = uniform(counter) < 0.5 ? MDS_PLAN_FASTEST : MDS_PLAN_CHEAPEST;
    r.security = uniform(counter) < 0.2 ? MDS_PLAN_SECURITY_PRIVATE : MDS_PLAN_SECURITY_OPEN;
    r.providers = uniform(counter) < 0.3 ? "aws,lambda" : NULL;
    r.regions = uniform(counter) < 0.2 ? "us-*,eu-north1" : NULL;
    return r;
}

static double best_speed(const mds_plan *p)
{
    const mds_plan_option *o = plan_fastest(p);

    return o ? o->ns_per_day : 0;
}

static double least_cost(const mds_plan *p)
{
    const mds_plan_option *o = plan_cheapest(p);

    return o ? o->usd_total : INFINITY;
}

static void check_option(const mds_plan *p, const mds_plan_option *o)
{
    const mds_plan_request *r = &p->request;
    const mds_plan_machine *m = o->machine;
    int                     k;

    TEST_TRUE(r->spot || o->price != MDS_PLAN_SPOT);
    TEST_TRUE(!isnan(r->reserved) || o->price != MDS_PLAN_RESERVED);
    TEST_TRUE(o->meets == !o->reason && (o->meets || *o->reason));
    TEST_TRUE(0 < o->ns_per_day_low && o->ns_per_day_low < o->ns_per_day && o->ns_per_day < o->ns_per_day_high && isfinite(o->ns_per_day_high));
    TEST_TRUE(o->usd_per_h_low <= o->usd_per_h && o->usd_per_h <= o->usd_per_h_high && o->usd_per_us_low < o->usd_per_us && o->usd_per_us < o->usd_per_us_high);
    TEST_TRUE(o->runs >= 1 && o->runs <= r->replicas && o->gpus_used <= m->gpus && o->ranks >= 1 && (o->gpus_used > 0) == (m->gpus > 0));
    TEST_TRUE(!m->gpus || o->runs * o->ranks <= o->gpus_used * o->runs_per_gpu);
    TEST_TRUE(m->gpus || isnan(m->cores) || o->threads * o->runs <= m->cores);
    TEST_TRUE(!m->gpus || o->memory_gib <= 0.9 * m->gpu_memory);
    TEST_TRUE(!m->doubt || r->force);
    TEST_TRUE(!m->dropped);
    if (o->meets) {
        TEST_TRUE(isnan(r->ns_per_day) || o->ns_per_day_low >= r->ns_per_day);
        TEST_TRUE(isnan(r->max_price) || (o->price == MDS_PLAN_SPOT ? m->spot_high : o->usd_per_h) <= r->max_price);
        TEST_TRUE(isnan(r->budget) || o->usd_total_high <= r->budget);
        TEST_TRUE(isnan(r->deadline) || o->hours_high <= r->deadline);
    }
    for (k = 0; k < p->n; k++) { // the front, by its definition
        const mds_plan_option *q = &p->option[k];
        const bool             beats = q->ns_per_day >= o->ns_per_day && q->usd_per_us <= o->usd_per_us && (q->ns_per_day > o->ns_per_day || q->usd_per_us < o->usd_per_us);

        if (beats) TEST_TRUE(!o->pareto);
    }
}

static void check_plan(const mds_plan *p)
{
    const bool fastest = p->request.objective == MDS_PLAN_FASTEST;
    int        k, i, found;

    for (k = 0; k < p->n; k++) {
        const mds_plan_option *o = &p->option[k], *q = k ? o - 1 : NULL;

        TEST_INT(o->rank, k + 1);
        check_option(p, o);
        if (!q) continue;
        TEST_TRUE(q->meets || !o->meets);
        if (q->meets == o->meets) TEST_TRUE(fastest ? q->ns_per_day >= o->ns_per_day : q->usd_total <= o->usd_total);
    }
    for (k = 0; k < p->n_refused; k++) TEST_TRUE(p->refused[k].reason && *p->refused[k].reason);
    for (k = 0; k < mds_plan_n_machines(catalog); k++) { // every row is either an option or refused, once
        const mds_plan_machine *m = mds_plan_machine_at(catalog, k);

        for (i = 0, found = 0; i < p->n && !found; i++) found = p->option[i].machine == m;
        for (i = 0; i < p->n_refused; i++) found += p->refused[i].machine == m;
        TEST_INT(found, 1);
    }
}

/// A wish made wider never leaves less to choose from.
static void check_wider(const mds_plan *p, uint64_t *counter)
{
    mds_plan_request wider = p->request;
    mds_plan         q;
    const double     by = 1 + 3 * uniform(counter);

    wider.budget *= by; // NAN stays NAN: not limited
    wider.max_price *= by;
    wider.deadline *= by;
    TEST_OK(mds_plan_make(catalog, &wider, &q));
    TEST_TRUE(best_speed(&q) >= best_speed(p));
    TEST_TRUE(least_cost(&q) <= least_cost(p));
    mds_plan_free(&q);
    wider = p->request;
    wider.spot = true;
    TEST_OK(mds_plan_make(catalog, &wider, &q));
    TEST_TRUE(best_speed(&q) >= best_speed(p) && least_cost(&q) <= least_cost(p));
    mds_plan_free(&q);
}

static void properties_hold_for_any_request(void)
{
    uint64_t counter = 1000000;
    int      k, n_meet = 0;

    for (k = 0; k < 120; k++) {
        const mds_plan_request r = random_request(&counter);
        mds_plan               p;

        TEST_OK(mds_plan_make(catalog, &r, &p));
        check_plan(&p);
        check_wider(&p, &counter);
        n_meet += plan_fastest(&p) != NULL;
        mds_plan_free(&p);
    }
    TEST_TRUE(n_meet > 20 && n_meet < 110); // the wishes are neither all granted nor all refused
}

static void picking_takes_a_rank_or_a_name(void)
{
    mds_plan_request       r;
    mds_plan               p;
    const mds_plan_option *o;

    mds_plan_request_init(&r);
    r.work = plan_water(92224, 0.9, 92224, 5, 0.004);
    TEST_OK(mds_plan_make(catalog, &r, &p));
    TEST_OK(mds_plan_pick(&p, "2", &o));
    TEST_INT(o->rank, 2);
    TEST_OK(mds_plan_pick(&p, "g6e.xlarge", &o));
    TEST_TRUE(!strcmp(o->machine->instance, "g6e.xlarge"));
    TEST_OK(mds_plan_pick(&p, "aws/us-east-2/g6e.xlarge", &o));
    TEST_TRUE(!strcmp(o->machine->region, "us-east-2"));
    TEST_FAILS(mds_plan_pick(&p, "0", &o), MDS_E_USAGE, "no rank 0");
    TEST_FAILS(mds_plan_pick(&p, "m5.nano", &o), MDS_E_USAGE, "no option 'm5.nano'");
    TEST_FAILS(mds_plan_pick(&p, "accelerator", &o), MDS_E_USAGE, "accelerator is refused");
    mds_plan_free(&p);
    r.budget = 100;
    TEST_FAILS(mds_plan_make(catalog, &r, &p), MDS_E_USAGE, "give --length");
    r.budget = NAN;
    r.providers = "aws,asw";
    TEST_FAILS(mds_plan_make(catalog, &r, &p), MDS_E_USAGE, "no prices of a provider 'asw'");
}

int main(void)
{
    mds_plan_sources sources = {.prices_as_of = MDS_PLAN_UNDATED};
    char             folder[] = "/tmp/mds_plan_XXXXXX";

    if (!mkdtemp(folder) || chdir(folder)) return 1;
    unsetenv("XDG_CACHE_HOME"); // no calibration of whoever runs this
    setenv("HOME", folder, 1);
    TEST_OK(mds_plan_date("2026-11-30", &sources.as_of));
    TEST_OK(mds_plan_catalog_open(&sources, &catalog));
    a_table_is_cut_as_csv_has_it();
    dates_are_days_of_the_calendar();
    the_two_wrong_prices_are_doubted_and_no_honest_one();
    every_gpu_of_the_tables_has_facts();
    expected_time_on_spot_is_that_of_many_runs_played();
    the_model_gives_back_the_measurement_it_is_made_of();
    more_gpus_or_threads_are_slower_for_small_systems();
    properties_hold_for_any_request();
    picking_takes_a_rank_or_a_name();
    mds_plan_catalog_close(catalog);
    remove("table.csv");
    rmdir(folder);
    return test_end();
}
