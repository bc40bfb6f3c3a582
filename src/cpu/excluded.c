// SPDX-License-Identifier: Apache-2.0
// Excluded pairs and the self energy, in double.
//
// The pair kernels skip excluded pairs altogether, but the mesh cannot: it has given every pair its
// long-range share Phi(r)/r, and every charge one with itself. Both are taken back here, for the nearest
// image at any distance:
//     E = -f qq Phi(r)/r,  F.r = f qq (Phi' - Phi/r),  self: E = -f/2 q^2 lim Phi/r (docs/theory/mesh.md)
// Inside the cut-off Phi/r is the same polynomial in u = (r/rc)^2 that the pair kernels subtract, here fitted
// to 1e-12: no division, no cancellation, and r = 0 is nothing special. Beyond it Phi is 1 (prolate) or erf
// (Gaussian, rare). Reaction field has the same form with k r^2 - c in place of -Phi/r, and nothing beyond
// the cut-off (GROMACS' convention). These terms count as coul_sr.
//
// Three atoms that exclude each other and nobody else, as waters do, are found at open; those with the charges of the first such
// triple are done as triples in the order of slots. All other pairs go into blocks like bonded terms (bonded.h). Kernels:
// isa_excluded.c.
//
// Forces between the atoms of a rigid water move nothing: what they would change along its three distances, the constraints take
// back, exactly, since they act along the same directions. In a step that nobody looks at (MDS_UNSEEN) they are left out.
#include "cpu/excluded.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

struct cpu_excluded {
    const excluded_kernels *kernels;
    cpu_bonded       blocks;  // the pairs that are in no triple
    excluded_triples triples;
    int32_t         *member;  // [n][3] atoms of the triples
    int32_t         *leads;   // [n_atoms] triple whose first atom this is, or -1
    int32_t         *slot;    // triples.slot
    bool             rigid;   // every triple is part of a rigid water
    double           sum_q2;  // e^2
    // the polynomial and what it was made for
    mds_short      range;
    mds_coulomb    coulomb;
    mds_num_split  kind;
    double         cut, shape;
    bool           ready;
    // of this step
    excluded_frame frame;
    bool           due, triples_due;
};

// ---------------------------------------------------------------------------------------------------- life

static void choose_level(mds_device *d)
{
    d->excluded->kernels = &mds_isa_excluded_generic;
#ifdef MDS_HAVE_AVX2
    if (!strcmp(d->isa, "avx2")) d->excluded->kernels = &mds_isa_excluded_avx2;
#endif
#ifdef MDS_HAVE_AVX512
    if (!strcmp(d->isa, "avx512")) d->excluded->kernels = &mds_isa_excluded_avx512;
#endif
}

/// Charge product of an excluded pair, kJ nm/mol.
static double product(const mds_system *s, int32_t i, int32_t j)
{
    return MDS_COULOMB * s->charge[i] * s->charge[j];
}

/// Excluded partners of i with a charge, if i has one and there are at most two; their number, or 3 for more.
static int partners(const mds_system *s, int32_t i, int32_t out[2])
{
    int n = 0;

    for (int32_t e = s->excl_start[i]; e < s->excl_start[i + 1] && n < 3; e++) {
        if (s->excl[e] == i || product(s, i, s->excl[e]) == 0) continue;
        if (n < 2) out[n] = s->excl[e];
        n++;
    }
    return n;
}

/// Whether i is the lowest of three atoms that exclude each other and nobody else.
static bool is_triple(const mds_system *s, int32_t i, int32_t atom[3])
{
    int32_t j[2], k[2];

    atom[0] = i;
    if (partners(s, i, atom + 1) != 2 || atom[1] < i || atom[2] < atom[1]) return false;
    return partners(s, atom[1], j) == 2 && partners(s, atom[2], k) == 2 && j[0] == i && j[1] == atom[2] && k[0] == i && k[1] == atom[1];
}

/// The triples with the charges of the first.
static mds_status find_triples(mds_device *d)
{
    const mds_system *s = d->system;
    cpu_excluded     *e = d->excluded;
    size_t            capacity = 0;

    MDS_TRY(mds_alloc(&e->leads, (size_t)s->n_atoms, sizeof *e->leads));
    for (int32_t i = 0; i < s->n_atoms; i++) e->leads[i] = -1;
    for (int32_t i = 0; i < s->n_atoms; i++) {
        int32_t atom[3];

        if (!is_triple(s, i, atom)) continue;
        const double qq[3] = {product(s, atom[0], atom[1]), product(s, atom[0], atom[2]), product(s, atom[1], atom[2])};

        if (!e->triples.n) memcpy(e->triples.qq, qq, sizeof qq);
        if (memcmp(e->triples.qq, qq, sizeof qq)) continue;
        MDS_TRY(mds_grow(&e->member, &capacity, 3 * ((size_t)e->triples.n + 1), sizeof *e->member));
        memcpy(e->member + 3 * (size_t)e->triples.n, atom, sizeof atom);
        e->leads[i] = e->triples.n++;
    }
    return MDS_OK;
}

