// SPDX-License-Identifier: Apache-2.0
// The immutable system: atoms and terms are added one by one, then `freeze` sorts, groups and checks them once.
//
// Exclusions are kept as pairs while building and become one sorted row per atom (both directions). Molecules, where
// no reader names them, are the connected parts of the graph of bonds, angles, constraints and virtual sites; a molecule
// whose atoms are not consecutive in the file is widened until it is. Input is checked here for all readers at once.
#include "model/model.h"
#include "model/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const mds_term_info mds_term_table[MDS_N_TERMS] = {
#define ROW(name, text, atoms, params, energy) {text, atoms, params, MDS_EN_##energy},
    MDS_TERM_LIST(ROW)
#undef ROW
};

const char *mds_energy_name(mds_energy term)
{
    static const char *const names[MDS_N_ENERGY] = {
#define ROW(name, text) text,
        MDS_ENERGY_LIST(ROW)
#undef ROW
    };

    return names[term];
}

void mds_system_free(mds_system *s)
{
    int k;

    mds_free(s->type);
    mds_free(s->atomic_number);
    mds_free(s->charge);
    mds_free(s->mass);
    mds_free(s->c6);
    mds_free(s->c12);
    mds_free(s->c4);
    mds_free(s->excl_start);
    mds_free(s->excl);
    for (k = 0; k < MDS_N_TERMS; k++) {
        mds_free(s->term[k].atom);
        mds_free(s->term[k].param);
    }
    mds_free(s->map);
    mds_free(s->vsite.kind);
    mds_free(s->vsite.site);
    mds_free(s->vsite.start);
    mds_free(s->vsite.atom);
    mds_free(s->vsite.weight);
    mds_free(s->vsite.param);
    mds_free(s->constraint.atom);
    mds_free(s->constraint.length);
    mds_free(s->link.atom);
    mds_free(s->link.length);
    mds_free(s->water.atom);
    mds_free(s->water.length);
    mds_free(s->cluster.atom);
    mds_free(s->cluster.length);
    mds_free(s->molecule_start);
    mds_free(s->name.atom);
    mds_free(s->name.residue);
    mds_free(s->name.residue_number);
    mds_free(s->name.residue_of);
    mds_free(s->pair_excl);
    memset(s, 0, sizeof *s);
}

static void copy_name(char out[8], const char *name)
{
    size_t k;

    for (k = 0; k < 7 && name[k]; k++) out[k] = name[k];
    for (; k < 8; k++) out[k] = '\0';
}

mds_status mds_system_add_atom(mds_system *s, const char *name, int32_t residue, int32_t type, double charge,
                               double mass, int32_t atomic_number, int32_t *id)
{
    const size_t n = (size_t)s->n_atoms;

    MDS_ASSERT(!s->frozen);
    MDS_CHECK(s->n_atoms < INT32_MAX / 8, MDS_E_UNSUPPORTED, "more than %d atoms are not supported", INT32_MAX / 8);
    MDS_TRY(mds_grow(&s->type, &s->cap_type, n + 1, sizeof *s->type));
    MDS_TRY(mds_grow(&s->atomic_number, &s->cap_number, n + 1, sizeof *s->atomic_number));
    MDS_TRY(mds_grow(&s->charge, &s->cap_charge, n + 1, sizeof *s->charge));
    MDS_TRY(mds_grow(&s->mass, &s->cap_mass, n + 1, sizeof *s->mass));
    MDS_TRY(mds_grow(&s->name.atom, &s->cap_atom_name, n + 1, sizeof *s->name.atom));
    MDS_TRY(mds_grow(&s->name.residue_of, &s->cap_residue_of, n + 1, sizeof *s->name.residue_of));
    s->type[n] = type;
    s->atomic_number[n] = atomic_number;
    s->charge[n] = charge;
    s->mass[n] = mass;
    copy_name(s->name.atom[n], name);
    s->name.residue_of[n] = residue;
    if (id) *id = s->n_atoms;
    s->n_atoms++;
    return MDS_OK;
}

mds_status mds_system_add_residue(mds_system *s, const char *name, int32_t number, int32_t *index)
{
    const size_t n = (size_t)s->name.n_residues;

    MDS_TRY(mds_grow(&s->name.residue, &s->name.cap_residue, n + 1, sizeof *s->name.residue));
    MDS_TRY(mds_grow(&s->name.residue_number, &s->name.cap_number, n + 1, sizeof *s->name.residue_number));
    copy_name(s->name.residue[n], name);
    s->name.residue_number[n] = number;
    *index = s->name.n_residues++;
    return MDS_OK;
}

