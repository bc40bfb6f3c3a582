// SPDX-License-Identifier: Apache-2.0
// Launch profiles: what a job needs beside the machine, the same for every provider and launcher. Every key with its meaning:
// cloud/profiles/default.conf.
//
// A profile is written by people and may come from elsewhere, so a word that we do not know is refused, not skipped: a
// misspelt bucket must not become a job whose results die with the machine.
#include "io/io.h"

#include <libconfig.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    const char *name;
    size_t      offset;
    bool        text;
    double      value, low, high; // numbers
} key;

#define TEXT(member) {#member, offsetof(mds_profile, member), true, 0, 0, 0}
#define NUMBER(member, value, low, high) {#member, offsetof(mds_profile, member), false, value, low, high}
static const key keys[] = {
    TEXT(image), TEXT(mdsim), TEXT(bucket), TEXT(bucket_region), TEXT(claim), TEXT(partition), TEXT(account), TEXT(queue), TEXT(kube_namespace),
    TEXT(service_account), TEXT(vpc), TEXT(security_group), TEXT(role),
    NUMBER(hours, 24, 0.05, 8760), NUMBER(grace_seconds, 120, 10, 3600), NUMBER(save_minutes, 5, 0.01, 1440),
    NUMBER(part_gb, 1, 0.001, 1e6), NUMBER(checkpoint_minutes, 15, 0.1, 1440), NUMBER(disk_gb, 100, 10, 1e5),
    NUMBER(idle_minutes, 5, 1, 1440), NUMBER(stop_if_below, 0.5, 0, 1),
};
enum { N_KEYS = sizeof keys / sizeof *keys };

static mds_status set_text(mds_profile *p, const key *k, const char *text)
{
    char **field = (char **)((char *)p + k->offset);

    mds_free(*field);
    *field = NULL;
    return *text ? mds_copy_text(field, text, SIZE_MAX) : MDS_OK;
}

static mds_status read_key(const char *path, mds_profile *p, const config_setting_t *at)
{
    const char *name = config_setting_name(at), *text = NULL;
    const int   line = (int)config_setting_source_line(at), type = config_setting_type(at);
    const key  *k = keys, *near = keys;
    double      value = NAN;

    while (k < keys + N_KEYS && strcmp(k->name, name)) k++;
    if (k == keys + N_KEYS) {
        for (k = keys; k < keys + N_KEYS; k++)
            if (mds_text_distance(name, k->name) < mds_text_distance(name, near->name)) near = k;
        MDS_FAIL(MDS_E_INPUT, "%s:%d: unknown key '%s'; the nearest known one is '%s'", path, line, name, near->name);
    }
    if (k->text) {
        text = config_setting_get_string(at);
        MDS_CHECK(text, MDS_E_INPUT, "%s:%d: %s must be a text in quotes", path, line, name);
        return set_text(p, k, text);
    }
    if (type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64) value = (double)config_setting_get_int64(at);
    if (type == CONFIG_TYPE_FLOAT) value = config_setting_get_float(at);
    MDS_CHECK(value >= k->low && value <= k->high, MDS_E_INPUT, "%s:%d: %s must be a number from %g to %g", path, line, name, k->low, k->high);
    *(double *)((char *)p + k->offset) = value;
    return MDS_OK;
}

static mds_status read_all(const char *path, const char *text, mds_profile *p, config_t *config)
{
    const config_setting_t *root;
    int                     k;

    MDS_CHECK(config_read_string(config, text) == CONFIG_TRUE, MDS_E_INPUT, "%s:%d: %s", path, config_error_line(config),
              config_error_text(config));
    root = config_root_setting(config);
    for (k = 0; k < config_setting_length(root); k++) MDS_TRY(read_key(path, p, config_setting_get_elem(root, (unsigned)k)));
    return MDS_OK;
}

mds_status mds_profile_read(const char *path, mds_profile *out)
{
    config_t   config;
    char      *text = NULL;
    size_t     n;
    int        k;
    mds_status status;

    memset(out, 0, sizeof *out);
    for (k = 0; k < N_KEYS; k++)
        if (!keys[k].text) *(double *)((char *)out + keys[k].offset) = keys[k].value;
    if (!path) return MDS_OK;
    MDS_TRY(mds_file_read(path, &text, &n));
    config_init(&config);
    status = strlen(text) == n ? read_all(path, text, out, &config) : mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s: holds a zero byte: not a profile", path);
    config_destroy(&config);
    mds_free(text);
    if (status != MDS_OK) mds_profile_free(out);
    return status;
}

void mds_profile_free(mds_profile *p)
{
    int k;

    for (k = 0; k < N_KEYS; k++)
        if (keys[k].text) mds_free(*(char **)((char *)p + keys[k].offset));
    memset(p, 0, sizeof *p);
}
