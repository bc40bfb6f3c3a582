// SPDX-License-Identifier: Apache-2.0
// Bonded terms on the cpu: differences and maths in double (num/bonded.h), forces added to the thread's float lines.
//
// Terms of one kind are cut into as many contiguous chunks as there are threads; a chunk's forces, energies and virial go
// to its thread, so results depend on the number of threads only. Positions are continuous, but a file may hold a
// molecule cut at the box: every difference is taken at the nearest image all the same, which for the usual short one is a comparison.
// Atom ids become slots once a search; parameters stay where the system has them.
#include "cpu/cpu.h"

#include "num/bonded.h"

#include <math.h>

struct cpu_bonded {
    int32_t *slot[MDS_N_TERMS]; // [n terms][atoms of the kind]
    double  *cells;             // [n_maps][map_size][map_size][16] CMAP polynomials
};

/// One thread's view: positions in, its own sums out.
typedef struct {
    const double (*x)[3];
    const mds_images *images;
    float    *line;
    cpu_sums *sums;
    double    virial[3][3];
} worker;

static void difference(const worker *w, int32_t a, int32_t b, double r[3])
{
    int k;

    for (k = 0; k < 3; k++) r[k] = w->x[a][k] - w->x[b][k];
    mds_images_nearest(w->images, r);
}

static void add(const worker *w, int32_t slot, const double f[3])
{
    float *line = w->line + (size_t)(slot / CPU_CLUSTER) * CPU_LINE + slot % CPU_CLUSTER;

    line[0] += (float)f[0];
    line[CPU_CLUSTER] += (float)f[1];
    line[2 * CPU_CLUSTER] += (float)f[2];
}

/// Virial of a force on an atom at r from the term's origin.
static void add_virial(worker *w, const double r[3], const double f[3])
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) w->virial[k][l] -= 0.5 * r[k] * f[l];
}

/// Force s r on a, the opposite on b.
static void pull(worker *w, const int32_t *a, const double r[3], double s)
{
    const double f[3] = {s * r[0], s * r[1], s * r[2]}, g[3] = {-f[0], -f[1], -f[2]};

    add(w, a[0], f);
    add(w, a[1], g);
    add_virial(w, r, f);
}

/// Forces fu, fv on the ends of an angle (at u and v from its middle), the rest on the middle.
static void bend(worker *w, const int32_t *a, const double u[3], const double v[3], const double fu[3], const double fv[3])
{
    const double f0[3] = {-fu[0] - fv[0], -fu[1] - fv[1], -fu[2] - fv[2]};

    add(w, a[0], fu);
    add(w, a[2], fv);
    add(w, a[1], f0);
    add_virial(w, u, fu);
    add_virial(w, v, fv);
}

static void bend_by(worker *w, const int32_t *a, double theta0, double k_theta, mds_energy term)
{
    double u[3], v[3], gu[3], gv[3], x;
    int    k;

    difference(w, a[0], a[1], u);
    difference(w, a[2], a[1], v);
    x = mds_angle(u, v, gu, gv) - theta0;
    w->sums->energy[term] += 0.5 * k_theta * x * x;
    for (k = 0; k < 3; k++) {
        gu[k] *= -k_theta * x;
        gv[k] *= -k_theta * x;
    }
    bend(w, a, u, v, gu, gv);
}

/// Vectors f, g, h of num/bonded.h in r, and the torsion.
static void twist_geometry(const worker *w, const int32_t *a, double r[3][3], mds_torsion *t)
{
    difference(w, a[0], a[1], r[0]);
    difference(w, a[2], a[1], r[1]);
    difference(w, a[2], a[3], r[2]);
    mds_torsion_of(r[0], r[1], r[2], t);
}

static void twist(worker *w, const int32_t *a, double r[3][3], const mds_torsion *t, double slope)
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

typedef struct {
    const mds_terms *terms;
    const int32_t   *slot;
    int32_t          begin, end;
    int              n_atoms, n_params;
} chunk;

