// SPDX-License-Identifier: Apache-2.0
// The command line: one function a subcommand.
#ifndef MDS_CLI_H
#define MDS_CLI_H

#include "engine/engine.h"

enum { CLI_MAX_SET = 256 };

/// Options of all commands; each command says which it takes.
typedef struct {
    const char *input;
    const char *set[CLI_MAX_SET];
    int         n_set;
    const char *restart, *json, *forces;
} cli_options;

/// Run the command of argv; the exit code of the process.
int mds_cli(int argc, char **argv);

mds_status mds_cli_run(const cli_options *options);
mds_status mds_cli_check(const cli_options *options);
mds_status mds_cli_explain(const cli_options *options);
mds_status mds_cli_energy(const cli_options *options);
mds_status mds_cli_info(const cli_options *options);
mds_status mds_cli_document(const cli_options *options);

#endif
