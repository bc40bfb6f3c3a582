// SPDX-License-Identifier: Apache-2.0
// Moving groups, a vector of them at a time: a whole list of operations in one pass over their atoms.
//
// Positions, velocities, forces and the positions of the search come as rows of three doubles and are turned into coordinates by
// lane (simd_double.h); the mathematics of the groups is in isa_group.h. This file is compiled once per instruction set level
// (isa.h) and one is chosen at run time. Lanes that fill up a vector are neither stored nor counted.
#include "cpu/isa.h"
#include "cpu/isa_gauss.h"
#include "cpu/isa_group.h"

VD_INLINE void drift(batch *b, int atoms, double h, double max_move)
{
    const vd zero = {0};

    for (int a = 0; a < atoms && max_move > 0; a++) {
        const vd way = h * vd_root(vd_dot(b->v + 3 * a, b->v + 3 * a)), limit = zero + max_move;
        const vd cut = vd_if_greater(way, limit, limit / way, zero + 1);

        for (int k = 0; k < 3; k++) b->v[3 * a + k] *= cut;
    }
    for (int k = 0; k < 3 * atoms; k++) b->x[k] += h * b->v[k];
}

VD_INLINE vd kinetic(const batch *b, int atoms)
{
    vd sum = {0};

    for (int a = 0; a < atoms; a++) sum += 0.5 * vd_dot(b->v + 3 * a, b->v + 3 * a) / b->im[a];
    return sum;
}

/// Ornstein-Uhlenbeck, exact for any time; what it does along constraints is taken out again.
VD_INLINE void noise(const mds_device *d, batch *b, int kind, const cpu_op *op, cpu_move_sums *sums)
{
    const int atoms = cpu_group_atoms[kind];
    const vd  before = kinetic(b, atoms);

    for (int a = 0; a < atoms; a++) {
        const vd spread = vd_root(op->spread * b->im[a]);
        int32_t  id[VD_WIDTH];
        vd       gauss[3];

        for (int l = 0; l < VD_WIDTH; l++) id[l] = d->atom_of[b->offset[a * CPU_BATCH + l] / 3];
        vd_gauss3(d->params.seed, op->stream, (uint64_t)d->step, id, gauss);
        for (int k = 0; k < 3; k++) b->v[3 * a + k] = op->c * b->v[3 * a + k] + spread * gauss[k];
    }
    group_project(b, kind, b->x, b->v, NULL);
    const vd heat = kinetic(b, atoms) - before;
    for (int l = 0; l < b->n; l++) sums->work_noise += heat[l];
}

/// Squares of the ways from `from` to `now`; of `now` where there is no `from`.
VD_INLINE void squares(int atoms, const vd *now, const vd *from, vd *square)
{
    for (int a = 0; a < atoms; a++) {
        vd way[3];

        for (int k = 0; k < 3; k++) {
            way[k] = now[3 * a + k];
            if (from) way[k] -= from[3 * a + k];
        }
        square[a] = vd_dot(way, way);
    }
}

/// Squares beyond the limit of the atom's class, or not a number: the stage then looks atom by atom. most: the largest of heavy atoms.
VD_INLINE bool is_suspect(const batch *b, int atoms, const vd *square, const double limit2[2], vd *most)
{
    const vd light = vd_set(1 / MDS_LIGHT);
    bool     good = true;

    for (int a = 0; a < atoms; a++) {
        const vd heavy = vd_if_greater(b->im[a], light, vd_set(0), square[a]);

        *most = vd_if_greater(heavy, *most, heavy, *most);
        good &= vd_all_within(square[a], vd_if_greater(b->im[a], light, vd_set(limit2[1]), vd_set(limit2[0])));
    }
    return !good;
}

/// What was stored of a batch where something is odd: groups that FIX_X left as NaN, and where to look closer, atoms beyond their limits.
/// By the arrays: a batch whose address is taken does not stay in registers.
static __attribute__((noinline)) void note_odd(const mds_device *d, const int32_t *offset, int n, int atoms, bool drifts, const double limit2[2],
                                               cpu_move_sums *sums)
{
    sums->suspect = true;
    for (int l = 0; l < n; l++) {
        const int32_t first = offset[l] / 3;

        if (isnan(d->x[first][0]) && d->atom_of[first] < sums->unsolved) sums->unsolved = d->atom_of[first];
    }
    for (int a = 0; a < atoms; a++)
        for (int l = 0; l < n; l++) {
            const int32_t slot = offset[a * CPU_BATCH + l] / 3;
            const double *now = drifts ? d->x[slot] : d->v[slot], *from = d->x_list[slot];
            double        square = 0;

            for (int k = 0; k < 3; k++) square += drifts ? (now[k] - from[k]) * (now[k] - from[k]) : now[k] * now[k];
            if (square <= limit2[d->inv_mass[slot] > 1 / MDS_LIGHT]) continue;
            if (sums->n_odd <= CPU_ODD && sums->n_odd++ < CPU_ODD) sums->odd[sums->n_odd - 1] = slot;
        }
}

VD_INLINE void run_op(const mds_device *d, int kind, const cpu_ops *ops, mds_op_kind what, const cpu_op *op, double max_move, batch *b,
                      cpu_move_sums *sums)
{
    const int atoms = cpu_group_atoms[kind];

    switch (what) {
    case MDS_KICK:
        for (int k = 0; k < 3 * atoms; k++) b->v[k] += op->h * b->im[k / 3] * b->f[k];
        break;
    case MDS_DRIFT:
        drift(b, atoms, op->h, max_move);
        break;
    case MDS_NOISE:
        noise(d, b, kind, op, sums);
        break;
    case MDS_FIX_X:
        group_fix_x(b, kind, op->inv_h, ops->tolerance);
        break;
    case MDS_FIX_V:
        group_project(b, kind, b->x, b->v, NULL);
        break;
    case MDS_MIX:
    case MDS_STOP:
        break;
    }
}

