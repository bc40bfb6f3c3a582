// SPDX-License-Identifier: Apache-2.0
// AMBER topologies: formats, units, signs, 1-4 pairs, extra points, refusals, and files broken at random.
#include "read/read.h"
#include "unit/prmtop_text.h"

#include "base/units.h"

/// Read a file; the system must be freed.
static mds_status read_path(const char *path, mds_system *system, mds_box *box, mds_read_report *report)
{
    const mds_read_request request = {.topology = path};

    memset(system, 0, sizeof *system);
    memset(report, 0, sizeof *report);
    return mds_read_prmtop(&request, system, box, report);
}

typedef struct {
    mds_status      status;
    mds_system      system;
    mds_box         box;
    mds_read_report report;
} read_result;

static read_result read_text(const prm_text *t)
{
    read_result r;

    memset(&r.box, 0, sizeof r.box);
    r.status = read_path(prm_write(t, "system.prmtop"), &r.system, &r.box, &r.report);
    return r;
}

static void free_result(read_result *r)
{
    mds_system_free(&r->system);
    mds_read_report_free(&r->report);
}

/// The file is refused and the message holds `text`.
static void refused(const prm_text *t, const char *text)
{
    read_result r = read_text(t);

    TEST_FAILS(r.status, MDS_E_INPUT, text);
    free_result(&r);
}

static void is_read(const prm_text *t)
{
    read_result r = read_text(t);

    TEST_OK(r.status);
    if (r.status == MDS_OK) TEST_OK(mds_system_freeze(&r.system));
    free_result(&r);
}

/// Hydrogen peroxide H1 O1 O2 H2: one of everything, numbers that are easy to follow.
static void peroxide(prm_text *t)
{
    prm_free(t);
    prm_raw(t, "TITLE", "(20a4)", "peroxide\n");
    prm_pointers(t, (prm_counts){.atoms = 4, .types = 2, .bonds_h = 2, .bonds = 1, .angles_h = 2, .dihedrals_h = 1, .excluded = 7,
                                 .residues = 1, .bond_types = 2, .angle_types = 1, .dihedral_types = 1});
    prm_names(t, "ATOM_NAME", "H1 O1 O2 H2");
    REALS(t, "CHARGE", 0.4 * 18.2223, -0.4 * 18.2223, -0.4 * 18.2223, 0.4 * 18.2223);
    INTS(t, "ATOMIC_NUMBER", 1, 8, 8, 1);
    REALS(t, "MASS", 1.008, 16.0, 16.0, 1.008);
    INTS(t, "ATOM_TYPE_INDEX", 1, 2, 2, 1);
    INTS(t, "NUMBER_EXCLUDED_ATOMS", 3, 2, 1, 1);
    INTS(t, "NONBONDED_PARM_INDEX", 1, 2, 2, 3);
    prm_names(t, "RESIDUE_LABEL", "HOOH");
    INTS(t, "RESIDUE_POINTER", 1);
    REALS(t, "BOND_FORCE_CONSTANT", 500, 300);
    REALS(t, "BOND_EQUIL_VALUE", 0.96, 1.46);
    REALS(t, "ANGLE_FORCE_CONSTANT", 50);
    REALS(t, "ANGLE_EQUIL_VALUE", 1.75);
    REALS(t, "DIHEDRAL_FORCE_CONSTANT", 1.5);
    REALS(t, "DIHEDRAL_PERIODICITY", 2);
    REALS(t, "DIHEDRAL_PHASE", 3.1415926);
    REALS(t, "LENNARD_JONES_ACOEF", 1000, 20000, 500000);
    REALS(t, "LENNARD_JONES_BCOEF", 10, 100, 500);
    INTS(t, "BONDS_INC_HYDROGEN", 0, 3, 1, 6, 9, 1);
    INTS(t, "BONDS_WITHOUT_HYDROGEN", 3, 6, 2);
    INTS(t, "ANGLES_INC_HYDROGEN", 0, 3, 6, 1, 3, 6, 9, 1);
    INTS(t, "DIHEDRALS_INC_HYDROGEN", 0, 3, 6, 9, 1);
    INTS(t, "EXCLUDED_ATOMS_LIST", 2, 3, 4, 3, 4, 4, 0);
    prm_names(t, "AMBER_ATOM_TYPE", "HO OH OH HO");
}

