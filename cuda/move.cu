// SPDX-License-Identifier: Apache-2.0
// Moving atoms: a whole list of operations (backend/backend.h) in one kernel, each group once through registers.
//
// k_move: a thread a group, blocks of GPU_GROUPS dealt to the kinds (constrain.h). It loads x and v, and f where a kick wants it,
// runs the list, looks at the way since the search, and stores: a free atom moves 144 bytes (x, v both ways, f, x_list) and some
// 30 operations, a water 450 bytes and about 500. k_networks: a block a network (network.h), before k_move.
//
// The box scaling that a barostat left waiting is done here too, before the first operation of a list that begins a step: groups
// know their centres, and the box changes when the last block ends, so a step with a barostat has no kernel more. That block also
// does what a step has to do once: clock, heat of the noise, stop word. Sums are rows of partial sums in a fixed order (reduce.h).
//
// Both ends of a force evaluation are here as well where one list follows the other, as in every step: a list with DRIFT leaves the
// copies in slot order and cleared sums behind, so that `begin` has nothing to do, and the list after `finish` makes forces of their
// sums as it reads them. In recorded steps the list that ends a step is run with that which begins the next (graph.cu): one launch and
// one pass a step, which then also looks after the pair lists (survey.h).
//
// Meaning and order of everything: ref/move.c and cpu/move.c. Numbers that change from step to step come from gpu_control; the list
// and the parameters are arguments, so a recorded graph is stale after `set`.
#include "constrain.h"
#include "network.h"
#include "pass.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

// ----------------------------------------------------------------------------------------------- groups

template <int KIND> static __device__ __forceinline__ double kinetic(const gpu_group *b)
{
    double sum = 0;
    int    i;

    GPU_UNROLL
    for (i = 0; i < gpu_atoms(KIND); i++) sum += 0.5 * mds_dot(b->v + 3 * i, b->v + 3 * i) / b->im[i];
    return sum;
}

/// The group follows its centre: x and x_list by mu, v by 1/mu.
template <int KIND> static __device__ __forceinline__ void scale_group(const move_args *a, gpu_group *b, double mu, move_sums *sums)
{
    double list[12], x[3], v[3], from[3];
    int    i, k;

    gpu_group_load<KIND>(b, a->view.x_list, list);
    const double mass = gpu_group_centre<KIND>(b, b->v, v);
    gpu_group_centre<KIND>(b, b->x, x);
    gpu_group_centre<KIND>(b, list, from);
    sums->centre_kinetic = 0.5 * mass * mds_dot(v, v) * (1 / (mu * mu) - 1);
    GPU_UNROLL
    for (i = 0; i < gpu_atoms(KIND); i++) {
        double arm[3];

        for (k = 0; k < 3; k++) {
            arm[k] = b->x[3 * i + k] - x[k];
            b->x[3 * i + k] += (mu - 1) * x[k];
            b->v[3 * i + k] += (1 / mu - 1) * v[k];
            a->view.x_list[b->atom[i]][k] = list[3 * i + k] + (mu - 1) * from[k];
            if (a->shift) a->shift[b->atom[i]][k] = (mu - 1) * from[k];
        }
        sums->extent = fmax(sums->extent, mds_norm(arm));
    }
}

template <int KIND> static __device__ __forceinline__ void mix_group(const move_args *a, gpu_group *b)
{
    double force[12];
    int    i, k;

    gpu_group_load<KIND>(b, a->view.f, force);
    GPU_UNROLL
    for (i = 0; i < gpu_atoms(KIND); i++)
        for (k = 0; k < 3; k++) force[3 * i + k] *= b->im[i];
    gpu_group_project<KIND>(b, force, NULL);
    GPU_UNROLL
    for (i = 0; i < gpu_atoms(KIND); i++) move_mix(b->v + 3 * i, force + 3 * i, b->im[i], a->view.control, a->params.mix);
    gpu_group_project<KIND>(b, b->v, NULL);
}

