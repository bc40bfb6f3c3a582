// SPDX-License-Identifier: Apache-2.0
// Which bonds become constraints, how constraints fall into groups, rigid waters of AMBER files, heavy hydrogens.
#include "model/model.h"
#include "test.h"

static mds_system sys;

/// Atoms by one letter each: C, O, H, D (a hydrogen whose element is not known), N, L (massless); one residue a molecule.
static void begin(void)
{
    mds_system_free(&sys);
    TEST_OK(mds_system_set_types(&sys, 1, false));
}

static int32_t molecule(const char *letters)
{
    const int32_t first = sys.n_atoms;
    int32_t       residue;

    TEST_OK(mds_system_add_residue(&sys, "RES", 1, &residue));
    for (; *letters; letters++) {
        const double mass = *letters == 'C' ? 12.011 : *letters == 'O' ? 15.9994 : *letters == 'N' ? 14.007 : *letters == 'L' ? 0 : 1.008;
        const int    number = *letters == 'C' ? 6 : *letters == 'O' ? 8 : *letters == 'N' ? 7 : *letters == 'H' ? 1 : 0;

        TEST_OK(mds_system_add_atom(&sys, (char[]){*letters, '\0'}, residue, 0, 0, mass, number, NULL));
    }
    return first;
}

static void bond(int32_t i, int32_t j, double r0)
{
    TEST_OK(mds_system_add_term(&sys, MDS_TERM_BOND, (int32_t[]){i, j}, (double[]){r0, 1000}));
}

static void fix(int32_t i, int32_t j, double length)
{
    TEST_OK(mds_system_add_constraint(&sys, i, j, length));
}

/// Methanol and two loose bonds: C 0, O 1, H 2 3 4 on C, D 5 on O.
static void methanol(void)
{
    begin();
    molecule("COHHHD");
    bond(0, 1, 0.141);
    bond(0, 2, 0.109);
    bond(3, 0, 0.109);
    bond(0, 4, 0.109);
    TEST_OK(mds_system_add_term(&sys, MDS_TERM_BOND_MORSE, (int32_t[]){1, 5}, (double[]){0.0945, 400, 20}));
}

static void policies(void)
{
    methanol();
    TEST_OK(mds_system_constrain(&sys, MDS_CONSTRAIN_NONE));
    TEST_INT(sys.constraint.n, 0);
    TEST_OK(mds_system_constrain(&sys, MDS_CONSTRAIN_H_BONDS));
    TEST_INT(sys.constraint.n, 4); // D too: 1.008 Da without an element is a hydrogen
    TEST_INT(sys.term[MDS_TERM_BOND].n, 1);
    TEST_INT(sys.term[MDS_TERM_BOND].atom[1], 1);
    TEST_NEAR(sys.term[MDS_TERM_BOND].param[0], 0.141, 0);
    TEST_INT(sys.term[MDS_TERM_BOND_MORSE].n, 0);
    TEST_NEAR(sys.constraint.length[3], 0.0945, 0);
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.cluster.n, 2); // CH3 and OH
    TEST_INT(sys.link.n, 0);
    TEST_INT(mds_system_n_degrees(&sys, true, false), 18 - 4 - 3);
    methanol();
    TEST_OK(mds_system_constrain(&sys, MDS_CONSTRAIN_ALL_BONDS));
    TEST_INT(sys.constraint.n, 5);
    TEST_INT(sys.term[MDS_TERM_BOND].n, 0);
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.cluster.n, 0); // all hang together through C-O
    TEST_INT(sys.link.n, 5);
    methanol();
    fix(2, 0, 0.109); // constrained already, in the other order: only the bond goes
    TEST_OK(mds_system_constrain(&sys, MDS_CONSTRAIN_H_BONDS));
    TEST_INT(sys.constraint.n, 4);
    TEST_INT(sys.term[MDS_TERM_BOND].n, 1);
    methanol();
    bond(2, 0, 0.109); // the same bond a second time: one constraint in the end
    TEST_OK(mds_system_constrain(&sys, MDS_CONSTRAIN_H_BONDS));
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.constraint.n, 4);
    TEST_INT(sys.cluster.n, 2);
}