static const double *param(const read_result *r, mds_term_kind kind, int32_t k)
{
    return r->system.term[kind].param + (size_t)k * (size_t)mds_term_table[kind].n_params;
}

// 1e-8: E16.8 keeps nine digits
static void units_are_converted_and_force_constants_doubled(prm_text *t)
{
    read_result r;

    peroxide(t);
    r = read_text(t);
    TEST_OK(r.status);
    TEST_INT(r.system.n_atoms, 4);
    TEST_NEAR(r.system.charge[0], 0.4, 1e-8);
    TEST_NEAR(r.system.mass[1], 16, 1e-12);
    TEST_INT(r.system.term[MDS_TERM_BOND].n, 3);
    TEST_NEAR(param(&r, MDS_TERM_BOND, 0)[0], 0.096, 1e-12);
    TEST_NEAR(param(&r, MDS_TERM_BOND, 0)[1], 2 * 500 * 418.4, 1e-6);
    TEST_NEAR(param(&r, MDS_TERM_BOND, 2)[1], 2 * 300 * 418.4, 1e-6);
    TEST_INT(r.system.term[MDS_TERM_ANGLE].n, 2);
    TEST_NEAR(param(&r, MDS_TERM_ANGLE, 0)[0], 1.75, 1e-12);
    TEST_NEAR(param(&r, MDS_TERM_ANGLE, 0)[1], 2 * 50 * 4.184, 1e-9);
    TEST_INT(r.system.term[MDS_TERM_PROPER].n, 1);
    TEST_NEAR(param(&r, MDS_TERM_PROPER, 0)[0], 3.1415926, 1e-8);
    TEST_NEAR(param(&r, MDS_TERM_PROPER, 0)[1], 1.5 * 4.184, 1e-9);
    TEST_NEAR(param(&r, MDS_TERM_PROPER, 0)[2], 2, 0);
    TEST_NEAR(r.system.c12[1], 20000 * 4.184e-12, 1e-20);
    TEST_NEAR(r.system.c6[1], 100 * 4.184e-6, 1e-16);
    TEST_NEAR(r.system.c6[3], 500 * 4.184e-6, 1e-16);
    TEST_INT(r.system.term[MDS_TERM_PAIR14].n, 1);
    TEST_NEAR(param(&r, MDS_TERM_PAIR14, 0)[0], 10 * 4.184e-6 / 2, 1e-16); // defaults of SCNB and SCEE
    TEST_NEAR(param(&r, MDS_TERM_PAIR14, 0)[1], 1000 * 4.184e-12 / 2, 1e-20);
    TEST_NEAR(param(&r, MDS_TERM_PAIR14, 0)[2], 0.16 / 1.2, 1e-8);
    TEST_TRUE(!strcmp(r.system.name.residue[0], "HOOH") && !strcmp(r.system.name.atom[3], "H2"));
    TEST_OK(mds_system_freeze(&r.system));
    TEST_INT(r.system.excl_start[4], 12);
    TEST_INT(r.system.n_molecules, 1);
    TEST_TRUE(strstr(r.report.text, "1.2 and 2.0") != NULL);
    TEST_TRUE(r.report.is_amber);
    free_result(&r);
}

