// SPDX-License-Identifier: Apache-2.0
// Units: nm, ps, Da, e, K, kJ/mol, bar. Constants with their sources.
#ifndef MDS_UNITS_H
#define MDS_UNITS_H

/// 1/(4 pi eps0), kJ mol^-1 nm e^-2. The value of GROMACS (CODATA), kept to compare without conversion.
#define MDS_COULOMB 138.935458
/// Boltzmann's constant times Avogadro's, kJ mol^-1 K^-1 (SI 2019, exact).
#define MDS_BOLTZMANN 0.00831446261815324
/// kJ mol^-1 nm^-3 in bar (Avogadro's constant, SI 2019).
#define MDS_BAR 16.6053906717385
/// Da nm^-3 in kg m^-3.
#define MDS_DENSITY 1.66053906660
/// Thermochemical calorie, kJ per kcal (exact).
#define MDS_KCAL 4.184
/// AMBER prmtop charges are e times this (sqrt of 332.0522173 kcal A / e^2).
#define MDS_AMBER_CHARGE 18.2223
#define MDS_PI 3.14159265358979323846

#endif
