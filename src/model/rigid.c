// SPDX-License-Identifier: Apache-2.0
// Rigid things: which bonds become constraints, and how constraints fall into groups.
//
// A triangle of three constraints with two equal legs between one atom and two of equal mass is a water (SETTLE). A
// heavy atom with one to three leaves, none of them constrained otherwise, is an X-H cluster (solved exactly in one
// go). Everything else goes to the general solver. The groups share no atoms, so each can be solved by itself.
#include "model/build.h"

#include <math.h>
#include <string.h>

static bool is_hydrogen(const mds_system *s, int32_t i)
{
    if (s->atomic_number[i] > 0) return s->atomic_number[i] == 1;
    return s->mass[i] > 0 && s->mass[i] < 3.5;
}

/// Remove the terms of a kind for which drop[row] is set.
static void drop_terms(mds_system *s, mds_term_kind kind, const bool *drop)
{
    const size_t na = (size_t)mds_term_table[kind].n_atoms, np = (size_t)mds_term_table[kind].n_params;
    mds_terms   *t = &s->term[kind];
    int32_t      row, out = 0;

    for (row = 0; row < t->n; row++) {
        if (drop[row]) continue;
        memmove(t->atom + (size_t)out * na, t->atom + (size_t)row * na, na * sizeof *t->atom);
        memmove(t->param + (size_t)out * np, t->param + (size_t)row * np, np * sizeof *t->param);
        out++;
    }
    t->n = out;
}

/// Constraints already there, by their smaller atom, to find doubles quickly.
typedef struct {
    int32_t *first, *next; // [n_atoms], [n]
} link_index;

static void free_index(link_index *index)
{
    mds_free(index->first);
    mds_free(index->next);
}

static mds_status index_links(const mds_system *s, link_index *index)
{
    int32_t k;

    MDS_TRY(mds_alloc(&index->first, (size_t)s->n_atoms, sizeof *index->first));
    MDS_TRY(mds_alloc(&index->next, (size_t)s->constraint.n, sizeof *index->next));
    for (k = 0; k < s->n_atoms; k++) index->first[k] = -1;
    for (k = 0; k < s->constraint.n; k++) {
        const int32_t a = s->constraint.atom[2 * k], b = s->constraint.atom[2 * k + 1], low = a < b ? a : b;

        index->next[k] = index->first[low];
        index->first[low] = k;
    }
    return MDS_OK;
}

static bool is_constrained(const mds_system *s, const link_index *index, int32_t a, int32_t b)
{
    const int32_t low = a < b ? a : b, high = a < b ? b : a;
    int32_t       k;

    for (k = index->first[low]; k >= 0; k = index->next[k])
        if (s->constraint.atom[2 * k] == high || s->constraint.atom[2 * k + 1] == high) return true;
    return false;
}

/// Bonds of one kind to constraints. A bond that is constrained already only loses its term.
static mds_status constrain_kind(mds_system *s, mds_term_kind kind, mds_constrain policy)
{
    const mds_terms *t = &s->term[kind];
    const int        np = mds_term_table[kind].n_params;
    link_index       index = {0};
    bool            *drop = NULL;
    int32_t          row, old = s->constraint.n;
    mds_status       status;

    if (!t->n) return MDS_OK;
    MDS_TRY_GOTO(index_links(s, &index));
    MDS_TRY_GOTO(mds_alloc(&drop, (size_t)t->n, sizeof *drop));
    for (row = 0; row < t->n; row++) {
        const int32_t a = t->atom[2 * row], b = t->atom[2 * row + 1];

        if (s->mass[a] <= 0 || s->mass[b] <= 0) continue;
        if (policy == MDS_CONSTRAIN_H_BONDS && !is_hydrogen(s, a) && !is_hydrogen(s, b)) continue;
        drop[row] = true;
        if (old && is_constrained(s, &index, a, b)) continue;
        MDS_TRY_GOTO(mds_system_add_constraint(s, a, b, t->param[row * np]));
    }
    drop_terms(s, kind, drop);
fail:
    mds_free(drop);
    free_index(&index);
    return status;
}

