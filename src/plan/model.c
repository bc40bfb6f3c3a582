// SPDX-License-Identifier: Apache-2.0
// Seconds a step from what a step has to do and what the hardware can do, stage by stage; then how sure that is.
//
// CPU stages are counted in core cycles a unit of work. The units come from one measurement of this program (DHFR, 23,558
// atoms, one thread of a Zen 4 at 3.7 GHz, 2026-11-30, benchmarks/results): pair 8.4 ms, search 2.2, bonded 1.3, motion and
// constraints 1.1, mesh 1.4. Other CPUs differ by clock, width of their units and instruction set. Threads divide the work,
// and a share stays serial.
//
// GPU stages are counted in lane instructions (half the single-precision peak a second, more where whole numbers have lanes of
// their own, less where the card has not the power for its clock) and in bytes. Each is reached to a
// share only, and a small system does not fill the lanes. Launches cost what they cost on any chip, which gives the form
// t = t0 + a N of docs/cloud.md. Several GPUs share atoms but not the mesh, and pay for messages; so more may be slower. Runs
// packed on a GPU share its busy time and hide each other's launches.
//
// No GPU and no run on more than two cores has been measured: those numbers are estimates of the design
// and carry a factor of 3 both ways. A calibration file multiplies the whole step by measured / modelled, between sizes on
// a logarithmic scale.
#include "plan/inside.h"

#include <string.h>

const char *const plan_stage_name[PLAN_N_STAGES] = {"pair", "bonded", "search", "spread", "fft", "move", "launch", "message"};

// Every tenth step of a run with a barostat needs the virial, at about 1.5 times the price of pairs; sums for a thermostat are less.
#define WITH_VIRIAL 1.05
#define WITH_SUMS 1.05

// ------------------------------------------------------------------------------------------------------ CPU

// Core cycles of the measurement above, per unit of work.
#define PAIR_CYCLES 8.75     // a pair within the cut-off
#define TERM_CYCLES 200.0    // a bonded term; with ATOM_CYCLES 1.3 ms for 12 thousand terms and 23,558 atoms
#define ATOM_CYCLES 100.0    // an atom: exclusions, clearing and summing forces
#define SEARCH_CYCLES 6800.0 // an atom and list; divided by the list interval
#define SPREAD_CYCLES 1.4    // an atom and point of its order^3 (spread and gather)
#define FFT_CYCLES 3.9       // a mesh point and bit of its number (both transforms and the product)
#define MOVE_CYCLES 173.0    // an atom
// Estimates.
#define SERIAL 0.05           // share that threads do not divide; 0.16 between one and two threads on a busy machine
#define BARRIERS 20.0         // a step
#define BARRIER_SECONDS 0.6e-6 // times the binary logarithm of the threads

/// Cycles relative to the measured CPU, for vector work.
static double vector_cycles(const plan_cpu *cpu)
{
    const double isa = !strcmp(cpu->isa, "avx512") ? 1 : !strcmp(cpu->isa, "avx2") ? 1.4 : 1.6; // masks; then fewer lanes an instruction

    return isa * sqrt(32 / cpu->flops_per_cycle); // wider units help arithmetic only, not loads and reductions
}

double plan_cpu_step(const mds_plan_work *w, const plan_cpu *cpu, const plan_share *share, double stage[PLAN_N_STAGES])
{
    const double n = w->atoms, points = w->mesh_points, order = w->mesh_order, threads = share->threads;
    const double second = 1e-9 / cpu->ghz * (SERIAL + (1 - SERIAL) / threads), wide = vector_cycles(cpu) * second;
    double       sum = 0;
    int          k;

    stage[PLAN_PAIR] = PAIR_CYCLES * w->pairs * (w->barostat ? WITH_VIRIAL : 1) * wide;
    stage[PLAN_BONDED] = (TERM_CYCLES * w->bonded + ATOM_CYCLES * n) * wide;
    stage[PLAN_SEARCH] = SEARCH_CYCLES * n / w->list_interval * wide;
    stage[PLAN_SPREAD] = points > 0 ? SPREAD_CYCLES * n * order * order * order * wide : 0;
    stage[PLAN_FFT] = points > 0 ? FFT_CYCLES * points * log2(points) * wide : 0;
    stage[PLAN_MOVE] = MOVE_CYCLES * n * (w->thermostat || w->barostat ? WITH_SUMS : 1) * wide;
    stage[PLAN_LAUNCH] = threads > 1 ? BARRIERS * BARRIER_SECONDS * log2(threads) : 0;
    stage[PLAN_MESSAGE] = 0;
    for (k = 0; k < PLAN_N_STAGES; k++) sum += stage[k];
    return sum;
}

