// SPDX-License-Identifier: Apache-2.0
// The engine: owns a simulation, orders the stages of a step, schedules what is due, writes what comes out.
#ifndef MDS_ENGINE_H
#define MDS_ENGINE_H

#include "backend/backend.h"
#include "io/io.h"
#include "num/num.h"
#include "read/read.h"

/// What the engine chose and why, for `explain` and the log.
typedef struct {
    mds_text    text;           // several lines
    mds_text    tuning;         // what the tuner timed
    double      force_error;    // estimated rms error of PME, kJ/mol/nm; 0 without PME
    const char *backend_reason; // why this backend
    char        backend_words[200]; // what it may point to
    double      start_shift;    // largest move that put the start on the constraints, nm
} mds_choices;

/// Sums for a least-squares line through the conserved quantity.
typedef struct {
    int64_t n;
    double  t0, c0, t, c, tt, tc; // first point; sums of differences to it
} mds_line_fit;

/// What the guards have seen (engine/guard.c).
typedef struct {
    double      launched;           // mds_clock() at the start of this launch, set-up included
    double      spent_before;       // USD, earlier launches
    double      seconds, steps;     // of stepping, on which speed is judged; fading
    double      last_clock;         // of the last look
    int64_t     last_step;
    bool        judges_speed;
    double      value, limit;       // of the guard that was looked at last, in `unit`
    const char *unit;
} mds_guards;

typedef struct mds_writer mds_writer; // writer.c

/// Readings of a device's instruments over a time; n = 0: it has none.
typedef struct {
    int64_t   n;
    double    began, last;    // mds_clock()
    mds_meter first, newest;
    double    joule, cycles;  // integrals over the readings; cycles in 1e6
} mds_power;
/// What they come to; NAN: not known.
typedef struct {
    double seconds, joule, watt, clock_mhz; // the last two in the mean
} mds_power_figures;

typedef struct {
    const mds_config *config; // borrowed
    mds_system  system;
    mds_state   start;        // as read: box, x, v; later the state of the last resume
    mds_params  params;
    mds_read_report read_report;
    mds_choices choices;
    mds_tuned   tuned;        // decisions of the tuner that mds_sim_choose follows where the user gives nothing
    mds_pme_structure structure; // of the start's charges; zeroed: not looked at yet
    double      n_degrees;
    uint8_t     input_hash[32];

    const mds_backend    *be;
    mds_device           *dev;
    mds_domain            domain;
    const mds_integrator *integrator;
    int                   threads;
    char                  isa[16];

    // the run
    int64_t     step, last_step;   // now; run.steps
    int64_t     first_step;        // of this piece
    mds_frame   frame;             // newest collected frame
    mds_frame   kept;              // the state at the last scheduled search
    int64_t     kept_trajectory, kept_trajectory_step, kept_series_bytes;
    int32_t     kept_part;
    double      kept_dt, kept_mix;  // minimisation: its step and steering then
    mds_h5md   *trajectory;
    mds_series *series;
    mds_writer *writer;            // of the trajectory, on a thread of its own; NULL: frames are written where they are collected
    int         slot;              // of the frame that the present step sends
    char       *path_log, *path_csv, *path_h5md, *path_chk, *path_gro, *path_stop;
    int64_t     last_trajectory_step;
    mds_line_fit drift;
    double      began, last_progress, last_checkpoint; // mds_clock()
    double      stepped;        // s that the steps took: what is written before the first and after the last one is not in it
    double      elapsed_before;    // s, earlier pieces
    int64_t     n_searches, n_trips;
    bool        resumed, appended; // appended: the writer has been given a frame
    mds_power   power;
    double      checkpoint_seconds; // that the last checkpoint took
    mds_guards  guards;
    const char *guard;             // name of the guard that stopped the run, or NULL
    double      free_force;        // minimisation: largest force that constraints leave, kJ/mol/nm, as of the last look
} mds_sim;

// setup.c ---------------------------------------------------------------------------------------------
/// Read the system of a conf, apply constraints and repartitioning, choose parameters. Nothing is written.
/// Errors: those of the readers, MDS_E_INPUT with "file:line: key: what", MDS_E_UNSUPPORTED.
mds_status mds_sim_setup(mds_sim *sim, const mds_config *config, bool dynamics);
/// Open the device and bring the start state there.
mds_status mds_sim_open(mds_sim *sim);
void       mds_sim_close(mds_sim *sim);
/// Fail with the place of a key: "input.conf:12: nonbonded.cutoff: <message>".
mds_status mds_key_fail(const mds_config *config, const char *key, mds_status status, const char *fmt, ...) MDS_PRINTF(4, 5);

