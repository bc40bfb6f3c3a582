// SPDX-License-Identifier: Apache-2.0
// Couplings on the device: common motion, thermostat, barostat. Arithmetic in num/couple.h, order and bookkeeping in
// ref/couple.c and docs/theory/coupling.md; the scaling of the box that waits for the next step is done by move.cu.
//
// Nothing comes back to the host. A sum over atoms or groups ends in the last block of its kernel (reduce.h), whose first thread
// draws what depends on it and books it; k_velocities then changes all velocities once, for common motion and thermostat together.
// 48 bytes an atom each.
#include "constrain.h"
#include "network.h"

#include "base/units.h"
#include "num/couple.h"

enum { THREADS = 128 };

/// For kernels over atoms.
typedef struct {
    gpu_view    view;
    mds_params  params;
    gpu_common *common;
    double     *rows;
    unsigned   *counter;
    double      mass; // of all, Da
} common_args;

// --------------------------------------------------------------------------------------------- thermostat

/// What velocities are to be multiplied with; books it. One thread.
static __device__ __forceinline__ double draw_alpha(const mds_params *p, gpu_control *c)
{
    const double kinetic = gpu_trace(c->kinetic), target = 0.5 * p->n_degrees * MDS_BOLTZMANN * p->temperature;
    int          k, l;

    if (p->thermostat != MDS_THERMOSTAT_V_RESCALE || !(kinetic > 0)) return 1;
    const double alpha = mds_couple_alpha(p->seed, (uint64_t)c->step, kinetic, target, p->n_degrees, p->dt * p->couple_every, p->tau_t);
    const double more = alpha * alpha - 1;
    c->work_scale += more * kinetic;
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) {
            c->kinetic[k][l] *= alpha * alpha;
            c->constraint_virial[k][l] += more * c->inertia[k][l];
            c->inertia[k][l] *= alpha * alpha;
        }
    c->coupling[MDS_CPL_ALPHA] = alpha;
    return alpha;
}

/// The thermostat alone.
static __global__ void k_draw(common_args a)
{
    int k;

    if (a.view.control->tripped || threadIdx.x != 0) return;
    for (k = 0; k < 3; k++) a.common->shift[k] = 0;
    a.common->alpha = draw_alpha(&a.params, a.view.control);
}

/// Momentum of the whole; it is booked as gone, and k_velocities takes it out.
static __global__ void __launch_bounds__(THREADS) k_drift(common_args a)
{
    GPU_SHARED(double, part, [3 * GPU_MAX_WARPS]);
    GPU_SHARED(double, total, [3]);
    double p[3] = {0, 0, 0}, u[3];
    int    i, k, l;

    if (a.view.control->tripped) return;
    for (i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < a.view.n_atoms; i += (int)(gridDim.x * blockDim.x)) {
        const double im = a.view.inv_mass[i], mass = im > 0 ? 1 / im : 0;

        for (k = 0; k < 3; k++) p[k] += mass * a.view.v[i][k];
    }
    for (k = 0; k < 3; k++) gpu_put_sum(part, k, p[k]);
    gpu_end_row(part, 3, 3, a.rows + 3 * (size_t)blockIdx.x);
    if (!gpu_is_last_block(a.counter)) return;
    gpu_sum_rows(a.rows, (int)gridDim.x, 3, 3, 3, total);
    if (threadIdx.x != 0) return;
    for (k = 0; k < 3; k++) u[k] = total[k] / a.mass;
    gpu_control *c = a.view.control;
    c->work_scale -= 0.5 * a.mass * mds_dot(u, u);
    for (k = 0; k < 3; k++) {
        for (l = 0; l < 3; l++) c->kinetic[k][l] -= 0.5 * a.mass * u[k] * u[l];
        a.common->shift[k] = u[k];
    }
    a.common->alpha = draw_alpha(&a.params, c);
}

