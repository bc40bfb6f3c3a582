// SPDX-License-Identifier: Apache-2.0
// Made systems: boxes of liquid for benchmarks and tests, from nothing but published numbers and a seed.
//
// A liquid of any size is made from a small one: a periodic cell of at most MAX_CELL molecules is relaxed by Monte Carlo
// (make_relax.c), then copied R x R x R times. Molecules that the copies hold too many (fewer than one a copy) are
// taken out at random places, and the cell is made denser by just that much, so that the whole has the exact number
// of molecules and the exact density. A copied liquid is periodic in the cell at first; at 300 K it forgets that in a
// few ps. A million atoms take as long as some hundred, plus the copying.
//
//   water   rigid TIP3P [jorgensen1983], 0.985 kg/l, its own density at 300 K and 1 bar with Ewald sums [price2004]
//   spce    rigid SPC/E [berendsen1987], 0.997 kg/l
//   argon   sigma 0.34 nm, epsilon/k 120 K, 1.374 kg/l at 94.4 K [rahman1964]
//   salt    0.15 mol/l NaCl in TIP3P, ions of [joung2008], 16.6 cm^3/mol for the salt [millero1971]
//
// Order of atoms: all waters, then all sodium, then all chloride, each copy by copy (neighbours in space stay
// neighbours in memory).
#include "base/rng.h"
#include "base/units.h"
#include "model/make.h"

#include <math.h>
#include <string.h>

// Sweeps: water is 2 kJ/mol a molecule above its mean energy after 600; its noise is all that is left
// after 1500 (docs: inputs/README.md, "Made boxes").
enum { MAX_CELL = 512, N_SWEEPS = 1500 };

typedef struct {
    const char       *name;
    mds_make_molecule molecule[MDS_MAKE_SPECIES];
    double            volume[MDS_MAKE_SPECIES]; // nm^3 a molecule takes (of a salt, anion and cation together: half each)
    double            temperature;              // K
    double            salt;                     // ion pairs per nm^3
} recipe;

#define WATER(charge_h, sig, eps, oh, hoh)                                                                   \
    {                                                                                                        \
        .residue = "SOL", .name = {"OW", "HW1", "HW2"}, .n_sites = 3, .element = {8, 1, 1},                  \
        .mass = {15.9994, 1.008, 1.008}, .charge = {-2 * (charge_h), charge_h, charge_h}, .sigma = sig,      \
        .epsilon = eps, .bond = oh, .angle = (hoh) / 180 * MDS_PI                                            \
    }
#define ATOM(label, number, weight, q, sig, eps)                                                             \
    {                                                                                                        \
        .residue = label, .name = {label}, .n_sites = 1, .element = {number}, .mass = {weight},              \
        .charge = {q}, .sigma = sig, .epsilon = eps                                                          \
    }
#define TIP3P WATER(0.417, 0.315061, 0.6364, 0.09572, 104.52)
#define WATER_MASS 18.0154
#define PER_MOLAR 0.602214076 // mol/l in 1/nm^3

static const recipe recipes[] = {
    {.name = "water", .molecule = {TIP3P}, .volume = {WATER_MASS * MDS_DENSITY / 985}, .temperature = 300},
    {.name = "spce",
     .molecule = {WATER(0.4238, 0.3166, 0.650, 0.1, 109.47)},
     .volume = {WATER_MASS * MDS_DENSITY / 997},
     .temperature = 300},
    {.name = "argon",
     .molecule = {ATOM("AR", 18, 39.948, 0, 0.34, 120 * MDS_BOLTZMANN)},
     .volume = {39.948 * MDS_DENSITY / 1374},
     .temperature = 94.4},
    // Joung and Cheatham's table 5 gives Rmin/2 in A and epsilon in kcal/mol: 1.369, 0.0874393; 2.513, 0.0355910
    {.name = "salt",
     .molecule = {TIP3P, ATOM("NA", 11, 22.98977, 1, 0.2 * 1.369 / 1.122462048309373, 0.0874393 * MDS_KCAL),
                  ATOM("CL", 17, 35.453, -1, 0.2 * 2.513 / 1.122462048309373, 0.0355910 * MDS_KCAL)},
     .volume = {WATER_MASS * MDS_DENSITY / 985, 0.5e-3 * 16.6 / PER_MOLAR, 0.5e-3 * 16.6 / PER_MOLAR},
     .temperature = 300,
     .salt = 0.15 * PER_MOLAR},
};

const char *mds_make_names(void)
{
    return "water, spce, argon, salt";
}

