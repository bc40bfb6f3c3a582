// SPDX-License-Identifier: Apache-2.0
// cuda: the table, device memory, the doors in, and the two ends of a force evaluation (begin, finish).
//
// Everything of a step is queued on `stream`; the mesh has a stream of its own, and so have bonded terms and excluded pairs; both
// fork in begin, when positions are in place, and join in finish. The host waits in upload, search, poll and collect only.
#include "device.h"

#include "annotate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 128 };

// ------------------------------------------------------------------------------------------- device memory

mds_status GPU_NAME(alloc)(void **out, size_t bytes)
{
    *out = NULL;
    GPU_TRY(cudaMalloc(out, bytes ? bytes : 16));
    return MDS_OK;
}

mds_status GPU_NAME(copy_in)(void **out, const void *from, size_t bytes)
{
    MDS_TRY(GPU_NAME(alloc)(out, bytes));
    if (bytes) GPU_TRY(cudaMemcpy(*out, from, bytes, cudaMemcpyHostToDevice));
    return MDS_OK;
}

mds_status GPU_NAME(room)(void **out, size_t *room, size_t n, size_t size)
{
    if (n <= *room && *out) return MDS_OK;
    GPU_NAME(release)(*out);
    *out = NULL;
    *room = 0;
    n += n / 8; // lists breathe: not every search shall grow them
    MDS_TRY(GPU_NAME(alloc)(out, n * size));
    *room = n;
    return MDS_OK;
}

void GPU_NAME(release)(const void *memory)
{
    if (memory) (void)cudaFree(const_cast<void *>(memory));
}

// ------------------------------------------------------------------------------------------------- kernels

static __global__ void k_begin(gpu_control *c)
{
    if (c->tripped) return;
    gpu_begin_step(c, (int)threadIdx.x);
}

static __global__ void k_refresh(gpu_view p)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (p.control->tripped || i >= p.n_atoms) return;
    gpu_refresh_atom(&p, p.control->box.a, p.control->inverse, i, p.x[i]);
}

static __global__ void k_forces(gpu_view p)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (p.control->tripped || i >= p.n_atoms) return;
    gpu_take_force(&p, i);
}

/// f of this step, each force once, is put by, and what the sums have got since is added to it: the rest of an impulse.
static __global__ void k_impulse(gpu_view p, double (*seen)[3])
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    double    rest[3];
    int       k;

    if (p.control->tripped || i >= p.n_atoms) return;
    gpu_take_sum(&p, p.slot_of[i], rest);
    for (k = 0; k < 3; k++) {
        seen[i][k] = p.f[i][k];
        p.f[i][k] += rest[k];
    }
}

/// Energies and virial to doubles, with the tail correction.
static __global__ void k_totals(gpu_control *c, double tail_energy, double tail_constant, double tail_pressure)
{
    const int    t = (int)threadIdx.x;
    const double volume = mds_box_volume(&c->box);

    if (c->tripped || t >= GPU_N_SUMS) return;
    double sum = ((double)(long long)c->sum[t] + (double)(long long)c->fine[t] * (1 / GPU_FINE_SCALE)) * (1 / (double)GPU_SUM_SCALE);
    if (t < MDS_N_ENERGY) {
        if (t == MDS_EN_TAIL && volume > 0) sum += tail_energy / volume + tail_constant;
        c->energy[t] = sum;
    } else {
        const int k = (t - GPU_VIRIAL) / 3, l = (t - GPU_VIRIAL) % 3;

        if (k == l && volume > 0) sum -= 0.5 * tail_pressure / volume;
        c->virial[k][l] = sum;
    }
}

// ---------------------------------------------------------------------------------------------------- life

static int count_devices(int k, char *text, size_t size)
{
    cudaDeviceProp about;
    int            n = 0;
    cudaError_t    error = cudaGetDeviceCount(&n);

    if (error == cudaSuccess && k < n) error = cudaGetDeviceProperties(&about, k);
    (void)cudaGetLastError(); // an answer, not a fault that somebody else should find
    if (error != cudaSuccess || n == 0) {
        snprintf(text, size, "%s", error != cudaSuccess ? cudaGetErrorString(error) : "no device");
        return 0;
    }
    if (k < n)
        snprintf(text, size, "%.100s, compute capability %d.%d, %.1f GiB", about.name, about.major, about.minor,
                 (double)about.totalGlobalMem / 1073741824.0);
    return n;
}

