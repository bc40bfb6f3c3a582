// SPDX-License-Identifier: Apache-2.0
// Atomic numbers for topologies that do not give them: the mass and the first letter of the name must agree.
//
// Up to 17 Da united atoms and elements lie close together (CH2 14.03, N 14.01; CH4 16.04, O 16.00), so there the name
// decides; above, the nearest mass within 0.1 Da is taken, and the name where two are that near (Ar, K, Ca; Co, Ni). Below
// 3.5 Da everything is hydrogen, as in the rest of the program; a heavier H (mass repartitioned) is known by its name.
// Masses: IUPAC 2021 abridged [prohaska2022].
#include "read/top.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

typedef struct {
    int         number;
    const char *symbol;
    double      mass;
} element;

static const element elements[] = {
    {2, "HE", 4.0026},   {3, "LI", 6.94},     {4, "BE", 9.0122},   {5, "B", 10.81},     {6, "C", 12.011},
    {7, "N", 14.007},    {8, "O", 15.999},    {9, "F", 18.998},    {10, "NE", 20.180},  {11, "NA", 22.990},
    {12, "MG", 24.305},  {13, "AL", 26.982},  {14, "SI", 28.085},  {15, "P", 30.974},   {16, "S", 32.06},
    {17, "CL", 35.45},   {18, "AR", 39.95},   {19, "K", 39.098},   {20, "CA", 40.078},  {21, "SC", 44.956},
    {22, "TI", 47.867},  {23, "V", 50.942},   {24, "CR", 51.996},  {25, "MN", 54.938},  {26, "FE", 55.845},
    {27, "CO", 58.933},  {28, "NI", 58.693},  {29, "CU", 63.546},  {30, "ZN", 65.38},   {34, "SE", 78.971},
    {35, "BR", 79.904},  {36, "KR", 83.798},  {37, "RB", 85.468},  {38, "SR", 87.62},   {42, "MO", 95.95},
    {44, "RU", 101.07},  {46, "PD", 106.42},  {47, "AG", 107.87},  {48, "CD", 112.41},  {53, "I", 126.90},
    {54, "XE", 131.29},  {55, "CS", 132.91},  {56, "BA", 137.33},  {78, "PT", 195.08},  {79, "AU", 196.97},
    {80, "HG", 200.59},  {82, "PB", 207.2},
};

int32_t mds_guess_element(const char *name, double mass)
{
    const double united = 17, near = 0.1;
    double       best = near;
    int32_t      number = 0;
    size_t       k;
    char         letter;

    while (*name && !isalpha((unsigned char)*name)) name++;
    letter = (char)toupper((unsigned char)*name);
    if (!(mass > 0)) return 0;
    if (mass < 3.5) return 1;
    if (letter == 'H' && mass < 4.5 && fabs(mass - 4.0026) > 0.01) return 1;
    for (k = 0; k < sizeof elements / sizeof elements[0]; k++) {
        const double off = fabs(mass - elements[k].mass) - (elements[k].symbol[0] == letter ? near : 0);

        if (fabs(mass - elements[k].mass) > near || (mass < united && elements[k].symbol[0] != letter)) continue;
        if (off < best) {
            best = off;
            number = elements[k].number;
        }
    }
    return number;
}
