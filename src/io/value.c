// SPDX-License-Identifier: Apache-2.0
// One setting of libconfig's tree into one field of mds_config, by its schema row; what does not fit is a
// problem.
//
// The conversions are our own: libconfig's getters answer 0 for an integer where a float is asked, and cut
// 64-bit integers where 32 bits are asked. Here an integer is a number, and a float is an integer if it is
// integral.
#include "io/config.h"

#include <libconfig.h>
#include <math.h>
#include <string.h>

void mds_value_place(const mds_reader *r, const config_setting_t *setting, mds_text *out)
{
    const int line = (int)config_setting_source_line(setting);

    if (r->set)
        mds_text_add(out, "--set %s", r->set);
    else
        mds_text_add(out, "%s:%d", mds_source_file(r->source, line), mds_source_number(r->source, line));
}

void mds_value_problem(const mds_reader *r, const config_setting_t *setting, const mds_key *key,
                       const char *fmt, ...)
{
    mds_text place = {0}, what = {0};
    va_list  args;

    if (key && r->problems->bad) r->problems->bad[key - mds_keys] = true;
    // a word on this line was refused already: what libconfig made of it is no news
    if (key && !r->set && mds_problem_at(r->problems, (int)config_setting_source_line(setting))) return;
    mds_value_place(r, setting, &place);
    va_start(args, fmt);
    mds_text_add_v(&what, fmt, args);
    va_end(args);
    if (place.failed || what.failed)
        r->problems->lost = true;
    else
        mds_problem_add(r->problems, r->set ? MDS_ORDER_SET : (int)config_setting_source_line(setting),
                        MDS_E_INPUT, "%s: %s%s%s", place.s, key ? key->name : "", key ? " " : "", what.s);
    mds_text_free(&place);
    mds_text_free(&what);
}

// ---------------------------------------------------------------------------------------------- conversions

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
static bool in_range(const mds_reader *r, const config_setting_t *setting, const mds_key *key, double value)
{
    mds_text text = {0};
    bool     good = (key->zero && value == 0) || (key->low == 0 && key->high == 0) || r->trusted;

    if (good || (value >= key->low && value <= key->high)) return true;
    if (value < key->low || key->high < 9e18)
        mds_text_add(&text, "= %.10g%s%s is outside of %.10g to %.10g", value,
                     strcmp(key->unit, "1") ? " " : "", strcmp(key->unit, "1") ? key->unit : "", key->low,
                     key->high);
    if (key->zero) mds_text_add(&text, " (0: %s)", key->zero);
    mds_value_problem(r, setting, key, "%s", text.s ? text.s : "is outside of its range");
    mds_text_free(&text);
    return false;
}

static void set_text(const mds_reader *r, char **field, const char *value)
{
    char *copy = NULL;

    if (*value && mds_copy_text(&copy, value, SIZE_MAX) != MDS_OK) {
        r->problems->lost = true;
        return;
    }
    mds_free(*field);
    *field = copy;
}

static void read_number(const mds_reader *r, const config_setting_t *setting, const mds_key *key, void *field)
{
    double value;

    if (!get_number(setting, &value))
        mds_value_problem(r, setting, key, "must be a number%s%s, not %s",
                          strcmp(key->unit, "1") ? " in " : "", strcmp(key->unit, "1") ? key->unit : "",
                          kind_name(setting));
    else if (in_range(r, setting, key, value))
        memcpy(field, &value, sizeof value);
}

static void read_integer(const mds_reader *r, const config_setting_t *setting, const mds_key *key,
                         void *field)
{
    int64_t value;
    int32_t small;

    if (!get_integer(setting, &value)) {
        mds_value_problem(r, setting, key, "must be an integer%s",
                          config_setting_type(setting) == CONFIG_TYPE_FLOAT
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

static void read_choice(const mds_reader *r, const config_setting_t *setting, const mds_key *key, void *field)
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
    mds_value_problem(r, setting, key, "must be %s%s",
                      key->kind == MDS_KEY_BOX ? "3, 6 or 9 numbers or " : "", text.s ? text.s : "");
    mds_text_free(&text);
}

void mds_texts_free(mds_strings *texts)
{
    int32_t k;

    for (k = 0; k < texts->n; k++) mds_free(texts->item[k]);
    mds_free(texts->item);
    *texts = (mds_strings){0};
}

/// A list of texts; one text alone is a list of one.
static void read_texts(const mds_reader *r, const config_setting_t *setting, const mds_key *key,
                       mds_strings *field)
{
    const bool  list = is_list(setting);
    const int   n = list ? config_setting_length(setting) : 1;
    mds_strings texts = {0};
    int         k;

    for (k = 0; k < n; k++) {
        const char *word =
            list ? config_setting_get_string_elem(setting, k) : config_setting_get_string(setting);

        if (!word || !*word) {
            mds_value_problem(r, setting, key, "must be a list of texts, like [\"a\", \"b\"]");
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
    mds_texts_free(field);
    *field = texts;
}

static void read_grid(const mds_reader *r, const config_setting_t *setting, const mds_key *key,
                      int32_t *field)
{
    int64_t value[3];
    bool    good = is_list(setting) && config_setting_length(setting) == 3;
    int     k;

    for (k = 0; good && k < 3; k++)
        good = get_integer(config_setting_get_elem(setting, (unsigned)k), &value[k]);
    if (!good) {
        mds_value_problem(r, setting, key, "must be 3 integers, like [52, 52, 52]");
        return;
    }
    for (k = 0; k < 3; k++)
        if (!in_range(r, setting, key, (double)value[k])) return;
    if (!value[0] != !value[1] || !value[1] != !value[2]) {
        mds_value_problem(r, setting, key, "must be all chosen (0) or all given");
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

static void read_box(const mds_reader *r, const config_setting_t *setting, const mds_key *key)
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
        mds_value_problem(
            r, setting, key,
            "must be 3 lengths, 3 lengths and 3 angles (degrees), or 9 numbers (vectors by rows)");
        return;
    }
    for (k = 0; k < n; k++) {
        const bool length = n == 9 ? k % 4 == 0 : k < 3, angle = n == 6 && k >= 3;

        if ((length && !(value[k] > 0)) || fabs(value[k]) > 1e5 ||
            (angle && !(value[k] > 5 && value[k] < 175))) {
            mds_value_problem(r, setting, key, "has the impossible %s %.10g", angle ? "angle" : "length",
                              value[k]);
            return;
        }
    }
    memcpy(config->system.box, value, (size_t)n * sizeof *value);
    config->system.n_box = n;
    config->system.box_source = MDS_BOX_GIVEN;
}

void mds_value_read(const mds_reader *r, const config_setting_t *setting, const mds_key *key)
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
            mds_value_problem(r, setting, key, "must be a text in \"\", not %s", kind_name(setting));
        break;
    case MDS_KEY_CHOICE:
    case MDS_KEY_WORD: read_choice(r, setting, key, field); break;
    case MDS_KEY_BOOL:
        if (config_setting_type(setting) == CONFIG_TYPE_BOOL)
            *(bool *)field = config_setting_get_bool(setting) != 0;
        else
            mds_value_problem(r, setting, key, "must be true or false, not %s", kind_name(setting));
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
        mds_value_place(r, setting, &origin);
    mds_free(r->config->origin[key - mds_keys]);
    r->config->origin[key - mds_keys] = origin.s;
}
