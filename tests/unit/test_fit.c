// SPDX-License-Identifier: Apache-2.0
// The lines of a calibration: exact data come back, relative deviations count, nothing costs less than nothing.
#include "cli/bench.h"
#include "test.h"

int main(void)
{
    const double work[] = {3e3, 12e3, 48e3, 192e3};
    double       time[4], fixed, slope, error;
    int          k;

    for (k = 0; k < 4; k++) time[k] = 2e-3 + 1.5e-6 * work[k];
    bench_fit_line(work, time, 4, &fixed, &slope, &error);
    TEST_NEAR(fixed, 2e-3, 1e-12); // rounding of sums over six decades: 1e-16 times 1e4
    TEST_NEAR(slope, 1.5e-6, 1e-15);
    TEST_NEAR(error, 0, 1e-9);
    time[0] *= 1.1; // the small case counts as much as the large one: no point may be left more than 10 % off
    bench_fit_line(work, time, 4, &fixed, &slope, &error);
    TEST_TRUE(error > 0.005 && error < 0.1);
    for (k = 0; k < 4; k++) time[k] = 1e-6 * work[k] - 1e-3; // a line would begin below zero
    bench_fit_line(work, time, 4, &fixed, &slope, &error);
    TEST_TRUE(fixed == 0 && slope > 0);
    for (k = 0; k < 4; k++) time[k] = 1; // and one that falls or stands has no cost of work
    bench_fit_line(work, time, 4, &fixed, &slope, &error);
    TEST_TRUE(fixed == 0 && slope > 0 && error > 0.5);
    bench_fit_line(work, time, 1, &fixed, &slope, &error); // one case: through zero
    TEST_TRUE(fixed == 0 && fabs(slope * work[0] - 1) < 1e-12);
    return test_end();
}
