// SPDX-License-Identifier: Apache-2.0
// Pairs: constants of the forms, choice of the kernel, pruning, and the threads.
//
// Every thread owns a contiguous share of the outer list, and when pruning is due (search.c decides by displacements) makes an inner list
// from it. What its parts will cost is known then, and they are dealt anew: thread t takes a contiguous share of all parts, in thread order,
// of equal cost, whoever made them. It runs the kernel over them and the excluded pairs that are its own, into its own force lines;
// energies and the virial go to its own sums. Nothing is shared, so the result depends on the number of threads and not on their timing.
#include "cpu/list.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- constants

/// LJ parameters of types by rule, and the matrix. The last row and column belong to padding: all zero.
static mds_status set_lj(mds_device *d)
{
    cpu_list         *list = d->list;
    const mds_system *s = d->system;
    const size_t      n = (size_t)s->n_types;
    size_t            i, j;

    if (list->type_lj) return MDS_OK; // the system never changes
    MDS_TRY(mds_alloc(&list->type_lj, n + 1, sizeof *list->type_lj));
    MDS_TRY(mds_alloc(&list->has_lj, n + 1, sizeof *list->has_lj));
    MDS_TRY(mds_alloc(&list->matrix, (n + 1) * (n + 1) * 4, sizeof *list->matrix));
    const mds_lj_rule rule = mds_system_lj_rule(s);
    list->rule = rule == MDS_LJ_GEOMETRIC ? CPU_LJ_GEOMETRIC : rule == MDS_LJ_LORENTZ_BERTHELOT ? CPU_LJ_LORENTZ : CPU_LJ_MATRIX;
    for (i = 0; i < n; i++) {
        const double c6 = s->c6[i * n + i], c12 = s->c12[i * n + i];

        if (c6 < 0 || c12 < 0) list->rule = CPU_LJ_MATRIX; // no roots of these
        for (j = 0; j < n; j++) {
            float *to = list->matrix + 4 * (i * (n + 1) + j);

            to[0] = (float)(s->c12[i * n + j] * 12 / 16384);
            to[1] = (float)(s->c6[i * n + j] * 6 / 256);
            to[2] = s->c4 ? (float)(s->c4[i * n + j] / 16) : 0;
            if (to[0] != 0 || to[1] != 0 || to[2] != 0) list->has_lj[i] = list->has_lj[j] = true;
        }
    }
    for (i = 0; i < n && list->rule != CPU_LJ_MATRIX; i++) {
        const double c6 = s->c6[i * n + i], c12 = s->c12[i * n + i];

        if (list->rule == CPU_LJ_GEOMETRIC) {
            list->type_lj[i][0] = sqrt(c12 * 12 / 16384);
            list->type_lj[i][1] = sqrt(c6 * 6 / 256);
        } else if (c6 > 0 && c12 > 0) {
            list->type_lj[i][0] = pow(c12 / c6, 1.0 / 6) / 4;  // sigma/4: two of them times 2/r make sigma_ij/r
            list->type_lj[i][1] = sqrt(12 * c6 * c6 / (4 * c12)); // sqrt(12 epsilon)
        }
    }
    return MDS_OK;
}

/// Coefficients of the force polynomial in y = rc^2 - r2 from those in x = 1 - 2 y/rc^2, by Horner's rule on polynomials. Functions
/// that fall gently (the prolate split; a Gaussian of beta rc up to about 3) have positive terms only there, which floats
/// like even better than the middle, and the kernel has y anyway. Of steep ones the terms alternate: then false.
static bool set_force_edge(const mds_short *from, cpu_form *form)
{
    enum { DEGREE = 9 };
    double p[DEGREE + 1] = {0}, size = 0;
    int    n, k;

    if (!(from->cut > 0)) return true; // 1/r alone
    if (from->degree_force > DEGREE) return false;
    for (n = from->degree_force; n >= 0; n--) {
        for (k = DEGREE; k >= 0; k--) p[k] -= k > 0 ? 2 * p[k - 1] : 0;
        p[0] += from->force_centred[n];
    }
    for (k = 0; k <= DEGREE; k++) {
        size += fabs(p[k]); // at r = 0, where y/rc^2 is 1
        form->force_edge[k] = (float)(8 / pow(from->cut, 3 + 2 * k) * p[k]);
    }
    return size <= 2 * fabs(from->force[0]); // rounding at most doubled
}

