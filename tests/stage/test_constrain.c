// SPDX-License-Identifier: Apache-2.0
// Constraints of every kind of group, on every backend (argv[1]): lengths, velocities, the start off the surface, what
// cannot be solved, and the virial as a force like any other.
#include "stage/rig.h"

static const char *backend;

/// Largest relative error of a constrained length.
static double length_error(const rig *r)
{
    const mds_links *c = &r->s->constraint;
    double           worst = 0;
    int32_t          k;

    for (k = 0; k < c->n; k++) {
        double length;

        rig_distance((const double(*)[3])r->frame.x, c->atom[2 * k], c->atom[2 * k + 1], &length);
        if (!(fabs(length / c->length[k] - 1) <= worst)) worst = fabs(length / c->length[k] - 1);
        if (isnan(worst)) return worst;
    }
    return worst;
}

/// Largest speed along a constraint, nm/ps.
static double speed_along(const rig *r)
{
    const mds_links *c = &r->s->constraint;
    double           worst = 0;
    int32_t          k;

    for (k = 0; k < c->n; k++) {
        const int32_t i = c->atom[2 * k], j = c->atom[2 * k + 1];
        double        d[3], v[3], speed;
        int           l;

        for (l = 0; l < 3; l++) {
            d[l] = r->frame.x[i][l] - r->frame.x[j][l];
            v[l] = r->frame.v[i][l] - r->frame.v[j][l];
        }
        speed = fabs(mds_dot(d, v)) / mds_norm(d);
        if (!(speed <= worst)) worst = speed;
        if (isnan(worst)) return worst;
    }
    return worst;
}

static void lengths_and_speeds_hold(const rig_builder *zoo, const char *integrator, int threads)
{
    mds_params p = rig_params();
    rig        r;
    int        step;

    p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    rig_open(&r, backend, "", threads, &zoo->s, &p, &zoo->state, integrator, rig_springs);
    for (step = 0; step < rig_steps(backend, 200, 100); step++) rig_step(&r, 0);
    rig_look(&r, MDS_FIELD_X | MDS_FIELD_V);
    TEST_INT(r.frame.fault, 0);
    // asked for: 1e-10
    TEST_NEAR(length_error(&r), 0, 1e-10);
    // exact solutions: rounding of speeds of some nm/ps
    TEST_NEAR(speed_along(&r), 0, 1e-12);
    rig_close(&r);
}

/// Case c15: coordinates of three decimals. They go onto the surface with no move of a group as a whole, and none far.
static void start_of_three_decimals(const rig_builder *zoo)
{
    static const mds_op fix[] = {{MDS_FIX_X, 0}, {MDS_FIX_V, 1}};
    const mds_params    p = rig_params();
    mds_state           rounded = {0};
    double              momentum = 0, worst = 0;
    rig                 r;
    int32_t             i;
    int                 k;

    TEST_OK(mds_state_copy(&rounded, &zoo->state));
    for (i = 0; i < zoo->s.n_atoms; i++)
        for (k = 0; k < 3; k++) rounded.x[i][k] = rint(1000 * rounded.x[i][k]) / 1000;
    rig_open(&r, backend, "", 1, &zoo->s, &p, &rounded, "verlet", NULL);
    rig_look(&r, MDS_FIELD_X);
    TEST_TRUE(length_error(&r) > 1e-3);
    rig_ops(&r, 2, fix, 0);
    rig_look(&r, MDS_FIELD_X | MDS_FIELD_V);
    TEST_INT(r.frame.fault, 0);
    TEST_INT(r.frame.step, 0);
    TEST_NEAR(length_error(&r), 0, 1e-10);
    TEST_NEAR(speed_along(&r), 0, 1e-12);
    for (i = 0; i < zoo->s.n_atoms; i++)
        for (k = 0; k < 3 && zoo->s.mass[i] > 0; k++) {
            momentum += zoo->s.mass[i] * (r.frame.x[i][k] - rounded.x[i][k]);
            worst = fmax(worst, fabs(r.frame.x[i][k] - rounded.x[i][k]));
        }
    TEST_NEAR(momentum, 0, 1e-10); // roundings of 4 nm times 2000 Da
    TEST_TRUE(worst < 3e-3);       // rounding moved each coordinate by up to 0.5e-3, a hydrogen repairs for its neighbours
    rig_close(&r);
    mds_state_free(&rounded);
}

/// A bond torn to half the box cannot be mended: a fault with an atom of its group, no endless loop, no crash.
static void torn_group_is_a_fault(const rig_builder *zoo, int32_t atom)
{
    const mds_params p = rig_params();
    mds_state        torn = {0};
    mds_poll         poll;
    rig              r;

    TEST_OK(mds_state_copy(&torn, &zoo->state));
    torn.v[atom][0] = 2000; // 4 nm in a step
    rig_open(&r, backend, "", 1, &zoo->s, &p, &torn, "verlet", NULL);
    TEST_OK(r.be->move(r.d, r.integrator->before, 0));
    TEST_OK(r.be->poll(r.d, &poll));
    TEST_TRUE(poll.fault & MDS_FAULT_CONSTRAINT);
    rig_look(&r, 0);
    TEST_TRUE(labs((long)r.frame.fault_atom - atom) < 10);
    rig_close(&r);
    mds_state_free(&torn);
}

