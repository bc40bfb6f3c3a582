// SPDX-License-Identifier: Apache-2.0
// Virtual sites: placed before the forces, their forces handed to their atoms after the sum (formulas: num/vsite.h).
//
// A site may be built from sites. Level 0 sites are built from atoms only, level l ones from at least one site of level l - 1. One
// launch a level, one thread a site, places upwards and spreads downwards; nearly every system has one level. In double
// throughout: positions are, and a site costs some 30 (a linear one) to 200 operations beside the 100 bytes that it moves.
//
// Spread reads the fixed-point sums of the site's slot, which only this thread touches in this launch, clears them, and adds
// to the slots of its atoms: sums of integers, so the order of sites does not matter.
//
// The virial so far took a site as a particle that scales with the box. Linear sites do; for the others
// sum_m d_m (x) f_m - d_s (x) f_s is added, distances from the first atom.
#include "terms.h"

#include "num/vsite.h"

#include <string.h>

static_assert((int)MDS_NUM_2FD == (int)MDS_VSITE_TWO_FD && (int)MDS_NUM_3FD == (int)MDS_VSITE_THREE_FD &&
                  (int)MDS_NUM_3FAD == (int)MDS_VSITE_THREE_FAD && (int)MDS_NUM_3OUT == (int)MDS_VSITE_THREE_OUT &&
                  (int)MDS_NUM_4FDN == (int)MDS_VSITE_FOUR_FDN,
              "num/vsite.h and model.h name the same kinds");

/// On the device, sites in the order of levels.
typedef struct {
    const int    *kind;        // [n] mds_vsite_kind
    const int    *site;        // [n] atom id
    const int    *start;       // [n + 1] into atom and weight
    const int    *atom;
    const double *weight;      // 1
    const double (*param)[3];  // [n] of mds_vsite_prepare
} vsite_lists;

struct gpu_vsite {
    vsite_lists lists;
    int         n_levels;
    int        *first; // [n_levels + 1] host: sites of level l begin here
};

/// Distances of the atoms of a site that is not linear from its first one, nearest image.
static __device__ __forceinline__ void reach(const gpu_view *p, const mds_images *images, const int *atom, int n, double d[4][3])
{
    const double *x0 = p->x[atom[0]];
    int           m, k;

    GPU_UNROLL
    for (m = 0; m < 4; m++) {
        for (k = 0; k < 3; k++) d[m][k] = 0;
        if (m == 0 || m >= n) continue;
        for (k = 0; k < 3; k++) d[m][k] = p->x[atom[m]][k] - x0[k];
        mds_images_nearest(images, d[m]);
    }
}

/// Blocks of TERM_THREADS sites [first, last) of one level.
static __global__ void __launch_bounds__(TERM_THREADS) k_place(gpu_view p, vsite_lists v, int first, int last)
{
    GPU_SHARED(term_images, images, [1]);
    const int s = first + (int)(blockIdx.x * TERM_THREADS + threadIdx.x);
    double    offset[3] = {0, 0, 0};
    int       j, k;

    if (p.control->tripped) return;
    term_images_of(p.control, images);
    __syncthreads();
    if (s >= last) return;
    const int  kind = v.kind[s], n = v.start[s + 1] - v.start[s];
    const int *atom = v.atom + v.start[s];
    if (kind == MDS_VSITE_LINEAR) {
        const double *x0 = p.x[atom[0]];

        for (j = 1; j < n; j++) {
            const double *x = p.x[atom[j]], w = v.weight[v.start[s] + j];
            double        d[3] = {x[0] - x0[0], x[1] - x0[1], x[2] - x0[2]};

            mds_images_nearest(&images->m, d);
            for (k = 0; k < 3; k++) offset[k] += w * d[k];
        }
    } else {
        const double param[3] = {v.param[s][0], v.param[s][1], v.param[s][2]};
        double       d[4][3];

        reach(&p, &images->m, atom, n, d);
        mds_vsite_offset((mds_num_vsite)kind, param, d, offset);
    }
    for (k = 0; k < 3; k++) p.x[v.site[s]][k] = p.x[atom[0]][k] + offset[k];
}

