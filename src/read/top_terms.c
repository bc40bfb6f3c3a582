// SPDX-License-Identifier: Apache-2.0
// Lines of [ bonds ], [ angles ], [ dihedrals ], [ constraints ], [ pairs ], [ cmap ] of a molecule type.
//
// A line names atoms, a function type (1 if it is left out) and perhaps parameters. Parameters on the line win over those
// of the types; none at all means that they are looked up by the bonded types of the atoms. A 1-4 pair of type 1 takes
// c6 and c12 of its line, of [ pairtypes ] or of the combination rule, and fudgeQQ qi qj; type 2 names fudge and charges.
#include "read/top.h"

#include <string.h>

mds_status mds_top_atoms(const mds_top *top, int first, int n, int32_t *atom)
{
    int k, l;

    MDS_CHECK(top->n_fields >= first + n, MDS_E_INPUT, "[ %s ] needs %d atom numbers", top->section, first + n);
    for (k = 0; k < n; k++) {
        MDS_TRY(mds_top_integer(top, first + k, "atom number", &atom[k]));
        MDS_CHECK(atom[k] >= 1 && atom[k] <= top->now->n_atoms, MDS_E_INPUT,
                  "[ %s ] names atom %d, but molecule type \"%s\" has %d atoms at this point", top->section, atom[k],
                  top->now->name, top->now->n_atoms);
        for (l = 0; l < k; l++)
            MDS_CHECK(atom[l] != atom[k] - 1, MDS_E_INPUT, "[ %s ] names atom %d twice", top->section, atom[k]);
        atom[k]--;
    }
    return MDS_OK;
}

mds_status mds_top_add_term(mds_top_molecule *m, mds_term_kind kind, const int32_t *atom, const double *param)
{
    mds_top_term t = {.kind = (int32_t)kind};

    memcpy(t.atom, atom, (size_t)mds_term_table[kind].n_atoms * sizeof *atom);
    memcpy(t.param, param, (size_t)mds_term_table[kind].n_params * sizeof *param);
    MDS_TRY(mds_grow(&m->term, &m->cap_term, (size_t)m->n_terms + 1, sizeof *m->term));
    m->term[m->n_terms++] = t;
    return MDS_OK;
}

mds_status mds_top_add_bond(mds_top_molecule *m, int32_t i, int32_t j)
{
    MDS_TRY(mds_grow(&m->bond, &m->cap_bond, (size_t)m->n_bonds + 1, sizeof *m->bond));
    m->bond[m->n_bonds][0] = i;
    m->bond[m->n_bonds++][1] = j;
    return MDS_OK;
}

mds_status mds_top_add_constraint(mds_top_molecule *m, int32_t i, int32_t j, double length)
{
    MDS_CHECK(length > 0, MDS_E_INPUT, "a constraint of length %g nm", length);
    MDS_TRY(mds_grow(&m->constraint, &m->cap_constraint, (size_t)m->n_constraints + 1, sizeof *m->constraint));
    m->constraint[m->n_constraints++] = (mds_top_constraint){{i, j}, length};
    return MDS_OK;
}

/// What the parameters of the file mean for the molecule.
static mds_status add_function(mds_top_molecule *m, const mds_top_function *f, const int32_t *atom, const double *file)
{
    double param[MDS_TOP_MAX_PARAMS] = {0};

    if (f->action == MDS_TOP_CONSTRAINT) return mds_top_add_constraint(m, atom[0], atom[1], file[0]);
    MDS_TRY(mds_top_convert(f, file, param));
    return mds_top_add_term(m, f->term, atom, param);
}

/// Names of the bonded types of a line's atoms, for the message that they have no parameters.
static mds_status no_parameters(const mds_top *top, const mds_top_function *f, const int32_t *atom)
{
    mds_text   text = {0};
    mds_status status;
    int        k;

    for (k = 0; k < f->n_atoms; k++) {
        const mds_top_atom *a = &top->now->atom[atom[k]];

        mds_text_add(&text, "%s%s (%s)", k ? ", " : "", top->bonded.text[top->type[a->type].bonded], a->name);
    }
    status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__,
                      "no parameters on the line and no [ %.*stypes ] of function %d for this %s between types %s",
                      (int)strlen(f->directive) - 1, f->directive, f->number, f->name, text.s ? text.s : "");
    mds_text_free(&text);
    return status;
}

