// SPDX-License-Identifier: Apache-2.0
// Input configuration and output files.
#ifndef MDS_IO_H
#define MDS_IO_H

#include "model/model.h"

MDS_BEGIN

// ------------------------------------------------------------------------------------------------ config

typedef enum { MDS_VELOCITIES_FILE, MDS_VELOCITIES_DRAW } mds_velocities;
typedef enum { MDS_BOX_FILE, MDS_BOX_NONE, MDS_BOX_GIVEN } mds_box_source;
typedef enum { MDS_INTEGRATOR_VERLET, MDS_INTEGRATOR_LEAPFROG, MDS_INTEGRATOR_LANGEVIN, MDS_INTEGRATOR_MINIMIZE } mds_integrator_kind;
typedef enum { MDS_COM_LINEAR, MDS_COM_NONE } mds_com;
typedef enum { MDS_ISOTROPIC, MDS_SEMI_ISOTROPIC, MDS_ANISOTROPIC } mds_coupling_kind;
typedef enum { MDS_KIND_AUTO, MDS_KIND_REF, MDS_KIND_CPU, MDS_KIND_CUDA, MDS_KIND_EMU } mds_backend_kind;
typedef enum { MDS_PRECISION_MIXED, MDS_PRECISION_DOUBLE } mds_precision;
typedef enum { MDS_DETERMINISTIC_YES, MDS_DETERMINISTIC_NO, MDS_DETERMINISTIC_RANKS } mds_deterministic;
typedef enum { MDS_TUNE_AUTO, MDS_TUNE_FIXED } mds_tune;
typedef enum { MDS_BASIS_MEASURED, MDS_BASIS_SCALED, MDS_BASIS_MODELLED } mds_basis;

typedef struct {
    char  **item;
    int32_t n;
} mds_strings;

/// Every key of an input file, one field each, group by group (io/schema.c has the rows: names, units, defaults, help).
typedef struct {
    struct {
        char          *topology, *coordinates, *restraint_reference, *generate; // NULL: not given
        mds_velocities velocities;
        mds_box_source box_source;
        double         box[9];      // nm; n_box values given: 3 lengths, 6 lengths and angles, or 9 rows
        int32_t        n_box;
        mds_strings    defines, include;
        int64_t        atoms;
        int32_t        inpcrd_extra; // "auto" 0, "velocities" 1, "box" 2
    } system;
    struct {
        mds_integrator_kind integrator;
        int64_t steps, seed;
        double  dt, temperature, max_wall;
        mds_com remove_com;
        int64_t list_interval, couple_every; // 0: chosen
        int64_t mesh_every;
        double  force_tolerance, max_move;   // minimize: kJ/mol/nm, nm
    } run;
    struct {
        double          cutoff, lj_cutoff, coulomb_cutoff; // nm; the last two -1: as cutoff
        mds_lj_modifier lj_modifier;
        double          lj_switch;
        bool            tail_correction;
        mds_coulomb     coulomb;
        bool            coulomb_shift;   // coulomb_modifier
        double          rf_dielectric;
        double          list_buffer;     // nm, 0: chosen
        double          list_tolerance;  // kJ/mol/ps/atom
    } nonbonded;
    struct {
        mds_split_kind split;
        double  force_error, spacing, beta, c; // kJ/mol/nm, nm, 1/nm, 1; 0: chosen
        int32_t order, grid[3];
    } pme;
    struct {
        mds_constrain kind;
        bool   rigid_water;
        double hydrogen_mass, tolerance;
    } constraints;
    struct { mds_thermostat kind; double temperature, tau; } thermostat;
    struct { mds_barostat kind; mds_coupling_kind coupling; double pressure, tau, compressibility; } barostat;
    struct {
        char   *name;
        int64_t trajectory_every, energy_every, checkpoint_every;
        double  checkpoint_minutes, precision, part_gb;
        bool    velocities, forces;
    } output;
    struct {
        mds_backend_kind  kind;
        int32_t           threads;
        char             *isa;
        mds_precision     precision;
        mds_deterministic deterministic;
        mds_tune          tune;
    } backend;
    struct {
        double    price_per_hour, max_cost, stop_if_below, predicted_ns_per_day;
        mds_basis predicted_basis;
    } cost;

    char  *path;     // of the conf
    char **origin;   // [mds_config_n_keys()] where each key came from: "file:line", "--set", NULL: default
    char  *text;     // the conf with its includes expanded, for hashes and logs
} mds_config;

