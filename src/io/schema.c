// SPDX-License-Identifier: Apache-2.0
// The schema: one row per key of an input file. Type, unit, default, range, words, help and the field of
// mds_config stand here once; the reader, the messages, `explain` and docs/config.md are all made from these
// rows.
//
// Defaults are written as libconfig text and read by the code that reads a user's value. The first word of a
// choice is its default. Ranges are wide: they catch slips of the decimal point and of the unit, not unusual
// physics.
#include "io/config.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(member) .offset = offsetof(mds_config, member), .size = sizeof(((mds_config *)0)->member)
#define TEXT(member) .kind = MDS_KEY_TEXT, .value = "\"\"", .shown = "not given", .unit = "", FIELD(member)
#define TEXTS(member) .kind = MDS_KEY_TEXTS, .value = "[]", .shown = "none", .unit = "", FIELD(member)
#define CHOICE(member) .kind = MDS_KEY_CHOICE, .unit = "", FIELD(member)
#define NUMBER(member) .kind = MDS_KEY_NUMBER, FIELD(member)
#define INTEGER(member) .kind = MDS_KEY_INTEGER, FIELD(member)
#define BOOL(member) .kind = MDS_KEY_BOOL, .unit = "", FIELD(member)
#define LARGEST 9.2e18 // inside int64_t

const mds_key_group mds_key_groups[] = {
    {"system", "What is simulated: files of a topology and coordinates, or a box that mdsim makes itself."},
    {"run", "How it moves and for how long."},
    {"nonbonded", "Lennard-Jones and Coulomb interactions."},
    {"pme",
     "The mesh of the long-range Coulomb interaction. `force_error` chooses whatever else is not given."},
    {"constraints", "Fixed bond lengths and hydrogen masses."},
    {"thermostat", "Temperature coupling."},
    {"barostat", "Pressure coupling."},
    {"output", "Which files are written and how often."},
    {"backend", "Where and how it is computed. Nothing here changes the physics."},
    {"cost", "Guards that stop a run, with a good checkpoint, before it costs more than it is worth."},
};
const int mds_n_key_groups = (int)(sizeof mds_key_groups / sizeof *mds_key_groups);

