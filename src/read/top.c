// SPDX-License-Identifier: Apache-2.0
// GROMACS topologies: directives in their order, one function for a line of each.
//
// The preprocessor gives logical lines. "[ name ]" opens a directive; names are compared as GROMACS does, without case,
// '-' and '_'. Three phases follow each other: parameters by type, molecule types, the system. A directive that holds
// physics which mdsim does not compute is refused by name, at its first line (an empty one is harmless). Every message
// about a line gets its file and number here, in one place.
#include "read/top.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/// The part of the file where a directive belongs.
typedef enum { PHASE_PARAMETERS, PHASE_MOLECULE, PHASE_SYSTEM } phase;

typedef struct {
    const char *name; // as messages and handlers know it
    phase       where;
    mds_status (*line)(mds_top *top); // NULL: what `refusal` says, or ignored if that is NULL too
    const char *refusal;
} directive_row;

static mds_status system_line(mds_top *top);
static mds_status molecules_line(mds_top *top);

static const directive_row directives[] = {
    {"defaults", PHASE_PARAMETERS, mds_top_defaults, NULL},
    {"atomtypes", PHASE_PARAMETERS, mds_top_atomtype, NULL},
    {"bondtypes", PHASE_PARAMETERS, mds_top_bonded_type, NULL},
    {"constrainttypes", PHASE_PARAMETERS, mds_top_bonded_type, NULL},
    {"angletypes", PHASE_PARAMETERS, mds_top_bonded_type, NULL},
    {"dihedraltypes", PHASE_PARAMETERS, mds_top_bonded_type, NULL},
    {"pairtypes", PHASE_PARAMETERS, mds_top_pairtype, NULL},
    {"nonbond_params", PHASE_PARAMETERS, mds_top_nonbond, NULL},
    {"cmaptypes", PHASE_PARAMETERS, mds_top_cmaptype, NULL},
    // tables that only a GROMACS before 2019 with implicit solvent switched on would use
    {"implicit_genborn_params", PHASE_PARAMETERS, NULL, NULL},
    {"implicit_surface_params", PHASE_PARAMETERS, NULL, NULL},
    {"moleculetype", PHASE_MOLECULE, mds_top_moleculetype, NULL},
    {"atoms", PHASE_MOLECULE, mds_top_atom_line, NULL},
    {"bonds", PHASE_MOLECULE, mds_top_bonded, NULL},
    {"angles", PHASE_MOLECULE, mds_top_bonded, NULL},
    {"dihedrals", PHASE_MOLECULE, mds_top_bonded, NULL},
    {"constraints", PHASE_MOLECULE, mds_top_bonded, NULL},
    {"pairs", PHASE_MOLECULE, mds_top_pair, NULL},
    {"cmap", PHASE_MOLECULE, mds_top_cmap_line, NULL},
    {"settles", PHASE_MOLECULE, mds_top_settle, NULL},
    {"exclusions", PHASE_MOLECULE, mds_top_exclusion, NULL},
    {"position_restraints", PHASE_MOLECULE, mds_top_restraint, NULL},
    {"virtual_sites1", PHASE_MOLECULE, mds_top_virtual_site, NULL},
    {"virtual_sites2", PHASE_MOLECULE, mds_top_virtual_site, NULL},
    {"virtual_sites3", PHASE_MOLECULE, mds_top_virtual_site, NULL},
    {"virtual_sites4", PHASE_MOLECULE, mds_top_virtual_site, NULL},
    {"virtual_sitesn", PHASE_MOLECULE, mds_top_virtual_sitesn, NULL},
    {"pairs_nb", PHASE_MOLECULE, NULL, "non-bonded pair lists"},
    {"polarization", PHASE_MOLECULE, NULL, "polarisation"},
    {"water_polarization", PHASE_MOLECULE, NULL, "polarisation"},
    {"thole_polarization", PHASE_MOLECULE, NULL, "polarisation"},
    {"distance_restraints", PHASE_MOLECULE, NULL, "distance restraints"},
    {"orientation_restraints", PHASE_MOLECULE, NULL, "orientation restraints"},
    {"angle_restraints", PHASE_MOLECULE, NULL, "angle restraints"},
    {"angle_restraints_z", PHASE_MOLECULE, NULL, "angle restraints"},
    {"dihedral_restraints", PHASE_MOLECULE, NULL, "dihedral restraints"},
    {"system", PHASE_SYSTEM, system_line, NULL},
    {"molecules", PHASE_SYSTEM, molecules_line, NULL},
    {"intermolecular_interactions", PHASE_SYSTEM, NULL, "interactions between molecules"},
};
enum { N_DIRECTIVES = sizeof directives / sizeof directives[0] };

