// SPDX-License-Identifier: Apache-2.0
// What CHARMM force fields add to a prmtop (CHAMBER), and CMAP, which AMBER's ff19SB has too.
//
//   Urey-Bradley   K (r13 - r0)^2 between the ends of an angle; joined here with that angle into one term
//   impropers      K (psi - psi0)^2, psi the dihedral angle of the four atoms as listed (centre first)
//   CMAP           energy on a grid over two torsions, first along rows, both from -180 degrees; kcal/mol
// Atoms count from 1 in these sections (not in threes). psi0 is in radian; files of old tools hold degrees, and a value
// beyond a full turn in radian can only be that. All angles of a CHARMM file become Urey-Bradley terms (with a zero second
// part where there is none), so that its energies are counted as those of the GROMACS form of the same force field.
// Sources: CHARMM [brooks2009], CMAP [mackerell2004], CHAMBER [crowley2009].
#include "base/units.h"
#include "read/prmtop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// One value of a section that holds counts.
static mds_status read_count(const mds_prm *p, const char *name, int n, int32_t out[2])
{
    const mds_prm_section *s = mds_prm_find(&p->file, name);
    int32_t               *value = NULL;
    int                    k;

    out[0] = out[1] = 0;
    if (!s) return MDS_OK;
    MDS_TRY(mds_prm_ints(&p->file, name, (size_t)n, &value));
    for (k = 0; k < n; k++) out[k] = value[k];
    mds_free(value);
    MDS_CHECK(out[0] >= 0 && out[1] >= 0, MDS_E_INPUT, "%s:%d: section %s has a negative count", p->file.path, s->first, name);
    return MDS_OK;
}

/// Atoms from 1 and a type from 1, in place, to count from 0; checks. Extra points carry no such terms.
static mds_status decode_row(const mds_prm *p, const mds_prm_section *s, int64_t k, int n_atoms, int32_t n_types, int32_t *row)
{
    const int64_t at = k * (n_atoms + 1);
    int           m;

    for (m = 0; m < n_atoms; m++) {
        MDS_CHECK(row[m] >= 1, MDS_E_INPUT, "%s:%d: section %s names atom %d", p->file.path, mds_prm_line(s, at + m), s->name,
                  row[m]);
        row[m]--;
    }
    MDS_TRY(mds_prm_check_atoms(p, s, at, row, n_atoms));
    for (m = 0; m < n_atoms; m++)
        MDS_CHECK(!p->is_site[row[m]], MDS_E_INPUT, "%s:%d: section %s has a term on the extra point %d", p->file.path,
                  mds_prm_line(s, at + m), s->name, row[m] + 1);
    MDS_CHECK(row[n_atoms] >= 1 && row[n_atoms] <= n_types, MDS_E_INPUT, "%s:%d: section %s has a term of type %d of %d",
              p->file.path, mds_prm_line(s, at + n_atoms), s->name, row[n_atoms], n_types);
    row[n_atoms]--;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------ Urey-Bradley

/// An angle by its ends, for finding it; and the Urey-Bradley part it got.
typedef struct {
    int32_t low, high, angle;
    double  r0, k; // file units
    bool    taken;
} angle_ends;

static int compare_ends(const void *a, const void *b)
{
    const angle_ends *x = a, *y = b;

    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->high != y->high) return x->high < y->high ? -1 : 1;
    return x->angle < y->angle ? -1 : x->angle > y->angle;
}

/// The first angle between two atoms that has no Urey-Bradley part yet, or any, or NULL.
static angle_ends *find_ends(angle_ends *list, int32_t n, int32_t i, int32_t k)
{
    const int32_t low = i < k ? i : k, high = i < k ? k : i;
    int32_t       a = 0, b = n, m;

    while (a < b) {
        m = a + (b - a) / 2;
        if (list[m].low < low || (list[m].low == low && list[m].high < high))
            a = m + 1;
        else
            b = m;
    }
    if (a >= n || list[a].low != low || list[a].high != high) return NULL;
    for (m = a; m < n && list[m].low == low && list[m].high == high; m++)
        if (!list[m].taken) return &list[m];
    return &list[a];
}

/// A Urey-Bradley term that no angle can take: an angle of strength 0 over an atom bonded to both ends.
static mds_status add_loose(mds_prm *p, const mds_prm_section *s, int64_t row, const int32_t end[2], const double ub[2])
{
    int32_t a, b, atom[3] = {end[0], -1, end[1]};

    for (a = p->adj_start[end[0]]; a < p->adj_start[end[0] + 1]; a++) {
        const int32_t *first = p->bond[p->adj[a]], middle = first[0] == end[0] ? first[1] : first[0];

        for (b = p->adj_start[end[1]]; b < p->adj_start[end[1] + 1] && atom[1] < 0; b++) {
            const int32_t *second = p->bond[p->adj[b]];

            if (middle == (second[0] == end[1] ? second[1] : second[0])) atom[1] = middle;
        }
    }
    MDS_CHECK(atom[1] >= 0, MDS_E_INPUT, "%s:%d: the Urey-Bradley term of atoms %d and %d: no atom is bonded to both",
              p->file.path, mds_prm_line(s, row), end[0] + 1, end[1] + 1);
    return mds_system_add_term(p->system, MDS_TERM_UREY_BRADLEY, atom, (const double[4]){1, 0, 0.1 * ub[0],
                                                                                        2 * MDS_KCAL * 100 * ub[1]});
}

