// SPDX-License-Identifier: Apache-2.0
// cpu: the table, the doors, and the two ends of a force evaluation (begin, finish). The work is in the other files.
#include "cpu/cpu.h"
#include "cpu/isa.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static void cpu_close(mds_device *d)
{
    int t;

    if (!d) return;
    mds_cpu_list_close(d);
    mds_cpu_bonded_close(d);
    mds_cpu_vsite_close(d);
    mds_cpu_excluded_close(d);
    mds_cpu_mesh_close(d);
    mds_cpu_move_close(d);
    mds_split_free(&d->split);
    mds_free(d->atom_of);
    mds_free(d->slot_of);
    mds_free(d->x);
    mds_free(d->v);
    mds_free(d->f);
    mds_free(d->f_seen);
    mds_free(d->x_list);
    mds_free(d->charge);
    mds_free(d->inv_mass);
    mds_free(d->type);
    mds_free(d->xq);
    for (t = 0; d->f_thread && t < d->n_threads; t++) mds_free(d->f_thread[t]);
    mds_free(d->f_thread);
    mds_free(d->sums);
    mds_frame_free(&d->slot[0]);
    mds_frame_free(&d->slot[1]);
    mds_free(d);
}

/// Coulomb polynomial and split from the parameters.
static mds_status set_coulomb(mds_device *d)
{
    const mds_params *p = &d->params;
    mds_short_wish    wish = {(mds_num_coulomb)p->coulomb, (mds_num_split)p->split, p->split_shape, p->cut_q, p->coulomb_shift,
                              p->rf_dielectric, 1};

    for (int k = 0; k < 3; k++)
        if (d->box.a[k][k] > 0 && p->grid[k] > 0) wish.spacing = fmin(wish.spacing, d->box.a[k][k] / p->grid[k]);
    return mds_short_form(&wish, &d->split, &d->short_range);
}

static mds_status cpu_fill(mds_device *d, const mds_system *system, const mds_params *params, int threads,
                           const char *isa)
{
    size_t k;

    d->system = system;
    d->params = *params;
    d->n_atoms = system->n_atoms;
    d->fault_atom = -1;
    d->list_scale = 1;
#ifdef _OPENMP
    d->n_threads = threads > 0 ? threads : omp_get_max_threads();
#else
    d->n_threads = 1;
    (void)threads;
#endif
    for (k = 0; isa && isa[k] && k + 1 < sizeof d->isa; k++) d->isa[k] = isa[k];
    MDS_TRY(mds_alloc(&d->slot_of, (size_t)d->n_atoms, sizeof *d->slot_of));
    MDS_TRY(mds_alloc(&d->f_thread, (size_t)d->n_threads, sizeof *d->f_thread));
    MDS_TRY(mds_alloc(&d->sums, (size_t)d->n_threads, sizeof *d->sums));
    MDS_TRY(mds_cpu_list_open(d)); // chooses the ISA level: d->isa is its answer afterwards
    MDS_TRY(mds_cpu_bonded_open(d));
    MDS_TRY(mds_cpu_vsite_open(d));
    MDS_TRY(mds_cpu_excluded_open(d));
    MDS_TRY(mds_cpu_mesh_open(d));
    return mds_cpu_move_open(d);
}

static mds_status cpu_open(const mds_system *system, const mds_params *params, int threads, const char *isa,
                           mds_device **out)
{
    mds_device *d;
    mds_status  status;

    *out = NULL;
    MDS_TRY(mds_alloc(&d, 1, sizeof *d));
    status = cpu_fill(d, system, params, threads, isa);
    if (status != MDS_OK) {
        cpu_close(d);
        return status;
    }
    *out = d;
    return MDS_OK;
}

static const char *cpu_describe(const mds_device *d)
{
    return d->about;
}

static const char *cpu_flavour(const mds_device *d)
{
    return d->isa;
}

static void cpu_figures(const mds_device *d, mds_list_figures *out)
{
    cpu_list_statistics s;

    mds_cpu_list_statistics(d, &s);
    *out = (mds_list_figures){s.outer_pairs, s.inner_pairs, s.inside, s.n_searches, s.n_prunes};
}

