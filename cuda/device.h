// SPDX-License-Identifier: Apache-2.0
// Private data of the cuda backend (and of its emulated twin: GPU_NAME), shared by the files of this directory.
//
// Two orders of particles. State lives in ATOM order, as in the files: x, v, f in double, so a molecule's atoms are
// neighbours in memory, constraints and bonded terms index by atom id, and nothing is renumbered when a list is made. What
// is short range in space lives in SLOT order, made anew by every search: a float copy of positions, charges, and the sums of
// forces. Slots come in blocks of 32, each of four octets: eight atoms close together (docs/decisions/007-gpu-order.md).
//
// Forces are summed in 64-bit fixed point, 2^-32 kJ/mol/nm a unit: sums do not depend on the order of their terms, so neither do
// bits on the schedule of a chip. Energies and virials likewise, 2^-24 kJ/mol a unit. `finish` makes doubles of them. With
// backend.deterministic = "no" forces (of mixed precision) are summed in float: half the bytes, and a slot at once by the pair
// kernel by rows on chips that can (sm_90 and later).
//
// With backend.precision = "double" the stages that are float have twins (pair_double.cu, bonded_double.cu, mesh_double.cu, one
// in excluded.cu) that read x in atom order in place of the float copies, and their energies have a second word of 2^-64 kJ/mol a unit.
//
// What changes from step to step (clock, box, coupling, stop word) is in device memory, in gpu_control; kernels read it
// there. A kernel that belongs to a step returns at once when the stop word is set, all threads alike.
#ifndef MDS_CUDA_DEVICE_H
#define MDS_CUDA_DEVICE_H

#include "gpu.h"

#include "backend/backend.h"
#include "num/num.h"

enum { GPU_OCTET = 8, GPU_BLOCK = 32 }; // atoms an octet; slots a block (four octets)
enum { GPU_ENERGY = 0, GPU_VIRIAL = MDS_N_ENERGY, GPU_N_SUMS = MDS_N_ENERGY + 9 }; // places in gpu_control.sum
#define GPU_FORCE_SCALE 4294967296.0f // units a kJ/mol/nm
#define GPU_FORCE_LIMIT 134217728.0f  // kJ/mol/nm: what is larger is cut to it and a fault; the units of it are 2^59
#define GPU_SUM_SCALE 16777216.0f     // units a kJ/mol
#define GPU_PART_LIMIT 536870912.0f   // kJ/mol, of a pair kernel's chunk: 2^53 units, a thousand of which still fit, so that a start with
                                      // atoms on top of each other does not look like a minimum
#define GPU_FINE_SCALE 1099511627776.0 // parts of such a unit in the second word
#define GPU_NO_ATOM 0x7fffffff

/// What lives on the device and changes during a run. One of them, read by every kernel.
typedef struct {
    int64_t step;
    double  time;                    // ps
    mds_box box;
    double  inverse[3][3];           // mds_box_inverse of it; zeros without a box
    float   raster[3][3], rest[3][3]; // by begin: box = raster + rest, the first on the raster of the blocks' origins
    double  coupling[MDS_N_COUPLING];
    double  work_noise, work_scale;  // kJ/mol
    double  list_scale, log_scale;   // product of box scalings since the last search; ln of the one of this step, not yet booked
    double  extent;                  // largest distance of an atom from its group's centre at the last scaling, nm
    int     tripped;                 // stop word: stages fall through until the next search
    int     listed;                  // a search has been done since upload
    int     suspect;                 // something moved far or is not finite: the guard looks closer
    int     outdated;                // the guard's verdict while forces are under way: the next pass of move makes a trip of it
    unsigned fault;                  // MDS_FAULT_*
    int     fault_atom;              // smallest id, GPU_NO_ATOM if none
    // of the present step: cleared by begin, made doubles by finish
    unsigned long long sum[GPU_N_SUMS], fine[GPU_N_SUMS]; // fixed point; what is left below its unit, in double precision
    double  energy[MDS_N_ENERGY], virial[3][3];
    // by the last measurement of move
    double  kinetic[3][3], constraint_virial[3][3], inertia[3][3]; // kJ/mol; inertia: the share that goes with v squared
    double  fv, ff, vv;
    int     half_step, noisy;        // v was half a step ahead of x; the list that began this step had NOISE
    double  f_max;                   // by observe
    int     f_max_atom;
} gpu_control;

