// SPDX-License-Identifier: Apache-2.0
// ref: the table, the arrays, the frames. Atom order throughout; slot = atom.
#include "ref/ref.h"

#include <math.h>
#include <string.h>

static void ref_close(mds_device *d)
{
    if (!d) return;
    mds_ref_mesh_close(d);
    mds_free(d->x);
    mds_free(d->v);
    if (d->f_slow != d->f) mds_free(d->f_slow);
    if (d->f_seen != d->f) mds_free(d->f_seen);
    mds_free(d->f);
    mds_free(d->x_fix);
    mds_free(d->x_list);
    mds_frame_free(&d->slot[0]);
    mds_frame_free(&d->slot[1]);
    mds_free(d);
}

static mds_status ref_fill(mds_device *d, const mds_system *system, const mds_params *params)
{
    const size_t n = (size_t)system->n_atoms;

    d->system = system;
    d->params = *params;
    d->n = system->n_atoms;
    d->fault_atom = -1;
    d->list_scale = 1;
    MDS_TRY(mds_alloc(&d->x, n, sizeof *d->x));
    MDS_TRY(mds_alloc(&d->v, n, sizeof *d->v));
    MDS_TRY(mds_alloc(&d->f, n, sizeof *d->f));
    d->f_slow = d->f_seen = d->f;
    if (params->mesh_every > 1 && params->coulomb == MDS_COULOMB_PME) {
        d->f_slow = d->f_seen = NULL;
        MDS_TRY(mds_alloc(&d->f_slow, n, sizeof *d->f_slow));
        MDS_TRY(mds_alloc(&d->f_seen, n, sizeof *d->f_seen));
    }
    MDS_TRY(mds_alloc(&d->x_fix, n, sizeof *d->x_fix));
    MDS_TRY(mds_alloc(&d->x_list, n, sizeof *d->x_list));
    return mds_ref_mesh_set(d);
}

static mds_status ref_open(const mds_system *system, const mds_params *params, int threads, const char *isa,
                           mds_device **out)
{
    mds_device *d;
    mds_status  status;

    (void)threads; // the oracle is serial
    (void)isa;
    *out = NULL;
    MDS_TRY(mds_alloc(&d, 1, sizeof *d));
    status = ref_fill(d, system, params);
    if (status != MDS_OK) {
        ref_close(d);
        return status;
    }
    *out = d;
    return MDS_OK;
}

static const char *ref_flavours(void)
{
    return "double";
}

static const char *ref_flavour(const mds_device *d)
{
    (void)d;
    return "double";
}

static void ref_figures(const mds_device *d, mds_list_figures *out)
{
    (void)d;
    memset(out, 0, sizeof *out);
}

static const char *ref_describe(const mds_device *d)
{
    (void)d;
    return "ref: double precision, one thread";
}

static mds_status ref_upload(mds_device *d, const mds_domain *domain, const mds_state *state)
{
    MDS_ASSERT(state->n_atoms == d->n && domain->n_home == d->n);
    memcpy(d->x, state->x, (size_t)d->n * sizeof *d->x);
    memcpy(d->v, state->v, (size_t)d->n * sizeof *d->v);
    memcpy(d->x_fix, state->x, (size_t)d->n * sizeof *d->x);
    d->box = state->box;
    d->step = state->step;
    d->time = state->time;
    memcpy(d->coupling, state->coupling, sizeof d->coupling);
    d->work_noise = state->work_noise;
    d->work_scale = state->work_scale;
    d->tripped = d->listed = d->drifted = d->noisy = false;
    d->log_scale = 0;
    d->fault = 0;
    d->fault_atom = -1;
    return MDS_OK;
}

static mds_status ref_set(mds_device *d, const mds_params *params)
{
    d->params = *params;
    return mds_ref_mesh_set(d);
}

/// Every pair is visited anyway: a search only notes the positions that trips are measured from.
static mds_status ref_search(mds_device *d, const mds_domain *domain)
{
    (void)domain;
    mds_ref_vsite_place(d);
    memcpy(d->x_list, d->x, (size_t)d->n * sizeof *d->x);
    d->list_scale = 1;
    d->listed = true;
    d->tripped = false;
    return MDS_OK;
}

static mds_status ref_begin(mds_device *d, mds_work work)
{
    if (d->tripped) return MDS_OK;
    memset(d->f, 0, (size_t)d->n * sizeof *d->f);
    memset(d->f_slow, 0, (size_t)d->n * sizeof *d->f_slow);
    memset(d->energy, 0, sizeof d->energy);
    memset(d->virial, 0, sizeof d->virial);
    d->has_energy = work & MDS_ENERGY;
    d->has_virial = work & MDS_VIRIAL;
    mds_ref_vsite_place(d);
    return MDS_OK;
}