mds_status mds_system_merge_constraints(mds_system *s)
{
    mds_links *c = &s->constraint;
    link_index index = {0};
    bool      *twice = NULL;
    int32_t    k, m, out = 0;
    mds_status status;

    if (!c->n) return MDS_OK;
    MDS_TRY_GOTO(index_links(s, &index));
    MDS_TRY_GOTO(mds_alloc(&twice, (size_t)c->n, sizeof *twice));
    for (k = 0; k < c->n; k++) {
        const int32_t a = c->atom[2 * k], b = c->atom[2 * k + 1];

        // rows of one smaller atom are chained from last to first
        for (m = index.next[k]; m >= 0 && c->atom[2 * m] + c->atom[2 * m + 1] != a + b;) m = index.next[m];
        if (m < 0) continue;
        if (fabs(c->length[m] - c->length[k]) > 1e-6 * c->length[k]) {
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "the distance of atoms %d and %d is constrained to %g nm and to %g nm", a + 1,
                              b + 1, c->length[m], c->length[k]);
            goto fail;
        }
        twice[k] = true;
    }
    for (k = 0; k < c->n; k++) {
        if (twice[k]) continue;
        memmove(c->atom + 2 * out, c->atom + 2 * k, 2 * sizeof *c->atom);
        c->length[out++] = c->length[k];
    }
    c->n = out;
fail:
    mds_free(twice);
    free_index(&index);
    return status;
}

mds_status mds_system_constrain(mds_system *s, mds_constrain policy)
{
    MDS_ASSERT(!s->frozen);
    if (policy == MDS_CONSTRAIN_NONE) return MDS_OK;
    MDS_TRY(constrain_kind(s, MDS_TERM_BOND, policy));
    MDS_TRY(constrain_kind(s, MDS_TERM_BOND_G96, policy));
    return constrain_kind(s, MDS_TERM_BOND_MORSE, policy);
}

// ------------------------------------------------------------------------------------- waters of AMBER files

typedef struct {
    int32_t o, h[2];      // atom ids
    double  oh[2], hh, angle; // nm, rad; 0: not seen
} water_parts;

/// water_of[residue] = index of its water or -1.
static mds_status find_water_residues(const mds_system *s, int32_t **water_of, water_parts **waters, int32_t *n)
{
    const int32_t nr = s->name.n_residues;
    int8_t       *oxygens, *hydrogens, *others;
    int32_t       i, r;

    *n = 0;
    MDS_TRY(mds_alloc(water_of, (size_t)nr, sizeof **water_of));
    MDS_TRY(mds_alloc(&oxygens, (size_t)nr, 3));
    hydrogens = oxygens + nr;
    others = hydrogens + nr;
    for (i = 0; i < s->n_atoms; i++) {
        int8_t *count;

        r = s->name.residue_of[i];
        if (r < 0 || r >= nr || s->mass[i] <= 0) continue;
        count = is_hydrogen(s, i) ? hydrogens : s->atomic_number[i] == 8 || (s->mass[i] > 15.5 && s->mass[i] < 16.5) ? oxygens : others;
        if (count[r] < 100) count[r]++;
    }
    for (r = 0; r < nr; r++) (*water_of)[r] = oxygens[r] == 1 && hydrogens[r] == 2 && !others[r] ? (*n)++ : -1;
    mds_free(oxygens);
    MDS_TRY(mds_alloc(waters, (size_t)*n, sizeof **waters));
    for (i = 0; i < *n; i++) (*waters)[i] = (water_parts){-1, {-1, -1}, {0, 0}, 0, 0};
    for (i = 0; i < s->n_atoms; i++) {
        water_parts *w;

        r = s->name.residue_of[i];
        if (r < 0 || r >= nr || (*water_of)[r] < 0 || s->mass[i] <= 0) continue;
        w = &(*waters)[(*water_of)[r]];
        if (!is_hydrogen(s, i))
            w->o = i;
        else
            w->h[w->h[0] >= 0] = i;
    }
    return MDS_OK;
}

