// SPDX-License-Identifier: Apache-2.0
// Settings from text, in place of libconfig in the minimal build (include/libconfig.h).
//
// The grammar is libconfig's: `name = value` with an optional ; or , after it; a value is a number, a text in "" (several in a row are
// one), true or false, a { group }, a [ list of one type ] or a ( list of anything ). One function a rule, one token of lookahead; an
// error is reported at the line of that token, as the library's parser does, so that messages are the same with and without it. What
// the library misreads is not imitated: integers beyond 32 bits become 64-bit ones. The tests of the configuration run on this
// reader, too, in a minimal build.
#include "base/base.h"

#include <libconfig.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct config_setting_t {
    char              *name, *text;
    int                type, line;
    long long          integer; // also true or false
    double             number;
    config_setting_t **item;    // [n] of groups and lists
    int                n;
    size_t             room;
};

// ------------------------------------------------------------------------------------------------- words

enum { DEEPEST = 100 }; // groups in groups: a text of braces must not exhaust the stack

typedef enum { END, BAD, NAME, INTEGER, LONG, FLOAT, STRING, BOOL, SIGN } token; // SIGN: one of = { } [ ] ( ) , ;

typedef struct {
    config_t   *config;
    const char *s;      // what comes after the token
    int         line;   // of the token's end
    token       token;
    char        sign;
    mds_text    word;   // of a name or string
    long long   integer;
    double      number;
    int         depth;
} reader;

static void skip(reader *r)
{
    const char *s = r->s;

    for (;;) {
        if (isspace((unsigned char)*s)) {
            r->line += *s++ == '\n';
        } else if (*s == '#' || (*s == '/' && s[1] == '/')) {
            s += strcspn(s, "\n");
        } else if (*s == '/' && s[1] == '*') {
            const char *end = strstr(s + 2, "*/");

            for (; *s && s != end; s++) r->line += *s == '\n';
            if (end) s += 2;
        } else {
            r->s = s;
            return;
        }
    }
}

static void read_string(reader *r)
{
    static const char from[] = "nrtfabv\\\"", to[] = "\n\r\t\f\a\b\v\\\"";
    const char       *s = r->s + 1, *known;

    r->word.n = 0;
    mds_text_add(&r->word, "%s", "");
    for (; *s && *s != '"'; s++) {
        char c = *s;

        r->line += c == '\n';
        if (c == '\\' && s[1] == 'x' && isxdigit((unsigned char)s[2]) && isxdigit((unsigned char)s[3])) {
            const char digits[] = {s[2], s[3], '\0'};

            c = (char)strtol(digits, NULL, 16);
            s += 3;
        } else if (c == '\\' && s[1] && (known = strchr(from, s[1]))) {
            c = to[known - from];
            s++;
        }
        mds_text_add_bytes(&r->word, &c, 1);
    }
    r->token = *s ? STRING : BAD;
    r->s = *s ? s + 1 : s;
}

static void read_number(reader *r)
{
    const char *s = r->s, *digits = s + (*s == '-' || *s == '+');
    const bool  hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    const char *end = hex ? digits + 2 : digits;
    char       *after;

    while (hex ? isxdigit((unsigned char)*end) : isdigit((unsigned char)*end)) end++;
    r->token = INTEGER;
    if (!hex && (*end == '.' || *end == 'e' || *end == 'E')) {
        r->token = FLOAT;
        r->number = strtod(s, &after);
    } else {
        errno = 0;
        r->integer = hex ? (long long)strtoull(s, &after, 16) : strtoll(s, &after, 10);
        if (r->integer > INT32_MAX || r->integer < INT32_MIN) r->token = LONG;
        if (*after == 'L') {
            after += after[1] == 'L' ? 2 : 1;
            r->token = LONG;
        }
        if (errno) r->token = BAD;
    }
    if (after == s) { // a sign or point alone
        r->token = BAD;
        after++;
    }
    r->s = after;
}

static bool is_word(const reader *r, const char *word)
{
    size_t k;

    for (k = 0; word[k]; k++)
        if (tolower((unsigned char)r->word.s[k]) != word[k]) return false;
    return r->word.n == k;
}

static void read_name(reader *r)
{
    const char *s = r->s;

    while (isalnum((unsigned char)*s) || (*s && strchr("-_*", *s))) s++;
    r->word.n = 0;
    mds_text_add_bytes(&r->word, r->s, (size_t)(s - r->s));
    r->s = s;
    r->token = NAME;
    if (r->word.failed) return;
    r->integer = is_word(r, "true");
    if (r->integer || is_word(r, "false")) r->token = BOOL;
}

