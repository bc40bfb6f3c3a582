// SPDX-License-Identifier: Apache-2.0
// Named regions of time. Only the host thread that drives the engine writes them.
#include "base/base.h"

#include <time.h>

static double  seconds_in[MDS_N_TIMERS];
static int64_t calls_of[MDS_N_TIMERS];

double mds_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void mds_timer_add(mds_timer region, double seconds)
{
    seconds_in[region] += seconds;
    calls_of[region]++;
}

double mds_timer_seconds(mds_timer region)
{
    return seconds_in[region];
}

int64_t mds_timer_calls(mds_timer region)
{
    return calls_of[region];
}

const char *mds_timer_name(mds_timer region)
{
    static const char *const names[MDS_N_TIMERS] = {
#define ROW(name, text) text,
        MDS_TIMER_LIST(ROW)
#undef ROW
    };

    return names[region];
}

void mds_timer_reset(void)
{
    int k;

    for (k = 0; k < MDS_N_TIMERS; k++) {
        seconds_in[k] = 0;
        calls_of[k] = 0;
    }
}
