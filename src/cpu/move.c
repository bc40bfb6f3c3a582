// SPDX-License-Identifier: Apache-2.0
// Moving atoms: one pass over the groups for a whole list of operations (backend/backend.h), threads side by side.
//
// Each group is loaded once, the list is run on it, and it is stored: x, v, f, x_list once through the caches. A list that ends a
// step with nothing due waits and goes with the list that begins the next one, so that a plain step is one pass; whoever looks at
// x and v or changes f before then has it done first (mds_cpu_move_flush). The same operations on the same numbers: the same bits.
// Where the engine says that nobody will look (MDS_UNSEEN), the joined list is also made shorter.
// Only MIX needs sums over all atoms and cuts a list in two. The way since the search is looked at in the same pass;
// what looks odd there is searched for atom by atom afterwards, which almost never happens.
//
// Velocities and the positions of the search are moved through memory as rows by slot only where somebody else wants them: from step to
// step each batch keeps its own, as vectors that are loaded without a transposition and from where the hardware expects them.
//
// Clock, kinetic energy and constraint virial: as ref/move.c says; the measurements are in measure.c. A list with a
// DRIFT must end its drift with a FIX_X where there are constraints, as every integrator does: directions are those
// of the positions before it.
#include "cpu/move.h"

#include "base/rng.h"
#include "base/units.h"

#include <limits.h>
#include <math.h>
#include <string.h>

// ------------------------------------------------------------------------------------------ running a list

static void drift_atom(double x[3], double v[3], double h, double max_move)
{
    const double way = max_move > 0 ? h * mds_norm(v) : 0;
    int          k;

    for (k = 0; k < 3; k++) {
        if (way > max_move) v[k] *= max_move / way;
        x[k] += h * v[k];
    }
}

/// Ornstein-Uhlenbeck for one atom, exact for any time.
static void noise_atom(const mds_device *d, const cpu_op *op, int32_t slot, double im, double v[3])
{
    const double spread = sqrt(op->spread * im);
    double       gauss[4];
    int          k;

    mds_gauss4(d->params.seed, op->stream, (uint64_t)d->step, (uint32_t)d->atom_of[slot], gauss);
    for (k = 0; k < 3; k++) v[k] = op->c * v[k] + spread * gauss[k];
}

/// Square of the way that a slot has gone since the search, being at x now.
static double way2_of(const mds_device *d, int32_t slot, const double x[3])
{
    const double *list = d->x_list[slot], way[3] = {x[0] - list[0], x[1] - list[1], x[2] - list[2]};

    return mds_dot(way, way);
}

/// False if the way since the search (or, in a list without DRIFT, the speed) is too large or not a number.
static bool is_near(const mds_device *d, const cpu_ops *ops, int32_t slot, const double x[3], const double v[3], double *heavy2)
{
    const double way2 = way2_of(d, slot, x);
    const bool   light = d->inv_mass[slot] > 1 / MDS_LIGHT;

    if (!ops->drifts) return mds_dot(v, v) <= 1e200;
    if (!light) *heavy2 = fmax(*heavy2, way2);
    return way2 <= ops->limit2[light];
}

static double group_kinetic(const cpu_group *g, const cpu_scratch *s)
{
    double  sum = 0;
    int32_t i;

    for (i = 0; i < g->n; i++) sum += 0.5 * mds_dot(s->v[i], s->v[i]) / s->im[i];
    return sum;
}

static void fix_group(const cpu_group *g, double inv_h, double tolerance, cpu_scratch *s, bool *solved)
{
    int32_t i;
    int     k;

    memcpy(s->w, s->x, (size_t)g->n * sizeof *s->w);
    *solved &= mds_cpu_group_fix_x(g, tolerance, s);
    for (i = 0; i < g->n; i++)
        for (k = 0; k < 3; k++) s->v[i][k] += (s->x[i][k] - s->w[i][k]) * inv_h;
    memcpy(s->r, s->x, (size_t)g->n * sizeof *s->r);
}

