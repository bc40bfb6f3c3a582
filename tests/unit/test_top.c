// SPDX-License-Identifier: Apache-2.0
// GROMACS topologies: parameters of each directive in model units, the rules by which types are found, and messages.
// Values are written as the file has them; where a product or a conversion is taken, to rounding (1e-15 relative).
#include "read_text.h"

#include "base/units.h"

#include <stdarg.h>

static mds_system sys;

#define DEFAULTS "[ defaults ]\n1 2 yes 0.5 0.8\n"
#define TYPES                                                                                                \
    "[ atomtypes ]\nC 6 12.011 0.1 A 0.3 0.4\nH 1 1.008 0.2 A 0.1 0.2\nO OX 8 15.999 -0.3 A 0.25 0.5\n"      \
    "N NX 14.007 0 A 0.2 0.1\nV 0 0 V 0 0\n"
#define MOLECULE                                                                                             \
    "[ moleculetype ]\nM 3\n[ atoms ]\n1 C 1 RES CA 1\n2 H 1 RES HA 1 0.25\n3 O 1 RES OA 1 -0.5 16.5\n"      \
    "4 C 2B RES CB 2 0.1 12\n5 N 3 XYZ N 2 0 14\n"
#define END "[ system ]\na title\n[ molecules ]\nM 1\n"

/// Types and sections in one topology: extra parameter directives, then extra molecule directives.
static mds_status with(const char *parameters, const char *sections)
{
    mds_text   text = {0};
    mds_status status;

    mds_text_add(&text, "%s%s%s\n%s%s\n%s", DEFAULTS, TYPES, parameters, MOLECULE, sections, END);
    status = top_from(text.s, &sys);
    mds_text_free(&text);
    return status;
}

static const double *param(mds_term_kind kind, int k)
{
    static const double none[MDS_N_TERMS];

    return k < sys.term[kind].n ? sys.term[kind].param + k * mds_term_table[kind].n_params : none;
}

#define TEST_PARAMS(kind, k, ...)                                                                            \
    do {                                                                                                     \
        const double want[] = {__VA_ARGS__};                                                                 \
        int          m;                                                                                      \
        TEST_TRUE((k) < sys.term[kind].n);                                                                   \
        for (m = 0; m < (int)(sizeof want / sizeof want[0]); m++)                                            \
            TEST_NEAR(param(kind, k)[m], want[m], 4e-15 * fabs(want[m]));                                    \
    } while (0)

static const double deg = MDS_PI / 180;

static void atoms(void)
{
    TEST_OK(with("", ""));
    TEST_INT(sys.n_atoms, 5);
    TEST_INT(sys.n_molecules, 1);
    TEST_INT(sys.name.n_residues, 3);
    TEST_INT(sys.name.residue_number[1], 2); // 2B: number and insertion letter
    TEST_TRUE(!strcmp(sys.name.residue[2], "XYZ") && !strcmp(sys.name.atom[3], "CB"));
    TEST_NEAR(sys.charge[0], 0.1, 0); // charge and mass of the type where the line has none
    TEST_NEAR(sys.mass[1], 1.008, 0);
    TEST_NEAR(sys.charge[1], 0.25, 0);
    TEST_NEAR(sys.mass[2], 16.5, 0);
    TEST_INT(sys.atomic_number[2], 8);
    TEST_INT(sys.atomic_number[4], 7); // no column: from mass and name
    TEST_INT(sys.n_types, 4);          // V is not used
}

static void lennard_jones(void)
{
    const double s = 0.5 * (0.3 + 0.1), e = sqrt(0.4 * 0.2), s6 = pow(s, 6);

    TEST_OK(with("", ""));
    TEST_NEAR(sys.c6[0], 4 * 0.4 * pow(0.3, 6), 1e-17);
    TEST_NEAR(sys.c6[1], 4 * e * s6, 1e-18); // rule 2, some 1e-5: to a few units in the last place
    TEST_NEAR(sys.c12[sys.n_types], 4 * e * s6 * s6, 1e-22);
    TEST_OK(with("[ nonbond_params ]\nH C 1 0.2 1.5\n", ""));
    TEST_NEAR(sys.c6[1], 4 * 1.5 * pow(0.2, 6), 1e-18);
    TEST_NEAR(sys.c6[sys.n_types], sys.c6[1], 0);
    // rule 1: c6 and c12 as they are; rule 3: geometric sigma
    TEST_OK(top_from("[ defaults ]\n1 1\n[ atomtypes ]\nA 10 0 A 4e-3 9e-6\nB 10 0 A 9e-3 4e-6\n[ moleculetype ]\nM 1\n[ atoms ]\n"
                     "1 A 1 R A 1\n2 B 1 R B 1\n" END, &sys));
    TEST_NEAR(sys.c6[0], 4e-3, 0);
    TEST_NEAR(sys.c6[1], 6e-3, 1e-17);
    TEST_NEAR(sys.c12[1], 6e-6, 1e-20);
    TEST_OK(top_from("[ defaults ]\n1 3\n[ atomtypes ]\nA 10 0 A 0.4 1\nB 10 0 A 0.1 4\nC 10 0 A -0.1 4\n[ moleculetype ]\nM 1\n"
                     "[ atoms ]\n1 A 1 R A 1\n2 B 1 R B 1\n3 C 1 R C 1\n" END, &sys));
    TEST_NEAR(sys.c6[1], 4 * 2 * pow(0.2, 6), 1e-18);
    TEST_NEAR(sys.c6[2], 0, 0); // a negative sigma takes the attraction away, the repulsion stays
    TEST_NEAR(sys.c12[2], 4 * 2 * pow(0.2, 12), 1e-22);
}

