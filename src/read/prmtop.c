// SPDX-License-Identifier: Apache-2.0
// AMBER topologies (prmtop, parm7): which sections there are, atoms, pair parameters, exclusions, box.
//
// Every %FLAG is known by name to be read, to be harmless, or to be physics that mdsim does not compute. The last kind and
// every unknown name end the reading with file and line: dropping a section that holds physics gives wrong numbers without a
// sign. The same holds for switches in POINTERS (perturbation, solvent cap, LES) and for the 10-12 potential.
//
// Charges are e times 18.2223, the root of AMBER's Coulomb constant. CHAMBER files hold e times the root of CHARMM's,
// 332.0716 kcal A/e^2: their CHARGE comment says so, or the charges themselves, which are multiples of 1e-4 e in CHARMM.
// Lennard-Jones comes as a matrix over types, A/r^12 - B/r^6 (- C/r^4 in 12-6-4 files), so off-diagonal changes need no rule.
// Format: AMBER's file format description [amberformats]; 12-6-4: [li2014].
#include "base/units.h"
#include "read/prmtop.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define KJ MDS_KCAL
#define CHARMM_COULOMB 332.0716 // CCELEC of CHARMM, kcal A / e^2

// ---------------------------------------------------------------------------------------- known sections

typedef enum { SECTION_READ, SECTION_HARMLESS, SECTION_REFUSED } section_kind;

