// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the couplings: a few dozen doubles and some noise, the same text on host and device.
//
// Velocity rescaling [bussi2007]: the kinetic energy obeys an equation with an exact solution over any time h,
//   alpha^2 = c + q (R1^2 + S) + 2 R1 sqrt(c q),   q = (1 - c) Kbar / (n K),  c = exp(-h/tau),  Kbar = n kT/2
// with R1 Gaussian and S the sum of n - 1 squared Gaussians, drawn as twice a gamma variate of shape (n - 1)/2.
// Cell rescaling [bernetti2020]: in L = sqrt(V) the noise does not depend on L,
//   dL = -(beta L/2 tau)(P0 - P - kT/2V) dt + sqrt(kT beta/2 tau) dW.
//
// Noise comes from the counter generator: key seed, step = the step just finished. MDS_RNG_THERMOSTAT: index 0 is R1,
// the pairs from 1 on are the trials of the gamma variate (a Gaussian, then a uniform) [marsaglia2000].
// MDS_RNG_BAROSTAT: index 0. Nothing to save, so a resumed run draws the same.
#ifndef MDS_COUPLE_H
#define MDS_COUPLE_H

#include "base/rng.h"

/// Gamma variate of shape > 0 and scale 1.
MDS_INLINE double mds_couple_gamma(uint64_t seed, uint64_t step, double shape)
{
    // shape below 1: that of shape + 1 times u^(1/shape)
    const double base = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * base);
    uint32_t     trial;

    for (trial = 0;; trial++) {
        double gauss[4], u[4], t;

        mds_gauss4(seed, MDS_RNG_THERMOSTAT, step, 1 + 2 * trial, gauss);
        mds_uniform4(seed, MDS_RNG_THERMOSTAT, step, 2 + 2 * trial, u);
        t = 1 + c * gauss[0];
        t = t * t * t;
        if (t > 0 && log(u[0]) < 0.5 * gauss[0] * gauss[0] + base - base * t + base * log(t))
            return base * t * (shape < 1 ? exp(log(u[1]) / shape) : 1);
    }
}

/// Factor for all velocities, 1. kinetic > 0 and target = n_degrees kT/2 in kJ/mol; h and tau in ps.
MDS_INLINE double mds_couple_alpha(uint64_t seed, uint64_t step, double kinetic, double target, double n_degrees,
                                          double h, double tau)
{
    const double c = exp(-h / tau), q = (1 - c) * target / (n_degrees * kinetic);
    double       gauss[4], rest, square;

    mds_gauss4(seed, MDS_RNG_THERMOSTAT, step, 0, gauss);
    rest = n_degrees > 1 ? 2 * mds_couple_gamma(seed, step, 0.5 * (n_degrees - 1)) : 0;
    square = c + q * (gauss[0] * gauss[0] + rest) + 2 * gauss[0] * sqrt(c * q);
    square = square > 0 ? sqrt(square) : 0; // a perfect square plus S: negative by rounding only
    return gauss[0] + sqrt(c / q) < 0 ? -square : square;
}

/// Factor for the box vectors, 1. volume nm^3, pressures kJ/mol/nm^3, kt kJ/mol, compressibility nm^3 mol/kJ, ps.
/// At most 5 % of sqrt(V) a call: a wild start shrinks or grows in many steps.
MDS_INLINE double mds_couple_scale(uint64_t seed, uint64_t step, double volume, double inside, double target,
                                          double kt, double compressibility, double h, double tau)
{
    const double root = sqrt(volume), rate = 0.5 * compressibility * h / tau;
    double       gauss[4], ratio;

    mds_gauss4(seed, MDS_RNG_BAROSTAT, step, 0, gauss);
    ratio = 1 - rate * (target - inside - 0.5 * kt / volume) + sqrt(rate * kt) * gauss[0] / root;
    ratio = ratio < 0.95 ? 0.95 : ratio > 1.05 ? 1.05 : ratio;
    return exp(2.0 / 3 * log(ratio));
}

#endif