template <int KIND> static __device__ __forceinline__ void do_op(const move_args *a, const move_op *op, gpu_group *b, move_sums *sums)
{
    const int atoms = gpu_atoms(KIND);
    int       i;

    switch (op->kind) {
    case MDS_KICK:
        GPU_UNROLL
        for (i = 0; i < atoms; i++) move_kick(b->v + 3 * i, a->view.f[b->atom[i]], op->h, b->im[i]);
        break;
    case MDS_DRIFT:
        GPU_UNROLL
        for (i = 0; i < atoms; i++) move_drift(b->x + 3 * i, b->v + 3 * i, op->h, a->params.max_move);
        break;
    case MDS_NOISE:
        sums->heat -= kinetic<KIND>(b);
        GPU_UNROLL
        for (i = 0; i < atoms; i++)
            move_noise(b->v + 3 * i, op, b->im[i], a->params.seed, (uint64_t)a->view.control->step, b->atom[i]);
        gpu_group_project<KIND>(b, b->v, NULL);
        sums->heat += kinetic<KIND>(b);
        break;
    case MDS_FIX_X:
        gpu_group_fix_x<KIND>(b, op->inv_h, a->tolerance);
        break;
    case MDS_FIX_V:
        gpu_group_project<KIND>(b, b->v, NULL);
        break;
    case MDS_MIX:
        mix_group<KIND>(a, b);
        break;
    default:
        break;
    }
}

/// The list on group k.
template <int KIND> static __device__ __forceinline__ void run(const move_args *a, int k, double mu, const move_frame *frame, bool looks, move_sums *sums)
{
    const int atoms = gpu_atoms(KIND);
    gpu_group b;
    double    limit2[2], way2[4];
    bool      odd = false;
    int       i;

    if (k >= a->groups.n[KIND]) return;
    gpu_group_find<KIND>(&a->groups, &a->view, k, &b);
    gpu_group_load<KIND>(&b, a->view.x, b.x);
    gpu_group_load<KIND>(&b, a->view.v, b.v);
    if (a->takes)
        GPU_UNROLL
        for (i = 0; i < atoms; i++) gpu_take_force(&a->view, b.atom[i]);
    if (mu != 0) scale_group<KIND>(a, &b, mu, sums);
    GPU_UNROLL
    for (i = 0; i < 3 * atoms; i++) b.r[i] = b.x[i];
    for (i = 0; i < a->n; i++) do_op<KIND>(a, &a->op[i], &b, sums);
    gpu_guard_limits(&a->params, a->view.control, limit2);
    GPU_UNROLL
    for (i = 0; i < atoms; i++) odd |= move_look(a, limit2, b.atom[i], b.im[i], b.x + 3 * i, b.v + 3 * i, &way2[i]);
    if (odd && a->begins) atomicExch(&a->view.control->suspect, 1);
    if (odd && KIND != GPU_FREE && a->fixes && isnan(b.x[0])) gpu_fault(a->view.control, MDS_FAULT_CONSTRAINT, b.atom[0]);
    if (a->begins || a->fixes) gpu_group_store<KIND>(&b, b.x, a->view.x);
    gpu_group_store<KIND>(&b, b.v, a->view.v);
    if (a->begins)
        GPU_UNROLL
        for (i = 0; i < atoms; i++) {
            const float4 now = gpu_refresh_atom(&a->view, frame->box.a, frame->inverse, b.atom[i], b.x + 3 * i);

            if (a->survey.on) survey_atom(&a->survey, looks, b.atom[i], b.im[i] > 1 / MDS_LIGHT, way2[i], now, b.v + 3 * i, &sums->survey);
        }
}

/// The block's share: which kind, which group of it.
static __device__ __forceinline__ void run_any(const move_args *a, double mu, const move_frame *frame, bool looks, move_sums *sums)
{
    const int block = (int)blockIdx.x, *first = a->groups.first_block;

    if (block < first[1])
        run<GPU_WATER>(a, block * GPU_GROUPS + (int)threadIdx.x, mu, frame, looks, sums);
    else if (block < first[2])
        run<GPU_XH1>(a, (block - first[1]) * GPU_GROUPS + (int)threadIdx.x, mu, frame, looks, sums);
    else if (block < first[3])
        run<GPU_XH2>(a, (block - first[2]) * GPU_GROUPS + (int)threadIdx.x, mu, frame, looks, sums);
    else if (block < first[4])
        run<GPU_XH3>(a, (block - first[3]) * GPU_GROUPS + (int)threadIdx.x, mu, frame, looks, sums);
    else if (block < first[5])
        run<GPU_FREE>(a, (block - first[4]) * GPU_GROUPS + (int)threadIdx.x, mu, frame, looks, sums);
}

// ---------------------------------------------------------------------------------------- once for all atoms

