// SPDX-License-Identifier: Apache-2.0
// The numbers of a step: what the conf says, checked against the system and the box, and what is chosen for it.
#include "engine/engine.h"

#include "base/units.h"
#include "num/num.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void mds_sim_say(mds_sim *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    mds_text_add_v(&s->choices.text, fmt, args);
    va_end(args);
    mds_text_add(&s->choices.text, "\n");
}

static bool vacuum(const mds_sim *s)
{
    return mds_box_is_none(&s->start.box);
}

static mds_status choose_cutoffs(mds_sim *s)
{
    const mds_config *c = s->config;
    mds_params       *p = &s->params;

    p->cut_lj = c->nonbonded.lj_cutoff >= 0 ? c->nonbonded.lj_cutoff : c->nonbonded.cutoff;
    p->cut_q = c->nonbonded.coulomb_cutoff >= 0 ? c->nonbonded.coulomb_cutoff : c->nonbonded.cutoff;
    p->lj_modifier = c->nonbonded.lj_modifier;
    p->lj_switch = c->nonbonded.lj_switch;
    p->coulomb = c->nonbonded.coulomb;
    p->coulomb_shift = c->nonbonded.coulomb_shift;
    p->rf_dielectric = c->nonbonded.rf_dielectric;
    if (vacuum(s) && p->coulomb == MDS_COULOMB_PME) {
        if (mds_config_given(c, "nonbonded.coulomb"))
            return mds_key_fail(c, "nonbonded.coulomb", MDS_E_INPUT, "PME needs a periodic box, and there is none; use \"cutoff\"");
        p->coulomb = MDS_COULOMB_CUT;
        mds_sim_say(s, "coulomb = \"cutoff\": there is no box");
    }
    if (p->cut_lj == 0 || p->cut_q == 0) {
        const char *key = mds_config_given(c, "nonbonded.cutoff") ? "nonbonded.cutoff" : p->cut_lj == 0 ? "nonbonded.lj_cutoff" : "nonbonded.coulomb_cutoff";

        if (!vacuum(s)) return mds_key_fail(c, key, MDS_E_INPUT, "0 means every pair and needs system.box = \"none\"");
        if (p->coulomb != MDS_COULOMB_CUT && p->coulomb != MDS_COULOMB_NONE)
            return mds_key_fail(c, key, MDS_E_INPUT, "0 means every pair and needs coulomb = \"cutoff\" or \"none\"");
        if (p->cut_lj != p->cut_q)
            return mds_key_fail(c, key, MDS_E_INPUT, "0 means every pair: set nonbonded.cutoff = 0 for both forces");
        p->coulomb_shift = false;
        p->lj_modifier = MDS_LJ_CUT;
    } else if ((p->lj_modifier == MDS_LJ_SWITCH || p->lj_modifier == MDS_LJ_FORCE_SWITCH) && p->lj_switch >= p->cut_lj) {
        return mds_key_fail(c, "nonbonded.lj_switch", MDS_E_INPUT, "%g nm must be below the LJ cut-off of %g nm", p->lj_switch, p->cut_lj);
    }
    if (vacuum(s)) return MDS_OK;
    if (fmax(p->cut_lj, p->cut_q) > mds_box_reach(&s->start.box))
        return mds_key_fail(c, "nonbonded.cutoff", MDS_E_INPUT,
                            "the cut-off of %g nm is more than half the shortest distance of %.4f nm between periodic images",
                            fmax(p->cut_lj, p->cut_q), 2 * mds_box_reach(&s->start.box));
    return MDS_OK;
}

static mds_status choose_tail(mds_sim *s)
{
    const mds_config *c = s->config;
    mds_params       *p = &s->params;

    if (!c->nonbonded.tail_correction) return MDS_OK;
    if (vacuum(s) || p->cut_lj == 0) {
        if (mds_config_given(c, "nonbonded.tail_correction"))
            return mds_key_fail(c, "nonbonded.tail_correction", MDS_E_INPUT, "needs a periodic box, and there is none");
        return MDS_OK;
    }
    mds_tail_correction(&s->system, p);
    return MDS_OK;
}

