// SPDX-License-Identifier: Apache-2.0
// Arguments to a command, a status to an exit code.
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum { TAKES_INPUT = 1, TAKES_RESTART = 2, TAKES_JSON = 4, TAKES_FORCES = 8, JSON_ALONE = 16, HIDDEN = 32, OWN_WORDS = 64, WHOLE = 128 };

static const struct {
    const char *name, *help;
    unsigned    takes;
    mds_status (*run)(const cli_options *);
} commands[] = {
    {"run", "run a simulation, or go on with it (the default)", TAKES_INPUT | TAKES_RESTART | WHOLE, mds_cli_run},
    {"check", "would a run start? every error and warning, nothing written", TAKES_INPUT | WHOLE, mds_cli_check},
    {"explain", "every setting, its unit and where it came from; what was chosen", TAKES_INPUT | WHOLE, mds_cli_explain},
    {"energy", "energies, forces and virial of the start configuration", TAKES_INPUT | TAKES_JSON | TAKES_FORCES, mds_cli_energy},
    {"bench", "speed of made systems or of an input, on this machine; mdsim bench --help", OWN_WORDS, mds_cli_bench},
    {"info", "version, build, processor", TAKES_JSON | JSON_ALONE, mds_cli_info},
    {"plan", "which machine, at which price; mdsim plan --help", OWN_WORDS | WHOLE, mds_cli_plan},
    {"document", "docs/config.md from the schema", HIDDEN | WHOLE, mds_cli_document},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

enum { REFUSED = CLI_MINIMAL ? WHOLE : 0 }; // what needs the libraries

static void help(void)
{
    size_t k;

    mds_print("mdsim %s: molecular dynamics\n\n", MDS_VERSION);
    mds_print("usage: mdsim [run] input.conf [options]\n       mdsim COMMAND ...\n\ncommands:\n");
    for (k = 0; k < N_COMMANDS; k++)
        if (!(commands[k].takes & (HIDDEN | REFUSED))) mds_print("  %-8s %s\n", commands[k].name, commands[k].help);
    if (REFUSED) mds_print("\nThis is a minimal build (MDS_MINIMAL): the other commands need a build with HDF5, NetCDF, libconfig and FFTW.\n");
    mds_print("\noptions:\n"
              "  --set section.key=value          override a key of the input (any command with an input); an input of - is --set alone\n"
              "  --restart=auto|never|FILE        run: go on where a checkpoint stands (auto), begin anew, or from FILE\n"
              "  --json FILE                      energy, info: write JSON (- is standard output; info: also without FILE)\n"
              "  --forces FILE.npy                energy: write forces, N x 3 float64, kJ/mol/nm\n"
              "  --quiet | --verbose              fewer or more messages\n"
              "  --help, --version\n\n"
              "Keys of the input: docs/config.md. Exit codes:\n"
              "  0 done; 64 wrong command line; 65 bad input; 66 input missing; 70 internal error; 74 cannot write;\n"
              "  75 stopped early with a good checkpoint, run the same command again; 76 checkpoint refused;\n"
              "  77 simulation unstable; 78 not available in this build or on this machine; 79 stopped by a guard\n");
}

/// The command named first in argv, or "run" when the first word is an input file.
static mds_status find_command(int *first, int argc, char **argv, size_t *command)
{
    size_t k;

    *command = 0;
    *first = 1;
    if (argc < 2) MDS_FAIL(MDS_E_USAGE, "no input file given; try mdsim --help");
    for (k = 0; k < N_COMMANDS; k++)
        if (!strcmp(argv[1], commands[k].name)) {
            *command = k;
            *first = 2;
            return MDS_OK;
        }
    if (argv[1][0] != '-' && !strchr(argv[1], '.') && !strchr(argv[1], '/') && !mds_file_exists(argv[1])) {
        size_t best = 0;

        for (k = 1; k < N_COMMANDS; k++)
            if (mds_text_distance(argv[1], commands[k].name) < mds_text_distance(argv[1], commands[best].name)) best = k;
        if (mds_text_distance(argv[1], commands[best].name) <= 2)
            MDS_FAIL(MDS_E_USAGE, "there is no command '%s'; did you mean '%s'?", argv[1], commands[best].name);
        MDS_FAIL(MDS_E_USAGE, "there is no command or input file '%s'; try mdsim --help", argv[1]);
    }
    return MDS_OK;
}

mds_status mds_cli_value(const char *name, int argc, char **argv, int *k, const char **value)
{
    const size_t n = strlen(name);

    if (strncmp(argv[*k], name, n)) return MDS_OK;
    if (argv[*k][n] == '=') {
        *value = argv[*k] + n + 1;
    } else if (!argv[*k][n]) {
        MDS_CHECK(*k + 1 < argc, MDS_E_USAGE, "%s needs a value", name);
        *value = argv[++*k];
    }
    MDS_CHECK(!*value || **value, MDS_E_USAGE, "%s needs a value", name);
    return MDS_OK;
}

static mds_status parse(int argc, char **argv, int first, unsigned takes, cli_options *o)
{
    int k;

    o->restart = "auto";
    o->words = argv + first;
    o->n_words = argc - first;
    if (takes & OWN_WORDS) return MDS_OK;
    for (k = first; k < argc; k++) {
        const char *value = NULL, *word = argv[k];

        if (!strcmp(word, "--quiet")) {
            mds_log_set_level(MDS_LOG_WARN);
            continue;
        }
        if (!strcmp(word, "--verbose")) {
            mds_log_set_level(MDS_LOG_DEBUG);
            continue;
        }
        if (takes & TAKES_INPUT) {
            MDS_TRY(mds_cli_value("--set", argc, argv, &k, &value));
            if (value) {
                MDS_CHECK(o->n_set < CLI_MAX_SET, MDS_E_USAGE, "more than %d --set options", CLI_MAX_SET);
                o->set[o->n_set++] = value;
                continue;
            }
        }
        if (takes & TAKES_RESTART) {
            MDS_TRY(mds_cli_value("--restart", argc, argv, &k, &value));
            if (value) {
                o->restart = value;
                continue;
            }
        }
        if ((takes & JSON_ALONE) && !strcmp(word, "--json") && (k + 1 == argc || !strncmp(argv[k + 1], "--", 2))) {
            o->json = "-";
            continue;
        }
        if (takes & TAKES_JSON) {
            MDS_TRY(mds_cli_value("--json", argc, argv, &k, &value));
            if (value) {
                o->json = value;
                continue;
            }
        }
        if (takes & TAKES_FORCES) {
            MDS_TRY(mds_cli_value("--forces", argc, argv, &k, &value));
            if (value) {
                o->forces = value;
                continue;
            }
        }
        MDS_CHECK(word[0] != '-' || ((takes & TAKES_INPUT) && !word[1]), MDS_E_USAGE, "option %s is not known here; try mdsim --help", word);
        MDS_CHECK((takes & TAKES_INPUT) && !o->input, MDS_E_USAGE, "'%s' is one word too many; try mdsim --help", word);
        o->input = word;
    }
    MDS_CHECK(o->input || !(takes & TAKES_INPUT), MDS_E_USAGE, "no input file given; try mdsim --help");
    return MDS_OK;
}

/// More than one rank under a launcher: refused until runs on many ranks exist.
static mds_status refuse_ranks(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    size_t                   k;

    for (k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const char *size = getenv(sizes[k]);

        MDS_CHECK(!size || strtol(size, NULL, 10) <= 1, MDS_E_UNSUPPORTED,
                  "started on %s ranks: this build runs on one; start it without the launcher (threads are used by themselves)", size);
    }
    return MDS_OK;
}

/// Help is given wherever on the line it is asked for.
static bool wants(int argc, char **argv, const char *option)
{
    int k;

    for (k = 1; k < argc; k++)
        if (!strcmp(argv[k], option)) return true;
    return false;
}

int mds_cli(int argc, char **argv)
{
    cli_options options = {0};
    mds_status  status;
    size_t      command;
    int         first;

    if (argc > 2 && !strcmp(argv[1], "plan") && (wants(argc, argv, "--help") || wants(argc, argv, "-h"))) {
        mds_cli_plan_help();
        status = MDS_OK;
    } else if (argc > 2 && !strcmp(argv[1], "bench") && (wants(argc, argv, "--help") || wants(argc, argv, "-h"))) {
        mds_cli_bench_help();
        status = MDS_OK;
    } else if (wants(argc, argv, "--help") || wants(argc, argv, "-h") || (argc > 1 && !strcmp(argv[1], "help"))) {
        help();
        status = MDS_OK;
    } else if (wants(argc, argv, "--version")) {
        mds_print("mdsim %s\n", MDS_VERSION);
        status = MDS_OK;
    } else {
        status = find_command(&first, argc, argv, &command);
        if (status == MDS_OK && (commands[command].takes & REFUSED))
            status = mds_fail(MDS_E_UNSUPPORTED, __FILE__, __LINE__,
                              "%s: this is a minimal build (MDS_MINIMAL), which has energy, bench and info only; build with the libraries of README.md",
                              commands[command].name);
        if (status == MDS_OK) status = parse(argc, argv, first, commands[command].takes, &options);
        if (status == MDS_OK) status = refuse_ranks();
        if (status == MDS_OK) status = commands[command].run(&options);
    }
    if (status == MDS_OK) status = mds_print_flush();
    if (status == MDS_E_STOPPED || status == MDS_E_GUARD)
        mds_log(MDS_LOG_NOTE, "%s", mds_error_text());
    else if (status != MDS_OK)
        mds_log(MDS_LOG_ERROR, "%s", mds_error_text()[0] ? mds_error_text() : mds_status_text(status));
    if (status == MDS_E_INTERNAL) mds_log(MDS_LOG_ERROR, "raised at %s", mds_error_where());
    mds_log_close();
    return mds_status_exit_code(status);
}