/// What nearly every kernel gets, by value: pointers into device memory that stay as they are between searches.
typedef struct {
    int           n_atoms, n_slots, n_blocks;
    int           in_float; // sums of forces are floats in any order: float4 [n_slots] where `force` is
    gpu_control  *control;
    // atom order
    double      (*x)[3], (*v)[3], (*f)[3]; // [n_atoms] nm (continuous), nm/ps, kJ/mol/nm (complete after finish, sites 0)
    double      (*x_list)[3];              // [n_atoms] positions at the last search, scaled with the box since
    const double *charge, *inv_mass;       // [n_atoms] e, 1/Da (0: site)
    const int    *type;                    // [n_atoms] LJ type
    int          *slot_of;                 // [n_atoms]
    int         (*image)[3];               // [n_atoms] box vectors to add to x to be where the slot order thinks it is
    // slot order
    int          *atom_of;                 // [n_slots] -1: padding
    float4       *xq;                      // [n_slots] x + image - origin of the block, nm; charge times sqrt(MDS_COULOMB). Padding: far away, 0
    float4       *origin;                  // [n_blocks] nm, on a raster of 2^-10 nm, so that differences of two are exact
    uint4        *fraction;                // [n_slots] 2^32 times the fractional coordinates, wrapped; w unused. Periodic boxes only
    unsigned long long (*force)[4];        // [n_slots] fixed point, the fourth unused: a slot is one sector of 32 bytes; 0 after finish
} gpu_view;

/// One piece of the pair list: some j atoms against one block in one periodic image.
typedef struct {
    int block;       // slots [32 block, 32 block + 32) are the i atoms
    int image[3];    // box vectors to add to the i atoms
    int first;       // its entries begin here, a multiple of GPU_J_STEP
    int allow;       // its first word in gpu_list.allow, or -1: every pair of its entries counts
} gpu_chunk;
enum { GPU_J_STEP = 4, GPU_CHUNK = 64 }; // entries are padded to a multiple of the first; at most the second in a chunk

/// An entry is the slot of a j atom and in the high four bits which octets of the block it is near to (none: filling).
#define GPU_J_SLOT(entry) ((int)((entry) & 0x0fffffffu))
#define GPU_J_OCTETS(entry) ((entry) >> 28)

/// A list as the pair kernels read it. Each pair of atoms that is not excluded and within the radius is in it once. Chunks with words
/// hold pairs inside a block and excluded ones: bit i of an entry's word allows the pair with i atom i.
typedef struct {
    int              n_chunks;
    const gpu_chunk *chunk;   // [n_chunks], longest first
    const int       *n;       // [n_chunks] entries, a multiple of GPU_J_STEP
    const unsigned  *j;       // entries
    const unsigned  *allow;   // words of the chunks that have them, in the order of their entries
} gpu_list;

typedef struct gpu_search   gpu_search;   // search.cu, list.cu, guard.cu
typedef struct gpu_pair     gpu_pair;     // pair.cu
typedef struct gpu_bonded   gpu_bonded;   // bonded.cu
typedef struct gpu_vsite    gpu_vsite;    // vsite.cu
typedef struct gpu_excluded gpu_excluded; // excluded.cu
typedef struct gpu_mesh     gpu_mesh;     // spread.cu, solve.cu, gather.cu
typedef struct gpu_pair_double   gpu_pair_double;   // pair_double.cu
typedef struct gpu_bonded_double gpu_bonded_double; // bonded_double.cu
typedef struct gpu_move     gpu_move;     // move.cu, constrain.cu, measure.cu, couple.cu
typedef struct gpu_frames   gpu_frames;   // observe.cu

/// A step of one kind as it was recorded last.
typedef struct {
    cudaGraphExec_t graph; // NULL: never
    bool            is_true;       // it is still one
    bool            run, leaves;   // one has run as it is since the lists were made; it leaves a postponed list to the next
} gpu_recorded;

