// SPDX-License-Identifier: Apache-2.0
// Extra points of a prmtop: massless charges that stand where their neighbours put them.
//
// The file says only which atom an extra point is bonded to (its owner) and how long that bond is; the rest is a rule of
// AMBER's programs by the owner's other neighbours, here with d the length of that bond:
//   two hydrogens, one point     on the bisector towards the hydrogens (TIP4P, OPC): x = (1 - w) xO + w/2 (xH1 + xH2),
//                                w = d / sqrt(r1 r2 - r12^2 / 4), r1, r2, r12 the ideal O-H and H-H distances
//   two hydrogens, two points    tetrahedral lone pairs (TIP5P): d cos(54.735) away from the hydrogens along the bisector,
//                                +-d sin(54.735) across; the first point on the side of xH2 x xH1
//   one neighbour, one point     on the line neighbour - owner, d beyond the owner (halogens)
// The first two are exact for rigid waters. AMBER keeps other lone pairs at a fixed distance along the bisector of two unit
// vectors, which none of our site kinds follows when bonds stretch; they are refused by name rather than placed roughly.
//
// An extra point interacts with nothing that its owner does not interact with: it inherits the owner's exclusions.
// Sources: AMBER manual, "Extra points"; ParmEd's frames [parmed]; TIP4P-Ew [horn2004], TIP5P [mahoney2000].
#include "base/units.h"
#include "read/prmtop.h"

#include <math.h>
#include <string.h>

static int32_t partner(const mds_prm *p, int32_t bond, int32_t atom)
{
    return p->bond[bond][0] == atom ? p->bond[bond][1] : p->bond[bond][0];
}

mds_status mds_prm_find_owners(mds_prm *p)
{
    const int32_t n = p->pointer[MDS_PRM_NATOM];
    char          label[64];
    int32_t       i, k, fill = 0;

    MDS_TRY(mds_alloc(&p->owner, (size_t)n, sizeof *p->owner));
    MDS_TRY(mds_alloc(&p->owned_start, (size_t)n + 1, sizeof *p->owned_start));
    MDS_TRY(mds_alloc(&p->owned, (size_t)p->n_sites, sizeof *p->owned));
    for (i = 0; i < n; i++) {
        p->owner[i] = -1;
        if (!p->is_site[i]) continue;
        mds_system_atom_label(p->system, i, label, sizeof label);
        MDS_CHECK(p->adj_start[i + 1] - p->adj_start[i] == 1, MDS_E_INPUT,
                  "%s: extra point %s is bonded to %d atoms; it must be bonded to the one atom that it belongs to", p->file.path,
                  label, p->adj_start[i + 1] - p->adj_start[i]);
        p->owner[i] = partner(p, p->adj[p->adj_start[i]], i);
        MDS_CHECK(!p->is_site[p->owner[i]], MDS_E_INPUT, "%s: extra point %s is bonded to another extra point", p->file.path,
                  label);
    }
    for (i = 0; i < n; i++) {
        p->owned_start[i] = fill;
        if (p->is_site[i]) continue;
        for (k = p->adj_start[i]; k < p->adj_start[i + 1]; k++)
            if (p->is_site[partner(p, p->adj[k], i)]) p->owned[fill++] = partner(p, p->adj[k], i);
    }
    p->owned_start[n] = fill;
    return MDS_OK;
}

/// What the rule sees: the owner's other neighbours in file order and the bonds to them.
typedef struct {
    int32_t owner, n, atom[2], bond[2];
} neighbourhood;

static void look_around(const mds_prm *p, int32_t owner, neighbourhood *out)
{
    int32_t k;

    memset(out, 0, sizeof *out);
    out->owner = owner;
    for (k = p->adj_start[owner]; k < p->adj_start[owner + 1]; k++) {
        const int32_t other = partner(p, p->adj[k], owner);

        if (p->is_site[other]) continue;
        if (out->n < 2) {
            out->atom[out->n] = other;
            out->bond[out->n] = p->adj[k];
        }
        out->n++;
    }
}

