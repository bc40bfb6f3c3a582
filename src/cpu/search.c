// SPDX-License-Identifier: Apache-2.0
// Search: put the particles into cluster order and start a new pair list.
//
// Atoms are wrapped (privately: x stays continuous) into the brick [0,ax) x [0,by) x [0,cz), which tiles space as well as
// the box does when its rows are lower triangular. The brick is cut into columns along z with a square base, wider than a cluster is
// long; order.c sorts them and cuts them into supers of 8 = two clusters of 4. Without a box the brick spans the bulk of
// the atoms and those outside belong to its outermost columns: every map from coordinate to column is clamped and
// monotonous, and distances are taken from real boxes around atoms, so nothing depends on the brick being right.
//
// Regions. Each super belongs to a region of at most REGION nm, from whose middle the float copy (copy.c) is taken; it never
// spans more than CPU_REACH nm: a wider gap is bridged by padding.
#include "cpu/list.h"

#include <math.h>
#include <string.h>

#define REGION 8.0 // nm: |xq| stays near 4 nm, where a float is spaced 2.4e-7 nm (4.8e-7 beyond)
#define PER_CUBE 7 // atoms in a cube as wide as a column

mds_status mds_cpu_list_open(mds_device *d)
{
    const cpu_isa *isa;
    mds_text       about = {0};

    MDS_TRY(mds_isa_find(d->isa, &isa));
    MDS_TRY(mds_alloc(&d->list, 1, sizeof *d->list));
    MDS_TRY(mds_alloc(&d->list->fast, (size_t)CPU_FAST(d->n_atoms), sizeof *d->list->fast));
    MDS_TRY(mds_alloc(&d->list->lane, (size_t)d->n_threads, sizeof *d->list->lane));
    d->list->isa = isa;
    mds_text_add(&about, "cpu: %s, %d thread%s", isa->name, d->n_threads, d->n_threads == 1 ? "" : "s");
    MDS_CHECK(!about.failed, MDS_E_MEMORY, "out of memory");
    strncpy(d->about, about.s, sizeof d->about - 1);
    strncpy(d->isa, isa->name, sizeof d->isa - 1);
    mds_text_free(&about);
    return MDS_OK;
}

void mds_cpu_list_close(mds_device *d)
{
    cpu_list *list = d->list;
    int       k;

    if (!list) return;
    mds_cpu_list_clear(d);
    mds_free(list->column_key);
    mds_free(list->column_start);
    for (k = 0; k < 4; k++) mds_free(list->columns.box[k]);
    mds_free(list->columns.reaching);
    mds_free(list->place);
    mds_free(list->key);
    mds_free(list->key_swap);
    mds_free(list->order);
    mds_free(list->swap);
    mds_free(list->image);
    mds_free(list->offset);
    mds_free(list->origin);
    mds_free(list->region);
    for (k = 0; k < 6; k++) mds_free(list->bounds[k]);
    mds_free(list->lj);
    mds_free(list->type);
    mds_free(list->xq_prune);
    mds_free(list->light);
    mds_free(list->fast);
    mds_free(list->matrix);
    mds_free(list->type_lj);
    mds_free(list->has_lj);
    mds_cpu_common_close(list);
    mds_free(list);
    d->list = NULL;
}

mds_status mds_cpu_list_set(mds_device *d)
{
    return mds_cpu_pair_set(d);
}

// --------------------------------------------------------------------------------------------- the brick

static int32_t whole_below(double a)
{
    const int32_t n = (int32_t)a; // floor is a call where the base level has no rounding

    return n - (a < n);
}