/// On the host.
struct mds_device {
    const mds_system *system;  // borrowed
    mds_params        params;
    char              about[224], kernel[8], flavour[16], ways[24]; // pair kernel; that and the way to transform the mesh, if one was asked for
    gpu_view          view;
    gpu_list          list;    // the one to be computed now: search and prune set it
    size_t            n_slots_room;
    cudaStream_t      stream, mesh_stream, term_stream;
    cudaEvent_t       begun, meshed, termed; // positions are in place; forces of the mesh are; those of bonded terms and excluded pairs
    gpu_control      *peek;    // pinned: poll's copy
    mds_box           box;     // of the last upload or search: host copy, for sizes
    bool              has_energy, has_virial; // of the step under way
    bool              periodic;
    bool              ready;    // move has left sums, copies in slot order and sites as begin would
    bool              unsummed; // finish has left it to move to make f of the sums of forces
    bool              postpones, postponed; // in replay: a plain list that ends a step waits, and one does, for that of the next
    gpu_recorded      recorded[2]; // plain steps; those without the mesh (MDS_FAST)
    double          (*f_seen)[3];  // [n_atoms] multiple time steps, where `seen`: forces once each, while f has an impulse; else NULL
    bool              seen;        // of the step under way
    bool              surveyed, unasked; // move has done what prune and guard do at the beginning; the guard's question is still to be put
    mds_short         short_range;
    mds_split         split;   // PME only
    gpu_search   *search;
    gpu_pair     *pair;
    gpu_bonded   *bonded;
    gpu_vsite    *vsite;
    gpu_excluded *excluded;
    gpu_mesh     *mesh;
    gpu_move     *move;
    gpu_frames   *frames;
    gpu_pair_double   *pair_double;   // NULL unless params.double_precision
    gpu_bonded_double *bonded_double; // likewise
};

// ------------------------------------------------------------------------------------------- device memory

/// Device memory for n elements, not cleared, into *out (a pointer to device memory). Errors: MDS_E_MEMORY.
#define gpu_alloc(out, n) GPU_NAME(alloc)((void **)(out), (size_t)(n) * sizeof **(out))
/// The same with the n elements of `from` copied in.
#define gpu_copy_in(out, from, n) GPU_NAME(copy_in)((void **)(out), (from), (size_t)(n) * sizeof **(out))
/// Room for n elements; what was in it is lost when it grows. *room: elements there are.
#define gpu_room(out, held, n) GPU_NAME(room)((void **)(out), (held), (size_t)(n), sizeof **(out))
mds_status GPU_NAME(alloc)(void **out, size_t bytes);
mds_status GPU_NAME(copy_in)(void **out, const void *from, size_t bytes);
mds_status GPU_NAME(room)(void **out, size_t *room, size_t n, size_t size);
void       GPU_NAME(release)(const void *memory); // NULL is fine

// ------------------------------------------------------------------------------------------------- in kernels

/// A fault of an atom (GPU_NO_ATOM: of none in particular).
static __device__ __forceinline__ void gpu_fault(gpu_control *c, unsigned bit, int atom)
{
    atomicOr(&c->fault, bit);
    atomicMin(&c->fault_atom, atom);
}

/// The sum of forces on a slot, where view.in_float says that it is one of floats.
static __device__ __forceinline__ float4 *gpu_float_sum(const gpu_view *p, int slot)
{
    return reinterpret_cast<float4 *>(p->force) + slot;
}

/// Component k of a force on a slot, kJ/mol/nm, added to its sum.
static __device__ __forceinline__ void gpu_add_force(const gpu_view *p, int slot, int k, float f)
{
    bool fits;

    if (p->in_float) {
        fits = fabsf(f) < GPU_FORCE_LIMIT;
        atomicAdd(&gpu_float_sum(p, slot)->x + k, fits ? f : f > 0 ? GPU_FORCE_LIMIT : f < 0 ? -GPU_FORCE_LIMIT : 0.0f);
    } else {
        fits = gpu_add_fixed(&p->force[slot][k], f, GPU_FORCE_SCALE);
    }
    if (!fits) gpu_fault(p->control, isnan(f) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE, p->atom_of[slot]);
}

/// The same `times` times. Units are multiplied, not f: the bits are those of one call after the other.
static __device__ __forceinline__ void gpu_add_force_times(const gpu_view *p, int slot, int k, float f, int times)
{
    if (p->in_float || !(fabsf(f) * (float)times < GPU_FORCE_LIMIT))
        gpu_add_force(p, slot, k, f * (float)times);
    else
        atomicAdd(&p->force[slot][k], (unsigned long long)(times * __float2ll_rn(f * GPU_FORCE_SCALE)));
}

#if GPU_VECTOR_ADD
/// All three components to a sum of floats (view.in_float) in one operation.
static __device__ __forceinline__ void gpu_add_force_vector(const gpu_view *p, int slot, float x, float y, float z)
{
    const float limit = GPU_FORCE_LIMIT;

    if (!(fmaxf(fmaxf(fabsf(x), fabsf(y)), fabsf(z)) < limit) || isnan(x + y + z)) {
        gpu_add_force(p, slot, 0, x);
        gpu_add_force(p, slot, 1, y);
        gpu_add_force(p, slot, 2, z);
        return;
    }
    atomicAdd(gpu_float_sum(p, slot), make_float4(x, y, z, 0));
}
#endif

