// SPDX-License-Identifier: Apache-2.0
// Speed against cost as a picture: SVG that needs no script, no font and no network, alone or in a page with the table.
//
// Both axes are logarithmic. Shape tells the kind of price, colour GPU or CPU, a hollow mark that the option does not meet.
// The front is a line; its options carry their interval and their name, as far as names do not cover each other. Every text
// of a table or price file is escaped.
#include "plan/inside.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 960, HEIGHT = 600, LEFT = 80, RIGHT = 30, TOP = 56, BOTTOM = 64, MOST_LABELS = 40 };

typedef struct {
    mds_text       *out;
    const mds_plan *plan;
    double          x0, x1, y0, y1; // decimal logarithms of the ends
    double          label[MOST_LABELS][4];
    int             n_labels;
} picture;

void plan_add_markup(mds_text *out, const char *s)
{
    for (; *s; s++) switch (*s) {
        case '&': mds_text_add(out, "&amp;"); break;
        case '<': mds_text_add(out, "&lt;"); break;
        case '>': mds_text_add(out, "&gt;"); break;
        case '"': mds_text_add(out, "&quot;"); break;
        case '\'': mds_text_add(out, "&#39;"); break;
        default:
            if ((unsigned char)*s >= 0x20) mds_text_add_bytes(out, s, 1);
        }
}

static double place_x(const picture *p, double ns_per_day)
{
    const double at = LEFT + (WIDTH - LEFT - RIGHT) * (log10(ns_per_day) - p->x0) / (p->x1 - p->x0);

    return fmin(fmax(at, LEFT), WIDTH - RIGHT);
}

static double place_y(const picture *p, double usd)
{
    const double at = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (log10(usd) - p->y0) / (p->y1 - p->y0);

    return fmin(fmax(at, TOP), HEIGHT - BOTTOM);
}

/// Ends of the axes: all options and the intervals that are drawn, with a margin.
static void span(picture *p)
{
    int k;

    p->x0 = p->y0 = INFINITY;
    p->x1 = p->y1 = -INFINITY;
    for (k = 0; k < p->plan->n; k++) {
        const mds_plan_option *o = &p->plan->option[k];
        const bool             whole = o->pareto || o->rank == 1; // drawn with its interval

        p->x0 = fmin(p->x0, log10(whole ? o->ns_per_day_low : o->ns_per_day));
        p->x1 = fmax(p->x1, log10(whole ? o->ns_per_day_high : o->ns_per_day));
        p->y0 = fmin(p->y0, log10(whole ? o->usd_per_us_low : o->usd_per_us));
        p->y1 = fmax(p->y1, log10(whole ? o->usd_per_us_high : o->usd_per_us));
    }
    if (!(p->x0 <= p->x1 && p->y0 <= p->y1)) {
        p->x0 = p->y0 = 0;
        p->x1 = p->y1 = 1;
    }
    if (!isnan(p->plan->request.ns_per_day)) {
        p->x0 = fmin(p->x0, log10(p->plan->request.ns_per_day));
        p->x1 = fmax(p->x1, log10(p->plan->request.ns_per_day));
    }
    p->x0 -= 0.15;
    p->x1 += 0.15;
    p->y0 -= 0.15;
    p->y1 += 0.15;
}

