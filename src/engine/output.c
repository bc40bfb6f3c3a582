// SPDX-License-Identifier: Apache-2.0
// What a run writes, and the state that a checkpoint would hold.
//
// Everything flushed before a checkpoint belongs to it: the checkpoint is renamed into place only after trajectory and
// series have been synced. A resume cuts both back to the counts that the checkpoint names.
//
// On a backend that leaves frames in memory of its own (view) a thread writes the trajectory beside the run (writer.c). Rows of the
// series are written at once; the counts of the trajectory that belong to a kept state are noted by that thread, when it gets there.
#include "engine/engine.h"

#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static mds_status name_file(mds_sim *s, const char *ending, char **out)
{
    mds_text   text = {0};
    mds_status status;

    mds_text_add(&text, "%s%s", s->config->output.name, ending);
    MDS_CHECK(!text.failed, MDS_E_MEMORY, "out of memory");
    status = mds_config_path(s->config, text.s, out);
    mds_text_free(&text);
    return status;
}

/// Said before anything is computed: a missing or read-only directory, and a run that is still writing these very files.
static mds_status check_place(mds_sim *s)
{
    const char *slash = strrchr(s->path_log, '/');
    char       *folder = NULL;
    int         denied;

    MDS_TRY(mds_copy_text(&folder, slash ? s->path_log : ".", slash == s->path_log ? 1 : slash ? (size_t)(slash - s->path_log) : 1));
    denied = access(folder, W_OK | X_OK) ? errno : 0;
    if (denied)
        mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: outputs cannot be written there (output.name = \"%s\"): %s%s", folder,
                 s->config->output.name, strerror(denied), denied == ENOENT ? "; make the directory first" : "");
    mds_free(folder);
    return denied ? MDS_E_WRITE : mds_log_claim(s->path_log);
}

mds_status mds_output_name(mds_sim *s)
{
    MDS_TRY(name_file(s, ".log", &s->path_log));
    MDS_TRY(name_file(s, ".csv", &s->path_csv));
    MDS_TRY(name_file(s, ".h5md", &s->path_h5md));
    MDS_TRY(name_file(s, ".chk", &s->path_chk));
    MDS_TRY(name_file(s, ".gro", &s->path_gro));
    MDS_TRY(name_file(s, ".stop.json", &s->path_stop));
    return check_place(s);
}

static const char *const endings[] = {".log", ".csv", ".h5md", ".chk", ".chk.prev", ".gro", ".stop.json", ".html"};
enum { N_ENDINGS = sizeof endings / sizeof endings[0] };

/// Ending number k of the outputs under `prefix` ("" or ".2"): the fixed ones, then the parts of the trajectory.
static mds_status name_output(mds_sim *s, const char *prefix, int k, char **out)
{
    mds_text   ending = {0};
    mds_status status;

    if (k < N_ENDINGS)
        mds_text_add(&ending, "%s%s", prefix, endings[k]);
    else
        mds_text_add(&ending, "%s.part%04d.h5md", prefix, k - N_ENDINGS + 1);
    status = ending.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : name_file(s, ending.s, out);
    mds_text_free(&ending);
    return status;
}

static mds_status output_exists(mds_sim *s, const char *prefix, int k, bool *there)
{
    char *path;

    MDS_TRY(name_output(s, prefix, k, &path));
    *there = mds_file_exists(path);
    mds_free(path);
    return MDS_OK;
}

static mds_status move_output(mds_sim *s, const char *prefix, int k)
{
    char      *from = NULL, *to = NULL;
    mds_status status = name_output(s, "", k, &from);

    if (status == MDS_OK) status = name_output(s, prefix, k, &to);
    if (status == MDS_OK && mds_file_exists(from) && rename(from, to))
        status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be moved to %s: %s", from, to, strerror(errno));
    mds_free(from);
    mds_free(to);
    return status;
}

/// NAME.ext to NAME.N.ext with the first N that is free for all of them.
mds_status mds_output_move_aside(mds_sim *s)
{
    enum { NO_PART_FOR = 3 }; // a part number may be passed over when a damaged file is left behind
    char prefix[16];
    bool there, any = false, is_free = false;
    int  k, n, last = N_ENDINGS - 1;

    MDS_TRY(mds_log_claim(s->path_log)); // not from under another run
    for (k = 0; k <= last || k < last + NO_PART_FOR; k++) {
        MDS_TRY(output_exists(s, "", k, &there));
        any |= there;
        if (there && k > last) last = k;
    }
    if (!any) return MDS_OK;
    for (n = 1; !is_free; n++) {
        is_free = true;
        snprintf(prefix, sizeof prefix, ".%d", n);
        for (k = 0; k <= last && is_free; k++) {
            MDS_TRY(output_exists(s, prefix, k, &there));
            is_free = !there;
        }
    }
    for (k = 0; k <= last; k++) MDS_TRY(move_output(s, prefix, k));
    mds_note("older outputs moved to %s%s.*", s->config->output.name, prefix);
    return MDS_OK;
}

