// SPDX-License-Identifier: Apache-2.0
// Extra points of AMBER topologies: frames, inherited exclusions and 1-4 pairs, and refusals by name.
#include "read/read.h"
#include "unit/prmtop_text.h"

#include "base/units.h"
#include "base/vec.h"

static mds_status read_text(const prm_text *t, mds_system *system, mds_read_report *report)
{
    const mds_read_request request = {.topology = prm_write(t, "points.prmtop")};
    mds_box                box;

    memset(system, 0, sizeof *system);
    memset(report, 0, sizeof *report);
    return mds_read_prmtop(&request, system, &box, report);
}

static void refused(const prm_text *t, const char *text)
{
    mds_system      s;
    mds_read_report report;

    TEST_FAILS(read_text(t, &s, &report), MDS_E_INPUT, text);
    mds_system_free(&s);
    mds_read_report_free(&report);
}

/// A water O H1 H2 with n_points extra points, its shape from an H-H bond or from an angle.
static void water(prm_text *t, int n_points, bool by_angle)
{
    const int        n = 3 + n_points;
    int              list[32], bond[15] = {0, 9, 3, 0, 12, 3}, n_list = 0;

    prm_free(t);
    prm_pointers(t, (prm_counts){.atoms = n, .types = 2, .bonds_h = by_angle ? 2 : 3, .bonds = n_points, .angles_h = by_angle,
                                 .excluded = n * (n - 1) / 2 + 1, .residues = 1, .bond_types = 3, .angle_types = by_angle,
                                 .extra = n_points});
    prm_names(t, "ATOM_NAME", n_points == 1 ? "O H1 H2 EPW" : "O H1 H2 EP1 EP2");
    if (n_points == 1)
        REALS(t, "CHARGE", 0, 9.55249411, 9.55249411, -19.1049882);
    else
        REALS(t, "CHARGE", 0, 4.391, 4.391, -4.391, -4.391);
    prm_reals(t, "MASS", n, (const double[]){16, 1.008, 1.008, 3, 0}); // AMBER takes the mass of an extra point away
    prm_ints(t, "ATOM_TYPE_INDEX", n, (const int[]){1, 2, 2, 2, 2});
    prm_names(t, "AMBER_ATOM_TYPE", n_points == 1 ? "OW HW HW EP" : "OW HW HW EP EP");
    INTS(t, "NONBONDED_PARM_INDEX", 1, 2, 2, 3);
    REALS(t, "LENNARD_JONES_ACOEF", 600000, 0, 0);
    REALS(t, "LENNARD_JONES_BCOEF", 600, 0, 0);
    prm_names(t, "RESIDUE_LABEL", "WAT");
    INTS(t, "RESIDUE_POINTER", 1);
    REALS(t, "BOND_FORCE_CONSTANT", 553, 553, 553);
    REALS(t, "BOND_EQUIL_VALUE", 0.9572, 1.5136, n_points == 1 ? 0.125 : 0.70);
    if (by_angle) {
        REALS(t, "ANGLE_FORCE_CONSTANT", 100);
        REALS(t, "ANGLE_EQUIL_VALUE", 1.82421813);
        INTS(t, "ANGLES_INC_HYDROGEN", 3, 0, 6, 1);
    }
    INTS(t, "BONDS_INC_HYDROGEN", 0, 3, 1, 0, 6, 1, 3, 6, 2);
    if (by_angle) INTS(t, "BONDS_INC_HYDROGEN", 0, 3, 1, 0, 6, 1);
    prm_ints(t, "BONDS_WITHOUT_HYDROGEN", 3 * n_points, bond);
    prm_ints(t, "NUMBER_EXCLUDED_ATOMS", n, n_points == 1 ? (const int[]){3, 2, 1, 1} : (const int[]){4, 3, 2, 1, 1});
    for (int i = 1; i <= n; i++)
        for (int j = i + 1; j <= n; j++) list[n_list++] = j;
    list[n_list++] = 0;
    prm_ints(t, "EXCLUDED_ATOMS_LIST", n_list, list);
}