/// Give each Urey-Bradley row to its angle.
static mds_status join_urey_bradley(mds_prm *p, angle_ends *ends, int32_t n_terms, int32_t n_types)
{
    const mds_prm_section *s = mds_prm_find(&p->file, "CHARMM_UREY_BRADLEY");
    int32_t               *value = NULL;
    double                *k = NULL, *r0 = NULL;
    mds_status             status;
    int64_t                m;

    MDS_TRY_GOTO(mds_prm_ints(&p->file, "CHARMM_UREY_BRADLEY", 3 * (size_t)n_terms, &value));
    MDS_TRY_GOTO(mds_prm_reals(&p->file, "CHARMM_UREY_BRADLEY_FORCE_CONSTANT", (size_t)n_types, &k));
    MDS_TRY_GOTO(mds_prm_reals(&p->file, "CHARMM_UREY_BRADLEY_EQUIL_VALUE", (size_t)n_types, &r0));
    for (m = 0; m < n_terms; m++) {
        int32_t    *row = value + 3 * m;
        angle_ends *angle;

        MDS_TRY_GOTO(decode_row(p, s, m, 2, n_types, row));
        angle = find_ends(ends, p->n_angles, row[0], row[1]);
        if (angle && !angle->taken) {
            angle->taken = true;
            angle->k = k[row[2]];
            angle->r0 = r0[row[2]];
        } else {
            MDS_TRY_GOTO(add_loose(p, s, 3 * m, row, (const double[2]){r0[row[2]], k[row[2]]}));
        }
    }
fail:
    mds_free(value);
    mds_free(k);
    mds_free(r0);
    return status;
}

static int compare_angles(const void *a, const void *b)
{
    const angle_ends *x = a, *y = b;

    return x->angle < y->angle ? -1 : x->angle > y->angle;
}

static mds_status add_angles(mds_prm *p)
{
    angle_ends *ends = NULL;
    int32_t     count[2], k;
    mds_status  status;

    MDS_TRY(read_count(p, "CHARMM_UREY_BRADLEY_COUNT", 2, count));
    MDS_TRY(mds_alloc(&ends, (size_t)p->n_angles, sizeof *ends));
    for (k = 0; k < p->n_angles; k++) {
        const int32_t i = p->angle[k][0], j = p->angle[k][2];

        ends[k].low = i < j ? i : j;
        ends[k].high = i < j ? j : i;
        ends[k].angle = k;
    }
    if (p->n_angles) qsort(ends, (size_t)p->n_angles, sizeof *ends, compare_ends);
    MDS_TRY_GOTO(join_urey_bradley(p, ends, count[0], count[1]));
    if (p->n_angles) qsort(ends, (size_t)p->n_angles, sizeof *ends, compare_angles); // terms in file order
    for (k = 0; k < p->n_angles; k++) {
        const int32_t *a = p->angle[k];
        const double   param[4] = {p->angle_theta0[a[3]], 2 * MDS_KCAL * p->angle_k[a[3]], 0.1 * ends[k].r0,
                                   2 * MDS_KCAL * 100 * ends[k].k};

        if (p->is_site[a[0]] || p->is_site[a[1]] || p->is_site[a[2]]) continue;
        MDS_TRY_GOTO(mds_system_add_term(p->system, MDS_TERM_UREY_BRADLEY, a, param));
    }
    mds_text_add(&p->report, "CHARMM: %d Urey-Bradley terms\n", count[0]);
fail:
    mds_free(ends);
    return status;
}

// --------------------------------------------------------------------------------------------- impropers

