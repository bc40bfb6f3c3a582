// SPDX-License-Identifier: Apache-2.0
// A look into the cpu backend's order and list, and positions moved without a search.
#include "stage/poke_list.h"

#include "cpu/list.h"

#include <string.h>

void poke_positions(mds_device *d, const double (*x)[3])
{
    for (int32_t i = 0; i < d->n_atoms; i++) memcpy(d->x[d->slot_of[i]], x[i], sizeof x[i]);
}

void poke_box(mds_device *d, const mds_box *box)
{
    d->box = *box;
}

void poke_list_due(mds_device *d)
{
    (void)mds_cpu_pair(d, MDS_HOME, MDS_ENERGY);
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

static void add_tile(const mds_device *d, int32_t a, int32_t b, uint32_t bits, uint8_t *listed)
{
    for (int32_t i = 0; i < CPU_CLUSTER; i++)
        for (int32_t j = 0; j < CPU_CLUSTER; j++) {
            const int32_t p = d->atom_of[CPU_CLUSTER * a + i], q = d->atom_of[CPU_CLUSTER * b + j];

            if (p >= 0 && q >= 0 && (bits >> (4 * i + j) & 1)) listed[(size_t)p * (size_t)d->n_atoms + (size_t)q] = 1;
        }
}

void peek_pairs(const mds_device *d, uint8_t *listed)
{
    for (int t = 0; t < d->n_threads; t++) {
        const cpu_inner *inner = &d->list->lane[t].inner;

        for (int32_t p = 0; p < inner->n_parts; p++) {
            const cpu_part *part = &inner->part[p];
            const int32_t  *j = inner->j + part->first, a = 2 * part->super;
            const uint32_t *mask = inner->mask + part->first_mask;

            for (int segment = 0; segment < CPU_N_SEGMENTS; segment++)
                for (int32_t k = 0; k < part->n[segment]; k++, j++) {
                    const uint32_t bits = segment % 2 ? 0xffffffffu : *mask++;

                    if (segment <= CPU_A) add_tile(d, a, *j, bits, listed);
                    if (segment <= CPU_BOTH) add_tile(d, a + 1, *j, bits >> 16, listed);
                    if (segment >= CPU_B_MASKED) add_tile(d, a + 1, *j, bits, listed);
                }
        }
    }
}

bool peek_lj_alone(const mds_device *d)
{
    cpu_pair_args common;

    mds_cpu_common_parts(d->list, &common);
    return common.column && d->list->kernel_common == CPU_COMMON_LJ;
}

int32_t peek_order(const mds_device *d, const int32_t **atom_of)
{
    *atom_of = d->atom_of;
    return d->n_slots;
}
