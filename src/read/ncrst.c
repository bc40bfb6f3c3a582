// SPDX-License-Identifier: Apache-2.0
// AMBER restarts as netCDF (ncrst; AMBER's usual form, often also called rst7).
//
// Variables by the AMBER convention, version 1.0: coordinates [atom][spatial] in A; velocities [atom][spatial], times their
// attribute scale_factor (20.455) in A/ps; cell_lengths [3] in A and cell_angles [3] in degrees; time in ps. A scale_factor
// counts wherever it stands, and its absence means 1. Classic, 64-bit-offset and netCDF-4 files alike: libnetcdf tells them
// apart. Trajectories (Conventions "AMBER", a frame dimension) are refused: a restart says where a run stands, and the last
// frame of a trajectory has single precision and mostly no velocities. Format: AMBER NetCDF convention [ambernetcdf].
//
// libnetcdf reads zeros where a classic file ends early, without an error: a restart cut by a full disk would load as atoms
// on one point. So the header of classic files is read here once more, only to learn where the data should end. Its grammar
// is that of the netCDF classic format specification [netcdfclassic]: lists of dimensions, attributes and variables, all
// numbers big-endian, counts of 4 bytes (8 in version 5), offsets of 4 bytes in version 1 and 8 in versions 2 and 5.
#include "read/prmtop.h"

#include <math.h>
#include <netcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

// ---------------------------------------------------------------------------------- end of a classic file

enum { HEADER_LIMIT = 1 << 16 }; // bytes; the header of a restart takes about 2000

typedef struct {
    const unsigned char *at, *end;
    int                  version;
    bool                 bad;
} header;

static uint64_t take_number(header *h, int bytes)
{
    uint64_t value = 0;
    int      k;

    if (h->end - h->at < bytes) h->bad = true;
    for (k = 0; k < bytes && !h->bad; k++) value = value << 8 | *h->at++;
    return value;
}

static uint64_t take_count(header *h)
{
    return take_number(h, h->version == 5 ? 8 : 4);
}

/// Step over `n` items of `size` bytes and the padding to 4.
static void skip(header *h, uint64_t n, uint64_t size)
{
    if (n > HEADER_LIMIT) h->bad = true;
    if (!h->bad && (n * size + 3) / 4 * 4 <= (uint64_t)(h->end - h->at))
        h->at += (n * size + 3) / 4 * 4;
    else
        h->bad = true;
}

static uint64_t type_size(uint64_t type)
{
    static const uint64_t size[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8}; // NC_BYTE = 1 .. NC_UINT64 = 11

    return type < sizeof size / sizeof size[0] ? size[type] : 0;
}

static void skip_attributes(header *h)
{
    uint64_t n, k;

    (void)take_number(h, 4);
    n = take_count(h);
    for (k = 0; k < n && !h->bad; k++) {
        uint64_t type;

        skip(h, take_count(h), 1);
        type = take_number(h, 4);
        skip(h, take_count(h), type_size(type));
    }
}

/// Where the last fixed-size variable ends, bytes; h->bad if the header makes no sense.
static uint64_t data_end(header *h)
{
    uint64_t dim[64] = {0}, n_dims, n_vars, k, m, last = 0;

    h->at += 4;
    (void)take_count(h); // records
    (void)take_number(h, 4);
    n_dims = take_count(h);
    if (n_dims > 64) h->bad = true;
    for (k = 0; k < n_dims && !h->bad; k++) {
        skip(h, take_count(h), 1);
        dim[k] = take_count(h);
    }
    skip_attributes(h);
    (void)take_number(h, 4);
    n_vars = take_count(h);
    for (k = 0; k < n_vars && !h->bad; k++) {
        uint64_t size = 1, rank, begin;

        skip(h, take_count(h), 1);
        rank = take_count(h);
        for (m = 0; m < rank && !h->bad; m++) {
            const uint64_t which = take_count(h);

            if (which >= n_dims || (dim[which] && size > UINT64_MAX / 16 / dim[which])) h->bad = true;
            if (!h->bad) size *= dim[which]; // a record dimension counts 0
        }
        skip_attributes(h);
        size *= type_size(take_number(h, 4));
        (void)take_count(h); // size as written: clamped for large variables
        begin = take_number(h, h->version == 1 ? 4 : 8);
        if (size && begin < UINT64_MAX / 2 && begin + size > last) last = begin + size;
    }
    return last;
}

