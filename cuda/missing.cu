// SPDX-License-Identifier: Apache-2.0
// Stages whose files are not there yet: a device that needs one says so. Each goes when its file comes.
#include "device.h"

#define NOT_YET(name) MDS_FAIL(MDS_E_UNSUPPORTED, "the GPU backend has no %s yet", name)

mds_status GPU_NAME(search_open)(mds_device *) { return MDS_OK; }
void       GPU_NAME(search_close)(mds_device *) {}
mds_status GPU_NAME(search_set)(mds_device *) { return MDS_OK; }
void       GPU_NAME(figures)(const mds_device *, mds_list_figures *out) { *out = mds_list_figures{}; }
mds_status GPU_NAME(prune)(mds_device *) { return MDS_OK; }
mds_status GPU_NAME(guard)(mds_device *) { return MDS_OK; }
mds_status GPU_NAME(search)(mds_device *, const mds_domain *) { NOT_YET("search"); }

mds_status GPU_NAME(move_open)(mds_device *) { return MDS_OK; }
void       GPU_NAME(move_close)(mds_device *) {}
mds_status GPU_NAME(move)(mds_device *, const mds_op *, mds_work) { NOT_YET("motion"); }
mds_status GPU_NAME(couple)(mds_device *, mds_work) { NOT_YET("couplings"); }
