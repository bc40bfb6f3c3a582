// SPDX-License-Identifier: Apache-2.0
// A look into the cpu backend's order and list, and positions moved without a search.
#include "stage/poke_list.h"

#include "cpu/cpu.h"

#include <string.h>

void poke_positions(mds_device *d, const double (*x)[3])
{
    for (int32_t i = 0; i < d->n_atoms; i++) memcpy(d->x[d->slot_of[i]], x[i], sizeof x[i]);
}

void poke_box(mds_device *d, const mds_box *box)
{
    d->box = *box;
}

int64_t peek_inside(const mds_device *d)
{
    cpu_list_statistics s;

    mds_cpu_list_statistics(d, &s);
    return s.inside;
}

int64_t peek_prunes(const mds_device *d)
{
    cpu_list_statistics s;

    mds_cpu_list_statistics(d, &s);
    return s.n_prunes;
}

int32_t peek_order(const mds_device *d, const int32_t **atom_of)
{
    *atom_of = d->atom_of;
    return d->n_slots;
}
