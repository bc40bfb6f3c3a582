// SPDX-License-Identifier: Apache-2.0
// The trajectory writer by itself: create, append, read, resume and cut back, damage, parts, a disk that is full.
#include "io/io.h"
#include "test.h"

#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 300 };
static char             folder[] = "/tmp/mds_h5md_XXXXXX", path[256];
static mds_system       sys;
static mds_h5md_options options;
static const char *const endings[] = {"", ".part0001", ".part0002", ".part0003", ".part0004", ".part0005", ".part0006"};

static const char *part(int k)
{
    static char name[4][300];
    static int  turn;

    turn = (turn + 1) % 4;
    snprintf(name[turn], sizeof name[turn], "%s/run%s.h5md", folder, endings[k]);
    return name[turn];
}

static void sweep(void)
{
    size_t k;

    for (k = 0; k < sizeof endings / sizeof endings[0]; k++) unlink(part((int)k));
    options = (mds_h5md_options){.path = path, .creator_version = "0.1", .input_text = "a = 1;", .seed = 5};
}

static void make_system(void)
{
    int32_t i, residue = 0;

    TEST_OK(mds_system_set_types(&sys, 1, false));
    for (i = 0; i < N; i++) {
        if (i % 3 == 0) TEST_OK(mds_system_add_residue(&sys, "SOL", i / 3 + 1, &residue));
        TEST_OK(mds_system_add_atom(&sys, i % 3 ? "HW" : "OW", residue, 0, i % 3 ? 0.4 : -0.8, i % 3 ? 1 : 16, i % 3 ? 1 : 8, NULL));
    }
    TEST_OK(mds_system_freeze(&sys));
}

/// Frame k of the test run: step 10 k.
static void fill(mds_frame *f, int64_t k)
{
    int32_t i;
    int     c;

    TEST_OK(mds_frame_reserve(f, N, MDS_FIELD_X | MDS_FIELD_V | MDS_FIELD_F));
    f->n = N;
    f->step = 10 * k;
    f->time = 0.02 * (double)k;
    f->box = (mds_box){{{3, 0, 0}, {0.5, 3 + 0.01 * (double)k, 0}, {-0.25, 0.75, 4}}};
    for (i = 0; i < N; i++) {
        f->id[i] = i;
        for (c = 0; c < 3; c++) {
            f->x[i][c] = sin(i + c + (double)k) * 3;
            f->v[i][c] = cos(i * c + (double)k);
            f->f[i][c] = 1000 * sin(i - c * (double)k);
        }
    }
}

static mds_status append(mds_h5md *h, int64_t k)
{
    static mds_frame f;
    mds_status       status;

    fill(&f, k);
    status = mds_h5md_append(h, &f);
    mds_frame_free(&f);
    return status;
}

/// Frame `index` of the file is frame k of the run, positions within `precision`.
static void holds(const char *name, int64_t index, int64_t k, int64_t n_frames, double precision)
{
    mds_frame f = {0}, want = {0};
    double    worst[3] = {0};
    int64_t   n = 0;
    int32_t   i;
    int       c;

    fill(&want, k);
    TEST_OK(mds_h5md_read(name, index, &f, &n));
    TEST_INT(n, n_frames);
    TEST_INT(f.step, want.step);
    TEST_NEAR(f.time, want.time, 0);
    TEST_TRUE(!memcmp(&f.box, &want.box, sizeof f.box));
    TEST_INT(f.n, N);
    TEST_TRUE(!f.v == !options.velocities && !f.f == !options.forces);
    for (i = 0; i < N && f.n == N; i++)
        for (c = 0; c < 3; c++) {
            worst[0] = fmax(worst[0], fabs(f.x[i][c] - want.x[i][c]));
            if (f.v) worst[1] = fmax(worst[1], fabs(f.v[i][c] - want.v[i][c]));
            if (f.f) worst[2] = fmax(worst[2], fabs(f.f[i][c] - want.f[i][c]));
        }
    // single precision: half a unit in the last place of 24 bits at the largest value
    TEST_NEAR(worst[0], 0, precision + 3 * 0x1p-24);
    TEST_TRUE(precision == 0 || worst[0] > 0.1 * precision); // rounding was really done
    TEST_NEAR(worst[1], 0, 0x1p-24);
    TEST_NEAR(worst[2], 0, 1024 * 0x1p-24);
    mds_frame_free(&f);
    mds_frame_free(&want);
}

