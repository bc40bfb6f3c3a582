// SPDX-License-Identifier: Apache-2.0
// What bonded.cu and bonded_blocks.cu share: how terms lie in device memory.
//
// A block of threads does up to TERM_THREADS terms of one batch, so no warp diverges by kind and one launch does all. Thread t of
// block b finds its atoms in atom[TERM_THREADS b + t] and its parameters in n4 float4's TERM_THREADS apart: all loads coalesce.
// The order of blocks is that of the enumeration, dearest first, so that the last ones to start are short.
#ifndef MDS_CUDA_BONDED_H
#define MDS_CUDA_BONDED_H

#include "terms.h"

/// Kinds of batch. Torsions that are sums of cosines of whole multiples are P(cos phi) + sin phi Q(cos phi).
/// Parameters, four a float4; "hi, lo": a double as the sum of two floats.
typedef enum {
    BATCH_CMAP,      // bits of: fifth atom, number of the map
    BATCH_FOURIER,   // p0 .. p6, q0 .. q5
    BATCH_COSINE_6,  // p0 .. p6
    BATCH_COSINE_3,  // p0 .. p3
    BATCH_MULTIPLE,  // phi0, k, n: any n
    BATCH_IMPROPER,  // xi0, k
    BATCH_ANGLE,     // theta0, k
    BATCH_ANGLE_G96, // cos(theta0), k
    BATCH_PAIR14,    // c6, c12, charge product times MDS_COULOMB
    BATCH_BOND,      // r0 hi, lo, k
    BATCH_BOND_MORSE,// r0 hi, lo, depth, b
    BATCH_BOND_G96,  // r0 hi, lo, k
    BATCH_RESTRAINT, // x hi, y hi, z hi, k_x, x lo, y lo, z lo, k_y, k_z
    N_BATCHES
} batch_kind;

/// Numbers of float4's of each.
#define BATCH_PARAMS {1, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3}

/// On the device.
typedef struct {
    int4         *block; // [n_blocks] batch_kind, mds_energy, terms (<= TERM_THREADS), where in param it begins
    int4         *atom;  // [n_blocks][TERM_THREADS] ids
    float4       *param;
    float4       *cells; // [n_maps][map_size][map_size][4] CMAP polynomials, a row of powers of the second torsion each
    int           map_size;
} bonded_lists;

struct gpu_bonded {
    bool         made;
    int          n_blocks;
    bonded_lists lists;
};

/// Fill the lists from the system's terms. Errors: MDS_E_MEMORY, MDS_E_DEVICE.
mds_status GPU_NAME(bonded_blocks)(const mds_system *system, gpu_bonded *out);

#endif