/// Forces of one site that is not linear on its atoms; its part of the virial into sum.
template <bool sums>
static __device__ __forceinline__ void spread_bent(const gpu_view *p, const vsite_lists *v, const mds_images *images, int s,
                                                   const double f[3], double (&sum)[9])
{
    const int    kind = v->kind[s], n = v->start[s + 1] - v->start[s];
    const int   *atom = v->atom + v->start[s];
    const double param[3] = {v->param[s][0], v->param[s][1], v->param[s][2]};
    double       d[4][3], g[4][3], offset[3];
    int          j, k, l;

    reach(p, images, atom, n, d);
    mds_vsite_forces((mds_num_vsite)kind, param, d, f, g);
    GPU_UNROLL
    for (j = 0; j < 4; j++) {
        if (j >= n) continue;
        const int slot = p->slot_of[atom[j]];

        for (k = 0; k < 3; k++) gpu_add_force_double(p, slot, k, g[j][k]);
    }
    if (!sums) return;
    mds_vsite_offset((mds_num_vsite)kind, param, d, offset);
    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++)
            sum[3 * k + l] = 0.5 * (offset[k] * f[l] - d[1][k] * g[1][l] - d[2][k] * g[2][l] - d[3][k] * g[3][l]);
}

template <bool sums> static __global__ void __launch_bounds__(TERM_THREADS) k_spread(gpu_view p, vsite_lists v, int first, int last)
{
    GPU_SHARED(term_images, images, [1]);
    GPU_SHARED(double, part, [TERM_WARPS][9]);
    const int t = (int)threadIdx.x, s = first + (int)(blockIdx.x * TERM_THREADS) + t;
    double    sum[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    int       j, k;

    if (p.control->tripped) return;
    term_images_of(p.control, images);
    __syncthreads();
    if (s < last) {
        const int slot = p.slot_of[v.site[s]];
        double    f[3];

        gpu_take_sum(&p, slot, f);
        if (v.kind[s] == MDS_VSITE_LINEAR) {
            for (j = v.start[s]; j < v.start[s + 1]; j++) {
                const int to = p.slot_of[v.atom[j]];

                for (k = 0; k < 3; k++) gpu_add_force_double(&p, to, k, v.weight[j] * f[k]);
            }
        } else {
            spread_bent<sums>(&p, &v, &images->m, s, f, sum);
        }
    }
    if (!sums) return;
    const double total = term_block_sum(sum, part);
    if (t < 9) gpu_add_sum(p.control, GPU_VIRIAL + t, total);
}

// ---------------------------------------------------------------------------------------------------- life

/// Level of every site (in the system's order) and the number of levels. at: [n_atoms] room.
static int find_levels(const mds_vsites *v, int32_t n_atoms, int *level, int *at)
{
    int highest = -1;

    for (int32_t i = 0; i < n_atoms; i++) at[i] = -1; // an atom
    for (int32_t s = 0; s < v->n; s++) {
        level[s] = 0;
        for (int32_t k = v->start[s]; k < v->start[s + 1]; k++)
            if (at[v->atom[k]] >= level[s]) level[s] = at[v->atom[k]] + 1;
        at[v->site[s]] = level[s];
        if (level[s] > highest) highest = level[s];
    }
    return highest + 1;
}

/// Host copies in the order of levels.
typedef struct {
    int    *level, *at, *order, *kind, *site, *start, *atom;
    double *weight, (*param)[3];
} sorted;

static mds_status sort_sites(mds_device *d, sorted *h)
{
    const mds_vsites *v = &d->system->vsite;
    const size_t      n = (size_t)v->n, n_atoms = (size_t)v->start[v->n];
    gpu_vsite        *g = d->vsite;
    int               filled = 0, used = 0;

    MDS_TRY(mds_alloc(&h->level, n, sizeof *h->level));
    MDS_TRY(mds_alloc(&h->at, (size_t)d->system->n_atoms, sizeof *h->at));
    MDS_TRY(mds_alloc(&h->kind, n, sizeof *h->kind));
    MDS_TRY(mds_alloc(&h->site, n, sizeof *h->site));
    MDS_TRY(mds_alloc(&h->start, n + 1, sizeof *h->start));
    MDS_TRY(mds_alloc(&h->atom, n_atoms, sizeof *h->atom));
    MDS_TRY(mds_alloc(&h->weight, n_atoms, sizeof *h->weight));
    MDS_TRY(mds_alloc(&h->param, n, sizeof *h->param));
    g->n_levels = find_levels(v, d->system->n_atoms, h->level, h->at);
    MDS_TRY(mds_alloc(&g->first, (size_t)g->n_levels + 1, sizeof *g->first));
    MDS_TRY(mds_alloc(&h->order, n, sizeof *h->order));
    for (int32_t s = 0; s < v->n; s++) g->first[h->level[s] + 1]++;
    for (int l = 0; l < g->n_levels; l++) g->first[l + 1] += g->first[l];
    for (int l = 0; l < g->n_levels; l++) h->at[l] = g->first[l]; // fewer levels than atoms
    for (int32_t s = 0; s < v->n; s++) h->order[h->at[h->level[s]]++] = s;
    for (; filled < v->n; filled++) {
        const int s = h->order[filled];

        h->kind[filled] = v->kind[s];
        h->site[filled] = v->site[s];
        if (v->kind[s] != MDS_VSITE_LINEAR) mds_vsite_prepare((mds_num_vsite)v->kind[s], v->param[s], h->param[filled]);
        for (int32_t k = v->start[s]; k < v->start[s + 1]; k++, used++) {
            h->atom[used] = v->atom[k];
            h->weight[used] = v->weight[k];
        }
        h->start[filled + 1] = used;
    }
    return MDS_OK;
}

static mds_status copy_sites(const mds_vsites *v, const sorted *h, vsite_lists *out)
{
    const size_t n = (size_t)v->n, n_atoms = (size_t)v->start[v->n];

    MDS_TRY(gpu_copy_in(&out->kind, h->kind, n));
    MDS_TRY(gpu_copy_in(&out->site, h->site, n));
    MDS_TRY(gpu_copy_in(&out->start, h->start, n + 1));
    MDS_TRY(gpu_copy_in(&out->atom, h->atom, n_atoms));
    MDS_TRY(gpu_copy_in(&out->weight, h->weight, n_atoms));
    return gpu_copy_in(&out->param, h->param, n);
}

mds_status GPU_NAME(vsite_open)(mds_device *d)
{
    sorted     h = {};
    mds_status status;

    if (!d->system->vsite.n) return MDS_OK;
    MDS_TRY(mds_alloc(&d->vsite, 1, sizeof *d->vsite));
    status = sort_sites(d, &h);
    if (status == MDS_OK) status = copy_sites(&d->system->vsite, &h, &d->vsite->lists);
    void *const room[] = {h.level, h.at, h.order, h.kind, h.site, h.start, h.atom, h.weight, h.param};
    for (size_t k = 0; k < sizeof room / sizeof room[0]; k++) mds_free(room[k]);
    return status;
}

void GPU_NAME(vsite_close)(mds_device *d)
{
    gpu_vsite *g = d->vsite;

    if (!g) return;
    const void *const memory[] = {g->lists.kind, g->lists.site, g->lists.start, g->lists.atom, g->lists.weight, g->lists.param};
    for (size_t k = 0; k < sizeof memory / sizeof memory[0]; k++) GPU_NAME(release)(memory[k]);
    mds_free(g->first);
    mds_free(g);
    d->vsite = NULL;
}

// --------------------------------------------------------------------------------------------------- stage

static unsigned blocks_for(int n)
{
    return (unsigned)(n + TERM_THREADS - 1) / TERM_THREADS;
}

mds_status GPU_NAME(vsite_place)(mds_device *d)
{
    const gpu_vsite *g = d->vsite;

    for (int l = 0; g && l < g->n_levels; l++)
        GPU_LAUNCH(k_place, blocks_for(g->first[l + 1] - g->first[l]), TERM_THREADS, 0, d->stream, d->view, g->lists, g->first[l],
                   g->first[l + 1]);
    return MDS_OK;
}

mds_status GPU_NAME(vsite_spread)(mds_device *d, mds_work work)
{
    const gpu_vsite *g = d->vsite;

    for (int l = g ? g->n_levels - 1 : -1; l >= 0; l--) {
        const int n = g->first[l + 1] - g->first[l];

        if (work & MDS_VIRIAL)
            GPU_LAUNCH(k_spread<true>, blocks_for(n), TERM_THREADS, 0, d->stream, d->view, g->lists, g->first[l], g->first[l + 1]);
        else
            GPU_LAUNCH(k_spread<false>, blocks_for(n), TERM_THREADS, 0, d->stream, d->view, g->lists, g->first[l], g->first[l + 1]);
    }
    return MDS_OK;
}