static void distances(worker *w, mds_term_kind kind, const chunk *c)
{
    double energy = 0, coulomb = 0;

    for (int32_t i = c->begin; i < c->end; i++) {
        const int32_t *a = c->slot + 2 * (size_t)i;
        const double  *p = c->terms->param + (size_t)c->n_params * (size_t)i;
        double         r[3], s = 0, q = 0;

        difference(w, a[0], a[1], r);
        const double r2 = mds_dot(r, r);
        if (kind == MDS_TERM_BOND)
            energy += mds_bond(r2, p[0], p[1], &s);
        else if (kind == MDS_TERM_BOND_G96)
            energy += mds_bond_g96(r2, p[0], p[1], &s);
        else if (kind == MDS_TERM_BOND_MORSE)
            energy += mds_bond_morse(r2, p[0], p[1], p[2], &s);
        else
            energy += mds_pair14(r2, p[0], p[1], p[2], &s, &q);
        coulomb += q;
        pull(w, a, r, s);
    }
    w->sums->energy[mds_term_table[kind].energy] += energy;
    w->sums->energy[MDS_EN_COUL14] += coulomb;
}

static void angles(worker *w, mds_term_kind kind, const chunk *c)
{
    for (int32_t i = c->begin; i < c->end; i++) {
        const int32_t *a = c->slot + 3 * (size_t)i;
        const double  *p = c->terms->param + (size_t)c->n_params * (size_t)i;

        if (kind == MDS_TERM_ANGLE_G96) {
            double u[3], v[3], fu[3], fv[3];

            difference(w, a[0], a[1], u);
            difference(w, a[2], a[1], v);
            w->sums->energy[MDS_EN_ANGLE] += mds_angle_g96(u, v, cos(p[0]), p[1], fu, fv);
            bend(w, a, u, v, fu, fv);
            continue;
        }
        bend_by(w, a, p[0], p[1], mds_term_table[kind].energy);
        if (kind == MDS_TERM_UREY_BRADLEY) {
            const int32_t ends[2] = {a[0], a[2]};
            double        r[3], s;

            difference(w, a[0], a[2], r);
            w->sums->energy[MDS_EN_UREY_BRADLEY] += mds_bond(mds_dot(r, r), p[2], p[3], &s);
            pull(w, ends, r, s);
        }
    }
}

static void torsions(worker *w, mds_term_kind kind, const chunk *c)
{
    double energy = 0;

    for (int32_t i = c->begin; i < c->end; i++) {
        const int32_t *a = c->slot + 4 * (size_t)i;
        const double  *p = c->terms->param + (size_t)c->n_params * (size_t)i;
        double         r[3][3], slope;
        mds_torsion    t;

        twist_geometry(w, a, r, &t);
        if (kind == MDS_TERM_RB)
            energy += mds_ryckaert(t.phi, p, &slope);
        else if (kind == MDS_TERM_IMPROPER)
            energy += mds_improper(t.phi, p[0], p[1], &slope);
        else
            energy += mds_proper(t.phi, p[0], p[1], p[2], &slope);
        twist(w, a, r, &t, slope);
    }
    w->sums->energy[mds_term_table[kind].energy] += energy;
}

static void maps(worker *w, const mds_device *d, const chunk *c)
{
    const int n = d->system->map_size;

    for (int32_t i = c->begin; i < c->end; i++) {
        const int32_t *a = c->slot + 5 * (size_t)i;
        const double  *cells = d->bonded->cells + (size_t)c->terms->param[i] * 16 * (size_t)n * (size_t)n;
        double         r1[3][3], r2[3][3], slope[2];
        mds_torsion    t1, t2;

        twist_geometry(w, a, r1, &t1);
        twist_geometry(w, a + 1, r2, &t2);
        w->sums->energy[MDS_EN_CMAP] += mds_cmap(n, cells, t1.phi, t2.phi, slope);
        twist(w, a, r1, &t1, slope[0]);
        twist(w, a + 1, r2, &t2, slope[1]);
    }
}

