// SPDX-License-Identifier: Apache-2.0
// The message stages of a backend that runs on one rank: nobody to write to, so nothing may ask.
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