/// How many molecules of each species in the whole and in the cell, and how many copies.
typedef struct {
    int32_t total[MDS_MAKE_SPECIES], cell[MDS_MAKE_SPECIES], copies; // copies along each edge
} plan;

static int32_t ceil_div(int32_t a, int64_t b)
{
    return (int32_t)((a + b - 1) / b);
}

static plan make_plan(const recipe *r, int32_t n_atoms)
{
    const double solvent_per_atom = r->volume[0] / r->molecule[0].n_sites;
    const double pairs = r->salt * n_atoms * solvent_per_atom; // the ions' own volume is 1 part in 400: left out
    const int32_t n_pairs = r->salt > 0 ? (int32_t)fmax(1, rint(pairs)) : 0;
    const double  solvent = (double)(n_atoms - 2 * n_pairs) / r->molecule[0].n_sites;
    plan          best = {.total = {(int32_t)fmax(1, rint(solvent)), n_pairs, n_pairs}};
    double        best_surplus = INFINITY;
    const int32_t first = (int32_t)ceil(cbrt((double)best.total[0] / MAX_CELL) - 1e-9);
    int32_t       copies, k;

    // the fewest copies, or with salt one of the next few if that leaves fewer ion pairs to take out
    for (copies = first; copies < first + (n_pairs && first > 1 ? 4 : 1); copies++) {
        const int64_t n = (int64_t)copies * copies * copies;
        const double  surplus = n_pairs ? (double)(ceil_div(n_pairs, n) * n - n_pairs) / n_pairs : 0;

        if (surplus >= best_surplus - 0.01 && best.copies) continue;
        best_surplus = surplus;
        best.copies = copies;
        for (k = 0; k < MDS_MAKE_SPECIES; k++) best.cell[k] = ceil_div(best.total[k], n);
    }
    return best;
}

/// Geometry-free part of a molecule: atoms, exclusions, constraints.
static mds_status add_molecule(mds_system *system, const mds_make_molecule *molecule, int32_t type, int32_t number)
{
    const double  hh = 2 * molecule->bond * sin(molecule->angle / 2);
    const int32_t first = system->n_atoms;
    int32_t       residue;
    int           s, t;

    MDS_TRY(mds_system_add_residue(system, molecule->residue, number, &residue));
    for (s = 0; s < molecule->n_sites; s++)
        MDS_TRY(mds_system_add_atom(system, molecule->name[s], residue, s ? 0 : type, molecule->charge[s],
                                    molecule->mass[s], molecule->element[s], NULL));
    for (s = 0; s < molecule->n_sites; s++)
        for (t = s + 1; t < molecule->n_sites; t++) {
            MDS_TRY(mds_system_add_exclusion(system, first + s, first + t));
            MDS_TRY(mds_system_add_constraint(system, first + s, first + t, s ? hh : molecule->bond));
        }
    return MDS_OK;
}

/// LJ types: 0 has none (hydrogens), 1 + k is site 0 of species k; Lorentz-Berthelot.
static mds_status add_types(mds_system *system, const recipe *r)
{
    int a, b, n = 0;

    while (n < MDS_MAKE_SPECIES && r->molecule[n].n_sites) n++;
    MDS_TRY(mds_system_set_types(system, n + 1, false));
    for (a = 0; a < n; a++)
        for (b = 0; b <= a; b++) {
            const double one[2] = {r->molecule[a].sigma, r->molecule[a].epsilon};
            const double two[2] = {r->molecule[b].sigma, r->molecule[b].epsilon};
            double       c6, c12;

            mds_lj_combine(2, one, two, &c6, &c12);
            mds_system_set_lj(system, a + 1, b + 1, c6, c12);
        }
    return MDS_OK;
}

/// Is the k-th molecule (0 .. n-1) of a species in a copy one of those taken out? `surplus` copies lose one each:
/// those at which floor(copy surplus / n_copies) steps up.
static bool is_taken_out(int64_t copy, int64_t n_copies, int32_t surplus, int32_t k, int32_t n, uint64_t seed)
{
    double u[4];

    if (copy * surplus / n_copies == (copy + 1) * surplus / n_copies) return false;
    mds_uniform4(seed, MDS_RNG_MAKE, 3, (uint32_t)copy, u);
    return k == (int32_t)(u[0] * n);
}