/// Angles by their middle atom, as linked lists: first[atom] and next[angle], -1 ends.
typedef struct {
    int32_t *first, *next;
} angle_lists;

static mds_status list_angles(const mds_prm *p, angle_lists *list)
{
    int32_t i, k;

    MDS_TRY(mds_alloc(&list->first, (size_t)p->pointer[MDS_PRM_NATOM], sizeof *list->first));
    MDS_TRY(mds_alloc(&list->next, (size_t)p->n_angles, sizeof *list->next));
    for (i = 0; i < p->pointer[MDS_PRM_NATOM]; i++) list->first[i] = -1;
    for (k = p->n_angles - 1; k >= 0; k--) {
        list->next[k] = list->first[p->angle[k][1]];
        list->first[p->angle[k][1]] = k;
    }
    return MDS_OK;
}

/// Ideal O-H, O-H and H-H distances, A. The last from the H-O-H angle if there is one, as ParmEd does, else from the H-H bond.
static mds_status ideal_water(const mds_prm *p, const neighbourhood *h, const angle_lists *list, double r[3])
{
    int32_t k;
    char    label[64];

    r[0] = p->bond_r0[p->bond[h->bond[0]][2]];
    r[1] = p->bond_r0[p->bond[h->bond[1]][2]];
    r[2] = 0;
    for (k = list->first[h->owner]; k >= 0 && r[2] == 0; k = list->next[k]) {
        const int32_t *a = p->angle[k];

        if ((a[0] == h->atom[0] && a[2] == h->atom[1]) || (a[0] == h->atom[1] && a[2] == h->atom[0]))
            r[2] = sqrt(r[0] * r[0] + r[1] * r[1] - 2 * r[0] * r[1] * cos(p->angle_theta0[a[3]]));
    }
    for (k = p->adj_start[h->atom[0]]; k < p->adj_start[h->atom[0] + 1] && r[2] == 0; k++)
        if (partner(p, p->adj[k], h->atom[0]) == h->atom[1]) r[2] = p->bond_r0[p->bond[p->adj[k]][2]];
    mds_system_atom_label(p->system, h->owner, label, sizeof label);
    MDS_CHECK(r[2] > 0 && r[0] * r[1] - 0.25 * r[2] * r[2] > 0 && r[0] > 0 && r[1] > 0 && r[2] < r[0] + r[1], MDS_E_INPUT,
              "%s: the extra point of %s needs the shape of its water: its ideal distances are %g, %g and %g A", p->file.path,
              label, r[0], r[1], r[2]);
    return MDS_OK;
}

/// Bond length of an extra point, A.
static double arm(const mds_prm *p, int32_t site)
{
    return p->bond_r0[p->bond[p->adj[p->adj_start[site]]][2]];
}

/// TIP4P and its kin.
static mds_status add_bisector_site(mds_prm *p, const neighbourhood *h, int32_t site, const double r[3])
{
    const double  w = arm(p, site) / sqrt(r[0] * r[1] - 0.25 * r[2] * r[2]);
    const int32_t atom[3] = {h->owner, h->atom[0], h->atom[1]};
    const double  weight[3] = {1 - w, 0.5 * w, 0.5 * w};

    return mds_system_add_vsite(p->system, MDS_VSITE_LINEAR, site, 3, atom, weight, NULL);
}

/// TIP5P: the two lone pairs of one oxygen.
static mds_status add_lone_pairs(mds_prm *p, const neighbourhood *h, const double r[3])
{
    const double  half = 54.735 * MDS_PI / 180; // AMBER's and ParmEd's half tetrahedral angle
    const double  height = sqrt(r[0] * r[1] - 0.25 * r[2] * r[2]);
    const double  cosine = (r[0] * r[0] + r[1] * r[1] - r[2] * r[2]) / (2 * r[0] * r[1]);
    const double  area = r[0] * r[1] * sqrt(1 - cosine * cosine);
    const int32_t atom[3] = {h->owner, h->atom[0], h->atom[1]};
    int           k;

    for (k = 0; k < 2; k++) {
        const int32_t site = p->owned[p->owned_start[h->owner] + k];
        const double  d = arm(p, site), across = d * sin(half) / area / 0.1; // 1/A to 1/nm
        const double  param[3] = {-0.5 * d * cos(half) / height, -0.5 * d * cos(half) / height, k ? across : -across};

        MDS_TRY(mds_system_add_vsite(p->system, MDS_VSITE_THREE_OUT, site, 3, atom, NULL, param));
    }
    return MDS_OK;
}

