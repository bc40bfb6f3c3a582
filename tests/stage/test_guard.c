// SPDX-License-Identifier: Apache-2.0
// The guard of the pair lists: no pair that matters is ever missing, whatever atoms do, and a list is not thrown away for less.
//
// A gas of light and heavy atoms flies straight, some of them far too fast. In every step the test looks at all pairs itself:
// - the backend (cpu, or the GPU one emulated) and ref trip in the same steps, exactly when a pair that was beyond the list's
//   radius at the search has come nearer than the cut-off less the depth of its kind, or where the guard's two shortcuts say
//   so (src/cpu/guard.c);
// - the inner list, pruned for positions expected later, holds every pair nearer than that.
#include "backend/backend.h"

#include "base/rng.h"
#include "stage/poke_list.h"
#include "test.h"

enum { N = 1000 };

static const char *backend = "cpu";
static int         steps = 80; // fewer for the thread sanitizer


typedef struct {
    mds_system system;
    mds_state  state;
    mds_params params;
    mds_domain domain;
} gas;

static double uniform(uint64_t seed, int32_t i, int k)
{
    double u[4];

    mds_uniform4(seed, MDS_RNG_MAKE, 0, (uint32_t)i, u);
    return u[k];
}

/// Light atoms (two of three) and heavy ones at some 300 K; `hot` of each hundred thousand are fifteen times as fast.
static void fill(gas *g, mds_box box, double hot)
{
    int32_t residue, i;
    int     k, l;

    *g = (gas){.params = {.deterministic = true, .coulomb = MDS_COULOMB_CUT,
                          .lj_modifier = MDS_LJ_CUT,
                          .dt = 0.002,
                          .cut_lj = 0.8,
                          .cut_q = 0.8,
                          .list_radius = 0.98,
                          .prune_radius = 0.82,
                          .prune_interval = 5,
                          .list_interval = 20,
                          .list_pairwise = true,
                          .list_depth = {0.01, 0.03, 0.05}},
               .domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = N, .n_all = N}};
    TEST_OK(mds_system_set_types(&g->system, 1, false));
    TEST_OK(mds_system_add_residue(&g->system, "GAS", 1, &residue));
    for (i = 0; i < N; i++) TEST_OK(mds_system_add_atom(&g->system, "X", residue, 0, 0, i % 3 ? 1.008 : 16, 0, NULL));
    TEST_OK(mds_system_freeze(&g->system));
    TEST_OK(mds_state_init(&g->state, N));
    g->state.box = box;
    for (i = 0; i < N; i++) {
        const double speed = (i % 3 ? 1.5 : 0.4) * (uniform(8, i, 3) < 1e-5 * hot ? 15 : 1);
        double       gauss[4];

        mds_gauss4(7, MDS_RNG_MAKE, 1, (uint32_t)i, gauss);
        for (k = 0; k < 3; k++) {
            g->state.v[i][k] = speed * gauss[k];
            for (l = 0; l < 3; l++) g->state.x[i][l] += (uniform(5, i, k) + i % 5 - 2) * box.a[k][l];
        }
    }
    g->state.has_velocities = true;
}

static int light(const gas *g, int32_t i)
{
    return mds_is_light(g->system.mass[i]);
}

/// What the test thinks: a pair is missing; the shortcuts apply.
typedef struct {
    bool missing, shortcut;
    int  near; // pairs beyond the list's radius at the search that are within the cut-off now
} verdict;

static verdict judge(const gas *g, const double (*now)[3], const double (*then)[3])
{
    const mds_params *p = &g->params;
    verdict           out = {0};
    int               n_fast = 0;

    for (int32_t i = 0; i < N; i++) {
        const double limit = 0.5 * (p->list_radius - p->cut_lj + fmin(p->list_depth[light(g, i)], p->list_depth[light(g, i) + 1]));
        double       way[3];

        for (int k = 0; k < 3; k++) way[k] = now[i][k] - then[i][k];
        n_fast += mds_norm(way) > limit;
        out.shortcut |= mds_norm(way) > 0.5 * p->cut_lj;
        for (int32_t j = i + 1; j < N; j++) {
            double r[3];

            for (int k = 0; k < 3; k++) r[k] = now[i][k] - now[j][k];
            mds_box_nearest(&g->state.box, r);
            if (mds_norm(r) >= p->cut_lj) continue;
            const double distance = mds_norm(r);
            for (int k = 0; k < 3; k++) r[k] -= way[k] - (now[j][k] - then[j][k]);
            if (mds_norm(r) <= p->list_radius) continue;
            out.near++;
            out.missing |= distance < p->cut_lj - p->list_depth[light(g, i) + light(g, j)];
        }
    }
    out.shortcut |= n_fast > N / 100 + 8;
    return out;
}

static void expect_listed(const gas *g, const mds_device *d, const double (*x)[3], uint8_t *listed)
{
    int missing = 0;

    memset(listed, 0, (size_t)N * N);
    peek_pairs(d, listed);
    for (int32_t i = 0; i < N; i++)
        for (int32_t j = i + 1; j < N; j++) {
            // positions are floats in the list: 1e-6 nm, as in test_search.c
            const double matters = g->params.cut_lj - g->params.list_depth[light(g, i) + light(g, j)] - 1e-6;
            double       r[3];

            for (int k = 0; k < 3; k++) r[k] = x[i][k] - x[j][k];
            mds_box_nearest(&g->state.box, r);
            missing += mds_dot(r, r) < matters * matters && !listed[(size_t)i * N + (size_t)j] && !listed[(size_t)j * N + (size_t)i];
        }
    TEST_INT(missing, 0);
}

