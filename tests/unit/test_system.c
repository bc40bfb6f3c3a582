// SPDX-License-Identifier: Apache-2.0
// The system builder: what it keeps, sorts and finds, and every message of what it refuses.
#include "base/units.h"
#include "model/model.h"
#include "test.h"

static mds_system sys;

/// n carbons of mass 12 in one residue, one LJ type, unfrozen.
static void begin(int32_t n)
{
    int32_t i, residue;

    mds_system_free(&sys);
    TEST_OK(mds_system_set_types(&sys, 1, false));
    mds_system_set_lj(&sys, 0, 0, 1e-3, 1e-6);
    TEST_OK(mds_system_add_residue(&sys, "MOL", 12, &residue));
    for (i = 0; i < n; i++) TEST_OK(mds_system_add_atom(&sys, "C1", residue, 0, 0.25, 12, 6, NULL));
}

static void bond(int32_t i, int32_t j)
{
    TEST_OK(mds_system_add_term(&sys, MDS_TERM_BOND, (int32_t[]){i, j}, (double[]){0.15, 1000}));
}

static void site(int32_t id, int32_t a, int32_t b)
{
    TEST_OK(mds_system_add_vsite(&sys, MDS_VSITE_LINEAR, id, 2, (int32_t[]){a, b}, (double[]){0.5, 0.5}, NULL));
}

#define REFUSED(text) TEST_FAILS(mds_system_freeze(&sys), MDS_E_INPUT, text)

static void keeps_what_is_added(void)
{
    int32_t id, residue;
    char    label[64];

    mds_system_free(&sys);
    TEST_OK(mds_system_set_types(&sys, 2, true));
    mds_system_set_lj(&sys, 0, 1, 3, 4);
    TEST_TRUE(sys.c6[1] == 3 && sys.c6[2] == 3 && sys.c12[1] == 4 && sys.c12[2] == 4 && sys.c6[0] == 0 && sys.c4[3] == 0);
    TEST_OK(mds_system_add_residue(&sys, "ALANINE_LONG", -3, &residue));
    TEST_OK(mds_system_add_atom(&sys, "HD11_of_many", residue, 1, -0.5, 1.008, 1, &id));
    TEST_INT(id, 0);
    TEST_OK(mds_system_add_atom(&sys, "X", -1, 0, 0.75, 2, 0, &id));
    TEST_INT(id, 1);
    TEST_TRUE(!strcmp(sys.name.atom[0], "HD11_of") && !strcmp(sys.name.residue[0], "ALANINE"));
    mds_system_atom_label(&sys, 0, label, sizeof label);
    TEST_TRUE(!strcmp(label, "ALANINE -3 HD11_of (atom 1)"));
    mds_system_atom_label(&sys, 1, label, sizeof label);
    TEST_TRUE(!strcmp(label, "X (atom 2)"));
    mds_system_atom_label(&sys, 2, label, sizeof label);
    TEST_TRUE(!strcmp(label, "(no atom)"));
    TEST_OK(mds_system_freeze(&sys));
    TEST_NEAR(sys.total_charge, 0.25, 0);
    TEST_TRUE(sys.has_lj_tail_pairs);
    TEST_INT(sys.n_molecules, 2);
}

static void exclusions_are_sorted_rows_without_repeats(void)
{
    static const int32_t pairs[][2] = {{4, 0}, {0, 1}, {1, 0}, {0, 4}, {2, 1}, {3, 3}, {0, 3}};
    static const int32_t rows[] = {1, 3, 4, 0, 2, 1, 0, 0}, starts[] = {0, 3, 5, 6, 7, 8};
    size_t k;

    begin(5);
    for (k = 0; k < 7; k++) TEST_OK(mds_system_add_exclusion(&sys, pairs[k][0], pairs[k][1]));
    TEST_OK(mds_system_freeze(&sys));
    for (k = 0; k < 6; k++) TEST_INT(sys.excl_start[k], starts[k]);
    for (k = 0; k < 8; k++) TEST_INT(sys.excl[k], rows[k]);
}

