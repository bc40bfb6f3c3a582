// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
mds_status mds_cpu_observe(mds_device *d, uint32_t f, int s){(void)d;(void)f;(void)s;return MDS_OK;}
mds_status mds_cpu_collect(mds_device *d, int s, mds_frame *o){(void)d;(void)s;(void)o;return MDS_OK;}
