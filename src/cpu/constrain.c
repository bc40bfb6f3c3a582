// SPDX-License-Identifier: Apache-2.0
// Constraints of one group, in double: up to three in closed form, more by conjugate gradients.
//
// Every constraint problem here is the same linear system A lambda = g. With bond directions d_c and inverse masses,
//   A_cl = d_c . (sum over shared atoms of +-d_l / m)                       (= J M^-1 J^T, symmetric, positive)
// Velocities and accelerations need it once (the answer is exact); positions need it a few times: M-SHAKE's Newton
// steps [krautler2001] with exact derivatives for small groups, where the error squares each time, and with the fixed
// matrix of the old directions for networks, where each step gains about a digit. A network's matrix is never stored: A times a
// vector is a pass over its links. Conjugate gradients with the diagonal as preconditioner take some ten passes whatever
// the size, since stiffness does not travel along a chain of atoms of like mass; rings and triangles need no care.
//
// Tolerance: what the user asks for or 1e-10, whichever is less; Newton adds a step after it, so small groups end at
// rounding. Waters come here for velocities only in rare passes; their fast path is isa_group.h.
#include "cpu/move.h"

#include <math.h>
#include <string.h>

enum { SMALL = 3 };

void mds_cpu_group_load(const mds_device *d, const cpu_group *g, cpu_scratch *s)
{
    int32_t i;

    for (i = 0; i < g->n; i++) {
        memcpy(s->x[i], d->x[g->slot[i]], sizeof s->x[i]);
        s->im[i] = d->inv_mass[g->slot[i]];
    }
}

static void directions(const cpu_group *g, const double (*x)[3], double (*dir)[3])
{
    int32_t c;
    int     k;

    for (c = 0; c < g->nc; c++)
        for (k = 0; k < 3; k++) dir[c][k] = x[g->pair[2 * c]][k] - x[g->pair[2 * c + 1]][k];
}

/// Solve a symmetric or general system of up to three equations by elimination with the largest pivot. False: singular.
static bool solve_small(int n, double a[SMALL][SMALL], double b[SMALL], double out[SMALL])
{
    int i, j, k;

    for (i = 0; i < n; i++) {
        int p = i;

        for (j = i + 1; j < n; j++)
            if (fabs(a[j][i]) > fabs(a[p][i])) p = j;
        if (!(fabs(a[p][i]) > 0)) return false;
        for (k = 0; k < n && p != i; k++) {
            const double t = a[i][k];

            a[i][k] = a[p][k];
            a[p][k] = t;
        }
        if (p != i) {
            const double t = b[i];

            b[i] = b[p];
            b[p] = t;
        }
        for (j = i + 1; j < n; j++) {
            const double t = a[j][i] / a[i][i];

            for (k = i; k < n; k++) a[j][k] -= t * a[i][k];
            b[j] -= t * b[i];
        }
    }
    for (i = n - 1; i >= 0; i--) {
        out[i] = b[i];
        for (k = i + 1; k < n; k++) out[i] -= a[i][k] * out[k];
        out[i] /= a[i][i];
    }
    return true;
}

/// Rows of A with left directions `left` and right directions `right`.
static void matrix_small(const cpu_group *g, const double *im, double (*const left)[3], double (*const right)[3],
                         double a[SMALL][SMALL])
{
    int c, l;

    for (c = 0; c < g->nc; c++)
        for (l = 0; l < g->nc; l++) {
            const int32_t i = g->pair[2 * c], j = g->pair[2 * c + 1], m = g->pair[2 * l], n = g->pair[2 * l + 1];
            const double  weight = im[i] * ((i == m) - (i == n)) - im[j] * ((j == m) - (j == n));

            a[c][l] = weight != 0 ? weight * mds_dot(left[c], right[l]) : 0;
        }
}

/// w -= M^-1 J^T lambda.
static void push(const cpu_group *g, const double *im, double (*const dir)[3], const double *lambda, double (*w)[3])
{
    int32_t c;
    int     k;

    for (c = 0; c < g->nc; c++) {
        const int32_t i = g->pair[2 * c], j = g->pair[2 * c + 1];

        for (k = 0; k < 3; k++) {
            const double impulse = lambda[c] * dir[c][k];

            w[i][k] -= im[i] * impulse;
            w[j][k] += im[j] * impulse;
        }
    }
}

/// out = A lambda for a network.
static void multiply(const cpu_group *g, cpu_scratch *s, const double *lambda, double *out)
{
    int32_t c;
    int     k;

    memset(s->u, 0, (size_t)g->n * sizeof *s->u);
    push(g, s->im, s->d, lambda, s->u);
    for (c = 0; c < g->nc; c++) {
        const int32_t i = g->pair[2 * c], j = g->pair[2 * c + 1];

        out[c] = 0;
        for (k = 0; k < 3; k++) out[c] -= s->d[c][k] * (s->u[i][k] - s->u[j][k]);
    }
}

static double diagonal(const cpu_group *g, const cpu_scratch *s, int32_t c)
{
    return (s->im[g->pair[2 * c]] + s->im[g->pair[2 * c + 1]]) * mds_dot(s->d[c], s->d[c]);
}

