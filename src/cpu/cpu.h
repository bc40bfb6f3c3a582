// SPDX-License-Identifier: Apache-2.0
// Private data of the cpu backend. Particles live in cluster order: slot s of cluster s/4; padding slots hold no atom.
//
// x and v are double; the pair kernel reads a float copy, four atoms a line. Forces are summed per thread into float
// lines of the same shape and reduced in thread order in `finish`, so bits depend on the number of threads only.
// Everything indexed by slot is rebuilt ("remap") by `search`, the only place where the order changes.
#ifndef MDS_CPU_H
#define MDS_CPU_H

#include "backend/backend.h"
#include "num/num.h"

enum { CPU_CLUSTER = 4, CPU_LINE = 16 }; // atoms a cluster; floats a line: x4 y4 z4 q4, or fx4 fy4 fz4 pad4

/// Sums of one thread, on its own cache lines; reduced in thread order.
typedef struct {
    double energy[MDS_N_ENERGY];
    double virial[3][3]; // kJ/mol, -1/2 sum r (x) f
    double spare[8];
} cpu_sums;

typedef struct cpu_list     cpu_list;     // search.c, pair.c
typedef struct cpu_bonded   cpu_bonded;   // bonded.c
typedef struct cpu_vsite    cpu_vsite;    // vsite.c
typedef struct cpu_excluded cpu_excluded; // excluded.c
typedef struct cpu_mesh     cpu_mesh;     // mesh.c
typedef struct cpu_move     cpu_move;     // move.c, constrain.c, couple.c

struct mds_device {
    const mds_system *system; // borrowed
    mds_params        params;
    int               n_threads;
    char              isa[16];      // chosen level
    char              about[96];

    // particles, in slot order; growth only in upload and search
    int32_t n_atoms, n_slots, n_clusters;
    size_t  capacity;         // slots allocated
    int32_t *atom_of;         // [n_slots] atom id, -1 for padding
    int32_t *slot_of;         // [n_atoms]
    double (*x)[3];           // [n_slots] nm, continuous
    double (*v)[3];           // [n_slots] nm/ps
    double (*f)[3];           // [n_slots] kJ/mol/nm, complete after finish (sites 0)
    double (*f_seen)[3];      // [n_slots] multiple time steps, where `seen`: forces once each, while f has the slow ones mesh_every times
    bool    seen;
    double (*x_list)[3];      // [n_slots] positions at the last search, scaled with the box since
    double *charge, *inv_mass;// [n_slots] e, 1/Da (0: site or padding)
    int32_t *type;            // [n_slots] LJ type; n_types for padding
    float  *xq;               // [n_clusters][CPU_LINE] float copy for the pair kernel, from origins of its own; q scaled
    float **f_thread;         // [n_threads] of [n_clusters][CPU_LINE]; 0 after finish
    bool    lines_clear;      // it is
    cpu_sums *sums;           // [n_threads]

    mds_box  box;
    int64_t  step;
    double   time;            // ps
    double   coupling[MDS_N_COUPLING];
    double   work_noise, work_scale;
    bool     tripped;         // stop word
    bool     listed;          // a search has been done since upload
    uint32_t fault;
    int32_t  fault_atom;
    double   list_scale;      // product of box scalings since the last search, 1

    mds_short short_range;    // Coulomb polynomial of the present parameters; cpu.c (set) fills it
    mds_split split;          // PME only

    // reduced by finish
    double energy[MDS_N_ENERGY];
    double virial[3][3];
    bool   has_energy, has_virial;
    // by move
    double kinetic[3][3], constraint_virial[3][3];
    double fv, ff, vv;

    cpu_list     *list;
    cpu_bonded   *bonded;
    cpu_vsite    *vsite;
    cpu_excluded *excluded;
    cpu_mesh     *mesh;
    cpu_move     *move;

    mds_frame slot[2];        // frames on their way
};

/// Whether the mesh acts in impulses.
static inline bool mds_cpu_impulses(const mds_device *device)
{
    return device->params.mesh_every > 1 && device->params.coulomb == MDS_COULOMB_PME;
}

/// Whether it does in a step whose forces are looked at: those go into the lines once, and `finish` adds the rest of the impulse.
static inline bool mds_cpu_shows_impulse(const mds_device *device, mds_work work)
{
    return mds_cpu_impulses(device) && !(work & MDS_FAST) && (work & (MDS_ENERGY | MDS_VIRIAL | MDS_OBSERVE));
}

/// What slow forces are multiplied with on their way into the lines.
static inline double mds_cpu_slow_weight(const mds_device *device, mds_work work)
{
    return mds_cpu_impulses(device) && !mds_cpu_shows_impulse(device, work) ? device->params.mesh_every : 1;
}

