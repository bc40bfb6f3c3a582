// SPDX-License-Identifier: Apache-2.0
// From bonded terms to blocks (bonded.h); on the host, once, at open.
//
// Every term becomes an item of a batch and an energy, in the order of the system, so that neighbours in memory are neighbours in
// the molecule and read the same positions. Items are counted, then copied to the places of their batch and energy. Cosine
// torsions on the same four atoms, which AMBER writes one after the other for several periodicities, are one item: their
// polynomials are added in double before they are rounded. A Urey-Bradley term is an angle and a bond that count together.
#include "bonded.h"

#include "num/bonded.h"

#include <string.h>

enum { ITEM_FLOATS = 16, N_KEYS = N_BATCHES * MDS_N_ENERGY };
static const int batch_params[N_BATCHES] = BATCH_PARAMS;

typedef struct {
    int   batch, energy, atom[4];
    float param[ITEM_FLOATS];
} item;

/// A polynomial that may still grow.
typedef struct {
    bool    open;
    int     energy;
    int32_t atom[4];
    double  p[MDS_MAX_COSINE + 1], q[MDS_MAX_COSINE];
} cosines;

typedef struct {
    item   *items;
    size_t  n, room;
    cosines last;
    int     first[N_KEYS + 1]; // block where a key's items begin
    int4   *block, *atom;      // host copies of the lists
    float4 *param;
} builder;

static void split(double v, float *hi, float *lo)
{
    *hi = (float)v;
    *lo = (float)(v - (double)*hi);
}

static mds_status add_item(builder *b, batch_kind batch, int energy, int n, const int32_t *atom, const float *param)
{
    MDS_TRY(mds_grow(&b->items, &b->room, b->n + 1, sizeof *b->items));
    item *t = &b->items[b->n++];

    *t = item{};
    t->batch = batch;
    t->energy = energy;
    for (int k = 0; k < n; k++) t->atom[k] = atom[k];
    memcpy(t->param, param, 4 * (size_t)batch_params[batch] * sizeof *param);
    return MDS_OK;
}

/// The polynomial, if one is open, as the cheapest batch that holds it.
static mds_status close_cosines(builder *b)
{
    cosines   *c = &b->last;
    batch_kind batch = BATCH_COSINE_3;
    float      param[ITEM_FLOATS] = {};

    if (!c->open) return MDS_OK;
    c->open = false;
    for (int k = 0; k <= MDS_MAX_COSINE; k++) {
        if (k > 3 && c->p[k] != 0) batch = BATCH_COSINE_6;
        param[k] = (float)c->p[k];
    }
    for (int k = 0; k < MDS_MAX_COSINE; k++) {
        if (c->q[k] != 0) batch = BATCH_FOURIER;
        param[MDS_MAX_COSINE + 1 + k] = (float)c->q[k];
    }
    return add_item(b, batch, c->energy, 4, c->atom, param);
}

static mds_status add_cosine(builder *b, int kind, const int32_t *atom, const double *param)
{
    const int energy = mds_term_table[kind].energy;
    double    p[MDS_MAX_COSINE + 1] = {}, q[MDS_MAX_COSINE] = {};

    if (kind == MDS_TERM_RB) {
        for (int m = 0; m < 6; m++) p[m] = m % 2 ? -param[m] : param[m]; // cos(phi - pi) = -cos phi
    } else if (!mds_proper_powers(param[0], param[1], param[2], p, q)) {
        const float plain[4] = {(float)param[0], (float)param[1], (float)param[2], 0};

        return add_item(b, BATCH_MULTIPLE, energy, 4, atom, plain);
    }
    if (!b->last.open || b->last.energy != energy || memcmp(b->last.atom, atom, sizeof b->last.atom)) {
        MDS_TRY(close_cosines(b));
        b->last = cosines{};
        b->last.open = true;
        b->last.energy = energy;
        memcpy(b->last.atom, atom, sizeof b->last.atom);
    }
    for (int k = 0; k <= MDS_MAX_COSINE; k++) b->last.p[k] += p[k];
    for (int k = 0; k < MDS_MAX_COSINE; k++) b->last.q[k] += q[k];
    return MDS_OK;
}

