// SPDX-License-Identifier: Apache-2.0
// What the pair kernels of a level share: atoms of a tile in vectors, their parameters, forces on i. isa_pair.c says how a tile is
// laid out and where parameters come from.
#ifndef MDS_CPU_ISA_PAIR_H
#define MDS_CPU_ISA_PAIR_H

#include "cpu/isa.h"
#include "cpu/simd.h"

/// Modifiers of LJ forces, as in cpu_pair_any.
enum { PLAIN, POTENTIAL_SWITCH, FORCE_SWITCH };

#define R2_MIN 1e-4f // nm^2: a pair closer than 0.01 nm is treated as if at 0.01 nm

/// Atoms i of one part (VF_GROUPS of them) of one half.
typedef struct {
    vf x, y, z, q, a, b;
    vi row;
} atoms_i;

typedef struct {
    vf x, y, z, q, a, b;
    vi column;
} atoms_j;

/// Scaled C12, C6 and C4 of a part of a tile.
ALWAYS void coefficients(const cpu_form *form, int lj, const atoms_i *i, const atoms_j *j, vf *c12, vf *c6, vf *c4)
{
    *c4 = vf_set(0);
    if (lj == CPU_LJ_GEOMETRIC) {
        *c12 = i->a * j->a;
        *c6 = i->b * j->b;
    } else if (lj == CPU_LJ_LORENTZ) {
        const vf sigma = i->a + j->a, sigma2 = sigma * sigma, sigma6 = sigma2 * sigma2 * sigma2;

        *c12 = i->b * j->b * sigma6 * sigma6;
        *c6 = 0.5f * (i->b * j->b * sigma6);
    } else {
        const vi index = i->row + j->column;

        *c12 = vf_gather(form->matrix, index);
        *c6 = vf_gather(form->matrix + 1, index);
        *c4 = vf_gather(form->matrix + 2, index);
    }
}

/// Forces on i of one half of a super.
typedef struct {
    vf x[VF_PARTS], y[VF_PARTS], z[VF_PARTS];
} force_i;

ALWAYS void load_x(const cpu_pair_args *a, int32_t cluster, atoms_j *j)
{
    const float *line = a->xq + 16 * (size_t)cluster;

    j->x = vf_every_group(line);
    j->y = vf_every_group(line + 4);
    j->z = vf_every_group(line + 8);
}

ALWAYS void load_parameters(const cpu_pair_args *a, int lj, int32_t cluster, atoms_j *j)
{
    j->q = vf_every_group(a->xq + 16 * (size_t)cluster + 12);
    if (lj == CPU_LJ_MATRIX) {
        j->column = vi_every_group(a->type + 4 * (size_t)cluster);
    } else {
        j->a = vf_every_group(a->lj + 8 * (size_t)cluster);
        j->b = vf_every_group(a->lj + 8 * (size_t)cluster + 4);
    }
}

ALWAYS void clear_i(force_i on[2])
{
    for (int k = 0; k < 2 * VF_PARTS; k++) { // not memset: as `rep stos` it takes as long as two tiles
        force_i *half = on + k / VF_PARTS;

        half->x[k % VF_PARTS] = half->y[k % VF_PARTS] = half->z[k % VF_PARTS] = vf_set(0);
    }
}

/// The eight atoms of a super, moved by t. lj: CPU_LJ_..., or CPU_N_LJ for none of the parameters.
ALWAYS void load_i(const cpu_pair_args *a, int lj, const cpu_part *part, atoms_i i[2 * VF_PARTS])
{
    int half, p, k;

    for (half = 0; half < 2; half++) {
        const size_t  cluster = 2 * (size_t)part->super + (size_t)half;
        const float  *line = a->xq + 16 * cluster;
        const int32_t width = a->stride / 4;
        float         x[12];
        int32_t       row[4];

        for (k = 0; k < 12; k++) x[k] = (float)((double)line[k] + part->t[k / 4]);
        for (k = 0; k < 4; k++) row[k] = lj == CPU_LJ_MATRIX ? a->type[4 * cluster + (size_t)k] * width : 0;
        for (p = 0; p < VF_PARTS; p++) {
            atoms_i *to = &i[half * VF_PARTS + p];

            to->x = vf_by_group(x + p * VF_GROUPS);
            to->y = vf_by_group(x + 4 + p * VF_GROUPS);
            to->z = vf_by_group(x + 8 + p * VF_GROUPS);
            if (lj == CPU_N_LJ) continue; // common clusters: from their table
            to->q = vf_by_group(line + 12 + p * VF_GROUPS);
            if (lj == CPU_LJ_MATRIX) {
                to->row = vi_by_group(row + p * VF_GROUPS);
            } else {
                to->a = vf_by_group(a->lj + 8 * cluster + (size_t)(p * VF_GROUPS));
                to->b = vf_by_group(a->lj + 8 * cluster + 4 + (size_t)(p * VF_GROUPS));
            }
        }
    }
}

ALWAYS void store_i(float *force, int32_t super, const force_i on[2])
{
    int half, p;

    for (half = 0; half < 2; half++)
        for (p = 0; p < VF_PARTS; p++) {
            float *line = force + 16 * (2 * (size_t)super + (size_t)half) + p * VF_GROUPS;

            vf_add_groups(line, on[half].x[p]);
            vf_add_groups(line + 4, on[half].y[p]);
            vf_add_groups(line + 8, on[half].z[p]);
        }
}

// Energies and r (x) f are added lane by lane in floats over an entry, then lane by lane in double.

/// What a vector of pairs adds to: sums over an entry, lane by lane.
typedef struct {
    vf lj, q;                  // energies
    vf xx, xy, xz, yy, yz, zz; // r (x) f
} sums;
enum { N_SUMS = 8 };

/// The same of all entries.
typedef struct {
    double lane[N_SUMS][VF_WIDTH];
} totals;

ALWAYS void clear_sums(sums *s)
{
    s->lj = s->q = s->xx = s->xy = s->xz = s->yy = s->yz = s->zz = vf_set(0);
}

ALWAYS void add_lanes(const sums *from, totals *to)
{
    const vf all[N_SUMS] = {from->lj, from->q, from->xx, from->xy, from->xz, from->yy, from->yz, from->zz};

    for (int n = 0; n < N_SUMS; n++)
        for (int k = 0; k < VF_WIDTH; k++) to->lane[n][k] += (double)all[n][k];
}

ALWAYS void finish(const totals *all, cpu_pair_args *args)
{
    double sum[N_SUMS] = {0};

    for (int n = 0; n < N_SUMS; n++)
        for (int k = 0; k < VF_WIDTH; k++) sum[n] += all->lane[n][k];
    args->energy_lj += sum[0];
    args->energy_q += sum[1];
    args->virial[0][0] -= 0.5 * sum[2];
    args->virial[0][1] -= 0.5 * sum[3];
    args->virial[0][2] -= 0.5 * sum[4];
    args->virial[1][1] -= 0.5 * sum[5];
    args->virial[1][2] -= 0.5 * sum[6];
    args->virial[2][2] -= 0.5 * sum[7];
}

/// A kernel: `run` of the file, compiled for a flavour.
#define KERNEL(name, ...)                                                                                    \
    static void name(cpu_pair_args *args)                                                                    \
    {                                                                                                        \
        run(args, (flavour){__VA_ARGS__});                                                                   \
    }

#endif
