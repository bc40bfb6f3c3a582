// SPDX-License-Identifier: Apache-2.0
// Reading a conf: text, libconfig tree, fields; every mistake collected, none fatal before all are known.
//
// source.c has put includes in place and refused words that libconfig would misread. The tree that libconfig makes is
// then walked key by key against the schema: unknown names, kinds, ranges. Conversions are our own, because libconfig's
// getters answer 0 for an integer where a float is asked and cut int64 where an int is asked. Defaults are text too and
// take the same way, as does a --set, which is parsed as the line `value = TEXT;`.
#include "io/config.h"

#include <ctype.h>
#include <libconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Where a value comes from, for messages and origins.
typedef struct {
    mds_config       *config;
    mds_problems     *problems;
    const mds_source *source;
    const char       *set;     // the text of a --set; NULL: a file
    bool              trusted; // defaults: ranges do not hold for the marks of "not given"
} reader;

// ------------------------------------------------------------------------------------------------- problems

void mds_problem_add(mds_problems *problems, int64_t order, mds_status status, const char *fmt, ...)
{
    mds_text text = {0};
    va_list  args;

    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    if (text.failed ||
        mds_grow(&problems->item, &problems->capacity, problems->n + 1, sizeof *problems->item) != MDS_OK) {
        mds_text_free(&text);
        problems->lost = true;
        return;
    }
    problems->item[problems->n++] = (mds_problem){.order = order, .status = status, .text = text.s};
}

bool mds_problem_at(const mds_problems *problems, int64_t order)
{
    size_t i;

    for (i = 0; i < problems->n_scanned; i++)
        if (problems->item[i].order == order) return true;
    return false;
}

/// Insertion sort: stable, and the lists are short or already in order.
static void sort_problems(mds_problems *problems)
{
    size_t i, j;

    for (i = 1; i < problems->n; i++) {
        const mds_problem one = problems->item[i];

        for (j = i; j > 0 && problems->item[j - 1].order > one.order; j--) problems->item[j] = problems->item[j - 1];
        problems->item[j] = one;
    }
}

/// Which of several statuses the whole gets: the later in this list.
static int weight(mds_status status)
{
    static const mds_status order[] = {MDS_OK, MDS_E_UNSUPPORTED, MDS_E_MISSING, MDS_E_USAGE, MDS_E_INPUT, MDS_E_MEMORY};
    int                     k = (int)(sizeof order / sizeof *order) - 1;

    while (k > 0 && order[k] != status) k--;
    return k;
}

mds_status mds_problems_report(mds_problems *problems)
{
    enum { SHOWN = 50, ROOM = 12000 }; // what the record of the message holds
    mds_text   text = {0};
    mds_status status = MDS_OK;
    size_t     i;

    MDS_CHECK(!problems->lost, MDS_E_MEMORY, "out of memory for messages");
    sort_problems(problems);
    for (i = 0; i < problems->n; i++)
        if (weight(problems->item[i].status) > weight(status)) status = problems->item[i].status;
    for (i = 0; i < problems->n && i < SHOWN && text.n < ROOM; i++)
        mds_text_add(&text, "%s%s", i ? "\n" : "", problems->item[i].text);
    if (i < problems->n) mds_text_add(&text, "\n... and %zu more", problems->n - i);
    if (text.failed)
        status = mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory for messages");
    else if (status != MDS_OK)
        mds_fail(status, __FILE__, __LINE__, "%s", text.s);
    mds_text_free(&text);
    return status;
}

void mds_problems_free(mds_problems *problems)
{
    size_t i;

    for (i = 0; i < problems->n; i++) mds_free(problems->item[i].text);
    mds_free(problems->item);
    mds_free(problems->bad);
    *problems = (mds_problems){0};
}

