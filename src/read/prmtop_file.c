// SPDX-License-Identifier: Apache-2.0
// The frame of a prmtop: %FLAG sections and their Fortran formats.
//
// A prmtop is a list of sections: a %FLAG line with a name, %COMMENT lines, a %FORMAT line such as (10I8), (5E16.8), (20a4)
// or (8(F9.5)), then lines of fixed-width fields. Fields touch (names of four letters, negative numbers), so they are cut
// by width and never by blanks. Everything that Fortran would read differently from C is refused rather than guessed: a
// field of blanks (Fortran: 0), a short line before the last (more zeros), a real number without a decimal point (Fortran
// divides it by 10^d). Format: AMBER's file format description [amberformats].
#include "read/prmtop.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELD = 64 }; // characters of the widest numeric field that is read

// ----------------------------------------------------------------------------------------------- %FORMAT

typedef struct {
    const char *at, *end;
    char        kind;
    int         width, count;
} format_parser;

static int parse_number(format_parser *f, int otherwise)
{
    int value = 0;

    if (f->at >= f->end || !isdigit((unsigned char)*f->at)) return otherwise;
    while (f->at < f->end && isdigit((unsigned char)*f->at) && value < 100000) value = 10 * value + (*f->at++ - '0');
    return value;
}

static char next_code(const format_parser *f)
{
    return f->at < f->end ? (char)toupper((unsigned char)*f->at) : '\0';
}

/// One descriptor such as I8, E16.8, a4, repeated `repeat` times.
static bool parse_descriptor(format_parser *f, int repeat)
{
    const char code = next_code(f);
    char       kind;
    int        width;

    if (!code || !strchr("AIEFDG", code)) return false;
    kind = code == 'A' ? 'a' : code == 'I' ? 'i' : 'e';
    f->at++;
    width = parse_number(f, 0);
    if (next_code(f) == '.') {
        f->at++;
        (void)parse_number(f, 0);
        if (next_code(f) == 'E') { // digits of the exponent, E16.8E3
            f->at++;
            (void)parse_number(f, 0);
        }
    }
    if (width < 1 || width > 1000 || repeat < 1 || repeat > 1000 || f->count > 1000) return false;
    if (f->count && (kind != f->kind || width != f->width)) kind = 'm';
    f->kind = kind;
    f->width = width;
    f->count += repeat;
    return true;
}

/// The list between two parentheses; a group may hold one more list, repeated.
static bool parse_list(format_parser *f, int depth)
{
    if (next_code(f) != '(' || depth > 3) return false;
    f->at++;
    for (;;) {
        const int repeat = parse_number(f, 1);

        if (next_code(f) == '(') {
            const int before = f->count;

            if (!parse_list(f, depth + 1) || repeat < 1 || repeat > 1000) return false;
            f->count = before + (f->count - before) * repeat;
        } else if (!parse_descriptor(f, repeat)) {
            return false;
        }
        if (next_code(f) == ',') {
            f->at++;
            continue;
        }
        if (next_code(f) != ')') return false;
        f->at++;
        return f->count > 0 && f->count <= 1000;
    }
}

/// "(5E16.8)" into kind, fields a line and width.
static bool parse_format(mds_prm_section *s, const char *text, size_t n)
{
    char          bare[128];
    size_t        k, m = 0;
    format_parser f = {0};

    for (k = 0; k < n && m < sizeof bare; k++)
        if (!isspace((unsigned char)text[k])) bare[m++] = text[k];
    f.at = bare;
    f.end = bare + m;
    if (!parse_list(&f, 0) || f.at != f.end) return false;
    s->kind = f.kind;
    s->per_line = f.count;
    s->width = f.width;
    return true;
}

// ---------------------------------------------------------------------------------------------- sections

/// Length of a line without blanks, carriage return and newline at its end.
static size_t trimmed(const char *line, const char *end)
{
    size_t n = (size_t)(end - line);

    while (n && isspace((unsigned char)line[n - 1])) n--;
    return n;
}

static bool starts(const char *line, size_t n, const char *word)
{
    const size_t m = strlen(word);

    return n >= m && !memcmp(line, word, m);
}

static mds_status add_section(mds_prm_file *f, const char *line, size_t n, int32_t number)
{
    mds_prm_section *s;
    size_t           k = 5, m = 0;

    MDS_TRY(mds_grow(&f->section, &f->cap, (size_t)f->n + 1, sizeof *f->section));
    s = &f->section[f->n];
    memset(s, 0, sizeof *s);
    while (k < n && isspace((unsigned char)line[k])) k++;
    while (k < n && m + 1 < sizeof s->name && isgraph((unsigned char)line[k])) s->name[m++] = line[k++];
    MDS_CHECK(m && k == n, MDS_E_INPUT, "%s:%d: %%FLAG needs one word as its name", f->path, number);
    MDS_CHECK(!mds_prm_find(f, s->name), MDS_E_INPUT, "%s:%d: %%FLAG %s for the second time (first in line %d)", f->path,
              number, s->name, mds_prm_find(f, s->name)->line);
    s->line = number;
    s->first = number + 2;
    f->n++;
    return MDS_OK;
}

