// SPDX-License-Identifier: Apache-2.0
// Common clusters, and the parameters of all pairs of their atoms.
//
// In a liquid most clusters hold the same few kinds of atoms (a kind: LJ type and charge): 16 arrangements of the oxygens and
// hydrogens of water make up most clusters of a solvated protein. For a pair of such clusters the products of charges and the
// combined LJ parameters of all 16 pairs of atoms can be made once and read as operands, in place of three broadcasts and
// up to five multiplications a tile, and in place of the gathers that a matrix of types needs. The kernels do parts of common
// clusters by this table, and all other parts by the rule (isa_pair.c).
//
// Kinds are the three commonest of the whole system; with padding as a fourth letter a cluster is a word of four letters, and
// the MOST_COMMON commonest words of the present order are the common ones. All this follows from the system and the order.
#include "cpu/list.h"

#include <string.h>

enum { N_KINDS = 3, PADDING = N_KINDS, OTHER, N_WORDS = 256, MOST_COMMON = 32, TILE = 48, N_GUESSES = 16 };

struct cpu_common {
    uint8_t *kind;             // [n_atoms] of N_KINDS, or OTHER
    int      n_kinds;
    int32_t  type[N_KINDS + 1]; // LJ type; the last is padding's
    double   charge[N_KINDS + 1];
    int      n;                // common words
    bool     alike;            // there is one, and its four atoms are of one kind
    int      n_few;            // of them, the first: no LJ in the last two atoms
    uint8_t  word[MOST_COMMON];
    float   *table;            // [n][n][3][16]
    int32_t *column;           // [n_clusters]
    size_t   cap_table, cap_column;
    int64_t  search;           // that all this is for
};

typedef struct {
    int32_t type;
    double  charge;
    int64_t count;
} guess;

static bool is_kind(const mds_system *s, int32_t atom, int32_t type, double charge)
{
    return s->type[atom] == type && s->charge[atom] == charge;
}

/// Candidates that include every kind of more than 1/17 of the atoms [misra1982]: a count for each of 16 guesses, and an
/// atom of another kind takes one from all of them.
static void guess_kinds(const mds_system *s, guess g[N_GUESSES])
{
    int32_t atom;
    int     k, free;

    memset(g, 0, N_GUESSES * sizeof *g);
    for (atom = 0; atom < s->n_atoms; atom++) {
        for (k = 0, free = -1; k < N_GUESSES; k++) {
            if (g[k].count && is_kind(s, atom, g[k].type, g[k].charge)) break;
            if (!g[k].count) free = k;
        }
        if (k < N_GUESSES)
            g[k].count++;
        else if (free >= 0)
            g[free] = (guess){s->type[atom], s->charge[atom], 1};
        else
            for (k = 0; k < N_GUESSES; k++) g[k].count--;
    }
    for (k = 0; k < N_GUESSES; k++) // now exactly
        if (g[k].count) {
            g[k].count = 0;
            for (atom = 0; atom < s->n_atoms; atom++) g[k].count += is_kind(s, atom, g[k].type, g[k].charge);
        }
}

/// The commonest kinds, and the kind of every atom.
static mds_status find_kinds(const mds_device *d, cpu_common *common)
{
    const mds_system *s = d->system;
    guess             g[N_GUESSES];
    int32_t           atom;
    int               k, best;

    MDS_TRY(mds_alloc(&common->kind, (size_t)s->n_atoms, sizeof *common->kind));
    guess_kinds(s, g);
    for (; common->n_kinds < N_KINDS; common->n_kinds++) {
        for (k = 1, best = 0; k < N_GUESSES; k++)
            if (g[k].count > g[best].count) best = k;
        if (g[best].count == 0) break;
        common->type[common->n_kinds] = g[best].type;
        common->charge[common->n_kinds] = g[best].charge;
        g[best].count = 0;
    }
    common->type[PADDING] = s->n_types;
    for (atom = 0; atom < s->n_atoms; atom++) {
        for (k = 0; k < common->n_kinds && !is_kind(s, atom, common->type[k], common->charge[k]); k++) {}
        common->kind[atom] = (uint8_t)(k < common->n_kinds ? k : OTHER);
    }
    return MDS_OK;
}

/// Word of a cluster, or -1 if it has an atom of another kind.
static int word_of(const mds_device *d, const cpu_common *common, int32_t cluster)
{
    int word = 0, k;

    for (k = 0; k < CPU_CLUSTER; k++) {
        const int32_t atom = d->atom_of[CPU_CLUSTER * cluster + k];
        const int     letter = atom < 0 ? PADDING : common->kind[atom];

        if (letter == OTHER) return -1;
        word |= letter << (2 * k);
    }
    return word;
}

/// Parameters of the 16 pairs of two words.
static void fill_tile(const cpu_list *list, const cpu_common *common, int n_types, int a, int b, float *tile)
{
    // without Coulomb the kernel works with 1/r in place of 2/r
    const bool   plain = list->kernel_common == CPU_COMMON_LJ;
    const double q2 = list->charge_scale * list->charge_scale;
    int          i, j;

    for (i = 0; i < CPU_CLUSTER; i++)
        for (j = 0; j < CPU_CLUSTER; j++) {
            const int    k = a >> (2 * i) & 3, l = b >> (2 * j) & 3;
            const float *lj = list->matrix + 4 * ((size_t)common->type[k] * (size_t)(n_types + 1) + (size_t)common->type[l]);

            tile[4 * i + j] = (float)(q2 * common->charge[k] * common->charge[l]);
            tile[16 + 4 * i + j] = lj[0] * (plain ? 16384 : 1);
            tile[32 + 4 * i + j] = lj[1] * (plain ? 256 : 1);
        }
}

