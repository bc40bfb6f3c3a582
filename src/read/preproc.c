// SPDX-License-Identifier: Apache-2.0
// The preprocessor of GROMACS topologies: files, macros and conditions become one list of lines.
//
// It is a small relative of C's: #include, #define NAME [VALUE], #undef, #ifdef, #ifndef, #else, #endif, and #error;
// #if does not exist in GROMACS and is refused by name. A macro with a value is replaced wherever it stands as a whole
// word; in GROMACS a word may hold letters, digits, '_', '+' and '-'. A macro without value is only there for #ifdef.
// A value is expanded again, but never inside itself, so that expansion ends. ';' begins a comment anywhere in a line,
// '*' at its start; a backslash at the end of a line joins the next one to it. Lines keep the file and number where
// they began. An include is sought beside the including file, in the directories of the request, GMXLIB, GMXDATA/top
// and the share/gromacs/top of installed distributions. Source: GROMACS manual 2022, "Topology file", 5.7 [gromacs2022].
#include "read/top.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_FILES = 10000, MAX_EXPANDED = 1 << 20, MAX_MACRO_DEPTH = 100 };

/// State of one #ifdef: GROMACS forgets nothing outside it.
typedef enum { BRANCH_TAKEN, BRANCH_NOT_YET, BRANCH_IGNORED } branch;

typedef struct {
    char *value; // NULL: undefined
    bool  active;
} macro;

typedef struct {
    const mds_read_request *request;
    mds_top_lines          *out;
    mds_words               names; // of macros
    macro                  *macro; // [names.n]
    size_t                  cap_macro;
    int                     depth; // of includes
} preproc;

/// One open file.
typedef struct {
    int32_t     file; // index into out->files
    const char *path, *p, *end;
    int32_t     line; // number of the physical line last taken
    branch     *branch;
    int32_t    *branch_line;
    int         n_branches;
    size_t      cap_branch, cap_branch_line;
} source;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '+' || c == '-';
}

// ------------------------------------------------------------------------------------------------ macros

static mds_status define(preproc *p, const char *name, size_t n, const char *value)
{
    int32_t k;

    MDS_TRY(mds_words_add(&p->names, name, n, &k));
    MDS_TRY(mds_grow(&p->macro, &p->cap_macro, (size_t)p->names.n, sizeof *p->macro));
    mds_free(p->macro[k].value);
    p->macro[k].value = NULL;
    return mds_copy_text(&p->macro[k].value, value, SIZE_MAX);
}

/// Append s to out with its macros replaced.
static mds_status expand(preproc *p, const char *s, int depth, mds_text *out)
{
    MDS_CHECK(depth < MAX_MACRO_DEPTH, MDS_E_INPUT, "macros nested more than %d deep", MAX_MACRO_DEPTH);
    while (*s) {
        size_t  n = 0;
        int32_t k = -1;

        while (s[n] && is_word(s[n])) n++;
        if (n) k = mds_words_find(&p->names, s, n);
        if (k >= 0 && p->macro[k].value && p->macro[k].value[0] && !p->macro[k].active) {
            p->macro[k].active = true;
            MDS_TRY(expand(p, p->macro[k].value, depth + 1, out));
            p->macro[k].active = false;
        } else {
            mds_text_add_bytes(out, s, n ? n : 1);
        }
        s += n ? n : 1;
        MDS_CHECK(out->n <= MAX_EXPANDED, MDS_E_INPUT, "macros expand this line to more than %d characters", MAX_EXPANDED);
    }
    MDS_CHECK(!out->failed, MDS_E_MEMORY, "out of memory for a line");
    return MDS_OK;
}

/// "NAME" or "NAME=VALUE" of the request.
static mds_status define_from_request(preproc *p, const char *text)
{
    const char *equals;
    size_t      n, k;

    if (!strncmp(text, "-D", 2)) text += 2;
    equals = strchr(text, '=');
    n = equals ? (size_t)(equals - text) : strlen(text);
    for (k = 0; k < n; k++)
        MDS_CHECK(is_word(text[k]), MDS_E_INPUT, "system.defines: \"%s\" is not NAME or NAME=VALUE", text);
    MDS_CHECK(n, MDS_E_INPUT, "system.defines: \"%s\" is not NAME or NAME=VALUE", text);
    return define(p, text, n, equals ? equals + 1 : "");
}

// ---------------------------------------------------------------------------------------- finding includes

/// Look for dir/name; noted in `tried`. *found stays NULL if there is none.
static mds_status try_place(const char *dir, size_t n, const char *name, mds_text *tried, char **found)
{
    mds_text path = {0};

    if (*found || !n) return MDS_OK;
    mds_text_add_bytes(&path, dir, n);
    mds_text_add(&path, "/%s", name);
    mds_text_add(tried, "\n  %s", path.s ? path.s : "");
    MDS_CHECK(!path.failed && !tried->failed, MDS_E_MEMORY, "out of memory for a path");
    if (mds_file_exists(path.s))
        *found = path.s;
    else
        mds_text_free(&path);
    return MDS_OK;
}

