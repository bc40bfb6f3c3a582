// SPDX-License-Identifier: Apache-2.0
// The answer as text: what was asked, the table, the questions of a selection guide, and what fell out.
#include "plan/inside.h"

#include <string.h>
#include <strings.h>

#define GB 1e9

static const char *thousands(double value, char room[24])
{
    char   digits[24];
    size_t n, k, at = 0;
    mds_text t = {0};

    mds_text_add(&t, "%.0f", value);
    n = t.s && t.n < 16 ? t.n : 0;
    memcpy(digits, t.s ? t.s : "", n);
    mds_text_free(&t);
    for (k = 0; k < n; k++) {
        if (k && (n - k) % 3 == 0) room[at++] = ',';
        room[at++] = digits[k];
    }
    room[at] = '\0';
    return room;
}

static void print_asked(const mds_plan_catalog *c, const mds_plan *p)
{
    const mds_plan_request *r = &p->request;
    const mds_plan_work    *w = &r->work;
    char                    a[24], b[24];

    mds_print("%s%s%s atoms, cut-off %g nm: %s pairs a step; ", w->name ? w->name : "", w->name ? ": " : "", thousands(w->atoms, a), w->cut,
              thousands(w->pairs, b));
    if (w->mesh_points > 0)
        mds_print("mesh of %s points, order %d; ", thousands(w->mesh_points, a), w->mesh_order);
    else
        mds_print("no mesh; ");
    mds_print("time step %g fs\nasked:", 1e3 * w->dt);
    if (!isnan(r->ns_per_day)) mds_print(" at least %s ns/day each;", plan_short(r->ns_per_day, a));
    if (!isnan(r->max_price)) mds_print(" at most $%s/h;", plan_short(r->max_price, a));
    if (!isnan(r->length)) mds_print(" %d x %s ns;", r->replicas, plan_short(r->length, a));
    if (isnan(r->length) && r->replicas > 1) mds_print(" %d replicas;", r->replicas);
    if (!isnan(r->budget)) mds_print(" at most $%s in all;", plan_short(r->budget, a));
    if (!isnan(r->deadline)) mds_print(" within %s h;", plan_short(r->deadline, a));
    mds_print(" %s; %s first\n", r->spot ? "spot may be used" : "no spot", r->objective == MDS_PLAN_FASTEST ? "fastest" : "cheapest");
    mds_print("prices: %d rows, %d with GPUs and %d of CPUs alone; %d of them dated, %d older quotes left out; as of %s\n", c->n_read, c->n_read_gpu,
              c->n_read - c->n_read_gpu, c->n_dated, c->n_superseded, plan_date_text(c->as_of, a));
}

static void print_warnings(const mds_plan_catalog *c, const mds_plan *p)
{
    int k, n_old = 0, n_gpu = 0, n_modelled = 0;

    for (k = 0; k < p->n; k++) {
        n_old += plan_age_factor(p->option[k].machine->as_of, c->as_of, NULL) > 1;
        n_gpu += p->option[k].gpus_used > 0;
        n_modelled += p->option[k].basis == MDS_PLAN_MODELLED;
    }
    if (n_gpu)
        mds_print("%s: the speeds of all %d options with GPUs are estimates of a design.\n",
                  p->request.gpu_engine ? "NO GPU HAS BEEN MEASURED YET" : "THIS BUILD HAS NO GPU ENGINE, and no GPU has been measured yet", n_gpu);
    if (n_modelled)
        mds_print("%d of %d options are design estimates (nothing like them was ever measured): true within a factor of 3, if that.\n", n_modelled, p->n);
    if (n_old) mds_print("%d of %d prices are undated or older than 180 days: examples, not offers. Their dollar intervals are widened by x/: 1.5.\n", n_old, p->n);
}

// --------------------------------------------------------------------------------------------------- table

enum { COLUMNS = 14, WIDEST = 40 };

