// SPDX-License-Identifier: Apache-2.0
// Templates of launch files: text with typed placeholders, so that nothing from a conf, a price table or a name can become
// shell or YAML.
//
//   @id:NAME@     letters, digits and . _ / - only; anything else is refused
//   @num:NAME@    a decimal number; anything else is refused
//   @sh:NAME@     quoted for a shell: '...'
//   @yaml:NAME@   quoted for YAML: "...", everything beyond printable ASCII as an escape (U+0085 and U+2028 end lines in YAML)
//   #@if NAME     lines up to #@end are kept if NAME is set; #@unless NAME: if it is not. May be nested.
//
// Directives are comments in shell and YAML alike, so a template is still a file that editors and linters understand. They are
// looked for in the template only, before values go in. A placeholder without a value is a mistake in the template, never
// an empty text.
#include "plan/emit.h"

#include <string.h>

mds_status mds_template_set(mds_variables *v, const char *name, const char *fmt, ...)
{
    mds_text   text = {0};
    va_list    args;
    mds_status status;

    MDS_ASSERT(v->n < (int)(sizeof v->var / sizeof *v->var));
    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    status = text.failed ? mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory") : MDS_OK;
    v->var[v->n].name = name;
    if (status == MDS_OK && text.n) status = mds_copy_text(&v->var[v->n].value, text.s, SIZE_MAX);
    v->n++;
    mds_text_free(&text);
    return status;
}

void mds_template_free(mds_variables *v)
{
    int k;

    for (k = 0; k < v->n; k++) mds_free(v->var[k].value);
    memset(v, 0, sizeof *v);
}

static const char *look_up(const mds_variables *v, const char *name, size_t n)
{
    int k;

    for (k = 0; k < v->n; k++)
        if (strlen(v->var[k].name) == n && !memcmp(v->var[k].name, name, n)) return v->var[k].value;
    return NULL;
}

const char *mds_template_get(const mds_variables *v, const char *name)
{
    return look_up(v, name, strlen(name));
}

bool mds_template_is_identifier(const char *text)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-";

    return *text && *text != '-' && strspn(text, allowed) == strlen(text);
}

static bool is_number(const char *text)
{
    const size_t whole = strspn(text, "0123456789");
    const char  *rest = text + whole;

    if (!whole) return false;
    if (*rest == '.') rest += 1 + strspn(rest + 1, "0123456789");
    return !*rest;
}

static void add_shell(mds_text *out, const char *s)
{
    mds_text_add(out, "'");
    for (; *s; s++)
        if (*s == '\'')
            mds_text_add(out, "'\\''");
        else
            mds_text_add_bytes(out, s, 1);
    mds_text_add(out, "'");
}

/// The character at *s and past it; 0 where the bytes are no UTF-8.
static uint32_t decode(const char **s)
{
    const unsigned char *b = (const unsigned char *)*s;
    const int            more = b[0] < 0x80 ? 0 : b[0] >= 0xf0 && b[0] < 0xf5 ? 3 : b[0] >= 0xe0 ? 2 : b[0] >= 0xc2 ? 1 : -1;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    uint32_t             c;
    int                  k;

    if (more < 0 || b[0] >= 0xf5) return 0;
    c = more ? b[0] & (0x3fu >> more) : b[0];
    for (k = 1; k <= more; k++) {
        if ((b[k] & 0xc0) != 0x80) return 0;
        c = c << 6 | (b[k] & 0x3fu);
    }
    *s += 1 + more;
    return c < least[more] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? 0 : c;
}

/// False if the text is no UTF-8.
static bool add_yaml(mds_text *out, const char *s)
{
    mds_text_add(out, "\"");
    while (*s) {
        const uint32_t c = decode(&s);

        if (!c) return false;
        if (c == '"' || c == '\\')
            mds_text_add(out, "\\%c", (int)c);
        else if (c == '\n')
            mds_text_add(out, "\\n");
        else if (c >= 0x20 && c < 0x7f)
            mds_text_add(out, "%c", (int)c);
        else
            mds_text_add(out, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
    }
    mds_text_add(out, "\"");
    return true;
}

static mds_status fill(const char *path, const char *kind, size_t n_kind, const char *name, size_t n_name, const mds_variables *v, mds_text *out)
{
    const char *value = look_up(v, name, n_name);
    const bool  id = n_kind == 2 && !memcmp(kind, "id", 2), num = n_kind == 3 && !memcmp(kind, "num", 3);

    MDS_CHECK(value, MDS_E_INTERNAL, "%s: %.*s has no value", path, (int)n_name, name);
    if (id || num) {
        MDS_CHECK(!id || mds_template_is_identifier(value), MDS_E_INPUT,
                  "'%s' cannot stand in a launch file (%s: %.*s): letters, digits and . _ / - only", value, path, (int)n_name, name);
        MDS_CHECK(!num || is_number(value), MDS_E_INPUT, "'%s' is no number that can stand in a launch file (%s: %.*s)", value, path,
                  (int)n_name, name);
        mds_text_add(out, "%s", value);
    } else if (n_kind == 2) {
        add_shell(out, value);
    } else {
        MDS_CHECK(add_yaml(out, value), MDS_E_INPUT, "'%s' is no UTF-8 (%s: %.*s)", value, path, (int)n_name, name);
    }
    return MDS_OK;
}

/// Length of a placeholder's kind at `s`, just behind its @; 0: it is none.
static size_t kind_at(const char *s)
{
    static const char *const kinds[] = {"id:", "num:", "sh:", "yaml:"};
    size_t                   k;

    for (k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (!strncmp(s, kinds[k], strlen(kinds[k]))) return strlen(kinds[k]) - 1;
    return 0;
}

static mds_status expand_line(const char *path, const char *line, size_t n, const mds_variables *v, mds_text *out)
{
    const char *end = line + n, *s = line;

    while (s < end) {
        const size_t kind = *s == '@' ? kind_at(s + 1) : 0;
        const size_t name = kind ? strspn(s + kind + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") : 0;

        if (kind && name && s[kind + 2 + name] == '@') {
            MDS_TRY(fill(path, s + 1, kind, s + kind + 2, name, v, out));
            s += kind + name + 3;
        } else {
            mds_text_add_bytes(out, s++, 1);
        }
    }
    return MDS_OK;
}

mds_status mds_template_expand(const char *path, const char *text, const mds_variables *v, mds_text *out)
{
    int depth = 0, off = 0; // depth of nesting; depth from which on lines are left out, 0: none

    while (*text) {
        const size_t n = strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
        const char  *word = text + strspn(text, " ");

        if (strncmp(word, "#@", 2)) {
            if (!off) MDS_TRY(expand_line(path, text, n, v, out));
        } else if (!strncmp(word, "#@end", 5)) {
            MDS_CHECK(depth > 0, MDS_E_INTERNAL, "%s: #@end without #@if", path);
            if (off == depth--) off = 0;
        } else {
            const bool   want = !strncmp(word, "#@if ", 5);
            const char  *name = word + (want ? 5 : 9);

            MDS_CHECK(want || !strncmp(word, "#@unless ", 9), MDS_E_INTERNAL, "%s: unknown directive %.*s", path, (int)n, word);
            depth++;
            if (!off && (look_up(v, name, strcspn(name, " \n")) != NULL) != want) off = depth;
        }
        text += n;
    }
    MDS_CHECK(!depth, MDS_E_INTERNAL, "%s: #@end is missing", path);
    MDS_CHECK(!out->failed, MDS_E_MEMORY, "out of memory");
    return MDS_OK;
}
