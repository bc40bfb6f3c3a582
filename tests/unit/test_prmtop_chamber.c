// SPDX-License-Identifier: Apache-2.0
// CHARMM parts of prmtop files: units of charges and phases, which angle gets which Urey-Bradley term, CMAP under both names.
// That the energies are those of the GROMACS form is tests/physics/test_chamber.py.
#include "read/read.h"
#include "unit/prmtop_text.h"

#include "base/units.h"

typedef struct {
    mds_status      status;
    mds_system      s;
    mds_read_report report;
} read_result;

static read_result read_text(const prm_text *t)
{
    const mds_read_request request = {.topology = prm_write(t, "chamber.prmtop")};
    read_result            r = {0};
    mds_box                box;

    r.status = mds_read_prmtop(&request, &r.s, &box, &r.report);
    return r;
}

static void free_result(read_result *r)
{
    mds_system_free(&r->s);
    mds_read_report_free(&r->report);
}

static void refused(const prm_text *t, const char *text)
{
    read_result r = read_text(t);

    TEST_FAILS(r.status, MDS_E_INPUT, text);
    free_result(&r);
}

/// A chain of five atoms with all that CHARMM adds; charges in units of sqrt(332.0716) and, as the format says, a comment.
static void chain(prm_text *t, double charge_unit, bool comment)
{
    const double q[5] = {0.31 * charge_unit, -0.47 * charge_unit, 0.07 * charge_unit, 0.51 * charge_unit, -0.42 * charge_unit};
    double       grid[16];

    prm_free(t);
    prm_raw(t, "CTITLE", "(a80)", "chain\n");
    prm_pointers(t, (prm_counts){.atoms = 5, .types = 1, .bonds = 4, .angles = 3, .dihedrals = 2, .excluded = 10, .residues = 1,
                                 .bond_types = 1, .angle_types = 1, .dihedral_types = 1});
    prm_raw(t, "FORCE_FIELD_TYPE", "(i2,a78)", " 1 CHARMM 36\n");
    prm_names(t, "ATOM_NAME", "C1 N2 C3 C4 N5");
    prm_reals(t, "CHARGE", 5, q);
    if (comment) {
        prm_section *s = prm_begin(t, "CHARGE", "(1E24.16)\n%COMMENT  Atomic charge multiplied by sqrt(332.0716D0) (CCELEC)");

        for (int i = 0; i < 5; i++) mds_text_add(&s->data, "%24.16E\n", q[i]);
    }
    REALS(t, "MASS", 12.011, 14.007, 12.011, 12.011, 14.007);
    INTS(t, "ATOM_TYPE_INDEX", 1, 1, 1, 1, 1);
    INTS(t, "NUMBER_EXCLUDED_ATOMS", 4, 3, 2, 1, 0);
    INTS(t, "EXCLUDED_ATOMS_LIST", 2, 3, 4, 5, 3, 4, 5, 4, 5, 5);
    INTS(t, "NONBONDED_PARM_INDEX", 1);
    prm_names(t, "RESIDUE_LABEL", "MOL");
    INTS(t, "RESIDUE_POINTER", 1);
    REALS(t, "BOND_FORCE_CONSTANT", 300);
    REALS(t, "BOND_EQUIL_VALUE", 1.4);
    REALS(t, "ANGLE_FORCE_CONSTANT", 50);
    REALS(t, "ANGLE_EQUIL_VALUE", 1.9);
    INTS(t, "CHARMM_UREY_BRADLEY_COUNT", 1, 1);
    INTS(t, "CHARMM_UREY_BRADLEY", 4, 2, 1);
    REALS(t, "CHARMM_UREY_BRADLEY_FORCE_CONSTANT", 11);
    REALS(t, "CHARMM_UREY_BRADLEY_EQUIL_VALUE", 2.2);
    REALS(t, "DIHEDRAL_FORCE_CONSTANT", 0.5);
    REALS(t, "DIHEDRAL_PERIODICITY", 3);
    REALS(t, "DIHEDRAL_PHASE", 0);
    INTS(t, "CHARMM_NUM_IMPROPERS", 1);
    INTS(t, "CHARMM_IMPROPERS", 2, 1, 3, 4, 1);
    INTS(t, "CHARMM_NUM_IMPR_TYPES", 1);
    REALS(t, "CHARMM_IMPROPER_FORCE_CONSTANT", 40);
    REALS(t, "CHARMM_IMPROPER_PHASE", 0.5);
    REALS(t, "LENNARD_JONES_ACOEF", 1000);
    REALS(t, "LENNARD_JONES_BCOEF", 10);
    REALS(t, "LENNARD_JONES_14_ACOEF", 400);
    REALS(t, "LENNARD_JONES_14_BCOEF", 4);
    INTS(t, "BONDS_WITHOUT_HYDROGEN", 0, 3, 1, 3, 6, 1, 6, 9, 1, 9, 12, 1);
    INTS(t, "ANGLES_WITHOUT_HYDROGEN", 0, 3, 6, 1, 3, 6, 9, 1, 6, 9, 12, 1);
    INTS(t, "DIHEDRALS_WITHOUT_HYDROGEN", 0, 3, 6, 9, 1, 3, 6, 9, 12, 1);
    INTS(t, "CHARMM_CMAP_COUNT", 1, 1);
    INTS(t, "CHARMM_CMAP_RESOLUTION", 4);
    for (int k = 0; k < 16; k++) grid[k] = 0.25 * k;
    prm_reals(t, "CHARMM_CMAP_PARAMETER_01", 16, grid);
    INTS(t, "CHARMM_CMAP_INDEX", 1, 2, 3, 4, 5, 1);
}

