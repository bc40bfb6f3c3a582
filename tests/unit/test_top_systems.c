// SPDX-License-Identifier: Apache-2.0
// Every GROMACS system of ../shared/systems loads; atoms, charge and terms agree with the file itself, counted by a second,
// much simpler reader here, and with reference.json.
#include "read/read.h"
#include "test.h"

#include <ctype.h>

typedef struct {
    const char *name;
    int         n_atoms;
    double      charge;
} reference;

/// From the README's table of systems.
static const reference systems[] = {
    {"hand_lj2", 2, 0},        {"hand_nacl", 2, 0},     {"hand_lj3", 3, 0},
    {"hand_water_flexible", 3, 0},  {"triclinic_nacl", 8, 0},     {"apgr/nbfix.nopairs.comb2", 58, 1},
    {"apgr/nbfix.pairs.comb1", 58, 1}, {"apgr/nbfix.pairs.comb2", 58, 1}, {"apgr/nbfix.pairs.comb3", 58, 1},
    {"apgr/nonbfix.pairs.comb2", 58, 1}, {"lysozyme_opls", 156, 2}, {"villin", 256, -2},
    {"tip4pew_water", 864, 0},      {"water_dodecahedron", 1209, 0}, {"water_3k_spce", 2991, 0},
    {"water_3k_tip3p", 2991, 0},    {"lj_argon", 5832, 0},        {"villin_water", 7304, 0},
    {"octane_sandwich", 13821, 0},  {"dhfr", 23558, -11},
};

/// Lines of each directive of each molecule type, times the copies of [ molecules ]: counted with nothing but text.
typedef struct {
    char name[64], molecule[64];
    int  function, lines;
} tally;

typedef struct {
    tally row[400];
    int   n;
    char  copies_name[64][64];
    int   copies[64], n_copies;
} count;

static void count_line(count *c, const char *directive, const char *molecule, int function)
{
    int k;

    for (k = 0; k < c->n; k++)
        if (!strcmp(c->row[k].name, directive) && !strcmp(c->row[k].molecule, molecule) && c->row[k].function == function) break;
    if (k == c->n) {
        snprintf(c->row[k].name, sizeof c->row[k].name, "%s", directive);
        snprintf(c->row[k].molecule, sizeof c->row[k].molecule, "%s", molecule);
        c->row[k].function = function;
        c->n++;
    }
    c->row[k].lines++;
}

static void count_file(const char *path, count *c)
{
    FILE *file = fopen(path, "r");
    char  line[20000], directive[64] = "", molecule[64] = "";

    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        char word[8][64] = {{0}};
        int  n;

        if (strchr(line, ';')) *strchr(line, ';') = '\0';
        if (sscanf(line, " [ %63[a-z_0-9] ]", word[0]) == 1 && strchr(line, '[')) {
            snprintf(directive, sizeof directive, "%s", word[0]);
            continue;
        }
        n = sscanf(line, "%63s %63s %63s %63s %63s %63s", word[0], word[1], word[2], word[3], word[4], word[5]);
        if (n < 1) continue;
        if (!strcmp(directive, "moleculetype"))
            snprintf(molecule, sizeof molecule, "%s", word[0]);
        else if (!strcmp(directive, "molecules")) {
            snprintf(c->copies_name[c->n_copies], 64, "%s", word[0]);
            c->copies[c->n_copies++] = atoi(word[1]);
        } else {
            const int column = !strcmp(directive, "dihedrals") ? 4 : !strcmp(directive, "angles") ? 3 : 2;

            count_line(c, directive, molecule, atoi(word[column]));
        }
    }
    fclose(file);
}

/// Lines in the whole system; function 0: of any.
static int total(const count *c, const char *directive, int function)
{
    int sum = 0, k, m;

    for (k = 0; k < c->n; k++)
        for (m = 0; m < c->n_copies; m++)
            if (!strcmp(c->row[k].name, directive) && !strcmp(c->row[k].molecule, c->copies_name[m]) &&
                (!function || c->row[k].function == function))
                sum += c->row[k].lines * c->copies[m];
    return sum;
}

static void check_counts(const char *path, const mds_system *s)
{
    static count c;

    memset(&c, 0, sizeof c);
    count_file(path, &c);
    TEST_INT(s->n_atoms, total(&c, "atoms", 0));
    TEST_INT(s->term[MDS_TERM_BOND].n, total(&c, "bonds", 1));
    TEST_INT(s->term[MDS_TERM_ANGLE].n, total(&c, "angles", 1));
    TEST_INT(s->term[MDS_TERM_UREY_BRADLEY].n, total(&c, "angles", 5));
    // one line of type 9 without parameters may be several cosines
    TEST_TRUE(s->term[MDS_TERM_PROPER].n >= total(&c, "dihedrals", 1) + total(&c, "dihedrals", 9));
    TEST_TRUE((s->term[MDS_TERM_PROPER].n > 0) == (total(&c, "dihedrals", 1) + total(&c, "dihedrals", 9) > 0));
    TEST_INT(s->term[MDS_TERM_IMPROPER].n, total(&c, "dihedrals", 2));
    TEST_INT(s->term[MDS_TERM_RB].n, total(&c, "dihedrals", 3));
    TEST_INT(s->term[MDS_TERM_PERIODIC_IMPROPER].n, total(&c, "dihedrals", 4));
    TEST_INT(s->term[MDS_TERM_PAIR14].n, total(&c, "pairs", 0));
    TEST_INT(s->term[MDS_TERM_CMAP].n, total(&c, "cmap", 0));
    TEST_INT(s->constraint.n, total(&c, "constraints", 0) + 3 * total(&c, "settles", 0));
    TEST_INT(s->vsite.n, total(&c, "virtual_sites3", 0));
}

int main(void)
{
    const char *shared = getenv("MDS_SHARED");
    char        top[600], gro[600];
    size_t      k;

    if (!shared || snprintf(top, sizeof top, "%s/systems/dhfr/topol.top", shared) < 0 || !mds_file_exists(top))
        TEST_SKIP("no reference systems in %s", shared ? shared : "MDS_SHARED");
    for (k = 0; k < sizeof systems / sizeof systems[0]; k++) {
        const mds_read_request request = {.topology = top, .coordinates = gro, .read_velocities = true};
        mds_system             s = {0};
        mds_state              state = {0};
        mds_read_report        report = {0};
        const int              failures = test_failures;

        snprintf(top, sizeof top, "%s/systems/%s/topol.top", shared, systems[k].name);
        snprintf(gro, sizeof gro, "%s/systems/%s/conf.gro", shared, systems[k].name);
        TEST_OK(mds_read(&request, &s, &state, &report));
        if (test_failures == failures) {
            check_counts(top, &s);
            TEST_OK(mds_system_freeze(&s));
            TEST_INT(s.n_atoms, systems[k].n_atoms);
            // charges have at most six decimals, summed over at most 24,000 atoms in double
            TEST_NEAR(s.total_charge, systems[k].charge, 1e-8);
            TEST_TRUE(report.text && strstr(report.text, "molecules:") && strstr(report.text, "degrees"));
        }
        if (test_failures > failures) fprintf(stderr, "... in %s\n", systems[k].name);
        mds_system_free(&s);
        mds_state_free(&state);
        mds_read_report_free(&report);
    }
    return test_end();
}
