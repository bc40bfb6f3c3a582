// SPDX-License-Identifier: Apache-2.0
// Distance work of the search and of pruning, of one instruction set level.
//
// near: boxes around clusters against the boxes of a super's two clusters, VF_WIDTH clusters j at a time.
// trim, prune: does any of the 16 pairs of a tile lie within the radius? The same float positions as the kernels'.
#include "cpu/isa.h"
#include "cpu/simd.h"

int32_t MDS_ISA_NAME(mds_isa_near)(const cpu_near *query, int32_t j0, int32_t j1, cpu_tile *out);
int32_t MDS_ISA_NAME(mds_isa_trim)(const cpu_exact *query, cpu_tile *tile, int32_t n);
void    MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, const cpu_tile *tile, int32_t n, uint8_t *scratch,
                                 cpu_inner *inner);

/// Squared distance of boxes: along each direction the gap between them, 0 where they overlap.
ALWAYS vf gap2(const vf lo[3], const vf hi[3], const float box[6])
{
    vf  sum = vf_set(0);
    int k;

    for (k = 0; k < 3; k++) {
        const vf gap = vf_max(vf_max(lo[k] - vf_set(box[3 + k]), vf_set(box[k]) - hi[k]), vf_set(0));

        sum += gap * gap;
    }
    return sum;
}

int32_t MDS_ISA_NAME(mds_isa_near)(const cpu_near *query, int32_t j0, int32_t j1, cpu_tile *out)
{
    const vf radius2 = vf_set(query->radius2);
    int32_t  n = 0, j;
    int      k;

    for (j = j0; j < j1; j += VF_WIDTH) {
        const uint32_t valid = j1 - j >= VF_WIDTH ? ~0u : (1u << (j1 - j)) - 1;
        vf             lo[3], hi[3];

        for (k = 0; k < 3; k++) {
            lo[k] = vf_load(query->bounds[k] + j);
            hi[k] = vf_load(query->bounds[3 + k] + j);
        }
        const uint32_t a = vm_bits(vf_less(gap2(lo, hi, query->box[0]), radius2)) & valid;
        const uint32_t b = vm_bits(vf_less(gap2(lo, hi, query->box[1]), radius2)) & valid;

        for (uint32_t any = a | b; any; any &= any - 1) {
            const int lane = __builtin_ctz(any);

            out[n].j = j + lane;
            out[n++].mask = ((a >> lane) & 1) | ((b >> lane) & 1) << 1;
        }
    }
    return n;
}

typedef struct {
    vf x[2 * VF_PARTS], y[2 * VF_PARTS], z[2 * VF_PARTS];
} super_atoms;

ALWAYS void load_super(const cpu_exact *query, super_atoms *i)
{
    int half, p, k;

    for (half = 0; half < 2; half++) {
        const float *line = query->xq + 16 * (2 * (size_t)query->super + (size_t)half);
        float        x[12];

        for (k = 0; k < 12; k++) x[k] = (float)((double)line[k] + query->t[k / 4]);
        for (p = 0; p < VF_PARTS; p++) {
            i->x[half * VF_PARTS + p] = vf_by_group(x + p * VF_GROUPS);
            i->y[half * VF_PARTS + p] = vf_by_group(x + 4 + p * VF_GROUPS);
            i->z[half * VF_PARTS + p] = vf_by_group(x + 8 + p * VF_GROUPS);
        }
    }
}

/// Whether a pair of half `half` with cluster j is within the radius.
ALWAYS bool half_near(const super_atoms *i, int half, vf x, vf y, vf z, vf radius2)
{
    vm  any = vm_of_tile(0, 0);
    int p;

    for (p = 0; p < VF_PARTS; p++) {
        const int q = half * VF_PARTS + p;
        const vf  dx = i->x[q] - x, dy = i->y[q] - y, dz = i->z[q] - z;

        any |= vf_less(dx * dx + dy * dy + dz * dz, radius2);
    }
    return vm_any(any);
}