/// The cells of one option as text.
static void cells(const mds_plan_option *o, char cell[COLUMNS][64])
{
    const mds_plan_machine *m = o->machine;
    mds_text                t[COLUMNS] = {{0}};
    char                    a[24], b[24];
    int                     k;

    mds_text_add(&t[0], "%d%s", o->rank, o->pareto ? "*" : "");
    mds_text_add(&t[1], "%s", m->provider);
    mds_text_add(&t[2], "%s", m->region);
    mds_text_add(&t[3], "%s", m->instance);
    if (o->gpus_used)
        mds_text_add(&t[4], "%d of %d %s", o->gpus_used, m->gpus, m->gpu->key);
    else
        mds_text_add(&t[4], "%d cores", o->threads * o->runs);
    if (o->runs > 1) mds_text_add(&t[4], ", %d runs", o->runs);
    mds_text_add(&t[5], "%s", mds_plan_price_name(o->price));
    mds_text_add(&t[6], "%s", plan_short(o->usd_per_h, a));
    mds_text_add(&t[7], "%s", plan_short(o->ns_per_day, a));
    mds_text_add(&t[8], "%s-%s", plan_short(o->ns_per_day_low, a), plan_short(o->ns_per_day_high, b));
    mds_text_add(&t[9], "%s", plan_short(o->usd_per_us, a));
    mds_text_add(&t[10], "%s", plan_short(o->hours, a));
    mds_text_add(&t[11], "%s", plan_short(o->usd_total, a));
    mds_text_add(&t[12], "%s", plan_short(o->wh_per_ns, a));
    mds_text_add(&t[13], "%s of %s", plan_short(o->memory_gib, a), plan_short(m->gpus ? m->gpu_memory : m->memory, b));
    for (k = 0; k < COLUMNS; k++) {
        const size_t n = t[k].s ? plan_cut(t[k].s, WIDEST) : 0;

        memcpy(cell[k], t[k].s ? t[k].s : "", t[k].s ? n : 0);
        cell[k][n] = '\0';
        mds_text_free(&t[k]);
    }
}

static void print_row(char cell[COLUMNS][64], const int *width, const char *rest)
{
    int k;

    for (k = 0; k < COLUMNS; k++) mds_print(k >= 1 && k <= 5 ? "%-*s  " : "%*s  ", width[k], cell[k]);
    mds_print("%s\n", rest);
}

static void print_table(const mds_plan *p, int top)
{
    static const char *const titles[COLUMNS] = {"#", "provider", "region", "instance", "uses", "price", "$/h", "ns/day", "interval", "$/us", "hours",
                                                "$ in all", "Wh/ns", "GiB"};
    char                     cell[COLUMNS][64];
    int                      width[COLUMNS], k, i, n = p->n < top ? p->n : top;

    for (i = 0; i < COLUMNS; i++) width[i] = (int)strlen(titles[i]);
    for (k = 0; k < n; k++) {
        cells(&p->option[k], cell);
        for (i = 0; i < COLUMNS; i++) width[i] = (int)fmax(width[i], (double)strlen(cell[i]));
    }
    for (i = 0; i < COLUMNS; i++) memcpy(cell[i], titles[i], strlen(titles[i]) + 1);
    mds_print("\n");
    print_row(cell, width, "basis");
    for (k = 0; k < n; k++) {
        const mds_plan_option *o = &p->option[k];
        mds_text               rest = {0};

        cells(o, cell);
        mds_text_add(&rest, "%s%s%s", o->basis == MDS_PLAN_MODELLED ? "design estimate" : mds_plan_basis_name(o->basis), o->meets ? "" : "; DOES NOT MEET: ",
                     o->meets ? "" : o->reason);
        if (o->note) mds_text_add(&rest, "; %s", o->note);
        print_row(cell, width, rest.s ? rest.s : "");
        mds_text_free(&rest);
    }
    mds_print("(* on the front of speed against cost; $/us and hours of spot prices count lost work and restarts; GiB: needed, of a GPU or the host)\n");
    if (n < p->n) mds_print("... and %d more options (--top N, --json FILE)\n", p->n - n);
}

// ------------------------------------------------------------------------------------------------- answers

