// SPDX-License-Identifier: Apache-2.0
// What is compiled once per instruction set level, and the choice among them.
//
// isa_pair.c and isa_search.c are built for every level with the flags of that level; each build fills one table
// (mds_isa_generic, ...). Nothing else in the program is compiled with more than the base flags, and these files define
// no symbol without the level's name: so no AVX-512 instruction can leak into a path that an older machine takes.
#ifndef MDS_CPU_ISA_H
#define MDS_CPU_ISA_H

#include "num/num.h"

/// Tile of the outer list. Bit 4 i + j of the low (high) half of `mask`: atom i of cluster A (B) interacts with atom j.
typedef struct {
    int32_t  j; // cluster
    uint32_t mask;
} cpu_tile;

/// Outer entry: a super, an image of it, and the clusters of one region of space near it.
typedef struct {
    int64_t first;    // tile, from here on in the chunk
    int32_t n;        // tiles
    int32_t super;
    int32_t weight;   // what pruning it costs, in tiles
    int32_t n_masked; // tiles that need a mask in one of their halves
    int8_t  image[4]; // box vectors to add to i
} cpu_entry;

/// Segments of an inner entry.
enum { CPU_BOTH_MASKED, CPU_BOTH, CPU_A_MASKED, CPU_A, CPU_B_MASKED, CPU_B, CPU_N_SEGMENTS };

/// Inner entry.
typedef struct {
    double  t[3];       // nm, to add to the positions of i: image and difference of origins
    int32_t super;
    int32_t weight;     // what its tiles cost the kernel; pair.c sets it after every pruning
    int64_t first;      // into j
    int64_t first_mask; // into mask
    int32_t common;     // 1: all its clusters are common ones (common.c)
    int32_t n[CPU_N_SEGMENTS];
} cpu_part;

/// How many tiles ahead kernels may look in `j`.
enum { CPU_AHEAD = 12 };

/// Inner list of one thread. Arrays hold whatever the thread's outer entries can give.
typedef struct {
    cpu_part *part;
    int32_t  *j; // with room for 16 more behind the last one, as in mask
    uint32_t *mask; // of the masked tiles: 32 bits for both; 16 for A or B alone
    int32_t   n_parts;
    int64_t   n_j, n_mask;
} cpu_inner;

/// Constants of the pair forms, scaled for s = 2/r and for charges that carry sqrt(MDS_COULOMB/8).
typedef struct {
    float cut2, cut2_q, cut2_lj; // nm^2; cut2 is the larger one
    // Coulomb polynomials in r2 - middle, constant first: force: part of 8/r^3, pot: part of 8/r
    float middle; // nm^2
    int   degree_force, degree_pot;
    float force[MDS_SHORT_MAX + 1], pot[MDS_SHORT_MAX + 1];
    float force_edge[10]; // the same as force, in cut2 - r2; kinds FORCE_7 and _9 only
    // LJ: F/r = s2 s6 (C12 s6 - C6 - C4/s2), V = C12 s12/3 - 2/3 C6 s6 - C4 s4, less what the modifier takes
    float shift12, shift6;           // potential shift, of C12 and C6
    float lj_switch, inv_width;      // nm, 1/nm
    float a12, b12, c12, a6, b6, c6; // force switch: A, B and constant, of C12 and C6
    const float *matrix;             // [n_types + 1][n_types + 1][4] C12, C6, C4, 0
} cpu_form;

/// Arguments of a pair kernel: the inner list of one thread.
typedef struct {
    const cpu_form  *form;
    const cpu_inner *list;
    const float     *xq;     // [n_clusters][16]
    const float     *lj;     // [n_clusters][8] a4 b4
    const int32_t   *type;   // [n_clusters][4] 4 type
    int32_t          stride; // floats a row of the matrix
    const float     *table;    // [n_common][n_common][3][16] qq, C12, C6 of tiles of common clusters; LJ alone: for s = 1/r
    const int32_t   *column;   // [n_clusters] floats from the start of a row of it to a cluster's tile; -1: not common
    int32_t          n_common;
    bool             alike;    // all numbers of the table are those of one pair of atoms
    int32_t          few;      // clusters whose column is less have LJ in their first two atoms at most
    float           *force;  // [n_clusters][16], added to
    double energy_lj, energy_q, virial[3][3]; // out, kJ/mol; energy kernels only
} cpu_pair_args;

