// SPDX-License-Identifier: Apache-2.0
// Private to the adviser: tables, the catalogue's inside, the model.
#ifndef MDS_PLAN_INSIDE_H
#define MDS_PLAN_INSIDE_H

#include "plan/plan.h"

#include <math.h>

// ------------------------------------------------------------------------------------------------ table.c

/// A CSV file with a header. Cells point into `text`; whatever is no printable UTF-8 has become '?'.
typedef struct {
    char        *path, *text;
    const char **cell; // [n_rows][n_columns], row 0 is the header
    int         *line; // [n_rows] where each row begins
    int          n_rows, n_columns;
    size_t       cap_cell, cap_line;
    uint8_t      sha[32]; // of the file
} plan_table;

/// Errors: MDS_E_MISSING; MDS_E_INPUT with "file:line: ..." (a row too short or long, an open quote, an empty file).
mds_status  plan_table_read(const char *path, plan_table *out);
void        plan_table_free(plan_table *table);
/// Index of a column, -1 if there is none.
int         plan_column(const plan_table *table, const char *name);
/// Index of a column that must be there. Errors: MDS_E_INPUT naming it.
mds_status  plan_column_needed(const plan_table *table, const char *name, int *out);
/// A cell, "" for column -1.
const char *plan_cell(const plan_table *table, int row, int column);
/// A cell as a number, NAN if empty. Errors: MDS_E_INPUT: not a number, not finite, negative.
mds_status  plan_number(const plan_table *table, int row, int column, double *out);

// ---------------------------------------------------------------------------------------------- catalog.c

/// What a family of CPUs does, one row of cpus.csv. `family` is sought in the CPU's name.
typedef struct {
    const char *family, *isa;
    double      ghz, flops_per_cycle; // all cores busy; single precision
} plan_cpu;

typedef struct {
    const char *provider, *kind, *name; // kind: standard, infrequent, archive
    double      usd_per_gb_month;
} plan_storage;

typedef struct {
    const char *id, *name, *object_store;
    bool        private_network, encrypted_disk;
} plan_provider;

/// One measured speed.
typedef struct {
    mds_plan_work work;
    double        seconds; // per step
} plan_point;

/// What one calibration file says: a machine, and points [first, first + n) by size.
typedef struct {
    const char *file, *date, *instance, *cpu, *gpu, *isa; // "" if not said
    double      cores, ghz;
    int         threads;
    size_t      first, n;
} plan_set;

struct mds_plan_catalog {
    char             *directory;
    int               as_of;
    plan_table        table[48];
    int               n_tables;
    mds_plan_gpu     *gpu;
    plan_cpu         *cpu;
    plan_storage     *storage;
    plan_provider    *provider;
    mds_plan_machine *machine;
    plan_point       *point;
    plan_set         *set;
    char            **kept; // texts made here, freed with the catalogue
    size_t            n_gpu, n_cpu, n_storage, n_provider, n_machine, n_point, n_set, n_kept;
    size_t            cap_gpu, cap_cpu, cap_storage, cap_provider, cap_machine, cap_point, cap_set, cap_kept;
    int               n_read, n_read_gpu, n_dated; // rows of instance tables; with GPUs; with a date
    int               n_superseded;
    char              hash[65];
};

mds_status           plan_catalog_table(mds_plan_catalog *c, const char *path, plan_table **out);
/// A text that lives as long as the catalogue.
mds_status           plan_keep(mds_plan_catalog *c, const char **out, const char *fmt, ...) MDS_PRINTF(3, 4);
mds_status           plan_machine_add(mds_plan_catalog *c, const mds_plan_machine *machine);
/// Set count and facts of the GPUs named in m; a share of a GPU is a doubt.
mds_status           plan_set_gpus(mds_plan_catalog *c, mds_plan_machine *m, double count);
/// A machine with every number NAN and every text "".
mds_plan_machine     plan_machine_blank(void);
const mds_plan_gpu  *plan_gpu_find(const mds_plan_catalog *c, const char *name, double memory_gib);
const plan_cpu      *plan_cpu_find(const mds_plan_catalog *c, const char *cpu);
const plan_provider *plan_provider_find(const mds_plan_catalog *c, const char *id);

/// Whether a table is a SkyPilot catalogue, and its machines.
bool       plan_is_skypilot(const plan_table *table);
mds_status plan_skypilot(mds_plan_catalog *c, const plan_table *table, const char *provider, int as_of);

/// Drop superseded duplicates and write down why prices are not believed.
mds_status plan_trust(mds_plan_catalog *c);
/// How far a price of that age may be off, a factor; `why` gets a word or NULL.
double     plan_age_factor(int row_as_of, int as_of, const char **why);

/// The work of a box of rigid water.
mds_plan_work plan_water(double atoms, double cut, double mesh_points, int order, double dt);
/// Read a calibration file, or without one those shipped in calibration/ and the user's own.
mds_status plan_calibrations(mds_plan_catalog *c, const char *path);

// ------------------------------------------------------------------------------------------------ model.c

typedef enum { PLAN_PAIR, PLAN_BONDED, PLAN_SEARCH, PLAN_SPREAD, PLAN_FFT, PLAN_MOVE, PLAN_LAUNCH, PLAN_MESSAGE, PLAN_N_STAGES } plan_stage;

extern const char *const plan_stage_name[PLAN_N_STAGES];

/// What part of a machine one run has.
typedef struct {
    int threads;      // CPU
    int ranks;        // GPUs; 0: on the CPU
    int runs_per_gpu; // that share a GPU with it, itself included
    int runs;         // on the machine
} plan_share;

/// Seconds a step by stages; the sum is returned.
double plan_gpu_step(const mds_plan_work *work, const mds_plan_gpu *gpu, const char *link, const plan_share *share,
                     double stage[PLAN_N_STAGES]);
double plan_cpu_step(const mds_plan_work *work, const plan_cpu *cpu, const plan_share *share, double stage[PLAN_N_STAGES]);

/// A speed with its interval.
typedef struct {
    double         ns_per_day, low, high;
    mds_plan_basis basis;
    double         stage[PLAN_N_STAGES]; // seconds a step, uncorrected
    const char    *why;                  // what the interval rests on
} plan_speed;

void plan_predict(const mds_plan_catalog *c, const mds_plan_work *work, const mds_plan_machine *machine, const plan_share *share,
                  plan_speed *out);

// ------------------------------------------------------------------------------------------------- cost.c

/// Memory of one run, GiB, on a GPU or on the host.
double plan_memory_gpu(const mds_plan_work *work);
double plan_memory_host(const mds_plan_work *work);
/// Bytes of one trajectory of `length` ns.
double plan_trajectory_bytes(const mds_plan_work *work, double length);
/// Best checkpoint interval, h (Daly's higher-order form of Young's), and by which factor a run lasts longer with it.
double plan_checkpoint_hours(const mds_plan_work *work, double interruptions);
double plan_spot_factor(const mds_plan_work *work, double interruptions, double restart);

/// Texts for people: numbers with three digits that matter, "-" for NAN.
const char *plan_short(double value, char room[24]);
/// How many bytes of `s` to show if at most `n` may be: never half a character.
size_t      plan_cut(const char *s, size_t n);
/// Add `s` escaped for HTML and SVG.
void        plan_add_markup(mds_text *out, const char *s);
/// The option that meets and costs least, or is fastest; NULL if none meets.
const mds_plan_option *plan_cheapest(const mds_plan *plan);
const mds_plan_option *plan_fastest(const mds_plan *plan);
const char *plan_date_text(int days, char room[24]);

#endif
