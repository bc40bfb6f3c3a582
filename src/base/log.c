// SPDX-License-Identifier: Apache-2.0
// Messages: standard error for people, the log file for the record, standard output for results.
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static mds_log_level screen_level = MDS_LOG_NOTE;
static FILE         *log_file;
static int           n_warnings;
static bool          progress_open; // a progress line stands unfinished on the terminal

void mds_log_set_level(mds_log_level level)
{
    screen_level = level;
}

/// Where the file system knows no locks (some network ones) everybody may write: a lock only guards against slips.
static mds_status lock(int fd, const char *path)
{
    MDS_CHECK(!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK, MDS_E_WRITE,
              "%s: another mdsim is running with these outputs: wait for it, stop it (kill -TERM), or give this run another "
              "output.name",
              path);
    return MDS_OK;
}

mds_status mds_log_claim(const char *path)
{
    const int  fd = open(path, O_RDONLY | O_CLOEXEC);
    mds_status status;

    if (fd < 0) return MDS_OK; // nobody's yet, or opening it to write will say what is wrong
    status = lock(fd, path);
    close(fd);
    return status;
}

mds_status mds_log_open(const char *path, bool append)
{
    int fd;

    mds_log_close();
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    MDS_CHECK(fd >= 0, MDS_E_WRITE, "%s: cannot write: %s", path, strerror(errno));
    if (lock(fd, path) != MDS_OK) {
        close(fd);
        return MDS_E_WRITE;
    }
    if ((!append && ftruncate(fd, 0)) || !(log_file = fdopen(fd, "a"))) {
        mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot write: %s", path, strerror(errno));
        close(fd);
        return MDS_E_WRITE;
    }
    setvbuf(log_file, NULL, _IOLBF, 0);
    return MDS_OK;
}

void mds_log_close(void)
{
    if (log_file) fclose(log_file);
    log_file = NULL;
}

static void end_progress_line(void)
{
    if (progress_open) fputc('\n', stderr);
    progress_open = false;
}

void mds_log(mds_log_level level, const char *fmt, ...)
{
    static const char *const labels[] = {"error: ", "warning: ", "", ""};
    va_list                  args, again;

    if (level == MDS_LOG_WARN) n_warnings++;
    va_start(args, fmt);
    if (level <= screen_level) {
        va_copy(again, args);
        end_progress_line();
        fprintf(stderr, "mdsim: %s", labels[level]);
        vfprintf(stderr, fmt, again);
        fputc('\n', stderr);
        va_end(again);
    }
    if (log_file && level < MDS_LOG_DEBUG) {
        fputs(labels[level], log_file);
        vfprintf(log_file, fmt, args);
        fputc('\n', log_file);
    }
    va_end(args);
}

void mds_log_file(const char *fmt, ...)
{
    va_list args;

    if (!log_file) return;
    va_start(args, fmt);
    vfprintf(log_file, fmt, args);
    fputc('\n', log_file);
    va_end(args);
}

void mds_print(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
}

mds_status mds_print_flush(void)
{
    errno = 0;
    MDS_CHECK(!fflush(stdout) && !ferror(stdout), MDS_E_WRITE, "standard output: cannot write: %s", strerror(errno ? errno : EIO));
    return MDS_OK;
}

bool mds_progress_is_terminal(void)
{
    return isatty(STDERR_FILENO) == 1;
}

void mds_progress(bool last, const char *fmt, ...)
{
    const bool terminal = mds_progress_is_terminal();
    va_list    args;

    if (screen_level < MDS_LOG_NOTE) return;
    va_start(args, fmt);
    if (terminal) fputs("\r\033[K", stderr);
    vfprintf(stderr, fmt, args);
    va_end(args);
    progress_open = terminal && !last;
    if (!progress_open) fputc('\n', stderr);
    fflush(stderr);
}

int mds_log_n_warnings(void)
{
    return n_warnings;
}
