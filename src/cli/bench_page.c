// SPDX-License-Identifier: Apache-2.0
// mdsim bench --html: one page without scripts or outside files: charts of speed and cost by system size as plain SVG, the table,
// and what was measured where.
//
// Both axes are logarithmic, as scaling is judged by slopes: ns/day falls along the line of slope -1 when the time of an
// atom does not depend on the size. Names come from files and arguments: everything goes through `escape`.
#include "cli/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 560, HEIGHT = 340, LEFT = 78, RIGHT = 24, TOP = 40, BOTTOM = 52 };

static void escape(mds_text *out, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '<': mds_text_add(out, "&lt;"); break;
        case '>': mds_text_add(out, "&gt;"); break;
        case '&': mds_text_add(out, "&amp;"); break;
        case '"': mds_text_add(out, "&quot;"); break;
        case '\'': mds_text_add(out, "&#39;"); break;
        default: mds_text_add(out, "%c", (unsigned char)*s < 32 ? ' ' : *s);
        }
    }
}

/// An axis: the range in decades, and where it lies in pixels.
typedef struct {
    double low, high; // log10
    double from, to;
} axis;

static double place(const axis *a, double value)
{
    return a->from + (a->to - a->from) * (log10(value) - a->low) / (a->high - a->low);
}

/// Room for all values, at least a third of a decade, with a margin.
static axis axis_of(const double *value, int n, double from, double to)
{
    axis a = {INFINITY, -INFINITY, from, to};
    int  k;

    for (k = 0; k < n; k++) {
        a.low = fmin(a.low, log10(value[k]));
        a.high = fmax(a.high, log10(value[k]));
    }
    const double margin = fmax(0.06 * (a.high - a.low), a.high - a.low < 0.33 ? 0.5 * (0.36 - (a.high - a.low)) : 0);

    a.low -= margin;
    a.high += margin;
    return a;
}

static void number(char *out, size_t size, double value)
{
    if (value >= 999.5e3)
        snprintf(out, size, "%gM", value * 1e-6);
    else if (value >= 999.5)
        snprintf(out, size, "%gk", value * 1e-3);
    else
        snprintf(out, size, "%.4g", value);
}