static const struct {
    const char  *name; // a name that ends in _ stands for that and two or more digits
    section_kind kind;
    const char  *what;
} known_sections[] = {
    {"POINTERS", SECTION_READ, NULL}, {"ATOM_NAME", SECTION_READ, NULL}, {"CHARGE", SECTION_READ, NULL},
    {"ATOMIC_NUMBER", SECTION_READ, NULL}, {"MASS", SECTION_READ, NULL}, {"ATOM_TYPE_INDEX", SECTION_READ, NULL},
    {"NUMBER_EXCLUDED_ATOMS", SECTION_READ, NULL}, {"NONBONDED_PARM_INDEX", SECTION_READ, NULL},
    {"RESIDUE_LABEL", SECTION_READ, NULL}, {"RESIDUE_POINTER", SECTION_READ, NULL},
    {"BOND_FORCE_CONSTANT", SECTION_READ, NULL}, {"BOND_EQUIL_VALUE", SECTION_READ, NULL},
    {"ANGLE_FORCE_CONSTANT", SECTION_READ, NULL}, {"ANGLE_EQUIL_VALUE", SECTION_READ, NULL},
    {"DIHEDRAL_FORCE_CONSTANT", SECTION_READ, NULL}, {"DIHEDRAL_PERIODICITY", SECTION_READ, NULL},
    {"DIHEDRAL_PHASE", SECTION_READ, NULL}, {"SCEE_SCALE_FACTOR", SECTION_READ, NULL},
    {"SCNB_SCALE_FACTOR", SECTION_READ, NULL}, {"LENNARD_JONES_ACOEF", SECTION_READ, NULL},
    {"LENNARD_JONES_BCOEF", SECTION_READ, NULL}, {"LENNARD_JONES_CCOEF", SECTION_READ, NULL},
    {"LENNARD_JONES_14_ACOEF", SECTION_READ, NULL}, {"LENNARD_JONES_14_BCOEF", SECTION_READ, NULL},
    {"BONDS_INC_HYDROGEN", SECTION_READ, NULL}, {"BONDS_WITHOUT_HYDROGEN", SECTION_READ, NULL},
    {"ANGLES_INC_HYDROGEN", SECTION_READ, NULL}, {"ANGLES_WITHOUT_HYDROGEN", SECTION_READ, NULL},
    {"DIHEDRALS_INC_HYDROGEN", SECTION_READ, NULL}, {"DIHEDRALS_WITHOUT_HYDROGEN", SECTION_READ, NULL},
    {"EXCLUDED_ATOMS_LIST", SECTION_READ, NULL}, {"HBOND_ACOEF", SECTION_READ, NULL}, {"HBOND_BCOEF", SECTION_READ, NULL},
    {"AMBER_ATOM_TYPE", SECTION_READ, NULL}, {"BOX_DIMENSIONS", SECTION_READ, NULL}, {"IPOL", SECTION_READ, NULL},
    {"POLARIZABILITY", SECTION_READ, NULL}, {"CHARMM_UREY_BRADLEY_COUNT", SECTION_READ, NULL},
    {"CHARMM_UREY_BRADLEY", SECTION_READ, NULL}, {"CHARMM_UREY_BRADLEY_FORCE_CONSTANT", SECTION_READ, NULL},
    {"CHARMM_UREY_BRADLEY_EQUIL_VALUE", SECTION_READ, NULL}, {"CHARMM_NUM_IMPROPERS", SECTION_READ, NULL},
    {"CHARMM_IMPROPERS", SECTION_READ, NULL}, {"CHARMM_NUM_IMPR_TYPES", SECTION_READ, NULL},
    {"CHARMM_IMPROPER_FORCE_CONSTANT", SECTION_READ, NULL}, {"CHARMM_IMPROPER_PHASE", SECTION_READ, NULL},
    {"CHARMM_CMAP_COUNT", SECTION_READ, NULL}, {"CHARMM_CMAP_RESOLUTION", SECTION_READ, NULL},
    {"CHARMM_CMAP_PARAMETER_", SECTION_READ, NULL}, {"CHARMM_CMAP_INDEX", SECTION_READ, NULL},
    {"CMAP_COUNT", SECTION_READ, NULL}, {"CMAP_RESOLUTION", SECTION_READ, NULL}, {"CMAP_PARAMETER_", SECTION_READ, NULL},
    {"CMAP_INDEX", SECTION_READ, NULL},

    {"TITLE", SECTION_HARMLESS, NULL}, {"CTITLE", SECTION_HARMLESS, NULL}, {"FORCE_FIELD_TYPE", SECTION_HARMLESS, NULL},
    {"SOLTY", SECTION_HARMLESS, NULL}, {"HBCUT", SECTION_HARMLESS, NULL}, {"TREE_CHAIN_CLASSIFICATION", SECTION_HARMLESS, NULL},
    {"JOIN_ARRAY", SECTION_HARMLESS, NULL}, {"IROTAT", SECTION_HARMLESS, NULL}, {"SOLVENT_POINTERS", SECTION_HARMLESS, NULL},
    {"ATOMS_PER_MOLECULE", SECTION_HARMLESS, NULL}, {"CAP_INFO", SECTION_HARMLESS, NULL}, {"CAP_INFO2", SECTION_HARMLESS, NULL},
    {"RADIUS_SET", SECTION_HARMLESS, NULL}, {"RADII", SECTION_HARMLESS, NULL}, {"SCREEN", SECTION_HARMLESS, NULL},
    {"RESIDUE_NUMBER", SECTION_HARMLESS, NULL}, {"RESIDUE_CHAINID", SECTION_HARMLESS, NULL},
    {"RESIDUE_ICODE", SECTION_HARMLESS, NULL}, {"ATOM_ALTLOC", SECTION_HARMLESS, NULL}, {"ATOM_ELEMENT", SECTION_HARMLESS, NULL},
    {"ATOM_NUMBER", SECTION_HARMLESS, NULL}, {"ATOM_OCCUPANCY", SECTION_HARMLESS, NULL}, {"ATOM_BFACTOR", SECTION_HARMLESS, NULL},

    {"DIPOLE_DAMP_FACTOR", SECTION_REFUSED, "polarisable dipoles"},
    {"LENNARD_JONES_DCOEF", SECTION_REFUSED, "12-6-4 terms of single atom pairs"},
    {"LENNARD_JONES_DVALUE", SECTION_REFUSED, "12-6-4 terms of single atom pairs"},
    {"LES_NTYP", SECTION_REFUSED, "locally enhanced sampling"}, {"LES_TYPE", SECTION_REFUSED, "locally enhanced sampling"},
    {"LES_FAC", SECTION_REFUSED, "locally enhanced sampling"}, {"LES_CNUM", SECTION_REFUSED, "locally enhanced sampling"},
    {"LES_ID", SECTION_REFUSED, "locally enhanced sampling"},
    {"VIRTUAL_SITE_FRAMES", SECTION_REFUSED, "custom frames of extra points"},
    {"AMOEBA_FORCEFIELD", SECTION_REFUSED, "the AMOEBA force field"},
};

static bool name_matches(const char *known, const char *name)
{
    const size_t n = strlen(known);

    if (known[n - 1] != '_') return !strcmp(known, name);
    return !strncmp(known, name, n) && isdigit((unsigned char)name[n]) && isdigit((unsigned char)name[n + 1]);
}