static void charmm_terms_are_read(prm_text *t)
{
    read_result r;

    chain(t, sqrt(332.0716), true);
    r = read_text(t);
    TEST_OK(r.status);
    TEST_INT(r.s.term[MDS_TERM_ANGLE].n, 0);
    TEST_INT(r.s.term[MDS_TERM_UREY_BRADLEY].n, 3);
    if (r.s.term[MDS_TERM_UREY_BRADLEY].n == 3) {
        const double *p = r.s.term[MDS_TERM_UREY_BRADLEY].param;

        TEST_NEAR(p[0], 1.9, 1e-12);
        TEST_NEAR(p[1], 2 * 50 * 4.184, 1e-9);
        TEST_NEAR(p[3], 0, 0);
        TEST_NEAR(p[6], 0.22, 1e-12); // atoms 2 and 4 end the second angle, in whichever order
        TEST_NEAR(p[7], 2 * 11 * 418.4, 1e-9);
        TEST_NEAR(p[11], 0, 0);
    }
    TEST_INT(r.s.term[MDS_TERM_IMPROPER].n, 1);
    if (r.s.term[MDS_TERM_IMPROPER].n == 1) {
        TEST_NEAR(r.s.term[MDS_TERM_IMPROPER].param[0], 0.5, 1e-12);
        TEST_NEAR(r.s.term[MDS_TERM_IMPROPER].param[1], 2 * 40 * 4.184, 1e-9);
        TEST_INT(r.s.term[MDS_TERM_IMPROPER].atom[0], 1);
    }
    TEST_INT(r.s.term[MDS_TERM_PAIR14].n, 2);
    if (r.s.term[MDS_TERM_PAIR14].n == 2) { // its own table, and factors 1 where the file has none
        TEST_NEAR(r.s.term[MDS_TERM_PAIR14].param[0], 4 * 4.184e-6, 1e-16);
        TEST_NEAR(r.s.term[MDS_TERM_PAIR14].param[1], 400 * 4.184e-12, 1e-20);
        TEST_NEAR(r.s.term[MDS_TERM_PAIR14].param[2], 0.31 * 0.51, 1e-12);
    }
    TEST_NEAR(r.s.c12[0], 1000 * 4.184e-12, 1e-20);
    TEST_INT(r.s.n_maps, 1);
    TEST_INT(r.s.map_size, 4);
    if (r.s.map_size == 4) TEST_NEAR(r.s.map[6], 0.25 * 6 * 4.184, 1e-12); // second row, third column: no transposition
    TEST_INT(r.s.term[MDS_TERM_CMAP].n, 1);
    TEST_OK(mds_system_freeze(&r.s));
    free_result(&r);
}

static void charges_say_their_unit(prm_text *t)
{
    int k;

    for (k = 0; k < 2; k++) { // no comment: CHARMM charges are multiples of 1e-4 e in one unit only
        read_result r;

        chain(t, k ? sqrt(332.0716) : 18.2223, false);
        r = read_text(t);
        TEST_OK(r.status);
        TEST_NEAR(r.s.charge[1], -0.47, 2e-8); // nine digits in E16.8
        free_result(&r);
    }
}

