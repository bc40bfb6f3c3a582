// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.h"
mds_status mds_cpu_list_open(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_list_close(mds_device *d){(void)d;}
mds_status mds_cpu_list_set(mds_device *d){(void)d;return MDS_OK;}
void mds_cpu_list_refresh(mds_device *d){(void)d;}
mds_status mds_cpu_search(mds_device *d,const mds_domain *dom){(void)dom;d->listed=true;d->tripped=false;return MDS_OK;}
