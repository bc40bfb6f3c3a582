// SPDX-License-Identifier: Apache-2.0
// What mesh.c and the kernels of isa_mesh.c share. Axes are the mesh's own: y, x, z of the box (mesh.c). The kernels
// are compiled once per ISA level; the one
// symbol each object shows is its table.
#ifndef MDS_CPU_ISA_MESH_H
#define MDS_CPU_ISA_MESH_H

#include <stdint.h>

enum { MESH_MIN_ORDER = 4, MESH_MAX_ORDER = 8, EXCLUDED_BLOCK = 16 };
enum { MESH_BLOCK = 16 }; // neighbouring slots whose cells and weights are made together: four clusters

/// Where the charges of a block fall on the mesh.
typedef struct {
    float   y[3][MESH_BLOCK]; // offsets w - 1/2 inside the cells, 1
    float   q[MESH_BLOCK];    // e; 0 is passed over
    int32_t start[MESH_BLOCK]; // first of the order^3 points, floats from the start of the padded mesh
} mesh_block;

/// Positions to mesh coordinates.
typedef struct {
    double  inv[3][3]; // [d][k]: part of the box along axis k, u_k = sum_d x_d inv[d][k], 1
    int32_t n[3];
    int32_t row, plane; // floats of a padded row and plane
    int32_t centre;     // plane that `low` and `high` are counted from
} mesh_frame;

/// One thread's blocks and its padded part of the mesh: rows, columns and planes start order - 1 points early, so
/// nothing wraps.
typedef struct {
    int32_t           n;     // blocks
    const mesh_block *block; // [n]
    float            *slab;  // [planes][n1 + order - 1][row]
    int32_t           row, plane; // floats
    int32_t           split, before, after; // a start below `split` is moved by `before` floats, another by `after`
    const float      *theta;                // [order][8] weights of the points (second index) as powers of w - 1/2
    float             scale[3][3];          // gather: [k][l] from grid units along x, y, z of the box to Cartesian, lower triangular
    float            *line;                 // gather: force lines of the first block's clusters, added to
} mesh_job;

typedef struct {
    /// Cells and offsets of n slots, of which charges may be 0, into (n + 15)/16 blocks; the rest of the last one is empty.
    /// range: lowest and highest plane, counted from `centre` the shorter way round, lowered and raised.
    void (*place)(const mesh_frame *frame, int32_t n, const double (*x)[3], const double *charge, mesh_block *block,
                  int32_t range[2]);
    /// value[i] = sum_k c[k] x[i]^k for EXCLUDED_BLOCK values of x (excluded.c).
    void (*polynomial)(const double *c, int degree, const double *x, double *value);
    void (*spread[MESH_MAX_ORDER + 1])(const mesh_job *job); // by order
    void (*gather[MESH_MAX_ORDER + 1])(const mesh_job *job);
} isa_mesh;

/// Kernels of the level that isa.c has chosen. mesh.c.
const isa_mesh *mds_cpu_mesh_kernels(const char *level);

extern const isa_mesh mds_isa_mesh_generic, mds_isa_mesh_avx2, mds_isa_mesh_avx512;

#endif
