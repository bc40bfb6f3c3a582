// SPDX-License-Identifier: Apache-2.0
// The nouns: the immutable system, the changing state, the parameters of a step, the domain, the frame.
//
// Plain structs of arrays. Host numbers are double; what a backend uses inside is its own affair.
// Units: nm, ps, Da, e, K, kJ/mol, bar. Shapes are in memory order.
#ifndef MDS_MODEL_H
#define MDS_MODEL_H

#include "base/base.h"
#include "base/vec.h"

MDS_BEGIN

// ---------------------------------------------------------------------------------------------- energies

/// Energy terms of a frame; the names are those of `mdsim energy --json`.
#define MDS_ENERGY_LIST(X)                                                                                   \
    X(BOND, "bond") X(ANGLE, "angle") X(UREY_BRADLEY, "urey_bradley_angle") X(PROPER, "proper") X(RB, "rb")   \
    X(IMPROPER, "improper") X(PERIODIC_IMPROPER, "periodic_improper") X(CMAP, "cmap") X(LJ14, "lj14")         \
    X(COUL14, "coul14") X(LJ, "lj_sr") X(TAIL, "disp_corr") X(COUL, "coul_sr") X(RECIP, "coul_recip")         \
    X(RESTRAINT, "position_restraint")

typedef enum {
#define MDS_ENERGY_ENUM(name, text) MDS_EN_##name,
    MDS_ENERGY_LIST(MDS_ENERGY_ENUM)
#undef MDS_ENERGY_ENUM
        MDS_N_ENERGY
} mds_energy;

const char *mds_energy_name(mds_energy term);

// ------------------------------------------------------------------------------------------ bonded terms

/// Kinds of bonded term: name, atoms, parameters, energy it counts as. The formulas (x = kJ/mol; r nm, angles rad):
///   BOND        k, r0            1/2 k (r - r0)^2                          params { r0, k }
///   BOND_G96                     1/4 k (r^2 - r0^2)^2                      { r0, k }
///   BOND_MORSE                   D (1 - exp(-b (r - r0)))^2                { r0, D, b }
///   ANGLE                        1/2 k (theta - theta0)^2                  { theta0, k }
///   ANGLE_G96                    1/2 k (cos theta - cos theta0)^2          { theta0, k }
///   UREY_BRADLEY                 ANGLE + 1/2 kub (r13 - r0)^2              { theta0, k, r0, kub }
///   PROPER                       k (1 + cos(n phi - phi0))                 { phi0, k, n }
///   PERIODIC_IMPROPER            the same, counted apart
///   RB                           sum_{m<6} c_m cos^m(phi - pi)             { c0 .. c5 }
///   IMPROPER                     1/2 k (xi - xi0)^2, difference wrapped    { xi0, k }
///   CMAP                         bicubic map of two torsions, 5 atoms      { map index }
///   PAIR14                       c12/r^12 - c6/r^6 + MDS_COULOMB qq/r      { c6, c12, qq }  any distance, no cut-off
///   RESTRAINT                    1/2 sum_d k_d (x_d - ref_d)^2, nearest image { refx, refy, refz, kx, ky, kz }
/// Dihedral angle: IUPAC sign, phi = 0 for cis. Sources: GROMACS manual 2022 ch. 5.3; CHARMM (Brooks 2009).
#define MDS_TERM_LIST(X)                                                                                     \
    X(BOND, "bond", 2, 2, BOND)                                                                              \
    X(BOND_G96, "G96 bond", 2, 2, BOND)                                                                      \
    X(BOND_MORSE, "Morse bond", 2, 3, BOND)                                                                  \
    X(ANGLE, "angle", 3, 2, ANGLE)                                                                           \
    X(ANGLE_G96, "G96 angle", 3, 2, ANGLE)                                                                   \
    X(UREY_BRADLEY, "Urey-Bradley angle", 3, 4, UREY_BRADLEY)                                                \
    X(PROPER, "proper dihedral", 4, 3, PROPER)                                                               \
    X(PERIODIC_IMPROPER, "periodic improper", 4, 3, PERIODIC_IMPROPER)                                       \
    X(RB, "Ryckaert-Bellemans dihedral", 4, 6, RB)                                                           \
    X(IMPROPER, "harmonic improper", 4, 2, IMPROPER)                                                         \
    X(CMAP, "CMAP", 5, 1, CMAP)                                                                              \
    X(PAIR14, "1-4 pair", 2, 3, LJ14)                                                                        \
    X(RESTRAINT, "position restraint", 1, 6, RESTRAINT)