static void four_point_water_stands_on_the_bisector(prm_text *t)
{
    int by_angle;

    for (by_angle = 0; by_angle < 2; by_angle++) {
        mds_system      s;
        mds_read_report report;

        water(t, 1, by_angle);
        TEST_OK(read_text(t, &s, &report));
        TEST_INT(s.vsite.n, 1);
        if (s.vsite.n == 1) {
            TEST_INT(s.vsite.kind[0], MDS_VSITE_LINEAR);
            TEST_INT(s.vsite.site[0], 3);
            TEST_INT(s.vsite.atom[0], 0);
            // ParmEd's value for an H-H bond of 1.5136 A; GROMACS' tip4pew.itp for 104.52 degrees. 1e-6, 2e-9: digits given
            TEST_NEAR(s.vsite.weight[1], by_angle ? 0.106676721 : 0.106641, by_angle ? 2e-9 : 1e-6);
            TEST_NEAR(s.vsite.weight[2], s.vsite.weight[1], 1e-15);
            TEST_NEAR(s.vsite.weight[0] + s.vsite.weight[1] + s.vsite.weight[2], 1, 1e-15);
        }
        TEST_INT(s.term[MDS_TERM_BOND].n, by_angle ? 2 : 3); // the bond to the point is no term
        TEST_NEAR(s.mass[3], 0, 0);
        TEST_INT(s.atomic_number[3], 0);
        TEST_OK(mds_system_freeze(&s));
        TEST_INT(s.excl_start[4], 12);
        TEST_INT(s.n_molecules, 1);
        mds_system_free(&s);
        mds_read_report_free(&report);
    }
}

static void five_point_water_has_tetrahedral_lone_pairs(prm_text *t)
{
    const double    half_angle = asin(0.5 * 1.5136 / 0.9572);
    const double    h1[3] = {0.09572 * sin(half_angle), 0, 0.09572 * cos(half_angle)}, h2[3] = {-h1[0], 0, h1[2]};
    mds_system      s;
    mds_read_report report;
    int             k, d;

    water(t, 2, false);
    TEST_OK(read_text(t, &s, &report));
    TEST_INT(s.vsite.n, 2);
    for (k = 0; k < 2 && s.vsite.n == 2; k++) {
        const double *p = s.vsite.param[k];
        double        cross[3], x[3];

        TEST_INT(s.vsite.kind[k], MDS_VSITE_THREE_OUT);
        TEST_INT(s.vsite.site[k], 3 + k);
        mds_cross(h1, h2, cross);
        for (d = 0; d < 3; d++) x[d] = p[0] * h1[d] + p[1] * h2[d] + p[2] * cross[d];
        // closed form: 0.07 nm from O, 54.735 degrees off the bisector on the far side; 1e-10: E16.8 input
        TEST_NEAR(mds_norm(x), 0.07, 1e-10);
        TEST_NEAR(x[2], -0.07 * cos(54.735 * MDS_PI / 180), 1e-10);
        // h1 x h2 points along -y here, and AMBER's first point lies on the side of h2 x h1
        TEST_NEAR(x[1], (k ? -1 : 1) * 0.07 * sin(54.735 * MDS_PI / 180), 1e-10);
        TEST_NEAR(x[0], 0, 1e-12);
    }
    TEST_OK(mds_system_freeze(&s));
    mds_system_free(&s);
    mds_read_report_free(&report);
}

/// Br-C(H2)-C(H2)-Br like chain X0 C1 C2 X3 with one extra point (4) on X0.
static void chain(prm_text *t)
{
    prm_free(t);
    prm_pointers(t, (prm_counts){.atoms = 5, .types = 1, .bonds = 4, .dihedrals = 1, .excluded = 10, .residues = 1,
                                 .bond_types = 2, .dihedral_types = 1, .extra = 1});
    prm_names(t, "ATOM_NAME", "BR1 C1 C2 BR2 EP1");
    REALS(t, "CHARGE", -1.82223, 0, 0, -1.82223, 1.82223);
    REALS(t, "MASS", 79.9, 14, 14, 79.9, 0);
    INTS(t, "ATOM_TYPE_INDEX", 1, 1, 1, 1, 1);
    INTS(t, "NONBONDED_PARM_INDEX", 1);
    REALS(t, "LENNARD_JONES_ACOEF", 1000);
    REALS(t, "LENNARD_JONES_BCOEF", 10);
    prm_names(t, "RESIDUE_LABEL", "DBE");
    INTS(t, "RESIDUE_POINTER", 1);
    REALS(t, "BOND_FORCE_CONSTANT", 300, 600);
    REALS(t, "BOND_EQUIL_VALUE", 1.9, 1.6);
    INTS(t, "BONDS_WITHOUT_HYDROGEN", 0, 3, 1, 3, 6, 1, 6, 9, 1, 0, 12, 2);
    INTS(t, "DIHEDRALS_WITHOUT_HYDROGEN", 0, 3, 6, 9, 1);
    REALS(t, "DIHEDRAL_FORCE_CONSTANT", 1);
    REALS(t, "DIHEDRAL_PERIODICITY", 3);
    REALS(t, "DIHEDRAL_PHASE", 0);
    INTS(t, "NUMBER_EXCLUDED_ATOMS", 4, 2, 2, 1, 1); // the file leaves point 5 - atom 3 and 5 - 4 open
    INTS(t, "EXCLUDED_ATOMS_LIST", 2, 3, 4, 5, 3, 4, 4, 0, 0, 0);
}

