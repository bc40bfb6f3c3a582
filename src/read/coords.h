// SPDX-License-Identifier: Apache-2.0
// Private to the readers: lines and numbers of fixed-column coordinate files, and the soft check of names.
#ifndef MDS_READ_COORDS_H
#define MDS_READ_COORDS_H

#include "read/read.h"

/// A text file line by line, without copies.
typedef struct {
    const char *path, *p, *end;
    const char *s;    // the current line, not terminated
    size_t      n;    // its length without line end and trailing blanks
    int32_t     line; // its number from 1
} mds_line_reader;

bool mds_next_line(mds_line_reader *reader);

/// The number in a field of n characters, blanks around it allowed: digits with a point read exactly, anything else that
/// strtod takes whole. False: empty, or something else in the field.
bool mds_fixed_number(const char *s, size_t n, double *value);
/// The same for whole numbers.
bool mds_fixed_integer(const char *s, size_t n, int64_t *value);

/// Refuse a position (nm) or velocity (nm/ps) that is no number or beyond 1e6, by atom, residue and line.
mds_status mds_check_vector(const mds_line_reader *reader, const mds_system *system, int32_t atom, const char *what,
                            const double x[3]);

/// Atom names in a coordinates file that differ from the topology: counted, the first one kept. Residue names are only
/// shown: HOH, SOL and WAT are one molecule, HIS and HIE one residue.
typedef struct {
    int32_t n_different, first_atom, first_line;
    char    first[40];
} mds_name_check;

/// `residue` and `name` are fields of n characters with blanks; digits before a name count as if behind (1HB, HB1).
void mds_name_compare(mds_name_check *check, const mds_system *system, int32_t atom, const char *residue, size_t n_residue,
                      const char *name, size_t n_name, int32_t line);
/// One warning if any name differed.
void mds_name_report(const mds_name_check *check, const mds_system *system, const char *path);

#endif
