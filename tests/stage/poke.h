// SPDX-License-Identifier: Apache-2.0
// Forces of a test's own, by atom, into a backend's private arrays.
#ifndef MDS_TEST_POKE_H
#define MDS_TEST_POKE_H

#include "backend/backend.h"

MDS_BEGIN

void poke_cpu(mds_device *device, const double (*f)[3], const double (*virial)[3], double potential);
void poke_ref(mds_device *device, const double (*f)[3], const double (*virial)[3], double potential);
void poke_emu(mds_device *device, const double (*f)[3], const double (*virial)[3], double potential);

MDS_END

#endif
