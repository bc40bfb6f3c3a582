// SPDX-License-Identifier: Apache-2.0
// Distance work of the search and of pruning, of one instruction set level.
//
// near: boxes around clusters against the boxes of a super's two clusters, VF_WIDTH clusters j at a time.
// trim, prune: does any of the 16 pairs of a tile lie within the radius? The same float positions as the kernels'.
#include "cpu/isa.h"
#include "cpu/simd.h"

int32_t MDS_ISA_NAME(mds_isa_near)(const cpu_near *query, int32_t j0, int32_t j1, cpu_tile *out);
int32_t MDS_ISA_NAME(mds_isa_trim)(const cpu_exact *query, cpu_tile *tile, int32_t n);
void    MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, const cpu_tile *tile, int32_t n, uint32_t *scratch,
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

/// One bit for each pair of half `half` with cluster j that is within the radius.
ALWAYS uint32_t near_bits(const super_atoms *i, int half, vf x, vf y, vf z, vf radius2)
{
    uint32_t bits = 0;
    int      p;

#pragma GCC unroll 4
    for (p = 0; p < VF_PARTS; p++) {
        const int q = half * VF_PARTS + p;
        const vf  dx = i->x[q] - x, dy = i->y[q] - y, dz = i->z[q] - z;

        bits |= vm_bits(vf_less(dx * dx + dy * dy + dz * dz, radius2)) << (p * VF_WIDTH);
    }
    return bits;
}

/// The pairs of a tile within the radius, as in its mask.
ALWAYS uint32_t near_pairs(const cpu_exact *query, const super_atoms *i, int32_t j, vf radius2)
{
    const float *line = query->xq + 16 * (size_t)j;
    const vf     x = vf_every_group(line), y = vf_every_group(line + 4), z = vf_every_group(line + 8);

    return near_bits(i, 0, x, y, z, radius2) | near_bits(i, 1, x, y, z, radius2) << 16;
}

/// Whether a half of a mask is neither empty nor full.
ALWAYS bool is_partial(uint32_t mask)
{
    return (uint16_t)(mask - 1) < 0xfffe || (uint16_t)((mask >> 16) - 1) < 0xfffe;
}

int32_t MDS_ISA_NAME(mds_isa_trim)(const cpu_exact *query, cpu_tile *tile, int32_t n)
{
    const vf    radius2 = vf_set(query->radius2);
    super_atoms i;
    int32_t     k, kept = 0, masked = 0;

    load_super(query, &i);
    for (k = 0; k < n; k++) {
        const uint32_t pairs = near_pairs(query, &i, tile[k].j, radius2) & tile[k].mask;
        const uint32_t a = (pairs & 0xffff) != 0, b = (pairs >> 16) != 0; // no branches: hard to predict

        tile[kept].j = tile[k].j;
        tile[kept].mask = tile[k].mask & ((0u - a) >> 16 | (0u - b) << 16);
        kept += pairs != 0;
    }
    for (k = 0; k < kept; k++)
        if (is_partial(tile[k].mask)) {
            const cpu_tile swap = tile[masked];

            tile[masked++] = tile[k];
            tile[k] = swap;
        }
    return kept;
}

/// Where tiles go: bit 0: near A, 1: near B, 2: not of common clusters alone. Near neither: to be dropped.
enum { NEAR_BOTH = 3, OTHERS = 4, N_CLASSES = 8 };

/// Tiles that are being sorted, by class: those that need a mask first, and their masks.
typedef struct {
    int32_t  *j[N_CLASSES], *first_j[N_CLASSES];
    uint32_t *mask[N_CLASSES], *first_mask[N_CLASSES];
} sorted;

/// Classes of tiles [k0, k1). Without a branch, for which class comes next cannot be foreseen; the scalar work runs beside the
/// distances' vectors.
ALWAYS void classify(const cpu_exact *query, const super_atoms *i, bool common, const cpu_tile *tile, int32_t k0, int32_t k1,
                     uint32_t *class)
{
    const vf radius2 = vf_set(query->radius2);
    int32_t  k;

    for (k = k0; k < k1; k++) {
        const int32_t  j = tile[k].j;
        const uint32_t pairs = near_pairs(query, i, j, radius2) & tile[k].mask;
        const uint32_t near = (uint32_t)((pairs & 0xffff) != 0) | (uint32_t)(pairs > 0xffff) << 1;

        class[k] = near | (common ? (uint32_t)query->column[j] >> 31 << 2 : OTHERS);
    }
}

