// SPDX-License-Identifier: Apache-2.0
// A device with a system of the test's making and forces of the test's making: what moves atoms is tested apart from
// what pulls them. Include once per test program.
#ifndef MDS_TEST_RIG_H
#define MDS_TEST_RIG_H

#include "base/rng.h"
#include "base/units.h"
#include "backend/backend.h"
#include "stage/poke.h"
#include "test.h"

typedef struct rig rig;
/// Forces at rig->frame.x (by atom) into f; virial and potential too.
typedef void (*rig_forces)(const rig *r, double (*f)[3], double virial[3][3], double *potential);

struct rig {
    const mds_backend    *be;
    bool                  is_ref, is_emu;
    mds_device           *d;
    const mds_system     *s;
    mds_params            p;
    mds_domain            domain;
    const mds_integrator *integrator;
    rig_forces            forces; // NULL: none
    double (*f)[3], (*x0)[3];
    mds_frame             frame; // sorted by atom, after every rig_look
    int                   n_searches;
};

/// Steps of a test: fewer on the emulated GPU; a quarter of those under the address sanitizer and in random order (MDS_FEWER),
/// since each step touches the same memory and has an order of its own, and a tenth under the thread sanitizer (MDS_SMALL).
static inline int rig_steps(const char *backend, int n, int emulated)
{
    if (strcmp(backend, "emu")) return n;
    return getenv("MDS_SMALL") ? emulated / 10 : getenv("MDS_FEWER") ? emulated / 4 : emulated;
}

static inline mds_params rig_params(void)
{
    mds_params p = {0};

    p.deterministic = true;
    p.dt = 0.002;
    p.lj_modifier = MDS_LJ_CUT;
    p.coulomb = MDS_COULOMB_NONE;
    p.cut_lj = p.cut_q = 0.5;
    p.list_radius = p.prune_radius = 0.7;
    p.list_interval = 20;
    p.constraint_tolerance = 1e-10;
    p.temperature = 300;
    p.tau_t = 0.5;
    p.tau_p = 1;
    p.pressure = 100;
    p.compressibility = 4.5e-5;
    p.couple_every = 1;
    p.seed = 12345;
    return p;
}

static inline void rig_look(rig *r, uint32_t fields)
{
    TEST_OK(r->be->observe(r->d, fields, 0));
    TEST_OK(r->be->collect(r->d, 0, &r->frame));
    if (fields) mds_frame_sort(&r->frame);
}

static inline void rig_poke(rig *r, const double (*f)[3], const double (*virial)[3], double potential)
{
    if (r->is_ref)
        poke_ref(r->d, f, virial, potential);
#ifdef TEST_EMU
    else if (r->is_emu)
        poke_emu(r->d, f, virial, potential);
#endif
    else
        poke_cpu(r->d, f, virial, potential);
}

/// The stages of a force evaluation, then the test's forces instead of theirs.
static inline void rig_force_stages(rig *r, mds_work work)
{
    double virial[3][3] = {{0}}, potential = 0;

    TEST_OK(r->be->begin(r->d, work));
    TEST_OK(r->be->finish(r->d, work));
    rig_look(r, MDS_FIELD_X);
    memset(r->f, 0, (size_t)r->s->n_atoms * sizeof *r->f);
    if (r->forces) r->forces(r, r->f, virial, &potential);
    rig_poke(r, (const double(*)[3])r->f, (const double(*)[3])virial, potential);
}

static inline void rig_open(rig *r, const char *backend, const char *isa, int threads, const mds_system *s, const mds_params *p,
                            const mds_state *state, const char *integrator, rig_forces forces)
{
    memset(r, 0, sizeof *r);
    TEST_OK(mds_backend_find(backend, &r->be));
    r->is_ref = !strcmp(backend, "ref");
    r->is_emu = !strcmp(backend, "emu") || !strcmp(backend, "cuda"); // one backend, emulated or not
    r->s = s;
    r->p = *p;
    r->forces = forces;
    r->integrator = mds_integrator_find(integrator);
    r->domain.n_home = r->domain.n_all = s->n_atoms;
    r->domain.dims[0] = r->domain.dims[1] = r->domain.dims[2] = 1;
    r->domain.hi[0] = r->domain.hi[1] = r->domain.hi[2] = 1;
    r->f = calloc((size_t)s->n_atoms, sizeof *r->f);
    r->x0 = calloc((size_t)s->n_atoms, sizeof *r->x0);
    memcpy(r->x0, state->x, (size_t)s->n_atoms * sizeof *r->x0);
    TEST_OK(r->be->open(s, p, threads, isa, &r->d));
    TEST_OK(r->be->upload(r->d, &r->domain, state));
    TEST_OK(r->be->search(r->d, &r->domain));
    rig_force_stages(r, MDS_ENERGY | MDS_VIRIAL);
}

static inline void rig_close(rig *r)
{
    if (r->d) r->be->close(r->d);
    mds_frame_free(&r->frame);
    free(r->f);
    free(r->x0);
}

