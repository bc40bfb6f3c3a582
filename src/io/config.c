// SPDX-License-Identifier: Apache-2.0
// Reading a conf: text, libconfig tree, fields; every mistake collected, none fatal before all are known.
//
// source.c has put includes in place and refused words that libconfig would misread. The tree that libconfig
// makes is then walked key by key against the schema (value.c converts). Defaults are text too and take the
// same way, as does a
// --set, which is parsed as the line `value = TEXT;`.
#include "io/config.h"

#include <ctype.h>
#include <libconfig.h>
#include <string.h>

// ------------------------------------------------------------------------------------------------- the tree

static void unknown_key(const mds_reader *r, const config_setting_t *setting, const char *group)
{
    mds_text name = {0}, hint = {0};

    mds_text_add(&name, "%s%s%s", group, *group ? "." : "", config_setting_name(setting));
    if (!name.failed) {
        mds_key_suggest(name.s, &hint);
        mds_value_problem(r, setting, NULL, "unknown key '%s'%s", name.s, hint.s ? hint.s : "");
    }
    mds_text_free(&name);
    mds_text_free(&hint);
}

static void read_group(const mds_reader *r, const config_setting_t *group)
{
    const char *name = config_setting_name(group);
    int         k, index;

    for (k = 0; k < config_setting_length(group); k++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)k);
        mds_text                full = {0};

        if (config_setting_type(setting) == CONFIG_TYPE_NONE) continue; // the parser stopped here
        mds_text_add(&full, "%s.%s", name, config_setting_name(setting));
        index = full.failed ? -1 : mds_key_find(full.s);
        if (index >= 0)
            mds_value_read(r, setting, &mds_keys[index]);
        else
            unknown_key(r, setting, name);
        mds_text_free(&full);
    }
}

static void unknown_group(const mds_reader *r, const config_setting_t *group)
{
    const char *name = config_setting_name(group);
    const int   near = mds_key_group_near(name);

    mds_value_problem(r, group, NULL, "unknown group '%s'%s%s%s", name, near < 0 ? "" : "; did you mean '",
                      near < 0 ? "" : mds_key_groups[near].name, near < 0 ? "" : "'?");
}

static void read_tree(const mds_reader *r, const config_t *tree)
{
    const config_setting_t *root = config_root_setting(tree);
    int                     k;

    for (k = 0; k < config_setting_length(root); k++) {
        const config_setting_t *setting = config_setting_get_elem(root, (unsigned)k);
        const char             *name = config_setting_name(setting);
        const bool              known = mds_key_group_find(name, strlen(name)) >= 0;

        if (config_setting_type(setting) == CONFIG_TYPE_NONE) continue;
        if (!config_setting_is_group(setting)) {
            if (known)
                mds_value_problem(r, setting, NULL, "'%s' is a group: write %s = { key = value; };", name,
                                  name);
            else
                unknown_key(r, setting, "");
        } else if (known) {
            read_group(r, setting);
        } else {
            unknown_group(r, setting);
        }
    }
}

/// What the parser's terse message may mean.
static const char *explain_error(const char *text)
{
    if (strstr(text, "mismatched element type"))
        return "the numbers of a [ ] list must be all with or all without a point";
    if (strstr(text, "duplicate")) return "this key or group is set a second time here";
    if (strstr(text, "syntax")) return "not understood; expected  key = value;  inside  group = { ... };";
    return text;
}

static void parse_problem(const mds_source *source, int line, const char *what, bool went_on,
                          mds_problems *problems)
{
    const char *s = source->text.s, *end;
    int         k;

    if (mds_problem_at(problems, line)) return; // its cause is known already
    for (k = 1; k < line && (end = strchr(s, '\n')); k++) s = end + 1;
    while (*s == ' ' || *s == '\t') s++;
    end = s + strcspn(s, "\r\n");
    mds_problem_add(problems, line, MDS_E_INPUT, "%s:%d: %s; at or just before: %.*s%s",
                    mds_source_file(source, line), mds_source_number(source, line), explain_error(what),
                    end - s > 60 ? 60 : (int)(end - s), s, went_on ? "" : " (later lines were not read)");
}

static bool blank(char *from, char *to)
{
    bool changed = false;

    for (; from < to; from++)
        if (!isspace((unsigned char)*from)) {
            *from = ' ';
            changed = true;
        }
    return changed;
}

/// Blank what the parser stumbled over on a line of the text and leave the braces of groups that go on beyond
/// it. A brace that stands alone was reached because the line before lacks something: then that one goes.
/// False: no more to do.
static bool blank_mistake(char *text, int line)
{
    char *s = text, *end, *p, *open = NULL, *close = NULL;
    int   k, depth = 0;

    for (k = 1; k < line && (end = strchr(s, '\n')); k++) s = end + 1;
    for (;;) {
        end = s + strcspn(s, "\n");
        for (p = s, depth = 0; p < end; p++) {
            if (*p == '{') open = p;
            if (*p == '}' && !close) close = p;
            depth += (*p == '{') - (*p == '}');
        }
        if (depth == 0 && blank(s, end)) return true;
        if (depth > 0) return blank(open + 1, end);
        if (depth < 0 && blank(s, close)) return true;
        if (s == text) return false;
        for (s--; s > text && s[-1] != '\n'; s--) continue;
        open = close = NULL;
    }
}