static void bonds(void)
{
    TEST_OK(with("", "[ bonds ]\n1 2 1 0.11 1000\n2 3 2 0.12 2000\n3 4 3 0.13 300 20\n4 5 5\n1 5 6 0.3 40\n1 3 1 0.2 5 0.2 5\n"));
    TEST_PARAMS(MDS_TERM_BOND, 0, 0.11, 1000);
    TEST_PARAMS(MDS_TERM_BOND_G96, 0, 0.12, 2000);
    TEST_PARAMS(MDS_TERM_BOND_MORSE, 0, 0.13, 300, 20);
    TEST_PARAMS(MDS_TERM_BOND, 1, 0.3, 40);
    TEST_PARAMS(MDS_TERM_BOND, 2, 0.2, 5);
    TEST_INT(sys.term[MDS_TERM_BOND].atom[3], 4);
    // by type, read backwards; the function type left out is 1; bonded names differ from the names of atom types
    TEST_OK(with("[ bondtypes ]\nH C 1 0.1 7\nC OX 1 0.2 8\nH C 2 0.5 9\n", "[ bonds ]\n1 2\n1 3 1\n1 2 2\n"));
    TEST_PARAMS(MDS_TERM_BOND, 0, 0.1, 7);
    TEST_PARAMS(MDS_TERM_BOND, 1, 0.2, 8);
    TEST_PARAMS(MDS_TERM_BOND_G96, 0, 0.5, 9);
    TEST_OK(with("[ bondtypes ]\nH C 1 0.1 7\nC H 1 0.2 8\n", "[ bonds ]\n1 2\n")); // the later one replaces
    TEST_PARAMS(MDS_TERM_BOND, 0, 0.2, 8);
    TEST_FAILS(with("", "[ bonds ]\n1 2 1\n"), MDS_E_INPUT,
               "topol.top:19: no parameters on the line and no [ bondtypes ] of function 1 for this bond between types C (CA), H (HA)");
    TEST_FAILS(with("", "[ bonds ]\n1 2 1 0.1\n"), MDS_E_INPUT, "1 parameters where a bond has 2 (or none");
    TEST_FAILS(with("", "[ bonds ]\n1 2 1 0.1 2 0.1 3\n"), MDS_E_INPUT, "free-energy perturbation");
    TEST_FAILS(with("", "[ bonds ]\n1 2 1 gb_1\n"), MDS_E_INPUT, "1 parameters");
    TEST_FAILS(with("", "[ bonds ]\n1 2 1 gb_1 4\n"), MDS_E_INPUT, "\"gb_1\" is not a number (a macro that is not defined?)");
    TEST_FAILS(with("", "[ bonds ]\n1 2 4 1 2 3\n"), MDS_E_INPUT, "function type 4 of [ bonds ] (cubic bond) is not computed");
    TEST_FAILS(with("", "[ bonds ]\n1 2 7 1 2\n"), MDS_E_INPUT, "FENE bond");
    TEST_FAILS(with("", "[ bonds ]\n1 2 77 1 2\n"), MDS_E_INPUT, "[ bonds ] has no function type 77");
    TEST_FAILS(with("", "[ bonds ]\n1 6 1 0.1 2\n"), MDS_E_INPUT, "[ bonds ] names atom 6, but molecule type \"M\" has 5 atoms");
    TEST_FAILS(with("", "[ bonds ]\n1 1 1 0.1 2\n"), MDS_E_INPUT, "names atom 1 twice");
    TEST_FAILS(with("", "[ bonds ]\n1 x 1 0.1 2\n"), MDS_E_INPUT, "atom number: \"x\" is not a whole number");
    TEST_FAILS(with("", "[ bonds ]\n1\n"), MDS_E_INPUT, "[ bonds ] needs 2 atom numbers");
    TEST_FAILS(with("[ bondtypes ]\nH Q 1 0.1 7\n", ""), MDS_E_INPUT, "bonded type \"Q\" is not in [ atomtypes ]");
    TEST_FAILS(with("[ bondtypes ]\nH C 1\n", ""), MDS_E_INPUT, "a bond needs 2 parameters here");
}

