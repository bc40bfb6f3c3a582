// SPDX-License-Identifier: Apache-2.0
// What people read: settings, progress, performance, and why a run stopped.
#include "engine/engine.h"

#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mds_line_fit_add(mds_line_fit *fit, double t, double c)
{
    if (!fit->n) {
        fit->t0 = t;
        fit->c0 = c;
    }
    t -= fit->t0;
    c -= fit->c0;
    fit->n++;
    fit->t += t;
    fit->c += c;
    fit->tt += t * t;
    fit->tc += t * c;
}

double mds_line_fit_slope(const mds_line_fit *fit)
{
    const double n = (double)fit->n, determinant = n * fit->tt - fit->t * fit->t;

    return determinant > 0 ? (n * fit->tc - fit->t * fit->c) / determinant : 0;
}

void mds_report_settings(mds_sim *s)
{
    const mds_system *m = &s->system;
    mds_text          value = {0};
    int               k;

    mds_log_file("mdsim %s", MDS_VERSION);
    mds_log_file("input %s", s->config->path);
    if (s->read_report.text) mds_log_file("%s", s->read_report.text);
    mds_log_file("%d atoms, %d molecules, %d rigid waters, %d X-H clusters, %d other constraints, %d virtual sites, %.0f degrees of freedom",
                 m->n_atoms, m->n_molecules, m->water.n, m->cluster.n, m->link.n, m->vsite.n, s->n_degrees);
    mds_log_file("backend %s (%s)", s->be->describe(s->dev), s->choices.backend_reason);
    mds_log_file("%s", s->choices.text.s ? s->choices.text.s : "");
    mds_log_file("settings:");
    for (k = 0; k < mds_config_n_keys(); k++) {
        value.n = 0;
        mds_config_value(s->config, k, &value);
        mds_log_file("  %-28s = %s %s", mds_config_key_name(k), value.n ? value.s : "", mds_config_key_unit(k));
    }
    mds_text_free(&value);
    mds_note("%s: %d atoms on %s", s->config->path, m->n_atoms, s->be->describe(s->dev));
}

static double ns_per_day(const mds_sim *s, double seconds)
{
    return seconds > 0 ? (double)(s->step - s->first_step) * s->params.dt * 1e-3 * 86400 / seconds : 0;
}

void mds_report_progress(mds_sim *s, bool last)
{
    const double now = mds_clock(), seconds = now - s->began;
    const double interval = mds_progress_is_terminal() ? 0.5 : 10;
    const double done = (double)(s->step - s->first_step), left = (double)(s->last_step - s->step);
    double       eta;
    mds_text     money = {0};

    if (!last && now - s->last_progress < interval) return;
    if (done <= 0) return;
    s->last_progress = now;
    if (s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE) {
        mds_progress(last, "step %lld of at most %lld, potential %.8g kJ/mol, largest force %.4g kJ/mol/nm", (long long)s->step,
                     (long long)s->config->run.steps, mds_frame_potential(&s->frame), s->free_force);
        return;
    }
    eta = seconds / done * left;
    mds_guard_progress(s, &money);
    mds_progress(last, "step %lld of %lld (%.0f %%), %.3f ps, %.2f ns/day, %02d:%02d:%02d left%s", (long long)s->step,
                 (long long)s->last_step, 100.0 * (double)s->step / (double)(s->last_step > 0 ? s->last_step : 1),
                 (double)s->step * s->params.dt, ns_per_day(s, seconds), (int)(eta / 3600), (int)(eta / 60) % 60, (int)eta % 60,
                 money.s ? money.s : "");
    mds_text_free(&money);
}