/// Whether every triple lies in one rigid water, sites that follow it included.
static mds_status find_rigid(mds_device *d)
{
    const mds_system *s = d->system;
    cpu_excluded     *e = d->excluded;
    int32_t          *water; // [n_atoms] that the atom moves with, or -1

    MDS_TRY(mds_alloc(&water, (size_t)s->n_atoms, sizeof *water));
    for (int32_t i = 0; i < s->n_atoms; i++) water[i] = -1;
    for (int32_t k = 0; k < 3 * s->water.n; k++) water[s->water.atom[k]] = k / 3;
    for (int32_t v = 0; v < s->vsite.n; v++) {
        const int32_t *parent = s->vsite.atom + s->vsite.start[v];
        const int32_t  n = s->vsite.start[v + 1] - s->vsite.start[v];
        int32_t        one = water[parent[0]];

        for (int32_t a = 1; a < n; a++) one = water[parent[a]] == one ? one : -1;
        water[s->vsite.site[v]] = one;
    }
    e->rigid = true;
    for (int32_t k = 0; k < e->triples.n && e->rigid; k++) {
        const int32_t *atom = e->member + 3 * (size_t)k;

        e->rigid = water[atom[0]] >= 0 && water[atom[1]] == water[atom[0]] && water[atom[2]] == water[atom[0]];
    }
    mds_free(water);
    return MDS_OK;
}

static int32_t n_batches(const cpu_excluded *e)
{
    return (e->triples.n + EXCLUDED_LANES - 1) / EXCLUDED_LANES;
}

/// All other pairs, as terms.
static mds_status collect_pairs(mds_device *d, mds_terms *pairs)
{
    const mds_system *s = d->system;
    cpu_excluded     *x = d->excluded;
    bool             *done;

    MDS_TRY(mds_alloc(&done, (size_t)s->n_atoms, sizeof *done)); // in a triple
    for (int32_t k = 0; k < 3 * x->triples.n; k++) done[x->member[k]] = true;
    for (int32_t i = 0; i < s->n_atoms; i++)
        for (int32_t e = s->excl_start[i]; e < s->excl_start[i + 1]; e++) {
            const double qq = product(s, i, s->excl[e]);

            if (done[i] || s->excl[e] <= i || qq == 0) continue;
            MDS_TRY(mds_grow(&pairs->atom, &pairs->cap_atom, 2 * ((size_t)pairs->n + 1), sizeof *pairs->atom));
            MDS_TRY(mds_grow(&pairs->param, &pairs->cap_param, (size_t)pairs->n + 1, sizeof *pairs->param));
            pairs->atom[2 * (size_t)pairs->n] = i;
            pairs->atom[2 * (size_t)pairs->n + 1] = s->excl[e];
            pairs->param[pairs->n++] = qq;
        }
    mds_free(done);
    return MDS_OK;
}

mds_status mds_cpu_excluded_open(mds_device *d)
{
    const mds_system *s = d->system;
    mds_terms         pairs = {0};
    mds_status        status;

    MDS_TRY(mds_alloc(&d->excluded, 1, sizeof *d->excluded));
    choose_level(d);
    for (int32_t i = 0; i < s->n_atoms; i++) d->excluded->sum_q2 += s->charge[i] * s->charge[i];
    MDS_TRY(find_triples(d));
    MDS_TRY(find_rigid(d));
    MDS_TRY(mds_alloc(&d->excluded->slot, 3 * EXCLUDED_LANES * (size_t)n_batches(d->excluded), sizeof *d->excluded->slot));
    d->excluded->triples.slot = d->excluded->slot;
    status = collect_pairs(d, &pairs);
    const bonded_source source = {BONDED_EXCLUDED, 2, 1, &pairs};
    if (status == MDS_OK) status = mds_cpu_bonded_blocks(&source, 1, d->n_atoms, d->n_threads, &d->excluded->blocks);
    mds_free(pairs.atom);
    mds_free(pairs.param);
    return status;
}

void mds_cpu_excluded_close(mds_device *d)
{
    if (!d->excluded) return;
    mds_cpu_bonded_blocks_free(&d->excluded->blocks, d->n_threads);
    mds_free(d->excluded->member);
    mds_free(d->excluded->leads);
    mds_free(d->excluded->slot);
    mds_free(d->excluded);
    d->excluded = NULL;
}