static void any_fortran_format_is_read(prm_text *t)
{
    read_result r;

    peroxide(t);
    prm_raw(t, "CHARGE", "(3E24.16)",
            "  7.2889200000000000E+00 -7.2889200000000000D+00  -7.288920000000000E+00\n  7.2889200000000000E+00\n");
    prm_raw(t, "MASS", "(2(F9.5))", "  1.00800 16.00000\n 16.00000  1.00800\n");
    prm_raw(t, "RESIDUE_LABEL", "(1a80)", "HOOH\n");
    prm_raw(t, "FORCE_FIELD_TYPE", "(i2,a78)", " 1 CHARMM  something\n");
    prm_raw(t, "ATOM_NAME", "( 20A4 )", "H1AAO1BBO2CCH2DD\r\n");
    prm_raw(t, "ATOM_TYPE_INDEX", "(20I4)\n%COMMENT types\n%COMMENT of atoms", "   1   2   2   1\n");
    prm_raw(t, "RADII", "(5E16.8)", "\n");
    r = read_text(t);
    TEST_OK(r.status);
    if (r.status == MDS_OK) {
        TEST_NEAR(r.system.charge[2], -0.4, 1e-12); // sixteen digits in the field
        TEST_NEAR(r.system.mass[3], 1.008, 1e-12);
        TEST_TRUE(!strcmp(r.system.name.atom[1], "O1BB"));
        TEST_INT(r.system.type[1], 1);
    }
    free_result(&r);
    prm_raw(t, "LENNARD_JONES_ACOEF", "(5E16.8)", "   1.0000000-100  1.00000000+03 0000000000E+00\n");
    is_read(t);
}

static void damaged_sections_are_refused_by_line(prm_text *t)
{
    peroxide(t);
    prm_raw(t, "CHARGE", "(5E16.8)", "  7.28892000E+00 -7.28892000E+00 -7.28892000E+00\n");
    refused(t, "section CHARGE holds 3 values, POINTERS announce 4");
    prm_raw(t, "CHARGE", "(5E16.8)", "  7.28892000E+00 -7.28892000E+00 -7.2889X000E+00  7.28892000E+00\n");
    refused(t, "system.prmtop:16: \"-7.2889X000E+00\" in section CHARGE is not a number");
    prm_raw(t, "CHARGE", "(5E16.8)", "  7.28892000E+00 -7.28892000E+00             nan  7.28892000E+00\n");
    refused(t, "is not a number");
    prm_raw(t, "CHARGE", "(5E16.8)", "  7.28892000E+00                 -7.28892000E+00  7.28892000E+00\n");
    refused(t, "blank field");
    prm_raw(t, "CHARGE", "(5E16.8)", "               7              -7              -7               7\n");
    refused(t, "no decimal point");
    prm_raw(t, "CHARGE", "(2E16.8)", "  7.28892000E+00\n -7.28892000E+00 -7.28892000E+00\n  7.28892000E+00\n");
    refused(t, "goes on after a line that is not full");
    prm_raw(t, "CHARGE", "(2E16.8)", "  7.28892000E+00 -7.28892000E+00 -7.28892000E+00\n  7.28892000E+00\n");
    refused(t, "more than 32 characters");
    prm_raw(t, "CHARGE", "(5Q16.8)", "\n");
    refused(t, "not a Fortran format");
    prm_raw(t, "CHARGE", "(10I8)", "       1       1       1       1\n       2");
    refused(t, "system.prmtop");
    peroxide(t);
    prm_drop(t, "MASS");
    refused(t, "%FLAG MASS is missing");
    peroxide(t);
    INTS(t, "POINTERS", 4, 2);
    refused(t, "POINTERS holds 2 values");
    prm_drop(t, "POINTERS");
    refused(t, "no section %FLAG POINTERS");
    peroxide(t);
    INTS(t, "BONDS_INC_HYDROGEN", 0, 3, 1, 6, 12, 1);
    refused(t, "names atom 5 of 4");
    INTS(t, "BONDS_INC_HYDROGEN", 0, 3, 1, 6, 9, 3);
    refused(t, "type 3 of 2");
    INTS(t, "BONDS_INC_HYDROGEN", 0, 4, 1, 6, 9, 1);
    refused(t, "not a multiple of 3");
    INTS(t, "BONDS_INC_HYDROGEN", 0, -3, 1, 6, 9, 1);
    refused(t, "negative atom index");
    peroxide(t);
    INTS(t, "EXCLUDED_ATOMS_LIST", 2, 3, 4, 3, 4, 5, 0);
    refused(t, "atom 3 excludes atom 5");
    peroxide(t);
    INTS(t, "NUMBER_EXCLUDED_ATOMS", 3, 2, 1, 2);
    refused(t, "reach beyond the 7 entries");
    INTS(t, "NUMBER_EXCLUDED_ATOMS", 3, 2, 1, 0);
    refused(t, "the atoms count 6");
    peroxide(t);
    INTS(t, "ATOM_TYPE_INDEX", 1, 2, 3, 1);
    refused(t, "atom 3 (O2) has type 3");
    peroxide(t);
    INTS(t, "RESIDUE_POINTER", 2);
    refused(t, "first residue begins at atom 2");
}

