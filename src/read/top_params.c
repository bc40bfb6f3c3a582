// SPDX-License-Identifier: Apache-2.0
// Parameters by type: [ defaults ], [ atomtypes ], the [ ...types ] of bonded terms, [ nonbond_params ], [ pairtypes ].
//
// V and W of an atom type are c6 and c12 with combination rule 1, sigma and epsilon with 2 and 3. Pairs combine as
//   1: c6 = sqrt(c6i c6j), c12 alike   2: sigma = (si + sj)/2, eps = sqrt(ei ej)   3: sigma = sqrt(si sj), eps alike
// and a sigma below 0 means no attraction (c6 = 0). A line of [ nonbond_params ] replaces the combination, also in the
// generated 1-4 pairs, which are the combined parameters with fudgeLJ on c6 and c12, or on epsilon alone.
//
// A dihedral takes the entry with the most types that match without wildcard, the first of equals, read forwards or
// backwards. Of a proper dihedral all lines of the entry that follow each other are taken (function type 9). For other
// terms, types must match exactly. A type given twice replaces the earlier one, with a warning.
// Source: GROMACS manual 2022, 5.3.2 and 5.7 [gromacs2022]; behaviour of grompp 2022.
#include "read/top.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

mds_status mds_top_defaults(mds_top *top)
{
    int32_t rule, function;
    double  power = 12;

    MDS_CHECK(!top->has_defaults, MDS_E_INPUT, "a second line of [ defaults ]: only one is allowed");
    MDS_CHECK(top->n_fields >= 2 && top->n_fields <= 6, MDS_E_INPUT,
              "[ defaults ] needs: function, combination rule [, gen-pairs, fudgeLJ, fudgeQQ]");
    MDS_TRY(mds_top_integer(top, 0, "non-bonded function type", &function));
    MDS_CHECK(function != 2, MDS_E_INPUT, "non-bonded function type 2 (Buckingham) is not computed by mdsim");
    MDS_CHECK(function == 1, MDS_E_INPUT, "non-bonded function type %d is not known: 1 is Lennard-Jones", function);
    MDS_TRY(mds_top_integer(top, 1, "combination rule", &rule));
    MDS_CHECK(rule >= 1 && rule <= 3, MDS_E_INPUT, "combination rule %d is not 1, 2 or 3", rule);
    top->rule = rule;
    top->gen_pairs = false;
    top->fudge_lj = top->fudge_qq = 1;
    if (top->n_fields > 2) {
        const char *s = top->field[2];

        MDS_CHECK(tolower((unsigned char)s[0]) == 'y' || tolower((unsigned char)s[0]) == 'n', MDS_E_INPUT,
                  "gen-pairs must be yes or no, got \"%s\"", s);
        top->gen_pairs = tolower((unsigned char)s[0]) == 'y';
    }
    if (top->n_fields > 3) MDS_TRY(mds_top_number(top, 3, "fudgeLJ", &top->fudge_lj));
    if (top->n_fields > 4) MDS_TRY(mds_top_number(top, 4, "fudgeQQ", &top->fudge_qq));
    if (top->n_fields > 5) MDS_TRY(mds_top_number(top, 5, "power of the repulsion", &power));
    MDS_CHECK(power == 12, MDS_E_INPUT, "a repulsion power of %g is not computed by mdsim, only 12", power);
    top->has_defaults = true;
    return MDS_OK;
}

static bool is_particle_letter(const char *s)
{
    return isalpha((unsigned char)s[0]) && !s[1];
}

