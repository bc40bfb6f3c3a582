// SPDX-License-Identifier: Apache-2.0
// The message of the last failure on this thread, and the names of the statuses.
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE_SIZE = 16384 };

static _Thread_local char message[MESSAGE_SIZE];
static _Thread_local char where[256];

int mds_status_exit_code(mds_status status)
{
    static const int codes[MDS_N_STATUS] = {
#define ROW(name, code, text) code,
        MDS_STATUS_LIST(ROW)
#undef ROW
    };

    return status < MDS_N_STATUS ? codes[status] : 70;
}

const char *mds_status_text(mds_status status)
{
    static const char *const texts[MDS_N_STATUS] = {
#define ROW(name, code, text) text,
        MDS_STATUS_LIST(ROW)
#undef ROW
    };

    return status < MDS_N_STATUS ? texts[status] : "unknown status";
}

mds_status mds_fail(mds_status status, const char *file, int line, const char *fmt, ...)
{
    char    text[MESSAGE_SIZE]; // the arguments may point into the old message
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    memcpy(message, text, sizeof message);
    snprintf(where, sizeof where, "%s:%d", file, line);
    return status;
}

void mds_error_prefix(const char *fmt, ...)
{
    char    text[MESSAGE_SIZE];
    va_list args;
    size_t  n;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    n = strlen(text);
    snprintf(text + n, sizeof text - n, "%s", message);
    memcpy(message, text, sizeof message);
}

const char *mds_error_text(void)
{
    return message;
}

const char *mds_error_where(void)
{
    return where;
}

void mds_error_clear(void)
{
    message[0] = '\0';
    where[0] = '\0';
}

void mds_assert_failed(const char *file, int line, const char *what)
{
    mds_log(MDS_LOG_ERROR, "internal error at %s:%d: %s does not hold; please report this", file, line, what);
    mds_log_close();
    _Exit(mds_status_exit_code(MDS_E_INTERNAL));
}

void mds_end_at_once(mds_status status, const char *text)
{
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written; // nobody is left to tell
    _exit(mds_status_exit_code(status));
}