/// Index of the water that all n atoms belong to, or -1.
static int32_t common_water(const mds_system *s, const int32_t *water_of, const int32_t *atom, int n)
{
    const int32_t r = s->name.residue_of[atom[0]];
    int           k;

    if (r < 0 || r >= s->name.n_residues || water_of[r] < 0) return -1;
    for (k = 1; k < n; k++)
        if (s->name.residue_of[atom[k]] != r) return -1;
    return water_of[r];
}

/// Take bonds and angles of waters out of the terms, noting their lengths.
static mds_status strip_water_terms(mds_system *s, const int32_t *water_of, water_parts *waters)
{
    static const mds_term_kind kinds[] = {MDS_TERM_BOND, MDS_TERM_ANGLE, MDS_TERM_UREY_BRADLEY};
    size_t                     which;

    for (which = 0; which < 3; which++) {
        const mds_term_kind kind = kinds[which];
        const mds_terms    *t = &s->term[kind];
        const int           na = mds_term_table[kind].n_atoms, np = mds_term_table[kind].n_params;
        bool               *drop;
        int32_t             row;

        if (!t->n) continue;
        MDS_TRY(mds_alloc(&drop, (size_t)t->n, sizeof *drop));
        for (row = 0; row < t->n; row++) {
            const int32_t *atom = t->atom + row * na, index = common_water(s, water_of, atom, na);
            const double  *param = t->param + row * np;
            water_parts   *w;

            if (index < 0) continue;
            w = &waters[index];
            drop[row] = true;
            if (kind != MDS_TERM_BOND)
                w->angle = param[0];
            else if (atom[0] == w->o || atom[1] == w->o)
                w->oh[atom[0] == w->h[1] || atom[1] == w->h[1]] = param[0];
            else
                w->hh = param[0];
        }
        drop_terms(s, kind, drop);
        mds_free(drop);
    }
    return MDS_OK;
}

mds_status mds_system_rigid_waters(mds_system *s)
{
    int32_t     *water_of = NULL, n, k;
    water_parts *waters = NULL;
    mds_status   status;

    MDS_ASSERT(!s->frozen);
    MDS_TRY_GOTO(find_water_residues(s, &water_of, &waters, &n));
    MDS_TRY_GOTO(strip_water_terms(s, water_of, waters));
    for (k = 0; k < n; k++) {
        const water_parts *w = &waters[k];
        double             hh = w->hh;

        if (w->oh[0] <= 0 || w->oh[1] <= 0) continue; // no bonds: two ions' worth of atoms, or rigid already
        if (hh <= 0 && w->angle > 0)
            hh = sqrt(w->oh[0] * w->oh[0] + w->oh[1] * w->oh[1] - 2 * w->oh[0] * w->oh[1] * cos(w->angle));
        if (hh <= 0) {
            char label[64];

            mds_system_atom_label(s, w->o, label, sizeof label);
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__,
                              "the water of %s has neither an H-H bond nor an angle to make it rigid with; set "
                              "constraints.rigid_water = false",
                              label);
            goto fail;
        }
        MDS_TRY_GOTO(mds_system_add_constraint(s, w->o, w->h[0], w->oh[0]));
        MDS_TRY_GOTO(mds_system_add_constraint(s, w->o, w->h[1], w->oh[1]));
        MDS_TRY_GOTO(mds_system_add_constraint(s, w->h[0], w->h[1], hh));
    }
    status = MDS_OK;
fail:
    mds_free(water_of);
    mds_free(waters);
    return status;
}

