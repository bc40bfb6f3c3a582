// SPDX-License-Identifier: Apache-2.0
// Distance work of the search and of pruning, of one instruction set level.
//
// columns: where in each of VF_WIDTH columns the clusters are that may be near a super.
// near: boxes around clusters against the box of a super, VF_WIDTH clusters j at a time.
// prune: does any of the 16 pairs of a tile lie within the radius? The same float positions as the kernels'.
#include "cpu/isa.h"
#include "cpu/simd.h"

int32_t     MDS_ISA_NAME(mds_isa_columns)(const cpu_near *query, const cpu_columns *columns, int32_t c0, int32_t c1, int32_t least, cpu_run *run);
int32_t     MDS_ISA_NAME(mds_isa_near)(const cpu_near *query, const cpu_run *run, int32_t n, int32_t *j);
void        MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, cpu_tiles *of, uint32_t *scratch, cpu_inner *inner);

/// How far lo..hi is from other_lo..other_hi.
ALWAYS vf gap(vf lo, vf hi, float other_lo, float other_hi)
{
    return vf_max(vf_max(lo - vf_set(other_hi), vf_set(other_lo) - hi), vf_set(0));
}

ALWAYS vi bin_of(const cpu_columns *columns, vf z)
{
    const vf at = z * vf_set(columns->bin) + vf_set(columns->at0);

    return vi_of(vf_min(vf_max(at, vf_set(0)), vf_set((float)(columns->n_bins - 1))));
}

/// Runs of those columns from c on whose bit is set: from the cluster at first to that at last in columns->reaching.
ALWAYS int32_t append_runs(cpu_run *run, uint32_t near, const cpu_columns *columns, int32_t c, vi first, vi last, int32_t least)
{
    int32_t index[2][VF_WIDTH], n = 0;

    memcpy(index[0], &first, sizeof first);
    memcpy(index[1], &last, sizeof last);
    for (; near; near &= near - 1) {
        const int     lane = __builtin_ctz(near);
        const int32_t j = columns->reaching[index[0][lane]], end = (columns->reaching[index[1][lane]] | 1) + 1, most = columns->start[c + lane + 1];

        run[n].first = j > least ? j : least;
        run[n].end = end < most ? end : most;
        n += run[n].first < run[n].end;
    }
    return n;
}

/// No super that follows the first one that reaches beyond a bin begins in that bin.
int32_t MDS_ISA_NAME(mds_isa_columns)(const cpu_near *query, const cpu_columns *columns, int32_t c0, int32_t c1, int32_t least, cpu_run *run)
{
    const float *box = query->box;
    const vf     radius2 = vf_set(query->radius2 * (1 + 1e-6f)); // what is left of it may be small, and is rounded
    const vi     zero = {0}, row = zero + columns->n_bins + 1;
    int32_t      n = 0, c;

    for (c = c0; c < c1; c += VF_WIDTH) {
        const uint32_t valid = c1 - c >= VF_WIDTH ? ~0u : (1u << (c1 - c)) - 1;
        const vf       u = gap(vf_load(columns->box[0] + c), vf_load(columns->box[1] + c), box[0], box[3]);
        const vf       v = gap(vf_load(columns->box[2] + c), vf_load(columns->box[3] + c), box[1], box[4]);
        const vf       left = radius2 - (u * u + v * v), reach = vf_root(vf_max(left, vf_set(0)));
        const uint32_t near = vm_bits(vf_less(vf_set(0), left)) & valid;
        const vi       at = (vi_count() + c) * row;
        const vi       first = at + bin_of(columns, vf_set(box[2]) - reach), last = at + bin_of(columns, vf_set(box[5]) + reach) + 1;

        n += append_runs(run + n, near, columns, c, first, last, least);
    }
    return n;
}

/// Squared distance of boxes: along each direction the gap between them, 0 where they overlap.
ALWAYS vf gap2(const vf lo[3], const vf hi[3], const vf box[6])
{
    vf  sum = vf_set(0);
    int k;

    for (k = 0; k < 3; k++) {
        const vf apart = vf_max(vf_max(lo[k] - box[3 + k], box[k] - hi[k]), vf_set(0));

        sum += apart * apart;
    }
    return sum;
}