// ------------------------------------------------------------------------------------- numbers and messages

const char *mds_top_file(const mds_top *top, int32_t line)
{
    return top->lines.files[top->lines.line[line].file];
}

int32_t mds_top_line_number(const mds_top *top, int32_t line)
{
    return top->lines.line[line].line;
}

void mds_top_warn(const mds_top *top, const char *fmt, ...)
{
    mds_text text = {0};
    va_list  args;

    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    mds_warn("%s:%d: %s", mds_top_file(top, top->at), mds_top_line_number(top, top->at), text.s ? text.s : "");
    mds_text_free(&text);
}

mds_status mds_top_number(const mds_top *top, int k, const char *what, double *value)
{
    char *end;

    MDS_CHECK(k < top->n_fields, MDS_E_INPUT, "the line ends before its %s", what);
    *value = strtod(top->field[k], &end);
    MDS_CHECK(end > top->field[k] && !*end && isfinite(*value), MDS_E_INPUT, "%s: \"%s\" is not a number%s", what,
              top->field[k], isalpha((unsigned char)top->field[k][0]) ? " (a macro that is not defined?)" : "");
    return MDS_OK;
}

mds_status mds_top_integer(const mds_top *top, int k, const char *what, int32_t *value)
{
    char *end;
    long  v;

    MDS_CHECK(k < top->n_fields, MDS_E_INPUT, "the line ends before its %s", what);
    errno = 0;
    v = strtol(top->field[k], &end, 10);
    MDS_CHECK(end > top->field[k] && !*end && !errno && v > INT32_MIN && v < INT32_MAX, MDS_E_INPUT,
              "%s: \"%s\" is not a whole number", what, top->field[k]);
    *value = (int32_t)v;
    return MDS_OK;
}

mds_status mds_top_read_params(const mds_top *top, int first, int n_params, bool may_have_b, const char *name,
                               double *param, int *n)
{
    const int given = top->n_fields > first ? top->n_fields - first : 0;
    double    b;
    int       k;

    *n = given ? n_params : 0;
    if (!given) return MDS_OK;
    MDS_CHECK(given == n_params || (may_have_b && given == 2 * n_params), MDS_E_INPUT,
              "%d parameters where a %s has %d%s", given, name, n_params,
              given < n_params && may_have_b ? " (or none, where they come from the types)" : "");
    for (k = 0; k < n_params; k++) MDS_TRY(mds_top_number(top, first + k, name, &param[k]));
    for (k = n_params; k < given; k++) {
        MDS_TRY(mds_top_number(top, first + k, name, &b));
        MDS_CHECK(b == param[k - n_params], MDS_E_INPUT,
                  "the %s has other parameters in its B state (free-energy perturbation), which mdsim does not compute", name);
    }
    return MDS_OK;
}

// -------------------------------------------------------------------------------------------- the system

static mds_status system_line(mds_top *top)
{
    mds_text text = {0};
    int      k;

    if (top->title) return MDS_OK;
    for (k = 0; k < top->n_fields; k++) mds_text_add(&text, "%s%s", k ? " " : "", top->field[k]);
    MDS_CHECK(!text.failed, MDS_E_MEMORY, "out of memory for the title");
    top->title = text.s;
    return MDS_OK;
}