/// Round values within the axis: 1, 2, 5 of each decade, or finer where that gives too few.
static int ticks(const axis *a, double *out, int most)
{
    static const double coarse[] = {1}, usual[] = {1, 2, 5}, fine[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    static const struct {
        const double *step;
        int           n;
    } sets[] = {{coarse, 1}, {usual, 3}, {fine, 10}};
    int set, n = 0;

    for (set = 0; set < 3; set++) {
        int decade, k;

        n = 0;
        for (decade = (int)floor(a->low); decade <= (int)ceil(a->high); decade++)
            for (k = 0; k < sets[set].n; k++) {
                const double value = sets[set].step[k] * pow(10, decade);

                if (log10(value) >= a->low && log10(value) <= a->high && n < most) out[n++] = value;
            }
        if (n >= 3) break;
    }
    return n;
}

/// One chart: y over the number of atoms, a point a case.
static void chart(mds_text *out, const char *title, const char *unit, const double *x, const double *y, int n)
{
    const axis ax = axis_of(x, n, LEFT, WIDTH - RIGHT), ay = axis_of(y, n, HEIGHT - BOTTOM, TOP);
    double     tick[40];
    char       text[32];
    int        k, m;

    mds_text_add(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n<text x=\"%d\" y=\"22\" class=\"t\">%s</text>\n", WIDTH, HEIGHT, title, LEFT, title);
    m = ticks(&ay, tick, 40);
    for (k = 0; k < m; k++) {
        number(text, sizeof text, tick[k]);
        mds_text_add(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"g\"/><text x=\"%d\" y=\"%.1f\" class=\"e\">%s</text>\n", LEFT, WIDTH - RIGHT,
                     place(&ay, tick[k]), place(&ay, tick[k]), LEFT - 8, place(&ay, tick[k]) + 4, text);
    }
    m = ticks(&ax, tick, 40);
    for (k = 0; k < m; k++) {
        number(text, sizeof text, tick[k]);
        mds_text_add(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" class=\"g\"/><text x=\"%.1f\" y=\"%d\" class=\"m\">%s</text>\n", place(&ax, tick[k]),
                     place(&ax, tick[k]), TOP, HEIGHT - BOTTOM, place(&ax, tick[k]), HEIGHT - BOTTOM + 18, text);
    }
    mds_text_add(out, "<text x=\"%d\" y=\"%d\" class=\"m\">atoms</text><text x=\"%d\" y=\"%d\" class=\"m\" transform=\"rotate(-90 16 %d)\">%s</text>\n<polyline points=\"",
                 (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, 16, (TOP + HEIGHT - BOTTOM) / 2, (TOP + HEIGHT - BOTTOM) / 2, unit);
    for (k = 0; k < n; k++) mds_text_add(out, "%.1f,%.1f ", place(&ax, x[k]), place(&ay, y[k]));
    mds_text_add(out, "\"/>\n");
    for (k = 0; k < n; k++) {
        const double px = place(&ax, x[k]), py = place(&ay, y[k]);
        const bool   right = px > WIDTH - RIGHT - 60;

        number(text, sizeof text, y[k]);
        if (y[k] >= 999.5) snprintf(text, sizeof text, "%.0f", y[k]);
        mds_text_add(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/><text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", px, py, px + (right ? -8 : 8), py - 8,
                     right ? "ve" : "v", text);
    }
    mds_text_add(out, "</svg>\n");
}

static void stage_bars(mds_text *out, const bench_case *c)
{
    const mds_bench_result *r = &c->r;
    double                  y = 34, largest = 0;
    int                     k;

    for (k = MDS_T_SEARCH; k < MDS_N_TIMERS; k++) largest = fmax(largest, r->stage_ms[k]);
    mds_text_add(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"stages\">\n<text x=\"%d\" y=\"18\" class=\"t\">Stages of ", WIDTH, 340, 110);
    escape(out, c->name);
    mds_text_add(out, ", share of a step</text>\n");
    for (k = MDS_T_SEARCH; k < MDS_N_TIMERS && largest > 0; k++) {
        if (r->stage_ms[k] < 0.001 * r->ms_per_step) continue;
        mds_text_add(out, "<text x=\"102\" y=\"%.1f\" class=\"e\">%s</text><rect x=\"110\" y=\"%.1f\" width=\"%.1f\" height=\"16\"/><text x=\"%.1f\" y=\"%.1f\" class=\"v\">%.1f %%%s</text>\n",
                     y + 13, mds_timer_name((mds_timer)k), y, 330 * r->stage_ms[k] / largest, 116 + 330 * r->stage_ms[k] / largest, y + 13,
                     100 * r->stage_ms[k] / r->ms_per_step, k == MDS_T_PRUNE ? ", inside pair" : "");
        y += 22;
    }
    mds_text_add(out, "</svg>\n");
}

static void table(mds_text *out, const bench_options *o, const bench_case *c, int n)
{
    int k;

    mds_text_add(out, "<table><tr><th>case<th>atoms<th>threads<th>dt, fs<th>ms/step<th>best<th>spread<th>ns/day<th>core-ns/atom<th>force error*<th>peak memory, MB<th>start, s%s</tr>\n",
                 o->price > 0 ? "<th>USD/ns" : "");
    for (k = 0; k < n; k++) {
        const mds_bench_result *r = &c[k].r;

        mds_text_add(out, "<tr><td>");
        escape(out, c[k].name);
        mds_text_add(out, "<td>%d<td>%d<td>%.4g<td>%.4f<td>%.4f<td>%.1f %%<td>%.3f<td>", r->n_atoms, r->threads, r->dt_fs, r->ms_per_step, r->ms_best,
                     100 * r->spread, r->ns_per_day);
        mds_text_add(out, r->queued ? "-<td>" : "%.1f<td>", r->core_ns);
        if (r->order)
            mds_text_add(out, "%.3f", r->force_error);
        else
            mds_text_add(out, "-");
        mds_text_add(out, "<td>%.1f<td>%.2f", 1e-6 * r->peak_bytes, r->setup_s + r->first_step_s);
        if (o->price > 0) mds_text_add(out, "<td>%.4g", 24 * o->price / r->ns_per_day);
        mds_text_add(out, "</tr>\n");
    }
    mds_text_add(out, "</table>\n");
}

static const char style[] = "body{font:15px/1.5 system-ui,sans-serif;max-width:1180px;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
                            "h1{font-size:1.4em}.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:1em}"
                            "svg{width:100%;border:1px solid #ddd;font:13px system-ui,sans-serif}.t{font-weight:600;font-size:15px}.g{stroke:#e4e4e4}"
                            ".e,.ve{text-anchor:end}.m{text-anchor:middle}.v,.ve{fill:#124}polyline{fill:none;stroke:#1b6ca8;stroke-width:2}"
                            "circle,rect{fill:#1b6ca8}table{border-collapse:collapse;margin:1.5em 0}td,th{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right}"
                            "td:first-child,th:first-child{text-align:left}small{color:#555}";

static void charts(mds_text *out, const bench_options *o, const bench_case *c, int n)
{
    double x[BENCH_MAX_SIZES], speed[BENCH_MAX_SIZES], core[BENCH_MAX_SIZES], cost[BENCH_MAX_SIZES];
    int    k;

    for (k = 0; k < n; k++) {
        x[k] = c[k].r.n_atoms;
        speed[k] = c[k].r.ns_per_day;
        core[k] = c[k].r.core_ns;
        cost[k] = 24 * o->price / c[k].r.ns_per_day;
    }
    mds_text_add(out, "<div class=\"charts\">\n");
    chart(out, "Speed", "ns/day", x, speed, n);
    if (!c[n - 1].r.queued) chart(out, "Time of a core for an atom and step", "core-ns", x, core, n);
    if (o->price > 0) chart(out, "Cost of a nanosecond", "USD/ns", x, cost, n);
    if (!c[n - 1].r.queued) stage_bars(out, &c[n - 1]); // a GPU's are not timed
    mds_text_add(out, "</div>\n");
}

mds_status bench_page(const bench_options *o, const bench_case *c, int n)
{
    const mds_bench_result *r = &c[n - 1].r;
    mds_text                out = {0};
    char                    date[16];
    mds_status              status;
    int                     k;

    bench_date(date, sizeof date);
    mds_text_add(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>mdsim benchmark</title><style>%s</style></head><body>\n<h1>mdsim %s benchmark, %s</h1>\n<p>",
                 style, MDS_VERSION, date);
    escape(&out, r->device);
    mds_text_add(&out, ", %d core%s used by %d thread%s, %s", mds_cores_here(), mds_cores_here() == 1 ? "" : "s", r->threads,
                 r->threads == 1 ? "" : "s", r->isa);
    if (!r->queued) mds_text_add(&out, ", core clock %.2f GHz measured", r->clock_ghz);
    mds_text_add(&out, ".");
    if (o->price > 0) mds_text_add(&out, " Price as given: %.4g USD/h; storage, transfer and start-up of the machine are not in it.", o->price);
    mds_text_add(&out, "</p>\n");
    charts(&out, o, c, n);
    table(&out, o, c, n);
    mds_text_add(&out, "<p><small>* estimated rms force error of the mesh, kJ/mol/nm. Times are medians of %d blocks after a warm-up; spread is (slowest - fastest)/median. "
                       "Start is reading or making the system, building lists and the first step. Nothing is written to disk while timing.</small></p>\n<ul>\n", r->repeats);
    for (k = 0; k < n; k++) {
        mds_text_add(&out, "<li><small>");
        escape(&out, c[k].name);
        mds_text_add(&out, ": ");
        escape(&out, c[k].r.choices);
        mds_text_add(&out, "</small></li>\n");
    }
    mds_text_add(&out, "</ul>\n</body></html>\n");
    status = out.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : mds_file_write(o->html, out.s, out.n);
    mds_text_free(&out);
    return status;
}