/// All copies of one species of the cell, into system and state. The cell lists each species' molecules in `order`.
static mds_status add_copies(const recipe *r, const plan *p, const mds_make_cell *cell, int species, uint64_t seed,
                             mds_system *system, mds_state *state)
{
    const mds_make_molecule *molecule = &r->molecule[species];
    const int64_t            n_copies = (int64_t)p->copies * p->copies * p->copies;
    const int32_t            surplus = (int32_t)(n_copies * p->cell[species] - p->total[species]);

    for (int64_t copy = 0; copy < n_copies; copy++) {
        const int64_t at[3] = {copy % p->copies, copy / p->copies % p->copies, copy / p->copies / p->copies};
        int32_t       k = 0;

        for (int32_t i = 0; i < cell->n; i++) {
            const int32_t first = system->n_atoms;

            if (cell->species[i] != species) continue;
            if (is_taken_out(copy, n_copies, surplus, k++, p->cell[species], seed)) continue;
            MDS_TRY(add_molecule(system, molecule, species + 1, system->name.n_residues + 1));
            for (int s = 0; s < molecule->n_sites; s++)
                for (int d = 0; d < 3; d++) state->x[first + s][d] = cell->x[i][s][d] + (double)at[d] * cell->edge;
        }
    }
    return MDS_OK;
}

static mds_status make_cell(const recipe *r, const plan *p, uint64_t seed, mds_make_cell *cell)
{
    const double n_copies = (double)p->copies * p->copies * p->copies;
    double  volume = 0, energy;
    int32_t k, i = 0;

    cell->molecule = r->molecule;
    for (k = 0; k < MDS_MAKE_SPECIES; k++) {
        cell->n += p->cell[k];
        volume += p->total[k] * r->volume[k] / n_copies;
    }
    cell->edge = cbrt(volume);
    MDS_TRY(mds_alloc(&cell->species, (size_t)cell->n, sizeof *cell->species));
    MDS_TRY(mds_alloc(&cell->x, (size_t)cell->n, sizeof *cell->x));
    for (k = 0; k < MDS_MAKE_SPECIES; k++)
        for (int32_t m = 0; m < p->cell[k]; m++) cell->species[i++] = k;
    mds_make_cell_fill(cell, seed);
    return mds_make_cell_relax(cell, r->temperature, N_SWEEPS, seed, &energy);
}

/// Take the centre-of-mass velocity out: a box that drifts as a whole would lose that energy at the first removal.
static void stop_drift(const mds_system *system, mds_state *state)
{
    double momentum[3] = {0, 0, 0}, mass = 0;

    for (int32_t i = 0; i < system->n_atoms; i++) {
        for (int k = 0; k < 3; k++) momentum[k] += system->mass[i] * state->v[i][k];
        mass += system->mass[i];
    }
    for (int32_t i = 0; i < system->n_atoms; i++)
        for (int k = 0; k < 3; k++) state->v[i][k] -= momentum[k] / mass;
}

mds_status mds_make(const char *name, int32_t n_atoms, uint64_t seed, mds_system *system, mds_state *state)
{
    const recipe *r = NULL;
    mds_make_cell cell = {0};
    mds_status    status = MDS_OK;
    plan          p;
    int32_t       total = 0, k;

    for (size_t m = 0; m < sizeof recipes / sizeof *recipes; m++)
        if (!strcmp(recipes[m].name, name)) r = &recipes[m];
    MDS_CHECK(r, MDS_E_INPUT, "no made system is called '%s'; there are %s", name, mds_make_names());
    MDS_CHECK(n_atoms >= r->molecule[0].n_sites + (r->salt > 0 ? 2 : 0) && n_atoms <= 700000000, MDS_E_INPUT,
              "a made system of %d atoms is not possible: at least one molecule%s and at most 700000000 atoms", n_atoms,
              r->salt > 0 ? " and one ion pair" : "");
    p = make_plan(r, n_atoms);
    for (k = 0; k < MDS_MAKE_SPECIES; k++) total += p.total[k] * r->molecule[k].n_sites;

    MDS_TRY_GOTO(make_cell(r, &p, seed, &cell));
    MDS_TRY_GOTO(add_types(system, r));
    MDS_TRY_GOTO(mds_state_init(state, total));
    for (k = 0; k < MDS_MAKE_SPECIES; k++)
        if (p.total[k]) MDS_TRY_GOTO(add_copies(r, &p, &cell, k, seed, system, state));
    MDS_ASSERT(system->n_atoms == total);
    for (k = 0; k < 3; k++) state->box.a[k][k] = cell.edge * p.copies;
    state->seed = seed;
    mds_state_draw_velocities(system, r->temperature, seed, state);
    stop_drift(system, state);
    state->has_velocities = true;
fail:
    mds_free(cell.species);
    mds_free(cell.x);
    return status;
}
