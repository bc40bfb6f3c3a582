// SPDX-License-Identifier: Apache-2.0
// Bonded terms on the cpu: block by block (bonded.h), positions in, forces into the thread's float lines.
//
// For each block of its share a thread copies the block's positions into rows of its own, runs the batches (isa_bonded.c) and the
// rare terms on them, and adds the rows of forces to its lines. Forces of a block add up to zero, so that its virial is the sum
// over its atoms of -1/2 x (x) f: nine products an atom, only where it is due. All of it is in double; sums per thread, so
// results depend on the number of threads only, and not on the order of atoms that the last search left.
//
// Positions are continuous, but a file may hold a molecule cut at the box: every difference is taken at the nearest image all the
// same, which for the usual short one is a comparison.
#include "cpu/bonded.h"

#include "num/bonded.h"

#include <math.h>
#include <string.h>

// --------------------------------------------------------------------------------------- rare terms, one by one

static void difference(const bonded_place *w, int32_t a, int32_t b, double r[3])
{
    int k;

    for (k = 0; k < 3; k++) r[k] = w->x[4 * a + k] - w->x[4 * b + k];
    mds_images_nearest(w->images, r);
}

static void add(const bonded_place *w, int32_t row, const double f[3])
{
    for (int k = 0; k < 3; k++) w->f[4 * row + k] += f[k];
}

/// Virial of a force on an atom at r from the term's origin.
static void add_virial(const bonded_place *w, const double r[3], const double f[3])
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) w->virial[k][l] -= 0.5 * r[k] * f[l];
}

/// Vectors f, g, h of num/bonded.h in r, and the torsion.
static void twist_geometry(const bonded_place *w, const int32_t *a, double r[3][3], mds_torsion *t)
{
    difference(w, a[0], a[1], r[0]);
    difference(w, a[2], a[1], r[1]);
    difference(w, a[2], a[3], r[2]);
    mds_torsion_of(r[0], r[1], r[2], t);
}

static void twist(const bonded_place *w, const int32_t *a, double r[3][3], const mds_torsion *t, double slope)
{
    double f[4][3], last[3];
    int    j, k;

    for (j = 0; j < 4; j++) {
        for (k = 0; k < 3; k++) f[j][k] = -slope * t->grad[j][k];
        add(w, a[j], f[j]);
    }
    for (k = 0; k < 3; k++) last[k] = r[1][k] - r[2][k];
    add_virial(w, r[0], f[0]);
    add_virial(w, r[1], f[2]);
    add_virial(w, last, f[3]);
}

static void distance(const bonded_place *w, const bonded_single *t)
{
    const double *p = t->param;
    double        r[3], f[3], g[3], s;

    difference(w, t->row[0], t->row[1], r);
    const double r2 = mds_dot(r, r);
    w->energy[MDS_EN_BOND] += t->kind == MDS_TERM_BOND_G96 ? mds_bond_g96(r2, p[0], p[1], &s) : mds_bond_morse(r2, p[0], p[1], p[2], &s);
    for (int k = 0; k < 3; k++) {
        f[k] = s * r[k];
        g[k] = -f[k];
    }
    add(w, t->row[0], f);
    add(w, t->row[1], g);
    add_virial(w, r, f);
}

static void angle(const bonded_place *w, const bonded_single *t)
{
    double u[3], v[3], fu[3], fv[3], f0[3];

    difference(w, t->row[0], t->row[1], u);
    difference(w, t->row[2], t->row[1], v);
    w->energy[MDS_EN_ANGLE] += mds_angle_g96(u, v, cos(t->param[0]), t->param[1], fu, fv);
    for (int k = 0; k < 3; k++) f0[k] = -fu[k] - fv[k];
    add(w, t->row[0], fu);
    add(w, t->row[2], fv);
    add(w, t->row[1], f0);
    add_virial(w, u, fu);
    add_virial(w, v, fv);
}

/// A cosine of a multiple that is no whole number up to 6.
static void torsion(const bonded_place *w, const bonded_single *t)
{
    double      r[3][3], slope;
    mds_torsion at;

    twist_geometry(w, t->row, r, &at);
    w->energy[mds_term_table[t->kind].energy] += mds_proper(at.phi, t->param[0], t->param[1], t->param[2], &slope);
    twist(w, t->row, r, &at, slope);
}

static void map(const bonded_place *w, const mds_device *d, const bonded_single *t)
{
    const int     n = d->system->map_size;
    const double *cells = d->bonded->cells + (size_t)t->param[0] * 16 * (size_t)n * (size_t)n;
    double        r1[3][3], r2[3][3], slope[2];
    mds_torsion   t1, t2;

    twist_geometry(w, t->row, r1, &t1);
    twist_geometry(w, t->row + 1, r2, &t2);
    w->energy[MDS_EN_CMAP] += mds_cmap(n, cells, t1.phi, t2.phi, slope);
    twist(w, t->row, r1, &t1, slope[0]);
    twist(w, t->row + 1, r2, &t2, slope[1]);
}