static void angles(void)
{
    TEST_OK(with("[ angletypes ]\nC H OX 5 109 50 0.2 60\n",
                 "[ angles ]\n1 2 3 1 120 30\n1 2 3 2 90 40\n3 2 1 5\n"));
    TEST_PARAMS(MDS_TERM_ANGLE, 0, 120 * deg, 30);
    TEST_PARAMS(MDS_TERM_ANGLE_G96, 0, 90 * deg, 40);
    TEST_PARAMS(MDS_TERM_UREY_BRADLEY, 0, 109 * deg, 50, 0.2, 60);
    TEST_FAILS(with("", "[ angles ]\n1 2 3 6 1 2 3 4 5 6\n"), MDS_E_INPUT, "quartic angle");
    TEST_FAILS(with("[ angletypes ]\nX H OX 1 109 50\n", ""), MDS_E_INPUT, "bonded type \"X\""); // no wildcards in angles
}

static void dihedrals(void)
{
    TEST_OK(with("", "[ dihedrals ]\n1 2 3 4 1 180 2 3\n1 2 3 4 9 90 4 1\n1 2 3 4 2 30 5\n1 2 3 4 3 1 2 3 4 5 6\n"
                     "1 2 3 4 4 180 4.6 2\n1 2 3 4 5 1 2 3 4\n"));
    TEST_PARAMS(MDS_TERM_PROPER, 0, 180 * deg, 2, 3);
    TEST_PARAMS(MDS_TERM_PROPER, 1, 90 * deg, 4, 1);
    TEST_PARAMS(MDS_TERM_IMPROPER, 0, 30 * deg, 5);
    TEST_PARAMS(MDS_TERM_RB, 0, 1, 2, 3, 4, 5, 6);
    TEST_PARAMS(MDS_TERM_PERIODIC_IMPROPER, 0, 180 * deg, 4.6, 2);
    TEST_PARAMS(MDS_TERM_RB, 1, 2 + 0.5 * (1 + 3), 0.5 * (3 * 3 - 1), 4 * 4 - 2, -6, -16, 0);
    TEST_FAILS(with("", "[ dihedrals ]\n1 2 3 4 1 180 2 2.5\n"), MDS_E_INPUT, "multiplicity");
    TEST_FAILS(with("", "[ dihedrals ]\n1 2 3 4 8 1 2\n"), MDS_E_INPUT, "tabulated dihedral");
    TEST_FAILS(with("", "[ dihedrals ]\n1 2 3 4 11 1 2\n"), MDS_E_INPUT, "combined bending-torsion dihedral");
}

static void dihedral_types(void)
{
    // the most exact entry wins wherever it stands, of equals the first
    const char *types = "[ dihedraltypes ]\nX H OX X 9 10 1 1\nX H OX C 9 20 2 2\nC H OX C 9 30 3 3\nC H OX C 9 40 4 1\n"
                        "C OX H C 9 50 5 1\n";

    TEST_FAILS(with(types, ""), MDS_E_INPUT, "a second block of dihedral type 9"); // the last line is the same, backwards
    types = "[ dihedraltypes ]\nX H OX X 9 10 1 1\nX H OX C 9 20 2 2\nC H OX C 9 30 3 3\nC H OX C 9 40 4 1\nH X X C 9 1 1 1\n"
            "C H OX C 9 40 4 1\n";
    TEST_FAILS(with(types, ""), MDS_E_INPUT, "must follow each other");
    types = "[ dihedraltypes ]\nX H OX X 9 10 1 1\nX H OX C 9 20 2 2\nC H OX C 9 30 3 3\nC H OX C 9 40 4 1\nC H OX C 9 40 4 1\n"
            "X X NX X 9 60 6 1\nNX X X NX 9 70 7 1\nX H OX X 9 10 1 1\n";
    TEST_OK(with(types, "[ dihedrals ]\n1 2 3 4 9\n4 3 2 1 9\n5 2 3 1 9\n5 2 3 4 1\n1 2 5 3 9\n"));
    TEST_INT(sys.term[MDS_TERM_PROPER].n, 2 + 2 + 1 + 1 + 1);
    TEST_PARAMS(MDS_TERM_PROPER, 0, 30 * deg, 3, 3); // two lines in a row; an equal third one is no third term
    TEST_PARAMS(MDS_TERM_PROPER, 1, 40 * deg, 4, 1);
    TEST_PARAMS(MDS_TERM_PROPER, 2, 30 * deg, 3, 3); // backwards
    TEST_PARAMS(MDS_TERM_PROPER, 4, 20 * deg, 2, 2); // N H O C: three types match
    TEST_PARAMS(MDS_TERM_PROPER, 6, 60 * deg, 6, 1); // C H N O: X X NX X
    // two columns: the inner atoms of a proper, the outer ones of an improper
    TEST_OK(with("[ dihedraltypes ]\nH OX 1 5 6 2\nC NX 2 7 8\nC X X NX 4 180 3 2\n",
                 "[ dihedrals ]\n1 2 3 4 1\n1 2 3 5 2\n1 2 3 5 4\n"));
    TEST_PARAMS(MDS_TERM_PROPER, 0, 5 * deg, 6, 2);
    TEST_PARAMS(MDS_TERM_IMPROPER, 0, 7 * deg, 8);
    TEST_PARAMS(MDS_TERM_PERIODIC_IMPROPER, 0, 180 * deg, 3, 2);
    // type 1: the later line replaces the earlier
    TEST_OK(with("[ dihedraltypes ]\nC H OX C 1 5 6 2\nC H OX C 1 6 7 3\n", "[ dihedrals ]\n1 2 3 4\n"));
    TEST_INT(sys.term[MDS_TERM_PROPER].n, 1);
    TEST_PARAMS(MDS_TERM_PROPER, 0, 6 * deg, 7, 3);
    TEST_FAILS(with("[ dihedraltypes ]\nC H OX C C 1 5 6 2\n", ""), MDS_E_INPUT, "needs 2 or 4 types first");
    TEST_FAILS(with("", "[ dihedrals ]\n1 2 3 4 9\n"), MDS_E_INPUT,
               "no [ dihedraltypes ] of function 9 for this proper dihedral between types C (CA), H (HA), OX (OA), C (CB)");
}