/// Read the text into the tree, whatever it held. libconfig 1.7 keeps the first error of a tree for good.
static bool read_afresh(config_t *tree, const char *text)
{
    config_destroy(tree);
    config_init(tree);
    return config_read_string(tree, text) == CONFIG_TRUE;
}

/// Parse the text. A syntax error stops the parser: it is noted, blanked out, and the rest parsed again, so
/// that all mistakes come out together. An error at the line after the last one is its echo. False if there
/// was any.
static bool parse(const mds_source *source, config_t *tree, mds_problems *problems)
{
    enum { MOST = 12 };
    const char *what[MOST];
    int         line[MOST], n = 0, last = -2, tries, k;
    char       *text = NULL;
    bool        good = false;

    if (mds_copy_text(&text, source->text.s ? source->text.s : "", SIZE_MAX) != MDS_OK) {
        problems->lost = true;
        return false;
    }
    for (tries = 0; tries < 2 * MOST && n < MOST; tries++) {
        good = read_afresh(tree, text);
        if (good) break;
        k = config_error_line(tree);
        if (k > last + 1 || k < last - 1) {
            line[n] = k;
            what[n++] = config_error_text(tree) ? config_error_text(tree) : "";
        }
        last = k;
        if (!blank_mistake(text, k)) break;
    }
    if (!good) { // as far as it went
        read_afresh(tree, source->text.s);
        n = n < 1 ? n : 1;
    }
    for (k = 0; k < n; k++) parse_problem(source, line[k], what[k], good, problems);
    mds_free(text);
    return n == 0;
}

/// Parse a text that is in `source` and read what is in it. False if it has syntax errors.
static bool read_source(const mds_reader *r, const char *only_key)
{
    config_t tree;
    bool     whole;

    config_init(&tree);
    if (only_key) {
        const config_setting_t *root, *value;

        whole = config_read_string(&tree, r->source->text.s) == CONFIG_TRUE;
        root = config_root_setting(&tree);
        value = whole ? config_lookup(&tree, "value") : NULL;
        whole = value && config_setting_length(root) == 1;
        if (whole) mds_value_read(r, value, &mds_keys[mds_key_find(only_key)]);
    } else {
        whole = parse(r->source, &tree, r->problems);
        read_tree(r, &tree);
    }
    config_destroy(&tree);
    return whole;
}

// ----------------------------------------------------------------------------------------------------- --set

static void set_problem(mds_problems *problems, mds_status status, const char *set, const char *what,
                        const char *hint)
{
    mds_problem_add(problems, MDS_ORDER_SET, status, "--set %s: %s%s", set, what, hint ? hint : "");
}

/// A key that takes texts takes a bare word as it is, unless it is quoted or a list.
static bool takes_word(const mds_key *key, const char *value)
{
    if (*value == '"' || *value == '[' || *value == '(') return false;
    return key->kind == MDS_KEY_TEXT || key->kind == MDS_KEY_CHOICE || key->kind == MDS_KEY_WORD ||
           key->kind == MDS_KEY_TEXTS || key->kind == MDS_KEY_BOX;
}

