// SPDX-License-Identifier: Apache-2.0
// Guards that end a run with a good checkpoint before it takes or costs too much, and what a run has cost.
//
//   run.max_wall        hours of this launch, set-up included: what a batch system's limit counts
//   cost.max_cost       dollars of all launches. The sum lives in the checkpoint, at the price that each launch was told, so
//                       that neither a requeue nor a new price forgets or rewrites what has been spent
//   cost.stop_if_below  speed as a fraction of a measured prediction. Judged once 30 s of stepping have been seen; seconds
//                       and steps seen so far live in the checkpoint too, else a job preempted every 20 s would never be
//                       judged. Both are halved at 600 s: what happened long ago fades, a machine that turns slow is
//                       noticed within minutes. A stop by this guard clears them: another machine deserves its own trial
//
// What a launch does after its last checkpoint and before a kill is in no file, so it is not in the sum: every report says so.
#include "engine/engine.h"

#include <string.h>

static const double judge_from = 30, fade_at = 600; // s

static double hours_of_launch(const mds_sim *s)
{
    return (mds_clock() - s->guards.launched) / 3600;
}

static double spent_in_launch(const mds_sim *s)
{
    return s->config->cost.price_per_hour * hours_of_launch(s);
}

void mds_guard_start(mds_sim *s, const mds_checkpoint *chk)
{
    mds_guards *g = &s->guards;

    g->launched = s->began - mds_timer_seconds(MDS_T_SETUP);
    g->last_clock = s->began;
    g->last_step = s->step;
    g->spent_before = chk ? chk->spent : 0;
    g->seconds = chk ? chk->judged_seconds : 0;
    g->steps = chk ? chk->judged_steps : 0;
    g->judges_speed = s->config->cost.stop_if_below > 0 && s->config->run.integrator != MDS_INTEGRATOR_MINIMIZE; // which has no speed
    if (g->judges_speed && s->config->cost.predicted_basis != MDS_BASIS_MEASURED) {
        mds_warn("%s: cost.stop_if_below is off: the predicted speed is not a measured one (cost.predicted_basis), and a guess must "
                 "not stop a run", mds_config_origin(s->config, "cost.stop_if_below"));
        g->judges_speed = false;
    }
}

void mds_guard_keep(const mds_sim *s, mds_checkpoint *chk)
{
    const bool judged = s->guard && !strcmp(s->guard, "cost.stop_if_below");

    chk->spent = s->guards.spent_before + spent_in_launch(s);
    chk->judged_seconds = judged ? 0 : s->guards.seconds;
    chk->judged_steps = judged ? 0 : s->guards.steps;
}

static double ns_per_day(double steps, double seconds, double dt)
{
    return seconds > 0 ? steps * dt * 1e-3 * 86400 / seconds : 0;
}

/// Count what has been stepped since the last look.
static void watch_speed(mds_sim *s)
{
    mds_guards  *g = &s->guards;
    const double now = mds_clock();

    g->seconds += now - g->last_clock;
    g->steps += (double)(s->step - g->last_step);
    g->last_clock = now;
    g->last_step = s->step;
    if (g->seconds < fade_at) return;
    g->seconds /= 2;
    g->steps /= 2;
}

const char *mds_guard_tripped(mds_sim *s)
{
    const mds_config *c = s->config;
    mds_guards       *g = &s->guards;

    watch_speed(s);
    g->value = hours_of_launch(s);
    g->limit = c->run.max_wall;
    g->unit = "h";
    if (g->limit > 0 && g->value >= g->limit) return "run.max_wall";
    g->value = g->spent_before + spent_in_launch(s);
    g->limit = c->cost.max_cost;
    g->unit = "USD";
    // writing the last checkpoint is paid for too
    if (g->limit > 0 && g->value + c->cost.price_per_hour * s->checkpoint_seconds / 3600 >= g->limit) return "cost.max_cost";
    g->value = ns_per_day(g->steps, g->seconds, s->params.dt);
    g->limit = c->cost.stop_if_below * c->cost.predicted_ns_per_day;
    g->unit = "ns/day";
    if (g->judges_speed && g->seconds > judge_from && g->value < g->limit) return "cost.stop_if_below";
    return NULL;
}

/// USD so far, USD per ns and USD for the whole plan at the speed of this launch; the last two 0 while it is not known.
static void price(const mds_sim *s, double *spent, double *per_ns, double *total)
{
    const double speed = ns_per_day((double)(s->step - s->first_step), mds_clock() - s->began, s->params.dt);

    *spent = s->guards.spent_before + spent_in_launch(s);
    *per_ns = speed > 0 ? 24 * s->config->cost.price_per_hour / speed : 0;
    *total = speed > 0 ? *spent + *per_ns * (double)(s->last_step - s->step) * s->params.dt * 1e-3 : 0;
}

static bool has_price(const mds_sim *s)
{
    return s->config->cost.price_per_hour > 0 || s->guards.spent_before > 0;
}

void mds_guard_progress(const mds_sim *s, mds_text *out)
{
    double spent, per_ns, total;

    if (!has_price(s)) return;
    price(s, &spent, &per_ns, &total);
    mds_text_add(out, ", %.4g USD", spent);
    if (total > 0) mds_text_add(out, " of %.4g", total);
}

void mds_guard_report(const mds_sim *s)
{
    double   spent, per_ns, total;
    mds_text text = {0};

    if (!has_price(s)) return;
    price(s, &spent, &per_ns, &total);
    mds_text_add(&text, "cost: %.4g USD spent, %.4g of them by this launch (%.4g h at %.4g USD/h)", spent, spent_in_launch(s),
                 hours_of_launch(s), s->config->cost.price_per_hour);
    if (s->config->run.integrator != MDS_INTEGRATOR_MINIMIZE && total > 0)
        mds_text_add(&text, "; %.4g USD/ns, %.4g USD projected for all %lld steps", per_ns, total, (long long)s->last_step);
    if (!text.failed)
        mds_log_file("%s; not counted: boot and set-up of the machine, storage, data transfer (egress), and what a killed launch "
                     "did after its last checkpoint", text.s);
    mds_text_free(&text);
}

mds_status mds_guard_write_stop(mds_sim *s)
{
    double     spent, per_ns, total;
    mds_text   text = {0};
    mds_status status;

    price(s, &spent, &per_ns, &total);
    mds_text_add(&text, "{ \"guard\": ");
    mds_text_add_json(&text, s->guard);
    mds_text_add(&text, ", \"value\": %.6g, \"limit\": %.6g, \"unit\": \"%s\",\n  \"step\": %lld, \"steps\": %lld, \"elapsed_s\": %.1f, ",
                 s->guards.value, s->guards.limit, s->guards.unit, (long long)s->step, (long long)s->last_step,
                 mds_clock() - s->began + s->elapsed_before);
    mds_text_add(&text, "\"spent_usd\": %.6g, \"usd_per_ns\": %.6g, \"projected_usd\": %.6g }\n", spent, per_ns, total);
    status = text.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : mds_file_write(s->path_stop, text.s, text.n);
    mds_text_free(&text);
    return status;
}