static void pairs(void)
{
    const double s = 0.5 * (0.3 + 0.1), c6 = 4 * 0.5 * sqrt(0.4 * 0.2) * pow(s, 6);

    TEST_OK(with("[ pairtypes ]\nO C 1 0.2 0.7\n", "[ pairs ]\n1 2\n1 3 1\n1 2 1 0.1 0.2\n1 3 2 0.7 0.3 -0.4 0.1 0.2\n"));
    TEST_PARAMS(MDS_TERM_PAIR14, 0, c6, c6 * pow(s, 6), 0.8 * 0.1 * 0.25); // generated: fudgeLJ on epsilon
    TEST_PARAMS(MDS_TERM_PAIR14, 1, 4 * 0.7 * pow(0.2, 6), 4 * 0.7 * pow(0.2, 12), 0.8 * 0.1 * -0.5);
    TEST_PARAMS(MDS_TERM_PAIR14, 2, 4 * 0.2 * pow(0.1, 6), 4 * 0.2 * pow(0.1, 12), 0.8 * 0.1 * 0.25);
    TEST_PARAMS(MDS_TERM_PAIR14, 3, 4 * 0.2 * pow(0.1, 6), 4 * 0.2 * pow(0.1, 12), 0.7 * 0.3 * -0.4);
    // a line of [ nonbond_params ] is also what generated pairs come from
    TEST_OK(with("[ nonbond_params ]\nC H 1 0.2 1.5\n", "[ pairs ]\n1 2\n"));
    TEST_PARAMS(MDS_TERM_PAIR14, 0, 4 * 0.75 * pow(0.2, 6), 4 * 0.75 * pow(0.2, 12), 0.8 * 0.1 * 0.25);
    // rule 1: both parameters scaled; no gen-pairs: only from the list
    TEST_OK(top_from("[ defaults ]\n1 1 yes 0.5 1\n[ atomtypes ]\nA 10 1 A 4e-3 9e-6\n[ moleculetype ]\nM 1\n[ atoms ]\n"
                     "1 A 1 R A 1\n2 A 1 R B 1\n[ pairs ]\n1 2\n" END, &sys));
    TEST_PARAMS(MDS_TERM_PAIR14, 0, 2e-3, 4.5e-6, 1);
    TEST_FAILS(top_from("[ defaults ]\n1 1 no 0.5 1\n[ atomtypes ]\nA 10 1 A 4e-3 9e-6\n[ moleculetype ]\nM 1\n[ atoms ]\n"
                        "1 A 1 R A 1\n2 A 1 R B 1\n[ pairs ]\n1 2\n" END, &sys),
               MDS_E_INPUT, "gen-pairs is no, and no [ pairtypes ] for the 1-4 pair of types A and A");
    TEST_FAILS(with("", "[ pairs ]\n1 2 2\n"), MDS_E_INPUT, "needs: fudgeQQ qi qj V W");
    TEST_FAILS(with("", "[ pairs ]\n1 2 2 0.9\n"), MDS_E_INPUT, "1 parameters where a 1-4 pair of type 2 has 5");
    TEST_FAILS(with("", "[ pairs ]\n1 2 3\n"), MDS_E_INPUT, "[ pairs ] has no function type 3");
    TEST_FAILS(with("", "[ pairs_nb ]\n1 2 1 0 0 0 0\n"), MDS_E_INPUT, "[ pairs_nb ]: mdsim does not compute");
    TEST_INT(sys.term[MDS_TERM_PAIR14].n, 0);
}

