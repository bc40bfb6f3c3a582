// SPDX-License-Identifier: Apache-2.0
// Every machine at every price in its best way of use -> options by rank; and a reason for whatever fell out.
//
// What falls out by facts (a price that is not believed, a provider not asked for, too little memory, dearer than the limit)
// is refused. What falls short by prediction (too slow at the low end, too dear or too late at that speed) stays an option
// that does not meet: a prediction may be wrong, and the interval beside it says by how much.
//
// `meets` takes the low end of the speed, and the high end of the price where a total is limited. A limit on the price
// itself is held against the price as read (the high end of a spot band), since that is what a launch can check.
#include "plan/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define USABLE_MEMORY 0.9 // of a GPU or a host: the rest belongs to drivers and the system

void mds_plan_request_init(mds_plan_request *r)
{
    *r = (mds_plan_request){.ns_per_day = NAN, .max_price = NAN, .budget = NAN, .length = NAN, .deadline = NAN, .replicas = 1, .reserved = NAN,
                            .interruptions = 0.05, .restart = 1.0 / 12};
    r->work.force_error = NAN;
}

const char *mds_plan_price_name(mds_plan_price price)
{
    static const char *const names[] = {"on-demand", "spot", "reserved"};

    return names[price];
}

static mds_status check_request(const mds_plan_catalog *c, const mds_plan_request *r)
{
    const mds_plan_work *w = &r->work;
    const char          *s;
    size_t               k;

    MDS_CHECK(w->atoms >= 1 && w->atoms <= 1e10, MDS_E_USAGE, "%g atoms: 1 to 10^10", w->atoms);
    MDS_CHECK(w->dt > 0 && w->dt < 1 && w->density > 0 && w->cut > 0 && w->pairs >= 0 && w->list_interval > 0, MDS_E_USAGE,
              "a time step of %g ps, a density of %g atoms/nm^3 and a cut-off of %g nm make no run", w->dt, w->density, w->cut);
    MDS_CHECK(r->replicas >= 1 && r->replicas <= 1000000, MDS_E_USAGE, "%d replicas: 1 to 1000000", r->replicas);
    MDS_CHECK(isnan(r->reserved) || (r->reserved >= 0 && r->reserved < 1), MDS_E_USAGE, "a reserved discount of %g: 0 to below 1", r->reserved);
    MDS_CHECK(r->interruptions >= 0 && r->interruptions <= 20 && r->restart >= 0 && r->restart <= 10, MDS_E_USAGE,
              "%g interruptions an hour and a restart of %g h: 0 to 20, and 0 to 10", r->interruptions, r->restart);
    MDS_CHECK(isnan(r->budget) || !isnan(r->length), MDS_E_USAGE, "a budget needs to know for how much: give --length");
    MDS_CHECK(isnan(r->deadline) || !isnan(r->length), MDS_E_USAGE, "a deadline needs to know for how much: give --length");
    for (s = r->providers; s && *s;) {
        const size_t n = strcspn(s, ",");
        bool         known = false;

        for (k = 0; k < c->n_machine && !known; k++) known = strlen(c->machine[k].provider) == n && !strncasecmp(c->machine[k].provider, s, n);
        MDS_CHECK(known, MDS_E_USAGE, "no prices of a provider '%.*s'; give them with --prices %.*s=FILE", (int)n, s, (int)n, s);
        s += n + (s[n] == ',');
    }
    for (s = r->regions; s && *s;) { // a misspelt region must not pass for one without a machine
        const size_t n = strcspn(s, ","), fixed = n && s[n - 1] == '*' ? n - 1 : n;
        bool         known = false;

        for (k = 0; k < c->n_machine && !known; k++)
            known = !strncasecmp(c->machine[k].region, s, fixed) && (fixed < n || strlen(c->machine[k].region) == n);
        MDS_CHECK(known, MDS_E_USAGE, "no prices of a region '%.*s'", (int)n, s);
        s += n + (s[n] == ',');
    }
    return MDS_OK;
}

