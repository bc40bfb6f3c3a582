// SPDX-License-Identifier: Apache-2.0
// What mdsim asks of libconfig, by settings.c: the minimal build finds this header where the library's would be.
//
// Names, arguments and meanings are the library's (version 1.5). A call that mdsim begins to use is missing here until somebody adds it:
// the minimal build then does not compile, which is better than half a meaning.
#ifndef MINIMAL_LIBCONFIG_H
#define MINIMAL_LIBCONFIG_H

#ifdef __cplusplus
extern "C" {
#endif

enum { CONFIG_FALSE, CONFIG_TRUE };
enum {
    CONFIG_TYPE_NONE, // its value was not understood: the reader stopped there
    CONFIG_TYPE_GROUP,
    CONFIG_TYPE_INT,
    CONFIG_TYPE_INT64,
    CONFIG_TYPE_FLOAT,
    CONFIG_TYPE_STRING,
    CONFIG_TYPE_BOOL,
    CONFIG_TYPE_ARRAY,
    CONFIG_TYPE_LIST
};

typedef struct config_setting_t config_setting_t;
typedef struct config_t {
    config_setting_t *root;
    const char       *error_text; // static storage
    int               error_line;
} config_t;

void config_init(config_t *config);
void config_destroy(config_t *config);
/// Replaces what was there. CONFIG_FALSE: error_text and error_line say why; the settings before that are there.
int         config_read_string(config_t *config, const char *text);
const char *config_error_text(const config_t *config);
int         config_error_line(const config_t *config);

config_setting_t *config_root_setting(const config_t *config);
config_setting_t *config_lookup(const config_t *config, const char *name); // of the root: no paths
int               config_lookup_int(const config_t *config, const char *name, int *value);

int               config_setting_type(const config_setting_t *setting);
const char       *config_setting_name(const config_setting_t *setting); // NULL for elements of lists
unsigned          config_setting_source_line(const config_setting_t *setting);
int               config_setting_length(const config_setting_t *setting);
config_setting_t *config_setting_get_elem(const config_setting_t *setting, unsigned k);
config_setting_t *config_setting_get_member(const config_setting_t *setting, const char *name);
int               config_setting_is_group(const config_setting_t *setting);
int               config_setting_is_array(const config_setting_t *setting);
int               config_setting_is_list(const config_setting_t *setting);

// of another type: 0 or NULL
int         config_setting_get_int(const config_setting_t *setting);
long long   config_setting_get_int64(const config_setting_t *setting);
double      config_setting_get_float(const config_setting_t *setting);
int         config_setting_get_bool(const config_setting_t *setting);
const char *config_setting_get_string(const config_setting_t *setting);
const char *config_setting_get_string_elem(const config_setting_t *setting, int k);
int         config_setting_lookup_int(const config_setting_t *setting, const char *name, int *value);
int         config_setting_lookup_string(const config_setting_t *setting, const char *name, const char **value);

#ifdef __cplusplus
}
#endif
#endif