/// Look in every directory of a colon-separated list, below `tail`; only where `witness` exists in it, if one is given.
static mds_status try_list(const char *list, const char *tail, const char *witness, const char *name, mds_text *tried,
                           char **found)
{
    while (list && *list && !*found) {
        const size_t n = strcspn(list, ":");
        mds_text     dir = {0}, program = {0};
        mds_status   status = MDS_OK;

        mds_text_add_bytes(&dir, list, n);
        mds_text_add(&dir, "%s", tail);
        if (witness) {
            mds_text_add_bytes(&program, list, n);
            mds_text_add(&program, "/%s", witness);
        }
        if (n && dir.s && !dir.failed && !program.failed && (!witness || mds_file_exists(program.s)))
            status = try_place(dir.s, dir.n, name, tried, found);
        mds_text_free(&dir);
        mds_text_free(&program);
        MDS_TRY(status);
        list += n + (list[n] == ':');
    }
    return MDS_OK;
}

/// Path of an included file. Errors: MDS_E_MISSING with the places tried. Owner: caller.
static mds_status find_include(const preproc *p, const source *from, const char *name, mds_text *tried, char **found)
{
    int k;

    *found = NULL;
    MDS_TRY(mds_path_beside(found, from->path, name));
    mds_text_add(tried, "\n  %s", *found);
    if (mds_file_exists(*found)) return MDS_OK;
    mds_free(*found);
    *found = NULL;
    if (name[0] != '/') {
        for (k = 0; k < p->request->n_includes; k++)
            MDS_TRY(try_place(p->request->includes[k], strlen(p->request->includes[k]), name, tried, found));
        MDS_TRY(try_list(getenv("GMXLIB"), "", NULL, name, tried, found));
        MDS_TRY(try_list(getenv("GMXDATA"), "/top", NULL, name, tried, found));
        MDS_TRY(try_list(getenv("PATH"), "/../share/gromacs/top", "gmx", name, tried, found));
        MDS_TRY(try_list("/usr/share/gromacs/top:/usr/local/gromacs/share/gromacs/top", "", NULL, name, tried, found));
    }
    MDS_CHECK(*found, MDS_E_MISSING, "cannot find the included file \"%s\"; looked for%s", name, tried->s);
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------- directives

static mds_status read_source(preproc *p, const char *path);

static mds_status include(preproc *p, source *src, const char *value)
{
    const char  open = value[0], close = open == '<' ? '>' : '"';
    const char *end = open == '"' || open == '<' ? strchr(value + 1, close) : NULL;
    mds_text    tried = {0};
    mds_status  status;
    char       *name, *path = NULL;

    MDS_CHECK(end && end > value + 1, MDS_E_INPUT, "#include needs a file name in quotes, got: %s", value);
    MDS_CHECK(p->depth < MAX_DEPTH, MDS_E_INPUT, "#include nested more than %d deep: does a file include itself?", MAX_DEPTH);
    MDS_CHECK(p->out->n_files < MAX_FILES, MDS_E_INPUT, "more than %d files included: does a file include itself?", MAX_FILES);
    MDS_TRY(mds_copy_text(&name, value + 1, (size_t)(end - value - 1)));
    status = find_include(p, src, name, &tried, &path);
    mds_text_free(&tried);
    mds_free(name);
    if (status != MDS_OK) return status;
    p->depth++;
    status = read_source(p, path);
    p->depth--;
    mds_free(path);
    return status;
}

static bool skipping(const source *src)
{
    return src->n_branches && src->branch[src->n_branches - 1] != BRANCH_TAKEN;
}

static bool is_defined(const preproc *p, const char *name, size_t n)
{
    const int32_t k = mds_words_find(&p->names, name, n);

    return k >= 0 && p->macro[k].value;
}

static mds_status push_branch(source *src, branch b)
{
    const size_t n = (size_t)src->n_branches;

    MDS_TRY(mds_grow(&src->branch, &src->cap_branch, n + 1, sizeof *src->branch));
    MDS_TRY(mds_grow(&src->branch_line, &src->cap_branch_line, n + 1, sizeof *src->branch_line));
    src->branch[n] = b;
    src->branch_line[n] = src->line;
    src->n_branches++;
    return MDS_OK;
}

/// #ifdef and its relatives; *known is false if the word is none of them.
static mds_status condition(preproc *p, source *src, const char *word, size_t n, const char *value, bool *known)
{
    const size_t n_name = strcspn(value, " \t");

    *known = true;
    if ((n == 5 && !strncmp(word, "ifdef", n)) || (n == 6 && !strncmp(word, "ifndef", n))) {
        if (skipping(src)) return push_branch(src, BRANCH_IGNORED);
        MDS_CHECK(n_name, MDS_E_INPUT, "#%.*s needs a name", (int)n, word);
        return push_branch(src, is_defined(p, value, n_name) == (n == 5) ? BRANCH_TAKEN : BRANCH_NOT_YET);
    }
    if (n == 2 && !strncmp(word, "if", n)) {
        MDS_CHECK(skipping(src), MDS_E_INPUT, "#if is not part of GROMACS' preprocessor: use #ifdef or #ifndef");
        return push_branch(src, BRANCH_IGNORED);
    }
    if (n == 4 && !strncmp(word, "else", n)) {
        MDS_CHECK(src->n_branches, MDS_E_INPUT, "#else without #ifdef");
        branch *b = &src->branch[src->n_branches - 1];

        if (*b != BRANCH_IGNORED) *b = *b == BRANCH_TAKEN ? BRANCH_NOT_YET : BRANCH_TAKEN;
        return MDS_OK;
    }
    if (n == 5 && !strncmp(word, "endif", n)) {
        MDS_CHECK(src->n_branches, MDS_E_INPUT, "#endif without #ifdef");
        src->n_branches--;
        return MDS_OK;
    }
    *known = false;
    return MDS_OK;
}

/// One line that begins with '#'; s points behind it.
static mds_status directive(preproc *p, source *src, const char *s)
{
    const char *word, *value;
    size_t      n;
    int32_t     k;
    bool        known;

    while (is_blank(*s)) s++;
    word = s;
    while (*s && !is_blank(*s)) s++;
    n = (size_t)(s - word);
    while (is_blank(*s)) s++;
    value = s;
    MDS_TRY(condition(p, src, word, n, value, &known));
    if (known || skipping(src)) return MDS_OK;
    if (n == 7 && !strncmp(word, "include", n)) return include(p, src, value);
    if (n == 6 && !strncmp(word, "define", n)) {
        const size_t n_name = strcspn(value, " \t");

        MDS_CHECK(n_name, MDS_E_INPUT, "#define needs a name");
        for (s = value + n_name; is_blank(*s);) s++;
        return define(p, value, n_name, s);
    }
    if (n == 5 && !strncmp(word, "undef", n)) {
        k = mds_words_find(&p->names, value, strcspn(value, " \t"));
        if (k >= 0) {
            mds_free(p->macro[k].value);
            p->macro[k].value = NULL;
        }
        return MDS_OK;
    }
    MDS_CHECK(n != 5 || strncmp(word, "error", n), MDS_E_INPUT, "#error %s", value);
    MDS_FAIL(MDS_E_INPUT, "unknown preprocessor directive #%.*s", (int)n, word);
}

// ------------------------------------------------------------------------------------------------- lines

/// The next physical line without its end; false at the end of the file.
static bool take_line(source *src, const char **s, size_t *n)
{
    const char *newline;

    if (src->p >= src->end) return false;
    newline = memchr(src->p, '\n', (size_t)(src->end - src->p));
    *s = src->p;
    *n = (size_t)((newline ? newline : src->end) - src->p);
    src->p = newline ? newline + 1 : src->end;
    src->line++;
    return true;
}

static bool ends_in_backslash(const char *s, size_t n)
{
    while (n && is_blank(s[n - 1])) n--;
    return n && s[n - 1] == '\\';
}

static char first_character(const char *s, size_t n)
{
    size_t k = 0;

    while (k < n && is_blank(s[k])) k++;
    return k < n ? s[k] : '\0';
}

/// Add a physical line to the logical one: comment and backslash go, a blank takes the place of the line's end.
static mds_status add_physical(mds_text *logical, const char *s, size_t n, bool *goes_on)
{
    const char *comment = memchr(s, ';', n);

    MDS_CHECK(!memchr(s, '\0', n), MDS_E_INPUT, "the line holds a zero byte: not a text file");
    *goes_on = ends_in_backslash(s, n);
    if (comment) n = (size_t)(comment - s);
    while (n && is_blank(s[n - 1])) n--;
    if (*goes_on && !comment) n--;
    mds_text_add_bytes(logical, s, n);
    mds_text_add_bytes(logical, " ", 1);
    MDS_CHECK(!logical->failed, MDS_E_MEMORY, "out of memory for a line");
    return MDS_OK;
}

/// The next logical line into `logical`; its first number in *line.
static mds_status take_logical(source *src, mds_text *logical, int32_t *line, bool *got)
{
    const char *s;
    size_t      n;
    bool        goes_on, in_comment;

    logical->n = 0;
    *got = take_line(src, &s, &n);
    if (!*got) return MDS_OK;
    *line = src->line;
    MDS_TRY(add_physical(logical, s, n, &goes_on));
    if (skipping(src) && first_character(s, n) != '#') return MDS_OK;
    in_comment = memchr(s, ';', n) || first_character(s, n) == '*';
    while (goes_on && take_line(src, &s, &n)) {
        const char c = first_character(s, n);

        if (in_comment) {
            // GROMACS joins before it looks for comments, so the next line would silently be part of this one
            MDS_CHECK(!c || c == ';' || c == '*', MDS_E_INPUT,
                      "a comment that ends in a backslash hides the next line from GROMACS: remove the backslash");
            src->p = s; // take it again as a line of its own
            src->line--;
            break;
        }
        MDS_CHECK(c != '#', MDS_E_INPUT, "a preprocessor directive interrupts a line continued by a backslash");
        in_comment = memchr(s, ';', n) != NULL;
        MDS_TRY(add_physical(logical, s, n, &goes_on));
    }
    return MDS_OK;
}

static mds_status add_line(preproc *p, const source *src, const char *s, int32_t line)
{
    mds_top_lines *out = p->out;
    mds_text       text = {0};
    mds_status     status = expand(p, s, 0, &text);

    while (text.n && is_blank(text.s[text.n - 1])) text.s[--text.n] = '\0';
    if (status == MDS_OK && text.n) {
        status = mds_grow(&out->line, &out->cap, (size_t)out->n + 1, sizeof *out->line);
        if (status == MDS_OK) {
            out->line[out->n++] = (mds_top_line){text.s, src->file, line};
            return MDS_OK;
        }
    }
    mds_text_free(&text);
    return status;
}

static mds_status process(preproc *p, source *src)
{
    mds_text    logical = {0};
    mds_status  status = MDS_OK;
    bool        got = true;
    int32_t     line = 0;
    const char *s;

    for (;;) {
        status = take_logical(src, &logical, &line, &got);
        if (status != MDS_OK || !got) break;
        while (logical.n && is_blank(logical.s[logical.n - 1])) logical.n--;
        logical.s[logical.n] = '\0';
        for (s = logical.s; is_blank(*s);) s++;
        if (*s == '#') {
            const int depth_files = p->out->n_files;

            status = directive(p, src, s + 1);
            // a message from inside an included file already says where
            if (status != MDS_OK && p->out->n_files > depth_files) goto done;
        } else if (*s && *s != '*' && !skipping(src)) {
            status = add_line(p, src, s, line);
        }
        if (status != MDS_OK) break;
    }
    if (status == MDS_OK && src->n_branches) {
        line = src->branch_line[src->n_branches - 1];
        status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "#ifdef without #endif");
    }
    if (status != MDS_OK) mds_error_prefix("%s:%d: ", src->path, line);
done:
    mds_text_free(&logical);
    return status;
}