/// v = alpha (v - shift). Sites have no mass and no share in it.
static __global__ void k_velocities(gpu_view p, const gpu_common *common)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int       k;

    if (p.control->tripped || i >= p.n_atoms) return;
    for (k = 0; k < 3; k++) p.v[i][k] = common->alpha * (p.v[i][k] - (p.inv_mass[i] > 0 ? common->shift[k] : 0));
}

// ----------------------------------------------------------------------------- turning of a system without a box

enum { CENTRE = 0, MOMENTUM = 3, SPIN = 6, SECOND = 9, KINETIC = 15, N_MOTION = 21 }; // columns; tensors xx xy xz yy yz zz

/// Angular velocity of the whole about its centre; none for a line or a point.
static __device__ __forceinline__ void turning(const double *sum, double mass, const double centre[3], double w[3])
{
    double inertia[3][3], spin[3], shift[3], c[3][3], square = 0;
    int    k, l, column = SECOND;

    mds_cross(centre, sum + MOMENTUM, shift);
    for (k = 0; k < 3; k++) {
        spin[k] = sum[SPIN + k] - shift[k];
        w[k] = 0;
        for (l = k; l < 3; l++) inertia[k][l] = inertia[l][k] = mass * centre[k] * centre[l] - sum[column++];
    }
    for (k = 0; k < 3; k++) square -= inertia[k][k];
    for (k = 0; k < 3; k++) inertia[k][k] += square;
    mds_cross(inertia[1], inertia[2], c[0]);
    mds_cross(inertia[2], inertia[0], c[1]);
    mds_cross(inertia[0], inertia[1], c[2]);
    const double det = mds_dot(inertia[0], c[0]), trace = gpu_trace(inertia);
    if (!(det > 1e-12 * trace * trace * trace)) return;
    for (k = 0; k < 3; k++) w[k] = (c[0][k] * spin[0] + c[1][k] * spin[1] + c[2][k] * spin[2]) / det;
}

static __global__ void __launch_bounds__(THREADS) k_motion(common_args a)
{
    GPU_SHARED(double, part, [N_MOTION * GPU_MAX_WARPS]);
    GPU_SHARED(double, total, [N_MOTION]);
    double sum[N_MOTION];
    int    i, k, l;

    if (a.view.control->tripped) return;
    for (k = 0; k < N_MOTION; k++) sum[k] = 0;
    for (i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < a.view.n_atoms; i += (int)(gridDim.x * blockDim.x)) {
        const double *x = a.view.x[i], *v = a.view.v[i], im = a.view.inv_mass[i], mass = im > 0 ? 1 / im : 0;
        double        spin[3];
        int           column = 0;

        mds_cross(x, v, spin);
        for (k = 0; k < 3; k++) {
            sum[CENTRE + k] += mass * x[k];
            sum[MOMENTUM + k] += mass * v[k];
            sum[SPIN + k] += mass * spin[k];
            for (l = k; l < 3; l++, column++) {
                sum[SECOND + column] += mass * x[k] * x[l];
                sum[KINETIC + column] += 0.5 * mass * v[k] * v[l];
            }
        }
    }
    for (k = 0; k < N_MOTION; k++) gpu_put_sum(part, k, sum[k]);
    gpu_end_row(part, N_MOTION, N_MOTION, a.rows + N_MOTION * (size_t)blockIdx.x);
    if (!gpu_is_last_block(a.counter)) return;
    gpu_sum_rows(a.rows, (int)gridDim.x, N_MOTION, N_MOTION, N_MOTION, total);
    if (threadIdx.x != 0) return;
    for (k = 0; k < 3; k++) {
        a.common->centre[k] = total[CENTRE + k] / a.mass;
        a.common->shift[k] = total[MOMENTUM + k] / a.mass;
    }
    for (k = 0; k < 6; k++) a.common->kinetic[k] = total[KINETIC + k];
    turning(total, a.mass, a.common->centre, a.common->turn);
}