static void phase_beyond_a_turn_is_degrees(prm_text *t)
{
    read_result r;

    chain(t, 18.2223, false);
    REALS(t, "CHARMM_IMPROPER_PHASE", 180);
    r = read_text(t);
    TEST_OK(r.status);
    TEST_NEAR(r.s.term[MDS_TERM_IMPROPER].param[0], MDS_PI, 1e-12);
    TEST_TRUE(r.status == MDS_OK && strstr(r.report.text, "taken as degrees"));
    free_result(&r);
}

static void loose_urey_bradley_gets_an_angle_of_no_strength(prm_text *t)
{
    read_result r;

    chain(t, 18.2223, false);
    INTS(t, "CHARMM_UREY_BRADLEY_COUNT", 2, 1);
    INTS(t, "CHARMM_UREY_BRADLEY", 4, 2, 1, 2, 4, 1); // the second finds its angle taken
    r = read_text(t);
    TEST_OK(r.status);
    TEST_INT(r.s.term[MDS_TERM_UREY_BRADLEY].n, 4);
    if (r.s.term[MDS_TERM_UREY_BRADLEY].n == 4) {
        TEST_NEAR(r.s.term[MDS_TERM_UREY_BRADLEY].param[1], 0, 0);
        TEST_NEAR(r.s.term[MDS_TERM_UREY_BRADLEY].param[3], 2 * 11 * 418.4, 1e-9);
        TEST_INT(r.s.term[MDS_TERM_UREY_BRADLEY].atom[1], 2);
    }
    free_result(&r);
    INTS(t, "CHARMM_UREY_BRADLEY", 4, 2, 1, 1, 5, 1);
    refused(t, "no atom is bonded to both");
}

static void ff19sb_maps_are_read_under_their_names(prm_text *t)
{
    static const char *const parts[] = {"COUNT", "RESOLUTION", "PARAMETER_01", "INDEX"};
    read_result              r;
    int                      k;

    chain(t, 18.2223, false);
    for (k = 0; k < t->n; k++)
        for (size_t m = 0; m < 4; m++)
            if (!strncmp(t->section[k].name, "CHARMM_CMAP_", 12) && !strcmp(t->section[k].name + 12, parts[m]))
                snprintf(t->section[k].name, sizeof t->section[k].name, "CMAP_%s", parts[m]);
    r = read_text(t);
    TEST_OK(r.status);
    TEST_INT(r.s.term[MDS_TERM_CMAP].n, 1);
    free_result(&r);
    prm_drop(t, "CMAP_COUNT");
    refused(t, "CMAP_INDEX without CMAP_COUNT");
}

static void damaged_charmm_sections_are_refused(prm_text *t)
{
    chain(t, 18.2223, false);
    INTS(t, "CHARMM_CMAP_INDEX", 1, 2, 3, 4, 5, 2);
    refused(t, "type 2 of 1");
    chain(t, 18.2223, false);
    INTS(t, "CHARMM_IMPROPERS", 2, 1, 3, 6, 1);
    refused(t, "section CHARMM_IMPROPERS names atom 6 of 5");
    chain(t, 18.2223, false);
    prm_drop(t, "LENNARD_JONES_14_BCOEF");
    refused(t, "LENNARD_JONES_14_BCOEF is missing");
    chain(t, 18.2223, false);
    INTS(t, "CHARMM_CMAP_RESOLUTION", 5);
    refused(t, "CHARMM_CMAP_PARAMETER_01");
    chain(t, 18.2223, false);
    REALS(t, "CHARMM_CMAP_PARAMETER_02", 1);
    refused(t, "only 1 maps are announced");
}

int main(void)
{
    prm_text t = {.n = 0};

    mds_log_set_level(MDS_LOG_ERROR);
    charmm_terms_are_read(&t);
    charges_say_their_unit(&t);
    phase_beyond_a_turn_is_degrees(&t);
    loose_urey_bradley_gets_an_angle_of_no_strength(&t);
    ff19sb_maps_are_read_under_their_names(&t);
    damaged_charmm_sections_are_refused(&t);
    chain(&t, 18.2223, true);
    prm_broken_files_never_crash(&t, 6);
    prm_free(&t);
    return test_end();
}
