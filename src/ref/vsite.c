// SPDX-License-Identifier: Apache-2.0
// Virtual sites: placed from their atoms, and their forces handed to those by the chain rule [berendsen1984; gromacs2022, 5.5].
//
// Spread goes in reverse order of construction, since a site may be built from sites. The virial summed so far treats
// the site as a particle that scales with the box; for a linear site that is what its atoms do to it, for the others the
// difference sum_m d_m (x) f_m - d_s (x) f_s (distances from the first atom) is added.
#include "ref/ref.h"

#include <math.h>
#include <string.h>

/// Gradient of x_site along one constructing atom, applied from the left: f_atom[l] = sum_k f_site[k] d x_site[k]/d x_atom[l].
typedef struct {
    double j[4][3][3]; // [atom][k][l]
} jacobian;

/// d(r/|r|)/dr, 1/nm.
static void unit_gradient(const double r[3], double out[3][3])
{
    const double length = mds_norm(r);

    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) out[k][l] = ((k == l) - r[k] * r[l] / (length * length)) / length;
}

/// Matrix of the map v -> r x v.
static void cross_matrix(const double r[3], double out[3][3])
{
    const double m[3][3] = {{0, -r[2], r[1]}, {r[2], 0, -r[0]}, {-r[1], r[0], 0}};

    memcpy(out, m, sizeof m);
}

static void multiply(const double a[3][3], const double b[3][3], double out[3][3])
{
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) {
            out[k][l] = 0;
            for (int m = 0; m < 3; m++) out[k][l] += a[k][m] * b[m][l];
        }
}

/// d cos(theta) rij/|rij| + d sin(theta) r/|r| with r = rjk - rij (rij.rjk)/(rij.rij); a is rij, rik the other.
static void construct_fad(const double p[3], const double a[3], const double rik[3], double offset[3], jacobian *j)
{
    double rjk[3], r[3], u[3][3], g[3][3], across[3][3], along[3][3], by_rjk[3][3], by_a[3][3];

    for (int k = 0; k < 3; k++) rjk[k] = rik[k] - a[k];
    const double a2 = mds_dot(a, a), s = mds_dot(a, rjk) / a2;
    for (int k = 0; k < 3; k++) r[k] = rjk[k] - s * a[k];
    unit_gradient(a, u);
    unit_gradient(r, g);
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) {
            across[k][l] = (k == l) - a[k] * a[l] / a2;                          // dr/drjk
            along[k][l] = -s * (k == l) + a[k] * (2 * s * a[l] - rjk[l]) / a2; // dr/da
        }
    multiply(g, across, by_rjk); // of r/|r|
    multiply(g, along, by_a);
    for (int k = 0; k < 3; k++) {
        offset[k] = p[1] * (cos(p[0]) * a[k] / sqrt(a2) + sin(p[0]) * r[k] / mds_norm(r));
        for (int l = 0; l < 3; l++) {
            j->j[1][k][l] = p[1] * (cos(p[0]) * u[k][l] + sin(p[0]) * (by_a[k][l] - by_rjk[k][l]));
            j->j[2][k][l] = p[1] * sin(p[0]) * by_rjk[k][l];
        }
    }
}

/// c r/|r| with r = ja x jb, ja = a rik - rij, jb = b ril - rij.
static void construct_fdn(const double p[3], double d[4][3], double offset[3], jacobian *j)
{
    double ja[3], jb[3], r[3], g[3][3], m[3][3], by_ja[3][3], by_jb[3][3];

    for (int k = 0; k < 3; k++) {
        ja[k] = p[0] * d[2][k] - d[1][k];
        jb[k] = p[1] * d[3][k] - d[1][k];
    }
    mds_cross(ja, jb, r);
    unit_gradient(r, g);
    cross_matrix(ja, m); // dr/djb
    multiply(g, m, by_jb);
    cross_matrix(jb, m); // -dr/dja
    multiply(g, m, by_ja);
    for (int k = 0; k < 3; k++) {
        offset[k] = p[2] * r[k] / mds_norm(r);
        for (int l = 0; l < 3; l++) {
            j->j[1][k][l] = p[2] * (by_ja[k][l] - by_jb[k][l]);
            j->j[2][k][l] = -p[2] * p[0] * by_ja[k][l];
            j->j[3][k][l] = p[2] * p[1] * by_jb[k][l];
        }
    }
}

