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
#include "cpu/cpu.h"

#include "base/units.h"
#include "cpu/isa_mesh.h"

#include <math.h>
#include <string.h>

typedef struct {
    int32_t i, j; // slots
    double  qq;   // kJ nm/mol
} excluded_pair;

struct cpu_excluded {
    excluded_pair *pair;
    int32_t        n;
    size_t         capacity;
    double         sum_q2; // e^2
    // the polynomial and what it was made for
    mds_short      range;
    mds_coulomb    coulomb;
    mds_num_split  kind;
    double         cut, shape;
    bool           ready;
};

void mds_cpu_excluded_close(mds_device *d)
{
    if (d->excluded) mds_free(d->excluded->pair);
    mds_free(d->excluded);
    d->excluded = NULL;
}

mds_status mds_cpu_excluded_open(mds_device *d)
{
    const mds_system *s = d->system;
    size_t            n = 0;
    int32_t           i, e;

    MDS_TRY(mds_alloc(&d->excluded, 1, sizeof *d->excluded));
    for (i = 0; i < s->n_atoms; i++) {
        d->excluded->sum_q2 += s->charge[i] * s->charge[i];
        for (e = s->excl_start[i]; e < s->excl_start[i + 1]; e++)
            n += s->excl[e] > i && s->charge[i] * s->charge[s->excl[e]] != 0;
    }
    d->excluded->n = (int32_t)n;
    return mds_alloc(&d->excluded->pair, n, sizeof *d->excluded->pair);
}

/// Pairs in the order of slots, so that neighbours in the list share cache lines.
mds_status mds_cpu_excluded_remap(mds_device *d)
{
    const mds_system *s = d->system;
    excluded_pair    *pair = d->excluded->pair;
    int32_t           slot, e;

    for (slot = 0; slot < d->n_slots; slot++) {
        const int32_t i = d->atom_of[slot];

        for (e = i < 0 ? 0 : s->excl_start[i]; e < (i < 0 ? 0 : s->excl_start[i + 1]); e++) {
            const double qq = MDS_COULOMB * s->charge[i] * s->charge[s->excl[e]];

            if (s->excl[e] > i && qq != 0)
                *pair++ = (excluded_pair){.i = slot, .j = d->slot_of[s->excl[e]], .qq = qq};
        }
    }
    MDS_ASSERT(pair == d->excluded->pair + d->excluded->n);
    return MDS_OK;
}

typedef struct {
    mds_images      images;
    double          cut2, inv_cut, inv_cut2, inv_cut3;
    bool            far;  // there is something to take back beyond the cut-off
    bool            sums; // energy or virial is due
    const isa_mesh *isa;
} excluded_frame;

/// Phi/r and (Phi/r - Phi')/r^2 beyond the cut-off.
static void beyond(const mds_device *d, double r2, double *potential, double *force)
{
    const double r = sqrt(r2);
    double       slope, phi = mds_split_phi(&d->split, r, &slope);

    *potential = phi / r;
    *force = (phi - slope) / (r * r2);
}

/// Up to EXCLUDED_BLOCK pairs: forces into the lines; energy and virial into the sums if due.
static void block(const mds_device *d, const excluded_frame *frame, const excluded_pair *pair, int n,
                  float *lines, cpu_sums *sums)
{
    const mds_short *range = &d->excluded->range;
    double           r[EXCLUDED_BLOCK][3], r2[EXCLUDED_BLOCK], x[EXCLUDED_BLOCK] = {0};
    double           force[EXCLUDED_BLOCK], potential[EXCLUDED_BLOCK] = {0};
    int              p, k, l;

    for (p = 0; p < n; p++) {
        const double *xi = d->x[pair[p].i], *xj = d->x[pair[p].j];

        for (k = 0; k < 3; k++) r[p][k] = xi[k] - xj[k];
        mds_images_nearest(&frame->images, r[p]);
        r2[p] = mds_dot(r[p], r[p]);
        x[p] = 2 * frame->inv_cut2 * r2[p] - 1;
    }
    frame->isa->polynomial(range->force_centred, range->degree_force, x, force);
    if (frame->sums) frame->isa->polynomial(range->pot_centred, range->degree_pot, x, potential);
    for (p = 0; p < n; p++) {
        float *fi = lines + (size_t)(pair[p].i / CPU_CLUSTER) * CPU_LINE + pair[p].i % CPU_CLUSTER;
        float *fj = lines + (size_t)(pair[p].j / CPU_CLUSTER) * CPU_LINE + pair[p].j % CPU_CLUSTER;
        double f = force[p] * frame->inv_cut3, v = potential[p] * frame->inv_cut;

        if (!(r2[p] < frame->cut2)) {
            if (!frame->far) continue;
            beyond(d, r2[p], &v, &f);
        }
        f *= -pair[p].qq;
        for (k = 0; k < 3; k++) {
            fi[k * CPU_CLUSTER] += (float)(f * r[p][k]);
            fj[k * CPU_CLUSTER] -= (float)(f * r[p][k]);
        }
        if (!frame->sums) continue;
        sums->energy[MDS_EN_COUL] -= pair[p].qq * v;
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) sums->virial[k][l] -= 0.5 * f * r[p][k] * r[p][l];
    }
}

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

void mds_cpu_excluded(mds_device *d, mds_work work)
{
    const double   cut = d->params.cut_q;
    excluded_frame frame = {.images = mds_images_of(&d->box),
                            .cut2 = cut * cut,
                            .inv_cut = 1 / cut,
                            .inv_cut2 = 1 / (cut * cut),
                            .inv_cut3 = 1 / (cut * cut * cut),
                            .sums = work & (MDS_ENERGY | MDS_VIRIAL),
                            .isa = mds_cpu_mesh_kernels(d->isa),
                            .far = d->params.coulomb == MDS_COULOMB_PME};
    const int      threads = d->n_threads;
    int            t;

    if (d->params.coulomb != MDS_COULOMB_PME && d->params.coulomb != MDS_COULOMB_REACTION_FIELD) return;
    refresh(d);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < threads; t++) {
        const int64_t n = d->excluded->n;
        const int32_t end = (int32_t)(n * (t + 1) / threads);
        int32_t       p;

        for (p = (int32_t)(n * t / threads); p < end; p += EXCLUDED_BLOCK)
            block(d, &frame, d->excluded->pair + p, end - p < EXCLUDED_BLOCK ? end - p : EXCLUDED_BLOCK,
                  d->f_thread[t], &d->sums[t]);
    }
    d->sums[0].energy[MDS_EN_COUL] -= MDS_COULOMB * d->excluded->sum_q2 *
                                      (frame.far ? d->split.self : 0.5 * d->excluded->range.pot[0] / cut);
}
