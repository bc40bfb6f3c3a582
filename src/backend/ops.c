// SPDX-License-Identifier: Apache-2.0
// The integrators, as data. Every row returns with positions, forces, energies and virtual sites at the same time.
//
//   verlet    velocity Verlet with RATTLE: x and v at the same time [swope1982, andersen1983]
//   leapfrog  v lives half a step behind x after `before`, half a step ahead after `after`; kinetic energy is the
//             mean of the two half steps [hockney1974]
//   langevin  middle scheme: the whole kick, then half a drift, noise, half a drift. The velocity after the kick is
//             exactly Maxwellian for a harmonic force [zhang2019]. Constraints are projected around the noise (g-BAOAB,
//             leimkuhler2016), so that the heat is booked exactly
//   minimize  FIRE: velocity Verlet whose velocity is turned towards the force; the engine steers mix and dt [bitzek2006]
#include "backend/backend.h"

#include <string.h>

static const mds_integrator integrators[] = {
    {"verlet",
     {{MDS_KICK, 0.5}, {MDS_DRIFT, 1}, {MDS_FIX_X, 1}, {MDS_STOP, 0}},
     {{MDS_KICK, 0.5}, {MDS_FIX_V, 1}, {MDS_STOP, 0}},
     false},
    {"leapfrog",
     {{MDS_DRIFT, 1}, {MDS_FIX_X, 1}, {MDS_STOP, 0}},
     {{MDS_KICK, 1}, {MDS_FIX_V, 1}, {MDS_STOP, 0}},
     true},
    {"langevin",
     {{MDS_DRIFT, 0.5}, {MDS_FIX_X, 0.5}, {MDS_FIX_V, 1}, {MDS_NOISE, 1}, {MDS_DRIFT, 0.5}, {MDS_FIX_X, 0.5}, {MDS_STOP, 0}},
     {{MDS_KICK, 1}, {MDS_FIX_V, 1}, {MDS_STOP, 0}},
     false},
    {"minimize",
     {{MDS_KICK, 0.5}, {MDS_DRIFT, 1}, {MDS_FIX_X, 1}, {MDS_STOP, 0}},
     {{MDS_KICK, 0.5}, {MDS_FIX_V, 1}, {MDS_MIX, 1}, {MDS_STOP, 0}},
     false},
};

const mds_integrator *mds_integrator_find(const char *name)
{
    size_t k;

    for (k = 0; k < sizeof integrators / sizeof integrators[0]; k++)
        if (!strcmp(integrators[k].name, name)) return &integrators[k];
    return NULL;
}
