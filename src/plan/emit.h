// SPDX-License-Identifier: Apache-2.0
// Private to src/plan: templates of launch files.
#ifndef MDS_PLAN_EMIT_H
#define MDS_PLAN_EMIT_H

#include "base/base.h"

/// Variables of a template. Start zeroed; free with mds_template_free.
typedef struct {
    struct mds_variable {
        const char *name;  // borrowed
        char       *value; // NULL or "": not set
    } var[96];
    int n;
} mds_variables;

/// Set a variable; fmt gives its whole text. Errors: MDS_E_MEMORY.
mds_status  mds_template_set(mds_variables *variables, const char *name, const char *fmt, ...) MDS_PRINTF(3, 4);
/// Value of a variable, NULL if it is not set.
const char *mds_template_get(const mds_variables *variables, const char *name);
/// Append `text` with its directives followed and its placeholders filled. `path` is for messages.
/// Errors: MDS_E_INPUT (a value that its place does not allow), MDS_E_INTERNAL (a mistake in the template).
mds_status  mds_template_expand(const char *path, const char *text, const mds_variables *variables, mds_text *out);
void        mds_template_free(mds_variables *variables);
/// Letters, digits and . _ / - only, and no option: what may stand unquoted anywhere.
bool        mds_template_is_identifier(const char *text);

#endif
