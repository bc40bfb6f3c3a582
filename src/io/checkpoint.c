// SPDX-License-Identifier: Apache-2.0
// Checkpoints: written aside, synced, renamed into place; the one before is kept.
//
// Layout, in the byte order of the machine:
//   "MDSIMCHK"  u32 format  u32 0x01020304  u64 bytes of the body  body  SHA-256 of all before
// The body is the fixed part below, then x and v. Reading checks, in this order: long enough, magic, byte order, format,
// length, checksum; so each kind of damage has its own message.
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT = 2, HEAD = 24, SUM = 32 };
static const char     magic[8] = {'M', 'D', 'S', 'I', 'M', 'C', 'H', 'K'};
static const uint32_t order_mark = 0x01020304;

/// The values of a checkpoint: everything but the arrays.
typedef struct {
    int32_t    n_atoms, threads, part, has_velocities;
    int64_t    step, n_trajectory, last_trajectory_step, n_series_bytes, finished_steps;
    uint64_t   seed;
    double     time, work_noise, work_scale, elapsed_wall, spent, judged_seconds, judged_steps;
    double     coupling[MDS_N_COUPLING];
    mds_box    box;
    uint8_t    input_hash[32];
    char       isa[16], backend[16];
    mds_params params;
} fixed_part;

static void pack(const mds_checkpoint *c, fixed_part *f)
{
    memset(f, 0, sizeof *f); // padding too: the same state gives the same bytes
    f->n_atoms = c->state.n_atoms;
    f->threads = c->threads;
    f->part = c->part;
    f->has_velocities = c->state.has_velocities;
    f->step = c->state.step;
    f->n_trajectory = c->n_trajectory;
    f->last_trajectory_step = c->last_trajectory_step;
    f->n_series_bytes = c->n_series_bytes;
    f->finished_steps = c->finished_steps;
    f->seed = c->state.seed;
    f->time = c->state.time;
    f->work_noise = c->state.work_noise;
    f->work_scale = c->state.work_scale;
    f->elapsed_wall = c->elapsed_wall;
    f->spent = c->spent;
    f->judged_seconds = c->judged_seconds;
    f->judged_steps = c->judged_steps;
    memcpy(f->coupling, c->state.coupling, sizeof f->coupling);
    f->box = c->state.box;
    memcpy(f->input_hash, c->input_hash, sizeof f->input_hash);
    memcpy(f->isa, c->isa, sizeof f->isa);
    memcpy(f->backend, c->backend, sizeof f->backend);
    f->params = c->params;
}

static void unpack(const fixed_part *f, mds_checkpoint *c)
{
    c->threads = f->threads;
    c->part = f->part;
    c->state.has_velocities = f->has_velocities;
    c->state.step = f->step;
    c->n_trajectory = f->n_trajectory;
    c->last_trajectory_step = f->last_trajectory_step;
    c->n_series_bytes = f->n_series_bytes;
    c->finished_steps = f->finished_steps;
    c->state.seed = f->seed;
    c->state.time = f->time;
    c->state.work_noise = f->work_noise;
    c->state.work_scale = f->work_scale;
    c->elapsed_wall = f->elapsed_wall;
    c->spent = f->spent;
    c->judged_seconds = f->judged_seconds;
    c->judged_steps = f->judged_steps;
    memcpy(c->state.coupling, f->coupling, sizeof f->coupling);
    c->state.box = f->box;
    memcpy(c->input_hash, f->input_hash, sizeof f->input_hash);
    memcpy(c->isa, f->isa, sizeof f->isa);
    memcpy(c->backend, f->backend, sizeof f->backend);
    c->isa[sizeof c->isa - 1] = c->backend[sizeof c->backend - 1] = '\0';
    c->params = f->params;
}