static mds_status check_sections(const mds_prm *p)
{
    const size_t n_known = sizeof known_sections / sizeof known_sections[0];
    int32_t      k;

    for (k = 0; k < p->file.n; k++) {
        const mds_prm_section *s = &p->file.section[k];
        size_t                 m = 0;

        while (m < n_known && !name_matches(known_sections[m].name, s->name)) m++;
        MDS_CHECK(m < n_known, MDS_E_INPUT,
                  "%s:%d: %%FLAG %s is unknown to mdsim and may hold physics; if it does not, take the section out", p->file.path,
                  s->line, s->name);
        MDS_CHECK(known_sections[m].kind != SECTION_REFUSED, MDS_E_INPUT, "%s:%d: %%FLAG %s: %s, which mdsim does not compute",
                  p->file.path, s->line, s->name, known_sections[m].what);
    }
    return MDS_OK;
}

// ---------------------------------------------------------------------------------------------- pointers

static mds_status refuse_pointer(const mds_prm *p, int which, const char *name, const char *what)
{
    const mds_prm_section *s = mds_prm_find(&p->file, "POINTERS");

    MDS_CHECK(!p->pointer[which], MDS_E_INPUT, "%s:%d: POINTERS has %s = %d: %s, which mdsim does not compute", p->file.path,
              mds_prm_line(s, which), name, p->pointer[which], what);
    return MDS_OK;
}

static mds_status same_pointers(const mds_prm *p, int all, int real, const char *what)
{
    const mds_prm_section *s = mds_prm_find(&p->file, "POINTERS");

    MDS_CHECK(p->pointer[all] == p->pointer[real], MDS_E_INPUT,
              "%s:%d: POINTERS counts %d %s with and %d without constraints: constraint terms of old AMBER files are not read",
              p->file.path, mds_prm_line(s, all), p->pointer[all], what, p->pointer[real]);
    return MDS_OK;
}

static mds_status read_pointers(mds_prm *p)
{
    const mds_prm_section *s = mds_prm_find(&p->file, "POINTERS");
    int32_t               *value = NULL;
    size_t                 n, k;
    mds_status             status;

    MDS_CHECK(s && s->kind == 'i', MDS_E_INPUT, "%s: no section %%FLAG POINTERS of integers: not a complete AMBER topology",
              p->file.path);
    n = mds_prm_count(s);
    MDS_CHECK(n >= 30 && n < 100, MDS_E_INPUT, "%s:%d: POINTERS holds %zu values, 30 to 33 are expected", p->file.path, s->line,
              n);
    MDS_TRY_GOTO(mds_prm_ints(&p->file, "POINTERS", n, &value));
    for (k = 0; k < n; k++) {
        const int32_t v = value[k];

        if (v < 0 || v > INT32_MAX / 8 || (k >= MDS_PRM_N_POINTERS && v)) {
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s:%d: value %zu of POINTERS is %d", p->file.path,
                              mds_prm_line(s, (int64_t)k), k + 1, v);
            goto fail;
        }
        if (k < MDS_PRM_N_POINTERS) p->pointer[k] = v;
    }
    mds_free(value);
    MDS_CHECK(p->pointer[MDS_PRM_NATOM] > 0, MDS_E_INPUT, "%s:%d: the topology has no atoms", p->file.path, s->first);
    MDS_CHECK(p->pointer[MDS_PRM_NTYPES] > 0, MDS_E_INPUT, "%s:%d: the topology has no atom types", p->file.path, s->first);
    MDS_TRY(refuse_pointer(p, MDS_PRM_IFPERT, "IFPERT", "a perturbed (free-energy) topology"));
    MDS_TRY(refuse_pointer(p, MDS_PRM_IFCAP, "IFCAP", "a solvent cap"));
    MDS_TRY(refuse_pointer(p, MDS_PRM_NPARM, "NPARM", "locally enhanced sampling"));
    MDS_TRY(refuse_pointer(p, MDS_PRM_C4PAIR, "C4PAIRWISE", "12-6-4 terms of single atom pairs"));
    if (p->pointer[MDS_PRM_NCOPY] > 1) MDS_TRY(refuse_pointer(p, MDS_PRM_NCOPY, "NCOPY", "path-integral copies"));
    MDS_TRY(same_pointers(p, MDS_PRM_MBONA, MDS_PRM_NBONA, "bonds"));
    MDS_TRY(same_pointers(p, MDS_PRM_MTHETA, MDS_PRM_NTHETA, "angles"));
    return same_pointers(p, MDS_PRM_MPHIA, MDS_PRM_NPHIA, "dihedrals");
fail:
    mds_free(value);
    return status;
}

