// SPDX-License-Identifier: Apache-2.0
// Ways to transform the mesh of the GPU backend, as the start-up tuner asks for them (engine/tune.c): by name, behind the pair kernel's; timed
// without a trace; none of them off.
#include "backend/backend.h"

#include "stage/stage.h"

enum { N = 192 };

static const mds_backend *backend;
static mds_system         water;
static mds_state          state;
static const mds_domain   domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = N, .n_all = N};

static void forces(mds_device *d, mds_frame *frame)
{
    TEST_OK(backend->upload(d, &domain, &state));
    TEST_OK(backend->search(d, &domain));
    TEST_OK(backend->begin(d, 0));
    TEST_OK(backend->pair(d, MDS_HOME, 0));
    TEST_OK(backend->bonded(d, 0));
    TEST_OK(backend->mesh(d, MDS_MESH_ALL, 0));
    TEST_OK(backend->finish(d, 0));
    TEST_OK(backend->observe(d, MDS_FIELD_F, 0));
    TEST_OK(backend->collect(d, 0, frame));
    mds_frame_sort(frame);
}

static mds_params params(int points)
{
    mds_params p = stage_params(0.5);

    stage_pme(&p, MDS_SPLIT_PROLATE, 8, 5, points);
    p.deterministic = true;
    return p;
}

/// What `isa` asks for is what is done: the device says so, and the bits are its own.
static void each_by_its_name(void)
{
    static const char *const names[] = {"octet-cufft", "octet-block", "octet-gemm"};
    const mds_params         p = params(16);
    mds_frame                of[3] = {0}, again = {0};
    mds_device              *d;

    for (int k = 0; k < 3; k++) {
        const char *way = strchr(names[k], '-') + 1;
        double      seconds[4] = {-1, -1, -1, -1};

        TEST_OK(backend->open(&water, &p, 1, names[k], &d));
        TEST_TRUE(!strcmp(backend->flavour(d), names[k]));
        forces(d, &of[k]);
        TEST_TRUE(!strncmp(backend->ways(d), way, strlen(way)) && strlen(backend->ways(d)) == strlen("cufft block gemm"));
        TEST_OK(backend->time_pairs(d, &domain, seconds));
        TEST_TRUE(seconds[0] > 0 && seconds[2] > 0 && seconds[3] > 0);
        forces(d, &again);
        TEST_TRUE(!memcmp(of[k].f, again.f, N * sizeof *again.f));
        // the mesh in single precision, whose sums are in another order: 1e-6 of the forces
        TEST_NEAR(stage_force_gap(&of[k], &of[0]), 0, 1e-6 * stage_force_size(&of[0]));
        for (int l = 0; l < k; l++) TEST_TRUE(memcmp(of[l].f, of[k].f, N * sizeof *again.f));
        backend->close(d);
    }
    for (int k = 0; k < 3; k++) mds_frame_free(&of[k]);
    mds_frame_free(&again);
}

static void what_there_is(const char *isa, const mds_params *p, const char *flavour, const char *ways)
{
    mds_device *d;

    TEST_OK(backend->open(&water, p, 1, isa, &d));
    TEST_OK(backend->upload(d, &domain, &state));
    TEST_TRUE(!strcmp(backend->flavour(d), flavour));
    if (strcmp(backend->ways(d), ways)) printf("%s, %s: \"%s\"\n", isa, flavour, backend->ways(d));
    TEST_TRUE(!strcmp(backend->ways(d), ways));
    backend->close(d);
}

int main(int argc, char **argv)
{
    mds_params p = params(16);

    TEST_OK(mds_backend_find(argc > 1 ? argv[1] : "emu", &backend));
    TEST_OK(mds_make("water", N, 3, &water, &state));
    TEST_OK(mds_system_freeze(&water));
    TEST_INT(water.n_atoms, N);
    each_by_its_name();
    what_there_is("", &p, "lane", "block cufft gemm"); // without a wish one block, where it fits
    what_there_is("tile-nonsense", &p, "tile", "block cufft gemm");
    p = params(17); // odd, and no length that one block knows
    what_there_is("lane", &p, "lane", "cufft gemm");
    what_there_is("lane-block", &p, "lane-block", "cufft gemm"); // says so, and does what it can
    p.double_precision = true;
    what_there_is("lane", &p, "lane", "");
    p = params(16);
    p.coulomb = MDS_COULOMB_NONE;
    what_there_is("lane", &p, "lane", "");
    mds_system_free(&water);
    mds_state_free(&state);
    return test_end();
}