/// Of a mesh that nobody has given, one as accurate that the backend transforms faster, if there is one; and says so.
static void suit_mesh(mds_sim *s, const mds_pme_system *sys, mds_pme_choice *choice)
{
    const mds_config *c = s->config;
    mds_pme_choice    finer = *choice;

    if (!s->be->round_grid || s->params.double_precision || c->pme.spacing > 0 || c->pme.grid[0] || c->pme.grid[1] || c->pme.grid[2]) return;
    s->be->round_grid(finer.grid);
    if (!memcmp(finer.grid, choice->grid, sizeof finer.grid)) return;
    finer.error = mds_pme_error(sys, &finer);
    if (!(finer.error <= choice->error)) return;
    mds_sim_say(s, "mesh: %d x %d x %d would do; %d x %d x %d is transformed faster, in one launch", choice->grid[0], choice->grid[1], choice->grid[2],
                finer.grid[0], finer.grid[1], finer.grid[2]);
    *choice = finer;
}

static mds_status choose_mesh(mds_sim *s)
{
    const mds_config *c = s->config;
    mds_params       *p = &s->params;
    mds_pme_system    sys = {.n_atoms = s->system.n_atoms, .box = s->start.box, .volume = mds_box_volume(&s->start.box)};
    mds_pme_choice    choice = {0};
    const bool        gaussian = c->pme.split == MDS_SPLIT_GAUSSIAN || c->pme.beta > 0;
    double            edge[3];
    int32_t           i;
    int               k;

    if (p->coulomb != MDS_COULOMB_PME) {
        if (c->run.mesh_every > 1)
            return mds_key_fail(c, "run.mesh_every", MDS_E_INPUT, "there is no box and so no mesh to leave out; leave the key out");
        return MDS_OK;
    }
    p->mesh_every = (int32_t)c->run.mesh_every;
    for (k = 0; k < 3; k++) edge[k] = mds_norm(s->start.box.a[k]);
    if (!(s->structure.crowd > 0)) // takes time, and the tuner asks again
        MDS_TRY(mds_pme_look(s->system.n_atoms, (const double(*)[3])s->start.x, s->system.charge, &s->start.box, &s->structure));
    sys.structure = s->structure;
    for (i = 0; i < s->system.n_atoms; i++) {
        sys.sum_q2 += s->system.charge[i] * s->system.charge[i];
        sys.sum_q4 += pow(s->system.charge[i], 4);
    }
    choice.split = gaussian ? MDS_NUM_GAUSSIAN : MDS_NUM_PROLATE;
    choice.shape = gaussian ? c->pme.beta : c->pme.c;
    choice.cut = p->cut_q;
    choice.order = c->pme.order ? c->pme.order : s->tuned.order;
    for (k = 0; k < 3; k++) choice.grid[k] = c->pme.grid[k];
    if (sys.sum_q2 == 0) { // nothing to put on a mesh, but the stage must have a legal one
        choice.shape = choice.shape > 0 ? choice.shape : gaussian ? 3 / choice.cut : 10;
        choice.order = choice.order ? choice.order : 4;
        for (k = 0; k < 3; k++) choice.grid[k] = choice.grid[k] ? choice.grid[k] : 12;
    } else if (mds_pme_choose(&sys, c->pme.force_error, c->pme.spacing, &choice) != MDS_OK) {
        return mds_key_fail(c, "pme.force_error", MDS_E_INPUT, "%s", mds_error_text());
    } else {
        suit_mesh(s, &sys, &choice);
    }
    p->split = choice.split == MDS_NUM_PROLATE ? MDS_SPLIT_PROLATE : MDS_SPLIT_GAUSSIAN;
    p->split_shape = choice.shape;
    p->order = choice.order;
    memcpy(p->grid, choice.grid, sizeof p->grid);
    s->choices.force_error = choice.error;
    if (!gaussian && p->split == MDS_SPLIT_GAUSSIAN)
        mds_sim_say(s, "pme.split = \"gaussian\": the prolate split cannot reach pme.force_error = %g kJ/mol/nm", c->pme.force_error);
    mds_sim_say(s, "mesh: %s split, %s = %.5g%s, order %d, grid %d x %d x %d, spacing %.4f nm, estimated force error %.3g kJ/mol/nm",
        p->split == MDS_SPLIT_PROLATE ? "prolate" : "Gaussian", p->split == MDS_SPLIT_PROLATE ? "c" : "beta", p->split_shape,
        p->split == MDS_SPLIT_PROLATE ? "" : " 1/nm", p->order, p->grid[0], p->grid[1], p->grid[2],
        fmax(edge[0] / p->grid[0], fmax(edge[1] / p->grid[1], edge[2] / p->grid[2])), choice.error);
    if (p->mesh_every > 1)
        mds_sim_say(s, "multiple time steps: the mesh acts every %d steps (%g fs), %d times as strongly", p->mesh_every,
                    1000 * p->dt * p->mesh_every, p->mesh_every);
    return MDS_OK;
}