static void op_group(const mds_device *d, const cpu_group *g, const cpu_ops *ops, const cpu_op *op, cpu_scratch *s,
                     cpu_move_sums *sums, bool *solved)
{
    double       before;
    int32_t      i;
    int          k;

    switch (op->kind) {
    case MDS_KICK:
        for (i = 0; i < g->n; i++)
            for (k = 0; k < 3; k++) s->v[i][k] += op->h * s->im[i] * d->f[g->slot[i]][k];
        break;
    case MDS_DRIFT:
        for (i = 0; i < g->n; i++) drift_atom(s->x[i], s->v[i], op->h, ops->max_move);
        break;
    case MDS_NOISE:
        before = group_kinetic(g, s);
        for (i = 0; i < g->n; i++) noise_atom(d, op, g->slot[i], s->im[i], s->v[i]);
        *solved &= mds_cpu_group_project(g, s, (const double(*)[3])s->x, s->v, NULL);
        sums->work_noise += group_kinetic(g, s) - before;
        break;
    case MDS_FIX_X:
        fix_group(g, op->inv_h, ops->tolerance, s, solved);
        break;
    case MDS_FIX_V:
        *solved &= mds_cpu_group_project(g, s, (const double(*)[3])s->x, s->v, NULL);
        break;
    case MDS_MIX:
    case MDS_STOP:
        break;
    }
}

static void run_group(mds_device *d, const cpu_group *g, const cpu_ops *ops, cpu_scratch *s, cpu_move_sums *sums)
{
    bool    solved = true;
    int32_t i;
    int     p;

    mds_cpu_group_load(d, g, s);
    for (i = 0; i < g->n; i++) memcpy(s->v[i], d->v[g->slot[i]], sizeof s->v[i]);
    memcpy(s->r, s->x, (size_t)g->n * sizeof *s->r);
    for (p = 0; p < ops->n; p++) op_group(d, g, ops, &ops->op[p], s, sums, &solved);
    for (i = 0; i < g->n; i++) {
        if (!is_near(d, ops, g->slot[i], s->x[i], s->v[i], &sums->heavy2)) {
            sums->suspect = true;
            sums->n_odd = CPU_ODD + 1; // as if there were too many: all atoms are looked at
        }
        if (!solved && d->atom_of[g->slot[i]] < sums->unsolved) sums->unsolved = d->atom_of[g->slot[i]];
        memcpy(d->x[g->slot[i]], s->x[i], sizeof s->x[i]);
        memcpy(d->v[g->slot[i]], s->v[i], sizeof s->v[i]);
    }
}

/// The share of one thread. Networks go by their links, so that one large molecule does not carry all others along.
static void run_share(mds_device *d, const cpu_ops *ops, int t)
{
    cpu_move      *m = d->move;
    cpu_scratch   *s = &m->scratch[t];
    cpu_move_sums *sums = &m->sums[t];
    int32_t        first, last, k;

    for (int kind = 0; kind < CPU_N_GROUPS; kind++) {
        mds_cpu_share(d, t, m->batches[kind].n, &first, &last);
        m->run(d, kind, ops, first, last, sums);
    }
    for (k = 0; k < m->n_nets; k++) {
        const int64_t   links = m->net_link_start[m->n_nets];
        const cpu_group g = mds_cpu_network(m, k);

        if (m->net_link_start[k] * (int64_t)d->n_threads / links == t) run_group(d, &g, ops, s, sums);
    }
}

/// Lists with DRIFT leave the velocities in the batches, where the next list takes them from; other lists end a step in which somebody
/// will look at them, and leave rows.
static void run_list(mds_device *d, cpu_ops *ops)
{
    cpu_move *m = d->move;
    int       t;

    ops->v_kept = m->v_at != CPU_V_ROWS;
    ops->keep_v = ops->drifts;
    ops->list_kept = m->list_kept;
    m->v_at = ops->drifts ? CPU_V_BATCHES : CPU_V_ROWS;
    m->list_kept |= ops->drifts;
    mds_cpu_clear_sums(d);
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) run_share(d, ops, t);
    mds_cpu_add_sums(d);
    d->work_noise += d->move->sums->work_noise;
}

/// The list with its numbers; stops at MDS_STOP or MDS_MIX, which *rest points to.
static void prepare(const mds_device *d, const mds_op *ops, cpu_ops *out, const mds_op **rest)
{
    const mds_params *p = &d->params;
    uint32_t          nth = 0;

    *out = (cpu_ops){.max_move = p->max_move,
                     .tolerance = fmin(p->constraint_tolerance > 0 ? p->constraint_tolerance : 1, 1e-10)};
    mds_cpu_guard_limits(d, out->limit2);
    for (; ops->kind != MDS_STOP && ops->kind != MDS_MIX && out->n < 8; ops++) {
        cpu_op *op = &out->op[out->n++];

        op->kind = ops->kind;
        op->h = ops->fraction * p->dt;
        op->inv_h = op->h > 0 ? 1 / op->h : 0;
        out->drifts |= op->kind == MDS_DRIFT;
        out->kicks |= op->kind == MDS_KICK;
        out->moves |= op->kind == MDS_DRIFT || op->kind == MDS_FIX_X;
        if (op->kind != MDS_NOISE) continue;
        op->c = exp(-op->h / p->tau_t);
        op->spread = (1 - op->c * op->c) * MDS_BOLTZMANN * p->temperature;
        op->stream = MDS_RNG_LANGEVIN + (nth++ << 8);
    }
    *rest = ops;
}