/// Lists that most steps consist of. Compiled apart, a group stays in registers from its first operation to its last.
static const mds_op_kind shape_before[] = {MDS_DRIFT, MDS_FIX_X}, shape_after[] = {MDS_KICK, MDS_FIX_V},
                         shape_step[] = {MDS_KICK, MDS_DRIFT, MDS_FIX_X};

/// shape: the kinds of the n operations where they are known when this is compiled, NULL otherwise.
VD_INLINE void run(mds_device *d, int kind, const cpu_ops *ops, int n, const mds_op_kind *shape, int32_t first, int32_t last,
                   cpu_move_sums *sums)
{
    static const double  any_speed[2] = {1e200, 1e200};
    const int            atoms = cpu_group_atoms[kind];
    const cpu_move      *m = d->move;
    const bool           kicks = shape ? shape[0] == MDS_KICK : ops->kicks, drifts = shape ? shape[n - 1] == MDS_FIX_X : ops->drifts;
    const bool           moves = shape ? drifts : ops->moves;
    const cpu_batches   *g = &m->batches[kind];
    const double *const  rows[] = {*d->x, kicks ? *d->f : *d->x, *d->v, *d->x_list};
    const int            n_rows = ops->v_kept && (ops->list_kept || !drifts) ? 2 : drifts ? 4 : 3;
    const double *const  limit2 = drifts ? ops->limit2 : any_speed;
    batch                b;
    vd                   list[12], square[4], most = {0};

    for (int32_t q = first * GROUP_PARTS; q < last * GROUP_PARTS; q++) {
        if (!batch_find(m, kind, q / GROUP_PARTS, q % GROUP_PARTS, &b)) continue;
        if (n_rows == 2)
            batch_prefetch(g, atoms, q / GROUP_PARTS + 1, 2, rows);
        else
            batch_prefetch(g, atoms, q / GROUP_PARTS + 1, n_rows, rows);
        batch_load(&b, atoms, (const double(*)[3])d->x, b.x);
        if (ops->v_kept)
            batch_take(&b, atoms, g->v, b.v);
        else
            batch_load(&b, atoms, (const double(*)[3])d->v, b.v);
        if (kicks) batch_load(&b, atoms, (const double(*)[3])d->f, b.f);
        for (int k = 0; k < 3 * atoms; k++) b.r[k] = b.x[k];
        if (shape) {
#pragma GCC unroll 3
            for (int p = 0; p < n; p++) run_op(d, kind, ops, shape[p], &ops->op[p], 0, &b, sums);
        } else
            for (int p = 0; p < ops->n; p++) run_op(d, kind, ops, ops->op[p].kind, &ops->op[p], ops->max_move, &b, sums);
        if (drifts) {
            if (ops->list_kept)
                batch_take(&b, atoms, g->x_list, list);
            else {
                batch_load(&b, atoms, (const double(*)[3])d->x_list, list);
                batch_keep(&b, atoms, list, g->x_list);
            }
            squares(atoms, b.x, list, square);
        } else
            squares(atoms, b.v, NULL, square);
        if (moves) batch_store(&b, atoms, b.x, d->x);
        if (ops->keep_v)
            batch_keep(&b, atoms, b.v, g->v);
        else
            batch_store(&b, atoms, b.v, d->v);
        if (is_suspect(&b, atoms, square, limit2, &most)) note_odd(d, b.offset, b.n, atoms, drifts, limit2, sums);
    }
    for (int l = 0; l < VD_WIDTH; l++) sums->heavy2 = fmax(sums->heavy2, most[l]);
}

static bool is_shape(const cpu_ops *ops, int n, const mds_op_kind *shape)
{
    if (ops->n != n || ops->max_move > 0) return false;
    for (int p = 0; p < n; p++)
        if (ops->op[p].kind != shape[p]) return false;
    return true;
}

VD_INLINE void run_any(mds_device *d, int kind, const cpu_ops *ops, int32_t first, int32_t last, cpu_move_sums *sums)
{
    if (is_shape(ops, 2, shape_before))
        run(d, kind, ops, 2, shape_before, first, last, sums);
    else if (is_shape(ops, 2, shape_after))
        run(d, kind, ops, 2, shape_after, first, last, sums);
    else if (is_shape(ops, 3, shape_step))
        run(d, kind, ops, 3, shape_step, first, last, sums);
    else
        run(d, kind, ops, 0, NULL, first, last, sums);
}

void MDS_ISA_NAME(mds_isa_move)(mds_device *d, int kind, const cpu_ops *ops, int32_t first, int32_t last, cpu_move_sums *sums)
{
    switch (kind) {
    case CPU_WATER:
        run_any(d, CPU_WATER, ops, first, last, sums);
        break;
    case CPU_XH1:
        run_any(d, CPU_XH1, ops, first, last, sums);
        break;
    case CPU_XH2:
        run_any(d, CPU_XH2, ops, first, last, sums);
        break;
    case CPU_XH3:
        run_any(d, CPU_XH3, ops, first, last, sums);
        break;
    default:
        run_any(d, CPU_FREE, ops, first, last, sums);
        break;
    }
}
