// SPDX-License-Identifier: Apache-2.0
// The text of a conf: includes put in place, and words refused that libconfig would silently misread.
//
// libconfig 1.5, which the distributions carry, resolves @include against one fixed directory (nested and
// absolute names fail), and cuts integers beyond 32 bits without a suffix to their low bits: 3000000000
// becomes -1294967296. Both are cured before the parser sees the text. A small scanner walks over it, knows
// comments and strings, checks every number, and replaces each @include line by the file's text; a map keeps
// the file and number of each line, so that messages name the place in the file that the user wrote.
#include "io/config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAX_DEPTH = 16, // of includes; more is a file that includes itself
    MAX_FILES = 256,
    MAX_BYTES = 16 << 20 // a conf is small; more is a trajectory given by mistake
};

typedef struct {
    mds_source   *source;
    mds_problems *problems;
    const char   *s, *end;    // what is left to scan
    int32_t       file, line; // where we are
    int           depth;
    bool          is_file;    // may include
    bool          line_start; // only blanks so far on this line
} scanner;

static void scan(scanner *sc);

static mds_status begin_line(mds_source *source, int32_t file, int32_t line)
{
    MDS_TRY(mds_grow(&source->file, &source->cap_file, (size_t)source->n_lines + 1, sizeof *source->file));
    MDS_TRY(
        mds_grow(&source->number, &source->cap_number, (size_t)source->n_lines + 1, sizeof *source->number));
    source->file[source->n_lines] = file;
    source->number[source->n_lines] = line;
    source->n_lines++;
    return MDS_OK;
}

static void put(scanner *sc, const char *bytes, size_t n)
{
    mds_text_add_bytes(&sc->source->text, bytes, n);
}

static void new_line(scanner *sc, int32_t line)
{
    if (begin_line(sc->source, sc->file, line) != MDS_OK) sc->source->text.failed = true;
    sc->line = line;
    sc->line_start = true;
}

static void complain(const scanner *sc, const char *what, const char *word, size_t n, const char *advice)
{
    const int shown = n > 60 ? 60 : (int)n;

    mds_problem_add(sc->problems, sc->source->n_lines, MDS_E_INPUT, "%s:%d: %s%s%s%.*s%s%s",
                    sc->source->name[sc->file], sc->line, what, n && *what ? " " : "", n ? "'" : "", shown,
                    word, n ? "'" : "", advice);
}

// ------------------------------------------------------------------------------------------------- numbers

/// Digits of an integer literal without its suffix; false if the word is something else. *base is 10 or 16.
static bool is_integer(const char *word, size_t n, int *base, int *n_suffix)
{
    size_t i = 0;

    for (*n_suffix = 0; n > 1 && *n_suffix < 2 && word[n - 1] == 'L'; n--) ++*n_suffix;
    if (n > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X')) {
        *base = 16;
        for (i = 2; i < n; i++)
            if (!isxdigit((unsigned char)word[i])) return false;
        return true;
    }
    *base = 10;
    if (word[0] == '+' || word[0] == '-') i = 1;
    if (i == n) return false;
    for (; i < n; i++)
        if (!isdigit((unsigned char)word[i])) return false;
    return true;
}

static void check_integer(scanner *sc, const char *word, size_t n, int base, int n_suffix)
{
    char      copy[32];
    long long value = 0;
    bool      cut = false;

    errno = n < sizeof copy ? 0 : ERANGE;
    if (!errno) {
        memcpy(copy, word, n);
        copy[n] = '\0';
        value = strtoll(copy, NULL, base);
    }
    if (errno) {
        complain(sc, "the integer", word, n, " does not fit in 64 bits");
    } else if (!n_suffix && (value > INT32_MAX || value < INT32_MIN)) {
        cut = true;
        mds_problem_add(sc->problems, sc->source->n_lines, MDS_E_INPUT,
                        "%s:%d: the integer %s is beyond 32 bits and would be cut short: write %sL",
                        sc->source->name[sc->file], sc->line, copy, copy);
    }
    put(sc, word, n);
    if (cut) put(sc, "L", 1); // what was meant is clear: let the rest be checked with it
}

static bool is_number(const char *word, size_t n, bool *finite)
{
    char   copy[128];
    char  *stop;
    double value;
    bool   digit = false;
    size_t i;

    *finite = true;
    if (n >= sizeof copy) return false;
    for (i = 0; i < n; i++) {
        digit |= isdigit((unsigned char)word[i]) != 0;
        if (!strchr("0123456789.eE+-", word[i])) return false;
    }
    memcpy(copy, word, n);
    copy[n] = '\0';
    value = strtod(copy, &stop);
    *finite = isfinite(value);
    return digit && *stop == '\0';
}