/// "file:line" of a setting, or "--set key=value".
static void add_place(const reader *r, const config_setting_t *setting, mds_text *out)
{
    const int line = (int)config_setting_source_line(setting);

    if (r->set)
        mds_text_add(out, "--set %s", r->set);
    else
        mds_text_add(out, "%s:%d", mds_source_file(r->source, line), mds_source_number(r->source, line));
}

static void problem(const reader *r, const config_setting_t *setting, const mds_key *key, const char *fmt, ...)
    MDS_PRINTF(4, 5);

static void problem(const reader *r, const config_setting_t *setting, const mds_key *key, const char *fmt, ...)
{
    mds_text place = {0}, what = {0};
    va_list  args;

    if (key && r->problems->bad) r->problems->bad[key - mds_keys] = true;
    // a word on this line was refused already: what libconfig made of it is no news
    if (key && !r->set &&
        mds_problem_at(r->problems, (int)config_setting_source_line(setting)))
        return;
    add_place(r, setting, &place);
    va_start(args, fmt);
    mds_text_add_v(&what, fmt, args);
    va_end(args);
    if (place.failed || what.failed)
        r->problems->lost = true;
    else
        mds_problem_add(r->problems, r->set ? MDS_ORDER_SET : (int)config_setting_source_line(setting), MDS_E_INPUT,
                        "%s: %s%s%s", place.s, key ? key->name : "", key ? " " : "", what.s);
    mds_text_free(&place);
    mds_text_free(&what);
}

// --------------------------------------------------------------------------------------- settings to values

static const char *kind_name(const config_setting_t *setting)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_GROUP: return "a group";
    case CONFIG_TYPE_ARRAY:
    case CONFIG_TYPE_LIST: return "a list";
    case CONFIG_TYPE_STRING: return "a text";
    case CONFIG_TYPE_BOOL: return "true or false";
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
    case CONFIG_TYPE_FLOAT: return "a number";
    default: return "nothing";
    }
}

static bool get_number(const config_setting_t *setting, double *value)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT: *value = config_setting_get_int(setting); return true;
    case CONFIG_TYPE_INT64: *value = (double)config_setting_get_int64(setting); return true;
    case CONFIG_TYPE_FLOAT: *value = config_setting_get_float(setting); return isfinite(*value);
    default: return false;
    }
}

/// A float counts if it is integral and exact (5e9).
static bool get_integer(const config_setting_t *setting, int64_t *value)
{
    double number = 0;

    if (!get_number(setting, &number)) return false;
    if (config_setting_type(setting) != CONFIG_TYPE_FLOAT) {
        *value = config_setting_get_int64(setting);
        return true;
    }
    if (number != nearbyint(number) || fabs(number) > 9007199254740992.0) return false; // 2^53
    *value = (int64_t)number;
    return true;
}

static bool is_list(const config_setting_t *setting)
{
    return config_setting_is_array(setting) || config_setting_is_list(setting);
}

/// Say so if the value lies outside of the key's range.
static bool in_range(const reader *r, const config_setting_t *setting, const mds_key *key, double value)
{
    mds_text text = {0};
    bool     good = (key->zero && value == 0) || (key->low == 0 && key->high == 0) || r->trusted;

    if (good || (value >= key->low && value <= key->high)) return true;
    if (value < key->low || key->high < 9e18)
        mds_text_add(&text, "= %.10g%s%s is outside of %.10g to %.10g", value, strcmp(key->unit, "1") ? " " : "",
                     strcmp(key->unit, "1") ? key->unit : "", key->low, key->high);
    if (key->zero) mds_text_add(&text, " (0: %s)", key->zero);
    problem(r, setting, key, "%s", text.s ? text.s : "is outside of its range");
    mds_text_free(&text);
    return false;
}

static void set_text(const reader *r, char **field, const char *value)
{
    char *copy = NULL;

    if (*value && mds_copy_text(&copy, value, SIZE_MAX) != MDS_OK) {
        r->problems->lost = true;
        return;
    }
    mds_free(*field);
    *field = copy;
}

