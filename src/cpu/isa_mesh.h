// SPDX-License-Identifier: Apache-2.0
// What mesh.c and the kernels of isa_mesh.c share. The kernels are compiled once per ISA level; the one
// symbol each object shows is its table.
#ifndef MDS_CPU_ISA_MESH_H
#define MDS_CPU_ISA_MESH_H

#include <stdint.h>

enum { MESH_MIN_ORDER = 4, MESH_MAX_ORDER = 8, EXCLUDED_BLOCK = 16 };

/// Where a charge falls on the mesh: offsets w - 1/2 inside its cell along the three directions, 1; and the
/// charge, e.
typedef struct {
    float y[3], q;
} mesh_atom;

/// Positions to mesh coordinates.
typedef struct {
    double  inv[3][3]; // [d][k]: scaled coordinate u_k = sum_d x_d inv[d][k], in grid units
    int32_t n[3];
    int32_t row; // floats of a padded row
} mesh_frame;

/// One thread's charges and its padded part of the mesh: rows and columns start order - 1 points early, so
/// nothing wraps.
typedef struct {
    int32_t          n;          // charges
    const mesh_atom *atom;       // [n] sorted by plane
    const int32_t   *start;      // [n] first of the order^3 points, floats from `slab`
    float           *slab;       // [planes][n1 + order - 1][row]
    int32_t          row, plane; // floats
    const float     *theta; // [order][8] weights of the points (second index) as powers of w - 1/2 (first)
    float (*force)[4];      // [n][4] gather: -q dphi/du, kJ/mol (u in grid units)
} mesh_job;

typedef struct {
    /// Cells and offsets of slots [begin, end): plane [slot], start in its plane [slot], atom [slot].
    void (*place)(const mesh_frame *frame, int32_t begin, int32_t end, const double (*x)[3],
                  const double *charge, int32_t *plane, int32_t *start, mesh_atom *atom);
    /// value[i] = sum_k c[k] x[i]^k for EXCLUDED_BLOCK values of x (excluded.c).
    void (*polynomial)(const double *c, int degree, const double *x, double *value);
    void (*spread[MESH_MAX_ORDER + 1])(const mesh_job *job); // by order
    void (*gather[MESH_MAX_ORDER + 1])(const mesh_job *job);
} isa_mesh;

/// Kernels of the level that isa.c has chosen. mesh.c.
const isa_mesh *mds_cpu_mesh_kernels(const char *level);

extern const isa_mesh mds_isa_mesh_generic, mds_isa_mesh_avx2, mds_isa_mesh_avx512;

#endif