/// Read a conf. `set`: "section.key=value" overrides. All errors of a file are reported together in the message,
/// one a line. Without a path only `set` is read (built-in benchmarks). Errors: MDS_E_MISSING, MDS_E_INPUT. Rules between keys are checked too (mds_config_check).
mds_status mds_config_read(const char *path, const char *const *set, int n_set, mds_config *out);
/// Defaults only (tests).
mds_status mds_config_defaults(mds_config *out);
void       mds_config_free(mds_config *config);
int        mds_config_n_keys(void);
const char *mds_config_key_name(int key);  // "pme.order"
const char *mds_config_key_unit(int key); // "1" for a number without unit, "" for words
const char *mds_config_key_zero(int key); // what 0 stands for ("chosen", "off"), NULL if it is a number like others
/// True if the user gave the key (file or --set), or another that decides it.
bool mds_config_given(const mds_config *config, const char *key);
/// "file:line" of a key the user gave, "--set", "follows from KEY", or "default".
const char *mds_config_origin(const mds_config *config, const char *key);
/// Value of a key as libconfig text.
void mds_config_value(const mds_config *config, int key, mds_text *out);
/// docs/config.md, from the schema.
void mds_config_document(mds_text *out);
/// Path of an input or output named in the conf, relative to the conf. Owner: caller.
mds_status mds_config_path(const mds_config *config, const char *name, char **out);

// ---------------------------------------------------------------------------------------------- trajectory

/// H5MD writer and reader. Layout: docs/decisions; flushed frame by frame.
typedef struct mds_h5md mds_h5md;
typedef struct {
    const char *path;
    bool        velocities, forces;
    double      precision; // nm; 0 lossless
    double      part_gb;   // GB (1e9 bytes) after which mds_h5md_roll begins a new part; 0: one file
    int32_t     part;      // number of the part to create or resume, 0: NAME.h5md itself
    const char *creator_version, *input_text;
    uint64_t    seed;
} mds_h5md_options;

/// Create a new file (fails if it is there: nothing is overwritten). Errors: MDS_E_WRITE.
mds_status mds_h5md_create(const mds_h5md_options *options, const mds_system *system, bool periodic, mds_h5md **out);
/// Open part options->part and cut it back to `n_frames` frames, the last of which has step `last_step`; later parts go.
/// If the file fails its checks or is gone a new part NAME.partNNNN.h5md is begun and the user told both names.
mds_status mds_h5md_resume(const mds_h5md_options *options, const mds_system *system, bool periodic, int64_t n_frames,
                           int64_t last_step, mds_h5md **out);
/// Append one frame (global order) and flush. Looks at free space first: MDS_E_WRITE before anything is damaged.
mds_status mds_h5md_append(mds_h5md *file, const mds_frame *frame);
/// Begin the next part if this one has reached part_gb. Call it only where a checkpoint follows: a part that a
/// checkpoint has left behind never changes again. *rolled says whether it did.
mds_status mds_h5md_roll(mds_h5md *file, bool *rolled);
int32_t    mds_h5md_part(const mds_h5md *file);
mds_status mds_h5md_sync(mds_h5md *file); // flush and fsync
int64_t    mds_h5md_n_frames(const mds_h5md *file);
mds_status mds_h5md_close(mds_h5md *file);
/// Read frame k: step, time, box, x (and v, f if present) into `frame`.
mds_status mds_h5md_read(const char *path, int64_t k, mds_frame *frame, int64_t *n_frames);

// ---------------------------------------------------------------------------------------------- checkpoint

/// Everything a resume needs beside the input. Values only; state owned.
typedef struct {
    mds_state  state;
    mds_params params;          // every choice that changes bits
    char       isa[16];
    int32_t    threads;
    char       backend[16];
    uint8_t    input_hash[32];  // physics and coordinates, not run.steps, output.* or backend.*
    int64_t    n_trajectory, last_trajectory_step; // frames written up to this state
    int64_t    n_series_bytes;  // length of run.csv up to this state
    int32_t    part;            // trajectory part
    double     elapsed_wall;    // s, over all pieces of the run
    double     spent;           // USD, over all pieces, each at its own price
    double     judged_seconds, judged_steps; // of stepping, for cost.stop_if_below
    int64_t    finished_steps;  // run.steps when the run completed; 0: not complete
} mds_checkpoint;

/// Write aside, fsync, rename; the previous file becomes NAME.prev. Refuses anything not finite (MDS_E_INTERNAL).
mds_status mds_checkpoint_write(const char *path, const mds_checkpoint *checkpoint);
/// Newest that loads: `path`, else path.prev (said in a warning). Errors: MDS_E_CHECKPOINT with what is wrong (truncated,
/// checksum, foreign, older format); MDS_E_MISSING if neither file exists.
mds_status mds_checkpoint_read(const char *path, mds_checkpoint *out);
void       mds_checkpoint_free(mds_checkpoint *checkpoint);

// ------------------------------------------------------------------------------------------- calibration

/// What the cost of a stage is counted in.
typedef enum { MDS_PER_ATOM, MDS_PER_PAIR, MDS_PER_POINT } mds_work_unit;
/// Stages that are calibrated; names in docs/calibration.md.
enum { MDS_WS_PAIR, MDS_WS_SEARCH, MDS_WS_SPREAD, MDS_WS_FFT, MDS_WS_SOLVE, MDS_WS_GATHER, MDS_WS_MOVE, MDS_WS_BONDED, MDS_WS_OTHER, MDS_N_WORK_STAGES };
const char *mds_work_stage_name(int stage);
const char *mds_work_unit_name(mds_work_unit unit);

