// SPDX-License-Identifier: Apache-2.0
// What is known of a finished step: kinetic energy, constraint virial, and the sums that FIRE steers by.
//
// A function of (x, v, f) alone. For each group
//   a = P(f/m)            acceleration that the constraints leave; m (a - f/m) is their force against f
//   b: r.b_ij = -v_ij^2   what bends the paths: constraint acceleration against inertia
//   w = P(v - dt f/m)     leap-frog: velocity half a step behind
// and the virial is -1/2 sum x (x) m (a - f/m + b), with v^2 the mean of both half steps for leap-frog (cpu/measure.c,
// docs/theory/constraints.md).
//
// Multiple time steps: f holds an impulse, for so the velocities went; what constraints take, and FIRE's sums, are of `seen`, each force once.
//
// k_measure: a thread a group, as in k_move; up to 27 sums, each put into shared memory as soon as it is known, so that no registers
// hold sums: 27 KB a block. k_measure_networks: a block a network. Rows in a fixed order, added up by the last block (reduce.h).
#include "constrain.h"
#include "network.h"

enum { KINETIC = 0, VIRIAL = 6, INERTIA = 15, FV = 24, FF, VV }; // columns; kinetic: xx xy xz yy yz zz
static_assert(VV + 1 == GPU_MEASURES, "columns of a row");

typedef struct {
    gpu_view     view;
    gpu_groups   groups;
    gpu_networks networks;
    double      *rows;
    unsigned    *counter;
    int          n_rows;
    double       dt;
    const double (*seen)[3]; // view.f, or forces without an impulse
    bool         whole_kick, forces, keep;
} measure_args;

/// sum over the atoms of m a_k b_l.
template <int KIND> static __device__ __forceinline__ double outer(const double *mass, const double *a, int k, const double *b, int l)
{
    double sum = 0;
    int    i;

    for (i = 0; i < gpu_atoms(KIND); i++) sum += mass[i] * a[3 * i + k] * b[3 * i + l];
    return sum;
}

/// bias of every constraint: the mean of the squares of its relative velocities now and half a step behind.
template <int KIND> static __device__ __forceinline__ void bend(const double *v, const double *w, double bias[3])
{
    int c, k;

    for (c = 0; c < (KIND == GPU_WATER ? 3 : gpu_atoms(KIND) - 1); c++) {
        const int i = KIND == GPU_WATER && c == 2 ? 3 : 0, j = KIND == GPU_WATER && c == 2 ? 6 : 3 * (c + 1);

        bias[c] = 0;
        for (k = 0; k < 3; k++) {
            const double dv = v[i + k] - v[j + k], dw = w[i + k] - w[j + k];

            bias[c] += 0.5 * (dv * dv + dw * dw);
        }
    }
}

/// A thread's own share of column k.
static __device__ __forceinline__ void put(double *part, int k, double v)
{
    part[k * GPU_GROUPS + (int)threadIdx.x] = v;
}

/// Constraint virial and FIRE's sums. w: velocities half a step behind, or v. weight 0: a thread without a group.
template <int KIND>
static __device__ __forceinline__ void measure_forces(const measure_args *a, const gpu_group *b, const double *mass, const double *w,
                                                      double weight, double *part)
{
    const int atoms = gpu_atoms(KIND);
    double    force[12], path[12], from[12], bias[3], fv = 0, ff = 0, vv = 0;
    int       i, k;

    for (i = 0; i < 3 * atoms; i++) {
        from[i] = b->x[i] - b->x[i % 3]; // the forces of a group add up to zero: any origin will do, its first atom saves digits
        path[i] = 0;
    }
    if (KIND != GPU_FREE) {
        bend<KIND>(b->v, w, bias);
        gpu_group_project<KIND>(b, path, bias);
        for (k = 0; k < 9; k++) put(part, INERTIA + k, -0.5 * weight * outer<KIND>(mass, from, k / 3, path, k % 3));
    }
    gpu_group_load<KIND>(b, a->seen, force);
    for (i = 0; i < 3 * atoms; i++) {
        force[i] *= b->im[i / 3];
        path[i] = force[i];
    }
    gpu_group_project<KIND>(b, path, NULL);
    for (i = 0; i < 3 * atoms; i++) {
        fv += mass[i / 3] * path[i] * b->v[i];
        ff += mass[i / 3] * mass[i / 3] * path[i] * path[i];
        vv += b->v[i] * b->v[i];
        path[i] -= force[i];
    }
    put(part, FV, weight * fv);
    put(part, FF, weight * ff);
    put(part, VV, weight * vv);
    if (KIND == GPU_FREE)
        for (k = 0; k < 18; k++) put(part, VIRIAL + k, 0); // and the inertia beside it
    else
        for (k = 0; k < 9; k++) put(part, VIRIAL + k, -0.5 * weight * outer<KIND>(mass, from, k / 3, path, k % 3));
}