static void cmaps(void)
{
    mds_text types = {0};
    int      k;

    mds_text_add(&types, "[ cmaptypes ]\nC H OX C NX 1 4 4\\\n");
    for (k = 0; k < 16; k++) mds_text_add(&types, "%d.5%s", k, k % 5 == 4 ? "\\\n" : " ");
    TEST_OK(with(types.s, "[ cmap ]\n1 2 3 4 5 1\n"));
    TEST_INT(sys.n_maps, 1);
    TEST_INT(sys.map_size, 4);
    TEST_NEAR(sys.map[6], 6.5, 0); // rows as they stand: the first torsion is the slow index
    TEST_INT(sys.term[MDS_TERM_CMAP].n, 1);
    TEST_FAILS(with(types.s, "[ cmap ]\n5 4 3 2 1 1\n"), MDS_E_INPUT, "no [ cmaptypes ] for the atoms 5 4 3 2 1");
    mds_text_add(&types, "7\n");
    TEST_FAILS(with(types.s, ""), MDS_E_INPUT, "the CMAP grid has 17 values where 4 x 4 = 16");
    TEST_FAILS(with("[ cmaptypes ]\nC H OX C NX 1 4 5 1\n", ""), MDS_E_INPUT, "must be square");
    mds_text_free(&types);
}

static bool excluded(int32_t i, int32_t j)
{
    int32_t k;

    for (k = sys.excl_start[i]; k < sys.excl_start[i + 1]; k++)
        if (sys.excl[k] == j) return true;
    return false;
}

/// A chain of five whose four links are of the kind given: which pairs does nrexcl 3 exclude?
static void exclusions(void)
{
    static const struct {
        const char *sections;
        bool        links;
    } cases[] = {
        {"[ bonds ]\n1 2 1 1 1\n2 3 1 1 1\n3 4 1 1 1\n4 5 1 1 1\n", true},
        {"[ bonds ]\n1 2 2 1 1\n2 3 3 1 1 1\n3 4 5\n4 5 5\n", true},
        {"[ constraints ]\n1 2 1 0.1\n2 3 1 0.1\n3 4 1 0.1\n4 5 1 0.1\n", true},
        {"[ constraints ]\n1 2 2 0.1\n2 3 2 0.1\n3 4 2 0.1\n4 5 2 0.1\n", false},
        {"[ bonds ]\n1 2 6 1 1\n2 3 6 1 1\n3 4 6 1 1\n4 5 6 1 1\n", false},
    };
    size_t c;
    int    i, j;

    for (c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        TEST_OK(with("", cases[c].sections));
        TEST_OK(mds_system_freeze(&sys));
        for (i = 0; i < 5 && sys.frozen; i++)
            for (j = 0; j < 5; j++) TEST_TRUE(i == j || excluded(i, j) == (cases[c].links && abs(i - j) <= 3));
    }
    TEST_OK(with("", "[ exclusions ]\n1 3 5\n5 1\n"));
    TEST_OK(mds_system_freeze(&sys));
    TEST_TRUE(excluded(0, 2) && excluded(2, 0) && excluded(4, 0) && !excluded(2, 4));
    TEST_INT(sys.excl_start[5], 4);
    TEST_FAILS(with("", "[ exclusions ]\n1 9\n"), MDS_E_INPUT, "[ exclusions ] names atom 9");
    // two copies do not see each other's exclusions
    TEST_OK(top_from(DEFAULTS TYPES MOLECULE "[ bonds ]\n1 2 5\n[ system ]\nx\n[ molecules ]\nM 1\nm 1\nM 1\n", &sys));
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.n_atoms, 15);
    TEST_INT(sys.n_molecules, 3);
    TEST_INT(sys.molecule_start[2], 10);
    TEST_TRUE(excluded(10, 11) && !excluded(0, 6) && !excluded(0, 11));
    TEST_INT(sys.excl_start[15], 6);
}

#define WATER                                                                                                \
    DEFAULTS TYPES "[ moleculetype ]\nSOL 2\n[ atoms ]\n1 O 1 SOL OW 1\n2 H 1 SOL HW1 1\n3 H 1 SOL HW2 1\n"

#define END_OF_WATER "[ system ]\nx\n[ molecules ]\nSOL 1\n"