/// A list of operations by itself.
static inline void rig_ops(rig *r, int n, const mds_op *ops, mds_work work)
{
    mds_op list[8] = {{MDS_STOP, 0}};
    int    k;

    for (k = 0; k < n; k++) list[k] = ops[k];
    list[n] = (mds_op){MDS_STOP, 0};
    TEST_OK(r->be->move(r->d, list, work));
}

static inline void rig_step(rig *r, mds_work work)
{
    mds_poll poll;

    TEST_OK(r->be->move(r->d, r->integrator->before, work));
    TEST_OK(r->be->poll(r->d, &poll));
    if (poll.tripped && !poll.fault) {
        TEST_OK(r->be->search(r->d, &r->domain));
        r->n_searches++;
    }
    rig_force_stages(r, work);
    TEST_OK(r->be->move(r->d, r->integrator->after, work));
    TEST_OK(r->be->couple(r->d, work));
}

// --------------------------------------------------------------------------------------------- systems

static inline double rig_random(uint64_t *draw)
{
    double u[4];

    mds_uniform4(99, 77, *draw, 0, u);
    (*draw)++;
    return u[0];
}

/// A turned copy of n points (nm) at `at`.
static inline void rig_place(mds_state *state, int32_t first, int n, const double (*shape)[3], const double at[3], uint64_t *draw)
{
    // a random rotation from a quaternion
    double q[4], norm = 0, r[3][3];
    int    i, k, l;

    for (k = 0; k < 4; k++) {
        q[k] = rig_random(draw) - 0.5;
        norm += q[k] * q[k];
    }
    for (k = 0; k < 4; k++) q[k] /= sqrt(norm);
    r[0][0] = 1 - 2 * (q[2] * q[2] + q[3] * q[3]);
    r[0][1] = 2 * (q[1] * q[2] - q[0] * q[3]);
    r[0][2] = 2 * (q[1] * q[3] + q[0] * q[2]);
    r[1][0] = 2 * (q[1] * q[2] + q[0] * q[3]);
    r[1][1] = 1 - 2 * (q[1] * q[1] + q[3] * q[3]);
    r[1][2] = 2 * (q[2] * q[3] - q[0] * q[1]);
    r[2][0] = 2 * (q[1] * q[3] - q[0] * q[2]);
    r[2][1] = 2 * (q[2] * q[3] + q[0] * q[1]);
    r[2][2] = 1 - 2 * (q[1] * q[1] + q[2] * q[2]);
    for (i = 0; i < n; i++)
        for (k = 0; k < 3; k++) {
            state->x[first + i][k] = at[k];
            for (l = 0; l < 3; l++) state->x[first + i][k] += r[k][l] * shape[i][l];
        }
}

typedef struct {
    mds_system s;
    mds_state  state;
    int        n, cap;
    double     edge;
    uint64_t   draw;
} rig_builder;

static inline void rig_distance(const double (*x)[3], int i, int j, double *out)
{
    const double d[3] = {x[i][0] - x[j][0], x[i][1] - x[j][1], x[i][2] - x[j][2]};

    *out = mds_norm(d);
}

/// Add n_copies of a molecule: masses (0: a site, mean of the first three atoms weighted 0.6 0.2 0.2), shape and
/// constrained pairs, whose lengths are those of the shape.
static inline void rig_add(rig_builder *b, int n_copies, int n, const double *mass, const double (*shape)[3], int n_pairs,
                           const int (*pair)[2])
{
    int c, i;

    for (c = 0; c < n_copies; c++) {
        const double at[3] = {b->edge * rig_random(&b->draw), b->edge * rig_random(&b->draw), b->edge * rig_random(&b->draw)};
        const int32_t first = b->s.n_atoms;
        int32_t       residue;

        TEST_OK(mds_system_add_residue(&b->s, "MOL", c + 1, &residue));
        for (i = 0; i < n; i++) TEST_OK(mds_system_add_atom(&b->s, "A", residue, 0, 0, mass[i], 0, NULL));
        for (i = 0; i < n_pairs; i++) {
            double length;

            rig_distance(shape, pair[i][0], pair[i][1], &length);
            TEST_OK(mds_system_add_constraint(&b->s, first + pair[i][0], first + pair[i][1], length));
        }
        for (i = 0; i < n; i++)
            if (mass[i] == 0) {
                const int32_t atom[3] = {first, first + 1, first + 2};
                const double  weight[3] = {0.6, 0.2, 0.2};

                TEST_OK(mds_system_add_vsite(&b->s, MDS_VSITE_LINEAR, first + i, 3, atom, weight, NULL));
            }
        for (i = 0; i < n; i++) {
            int j;

            for (j = 0; j < n; j++)
                if (i != j) TEST_OK(mds_system_add_exclusion(&b->s, first + i, first + j));
        }
        rig_place(&b->state, first, n, shape, at, &b->draw);
        if (mass[n - 1] == 0) {
            int k;

            for (k = 0; k < 3; k++)
                b->state.x[first + n - 1][k] =
                    0.6 * b->state.x[first][k] + 0.2 * b->state.x[first + 1][k] + 0.2 * b->state.x[first + 2][k];
        }
    }
}