static void bad_atoms_and_terms_are_refused(void)
{
    mds_system_free(&sys);
    REFUSED("the system has no atoms");
    TEST_FAILS(mds_system_set_types(&sys, 0, false), MDS_E_INPUT, "no atom types");
    begin(3);
    sys.type[2] = 1;
    REFUSED("atom 3 has no atom type");
    begin(3);
    sys.charge[1] = NAN;
    REFUSED("atom 2 has charge nan");
    begin(3);
    sys.mass[1] = -1;
    REFUSED("atom 2 has charge 0.25 and mass -1");
    begin(3);
    sys.mass[1] = INFINITY;
    REFUSED("atom 2 has charge");
    begin(3);
    sys.c12[0] = INFINITY;
    REFUSED("Lennard-Jones parameters of atom types 1 and 1");
    begin(3);
    bond(0, 3);
    REFUSED("a bond names atom 4 of 3");
    begin(3);
    bond(-1, 2);
    REFUSED("a bond names atom 0 of 3");
    begin(3);
    bond(1, 1);
    REFUSED("a bond names atom 2 twice");
    begin(3);
    TEST_OK(mds_system_add_term(&sys, MDS_TERM_ANGLE, (int32_t[]){0, 1, 2}, (double[]){1.9, NAN}));
    REFUSED("a angle of atom 1 has a parameter");
    begin(3);
    TEST_OK(mds_system_add_exclusion(&sys, 0, 7));
    REFUSED("an exclusion names atom 8 of 3");
    begin(3);
    sys.mass[2] = 0;
    REFUSED("atom 3 has no mass and is not a virtual site");
    begin(2);
    TEST_OK(mds_alloc(&sys.molecule_start, 3, sizeof *sys.molecule_start));
    sys.n_molecules = 1;
    sys.molecule_start[1] = 1; // ends before the last atom
    REFUSED("molecule 1 does not begin where the one before it ends");
}

static void bad_constraints_are_refused(void)
{
    begin(3);
    TEST_OK(mds_system_add_constraint(&sys, 0, 3, 0.1));
    REFUSED("a constraint between atoms 1 and 4 of 3");
    begin(3);
    TEST_OK(mds_system_add_constraint(&sys, 1, 1, 0.1));
    REFUSED("a constraint between atoms 2 and 2");
    begin(3);
    TEST_OK(mds_system_add_constraint(&sys, 0, 1, 0));
    REFUSED("between atoms 1 and 2 has length 0 nm");
    begin(3);
    TEST_OK(mds_system_add_constraint(&sys, 0, 1, NAN));
    REFUSED("has length nan nm");
    begin(3);
    sys.mass[2] = 0;
    site(2, 0, 1);
    TEST_OK(mds_system_add_constraint(&sys, 0, 2, 0.1));
    REFUSED("the constraint between atoms 1 and 3 has an atom without mass");
    begin(3);
    TEST_OK(mds_system_add_constraint(&sys, 0, 1, 0.1));
    TEST_OK(mds_system_add_constraint(&sys, 1, 0, 0.11));
    REFUSED("constrained to 0.1 nm and to 0.11 nm");
}

static void maps(void)
{
    double  grid[36] = {0};
    int32_t index;

    begin(5);
    TEST_FAILS(mds_system_add_map(&sys, 3, grid, &index), MDS_E_INPUT, "a CMAP grid of 3 points");
    TEST_OK(mds_system_add_map(&sys, 4, grid, &index));
    grid[5] = 7;
    TEST_OK(mds_system_add_map(&sys, 4, grid, &index));
    TEST_INT(index, 1);
    TEST_NEAR(sys.map[16 + 5], 7, 0);
    TEST_NEAR(sys.map[5], 0, 0);
    TEST_FAILS(mds_system_add_map(&sys, 6, grid, &index), MDS_E_INPUT, "different sizes (4 and 6)");
    TEST_OK(mds_system_add_term(&sys, MDS_TERM_CMAP, (int32_t[]){0, 1, 2, 3, 4}, (double[]){2}));
    REFUSED("a CMAP of atom 1 names grid 3 of 2");
    begin(5);
    grid[0] = NAN;
    TEST_OK(mds_system_add_map(&sys, 4, grid, &index));
    REFUSED("CMAP grid holds a value that is not a number");
}

/// Sites built from sites: placed in an order that works, whatever order they came in.
static void sites_are_ordered(void)
{
    int32_t k, m;
    bool    known[7] = {true, true, true};

    begin(7);
    for (k = 3; k < 7; k++) sys.mass[k] = k == 5 ? 3.5 : 0; // a site may carry its type's mass: it goes
    site(3, 4, 0);
    site(4, 5, 6);
    site(5, 6, 1);
    site(6, 1, 2);
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.vsite.n, 4);
    TEST_NEAR(sys.mass[5], 0, 0);
    for (k = 0; k < sys.vsite.n; k++) {
        for (m = sys.vsite.start[k]; m < sys.vsite.start[k + 1]; m++) TEST_TRUE(known[sys.vsite.atom[m]]);
        known[sys.vsite.site[k]] = true;
    }
    TEST_INT(sys.vsite.site[0], 6);
    TEST_INT(sys.vsite.atom[sys.vsite.start[3]], 4); // atoms moved along with their site
    TEST_INT(mds_system_n_degrees(&sys, false, false), 9);
}