/// The same in double, for bonded terms and sites.
static __device__ __forceinline__ void gpu_add_force_double(const gpu_view *p, int slot, int k, double f)
{
    const double limit = 576460752303423488.0, scaled = f * (double)GPU_FORCE_SCALE;
    const bool   fits = fabs(scaled) < limit;

    const double kept = fits ? scaled : scaled > 0 ? limit : scaled < 0 ? -limit : 0.0;

    if (p->in_float)
        atomicAdd(&gpu_float_sum(p, slot)->x + k, (float)(kept * (1 / (double)GPU_FORCE_SCALE)));
    else
        atomicAdd(&p->force[slot][k], (unsigned long long)__double2ll_rn(kept));
    if (!fits) gpu_fault(p->control, isnan(f) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE, p->atom_of[slot]);
}

/// An energy or a component of the virial, kJ/mol, added to control->sum[which]: once a warp or a block, not once a pair.
static __device__ __forceinline__ void gpu_add_sum(gpu_control *c, int which, double v)
{
    const double limit = 576460752303423488.0, scaled = v * (double)GPU_SUM_SCALE;
    const bool   fits = fabs(scaled) < limit;

    atomicAdd(&c->sum[which], (unsigned long long)__double2ll_rn(fits ? scaled : scaled > 0 ? limit : scaled < 0 ? -limit : 0.0));
    if (!fits) gpu_fault(c, isnan(v) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE, GPU_NO_ATOM);
}

/// The same with what is left below the unit kept in the second word: exact to 2^-64 kJ/mol. Up to 2^23 terms.
static __device__ __forceinline__ void gpu_add_sum_fine(gpu_control *c, int which, double v)
{
    const double limit = 576460752303423488.0, scaled = v * (double)GPU_SUM_SCALE;
    const bool   fits = fabs(scaled) < limit;
    const double cut = fits ? scaled : scaled > 0 ? limit : scaled < 0 ? -limit : 0.0, whole = rint(cut);

    atomicAdd(&c->sum[which], (unsigned long long)__double2ll_rn(whole));
    atomicAdd(&c->fine[which], (unsigned long long)__double2ll_rn((cut - whole) * GPU_FINE_SCALE));
    if (!fits) gpu_fault(c, isnan(v) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE, GPU_NO_ATOM);
}

/// Slot-order copies of atom i at x: float position from the origin of its block, and fractional coordinates as 32-bit integers, whose
/// overflow is the periodicity. inverse: of the box. Returns the float position.
static __device__ __forceinline__ float4 gpu_refresh_atom(const gpu_view *p, const double (*box)[3], const double (*inverse)[3], int i,
                                                          const double x[3])
{
    const int    slot = p->slot_of[i];
    const float4 origin = p->origin[slot / GPU_BLOCK];
    double       w[3];
    unsigned     fraction[3];
    int          k, l;

    for (k = 0; k < 3; k++) {
        w[k] = x[k];
        for (l = k; l < 3; l++) w[k] += p->image[i][l] * box[l][k];
    }
    const float4 out = make_float4((float)(w[0] - (double)origin.x), (float)(w[1] - (double)origin.y), (float)(w[2] - (double)origin.z),
                                   p->xq[slot].w);
    p->xq[slot] = out;
    if (!(box[0][0] > 0)) return out;
    for (k = 0; k < 3; k++) {
        double s = 0;

        for (l = k; l < 3; l++) s += w[l] * inverse[l][k];
        s -= floor(s);
        fraction[k] = s < 1 ? (unsigned)(s * 4294967296.0) : 0; // 1 after rounding, and not a number, are 0
    }
    p->fraction[slot] = make_uint4(fraction[0], fraction[1], fraction[2], 0);
    return out;
}

/// By threads t of one block, 64 or more: clears the sums of the step, and splits the box into two floats a component: what pair kernels
/// shift blocks by without doubles.
static __device__ __forceinline__ void gpu_begin_step(gpu_control *c, int t)
{
    if (t < GPU_N_SUMS) c->sum[t] = c->fine[t] = 0;
    if (t < 9) {
        const double h = c->box.a[t / 3][t % 3], raster = rint(h * 1024) * (1.0 / 1024);

        c->raster[t / 3][t % 3] = (float)raster;
        c->rest[t / 3][t % 3] = (float)(h - raster);
    }
}

