// SPDX-License-Identifier: Apache-2.0
// Private data of ref, the oracle: double precision, plain loops, atom order, textbook formulas. It shares no arithmetic
// with what it checks (no num/).
#ifndef MDS_REF_H
#define MDS_REF_H

#include "backend/backend.h"

typedef struct ref_mesh ref_mesh;

struct mds_device {
    const mds_system *system; // borrowed
    mds_params params;
    int32_t  n;               // atoms
    double (*x)[3], (*v)[3], (*f)[3]; // [n] nm, nm/ps, kJ/mol/nm
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
    double fv, ff, vv;

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
/// Ewald split in double, by its own arithmetic: Phi(r) and r dPhi/dr; spectrum.
double mds_ref_split_phi(const mds_device *device, double r, double *r_dphi);

// motion: move.c, constrain.c, couple.c
mds_status mds_ref_move(mds_device *device, const mds_op *until_stop, mds_work work);
mds_status mds_ref_couple(mds_device *device, mds_work work);

extern const mds_backend mds_backend_ref;

#endif