/// Wrapped position from the centre, and the box vectors that were added: none without a box. Rounding may leave it a hair
/// outside: no harm.
static inline void wrap(const cpu_list *list, const double x[3], double w[3], int32_t image[3])
{
    const double(*h)[3] = list->box.a;
    const int32_t c = -whole_below(x[2] * list->inverse[2]);
    const double  v = x[1] + c * h[2][1];
    const int32_t b = -whole_below(v * list->inverse[1]);
    const double  u = x[0] + c * h[2][0] + b * h[1][0];
    const int32_t a = -whole_below(u * list->inverse[0]);

    w[0] = u + a * h[0][0] - list->centre[0];
    w[1] = v + b * h[1][1] - list->centre[1];
    w[2] = x[2] + c * h[2][2] - list->centre[2];
    image[0] = a;
    image[1] = b;
    image[2] = c;
}

/// Wrapped places of all atoms, and the extent.
static mds_status place_atoms(mds_device *d)
{
    cpu_list *list = d->list;
    double    extent = 0;
    int32_t   slot;

    MDS_TRY(mds_grow(&list->place, &list->cap_place, (size_t)d->n_slots, sizeof *list->place));
#pragma omp parallel for schedule(static) num_threads(d->n_threads) reduction(max : extent)
    for (slot = 0; slot < d->n_slots; slot++) {
        double  w[3];
        int32_t image[3];

        if (d->atom_of[slot] < 0) continue;
        wrap(list, d->x[slot], w, image);
        for (int k = 0; k < 3; k++) {
            list->place[slot].w[k] = (float)w[k];
            extent = fabs(w[k]) > extent ? fabs(w[k]) : extent;
        }
    }
    list->extent = extent;
    return MDS_OK;
}

/// Where the bulk of the atoms is along an axis: zoom into the span that holds all but a hundredth at either end, while
/// that shrinks it much.
static void bulk(const mds_device *d, int axis, double *lo, double *hi)
{
    enum { BINS = 256 };
    int32_t i;
    int     round;

    *lo = *hi = d->x[d->slot_of[0]][axis];
    for (i = 1; i < d->n_atoms; i++) {
        *lo = fmin(*lo, d->x[d->slot_of[i]][axis]);
        *hi = fmax(*hi, d->x[d->slot_of[i]][axis]);
    }
    for (round = 0; round < 8; round++) {
        const double start = *lo, width = (*hi - *lo) / BINS;
        int64_t      count[BINS] = {0}, below = 0, above = 0;
        int          a = 0, b = BINS - 1;

        if (!(width > 0)) return;
        for (i = 0; i < d->n_atoms; i++) {
            const double bin = (d->x[d->slot_of[i]][axis] - start) / width;

            if (bin >= 0 && bin < BINS + 1) count[bin < BINS ? (int)bin : BINS - 1]++;
        }
        while (a < b && below + count[a] <= d->n_atoms / 100) below += count[a++];
        while (b > a && above + count[b] <= d->n_atoms / 100) above += count[b--];
        if (b - a + 1 > BINS / 4) return;
        *lo = start + a * width;
        *hi = start + (b + 1) * width;
    }
}

/// Atoms per nm^3 where the atoms are: the mean over atoms of the density of the coarse cell they are in. In a
/// homogeneous system N/V; beside empty space it stays that of the matter.
static double local_density(const mds_device *d)
{
    enum { SIDE = 16 };
    const cpu_list *list = d->list;
    double          volume = 1, sum = 0, scale[3];
    int32_t         count[SIDE * SIDE * SIDE] = {0}, n[3], i;
    int32_t *const  counts = count;
    int             k;

    for (k = 0; k < 3; k++) {
        // some 30 atoms a cell if they filled the brick
        n[k] = (int32_t)fmin(SIDE, fmax(1, list->length[k] / cbrt(30 * list->length[0] * list->length[1] *
                                                                  list->length[2] / d->n_atoms)));
        volume *= list->length[k] / n[k];
        scale[k] = n[k] / list->length[k];
    }
    const int32_t n_cells = n[0] * n[1] * n[2];
#pragma omp parallel for schedule(static) num_threads(d->n_threads) reduction(+ : counts[:n_cells])
    for (i = 0; i < d->n_slots; i++) {
        int32_t cell = 0;

        if (d->atom_of[i] < 0) continue;
        for (int l = 0; l < 3; l++) cell = cell * n[l] + mds_cpu_clamped((double)list->place[i].w[l] * scale[l] + 0.5 * n[l], n[l]);
        counts[cell]++;
    }
    for (i = 0; i < n_cells; i++) sum += (double)count[i] * count[i];
    return sum / (d->n_atoms * volume);
}