/// The box follows: what apply_scale of cpu/couple.c does after the groups.
static __device__ __forceinline__ void scale_box(const mds_params *p, gpu_control *c, double centre_kinetic, double extent)
{
    const double mu = c->coupling[MDS_CPL_SCALE], log_scale = log(mu), volume = mds_box_volume(&c->box);
    int          k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) c->box.a[k][l] *= mu;
    mds_box_inverse(&c->box, c->inverse);
    c->list_scale *= mu;
    c->extent = extent;
    c->suspect = 1; // limits hold for the extent that is known only now: the guard looks
    // potential energy to first order now, to second at the end of the step if there is a virial
    c->log_scale = log_scale;
    c->work_scale += 2 * c->coupling[MDS_CPL_VIRIAL] * log_scale + p->tail_energy * (1 / mds_box_volume(&c->box) - 1 / volume) +
                     centre_kinetic;
    c->coupling[MDS_CPL_SCALE] = 0;
    if (!(mds_box_reach(&c->box) >= fmax(p->cut_lj, p->cut_q))) atomicOr(&c->fault, (unsigned)MDS_FAULT_CUTOFF);
}

/// By one thread, after all groups.
static __device__ __forceinline__ void end_list(const move_args *a, const double *total)
{
    gpu_control *c = a->view.control;

    if (a->noisy) c->work_noise += total[HEAT];
    if (a->forget) c->log_scale = 0; // before this pass books another
    if (a->begins && c->coupling[MDS_CPL_SCALE] != 0) scale_box(&a->params, c, total[CENTRE_KINETIC], total[EXTENT]);
    if (a->begins) {
        // time is a compensated sum, its carry saved with the state: exact to a rounding after any number of steps and
        // the same bits after a resume
        const double step = a->params.dt - c->coupling[MDS_CPL_TIME_CARRY], sum = c->time + step;

        c->coupling[MDS_CPL_TIME_CARRY] = (sum - c->time) - step;
        c->time = sum;
        c->step++;
        c->noisy = a->noisy;
    }
    if (c->fault & MDS_FAULT_NOT_FINITE) c->tripped = 1;
}

/// Rows of the list: heat, and with a scaling the two sums that it needs.
static __device__ __forceinline__ void end_row(const move_args *a, bool scales, const move_sums *sums, int row, double *part)
{
    gpu_put_sum(part, HEAT, sums->heat);
    if (scales) {
        gpu_put_sum(part, CENTRE_KINETIC, sums->centre_kinetic);
        gpu_put_max(part, EXTENT, sums->extent);
    }
    gpu_end_row(part, scales ? (int)N_COLUMNS : 1, EXTENT, a->rows + (size_t)row * N_COLUMNS);
}

static __global__ void __launch_bounds__(GPU_GROUPS) k_move(const GPU_CONSTANT move_args a)
{
    GPU_SHARED(double, part, [N_COLUMNS * GPU_MAX_WARPS]);
    GPU_SHARED(double, total, [N_COLUMNS]);
    GPU_SHARED(move_frame, frame, [1]);
    GPU_SHARED(gpu_survey, survey, [GPU_GROUPS / GPU_WARP]);
    const double mu = a.begins ? a.view.control->coupling[MDS_CPL_SCALE] : 0;
    const bool   scales = mu != 0, sums_up = a.noisy || scales, looks = survey_looks(&a.survey);
    move_sums    sums = {0, 0, 0, survey_none()};

    if (a.view.control->tripped) return;
    if (a.view.control->outdated) {
        if (gpu_is_last_block(a.counter) && threadIdx.x == 0) {
            a.view.control->tripped = 1;
            a.view.control->outdated = 0;
        }
        return;
    }
    if (a.begins && threadIdx.x == 0) move_set_frame(a.view.control, mu, frame);
    __syncthreads();
    run_any(&a, mu, frame, looks, &sums);
    if (a.survey.on) {
        survey_block(survey, looks, &sums.survey);
        if (threadIdx.x == 0) a.survey.row[blockIdx.x] = sums.survey;
    }
    if (sums_up) end_row(&a, scales, &sums, (int)blockIdx.x, part);
    if (!gpu_is_last_block(a.counter)) return;
    if (sums_up) gpu_sum_rows(a.rows, a.n_rows, N_COLUMNS, scales ? (int)N_COLUMNS : 1, EXTENT, total);
    if (a.survey.on) sums.survey = survey_total(&a.survey, a.groups.n_blocks, survey, looks);
    if (threadIdx.x == 0) {
        end_list(&a, total);
        if (a.survey.on) survey_end(&a.survey, &sums.survey, looks);
    }
    __syncthreads();
    if (a.begins) gpu_begin_step(a.view.control, (int)threadIdx.x);
}