static void bonds_to_sites_stay(void)
{
    begin();
    molecule("CHL");
    bond(0, 2, 0.1);
    bond(0, 1, 0.1);
    TEST_OK(mds_system_add_vsite(&sys, MDS_VSITE_LINEAR, 2, 2, (int32_t[]){0, 1}, (double[]){0.5, 0.5}, NULL));
    TEST_OK(mds_system_constrain(&sys, MDS_CONSTRAIN_ALL_BONDS));
    TEST_INT(sys.constraint.n, 1);
    TEST_INT(sys.term[MDS_TERM_BOND].n, 1);
    TEST_OK(mds_system_freeze(&sys));
}

static void groups(void)
{
    int32_t a, k, links = 0;

    begin();
    a = molecule("HOH"); // triangle given from its bases, H first
    fix(a, a + 2, 0.15);
    fix(a + 2, a + 1, 0.1);
    fix(a + 1, a, 0.1);
    a = molecule("CHHH");
    for (k = 1; k < 4; k++) fix(a + k, a, 0.1 + 0.01 * k);
    a = molecule("NH"); // of a pair the heavier is the centre
    fix(a + 1, a, 0.101);
    a = molecule("CHHHH"); // four leaves: too many for a cluster
    for (k = 1; k < 5; k++) fix(a, a + k, 0.109);
    a = molecule("CCCCC"); // a ring
    for (k = 0; k < 5; k++) fix(a + k, a + (k + 1) % 5, 0.15);
    a = molecule("OHH"); // a triangle with unequal legs
    fix(a, a + 1, 0.1);
    fix(a, a + 2, 0.11);
    fix(a + 1, a + 2, 0.15);
    a = molecule("OHHC"); // a water with something hanging on it
    fix(a, a + 1, 0.1);
    fix(a, a + 2, 0.1);
    fix(a + 1, a + 2, 0.15);
    fix(a, a + 3, 0.2);
    a = molecule("CC"); // equal masses
    fix(a, a + 1, 0.15);
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.water.n, 1);
    TEST_TRUE(sys.water.atom[0] == 1 && sys.water.atom[1] == 0 && sys.water.atom[2] == 2);
    TEST_TRUE(sys.water.length[0] == 0.1 && sys.water.length[1] == 0.15);
    TEST_INT(sys.cluster.n, 3);
    TEST_TRUE(sys.cluster.atom[0] == 3 && sys.cluster.atom[3] == 6 && sys.cluster.length[2] == 0.1 + 0.01 * 3);
    TEST_TRUE(sys.cluster.atom[4] == 7 && sys.cluster.atom[5] == 8 && sys.cluster.atom[6] == -1 && sys.cluster.length[3] == 0.101);
    TEST_INT(sys.link.n, 4 + 5 + 3 + 4);
    TEST_INT(sys.constraint.n, 3 * sys.water.n + 3 + 1 + 1 + sys.link.n); // none lost, none twice
    for (k = 0; k < sys.link.n; k++) links += sys.link.atom[2 * k] >= 9 && sys.link.length[k] > 0;
    TEST_INT(links, sys.link.n);
}

