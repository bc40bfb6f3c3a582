// SPDX-License-Identifier: Apache-2.0
// Calibration files: what was written is read back to the bit; damaged, incomplete and foreign files are refused with their place.
#include "test.h"

#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void round_trip(void)
{
    mds_calibration_case cases[2] = {{.system = "water", .atoms = 3000, .order = 5, .pairs = 457123.25, .points = 8000, .cutoff = 0.9, .force_error = 0.43,
                                      .dt_fs = 2, .ms_per_step = 0.98 / 3, .spread = 0.031},
                                     {.system = "argon", .atoms = 24000, .dt_fs = 4, .ms_per_step = 5, .cutoff = 0.85}};
    mds_calibration      c = {.program = "0.1.0", .date = "2026-11-30", .instance = "c7a.large", .cpu = "a \"quoted\" \\ cpu", .backend = "cpu", .isa = "avx512",
                              .cores = 2, .threads = 2, .clock_ghz = 3.7, .memory_gib = 23.5, .fixed_mib = 50, .bytes_per_atom = 1100, .cases = cases, .n_cases = 2, .n_costs = 2,
                              .cost = {{MDS_WS_PAIR, MDS_PER_PAIR, 1.5, 1.0 / 3, 0.02}, {MDS_WS_FFT, MDS_PER_POINT, 0, 2.5, 0.1}}},
                    back;

    cases[0].stage_ms[MDS_WS_PAIR] = 0.7;
    cases[0].stage_ms[MDS_WS_OTHER] = 0.1 / 3;
    TEST_TRUE(mds_calibration_write(path, &c) == MDS_OK);
    TEST_TRUE(mds_calibration_read(path, &back) == MDS_OK);
    TEST_TRUE(!strcmp(back.cpu, c.cpu) && !strcmp(back.instance, c.instance) && !strcmp(back.isa, c.isa) && back.threads == 2);
    TEST_TRUE(back.n_cases == 2 && !memcmp(&back.cases[0], &cases[0], sizeof cases[0]) && !memcmp(&back.cases[1], &cases[1], sizeof cases[1]));
    TEST_TRUE(back.n_costs == 2 && back.cost[0].ns == 1.0 / 3 && back.cost[1].work == MDS_PER_POINT && back.cost[1].stage == MDS_WS_FFT);
    mds_calibration_free(&back);
}

/// Refused, and the message says `word`.
static void refuse(const char *text, const char *word)
{
    mds_calibration c;
    mds_status      status;

    TEST_TRUE(mds_file_write(path, text, strlen(text)) == MDS_OK);
    status = mds_calibration_read(path, &c);
    TEST_TRUE(status == MDS_E_INPUT && strstr(mds_error_text(), word) && strstr(mds_error_text(), path));
    if (status == MDS_OK) mds_calibration_free(&c);
}

static void refused(void)
{
    char  *good;
    size_t n, k;

    refuse("", "format");
    refuse("format = ", "not a calibration");
    refuse("format = 2;", "format");
    refuse("@include \"/etc/passwd\"", "not a calibration");
    round_trip();
    TEST_TRUE(mds_file_read(path, &good, &n) == MDS_OK);
    for (k = 0; k < n - 4; k += 7) { // cut anywhere: refused, never taken for whole, never a crash
        mds_calibration c;
        mds_status      status;

        TEST_TRUE(mds_file_write(path, good, k) == MDS_OK);
        status = mds_calibration_read(path, &c);
        TEST_TRUE(status == MDS_E_INPUT);
        if (status == MDS_OK) mds_calibration_free(&c);
    }
    mds_free(good);
}

static void cache_directory(void)
{
    char *where;

    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    TEST_TRUE(mds_cache_path("x", false, &where) == MDS_OK && !strcmp(where, "/somewhere/mdsim/x"));
    mds_free(where);
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/users/me", 1);
    TEST_TRUE(mds_cache_path("x", false, &where) == MDS_OK && !strcmp(where, "/users/me/.cache/mdsim/x"));
    mds_free(where);
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    TEST_TRUE(mds_cache_path("x", false, &where) == MDS_OK && !where);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/mds_calibration_%d.conf", (int)getpid());
    round_trip();
    refused();
    cache_directory();
    unlink(path);
    return test_end();
}
