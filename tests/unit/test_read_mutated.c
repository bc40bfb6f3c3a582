// SPDX-License-Identifier: Apache-2.0
// Damaged files never crash the readers: small valid files are changed at random places (fixed seed) and read. Each must
// load or be refused with a message; the sanitizer preset makes every stray access an error. argv[1]: number of rounds.
#include "base/rng.h"
#include "read_text.h"

static uint64_t counter;

static uint32_t draw(uint32_t below)
{
    const uint32_t at[4] = {(uint32_t)counter++, 0, 0, 0};
    uint32_t       out[4];

    mds_philox(at, 20240229, out);
    return out[0] % below;
}

static const char topology[] =
    "#define KB 1000.0\n#ifdef FLEX\n#error no\n#else\n#define ANGLE 109.5 300\n#endif\n"
    "[ defaults ]\n1 2 yes 0.5 0.8\n[ atomtypes ]\nC 6 12.011 0.1 A 0.3 0.4\nH 1 1.008 0.2 A 0.1 0.2\nO OX 8 15.999 -0.3 A 0.25 0.5\n"
    "V V 0 0.0 0.0 D 0 0\n[ nonbond_params ]\nC O 1 0.3 0.2\n[ pairtypes ]\nC H 1 0.2 0.1\n[ bondtypes ]\nC H 1 0.1 KB\n"
    "[ constrainttypes ]\nC OX 1 0.13\n[ angletypes ]\nH C OX 1 ANGLE\n[ dihedraltypes ]\nX C OX X 9 180 1 2\nX C OX X 9 0 1 3\nH C OX H 9 1 2 3\n"
    "[ cmaptypes ]\nH C OX H C 1 4 4\\\n1 2 3 4 5 6 7 8\\\n1 2 3 4 5 6 7 8\n"
    "[ moleculetype ]\nM 3\n[ atoms ]\n1 H 1 A H1 1 0 1\n2 C 1 A C1 1\n3 O 1 A O1 1\n4 H 2 B H2 1\n5 C 2 B C2 1\n6 V 2 B V 1\n"
    "[ bonds ]\n1 2\n2 3 1 0.1 KB\n3 4 2 0.1 5\n4 5 3 0.1 5 2\n[ pairs ]\n1 4\n1 5 2 0.5 1 1 0.1 0.1\n[ angles ]\n1 2 3\n2 3 4 5 109 5 0.2 3\n"
    "[ dihedrals ]\n1 2 3 4 9\n1 2 3 4 3 1 2 3 4 5 6\n1 2 3 4 5 1 2 3 4\n2 3 4 5 2 0 5\n[ cmap ]\n1 2 3 4 5 1\n[ constraints ]\n2 3 1\n"
    "[ virtual_sites3 ]\n6 1 2 3 1 0.1 0.2\n[ exclusions ]\n6 1 2 3 4 5\n[ position_restraints ]\n1 1 1 2 3\n"
    "[ moleculetype ]\nSOL 2\n[ atoms ]\n1 O 1 SOL OW 1\n2 H 1 SOL HW1 1\n3 H 1 SOL HW2 1\n[ settles ]\n1 1 0.1 0.16\n"
    "[ system ]\nx\n[ molecules ]\nM 2\nSOL 3\nM 1\n";

static const char gro[] = "t\n2\n    1SOL     OW    1   0.100   1.200   0.999  0.1000  0.2000  0.3000\n"
                          "    1SOL    HW1    2   1.000   2.000   3.000 -0.1000 -0.2000 -0.3000\n"
                          "   3.00000   3.00000   3.00000   0.00000   0.00000   0.00000   0.00000   1.00000   1.00000\n";

static const char pdb[] = "CRYST1   30.000   40.000   50.000  90.00  90.00  90.00 P 1           1\nMODEL        1\n"
                          "ATOM      1  OW ASOL A   1       1.000  -2.500 100.125  1.00  0.00           O\n"
                          "HETATM    2  HW1 SOL A   1    -999.999-999.9999999.999  1.00  0.00           H\nTER\nENDMDL\n";