/// Parameters or box changed: everything that is derived from them.
static mds_status derive(mds_device *d)
{
    MDS_TRY(set_coulomb(d));
    MDS_TRY(mds_cpu_list_set(d));
    return d->params.coulomb == MDS_COULOMB_PME ? mds_cpu_mesh_set(d) : MDS_OK;
}

static mds_status cpu_set(mds_device *d, const mds_params *params)
{
    const bool same = mds_params_same_forces(&d->params, params);

    mds_cpu_move_flush(d);
    d->params = *params;
    return same ? MDS_OK : derive(d);
}

/// Room for n slots in every array by slot; contents are kept where they were.
mds_status mds_cpu_reserve(mds_device *d, int32_t n)
{
    const size_t need = ((size_t)n + 16) / 16 * 16; // one more at least: vectors read rows of four doubles
    size_t       c;
    int          t;

    if (need <= d->capacity) return MDS_OK;
#define ROOM(array, per) (c = d->capacity * (per), mds_reserve(&(array), &c, need * (per), 0, sizeof *(array)))
    MDS_TRY(ROOM(d->atom_of, 1));
    MDS_TRY(ROOM(d->x, 1));
    MDS_TRY(ROOM(d->v, 1));
    MDS_TRY(ROOM(d->f, 1));
    if (mds_cpu_impulses(d)) MDS_TRY(ROOM(d->f_seen, 1));
    MDS_TRY(ROOM(d->x_list, 1));
    MDS_TRY(ROOM(d->charge, 1));
    MDS_TRY(ROOM(d->inv_mass, 1));
    MDS_TRY(ROOM(d->type, 1));
    MDS_TRY(ROOM(d->xq, 4));
    for (t = 0; t < d->n_threads; t++) MDS_TRY(ROOM(d->f_thread[t], 4));
#undef ROOM
    d->capacity = need;
    return MDS_OK;
}

static mds_status cpu_upload(mds_device *d, const mds_domain *domain, const mds_state *state)
{
    const bool new_box = memcmp(&d->box, &state->box, sizeof d->box) != 0 || d->short_range.cut == 0;
    int32_t    i;

    MDS_ASSERT(state->n_atoms == d->n_atoms && domain->n_home == d->n_atoms);
    mds_cpu_move_flush(d);
    MDS_TRY(mds_cpu_reserve(d, d->n_atoms));
    d->n_slots = d->n_atoms;
    d->n_clusters = (d->n_slots + CPU_CLUSTER - 1) / CPU_CLUSTER;
    for (i = 0; i < d->n_atoms; i++) {
        d->atom_of[i] = d->slot_of[i] = i;
        memcpy(d->x[i], state->x[i], sizeof d->x[i]);
        memcpy(d->v[i], state->v[i], sizeof d->v[i]);
        d->charge[i] = d->system->charge[i];
        d->inv_mass[i] = d->system->mass[i] > 0 ? 1 / d->system->mass[i] : 0;
        d->type[i] = d->system->type[i];
    }
    d->box = state->box;
    d->step = state->step;
    d->time = state->time;
    memcpy(d->coupling, state->coupling, sizeof d->coupling);
    d->work_noise = state->work_noise;
    d->work_scale = state->work_scale;
    d->tripped = d->listed = d->seen = false;
    d->fault = 0;
    d->fault_atom = -1;
    return new_box ? derive(d) : MDS_OK;
}

static mds_status cpu_begin(mds_device *d, mds_work work)
{
    int t;

    if (d->tripped) return MDS_OK;
    mds_cpu_move_catch_up(d);
    d->has_energy = work & MDS_ENERGY;
    d->has_virial = work & MDS_VIRIAL;
    d->seen = false;
    mds_cpu_vsite_place(d);
    mds_cpu_list_refresh(d);
    memset(d->sums, 0, (size_t)d->n_threads * sizeof *d->sums);
    if (!d->lines_clear) {
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
        for (t = 0; t < d->n_threads; t++)
            memset(d->f_thread[t], 0, (size_t)d->n_clusters * CPU_LINE * sizeof(float));
    }
    d->lines_clear = false;
    return MDS_OK;
}

