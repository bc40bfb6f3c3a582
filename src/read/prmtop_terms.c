// SPDX-License-Identifier: Apache-2.0
// Bonds, angles, dihedrals and 1-4 pairs of a prmtop.
//
// AMBER writes harmonic terms as K x^2; ours are k x^2 / 2, so k = 2 K. A dihedral is PK (1 + cos(PN phi - PHASE)); several
// rows on the same atoms are a Fourier series. Atoms are stored as 3 (id - 1), and signs carry meaning:
//   third index negative    the end atoms get no 1-4 pair from this row (a further term of a series, a small ring)
//   fourth index negative   an improper: no 1-4 pair either
// PN may be negative in files of old tools ("more terms follow"); its absolute value counts. PN = 0 makes a constant.
//
// A row with both signs positive gives its end atoms a 1-4 pair, whatever its barrier, with the row's own factors:
// q q / SCEE and LJ / SCNB; 1.2 and 2.0 where the file has no such sections, 1 and 1 for CHARMM. One pair per two atoms.
// A 1-4 pair of two atoms is also one of their extra points (as in AMBER's own set-up), which hold LJ or charge of their own.
#include "base/units.h"
#include "read/prmtop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Rows of term sections, both halves ("with hydrogen", "without") after one another, in file units.
typedef struct {
    const mds_prm_section *s;
    int32_t               *value; // [n][width]
    int64_t                n;
} term_rows;

/// 3 (id - 1) to id, type to count from 0, in place; checks. Signs are allowed from the third atom on if `signs`.
static mds_status decode_row(const mds_prm *p, const term_rows *r, int64_t k, int n_atoms, bool signs, int32_t n_types)
{
    int32_t      *row = r->value + k * (n_atoms + 1);
    const int64_t at = k * (n_atoms + 1);
    int           m;

    for (m = 0; m < n_atoms; m++) {
        const int32_t v = row[m];

        MDS_CHECK(v >= 0 || (signs && m >= 2), MDS_E_INPUT, "%s:%d: section %s has the negative atom index %d", p->file.path,
                  mds_prm_line(r->s, at + m), r->s->name, v);
        MDS_CHECK(v % 3 == 0, MDS_E_INPUT, "%s:%d: section %s has the atom index %d, which is not a multiple of 3",
                  p->file.path, mds_prm_line(r->s, at + m), r->s->name, v);
        row[m] = abs(v) / 3;
    }
    MDS_TRY(mds_prm_check_atoms(p, r->s, at, row, n_atoms));
    MDS_CHECK(row[n_atoms] >= 1 && row[n_atoms] <= n_types, MDS_E_INPUT, "%s:%d: section %s has a term of type %d of %d",
              p->file.path, mds_prm_line(r->s, at + n_atoms), r->s->name, row[n_atoms], n_types);
    row[n_atoms]--;
    return MDS_OK;
}

static mds_status read_rows(const mds_prm *p, const char *name, int64_t n, int width, term_rows *r)
{
    r->s = mds_prm_find(&p->file, name);
    r->n = n;
    return mds_prm_ints(&p->file, name, (size_t)n * (size_t)width, &r->value);
}

/// One half of the bonds or angles, appended to `out` [..][n_atoms + 1].
static mds_status append_rows(const mds_prm *p, const char *name, int64_t n, int n_atoms, int32_t n_types, int32_t *out)
{
    term_rows  r = {0};
    mds_status status;
    int64_t    k;

    MDS_TRY_GOTO(read_rows(p, name, n, n_atoms + 1, &r));
    for (k = 0; k < n; k++) MDS_TRY_GOTO(decode_row(p, &r, k, n_atoms, false, n_types));
    if (n) memcpy(out, r.value, (size_t)n * (size_t)(n_atoms + 1) * sizeof *out);
fail:
    mds_free(r.value);
    return status;
}

/// Bonds of each atom, in file order.
static mds_status build_adjacency(mds_prm *p)
{
    const int32_t n = p->pointer[MDS_PRM_NATOM];
    int32_t       i, b, *fill;

    MDS_TRY(mds_alloc(&p->adj_start, (size_t)n + 1, sizeof *p->adj_start));
    MDS_TRY(mds_alloc(&p->adj, 2 * (size_t)p->n_bonds, sizeof *p->adj));
    for (b = 0; b < p->n_bonds; b++) {
        p->adj_start[p->bond[b][0] + 1]++;
        p->adj_start[p->bond[b][1] + 1]++;
    }
    for (i = 0; i < n; i++) p->adj_start[i + 1] += p->adj_start[i];
    MDS_TRY(mds_alloc(&fill, (size_t)n, sizeof *fill));
    memcpy(fill, p->adj_start, (size_t)n * sizeof *fill);
    for (b = 0; b < p->n_bonds; b++) {
        p->adj[fill[p->bond[b][0]]++] = b;
        p->adj[fill[p->bond[b][1]]++] = b;
    }
    mds_free(fill);
    return MDS_OK;
}