/// The sum of forces on a slot, which is cleared.
static __device__ __forceinline__ void gpu_take_sum(const gpu_view *p, int slot, double f[3])
{
    int k;

    if (p->in_float) {
        const float4 sum = *gpu_float_sum(p, slot);

        f[0] = sum.x;
        f[1] = sum.y;
        f[2] = sum.z;
        *gpu_float_sum(p, slot) = make_float4(0, 0, 0, 0);
        return;
    }
    for (k = 0; k < 3; k++) {
        f[k] = (double)(long long)p->force[slot][k] * (1 / (double)GPU_FORCE_SCALE);
        p->force[slot][k] = 0;
    }
}

/// f of atom i from the sum of forces of its slot, which is cleared for the next step. Sites have given theirs away.
static __device__ __forceinline__ void gpu_take_force(const gpu_view *p, int i)
{
    gpu_take_sum(p, p->slot_of[i], p->f[i]);
}

// ---------------------------------------------------------------------------------------------------- modules
// Each: open (system and params are set), close (NULL is fine), set (params or box changed).

mds_status GPU_NAME(search_open)(mds_device *d);
void       GPU_NAME(search_close)(mds_device *d);
mds_status GPU_NAME(search_set)(mds_device *d);
void       GPU_NAME(figures)(const mds_device *d, mds_list_figures *out);
/// Enqueue, if it is due in this step, the pruning of the list: sets d->list. Called by pair.
mds_status GPU_NAME(prune)(mds_device *d);
/// Enqueue the guard: trips if the list may lack a pair that matters (docs/decisions/005-list-buffer.md). Called at the end of a
/// list with DRIFT, after control->suspect has been set where a way went beyond its limit.
mds_status GPU_NAME(guard)(mds_device *d);
/// The same where move has noted the fast atoms (survey.h): beside the forces, on the stream of the terms. Called by finish.
mds_status GPU_NAME(guard_ask)(mds_device *d);
/// Enqueue: the guard has seen nothing; before a search.
mds_status GPU_NAME(guard_reset)(mds_device *d);
/// Squares of the ways that heavy [0] and light [1] atoms may go before the guard must look, nm^2, for the present box scale.
static __device__ inline void gpu_guard_limits(const mds_params *p, const gpu_control *c, double limit2[2])
{
    const double cut = fmax(p->cut_lj, p->cut_q), lag = fabs(1 - c->list_scale) * c->extent;
    const double buffer = p->list_radius * c->list_scale - cut - 2 * lag;
    const bool   all_pairs = !(c->box.a[0][0] > 0) && (p->cut_lj <= 0 || (p->coulomb != MDS_COULOMB_NONE && p->cut_q <= 0));
    int          k;

    for (k = 0; k < 2; k++) {
        const double limit = 0.5 * (buffer + (p->list_pairwise ? fmin(p->list_depth[k], p->list_depth[k + 1]) : 0));

        limit2[k] = limit > 0 ? fmin(limit * limit, 0.25 * cut * cut) : -1;
        if (!c->listed || cut <= 0 || all_pairs) limit2[k] = 1e200;
    }
}

mds_status GPU_NAME(pair_open)(mds_device *d);
void       GPU_NAME(pair_close)(mds_device *d);
mds_status GPU_NAME(pair_set)(mds_device *d);
mds_status GPU_NAME(pair_remap)(mds_device *d); // slot order changed

/// Twins in double precision, of whatever pair, bonded and mesh would enqueue. set: params or the split changed; closes with NULL too.
mds_status GPU_NAME(pair_double_set)(mds_device *d);
void       GPU_NAME(pair_double_close)(mds_device *d);
mds_status GPU_NAME(pair_double)(mds_device *d, mds_work work);
mds_status GPU_NAME(bonded_double_set)(mds_device *d);
void       GPU_NAME(bonded_double_close)(mds_device *d);
mds_status GPU_NAME(bonded_double)(mds_device *d, mds_work work);

