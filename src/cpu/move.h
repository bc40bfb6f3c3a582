// SPDX-License-Identifier: Apache-2.0
// Private to groups.c, move.c, isa_move.c, isa_measure.c, constrain.c, measure.c and couple.c: groups of atoms that constraints tie
// together.
//
// A group is what one thread moves alone: a rigid water, an X-H cluster, a network of links, a free atom. Groups share
// no atoms. All but networks are moved eight at a time (isa_group.h); networks one by one through the arrays of their thread's
// scratch. Per kind the groups are in slot order and each thread takes a fixed share.
#ifndef MDS_CPU_MOVE_H
#define MDS_CPU_MOVE_H

#include "cpu/cpu.h"

/// Kinds of group that are moved by the vector; groups a batch, the lanes of the widest register.
enum { CPU_WATER, CPU_XH1, CPU_XH2, CPU_XH3, CPU_FREE, CPU_N_GROUPS };
enum { CPU_BATCH = 8, CPU_ODD = 1024 };
static const int cpu_group_atoms[CPU_N_GROUPS] = {3, 2, 3, 4, 1};

/// Where velocities are: in the rows of mds_device.v, in the batches, in both. Networks and sites are always in the rows.
typedef enum { CPU_V_ROWS, CPU_V_BATCHES, CPU_V_BOTH } cpu_v_at;

/// Batches of one kind, in slot order. Lanes beyond `count` repeat the first.
typedef struct {
    int32_t  n;      // batches
    int32_t *count;  // [n] groups in each
    int32_t *offset; // [n][atoms][CPU_BATCH] 3 slot: where the atom's row begins in arrays by slot, doubles
    double  *im;     // [n][atoms][CPU_BATCH] 1/Da; not for waters
    double  *length; // [n][atoms - 1][CPU_BATCH] nm; of X-H clusters
    // What in most steps only motion looks at, kept by batch: whole vectors one after the other, where rows by slot are scattered
    double  *v;      // [n][atoms][3][CPU_BATCH] nm/ps; cpu_move says whether these or the rows are up to date
    double  *x_list; // [n][atoms][3][CPU_BATCH] nm; like the rows where cpu_move says so
} cpu_batches;

/// Waters that share lengths and masses, and the lengths of the canonical triangle [miyamoto1992].
typedef struct {
    double  length[3];      // OH, OH, HH, nm
    double  im_o, im_h;     // 1/Da
    double  ra, rb, rc;     // centre of mass to O, to the H-H line; half HH, nm
    double  inv_ra, inv_2rc;// 1/nm
    double  weight_o, weight_h; // shares of the mass, 1
    int32_t first, n;       // waters of this kind in water_slot
} cpu_water_kind;

/// Work arrays of one thread, as long as the largest group.
typedef struct {
    double (*x)[3], (*v)[3], (*f)[3], (*r)[3], (*w)[3], (*u)[3], (*a)[3]; // [n_max]
    double (*d)[3];                                       // [nc_max] bond directions
    double *im;                                           // [n_max] 1/Da
    double *lambda, *residual, *search, *image, *bias;    // [nc_max]
} cpu_scratch;

/// One group: slots, constraints between local indices, lengths.
typedef struct {
    int32_t        n, nc;
    const int32_t *slot;   // [n]
    const int32_t *pair;   // [nc][2]
    const double  *length; // [nc] nm
} cpu_group;

/// What a pass over the groups adds up, per thread.
typedef struct {
    double   work_noise;
    double   kinetic[3][3], virial[3][3], inertia[3][3]; // kJ/mol; virial: force share of the constraints
    double   fv, ff, vv;
    double   centre_kinetic, centre_virial, extent; // kJ/mol, kJ/mol, nm
    bool     suspect;                               // something moved far or is not finite: look closer
    int32_t *odd, n_odd;                            // [CPU_ODD] slots where it is; n_odd > CPU_ODD: not all are there
    double   heavy2;                                // largest square of the way of a heavy atom since the search, nm^2; DRIFT only
    int32_t  unsolved;                              // smallest atom id of a group whose constraints failed, or INT32_MAX
    char     pad[64];
} cpu_move_sums;

struct cpu_ops;
struct cpu_measure;