/// `text` with one to four changes, in place; the buffer has room for some growth.
static void mutate(char *text, size_t room)
{
    static const char *const bits[] = {"-1", "1e400", "nan", "99999999999", "[ atoms ]\n", "[ bonds ]\n", "\n", "\\\n", ";", "#else\n",
                                       "#define A A\n", "X", ".", " ", "0", "\r", "\x80", "[", "]", "*", "1 2 3 4 5 6 7 8 9\n"};
    int changes = 1 + (int)draw(4);

    while (changes--) {
        const size_t n = strlen(text), at = n ? draw((uint32_t)n) : 0, some = 1 + draw(40);
        const char  *bit = bits[draw(sizeof bits / sizeof bits[0])];

        switch (draw(5)) {
        case 0: // a byte
            if (n) text[at] = (char)(1 + draw(255));
            break;
        case 1: // a hole
            memmove(text + at, text + (at + some < n ? at + some : n), n - (at + some < n ? at + some : n) + 1);
            break;
        case 2: // an insertion
            if (n + strlen(bit) + 1 >= room) break;
            memmove(text + at + strlen(bit), text + at, n - at + 1);
            memcpy(text + at, bit, strlen(bit));
            break;
        case 3: // a repeat
            if (n + some + 1 >= room || at + some >= n) break;
            memmove(text + at + some, text + at, n - at + 1);
            break;
        default: // an early end, rarely
            if (!draw(4)) text[at] = '\0';
        }
    }
}

static void judge(mds_status status, const char *what, const char *text, int *refused)
{
    test_checks++;
    if (status == MDS_OK) return;
    ++*refused;
    if (!mds_error_text()[0] || status == MDS_E_INTERNAL) {
        test_failures++;
        fprintf(stderr, "%s: status %d, message \"%s\" for\n%s\n", what, (int)status, mds_error_text(), text);
    }
}

int main(int argc, char **argv)
{
    const int  rounds = argc > 1 ? atoi(argv[1]) : 1000;
    char       text[8192];
    mds_system system = {0}, water = {0};
    mds_state  state = {0};
    int        k, refused = 0;
    int32_t    residue;

    work_begin();
    mds_log_set_level(MDS_LOG_ERROR);
    TEST_OK(top_from(topology, &system)); // undamaged, it loads
    TEST_OK(mds_system_freeze(&system));
    TEST_OK(mds_system_set_types(&water, 1, false));
    TEST_OK(mds_system_add_residue(&water, "SOL", 1, &residue));
    TEST_OK(mds_system_add_atom(&water, "OW", residue, 0, 0, 16, 8, NULL));
    TEST_OK(mds_system_add_atom(&water, "HW1", residue, 0, 0, 1, 1, NULL));
    TEST_OK(mds_state_init(&state, 2));
    TEST_OK(mds_read_gro(put("a.gro", gro), &water, &state));
    TEST_OK(mds_read_pdb(put("a.pdb", pdb), &water, &state));
    for (k = 0; k < rounds; k++) {
        mds_status status;

        strcpy(text, topology);
        mutate(text, sizeof text);
        mds_error_clear();
        status = top_from(text, &system);
        if (status == MDS_OK) status = mds_system_freeze(&system);
        judge(status, "topology", text, &refused);
        strcpy(text, gro);
        mutate(text, sizeof text);
        mds_error_clear();
        status = mds_read_gro(put("a.gro", text), &water, &state);
        if (status == MDS_OK && !mds_box_is_none(&state.box)) status = mds_box_reduce(&state.box, state.x, state.v, 2);
        judge(status, "gro", text, &refused);
        strcpy(text, pdb);
        mutate(text, sizeof text);
        mds_error_clear();
        judge(mds_read_pdb(put("a.pdb", text), &water, &state), "pdb", text, &refused);
    }
    // enough of the changes must do harm, and enough must not, for this to be a test
    TEST_TRUE(refused > rounds / 2 && refused < 3 * rounds);
    printf("%d of %d damaged files refused\n", refused, 3 * rounds);
    mds_system_free(&system);
    mds_system_free(&water);
    mds_state_free(&state);
    work_end();
    return test_end();
}
