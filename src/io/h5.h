// SPDX-License-Identifier: Apache-2.0
// Private to io: small helpers over HDF5, and the parts of a trajectory that are written once.
#ifndef MDS_H5_H
#define MDS_H5_H

#include "io/io.h"

#include <hdf5.h>

/// File access properties: locking off (readers may look while we write, network file systems without locks work),
/// formats any reader since 1.8 knows, a chunk cache of one frame. Close with H5Pclose.
hid_t mds_h5_access(int32_t n_atoms);

/// From now on every HDF5 call that fails sets *failed; NULL: no more. Code that writes much can so be written straight
/// down and asked once at its end. Messages of the library are never printed.
void mds_h5_watch(bool *failed);

void mds_h5_text_attribute(hid_t object, const char *name, const char *text); // variable-length UTF-8
void mds_h5_texts_attribute(hid_t object, const char *name, int n, const char *const *texts);
void mds_h5_int_attribute(hid_t object, const char *name, int n, const int *values);
int64_t mds_h5_length(hid_t set);             // frames, -1 on error
int32_t mds_h5_rows(hid_t set);               // second extent, 0 on error
/// [frames] for rank 1, [frames][rows][3] for rank 3.
bool    mds_h5_has_shape(hid_t set, int rank, int32_t rows);
bool    mds_h5_set_length(hid_t set, int64_t n);
bool    mds_h5_read_row(hid_t set, hid_t type, int64_t k, void *out);

/// species, mass, charge in the particles group; /connectivity/bonds; /parameters/vmd_structure.
void mds_h5_topology(hid_t file, hid_t particles, const mds_system *system);
/// /parameters/mdsim: input text, version, seed.
void mds_h5_parameters(hid_t file, const mds_h5md_options *options);

#endif
