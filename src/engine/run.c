// SPDX-License-Identifier: Apache-2.0
// The run: start or resume, block after block until the plan is done, a guard trips or a signal says stop.
//
// A checkpoint is always the state kept at the last scheduled search: its list follows from positions and input order
// alone, so that reading it back, searching and computing the forces once more gives the very bits of that step.
#include "engine/engine.h"

#include "base/units.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t stop_asked, checkpoint_asked, outputs_open;

/// Before the outputs are open there is nothing to save, and reading a large system may take minutes: end at once.
static void on_signal(int number)
{
    static const char message[] = "mdsim: stopped by a signal during set-up; nothing was written: run the same command again\n";

    if (number == SIGUSR2) {
        checkpoint_asked = 1;
    } else if (outputs_open) {
        stop_asked = 1;
    } else {
        mds_end_at_once(MDS_E_STOPPED, message);
    }
}

void mds_signals_install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); // a file-size limit becomes a write error that can be handled
    signal(SIGPIPE, SIG_IGN);
}

bool mds_signal_stop(void)
{
    return stop_asked;
}

bool mds_signal_checkpoint(void)
{
    const bool asked = checkpoint_asked;

    checkpoint_asked = 0;
    return asked;
}

// --------------------------------------------------------------------------------------------- beginning

/// Scalars of the present state (and arrays) without touching it.
static mds_status look(mds_sim *s, uint32_t fields, mds_frame *out)
{
    MDS_TRY(s->be->observe(s->dev, fields, 1));
    return s->be->collect(s->dev, 1, out);
}

/// Put the start on its constraints: positions first, then velocities [case: files carry three decimals].
static mds_status satisfy_constraints(mds_sim *s, bool velocities)
{
    static const mds_op fix_x[] = {{MDS_FIX_X, 1}, {MDS_STOP, 0}}, fix_v[] = {{MDS_FIX_V, 1}, {MDS_STOP, 0}};
    int32_t             i, worst = 0;
    double              largest = 0;

    if (!s->system.constraint.n) return MDS_OK;
    MDS_TRY(s->be->search(s->dev, &s->domain)); // groups live in the device's order
    MDS_TRY(s->be->move(s->dev, fix_x, 0));
    MDS_TRY(look(s, MDS_FIELD_X | MDS_FIELD_V, &s->frame));
    mds_frame_sort(&s->frame);
    if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
    for (i = 0; i < s->system.n_atoms; i++) {
        double d[3];
        int    k;

        if (s->system.mass[i] <= 0) continue;
        for (k = 0; k < 3; k++) d[k] = s->frame.x[i][k] - s->start.x[i][k];
        if (mds_norm(d) > largest) {
            largest = mds_norm(d);
            worst = i;
        }
    }
    s->choices.start_shift = largest;
    memcpy(s->start.x, s->frame.x, (size_t)s->system.n_atoms * sizeof *s->start.x);
    MDS_TRY(s->be->upload(s->dev, &s->domain, &s->start));
    MDS_TRY(s->be->search(s->dev, &s->domain));
    if (largest > 1e-9) {
        char label[64];

        mds_system_atom_label(&s->system, worst, label, sizeof label);
        mds_log(largest > 0.01 ? MDS_LOG_WARN : MDS_LOG_NOTE, "start put on its constraints: largest shift %.2g nm (%s)",
                largest, label);
    }
    if (!velocities) return MDS_OK;
    MDS_TRY(s->be->move(s->dev, fix_v, 0));
    MDS_TRY(look(s, MDS_FIELD_V, &s->frame));
    mds_frame_sort(&s->frame);
    memcpy(s->start.v, s->frame.v, (size_t)s->system.n_atoms * sizeof *s->start.v);
    return MDS_OK;
}

/// Drawn velocities: no motion of the whole, exactly the temperature asked for.
static void settle_velocities(mds_sim *s)
{
    double  momentum[3] = {0}, mass = 0, twice_kinetic = 0, scale;
    int32_t i;
    int     k;

    for (i = 0; i < s->system.n_atoms; i++) {
        mass += s->system.mass[i];
        for (k = 0; k < 3; k++) momentum[k] += s->system.mass[i] * s->start.v[i][k];
    }
    for (i = 0; i < s->system.n_atoms; i++) {
        if (s->system.mass[i] <= 0) continue;
        for (k = 0; k < 3; k++) {
            if (s->params.remove_com) s->start.v[i][k] -= momentum[k] / mass;
            twice_kinetic += s->system.mass[i] * s->start.v[i][k] * s->start.v[i][k];
        }
    }
    scale = twice_kinetic > 0 ? sqrt(s->n_degrees * MDS_BOLTZMANN * s->config->run.temperature / twice_kinetic) : 0;
    for (i = 0; i < s->system.n_atoms; i++)
        for (k = 0; k < 3; k++) s->start.v[i][k] *= scale;
}

