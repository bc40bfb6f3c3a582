// SPDX-License-Identifier: Apache-2.0
// The pair kernels of one instruction set level for most cases: one cut-off, and forces alone, with or without a modifier of LJ, or with
// energies and none. isa_pair_any.c has those for everything else.
//
// For every inner entry: 8 atoms i are moved by the entry's translation t (in double, rounded once) and stay in registers or
// near cache while clusters j stream past. A tile's arithmetic, with s = 2/r from one Newton step and r2 = r^2:
//
//     Coulomb  F/r = qq (s^3 - P)              qq carries 1/8: s^3 = 8/r^3, P the polynomial of num.h times 8/rc^3
//     LJ       F/r = s^8 (C12 s^6 - C6)        C12 = 12 c12/2^14, C6 = 6 c6/2^8
//
// so no factor 1/2 is ever multiplied. P is evaluated in left = cut-off^2 - r2 (if steep, from the middle of the range), and the
// sign of left tells which lanes count: the others, and excluded ones, are cleared at the end; r2 is kept above R2_MIN so that atoms on top of each other give
// finite numbers. Where qq, C12 and C6 come from:
//     common     a table of tiles: most clusters look alike (four oxygens and hydrogens of water in some order), so the
//                products of all pairs of common clusters are made beforehand, whatever the rule (common.c). Atoms with LJ
//                come first in a cluster: where i has no more than two, half of the lanes go without LJ
//     geometric  C12 = a_i a_j, C6 = b_i b_j
//     Lorentz    w = (a_i + a_j) s = sigma/r, e = b_i b_j = 12 epsilon:  F/r = s^2 e w^6 (w^6 - 1/2)
//     matrix     C12, C6, C4 gathered by types; 12-6-4 adds -4 c4/r^6 to F/r
//
// What a core needs, found by counting and timing on Zen 4: multipliers are the scarcest units, so what can be an addition, a
// maximum or integer work is; every broadcast and shuffle costs as much as an addition. A tile's chain of dependent
// operations is 100 cycles long and its work 30, so several tiles must be under way: two vectors step by step in turn, and
// the distances of the next turn, with half of the polynomial, before the forces of this one. Derivation, modifiers and
// errors: docs/theory/pair.md [pall2013].
#include "cpu/isa_pair.h"

/// What is fixed when a kernel is compiled.
typedef struct {
    int  lj, degree; // CPU_LJ_... or COMMON; NO_COULOMB: s = 1/r^2
    int  modifier;
    bool energy; // polynomial of the potential: CPU_LOW_POT
    bool few; // COMMON: no LJ in the last two atoms i of a cluster
    bool one; // COMMON, no Coulomb: the same C12 and C6 for all pairs
} flavour;
enum { COMMON = CPU_N_LJ, NO_COULOMB = -2 };

/// Constants in vectors, loaded once per call.
typedef struct {
    vf cut2, beyond_middle, force[13];
    vf c12, c6; // one
    vf twice_switch, half_inv_width;  // of a modifier; it sees 2r, so that coefficients are scaled
    vf a12, b12, a6, b6;
} constants;

/// One vector of pairs on its way: `distances` leaves d, s, left and p; `forces` the force on j in d.
typedef struct {
    vm mask;
    vf dx, dy, dz; // from i to j
    vf s, left;    // 2/r (without Coulomb 1/r^2), cut2 - r2
    vf p;          // the polynomial, down to some power
} pairs;

/// Parameters of a vector of pairs: C12 and C6; by the Lorentz rule, where nothing but the force is wanted of them, sigma/4 + sigma/4 and
/// 12 epsilon.
typedef struct {
    vf qq, u, v, c4;
#if VF_WIDTH == 16
    vh low_u, low_v;
#endif
} couple;

/// A statement for k = 0 and, if n is 2, for k = 1. Not a loop, so that every index is a constant from the start.
#define EACH(...)                                                                                            \
    do {                                                                                                     \
        {                                                                                                    \
            enum { k = 0 };                                                                                  \
            __VA_ARGS__;                                                                                     \
        }                                                                                                    \
        if (n > 1) {                                                                                         \
            enum { k = 1 };                                                                                  \
            __VA_ARGS__;                                                                                     \
        }                                                                                                    \
    } while (0)