mds_status GPU_NAME(bonded_open)(mds_device *d);
mds_status GPU_NAME(bonded_set)(mds_device *d); // mixed precision alone has these lists
void       GPU_NAME(bonded_close)(mds_device *d);
mds_status GPU_NAME(excluded_open)(mds_device *d);
void       GPU_NAME(excluded_close)(mds_device *d);
mds_status GPU_NAME(excluded_set)(mds_device *d);
mds_status GPU_NAME(excluded)(mds_device *d, mds_work work); // enqueued by bonded
/// Enqueue on d->stream: slow forces of this step once more, `times` as strongly.
mds_status GPU_NAME(excluded_again)(mds_device *d, int times);
mds_status GPU_NAME(mesh_again)(mds_device *d, int times);
mds_status GPU_NAME(vsite_open)(mds_device *d);
void       GPU_NAME(vsite_close)(mds_device *d);
mds_status GPU_NAME(vsite_place)(mds_device *d);                 // enqueue: x of the sites
mds_status GPU_NAME(vsite_spread)(mds_device *d, mds_work work); // enqueue: sums of forces of the sites to their atoms, virial

mds_status GPU_NAME(mesh_open)(mds_device *d);
void       GPU_NAME(mesh_close)(mds_device *d);
mds_status GPU_NAME(mesh_set)(mds_device *d);
/// The word for a way to transform the mesh that stands behind a pair kernel's ("lane-gemm"), "" where none of them does.
const char *GPU_NAME(mesh_wish)(const char *isa);

mds_status GPU_NAME(move_open)(mds_device *d);
void       GPU_NAME(move_close)(mds_device *d);

mds_status GPU_NAME(observe_open)(mds_device *d);
void       GPU_NAME(observe_close)(mds_device *d);

/// What the engine sees of control->fault.
uint32_t GPU_NAME(faults)(const mds_device *d, const gpu_control *c);
/// Multiple time steps (docs/theory/integrators.md): whether the mesh acts in impulses; whether it does in a step whose forces are looked at,
/// which get the rest of it after all that was summed (finish).
static inline bool gpu_impulses(const mds_device *d)
{
    return d->f_seen && d->params.mesh_every > 1 && d->params.coulomb == MDS_COULOMB_PME;
}

static inline bool gpu_shows_impulse(const mds_device *d, mds_work work)
{
    return gpu_impulses(d) && !(work & MDS_FAST) && (work & (MDS_ENERGY | MDS_VIRIAL | MDS_OBSERVE));
}

/// How often slow forces go into the sums where they are computed.
static inline int gpu_slow_times(const mds_device *d, mds_work work)
{
    return gpu_impulses(d) && !gpu_shows_impulse(d, work) ? d->params.mesh_every : 1;
}

/// replay of the table; forget what was recorded, because lists (search) or parameters (set, upload) have changed.
mds_status GPU_NAME(replay)(mds_device *d, mds_status (*record)(void *), void *arg, mds_work kind, int n);
void       GPU_NAME(graph_forget)(mds_device *d);
void       GPU_NAME(graph_close)(mds_device *d);
/// Enqueue: xq and fraction of all slots from x; in begin, and after a search.
mds_status GPU_NAME(refresh)(mds_device *d);
/// Enqueue the list that move has postponed, if any: before anything but move(before) that reads x, v or f, or changes parameters.
mds_status GPU_NAME(catch_up)(mds_device *d);
/// Enqueue what finish has left to move, where something else than move wants f first.
mds_status GPU_NAME(sum_forces)(mds_device *d);

// stages
mds_status GPU_NAME(search)(mds_device *d, const mds_domain *domain);
mds_status GPU_NAME(pair)(mds_device *d, mds_where where, mds_work work);
mds_status GPU_NAME(bonded)(mds_device *d, mds_work work);
mds_status GPU_NAME(mesh)(mds_device *d, mds_phase phase, mds_work work);
mds_status GPU_NAME(move)(mds_device *d, const mds_op *until_stop, mds_work work);
mds_status GPU_NAME(couple)(mds_device *d, mds_work work);
mds_status GPU_NAME(observe)(mds_device *d, uint32_t fields, int slot);
mds_status GPU_NAME(collect)(mds_device *d, int slot, mds_frame *out);
mds_status GPU_NAME(view)(mds_device *d, int slot, mds_frame *out);
void       GPU_NAME(meter)(const mds_device *d, mds_meter *out);
/// Of GPU k: ", driver 1.2.3, power limit 300 W", or as much of it as is known.
void       GPU_NAME(driver_text)(int k, char *text, size_t size);
mds_status GPU_NAME(time_pairs)(mds_device *d, const mds_domain *domain, double seconds[4]);
void       GPU_NAME(round_grid)(int32_t grid[3]);
const char *GPU_NAME(ways)(const mds_device *d);

#endif
