// SPDX-License-Identifier: Apache-2.0
// Forces of the test's own into ref (poke_cpu.c).
#include "ref/ref.h"
#include "stage/poke.h"

#include <string.h>

void poke_ref(mds_device *d, const double (*f)[3], const double (*virial)[3], double potential)
{
    int32_t i;

    for (i = 0; i < d->n; i++) memcpy(d->f[i], f[i], sizeof f[i]);
    memcpy(d->virial, virial, sizeof d->virial);
    memset(d->energy, 0, sizeof d->energy);
    d->energy[MDS_EN_BOND] = potential;
}