static void settles_and_constraints(void)
{
    int warnings = mds_log_n_warnings();

    TEST_OK(top_from(WATER "[ settles ]\n1 1 0.1 0.16\n" END_OF_WATER, &sys));
    TEST_OK(mds_system_freeze(&sys));
    TEST_INT(sys.excl_start[3], 0); // no exclusions from settles, as GROMACS; but a warning
    TEST_INT(mds_log_n_warnings(), warnings + 1);
    TEST_OK(top_from(WATER "[ settles ]\n1 1 0.1 0.16\n[ exclusions ]\n1 2 3\n2 3\n[ system ]\nx\n[ molecules ]\nSOL 2\n", &sys));
    TEST_INT(sys.constraint.n, 6);
    TEST_NEAR(sys.constraint.length[2], 0.16, 0);
    TEST_INT(sys.constraint.atom[2 * 5], 4);
    TEST_INT(sys.constraint.atom[2 * 5 + 1], 5);
    TEST_INT(sys.name.residue_number[1], 2); // waters are numbered through
    TEST_OK(mds_system_freeze(&sys));
    TEST_TRUE(excluded(0, 1) && excluded(1, 2) && excluded(3, 5) && !excluded(2, 3));
    TEST_INT(mds_log_n_warnings(), warnings + 1);
    TEST_INT(sys.water.n, 2);
    TEST_FAILS(top_from(WATER "[ settles ]\n1 1 0.1 0.21\n" END, &sys), MDS_E_INPUT, "do not make a triangle");
    TEST_FAILS(top_from(WATER "[ settles ]\n2 1 0.1 0.16\n" END, &sys), MDS_E_INPUT, "two hydrogens after it do not exist");
    TEST_FAILS(top_from(WATER "[ settles ]\n1 2 0.1 0.16\n" END, &sys), MDS_E_INPUT, "[ settles ] has no function type 2");
    TEST_OK(with("[ constrainttypes ]\nC H 1 0.15\n", "[ constraints ]\n1 2\n3 4 2 0.25\n"));
    TEST_NEAR(sys.constraint.length[0], 0.15, 0);
    TEST_NEAR(sys.constraint.length[1], 0.25, 0);
    TEST_FAILS(with("", "[ constraints ]\n1 2 1 0\n"), MDS_E_INPUT, "a constraint of length 0");
    TEST_FAILS(with("", "[ constraints ]\n1 2 1\n"), MDS_E_INPUT, "no [ constrainttypes ] of function 1");
}

static mds_status site(const char *section)
{
    mds_text   text = {0};
    mds_status status;

    mds_text_add(&text, "%s%s%s6 V 3 XYZ MW 2 0 0\n%s\n%s", DEFAULTS, TYPES, MOLECULE, section, END);
    status = top_from(text.s, &sys);
    mds_text_free(&text);
    return status;
}

static void virtual_sites(void)
{
    static const struct {
        const char    *section;
        mds_vsite_kind kind;
        int            n;
        double         weight[3], param[3];
    } cases[] = {
        {"[ virtual_sites1 ]\n6 1 1\n", MDS_VSITE_LINEAR, 1, {1}, {0}},
        {"[ virtual_sites2 ]\n6 1 2 1 0.25\n", MDS_VSITE_LINEAR, 2, {0.75, 0.25}, {0}},
        {"[ virtual_sites2 ]\n6 1 2 2 0.05\n", MDS_VSITE_TWO_FD, 2, {0}, {0.05}},
        {"[ virtual_sites3 ]\n6 1 2 3 1 0.25 0.5\n", MDS_VSITE_LINEAR, 3, {0.25, 0.25, 0.5}, {0}},
        {"[ dummies3 ]\n6 1 2 3 1 0.25 0.5\n", MDS_VSITE_LINEAR, 3, {0.25, 0.25, 0.5}, {0}},
        {"[ virtual_sites3 ]\n6 1 2 3 2 0.5 -0.1\n", MDS_VSITE_THREE_FD, 3, {0}, {0.5, -0.1}},
        {"[ virtual_sites3 ]\n6 1 2 3 3 120 0.1\n", MDS_VSITE_THREE_FAD, 3, {0}, {120 * MDS_PI / 180, 0.1}},
        {"[ virtual_sites3 ]\n6 1 2 3 4 -0.3 -0.2 6.5\n", MDS_VSITE_THREE_OUT, 3, {0}, {-0.3, -0.2, 6.5}},
        {"[ virtual_sites4 ]\n6 1 2 3 4 2 1.2 1.3 -0.1\n", MDS_VSITE_FOUR_FDN, 4, {0}, {1.2, 1.3, -0.1}},
        {"[ virtual_sitesn ]\n6 1 1 2 3 4\n", MDS_VSITE_LINEAR, 4, {0.25, 0.25, 0.25}, {0}},
        {"[ virtual_sitesn ]\n6 2 4 5\n", MDS_VSITE_LINEAR, 2, {12. / 26, 14. / 26}, {0}},
        {"[ virtual_sitesn ]\n6 3 1 0.5 2 1.5\n", MDS_VSITE_LINEAR, 2, {0.25, 0.75}, {0}},
    };
    size_t c;
    int    k;

    for (c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        TEST_OK(site(cases[c].section));
        TEST_INT(sys.vsite.n, 1);
        if (sys.vsite.n != 1) continue;
        TEST_INT(sys.vsite.kind[0], cases[c].kind);
        TEST_INT(sys.vsite.site[0], 5);
        TEST_INT(sys.vsite.start[1], cases[c].n);
        for (k = 0; k < cases[c].n && k < 3; k++) TEST_NEAR(sys.vsite.weight[k], cases[c].weight[k], 1e-16);
        for (k = 0; k < 3; k++) TEST_NEAR(sys.vsite.param[0][k], cases[c].param[k], 1e-16);
        TEST_OK(mds_system_freeze(&sys));
    }
    TEST_FAILS(site(""), MDS_E_INPUT, "atom 6 (XYZ MW) has mass 0 and is not a virtual site");
    TEST_FAILS(site("[ virtual_sites2 ]\n5 1 2 1 0.5\n6 1 2 1 0.5\n"), MDS_E_INPUT, "virtual site 5 (XYZ N) has mass 14");
    TEST_FAILS(site("[ virtual_sites2 ]\n6 1 2 1 0.5\n6 1 3 1 0.5\n"), MDS_E_INPUT, "atom 6 is a virtual site already");
    TEST_FAILS(site("[ virtual_sites3 ]\n6 1 2 3 1\n"), MDS_E_INPUT, "does not derive them");
    TEST_FAILS(site("[ virtual_sites4 ]\n6 1 2 3 4 1 1 1 1\n"), MDS_E_INPUT, "4FD");
    TEST_FAILS(site("[ virtual_sites3 ]\n6 1 2 3 7 1 1 1\n"), MDS_E_INPUT, "[ virtual_sites3 ] has no function type 7");
    TEST_FAILS(site("[ virtual_sitesn ]\n6 3 1 0.5 2\n"), MDS_E_INPUT, "has no weight");
    TEST_FAILS(site("[ virtual_sitesn ]\n6 1 6\n"), MDS_E_INPUT, "is built from itself");
    TEST_FAILS(site("[ virtual_sitesn ]\n6 3 1 -1\n"), MDS_E_INPUT, "negative weight");
}