/// Force lines of all threads into f, in thread order. Lines are cleared for the next step while they are at hand.
static void sum_forces(mds_device *d)
{
    const int threads = d->n_threads;
    int32_t   c;

#pragma omp parallel for schedule(static) num_threads(threads)
    for (c = 0; c < d->n_clusters; c++) {
        double sum[3 * CPU_CLUSTER] = {0};
        int    t, k, lane;

        for (t = 0; t < threads; t++) {
            float *line = d->f_thread[t] + (size_t)c * CPU_LINE;

            for (k = 0; k < 3 * CPU_CLUSTER; k++) sum[k] += (double)line[k];
            memset(line, 0, CPU_LINE * sizeof *line);
        }
        for (lane = 0; lane < CPU_CLUSTER && CPU_CLUSTER * c + lane < d->n_slots; lane++)
            for (k = 0; k < 3; k++) d->f[CPU_CLUSTER * c + lane][k] = sum[CPU_CLUSTER * k + lane];
    }
    d->lines_clear = true;
}

/// The rest of an impulse in a step whose forces are looked at: f keeps every force once in f_seen and gets the slow ones mesh_every - 1
/// times more. Energies and virials are summed before.
static void add_impulse(mds_device *d)
{
    const double more = d->params.mesh_every - 1;
    const int    threads = d->n_threads;
    int32_t      s;

    memcpy(d->f_seen, d->f, (size_t)d->n_slots * sizeof *d->f);
    d->seen = true;
    mds_cpu_excluded_again(d, more); // into lines that sum_forces has cleared
    mds_cpu_mesh_again(d, more);
    sum_forces(d);
    mds_cpu_vsite_spread(d, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (s = 0; s < d->n_slots; s++)
        for (int k = 0; k < 3; k++) d->f[s][k] += d->f_seen[s][k];
}

static mds_status cpu_finish(mds_device *d, mds_work work)
{
    const double volume = mds_box_volume(&d->box);
    int          t, k, l;

    if (d->tripped) return MDS_OK;
    sum_forces(d);
    mds_cpu_vsite_spread(d, work); // adds its virial to sums[0]
    memset(d->energy, 0, sizeof d->energy);
    memset(d->virial, 0, sizeof d->virial);
    for (t = 0; t < d->n_threads; t++) {
        for (k = 0; k < MDS_N_ENERGY; k++) d->energy[k] += d->sums[t].energy[k];
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) d->virial[k][l] += d->sums[t].virial[k][l];
    }
    if (volume > 0) {
        d->energy[MDS_EN_TAIL] = d->params.tail_energy / volume + d->params.tail_constant;
        for (k = 0; k < 3; k++) d->virial[k][k] -= 0.5 * d->params.tail_pressure / volume;
    }
    if (mds_cpu_shows_impulse(d, work)) add_impulse(d);
    return MDS_OK;
}

static mds_status cpu_poll(mds_device *d, mds_poll *out)
{
    mds_cpu_move_catch_up(d); // a fault may be found
    out->step = d->step;
    out->tripped = d->tripped;
    out->fault = d->fault;
    return MDS_OK;
}

const mds_backend mds_backend_cpu = {
    .name = "cpu",
    .caps = 0,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .flavours = mds_isa_names,
    .flavour = cpu_flavour,
    .figures = cpu_figures,
    .devices = mds_host_devices,
    .upload = cpu_upload,
    .set = cpu_set,
    .observe = mds_cpu_observe,
    .collect = mds_cpu_collect,
    .poll = cpu_poll,
    .search = mds_cpu_search,
    .begin = cpu_begin,
    .pair = mds_cpu_pair,
    .bonded = mds_cpu_bonded_stage,
    .mesh = mds_cpu_mesh_stage,
    .finish = cpu_finish,
    .move = mds_cpu_move_stage,
    .couple = mds_cpu_couple,
    .mark = mds_one_rank_mark,
    .pack = mds_one_rank_leg,
    .parcel = mds_one_rank_parcel,
    .unpack = mds_one_rank_leg,
};
