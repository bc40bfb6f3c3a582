// SPDX-License-Identifier: Apache-2.0
// Checkpoints: every value comes back bit by bit, every kind of damage has its message, the one before steps in, and no
// byte flip or cut anywhere in the file goes unnoticed.
#include "io/io.h"
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 5 };
static char folder[] = "/tmp/mds_chk_XXXXXX", path[256], prev[256], aside[256];

static void make(mds_checkpoint *c, int64_t step)
{
    int i, k;

    memset(c, 0, sizeof *c);
    TEST_OK(mds_state_init(&c->state, N));
    for (i = 0; i < N; i++)
        for (k = 0; k < 3; k++) {
            c->state.x[i][k] = 0.1 * i + 1.0 / (k + 3);
            c->state.v[i][k] = -1.0 / (1 + i + k);
        }
    c->state.step = step;
    c->state.time = 0.002 * (double)step;
    c->state.box = (mds_box){{{3, 0, 0}, {0.1, 3.1, 0}, {0.2, -0.3, 3.2}}};
    c->state.has_velocities = true;
    c->state.seed = 0xfedcba9876543210;
    for (k = 0; k < MDS_N_COUPLING; k++) c->state.coupling[k] = 1.0 / (k + 7);
    c->state.work_noise = 12.5;
    c->state.work_scale = -3.25;
    c->params = (mds_params){.dt = 0.002, .cut_lj = 1.1, .order = 5, .grid = {32, 30, 36}, .split_shape = 11.5, .n_degrees = 33, .seed = 9};
    snprintf(c->isa, sizeof c->isa, "avx512");
    snprintf(c->backend, sizeof c->backend, "cpu");
    c->threads = 13;
    for (k = 0; k < 32; k++) c->input_hash[k] = (uint8_t)(7 * k);
    c->n_trajectory = 41;
    c->last_trajectory_step = step - 3;
    c->n_series_bytes = 123456789012;
    c->part = 2;
    c->elapsed_wall = 17.5;
    c->spent = 3.75;
    c->judged_seconds = 29.5;
    c->judged_steps = 1e12 + 1;
    c->finished_steps = 99;
}

static void write_step(int64_t step)
{
    mds_checkpoint c;

    make(&c, step);
    TEST_OK(mds_checkpoint_write(path, &c));
    mds_checkpoint_free(&c);
}

static void everything_comes_back(void)
{
    mds_checkpoint c, b;

    make(&c, 1ll << 40);
    TEST_OK(mds_checkpoint_write(path, &c));
    memset(&b, 0xa5, sizeof b); // what stood there before must not matter
    TEST_OK(mds_checkpoint_read(path, &b));
    TEST_TRUE(!memcmp(b.state.x, c.state.x, N * sizeof *c.state.x) && !memcmp(b.state.v, c.state.v, N * sizeof *c.state.v));
    TEST_INT(b.state.n_atoms, N);
    TEST_INT(b.state.step, c.state.step);
    TEST_TRUE(b.state.time == c.state.time && !memcmp(&b.state.box, &c.state.box, sizeof c.state.box));
    TEST_TRUE(b.state.has_velocities && b.state.seed == c.state.seed);
    TEST_TRUE(!memcmp(b.state.coupling, c.state.coupling, sizeof c.state.coupling));
    TEST_TRUE(b.state.work_noise == 12.5 && b.state.work_scale == -3.25);
    TEST_TRUE(!memcmp(&b.params, &c.params, sizeof c.params));
    TEST_TRUE(!strcmp(b.isa, "avx512") && !strcmp(b.backend, "cpu") && b.threads == 13);
    TEST_TRUE(!memcmp(b.input_hash, c.input_hash, 32));
    TEST_TRUE(b.n_trajectory == 41 && b.last_trajectory_step == c.last_trajectory_step && b.n_series_bytes == 123456789012 && b.part == 2);
    TEST_TRUE(b.elapsed_wall == 17.5 && b.finished_steps == 99);
    TEST_TRUE(b.spent == 3.75 && b.judged_seconds == 29.5 && b.judged_steps == 1e12 + 1);
    mds_checkpoint_free(&b);
    mds_checkpoint_free(&c);
    TEST_TRUE(!mds_file_exists(aside));
}

static void same_state_same_bytes(void)
{
    char  *a, *b;
    size_t na, nb;

    write_step(7);
    TEST_OK(mds_file_read(path, &a, &na));
    write_step(7);
    TEST_OK(mds_file_read(path, &b, &nb));
    TEST_TRUE(na == nb && !memcmp(a, b, na));
    mds_free(a);
    mds_free(b);
}

/// Read with this status and message.
static void refused(mds_status status, const char *text)
{
    mds_checkpoint c;

    memset(&c, 0xa5, sizeof c);
    TEST_FAILS(mds_checkpoint_read(path, &c), status, text);
    TEST_TRUE(!c.state.x); // safe to free again
    mds_checkpoint_free(&c);
}

static void the_one_before_steps_in(void)
{
    mds_checkpoint c;
    const int      warnings = mds_log_n_warnings();

    unlink(prev);
    write_step(100);
    write_step(200);
    TEST_OK(mds_checkpoint_read(path, &c));
    TEST_INT(c.state.step, 200);
    mds_checkpoint_free(&c);
    TEST_INT(mds_log_n_warnings(), warnings);
    TEST_OK(mds_file_write(path, "MDSIMCHK", 8));
    TEST_OK(mds_checkpoint_read(path, &c));
    TEST_INT(c.state.step, 100);
    TEST_INT(mds_log_n_warnings(), warnings + 1);
    mds_checkpoint_free(&c);
    unlink(path); // killed between the two renames
    TEST_OK(mds_checkpoint_read(path, &c));
    TEST_INT(c.state.step, 100);
    mds_checkpoint_free(&c);
    TEST_OK(mds_file_write(prev, "MDSIMCHK", 8));
    refused(MDS_E_CHECKPOINT, "a.chk.prev: is truncated");
    unlink(prev);
    refused(MDS_E_MISSING, "a.chk: cannot open");
}

