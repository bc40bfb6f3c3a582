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

enum { N_KINDS = 3, COMMON_TOO = 2 }; // both, A, B; of common clusters, and of the others

/// Tiles [k0, k1) sorted: for every VF_WIDTH of them a word of bits for both, A alone and B alone of the common clusters, then
/// of the others. Counts are added to. Returns the end of the words.
ALWAYS uint32_t *sort_tiles(const cpu_exact *query, bool common, const cpu_tile *tile, const uint32_t *pairs, int32_t k0,
                            int32_t k1, int32_t count[COMMON_TOO * N_KINDS], uint32_t *word)
{
    int32_t k;
    int     s;

    for (k = k0; k < k1; k += VF_WIDTH, word += COMMON_TOO * N_KINDS) {
        const uint32_t valid = k1 - k >= VF_WIDTH ? (1u << VF_WIDTH) - 1 : (1u << (k1 - k)) - 1;
        const vi       v = vi_load(pairs + k);
        const uint32_t a = vi_test(v, 0xffff) & valid, b = vi_test(v, (int32_t)0xffff0000) & valid;
        uint32_t       others = valid;

        if (common) {
            vi j, mask;

            vi_load_pairs(tile + k, &j, &mask);
            others = vi_test(vi_gather(query->column, j, valid), INT32_MIN);
        }
        word[0] = a & b & ~others;
        word[1] = a & ~b & ~others;
        word[2] = b & ~a & ~others;
        word[3] = a & b & others;
        word[4] = a & ~b & others;
        word[5] = b & ~a & others;
        for (s = common ? 0 : N_KINDS; s < COMMON_TOO * N_KINDS; s++) count[s] += __builtin_popcount(word[s]);
    }
    return word;
}

/// Tiles [k0, k1) to their places at[], and their masks if there are any (at_mask).
ALWAYS const uint32_t *place_tiles(bool common, const cpu_tile *tile, int32_t k0, int32_t k1, const uint32_t *word,
                                   int32_t *at[COMMON_TOO * N_KINDS], uint32_t **at_mask)
{
    int32_t k;
    int     s;

    for (k = k0; k < k1; k += VF_WIDTH, word += COMMON_TOO * N_KINDS) {
        vi j, mask;

        vi_load_pairs(tile + k, &j, &mask);
        for (s = common ? 0 : N_KINDS; s < COMMON_TOO * N_KINDS; s++) {
            at[s] += vi_append(at[s], word[s], j);
            if (!at_mask) continue;
            vi of_half = mask; // of both; or of A or B alone
            if (s % N_KINDS == 1) of_half = mask & 0xffff;
            if (s % N_KINDS == 2) of_half = (mask >> 16) & 0xffff;
            at_mask[s] += vi_append(at_mask[s], word[s], of_half);
        }
    }
    return word;
}

/// A part for the counted tiles, unless there are none, and where they go.
ALWAYS void add_part(const cpu_exact *query, bool common, const int32_t masked[N_KINDS], const int32_t plain[N_KINDS],
                     cpu_inner *inner, int32_t *at_masked[N_KINDS], int32_t *at_plain[N_KINDS], uint32_t *at_mask[N_KINDS])
{
    cpu_part *part = &inner->part[inner->n_parts];
    int       k;

    part->super = query->super;
    part->common = common;
    part->first = inner->n_j;
    part->first_mask = inner->n_mask;
    memcpy(part->t, query->t, sizeof part->t);
    for (k = 0; k < N_KINDS; k++) {
        part->n[2 * k] = masked[k];
        part->n[2 * k + 1] = plain[k];
        at_masked[k] = inner->j + inner->n_j;
        at_mask[k] = inner->mask + inner->n_mask;
        at_plain[k] = at_masked[k] + masked[k];
        inner->n_j += masked[k] + plain[k];
        inner->n_mask += masked[k];
    }
    inner->n_parts += inner->n_j > part->first;
}

void MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, const cpu_tile *tile, int32_t n, uint32_t *scratch,
                                 cpu_inner *inner)
{
    const vf       radius2 = vf_set(query->radius2);
    const int32_t *column = query->column, n_masked = query->n_masked;
    const bool     common = column && column[2 * query->super] >= 0 && column[2 * query->super + 1] >= 0;
    int32_t        masked[COMMON_TOO * N_KINDS] = {0}, plain[COMMON_TOO * N_KINDS] = {0};
    int32_t       *at_masked[COMMON_TOO * N_KINDS], *at_plain[COMMON_TOO * N_KINDS];
    uint32_t      *at_mask[COMMON_TOO * N_KINDS], *words = scratch + n + VF_WIDTH, *end;
    super_atoms    i;
    int32_t        k;

    load_super(query, &i);
    for (k = 0; k < n; k++) scratch[k] = near_pairs(query, &i, tile[k].j, radius2) & tile[k].mask;
    end = sort_tiles(query, common, tile, scratch, 0, n_masked, masked, words);
    sort_tiles(query, common, tile, scratch, n_masked, n, plain, end);
    add_part(query, true, masked, plain, inner, at_masked, at_plain, at_mask);
    add_part(query, false, masked + N_KINDS, plain + N_KINDS, inner, at_masked + N_KINDS, at_plain + N_KINDS,
             at_mask + N_KINDS);
    place_tiles(common, tile, 0, n_masked, words, at_masked, at_mask);
    place_tiles(common, tile, n_masked, n, end, at_plain, NULL);
}