typedef enum {
#define MDS_TERM_ENUM(name, text, atoms, params, energy) MDS_TERM_##name,
    MDS_TERM_LIST(MDS_TERM_ENUM)
#undef MDS_TERM_ENUM
        MDS_N_TERMS
} mds_term_kind;

typedef struct {
    const char *name;
    int         n_atoms, n_params;
    mds_energy  energy;
} mds_term_info;

/// Facts of each kind, indexed by mds_term_kind.
extern const mds_term_info mds_term_table[MDS_N_TERMS];

/// All terms of one kind. Grown by mds_terms_add only.
typedef struct {
    int32_t  n;
    int32_t *atom;  // [n][n_atoms of the kind] atom ids
    double  *param; // [n][n_params of the kind] kJ/mol, nm, rad
    size_t   cap_atom, cap_param;
} mds_terms;

// --------------------------------------------------------------------------------------- virtual sites

/// How a virtual site is placed from its constructing atoms i, j, k, ... (GROMACS manual 2022, 5.5.4).
///   LINEAR   x = sum_m w_m x_m                                       weights (virtual_sites2 1, 3 1, n)
///   TWO_FD   x = xi + a rij/|rij|                                     { a }
///   THREE_FD x = xi + b (rij + a rjk)/|rij + a rjk|                   { a, b }
///   THREE_FAD x = xi + d cos(theta) rij/|rij| + d sin(theta) rp/|rp|  { theta, d },  rp = rjk - rij (rij.rjk)/(rij.rij)
///   THREE_OUT x = xi + a rij + b rik + c (rij x rik)                  { a, b, c }
///   FOUR_FDN x = xi + c rm/|rm|, rja = a rik - rij, rjb = b ril - rij, rm = rja x rjb   { a, b, c }
/// rij means xj - xi, nearest image.
typedef enum {
    MDS_VSITE_LINEAR,
    MDS_VSITE_TWO_FD,
    MDS_VSITE_THREE_FD,
    MDS_VSITE_THREE_FAD,
    MDS_VSITE_THREE_OUT,
    MDS_VSITE_FOUR_FDN
} mds_vsite_kind;

/// Virtual sites in an order in which each may be placed: its atoms are real or come earlier.
typedef struct {
    int32_t  n;
    int32_t *kind;   // [n] mds_vsite_kind
    int32_t *site;   // [n] atom id of the site
    int32_t *start;  // [n + 1] into atom and weight
    int32_t *atom;   // [start[n]] constructing atoms
    double  *weight; // [start[n]] weights (LINEAR; else 0), 1
    double (*param)[3]; // [n][3] nm, rad, 1, 1/nm as the kind says
    size_t cap, cap_start, cap_atom, cap_weight, cap_kind, cap_site, cap_param;
} mds_vsites;

// ----------------------------------------------------------------------------------------- constraints

/// One distance to be kept. What readers and mds_system_constrain give.
typedef struct {
    int32_t  n;
    int32_t *atom;   // [n][2] atom ids
    double  *length; // [n] nm
    size_t   cap_atom, cap_length;
} mds_links;

/// Rigid waters (SETTLE): O, H, H.
typedef struct {
    int32_t  n;
    int32_t *atom;   // [n][3] O H H
    double  *length; // [n][2] OH, HH, nm
} mds_waters;

/// X-H clusters: one heavy atom and up to three hydrogens, none of which is in another group.
typedef struct {
    int32_t  n;
    int32_t *atom;   // [n][4] X H H H, -1 where there is none
    double  *length; // [n][3] XH, nm
} mds_clusters;

// ---------------------------------------------------------------------------------------------- system

/// Names for people and for topology files; not used by the physics.
typedef struct {
    char    (*atom)[8];      // [n_atoms]
    char    (*residue)[8];   // [n_residues]
    int32_t *residue_number; // [n_residues] as in the file
    int32_t *residue_of;     // [n_atoms] index of the residue
    int32_t  n_residues;
    size_t   cap_residue, cap_number;
} mds_names;