// clang-format off
const mds_key mds_keys[] = {
    // system
    {.name = "system.topology", TEXT(system.topology),
     .help = "Topology: a GROMACS .top or an AMBER prmtop (.prmtop, .parm7), told apart by content."},
    {.name = "system.coordinates", TEXT(system.coordinates),
     .help = "Coordinates: .gro, .pdb, or an AMBER inpcrd, rst7 or NetCDF restart."},
    {.name = "system.velocities", CHOICE(system.velocities), .value = "\"file\"",
     .choice = {{"file", MDS_VELOCITIES_FILE}, {"draw", MDS_VELOCITIES_DRAW}},
     .help = "Where velocities come from. Where the file has none they are drawn at `run.temperature`, and a notice says so."},
    {.name = "system.box", .kind = MDS_KEY_BOX, FIELD(system.box_source), .unit = "nm", .value = "\"file\"",
     .choice = {{"file", MDS_BOX_FILE}, {"none", MDS_BOX_NONE}},
     .help = "The periodic box: from the coordinates, else the topology; none (vacuum); or given as 3 lengths, as 3 lengths "
             "and 3 angles in degrees, or as 9 numbers, the box vectors row by row."},
    {.name = "system.defines", TEXTS(system.defines),
     .help = "Names defined for the preprocessor of a .top, as \"NAME\" or \"NAME=VALUE\"."},
    {.name = "system.include", TEXTS(system.include), .help = "Directories in which a .top seeks its includes."},
    {.name = "system.restraint_reference", TEXT(system.restraint_reference),
     .help = "Coordinates that position restraints pull to; not given: the starting coordinates."},
    {.name = "system.generate", TEXT(system.generate),
     .help = "A system that mdsim makes instead of reading files: \"water\", \"spce\", \"argon\" or \"salt\"."},
    {.name = "system.atoms", INTEGER(system.atoms), .unit = "1", .value = "0", .low = 1, .high = INT32_MAX,
     .zero = "not given", .help = "About how many atoms `system.generate` makes."},
    {.name = "system.inpcrd_extra", CHOICE(system.inpcrd_extra), .value = "\"auto\"",
     .choice = {{"auto", 0}, {"velocities", 1}, {"box", 2}},
     .help = "What the last lines of an inpcrd are where the count of lines leaves it open (two atoms)."},
    // run
    {.name = "run.integrator", CHOICE(run.integrator), .value = "\"verlet\"",
     .choice = {{"verlet", MDS_INTEGRATOR_VERLET},
                {"leapfrog", MDS_INTEGRATOR_LEAPFROG},
                {"langevin", MDS_INTEGRATOR_LANGEVIN},
                {"minimize", MDS_INTEGRATOR_MINIMIZE}},
     .help = "Velocity Verlet, leap-frog, Langevin dynamics (middle scheme; friction 1/`thermostat.tau`), or energy "
             "minimisation (FIRE)."},
    {.name = "run.steps", INTEGER(run.steps), .unit = "steps", .value = "10000", .high = LARGEST,
     .help = "Length of the run. Raising it and running again extends a completed run."},
    {.name = "run.dt", NUMBER(run.dt), .unit = "ps", .value = "0.002", .low = 1e-6, .high = 0.1, .help = "Time step."},
    {.name = "run.seed", INTEGER(run.seed), .unit = "1", .value = "1", .high = LARGEST,
     .help = "Key of every random number: drawn velocities, noise, v-rescale, C-rescale."},
    {.name = "run.temperature", NUMBER(run.temperature), .unit = "K", .value = "300.0", .high = 1e5,
     .help = "Temperature at which velocities are drawn."},
    {.name = "run.remove_com", CHOICE(run.remove_com), .value = "\"linear\"",
     .shown = "\"linear\"; \"none\" with Langevin",
     .choice = {{"linear", MDS_COM_LINEAR}, {"none", MDS_COM_NONE}},
     .help = "Remove the motion of the centre of mass (and, without a box, rotation)."},
    {.name = "run.max_wall", NUMBER(run.max_wall), .unit = "h", .value = "0.0", .low = 1e-4, .high = 1e5, .zero = "off",
     .help = "Wall-clock time after which the run writes a checkpoint and stops (exit code 79)."},
    {.name = "run.list_interval", INTEGER(run.list_interval), .unit = "steps", .value = "0", .low = 1, .high = 1000,
     .zero = "chosen", .help = "Steps between scheduled rebuilds of the pair list. Atoms that move too far rebuild it earlier."},
    {.name = "run.couple_every", INTEGER(run.couple_every), .unit = "steps", .value = "0", .low = 1, .high = 1000,
     .zero = "chosen", .help = "Steps between actions of thermostat, barostat and centre-of-mass removal."},
    {.name = "run.mesh_every", INTEGER(run.mesh_every), .unit = "steps", .value = "1", .low = 1, .high = 4,
     .help = "Multiple time steps: the mesh of PME acts in every so many steps, that many times as strongly (r-RESPA). Constant volume "
             "only; outputs and couplings fall on those steps."},
    {.name = "run.force_tolerance", NUMBER(run.force_tolerance), .unit = "kJ/mol/nm", .value = "10.0", .low = 1e-9,
     .high = 1e6, .help = "Minimisation ends when no force on an atom is larger."},
    {.name = "run.max_move", NUMBER(run.max_move), .unit = "nm", .value = "0.01", .low = 1e-6, .high = 1,
     .help = "Largest move of an atom in one step of minimisation."},
    // nonbonded
    {.name = "nonbonded.cutoff", NUMBER(nonbonded.cutoff), .unit = "nm", .value = "0.9", .low = 0.1, .high = 100,
     .zero = "all pairs (no box only)", .help = "Cut-off of both interactions."},
    {.name = "nonbonded.lj_cutoff", NUMBER(nonbonded.lj_cutoff), .unit = "nm", .value = "-1.0",
     .shown = "`nonbonded.cutoff`", .low = 0.1, .high = 100, .zero = "all pairs (no box only)",
     .help = "Cut-off of Lennard-Jones, where it differs."},
    {.name = "nonbonded.coulomb_cutoff", NUMBER(nonbonded.coulomb_cutoff), .unit = "nm", .value = "-1.0",
     .shown = "`nonbonded.cutoff`", .low = 0.1, .high = 100, .zero = "all pairs (no box only)",
     .help = "Cut-off of Coulomb (its direct part with PME), where it differs."},
    {.name = "nonbonded.lj_modifier", CHOICE(nonbonded.lj_modifier), .value = "\"potential-shift\"",
     .choice = {{"potential-shift", MDS_LJ_SHIFT},
                {"none", MDS_LJ_CUT},
                {"potential-switch", MDS_LJ_SWITCH},
                {"force-switch", MDS_LJ_FORCE_SWITCH}},
     .help = "How Lennard-Jones ends at its cut-off."},
    {.name = "nonbonded.lj_switch", NUMBER(nonbonded.lj_switch), .unit = "nm", .value = "0.8", .low = 0, .high = 100,
     .help = "Where potential-switch and force-switch begin."},
    {.name = "nonbonded.tail_correction", BOOL(nonbonded.tail_correction), .value = "true",
     .help = "Add the mean dispersion beyond the cut-off to energy and pressure."},
    {.name = "nonbonded.coulomb", CHOICE(nonbonded.coulomb), .value = "\"pme\"",
     .choice = {{"pme", MDS_COULOMB_PME},
                {"reaction-field", MDS_COULOMB_REACTION_FIELD},
                {"cutoff", MDS_COULOMB_CUT},
                {"none", MDS_COULOMB_NONE}},
     .help = "Smooth particle mesh Ewald, reaction field, plain cut-off, or no Coulomb interaction."},
    {.name = "nonbonded.coulomb_modifier", CHOICE(nonbonded.coulomb_shift), .value = "\"potential-shift\"",
     .choice = {{"potential-shift", true}, {"none", false}},
     .help = "How Coulomb ends at its cut-off, for the Gaussian split and plain cut-offs; the prolate split ends at zero by "
             "itself."},
    {.name = "nonbonded.rf_dielectric", NUMBER(nonbonded.rf_dielectric), .unit = "1", .value = "0.0", .low = 1,
     .high = 1e6, .zero = "infinite", .help = "Dielectric constant beyond the cut-off of the reaction field."},
    {.name = "nonbonded.list_buffer", NUMBER(nonbonded.list_buffer), .unit = "nm", .value = "0.0", .low = 1e-3, .high = 5,
     .zero = "chosen", .help = "How far the pair list reaches beyond the cut-off."},
    {.name = "nonbonded.list_tolerance", NUMBER(nonbonded.list_tolerance), .unit = "kJ/mol/ps/atom", .value = "5e-07", .low = 1e-12,
     .high = 1, .help = "Energy that pairs missing from the lists may cost: list buffers that are not given follow from it."},
    // pme
    {.name = "pme.split", CHOICE(pme.split), .value = "\"prolate\"",
     .choice = {{"prolate", MDS_SPLIT_PROLATE}, {"gaussian", MDS_SPLIT_GAUSSIAN}},
     .help = "How 1/r is split between pairs and mesh: the edge-subtracted prolate function, or Ewald's Gaussian."},
    {.name = "pme.force_error", NUMBER(pme.force_error), .unit = "kJ/mol/nm", .value = "0.5", .low = 1e-6, .high = 100,
     .help = "Accepted error of the force: rms over atoms of the force vector's error, mesh and truncation together."},
    {.name = "pme.order", INTEGER(pme.order), .unit = "1", .value = "0", .low = 4, .high = 8, .zero = "chosen",
     .help = "Order of the B-splines."},
    {.name = "pme.spacing", NUMBER(pme.spacing), .unit = "nm", .value = "0.0", .low = 0.01, .high = 1, .zero = "chosen",
     .help = "Largest spacing of the mesh."},
    {.name = "pme.grid", .kind = MDS_KEY_GRID, FIELD(pme.grid), .unit = "points", .value = "[0, 0, 0]",
     .shown = "chosen", .low = 4, .high = 4096, .zero = "chosen",
     .help = "Mesh points along the three box vectors; overrides `pme.spacing`."},
    {.name = "pme.beta", NUMBER(pme.beta), .unit = "1/nm", .value = "0.0", .low = 0.1, .high = 50, .zero = "chosen",
     .help = "Splitting parameter of the Gaussian; giving it chooses the Gaussian split."},
    {.name = "pme.c", NUMBER(pme.c), .unit = "1", .value = "0.0", .low = 4, .high = 40, .zero = "chosen",
     .help = "Shape of the prolate split: larger cuts less off and needs a finer mesh."},
    // constraints
    {.name = "constraints.kind", CHOICE(constraints.kind), .value = "\"h-bonds\"",
     .choice = {{"h-bonds", MDS_CONSTRAIN_H_BONDS},
                {"none", MDS_CONSTRAIN_NONE},
                {"all-bonds", MDS_CONSTRAIN_ALL_BONDS}},
     .help = "Which bonds become constraints; their bond energy goes. What a .top constrains itself always holds."},
    {.name = "constraints.rigid_water", BOOL(constraints.rigid_water), .value = "true",
     .help = "Make the waters of an AMBER topology rigid. In GROMACS files `[ settles ]` decides."},
    {.name = "constraints.hydrogen_mass", NUMBER(constraints.hydrogen_mass), .unit = "Da", .value = "0.0", .low = 1,
     .high = 10, .zero = "off",
     .help = "Mass of each hydrogen not in a water, taken from its heavy atom: allows longer time steps."},
    {.name = "constraints.tolerance", NUMBER(constraints.tolerance), .unit = "1", .value = "1e-8", .low = 1e-14,
     .high = 1e-3, .help = "Relative error of a length that the general solver accepts."},
    // thermostat
    {.name = "thermostat.kind", CHOICE(thermostat.kind), .value = "\"none\"",
     .choice = {{"none", MDS_THERMOSTAT_NONE},
                {"v-rescale", MDS_THERMOSTAT_V_RESCALE},
                {"nose-hoover", MDS_THERMOSTAT_NOSE_HOOVER},
                {"langevin", MDS_THERMOSTAT_LANGEVIN},
                {"andersen", MDS_THERMOSTAT_ANDERSEN},
                {"berendsen", MDS_THERMOSTAT_BERENDSEN}},
     .help = "Stochastic velocity rescaling, or Langevin dynamics (the same as `run.integrator = \"langevin\"`). This version "
             "refuses the others."},
    {.name = "thermostat.temperature", NUMBER(thermostat.temperature), .unit = "K", .value = "300.0", .high = 1e5,
     .help = "Target temperature, also of the barostat's noise. Where it is not given it follows `run.temperature`."},
    {.name = "thermostat.tau", NUMBER(thermostat.tau), .unit = "ps", .value = "0.5", .low = 1e-4, .high = 1e5,
     .help = "Coupling time; Langevin friction is 1/tau."},
    // barostat
    {.name = "barostat.kind", CHOICE(barostat.kind), .value = "\"none\"",
     .choice = {{"none", MDS_BAROSTAT_NONE},
                {"c-rescale", MDS_BAROSTAT_C_RESCALE},
                {"monte-carlo", MDS_BAROSTAT_MONTE_CARLO},
                {"parrinello-rahman", MDS_BAROSTAT_PARRINELLO_RAHMAN},
                {"berendsen", MDS_BAROSTAT_BERENDSEN}},
     .help = "Stochastic cell rescaling. This version refuses the others."},
    {.name = "barostat.coupling", CHOICE(barostat.coupling), .value = "\"isotropic\"",
     .choice = {{"isotropic", MDS_ISOTROPIC},
                {"semi-isotropic", MDS_SEMI_ISOTROPIC},
                {"anisotropic", MDS_ANISOTROPIC}},
     .help = "Which changes of the box are free. This version has the isotropic one."},
    {.name = "barostat.pressure", NUMBER(barostat.pressure), .unit = "bar", .value = "1.0", .low = -1e6, .high = 1e6,
     .help = "Target pressure."},
    {.name = "barostat.tau", NUMBER(barostat.tau), .unit = "ps", .value = "2.0", .low = 1e-3, .high = 1e6,
     .help = "Coupling time."},
    {.name = "barostat.compressibility", NUMBER(barostat.compressibility), .unit = "1/bar", .value = "4.5e-5",
     .low = 1e-9, .high = 1, .help = "Isothermal compressibility; it sets the time scale only."},
    // output
    {.name = "output.name", .kind = MDS_KEY_TEXT, FIELD(output.name), .unit = "", .value = "\"run\"",
     .help = "Name of the output files without extension, beside the conf unless it has a path: NAME.h5md (trajectory), "
             "NAME.csv (energies), NAME.log, NAME.chk (checkpoint), NAME.gro (last frame)."},
    {.name = "output.trajectory_every", INTEGER(output.trajectory_every), .unit = "steps", .value = "5000", .low = 1,
     .high = LARGEST, .zero = "off", .help = "Steps between frames of the trajectory."},
    {.name = "output.energy_every", INTEGER(output.energy_every), .unit = "steps", .value = "500", .low = 1,
     .high = LARGEST, .zero = "off", .help = "Steps between rows of energies."},
    {.name = "output.checkpoint_minutes", NUMBER(output.checkpoint_minutes), .unit = "min", .value = "15.0",
     .low = 1e-3, .high = 1e6, .zero = "off", .help = "Wall-clock time between checkpoints."},
    {.name = "output.checkpoint_every", INTEGER(output.checkpoint_every), .unit = "steps", .value = "0", .low = 1,
     .high = LARGEST, .zero = "off", .help = "Steps between checkpoints, beside `output.checkpoint_minutes`."},
    {.name = "output.velocities", BOOL(output.velocities), .value = "false",
     .help = "Write velocities to the trajectory."},
    {.name = "output.forces", BOOL(output.forces), .value = "false", .help = "Write forces to the trajectory."},
    {.name = "output.precision", NUMBER(output.precision), .unit = "nm", .value = "0.0", .low = 1e-7, .high = 0.1,
     .zero = "lossless", .help = "Round positions of the trajectory to about this, so that it compresses better."},
    {.name = "output.part_gb", NUMBER(output.part_gb), .unit = "GB", .value = "0.0", .low = 1e-3, .high = 1e6,
     .zero = "one file", .help = "Begin a new part of the trajectory at this size; a finished part never changes."},
    // backend
    {.name = "backend.kind", CHOICE(backend.kind), .value = "\"auto\"",
     .choice = {{"auto", MDS_KIND_AUTO},
                {"ref", MDS_KIND_REF},
                {"cpu", MDS_KIND_CPU},
                {"cuda", MDS_KIND_CUDA},
                {"emu", MDS_KIND_EMU}},
     .help = "What computes: the best there is, the plain double-precision reference, the CPU, a GPU, or the GPU's kernels "
             "run on the CPU for tests."},
    {.name = "backend.threads", INTEGER(backend.threads), .unit = "1", .value = "0", .low = 1, .high = 4096,
     .zero = "every core it may use", .help = "Threads."},
    {.name = "backend.isa", .kind = MDS_KEY_WORD, FIELD(backend.isa), .unit = "", .value = "\"auto\"",
     .choice = {{"auto", 0}, {"generic", 1}, {"avx2", 2}, {"avx512", 3}, {"octet", 4}, {"lane", 5}, {"tile", 6},
                {"octet-cufft", 7}, {"octet-block", 8}, {"octet-gemm", 9}, {"lane-cufft", 10}, {"lane-block", 11}, {"lane-gemm", 12},
                {"tile-cufft", 13}, {"tile-block", 14}, {"tile-gemm", 15}},
     .help = "Instruction set of the CPU kernels (generic to avx512), or pair kernel of the GPU (octet, lane, tile), with a way to "
             "transform the mesh behind it if another than the device's own choice is wanted."},
    {.name = "backend.precision", CHOICE(backend.precision), .value = "\"mixed\"",
     .choice = {{"mixed", MDS_PRECISION_MIXED}, {"double", MDS_PRECISION_DOUBLE}},
     .help = "Mixed: pair and mesh forces in single precision, everything that accumulates in double. Double: "
             "`ref` and `cuda` only, slow, for validation and minimisation."},
    {.name = "backend.deterministic", CHOICE(backend.deterministic), .value = "\"yes\"",
     .choice = {{"yes", MDS_DETERMINISTIC_YES}, {"no", MDS_DETERMINISTIC_NO}, {"ranks", MDS_DETERMINISTIC_RANKS}},
     .help = "Yes: same machine kind, same threads, same bits. No: on a GPU in mixed precision forces are summed in float in whatever "
             "order threads come; on the CPU it changes nothing. Ranks: the same bits on any number of ranks (this version refuses it)."},
    {.name = "backend.tune", CHOICE(backend.tune), .value = "\"auto\"",
     .choice = {{"auto", MDS_TUNE_AUTO}, {"fixed", MDS_TUNE_FIXED}},
     .help = "Try settings of equal accuracy at the start and keep the fastest, or take fixed ones."},
    // cost
    {.name = "cost.price_per_hour", NUMBER(cost.price_per_hour), .unit = "USD/h", .value = "0.0", .low = 1e-6,
     .high = 1e6, .zero = "not given", .help = "Price of the machine."},
    {.name = "cost.max_cost", NUMBER(cost.max_cost), .unit = "USD", .value = "0.0", .low = 1e-6, .high = 1e9,
     .zero = "off", .help = "Stop (exit code 79) before the run, all its launches together, has cost more."},
    {.name = "cost.stop_if_below", NUMBER(cost.stop_if_below), .unit = "1", .value = "0.0", .low = 1e-3, .high = 1,
     .zero = "off", .help = "Stop (exit code 79) when the speed falls below this fraction of the predicted one."},
    {.name = "cost.predicted_ns_per_day", NUMBER(cost.predicted_ns_per_day), .unit = "ns/day", .value = "0.0",
     .low = 1e-6, .high = 1e9, .zero = "not given", .help = "The speed that was promised, for `cost.stop_if_below`."},
    {.name = "cost.predicted_basis", CHOICE(cost.predicted_basis), .value = "\"measured\"",
     .choice = {{"measured", MDS_BASIS_MEASURED}, {"scaled", MDS_BASIS_SCALED}, {"modelled", MDS_BASIS_MODELLED}},
     .help = "Where that speed comes from, in the words of `mdsim plan`. `cost.stop_if_below` acts on a measured one only."},
};
// clang-format on
enum { N_KEYS = sizeof mds_keys / sizeof *mds_keys };

