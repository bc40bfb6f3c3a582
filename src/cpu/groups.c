// SPDX-License-Identifier: Apache-2.0
// Groups of atoms that constraints tie together: found at open, put in slot order by the remap, visited by all threads.
//
// The remap is one scan of the slots: each atom has a role, and the leader of a group (oxygen, X) brings its followers.
// So waters and clusters come in the order of their leaders' slots, and a thread's share lies together in memory.
#include "cpu/move.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/// Roles of atoms in the remap: free atoms, followers, and leaders of water k or cluster k.
enum { ROLE_FREE = -1, ROLE_FOLLOWS = -2, ROLE_CLUSTER = 1 << 30 };

static const int32_t water_pair[] = {0, 1, 0, 2, 1, 2}, cluster_pair[] = {0, 1, 0, 2, 0, 3};

// ---------------------------------------------------------------------------------------------- set-up

/// Room for n batches of a kind.
static mds_status open_batches(cpu_move *m, int kind, int32_t n)
{
    cpu_batches *b = &m->batches[kind];
    const size_t lanes = (size_t)n * CPU_BATCH, atoms = (size_t)cpu_group_atoms[kind];

    b->n = n;
    MDS_TRY(mds_alloc(&b->count, (size_t)n, sizeof *b->count));
    MDS_TRY(mds_alloc(&b->offset, lanes * atoms, sizeof *b->offset));
    MDS_TRY(mds_alloc(&b->v, lanes * atoms * 3, sizeof *b->v));
    MDS_TRY(mds_alloc(&b->x_list, lanes * atoms * 3, sizeof *b->x_list));
    if (kind == CPU_WATER) return MDS_OK;
    MDS_TRY(mds_alloc(&b->im, lanes * atoms, sizeof *b->im));
    return kind == CPU_FREE ? MDS_OK : mds_alloc(&b->length, lanes * (atoms - 1), sizeof *b->length);
}

static mds_status sort_water_kinds(mds_device *d)
{
    const mds_system *s = d->system;
    cpu_move         *m = d->move;
    size_t            capacity = 0;
    int32_t           k, j, b = 0, n = 0;

    m->n_waters = s->water.n;
    MDS_TRY(mds_alloc(&m->kind_of, (size_t)m->n_waters, sizeof *m->kind_of));
    MDS_TRY(mds_alloc(&m->water_slot, 3 * (size_t)m->n_waters, sizeof *m->water_slot));
    for (k = 0; k < m->n_waters; k++) {
        const double   oh = s->water.length[2 * k], hh = s->water.length[2 * k + 1];
        const double   mo = s->mass[s->water.atom[3 * k]], mh = s->mass[s->water.atom[3 * k + 1]], height = sqrt(oh * oh - 0.25 * hh * hh);
        cpu_water_kind w = {{oh, oh, hh}, 1 / mo, 1 / mh, 2 * mh * height / (mo + 2 * mh), mo * height / (mo + 2 * mh), 0.5 * hh,
                            (mo + 2 * mh) / (2 * mh * height), 1 / hh, mo / (mo + 2 * mh), mh / (mo + 2 * mh), 0, 0};

        MDS_CHECK(hh > 0 && hh < 2 * oh, MDS_E_INPUT, "a rigid water with O-H %g nm and H-H %g nm is no triangle", oh, hh);
        for (j = 0; j < m->n_kinds; j++)
            if (!memcmp(m->kind[j].length, w.length, sizeof w.length) && m->kind[j].im_o == w.im_o && m->kind[j].im_h == w.im_h) break;
        if (j == m->n_kinds) {
            MDS_TRY(mds_grow(&m->kind, &capacity, (size_t)j + 1, sizeof *m->kind));
            m->kind[m->n_kinds++] = w;
        }
        m->kind_of[k] = j;
        m->kind[j].n++;
    }
    for (j = 0; j < m->n_kinds; j++) {
        m->kind[j].first = j ? m->kind[j - 1].first + m->kind[j - 1].n : 0;
        n += (m->kind[j].n + CPU_BATCH - 1) / CPU_BATCH;
    }
    MDS_TRY(mds_alloc(&m->batch_first, (size_t)n, sizeof *m->batch_first));
    MDS_TRY(mds_alloc(&m->batch_kind, (size_t)n, sizeof *m->batch_kind));
    MDS_TRY(open_batches(m, CPU_WATER, n));
    for (j = 0; j < m->n_kinds; j++)
        for (k = 0; k < m->kind[j].n; k += CPU_BATCH) {
            m->batch_first[b] = m->kind[j].first + k;
            m->batch_kind[b] = j;
            m->batches[CPU_WATER].count[b++] = m->kind[j].n - k < CPU_BATCH ? m->kind[j].n - k : CPU_BATCH;
        }
    return MDS_OK;
}