/// Coulomb polynomials in r2 - rc^2/2 from those in x = 2 (r/rc)^2 - 1 (num.h says why not in r2).
static void set_coulomb_form(const mds_short *from, cpu_form *form)
{
    int k;

    if (!(from->cut > 0)) return; // 1/r alone
    const double scale = 2 / (from->cut * from->cut);
    form->middle = (float)(1 / scale);
    form->degree_force = from->degree_force;
    form->degree_pot = from->degree_pot;
    for (k = 0; k <= from->degree_force; k++)
        form->force[k] = (float)(8 / pow(from->cut, 3) * from->force_centred[k] * pow(scale, k));
    for (k = 0; k <= from->degree_pot; k++)
        form->pot[k] = (float)(8 / from->cut * from->pot_centred[k] * pow(scale, k));
}

/// A, B and the constant of the force switch of 1/r^alpha [gromacs2022, 5.1.1].
static void force_switch(int alpha, double rs, double rc, double unit, float *a, float *b, float *c)
{
    const double w = rc - rs, p = pow(rc, alpha + 2);
    const double A = -alpha * ((alpha + 4) * rc - (alpha + 1) * rs) / (p * w * w);
    const double B = alpha * ((alpha + 3) * rc - (alpha + 1) * rs) / (p * w * w * w);

    *a = (float)(unit * A);
    *b = (float)(unit * B);
    *c = (float)(unit * (pow(rc, -alpha) - A / 3 * w * w * w - B / 4 * w * w * w * w));
}

static void set_lj_form(const mds_params *p, cpu_form *form)
{
    const double rc = p->cut_lj, rs = p->lj_switch;

    if (!(rc > 0)) return;
    switch (p->lj_modifier) {
    case MDS_LJ_CUT:
        return;
    case MDS_LJ_SHIFT:
        form->shift12 = (float)(pow(2 / rc, 12) / 3);
        form->shift6 = (float)(pow(2 / rc, 6) * 2 / 3);
        return;
    case MDS_LJ_SWITCH:
        form->lj_switch = (float)rs;
        form->inv_width = (float)(1 / (rc - rs));
        return;
    case MDS_LJ_FORCE_SWITCH:
        form->lj_switch = (float)rs;
        force_switch(12, rs, rc, 16384.0 / 12, &form->a12, &form->b12, &form->c12);
        force_switch(6, rs, rc, 256.0 / 6, &form->a6, &form->b6, &form->c6);
        return;
    }
}

static bool has_charges(const mds_system *s)
{
    int32_t k;

    for (k = 0; k < s->n_atoms; k++)
        if (s->charge[k] != 0) return true;
    return false;
}

mds_status mds_cpu_pair_set(mds_device *d)
{
    cpu_list         *list = d->list;
    const mds_params *p = &d->params;
    const bool        charged = p->coulomb != MDS_COULOMB_NONE && has_charges(d->system);
    const double      cut_lj = p->cut_lj > 0 ? p->cut_lj : CPU_EVERYWHERE;
    const double      cut_q = !charged ? cut_lj : p->cut_q > 0 ? p->cut_q : CPU_EVERYWHERE;
    const int         modifier = !(p->cut_lj > 0)                        ? 0
                                 : p->lj_modifier == MDS_LJ_SWITCH       ? 1
                                 : p->lj_modifier == MDS_LJ_FORCE_SWITCH ? 2
                                                                         : 0;

    MDS_TRY(set_lj(d));
    list->form = (cpu_form){.cut2_lj = (float)(cut_lj * cut_lj), .cut2_q = (float)(cut_q * cut_q), .matrix = list->matrix};
    list->form.cut2 = fmaxf(list->form.cut2_lj, list->form.cut2_q);
    list->charge_scale = charged ? sqrt(MDS_COULOMB / 8) : 0;
    if (charged) set_coulomb_form(&d->short_range, &list->form);
    set_lj_form(p, &list->form);
    const bool edge = !charged || set_force_edge(&d->short_range, &list->form);

    list->kernel_energy = list->isa->any->kernel[list->rule][modifier][1];
    list->kernel_force = list->isa->any->kernel[list->rule][modifier][0];
    list->kernel_common = list->kernel_common_energy = -1;
    if (cut_lj == cut_q && (modifier ? edge : list->form.degree_force <= 12)) {
        const int degree = !edge ? CPU_FORCE_12 : list->form.degree_force <= 7 ? CPU_FORCE_7 : CPU_FORCE_9;
        const int kind = modifier == 1 ? CPU_SWITCHED : modifier == 2 ? CPU_FORCE_SWITCHED : degree;

        list->kernel_force = list->isa->pair[list->rule][kind];
        list->kernel_common = charged || modifier ? kind : CPU_COMMON_LJ;
        if (charged && modifier == 0 && edge && list->form.degree_pot <= CPU_LOW_POT) {
            list->kernel_energy = list->isa->pair[list->rule][CPU_ENERGY];
            list->kernel_common_energy = CPU_ENERGY;
        }
    }
    mds_cpu_common_forget(list);
    list->cut_max = fmax(cut_lj, cut_q);
    list->radius_outer = fmin(fmax(p->list_radius, list->cut_max), CPU_EVERYWHERE);
    list->radius_inner = p->prune_radius > 0 ? fmin(fmax(p->prune_radius, list->cut_max), list->radius_outer)
                                             : list->radius_outer;
    list->prune_due = true;
    return MDS_OK;
}