/// The reference points do not scale with the box: the virial counts from the origin of space (docs/theory/bonded.md).
static void restraint(const bonded_place *w, const bonded_single *t)
{
    const double *p = t->param;
    double        r[3], f[3], image[3];

    for (int k = 0; k < 3; k++) r[k] = w->x[4 * t->row[0] + k] - p[k];
    mds_images_nearest(w->images, r);
    for (int k = 0; k < 3; k++) {
        w->energy[MDS_EN_RESTRAINT] += 0.5 * p[3 + k] * r[k] * r[k];
        f[k] = -p[3 + k] * r[k];
        image[k] = p[k] + r[k];
    }
    add(w, t->row[0], f);
    add_virial(w, image, f);
}

static void run_single(const bonded_place *w, const mds_device *d, const bonded_single *t)
{
    switch (mds_term_table[t->kind].n_atoms) {
    case 1:
        restraint(w, t);
        break;
    case 2:
        distance(w, t);
        break;
    case 3:
        angle(w, t);
        break;
    case 4:
        torsion(w, t);
        break;
    default:
        map(w, d, t);
        break;
    }
}

// ------------------------------------------------------------------------------------------------- blocks

/// -1/2 sum x (x) f, from the block's first atom: the forces add up to zero.
static void add_block_virial(const bonded_place *w, int32_t n)
{
    double sum[3][3] = {{0}};

    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++) sum[k][l] += (w->x[4 * i + k] - w->x[k]) * w->f[4 * i + l];
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) w->virial[k][l] -= 0.5 * sum[k][l];
}

static void run_block(const mds_device *d, const bonded_block *block, const bonded_place *w, double *x, float *lines, bool virial)
{
    const cpu_bonded *b = d->bonded;

    mds_cpu_bonded_rows_in(block, b->slot, (const double(*)[3])d->x, x, w->f);
    for (int32_t r = 0; r < block->n_runs; r++) b->kernel(&b->run[block->first_run + r], w);
    if (virial) add_block_virial(w, block->n_atoms);
    for (int32_t s = 0; s < block->n_singles; s++) run_single(w, d, &b->single[block->first_single + s]);
    mds_cpu_bonded_rows_out(block, b->slot, w->f, lines);
}

mds_status mds_cpu_bonded_stage(mds_device *d, mds_work work)
{
    const cpu_bonded *b = d->bonded;
    const int         threads = d->n_threads;
    const mds_images  images = mds_images_of(&d->box);

    if (d->tripped || !b->n_blocks) return MDS_OK;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        const bonded_place w = {.images = &images,
                                .x = b->x[t],
                                .f = b->f[t],
                                .energy = d->sums[t].energy,
                                .virial = d->sums[t].virial,
                                .sums = work & MDS_ENERGY};

        for (int32_t k = b->first_block[t]; k < b->first_block[t + 1]; k++)
            run_block(d, &b->block[k], &w, b->x[t], d->f_thread[t], work & MDS_VIRIAL);
    }
    return MDS_OK;
}

// ---------------------------------------------------------------------------------------------------- life

static void choose_level(mds_device *d)
{
    d->bonded->kernel = mds_isa_bonded_generic;
#ifdef MDS_HAVE_AVX2
    if (!strcmp(d->isa, "avx2")) d->bonded->kernel = mds_isa_bonded_avx2;
#endif
#ifdef MDS_HAVE_AVX512
    if (!strcmp(d->isa, "avx512")) d->bonded->kernel = mds_isa_bonded_avx512;
#endif
}

static mds_status open_maps(mds_device *d)
{
    const mds_system *s = d->system;
    const size_t      points = (size_t)s->map_size * (size_t)s->map_size;
    double           *slopes = NULL;

    MDS_TRY(mds_alloc(&d->bonded->cells, 16 * points * (size_t)s->n_maps, sizeof(double)));
    MDS_TRY(mds_alloc(&slopes, 3 * points, sizeof *slopes));
    for (int32_t k = 0; k < s->n_maps; k++)
        mds_cmap_cells(s->map_size, s->map + points * (size_t)k, slopes, d->bonded->cells + 16 * points * (size_t)k);
    mds_free(slopes);
    return MDS_OK;
}

mds_status mds_cpu_bonded_open(mds_device *d)
{
    bonded_source source[MDS_N_TERMS];

    MDS_TRY(mds_alloc(&d->bonded, 1, sizeof *d->bonded));
    choose_level(d);
    for (int k = 0; k < MDS_N_TERMS; k++)
        source[k] = (bonded_source){k, mds_term_table[k].n_atoms, mds_term_table[k].n_params, &d->system->term[k]};
    MDS_TRY(mds_cpu_bonded_blocks(source, MDS_N_TERMS, d->n_atoms, d->n_threads, d->bonded));
    return open_maps(d);
}

void mds_cpu_bonded_close(mds_device *d)
{
    if (!d->bonded) return;
    mds_free(d->bonded->cells);
    mds_cpu_bonded_blocks_free(d->bonded, d->n_threads);
    mds_free(d->bonded);
    d->bonded = NULL;
}

mds_status mds_cpu_bonded_remap(mds_device *d)
{
    mds_cpu_bonded_blocks_remap(d->slot_of, d->bonded);
    return MDS_OK;
}