mds_status mds_prm_read_bonds(mds_prm *p)
{
    const mds_prm_file *f = &p->file;
    const int32_t       nh = p->pointer[MDS_PRM_NBONH], na = p->pointer[MDS_PRM_NBONA], types = p->pointer[MDS_PRM_NUMBND];
    const int32_t       ah = p->pointer[MDS_PRM_NTHETH], aa = p->pointer[MDS_PRM_NTHETA], a_types = p->pointer[MDS_PRM_NUMANG];
    const size_t        file_bytes = f->section[f->n - 1].end ? (size_t)(f->section[f->n - 1].end - f->text) : 0;

    // no file holds more rows than bytes: keeps a corrupt count from asking for all memory
    MDS_CHECK((size_t)nh + (size_t)na + (size_t)ah + (size_t)aa <= file_bytes + 1, MDS_E_INPUT,
              "%s: POINTERS announce more bonds and angles than the file can hold", f->path);
    p->n_bonds = nh + na;
    MDS_TRY(mds_alloc(&p->bond, (size_t)p->n_bonds, sizeof *p->bond));
    MDS_TRY(append_rows(p, "BONDS_INC_HYDROGEN", nh, 2, types, p->n_bonds ? p->bond[0] : NULL));
    MDS_TRY(append_rows(p, "BONDS_WITHOUT_HYDROGEN", na, 2, types, p->n_bonds ? p->bond[0] + 3 * (int64_t)nh : NULL));
    MDS_TRY(mds_prm_reals(f, "BOND_FORCE_CONSTANT", (size_t)types, &p->bond_k));
    MDS_TRY(mds_prm_reals(f, "BOND_EQUIL_VALUE", (size_t)types, &p->bond_r0));
    p->n_angles = ah + aa;
    MDS_TRY(mds_alloc(&p->angle, (size_t)p->n_angles, sizeof *p->angle));
    MDS_TRY(append_rows(p, "ANGLES_INC_HYDROGEN", ah, 3, a_types, p->n_angles ? p->angle[0] : NULL));
    MDS_TRY(append_rows(p, "ANGLES_WITHOUT_HYDROGEN", aa, 3, a_types, p->n_angles ? p->angle[0] + 4 * (int64_t)ah : NULL));
    MDS_TRY(mds_prm_reals(f, "ANGLE_FORCE_CONSTANT", (size_t)a_types, &p->angle_k));
    MDS_TRY(mds_prm_reals(f, "ANGLE_EQUIL_VALUE", (size_t)a_types, &p->angle_theta0));
    return build_adjacency(p);
}

static bool holds_site(const mds_prm *p, const int32_t *atom, int n)
{
    int k;

    for (k = 0; k < n; k++)
        if (p->is_site[atom[k]]) return true;
    return false;
}

static mds_status add_bonds_and_angles(mds_prm *p)
{
    int32_t k;

    for (k = 0; k < p->n_bonds; k++) {
        const int32_t t = p->bond[k][2];
        const double  param[2] = {0.1 * p->bond_r0[t], 2 * MDS_KCAL * 100 * p->bond_k[t]};

        if (!holds_site(p, p->bond[k], 2)) MDS_TRY(mds_system_add_term(p->system, MDS_TERM_BOND, p->bond[k], param));
    }
    for (k = 0; k < p->n_angles && !p->chamber; k++) {
        const int32_t t = p->angle[k][3];
        const double  param[2] = {p->angle_theta0[t], 2 * MDS_KCAL * p->angle_k[t]};

        if (!holds_site(p, p->angle[k], 3)) MDS_TRY(mds_system_add_term(p->system, MDS_TERM_ANGLE, p->angle[k], param));
    }
    return MDS_OK;
}

// ----------------------------------------------------------------------------------- dihedrals, 1-4 pairs

/// Parameters of dihedral types, file units; and the 1-4 pairs found so far.
typedef struct {
    double *k, *periodicity, *phase, *scee, *scnb; // [n_types]
    struct pair14 {
        int32_t i, l, type, line; // i < l
    }     *pair;
    size_t n, cap;
    int32_t n_constant;  // rows of periodicity 0 that carry a 1-4 pair
    int32_t n_left_open; // 1-4 pairs that the exclusion list lacks
} dihedrals;

static void free_dihedrals(dihedrals *d)
{
    mds_free(d->k);
    mds_free(d->periodicity);
    mds_free(d->phase);
    mds_free(d->scee);
    mds_free(d->scnb);
    mds_free(d->pair);
}