/// LJ rules of the kernels.
enum { CPU_LJ_GEOMETRIC, CPU_LJ_LORENTZ, CPU_LJ_MATRIX, CPU_N_LJ };
/// Kernels with one cut-off: of forces alone, with a polynomial of at most that degree (7: the prolate split at its default); of degree 9 with
/// a potential switch of LJ or a force switch; with energies too, whose polynomial is at most of degree CPU_LOW_POT.
enum { CPU_LOW_POT = 10 }; // of the prolate split up to c = 14
enum { CPU_FORCE_7, CPU_FORCE_9, CPU_FORCE_12, CPU_SWITCHED, CPU_FORCE_SWITCHED, CPU_ENERGY, CPU_N_KIND };
/// All other cases, by LJ rule, modifier (0: none of forces, 1: potential switch, 2: force switch), and whether with energies.
enum { CPU_N_MODIFIER = 3 };
typedef struct {
    void (*kernel[CPU_N_LJ][CPU_N_MODIFIER][2])(cpu_pair_args *args);
} cpu_pair_any;

/// Kernels for parts of common clusters, whatever the rule: those above; LJ without Coulomb; the same where all their atoms are alike.
enum { CPU_COMMON_LJ = CPU_N_KIND, CPU_COMMON_ONE, CPU_N_COMMON };

/// Clusters [first, end), all of one column.
typedef struct {
    int32_t first, end;
} cpu_run;

/// Where clusters are, by column. A column's clusters are sorted by z.
typedef struct {
    int32_t  n_bins;   // along z
    float    bin, at0; // bin of z: bin z + at0, clamped; 1/nm, 1
    float   *box[4];   // [n_columns + 16] nm from the centre: lo x, hi x, lo y, hi y of its atoms
    int32_t *reaching; // [n_columns][n_bins + 1] first cluster of a column that reaches into a bin or beyond it
    int32_t *start;    // [n_columns + 1 + 16] first cluster
} cpu_columns;

/// Boxes around clusters and the box (lo x y z, hi x y z) that neighbours are sought for.
typedef struct {
    float *const *bounds; // [6][n_clusters + 16]
    float  box[6];        // nm
    float  radius2;       // nm^2
} cpu_near;

/// Tiles of an entry; those that need a mask come first.
typedef struct {
    cpu_tile *tile;
    int32_t   n, n_masked;
} cpu_tiles;

/// Numbers that pruning n tiles needs: eight classes, a cluster and a mask a tile; the class of each.
#define MDS_PRUNE_SCRATCH(n) (17 * ((size_t)(n) + 16))

/// What the tiles of an entry are pruned by.
typedef struct {
    const float   *xq;
    float          radius2; // nm^2
    float          keep2;   // nm^2; 0: all tiles stay in the entry
    const double  *t;       // nm, [3] to add to i
    int32_t        super;
    const int32_t *column;  // [n_clusters] -1: not a common cluster; or NULL: none is
} cpu_exact;

typedef struct {
    const char *name;
    int         width; // floats a vector
    /// Of columns [c0, c1) that are within the query's radius of its box, the part that is as far along z as the radius leaves
    /// room for, from cluster `least` on, into run, which has room for 16 more. Returns how many.
    int32_t (*columns)(const cpu_near *query, const cpu_columns *columns, int32_t c0, int32_t c1, int32_t least, cpu_run *run);
    /// Clusters of n runs whose box is within the radius of the query's, into j, which has room for 16 more. Returns how many.
    int32_t (*near)(const cpu_near *query, const cpu_run *run, int32_t n, int32_t *j);
    /// Append the tiles within the radius to the inner list: one part of common clusters, one of the others. If keep2 is not 0,
    /// those without a pair that near leave the entry. scratch: room for MDS_PRUNE_SCRATCH(n).
    void (*prune)(const cpu_exact *query, cpu_tiles *of, uint32_t *scratch, cpu_inner *inner);
    /// `pair` leaves out common parts, which `common` does; `any` does all parts.
    void (*pair[CPU_N_LJ][CPU_N_KIND])(cpu_pair_args *args);
    void (*common[CPU_N_COMMON])(cpu_pair_args *args);
    const cpu_pair_any *any;
} cpu_isa;

#ifdef MDS_ISA_LEVEL // the level that a file is being compiled for
#define MDS_ISA_JOIN2(a, b) a##_##b
#define MDS_ISA_JOIN(a, b) MDS_ISA_JOIN2(a, b)
#define MDS_ISA_QUOTE2(a) #a
#define MDS_ISA_QUOTE(a) MDS_ISA_QUOTE2(a)
#define MDS_ISA_NAME(name) MDS_ISA_JOIN(name, MDS_ISA_LEVEL)
#define MDS_ISA_TEXT MDS_ISA_QUOTE(MDS_ISA_LEVEL)
#endif

/// Levels compiled in, best first, ended by NULL. isa.c.
extern const cpu_isa *const mds_isa_levels[];
/// The level of that name; NULL, "" or "auto": MDS_ISA of the environment, else the best that runs here.
/// Errors: MDS_E_UNSUPPORTED, naming what there is.
mds_status mds_isa_find(const char *name, const cpu_isa **out);
/// Names of the levels that run here, best first, separated by blanks. Static storage.
const char *mds_isa_names(void);
/// Whether this processor (and operating system) runs that level.
bool mds_isa_runs(const cpu_isa *isa);

#endif