/// All forces once each in f_seen, virial with them; then f gets the slow ones as often as steps go by until they act again.
static void add_slow(mds_device *d, mds_work work)
{
    const double more = d->params.mesh_every - 1;
    double (*const f)[3] = d->f, virial[3][3];

    for (int32_t i = 0; i < d->n; i++)
        for (int k = 0; k < 3; k++) f[i][k] += d->f_slow[i][k];
    mds_ref_vsite_spread(d, work);
    memcpy(d->f_seen, f, (size_t)d->n * sizeof *f);
    memcpy(virial, d->virial, sizeof virial);
    d->f = d->f_slow;
    mds_ref_vsite_spread(d, work);
    d->f = f;
    memcpy(d->virial, virial, sizeof virial);
    for (int32_t i = 0; i < d->n; i++)
        for (int k = 0; k < 3; k++) f[i][k] += more * d->f_slow[i][k];
}

static mds_status ref_finish(mds_device *d, mds_work work)
{
    const double volume = mds_box_volume(&d->box);
    int          k;

    if (d->tripped) return MDS_OK;
    if (d->f_slow != d->f)
        add_slow(d, work);
    else
        mds_ref_vsite_spread(d, work);
    if (volume > 0) {
        d->energy[MDS_EN_TAIL] = d->params.tail_energy / volume + d->params.tail_constant;
        for (k = 0; k < 3; k++) d->virial[k][k] -= 0.5 * d->params.tail_pressure / volume;
    }
    return MDS_OK;
}

static mds_status ref_observe(mds_device *d, uint32_t fields, int slot)
{
    mds_frame *frame = &d->slot[slot];
    int32_t    i;

    frame->step = d->step;
    frame->time = d->time;
    frame->box = d->box;
    memcpy(frame->energy, d->energy, sizeof frame->energy);
    memcpy(frame->kinetic, d->kinetic, sizeof frame->kinetic);
    memcpy(frame->virial, d->virial, sizeof frame->virial);
    memcpy(frame->constraint_virial, d->constraint_virial, sizeof frame->constraint_virial);
    memcpy(frame->coupling, d->coupling, sizeof frame->coupling);
    frame->work_noise = d->work_noise;
    frame->work_scale = d->work_scale;
    frame->fv = d->fv;
    frame->ff = d->ff;
    frame->vv = d->vv;
    frame->has_energy = d->has_energy;
    frame->has_virial = d->has_virial;
    frame->fault = d->fault;
    frame->fault_atom = d->fault_atom;
    frame->f_max = 0;
    frame->f_max_atom = -1;
    for (i = 0; i < d->n; i++) {
        const double size = mds_norm(d->f_seen[i]);

        if (!(size <= frame->f_max)) {
            frame->f_max = size;
            frame->f_max_atom = i;
        }
    }
    frame->n = 0;
    if (!fields) return MDS_OK;
    MDS_TRY(mds_frame_reserve(frame, d->n, fields));
    frame->n = d->n;
    for (i = 0; i < d->n; i++) {
        frame->id[i] = i;
        if (fields & MDS_FIELD_X) memcpy(frame->x[i], d->x[i], sizeof d->x[i]);
        if (fields & MDS_FIELD_V) memcpy(frame->v[i], d->v[i], sizeof d->v[i]);
        if (fields & MDS_FIELD_F) memcpy(frame->f[i], d->f_seen[i], sizeof d->f_seen[i]);
    }
    return MDS_OK;
}

static mds_status ref_collect(mds_device *d, int slot, mds_frame *out)
{
    return mds_frame_copy(out, &d->slot[slot]);
}

static mds_status ref_poll(mds_device *d, mds_poll *out)
{
    out->step = d->step;
    out->tripped = d->tripped;
    out->fault = d->fault;
    return MDS_OK;
}

const mds_backend mds_backend_ref = {
    .name = "ref",
    .caps = 0,
    .open = ref_open,
    .close = ref_close,
    .describe = ref_describe,
    .flavours = ref_flavours,
    .flavour = ref_flavour,
    .figures = ref_figures,
    .devices = mds_host_devices,
    .upload = ref_upload,
    .set = ref_set,
    .observe = ref_observe,
    .collect = ref_collect,
    .poll = ref_poll,
    .search = ref_search,
    .begin = ref_begin,
    .pair = mds_ref_pair,
    .bonded = mds_ref_bonded,
    .mesh = mds_ref_mesh,
    .finish = ref_finish,
    .move = mds_ref_move,
    .couple = mds_ref_couple,
    .mark = mds_one_rank_mark,
    .pack = mds_one_rank_leg,
    .parcel = mds_one_rank_parcel,
    .unpack = mds_one_rank_leg,
};