/// The power of the polynomial's last term that `distances` has added; the rest is left for `forces`. The polynomial does not wait
/// for the root: with half of it here, the chains of both are about as long.
ALWAYS int reached(const flavour f)
{
    enum { EARLY = 4 };

    return VF_PARTS > 1 ? f.degree : f.degree > EARLY ? f.degree - EARLY : 0;
}

/// What the polynomial is evaluated in.
ALWAYS vf variable(const constants *c, const flavour f, vf left)
{
    if (f.degree > 9) return c->beyond_middle - left; // r2 - middle
    return left;
}

/// Distances of n vectors (1 or 2): of i[0] and i[di] with j[0] and j[dj].
ALWAYS void distances(const constants *c, const flavour f, const atoms_i *i, int di, const atoms_j *j, int dj, pairs *on,
                      const int n)
{
    vf  r2[2], y[2], v[2];
    int d;

    EACH(on[k].dx = j[k * dj].x - i[k * di].x);
    EACH(on[k].dy = j[k * dj].y - i[k * di].y);
    EACH(on[k].dz = j[k * dj].z - i[k * di].z);
    EACH(r2[k] = on[k].dx * on[k].dx);
    EACH(r2[k] = on[k].dy * on[k].dy + r2[k]);
    EACH(r2[k] = on[k].dz * on[k].dz + r2[k]);
    EACH(r2[k] = vf_max(r2[k], vf_set(R2_MIN)));
    EACH(on[k].left = c->cut2 - r2[k]);
    if (f.degree == NO_COULOMB) {
        EACH(y[k] = vf_estimate_inverse(r2[k]));
        EACH(r2[k] = 2.0f - r2[k] * y[k]);
    } else {
        EACH(y[k] = vf_estimate_rsqrt(r2[k]));
        EACH(r2[k] = r2[k] * y[k]);
        EACH(r2[k] = 3.0f - r2[k] * y[k]);
        EACH(v[k] = variable(c, f, on[k].left));
        EACH(on[k].p = c->force[f.degree]);
#pragma GCC unroll 16
        for (d = f.degree - 1; d >= reached(f); d--) EACH(on[k].p = on[k].p * v[k] + c->force[d]);
    }
    EACH(on[k].s = r2[k] * y[k]);
}

/// Whether LJ goes by the short way of the Lorentz rule.
ALWAYS bool is_short(const flavour f)
{
    return f.lj == CPU_LJ_LORENTZ && f.modifier == PLAIN && !f.energy;
}

ALWAYS couple parameters(const cpu_form *form, const flavour f, const atoms_i *i, const atoms_j *j)
{
    couple p = {.c4 = vf_set(0)};

    p.qq = i->q * j->q;
    if (is_short(f)) {
        p.u = i->a + j->a;
        p.v = i->b * j->b;
    } else {
        coefficients(form, f.lj, i, j, &p.u, &p.v, &p.c4);
    }
    return p;
}

/// LJ F/r of a vector whose upper half has none.
ALWAYS vf lower_lj(const couple *of, vf s2)
{
#if VF_WIDTH == 16
    const vh low = vf_lower(s2), w = low * low, w6 = of->low_u * (w * low) - of->low_v;

    return vf_below_zeros(w * w * w6);
#else
    (void)of;
    return s2;
#endif
}

/// Whether a part of a tile has LJ.
ALWAYS bool has_lj(const flavour f, int part)
{
    return !f.few || 2 * part < VF_PARTS;
}

/// LJ F/r with a modifier, from that without.
ALWAYS vf modified(const constants *c, const flavour f, const couple *of, const pairs *on, vf s2, vf force)
{
    const vf t = vf_max((c->cut2 - on->left) * on->s - c->twice_switch, vf_set(0)); // 2 (r - rs)
    const vf s6 = s2 * s2 * s2;

    if (f.modifier == FORCE_SWITCH) return force + on->s * (t * t) * (of->u * (c->a12 + c->b12 * t) - of->v * (c->a6 + c->b6 * t));
    const vf u = t * c->half_inv_width, u2 = u * u, level = 1.0f - u2 * u * (10.0f - u * (15.0f - 6.0f * u));
    const vf slope = c->half_inv_width * u2 * (u * (60.0f - 30.0f * u) - 30.0f) * on->s;

    return force * level - s6 * (of->u * s6 * (1.0f / 3) - of->v * (2.0f / 3)) * slope;
}