static void next(reader *r)
{
    skip(r);
    r->token = SIGN;
    r->sign = *r->s;
    if (!*r->s) {
        r->token = END;
    } else if (isalpha((unsigned char)*r->s) || *r->s == '*') {
        read_name(r);
    } else if (*r->s == '"') {
        read_string(r);
    } else if (isdigit((unsigned char)*r->s) || strchr("+-.", *r->s)) {
        read_number(r);
    } else {
        if (!strchr("=:{}[](),;", *r->s)) r->token = BAD;
        if (r->sign == ':') r->sign = '=';
        r->s++;
    }
}

static bool at(const reader *r, char sign)
{
    return r->token == SIGN && r->sign == sign;
}

// ------------------------------------------------------------------------------------------------- rules

/// Always false: the first error is kept.
static bool fail(reader *r, const char *text)
{
    if (!r->config->error_text) {
        r->config->error_text = text;
        r->config->error_line = r->line;
    }
    return false;
}

static bool wants(reader *r, char sign)
{
    if (!at(r, sign)) return fail(r, "syntax error");
    next(r);
    return true;
}

/// A new setting at the end of `parent`, with the name that was read or without one.
static config_setting_t *add(reader *r, config_setting_t *parent, bool named)
{
    config_setting_t *setting = NULL;

    if (mds_grow(&parent->item, &parent->room, (size_t)parent->n + 1, sizeof *parent->item) != MDS_OK ||
        mds_alloc(&setting, 1, sizeof *setting) != MDS_OK) {
        fail(r, "out of memory");
        return NULL;
    }
    setting->line = r->line;
    parent->item[parent->n++] = setting;
    if (named && (r->word.failed || mds_copy_text(&setting->name, r->word.s, r->word.n) != MDS_OK)) {
        fail(r, "out of memory");
        return NULL;
    }
    return setting;
}

static bool read_scalar(reader *r, config_setting_t *setting)
{
    mds_text text = {0};

    switch (r->token) {
    case INTEGER: setting->type = CONFIG_TYPE_INT; break;
    case LONG: setting->type = CONFIG_TYPE_INT64; break;
    case BOOL: setting->type = CONFIG_TYPE_BOOL; break;
    case FLOAT: setting->type = CONFIG_TYPE_FLOAT; break;
    case STRING:
        for (; r->token == STRING; next(r)) mds_text_add(&text, "%s", r->word.s ? r->word.s : "");
        if (text.failed || r->word.failed) {
            mds_text_free(&text);
            return fail(r, "out of memory");
        }
        setting->text = text.s;
        setting->type = CONFIG_TYPE_STRING;
        return true;
    default: return fail(r, "syntax error");
    }
    setting->integer = r->integer;
    setting->number = r->number;
    next(r);
    return true;
}

static bool read_group(reader *r, config_setting_t *group);
static bool read_value(reader *r, config_setting_t *setting);

static bool read_list(reader *r, config_setting_t *list, bool of_one_type)
{
    const char end = of_one_type ? ']' : ')';

    next(r);
    if (at(r, end)) return wants(r, end);
    for (;;) {
        config_setting_t *item = add(r, list, false);

        if (!item || !(of_one_type ? read_scalar(r, item) : read_value(r, item))) return false;
        if (of_one_type && item->type != list->item[0]->type) return fail(r, "mismatched element type in array");
        if (!at(r, ',')) return wants(r, end);
        next(r);
    }
}

static bool read_value(reader *r, config_setting_t *setting)
{
    bool good;

    if (r->token != SIGN) return read_scalar(r, setting);
    if (++r->depth > DEEPEST) return fail(r, "syntax error");
    switch (r->sign) {
    case '{':
        setting->type = CONFIG_TYPE_GROUP;
        next(r);
        good = read_group(r, setting) && wants(r, '}');
        break;
    case '[':
        setting->type = CONFIG_TYPE_ARRAY;
        good = read_list(r, setting, true);
        break;
    case '(':
        setting->type = CONFIG_TYPE_LIST;
        good = read_list(r, setting, false);
        break;
    default: good = fail(r, "syntax error");
    }
    r->depth--;
    return good;
}

static bool read_group(reader *r, config_setting_t *group)
{
    while (r->token == NAME) {
        config_setting_t *setting;

        if (!r->word.failed && config_setting_get_member(group, r->word.s)) return fail(r, "duplicate setting name");
        setting = add(r, group, true);
        if (!setting) return false;
        next(r);
        if (!wants(r, '=') || !read_value(r, setting)) return false;
        if (at(r, ';') || at(r, ',')) next(r);
    }
    return true;
}

