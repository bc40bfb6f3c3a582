// SPDX-License-Identifier: Apache-2.0
// Measurements over groups, a vector of them at a time; what is measured and why so: measure.c. Compiled once per instruction set
// level (isa.h).
#include "cpu/isa.h"
#include "cpu/isa_group.h"

/// Sum over the n real lanes, in lane order.
VD_INLINE double sum_lanes(vd a, int n)
{
    double sum = 0;

    for (int l = 0; l < n; l++) sum += a[l];
    return sum;
}

/// sum[k][l] += factor m a_k b_l over the atoms.
VD_INLINE void add_outer(vd sum[3][3], int atoms, double factor, const vd *mass, const vd *a, const vd *b)
{
    for (int q = 0; q < atoms; q++)
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++) sum[k][l] += factor * mass[q] * a[3 * q + k] * b[3 * q + l];
}

VD_INLINE void add_sums(const vd sum[3][3], int n, double to[3][3])
{
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) to[k][l] += sum_lanes(sum[k][l], n);
}

/// bias of every constraint: the mean of the squares of its relative velocities now and half a step behind.
VD_INLINE void bend(int kind, const vd *v, const vd *w, vd bias[3])
{
    static const int water[3][2] = {{0, 1}, {0, 2}, {1, 2}}, cluster[3][2] = {{0, 1}, {0, 2}, {0, 3}};
    const int        links = kind == CPU_WATER ? 3 : cpu_group_atoms[kind] - 1;

    for (int c = 0; c < links; c++) {
        const int *end = kind == CPU_WATER ? water[c] : cluster[c];

        bias[c] = v[0] * 0;
        for (int k = 0; k < 3; k++) {
            const vd dv = v[3 * end[0] + k] - v[3 * end[1] + k], dw = w[3 * end[0] + k] - w[3 * end[1] + k];

            bias[c] += 0.5 * (dv * dv + dw * dw);
        }
    }
}

/// Constraint virial and FIRE's sums of one batch. w: velocities half a step behind, or v.
VD_INLINE void measure_forces(const batch *b, int kind, const vd *mass, const vd *w, cpu_move_sums *sums)
{
    const int atoms = cpu_group_atoms[kind];
    vd        a[12], path[12], from[12], bias[3], force[3][3] = {{{0}}}, inertia[3][3] = {{{0}}}, fv = {0}, ff = {0}, vv = {0};

    for (int q = 0; q < 3 * atoms; q++) {
        a[q] = b->im[q / 3] * b->f[q];
        path[q] = fv;
        from[q] = b->x[q] - b->x[q % 3];
    }
    group_project(b, kind, b->x, a, NULL);
    bend(kind, b->v, w, bias);
    group_project(b, kind, b->x, path, bias);
    add_outer(inertia, atoms, -0.5, mass, from, path);
    for (int q = 0; q < 3 * atoms; q++) {
        fv += mass[q / 3] * a[q] * b->v[q];
        ff += mass[q / 3] * mass[q / 3] * a[q] * a[q];
        vv += b->v[q] * b->v[q];
        a[q] -= b->im[q / 3] * b->f[q];
    }
    add_outer(force, atoms, -0.5, mass, from, a);
    add_sums((const vd(*)[3])force, b->n, sums->virial);
    add_sums((const vd(*)[3])inertia, b->n, sums->inertia);
    sums->fv += sum_lanes(fv, b->n);
    sums->ff += sum_lanes(ff, b->n);
    sums->vv += sum_lanes(vv, b->n);
}

VD_INLINE void measure(const mds_device *d, int kind, const cpu_measure *what, int32_t first, int32_t last, cpu_move_sums *sums)
{
    const int    atoms = cpu_group_atoms[kind];
    const double share = what->half_step ? 0.25 : 0.5;
    batch        b;

    for (int32_t p = first * GROUP_PARTS; p < last * GROUP_PARTS; p++) {
        vd w[12], mass[4], sum[3][3] = {{{0}}};

        if (!batch_find(d->move, kind, p / GROUP_PARTS, p % GROUP_PARTS, &b)) continue;
        for (int a = 0; a < atoms; a++) mass[a] = 1 / b.im[a];
        batch_load(&b, atoms, (const double(*)[3])d->v, b.v);
        batch_load(&b, atoms, (const double(*)[3])d->x, b.x);
        batch_load(&b, atoms, (const double(*)[3])d->f, b.f);
        for (int q = 0; q < 3 * atoms; q++) {
            w[q] = b.v[q];
            if (what->half_step) w[q] -= d->params.dt * b.im[q / 3] * b.f[q];
        }
        if (what->half_step) group_project(&b, kind, b.x, w, NULL);
        add_outer(sum, atoms, share, mass, b.v, b.v);
        if (what->half_step) add_outer(sum, atoms, share, mass, w, w);
        add_sums((const vd(*)[3])sum, b.n, sums->kinetic);
        if (what->forces) measure_forces(&b, kind, mass, w, sums);
    }
}

void MDS_ISA_NAME(mds_isa_measure)(const mds_device *d, int kind, const cpu_measure *what, int32_t first, int32_t last,
                                   cpu_move_sums *sums)
{
    switch (kind) {
    case CPU_WATER:
        measure(d, CPU_WATER, what, first, last, sums);
        break;
    case CPU_XH1:
        measure(d, CPU_XH1, what, first, last, sums);
        break;
    case CPU_XH2:
        measure(d, CPU_XH2, what, first, last, sums);
        break;
    case CPU_XH3:
        measure(d, CPU_XH3, what, first, last, sums);
        break;
    default:
        measure(d, CPU_FREE, what, first, last, sums);
        break;
    }
}