/// Brick, regions and columns for the present positions.
static mds_status set_frame(mds_device *d)
{
    cpu_list *list = d->list;
    int       k;

    list->periodic = !mds_box_is_none(&d->box);
    list->box = d->box;
    list->one_region = list->periodic;
    for (k = 0; k < 3; k++) {
        double lo = 0, hi = d->box.a[k][k];

        if (!list->periodic) bulk(d, k, &lo, &hi);
        list->centre[k] = 0.5 * (lo + hi);
        list->length[k] = fmax(hi - lo, 0.1); // a plane or a line of atoms still needs a volume
        list->inverse[k] = list->periodic ? 1 / d->box.a[k][k] : 0;
        list->one_region = list->one_region && list->length[k] <= REGION;
        list->spacing[k] = list->periodic ? list->length[k] / ceil(list->length[k] / REGION) : REGION;
    }
    MDS_TRY(place_atoms(d));
    // between the column whose clusters are cubes and the one whose supers are: fewest tiles and halves (benchmarks/results,
    // 2026-11-30-search.md); never more columns than there are clusters
    const double base = list->length[0] * list->length[1];
    const double side = fmax(cbrt(PER_CUBE / local_density(d)), sqrt(base / (d->n_atoms / CPU_CLUSTER + 1)));

    for (k = 0; k < 2; k++) {
        const double most = d->n_atoms / CPU_CLUSTER + 1;

        list->n_column[k] = (int32_t)fmin(most, fmax(1, rint(list->length[k] / side)));
    }
    list->narrow = list->periodic && 2 * list->length[0] < CPU_REACH * list->n_column[0] && list->length[1] < CPU_REACH * list->n_column[1];
    const size_t need = (size_t)list->n_column[0] * (size_t)list->n_column[1] + 1 + 16; // vectors may read past the end
    if (need > list->cap_column) {
        size_t c = list->cap_column;

        MDS_TRY(mds_grow(&list->column_key, &c, need, sizeof *list->column_key));
        for (k = 0; k < 4; k++) {
            c = list->cap_column;
            MDS_TRY(mds_grow(&list->columns.box[k], &c, need, sizeof *list->columns.box[k]));
        }
        MDS_TRY(mds_grow(&list->column_start, &list->cap_column, need, sizeof *list->column_start));
    }
    return MDS_OK;
}

// --------------------------------------------------------------------------------------------- the order

/// First cluster of every column, counting two for each super.
static mds_status count_supers(mds_device *d)
{
    cpu_list     *list = d->list;
    const int32_t n_columns = list->n_column[0] * list->n_column[1];
    int64_t       total = 0;
    int32_t       c;

#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (c = 0; c < n_columns; c++) {
        int32_t at = list->column_key[c], n = 0;

        for (; at < list->column_key[c + 1]; n++) at += mds_cpu_order_length(d, list->key + at, list->column_key[c + 1] - at);
        list->column_start[c] = n;
    }
    for (c = 0; c < n_columns; c++) {
        const int32_t n = list->column_start[c];

        list->column_start[c] = (int32_t)(2 * total);
        total += n;
    }
    MDS_CHECK(total * CPU_SUPER < INT32_MAX, MDS_E_UNSUPPORTED, "%lld atoms with padding are too many for one process",
              (long long)(total * CPU_SUPER));
    list->column_start[n_columns] = (int32_t)(2 * total);
    list->n_supers = (int32_t)total;
    return MDS_OK;
}

