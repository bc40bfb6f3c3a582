// SPDX-License-Identifier: Apache-2.0
// Small files for other programs: .npy arrays and .gro coordinates.
#include "io/io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

mds_status mds_npy_write(const char *path, const double (*rows)[3], int32_t n)
{
    mds_text   text = {0};
    char       head[128];
    int        length;
    mds_status status;

    // numpy format 1.0: magic, version, length of the header, a Python dict padded so that the data starts at 128
    length = snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 3), }", n);
    mds_text_add_bytes(&text, "\x93NUMPY\x01\x00\x76\x00", 10); // 0x0076 = 118 = 128 - 10
    mds_text_add_bytes(&text, head, (size_t)length);
    while (!text.failed && text.n < 127) mds_text_add_bytes(&text, " ", 1);
    mds_text_add_bytes(&text, "\n", 1);
    mds_text_add_bytes(&text, (const char *)rows, (size_t)n * sizeof *rows);
    status = text.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for %s", path) : mds_file_write(path, text.s, text.n);
    mds_text_free(&text);
    return status;
}

/// One coordinate line. Numbers wrap as the fixed columns force them to.
static void gro_line(mds_text *out, const mds_system *system, int32_t i, const double x[3], const double *v)
{
    const int32_t r = system->name.residue_of[i];
    const bool    known = r >= 0 && r < system->name.n_residues;
    char          line[1024]; // one call a line: a million atoms are a million lines
    int           n;

    n = snprintf(line, sizeof line, "%5d%-5.5s%5.5s%5d%12.7f%12.7f%12.7f", known ? system->name.residue_number[r] % 100000 : 0,
                 known ? system->name.residue[r] : "UNK", system->name.atom[i], (i + 1) % 100000, x[0], x[1], x[2]);
    if (v && n > 0) n += snprintf(line + n, sizeof line - (size_t)n, "%12.8f%12.8f%12.8f", v[0], v[1], v[2]);
    if (n < 1 || n >= (int)sizeof line - 1) {
        out->failed = true;
        return;
    }
    line[n++] = '\n';
    mds_text_add_bytes(out, line, (size_t)n);
}

static bool send(FILE *file, mds_text *text)
{
    const bool good = !text->failed && fwrite(text->s, 1, text->n, file) == text->n;

    text->n = 0;
    return good;
}

/// Block by block: the text of a million atoms is 107 MB, more than any array of theirs.
static mds_status write_gro(const char *path, const char *title, const mds_system *system, const mds_box *box,
                            const double (*x)[3], const double (*v)[3])
{
    enum { BLOCK = 1 << 16 };
    const double(*h)[3] = box->a;
    mds_text text = {0};
    FILE    *file = fopen(path, "wb");
    bool     good, failed;
    int32_t  i;

    MDS_CHECK(file, MDS_E_WRITE, "%s: cannot write: %s", path, strerror(errno));
    errno = 0;
    mds_text_add(&text, "%.*s\n%5d\n", (int)strcspn(title, "\r\n"), title, system->n_atoms);
    for (good = true, i = 0; i < system->n_atoms && good && !text.failed; i++) {
        gro_line(&text, system, i, x[i], v ? v[i] : NULL);
        if (text.n >= BLOCK) good = send(file, &text);
    }
    mds_text_add(&text, "%12.7f%12.7f%12.7f", h[0][0], h[1][1], h[2][2]);
    if (h[1][0] != 0 || h[2][0] != 0 || h[2][1] != 0)
        mds_text_add(&text, "%12.7f%12.7f%12.7f%12.7f%12.7f%12.7f", 0.0, 0.0, h[1][0], 0.0, h[2][0], h[2][1]);
    mds_text_add(&text, "\n");
    good = good && send(file, &text) && fflush(file) == 0;
    if (fclose(file)) good = false;
    failed = text.failed;
    mds_text_free(&text);
    MDS_CHECK(!failed, MDS_E_MEMORY, "out of memory for %s", path);
    MDS_CHECK(good, MDS_E_WRITE, "%s: cannot write: %s", path, strerror(errno ? errno : EIO));
    return MDS_OK;
}

mds_status mds_gro_write(const char *path, const char *title, const mds_system *system, const mds_box *box,
                         const double (*x)[3], const double (*v)[3])
{
    mds_text   aside = {0};
    mds_status status;

    mds_text_add(&aside, "%s.tmp", path);
    MDS_CHECK(!aside.failed, MDS_E_MEMORY, "out of memory for %s", path);
    status = write_gro(aside.s, title, system, box, x, v);
    if (status == MDS_OK && rename(aside.s, path))
        status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot write: %s", path, strerror(errno));
    if (status != MDS_OK) remove(aside.s);
    mds_text_free(&aside);
    return status;
}
