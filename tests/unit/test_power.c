// SPDX-License-Identifier: Apache-2.0
// Mean power, energy and clock of a device from readings of its instruments.
#include "engine/engine.h"
#include "test.h"

static double now_joule, now_watt, now_mhz;
static int    readings;

static void meter(const mds_device *device, mds_meter *out)
{
    (void)device;
    *out = (mds_meter){now_joule, now_watt, now_mhz};
    readings++;
}

static const mds_backend with = {.name = "with", .meter = meter}, without = {.name = "without"};

static mds_power begin(double joule, double watt, double mhz)
{
    mds_power p;

    now_joule = joule;
    now_watt = watt;
    now_mhz = mhz;
    mds_power_begin(&with, NULL, &p);
    return p;
}

static void a_counter_is_believed(void)
{
    mds_power         p = begin(5000, 100, 1000);
    mds_power_figures f;

    mds_power_add(&p, 2, &(mds_meter){5300, 900, 1200});
    mds_power_add(&p, 2, &(mds_meter){6000, 100, 1800});
    mds_power_tell(&p, &f);
    TEST_NEAR(f.seconds, 4, 1e-6); // a difference of clocks of some days: 1e-10
    TEST_NEAR(f.joule, 1000, 0);
    TEST_NEAR(f.watt, 250, 1e-4);
    TEST_NEAR(f.clock_mhz, 0.5 * (1100 + 1500), 1e-3);
}

static void without_a_counter_power_is_integrated(void)
{
    mds_power         p = begin(NAN, 100, 1000);
    mds_power_figures f;

    mds_power_add(&p, 1, &(mds_meter){NAN, 300, NAN});
    mds_power_add(&p, 3, &(mds_meter){NAN, 500, 1000});
    mds_power_tell(&p, &f);
    TEST_NEAR(f.joule, 200 + 1200, 1e-9); // trapezoids
    TEST_NEAR(f.watt, 350, 1e-4);
    TEST_TRUE(isnan(f.clock_mhz)); // a reading is missing: not known
}

static void a_counter_that_was_reset_is_not_believed(void)
{
    mds_power         p = begin(5000, 100, 1000);
    mds_power_figures f;

    mds_power_add(&p, 2, &(mds_meter){10, 100, 1000});
    mds_power_tell(&p, &f);
    TEST_NEAR(f.joule, 200, 1e-9);
}

static void the_instruments_are_read_once_a_second_at_most(void)
{
    mds_power         p = begin(0, 100, 1000);
    mds_power_figures f;
    int               k;

    readings = 0;
    for (k = 0; k < 100; k++) mds_power_look(&with, NULL, false, &p);
    TEST_TRUE(readings <= 1); // 1: this machine took a second for the loop
    mds_power_look(&with, NULL, true, &p);
    TEST_TRUE(readings >= 1);
    mds_power_begin(&without, NULL, &p);
    mds_power_look(&without, NULL, true, &p);
    mds_power_tell(&p, &f);
    TEST_TRUE(isnan(f.joule) && isnan(f.watt) && isnan(f.clock_mhz));
}

int main(void)
{
    a_counter_is_believed();
    without_a_counter_power_is_integrated();
    a_counter_that_was_reset_is_not_believed();
    the_instruments_are_read_once_a_second_at_most();
    return test_end();
}
