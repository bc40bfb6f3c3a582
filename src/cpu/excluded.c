// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
mds_status mds_cpu_excluded_open(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_excluded_close(mds_device *d){(void)d;}
mds_status mds_cpu_excluded_remap(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_excluded(mds_device *d, mds_work w){(void)d;(void)w;}