mds_status mds_system_repartition(mds_system *s, double hydrogen_mass)
{
    static const mds_term_kind kinds[] = {MDS_TERM_BOND, MDS_TERM_BOND_G96, MDS_TERM_BOND_MORSE};
    int32_t                   *water_of = NULL, n, k;
    water_parts               *waters = NULL;
    bool                      *done = NULL;
    mds_status                 status;
    size_t                     which;

    MDS_ASSERT(!s->frozen);
    if (hydrogen_mass <= 0) return MDS_OK;
    MDS_TRY_GOTO(find_water_residues(s, &water_of, &waters, &n));
    MDS_TRY_GOTO(mds_alloc(&done, (size_t)s->n_atoms, sizeof *done));
    for (which = 0; which < 4; which++) {
        // bonds of every kind, then constraints: a hydrogen gets its mass once, from the atom it hangs on
        const int32_t *atom = which < 3 ? s->term[kinds[which]].atom : s->constraint.atom;
        const int32_t  rows = which < 3 ? s->term[kinds[which]].n : s->constraint.n;

        for (k = 0; k < rows; k++) {
            const int32_t a = atom[2 * k], b = atom[2 * k + 1];
            const bool    ha = is_hydrogen(s, a) && s->mass[a] > 0, hb = is_hydrogen(s, b) && s->mass[b] > 0;
            const int32_t h = ha ? a : b, x = ha ? b : a, r = s->name.residue_of[h];

            if (ha == hb || done[h] || (r >= 0 && r < s->name.n_residues && water_of[r] >= 0)) continue;
            s->mass[x] -= hydrogen_mass - s->mass[h];
            s->mass[h] = hydrogen_mass;
            if (s->atomic_number[h] <= 0) s->atomic_number[h] = 1; // heavier than the mass test below allows
            done[h] = true;
            if (s->mass[x] < 1) {
                char label[64];

                mds_system_atom_label(s, x, label, sizeof label);
                status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__,
                                  "constraints.hydrogen_mass = %g leaves %s with %.3f Da; use a smaller mass",
                                  hydrogen_mass, label, s->mass[x]);
                goto fail;
            }
        }
    }
    status = MDS_OK;
fail:
    mds_free(water_of);
    mds_free(waters);
    mds_free(done);
    return status;
}

// ------------------------------------------------------------------------------------------------ groups

/// Constraints of each atom as rows: [start[i], start[i+1]) of `of`.
static mds_status rows_by_atom(const mds_links *c, int32_t n_atoms, int32_t **start, int32_t **of)
{
    int32_t k, i, *fill;

    MDS_TRY(mds_alloc(start, (size_t)n_atoms + 1, sizeof **start));
    MDS_TRY(mds_alloc(of, 2 * (size_t)c->n, sizeof **of));
    MDS_TRY(mds_alloc(&fill, (size_t)n_atoms + 1, sizeof *fill));
    for (k = 0; k < 2 * c->n; k++) (*start)[c->atom[k] + 1]++;
    for (i = 0; i < n_atoms; i++) (*start)[i + 1] += (*start)[i];
    memcpy(fill, *start, ((size_t)n_atoms + 1) * sizeof *fill);
    for (k = 0; k < c->n; k++) {
        (*of)[fill[c->atom[2 * k]]++] = k;
        (*of)[fill[c->atom[2 * k + 1]]++] = k;
    }
    mds_free(fill);
    return MDS_OK;
}

typedef struct {
    const int32_t *start, *of;
    bool          *taken; // [n constraints]
} grouping;

static int32_t other_end(const mds_links *c, int32_t k, int32_t i)
{
    return c->atom[2 * k] == i ? c->atom[2 * k + 1] : c->atom[2 * k];
}

/// If atom o is the apex of an isolated triangle with equal legs and bases of equal mass, its three rows.
static bool find_water(const mds_system *s, const grouping *g, int32_t o, int32_t row[3], int32_t h[2])
{
    const mds_links *c = &s->constraint;
    int32_t          k;

    if (g->start[o + 1] - g->start[o] != 2) return false;
    for (k = 0; k < 2; k++) {
        row[k] = g->of[g->start[o] + k];
        h[k] = other_end(c, row[k], o);
        if (g->start[h[k] + 1] - g->start[h[k]] != 2 || g->taken[row[k]]) return false;
    }
    row[2] = g->of[g->start[h[0]]] == row[0] ? g->of[g->start[h[0]] + 1] : g->of[g->start[h[0]]];
    if (other_end(c, row[2], h[0]) != h[1]) return false;
    return s->mass[h[0]] == s->mass[h[1]] && fabs(c->length[row[0]] - c->length[row[1]]) < 1e-9 &&
           s->mass[o] >= s->mass[h[0]];
}

