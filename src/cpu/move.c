// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
mds_status mds_cpu_move_open(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_move_close(mds_device *d){(void)d;}
mds_status mds_cpu_move_remap(mds_device *d){(void)d;return MDS_OK;}
mds_status mds_cpu_move_stage(mds_device *d, const mds_op *o, mds_work w){(void)d;(void)o;(void)w;return MDS_OK;}