static mds_status add_bond(builder *b, batch_kind batch, int energy, const int32_t *atom, const double *param, int n)
{
    float q[4] = {};

    split(param[0], &q[0], &q[1]);
    for (int k = 1; k < n; k++) q[k + 1] = (float)param[k];
    return add_item(b, batch, energy, 2, atom, q);
}

static mds_status add_map(builder *b, const int32_t *atom, const double *param)
{
    const int32_t bits[4] = {atom[4], (int32_t)param[0], 0, 0};
    float         q[4];

    memcpy(q, bits, sizeof q);
    return add_item(b, BATCH_CMAP, MDS_EN_CMAP, 4, atom, q);
}

static mds_status add_restraint(builder *b, const int32_t *atom, const double *param)
{
    float q[12] = {};

    for (int k = 0; k < 3; k++) split(param[k], &q[k], &q[4 + k]);
    q[3] = (float)param[3];
    q[7] = (float)param[4];
    q[8] = (float)param[5];
    return add_item(b, BATCH_RESTRAINT, MDS_EN_RESTRAINT, 1, atom, q);
}

static mds_status add_term(builder *b, int kind, const int32_t *atom, const double *param)
{
    const int   energy = mds_term_table[kind].energy;
    const float two[4] = {(float)param[0], mds_term_table[kind].n_params > 1 ? (float)param[1] : 0};

    switch (kind) {
    case MDS_TERM_BOND:
        return add_bond(b, BATCH_BOND, energy, atom, param, 2);
    case MDS_TERM_BOND_G96:
        return add_bond(b, BATCH_BOND_G96, energy, atom, param, 2);
    case MDS_TERM_BOND_MORSE:
        return add_bond(b, BATCH_BOND_MORSE, energy, atom, param, 3);
    case MDS_TERM_ANGLE:
        return add_item(b, BATCH_ANGLE, energy, 3, atom, two);
    case MDS_TERM_ANGLE_G96: {
        const float cosine[4] = {(float)cos(param[0]), (float)param[1]};

        return add_item(b, BATCH_ANGLE_G96, energy, 3, atom, cosine);
    }
    case MDS_TERM_UREY_BRADLEY: {
        const int32_t ends[2] = {atom[0], atom[2]};

        MDS_TRY(add_item(b, BATCH_ANGLE, energy, 3, atom, two));
        return add_bond(b, BATCH_BOND, energy, ends, param + 2, 2);
    }
    case MDS_TERM_PROPER:
    case MDS_TERM_PERIODIC_IMPROPER:
    case MDS_TERM_RB:
        return add_cosine(b, kind, atom, param);
    case MDS_TERM_IMPROPER:
        return add_item(b, BATCH_IMPROPER, energy, 4, atom, two);
    case MDS_TERM_CMAP:
        return add_map(b, atom, param);
    case MDS_TERM_PAIR14: {
        const float pair[4] = {(float)param[0], (float)param[1], (float)(MDS_COULOMB * param[2])};

        return add_item(b, BATCH_PAIR14, energy, 2, atom, pair);
    }
    case MDS_TERM_RESTRAINT:
        return add_restraint(b, atom, param);
    default:
        MDS_FAIL(MDS_E_INTERNAL, "the GPU backend has no bonded term of kind %d", kind);
    }
}

static mds_status collect_items(const mds_system *s, builder *b)
{
    for (int kind = 0; kind < MDS_N_TERMS; kind++) {
        const mds_terms *terms = &s->term[kind];
        const size_t     n_atoms = (size_t)mds_term_table[kind].n_atoms, n_params = (size_t)mds_term_table[kind].n_params;

        for (int32_t i = 0; i < terms->n; i++)
            MDS_TRY(add_term(b, kind, terms->atom + n_atoms * (size_t)i, terms->param + n_params * (size_t)i));
        MDS_TRY(close_cosines(b));
    }
    return MDS_OK;
}