/// Kinetic energy of the start. Integrators whose velocities live half a step ahead get them there: half a step back, then
/// the whole kick that ends every step, so that row 0 has the same kinetic energy as all others.
static mds_status first_velocities(mds_sim *s)
{
    static const mds_op back[] = {{MDS_KICK, -0.5}, {MDS_FIX_V, 1}, {MDS_STOP, 0}}, none[] = {{MDS_STOP, 0}};
    const mds_work      work = MDS_ENERGY | MDS_VIRIAL;

    if (s->integrator->after[0].fraction < 1) return s->be->move(s->dev, none, work);
    MDS_TRY(s->be->move(s->dev, back, 0));
    return s->be->move(s->dev, s->integrator->after, work);
}

mds_status mds_sim_start(mds_sim *s)
{
    const mds_config *c = s->config;
    const bool        minimize = c->run.integrator == MDS_INTEGRATOR_MINIMIZE;
    const bool        draw = !minimize && (c->system.velocities == MDS_VELOCITIES_DRAW || !s->start.has_velocities);

    if (draw) {
        if (c->system.velocities == MDS_VELOCITIES_FILE)
            mds_note("no velocities in the input: drawn at %g K from seed %lld", c->run.temperature, (long long)c->run.seed);
        mds_state_draw_velocities(&s->system, c->run.temperature, (uint64_t)c->run.seed, &s->start);
    }
    if (minimize) memset(s->start.v, 0, (size_t)s->system.n_atoms * sizeof *s->start.v);
    MDS_TRY(mds_sim_open(s));
    MDS_TRY(satisfy_constraints(s, !minimize));
    if (draw) settle_velocities(s);
    MDS_TRY(s->be->upload(s->dev, &s->domain, &s->start));
    MDS_TRY(mds_redistribute(s));
    MDS_TRY(mds_forces(s, MDS_ENERGY | MDS_VIRIAL));
    return first_velocities(s);
}

/// What was due at the step of a checkpoint, with the work that its step did then.
static mds_work work_resumed(const mds_sim *s)
{
    const mds_work work = mds_due(s->config, &s->params, s->step);

    return s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE ? work | MDS_OBSERVE | MDS_ENERGY : work;
}

/// The state of the checkpoint becomes the start; its arrays move over.
static mds_status start_resumed(mds_sim *s, mds_checkpoint *chk)
{
    mds_state_free(&s->start);
    s->start = chk->state;
    chk->state.x = chk->state.v = NULL;
    s->step = s->first_step = chk->state.step;
    s->elapsed_before = chk->elapsed_wall;
    s->resumed = true;
    MDS_TRY(mds_sim_open(s));
    MDS_TRY(mds_redistribute(s));
    return mds_forces(s, mds_unless_seen(work_resumed(s)) | mds_pace(&s->params, s->step));
}