// ------------------------------------------------------------------------------------------------------ GPU

// Lane instructions over the share of the peak that a kernel of its kind reaches; all estimates.
#define PAIR_LANES (45 / 0.45 / 0.4)    // 45 a pair slot, 0.45 of the slots within the cut-off, 0.4 of the peak
#define TERM_LANES (300 / 0.2)
#define ATOM_LANES (20 / 0.2)
#define SEARCH_LANES (3000 / 0.2)
#define SPREAD_LANES (2 * 8 / 0.15)     // spread and gather, atomic additions
#define FFT_BYTES (10 * 8 / 0.5)        // a mesh point: ten passes of 8 bytes
#define MOVE_BYTES (200 / 0.6)          // an atom: positions, velocities, forces, read and written
#define LANE_HZ 1.8e9                   // to tell lanes from the peak
#define FILL 0.5                        // lanes / atoms at which half of the speed is lost is 1 / FILL
#define LAUNCHES 12.0
#define LAUNCH_SECONDS 3.5e-6
#define HALO_BYTES 24.0                 // an atom of the halo: position in, force out
#define CHARGE_BYTES 28.0               // an atom whose charge goes to the mesh of another GPU: position and charge in, force out

// Two facts that the peak hides; published rates of other programs (docs/cloud.md) lie 1.5 to 2 apart without them.
#define OWN_INTEGER_LANES 1.4           // Volta, Turing, A100: indices and addresses do not take single-precision lanes
#define WATTS_PER_TFLOP 5.5             // what full clock takes on Ada and Blackwell; L4 has 2.4, L40S 3.8, H100 10.4

/// Lane instructions a second that a kernel could reach.
static double lane_rate(const mds_plan_gpu *gpu)
{
    const double own = gpu->lanes_per_sm <= 64 ? OWN_INTEGER_LANES : 1, power = gpu->tdp / (WATTS_PER_TFLOP * gpu->tflops);

    return 0.5e12 * gpu->tflops * own * (power < 1 ? power : 1); // a TDP that is not known limits nothing
}

/// Bytes a second one way between GPUs of a machine, and seconds a message.
static double link_of(const mds_plan_gpu *gpu, const char *link, double *latency)
{
    const bool nvlink = strstr(link, "NVLink") || strstr(link, "NVSwitch");
    const bool gen5 = strstr(gpu->bus, "Gen5") || gpu->tflops > 55, gen4 = strstr(gpu->bus, "Gen4") || gpu->tflops > 18; // by age where the bus is not named

    *latency = nvlink ? 10e-6 : 20e-6;
    if (nvlink) return 0.35e9 * (isnan(gpu->link) ? 300 : gpu->link); // both ways in the table; 0.7 of one reached
    return 0.7e9 * (gen5 ? 63 : gen4 ? 31.5 : 15.8);
}

/// Messages of a step between `ranks` GPUs: halos of a box cut in `ranks` cubes, and the mesh on one of them.
static double message_seconds(const mds_plan_work *w, const mds_plan_gpu *gpu, const char *link, int ranks)
{
    const double edge = cbrt(w->atoms / ranks / w->density), halo = w->density * (pow(edge + w->cut, 3) - pow(edge, 3));
    double       latency, bytes_per_second = link_of(gpu, link, &latency), seconds;

    if (ranks < 2) return 0;
    seconds = halo * HALO_BYTES / bytes_per_second + 2 * ceil(log2(ranks)) * latency;
    if (w->mesh_points > 0) seconds += w->atoms * CHARGE_BYTES / bytes_per_second + 2 * latency;
    return seconds;
}

