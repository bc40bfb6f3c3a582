// SPDX-License-Identifier: Apache-2.0
// H5MD trajectories [debuyl2014] that MDAnalysis and VMD open as they are.
//
// One particles group, called "trajectory" (the name MDAnalysis needs without a topology file). Explicit step and time,
// hard-linked from every element; box edges always [T][3][3]; unit strings of variable length. Each frame writes its
// values first and its step last and is flushed as a whole, so the length of `step` counts the complete frames. The
// layout and the crash tests behind it: docs/decisions/002-h5md-layout.md.
//
// Room is looked for before a frame touches the file: HDF5 does not survive a full disk in the middle of a write.
#include "io/io.h"
#include "io/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { CHUNK_ATOMS = 87381, CHUNK_STEPS = 512, CHUNK_EDGES = 64 };

struct mds_h5md {
    hid_t   file;
    hid_t   position, velocity, force, step, time, edges; // datasets; velocity and force 0 if not written
    char   *path, *base;                                  // this part; the name without part
    int32_t n_atoms, part;
    int64_t n_frames, last_step;
    double  quantum;                                      // positions are rounded to multiples of this, nm; 0: not
    double  part_bytes;
    float  *row;                                          // [n_atoms][3]
    mds_h5md_options  options;                            // strings borrowed
    const mds_system *system;                             // borrowed, for further parts
    bool    periodic, broken, resumed; // resumed: gone on with a file of an earlier process
};

static mds_status part_path(const char *base, int32_t part, char **out)
{
    const char *dot = strrchr(base, '.');
    const int   stem = dot ? (int)(dot - base) : (int)strlen(base);
    mds_text    text = {0};

    if (part)
        mds_text_add(&text, "%.*s.part%04d%s", stem, base, part, dot ? dot : "");
    else
        mds_text_add(&text, "%s", base);
    MDS_CHECK(!text.failed, MDS_E_MEMORY, "out of memory");
    *out = text.s;
    return MDS_OK;
}

static void close_handles(mds_h5md *h)
{
    hid_t *const sets[] = {&h->position, &h->velocity, &h->force, &h->step, &h->time, &h->edges};
    size_t       k;

    for (k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        if (*sets[k] > 0) H5Dclose(*sets[k]);
        *sets[k] = 0;
    }
}

/// Close this part; false if something that was not yet on the disk could not be written.
static bool close_file(mds_h5md *h)
{
    struct stat info;
    bool        good = true;

    close_handles(h);
    if (h->file > 0) {
        good = H5Fclose(h->file) >= 0;
        // room reserved beyond the end for a frame that never came goes back
        if (good && !h->broken && stat(h->path, &info) == 0) good = truncate(h->path, info.st_size) == 0;
    }
    h->file = 0;
    return good;
}

static void free_h5md(mds_h5md *h)
{
    if (!h) return;
    (void)close_file(h);
    mds_free(h->path);
    mds_free(h->base);
    mds_free(h->row);
    mds_free(h);
}

/// Is there room for `bytes` more, by quota of the file system and by the limit on file sizes?
static mds_status look_for_room(mds_h5md *h, double bytes)
{
    struct statvfs disk;
    struct stat    info;
    struct rlimit  limit;
    void          *handle = NULL;
    hsize_t        size = 0;
    int            fd = -1;

    H5Fget_filesize(h->file, &size);
    if (statvfs(h->path, &disk) == 0 && stat(h->path, &info) == 0) {
        // what was reserved beyond the end before the last frame is ours already
        const double ours = fmax(512.0 * (double)info.st_blocks - (double)info.st_size, 0);

        MDS_CHECK((double)disk.f_bavail * (double)disk.f_frsize + ours > bytes, MDS_E_WRITE,
                  "%s: cannot write: no space left for the next %.1f MB", h->path, 1e-6 * bytes);
    }
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        MDS_CHECK((double)size + bytes < (double)limit.rlim_cur, MDS_E_WRITE,
                  "%s: cannot write: the next %.1f MB would pass the limit on file sizes (%.1f MB)", h->path, 1e-6 * bytes,
                  1e-6 * (double)limit.rlim_cur);
    if (H5Fget_vfd_handle(h->file, H5P_DEFAULT, &handle) >= 0 && handle) fd = *(int *)handle;
    if (fd >= 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)size, (off_t)bytes) && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        MDS_FAIL(MDS_E_WRITE, "%s: cannot write: %s", h->path, strerror(errno));
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- create