static void frames_come_back(double precision, bool arrays)
{
    mds_h5md *h;
    mds_frame f = {0};
    int64_t   k, n;

    sweep();
    options.precision = precision;
    options.velocities = options.forces = arrays;
    TEST_OK(mds_h5md_create(&options, &sys, true, &h));
    for (k = 0; k < 5; k++) {
        TEST_OK(append(h, k));
        holds(path, k, k, k + 1, precision); // readable while it is being written, at once
    }
    TEST_INT(mds_h5md_n_frames(h), 5);
    TEST_FAILS(append(h, 4), MDS_E_INTERNAL, "frame of step 40 after step 40");
    TEST_OK(mds_h5md_sync(h));
    TEST_OK(mds_h5md_close(h));
    for (k = 4; k >= 0; k--) holds(path, k, k, 5, precision);
    TEST_FAILS(mds_h5md_read(path, 5, &f, &n), MDS_E_INPUT, "frame 5 of 5 cannot be read");
    TEST_FAILS(mds_h5md_read(path, -1, &f, &n), MDS_E_INPUT, "frame -1 of 5 cannot be read");
    mds_frame_free(&f);
    TEST_FAILS(mds_h5md_create(&options, &sys, true, &h), MDS_E_WRITE, "the file exists");
    TEST_TRUE(!h);
}

/// Rounding leaves zeros for the compressor: the file gets smaller, and blocks reserved ahead are given back.
static void precision_saves_room(void)
{
    struct stat lossless, rounded;

    frames_come_back(0, false);
    stat(path, &lossless);
    frames_come_back(0.001, false);
    stat(path, &rounded);
    TEST_TRUE(rounded.st_size < lossless.st_size);
    TEST_TRUE((double)rounded.st_blocks * 512 < (double)rounded.st_size + 65536); // one megabyte was reserved for a sixth frame
}

static void resume_cuts_back_and_goes_on(void)
{
    mds_h5md *h;
    int64_t   k;

    frames_come_back(0, true);
    TEST_OK(mds_h5md_resume(&options, &sys, true, 3, 20, &h));
    TEST_INT(mds_h5md_n_frames(h), 3);
    TEST_FAILS(append(h, 2), MDS_E_INTERNAL, "after step 20");
    for (k = 3; k < 7; k++) TEST_OK(append(h, k + 10));
    TEST_OK(mds_h5md_close(h));
    holds(path, 2, 2, 7, 0);
    holds(path, 3, 13, 7, 0);
    holds(path, 6, 16, 7, 0);
    TEST_OK(mds_h5md_resume(&options, &sys, true, 0, -1, &h)); // back to nothing
    TEST_OK(append(h, 0));
    TEST_OK(mds_h5md_close(h));
    holds(path, 0, 0, 1, 0);
    TEST_TRUE(!mds_file_exists(part(1)) && !mds_file_exists(part(2)));
}

/// What cannot be gone on with stays as it is, byte by byte; the run goes on in part 2 and says so.
static void new_part_instead(int64_t n_frames, int64_t last_step)
{
    mds_h5md *h;
    char     *before = NULL, *after = NULL;
    size_t    n = 0, m = 0;
    const int warnings = mds_log_n_warnings();
    const bool there = mds_file_exists(path);

    if (there) TEST_OK(mds_file_read(path, &before, &n));
    TEST_OK(mds_h5md_resume(&options, &sys, true, n_frames, last_step, &h));
    TEST_INT(mds_h5md_part(h), 2);
    TEST_INT(mds_h5md_n_frames(h), 0);
    TEST_INT(mds_log_n_warnings(), warnings + 1);
    TEST_OK(append(h, 50));
    TEST_OK(mds_h5md_close(h));
    holds(part(2), 0, 50, 1, 0);
    TEST_INT(mds_file_exists(path), there);
    if (there) {
        TEST_OK(mds_file_read(path, &after, &m));
        TEST_TRUE(n == m && !memcmp(before, after, n));
    }
    mds_free(before);
    mds_free(after);
}

/// Flip a byte in the middle of the stored values of a frame.
static void damage_frame(hsize_t frame, const char *name)
{
    const hid_t   file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT);
    const hsize_t at[3] = {frame, 0, 0};
    unsigned      mask;
    haddr_t       address = 0;
    hsize_t       size = 0;
    char          byte = 0;
    int           fd;

    TEST_TRUE(H5Dget_chunk_info_by_coord(set, at, &mask, &address, &size) >= 0 && size > 20);
    H5Dclose(set);
    H5Fclose(file);
    fd = open(path, O_RDWR);
    TEST_INT(pread(fd, &byte, 1, (off_t)(address + size / 2)), 1);
    byte = (char)~byte;
    TEST_INT(pwrite(fd, &byte, 1, (off_t)(address + size / 2)), 1);
    close(fd);
}