static mds_status add_impropers(mds_prm *p)
{
    const mds_prm_section *s = mds_prm_find(&p->file, "CHARMM_IMPROPERS");
    int32_t                n_terms[2], n_types[2], *value = NULL;
    double                *k = NULL, *psi0 = NULL;
    mds_status             status;
    int64_t                m;

    MDS_TRY(read_count(p, "CHARMM_NUM_IMPROPERS", 1, n_terms));
    MDS_TRY(read_count(p, "CHARMM_NUM_IMPR_TYPES", 1, n_types));
    MDS_TRY_GOTO(mds_prm_ints(&p->file, "CHARMM_IMPROPERS", 5 * (size_t)n_terms[0], &value));
    MDS_TRY_GOTO(mds_prm_reals(&p->file, "CHARMM_IMPROPER_FORCE_CONSTANT", (size_t)n_types[0], &k));
    MDS_TRY_GOTO(mds_prm_reals(&p->file, "CHARMM_IMPROPER_PHASE", (size_t)n_types[0], &psi0));
    for (m = 0; m < n_types[0]; m++)
        if (fabs(psi0[m]) > 2 * MDS_PI) {
            mds_text_add(&p->report, "CHARMM: improper phase %g taken as degrees\n", psi0[m]);
            psi0[m] *= MDS_PI / 180;
        }
    for (m = 0; m < n_terms[0]; m++) {
        int32_t *row = value + 5 * m;
        double   param[2];

        MDS_TRY_GOTO(decode_row(p, s, m, 4, n_types[0], row));
        param[0] = psi0[row[4]];
        param[1] = 2 * MDS_KCAL * k[row[4]];
        MDS_TRY_GOTO(mds_system_add_term(p->system, MDS_TERM_IMPROPER, row, param));
    }
    if (n_terms[0]) mds_text_add(&p->report, "CHARMM: %d harmonic impropers\n", n_terms[0]);
fail:
    mds_free(value);
    mds_free(k);
    mds_free(psi0);
    return status;
}

// -------------------------------------------------------------------------------------------------- CMAP

/// The grids, each in its own numbered section; index of the first in the system through *first.
static mds_status add_grids(mds_prm *p, const char *prefix, int32_t n_maps, const int32_t *resolution, int32_t *first)
{
    char    name[64];
    int32_t m, index;

    for (m = 0; m < n_maps; m++) {
        const int32_t size = resolution[m];
        double       *grid = NULL;
        mds_status    status;
        int64_t       k;

        snprintf(name, sizeof name, "%sCMAP_PARAMETER_%02d", prefix, m + 1);
        MDS_CHECK(size >= 4 && size <= 1000, MDS_E_INPUT, "%s: CMAP %d has %d points a side", p->file.path, m + 1, size);
        status = mds_prm_reals(&p->file, name, (size_t)size * (size_t)size, &grid);
        for (k = 0; status == MDS_OK && k < (int64_t)size * size; k++) grid[k] *= MDS_KCAL;
        if (status == MDS_OK) status = mds_system_add_map(p->system, size, grid, &index);
        mds_free(grid);
        if (status != MDS_OK) return status;
        if (!m) *first = index;
    }
    snprintf(name, sizeof name, "%sCMAP_PARAMETER_%02d", prefix, n_maps + 1);
    MDS_CHECK(!mds_prm_find(&p->file, name), MDS_E_INPUT, "%s:%d: section %s: only %d maps are announced", p->file.path,
              mds_prm_find(&p->file, name)->line, name, n_maps);
    return MDS_OK;
}

static mds_status add_cmap(mds_prm *p, const char *prefix)
{
    char                   count_name[64], resolution_name[64], index_name[64];
    const mds_prm_section *s;
    int32_t                count[2], first = 0, *resolution = NULL, *value = NULL;
    mds_status             status;
    int64_t                m;

    snprintf(count_name, sizeof count_name, "%sCMAP_COUNT", prefix);
    snprintf(resolution_name, sizeof resolution_name, "%sCMAP_RESOLUTION", prefix);
    snprintf(index_name, sizeof index_name, "%sCMAP_INDEX", prefix);
    s = mds_prm_find(&p->file, index_name);
    MDS_CHECK(!s || mds_prm_find(&p->file, count_name), MDS_E_INPUT, "%s:%d: section %s without %s", p->file.path, s->line,
              index_name, count_name);
    MDS_TRY(read_count(p, count_name, 2, count));
    if (!count[0]) return MDS_OK;
    MDS_TRY_GOTO(mds_prm_ints(&p->file, resolution_name, (size_t)count[1], &resolution));
    MDS_TRY_GOTO(mds_prm_ints(&p->file, index_name, 6 * (size_t)count[0], &value));
    MDS_TRY_GOTO(add_grids(p, prefix, count[1], resolution, &first));
    for (m = 0; m < count[0]; m++) {
        int32_t *row = value + 6 * m;
        double   map;

        MDS_TRY_GOTO(decode_row(p, s, m, 5, count[1], row));
        map = first + row[5];
        MDS_TRY_GOTO(mds_system_add_term(p->system, MDS_TERM_CMAP, row, &map));
    }
    mds_text_add(&p->report, "CMAP: %d terms on %d maps\n", count[0], count[1]);
fail:
    mds_free(resolution);
    mds_free(value);
    return status;
}

mds_status mds_prm_add_chamber(mds_prm *p)
{
    if (p->chamber) MDS_TRY(add_angles(p));
    MDS_TRY(add_impropers(p));
    MDS_TRY(add_cmap(p, "CHARMM_"));
    return add_cmap(p, "");
}