/// Read the checkpoint that `restart` names and make its choices ours. *found false: there is none.
static mds_status find_checkpoint(mds_sim *s, const char *restart, mds_checkpoint *chk, bool *found)
{
    const bool  automatic = !strcmp(restart, "auto");
    const char *path = automatic ? s->path_chk : restart;
    mds_status  status;

    *found = false;
    if (!strcmp(restart, "never")) return MDS_OK;
    status = mds_checkpoint_read(path, chk);
    if (status == MDS_E_MISSING && automatic) return MDS_OK;
    MDS_TRY(status);
    MDS_CHECK(chk->state.n_atoms == s->system.n_atoms, MDS_E_CHECKPOINT, "%s: is of %d atoms, the input has %d", path,
              chk->state.n_atoms, s->system.n_atoms);
    MDS_CHECK(!memcmp(chk->input_hash, s->input_hash, sizeof s->input_hash), MDS_E_CHECKPOINT,
              "%s: belongs to another input: the physics or the start coordinates of %s have changed since; put them back, "
              "or run with --restart=never to begin again (old outputs are kept under NAME.1.*)",
              path, s->config->path);
    *found = true;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- steps

mds_status mds_checkpoint_if_due(mds_sim *s)
{
    const mds_config *c = s->config;

    if (mds_signal_checkpoint() || (c->output.checkpoint_every > 0 && s->step % c->output.checkpoint_every == 0) ||
        (c->output.checkpoint_minutes > 0 && mds_clock() - s->last_checkpoint >= 60 * c->output.checkpoint_minutes))
        return mds_checkpoint_now(s, false);
    return MDS_OK;
}

/// After a step with events: faults, files, checkpoint.
static mds_status drain(mds_sim *s, mds_work work)
{
    mds_poll now;

    MDS_TRY(s->be->poll(s->dev, &now));
    if (now.fault) return mds_diagnose(s, now.fault);
    if (work & MDS_OBSERVE) MDS_TRY(mds_output_take(s));
    if (work & MDS_SEARCH) {
        MDS_TRY(mds_keep(s));
        MDS_TRY(mds_check_speed(s));
    }
    return mds_checkpoint_if_due(s);
}

mds_status mds_run(mds_sim *s)
{
    mds_poll now;

    while (s->step < s->last_step && !mds_signal_stop() && !(s->guard = mds_guard_tripped(s))) {
        const mds_work work = mds_due(s->config, &s->params, s->step + 1);

        if (work) {
            MDS_TRY(mds_step(s, work));
            MDS_TRY(drain(s, work));
        } else {
            MDS_TRY(mds_repeat(s, mds_plain_steps(s->config, &s->params, s->step, s->last_step)));
            MDS_TRY(s->be->poll(s->dev, &now));
            if (now.fault) return mds_diagnose(s, now.fault);
        }
        mds_power_look(s->be, s->dev, false, &s->power);
        mds_report_progress(s, false);
    }
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------- the whole

/// The last frame as run.gro: the topology that trajectory readers need, and where to look first.
static mds_status write_final(mds_sim *s)
{
    mds_text   title = {0};
    mds_status status;

    mds_frame_free_arrays(&s->kept); // its checkpoint is written
    MDS_TRY(look(s, MDS_FIELD_X | MDS_FIELD_V, &s->frame));
    mds_frame_sort(&s->frame);
    mds_text_add(&title, "mdsim, step %lld, t= %.5f ps", (long long)s->frame.step, s->frame.time);
    status = mds_gro_write(s->path_gro, title.s, &s->system, &s->frame.box, (const double(*)[3])s->frame.x,
                           (const double(*)[3])s->frame.v);
    mds_text_free(&title);
    return status;
}

/// What only the start needed: 0.1 kB an atom. The box and the other scalars stay.
static void release_start(mds_sim *s)
{
    mds_free(s->start.x);
    mds_free(s->start.v);
    s->start.x = s->start.v = NULL;
    mds_frame_free_arrays(&s->frame);
}

static mds_status run_and_close(mds_sim *s)
{
    const bool   minimize = s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE;
    const double setup = mds_timer_seconds(MDS_T_SETUP);
    double       stepping;
    mds_status   status;

    if (!minimize) release_start(s); // a minimisation goes back to it
    mds_timer_reset(); // step 0 and its files are no part of the time of a step, nor are those of the end
    mds_timer_add(MDS_T_SETUP, setup);
    stepping = mds_clock();
    status = minimize ? mds_minimize(s) : mds_run(s);
    if (status == MDS_OK) status = mds_output_wait(s);
    s->stepped = mds_clock() - stepping;
    if (status == MDS_E_WRITE) { // a full disk: what is flushed is good; the checkpoint may still fit
        const char *reason = mds_error_text();
        mds_text    text = {0};

        mds_text_add(&text, "%s", reason);
        if (mds_checkpoint_now(s, false) == MDS_OK)
            mds_text_add(&text, "; a checkpoint of step %lld was written: make room and run the same command again",
                         (long long)s->kept.step);
        else
            mds_text_add(&text, "; the last good checkpoint is kept: make room and run the same command again");
        status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s", text.s);
        mds_text_free(&text);
    }
    MDS_TRY(status);
    mds_report_progress(s, true);
    mds_report_timings(s);
    const bool done = s->step >= s->last_step;

    MDS_TRY(mds_checkpoint_now(s, done));
    MDS_TRY(write_final(s));
    mds_report_performance(s);
    mds_guard_report(s);
    MDS_TRY(mds_output_close(s));
    if (done) return MDS_OK;
    if (s->guard) {
        MDS_TRY(mds_guard_write_stop(s));
        MDS_FAIL(MDS_E_GUARD, "stopped by %s at step %lld of %lld; checkpoint of step %lld written", s->guard,
                 (long long)s->step, (long long)s->last_step, (long long)s->kept.step);
    }
    MDS_FAIL(MDS_E_STOPPED, "stopped by a signal at step %lld of %lld; checkpoint of step %lld written: run the same command again",
             (long long)s->step, (long long)s->last_step, (long long)s->kept.step);
}

/// From here on time is that of the run. What set-up took is kept apart.
static void start_clock(mds_sim *s, const mds_checkpoint *chk)
{
    s->began = s->last_checkpoint = s->last_progress = mds_clock();
    mds_power_begin(s->be, s->dev, &s->power);
    mds_guard_start(s, chk);
}

static mds_status run_fresh(mds_sim *s)
{
    MDS_TRY(mds_sim_tune(s, MDS_TUNE_RUN));
    MDS_TRY(mds_sim_start(s));
    outputs_open = 1;
    MDS_TRY(mds_output_move_aside(s));
    MDS_TRY(mds_output_open(s, NULL));
    mds_report_settings(s);
    start_clock(s, NULL);
    MDS_TRY(look(s, mds_due_fields(s, 0), &s->frame));
    if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
    if (s->config->run.integrator != MDS_INTEGRATOR_MINIMIZE) MDS_TRY(mds_check_start(s));
    MDS_TRY(mds_output_frame(s));
    MDS_TRY(mds_keep(s));
    MDS_TRY(mds_checkpoint_now(s, false));
    return run_and_close(s);
}

static mds_status run_resumed(mds_sim *s, mds_checkpoint *chk, bool same_outputs)
{
    mds_choices_adopt(s, chk);
    MDS_TRY(start_resumed(s, chk));
    outputs_open = 1;
    if (!same_outputs) MDS_TRY(mds_output_move_aside(s));
    MDS_TRY(mds_output_open(s, same_outputs ? chk : NULL));
    (void)remove(s->path_stop); // it told why the piece before ended
    mds_report_settings(s);
    mds_note("resuming at step %lld (%.3f ps) of %lld", (long long)s->step, chk->state.time, (long long)s->last_step);
    start_clock(s, chk);
    MDS_TRY(mds_keep(s));
    return run_and_close(s);
}

/// After a failure: nothing flushed is lost, the last good checkpoint stays.
static mds_status close_failed(mds_sim *s, mds_status status)
{
    mds_text text = {0};

    if (!s->trajectory && !s->series) return status;
    mds_text_add(&text, "%s", mds_error_text());
    (void)mds_output_close(s);
    if (text.s && strcmp(text.s, mds_error_text())) status = mds_fail(status, __FILE__, __LINE__, "%s", text.s); // closing failed too
    mds_text_free(&text);
    return status;
}

mds_status mds_sim_run(mds_sim *s, const char *restart)
{
    mds_checkpoint chk = {0};
    bool           found = false, same;
    mds_status     status;

    s->last_step = s->config->run.steps;
    MDS_TRY(mds_output_name(s));
    same = !strcmp(restart, "auto") || !strcmp(restart, s->path_chk);
    status = find_checkpoint(s, restart, &chk, &found);
    if (status != MDS_OK) {
        mds_checkpoint_free(&chk);
        return status;
    }
    if (!found) {
        status = run_fresh(s);
    } else if (same && chk.finished_steps >= s->last_step) {
        mds_note("the run is complete: %lld steps; raise run.steps to go on, or --restart=never to begin again",
                 (long long)chk.finished_steps);
    } else if (chk.state.step > s->last_step) { // run.steps was lowered after a stop: there is nothing left to do
        if (same)
            mds_note("the run is past step %lld, which run.steps asks for: its checkpoint is at step %lld; raise run.steps to go on, or --restart=never "
                     "to begin again", (long long)s->last_step, (long long)chk.state.step);
        else
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "run.steps = %lld, but the checkpoint %s is at step %lld already: raise run.steps",
                              (long long)s->last_step, restart, (long long)chk.state.step);
    } else {
        status = run_resumed(s, &chk, same);
    }
    mds_checkpoint_free(&chk);
    return status == MDS_OK ? MDS_OK : close_failed(s, status);
}