static void physics_that_is_not_computed_is_refused_by_name(prm_text *t)
{
    static const struct {
        int         which;
        const char *name;
    } switches[] = {{20, "IFPERT"}, {29, "IFCAP"}, {9, "NPARM"}};
    size_t k;

    for (k = 0; k < 3; k++) {
        int value[31] = {4, 2, 2, 1, 2, 0, 1, 0, 0, 0, 7, 1, 1, 0, 0, 2, 1, 1, 2, 0};

        peroxide(t);
        value[switches[k].which] = 1;
        prm_ints(t, "POINTERS", 31, value);
        refused(t, switches[k].name);
    }
    peroxide(t);
    INTS(t, "IPOL", 1);
    refused(t, "IPOL is set");
    INTS(t, "IPOL", 0);
    is_read(t);
    REALS(t, "POLARIZABILITY", 0, 0, 0, 0);
    is_read(t);
    REALS(t, "POLARIZABILITY", 0, 0.5, 0, 0);
    refused(t, "POLARIZABILITY of atom 2");
    peroxide(t);
    REALS(t, "THREE_BODY_COEF", 1);
    refused(t, "%FLAG THREE_BODY_COEF is unknown");
    peroxide(t);
    REALS(t, "LENNARD_JONES_DCOEF", 1);
    refused(t, "%FLAG LENNARD_JONES_DCOEF");
    peroxide(t);
    prm_raw(t, "CMAP_PARAMETER_XX", "(5E16.8)", "\n");
    refused(t, "CMAP_PARAMETER_XX is unknown");
    peroxide(t);
    prm_pointers(t, (prm_counts){.atoms = 4, .types = 2, .bonds_h = 2, .bonds = 1, .angles_h = 2, .dihedrals_h = 1, .excluded = 7,
                                 .residues = 1, .bond_types = 2, .angle_types = 1, .dihedral_types = 1, .hbond = 1});
    INTS(t, "NONBONDED_PARM_INDEX", 1, -1, -1, 3);
    REALS(t, "HBOND_ACOEF", 0);
    REALS(t, "HBOND_BCOEF", 0);
    is_read(t); // a table of zeros is no physics
    REALS(t, "HBOND_BCOEF", 7);
    refused(t, "10-12");
    INTS(t, "NONBONDED_PARM_INDEX", 1, -2, -2, 3);
    refused(t, "10-12 parameters 2 of 1");
}

static void missing_optional_sections_do_not_matter(prm_text *t)
{
    read_result r;

    peroxide(t);
    prm_drop(t, "ATOMIC_NUMBER");
    prm_drop(t, "AMBER_ATOM_TYPE");
    prm_drop(t, "TITLE");
    r = read_text(t);
    TEST_OK(r.status);
    if (r.status == MDS_OK) {
        TEST_INT(r.system.atomic_number[0], 1);
        TEST_INT(r.system.atomic_number[1], 8);
    }
    free_result(&r);
}

// ----------------------------------------------------------------------------------- dihedrals, 1-4 pairs

