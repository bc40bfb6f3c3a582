// SPDX-License-Identifier: Apache-2.0
// The function types of a GROMACS topology: what each number of each directive means, as data.
//
// Function types that mdsim does not compute are listed with their names, so that they are refused by name and never
// dropped. Proper dihedrals of types 1 and 9 are one potential and share one table of types. A Fourier dihedral (5)
//   V = 1/2 [F1 (1 + cos phi) + F2 (1 - cos 2phi) + F3 (1 + cos 3phi) + F4 (1 - cos 4phi)]
// becomes a Ryckaert-Bellemans one; with psi = phi - 180 degrees, cos phi = -cos psi and the multiple-angle formulas:
//   c0 = F2 + (F1 + F3)/2   c1 = (3 F3 - F1)/2   c2 = 4 F4 - F2   c3 = -2 F3   c4 = -4 F4   c5 = 0.
// Source: GROMACS manual 2022, tables "Details of [ moleculetype ] directives" and 5.3 [gromacs2022].
#include "read/top.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

#define TERM(directive, number, name, n_atoms, n_params, kind, is_bond, table)                                         \
    {directive, number, name, n_atoms, n_params, MDS_TOP_TERM, MDS_TERM_##kind, is_bond, table}
#define REFUSED(directive, number, name, n_atoms)                                                                      \
    {directive, number, name, n_atoms, 0, MDS_TOP_REFUSED, MDS_N_TERMS, false, -1}

/// The rows that others name by index; the rest follows in any order.
enum { ROW_PROPER = 0 };

static const mds_top_function functions[] = {
    TERM("dihedrals", 1, "proper dihedral", 4, 3, PROPER, false, ROW_PROPER),
    TERM("dihedrals", 9, "proper dihedral", 4, 3, PROPER, false, ROW_PROPER),
    TERM("dihedrals", 2, "harmonic improper dihedral", 4, 2, IMPROPER, false, 2),
    TERM("dihedrals", 3, "Ryckaert-Bellemans dihedral", 4, 6, RB, false, 3),
    TERM("dihedrals", 4, "periodic improper dihedral", 4, 3, PERIODIC_IMPROPER, false, 4),
    TERM("dihedrals", 5, "Fourier dihedral", 4, 4, RB, false, 5),
    TERM("bonds", 1, "bond", 2, 2, BOND, true, 6),
    TERM("bonds", 2, "G96 bond", 2, 2, BOND_G96, true, 7),
    TERM("bonds", 3, "Morse bond", 2, 3, BOND_MORSE, true, 8),
    {"bonds", 5, "connection", 2, 0, MDS_TOP_CONNECTION, MDS_N_TERMS, true, -1},
    TERM("bonds", 6, "harmonic potential", 2, 2, BOND, false, 10),
    TERM("angles", 1, "angle", 3, 2, ANGLE, false, 11),
    TERM("angles", 2, "G96 angle", 3, 2, ANGLE_G96, false, 12),
    TERM("angles", 5, "Urey-Bradley angle", 3, 4, UREY_BRADLEY, false, 13),
    {"constraints", 1, "constraint", 2, 1, MDS_TOP_CONSTRAINT, MDS_N_TERMS, true, 14},
    {"constraints", 2, "constraint without exclusion", 2, 1, MDS_TOP_CONSTRAINT, MDS_N_TERMS, false, 15},
    REFUSED("bonds", 4, "cubic bond", 2),
    REFUSED("bonds", 7, "FENE bond", 2),
    REFUSED("bonds", 8, "tabulated bond", 2),
    REFUSED("bonds", 9, "tabulated bond without exclusion", 2),
    REFUSED("bonds", 10, "restraint potential", 2),
    REFUSED("angles", 3, "cross bond-bond term", 3),
    REFUSED("angles", 4, "cross bond-angle term", 3),
    REFUSED("angles", 6, "quartic angle", 3),
    REFUSED("angles", 8, "tabulated angle", 3),
    REFUSED("angles", 9, "linear angle", 3),
    REFUSED("angles", 10, "restricted bending angle", 3),
    REFUSED("dihedrals", 8, "tabulated dihedral", 4),
    REFUSED("dihedrals", 10, "restricted dihedral", 4),
    REFUSED("dihedrals", 11, "combined bending-torsion dihedral", 4),
};

int mds_top_n_functions(void)
{
    return (int)(sizeof functions / sizeof functions[0]);
}

const mds_top_function *mds_top_function_at(int index)
{
    return &functions[index];
}

int mds_top_function_find(const char *directive, int number)
{
    int k;

    for (k = 0; k < mds_top_n_functions(); k++)
        if (functions[k].number == number && !strcmp(functions[k].directive, directive)) return k;
    return -1;
}

static void fourier_to_rb(const double *f, double *c)
{
    c[0] = f[1] + 0.5 * (f[0] + f[2]);
    c[1] = 0.5 * (3 * f[2] - f[0]);
    c[2] = 4 * f[3] - f[1];
    c[3] = -2 * f[2];
    c[4] = -4 * f[3];
    c[5] = 0;
}

mds_status mds_top_convert(const mds_top_function *function, const double *file, double *model)
{
    int k;

    for (k = 0; k < function->n_params; k++) model[k] = file[k];
    switch (function->term) {
    case MDS_TERM_ANGLE:
    case MDS_TERM_ANGLE_G96:
    case MDS_TERM_UREY_BRADLEY:
    case MDS_TERM_IMPROPER:
        model[0] *= MDS_PI / 180;
        break;
    case MDS_TERM_PROPER:
    case MDS_TERM_PERIODIC_IMPROPER:
        MDS_CHECK(fabs(file[2] - rint(file[2])) < 1e-6 && fabs(file[2]) < 100, MDS_E_INPUT,
                  "the multiplicity of a %s must be a whole number, got %g", function->name, file[2]);
        model[0] *= MDS_PI / 180;
        model[2] = rint(file[2]);
        break;
    case MDS_TERM_RB:
        if (function->number == 5) fourier_to_rb(file, model);
        break;
    default:
        break;
    }
    return MDS_OK;
}