/// IPOL and POLARIZABILITY: refused unless they say "none".
static mds_status refuse_polarisation(const mds_prm *p)
{
    const mds_prm_section *flag = mds_prm_find(&p->file, "IPOL"), *s = mds_prm_find(&p->file, "POLARIZABILITY");
    const size_t           n = s ? mds_prm_count(s) : 0;
    int32_t               *ipol = NULL;
    double                *alpha = NULL;
    size_t                 k;
    bool                   on;

    if (flag && flag->kind) {
        MDS_TRY(mds_prm_ints(&p->file, "IPOL", 1, &ipol));
        on = *ipol != 0;
        mds_free(ipol);
        MDS_CHECK(!on, MDS_E_INPUT, "%s:%d: IPOL is set: polarisable atoms, which mdsim does not compute", p->file.path,
                  flag->first);
    }
    if (!n) return MDS_OK;
    MDS_TRY(mds_prm_reals(&p->file, "POLARIZABILITY", n, &alpha));
    for (k = 0; k < n && alpha[k] == 0; k++) continue;
    mds_free(alpha);
    MDS_CHECK(k == n, MDS_E_INPUT, "%s:%d: POLARIZABILITY of atom %zu is not 0: mdsim does not compute polarisation",
              p->file.path, mds_prm_line(s, (int64_t)k), k + 1);
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- atoms

/// Standard atomic weights of elements 1 to 56 (IUPAC 2021, abridged), Da.
static const double weight_of[] = {
    1.008,  4.0026, 6.94,   9.0122, 10.81,  12.011, 14.007, 15.999, 18.998, 20.180, 22.990, 24.305, 26.982, 28.085,
    30.974, 32.06,  35.45,  39.95,  39.098, 40.078, 44.956, 47.867, 50.942, 51.996, 54.938, 55.845, 58.933, 58.693,
    63.546, 65.38,  69.723, 72.630, 74.922, 78.971, 79.904, 83.798, 85.468, 87.62,  88.906, 91.224, 92.906, 95.95,
    97.0,   101.07, 102.91, 106.42, 107.87, 112.41, 114.82, 118.71, 121.76, 127.60, 126.90, 131.29, 132.91, 137.33};

/// Old files have no ATOMIC_NUMBER: the nearest element by mass, 0 if none is near. Hydrogens may carry repartitioned mass.
static int32_t element_of(double mass, const char *name)
{
    const int n = (int)(sizeof weight_of / sizeof weight_of[0]);
    int       k, best = 0;

    while (isdigit((unsigned char)*name)) name++;
    if (mass < 3.5 || (mass < 4.5 && toupper((unsigned char)*name) == 'H')) return mass > 0 ? 1 : 0;
    for (k = 1; k < n; k++)
        if (fabs(weight_of[k] - mass) < fabs(weight_of[best] - mass)) best = k;
    return fabs(weight_of[best] - mass) <= 0.3 ? best + 1 : 0;
}

/// What CHARGE is to be divided by to give e (see the head), 1.
static double charge_unit(const mds_prm *p, const double *charge, int32_t n)
{
    const mds_prm_section *s = mds_prm_find(&p->file, "CHARGE");
    const double           charmm = sqrt(CHARMM_COULOMB);
    const char            *c;
    int64_t                amber_fits = 0, charmm_fits = 0;
    int32_t                i;

    for (c = s->comment; c && c + 8 <= s->comment_end; c++)
        if (!strncmp(c, "332.0716", 8)) return charmm;
    if (!p->chamber) return MDS_AMBER_CHARGE;
    for (i = 0; i < n; i++) {
        const double a = 1e4 * charge[i] / MDS_AMBER_CHARGE, b = 1e4 * charge[i] / charmm;

        if (fabs(a) < 500) continue; // below 0.05 e the two cannot be told apart
        amber_fits += fabs(a - round(a)) < 4e-3;
        charmm_fits += fabs(b - round(b)) < 4e-3;
    }
    return charmm_fits > amber_fits ? charmm : MDS_AMBER_CHARGE;
}

typedef struct {
    char (*name)[8], (*type)[8], (*residue)[8];
    double  *charge, *mass;
    int32_t *number, *first; // atomic numbers or NULL; RESIDUE_POINTER
} atom_columns;

static void free_columns(atom_columns *a)
{
    mds_free(a->name);
    mds_free(a->type);
    mds_free(a->residue);
    mds_free(a->charge);
    mds_free(a->mass);
    mds_free(a->number);
    mds_free(a->first);
}

static mds_status read_columns(mds_prm *p, atom_columns *a)
{
    const mds_prm_file *f = &p->file;
    const size_t        n = (size_t)p->pointer[MDS_PRM_NATOM], n_res = (size_t)p->pointer[MDS_PRM_NRES];

    MDS_TRY(mds_prm_names(f, "ATOM_NAME", n, &a->name));
    MDS_TRY(mds_prm_reals(f, "CHARGE", n, &a->charge));
    MDS_TRY(mds_prm_reals(f, "MASS", n, &a->mass));
    MDS_TRY(mds_prm_ints(f, "ATOM_TYPE_INDEX", n, &p->type));
    if (mds_prm_find(f, "AMBER_ATOM_TYPE")) MDS_TRY(mds_prm_names(f, "AMBER_ATOM_TYPE", n, &a->type));
    if (mds_prm_find(f, "ATOMIC_NUMBER")) MDS_TRY(mds_prm_ints(f, "ATOMIC_NUMBER", n, &a->number));
    MDS_CHECK(n_res > 0, MDS_E_INPUT, "%s: POINTERS announces no residues", f->path);
    MDS_TRY(mds_prm_names(f, "RESIDUE_LABEL", n_res, &a->residue));
    return mds_prm_ints(f, "RESIDUE_POINTER", n_res, &a->first);
}

/// An extra point: type EP, or no mass, or atomic number 0 with a name that says so.
static bool looks_like_site(const atom_columns *a, int32_t i)
{
    const bool named = !strncmp(a->name[i], "EP", 2) || !strncmp(a->name[i], "LP", 2);

    return a->mass[i] == 0 || (a->type && !strcmp(a->type[i], "EP")) || (a->number && a->number[i] == 0 && named);
}

static mds_status add_atoms(mds_prm *p, const atom_columns *a)
{
    const mds_prm_file    *f = &p->file;
    const mds_prm_section *types = mds_prm_find(f, "ATOM_TYPE_INDEX"), *residues = mds_prm_find(f, "RESIDUE_POINTER"),
                          *masses = mds_prm_find(f, "MASS");
    const int32_t n = p->pointer[MDS_PRM_NATOM], n_res = p->pointer[MDS_PRM_NRES];
    const double  unit = charge_unit(p, a->charge, n);
    int32_t       i, residue = -1, index;

    MDS_TRY(mds_alloc(&p->is_site, (size_t)n, sizeof *p->is_site));
    for (i = 0; i < n; i++) {
        int32_t number;

        if (residue + 1 < n_res && a->first[residue + 1] <= i + 1) {
            residue++;
            MDS_CHECK(a->first[residue] == i + 1, MDS_E_INPUT,
                      "%s:%d: residue %d begins at atom %d: RESIDUE_POINTER must begin at 1 and increase", f->path,
                      mds_prm_line(residues, residue), residue + 1, a->first[residue]);
            MDS_TRY(mds_system_add_residue(p->system, a->residue[residue], residue + 1, &index));
        }
        MDS_CHECK(residue >= 0, MDS_E_INPUT, "%s:%d: the first residue begins at atom %d, not 1", f->path, residues->first,
                  a->first[0]);
        MDS_CHECK(p->type[i] >= 1 && p->type[i] <= p->pointer[MDS_PRM_NTYPES], MDS_E_INPUT,
                  "%s:%d: atom %d (%s) has type %d, POINTERS announce %d types", f->path, mds_prm_line(types, i), i + 1,
                  a->name[i], p->type[i], p->pointer[MDS_PRM_NTYPES]);
        MDS_CHECK(a->mass[i] >= 0, MDS_E_INPUT, "%s:%d: atom %d (%s) has mass %g", f->path, mds_prm_line(masses, i), i + 1,
                  a->name[i], a->mass[i]);
        p->type[i]--;
        p->is_site[i] = looks_like_site(a, i);
        p->n_sites += p->is_site[i];
        number = a->number && a->number[i] > 0 && a->number[i] < 120 ? a->number[i] : element_of(a->mass[i], a->name[i]);
        MDS_TRY(mds_system_add_atom(p->system, a->name[i], residue, p->type[i], a->charge[i] / unit,
                                    p->is_site[i] ? 0 : a->mass[i], p->is_site[i] ? 0 : number, NULL));
    }
    MDS_CHECK(residue == n_res - 1, MDS_E_INPUT, "%s:%d: residue %d begins at atom %d of %d", f->path,
              mds_prm_line(residues, residue + 1), residue + 2, a->first[residue + 1], n);
    mds_text_add(&p->report, "%s: %d atoms in %d residues, %s force field, charges / %.7g\n", f->path, n, n_res,
                 p->chamber ? "CHARMM (CHAMBER)" : "AMBER", unit);
    if (p->pointer[MDS_PRM_NUMEXTRA] && p->pointer[MDS_PRM_NUMEXTRA] != p->n_sites)
        mds_warn("%s: POINTERS announce %d extra points, %d atoms look like one", f->path, p->pointer[MDS_PRM_NUMEXTRA],
                 p->n_sites);
    return MDS_OK;
}

static mds_status read_atoms(mds_prm *p)
{
    atom_columns a = {0};
    mds_status   status = read_columns(p, &a);

    if (status == MDS_OK) status = add_atoms(p, &a);
    free_columns(&a);
    return status;
}

// -------------------------------------------------------------------------------------- pair parameters

/// A negative entry of NONBONDED_PARM_INDEX points into the 10-12 table: only a table of zeros is no physics.
static mds_status check_ten_twelve(const mds_prm *p, int32_t i, int32_t j, const double *a, const double *b)
{
    const int32_t          n = p->pointer[MDS_PRM_NTYPES], index = -p->pair_index[(size_t)i * (size_t)n + (size_t)j];
    const mds_prm_section *s = mds_prm_find(&p->file, "NONBONDED_PARM_INDEX");

    MDS_CHECK(index <= p->pointer[MDS_PRM_NPHB], MDS_E_INPUT, "%s:%d: types %d and %d use 10-12 parameters %d of %d",
              p->file.path, mds_prm_line(s, (int64_t)i * n + j), i + 1, j + 1, index, p->pointer[MDS_PRM_NPHB]);
    MDS_CHECK(a[index - 1] == 0 && b[index - 1] == 0, MDS_E_INPUT,
              "%s:%d: types %d and %d interact by the 10-12 hydrogen-bond potential (HBOND_ACOEF, HBOND_BCOEF), which mdsim "
              "does not compute",
              p->file.path, mds_prm_line(s, (int64_t)i * n + j), i + 1, j + 1);
    return MDS_OK;
}

static mds_status fill_pairs(mds_prm *p, const double *ccoef, const double *hbond_a, const double *hbond_b)
{
    const mds_prm_section *s = mds_prm_find(&p->file, "NONBONDED_PARM_INDEX");
    const int32_t          n = p->pointer[MDS_PRM_NTYPES];
    const int64_t          n_pairs = (int64_t)n * (n + 1) / 2;
    int32_t                i, j;

    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) {
            const int64_t at = (int64_t)i * n + j;
            const int32_t index = p->pair_index[at];

            MDS_CHECK(index && index <= n_pairs && index == p->pair_index[(int64_t)j * n + i], MDS_E_INPUT,
                      "%s:%d: NONBONDED_PARM_INDEX of types %d and %d is %d: out of range, or different the other way round",
                      p->file.path, mds_prm_line(s, at), i + 1, j + 1, index);
            if (index < 0) {
                MDS_TRY(check_ten_twelve(p, i, j, hbond_a, hbond_b));
                continue;
            }
            mds_system_set_lj(p->system, i, j, p->bcoef[index - 1] * KJ * 1e-6, p->acoef[index - 1] * KJ * 1e-12);
            if (ccoef) p->system->c4[at] = ccoef[index - 1] * KJ * 1e-4;
        }
    return MDS_OK;
}