/// Mask of a tile as its class has it: 32 bits for both halves, 16 of A or B alone.
ALWAYS uint32_t mask_of_class(uint32_t mask, uint32_t c)
{
    static const uint32_t shift[4] = {0, 0, 16, 0}, keep[4] = {0, 0xffff, 0xffff, 0xffffffff};

    return mask >> shift[c & 3] & keep[c & 3];
}

/// Tiles [k0, k1) to their classes; with masks, one by one.
ALWAYS void place_masked(const cpu_tile *tile, const uint32_t *class, int32_t k0, int32_t k1, sorted *to)
{
    int32_t k;

    for (k = k0; k < k1; k++) {
        *to->j[class[k]]++ = tile[k].j;
        *to->mask[class[k]]++ = mask_of_class(tile[k].mask, class[k]);
    }
}

/// Without masks: VF_WIDTH at once. The stores write past what they keep, and the last turn drops what is past the end.
ALWAYS void place(bool common, const cpu_tile *tile, uint32_t *class, int32_t k0, int32_t k1, sorted *to)
{
    int32_t k = k0;

#if VF_WIDTH == 16
    memset(class + k1, 0, VF_WIDTH * sizeof *class);
    for (; k < k1; k += VF_WIDTH) {
        const vi of = vi_load(class + k);
        vi       j, mask;
        int      c;

        vi_load_pairs(tile + k, &j, &mask);
#pragma GCC unroll 8
        for (c = common ? 0 : OTHERS; c < N_CLASSES; c++)
            if (c & 3) to->j[c] += vi_append_over(to->j[c], of, c, j);
    }
#endif
    (void)common;
    for (; k < k1; k++) *to->j[class[k]]++ = tile[k].j;
}

/// A part of the sorted tiles of common clusters or of the others, unless there are none.
static void add_part(const cpu_exact *query, bool common, const sorted *from, const int32_t n_masked[N_CLASSES], cpu_inner *inner)
{
    static const int near[3] = {NEAR_BOTH, 1, 2}; // the order of CPU_BOTH, CPU_A, CPU_B
    cpu_part        *part = &inner->part[inner->n_parts];
    int              k;

    part->super = query->super;
    part->common = common;
    part->first = inner->n_j;
    part->first_mask = inner->n_mask;
    memcpy(part->t, query->t, sizeof part->t);
    for (k = 0; k < 3; k++) {
        const int     c = near[k] + (common ? 0 : OTHERS);
        const int32_t n = (int32_t)(from->j[c] - from->first_j[c]);

        part->n[2 * k] = n_masked[c];
        part->n[2 * k + 1] = n - n_masked[c];
        if (n) memcpy(inner->j + inner->n_j, from->first_j[c], (size_t)n * sizeof *inner->j);
        if (n_masked[c]) memcpy(inner->mask + inner->n_mask, from->first_mask[c], (size_t)n_masked[c] * sizeof *inner->mask);
        inner->n_j += n;
        inner->n_mask += n_masked[c];
    }
    inner->n_parts += inner->n_j > part->first;
}

void MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, const cpu_tile *tile, int32_t n, uint32_t *scratch,
                                 cpu_inner *inner)
{
    const int32_t *column = query->column;
    const bool     common = column && column[2 * query->super] >= 0 && column[2 * query->super + 1] >= 0;
    int32_t        n_masked[N_CLASSES];
    sorted         to;
    super_atoms    i;
    const size_t   row = (size_t)n + 16; // and what the last store may write past its end
    uint32_t      *class = scratch + row * (2 * N_CLASSES);
    int            c;

    for (c = 0; c < N_CLASSES; c++) {
        to.j[c] = to.first_j[c] = (int32_t *)scratch + row * (size_t)c;
        to.mask[c] = to.first_mask[c] = scratch + row * (size_t)(N_CLASSES + c);
    }
    load_super(query, &i);
    if (common)
        classify(query, &i, true, tile, 0, n, class);
    else
        classify(query, &i, false, tile, 0, n, class);
    place_masked(tile, class, 0, query->n_masked, &to);
    for (c = 0; c < N_CLASSES; c++) n_masked[c] = (int32_t)(to.j[c] - to.first_j[c]);
    if (common)
        place(true, tile, class, query->n_masked, n, &to);
    else
        place(false, tile, class, query->n_masked, n, &to);
    if (common) add_part(query, true, &to, n_masked, inner);
    add_part(query, false, &to, n_masked, inner);
}
