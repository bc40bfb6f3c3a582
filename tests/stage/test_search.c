// SPDX-License-Identifier: Apache-2.0
// The search of the cpu and GPU backends: no pair is missed at any displacement that the buffers allow, none is taken twice, the
// order depends on positions alone, and what cannot be listed is refused with a fault.
//
// Completeness is counted, not inferred: the interacting pairs within the cut-off that the list holds, against a double loop
// over atoms and all images. Positions are doubles there and floats in the list, so pairs within 1e-6 nm of the cut-off
// may fall on either side: the count must lie between those of cut-offs that much smaller and larger.
#include "backend/backend.h"

#include "base/rng.h"
#include "stage/poke_list.h"
#include "test.h"

static const mds_backend *backend;
static bool               is_cpu;
static int32_t            most_atoms = INT32_MAX; // MDS_SMALL
static const char        *flavour[] = {"octet", "lane", "tile"}; // lists of the GPU backend: cases take turns

typedef struct {
    mds_system system;
    mds_state  state;
    mds_params params;
} rig;

static const mds_domain *whole(const rig *r)
{
    static mds_domain domain;

    domain = (mds_domain){.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = r->system.n_atoms, .n_all = r->system.n_atoms};
    return &domain;
}

static double uniform(uint64_t seed, int32_t i, int k)
{
    double u[4];

    mds_uniform4(seed, MDS_RNG_MAKE, 0, (uint32_t)i, u);
    return u[k];
}

/// n atoms anywhere in the box (or, without one, in a cube of 3 nm), triples of them excluded from each other, without charge.
static rig gas(mds_box box, int32_t n, double cut, double list_radius, double prune_radius)
{
    rig     r = {.params = {.deterministic = true, .coulomb = MDS_COULOMB_CUT,
                            .lj_modifier = MDS_LJ_CUT,
                            .cut_lj = cut,
                            .cut_q = cut,
                            .list_radius = list_radius,
                            .prune_radius = prune_radius}};
    int32_t residue, i, k;

    n = n < most_atoms ? n : most_atoms;
    TEST_OK(mds_system_set_types(&r.system, 1, false));
    mds_system_set_lj(&r.system, 0, 0, 1e-3, 1e-6);
    TEST_OK(mds_system_add_residue(&r.system, "GAS", 1, &residue));
    for (i = 0; i < n; i++) TEST_OK(mds_system_add_atom(&r.system, "X", residue, 0, i % 2 ? 0.1 : -0.1, 20, 0, NULL));
    for (i = 0; i + 2 < n; i += 3) {
        TEST_OK(mds_system_add_exclusion(&r.system, i, i + 1));
        TEST_OK(mds_system_add_exclusion(&r.system, i, i + 2));
        TEST_OK(mds_system_add_exclusion(&r.system, i + 1, i + 2));
    }
    TEST_OK(mds_system_freeze(&r.system));
    TEST_OK(mds_state_init(&r.state, n));
    r.state.box = box;
    for (i = 0; i < n; i++)
        for (k = 0; k < 3; k++) {
            const double s = uniform(5, i, k) + (i % 3 ? 0 : i % 7 - 3); // some of them in other images

            if (mds_box_is_none(&box))
                r.state.x[i][k] = 3 * uniform(5, i, k);
            else
                for (int d = 0; d < 3; d++) r.state.x[i][d] += s * box.a[k][d];
        }
    return r;
}

static void drop(rig *r)
{
    mds_system_free(&r->system);
    mds_state_free(&r->state);
}

/// Pairs that are not excluded and nearer than `cut`, by the nearest image (the cut-off is at most half the width).
static int64_t count(const rig *r, const double (*x)[3], double cut)
{
    int64_t n = 0;

    for (int32_t i = 0; i < r->system.n_atoms; i++)
        for (int32_t j = i + 1; j < r->system.n_atoms; j++) {
            double u[3];

            if (i / 3 == j / 3 && j < r->system.n_atoms / 3 * 3) continue;
            for (int k = 0; k < 3; k++) u[k] = x[i][k] - x[j][k];
            mds_box_nearest(&r->state.box, u);
            n += mds_dot(u, u) < cut * cut;
        }
    return n;
}

