// SPDX-License-Identifier: Apache-2.0
// Reading a whole system: formats told by content, boxes reduced, velocities dropped on request, reference positions of
// restraints from the start or from their own file, and a report that says it.
#include "read_text.h"

static const char topology[] = "[ defaults ]\n1 2\n[ atomtypes ]\nAR 18 39.9 0 A 0.3 1\n[ moleculetype ]\nAR 1\n[ atoms ]\n"
                               "1 AR 1 AR AR 1\n[ position_restraints ]\n1 1 10 20 30\n[ system ]\ntwo atoms\n[ molecules ]\nAR 2\n";
static const char gro[] = "t\n2\n    1AR      AR    1   0.100   1.200   0.999  0.1000  0.2000  0.3000\n"
                          "    2AR      AR    2   1.000   2.000   3.000 -0.1000 -0.2000 -0.3000\n   3.00000   3.00000   3.00000\n";
static const char pdb[] = "REMARK x\nATOM      1  AR  AR  A   1       1.000  12.000  10.000\n"
                          "ATOM      2  AR  AR  A   2       9.000  12.000  10.000\n";

static mds_system      sys;
static mds_state       state;
static mds_read_report report;

static mds_status read_files(const char *coordinates, const char *reference, bool velocities)
{
    const mds_read_request request = {.topology = put("a.top", topology),
                                      .coordinates = coordinates,
                                      .restraint_reference = reference,
                                      .read_velocities = velocities};

    mds_system_free(&sys);
    mds_state_free(&state);
    mds_read_report_free(&report);
    return mds_read(&request, &sys, &state, &report);
}

static double reference(int k)
{
    return sys.term[MDS_TERM_RESTRAINT].n == 2 ? sys.term[MDS_TERM_RESTRAINT].param[k] : NAN;
}

static void formats(void)
{
    TEST_OK(read_files(put("a.gro", gro), NULL, true));
    TEST_NEAR(state.x[1][2], 3, 0);
    TEST_TRUE(state.has_velocities && state.v[1][0] == -0.1);
    TEST_TRUE(!report.is_amber && strstr(report.text, "two atoms") && strstr(report.text, "2 AR") &&
              strstr(report.text, "3.00000 3.00000 3.00000 nm, angles 90.0000 90.0000 90.0000 degrees, from the coordinates"));
    TEST_OK(read_files(put("conf.crd", gro), NULL, false)); // by content, whatever the name
    TEST_TRUE(!state.has_velocities && state.v[1][0] == 0);
    TEST_OK(read_files(put("conf.txt", pdb), NULL, true));
    TEST_NEAR(state.x[1][0], 0.9, 0);
    TEST_TRUE(mds_box_is_none(&state.box) && strstr(report.text, "box: none") && strstr(report.text, "without velocities"));
    TEST_FAILS(read_files(put("conf.xyz", "2\ncomment\nAr 1 2 3\nAr 4 5 6\n"), NULL, true), MDS_E_INPUT,
               "not coordinates that mdsim reads");
    TEST_FAILS(read_files("/nowhere/conf.gro", NULL, true), MDS_E_MISSING, "/nowhere/conf.gro: cannot open");
    TEST_FAILS(read_files("/", NULL, true), MDS_E_INPUT, "/");
}

static void boxes(void)
{
    // b and c outside the reduced range, by whole vectors: the same lattice, atoms where they were
    TEST_OK(read_files(put("a.gro", "t\n2\n    1AR      AR    1   0.100   1.200   0.999\n    2AR      AR    2   1.000   2.000   3.000\n"
                                    " 3 4 5 0 0 7 0 -2.5 5\n"), NULL, true));
    TEST_NEAR(state.box.a[1][0], 1, 1e-15); // 7 - 2 * 3
    TEST_NEAR(state.box.a[2][1], 1, 1e-15); // 5 - 4
    TEST_NEAR(state.x[1][2], 3, 0);
    TEST_FAILS(read_files(put("a.gro", "t\n2\n    1AR      AR    1   0.100   1.200   0.999\n    2AR      AR    2   1.000   2.000   3.000\n"
                                       " 3 4 0\n"), NULL, true), MDS_E_INPUT, "a.gro: the box vectors");
}

static void restraint_references(void)
{
    const char *start = put("a.gro", gro);

    TEST_OK(read_files(start, NULL, true));
    TEST_NEAR(reference(0), 0.1, 0);
    TEST_NEAR(reference(6 + 2), 3, 0);
    TEST_NEAR(reference(6 + 4), 20, 0);
    TEST_OK(read_files(start, put("ref.pdb", pdb), true));
    TEST_NEAR(reference(6), 0.9, 0);
    TEST_NEAR(state.x[1][0], 1, 0); // the start is still the start
    TEST_FAILS(read_files(start, "/nowhere/ref.gro", true), MDS_E_MISSING, "/nowhere/ref.gro");
    TEST_FAILS(read_files(start, put("ref.gro", "t\n1\n"), true), MDS_E_INPUT, "ref.gro:2: 1 atoms, but the topology has 2");
}

static void topologies(void)
{
    mds_read_request request = {.coordinates = put("a.gro", gro)};

    TEST_FAILS(mds_read(&request, &sys, &state, &report), MDS_E_INPUT, "no topology is given");
    request.topology = "/nowhere.top";
    TEST_FAILS(mds_read(&request, &sys, &state, &report), MDS_E_MISSING, "/nowhere.top");
    request.topology = put("b.psf", "PSF CMAP\n");
    TEST_FAILS(mds_read(&request, &sys, &state, &report), MDS_E_INPUT, "not a topology that mdsim reads");
}

int main(void)
{
    work_begin();
    mds_log_set_level(MDS_LOG_ERROR);
    formats();
    boxes();
    restraint_references();
    mds_system_free(&sys);
    mds_state_free(&state);
    mds_read_report_free(&report);
    topologies();
    work_end();
    return test_end();
}
