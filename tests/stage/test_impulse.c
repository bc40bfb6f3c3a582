// SPDX-License-Identifier: Apache-2.0
// Multiple time steps (docs/theory/integrators.md): what the mesh gives acts in impulses, `mesh_every` times as strongly.
//
// The impulse on velocities against the forces of plain steps; what is looked at (forces, energies, virial, constraint virial) unchanged
// by it; and whole trajectories of rigid water: reversible, of second order in the time step, the same by leap-frog as by Verlet.
#include "backend/backend.h"

#include "stage/stage.h"

enum { N = 192, LOOK = MDS_ENERGY | MDS_VIRIAL };

static const char *name;
static bool        exact; // ref: double throughout
static mds_system  water;
static mds_state   state;

typedef struct {
    const mds_backend    *be;
    const mds_integrator *integrator;
    mds_device           *d;
    mds_domain            domain;
    mds_params            p;
    mds_frame             frame; // by atom
    int64_t               step;
} runner;

static mds_params params(int mesh_every)
{
    mds_params p = stage_params(0.5);

    stage_pme(&p, MDS_SPLIT_PROLATE, 8, 5, 16);
    p.dt = 0.001;
    p.max_move = 0;
    p.lj_modifier = MDS_LJ_SWITCH; // smooth: a jump at the cut-off has no order
    p.lj_switch = 0.4;
    p.list_radius = 0.6;
    p.prune_radius = 0.55;
    p.list_interval = 4;
    p.constraint_tolerance = 1e-12;
    p.deterministic = true;
    p.mesh_every = mesh_every;
    return p;
}

static void look(runner *r)
{
    TEST_OK(r->be->observe(r->d, MDS_FIELD_X | MDS_FIELD_V | MDS_FIELD_F, 0));
    TEST_OK(r->be->collect(r->d, 0, &r->frame));
    mds_frame_sort(&r->frame);
}

static void begin(runner *r, const mds_params *p, const mds_state *from, const char *integrator)
{
    *r = (runner){.integrator = mds_integrator_find(integrator), .p = *p};
    r->domain = (mds_domain){.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = water.n_atoms, .n_all = water.n_atoms};
    TEST_OK(mds_backend_find(name, &r->be));
    TEST_OK(r->be->open(&water, p, 2, "", &r->d));
    TEST_OK(r->be->upload(r->d, &r->domain, from));
    TEST_OK(r->be->search(r->d, &r->domain));
}

static void end(runner *r)
{
    r->be->close(r->d);
    mds_frame_free(&r->frame);
}

static void forces(runner *r, mds_work work)
{
    TEST_OK(r->be->begin(r->d, work));
    TEST_OK(r->be->pair(r->d, MDS_HOME, work));
    TEST_OK(r->be->bonded(r->d, work));
    if (!(work & MDS_FAST)) TEST_OK(r->be->mesh(r->d, MDS_MESH_ALL, work));
    TEST_OK(r->be->finish(r->d, work));
}

/// As mds_step does it. Every `seen`th step is looked at.
static void steps(runner *r, int n, int seen)
{
    const int every = r->p.mesh_every;

    while (n-- > 0) {
        mds_poll now;
        mds_work work = (r->step + 1) % seen ? MDS_UNSEEN : LOOK;

        if (every > 1 && (r->step + 1) % every) work = MDS_UNSEEN | MDS_FAST;
        TEST_OK(r->be->move(r->d, r->integrator->before, work));
        TEST_OK(r->be->poll(r->d, &now));
        if (now.tripped || (r->step + 1) % r->p.list_interval == 0) TEST_OK(r->be->search(r->d, &r->domain));
        forces(r, work);
        TEST_OK(r->be->move(r->d, r->integrator->after, work));
        TEST_OK(r->be->couple(r->d, work));
        r->step++;
    }
}

/// Velocities that a kick of one ps gives atoms at rest; fix: without what lies along constraints.
static void kick(int mesh_every, mds_work work, bool fix, runner *r)
{
    static const mds_op ops[] = {{MDS_KICK, 1}, {MDS_STOP, 0}}, fixed[] = {{MDS_KICK, 1}, {MDS_FIX_V, 1}, {MDS_STOP, 0}};
    mds_state           rest = {0};
    mds_params          p = params(mesh_every);

    TEST_OK(mds_state_copy(&rest, &state));
    memset(rest.v, 0, (size_t)rest.n_atoms * sizeof *rest.v);
    p.dt = 1;
    begin(r, &p, &rest, "verlet");
    forces(r, work);
    TEST_OK(r->be->move(r->d, fix ? fixed : ops, work & LOOK));
    look(r);
    mds_state_free(&rest);
}

