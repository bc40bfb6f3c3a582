// SPDX-License-Identifier: Apache-2.0
// Stands for the driver's library libnvidia-ml.so.1: one GPU, at the place on the bus that the emulation gives. It reads 200 W and
// 1500 MHz, and its energy counter runs at 300 W, so that a test can tell which of them was used.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DONE = 0, NOT_READY = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6 };
static int ready;

static int mode_is(const char *mode)
{
    const char *set = getenv("FAKE_NVML_MODE");

    return set && !strcmp(set, mode);
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    ready = 1;
    return DONE;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
    if (!ready) return NOT_READY;
    if (mode_is("other-bus") || strcmp(bus, "ffff:ff:1f.7")) return NOT_FOUND;
    *device = &ready;
    return DONE;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatt);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatt)
{
    *milliwatt = 200000;
    return device == &ready ? DONE : INVALID;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoule);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoule)
{
    struct timespec now;

    if (mode_is("no-energy")) return NOT_SUPPORTED;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoule = 300000ull * (unsigned long long)now.tv_sec + 300000ull * (unsigned long long)now.tv_nsec / 1000000000ull;
    return device == &ready ? DONE : INVALID;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *megahertz);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *megahertz)
{
    *megahertz = which == 1 ? 1500 : 405; // of the multiprocessors
    return device == &ready ? DONE : INVALID;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatt);
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatt)
{
    *milliwatt = 350000;
    return device == &ready ? DONE : INVALID;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size);
int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    if (!ready) return NOT_READY;
    snprintf(version, size, "987.65");
    return DONE;
}