/// Energies of a vector of pairs.
ALWAYS void add_energy(const constants *c, const cpu_form *form, const flavour f, bool masked, const couple *of, const pairs *on, vf s2,
                       sums *sum)
{
    const vf s4 = s2 * s2, s6 = s4 * s2, v = c->beyond_middle - on->left;
    vf       p = vf_set(form->pot[CPU_LOW_POT]), lj = s6 * (of->u * s6 * (1.0f / 3) - of->v * (2.0f / 3));
    int      k;

#pragma GCC unroll 16
    for (k = CPU_LOW_POT - 1; k >= 0; k--) p = p * v + vf_set(form->pot[k]);
    lj -= of->u * vf_set(form->shift12) - of->v * vf_set(form->shift6);
    if (f.lj == CPU_LJ_MATRIX) lj -= of->c4 * s4;
    p = vf_keep_positive(on->left, of->qq * (4.0f * on->s - p));
    lj = vf_keep_positive(on->left, lj);
    sum->q += masked ? vf_keep(on->mask, p) : p;
    sum->lj += masked ? vf_keep(on->mask, lj) : lj;
}

/// r (x) f of a vector of pairs with force F/r.
ALWAYS void add_virial(const pairs *on, vf force, sums *sum)
{
    const vf x = force * on->dx, y = force * on->dy, z = force * on->dz;

    sum->xx += on->dx * x;
    sum->xy += on->dx * y;
    sum->xz += on->dx * z;
    sum->yy += on->dy * y;
    sum->yz += on->dy * z;
    sum->zz += on->dz * z;
}

/// Forces of n vectors, parts part[0], part[1] of their tiles; energies and virial into sum.
ALWAYS void forces(const constants *c, const cpu_form *form, const flavour f, bool masked, const int part[2], const couple *of, pairs *on,
                   sums *sum, const int n)
{
    const bool lj[2] = {has_lj(f, part[0]), has_lj(f, part[1])};
    vf         s2[2], p[2], w[2], w6[2], e[2], force[2], v[2];
    int        d;

    EACH(v[k] = variable(c, f, on[k].left));
    if (f.degree == NO_COULOMB) {
        EACH(s2[k] = on[k].s);
    } else {
        EACH(s2[k] = on[k].s * on[k].s);
        EACH(p[k] = on[k].p);
    }
    if (is_short(f)) { // the short way to the end: e w6 and w6 - 1/2 side by side
        EACH(w[k] = of[k].u * on[k].s);
        EACH(w[k] = w[k] * w[k]);
        EACH(w6[k] = w[k] * w[k]);
        EACH(e[k] = of[k].v * s2[k]);
        EACH(w6[k] = w6[k] * w[k]);
        EACH(e[k] = e[k] * w6[k]);
        EACH(w6[k] = w6[k] - 0.5f);
    } else if (VF_WIDTH == 16 && f.few) {
        EACH(w[k] = lower_lj(&of[k], s2[k]));
    } else {
        EACH(if (lj[k]) w[k] = s2[k] * s2[k]);
        EACH(if (lj[k]) w6[k] = w[k] * s2[k]);
        EACH(if (lj[k]) e[k] = w[k] * w[k]);
        EACH(if (lj[k]) w6[k] = of[k].u * w6[k] - of[k].v);
    }
#pragma GCC unroll 16
    for (d = reached(f) - 1; d >= 0; d--) EACH(p[k] = p[k] * v[k] + c->force[d]);
    if (f.degree == NO_COULOMB) {
        EACH(force[k] = vf_product(e[k], w6[k]));
    } else {
        EACH(p[k] = s2[k] * on[k].s - p[k]);
        if (VF_WIDTH == 16 && f.few) {
            EACH(force[k] = of[k].qq * p[k] + w[k]);
        } else {
            EACH(p[k] = of[k].qq * p[k]);
            if (f.lj == CPU_LJ_MATRIX) EACH(p[k] = p[k] - of[k].c4 * (w[k] * s2[k]));
            if (f.modifier != PLAIN)
                EACH(force[k] = p[k] + modified(c, f, &of[k], &on[k], s2[k], e[k] * w6[k]));
            else
                EACH(force[k] = p[k]; if (lj[k]) force[k] = e[k] * w6[k] + p[k]);
        }
    }
    EACH(force[k] = vf_keep_positive(on[k].left, force[k]));
    if (masked) EACH(force[k] = vf_keep(on[k].mask, force[k]));
    if (f.energy) {
        EACH(add_energy(c, form, f, masked, &of[k], &on[k], s2[k], sum));
        EACH(add_virial(&on[k], force[k], sum));
    }
    EACH(on[k].dx = vf_product(force[k], on[k].dx));
    EACH(on[k].dy = vf_product(force[k], on[k].dy));
    EACH(on[k].dz = vf_product(force[k], on[k].dz));
}