static void restraints(void)
{
    const double reference[5][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {0}, {0}};

    TEST_OK(with("", "[ position_restraints ]\n2 1 100 200 300\n3 1 1 2 3 1 2 3\n"));
    TEST_OK(mds_set_restraint_reference(&sys, reference));
    TEST_PARAMS(MDS_TERM_RESTRAINT, 0, 4, 5, 6, 100, 200, 300);
    TEST_PARAMS(MDS_TERM_RESTRAINT, 1, 7, 8, 9, 1, 2, 3);
    TEST_FAILS(with("", "[ position_restraints ]\n2 2 1 1 1\n"), MDS_E_INPUT, "flat-bottomed");
    TEST_FAILS(with("", "[ position_restraints ]\n2 1\n"), MDS_E_INPUT, "needs three force constants");
}

static void refused_physics(void)
{
    static const char *const sections[] = {"polarization", "water_polarization", "thole_polarization", "distance_restraints",
                                           "orientation_restraints", "angle_restraints", "angle_restraints_z",
                                           "dihedral_restraints", "pairs_nb"};
    char   text[200], want[200];
    size_t k;

    for (k = 0; k < sizeof sections / sizeof sections[0]; k++) {
        snprintf(text, sizeof text, "[ %s ]\n", sections[k]);
        TEST_OK(with("", text)); // nothing in it, nothing to compute
        snprintf(text, sizeof text, "[ %s ]\n1 2 3\n", sections[k]);
        snprintf(want, sizeof want, "topol.top:19: [ %s ]: mdsim does not compute", sections[k]);
        TEST_FAILS(with("", text), MDS_E_INPUT, want);
    }
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE END "[ intermolecular_interactions ]\n[ bonds ]\n1 6 6 0.1 2\n", &sys), MDS_E_INPUT,
               "[ bonds ] must come before the first [ system ]");
    TEST_FAILS(top_from("[ defaults ]\n2 1\n", &sys), MDS_E_INPUT, "Buckingham");
    TEST_FAILS(top_from("[ defaults ]\n1 1 no 1 1 9\n", &sys), MDS_E_INPUT, "repulsion power of 9");
    TEST_FAILS(top_from(DEFAULTS "[ atomtypes ]\nS 1 0 S 0.1 0.1\n[ moleculetype ]\nM 1\n[ atoms ]\n1 S 1 R S 1\n", &sys), MDS_E_INPUT,
               "is a shell");
    TEST_FAILS(top_from(DEFAULTS TYPES "[ moleculetype ]\nM 1\n[ atoms ]\n1 C 1 R C 1 0.1 12 H 0.2 12\n", &sys), MDS_E_INPUT,
               "topol.top:12: atom 1 has a B state (free-energy perturbation)");
    TEST_OK(top_from(DEFAULTS TYPES "[ moleculetype ]\nM 1\n[ atoms ]\n1 C 1 R C 1 0.1 12 C 0.1 12\n" END, &sys));
    TEST_OK(with("[ implicit_genborn_params ]\nC 1 2 3 4 5\n", "")); // a table that nothing uses
}