/// v_k = v_fast + k (v_1 - v_fast), whether somebody looks or not. Excluded pairs of rigid water show only where constraints take nothing
/// back; in a step that nobody sees they need not be there.
static void impulse_is_so_many_times_the_slow_force(bool fix)
{
    static const mds_work ways[] = {LOOK, MDS_COUPLE, MDS_UNSEEN};
    runner                one, fast, got;

    kick(1, MDS_COUPLE, fix, &one);
    kick(2, MDS_COUPLE | MDS_FAST, fix, &fast);
    for (int k = 2; k <= 4; k++)
        for (int how = 0; how < (fix ? 3 : 2); how++) {
            double off = 0, slow = 0, size = 0;

            kick(k, ways[how], fix, &got);
            for (int32_t i = 0; i < water.n_atoms; i++)
                for (int c = 0; c < 3; c++) {
                    const double s = one.frame.v[i][c] - fast.frame.v[i][c];

                    off += pow(got.frame.v[i][c] - (fast.frame.v[i][c] + k * s), 2);
                    slow += s * s;
                    size += pow(one.frame.v[i][c], 2);
                }
            // cpu: forces are summed in float lines, rounded at the size of all forces; a few of them, k times
            TEST_NEAR(sqrt(off / size), 0, exact ? 1e-12 : 1e-6);
            TEST_TRUE(slow > 1e-3 * size); // there is a slow force
            end(&got);
        }
    end(&one);
    end(&fast);
}

/// Whoever looks sees the potential's forces, its virial and what constraints take, as without impulses.
static void nothing_that_is_looked_at_changes(void)
{
    static const mds_op none[] = {{MDS_STOP, 0}};
    runner              one, got;

    for (int k = 1; k <= 3; k += 2) {
        const mds_params p = params(k);
        runner          *r = k == 1 ? &one : &got;

        begin(r, &p, &state, "verlet");
        forces(r, LOOK);
        TEST_OK(r->be->move(r->d, none, LOOK));
        look(r);
    }
    // cpu adds the rest of an impulse after all that was summed: the same bits. ref sums slow forces apart: rounding of 1e-16 on
    // sums of some hundred terms
    const double tolerance = exact ? 1e-12 : 0;

    TEST_NEAR(stage_force_gap(&got.frame, &one.frame), 0, tolerance * stage_force_size(&one.frame));
    TEST_NEAR(stage_tensor_gap(got.frame.virial, one.frame.virial), 0, tolerance * stage_tensor_size(one.frame.virial));
    TEST_NEAR(stage_tensor_gap(got.frame.constraint_virial, one.frame.constraint_virial), 0, tolerance * stage_tensor_size(one.frame.constraint_virial));
    TEST_TRUE(stage_tensor_size(one.frame.constraint_virial) > 1000); // rigid water has one
    TEST_TRUE(!memcmp(got.frame.kinetic, one.frame.kinetic, sizeof one.frame.kinetic));
    TEST_TRUE(!memcmp(got.frame.energy, one.frame.energy, sizeof one.frame.energy));
    TEST_NEAR(got.frame.f_max / one.frame.f_max, 1, tolerance);
    end(&one);
    end(&got);
}

static double gap(const mds_frame *a, const double (*x)[3])
{
    double sum = 0;

    for (int32_t i = 0; i < a->n; i++)
        for (int k = 0; k < 3; k++) sum += pow(a->x[i][k] - x[i][k], 2);
    return sqrt(sum / a->n);
}

/// From the state, 0.016 ps. Caller's: r->frame, until end().
static void run(runner *r, double dt, int mesh_every, const char *integrator, int seen)
{
    static const mds_op half[] = {{MDS_KICK, 0.5}, {MDS_FIX_V, 1}, {MDS_STOP, 0}};
    mds_params          p = params(mesh_every);

    p.dt = dt;
    begin(r, &p, &state, integrator);
    forces(r, seen == 1 ? LOOK : MDS_UNSEEN);
    if (r->integrator->half_step_velocities) TEST_OK(r->be->move(r->d, half, 0));
    steps(r, (int)lrint(0.016 / dt), seen);
    look(r);
}

/// Forward, turn round, back to the start: an impulse out of place (a first or last half too much or too few) would not.
static void reversible(void)
{
    runner    r;
    mds_state back = {0};

    run(&r, 0.002, 2, "verlet", 4);
    TEST_OK(mds_state_copy(&back, &state));
    const double way = gap(&r.frame, (const double(*)[3])state.x);
    for (int32_t i = 0; i < water.n_atoms; i++)
        for (int k = 0; k < 3; k++) {
            back.x[i][k] = r.frame.x[i][k];
            back.v[i][k] = -r.frame.v[i][k];
        }
    TEST_OK(r.be->upload(r.d, &r.domain, &back));
    TEST_OK(r.be->search(r.d, &r.domain));
    forces(&r, LOOK);
    r.step = 0;
    steps(&r, 8, 4);
    look(&r);
    TEST_TRUE(way > 1e-3); // nm: they had been elsewhere
    // ref: constraints are solved to 1e-12 (ref) in every step. cpu: forces to 1e-6 of a few thousand kJ/mol/nm, over (16 fs)^2/2 and
    // 1 Da, forth and back
    TEST_NEAR(gap(&r.frame, (const double(*)[3])state.x), 0, exact ? 1e-10 : 1e-6);
    mds_state_free(&back);
    end(&r);
}

