// SPDX-License-Identifier: Apache-2.0
// Lines of [ settles ], [ position_restraints ] and the virtual sites of a molecule type.
//
// [ settles ] names the oxygen; the hydrogens are the two atoms after it. It becomes three constraints. As in GROMACS it
// excludes nothing: water models come with [ exclusions ]. The weights of linear sites follow from the parameters:
//   2 (1)  1-a, a      3 (1)  1-a-b, a, b      n (1) equal    n (2) by mass    n (3) given, divided by their sum
// Parameters of sites that the file leaves out (pdb2gmx -vsite) GROMACS would derive from bonds and angles; mdsim asks
// for them. Source: GROMACS manual 2022, 5.5.4 and 5.7 [gromacs2022].
#include "read/top.h"

#include "base/units.h"

#include <string.h>

mds_status mds_top_settle(mds_top *top)
{
    mds_top_molecule *m = top->now;
    int32_t           o, number;
    double            length[MDS_TOP_MAX_PARAMS];
    int               n;

    MDS_CHECK(top->n_fields == 4, MDS_E_INPUT, "[ settles ] needs: O-atom function d(OH) d(HH)");
    MDS_TRY(mds_top_atoms(top, 0, 1, &o));
    MDS_TRY(mds_top_integer(top, 1, "function type", &number));
    MDS_CHECK(number == 1, MDS_E_INPUT, "[ settles ] has no function type %d, only 1", number);
    MDS_TRY(mds_top_read_params(top, 2, 2, false, "settle", length, &n));
    MDS_CHECK(o + 2 < m->n_atoms, MDS_E_INPUT, "[ settles ] names atom %d, but the two hydrogens after it do not exist",
              o + 1);
    MDS_CHECK(length[0] > 0 && length[1] > 0 && length[1] < 2 * length[0], MDS_E_INPUT,
              "d(OH) = %g nm and d(HH) = %g nm do not make a triangle", length[0], length[1]);
    MDS_TRY(mds_top_add_constraint(m, o, o + 1, length[0]));
    MDS_TRY(mds_top_add_constraint(m, o, o + 2, length[0]));
    m->settle = o + 1;
    return mds_top_add_constraint(m, o + 1, o + 2, length[1]);
}

mds_status mds_top_restraint(mds_top *top)
{
    int32_t atom, number = 1;
    double  k[MDS_TOP_MAX_PARAMS], param[6] = {0};
    int     n;

    MDS_TRY(mds_top_atoms(top, 0, 1, &atom));
    if (top->n_fields > 1) MDS_TRY(mds_top_integer(top, 1, "function type", &number));
    MDS_CHECK(number != 2, MDS_E_INPUT, "flat-bottomed position restraints (function type 2) are not computed by mdsim");
    MDS_CHECK(number == 1, MDS_E_INPUT, "[ position_restraints ] has no function type %d, only 1", number);
    MDS_TRY(mds_top_read_params(top, 2, 3, true, "position restraint", k, &n));
    MDS_CHECK(n, MDS_E_INPUT, "[ position_restraints ] needs three force constants");
    memcpy(param + 3, k, 3 * sizeof *k);
    return mds_top_add_term(top->now, MDS_TERM_RESTRAINT, &atom, param);
}

// --------------------------------------------------------------------------------------- virtual sites

/// Add a site; weight is [n] for linear ones, NULL for others.
static mds_status add_site(mds_top_molecule *m, mds_vsite_kind kind, int32_t site, int n, const int32_t *atom,
                           const double *weight, const double *param)
{
    mds_top_site s = {.kind = kind, .site = site, .n = n, .first = m->n_site_atoms};
    const size_t end = (size_t)m->n_site_atoms + (size_t)n;
    int          k;

    MDS_CHECK(!m->atom[site].is_site, MDS_E_INPUT, "atom %d is a virtual site already", site + 1);
    MDS_TRY(mds_grow(&m->site, &m->cap_site, (size_t)m->n_sites + 1, sizeof *m->site));
    MDS_TRY(mds_grow(&m->site_atom, &m->cap_site_atom, end, sizeof *m->site_atom));
    MDS_TRY(mds_grow(&m->site_weight, &m->cap_site_weight, end, sizeof *m->site_weight));
    for (k = 0; k < n; k++) {
        m->site_atom[s.first + k] = atom[k];
        m->site_weight[s.first + k] = weight ? weight[k] : 0;
    }
    if (param) memcpy(s.param, param, sizeof s.param);
    m->n_site_atoms = (int32_t)end;
    m->site[m->n_sites++] = s;
    m->atom[site].is_site = true;
    return MDS_OK;
}

/// The kinds of [ virtual_sites1 ] to [ virtual_sites4 ]: parameters in the file, kind here.
typedef struct {
    int            n_atoms, number, n_params;
    mds_vsite_kind kind;
} site_row;