mds_status mds_top_atomtype(mds_top *top)
{
    const int    n = top->n_fields;
    mds_top_type t = {0};
    bool         has_bonded, has_number, is_new;
    const char  *bonded;
    int32_t      index;
    int          k = 1;

    MDS_CHECK(top->has_defaults, MDS_E_INPUT, "[ defaults ] must come before [ atomtypes ]");
    MDS_CHECK(n >= 6, MDS_E_INPUT, "[ atomtypes ] needs 6 to 8 columns (name [bonded type] [atomic number] mass charge "
                                   "particle V W), got %d", n);
    // the one-letter particle column tells which of the two optional columns are there
    has_bonded = has_number = false;
    if (is_particle_letter(top->field[5]))
        has_bonded = has_number = true;
    else if (!is_particle_letter(top->field[3])) {
        has_bonded = isalpha((unsigned char)top->field[1][0]);
        has_number = !has_bonded;
    }
    MDS_CHECK(n == 6 + has_bonded + has_number, MDS_E_INPUT, "[ atomtypes ] has %d columns where %d are expected", n,
              6 + has_bonded + has_number);
    bonded = top->field[has_bonded ? k++ : 0];
    if (has_number) MDS_TRY(mds_top_integer(top, k++, "atomic number", &t.atomic_number));
    MDS_CHECK(t.atomic_number >= -1 && t.atomic_number <= 118, MDS_E_INPUT, "%d is not an atomic number", t.atomic_number);
    if (t.atomic_number < 0) t.atomic_number = 0;
    MDS_TRY(mds_top_number(top, k++, "mass", &t.mass));
    MDS_TRY(mds_top_number(top, k++, "charge", &t.charge));
    MDS_CHECK(is_particle_letter(top->field[k]), MDS_E_INPUT, "particle type \"%s\" is not one of A, S, V, D", top->field[k]);
    t.particle = (char)toupper((unsigned char)top->field[k++][0]);
    if (t.particle == 'D') t.particle = 'V';
    if (t.particle == 'N') t.particle = 'A';
    MDS_CHECK(strchr("ASV", t.particle), MDS_E_INPUT, "particle type \"%s\" is not one of A, S, V, D", top->field[k - 1]);
    MDS_TRY(mds_top_number(top, k++, "V", &t.v));
    MDS_TRY(mds_top_number(top, k++, "W", &t.w));

    MDS_TRY(mds_words_add(&top->bonded, bonded, strlen(bonded), &t.bonded));
    is_new = mds_words_find(&top->types, top->field[0], strlen(top->field[0])) < 0;
    MDS_TRY(mds_words_add(&top->types, top->field[0], strlen(top->field[0]), &index));
    MDS_TRY(mds_grow(&top->type, &top->cap_type, (size_t)top->types.n, sizeof *top->type));
    if (!is_new && (top->type[index].v != t.v || top->type[index].w != t.w || top->type[index].mass != t.mass ||
                    top->type[index].charge != t.charge || top->type[index].bonded != t.bonded))
        mds_top_warn(top, "atom type %s is defined again with other values; the later ones are used", top->field[0]);
    top->type[index] = t;
    return MDS_OK;
}

// ---------------------------------------------------------------------------------------- pairs of types

static int32_t pair_find(const mds_top_pairs *pairs, int32_t i, int32_t j)
{
    const int32_t key[2] = {i < j ? i : j, i < j ? j : i};

    return mds_words_find(&pairs->key, key, sizeof key);
}

static mds_status pair_line(mds_top *top, mds_top_pairs *pairs, const char *what)
{
    int32_t type[2], key[2], function, index;
    double  vw[MDS_TOP_MAX_PARAMS];
    bool    is_new;
    int     k, n;

    MDS_CHECK(top->has_defaults, MDS_E_INPUT, "[ defaults ] must come before [ %s ]", top->section);
    MDS_CHECK(top->n_fields >= 5, MDS_E_INPUT, "[ %s ] needs: type type function V W", top->section);
    for (k = 0; k < 2; k++) {
        type[k] = mds_words_find(&top->types, top->field[k], strlen(top->field[k]));
        MDS_CHECK(type[k] >= 0, MDS_E_INPUT, "atom type \"%s\" is not in [ atomtypes ]", top->field[k]);
    }
    MDS_TRY(mds_top_integer(top, 2, "function type", &function));
    MDS_CHECK(function == 1, MDS_E_INPUT, "function type %d of [ %s ] (%s) is not computed by mdsim, only 1 (Lennard-Jones)",
              function, top->section, function == 2 ? "Buckingham or charged pair" : "unknown");
    MDS_TRY(mds_top_read_params(top, 3, 2, true, what, vw, &n));
    key[0] = type[0] < type[1] ? type[0] : type[1];
    key[1] = type[0] < type[1] ? type[1] : type[0];
    is_new = pair_find(pairs, key[0], key[1]) < 0;
    MDS_TRY(mds_words_add(&pairs->key, key, sizeof key, &index));
    MDS_TRY(mds_grow(&pairs->vw, &pairs->cap, (size_t)pairs->key.n, sizeof *pairs->vw));
    if (!is_new && (pairs->vw[index][0] != vw[0] || pairs->vw[index][1] != vw[1]))
        mds_top_warn(top, "%s for %s and %s is given again; the later values are used", what, top->field[0], top->field[1]);
    pairs->vw[index][0] = vw[0];
    pairs->vw[index][1] = vw[1];
    return MDS_OK;
}