/// AMBER water: O-H bonds and either an H-H bond or an angle; TIP4P's site and ions stay as they are.
static void rigid_waters(void)
{
    int32_t w, x, f;

    begin();
    w = molecule("OHH");
    bond(w, w + 1, 0.09572);
    bond(w + 2, w, 0.09572);
    bond(w + 1, w + 2, 0.15136);
    x = molecule("HOHL");
    bond(x + 1, x, 0.1);
    bond(x + 1, x + 2, 0.1);
    TEST_OK(mds_system_add_term(&sys, MDS_TERM_ANGLE, (int32_t[]){x, x + 1, x + 2}, (double[]){1.9106332362490186, 300}));
    TEST_OK(mds_system_add_vsite(&sys, MDS_VSITE_LINEAR, x + 3, 3, (int32_t[]){x + 1, x, x + 2}, (double[]){0.7, 0.15, 0.15}, NULL));
    f = molecule("COH"); // no water
    bond(f, f + 1, 0.14);
    bond(f + 1, f + 2, 0.096);
    TEST_OK(mds_system_rigid_waters(&sys));
    TEST_INT(sys.term[MDS_TERM_BOND].n, 2);
    TEST_INT(sys.term[MDS_TERM_BOND].atom[0], f);
    TEST_INT(sys.term[MDS_TERM_ANGLE].n, 0);
    TEST_INT(sys.constraint.n, 6);
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.water.n, 2);
    TEST_NEAR(sys.water.length[1], 0.15136, 0);
    // cos = -1/3: HH = sqrt(2 (1 + 1/3)) OH
    TEST_NEAR(sys.water.length[3], 0.1 * sqrt(8.0 / 3), 1e-15);
    TEST_INT(sys.water.atom[3], x + 1);
    begin();
    w = molecule("OHH");
    bond(w, w + 1, 0.1);
    bond(w, w + 2, 0.1);
    TEST_FAILS(mds_system_rigid_waters(&sys), MDS_E_INPUT, "the water of RES 1 O (atom 1) has neither an H-H bond nor an angle");
}

static void heavy_hydrogens(void)
{
    int32_t k, w;
    double  before = 0, after = 0;

    methanol();
    w = molecule("OHH");
    bond(w, w + 1, 0.1);
    bond(w, w + 2, 0.1);
    for (k = 0; k < sys.n_atoms; k++) before += sys.mass[k];
    TEST_OK(mds_system_repartition(&sys, 0)); // off
    TEST_NEAR(sys.mass[2], 1.008, 0);
    TEST_OK(mds_system_repartition(&sys, 3.024));
    for (k = 0; k < sys.n_atoms; k++) after += sys.mass[k];
    TEST_NEAR(after, before, 1e-12);
    TEST_NEAR(sys.mass[2], 3.024, 0);
    TEST_NEAR(sys.mass[5], 3.024, 0);
    TEST_NEAR(sys.mass[0], 12.011 - 3 * (3.024 - 1.008), 1e-12);
    TEST_NEAR(sys.mass[1], 15.9994 - (3.024 - 1.008), 1e-12);
    TEST_NEAR(sys.mass[w + 1], 1.008, 0); // waters keep theirs
    TEST_OK(mds_system_repartition(&sys, 3.024)); // a second time changes nothing
    TEST_NEAR(sys.mass[0], 12.011 - 3 * (3.024 - 1.008), 1e-12);
    methanol();
    TEST_OK(mds_system_repartition(&sys, 4)); // heavier than the mass that tells a hydrogen without element
    TEST_OK(mds_system_constrain(&sys, MDS_CONSTRAIN_H_BONDS));
    TEST_INT(sys.constraint.n, 4);
    methanol();
    TEST_FAILS(mds_system_repartition(&sys, 5), MDS_E_INPUT, "constraints.hydrogen_mass = 5 leaves RES 1 C (atom 1) with 0.035 Da");
    begin(); // hydrogens held by constraints, not bonds
    w = molecule("CH");
    fix(w + 1, w, 0.1);
    TEST_OK(mds_system_repartition(&sys, 3));
    TEST_NEAR(sys.mass[0], 12.011 - 1.992, 1e-12);
}

int main(void)
{
    policies();
    bonds_to_sites_stay();
    groups();
    rigid_waters();
    heavy_hydrogens();
    mds_system_free(&sys);
    return test_end();
}