/// Room for everything by slot, cluster and super.
static mds_status reserve(mds_device *d)
{
    cpu_list    *list = d->list;
    const size_t n = (size_t)list->n_supers;
    int          k;

    // padding differs a little from search to search: some more than is needed, not all arrays anew in every other one
    if (n * CPU_SUPER >= d->capacity) MDS_TRY(mds_cpu_reserve(d, (int32_t)(n * CPU_SUPER + n / 8 + 64)));
    if (list->cap_slots != d->capacity) { // its size must be that of d->x, with which it changes places
        mds_free(list->swap);
        list->swap = NULL;
        MDS_TRY(mds_alloc(&list->swap, d->capacity, sizeof *list->swap));
        list->cap_slots = d->capacity;
    }
    if (n <= list->cap_extra) return MDS_OK;
    const size_t old = list->cap_extra, more = n + n / 8;
    size_t       c;
#define ROOM(array, per, extra) (c = old * (per), mds_reserve(&(array), &c, more * (per) + (extra), 0, sizeof *(array)))
    MDS_TRY(ROOM(list->order, CPU_SUPER, 0));
    MDS_TRY(ROOM(list->image, CPU_SUPER, 0));
    MDS_TRY(ROOM(list->offset, CPU_SUPER, 0));
    MDS_TRY(ROOM(list->origin, 1, 0));
    MDS_TRY(ROOM(list->region, 1, 0));
    for (k = 0; k < 6; k++) MDS_TRY(ROOM(list->bounds[k], 2, 16)); // vectors may read past the end
    MDS_TRY(ROOM(list->lj, 2 * 8, 0));
    MDS_TRY(ROOM(list->type, 2 * 4, 0));
    MDS_TRY(ROOM(list->xq_prune, 2 * CPU_LINE, 0));
    MDS_TRY(ROOM(list->light, CPU_SUPER, 0));
#undef ROOM
    list->cap_extra = more;
    return MDS_OK;
}

/// Box around atoms of one cluster, which are in old slots (n may be 0: then it is nowhere, but keeps its place along z).
static void set_bounds(cpu_list *list, int32_t cluster, const int32_t *slot, int32_t n)
{
    float   lo[3], hi[3];
    int32_t i;
    int     k;

    if (n == 0) {
        // only in the second half of a super, whose first half is never empty
        lo[0] = lo[1] = 3e18f;
        hi[0] = hi[1] = -3e18f;
        lo[2] = hi[2] = list->bounds[5][cluster - 1];
    } else {
        memcpy(lo, list->place[slot[0]].w, sizeof lo);
        memcpy(hi, lo, sizeof hi);
    }
    for (i = 1; i < n; i++)
        for (k = 0; k < 3; k++) {
            const float w = list->place[slot[i]].w[k];

            lo[k] = w < lo[k] ? w : lo[k];
            hi[k] = w > hi[k] ? w : hi[k];
        }
    for (k = 0; k < 3; k++) {
        list->bounds[k][cluster] = lo[k];
        list->bounds[3 + k][cluster] = hi[k];
    }
}

/// Origin of the region that a super belongs to, between two of its atoms. Regions with the same number are the same, or a million
/// regions apart, where floats of distances are coarser than a region.
static void set_origin(cpu_list *list, int32_t super, const float a[3], const float b[3])
{
    enum { APART = 1 << 21 };
    uint64_t number = 0; // an atom may be so far away that it wraps

    for (int k = 0; k < 3; k++) {
        // origins of a periodic brick of m regions lie symmetric about its centre; odd m: one of them is the centre
        const double m = list->periodic ? rint(list->length[k] / list->spacing[k]) : 1;
        const double base = 0.5 * (m - 1) * list->spacing[k];
        const double middle = 0.5 * ((double)a[k] + (double)b[k]);
        double       index = rint((middle + base) / list->spacing[k]);

        if (list->periodic) index = fmin(fmax(index, 0), m - 1); // a hair outside of the brick is no other region
        list->origin[super][k] = index * list->spacing[k] - base + 0.0; // never -0
        number = APART * number + (uint64_t)(int64_t)index;
    }
    list->region[super] = (int64_t)number;
}

