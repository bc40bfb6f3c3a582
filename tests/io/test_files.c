// SPDX-License-Identifier: Apache-2.0
// SHA-256 against the published examples; .npy, .gro and run.csv as other programs and our own readers see them.
#include "io/io.h"
#include "read/read.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/mds_files_XXXXXX";

static const char *at(const char *name)
{
    static char path[4][256];
    static int  turn;

    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void expect_sum(const void *bytes, size_t n, size_t piece, const char *want)
{
    mds_sha256 sha;
    uint8_t    sum[32];
    char       text[65];
    size_t     k;

    mds_sha256_init(&sha);
    for (k = 0; k < n; k += piece) mds_sha256_add(&sha, (const char *)bytes + k, k + piece < n ? piece : n - k);
    mds_sha256_end(&sha, sum);
    for (k = 0; k < 32; k++) snprintf(text + 2 * k, 3, "%02x", sum[k]);
    TEST_TRUE(!strcmp(text, want));
}

/// Examples of FIPS 180-4 (NIST CSRC), fed in pieces that do and do not meet the 64-byte blocks.
static void sha256(void)
{
    static const char *const two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char *const four = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    static const size_t      pieces[] = {1, 7, 63, 64, 65, 1000000};
    char  *million;
    size_t k;

    TEST_OK(mds_alloc(&million, 1000000, 1));
    memset(million, 'a', 1000000);
    for (k = 0; k < 6; k++) {
        expect_sum("", 0, pieces[k], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        expect_sum("abc", 3, pieces[k], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        expect_sum(two, strlen(two), pieces[k], "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        expect_sum(four, strlen(four), pieces[k], "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
        expect_sum(million, 1000000, pieces[k], "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    mds_free(million);
}

static void npy(void)
{
    static const double rows[3][3] = {{1.5, -2.25, 1e-300}, {0.1, -0.0, 1e300}, {3, 4, 5}};
    char  *text;
    size_t n;

    TEST_OK(mds_npy_write(at("a.npy"), rows, 3));
    TEST_OK(mds_file_read(at("a.npy"), &text, &n));
    TEST_INT(n, 128 + sizeof rows); // numpy's format 1.0: the data begins at a multiple of 64
    TEST_TRUE(!memcmp(text, "\x93NUMPY\x01\x00\x76\x00", 10) && text[127] == '\n');
    TEST_TRUE(strstr(text + 10, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }") == text + 10);
    TEST_TRUE(n == 128 + sizeof rows && !memcmp(text + 128, rows, sizeof rows));
    mds_free(text);
    TEST_FAILS(mds_npy_write(at("no/a.npy"), rows, 3), MDS_E_WRITE, "a.npy");
}

/// n atoms, residues of three, long names.
static void make(mds_system *sys, mds_state *state, int32_t n)
{
    int32_t i, residue = 0;
    int     k;

    TEST_OK(mds_system_set_types(sys, 1, false));
    for (i = 0; i < n; i++) {
        if (i % 3 == 0 && mds_system_add_residue(sys, "LONGRES", 99990 + i / 3, &residue) != MDS_OK) exit(1);
        if (mds_system_add_atom(sys, i % 3 ? "HW12345" : "O", residue, 0, 0, 1, 1, NULL) != MDS_OK) exit(1);
    }
    TEST_OK(mds_state_init(state, n));
    for (i = 0; i < n; i++)
        for (k = 0; k < 3; k++) {
            state->x[i][k] = -5 + 1e-3 * i * (k + 1) + 1.234567e-4;
            state->v[i][k] = 2e-5 * i - k;
        }
}

static void gro_round_trip(int32_t n, mds_box box, bool velocities)
{
    mds_system sys = {0};
    mds_state  state, back;
    double     worst_x = 0, worst_v = 0;
    int32_t    i;
    int        k;

    make(&sys, &state, n);
    TEST_OK(mds_gro_write(at("a.gro"), "two\nlines", &sys, &box, (const double(*)[3])state.x, velocities ? (const double(*)[3])state.v : NULL));
    TEST_TRUE(!mds_file_exists(at("a.gro.tmp")));
    TEST_OK(mds_state_init(&back, n));
    TEST_OK(mds_read_gro(at("a.gro"), &sys, &back));
    for (i = 0; i < n; i++)
        for (k = 0; k < 3; k++) {
            worst_x = fmax(worst_x, fabs(back.x[i][k] - state.x[i][k]));
            worst_v = fmax(worst_v, fabs(back.v[i][k] - (velocities ? state.v[i][k] : 0)));
        }
    TEST_NEAR(worst_x, 0, 0.5001e-7); // seven decimals
    TEST_NEAR(worst_v, 0, 0.5001e-8); // eight
    TEST_INT(back.has_velocities, velocities);
    for (k = 0; k < 9; k++) TEST_NEAR(back.box.a[k / 3][k % 3], box.a[k / 3][k % 3], 0.5001e-7);
    mds_state_free(&state);
    mds_state_free(&back);
    mds_system_free(&sys);
}

static void gro(void)
{
    char  *text;
    size_t n;

    gro_round_trip(7, (mds_box){{{3, 0, 0}, {0, 4, 0}, {0, 0, 5}}}, true);
    TEST_OK(mds_file_read(at("a.gro"), &text, &n));
    // columns of the format: residue number and name, atom name and number, all cut to five
    TEST_TRUE(!strncmp(text, "two\n    7\n99990LONGR    O    1", 30));
    TEST_TRUE(strstr(text, "99990LONGRHW123    2") != NULL);
    mds_free(text);
    gro_round_trip(7, (mds_box){{{3, 0, 0}, {-1, 4, 0}, {1.5, 2, 5}}}, false);
    gro_round_trip(100040, (mds_box){{{300, 0, 0}, {0, 400, 0}, {0, 0, 500}}}, true); // numbers beyond five digits wrap
    TEST_OK(mds_file_read(at("a.gro"), &text, &n));
    TEST_TRUE(strstr(text, "HW12399999") != NULL && strstr(text, "LONGR    O    0") != NULL && strstr(text, "\n    0LONGR") != NULL);
    mds_free(text);
}

static void gro_failures_leave_the_old_file(void)
{
    const struct rlimit small = {1000, RLIM_INFINITY};
    struct rlimit       old;
    const mds_box       box = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}};
    mds_system          sys = {0};
    mds_state           state;
    char               *before, *after;
    size_t              n, m;

    make(&sys, &state, 60);
    TEST_OK(mds_gro_write(at("b.gro"), "t", &sys, &box, (const double(*)[3])state.x, NULL));
    TEST_OK(mds_file_read(at("b.gro"), &before, &n));
    getrlimit(RLIMIT_FSIZE, &old);
    setrlimit(RLIMIT_FSIZE, &small);
    TEST_FAILS(mds_gro_write(at("b.gro"), "u", &sys, &box, (const double(*)[3])state.x, NULL), MDS_E_WRITE, "b.gro");
    setrlimit(RLIMIT_FSIZE, &old);
    TEST_OK(mds_file_read(at("b.gro"), &after, &m));
    TEST_TRUE(n == m && !memcmp(before, after, n));
    TEST_TRUE(!mds_file_exists(at("b.gro.tmp")));
    mds_free(before);
    mds_free(after);
    TEST_FAILS(mds_gro_write(at("no/b.gro"), "u", &sys, &box, (const double(*)[3])state.x, NULL), MDS_E_WRITE, "b.gro");
    mds_state_free(&state);
    mds_system_free(&sys);
}

static int lines_of(const char *path, char *last, size_t size)
{
    char  *text, *line;
    size_t n;
    int    count = 0;

    last[0] = '\0';
    if (mds_file_read(path, &text, &n) != MDS_OK) return -1;
    for (line = text; *line; line = strchr(line, '\n') + 1) {
        if (!strchr(line, '\n')) { // a torn row
            count = -2;
            break;
        }
        snprintf(last, size, "%.*s", (int)strcspn(line, "\n"), line);
        count++;
    }
    mds_free(text);
    return count;
}

static void series_is_cut_back(void)
{
    mds_series    *s;
    mds_series_row row = {.step = 20, .time = 0.04, .potential = -1234.5678, .kinetic = 1000, .temperature = 300.25};
    char           last[1000];
    int64_t        kept;

    TEST_OK(mds_series_create(at("run.csv"), &s));
    TEST_OK(mds_series_append(s, &row));
    kept = mds_series_bytes(s);
    TEST_INT(lines_of(at("run.csv"), last, sizeof last), 2); // flushed: readable while open
    TEST_TRUE(!strncmp(last, "20,0.040000,-1234.56780000,1000.00000000,-234.56780000,", 55)); // the fifth column is the sum
    row.step = 40;
    TEST_OK(mds_series_append(s, &row));
    TEST_OK(mds_series_sync(s));
    TEST_OK(mds_series_close(s));
    TEST_FAILS(mds_series_create(at("run.csv"), &s), MDS_E_WRITE, "cannot create: File exists");
    TEST_TRUE(!s);
    TEST_OK(mds_series_resume(at("run.csv"), kept, &s));
    TEST_INT(lines_of(at("run.csv"), last, sizeof last), 2);
    row.step = 60;
    TEST_OK(mds_series_append(s, &row));
    TEST_OK(mds_series_close(s));
    TEST_INT(lines_of(at("run.csv"), last, sizeof last), 3);
    TEST_TRUE(!strncmp(last, "60,", 3));
    TEST_FAILS(mds_series_resume(at("run.csv"), 100000, &s), MDS_E_CHECKPOINT, "run.csv: is missing or shorter");
    TEST_FAILS(mds_series_resume(at("none.csv"), 0, &s), MDS_E_CHECKPOINT, "none.csv: is missing");
    TEST_TRUE(!s);
}

/// A disk that fills in the middle of a row (here: a limit on the size of files) leaves whole rows.
static void series_never_ends_in_a_torn_row(void)
{
    struct rlimit        old, small;
    mds_series          *s;
    const mds_series_row row = {.step = 1};
    char                 last[1000];
    int64_t              bytes;

    getrlimit(RLIMIT_FSIZE, &old);
    TEST_OK(mds_series_create(at("full.csv"), &s));
    TEST_OK(mds_series_append(s, &row));
    bytes = mds_series_bytes(s);
    small = (struct rlimit){(rlim_t)bytes + 20, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    TEST_FAILS(mds_series_append(s, &row), MDS_E_WRITE, "full.csv: cannot write");
    TEST_INT(mds_series_bytes(s), bytes);
    TEST_INT(lines_of(at("full.csv"), last, sizeof last), 2);
    setrlimit(RLIMIT_FSIZE, &old);
    TEST_OK(mds_series_append(s, &row)); // room again
    TEST_INT(lines_of(at("full.csv"), last, sizeof last), 3);
    TEST_OK(mds_series_close(s));
    small.rlim_cur = 10;
    setrlimit(RLIMIT_FSIZE, &small);
    TEST_FAILS(mds_series_create(at("tiny.csv"), &s), MDS_E_WRITE, "tiny.csv");
    setrlimit(RLIMIT_FSIZE, &old);
    TEST_TRUE(!mds_file_exists(at("tiny.csv"))); // or the next start would find it in its way
}

int main(void)
{
    static const char *const names[] = {"a.npy", "a.gro", "b.gro", "run.csv", "full.csv"};
    size_t k;

    if (!mkdtemp(folder)) TEST_SKIP("no temporary folder");
    signal(SIGXFSZ, SIG_IGN); // as the program does
    sha256();
    npy();
    gro();
    gro_failures_leave_the_old_file();
    series_is_cut_back();
    series_never_ends_in_a_torn_row();
    for (k = 0; k < sizeof names / sizeof names[0]; k++) unlink(at(names[k]));
    TEST_INT(rmdir(folder), 0); // nothing else was left behind
    return test_end();
}
