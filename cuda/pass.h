// SPDX-License-Identifier: Apache-2.0
// A pass over all atoms: what the kernels of move.cu are told, and what an operation does to a single atom.
#ifndef MDS_CUDA_PASS_H
#define MDS_CUDA_PASS_H

#include "survey.h"

#include "base/rng.h"

#include <math.h>

enum { HEAT, CENTRE_KINETIC, EXTENT, N_COLUMNS };

/// An operation with its numbers worked out.
typedef struct {
    int      kind;
    uint32_t stream;
    double   h, inv_h;  // ps, 1/ps (0: positions only)
    double   c, spread; // NOISE: decay, (1 - c^2) kT in kJ/mol
} move_op;

typedef struct {
    gpu_view     view;
    gpu_groups   groups;
    gpu_networks networks;
    mds_params   params;
    double     (*shift)[3]; // NULL without sites
    double      *rows;
    unsigned    *counter;
    int          n_rows;
    int          n;
    bool         begins, noisy, fixes; // has DRIFT, NOISE, FIX_X
    bool         takes, forget;        // f is still in the sums of forces; a booked scaling is to be forgotten at the end
    double       tolerance;
    survey_args  survey;
    move_op      op[GPU_MOST_OPS];
} move_args;

/// The box after the scaling that is done in the same pass; shared.
typedef struct {
    mds_box box;
    double  inverse[3][3];
} move_frame;

/// What a thread adds to its block's row.
typedef struct {
    double     heat, centre_kinetic, extent; // kJ/mol, kJ/mol, nm
    gpu_survey survey;
} move_sums;

// ------------------------------------------------------------------------------------------------ atoms

static __device__ __forceinline__ void move_kick(double v[3], const double f[3], double h, double im)
{
    int k;

    for (k = 0; k < 3; k++) v[k] += h * im * f[k];
}

/// With max_move, an atom that would go further goes that far, and its velocity is cut to match.
static __device__ __forceinline__ void move_drift(double x[3], double v[3], double h, double max_move)
{
    const double way = max_move > 0 ? h * mds_norm(v) : 0, cut = way > max_move ? max_move / way : 1;
    int          k;

    for (k = 0; k < 3; k++) {
        v[k] *= cut;
        x[k] += h * v[k];
    }
}

/// Ornstein-Uhlenbeck, exact for any time.
static __device__ __forceinline__ void move_noise(double v[3], const move_op *op, double im, uint64_t seed, uint64_t step, int id)
{
    const double spread = sqrt(op->spread * im);
    double       gauss[4];
    int          k;

    mds_gauss4(seed, op->stream, step, (uint32_t)id, gauss);
    for (k = 0; k < 3; k++) v[k] = op->c * v[k] + spread * gauss[k];
}

/// FIRE's mixing; a: acceleration that constraints leave [bitzek2006].
static __device__ __forceinline__ void move_mix(double v[3], const double a[3], double im, const gpu_control *c, double m)
{
    const double along = c->ff > 0 ? m * sqrt(c->vv / c->ff) : 0;
    int          k;

    for (k = 0; k < 3; k++) v[k] = m >= 0 && c->fv > 0 ? (1 - m) * v[k] + along * a[k] / im : 0;
}

/// Whether an atom's way since the search, or in a list without DRIFT its speed, is too large or not a number. Marks what is to be
/// marked for those that are not finite. *way: the square, nm^2.
static __device__ __forceinline__ bool move_look(const move_args *a, const double limit2[2], int id, double im, const double x[3],
                                            const double v[3], double *way)
{
    const double *list = a->view.x_list[id], speed2 = mds_dot(v, v);
    double        way2 = 0, limit = 1e200;
    int           k;

    if (a->begins) {
        for (k = 0; k < 3; k++) way2 += (x[k] - list[k]) * (x[k] - list[k]);
        limit = im > 1 / MDS_LIGHT ? limit2[1] : limit2[0];
    } else
        way2 = speed2;
    *way = way2;
    if (way2 <= limit) return false;
    if (a->survey.on) survey_fast(&a->survey, id, way2);
    if (!isfinite(mds_dot(x, x)) || !isfinite(speed2)) gpu_fault(a->view.control, MDS_FAULT_NOT_FINITE, id);
    return true;
}

/// By one thread of a block.
static __device__ __forceinline__ void move_set_frame(const gpu_control *c, double mu, move_frame *out)
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) {
            out->box.a[k][l] = mu != 0 ? c->box.a[k][l] * mu : c->box.a[k][l];
            out->inverse[k][l] = c->inverse[k][l];
        }
    if (mu != 0) mds_box_inverse(&out->box, out->inverse);
}

#endif