static mds_status add_water(mds_system *s, const grouping *g, int32_t o, const int32_t row[3], const int32_t h[2],
                            size_t cap[2])
{
    mds_waters *w = &s->water;
    const size_t n = (size_t)w->n;
    const bool   swap = h[0] > h[1];

    MDS_TRY(mds_grow(&w->atom, &cap[0], 3 * (n + 1), sizeof *w->atom));
    MDS_TRY(mds_grow(&w->length, &cap[1], 2 * (n + 1), sizeof *w->length));
    w->atom[3 * n] = o;
    w->atom[3 * n + 1] = h[swap];
    w->atom[3 * n + 2] = h[!swap];
    w->length[2 * n] = s->constraint.length[row[0]];
    w->length[2 * n + 1] = s->constraint.length[row[2]];
    g->taken[row[0]] = g->taken[row[1]] = g->taken[row[2]] = true;
    w->n++;
    return MDS_OK;
}

/// A centre with one to three leaves that have no other constraint. Of a lone pair the heavier atom is the centre.
static bool is_cluster(const mds_system *s, const grouping *g, int32_t x)
{
    const int32_t n = g->start[x + 1] - g->start[x];
    int32_t       k;

    if (n < 1 || n > 3) return false;
    for (k = 0; k < n; k++) {
        const int32_t row = g->of[g->start[x] + k], leaf = other_end(&s->constraint, row, x);

        if (g->taken[row] || g->start[leaf + 1] - g->start[leaf] != 1) return false;
        if (n == 1 && (s->mass[leaf] > s->mass[x] || (s->mass[leaf] == s->mass[x] && leaf < x))) return false;
    }
    return true;
}

static mds_status add_cluster(mds_system *s, const grouping *g, int32_t x, size_t cap[2])
{
    mds_clusters *c = &s->cluster;
    const size_t  n = (size_t)c->n;
    int32_t       k;

    MDS_TRY(mds_grow(&c->atom, &cap[0], 4 * (n + 1), sizeof *c->atom));
    MDS_TRY(mds_grow(&c->length, &cap[1], 3 * (n + 1), sizeof *c->length));
    c->atom[4 * n] = x;
    for (k = 0; k < 3; k++) {
        const bool    there = k < g->start[x + 1] - g->start[x];
        const int32_t row = there ? g->of[g->start[x] + k] : -1;

        c->atom[4 * n + 1 + (size_t)k] = there ? other_end(&s->constraint, row, x) : -1;
        c->length[3 * n + (size_t)k] = there ? s->constraint.length[row] : 0;
        if (there) g->taken[row] = true;
    }
    c->n++;
    return MDS_OK;
}

mds_status mds_system_group_constraints(mds_system *s)
{
    int32_t *start = NULL, *of = NULL, i, k, row[3], h[2];
    bool    *taken = NULL;
    grouping g;
    size_t   cap_water[2] = {0}, cap_cluster[2] = {0};
    mds_status status;

    MDS_TRY_GOTO(rows_by_atom(&s->constraint, s->n_atoms, &start, &of));
    MDS_TRY_GOTO(mds_alloc(&taken, (size_t)s->constraint.n, sizeof *taken));
    g = (grouping){start, of, taken};
    for (i = 0; i < s->n_atoms; i++)
        if (find_water(s, &g, i, row, h)) MDS_TRY_GOTO(add_water(s, &g, i, row, h, cap_water));
    for (i = 0; i < s->n_atoms; i++)
        if (is_cluster(s, &g, i)) MDS_TRY_GOTO(add_cluster(s, &g, i, cap_cluster));
    for (k = 0; k < s->constraint.n; k++)
        if (!taken[k])
            MDS_TRY_GOTO(mds_links_add(&s->link, s->constraint.atom[2 * k], s->constraint.atom[2 * k + 1],
                                       s->constraint.length[k]));
    status = MDS_OK;
fail:
    mds_free(start);
    mds_free(of);
    mds_free(taken);
    return status;
}