static bool has(const mds_op *ops, mds_op_kind kind)
{
    for (; ops->kind != MDS_STOP; ops++)
        if (ops->kind == kind) return true;
    return false;
}

/// The slots where the pass before saw something odd, one after the other; -1: they are too many, or not known.
static int32_t odd_slots(mds_device *d)
{
    cpu_move *m = d->move;
    int32_t   n = 0;

    for (int t = 0; t < d->n_threads; t++) {
        if (m->sums[t].n_odd > CPU_ODD) return -1;
        memmove(m->odd + n, m->sums[t].odd, (size_t)m->sums[t].n_odd * sizeof *m->odd);
        n += m->sums[t].n_odd;
    }
    return n;
}

/// Atom by atom where the pass before saw something: what is not finite is a fault, and then a trip; else the guard decides.
static void look_closer(mds_device *d, bool moved)
{
    const int32_t  n_odd = odd_slots(d), n = n_odd < 0 ? d->n_slots : n_odd;
    const int32_t *odd = n_odd < 0 ? NULL : d->move->odd;
    int32_t        atom = -1;

    for (int32_t k = 0; k < n; k++) {
        const int32_t slot = odd ? odd[k] : k;

        if (d->atom_of[slot] < 0) continue;
        // after a DRIFT velocities are in the batches (run_list), but one that is not finite has made a position so
        if (!isfinite(mds_dot(d->x[slot], d->x[slot])) || (!moved && !isfinite(mds_dot(d->v[slot], d->v[slot]))))
            if (atom < 0 || d->atom_of[slot] < atom) atom = d->atom_of[slot];
    }
    if (atom < 0) {
        d->tripped = moved && mds_cpu_guard_trips(d, odd, n, d->move->sums->heavy2);
        return;
    }
    if (!d->fault) d->fault_atom = atom;
    d->fault |= MDS_FAULT_NOT_FINITE;
    d->tripped = true;
}

/// End of a step's first list: sites, clock, buffer.
static void advance(mds_device *d, const double limit2[2])
{
    const mds_vsites *s = &d->system->vsite;
    // time is a compensated sum, its carry saved with the state: exact to a rounding after any number of steps and
    // the same bits after a resume
    const double step = d->params.dt - d->coupling[MDS_CPL_TIME_CARRY], sum = d->time + step;
    cpu_move_sums *const sums = d->move->sums;
    int32_t      k;

    d->coupling[MDS_CPL_TIME_CARRY] = (sum - d->time) - step;
    d->time = sum;
    d->step++;
    mds_cpu_vsite_place(d);
    for (k = 0; k < s->n; k++) {
        const int32_t slot = d->slot_of[s->site[k]];
        const double  way2 = way2_of(d, slot, d->x[slot]);

        sums->heavy2 = fmax(sums->heavy2, way2); // a site counts as heavy
        if (way2 <= limit2[0]) continue;
        sums->suspect = true;
        if (sums->n_odd <= CPU_ODD && sums->n_odd++ < CPU_ODD) sums->odd[sums->n_odd - 1] = slot;
    }
    if (sums->suspect) look_closer(d, true);
}

/// Velocities of the batches of a kind into their rows.
static void put_rows(mds_device *d, int kind, int32_t first, int32_t last)
{
    const cpu_batches *b = &d->move->batches[kind];
    const size_t       atoms = (size_t)cpu_group_atoms[kind];

    for (size_t at = (size_t)first * atoms; at < (size_t)last * atoms; at++) // atoms of all groups of a batch at once
        for (int l = 0; l < b->count[at / atoms]; l++)
            for (int k = 0; k < 3; k++) (*d->v)[b->offset[at * CPU_BATCH + (size_t)l] + k] = b->v[(3 * at + (size_t)k) * CPU_BATCH + (size_t)l];
}

void mds_cpu_move_put_v(mds_device *d)
{
    cpu_move *m = d->move;

    if (m->v_at != CPU_V_BATCHES) return;
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (int t = 0; t < d->n_threads; t++)
        for (int kind = 0; kind < CPU_N_GROUPS; kind++) {
            int32_t first, last;

            mds_cpu_share(d, t, m->batches[kind].n, &first, &last);
            put_rows(d, kind, first, last);
        }
    m->v_at = CPU_V_BOTH;
}