/// Room for n slots in every array by slot; what was in them stays.
mds_status mds_cpu_reserve(mds_device *device, int32_t n);

// One module each: open (after system and params are set), close (NULL is fine), remap (slot order changed), and where
// it depends on params or box: set (params changed).
mds_status mds_cpu_list_open(mds_device *device);
void       mds_cpu_list_close(mds_device *device);
mds_status mds_cpu_list_set(mds_device *device);     // params changed: pair flavour, radii
void       mds_cpu_list_refresh(mds_device *device); // xq from x (in begin)
mds_status mds_cpu_bonded_open(mds_device *device);
void       mds_cpu_bonded_close(mds_device *device);
mds_status mds_cpu_bonded_remap(mds_device *device);
mds_status mds_cpu_vsite_open(mds_device *device);
void       mds_cpu_vsite_close(mds_device *device);
mds_status mds_cpu_vsite_remap(mds_device *device);
void       mds_cpu_vsite_place(mds_device *device);                // x of the sites from their atoms
void       mds_cpu_vsite_spread(mds_device *device, mds_work work); // f of the sites to their atoms; virial correction
mds_status mds_cpu_excluded_open(mds_device *device);
void       mds_cpu_excluded_close(mds_device *device);
mds_status mds_cpu_excluded_remap(mds_device *device);
void       mds_cpu_excluded_begin(mds_device *device, mds_work work); // mesh correction of excluded pairs and self energy, in double: what is due,
void       mds_cpu_excluded_share(mds_device *device, int thread);    // and thread `thread`'s share of it
void       mds_cpu_excluded_again(mds_device *device, double weight); // its forces once more, times weight
mds_status mds_cpu_mesh_open(mds_device *device);
void       mds_cpu_mesh_close(mds_device *device);
mds_status mds_cpu_mesh_set(mds_device *device);     // params changed: grid, order, split
mds_status mds_cpu_mesh_remap(mds_device *device);
void       mds_cpu_mesh_again(mds_device *device, double weight);  // its forces at the same positions once more, times weight
mds_status mds_cpu_move_open(mds_device *device);
void       mds_cpu_move_close(mds_device *device);
mds_status mds_cpu_move_remap(mds_device *device);
void       mds_cpu_move_flush(mds_device *device);   // catch up, and v by slot: before anyone looks at x and v or changes them
void       mds_cpu_move_catch_up(mds_device *device);// do what the move stage has put off: before anyone looks at x or changes f
void       mds_cpu_move_put_v(mds_device *device);   // v by slot is up to date, for who only looks at it

/// What the pair list looks like, for logs and benchmarks. Pairs are counted as slots of 4 x 4 tiles.
typedef struct {
    int64_t n_slots;                  // particles with padding
    int64_t outer_pairs, inner_pairs; // slots of the outer list, and of the inner one at the last prune
    int64_t inside;                   // interacting pairs of the inner list within the larger cut-off
    int64_t n_entries, n_parts, n_tiles;
    int64_t n_searches, n_prunes;     // since open
} cpu_list_statistics;
void mds_cpu_list_statistics(const mds_device *device, cpu_list_statistics *out);

// guard.c: what the list may lack
/// Squares of the ways since the search that heavy [0] and light [1] atoms may go before the guard must look, nm^2.
void mds_cpu_guard_limits(const mds_device *device, double limit2[2]);
/// Whether the list may lack a pair that matters at the present positions (docs/decisions/005-list-buffer.md). slots [n]: all atoms
/// beyond these limits are among them, and heavy2 is the largest square of a heavy atom's way, nm^2; NULL: n is that of all slots.
bool mds_cpu_guard_trips(mds_device *device, const int32_t *slots, int32_t n, double heavy2);

// stages
mds_status mds_cpu_search(mds_device *device, const mds_domain *domain);
mds_status mds_cpu_pair(mds_device *device, mds_where where, mds_work work);
mds_status mds_cpu_bonded_stage(mds_device *device, mds_work work);
mds_status mds_cpu_mesh_stage(mds_device *device, mds_phase phase, mds_work work);
mds_status mds_cpu_move_stage(mds_device *device, const mds_op *until_stop, mds_work work);
mds_status mds_cpu_couple(mds_device *device, mds_work work);
mds_status mds_cpu_observe(mds_device *device, uint32_t fields, int slot);
mds_status mds_cpu_collect(mds_device *device, int slot, mds_frame *out);

extern const mds_backend mds_backend_cpu;

#endif
