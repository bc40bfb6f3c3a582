// SPDX-License-Identifier: Apache-2.0
// From a step number to what is due: pure, so that a resumed run does at every step what the uninterrupted one did.
// It must not look at run.steps: a run that is later made longer would otherwise have other bits.
#include "engine/engine.h"

static bool every(int64_t interval, int64_t step)
{
    return interval > 0 && step % interval == 0;
}

bool mds_due_trajectory(const mds_config *c, int64_t step)
{
    return every(c->output.trajectory_every, step);
}

bool mds_due_energy(const mds_config *c, int64_t step)
{
    return every(c->output.energy_every, step);
}

mds_work mds_due(const mds_config *c, const mds_params *p, int64_t step)
{
    mds_work work = 0;

    if (every(p->list_interval, step)) work |= MDS_SEARCH;
    if (mds_due_energy(c, step)) work |= MDS_ENERGY | MDS_VIRIAL | MDS_OBSERVE;
    if (mds_due_trajectory(c, step)) work |= MDS_OBSERVE;
    if (every(p->couple_every, step)) {
        work |= MDS_COUPLE;
        if (p->barostat != MDS_BAROSTAT_NONE) work |= MDS_ENERGY | MDS_VIRIAL;
    }
    // the step that scales the box needs the virial after it, to book its work (docs/theory/coupling.md)
    if (p->barostat != MDS_BAROSTAT_NONE && step > 1 && every(p->couple_every, step - 1)) work |= MDS_VIRIAL;
    return work;
}

uint32_t mds_due_fields(const mds_sim *s, int64_t step)
{
    uint32_t fields = 0;

    if (mds_due_trajectory(s->config, step)) {
        fields |= MDS_FIELD_X;
        if (s->config->output.velocities) fields |= MDS_FIELD_V;
        if (s->config->output.forces) fields |= MDS_FIELD_F;
    }
    return fields;
}

int64_t mds_plain_steps(const mds_config *c, const mds_params *p, int64_t step, int64_t last)
{
    int64_t n = 0;

    while (step + n < last && !mds_due(c, p, step + n + 1)) n++;
    return n;
}