/// The commonest words. Returns how many clusters they cover.
static int32_t choose_words(cpu_common *common, int32_t count[N_WORDS])
{
    int32_t covered = 0;
    int     w, best;

    for (common->n = 0; common->n < MOST_COMMON; common->n++) {
        for (w = 1, best = 0; w < N_WORDS; w++)
            if (count[w] > count[best]) best = w;
        if (count[best] == 0) break;
        covered += count[best];
        count[best] = 0;
        common->word[common->n] = (uint8_t)best;
    }
    return covered;
}

/// Without charges and with next to all clusters of one kind of atom, that word alone is common: its parameters are constants,
/// and the few clusters with a gap or a stranger go by the rule. Returns how many clusters the words cover now.
static int32_t keep_one(const cpu_list *list, cpu_common *common, int32_t n_clusters, int32_t of_first, int32_t covered)
{
    const int word = common->word[0];

    common->alike = list->kernel_common == CPU_COMMON_LJ && common->n > 0 && word % 0x55 == 0 && (word & 3) != PADDING &&
                    of_first >= n_clusters - n_clusters / 16;
    if (!common->alike) return covered;
    common->n = 1;
    return of_first;
}

/// Those without LJ in their last two atoms to the front. Returns how many.
static int few_first(const cpu_list *list, cpu_common *common)
{
    uint8_t word[MOST_COMMON];
    int     n = 0, few = 0, with, w;

    for (with = 0; with < 2; with++)
        for (w = 0; w < common->n; w++) {
            const int  k = common->word[w] >> 4 & 3, l = common->word[w] >> 6 & 3;
            const bool more = list->has_lj[common->type[k]] || list->has_lj[common->type[l]];

            if (more == with) word[n++] = common->word[w];
            few += with == 0 && !more;
        }
    memcpy(common->word, word, sizeof word);
    return few;
}

/// Whether a 12-6-4 term acts between common kinds: the table has no room for it.
static bool has_c4(const mds_system *s, const cpu_common *common)
{
    int k, l;

    for (k = 0; s->c4 && k < common->n_kinds; k++)
        for (l = 0; l < common->n_kinds; l++)
            if (s->c4[common->type[k] * s->n_types + common->type[l]] != 0) return true;
    return false;
}

mds_status mds_cpu_common_find(mds_device *d)
{
    enum { WORTH = 4 }; // parts are split in two only if one cluster in WORTH is common
    cpu_list   *list = d->list;
    int32_t     count[N_WORDS] = {0}, number[N_WORDS], most = 0, c;
    cpu_common *common;
    int         a, b, word;

    if (!list->common) {
        MDS_TRY(mds_alloc(&list->common, 1, sizeof *list->common));
        MDS_TRY(find_kinds(d, list->common));
    }
    common = list->common;
    if (common->search == list->n_searches) return MDS_OK;
    common->search = list->n_searches;
    common->n = 0;
    if (list->kernel_common < 0 || has_c4(d->system, common)) return MDS_OK;
    MDS_TRY(mds_grow(&common->column, &common->cap_column, (size_t)d->n_clusters, sizeof *common->column));
    for (c = 0; c < d->n_clusters; c++) {
        common->column[c] = word = word_of(d, common, c);
        if (word >= 0) count[word]++;
    }
    for (word = 0; word < N_WORDS; word++) most = count[word] > most ? count[word] : most;
    if (keep_one(list, common, d->n_clusters, most, choose_words(common, count)) < d->n_clusters / WORTH) {
        common->n = 0;
        return MDS_OK;
    }
    common->n_few = few_first(list, common);
    const size_t n = (size_t)common->n;
    MDS_TRY(mds_grow(&common->table, &common->cap_table, n * n * TILE, sizeof *common->table));
    for (a = 0; a < common->n; a++)
        for (b = 0; b < common->n; b++)
            fill_tile(list, common, d->system->n_types, common->word[a], common->word[b],
                      common->table + TILE * ((size_t)a * n + (size_t)b));
    for (word = 0; word < N_WORDS; word++) number[word] = -1;
    for (a = 0; a < common->n; a++) number[common->word[a]] = TILE * a;
    for (c = 0; c < d->n_clusters; c++) common->column[c] = common->column[c] < 0 ? -1 : number[common->column[c]];
    return MDS_OK;
}

void mds_cpu_common_parts(const cpu_list *list, cpu_pair_args *args)
{
    const cpu_common *common = list->common;

    args->table = common->table;
    args->column = common->n ? common->column : NULL;
    args->n_common = common->n;
    args->few = TILE * common->n_few;
    args->alike = common->n && common->alike;
}

void mds_cpu_common_forget(cpu_list *list)
{
    if (list->common) list->common->search = -1;
}

void mds_cpu_common_close(cpu_list *list)
{
    if (!list->common) return;
    mds_free(list->common->kind);
    mds_free(list->common->table);
    mds_free(list->common->column);
    mds_free(list->common);
    list->common = NULL;
}