// ----------------------------------------------------------------------------------------------- the stage

/// What the kernel will do for the parts of an inner list from part `first` on: weighs each and returns the sum.
static int64_t weigh(cpu_inner *inner, int32_t first)
{
    enum { BY_RULE = 3 }; // a tile that finds its parameters by the rule costs so much of itself more
    int64_t sum = 0;

    for (int32_t p = first; p < inner->n_parts; p++) {
        int32_t tiles = 0;

        for (int s = 0; s < CPU_N_SEGMENTS; s++)
            tiles += inner->part[p].n[s] * (CPU_WEIGHT_TILE + CPU_WEIGHT_HALF * (s <= CPU_BOTH ? 2 : 1));
        inner->part[p].weight = CPU_WEIGHT_ENTRY + tiles + (inner->part[p].common ? 0 : tiles / BY_RULE);
        sum += inner->part[p].weight;
    }
    return sum;
}

/// This thread's inner list from its share of the outer one.
static void prune(const mds_device *d, cpu_lane *lane)
{
    const cpu_list *list = d->list;
    const float     r = (float)(list->radius_inner + CPU_ROUNDING), keep = (float)(list->radius_outer + CPU_ROUNDING);
    cpu_pair_args   common;
    size_t          c = lane->first_chunk, e = lane->first_entry;

    mds_cpu_common_parts(list, &common);
    lane->weight = 0;
    lane->inner.n_parts = 0;
    lane->inner.n_j = lane->inner.n_mask = 0;
    for (; c < list->n_chunks && (c < lane->end_chunk || (c == lane->end_chunk && lane->end_entry > 0)); c++, e = 0) {
        cpu_chunk   *chunk = &list->chunk[c];
        const size_t end = c == lane->end_chunk ? lane->end_entry : chunk->n_entries;

        for (; e < end; e++) {
            cpu_entry    *entry = &chunk->entry[e];
            cpu_tiles     of = {chunk->tile + entry->first, entry->n, entry->n_masked};
            const int32_t part = lane->inner.n_parts;
            double        t[3];

            if (!of.n) continue; // of no weight
            mds_cpu_list_translation(list, entry->image, entry->super, of.tile[0].j / 2, t);
            const cpu_exact query = {.xq = list->xq_prune,
                                     .radius2 = r * r,
                                     .keep2 = list->boxes_only ? keep * keep : 0,
                                     .t = t,
                                     .super = entry->super,
                                     .column = common.column};
            list->isa->prune(&query, &of, lane->scratch, &lane->inner);
            entry->n = of.n;
            entry->n_masked = of.n_masked;
            entry->weight = CPU_WEIGHT_PRUNE + of.n;
            lane->weight += weigh(&lane->inner, part);
        }
    }
}