/// v -= shift + turn x (x - centre), the kinetic energy after it, and what that changed; then the thermostat.
static __global__ void __launch_bounds__(THREADS) k_stop(common_args a)
{
    GPU_SHARED(double, part, [6 * GPU_MAX_WARPS]);
    GPU_SHARED(double, total, [6]);
    const gpu_common *common = a.common;
    double            sum[6];
    int               i, k, l, column = 0;

    if (a.view.control->tripped) return;
    for (k = 0; k < 6; k++) sum[k] = 0;
    for (i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < a.view.n_atoms; i += (int)(gridDim.x * blockDim.x)) {
        const double im = a.view.inv_mass[i];
        double       r[3], u[3], v[3];

        if (!(im > 0)) continue;
        for (k = 0; k < 3; k++) r[k] = a.view.x[i][k] - common->centre[k];
        mds_cross(common->turn, r, u);
        for (k = 0; k < 3; k++) {
            v[k] = a.view.v[i][k] - (common->shift[k] + u[k]);
            a.view.v[i][k] = v[k];
        }
        for (k = 0, column = 0; k < 3; k++)
            for (l = k; l < 3; l++) sum[column++] += 0.5 * v[k] * v[l] / im;
    }
    for (k = 0; k < 6; k++) gpu_put_sum(part, k, sum[k]);
    gpu_end_row(part, 6, 6, a.rows + 6 * (size_t)blockIdx.x);
    if (!gpu_is_last_block(a.counter)) return;
    gpu_sum_rows(a.rows, (int)gridDim.x, 6, 6, 6, total);
    if (threadIdx.x != 0) return;
    for (k = 0; k < 6; k++) total[k] -= common->kinetic[k];
    gpu_control *c = a.view.control;
    c->work_scale += total[0] + total[3] + total[5];
    for (k = 0, column = 0; k < 3; k++)
        for (l = k; l < 3; l++, column++) {
            c->kinetic[k][l] += total[column];
            if (l != k) c->kinetic[l][k] += total[column];
        }
    for (k = 0; k < 3; k++) a.common->shift[k] = 0;
    a.common->alpha = draw_alpha(&a.params, c);
}

// ----------------------------------------------------------------------------------------------- barostat

typedef struct {
    gpu_view     view;
    gpu_groups   groups;
    gpu_networks networks;
    mds_params   params;
    double      *rows;
    unsigned    *counter;
    int          n_rows;
    bool         books; // the correction of a scaling in this step; else the next scaling is drawn
} centre_args;

enum { CENTRE_KINETIC = 0, CENTRE_VIRIAL, N_CENTRE };

/// Kinetic energy of a centre, the mean of both half steps for leap-frog; force: on the whole group.
static __device__ __forceinline__ double centre_kinetic(const centre_args *a, double mass, const double v[3], const double force[3])
{
    const double behind_by = a->view.control->half_step ? a->params.dt / mass : 0;
    double       behind[3];
    int          k;

    for (k = 0; k < 3; k++) behind[k] = v[k] - behind_by * force[k];
    return 0.25 * mass * (mds_dot(v, v) + mds_dot(behind, behind));
}

/// Kinetic energy of the group's centre, and 1/2 sum s.f about it.
template <int KIND> static __device__ __forceinline__ void centre(const centre_args *a, int block, double *part)
{
    const int    k = block * GPU_GROUPS + (int)threadIdx.x, last = a->groups.n[KIND] - 1;
    const double weight = k <= last ? 1 : 0;
    gpu_group    b;
    double       x[3], v[3], force[3] = {0, 0, 0}, virial = 0;
    int          i, l;

    gpu_group_find<KIND>(&a->groups, &a->view, k <= last ? k : last, &b);
    gpu_group_load<KIND>(&b, a->view.x, b.x);
    gpu_group_load<KIND>(&b, a->view.v, b.v);
    const double mass = gpu_group_centre<KIND>(&b, b.v, v);
    gpu_group_centre<KIND>(&b, b.x, x);
    for (i = 0; i < gpu_atoms(KIND); i++)
        for (l = 0; l < 3; l++) {
            const double f = a->view.f[b.atom[i]][l];

            force[l] += f;
            virial += 0.5 * (b.x[3 * i + l] - x[l]) * f;
        }
    gpu_put_sum(part, CENTRE_KINETIC, weight * centre_kinetic(a, mass, v, force));
    gpu_put_sum(part, CENTRE_VIRIAL, KIND == GPU_FREE ? 0 : weight * virial);
}