/// Blocks of every key, and an item's place in them.
static mds_status fill_blocks(builder *b, int *n_blocks, size_t *n_params)
{
    int    count[N_KEYS] = {}, at = 0;
    size_t base = 0;

    for (size_t i = 0; i < b->n; i++) count[b->items[i].batch * MDS_N_ENERGY + b->items[i].energy]++;
    for (int key = 0; key < N_KEYS; key++) {
        b->first[key] = at;
        at += (count[key] + TERM_THREADS - 1) / TERM_THREADS;
        base += (size_t)((count[key] + TERM_THREADS - 1) / TERM_THREADS) * TERM_THREADS * (size_t)batch_params[key / MDS_N_ENERGY];
    }
    *n_blocks = at;
    *n_params = base;
    MDS_TRY(mds_alloc(&b->block, (size_t)at, sizeof *b->block));
    MDS_TRY(mds_alloc(&b->atom, (size_t)at * TERM_THREADS, sizeof *b->atom));
    MDS_TRY(mds_alloc(&b->param, base, sizeof *b->param));
    base = 0;
    for (int key = 0; key < N_KEYS; key++)
        for (int left = count[key], k = b->first[key]; left > 0; left -= TERM_THREADS, k++) {
            b->block[k] = make_int4(key / MDS_N_ENERGY, key % MDS_N_ENERGY, 0, (int)base);
            base += TERM_THREADS * (size_t)batch_params[key / MDS_N_ENERGY];
        }
    for (size_t i = 0; i < b->n; i++) {
        const item *t = &b->items[i];
        int        *k = &b->first[t->batch * MDS_N_ENERGY + t->energy];

        if (b->block[*k].z == TERM_THREADS) ++*k;
        int4     *block = &b->block[*k];
        const int lane = block->z++;
        b->atom[(size_t)*k * TERM_THREADS + (size_t)lane] = make_int4(t->atom[0], t->atom[1], t->atom[2], t->atom[3]);
        for (int m = 0; m < batch_params[t->batch]; m++)
            memcpy(&b->param[block->w + m * TERM_THREADS + lane], t->param + 4 * m, sizeof *b->param);
    }
    return MDS_OK;
}

static mds_status copy_maps(const mds_system *s, bonded_lists *out)
{
    const size_t points = (size_t)s->map_size * (size_t)s->map_size, n = 16 * points * (size_t)s->n_maps;
    double      *cells = NULL, *slopes = NULL;
    float       *rounded = NULL;
    mds_status   status;

    out->map_size = s->map_size;
    if (!n) return MDS_OK;
    MDS_TRY_GOTO(mds_alloc(&cells, n, sizeof *cells));
    MDS_TRY_GOTO(mds_alloc(&slopes, 3 * points, sizeof *slopes));
    MDS_TRY_GOTO(mds_alloc(&rounded, n, sizeof *rounded));
    for (int32_t k = 0; k < s->n_maps; k++)
        mds_cmap_cells(s->map_size, s->map + points * (size_t)k, slopes, cells + 16 * points * (size_t)k);
    for (size_t k = 0; k < n; k++) rounded[k] = (float)cells[k];
    status = gpu_copy_in(&out->cells, rounded, n / 4);
fail:
    mds_free(cells);
    mds_free(slopes);
    mds_free(rounded);
    return status;
}

static mds_status build(const mds_system *s, builder *b, gpu_bonded *out)
{
    size_t n_params;

    MDS_TRY(collect_items(s, b));
    if (!b->n) return MDS_OK;
    MDS_TRY(fill_blocks(b, &out->n_blocks, &n_params));
    MDS_TRY(gpu_copy_in(&out->lists.block, b->block, out->n_blocks));
    MDS_TRY(gpu_copy_in(&out->lists.atom, b->atom, (size_t)out->n_blocks * TERM_THREADS));
    MDS_TRY(gpu_copy_in(&out->lists.param, b->param, n_params));
    return copy_maps(s, &out->lists);
}

mds_status GPU_NAME(bonded_blocks)(const mds_system *system, gpu_bonded *out)
{
    builder          b = {};
    const mds_status status = build(system, &b, out);

    mds_free(b.items);
    mds_free(b.block);
    mds_free(b.atom);
    mds_free(b.param);
    return status;
}