/// Room for two parts of every entry, of common clusters and of the others, and to sort the tiles of the longest.
static mds_status grow_parts(mds_device *d)
{
    cpu_list *list = d->list;
    int       t;

    for (t = 0; t < d->n_threads; t++) {
        cpu_lane *lane = &list->lane[t];
        size_t    c = lane->first_chunk, n = lane->end_entry, most = 0, e;

        for (; c < lane->end_chunk; c++) n += list->chunk[c].n_entries;
        for (c = lane->first_chunk; c <= lane->end_chunk && c < list->n_chunks; c++)
            for (e = 0; e < list->chunk[c].n_entries; e++)
                most = (size_t)list->chunk[c].entry[e].n > most ? (size_t)list->chunk[c].entry[e].n : most;
        n -= lane->first_entry;
        MDS_TRY(mds_reserve(&lane->inner.part, &lane->cap_part, 2 * n + 2, n / 8, sizeof *lane->inner.part));
        MDS_TRY(mds_grow(&lane->scratch, &lane->cap_scratch, MDS_PRUNE_SCRATCH(most), sizeof *lane->scratch));
    }
    return MDS_OK;
}

/// Where thread t's share of all parts begins: at the first part with `t` of n_threads of the weight before it.
static cpu_cut cut_at(const cpu_list *list, int t, int n_threads)
{
    int64_t all = 0, before;
    int     l;
    int32_t p;

    for (l = 0; l < n_threads; l++) all += list->lane[l].weight;
    before = all * t / n_threads;
    for (l = 0; l < n_threads && before >= list->lane[l].weight; l++) before -= list->lane[l].weight;
    if (l == n_threads) return (cpu_cut){n_threads, 0};
    for (p = 0; before > 0; p++) before -= list->lane[l].inner.part[p].weight;
    return (cpu_cut){l, p};
}

/// Thread t's inner list and the clock.
static void prune_thread(mds_device *d, int t)
{
    const double start = mds_clock();

    prune(d, &d->list->lane[t]);
    d->list->lane[t].seconds = mds_clock() - start;
}

/// The pairs of parts [first, end) of a lane.
static void run_parts(mds_device *d, const cpu_lane *lane, int32_t first, int32_t end, int t, mds_work work)
{
    cpu_list       *list = d->list;
    cpu_sums       *sums = &d->sums[t];
    const cpu_inner inner = {.part = lane->inner.part + first, .j = lane->inner.j, .mask = lane->inner.mask, .n_parts = end - first};
    cpu_pair_args args = {.form = &list->form,
                          .list = &inner,
                          .xq = d->xq,
                          .lj = list->lj,
                          .type = list->type,
                          .stride = 4 * (d->system->n_types + 1),
                          .force = d->f_thread[t]};
    const bool    energy = work & (MDS_ENERGY | MDS_VIRIAL);
    int           k, l;

    mds_cpu_common_parts(list, &args);
    (energy ? list->kernel_energy : list->kernel_force)(&args);
    const int common = !energy ? list->kernel_common : list->kernel_common_energy;

    if (args.column && common >= 0) list->isa->common[args.alike ? CPU_COMMON_ONE : common](&args);
    sums->energy[MDS_EN_LJ] += args.energy_lj;
    sums->energy[MDS_EN_COUL] += args.energy_q;
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) sums->virial[k][l] += args.virial[k < l ? k : l][k < l ? l : k];
}

/// Thread t's share of the pairs, interacting and excluded.
static void run_thread(mds_device *d, int t, mds_work work)
{
    cpu_list *list = d->list;

    if (list->prune_due) list->lane[t].begin = cut_at(list, t, d->n_threads), list->lane[t].end = cut_at(list, t + 1, d->n_threads);
    const cpu_cut begin = list->lane[t].begin, end = list->lane[t].end;

    for (int l = begin.lane; l <= end.lane && l < d->n_threads; l++) {
        const cpu_lane *lane = &list->lane[l];
        const int32_t   from = l == begin.lane ? begin.part : 0, to = l == end.lane ? end.part : lane->inner.n_parts;

        if (from < to) run_parts(d, lane, from, to, t, work);
    }
    mds_cpu_excluded_share(d, t);
}

