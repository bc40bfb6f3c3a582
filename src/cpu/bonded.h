// SPDX-License-Identifier: Apache-2.0
// What bonded.c and the kernels of isa_bonded.c share.
//
// Terms are cut into blocks of some hundred atoms. A block keeps rows of its own for positions and forces, x y z 0 in double and
// in the order of atom ids: small enough for the first-level cache, and nothing about a term changes when a search reorders the
// atoms. Eight terms of a kind make a batch, one a lane. Lane l walks its own stretch of the block's terms, so that neighbours,
// which share atoms, come one batch after the other and additions to one atom do not wait for each other.
#ifndef MDS_CPU_BONDED_H
#define MDS_CPU_BONDED_H

#include "cpu/cpu.h"

#include "num/bonded.h"

enum { BONDED_LANES = 8, BONDED_MAX_COSINE = MDS_MAX_COSINE };

/// Kinds of batch. Every torsion that is a sum of cosines of whole multiples becomes P(cos phi) + sin phi Q(cos phi).
typedef enum {
    BONDED_DISTANCE, // { r0, k }
    BONDED_PAIR14,   // { c6, c12, qq }
    BONDED_ANGLE,    // { theta0, k }
    BONDED_COSINE_3, // { p0 .. p3 }, Q = 0
    BONDED_COSINE_6, // { p0 .. p6 }, Q = 0
    BONDED_FOURIER,  // { p0 .. p6, q0 .. q5 }
    BONDED_IMPROPER, // { xi0, k }
    BONDED_EXCLUDED_PAIR, // { qq }, kJ nm/mol (isa_excluded.c)
    BONDED_N_BATCHES
} bonded_batch;

/// Batches of one kind in one block that count as one energy.
typedef struct {
    bonded_batch   kind;
    mds_energy     energy;
    int32_t        n;      // batches
    const int32_t *offset; // [n][atoms][BONDED_LANES] of the atom's row, in doubles
    const double  *param;  // [n][params][BONDED_LANES]; 0 in lanes that repeat a term to fill the batch
} bonded_run;

/// Rows of the block at work, and where sums go.
typedef struct {
    const mds_images *images;
    const double     *x;      // [atoms][4] nm
    double           *f;      // [atoms][4] kJ/mol/nm, added to
    double           *energy; // [MDS_N_ENERGY] kJ/mol
    double (*virial)[3];      // kJ/mol: only what nearest images add to the sum over atoms of -1/2 x (x) f
    bool              sums;   // energies are due
} bonded_place;

/// A term of a kind that is rare, done alone.
typedef struct {
    mds_term_kind kind;
    int32_t       row[5]; // of the atoms in the block
    const double *param;
} bonded_single;

typedef struct {
    int32_t first_atom, n_atoms; // in cpu_bonded.atom and .slot
    int32_t first_run, n_runs;
    int32_t first_single, n_singles;
} bonded_block;

typedef void (*bonded_kernel)(const bonded_run *, const bonded_place *);

struct cpu_bonded {
    bonded_kernel  kernel;
    int32_t        n_blocks, n_runs, n_singles, n_atoms, max_atoms; // n_atoms: with those that several blocks have
    bonded_block  *block;
    int32_t       *first_block;     // [n_threads + 1] each thread's share
    int32_t       *atom, *slot;     // [n_atoms] ids, ascending in a block; slots as of the last search
    bonded_run    *run;
    bonded_single *single;
    int32_t       *offset;
    double        *param;
    double       **x, **f;          // [n_threads][max_atoms][4]
    double        *cells;           // [n_maps][map_size][map_size][16] CMAP polynomials
};

/// Terms of one kind on their way into blocks: an mds_term_kind or BONDED_EXCLUDED.
enum { BONDED_EXCLUDED = MDS_N_TERMS };
typedef struct {
    int              kind, n_atoms, n_params;
    const mds_terms *terms;
} bonded_source;

/// Cut terms into blocks and batches; rows for every thread. n_atoms: of the system. Not the kernel, not the cells.
mds_status mds_cpu_bonded_blocks(const bonded_source *source, int n_sources, int32_t n_atoms, int n_threads, cpu_bonded *out);
void       mds_cpu_bonded_blocks_free(cpu_bonded *blocks, int n_threads);
void       mds_cpu_bonded_blocks_remap(const int32_t *slot_of, cpu_bonded *blocks);
/// Positions of a block's atoms into rows, forces zero.
void mds_cpu_bonded_rows_in(const bonded_block *block, const int32_t *slot, const double (*from)[3], double *x, double *f);
/// Rows of forces into the lines of a thread.
void mds_cpu_bonded_rows_out(const bonded_block *block, const int32_t *slot, const double *f, float *lines);

void mds_isa_bonded_generic(const bonded_run *, const bonded_place *);
void mds_isa_bonded_avx2(const bonded_run *, const bonded_place *);
void mds_isa_bonded_avx512(const bonded_run *, const bonded_place *);

#endif