/// The mask of a tile, with the halves that are too far cleared. No branches: which half is near is hard to predict.
ALWAYS uint32_t near_mask(const cpu_exact *query, const super_atoms *i, const cpu_tile *tile, vf radius2)
{
    const float   *line = query->xq + 16 * (size_t)tile->j;
    const vf       x = vf_every_group(line), y = vf_every_group(line + 4), z = vf_every_group(line + 8);
    const uint32_t a = half_near(i, 0, x, y, z, radius2), b = half_near(i, 1, x, y, z, radius2);

    return tile->mask & ((0u - a) >> 16 | (0u - b) << 16);
}

int32_t MDS_ISA_NAME(mds_isa_trim)(const cpu_exact *query, cpu_tile *tile, int32_t n)
{
    const vf    radius2 = vf_set(query->radius2);
    super_atoms i;
    int32_t     k, kept = 0;

    load_super(query, &i);
    for (k = 0; k < n; k++) {
        const uint32_t mask = near_mask(query, &i, &tile[k], radius2);

        tile[kept].j = tile[k].j;
        tile[kept].mask = mask;
        kept += mask != 0;
    }
    return kept;
}

/// Segment of a tile by its mask; CPU_N_SEGMENTS: no pair left.
ALWAYS uint8_t segment_of(uint32_t mask)
{
    // by A present, B present, some half of it masked
    static const uint8_t table[8] = {CPU_N_SEGMENTS, CPU_A,        CPU_B,        CPU_BOTH,
                                     CPU_N_SEGMENTS, CPU_A_MASKED, CPU_B_MASKED, CPU_BOTH_MASKED};
    const uint16_t a = (uint16_t)mask, b = (uint16_t)(mask >> 16);
    // neither 0 nor 0xffff
    const uint32_t partial = (uint16_t)(a - 1) < 0xfffe || (uint16_t)(b - 1) < 0xfffe;

    return table[(a != 0) | (b != 0) << 1 | partial << 2];
}

void MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, const cpu_tile *tile, int32_t n, uint8_t *scratch,
                                 cpu_inner *inner)
{
    const vf    radius2 = vf_set(query->radius2);
    cpu_part   *part = &inner->part[inner->n_parts];
    int32_t     count[CPU_N_SEGMENTS + 1] = {0};
    int64_t     at[CPU_N_SEGMENTS + 1], at_mask[CPU_N_SEGMENTS];
    super_atoms i;
    int32_t     k;

    load_super(query, &i);
    for (k = 0; k < n; k++) {
        scratch[k] = segment_of(near_mask(query, &i, &tile[k], radius2));
        count[scratch[k]]++;
    }
    if (count[CPU_N_SEGMENTS] == n) return;
    part->super = query->super;
    part->first = inner->n_j;
    part->first_mask = inner->n_mask;
    memcpy(part->t, query->t, sizeof part->t);
    memcpy(part->n, count, sizeof part->n);
    for (k = 0; k < CPU_N_SEGMENTS; k++) {
        at[k] = inner->n_j;
        at_mask[k] = inner->n_mask;
        inner->n_j += count[k];
        if (k % 2 == 0) inner->n_mask += count[k];
    }
    at[CPU_N_SEGMENTS] = inner->n_j; // dropped tiles land here, one over the other
    for (k = 0; k < n; k++) {
        const int s = scratch[k];

        inner->j[at[s]] = tile[k].j;
        at[s] += s != CPU_N_SEGMENTS;
        if (s == CPU_BOTH_MASKED) inner->mask[at_mask[s]++] = tile[k].mask;
        if (s == CPU_A_MASKED) inner->mask[at_mask[s]++] = tile[k].mask & 0xffff;
        if (s == CPU_B_MASKED) inner->mask[at_mask[s]++] = tile[k].mask >> 16;
    }
    inner->n_parts++;
}