/// A lambda = residual by conjugate gradients, until the residual's norm (in units of the diagonal) fell by `factor`
/// or below `floor2` in square. Destroys residual. False: no progress.
static bool conjugate_gradients(const cpu_group *g, cpu_scratch *s, double factor, double floor2)
{
    const int32_t nc = g->nc, max_rounds = 10 * nc + 100;
    double        norm = 0, stop = 0;
    int32_t       c, round;

    for (c = 0; c < nc; c++) {
        s->lambda[c] = 0;
        s->search[c] = s->residual[c] / diagonal(g, s, c);
        norm += s->residual[c] * s->search[c];
    }
    stop = fmax(norm * factor * factor, floor2);
    for (round = 0; round < max_rounds && norm > stop; round++) {
        double curvature = 0, next = 0, step;

        multiply(g, s, s->search, s->image);
        for (c = 0; c < nc; c++) curvature += s->search[c] * s->image[c];
        if (!(curvature > 0)) return false;
        step = norm / curvature;
        for (c = 0; c < nc; c++) {
            s->lambda[c] += step * s->search[c];
            s->residual[c] -= step * s->image[c];
            next += s->residual[c] * s->residual[c] / diagonal(g, s, c);
        }
        for (c = 0; c < nc; c++) s->search[c] = s->residual[c] / diagonal(g, s, c) + next / norm * s->search[c];
        norm = next;
    }
    return norm <= stop;
}

bool mds_cpu_group_project(const cpu_group *g, cpu_scratch *s, const double (*x)[3], double (*w)[3], const double *bias)
{
    double  floor2 = 0;
    int32_t c;

    if (!g->nc) return true;
    directions(g, x, s->d);
    for (c = 0; c < g->nc; c++) {
        const double *wi = w[g->pair[2 * c]], *wj = w[g->pair[2 * c + 1]];
        const double  dw[3] = {wi[0] - wj[0], wi[1] - wj[1], wi[2] - wj[2]};

        s->residual[c] = mds_dot(s->d[c], dw) + (bias ? bias[c] : 0);
        // a difference of w is good to some 1e-16 of w: below that there is nothing to solve
        floor2 += 1e-31 * (mds_dot(wi, wi) + mds_dot(wj, wj)) / (s->im[g->pair[2 * c]] + s->im[g->pair[2 * c + 1]]);
    }
    if (g->nc <= SMALL) {
        double a[SMALL][SMALL];

        matrix_small(g, s->im, s->d, s->d, a);
        if (!solve_small(g->nc, a, s->residual, s->lambda)) return false;
    } else if (!conjugate_gradients(g, s, 1e-14, floor2))
        return false;
    push(g, s->im, s->d, s->lambda, w);
    return true;
}

/// residual = (r^2 - L^2)/2 of x, and the largest relative error of a length, 1.
static double length_errors(const cpu_group *g, cpu_scratch *s, double (*now)[3])
{
    double  worst = 0;
    int32_t c;

    for (c = 0; c < g->nc; c++) {
        const double l2 = g->length[c] * g->length[c];
        const double *xi = s->x[g->pair[2 * c]], *xj = s->x[g->pair[2 * c + 1]];
        const double  r[3] = {xi[0] - xj[0], xi[1] - xj[1], xi[2] - xj[2]};

        if (now) memcpy(now[c], r, sizeof r);
        s->residual[c] = 0.5 * (mds_dot(r, r) - l2);
        if (!(fabs(s->residual[c]) / l2 <= worst)) worst = fabs(s->residual[c]) / l2;
        if (isnan(worst)) return worst;
    }
    return worst;
}

static bool fix_small(const cpu_group *g, double tolerance, cpu_scratch *s)
{
    double a[SMALL][SMALL], now[SMALL][3];
    int    round;

    for (round = 0; round < 50; round++) {
        const double error = length_errors(g, s, now);

        if (!(error < 1e6)) return false;
        matrix_small(g, s->im, now, s->d, a);
        if (!solve_small(g->nc, a, s->residual, s->lambda)) return false;
        push(g, s->im, s->d, s->lambda, s->x);
        if (error <= tolerance) return true; // and the step just made has squared it
    }
    return false;
}

bool mds_cpu_group_fix_x(const cpu_group *g, double tolerance, cpu_scratch *s)
{
    double error = 0, before = INFINITY;
    int    round;

    if (!g->nc) return true;
    directions(g, (const double(*)[3])s->r, s->d);
    if (g->nc <= SMALL) return fix_small(g, tolerance, s);
    for (round = 0; round < 500; round++) {
        error = length_errors(g, s, NULL);
        // past the tolerance go on while it pays: the last digits cost little and keep runs reversible
        if (!(error < 1e6) || (error <= tolerance && error > 0.3 * before) || error < 1e-15) break;
        before = error;
        if (!conjugate_gradients(g, s, 0.02, 0)) return error <= tolerance;
        push(g, s->im, s->d, s->lambda, s->x);
    }
    return error <= tolerance;
}