double plan_gpu_step(const mds_plan_work *w, const mds_plan_gpu *gpu, const char *link, const plan_share *share, double stage[PLAN_N_STAGES])
{
    const double n = w->atoms / share->ranks, order = w->mesh_order, points = w->mesh_points, packed = share->runs_per_gpu;
    const double lanes = lane_rate(gpu), bytes = 1e9 * gpu->bandwidth;
    const double empty = FILL * lanes / LANE_HZ / n; // time that too few atoms waste, as a share of the busy time
    double       sum = 0;
    int          k;

    stage[PLAN_PAIR] = PAIR_LANES * w->pairs * (w->barostat ? WITH_VIRIAL : 1) / share->ranks / lanes;
    stage[PLAN_BONDED] = (TERM_LANES * w->bonded / share->ranks + ATOM_LANES * n) / lanes;
    stage[PLAN_SEARCH] = SEARCH_LANES * n / w->list_interval / lanes;
    stage[PLAN_SPREAD] = points > 0 ? SPREAD_LANES * w->atoms * order * order * order / lanes : 0; // the mesh stays on one GPU
    stage[PLAN_FFT] = points > 0 ? FFT_BYTES * points / bytes : 0;
    stage[PLAN_MOVE] = MOVE_BYTES * n * (w->thermostat || w->barostat ? WITH_SUMS : 1) / bytes;
    for (k = PLAN_PAIR; k <= PLAN_MOVE; k++) stage[k] *= packed + empty; // what one run leaves empty another may fill
    stage[PLAN_LAUNCH] = LAUNCHES * LAUNCH_SECONDS;
    stage[PLAN_MESSAGE] = message_seconds(w, gpu, link, share->ranks);
    for (k = 0; k < PLAN_N_STAGES; k++) sum += stage[k];
    return sum;
}

// ----------------------------------------------------------------------------------------------- prediction

/// Facts of a CPU by its name; where no row fits, those of a plain one with the instruction set that is named.
static plan_cpu cpu_or_plain(const mds_plan_catalog *c, const char *name, const char *isa, double ghz)
{
    const plan_cpu *known = plan_cpu_find(c, name);
    plan_cpu        cpu = known ? *known : (plan_cpu){"", *isa ? isa : "avx2", 2.7, 32};
    size_t          k;

    for (k = 0; !known && *name && k < c->n_machine; k++) { // the system names a model, the table model (family)
        const char  *listed = c->machine[k].cpu, *open = strstr(listed, " (");
        const size_t n = open ? (size_t)(open - listed) : 0;

        if (n > 8 && !strncmp(listed, name, n) && plan_cpu_find(c, listed)) {
            cpu = *plan_cpu_find(c, listed);
            break;
        }
    }
    if (ghz > 0) cpu.ghz = ghz;
    return cpu;
}

static double model_seconds(const mds_plan_catalog *c, const mds_plan_work *w, const mds_plan_machine *m, const plan_share *share,
                            double stage[PLAN_N_STAGES])
{
    plan_cpu cpu;

    if (share->ranks) return plan_gpu_step(w, m->gpu, m->link, share, stage);
    cpu = cpu_or_plain(c, m->cpu, m->isa, 0);
    return plan_cpu_step(w, &cpu, share, stage);
}

/// measured / modelled of a point on the machine of its set; NAN where there are no facts.
static double ratio_at(const mds_plan_catalog *c, const plan_set *set, const plan_point *p)
{
    const mds_plan_gpu *gpu = *set->gpu ? plan_gpu_find(c, set->gpu, NAN) : NULL;
    const plan_cpu      cpu = cpu_or_plain(c, set->cpu, set->isa, set->ghz);
    const plan_share    share = {.threads = set->threads, .ranks = *set->gpu != '\0', .runs_per_gpu = 1, .runs = 1};
    double              stage[PLAN_N_STAGES];

    if (share.ranks) return gpu ? p->seconds / plan_gpu_step(&p->work, gpu, "", &share, stage) : NAN;
    return p->seconds / plan_cpu_step(&p->work, &cpu, &share, stage);
}