// -------------------------------------------------------------------------------------------- networks

static __device__ __forceinline__ void scale_network(const move_args *a, const gpu_network *w, double mu, move_sums *sums)
{
    double x[3], v[3], from[3];
    int    i, k;

    const double mass = gpu_network_centre(w, a->view.v, v);
    gpu_network_centre(w, a->view.x, x);
    gpu_network_centre(w, a->view.x_list, from);
    if (threadIdx.x == 0) sums->centre_kinetic = 0.5 * mass * mds_dot(v, v) * (1 / (mu * mu) - 1);
    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const int id = w->n->atom[i];
        double    arm[3];

        for (k = 0; k < 3; k++) {
            arm[k] = a->view.x[id][k] - x[k];
            a->view.x[id][k] += (mu - 1) * x[k];
            a->view.v[id][k] += (1 / mu - 1) * v[k];
            a->view.x_list[id][k] += (mu - 1) * from[k];
            if (a->shift) a->shift[id][k] = (mu - 1) * from[k];
        }
        sums->extent = fmax(sums->extent, mds_norm(arm));
    }
}

/// What an operation does to single atoms of a network. before: NOISE has not been taken out along links yet, or the mix is to come.
static __device__ __forceinline__ void do_atoms(const move_args *a, const gpu_network *w, const move_op *op, move_sums *sums)
{
    int i, k;

    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const int    id = w->n->atom[i];
        const double im = a->view.inv_mass[id];
        double      *x = a->view.x[id], *v = a->view.v[id];

        if (op->kind == MDS_KICK) move_kick(v, a->view.f[id], op->h, im);
        if (op->kind == MDS_DRIFT) move_drift(x, v, op->h, a->params.max_move);
        if (op->kind == MDS_NOISE) {
            sums->heat -= 0.5 * mds_dot(v, v) / im;
            move_noise(v, op, im, a->params.seed, (uint64_t)a->view.control->step, id);
        }
        if (op->kind == MDS_MIX)
            for (k = 0; k < 3; k++) w->n->a[i][k] = im * a->view.f[id][k];
    }
}

/// The same after what the links have to say.
static __device__ __forceinline__ void end_atoms(const move_args *a, const gpu_network *w, int kind, move_sums *sums)
{
    int i;

    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const int id = w->n->atom[i];
        double   *v = a->view.v[id];

        if (kind == MDS_NOISE) sums->heat += 0.5 * mds_dot(v, v) / a->view.inv_mass[id];
        if (kind == MDS_MIX) move_mix(v, w->n->a[i], a->view.inv_mass[id], a->view.control, a->params.mix);
    }
}

static __device__ __forceinline__ bool do_network(const move_args *a, const gpu_network *w, const move_op *op, move_sums *sums)
{
    bool solved = true;

    if (op->kind != MDS_FIX_X && op->kind != MDS_FIX_V) do_atoms(a, w, op, sums);
    if (op->kind == MDS_FIX_X) solved = gpu_network_fix_x(w, op->inv_h, a->tolerance);
    if (op->kind == MDS_MIX) solved = gpu_network_project<false>(w, w->n->a, NULL);
    if (op->kind == MDS_MIX) end_atoms(a, w, MDS_MIX, sums);
    if (op->kind == MDS_NOISE || op->kind == MDS_FIX_V || op->kind == MDS_MIX) solved &= gpu_network_project<true>(w, a->view.v, NULL);
    if (op->kind == MDS_NOISE) end_atoms(a, w, MDS_NOISE, sums);
    return solved;
}