static void point_beyond_an_end_atom_inherits_exclusions_and_pairs(prm_text *t)
{
    mds_system      s;
    mds_read_report report;

    chain(t);
    TEST_OK(read_text(t, &s, &report));
    TEST_INT(s.vsite.n, 1);
    if (s.vsite.n == 1) {
        TEST_INT(s.vsite.kind[0], MDS_VSITE_TWO_FD);
        TEST_INT(s.vsite.atom[0], 0);
        TEST_INT(s.vsite.atom[1], 1);
        TEST_NEAR(s.vsite.param[0][0], -0.16, 1e-12);
    }
    TEST_INT(s.term[MDS_TERM_PAIR14].n, 2); // BR1-BR2 and EP1-BR2
    if (s.term[MDS_TERM_PAIR14].n == 2) {
        TEST_INT(s.term[MDS_TERM_PAIR14].atom[2], 4);
        TEST_INT(s.term[MDS_TERM_PAIR14].atom[3], 3);
        TEST_NEAR(s.term[MDS_TERM_PAIR14].param[5], -0.01 / 1.2, 1e-10);
    }
    TEST_OK(mds_system_freeze(&s));
    TEST_INT(s.excl_start[5], 20); // every pair of the five
    mds_system_free(&s);
    mds_read_report_free(&report);
}

static void points_without_a_rule_are_refused_by_name(prm_text *t)
{
    chain(t);
    INTS(t, "BONDS_WITHOUT_HYDROGEN", 0, 3, 1, 3, 6, 1, 6, 9, 1, 3, 12, 2); // between two heavy neighbours
    refused(t, "extra point DBE 1 EP1 (atom 5)");
    chain(t);
    prm_pointers(t, (prm_counts){.atoms = 5, .types = 1, .bonds = 3, .dihedrals = 1, .excluded = 10, .residues = 1,
                                 .bond_types = 2, .dihedral_types = 1, .extra = 1});
    INTS(t, "BONDS_WITHOUT_HYDROGEN", 0, 3, 1, 3, 6, 1, 6, 9, 1);
    refused(t, "is bonded to 0 atoms");
    water(t, 1, false);
    INTS(t, "BONDS_INC_HYDROGEN", 0, 3, 1, 0, 6, 1, 3, 6, 1); // H-H shorter than two O-H is fine; longer is not
    REALS(t, "BOND_EQUIL_VALUE", 0.5, 1.5136, 0.125);
    INTS(t, "BONDS_INC_HYDROGEN", 0, 3, 1, 0, 6, 1, 3, 6, 2);
    refused(t, "needs the shape of its water");
}

int main(void)
{
    prm_text t = {.n = 0};

    mds_log_set_level(MDS_LOG_ERROR);
    four_point_water_stands_on_the_bisector(&t);
    five_point_water_has_tetrahedral_lone_pairs(&t);
    point_beyond_an_end_atom_inherits_exclusions_and_pairs(&t);
    points_without_a_rule_are_refused_by_name(&t);
    water(&t, 1, true);
    prm_broken_files_never_crash(&t, 3);
    water(&t, 2, false);
    prm_broken_files_never_crash(&t, 4);
    chain(&t);
    prm_broken_files_never_crash(&t, 5);
    prm_free(&t);
    return test_end();
}
