// SPDX-License-Identifier: Apache-2.0
// Recorded steps are the same steps: replay of the GPU backend runs the end of a step and the beginning of the next in one pass, asks
// the guard of the lists beside the forces and decides in passing when to prune (cuda/survey.h). What comes out must be, to the last bit,
// what steps one by one give, of which none of that is true; and lists must come to their end in the same steps.
//
// So with multiple time steps, where steps with the mesh and steps without are recorded apart.
//
// Lists are narrow, so that every few steps one ends; batches are of seven steps, so that trips fall at all places of a batch.
#include "backend/backend.h"

#include "stage/stage.h"
#include "stage/rig.h"

enum { BATCH = 7 };

static const char *backend = "emu";

/// A device, its steps and searches.
typedef struct {
    const mds_backend    *be;
    const mds_integrator *integrator;
    mds_device           *d;
    mds_domain            domain;
    mds_frame             frame;
    int64_t               step;
    int                   n_searches, every;
    mds_work              kind; // of the step under way: 0 or MDS_FAST
} runner;

static void start(runner *r, const mds_system *s, const mds_params *p, const mds_state *state, const char *integrator)
{
    *r = (runner){.integrator = mds_integrator_find(integrator), .every = p->mesh_every > 1 ? p->mesh_every : 1, .domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}}};
    r->domain.n_home = r->domain.n_all = s->n_atoms;
    TEST_OK(mds_backend_find(backend, &r->be));
    TEST_OK(r->be->open(s, p, 1, "", &r->d));
    TEST_OK(r->be->upload(r->d, &r->domain, state));
    TEST_OK(r->be->search(r->d, &r->domain));
}

static mds_work kind_of(const runner *r, int64_t step)
{
    return step % r->every ? MDS_FAST : 0;
}

static mds_status forces(runner *r)
{
    MDS_TRY(r->be->begin(r->d, r->kind));
    MDS_TRY(r->be->pair(r->d, MDS_HOME, r->kind));
    MDS_TRY(r->be->bonded(r->d, r->kind));
    if (!r->kind) MDS_TRY(r->be->mesh(r->d, MDS_MESH_ALL, r->kind));
    return r->be->finish(r->d, r->kind);
}

static mds_status end_step(runner *r)
{
    MDS_TRY(forces(r));
    MDS_TRY(r->be->move(r->d, r->integrator->after, r->kind));
    return r->be->couple(r->d, r->kind);
}

static mds_status whole_step(void *arg)
{
    runner *r = arg;

    MDS_TRY(r->be->move(r->d, r->integrator->before, r->kind));
    return end_step(r);
}

/// A look: after a trip a search; the caller ends the step.
static bool trips(runner *r)
{
    mds_poll poll;

    TEST_OK(r->be->poll(r->d, &poll));
    TEST_INT(poll.fault, 0);
    r->step = poll.step;
    if (!poll.tripped) return false;
    TEST_OK(r->be->search(r->d, &r->domain));
    r->n_searches++;
    return true;
}

/// One by one.
static void go_single(runner *r, int n)
{
    for (; n > 0; n--) {
        r->kind = kind_of(r, r->step + 1);
        TEST_OK(r->be->move(r->d, r->integrator->before, r->kind));
        trips(r);
        TEST_OK(end_step(r));
    }
}

/// Batches, as src/engine/step.c does them.
static void go_replayed(runner *r, int n)
{
    while (r->step < n) {
        const int batch = n - (int)r->step < BATCH ? n - (int)r->step : BATCH;

        for (int i = 0, alike; i < batch; i += alike) {
            r->kind = kind_of(r, r->step + i + 1);
            for (alike = 1; i + alike < batch && kind_of(r, r->step + i + alike + 1) == r->kind; alike++) {}
            TEST_OK(r->be->replay(r->d, whole_step, r, r->kind, alike));
        }
        const bool again = trips(r);
        r->kind = kind_of(r, r->step);
        if (again) TEST_OK(end_step(r));
    }
}

static void finish(runner *r)
{
    r->be->close(r->d);
    mds_frame_free(&r->frame);
}

static void look(runner *r)
{
    TEST_OK(r->be->observe(r->d, MDS_FIELD_X | MDS_FIELD_V, 0));
    TEST_OK(r->be->collect(r->d, 0, &r->frame));
}

static void same_bits(const mds_system *s, const mds_params *p, const mds_state *state, const char *integrator, int n, int least_trips)
{
    const size_t size = (size_t)s->n_atoms * sizeof(double[3]);
    runner       a, b;

    start(&a, s, p, state, integrator);
    start(&b, s, p, state, integrator);
    go_single(&a, n);
    go_replayed(&b, n);
    look(&a);
    look(&b);
    TEST_INT(a.frame.step, n);
    TEST_INT(b.frame.step, n);
    TEST_INT(memcmp(a.frame.x, b.frame.x, size), 0);
    TEST_INT(memcmp(a.frame.v, b.frame.v, size), 0);
    TEST_INT(a.n_searches, b.n_searches);
    TEST_TRUE(a.n_searches >= least_trips);
    finish(&a);
    finish(&b);
}

/// Rigid water with PME: every kernel of a plain step. buffer: nm, of the outer list.
static void water(const char *integrator, double buffer, int mesh_every, int n, int least_trips)
{
    mds_system s = {0};
    mds_state  state = {0};
    mds_params p = rig_params();

    TEST_OK(mds_make("water", 648, 3, &s, &state));
    TEST_OK(mds_system_freeze(&s));
    mds_state_draw_velocities(&s, 300, 5, &state);
    stage_pme(&p, MDS_SPLIT_PROLATE, 10, 4, 14);
    p.cut_lj = p.cut_q = 0.6;
    p.list_radius = p.cut_lj + buffer;
    p.prune_radius = p.cut_lj + 0.5 * buffer;
    p.prune_interval = 4;
    p.list_pairwise = true;
    p.mesh_every = mesh_every;
    same_bits(&s, &p, &state, integrator, n, least_trips);
    mds_system_free(&s);
    mds_state_free(&state);
}

/// With sites and networks, whose guard has kernels of its own.
static void zoo(int n)
{
    rig_builder b;
    mds_params  p = rig_params();

    rig_build_zoo(&b, 1);
    p.list_radius = 0.52;
    p.prune_radius = 0.51;
    p.prune_interval = 4;
    same_bits(&b.s, &p, &b.state, "verlet", n, 2);
    rig_free(&b);
}

int main(int argc, char **argv)
{
    const int n = rig_steps("emu", 0, 40); // 10 under the address sanitizer, 4 under that of threads

    if (argc > 1) backend = argv[1];
    water("verlet", 0.02, 1, n, 2);
    water("langevin", 0.08, 1, n, n >= 40); // several prunings a list
    water("verlet", 0.04, 2, n, n >= 40); // a list long enough for both kinds to be recorded and launched
    water("leapfrog", 0.02, 3, n, n >= 40);
    zoo(n);
    return test_end();
}
