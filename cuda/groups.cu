// SPDX-License-Identifier: Apache-2.0
// Groups of atoms on the host: sorted once, at open, into the arrays that move.h describes. Groups of a kind stay in the order of the
// system's lists, which is that of their atoms, so neighbouring threads read neighbouring rows.
#include "survey.h"

#include <math.h>
#include <string.h>

/// Numbers of the canonical triangle of water k.
static gpu_water water_of(const mds_system *s, int k)
{
    const double oh = s->water.length[2 * k], hh = s->water.length[2 * k + 1], height = sqrt(oh * oh - 0.25 * hh * hh);
    const double mo = s->mass[s->water.atom[3 * k]], mh = s->mass[s->water.atom[3 * k + 1]];
    gpu_water    w;

    w.im_o = 1 / mo;
    w.im_h = 1 / mh;
    w.ra = 2 * mh * height / (mo + 2 * mh);
    w.rb = mo * height / (mo + 2 * mh);
    w.rc = 0.5 * hh;
    w.inv_ra = (mo + 2 * mh) / (2 * mh * height);
    w.inv_2rc = 1 / hh;
    w.weight_o = mo / (mo + 2 * mh);
    w.weight_h = mh / (mo + 2 * mh);
    w.oh = oh;
    w.hh = hh;
    return w;
}

static mds_status copy_waters(mds_device *d, gpu_groups *g)
{
    const mds_system *s = d->system;
    gpu_water        *kind = NULL;
    int4             *id;
    size_t            capacity = 0;
    int               n_kinds = 0, j;
    mds_status        status = MDS_OK;

    MDS_TRY(mds_alloc(&id, (size_t)s->water.n, sizeof *id));
    for (int k = 0; k < s->water.n && status == MDS_OK; k++) {
        const gpu_water w = water_of(s, k);

        if (!(w.hh > 0 && w.hh < 2 * w.oh)) {
            mds_free(id);
            mds_free(kind);
            MDS_FAIL(MDS_E_INPUT, "a rigid water with O-H %g nm and H-H %g nm is no triangle", w.oh, w.hh);
        }
        for (j = 0; j < n_kinds && memcmp(&kind[j], &w, sizeof w); j++) {}
        if (j == n_kinds) {
            status = mds_grow(&kind, &capacity, (size_t)j + 1, sizeof *kind);
            if (status == MDS_OK) kind[n_kinds++] = w;
        }
        id[k] = make_int4(s->water.atom[3 * k], s->water.atom[3 * k + 1], s->water.atom[3 * k + 2], j);
    }
    g->n[GPU_WATER] = s->water.n;
    if (status == MDS_OK) status = gpu_copy_in(&g->group[GPU_WATER], id, s->water.n);
    if (status == MDS_OK) status = gpu_copy_in(&g->water, kind, n_kinds);
    mds_free(id);
    mds_free(kind);
    return status;
}

/// X-H clusters of `hydrogens`.
static mds_status copy_clusters(mds_device *d, gpu_groups *g, int hydrogens)
{
    const mds_system *s = d->system;
    const int         to = GPU_XH1 + hydrogens - 1;
    int4             *id;
    double           *length2;
    mds_status        status;
    int               n = 0;

    MDS_TRY(mds_alloc(&id, (size_t)s->cluster.n, sizeof *id));
    status = mds_alloc(&length2, (size_t)s->cluster.n * (size_t)hydrogens, sizeof *length2);
    for (int k = 0; k < s->cluster.n && status == MDS_OK; k++) {
        int atom[4] = {s->cluster.atom[4 * k], -1, -1, -1}, here = 0;

        for (int a = 0; a < 3; a++) here += s->cluster.atom[4 * k + 1 + a] >= 0;
        if (here != hydrogens) continue;
        for (int a = here = 0; a < 3; a++) {
            if (s->cluster.atom[4 * k + 1 + a] < 0) continue;
            length2[n * hydrogens + here] = s->cluster.length[3 * k + a] * s->cluster.length[3 * k + a];
            atom[++here] = s->cluster.atom[4 * k + 1 + a];
        }
        id[n++] = make_int4(atom[0], atom[1], atom[2], atom[3]);
    }
    g->n[to] = n;
    if (status == MDS_OK) status = gpu_copy_in(&g->group[to], id, n);
    if (status == MDS_OK) status = gpu_copy_in(&g->length2[to], length2, n * hydrogens);
    mds_free(id);
    mds_free(length2);
    return status;
}

