// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
mds_status mds_cpu_pair(mds_device *d, mds_where w, mds_work k){(void)d;(void)w;(void)k;return MDS_OK;}
