// SPDX-License-Identifier: Apache-2.0
// One step: the only place that orders the physics, the same for every backend and any number of ranks.
//
// On one rank there is nobody to exchange with, so the halo lines of docs/architecture.md are absent here and come back
// with src/par. Every stage call is timed on the host; a backend that queues work times it itself.
#include "engine/engine.h"

/// Run one stage and book its time.
#define STAGE(region, call)                                                                                  \
    do {                                                                                                     \
        const double stage_began = mds_clock();                                                              \
        MDS_TRY(call);                                                                                       \
        mds_timer_add(region, mds_clock() - stage_began);                                                    \
    } while (0)

/// Forces at the present positions. Enqueues; x is untouched; f is complete for home atoms afterwards.
mds_status mds_forces(mds_sim *s, mds_work work)
{
    const mds_backend *be = s->be;
    mds_device        *d = s->dev;

    STAGE(MDS_T_BEGIN, be->begin(d, work)); // clear sums, place virtual sites
    STAGE(MDS_T_PAIR, be->pair(d, MDS_HOME, work));
    STAGE(MDS_T_BONDED, be->bonded(d, work));
    if (s->params.coulomb == MDS_COULOMB_PME && !(work & MDS_FAST)) MDS_TRY(be->mesh(d, MDS_MESH_ALL, work)); // times its own phases
    STAGE(MDS_T_FINISH, be->finish(d, work)); // sum forces, spread virtual-site forces
    return MDS_OK;
}

/// One step. `work` says what else is due: a new list, energies, a frame.
mds_status mds_step(mds_sim *s, mds_work work)
{
    const mds_backend *be = s->be;
    mds_device        *d = s->dev;
    mds_poll           now;

    work = mds_unless_seen(work) | mds_pace(&s->params, s->step + 1);
    STAGE(MDS_T_MOVE, be->move(d, s->integrator->before, work));
    MDS_TRY(be->poll(d, &now));
    if (now.tripped) s->n_trips++;
    if ((work & MDS_SEARCH) || now.tripped) MDS_TRY(mds_redistribute(s)); // the step goes on from here
    MDS_TRY(mds_forces(s, work));
    STAGE(MDS_T_MOVE, be->move(d, s->integrator->after, work));
    STAGE(MDS_T_COUPLE, be->couple(d, work)); // thermostat, barostat, centre of mass, if due
    if (work & MDS_OBSERVE) {
        const uint32_t fields = mds_due_fields(s, s->step + 1);

        MDS_TRY(mds_output_slot(s, fields));
        STAGE(MDS_T_OBSERVE, be->observe(d, fields, s->slot));
    }
    s->step++;
    return MDS_OK;
}

mds_status mds_redistribute(mds_sim *s)
{
    s->n_searches++;
    STAGE(MDS_T_SEARCH, s->be->search(s->dev, &s->domain));
    return MDS_OK;
}

/// Steps that nobody looks at, with the mesh or without: what a backend can record.
typedef struct {
    mds_sim *s;
    mds_work kind; // 0 or MDS_FAST
} plain;

static mds_status end_plain_step(mds_sim *s, mds_work kind)
{
    MDS_TRY(mds_forces(s, kind));
    MDS_TRY(s->be->move(s->dev, s->integrator->after, kind));
    return s->be->couple(s->dev, kind);
}

static mds_status plain_step(void *arg)
{
    const plain *p = arg;

    MDS_TRY(p->s->be->move(p->s->dev, p->s->integrator->before, p->kind));
    return end_plain_step(p->s, p->kind);
}

/// n plain steps at once, then one look: a trip ends them, and the step that tripped goes on from there after a search.
static mds_status replay(mds_sim *s, int n, uint32_t *fault)
{
    const mds_backend *be = s->be;
    mds_poll           now;

    for (int i = 0, alike; i < n; i += alike) {
        plain step = {s, mds_pace(&s->params, s->step + i + 1)};

        for (alike = 1; i + alike < n && mds_pace(&s->params, s->step + i + alike + 1) == step.kind; alike++) {}
        MDS_TRY(be->replay(s->dev, plain_step, &step, step.kind, alike));
    }
    STAGE(MDS_T_WAIT, be->poll(s->dev, &now));
    s->step = now.step;
    *fault = now.fault;
    if (now.fault || !now.tripped) return MDS_OK;
    s->n_trips++;
    MDS_TRY(mds_redistribute(s));
    return end_plain_step(s, mds_pace(&s->params, s->step));
}

mds_status mds_repeat(mds_sim *s, int64_t n)
{
    enum { BATCH = 16 }; // steps between two looks: a trip wastes the rest of them
    const int64_t end = s->step + n;
    uint32_t      fault = 0;

    while (s->step < end && !fault && !mds_signal_stop()) {
        if (s->be->replay)
            MDS_TRY(replay(s, (int)(end - s->step < BATCH ? end - s->step : BATCH), &fault));
        else
            MDS_TRY(mds_step(s, 0));
    }
    return MDS_OK;
}
