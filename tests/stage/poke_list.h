// SPDX-License-Identifier: Apache-2.0
// A look into the cpu backend's order and list, and positions moved without a search.
#ifndef MDS_POKE_LIST_H
#define MDS_POKE_LIST_H

#include "backend/backend.h"

/// New positions, atom order, nm; the list stays as it is.
void poke_positions(mds_device *device, const double (*x)[3]);
void poke_box(mds_device *device, const mds_box *box);
/// Bring the inner list up to the present positions, where it is due: what `pair` does first.
void poke_list_due(mds_device *device);
/// Interacting pairs in the inner list within the cut-off.
int64_t peek_inside(const mds_device *device);
/// listed[i n_atoms + j] = 1 for every pair (i, j) of atoms that the inner list holds.
void peek_pairs(const mds_device *device, uint8_t *listed);
int64_t peek_prunes(const mds_device *device);
/// Whether parts of common clusters are done by the kernel for LJ without Coulomb.
bool peek_lj_alone(const mds_device *device);
/// Atom of every slot (-1: padding). Returns the number of slots.
int32_t peek_order(const mds_device *device, const int32_t **atom_of);

#endif
