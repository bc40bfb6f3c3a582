// SPDX-License-Identifier: Apache-2.0
// Private to the readers: words, the GROMACS topology while it is read, and small help for coordinate files.
//
// A topology is read line by line. Parameters by type come first, then molecule types; every line is resolved when it
// is read (types looked up, units turned), so that each message can name its line. A molecule type is a template that
// is copied into the flat system as often as [ molecules ] says.
#ifndef MDS_READ_TOP_H
#define MDS_READ_TOP_H

#include "read/read.h"

// ------------------------------------------------------------------------------------------------- words

/// Distinct byte strings, numbered from 0 in the order in which they came; found by hash.
typedef struct {
    char   **text;   // [n] terminated copies
    size_t  *length; // [n] bytes
    int32_t  n;
    int32_t *slot; // [n_slots] index + 1, 0 empty
    size_t   n_slots, cap_text, cap_length;
} mds_words;

/// Index of the n bytes at s, added if new. Errors: MDS_E_MEMORY.
mds_status mds_words_add(mds_words *words, const void *s, size_t n, int32_t *index);
/// Index of the n bytes at s, -1 if there are none.
int32_t mds_words_find(const mds_words *words, const void *s, size_t n);
void    mds_words_free(mds_words *words);

// ---------------------------------------------------------------------------------------------- functions

/// What a line of a molecule directive becomes.
typedef enum {
    MDS_TOP_TERM,       // a bonded term of the model
    MDS_TOP_CONNECTION, // nothing but a bond for the exclusions
    MDS_TOP_CONSTRAINT, // a constraint
    MDS_TOP_REFUSED     // physics that mdsim does not compute
} mds_top_action;

/// One function type of one directive: facts of the file format.
typedef struct {
    const char    *directive; // "bonds"
    int            number;    // function type
    const char    *name;      // for messages
    int            n_atoms, n_params;
    mds_top_action action;
    mds_term_kind  term;
    bool           is_bond; // counts when exclusions are made from nrexcl
    int            table;   // index of the function whose type table it uses
} mds_top_function;

/// Function type `number` of [ directive ]: its index, -1 if GROMACS has none.
int                     mds_top_function_find(const char *directive, int number);
const mds_top_function *mds_top_function_at(int index);
int                     mds_top_n_functions(void);
/// File parameters (degrees, GROMACS order) to model parameters (rad). Errors: MDS_E_INPUT.
mds_status mds_top_convert(const mds_top_function *function, const double *file, double *model);

// ------------------------------------------------------------------------------------------------- types

enum { MDS_TOP_MAX_PARAMS = 6, MDS_TOP_MAX_ATOMS = 5, MDS_TOP_ANY = -1 };

/// One [ atomtypes ] line.
typedef struct {
    int32_t bonded;        // index of its bonded type
    int32_t atomic_number; // 0 unknown
    double  mass, charge;  // Da, e
    char    particle;      // A, V, S as in the file (D and N become V and A)
    double  v, w;          // c6 c12 (rule 1) or sigma epsilon (rules 2, 3): kJ/mol, nm
} mds_top_type;

/// One line of a [ ...types ] directive.
typedef struct {
    int32_t type[4]; // bonded types, MDS_TOP_ANY for X
    double  param[MDS_TOP_MAX_PARAMS];
    int32_t line; // logical line, for "continues the line before"
} mds_top_entry;

/// All lines of one function type.
typedef struct {
    mds_top_entry *entry;
    int32_t        n;
    size_t         cap;
    mds_words      key;   // types in canonical order -> first entry
    int32_t       *first; // [key.n]
    size_t         cap_first;
    mds_words      memo;  // types asked for -> entry found
    int32_t       *found; // [memo.n] -1 none
    size_t         cap_found;
} mds_top_table;

/// V and W of pairs of types: [ nonbond_params ], [ pairtypes ].
typedef struct {
    mds_words key; // two int32, smaller first
    double (*vw)[2];
    size_t cap;
} mds_top_pairs;

/// One [ cmaptypes ] entry.
typedef struct {
    int32_t type[5];
    int32_t size;
    double *grid;    // [size][size] kJ/mol
    int32_t map;     // index in the system once used, -1 before
} mds_top_cmap;

// --------------------------------------------------------------------------------------------- molecules

typedef struct {
    char    name[8];
    int32_t residue, type, atomic_number;
    double  charge, mass;
    bool    is_site;
} mds_top_atom;

typedef struct {
    char    name[8];
    int32_t number;
    char    insertion;
} mds_top_residue;

typedef struct {
    int32_t kind; // mds_term_kind
    int32_t atom[MDS_TOP_MAX_ATOMS];
    double  param[MDS_TOP_MAX_PARAMS];
} mds_top_term;

typedef struct {
    int32_t atom[2];
    double  length;
} mds_top_constraint;

typedef struct {
    mds_vsite_kind kind;
    int32_t        site, n, first; // atoms and weights from `first` in the molecule's lists
    double         param[3];
} mds_top_site;