static mds_status write_frame(void *arg, const mds_frame *frame)
{
    return mds_h5md_append(((mds_sim *)arg)->trajectory, frame);
}

/// What a checkpoint must know of the trajectory.
static void keep_counts(void *arg)
{
    mds_sim *s = arg;

    s->kept_trajectory = s->trajectory ? mds_h5md_n_frames(s->trajectory) : 0;
    s->kept_part = s->trajectory ? mds_h5md_part(s->trajectory) : 0;
}

static mds_status open_files(mds_sim *s, const mds_checkpoint *resume)
{
    const mds_config      *c = s->config;
    const bool             periodic = !mds_box_is_none(&s->start.box);
    const mds_h5md_options options = {.path = s->path_h5md,
                                      .velocities = c->output.velocities,
                                      .forces = c->output.forces,
                                      .precision = c->output.precision,
                                      .part_gb = c->output.part_gb,
                                      .part = resume ? resume->part : 0,
                                      .creator_version = MDS_VERSION,
                                      .input_text = c->text,
                                      .seed = (uint64_t)c->run.seed};

    MDS_TRY(mds_log_open(s->path_log, resume != NULL));
    if (resume) {
        MDS_TRY(mds_series_resume(s->path_csv, resume->n_series_bytes, &s->series));
        if (c->output.trajectory_every > 0)
            MDS_TRY(mds_h5md_resume(&options, &s->system, periodic, resume->n_trajectory, resume->last_trajectory_step,
                                    &s->trajectory));
        s->last_trajectory_step = resume->last_trajectory_step;
        return MDS_OK;
    }
    MDS_TRY(mds_series_create(s->path_csv, &s->series));
    s->last_trajectory_step = -1;
    if (c->output.trajectory_every > 0) MDS_TRY(mds_h5md_create(&options, &s->system, periodic, &s->trajectory));
    return MDS_OK;
}

mds_status mds_output_open(mds_sim *s, const mds_checkpoint *resume)
{
    const mds_writer_job job = {write_frame, keep_counts, s};

    MDS_TRY(open_files(s, resume));
    // a minimisation waits for the device in every step anyway
    if (!s->trajectory || !s->be->view || s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE) return MDS_OK;
    return mds_writer_open(&job, &s->writer);
}

static double total_mass(const mds_system *m)
{
    double  sum = 0;
    int32_t i;

    for (i = 0; i < m->n_atoms; i++) sum += m->mass[i];
    return sum;
}

static mds_status write_row(mds_sim *s)
{
    const mds_frame *f = &s->frame;
    const double     volume = mds_box_volume(&f->box);
    mds_series_row   row = {.step = f->step,
                            .time = f->time,
                            .potential = mds_frame_potential(f),
                            .kinetic = mds_frame_kinetic(f),
                            .conserved = mds_frame_conserved(f),
                            .temperature = mds_frame_temperature(f, s->n_degrees),
                            .pressure = mds_frame_pressure(f),
                            .volume = volume,
                            .density = volume > 0 ? total_mass(&s->system) / volume * MDS_DENSITY : 0};

    memcpy(row.energy, f->energy, sizeof row.energy);
    if (s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE) { // FIRE's motion is no motion of the system
        row.kinetic = row.temperature = 0;
        row.conserved = row.potential;
        row.pressure = volume > 0 ? -2 * (f->virial[0][0] + f->virial[1][1] + f->virial[2][2]) / (3 * volume) * MDS_BAR : 0;
    }
    mds_line_fit_add(&s->drift, row.time, row.conserved);
    return mds_series_append(s->series, &row);
}

mds_status mds_output_slot(mds_sim *s, uint32_t fields)
{
    const double began = mds_clock();
    int          buffer;

    s->slot = 0;
    if (!s->writer) return MDS_OK;
    s->slot = 1; // scalars: taken before anybody else looks
    if (!fields) return MDS_OK;
    MDS_TRY(mds_writer_buffer(s->writer, &buffer));
    s->slot = 2 * buffer;
    mds_timer_add(MDS_T_OUTPUT, mds_clock() - began);
    return MDS_OK;
}

/// The frame of the step as it lies: its arrays go to the writer.
static mds_status take_view(mds_sim *s)
{
    const double began = mds_clock();
    mds_frame    view, scalars;

    MDS_TRY(s->be->view(s->dev, s->slot, &view));
    scalars = view;
    scalars.n = 0;
    MDS_TRY(mds_frame_copy(&s->frame, &scalars));
    if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
    if (mds_due_energy(s->config, s->frame.step) && s->frame.has_energy) MDS_TRY(write_row(s));
    MDS_TRY(mds_writer_give(s->writer, &view));
    s->last_trajectory_step = s->frame.step;
    // the first frame after a resume may begin another part, and says so (io/h5md.c)
    if (s->resumed && !s->appended) MDS_TRY(mds_output_wait(s));
    s->appended = true;
    mds_timer_add(MDS_T_OUTPUT, mds_clock() - began);
    return MDS_OK;
}

