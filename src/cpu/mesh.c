// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
mds_status mds_cpu_mesh_open(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_mesh_close(mds_device *d){(void)d;}
mds_status mds_cpu_mesh_set(mds_device *d){(void)d;return MDS_OK;}
mds_status mds_cpu_mesh_remap(mds_device *d){(void)d;return MDS_OK;}
mds_status mds_cpu_mesh_stage(mds_device *d, mds_phase p, mds_work w){(void)d;(void)p;(void)w;return MDS_OK;}