static bool starts_number(const char *s, const char *end)
{
    if (isdigit((unsigned char)*s) || *s == '.') return true;
    return (*s == '+' || *s == '-') && s + 1 < end && (isdigit((unsigned char)s[1]) || s[1] == '.');
}

static void scan_number(scanner *sc)
{
    const char *word = sc->s, *p = sc->s + 1;
    const bool  hex = p < sc->end && *word == '0' && (*p == 'x' || *p == 'X');
    int         base, n_suffix;
    bool        finite;
    size_t      n;

    for (; p < sc->end; p++) {
        const bool exponent = !hex && (p[-1] == 'e' || p[-1] == 'E') && (*p == '+' || *p == '-');

        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '_' && !exponent) break;
    }
    n = (size_t)(p - word);
    if (is_integer(word, n, &base, &n_suffix)) {
        check_integer(sc, word, n, base, n_suffix);
    } else {
        if (!is_number(word, n, &finite))
            complain(sc, "", word, n,
                     " is not a number (units are fixed and not written; words stand in \"\")");
        else if (!finite)
            complain(sc, "the number", word, n, " is too large");
        put(sc, word, n);
    }
    sc->s = p;
}

// ---------------------------------------------------------------------------------------- strings, comments

static void scan_string(scanner *sc)
{
    const char *p = sc->s + 1;

    while (p < sc->end && *p != '"' && *p != '\n') p += *p == '\\' && p + 1 < sc->end && p[1] != '\n' ? 2 : 1;
    if (p < sc->end && *p == '"') {
        p++;
        put(sc, sc->s, (size_t)(p - sc->s));
    } else {
        complain(sc, "the text that begins with", sc->s, (size_t)(p - sc->s), " has no closing \"");
        put(sc, "\"\"", 2);
    }
    sc->s = p;
}

static void scan_comment(scanner *sc)
{
    const int32_t first = sc->line;

    put(sc, "/*", 2);
    for (sc->s += 2; sc->s < sc->end; sc->s++) {
        if (*sc->s == '*' && sc->s + 1 < sc->end && sc->s[1] == '/') {
            put(sc, "*/", 2);
            sc->s += 2;
            return;
        }
        put(sc, sc->s, 1);
        if (*sc->s == '\n') new_line(sc, sc->line + 1);
    }
    mds_problem_add(sc->problems, sc->source->n_lines, MDS_E_INPUT, "%s:%d: the comment has no end */",
                    sc->source->name[sc->file], first);
    put(sc, "*/", 2);
}

// ------------------------------------------------------------------------------------------------- includes

/// Bytes of a file that may be a conf. Devices and huge files are refused before they are read.
static mds_status read_text(const char *path, char **bytes, size_t *n)
{
    struct stat info;

    *bytes = NULL;
    if (stat(path, &info) == 0) {
        MDS_CHECK(S_ISREG(info.st_mode) || S_ISFIFO(info.st_mode), MDS_E_INPUT, "%s: is not a file", path);
        MDS_CHECK(info.st_size <= MAX_BYTES, MDS_E_INPUT,
                  "%s: too large for a configuration file (%lld bytes)", path, (long long)info.st_size);
    }
    MDS_TRY(mds_file_read(path, bytes, n));
    if (memchr(*bytes, '\0', *n)) {
        mds_free(*bytes);
        *bytes = NULL;
        MDS_FAIL(MDS_E_INPUT, "%s: is not a text file", path);
    }
    return MDS_OK;
}

/// Scan a whole text as file `name` in the place where we are.
static mds_status scan_text(const scanner *from, const char *name, const char *bytes, size_t n)
{
    mds_source *source = from->source;
    scanner     sc = *from;

    MDS_TRY(mds_grow(&source->name, &source->cap_name, (size_t)source->n_names + 1, sizeof *source->name));
    MDS_TRY(mds_copy_text(&source->name[source->n_names], name, SIZE_MAX));
    sc.file = source->n_names++;
    sc.depth++;
    if (n >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3)) { // byte order mark of some editors
        bytes += 3;
        n -= 3;
    }
    sc.s = bytes;
    sc.end = bytes + n;
    new_line(&sc, 1);
    scan(&sc);
    MDS_CHECK(!source->text.failed, MDS_E_MEMORY, "out of memory for the text of %s", name);
    return MDS_OK;
}

static void include(scanner *sc, const char *name)
{
    mds_source *source = sc->source;
    char       *path = NULL, *bytes = NULL;
    size_t      n = 0;
    mds_status  status = MDS_OK;

    if (sc->depth >= MAX_DEPTH || source->n_names >= MAX_FILES || source->text.n > MAX_BYTES) {
        complain(sc, "too many includes at", name, strlen(name), ": does a file include itself?");
        return;
    }
    status = mds_path_beside(&path, source->name[sc->file], name);
    if (status == MDS_OK) status = read_text(path, &bytes, &n);
    if (status == MDS_OK) {
        put(sc, "\n", 1);
        status = scan_text(sc, path, bytes, n);
        put(sc, "\n", 1);
        new_line(sc, sc->line);
    }
    if (status != MDS_OK)
        mds_problem_add(sc->problems, source->n_lines, status, "%s:%d: @include: %s", source->name[sc->file],
                        sc->line, mds_error_text());
    mds_free(path);
    mds_free(bytes);
}