mds_status mds_cpu_pair(mds_device *d, mds_where where, mds_work work)
{
    cpu_list *list = d->list;
    int       t;

    if (d->tripped || where == MDS_HALO) return MDS_OK; // one rank has no copies
    MDS_CHECK(d->listed, MDS_E_INTERNAL, "pair forces asked for before a search");
    if (list->prune_due) {
        MDS_TRY(mds_cpu_common_find(d));
        MDS_TRY(grow_parts(d));
#pragma omp parallel for schedule(static, 1) num_threads(d->n_threads)
        for (t = 0; t < d->n_threads; t++) prune_thread(d, t);
    }
    mds_cpu_excluded_begin(d, work);
#pragma omp parallel for schedule(static, 1) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) run_thread(d, t, work);
    if (list->prune_due) {
        mds_timer_add(MDS_T_PRUNE, list->lane[0].seconds);
        list->n_prunes++;
        if (list->boxes_only) MDS_TRY(mds_cpu_list_deal(d)); // what the first pruning has left
        list->prune_due = list->boxes_only = false;
    }
    return MDS_OK;
}

// ---------------------------------------------------------------------------------------------- statistics

/// Interacting pairs of a tile that are within the cut-off, by the positions that the kernel sees. Bit 4 i + j of `bits`.
static int64_t count_tile(const mds_device *d, const cpu_part *part, int half, int32_t j, uint32_t bits)
{
    const float *a = d->xq + CPU_LINE * (2 * (size_t)part->super + (size_t)half), *b = d->xq + CPU_LINE * (size_t)j;
    int64_t      inside = 0;
    int          i, l, k;

    for (i = 0; i < CPU_CLUSTER; i++)
        for (l = 0; l < CPU_CLUSTER; l++) {
            const bool real = d->atom_of[CPU_SUPER * part->super + CPU_CLUSTER * half + i] >= 0 &&
                              d->atom_of[CPU_CLUSTER * j + l] >= 0;
            double r2 = 0;

            for (k = 0; k < 3; k++) {
                const double u = (double)a[4 * k + i] + part->t[k] - (double)b[4 * k + l];

                r2 += u * u;
            }
            inside += real && (bits >> (4 * i + l) & 1) && r2 < (double)d->list->form.cut2;
        }
    return inside;
}

static int64_t count_inside(const mds_device *d, const cpu_inner *inner, const cpu_part *part)
{
    const int32_t  *j = inner->j + part->first;
    const uint32_t *mask = inner->mask + part->first_mask;
    int64_t         inside = 0;
    int             segment;
    int32_t         k;

    for (segment = 0; segment < CPU_N_SEGMENTS; segment++)
        for (k = 0; k < part->n[segment]; k++, j++) {
            const uint32_t bits = segment % 2 ? 0xffffffffu : *mask++;

            if (segment <= CPU_A) inside += count_tile(d, part, 0, *j, bits);
            if (segment <= CPU_BOTH) inside += count_tile(d, part, 1, *j, bits >> 16);
            if (segment >= CPU_B_MASKED) inside += count_tile(d, part, 1, *j, bits);
        }
    return inside;
}

void mds_cpu_list_statistics(const mds_device *d, cpu_list_statistics *out)
{
    const cpu_list *list = d->list;
    size_t          c, e;
    int32_t         p;
    int             t;

    *out = (cpu_list_statistics){.n_slots = d->n_slots, .n_searches = list->n_searches, .n_prunes = list->n_prunes};
    if (!d->listed) return;
    for (c = 0; c < list->n_chunks; c++)
        for (e = 0; e < list->chunk[c].n_entries; e++) {
            const cpu_entry *entry = &list->chunk[c].entry[e];

            for (p = 0; p < entry->n; p++) {
                const uint32_t mask = list->chunk[c].tile[entry->first + p].mask;

                out->outer_pairs += 16 * (((mask & 0xffff) != 0) + ((mask >> 16) != 0));
            }
            out->n_entries++;
        }
    for (t = 0; t < d->n_threads; t++) {
        const cpu_inner *inner = &list->lane[t].inner;

        for (p = 0; p < inner->n_parts; p++) {
            const int32_t *n = inner->part[p].n;

            out->inner_pairs += 16 * (2 * (int64_t)(n[0] + n[1]) + n[2] + n[3] + n[4] + n[5]);
            out->inside += count_inside(d, inner, &inner->part[p]);
        }
        out->n_parts += inner->n_parts;
        out->n_tiles += inner->n_j;
    }
}