/// Fixed after set-up, the same on every rank. Start zeroed; built by mds_system_add_* and frozen.
typedef struct {
    int32_t  n_atoms, n_types;
    int32_t *type;          // [n_atoms] LJ type
    int32_t *atomic_number; // [n_atoms] 0 if unknown or a virtual site
    double  *charge, *mass; // [n_atoms] e, Da; mass 0: virtual site
    double  *c6, *c12;      // [n_types][n_types] kJ/mol nm^6, kJ/mol nm^12 (V = c12/r^12 - c6/r^6)
    double  *c4;            // [n_types][n_types] kJ/mol nm^4 (V = -c4/r^4 inside the LJ cut-off), NULL if none
    int32_t *excl_start, *excl; // [n_atoms+1], [excl_start[n_atoms]] sorted atom ids, both directions, not itself
    mds_terms    term[MDS_N_TERMS];
    int32_t      n_maps, map_size; // CMAP grids, all of one size
    double      *map;              // [n_maps][map_size][map_size] kJ/mol; row: first torsion, from -180 degrees
    mds_vsites   vsite;
    mds_links    constraint; // every constraint of the files and of mds_system_constrain
    mds_waters   water;      // ... sorted into groups by mds_system_freeze
    mds_clusters cluster;
    mds_links    link;
    int32_t      n_molecules;
    int32_t     *molecule_start; // [n_molecules+1] atoms of a molecule are consecutive
    mds_names    name;
    bool         has_lj_tail_pairs; // set by freeze: some pair type has c6 != 0
    double       total_charge;      // e, set by freeze
    // growth (private to system.c)
    size_t   cap_type, cap_number, cap_charge, cap_mass, cap_atom_name, cap_residue_of;
    int32_t *pair_excl; // [n_pair_excl][2] exclusions as added
    int64_t  n_pair_excl;
    size_t   cap_pair_excl;
    bool     frozen;
} mds_system;

void mds_system_free(mds_system *system);

/// Append one atom; returns its id through *id (may be NULL). Names are cut to 7 bytes. `residue` is the index
/// returned by mds_system_add_residue. mass 0 makes it a virtual site: it must get one before freeze.
mds_status mds_system_add_atom(mds_system *system, const char *name, int32_t residue, int32_t type, double charge,
                               double mass, int32_t atomic_number, int32_t *id);
mds_status mds_system_add_residue(mds_system *system, const char *name, int32_t number, int32_t *index);
/// Start the LJ matrices: n_types, all zero. With c4 if `with_c4`.
mds_status mds_system_set_types(mds_system *system, int32_t n_types, bool with_c4);
/// Set both (i, j) and (j, i).
void       mds_system_set_lj(mds_system *system, int32_t i, int32_t j, double c6, double c12);
mds_status mds_system_add_term(mds_system *system, mds_term_kind kind, const int32_t *atom, const double *param);
mds_status mds_system_add_exclusion(mds_system *system, int32_t i, int32_t j);
mds_status mds_system_add_constraint(mds_system *system, int32_t i, int32_t j, double length);
/// weight is for LINEAR ([n]), param for the others ([3], unused ones 0); either may be NULL where unused.
mds_status mds_system_add_vsite(mds_system *system, mds_vsite_kind kind, int32_t site, int n, const int32_t *atom,
                                const double *weight, const double *param);
/// A CMAP grid [size][size], kJ/mol; its index through *index.
mds_status mds_system_add_map(mds_system *system, int32_t size, const double *grid, int32_t *index);

typedef enum { MDS_CONSTRAIN_NONE, MDS_CONSTRAIN_H_BONDS, MDS_CONSTRAIN_ALL_BONDS } mds_constrain;

/// Turn bonds into constraints by policy; their bond terms go. Before freeze. A hydrogen is an atom with
/// atomic number 1, or unknown number and mass below 3.5 Da.
mds_status mds_system_constrain(mds_system *system, mds_constrain policy);

/// Make every residue of one O, two H (and its sites) rigid with lengths from its bonds (the H-H length from the
/// H-H bond or else from the angle); its bonds, angles and Urey-Bradley terms go. AMBER files. Before freeze.
mds_status mds_system_rigid_waters(mds_system *system);