static void bad_sites_are_refused(void)
{
    begin(4);
    sys.mass[2] = sys.mass[3] = 0;
    site(2, 3, 0);
    site(3, 2, 0);
    REFUSED("virtual site 3 is built from itself through other sites");
    begin(4);
    sys.mass[1] = sys.mass[3] = 0;
    site(1, 3, 0); // atom 4 has neither mass nor a definition: that is the cause to name
    REFUSED("atom 4 has no mass and is not a virtual site");
    begin(4);
    site(2, 0, 1);
    site(2, 0, 3);
    REFUSED("virtual site 3 is defined twice");
    begin(4);
    site(4, 0, 1);
    REFUSED("virtual site 5 is defined twice or is no atom");
    begin(4);
    site(3, 0, 3);
    REFUSED("virtual site 4 is built from atom 4");
    begin(4);
    site(3, 0, 9);
    REFUSED("virtual site 4 is built from atom 10");
    begin(4);
    TEST_OK(mds_system_add_vsite(&sys, MDS_VSITE_THREE_FD, 3, 2, (int32_t[]){0, 1}, NULL, (double[]){0.1, 0.2, 0}));
    REFUSED("virtual site 4 has 2 atoms");
    begin(4);
    TEST_OK(mds_system_add_vsite(&sys, MDS_VSITE_THREE_FD, 3, 3, (int32_t[]){0, 1, 2}, NULL, (double[]){0.1, NAN, 0}));
    REFUSED("virtual site 4 has 3 atoms");
}

/// Connected parts are molecules; one whose atoms lie among another's is joined with it.
static void molecules(void)
{
    static const int32_t starts[] = {0, 2, 3, 7, 9, 10};
    int32_t              k;

    begin(10);
    bond(1, 0);
    // atom 2 alone
    bond(3, 5);
    TEST_OK(mds_system_add_constraint(&sys, 4, 6, 0.1)); // 3-5 and 4-6 interleave
    sys.mass[8] = 0;
    site(8, 7, 7 - 7 + 7); // built from 7 only, twice
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.n_molecules, 5);
    for (k = 0; k < 6 && k <= sys.n_molecules; k++) TEST_INT(sys.molecule_start[k], starts[k]);
}

/// 216 rigid four-site waters: 9 - 3 degrees each, none for the site, three for the centre of mass; and the kinetic
/// energy that belongs to 300 K, 1612.590 kJ/mol.
static void degrees_of_freedom(void)
{
    int32_t   k, residue;
    mds_frame f = {0};

    mds_system_free(&sys);
    TEST_OK(mds_system_set_types(&sys, 1, false));
    for (k = 0; k < 216; k++) {
        const int32_t o = 4 * k;

        TEST_OK(mds_system_add_residue(&sys, "HOH", k + 1, &residue));
        TEST_OK(mds_system_add_atom(&sys, "OW", residue, 0, 0, 15.9994, 8, NULL));
        TEST_OK(mds_system_add_atom(&sys, "HW1", residue, 0, 0.52, 1.008, 1, NULL));
        TEST_OK(mds_system_add_atom(&sys, "HW2", residue, 0, 0.52, 1.008, 1, NULL));
        TEST_OK(mds_system_add_atom(&sys, "MW", residue, 0, -1.04, 0, 0, NULL));
        TEST_OK(mds_system_add_constraint(&sys, o, o + 1, 0.09572));
        TEST_OK(mds_system_add_constraint(&sys, o, o + 2, 0.09572));
        TEST_OK(mds_system_add_constraint(&sys, o + 2, o + 1, 0.15139));
        if (k % 2) TEST_OK(mds_system_add_constraint(&sys, o + 1, o, 0.09572)); // said twice: counts once
        TEST_OK(mds_system_add_vsite(&sys, MDS_VSITE_LINEAR, o + 3, 3, (int32_t[]){o, o + 1, o + 2}, (double[]){0.74, 0.13, 0.13}, NULL));
    }
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(mds_system_n_degrees(&sys, true, false), 1293);
    TEST_INT(mds_system_n_degrees(&sys, false, false), 1296);
    TEST_INT(mds_system_n_degrees(&sys, true, true), 1290);
    TEST_INT(sys.water.n, 216);
    TEST_INT(sys.link.n + sys.cluster.n, 0);
    TEST_INT(sys.n_molecules, 216);
    f.kinetic[0][0] = 1612.590;
    TEST_NEAR(mds_frame_temperature(&f, 1293), 300, 1e-4); // seven digits of the published number
    begin(2); // a diatomic in vacuum: 6 - 3 - 2
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(mds_system_n_degrees(&sys, true, true), 1);
    begin(1);
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(mds_system_n_degrees(&sys, true, true), 0);
}

int main(void)
{
    keeps_what_is_added();
    exclusions_are_sorted_rows_without_repeats();
    bad_atoms_and_terms_are_refused();
    bad_constraints_are_refused();
    maps();
    sites_are_ordered();
    bad_sites_are_refused();
    molecules();
    degrees_of_freedom();
    mds_system_free(&sys);
    return test_end();
}