static void parse_set(mds_config *config, const char *set, const char *name, const char *value,
                      mds_problems *problems)
{
    mds_source       source = {0};
    mds_problems     own = {0};
    const mds_reader r = {.config = config, .problems = problems, .source = &source, .set = set};
    mds_text         text = {0};
    const char      *s;

    mds_text_add(&text, "value = ");
    if (takes_word(&mds_keys[mds_key_find(name)], value)) {
        mds_text_add(&text, "\"");
        for (s = value; *s; s++) mds_text_add(&text, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
        mds_text_add(&text, "\"");
    } else {
        mds_text_add(&text, "%s", value);
    }
    mds_text_add(&text, ";");
    if (text.failed || mds_source_read_text("--set", text.s, text.n, &source, &own) != MDS_OK)
        problems->lost = true;
    else if (own.n)
        set_problem(problems, MDS_E_INPUT, set, strchr(own.item[0].text, ' ') + 1, NULL); // after "--set:1: "
    else if (!read_source(&r, name))
        set_problem(problems, MDS_E_INPUT, set, "the value is not understood",
                    " (texts with blanks or signs stand in \"\")");
    mds_text_free(&text);
    mds_source_free(&source);
    mds_problems_free(&own);
}

static void apply_set(mds_config *config, const char *set, mds_problems *problems)
{
    const char *equals = strchr(set, '='), *end, *value;
    char       *name = NULL;
    mds_text    hint = {0};

    if (!equals) {
        set_problem(problems, MDS_E_USAGE, set, "write --set group.key=value", NULL);
        return;
    }
    for (; isspace((unsigned char)*set); set++) continue;
    for (end = equals; end > set && isspace((unsigned char)end[-1]); end--) continue;
    for (value = equals + 1; isspace((unsigned char)*value); value++) continue;
    if (mds_copy_text(&name, set, (size_t)(end - set)) != MDS_OK) {
        problems->lost = true;
    } else if (mds_key_find(name) < 0) {
        mds_key_suggest(name, &hint);
        set_problem(problems, MDS_E_INPUT, set, "unknown key", hint.s);
    } else if (!*value) {
        set_problem(problems, MDS_E_USAGE, set, "there is no value", NULL);
    } else {
        parse_set(config, set, name, value, problems);
    }
    mds_text_free(&hint);
    mds_free(name);
}

// ---------------------------------------------------------------------------------------------------- public

mds_status mds_config_defaults(mds_config *out)
{
    mds_source       source = {0};
    mds_problems     problems = {0};
    const mds_reader r = {.config = out, .problems = &problems, .source = &source, .trusted = true};
    mds_text         text = {0};
    size_t           n;
    int              k;
    mds_status       status;

    *out = (mds_config){0};
    MDS_TRY(mds_alloc(&out->origin, (size_t)mds_config_n_keys(), sizeof *out->origin));
    for (k = 0; k < mds_config_n_keys(); k++) {
        const char *name = mds_keys[k].name;

        n = (size_t)(strchr(name, '.') - name);
        if (!k || strncmp(name, mds_keys[k - 1].name, n + 1))
            mds_text_add(&text, "%s%.*s = {\n", k ? "};\n" : "", (int)n, name);
        mds_text_add(&text, "%s = %s;\n", name + n + 1, mds_keys[k].value);
    }
    mds_text_add(&text, "};\n");
    if (text.failed)
        status = mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for the defaults");
    else
        status = mds_source_read_text("defaults", text.s, text.n, &source, &problems);
    if (status == MDS_OK) {
        read_source(&r, NULL);
        status = mds_problems_report(&problems);
        MDS_ASSERT(status == MDS_OK || status == MDS_E_MEMORY); // the schema's own values are good
    }
    mds_text_free(&text);
    mds_source_free(&source);
    mds_problems_free(&problems);
    return status;
}

mds_status mds_config_read(const char *path, const char *const *set, int n_set, mds_config *out)
{
    mds_source       source = {0};
    mds_problems     problems = {0};
    const mds_reader r = {.config = out, .problems = &problems, .source = &source};
    mds_status       status = MDS_OK;
    bool             whole;
    size_t           i;
    int              k;

    MDS_TRY(mds_config_defaults(out));
    MDS_TRY_GOTO(mds_copy_text(&out->path, path ? path : "built-in", SIZE_MAX));
    MDS_TRY_GOTO(mds_alloc(&problems.bad, (size_t)mds_config_n_keys(), sizeof *problems.bad));
    if (path) MDS_TRY_GOTO(mds_source_read(path, &source, &problems));
    else MDS_TRY_GOTO(mds_source_read_text("built-in", "", 0, &source, &problems));
    problems.n_scanned = problems.n;
    whole = read_source(&r, NULL);
    for (k = 0; k < n_set; k++) apply_set(out, set[k], &problems);
    for (i = 0; i < problems.n; i++) whole &= problems.item[i].status != MDS_E_MISSING;
    if (whole) mds_config_check(out, &problems); // of half a file it would say what is not true
    MDS_TRY_GOTO(mds_problems_report(&problems));
    out->text = source.text.s;
    source.text = (mds_text){0};
    mds_source_free(&source);
    mds_problems_free(&problems);
    return MDS_OK;
fail:
    mds_source_free(&source);
    mds_problems_free(&problems);
    mds_config_free(out);
    return status;
}

void mds_config_free(mds_config *config)
{
    int k;

    if (!config) return;
    for (k = 0; k < mds_config_n_keys(); k++) {
        void *field = (char *)config + mds_keys[k].offset;

        if (mds_keys[k].kind == MDS_KEY_TEXT || mds_keys[k].kind == MDS_KEY_WORD) mds_free(*(char **)field);
        if (mds_keys[k].kind == MDS_KEY_TEXTS) mds_texts_free(field);
        if (config->origin) mds_free(config->origin[k]);
    }
    mds_free(config->origin);
    mds_free(config->path);
    mds_free(config->text);
    *config = (mds_config){0};
}

bool mds_config_given(const mds_config *config, const char *key)
{
    const int k = mds_key_find(key);

    MDS_ASSERT(k >= 0);
    return config->origin && config->origin[k];
}

const char *mds_config_origin(const mds_config *config, const char *key)
{
    return mds_config_given(config, key) ? config->origin[mds_key_find(key)] : "default";
}

mds_status mds_config_path(const mds_config *config, const char *name, char **out)
{
    return mds_path_beside(out, config->path, name);
}