typedef struct {
    const mds_backend *be;
    mds_device        *d;
    mds_frame          frame;
    bool               tripped;
} flight;

static void open_flight(flight *f, const char *name, int threads, const gas *g)
{
    *f = (flight){0};
    TEST_OK(mds_backend_find(name, &f->be));
    TEST_OK(f->be->open(&g->system, &g->params, threads, NULL, &f->d));
    TEST_OK(f->be->upload(f->d, &g->domain, &g->state));
    TEST_OK(f->be->search(f->d, &g->domain));
}

/// One step without forces; looks whether it tripped and where the atoms are.
static void advance(flight *f)
{
    const mds_integrator *verlet = mds_integrator_find("verlet");
    mds_poll              poll;

    TEST_OK(f->be->move(f->d, verlet->before, 0));
    TEST_OK(f->be->poll(f->d, &poll));
    TEST_INT(poll.fault, 0);
    f->tripped = poll.tripped;
    TEST_OK(f->be->observe(f->d, MDS_FIELD_X, 0));
    TEST_OK(f->be->collect(f->d, 0, &f->frame));
    mds_frame_sort(&f->frame);
}

static int depth_used; // steps in which a pair within the cut-off was missing, but not as deep as its kind may be

static void no_pair_that_matters_is_missed(const char *what, mds_box box, double hot, int threads)
{
    gas      g;
    flight   ref, cpu;
    uint8_t *listed;
    double(*then)[3];
    int trips = 0, scheduled = 0, asked = 0, age = 0;

    fill(&g, box, hot);
    TEST_OK(mds_alloc(&listed, (size_t)N * N, 1));
    TEST_OK(mds_alloc(&then, N, sizeof *then));
    open_flight(&ref, "ref", 1, &g);
    open_flight(&cpu, backend, threads, &g);
    memcpy(then, g.state.x, N * sizeof *then);
    for (int step = 1; step <= steps; step++, age++) {
        advance(&ref);
        advance(&cpu);
        const verdict v = judge(&g, (const double(*)[3])cpu.frame.x, (const double(*)[3])then);

        TEST_INT(cpu.tripped, v.missing || v.shortcut);
        TEST_INT(ref.tripped, cpu.tripped);
        trips += cpu.tripped;
        asked += !cpu.tripped && v.near > 0;
        if (cpu.tripped || age == g.params.list_interval) {
            scheduled += !cpu.tripped;
            TEST_OK(ref.be->search(ref.d, &g.domain));
            TEST_OK(cpu.be->search(cpu.d, &g.domain));
            memcpy(then, cpu.frame.x, N * sizeof *then);
            age = 0;
        }
        TEST_OK(cpu.be->begin(cpu.d, 0));
        poke_list_due(cpu.d);
        expect_listed(&g, cpu.d, (const double(*)[3])cpu.frame.x, listed);
    }
    fprintf(stderr, "%s: %d trips and %d scheduled searches in %d steps, %d prunings; in %d steps a pair within the cut-off was missing "
                    "that did not matter\n", what, trips, scheduled, steps, (int)peek_prunes(cpu.d), asked);
    TEST_TRUE(trips > 0); // else nothing was tested
    depth_used += asked;
    if (hot == 0) TEST_TRUE(peek_prunes(cpu.d) < steps / 2); // the inner list lives for some steps; hot atoms end it at once
    ref.be->close(ref.d);
    cpu.be->close(cpu.d);
    mds_frame_free(&ref.frame);
    mds_frame_free(&cpu.frame);
    mds_free(listed);
    mds_free(then);
    mds_system_free(&g.system);
    mds_state_free(&g.state);
}

/// One atom of an otherwise resting gas trips as soon as it is where a pair is missing, and not for being fast.
static void one_fast_atom(double speed)
{
    gas     g;
    flight  f;
    double(*then)[3];
    int     k, trips = 0;

    fill(&g, (mds_box){{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}}, 0);
    TEST_OK(mds_alloc(&then, N, sizeof *then));
    memset(g.state.v, 0, N * sizeof *g.state.v);
    g.state.v[31][1] = speed;
    memcpy(then, g.state.x, N * sizeof *then);
    open_flight(&f, backend, 2, &g);
    for (k = 0; k < 20 && !trips; k++) {
        advance(&f);
        const verdict v = judge(&g, (const double(*)[3])f.frame.x, (const double(*)[3])then);

        TEST_INT(f.tripped, v.missing || v.shortcut);
        trips += f.tripped;
    }
    TEST_INT(trips, speed > 4 ? 1 : 0);
    f.be->close(f.d);
    mds_frame_free(&f.frame);
    mds_free(then);
    mds_system_free(&g.system);
    mds_state_free(&g.state);
}

int main(int argc, char **argv)
{
    if (argc > 1) backend = argv[1];
    if (getenv("MDS_SMALL")) steps = 25;
    no_pair_that_matters_is_missed("300 K", (mds_box){{{2.7, 0, 0}, {0, 2.7, 0}, {0, 0, 2.7}}}, 0, 2);
    no_pair_that_matters_is_missed("hot atoms", (mds_box){{{2.7, 0, 0}, {0, 2.7, 0}, {0, 0, 2.7}}}, 300, 3);
    no_pair_that_matters_is_missed("skewed box", (mds_box){{{3, 0, 0}, {-1.4, 2.8, 0}, {1.5, -1.3, 2.6}}}, 100, 1);
    one_fast_atom(2);   // 0.08 nm in 20 steps: below the buffer of 0.18
    one_fast_atom(12);  // 0.48 nm
    one_fast_atom(300); // half the cut-off at once
    TEST_TRUE(depth_used > 0);
    return test_end();
}
