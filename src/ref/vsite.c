// SPDX-License-Identifier: Apache-2.0
#include "ref/ref.h"
void mds_ref_vsite_place(mds_device *d){(void)d;}
void mds_ref_vsite_spread(mds_device *d, mds_work work){(void)d;(void)work;}