/// A line that begins with %.
static mds_status take_mark(mds_prm_file *f, const char *line, size_t n, int32_t number)
{
    mds_prm_section *s = f->n ? &f->section[f->n - 1] : NULL;

    if (starts(line, n, "%FLAG")) return add_section(f, line, n, number);
    if (starts(line, n, "%VERSION")) return MDS_OK;
    if (starts(line, n, "%COMMENT")) {
        if (s && !s->comment) s->comment = line;
        if (s) s->comment_end = line + n;
        return MDS_OK;
    }
    MDS_CHECK(starts(line, n, "%FORMAT"), MDS_E_INPUT,
              "%s:%d: a line that begins with %% must be %%VERSION, %%FLAG, %%COMMENT or %%FORMAT", f->path, number);
    MDS_CHECK(s, MDS_E_INPUT, "%s:%d: %%FORMAT before any %%FLAG", f->path, number);
    MDS_CHECK(!s->kind && !s->data, MDS_E_INPUT, "%s:%d: second %%FORMAT of section %s", f->path, number, s->name);
    MDS_CHECK(parse_format(s, line + 7, n - 7), MDS_E_INPUT,
              "%s:%d: %%FORMAT of section %s is not a Fortran format such as (10I8), (5E16.8) or (20a4)", f->path, number,
              s->name);
    return MDS_OK;
}

/// A line of data.
static mds_status take_data(mds_prm_file *f, const char *line, const char *end, int32_t number, bool after_mark)
{
    const size_t     n = trimmed(line, end);
    mds_prm_section *s = f->n ? &f->section[f->n - 1] : NULL;

    if (!s) {
        MDS_CHECK(!n, MDS_E_INPUT,
                  "%s:%d: data before any %%FLAG: not an AMBER topology in the format of AMBER 7 and later", f->path, number);
        return MDS_OK;
    }
    if (!s->kind) {
        MDS_CHECK(!n, MDS_E_INPUT, "%s:%d: section %s has no %%FORMAT line", f->path, number, s->name);
        return MDS_OK;
    }
    if (!s->data) {
        s->data = line;
        s->first = number;
    } else {
        MDS_CHECK(!after_mark || !n, MDS_E_INPUT, "%s:%d: a %%COMMENT within the data of section %s", f->path, number, s->name);
    }
    if (!after_mark || s->data == line) s->end = end;
    return MDS_OK;
}

mds_status mds_prm_open(mds_prm_file *f, const char *path)
{
    const char *at, *end;
    size_t      n;
    int32_t     number = 0;
    bool        after_mark = false; // the line before was a % line

    f->path = path;
    MDS_TRY(mds_file_read(path, &f->text, &n));
    end = f->text + n;
    for (at = f->text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;

        MDS_CHECK(number < INT32_MAX, MDS_E_INPUT, "%s: too many lines", path);
        number++;
        if (*at == '%') {
            MDS_TRY(take_mark(f, at, trimmed(at, next), number));
            after_mark = true;
        } else {
            MDS_TRY(take_data(f, at, next, number, after_mark));
            after_mark = false;
        }
        at = next;
    }
    MDS_CHECK(f->n, MDS_E_INPUT, "%s: no %%FLAG line: not an AMBER topology", path);
    return MDS_OK;
}

void mds_prm_close(mds_prm_file *f)
{
    mds_free(f->text);
    mds_free(f->section);
    f->text = NULL;
    f->section = NULL;
    f->n = 0;
    f->cap = 0;
}

const mds_prm_section *mds_prm_find(const mds_prm_file *f, const char *name)
{
    int32_t k;

    for (k = 0; k < f->n; k++)
        if (!strcmp(f->section[k].name, name)) return &f->section[k];
    return NULL;
}

int32_t mds_prm_line(const mds_prm_section *s, int64_t k)
{
    return s->first + (int32_t)(k / (s->per_line ? s->per_line : 1));
}

// ------------------------------------------------------------------------------------------------ values

typedef enum { FIELD_GOOD, FIELD_BLANK, FIELD_BAD, FIELD_NO_POINT } field_verdict;

