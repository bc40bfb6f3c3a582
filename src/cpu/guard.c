// SPDX-License-Identifier: Apache-2.0
// The guard of the pair list: has a pair that the list may lack come so near that it matters?
//
// A pair lacks in the list only if it was beyond list_radius at the search; it matters once it is nearer than the
// cut-off less a depth, beyond which the force of any pair of its kind stays below a bound (engine/params.c; the depth
// is 0 where nothing can be said). To get from there to here, its two atoms must have come at least the buffer and the depth:
// one of them half of it. Such atoms are few; `move` finds them while it moves all, with the largest way of a heavy atom, and only
// then is each of them compared, exactly: with the other fast ones where a slow partner could not have made up the rest, else with the
// atoms around it. ref/move.c does the same with a double loop, so both trip at the
// same step. docs/decisions/005-list-buffer.md has the numbers and why the largest displacements alone do not do.
//
// A new list at once, without asking pairs: when one atom in a hundred is that fast (asking would cost more than a search), when
// an atom has gone half the cut-off, and where params.list_pairwise is off.
//
// All is taken in the frame of the last search: boxes around clusters, brick and columns are those of then, and a box
// that was scaled since is scaled back.
#include "cpu/list.h"

#include "cpu/move.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/// The numbers of a look.
typedef struct {
    double cut, buffer; // nm; buffer: what the list has beyond the cut-off now
    double lag;         // nm: groups are scaled as a whole, so their atoms lag behind a uniform scaling by this much
    double limit2[2];   // nm^2, heavy and light
    double far2;        // nm^2: trips by itself
    double most[2];     // nm: the largest ways, heavy and light
} guard;

static bool is_light(const mds_device *d, int32_t slot)
{
    return d->inv_mass[slot] > 1 / MDS_LIGHT;
}

/// False where every pair is listed anyway.
static bool prepare(const mds_device *d, guard *g)
{
    const mds_params *p = &d->params;
    const double     *depth = p->list_depth;
    const bool        all_pairs = mds_box_is_none(&d->box) && (p->cut_lj <= 0 || (p->coulomb != MDS_COULOMB_NONE && p->cut_q <= 0));
    int               k;

    *g = (guard){.cut = fmax(p->cut_lj, p->cut_q)};
    if (!d->listed || g->cut <= 0 || all_pairs) return false;
    g->lag = fabs(1 - d->list_scale) * d->move->extent;
    g->buffer = p->list_radius * d->list_scale - g->cut - 2 * g->lag;
    g->far2 = 0.25 * g->cut * g->cut;
    for (k = 0; k < 2; k++) {
        const double limit = 0.5 * (g->buffer + (p->list_pairwise ? fmin(depth[k], depth[k + 1]) : 0));

        g->limit2[k] = limit > 0 ? fmin(limit * limit, g->far2) : -1;
    }
    return true;
}

void mds_cpu_guard_limits(const mds_device *d, double limit2[2])
{
    guard g;

    limit2[0] = limit2[1] = 1e200;
    if (prepare(d, &g)) memcpy(limit2, g.limit2, sizeof g.limit2);
}

static void way_of(const mds_device *d, int32_t slot, double way[3])
{
    for (int k = 0; k < 3; k++) way[k] = d->x[slot][k] - d->x_list[slot][k];
}

/// Atoms beyond their limits into list->fast; also the largest ways, or for light atoms, if none is beyond, what bounds them. -1: too many,
/// or one that is too far.
static int32_t collect(mds_device *d, guard *g, const int32_t *slots, int32_t n_slots, double heavy2)
{
    enum { SHARE = 4096 }; // fewer are not worth the threads
    cpu_list     *list = d->list;
    const int32_t most = CPU_FAST(d->n_atoms);
    int32_t       n = 0, k;
    double        light2 = slots ? fmax(g->limit2[1], 0) : 0;

#pragma omp parallel for schedule(static) num_threads(d->n_threads) reduction(max : heavy2, light2) if (n_slots > SHARE)
    for (k = 0; k < n_slots; k++) {
        const int32_t slot = slots ? slots[k] : k;
        double        way[3];

        if (d->atom_of[slot] < 0) continue;
        way_of(d, slot, way);
        const double way2 = mds_dot(way, way);
        const bool   light = is_light(d, slot);

        heavy2 = fmax(heavy2, light ? 0 : way2);
        light2 = fmax(light2, light ? way2 : 0);
        if (way2 <= g->limit2[light]) continue;
#pragma omp critical(mds_cpu_guard) // the answer does not depend on the order
        {
            if (n < most) list->fast[n] = (cpu_fast){way2, slot, light};
            n++;
        }
    }
    g->most[0] = sqrt(heavy2);
    g->most[1] = sqrt(light2);
    return n > most || fmax(heavy2, light2) > g->far2 ? -1 : n;
}

/// Whether atom j of a cluster near was too far from i to be listed, and matters now.
static bool lacks(const mds_device *d, const guard *g, const mds_images *images, int32_t i, const double way[3], int32_t j)
{
    const double depth = d->params.list_depth[is_light(d, i) + is_light(d, j)], now = g->cut - depth;
    double       r[3], other[3];
    int          k;

    if (d->atom_of[j] < 0 || j == i) return false;
    way_of(d, j, other);
    const double least = g->buffer + depth - mds_norm(way); // what j must have gone: almost none has, so ask this first
    if (least > 0 && mds_dot(other, other) < least * least) return false;
    for (k = 0; k < 3; k++) r[k] = d->x[i][k] - d->x[j][k];
    mds_images_nearest(images, r);
    if (!(mds_dot(r, r) < now * now)) return false;
    for (k = 0; k < 3; k++) r[k] -= way[k] - other[k]; // where the same image was at the search
    return mds_dot(r, r) > (g->cut + g->buffer) * (g->cut + g->buffer);
}

