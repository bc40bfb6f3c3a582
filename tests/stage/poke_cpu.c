// SPDX-License-Identifier: Apache-2.0
// Forces of the test's own into the cpu backend, so that motion is tested without the rows that make forces.
#include "cpu/cpu.h"
#include "stage/poke.h"

#include <string.h>

void poke_cpu(mds_device *d, const double (*f)[3], const double (*virial)[3], double potential)
{
    int32_t i;

    for (i = 0; i < d->n_atoms; i++) memcpy(d->f[d->slot_of[i]], f[i], sizeof f[i]);
    memcpy(d->virial, virial, sizeof d->virial);
    memset(d->energy, 0, sizeof d->energy);
    d->energy[MDS_EN_BOND] = potential;
}