/// Kinetic energy of the centres of groups of `n` atoms in a row, kJ/mol.
static double centre_kinetic(const rig *r, int n)
{
    double  sum = 0;
    int32_t g, i;
    int     k;

    for (g = 0; g < r->s->n_atoms / n; g++)
        for (k = 0; k < 3; k++) {
            double mass = 0, momentum = 0;

            for (i = g * n; i < (g + 1) * n; i++) {
                mass += r->s->mass[i];
                momentum += r->s->mass[i] * r->frame.v[i][k];
            }
            sum += 0.5 * momentum * momentum / mass;
        }
    return sum;
}

/// Case c13 in its sharpest form: without interactions the pressure is that of the centres of rigid bodies, in every
/// single frame, whatever the integrator. (Trace only: the tensor of one frame is not that of the centres.)
static void free_rigid_bodies_are_a_gas(const char *integrator, double tolerance)
{
    mds_params  p = rig_params();
    rig_builder b;
    rig         r;
    int         step;

    p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    rig_begin(&b, 300, 3);
    rig_add_waters(&b, 100, false);
    rig_finish(&b);
    rig_open(&r, backend, "", 1, &b.s, &p, &b.state, integrator, NULL);
    for (step = 0; step < rig_steps(backend, 20, 20); step++) {
        double pressure;

        rig_step(&r, MDS_ENERGY | MDS_VIRIAL);
        rig_look(&r, MDS_FIELD_V);
        pressure = 2 * centre_kinetic(&r, 3) / (3 * 27) * MDS_BAR;
        TEST_NEAR(mds_frame_pressure(&r.frame) / pressure, 1, tolerance);
    }
    rig_close(&r);
    rig_free(&b);
}

static void dyad(const rig *r, double out[3][3])
{
    int32_t i;
    int     k, l;

    memset(out, 0, 9 * sizeof out[0][0]);
    for (i = 0; i < r->s->n_atoms; i++)
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) out[k][l] += r->s->mass[i] * r->frame.x[i][k] * r->frame.v[i][l];
}

/// Virials and kinetic energy are the rate of the dyad of positions and momenta, d/dt sum m x (x) v = 2 (K - W - Wc): for
/// flexible groups too, with forces, every element. Central difference along a Verlet run of very short steps.
static void virial_is_that_of_the_motion(const rig_builder *zoo)
{
    mds_params p = rig_params();
    double     before[3][3], after[3][3];
    mds_frame  at = {0};
    rig        r;
    int        step, k, l;

    p.dt = 2e-5;
    rig_open(&r, backend, "", 1, &zoo->s, &p, &zoo->state, "verlet", rig_springs);
    rig_ops(&r, 1, rig_fix_v, 0);
    for (step = 0; step < 3; step++) {
        rig_step(&r, MDS_ENERGY | MDS_VIRIAL);
        rig_look(&r, MDS_FIELD_X | MDS_FIELD_V);
        if (step == 0) dyad(&r, before);
        if (step == 1) TEST_OK(mds_frame_copy(&at, &r.frame));
        if (step == 2) dyad(&r, after);
    }
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) {
            const double rate = 2 * (at.kinetic[k][l] - at.virial[k][l] - at.constraint_virial[k][l]);

            // (omega dt)^2/6 with omega of 200 rad/ps at most, of some 1000 kJ/mol; differences lose 1e-13 * 1e4 / dt
            TEST_NEAR((after[k][l] - before[k][l]) / (2 * p.dt), rate, 3e-3);
        }
    TEST_TRUE(fabs(at.constraint_virial[0][0]) > 10);
    mds_frame_free(&at);
    rig_close(&r);
}

int main(int argc, char **argv)
{
    static const char *names[] = {"verlet", "leapfrog", "langevin"};
    rig_builder        zoo;
    int                k;

    backend = argc > 1 ? argv[1] : "ref";
    rig_build_zoo(&zoo, 1);
    for (k = 0; k < 3; k++) {
        lengths_and_speeds_hold(&zoo, names[k], 1 + k % 2);
        // the constraint force is solved for at one time: only rounding is left
        free_rigid_bodies_are_a_gas(names[k], 1e-11);
    }
    virial_is_that_of_the_motion(&zoo);
    start_of_three_decimals(&zoo);
    torn_group_is_a_fault(&zoo, 1);                             // a water
    torn_group_is_a_fault(&zoo, 13 * 3 + 6 * 4 + 3 * 2);        // a cluster
    torn_group_is_a_fault(&zoo, 13 * 3 + 6 * 4 + 3 * (2 + 3 + 4) + 4); // a chain
    rig_free(&zoo);
    return test_end();
}