/// Atoms that no constraint holds; sites never move here.
static mds_status copy_free(mds_device *d, gpu_groups *g)
{
    const mds_system *s = d->system;
    bool             *bound;
    int              *id, n = 0;
    mds_status        status;

    MDS_TRY(mds_alloc(&bound, (size_t)s->n_atoms, sizeof *bound));
    status = mds_alloc(&id, (size_t)s->n_atoms, sizeof *id);
    for (int k = 0; k < 3 * s->water.n; k++) bound[s->water.atom[k]] = true;
    for (int k = 0; k < 4 * s->cluster.n; k++)
        if (s->cluster.atom[k] >= 0) bound[s->cluster.atom[k]] = true;
    for (int k = 0; k < 2 * s->link.n; k++) bound[s->link.atom[k]] = true;
    for (int i = 0; i < s->n_atoms && status == MDS_OK; i++)
        if (s->mass[i] > 0 && !bound[i]) id[n++] = i;
    g->n[GPU_FREE] = n;
    if (status == MDS_OK) status = gpu_copy_in(&g->free, id, n);
    mds_free(bound);
    mds_free(id);
    return status;
}

// ---------------------------------------------------------------------------------------------- networks

/// A network's parts on the host, before they are copied.
typedef struct {
    int *parent, *net_of;            // [n_atoms] union of linked atoms; network of an atom
    int *row_of;                     // [n_atoms] row of an atom
    int *atom_start, *link_start;    // [n + 1]
    int *atom, *touch_start, *touch; // rows, as in gpu_networks
    int2 *pair;
    double *length2;
    int  n, rows;
} netting;