static void read_number(const reader *r, const config_setting_t *setting, const mds_key *key, void *field)
{
    double value;

    if (!get_number(setting, &value))
        problem(r, setting, key, "must be a number%s%s, not %s", strcmp(key->unit, "1") ? " in " : "",
                strcmp(key->unit, "1") ? key->unit : "", kind_name(setting));
    else if (in_range(r, setting, key, value))
        memcpy(field, &value, sizeof value);
}

static void read_integer(const reader *r, const config_setting_t *setting, const mds_key *key, void *field)
{
    int64_t value;
    int32_t small;

    if (!get_integer(setting, &value)) {
        problem(r, setting, key, "must be an integer%s", config_setting_type(setting) == CONFIG_TYPE_FLOAT
                                                             ? ", this has a fraction or is beyond 2^53"
                                                             : "");
    } else if (in_range(r, setting, key, (double)value)) {
        small = (int32_t)value; // its row's range is inside 32 bits
        if (key->size == sizeof value)
            memcpy(field, &value, sizeof value);
        else
            memcpy(field, &small, sizeof small);
    }
}

static void read_choice(const reader *r, const config_setting_t *setting, const mds_key *key, void *field)
{
    const char *word = config_setting_get_string(setting);
    mds_text    text = {0};
    int         c, near = -1, distance = 4;
    int32_t     value;

    for (c = 0; c < MDS_MAX_CHOICES && key->choice[c].word; c++) {
        if (word && !strcmp(word, key->choice[c].word)) {
            value = key->choice[c].value;
            if (key->kind == MDS_KEY_WORD)
                set_text(r, field, word);
            else if (key->size == sizeof(bool))
                *(bool *)field = value != 0;
            else
                memcpy(field, &value, sizeof value);
            return;
        }
        if (word && mds_text_distance(word, key->choice[c].word) < distance) {
            distance = mds_text_distance(word, key->choice[c].word);
            near = c;
        }
    }
    mds_key_choices(key, &text);
    if (word) mds_text_add(&text, ", not \"%.60s\"", word);
    if (near >= 0) mds_text_add(&text, "; did you mean \"%s\"?", key->choice[near].word);
    problem(r, setting, key, "must be %s%s", key->kind == MDS_KEY_BOX ? "3, 6 or 9 numbers or " : "",
            text.s ? text.s : "");
    mds_text_free(&text);
}

static void free_texts(mds_strings *texts)
{
    int32_t k;

    for (k = 0; k < texts->n; k++) mds_free(texts->item[k]);
    mds_free(texts->item);
    *texts = (mds_strings){0};
}

/// A list of texts; one text alone is a list of one.
static void read_texts(const reader *r, const config_setting_t *setting, const mds_key *key, mds_strings *field)
{
    const bool  list = is_list(setting);
    const int   n = list ? config_setting_length(setting) : 1;
    mds_strings texts = {0};
    int         k;

    for (k = 0; k < n; k++) {
        const char *word =
            list ? config_setting_get_string_elem(setting, k) : config_setting_get_string(setting);

        if (!word || !*word) {
            problem(r, setting, key, "must be a list of texts, like [\"a\", \"b\"]");
            return;
        }
    }
    if (mds_alloc(&texts.item, (size_t)n, sizeof *texts.item) != MDS_OK) {
        r->problems->lost = true;
        return;
    }
    for (k = 0; k < n; k++)
        set_text(r, &texts.item[texts.n++],
                 list ? config_setting_get_string_elem(setting, k) : config_setting_get_string(setting));
    free_texts(field);
    *field = texts;
}

static void read_grid(const reader *r, const config_setting_t *setting, const mds_key *key, int32_t *field)
{
    int64_t value[3];
    bool    good = is_list(setting) && config_setting_length(setting) == 3;
    int     k;

    for (k = 0; good && k < 3; k++) good = get_integer(config_setting_get_elem(setting, (unsigned)k), &value[k]);
    if (!good) {
        problem(r, setting, key, "must be 3 integers, like [52, 52, 52]");
        return;
    }
    for (k = 0; k < 3; k++)
        if (!in_range(r, setting, key, (double)value[k])) return;
    if (!value[0] != !value[1] || !value[1] != !value[2]) {
        problem(r, setting, key, "must be all chosen (0) or all given");
        return;
    }
    for (k = 0; k < 3; k++) field[k] = (int32_t)value[k];
}