static int32_t find_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/// Links into networks: union by the smaller atom, then atoms and links in rows. Networks in order of their first atom.
static mds_status build_nets(mds_device *d)
{
    const mds_links *links = &d->system->link;
    cpu_move        *m = d->move;
    int32_t         *parent, *net_of, *local, i, k, a = 0;

    if (!links->n) return MDS_OK;
    MDS_TRY(mds_alloc(&parent, (size_t)d->n_atoms, sizeof *parent));
    MDS_TRY(mds_alloc(&net_of, (size_t)d->n_atoms, sizeof *net_of));
    MDS_TRY(mds_alloc(&local, (size_t)d->n_atoms, sizeof *local));
    for (i = 0; i < d->n_atoms; i++) parent[i] = i;
    for (k = 0; k < links->n; k++) {
        const int32_t p = find_root(parent, links->atom[2 * k]), q = find_root(parent, links->atom[2 * k + 1]);

        parent[p > q ? p : q] = p < q ? p : q;
    }
    for (k = 0; k < 2 * links->n; k++) m->role[links->atom[k]] = ROLE_FOLLOWS;
    for (i = 0; i < d->n_atoms; i++) {
        net_of[i] = -1;
        if (m->role[i] == ROLE_FOLLOWS && parent[i] == i && d->system->mass[i] > 0) net_of[i] = m->n_nets++;
    }
    // roles of waters and clusters are set after this, so all followers here belong to networks
    MDS_TRY(mds_alloc(&m->net_atom_start, (size_t)m->n_nets + 1, sizeof *m->net_atom_start));
    MDS_TRY(mds_alloc(&m->net_link_start, (size_t)m->n_nets + 1, sizeof *m->net_link_start));
    for (i = 0; i < d->n_atoms; i++)
        if (m->role[i] == ROLE_FOLLOWS) {
            net_of[i] = net_of[find_root(parent, i)];
            m->net_atom_start[net_of[i] + 1]++;
        }
    for (k = 0; k < links->n; k++) m->net_link_start[net_of[links->atom[2 * k]] + 1]++;
    for (k = 0; k < m->n_nets; k++) {
        m->net_atom_start[k + 1] += m->net_atom_start[k];
        m->net_link_start[k + 1] += m->net_link_start[k];
    }
    MDS_TRY(mds_alloc(&m->net_atom, (size_t)m->net_atom_start[m->n_nets], sizeof *m->net_atom));
    MDS_TRY(mds_alloc(&m->net_slot, (size_t)m->net_atom_start[m->n_nets], sizeof *m->net_slot));
    MDS_TRY(mds_alloc(&m->net_pair, 2 * (size_t)links->n, sizeof *m->net_pair));
    MDS_TRY(mds_alloc(&m->net_length, (size_t)links->n, sizeof *m->net_length));
    // parent becomes the fill mark of each network
    for (k = 0; k < m->n_nets; k++) parent[k] = m->net_atom_start[k];
    for (i = 0; i < d->n_atoms; i++)
        if (m->role[i] == ROLE_FOLLOWS) {
            a = parent[net_of[i]]++;
            m->net_atom[a] = i;
            local[i] = a - m->net_atom_start[net_of[i]];
        }
    for (k = 0; k < m->n_nets; k++) parent[k] = m->net_link_start[k];
    for (k = 0; k < links->n; k++) {
        a = parent[net_of[links->atom[2 * k]]]++;
        m->net_pair[2 * a] = local[links->atom[2 * k]];
        m->net_pair[2 * a + 1] = local[links->atom[2 * k + 1]];
        m->net_length[a] = links->length[k];
    }
    for (k = 0; k < m->n_nets; k++) {
        m->n_max = m->net_atom_start[k + 1] - m->net_atom_start[k] > m->n_max ? m->net_atom_start[k + 1] - m->net_atom_start[k] : m->n_max;
        m->nc_max = m->net_link_start[k + 1] - m->net_link_start[k] > m->nc_max ? m->net_link_start[k + 1] - m->net_link_start[k] : m->nc_max;
    }
    mds_free(parent);
    mds_free(net_of);
    mds_free(local);
    return MDS_OK;
}