static mds_status read_factor(const mds_prm *p, const char *name, double otherwise, double **out)
{
    const size_t n = (size_t)p->pointer[MDS_PRM_NPTRA];
    size_t       k;

    if (mds_prm_find(&p->file, name)) return mds_prm_reals(&p->file, name, n, out);
    MDS_TRY(mds_alloc(out, n, sizeof **out));
    for (k = 0; k < n; k++) (*out)[k] = otherwise;
    return MDS_OK;
}

static mds_status read_dihedral_types(const mds_prm *p, dihedrals *d)
{
    const mds_prm_file *f = &p->file;
    const size_t        n = (size_t)p->pointer[MDS_PRM_NPTRA];

    MDS_TRY(mds_prm_reals(f, "DIHEDRAL_FORCE_CONSTANT", n, &d->k));
    MDS_TRY(mds_prm_reals(f, "DIHEDRAL_PERIODICITY", n, &d->periodicity));
    MDS_TRY(mds_prm_reals(f, "DIHEDRAL_PHASE", n, &d->phase));
    MDS_TRY(read_factor(p, "SCEE_SCALE_FACTOR", p->chamber ? 1.0 : 1.2, &d->scee));
    return read_factor(p, "SCNB_SCALE_FACTOR", p->chamber ? 1.0 : 2.0, &d->scnb);
}

/// Row k: a term, and perhaps a 1-4 pair.
static mds_status add_dihedral(mds_prm *p, const term_rows *r, int64_t k, dihedrals *d)
{
    int32_t      *row = r->value + 5 * k;
    const bool    improper = row[3] < 0, no_pair = row[2] < 0 || improper;
    const int32_t line = r->s ? mds_prm_line(r->s, 5 * k) : 0;
    double        n, param[3];
    int32_t       t;

    MDS_TRY(decode_row(p, r, k, 4, true, p->pointer[MDS_PRM_NPTRA]));
    t = row[4];
    n = fabs(d->periodicity[t]);
    MDS_CHECK(fabs(n - round(n)) < 1e-6 && n < 100, MDS_E_INPUT,
              "%s:%d: dihedral of type %d has periodicity %g, which is not a whole number", p->file.path, line, t + 1,
              d->periodicity[t]);
    if (holds_site(p, row, 4)) return MDS_OK;
    param[0] = d->phase[t];
    param[1] = MDS_KCAL * d->k[t];
    param[2] = round(n);
    if (param[1] != 0)
        MDS_TRY(mds_system_add_term(p->system, improper ? MDS_TERM_PERIODIC_IMPROPER : MDS_TERM_PROPER, row, param));
    if (no_pair) return MDS_OK;
    MDS_CHECK(d->scee[t] > 0 && d->scnb[t] > 0, MDS_E_INPUT,
              "%s:%d: a dihedral with a 1-4 pair (atoms %d and %d) has SCEE %g and SCNB %g: they divide and must be above 0",
              p->file.path, line, row[0] + 1, row[3] + 1, d->scee[t], d->scnb[t]);
    d->n_constant += n == 0;
    MDS_TRY(mds_grow(&d->pair, &d->cap, d->n + 1, sizeof *d->pair));
    d->pair[d->n].i = row[0] < row[3] ? row[0] : row[3];
    d->pair[d->n].l = row[0] < row[3] ? row[3] : row[0];
    d->pair[d->n].type = t;
    d->pair[d->n++].line = line;
    return MDS_OK;
}