static int devices(int k, char *text, size_t size)
{
    const int n = count_devices(k, text, size);

    if (k < n) GPU_NAME(driver_text)(k, text + strlen(text), size - strlen(text));
    return n;
}

static void device_close(mds_device *d)
{
    gpu_view *p;

    if (!d) return;
    p = &d->view;
    if (d->stream) (void)cudaStreamSynchronize(d->stream);
    GPU_NAME(graph_close)(d);
    GPU_NAME(search_close)(d);
    GPU_NAME(pair_close)(d);
    GPU_NAME(bonded_close)(d);
    GPU_NAME(excluded_close)(d);
    GPU_NAME(vsite_close)(d);
    GPU_NAME(mesh_close)(d);
    GPU_NAME(move_close)(d);
    GPU_NAME(observe_close)(d);
    GPU_NAME(pair_double_close)(d);
    GPU_NAME(bonded_double_close)(d);
    const void *const memory[] = {p->control, p->x, p->v, p->f, p->x_list, p->charge, p->inv_mass, p->type, p->slot_of, p->image, d->f_seen};
    for (size_t k = 0; k < sizeof memory / sizeof memory[0]; k++) GPU_NAME(release)(memory[k]);
    if (d->peek) (void)cudaFreeHost(d->peek);
    if (d->begun) (void)cudaEventDestroy(d->begun);
    if (d->meshed) (void)cudaEventDestroy(d->meshed);
    if (d->termed) (void)cudaEventDestroy(d->termed);
    if (d->stream) (void)cudaStreamDestroy(d->stream);
    if (d->mesh_stream) (void)cudaStreamDestroy(d->mesh_stream);
    if (d->term_stream) (void)cudaStreamDestroy(d->term_stream);
    mds_split_free(&d->split);
    mds_free(d);
}

/// Ways to compute pairs (pair.cu, pair_rows.cu), the default first.
static const char *flavours(void)
{
    return "lane octet tile";
}

/// The one that `isa` names; else the default: of another backend, for one.
static const char *kernel_of(const char *isa)
{
    const size_t n = isa ? strcspn(isa, "-") : 0;

    return n == 5 && !strncmp(isa, "octet", n) ? "octet" : n == 4 && !strncmp(isa, "tile", n) ? "tile" : "lane";
}

/// What the system gives, in atom order.
static mds_status copy_system(mds_device *d)
{
    const mds_system *s = d->system;
    const size_t      n = (size_t)s->n_atoms;
    double           *inv_mass;
    mds_status        status;

    MDS_TRY(mds_alloc(&inv_mass, n, sizeof *inv_mass));
    for (size_t i = 0; i < n; i++) inv_mass[i] = s->mass[i] > 0 ? 1 / s->mass[i] : 0;
    status = gpu_copy_in(&d->view.inv_mass, inv_mass, n);
    mds_free(inv_mass);
    MDS_TRY(status);
    MDS_TRY(gpu_copy_in(&d->view.charge, s->charge, n));
    return gpu_copy_in(&d->view.type, s->type, n);
}

static mds_status room_for_impulses(mds_device *d)
{
    return d->params.mesh_every > 1 && !d->f_seen ? gpu_alloc(&d->f_seen, d->system->n_atoms) : MDS_OK;
}

