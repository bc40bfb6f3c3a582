// SPDX-License-Identifier: Apache-2.0
// Molecule types as templates: their atoms, their exclusions, and their copies in the flat system.
//
// Exclusions: atoms up to nrexcl bonds apart, found breadth first over the bonds and constraints of type 1; the pairs of
// [ exclusions ] come on top. [ settles ] are no bonds in this, as in GROMACS. Residues of molecules with one residue are numbered through
// the system, after the largest number of the longer molecules, as GROMACS does, so that waters can be told apart.
#include "read/top.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void copy_name(char out[8], const char *name)
{
    size_t k;

    for (k = 0; k < 7 && name[k]; k++) out[k] = name[k];
    for (; k < 8; k++) out[k] = '\0';
}

mds_status mds_top_moleculetype(mds_top *top)
{
    int32_t nrexcl, index;

    MDS_CHECK(top->has_defaults, MDS_E_INPUT, "[ defaults ] must come before the first [ moleculetype ]");
    MDS_CHECK(top->n_fields == 2, MDS_E_INPUT, "[ moleculetype ] needs a name and nrexcl");
    MDS_CHECK(mds_words_find(&top->molecules, top->field[0], strlen(top->field[0])) < 0, MDS_E_INPUT,
              "molecule type \"%s\" is defined twice", top->field[0]);
    MDS_TRY(mds_top_integer(top, 1, "nrexcl", &nrexcl));
    MDS_CHECK(nrexcl >= 0, MDS_E_INPUT, "nrexcl is %d", nrexcl);
    MDS_TRY(mds_top_finish_molecule(top));
    MDS_TRY(mds_words_add(&top->molecules, top->field[0], strlen(top->field[0]), &index));
    MDS_TRY(mds_grow(&top->molecule, &top->cap_molecule, (size_t)top->molecules.n, sizeof *top->molecule));
    top->now = &top->molecule[index];
    top->now->name = top->molecules.text[index];
    top->now->nrexcl = nrexcl;
    top->now->line = top->at;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- atoms

/// Residue number with an optional insertion letter: "52", "52A".
static mds_status residue_number(const char *s, int32_t *number, char *insertion)
{
    char      *end;
    const long value = strtol(s, &end, 10);

    MDS_CHECK(end > s && (!*end || (isalpha((unsigned char)*end) && !end[1])) && value > INT32_MIN && value < INT32_MAX,
              MDS_E_INPUT, "\"%s\" is not a residue number", s);
    *number = (int32_t)value;
    *insertion = *end;
    return MDS_OK;
}

static mds_status add_residue(mds_top_molecule *m, const char *name, int32_t number, char insertion)
{
    mds_top_residue next = {.number = number, .insertion = insertion};

    copy_name(next.name, name);
    if (m->n_residues && !memcmp(&next.name, &m->residue[m->n_residues - 1].name, sizeof next.name) &&
        number == m->residue[m->n_residues - 1].number && insertion == m->residue[m->n_residues - 1].insertion)
        return MDS_OK;
    MDS_TRY(mds_grow(&m->residue, &m->cap_residue, (size_t)m->n_residues + 1, sizeof *m->residue));
    m->residue[m->n_residues++] = next;
    return MDS_OK;
}

/// Columns 9 to 11: the other end of an alchemical change. Fine if it changes nothing.
static mds_status check_b_state(const mds_top *top, int32_t type, double charge, double mass)
{
    const char *name = top->field[8];
    int32_t     type_b = mds_words_find(&top->types, name, strlen(name));
    double      charge_b, mass_b;

    MDS_CHECK(top->n_fields <= 11, MDS_E_INPUT, "[ atoms ] has %d columns, 11 at most", top->n_fields);
    MDS_CHECK(type_b >= 0, MDS_E_INPUT, "atom type \"%s\" of the B state is not in [ atomtypes ]", name);
    charge_b = top->type[type_b].charge;
    mass_b = top->type[type_b].mass;
    if (top->n_fields > 9) MDS_TRY(mds_top_number(top, 9, "charge of the B state", &charge_b));
    if (top->n_fields > 10) MDS_TRY(mds_top_number(top, 10, "mass of the B state", &mass_b));
    MDS_CHECK(type_b == type && charge_b == charge && mass_b == mass, MDS_E_INPUT,
              "atom %s has a B state (free-energy perturbation), which mdsim does not compute: remove columns 9 to 11",
              top->field[0]);
    return MDS_OK;
}

mds_status mds_top_atom_line(mds_top *top)
{
    mds_top_molecule *m = top->now;
    mds_top_atom      a = {0};
    int32_t           number, residue = 0, group;
    char              insertion = '\0';

    MDS_CHECK(top->n_fields >= 6, MDS_E_INPUT,
              "[ atoms ] needs: number type residue-number residue atom group [charge [mass]]");
    MDS_TRY(mds_top_integer(top, 0, "atom number", &number));
    MDS_CHECK(number == m->n_atoms + 1, MDS_E_INPUT, "atom %d where %d is expected: atoms are numbered from 1 without gaps",
              number, m->n_atoms + 1);
    a.type = mds_words_find(&top->types, top->field[1], strlen(top->field[1]));
    MDS_CHECK(a.type >= 0, MDS_E_INPUT, "atom type \"%s\" is not in [ atomtypes ]", top->field[1]);
    MDS_TRY(residue_number(top->field[2], &residue, &insertion));
    MDS_TRY(mds_top_integer(top, 5, "charge group", &group));
    const mds_top_type *t = &top->type[a.type];

    a.charge = t->charge;
    a.mass = t->mass;
    if (top->n_fields > 6) MDS_TRY(mds_top_number(top, 6, "charge", &a.charge));
    if (top->n_fields > 7) MDS_TRY(mds_top_number(top, 7, "mass", &a.mass));
    if (top->n_fields > 8) MDS_TRY(check_b_state(top, a.type, a.charge, a.mass));
    MDS_CHECK(a.mass >= 0, MDS_E_INPUT, "atom %d has mass %g", number, a.mass);
    MDS_CHECK(t->particle != 'S', MDS_E_INPUT, "atom %d is a shell (polarisation), which mdsim does not compute", number);
    MDS_TRY(add_residue(m, top->field[3], residue, insertion));
    a.residue = m->n_residues - 1;
    copy_name(a.name, top->field[4]);
    a.atomic_number = t->atomic_number ? t->atomic_number : t->particle == 'V' ? 0 : mds_guess_element(a.name, a.mass);
    MDS_TRY(mds_grow(&m->atom, &m->cap_atom, (size_t)m->n_atoms + 1, sizeof *m->atom));
    m->atom[m->n_atoms++] = a;
    return MDS_OK;
}

// -------------------------------------------------------------------------------------------- exclusions

static mds_status add_excluded(mds_top_molecule *m, int32_t i, int32_t j)
{
    MDS_TRY(mds_grow(&m->excl, &m->cap_excl, (size_t)m->n_excl + 1, sizeof *m->excl));
    m->excl[m->n_excl][0] = i < j ? i : j;
    m->excl[m->n_excl][1] = i < j ? j : i;
    m->n_excl++;
    return MDS_OK;
}

mds_status mds_top_exclusion(mds_top *top)
{
    int32_t first, other;
    int     k;

    MDS_CHECK(top->n_fields >= 2, MDS_E_INPUT, "[ exclusions ] needs an atom and the atoms it does not see");
    MDS_TRY(mds_top_atoms(top, 0, 1, &first));
    for (k = 1; k < top->n_fields; k++) {
        MDS_TRY(mds_top_atoms(top, k, 1, &other));
        if (other != first) MDS_TRY(add_excluded(top->now, first, other));
    }
    return MDS_OK;
}

/// Neighbours in the graph of bonds: start [n_atoms + 1], neighbour [2 n_bonds]. Owner: caller, also after a failure.
static mds_status bond_graph(const mds_top_molecule *m, int32_t **start, int32_t **neighbour)
{
    int32_t *fill, k;
    int      e;

    MDS_TRY(mds_alloc(start, (size_t)m->n_atoms + 1, sizeof **start));
    MDS_TRY(mds_alloc(neighbour, 2 * (size_t)m->n_bonds, sizeof **neighbour));
    MDS_TRY(mds_alloc(&fill, (size_t)m->n_atoms + 1, sizeof *fill));
    for (k = 0; k < m->n_bonds; k++)
        for (e = 0; e < 2; e++) (*start)[m->bond[k][e] + 1]++;
    for (k = 0; k < m->n_atoms; k++) fill[k + 1] = (*start)[k + 1] += (*start)[k];
    for (k = 0; k < m->n_bonds; k++)
        for (e = 0; e < 2; e++) (*neighbour)[fill[m->bond[k][e]]++] = m->bond[k][1 - e];
    mds_free(fill);
    return MDS_OK;
}

/// Pairs up to nrexcl bonds apart, breadth first from every atom.
static mds_status exclude_by_bonds(mds_top_molecule *m)
{
    int32_t   *start = NULL, *neighbour = NULL, *seen = NULL, *queue = NULL, i, k;
    mds_status status;

    if (!m->n_bonds || !m->nrexcl) return MDS_OK;
    MDS_TRY_GOTO(bond_graph(m, &start, &neighbour));
    MDS_TRY_GOTO(mds_alloc(&seen, (size_t)m->n_atoms, sizeof *seen));
    MDS_TRY_GOTO(mds_alloc(&queue, (size_t)m->n_atoms, sizeof *queue));
    for (i = 0; i < m->n_atoms; i++) {
        int32_t head = 0, tail = 0, shell_end = 1, depth = 0;

        seen[i] = i + 1;
        queue[tail++] = i;
        while (head < tail && depth < m->nrexcl) {
            const int32_t a = queue[head++];

            for (k = start[a]; k < start[a + 1]; k++) {
                const int32_t b = neighbour[k];

                if (seen[b] == i + 1) continue;
                seen[b] = i + 1;
                queue[tail++] = b;
                if (b > i) MDS_TRY_GOTO(add_excluded(m, i, b));
            }
            if (head == shell_end) {
                depth++;
                shell_end = tail;
            }
        }
    }
fail:
    mds_free(start);
    mds_free(neighbour);
    mds_free(seen);
    mds_free(queue);
    return status;
}

static int compare_pairs(const void *a, const void *b)
{
    const int32_t *p = a, *q = b;

    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/// A rigid water whose atoms see each other is a forgotten [ exclusions ], though grompp takes it.
static void check_settle(const mds_top *top, const mds_top_molecule *m)
{
    const int32_t pair[2] = {m->settle - 1, m->settle};

    if (!m->settle || (m->n_excl && bsearch(pair, m->excl, (size_t)m->n_excl, sizeof *m->excl, compare_pairs))) return;
    mds_warn("%s:%d: molecule type %s has [ settles ] but its O and H are not excluded from each other: GROMACS makes no "
             "exclusions from [ settles ]; an [ exclusions ] section is missing?", mds_top_file(top, m->line),
             mds_top_line_number(top, m->line), m->name);
}

mds_status mds_top_finish_molecule(mds_top *top)
{
    mds_top_molecule *m = top->now;
    int64_t           k, n = 0;
    int32_t           i;

    if (!m || m->finished) return MDS_OK;
    MDS_TRY(exclude_by_bonds(m));
    if (m->n_excl) qsort(m->excl, (size_t)m->n_excl, sizeof *m->excl, compare_pairs);
    for (k = 0; k < m->n_excl; k++) {
        if (n && !compare_pairs(m->excl[n - 1], m->excl[k])) continue;
        m->excl[n][0] = m->excl[k][0];
        m->excl[n++][1] = m->excl[k][1];
    }
    m->n_excl = n;
    check_settle(top, m);
    for (i = 0; i < m->n_atoms; i++) {
        const mds_top_atom *a = &m->atom[i];
        const char         *residue = m->residue[a->residue].name;

        MDS_CHECK(a->is_site || a->mass > 0, MDS_E_INPUT,
                  "molecule type %s (%s:%d): atom %d (%s %s) has mass 0 and is not a virtual site", m->name,
                  mds_top_file(top, m->line), mds_top_line_number(top, m->line), i + 1, residue, a->name);
        MDS_CHECK(!a->is_site || a->mass == 0, MDS_E_INPUT,
                  "molecule type %s (%s:%d): virtual site %d (%s %s) has mass %g; it must be 0", m->name,
                  mds_top_file(top, m->line), mds_top_line_number(top, m->line), i + 1, residue, a->name, a->mass);
    }
    m->finished = true;
    return MDS_OK;
}

void mds_top_free_molecule(mds_top_molecule *m)
{
    mds_free(m->atom);
    mds_free(m->residue);
    mds_free(m->term);
    mds_free(m->constraint);
    mds_free(m->site);
    mds_free(m->site_atom);
    mds_free(m->site_weight);
    mds_free(m->bond);
    mds_free(m->excl);
}

// ----------------------------------------------------------------------------------------------- copies

/// Atom types that occur, numbered in the order of [ atomtypes ]; the LJ matrices between them.
static mds_status add_types(const mds_top *top, int32_t *used, mds_system *system)
{
    int32_t i, j, n = 0;
    double  c6, c12;

    for (i = 0; i < top->types.n; i++) used[i] = used[i] ? n++ : -1;
    MDS_TRY(mds_system_set_types(system, n, false));
    for (i = 0; i < top->types.n; i++)
        for (j = 0; j <= i; j++) {
            if (used[i] < 0 || used[j] < 0) continue;
            mds_top_lj(top, i, j, &c6, &c12);
            MDS_CHECK(isfinite(c6) && isfinite(c12), MDS_E_INPUT,
                      "the Lennard-Jones parameters of atom types %s and %s do not combine to numbers (rule %d)",
                      top->types.text[i], top->types.text[j], top->rule);
            mds_system_set_lj(system, used[i], used[j], c6, c12);
        }
    return MDS_OK;
}

static mds_status add_terms(mds_top *top, const mds_top_molecule *m, int32_t offset, mds_system *system)
{
    int32_t k;
    int     a;

    for (k = 0; k < m->n_terms; k++) {
        const mds_top_term *t = &m->term[k];
        int32_t             atom[MDS_TOP_MAX_ATOMS];
        double              map;

        for (a = 0; a < mds_term_table[t->kind].n_atoms; a++) atom[a] = t->atom[a] + offset;
        if (t->kind != MDS_TERM_CMAP) {
            MDS_TRY(mds_system_add_term(system, (mds_term_kind)t->kind, atom, t->param));
            continue;
        }
        mds_top_cmap *cmap = &top->cmap[(int32_t)t->param[0]];

        if (cmap->map < 0) MDS_TRY(mds_system_add_map(system, cmap->size, cmap->grid, &cmap->map));
        map = cmap->map;
        MDS_TRY(mds_system_add_term(system, MDS_TERM_CMAP, atom, &map));
    }
    return MDS_OK;
}

static mds_status add_copy(mds_top *top, const mds_top_molecule *m, const int32_t *type, int32_t *number,
                           mds_system *system)
{
    const int32_t offset = system->n_atoms, residues = system->name.n_residues;
    int32_t       i, k, index;
    int64_t       e;

    for (i = 0; i < m->n_residues; i++)
        MDS_TRY(mds_system_add_residue(system, m->residue[i].name, m->n_residues > 1 ? m->residue[i].number : ++*number,
                                       &index));
    for (i = 0; i < m->n_atoms; i++) {
        const mds_top_atom *a = &m->atom[i];

        MDS_TRY(mds_system_add_atom(system, a->name, residues + a->residue, type[a->type], a->charge, a->mass,
                                    a->atomic_number, NULL));
    }
    MDS_TRY(add_terms(top, m, offset, system));
    for (k = 0; k < m->n_constraints; k++)
        MDS_TRY(mds_system_add_constraint(system, m->constraint[k].atom[0] + offset, m->constraint[k].atom[1] + offset,
                                          m->constraint[k].length));
    for (k = 0; k < m->n_sites; k++) {
        const mds_top_site *s = &m->site[k];
        int32_t             few[8], *atom = few;
        mds_status          status;

        if (s->n > 8) MDS_TRY(mds_alloc(&atom, (size_t)s->n, sizeof *atom));
        for (i = 0; i < s->n; i++) atom[i] = m->site_atom[s->first + i] + offset;
        status = mds_system_add_vsite(system, s->kind, s->site + offset, s->n, atom, m->site_weight + s->first, s->param);
        if (atom != few) mds_free(atom);
        if (status != MDS_OK) return status;
    }
    for (e = 0; e < m->n_excl; e++)
        MDS_TRY(mds_system_add_exclusion(system, m->excl[e][0] + offset, m->excl[e][1] + offset));
    return MDS_OK;
}

/// Totals checked before memory is taken; types used; the number after which single residues are counted.
static mds_status count(const mds_top *top, int32_t *used, int32_t *n_molecules, int32_t *number)
{
    int64_t atoms = 0, molecules = 0;
    int32_t k, i;

    *number = 0;
    for (k = 0; k < top->n_copies; k++) {
        const mds_top_molecule *m = &top->molecule[top->copies[k].molecule];
        const int32_t           copies = top->copies[k].count;

        MDS_CHECK(m->n_atoms || !copies, MDS_E_INPUT, "molecule type \"%s\" has no [ atoms ]", m->name);
        atoms += (int64_t)m->n_atoms * copies;
        molecules += copies;
        MDS_CHECK(atoms < INT32_MAX / 8 && molecules < INT32_MAX / 8, MDS_E_UNSUPPORTED,
                  "[ molecules ] asks for more than %d atoms", INT32_MAX / 8);
        for (i = 0; copies && i < m->n_atoms; i++) used[m->atom[i].type] = 1;
        for (i = 0; copies && m->n_residues > 1 && i < m->n_residues; i++)
            if (m->residue[i].number > *number) *number = m->residue[i].number;
    }
    if (*number > INT32_MAX - INT32_MAX / 8) *number = 0; // absurd numbers in the file: count from 1
    MDS_CHECK(atoms, MDS_E_INPUT, "[ molecules ] gives no atoms");
    *n_molecules = (int32_t)molecules;
    return MDS_OK;
}

mds_status mds_top_expand(mds_top *top, mds_system *system)
{
    int32_t   *type = NULL, n_molecules = 0, number = 0, k, c, n = 0;
    mds_status status;

    MDS_CHECK(top->n_copies, MDS_E_INPUT, "the topology has no [ molecules ]");
    MDS_TRY(mds_alloc(&type, (size_t)top->types.n, sizeof *type));
    MDS_TRY_GOTO(count(top, type, &n_molecules, &number));
    MDS_TRY_GOTO(add_types(top, type, system));
    MDS_TRY_GOTO(mds_alloc(&system->molecule_start, (size_t)n_molecules + 1, sizeof *system->molecule_start));
    for (k = 0; k < top->n_copies; k++)
        for (c = 0; c < top->copies[k].count; c++) {
            system->molecule_start[n++] = system->n_atoms;
            MDS_TRY_GOTO(add_copy(top, &top->molecule[top->copies[k].molecule], type, &number, system));
        }
    system->molecule_start[n] = system->n_atoms;
    system->n_molecules = n;
fail:
    mds_free(type);
    return status;
}