mds_status mds_top_nonbond(mds_top *top)
{
    return pair_line(top, &top->nonbond, "Lennard-Jones pair");
}

mds_status mds_top_pairtype(mds_top *top)
{
    return pair_line(top, &top->pair14, "1-4 pair type");
}

void mds_top_to_c6c12(const mds_top *top, double v, double w, double *c6, double *c12)
{
    const double s2 = v * v, s6 = s2 * s2 * s2;

    *c6 = top->rule == 1 ? v : v >= 0 ? 4 * w * s6 : 0;
    *c12 = top->rule == 1 ? w : 4 * w * s6 * s6;
}

/// V and W between two types, in the meaning of the file.
static void combine(const mds_top *top, int32_t i, int32_t j, double *v, double *w)
{
    const mds_top_type *a = &top->type[i], *b = &top->type[j];
    const int32_t       given = pair_find(&top->nonbond, i, j);

    if (given >= 0) {
        *v = top->nonbond.vw[given][0];
        *w = top->nonbond.vw[given][1];
        return;
    }
    *w = sqrt(a->w * b->w);
    if (top->rule == 2)
        *v = 0.5 * (fabs(a->v) + fabs(b->v));
    else
        *v = sqrt(fabs(a->v * b->v));
    if (top->rule != 1 && (a->v < 0 || b->v < 0)) *v = -*v;
}

void mds_top_lj(const mds_top *top, int32_t i, int32_t j, double *c6, double *c12)
{
    double v, w;

    combine(top, i, j, &v, &w);
    mds_top_to_c6c12(top, v, w, c6, c12);
}

bool mds_top_lj14(const mds_top *top, int32_t i, int32_t j, double *c6, double *c12)
{
    const int32_t given = pair_find(&top->pair14, i, j);
    double        v, w;

    if (given >= 0) {
        v = top->pair14.vw[given][0];
        w = top->pair14.vw[given][1];
    } else if (top->gen_pairs) {
        combine(top, i, j, &v, &w);
        w *= top->fudge_lj;
        if (top->rule == 1) v *= top->fudge_lj;
    } else {
        return false;
    }
    mds_top_to_c6c12(top, v, w, c6, c12);
    return true;
}

// ----------------------------------------------------------------------------------------- bonded types

static mds_status bonded_type(const mds_top *top, const char *name, bool may_be_any, int32_t *type)
{
    if (may_be_any && !strcmp(name, "X")) {
        *type = MDS_TOP_ANY;
        return MDS_OK;
    }
    *type = mds_words_find(&top->bonded, name, strlen(name));
    MDS_CHECK(*type >= 0, MDS_E_INPUT, "bonded type \"%s\" is not in [ atomtypes ]", name);
    return MDS_OK;
}

/// The directive of the molecule that a [ ...types ] directive serves, and its number of atoms.
static const char *served_directive(const char *section, int *n_atoms)
{
    *n_atoms = section[0] == 'a' ? 3 : section[0] == 'd' ? 4 : 2;
    return section[0] == 'a' ? "angles" : section[0] == 'd' ? "dihedrals" : section[0] == 'b' ? "bonds" : "constraints";
}

/// Types in the order that forwards and backwards share.
static void canonical(const int32_t *type, int n, int32_t *key)
{
    int k, sign = 0;

    for (k = 0; k < n && !sign; k++) sign = (type[k] > type[n - 1 - k]) - (type[k] < type[n - 1 - k]);
    for (k = 0; k < n; k++) key[k] = type[sign > 0 ? n - 1 - k : k];
}

static mds_status append_entry(mds_top_table *table, const mds_top_entry *entry)
{
    MDS_TRY(mds_grow(&table->entry, &table->cap, (size_t)table->n + 1, sizeof *table->entry));
    table->entry[table->n++] = *entry;
    return MDS_OK;
}