static void damaged_files_are_left_alone(void)
{
    frames_come_back(0, true);
    TEST_OK(mds_file_write(path, "not a trajectory at all", 23));
    new_part_instead(3, 20);
    frames_come_back(0, true);
    unlink(path); // gone
    new_part_instead(3, 20);
    frames_come_back(0, true);
    new_part_instead(6, 50); // fewer frames than the checkpoint names
    frames_come_back(0, true);
    new_part_instead(3, 30); // frame 3 is not of that step: another run's file
    frames_come_back(0, true);
    TEST_INT(truncate(path, 12000), 0);
    new_part_instead(5, 40);
    frames_come_back(0, true);
    damage_frame(4, "/particles/trajectory/position/value");
    new_part_instead(5, 40);
    frames_come_back(0, true);
    damage_frame(3, "/particles/trajectory/velocity/value");
    new_part_instead(5, 40);
    frames_come_back(0, true);
    damage_frame(4, "/particles/trajectory/force/value");
    new_part_instead(5, 40);
}

/// Velocities switched on or off between two pieces: their frame numbers would no longer agree with the positions'.
static void other_elements_need_a_new_part(void)
{
    frames_come_back(0, false);
    options.velocities = true;
    new_part_instead(5, 40);
    frames_come_back(0, true);
    options.forces = false;
    new_part_instead(5, 40);
}

static void other_systems_need_a_new_part(void)
{
    mds_system small = {0};
    mds_h5md  *h;

    frames_come_back(0, false);
    TEST_OK(mds_system_set_types(&small, 1, false));
    TEST_OK(mds_system_add_atom(&small, "X", -1, 0, 0, 1, 0, NULL));
    TEST_OK(mds_system_freeze(&small));
    TEST_OK(mds_h5md_resume(&options, &small, true, 5, 40, &h));
    TEST_INT(mds_h5md_part(h), 2);
    TEST_OK(mds_h5md_close(h));
    mds_system_free(&small);
}

static void parts(void)
{
    mds_h5md *h;
    bool      rolled;
    int64_t   k, per_part = 0;

    sweep();
    options.part_gb = 40e3 / 1e9; // a frame of 300 atoms is some 3 kB
    TEST_OK(mds_h5md_create(&options, &sys, true, &h));
    TEST_INT(mds_h5md_part(h), 1);
    TEST_TRUE(!mds_file_exists(path) && mds_file_exists(part(1)));
    for (k = 0; mds_h5md_part(h) < 3 && k < 200; k++) {
        TEST_OK(append(h, k));
        per_part = mds_h5md_n_frames(h);
        TEST_OK(mds_h5md_roll(h, &rolled));
        TEST_INT(rolled, mds_h5md_n_frames(h) == 0);
    }
    TEST_INT(mds_h5md_part(h), 3);
    TEST_OK(append(h, k));
    TEST_OK(mds_h5md_close(h));
    holds(part(3), 0, k, 1, 0);
    holds(part(2), per_part - 1, k - 1, per_part, 0);
    options.part = 2; // the checkpoint stood in part 2
    TEST_OK(mds_h5md_resume(&options, &sys, true, 1, 10 * (k - per_part), &h));
    TEST_TRUE(!mds_file_exists(part(3)) && mds_file_exists(part(1)));
    TEST_INT(mds_h5md_part(h), 2);
    TEST_OK(mds_h5md_close(h));
    holds(part(2), 0, k - per_part, 1, 0);
}

/// A run begun in one file and resumed with output.part_gb set goes on in that file; it rolls from there.
static void parts_switched_on_later(void)
{
    mds_h5md *h;
    bool      rolled;

    frames_come_back(0, false);
    options.part_gb = 1e-9;
    TEST_OK(mds_h5md_resume(&options, &sys, true, 5, 40, &h));
    TEST_INT(mds_h5md_part(h), 0);
    TEST_INT(mds_h5md_n_frames(h), 5);
    TEST_OK(mds_h5md_roll(h, &rolled));
    TEST_TRUE(rolled && mds_h5md_part(h) == 1 && mds_file_exists(part(1)));
    TEST_OK(mds_h5md_close(h));
    holds(path, 4, 4, 5, 0);
}