mds_status mds_system_set_types(mds_system *s, int32_t n_types, bool with_c4)
{
    const size_t n = (size_t)n_types * (size_t)n_types;

    MDS_ASSERT(!s->frozen && !s->c6);
    MDS_CHECK(n_types > 0, MDS_E_INPUT, "the topology has no atom types");
    s->n_types = n_types;
    MDS_TRY(mds_alloc(&s->c6, n, sizeof *s->c6));
    MDS_TRY(mds_alloc(&s->c12, n, sizeof *s->c12));
    return with_c4 ? mds_alloc(&s->c4, n, sizeof *s->c4) : MDS_OK;
}

void mds_system_set_lj(mds_system *s, int32_t i, int32_t j, double c6, double c12)
{
    MDS_ASSERT(i >= 0 && i < s->n_types && j >= 0 && j < s->n_types);
    s->c6[i * (size_t)s->n_types + j] = s->c6[j * (size_t)s->n_types + i] = c6;
    s->c12[i * (size_t)s->n_types + j] = s->c12[j * (size_t)s->n_types + i] = c12;
}

mds_status mds_system_add_term(mds_system *s, mds_term_kind kind, const int32_t *atom, const double *param)
{
    const mds_term_info *info = &mds_term_table[kind];
    mds_terms           *t = &s->term[kind];
    const size_t         n = (size_t)t->n, na = (size_t)info->n_atoms, np = (size_t)info->n_params;

    MDS_ASSERT(!s->frozen);
    MDS_TRY(mds_grow(&t->atom, &t->cap_atom, (n + 1) * na, sizeof *t->atom));
    MDS_TRY(mds_grow(&t->param, &t->cap_param, (n + 1) * np, sizeof *t->param));
    memcpy(t->atom + n * na, atom, na * sizeof *atom);
    memcpy(t->param + n * np, param, np * sizeof *param);
    t->n++;
    return MDS_OK;
}

mds_status mds_system_add_exclusion(mds_system *s, int32_t i, int32_t j)
{
    const size_t n = (size_t)s->n_pair_excl;

    MDS_ASSERT(!s->frozen);
    if (i == j) return MDS_OK;
    MDS_TRY(mds_grow(&s->pair_excl, &s->cap_pair_excl, 2 * (n + 1), sizeof *s->pair_excl));
    s->pair_excl[2 * n] = i;
    s->pair_excl[2 * n + 1] = j;
    s->n_pair_excl++;
    return MDS_OK;
}

mds_status mds_links_add(mds_links *links, int32_t i, int32_t j, double length)
{
    const size_t n = (size_t)links->n;

    MDS_TRY(mds_grow(&links->atom, &links->cap_atom, 2 * (n + 1), sizeof *links->atom));
    MDS_TRY(mds_grow(&links->length, &links->cap_length, n + 1, sizeof *links->length));
    links->atom[2 * n] = i;
    links->atom[2 * n + 1] = j;
    links->length[n] = length;
    links->n++;
    return MDS_OK;
}

mds_status mds_system_add_constraint(mds_system *s, int32_t i, int32_t j, double length)
{
    MDS_ASSERT(!s->frozen);
    return mds_links_add(&s->constraint, i, j, length);
}

mds_status mds_system_add_vsite(mds_system *s, mds_vsite_kind kind, int32_t site, int n, const int32_t *atom,
                                const double *weight, const double *param)
{
    mds_vsites  *v = &s->vsite;
    const size_t row = (size_t)v->n;
    size_t       first;
    int          k;

    MDS_ASSERT(!s->frozen);
    MDS_TRY(mds_grow(&v->start, &v->cap_start, row + 2, sizeof *v->start));
    first = (size_t)v->start[row];
    MDS_TRY(mds_grow(&v->kind, &v->cap_kind, row + 1, sizeof *v->kind));
    MDS_TRY(mds_grow(&v->site, &v->cap_site, row + 1, sizeof *v->site));
    MDS_TRY(mds_grow(&v->param, &v->cap_param, row + 1, sizeof *v->param));
    MDS_TRY(mds_grow(&v->atom, &v->cap_atom, first + (size_t)n, sizeof *v->atom));
    MDS_TRY(mds_grow(&v->weight, &v->cap_weight, first + (size_t)n, sizeof *v->weight));
    v->kind[row] = (int32_t)kind;
    v->site[row] = site;
    for (k = 0; k < n; k++) {
        v->atom[first + (size_t)k] = atom[k];
        v->weight[first + (size_t)k] = weight ? weight[k] : 0;
    }
    for (k = 0; k < 3; k++) v->param[row][k] = param ? param[k] : 0;
    v->start[row + 1] = (int32_t)(first + (size_t)n);
    v->n++;
    return MDS_OK;
}