/// What a segment works on.
typedef struct {
    const cpu_pair_args *args;
    const constants     *c;
    const atoms_i       *i;      // of A and B, or of the half at hand
    const float         *row[2]; // of the table of common tiles, of the same halves
    force_i             *on;
    sums                *sum;
} work;

ALWAYS void add_i(force_i *on, int part, const pairs *from)
{
    on->x[part] -= from->dx;
    on->y[part] -= from->dy;
    on->z[part] -= from->dz;
}

ALWAYS void load_lower(const float *tile, couple *of)
{
#if VF_WIDTH == 16
    of->low_u = vh_load(tile + 16);
    of->low_v = vh_load(tile + 32);
#else
    (void)tile, (void)of;
#endif
}

/// Parameters of n vectors: parts part[0], part[1] of the tiles of halves half[0], half[1] with clusters list[0], list[dj].
ALWAYS void find_parameters(const work *w, const flavour f, const int half[2], const int part[2], const int32_t *list, int dj,
                            couple *of, const int n)
{
    const cpu_pair_args *a = w->args;

    if (f.one) {
        EACH(of[k].u = w->c->c12);
        EACH(of[k].v = w->c->c6);
    } else if (f.lj == COMMON) {
        EACH(const float *tile = w->row[half[k]] + a->column[list[k * dj]] + part[k] * VF_WIDTH;
             of[k].qq = vf_load(tile); of[k].u = vf_load(tile + 16); of[k].v = vf_load(tile + 32);
             if (VF_WIDTH == 16 && f.few) load_lower(tile, &of[k]));
    } else {
        atoms_j j[2];

        load_parameters(a, f.lj, list[0], &j[0]);
        if (dj) load_parameters(a, f.lj, list[dj], &j[1]);
        EACH(of[k] = parameters(a->form, f, &w->i[half[k] * VF_PARTS + part[k]], &j[k * dj]));
    }
}

/// Where there is little to compute for a tile, a system that does not fit near the core waits for its lines: ask early for those
/// of a tile to come.
ALWAYS void fetch(const work *w, const flavour f, const int32_t *list)
{
    if (!f.one) return;
    __builtin_prefetch(w->args->xq + 16 * (size_t)list[CPU_AHEAD], 0);
    __builtin_prefetch(w->args->force + 16 * (size_t)list[CPU_AHEAD], 1);
}

#if VF_PARTS == 1
/// One turn: both halves of one tile (both), or one half of n tiles. Here up to s.
ALWAYS void begin_turn(const work *w, const flavour f, bool both, const int32_t *list, pairs *on, const int n)
{
    atoms_j j[2];

    load_x(w->args, list[0], &j[0]);
    if (!both && n > 1) load_x(w->args, list[1], &j[1]);
    distances(w->c, f, w->i, both, j, !both, on, n);
}

/// The rest of it.
ALWAYS void end_turn(const work *w, const flavour f, bool both, bool masked, const int32_t *list, const uint32_t *mask,
                     pairs *on, const int n)
{
    const int half[2] = {0, both}, part[2] = {0, 0};
    float    *force = w->args->force;
    couple    of[2];

    find_parameters(w, f, half, part, list, !both && n > 1, of, n);
    if (masked) on[0].mask = vm_of_tile(mask[0], 0);
    if (masked && n > 1) on[1].mask = vm_of_tile(both ? mask[0] >> 16 : mask[1], 0);
    forces(w->c, w->args->form, f, masked, part, of, on, w->sum, n);
    add_i(w->on, 0, &on[0]);
    if (n > 1) add_i(both ? w->on + 1 : w->on, 0, &on[1]);
    if (both) {
        vf_add_to_line(force + 16 * (size_t)list[0], on[0].dx + on[1].dx, on[0].dy + on[1].dy, on[0].dz + on[1].dz);
    } else {
        vf_add_to_line(force + 16 * (size_t)list[0], on[0].dx, on[0].dy, on[0].dz);
        if (n > 1) vf_add_to_line(force + 16 * (size_t)list[1], on[1].dx, on[1].dy, on[1].dz);
    }
}

