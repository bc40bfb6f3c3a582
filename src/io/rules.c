// SPDX-License-Identifier: Apache-2.0
// What must hold between keys, and what one key settles for another. What depends on the system (cut-offs and
// the box, names of generated systems, files) is checked where the system is known.
//
// A rule is skipped when one of its keys has a problem of its own: its default would only bring a second,
// false message.
#include "io/config.h"

typedef struct {
    mds_config   *config;
    mds_problems *problems;
} checker;

static bool sound(const checker *ch, const char *key)
{
    const int k = mds_key_find(key);

    MDS_ASSERT(k >= 0);
    return !ch->problems->bad || !ch->problems->bad[k];
}

/// A rule broken; `key` is where the user should look.
static void broken(const checker *ch, mds_status status, const char *key, const char *fmt, ...)
    MDS_PRINTF(4, 5);

static void broken(const checker *ch, mds_status status, const char *key, const char *fmt, ...)
{
    mds_text text = {0};
    va_list  args;

    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    if (text.failed)
        ch->problems->lost = true;
    else
        mds_problem_add(ch->problems, MDS_ORDER_RULE, status, "%s: %s",
                        mds_config_given(ch->config, key) ? mds_config_origin(ch->config, key)
                                                          : ch->config->path,
                        text.s);
    mds_text_free(&text);
}

/// Note that the value of `key` follows from that of `by`.
static void imply(const checker *ch, const char *key, const char *by)
{
    char   **origin = &ch->config->origin[mds_key_find(key)];
    mds_text text = {0};

    if (*origin) return;
    mds_text_add(&text, "follows from %s", by);
    if (text.failed)
        ch->problems->lost = true;
    else
        *origin = text.s;
}

// ---------------------------------------------------------------------------------------------------- rules

static void check_system(const checker *ch)
{
    const mds_config *c = ch->config;
    const bool        files = c->system.topology || c->system.coordinates;

    if (!sound(ch, "system.topology") || !sound(ch, "system.coordinates") || !sound(ch, "system.generate") ||
        !sound(ch, "system.atoms"))
        return;
    if (c->system.generate && files)
        broken(ch, MDS_E_INPUT, "system.generate",
               "system.generate excludes system.topology and system.coordinates");
    else if (c->system.generate && c->system.atoms == 0)
        broken(ch, MDS_E_INPUT, "system.generate",
               "system.generate needs system.atoms, the size of the system");
    else if (!c->system.generate && !(c->system.topology && c->system.coordinates))
        broken(ch, MDS_E_INPUT, c->system.topology ? "system.topology" : "system.coordinates",
               "nothing to simulate: give system.topology and system.coordinates, or system.generate and "
               "system.atoms");
    if (!c->system.generate && c->system.atoms)
        broken(ch, MDS_E_INPUT, "system.atoms", "system.atoms is for system.generate only");
}

/// Langevin dynamics is an integrator and a thermostat at once; minimisation has neither coupling.
static void check_motion(const checker *ch)
{
    mds_config *c = ch->config;
    const bool  integrator_given = mds_config_given(c, "run.integrator");
    const bool  thermostat_given = mds_config_given(c, "thermostat.kind");

    if (!sound(ch, "run.integrator") || !sound(ch, "thermostat.kind") || !sound(ch, "barostat.kind")) return;
    if ((c->thermostat.kind == MDS_THERMOSTAT_LANGEVIN && integrator_given &&
         c->run.integrator != MDS_INTEGRATOR_LANGEVIN) ||
        (c->run.integrator == MDS_INTEGRATOR_LANGEVIN && thermostat_given &&
         c->thermostat.kind != MDS_THERMOSTAT_LANGEVIN)) {
        broken(ch, MDS_E_INPUT, "thermostat.kind",
               "run.integrator = \"langevin\" and thermostat.kind = \"langevin\" are the same thing and "
               "cannot be set to different things: leave one of them out");
        return;
    }
    if (c->thermostat.kind == MDS_THERMOSTAT_LANGEVIN) {
        c->run.integrator = MDS_INTEGRATOR_LANGEVIN;
        imply(ch, "run.integrator", "thermostat.kind");
    }
    if (c->run.integrator == MDS_INTEGRATOR_LANGEVIN) {
        c->thermostat.kind = MDS_THERMOSTAT_LANGEVIN;
        imply(ch, "thermostat.kind", "run.integrator");
        if (!mds_config_given(c, "run.remove_com")) c->run.remove_com = MDS_COM_NONE;
        imply(ch, "run.remove_com", "run.integrator");
    }
    if (c->run.integrator == MDS_INTEGRATOR_MINIMIZE &&
        (c->thermostat.kind != MDS_THERMOSTAT_NONE || c->barostat.kind != MDS_BAROSTAT_NONE)) {
        mds_note("minimisation: thermostat and barostat are off");
        c->thermostat.kind = MDS_THERMOSTAT_NONE;
        c->barostat.kind = MDS_BAROSTAT_NONE;
    }
    if (mds_config_given(c, "run.temperature") && !mds_config_given(c, "thermostat.temperature")) {
        c->thermostat.temperature = c->run.temperature;
        imply(ch, "thermostat.temperature", "run.temperature");
    }
}