/// Slots, boxes and origin of one super from its n keys.
static void fill_super(mds_device *d, int32_t super, const uint64_t *key, int32_t n)
{
    cpu_list *list = d->list;
    int32_t  *order = list->order + (size_t)CPU_SUPER * (size_t)super;
    int32_t(*image)[3] = list->image + (size_t)CPU_SUPER * (size_t)super;
    int32_t i;

    for (i = 0; i < CPU_SUPER; i++) order[i] = i < n ? d->slot_of[mds_cpu_key_atom(key[i])] : -1;
    mds_cpu_order_deal(d, order, n);
    for (i = 0; i < CPU_SUPER; i++) {
        double w[3];

        memset(image[i], 0, sizeof image[i]);
        if (i < n) wrap(list, d->x[order[i]], w, image[i]);
    }
    set_bounds(list, 2 * super, order, n < CPU_CLUSTER ? n : CPU_CLUSTER);
    set_bounds(list, 2 * super + 1, order + CPU_CLUSTER, n > CPU_CLUSTER ? n - CPU_CLUSTER : 0);
    if (list->one_region)
        memset(list->origin[super], 0, sizeof list->origin[super]);
    else
        set_origin(list, super, list->place[order[0]].w, list->place[order[n - 1]].w);
}

static void fill(mds_device *d)
{
    const cpu_list *list = d->list;

#pragma omp parallel for schedule(static, 1) num_threads(d->n_threads)
    for (int t = 0; t < d->n_threads; t++)
        for (int32_t c = mds_cpu_order_share(d, t); c < mds_cpu_order_share(d, t + 1); c++) {
            int32_t at = list->column_key[c], super = list->column_start[c] / 2;

            while (at < list->column_key[c + 1]) {
                const int32_t n = mds_cpu_order_length(d, list->key + at, list->column_key[c + 1] - at);

                fill_super(d, super++, list->key + at, n);
                at += n;
            }
        }
}

/// a[slot] = old a[order[slot]]; padding copies what is before it (`repeat`) or is zero.
static void reorder(mds_device *d, double (**a)[3], bool repeat)
{
    cpu_list *list = d->list;
    double(*from)[3] = *a, (*to)[3] = list->swap;
    int32_t s;

#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (s = 0; s < list->n_supers; s++)
        for (int32_t slot = CPU_SUPER * s; slot < CPU_SUPER * (s + 1); slot++) {
            if (list->order[slot] >= 0)
                memcpy(to[slot], from[list->order[slot]], sizeof to[slot]);
            else if (repeat)
                memcpy(to[slot], to[slot - 1], sizeof to[slot]);
            else
                memset(to[slot], 0, sizeof to[slot]);
        }
    list->swap = from;
    *a = to;
}

