// SPDX-License-Identifier: Apache-2.0
// What is due at a step follows from the step alone, and the plain stretches fit between the events.
#include "engine/engine.h"
#include "test.h"

static mds_config config;
static mds_params params;

static void begin(void)
{
    mds_config_free(&config);
    TEST_OK(mds_config_defaults(&config));
    config.output.energy_every = 15;
    config.output.trajectory_every = 100;
    config.run.steps = 1000;
    params = (mds_params){.list_interval = 20, .couple_every = 8, .barostat = MDS_BAROSTAT_NONE};
}

static void each_event_at_its_multiples(void)
{
    int64_t step;

    begin();
    for (step = 0; step <= 600; step++) {
        mds_work want = 0;

        if (step % 20 == 0) want |= MDS_SEARCH;
        if (step % 15 == 0) want |= MDS_ENERGY | MDS_VIRIAL | MDS_OBSERVE;
        if (step % 100 == 0) want |= MDS_OBSERVE;
        if (step % 8 == 0) want |= MDS_COUPLE;
        TEST_INT(mds_due(&config, &params, step), want);
        TEST_INT(mds_due_energy(&config, step), step % 15 == 0);
        TEST_INT(mds_due_trajectory(&config, step), step % 100 == 0);
    }
    params.barostat = MDS_BAROSTAT_C_RESCALE; // needs the pressure where it couples
    TEST_INT(mds_due(&config, &params, 8), MDS_COUPLE | MDS_ENERGY | MDS_VIRIAL);
    config.output.trajectory_every = 0; // 0: never
    config.output.energy_every = 0;
    params.couple_every = 0;
    TEST_INT(mds_due(&config, &params, 300), MDS_SEARCH);
    // far beyond 32 bits
    TEST_INT(mds_due(&config, &params, 20000000000 * 20), MDS_SEARCH);
    TEST_INT(mds_due(&config, &params, 20000000000 * 20 + 1), 0);
}

/// A longer run has the same events: nothing looks at run.steps. And asking twice, in any order, gives the same.
static void pure(void)
{
    mds_work first[301];
    int64_t  step;
    int      same = 0;

    begin();
    for (step = 0; step <= 300; step++) first[step] = mds_due(&config, &params, step);
    config.run.steps = 77;
    for (step = 300; step >= 0; step--) same += first[step] == mds_due(&config, &params, step);
    TEST_INT(same, 301);
}

static void plain_stretches_end_before_the_next_event(void)
{
    int64_t step, n, k, last = 333;

    begin();
    TEST_INT(mds_plain_steps(&config, &params, 0, 1000), 7);  // 8 couples
    TEST_INT(mds_plain_steps(&config, &params, 8, 1000), 6);  // 15 writes energies
    TEST_INT(mds_plain_steps(&config, &params, 15, 1000), 0); // 16 couples
    for (step = 0; step < last; step += n + 1) { // walking as the engine does meets every event once
        n = mds_plain_steps(&config, &params, step, last);
        for (k = 1; k <= n; k++) TEST_INT(mds_due(&config, &params, step + k), 0);
        TEST_TRUE(step + n == last || mds_due(&config, &params, step + n + 1) != 0 || step + n + 1 > last);
    }
    TEST_INT(mds_plain_steps(&config, &params, 0, 5), 5); // never past the end
    TEST_INT(mds_plain_steps(&config, &params, 5, 5), 0);
}

static void fields_of_a_frame(void)
{
    mds_sim sim = {.config = &config};

    begin();
    TEST_INT(mds_due_fields(&sim, 50), 0);
    TEST_INT(mds_due_fields(&sim, 100), MDS_FIELD_X);
    config.output.velocities = config.output.forces = true;
    TEST_INT(mds_due_fields(&sim, 100), MDS_FIELD_X | MDS_FIELD_V | MDS_FIELD_F);
    TEST_INT(mds_due_fields(&sim, 101), 0);
}

/// The mesh acts at multiples of mesh_every, step 0 among them, far beyond 32 bits too; without the key in every step.
static void pace_of_the_mesh(void)
{
    mds_params p = {.mesh_every = 3};

    for (int64_t step = 0; step < 30; step++) TEST_INT(mds_pace(&p, step), step % 3 ? MDS_FAST : 0);
    TEST_INT(mds_pace(&p, 30000000000), 0);
    TEST_INT(mds_pace(&p, 30000000001), MDS_FAST);
    for (p.mesh_every = 0; p.mesh_every < 2; p.mesh_every++)
        for (int64_t step = 0; step < 3; step++) TEST_INT(mds_pace(&p, step), 0);
}

int main(void)
{
    each_event_at_its_multiples();
    pure();
    plain_stretches_end_before_the_next_event();
    fields_of_a_frame();
    pace_of_the_mesh();
    mds_config_free(&config);
    return test_end();
}