mds_status mds_output_take(mds_sim *s)
{
    if (s->writer && s->slot != 1) return take_view(s);
    MDS_TRY(s->be->collect(s->dev, s->slot, &s->frame));
    if (s->frame.fault) return mds_diagnose(s, s->frame.fault);
    return mds_output_frame(s);
}

mds_status mds_output_frame(mds_sim *s)
{
    const double began = mds_clock();

    if (mds_due_energy(s->config, s->frame.step) && s->frame.has_energy) MDS_TRY(write_row(s));
    if (s->trajectory && mds_due_trajectory(s->config, s->frame.step)) {
        mds_frame_sort(&s->frame);
        MDS_TRY(mds_h5md_append(s->trajectory, &s->frame));
        s->last_trajectory_step = s->frame.step;
    }
    mds_timer_add(MDS_T_OUTPUT, mds_clock() - began);
    return MDS_OK;
}

mds_status mds_output_wait(mds_sim *s)
{
    bool marked;

    return s->writer ? mds_writer_wait(s->writer, &marked) : MDS_OK;
}

mds_status mds_output_close(mds_sim *s)
{
    mds_status status = mds_writer_close(s->writer), next;

    s->writer = NULL;
    next = s->trajectory ? mds_h5md_close(s->trajectory) : MDS_OK;
    if (status == MDS_OK) status = next;
    s->trajectory = NULL;
    next = s->series ? mds_series_close(s->series) : MDS_OK;
    s->series = NULL;
    return status != MDS_OK ? status : next;
}

mds_status mds_keep(mds_sim *s)
{
    const double began = mds_clock();
    bool         rolled = false;

    if (s->config->output.part_gb > 0) MDS_TRY(mds_output_wait(s)); // the size of the part is looked at
    if (s->trajectory) MDS_TRY(mds_h5md_roll(s->trajectory, &rolled));
    if (s->writer)
        MDS_TRY(mds_writer_mark(s->writer)); // first: after a failure the state kept before is the one that may still be saved
    else
        keep_counts(s);
    mds_frame_free_arrays(&s->kept); // not both at once; should there be no memory, the checkpoint on the disk is the last one
    MDS_TRY(s->be->observe(s->dev, MDS_FIELD_X | MDS_FIELD_V, 1));
    MDS_TRY(s->be->collect(s->dev, 1, &s->kept));
    s->kept_trajectory_step = s->last_trajectory_step;
    s->kept_series_bytes = s->series ? mds_series_bytes(s->series) : 0;
    mds_timer_add(MDS_T_OBSERVE, mds_clock() - began);
    return rolled ? mds_checkpoint_now(s, false) : MDS_OK; // the part left behind is finished from now on
}

/// Not before the frames that belong to it are on the disk: where one of them could not be written, the last good one stays.
mds_status mds_checkpoint_now(mds_sim *s, bool finished)
{
    const double began = mds_clock();
    bool         marked = true;
    mds_status   status = s->writer ? mds_writer_wait(s->writer, &marked) : MDS_OK;

    if (!marked) return status;
    mds_checkpoint chk = {.params = s->params,
                          .threads = s->threads,
                          .part = s->kept_part,
                          .n_trajectory = s->kept_trajectory,
                          .last_trajectory_step = s->kept_trajectory_step,
                          .n_series_bytes = s->kept_series_bytes,
                          .elapsed_wall = began - s->began + s->elapsed_before,
                          .finished_steps = finished ? s->config->run.steps : 0};

    if (s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE) {
        chk.params.dt = s->kept_dt;
        chk.params.mix = s->kept_mix;
    }
    mds_frame_sort(&s->kept);
    chk.state = (mds_state){.n_atoms = s->system.n_atoms,
                            .step = s->kept.step,
                            .time = s->kept.time,
                            .box = s->kept.box,
                            .x = s->kept.x,
                            .v = s->kept.v,
                            .has_velocities = true,
                            .seed = (uint64_t)s->config->run.seed,
                            .work_noise = s->kept.work_noise,
                            .work_scale = s->kept.work_scale};
    memcpy(chk.state.coupling, s->kept.coupling, sizeof chk.state.coupling);
    mds_guard_keep(s, &chk);
    snprintf(chk.isa, sizeof chk.isa, "%s", s->be->flavour(s->dev)); // never "auto": another machine would choose another
    snprintf(chk.backend, sizeof chk.backend, "%s", s->be->name);
    memcpy(chk.input_hash, s->input_hash, sizeof chk.input_hash);
    if (s->trajectory) MDS_TRY(mds_h5md_sync(s->trajectory));
    if (s->series) MDS_TRY(mds_series_sync(s->series));
    MDS_TRY(mds_checkpoint_write(s->path_chk, &chk));
    s->last_checkpoint = mds_clock();
    s->checkpoint_seconds = s->last_checkpoint - began;
    mds_timer_add(MDS_T_CHECKPOINT, s->checkpoint_seconds);
    if (!finished) mds_guard_report(s);
    return MDS_OK;
}