static void put(const char *bytes, size_t n)
{
    TEST_OK(mds_file_write(path, bytes, n));
}

static void each_damage_has_its_message(void)
{
    char    *good;
    size_t   n, k;
    uint64_t body;

    unlink(prev);
    unlink(path);
    write_step(300);
    TEST_OK(mds_file_read(path, &good, &n));
    good[8] = 3;
    put(good, n);
    refused(MDS_E_CHECKPOINT, "a.chk: has format 3, this mdsim reads format 2");
    good[8] = 2;
    good[12] = 1, good[15] = 4; // 0x01020304 from the other end
    put(good, n);
    refused(MDS_E_CHECKPOINT, "other byte order");
    good[12] = 4, good[15] = 1;
    put(good, n - 1);
    refused(MDS_E_CHECKPOINT, "a.chk: is truncated: ");
    put(good, 30);
    refused(MDS_E_CHECKPOINT, "a.chk: is truncated (30 bytes)");
    put("", 0);
    refused(MDS_E_CHECKPOINT, "is not a checkpoint of mdsim");
    put("some other file, long enough to hold a head and a checksum.................", 70);
    refused(MDS_E_CHECKPOINT, "is not a checkpoint of mdsim");
    good[n / 2] ^= 1;
    put(good, n);
    refused(MDS_E_CHECKPOINT, "a.chk: its checksum is wrong");
    good[n / 2] ^= 1;
    TEST_OK(mds_grow(&good, &(size_t){n}, n + 8, 1));
    put(good, n + 8);
    refused(MDS_E_CHECKPOINT, "8 bytes follow its end");
    // a length that wraps round 2^64 to the length of a short file must not send the checksum over all memory
    for (k = 24; k < 60; k++) {
        body = (uint64_t)k - 56;
        memcpy(good + 16, &body, 8);
        put(good, k);
        refused(MDS_E_CHECKPOINT, "a.chk: ");
    }
    mds_free(good);
}

static void no_flip_and_no_cut_goes_unnoticed(void)
{
    mds_checkpoint c;
    char          *good;
    size_t         n, k;
    int            accepted = 0;

    unlink(prev);
    unlink(path);
    write_step(400);
    TEST_OK(mds_file_read(path, &good, &n));
    for (k = 0; k < n; k += k < 64 || k > n - 64 ? 1 : 13) {
        good[k] ^= (char)(1 << (k % 8));
        put(good, n);
        good[k] ^= (char)(1 << (k % 8));
        accepted += mds_checkpoint_read(path, &c) == MDS_OK;
        put(good, k);
        accepted += mds_checkpoint_read(path, &c) == MDS_OK;
    }
    TEST_INT(accepted, 0);
    put(good, n);
    TEST_OK(mds_checkpoint_read(path, &c));
    mds_checkpoint_free(&c);
    mds_free(good);
}

static void nothing_that_is_not_finite_is_written(void)
{
    mds_checkpoint c, b;
    int            k;

    unlink(prev);
    unlink(path);
    write_step(500);
    for (k = 0; k < 6; k++) {
        make(&c, 600);
        if (k == 0) c.state.x[3][1] = NAN;
        if (k == 1) c.state.v[4][2] = INFINITY;
        if (k == 2) c.state.box.a[2][2] = NAN;
        if (k == 3) c.state.coupling[2] = -INFINITY;
        if (k == 4) c.state.time = NAN;
        if (k == 5) c.state.work_noise = NAN;
        TEST_FAILS(mds_checkpoint_write(path, &c), MDS_E_INTERNAL, k < 2 ? "is not finite" : "are not finite");
        mds_checkpoint_free(&c);
    }
    TEST_OK(mds_checkpoint_read(path, &b)); // and the good one stands
    TEST_INT(b.state.step, 500);
    mds_checkpoint_free(&b);
    TEST_TRUE(!mds_file_exists(aside) && !mds_file_exists(prev));
}

static void a_full_disk_leaves_the_old_one(void)
{
    struct rlimit  old, small;
    mds_checkpoint c;

    make(&c, 700);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){300, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    TEST_FAILS(mds_checkpoint_write(path, &c), MDS_E_WRITE, "cannot write a checkpoint of");
    setrlimit(RLIMIT_FSIZE, &old);
    mds_checkpoint_free(&c);
    TEST_TRUE(!mds_file_exists(aside));
    TEST_OK(mds_checkpoint_read(path, &c));
    TEST_INT(c.state.step, 500);
    mds_checkpoint_free(&c);
}

int main(void)
{
    if (!mkdtemp(folder)) TEST_SKIP("no temporary folder");
    snprintf(path, sizeof path, "%s/a.chk", folder);
    snprintf(prev, sizeof prev, "%s/a.chk.prev", folder);
    snprintf(aside, sizeof aside, "%s/a.chk.tmp", folder);
    signal(SIGXFSZ, SIG_IGN); // as the program does
    everything_comes_back();
    same_state_same_bytes();
    the_one_before_steps_in();
    each_damage_has_its_message();
    no_flip_and_no_cut_goes_unnoticed();
    nothing_that_is_not_finite_is_written();
    a_full_disk_leaves_the_old_one();
    unlink(path);
    unlink(prev);
    TEST_INT(rmdir(folder), 0); // nothing else was left behind
    return test_end();
}
