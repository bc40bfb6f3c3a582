// SPDX-License-Identifier: Apache-2.0
// .gro files: precision, wrapped numbers, velocities, boxes of 3 and 9 numbers, fields that run together, and refusals by
// atom, residue and line. The layouts are those that other programs have tripped over: numbers that wrap at 99999, boxes
// that run together, six decimals, five-letter names.
#include "read_text.h"

static mds_system sys;
static mds_state  state;

static void make_system(int32_t n, const char *const *names)
{
    int32_t i, residue;

    mds_system_free(&sys);
    if (mds_system_set_types(&sys, 1, false) != MDS_OK) exit(1);
    for (i = 0; i < n; i++)
        if (mds_system_add_residue(&sys, "SOL", i / 3 + 1, &residue) != MDS_OK ||
            mds_system_add_atom(&sys, names ? names[i % 3] : "AR", residue, 0, 0, 1, 1, NULL) != MDS_OK)
            exit(1);
}

static mds_status read_text(const char *text)
{
    const char *path = put("conf.gro", text);

    mds_state_free(&state);
    if (mds_state_init(&state, sys.n_atoms) != MDS_OK) exit(1);
    return mds_read_gro(path, &sys, &state);
}

static void precision_follows_the_points(void)
{
    make_system(2, NULL);
    TEST_OK(read_text("t\n2\n    1SOL     AR    1   0.100  -1.200  10.999\n    1SOL     AR    2   1.000   2.000   3.000\n 3 4 5\n"));
    // decimals are whole numbers over powers of ten, rounded once: equal to the literal
    TEST_NEAR(state.x[0][2], 10.999, 0);
    TEST_NEAR(state.x[0][1], -1.2, 0);
    TEST_TRUE(!state.has_velocities);
    TEST_NEAR(state.box.a[1][1], 4, 0);
    TEST_OK(read_text("t\n 2\n    1SOL     AR    1   0.123456  -1.234567  10.999999\n"
                 "    1SOL     AR    2-100.123456-200.234567-300.345678\n 3.0 4.0 5.0\n"));
    TEST_NEAR(state.x[0][1], -1.234567, 0);
    TEST_NEAR(state.x[1][2], -300.345678, 0);
    TEST_OK(read_text("t\n2\n    1SOL     AR    1   0.1  -1.2  10.9\n    1SOL     AR    2   1.0   2.0   3.0\n 3 4 5\n"));
    TEST_NEAR(state.x[0][2], 10.9, 0);
}

static void velocities(void)
{
    make_system(2, NULL);
    TEST_OK(read_text("t\n2\n    1SOL     AR    1   0.100   1.200  10.999  0.1234 -0.2345  1.0000\n"
                 "    1SOL     AR    2   1.000   2.000   3.000-10.0000-20.0000-30.0000\n 3 4 5\n"));
    TEST_TRUE(state.has_velocities);
    TEST_NEAR(state.v[0][1], -0.2345, 0);
    TEST_NEAR(state.v[1][2], -30, 0);
    TEST_FAILS(read_text("t\n2\n    1SOL     AR    1   0.100   1.200  10.999  0.1234 -0.2345  1.0000\n"
                    "    1SOL     AR    2   1.000   2.000   3.000\n 3 4 5\n"),
               MDS_E_INPUT, "conf.gro:4: atom 2 has no velocity");
}

static void boxes(void)
{
    const char *atom = "t\n1\n    1SOL     AR    1   0.100   1.200   0.999\n";
    char        text[400];

    make_system(1, NULL);
    snprintf(text, sizeof text, "%s 10.41263  9.81713  8.50188 0 0 -3.47088 0 -3.47088 -4.90856\n", atom);
    TEST_OK(read_text(text));
    TEST_NEAR(state.box.a[1][0], -3.47088, 0);
    TEST_NEAR(state.box.a[2][0], -3.47088, 0);
    TEST_NEAR(state.box.a[2][1], -4.90856, 0);
    TEST_NEAR(state.box.a[2][2], 8.50188, 0);
    snprintf(text, sizeof text, "%s 123.00000 123.00000-123.00000   0.00000   0.00000 -41.00000   0.00000-123.45678-111.00000", atom);
    TEST_OK(read_text(text));
    TEST_NEAR(state.box.a[2][2], -123, 0);
    TEST_NEAR(state.box.a[2][0], -123.45678, 0);
    snprintf(text, sizeof text, "%s1000.000001000.000001000.12345\n", atom);
    TEST_OK(read_text(text));
    TEST_NEAR(state.box.a[1][1], 1000, 0);
    TEST_NEAR(state.box.a[2][2], 1000.12345, 0);
    snprintf(text, sizeof text, "%s 3.0 4.0\n", atom);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.gro:4: the box must be 3 or 9 numbers");
    snprintf(text, sizeof text, "%s 3.0 4.0 five\n", atom);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "the box must be 3 or 9 numbers");
    TEST_FAILS(read_text(atom), MDS_E_INPUT, "conf.gro:3: the file ends before the line with the box");
}