/// Is `word` in a comma list? A last * of an item stands for any rest.
static bool in_list(const char *list, const char *word)
{
    while (*list) {
        const size_t n = strcspn(list, ","), fixed = n && list[n - 1] == '*' ? n - 1 : n;

        if (!strncasecmp(list, word, fixed) && (fixed < n || strlen(word) == n)) return true;
        list += n + (list[n] == ',');
    }
    return false;
}

// ------------------------------------------------------------------------------------------------ refusals

static mds_status refuse(mds_plan *p, const mds_plan_machine *m, const char *group, const char *fmt, ...) MDS_PRINTF(4, 5);
static mds_status refuse(mds_plan *p, const mds_plan_machine *m, const char *group, const char *fmt, ...)
{
    mds_text text = {0};
    va_list  args;

    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    if (text.failed || mds_grow(&p->refused, &p->cap_refused, (size_t)p->n_refused + 1, sizeof *p->refused) != MDS_OK) {
        mds_text_free(&text);
        MDS_FAIL(MDS_E_MEMORY, "out of memory for a refusal");
    }
    p->refused[p->n_refused++] = (mds_plan_refusal){m, text.s, group};
    return MDS_OK;
}

/// Why a machine cannot be considered whatever it costs; *refused says whether there is a reason.
static mds_status look_at(const mds_plan_catalog *c, mds_plan *p, const mds_plan_machine *m, bool *refused)
{
    const mds_plan_request *r = &p->request;
    const plan_provider    *provider = plan_provider_find(c, m->provider);
    const int               before = p->n_refused;
    const double            gpu = plan_memory_gpu(&r->work), host = plan_memory_host(&r->work);
    mds_status              status = MDS_OK;

    *refused = true;
    if (r->providers && !in_list(r->providers, m->provider))
        status = refuse(p, m, "were not asked for", "provider not asked for");
    else if (r->regions && !in_list(r->regions, m->region))
        status = refuse(p, m, "were not asked for", "region not asked for");
    else if (r->device != MDS_PLAN_ANY_DEVICE && (r->device == MDS_PLAN_GPU_ONLY) != (m->gpus > 0))
        status = refuse(p, m, "were not asked for", m->gpus ? "has a GPU, and CPUs were asked for" : "has no GPU");
    else if (m->dropped)
        status = refuse(p, m, NULL, "%s", m->dropped);
    else if (m->doubt && !r->force)
        status = refuse(p, m, NULL, "price not believed: %s", m->doubt);
    else if (r->security == MDS_PLAN_SECURITY_PRIVATE && !(provider && provider->private_network && provider->encrypted_disk))
        status = refuse(p, m, NULL, "not known to give a private network and encrypted disks");
    else if (m->gpus && !m->gpu)
        status = refuse(p, m, NULL, "no hardware facts about a GPU '%s'", m->gpu_name);
    else if (m->gpus && !(m->gpu->tflops > 0 && m->gpu->bandwidth > 0))
        status = refuse(p, m, NULL, "speed or bandwidth of the GPU '%s' not read", m->gpu->key);
    else if (!m->gpus && isnan(m->cores) && isnan(m->vcpus))
        status = refuse(p, m, NULL, "number of cores not read");
    else if (isnan(m->on_demand) && isnan(m->spot_high))
        status = refuse(p, m, NULL, "no price read");
    else if (m->gpus && gpu > USABLE_MEMORY * m->gpu_memory)
        status = refuse(p, m, NULL, "needs about %.1f GiB of GPU memory, has %.1f", gpu, m->gpu_memory);
    else if (host > USABLE_MEMORY * m->memory)
        status = refuse(p, m, NULL, "needs about %.1f GiB of memory, has %.1f", host, m->memory);
    *refused = p->n_refused > before;
    return status;
}

// -------------------------------------------------------------------------------------------- ways of use

typedef struct {
    plan_share share;
    plan_speed speed;
    int        gpus_used;
} use;