mds_status mds_system_add_map(mds_system *s, int32_t size, const double *grid, int32_t *index)
{
    const size_t points = (size_t)size * (size_t)size;
    size_t       have = (size_t)s->n_maps * points;

    MDS_ASSERT(!s->frozen);
    MDS_CHECK(size >= 4, MDS_E_INPUT, "a CMAP grid of %d points a side is too small", size);
    MDS_CHECK(!s->n_maps || size == s->map_size, MDS_E_INPUT, "CMAP grids of different sizes (%d and %d) cannot be mixed",
              s->map_size, size);
    MDS_TRY(mds_grow(&s->map, &have, ((size_t)s->n_maps + 1) * points, sizeof *s->map));
    memcpy(s->map + (size_t)s->n_maps * points, grid, points * sizeof *grid);
    s->map_size = size;
    *index = s->n_maps++;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------ freeze

static int compare_ids(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;

    return (i > j) - (i < j);
}

/// Pairs to sorted rows without repeats.
static mds_status build_exclusions(mds_system *s)
{
    const size_t n = (size_t)s->n_atoms;
    int32_t     *fill, i, out = 0;
    int64_t      k;

    MDS_CHECK(s->n_pair_excl < INT32_MAX / 2, MDS_E_UNSUPPORTED, "too many excluded pairs");
    MDS_TRY(mds_alloc(&s->excl_start, n + 1, sizeof *s->excl_start));
    for (k = 0; k < 2 * s->n_pair_excl; k++) s->excl_start[s->pair_excl[k] + 1]++;
    for (i = 0; i < s->n_atoms; i++) s->excl_start[i + 1] += s->excl_start[i];
    MDS_TRY(mds_alloc(&s->excl, (size_t)s->excl_start[n], sizeof *s->excl));
    MDS_TRY(mds_alloc(&fill, n + 1, sizeof *fill));
    memcpy(fill, s->excl_start, (n + 1) * sizeof *fill);
    for (k = 0; k < s->n_pair_excl; k++) {
        const int32_t a = s->pair_excl[2 * k], b = s->pair_excl[2 * k + 1];

        s->excl[fill[a]++] = b;
        s->excl[fill[b]++] = a;
    }
    mds_free(fill);
    for (i = 0; i < s->n_atoms; i++) {
        const int32_t first = s->excl_start[i], last = s->excl_start[i + 1];
        int32_t       m;

        if (last > first) qsort(s->excl + first, (size_t)(last - first), sizeof *s->excl, compare_ids);
        s->excl_start[i] = out;
        for (m = first; m < last; m++)
            if (m == first || s->excl[m] != s->excl[m - 1]) s->excl[out++] = s->excl[m];
    }
    s->excl_start[n] = out;
    mds_free(s->pair_excl);
    s->pair_excl = NULL;
    s->cap_pair_excl = 0;
    return MDS_OK;
}

/// Atoms, types and maps.
static mds_status check_atoms(const mds_system *s)
{
    const size_t n = (size_t)s->n_types * (size_t)s->n_types;
    int32_t      i;
    size_t       k;

    for (i = 0; i < s->n_atoms; i++) {
        MDS_CHECK(s->type[i] >= 0 && s->type[i] < s->n_types, MDS_E_INPUT, "atom %d has no atom type", i + 1);
        MDS_CHECK(isfinite(s->charge[i]) && isfinite(s->mass[i]) && s->mass[i] >= 0, MDS_E_INPUT,
                  "atom %d has charge %g and mass %g", i + 1, s->charge[i], s->mass[i]);
    }
    for (k = 0; k < n; k++)
        MDS_CHECK(isfinite(s->c6[k]) && isfinite(s->c12[k]) && (!s->c4 || isfinite(s->c4[k])), MDS_E_INPUT,
                  "the Lennard-Jones parameters of atom types %zu and %zu are not numbers", k / (size_t)s->n_types + 1,
                  k % (size_t)s->n_types + 1);
    for (k = 0; k < (size_t)s->n_maps * (size_t)s->map_size * (size_t)s->map_size; k++)
        MDS_CHECK(isfinite(s->map[k]), MDS_E_INPUT, "a CMAP grid holds a value that is not a number");
    for (i = 0; s->molecule_start && i < s->n_molecules; i++)
        MDS_CHECK(s->molecule_start[0] == 0 && s->molecule_start[i] < s->molecule_start[i + 1] &&
                      s->molecule_start[s->n_molecules] == s->n_atoms,
                  MDS_E_INPUT, "molecule %d does not begin where the one before it ends", i + 1);
    return MDS_OK;
}

/// Every id in range, every number finite, no atom its own neighbour in a term (its distance to itself has no direction).
static mds_status check_terms(const mds_system *s)
{
    int     kind;
    int64_t k;

    for (kind = 0; kind < MDS_N_TERMS; kind++) {
        const mds_terms     *t = &s->term[kind];
        const mds_term_info *info = &mds_term_table[kind];

        for (k = 0; k < (int64_t)t->n * info->n_atoms; k++)
            MDS_CHECK(t->atom[k] >= 0 && t->atom[k] < s->n_atoms, MDS_E_INPUT, "a %s names atom %d of %d", info->name,
                      t->atom[k] + 1, s->n_atoms);
        for (k = 0; k < (int64_t)t->n * info->n_atoms; k++)
            MDS_CHECK(k % info->n_atoms == 0 || t->atom[k] != t->atom[k - 1], MDS_E_INPUT, "a %s names atom %d twice",
                      info->name, t->atom[k] + 1);
        for (k = 0; k < (int64_t)t->n * info->n_params; k++)
            MDS_CHECK(isfinite(t->param[k]), MDS_E_INPUT, "a %s of atom %d has a parameter that is not a number",
                      info->name, t->atom[k / info->n_params * info->n_atoms] + 1);
    }
    for (k = 0; k < s->term[MDS_TERM_CMAP].n; k++) {
        const double map = s->term[MDS_TERM_CMAP].param[k];

        MDS_CHECK(map >= 0 && map < s->n_maps && map == floor(map), MDS_E_INPUT, "a CMAP of atom %d names grid %g of %d",
                  s->term[MDS_TERM_CMAP].atom[5 * k] + 1, map + 1, s->n_maps);
    }
    for (k = 0; k < 2 * s->n_pair_excl; k++)
        MDS_CHECK(s->pair_excl[k] >= 0 && s->pair_excl[k] < s->n_atoms, MDS_E_INPUT, "an exclusion names atom %d of %d",
                  s->pair_excl[k] + 1, s->n_atoms);
    for (k = 0; k < s->constraint.n; k++) {
        const int32_t a = s->constraint.atom[2 * k], b = s->constraint.atom[2 * k + 1];

        MDS_CHECK(a >= 0 && b >= 0 && a < s->n_atoms && b < s->n_atoms && a != b, MDS_E_INPUT,
                  "a constraint between atoms %d and %d of %d", a + 1, b + 1, s->n_atoms);
        MDS_CHECK(isfinite(s->constraint.length[k]) && s->constraint.length[k] > 0, MDS_E_INPUT,
                  "the constraint between atoms %d and %d has length %g nm", a + 1, b + 1, s->constraint.length[k]);
        MDS_CHECK(s->mass[a] > 0 && s->mass[b] > 0, MDS_E_INPUT,
                  "the constraint between atoms %d and %d has an atom without mass", a + 1, b + 1);
    }
    return MDS_OK;
}

/// The row of virtual-site `from` moved to the end of `to`.
static mds_status move_vsite(mds_system *to, const mds_vsites *from, int32_t row)
{
    const int32_t first = from->start[row];

    return mds_system_add_vsite(to, (mds_vsite_kind)from->kind[row], from->site[row], from->start[row + 1] - first,
                                from->atom + first, from->weight + first, from->param[row]);
}

static void free_vsites(mds_vsites *v)
{
    mds_free(v->kind);
    mds_free(v->site);
    mds_free(v->start);
    mds_free(v->atom);
    mds_free(v->weight);
    mds_free(v->param);
    memset(v, 0, sizeof *v);
}

/// Check the sites and put them in an order in which each depends on real atoms or earlier sites.
static mds_status order_vsites(mds_system *s)
{
    static const int32_t parents_of[] = {0, 2, 3, 3, 3, 4}; // by mds_vsite_kind; 0: any number
    const mds_vsites old = s->vsite;
    mds_system       sorted = {0};
    int8_t          *placed; // [n_atoms] 1: position known; -1: a site not yet placed
    int32_t          i, k, row, before;
    mds_status       status = MDS_OK;

    MDS_TRY(mds_alloc(&placed, (size_t)s->n_atoms, 1));
    for (i = 0; i < s->n_atoms; i++) placed[i] = s->mass[i] > 0;
    for (row = 0; row < old.n; row++) {
        const int32_t have = old.start[row + 1] - old.start[row], needs = parents_of[old.kind[row]];

        i = old.site[row];
        if ((needs && have != needs) || have < 1 || !isfinite(old.param[row][0] + old.param[row][1] + old.param[row][2])) {
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "virtual site %d has %d atoms to be built from, or a parameter that is not a number",
                              i + 1, have);
            goto fail;
        }
        if (i < 0 || i >= s->n_atoms || placed[i] == -1) {
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "virtual site %d is defined twice or is no atom", i + 1);
            goto fail;
        }
        placed[i] = -1;
        s->mass[i] = 0; // a site never moves by itself, whatever mass its type has
        for (k = old.start[row]; k < old.start[row + 1]; k++)
            if (old.atom[k] < 0 || old.atom[k] >= s->n_atoms || old.atom[k] == i || !isfinite(old.weight[k])) {
                status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "virtual site %d is built from atom %d", i + 1,
                                  old.atom[k] + 1);
                goto fail;
            }
    }
    do {
        before = sorted.vsite.n;
        for (row = 0; row < old.n; row++) {
            bool ready = placed[old.site[row]] == -1;

            for (k = old.start[row]; ready && k < old.start[row + 1]; k++) ready = placed[old.atom[k]] == 1;
            if (!ready) continue;
            MDS_TRY_GOTO(move_vsite(&sorted, &old, row));
            placed[old.site[row]] = 1;
        }
    } while (sorted.vsite.n > before);
    for (k = 0; k < 2; k++) // an atom without mass also stops the sites built from it, so it is told first
        for (i = 0; i < s->n_atoms; i++)
            if (placed[i] == -k) {
                status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__,
                                  k ? "virtual site %d is built from itself through other sites"
                                    : "atom %d has no mass and is not a virtual site",
                                  i + 1);
                goto fail;
            }
    free_vsites(&s->vsite);
    s->vsite = sorted.vsite;
    mds_free(placed);
    return MDS_OK;