static mds_status open_scratch(mds_device *d)
{
    cpu_move    *m = d->move;
    const size_t n = (size_t)m->n_max, nc = (size_t)m->nc_max;
    int          t;

    MDS_TRY(mds_alloc(&m->scratch, (size_t)d->n_threads, sizeof *m->scratch));
    MDS_TRY(mds_alloc(&m->sums, (size_t)d->n_threads, sizeof *m->sums));
    MDS_TRY(mds_alloc(&m->odd, (size_t)d->n_threads * CPU_ODD, sizeof *m->odd));
    for (t = 0; t < d->n_threads; t++) {
        cpu_scratch *s = &m->scratch[t];

        MDS_TRY(mds_alloc(&s->x, n, sizeof *s->x));
        MDS_TRY(mds_alloc(&s->v, n, sizeof *s->v));
        MDS_TRY(mds_alloc(&s->f, n, sizeof *s->f));
        MDS_TRY(mds_alloc(&s->r, n, sizeof *s->r));
        MDS_TRY(mds_alloc(&s->w, n, sizeof *s->w));
        MDS_TRY(mds_alloc(&s->u, n, sizeof *s->u));
        MDS_TRY(mds_alloc(&s->a, n, sizeof *s->a));
        MDS_TRY(mds_alloc(&s->d, nc, sizeof *s->d));
        MDS_TRY(mds_alloc(&s->im, n, sizeof *s->im));
        MDS_TRY(mds_alloc(&s->lambda, nc, sizeof *s->lambda));
        MDS_TRY(mds_alloc(&s->residual, nc, sizeof *s->residual));
        MDS_TRY(mds_alloc(&s->search, nc, sizeof *s->search));
        MDS_TRY(mds_alloc(&s->image, nc, sizeof *s->image));
        MDS_TRY(mds_alloc(&s->bias, nc, sizeof *s->bias));
    }
    return MDS_OK;
}

/// Kernels of the level that the pair list has chosen.
static void choose_level(mds_device *d)
{
    d->move->run = mds_isa_move_generic;
    d->move->measure = mds_isa_measure_generic;
#ifdef MDS_HAVE_AVX2
    if (!strcmp(d->isa, "avx2")) {
        d->move->run = mds_isa_move_avx2;
        d->move->measure = mds_isa_measure_avx2;
    }
#endif
#ifdef MDS_HAVE_AVX512
    if (!strcmp(d->isa, "avx512")) {
        d->move->run = mds_isa_move_avx512;
        d->move->measure = mds_isa_measure_avx512;
    }
#endif
}

/// Room for clusters by number of hydrogens, and for free atoms.
static mds_status open_small_groups(mds_device *d)
{
    const mds_system *s = d->system;
    int32_t           n[CPU_N_GROUPS] = {0};

    for (int32_t k = 0; k < s->cluster.n; k++) {
        int hydrogens = 0;

        for (int a = 1; a < 4; a++) hydrogens += s->cluster.atom[4 * k + a] >= 0;
        MDS_CHECK(hydrogens > 0, MDS_E_INTERNAL, "an X-H cluster without H");
        n[CPU_XH1 + hydrogens - 1]++;
    }
    for (int32_t i = 0; i < d->n_atoms; i++) n[CPU_FREE] += d->move->role[i] == ROLE_FREE;
    for (int kind = CPU_XH1; kind < CPU_N_GROUPS; kind++) {
        cpu_batches *b = &d->move->batches[kind];

        MDS_TRY(open_batches(d->move, kind, (n[kind] + CPU_BATCH - 1) / CPU_BATCH));
        for (int32_t k = 0; k < b->n; k++) b->count[k] = n[kind] - k * CPU_BATCH < CPU_BATCH ? n[kind] - k * CPU_BATCH : CPU_BATCH;
    }
    return MDS_OK;
}

