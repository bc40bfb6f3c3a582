// SPDX-License-Identifier: Apache-2.0
// The adviser behind `mdsim plan`: which machine, at which price, for a simulation that is not yet run. No network.
//
//   table.c        CSV text -> rows and cells, by column name
//   catalog.c      cloud/*.csv and price files -> machines and GPU facts
//   skypilot.c     a SkyPilot catalogue, as it is -> machines
//   trust.c        which prices are not believed, and why; duplicates, ages
//   calibration.c  what `mdsim bench --calibrate` measured
//   model.c        seconds a step from work and hardware, and how sure that is
//   cost.c         preemptions, checkpoint interval, memory, trajectory
//   rank.c         machines x prices x ways to use them -> ranked options, and why the others fell out
//   report.c json.c plot.c   the three faces of the answer
//   emit.c, template.c   launch files for a picked option, from templates with typed placeholders
//
// Numbers that nobody has read or asked for are NAN, never 0. Prices are US dollars, memory GiB, times hours unless said
// otherwise. Texts point into the catalogue and live as long as it does; they come from files that others wrote: whoever
// prints them escapes them.
#ifndef MDS_PLAN_H
#define MDS_PLAN_H

#include "base/base.h"

MDS_BEGIN

// ---------------------------------------------------------------------------------------------- what is asked

/// What a step has to do.
typedef struct {
    const char *name;          // of the conf, or NULL
    double      atoms, density; // 1, atoms/nm^3
    double      cut;           // nm, the larger cut-off
    double      pairs;         // pairs within it, each once
    double      mesh_points;   // 0: no mesh
    int         mesh_order;
    double      bonded;        // bonded terms
    double      dt;            // ps
    int         list_interval; // steps
    bool        thermostat, barostat;
    double      frame_bytes;   // of the trajectory, per frame
    double      trajectory_every; // steps; 0: none
    double      force_error;   // kJ/mol/nm, estimated; NAN: not known
} mds_plan_work;

typedef enum { MDS_PLAN_CHEAPEST, MDS_PLAN_FASTEST } mds_plan_objective;
typedef enum { MDS_PLAN_ANY_DEVICE, MDS_PLAN_CPU_ONLY, MDS_PLAN_GPU_ONLY } mds_plan_device;
typedef enum { MDS_PLAN_SECURITY_OPEN, MDS_PLAN_SECURITY_PRIVATE } mds_plan_security;

/// A request. Start from mds_plan_request_init; NAN: not asked for.
typedef struct {
    mds_plan_work      work;
    double             ns_per_day;    // of each trajectory
    double             max_price;     // $/h of the whole machine
    double             budget;        // $ for everything
    double             length;        // ns of each trajectory
    double             deadline;      // h
    int                replicas;      // independent trajectories
    bool               spot;          // spot prices may be chosen
    bool               force;         // take prices that are not believed
    bool               gpu_engine;    // this build can run on GPUs
    int                max_ranks;     // at most so many GPUs for one run; 0: any number
    double             reserved;      // discount 0..1; NAN: no reserved prices
    double             interruptions; // of a spot machine, 1/h
    double             restart;       // from the loss of a spot machine to the next step, h
    const char        *providers, *regions; // comma lists, NULL: any; a region may end in *
    mds_plan_objective objective;
    mds_plan_security  security;
    mds_plan_device    device;
} mds_plan_request;

void mds_plan_request_init(mds_plan_request *request);

// ------------------------------------------------------------------------------------------------- what there is

enum { MDS_PLAN_UNDATED = INT32_MIN };

/// Facts of a GPU, one row of gpus.csv.
typedef struct {
    const char *key, *model, *names; // names: how catalogues call it, separated by |
    const char *bus;                 // "PCIe Gen4", "NVLink3", ...
    double      tflops;              // single precision, 1e12/s
    double      memory, bandwidth;   // GB, GB/s
    double      l2;                  // MiB
    double      link;                // GB/s to its neighbours, both ways
    double      tdp;                 // W
    double      lanes_per_sm;        // single-precision lanes; 64: whole numbers have lanes of their own
} mds_plan_gpu;

