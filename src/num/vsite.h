// SPDX-License-Identifier: Apache-2.0
// Virtual sites in double, inline, for the product backends: offset of a site from its first atom, and the forces on its
// atoms for a force on the site (the transposed gradient of the construction; formulas: docs/theory/bonded.md
// [gromacs2022, 5.5]). d[m] is x_m - x_0, nearest image. Kinds are those of mds_vsite_kind without the linear one; parameters
// p those that mds_vsite_prepare makes of the model's, so that no sine is taken where sites are placed.
#ifndef MDS_NUM_VSITE_H
#define MDS_NUM_VSITE_H

#include "base/vec.h"

typedef enum { MDS_NUM_2FD = 1, MDS_NUM_3FD, MDS_NUM_3FAD, MDS_NUM_3OUT, MDS_NUM_4FDN } mds_num_vsite;

/// Of the model's parameters those of the functions below: 3FAD has { d cos(theta), d sin(theta) }, others the same.
MDS_INLINE void mds_vsite_prepare(mds_num_vsite kind, const double param[3], double p[3])
{
    const bool turned = kind == MDS_NUM_3FAD;

    p[0] = turned ? param[1] * cos(param[0]) : param[0];
    p[1] = turned ? param[1] * sin(param[0]) : param[1];
    p[2] = param[2];
}

/// The part of f that turns a vector along r (any length): f minus its component along r.
MDS_INLINE void mds_vsite_across(const double r[3], const double f[3], double out[3])
{
    const double along = mds_dot(r, f) / mds_dot(r, r);
    int          k;

    for (k = 0; k < 3; k++) out[k] = f[k] - along * r[k];
}

/// The direction that kinds of fixed distance are built along: 3FD, 3FAD (the one across), 4FDN.
MDS_INLINE void mds_vsite_direction(mds_num_vsite kind, const double p[3], const double d[4][3], double r[3])
{
    double ja[3], jb[3];
    int    k;

    if (kind == MDS_NUM_3FD) {
        for (k = 0; k < 3; k++) r[k] = d[1][k] + p[0] * (d[2][k] - d[1][k]);
    } else if (kind == MDS_NUM_3FAD) {
        for (k = 0; k < 3; k++) ja[k] = d[2][k] - d[1][k];
        mds_vsite_across(d[1], ja, r);
    } else {
        for (k = 0; k < 3; k++) {
            ja[k] = p[0] * d[2][k] - d[1][k];
            jb[k] = p[1] * d[3][k] - d[1][k];
        }
        mds_cross(ja, jb, r);
    }
}

/// Offset of the site from atom 0, nm.
MDS_INLINE void mds_vsite_offset(mds_num_vsite kind, const double p[3], const double d[4][3], double out[3])
{
    double r[3], a, b;
    int    k;

    switch (kind) {
    case MDS_NUM_2FD:
        for (k = 0; k < 3; k++) out[k] = p[0] / mds_norm(d[1]) * d[1][k];
        break;
    case MDS_NUM_3OUT:
        mds_cross(d[1], d[2], r);
        for (k = 0; k < 3; k++) out[k] = p[0] * d[1][k] + p[1] * d[2][k] + p[2] * r[k];
        break;
    case MDS_NUM_3FAD:
        mds_vsite_direction(kind, p, d, r);
        a = p[0] / mds_norm(d[1]);
        b = p[1] / mds_norm(r);
        for (k = 0; k < 3; k++) out[k] = a * d[1][k] + b * r[k];
        break;
    case MDS_NUM_3FD:
    case MDS_NUM_4FDN:
        mds_vsite_direction(kind, p, d, r);
        a = (kind == MDS_NUM_3FD ? p[1] : p[2]) / mds_norm(r);
        for (k = 0; k < 3; k++) out[k] = a * r[k];
        break;
    }
}

/// Forces on atoms 0..3 (those the kind has; the others zero) for force f on the site.
MDS_INLINE void mds_vsite_forces(mds_num_vsite kind, const double p[3], const double d[4][3], const double f[3],
                                    double out[4][3])
{
    double r[3], g[3], c1[3], c2[3], ja[3], jb[3];
    int    k;

    for (k = 0; k < 12; k++) out[k / 3][k % 3] = 0;
    switch (kind) {
    case MDS_NUM_2FD:
        mds_vsite_across(d[1], f, g);
        for (k = 0; k < 3; k++) out[1][k] = p[0] / mds_norm(d[1]) * g[k];
        break;
    case MDS_NUM_3FD:
        mds_vsite_direction(kind, p, d, r);
        mds_vsite_across(r, f, g);
        for (k = 0; k < 3; k++) {
            const double part = p[1] / mds_norm(r) * g[k];

            out[1][k] = (1 - p[0]) * part;
            out[2][k] = p[0] * part;
        }
        break;
    case MDS_NUM_3FAD: {
        const double a2 = mds_dot(d[1], d[1]), along = mds_dot(d[1], f) / a2;
        double       a, b, s;

        mds_vsite_direction(kind, p, d, r);
        s = mds_dot(d[1], d[2]) / a2 - 1; // rij.rjk / rij.rij
        a = p[0] / sqrt(a2);
        b = p[1] / mds_norm(r);
        mds_vsite_across(d[1], f, c1);
        mds_vsite_across(r, c1, c2);
        for (k = 0; k < 3; k++) {
            out[1][k] = a * c1[k] - b * ((1 + s) * c2[k] + along * r[k]);
            out[2][k] = b * c2[k];
        }
        break;
    }
    case MDS_NUM_3OUT:
        mds_cross(d[2], f, c1);
        mds_cross(f, d[1], c2);
        for (k = 0; k < 3; k++) {
            out[1][k] = p[0] * f[k] + p[2] * c1[k];
            out[2][k] = p[1] * f[k] + p[2] * c2[k];
        }
        break;
    case MDS_NUM_4FDN:
        for (k = 0; k < 3; k++) {
            ja[k] = p[0] * d[2][k] - d[1][k];
            jb[k] = p[1] * d[3][k] - d[1][k];
        }
        mds_cross(ja, jb, r);
        mds_vsite_across(r, f, g);
        for (k = 0; k < 3; k++) g[k] *= p[2] / mds_norm(r);
        mds_cross(jb, g, c1); // on ja
        mds_cross(g, ja, c2); // on jb
        for (k = 0; k < 3; k++) {
            out[1][k] = -c1[k] - c2[k];
            out[2][k] = p[0] * c1[k];
            out[3][k] = p[1] * c2[k];
        }
        break;
    }
    for (k = 0; k < 3; k++) out[0][k] = f[k] - out[1][k] - out[2][k] - out[3][k];
}

#endif