static bool same_types(const mds_top_entry *a, const mds_top_entry *b)
{
    return !memcmp(a->type, b->type, sizeof a->type);
}

/// Number of lines that follow each other with the types of entry `first`.
static int block_length(const mds_top_table *table, int32_t first)
{
    int n = 1;

    while (first + n < table->n && same_types(&table->entry[first], &table->entry[first + n])) n++;
    return n;
}

/// Add a line, or let it replace the line that has its types already.
static mds_status add_entry(mds_top *top, const mds_top_function *f, mds_top_table *table, const mds_top_entry *entry)
{
    const size_t bytes = (size_t)f->n_params * sizeof(double);
    int32_t      key[4], index, first;
    int          k, n;
    bool         equal = true;

    canonical(entry->type, f->n_atoms, key);
    if (mds_words_find(&table->key, key, (size_t)f->n_atoms * sizeof *key) < 0) {
        MDS_TRY(mds_words_add(&table->key, key, (size_t)f->n_atoms * sizeof *key, &index));
        MDS_TRY(mds_grow(&table->first, &table->cap_first, (size_t)table->key.n, sizeof *table->first));
        table->first[index] = table->n;
        return append_entry(table, entry);
    }
    first = table->first[mds_words_find(&table->key, key, (size_t)f->n_atoms * sizeof *key)];
    n = block_length(table, first);
    if (f->number == 9 && same_types(&table->entry[table->n - 1], entry)) {
        for (k = 0; k < n; k++)
            if (!memcmp(table->entry[first + k].param, entry->param, bytes)) return MDS_OK;
        return append_entry(table, entry);
    }
    for (k = 0; k < n; k++) equal = equal && !memcmp(table->entry[first + k].param, entry->param, bytes);
    if (equal) return MDS_OK;
    MDS_CHECK(f->number != 9, MDS_E_INPUT,
              "a second block of dihedral type 9 for the same atom types, with other values or several lines: the lines of "
              "one dihedral must follow each other");
    for (k = 0; k < n; k++) memcpy(table->entry[first + k].param, entry->param, bytes);
    mds_top_warn(top, "parameters of a %s are given again for the same types; the later ones are used", f->name);
    return MDS_OK;
}

/// Two-column dihedral types: the inner two atoms of a proper, the outer two of an improper; X for the others.
static void widen_dihedral(char *field[5], char *any, int number)
{
    char *a = field[0], *b = field[1];

    field[4] = field[2];
    field[0] = number == 2 ? a : any;
    field[1] = number == 2 ? any : a;
    field[2] = number == 2 ? any : b;
    field[3] = number == 2 ? b : any;
}

mds_status mds_top_bonded_type(mds_top *top)
{
    char          *field[5], any[] = "X", *end;
    int            n_atoms, n_columns, function, n, k;
    long           number;
    const char    *directive = served_directive(top->section, &n_atoms);
    mds_top_entry  entry = {.line = top->at};

    n_columns = n_atoms;
    if (n_atoms == 4 && top->n_fields >= 3 && isdigit((unsigned char)top->field[2][0]) && !top->field[2][1]) n_columns = 2;
    MDS_CHECK(top->n_fields > n_columns, MDS_E_INPUT, "[ %s ] needs %d types and a function type", top->section, n_atoms);
    number = strtol(top->field[n_columns], &end, 10);
    MDS_CHECK(!*end && number > 0 && number < 1000, MDS_E_INPUT, "\"%s\" is not a function type; [ %s ] needs %s types first",
              top->field[n_columns], top->section, n_atoms == 4 ? "2 or 4" : n_atoms == 3 ? "3" : "2");
    function = mds_top_function_find(directive, (int)number);
    MDS_CHECK(function >= 0, MDS_E_INPUT, "[ %s ] has no function type %ld", top->section, number);
    const mds_top_function *f = mds_top_function_at(function);

    if (f->action == MDS_TOP_REFUSED || f->table < 0) return MDS_OK; // refused where a molecule uses it
    for (k = 0; k <= n_columns; k++) field[k] = top->field[k];
    if (n_columns < n_atoms) widen_dihedral(field, any, f->number);
    for (k = 0; k < n_atoms; k++) MDS_TRY(bonded_type(top, field[k], n_atoms == 4, &entry.type[k]));
    MDS_TRY(mds_top_read_params(top, n_columns + 1, f->n_params, true, f->name, entry.param, &n));
    MDS_CHECK(n, MDS_E_INPUT, "a %s needs %d parameters here", f->name, f->n_params);
    return add_entry(top, f, &top->table[f->table], &entry);
}