static void name_option(const char *title, const mds_plan_option *o)
{
    char a[24], b[24], c[24];

    if (!o) {
        mds_print("%s: none\n", title);
        return;
    }
    mds_print("%s: #%d %s %s %s, %s: %s ns/day, $%s/h, $%s/us\n", title, o->rank, o->machine->provider, o->machine->region, o->machine->instance,
              mds_plan_price_name(o->price), plan_short(o->ns_per_day, a), plan_short(o->usd_per_h, b), plan_short(o->usd_per_us, c));
}

const mds_plan_option *plan_cheapest(const mds_plan *p)
{
    const mds_plan_option *best = NULL;
    int                    k;

    for (k = 0; k < p->n; k++) {
        const mds_plan_option *o = &p->option[k];

        if (o->meets && (!best || (isnan(o->usd_total) ? o->usd_per_us < best->usd_per_us : o->usd_total < best->usd_total))) best = o;
    }
    return best;
}

const mds_plan_option *plan_fastest(const mds_plan *p)
{
    const mds_plan_option *best = NULL;
    int                    k;

    for (k = 0; k < p->n; k++)
        if (p->option[k].meets && (!best || p->option[k].ns_per_day > best->ns_per_day)) best = &p->option[k];
    return best;
}

static void print_compute(const mds_plan_catalog *c, const mds_plan *p, const mds_plan_option *o)
{
    const plan_share share = {o->threads, o->gpus_used ? o->ranks : 0, o->runs_per_gpu, o->runs};
    plan_speed       speed;
    double           sum = 0;
    int              k;

    plan_predict(c, &p->request.work, o->machine, &share, &speed);
    for (k = 0; k < PLAN_N_STAGES; k++) sum += speed.stage[k];
    mds_print("compute need: on #%d a step takes %.3g ms:", o->rank, 86.4e3 * p->request.work.dt / o->ns_per_day);
    for (k = 0; k < PLAN_N_STAGES; k++)
        if (speed.stage[k] > 0) mds_print(" %s %.0f %%,", plan_stage_name[k], 100 * speed.stage[k] / sum);
    mds_print(" as modelled; the speed is %s\n", o->why);
}

static void print_data(const mds_plan_catalog *c, const mds_plan *p, const mds_plan_option *o)
{
    const mds_plan_request *r = &p->request;
    const double            bytes = plan_trajectory_bytes(&r->work, r->length) * r->replicas;
    char                    a[24], b[24];
    size_t                  k;

    mds_print("memory and data: a run needs %s GiB of host memory, or %s GiB of GPU memory (estimate)", plan_short(plan_memory_host(&r->work), a),
              plan_short(plan_memory_gpu(&r->work), b));
    if (isnan(bytes)) {
        mds_print("; trajectory: %s MB a frame\n", plan_short(1e-6 * r->work.frame_bytes, a));
        return;
    }
    mds_print("; trajectories %s GB", plan_short(bytes / GB, a));
    for (k = 0; k < c->n_storage; k++)
        if (!strcasecmp(c->storage[k].provider, o->machine->provider) && strcmp(c->storage[k].kind, "archive"))
            mds_print("; %s (%s class) $%s a month", c->storage[k].name, c->storage[k].kind, plan_short(c->storage[k].usd_per_gb_month * bytes / GB, a));
    mds_print(" (storage and transfer out are in no total)\n");
}

static void print_security(const mds_plan_catalog *c, const mds_plan *p, const mds_plan_option *o)
{
    const mds_plan_request *r = &p->request;
    const plan_provider    *provider = plan_provider_find(c, o->machine->provider);

    mds_print("security: %s; #%d in %s: private network %s, encrypted disks %s; regions %s\n",
              r->security == MDS_PLAN_SECURITY_PRIVATE ? "private asked: only providers known to give it" : "open: --security private refuses what cannot give more",
              o->rank, o->machine->region, provider ? provider->private_network ? "yes" : "no" : "not known",
              provider ? provider->encrypted_disk ? "yes" : "no" : "not known", r->regions ? r->regions : "any (--only-regions)");
}