/// Numbers of a list and of the lists in it, in order; -1 if there is anything else or more than `room`.
static int flatten(const config_setting_t *setting, double *value, int room)
{
    int k, n = 0;

    for (k = 0; k < config_setting_length(setting); k++) {
        const config_setting_t *part = config_setting_get_elem(setting, (unsigned)k);
        int                     more = 1;

        if (is_list(part))
            more = config_setting_length(part) == 3 && n < room ? flatten(part, value + n, room - n) : -1;
        else if (n >= room || !get_number(part, &value[n]))
            more = -1;
        if (more < 0) return -1;
        n += more;
    }
    return n;
}

static void read_box(const reader *r, const config_setting_t *setting, const mds_key *key)
{
    mds_config *config = r->config;
    double      value[9];
    int         n, k;

    if (!is_list(setting)) {
        read_choice(r, setting, key, &config->system.box_source);
        return;
    }
    n = flatten(setting, value, 9);
    if (n != 3 && n != 6 && n != 9) {
        problem(r, setting, key, "must be 3 lengths, 3 lengths and 3 angles (degrees), or 9 numbers (vectors by rows)");
        return;
    }
    for (k = 0; k < n; k++) {
        const bool length = n == 9 ? k % 4 == 0 : k < 3, angle = n == 6 && k >= 3;

        if ((length && !(value[k] > 0)) || fabs(value[k]) > 1e5 || (angle && !(value[k] > 5 && value[k] < 175))) {
            problem(r, setting, key, "has the impossible %s %.10g", angle ? "angle" : "length", value[k]);
            return;
        }
    }
    memcpy(config->system.box, value, (size_t)n * sizeof *value);
    config->system.n_box = n;
    config->system.box_source = MDS_BOX_GIVEN;
}

static void read_setting(const reader *r, const config_setting_t *setting, const mds_key *key)
{
    void       *field = (char *)r->config + key->offset;
    mds_text    origin = {0};
    const char *word;

    switch (key->kind) {
    case MDS_KEY_TEXT:
        word = config_setting_get_string(setting);
        if (word)
            set_text(r, field, word);
        else
            problem(r, setting, key, "must be a text in \"\", not %s", kind_name(setting));
        break;
    case MDS_KEY_CHOICE:
    case MDS_KEY_WORD: read_choice(r, setting, key, field); break;
    case MDS_KEY_BOOL:
        if (config_setting_type(setting) == CONFIG_TYPE_BOOL)
            *(bool *)field = config_setting_get_bool(setting) != 0;
        else
            problem(r, setting, key, "must be true or false, not %s", kind_name(setting));
        break;
    case MDS_KEY_INTEGER: read_integer(r, setting, key, field); break;
    case MDS_KEY_NUMBER: read_number(r, setting, key, field); break;
    case MDS_KEY_TEXTS: read_texts(r, setting, key, field); break;
    case MDS_KEY_GRID: read_grid(r, setting, key, field); break;
    case MDS_KEY_BOX: read_box(r, setting, key); break;
    }
    if (r->trusted) return;
    if (r->set)
        mds_text_add(&origin, "--set");
    else
        add_place(r, setting, &origin);
    mds_free(r->config->origin[key - mds_keys]);
    r->config->origin[key - mds_keys] = origin.s;
}

// ------------------------------------------------------------------------------------------------- the tree

