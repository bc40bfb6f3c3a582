// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: noise = f(seed, step, atom, purpose). Nothing to save, the same bits everywhere.
//
// Philox-4x32 with 10 rounds (Salmon et al., SC'11, salmon2011). Two Gaussians by Box and Muller in double.
#ifndef MDS_RNG_H
#define MDS_RNG_H

#include "base/inline.h"

#include <math.h>
#include <stdint.h>

/// What a stream of noise is used for: part of the counter, so that no two uses share numbers.
enum {
    MDS_RNG_VELOCITY = 1, // Maxwell velocities
    MDS_RNG_LANGEVIN = 2,
    MDS_RNG_THERMOSTAT = 3,
    MDS_RNG_BAROSTAT = 4,
    MDS_RNG_MAKE = 5,    // generated systems
    MDS_RNG_MINIMIZE = 6, // parting atoms at one point
    MDS_RNG_MESH = 7      // places and waves where the start is looked at for its mesh
};

MDS_INLINE void mds_philox(const uint32_t counter[4], uint64_t key, uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    int      round;

    for (round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;

        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/// Four uniform numbers in (0, 1), 1. `index` is an atom id or a draw number.
MDS_INLINE void mds_uniform4(uint64_t seed, uint32_t purpose, uint64_t step, uint32_t index, double out[4])
{
    const uint32_t counter[4] = {(uint32_t)step, (uint32_t)(step >> 32), index, purpose};
    uint32_t       bits[4];
    int            k;

    mds_philox(counter, seed, bits);
    for (k = 0; k < 4; k++) out[k] = ((double)bits[k] + 0.5) * (1.0 / 4294967296.0);
}

/// Sine and cosine of a share of a whole turn. Those of any angle would need local memory on the device.
MDS_INLINE void mds_turn(double turn, double *sine, double *cosine)
{
#ifdef __CUDACC__
    sincospi(2 * turn, sine, cosine);
#else
    const double angle = 6.283185307179586477 * turn;

    *sine = sin(angle);
    *cosine = cos(angle);
#endif
}

/// Four independent Gaussian numbers, mean 0, variance 1.
MDS_INLINE void mds_gauss4(uint64_t seed, uint32_t purpose, uint64_t step, uint32_t index, double out[4])
{
    double u[4];
    int    k;

    mds_uniform4(seed, purpose, step, index, u);
    for (k = 0; k < 4; k += 2) {
        const double r = sqrt(-2 * log(u[k]));
        double       sine, cosine;

        mds_turn(u[k + 1], &sine, &cosine);
        out[k] = r * cosine;
        out[k + 1] = r * sine;
    }
}

#endif