static mds_status choose_coupling(mds_sim *s)
{
    const mds_config *c = s->config;
    mds_params       *p = &s->params;
    const bool        langevin = c->run.integrator == MDS_INTEGRATOR_LANGEVIN;
    bool              remove = c->run.remove_com == MDS_COM_LINEAR;

    p->thermostat = langevin ? MDS_THERMOSTAT_LANGEVIN : c->thermostat.kind;
    p->barostat = c->barostat.kind;
    p->temperature = mds_config_given(c, "thermostat.temperature") ? c->thermostat.temperature : c->run.temperature;
    p->tau_t = c->thermostat.tau;
    p->pressure = c->barostat.pressure;
    p->tau_p = c->barostat.tau;
    p->compressibility = c->barostat.compressibility;
    if (p->barostat != MDS_BAROSTAT_NONE && vacuum(s))
        return mds_key_fail(c, "barostat.kind", MDS_E_INPUT, "a barostat needs a periodic box, and there is none");
    if (p->thermostat == MDS_THERMOSTAT_LANGEVIN && !mds_config_given(c, "run.remove_com")) remove = false;
    if (s->system.term[MDS_TERM_RESTRAINT].n && !mds_config_given(c, "run.remove_com")) remove = false;
    p->remove_com = !remove ? 0 : vacuum(s) ? 2 : 1;
    p->couple_every = c->run.couple_every > 0 ? (int32_t)c->run.couple_every
                      : p->thermostat == MDS_THERMOSTAT_V_RESCALE || p->barostat != MDS_BAROSTAT_NONE ? 10
                      : remove                                                                         ? 100
                                                                                                       : 0;
    if (p->mesh_every > 1) // a chosen one; given ones are multiples
        p->couple_every = (p->couple_every + p->mesh_every - 1) / p->mesh_every * p->mesh_every;
    s->n_degrees = (double)mds_system_n_degrees(&s->system, p->remove_com > 0, p->remove_com > 1);
    p->n_degrees = s->n_degrees;
    p->seed = (uint64_t)c->run.seed;
    return MDS_OK;
}

static mds_status choose_backend(mds_sim *s)
{
    static const char *const names[] = {"auto", "ref", "cpu", "cuda", "emu"};
    const mds_config        *c = s->config;
    const char              *name = names[c->backend.kind], *isa = s->tuned.isa[0] ? s->tuned.isa : "auto";
    char                     text[160];

    s->choices.backend_reason = "asked for";
    if (c->backend.kind == MDS_KIND_AUTO) {
        const mds_backend *gpu;

        name = "cpu";
        if (mds_backend_find("cuda", &gpu) != MDS_OK) {
            s->choices.backend_reason = "no GPU backend in this build";
        } else if (gpu->devices(0, text, sizeof text) < 1) {
            snprintf(s->choices.backend_words, sizeof s->choices.backend_words, "no GPU answers: %s", text);
            s->choices.backend_reason = s->choices.backend_words;
        } else {
            name = "cuda";
            s->choices.backend_reason = "a GPU answers";
        }
    }
    if (mds_backend_find(name, &s->be) != MDS_OK) return mds_key_fail(c, "backend.kind", MDS_E_UNSUPPORTED, "%s", mds_error_text());
    if (s->be->devices(0, text, sizeof text) < 1)
        return mds_key_fail(c, "backend.kind", MDS_E_UNSUPPORTED, "backend \"%s\": no GPU answers (%s); use \"cpu\" or \"auto\"", name, text);
    s->threads = c->backend.threads > 0 ? c->backend.threads : s->tuned.threads > 0 ? s->tuned.threads : mds_cores_here();
    if (c->backend.isa && strcmp(c->backend.isa, "auto")) isa = c->backend.isa;
    snprintf(s->isa, sizeof s->isa, "%s", isa);
    s->integrator = mds_integrator_find((const char *const[]){"verlet", "leapfrog", "langevin", "minimize"}[c->run.integrator]);
    if (c->thermostat.kind == MDS_THERMOSTAT_LANGEVIN && c->run.integrator != MDS_INTEGRATOR_MINIMIZE)
        s->integrator = mds_integrator_find("langevin");
    return MDS_OK;
}