static void axis(picture *p, bool is_x)
{
    static const int steps[] = {1, 2, 5};
    const double     low = is_x ? p->x0 : p->y0, high = is_x ? p->x1 : p->y1;
    int              decade, k;

    for (decade = (int)floor(low); decade <= (int)ceil(high); decade++)
        for (k = 0; k < 3; k++) {
            const double value = steps[k] * pow(10, decade);
            char         room[24];

            if (log10(value) < low || log10(value) > high || (k && high - low > 3.5)) continue;
            plan_short(value, room);
            if (value >= 0.01) snprintf(room, sizeof room, "%.6g", value);
            if (is_x)
                mds_text_add(p->out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"tick\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                             place_x(p, value), TOP, HEIGHT - BOTTOM, place_x(p, value), HEIGHT - BOTTOM + 18, room);
            else
                mds_text_add(p->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"tick\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT,
                             place_y(p, value), WIDTH - RIGHT, LEFT - 8, place_y(p, value) + 4, room);
        }
}

static void mark(mds_text *out, double x, double y, const char *class, mds_plan_price price)
{
    if (price == MDS_PLAN_ON_DEMAND)
        mds_text_add(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\">", class, x, y);
    else if (price == MDS_PLAN_SPOT)
        mds_text_add(out, "<path class=\"%s\" d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\">", class, x, y - 6);
    else
        mds_text_add(out, "<path class=\"%s\" d=\"M%.1f %.1fh9v9h-9z\">", class, x - 4.5, y - 4.5);
}

static void point(picture *p, const mds_plan_option *o)
{
    const double            x = place_x(p, o->ns_per_day), y = place_y(p, o->usd_per_us);
    const mds_plan_machine *m = o->machine;
    char                    class[32], a[24], b[24], c[24], d[24];

    snprintf(class, sizeof class, "%s%s", o->gpus_used ? "gpu" : "cpu", o->meets ? "" : " not");
    mark(p->out, x, y, class, o->price);
    mds_text_add(p->out, "<title>#%d ", o->rank);
    plan_add_markup(p->out, m->provider);
    mds_text_add(p->out, " ");
    plan_add_markup(p->out, m->region);
    mds_text_add(p->out, " ");
    plan_add_markup(p->out, m->instance);
    mds_text_add(p->out, ", %s: %s ns/day (%s to %s), $%s/us</title></%s>\n", mds_plan_price_name(o->price), plan_short(o->ns_per_day, a),
                 plan_short(o->ns_per_day_low, b), plan_short(o->ns_per_day_high, c), plan_short(o->usd_per_us, d),
                 o->price == MDS_PLAN_ON_DEMAND ? "circle" : "path");
}

/// A free place for a text of that width beside (x, y); false if there is none.
static bool find_place(picture *p, double x, double y, double width, double box[4])
{
    static const double shifts[][2] = {{9, -7}, {9, 15}, {9, 29}, {9, -21}};
    size_t              k;
    int                 i;

    for (k = 0; k < 2 * sizeof shifts / sizeof shifts[0] && p->n_labels < MOST_LABELS; k++) {
        const double *s = shifts[k / 2];
        bool          clear = true;

        box[0] = k % 2 ? x - s[0] - width : x + s[0];
        box[1] = y + s[1] - 11;
        box[2] = box[0] + width;
        box[3] = box[1] + 14;
        if (box[0] < LEFT || box[2] > WIDTH - 4 || box[1] < TOP || box[3] > HEIGHT - BOTTOM) continue;
        for (i = 0; i < p->n_labels && clear; i++)
            clear = box[0] > p->label[i][2] || box[2] < p->label[i][0] || box[1] > p->label[i][3] || box[3] < p->label[i][1];
        if (!clear) continue;
        memcpy(p->label[p->n_labels++], box, 4 * sizeof *box);
        return true;
    }
    return false;
}

/// Line, intervals and names of the front, from the cheapest to the fastest.
static void front(picture *p)
{
    const mds_plan_option *at = NULL;
    bool                   any = false;

    for (;;) {
        const mds_plan_option *next = NULL;
        int                    k;

        for (k = 0; k < p->plan->n; k++) {
            const mds_plan_option *o = &p->plan->option[k];

            if (o->pareto && (!at || o->ns_per_day > at->ns_per_day) && (!next || o->ns_per_day < next->ns_per_day)) next = o;
        }
        if (!next) break;
        mds_text_add(p->out, "%s%.1f %.1f", any ? "L" : "<path class=\"front\" d=\"M", place_x(p, next->ns_per_day), place_y(p, next->usd_per_us));
        any = true;
        at = next;
    }
    if (any) mds_text_add(p->out, "\"/>\n");
}

static void front_texts(picture *p)
{
    int k;

    for (k = 0; k < p->plan->n; k++) {
        const mds_plan_option *o = &p->plan->option[k];
        const double           x = place_x(p, o->ns_per_day), y = place_y(p, o->usd_per_us);
        const size_t           n = plan_cut(o->machine->instance, 30);
        char                   name[40];
        double                 box[4];

        if (!o->pareto && o->rank != 1) continue;
        mds_text_add(p->out, "<path class=\"interval\" d=\"M%.1f %.1fH%.1fM%.1f %.1fV%.1f\"/>\n", place_x(p, o->ns_per_day_low), y,
                     place_x(p, o->ns_per_day_high), x, place_y(p, o->usd_per_us_low), place_y(p, o->usd_per_us_high));
        snprintf(name, sizeof name, "%.*s%s", (int)n, o->machine->instance, o->machine->instance[n] ? ".." : "");
        if (!find_place(p, x, y, 6.4 * (double)strlen(name), box)) continue;
        mds_text_add(p->out, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\">", box[0], box[3] - 3);
        plan_add_markup(p->out, name);
        mds_text_add(p->out, "</text>\n");
    }
}

static void legend(picture *p)
{
    static const struct {
        const char    *class, *text;
        mds_plan_price price;
    } rows[] = {{"gpu", "GPU", MDS_PLAN_ON_DEMAND}, {"cpu", "CPU", MDS_PLAN_ON_DEMAND}, {"key", "on demand", MDS_PLAN_ON_DEMAND}, {"key", "spot", MDS_PLAN_SPOT},
                {"key", "reserved", MDS_PLAN_RESERVED}, {"key not", "does not meet", MDS_PLAN_ON_DEMAND}};
    double x = LEFT + 4;
    size_t k;

    for (k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        mark(p->out, x, 42, rows[k].class, rows[k].price);
        mds_text_add(p->out, "</%s><text class=\"tick\" x=\"%.1f\" y=\"46\">%s</text>\n", rows[k].price == MDS_PLAN_ON_DEMAND ? "circle" : "path", x + 10, rows[k].text);
        x += 30 + 6.6 * (double)strlen(rows[k].text);
    }
    mds_text_add(p->out, "<path class=\"front\" d=\"M%.1f 42h22\"/><text class=\"tick\" x=\"%.1f\" y=\"46\">front</text>\n", x, x + 28);
}

static const char style[] =
    "text{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif;fill:#1c2430}.title{font-size:15px;font-weight:600}.tick{fill:#5b6675;font-size:11px}"
    ".name{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:3px}.grid{stroke:#e4e8ee;fill:none}.front{stroke:#3b4656;stroke-width:1.5;stroke-dasharray:5 3;fill:none}"
    ".interval{stroke:#8a94a3;stroke-width:1;fill:none}.asked{stroke:#b3261e;stroke-width:1.5;fill:none}.gpu{fill:#0072b2;stroke:#0072b2}.cpu{fill:#d55e00;stroke:#d55e00}"
    ".key{fill:#5b6675;stroke:#5b6675}.not{fill:none;stroke-opacity:.55}.paper{fill:#fff}";

static void draw(const mds_plan_catalog *c, picture *p)
{
    const mds_plan_request *r = &p->plan->request;
    char                    a[24], day[24];
    int                     k;

    mds_text_add(p->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"speed against cost\">\n<style>%s</style>\n",
                 WIDTH, HEIGHT, WIDTH, HEIGHT, style);
    mds_text_add(p->out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n<text class=\"title\" x=\"%d\" y=\"24\">Speed against cost, %.0f atoms", WIDTH, HEIGHT, LEFT,
                 r->work.atoms);
    mds_text_add(p->out, "; prices as of %s; %s</text>\n", plan_date_text(c->as_of, day), "GPU speeds are design estimates");
    axis(p, true);
    axis(p, false);
    mds_text_add(p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">ns/day of one trajectory (predicted)</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 22);
    mds_text_add(p->out, "<text transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\">$ per microsecond</text>\n", (TOP + HEIGHT - BOTTOM) / 2);
    legend(p);
    if (!isnan(r->ns_per_day)) {
        const double x = place_x(p, r->ns_per_day);

        mds_text_add(p->out, "<path class=\"asked\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\">asked: %s (the low end decides)</text>\n", x, TOP, HEIGHT - BOTTOM, x + 5,
                     HEIGHT - BOTTOM - 8, plan_short(r->ns_per_day, a));
    }
    front(p);
    for (k = p->plan->n - 1; k >= 0; k--) point(p, &p->plan->option[k]); // the first ones on top
    front_texts(p);
    mds_text_add(p->out, "</svg>\n");
}

static void table(const mds_plan *plan, mds_text *out)
{
    int k;

    mds_text_add(out, "<table><thead><tr><th>#<th>provider<th>region<th>instance<th>GPUs<th>price<th>$/h<th>ns/day<th>interval<th>$/us<th>basis<th>meets</tr></thead><tbody>\n");
    for (k = 0; k < plan->n; k++) {
        const mds_plan_option *o = &plan->option[k];
        char                   a[24], b[24], c[24], d[24], e[24];

        mds_text_add(out, "<tr><td>%d<td>", o->rank);
        plan_add_markup(out, o->machine->provider);
        mds_text_add(out, "<td>");
        plan_add_markup(out, o->machine->region);
        mds_text_add(out, "<td>");
        plan_add_markup(out, o->machine->instance);
        mds_text_add(out, "<td>%d<td>%s<td>%s<td>%s<td>%s to %s<td>%s<td>%s<td>", o->gpus_used, mds_plan_price_name(o->price), plan_short(o->usd_per_h, a),
                     plan_short(o->ns_per_day, b), plan_short(o->ns_per_day_low, c), plan_short(o->ns_per_day_high, d), plan_short(o->usd_per_us, e),
                     o->basis == MDS_PLAN_MODELLED ? "design estimate" : mds_plan_basis_name(o->basis));
        plan_add_markup(out, o->meets ? "yes" : o->reason);
        mds_text_add(out, "</tr>\n");
    }
    mds_text_add(out, "</tbody></table>\n");
}

void mds_plan_plot(const mds_plan_catalog *c, const mds_plan *plan, bool svg_only, mds_text *out)
{
    picture p = {.out = out, .plan = plan};

    span(&p);
    if (svg_only) {
        draw(c, &p);
        return;
    }
    mds_text_add(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\"><title>mdsim plan</title>\n<style>body{font:14px system-ui,'DejaVu Sans',sans-serif;margin:24px;color:#1c2430;max-width:1100px}"
                      "svg{max-width:100%%;height:auto}table{border-collapse:collapse;font-size:12px}td,th{padding:2px 8px;text-align:left;border-bottom:1px solid #e4e8ee}</style></head><body>\n");
    draw(c, &p);
    mds_text_add(out, "<p>%s Prices are examples with their date, not offers. Hover over a mark for its numbers.</p>\n",
                 "No GPU has been measured yet: speeds with GPUs are estimates of a design.");
    table(plan, out);
    mds_text_add(out, "</body></html>\n");
}