mds_status mds_cpu_move_open(mds_device *d)
{
    const mds_system *s = d->system;
    cpu_move         *m;
    int32_t           k, i;
    int               a;

    MDS_TRY(mds_alloc(&d->move, 1, sizeof *d->move));
    m = d->move;
    m->n_max = 4;
    m->nc_max = 3;
    choose_level(d);
    MDS_TRY(mds_alloc(&m->role, (size_t)d->n_atoms, sizeof *m->role));
    for (i = 0; i < d->n_atoms; i++) m->role[i] = ROLE_FREE;
    MDS_TRY(build_nets(d));
    MDS_TRY(sort_water_kinds(d));
    for (k = 0; k < s->water.n; k++) {
        m->role[s->water.atom[3 * k]] = k;
        m->role[s->water.atom[3 * k + 1]] = m->role[s->water.atom[3 * k + 2]] = ROLE_FOLLOWS;
    }
    m->n_clusters = s->cluster.n;
    MDS_TRY(mds_alloc(&m->cluster_slot, 4 * (size_t)m->n_clusters, sizeof *m->cluster_slot));
    MDS_TRY(mds_alloc(&m->cluster_size, (size_t)m->n_clusters, sizeof *m->cluster_size));
    MDS_TRY(mds_alloc(&m->cluster_length, 3 * (size_t)m->n_clusters, sizeof *m->cluster_length));
    for (k = 0; k < s->cluster.n; k++) {
        m->role[s->cluster.atom[4 * k]] = ROLE_CLUSTER + k;
        for (a = 1; a < 4; a++)
            if (s->cluster.atom[4 * k + a] >= 0) m->role[s->cluster.atom[4 * k + a]] = ROLE_FOLLOWS;
    }
    for (i = 0; i < d->n_atoms; i++)
        if (s->mass[i] <= 0) m->role[i] = ROLE_FOLLOWS; // sites never move here
    MDS_TRY(mds_alloc(&m->free_slot, (size_t)d->n_atoms, sizeof *m->free_slot));
    MDS_TRY(open_small_groups(d));
    MDS_TRY(mds_alloc(&m->waiting, 1, sizeof *m->waiting));
    if (s->vsite.n) MDS_TRY(mds_alloc(&m->shift, (size_t)d->n_atoms, sizeof *m->shift));
    return open_scratch(d);
}

void mds_cpu_move_close(mds_device *d)
{
    cpu_move *m = d->move;
    int       t;

    if (!m) return;
    for (t = 0; m->scratch && t < d->n_threads; t++) {
        cpu_scratch *s = &m->scratch[t];
        void        *part[] = {s->x, s->v, s->f, s->r, s->w, s->u, s->a, s->d, s->im, s->lambda, s->residual, s->search, s->image, s->bias};
        size_t       k;

        for (k = 0; k < sizeof part / sizeof part[0]; k++) mds_free(part[k]);
    }
    for (int kind = 0; kind < CPU_N_GROUPS; kind++) {
        mds_free(m->batches[kind].count);
        mds_free(m->batches[kind].offset);
        mds_free(m->batches[kind].im);
        mds_free(m->batches[kind].length);
        mds_free(m->batches[kind].v);
        mds_free(m->batches[kind].x_list);
    }
    {
        void  *part[] = {m->scratch, m->sums, m->odd, m->kind, m->kind_of, m->water_slot, m->batch_first, m->batch_kind, m->cluster_slot,
                         m->cluster_size, m->cluster_length, m->net_atom_start, m->net_link_start, m->net_atom, m->net_slot, m->net_pair,
                         m->net_length, m->free_slot, m->role, m->shift, m->waiting, m};
        size_t k;

        for (k = 0; k < sizeof part / sizeof part[0]; k++) mds_free(part[k]);
    }
    d->move = NULL;
}

