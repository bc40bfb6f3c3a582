// SPDX-License-Identifier: Apache-2.0
// Read other programs' molecules: GROMACS top/gro, AMBER prmtop/inpcrd/rst7/ncrst, PDB coordinates.
//
// One file a format; all end in model data. Physics in a file that mdsim does not compute is refused by file, line and
// name (MDS_E_INPUT), never dropped. Messages begin with "file:line: ".
#ifndef MDS_READ_H
#define MDS_READ_H

#include "model/model.h"

MDS_BEGIN

/// What to read and how. Strings are borrowed.
typedef struct {
    const char  *topology, *coordinates;     // paths as the process opens them
    const char  *restraint_reference;        // coordinates of position restraints; NULL: the start coordinates
    const char *const *defines;  int n_defines;  // "NAME" or "NAME=VALUE"
    const char *const *includes; int n_includes; // directories
    bool         read_velocities;            // false: velocities in the file are ignored
    int          inpcrd_extra;               // 2-atom inpcrd: 0 unknown (error if it matters), 1 last line is velocities, 2 box
} mds_read_request;

/// What was read and from where, for logs and `explain`.
typedef struct {
    char   *text;              // several lines, owned
    bool    is_amber;
    bool    box_from_topology; // box came from the prmtop
    bool    box_expected;      // the prmtop says that the system is periodic (IFBOX)
} mds_read_report;

/// Read topology and coordinates by file name and content. The system is not frozen (the caller constrains first).
/// state->box is zero if no file has one; state is initialised here; boxes are reduced.
/// Errors: MDS_E_MISSING, MDS_E_INPUT, MDS_E_UNSUPPORTED. Owner: caller (mds_system_free, mds_state_free).
mds_status mds_read(const mds_read_request *request, mds_system *system, mds_state *state, mds_read_report *report);
void       mds_read_report_free(mds_read_report *report);

// one function a format (mds_read dispatches)
mds_status mds_read_top(const mds_read_request *request, mds_system *system, mds_read_report *report);
mds_status mds_read_prmtop(const mds_read_request *request, mds_system *system, mds_box *box, mds_read_report *report);
/// Coordinates files fill x (and v, box where present) of a state initialised for system->n_atoms; a different atom
/// number is refused. names: checked softly against the topology (a warning with the first difference).
mds_status mds_read_gro(const char *path, const mds_system *system, mds_state *state);
mds_status mds_read_pdb(const char *path, const mds_system *system, mds_state *state);
mds_status mds_read_inpcrd(const char *path, const mds_system *system, int extra, mds_state *state);
mds_status mds_read_ncrst(const char *path, const mds_system *system, mds_state *state);
/// True if the first bytes of the file say netCDF ("CDF" or HDF5).
bool mds_is_netcdf(const char *path);
/// Put reference positions into the position-restraint terms (params 0..2).
mds_status mds_set_restraint_reference(mds_system *system, const double (*x)[3]);

/// Text of a .top after its preprocessor: lines with their file and number. read/preproc.c.
typedef struct {
    char   *text;  // one logical line, comments and continuation removed
    int32_t file;  // index into files
    int32_t line;  // first physical line, from 1
} mds_top_line;
typedef struct {
    mds_top_line *line;
    int32_t       n;
    size_t        cap;
    char        **files;
    int32_t       n_files;
    size_t        cap_files;
} mds_top_lines;
mds_status mds_preprocess(const mds_read_request *request, mds_top_lines *out);
void       mds_top_lines_free(mds_top_lines *lines);

MDS_END
#endif