mds_status mds_top_bonded(mds_top *top)
{
    const int n_atoms = top->section[0] == 'a' ? 3 : top->section[0] == 'd' ? 4 : 2;
    int32_t   atom[4], type[4], number = 1;
    double    param[MDS_TOP_MAX_PARAMS];
    int       function, n, k;

    MDS_TRY(mds_top_atoms(top, 0, n_atoms, atom));
    if (top->n_fields > n_atoms) MDS_TRY(mds_top_integer(top, n_atoms, "function type", &number));
    function = mds_top_function_find(top->section, number);
    MDS_CHECK(function >= 0, MDS_E_INPUT, "[ %s ] has no function type %d", top->section, number);
    const mds_top_function *f = mds_top_function_at(function);

    MDS_CHECK(f->action != MDS_TOP_REFUSED, MDS_E_INPUT, "function type %d of [ %s ] (%s) is not computed by mdsim", number,
              top->section, f->name);
    if (f->is_bond) MDS_TRY(mds_top_add_bond(top->now, atom[0], atom[1]));
    MDS_TRY(mds_top_read_params(top, n_atoms + 1, f->n_params, true, f->name, param, &n));
    if (f->action == MDS_TOP_CONNECTION) return MDS_OK;
    if (n) return add_function(top->now, f, atom, param);

    const mds_top_entry *entry;

    for (k = 0; k < n_atoms; k++) type[k] = top->type[top->now->atom[atom[k]].type].bonded;
    MDS_TRY(mds_top_lookup(top, function, type, &entry, &n));
    if (!entry) return no_parameters(top, f, atom);
    for (k = 0; k < n; k++) MDS_TRY(add_function(top->now, f, atom, entry[k].param));
    return MDS_OK;
}

mds_status mds_top_pair(mds_top *top)
{
    const mds_top_molecule *m = top->now;
    int32_t                 atom[2], number = 1;
    double                  file[MDS_TOP_MAX_PARAMS], param[3], fudge = top->fudge_qq, q[2];
    int                     n = 0, k;
    bool                    found;

    MDS_TRY(mds_top_atoms(top, 0, 2, atom));
    if (top->n_fields > 2) MDS_TRY(mds_top_integer(top, 2, "function type", &number));
    MDS_CHECK(number == 1 || number == 2, MDS_E_INPUT, "[ pairs ] has no function type %d, only 1 and 2", number);
    for (k = 0; k < 2; k++) q[k] = m->atom[atom[k]].charge;
    found = mds_top_lj14(top, m->atom[atom[0]].type, m->atom[atom[1]].type, &param[0], &param[1]);
    if (number == 1) {
        MDS_TRY(mds_top_read_params(top, 3, 2, true, "1-4 pair", file, &n));
        if (n) mds_top_to_c6c12(top, file[0], file[1], &param[0], &param[1]);
    } else {
        // without parameters grompp 2022 takes the charges of the atoms but leaves the Lennard-Jones part out
        MDS_TRY(mds_top_read_params(top, 3, 5, false, "1-4 pair of type 2", file, &n));
        MDS_CHECK(n, MDS_E_INPUT, "a 1-4 pair of type 2 needs: fudgeQQ qi qj V W");
        fudge = file[0];
        q[0] = file[1];
        q[1] = file[2];
        mds_top_to_c6c12(top, file[3], file[4], &param[0], &param[1]);
    }
    MDS_CHECK(n || found, MDS_E_INPUT,
              "no parameters on the line, gen-pairs is no, and no [ pairtypes ] for the 1-4 pair of types %s and %s",
              top->types.text[m->atom[atom[0]].type], top->types.text[m->atom[atom[1]].type]);
    param[2] = fudge * q[0] * q[1];
    return mds_top_add_term(top->now, MDS_TERM_PAIR14, atom, param);
}

mds_status mds_top_cmap_line(mds_top *top)
{
    int32_t atom[5], number = 1, k;
    double  index;
    int     a;

    MDS_TRY(mds_top_atoms(top, 0, 5, atom));
    if (top->n_fields > 5) MDS_TRY(mds_top_integer(top, 5, "function type", &number));
    MDS_CHECK(number == 1, MDS_E_INPUT, "[ cmap ] has no function type %d, only 1", number);
    MDS_CHECK(top->n_fields <= 6, MDS_E_INPUT, "[ cmap ] takes no parameters on the line");
    for (k = 0; k < top->n_cmaps; k++) {
        for (a = 0; a < 5; a++)
            if (top->cmap[k].type[a] != top->type[top->now->atom[atom[a]].type].bonded) break;
        if (a == 5) break;
    }
    MDS_CHECK(k < top->n_cmaps, MDS_E_INPUT, "no [ cmaptypes ] for the atoms %s %s %s %s %s", top->field[0], top->field[1],
              top->field[2], top->field[3], top->field[4]);
    index = k;
    return mds_top_add_term(top->now, MDS_TERM_CMAP, atom, &index);
}
