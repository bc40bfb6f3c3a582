// SPDX-License-Identifier: Apache-2.0
// Distributions that the couplings must give, on one backend (argv[1]), for gases whose answer is known in closed form.
//
// Every tolerance is five standard errors of the mean or variance measured, worked out from the known distribution and
// correlation time; seeds are fixed, so a pass stays a pass.
#include "stage/rig.h"

static const char *backend;
static double      kt; // of rig_params

/// Steps of a test: ref and the emulated GPU take fewer, and tolerances widen with them.
static int steps(int n, int on_ref, int emulated)
{
    return !strcmp(backend, "ref") ? on_ref : rig_steps(backend, n, emulated);
}

typedef struct {
    double n, sum, squares;
} moments;

static void add(moments *m, double x)
{
    m->n++;
    m->sum += x;
    m->squares += x * x;
}

static double mean(const moments *m)
{
    return m->sum / m->n;
}

static double variance(const moments *m)
{
    return m->squares / m->n - mean(m) * mean(m);
}

/// Check a chi-square-like kinetic energy of n degrees: mean n kT/2, variance n (kT)^2/2. `inefficiency`: samples per
/// independent one.
static void check_kinetic(const moments *m, double n, double inefficiency)
{
    const double effective = m->n / inefficiency, want = 0.5 * n * kt, spread = sqrt(0.5 * n) * kt;

    TEST_NEAR(mean(m), want, 5 * spread / sqrt(effective));
    // variance of a variance: (2 + excess kurtosis 12/n) sigma^4 / N
    TEST_NEAR(variance(m), spread * spread, 5 * spread * spread * sqrt((2 + 12 / n) / effective));
}

/// Case c13: 100 atoms of masses 1, 16 and 40 without interactions: 153.405 bar, 151.871 with three degrees gone.
static void gas_of_mixed_masses(bool com_removed)
{
    mds_params  p = rig_params();
    rig_builder b;
    rig         r;
    moments     kinetic = {0}, pressure = {0};
    const int   n_steps = steps(20000, 20000, 2000);
    int         step;
    // energy keeps e^-1 (v-rescale, its tau) or e^-2 (Langevin, v^2) of its deviation each step
    const double keep = com_removed ? exp(-1) : exp(-2), inefficiency = (1 + keep) / (1 - keep);

    p.thermostat = com_removed ? MDS_THERMOSTAT_V_RESCALE : MDS_THERMOSTAT_LANGEVIN;
    p.tau_t = p.dt;
    p.remove_com = com_removed;
    rig_begin(&b, 100, 3);
    rig_add_atoms(&b, 100);
    rig_finish(&b);
    p.n_degrees = (double)mds_system_n_degrees(&b.s, com_removed, false);
    TEST_NEAR(p.n_degrees, com_removed ? 297 : 300, 0);
    rig_open(&r, backend, "", 1, &b.s, &p, &b.state, com_removed ? "verlet" : "langevin", NULL);
    for (step = 0; step < n_steps; step++) {
        rig_step(&r, MDS_ENERGY | MDS_VIRIAL | MDS_COUPLE);
        rig_look(&r, 0);
        if (step < 50) continue;
        add(&kinetic, mds_frame_kinetic(&r.frame));
        add(&pressure, mds_frame_pressure(&r.frame));
    }
    check_kinetic(&kinetic, p.n_degrees, inefficiency);
    TEST_NEAR(mean(&pressure), com_removed ? 151.871 : 153.405, 5 * 153.4 * sqrt(2 / p.n_degrees * inefficiency / n_steps));
    rig_close(&r);
    rig_free(&b);
}

/// Rigid waters, clusters, networks and atoms under Langevin noise: every degree of freedom has kT/2.
static void langevin_with_every_group(void)
{
    mds_params  p = rig_params();
    rig_builder b;
    rig         r;
    moments     kinetic = {0};
    const int   n_steps = steps(10000, 2000, 500);
    int         step;

    p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    p.dt = 0.0005; // what is left of (omega dt)^2 of turning methyls, 1e-4, is below the noise
    p.tau_t = p.dt;
    rig_build_zoo(&b, 1);
    rig_open(&r, backend, "", 2, &b.s, &p, &b.state, "langevin", NULL);
    for (step = 0; step < n_steps; step++) {
        rig_step(&r, MDS_ENERGY);
        rig_look(&r, 0);
        if (step >= 50) add(&kinetic, mds_frame_kinetic(&r.frame));
    }
    // memory of the energy: e^-2 a step
    check_kinetic(&kinetic, (double)mds_system_n_degrees(&b.s, false, false), (1 + exp(-2)) / (1 - exp(-2)));
    rig_close(&r);
    rig_free(&b);
}

