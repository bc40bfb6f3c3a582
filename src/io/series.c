// SPDX-License-Identifier: Apache-2.0
// run.csv: one row a time, each written whole or not at all.
//
// Rows go out with one write(2); a short one (disk full) is cut off again, so the file always ends with a whole row.
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mds_series {
    int     fd;
    int64_t n_bytes;
    char   *path;
};

static void free_series(mds_series *s)
{
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    mds_free(s->path);
    mds_free(s);
}

static mds_status put(mds_series *s, const char *text, size_t n)
{
    ssize_t got;

    do {
        got = write(s->fd, text, n);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)n) {
        s->n_bytes += (int64_t)n;
        return MDS_OK;
    }
    const int why = got < 0 ? errno : ENOSPC;

    if (got > 0 && ftruncate(s->fd, (off_t)s->n_bytes)) MDS_FAIL(MDS_E_WRITE, "%s: a torn row cannot be removed: %s", s->path, strerror(errno));
    lseek(s->fd, (off_t)s->n_bytes, SEEK_SET);
    MDS_FAIL(MDS_E_WRITE, "%s: cannot write: %s", s->path, strerror(why));
}

static mds_status open_series(const char *path, int flags, mds_series **out)
{
    mds_series *s;

    *out = NULL;
    MDS_TRY(mds_alloc(&s, 1, sizeof *s));
    s->fd = open(path, flags | O_WRONLY | O_CLOEXEC, 0666);
    if (s->fd < 0) {
        const int why = errno;

        free_series(s);
        MDS_FAIL(MDS_E_WRITE, "%s: cannot %s: %s", path, flags & O_CREAT ? "create" : "open", strerror(why));
    }
    if (mds_copy_text(&s->path, path, SIZE_MAX) != MDS_OK) {
        free_series(s);
        return MDS_E_MEMORY;
    }
    *out = s;
    return MDS_OK;
}

mds_status mds_series_create(const char *path, mds_series **out)
{
    mds_text   head = {0};
    mds_status status;
    int        k;

    MDS_TRY(open_series(path, O_CREAT | O_EXCL, out));
    mds_text_add(&head, "step,time_ps,potential_kj_mol,kinetic_kj_mol,total_kj_mol,conserved_kj_mol,temperature_k,pressure_bar,"
                        "volume_nm3,density_kg_m3");
    for (k = 0; k < MDS_N_ENERGY; k++) mds_text_add(&head, ",%s_kj_mol", mds_energy_name((mds_energy)k));
    mds_text_add(&head, "\n");
    status = head.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for %s", path) : put(*out, head.s, head.n);
    mds_text_free(&head);
    if (status != MDS_OK) {
        free_series(*out);
        *out = NULL;
        unlink(path); // ours, and without its head no series
    }
    return status;
}

mds_status mds_series_resume(const char *path, int64_t n_bytes, mds_series **out)
{
    struct stat info;

    *out = NULL;
    MDS_CHECK(stat(path, &info) == 0 && info.st_size >= n_bytes, MDS_E_CHECKPOINT,
              "%s: is missing or shorter than the checkpoint says (%lld bytes); put it back, or begin again with --restart=never",
              path, (long long)n_bytes);
    MDS_TRY(open_series(path, 0, out));
    if (ftruncate((*out)->fd, (off_t)n_bytes) || lseek((*out)->fd, (off_t)n_bytes, SEEK_SET) < 0) {
        const int why = errno;

        free_series(*out);
        *out = NULL;
        MDS_FAIL(MDS_E_WRITE, "%s: cannot be cut back to the checkpoint: %s", path, strerror(why));
    }
    (*out)->n_bytes = n_bytes;
    return MDS_OK;
}

mds_status mds_series_append(mds_series *s, const mds_series_row *row)
{
    mds_text   line = {0};
    mds_status status;
    int        k;

    mds_text_add(&line, "%lld,%.6f,%.8f,%.8f,%.8f,%.8f,%.6f,%.6f,%.9f,%.6f", (long long)row->step, row->time, row->potential, row->kinetic,
                 row->potential + row->kinetic, row->conserved, row->temperature, row->pressure, row->volume, row->density);
    for (k = 0; k < MDS_N_ENERGY; k++) mds_text_add(&line, ",%.6f", row->energy[k]);
    mds_text_add(&line, "\n");
    status = line.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for %s", s->path) : put(s, line.s, line.n);
    mds_text_free(&line);
    return status;
}

mds_status mds_series_sync(mds_series *s)
{
    MDS_CHECK(fsync(s->fd) == 0 || errno == EINVAL, MDS_E_WRITE, "%s: cannot be synced: %s", s->path, strerror(errno));
    return MDS_OK;
}

int64_t mds_series_bytes(const mds_series *s)
{
    return s->n_bytes;
}

mds_status mds_series_close(mds_series *s)
{
    mds_status status = MDS_OK;

    if (!s) return MDS_OK;
    if (close(s->fd)) status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be closed: %s", s->path, strerror(errno));
    s->fd = -1;
    free_series(s);
    return status;
}