/// Offset of the site from its first atom and the gradients along all; d[m] = x_m - x_0 nearest image.
static void construct(mds_vsite_kind kind, const double p[3], double d[4][3], double offset[3], jacobian *j)
{
    double r[3], g[3][3], c1[3][3], c2[3][3];

    memset(j, 0, sizeof *j);
    switch (kind) {
    case MDS_VSITE_TWO_FD:
        unit_gradient(d[1], g);
        for (int k = 0; k < 3; k++) {
            offset[k] = p[0] * d[1][k] / mds_norm(d[1]);
            for (int l = 0; l < 3; l++) j->j[1][k][l] = p[0] * g[k][l];
        }
        break;
    case MDS_VSITE_THREE_FD: // r = rij + a rjk
        for (int k = 0; k < 3; k++) r[k] = (1 - p[0]) * d[1][k] + p[0] * d[2][k];
        unit_gradient(r, g);
        for (int k = 0; k < 3; k++) {
            offset[k] = p[1] * r[k] / mds_norm(r);
            for (int l = 0; l < 3; l++) {
                j->j[1][k][l] = p[1] * (1 - p[0]) * g[k][l];
                j->j[2][k][l] = p[1] * p[0] * g[k][l];
            }
        }
        break;
    case MDS_VSITE_THREE_FAD:
        construct_fad(p, d[1], d[2], offset, j);
        break;
    case MDS_VSITE_THREE_OUT:
        mds_cross(d[1], d[2], r);
        cross_matrix(d[1], c1);
        cross_matrix(d[2], c2);
        for (int k = 0; k < 3; k++) {
            offset[k] = p[0] * d[1][k] + p[1] * d[2][k] + p[2] * r[k];
            for (int l = 0; l < 3; l++) {
                j->j[1][k][l] = p[0] * (k == l) - p[2] * c2[k][l];
                j->j[2][k][l] = p[1] * (k == l) + p[2] * c1[k][l];
            }
        }
        break;
    case MDS_VSITE_FOUR_FDN:
        construct_fdn(p, d, offset, j);
        break;
    case MDS_VSITE_LINEAR:
        break; // any number of atoms: by the callers
    }
    // the site moves with its first atom when all move together
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) j->j[0][k][l] = (k == l) - j->j[1][k][l] - j->j[2][k][l] - j->j[3][k][l];
}

/// x_b - x_a at the nearest image.
static void from_to(const mds_device *d, int32_t a, int32_t b, double r[3])
{
    for (int k = 0; k < 3; k++) r[k] = d->x[b][k] - d->x[a][k];
    mds_box_nearest(&d->box, r);
}

void mds_ref_vsite_place(mds_device *d)
{
    const mds_vsites *v = &d->system->vsite;

    for (int32_t s = 0; s < v->n; s++) {
        const int32_t *atom = v->atom + v->start[s], n = v->start[s + 1] - v->start[s];
        double         r[4][3] = {{0}}, offset[3] = {0, 0, 0};
        jacobian       j;

        if (v->kind[s] == MDS_VSITE_LINEAR) {
            for (int32_t m = 1; m < n; m++) {
                from_to(d, atom[0], atom[m], r[0]);
                for (int k = 0; k < 3; k++) offset[k] += v->weight[v->start[s] + m] * r[0][k];
            }
        } else {
            for (int32_t m = 1; m < n; m++) from_to(d, atom[0], atom[m], r[m]);
            construct((mds_vsite_kind)v->kind[s], v->param[s], r, offset, &j);
        }
        for (int k = 0; k < 3; k++) d->x[v->site[s]][k] = d->x[atom[0]][k] + offset[k];
    }
}

void mds_ref_vsite_spread(mds_device *d, mds_work work)
{
    const mds_vsites *v = &d->system->vsite;

    (void)work; // virial always
    for (int32_t s = v->n - 1; s >= 0; s--) {
        const int32_t *atom = v->atom + v->start[s], n = v->start[s + 1] - v->start[s];
        double        *f = d->f[v->site[s]], r[4][3] = {{0}}, offset[3];
        jacobian       j;

        if (v->kind[s] == MDS_VSITE_LINEAR) {
            for (int32_t m = 0; m < n; m++)
                for (int k = 0; k < 3; k++) d->f[atom[m]][k] += v->weight[v->start[s] + m] * f[k];
        } else {
            for (int32_t m = 1; m < n; m++) from_to(d, atom[0], atom[m], r[m]);
            construct((mds_vsite_kind)v->kind[s], v->param[s], r, offset, &j);
            for (int32_t m = 0; m < n; m++)
                for (int l = 0; l < 3; l++) {
                    double g = 0;

                    for (int k = 0; k < 3; k++) g += f[k] * j.j[m][k][l];
                    d->f[atom[m]][l] += g;
                    for (int k = 0; k < 3; k++) d->virial[k][l] -= 0.5 * r[m][k] * g;
                }
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++) d->virial[k][l] += 0.5 * offset[k] * f[l];
        }
        for (int k = 0; k < 3; k++) f[k] = 0;
    }
}
