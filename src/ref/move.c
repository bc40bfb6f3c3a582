// SPDX-License-Identifier: Apache-2.0
#include "ref/ref.h"
mds_status mds_ref_move(mds_device *d, const mds_op *ops, mds_work work){(void)d;(void)ops;(void)work;return MDS_OK;}