static void check_available(const checker *ch)
{
    const mds_config *c = ch->config;

    if (c->thermostat.kind != MDS_THERMOSTAT_NONE && c->thermostat.kind != MDS_THERMOSTAT_V_RESCALE &&
        c->thermostat.kind != MDS_THERMOSTAT_LANGEVIN)
        broken(
            ch, MDS_E_UNSUPPORTED, "thermostat.kind",
            "this version does not have that thermostat; available: \"none\", \"v-rescale\", \"langevin\"");
    if (c->barostat.kind != MDS_BAROSTAT_NONE && c->barostat.kind != MDS_BAROSTAT_C_RESCALE)
        broken(ch, MDS_E_UNSUPPORTED, "barostat.kind",
               "this version does not have that barostat; available: \"none\", \"c-rescale\"");
    if (c->barostat.coupling != MDS_ISOTROPIC)
        broken(ch, MDS_E_UNSUPPORTED, "barostat.coupling",
               "this version does not have that coupling of the box; available: \"isotropic\"");
    if (c->backend.deterministic == MDS_DETERMINISTIC_RANKS)
        broken(ch, MDS_E_UNSUPPORTED, "backend.deterministic",
               "this version does not have that; available: \"yes\", \"no\"");
}

static void check_backend(const checker *ch)
{
    mds_config *c = ch->config;

    if (!sound(ch, "backend.kind") || !sound(ch, "backend.precision")) return;
    if (c->backend.precision == MDS_PRECISION_DOUBLE && c->backend.kind == MDS_KIND_AUTO) {
        mds_note("backend.precision = \"double\": the ref backend, which is exact and slow; backend.kind = \"cuda\" has it on a GPU");
        c->backend.kind = MDS_KIND_REF;
        imply(ch, "backend.kind", "backend.precision");
    }
    if (c->backend.kind == MDS_KIND_REF) {
        c->backend.precision = MDS_PRECISION_DOUBLE; // it has no other
        imply(ch, "backend.precision", "backend.kind");
    }
    if (c->backend.precision == MDS_PRECISION_DOUBLE && c->backend.kind == MDS_KIND_CPU)
        broken(ch, MDS_E_UNSUPPORTED, "backend.precision",
               "only backend.kind = \"ref\" and \"cuda\" compute in double precision throughout");
}

static void check_nonbonded(const checker *ch)
{
    const mds_config *c = ch->config;
    const double      cut = c->nonbonded.lj_cutoff < 0 ? c->nonbonded.cutoff : c->nonbonded.lj_cutoff;
    const bool        switched =
        c->nonbonded.lj_modifier == MDS_LJ_SWITCH || c->nonbonded.lj_modifier == MDS_LJ_FORCE_SWITCH;

    if (!sound(ch, "nonbonded.cutoff") || !sound(ch, "nonbonded.lj_cutoff") ||
        !sound(ch, "nonbonded.lj_switch") || !sound(ch, "nonbonded.lj_modifier"))
        return;
    if (mds_config_given(c, "nonbonded.cutoff")) {
        imply(ch, "nonbonded.lj_cutoff", "nonbonded.cutoff");
        imply(ch, "nonbonded.coulomb_cutoff", "nonbonded.cutoff");
    }
    if (switched && cut > 0 && c->nonbonded.lj_switch >= cut)
        broken(ch, MDS_E_INPUT, "nonbonded.lj_switch",
               "nonbonded.lj_switch = %g nm must lie below the Lennard-Jones cut-off of %g nm",
               c->nonbonded.lj_switch, cut);
}