fail:
    free_vsites(&sorted.vsite);
    mds_free(placed);
    return status;
}

static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

static void join(int32_t *parent, int32_t i, int32_t j)
{
    i = root_of(parent, i);
    j = root_of(parent, j);
    if (i < j)
        parent[j] = i;
    else
        parent[i] = j;
}

/// Molecules as connected parts, widened to runs of consecutive atoms.
static mds_status find_molecules(mds_system *s)
{
    static const mds_term_kind links[] = {MDS_TERM_BOND, MDS_TERM_BOND_G96, MDS_TERM_BOND_MORSE, MDS_TERM_ANGLE,
                                          MDS_TERM_UREY_BRADLEY};
    const int32_t n = s->n_atoms;
    int32_t      *parent = NULL, *last = NULL, i, k, row, end = 0;
    size_t        kind;
    mds_status    status;

    MDS_TRY_GOTO(mds_alloc(&parent, (size_t)n, sizeof *parent));
    MDS_TRY_GOTO(mds_alloc(&last, (size_t)n, sizeof *last));
    for (i = 0; i < n; i++) parent[i] = i;
    for (kind = 0; kind < sizeof links / sizeof links[0]; kind++) {
        const mds_terms *t = &s->term[links[kind]];
        const int        na = mds_term_table[links[kind]].n_atoms;

        for (row = 0; row < t->n; row++)
            for (k = 1; k < na; k++) join(parent, t->atom[row * na], t->atom[row * na + k]);
    }
    for (row = 0; row < s->constraint.n; row++) join(parent, s->constraint.atom[2 * row], s->constraint.atom[2 * row + 1]);
    for (row = 0; row < s->vsite.n; row++)
        for (k = s->vsite.start[row]; k < s->vsite.start[row + 1]; k++) join(parent, s->vsite.site[row], s->vsite.atom[k]);
    for (i = 0; i < n; i++) last[root_of(parent, i)] = i;
    MDS_TRY_GOTO(mds_alloc(&s->molecule_start, (size_t)n + 1, sizeof *s->molecule_start));
    s->n_molecules = 0;
    for (i = 0; i < n; i++) {
        if (i >= end) s->molecule_start[s->n_molecules++] = i;
        if (last[root_of(parent, i)] + 1 > end) end = last[root_of(parent, i)] + 1;
        if (end <= i) end = i + 1;
    }
    s->molecule_start[s->n_molecules] = n;
fail:
    mds_free(parent);
    mds_free(last);
    return status;
}