static __global__ void __launch_bounds__(8 * GPU_WARP, 1) k_networks(move_args a)
{
    GPU_SHARED(double, part, [N_COLUMNS * GPU_MAX_WARPS]);
    GPU_SHARED(move_frame, frame, [1]);
    const double      mu = a.begins ? a.view.control->coupling[MDS_CPL_SCALE] : 0;
    const gpu_network w = gpu_network_of(&a.networks, &a.view, (int)blockIdx.x, part);
    move_sums         sums = {0, 0, 0, survey_none()};
    double            limit2[2], way2;
    bool              solved = true, odd = false;
    int               i;

    if (a.view.control->tripped) return;
    if (mu != 0) scale_network(&a, &w, mu, &sums);
    if (a.begins && threadIdx.x == 0) move_set_frame(a.view.control, mu, frame);
    __syncthreads();
    gpu_network_directions(&w);
    for (i = w.first_atom; i < w.atom_end && a.takes; i += w.stride) gpu_take_force(&a.view, a.networks.atom[i]);
    for (i = 0; i < a.n; i++) solved &= do_network(&a, &w, &a.op[i], &sums);
    gpu_guard_limits(&a.params, a.view.control, limit2);
    for (i = w.first_atom; i < w.atom_end; i += w.stride) {
        const int id = a.networks.atom[i];

        odd |= move_look(&a, limit2, id, a.view.inv_mass[id], a.view.x[id], a.view.v[id], &way2);
        if (a.begins) gpu_refresh_atom(&a.view, frame->box.a, frame->inverse, id, a.view.x[id]);
    }
    if (odd && a.begins) atomicExch(&a.view.control->suspect, 1);
    if (!solved && threadIdx.x == 0) gpu_fault(a.view.control, MDS_FAULT_CONSTRAINT, a.networks.atom[w.first_atom]);
    __syncthreads();
    if (a.noisy || mu != 0) end_row(&a, mu != 0, &sums, a.groups.n_blocks + (int)blockIdx.x, part);
}

/// Sites after they were placed: what a scaling did to their carriers, it does to where the list thinks they are; then their ways, and
/// their copies in slot order.
static __global__ void k_sites(gpu_view p, mds_params params, int n, const int *site, const int *carrier, const double (*shift)[3])
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    double    limit2[2], way2 = 0;
    int       k;

    if (p.control->tripped || i >= n) return;
    const int  id = site[i];
    const bool scaled = p.control->log_scale != 0;
    for (k = 0; k < 3; k++) {
        const double list = p.x_list[id][k] + (scaled ? shift[carrier[i]][k] : 0), way = p.x[id][k] - list;

        p.x_list[id][k] = list;
        way2 += way * way;
    }
    gpu_guard_limits(&params, p.control, limit2);
    if (!(way2 <= limit2[0])) atomicExch(&p.control->suspect, 1);
    gpu_refresh_atom(&p, p.control->box.a, p.control->inverse, id, p.x[id]);
}

// ------------------------------------------------------------------------------------------------ the stage

static bool has(const mds_op *ops, mds_op_kind kind)
{
    for (; ops->kind != MDS_STOP; ops++)
        if (ops->kind == kind) return true;
    return false;
}

/// The operations up to MDS_STOP or MDS_MIX, with their numbers, after those that are there.
static void append(const mds_params *p, const mds_op *ops, move_args *out)
{
    uint32_t nth = 0;

    for (; ops->kind != MDS_STOP && ops->kind != MDS_MIX && out->n < GPU_MOST_OPS; ops++) {
        move_op *op = &out->op[out->n++];

        op->kind = ops->kind;
        op->h = ops->fraction * p->dt;
        op->inv_h = op->h > 0 ? 1 / op->h : 0;
        out->begins |= op->kind == MDS_DRIFT;
        out->noisy |= op->kind == MDS_NOISE;
        out->fixes |= op->kind == MDS_FIX_X;
        if (op->kind != MDS_NOISE) continue;
        op->c = exp(-op->h / p->tau_t);
        op->spread = (1 - op->c * op->c) * MDS_BOLTZMANN * p->temperature;
        op->stream = MDS_RNG_LANGEVIN + (nth++ << 8);
    }
}

/// A pass without operations.
static void prepare(const mds_device *d, move_args *out)
{
    const mds_params *p = &d->params;
    const gpu_move   *m = d->move;

    *out = move_args{};
    out->view = d->view;
    out->groups = m->groups;
    out->networks = m->networks;
    out->params = *p;
    out->shift = m->shift;
    out->rows = m->rows;
    out->counter = m->counter;
    out->n_rows = gpu_move_rows(m);
    out->tolerance = fmin(p->constraint_tolerance > 0 ? p->constraint_tolerance : 1, 1e-10);
}