/// j + n for every bit n that is set, packed. May write up to a whole vector. Returns how many.
ALWAYS int32_t append_set(int32_t *to, uint32_t bits, int32_t j)
{
#if VF_WIDTH == 16
    return vi_append_numbers(to, bits, j);
#else
    int32_t n = 0;

    for (; bits; bits &= bits - 1) to[n++] = j + __builtin_ctz(bits);
    return n;
#endif
}

int32_t MDS_ISA_NAME(mds_isa_near)(const cpu_near *query, const cpu_run *run, int32_t n, int32_t *out)
{
    const vf radius2 = vf_set(query->radius2);
    vf       box[6];
    int32_t  found = 0, r, j;
    int      k;

    for (k = 0; k < 6; k++) box[k] = vf_set(query->box[k]);
    for (r = 0; r < n; r++)
        for (j = run[r].first; j < run[r].end; j += VF_WIDTH) {
            const uint32_t valid = run[r].end - j >= VF_WIDTH ? ~0u : (1u << (run[r].end - j)) - 1;
            vf             lo[3], hi[3];

            for (k = 0; k < 3; k++) {
                lo[k] = vf_load(query->bounds[k] + j);
                hi[k] = vf_load(query->bounds[3 + k] + j);
            }
            found += append_set(out + found, vm_bits(vf_less(gap2(lo, hi, box), radius2)) & valid, j);
        }
    return found;
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

/// One bit for each pair of half `half` with cluster j whose squared distance is below radius2. near2: whether any is below that, added.
ALWAYS uint32_t near_bits(const super_atoms *i, int half, vf x, vf y, vf z, vf radius2, bool cut, vf keep2, uint32_t *near2)
{
    uint32_t bits = 0;
    int      p;

#pragma GCC unroll 4
    for (p = 0; p < VF_PARTS; p++) {
        const int q = half * VF_PARTS + p;
        const vf  dx = i->x[q] - x, dy = i->y[q] - y, dz = i->z[q] - z, r2 = dx * dx + dy * dy + dz * dz;

        bits |= vm_bits(vf_less(r2, radius2)) << (p * VF_WIDTH);
        if (cut) *near2 |= vm_bits(vf_less(r2, keep2));
    }
    return bits;
}

/// Where tiles go: bit 0: near A, 1: near B, 2: not of common clusters alone. Near neither: to be dropped.
enum { NEAR_BOTH = 3, OTHERS = 4, N_CLASSES = 8 };

/// Tiles that are being sorted, by class: those that need a mask first, and their masks.
typedef struct {
    int32_t  *j[N_CLASSES], *first_j[N_CLASSES];
    uint32_t *mask[N_CLASSES], *first_mask[N_CLASSES];
} sorted;

/// Classes of tiles [k0, k1), to class[to..]. Without a branch, for which class comes next cannot be foreseen; the scalar work runs beside the
/// distances' vectors. cut: tiles without a pair within keep2 leave the row. seen: bits of classes, added. Returns where it ends.
ALWAYS int32_t classify(const cpu_exact *query, const super_atoms *i, bool common, bool cut, cpu_tile *tile, int32_t k0, int32_t k1,
                        int32_t to, uint32_t *class, uint32_t *seen)
{
    const vf radius2 = vf_set(query->radius2), keep2 = vf_set(query->keep2);
    int32_t  k;

    for (k = k0; k < k1; k++) {
        const cpu_tile t = tile[k];
        const float   *line = query->xq + 16 * (size_t)t.j;
        const vf       x = vf_every_group(line), y = vf_every_group(line + 4), z = vf_every_group(line + 8);
        uint32_t       kept = 0;
        const uint32_t a = near_bits(i, 0, x, y, z, radius2, cut, keep2, &kept);
        const uint32_t pairs = (a | near_bits(i, 1, x, y, z, radius2, cut, keep2, &kept) << 16) & t.mask;
        const uint32_t near = (uint32_t)((pairs & 0xffff) != 0) | (uint32_t)(pairs > 0xffff) << 1;

        class[to] = near | (common ? (uint32_t)query->column[t.j] >> 31 << 2 : OTHERS);
        *seen |= class[to];
        if (cut) tile[to] = t;
        to += cut ? kept != 0 : 1;
    }
    return to;
}

/// All of them. Returns the bits of the classes that occur.
ALWAYS uint32_t classify_all(const cpu_exact *query, const super_atoms *i, bool common, bool cut, cpu_tiles *of, uint32_t *class)
{
    uint32_t      seen = 0;
    const int32_t n_masked = classify(query, i, common, cut, of->tile, 0, of->n_masked, 0, class, &seen);

    of->n = classify(query, i, common, cut, of->tile, of->n_masked, of->n, n_masked, class, &seen);
    of->n_masked = n_masked;
    return seen;
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

/// Without masks: VF_WIDTH at once, of the classes from `least` to `most`. The stores write past what they keep, and the last turn drops
/// what is past the end.
ALWAYS void place(int least, int most, const cpu_tile *tile, uint32_t *class, int32_t k0, int32_t k1, sorted *to)
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
        for (c = least; c <= most; c++)
            if (c & 3) to->j[c] += vi_append_over(to->j[c], of, c, j);
    }
#endif
    (void)least;
    (void)most;
    for (; k < k1; k++) *to->j[class[k]]++ = tile[k].j;
}

