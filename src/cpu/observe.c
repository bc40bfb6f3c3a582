// SPDX-License-Identifier: Apache-2.0
// Frames: a copy of the scalars and of the arrays asked for, in slot order with their ids, padding left out. Who collects a frame gets its
// arrays themselves.
#include "cpu/cpu.h"

#include <math.h>
#include <string.h>

static void copy_scalars(const mds_device *d, mds_frame *frame)
{
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
}

/// Forces as the potential gives them.
static const double (*forces(const mds_device *d))[3]
{
    return (const double(*)[3])(d->seen ? d->f_seen : d->f);
}

/// Largest force and its atom, the lowest id of equals; the first one that is not a number if there is one.
static void find_largest_force(const mds_device *d, mds_frame *frame)
{
    const double(*f)[3] = forces(d);
    double  largest = -1;
    int32_t slot, atom = -1;

    for (slot = 0; slot < d->n_slots; slot++) {
        double size2 = mds_dot(f[slot], f[slot]);

        if (d->atom_of[slot] < 0) continue;
        if (isnan(size2)) size2 = INFINITY;
        if (size2 < largest || (size2 == largest && d->atom_of[slot] > atom)) continue;
        largest = size2;
        atom = d->atom_of[slot];
    }
    frame->f_max = atom < 0 ? 0 : mds_norm(f[d->slot_of[atom]]);
    frame->f_max_atom = atom;
}

mds_status mds_cpu_observe(mds_device *d, uint32_t fields, int slot)
{
    mds_frame *frame = &d->slot[slot];
    int32_t    s;

    mds_cpu_move_flush(d);
    copy_scalars(d, frame);
    find_largest_force(d, frame);
    frame->n = 0;
    if (!fields) return MDS_OK;
    MDS_TRY(mds_frame_reserve(frame, d->n_atoms, fields));
    for (s = 0; s < d->n_slots; s++) {
        if (d->atom_of[s] < 0) continue;
        frame->id[frame->n] = d->atom_of[s];
        if (fields & MDS_FIELD_X) memcpy(frame->x[frame->n], d->x[s], sizeof d->x[s]);
        if (fields & MDS_FIELD_V) memcpy(frame->v[frame->n], d->v[s], sizeof d->v[s]);
        if (fields & MDS_FIELD_F) memcpy(frame->f[frame->n], forces(d)[s], sizeof d->f[s]);
        frame->n++;
    }
    return MDS_OK;
}

mds_status mds_cpu_collect(mds_device *d, int slot, mds_frame *out)
{
    mds_frame *from = &d->slot[slot];

    if (!from->n) return mds_frame_copy(out, from); // scalars; out keeps its arrays
    mds_frame_free_arrays(out);
    *out = *from; // its arrays go over: a frame of every atom is 52 bytes an atom, and two are not needed
    from->id = NULL;
    from->x = from->v = from->f = NULL;
    from->n = from->capacity = 0;
    return MDS_OK;
}