/// One machine of one region, with the prices that were read: a row of instances.csv.
typedef struct {
    const char         *provider, *region, *instance;
    double              vcpus, cores, memory;   // 1, 1, GiB
    const char         *cpu, *isa;              // "" if not read
    const char         *gpu_name;               // as the source names it
    const mds_plan_gpu *gpu;                    // NULL: no GPU, or no facts about it
    int                 gpus;
    double              gpu_memory;             // GiB each
    double              on_demand, spot_low, spot_high;
    double              part_on_demand, part_spot; // share of the GPUs, all together
    const char         *link;                   // between the GPUs of the machine
    const char         *source, *notes;
    int                 as_of;                  // days since 1970-01-01, or MDS_PLAN_UNDATED
    const char         *file;                   // where the row stands
    int                 line;
    bool                whole;                  // a machine; else only a part of one (accelerator, seed price)
    const char         *dropped;                // why the row does not count at all (an older quote of the same), or NULL
    const char         *doubt;                  // why its price is not believed; NULL: believed
} mds_plan_machine;

typedef struct mds_plan_catalog mds_plan_catalog;

/// What a catalogue is read from. Zero means: built-in tables, no price files, shipped calibration.
typedef struct {
    const char        *directory; // of the tables; NULL: $MDSIM_CLOUD, else the installed ones, else those of the source tree
    const char *const *prices;    // "provider=file", each replacing the built-in rows of its provider
    int                n_prices;
    int                prices_as_of; // of rows without a date in price files: days since 1970-01-01, or MDS_PLAN_UNDATED
    int                as_of;        // later rows are not yet known; days since 1970-01-01
    const char        *calibration;  // a file; NULL: those shipped and the user's own, as far as they are there
} mds_plan_sources;

/// Errors: MDS_E_MISSING, MDS_E_INPUT ("file:line: what"), MDS_E_USAGE (a price file without provider). Owner: caller.
mds_status mds_plan_catalog_open(const mds_plan_sources *sources, mds_plan_catalog **out);
void       mds_plan_catalog_close(mds_plan_catalog *catalog);
int                     mds_plan_n_machines(const mds_plan_catalog *catalog);
const mds_plan_machine *mds_plan_machine_at(const mds_plan_catalog *catalog, int k);
/// Path of a file or folder beside the tables that were read ("published.csv"). Owner: caller, mds_free.
mds_status mds_plan_shared(const mds_plan_catalog *catalog, const char *name, char **path);
/// Path of a file that launch files are made from ("templates/slurm.sbatch"): below $MDSIM_CLOUD, else as installed, never below
/// the tables of mds_plan_sources, since prices may be anybody's but a template is a program. Errors: MDS_E_MISSING. Owner: caller.
mds_status mds_plan_template(const char *name, char **path);
/// SHA-256 over all table and price files that were read, 64 hexadecimal digits: for the audit line.
const char *mds_plan_catalog_hash(const mds_plan_catalog *catalog);

// ---------------------------------------------------------------------------------------------- what comes out

typedef enum { MDS_PLAN_MEASURED, MDS_PLAN_SCALED, MDS_PLAN_MODELLED } mds_plan_basis;
typedef enum { MDS_PLAN_ON_DEMAND, MDS_PLAN_SPOT, MDS_PLAN_RESERVED } mds_plan_price;

const char *mds_plan_basis_name(mds_plan_basis basis); // "measured", "scaled", "modelled"
const char *mds_plan_price_name(mds_plan_price price); // "on-demand", "spot", "reserved"