// params.c --------------------------------------------------------------------------------------------
/// Numbers of the step from the conf, the system and the box; fills params and choices.
mds_status mds_sim_choose(mds_sim *sim, bool dynamics);
/// A line of choices.text.
void mds_sim_say(mds_sim *sim, const char *fmt, ...) MDS_PRINTF(2, 3);
// lists.c ---------------------------------------------------------------------------------------------
/// Radii and intervals of the pair lists, once cut-offs, mesh and time step are chosen.
mds_status mds_sim_choose_list(mds_sim *sim);

// cores.c ---------------------------------------------------------------------------------------------
/// Cores that this process may use, at least 1.
int mds_cores_here(void);
/// Processor time that control groups allow, in cores; 1e9 without a limit. root: where they are mounted; group: "/" or "/a/b".
double mds_cores_allowed(const char *root, const char *group);

// choice.c --------------------------------------------------------------------------------------------
/// Mesh, list, instruction set and threads in one line.
void mds_choices_words(const mds_sim *sim, mds_text *out);
/// Is `word` one of `words`, separated by blanks?
bool mds_has_word(const char *words, const char *word);
/// Whether it is an `isa` that the backend knows, a way to transform the mesh behind it or not.
bool mds_isa_known(const mds_backend *be, const char *isa);
/// Make the choices of a checkpoint ours; what cannot be kept is warned of.
void mds_choices_adopt(mds_sim *sim, const mds_checkpoint *checkpoint);

// step.c ----------------------------------------------------------------------------------------------
mds_status mds_forces(mds_sim *sim, mds_work work);
/// `work` of a step with MDS_UNSEEN where nothing that is due looks at its forces or at the velocities that end it. A resume needs it
/// for the step of the checkpoint, so it follows from what is due alone.
static inline mds_work mds_unless_seen(mds_work work)
{
    return work & (MDS_ENERGY | MDS_VIRIAL | MDS_OBSERVE | MDS_COUPLE) ? work : work | MDS_UNSEEN;
}
/// MDS_FAST if the mesh is left out in the forces at that step: a function of the step number alone, so that a resume knows it.
static inline mds_work mds_pace(const mds_params *params, int64_t step)
{
    return params->mesh_every > 1 && step % params->mesh_every != 0 ? MDS_FAST : 0;
}
mds_status mds_step(mds_sim *sim, mds_work work);
/// New owners for the atoms and a new list.
mds_status mds_redistribute(mds_sim *sim);
/// n steps with nothing due; ends early when a signal asks for a stop, and on a fault, which the next poll tells.
mds_status mds_repeat(mds_sim *sim, int64_t n);

// schedule.c ------------------------------------------------------------------------------------------
/// What is due at a step: a pure function of the step number and the conf. 1.
mds_work mds_due(const mds_config *config, const mds_params *params, int64_t step);
bool     mds_due_trajectory(const mds_config *config, int64_t step);
uint32_t mds_due_fields(const mds_sim *sim, int64_t step); // arrays that a frame of this step must bring
bool     mds_due_energy(const mds_config *config, int64_t step);
/// Steps after `step` with nothing due, at most up to `last`.
int64_t mds_plain_steps(const mds_config *config, const mds_params *params, int64_t step, int64_t last);

// run.c -----------------------------------------------------------------------------------------------
/// The whole of `mdsim run`: resume or start, step until done, write everything.
/// restart: "auto", "never" or the path of a checkpoint.
mds_status mds_sim_run(mds_sim *sim, const char *restart);
/// Bring the start to its first step: velocities drawn if due, constraints satisfied, device open, forces and energies there.
mds_status mds_sim_start(mds_sim *sim);
/// Steps until the plan is done, a guard trips or a signal says stop.
mds_status mds_run(mds_sim *sim);
/// Write a checkpoint if a signal, the clock or the step number asks for one.
mds_status mds_checkpoint_if_due(mds_sim *sim);
/// Signals that ask for a stop or a checkpoint; installed once at the start of a run. Until outputs are opened a stop ends the
/// process at once, with nothing written.
void mds_signals_install(void);
bool mds_signal_stop(void);
bool mds_signal_checkpoint(void); // and clears it