static mds_status read_pairs(mds_prm *p)
{
    const mds_prm_file *f = &p->file;
    const size_t        n = (size_t)p->pointer[MDS_PRM_NTYPES], n_pairs = n * (n + 1) / 2;
    const size_t        n_hbond = (size_t)p->pointer[MDS_PRM_NPHB];
    const bool          has_c = mds_prm_find(f, "LENNARD_JONES_CCOEF");
    double             *ccoef = NULL, *hbond_a = NULL, *hbond_b = NULL;
    mds_status          status;

    MDS_TRY(mds_prm_ints(f, "NONBONDED_PARM_INDEX", n * n, &p->pair_index));
    MDS_TRY(mds_prm_reals(f, "LENNARD_JONES_ACOEF", n_pairs, &p->acoef));
    MDS_TRY(mds_prm_reals(f, "LENNARD_JONES_BCOEF", n_pairs, &p->bcoef));
    if (mds_prm_find(f, "LENNARD_JONES_14_ACOEF") || mds_prm_find(f, "LENNARD_JONES_14_BCOEF")) {
        MDS_TRY(mds_prm_reals(f, "LENNARD_JONES_14_ACOEF", n_pairs, &p->acoef14));
        MDS_TRY(mds_prm_reals(f, "LENNARD_JONES_14_BCOEF", n_pairs, &p->bcoef14));
    }
    if (has_c) MDS_TRY_GOTO(mds_prm_reals(f, "LENNARD_JONES_CCOEF", n_pairs, &ccoef));
    MDS_TRY_GOTO(mds_prm_reals(f, "HBOND_ACOEF", n_hbond, &hbond_a));
    MDS_TRY_GOTO(mds_prm_reals(f, "HBOND_BCOEF", n_hbond, &hbond_b));
    MDS_TRY_GOTO(mds_system_set_types(p->system, (int32_t)n, has_c));
    MDS_TRY_GOTO(fill_pairs(p, ccoef, hbond_a, hbond_b));
    mds_text_add(&p->report, "Lennard-Jones: matrix of %zu types%s%s\n", n, has_c ? ", with 12-6-4 terms" : "",
                 p->acoef14 ? ", own table for 1-4 pairs" : "");
fail:
    mds_free(ccoef);
    mds_free(hbond_a);
    mds_free(hbond_b);
    return status;
}