void mds_cpu_move_flush(mds_device *d)
{
    mds_cpu_move_catch_up(d);
    mds_cpu_move_put_v(d);
    d->move->v_at = CPU_V_ROWS; // whoever asks for it may change them
}

void mds_cpu_move_catch_up(mds_device *d)
{
    cpu_ops *waiting = d->move->waiting;

    if (!waiting->n) return;
    run_list(d, waiting);
    waiting->n = 0;
    if (d->move->sums->suspect) look_closer(d, false);
}

/// KICK, FIX_V, perhaps KICK, DRIFT, FIX_X is one whole KICK, DRIFT, FIX_X: the forces are the same, and what FIX_V takes from the velocities
/// along the constraints of the present positions, FIX_X takes from the way along the same directions.
static void shorten(cpu_ops *waiting, cpu_ops *list)
{
    const int kicks = list->op[0].kind == MDS_KICK;

    if (!waiting->unseen || waiting->n != 2 || waiting->op[0].kind != MDS_KICK || waiting->op[1].kind != MDS_FIX_V) return;
    if (list->n < kicks + 2 || list->op[kicks].kind != MDS_DRIFT || list->op[kicks + 1].kind != MDS_FIX_X) return;
    waiting->n = 1;
    if (!kicks) return;
    list->op[0].h += waiting->op[0].h;
    waiting->n = 0;
}

/// The list that waits, and this one after it.
static void join(mds_device *d, cpu_ops *list)
{
    cpu_ops *waiting = d->move->waiting;
    cpu_ops  both;

    shorten(waiting, list);
    both = *list;
    memcpy(both.op, waiting->op, (size_t)waiting->n * sizeof *both.op);
    memcpy(both.op + waiting->n, list->op, (size_t)list->n * sizeof *both.op);
    both.n += waiting->n;
    both.kicks |= waiting->kicks;
    waiting->n = 0;
    *list = both;
}

mds_status mds_cpu_move_stage(mds_device *d, const mds_op *ops, mds_work work)
{
    const bool    begins = has(ops, MDS_DRIFT), mixes = has(ops, MDS_MIX);
    const bool    due = work & (MDS_ENERGY | MDS_VIRIAL | MDS_COUPLE | MDS_OBSERVE);
    bool          half_step = false;
    const mds_op *op, *rest;
    cpu_ops       list;

    if (d->tripped) return MDS_OK;
    if (!begins) mds_cpu_move_catch_up(d);
    if (begins && (d->coupling[MDS_CPL_SCALE] != 0 || !d->listed)) mds_cpu_move_flush(d); // scaling changes x and v
    if (d->tripped) return MDS_OK;
    if (!d->listed || !d->move->mapped) MDS_TRY(mds_cpu_move_remap(d)); // before the first search: order of atoms
    if (begins) mds_cpu_apply_scale(d);
    if (begins) d->move->noisy = has(ops, MDS_NOISE);
    for (op = ops; op->kind != MDS_STOP; op++) half_step |= op->kind == MDS_KICK && op->fraction == 1;
    half_step &= !begins && !d->move->noisy;
    MDS_ASSERT(!begins || !mixes); // MIX stands in lists that end a step
    prepare(d, ops, &list, &rest);
    if (begins) {
        join(d, &list);
        run_list(d, &list);
        advance(d, list.limit2);
        return MDS_OK;
    }
    if (!mixes && !due && d->listed && d->move->log_scale == 0 && list.kicks && !list.moves) {
        *d->move->waiting = list;
        d->move->waiting->unseen = work & MDS_UNSEEN;
        return MDS_OK;
    }
    run_list(d, &list);
    if (d->move->sums->suspect) look_closer(d, false);
    const cpu_measure what = {.half_step = half_step, .forces = mixes || (work & MDS_VIRIAL)};

    if (mixes || due) mds_cpu_measure(d, &what);
    if (mixes) {
        const double fv = d->fv, ff = d->ff, vv = d->vv; // FIRE decides by the sums from before its mixing

        MDS_ASSERT(rest->kind == MDS_MIX && rest[1].kind == MDS_STOP);
        mds_cpu_mix(d);
        if (due) mds_cpu_measure(d, &what);
        d->fv = fv;
        d->ff = ff;
        d->vv = vv;
    }
    mds_cpu_book_scale(d);
    return MDS_OK;
}