/// The characters of a field between its blanks, terminated; its length.
static int field_core(const char *text, int n, char core[MAX_FIELD + 2])
{
    int first = 0, m = 0;

    while (first < n && isspace((unsigned char)text[first])) first++;
    while (n > first && isspace((unsigned char)text[n - 1])) n--;
    if (n - first > MAX_FIELD) first = n - MAX_FIELD - 1; // too long: any verdict but good
    for (; first < n; first++) core[m++] = text[first];
    core[m] = '\0';
    return m;
}

static field_verdict parse_int(const char *text, int n, int32_t *out)
{
    char  core[MAX_FIELD + 2], *end;
    long  value;
    int   k, m = field_core(text, n, core);

    if (!m) return FIELD_BLANK;
    for (k = core[0] == '-' || core[0] == '+'; k < m; k++)
        if (!isdigit((unsigned char)core[k])) return FIELD_BAD;
    errno = 0;
    value = strtol(core, &end, 10);
    if (end == core || *end || errno || value > INT32_MAX || value < -INT32_MAX) return FIELD_BAD;
    *out = (int32_t)value;
    return FIELD_GOOD;
}

/// Fortran writes 1.0D+00 for double precision and drops the letter of a three-digit exponent (1.0-100).
static field_verdict parse_real(const char *text, int n, double *out)
{
    char core[MAX_FIELD + 2], number[MAX_FIELD + 4], *end;
    int  k, m = field_core(text, n, core), w = 0;
    bool point = false, exponent = false;

    if (!m) return FIELD_BLANK;
    if (m > MAX_FIELD) return FIELD_BAD;
    for (k = 0; k < m; k++) {
        const char c = core[k];

        if (strchr("eEdD", c)) {
            if (exponent) return FIELD_BAD;
            exponent = true;
            number[w++] = 'e';
        } else if (c == '+' || c == '-') {
            if (k && (isdigit((unsigned char)core[k - 1]) || core[k - 1] == '.')) {
                if (exponent) return FIELD_BAD;
                exponent = true;
                number[w++] = 'e';
            }
            number[w++] = c;
        } else if (isdigit((unsigned char)c) || c == '.') {
            point = point || c == '.';
            number[w++] = c;
        } else {
            return FIELD_BAD;
        }
    }
    number[w] = '\0';
    *out = strtod(number, &end);
    if (end == number || *end || !isfinite(*out)) return FIELD_BAD;
    return point || *out == 0 ? FIELD_GOOD : FIELD_NO_POINT;
}

static mds_status field_fail(const mds_prm_file *f, const mds_prm_section *s, int32_t line, field_verdict verdict,
                             const char *text, int n)
{
    while (n && isspace((unsigned char)text[0])) text++, n--;
    switch (verdict) {
    case FIELD_BLANK:
        MDS_FAIL(MDS_E_INPUT, "%s:%d: section %s has a blank field where a number belongs", f->path, line, s->name);
    case FIELD_NO_POINT:
        MDS_FAIL(MDS_E_INPUT, "%s:%d: \"%.*s\" in section %s has no decimal point: Fortran would move it; write one", f->path,
                 line, n, text, s->name);
    default:
        MDS_FAIL(MDS_E_INPUT, "%s:%d: \"%.*s\" in section %s is not %s number", f->path, line, n, text, s->name,
                 s->kind == 'i' ? "an integer" : "a");
    }
}

/// The section, checked to be there and to hold numbers of the kind asked for (integers may stand for reals).
static mds_status want_section(const mds_prm_file *f, const char *name, const char *kinds, size_t n,
                               const mds_prm_section **out)
{
    const mds_prm_section *s = *out = mds_prm_find(f, name);

    if (!s) {
        MDS_CHECK(!n, MDS_E_INPUT, "%s: section %%FLAG %s is missing, %zu values are expected in it", f->path, name, n);
        return MDS_OK;
    }
    MDS_CHECK(s->kind, MDS_E_INPUT, "%s:%d: section %s has no %%FORMAT line", f->path, s->line, name);
    MDS_CHECK(strchr(kinds, s->kind), MDS_E_INPUT, "%s:%d: section %s has a %%FORMAT of the wrong kind", f->path, s->line,
              name);
    MDS_CHECK(!n || (s->data && n <= (size_t)(s->end - s->data)), MDS_E_INPUT,
              "%s:%d: section %s is too short for the %zu values expected in it", f->path, s->line, name, n);
    return MDS_OK;
}

