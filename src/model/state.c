// SPDX-License-Identifier: Apache-2.0
// The state, its boxes, and velocities drawn from Maxwell's distribution.
#include "model/model.h"

#include "base/rng.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

mds_status mds_state_init(mds_state *state, int32_t n_atoms)
{
    memset(state, 0, sizeof *state);
    state->n_atoms = n_atoms;
    MDS_TRY(mds_alloc(&state->x, (size_t)n_atoms, sizeof *state->x));
    return mds_alloc(&state->v, (size_t)n_atoms, sizeof *state->v);
}

void mds_state_free(mds_state *state)
{
    mds_free(state->x);
    mds_free(state->v);
    memset(state, 0, sizeof *state);
}

mds_status mds_state_copy(mds_state *to, const mds_state *from)
{
    double(*x)[3], (*v)[3];

    if (to->n_atoms != from->n_atoms || !to->x) {
        mds_state_free(to);
        MDS_TRY(mds_state_init(to, from->n_atoms));
    }
    x = to->x;
    v = to->v;
    *to = *from;
    to->x = x;
    to->v = v;
    memcpy(x, from->x, (size_t)from->n_atoms * sizeof *x);
    memcpy(v, from->v, (size_t)from->n_atoms * sizeof *v);
    return MDS_OK;
}

void mds_state_draw_velocities(const mds_system *system, double temperature, uint64_t seed, mds_state *state)
{
    int32_t i;
    int     k;

    for (i = 0; i < state->n_atoms; i++) {
        const double width = system->mass[i] > 0 ? sqrt(MDS_BOLTZMANN * temperature / system->mass[i]) : 0;
        double       g[4];

        mds_gauss4(seed, MDS_RNG_VELOCITY, 0, (uint32_t)i, g);
        for (k = 0; k < 3; k++) state->v[i][k] = width * g[k];
    }
    state->has_velocities = true;
}

/// Turn the frame so that a is along x and b in the xy plane.
static void rotate_to_triangle(mds_box *box, double (*x)[3], double (*v)[3], int32_t n_atoms)
{
    double  e[3][3], turned[3][3], size;
    int32_t i;
    int     k, l;

    size = mds_norm(box->a[0]);
    for (k = 0; k < 3; k++) e[0][k] = box->a[0][k] / size;
    mds_cross(box->a[0], box->a[1], e[2]);
    size = mds_norm(e[2]);
    for (k = 0; k < 3; k++) e[2][k] /= size;
    mds_cross(e[2], e[0], e[1]);
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) turned[k][l] = l > k ? 0 : mds_dot(box->a[k], e[l]);
    memcpy(box->a, turned, sizeof turned);
    for (i = 0; i < 2 * n_atoms; i++) {
        double *row = i < n_atoms ? x[i] : v ? v[i - n_atoms] : NULL, old[3];

        if (!row) break;
        memcpy(old, row, sizeof old);
        for (k = 0; k < 3; k++) row[k] = mds_dot(old, e[k]);
    }
}

mds_status mds_box_reduce(mds_box *box, double (*x)[3], double (*v)[3], int32_t n_atoms)
{
    double(*h)[3] = box->a;
    double cross[3], n;
    int    k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++)
            MDS_CHECK(isfinite(h[k][l]) && fabs(h[k][l]) < 1e6, MDS_E_INPUT, "box vector %d is (%g, %g, %g) nm", k + 1,
                      h[k][0], h[k][1], h[k][2]);
    mds_cross(h[0], h[1], cross);
    MDS_CHECK(mds_dot(cross, h[2]) > 1e-6, MDS_E_INPUT,
              "the box vectors (%g %g %g), (%g %g %g), (%g %g %g) nm span no positive volume", h[0][0], h[0][1], h[0][2],
              h[1][0], h[1][1], h[1][2], h[2][0], h[2][1], h[2][2]);
    if (h[0][1] != 0 || h[0][2] != 0 || h[1][2] != 0 || h[0][0] < 0 || h[1][1] < 0)
        rotate_to_triangle(box, x, v, n_atoms);
    n = rint(h[2][1] / h[1][1]);
    for (k = 0; k < 3; k++) h[2][k] -= n * h[1][k];
    n = rint(h[2][0] / h[0][0]);
    for (k = 0; k < 3; k++) h[2][k] -= n * h[0][k];
    n = rint(h[1][0] / h[0][0]);
    for (k = 0; k < 3; k++) h[1][k] -= n * h[0][k];
    return MDS_OK;
}

mds_status mds_box_from_lengths(const double length[3], const double angle[3], mds_box *box)
{
    double cosine[3], sine_gamma, w;
    int    k;

    for (k = 0; k < 3; k++) {
        MDS_CHECK(isfinite(length[k]) && length[k] > 0 && length[k] < 1e6, MDS_E_INPUT, "box length %g nm", length[k]);
        MDS_CHECK(angle[k] > 1 && angle[k] < 179, MDS_E_INPUT, "box angle %g degrees", angle[k]);
        cosine[k] = angle[k] == 90 ? 0 : cos(angle[k] * MDS_PI / 180);
    }
    memset(box, 0, sizeof *box);
    sine_gamma = sqrt(1 - cosine[2] * cosine[2]);
    box->a[0][0] = length[0];
    box->a[1][0] = length[1] * cosine[2];
    box->a[1][1] = length[1] * sine_gamma;
    box->a[2][0] = length[2] * cosine[1];
    box->a[2][1] = length[2] * (cosine[0] - cosine[1] * cosine[2]) / sine_gamma;
    w = length[2] * length[2] - box->a[2][0] * box->a[2][0] - box->a[2][1] * box->a[2][1];
    MDS_CHECK(w > 0, MDS_E_INPUT, "box angles %g %g %g degrees do not make a box", angle[0], angle[1], angle[2]);
    box->a[2][2] = sqrt(w);
    return MDS_OK;
}