/// n tiles against A and B (both) or one half, forces only.
ALWAYS void fast_segment(const work *w, const flavour f, bool both, bool masked, const int32_t *list, const uint32_t *mask,
                         int32_t n)
{
    const int tiles = both ? 1 : 2;
    int32_t   k = 0;
    pairs     now[2], next[2];

    if (n >= tiles) {
        begin_turn(w, f, both, list, now, 2);
        for (; k + 2 * tiles <= n; k += tiles) {
            begin_turn(w, f, both, list + k + tiles, next, 2);
            fetch(w, f, list + k);
            if (!both) fetch(w, f, list + k + 1);
            end_turn(w, f, both, masked, list + k, mask + k, now, 2);
            now[0] = next[0];
            now[1] = next[1];
        }
        end_turn(w, f, both, masked, list + k, mask + k, now, 2);
        k += tiles;
    }
    if (!both && k < n) {
        begin_turn(w, f, both, list + k, now, 1);
        end_turn(w, f, both, masked, list + k, mask + k, now, 1);
    }
}
#else
/// n tiles against A and B (both) or one half, forces only. Narrow vectors: the parts of a tile, two by two.
ALWAYS void fast_segment(const work *w, const flavour f, bool both, bool masked, const int32_t *list, const uint32_t *mask,
                         int32_t n)
{
    int32_t k;
    int     h, p;

    for (k = 0; k < n; k++) {
        atoms_j j;
        vf      x = vf_set(0), y = x, z = x;

        load_x(w->args, list[k], &j);
        fetch(w, f, list + k);
#pragma GCC unroll 2
        for (h = 0; h < 2; h++)
#pragma GCC unroll 2
            for (p = 0; p < VF_PARTS; p += 2) {
                if (h && !both) continue;
                const int half[2] = {h, h}, part[2] = {p, p + 1};
                pairs     on[2];
                couple    of[2];

                distances(w->c, f, w->i + h * VF_PARTS + p, 1, &j, 0, on, 2);
                find_parameters(w, f, half, part, list + k, 0, of, 2);
                if (masked) on[0].mask = vm_of_tile(mask[k] >> (16 * h), p);
                if (masked) on[1].mask = vm_of_tile(mask[k] >> (16 * h), p + 1);
                forces(w->c, w->args->form, f, masked, part, of, on, w->sum, 2);
                add_i(w->on + h, p, &on[0]);
                add_i(w->on + h, p + 1, &on[1]);
                x += on[0].dx + on[1].dx;
                y += on[0].dy + on[1].dy;
                z += on[0].dz + on[1].dz;
            }
        vf_add_to_line(w->args->force + 16 * (size_t)list[k], x, y, z);
    }
}
#endif

ALWAYS flavour with_few(flavour f)
{
    f.few = true;
    return f;
}

/// All six segments of an entry.
ALWAYS void segments(const cpu_pair_args *a, const constants *c, const flavour f, const cpu_part *part, const atoms_i *i, force_i *on,
                     sums *sum)
{
    const int32_t  *j = a->list->j + part->first;
    const uint32_t *mask = a->list->mask + part->first_mask;
    int             k;

    for (int half = -1; half < 2; half++) { // -1: both
        const int32_t *n = &part->n[2 * (half + 1)];
        const int      h = half < 0 ? 0 : half;
        work           w = {a, c, i + h * VF_PARTS, {NULL, NULL}, on + h, sum};

        for (k = 0; k < 2 && f.lj == COMMON && !f.one; k++)
            w.row[k] = a->table + (size_t)a->column[2 * part->super + (half < 0 ? k : h)] * (size_t)a->n_common;
        if (half < 0) {
            fast_segment(&w, f, true, true, j, mask, n[0]);
            fast_segment(&w, f, true, false, j + n[0], mask, n[1]);
        } else {
            fast_segment(&w, f, false, true, j, mask, n[0]);
            fast_segment(&w, f, false, false, j + n[0], mask, n[1]);
        }
        j += n[0] + n[1];
        mask += n[0];
    }
}