static double cores_of(const mds_plan_machine *m)
{
    return !isnan(m->cores) ? m->cores : !isnan(m->vcpus) ? fmax(1, floor(m->vcpus / 2)) : 1; // two hardware threads a core, unless said
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/// Time for all replicas in units of one replica's length; the fewer the better.
static double rounds(const mds_plan_request *r, const use *u)
{
    return ceil((double)r->replicas / u->share.runs) / u->speed.ns_per_day;
}

/// Better: fast enough at the low end; then all replicas sooner; then each sooner; then with less of the machine.
static bool better(const mds_plan_request *r, const use *a, const use *b)
{
    const bool   fast_a = !(a->speed.low < r->ns_per_day), fast_b = !(b->speed.low < r->ns_per_day);
    const double ta = rounds(r, a), tb = rounds(r, b);

    if (fast_a != fast_b) return fast_a;
    if (ta != tb) return ta < tb;
    return a->speed.ns_per_day > b->speed.ns_per_day;
}

static void try_use(const mds_plan_catalog *c, const mds_plan_request *r, const mds_plan_machine *m, const plan_share *share, int gpus, use *best,
                    bool *any)
{
    use u = {.share = *share, .gpus_used = gpus};

    plan_predict(c, &r->work, m, share, &u.speed);
    if (!*any || better(r, &u, best)) *best = u;
    *any = true;
}

/// The best way to use a machine, and in `next` the same run on twice the GPUs or threads, if there were any left.
static void best_use(const mds_plan_catalog *c, const mds_plan_request *r, const mds_plan_machine *m, use *best, use *next, bool *has_next)
{
    const double cores = cores_of(m), vcpus = !isnan(m->vcpus) ? m->vcpus : 2 * cores;
    const int    hosts = (int)fmin(1e6, fmin(vcpus, USABLE_MEMORY * fmin(m->memory, 1e9) / plan_memory_host(&r->work))); // runs the host can carry
    const int    most = r->max_ranks > 0 ? smaller(r->max_ranks, m->gpus) : m->gpus;
    bool         any = false;
    int          ranks, packed, runs, threads;

    if (m->gpus)
        for (ranks = 1; ranks <= most; ranks *= 2)
            for (packed = 1; packed <= (ranks == 1 ? 8 : 1); packed *= 2) {
                const int places = smaller(m->gpus / ranks * packed, hosts > 1 ? hosts : 1);

                runs = smaller(r->replicas, places);
                if (packed > 1 && (runs <= m->gpus || packed * plan_memory_gpu(&r->work) > USABLE_MEMORY * m->gpu_memory)) continue;
                threads = (int)fmax(1, floor(cores / runs));
                try_use(c, r, m, &(plan_share){threads, ranks, packed, runs}, smaller((runs + packed - 1) / packed * ranks, m->gpus), best, &any);
            }
    else
        for (runs = 1; runs <= smaller(r->replicas, (int)cores); runs = runs < r->replicas && 2 * runs > r->replicas ? r->replicas : 2 * runs)
            for (threads = (int)(cores / runs); threads >= 1 && (runs <= hosts || runs == 1); threads = runs == 1 ? threads / 2 : 0)
                try_use(c, r, m, &(plan_share){threads, 0, 1, runs}, 0, best, &any);
    *has_next = r->replicas == 1 && (m->gpus ? 2 * best->share.ranks <= most : 2 * best->share.threads <= (int)cores);
    if (!*has_next) return;
    *next = *best;
    if (m->gpus)
        next->share.ranks *= 2;
    else
        next->share.threads *= 2;
    plan_predict(c, &r->work, m, &next->share, &next->speed);
}

// ------------------------------------------------------------------------------------------------- options

/// What a machine costs an hour at a kind of price: as read, and between which bounds; false: no such price.
static bool price_of(const mds_plan_catalog *c, const mds_plan_request *r, const mds_plan_machine *m, mds_plan_price kind, mds_plan_option *o)
{
    const double age = plan_age_factor(m->as_of, c->as_of, NULL);
    double       low = m->on_demand, high = m->on_demand;

    if (kind == MDS_PLAN_SPOT) {
        low = m->spot_low;
        high = m->spot_high;
    } else if (kind == MDS_PLAN_RESERVED) {
        low = high = (1 - r->reserved) * m->on_demand;
    }
    o->price = kind;
    o->usd_per_h = high;
    o->usd_per_h_low = low / age;
    o->usd_per_h_high = high * age;
    return high > 0;
}

static void add_reason(mds_text *text, const char *fmt, ...) MDS_PRINTF(2, 3);
static void add_reason(mds_text *text, const char *fmt, ...)
{
    va_list args;

    if (text->n) mds_text_add(text, "; ");
    va_start(args, fmt);
    mds_text_add_v(text, fmt, args);
    va_end(args);
}

/// Fill speed, cost and verdict of an option whose machine and price are known.
static void weigh(const mds_plan_request *r, const use *u, mds_plan_option *o, mds_text *why)
{
    const bool   spot = o->price == MDS_PLAN_SPOT;
    const double factor = spot ? plan_spot_factor(&r->work, r->interruptions, r->restart) : 1;
    const double batches = ceil((double)r->replicas / u->share.runs), days = batches * r->length / u->speed.ns_per_day * factor;
    const double slow = u->speed.ns_per_day / u->speed.low;
    char         a[24], b[24];

    o->runs = u->share.runs;
    o->ranks = u->share.ranks ? u->share.ranks : 1;
    o->gpus_used = u->gpus_used;
    o->runs_per_gpu = u->share.runs_per_gpu;
    o->threads = u->share.threads;
    o->ns_per_day = u->speed.ns_per_day;
    o->ns_per_day_low = u->speed.low;
    o->ns_per_day_high = u->speed.high;
    o->basis = u->speed.basis;
    o->why = u->speed.why;
    o->usd_per_us = o->usd_per_h * 24000 / (o->ns_per_day * o->runs) * factor;
    o->usd_per_us_low = o->usd_per_h_low * 24000 / (o->ns_per_day_high * o->runs) * factor;
    o->usd_per_us_high = o->usd_per_h_high * 24000 / (o->ns_per_day_low * o->runs) * factor;
    o->hours = 24 * days;
    o->hours_high = o->hours * slow;
    o->usd_total = o->hours * o->usd_per_h;
    o->usd_total_high = o->hours_high * o->usd_per_h_high;
    o->wh_per_ns = o->machine->gpus ? o->gpus_used * o->machine->gpu->tdp * 24 / (o->ns_per_day * o->runs) : NAN;
    o->memory_gib = o->machine->gpus ? plan_memory_gpu(&r->work) * o->runs_per_gpu : plan_memory_host(&r->work) * o->runs;
    o->checkpoint_minutes = spot ? 60 * plan_checkpoint_hours(&r->work, r->interruptions) : NAN;
    if (o->ns_per_day_low < r->ns_per_day)
        add_reason(why, "%s ns/day at the low end, %s asked", plan_short(o->ns_per_day_low, a), plan_short(r->ns_per_day, b));
    if (o->usd_per_h > r->max_price)
        add_reason(why, "the spot price was up to $%s/h, above $%s", plan_short(o->usd_per_h, a), plan_short(r->max_price, b));
    if (o->usd_total_high > r->budget)
        add_reason(why, "up to $%s in all, above $%s", plan_short(o->usd_total_high, a), plan_short(r->budget, b));
    if (o->hours_high > r->deadline)
        add_reason(why, "up to %s h, deadline %s", plan_short(o->hours_high, a), plan_short(r->deadline, b));
    o->meets = !why->n;
}

static mds_status note_of(const mds_plan_machine *m, const use *u, const use *next, bool has_next, mds_text *note)
{
    const int    now = m->gpus ? u->share.ranks : u->share.threads;
    const double all = m->gpus ? m->gpus : cores_of(m);
    char         a[24];

    if (m->doubt) add_reason(note, "FORCED: %s", m->doubt);
    if (u->share.ranks > 1) add_reason(note, "one run on %d GPUs: mdsim has no such runs yet", u->share.ranks);
    if (u->share.runs > 1 && u->share.runs_per_gpu > 1) add_reason(note, "%d runs packed on a GPU", u->share.runs_per_gpu);
    if (has_next)
        add_reason(note, "%d of %.0f %s: %d would %s (%s ns/day)", now, all, m->gpus ? "GPUs" : "cores", 2 * now,
                   next->speed.ns_per_day < u->speed.ns_per_day ? "be slower" : "be faster if an estimate is right", plan_short(next->speed.ns_per_day, a));
    if (!m->gpus && !*m->cpu) add_reason(note, "CPU not named: taken as a plain one");
    MDS_CHECK(!note->failed, MDS_E_MEMORY, "out of memory for a note");
    return MDS_OK;
}

static mds_status add_option(const mds_plan_catalog *c, mds_plan *p, const mds_plan_machine *m, mds_plan_price kind, const use *u, const char *note,
                             mds_text *too_dear)
{
    mds_plan_option o = {.machine = m};
    mds_text        why = {0};
    char            a[24], b[24];

    if (!price_of(c, &p->request, m, kind, &o)) return MDS_OK;
    if ((kind == MDS_PLAN_SPOT ? m->spot_low : o.usd_per_h) > p->request.max_price) {
        add_reason(too_dear, "$%s/h %s, above $%s", plan_short(o.usd_per_h, a), mds_plan_price_name(kind), plan_short(p->request.max_price, b));
        return MDS_OK;
    }
    weigh(&p->request, u, &o, &why);
    o.reason = why.s;
    if (why.failed || mds_grow(&p->option, &p->cap_option, (size_t)p->n + 1, sizeof *p->option) != MDS_OK ||
        (note && mds_copy_text(&o.note, note, SIZE_MAX) != MDS_OK)) {
        mds_text_free(&why);
        MDS_FAIL(MDS_E_MEMORY, "out of memory for an option");
    }
    p->option[p->n++] = o;
    return MDS_OK;
}

static mds_status add_machine(const mds_plan_catalog *c, mds_plan *p, const mds_plan_machine *m)
{
    const mds_plan_request *r = &p->request;
    const int               before = p->n;
    mds_text                note = {0}, too_dear = {0};
    bool                    refused, has_next;
    use                     u = {0}, next = {0};
    mds_status              status;

    MDS_TRY(look_at(c, p, m, &refused));
    if (refused) return MDS_OK;
    best_use(c, r, m, &u, &next, &has_next);
    status = note_of(m, &u, &next, has_next, &note);
    if (status == MDS_OK) status = add_option(c, p, m, MDS_PLAN_ON_DEMAND, &u, note.s, &too_dear);
    if (status == MDS_OK && r->spot) status = add_option(c, p, m, MDS_PLAN_SPOT, &u, note.s, &too_dear);
    if (status == MDS_OK && !isnan(r->reserved)) status = add_option(c, p, m, MDS_PLAN_RESERVED, &u, note.s, &too_dear);
    if (status == MDS_OK && p->n == before)
        status = refuse(p, m, too_dear.n ? "are dearer than the limit" : NULL, "%s", too_dear.n ? too_dear.s : r->spot ? "no price read" : "no on-demand price read, and spot was not asked for");
    mds_text_free(&note);
    mds_text_free(&too_dear);
    return status;
}

// --------------------------------------------------------------------------------------------------- order

static double cost_key(const mds_plan_option *o)
{
    return isnan(o->usd_total) ? o->usd_per_us : o->usd_total;
}

static int order_of(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_rank(const void *a, const void *b, void *arg)
{
    const mds_plan_option *p = a, *q = b;
    const bool             fastest = *(const mds_plan_objective *)arg == MDS_PLAN_FASTEST;
    const int              cost = order_of(cost_key(p), cost_key(q)), speed = -order_of(p->ns_per_day, q->ns_per_day);

    if (p->meets != q->meets) return p->meets ? -1 : 1;
    if (fastest && speed) return speed;
    if (cost) return cost;
    if (speed) return speed;
    if (p->machine != q->machine) return p->machine < q->machine ? -1 : 1; // both lie in one array: table order
    return (p->price > q->price) - (p->price < q->price);
}

static int by_cost(const void *a, const void *b)
{
    const mds_plan_option *p = *(mds_plan_option *const *)a, *q = *(mds_plan_option *const *)b;
    const int              cost = order_of(p->usd_per_us, q->usd_per_us);

    return cost ? cost : -order_of(p->ns_per_day, q->ns_per_day);
}

/// The front: nothing else is both at least as fast and at most as dear, and better in one of the two.
static mds_status mark_pareto(mds_plan *p)
{
    mds_plan_option **list = NULL;
    double            fastest = 0;
    int               k;

    MDS_TRY(mds_alloc(&list, (size_t)p->n, sizeof(mds_plan_option *)));
    for (k = 0; k < p->n; k++) list[k] = &p->option[k];
    if (p->n) qsort(list, (size_t)p->n, sizeof(mds_plan_option *), by_cost);
    for (k = 0; k < p->n; k++) {
        list[k]->pareto = list[k]->ns_per_day > fastest;
        fastest = fmax(fastest, list[k]->ns_per_day);
    }
    mds_free(list);
    return MDS_OK;
}

mds_status mds_plan_make(const mds_plan_catalog *c, const mds_plan_request *request, mds_plan *out)
{
    mds_status status;
    size_t     k;
    int        i;

    *out = (mds_plan){.request = *request};
    status = check_request(c, request);
    for (k = 0; k < c->n_machine && status == MDS_OK; k++) status = add_machine(c, out, &c->machine[k]);
    if (status == MDS_OK) status = mark_pareto(out);
    if (status != MDS_OK) {
        mds_plan_free(out);
        return status;
    }
    if (out->n) qsort_r(out->option, (size_t)out->n, sizeof *out->option, by_rank, &out->request.objective);
    for (i = 0; i < out->n; i++) out->option[i].rank = i + 1;
    return MDS_OK;
}

void mds_plan_free(mds_plan *p)
{
    int k;

    for (k = 0; k < p->n; k++) {
        mds_free(p->option[k].reason);
        mds_free(p->option[k].note);
    }
    for (k = 0; k < p->n_refused; k++) mds_free(p->refused[k].reason);
    mds_free(p->option);
    mds_free(p->refused);
    *p = (mds_plan){0};
}

mds_status mds_plan_pick(const mds_plan *p, const char *what, const mds_plan_option **out)
{
    char *end;
    long  rank = strtol(what, &end, 10);
    int   k;

    *out = NULL;
    if (end != what && !*end) {
        MDS_CHECK(rank >= 1 && rank <= p->n, MDS_E_USAGE, "there is no rank %ld: 1 to %d", rank, p->n);
        *out = &p->option[rank - 1];
        return MDS_OK;
    }
    for (k = 0; k < p->n && !*out; k++) {
        const mds_plan_machine *m = p->option[k].machine;
        mds_text                full = {0};

        mds_text_add(&full, "%s/%s/%s", m->provider, m->region, m->instance);
        if (!strcmp(m->instance, what) || (full.s && !strcmp(full.s, what))) *out = &p->option[k];
        mds_text_free(&full);
    }
    for (k = 0; k < p->n_refused && !*out; k++)
        if (!strcmp(p->refused[k].machine->instance, what)) MDS_FAIL(MDS_E_USAGE, "%s is refused: %s", what, p->refused[k].reason);
    MDS_CHECK(*out, MDS_E_USAGE, "no option '%s'; give a rank, an instance, or provider/region/instance", what);
    return MDS_OK;
}
