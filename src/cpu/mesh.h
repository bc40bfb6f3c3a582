// SPDX-License-Identifier: Apache-2.0
// What mesh.c and mesh_solve.c share.
#ifndef MDS_CPU_MESH_H
#define MDS_CPU_MESH_H

#include "cpu/cpu.h"
#include "cpu/fft.h"
#include "cpu/isa_mesh.h"

/// A thread's share of one step: blocks [first, first + n).
typedef struct {
    int32_t first, n;
    int32_t low;    // plane of its lowest charge; its slab begins order - 1 planes below
    int32_t planes; // of the slab
    int32_t range[2];
    float  *slab; // [planes][rows][row]
    size_t  room; // floats
    char    spare[16];
} share;

struct cpu_mesh {
    const isa_mesh *isa;
    cpu_fft        *fft;
    int32_t         n[3], order;              // along y, x, z: see mesh.c
    int32_t         row, rows;                // floats of a padded row, rows of a padded plane
    float           theta[MESH_MAX_ORDER][8]; // see mesh_job
    float          *potential;                // [n0 + order - 1][rows][row]
    share          *share;                    // [threads]
    int             n_shares;
    mesh_block     *block; // [slots / MESH_BLOCK]
    size_t          capacity;

    // influence, by waves as fft.h has them: [n0][n2][blocks][FFT_LANES] over the second axis
    double *moduli[3];
    float  *factor, *slope; // f/V 4 pi/K^2 |b|^2 times ghat, and times K dghat/dK; kJ/mol/e^2
    mds_box box;            // that they belong to
    double  total_charge;   // e
};

/// Inverse box by the mesh's own axes (y, x, z): [Cartesian][axis].
void mds_cpu_mesh_inverse(const mds_device *device, double inv[3][3]);
/// Influence factors of the present box: cpu_mesh.factor. mesh_solve.c.
void mds_cpu_mesh_refresh(mds_device *device);
/// Every wave times its influence factor; energy and virial of the waves, and the background's, if due. mesh_solve.c.
void mds_cpu_mesh_solve(mds_device *device, mds_work work);

#endif