static mds_status read_source(preproc *p, const char *path)
{
    mds_top_lines *out = p->out;
    source         src = {0};
    char          *text = NULL;
    size_t         n = 0;
    mds_status     status;

    MDS_TRY(mds_file_read(path, &text, &n));
    status = mds_grow(&out->files, &out->cap_files, (size_t)out->n_files + 1, sizeof *out->files);
    if (status == MDS_OK) status = mds_copy_text(&out->files[out->n_files], path, SIZE_MAX);
    if (status == MDS_OK) {
        src.file = out->n_files++;
        src.path = out->files[src.file];
        src.p = text;
        src.end = text + n;
        status = process(p, &src);
    }
    mds_free(src.branch);
    mds_free(src.branch_line);
    mds_free(text);
    return status;
}

mds_status mds_preprocess(const mds_read_request *request, mds_top_lines *out)
{
    preproc    p = {.request = request, .out = out};
    mds_status status = MDS_OK;
    int        k;

    *out = (mds_top_lines){0};
    for (k = 0; k < request->n_defines && status == MDS_OK; k++) status = define_from_request(&p, request->defines[k]);
    if (status == MDS_OK) status = read_source(&p, request->topology);
    for (k = 0; k < p.names.n; k++) mds_free(p.macro[k].value);
    mds_free(p.macro);
    mds_words_free(&p.names);
    if (status != MDS_OK) mds_top_lines_free(out);
    return status;
}

void mds_top_lines_free(mds_top_lines *lines)
{
    int32_t k;

    for (k = 0; k < lines->n; k++) mds_free(lines->line[k].text);
    for (k = 0; k < lines->n_files; k++) mds_free(lines->files[k]);
    mds_free(lines->line);
    mds_free(lines->files);
    *lines = (mds_top_lines){0};
}
