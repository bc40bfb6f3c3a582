// SPDX-License-Identifier: Apache-2.0
// From a conf to a system, a start state and an open device.
//
// Order: read or make the molecules; box; repartition masses; rigid waters (AMBER); constraints; freeze; choose the
// numbers of the step; hash what the physics depends on. Nothing is written before all of that has succeeded.
#include "engine/engine.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

mds_status mds_key_fail(const mds_config *config, const char *key, mds_status status, const char *fmt, ...)
{
    mds_text text = {0};
    va_list  args;

    va_start(args, fmt);
    mds_text_add_v(&text, fmt, args);
    va_end(args);
    status = mds_fail(status, __FILE__, __LINE__, "%s: %s: %s",
                      mds_config_given(config, key) ? mds_config_origin(config, key) : config->path, key,
                      text.s ? text.s : "");
    mds_text_free(&text);
    return status;
}

static mds_status resolve_paths(const mds_config *c, const mds_strings *names, char ***out)
{
    int32_t k;

    MDS_TRY(mds_alloc(out, (size_t)names->n + 1, sizeof **out));
    for (k = 0; k < names->n; k++) MDS_TRY(mds_config_path(c, names->item[k], &(*out)[k]));
    return MDS_OK;
}

static void free_paths(char **paths, int32_t n)
{
    int32_t k;

    for (k = 0; paths && k < n; k++) mds_free(paths[k]);
    mds_free(paths);
}

static mds_status read_files(mds_sim *s)
{
    const mds_config *c = s->config;
    mds_read_request  request = {0};
    char             *topology = NULL, *coordinates = NULL, *reference = NULL, **includes = NULL;
    mds_status        status;

    if (!c->system.topology)
        return mds_key_fail(c, "system.topology", MDS_E_INPUT, "missing: give topology and coordinates, or system.generate");
    if (!c->system.coordinates)
        return mds_key_fail(c, "system.coordinates", MDS_E_INPUT, "missing: the topology needs a coordinate file");
    MDS_TRY_GOTO(mds_config_path(c, c->system.topology, &topology));
    MDS_TRY_GOTO(mds_config_path(c, c->system.coordinates, &coordinates));
    if (c->system.restraint_reference) MDS_TRY_GOTO(mds_config_path(c, c->system.restraint_reference, &reference));
    MDS_TRY_GOTO(resolve_paths(c, &c->system.include, &includes));
    request.topology = topology;
    request.coordinates = coordinates;
    request.restraint_reference = reference;
    request.defines = (const char *const *)c->system.defines.item;
    request.n_defines = c->system.defines.n;
    request.includes = (const char *const *)includes;
    request.n_includes = c->system.include.n;
    request.read_velocities = c->system.velocities == MDS_VELOCITIES_FILE;
    request.inpcrd_extra = c->system.inpcrd_extra;
    MDS_TRY_GOTO(mds_read(&request, &s->system, &s->start, &s->read_report));
fail:
    free_paths(includes, c->system.include.n);
    mds_free(topology);
    mds_free(coordinates);
    mds_free(reference);
    return status;
}

/// The box of the conf, if it says anything.
static mds_status apply_box(mds_sim *s)
{
    const mds_config *c = s->config;
    const double     *b = c->system.box;
    const double      right[3] = {90, 90, 90};
    mds_status        status = MDS_OK;
    int               k;

    if (c->system.box_source == MDS_BOX_NONE) memset(&s->start.box, 0, sizeof s->start.box);
    if (c->system.box_source == MDS_BOX_GIVEN) {
        memset(&s->start.box, 0, sizeof s->start.box);
        if (c->system.n_box == 9)
            for (k = 0; k < 9; k++) s->start.box.a[k / 3][k % 3] = b[k];
        else
            status = mds_box_from_lengths(b, c->system.n_box == 6 ? b + 3 : right, &s->start.box);
    }
    if (status == MDS_OK && !mds_box_is_none(&s->start.box))
        status = mds_box_reduce(&s->start.box, s->start.x, s->start.v, s->start.n_atoms);
    if (status != MDS_OK) return mds_key_fail(c, "system.box", MDS_E_INPUT, "%s", mds_error_text());
    return MDS_OK;
}