static void unknown_key(const reader *r, const config_setting_t *setting, const char *group)
{
    mds_text name = {0}, hint = {0};

    mds_text_add(&name, "%s%s%s", group, *group ? "." : "", config_setting_name(setting));
    if (!name.failed) {
        mds_key_suggest(name.s, &hint);
        problem(r, setting, NULL, "unknown key '%s'%s", name.s, hint.s ? hint.s : "");
    }
    mds_text_free(&name);
    mds_text_free(&hint);
}

static void read_group(const reader *r, const config_setting_t *group)
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
            read_setting(r, setting, &mds_keys[index]);
        else
            unknown_key(r, setting, name);
        mds_text_free(&full);
    }
}

static void unknown_group(const reader *r, const config_setting_t *group)
{
    const char *name = config_setting_name(group);
    const int   near = mds_key_group_near(name);

    problem(r, group, NULL, "unknown group '%s'%s%s%s", name, near < 0 ? "" : "; did you mean '",
            near < 0 ? "" : mds_key_groups[near].name, near < 0 ? "" : "'?");
}

static void read_tree(const reader *r, const config_t *tree)
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
                problem(r, setting, NULL, "'%s' is a group: write %s = { key = value; };", name, name);
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

static void parse_problem(const mds_source *source, const config_t *tree, mds_problems *problems)
{
    const int   line = config_error_line(tree);
    const char *s = source->text.s, *end;
    int         k;

    if (mds_problem_at(problems, line)) return; // its cause is known already
    for (k = 1; k < line && (end = strchr(s, '\n')); k++) s = end + 1;
    while (*s == ' ' || *s == '\t') s++;
    end = s + strcspn(s, "\r\n");
    mds_problem_add(problems, line, MDS_E_INPUT, "%s:%d: %s; at or just before: %.*s (later lines were not read)",
                    mds_source_file(source, line), mds_source_number(source, line),
                    explain_error(config_error_text(tree) ? config_error_text(tree) : "not understood"),
                    end - s > 60 ? 60 : (int)(end - s), s);
}

/// Parse a text that is in `source` and read what is in it. False if the parser stopped early.
static bool read_source(const reader *r, const char *only_key)
{
    config_t tree;
    bool     whole;

    config_init(&tree);
    whole = config_read_string(&tree, r->source->text.s ? r->source->text.s : "") == CONFIG_TRUE;
    if (only_key) {
        const config_setting_t *root = config_root_setting(&tree);
        const config_setting_t *value = whole ? config_lookup(&tree, "value") : NULL;

        whole = value && config_setting_length(root) == 1;
        if (whole) read_setting(r, value, &mds_keys[mds_key_find(only_key)]);
    } else {
        if (!whole) parse_problem(r->source, &tree, r->problems);
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
    mds_source   source = {0};
    mds_problems own = {0};
    const reader r = {.config = config, .problems = problems, .source = &source, .set = set};
    mds_text     text = {0};
    const char  *s;

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
        set_problem(problems, MDS_E_INPUT, set, "the value is not understood", " (texts with blanks or signs stand in \"\")");
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
    mds_source   source = {0};
    mds_problems problems = {0};
    const reader r = {.config = out, .problems = &problems, .source = &source, .trusted = true};
    mds_text     text = {0};
    size_t       n;
    int          k;
    mds_status   status;

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
    mds_source   source = {0};
    mds_problems problems = {0};
    const reader r = {.config = out, .problems = &problems, .source = &source};
    mds_status   status = MDS_OK;
    bool         whole;
    int          k;

    MDS_TRY(mds_config_defaults(out));
    MDS_TRY_GOTO(mds_copy_text(&out->path, path, SIZE_MAX));
    MDS_TRY_GOTO(mds_alloc(&problems.bad, (size_t)mds_config_n_keys(), sizeof *problems.bad));
    MDS_TRY_GOTO(mds_source_read(path, &source, &problems));
    problems.n_scanned = problems.n;
    whole = read_source(&r, NULL);
    for (k = 0; k < n_set; k++) apply_set(out, set[k], &problems);
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
        if (mds_keys[k].kind == MDS_KEY_TEXTS) free_texts(field);
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