/// A [0..unlimited][rows][columns] dataset in chunks of `chunk` frames, compressed and checksummed.
static hid_t frames_dataset(hid_t group, const char *name, hid_t type, int rank, hsize_t rows, hsize_t chunk, hsize_t chunk_rows)
{
    const hsize_t now[3] = {0, rows, 3}, most[3] = {H5S_UNLIMITED, rows, 3}, chunks[3] = {chunk, chunk_rows, 3};
    const hid_t   space = H5Screate_simple(rank, now, most), create = H5Pcreate(H5P_DATASET_CREATE);
    hid_t         set;

    H5Pset_chunk(create, rank, chunks);
    H5Pset_shuffle(create);
    H5Pset_deflate(create, 1);
    H5Pset_fletcher32(create);
    set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    H5Pclose(create);
    H5Sclose(space);
    return set;
}

/// One time-dependent element: group with value, and step and time hard-linked to those of position.
static hid_t element(hid_t particles, const char *name, const char *unit, int32_t n_atoms)
{
    const hsize_t n = (hsize_t)n_atoms, pieces = (n + CHUNK_ATOMS - 1) / CHUNK_ATOMS;
    const hid_t   group = H5Gcreate2(particles, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t   set = frames_dataset(group, "value", H5T_IEEE_F32LE, 3, n, 1, (n + pieces - 1) / pieces);

    mds_h5_text_attribute(set, "unit", unit);
    if (strcmp(name, "position")) {
        H5Lcreate_hard(particles, "position/step", group, "step", H5P_DEFAULT, H5P_DEFAULT);
        H5Lcreate_hard(particles, "position/time", group, "time", H5P_DEFAULT, H5P_DEFAULT);
    }
    H5Gclose(group);
    return set;
}

static void write_box_group(mds_h5md *h, hid_t particles)
{
    const char *const state = h->periodic ? "periodic" : "none";
    const char *const boundary[3] = {state, state, state};
    const hid_t       box = H5Gcreate2(particles, "box", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t       edges = H5Gcreate2(box, "edges", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    mds_h5_int_attribute(box, "dimension", 1, (const int[]){3});
    mds_h5_texts_attribute(box, "boundary", 3, boundary);
    h->edges = frames_dataset(edges, "value", H5T_IEEE_F64LE, 3, 3, CHUNK_EDGES, 3);
    mds_h5_text_attribute(h->edges, "unit", "nm");
    H5Lcreate_hard(particles, "position/step", edges, "step", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(particles, "position/time", edges, "time", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(edges);
    H5Gclose(box);
}

static void write_head(mds_h5md *h)
{
    const hid_t root = H5Gcreate2(h->file, "h5md", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t author = H5Gcreate2(root, "author", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t creator = H5Gcreate2(root, "creator", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t modules = H5Gcreate2(root, "modules", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t units = H5Gcreate2(modules, "units", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    mds_h5_int_attribute(root, "version", 2, (const int[]){1, 1});
    mds_h5_text_attribute(author, "name", "N/A"); // no user name in files that are shared
    mds_h5_text_attribute(creator, "name", "mdsim");
    mds_h5_text_attribute(creator, "version", h->options.creator_version ? h->options.creator_version : "");
    mds_h5_int_attribute(units, "version", 2, (const int[]){1, 0});
    mds_h5_text_attribute(units, "system", "SI");
    H5Gclose(units);
    H5Gclose(modules);
    H5Gclose(creator);
    H5Gclose(author);
    H5Gclose(root);
}

/// Everything but frames. Failures are counted by mds_h5_watch.
static void write_groups(mds_h5md *h)
{
    const hid_t particles = H5Gcreate2(h->file, "particles", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = H5Gcreate2(particles, "trajectory", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t       position;

    write_head(h);
    h->position = element(group, "position", "nm", h->n_atoms);
    position = H5Gopen2(group, "position", H5P_DEFAULT);
    h->step = frames_dataset(position, "step", H5T_STD_I64LE, 1, 0, CHUNK_STEPS, 0);
    h->time = frames_dataset(position, "time", H5T_IEEE_F64LE, 1, 0, CHUNK_STEPS, 0);
    mds_h5_text_attribute(h->time, "unit", "ps");
    H5Gclose(position);
    write_box_group(h, group);
    if (h->options.velocities) h->velocity = element(group, "velocity", "nm ps-1", h->n_atoms);
    if (h->options.forces) h->force = element(group, "force", "kJ mol-1 nm-1", h->n_atoms);
    mds_h5_topology(h->file, group, h->system);
    mds_h5_parameters(h->file, &h->options);
    H5Gclose(group);
    H5Gclose(particles);
}

/// Upper bound of what write_groups writes, bytes.
static double head_bytes(const mds_h5md *h)
{
    const mds_system *m = h->system;
    const double      bonds = (double)m->constraint.n + m->term[MDS_TERM_BOND].n + m->term[MDS_TERM_BOND_G96].n + m->term[MDS_TERM_BOND_MORSE].n;

    return 16.0 * m->n_atoms + 8.0 * m->name.n_residues + 24 * bonds + (h->options.input_text ? (double)strlen(h->options.input_text) : 0) + (1 << 20);
}

/// A new file; one that could not be written whole is removed again.
static mds_status create_file(mds_h5md *h)
{
    const hid_t access = mds_h5_access(h->n_atoms);
    bool        failed = false;
    mds_status  status;

    errno = 0;
    h->file = H5Fcreate(h->path, H5F_ACC_EXCL, H5P_DEFAULT, access);
    H5Pclose(access);
    MDS_CHECK(h->file > 0, MDS_E_WRITE, "%s: cannot create: %s", h->path,
              mds_file_exists(h->path) ? "the file exists" : strerror(errno ? errno : EIO));
    status = look_for_room(h, head_bytes(h));
    if (status == MDS_OK) {
        mds_h5_watch(&failed);
        write_groups(h);
        H5Fflush(h->file, H5F_SCOPE_GLOBAL);
        mds_h5_watch(NULL);
        if (failed) status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be written: %s", h->path, strerror(errno ? errno : EIO));
    }
    if (status != MDS_OK) {
        h->broken = true;
        (void)close_file(h);
        unlink(h->path);
    }
    return status;
}

static mds_status new_h5md(const mds_h5md_options *options, int32_t part, const mds_system *system, bool periodic, mds_h5md **out)
{
    mds_h5md  *h;
    mds_status status;

    *out = NULL;
    mds_h5_watch(NULL); // errors are ours to report
    MDS_TRY(mds_alloc(&h, 1, sizeof *h));
    h->options = *options;
    h->system = system;
    h->periodic = periodic;
    h->n_atoms = system->n_atoms;
    h->last_step = -1;
    h->part_bytes = 1e9 * options->part_gb;
    h->part = part;
    // rounding to a multiple of q errs by at most q/2; a power of two leaves zeros in the mantissa for the compressor
    h->quantum = options->precision > 0 ? exp2(floor(log2(2 * options->precision))) : 0;
    status = mds_copy_text(&h->base, options->path, SIZE_MAX);
    if (status == MDS_OK) status = part_path(h->base, h->part, &h->path);
    if (status == MDS_OK) status = mds_alloc(&h->row, 3 * (size_t)h->n_atoms, sizeof *h->row);
    if (status != MDS_OK) {
        free_h5md(h);
        return status;
    }
    *out = h;
    return MDS_OK;
}

mds_status mds_h5md_create(const mds_h5md_options *options, const mds_system *system, bool periodic, mds_h5md **out)
{
    mds_h5md  *h;
    mds_status status;

    *out = NULL;
    MDS_TRY(new_h5md(options, options->part || options->part_gb <= 0 ? options->part : 1, system, periodic, &h));
    status = create_file(h);
    if (status != MDS_OK) {
        free_h5md(h);
        return status;
    }
    *out = h;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------------- append

static bool put_rows(mds_h5md *h, hid_t set, hid_t type, int rank, hsize_t rows, const void *data)
{
    const hsize_t size[3] = {(hsize_t)h->n_frames + 1, rows, 3}, start[3] = {(hsize_t)h->n_frames, 0, 0}, count[3] = {1, rows, 3};
    hid_t         there, here;
    bool          good;

    if (H5Dset_extent(set, size) < 0) return false;
    there = H5Dget_space(set);
    here = H5Screate_simple(rank, count, NULL);
    H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL);
    good = H5Dwrite(set, type, here, there, H5P_DEFAULT, data) >= 0;
    H5Sclose(here);
    H5Sclose(there);
    return good;
}

static bool put_vectors(mds_h5md *h, hid_t set, const double (*rows)[3], double quantum)
{
    int32_t i;
    int     k;

    for (i = 0; i < h->n_atoms; i++)
        for (k = 0; k < 3; k++) h->row[3 * (size_t)i + (size_t)k] = (float)(quantum > 0 ? quantum * rint(rows[i][k] / quantum) : rows[i][k]);
    return put_rows(h, set, H5T_NATIVE_FLOAT, 3, (hsize_t)h->n_atoms, h->row);
}

/// All values of one frame, its step last: the frame counts from then on.
static bool put_frame(mds_h5md *h, const mds_frame *f)
{
    bool good = put_vectors(h, h->position, (const double(*)[3])f->x, h->quantum);

    if (h->velocity > 0) good = good && put_vectors(h, h->velocity, (const double(*)[3])f->v, 0);
    if (h->force > 0) good = good && put_vectors(h, h->force, (const double(*)[3])f->f, 0);
    good = good && put_rows(h, h->edges, H5T_NATIVE_DOUBLE, 3, 3, f->box.a);
    good = good && put_rows(h, h->time, H5T_NATIVE_DOUBLE, 1, 0, &f->time);
    good = good && H5Fflush(h->file, H5F_SCOPE_GLOBAL) >= 0; // within one flush HDF5 may write the step before the values
    good = good && put_rows(h, h->step, H5T_NATIVE_INT64, 1, 0, &f->step);
    return good && H5Fflush(h->file, H5F_SCOPE_GLOBAL) >= 0;
}

static mds_status start_next_part(mds_h5md *h);

mds_status mds_h5md_append(mds_h5md *h, const mds_frame *f)
{
    const double bytes = (1 + (h->velocity > 0) + (h->force > 0)) * 13.0 * h->n_atoms + (1 << 20); // values, filters' worst, metadata
    bool         good;

    MDS_CHECK(!h->broken, MDS_E_WRITE, "%s: is closed after an error", h->path);
    MDS_ASSERT(f->n == h->n_atoms && f->x && (!h->velocity || f->v) && (!h->force || f->f));
    MDS_CHECK(f->step > h->last_step, MDS_E_INTERNAL, "frame of step %lld after step %lld", (long long)f->step, (long long)h->last_step);
    MDS_TRY(look_for_room(h, bytes));
    mds_h5_watch(NULL); // a thread's own in some builds of the library
    errno = 0;
    good = put_frame(h, f);
    if (!good && h->resumed && errno != ENOSPC && errno != EFBIG && errno != EDQUOT) {
        // a kill in the middle of a flush can leave an index that reads well and cannot be added to
        h->resumed = false;
        MDS_TRY(start_next_part(h));
        good = put_frame(h, f);
    }
    if (!good) {
        h->broken = true;
        MDS_FAIL(MDS_E_WRITE, "%s: cannot write frame %lld: %s", h->path, (long long)h->n_frames, strerror(errno ? errno : EIO));
    }
    h->n_frames++;
    h->last_step = f->step;
    return MDS_OK;
}

mds_status mds_h5md_sync(mds_h5md *h)
{
    void *handle = NULL;

    if (h->broken) return MDS_OK;
    MDS_CHECK(H5Fflush(h->file, H5F_SCOPE_GLOBAL) >= 0, MDS_E_WRITE, "%s: cannot be flushed", h->path);
    if (H5Fget_vfd_handle(h->file, H5P_DEFAULT, &handle) >= 0 && handle)
        MDS_CHECK(fsync(*(int *)handle) == 0 || errno == EINVAL, MDS_E_WRITE, "%s: cannot be synced: %s", h->path, strerror(errno));
    return MDS_OK;
}

mds_status mds_h5md_roll(mds_h5md *h, bool *rolled)
{
    hsize_t size = 0;
    char   *next;

    *rolled = false;
    if (h->part_bytes <= 0 || h->broken || H5Fget_filesize(h->file, &size) < 0 || (double)size < h->part_bytes) return MDS_OK;
    MDS_TRY(mds_h5md_sync(h));
    MDS_TRY(part_path(h->base, h->part + 1, &next));
    if (!close_file(h)) {
        mds_free(next);
        h->broken = true;
        MDS_FAIL(MDS_E_WRITE, "%s: cannot be closed: %s", h->path, strerror(errno ? errno : EIO));
    }
    mds_free(h->path);
    h->path = next;
    h->part++;
    h->n_frames = 0;
    *rolled = true;
    return create_file(h);
}

int64_t mds_h5md_n_frames(const mds_h5md *h)
{
    return h->n_frames;
}

int32_t mds_h5md_part(const mds_h5md *h)
{
    return h->part;
}

mds_status mds_h5md_close(mds_h5md *h)
{
    mds_status status = MDS_OK;

    if (!h) return MDS_OK;
    errno = 0;
    if (!close_file(h) && !h->broken)
        status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be closed: %s", h->path, strerror(errno ? errno : EIO));
    free_h5md(h);
    return status;
}

// ------------------------------------------------------------------------------------------------- resume

enum { POSITION, VELOCITY, FORCE, EDGES, TIME, STEP, N_SETS };

/// Can frame k of every dataset be read (the checksums find torn chunks)? Its step through *step.
static bool frame_is_whole(mds_h5md *h, const hid_t *sets, int64_t k, int64_t *step)
{
    double numbers[9];
    int    which;

    for (which = 0; which < STEP; which++) {
        const bool vectors = which <= FORCE;

        if (sets[which] && !mds_h5_read_row(sets[which], vectors ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, k, vectors ? (void *)h->row : numbers))
            return false;
    }
    return mds_h5_read_row(sets[STEP], H5T_NATIVE_INT64, k, step);
}

/// Open the datasets of an existing file, check its last frames up to n_frames and cut it there. The file must hold
/// velocities and forces exactly if they are wanted now: readers index all elements by one frame number.
static bool open_and_verify(mds_h5md *h, int64_t n_frames, int64_t last_step)
{
    static const char *const names[] = {"position", "velocity", "force", "box/edges", "position/time", "position/step"};
    const hid_t access = mds_h5_access(h->n_atoms);
    const bool  wanted[] = {true, h->options.velocities, h->options.forces, true, true, true};
    hid_t       sets[N_SETS] = {0};
    int64_t     frame, step, previous = -1;
    bool        good;
    int         k;

    h->file = H5Fopen(h->path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (h->file <= 0) return false;
    const hid_t group = H5Gopen2(h->file, "/particles/trajectory", H5P_DEFAULT);

    good = group > 0;
    for (k = 0; good && k < N_SETS; k++) {
        char name[32];

        snprintf(name, sizeof name, "%s%s", names[k], k < TIME ? "/value" : "");
        if (wanted[k]) {
            sets[k] = H5Dopen2(group, name, H5P_DEFAULT);
            good = sets[k] > 0 && mds_h5_has_shape(sets[k], k < TIME ? 3 : 1, k == EDGES ? 3 : h->n_atoms) && mds_h5_length(sets[k]) >= n_frames;
        } else {
            good = H5Lexists(group, names[k], H5P_DEFAULT) == 0;
        }
    }
    if (group > 0) H5Gclose(group);
    h->position = sets[POSITION];
    h->velocity = sets[VELOCITY];
    h->force = sets[FORCE];
    h->edges = sets[EDGES];
    h->time = sets[TIME];
    h->step = sets[STEP];
    for (frame = n_frames > 2 ? n_frames - 2 : 0; good && frame < n_frames; frame++) {
        good = frame_is_whole(h, sets, frame, &step) && step > previous;
        previous = good ? step : previous;
    }
    if (!good || (n_frames > 0 && previous != last_step)) return false;
    for (k = 0; k < N_SETS; k++)
        if (sets[k] && !mds_h5_set_length(sets[k], n_frames)) return false;
    return H5Fflush(h->file, H5F_SCOPE_GLOBAL) >= 0;
}

/// Parts after this one hold only frames that will be computed again.
static mds_status remove_later_parts(mds_h5md *h)
{
    int32_t part;

    for (part = h->part + 1;; part++) {
        char *path;
        bool  there;

        MDS_TRY(part_path(h->base, part, &path));
        there = mds_file_exists(path);
        if (there && unlink(path)) {
            const mds_status status = mds_fail(MDS_E_WRITE, __FILE__, __LINE__, "%s: cannot be removed: %s", path, strerror(errno));

            mds_free(path);
            return status;
        }
        mds_free(path);
        if (!there) return MDS_OK;
    }
}

/// A new part beside a file that cannot be gone on with.
static mds_status start_next_part(mds_h5md *h)
{
    char *path = NULL;
    bool  there = mds_file_exists(h->path);

    (void)close_file(h);
    do {
        mds_free(path);
        h->part = h->part ? h->part + 1 : 2;
        MDS_TRY(part_path(h->base, h->part, &path));
    } while (mds_file_exists(path));
    mds_warn("%s %s; it is left as it is, and the trajectory goes on in %s", h->path,
             there ? "cannot be gone on with (frames of the checkpoint are not whole, or other arrays are asked for)" : "is gone", path);
    mds_free(h->path);
    h->path = path;
    h->n_frames = 0;
    return create_file(h);
}

mds_status mds_h5md_resume(const mds_h5md_options *options, const mds_system *system, bool periodic, int64_t n_frames,
                           int64_t last_step, mds_h5md **out)
{
    mds_h5md  *h;
    mds_status status;

    *out = NULL;
    // a checkpoint of a run without parts names part 0, whatever part_gb says by now
    MDS_TRY(new_h5md(options, options->part || n_frames > 0 || options->part_gb <= 0 || mds_file_exists(options->path) ? options->part : 1,
                     system, periodic, &h));
    if (!mds_file_exists(h->path) && n_frames == 0) {
        status = create_file(h);
    } else if (open_and_verify(h, n_frames, last_step)) {
        h->n_frames = n_frames;
        h->resumed = true;
        status = h->part ? remove_later_parts(h) : MDS_OK;
    } else {
        status = start_next_part(h);
    }
    if (status != MDS_OK) {
        free_h5md(h);
        return status;
    }
    h->last_step = last_step;
    *out = h;
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------------- read

/// Row k of the dataset `name` if that has the shape; n_frames may be NULL.
static bool read_row(hid_t group, const char *name, int rank, int32_t rows, hid_t type, int64_t k, void *out, int64_t *n_frames)
{
    const hid_t set = H5Dopen2(group, name, H5P_DEFAULT);
    bool        good = set > 0 && mds_h5_has_shape(set, rank, rows);

    if (good && n_frames) *n_frames = mds_h5_length(set);
    good = good && mds_h5_read_row(set, type, k, out);
    if (set > 0) H5Dclose(set);
    return good;
}

static bool read_frame(hid_t group, int64_t k, mds_frame *f, int64_t *n_frames)
{
    static const struct {
        const char *element, *value;
        uint32_t    field;
    } vectors[3] = {{"position", "position/value", MDS_FIELD_X}, {"velocity", "velocity/value", MDS_FIELD_V}, {"force", "force/value", MDS_FIELD_F}};
    const hid_t set = H5Dopen2(group, "position/value", H5P_DEFAULT);
    int32_t     n = 0, i;
    int         which;

    if (set > 0) {
        n = mds_h5_rows(set);
        H5Dclose(set);
    }
    if (!read_row(group, "position/step", 1, 0, H5T_NATIVE_INT64, k, &f->step, n_frames) || n < 1) return false;
    for (which = 0; which < 3; which++) {
        if (which && H5Lexists(group, vectors[which].element, H5P_DEFAULT) <= 0) continue;
        if (mds_frame_reserve(f, n, vectors[which].field) != MDS_OK) return false;
        if (!read_row(group, vectors[which].value, 3, n, H5T_NATIVE_DOUBLE, k, which == 0 ? f->x : which == 1 ? f->v : f->f, NULL)) return false;
    }
    for (i = 0; i < n; i++) f->id[i] = i;
    f->n = n;
    return read_row(group, "position/time", 1, 0, H5T_NATIVE_DOUBLE, k, &f->time, NULL) &&
           read_row(group, "box/edges/value", 3, 3, H5T_NATIVE_DOUBLE, k, f->box.a, NULL);
}

mds_status mds_h5md_read(const char *path, int64_t k, mds_frame *f, int64_t *n_frames)
{
    hid_t file, group;
    bool  good;

    *n_frames = 0;
    mds_h5_watch(NULL);
    MDS_CHECK(mds_file_exists(path), MDS_E_MISSING, "%s: no such file", path);
    const hid_t access = mds_h5_access(0);

    file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    MDS_CHECK(file > 0, MDS_E_INPUT, "%s: is not an HDF5 file that can be opened", path);
    group = H5Gopen2(file, "/particles/trajectory", H5P_DEFAULT);
    good = group > 0 && read_frame(group, k, f, n_frames);
    if (group > 0) H5Gclose(group);
    H5Fclose(file);
    MDS_CHECK(good, MDS_E_INPUT, "%s: frame %lld of %lld cannot be read", path, (long long)k, (long long)*n_frames);
    return MDS_OK;
}
