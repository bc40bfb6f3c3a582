// SPDX-License-Identifier: Apache-2.0
// Motion of the cpu backend, or of the one that argv[1] names: the same as the oracle's for every integrator, operation, thread
// count and instruction set; and the properties that motion must have by itself.
#include "stage/rig.h"

static const char *backend = "cpu"; // what is held against ref: emu where argv[1] says so
static bool        is_emu;

static const char *isas[] = {"generic", "avx2", "avx512"};

static bool can_run(const char *isa)
{
    if (is_emu) return !strcmp(isa, "generic"); // it has no instruction sets: once
#if defined(__x86_64__)
    if (!strcmp(isa, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(isa, "avx512")) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
#endif
    return !strcmp(isa, "generic");
}

static double largest_difference(int32_t n, double (*const a)[3], double (*const b)[3])
{
    double  worst = 0;
    int32_t i;
    int     k;

    for (i = 0; i < n; i++)
        for (k = 0; k < 3; k++)
            if (!isnan(worst) && !(fabs(a[i][k] - b[i][k]) <= worst)) worst = fabs(a[i][k] - b[i][k]);
    return worst;
}

/// Largest difference of positions; sites have tests of their own.
static double largest_way(const rig *a, const rig *b)
{
    double  worst = 0;
    int32_t i;

    for (i = 0; i < a->s->n_atoms; i++)
        if (a->s->mass[i] > 0) {
            const double way = largest_difference(1, a->frame.x + i, b->frame.x + i);

            if (!isnan(worst) && !(way <= worst)) worst = way;
        }
    return worst;
}

static double largest_tensor(double (*const a)[3], double (*const b)[3])
{
    return largest_difference(3, a, b);
}

static void compare(rig *cpu, rig *ref, double tolerance)
{
    rig_look(cpu, MDS_FIELD_X | MDS_FIELD_V | MDS_FIELD_F);
    rig_look(ref, MDS_FIELD_X | MDS_FIELD_V | MDS_FIELD_F);
    TEST_INT(cpu->frame.n, ref->frame.n);
    TEST_NEAR(largest_way(cpu, ref), 0, tolerance);
    // velocities change by (change of x)/dt
    TEST_NEAR(largest_difference(cpu->s->n_atoms, cpu->frame.v, ref->frame.v), 0, 100 * tolerance);
    // kinetic energies of some hundred kJ/mol, virials of terms of like size
    TEST_NEAR(largest_tensor(cpu->frame.kinetic, ref->frame.kinetic), 0, 1e5 * tolerance);
    TEST_NEAR(largest_tensor(cpu->frame.constraint_virial, ref->frame.constraint_virial), 0, 1e6 * tolerance);
    TEST_NEAR(cpu->frame.work_noise, ref->frame.work_noise, 1e5 * tolerance);
    TEST_NEAR(cpu->frame.fv / ref->frame.fv, 1, 1e5 * tolerance);
    TEST_NEAR(cpu->frame.ff / ref->frame.ff, 1, 1e5 * tolerance);
    TEST_NEAR(cpu->frame.vv / ref->frame.vv, 1, 1e5 * tolerance);
    TEST_NEAR(cpu->frame.f_max, ref->frame.f_max, 1e8 * tolerance);
    TEST_INT(cpu->frame.step, ref->frame.step);
    TEST_NEAR(cpu->frame.time, ref->frame.time, 0);
    TEST_INT(cpu->frame.fault, 0);
    TEST_INT(ref->frame.fault, 0);
}

static void agrees_with_ref(const rig_builder *zoo, const char *integrator, const char *isa, int threads)
{
    mds_params p = rig_params();
    rig        cpu, ref;
    int        step;

    if (!strcmp(integrator, "langevin")) p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    p.mix = 0.2;
    p.max_move = strcmp(integrator, "minimize") ? 0 : 0.003; // some atoms meet the cap, most do not
    rig_open(&cpu, backend, is_emu ? "" : isa, threads, &zoo->s, &p, &zoo->state, integrator, rig_springs);
    rig_open(&ref, "ref", "", 1, &zoo->s, &p, &zoo->state, integrator, rig_springs);
    rig_ops(&cpu, 1, rig_fix_v, MDS_ENERGY | MDS_VIRIAL);
    rig_ops(&ref, 1, rig_fix_v, MDS_ENERGY | MDS_VIRIAL);
    compare(&cpu, &ref, 1e-13); // one linear solve each
    for (step = 0; step < 20; step++) {
        rig_step(&cpu, MDS_ENERGY | MDS_VIRIAL);
        rig_step(&ref, MDS_ENERGY | MDS_VIRIAL);
        // SHAKE's 1e-12 of a length of 0.15 nm, kept by the motion
        if (!step) compare(&cpu, &ref, 1e-12);
    }
    compare(&cpu, &ref, 1e-11); // twenty of them, and springs between
    rig_close(&cpu);
    rig_close(&ref);
}

static void agrees_with_ref_everywhere(const rig_builder *zoo)
{
    static const char *names[] = {"verlet", "leapfrog", "langevin", "minimize"};
    size_t             k, isa;
    int                threads;

    for (k = 0; k < 4; k++)
        for (isa = 0; isa < 3; isa++)
            for (threads = 1; threads <= (is_emu ? 1 : 2); threads++)
                if (can_run(isas[isa])) agrees_with_ref(zoo, names[k], isas[isa], threads);
}

/// The same bits every time for one thread count.
static void repeats_to_the_bit(const rig_builder *zoo)
{
    mds_params p = rig_params();
    rig        a, b;
    int        step;

    p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    rig_open(&a, backend, is_emu ? "" : "generic", 2, &zoo->s, &p, &zoo->state, "langevin", rig_springs);
    rig_open(&b, backend, is_emu ? "" : "generic", 2, &zoo->s, &p, &zoo->state, "langevin", rig_springs);
    for (step = 0; step < 5; step++) {
        rig_step(&a, MDS_ENERGY);
        rig_step(&b, MDS_ENERGY);
    }
    rig_look(&a, MDS_FIELD_X | MDS_FIELD_V);
    rig_look(&b, MDS_FIELD_X | MDS_FIELD_V);
    TEST_TRUE(!memcmp(a.frame.x, b.frame.x, (size_t)zoo->s.n_atoms * sizeof *a.frame.x));
    TEST_TRUE(!memcmp(a.frame.v, b.frame.v, (size_t)zoo->s.n_atoms * sizeof *a.frame.v));
    TEST_TRUE(!memcmp(a.frame.kinetic, b.frame.kinetic, sizeof a.frame.kinetic));
    TEST_NEAR(a.frame.work_noise, b.frame.work_noise, 0);
    rig_close(&a);
    rig_close(&b);
}

/// Whether energies are asked for must not change the motion: not even whether two lists were done in one pass.
static void measuring_changes_nothing(const rig_builder *zoo, const char *integrator, const char *isa)
{
    mds_params       p = rig_params();
    rig              a, b;
    int              step;

    p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    rig_open(&a, backend, is_emu ? "" : isa, 2, &zoo->s, &p, &zoo->state, integrator, rig_springs);
    rig_open(&b, backend, is_emu ? "" : isa, 2, &zoo->s, &p, &zoo->state, integrator, rig_springs);
    for (step = 0; step < 5; step++) {
        rig_step(&a, MDS_ENERGY | MDS_VIRIAL);
        rig_step(&b, 0);
        if (step == 2) rig_look(&b, MDS_FIELD_V); // looking does not either
    }
    rig_look(&a, MDS_FIELD_X | MDS_FIELD_V);
    rig_look(&b, MDS_FIELD_X | MDS_FIELD_V);
    TEST_TRUE(!memcmp(a.frame.x, b.frame.x, (size_t)zoo->s.n_atoms * sizeof *a.frame.x));
    TEST_TRUE(!memcmp(a.frame.v, b.frame.v, (size_t)zoo->s.n_atoms * sizeof *a.frame.v));
    rig_close(&a);
    rig_close(&b);
}

/// Steps that nobody looks at may take another way to the same motion.
static void unseen_steps_move_alike(const rig_builder *zoo, const char *integrator, const char *isa)
{
    mds_params p = rig_params();
    rig        a, b;

    p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    rig_open(&a, backend, is_emu ? "" : isa, 2, &zoo->s, &p, &zoo->state, integrator, rig_springs);
    rig_open(&b, backend, is_emu ? "" : isa, 2, &zoo->s, &p, &zoo->state, integrator, rig_springs);
    for (int step = 0; step < 20; step++) {
        rig_step(&a, step % 7 == 6 ? MDS_ENERGY | MDS_VIRIAL : 0);
        rig_step(&b, step % 7 == 6 ? MDS_ENERGY | MDS_VIRIAL : MDS_UNSEEN);
        if (step % 7 == 6) compare(&b, &a, 1e-11); // lengths of networks are solved to 1e-10 of 0.15 nm, in both
    }
    compare(&b, &a, 1e-11);
    rig_close(&a);
    rig_close(&b);
}

/// Free flight with every kind of constraint: total momentum stays.
static void momentum_stays(const rig_builder *zoo, const char *which, const char *integrator)
{
    const mds_params p = rig_params();
    double           before[3] = {0}, after[3] = {0}, scale = 0;
    rig              r;
    int              step, k;
    int32_t          i;

    rig_open(&r, which, "", 1, &zoo->s, &p, &zoo->state, integrator, NULL);
    rig_look(&r, MDS_FIELD_V);
    for (i = 0; i < zoo->s.n_atoms; i++)
        for (k = 0; k < 3; k++) {
            before[k] += zoo->s.mass[i] * r.frame.v[i][k];
            scale += fabs(zoo->s.mass[i] * r.frame.v[i][k]);
        }
    for (step = 0; step < rig_steps(which, 50, 50); step++) rig_step(&r, 0);
    rig_look(&r, MDS_FIELD_V);
    for (i = 0; i < zoo->s.n_atoms; i++)
        for (k = 0; k < 3; k++) after[k] += zoo->s.mass[i] * r.frame.v[i][k];
    // FIX_X adds (change of x)/dt: roundings of 4 nm over 2 fs, 4e-13 nm/ps each, some masses and 50 steps of them, and
    // in SHAKE as often as it goes round
    for (k = 0; k < 3; k++) TEST_NEAR(after[k], before[k], (strcmp(which, "ref") ? 1e-13 : 2e-12) * scale);
    rig_close(&r);
}

/// Verlet runs back to where it came from.
static void verlet_is_reversible(const rig_builder *zoo, const char *which)
{
    const mds_params p = rig_params();
    mds_state        back = {0};
    rig              r, q;
    int              step, k;
    int32_t          i;

    rig_open(&r, which, "", 1, &zoo->s, &p, &zoo->state, "verlet", rig_springs);
    rig_ops(&r, 1, rig_fix_v, 0);
    rig_look(&r, MDS_FIELD_X | MDS_FIELD_V);
    TEST_OK(mds_state_copy(&back, &zoo->state));
    for (step = 0; step < rig_steps(which, 50, 50); step++) rig_step(&r, 0);
    rig_look(&r, MDS_FIELD_X | MDS_FIELD_V);
    for (i = 0; i < zoo->s.n_atoms; i++)
        for (k = 0; k < 3; k++) {
            back.x[i][k] = r.frame.x[i][k];
            back.v[i][k] = -r.frame.v[i][k];
        }
    rig_open(&q, which, "", 1, &zoo->s, &p, &back, "verlet", rig_springs);
    memcpy(q.x0, r.x0, (size_t)zoo->s.n_atoms * sizeof *q.x0);
    rig_force_stages(&q, 0);
    for (step = 0; step < rig_steps(which, 50, 50); step++) rig_step(&q, 0);
    rig_look(&q, MDS_FIELD_X | MDS_FIELD_V);
    // rounding of 50 steps there and back; SHAKE of ref to 1e-12 of each length
    TEST_NEAR(largest_difference(zoo->s.n_atoms, q.frame.x, zoo->state.x), 0, strcmp(which, "ref") ? 2e-12 : 1e-10);
    rig_close(&r);
    rig_close(&q);
    mds_state_free(&back);
}

/// dt that is no binary fraction: a million steps are a million dt, and a resume goes on with the same bits.
static void time_does_not_drift(const char *which)
{
    mds_params  p = rig_params();
    rig_builder b;
    rig         r, q;
    const int   n_steps = rig_steps(which, 100000, 1000); // a search every step
    int         step;

    p.dt = 0.0001;
    rig_begin(&b, 3, 4);
    rig_add_atoms(&b, 1);
    rig_finish(&b);
    b.state.time = 7;
    rig_open(&r, which, "", 1, &b.s, &p, &b.state, "verlet", NULL);
    for (step = 0; step < n_steps; step++) {
        if (step == n_steps / 8) {
            rig_look(&r, MDS_FIELD_X | MDS_FIELD_V);
            b.state.step = r.frame.step;
            b.state.time = r.frame.time;
            memcpy(b.state.coupling, r.frame.coupling, sizeof b.state.coupling);
        }
        TEST_OK(r.be->move(r.d, r.integrator->before, 0));
        TEST_OK(r.be->search(r.d, &r.domain));
    }
    rig_look(&r, 0);
    TEST_NEAR(r.frame.time, 7 + n_steps * p.dt, 4e-15); // one rounding of 17; the plain sum is off by 1e-11, after 1000 steps by 1e-13
    rig_open(&q, which, "", 1, &b.s, &p, &b.state, "verlet", NULL);
    for (step = n_steps / 8; step < n_steps; step++) {
        TEST_OK(q.be->move(q.d, q.integrator->before, 0));
        TEST_OK(q.be->search(q.d, &q.domain));
    }
    rig_look(&q, 0);
    TEST_NEAR(q.frame.time, r.frame.time, 0);
    TEST_INT(q.frame.step, r.frame.step);
    rig_close(&r);
    rig_close(&q);
    rig_free(&b);
}

/// An atom beyond half the buffer trips, one within it does not, and a trip freezes every stage until the search.
static void buffer_trips(const char *which)
{
    const mds_params p = rig_params(); // half buffer: 0.1 nm
    rig_builder      b;
    int              far;

    for (far = 0; far < 2; far++) {
        rig      r;
        mds_poll poll;
        double   x;

        rig_begin(&b, 3, 4);
        rig_add_atoms(&b, 3);
        rig_finish(&b);
        memset(b.state.v, 0, 3 * sizeof *b.state.v);
        b.state.v[1][2] = (far ? 0.1001 : 0.0999) / p.dt;
        x = b.state.x[1][2];
        rig_open(&r, which, "", 1, &b.s, &p, &b.state, "verlet", NULL);
        TEST_OK(r.be->move(r.d, r.integrator->before, 0));
        TEST_OK(r.be->poll(r.d, &poll));
        TEST_INT(poll.tripped, far);
        TEST_INT(poll.fault, 0);
        TEST_INT(poll.step, 1);
        if (far) {
            TEST_OK(r.be->move(r.d, r.integrator->before, 0)); // falls through
            TEST_OK(r.be->poll(r.d, &poll));
            TEST_INT(poll.step, 1);
            TEST_OK(r.be->search(r.d, &r.domain));
            TEST_OK(r.be->poll(r.d, &poll));
            TEST_INT(poll.tripped, 0);
        }
        rig_look(&r, MDS_FIELD_X);
        TEST_NEAR(r.frame.x[1][2] - x, far ? 0.1001 : 0.0999, 1e-15);
        rig_close(&r);
        rig_free(&b);
    }
}

/// A number that is none: the fault names the first atom that has it, at the next drift or kick.
static void nan_is_a_fault(const rig_builder *zoo, const char *which, int32_t atom)
{
    const mds_params p = rig_params();
    mds_state        bad = {0};
    mds_poll         poll;
    rig              r;

    TEST_OK(mds_state_copy(&bad, &zoo->state));
    bad.v[atom][1] = NAN;
    rig_open(&r, which, "", 1, &zoo->s, &p, &bad, "verlet", NULL);
    TEST_OK(r.be->move(r.d, r.integrator->before, 0));
    TEST_OK(r.be->poll(r.d, &poll));
    TEST_TRUE(poll.tripped);
    TEST_TRUE(poll.fault & MDS_FAULT_NOT_FINITE);
    rig_look(&r, 0);
    // constraints pass it on inside its group at once
    TEST_TRUE(labs((long)r.frame.fault_atom - atom) < 10);
    rig_close(&r);
    mds_state_free(&bad);
}

/// Nothing limits the way without a cut-off.
static void vacuum_never_trips(const char *which)
{
    mds_params  p = rig_params();
    mds_poll    poll;
    rig_builder b;
    rig         r;

    p.cut_lj = p.cut_q = p.list_radius = 0;
    rig_begin(&b, 3, 4);
    memset(&b.state.box, 0, sizeof b.state.box);
    rig_add_atoms(&b, 3);
    rig_finish(&b);
    b.state.v[1][2] = 1e4;
    rig_open(&r, which, "", 1, &b.s, &p, &b.state, "verlet", NULL);
    TEST_OK(r.be->move(r.d, r.integrator->before, 0));
    TEST_OK(r.be->poll(r.d, &poll));
    TEST_INT(poll.tripped, 0);
    TEST_INT(poll.fault, 0);
    rig_close(&r);
    rig_free(&b);
}

int main(int argc, char **argv)
{
    static const char *backends[] = {"ref", "cpu"};
    rig_builder        zoo;
    int                k;

    if (argc > 1) backend = backends[1] = argv[1];
    is_emu = !strcmp(backend, "emu") || !strcmp(backend, "cuda");
    rig_build_zoo(&zoo, 1);
    agrees_with_ref_everywhere(&zoo);
    repeats_to_the_bit(&zoo);
    for (size_t isa = 0; isa < 3; isa++) {
        if (!can_run(isas[isa])) continue;
        measuring_changes_nothing(&zoo, "verlet", isas[isa]);
        measuring_changes_nothing(&zoo, "leapfrog", isas[isa]);
        measuring_changes_nothing(&zoo, "langevin", isas[isa]);
        unseen_steps_move_alike(&zoo, "verlet", isas[isa]);
        unseen_steps_move_alike(&zoo, "leapfrog", isas[isa]);
        unseen_steps_move_alike(&zoo, "langevin", isas[isa]);
    }
    for (k = is_emu; k < 2; k++) {
        momentum_stays(&zoo, backends[k], "verlet");
        momentum_stays(&zoo, backends[k], "leapfrog");
        verlet_is_reversible(&zoo, backends[k]);
        time_does_not_drift(backends[k]);
        buffer_trips(backends[k]);
        nan_is_a_fault(&zoo, backends[k], 1);
        nan_is_a_fault(&zoo, backends[k], zoo.s.n_atoms - 1);
        vacuum_never_trips(backends[k]);
    }
    rig_free(&zoo);
    return test_end();
}
