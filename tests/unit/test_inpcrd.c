// SPDX-License-Identifier: Apache-2.0
// AMBER coordinates as text: columns, layouts by line count, the two-atom doubt, box shapes, bad numbers by atom and line.
#include "read/read.h"
#include "unit/prmtop_text.h"

#include "base/rng.h"

/// n atoms A1, A2, ... in residues ALA of three atoms.
static void make_system(mds_system *s, int n)
{
    int32_t residue = -1;

    memset(s, 0, sizeof *s);
    for (int i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof name, "A%d", i + 1);
        if (i % 3 == 0) (void)mds_system_add_residue(s, "ALA", i / 3 + 1, &residue);
        (void)mds_system_add_atom(s, name, residue, 0, 0, 12, 6, NULL);
    }
}

static mds_status read_string(const char *text, int n_atoms, int extra, mds_state *state)
{
    mds_system s;
    const char *path = prm_path("system.inpcrd");
    mds_status status;

    make_system(&s, n_atoms);
    (void)mds_state_init(state, n_atoms);
    prm_put(path, text, strlen(text));
    status = mds_read_inpcrd(path, &s, extra, state);
    mds_system_free(&s);
    return status;
}

// 1e-12: seven decimals are exact in double to far below that
static void numbers_may_touch(void)
{
    mds_state s = {0};

    TEST_OK(read_string("title\n    3  0.1000000E+02\n-100.1234567-200.1234567-300.1234567   4.0000000   5.5000000   6.2500000\n"
                        "   7.0000000-888.8888888   9.0000000\n",
                        3, 0, &s));
    TEST_NEAR(s.x[0][0], -10.01234567, 1e-12);
    TEST_NEAR(s.x[0][1], -20.01234567, 1e-12);
    TEST_NEAR(s.x[2][1], -88.88888888, 1e-12);
    TEST_NEAR(s.time, 10, 1e-12);
    TEST_TRUE(!s.has_velocities && mds_box_is_none(&s.box));
    mds_state_free(&s);
}

static const char x3[] = "   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000\n"
                         "   7.0000000   8.0000000   9.0000000\n";
static const char v3[] = "   0.1000000   0.2000000   0.3000000   0.4000000   0.5000000   0.6000000\n"
                         "   0.7000000   0.8000000   0.9000000\n";
static const char octahedron[] = " 104.1263400 104.1263400 104.1263400 109.4712190 109.4712190 109.4712190\n";

static void line_count_tells_the_layout(void)
{
    int layout;

    for (layout = 0; layout < 4; layout++) {
        char      text[1000];
        mds_state s = {0};

        snprintf(text, sizeof text, "title\n3\n%s%s%s\n\n", x3, layout & 1 ? v3 : "", layout & 2 ? octahedron : "");
        TEST_OK(read_string(text, 3, 0, &s));
        TEST_NEAR(s.x[2][2], 0.9, 1e-12);
        TEST_INT(s.has_velocities, layout & 1);
        if (layout & 1) TEST_NEAR(s.v[2][2], 0.09 * 20.455, 1e-12);
        TEST_INT(!mds_box_is_none(&s.box), layout >> 1);
        if (layout & 2) {
            // the truncated octahedron of length 10.412634 nm; 2e-6: the angle has seven decimals
            TEST_NEAR(s.box.a[0][0], 10.412634, 1e-9);
            TEST_NEAR(s.box.a[1][0], -3.470878, 2e-6);
            TEST_NEAR(s.box.a[1][1], 9.817126, 2e-6);
            TEST_NEAR(s.box.a[2][0], -3.470878, 2e-6);
            TEST_NEAR(s.box.a[2][1], -4.908562, 2e-6);
            TEST_NEAR(s.box.a[2][2], 8.501880, 2e-6);
            TEST_NEAR(mds_box_volume(&s.box), 869.080, 1e-3);
        }
        mds_state_free(&s);
    }
}