static void evaluate(mds_device *d)
{
    TEST_OK(backend->begin(d, MDS_ENERGY));
    poke_list_due(d);
    TEST_OK(backend->finish(d, MDS_ENERGY));
}

static void expect_complete(const char *what, const rig *r, const mds_device *d, const double (*x)[3])
{
    // floats relative to origins within 4 nm resolve 2.4e-7 nm a coordinate; two atoms, three coordinates, once more for images
    const int64_t low = count(r, x, r->params.cut_lj - 1e-6), high = count(r, x, r->params.cut_lj + 1e-6);
    const int64_t got = peek_inside(d);

    TEST_TRUE(got >= low && got <= high);
    if (got < low || got > high)
        fprintf(stderr, "  %s: %lld pairs, wanted %lld to %lld\n", what, (long long)got, (long long)low, (long long)high);
}

/// Steps without a search: every atom walks straight, the fastest ones as far as the buffer allows by step 10.
static void no_pair_is_missed(const char *what, rig *r)
{
    const int32_t n = r->system.n_atoms;
    const double  reach = 0.5 * (r->params.list_radius - r->params.cut_lj) * 0.999;
    static int    number;
    mds_device   *d;
    double(*x)[3];

    TEST_OK(mds_alloc(&x, (size_t)n, sizeof *x));
    for (int threads = 1; threads <= (is_cpu ? 3 : 1); threads++) {
        TEST_OK(backend->open(&r->system, &r->params, threads, is_cpu ? NULL : flavour[number++ % 3], &d));
        TEST_OK(backend->upload(d, whole(r), &r->state));
        TEST_OK(backend->search(d, whole(r)));
        for (int step = 0; step <= 10; step += most_atoms < 1000 ? 5 : 1) {
            for (int32_t i = 0; i < n; i++) {
                // directions pair up: even atoms towards the middle of the box and odd ones away from it, and at random
                double u[3], size;

                for (int k = 0; k < 3; k++) u[k] = uniform(9, i, k) - 0.5;
                size = reach * step / 10 * (i % 4 ? uniform(9, i, 3) : 1) / mds_norm(u);
                for (int k = 0; k < 3; k++) x[i][k] = r->state.x[i][k] + size * u[k];
            }
            poke_positions(d, (const double(*)[3])x);
            evaluate(d);
            if (step % 5 == 0) expect_complete(what, r, d, (const double(*)[3])x);
        }
        backend->close(d);
    }
    mds_free(x);
    drop(r);
}

static mds_box octahedron(double a)
{
    return (mds_box){{{a, 0, 0}, {a / 3, a * sqrt(8.0) / 3, 0}, {-a / 3, a * sqrt(2.0) / 3, a * sqrt(6.0) / 3}}};
}

