// SPDX-License-Identifier: Apache-2.0
// Which prices are believed. Public price tables are wrong in known ways: flexible-start or reserved rates taken for plain
// on-demand ones, twelve GPUs in a machine that has eight, the price of an accelerator alone. None of that shows in the
// format; it shows against what the row itself says and against its siblings.
//
// A doubted row stays in the catalogue with the reason, is refused, and is taken only when forced. Age is no doubt: an old
// price is a price that may have moved, so it widens the interval. The notes of a row are never looked at.
#include "plan/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

// Of the honest rows of the built-in table the lowest ratio is 0.65, of the two wrong ones 0.53 and 0.49 (docs/cloud.md).
#define LOWEST_OF_MEDIAN 0.6
// The same machines read twice, some time apart: on demand 0.80 and 1.09, 4.40 and 6.32 (Lambda; factors 1.36 and 1.44), spot 15 to
// 18 and 27 (AWS p5en; 1.5 to 1.8). This covers the first two and half of the last.
#define OLD_FACTOR 1.5
enum { OLD_DAYS = 180 };

double plan_age_factor(int row_as_of, int as_of, const char **why)
{
    const bool undated = row_as_of == MDS_PLAN_UNDATED, old = !undated && as_of - row_as_of > OLD_DAYS;

    if (why) *why = undated ? "undated" : old ? "older than 180 days" : NULL;
    return undated || old ? OLD_FACTOR : 1;
}

static bool same_offer(const mds_plan_machine *a, const mds_plan_machine *b)
{
    return a->whole && b->whole && !strcasecmp(a->provider, b->provider) && !strcmp(a->region, b->region) && !strcmp(a->instance, b->instance);
}

/// The newest dated of several rows for one offer counts; MDS_PLAN_UNDATED is the smallest date, and the first of equals stays.
static mds_status drop_older(mds_plan_catalog *c)
{
    char   a[24], b[24];
    size_t i, j;

    for (i = 0; i < c->n_machine; i++)
        if (c->machine[i].as_of != MDS_PLAN_UNDATED && c->machine[i].as_of > c->as_of)
            MDS_TRY(plan_keep(c, &c->machine[i].dropped, "dated %s, after the day of the plan", plan_date_text(c->machine[i].as_of, a)));
    for (i = 0; i < c->n_machine; i++) {
        mds_plan_machine *p = &c->machine[i];

        for (j = i + 1; j < c->n_machine && !p->dropped; j++) {
            mds_plan_machine *q = &c->machine[j];
            const bool        p_newer = p->as_of >= q->as_of;

            if (q->dropped || !same_offer(p, q)) continue;
            MDS_TRY(plan_keep(c, p_newer ? &q->dropped : &p->dropped, "a quote of %s; the one of %s counts",
                              plan_date_text(p_newer ? q->as_of : p->as_of, a), plan_date_text(p_newer ? p->as_of : q->as_of, b)));
            c->n_superseded++;
        }
    }
    return MDS_OK;
}

static bool same_kind(const mds_plan_machine *a, const mds_plan_machine *b)
{
    const bool same_gpu = a->gpu || b->gpu ? a->gpu == b->gpu : !strcasecmp(a->gpu_name, b->gpu_name);
    const bool same_memory = isnan(a->gpu_memory) || isnan(b->gpu_memory) || fabs(a->gpu_memory - b->gpu_memory) < 2;

    return !strcasecmp(a->provider, b->provider) && same_gpu && same_memory;
}

static double per_gpu(const mds_plan_machine *m)
{
    return m->on_demand / m->gpus;
}

static int by_number(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;

    return (p > q) - (p < q);
}

/// Median price per GPU of the machines of one provider, GPU and memory, this one included.
static double median_per_gpu(const mds_plan_catalog *c, const mds_plan_machine *m, double *room)
{
    size_t k, n = 0;

    for (k = 0; k < c->n_machine; k++) {
        const mds_plan_machine *o = &c->machine[k];

        if (o->dropped || !o->whole || !o->gpus || isnan(o->on_demand) || !same_kind(o, m)) continue;
        room[n++] = per_gpu(o);
    }
    qsort(room, n, sizeof *room, by_number);
    return n % 2 ? room[n / 2] : 0.5 * (room[n / 2 - 1] + room[n / 2]);
}