/// Group `at` of a kind into its batch: offsets, inverse masses, lengths; the first of a batch into all lanes.
static void set_lane(const mds_device *d, cpu_batches *b, int kind, int32_t at, const int32_t *slot, const double *length)
{
    const int    atoms = cpu_group_atoms[kind], lane = at % CPU_BATCH;
    const size_t batch = (size_t)(at / CPU_BATCH);

    for (int l = lane; l < (lane ? lane + 1 : CPU_BATCH); l++) {
        for (int a = 0; a < atoms; a++) {
            b->offset[(batch * (size_t)atoms + (size_t)a) * CPU_BATCH + (size_t)l] = 3 * slot[a];
            if (b->im) b->im[(batch * (size_t)atoms + (size_t)a) * CPU_BATCH + (size_t)l] = d->inv_mass[slot[a]];
        }
        for (int c = 0; length && c < atoms - 1; c++) b->length[(batch * (size_t)(atoms - 1) + (size_t)c) * CPU_BATCH + (size_t)l] = length[c];
    }
}

/// Batches from the slots that the remap has put in order.
static void fill_batches(mds_device *d)
{
    cpu_move *m = d->move;
    int32_t   n[CPU_N_GROUPS] = {0};

    for (int32_t b = 0; b < m->batches[CPU_WATER].n; b++)
        for (int32_t l = 0; l < m->batches[CPU_WATER].count[b]; l++)
            set_lane(d, &m->batches[CPU_WATER], CPU_WATER, CPU_BATCH * b + l, m->water_slot + 3 * (size_t)(m->batch_first[b] + l), NULL);
    for (int32_t c = 0; c < m->n_clusters; c++) {
        const int kind = CPU_XH1 + m->cluster_size[c] - 2;

        set_lane(d, &m->batches[kind], kind, n[kind]++, m->cluster_slot + 4 * (size_t)c, m->cluster_length + 3 * (size_t)c);
    }
    for (int32_t k = 0; k < m->n_free; k++) set_lane(d, &m->batches[CPU_FREE], CPU_FREE, k, m->free_slot + k, NULL);
}

/// Slots of all groups, each kind in slot order: one scan of the slots.
mds_status mds_cpu_move_remap(mds_device *d)
{
    const mds_system *s = d->system;
    cpu_move         *m = d->move;
    int32_t          *fill, slot, k, c = 0;
    int               a;

    MDS_TRY(mds_alloc(&fill, (size_t)m->n_kinds, sizeof *fill));
    for (k = 0; k < m->n_kinds; k++) fill[k] = m->kind[k].first;
    m->n_free = 0;
    for (slot = 0; slot < d->n_slots; slot++) {
        const int32_t role = d->atom_of[slot] < 0 ? ROLE_FOLLOWS : m->role[d->atom_of[slot]];

        if (role == ROLE_FREE) {
            m->free_slot[m->n_free++] = slot;
        } else if (role >= ROLE_CLUSTER) {
            const int32_t *atom = s->cluster.atom + 4 * (size_t)(role - ROLE_CLUSTER);

            m->cluster_size[c] = 0;
            for (a = 0; a < 4; a++) {
                if (atom[a] < 0) continue;
                if (a) m->cluster_length[3 * c + m->cluster_size[c] - 1] = s->cluster.length[3 * (size_t)(role - ROLE_CLUSTER) + a - 1];
                m->cluster_slot[4 * c + m->cluster_size[c]++] = d->slot_of[atom[a]];
            }
            c++;
        } else if (role >= 0) {
            int32_t *to = m->water_slot + 3 * (size_t)fill[m->kind_of[role]]++;

            for (a = 0; a < 3; a++) to[a] = d->slot_of[s->water.atom[3 * (size_t)role + a]];
        }
    }
    for (k = 0; m->n_nets && k < m->net_atom_start[m->n_nets]; k++) m->net_slot[k] = d->slot_of[m->net_atom[k]];
    mds_free(fill);
    fill_batches(d);
    m->mapped = true;
    m->list_kept = false;
    return MDS_OK;
}

// ------------------------------------------------------------------------------------- passes over groups

static cpu_group water_group(const cpu_move *m, int32_t kind, int32_t k)
{
    return (cpu_group){3, 3, m->water_slot + 3 * (size_t)k, water_pair, m->kind[kind].length};
}

