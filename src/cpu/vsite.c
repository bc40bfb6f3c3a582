// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
mds_status mds_cpu_vsite_open(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_vsite_close(mds_device *d){(void)d;}
mds_status mds_cpu_vsite_remap(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_vsite_place(mds_device *d){(void)d;}
void mds_cpu_vsite_spread(mds_device *d, mds_work w){(void)d;(void)w;}