/// Everything by slot into the new order.
static void permute(mds_device *d)
{
    cpu_list         *list = d->list;
    const mds_system *s = d->system;
    int32_t           n = d->n_slots, slot;

    // ids first: order speaks of old slots, and keys are sorted like the new ones
    d->n_slots = CPU_SUPER * list->n_supers;
    d->n_clusters = d->n_slots / CPU_CLUSTER;
    reorder(d, &d->x, true);
    reorder(d, &d->v, false);
    reorder(d, &d->f, false);
    d->seen = false; // f_seen is of the order before
    int32_t *old = (int32_t *)(void *)list->swap; // ids before, in room that is free now
    memcpy(old, d->atom_of, (size_t)n * sizeof *old);
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (slot = 0; slot < d->n_slots; slot++) {
        const int32_t atom = list->order[slot] >= 0 ? old[list->order[slot]] : -1;
        const int32_t type = atom >= 0 ? s->type[atom] : s->n_types;
        const size_t  cluster = (size_t)slot / CPU_CLUSTER, lane = (size_t)slot % CPU_CLUSTER;

        d->atom_of[slot] = atom;
        if (atom >= 0) d->slot_of[atom] = slot;
        d->charge[slot] = atom >= 0 ? s->charge[atom] : 0;
        d->inv_mass[slot] = atom >= 0 && s->mass[atom] > 0 ? 1 / s->mass[atom] : 0;
        d->type[slot] = type;
        d->xq[CPU_LINE * cluster + 12 + lane] = (float)(d->charge[slot] * list->charge_scale);
        list->lj[8 * cluster + lane] = (float)list->type_lj[type][0];
        list->lj[8 * cluster + 4 + lane] = (float)list->type_lj[type][1];
        list->type[4 * cluster + lane] = 4 * type;
        list->light[slot] = atom >= 0 && mds_is_light(s->mass[atom]) ? 1 : 0;
        memcpy(d->x_list[slot], d->x[slot], sizeof *d->x);
    }
    d->list_scale = 1;
}

// --------------------------------------------------------------------------------------------------- search

/// Note a fault and stop: every stage falls through until the engine has looked.
static mds_status refuse(mds_device *d, uint32_t fault, int32_t atom)
{
    d->fault |= fault;
    d->fault_atom = atom;
    d->tripped = true;
    return MDS_OK;
}

static bool is_lost(const double x[3])
{
    return !(fabs(x[0]) <= CPU_FARTHEST && fabs(x[1]) <= CPU_FARTHEST && fabs(x[2]) <= CPU_FARTHEST); // NaN too
}

/// The first atom that is, or -1.
static int32_t first_lost(const mds_device *d)
{
    int32_t slot, first = INT32_MAX;

#pragma omp parallel for schedule(static) num_threads(d->n_threads) reduction(min : first)
    for (slot = 0; slot < d->n_slots; slot++) {
        const int32_t atom = d->atom_of[slot];

        if (atom >= 0 && is_lost(d->x[slot]) && atom < first) first = atom;
    }
    return first < INT32_MAX ? first : -1;
}

/// Whether each neighbour inside the cut-off is one image.
static bool fits(const mds_device *d)
{
    return d->list->cut_max <= mds_box_reach(&d->box) * (1 + 1e-12);
}

mds_status mds_cpu_search(mds_device *d, const mds_domain *domain)
{
    static const cpu_beside remap[] = {mds_cpu_excluded_remap, mds_cpu_move_remap, mds_cpu_bonded_remap, mds_cpu_vsite_remap}; // the longest first
    cpu_list               *list = d->list;

    (void)domain;
    mds_cpu_move_flush(d);
    d->tripped = false;
    d->listed = false;
    mds_cpu_vsite_place(d);
    const int32_t lost = first_lost(d);
    if (lost >= 0) return refuse(d, MDS_FAULT_NOT_FINITE, lost);
    if (!fits(d)) return refuse(d, MDS_FAULT_CUTOFF, -1);
    MDS_TRY(set_frame(d));
    MDS_TRY(mds_cpu_order_sort(d));
    MDS_TRY(count_supers(d));
    MDS_TRY(reserve(d));
    fill(d);
    MDS_TRY(mds_cpu_list_columns(d));
    permute(d);
    mds_cpu_list_offsets(d);
    mds_cpu_list_copy(d);
    if (d->params.coulomb == MDS_COULOMB_PME) MDS_TRY(mds_cpu_mesh_remap(d));
    MDS_TRY(mds_cpu_list_build(d, sizeof remap / sizeof *remap, remap));
    list->n_searches++;
    d->listed = true;
    return MDS_OK;
}
