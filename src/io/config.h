// SPDX-License-Identifier: Apache-2.0
// Private to the configuration reader: the schema row, the list of problems, the text with its line map.
//
//   source.c   conf file -> one text with includes expanded, every line knowing its file and number
//   config.c   text -> libconfig tree -> keys; --set
//   value.c    one setting -> one field of mds_config, by its row of schema.c
//   problem.c  everything that is wrong, reported together
//   rules.c    what must hold between keys
//   schema.c   one row per key; everything that is said about a key is said there once
#ifndef MDS_IO_CONFIG_H
#define MDS_IO_CONFIG_H

#include "io/io.h"

MDS_BEGIN

// -------------------------------------------------------------------------------------------------- schema

typedef enum {
    MDS_KEY_TEXT,    // char *; "" is NULL
    MDS_KEY_CHOICE,  // an enum or a bool
    MDS_KEY_WORD,    // char *, one of the choices
    MDS_KEY_INTEGER, // int64_t or int32_t
    MDS_KEY_NUMBER,  // double
    MDS_KEY_BOOL,
    MDS_KEY_TEXTS, // mds_strings
    MDS_KEY_GRID,  // int32_t[3]
    MDS_KEY_BOX    // system.box: a word, or 3, 6 or 9 numbers
} mds_key_kind;

/// One word of a choice and what it stands for.
typedef struct {
    const char *word;
    int         value;
} mds_key_choice;

enum { MDS_MAX_CHOICES = 16 };

/// Everything about one key.
typedef struct {
    const char    *name; // "run.dt"
    mds_key_kind   kind;
    size_t         offset;                  // in mds_config
    size_t         size;                    // of the field, bytes
    const char    *unit;                    // "1" if none, "" for words
    const char    *value;                   // default as libconfig text
    const char    *shown;                   // what people read as the default; NULL: `value`
    double         low, high;               // inclusive; both 0: any
    const char    *zero;                    // what 0 means, legal beside the range; NULL: nothing special
    mds_key_choice choice[MDS_MAX_CHOICES]; // ended by a NULL word
    const char    *help;
} mds_key;

/// A group of keys.
typedef struct {
    const char *name, *help;
} mds_key_group;

extern const mds_key       mds_keys[];
extern const mds_key_group mds_key_groups[];
extern const int           mds_n_key_groups;

/// Index of a key, -1 if unknown.
int  mds_key_find(const char *name);
/// Index of a group of that name (n characters), -1 if unknown.
int  mds_key_group_find(const char *name, size_t n);
/// Index of the group whose name is nearest, -1 if none is near.
int  mds_key_group_near(const char *name);
/// Add "; did you mean 'x'?" for an unknown dotted key, or nothing if no name is near.
void mds_key_suggest(const char *name, mds_text *out);
/// Add the choices of a key as "a", "b" or "c".
void mds_key_choices(const mds_key *key, mds_text *out);
/// Add a number as libconfig text that reads back as the same bits and as a float.
void mds_key_number(double value, mds_text *out);

// ------------------------------------------------------------------------------------------------ problems

typedef struct {
    int64_t    order; // line of the expanded text; later ones for --set and rules
    mds_status status;
    char      *text;
} mds_problem;

/// All that is wrong with a conf. Start zeroed.
typedef struct {
    mds_problem *item;
    size_t       n, capacity;
    size_t       n_scanned; // the first ones, found before parsing
    bool        *bad;       // [mds_config_n_keys()] keys that have a problem of their own; NULL: not kept
    bool         lost;      // out of memory while collecting
} mds_problems;

enum { MDS_ORDER_SET = 1 << 30, MDS_ORDER_RULE }; // after every line of a conf

void mds_problem_add(mds_problems *problems, int64_t order, mds_status status, const char *fmt, ...)
    MDS_PRINTF(4, 5);
/// Was a word of that line refused before parsing?
bool       mds_problem_at(const mds_problems *problems, int64_t order);
/// MDS_OK if there are none; else all of them, in order, as the recorded message. The status is the first of
/// bad input, missing file, unsupported that occurs.
mds_status mds_problems_report(mds_problems *problems);
void       mds_problems_free(mds_problems *problems);

// -------------------------------------------------------------------------------------------------- source

/// A conf with its includes put in place. Line k (from 1) of `text` is line `number[k - 1]` of file `file[k -
/// 1]`.
typedef struct {
    mds_text text;
    char   **name; // [n_names] file names as messages show them
    int32_t  n_names;
    int32_t *file, *number;
    int32_t  n_lines;
    size_t   cap_name, cap_file, cap_number;
} mds_source;

/// Read `path` and whatever it includes. Words that libconfig would misread are problems. Errors:
/// MDS_E_MISSING, MDS_E_INPUT (the file itself cannot be read), MDS_E_MEMORY.
mds_status  mds_source_read(const char *path, mds_source *source, mds_problems *problems);
/// The same for a text that is no file; it may not include.
mds_status  mds_source_read_text(const char *name, const char *text, size_t n, mds_source *source,
                                 mds_problems *problems);
/// File name and number of a line of the text (clamped to what there is).
const char *mds_source_file(const mds_source *source, int line);
int         mds_source_number(const mds_source *source, int line);
void        mds_source_free(mds_source *source);

// -------------------------------------------------------------------------------------------------- values

struct config_setting_t; // libconfig's

/// Where values come from and go to.
typedef struct {
    mds_config       *config;
    mds_problems     *problems;
    const mds_source *source;
    const char       *set;     // the text of a --set; NULL: a file
    bool              trusted; // defaults: ranges do not hold for the marks of "not given"
} mds_reader;

/// Read a setting into the key's field and note its origin, or add a problem and leave the field as it is.
void mds_value_read(const mds_reader *r, const struct config_setting_t *setting, const mds_key *key);
/// Add "file:line" of a setting, or "--set key=value".
void mds_value_place(const mds_reader *r, const struct config_setting_t *setting, mds_text *out);
/// Add a problem at a setting; with a key, its name comes first.
void mds_value_problem(const mds_reader *r, const struct config_setting_t *setting, const mds_key *key,
                       const char *fmt, ...) MDS_PRINTF(4, 5);
void mds_texts_free(mds_strings *texts);

// --------------------------------------------------------------------------------------------------- rules

/// Settle what one key implies for another and add a problem for each contradiction, each with its place.
void mds_config_check(mds_config *config, mds_problems *problems);

MDS_END
#endif