static void messages(void)
{
    TEST_FAILS(top_from("1 2 3\n", &sys), MDS_E_INPUT, "topol.top:1: a line before the first [ directive ]");
    TEST_FAILS(top_from("[ defaults\n", &sys), MDS_E_INPUT, "a directive must look like [ name ]");
    TEST_FAILS(top_from("[ atomtype ]\n", &sys), MDS_E_INPUT, "does not know the directive [ atomtype ]; the nearest is [ atomtypes ]");
    TEST_FAILS(top_from("[  ]\n", &sys), MDS_E_INPUT, "a directive without name");
    TEST_FAILS(top_from("[ atomtypes ]\nC 12 0 A 1 1\n", &sys), MDS_E_INPUT, "[ defaults ] must come before [ atomtypes ]");
    TEST_FAILS(top_from("[ defaults ]\n1 4\n", &sys), MDS_E_INPUT, "combination rule 4");
    TEST_FAILS(top_from("[ defaults ]\n1 2 maybe\n", &sys), MDS_E_INPUT, "gen-pairs must be yes or no");
    TEST_FAILS(top_from(DEFAULTS "1 2\n", &sys), MDS_E_INPUT, "topol.top:3: a second line of [ defaults ]");
    TEST_FAILS(top_from(DEFAULTS "[ atomtypes ]\nC 6 12 0 A 0.3\n", &sys), MDS_E_INPUT, "6 columns where 7");
    TEST_FAILS(top_from(DEFAULTS "[ atomtypes ]\nC CT 6 12 0 A 0.3 0.1 0.2\n", &sys), MDS_E_INPUT, "9 columns where 8");
    TEST_FAILS(top_from(DEFAULTS "[ bonds ]\n", &sys), MDS_E_INPUT, "[ bonds ] stands outside a [ moleculetype ]");
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE "[ bondtypes ]\n", &sys), MDS_E_INPUT,
               "[ bondtypes ] must come before the first [ moleculetype ]");
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE "[ moleculetype ]\nM 3\n", &sys), MDS_E_INPUT, "\"M\" is defined twice");
    TEST_FAILS(top_from(DEFAULTS TYPES "[ moleculetype ]\nM -1\n", &sys), MDS_E_INPUT, "nrexcl is -1");
    TEST_FAILS(top_from(DEFAULTS TYPES "[ moleculetype ]\nM 1\n[ atoms ]\n2 C 1 R C 1\n", &sys), MDS_E_INPUT, "atom 2 where 1 is expected");
    TEST_FAILS(top_from(DEFAULTS TYPES "[ moleculetype ]\nM 1\n[ atoms ]\n1 Q 1 R C 1\n", &sys), MDS_E_INPUT, "atom type \"Q\"");
    TEST_FAILS(top_from(DEFAULTS TYPES "[ moleculetype ]\nM 1\n[ atoms ]\n1 C R R C 1\n", &sys), MDS_E_INPUT, "\"R\" is not a residue number");
    TEST_FAILS(top_from(DEFAULTS TYPES "[ moleculetype ]\nM 1\n[ atoms ]\n1 C 1 R C 1 0 nan\n", &sys), MDS_E_INPUT, "mass: \"nan\" is not a number");
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE, &sys), MDS_E_INPUT, "topol.top: the topology has no [ molecules ]");
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE "[ system ]\nx\n[ molecules ]\nQ 1\n", &sys), MDS_E_INPUT, "no [ moleculetype ] \"Q\"");
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE "[ system ]\nx\n[ molecules ]\nM -1\n", &sys), MDS_E_INPUT, "-1 molecules");
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE "[ system ]\nx\n[ molecules ]\nM 0\n", &sys), MDS_E_INPUT, "gives no atoms");
    TEST_FAILS(top_from(DEFAULTS TYPES MOLECULE "[ system ]\nx\n[ molecules ]\nM 2000000000\n", &sys), MDS_E_UNSUPPORTED, "asks for more than");
    // directives are compared without case, '-' and '_'
    TEST_OK(top_from(DEFAULTS TYPES "[ molecule_type ]\nM 1\n[Atoms]\n1 C 1 R C 1\n" END, &sys));
}

int main(void)
{
    work_begin();
    mds_log_set_level(MDS_LOG_ERROR);
    atoms();
    lennard_jones();
    bonds();
    angles();
    dihedrals();
    dihedral_types();
    pairs();
    cmaps();
    exclusions();
    settles_and_constraints();
    virtual_sites();
    restraints();
    refused_physics();
    messages();
    mds_system_free(&sys);
    work_end();
    return test_end();
}