static mds_status add_sites_of(mds_prm *p, int32_t owner, const angle_lists *list)
{
    const int32_t *site = p->owned + p->owned_start[owner], n = p->owned_start[owner + 1] - p->owned_start[owner];
    neighbourhood  h;
    char           label[64];
    double         r[3];
    bool           water;

    look_around(p, owner, &h);
    water = h.n == 2 && p->system->atomic_number[h.atom[0]] == 1 && p->system->atomic_number[h.atom[1]] == 1;
    if (water && n <= 2) {
        MDS_TRY(ideal_water(p, &h, list, r));
        return n == 1 ? add_bisector_site(p, &h, site[0], r) : add_lone_pairs(p, &h, r);
    }
    if (h.n == 1 && n == 1) {
        const int32_t atom[2] = {owner, h.atom[0]};
        const double  param[3] = {-0.1 * arm(p, site[0]), 0, 0};

        return mds_system_add_vsite(p->system, MDS_VSITE_TWO_FD, site[0], 2, atom, NULL, param);
    }
    mds_system_atom_label(p->system, site[0], label, sizeof label);
    MDS_FAIL(MDS_E_INPUT,
             "%s: extra point %s: its owner has %d extra points and %d other neighbours; mdsim places those of water (one or two) "
             "and single points beyond an end atom",
             p->file.path, label, n, h.n);
}

/// The extra points of i exclude j, and those of j exclude i and each other.
static mds_status inherit(mds_prm *p, int32_t i, int32_t j)
{
    int32_t a, b;

    for (a = p->owned_start[i]; a < p->owned_start[i + 1]; a++) {
        MDS_TRY(mds_system_add_exclusion(p->system, p->owned[a], j));
        for (b = p->owned_start[j]; b < p->owned_start[j + 1]; b++)
            MDS_TRY(mds_system_add_exclusion(p->system, p->owned[a], p->owned[b]));
    }
    for (b = p->owned_start[j]; b < p->owned_start[j + 1]; b++)
        MDS_TRY(mds_system_add_exclusion(p->system, i, p->owned[b]));
    return MDS_OK;
}

mds_status mds_prm_add_sites(mds_prm *p)
{
    const int32_t n = p->pointer[MDS_PRM_NATOM];
    angle_lists   list = {0};
    int32_t       i, k, m;
    mds_status    status;

    if (!p->n_sites) return MDS_OK;
    MDS_TRY_GOTO(list_angles(p, &list));
    for (i = 0; i < n; i++) {
        const int32_t first = p->owned_start[i], last = p->owned_start[i + 1];

        if (first < last) MDS_TRY_GOTO(add_sites_of(p, i, &list));
        for (k = first; k < last; k++) {
            MDS_TRY_GOTO(mds_system_add_exclusion(p->system, i, p->owned[k]));
            for (m = first; m < k; m++) MDS_TRY_GOTO(mds_system_add_exclusion(p->system, p->owned[k], p->owned[m]));
        }
        for (k = p->excl_start[i]; k < p->excl_start[i + 1]; k++)
            if (p->excl[k] >= 0) MDS_TRY_GOTO(inherit(p, i, p->excl[k]));
    }
    mds_text_add(&p->report, "extra points: %d, placed from their neighbours by AMBER's rules\n", p->n_sites);
fail:
    mds_free(list.first);
    mds_free(list.next);
    return status;
}