static mds_status make_arrays(mds_device *d)
{
    const size_t n = (size_t)d->system->n_atoms;
    gpu_view    *p = &d->view;

    GPU_TRY(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    GPU_TRY(cudaStreamCreateWithPriority(&d->mesh_stream, cudaStreamNonBlocking, -100)); // the highest: a long chain of small kernels
    GPU_TRY(cudaStreamCreateWithPriority(&d->term_stream, cudaStreamNonBlocking, -100)); // short, and not to wait for all pairs
    GPU_TRY(cudaEventCreateWithFlags(&d->begun, cudaEventDisableTiming));
    GPU_TRY(cudaEventCreateWithFlags(&d->meshed, cudaEventDisableTiming));
    GPU_TRY(cudaEventCreateWithFlags(&d->termed, cudaEventDisableTiming));
    GPU_TRY(cudaMallocHost(&d->peek, sizeof *d->peek));
    p->n_atoms = d->system->n_atoms;
    MDS_TRY(gpu_alloc(&p->control, 1));
    MDS_TRY(gpu_alloc(&p->x, n));
    MDS_TRY(gpu_alloc(&p->v, n));
    MDS_TRY(gpu_alloc(&p->f, n));
    MDS_TRY(gpu_alloc(&p->x_list, n));
    MDS_TRY(gpu_alloc(&p->slot_of, n));
    MDS_TRY(gpu_alloc(&p->image, n));
    MDS_TRY(room_for_impulses(d));
    return copy_system(d);
}

static mds_status fill(mds_device *d, const mds_system *system, const mds_params *params, const char *isa)
{
    char text[160];

    d->system = system;
    d->params = *params;
    MDS_CHECK(count_devices(0, text, sizeof text) > 0, MDS_E_DEVICE, "no GPU answers: %s", text);
    const char *way = GPU_NAME(mesh_wish)(isa);
    snprintf(d->kernel, sizeof d->kernel, "%s", kernel_of(isa));
    snprintf(d->flavour, sizeof d->flavour, "%s%s%s", d->kernel, *way ? "-" : "", way);
    d->view.in_float = !params->deterministic && !params->double_precision;
    snprintf(d->about, sizeof d->about, "%s: %.130s%s", GPU_LABEL, text,
             params->double_precision ? ", double precision" : d->view.in_float ? ", forces summed in float in any order" : "");
    MDS_TRY(make_arrays(d));
    MDS_TRY(GPU_NAME(search_open)(d));
    MDS_TRY(GPU_NAME(pair_open)(d));
    MDS_TRY(GPU_NAME(bonded_open)(d));
    MDS_TRY(GPU_NAME(excluded_open)(d));
    MDS_TRY(GPU_NAME(vsite_open)(d));
    MDS_TRY(GPU_NAME(mesh_open)(d));
    MDS_TRY(GPU_NAME(move_open)(d));
    return GPU_NAME(observe_open)(d);
}

static mds_status device_open(const mds_system *system, const mds_params *params, int threads, const char *isa, mds_device **out)
{
    mds_device *d;
    mds_status  status;

    (void)threads; // of the host: one is enough
    *out = NULL;
    MDS_TRY(mds_alloc(&d, 1, sizeof *d));
    status = fill(d, system, params, isa);
    if (status != MDS_OK) {
        device_close(d);
        return status;
    }
    *out = d;
    return MDS_OK;
}

static const char *describe(const mds_device *d)
{
    return d->about;
}

static const char *flavour(const mds_device *d)
{
    return d->flavour;
}

// ---------------------------------------------------------------------------------------------------- doors

/// Parameters or box changed: everything that is derived from them.
static mds_status derive(mds_device *d)
{
    const mds_params *p = &d->params;
    mds_short_wish    wish = {(mds_num_coulomb)p->coulomb, (mds_num_split)p->split, p->split_shape, p->cut_q, p->coulomb_shift,
                              p->rf_dielectric, 1};

    for (int k = 0; k < 3; k++)
        if (d->box.a[k][k] > 0 && p->grid[k] > 0) wish.spacing = fmin(wish.spacing, d->box.a[k][k] / p->grid[k]);
    GPU_TRY(cudaStreamSynchronize(d->stream)); // tables in use are about to change
    GPU_TRY(cudaStreamSynchronize(d->mesh_stream));
    GPU_TRY(cudaStreamSynchronize(d->term_stream));
    MDS_TRY(mds_short_form(&wish, &d->split, &d->short_range));
    MDS_TRY(GPU_NAME(search_set)(d));
    MDS_TRY(GPU_NAME(pair_set)(d));
    MDS_TRY(GPU_NAME(excluded_set)(d));
    if (p->double_precision) {
        MDS_TRY(GPU_NAME(pair_double_set)(d));
        MDS_TRY(GPU_NAME(bonded_double_set)(d));
    } else {
        MDS_TRY(GPU_NAME(bonded_set)(d));
    }
    return p->coulomb == MDS_COULOMB_PME ? GPU_NAME(mesh_set)(d) : MDS_OK;
}

static mds_status set(mds_device *d, const mds_params *params)
{
    const bool same = mds_params_same_forces(&d->params, params);

    MDS_TRY(GPU_NAME(catch_up)(d)); // with the parameters of its step
    GPU_NAME(graph_forget)(d);
    d->params = *params;
    MDS_TRY(room_for_impulses(d));
    return same ? MDS_OK : derive(d);
}

static mds_status upload(mds_device *d, const mds_domain *domain, const mds_state *state)
{
    const bool   new_box = memcmp(&d->box, &state->box, sizeof d->box) != 0 || !d->short_range.cut;
    const size_t n = (size_t)state->n_atoms;
    gpu_control *c = d->peek;

    MDS_ASSERT(state->n_atoms == d->system->n_atoms && domain->n_home == state->n_atoms);
    GPU_NAME(graph_forget)(d);
    d->postponed = false; // another state
    MDS_TRY(GPU_NAME(sum_forces)(d));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    d->ready = d->seen = false;
    *c = gpu_control{};
    c->step = state->step;
    c->time = state->time;
    c->box = state->box;
    d->periodic = !mds_box_is_none(&state->box);
    if (d->periodic) mds_box_inverse(&c->box, c->inverse);
    memcpy(c->coupling, state->coupling, sizeof c->coupling);
    c->work_noise = state->work_noise;
    c->work_scale = state->work_scale;
    c->list_scale = 1;
    c->fault_atom = GPU_NO_ATOM;
    GPU_TRY(cudaMemcpy(d->view.control, c, sizeof *c, cudaMemcpyHostToDevice));
    GPU_TRY(cudaMemcpy(d->view.x, state->x, n * sizeof *d->view.x, cudaMemcpyHostToDevice));
    GPU_TRY(cudaMemcpy(d->view.v, state->v, n * sizeof *d->view.v, cudaMemcpyHostToDevice));
    GPU_TRY(cudaMemset(d->view.f, 0, n * sizeof *d->view.f));
    d->box = state->box;
    return new_box ? derive(d) : MDS_OK;
}

/// Faults as the engine knows them: while minimising, forces too large for the sums are cut, and that is no fault.
uint32_t GPU_NAME(faults)(const mds_device *d, const gpu_control *c)
{
    return d->params.max_move > 0 ? c->fault & ~(uint32_t)MDS_FAULT_RANGE : c->fault;
}

static mds_status poll(mds_device *d, mds_poll *out)
{
    GPU_TRY(cudaMemcpyAsync(d->peek, d->view.control, sizeof *d->peek, cudaMemcpyDeviceToHost, d->stream));
    GPU_TRY(cudaStreamSynchronize(d->stream));
    out->step = d->peek->step;
    out->tripped = d->peek->tripped || d->peek->outdated;
    out->fault = GPU_NAME(faults)(d, d->peek);
    return MDS_OK;
}

/// New lists: what was recorded reads the old ones, and forces not yet taken from the sums lie in the old order.
static mds_status search(mds_device *d, const mds_domain *domain)
{
    GPU_NAME(graph_forget)(d);
    MDS_TRY(GPU_NAME(catch_up)(d));
    MDS_TRY(GPU_NAME(sum_forces)(d));
    MDS_TRY(GPU_NAME(guard_reset)(d));
    return GPU_NAME(search)(d, domain);
}

// ----------------------------------------------------------------------------------------- begin and finish

mds_status GPU_NAME(refresh)(mds_device *d)
{
    GPU_LAUNCH(k_refresh, (unsigned)(d->view.n_atoms + THREADS - 1) / THREADS, THREADS, 0, d->stream, d->view);
    return MDS_OK;
}

mds_status GPU_NAME(sum_forces)(mds_device *d)
{
    if (d->unsummed) GPU_LAUNCH(k_forces, (unsigned)(d->view.n_atoms + THREADS - 1) / THREADS, THREADS, 0, d->stream, d->view);
    d->unsummed = false;
    return MDS_OK;
}

/// Nothing is left to do where a list with DRIFT has just been run: move.cu ends it so.
static mds_status begin(mds_device *d, mds_work work)
{
    MDS_TRY(GPU_NAME(catch_up)(d));
    d->has_energy = work & MDS_ENERGY;
    d->has_virial = work & MDS_VIRIAL;
    d->seen = false;
    MDS_TRY(GPU_NAME(sum_forces)(d));
    if (!d->ready) {
        MDS_TRY(GPU_NAME(vsite_place)(d));
        GPU_LAUNCH(k_begin, 1, 64, 0, d->stream, d->view.control);
        MDS_TRY(GPU_NAME(refresh)(d));
    }
    d->ready = false;
    GPU_TRY(cudaEventRecord(d->begun, d->stream));
    GPU_TRY(cudaStreamWaitEvent(d->mesh_stream, d->begun, 0));
    GPU_TRY(cudaStreamWaitEvent(d->term_stream, d->begun, 0));
    return MDS_OK;
}

/// Slow forces mesh_every - 1 times more, on the potential still on the mesh, where those of the step are to be seen once each.
static mds_status add_impulse(mds_device *d)
{
    const int more = d->params.mesh_every - 1;

    MDS_TRY(GPU_NAME(sum_forces)(d));
    MDS_TRY(GPU_NAME(excluded_again)(d, more));
    MDS_TRY(GPU_NAME(mesh_again)(d, more));
    MDS_TRY(GPU_NAME(vsite_spread)(d, 0));
    GPU_LAUNCH(k_impulse, (unsigned)(d->view.n_atoms + THREADS - 1) / THREADS, THREADS, 0, d->stream, d->view, d->f_seen);
    d->seen = true;
    return MDS_OK;
}

static mds_status finish(mds_device *d, mds_work work)
{
    const mds_params *q = &d->params;

    MDS_TRY(GPU_NAME(guard_ask)(d));
    GPU_TRY(cudaEventRecord(d->meshed, d->mesh_stream));
    GPU_TRY(cudaStreamWaitEvent(d->stream, d->meshed, 0));
    GPU_TRY(cudaEventRecord(d->termed, d->term_stream));
    GPU_TRY(cudaStreamWaitEvent(d->stream, d->termed, 0));
    MDS_TRY(GPU_NAME(vsite_spread)(d, work));
    d->unsummed = true;
    if (work & (MDS_ENERGY | MDS_VIRIAL))
        GPU_LAUNCH(k_totals, 1, 64, 0, d->stream, d->view.control, q->tail_energy, q->tail_constant, q->tail_pressure);
    return gpu_shows_impulse(d, work) ? add_impulse(d) : MDS_OK;
}

static_assert(GPU_N_SUMS <= 64, "one thread a sum");

// ------------------------------------------------------------------------------------------------ the table

// clang-format off
static mds_status in_upload(mds_device *d, const mds_domain *domain, const mds_state *state) GPU_IN_RANGE("upload", upload(d, domain, state))
static mds_status in_observe(mds_device *d, uint32_t fields, int slot) GPU_IN_RANGE("observe", GPU_NAME(observe)(d, fields, slot))
static mds_status in_collect(mds_device *d, int slot, mds_frame *out) GPU_IN_RANGE("collect", GPU_NAME(collect)(d, slot, out))
static mds_status in_poll(mds_device *d, mds_poll *out) GPU_IN_RANGE("poll", poll(d, out))
static mds_status in_search(mds_device *d, const mds_domain *domain) GPU_IN_RANGE("search", search(d, domain))
static mds_status in_begin(mds_device *d, mds_work work) GPU_IN_RANGE("begin", begin(d, work))
static mds_status in_pair(mds_device *d, mds_where where, mds_work work) GPU_IN_RANGE("pair", GPU_NAME(pair)(d, where, work))
static mds_status in_bonded(mds_device *d, mds_work work) GPU_IN_RANGE("bonded", GPU_NAME(bonded)(d, work))
static mds_status in_mesh(mds_device *d, mds_phase phase, mds_work work) GPU_IN_RANGE("mesh", GPU_NAME(mesh)(d, phase, work))
static mds_status in_finish(mds_device *d, mds_work work) GPU_IN_RANGE("finish", finish(d, work))
static mds_status in_move(mds_device *d, const mds_op *until_stop, mds_work work) GPU_IN_RANGE("move", GPU_NAME(move)(d, until_stop, work))
static mds_status in_couple(mds_device *d, mds_work work) GPU_IN_RANGE("couple", GPU_NAME(couple)(d, work))
static mds_status in_replay(mds_device *d, mds_status (*record)(void *), void *arg, mds_work kind, int n) GPU_IN_RANGE("replay", GPU_NAME(replay)(d, record, arg, kind, n))
// clang-format on

extern "C" const mds_backend GPU_TABLE;
const mds_backend GPU_TABLE = {
    GPU_LABEL, MDS_CAP_REPLAY,
    device_open, device_close, describe, flavours, flavour, GPU_NAME(figures), devices,
    in_upload, set, in_observe, in_collect, in_poll,
    in_search, in_begin, in_pair, in_bonded, in_mesh, in_finish, in_move, in_couple,
    mds_one_rank_mark, mds_one_rank_leg, mds_one_rank_parcel, mds_one_rank_leg,
    in_replay, GPU_NAME(view), GPU_NAME(meter), GPU_NAME(time_pairs), GPU_NAME(round_grid), GPU_NAME(ways),
};
