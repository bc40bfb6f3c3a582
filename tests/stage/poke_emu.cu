// SPDX-License-Identifier: Apache-2.0
// Forces of the test's own into the emulated GPU backend (poke_cpu.c). Nothing is queued when a test looks at positions to make them.
#include "device.h"

#include "stage/poke.h"

#include <stddef.h>

static void put(void *to, const void *from, size_t size)
{
    if (cudaMemcpy(to, from, size, cudaMemcpyHostToDevice) != cudaSuccess) abort();
}

void poke_emu(mds_device *d, const double (*f)[3], const double (*virial)[3], double potential)
{
    double energy[MDS_N_ENERGY] = {0};

    energy[MDS_EN_BOND] = potential;
    put(d->view.f, f, (size_t)d->view.n_atoms * sizeof *f);
    put(&d->view.control->virial, virial, sizeof d->view.control->virial);
    put(&d->view.control->energy, energy, sizeof energy);
}