int mds_config_n_keys(void)
{
    return N_KEYS;
}

const char *mds_config_key_name(int key)
{
    return mds_keys[key].name;
}

const char *mds_config_key_unit(int key)
{
    return mds_keys[key].unit;
}

const char *mds_config_key_zero(int key)
{
    return mds_keys[key].zero;
}

int mds_key_find(const char *name)
{
    int k;

    for (k = 0; k < N_KEYS; k++)
        if (!strcmp(mds_keys[k].name, name)) return k;
    return -1;
}

int mds_key_group_find(const char *name, size_t n)
{
    int g;

    for (g = 0; g < mds_n_key_groups; g++)
        if (strlen(mds_key_groups[g].name) == n && !memcmp(mds_key_groups[g].name, name, n)) return g;
    return -1;
}

// ---------------------------------------------------------------------------------------------- suggestions

/// Edits between two words; a word that only lacks its end counts as one.
static int distance_of(const char *word, const char *other)
{
    const size_t n = strlen(word);

    return n >= 3 && !strncmp(word, other, n) && other[n] ? 1 : mds_text_distance(word, other);
}

/// The nearest of `n` words, -1 if none is within 3 edits or half of the word. `get` gives word k or NULL.
static int nearest(const char *word, int n, const char *(*get)(int k, const void *of), const void *of)
{
    const int half = ((int)strlen(word) + 1) / 2, most = half < 3 ? half : 3;
    int       k, best = -1, least = most + 1;

    for (k = 0; k < n; k++) {
        const char *other = get(k, of);
        const int   distance = other ? distance_of(word, other) : INT_MAX;

        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    return best;
}

static const char *group_name(int g, const void *of)
{
    (void)of;
    return mds_key_groups[g].name;
}

static const char *key_of_any(int k, const void *of)
{
    (void)of;
    return strchr(mds_keys[k].name, '.') + 1;
}

static const char *key_of_group(int k, const void *group)
{
    const size_t n = strlen(group);

    return !strncmp(mds_keys[k].name, group, n) && mds_keys[k].name[n] == '.' ? mds_keys[k].name + n + 1
                                                                              : NULL;
}

void mds_key_suggest(const char *name, mds_text *out)
{
    const char  *dot = strchr(name, '.'), *key = dot ? dot + 1 : name;
    char        *group = NULL;
    const size_t n = dot ? (size_t)(dot - name) : 0;
    int          g = dot ? mds_key_group_find(name, n) : -1, k = -1;

    if (dot && mds_copy_text(&group, name, n) != MDS_OK) return;
    if (g < 0 && group) g = nearest(group, mds_n_key_groups, group_name, NULL);
    if (g >= 0) k = nearest(key, N_KEYS, key_of_group, mds_key_groups[g].name);
    if (k < 0) k = nearest(key, N_KEYS, key_of_any, NULL);
    if (k >= 0)
        mds_text_add(out, "; did you mean '%s'?", mds_keys[k].name);
    else if (!dot && (g = nearest(name, mds_n_key_groups, group_name, NULL)) >= 0)
        mds_text_add(out, "; did you mean the group '%s'?", mds_key_groups[g].name);
    mds_free(group);
}

int mds_key_group_near(const char *name)
{
    return nearest(name, mds_n_key_groups, group_name, NULL);
}

void mds_key_choices(const mds_key *key, mds_text *out)
{
    int c;

    for (c = 0; c < MDS_MAX_CHOICES && key->choice[c].word; c++)
        mds_text_add(out, "%s\"%s\"",
                     c == 0                                               ? ""
                     : c + 1 < MDS_MAX_CHOICES && key->choice[c + 1].word ? ", "
                                                                          : " or ",
                     key->choice[c].word);
}

// ------------------------------------------------------------------------------------------ values as text

void mds_key_number(double value, mds_text *out)
{
    char text[40];

    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
    mds_text_add(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

static void add_integer(int64_t value, mds_text *out)
{
    mds_text_add(out, "%lld%s", (long long)value, value > INT32_MAX || value < INT32_MIN ? "L" : "");
}

static void add_quoted(const char *s, mds_text *out)
{
    mds_text_add(out, "\"");
    for (; s && *s; s++) mds_text_add(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    mds_text_add(out, "\"");
}

static int choice_value(const mds_key *key, const void *field)
{
    int32_t word;

    if (key->size == sizeof(bool)) return *(const bool *)field;
    memcpy(&word, field, sizeof word);
    return word;
}

static void add_choice(const mds_key *key, const void *field, mds_text *out)
{
    const int value = choice_value(key, field);
    int       c;

    for (c = 0; c < MDS_MAX_CHOICES && key->choice[c].word; c++)
        if (key->choice[c].value == value) mds_text_add(out, "\"%s\"", key->choice[c].word);
}

static void add_box(const mds_config *config, const mds_key *key, mds_text *out)
{
    int k;

    if (config->system.box_source != MDS_BOX_GIVEN) {
        add_choice(key, &config->system.box_source, out);
        return;
    }
    for (k = 0; k < config->system.n_box; k++) {
        mds_text_add(out, k ? ", " : "[");
        mds_key_number(config->system.box[k], out);
    }
    mds_text_add(out, "]");
}

void mds_config_value(const mds_config *config, int index, mds_text *out)
{
    const mds_key *key = &mds_keys[index];
    const void    *field = (const char *)config + key->offset;
    const int32_t *grid = config->pme.grid;
    double         number;
    int32_t        k;

    switch (key->kind) {
    case MDS_KEY_TEXT:
    case MDS_KEY_WORD: add_quoted(*(char *const *)field, out); return;
    case MDS_KEY_CHOICE: add_choice(key, field, out); return;
    case MDS_KEY_BOOL: mds_text_add(out, "%s", *(const bool *)field ? "true" : "false"); return;
    case MDS_KEY_INTEGER:
        add_integer(key->size == sizeof(int64_t) ? *(const int64_t *)field : *(const int32_t *)field, out);
        return;
    case MDS_KEY_NUMBER:
        number = *(const double *)field;
        if (field == &config->nonbonded.lj_cutoff || field == &config->nonbonded.coulomb_cutoff)
            number = number < 0 ? config->nonbonded.cutoff : number;
        mds_key_number(number, out);
        return;
    case MDS_KEY_TEXTS:
        mds_text_add(out, "[");
        for (k = 0; k < ((const mds_strings *)field)->n; k++) {
            if (k) mds_text_add(out, ", ");
            add_quoted(((const mds_strings *)field)->item[k], out);
        }
        mds_text_add(out, "]");
        return;
    case MDS_KEY_GRID: mds_text_add(out, "[%d, %d, %d]", grid[0], grid[1], grid[2]); return;
    case MDS_KEY_BOX: add_box(config, key, out); return;
    }
}

// ---------------------------------------------------------------------------------------------- the document

static void add_legal(const mds_key *key, mds_text *out)
{
    static const char *const what[] = {
        "text", NULL, NULL, "integer", "number", "`true` or `false`", "list of texts", "3 integers", NULL};

    if (what[key->kind]) mds_text_add(out, "%s", what[key->kind]);
    if (key->choice[0].word) {
        mds_text_add(out, "`");
        mds_key_choices(key, out);
        mds_text_add(out, "`");
    }
    if (key->kind == MDS_KEY_BOX) mds_text_add(out, ", or 3, 6 or 9 numbers");
    if (key->high == LARGEST)
        mds_text_add(out, ", at least %g", key->low);
    else if (key->low != 0 || key->high != 0)
        mds_text_add(out, ", %.10g to %.10g", key->low, key->high);
    if (key->zero) mds_text_add(out, "; 0: %s", key->zero);
}

static void add_group(const mds_key_group *group, mds_text *out)
{
    const size_t n = strlen(group->name);
    int          k;

    mds_text_add(out, "\n## %s\n\n%s\n\n| key | unit | default | values | meaning |\n|---|---|---|---|---|\n",
                 group->name, group->help);
    for (k = 0; k < N_KEYS; k++) {
        const mds_key *key = &mds_keys[k];

        if (strncmp(key->name, group->name, n) || key->name[n] != '.') continue;
        mds_text_add(out, "| `%s` | %s | ", key->name + n + 1, strcmp(key->unit, "1") ? key->unit : "");
        if (key->shown)
            mds_text_add(out, "%s | ", key->shown);
        else
            mds_text_add(out, "`%s` | ", key->value);
        add_legal(key, out);
        mds_text_add(out, " | %s |\n", key->help);
    }
}

void mds_config_document(mds_text *out)
{
    int g;

    mds_text_add(
        out,
        "# Input keys\n\n"
        "Made from the schema in `src/io/schema.c`; a test fails when the two differ. Do not edit by hand:\n"
        "`build/mdsim document > docs/config.md` writes it anew.\n\n"
        "An input file is [libconfig](https://hyperrealm.github.io/libconfig/) text: groups of `key = "
        "value;`. Units are "
        "nm, ps, kJ/mol, bar, K, Da, e. Every key has a default, so that\n\n"
        "```\nsystem = { topology = \"topol.top\"; coordinates = \"conf.gro\"; };\n```\n\n"
        "is a whole input. An integer may stand where a number is meant, and `5e9` where an integer is "
        "meant; an integer "
        "beyond 32 bits needs an L (`5000000000L`). `@include \"file\"` stands first on its line, is "
        "relative to the file "
        "that it stands in, and may nest. Paths of inputs and outputs are relative to the conf. `--set "
        "group.key=value` "
        "on the command line overrides a key; a word needs no quotes there. `mdsim check` reports every "
        "mistake of a "
        "file at once, `mdsim explain` prints every setting with its origin.\n");
    for (g = 0; g < mds_n_key_groups; g++) add_group(&mds_key_groups[g], out);
    mds_text_add(
        out,
        "\n## Rules between keys\n\n"
        "- `run.integrator = \"langevin\"` and `thermostat.kind = \"langevin\"` mean the same; giving both, "
        "differently, "
        "is an error.\n"
        "- Minimisation uses neither thermostat nor barostat: a notice says that they are off.\n"
        "- `pme.beta` chooses the Gaussian split, `pme.c` the prolate one; giving the other `pme.split` "
        "beside it is an "
        "error. Keys of `pme` that are given are kept, the others are chosen to meet `pme.force_error`.\n"
        "- A cut-off of 0 means all pairs; it needs a system without a box and Coulomb by `\"cutoff\"` or "
        "`\"none\"`.\n"
        "- Without a box PME, tail correction and barostats are errors if asked for and off if only "
        "defaulted.\n"
        "- `potential-switch` and `force-switch` need `nonbonded.lj_switch` below the Lennard-Jones "
        "cut-off.\n"
        "- `system.generate` takes the place of `system.topology` and `system.coordinates`.\n"
        "- `cost.max_cost` needs `cost.price_per_hour`; `cost.stop_if_below` needs "
        "`cost.predicted_ns_per_day`.\n"
        "- What this build does not have is refused with exit code 78, other mistakes with 65, a missing "
        "file with 66.\n");
}
