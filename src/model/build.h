// SPDX-License-Identifier: Apache-2.0
// Private to model/: what system.c and rigid.c share while a system is built.
#ifndef MDS_BUILD_H
#define MDS_BUILD_H

#include "model/model.h"

MDS_BEGIN

mds_status mds_links_add(mds_links *links, int32_t i, int32_t j, double length);

/// Drop constraints given twice; two lengths for one pair are refused (MDS_E_INPUT).
mds_status mds_system_merge_constraints(mds_system *system);

/// Sort `constraint` into waters, X-H clusters and links.
mds_status mds_system_group_constraints(mds_system *system);

MDS_END
#endif