template <int KIND> static __device__ __forceinline__ void measure(const measure_args *a, int block, bool half_step, double *part)
{
    const int    atoms = gpu_atoms(KIND), k = block * GPU_GROUPS + (int)threadIdx.x, last = a->groups.n[KIND] - 1;
    const double weight = k <= last ? 1 : 0; // threads beyond the last group do it once more, for nothing: all reach the sums
    gpu_group    b;
    double       w[12], mass[4];
    int          i, l, column = KINETIC;

    gpu_group_find<KIND>(&a->groups, &a->view, k <= last ? k : last, &b);
    for (i = 0; i < atoms; i++) mass[i] = 1 / b.im[i];
    gpu_group_load<KIND>(&b, a->view.v, b.v);
    for (i = 0; i < 3 * atoms; i++) w[i] = b.v[i];
    if (half_step || a->forces) gpu_group_load<KIND>(&b, a->view.x, b.x);
    if (half_step) {
        for (i = 0; i < 3 * atoms; i++) w[i] -= a->dt * b.im[i / 3] * a->view.f[b.atom[i / 3]][i % 3];
        gpu_group_project<KIND>(&b, w, NULL);
    }
    for (i = 0; i < 3; i++)
        for (l = i; l < 3; l++)
            put(part, column++, 0.25 * weight * (outer<KIND>(mass, b.v, i, b.v, l) + outer<KIND>(mass, w, i, w, l)));
    if (a->forces) measure_forces<KIND>(a, &b, mass, w, weight, part);
}

/// By one thread: the sums of all groups to where frames find them.
static __device__ __forceinline__ void end_measure(const measure_args *a, bool half_step, const double *sum)
{
    gpu_control *c = a->view.control;
    int          k, l, column = KINETIC;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) {
            if (l >= k) c->kinetic[k][l] = c->kinetic[l][k] = sum[column++];
            c->inertia[k][l] = a->forces ? sum[INERTIA + 3 * k + l] : 0;
            c->constraint_virial[k][l] = a->forces ? sum[VIRIAL + 3 * k + l] + sum[INERTIA + 3 * k + l] : 0;
        }
    c->half_step = half_step;
    if (a->keep) return;
    c->fv = a->forces ? sum[FV] : 0;
    c->ff = a->forces ? sum[FF] : 0;
    c->vv = a->forces ? sum[VV] : 0;
}

static __global__ void __launch_bounds__(GPU_GROUPS) k_measure(measure_args a)
{
    GPU_SHARED(double, part, [GPU_MEASURES * GPU_GROUPS]);
    GPU_SHARED(double, total, [GPU_MEASURES]);
    const int   block = (int)blockIdx.x, *first = a.groups.first_block, columns = a.forces ? (int)GPU_MEASURES : (int)VIRIAL;
    const bool  half_step = a.whole_kick && !a.view.control->noisy;
    int         k;

    if (a.view.control->tripped) return;
    if (block < first[1])
        measure<GPU_WATER>(&a, block, half_step, part);
    else if (block < first[2])
        measure<GPU_XH1>(&a, block - first[1], half_step, part);
    else if (block < first[3])
        measure<GPU_XH2>(&a, block - first[2], half_step, part);
    else if (block < first[4])
        measure<GPU_XH3>(&a, block - first[3], half_step, part);
    else if (block < first[5])
        measure<GPU_FREE>(&a, block - first[4], half_step, part);
    else
        for (k = 0; k < columns; k++) put(part, k, 0); // networks only
    gpu_end_row_of_threads(part, columns, a.rows + (size_t)block * GPU_MEASURES);
    if (!gpu_is_last_block(a.counter)) return;
    gpu_sum_rows(a.rows, a.n_rows, GPU_MEASURES, columns, columns, total);
    if (threadIdx.x == 0) end_measure(&a, half_step, total);
}

// -------------------------------------------------------------------------------------------- networks

