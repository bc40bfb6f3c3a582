// SPDX-License-Identifier: Apache-2.0
// Private to make*.c: molecules of the made systems and the small periodic cell they are relaxed in.
#ifndef MDS_MAKE_H
#define MDS_MAKE_H

#include "model/model.h"

MDS_BEGIN

enum { MDS_MAKE_SITES = 3, MDS_MAKE_SPECIES = 3 };

/// A rigid molecule. Only site 0 has a Lennard-Jones term (true for argon, TIP3P, SPC/E and ions).
typedef struct {
    const char *residue, *name[MDS_MAKE_SITES];
    int         n_sites;
    int32_t     element[MDS_MAKE_SITES];
    double      mass[MDS_MAKE_SITES], charge[MDS_MAKE_SITES]; // Da, e
    double      sigma, epsilon;                               // nm, kJ/mol, of site 0
    double      bond, angle;                                  // nm, rad: distance 0-1 and 0-2, angle 1-0-2
} mds_make_molecule;

/// A cubic periodic cell full of molecules.
typedef struct {
    const mds_make_molecule *molecule; // [MDS_MAKE_SPECIES], unused ones zero
    double   edge;                     // nm
    int32_t  n;                        // molecules
    int32_t *species;                  // [n]
    double (*x)[MDS_MAKE_SITES][3];    // [n] nm, molecules whole; unused sites lie on site 0
} mds_make_cell;

/// Fill the cell: site 0 on a lattice in random order of species, orientations random. Needs edge, n, species.
void mds_make_cell_fill(mds_make_cell *cell, uint64_t seed);

/// Metropolis Monte Carlo of the rigid molecules: `sweeps` trial moves of each. The energy per molecule at the
/// end, kJ/mol (reaction field, no tail), through *energy. Errors: MDS_E_MEMORY.
mds_status mds_make_cell_relax(mds_make_cell *cell, double temperature, int sweeps, uint64_t seed, double *energy);

MDS_END
#endif
