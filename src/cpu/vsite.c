// SPDX-License-Identifier: Apache-2.0
// Virtual sites on the cpu: placed before the forces, their forces handed to their atoms after the sum (num/vsite.h).
//
// Sites are placed in the system's order and spread in its reverse, as a site may be built from sites. The list is cut into
// chunks that share no atom, one a thread: no two threads touch the same atom, so no order depends on threads. Where
// chains of sites leave no such cut, one thread does more. Atoms are looked up through slot_of, which is valid before
// the first search too.
//
// The virial so far took a site as a particle that scales with the box. Linear sites do; for the others
// sum_m d_m (x) f_m - d_s (x) f_s is added, distances from the first atom.
#include "cpu/cpu.h"

#include "num/vsite.h"

#include <math.h>

_Static_assert((int)MDS_NUM_2FD == (int)MDS_VSITE_TWO_FD && (int)MDS_NUM_3FD == (int)MDS_VSITE_THREE_FD &&
                   (int)MDS_NUM_3FAD == (int)MDS_VSITE_THREE_FAD && (int)MDS_NUM_3OUT == (int)MDS_VSITE_THREE_OUT &&
                   (int)MDS_NUM_4FDN == (int)MDS_VSITE_FOUR_FDN,
               "num/vsite.h and model.h name the same kinds");

struct cpu_vsite {
    int32_t *cut; // [n_threads + 1] chunks of the list of sites
};

/// b - a, nearest image.
static void from_to(const mds_images *m, const double a[3], const double b[3], double r[3])
{
    for (int k = 0; k < 3; k++) r[k] = b[k] - a[k];
    mds_images_nearest(m, r);
}

static void place(mds_device *d, const mds_images *m, int32_t begin, int32_t end)
{
    const mds_vsites *v = &d->system->vsite;

    for (int32_t s = begin; s < end; s++) {
        const int32_t *atom = v->atom + v->start[s], n = v->start[s + 1] - v->start[s];
        const double  *weight = v->weight + v->start[s], *x0 = d->x[d->slot_of[atom[0]]];
        double        *x = d->x[d->slot_of[v->site[s]]], r[4][3] = {{0}}, offset[3] = {0, 0, 0}, p[3];

        for (int32_t j = 1; j < n; j++) {
            double *here = r[v->kind[s] == MDS_VSITE_LINEAR ? 0 : j];

            from_to(m, x0, d->x[d->slot_of[atom[j]]], here);
            if (v->kind[s] == MDS_VSITE_LINEAR)
                for (int k = 0; k < 3; k++) offset[k] += weight[j] * here[k];
        }
        if (v->kind[s] != MDS_VSITE_LINEAR) {
            mds_vsite_prepare((mds_num_vsite)v->kind[s], v->param[s], p);
            mds_vsite_offset((mds_num_vsite)v->kind[s], p, (const double(*)[3])r, offset);
        }
        for (int k = 0; k < 3; k++) x[k] = x0[k] + offset[k];
    }
}

static void spread(mds_device *d, const mds_images *m, int32_t begin, int32_t end, double virial[3][3])
{
    const mds_vsites *v = &d->system->vsite;

    for (int32_t s = end - 1; s >= begin; s--) {
        const int32_t *atom = v->atom + v->start[s], n = v->start[s + 1] - v->start[s];
        double        *f = d->f[d->slot_of[v->site[s]]], r[4][3] = {{0}}, offset[3] = {0, 0, 0}, g[4][3], p[3];

        if (v->kind[s] == MDS_VSITE_LINEAR) {
            for (int32_t j = 0; j < n; j++)
                for (int k = 0; k < 3; k++) d->f[d->slot_of[atom[j]]][k] += v->weight[v->start[s] + j] * f[k];
        } else {
            const double *x0 = d->x[d->slot_of[atom[0]]];

            for (int32_t j = 1; j < n; j++) from_to(m, x0, d->x[d->slot_of[atom[j]]], r[j]);
            mds_vsite_prepare((mds_num_vsite)v->kind[s], v->param[s], p);
            mds_vsite_offset((mds_num_vsite)v->kind[s], p, (const double(*)[3])r, offset);
            mds_vsite_forces((mds_num_vsite)v->kind[s], p, (const double(*)[3])r, f, g);
            for (int32_t j = 0; j < n; j++)
                for (int k = 0; k < 3; k++) {
                    d->f[d->slot_of[atom[j]]][k] += g[j][k];
                    for (int l = 0; l < 3; l++) virial[k][l] -= 0.5 * r[j][k] * g[j][l];
                }
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++) virial[k][l] += 0.5 * offset[k] * f[l];
        }
        for (int k = 0; k < 3; k++) f[k] = 0;
    }
}

void mds_cpu_vsite_place(mds_device *d)
{
    if (!d->system->vsite.n) return;
    const mds_images m = mds_images_of(&d->box);
    const int        threads = d->n_threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) place(d, &m, d->vsite->cut[t], d->vsite->cut[t + 1]);
}

void mds_cpu_vsite_spread(mds_device *d, mds_work work)
{
    (void)work; // the virial of a site costs a few operations
    if (!d->system->vsite.n) return;
    const mds_images m = mds_images_of(&d->box);
    const int        threads = d->n_threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) spread(d, &m, d->vsite->cut[t], d->vsite->cut[t + 1], d->sums[t].virial);
}

/// Lowest and highest atom that site s touches, itself included.
static void reach(const mds_vsites *v, int32_t s, int32_t *low, int32_t *high)
{
    *low = *high = v->site[s];
    for (int32_t k = v->start[s]; k < v->start[s + 1]; k++) {
        if (v->atom[k] < *low) *low = v->atom[k];
        if (v->atom[k] > *high) *high = v->atom[k];
    }
}

mds_status mds_cpu_vsite_open(mds_device *d)
{
    const mds_vsites *v = &d->system->vsite;
    int32_t          *later = NULL, low, high, highest = -1; // [n + 1] lowest atom of this site and all later ones

    MDS_TRY(mds_alloc(&d->vsite, 1, sizeof *d->vsite));
    MDS_TRY(mds_alloc(&d->vsite->cut, (size_t)d->n_threads + 1, sizeof *d->vsite->cut));
    MDS_TRY(mds_alloc(&later, (size_t)v->n + 1, sizeof *later));
    later[v->n] = INT32_MAX;
    for (int32_t s = v->n - 1; s >= 0; s--) {
        reach(v, s, &low, &high);
        later[s] = low < later[s + 1] ? low : later[s + 1];
    }
    int t = 1;
    for (int32_t s = 0; s < v->n && t < d->n_threads; s++) {
        // a cut before site s is legal if everything before it lies below everything from it on
        while (t < d->n_threads && s >= (int64_t)v->n * t / d->n_threads && highest < later[s]) d->vsite->cut[t++] = s;
        reach(v, s, &low, &high);
        if (high > highest) highest = high;
    }
    for (; t <= d->n_threads; t++) d->vsite->cut[t] = v->n;
    mds_free(later);
    return MDS_OK;
}

void mds_cpu_vsite_close(mds_device *d)
{
    if (!d->vsite) return;
    mds_free(d->vsite->cut);
    mds_free(d->vsite);
    d->vsite = NULL;
}

/// Slots are looked up as they are used.
mds_status mds_cpu_vsite_remap(mds_device *d)
{
    (void)d;
    return MDS_OK;
}
