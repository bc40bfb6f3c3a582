// SPDX-License-Identifier: Apache-2.0
// Private to groups.cu, move.cu, measure.cu and couple.cu: which atoms move together, and what these files call of each other.
//
// A group is what constraints tie together: a rigid water, an X-H cluster, a network of links, or a free atom. Groups share no atoms,
// so a group can be moved from its first operation to its last by those who own it: a thread (constrain.h), and for a network a
// block (network.h). One kernel moves all groups but networks: its blocks are dealt to the kinds in turn, GPU_GROUPS threads each.
#ifndef MDS_CUDA_MOVE_H
#define MDS_CUDA_MOVE_H

#include "device.h"

enum { GPU_WATER, GPU_XH1, GPU_XH2, GPU_XH3, GPU_FREE, GPU_N_KINDS };
enum { GPU_GROUPS = 128 }; // groups a block, one a thread

/// Atoms of a group of a kind.
static __host__ __device__ constexpr int gpu_atoms(int kind)
{
    return kind == GPU_WATER ? 3 : kind == GPU_FREE ? 1 : kind - GPU_XH1 + 2;
}

/// 1/sqrt(a); not a number for a negative one.
static __device__ __forceinline__ double gpu_inv_root(double a)
{
    return rsqrt(a);
}

/// Waters that share lengths and masses: lengths of the canonical triangle [miyamoto1992].
typedef struct {
    double im_o, im_h;         // 1/Da
    double ra, rb, rc;         // centre of mass to O, to the H-H line; half HH, nm
    double inv_ra, inv_2rc;    // 1/nm
    double weight_o, weight_h; // shares of the mass, 1
    double oh, hh;             // nm
} gpu_water;

/// Groups that a thread moves; by value in kernels.
typedef struct {
    int              n[GPU_N_KINDS];
    int              first_block[GPU_N_KINDS + 1]; // blocks [first_block[k], first_block[k+1]) are of kind k
    int              n_blocks;                     // of a kernel over groups: at least one
    const int4      *group[GPU_FREE];              // [n] ids; w of a water: which of `water`
    const double    *length2[GPU_FREE];            // [n][hydrogens] nm^2; not of waters
    const int       *free;                         // [n] ids
    const gpu_water *water;
} gpu_groups;

/// Networks of links, one a block. Atoms and links of network k are rows [atom_start[k], atom_start[k+1]) and likewise.
typedef struct {
    int           n;
    const int    *atom_start, *link_start;         // [n + 1]
    const int    *atom;                            // [rows] ids, ascending in a network
    const int2   *pair;                            // [links] rows of both ends
    const double *length2;                         // [links] nm^2
    const int    *touch_start;                     // [rows + 1]
    const int    *touch;                           // links at an atom: 2 link, or 2 link + 1 where it is the second end
    double      (*dir)[3];                         // [links] directions, nm; from here on work arrays
    double       *diagonal, *lambda, *residual, *search, *image, *bias; // [links]
    double      (*u)[3], (*before)[3], (*a)[3], (*w)[3];                // [rows]
} gpu_networks;

/// What couple works out for all atoms, in device memory.
typedef struct {
    double shift[3], alpha;               // velocities become alpha (v - shift)
    double centre[3], turn[3], kinetic[6];// of the motion of the whole: centre, angular velocity, kinetic energies before
} gpu_common;

enum { GPU_MOST_OPS = 16 }; // of two lists
typedef struct gpu_survey gpu_survey;

struct gpu_move {
    gpu_groups    groups;
    gpu_networks  networks;
    int           network_threads;
    int           n_sites;
    const int    *site, *carrier;  // [n_sites] its id; the first real atom that it is built from
    double      (*shift)[3];       // [n_atoms] how far scaling moved x_list; systems with sites, else NULL
    double       *rows;            // partial sums, a row a block (reduce.h)
    unsigned     *counter;         // blocks that have come
    gpu_common   *common;
    double        mass;            // of all atoms, Da
    mds_op        later[GPU_MOST_OPS]; // the list that has been postponed
    gpu_survey   *survey;          // a row a block of groups (survey.h)
};

enum { GPU_MEASURES = 27, GPU_ATOM_BLOCKS = 512 }; // columns of the widest row; most blocks of a sum over atoms

/// Rows that the kernels over groups leave: blocks of groups, then networks.
static inline int gpu_move_rows(const gpu_move *m)
{
    return m->groups.n_blocks + m->networks.n;
}

/// Enqueue the measurement at the end of a step (measure.cu). whole_kick: the list has a full KICK, so v is half a step ahead unless
/// the step began with NOISE. forces: constraint virial, fv, ff, vv; else they become 0. keep: fv, ff, vv stay as they are.
mds_status GPU_NAME(measure)(mds_device *d, bool whole_kick, bool forces, bool keep);
/// Enqueue the correction of the work that a box scaling in this step was booked with (couple.cu).
mds_status GPU_NAME(book_scale)(mds_device *d);

static __device__ __forceinline__ double gpu_trace(const double m[3][3])
{
    return m[0][0] + m[1][1] + m[2][2];
}

#endif