/// What was grown by halves to its size: a tenth of a million waters' memory would be empty room.
static mds_status fit_arrays(mds_system *s)
{
    const size_t n = (size_t)s->n_atoms, residues = (size_t)s->name.n_residues, links = (size_t)s->constraint.n;
    int          kind;

#define FIT(array, capacity, count) MDS_TRY(mds_fit(&(array), &(capacity), count, sizeof *(array)))
    FIT(s->type, s->cap_type, n);
    FIT(s->atomic_number, s->cap_number, n);
    FIT(s->charge, s->cap_charge, n);
    FIT(s->mass, s->cap_mass, n);
    FIT(s->name.atom, s->cap_atom_name, n);
    FIT(s->name.residue_of, s->cap_residue_of, n);
    FIT(s->name.residue, s->name.cap_residue, residues);
    FIT(s->name.residue_number, s->name.cap_number, residues);
    FIT(s->constraint.atom, s->constraint.cap_atom, 2 * links);
    FIT(s->constraint.length, s->constraint.cap_length, links);
    for (kind = 0; kind < MDS_N_TERMS; kind++) {
        mds_terms *t = &s->term[kind];

        FIT(t->atom, t->cap_atom, (size_t)t->n * (size_t)mds_term_table[kind].n_atoms);
        FIT(t->param, t->cap_param, (size_t)t->n * (size_t)mds_term_table[kind].n_params);
    }
#undef FIT
    return MDS_OK;
}