static mds_status read_exclusions(mds_prm *p)
{
    const mds_prm_section *counts = mds_prm_find(&p->file, "NUMBER_EXCLUDED_ATOMS"),
                          *list = mds_prm_find(&p->file, "EXCLUDED_ATOMS_LIST");
    const int32_t n = p->pointer[MDS_PRM_NATOM], n_list = p->pointer[MDS_PRM_NNB];
    int32_t      *count = NULL, i, k;
    mds_status    status;

    MDS_TRY(mds_alloc(&p->excl_start, (size_t)n + 1, sizeof *p->excl_start));
    MDS_TRY(mds_prm_ints(&p->file, "EXCLUDED_ATOMS_LIST", (size_t)n_list, &p->excl));
    MDS_TRY_GOTO(mds_prm_ints(&p->file, "NUMBER_EXCLUDED_ATOMS", (size_t)n, &count));
    for (i = 0; i < n; i++) {
        if (count[i] < 0 || count[i] > n_list - p->excl_start[i]) {
            status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__,
                              "%s:%d: the excluded atoms of atom %d reach beyond the %d entries of EXCLUDED_ATOMS_LIST",
                              p->file.path, mds_prm_line(counts, i), i + 1, n_list);
            goto fail;
        }
        p->excl_start[i + 1] = p->excl_start[i] + count[i];
        for (k = p->excl_start[i]; k < p->excl_start[i + 1]; k++) {
            const int32_t j = p->excl[k];

            if (j < 0 || j > n || j == i + 1) {
                status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s:%d: atom %d excludes atom %d of %d", p->file.path,
                                  mds_prm_line(list, k), i + 1, j, n);
                goto fail;
            }
            p->excl[k] = j - 1;
            if (j > 0) MDS_TRY_GOTO(mds_system_add_exclusion(p->system, i, j - 1));
        }
    }
    if (p->excl_start[n] != n_list)
        status = mds_fail(MDS_E_INPUT, __FILE__, __LINE__, "%s:%d: EXCLUDED_ATOMS_LIST has %d entries, the atoms count %d",
                          p->file.path, list ? list->line : 0, n_list, p->excl_start[n]);
