// SPDX-License-Identifier: Apache-2.0
// The answer as JSON: the keys of the contract, and more. What is not known is null.
#include "plan/inside.h"

#include <string.h>

static void number(mds_text *out, const char *key, double value)
{
    mds_text_add(out, ", \"%s\": ", key);
    if (isfinite(value))
        mds_text_add(out, "%.8g", value);
    else
        mds_text_add(out, "null");
}

static void text(mds_text *out, const char *key, const char *value)
{
    mds_text_add(out, ", \"%s\": ", key);
    if (value)
        mds_text_add_json(out, value);
    else
        mds_text_add(out, "null");
}

static void request(const mds_plan *p, mds_text *out)
{
    const mds_plan_request *r = &p->request;
    const mds_plan_work    *w = &r->work;

    mds_text_add(out, "  \"request\": { \"atoms\": %.0f", w->atoms);
    text(out, "input", w->name);
    number(out, "pairs", w->pairs);
    number(out, "cutoff_nm", w->cut);
    number(out, "mesh_points", w->mesh_points);
    number(out, "mesh_order", w->mesh_order);
    number(out, "dt_fs", 1e3 * w->dt);
    number(out, "force_error", w->force_error);
    number(out, "ns_per_day", r->ns_per_day);
    number(out, "max_price", r->max_price);
    number(out, "length_ns", r->length);
    number(out, "budget", r->budget);
    number(out, "deadline_h", r->deadline);
    number(out, "replicas", r->replicas);
    number(out, "reserved_discount", r->reserved);
    number(out, "interruptions_per_h", r->interruptions);
    number(out, "restart_h", r->restart);
    text(out, "providers", r->providers);
    text(out, "regions", r->regions);
    text(out, "objective", r->objective == MDS_PLAN_FASTEST ? "fastest" : "cheapest");
    text(out, "security", r->security == MDS_PLAN_SECURITY_PRIVATE ? "private" : "open");
    mds_text_add(out, ", \"spot\": %s, \"force\": %s },\n", r->spot ? "true" : "false", r->force ? "true" : "false");
}

static void answers(const mds_plan_catalog *c, const mds_plan *p, mds_text *out)
{
    const mds_plan_request *r = &p->request;
    const double            bytes = plan_trajectory_bytes(&r->work, r->length) * r->replicas;
    const mds_plan_option  *cheapest = plan_cheapest(p), *fastest = plan_fastest(p);
    size_t                  k, n = 0;

    mds_text_add(out, "  \"price_rows\": { \"read\": %d, \"with_gpus\": %d, \"cpu_only\": %d, \"dated\": %d, \"superseded\": %d, \"sha256\": \"%s\" },\n", c->n_read,
                 c->n_read_gpu, c->n_read - c->n_read_gpu, c->n_dated, c->n_superseded, c->hash);
    mds_text_add(out, "  \"gpu_engine\": %s,\n", r->gpu_engine ? "true" : "false");
    mds_text_add(out, "  \"answers\": { \"host_memory_gib\": %.4g", plan_memory_host(&r->work));
    number(out, "gpu_memory_gib", plan_memory_gpu(&r->work));
    number(out, "trajectory_gb", bytes / 1e9);
    number(out, "checkpoint_minutes", 60 * plan_checkpoint_hours(&r->work, r->interruptions));
    number(out, "spot_time_factor", plan_spot_factor(&r->work, r->interruptions, r->restart));
    number(out, "cheapest_rank", cheapest ? (double)cheapest->rank : (double)NAN);
    number(out, "fastest_rank", fastest ? (double)fastest->rank : (double)NAN);
    mds_text_add(out, ",\n    \"storage\": [");
    for (k = 0; k < c->n_storage; k++) {
        mds_text_add(out, "%s\n      { \"class\": ", n++ ? "," : "");
        mds_text_add_json(out, c->storage[k].kind);
        text(out, "provider", c->storage[k].provider);
        text(out, "name", c->storage[k].name);
        number(out, "usd_per_gb_month", c->storage[k].usd_per_gb_month);
        number(out, "usd_per_month", c->storage[k].usd_per_gb_month * bytes / 1e9);
        mds_text_add(out, " }");
    }
    mds_text_add(out, "\n    ] },\n");
}

static void option(const mds_plan_catalog *c, const mds_plan_option *o, mds_text *out)
{
    const mds_plan_machine *m = o->machine;
    const char             *age;
    char                    day[24];

    plan_age_factor(m->as_of, c->as_of, &age);
    mds_text_add(out, "    { \"rank\": %d", o->rank);
    text(out, "provider", m->provider);
    text(out, "region", m->region);
    text(out, "instance", m->instance);
    text(out, "gpu", o->gpus_used ? m->gpu->key : NULL);
    number(out, "gpus_used", o->gpus_used);
    number(out, "gpus_in_machine", m->gpus);
    number(out, "runs_per_gpu", o->runs_per_gpu);
    number(out, "runs", o->runs);
    number(out, "ranks", o->ranks);
    number(out, "threads", o->threads);
    number(out, "ns_per_day", o->ns_per_day);
    number(out, "ns_per_day_low", o->ns_per_day_low);
    number(out, "ns_per_day_high", o->ns_per_day_high);
    text(out, "basis", mds_plan_basis_name(o->basis));
    text(out, "basis_text", o->why);
    text(out, "price_kind", mds_plan_price_name(o->price));
    number(out, "usd_per_h", o->usd_per_h);
    number(out, "usd_per_h_low", o->usd_per_h_low);
    number(out, "usd_per_h_high", o->usd_per_h_high);
    text(out, "price_date", m->as_of == MDS_PLAN_UNDATED ? NULL : plan_date_text(m->as_of, day));
    text(out, "price_warning", age);
    text(out, "price_source", m->source);
    number(out, "usd_per_us", o->usd_per_us);
    number(out, "usd_per_us_low", o->usd_per_us_low);
    number(out, "usd_per_us_high", o->usd_per_us_high);
    number(out, "hours", o->hours);
    number(out, "hours_high", o->hours_high);
    number(out, "usd_total", o->usd_total);
    number(out, "usd_total_high", o->usd_total_high);
    number(out, "wh_per_ns", o->wh_per_ns);
    number(out, "memory_gib", o->memory_gib);
    number(out, "checkpoint_minutes", o->checkpoint_minutes);
    mds_text_add(out, ", \"meets\": %s, \"pareto\": %s", o->meets ? "true" : "false", o->pareto ? "true" : "false");
    text(out, "reason", o->reason);
    text(out, "note", o->note);
    mds_text_add(out, " }");
}

void mds_plan_json(const mds_plan_catalog *c, const mds_plan *p, mds_text *out)
{
    char day[24];
    int  k;

    mds_text_add(out, "{\n");
    request(p, out);
    mds_text_add(out, "  \"prices_as_of\": \"%s\",\n", plan_date_text(c->as_of, day));
    answers(c, p, out);
    mds_text_add(out, "  \"options\": [");
    for (k = 0; k < p->n; k++) {
        mds_text_add(out, "%s\n", k ? "," : "");
        option(c, &p->option[k], out);
    }
    mds_text_add(out, "\n  ],\n  \"refused\": [");
    for (k = 0; k < p->n_refused; k++) {
        const mds_plan_machine *m = p->refused[k].machine;

        mds_text_add(out, "%s\n    { \"provider\": ", k ? "," : "");
        mds_text_add_json(out, m->provider);
        text(out, "region", m->region);
        text(out, "instance", m->instance);
        text(out, "reason", p->refused[k].reason);
        mds_text_add(out, " }");
    }
    mds_text_add(out, "\n  ]\n}\n");
}