/// No room (here a limit on file sizes, which HDF5 meets as it does a full disk): refused before the file is touched.
static void a_full_disk_damages_nothing(void)
{
    struct rlimit old, small;
    struct stat   info;
    mds_h5md     *h;
    int64_t       k, k_full;

    sweep();
    getrlimit(RLIMIT_FSIZE, &old);
    TEST_OK(mds_h5md_create(&options, &sys, true, &h));
    TEST_OK(append(h, 0));
    stat(path, &info);
    small = (struct rlimit){(rlim_t)info.st_size + (1 << 20) + 20000, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    for (k = 1; append(h, k) == MDS_OK && k < 100; k++) {}
    k_full = k;
    TEST_TRUE(k_full > 1 && k_full < 50);
    TEST_FAILS(append(h, k), MDS_E_WRITE, "would pass the limit on file sizes");
    holds(path, k_full - 1, k_full - 1, k_full, 0);
    setrlimit(RLIMIT_FSIZE, &old);
    TEST_OK(append(h, k)); // room again: nothing was broken
    TEST_OK(mds_h5md_close(h));
    holds(path, k_full, k_full, k_full + 1, 0);
    sweep();
    small.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &small);
    TEST_FAILS(mds_h5md_create(&options, &sys, true, &h), MDS_E_WRITE, "run.h5md: cannot write");
    setrlimit(RLIMIT_FSIZE, &old);
    TEST_TRUE(!mds_file_exists(path)); // or the next start would find it in its way
}

/// Files of other shapes are refused, not read past the ends of our arrays.
static void foreign_files_are_refused(void)
{
    mds_frame f = {0};
    int64_t   n;
    char      other[300];

    snprintf(other, sizeof other, "%s/other.h5md", folder);
    TEST_FAILS(mds_h5md_read(other, 0, &f, &n), MDS_E_MISSING, "no such file");
    TEST_OK(mds_file_write(other, "text", 4));
    TEST_FAILS(mds_h5md_read(other, 0, &f, &n), MDS_E_INPUT, "is not an HDF5 file");
    for (int which = 0; which < 3; which++) {
        const hsize_t wide[3] = {1, N, which == 0 ? 5 : 3}, edges[3] = {1, which == 1 ? 40 : 3, 3}, one = 1, steps[3] = {1, 50, 3};
        const hid_t   file = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), links = H5Pcreate(H5P_LINK_CREATE);

        H5Pset_create_intermediate_group(links, 1);
        const hid_t s3 = H5Screate_simple(3, wide, NULL), se = H5Screate_simple(3, edges, NULL), s1 = H5Screate_simple(1, &one, NULL),
                    ss = H5Screate_simple(3, steps, NULL);
        H5Dclose(H5Dcreate2(file, "/particles/trajectory/position/value", H5T_NATIVE_DOUBLE, s3, links, H5P_DEFAULT, H5P_DEFAULT));
        H5Dclose(H5Dcreate2(file, "/particles/trajectory/position/time", H5T_NATIVE_DOUBLE, s1, links, H5P_DEFAULT, H5P_DEFAULT));
        H5Dclose(H5Dcreate2(file, "/particles/trajectory/position/step", H5T_NATIVE_INT64, which == 2 ? ss : s1, links, H5P_DEFAULT, H5P_DEFAULT));
        H5Dclose(H5Dcreate2(file, "/particles/trajectory/box/edges/value", H5T_NATIVE_DOUBLE, se, links, H5P_DEFAULT, H5P_DEFAULT));
        H5Sclose(s3), H5Sclose(se), H5Sclose(s1), H5Sclose(ss), H5Pclose(links);
        H5Fclose(file);
        TEST_FAILS(mds_h5md_read(other, 0, &f, &n), MDS_E_INPUT, "cannot be read");
    }
    mds_frame_free(&f);
    unlink(other);
}

int main(void)
{
    if (!mkdtemp(folder)) TEST_SKIP("no temporary folder");
    snprintf(path, sizeof path, "%s/run.h5md", folder);
    signal(SIGXFSZ, SIG_IGN); // as the program does
    make_system();
    frames_come_back(0, true);
    precision_saves_room();
    resume_cuts_back_and_goes_on();
    damaged_files_are_left_alone();
    other_elements_need_a_new_part();
    other_systems_need_a_new_part();
    parts();
    parts_switched_on_later();
    a_full_disk_damages_nothing();
    foreign_files_are_refused();
    sweep();
    TEST_INT(rmdir(folder), 0); // nothing else was left behind
    mds_system_free(&sys);
    return test_end();
}
