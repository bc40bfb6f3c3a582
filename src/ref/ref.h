// SPDX-License-Identifier: Apache-2.0
// Private data of ref, the oracle: double precision, plain loops, atom order, textbook formulas. It shares no arithmetic
// with what it checks (no num/).
#ifndef MDS_REF_H
#define MDS_REF_H

#include "backend/backend.h"

typedef struct ref_mesh ref_mesh;

enum { REF_SERIES = 160, REF_NODES = 192 };

/// The Ewald split of the present parameters (split.c). Prolate: psi(t) - psi(1) = sum_k a[k] t^(2k) on [0, 1].
typedef struct {
    bool        prolate;
    double      cut, beta; // nm, 1/nm (beta: Gaussian only)
    int         n;         // coefficients used
    long double a[REF_SERIES];
    long double integral;  // of psi(t) - psi(1) over [0, 1]
    double      node[REF_NODES], weight[REF_NODES]; // quadrature of psi on [0, 1], divided by the integral
} ref_split;

struct mds_device {
    const mds_system *system; // borrowed
    mds_params params;
    int32_t  n;               // atoms
    double (*x)[3], (*v)[3], (*f)[3]; // [n] nm, nm/ps, kJ/mol/nm
    double (*f_slow)[3], (*f_seen)[3]; // [n] multiple time steps: slow forces, and all forces once each (f: what kicks); else both are f
    double (*x_fix)[3];       // [n] directions of FIX_X: positions before the drift
    double (*x_list)[3];      // [n] positions at the last search (the trip is checked as in cpu)
    mds_box  box;
    int64_t  step;
    double   time;            // ps
    double   coupling[MDS_N_COUPLING];
    double   work_noise, work_scale;
    bool     tripped, listed;
    uint32_t fault;
    int32_t  fault_atom;
    double   list_scale;

    double energy[MDS_N_ENERGY];
    double virial[3][3];
    bool   has_energy, has_virial;
    double kinetic[3][3], constraint_virial[3][3];
    double constraint_inertia[3][3]; // the share of constraint_virial that goes with v squared, kJ/mol
    double fv, ff, vv;
    bool   drifted;           // x_fix holds the positions before the drifts since the last FIX_X
    bool   noisy;             // the list that began this step had NOISE
    double log_scale;         // ln of the box scaling applied in this step, until the virial after it is booked
    bool   half_step;         // at the last measurement v was half a step ahead of x

    ref_split split;          // PME only
    ref_mesh *mesh;
    mds_frame slot[2];
};

// forces: pair.c, bonded.c, vsite.c, mesh.c
mds_status mds_ref_pair(mds_device *device, mds_where where, mds_work work);
mds_status mds_ref_bonded(mds_device *device, mds_work work);
void       mds_ref_vsite_place(mds_device *device);
void       mds_ref_vsite_spread(mds_device *device, mds_work work);
mds_status mds_ref_mesh_set(mds_device *device); // at open and when params change
void       mds_ref_mesh_close(mds_device *device);
mds_status mds_ref_mesh(mds_device *device, mds_phase phase, mds_work work);
/// Exact reciprocal sum over all |k| <= k_max (1/nm) instead of a mesh, net-charge background included: energy (kJ/mol),
/// force [n][3] (kJ/mol/nm, site rows not spread), virial (kJ/mol). For tests. Needs PME parameters and a box.
void mds_ref_ewald_sum(const mds_device *device, double k_max, double *energy, double (*force)[3], double virial[3][3]);

/// Ewald split by its own arithmetic. Errors: MDS_E_INPUT (shape out of range).
mds_status mds_ref_split_set(mds_device *device);
/// Phi(r), the long-range share of 1/r, and r dPhi/dr, 1.
double mds_ref_split_phi(const mds_device *device, double r, double *r_dphi);
/// Phi/r (1/nm) and (Phi/r - dPhi/dr)/r^2 (1/nm^3) with their limits at r = 0: what an excluded pair takes back.
void mds_ref_split_smooth(const mds_device *device, double r, double *phi_over_r, double *slope);
/// ghat(k) and k dghat/dk, 1. k in 1/nm.
double mds_ref_split_spectrum(const mds_device *device, double k, double *k_dghat);
/// Integral of 4 pi r (1 - Phi(r)) over all r, nm^2: background energy = -MDS_COULOMB/2 Q^2/V times this.
double mds_ref_split_background(const mds_device *device);

// motion: move.c, constrain.c, couple.c
mds_status mds_ref_move(mds_device *device, const mds_op *until_stop, mds_work work);
mds_status mds_ref_couple(mds_device *device, mds_work work);
/// SHAKE: x onto the constraints along the directions of x_fix; what was moved over `h` (ps) is added to v unless h is 0.
mds_status mds_ref_fix_x(mds_device *device, double h);
/// RATTLE: make r_ij.w_ij + bias = 0 for every constraint by impulses along the bonds of x. bias NULL: zeros, else one
/// value a constraint in the order of the visit.
void mds_ref_project(mds_device *device, double (*w)[3], const double *bias);
/// Bias v_ij^2 of every constraint, added with `weight`.
void    mds_ref_squares(const mds_device *device, const double (*v)[3], double weight, double *bias);
int32_t mds_ref_n_constraints(const mds_system *system);
/// Kinetic energy, constraint virial and FIRE's sums of the present x, v, f. half_step: v is half a step ahead of x.
mds_status mds_ref_measure(mds_device *device, bool half_step);
/// The box scaling that couple left waiting.
mds_status mds_ref_apply_scale(mds_device *device);
/// Correct its booked work with the virial after it, at the end of the step that applied it.
mds_status mds_ref_book_scale(mds_device *device);

extern const mds_backend mds_backend_ref;

#endif