static mds_status check_length(const char *path)
{
    unsigned char *bytes = NULL;
    FILE          *file = fopen(path, "rb");
    header         h = {0};
    uint64_t       want = 0;
    off_t          have = 0;
    mds_status     status = mds_alloc(&bytes, HEADER_LIMIT, 1);

    if (file && status == MDS_OK) {
        h.at = bytes;
        h.end = bytes + fread(bytes, 1, HEADER_LIMIT, file);
        if (!fseeko(file, 0, SEEK_END)) have = ftello(file);
        if (h.end - h.at >= 4 && !memcmp(bytes, "CDF", 3)) {
            h.version = bytes[3];
            want = data_end(&h);
        }
    }
    if (file) (void)fclose(file);
    mds_free(bytes);
    MDS_TRY(status);
    MDS_CHECK(!h.bad, MDS_E_INPUT, "%s: not a readable netCDF file: its header is damaged", path);
    MDS_CHECK(have >= 0 && want <= (uint64_t)have, MDS_E_INPUT,
              "%s: the file ends early: %lld bytes of %llu (a copy or a disk that was full?)", path, (long long)have,
              (unsigned long long)want);
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------ values

typedef struct {
    const char *path;
    int         id;
} nc_file;

static mds_status nc_try(const nc_file *f, int code, const char *what)
{
    MDS_CHECK(code == NC_NOERR, code == NC_ENOMEM ? MDS_E_MEMORY : MDS_E_INPUT, "%s: %s: %s", f->path, what, nc_strerror(code));
    return MDS_OK;
}

/// Id of a variable with the wanted dimension sizes, -1 if the file lacks it. rows 0: one dimension of `columns`.
static mds_status find_variable(const nc_file *f, const char *name, size_t rows, size_t columns, int *id)
{
    const int want = rows ? 2 : columns ? 1 : 0;
    int       n_dims, dim[NC_MAX_VAR_DIMS];
    size_t    size[2] = {0, 0};
    nc_type   type;
    int       k;

    *id = -1;
    if (nc_inq_varid(f->id, name, id) != NC_NOERR) {
        *id = -1;
        return MDS_OK;
    }
    MDS_TRY(nc_try(f, nc_inq_var(f->id, *id, NULL, &type, &n_dims, dim, NULL), name));
    MDS_CHECK(n_dims == want && (type == NC_DOUBLE || type == NC_FLOAT || type == NC_INT), MDS_E_INPUT,
              "%s: variable %s has %d dimensions, a restart has %d: is this a trajectory?", f->path, name, n_dims, want);
    for (k = 0; k < n_dims; k++) MDS_TRY(nc_try(f, nc_inq_dimlen(f->id, dim[k], &size[k]), name));
    MDS_CHECK(!rows || size[0] == rows, MDS_E_INPUT, "%s: %s of %zu atoms, the topology has %zu", f->path, name, size[0], rows);
    MDS_CHECK(!columns || size[rows ? 1 : 0] == columns, MDS_E_INPUT, "%s: %s has %zu columns, not %zu", f->path, name,
              size[rows ? 1 : 0], columns);
    return MDS_OK;
}

/// The values times their scale_factor and `unit`.
static mds_status read_values(const nc_file *f, int id, const char *name, size_t n, double unit, double *out)
{
    double scale = 1;
    size_t length, k;
    int    code = nc_inq_attlen(f->id, id, "scale_factor", &length);

    if (code == NC_NOERR) {
        MDS_CHECK(length == 1, MDS_E_INPUT, "%s: scale_factor of %s is not one number", f->path, name);
        MDS_TRY(nc_try(f, nc_get_att_double(f->id, id, "scale_factor", &scale), name));
        MDS_CHECK(isfinite(scale) && scale > 0, MDS_E_INPUT, "%s: scale_factor of %s is %g", f->path, name, scale);
    } else if (code != NC_ENOTATT) {
        return nc_try(f, code, name);
    }
    MDS_TRY(nc_try(f, nc_get_var_double(f->id, id, out), name));
    for (k = 0; k < n; k++) out[k] *= scale * unit;
    return MDS_OK;
}

static mds_status read_block(const nc_file *f, int id, const char *name, const mds_system *system, const char *what,
                             double (*out)[3])
{
    const int64_t n = 3 * (int64_t)system->n_atoms;
    int64_t       k;

    MDS_TRY(read_values(f, id, name, (size_t)n, 0.1, out[0]));
    for (k = 0; k < n; k++) MDS_TRY(mds_amber_check_value(f->path, 0, system, k, what, out[k / 3][k % 3]));
    return MDS_OK;
}

static mds_status read_box(const nc_file *f, mds_box *box)
{
    double length[3], angle[3] = {90, 90, 90};
    int    lengths, angles;

    MDS_TRY(find_variable(f, "cell_lengths", 0, 3, &lengths));
    MDS_TRY(find_variable(f, "cell_angles", 0, 3, &angles));
    if (lengths < 0) return MDS_OK;
    MDS_TRY(read_values(f, lengths, "cell_lengths", 3, 0.1, length));
    if (angles >= 0) MDS_TRY(read_values(f, angles, "cell_angles", 3, 1, angle));
    if (length[0] == 0 && length[1] == 0 && length[2] == 0) return MDS_OK;
    if (mds_box_from_lengths(length, angle, box) == MDS_OK) return MDS_OK;
    mds_error_prefix("%s: cell_lengths, cell_angles: ", f->path);
    return MDS_E_INPUT;
}

/// "AMBERRESTART" or nothing; "AMBER" is a trajectory.
static mds_status check_convention(const nc_file *f)
{
    char   text[64] = "";
    size_t n;

    if (nc_inq_attlen(f->id, NC_GLOBAL, "Conventions", &n) != NC_NOERR || n >= sizeof text) return MDS_OK;
    if (nc_get_att_text(f->id, NC_GLOBAL, "Conventions", text) != NC_NOERR) return MDS_OK;
    text[n] = '\0';
    MDS_CHECK(strcmp(text, "AMBER") != 0, MDS_E_INPUT,
              "%s: an AMBER trajectory, not a restart; write the frame you want as a restart (cpptraj: trajout start.ncrst)",
              f->path);
    return MDS_OK;
}

static mds_status read_open(const nc_file *f, const mds_system *system, mds_state *state)
{
    const size_t n = (size_t)system->n_atoms;
    int          x, v, time;

    MDS_TRY(check_convention(f));
    MDS_TRY(find_variable(f, "coordinates", n, 3, &x));
    MDS_CHECK(x >= 0, MDS_E_INPUT, "%s: netCDF, but without the variable coordinates: not an AMBER restart", f->path);
    MDS_TRY(read_block(f, x, "coordinates", system, "position", state->x));
    MDS_TRY(find_variable(f, "velocities", n, 3, &v));
    if (v >= 0) {
        MDS_TRY(read_block(f, v, "velocities", system, "velocity", state->v));
        state->has_velocities = true;
    }
    if (nc_inq_varid(f->id, "time", &time) == NC_NOERR) {
        MDS_TRY(find_variable(f, "time", 0, 0, &time));
        MDS_TRY(read_values(f, time, "time", 1, 1, &state->time));
        if (!isfinite(state->time)) state->time = 0;
    }
    return read_box(f, &state->box);
}

mds_status mds_read_ncrst(const char *path, const mds_system *system, mds_state *state)
{
    nc_file    f = {.path = path};
    mds_status status;

    MDS_ASSERT(state->n_atoms == system->n_atoms);
    MDS_CHECK(mds_file_exists(path), MDS_E_MISSING, "%s: no such file", path);
    MDS_TRY(check_length(path));
    MDS_TRY(nc_try(&f, nc_open(path, NC_NOWRITE, &f.id), "not a readable netCDF file"));
    status = read_open(&f, system, state);
    (void)nc_close(f.id);
    return status;
}
