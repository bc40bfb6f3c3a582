// SPDX-License-Identifier: Apache-2.0
// What excluded.c and the kernels of isa_excluded.c share.
#ifndef MDS_CPU_EXCLUDED_H
#define MDS_CPU_EXCLUDED_H

#include "cpu/bonded.h"

enum { EXCLUDED_LANES = 8 };

/// The polynomials, and what they are scaled with.
typedef struct {
    mds_images       images;
    const mds_short *range;
    const mds_split *split;
    double           cut2, inv_cut, inv_cut2, inv_cut3;
    double           weight; // of the forces; 1 where sums are due, which do not have it
    bool             far;  // there is something to take back beyond the cut-off
    bool             sums; // energy or virial is due
} excluded_frame;

/// Triples of atoms whose three pairs are excluded and that have no others: waters, mostly. All have the same charges.
typedef struct {
    const int32_t *slot; // [batches][3][EXCLUDED_LANES]; lanes beyond n are slots of lane 0
    int32_t        n;    // triples
    double         qq[3];// of 01, 02, 12, kJ nm/mol
} excluded_triples;

typedef struct {
    /// A run of pairs on rows of a block.
    void (*pairs)(const excluded_frame *, const bonded_run *, const double *x, double *f, cpu_sums *);
    /// Batches [first, last) of triples, forces into float lines.
    void (*triples)(const excluded_frame *, const excluded_triples *, int32_t first, int32_t last, const double (*x)[3], float *lines,
                    cpu_sums *);
} excluded_kernels;

extern const excluded_kernels mds_isa_excluded_generic, mds_isa_excluded_avx2, mds_isa_excluded_avx512;

#endif
