// SPDX-License-Identifier: Apache-2.0
// Power and clock of a device over a run, from readings that are a second apart or more.
//
// Where the device counts its energy, two readings of the counter give energy and mean power exactly. Else power is integrated by the
// trapezoidal rule over the readings, and so is the clock always, each reading standing for the time around it.
#include "engine/engine.h"

#include <math.h>

static const double pause = 1; // s between two readings: each takes up to some ms of the host

void mds_power_begin(const mds_backend *be, const mds_device *device, mds_power *p)
{
    *p = (mds_power){.began = mds_clock(), .n = 0};
    p->last = p->began;
    if (!be->meter) return;
    be->meter(device, &p->first);
    p->newest = p->first;
    p->n = 1;
}

void mds_power_add(mds_power *p, double seconds, const mds_meter *reading)
{
    p->joule += 0.5 * (p->newest.watt + reading->watt) * seconds;
    p->cycles += 0.5 * (p->newest.clock_mhz + reading->clock_mhz) * seconds;
    p->last += seconds;
    p->newest = *reading;
    p->n++;
}

void mds_power_look(const mds_backend *be, const mds_device *device, bool now, mds_power *p)
{
    const double seconds = mds_clock() - p->last;
    mds_meter    reading;

    if (!p->n || (!now && seconds < pause)) return;
    be->meter(device, &reading);
    mds_power_add(p, seconds, &reading);
}

void mds_power_tell(const mds_power *p, mds_power_figures *out)
{
    const double counted = p->newest.joule - p->first.joule;

    out->seconds = p->last - p->began;
    out->joule = out->watt = out->clock_mhz = NAN;
    if (p->n < 2 || !(out->seconds > 0)) return;
    out->joule = counted >= 0 ? counted : p->joule; // not if it is not a number
    out->watt = out->joule / out->seconds;
    out->clock_mhz = p->cycles / out->seconds;
}