/// Hydrogen mass repartitioning: each hydrogen not in a water gets `hydrogen_mass` Da from its heavy atom
/// (as ParmEd and OpenMM do). Error: a heavy atom would fall below 1 Da. Before freeze.
mds_status mds_system_repartition(mds_system *system, double hydrogen_mass);

/// Sort exclusions, order virtual sites, sort constraints into groups, find molecules if none were given, and
/// check everything (ids in range, finite parameters, sites have masses 0). The system never changes after.
mds_status mds_system_freeze(mds_system *system);

/// "ALA 12 CA (atom 178)": residue, number, atom, number counted from 1. Into `out` [at least 64].
void mds_system_atom_label(const mds_system *system, int32_t atom, char *out, size_t n);

/// Atoms of terms, for reports.
int64_t mds_system_n_degrees(const mds_system *system, bool com_removed, bool rotation_removed);

/// LJ parameters of combination rules (GROMACS numbers): 1 and 3 geometric in c6/c12 or sigma/eps, 2 Lorentz-Berthelot.
void mds_lj_combine(int rule, const double a[2], const double b[2], double *c6, double *c12);

/// LJ matrices reduced to a combination rule where one holds exactly (to 1e-6 of each value).
typedef enum { MDS_LJ_MATRIX, MDS_LJ_GEOMETRIC, MDS_LJ_LORENTZ_BERTHELOT } mds_lj_rule;
mds_lj_rule mds_system_lj_rule(const mds_system *system);

// ----------------------------------------------------------------------------------------------- state

/// What `coupling` holds (docs/theory/coupling.md). A fresh run starts with zeros.
enum {
    MDS_CPL_SCALE,      // box scaling that waits for the next step, 1; 0: none waits
    MDS_CPL_VIRIAL,     // virial of the groups' centres that it was drawn with, without the tail, kJ/mol
    MDS_CPL_TIME_CARRY, // rounding of `time` so far, ps (compensated sum)
    MDS_CPL_PRESSURE,   // pressure that the barostat saw last, bar
    MDS_CPL_ALPHA,      // last velocity scaling of the thermostat, 1
    MDS_N_COUPLING = 16
};

/// What changes. On the host only at start, at checkpoints and for output; global order.
typedef struct {
    int32_t  n_atoms;
    int64_t  step;
    double   time; // ps
    mds_box  box;
    double (*x)[3];  // [n_atoms] nm, continuous (molecules are never cut at the box)
    double (*v)[3];  // [n_atoms] nm/ps
    bool     has_velocities;
    uint64_t seed;                     // noise = f(seed, step, atom): no generator state to save
    double   coupling[MDS_N_COUPLING]; // thermostat and barostat variables, MDS_CPL_*
    double   work_noise, work_scale;   // kJ/mol put in by noise and by scaling so far: what `conserved` needs
} mds_state;

mds_status mds_state_init(mds_state *state, int32_t n_atoms);
void       mds_state_free(mds_state *state);
mds_status mds_state_copy(mds_state *to, const mds_state *from); // `to` initialised for the same n_atoms or zeroed
/// Maxwell velocities at `temperature` from `seed`; sites get none; constraints are NOT applied here.
void mds_state_draw_velocities(const mds_system *system, double temperature, uint64_t seed, mds_state *state);
/// Put every atom at the image nearest to what it is bonded to, so that no molecule is cut at the box. Frozen system.
mds_status mds_state_make_whole(const mds_system *system, mds_state *state);
/// Box to lower triangular reduced form, rotating x and v where the frame must turn. Errors: MDS_E_INPUT.
mds_status mds_box_reduce(mds_box *box, double (*x)[3], double (*v)[3], int32_t n_atoms);
/// From lengths (nm) and angles (degrees) alpha, beta, gamma.
mds_status mds_box_from_lengths(const double length[3], const double angle[3], mds_box *box);

// ------------------------------------------------------------------------------------------ parameters