static void box_of_lengths_alone_is_rectangular(void)
{
    char      text[1000];
    mds_state s = {0};

    snprintf(text, sizeof text, "title\n3\n%s  10.0000000  20.0000000  30.0000000\n", x3);
    TEST_OK(read_string(text, 3, 0, &s));
    TEST_NEAR(s.box.a[2][2], 3, 1e-12);
    TEST_NEAR(s.box.a[2][0], 0, 1e-12);
    mds_state_free(&s);
}

static void two_atoms_need_the_key(void)
{
    static const char text[] = "title\n 2\n   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000\n"
                               "  30.0000000  30.0000000  30.0000000  90.0000000  90.0000000  90.0000000\n";
    static const char one_box[] = "title\n 1\n   1.0000000   2.0000000   3.0000000\n"
                                  "  30.0000000  30.0000000  30.0000000  90.0000000  90.0000000  90.0000000\n";
    static const char one_doubt[] = "title\n 1\n   1.0000000   2.0000000   3.0000000\n   0.3000000   0.3000000   0.3000000\n";
    char      both[500];
    mds_state s = {0};

    TEST_FAILS(read_string(text, 2, 0, &s), MDS_E_INPUT, "system.inpcrd_extra");
    mds_state_free(&s);
    TEST_OK(read_string(text, 2, 1, &s));
    TEST_TRUE(s.has_velocities && mds_box_is_none(&s.box));
    TEST_NEAR(s.v[1][0], 9 * 20.455, 1e-9);
    mds_state_free(&s);
    TEST_OK(read_string(text, 2, 2, &s));
    TEST_TRUE(!s.has_velocities);
    TEST_NEAR(s.box.a[0][0], 3, 1e-12);
    mds_state_free(&s);
    TEST_OK(read_string(one_box, 1, 0, &s)); // six numbers are no velocity of one atom
    TEST_TRUE(!s.has_velocities && !mds_box_is_none(&s.box));
    mds_state_free(&s);
    TEST_FAILS(read_string(one_doubt, 1, 0, &s), MDS_E_INPUT, "system.inpcrd_extra");
    mds_state_free(&s);
    snprintf(both, sizeof both, "%s%s", text, "  30.0000000  30.0000000  30.0000000  90.0000000  90.0000000  90.0000000\n");
    TEST_OK(read_string(both, 2, 0, &s)); // three lines leave no doubt
    TEST_TRUE(s.has_velocities && !mds_box_is_none(&s.box));
    mds_state_free(&s);
}

static void bad_numbers_are_named_by_atom_residue_and_line(void)
{
    static const struct {
        const char *field, *message;
    } bad[] = {
        {"         nan", "system.inpcrd:4: position y of ALA 2 A4 (atom 4) is nan"},
        {"         inf", "position y of ALA 2 A4 (atom 4) is inf"},
        {"100000000.0 ", "position y of ALA 2 A4 (atom 4) is 1e+07"},
        {"************", "system.inpcrd:4: number 5 of this line overflowed"},
        {"   1.00x0000", "is not a number"},
        {" 1.000 2.000", "is not a number"},
        {"            ", "number 5 of this line is missing"},
        {"          12", "no decimal point"},
        {"      0x1.0 ", "is not a number"},
    };
    size_t k;

    for (k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        char      text[1000];
        mds_state s = {0};

        // line 4 holds atoms 3 and 4: its fifth number is y of atom 4; c23's 1e8 A is out of every sane file
        snprintf(text, sizeof text, "title\n6\n%s   1.0000000   1.0000000   1.0000000   1.0000000%s   1.0000000\n%s",
                 "   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000\n", bad[k].field,
                 "   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000\n");
        TEST_FAILS(read_string(text, 6, 0, &s), MDS_E_INPUT, bad[k].message);
        mds_state_free(&s);
    }
}