static bool has_light_atoms(const mds_system *m)
{
    int32_t i;

    for (i = 0; i < m->n_atoms; i++)
        if (m->mass[i] > 0 && m->mass[i] < 2.5) return true;
    return false;
}

/// What the user should know before waiting for a run.
static void warn_about(const mds_sim *s)
{
    const mds_config *c = s->config;
    const double      hydrogen = c->constraints.hydrogen_mass;

    if (s->threads > mds_cores_here())
        mds_warn("%s: backend.threads = %d on %d core%s", mds_config_origin(c, "backend.threads"), s->threads, mds_cores_here(),
                 mds_cores_here() == 1 ? "" : "s");
    if (fabs(s->system.total_charge) > 1e-3)
        mds_log(vacuum(s) ? MDS_LOG_NOTE : MDS_LOG_WARN, "the system has a net charge of %+.3f e%s", s->system.total_charge,
                vacuum(s) ? "" : "; with PME a uniform background neutralises it");
    if (c->constraints.kind == MDS_CONSTRAIN_NONE && c->run.dt > 0.00101 && s->system.term[MDS_TERM_BOND].n)
        mds_warn("%s: run.dt = %g ps with flexible bonds: 0.0005 to 0.001 ps is usual without constraints", mds_config_origin(c, "run.dt"), c->run.dt);
    if (s->params.mesh_every > 1 && s->params.mesh_every * c->run.dt > 0.00651)
        mds_warn("%s: run.mesh_every = %d: %g fs between impulses of the mesh; above 6 fs the energy begins to drift", mds_config_origin(c, "run.mesh_every"),
                 s->params.mesh_every, 1000 * c->run.dt * s->params.mesh_every);
    if (c->run.dt > 0.00251 && hydrogen < 2.5 && has_light_atoms(&s->system))
        mds_warn("%s: run.dt = %g ps: above 0.0025 ps constraints.hydrogen_mass of about 3 is usual", mds_config_origin(c, "run.dt"), c->run.dt);
}

mds_status mds_sim_choose(mds_sim *s, bool dynamics)
{
    mds_params *p = &s->params;

    memset(p, 0, sizeof *p);
    s->choices.text.n = 0; // the tuner asks again with other decisions
    p->dt = s->config->run.dt;
    p->constraint_tolerance = s->config->constraints.tolerance;
    p->deterministic = s->config->backend.deterministic != MDS_DETERMINISTIC_NO;
    p->double_precision = s->config->backend.precision == MDS_PRECISION_DOUBLE;
    MDS_TRY(choose_cutoffs(s));
    MDS_TRY(choose_tail(s));
    MDS_TRY(choose_backend(s)); // the mesh asks it
    MDS_TRY(choose_mesh(s));
    MDS_TRY(mds_sim_choose_list(s));
    MDS_TRY(choose_coupling(s));
    if (s->config->run.integrator == MDS_INTEGRATOR_MINIMIZE) {
        p->thermostat = MDS_THERMOSTAT_NONE;
        p->barostat = MDS_BAROSTAT_NONE;
        p->remove_com = 0;
        p->couple_every = 0;
        p->max_move = s->config->run.max_move;
    }
    if (dynamics) warn_about(s);
    return MDS_OK;
}