/// How much a set says about a share of a machine. 0: nothing; 1: only how fast the program is; 2: it can be scaled; 3: the same
/// type used the same way.
static int likeness(const mds_plan_catalog *c, const plan_set *set, const mds_plan_machine *m, const plan_share *share)
{
    const bool on_gpu = *set->gpu != '\0', same = *set->instance && !strcmp(set->instance, m->instance);

    if (on_gpu != (share->ranks > 0) || isnan(ratio_at(c, set, &c->point[set->first]))) return 0;
    if (same && share->runs == 1 && (on_gpu ? share->ranks == 1 : share->threads == set->threads)) return 3;
    if (on_gpu) return share->ranks == 1 && share->runs_per_gpu == 1 ? 2 : 1; // nothing measured says how GPUs join or are shared
    return share->threads <= 4 * set->threads ? 2 : 1; // further than that nothing measured says how threads scale
}

/// The ratio at a size, between the two points around it by the logarithm of the size; outside the nearest one holds.
static double ratio_between(const mds_plan_catalog *c, const plan_set *set, double atoms, bool *inside, bool *near)
{
    const plan_point *p = &c->point[set->first];
    size_t            k = 0;
    double            a, b, x;

    while (k + 1 < set->n && p[k + 1].work.atoms <= atoms) k++;
    *inside = atoms >= p[0].work.atoms && atoms <= p[set->n - 1].work.atoms;
    *near = fabs(atoms / p[k].work.atoms - 1) <= 0.2 || (k + 1 < set->n && fabs(atoms / p[k + 1].work.atoms - 1) <= 0.2);
    a = ratio_at(c, set, &p[k]);
    if (!*inside || k + 1 == set->n) return a;
    b = ratio_at(c, set, &p[k + 1]);
    x = log(atoms / p[k].work.atoms) / log(p[k + 1].work.atoms / p[k].work.atoms);
    return a * pow(b / a, x);
}

void plan_predict(const mds_plan_catalog *c, const mds_plan_work *w, const mds_plan_machine *m, const plan_share *share, plan_speed *out)
{
    const plan_set *best = NULL;
    double          seconds = model_seconds(c, w, m, share, out->stage);
    bool            inside = false, near = false;
    int             like = 0, rank = 0;
    size_t          k;

    for (k = 0; k < c->n_set; k++) { // of equals the nearer kind counts, then the later file: the user's own
        const plan_set *set = &c->set[k];
        const int       l = likeness(c, set, m, share);
        const int       near_kind = share->ranks ? plan_gpu_find(c, set->gpu, NAN) == m->gpu : !strcmp(set->isa, m->isa);

        if (!l || 2 * l + near_kind < rank) continue;
        best = set;
        like = l;
        rank = 2 * l + near_kind;
    }
    if (best) seconds *= ratio_between(c, best, w->atoms, &inside, &near);
    out->ns_per_day = 86400 * 1e-3 * w->dt / seconds;
    out->basis = like == 3 && (inside || near) ? MDS_PLAN_MEASURED : like >= 2 ? MDS_PLAN_SCALED : MDS_PLAN_MODELLED;
    if (out->basis == MDS_PLAN_MEASURED) {
        const double width = near ? 0.10 : 0.25;

        out->low = out->ns_per_day * (1 - width);
        out->high = out->ns_per_day * (1 + width);
        out->why = near ? "measured on this type within 20 % of this size: +-10 %" : "measured on this type at a smaller and a larger size: +-25 %";
    } else {
        const double factor = out->basis == MDS_PLAN_SCALED ? 1.6 : 3;

        out->low = out->ns_per_day / factor;
        out->high = out->ns_per_day * factor;
        out->why = out->basis == MDS_PLAN_SCALED ? "scaled from another measured machine or size: x/: 1.6" : "a design estimate, nothing like it was ever measured: x/: 3";
    }
}

const char *mds_plan_basis_name(mds_plan_basis basis)
{
    static const char *const names[] = {"measured", "scaled", "modelled"};

    return names[basis];
}