static void completeness(void)
{
    const mds_box cube = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}}, long_z = {{{2, 0, 0}, {0, 2.2, 0}, {0, 0, 25}}};
    const mds_box skewed = {{{3, 0, 0}, {-1.4, 2.8, 0}, {1.5, -1.3, 2.6}}}, none = {{{0}}};
    const mds_box rod = {{{19, 0, 0}, {0.9, 1.9, 0}, {-0.8, 0.9, 1.9}}};
    rig           r;

    r = gas(octahedron(3.381), 2940, 0.7, 0.85, 0.75); // the box and cut-off of cases.md c06
    no_pair_is_missed("truncated octahedron", &r);
    r = gas(cube, 2500, 0.9, 1.1, 0.93);
    no_pair_is_missed("cube", &r);
    r = gas(cube, 2500, 0.9, 1.0, 0);
    no_pair_is_missed("cube, one list", &r);
    r = gas(skewed, 2000, 0.9, 1.15, 0.9);
    no_pair_is_missed("skewed box, inner list without a buffer", &r);
    r = gas((mds_box){{{1.45, 0, 0}, {0, 1.4, 0}, {0, 0, 1.5}}}, 300, 0.69, 1.3, 0.8);
    no_pair_is_missed("list radius of almost a box edge", &r);
    r = gas(octahedron(1.3), 120, 0.53, 1.4, 0.6);
    no_pair_is_missed("small octahedron, list radius above the edge", &r);
    r = gas(octahedron(1.3), 120, 0.64, 0.9, 0.7);
    no_pair_is_missed("small octahedron, cut-off above half its width", &r);
    r = gas(cube, 900, 0.9, 1.1, 0.95); // on the faces of the box and a rounding error to either side
    for (int32_t i = 0; i < r.system.n_atoms; i += 5) r.state.x[i][i % 3] = 3.0 * (i % 4 - 1) * (1 + (i % 7 - 3) * 1e-16);
    no_pair_is_missed("atoms on the faces", &r);
    r = gas((mds_box){{{16, 0, 0}, {0, 2, 0}, {0, 0, 2}}}, 2000, 0.9, 1.1, 0.95); // and where two regions meet
    for (int32_t i = 0; i < r.system.n_atoms; i += 5) r.state.x[i][0] = 8.0 * (i % 4 - 1) * (1 + (i % 7 - 3) * 1e-16);
    no_pair_is_missed("atoms between regions", &r);
    r = gas(long_z, 3000, 0.8, 1.0, 0.85);
    no_pair_is_missed("long box", &r);
    r = gas(rod, 2000, 0.8, 1.0, 0.85);
    no_pair_is_missed("rod of several regions", &r);
    r = gas(cube, 7, 1.4, 1.5, 1.4);
    no_pair_is_missed("seven atoms", &r);
    r = gas(none, 1500, 0.8, 1.0, 0.9);
    no_pair_is_missed("no box", &r);
    r = gas(none, 1500, 0.8, 1.0, 0.9);
    for (int32_t i = 0; i < r.system.n_atoms; i += 17) r.state.x[i][i % 3] += i % 2 ? 3e5 : -40.0 * i; // and far outside
    no_pair_is_missed("no box, atoms far outside", &r);
    r = gas(cube, 2, 1.4, 1.5, 1.4);
    memcpy(r.state.x[1], r.state.x[0], sizeof r.state.x[0]);
    no_pair_is_missed("two atoms at one point", &r);
}

static void pruning_follows_displacements(const char *isa)
{
    const mds_box cube = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}};
    rig           r = gas(cube, 1000, 0.9, 1.2, 1.0);
    mds_device   *d;
    int64_t       before;

    TEST_OK(backend->open(&r.system, &r.params, 2, isa, &d));
    TEST_OK(backend->upload(d, whole(&r), &r.state));
    TEST_OK(backend->search(d, whole(&r)));
    evaluate(d);
    before = peek_prunes(d);
    r.state.x[5][0] += 0.06; // one atom: 0.06 < 0.1
    poke_positions(d, (const double(*)[3])r.state.x);
    evaluate(d);
    TEST_INT(peek_prunes(d), before);
    r.state.x[77][2] -= 0.05; // two atoms together: 0.11
    poke_positions(d, (const double(*)[3])r.state.x);
    evaluate(d);
    TEST_INT(peek_prunes(d), before + 1);
    evaluate(d);
    TEST_INT(peek_prunes(d), before + 1);
    r.state.box.a[0][0] *= 1.001; // a new box moves the images
    poke_box(d, &r.state.box);
    evaluate(d);
    TEST_INT(peek_prunes(d), before + 2);
    expect_complete("after a change of the box", &r, d, (const double(*)[3])r.state.x);
    backend->close(d);
    drop(&r);
}

