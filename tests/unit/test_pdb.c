// SPDX-License-Identifier: Apache-2.0
// PDB coordinates: columns, alternate locations, models, cells, and refusals.
#include "read_text.h"

static mds_system sys;
static mds_state  state;

static void make_system(int32_t n)
{
    static const char *const names[3] = {"N", "CA", "HB1"};
    int32_t i, residue;

    mds_system_free(&sys);
    if (mds_system_set_types(&sys, 1, false) != MDS_OK || mds_system_add_residue(&sys, "ALA", 1, &residue) != MDS_OK) exit(1);
    for (i = 0; i < n; i++)
        if (mds_system_add_atom(&sys, names[i % 3], residue, 0, 0, 1, 1, NULL) != MDS_OK) exit(1);
}

static mds_status read_text(const char *text)
{
    const char *path = put("conf.pdb", text);

    mds_state_free(&state);
    if (mds_state_init(&state, sys.n_atoms) != MDS_OK) exit(1);
    return mds_read_pdb(path, &sys, &state);
}

static void atoms_and_cell(void)
{
    make_system(3);
    TEST_OK(read_text("HEADER    X\nCRYST1   30.000   40.000   50.000  90.00  90.00  90.00 P 1           1\n"
                 "ATOM      1  N   ALA A   1       1.000  -2.500 100.125  1.00  0.00           N\n"
                 "ATOM  A0000  CA  ALA A   1    -999.999-999.9999999.999  1.00  0.00           C\n" // hybrid-36, no blanks
                 "HETATM***** 1HB  ALA A   1       7.000   8.000   9.000\n"
                 "TER\nEND\nATOM      1  N   ALA A   1       1.000  -2.500 100.125\n"));
    TEST_NEAR(state.x[0][0], 0.1, 0); // Angstrom over ten, rounded once
    TEST_NEAR(state.x[0][2], 10.0125, 0);
    TEST_NEAR(state.x[1][1], -99.9999, 0);
    TEST_NEAR(state.x[1][2], 999.9999, 0);
    TEST_NEAR(state.x[2][2], 0.9, 0);
    TEST_NEAR(state.box.a[1][1], 4, 0);
    TEST_TRUE(!state.has_velocities);
    TEST_INT(mds_log_n_warnings(), 0); // 1HB is HB1
}

static void first_location_and_first_model(void)
{
    make_system(3);
    TEST_OK(read_text("MODEL        1\n"
                 "ATOM      1  N   ALA A   1       1.000   0.000   0.000\n"
                 "ATOM      2  CA AALA A   1       2.000   0.000   0.000\n"
                 "ATOM      3  CA BALA A   1       3.000   0.000   0.000\n"
                 "ATOM      4  HB1BALA A   1       4.000   0.000   0.000\n" // only B there: the first of its name
                 "ENDMDL\nMODEL        2\n"
                 "ATOM      1  N   ALA A   1       9.000   0.000   0.000\n"));
    TEST_NEAR(state.x[1][0], 0.2, 0);
    TEST_NEAR(state.x[2][0], 0.4, 0);
    // the same name and location letter in the next residue is another atom
    make_system(2);
    TEST_OK(read_text("ATOM      1  CA AALA A   1       1.000   0.000   0.000\nATOM      2  CA AALA A   2       2.000   0.000   0.000\n"));
    TEST_NEAR(state.x[1][0], 0.2, 0);
}

static void cells(void)
{
    const char *atom = "ATOM      1  N   ALA A   1       1.000   0.000   0.000\n";
    char        text[300];

    make_system(1);
    snprintf(text, sizeof text, "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n%s", atom);
    TEST_OK(read_text(text));
    TEST_TRUE(mds_box_is_none(&state.box)); // the dummy of files without crystal
    snprintf(text, sizeof text, "CRYST1  104.126  104.126  104.126 109.47 109.47 109.47 P 1\n%s", atom);
    TEST_OK(read_text(text));
    // cos(109.47 degrees) = -0.33331, to the rounding of the angle in the file
    TEST_NEAR(state.box.a[1][0], -10.4126 * 0.33331, 1e-4);
    snprintf(text, sizeof text, "CRYST1   30.000   40.000   50.000 190.00  90.00  90.00\n%s", atom);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.pdb:1: box angle 190");
    snprintf(text, sizeof text, "CRYST1   30.000   4x.000   50.000  90.00  90.00  90.00\n%s", atom);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.pdb:1: number 2 of CRYST1");
    snprintf(text, sizeof text, "CRYST1\n%s", atom);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.pdb:1: number 1 of CRYST1");
}

static void refusals(void)
{
    make_system(1);
    TEST_FAILS(read_text("ATOM      1  N   ALA A   1       1.000   nan     0.000\n"), MDS_E_INPUT,
               "conf.pdb:1: the position of ALA 1 N (atom 1)");
    TEST_FAILS(read_text("ATOM      1  N   ALA A   1       1.000   0.000   0.0y0\n"), MDS_E_INPUT, "conf.pdb:1: coordinate 3");
    TEST_FAILS(read_text("ATOM      1  N   ALA A   1       1.000\n"), MDS_E_INPUT, "conf.pdb:1: coordinate 2");
    TEST_FAILS(read_text("ATOM"), MDS_E_INPUT, "0 atoms, but the topology has 1");
    TEST_FAILS(read_text("ATOM  \n"), MDS_E_INPUT, "0 atoms, but the topology has 1"); // trailing blanks are no record
    TEST_FAILS(read_text("ATOM      1"), MDS_E_INPUT, "conf.pdb:1: coordinate 1");
    TEST_FAILS(read_text("ATOM      1  N   ALA A   1       1.000   0.000   0.000\nATOM      2  N   ALA A   2       1.000   0.000   0.000\n"),
               MDS_E_INPUT, "2 atoms, but the topology has 1");
}

int main(void)
{
    work_begin();
    mds_log_set_level(MDS_LOG_ERROR);
    atoms_and_cell();
    first_location_and_first_model();
    cells();
    refusals();
    mds_state_free(&state);
    mds_system_free(&sys);
    work_end();
    return test_end();
}