/// The reference points do not scale with the box: the virial counts from the origin of space (docs/theory/bonded.md).
static void restraints(worker *w, const chunk *c)
{
    for (int32_t i = c->begin; i < c->end; i++) {
        const int32_t a = c->slot[i];
        const double *p = c->terms->param + 6 * (size_t)i;
        double        r[3], f[3], image[3];

        for (int k = 0; k < 3; k++) r[k] = w->x[a][k] - p[k];
        mds_images_nearest(w->images, r);
        for (int k = 0; k < 3; k++) {
            w->sums->energy[MDS_EN_RESTRAINT] += 0.5 * p[3 + k] * r[k] * r[k];
            f[k] = -p[3 + k] * r[k];
            image[k] = p[k] + r[k];
        }
        add(w, a, f);
        add_virial(w, image, f);
    }
}

static void run_chunk(worker *w, const mds_device *d, mds_term_kind kind, const chunk *c)
{
    if (kind == MDS_TERM_CMAP)
        maps(w, d, c);
    else if (kind == MDS_TERM_RESTRAINT)
        restraints(w, c);
    else if (c->n_atoms == 2)
        distances(w, kind, c);
    else if (c->n_atoms == 3)
        angles(w, kind, c);
    else
        torsions(w, kind, c);
}

mds_status mds_cpu_bonded_stage(mds_device *d, mds_work work)
{
    const int        threads = d->n_threads;
    const mds_images images = mds_images_of(&d->box);

    (void)work; // energies and virial cost a few operations a term
    if (d->tripped) return MDS_OK;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        worker w = {.x = (const double(*)[3])d->x, .images = &images, .line = d->f_thread[t], .sums = &d->sums[t]};

        for (int kind = 0; kind < MDS_N_TERMS; kind++) {
            const mds_terms *terms = &d->system->term[kind];
            const int64_t    n = terms->n;
            const chunk      c = {terms, d->bonded->slot[kind], (int32_t)(n * t / threads), (int32_t)(n * (t + 1) / threads),
                                  mds_term_table[kind].n_atoms, mds_term_table[kind].n_params};

            if (c.end > c.begin) run_chunk(&w, d, (mds_term_kind)kind, &c);
        }
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++) w.sums->virial[k][l] += w.virial[k][l];
    }
    return MDS_OK;
}

mds_status mds_cpu_bonded_open(mds_device *d)
{
    const mds_system *s = d->system;
    const size_t      points = (size_t)s->map_size * (size_t)s->map_size;
    double           *slopes = NULL;

    MDS_TRY(mds_alloc(&d->bonded, 1, sizeof *d->bonded));
    for (int kind = 0; kind < MDS_N_TERMS; kind++)
        MDS_TRY(mds_alloc(&d->bonded->slot[kind], (size_t)s->term[kind].n * (size_t)mds_term_table[kind].n_atoms,
                          sizeof(int32_t)));
    MDS_TRY(mds_alloc(&d->bonded->cells, 16 * points * (size_t)s->n_maps, sizeof(double)));
    MDS_TRY(mds_alloc(&slopes, 3 * points, sizeof *slopes));
    for (int32_t map = 0; map < s->n_maps; map++)
        mds_cmap_cells(s->map_size, s->map + points * (size_t)map, slopes, d->bonded->cells + 16 * points * (size_t)map);
    mds_free(slopes);
    return MDS_OK;
}

void mds_cpu_bonded_close(mds_device *d)
{
    if (!d->bonded) return;
    for (int kind = 0; kind < MDS_N_TERMS; kind++) mds_free(d->bonded->slot[kind]);
    mds_free(d->bonded->cells);
    mds_free(d->bonded);
    d->bonded = NULL;
}

mds_status mds_cpu_bonded_remap(mds_device *d)
{
    for (int kind = 0; kind < MDS_N_TERMS; kind++) {
        const mds_terms *terms = &d->system->term[kind];
        const int64_t    n = (int64_t)terms->n * mds_term_table[kind].n_atoms;

        for (int64_t i = 0; i < n; i++) d->bonded->slot[kind][i] = d->slot_of[terms->atom[i]];
    }
    return MDS_OK;
}