/// By one thread, with the sums of all groups.
static __device__ __forceinline__ void end_centres(const centre_args *a, double kinetic, double sum)
{
    const mds_params *p = &a->params;
    gpu_control      *c = a->view.control;
    const double      volume = mds_box_volume(&c->box), virial = gpu_trace(c->virial) + 1.5 * p->tail_pressure / volume + sum;

    if (a->books) {
        c->work_scale += c->log_scale * (virial - c->coupling[MDS_CPL_VIRIAL]);
        c->log_scale = 0;
        return;
    }
    const double inside = 2 * (kinetic - virial) / (3 * volume) + p->tail_pressure / (volume * volume);
    c->coupling[MDS_CPL_SCALE] =
        mds_couple_scale(p->seed, (uint64_t)c->step, volume, inside, p->pressure / MDS_BAR, MDS_BOLTZMANN * p->temperature,
                         p->compressibility * MDS_BAR, p->dt * p->couple_every, p->tau_p);
    c->coupling[MDS_CPL_VIRIAL] = virial;
    c->coupling[MDS_CPL_PRESSURE] = inside * MDS_BAR;
}

static __global__ void __launch_bounds__(GPU_GROUPS) k_centres(centre_args a)
{
    GPU_SHARED(double, part, [N_CENTRE * GPU_MAX_WARPS]);
    GPU_SHARED(double, total, [N_CENTRE]);
    const int block = (int)blockIdx.x, *first = a.groups.first_block;
    int       k;

    if (a.view.control->tripped || (a.books && a.view.control->log_scale == 0)) return;
    if (block < first[1])
        centre<GPU_WATER>(&a, block, part);
    else if (block < first[2])
        centre<GPU_XH1>(&a, block - first[1], part);
    else if (block < first[3])
        centre<GPU_XH2>(&a, block - first[2], part);
    else if (block < first[4])
        centre<GPU_XH3>(&a, block - first[3], part);
    else if (block < first[5])
        centre<GPU_FREE>(&a, block - first[4], part);
    else
        for (k = 0; k < N_CENTRE; k++) gpu_put_sum(part, k, 0); // networks only
    gpu_end_row(part, N_CENTRE, N_CENTRE, a.rows + (size_t)block * N_CENTRE);
    if (!gpu_is_last_block(a.counter)) return;
    gpu_sum_rows(a.rows, a.n_rows, N_CENTRE, N_CENTRE, N_CENTRE, total);
    if (threadIdx.x == 0) end_centres(&a, total[CENTRE_KINETIC], total[CENTRE_VIRIAL]);
}

static __global__ void __launch_bounds__(8 * GPU_WARP) k_network_centres(centre_args a)
{
    GPU_SHARED(double, part, [N_CENTRE * GPU_MAX_WARPS]);
    const gpu_network w = gpu_network_of(&a.networks, &a.view, (int)blockIdx.x, part);
    double            x[3], v[3], force[3] = {0, 0, 0}, virial = 0;
    int               i, k;

    if (a.view.control->tripped || (a.books && a.view.control->log_scale == 0)) return;
    const double mass = gpu_network_centre(&w, a.view.v, v);
    gpu_network_centre(&w, a.view.x, x);
    for (i = w.first_atom; i < w.atom_end; i += w.stride) {
        const int id = a.networks.atom[i];

        for (k = 0; k < 3; k++) {
            force[k] += a.view.f[id][k];
            virial += 0.5 * (a.view.x[id][k] - x[k]) * a.view.f[id][k];
        }
    }
    for (k = 0; k < 3; k++) force[k] = gpu_sum_block(force[k], part);
    __syncthreads();
    gpu_put_sum(part, CENTRE_KINETIC, threadIdx.x == 0 ? centre_kinetic(&a, mass, v, force) : 0);
    gpu_put_sum(part, CENTRE_VIRIAL, virial);
    gpu_end_row(part, N_CENTRE, N_CENTRE, a.rows + (size_t)(a.groups.n_blocks + (int)blockIdx.x) * N_CENTRE);
}

