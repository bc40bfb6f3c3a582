// SPDX-License-Identifier: Apache-2.0
// The order that the cpu backend's search puts atoms into: a permutation, hardly padded; of the eight atoms of a super no other four and four
// would be clusters with centres farther apart; atoms with LJ come before those without in each cluster, which the kernels rely on.
#include "backend/backend.h"

#include "base/rng.h"
#include "stage/poke_list.h"
#include "test.h"

#include <math.h>

enum { SUPER = 8, CLUSTER = 4 };

static const mds_box cube = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}};

/// n atoms anywhere in the cube at the density of water; one in three has LJ, in no order.
static void make(int32_t n, uint64_t seed, mds_system *s, mds_state *state)
{
    int32_t residue;
    double  u[4];

    TEST_OK(mds_system_set_types(s, 2, false));
    mds_system_set_lj(s, 0, 0, 1e-3, 1e-6);
    TEST_OK(mds_system_add_residue(s, "GAS", 1, &residue));
    TEST_OK(mds_state_init(state, n));
    state->box = cube;
    for (int32_t i = 0; i < n; i++) {
        mds_uniform4(seed, MDS_RNG_MAKE, 0, (uint32_t)i, u);
        TEST_OK(mds_system_add_atom(s, "X", residue, u[3] < 1.0 / 3 ? 0 : 1, i % 2 ? 0.1 : -0.1, 20, 0, NULL));
        for (int k = 0; k < 3; k++) state->x[i][k] = 3 * u[k];
    }
    TEST_OK(mds_system_freeze(s));
}

/// Sum of squares of the distances within four atoms, nm^2.
static double spread(const double (*x)[3], const int32_t atom[CLUSTER])
{
    double sum = 0;

    for (int i = 0; i < CLUSTER; i++)
        for (int j = i + 1; j < CLUSTER; j++) {
            double r[3];

            for (int k = 0; k < 3; k++) r[k] = x[atom[i]][k] - x[atom[j]][k];
            mds_box_nearest(&cube, r);
            sum += mds_dot(r, r);
        }
    return sum;
}

/// Whether four atoms are below the other four along z.
static bool is_below(const double (*x)[3], const int32_t low[CLUSTER], const int32_t high[CLUSTER])
{
    double top = -1e9, bottom = 1e9;

    for (int i = 0; i < CLUSTER; i++) {
        top = fmax(top, x[low[i]][2]);
        bottom = fmin(bottom, x[high[i]][2]);
    }
    return top <= bottom;
}

/// The least spread of both halves over the 35 ways to deal eight atoms (centres farthest apart is the same); *by_z: with the four lowest in one.
static double least_spread(const double (*x)[3], const int32_t atom[SUPER], double *by_z)
{
    double least = 1e9;

    for (unsigned set = 1; set < 256; set += 2) { // with the first atom, to count each way once
        int32_t half[2][CLUSTER];
        int     n[2] = {0, 0};

        if (__builtin_popcount(set) != CLUSTER) continue;
        for (unsigned i = 0; i < SUPER; i++) {
            const int to = !(set >> i & 1);

            half[to][n[to]++] = atom[i];
        }
        const double here = spread(x, half[0]) + spread(x, half[1]);
        least = fmin(least, here);
        if (is_below(x, half[0], half[1]) || is_below(x, half[1], half[0])) *by_z = here;
    }
    return least;
}

static void check(const mds_system *s, const mds_state *state, const mds_device *d)
{
    const double(*x)[3] = (const double(*)[3])state->x;
    const int32_t *atom_of, n_slots = peek_order(d, &atom_of);
    int32_t       *seen = calloc((size_t)s->n_atoms, sizeof *seen), padding = 0, late = 0, twice = 0, worse = 0, full = 0;
    double         dealt = 0, by_z = 0;

    for (int32_t slot = 0; slot < n_slots; slot++) {
        const int32_t atom = atom_of[slot], before = slot % CLUSTER ? atom_of[slot - 1] : -1;

        padding += atom < 0;
        if (atom < 0) continue;
        twice += seen[atom]++;
        if (slot % CLUSTER) late += before < 0 || (s->type[atom] == 0 && s->type[before] != 0);
    }
    for (int32_t super = 0; super < n_slots / SUPER; super++) {
        const int32_t *atom = atom_of + (size_t)SUPER * (size_t)super;
        bool           whole = true;
        double         split = 0;

        for (int k = 0; k < SUPER; k++) whole &= atom[k] >= 0;
        if (!whole) continue;
        full++;
        const double here = spread(x, atom) + spread(x, atom + CLUSTER);
        // places are floats: 1.2e-7 nm in each of 24 coordinates, times 8 differences of some 0.3 nm, is below 1e-5 nm^2
        worse += here > least_spread(x, atom, &split) + 1e-5;
        dealt += here;
        by_z += split;
    }
    TEST_INT(twice, 0);
    TEST_INT(n_slots - padding, s->n_atoms); // none twice and as many as there are: each once
    TEST_INT(late, 0);
    TEST_INT(worse, 0);
    // a column is as wide as a cube of 7 atoms: 7 rows of them here, and each pads at most its last super
    TEST_TRUE(padding <= 7 * (SUPER - 1));
    TEST_TRUE(full >= n_slots / SUPER - 7);
    TEST_TRUE(dealt < 0.97 * by_z); // and dealing is worth something: cut by z alone both are the same
    free(seen);
}

int main(void)
{
    static const char *const levels[] = {"generic", NULL};
    const mds_params         params = {.deterministic = true, .coulomb = MDS_COULOMB_CUT, .lj_modifier = MDS_LJ_CUT, .cut_lj = 0.9, .cut_q = 0.9,
                                       .list_radius = 1.0, .prune_radius = 0.93};
    const mds_backend       *backend;

    TEST_OK(mds_backend_find("cpu", &backend));
    for (int c = 0; c < 4; c++) {
        const int32_t    n = c < 2 ? 2700 : 2693;
        const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = n, .n_all = n};
        mds_system       s = {0};
        mds_state        state = {0};
        mds_device      *d;

        make(n, 41 + (uint64_t)c, &s, &state);
        TEST_OK(backend->open(&s, &params, 1 + c, levels[c % 2], &d));
        TEST_OK(backend->upload(d, &domain, &state));
        for (int k = 0; k < 2; k++) { // the second from the order of the first
            TEST_OK(backend->search(d, &domain));
            check(&s, &state, d);
        }
        backend->close(d);
        mds_system_free(&s);
        mds_state_free(&state);
    }
    return test_end();
}