static void report_speed(mds_sim *s, double seconds, int64_t steps)
{
    const double per_step = steps > 0 ? seconds / (double)steps : 0, rate = per_step > 0 ? 1e-6 * s->system.n_atoms / per_step : 0;
    const double memory = 1e-6 * (double)mds_memory_peak();

    if (s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE) { // has no time, so no speed and no drift
        mds_log_file("performance: %.4f ms/step, %.3f Matom-steps/s, peak memory %.1f MB", 1000 * per_step, rate, memory);
        mds_print("%lld steps of %d atoms: %.3f ms/step; step %lld: potential %.8g kJ/mol, largest force %.4g kJ/mol/nm\n", (long long)steps,
                  s->system.n_atoms, 1000 * per_step, (long long)s->step, mds_frame_potential(&s->frame), s->free_force);
        return;
    }
    mds_log_file("performance: %.3f ns/day, %.4f ms/step, %.3f Matom-steps/s, peak memory %.1f MB", ns_per_day(s, seconds),
                 1000 * per_step, rate, memory);
    if (s->drift.n > 2)
        mds_log_file("energy drift: %.3g kJ/mol/ns/atom (least squares over %lld values of conserved)",
                     1000 * mds_line_fit_slope(&s->drift) / s->system.n_atoms, (long long)s->drift.n);
    if (!steps) return;
    mds_print("%lld steps (%.3f ps) of %d atoms: %.2f ns/day, %.3f ms/step, %.2f Matom-steps/s\n", (long long)steps,
              (double)steps * s->params.dt, s->system.n_atoms, ns_per_day(s, seconds), 1000 * per_step, rate);
    if (s->frame.has_energy)
        mds_print("step %lld: potential %.2f kJ/mol, temperature %.2f K, pressure %.1f bar\n", (long long)s->frame.step,
                  mds_frame_potential(&s->frame), mds_frame_temperature(&s->frame, s->n_degrees), mds_frame_pressure(&s->frame));
    if (s->drift.n > 2)
        mds_print("conserved energy drifts by %.3g kJ/mol/ns/atom\n", 1000 * mds_line_fit_slope(&s->drift) / s->system.n_atoms);
}

/// Of a trajectory that a thread has written beside the run.
static void report_writer(const mds_sim *s)
{
    mds_writer_figures f;

    if (!s->writer) return;
    mds_writer_look(s->writer, &f);
    if (f.waits)
        mds_log_file("trajectory: %lld frames written beside the run in %.3f s; both buffers were full %lld times, and the run waited %.3f s for the "
                     "writer", (long long)f.frames, f.busy, (long long)f.waits, f.waited);
    else
        mds_log_file("trajectory: %lld frames written beside the run in %.3f s; the run never waited for the writer", (long long)f.frames, f.busy);
}

/// Of a GPU that has instruments.
static void report_power(mds_sim *s, double seconds)
{
    const double      speed = ns_per_day(s, seconds);
    mds_power_figures f;

    mds_power_look(s->be, s->dev, true, &s->power);
    mds_power_tell(&s->power, &f);
    if (!isnan(f.watt)) mds_log_file("power of the GPU, whole board: %.1f W in the mean of %.1f s", f.watt, f.seconds);
    if (!isnan(f.watt) && speed > 0 && s->config->run.integrator != MDS_INTEGRATOR_MINIMIZE)
        mds_log_file("energy of the GPU: %.4g Wh/ns", f.watt * 24 / speed);
    if (!isnan(f.clock_mhz)) mds_log_file("SM clock of the GPU: %.0f MHz in the mean", f.clock_mhz);
}

static void report_files(const mds_sim *s)
{
    const int32_t part = s->trajectory ? mds_h5md_part(s->trajectory) : 0;
    const int     stem = (int)(strlen(s->path_h5md) - strlen(".h5md"));

    if (part > 1)
        mds_print("wrote %.*s.part0001.h5md to part%04d", stem, s->path_h5md, part);
    else if (part)
        mds_print("wrote %.*s.part0001.h5md", stem, s->path_h5md);
    else
        mds_print("wrote %s", s->trajectory ? s->path_h5md : "(no trajectory)");
    mds_print(", %s, %s, %s\n", s->path_csv, s->path_log, s->path_gro);
}