struct cpu_move {
    // waters
    int32_t         n_kinds, n_waters;
    cpu_water_kind *kind;
    int32_t        *kind_of;     // [n_waters] by water of the system
    int32_t        *water_slot;  // [n_waters][3] kind after kind
    int32_t        *batch_first, *batch_kind; // [batches of waters]
    // X-H clusters
    int32_t  n_clusters;
    int32_t *cluster_slot;       // [n_clusters][4]
    int32_t *cluster_size;       // [n_clusters] atoms
    double  *cluster_length;     // [n_clusters][3]
    // networks of links: atoms and links of net k are [start[k], start[k+1])
    int32_t  n_nets;
    int32_t *net_atom_start, *net_link_start; // [n_nets + 1]
    int32_t *net_atom, *net_slot;             // [..] ids, slots
    int32_t *net_pair;                        // [n_links][2] indices inside the net
    double  *net_length;                      // [n_links]
    // free atoms
    int32_t  n_free;
    int32_t *free_slot;
    cpu_batches batches[CPU_N_GROUPS];
    // static roles for the remap, by atom: what the atom leads
    int32_t *role;               // [n_atoms] see move.c
    bool     mapped;             // a remap has been done
    int32_t  n_max, nc_max;
    cpu_scratch   *scratch;      // [n_threads]
    cpu_move_sums *sums;         // [n_threads]
    int32_t       *odd;          // [n_threads][CPU_ODD] of the sums
    double (*shift)[3];          // [n_atoms] how far scaling moved x_list (systems with sites)
    // between lists
    struct cpu_ops *waiting; // a list put off by the last call, or n = 0 (move.c)
    cpu_v_at v_at;               // where velocities of batches are up to date
    bool   list_kept;            // x_list of batches is up to date
    bool   noisy;                // the list that began this step had NOISE
    double log_scale;            // ln of the box scaling applied in this step, until the virial after it is booked
    bool   half_step;            // at the last measurement v was half a step ahead of x
    double inertia[3][3];        // share of constraint_virial that goes with v squared, kJ/mol
    void (*run)(mds_device *, int kind, const struct cpu_ops *, int32_t, int32_t, cpu_move_sums *);
    void (*measure)(const mds_device *, int kind, const struct cpu_measure *, int32_t, int32_t, cpu_move_sums *);
    double extent;               // largest distance of an atom from its group's centre, nm
};

/// An operation with its numbers worked out.
typedef struct {
    mds_op_kind kind;
    double      h, inv_h; // ps, 1/ps (0: positions only)
    double      c, spread;// NOISE: decay, (1 - c^2) kT in kJ/mol
    uint32_t    stream;
} cpu_op;

/// A list ready to run on groups.
typedef struct cpu_ops {
    int    n;
    bool   drifts, kicks, moves; // has DRIFT; has KICK; changes x
    bool   unseen;    // nobody looks at the velocities after it
    bool   v_kept, keep_v;       // velocities come from the batches, not the rows; go there
    bool   list_kept;            // positions of the search come from the batches; else they go there from the rows (lists with DRIFT)
    double limit2[2]; // squares of the ways that heavy and light atoms may have gone since the search, nm^2 (guard.c)
    double max_move;  // nm, 0: none
    double tolerance; // of constrained lengths, relative
    cpu_op op[16];
} cpu_ops;

// constrain.c: groups of any kind by their local arrays
/// Gather x and the inverse masses of a group into scratch->x, scratch->im.
void mds_cpu_group_load(const mds_device *device, const cpu_group *group, cpu_scratch *scratch);
/// scratch->x onto the constraints along the directions of scratch->r; moves nothing but x. False: did not converge.
bool mds_cpu_group_fix_x(const cpu_group *group, double tolerance, cpu_scratch *scratch);
/// Take from w (any of the scratch arrays) what makes r_ij.w_ij + bias differ from 0, at the bonds of x. bias NULL: zeros.
bool mds_cpu_group_project(const cpu_group *group, cpu_scratch *scratch, const double (*x)[3], double (*w)[3], const double *bias);

// groups.c
cpu_group mds_cpu_cluster(const cpu_move *move, int32_t k);
cpu_group mds_cpu_network(const cpu_move *move, int32_t k);
/// Share [*first, *last) of n things for thread t.
static inline void mds_cpu_share(const mds_device *d, int t, int32_t n, int32_t *first, int32_t *last)
{
    *first = (int32_t)((int64_t)n * t / d->n_threads);
    *last = (int32_t)((int64_t)n * (t + 1) / d->n_threads);
}
typedef void (*cpu_visit)(mds_device *device, const cpu_group *group, cpu_scratch *scratch, cpu_move_sums *sums, const void *arg);
/// Call `visit` for every group, threads side by side, and add the threads' sums in order into sums[0].
void mds_cpu_visit_groups(mds_device *device, cpu_visit visit, const void *arg);
/// Networks in the share of thread t alone.
void mds_cpu_visit_networks(mds_device *device, int t, cpu_visit visit, const void *arg);
/// Zero the sums of all threads.
void mds_cpu_clear_sums(mds_device *device);
void mds_cpu_add_sums(mds_device *device);

/// What a measurement needs beside the kinetic energy.
typedef struct cpu_measure {
    bool half_step; // v is half a step ahead of x: take the mean with the half step behind
    bool forces;    // constraint virial, fv, ff, vv
} cpu_measure;

// isa_move.c and isa_measure.c, one of each per level: run a list on batches [first, last) of a kind; sums of a measurement over them
#define CPU_MOVE_LEVEL(level)                                                                                \
    void mds_isa_move_##level(mds_device *, int kind, const cpu_ops *, int32_t, int32_t, cpu_move_sums *);   \
    void mds_isa_measure_##level(const mds_device *, int kind, const cpu_measure *, int32_t, int32_t, cpu_move_sums *)
CPU_MOVE_LEVEL(generic);
CPU_MOVE_LEVEL(avx2);
CPU_MOVE_LEVEL(avx512);

// measure.c
/// Kinetic energy of the present x, v, f, and what else is asked for (else 0).
void mds_cpu_measure(mds_device *device, const cpu_measure *what);
/// FIRE's mixing; needs the sums of a measurement.
void mds_cpu_mix(mds_device *device);

// couple.c
/// The box scaling that couple left waiting.
void mds_cpu_apply_scale(mds_device *device);
/// Correct its booked work with the virial after it, at the end of the step that applied it.
void mds_cpu_book_scale(mds_device *device);

#endif