static mds_status enqueue_centres(mds_device *d, bool books)
{
    const gpu_move *m = d->move;
    centre_args     a;

    a.view = d->view;
    a.groups = m->groups;
    a.networks = m->networks;
    a.params = d->params;
    a.rows = m->rows;
    a.counter = m->counter;
    a.n_rows = gpu_move_rows(m);
    a.books = books;
    if (m->networks.n) GPU_LAUNCH(k_network_centres, (unsigned)m->networks.n, (unsigned)m->network_threads, 0, d->stream, a);
    GPU_LAUNCH(k_centres, (unsigned)m->groups.n_blocks, GPU_GROUPS, 0, d->stream, a);
    return MDS_OK;
}

mds_status GPU_NAME(book_scale)(mds_device *d)
{
    // a scaling may also wait in the state of a run that has no barostat any more: first order then
    return d->params.barostat != MDS_BAROSTAT_NONE ? enqueue_centres(d, true) : MDS_OK;
}

// ------------------------------------------------------------------------------------------------ the stage

static mds_status enqueue_common(mds_device *d)
{
    const mds_params *p = &d->params;
    const unsigned    all = (unsigned)(d->view.n_atoms + THREADS - 1) / THREADS, blocks = all < GPU_ATOM_BLOCKS ? all : (unsigned)GPU_ATOM_BLOCKS;
    const bool        rescales = p->thermostat == MDS_THERMOSTAT_V_RESCALE;
    common_args       a;

    a.view = d->view;
    a.params = *p;
    a.common = d->move->common;
    a.rows = d->move->rows;
    a.counter = d->move->counter;
    a.mass = d->move->mass;
    if (!(a.mass > 0)) return MDS_OK;
    if (p->remove_com == 2) {
        GPU_LAUNCH(k_motion, blocks, THREADS, 0, d->stream, a);
        GPU_LAUNCH(k_stop, blocks, THREADS, 0, d->stream, a);
    } else if (p->remove_com == 1)
        GPU_LAUNCH(k_drift, blocks, THREADS, 0, d->stream, a);
    else if (rescales)
        GPU_LAUNCH(k_draw, 1, GPU_WARP, 0, d->stream, a);
    if (p->remove_com == 1 || rescales) GPU_LAUNCH(k_velocities, all, THREADS, 0, d->stream, d->view, d->move->common);
    return MDS_OK;
}

mds_status GPU_NAME(couple)(mds_device *d, mds_work work)
{
    const mds_params *p = &d->params;

    if (!(work & MDS_COUPLE)) return MDS_OK;
    MDS_TRY(GPU_NAME(catch_up)(d));
    MDS_CHECK(p->thermostat == MDS_THERMOSTAT_NONE || p->thermostat == MDS_THERMOSTAT_V_RESCALE || p->thermostat == MDS_THERMOSTAT_LANGEVIN,
              MDS_E_UNSUPPORTED, "this thermostat is not there yet; use v-rescale or langevin");
    MDS_CHECK(p->barostat == MDS_BAROSTAT_NONE || p->barostat == MDS_BAROSTAT_C_RESCALE, MDS_E_UNSUPPORTED,
              "this barostat is not there yet; use c-rescale");
    MDS_TRY(enqueue_common(d));
    if (p->barostat == MDS_BAROSTAT_NONE) return MDS_OK;
    MDS_CHECK(d->periodic, MDS_E_INTERNAL, "a barostat without a box");
    MDS_CHECK(d->has_virial, MDS_E_INTERNAL, "the barostat acts on a step without virial");
    return enqueue_centres(d, false);
}