/// A fast atom and the box around its cluster at the search.
typedef struct {
    const mds_device *d;
    const guard      *g;
    const mds_images *images;
    cpu_lane         *lane;
    int32_t           slot;
    mds_box           box; // of the search
    double            way[3], lo[3], hi[3], radius;
    bool              lacks;
} look;

static mds_status look_at_image(void *arg, const int32_t n[3])
{
    look    *at = arg;
    cpu_near query = {.bounds = at->d->list->bounds, .radius2 = (float)(at->radius * at->radius)};
    double   lo[3], hi[3];
    int32_t  found, p, l;
    int      k;

    for (k = 0; k < 3; k++) {
        const double shift = n[0] * at->box.a[0][k] + n[1] * at->box.a[1][k] + n[2] * at->box.a[2][k];

        lo[k] = at->lo[k] + shift;
        hi[k] = at->hi[k] + shift;
        query.box[k] = (float)lo[k];
        query.box[3 + k] = (float)hi[k];
    }
    found = mds_cpu_list_near(at->d, at->lane, &query, lo, hi, at->radius, 0);
    for (p = 0; p < found && !at->lacks; p++)
        for (l = 0; l < CPU_CLUSTER; l++)
            at->lacks |= lacks(at->d, at->g, at->images, at->slot, at->way, CPU_CLUSTER * at->lane->found[p] + l);
    return MDS_OK;
}

/// Whether an atom that went so far can lack a pair with one that went at most as far as `most` says, by class. Of two atoms of one class it
/// is enough that the faster one looks.
static bool can_lack(const mds_device *d, const guard *g, int light, double way, const double most[2])
{
    const double *depth = d->params.list_depth;
    const double  same = g->buffer + depth[2 * light];

    return (way > 0.5 * same && way + most[light] > same) || way + most[!light] > g->buffer + depth[1];
}

/// One fast atom against the others, of which few went far enough.
static bool look_at_fast(const mds_device *d, const guard *g, const mds_images *images, int32_t n, const cpu_fast *i, const double way[3])
{
    const cpu_fast *fast = d->list->fast;
    double          least2[2];
    bool            found = false;

    for (int k = 0; k < 2; k++) {
        const double least = g->buffer + d->params.list_depth[i->light + k] - sqrt(i->way2);

        least2[k] = least > 0 ? least * least : 0;
    }
    for (int32_t k = 0; k < n && !found; k++)
        if (fast[k].way2 >= least2[fast[k].light]) found = lacks(d, g, images, i->slot, way, fast[k].slot);
    return found;
}

/// One of n fast atoms against all atoms that may be near now: every image of its cluster that comes near the brick. If it takes another
/// fast one to lack a pair, those are enough.
static bool look_around(const mds_device *d, const guard *g, const mds_images *images, cpu_lane *lane, int32_t n,
                        const cpu_fast *fast)
{
    const cpu_list *list = d->list;
    const double   *depth = d->params.list_depth, scale = d->list_scale, way = sqrt(fast->way2);
    const int32_t   cluster = fast->slot / CPU_CLUSTER;
    const int       light = fast->light;
    look            at = {.d = d, .g = g, .images = images, .lane = lane, .slot = fast->slot};
    double          slow[2];
    int             k, l;

    way_of(d, fast->slot, at.way);
    for (k = 0; k < 2; k++) slow[k] = fmin(g->most[k], sqrt(fmax(g->limit2[k], 0)));
    if (!can_lack(d, g, light, way, g->most)) return false;
    if (!can_lack(d, g, light, way, slow)) return look_at_fast(d, g, images, n, fast, at.way);
    const double reach = fmax(g->most[0] - depth[light], g->most[1] - depth[light + 1]); // pairs matter from a depth below the cut-off on
    at.radius = (g->cut + way + reach) / scale + 2 * g->lag + 2 * CPU_ROUNDING + 1e-6 * list->extent;
    for (k = 0; k < 3; k++) {
        at.lo[k] = (double)list->bounds[k][cluster];
        at.hi[k] = (double)list->bounds[3 + k][cluster];
        for (l = 0; l < 3; l++) at.box.a[k][l] = d->box.a[k][l] / scale;
    }
    (void)mds_cpu_list_images(list, &at.box, at.lo, at.hi, at.radius, look_at_image, &at); // look_at_image has no errors
    return at.lacks;
}

bool mds_cpu_guard_trips(mds_device *d, const int32_t *slots, int32_t n_slots, double heavy2)
{
    guard         g;
    int32_t       n, k;
    bool          trips = false;
    const bool    on = prepare(d, &g);
    const cpu_fast *fast = d->list->fast;

    if (!on) return false;
    n = collect(d, &g, slots, n_slots, slots ? heavy2 : 0);
    if (n < 0 || (n > 0 && !d->params.list_pairwise)) return true;
    const mds_images images = mds_images_of(&d->box);
#pragma omp parallel for schedule(dynamic, 1) num_threads(d->n_threads) reduction(|| : trips)
    for (k = 0; k < n; k++) {
#ifdef _OPENMP
        cpu_lane *lane = &d->list->lane[omp_get_thread_num()];
#else
        cpu_lane *lane = d->list->lane;
#endif
        trips = trips || look_around(d, &g, &images, lane, n, &fast[k]);
    }
    return trips;
}
