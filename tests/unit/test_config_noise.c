// SPDX-License-Identifier: Apache-2.0
// Noise as a conf: truncated, scrambled, nested beyond reason. It ends in values or in a message with its
// place, never in a crash; the asan preset looks for what does not crash by itself.
#include "io/io.h"
#include "test.h"

#include <unistd.h>

/// libconfig 1.5 loses a few bytes of its own at a syntax error.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig.so\n";
}

static char dir[] = "/tmp/mds-noise-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_bytes(const char *name, const char *bytes, size_t n)
{
    remove(path_of(name)); // cutting a file short makes some file systems wait for the disk
    if (mds_file_write(path_of(name), bytes, n) != MDS_OK) {
        fprintf(stderr, "%s\n", mds_error_text());
        exit(1);
    }
}

#define SYSTEM "system = { topology = \"topol.top\"; coordinates = \"conf.gro\"; };\n"

static uint32_t noise_state = 12345;

static uint32_t noise(uint32_t below)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (noise_state >> 8) % below;
}

/// Truncated and scrambled input ends in a value or a message, never in a crash (the asan preset runs this
/// too).
static void test_noise_is_refused_or_read(void)
{
    static const char seed[] =
        SYSTEM "run = { dt = 0.002; steps = 10000L; seed = 1; # c\n remove_com = \"none\"; };\n"
               "pme = { grid = [52, 52, 52]; /* x */ beta = 3.12; };\nnonbonded : { cutoff = 1; "
               "tail_correction = true };\n"
               "@include \"part.conf\"\noutput = { name = \"a\\\"b\"; };\n";
    static const char *const bits[] = {
        "{", "}", "[", "]",  "(",  ")", "\"", "/*", "*/",   "@include",   "\\",          "=", ";",
        ",", "#", "-", "1e", "0x", "L", "\n", "\r", "\xff", "((((((((((", "99999999999", ".", "//"};
    const size_t n = sizeof seed - 1;
    char         text[2048];
    int          k, n_good = 0, n_bad = 0;

    write_bytes("part.conf", "run2 = 1;", 9);
    mds_log_set_level(MDS_LOG_ERROR);
    for (k = 0; k < 2500; k++) {
        mds_config c;
        size_t     length = k < (int)n ? (size_t)k : n, i, changes = k < (int)n ? 0 : 1 + noise(4);
        mds_status status;

        memcpy(text, seed, n);
        for (i = 0; i < changes; i++) {
            const char  *bit = bits[noise(sizeof bits / sizeof *bits)];
            const size_t m = strlen(bit), at = noise((uint32_t)length);

            if (noise(3) == 0 && length > 40) {
                memmove(text + at, text + at + (length - at) / 8, length - at - (length - at) / 8);
                length -= (length - at) / 8;
            } else if (noise(2)) {
                text[at] = (char)(1 + noise(255));
            } else {
                memmove(text + at + m, text + at, length - at);
                memcpy(text + at, bit, m);
                length += m;
            }
        }
        text[length] = '\0';
        write_bytes("noise.conf", text, length);
        status = mds_config_read(path_of("noise.conf"), NULL, 0, &c);
        if (status == MDS_OK) {
            n_good++;
            mds_config_free(&c);
        } else {
            n_bad++;
            if (status != MDS_E_INPUT && status != MDS_E_MISSING && status != MDS_E_UNSUPPORTED) {
                fprintf(stderr, "status %d, %s, for:\n%s\n", (int)status, mds_error_text(), text);
                TEST_TRUE(false && "an unexpected status");
            }
            if (!strstr(mds_error_text(), "conf:")) {
                fprintf(stderr, "no place in: %s\n", mds_error_text());
                TEST_TRUE(false && "a message without its place");
            }
        }
    }
    TEST_TRUE(n_bad > 1200 && n_good >= 0);
    memset(text, '(', sizeof text);
    memcpy(text, "a = ", 4);
    write_bytes("noise.conf", text, sizeof text);
    {
        mds_config c;

        TEST_TRUE(mds_config_read(path_of("noise.conf"), NULL, 0, &c) == MDS_E_INPUT);
    }
}

int main(void)
{
    if (!mkdtemp(dir)) return 1;
    test_noise_is_refused_or_read();
    remove(path_of("noise.conf"));
    remove(path_of("part.conf"));
    remove(dir);
    return test_end();
}
