// SPDX-License-Identifier: Apache-2.0
// Power, energy and clock of a GPU, as the driver tells them through NVML, and the driver's version and the limit on power.
//
// NVML is the driver's library, not the toolkit's: it is opened when it is first asked, and where it is not there, or does not know
// something of a GPU, that is NAN. Its few functions that are used here are declared here. All figures are of the whole board. The
// energy counter is exact where there is one (Volta and later); it counts from the loading of the driver.
#include "device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef void *nvml_device;
enum { NVML_DONE = 0, NVML_CLOCK_OF_SM = 1 };

static struct {
    bool  tried;
    void *file; // stays open until the end; NULL: nobody to ask
    int (*init)(void);
    int (*handle)(const char *bus, nvml_device *device);
    int (*power)(nvml_device device, unsigned *milliwatt);
    int (*energy)(nvml_device device, unsigned long long *millijoule);
    int (*clock)(nvml_device device, int which, unsigned *megahertz);
    int (*limit)(nvml_device device, unsigned *milliwatt);
    int (*driver)(char *version, unsigned size);
} nvml;

static bool find(void *function, const char *name)
{
    void *const found = dlsym(nvml.file, name);

    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool open_nvml(void)
{
    if (nvml.tried) return nvml.file != NULL;
    nvml.tried = true;
    nvml.file = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml.file) return false;
    if (find(&nvml.init, "nvmlInit_v2") && find(&nvml.handle, "nvmlDeviceGetHandleByPciBusId_v2") && nvml.init() == NVML_DONE) {
        (void)find(&nvml.power, "nvmlDeviceGetPowerUsage");
        (void)find(&nvml.energy, "nvmlDeviceGetTotalEnergyConsumption");
        (void)find(&nvml.clock, "nvmlDeviceGetClockInfo");
        (void)find(&nvml.limit, "nvmlDeviceGetEnforcedPowerLimit");
        (void)find(&nvml.driver, "nvmlSystemGetDriverVersion");
        return true;
    }
    (void)dlclose(nvml.file);
    nvml.file = NULL;
    return false;
}

/// GPU k as CUDA counts them: the two count in different orders, so it is the place on the bus that tells.
static bool find_device(int k, nvml_device *out)
{
    char bus[32];

    if (!open_nvml()) return false;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, k) != cudaSuccess) {
        (void)cudaGetLastError(); // an answer, not a fault that somebody else should find
        return false;
    }
    return nvml.handle(bus, out) == NVML_DONE;
}

void GPU_NAME(meter)(const mds_device *d, mds_meter *out)
{
    nvml_device        device;
    unsigned           number;
    unsigned long long energy;

    (void)d; // the first GPU, as everywhere
    out->joule = out->watt = out->clock_mhz = NAN;
    if (!find_device(0, &device)) return;
    if (nvml.energy && nvml.energy(device, &energy) == NVML_DONE) out->joule = 1e-3 * (double)energy;
    if (nvml.power && nvml.power(device, &number) == NVML_DONE) out->watt = 1e-3 * number;
    if (nvml.clock && nvml.clock(device, NVML_CLOCK_OF_SM, &number) == NVML_DONE) out->clock_mhz = number;
}

void GPU_NAME(driver_text)(int k, char *text, size_t size)
{
    nvml_device device;
    char        version[80];
    unsigned    limit;
    int         n = 0;

    if (size) text[0] = 0;
    if (!find_device(k, &device)) return;
    if (nvml.driver && nvml.driver(version, sizeof version) == NVML_DONE) n = snprintf(text, size, ", driver %.20s", version);
    if (n >= 0 && (size_t)n < size && nvml.limit && nvml.limit(device, &limit) == NVML_DONE)
        snprintf(text + n, size - (size_t)n, ", power limit %.0f W", 1e-3 * limit);
}