/// The same positions give the same order whatever came before, on any number of threads, at any level.
static void order_depends_on_positions_alone(void)
{
    const mds_box  cube = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}};
    rig            r = gas(cube, 1700, 0.9, 1.0, 0.93);
    mds_device    *d, *e;
    const int32_t *a, *b;
    mds_state      other = {0};
    int32_t        n;

    const int32_t n_atoms = r.system.n_atoms;
    for (int32_t i = 0; i < 60; i++) r.state.x[i][2] = r.state.x[600][2]; // ties
    TEST_OK(mds_state_copy(&other, &r.state));
    for (int32_t i = 0; i < n_atoms; i++)
        for (int k = 0; k < 3; k++) other.x[i][k] = 3 * uniform(31, i, k);
    TEST_OK(backend->open(&r.system, &r.params, 1, is_cpu ? "generic" : NULL, &d));
    TEST_OK(backend->upload(d, whole(&r), &r.state));
    TEST_OK(backend->search(d, whole(&r)));
    n = peek_order(d, &a);
    for (int threads = 2; threads <= (is_cpu ? 5 : 2); threads++) {
        TEST_OK(backend->open(&r.system, &r.params, threads, NULL, &e));
        TEST_OK(backend->upload(e, whole(&r), &other));
        TEST_OK(backend->search(e, whole(&r))); // another order first
        poke_positions(e, (const double(*)[3])r.state.x);
        TEST_OK(backend->search(e, whole(&r)));
        TEST_INT(peek_order(e, &b), n);
        TEST_TRUE(!memcmp(a, b, (size_t)n * sizeof *a));
        backend->close(e);
    }
    backend->close(d);
    mds_state_free(&other);
    drop(&r);
}

static uint32_t fault_of(rig *r, int32_t *atom)
{
    mds_frame   frame = {0};
    mds_device *d;
    mds_poll    poll;

    TEST_OK(backend->open(&r->system, &r->params, 2, NULL, &d));
    TEST_OK(backend->upload(d, whole(r), &r->state));
    TEST_OK(backend->search(d, whole(r)));
    evaluate(d); // falls through
    TEST_OK(backend->poll(d, &poll));
    TEST_OK(backend->observe(d, 0, 0));
    TEST_OK(backend->collect(d, 0, &frame));
    *atom = frame.fault_atom;
    TEST_INT(frame.fault, poll.fault);
    mds_frame_free(&frame);
    backend->close(d);
    return poll.fault;
}

static void faults_are_told(void)
{
    const mds_box cube = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}};
    const double  bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e12};
    rig           r = gas(cube, 500, 0.9, 1.0, 0.93);
    int32_t       atom;

    TEST_INT(fault_of(&r, &atom), 0);
    TEST_INT(atom, -1);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const double good = r.state.x[123][k % 3];

        r.state.x[123][k % 3] = bad[k];
        TEST_INT(fault_of(&r, &atom), MDS_FAULT_NOT_FINITE);
        TEST_INT(atom, 123);
        r.state.x[123][k % 3] = good;
    }
    r.state.box.a[1][1] = 1.79; // c08: under twice the cut-off
    TEST_INT(fault_of(&r, &atom), MDS_FAULT_CUTOFF);
    r.state.box.a[1][1] = 1.81;
    TEST_INT(fault_of(&r, &atom), 0);
    // a neighbour is one image up to half the shortest lattice vector: an octahedron's edge, though its width is 0.8165 of that
    r.state.box = octahedron(1.79);
    TEST_INT(fault_of(&r, &atom), MDS_FAULT_CUTOFF);
    r.state.box = octahedron(1.81);
    TEST_INT(fault_of(&r, &atom), 0);
    drop(&r);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cpu";

    TEST_OK(mds_backend_find(name, &backend));
    is_cpu = !strcmp(name, "cpu");
    if (getenv("MDS_SMALL")) most_atoms = 610;
    completeness();
    for (int k = 0; k < (is_cpu ? 1 : 3); k++) pruning_follows_displacements(is_cpu ? NULL : flavour[k]);
    order_depends_on_positions_alone();
    faults_are_told();
    return test_end();
}
