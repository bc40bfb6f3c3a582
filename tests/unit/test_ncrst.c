// SPDX-License-Identifier: Apache-2.0
// AMBER restarts as netCDF, written here with the real library in its classic, 64-bit-offset and netCDF-4 forms.
#include "read/read.h"
#include "unit/prmtop_text.h"

#include <netcdf.h>

enum { N = 3 };

static const double position[N][3] = {{1, 2, 3}, {-4, 5, 6}, {7, 8, -900}}, velocity[N][3] = {{0.1, 0.2, 0.3}, {1, 2, 3}, {4, 5, 6}};

/// What to write; zero: everything in its usual form.
typedef struct {
    int         mode;            // NC_64BIT_OFFSET, NC_NETCDF4, 0
    bool        no_velocities, no_box, no_scale, no_angles, no_positions, trajectory;
    int         n_atoms;         // 0: N
    double      bad;             // replaces y of atom 2 where not 0
    const char *convention;
} nc_plan;

#define NC(call)                                                                                             \
    do {                                                                                                     \
        const int nc_code = (call);                                                                          \
        if (nc_code) fprintf(stderr, "%s: %s\n", #call, nc_strerror(nc_code)), exit(1);                      \
    } while (0)

static const char *write_restart(nc_plan p)
{
    const char  *path = prm_path("system.ncrst");
    const double lengths[3] = {104.12634, 104.12634, 104.12634}, angles[3] = {109.471219, 109.471219, 109.471219}, time = 12.5;
    const double scale = 20.455;
    const size_t n = p.n_atoms ? (size_t)p.n_atoms : N;
    const char  *convention = p.convention ? p.convention : "AMBERRESTART";
    double       x[16][3] = {{0}};
    int          id, frame, atom, spatial, cell_s, cell_a, dims[3], vx = -1, vv = -1, vl = -1, va = -1, vt;

    memcpy(x, position, sizeof position);
    if (p.bad != 0) x[1][1] = p.bad;
    NC(nc_create(path, NC_CLOBBER | p.mode, &id));
    NC(nc_put_att_text(id, NC_GLOBAL, "Conventions", strlen(convention), convention));
    NC(nc_def_dim(id, "frame", NC_UNLIMITED, &frame));
    NC(nc_def_dim(id, "atom", n, &atom));
    NC(nc_def_dim(id, "spatial", 3, &spatial));
    NC(nc_def_dim(id, "cell_spatial", 3, &cell_s));
    NC(nc_def_dim(id, "cell_angular", 3, &cell_a));
    dims[0] = frame, dims[1] = atom, dims[2] = spatial;
    NC(nc_def_var(id, "time", NC_DOUBLE, 0, NULL, &vt));
    if (!p.no_positions) NC(nc_def_var(id, "coordinates", NC_DOUBLE, p.trajectory ? 3 : 2, p.trajectory ? dims : dims + 1, &vx));
    if (!p.no_velocities) {
        NC(nc_def_var(id, "velocities", NC_DOUBLE, 2, dims + 1, &vv));
        if (!p.no_scale) NC(nc_put_att_double(id, vv, "scale_factor", NC_DOUBLE, 1, &scale));
    }
    if (!p.no_box) NC(nc_def_var(id, "cell_lengths", NC_DOUBLE, 1, &cell_s, &vl));
    if (!p.no_box && !p.no_angles) NC(nc_def_var(id, "cell_angles", NC_DOUBLE, 1, &cell_a, &va));
    NC(nc_enddef(id));
    NC(nc_put_var_double(id, vt, &time));
    if (vx >= 0 && !p.trajectory) NC(nc_put_var_double(id, vx, x[0]));
    if (vv >= 0) NC(nc_put_var_double(id, vv, velocity[0]));
    if (vl >= 0) NC(nc_put_var_double(id, vl, lengths));
    if (va >= 0) NC(nc_put_var_double(id, va, angles));
    NC(nc_close(id));
    return path;
}

static mds_status read_restart(const char *path, mds_state *s)
{
    mds_system system = {0};
    int32_t    residue;
    mds_status status;

    (void)mds_system_add_residue(&system, "WAT", 7, &residue);
    for (int i = 0; i < N; i++) (void)mds_system_add_atom(&system, i ? "H" : "O", residue, 0, 0, 16, 8, NULL);
    mds_state_free(s);
    memset(s, 0, sizeof *s);
    (void)mds_state_init(s, N);
    status = mds_read_ncrst(path, &system, s);
    mds_system_free(&system);
    return status;
}

static void every_netcdf_form_is_read(void)
{
    static const int modes[] = {0, NC_64BIT_OFFSET, NC_NETCDF4, NC_NETCDF4 | NC_CLASSIC_MODEL};
    mds_state        s = {0};
    size_t           m;

    for (m = 0; m < 4; m++) {
        const char *path = write_restart((nc_plan){.mode = modes[m]});

        TEST_TRUE(mds_is_netcdf(path));
        TEST_OK(read_restart(path, &s));
        TEST_NEAR(s.x[2][2], -90, 1e-12); // doubles in the file: exact but for the unit
        TEST_NEAR(s.x[1][0], -0.4, 1e-12);
        TEST_TRUE(s.has_velocities);
        TEST_NEAR(s.v[2][1], 0.5 * 20.455, 1e-12);
        TEST_NEAR(s.time, 12.5, 1e-12);
        TEST_NEAR(s.box.a[0][0], 10.412634, 1e-9);
        TEST_NEAR(s.box.a[2][2], 8.501880, 2e-6); // the octahedron; its angle has six decimals
    }
    mds_state_free(&s);
}

static void absent_parts_are_absent(void)
{
    mds_state s = {0};

    TEST_OK(read_restart(write_restart((nc_plan){.no_velocities = true, .no_box = true}), &s));
    TEST_TRUE(!s.has_velocities && mds_box_is_none(&s.box));
    TEST_OK(read_restart(write_restart((nc_plan){.no_scale = true, .no_angles = true}), &s));
    TEST_NEAR(s.v[2][1], 0.5, 1e-12); // no scale_factor: A/ps
    TEST_NEAR(s.box.a[2][2], 10.412634, 1e-9);
    mds_state_free(&s);
}

static void wrong_files_are_refused(void)
{
    mds_state   s = {0};
    const char *path;

    TEST_FAILS(read_restart(write_restart((nc_plan){.n_atoms = 4, .no_velocities = true}), &s), MDS_E_INPUT,
               "coordinates of 4 atoms, the topology has 3");
    TEST_FAILS(read_restart(write_restart((nc_plan){.no_positions = true}), &s), MDS_E_INPUT, "without the variable coordinates");
    TEST_FAILS(read_restart(write_restart((nc_plan){.convention = "AMBER"}), &s), MDS_E_INPUT, "trajectory, not a restart");
    TEST_FAILS(read_restart(write_restart((nc_plan){.trajectory = true}), &s), MDS_E_INPUT, "is this a trajectory?");
    TEST_FAILS(read_restart(write_restart((nc_plan){.bad = NAN}), &s), MDS_E_INPUT, "position y of WAT 7 H (atom 2) is nan");
    TEST_FAILS(read_restart(write_restart((nc_plan){.bad = 1e8}), &s), MDS_E_INPUT, "position y of WAT 7 H (atom 2) is 1e+07");
    TEST_FAILS(read_restart("/nowhere/x.ncrst", &s), MDS_E_MISSING, "x.ncrst");
    path = prm_path("text.ncrst");
    prm_put(path, "CDF\001 but not more", 17);
    TEST_TRUE(mds_is_netcdf(path));
    TEST_FAILS(read_restart(path, &s), MDS_E_INPUT, "not a readable netCDF file");
    prm_put(path, "default_name\n", 13);
    TEST_TRUE(!mds_is_netcdf(path));
    TEST_TRUE(!mds_is_netcdf("/nowhere/x.ncrst"));
    mds_state_free(&s);
}

/// A file that ends early, at many lengths: refused, except where only bytes that nobody reads are gone. libnetcdf itself
/// reads zeros there.
static void cut_files_are_refused(void)
{
    static const int modes[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4};
    mds_state        s = {0};
    size_t           m, cut, n;

    for (m = 0; m < 4; m++) {
        char *bytes;

        if (mds_file_read(write_restart((nc_plan){.mode = modes[m]}), &bytes, &n) != MDS_OK) exit(1);
        for (cut = 0; cut < n; cut += m == 3 ? 997 : 5) {
            const char *path = prm_path("cut.ncrst");

            prm_put(path, bytes, cut);
            if (read_restart(path, &s) == MDS_OK) TEST_NEAR(s.x[2][2] + s.v[2][2], -90 + 0.6 * 20.455, 1e-12);
        }
        prm_put(prm_path("cut.ncrst"), bytes, n - 1);
        if (m < 3) TEST_FAILS(read_restart(prm_path("cut.ncrst"), &s), MDS_E_INPUT, "ends early");
        mds_free(bytes);
    }
    mds_state_free(&s);
}

/// Bytes of the header changed at random: a verdict and no crash.
static void broken_headers_never_crash(void)
{
    mds_state s = {0};
    char     *bytes;
    size_t    n, at;
    int       refused = 0;

    if (mds_file_read(write_restart((nc_plan){.mode = NC_64BIT_OFFSET}), &bytes, &n) != MDS_OK) exit(1);
    for (at = 4; at < n; at++) {
        static const char nasty[] = {0, 1, 127, (char)255};
        const char        before = bytes[at], *path = prm_path("cut.ncrst");

        bytes[at] = nasty[at % 4];
        prm_put(path, bytes, n);
        refused += read_restart(path, &s) != MDS_OK;
        bytes[at] = before;
    }
    TEST_TRUE(refused > 10 && (size_t)refused < n);
    mds_free(bytes);
    mds_state_free(&s);
}

int main(void)
{
    mds_log_set_level(MDS_LOG_ERROR);
    every_netcdf_form_is_read();
    absent_parts_are_absent();
    wrong_files_are_refused();
    cut_files_are_refused();
    broken_headers_never_crash();
    return test_end();
}