typedef struct {
    char    system[32];
    int32_t atoms, order;                        // order 0: no mesh
    double  pairs, points, cutoff, force_error;  // interacting pairs a step; mesh points; nm; kJ/mol/nm
    double  dt_fs, ms_per_step, spread;          // fs; ms, median; (slowest - fastest) / median
    double  stage_ms[MDS_N_WORK_STAGES];         // ms a step
} mds_calibration_case;

/// Time a step = fixed_us + ns * work, wall time with all threads.
typedef struct {
    int           stage;
    mds_work_unit work;
    double        fixed_us, ns, error; // us, ns, largest relative deviation of a case
} mds_stage_cost;

/// A machine as `mdsim bench --calibrate` found it. Start zeroed. Units: docs/calibration.md.
typedef struct {
    char    program[32], date[16], instance[64], cpu[128], device[128], backend[16], isa[16];
    int32_t cores, threads;
    double  clock_ghz, memory_gib, fixed_mib, bytes_per_atom;
    mds_calibration_case *cases; // [n_cases]
    int32_t        n_cases, n_costs;
    mds_stage_cost cost[MDS_N_WORK_STAGES];
} mds_calibration;

mds_status mds_calibration_write(const char *path, const mds_calibration *calibration);
/// Errors: MDS_E_MISSING, MDS_E_INPUT (damaged, incomplete or of another format, with its line). Owner: caller.
mds_status mds_calibration_read(const char *path, mds_calibration *out);
void       mds_calibration_free(mds_calibration *calibration);

/// What the start-up tuner decided; 0 and "": left as it is chosen without it.
typedef struct {
    int32_t order, list_interval, threads;
    char    isa[16];
} mds_tuned;
/// The entry of that key in a tuning cache. False if there is none; a file or entry that is damaged is noted and not used.
bool       mds_tuned_find(const char *path, const char *key, mds_tuned *out);
/// Add or replace an entry. Errors: MDS_E_WRITE; the file before is whole then.
mds_status mds_tuned_store(const char *path, const char *key, const mds_tuned *tuned);
/// $XDG_CACHE_HOME/mdsim/NAME, else ~/.cache/mdsim/NAME; NULL through *out where there is neither. `make`: its directory too,
/// readable by the user alone. Owner: caller.
mds_status mds_cache_path(const char *name, bool make, char **out);

// ------------------------------------------------------------------------------------------ launch profiles

/// What a job needs beside the machine (cloud/profiles/default.conf has every key with its meaning). NULL: not given.
typedef struct {
    char  *image, *mdsim, *bucket, *bucket_region, *claim, *partition, *account, *queue, *kube_namespace, *service_account, *vpc, *security_group, *role;
    double hours, grace_seconds, save_minutes, part_gb, checkpoint_minutes, disk_gb, idle_minutes, stop_if_below;
} mds_profile;

/// Read a profile; path NULL: the defaults. Unknown keys are refused. Errors: MDS_E_MISSING, MDS_E_INPUT ("file:line: what").
mds_status mds_profile_read(const char *path, mds_profile *out);
void       mds_profile_free(mds_profile *profile);

// ------------------------------------------------------------------------------------------- other files

/// run.csv: the fixed columns of the contract and further ones.
typedef struct mds_series mds_series;
typedef struct {
    int64_t step;
    double  time, potential, kinetic, conserved, temperature, pressure, volume, density; // ps, kJ/mol, K, bar, nm^3, kg/m^3
    double  energy[MDS_N_ENERGY];                                                        // kJ/mol
} mds_series_row;
mds_status mds_series_create(const char *path, mds_series **out);
mds_status mds_series_resume(const char *path, int64_t n_bytes, mds_series **out); // cut back to n_bytes
mds_status mds_series_append(mds_series *series, const mds_series_row *row);       // flushed
mds_status mds_series_sync(mds_series *series);
int64_t    mds_series_bytes(const mds_series *series);
mds_status mds_series_close(mds_series *series);

/// [n][3] float64 .npy, version 1.0. Errors: MDS_E_WRITE.
mds_status mds_npy_write(const char *path, const double (*rows)[3], int32_t n);
/// A .gro with names; velocities if v. Atom and residue numbers wrap at 100000. Written aside and renamed.
mds_status mds_gro_write(const char *path, const char *title, const mds_system *system, const mds_box *box,
                         const double (*x)[3], const double (*v)[3]);

/// SHA-256 (FIPS 180-4).
typedef struct {
    uint32_t h[8];
    uint64_t n;
    uint8_t  block[64];
} mds_sha256;
void mds_sha256_init(mds_sha256 *sha);
void mds_sha256_add(mds_sha256 *sha, const void *bytes, size_t n);
void mds_sha256_end(mds_sha256 *sha, uint8_t out[32]);

MDS_END
#endif