mds_status mds_system_freeze(mds_system *s)
{
    double  charge = 0;
    int32_t i;
    size_t  k;

    MDS_ASSERT(!s->frozen);
    MDS_CHECK(s->n_atoms > 0, MDS_E_INPUT, "the system has no atoms");
    MDS_TRY(check_atoms(s));
    MDS_TRY(order_vsites(s));
    MDS_TRY(check_terms(s));
    MDS_TRY(mds_system_merge_constraints(s));
    MDS_TRY(build_exclusions(s));
    MDS_TRY(mds_system_group_constraints(s));
    if (!s->molecule_start) MDS_TRY(find_molecules(s));
    MDS_TRY(fit_arrays(s));
    for (i = 0; i < s->n_atoms; i++) charge += s->charge[i];
    s->total_charge = charge;
    s->has_lj_tail_pairs = false;
    for (k = 0; k < (size_t)s->n_types * (size_t)s->n_types; k++)
        if (s->c6[k] != 0) s->has_lj_tail_pairs = true;
    s->frozen = true;
    return MDS_OK;
}

void mds_system_atom_label(const mds_system *s, int32_t atom, char *out, size_t n)
{
    if (atom < 0 || atom >= s->n_atoms) {
        snprintf(out, n, "(no atom)");
        return;
    }
    const int32_t residue = s->name.residue_of[atom];

    if (residue >= 0 && residue < s->name.n_residues)
        snprintf(out, n, "%s %d %s (atom %d)", s->name.residue[residue], s->name.residue_number[residue],
                 s->name.atom[atom], atom + 1);
    else
        snprintf(out, n, "%s (atom %d)", s->name.atom[atom], atom + 1);
}

int64_t mds_system_n_degrees(const mds_system *s, bool com_removed, bool rotation_removed)
{
    int64_t n = 0;
    int32_t i, massive = 0;

    for (i = 0; i < s->n_atoms; i++)
        if (s->mass[i] > 0) massive++;
    n = 3 * (int64_t)massive - s->constraint.n;
    if (com_removed) n -= massive > 0 ? 3 : 0;
    if (rotation_removed) n -= massive > 2 ? 3 : massive == 2 ? 2 : 0;
    return n > 0 ? n : 0;
}
