// SPDX-License-Identifier: Apache-2.0
#include "ref/ref.h"
double mds_ref_split_phi(const mds_device *d,double r,double *rd){(void)d;(void)r;*rd=0;return 0;}
