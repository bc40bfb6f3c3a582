// SPDX-License-Identifier: Apache-2.0
// Constraints as in the textbook: SHAKE for positions [ryckaert1977], RATTLE for velocities [andersen1983].
//
// One constraint at a time, round after round, until every one holds; waters and X-H clusters get no treatment of
// their own, because this is what the closed solutions of the other backends are checked against. A round costs one
// visit to each constraint; the error shrinks by about a half per round for a rigid water.
//
// Visit order: the three distances of each water (OH, OH, HH), the up to three of each cluster, the links.
#include "ref/ref.h"

#include <math.h>
#include <string.h>

static const int max_rounds = 100000; // some hundred are needed; what takes longer has no solution

int32_t mds_ref_n_constraints(const mds_system *s)
{
    return 3 * s->water.n + 3 * s->cluster.n + s->link.n;
}

/// Constraint k: its atoms and length. False where a cluster has fewer hydrogens.
static bool constraint(const mds_system *s, int32_t k, int32_t *i, int32_t *j, double *length)
{
    static const int first[3] = {0, 0, 1}, second[3] = {1, 2, 2};

    if (k < 3 * s->water.n) {
        const int32_t *atom = s->water.atom + k / 3 * 3;

        *i = atom[first[k % 3]];
        *j = atom[second[k % 3]];
        *length = s->water.length[k / 3 * 2 + k % 3 / 2];
        return true;
    }
    k -= 3 * s->water.n;
    if (k < 3 * s->cluster.n) {
        *i = s->cluster.atom[k / 3 * 4];
        *j = s->cluster.atom[k / 3 * 4 + 1 + k % 3];
        *length = s->cluster.length[k];
        return *j >= 0;
    }
    k -= 3 * s->cluster.n;
    *i = s->link.atom[2 * k];
    *j = s->link.atom[2 * k + 1];
    *length = s->link.length[k];
    return true;
}

static void fault(mds_device *d, int32_t atom)
{
    if (!(d->fault & MDS_FAULT_CONSTRAINT)) d->fault_atom = atom;
    d->fault |= MDS_FAULT_CONSTRAINT;
}

static void difference(const double a[3], const double b[3], double out[3])
{
    int k;

    for (k = 0; k < 3; k++) out[k] = a[k] - b[k];
}

/// Move both ends of a constraint: w_i -= g d / m_i, w_j += g d / m_j.
static void push(const mds_system *s, double (*w)[3], int32_t i, int32_t j, double g, const double d[3])
{
    int k;

    for (k = 0; k < 3; k++) {
        w[i][k] -= g * d[k] / s->mass[i];
        w[j][k] += g * d[k] / s->mass[j];
    }
}

/// One round of SHAKE; the largest relative error of a squared length that it met, 1.
static double shake_round(mds_device *d, int32_t *worst)
{
    const mds_system *s = d->system;
    double            largest = 0, length, old[3], now[3];
    int32_t           k, i, j;

    for (k = 0; k < mds_ref_n_constraints(s); k++) {
        double error;

        if (!constraint(s, k, &i, &j, &length)) continue;
        difference(d->x_fix[i], d->x_fix[j], old);
        difference(d->x[i], d->x[j], now);
        error = mds_dot(now, now) - length * length;
        if (!isnan(largest) && !(fabs(error) / (length * length) <= largest)) {
            largest = fabs(error) / (length * length);
            *worst = i;
        }
        push(s, d->x, i, j, error / (2 * (1 / s->mass[i] + 1 / s->mass[j]) * mds_dot(old, now)), old);
    }
    return largest;
}

mds_status mds_ref_fix_x(mds_device *d, double h)
{
    const double tolerance = 2e-12; // of the square: lengths good to 1e-12, some 100 roundings of positions of 10 nm
    const double far = 1e6;         // diverged, whatever comes
    double (*before)[3], error = 0;
    int32_t worst = -1, i, k;
    int     round;

    MDS_TRY(mds_alloc(&before, (size_t)d->n, sizeof *before));
    for (i = 0; i < d->n; i++) memcpy(before[i], d->x[i], sizeof before[i]);
    for (round = 0; round < max_rounds; round++) {
        error = shake_round(d, &worst);
        if (!(error > tolerance) || !(error < far)) break;
    }
    if (!(error <= tolerance)) fault(d, worst);
    for (i = 0; h > 0 && i < d->n; i++)
        for (k = 0; k < 3; k++) d->v[i][k] += (d->x[i][k] - before[i][k]) / h;
    mds_free(before);
    return MDS_OK;
}

void mds_ref_squares(const mds_device *d, const double (*v)[3], double weight, double *bias)
{
    double  length, dv[3];
    int32_t k, i, j;

    for (k = 0; k < mds_ref_n_constraints(d->system); k++)
        if (constraint(d->system, k, &i, &j, &length)) {
            difference(v[i], v[j], dv);
            bias[k] += weight * mds_dot(dv, dv);
        }
}

void mds_ref_project(mds_device *d, double (*w)[3], const double *bias)
{
    const mds_system *s = d->system;
    const double      tolerance = 1e-14; // of the speeds at hand: some 50 roundings of a difference of them
    double            largest = 0, asked = 0, length, r[3], dw[3];
    int32_t           k, i, j, worst = -1;
    int               round;

    for (round = 0; round < max_rounds; round++) {
        largest = 0;
        for (k = 0; k < mds_ref_n_constraints(s); k++) {
            double speed;

            if (!constraint(s, k, &i, &j, &length)) continue;
            difference(d->x[i], d->x[j], r);
            difference(w[i], w[j], dw);
            speed = mds_dot(r, dw) + (bias ? bias[k] : 0);
            push(s, w, i, j, speed / (mds_dot(r, r) * (1 / s->mass[i] + 1 / s->mass[j])), r);
            if (!isnan(largest) && !(fabs(speed) / length <= largest)) {
                largest = fabs(speed) / length;
                worst = i;
            }
            asked = fmax(asked, fabs(speed) / length + mds_norm(w[i]) + mds_norm(w[j]));
        }
        if (!(largest > tolerance * asked)) break;
    }
    if (!(largest <= tolerance * asked)) fault(d, worst);
}