fail:
    mds_free(count);
    return status;
}

// --------------------------------------------------------------------------------------------------- box

/// BOX_DIMENSIONS holds one angle and three lengths. The angle is the least trusted number of the format: old tools left 90
/// there for every shape, others converted it twice. The shape is taken from IFBOX, and where that leaves a doubt
/// (IFBOX 3, any triclinic cell) no box is given: the coordinates hold all three angles.
static mds_status read_box(mds_prm *p, mds_box *box)
{
    const double octahedron = 109.471219; // degrees, acos(-1/3) as AMBER writes it
    const int    shape = p->pointer[MDS_PRM_IFBOX];
    double      *value = NULL, length[3], angle[3];
    int          k;

    memset(box, 0, sizeof *box);
    if (!shape) return MDS_OK;
    MDS_CHECK(shape <= 3, MDS_E_INPUT, "%s: POINTERS has IFBOX = %d; 0 to 3 are known", p->file.path, shape);
    if (!mds_prm_find(&p->file, "BOX_DIMENSIONS")) {
        mds_text_add(&p->report, "box: the topology is periodic (IFBOX %d) but has no BOX_DIMENSIONS\n", shape);
        return MDS_OK;
    }
    MDS_TRY(mds_prm_reals(&p->file, "BOX_DIMENSIONS", 4, &value));
    for (k = 0; k < 3; k++) {
        length[k] = 0.1 * value[1 + k];
        angle[k] = shape == 1 ? 90 : shape == 2 ? octahedron : value[0];
    }
    mds_text_add(&p->report, "box in the topology (IFBOX %d): %.7g %.7g %.7g nm, angle %g degrees as written\n", shape, length[0],
                 length[1], length[2], value[0]);
    mds_free(value);
    if (shape == 3) {
        mds_text_add(&p->report, "box in the topology not used: one angle does not make a triclinic cell\n");
        return MDS_OK;
    }
    if (mds_box_from_lengths(length, angle, box) != MDS_OK) {
        memset(box, 0, sizeof *box);
        mds_warn("%s: the box in BOX_DIMENSIONS is not one (%g %g %g nm) and is not used", p->file.path, length[0], length[1],
                 length[2]);
        mds_error_clear();
    }
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- whole

static void free_prm(mds_prm *p)
{
    mds_prm_close(&p->file);
    mds_text_free(&p->report);
    mds_free(p->type);
    mds_free(p->pair_index);
    mds_free(p->acoef);
    mds_free(p->bcoef);
    mds_free(p->acoef14);
    mds_free(p->bcoef14);
    mds_free(p->excl_start);
    mds_free(p->excl);
    mds_free(p->bond);
    mds_free(p->bond_k);
    mds_free(p->bond_r0);
    mds_free(p->adj_start);
    mds_free(p->adj);
    mds_free(p->angle);
    mds_free(p->angle_k);
    mds_free(p->angle_theta0);
    mds_free(p->is_site);
    mds_free(p->owner);
    mds_free(p->owned_start);
    mds_free(p->owned);
}

static mds_status read_all(mds_prm *p, const char *path, mds_box *box)
{
    MDS_TRY(mds_prm_open(&p->file, path));
    MDS_TRY(check_sections(p));
    p->chamber = mds_prm_find(&p->file, "CTITLE") || mds_prm_find(&p->file, "CHARMM_UREY_BRADLEY_COUNT") ||
                 mds_prm_find(&p->file, "LENNARD_JONES_14_ACOEF");
    MDS_TRY(read_pointers(p));
    MDS_TRY(refuse_polarisation(p));
    MDS_TRY(read_atoms(p));
    MDS_TRY(read_pairs(p));
    MDS_TRY(read_exclusions(p));
    MDS_TRY(mds_prm_read_bonds(p));
    MDS_TRY(mds_prm_find_owners(p));
    MDS_TRY(mds_prm_add_terms(p));
    MDS_TRY(mds_prm_add_chamber(p));
    MDS_TRY(mds_prm_add_sites(p));
    return read_box(p, box);
}

mds_status mds_read_prmtop(const mds_read_request *request, mds_system *system, mds_box *box, mds_read_report *report)
{
    mds_prm    p = {.system = system};
    mds_status status = read_all(&p, request->topology, box);

    if (status == MDS_OK && report) {
        mds_text all = {0};

        report->is_amber = true;
        report->box_expected = p.pointer[MDS_PRM_IFBOX] > 0;
        if (report->text) mds_text_add(&all, "%s", report->text);
        mds_text_add(&all, "%s", p.report.s ? p.report.s : "");
        if (all.failed) {
            mds_text_free(&all);
            status = mds_fail(MDS_E_MEMORY, __FILE__, __LINE__, "out of memory");
        } else {
            mds_free(report->text);
            report->text = all.s;
        }
    }
    free_prm(&p);
    return status;
}

mds_status mds_prm_check_atoms(const mds_prm *p, const mds_prm_section *s, int64_t k, const int32_t *atom, int n)
{
    int a, b;

    for (a = 0; a < n; a++) {
        MDS_CHECK(atom[a] >= 0 && atom[a] < p->pointer[MDS_PRM_NATOM], MDS_E_INPUT, "%s:%d: section %s names atom %d of %d",
                  p->file.path, mds_prm_line(s, k), s->name, atom[a] + 1, p->pointer[MDS_PRM_NATOM]);
        for (b = 0; b < a; b++)
            MDS_CHECK(atom[a] != atom[b], MDS_E_INPUT, "%s:%d: section %s has a term with atom %d twice", p->file.path,
                      mds_prm_line(s, k), s->name, atom[a] + 1);
    }
    return MDS_OK;
}
