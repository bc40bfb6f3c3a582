// SPDX-License-Identifier: Apache-2.0
// The whole list of the GPU backend on the host, and its prefix sums by themselves.
#ifndef MDS_POKE_GPU_LIST_H
#define MDS_POKE_GPU_LIST_H

#include "backend/backend.h"

/// As in cuda/device.h; arrays of the owner.
typedef struct {
    int32_t   n_chunks, n_slots, n_entries, n_words;
    int32_t (*chunk)[6]; // [n_chunks] block, image (3), first entry, first word or -1
    int32_t  *n;         // [n_chunks]
    uint32_t *j, *allow;
    int32_t  *atom_of;   // [n_slots]
    int32_t (*image)[3]; // [n_atoms]
} peeked_list;

void peek_list(const mds_device *device, peeked_list *out);
void peek_list_free(peeked_list *list);

/// data[rows][n + 1] summed up by the device; totals of the rows.
void peek_scan(mds_device *device, int rows, size_t n, int32_t *data, int64_t *total);

#endif
