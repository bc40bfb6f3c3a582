// SPDX-License-Identifier: Apache-2.0
// From bonded terms, or excluded pairs, to blocks and batches (bonded.h); once, at open.
//
// A term belongs to the block that its lowest atom id falls into. Blocks are cut where the cost so far reaches BLOCK_COST, which
// does not depend on threads; threads take neighbouring blocks of about equal cost. Cosine torsions on the same four atoms, as
// AMBER writes several periodicities, become one polynomial.
#include "cpu/bonded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Some 100 atoms of a protein: rows of 64 bytes an atom stay in the first-level cache beside the batches' parameters.
enum { BLOCK_COST = 20000 };

/// Cycles a term, about.
static const int term_cost[BONDED_EXCLUDED + 1] = {
    [MDS_TERM_BOND] = 10, [MDS_TERM_BOND_G96] = 30,         [MDS_TERM_BOND_MORSE] = 60, [MDS_TERM_ANGLE] = 25, [MDS_TERM_ANGLE_G96] = 80,
    [MDS_TERM_UREY_BRADLEY] = 35, [MDS_TERM_PROPER] = 35,   [MDS_TERM_PERIODIC_IMPROPER] = 35, [MDS_TERM_RB] = 35, [MDS_TERM_IMPROPER] = 40,
    [MDS_TERM_CMAP] = 500, [MDS_TERM_PAIR14] = 12,          [MDS_TERM_RESTRAINT] = 30,           [BONDED_EXCLUDED] = 12,
};

/// A term on its way into a batch. Atoms are rows of the block.
typedef struct {
    bonded_batch kind;
    mds_energy   energy;
    int32_t      row[4];
    double       param[2 * BONDED_MAX_COSINE + 1];
} item;

static const int batch_atoms[BONDED_N_BATCHES] = {2, 2, 3, 4, 4, 4, 4, 2}, batch_params[BONDED_N_BATCHES] = {2, 3, 2, 4, 7, 13, 2, 1};

typedef struct {
    const bonded_source *source; // [n_sources]
    int               n_sources;
    int32_t           n_atoms;  // of the system
    cpu_bonded       *out;
    int32_t          *block_of; // [n_atoms]
    int32_t          *row_of;   // [n_atoms] in the block being built, -1: not there
    int32_t          *start, *term; // terms of block b: source and index in turn, from 2 start[b] on
    int64_t          *cost;     // [n_blocks]
    item             *items;
    int32_t           n_items;
    size_t            cap_items, cap_block, cap_run, cap_single, cap_atom, cap_offset, cap_param, n_offset, n_param;
} builder;

static int32_t lowest(const int32_t *atom, int n)
{
    int32_t low = atom[0];

    for (int k = 1; k < n; k++) low = atom[k] < low ? atom[k] : low;
    return low;
}

/// Lowest atom of term i of a source.
static int32_t lead_of(const bonded_source *source, int32_t i)
{
    return lowest(source->terms->atom + (size_t)source->n_atoms * (size_t)i, source->n_atoms);
}

/// Block of every atom by the cost of the terms that it leads.
static mds_status cut(builder *b)
{
    int64_t *lead = NULL, sum = 0;
    int32_t  n = 0;

    MDS_TRY(mds_alloc(&lead, (size_t)b->n_atoms, sizeof *lead));
    for (int k = 0; k < b->n_sources; k++)
        for (int32_t i = 0; i < b->source[k].terms->n; i++) lead[lead_of(&b->source[k], i)] += term_cost[b->source[k].kind];
    for (int32_t i = 0; i < b->n_atoms; i++) {
        b->block_of[i] = n;
        sum += lead[i];
        if (sum < BLOCK_COST) continue;
        sum = 0;
        n++;
    }
    b->out->n_blocks = n + (sum > 0);
    MDS_TRY(mds_alloc(&b->cost, (size_t)b->out->n_blocks, sizeof *b->cost));
    for (int32_t i = 0; i < b->n_atoms; i++)
        if (lead[i]) b->cost[b->block_of[i]] += lead[i];
    mds_free(lead);
    return MDS_OK;
}