cpu_group mds_cpu_cluster(const cpu_move *m, int32_t k)
{
    return (cpu_group){m->cluster_size[k], m->cluster_size[k] - 1, m->cluster_slot + 4 * (size_t)k, cluster_pair,
                       m->cluster_length + 3 * (size_t)k};
}

cpu_group mds_cpu_network(const cpu_move *m, int32_t k)
{
    const int32_t a = m->net_atom_start[k], l = m->net_link_start[k];

    return (cpu_group){m->net_atom_start[k + 1] - a, m->net_link_start[k + 1] - l, m->net_slot + a, m->net_pair + 2 * (size_t)l,
                       m->net_length + l};
}

void mds_cpu_clear_sums(mds_device *d)
{
    int t;

    for (t = 0; t < d->n_threads; t++) d->move->sums[t] = (cpu_move_sums){.unsolved = INT32_MAX, .odd = d->move->odd + CPU_ODD * (size_t)t};
}

static void add_tensor(double to[3][3], const double from[3][3])
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) to[k][l] += from[k][l];
}

void mds_cpu_add_sums(mds_device *d)
{
    cpu_move_sums *sum = d->move->sums;
    int            t;

    for (t = 1; t < d->n_threads; t++) {
        const cpu_move_sums *s = &d->move->sums[t];

        sum->work_noise += s->work_noise;
        add_tensor(sum->kinetic, s->kinetic);
        add_tensor(sum->virial, s->virial);
        add_tensor(sum->inertia, s->inertia);
        sum->fv += s->fv;
        sum->ff += s->ff;
        sum->vv += s->vv;
        sum->centre_kinetic += s->centre_kinetic;
        sum->centre_virial += s->centre_virial;
        sum->extent = fmax(sum->extent, s->extent);
        sum->suspect |= s->suspect;
        sum->heavy2 = fmax(sum->heavy2, s->heavy2);
        if (s->unsolved < sum->unsolved) sum->unsolved = s->unsolved;
    }
    if (sum->unsolved < INT32_MAX) {
        if (!d->fault) d->fault_atom = sum->unsolved;
        d->fault |= MDS_FAULT_CONSTRAINT;
    }
}

void mds_cpu_visit_networks(mds_device *d, int t, cpu_visit visit, const void *arg)
{
    const cpu_move *m = d->move;
    int32_t         first, last;

    mds_cpu_share(d, t, m->n_nets, &first, &last);
    for (int32_t k = first; k < last; k++) {
        const cpu_group g = mds_cpu_network(m, k);

        visit(d, &g, &m->scratch[t], &m->sums[t], arg);
    }
}

static void visit_share(mds_device *d, int t, cpu_visit visit, const void *arg)
{
    cpu_move      *m = d->move;
    cpu_scratch   *s = &m->scratch[t];
    cpu_move_sums *sums = &m->sums[t];
    int32_t        first, last, k, kind = 0;

    mds_cpu_share(d, t, m->n_waters, &first, &last);
    for (k = first; k < last; k++) {
        cpu_group g;

        while (k >= m->kind[kind].first + m->kind[kind].n) kind++;
        g = water_group(m, kind, k);
        visit(d, &g, s, sums, arg);
    }
    mds_cpu_share(d, t, m->n_clusters, &first, &last);
    for (k = first; k < last; k++) {
        const cpu_group g = mds_cpu_cluster(m, k);

        visit(d, &g, s, sums, arg);
    }
    mds_cpu_visit_networks(d, t, visit, arg);
    mds_cpu_share(d, t, m->n_free, &first, &last);
    for (k = first; k < last; k++) {
        const cpu_group g = {1, 0, m->free_slot + k, NULL, NULL};

        visit(d, &g, s, sums, arg);
    }
}

void mds_cpu_visit_groups(mds_device *d, cpu_visit visit, const void *arg)
{
    int t;

    mds_cpu_clear_sums(d);
#pragma omp parallel for schedule(static) num_threads(d->n_threads)
    for (t = 0; t < d->n_threads; t++) visit_share(d, t, visit, arg);
    mds_cpu_add_sums(d);
}