static void hash_number(mds_sha256 *sha, double value)
{
    mds_sha256_add(sha, &value, sizeof value);
}

/// Physics and coordinates; not run.steps, run.max_wall, output.*, backend.*, cost.*, nor file names.
static mds_status hash_input(mds_sim *s)
{
    static const char *const outside[] = {"system.", "output.", "backend.", "cost.", "run.steps", "run.max_wall",
                                          "run.list_interval", "nonbonded.list_"};
    const mds_system *m = &s->system;
    const size_t      n = (size_t)m->n_atoms, types = (size_t)m->n_types;
    mds_sha256        sha;
    mds_text          text = {0};
    int               k;
    size_t            w;

    mds_sha256_init(&sha);
    for (k = 0; k < mds_config_n_keys(); k++) {
        const char *name = mds_config_key_name(k);
        bool        skip = false;

        for (w = 0; w < sizeof outside / sizeof outside[0]; w++)
            if (!strncmp(name, outside[w], strlen(outside[w]))) skip = true;
        if (!strcmp(name, "run.mesh_every")) skip = s->config->run.mesh_every == 1; // checkpoints from before there was such a key
        if (skip) continue;
        mds_text_add(&text, "%s=", name);
        mds_config_value(s->config, k, &text);
        mds_text_add(&text, "\n");
    }
    MDS_CHECK(!text.failed, MDS_E_MEMORY, "out of memory");
    mds_sha256_add(&sha, text.s, text.n);
    mds_text_free(&text);
    mds_sha256_add(&sha, m->type, n * sizeof *m->type);
    mds_sha256_add(&sha, m->charge, n * sizeof *m->charge);
    mds_sha256_add(&sha, m->mass, n * sizeof *m->mass);
    mds_sha256_add(&sha, m->c6, types * types * sizeof *m->c6);
    mds_sha256_add(&sha, m->c12, types * types * sizeof *m->c12);
    if (m->c4) mds_sha256_add(&sha, m->c4, types * types * sizeof *m->c4);
    for (k = 0; k < MDS_N_TERMS; k++) {
        const mds_terms *t = &m->term[k];

        mds_sha256_add(&sha, t->atom, (size_t)t->n * (size_t)mds_term_table[k].n_atoms * sizeof *t->atom);
        mds_sha256_add(&sha, t->param, (size_t)t->n * (size_t)mds_term_table[k].n_params * sizeof *t->param);
    }
    mds_sha256_add(&sha, m->excl, (size_t)m->excl_start[n] * sizeof *m->excl);
    mds_sha256_add(&sha, m->constraint.atom, 2 * (size_t)m->constraint.n * sizeof *m->constraint.atom);
    mds_sha256_add(&sha, m->constraint.length, (size_t)m->constraint.n * sizeof *m->constraint.length);
    mds_sha256_add(&sha, m->vsite.atom, m->vsite.n ? (size_t)m->vsite.start[m->vsite.n] * sizeof *m->vsite.atom : 0);
    mds_sha256_add(&sha, m->vsite.weight, m->vsite.n ? (size_t)m->vsite.start[m->vsite.n] * sizeof *m->vsite.weight : 0);
    mds_sha256_add(&sha, m->vsite.param, (size_t)m->vsite.n * sizeof *m->vsite.param);
    mds_sha256_add(&sha, m->map, (size_t)m->n_maps * (size_t)m->map_size * (size_t)m->map_size * sizeof *m->map);
    mds_sha256_add(&sha, s->start.x, n * sizeof *s->start.x);
    mds_sha256_add(&sha, s->start.v, n * sizeof *s->start.v);
    mds_sha256_add(&sha, &s->start.box, sizeof s->start.box);
    hash_number(&sha, (double)s->start.has_velocities);
    mds_sha256_end(&sha, s->input_hash);
    return MDS_OK;
}