void mds_report_timings(mds_sim *s)
{
    const double  seconds = s->stepped;
    const int64_t steps = s->step - s->first_step;
    double        known = 0;
    int           k;

    mds_log_file("timings of steps %lld to %lld:", (long long)s->first_step, (long long)s->step);
    for (k = MDS_T_SEARCH; k < MDS_N_TIMERS; k++) {
        const double t = mds_timer_seconds((mds_timer)k);

        if (!mds_timer_calls((mds_timer)k)) continue;
        if (k != MDS_T_PRUNE) known += t; // pruning happens inside pair
        mds_log_file("  %-12s %10lld calls %10.3f s %6.1f %% %9.4f ms/step", mds_timer_name((mds_timer)k),
                     (long long)mds_timer_calls((mds_timer)k), t, seconds > 0 ? 100 * t / seconds : 0,
                     steps > 0 ? 1000 * t / (double)steps : 0);
    }
    mds_log_file("  %-12s %16s %10.3f s %6.1f %%", "rest", "", seconds - known, seconds > 0 ? 100 * (seconds - known) / seconds : 0);
}

void mds_report_performance(mds_sim *s)
{
    mds_log_file("%lld lists, %lld of them because an atom had moved too far", (long long)s->n_searches, (long long)s->n_trips);
    report_writer(s);
    report_power(s, s->stepped);
    report_speed(s, s->stepped, s->step - s->first_step);
    report_files(s);
}

static const char *likely_cause(const mds_sim *s, uint32_t fault)
{
    if (fault & MDS_FAULT_CUTOFF) return "the box has become smaller than twice the cut-off; use a larger system or a smaller cut-off";
    if (s->step - s->first_step < 200)
        return "the start is strained: atoms overlap or molecules are broken; run integrator = \"minimize\" first, or check "
               "that topology and coordinates have the same atom order";
    return "run.dt is too large for the fastest motion, or a parameter is wrong; try half the time step, constraints.kind = "
           "\"h-bonds\", or a stronger thermostat while equilibrating";
}

/// What is wrong at `atom` (-1: where the device saw it, or where the force is largest).
static mds_status diagnose_at(mds_sim *s, uint32_t fault, int32_t atom)
{
    char        where[64], hottest[64];
    const char *what = fault & MDS_FAULT_NOT_FINITE ? "a position, velocity or force is not a number"
                       : fault & MDS_FAULT_CUTOFF   ? "the cut-off no longer fits the box"
                       : fault & MDS_FAULT_CONSTRAINT ? "constraints could not be satisfied"
                       : fault & MDS_FAULT_FAR        ? "an atom moved impossibly far in one step"
                       : fault & MDS_FAULT_RANGE      ? "a number left the range of the fixed-point sums"
                                                      : "an atom was lost";

    MDS_TRY(s->be->observe(s->dev, 0, 1));
    MDS_TRY(s->be->collect(s->dev, 1, &s->frame));
    if (atom < 0) atom = s->frame.fault_atom >= 0 ? s->frame.fault_atom : s->frame.f_max_atom;
    mds_system_atom_label(&s->system, atom, where, sizeof where);
    mds_system_atom_label(&s->system, s->frame.f_max_atom, hottest, sizeof hottest);
    if (fault & MDS_FAULT_CUTOFF)
        MDS_FAIL(MDS_E_UNSTABLE, "step %lld: periodic images are %.4f nm apart, less than twice the cut-off of %.3f nm; %s; the last good "
                                 "checkpoint is kept",
                 (long long)s->frame.step, 2 * mds_box_reach(&s->frame.box), fmax(s->params.cut_lj, s->params.cut_q),
                 likely_cause(s, fault));
    MDS_FAIL(MDS_E_UNSTABLE, "step %lld: %s at %s; largest force %.3g kJ/mol/nm on %s; likely cause: %s; the last good checkpoint is kept",
             (long long)s->frame.step, what, where, s->frame.f_max, hottest, likely_cause(s, fault));
}