static mds_status add_dihedral_half(mds_prm *p, const char *name, int32_t n, dihedrals *d)
{
    term_rows  r = {0};
    mds_status status;
    int64_t    k;

    MDS_TRY_GOTO(read_rows(p, name, n, 5, &r));
    for (k = 0; k < n; k++) MDS_TRY_GOTO(add_dihedral(p, &r, k, d));
fail:
    mds_free(r.value);
    return status;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair14 *x = a, *y = b;

    if (x->i != y->i) return x->i < y->i ? -1 : 1;
    if (x->l != y->l) return x->l < y->l ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static bool is_excluded(const mds_prm *p, int32_t i, int32_t j)
{
    int32_t k;

    for (k = p->excl_start[i]; k < p->excl_start[i + 1]; k++)
        if (p->excl[k] == j) return true;
    for (k = p->excl_start[j]; k < p->excl_start[j + 1]; k++)
        if (p->excl[k] == i) return true;
    return false;
}

/// The 1-4 term of two atoms (or extra points). 12-6 parameters even where the pair table says 10-12, as AMBER does.
static mds_status add_pair(mds_prm *p, int32_t i, int32_t l, double scee, double scnb)
{
    const mds_system *s = p->system;
    const int32_t     n = p->pointer[MDS_PRM_NTYPES], a = p->type[i], b = p->type[l], high = a > b ? a : b, low = a > b ? b : a;
    const double     *acoef = p->acoef14 ? p->acoef14 : p->acoef, *bcoef = p->bcoef14 ? p->bcoef14 : p->bcoef;
    const int32_t     atom[2] = {i, l};
    int64_t           index = p->pair_index[(int64_t)a * n + b];
    double            param[3];

    if (index < 0) index = (int64_t)high * (high + 1) / 2 + low + 1;
    param[0] = bcoef[index - 1] * MDS_KCAL * 1e-6 / scnb;
    param[1] = acoef[index - 1] * MDS_KCAL * 1e-12 / scnb;
    param[2] = s->charge[i] * s->charge[l] / scee;
    if ((p->is_site[i] || p->is_site[l]) && param[0] == 0 && param[1] == 0 && param[2] == 0) return MDS_OK;
    return mds_system_add_term(p->system, MDS_TERM_PAIR14, atom, param);
}

/// The pair itself and those of the extra points that its atoms own.
static mds_status add_pair_family(mds_prm *p, const struct pair14 *pair, dihedrals *d)
{
    const double scee = d->scee[pair->type], scnb = d->scnb[pair->type];
    int32_t      a, b;

    for (a = p->owned_start[pair->i] - 1; a < p->owned_start[pair->i + 1]; a++)
        for (b = p->owned_start[pair->l] - 1; b < p->owned_start[pair->l + 1]; b++) {
            const int32_t i = a < p->owned_start[pair->i] ? pair->i : p->owned[a];
            const int32_t l = b < p->owned_start[pair->l] ? pair->l : p->owned[b];

            MDS_TRY(add_pair(p, i, l, scee, scnb));
            MDS_TRY(mds_system_add_exclusion(p->system, i, l));
        }
    d->n_left_open += !is_excluded(p, pair->i, pair->l);
    return MDS_OK;
}

static mds_status add_pairs(mds_prm *p, dihedrals *d)
{
    size_t k, n_pairs = 0;

    if (d->n) qsort(d->pair, d->n, sizeof *d->pair, compare_pairs);
    for (k = 0; k < d->n; k++) {
        const struct pair14 *now = &d->pair[k], *before = k ? now - 1 : NULL;

        if (before && before->i == now->i && before->l == now->l) {
            MDS_CHECK(d->scee[before->type] == d->scee[now->type] && d->scnb[before->type] == d->scnb[now->type], MDS_E_INPUT,
                      "%s:%d: the 1-4 pair of atoms %d and %d gets SCEE %g, SCNB %g here and %g, %g in line %d; all but one of "
                      "its dihedrals should have a negative third index",
                      p->file.path, now->line, now->i + 1, now->l + 1, d->scee[now->type], d->scnb[now->type],
                      d->scee[before->type], d->scnb[before->type], before->line);
            continue;
        }
        MDS_TRY(add_pair_family(p, now, d));
        n_pairs++;
    }
    if (d->n_constant)
        mds_warn("%s: %d dihedrals of periodicity 0 carry a 1-4 pair: they count here; AMBER's pmemd leaves such pairs out",
                 p->file.path, d->n_constant);
    if (d->n_left_open)
        mds_warn("%s: %d 1-4 pairs are not in EXCLUDED_ATOMS_LIST; they are excluded here, as 1-4 pairs are", p->file.path,
                 d->n_left_open);
    mds_text_add(&p->report, "1-4 pairs: %zu, factors SCEE and SCNB %s\n", n_pairs,
                 mds_prm_find(&p->file, "SCEE_SCALE_FACTOR") ? "from the file"
                 : p->chamber                                ? "1 and 1 (no section in the file)"
                                                             : "1.2 and 2.0 (no section in the file)");
    return MDS_OK;
}

mds_status mds_prm_add_terms(mds_prm *p)
{
    dihedrals  d = {0};
    mds_status status;

    MDS_TRY(add_bonds_and_angles(p));
    MDS_TRY_GOTO(read_dihedral_types(p, &d));
    MDS_TRY_GOTO(add_dihedral_half(p, "DIHEDRALS_INC_HYDROGEN", p->pointer[MDS_PRM_NPHIH], &d));
    MDS_TRY_GOTO(add_dihedral_half(p, "DIHEDRALS_WITHOUT_HYDROGEN", p->pointer[MDS_PRM_NPHIA], &d));
    MDS_TRY_GOTO(add_pairs(p, &d));
fail:
    free_dihedrals(&d);
    return status;
}