/// Constants of a kernel.
ALWAYS constants constants_of(const cpu_pair_args *a, const flavour f)
{
    const cpu_form *form = a->form;
    constants       c = {.cut2 = vf_set(form->cut2), .beyond_middle = vf_set(form->cut2 - form->middle)};

    if (f.one) {
        c.c12 = vf_set(a->table[16]);
        c.c6 = vf_set(a->table[32]);
    }
    for (int k = 0; k <= f.degree; k++) c.force[k] = vf_set(f.degree <= 9 ? form->force_edge[k] : form->force[k]);
    c.twice_switch = vf_set(2 * form->lj_switch);
    c.half_inv_width = vf_set(form->inv_width / 2);
    c.a12 = vf_set(form->a12 / 8);
    c.b12 = vf_set(form->b12 / 16);
    c.a6 = vf_set(form->a6 / 8);
    c.b6 = vf_set(form->b6 / 16);
    return c;
}

ALWAYS void run(cpu_pair_args *args, const flavour f)
{
    cpu_pair_args   copy = *args, *a = &copy; // its pointers stay in registers: no store of forces can change them
    const constants c = constants_of(a, f);
    totals          all = {0};
    int32_t         e;

    for (e = 0; e < a->list->n_parts; e++) {
        const cpu_part *part = &a->list->part[e];
        atoms_i         i[2 * VF_PARTS];
        force_i         on[2];
        sums            sum;

        if (part->common != (f.lj == COMMON)) continue;
        clear_i(on);
        if (f.energy) clear_sums(&sum);
        load_i(a, f.lj, part, i);
        // atoms with LJ come first in a cluster (order.c): in water hardly any has more than two
        const bool     plain = f.modifier == PLAIN && !f.energy;
        const int32_t *column = f.lj == COMMON && f.degree != NO_COULOMB && plain ? a->column + 2 * part->super : NULL;

        if (column && column[0] < a->few && column[1] < a->few)
            segments(a, &c, with_few(f), part, i, on, &sum);
        else
            segments(a, &c, f, part, i, on, &sum);
        store_i(a->force, part->super, on);
        if (f.energy) add_lanes(&sum, &all);
    }
    if (f.energy) finish(&all, args);
}

#define KERNELS(rule, LJ)                                                                                    \
    KERNEL(rule##_7, .lj = LJ, .degree = 7)                                                                  \
    KERNEL(rule##_9, .lj = LJ, .degree = 9)                                                                  \
    KERNEL(rule##_12, .lj = LJ, .degree = 12)                                                                \
    KERNEL(rule##_switched, .lj = LJ, .degree = 9, .modifier = POTENTIAL_SWITCH)                             \
    KERNEL(rule##_force_switched, .lj = LJ, .degree = 9, .modifier = FORCE_SWITCH)                           \
    KERNEL(rule##_energy, .lj = LJ, .degree = 9, .energy = true)
#define ROW(rule) rule##_7, rule##_9, rule##_12, rule##_switched, rule##_force_switched, rule##_energy

KERNELS(geometric, CPU_LJ_GEOMETRIC)
KERNELS(lorentz, CPU_LJ_LORENTZ)
KERNELS(matrix, CPU_LJ_MATRIX)
KERNELS(common, COMMON)
KERNEL(common_lj, .lj = COMMON, .degree = NO_COULOMB)
KERNEL(common_one, .lj = COMMON, .degree = NO_COULOMB, .one = true)

// isa_pair_any.c and isa_search.c, of the same level
extern const cpu_pair_any MDS_ISA_NAME(mds_isa_pair_any);
int32_t     MDS_ISA_NAME(mds_isa_columns)(const cpu_near *query, const cpu_columns *columns, int32_t c0, int32_t c1, int32_t least, cpu_run *run);
int32_t     MDS_ISA_NAME(mds_isa_near)(const cpu_near *query, const cpu_run *run, int32_t n, int32_t *j);
void        MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, cpu_tiles *of, uint32_t *scratch, cpu_inner *inner);

extern const cpu_isa MDS_ISA_NAME(mds_isa);
const cpu_isa        MDS_ISA_NAME(mds_isa) = {
           .name = MDS_ISA_TEXT,
           .width = VF_WIDTH,
           .columns = MDS_ISA_NAME(mds_isa_columns),
           .near = MDS_ISA_NAME(mds_isa_near),
           .prune = MDS_ISA_NAME(mds_isa_prune),
           .pair = {{ROW(geometric)}, {ROW(lorentz)}, {ROW(matrix)}},
           .any = &MDS_ISA_NAME(mds_isa_pair_any),
           .common = {ROW(common), common_lj, common_one},
};