/// Positions must be numbers of a sane size, whatever file they came from.
static mds_status check_positions(const mds_sim *s)
{
    int32_t i;
    int     k;

    for (i = 0; i < s->start.n_atoms; i++)
        for (k = 0; k < 3; k++)
            if (!(fabs(s->start.x[i][k]) <= 1e6) || !(fabs(s->start.v[i][k]) <= 1e6)) {
                char label[64];

                mds_system_atom_label(&s->system, i, label, sizeof label);
                MDS_FAIL(MDS_E_INPUT, "%s: %s is at (%g, %g, %g) nm with velocity (%g, %g, %g) nm/ps",
                         s->config->system.coordinates ? s->config->system.coordinates : s->config->path, label,
                         s->start.x[i][0], s->start.x[i][1], s->start.x[i][2], s->start.v[i][0], s->start.v[i][1],
                         s->start.v[i][2]);
            }
    return MDS_OK;
}

static mds_status read_or_make(mds_sim *s)
{
    const mds_config *c = s->config;

    if (!c->system.generate) return read_files(s);
    if (c->system.topology || c->system.coordinates)
        return mds_key_fail(c, "system.generate", MDS_E_INPUT, "give either generate or topology and coordinates, not both");
    if (c->system.atoms < 1 || c->system.atoms > INT32_MAX / 8)
        return mds_key_fail(c, "system.atoms", MDS_E_INPUT, "generate needs the number of atoms, 1 to %d", INT32_MAX / 8);
    if (mds_make(c->system.generate, (int32_t)c->system.atoms, (uint64_t)c->run.seed, &s->system, &s->start) != MDS_OK)
        return mds_key_fail(c, "system.generate", MDS_E_INPUT, "%s", mds_error_text());
    s->start.has_velocities = false; // drawn at run.temperature like those of a file without velocities
    return MDS_OK;
}

mds_status mds_sim_setup(mds_sim *s, const mds_config *c, bool dynamics)
{
    const double began = mds_clock();

    memset(s, 0, sizeof *s);
    s->config = c;
    MDS_TRY(read_or_make(s));
    MDS_TRY(apply_box(s));
    MDS_TRY(mds_system_repartition(&s->system, c->constraints.hydrogen_mass));
    if (s->read_report.is_amber && c->constraints.rigid_water) MDS_TRY(mds_system_rigid_waters(&s->system));
    MDS_TRY(mds_system_constrain(&s->system, c->constraints.kind));
    MDS_TRY(mds_system_freeze(&s->system));
    MDS_TRY(check_positions(s));
    MDS_TRY(mds_state_make_whole(&s->system, &s->start));
    s->start.seed = (uint64_t)c->run.seed;
    MDS_TRY(hash_input(s));
    MDS_TRY(mds_sim_choose(s, dynamics));
    mds_timer_add(MDS_T_SETUP, mds_clock() - began);
    return MDS_OK;
}

mds_status mds_sim_open(mds_sim *s)
{
    if (!s->dev) MDS_TRY(s->be->open(&s->system, &s->params, s->threads, s->isa, &s->dev));
    s->domain = (mds_domain){.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = s->system.n_atoms, .n_all = s->system.n_atoms};
    return s->be->upload(s->dev, &s->domain, &s->start);
}

void mds_sim_close(mds_sim *s)
{
    if (s->be && s->dev) s->be->close(s->dev);
    mds_frame_free(&s->frame);
    mds_frame_free(&s->kept);
    mds_state_free(&s->start);
    mds_system_free(&s->system);
    mds_read_report_free(&s->read_report);
    mds_text_free(&s->choices.text);
    mds_text_free(&s->choices.tuning);
    mds_free(s->path_log);
    mds_free(s->path_csv);
    mds_free(s->path_h5md);
    mds_free(s->path_chk);
    mds_free(s->path_gro);
    mds_free(s->path_stop);
    memset(s, 0, sizeof *s);
}