static void check_pme(const checker *ch)
{
    mds_config *c = ch->config;

    if (!sound(ch, "pme.split") || !sound(ch, "pme.beta") || !sound(ch, "pme.c")) return;
    if (c->pme.beta > 0 && c->pme.c > 0) {
        broken(ch, MDS_E_INPUT, "pme.c",
               "pme.beta is of the Gaussian split and pme.c of the prolate one: give one of them");
        return;
    }
    if (c->pme.beta > 0) {
        if (mds_config_given(c, "pme.split") && c->pme.split != MDS_SPLIT_GAUSSIAN)
            broken(ch, MDS_E_INPUT, "pme.beta",
                   "pme.beta is a parameter of the Gaussian split, but pme.split is not that");
        c->pme.split = MDS_SPLIT_GAUSSIAN;
        imply(ch, "pme.split", "pme.beta");
    }
    if (c->pme.c > 0 && c->pme.split != MDS_SPLIT_PROLATE)
        broken(ch, MDS_E_INPUT, "pme.c",
               "pme.c is a parameter of the prolate split, but pme.split is not that");
}

/// Multiple time steps: what is looked at must be looked at where all forces are known.
static void check_mesh_every(const checker *ch)
{
    static const char *const keys[] = {"run.mesh_every", "run.integrator", "run.couple_every", "nonbonded.coulomb", "barostat.kind",
                                       "output.energy_every", "output.trajectory_every"};
    const mds_config *c = ch->config;
    const int         every = (int)c->run.mesh_every;

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (!sound(ch, keys[k])) return;
    if (every < 2) return;
    if (c->nonbonded.coulomb != MDS_COULOMB_PME)
        broken(ch, MDS_E_INPUT, "run.mesh_every", "run.mesh_every = %d needs nonbonded.coulomb = \"pme\": there is no mesh to leave out", every);
    if (c->run.integrator == MDS_INTEGRATOR_MINIMIZE)
        broken(ch, MDS_E_INPUT, "run.mesh_every", "run.mesh_every = %d: a minimisation needs every force in every step; leave the key out", every);
    if (c->barostat.kind != MDS_BAROSTAT_NONE)
        broken(ch, MDS_E_UNSUPPORTED, "run.mesh_every",
               "run.mesh_every = %d goes with constant volume only: a barostat needs the virial of the step after it acts, which lacks the "
               "mesh; equilibrate the volume with run.mesh_every = 1, or leave barostat.kind = \"none\"", every);
    const struct {
        const char *key;
        int64_t     interval;
        bool        matters;
        const char *why;
    } row[] = {
        {"output.energy_every", c->output.energy_every, true, "energies and pressure are"},
        {"run.couple_every", c->run.couple_every, true, "the kinetic energy is"},
        {"output.trajectory_every", c->output.trajectory_every, c->output.velocities || c->output.forces, "velocities and forces are"},
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        if (row[k].matters && row[k].interval % every)
            broken(ch, MDS_E_INPUT, row[k].key, "%s = %lld is no multiple of run.mesh_every = %d: %s complete only where the mesh acts; %lld would do",
                   row[k].key, (long long)row[k].interval, every, row[k].why, (long long)((row[k].interval / every + 1) * every));
}

static void check_output(const checker *ch)
{
    const char *name = ch->config->output.name, *s;

    if (!sound(ch, "output.name")) return;
    if (!name) {
        broken(ch, MDS_E_INPUT, "output.name", "output.name must not be empty");
        return;
    }
    for (s = name; s[0] && s[1]; s++) continue;
    if (*s == '/')
        broken(ch, MDS_E_INPUT, "output.name", "output.name ends in / and names a directory, not files");
}

static void check_cost(const checker *ch)
{
    const mds_config *c = ch->config;

    if (c->cost.max_cost > 0 && c->cost.price_per_hour == 0 && sound(ch, "cost.price_per_hour"))
        broken(ch, MDS_E_INPUT, "cost.max_cost", "cost.max_cost needs cost.price_per_hour");
    if (c->cost.stop_if_below > 0 && c->cost.predicted_ns_per_day == 0 &&
        sound(ch, "cost.predicted_ns_per_day"))
        broken(ch, MDS_E_INPUT, "cost.stop_if_below", "cost.stop_if_below needs cost.predicted_ns_per_day");
}

void mds_config_check(mds_config *config, mds_problems *problems)
{
    const checker ch = {.config = config, .problems = problems};

    check_system(&ch);
    check_motion(&ch);
    check_available(&ch);
    check_nonbonded(&ch);
    check_pme(&ch);
    check_mesh_every(&ch);
    check_output(&ch);
    check_backend(&ch);
    check_cost(&ch);
}