typedef enum { MDS_LJ_SHIFT, MDS_LJ_CUT, MDS_LJ_SWITCH, MDS_LJ_FORCE_SWITCH } mds_lj_modifier;
typedef enum { MDS_COULOMB_PME, MDS_COULOMB_REACTION_FIELD, MDS_COULOMB_CUT, MDS_COULOMB_NONE } mds_coulomb;
typedef enum { MDS_SPLIT_PROLATE, MDS_SPLIT_GAUSSIAN } mds_split_kind;
typedef enum { MDS_THERMOSTAT_NONE, MDS_THERMOSTAT_V_RESCALE, MDS_THERMOSTAT_NOSE_HOOVER, MDS_THERMOSTAT_LANGEVIN,
               MDS_THERMOSTAT_ANDERSEN, MDS_THERMOSTAT_BERENDSEN } mds_thermostat;
typedef enum { MDS_BAROSTAT_NONE, MDS_BAROSTAT_C_RESCALE, MDS_BAROSTAT_MONTE_CARLO, MDS_BAROSTAT_PARRINELLO_RAHMAN,
               MDS_BAROSTAT_BERENDSEN } mds_barostat;

/// Numbers a step needs that may change during the run: the only thing `set` carries. Values, no pointers.
typedef struct {
    double dt;                    // ps
    // short range
    mds_lj_modifier lj_modifier;
    mds_coulomb     coulomb;
    bool            coulomb_shift;   // potential-shift of the Gaussian split and of plain cut-offs
    double          cut_lj, cut_q;   // nm; 0: every pair, no box only
    double          lj_switch;       // nm, where switch and force-switch begin
    double          rf_dielectric;   // 1; 0 means infinite
    double          list_radius;     // outer list, nm
    double          prune_radius;    // inner list, nm
    int32_t         list_interval;   // steps between scheduled searches
    int32_t         prune_interval;  // steps between prunings; 0: only when displacements ask for one
    // by the number of light atoms in a pair (mds_is_light): a pair nearer to the cut-off than this may be missing, nm
    double          list_depth[3];
    bool            list_pairwise;   // the guard looks at pairs; false: an atom beyond half the buffer trips (decision 005)
    // mesh
    mds_split_kind split;
    double         split_shape;      // Gaussian: beta, 1/nm. Prolate: c, 1
    int32_t        grid[3], order;
    // tail correction: E = tail_energy / V + tail_constant, P = tail_pressure / V^2
    double tail_energy, tail_constant, tail_pressure; // kJ/mol nm^3, kJ/mol, kJ/mol nm^3
    // motion
    double  constraint_tolerance;    // relative length, 1
    // coupling
    mds_thermostat thermostat;
    mds_barostat   barostat;
    double         temperature, tau_t; // K, ps (Langevin friction = 1/tau_t)
    double         pressure, tau_p;    // bar, ps
    double         compressibility;    // 1/bar
    int32_t        couple_every;       // steps
    int32_t        remove_com;         // 0 no, 1 linear, 2 linear and rotation (vacuum)
    double         n_degrees;          // degrees of freedom, 1
    uint64_t       seed;
    bool           deterministic;      // false: sums may depend on the order of threads where that is faster
    bool           double_precision;   // pairs and mesh too; only backends with a choice look at it (cuda, emu)
    int32_t        mesh_every;         // steps from one impulse of the mesh to the next; 0 and 1: it acts in every step
    // minimiser (FIRE): v <- (1 - mix) v + mix |v| f/|f|
    double mix, max_move;              // 1, nm (largest move of an atom in a step; 0 no limit)
} mds_params;

/// Whether lists, polynomials and mesh follow from both alike: the minimiser sets a new time step in every step.
bool mds_params_same_forces(const mds_params *a, const mds_params *b);

/// Hydrogens, heavy ones too: atoms that go far between searches and pull little at the cut-off. mass in Da.
#define MDS_LIGHT 4.5
MDS_INLINE bool mds_is_light(double mass)
{
    return mass > 0 && mass < MDS_LIGHT;
}

/// Dispersion correction coefficients of a system for given cut-off and modifier: fills tail_energy and
/// tail_pressure. <C6> is the mean over pairs that are not excluded (pair density N rho); repulsion is not
/// corrected; c4 has no tail. Formulas: docs/theory/pair.md; Allen & Tildesley 2.8.
void mds_tail_correction(const mds_system *system, mds_params *params);

// ----------------------------------------------------------------------------------------------- domain

