// SPDX-License-Identifier: Apache-2.0
// CSV with a header line, as RFC 4180 has it: commas, double quotes, quotes doubled inside quotes, lines ended by LF or CR LF.
//
// The file is read whole and cut up in place. Its text comes from others, so control characters (a line break in quotes
// among them) and bytes that are not UTF-8 become '?' here, at the door, and nothing behind it need think of terminals.
#include "plan/inside.h"

#include "io/io.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 200, MOST_ROWS = 2000000 };

/// Length of the UTF-8 sequence at s, 0 if it is none.
static int utf8(const unsigned char *s)
{
    int n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    int k;

    for (k = 1; k < n; k++)
        if ((s[k] & 0xc0) != 0x80) return 0;
    if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0) return 0;                          // C1 controls
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))) return 0; // overlong, surrogates
    if (n == 3 && s[0] == 0xe2 && ((s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
        return 0; // line separators and marks that turn the direction of writing
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))) return 0;
    return n;
}

size_t plan_cut(const char *s, size_t n)
{
    const size_t all = strlen(s);

    if (all <= n) return all;
    while (n && ((unsigned char)s[n] & 0xc0) == 0x80) n--;
    return n;
}

static void make_printable(char *cell)
{
    unsigned char *s = (unsigned char *)cell;

    while (*s) {
        const int n = *s < 0x20 || *s == 0x7f ? 0 : utf8(s);

        if (!n) *s = '?';
        s += n ? n : 1;
    }
}

static mds_status add_cell(plan_table *t, size_t *n, char *cell)
{
    MDS_TRY(mds_grow(&t->cell, &t->cap_cell, *n + 1, sizeof *t->cell));
    make_printable(cell);
    t->cell[(*n)++] = cell;
    return MDS_OK;
}

/// Cut one row at *place into cells; *place moves behind it.
static mds_status cut_row(plan_table *t, char **place, int *line, size_t *n_cells, int *n_in_row)
{
    const int first = *line;
    char     *s = *place;
    bool      last = false;

    for (*n_in_row = 0; !last; (*n_in_row)++) {
        char *cell = s, *end = s;

        MDS_CHECK(*n_in_row < MOST_COLUMNS, MDS_E_INPUT, "%s:%d: more than %d columns", t->path, first, MOST_COLUMNS);
        if (*s == '"') {
            for (s++;; s++) {
                MDS_CHECK(*s, MDS_E_INPUT, "%s:%d: a quote is not closed", t->path, first);
                if (*s == '\n') (*line)++;
                if (*s == '"' && *++s != '"') break;
                *end++ = *s;
            }
            while (*s == ' ') s++;
            MDS_CHECK(!*s || *s == ',' || *s == '\n' || *s == '\r', MDS_E_INPUT, "%s:%d: text behind a closing quote", t->path, *line);
        } else {
            s += strcspn(s, ",\n\r");
            end = s;
        }
        last = *s != ',';
        if (*s == '\r' && s[1] == '\n') s++;
        if (last && *s) (*line)++;
        if (*s) s++;
        *end = '\0';
        MDS_TRY(add_cell(t, n_cells, cell));
    }
    *place = s;
    return MDS_OK;
}

static mds_status cut(plan_table *t)
{
    size_t n_cells = 0;
    char  *s = t->text;
    int    line = 1, n;

    if (!strncmp(s, "\xef\xbb\xbf", 3)) s += 3;
    while (*s) {
        const int first = line;

        if (*s == '\n' || *s == '\r') { // an empty line
            if (*s == '\n') line++;
            s++;
            continue;
        }
        MDS_CHECK(t->n_rows < MOST_ROWS, MDS_E_INPUT, "%s: more than %d rows", t->path, MOST_ROWS);
        MDS_TRY(mds_grow(&t->line, &t->cap_line, (size_t)t->n_rows + 1, sizeof *t->line));
        MDS_TRY(cut_row(t, &s, &line, &n_cells, &n));
        if (!t->n_rows) t->n_columns = n;
        MDS_CHECK(n == t->n_columns, MDS_E_INPUT, "%s:%d: %d columns where the header has %d", t->path, first, n, t->n_columns);
        t->line[t->n_rows++] = first;
    }
    MDS_CHECK(t->n_rows, MDS_E_INPUT, "%s: is empty; the first line must name the columns", t->path);
    return MDS_OK;
}

mds_status plan_table_read(const char *path, plan_table *out)
{
    mds_sha256 sha;
    mds_status status;
    size_t     n;

    *out = (plan_table){0};
    MDS_TRY(mds_file_read(path, &out->text, &n));
    mds_sha256_init(&sha);
    mds_sha256_add(&sha, out->text, n);
    mds_sha256_end(&sha, out->sha);
    status = mds_copy_text(&out->path, path, SIZE_MAX);
    if (status == MDS_OK && strlen(out->text) != n) status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s: is no text: it has a zero byte", path);
    if (status == MDS_OK) status = cut(out);
    if (status != MDS_OK) plan_table_free(out);
    return status;
}

void plan_table_free(plan_table *t)
{
    mds_free(t->path);
    mds_free(t->text);
    mds_free(t->cell);
    mds_free(t->line);
    *t = (plan_table){0};
}

int plan_column(const plan_table *t, const char *name)
{
    int k;

    for (k = 0; k < t->n_columns; k++)
        if (!strcmp(t->cell[k], name)) return k;
    return -1;
}

mds_status plan_column_needed(const plan_table *t, const char *name, int *out)
{
    *out = plan_column(t, name);
    MDS_CHECK(*out >= 0, MDS_E_INPUT, "%s:1: there is no column '%s'", t->path, name);
    return MDS_OK;
}

const char *plan_cell(const plan_table *t, int row, int column)
{
    return column < 0 ? "" : t->cell[(size_t)row * (size_t)t->n_columns + (size_t)column];
}

mds_status plan_number(const plan_table *t, int row, int column, double *out)
{
    const char *s = plan_cell(t, row, column);
    char       *end;

    *out = NAN;
    if (!*s) return MDS_OK;
    *out = strtod(s, &end);
    MDS_CHECK(end != s && !*end && isfinite(*out) && *out >= 0 && *out < 1e12, MDS_E_INPUT, "%s:%d: %s: '%.60s' is no number of 0 or more", t->path,
              t->line[row], plan_cell(t, 0, column), s);
    return MDS_OK;
}