/// Types that match without wildcard, -1 if the entry does not fit.
static int n_matches(const mds_top_entry *entry, const int32_t *type, int n, bool backwards)
{
    int k, count = 0;

    for (k = 0; k < n; k++) {
        const int32_t want = entry->type[backwards ? n - 1 - k : k];

        if (want != MDS_TOP_ANY && want != type[k]) return -1;
        count += want != MDS_TOP_ANY;
    }
    return count;
}

static int32_t best_match(const mds_top_table *table, const int32_t *type, int n)
{
    int32_t k, best = -1;
    int     most = -1, direction;

    for (k = 0; k < table->n && most < n; k++)
        for (direction = 0; direction < 2; direction++) {
            const int count = n_matches(&table->entry[k], type, n, direction);

            if (count > most) {
                most = count;
                best = k;
            }
        }
    return best;
}

mds_status mds_top_lookup(mds_top *top, int function, const int32_t *type, const mds_top_entry **found, int *n)
{
    const mds_top_function *f = mds_top_function_at(function);
    mds_top_table          *table = &top->table[f->table];
    const size_t            bytes = (size_t)f->n_atoms * sizeof *type;
    int32_t                 k = mds_words_find(&table->memo, type, bytes);

    if (k < 0) {
        MDS_TRY(mds_words_add(&table->memo, type, bytes, &k));
        MDS_TRY(mds_grow(&table->found, &table->cap_found, (size_t)table->memo.n, sizeof *table->found));
        table->found[k] = best_match(table, type, f->n_atoms);
    }
    *found = table->found[k] < 0 ? NULL : &table->entry[table->found[k]];
    *n = !*found ? 0 : f->term == MDS_TERM_PROPER ? block_length(table, table->found[k]) : 1;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- CMAP

mds_status mds_top_cmaptype(mds_top *top)
{
    enum { FIRST_VALUE = 8, LARGEST = 1000 };
    mds_top_cmap cmap = {.map = -1};
    int32_t      function, size;
    int          k;

    MDS_CHECK(top->n_fields >= FIRST_VALUE, MDS_E_INPUT, "[ cmaptypes ] needs 5 types, a function type and two sizes");
    for (k = 0; k < 5; k++) MDS_TRY(bonded_type(top, top->field[k], false, &cmap.type[k]));
    MDS_TRY(mds_top_integer(top, 5, "function type", &function));
    MDS_CHECK(function == 1, MDS_E_INPUT, "[ cmaptypes ] has no function type %d, only 1", function);
    MDS_TRY(mds_top_integer(top, 6, "grid size", &cmap.size));
    MDS_TRY(mds_top_integer(top, 7, "grid size", &size));
    MDS_CHECK(size == cmap.size, MDS_E_INPUT, "a CMAP grid must be square, got %d x %d", cmap.size, size);
    MDS_CHECK(size >= 4 && size <= LARGEST, MDS_E_INPUT, "a CMAP grid of %d points a side: 4 to %d are possible", size, LARGEST);
    MDS_CHECK(top->n_fields == FIRST_VALUE + size * size, MDS_E_INPUT, "the CMAP grid has %d values where %d x %d = %d are "
              "expected (lines are continued by a backslash)", top->n_fields - FIRST_VALUE, size, size, size * size);
    MDS_TRY(mds_grow(&top->cmap, &top->cap_cmap, (size_t)top->n_cmaps + 1, sizeof *top->cmap));
    MDS_TRY(mds_alloc(&cmap.grid, (size_t)size * (size_t)size, sizeof *cmap.grid));
    top->cmap[top->n_cmaps++] = cmap;
    for (k = 0; k < size * size; k++) MDS_TRY(mds_top_number(top, FIRST_VALUE + k, "CMAP value", &cmap.grid[k]));
    return MDS_OK;
}