/// This rank's brick and its neighbours.
typedef struct {
    double  lo[3], hi[3];       // fractional bounds
    int32_t dims[3], coord[3];  // rank grid
    int32_t n_home, n_all;      // home atoms are [0, n_home), copies [n_home, n_all)
    int32_t n_legs, peer[26];   // message plan: one leg per neighbour that needs us
    double  shift[26][3];       // periodic image of each leg, box units
} mds_domain;

// ------------------------------------------------------------------------------------------------ frame

/// Fault bits of a device.
enum {
    MDS_FAULT_FAR = 1u << 0,        // an atom moved further in one step than half the list buffer allows
    MDS_FAULT_NOT_FINITE = 1u << 1, // NaN or infinity in positions, velocities or forces
    MDS_FAULT_CONSTRAINT = 1u << 2, // constraints did not converge
    MDS_FAULT_LOST = 1u << 3,       // an atom left every brick
    MDS_FAULT_CUTOFF = 1u << 4,     // the box shrank below twice the cut-off
    MDS_FAULT_RANGE = 1u << 5       // fixed point out of range
};

/// What comes back: scalars always, arrays if asked for. The only way out of a device.
typedef struct {
    int64_t step;
    double  time; // ps
    mds_box box;
    double  energy[MDS_N_ENERGY];     // kJ/mol, valid if has_energy
    double  kinetic[3][3];            // kJ/mol, 1/2 sum m v (x) v; trace is the kinetic energy of the integrator's definition
    double  virial[3][3];             // kJ/mol, -1/2 sum r (x) f, without constraints, tail included; valid if has_virial
    double  constraint_virial[3][3];  // kJ/mol
    double  coupling[MDS_N_COUPLING];
    double  work_noise, work_scale;   // kJ/mol
    double  fv, ff, vv;               // sum f.v, sum f.f, sum v.v: what FIRE needs (kJ/mol/ps, (kJ/mol/nm)^2, (nm/ps)^2)
    double  f_max;                    // largest force on an atom, kJ/mol/nm
    int32_t f_max_atom;               // its id
    bool    has_energy, has_virial;
    uint32_t fault;
    int32_t  fault_atom;              // id, -1 if none
    int32_t  n;                       // atoms in the arrays below
    int32_t *id;                      // [n] global ids
    double (*x)[3], (*v)[3], (*f)[3]; // [n] or NULL; nm, nm/ps, kJ/mol/nm
    int32_t  capacity;
} mds_frame;

enum { MDS_FIELD_X = 1u << 0, MDS_FIELD_V = 1u << 1, MDS_FIELD_F = 1u << 2 };

/// Room for n atoms and the given arrays; an array that exists stays.
mds_status mds_frame_reserve(mds_frame *frame, int32_t n, uint32_t fields);
void       mds_frame_free(mds_frame *frame);
/// The scalars stay; the arrays come back with the next frame that has some.
void       mds_frame_free_arrays(mds_frame *frame);
/// Scalars and the arrays that `from` holds; `to` keeps and grows its own memory.
mds_status mds_frame_copy(mds_frame *to, const mds_frame *from);
/// Rows into global order (id[k] = k).
void   mds_frame_sort(mds_frame *frame);
double mds_frame_potential(const mds_frame *frame);    // kJ/mol
double mds_frame_kinetic(const mds_frame *frame);      // kJ/mol
double mds_frame_temperature(const mds_frame *frame, double n_degrees); // K
double mds_frame_pressure(const mds_frame *frame);     // bar, kinetic part and constraints included; 0 without a box
/// Quantity the ensemble conserves: potential + kinetic - work_noise - work_scale, kJ/mol.
double mds_frame_conserved(const mds_frame *frame);

// ---------------------------------------------------------------------------------------- made systems

/// Systems made here, for benchmarks and tests: "water" (rigid TIP3P), "spce", "argon" (LJ liquid), "salt" (0.15 mol/l NaCl in
/// TIP3P). About n_atoms atoms, relaxed well enough to start. Frozen is left to the caller.
mds_status mds_make(const char *name, int32_t n_atoms, uint64_t seed, mds_system *system, mds_state *state);
/// Names that mds_make knows, comma separated, for messages.
const char *mds_make_names(void);

MDS_END
#endif