static bool possible_count(int gpus)
{
    return (gpus >= 0 && gpus <= 8) || gpus == 10 || gpus == 16;
}

/// On demand below spot, for the whole and for each part; a part of 0 on both sides is no contradiction.
static const char *dearer_on_spot(const mds_plan_machine *m)
{
    const double machine = m->on_demand - m->part_on_demand, machine_spot = m->spot_low - m->part_spot;
    const double rounding = 1e-3; // parts are written with five digits and summed

    if (m->on_demand < m->spot_low - rounding) return "the machine";
    if (m->part_on_demand < m->part_spot - rounding) return "its GPU part";
    if (machine < machine_spot - rounding) return "the part without GPUs";
    return NULL;
}

static mds_status doubt(mds_plan_catalog *c, mds_plan_machine *m, double *room)
{
    const char *part = dearer_on_spot(m);
    double      median;

    if (!m->whole) return plan_keep(c, &m->doubt, "the price of a GPU alone: there is no machine around it");
    if (!possible_count(m->gpus)) return plan_keep(c, &m->doubt, "%d GPUs: no machine has that many", m->gpus);
    if (!(m->on_demand > 0) && !isnan(m->on_demand)) return plan_keep(c, &m->doubt, "a price of $0");
    if (part) return plan_keep(c, &m->doubt, "%s costs less on demand than on spot: not a plain on-demand price", part);
    if (!m->gpus || isnan(m->on_demand)) return MDS_OK;
    median = median_per_gpu(c, m, room);
    if (per_gpu(m) < LOWEST_OF_MEDIAN * median)
        return plan_keep(c, &m->doubt, "$%.2f per GPU and hour is %.2f of what %s asks for the same GPU elsewhere ($%.2f): below %.1f", per_gpu(m),
                         per_gpu(m) / median, m->provider, median, LOWEST_OF_MEDIAN);
    return MDS_OK;
}

mds_status plan_trust(mds_plan_catalog *c)
{
    double    *room = NULL;
    mds_status status = drop_older(c);
    size_t     k;

    if (status == MDS_OK) status = mds_alloc(&room, c->n_machine, sizeof *room);
    for (k = 0; k < c->n_machine && status == MDS_OK; k++)
        if (!c->machine[k].dropped && !c->machine[k].doubt) status = doubt(c, &c->machine[k], room);
    mds_free(room);
    return status;
}

mds_status mds_plan_date(const char *text, int *days)
{
    struct tm  tm = {0}, again;
    time_t     t;
    char       rest[8] = "";
    int        year, month, day = 1, n = sscanf(text, "%4d-%2d-%2d%7s", &year, &month, &day, rest);

    *days = MDS_PLAN_UNDATED;
    if (!*text || !strcmp(text, "undated")) return MDS_OK;
    MDS_CHECK((n == 2 || n == 3) && strlen(text) == (n == 3 ? 10 : 7) && year >= 1970, MDS_E_INPUT, "'%.40s' is no date like 2026-11-30", text);
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    tm.tm_mday = day;
    tm.tm_hour = 12;
    t = timegm(&tm);
    MDS_CHECK(gmtime_r(&t, &again) && again.tm_mday == day && again.tm_mon == month - 1, MDS_E_INPUT, "'%.40s' is no day of the calendar", text);
    *days = (int)(t / 86400);
    return MDS_OK;
}

const char *plan_date_text(int days, char room[24])
{
    const time_t t = (time_t)days * 86400 + 43200;
    struct tm    tm;

    if (days == MDS_PLAN_UNDATED || !gmtime_r(&t, &tm)) return "an unknown day";
    strftime(room, 24, "%Y-%m-%d", &tm);
    return room;
}