static const site_row site_rows[] = {
    {1, 1, 0, MDS_VSITE_LINEAR},   {2, 1, 1, MDS_VSITE_LINEAR},    {2, 2, 1, MDS_VSITE_TWO_FD},
    {3, 1, 2, MDS_VSITE_LINEAR},   {3, 2, 2, MDS_VSITE_THREE_FD},  {3, 3, 2, MDS_VSITE_THREE_FAD},
    {3, 4, 3, MDS_VSITE_THREE_OUT}, {4, 2, 3, MDS_VSITE_FOUR_FDN},
};

mds_status mds_top_virtual_site(mds_top *top)
{
    const int       n = top->section[strlen("virtual_sites")] - '0';
    int32_t         atom[5], number = 1;
    double          p[MDS_TOP_MAX_PARAMS] = {0}, weight[3];
    const site_row *row = NULL;
    int             n_read;
    size_t          k;

    MDS_TRY(mds_top_atoms(top, 0, n + 1, atom));
    if (top->n_fields > n + 1) MDS_TRY(mds_top_integer(top, n + 1, "function type", &number));
    // GROMACS lets types 3 and 4 of three atoms be negative: mirror image, only where it derives the parameters
    if (n == 3 && (number == -3 || number == -4)) number = -number;
    MDS_CHECK(n != 4 || number != 1, MDS_E_INPUT,
              "function type 1 of [ virtual_sites4 ] (4FD) is obsolete and unstable; GROMACS replaced it by type 2 (4FDN)");
    for (k = 0; k < sizeof site_rows / sizeof site_rows[0]; k++)
        if (site_rows[k].n_atoms == n && site_rows[k].number == number) row = &site_rows[k];
    MDS_CHECK(row, MDS_E_INPUT, "[ %s ] has no function type %d", top->section, number);
    MDS_TRY(mds_top_read_params(top, n + 2, row->n_params, false, "virtual site", p, &n_read));
    MDS_CHECK(n_read == row->n_params, MDS_E_INPUT,
              "the virtual site has no parameters on its line; mdsim does not derive them from bonds and angles");
    if (row->kind == MDS_VSITE_LINEAR) {
        weight[0] = 1 - (n > 1 ? p[0] : 0) - (n > 2 ? p[1] : 0);
        weight[1] = p[0];
        weight[2] = p[1];
        return add_site(top->now, row->kind, atom[0], n, atom + 1, weight, NULL);
    }
    if (row->kind == MDS_VSITE_THREE_FAD) p[0] *= MDS_PI / 180;
    return add_site(top->now, row->kind, atom[0], n, atom + 1, NULL, p);
}

mds_status mds_top_virtual_sitesn(mds_top *top)
{
    const int  stride = top->n_fields > 1 && !strcmp(top->field[1], "3") ? 2 : 1;
    const int  n = (top->n_fields - 2) / stride;
    int32_t    site, number, *atom = NULL;
    double    *weight = NULL, sum = 0;
    mds_status status;
    int        k;

    MDS_CHECK(top->n_fields >= 3, MDS_E_INPUT, "[ virtual_sitesn ] needs: site function atom ...");
    MDS_TRY(mds_top_atoms(top, 0, 1, &site));
    MDS_TRY(mds_top_integer(top, 1, "function type", &number));
    MDS_CHECK(number >= 1 && number <= 3, MDS_E_INPUT, "[ virtual_sitesn ] has no function type %d, only 1 to 3", number);
    MDS_CHECK(n * stride == top->n_fields - 2, MDS_E_INPUT, "an atom of the virtual site has no weight");
    MDS_TRY_GOTO(mds_alloc(&atom, (size_t)n, sizeof *atom));
    MDS_TRY_GOTO(mds_alloc(&weight, (size_t)n, sizeof *weight));
    for (k = 0; k < n; k++) {
        MDS_TRY_GOTO(mds_top_atoms(top, 2 + k * stride, 1, &atom[k]));
        weight[k] = number == 2 ? top->now->atom[atom[k]].mass : 1;
        if (number == 3) MDS_TRY_GOTO(mds_top_number(top, 3 + k * stride, "weight", &weight[k]));
        if (atom[k] == site || weight[k] < 0) {
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__,
                              atom[k] == site ? "virtual site %d is built from itself"
                                              : "virtual site %d has a negative weight",
                              site + 1);
            goto fail;
        }
        sum += weight[k];
    }
    if (!(sum > 0)) {
        status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "the weights of virtual site %d add up to 0", site + 1);
        goto fail;
    }
    for (k = 0; k < n; k++) weight[k] /= sum;
    status = add_site(top->now, MDS_VSITE_LINEAR, site, n, atom, weight, NULL);
fail:
    mds_free(atom);
    mds_free(weight);
    return status;
}