mds_status mds_diagnose(mds_sim *s, uint32_t fault)
{
    return diagnose_at(s, fault, -1);
}

mds_status mds_check_speed(mds_sim *s)
{
    const double     farthest = 0.1; // nm a step: 25 times what hydrogen does at 300 K in 2 fs
    const mds_frame *f = &s->kept;
    double           most = 0;
    int32_t          k, atom = -1;

    for (k = 0; k < f->n; k++) {
        const double speed2 = mds_dot(f->v[k], f->v[k]);

        if (!(speed2 <= most)) {
            most = speed2;
            atom = f->id[k];
        }
    }
    return sqrt(most) * s->params.dt <= farthest ? MDS_OK : diagnose_at(s, MDS_FAULT_FAR, atom);
}

/// Start positions of two atoms that interact, closer than 1 pm; sorted by their first coordinate, so that few are compared.
typedef struct {
    double  x;
    int32_t atom;
} place;

static int by_x(const void *a, const void *b)
{
    const place *p = a, *q = b;

    return p->x < q->x ? -1 : p->x > q->x ? 1 : (p->atom > q->atom) - (p->atom < q->atom);
}

static bool is_excluded(const mds_system *m, int32_t i, int32_t j)
{
    int64_t k;

    for (k = m->excl_start[i]; k < m->excl_start[i + 1]; k++)
        if (m->excl[k] == j) return true;
    return false;
}

static mds_status find_coincident(const mds_sim *s, int32_t pair[2])
{
    const int32_t n = s->system.n_atoms;
    const double  near = 1e-3; // nm
    place        *list = NULL;
    int32_t       i, j;

    pair[0] = pair[1] = -1;
    MDS_TRY(mds_alloc(&list, (size_t)n, sizeof *list));
    for (i = 0; i < n; i++) list[i] = (place){s->start.x[i][0], i};
    qsort(list, (size_t)n, sizeof *list, by_x);
    for (i = 0; i < n && pair[0] < 0; i++)
        for (j = i + 1; j < n && list[j].x - list[i].x < near; j++) {
            const int32_t a = list[i].atom, b = list[j].atom;
            double        d[3];
            int           k;

            for (k = 0; k < 3; k++) d[k] = s->start.x[a][k] - s->start.x[b][k];
            if (mds_norm(d) >= near || is_excluded(&s->system, a, b)) continue;
            pair[0] = a < b ? a : b;
            pair[1] = a < b ? b : a;
            break;
        }
    mds_free(list);
    return MDS_OK;
}

mds_status mds_check_start(mds_sim *s)
{
    const double energy = mds_frame_potential(&s->frame);
    char         first[64], second[64];
    int32_t      pair[2];

    if (energy <= MDS_ABSURD_ENERGY * s->system.n_atoms) return MDS_OK;
    MDS_TRY(find_coincident(s, pair));
    if (pair[0] < 0) {
        mds_system_atom_label(&s->system, s->frame.f_max_atom, first, sizeof first);
        MDS_FAIL(MDS_E_UNSTABLE, "step %lld: the potential energy is %.3g kJ/mol; largest force %.3g kJ/mol/nm on %s; likely cause: %s",
                 (long long)s->frame.step, energy, s->frame.f_max, first, likely_cause(s, 0));
    }
    mds_system_atom_label(&s->system, pair[0], first, sizeof first);
    mds_system_atom_label(&s->system, pair[1], second, sizeof second);
    MDS_FAIL(MDS_E_UNSTABLE, "step %lld: %s and %s are at the same place; largest force %.3g kJ/mol/nm; likely cause: %s",
             (long long)s->frame.step, first, second, s->frame.f_max, likely_cause(s, 0));
}