// guard.c ---------------------------------------------------------------------------------------------
/// Begin to count; `chk`: what earlier launches have counted, or NULL. Call it when the run's clock starts.
void mds_guard_start(mds_sim *sim, const mds_checkpoint *chk);
/// What has been counted so far, for a checkpoint.
void mds_guard_keep(const mds_sim *sim, mds_checkpoint *chk);
/// Look at speed, time and cost: the name of the guard that stops the run now, or NULL.
const char *mds_guard_tripped(mds_sim *sim);
/// ", 0.42 USD of 1.9" for the progress line; nothing where no price is known.
void mds_guard_progress(const mds_sim *sim, mds_text *out);
/// Money spent, per ns and projected, and what is not counted, into the log; nothing where no price is known.
void mds_guard_report(const mds_sim *sim);
/// NAME.stop.json: which guard stopped the run, and why. Errors: MDS_E_WRITE.
mds_status mds_guard_write_stop(mds_sim *sim);

// output.c --------------------------------------------------------------------------------------------
/// Fix the names of all outputs.
/// Errors: MDS_E_WRITE if their directory is not there or not writable, or another process writes them.
mds_status mds_output_name(mds_sim *sim);
mds_status mds_output_open(mds_sim *sim, const mds_checkpoint *resume);
/// Before the observe of a step: chooses sim->slot, which must not be one that is still being written. May wait for the writer.
mds_status mds_output_slot(mds_sim *sim, uint32_t fields);
/// After that step and a poll: its frame into sim->frame and what is due of it to the files, or to the thread that writes them; then
/// sim->frame has no arrays. Errors: MDS_E_WRITE, of this frame or an earlier one; MDS_E_UNSTABLE with the diagnosis of a fault.
mds_status mds_output_take(mds_sim *sim);
/// Write what is due from the newest frame.
mds_status mds_output_frame(mds_sim *sim);
/// Until all that was taken is written. Errors: as mds_output_take.
mds_status mds_output_wait(mds_sim *sim);
mds_status mds_output_close(mds_sim *sim);
/// Keep the present state as the one a checkpoint would hold.
mds_status mds_keep(mds_sim *sim);
mds_status mds_checkpoint_now(mds_sim *sim, bool finished);
/// Move existing outputs of this name to NAME.N.*.
mds_status mds_output_move_aside(mds_sim *sim);

// writer.c --------------------------------------------------------------------------------------------
/// What the thread does: write a frame; note what a checkpoint must know of the file. Never both at once.
typedef struct {
    mds_status (*write)(void *arg, const mds_frame *frame);
    void (*mark)(void *arg);
    void *arg;
} mds_writer_job;
typedef struct {
    int64_t frames, waits; // written; times that both buffers were full
    double  busy, waited;  // s: of the thread; of the run for a buffer
} mds_writer_figures;
/// Start the thread. Errors: MDS_E_MEMORY.
mds_status mds_writer_open(const mds_writer_job *job, mds_writer **out);
/// The buffer, 0 or 1, that the next frame must be in: waits until that is free. Errors: those of a frame given before.
mds_status mds_writer_buffer(mds_writer *writer, int *buffer);
/// Hand over the frame in that buffer; its arrays are the thread's until mds_writer_buffer gives the buffer again.
mds_status mds_writer_give(mds_writer *writer, const mds_frame *frame);
/// Let job.mark be called once, when all that has been given until now is written; replaces a mark that was not due yet.
mds_status mds_writer_mark(mds_writer *writer);
/// Wait until everything is written. *marked: job.mark has been called for the last mds_writer_mark.
mds_status mds_writer_wait(mds_writer *writer, bool *marked);
void       mds_writer_look(mds_writer *writer, mds_writer_figures *out);
/// Write what is left, end the thread. NULL is fine.
mds_status mds_writer_close(mds_writer *writer);

// power.c ---------------------------------------------------------------------------------------------
void mds_power_begin(const mds_backend *be, const mds_device *device, mds_power *out);
/// Read the instruments, if the last reading is a second old or `now` is said.
void mds_power_look(const mds_backend *be, const mds_device *device, bool now, mds_power *power);
/// A reading `seconds` after the one before.
void mds_power_add(mds_power *power, double seconds, const mds_meter *reading);
void mds_power_tell(const mds_power *power, mds_power_figures *out);

// minimize.c ------------------------------------------------------------------------------------------
mds_status mds_minimize(mds_sim *sim);

// report.c --------------------------------------------------------------------------------------------
void   mds_report_settings(mds_sim *sim);
void   mds_report_timings(mds_sim *sim); // right after the last step
void   mds_report_performance(mds_sim *sim);
void   mds_report_progress(mds_sim *sim, bool last);
void   mds_line_fit_add(mds_line_fit *fit, double t, double c);
double mds_line_fit_slope(const mds_line_fit *fit); // per ps
/// Potential energies above this, kJ/mol an atom, mean that atoms lie on top of each other. A bond of 800 kJ/mol is strong.
#define MDS_ABSURD_ENERGY 1e6
/// MDS_E_UNSTABLE if the start has an absurd energy, naming two atoms at one point where that is the reason.
mds_status mds_check_start(mds_sim *sim);
/// MDS_E_UNSTABLE if an atom of the kept state moves impossibly far in a step: a run may blow up without ever being infinite.
mds_status mds_check_speed(mds_sim *sim);
/// Name the atom, residue, step, largest force and likely cause of a fault; always returns MDS_E_UNSTABLE (or what fits).
mds_status mds_diagnose(mds_sim *sim, uint32_t fault);