/// Triples in the order of slots of their first atoms.
mds_status mds_cpu_excluded_remap(mds_device *d)
{
    cpu_excluded *e = d->excluded;
    int32_t       n = 0;

    mds_cpu_bonded_blocks_remap(d->slot_of, &e->blocks);
    for (int32_t slot = 0; e->triples.n && slot < d->n_slots; slot++) {
        const int32_t i = d->atom_of[slot], k = i < 0 ? -1 : e->leads[i];

        if (k < 0) continue;
        for (int a = 0; a < 3; a++)
            e->slot[(n / EXCLUDED_LANES * 3 + a) * EXCLUDED_LANES + n % EXCLUDED_LANES] = d->slot_of[e->member[3 * k + a]];
        n++;
    }
    MDS_ASSERT(n == e->triples.n);
    for (; n < n_batches(e) * EXCLUDED_LANES; n++)
        for (int a = 0; a < 3; a++) {
            int32_t *batch = e->slot + (n / EXCLUDED_LANES * 3 + a) * EXCLUDED_LANES;

            batch[n % EXCLUDED_LANES] = batch[0];
        }
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------------- stage

/// The polynomial of the present parameters.
static void refresh(mds_device *d)
{
    cpu_excluded     *e = d->excluded;
    const mds_params *p = &d->params;
    const double      shape = p->coulomb == MDS_COULOMB_PME ? d->split.shape : p->rf_dielectric;

    if (e->ready && e->coulomb == p->coulomb && e->kind == d->split.kind && e->cut == p->cut_q &&
        e->shape == shape)
        return;
    if (p->coulomb == MDS_COULOMB_PME)
        MDS_ASSERT(mds_short_ewald(&d->split, false, 1e-12, &e->range) ==
                   MDS_OK); // set_coulomb asked for the same
    else
        mds_short_reaction_field(p->cut_q, p->rf_dielectric, &e->range);
    e->coulomb = p->coulomb;
    e->kind = d->split.kind;
    e->cut = p->cut_q;
    e->shape = shape;
    e->ready = true;
}

/// What is due, for all threads.
static void prepare(mds_device *d, mds_work work, double weight)
{
    const double  cut = d->params.cut_q;
    cpu_excluded *e = d->excluded;

    refresh(d);
    e->frame = (excluded_frame){.images = mds_images_of(&d->box),
                                .range = &e->range,
                                .split = &d->split,
                                .cut2 = cut * cut,
                                .inv_cut = 1 / cut,
                                .inv_cut2 = 1 / (cut * cut),
                                .inv_cut3 = 1 / (cut * cut * cut),
                                .weight = weight,
                                .sums = work & (MDS_ENERGY | MDS_VIRIAL),
                                .far = d->params.coulomb == MDS_COULOMB_PME};
    e->due = true;
    e->triples_due = !(e->rigid && (work & MDS_UNSEEN));
    d->sums[0].energy[MDS_EN_COUL] -= MDS_COULOMB * e->sum_q2 * (e->frame.far ? d->split.self : 0.5 * e->range.pot[0] / cut);
}

void mds_cpu_excluded_begin(mds_device *d, mds_work work)
{
    const bool mesh = d->params.coulomb == MDS_COULOMB_PME;

    d->excluded->due = false;
    if (!mesh && d->params.coulomb != MDS_COULOMB_REACTION_FIELD) return;
    if (mesh && (work & MDS_FAST)) return; // goes with the mesh, whose share it takes back
    prepare(d, work, mesh ? mds_cpu_slow_weight(d, work) : 1);
}

void mds_cpu_excluded_share(mds_device *d, int t)
{
    cpu_excluded     *e = d->excluded;
    const cpu_bonded *b = &e->blocks;
    const int64_t     batches = n_batches(e), threads = d->n_threads;

    if (!e->due) return;
    if (e->triples_due)
        e->kernels->triples(&e->frame, &e->triples, (int32_t)(batches * t / threads), (int32_t)(batches * (t + 1) / threads),
                            (const double(*)[3])d->x, d->f_thread[t], &d->sums[t]);
    for (int32_t k = b->n_blocks ? b->first_block[t] : 0; b->n_blocks && k < b->first_block[t + 1]; k++) {
        const bonded_block *block = &b->block[k];

        mds_cpu_bonded_rows_in(block, b->slot, (const double(*)[3])d->x, b->x[t], b->f[t]);
        for (int32_t r = 0; r < block->n_runs; r++)
            e->kernels->pairs(&e->frame, &b->run[block->first_run + r], b->x[t], b->f[t], &d->sums[t]);
        mds_cpu_bonded_rows_out(block, b->slot, b->f[t], d->f_thread[t]);
    }
}

void mds_cpu_excluded_again(mds_device *d, double weight)
{
    const int threads = d->n_threads;

    prepare(d, 0, weight);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) mds_cpu_excluded_share(d, t);
}
