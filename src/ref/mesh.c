// SPDX-License-Identifier: Apache-2.0
#include "ref/ref.h"
mds_status mds_ref_mesh_set(mds_device *d){(void)d;return MDS_OK;}
void mds_ref_mesh_close(mds_device *d){(void)d;}
mds_status mds_ref_mesh(mds_device *d, mds_phase phase, mds_work work){(void)d;(void)phase;(void)work;return MDS_OK;}