/// All fields of a numeric section into ints or reals, exactly n.
static mds_status read_numbers(const mds_prm_file *f, const mds_prm_section *s, size_t n, int32_t *ints, double *reals)
{
    const char *at = s->data;
    size_t      have = 0;
    int32_t     line = s->first, short_line = 0;

    for (; at && at < s->end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(s->end - at));
        const char *next = stop ? stop + 1 : s->end;
        const int   length = (int)(trimmed(at, next) < INT_MAX ? trimmed(at, next) : INT_MAX);
        const int   fields = length / s->width + (length % s->width > 0);
        int         k;

        MDS_CHECK(fields <= s->per_line, MDS_E_INPUT, "%s:%d: section %s has more than %d characters in a line", f->path, line,
                  s->name, s->per_line * s->width);
        MDS_CHECK(!fields || !short_line, MDS_E_INPUT, "%s:%d: section %s goes on after a line that is not full", f->path,
                  short_line, s->name);
        for (k = 0; k < fields; k++, have++) {
            const char   *field = at + k * s->width;
            const int     width = length - k * s->width < s->width ? length - k * s->width : s->width;
            field_verdict verdict;

            MDS_CHECK(have < n, MDS_E_INPUT, "%s:%d: section %s holds more than the %zu values that POINTERS announce", f->path,
                      line, s->name, n);
            verdict = ints ? parse_int(field, width, &ints[have]) : parse_real(field, width, &reals[have]);
            if (verdict == FIELD_NO_POINT && s->kind == 'i') verdict = FIELD_GOOD;
            if (verdict != FIELD_GOOD) return field_fail(f, s, line, verdict, field, width);
        }
        if (fields < s->per_line && !short_line) short_line = line;
        at = next;
    }
    MDS_CHECK(have == n, MDS_E_INPUT, "%s:%d: section %s holds %zu values, POINTERS announce %zu", f->path, s->line, s->name,
              have, n);
    return MDS_OK;
}

size_t mds_prm_count(const mds_prm_section *s)
{
    const char *at = s->data;
    size_t      n = 0;

    while (at && at < s->end) {
        const char *stop = memchr(at, '\n', (size_t)(s->end - at));
        const char *next = stop ? stop + 1 : s->end;

        n += (trimmed(at, next) + (size_t)s->width - 1) / (size_t)s->width;
        at = next;
    }
    return n;
}

/// A failure leaves the caller nothing to free: `out` is the T ** that was allocated.
static mds_status keep(mds_status status, void *out)
{
    void *memory = NULL;

    if (status == MDS_OK) return status;
    memcpy(&memory, out, sizeof memory);
    mds_free(memory);
    memset(out, 0, sizeof memory);
    return status;
}

mds_status mds_prm_ints(const mds_prm_file *f, const char *name, size_t n, int32_t **out)
{
    const mds_prm_section *s;

    MDS_TRY(want_section(f, name, "i", n, &s));
    MDS_TRY(mds_alloc(out, n, sizeof **out));
    return s ? keep(read_numbers(f, s, n, *out, NULL), out) : MDS_OK;
}

mds_status mds_prm_reals(const mds_prm_file *f, const char *name, size_t n, double **out)
{
    const mds_prm_section *s;

    MDS_TRY(want_section(f, name, "ei", n, &s));
    MDS_TRY(mds_alloc(out, n, sizeof **out));
    return s ? keep(read_numbers(f, s, n, NULL, *out), out) : MDS_OK;
}

static void copy_field(const char *text, size_t n, char out[8])
{
    size_t k;

    while (n && isspace((unsigned char)*text)) text++, n--;
    while (n && isspace((unsigned char)text[n - 1])) n--;
    for (k = 0; k < 8; k++) out[k] = k < n && k < 7 && isgraph((unsigned char)text[k]) ? text[k] : '\0';
}

mds_status mds_prm_names(const mds_prm_file *f, const char *name, size_t n, char (**out)[8])
{
    const mds_prm_section *s;
    const char            *at;
    size_t                 have = 0;

    MDS_TRY(want_section(f, name, "a", 0, &s));
    MDS_CHECK(s && s->data, MDS_E_INPUT, "%s: section %%FLAG %s is missing or empty, %zu names are expected in it", f->path,
              name, n);
    MDS_CHECK(n <= (size_t)(s->end - s->data) * (size_t)s->per_line, MDS_E_INPUT,
              "%s:%d: section %s is too short for the %zu names expected in it", f->path, s->line, name, n);
    MDS_TRY(mds_alloc(out, n, sizeof **out));
    for (at = s->data; at < s->end && have < n;) {
        const char  *stop = memchr(at, '\n', (size_t)(s->end - at));
        const char  *next = stop ? stop + 1 : s->end;
        const size_t length = trimmed(at, next);
        int          k;

        for (k = 0; k < s->per_line && have < n; k++, have++) {
            const size_t from = (size_t)k * (size_t)s->width;

            if (from < length)
                copy_field(at + from, length - from < (size_t)s->width ? length - from : (size_t)s->width, (*out)[have]);
        }
        at = next;
    }
    if (have == n) return MDS_OK;
    return keep(mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s:%d: section %s holds %zu names, POINTERS announce %zu", f->path,
                         s->line, name, have, n),
                out);
}