static bool equal_without_case(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

static mds_status molecules_line(mds_top *top)
{
    mds_top_copies c = {.line = top->at};
    int32_t        k, alike = 0;

    MDS_CHECK(top->n_fields == 2, MDS_E_INPUT, "[ molecules ] needs a molecule type and a number");
    c.molecule = mds_words_find(&top->molecules, top->field[0], strlen(top->field[0]));
    for (k = 0; c.molecule < 0 && k < top->molecules.n; k++)
        if (equal_without_case(top->molecules.text[k], top->field[0])) alike += 1;
    for (k = 0; c.molecule < 0 && alike == 1 && k < top->molecules.n; k++)
        if (equal_without_case(top->molecules.text[k], top->field[0])) c.molecule = k;
    MDS_CHECK(c.molecule >= 0, MDS_E_INPUT, "there is no [ moleculetype ] \"%s\"%s", top->field[0],
              alike > 1 ? "; several differ from it only in case" : "");
    MDS_TRY(mds_top_integer(top, 1, "number of molecules", &c.count));
    MDS_CHECK(c.count >= 0, MDS_E_INPUT, "%d molecules of type \"%s\"", c.count, top->field[0]);
    MDS_TRY(mds_grow(&top->copies, &top->cap_copies, (size_t)top->n_copies + 1, sizeof *top->copies));
    top->copies[top->n_copies++] = c;
    return MDS_OK;
}

// -------------------------------------------------------------------------------------------- directives

/// Lower case, without '-' and '_', without blanks at the ends; old names become the present ones.
static mds_status plain_name(const char *s, size_t n, mds_text *out)
{
    size_t k;

    for (k = 0; k < n; k++)
        if (s[k] != '-' && s[k] != '_') {
            const char c = (char)tolower((unsigned char)s[k]);

            mds_text_add_bytes(out, &c, 1);
        }
    MDS_CHECK(!out->failed, MDS_E_MEMORY, "out of memory for a name");
    if (out->n == 8 && !strncmp(out->s, "dummies", 7)) {
        const char kind = out->s[7];

        out->n = 0;
        mds_text_add(out, "virtualsites%c", kind);
    }
    return MDS_OK;
}

static bool names_directive(const char *plain, const char *name)
{
    for (; *name; name++)
        if (*name != '_' && *plain++ != *name) return false;
    return !*plain;
}

/// The nearest directive, for a message.
static const char *nearest(const char *plain)
{
    int k, best = 0, least = 1000;

    for (k = 0; k < N_DIRECTIVES; k++) {
        const int distance = mds_text_distance(plain, directives[k].name);

        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    return directives[best].name;
}

/// "[ name ]": which directive it opens.
static mds_status open_directive(mds_top *top, const char *line, const directive_row **row, phase *now)
{
    const char *s = line + 1, *end = strchr(line, ']');
    mds_text    plain = {0};
    mds_status  status;
    int         k;

    MDS_CHECK(end && !end[1], MDS_E_INPUT, "a directive must look like [ name ], got: %s", line);
    while (isspace((unsigned char)*s)) s++;
    while (end > s && isspace((unsigned char)end[-1])) end--;
    MDS_CHECK(end > s, MDS_E_INPUT, "a directive without name");
    status = plain_name(s, (size_t)(end - s), &plain);
    *row = NULL;
    for (k = 0; k < N_DIRECTIVES && status == MDS_OK && plain.s; k++)
        if (names_directive(plain.s, directives[k].name)) *row = &directives[k];
    if (status == MDS_OK && !*row)
        status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "mdsim does not know the directive [ %.*s ]; the nearest is [ %s ]",
                          (int)(end - s), s, nearest(plain.s ? plain.s : ""));
    mds_text_free(&plain);
    if (status != MDS_OK) return status;
    top->section = (*row)->name;
    MDS_CHECK((*row)->where >= *now, MDS_E_INPUT, "[ %s ] must come before the first [ %s ]", (*row)->name,
              *now == PHASE_MOLECULE ? "moleculetype" : "system");
    MDS_CHECK((*row)->where != PHASE_MOLECULE || (*row)->line == mds_top_moleculetype || top->now, MDS_E_INPUT,
              "[ %s ] stands outside a [ moleculetype ]", (*row)->name);
    if ((*row)->where == PHASE_SYSTEM) MDS_TRY(mds_top_finish_molecule(top));
    *now = (*row)->where;
    return MDS_OK;
}

/// Cut the line at blanks, in place.
static mds_status split(mds_top *top, char *s)
{
    top->n_fields = 0;
    for (;;) {
        while (isspace((unsigned char)*s)) *s++ = '\0';
        if (!*s) return MDS_OK;
        MDS_TRY(mds_grow(&top->field, &top->cap_field, (size_t)top->n_fields + 1, sizeof *top->field));
        top->field[top->n_fields++] = s;
        while (*s && !isspace((unsigned char)*s)) s++;
    }
}

static mds_status one_line(mds_top *top, const directive_row **row, phase *now)
{
    char *text = top->lines.line[top->at].text;

    if (text[0] == '[') return open_directive(top, text, row, now);
    MDS_CHECK(*row, MDS_E_INPUT, "a line before the first [ directive ]: not a GROMACS topology?");
    MDS_CHECK((*row)->line || !(*row)->refusal, MDS_E_INPUT, "[ %s ]: mdsim does not compute %s", (*row)->name,
              (*row)->refusal);
    if (!(*row)->line) return MDS_OK;
    MDS_TRY(split(top, text));
    return (*row)->line(top);
}

static mds_status read_lines(mds_top *top)
{
    const directive_row *row = NULL;
    phase                now = PHASE_PARAMETERS;
    mds_status           status = MDS_OK;

    for (top->at = 0; top->at < top->lines.n && status == MDS_OK; top->at++) {
        status = one_line(top, &row, &now);
        if (status != MDS_OK) mds_error_prefix("%s:%d: ", mds_top_file(top, top->at), mds_top_line_number(top, top->at));
    }
    return status;
}

// ------------------------------------------------------------------------------------------------ report

static void report_molecules(const mds_top *top, mds_read_report *report)
{
    mds_text text = {0};
    int32_t  k;

    if (report->text) mds_text_add(&text, "%s", report->text);
    mds_text_add(&text, "topology: %s (GROMACS", top->lines.files[0]);
    if (top->lines.n_files > 1) mds_text_add(&text, ", %d files included", top->lines.n_files - 1);
    mds_text_add(&text, ")%s%s\n", top->title ? ": " : "", top->title ? top->title : "");
    mds_text_add(&text, "combination rule %d, gen-pairs %s, fudgeLJ %g, fudgeQQ %g\nmolecules:", top->rule,
                 top->gen_pairs ? "yes" : "no", top->fudge_lj, top->fudge_qq);
    for (k = 0; k < top->n_copies; k++)
        mds_text_add(&text, "%s %d %s", k ? "," : "", top->copies[k].count, top->molecule[top->copies[k].molecule].name);
    mds_text_add(&text, "\n");
    if (text.failed) {
        mds_text_free(&text);
        return;
    }
    mds_free(report->text);
    report->text = text.s;
}

static void free_top(mds_top *top)
{
    int32_t k;

    mds_top_lines_free(&top->lines);
    mds_free(top->field);
    mds_free(top->type);
    mds_words_free(&top->nonbond.key);
    mds_words_free(&top->pair14.key);
    mds_free(top->nonbond.vw);
    mds_free(top->pair14.vw);
    for (k = 0; top->table && k < mds_top_n_functions(); k++) {
        mds_free(top->table[k].entry);
        mds_words_free(&top->table[k].key);
        mds_free(top->table[k].first);
        mds_words_free(&top->table[k].memo);
        mds_free(top->table[k].found);
    }
    mds_free(top->table);
    for (k = 0; k < top->n_cmaps; k++) mds_free(top->cmap[k].grid);
    mds_free(top->cmap);
    for (k = 0; top->molecule && k < (int32_t)top->cap_molecule; k++) mds_top_free_molecule(&top->molecule[k]);
    mds_free(top->molecule);
    mds_words_free(&top->types);
    mds_words_free(&top->bonded);
    mds_words_free(&top->molecules);
    mds_free(top->copies);
    mds_free(top->title);
}

mds_status mds_read_top(const mds_read_request *request, mds_system *system, mds_read_report *report)
{
    mds_top    top = {.rule = 1, .fudge_lj = 1, .fudge_qq = 1};
    mds_status status;

    MDS_TRY_GOTO(mds_preprocess(request, &top.lines));
    MDS_TRY_GOTO(mds_alloc(&top.table, (size_t)mds_top_n_functions(), sizeof *top.table));
    MDS_TRY_GOTO(read_lines(&top));
    status = mds_top_expand(&top, system);
    if (status != MDS_OK) {
        mds_error_prefix("%s: ", request->topology);
        goto fail;
    }
    if (report) report_molecules(&top, report);
fail:
    free_top(&top);
    return status;
}