// --------------------------------------------------------------------------------------------------- tree

static void free_setting(config_setting_t *setting)
{
    int k;

    if (!setting) return;
    for (k = 0; k < setting->n; k++) free_setting(setting->item[k]);
    mds_free(setting->item);
    mds_free(setting->name);
    mds_free(setting->text);
    mds_free(setting);
}

void config_init(config_t *config)
{
    memset(config, 0, sizeof *config);
}

void config_destroy(config_t *config)
{
    free_setting(config->root);
    config_init(config);
}

int config_read_string(config_t *config, const char *text)
{
    reader r = {.config = config, .s = text, .line = 1};

    config_destroy(config);
    if (mds_alloc(&config->root, 1, sizeof *config->root) != MDS_OK) {
        fail(&r, "out of memory");
        return CONFIG_FALSE;
    }
    config->root->type = CONFIG_TYPE_GROUP;
    next(&r);
    if (read_group(&r, config->root) && r.token != END) fail(&r, "syntax error");
    mds_text_free(&r.word);
    return config->error_text ? CONFIG_FALSE : CONFIG_TRUE;
}

const char *config_error_text(const config_t *config)
{
    return config->error_text;
}

int config_error_line(const config_t *config)
{
    return config->error_line;
}

config_setting_t *config_root_setting(const config_t *config)
{
    return config->root;
}

config_setting_t *config_lookup(const config_t *config, const char *name)
{
    return config_setting_get_member(config->root, name);
}

int config_lookup_int(const config_t *config, const char *name, int *value)
{
    return config_setting_lookup_int(config->root, name, value);
}

// ------------------------------------------------------------------------------------------------ settings

int config_setting_type(const config_setting_t *setting)
{
    return setting->type;
}

const char *config_setting_name(const config_setting_t *setting)
{
    return setting->name;
}

unsigned config_setting_source_line(const config_setting_t *setting)
{
    return (unsigned)setting->line;
}

int config_setting_length(const config_setting_t *setting)
{
    return setting ? setting->n : 0;
}

config_setting_t *config_setting_get_elem(const config_setting_t *setting, unsigned k)
{
    return setting && k < (unsigned)setting->n ? setting->item[k] : NULL;
}

config_setting_t *config_setting_get_member(const config_setting_t *setting, const char *name)
{
    int k;

    for (k = 0; setting && k < setting->n; k++)
        if (setting->item[k]->name && !strcmp(setting->item[k]->name, name)) return setting->item[k];
    return NULL;
}

int config_setting_is_group(const config_setting_t *setting)
{
    return setting->type == CONFIG_TYPE_GROUP;
}

int config_setting_is_array(const config_setting_t *setting)
{
    return setting->type == CONFIG_TYPE_ARRAY;
}

int config_setting_is_list(const config_setting_t *setting)
{
    return setting->type == CONFIG_TYPE_LIST;
}

int config_setting_get_int(const config_setting_t *setting)
{
    return setting->type == CONFIG_TYPE_INT ? (int)setting->integer : 0;
}

long long config_setting_get_int64(const config_setting_t *setting)
{
    return setting->type == CONFIG_TYPE_INT || setting->type == CONFIG_TYPE_INT64 ? setting->integer : 0;
}

double config_setting_get_float(const config_setting_t *setting)
{
    return setting->type == CONFIG_TYPE_FLOAT ? setting->number : 0;
}

int config_setting_get_bool(const config_setting_t *setting)
{
    return setting->type == CONFIG_TYPE_BOOL && setting->integer;
}

const char *config_setting_get_string(const config_setting_t *setting)
{
    return setting && setting->type == CONFIG_TYPE_STRING ? setting->text : NULL;
}

const char *config_setting_get_string_elem(const config_setting_t *setting, int k)
{
    return config_setting_get_string(config_setting_get_elem(setting, (unsigned)k));
}

int config_setting_lookup_int(const config_setting_t *setting, const char *name, int *value)
{
    const config_setting_t *member = config_setting_get_member(setting, name);

    if (!member || member->type != CONFIG_TYPE_INT) return CONFIG_FALSE;
    *value = (int)member->integer;
    return CONFIG_TRUE;
}

int config_setting_lookup_string(const config_setting_t *setting, const char *name, const char **value)
{
    const config_setting_t *member = config_setting_get_member(setting, name);

    if (!member || member->type != CONFIG_TYPE_STRING) return CONFIG_FALSE;
    *value = member->text;
    return CONFIG_TRUE;
}
