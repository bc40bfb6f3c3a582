// SPDX-License-Identifier: Apache-2.0
// What backends of the host have in common: one device, and one rank, so nobody to write to and nothing may ask.
#include "backend/backend.h"

mds_status mds_one_rank_mark(mds_device *device, const mds_domain *domain, mds_field field, int32_t *counts)
{
    (void)device;
    (void)domain;
    (void)field;
    (void)counts;
    MDS_FAIL(MDS_E_UNSUPPORTED, "this backend runs on one rank");
}

mds_status mds_one_rank_leg(mds_device *device, mds_field field, int leg)
{
    (void)device;
    (void)field;
    (void)leg;
    MDS_FAIL(MDS_E_UNSUPPORTED, "this backend runs on one rank");
}

mds_status mds_one_rank_parcel(mds_device *device, mds_field field, int leg, mds_parcel *out)
{
    (void)out;
    return mds_one_rank_leg(device, field, leg);
}

int mds_host_devices(int k, char *text, size_t size)
{
    (void)k;
    if (size) text[0] = 0;
    return 1;
}