/// Terms of every block, source after source, in the order given.
static mds_status sort(builder *b)
{
    size_t total = 0;

    for (int k = 0; k < b->n_sources; k++) total += (size_t)b->source[k].terms->n;
    MDS_TRY(mds_alloc(&b->start, (size_t)b->out->n_blocks + 2, sizeof *b->start));
    MDS_TRY(mds_alloc(&b->term, 2 * total, sizeof *b->term));
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < b->n_sources; k++)
            for (int32_t i = 0; i < b->source[k].terms->n; i++) {
                const int32_t block = b->block_of[lead_of(&b->source[k], i)];

                if (pass == 0) {
                    b->start[block + 2]++; // two ahead: filling moves it one back
                } else {
                    const size_t at = 2 * (size_t)b->start[block + 1]++;

                    b->term[at] = k;
                    b->term[at + 1] = i;
                }
            }
        for (int32_t k = 2; pass == 0 && k < b->out->n_blocks + 2; k++) b->start[k] += b->start[k - 1];
    }
    return MDS_OK;
}

static int by_id(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/// Atoms of the block's terms, ascending; their rows into row_of.
static mds_status collect_atoms(builder *b, int32_t k, bonded_block *block)
{
    cpu_bonded *out = b->out;
    int32_t     n = 0;

    block->first_atom = out->n_atoms;
    for (int32_t t = b->start[k]; t < b->start[k + 1]; t++) {
        const bonded_source *source = &b->source[b->term[2 * (size_t)t]];
        const int            n_atoms = source->n_atoms;
        const int32_t       *atom = source->terms->atom + (size_t)n_atoms * (size_t)b->term[2 * (size_t)t + 1];

        MDS_TRY(mds_grow(&out->atom, &b->cap_atom, (size_t)(block->first_atom + n + n_atoms), sizeof *out->atom));
        for (int a = 0; a < n_atoms; a++) {
            if (b->row_of[atom[a]] >= 0) continue;
            b->row_of[atom[a]] = 0;
            out->atom[block->first_atom + n++] = atom[a];
        }
    }
    block->n_atoms = n;
    qsort(out->atom + block->first_atom, (size_t)n, sizeof *out->atom, by_id);
    for (int32_t i = 0; i < n; i++) b->row_of[out->atom[block->first_atom + i]] = i;
    out->n_atoms += n;
    if (n > out->max_atoms) out->max_atoms = n;
    return MDS_OK;
}

static mds_status new_item(builder *b, bonded_batch kind, mds_energy energy, int n, const int32_t *atom, const double *param,
                           int n_params)
{
    MDS_TRY(mds_grow(&b->items, &b->cap_items, (size_t)b->n_items + 1, sizeof *b->items));
    item *t = &b->items[b->n_items++];

    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->energy = energy;
    for (int k = 0; k < n; k++) t->row[k] = b->row_of[atom[k]];
    memcpy(t->param, param, (size_t)n_params * sizeof *param);
    return MDS_OK;
}

static mds_status add_single(builder *b, int kind, const int32_t *atom, const double *param)
{
    cpu_bonded *out = b->out;

    MDS_TRY(mds_grow(&out->single, &b->cap_single, (size_t)out->n_singles + 1, sizeof *out->single));
    bonded_single *s = &out->single[out->n_singles++];
    s->kind = (mds_term_kind)kind;
    s->param = param;
    for (int k = 0; k < mds_term_table[kind].n_atoms; k++) s->row[k] = b->row_of[atom[k]];
    return MDS_OK;
}

/// A cosine torsion as a polynomial, added to the one before if that has the same atoms.
static mds_status cosine_item(builder *b, int kind, const int32_t *atom, const double *param)
{
    const mds_energy energy = mds_term_table[kind].energy;
    double           p[2 * BONDED_MAX_COSINE + 1] = {0}, *q = p + BONDED_MAX_COSINE + 1;

    if (kind == MDS_TERM_RB) {
        for (int m = 0; m < 6; m++) p[m] = m % 2 ? -param[m] : param[m]; // cos(phi - pi) = -cos phi
    } else if (!mds_proper_powers(param[0], param[1], param[2], p, q)) {
        return add_single(b, kind, atom, param);
    }
    if (b->n_items) {
        item *last = &b->items[b->n_items - 1];
        bool  same = last->kind == BONDED_FOURIER && last->energy == energy;

        for (int k = 0; k < 4; k++) same &= last->row[k] == b->row_of[atom[k]];
        if (same) {
            for (int k = 0; k <= 2 * BONDED_MAX_COSINE; k++) last->param[k] += p[k];
            return MDS_OK;
        }
    }
    return new_item(b, BONDED_FOURIER, energy, 4, atom, p, 2 * BONDED_MAX_COSINE + 1);
}

static mds_status add_term(builder *b, int kind, const int32_t *atom, const double *param)
{
    if (kind == BONDED_EXCLUDED) return new_item(b, BONDED_EXCLUDED_PAIR, MDS_EN_COUL, 2, atom, param, 1);
    const mds_energy energy = mds_term_table[kind].energy;

    switch (kind) {
    case MDS_TERM_BOND:
        return new_item(b, BONDED_DISTANCE, energy, 2, atom, param, 2);
    case MDS_TERM_PAIR14:
        return new_item(b, BONDED_PAIR14, energy, 2, atom, param, 3);
    case MDS_TERM_ANGLE:
        return new_item(b, BONDED_ANGLE, energy, 3, atom, param, 2);
    case MDS_TERM_UREY_BRADLEY:
        MDS_TRY(new_item(b, BONDED_ANGLE, energy, 3, atom, param, 2));
        return new_item(b, BONDED_DISTANCE, energy, 2, (const int32_t[]){atom[0], atom[2]}, param + 2, 2);
    case MDS_TERM_IMPROPER:
        return new_item(b, BONDED_IMPROPER, energy, 4, atom, param, 2);
    case MDS_TERM_RB:
    case MDS_TERM_PROPER:
    case MDS_TERM_PERIODIC_IMPROPER:
        return cosine_item(b, kind, atom, param);
    default:
        return add_single(b, kind, atom, param);
    }
}

/// The cheapest kind of batch that holds a polynomial.
static void narrow(item *t)
{
    const double *p = t->param;
    bool          sines = false;
    int           degree = 0;

    if (t->kind != BONDED_FOURIER) return;
    for (int k = 0; k <= BONDED_MAX_COSINE; k++) degree = p[k] != 0 ? k : degree;
    for (int k = BONDED_MAX_COSINE + 1; k <= 2 * BONDED_MAX_COSINE; k++) sines |= p[k] != 0;
    if (!sines) t->kind = degree <= 3 ? BONDED_COSINE_3 : BONDED_COSINE_6;
}

/// Items of one kind and energy into one run. Lane l takes items l n, l n + 1, ..: neighbours follow each other in time.
static mds_status add_run(builder *b, bonded_batch kind, mds_energy energy)
{
    cpu_bonded *out = b->out;
    const int   atoms = batch_atoms[kind], params = batch_params[kind];
    int32_t     count = 0, seen = 0, n;

    for (int32_t i = 0; i < b->n_items; i++) count += b->items[i].kind == kind && b->items[i].energy == energy;
    if (!count) return MDS_OK;
    n = (count + BONDED_LANES - 1) / BONDED_LANES;
    const size_t n_offset = (size_t)n * (size_t)atoms * BONDED_LANES, n_param = (size_t)n * (size_t)params * BONDED_LANES;
    MDS_TRY(mds_grow(&out->offset, &b->cap_offset, b->n_offset + n_offset, sizeof *out->offset));
    MDS_TRY(mds_grow(&out->param, &b->cap_param, b->n_param + n_param, sizeof *out->param));
    MDS_TRY(mds_grow(&out->run, &b->cap_run, (size_t)out->n_runs + 1, sizeof *out->run));
    int32_t *offset = out->offset + b->n_offset;
    double  *param = out->param + b->n_param;
    for (int32_t i = 0; i < b->n_items; i++) {
        const item *t = &b->items[i];

        if (t->kind != kind || t->energy != energy) continue;
        const int32_t lane = seen / n, batch = seen % n;
        seen++;
        for (int a = 0; a < atoms; a++) offset[(batch * atoms + a) * BONDED_LANES + lane] = 4 * t->row[a];
        for (int k = 0; k < params; k++) param[(batch * params + k) * BONDED_LANES + lane] = t->param[k];
    }
    for (; seen < n * BONDED_LANES; seen++) // the atoms of lane 0, with parameters 0: nothing comes of it
        for (int a = 0; a < atoms; a++)
            offset[(seen % n * atoms + a) * BONDED_LANES + seen / n] = offset[(seen % n * atoms + a) * BONDED_LANES];
    out->run[out->n_runs++] = (bonded_run){.kind = kind, .energy = energy, .n = n};
    b->n_offset += n_offset;
    b->n_param += n_param;
    return MDS_OK;
}

static mds_status build_block(builder *b, int32_t k)
{
    cpu_bonded   *out = b->out;
    bonded_block *block = &out->block[k];

    MDS_TRY(collect_atoms(b, k, block));
    block->first_run = out->n_runs;
    block->first_single = out->n_singles;
    b->n_items = 0;
    for (int32_t t = b->start[k]; t < b->start[k + 1]; t++) {
        const bonded_source *source = &b->source[b->term[2 * (size_t)t]];
        const size_t         i = (size_t)b->term[2 * (size_t)t + 1];

        MDS_TRY(add_term(b, source->kind, source->terms->atom + (size_t)source->n_atoms * i,
                         source->terms->param + (size_t)source->n_params * i));
    }
    for (int32_t i = 0; i < b->n_items; i++) narrow(&b->items[i]);
    for (int kind = 0; kind < BONDED_N_BATCHES; kind++)
        for (int energy = 0; energy < MDS_N_ENERGY; energy++) MDS_TRY(add_run(b, (bonded_batch)kind, (mds_energy)energy));
    block->n_runs = out->n_runs - block->first_run;
    block->n_singles = out->n_singles - block->first_single;
    for (int32_t i = 0; i < block->n_atoms; i++) b->row_of[out->atom[block->first_atom + i]] = -1;
    return MDS_OK;
}

/// Blocks of about equal cost for every thread: a block goes where its middle falls.
static mds_status share(builder *b, int n_threads)
{
    cpu_bonded *out = b->out;
    int64_t     total = 0, sum = 0;
    int         t = 0;

    MDS_TRY(mds_alloc(&out->first_block, (size_t)n_threads + 1, sizeof *out->first_block));
    for (int32_t k = 0; k < out->n_blocks; k++) total += b->cost[k];
    for (int32_t k = 0; k < out->n_blocks; k++) {
        const int owner = (int)((sum + b->cost[k] / 2) * n_threads / total);

        while (t < owner) out->first_block[++t] = k;
        sum += b->cost[k];
    }
    while (t < n_threads) out->first_block[++t] = out->n_blocks;
    return MDS_OK;
}

static mds_status build(builder *b, int n_threads)
{
    cpu_bonded  *out = b->out;
    const size_t n = (size_t)b->n_atoms;
    size_t       offset = 0, param = 0;

    MDS_TRY(mds_alloc(&b->block_of, n, sizeof *b->block_of));
    MDS_TRY(mds_alloc(&b->row_of, n, sizeof *b->row_of));
    for (size_t i = 0; i < n; i++) b->row_of[i] = -1;
    MDS_TRY(cut(b));
    MDS_TRY(sort(b));
    MDS_TRY(mds_alloc(&out->block, (size_t)out->n_blocks, sizeof *out->block));
    for (int32_t k = 0; k < out->n_blocks; k++) MDS_TRY(build_block(b, k));
    for (int32_t r = 0; r < out->n_runs; r++) { // only now do the pools stay where they are
        out->run[r].offset = out->offset + offset;
        out->run[r].param = out->param + param;
        offset += (size_t)out->run[r].n * (size_t)batch_atoms[out->run[r].kind] * BONDED_LANES;
        param += (size_t)out->run[r].n * (size_t)batch_params[out->run[r].kind] * BONDED_LANES;
    }
    return share(b, n_threads);
}

mds_status mds_cpu_bonded_blocks(const bonded_source *source, int n_sources, int32_t n_atoms, int n_threads, cpu_bonded *out)
{
    builder          b = {.source = source, .n_sources = n_sources, .n_atoms = n_atoms, .out = out};
    const mds_status status = build(&b, n_threads);

    mds_free(b.block_of);
    mds_free(b.row_of);
    mds_free(b.start);
    mds_free(b.term);
    mds_free(b.cost);
    mds_free(b.items);
    MDS_TRY(status);
    MDS_TRY(mds_alloc(&out->slot, (size_t)out->n_atoms, sizeof *out->slot));
    MDS_TRY(mds_alloc(&out->x, (size_t)n_threads, sizeof *out->x));
    MDS_TRY(mds_alloc(&out->f, (size_t)n_threads, sizeof *out->f));
    for (int t = 0; t < n_threads; t++) {
        MDS_TRY(mds_alloc(&out->x[t], 4 * (size_t)out->max_atoms, sizeof *out->x[t]));
        MDS_TRY(mds_alloc(&out->f[t], 4 * (size_t)out->max_atoms, sizeof *out->f[t]));
    }
    return MDS_OK;
}

void mds_cpu_bonded_blocks_free(cpu_bonded *b, int n_threads)
{
    for (int t = 0; t < n_threads; t++) {
        if (b->x) mds_free(b->x[t]);
        if (b->f) mds_free(b->f[t]);
    }
    void *part[] = {b->x, b->f, b->block, b->first_block, b->atom, b->slot, b->run, b->single, b->offset, b->param};

    for (size_t k = 0; k < sizeof part / sizeof part[0]; k++) mds_free(part[k]);
    memset(b, 0, sizeof *b);
}

void mds_cpu_bonded_blocks_remap(const int32_t *slot_of, cpu_bonded *b)
{
    for (int32_t i = 0; i < b->n_atoms; i++) b->slot[i] = slot_of[b->atom[i]];
}

void mds_cpu_bonded_rows_in(const bonded_block *block, const int32_t *slot, const double (*from)[3], double *x, double *f)
{
    for (int32_t i = 0; i < block->n_atoms; i++) memcpy(x + 4 * i, from[slot[block->first_atom + i]], 3 * sizeof *x);
    memset(f, 0, 4 * (size_t)block->n_atoms * sizeof *f);
}

void mds_cpu_bonded_rows_out(const bonded_block *block, const int32_t *slot, const double *f, float *lines)
{
    for (int32_t i = 0; i < block->n_atoms; i++) {
        const int32_t s = slot[block->first_atom + i];
        float        *line = lines + (size_t)(s / CPU_CLUSTER) * CPU_LINE + s % CPU_CLUSTER;

        for (int k = 0; k < 3; k++) line[k * CPU_CLUSTER] += (float)f[4 * i + k];
    }
}
