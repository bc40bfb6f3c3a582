// SPDX-License-Identifier: Apache-2.0
// Private to the AMBER readers: the sections of a prmtop, and what its parts hand to each other.
//
// prmtop_file.c cuts the file into %FLAG sections and reads numbers by their Fortran format; prmtop.c reads atoms, pair
// parameters, exclusions and box; prmtop_terms.c bonds, angles, dihedrals and 1-4 pairs; prmtop_chamber.c what only CHARMM
// and ff19SB files have; prmtop_sites.c the extra points. Units of the file: kcal/mol, Angstrom, radian, e * 18.2223.
#ifndef MDS_PRMTOP_H
#define MDS_PRMTOP_H

#include "read/read.h"

/// One %FLAG section, as bytes of the file.
typedef struct {
    char        name[84];
    int32_t     line;                // of %FLAG, from 1
    int32_t     first;               // line of the first data line
    const char *comment, *comment_end; // its %COMMENT lines, NULL if none
    const char *data, *end;          // its data lines, NULL if none
    char        kind;                // 'a' text, 'i' integer, 'e' real, 'm' mixed, 0 no %FORMAT yet
    int         per_line, width;     // fields a line, characters a field
} mds_prm_section;

typedef struct {
    const char      *path;
    char            *text;
    mds_prm_section *section; // [n]
    int32_t          n;
    size_t           cap;
} mds_prm_file;

/// Read the file and find its sections. Errors: MDS_E_MISSING, MDS_E_INPUT (not a %FLAG file, bad %FORMAT).
mds_status mds_prm_open(mds_prm_file *file, const char *path);
void       mds_prm_close(mds_prm_file *file);
/// NULL if the file lacks it.
const mds_prm_section *mds_prm_find(const mds_prm_file *file, const char *name);
/// Line of value k of a section, for messages.
int32_t mds_prm_line(const mds_prm_section *s, int64_t k);
/// Number of fields of a numeric section.
size_t mds_prm_count(const mds_prm_section *s);
/// Exactly n values; out is allocated (owner: caller; NULL after a failure). A missing section is an error unless n is 0.
mds_status mds_prm_ints(const mds_prm_file *file, const char *name, size_t n, int32_t **out);
mds_status mds_prm_reals(const mds_prm_file *file, const char *name, size_t n, double **out);
/// Names, cut to 7 bytes, blanks around them removed: out [n][8].
mds_status mds_prm_names(const mds_prm_file *file, const char *name, size_t n, char (**out)[8]);

/// POINTERS by the names of the AMBER format description (ambermd.org/FileFormats).
enum {
    MDS_PRM_NATOM, MDS_PRM_NTYPES, MDS_PRM_NBONH, MDS_PRM_MBONA, MDS_PRM_NTHETH, MDS_PRM_MTHETA, MDS_PRM_NPHIH, MDS_PRM_MPHIA,
    MDS_PRM_NHPARM, MDS_PRM_NPARM, MDS_PRM_NNB, MDS_PRM_NRES, MDS_PRM_NBONA, MDS_PRM_NTHETA, MDS_PRM_NPHIA, MDS_PRM_NUMBND,
    MDS_PRM_NUMANG, MDS_PRM_NPTRA, MDS_PRM_NATYP, MDS_PRM_NPHB, MDS_PRM_IFPERT, MDS_PRM_NBPER, MDS_PRM_NGPER, MDS_PRM_NDPER,
    MDS_PRM_MBPER, MDS_PRM_MGPER, MDS_PRM_MDPER, MDS_PRM_IFBOX, MDS_PRM_NMXRS, MDS_PRM_IFCAP, MDS_PRM_NUMEXTRA, MDS_PRM_NCOPY,
    MDS_PRM_C4PAIR, MDS_PRM_N_POINTERS
};

/// A prmtop while it becomes a system. Start zeroed.
typedef struct {
    mds_prm_file file;
    mds_system  *system;
    mds_text     report;
    int32_t      pointer[MDS_PRM_N_POINTERS];
    bool         chamber;          // a CHARMM force field
    // pair parameters, file units
    int32_t     *type;             // [n_atoms] from 0
    int32_t     *pair_index;       // [n_types][n_types] from 1; negative: 10-12 table
    double      *acoef, *bcoef;    // [n_types (n_types + 1) / 2] kcal/mol A^12, kcal/mol A^6
    double      *acoef14, *bcoef14; // the same for 1-4 pairs, NULL where the file has no own table
    int32_t     *excl_start, *excl; // [n_atoms + 1], [excl_start[n_atoms]] EXCLUDED_ATOMS_LIST from 0, -1: place holder
    // bonds with those to extra points, file units
    int32_t      n_bonds;
    int32_t    (*bond)[3];         // [n_bonds] atoms, type
    double      *bond_k, *bond_r0; // [NUMBND]
    int32_t     *adj_start, *adj;  // [n_atoms + 1], [2 n_bonds] bonds of each atom in file order
    int32_t      n_angles;
    int32_t    (*angle)[4];        // [n_angles] atoms, type
    double      *angle_k, *angle_theta0; // [NUMANG]
    // extra points
    bool        *is_site;          // [n_atoms]
    int32_t      n_sites;
    int32_t     *owner;            // [n_atoms] the atom that an extra point is bonded to, -1 for atoms
    int32_t     *owned_start, *owned; // [n_atoms + 1], [n_sites] extra points of each atom in bond order
} mds_prm;

/// Read bonds and angles into the arrays above; no terms yet.
mds_status mds_prm_read_bonds(mds_prm *p);
/// Bond, angle (not of CHARMM files), dihedral and 1-4 terms.
mds_status mds_prm_add_terms(mds_prm *p);
/// Owners of extra points; later: where they stand, and the exclusions they inherit.
mds_status mds_prm_find_owners(mds_prm *p);
mds_status mds_prm_add_sites(mds_prm *p);
/// Urey-Bradley, harmonic impropers and CMAP of CHARMM files; CMAP of ff19SB.
mds_status mds_prm_add_chamber(mds_prm *p);

/// Atoms of `n` ids in range and different, or a message that names section and line.
mds_status mds_prm_check_atoms(const mds_prm *p, const mds_prm_section *s, int64_t k, const int32_t *atom, int n);

/// A coordinate that no sane file holds: not finite, or beyond 1 mm. `what` is "position" or "velocity"; line 0: none.
mds_status mds_amber_check_value(const char *path, int32_t line, const mds_system *system, int64_t k, const char *what,
                                 double value);

#endif