static inline void rig_begin(rig_builder *b, int max_atoms, double edge)
{
    int k;

    memset(b, 0, sizeof *b);
    TEST_OK(mds_system_set_types(&b->s, 1, false));
    TEST_OK(mds_state_init(&b->state, max_atoms));
    b->edge = edge;
    for (k = 0; k < 3; k++) b->state.box.a[k][k] = edge;
}

/// Freeze and give velocities at 300 K that are not yet on the constraints.
static inline void rig_finish(rig_builder *b)
{
    TEST_OK(mds_system_freeze(&b->s));
    b->state.n_atoms = b->s.n_atoms;
    mds_state_draw_velocities(&b->s, 300, 5, &b->state);
}

static inline void rig_free(rig_builder *b)
{
    mds_system_free(&b->s);
    mds_state_free(&b->state);
}

// TIP3P's shape; masses of water
static const double rig_water_mass[] = {15.9994, 1.008, 1.008, 0};
static const double rig_water_shape[][3] = {{0, 0, 0}, {0.0756950327, 0.0585882277, 0}, {-0.0756950327, 0.0585882277, 0}, {0, 0.02, 0}};
static const int    rig_water_pair[][2] = {{0, 1}, {0, 2}, {1, 2}};

static inline void rig_add_waters(rig_builder *b, int n, bool with_site)
{
    rig_add(b, n, with_site ? 4 : 3, rig_water_mass, rig_water_shape, 3, rig_water_pair);
}

/// X-H clusters of one to three hydrogens (tetrahedral directions, X-H 0.109 nm).
static inline void rig_add_clusters(rig_builder *b, int n)
{
    static const double mass[] = {12.011, 1.008, 1.008, 1.008};
    static const double shape[][3] = {{0, 0, 0}, {0.0629, 0.0629, 0.0629}, {0.0629, -0.0629, -0.0629}, {-0.0629, 0.0629, -0.0629}};
    static const int    pair[][2] = {{0, 1}, {0, 2}, {0, 3}};
    int                 k;

    for (k = 1; k <= 3; k++) rig_add(b, n, k + 1, mass, shape, k, pair);
}

/// Networks: a chain of ten, a ring of five with a triangle on it.
static inline void rig_add_networks(rig_builder *b, int n)
{
    static const double mass[] = {12, 14, 12, 1.008, 16, 12, 12, 32, 12, 12};
    static const double chain[][3] = {{0, 0, 0},       {0.12, 0.08, 0},  {0.24, 0, 0.01},  {0.34, 0.02, 0},  {0.24, -0.13, 0.05},
                                      {0.36, -0.2, 0}, {0.48, -0.13, 0}, {0.6, -0.2, 0.1}, {0.72, -0.13, 0}, {0.84, -0.2, 0}};
    static const int chain_pair[][2] = {{0, 1}, {1, 2}, {2, 3}, {2, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {8, 9}};
    static const double ring[][3] = {{0.12, 0, 0}, {0.037, 0.114, 0}, {-0.097, 0.07, 0.02}, {-0.097, -0.07, 0}, {0.037, -0.114, 0}, {0.2, -0.1, 0.08}};
    static const int    ring_pair[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {4, 5}, {5, 0}};

    rig_add(b, n, 10, mass, chain, 9, chain_pair);
    rig_add(b, n, 6, mass, ring, 7, ring_pair);
}

static inline void rig_add_atoms(rig_builder *b, int n)
{
    static const double masses[] = {1, 16, 40}, shape[][3] = {{0, 0, 0}};
    int                 k;

    for (k = 0; k < n; k++) rig_add(b, 1, 1, &masses[k % 3], shape, 0, NULL);
}

/// Everything that can move, in a box of 4 nm.
static inline void rig_build_zoo(rig_builder *b, int scale)
{
    rig_begin(b, scale * 200, 4);
    rig_add_waters(b, 13 * scale, false);
    rig_add_waters(b, 6 * scale, true);
    rig_add_clusters(b, 3 * scale);
    rig_add_networks(b, scale);
    rig_add_atoms(b, 7 * scale);
    rig_finish(b);
}

/// Springs of 1000 kJ/mol/nm^2 to places a little off where the atoms began, so that they pull on constraints as well.
static inline void rig_springs(const rig *r, double (*f)[3], double virial[3][3], double *potential)
{
    int32_t i;
    int     k, l;

    for (i = 0; i < r->s->n_atoms; i++)
        for (k = 0; k < 3 && r->s->mass[i] > 0; k++) {
            const double way = r->frame.x[i][k] - r->x0[i][k] - 0.01 * sin(7.0 * i + k);

            f[i][k] = -1000 * way;
            *potential += 500 * way * way;
        }
    for (i = 0; i < r->s->n_atoms; i++)
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) virial[k][l] -= 0.5 * r->frame.x[i][k] * f[i][l];
}

static const mds_op rig_fix_v[] = {{MDS_FIX_V, 1}};

#endif
