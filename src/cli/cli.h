// SPDX-License-Identifier: Apache-2.0
// The command line: one function a subcommand.
#ifndef MDS_CLI_H
#define MDS_CLI_H

#include "engine/engine.h"

enum { CLI_MAX_SET = 256 };
#ifdef MDS_MINIMAL
enum { CLI_MINIMAL = 1 }; // built without libraries: energy, bench and info only
#else
enum { CLI_MINIMAL = 0 };
#endif

/// Options of all commands; each command says which it takes.
typedef struct {
    const char *input; // "-": none, --set alone
    const char *set[CLI_MAX_SET];
    int         n_set;
    const char *restart, *json, *forces;
    char      **words; // of a command that reads its own
    int         n_words;
} cli_options;

/// Run the command of argv; the exit code of the process.
int mds_cli(int argc, char **argv);

mds_status mds_cli_run(const cli_options *options);
mds_status mds_cli_check(const cli_options *options);
mds_status mds_cli_explain(const cli_options *options);
mds_status mds_cli_energy(const cli_options *options);
mds_status mds_cli_bench(const cli_options *options);
mds_status mds_cli_info(const cli_options *options);
mds_status mds_cli_document(const cli_options *options);
mds_status mds_cli_plan(const cli_options *options);
void       mds_cli_plan_help(void);
void       mds_cli_bench_help(void);

/// The value of "--name value" or "--name=value" if argv[*k] is that option, else NULL; *k moves to its last word.
/// Errors: MDS_E_USAGE (no value).
mds_status mds_cli_value(const char *name, int argc, char **argv, int *k, const char **value);

#endif