// machine.c -------------------------------------------------------------------------------------------
void   mds_machine_name(char *out, size_t size); // model name of the processor
int    mds_threads_per_core(void);               // hardware threads of a core, 1 if not known
double mds_machine_memory(void);                 // GiB
double mds_machine_clock(void);                  // Hz of a busy core, measured in a few ms
/// Peak of one core in single precision, fused multiply-adds of a level's width, measured. flop/s; 0: unknown.
double mds_machine_flops(const char *isa);
enum { MDS_MAX_PACKAGES = 16 };
#define MDS_POWERCAP "/sys/class/powercap"
typedef struct {
    int    n;
    char   zone[MDS_MAX_PACKAGES][32];
    double joule[MDS_MAX_PACKAGES], range[MDS_MAX_PACKAGES];
} mds_energy_counters;
/// Energy counters of all processor packages under `root`; n = 0 where they cannot be read.
void   mds_energy_look(const char *root, mds_energy_counters *out);
double mds_energy_between(const mds_energy_counters *before, const mds_energy_counters *after); // J; NAN: not counted

// tune.c ----------------------------------------------------------------------------------------------
enum { MDS_TUNE_MIN_STEPS = 20000 }; // of a run that is tuned: below, tuning costs more than 1 to 2 % of it
typedef enum {
    MDS_TUNE_RUN,    // as a run does it: tune if the run is long enough
    MDS_TUNE_ALWAYS, // however short
    MDS_TUNE_LOOK    // take what is known, measure nothing (explain)
} mds_tune_mode;
/// Choose mesh order, list, threads and instruction set by timing them at the same accuracy, or take what was found earlier; said in
/// choices.text. Comes before the device is opened; the start state is not touched. Keys that the user gives are kept.
mds_status mds_sim_tune(mds_sim *sim, mds_tune_mode mode);

// bench.c ---------------------------------------------------------------------------------------------
enum { MDS_BENCH_REPEATS = 25 };
/// Arithmetic that a pair within the cut-off cannot do without: distance 8, Lennard-Jones 12, a Coulomb polynomial of degree 8
/// and its scaling 20, forces on both atoms 12. Nominal: roofline fractions are comparable between machines, not between programs.
#define MDS_BENCH_PAIR_FLOPS 52
typedef struct {
    double      seconds;  // to time a case, s
    int         repeats;  // blocks
    int64_t     steps;    // of a block; 0: as many as fill the time
    const char *powercap; // NULL: MDS_POWERCAP
} mds_bench_options;
typedef struct {
    int32_t n_atoms;
    int     threads, order, repeats;
    char    backend[16], isa[16], device[128], choices[256];
    int64_t steps, trips;                                        // of a block; lists that came early
    double  ms_per_step, ms_best, spread, block_ms[MDS_BENCH_REPEATS]; // median, best, (slowest - fastest)/median
    double  ns_per_day, core_ns, dt_fs, cutoff, points, force_error;   // core_ns: per atom and step; force_error: estimated
    double  drift, wh_per_ns, roofline;                          // kJ/mol/ns/atom, Wh, 1; NAN: not known
    double  watt, sm_mhz;                                        // of what wh_per_ns counts; clock of a GPU. NAN: not known
    double  stage_ms[MDS_N_TIMERS];                              // ms a step
    bool    queued; // the host only queues the stages: stage_ms, core_ns and clock_ghz are NAN
    double  clock_ghz, peak_flops, joule_per_step, searches_per_step;
    double  setup_s, tune_s, first_step_s, peak_bytes;
    mds_list_figures list;
} mds_bench_result;
mds_status mds_bench_run(const mds_config *config, const mds_bench_options *options, mds_bench_result *out);
/// Core cycles of all threads in `ms`.
double     mds_bench_cycles(const mds_bench_result *result, double ms);

// energy.c --------------------------------------------------------------------------------------------
/// One point of energy, forces and virial at the start positions; frame in sim->frame.
mds_status mds_single_point(mds_sim *sim);
/// The JSON of `mdsim energy`.
void mds_energy_json(mds_sim *sim, const char *forces_file, mds_text *out);

#endif