/// One way to run on one machine at one price. A run is one trajectory.
typedef struct {
    int                     rank;         // from 1
    const mds_plan_machine *machine;
    mds_plan_price          price;
    int                     runs;         // at the same time on this machine
    int                     ranks;        // GPUs of one run (1 on a CPU)
    int                     gpus_used;    // of all runs; 0: on the CPU
    int                     runs_per_gpu; // packed on one GPU
    int                     threads;      // CPU threads of one run
    double                  ns_per_day, ns_per_day_low, ns_per_day_high; // of one run
    mds_plan_basis          basis;
    const char             *why;          // what the interval rests on; static
    double                  usd_per_h, usd_per_h_low, usd_per_h_high;    // of the machine
    double                  usd_per_us, usd_per_us_low, usd_per_us_high; // per microsecond of trajectory, lost work included
    double                  hours, hours_high, usd_total, usd_total_high; // for all trajectories; NAN without a length
    double                  wh_per_ns;    // GPUs at their TDP; NAN: not known
    double                  memory_gib;   // needed, of the GPU or of the host
    double                  checkpoint_minutes; // best interval on spot; NAN otherwise
    bool                    meets, pareto;
    char                   *reason;       // why it does not meet, or NULL
    char                   *note;         // "2 GPUs would be slower", or NULL
} mds_plan_option;

typedef struct {
    const mds_plan_machine *machine;
    char                   *reason;
    const char             *group; // what many share ("are dearer than the limit"); NULL: a reason of its own
} mds_plan_refusal;

/// The answer: options that can run, those that meet first, by objective; and what fell out before.
typedef struct {
    mds_plan_option  *option;
    int               n;
    mds_plan_refusal *refused;
    int               n_refused;
    mds_plan_request  request; // as answered
    size_t            cap_option, cap_refused;
} mds_plan;

/// Rank everything in the catalogue. Errors: MDS_E_INPUT (a request that makes no sense), MDS_E_MEMORY. Free with
/// mds_plan_free, before the catalogue is closed.
mds_status mds_plan_make(const mds_plan_catalog *catalog, const mds_plan_request *request, mds_plan *out);
void       mds_plan_free(mds_plan *plan);
/// The option of a rank ("3") or of the best rank of an instance ("g6e.xlarge", "aws/us-east-1/g6e.xlarge"). Errors: MDS_E_USAGE.
mds_status mds_plan_pick(const mds_plan *plan, const char *what, const mds_plan_option **out);

/// The table on standard output; `top` options are shown.
void mds_plan_print(const mds_plan_catalog *catalog, const mds_plan *plan, int top);
void mds_plan_json(const mds_plan_catalog *catalog, const mds_plan *plan, mds_text *out);
/// A page with a scatter plot that needs nothing else: .svg alone if `svg_only`.
void mds_plan_plot(const mds_plan_catalog *catalog, const mds_plan *plan, bool svg_only, mds_text *out);

// emit.c ------------------------------------------------------------------------------------------- launch files

typedef struct {
    const char *target;  // "skypilot", "slurm", "kubernetes" or "dstack"
    const char *out;     // folder; made if it is not there
    const char *profile; // path of a launch profile, NULL: the defaults
    const char *conf;    // path of the input file; NULL is refused
    const char *output;  // its output.name
} mds_plan_emit_options;

/// Write the launch files of a picked option into a folder, say which on standard output, and add a line to its audit.jsonl.
/// Nothing is overwritten. Errors: MDS_E_USAGE, MDS_E_INPUT (a profile, name or price text that cannot be launched safely),
/// MDS_E_UNSUPPORTED, MDS_E_MISSING, MDS_E_WRITE.
mds_status mds_plan_emit(const mds_plan_catalog *catalog, const mds_plan *plan, const mds_plan_option *pick,
                         const mds_plan_emit_options *options);

/// Days since 1970-01-01 of "2026-11-30"; MDS_PLAN_UNDATED for "undated" and "". Errors: MDS_E_INPUT.
mds_status mds_plan_date(const char *text, int *days);

MDS_END
#endif