static void scan_at(scanner *sc)
{
    static const char word[] = "@include";
    const char       *p = sc->s, *name;
    char             *copy = NULL;
    const bool        first = sc->line_start;
    bool              good = (size_t)(sc->end - p) >= sizeof word - 1 && !memcmp(p, word, sizeof word - 1);

    if (good) p += sizeof word - 1;
    while (good && p < sc->end && (*p == ' ' || *p == '\t')) p++;
    good = good && p < sc->end && *p == '"';
    if (good) p++;
    name = p;
    while (good && p < sc->end && *p != '"' && *p != '\n') p++;
    good = good && p < sc->end && *p == '"' && p > name && first && sc->is_file;
    if (!good) {
        complain(sc,
                 sc->is_file ? "an include is written @include \"file\", first on its line"
                             : "there is no @include here",
                 "", 0, "");
        while (sc->s < sc->end && *sc->s != '\n') sc->s++;
        return;
    }
    if (mds_copy_text(&copy, name, (size_t)(p - name)) != MDS_OK) {
        sc->source->text.failed = true;
    } else {
        include(sc, copy);
        mds_free(copy);
    }
    sc->s = p + 1;
}

// ----------------------------------------------------------------------------------------------------- scan

static void scan(scanner *sc)
{
    while (sc->s < sc->end && !sc->source->text.failed) {
        const char *s = sc->s, *p = s;
        const char  next = s + 1 < sc->end ? s[1] : '\0';

        if (*s == '\n') {
            put(sc, s, 1);
            sc->s++;
            new_line(sc, sc->line + 1);
            continue;
        }
        if (*s == ' ' || *s == '\t' || *s == '\r') {
            put(sc, s, 1);
            sc->s++;
            continue;
        }
        if (*s == '"') {
            scan_string(sc);
        } else if (*s == '/' && next == '*') {
            scan_comment(sc);
        } else if (*s == '#' || (*s == '/' && next == '/')) {
            while (p < sc->end && *p != '\n') p++;
            put(sc, s, (size_t)(p - s));
            sc->s = p;
        } else if (*s == '@') {
            scan_at(sc);
        } else if (isalpha((unsigned char)*s) || *s == '*') {
            while (p < sc->end && (isalnum((unsigned char)*p) || strchr("-_*", *p))) p++;
            put(sc, s, (size_t)(p - s));
            sc->s = p;
        } else if (starts_number(s, sc->end)) {
            scan_number(sc);
        } else if (strchr("={}[](),;:", *s)) {
            put(sc, s, 1);
            sc->s++;
        } else {
            while (p < sc->end && (unsigned char)*p >= 0x80) p++;
            if (p == s) p++;
            complain(sc, "", s, (size_t)(p - s),
                     " does not belong outside of \"\" (a quote must be a plain \")");
            put(sc, " ", 1);
            sc->s = p;
        }
        sc->line_start = false;
    }
}

mds_status mds_source_read_text(const char *name, const char *text, size_t n, mds_source *source,
                                mds_problems *problems)
{
    const scanner sc = {.source = source, .problems = problems};

    return scan_text(&sc, name, text, n);
}

mds_status mds_source_read(const char *path, mds_source *source, mds_problems *problems)
{
    const scanner sc = {.source = source, .problems = problems, .is_file = true};
    char         *bytes = NULL;
    size_t        n = 0;
    mds_status    status;

    MDS_TRY(read_text(path, &bytes, &n));
    status = scan_text(&sc, path, bytes, n);
    mds_free(bytes);
    return status;
}

static int clamp(const mds_source *source, int line)
{
    if (line > source->n_lines) line = source->n_lines;
    return line < 1 ? 0 : line - 1;
}

const char *mds_source_file(const mds_source *source, int line)
{
    return source->n_lines ? source->name[source->file[clamp(source, line)]] : "?";
}

int mds_source_number(const mds_source *source, int line)
{
    return source->n_lines ? source->number[clamp(source, line)] : 0;
}

void mds_source_free(mds_source *source)
{
    int32_t i;

    for (i = 0; i < source->n_names; i++) mds_free(source->name[i]);
    mds_free(source->name);
    mds_free(source->file);
    mds_free(source->number);
    mds_text_free(&source->text);
    *source = (mds_source){0};
}