static void wrong_sizes_are_refused(void)
{
    char      text[1000];
    mds_state s = {0};

    snprintf(text, sizeof text, "title\n3\n%s", x3);
    TEST_FAILS(read_string(text, 4, 0, &s), MDS_E_INPUT, "3 atoms, the topology has 4");
    mds_state_free(&s);
    snprintf(text, sizeof text, "title\n3\n   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000\n");
    TEST_FAILS(read_string(text, 3, 0, &s), MDS_E_INPUT, "ends in line 3");
    mds_state_free(&s);
    snprintf(text, sizeof text, "title\n3\n%s%s%s%s", x3, x3, x3, x3);
    TEST_FAILS(read_string(text, 3, 0, &s), MDS_E_INPUT, "8 lines after the second");
    mds_state_free(&s);
    snprintf(text, sizeof text, "title\n3\n%s  10.0000000  20.0000000\n", x3);
    TEST_FAILS(read_string(text, 3, 0, &s), MDS_E_INPUT, "three lengths");
    mds_state_free(&s);
    snprintf(text, sizeof text, "title\n3\n%s  10.0000000 -20.0000000  30.0000000\n", x3);
    TEST_FAILS(read_string(text, 3, 0, &s), MDS_E_INPUT, "system.inpcrd:5: ");
    mds_state_free(&s);
    TEST_FAILS(read_string("", 3, 0, &s), MDS_E_INPUT, "number of atoms");
    mds_state_free(&s);
    snprintf(text, sizeof text, "title\n3\n   1.0000000   2.0000000   3.0000000   4.0000000   5.0000000   6.0000000   7.0000000\n"
             "   7.0000000   8.0000000   9.0000000\n");
    TEST_FAILS(read_string(text, 3, 0, &s), MDS_E_INPUT, "more than 6 numbers");
    mds_state_free(&s);
    {
        mds_system system;

        make_system(&system, 1);
        (void)mds_state_init(&s, 1);
        TEST_FAILS(mds_read_inpcrd("/nowhere/x.inpcrd", &system, 0, &s), MDS_E_MISSING, "x.inpcrd");
        mds_state_free(&s);
        mds_system_free(&system);
    }
}

static void broken_files_never_crash(void)
{
    char whole[1000];
    int  round, good = 0;

    snprintf(whole, sizeof whole, "title\n3  0.1\n%s%s%s", x3, v3, octahedron);
    for (round = 0; round < 2000; round++) {
        static const char nasty[] = "0123456789-+.Ee* \nnanif\t\r\x80";
        char              copy[1000];
        double            u[4];
        mds_state         s = {0};
        mds_status        status;
        int               k;

        strcpy(copy, whole);
        mds_uniform4(3, MDS_RNG_MAKE, (uint64_t)round, 0, u);
        for (k = 0; k <= (int)(3 * u[0]); k++) {
            double w[4];

            mds_uniform4(3, MDS_RNG_MAKE, (uint64_t)round, (uint32_t)k + 1, w);
            copy[(size_t)(w[0] * (double)strlen(whole))] = nasty[(size_t)(w[1] * (sizeof nasty - 1))];
        }
        if (u[1] < 0.1) copy[(size_t)(u[2] * (double)strlen(whole))] = '\0';
        status = read_string(copy, 3, 0, &s);
        good += status == MDS_OK;
        if (status != MDS_OK && !mds_error_text()[0]) TEST_TRUE(false && "a failure without a message");
        mds_state_free(&s);
    }
    TEST_TRUE(good > 0 && good < 2000);
}

int main(void)
{
    mds_log_set_level(MDS_LOG_ERROR);
    numbers_may_touch();
    line_count_tells_the_layout();
    box_of_lengths_alone_is_rectangular();
    two_atoms_need_the_key();
    bad_numbers_are_named_by_atom_residue_and_line();
    wrong_sizes_are_refused();
    broken_files_never_crash();
    return test_end();
}
