// SPDX-License-Identifier: Apache-2.0
// Growing texts, whole files, paths, and the distance between words.
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool text_room(mds_text *text, size_t more)
{
    if (text->failed || mds_grow(&text->s, &text->capacity, text->n + more + 1, 1) != MDS_OK) text->failed = true;
    return !text->failed;
}

void mds_text_add_bytes(mds_text *text, const char *bytes, size_t n)
{
    if (!text_room(text, n)) return;
    memcpy(text->s + text->n, bytes, n);
    text->n += n;
    text->s[text->n] = '\0';
}

void mds_text_add_v(mds_text *text, const char *fmt, va_list args)
{
    va_list again;
    int     n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0 || !text_room(text, (size_t)n)) {
        text->failed = true;
        return;
    }
    vsnprintf(text->s + text->n, (size_t)n + 1, fmt, args);
    text->n += (size_t)n;
}

void mds_text_add(mds_text *text, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    mds_text_add_v(text, fmt, args);
    va_end(args);
}

void mds_text_add_json(mds_text *text, const char *s)
{
    mds_text_add_bytes(text, "\"", 1);
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\')
            mds_text_add(text, "\\%c", c);
        else if (c < 0x20)
            mds_text_add(text, "\\u%04x", c);
        else
            mds_text_add_bytes(text, s, 1);
    }
    mds_text_add_bytes(text, "\"", 1);
}

void mds_text_free(mds_text *text)
{
    mds_free(text->s);
    *text = (mds_text){0};
}

mds_status mds_file_read(const char *path, char **text, size_t *n)
{
    struct stat info;
    size_t      size, got = 0;
    ssize_t     part;
    int         fd = open(path, O_RDONLY | O_CLOEXEC);

    *text = NULL;
    *n = 0;
    MDS_CHECK(fd >= 0, errno == ENOENT || errno == ENOTDIR ? MDS_E_MISSING : MDS_E_INPUT, "%s: cannot open: %s", path,
              strerror(errno));
    if (fstat(fd, &info) || S_ISDIR(info.st_mode)) {
        close(fd);
        MDS_FAIL(MDS_E_INPUT, "%s: is not a file that can be read", path);
    }
    size = info.st_size > 0 ? (size_t)info.st_size : 4096;
    for (;;) {
        size_t     capacity = *text ? size + 1 : 0;
        mds_status status = MDS_OK;

        if (got == size) size += size / 2;
        if (!*text || capacity < size + 1) status = mds_grow(text, &capacity, size + 1, 1);
        if (status != MDS_OK) {
            close(fd);
            mds_free(*text);
            *text = NULL;
            return status;
        }
        part = read(fd, *text + got, size - got);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        got += (size_t)part;
        if (got == size && info.st_size > 0 && got == (size_t)info.st_size) break;
    }
    close(fd);
    if (part < 0) {
        mds_free(*text);
        *text = NULL;
        MDS_FAIL(MDS_E_INPUT, "%s: cannot read: %s", path, strerror(errno));
    }
    (*text)[got] = '\0';
    *n = got;
    return MDS_OK;
}

mds_status mds_file_write(const char *path, const char *bytes, size_t n)
{
    const bool is_stdout = !strcmp(path, "-");
    FILE      *file = is_stdout ? stdout : fopen(path, "wb");
    bool       good;

    MDS_CHECK(file, MDS_E_WRITE, "%s: cannot write: %s", path, strerror(errno));
    errno = 0;
    good = fwrite(bytes, 1, n, file) == n && fflush(file) == 0;
    if (!is_stdout && fclose(file)) good = false;
    MDS_CHECK(good, MDS_E_WRITE, "%s: cannot write: %s", path, strerror(errno ? errno : EIO));
    return MDS_OK;
}

bool mds_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

mds_status mds_path_beside(char **out, const char *base_file, const char *name)
{
    const char *slash = base_file ? strrchr(base_file, '/') : NULL;
    mds_text    text = {0};

    if (slash && name[0] != '/') mds_text_add_bytes(&text, base_file, (size_t)(slash - base_file) + 1);
    mds_text_add(&text, "%s", name);
    MDS_CHECK(!text.failed, MDS_E_MEMORY, "out of memory for a path");
    *out = text.s;
    return MDS_OK;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

int mds_text_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    int    d[LONGEST + 1][LONGEST + 1];
    size_t na = strlen(a), nb = strlen(b), i, j;

    if (na > LONGEST || nb > LONGEST) return LONGEST;
    for (i = 0; i <= na; i++) d[i][0] = (int)i;
    for (j = 0; j <= nb; j++) d[0][j] = (int)j;
    for (i = 1; i <= na; i++)
        for (j = 1; j <= nb; j++) {
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            best = least(best, least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) best = least(best, d[i - 2][j - 2] + 1);
            d[i][j] = best;
        }
    return d[na][nb];
}