/// 100,002 waters: both numbers wrap, and the atom is its place in the file.
static void numbers_wrap(void)
{
    static const char *const names[3] = {"OW", "HW1", "HW2"};
    enum { N = 3 * 100002 };
    mds_text text = {0};
    int      i;

    make_system(N, names);
    mds_text_add(&text, "waters\n%d\n", N);
    for (i = 0; i < N; i++)
        mds_text_add(&text, "%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n", (i / 3 + 1) % 100000, "SOL", names[i % 3], (i + 1) % 100000,
                     i % 1000 * 0.001, i / 1000 * 0.001, 1.0);
    mds_text_add(&text, "  10.0 10.0 10.0\n");
    TEST_OK(read_text(text.s));
    TEST_NEAR(state.x[N - 1][0], (N - 1) % 1000 * 0.001, 1e-15); // the product may round differently from the literal
    TEST_NEAR(state.x[N - 1][1], (N - 1) / 1000 * 0.001, 1e-15);
    TEST_NEAR(state.x[123456][0], 0.456, 0);
    TEST_INT(mds_log_n_warnings(), 0);
    mds_text_free(&text);
}

static void names_are_checked_softly(void)
{
    static const char *const names[3] = {"LONGA", "HW1", "HW2"};
    int warnings = mds_log_n_warnings();

    make_system(2, names);
    TEST_OK(read_text("t\n2\n    1SOL  LONGA    1   0.100   1.200  10.999\n    1SOL   1HW    2   1.000   2.000   3.000\n 3 4 5\n"));
    TEST_INT(mds_log_n_warnings(), warnings); // five letters fill their column; 1HW is HW1
    TEST_OK(read_text("t\n2\n    1SOL     CA    1   0.100   1.200  10.999\n    1ALA     CB    2   1.000   2.000   3.000\n 3 4 5\n"));
    TEST_INT(mds_log_n_warnings(), warnings + 1); // one for both
}

static void refusals(void)
{
    const char *head = "t\n2\n    1SOL     AR    1   0.100   1.200   0.999\n";
    char        text[400];

    make_system(2, NULL);
    snprintf(text, sizeof text, "%s    1SOL     AR    2     nan   1.200   0.999\n 3 4 5\n", head);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.gro:4: the position of SOL 1 AR (atom 2)");
    TEST_TRUE(strstr(mds_error_text(), "not a number") != NULL);
    snprintf(text, sizeof text, "%s    1SOL     AR    2   1e+99   1.200   0.999\n 3 4 5\n", head);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "too large to be right");
    TEST_FAILS(read_text("t\n2\n    1SOL     AR    1   0.100   1.200  10.999  0.1234     inf  1.0000\n"), MDS_E_INPUT,
               "conf.gro:3: the velocity of SOL 1 AR (atom 1)");
    snprintf(text, sizeof text, "%s    1SOL     AR    2   x.000   1.200   0.999\n 3 4 5\n", head);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.gro:4: coordinate 1 of the atom, columns 21 to 28, is not a number");
    snprintf(text, sizeof text, "%s    1SOL     AR    2 ******* ******* *******\n 3 4 5\n", head);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "is not a number");
    snprintf(text, sizeof text, "%s    1SOL     AR    2   1.000   1.200\n 3 4 5\n", head);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.gro:4: coordinate 3");
    snprintf(text, sizeof text, "%s\n 3 4 5\n", head);
    TEST_FAILS(read_text(text), MDS_E_INPUT, "conf.gro:4: atom 2 of 2 has no coordinates");
    TEST_FAILS(read_text(head), MDS_E_INPUT, "conf.gro:3: the file ends after 1 of 2 atoms");
    TEST_FAILS(read_text("t\n3\n"), MDS_E_INPUT, "conf.gro:2: 3 atoms, but the topology has 2");
    TEST_FAILS(read_text("t\nmany\n"), MDS_E_INPUT, "conf.gro:2: the second line of a .gro is the number of atoms");
    TEST_FAILS(read_text("t\n-2\n"), MDS_E_INPUT, "-2 atoms");
    TEST_FAILS(read_text(""), MDS_E_INPUT, "ends before the number of atoms");
    TEST_FAILS(read_text("t\n2\n    1SOL     AR    1   0   1   2\n"), MDS_E_INPUT, "no two decimal points");
    TEST_FAILS(mds_read_gro("/nowhere.gro", &sys, &state), MDS_E_MISSING, "/nowhere.gro");
}

int main(void)
{
    work_begin();
    mds_log_set_level(MDS_LOG_ERROR);
    numbers_wrap();
    precision_follows_the_points();
    velocities();
    boxes();
    names_are_checked_softly();
    refusals();
    mds_state_free(&state);
    mds_system_free(&sys);
    work_end();
    return test_end();
}