/// w = P(v - dt f/m) or v; a = P(f/m); u = the path's bending. False if a solver failed. The last to be found is u, in place of what
/// the solvers use it for.
static __device__ __forceinline__ bool network_vectors(const measure_args *a, const gpu_network *w, bool half_step)
{
    const gpu_networks *n = w->n;
    bool                solved = true;
    int                 i, c, k;

    for (i = w->first_atom; i < w->atom_end; i += w->stride) {
        const int id = n->atom[i];

        for (k = 0; k < 3; k++) {
            n->a[i][k] = a->view.inv_mass[id] * a->seen[id][k];
            n->w[i][k] = a->view.v[id][k] - (half_step ? a->dt * a->view.inv_mass[id] * a->view.f[id][k] : 0);
            n->before[i][k] = 0;
        }
    }
    if (half_step) solved &= gpu_network_project<false>(w, n->w, NULL);
    solved &= gpu_network_project<false>(w, n->a, NULL);
    for (c = w->first_link; c < w->link_end; c += w->stride) {
        const int2 end = n->pair[c];

        n->bias[c] = 0;
        for (k = 0; k < 3; k++) {
            const double dv = a->view.v[n->atom[end.x]][k] - a->view.v[n->atom[end.y]][k], dw = n->w[end.x][k] - n->w[end.y][k];

            n->bias[c] += 0.5 * (dv * dv + dw * dw);
        }
    }
    solved &= gpu_network_project<false>(w, n->before, n->bias);
    return solved;
}

/// The columns of one atom of a network, by register: 27 sums a thread.
static __device__ __forceinline__ void add_atom(const measure_args *a, const gpu_network *w, int i, const double origin[3], double sum[GPU_MEASURES])
{
    const gpu_networks *n = w->n;
    const int           id = n->atom[i];
    const double       *v = a->view.v[id], *behind = n->w[i], *rest = n->a[i], im = a->view.inv_mass[id], mass = 1 / im;
    int                 k, l, column = KINETIC;

    for (k = 0; k < 3; k++) {
        const double from = a->view.x[id][k] - origin[k];

        for (l = k; l < 3; l++) sum[column++] += 0.25 * mass * (v[k] * v[l] + behind[k] * behind[l]);
        for (l = 0; l < 3; l++) {
            sum[VIRIAL + 3 * k + l] -= 0.5 * mass * from * (rest[l] - im * a->seen[id][l]);
            sum[INERTIA + 3 * k + l] -= 0.5 * mass * from * n->before[i][l];
        }
    }
    sum[FV] += mass * mds_dot(rest, v);
    sum[FF] += mass * mass * mds_dot(rest, rest);
    sum[VV] += mds_dot(v, v);
}

static __global__ void __launch_bounds__(8 * GPU_WARP) k_measure_networks(measure_args a)
{
    GPU_SHARED(double, part, [GPU_MEASURES * GPU_MAX_WARPS]);
    const gpu_network w = gpu_network_of(&a.networks, &a.view, (int)blockIdx.x, part);
    const bool        half_step = a.whole_kick && !a.view.control->noisy;
    double            sum[GPU_MEASURES];
    int               i, k;

    if (a.view.control->tripped) return;
    const bool    solved = network_vectors(&a, &w, half_step);
    const int     leader = a.networks.atom[a.networks.atom_start[blockIdx.x]];
    const double *origin = a.view.x[leader];
    if (!solved && threadIdx.x == 0) gpu_fault(a.view.control, MDS_FAULT_CONSTRAINT, leader);
    for (k = 0; k < GPU_MEASURES; k++) sum[k] = 0;
    for (i = w.first_atom; i < w.atom_end; i += w.stride) add_atom(&a, &w, i, origin, sum);
    __syncthreads();
    for (k = 0; k < GPU_MEASURES; k++) gpu_put_sum(part, k, sum[k]);
    gpu_end_row(part, GPU_MEASURES, GPU_MEASURES, a.rows + (size_t)(a.groups.n_blocks + (int)blockIdx.x) * GPU_MEASURES);
}

mds_status GPU_NAME(measure)(mds_device *d, bool whole_kick, bool forces, bool keep)
{
    const gpu_move *m = d->move;
    measure_args    a;

    a.view = d->view;
    a.groups = m->groups;
    a.networks = m->networks;
    a.rows = m->rows;
    a.counter = m->counter;
    a.n_rows = gpu_move_rows(m);
    a.dt = d->params.dt;
    a.seen = d->seen ? d->f_seen : d->view.f;
    a.whole_kick = whole_kick;
    a.forces = forces;
    a.keep = keep;
    if (m->networks.n) GPU_LAUNCH(k_measure_networks, (unsigned)m->networks.n, (unsigned)m->network_threads, 0, d->stream, a);
    GPU_LAUNCH(k_measure, (unsigned)m->groups.n_blocks, GPU_GROUPS, 0, d->stream, a);
    return MDS_OK;
}