/// Against steps so short that nothing is left of their error, halving the step must leave a quarter.
static void second_order(void)
{
    runner true_way, coarse, fine, apart;

    run(&true_way, 0.000125, 1, "verlet", 1 << 20);
    run(&coarse, 0.002, 2, "verlet", 4);
    run(&fine, 0.001, 2, "verlet", 4);
    run(&apart, 0.001, 1, "verlet", 4);
    const double e2 = gap(&coarse.frame, (const double(*)[3])true_way.frame.x), e1 = gap(&fine.frame, (const double(*)[3])true_way.frame.x);

    printf("%s: error %.3g nm at 2 fs, %.3g at 1 fs: ratio %.3f\n", name, e2, e1, e2 / e1);
    // the next order of an error that halves to a quarter is a sixteenth of it: with 0.1 of it at 2 fs the ratio is off by 0.3
    TEST_NEAR(e2 / e1, 4, 0.4);
    TEST_TRUE(gap(&apart.frame, (const double(*)[3])fine.frame.x) > 0.01 * e1); // the impulses make a difference
    end(&true_way);
    end(&coarse);
    end(&fine);
    end(&apart);
}

/// Leap-frog kicks at once what Verlet kicks in halves before and after: the same positions. And looking changes none.
static void the_same_positions(void)
{
    runner a, b;

    run(&a, 0.002, 4, "verlet", 4);
    run(&b, 0.002, 4, "leapfrog", 4);
    // ref solves SHAKE to 1e-12 and has other roundings; cpu: as in `reversible`
    TEST_NEAR(gap(&a.frame, (const double(*)[3])b.frame.x), 0, exact ? 1e-11 : 1e-7);
    end(&b);
    run(&b, 0.002, 4, "verlet", 1 << 20);
    TEST_NEAR(gap(&a.frame, (const double(*)[3])b.frame.x), 0, exact ? 1e-11 : 1e-7);
    end(&a);
    end(&b);
}

/// Water, and to every third one a charged site that it carries: forces on sites go to their atoms as the rest does.
static void build(void)
{
    mds_state made = {0};
    int32_t   n, k;

    TEST_OK(mds_make("water", N, 3, &water, &made));
    n = water.n_atoms;
    for (int32_t m = 0; m < n; m += 9) {
        const int32_t atom[3] = {m, m + 1, m + 2};
        const double  weight[3] = {0.6, 0.2, 0.2};

        k = water.n_atoms;
        TEST_OK(mds_system_add_atom(&water, "MW", m / 3, water.type[m + 1], m % 2 ? 0.2 : -0.2, 0, 0, NULL));
        TEST_OK(mds_system_add_vsite(&water, MDS_VSITE_LINEAR, k, 3, atom, weight, NULL));
        for (int a = 0; a < 3; a++) {
            TEST_OK(mds_system_add_exclusion(&water, k, atom[a]));
            TEST_OK(mds_system_add_exclusion(&water, atom[a], k));
        }
    }
    TEST_OK(mds_system_freeze(&water));
    TEST_OK(mds_state_init(&state, water.n_atoms));
    state.box = made.box;
    memcpy(state.x, made.x, (size_t)n * sizeof *made.x);
    for (int32_t i = n; i < water.n_atoms; i++)
        for (k = 0; k < 3; k++) state.x[i][k] = 0.6 * state.x[9 * (i - n)][k] + 0.2 * state.x[9 * (i - n) + 1][k] + 0.2 * state.x[9 * (i - n) + 2][k];
    mds_state_free(&made);
}

int main(int argc, char **argv)
{
    name = argc > 1 ? argv[1] : "ref";
    exact = !strcmp(name, "ref");
    build();
    mds_state_draw_velocities(&water, 300, 7, &state);
    { // onto the constraints
        static const mds_op fix[] = {{MDS_FIX_V, 1}, {MDS_STOP, 0}};
        const mds_params    p = params(1);
        runner              r;

        begin(&r, &p, &state, "verlet");
        TEST_OK(r.be->move(r.d, fix, 0));
        look(&r);
        for (int32_t i = 0; i < water.n_atoms; i++) memcpy(state.v[i], r.frame.v[i], sizeof state.v[i]);
        end(&r);
    }
    impulse_is_so_many_times_the_slow_force(true);
    impulse_is_so_many_times_the_slow_force(false);
    nothing_that_is_looked_at_changes();
    reversible();
    second_order();
    the_same_positions();
    mds_system_free(&water);
    mds_state_free(&state);
    return test_end();
}