/// Benzene: carbons 0-5, hydrogen 6 + i on carbon i. Each ring bond carries four dihedrals; those that repeat a 1-4 pair
/// have a negative third index if `signs`.
static void benzene(prm_text *t, bool signs)
{
    int  row[24 * 5], bond[12 * 3], n = 0, hydrogen[24 * 5], n_hydrogen = 0, excluded[12] = {0}, list[66], n_list = 0;
    bool seen[12][12] = {{false}};
    int  i, j, k;

    for (i = 0; i < 6; i++) {
        const int b = i, c = (i + 1) % 6, before[2] = {(i + 5) % 6, 6 + b}, after[2] = {(i + 2) % 6, 6 + c};

        bond[3 * i] = 3 * b;
        bond[3 * i + 1] = 3 * c;
        bond[3 * i + 2] = 1;
        bond[18 + 3 * i] = 3 * i;
        bond[18 + 3 * i + 1] = 3 * (6 + i);
        bond[18 + 3 * i + 2] = 2;
        for (k = 0; k < 4; k++) {
            int       a = before[k / 2], d = after[k % 2], p = b, q = c, *out;
            const int again = seen[a][d];

            seen[a][d] = seen[d][a] = true;
            if (q == 0) { // atom 0 cannot carry a sign: turn the dihedral round
                const int turn[2] = {a, p};

                a = d, d = turn[0], p = q, q = turn[1];
            }
            out = k == 0 ? row + 5 * n++ : hydrogen + 5 * n_hydrogen++;
            out[0] = 3 * a, out[1] = 3 * p, out[2] = again && signs ? -3 * q : 3 * q, out[3] = 3 * d, out[4] = 1;
        }
    }
    prm_free(t);
    prm_pointers(t, (prm_counts){.atoms = 12, .types = 1, .bonds_h = 6, .bonds = 6, .dihedrals_h = n_hydrogen, .dihedrals = n,
                                 .excluded = 66 + 1, .residues = 1, .bond_types = 2, .dihedral_types = 1});
    prm_names(t, "ATOM_NAME", "C1 C2 C3 C4 C5 C6 H1 H2 H3 H4 H5 H6");
    REALS(t, "CHARGE", -2, -2, -2, -2, -2, -2, 2, 2, 2, 2, 2, 2);
    REALS(t, "MASS", 12.01, 12.01, 12.01, 12.01, 12.01, 12.01, 1.008, 1.008, 1.008, 1.008, 1.008, 1.008);
    INTS(t, "ATOM_TYPE_INDEX", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    INTS(t, "NONBONDED_PARM_INDEX", 1);
    prm_names(t, "RESIDUE_LABEL", "BNZ");
    INTS(t, "RESIDUE_POINTER", 1);
    REALS(t, "BOND_FORCE_CONSTANT", 400, 300);
    REALS(t, "BOND_EQUIL_VALUE", 1.4, 1.08);
    REALS(t, "DIHEDRAL_FORCE_CONSTANT", 3.625);
    REALS(t, "DIHEDRAL_PERIODICITY", 2);
    REALS(t, "DIHEDRAL_PHASE", 3.14159400);
    REALS(t, "LENNARD_JONES_ACOEF", 1000);
    REALS(t, "LENNARD_JONES_BCOEF", 10);
    prm_ints(t, "BONDS_WITHOUT_HYDROGEN", 18, bond);
    prm_ints(t, "BONDS_INC_HYDROGEN", 18, bond + 18);
    prm_ints(t, "DIHEDRALS_WITHOUT_HYDROGEN", 5 * n, row);
    prm_ints(t, "DIHEDRALS_INC_HYDROGEN", 5 * n_hydrogen, hydrogen);
    for (i = 0; i < 12; i++)
        for (j = i + 1; j < 12; j++, excluded[i]++) list[n_list++] = j + 1; // everything: simpler, and no matter here
    excluded[11] = 1;
    prm_ints(t, "NUMBER_EXCLUDED_ATOMS", 12, excluded);
    {
        int all[67];

        memcpy(all, list, sizeof list);
        all[66] = 0;
        prm_ints(t, "EXCLUDED_ATOMS_LIST", 67, all);
    }
}

static void ring_has_24_dihedrals_and_21_pairs(prm_text *t)
{
    int signs;

    for (signs = 0; signs < 2; signs++) {
        read_result r;

        benzene(t, signs);
        r = read_text(t);
        TEST_OK(r.status);
        TEST_INT(r.system.term[MDS_TERM_PROPER].n, 24);
        TEST_INT(r.system.term[MDS_TERM_PERIODIC_IMPROPER].n, 0);
        TEST_INT(r.system.term[MDS_TERM_PAIR14].n, 21);
        free_result(&r);
    }
}

/// Peroxide with three dihedral rows of given signs and types.
static void three_dihedrals(prm_text *t, const int *rows)
{
    peroxide(t);
    prm_pointers(t, (prm_counts){.atoms = 4, .types = 2, .bonds_h = 2, .bonds = 1, .angles_h = 2, .dihedrals_h = 3, .excluded = 7,
                                 .residues = 1, .bond_types = 2, .angle_types = 1, .dihedral_types = 3});
    REALS(t, "DIHEDRAL_FORCE_CONSTANT", 1.5, 0.5, 0.25);
    REALS(t, "DIHEDRAL_PERIODICITY", 2, 1, 3);
    REALS(t, "DIHEDRAL_PHASE", 3.1415926, 0, 0);
    prm_ints(t, "DIHEDRALS_INC_HYDROGEN", 15, rows);
}

static void signs_choose_impropers_and_pairs(prm_text *t)
{
    read_result r;

    three_dihedrals(t, (const int[]){0, 3, -6, 9, 1, 0, 3, 6, 9, 2, 0, 3, 6, -9, 3});
    REALS(t, "SCEE_SCALE_FACTOR", 0, 1.5, 0);
    REALS(t, "SCNB_SCALE_FACTOR", 0, 3.0, 0);
    r = read_text(t); // 0 is legal where no 1-4 pair comes from the row
    TEST_OK(r.status);
    TEST_INT(r.system.term[MDS_TERM_PROPER].n, 2);
    TEST_INT(r.system.term[MDS_TERM_PERIODIC_IMPROPER].n, 1);
    TEST_INT(r.system.term[MDS_TERM_PAIR14].n, 1);
    if (r.system.term[MDS_TERM_PAIR14].n == 1) {
        TEST_NEAR(param(&r, MDS_TERM_PAIR14, 0)[0], 10 * 4.184e-6 / 3, 1e-16);
        TEST_NEAR(param(&r, MDS_TERM_PAIR14, 0)[2], 0.16 / 1.5, 1e-8);
    }
    TEST_TRUE(r.status == MDS_OK && strstr(r.report.text, "from the file"));
    free_result(&r);
    three_dihedrals(t, (const int[]){0, 3, 6, 9, 1, 0, 3, -6, 9, 2, 0, 3, -6, -9, 3});
    REALS(t, "SCEE_SCALE_FACTOR", 0, 1.2, 1.2);
    refused(t, "they divide and must be above 0");
}

static void pair_with_two_different_factors_is_refused(prm_text *t)
{
    three_dihedrals(t, (const int[]){0, 3, 6, 9, 1, 0, 3, 6, 9, 2, 0, 3, -6, 9, 3});
    REALS(t, "SCEE_SCALE_FACTOR", 1.2, 1.0, 1.2);
    refused(t, "the 1-4 pair of atoms 1 and 4");
    REALS(t, "SCEE_SCALE_FACTOR", 1.2, 1.2, 1.0);
    is_read(t);
}

static void barrier_zero_still_makes_a_pair(prm_text *t)
{
    read_result r;

    peroxide(t);
    REALS(t, "DIHEDRAL_FORCE_CONSTANT", 0);
    REALS(t, "DIHEDRAL_PERIODICITY", 0);
    r = read_text(t);
    TEST_OK(r.status);
    TEST_INT(r.system.term[MDS_TERM_PROPER].n, 0);
    TEST_INT(r.system.term[MDS_TERM_PAIR14].n, 1);
    free_result(&r);
}

static void negative_periodicity_counts_by_its_absolute_value(prm_text *t)
{
    read_result r;

    three_dihedrals(t, (const int[]){0, 3, 6, 9, 1, 0, 3, -6, 9, 2, 0, 3, -6, 9, 3});
    REALS(t, "DIHEDRAL_PERIODICITY", -4, 1, -2);
    r = read_text(t);
    TEST_OK(r.status);
    TEST_INT(r.system.term[MDS_TERM_PROPER].n, 3);
    TEST_INT(r.system.term[MDS_TERM_PAIR14].n, 1);
    TEST_NEAR(param(&r, MDS_TERM_PROPER, 0)[2], 4, 0);
    TEST_NEAR(param(&r, MDS_TERM_PROPER, 2)[2], 2, 0);
    free_result(&r);
    REALS(t, "DIHEDRAL_PERIODICITY", 4, 1, 2.5);
    refused(t, "periodicity 2.5");
}

static void twelve_six_four_goes_into_its_own_matrix(prm_text *t)
{
    read_result r;

    peroxide(t);
    prm_raw(t, "LENNARD_JONES_CCOEF", "(5E16.8)", "  0.00000000E+00  1.32908847E+02 0000000000E+00\n");
    r = read_text(t);
    TEST_OK(r.status);
    TEST_TRUE(r.system.c4 != NULL);
    if (r.system.c4) {
        TEST_NEAR(r.system.c4[1], 132.908847 * 4.184e-4, 1e-12);
        TEST_NEAR(r.system.c4[2], 132.908847 * 4.184e-4, 1e-12);
        TEST_NEAR(r.system.c4[0], 0, 0);
    }
    free_result(&r);
}

// ----------------------------------------------------------------------------------- box

static void box_is_taken_only_where_it_is_sure(prm_text *t)
{
    prm_counts  c = {.atoms = 4, .types = 2, .bonds_h = 2, .bonds = 1, .angles_h = 2, .dihedrals_h = 1, .excluded = 7,
                     .residues = 1, .bond_types = 2, .angle_types = 1, .dihedral_types = 1, .box = 1};
    read_result r;

    peroxide(t);
    prm_pointers(t, c);
    r = read_text(t); // periodic, but no SOLVENT_POINTERS and no BOX_DIMENSIONS
    TEST_OK(r.status);
    TEST_TRUE(mds_box_is_none(&r.box));
    TEST_TRUE(strstr(r.report.text, "no BOX_DIMENSIONS") != NULL);
    free_result(&r);

    REALS(t, "BOX_DIMENSIONS", 5156.61795, 18.774349, 20, 21);
    r = read_text(t); // IFBOX 1 is rectangular whatever the angle says
    TEST_OK(r.status);
    TEST_NEAR(r.box.a[0][0], 1.8774349, 1e-9);
    TEST_NEAR(r.box.a[2][2], 2.1, 1e-12);
    TEST_NEAR(r.box.a[2][1], 0, 1e-15);
    TEST_TRUE(strstr(r.report.text, "1.877435 2 2.1 nm, angle 5156.62") != NULL);
    free_result(&r);

    c.box = 2;
    prm_pointers(t, c);
    REALS(t, "BOX_DIMENSIONS", 90, 104.12634, 104.12634, 104.12634);
    r = read_text(t);
    TEST_OK(r.status);
    // the octahedron of length 10.412634 nm; 2e-6: the angle is written with six decimals
    TEST_NEAR(r.box.a[1][0], -3.470878, 2e-6);
    TEST_NEAR(r.box.a[1][1], 9.817126, 2e-6);
    TEST_NEAR(r.box.a[2][1], -4.908562, 2e-6);
    TEST_NEAR(r.box.a[2][2], 8.501880, 2e-6);
    TEST_NEAR(mds_box_volume(&r.box), 869.080, 1e-3);
    free_result(&r);

    c.box = 3;
    prm_pointers(t, c);
    r = read_text(t);
    TEST_OK(r.status);
    TEST_TRUE(mds_box_is_none(&r.box));
    TEST_TRUE(strstr(r.report.text, "not used") != NULL);
    free_result(&r);
}

int main(void)
{
    prm_text t = {.n = 0};

    mds_log_set_level(MDS_LOG_ERROR);
    units_are_converted_and_force_constants_doubled(&t);
    any_fortran_format_is_read(&t);
    damaged_sections_are_refused_by_line(&t);
    physics_that_is_not_computed_is_refused_by_name(&t);
    missing_optional_sections_do_not_matter(&t);
    ring_has_24_dihedrals_and_21_pairs(&t);
    signs_choose_impropers_and_pairs(&t);
    pair_with_two_different_factors_is_refused(&t);
    barrier_zero_still_makes_a_pair(&t);
    negative_periodicity_counts_by_its_absolute_value(&t);
    twelve_six_four_goes_into_its_own_matrix(&t);
    box_is_taken_only_where_it_is_sure(&t);
    peroxide(&t);
    prm_broken_files_never_crash(&t, 1);
    benzene(&t, true);
    prm_broken_files_never_crash(&t, 2);
    prm_free(&t);
    return test_end();
}