/// Case c16: 216 rigid four-site waters, common motion removed: 1293 degrees, 1612.590 kJ/mol at 300 K.
static void water_degrees(void)
{
    mds_params  p = rig_params();
    rig_builder b;
    rig         r;
    moments     kinetic = {0};
    const int   n_steps = steps(4000, 300, 200);
    int         step;

    p.thermostat = MDS_THERMOSTAT_V_RESCALE;
    p.tau_t = p.dt;
    p.remove_com = 1;
    rig_begin(&b, 216 * 4, 4);
    rig_add_waters(&b, 216, true);
    rig_finish(&b);
    p.n_degrees = (double)mds_system_n_degrees(&b.s, true, false);
    TEST_NEAR(p.n_degrees, 1293, 0);
    TEST_NEAR(0.5 * p.n_degrees * kt, 1612.590, 0.002); // printed with three decimals from a slightly rounded k
    rig_open(&r, backend, "", 2, &b.s, &p, &b.state, "verlet", NULL);
    for (step = 0; step < n_steps; step++) {
        rig_step(&r, MDS_ENERGY | MDS_COUPLE);
        rig_look(&r, 0);
        if (step >= 20) add(&kinetic, mds_frame_kinetic(&r.frame));
    }
    check_kinetic(&kinetic, p.n_degrees, (1 + exp(-1)) / (1 - exp(-1)));
    rig_close(&r);
    rig_free(&b);
}

/// An ideal gas under C-rescale: V has a gamma distribution, mean (N + 1) kT/P, variance (N + 1)(kT/P)^2.
static void volume_of_an_ideal_gas(const char *integrator)
{
    mds_params   p = rig_params();
    rig_builder  b;
    rig          r;
    moments      volume = {0};
    const int    n_steps = steps(100000, 100000, 4000);
    const double unit = MDS_BOLTZMANN * 300 * MDS_BAR / 150; // kT/P, nm^3
    double       effective, conserved = 0;
    int          step;

    p.thermostat = strcmp(integrator, "langevin") ? MDS_THERMOSTAT_V_RESCALE : MDS_THERMOSTAT_LANGEVIN;
    p.tau_t = 0.02;
    p.barostat = MDS_BAROSTAT_C_RESCALE;
    p.pressure = 150;
    p.compressibility = 1.0 / 150; // a gas's own: V relaxes with tau_p
    p.tau_p = 0.2;
    rig_begin(&b, 100, 3);
    rig_add_atoms(&b, 100);
    rig_finish(&b);
    p.n_degrees = 300;
    rig_open(&r, backend, "", 1, &b.s, &p, &b.state, integrator, NULL);
    for (step = 0; step < n_steps; step++) {
        rig_step(&r, MDS_ENERGY | MDS_VIRIAL | MDS_COUPLE);
        rig_look(&r, 0);
        if (step == 0) conserved = mds_frame_conserved(&r.frame);
        if (step >= 1000) add(&volume, mds_box_volume(&r.frame.box));
    }
    TEST_INT(r.frame.fault, 0);
    // nothing but the couplings acts: what they book is all there is, to rounding of some 1e4 kJ/mol booked
    TEST_NEAR(mds_frame_conserved(&r.frame), conserved, 1e-6);
    effective = n_steps * p.dt / (2 * p.tau_p);
    TEST_NEAR(mean(&volume), 101 * unit, 5 * sqrt(101 / effective) * unit);
    // Euler's step makes the variance larger by dt/2 tau_p, 0.5 %
    TEST_NEAR(variance(&volume), 101 * unit * unit, 5 * 101 * unit * unit * sqrt(2.06 / effective));
    rig_close(&r);
    rig_free(&b);
}

/// The middle scheme samples a harmonic well right in positions and velocities even for long steps [zhang2019]:
/// <k x^2> = kT with omega dt = 1, where the usual splittings are off by a quarter.
static void harmonic_well(void)
{
    mds_params  p = rig_params();
    rig_builder b;
    rig         r;
    moments     potential = {0}, kinetic = {0};
    const int   n_steps = steps(20000, 20000, 1000);
    int         step;
    double      n;

    p.thermostat = MDS_THERMOSTAT_LANGEVIN;
    p.dt = 0.0316 * 4; // springs of 1000 kJ/mol/nm^2 on 16 Da: omega 7.9 / ps
    p.tau_t = 0.1;
    p.list_radius = 1.4;
    rig_begin(&b, 100, 4);
    {
        static const double mass = 16, shape[][3] = {{0, 0, 0}};

        rig_add(&b, 100, 1, &mass, shape, 0, NULL);
    }
    rig_finish(&b);
    n = 3.0 * b.s.n_atoms;
    rig_open(&r, backend, "", 1, &b.s, &p, &b.state, "langevin", rig_springs);
    for (step = 0; step < n_steps; step++) {
        rig_step(&r, MDS_ENERGY);
        rig_look(&r, MDS_FIELD_X);
        if (step < 100) continue;
        add(&potential, mds_frame_potential(&r.frame));
        add(&kinetic, mds_frame_kinetic(&r.frame));
    }
    // energies forget themselves within some tau_t/dt, less than one step of 0.126 ps and tau 0.1 each: 3 covers it
    TEST_NEAR(mean(&kinetic), 0.5 * n * kt, 5 * sqrt(0.5 * n) * kt * sqrt(3.0 / n_steps));
    TEST_NEAR(mean(&potential), 0.5 * n * kt, 5 * sqrt(0.5 * n) * kt * sqrt(3.0 / n_steps));
    rig_close(&r);
    rig_free(&b);
}

int main(int argc, char **argv)
{
    backend = argc > 1 ? argv[1] : "ref";
    kt = MDS_BOLTZMANN * 300;
    gas_of_mixed_masses(false);
    gas_of_mixed_masses(true);
    langevin_with_every_group();
    water_degrees();
    harmonic_well();
    volume_of_an_ideal_gas("langevin");
    volume_of_an_ideal_gas("verlet");
    volume_of_an_ideal_gas("leapfrog");
    return test_end();
}