/// n numbers and what follows them up to a whole vector. These rows are short: a call would take longer.
ALWAYS void copy_over(void *to, const void *from, int32_t n)
{
    for (int32_t k = 0; k < n; k += VF_WIDTH) {
        const vi v = vi_load((const int32_t *)from + k);

        memcpy((int32_t *)to + k, &v, sizeof v);
    }
}

/// A part of the sorted tiles of common clusters or of the others, unless there are none. in_place: those near both are where they belong.
ALWAYS void add_part(const cpu_exact *query, bool common, bool in_place, const sorted *from, const int32_t n_masked[N_CLASSES], cpu_inner *inner)
{
    static const int near[3] = {NEAR_BOTH, 1, 2}; // the order of CPU_BOTH, CPU_A, CPU_B
    cpu_part        *part = &inner->part[inner->n_parts];
    int              k;

    part->super = query->super;
    part->common = common;
    part->first = inner->n_j;
    part->first_mask = inner->n_mask;
    memcpy(part->t, query->t, sizeof part->t);
#pragma GCC unroll 3
    for (k = 0; k < 3; k++) {
        const int     c = near[k] + (common ? 0 : OTHERS);
        const int32_t n = (int32_t)(from->j[c] - from->first_j[c]);

        part->n[2 * k] = n_masked[c];
        part->n[2 * k + 1] = n - n_masked[c];
        if (k || !in_place) copy_over(inner->j + inner->n_j, from->first_j[c], n);
        copy_over(inner->mask + inner->n_mask, from->first_mask[c], n_masked[c]);
        inner->n_j += n;
        inner->n_mask += n_masked[c];
    }
    inner->n_parts += inner->n_j > part->first;
}

void MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, cpu_tiles *of, uint32_t *scratch, cpu_inner *inner)
{
    const int32_t *column = query->column;
    const bool     common = column && column[2 * query->super] >= 0 && column[2 * query->super + 1] >= 0;
    int32_t        n_masked[N_CLASSES];
    sorted         to;
    super_atoms    i;
    const size_t   row = (size_t)of->n + 16; // and what the last store may write past its end
    uint32_t      *class = scratch + row * (2 * N_CLASSES);
    int            c;

    for (c = 0; c < N_CLASSES; c++) {
        to.j[c] = to.first_j[c] = (int32_t *)scratch + row * (size_t)c;
        to.mask[c] = to.first_mask[c] = scratch + row * (size_t)(N_CLASSES + c);
    }
    const int first = common ? NEAR_BOTH : NEAR_BOTH | OTHERS; // begins the first part
    uint32_t  seen;

    to.j[first] = to.first_j[first] = inner->j + inner->n_j;
    load_super(query, &i);
    if (query->keep2 > 0)
        seen = classify_all(query, &i, common, true, of, class);
    else if (common)
        seen = classify_all(query, &i, true, false, of, class);
    else
        seen = classify_all(query, &i, false, false, of, class);
    place_masked(of->tile, class, 0, of->n_masked, &to);
    for (c = 0; c < N_CLASSES; c++) n_masked[c] = (int32_t)(to.j[c] - to.first_j[c]);
    if (!common)
        place(OTHERS, N_CLASSES - 1, of->tile, class, of->n_masked, of->n, &to);
    else if (seen & OTHERS)
        place(0, N_CLASSES - 1, of->tile, class, of->n_masked, of->n, &to);
    else
        place(0, OTHERS - 1, of->tile, class, of->n_masked, of->n, &to);
    if (common) add_part(query, true, true, &to, n_masked, inner);
    if (seen & OTHERS) add_part(query, false, !common, &to, n_masked, inner);
}