/// What the same hours on the first machine cost at other kinds of price.
static void print_sensitivity(const mds_plan *p, const mds_plan_option *o)
{
    const mds_plan_request *r = &p->request;
    const mds_plan_machine *m = o->machine;
    const double            factor = plan_spot_factor(&r->work, r->interruptions, r->restart);
    const double            plain = o->price == MDS_PLAN_SPOT ? o->usd_per_us / o->usd_per_h / factor : o->usd_per_us / o->usd_per_h;
    const double            discount = isnan(r->reserved) ? 0.4 : r->reserved;
    char                    a[24], b[24];

    mds_print("cost sensitivity of #%d, $/us: on demand %s", o->rank, plan_short(plain * m->on_demand, a));
    if (!isnan(m->spot_high))
        mds_print(", spot %s to %s (band as read; %g interruptions an hour assumed)", plan_short(plain * factor * m->spot_low, a),
                  plan_short(plain * factor * m->spot_high, b), r->interruptions);
    mds_print(", reserved %s at a discount of %.0f %% (%s; pays if used more than %.0f %% of the term)\n", plan_short(plain * (1 - discount) * m->on_demand, a),
              100 * discount, isnan(r->reserved) ? "an example; --reserved" : "as given", 100 * (1 - discount));
    if (r->spot)
        mds_print("on spot: output.checkpoint_minutes = %.1f is best; a run then lasts %.1f %% longer (%.0f min from loss to the next step, nothing saved by the notice)\n",
                  60 * plan_checkpoint_hours(&r->work, r->interruptions), 100 * (factor - 1), 60 * r->restart);
}

// --------------------------------------------------------------------------------------------- fell out

/// How many share the group or, without one, the reason of refusal k; *first is the earliest, *cheapest the least dear.
static int sharing(const mds_plan *p, int k, int *first, int *cheapest)
{
    const mds_plan_refusal *r = &p->refused[k];
    int                     i, n = 0;

    for (i = 0; i < p->n_refused; i++) {
        const mds_plan_refusal *o = &p->refused[i];

        if (r->group ? !o->group || strcmp(o->group, r->group) : o->group || strcmp(o->reason, r->reason)) continue;
        if (!n++) *first = *cheapest = i;
        if (o->machine->on_demand < p->refused[*cheapest].machine->on_demand) *cheapest = i;
    }
    return n;
}

static void print_refused(const mds_plan *p)
{
    int k, first = 0, cheapest = 0;

    if (p->n_refused) mds_print("\nrefused:\n");
    for (k = 0; k < p->n_refused; k++) {
        const int               n = sharing(p, k, &first, &cheapest);
        const mds_plan_refusal *r = &p->refused[cheapest];

        if (first < k) continue; // said already
        if (r->group && n > 1)
            mds_print("  %d machines %s; the cheapest, %s %s %s: %s\n", n, r->group, r->machine->provider, r->machine->region, r->machine->instance, r->reason);
        else if (n > 1)
            mds_print("  %s %s %s and %d more: %s\n", p->refused[k].machine->provider, p->refused[k].machine->region, p->refused[k].machine->instance, n - 1, r->reason);
        else
            mds_print("  %s %s %s: %s\n", r->machine->provider, r->machine->region, r->machine->instance, r->reason);
    }
}

void mds_plan_print(const mds_plan_catalog *c, const mds_plan *p, int top)
{
    const mds_plan_option *first = p->n ? &p->option[0] : NULL;
    int                    k, n_meet = 0, n_front = 0;

    for (k = 0; k < p->n; k++) {
        n_meet += p->option[k].meets;
        n_front += p->option[k].pareto;
    }
    print_asked(c, p);
    print_warnings(c, p);
    if (!first) {
        mds_print("\nno machine is left\n");
        print_refused(p);
        return;
    }
    print_table(p, top);
    mds_print("\n");
    name_option("cheapest that meets", plan_cheapest(p));
    name_option("fastest that meets", plan_fastest(p));
    mds_print("%d of %d options meet what was asked; %d are on the front of speed against cost\n", n_meet, p->n, n_front);
    print_compute(c, p, first);
    print_data(c, p, first);
    print_security(c, p, first);
    print_sensitivity(p, first);
    print_refused(p);
}