static mds_status enqueue(mds_device *d, const move_args *a)
{
    if (a->networks.n) GPU_LAUNCH(k_networks, (unsigned)a->networks.n, (unsigned)d->move->network_threads, 0, d->stream, *a);
    GPU_LAUNCH(k_move, (unsigned)a->groups.n_blocks, GPU_GROUPS, 0, d->stream, *a);
    return MDS_OK;
}

/// After a list with DRIFT. surveyed: it has done what guard and prune begin with.
static mds_status begin_step(mds_device *d, bool surveyed)
{
    const gpu_move *m = d->move;

    MDS_TRY(GPU_NAME(vsite_place)(d));
    if (m->n_sites)
        GPU_LAUNCH(k_sites, (unsigned)(m->n_sites + GPU_GROUPS - 1) / GPU_GROUPS, GPU_GROUPS, 0, d->stream, d->view, d->params, m->n_sites,
                   m->site, m->carrier, m->shift);
    d->ready = true;
    d->surveyed = d->unasked = surveyed;
    return surveyed ? MDS_OK : GPU_NAME(guard)(d);
}

/// In a recorded step, whose box has not changed.
static void survey(const mds_device *d, survey_args *out)
{
    const gpu_search *s = d->search;
    const double      cut = fmax(d->params.cut_lj, d->params.cut_q);

    if (d->move->n_sites || d->move->networks.n) return;
    *out = survey_args{true, GPU_NAME(prune_arguments)(d), d->move->survey, s->fast, s->guard, 0.25 * cut * cut};
}

/// A list that ends a step, or one that begins it, with the one before it if that has been postponed.
static mds_status run_list(mds_device *d, const mds_op *ops, bool joined, move_args *args)
{
    prepare(d, args);
    if (joined) append(&d->params, d->move->later, args);
    append(&d->params, ops, args);
    // a scaling is booked by the list that ends its step; where that step has no virial, nothing more is to come
    args->forget = joined || (!args->begins && !d->has_virial);
    args->takes = d->unsummed;
    if (joined && args->begins && d->postpones) survey(d, &args->survey);
    d->unsummed = d->postponed = false;
    return enqueue(d, args);
}

mds_status GPU_NAME(catch_up)(mds_device *d)
{
    static const mds_op none[] = {{MDS_STOP, 0}};
    move_args           args;

    return d->postponed ? run_list(d, none, true, &args) : MDS_OK;
}

/// Leave a list that ends a step to the one that begins the next. Not one with NOISE: its heat is a sum of its own.
static bool postpone(mds_device *d, const mds_op *ops)
{
    int n;

    for (n = 0; ops[n].kind != MDS_STOP; n++)
        if (ops[n].kind == MDS_NOISE || ops[n].kind == MDS_MIX || ops[n].kind == MDS_DRIFT || n == GPU_MOST_OPS / 2 - 1) return false;
    memcpy(d->move->later, ops, (size_t)(n + 1) * sizeof *ops);
    return d->postponed = true;
}

mds_status GPU_NAME(move)(mds_device *d, const mds_op *ops, mds_work work)
{
    const bool begins = has(ops, MDS_DRIFT), mixes = has(ops, MDS_MIX);
    const bool due = work & (MDS_ENERGY | MDS_VIRIAL | MDS_COUPLE | MDS_OBSERVE), forces = mixes || (work & MDS_VIRIAL);
    bool       whole_kick = false;
    move_args  args;

    MDS_ASSERT(!begins || !mixes); // MIX stands in lists that end a step
    if (!begins) MDS_TRY(GPU_NAME(catch_up)(d));
    if (d->postpones && !(work & ~(mds_work)MDS_FAST) && !d->has_virial && postpone(d, ops)) return MDS_OK;
    for (const mds_op *op = ops; op->kind != MDS_STOP; op++) whole_kick |= op->kind == MDS_KICK && op->fraction == 1;
    MDS_TRY(run_list(d, ops, d->postponed, &args));
    args.takes = args.forget = false;
    if (begins) return begin_step(d, args.survey.on);
    if (mixes || due) MDS_TRY(GPU_NAME(measure)(d, whole_kick, forces, false));
    if (mixes) { // FIRE decides by the sums from before its mixing
        args.n = 1;
        args.op[0] = move_op{};
        args.op[0].kind = MDS_MIX;
        MDS_TRY(enqueue(d, &args));
        if (due) MDS_TRY(GPU_NAME(measure)(d, whole_kick, forces, true));
    }
    return d->has_virial ? GPU_NAME(book_scale)(d) : MDS_OK;
}
