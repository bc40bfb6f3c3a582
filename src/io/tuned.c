// SPDX-License-Identifier: Apache-2.0
// The cache of the start-up tuner: tune.conf in the user's cache directory, one entry for every machine, system and accuracy tried.
//
// An entry holds decisions only (an order, an interval, a level, a number of threads). What follows from them, the grid for one,
// is computed anew by every run, so that an old or edited file can cost time but never accuracy. A file that cannot be
// understood is as good as none; it is replaced aside and renamed, so that runs that start together do not harm it.
#include "io/io.h"

#include <libconfig.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT = 1, MAX_ENTRIES = 200, MAX_KEY = 1000 };

/// Is the word made of letters, digits and hyphens alone?
static bool plain(const char *word)
{
    return strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(word);
}

static bool read_entry(const config_setting_t *at, mds_tuned *out)
{
    const char *isa = "";
    int         order = 0, interval = 0, threads = 0;

    if (!at || !config_setting_is_group(at) || config_setting_lookup_int(at, "order", &order) != CONFIG_TRUE ||
        config_setting_lookup_int(at, "list_interval", &interval) != CONFIG_TRUE ||
        config_setting_lookup_int(at, "threads", &threads) != CONFIG_TRUE || config_setting_lookup_string(at, "isa", &isa) != CONFIG_TRUE)
        return false;
    if ((order && (order < 4 || order > 8)) || interval < 0 || interval > 1000 || threads < 0 || threads > 4096 || strlen(isa) >= sizeof out->isa ||
        !plain(isa))
        return false;
    memset(out, 0, sizeof *out);
    out->order = order;
    out->list_interval = interval;
    out->threads = threads;
    memcpy(out->isa, isa, strlen(isa) + 1);
    return true;
}

/// The list of entries, NULL if the file is not there or not understood.
static const config_setting_t *open_list(const char *path, config_t *tree)
{
    const config_setting_t *list = NULL;
    char                   *text = NULL;
    size_t                  n;
    int                     format = 0;

    config_init(tree);
    if (!mds_file_exists(path) || mds_file_read(path, &text, &n) != MDS_OK) return NULL;
    if (strlen(text) == n && !strstr(text, "@include") && config_read_string(tree, text) == CONFIG_TRUE &&
        config_lookup_int(tree, "format", &format) == CONFIG_TRUE && format == FORMAT)
        list = config_lookup(tree, "entries");
    if (list && !config_setting_is_list(list)) list = NULL;
    if (!list) mds_note("%s: not a cache of this version: it is not used", path);
    mds_free(text);
    return list;
}

static const char *key_of(const config_setting_t *at)
{
    const char *key = NULL;

    return at && config_setting_is_group(at) && config_setting_lookup_string(at, "key", &key) == CONFIG_TRUE ? key : "";
}

bool mds_tuned_find(const char *path, const char *key, mds_tuned *out)
{
    config_t                tree;
    const config_setting_t *list = open_list(path, &tree);
    bool                    found = false;
    int                     k;

    for (k = 0; list && k < config_setting_length(list) && !found; k++) {
        const config_setting_t *at = config_setting_get_elem(list, (unsigned)k);

        if (strcmp(key_of(at), key)) continue;
        found = read_entry(at, out);
        if (!found) mds_note("%s:%d: this entry is damaged: it is not used", path, config_setting_source_line(at));
    }
    config_destroy(&tree);
    return found;
}

static void add_entry(mds_text *out, const char *key, const mds_tuned *t)
{
    mds_text_add(out, "  { key = \"%s\";\n    order = %d; list_interval = %d; threads = %d; isa = \"%s\"; }", key, t->order, t->list_interval, t->threads,
                 t->isa);
}

mds_status mds_tuned_store(const char *path, const char *key, const mds_tuned *tuned)
{
    config_t                tree;
    const config_setting_t *list;
    mds_text                text = {0}, aside = {0};
    mds_status              status;
    mds_tuned               old;
    int                     k, n;

    MDS_CHECK(strlen(key) < MAX_KEY && !strpbrk(key, "\"\\\n"), MDS_E_INTERNAL, "a key of the cache is not plain text: %s", key);
    list = open_list(path, &tree);
    n = list ? config_setting_length(list) : 0;
    mds_text_add(&text, "// what mdsim's start-up tuner found on this machine; may be deleted at any time\nformat = %d;\nentries = (\n", FORMAT);
    for (k = n > MAX_ENTRIES ? n - MAX_ENTRIES : 0; k < n; k++) {
        const config_setting_t *at = config_setting_get_elem(list, (unsigned)k);
        const char             *other = key_of(at);

        if (!*other || !strcmp(other, key) || strlen(other) >= MAX_KEY || strpbrk(other, "\"\\\n") || !read_entry(at, &old)) continue;
        add_entry(&text, other, &old);
        mds_text_add(&text, ",\n");
    }
    config_destroy(&tree);
    add_entry(&text, key, tuned);
    mds_text_add(&text, "\n);\n");
    mds_text_add(&aside, "%s.%d", path, (int)getpid());
    status = text.failed || aside.failed ? MDS_E_MEMORY : mds_file_write(aside.s, text.s, text.n);
    if (status == MDS_OK && rename(aside.s, path)) status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be replaced", path);
    if (status != MDS_OK && aside.s) (void)unlink(aside.s);
    mds_text_free(&aside);
    mds_text_free(&text);
    return status;
}
