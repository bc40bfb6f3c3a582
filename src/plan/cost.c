// SPDX-License-Identifier: Apache-2.0
// Memory, data, and what preemptions cost.
//
// A spot machine is taken away at random, on the average every 1/lambda hours. With a checkpoint that takes d every tau
// hours, and R from the loss to the next step, a run of T hours lasts (daly2006)
//     E = T / tau * 1/lambda * exp(lambda R) * (exp(lambda (tau + d)) - 1),
// and tau = sqrt(2 d / lambda) (young1974) with daly2006's two further terms is where that is least. The notice before a loss,
// if it comes, saves the work since the last checkpoint; it is best effort, so nothing is counted on it.
#include "plan/inside.h"

#include <stdio.h>
#include <string.h>

// Measured on the cpu backend with two threads, 3,000 to 192,000 atoms: 14 MiB and 1,163 bytes an atom
// (cloud/calibration/amd-epyc-zen4-2-cores.conf), and 1,190 in a run of a million; frames on their way to the disk and a program with its
// libraries around it.
#define HOST_BYTES_PER_ATOM 1300.0
#define HOST_BYTES 60e6
// Estimates: lists of 320 pairs an atom in 4-byte entries shared by 8, state, forces, mesh; a context.
#define GPU_BYTES_PER_ATOM 900.0
#define GPU_BYTES 700e6
#define GIB 1073741824.0
// A checkpoint: x and v in double, written and copied to a bucket at 100 MB/s, two seconds for everything around.
#define CHECKPOINT_BYTES_PER_ATOM 48.0
#define CHECKPOINT_BYTES_PER_SECOND 100e6
#define CHECKPOINT_SECONDS 2.0

double plan_memory_gpu(const mds_plan_work *w)
{
    return (GPU_BYTES + GPU_BYTES_PER_ATOM * w->atoms + 16 * w->mesh_points) / GIB;
}

double plan_memory_host(const mds_plan_work *w)
{
    return (HOST_BYTES + HOST_BYTES_PER_ATOM * w->atoms + 8 * w->mesh_points) / GIB;
}

double plan_trajectory_bytes(const mds_plan_work *w, double length)
{
    const double frames = w->trajectory_every > 0 ? floor(1e3 * length / w->dt / w->trajectory_every) + 1 : 0;

    return frames * w->frame_bytes;
}

static double checkpoint_hours(const mds_plan_work *w)
{
    return (CHECKPOINT_SECONDS + CHECKPOINT_BYTES_PER_ATOM * w->atoms / CHECKPOINT_BYTES_PER_SECOND) / 3600;
}

double plan_checkpoint_hours(const mds_plan_work *w, double interruptions)
{
    const double d = checkpoint_hours(w), mean = 1 / interruptions;

    if (!(interruptions > 0)) return NAN;
    if (d >= 2 * mean) return mean;
    return sqrt(2 * d * mean) * (1 + sqrt(d / (2 * mean)) / 3 + d / (2 * mean) / 9) - d;
}

double plan_spot_factor(const mds_plan_work *w, double interruptions, double restart)
{
    const double d = checkpoint_hours(w), tau = plan_checkpoint_hours(w, interruptions);

    if (!(interruptions > 0)) return 1;
    return exp(interruptions * restart) * expm1(interruptions * (tau + d)) / (interruptions * tau);
}

const char *plan_short(double value, char room[24])
{
    const double size = fabs(value);

    if (isnan(value))
        strcpy(room, "-");
    else
        snprintf(room, 24, "%.*f", size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : size >= 0.001 ? 4 : 6, value);
    return room;
}