/// A molecule type; atom numbers count from 0 inside the molecule.
typedef struct {
    char               *name;
    int32_t             nrexcl, line; // line: index of its logical line
    mds_top_atom       *atom;
    mds_top_residue    *residue;
    mds_top_term       *term;
    mds_top_constraint *constraint;
    mds_top_site       *site;
    int32_t            *site_atom;
    double             *site_weight;
    int32_t (*bond)[2]; // the graph for nrexcl
    int32_t (*excl)[2]; // explicit exclusions; all of them once finished
    int32_t n_atoms, n_residues, n_terms, n_constraints, n_sites, n_site_atoms, n_bonds;
    int64_t n_excl;
    int32_t settle; // oxygen of the last [ settles ] line, from 1; 0 none
    size_t  cap_atom, cap_residue, cap_term, cap_constraint, cap_site, cap_site_atom, cap_site_weight, cap_bond, cap_excl;
    bool    finished;
} mds_top_molecule;

typedef struct {
    int32_t molecule, count, line;
} mds_top_copies;

/// A topology while it is read.
typedef struct {
    mds_top_lines lines;
    int32_t       at;      // current logical line
    char        **field;   // its fields, [n_fields]
    int           n_fields;
    size_t        cap_field;
    const char   *section; // name of the current directive
    // parameters by type
    bool           has_defaults, gen_pairs;
    int            rule;
    double         fudge_lj, fudge_qq;
    mds_words      types, bonded;
    mds_top_type  *type; // [types.n]
    size_t         cap_type;
    mds_top_pairs  nonbond, pair14;
    mds_top_table *table; // [mds_top_n_functions()]
    mds_top_cmap  *cmap;
    int32_t        n_cmaps;
    size_t         cap_cmap;
    // molecules
    mds_words         molecules;
    mds_top_molecule *molecule; // [molecules.n]
    size_t            cap_molecule;
    mds_top_molecule *now; // being read
    mds_top_copies   *copies;
    int32_t           n_copies;
    size_t            cap_copies;
    char             *title;
} mds_top;

/// Field k as a number or a whole number; `what` names it in the message. Errors: MDS_E_INPUT.
mds_status mds_top_number(const mds_top *top, int k, const char *what, double *value);
mds_status mds_top_integer(const mds_top *top, int k, const char *what, int32_t *value);
/// "file:line" of a logical line, for messages that speak of another line than the current one.
const char *mds_top_file(const mds_top *top, int32_t line);
int32_t     mds_top_line_number(const mds_top *top, int32_t line);
/// A warning that begins with the current file and line.
void mds_top_warn(const mds_top *top, const char *fmt, ...) MDS_PRINTF(2, 3);
/// Parameters of a function from field `first` on into param: 0, the function's number of them (*n), or twice as many with
/// a B state equal to A. Errors: MDS_E_INPUT, a B state that differs (free-energy perturbation) included.
mds_status mds_top_read_params(const mds_top *top, int first, int n_params, bool may_have_b, const char *name,
                               double *param, int *n);

// One line of each directive. top_params.c
mds_status mds_top_defaults(mds_top *top);
mds_status mds_top_atomtype(mds_top *top);
mds_status mds_top_nonbond(mds_top *top);
mds_status mds_top_pairtype(mds_top *top);
mds_status mds_top_bonded_type(mds_top *top);
mds_status mds_top_cmaptype(mds_top *top);
/// First entry for these bonded types (*found NULL if there is none) and how many lines of it belong together.
mds_status mds_top_lookup(mds_top *top, int function, const int32_t *type, const mds_top_entry **found, int *n);
/// c6 and c12 between two atom types: [ nonbond_params ] or the combination rule. kJ/mol, nm.
void mds_top_lj(const mds_top *top, int32_t i, int32_t j, double *c6, double *c12);
/// c6 and c12 of a 1-4 pair: [ pairtypes ], or generated; false if there are none.
bool mds_top_lj14(const mds_top *top, int32_t i, int32_t j, double *c6, double *c12);
/// V and W of the file to c6 and c12 by the combination rule.
void mds_top_to_c6c12(const mds_top *top, double v, double w, double *c6, double *c12);

// top_molecule.c
mds_status mds_top_moleculetype(mds_top *top);
mds_status mds_top_atom_line(mds_top *top);
mds_status mds_top_exclusion(mds_top *top);
/// Close the molecule being read: exclusions from bonds, masses checked.
mds_status mds_top_finish_molecule(mds_top *top);
mds_status mds_top_expand(mds_top *top, mds_system *system);
void       mds_top_free_molecule(mds_top_molecule *molecule);

// top_terms.c and top_sites.c: lines inside a molecule
mds_status mds_top_bonded(mds_top *top);
mds_status mds_top_pair(mds_top *top);
mds_status mds_top_cmap_line(mds_top *top);
mds_status mds_top_settle(mds_top *top);
mds_status mds_top_restraint(mds_top *top);
mds_status mds_top_virtual_site(mds_top *top);
mds_status mds_top_virtual_sitesn(mds_top *top);
/// Atom numbers of the line: fields first .. first + n - 1 into atom, from 0; all different. Errors: MDS_E_INPUT.
mds_status mds_top_atoms(const mds_top *top, int first, int n, int32_t *atom);
mds_status mds_top_add_term(mds_top_molecule *m, mds_term_kind kind, const int32_t *atom, const double *param);
mds_status mds_top_add_bond(mds_top_molecule *m, int32_t i, int32_t j);
mds_status mds_top_add_constraint(mds_top_molecule *m, int32_t i, int32_t j, double length);

/// Atomic number from mass (Da) and name, 0 if they do not agree on one.
int32_t mds_guess_element(const char *name, double mass);

#endif