static mds_status refuse_nonsense(const mds_checkpoint *c)
{
    const mds_state *s = &c->state;
    double  sum = s->time + s->work_noise + s->work_scale + c->elapsed_wall + c->spent + c->judged_seconds + c->judged_steps;
    int32_t i;
    int     k;

    for (k = 0; k < 9; k++) sum += s->box.a[k / 3][k % 3];
    for (k = 0; k < MDS_N_COUPLING; k++) sum += s->coupling[k];
    MDS_CHECK(isfinite(sum), MDS_E_INTERNAL, "time, box, coupling or cost are not finite: refusing to write them into a checkpoint");
    for (i = 0; i < c->state.n_atoms; i++)
        for (k = 0; k < 3; k++)
            MDS_CHECK(isfinite(c->state.x[i][k]) && isfinite(c->state.v[i][k]), MDS_E_INTERNAL,
                      "atom %d is not finite: refusing to write it into a checkpoint", i + 1);
    return MDS_OK;
}

/// One run of bytes of the file. The arrays go out from where they lie: a copy would be the peak of a large run.
typedef struct {
    const void *bytes;
    size_t      n;
} piece;

enum { N_PIECES = 4 }; // head with the fixed part, x, v, checksum

/// 0 or an errno.
static int write_piece(int fd, const piece *p)
{
    const char *s = p->bytes;
    size_t      done = 0;

    while (done < p->n) {
        const ssize_t got = write(fd, s + done, p->n - done);

        if (got == 0) return ENOSPC;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

static mds_status write_whole(const char *path, const piece pieces[N_PIECES])
{
    size_t n = 0;
    int    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), why = 0, k;

    MDS_CHECK(fd >= 0, MDS_E_WRITE, "%s: cannot write: %s", path, strerror(errno));
    for (k = 0; k < N_PIECES; k++) {
        if (!why) why = write_piece(fd, &pieces[k]);
        n += pieces[k].n;
    }
    if (!why && fsync(fd) && errno != EINVAL) why = errno;
    if (close(fd) && !why) why = errno;
    if (why) {
        unlink(path);
        MDS_FAIL(MDS_E_WRITE, "%s: cannot write a checkpoint of %.1f MB: %s", path, 1e-6 * (double)n, strerror(why));
    }
    return MDS_OK;
}

/// A rename is on the disk only when its directory is.
static void sync_directory(const char *path)
{
    char *directory = NULL;
    int   fd;

    if (mds_path_beside(&directory, path, ".") != MDS_OK) return;
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    mds_free(directory);
}

static mds_status replace(const char *path, const piece pieces[N_PIECES])
{
    mds_text   aside = {0}, before = {0};
    mds_status status;

    mds_text_add(&aside, "%s.tmp", path);
    mds_text_add(&before, "%s.prev", path);
    status = aside.failed || before.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for a checkpoint") : write_whole(aside.s, pieces);
    if (status == MDS_OK && rename(path, before.s) && errno != ENOENT)
        status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be kept as %s: %s", path, before.s, strerror(errno));
    if (status == MDS_OK && rename(aside.s, path))
        status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be put in place: %s", path, strerror(errno));
    if (status == MDS_OK) sync_directory(path);
    mds_text_free(&aside);
    mds_text_free(&before);
    return status;
}

mds_status mds_checkpoint_write(const char *path, const mds_checkpoint *c)
{
    const size_t   bytes = (size_t)c->state.n_atoms * sizeof *c->state.x;
    const uint32_t format = FORMAT;
    const uint64_t body = sizeof(fixed_part) + 2 * bytes;
    fixed_part     fixed;
    mds_text       head = {0};
    mds_sha256     sha;
    uint8_t        sum[SUM];
    mds_status     status;
    int            k;

    MDS_TRY(refuse_nonsense(c));
    pack(c, &fixed);
    mds_text_add_bytes(&head, magic, sizeof magic);
    mds_text_add_bytes(&head, (const char *)&format, sizeof format);
    mds_text_add_bytes(&head, (const char *)&order_mark, sizeof order_mark);
    mds_text_add_bytes(&head, (const char *)&body, sizeof body);
    mds_text_add_bytes(&head, (const char *)&fixed, sizeof fixed);

    const piece pieces[N_PIECES] = {{head.s, head.n}, {c->state.x, bytes}, {c->state.v, bytes}, {sum, sizeof sum}};

    mds_sha256_init(&sha);
    for (k = 0; k < N_PIECES - 1 && !head.failed; k++) mds_sha256_add(&sha, pieces[k].bytes, pieces[k].n);
    mds_sha256_end(&sha, sum);
    status = head.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for a checkpoint") : replace(path, pieces);
    mds_text_free(&head);
    return status;
}

static mds_status verify(const char *path, const char *text, size_t n)
{
    uint32_t   format, mark;
    uint64_t   body;
    mds_sha256 sha;
    uint8_t    sum[SUM];

    MDS_CHECK(n >= sizeof magic && !memcmp(text, magic, sizeof magic), MDS_E_CHECKPOINT, "%s: is not a checkpoint of mdsim", path);
    MDS_CHECK(n >= HEAD + SUM, MDS_E_CHECKPOINT, "%s: is truncated (%zu bytes)", path, n);
    memcpy(&format, text + 8, sizeof format);
    memcpy(&mark, text + 12, sizeof mark);
    memcpy(&body, text + 16, sizeof body);
    MDS_CHECK(mark == order_mark, MDS_E_CHECKPOINT, "%s: was written on a machine of the other byte order", path);
    MDS_CHECK(format == FORMAT, MDS_E_CHECKPOINT, "%s: has format %u, this mdsim reads format %d: use the version that wrote it",
              path, format, FORMAT);
    MDS_CHECK(n - HEAD - SUM >= body, MDS_E_CHECKPOINT, "%s: is truncated: %zu bytes, %llu are missing", path, n,
              (unsigned long long)(body - (n - HEAD - SUM)));
    MDS_CHECK(n - HEAD - SUM == body, MDS_E_CHECKPOINT, "%s: is damaged: %llu bytes follow its end", path,
              (unsigned long long)(n - HEAD - SUM - body));
    mds_sha256_init(&sha);
    mds_sha256_add(&sha, text, n - SUM);
    mds_sha256_end(&sha, sum);
    MDS_CHECK(!memcmp(sum, text + n - SUM, SUM), MDS_E_CHECKPOINT, "%s: its checksum is wrong: the file is damaged", path);
    MDS_CHECK(body >= sizeof(fixed_part), MDS_E_CHECKPOINT, "%s: was written by another build of mdsim", path);
    return MDS_OK;
}

static mds_status read_one(const char *path, mds_checkpoint *out)
{
    char      *text;
    size_t     n, bytes;
    fixed_part fixed;
    mds_status status;

    memset(out, 0, sizeof *out);
    MDS_TRY(mds_file_read(path, &text, &n));
    MDS_TRY_GOTO(verify(path, text, n));
    memcpy(&fixed, text + HEAD, sizeof fixed);
    bytes = (size_t)fixed.n_atoms * 3 * sizeof(double);
    if (fixed.n_atoms < 1 || n != HEAD + sizeof fixed + 2 * bytes + SUM) {
        status = mds_fail(MDS_E_CHECKPOINT, __FILE__, __LINE__, "%s: was written by another build of mdsim", path);
        goto fail;
    }
    MDS_TRY_GOTO(mds_state_init(&out->state, fixed.n_atoms));
    unpack(&fixed, out);
    memcpy(out->state.x, text + HEAD + sizeof fixed, bytes);
    memcpy(out->state.v, text + HEAD + sizeof fixed + bytes, bytes);
fail:
    mds_free(text);
    if (status != MDS_OK) mds_checkpoint_free(out);
    return status;
}

mds_status mds_checkpoint_read(const char *path, mds_checkpoint *out)
{
    mds_text   before = {0}, first = {0};
    mds_status status = read_one(path, out), second;

    if (status == MDS_OK) return MDS_OK;
    mds_text_add(&first, "%s", mds_error_text());
    mds_text_add(&before, "%s.prev", path);
    second = before.failed ? MDS_E_MEMORY : read_one(before.s, out);
    if (second == MDS_OK) {
        mds_warn("%s; going on from the one before it, %s (step %lld)", first.s, before.s, (long long)out->state.step);
        status = MDS_OK;
    } else if (status == MDS_E_MISSING && second != MDS_E_MISSING) {
        status = second;
    } else {
        status = mds_fail(status, __FILE__, __LINE__, "%s", first.s);
    }
    mds_text_free(&first);
    mds_text_free(&before);
    return status;
}

void mds_checkpoint_free(mds_checkpoint *c)
{
    mds_state_free(&c->state);
    memset(c, 0, sizeof *c);
}