static int find_root(int *parent, int i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/// Networks, in the order of their first atoms, and the rows of their atoms.
static void sort_atoms(const mds_system *s, netting *w)
{
    for (int i = 0; i < s->n_atoms; i++) {
        w->parent[i] = i;
        w->net_of[i] = -1;
    }
    for (int k = 0; k < s->link.n; k++) {
        const int p = find_root(w->parent, s->link.atom[2 * k]), q = find_root(w->parent, s->link.atom[2 * k + 1]);

        w->parent[p > q ? p : q] = p < q ? p : q;
    }
    for (int k = 0; k < 2 * s->link.n; k++) w->net_of[s->link.atom[k]] = 0; // marks them
    for (int i = 0; i < s->n_atoms; i++) {
        if (w->net_of[i] < 0) continue;
        const int root = find_root(w->parent, i);
        w->net_of[i] = root == i ? w->n++ : w->net_of[root]; // a root is the smallest of its network
        w->atom_start[w->net_of[i] + 1]++;
    }
    for (int k = 0; k < w->n; k++) w->atom_start[k + 1] += w->atom_start[k];
    w->rows = w->atom_start[w->n];
    for (int k = 0; k < w->n; k++) w->parent[k] = w->atom_start[k]; // now where the next atom of a network goes
    for (int i = 0; i < s->n_atoms; i++)
        if (w->net_of[i] >= 0) {
            w->row_of[i] = w->parent[w->net_of[i]]++;
            w->atom[w->row_of[i]] = i;
        }
}

/// Links by network, and for every row the links that touch it.
static void sort_links(const mds_system *s, netting *w)
{
    for (int k = 0; k < s->link.n; k++) w->link_start[w->net_of[s->link.atom[2 * k]] + 1]++;
    for (int k = 0; k < w->n; k++) w->link_start[k + 1] += w->link_start[k];
    for (int k = 0; k < w->n; k++) w->parent[k] = w->link_start[k];
    for (int k = 0; k < s->link.n; k++) {
        const int c = w->parent[w->net_of[s->link.atom[2 * k]]]++;

        w->pair[c] = make_int2(w->row_of[s->link.atom[2 * k]], w->row_of[s->link.atom[2 * k + 1]]);
        w->length2[c] = s->link.length[k] * s->link.length[k];
        w->touch_start[w->pair[c].x + 1]++;
        w->touch_start[w->pair[c].y + 1]++;
    }
    for (int i = 0; i < w->rows; i++) w->touch_start[i + 1] += w->touch_start[i];
    for (int i = 0; i < w->rows; i++) w->parent[i] = w->touch_start[i];
    for (int c = 0; c < s->link.n; c++) {
        w->touch[w->parent[w->pair[c].x]++] = 2 * c;
        w->touch[w->parent[w->pair[c].y]++] = 2 * c + 1;
    }
}

static mds_status make_netting(const mds_system *s, netting *w)
{
    const size_t n = (size_t)s->n_atoms, links = (size_t)s->link.n;

    MDS_TRY(mds_alloc(&w->parent, n, sizeof *w->parent));
    MDS_TRY(mds_alloc(&w->net_of, n, sizeof *w->net_of));
    MDS_TRY(mds_alloc(&w->row_of, n, sizeof *w->row_of));
    MDS_TRY(mds_alloc(&w->atom_start, links + 1, sizeof *w->atom_start));
    MDS_TRY(mds_alloc(&w->link_start, links + 1, sizeof *w->link_start));
    MDS_TRY(mds_alloc(&w->atom, n, sizeof *w->atom));
    MDS_TRY(mds_alloc(&w->touch_start, n + 1, sizeof *w->touch_start));
    MDS_TRY(mds_alloc(&w->touch, 2 * links, sizeof *w->touch));
    MDS_TRY(mds_alloc(&w->pair, links, sizeof *w->pair));
    MDS_TRY(mds_alloc(&w->length2, links, sizeof *w->length2));
    sort_atoms(s, w);
    sort_links(s, w);
    return MDS_OK;
}

static mds_status copy_netting(const netting *w, int links, gpu_networks *n)
{
    n->n = w->n;
    MDS_TRY(gpu_copy_in(&n->atom_start, w->atom_start, w->n + 1));
    MDS_TRY(gpu_copy_in(&n->link_start, w->link_start, w->n + 1));
    MDS_TRY(gpu_copy_in(&n->atom, w->atom, w->rows));
    MDS_TRY(gpu_copy_in(&n->touch_start, w->touch_start, w->rows + 1));
    MDS_TRY(gpu_copy_in(&n->touch, w->touch, 2 * links));
    MDS_TRY(gpu_copy_in(&n->pair, w->pair, links));
    MDS_TRY(gpu_copy_in(&n->length2, w->length2, links));
    MDS_TRY(gpu_alloc(&n->dir, links));
    double **const of_links[] = {&n->diagonal, &n->lambda, &n->residual, &n->search, &n->image, &n->bias};
    for (double **to : of_links) MDS_TRY(gpu_alloc(to, links));
    MDS_TRY(gpu_alloc(&n->u, w->rows));
    MDS_TRY(gpu_alloc(&n->before, w->rows));
    MDS_TRY(gpu_alloc(&n->a, w->rows));
    return gpu_alloc(&n->w, w->rows);
}

/// Networks, and how many threads suit the largest.
static mds_status copy_networks(mds_device *d, gpu_move *m)
{
    const mds_system *s = d->system;
    netting           w;
    mds_status        status;
    int               most = 0;

    if (!s->link.n) return MDS_OK;
    memset(&w, 0, sizeof w);
    status = make_netting(s, &w);
    if (status == MDS_OK) status = copy_netting(&w, s->link.n, &m->networks);
    for (int k = 0; k < w.n; k++) most = w.link_start[k + 1] - w.link_start[k] > most ? w.link_start[k + 1] - w.link_start[k] : most;
    m->network_threads = most > 7 * GPU_WARP ? 8 * GPU_WARP : (most / GPU_WARP + 1) * GPU_WARP;
    void *const part[] = {w.parent, w.net_of, w.row_of, w.atom_start, w.link_start, w.atom, w.touch_start, w.touch, w.pair, w.length2};
    for (void *p : part) mds_free(p);
    return status;
}

// -------------------------------------------------------------------------------------------------- sites

/// For every site the first real atom that it is built from: a site on a site follows the chain.
static mds_status copy_sites(mds_device *d, gpu_move *m)
{
    const mds_vsites *v = &d->system->vsite;
    int              *carrier, *of_atom;
    mds_status        status;

    if (!v->n) return MDS_OK;
    m->n_sites = v->n;
    MDS_TRY(gpu_alloc(&m->shift, d->system->n_atoms));
    MDS_TRY(gpu_copy_in(&m->site, v->site, v->n));
    MDS_TRY(mds_alloc(&carrier, (size_t)v->n, sizeof *carrier));
    status = mds_alloc(&of_atom, (size_t)d->system->n_atoms, sizeof *of_atom);
    for (int k = 0; k < v->n && status == MDS_OK; k++) { // sites come after those that they are built on
        const int first = v->atom[v->start[k]];

        carrier[k] = d->system->mass[first] > 0 ? first : of_atom[first];
        of_atom[v->site[k]] = carrier[k];
    }
    if (status == MDS_OK) status = gpu_copy_in(&m->carrier, carrier, v->n);
    mds_free(carrier);
    mds_free(of_atom);
    return status;
}

// --------------------------------------------------------------------------------------------------- life

mds_status GPU_NAME(move_open)(mds_device *d)
{
    gpu_move   *m;
    gpu_groups *g;

    MDS_TRY(mds_alloc(&d->move, 1, sizeof *d->move));
    m = d->move;
    g = &m->groups;
    MDS_TRY(copy_waters(d, g));
    for (int hydrogens = 1; hydrogens <= 3; hydrogens++) MDS_TRY(copy_clusters(d, g, hydrogens));
    MDS_TRY(copy_free(d, g));
    for (int kind = 0; kind < GPU_N_KINDS; kind++)
        g->first_block[kind + 1] = g->first_block[kind] + (g->n[kind] + GPU_GROUPS - 1) / GPU_GROUPS;
    g->n_blocks = g->first_block[GPU_N_KINDS] > 0 ? g->first_block[GPU_N_KINDS] : 1;
    MDS_TRY(copy_networks(d, m));
    MDS_TRY(copy_sites(d, m));
    for (int i = 0; i < d->system->n_atoms; i++) m->mass += d->system->mass[i];
    const int rows = gpu_move_rows(m) > GPU_ATOM_BLOCKS ? gpu_move_rows(m) : GPU_ATOM_BLOCKS;
    MDS_TRY(gpu_alloc(&m->rows, (size_t)rows * GPU_MEASURES));
    MDS_TRY(gpu_alloc(&m->survey, m->groups.n_blocks));
    MDS_TRY(gpu_alloc(&m->common, 1));
    MDS_TRY(gpu_alloc(&m->counter, 1));
    GPU_TRY(cudaMemset(m->counter, 0, sizeof *m->counter));
    return MDS_OK;
}

void GPU_NAME(move_close)(mds_device *d)
{
    gpu_move *m = d->move;

    if (!m) return;
    const gpu_networks *n = &m->networks;
    const void *const memory[] = {
        m->groups.group[GPU_WATER], m->groups.group[GPU_XH1], m->groups.group[GPU_XH2], m->groups.group[GPU_XH3],
        m->groups.length2[GPU_XH1], m->groups.length2[GPU_XH2], m->groups.length2[GPU_XH3], m->groups.free, m->groups.water,
        n->atom_start, n->link_start, n->atom, n->pair, n->length2, n->touch_start, n->touch, n->dir, n->diagonal, n->lambda,
        n->residual, n->search, n->image, n->bias, n->u, n->before, n->a, n->w,
        m->site, m->carrier, m->shift, m->rows, m->counter, m->survey, m->common};
    for (const void *p : memory) GPU_NAME(release)(p);
    mds_free(m);
    d->move = NULL;
}
