// SPDX-License-Identifier: Apache-2.0
// The pair list of the GPU backend, entry by entry: every pair within the radius in every image once, excluded ones never, no octet listed
// for nothing, and all in the order that cuda/list.cu promises. The order is part of the promise because sums and speed follow it: it
// must be the same whatever the order of threads was (the emulation runs them at random in one of the modes).
//
// Distances are doubles here and floats there; pairs within 1e-5 nm of the radius (the list is 4e-6 wider, floats are good to 1e-6) may
// fall on either side.
#include "backend/backend.h"

#include "base/rng.h"
#include "stage/poke_gpu_list.h"
#include "test.h"

#define MARGIN 1e-5 // nm

static const mds_backend *backend;
static bool               is_small;

typedef struct {
    mds_system system;
    mds_state  state;
    mds_params params;
    bool       every; // no cut-off
} rig;

static const mds_domain *whole(const rig *r)
{
    static mds_domain domain;

    domain = (mds_domain){.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = r->system.n_atoms, .n_all = r->system.n_atoms};
    return &domain;
}

static mds_params params_of(double cut, double radius)
{
    return (mds_params){.deterministic = true, .coulomb = MDS_COULOMB_CUT, .lj_modifier = MDS_LJ_CUT, .cut_lj = cut, .cut_q = cut, .list_radius = radius};
}

static rig water(int32_t n, double cut, double radius)
{
    rig r = {.params = params_of(cut, radius)};

    TEST_OK(mds_make("water", n, 3, &r.system, &r.state));
    TEST_OK(mds_system_freeze(&r.system));
    return r;
}

/// n atoms anywhere in the box or a cube of 3 nm; atoms 3k to 3k+2 exclude each other; atom 0 excludes the first `shy`.
static rig gas(mds_box box, int32_t n, double cut, double radius, int32_t shy)
{
    rig     r = {.params = params_of(cut, radius)};
    int32_t residue, i, k, l;

    TEST_OK(mds_system_set_types(&r.system, 1, false));
    TEST_OK(mds_system_add_residue(&r.system, "GAS", 1, &residue));
    for (i = 0; i < n; i++) TEST_OK(mds_system_add_atom(&r.system, "X", residue, 0, 0, 20, 0, NULL));
    for (i = 0; i + 2 < n; i += 3)
        for (k = 0; k < 3; k++) TEST_OK(mds_system_add_exclusion(&r.system, i + k, i + (k + 1) % 3));
    for (i = 3; i < shy; i++) TEST_OK(mds_system_add_exclusion(&r.system, 0, i));
    TEST_OK(mds_system_freeze(&r.system));
    TEST_OK(mds_state_init(&r.state, n));
    r.state.box = box;
    for (i = 0; i < n; i++) {
        double u[4];

        mds_uniform4(11, MDS_RNG_MAKE, 0, (uint32_t)i, u);
        for (k = 0; k < 3; k++)
            for (l = 0; l < 3; l++) r.state.x[i][l] += mds_box_is_none(&box) ? (k == l ? 3 * u[k] : 0) : (u[k] + i % 3 - 1) * box.a[k][l];
    }
    return r;
}

static void drop(rig *r)
{
    mds_system_free(&r->system);
    mds_state_free(&r->state);
}

static bool excluded(const mds_system *s, int32_t a, int32_t b)
{
    for (int32_t k = s->excl_start[a]; k < s->excl_start[a + 1]; k++)
        if (s->excl[k] == b) return true;
    return false;
}

// ------------------------------------------------------------------------------------------------------ pairs

/// A pair as a number: a <= b, and the box vectors to add to x_a - x_b; of an atom and its own image the first that is not zero positive.
static uint64_t key_of(const rig *r, int32_t a, int32_t b, const int32_t n[3])
{
    const uint64_t n_atoms = (uint64_t)r->system.n_atoms;
    int            sign = a > b ? -1 : 1, k;
    uint64_t       code = 0;

    if (a == b) sign = n[0] ? n[0] : n[1] ? n[1] : n[2];
    sign = sign < 0 ? -1 : 1;
    for (k = 0; k < 3; k++) code = code * 64 + (uint64_t)(sign * n[k] + 32);
    return ((uint64_t)(a < b ? a : b) * n_atoms + (uint64_t)(a < b ? b : a)) * 262144 + code;
}

static double distance(const rig *r, int32_t a, int32_t b, const int32_t n[3])
{
    double u[3];

    for (int k = 0; k < 3; k++) {
        u[k] = r->state.x[a][k] - r->state.x[b][k];
        for (int l = 0; l < 3; l++) u[k] += n[l] * r->state.box.a[l][k];
    }
    return mds_norm(u);
}

typedef struct {
    uint64_t *key;
    size_t    n, room;
} pair_set;

static void put(pair_set *s, uint64_t key)
{
    if (s->n == s->room) {
        s->room = s->room ? 2 * s->room : 4096;
        s->key = realloc(s->key, s->room * sizeof *s->key);
        if (!s->key) abort();
    }
    s->key[s->n++] = key;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/// Faults found in a list; all must be 0.
typedef struct {
    int twice, missing, forbidden, idle, order;
} faults;

/// Entry k of a chunk: its pairs into the set.
static void take_entry(const rig *r, const peeked_list *l, int32_t c, int32_t k, pair_set *pairs, faults *f)
{
    const int32_t *chunk = l->chunk[c];
    const uint32_t entry = l->j[chunk[4] + k], allow = chunk[5] < 0 ? 0xffffffffu : l->allow[chunk[5] + k];
    const int32_t  slot = (int32_t)(entry & 0x0fffffffu), b = slot < l->n_slots ? l->atom_of[slot] : -1;

    f->idle += b < 0;
    for (int o = 0; o < 4 && b >= 0; o++) {
        double nearest = HUGE_VAL;

        for (int i = 8 * o; i < 8 * o + 8 && (entry >> (28 + o) & 1); i++) {
            const int32_t a = l->atom_of[32 * chunk[0] + i];
            int32_t       n[3];

            if (a < 0 || !(allow >> i & 1)) continue;
            for (int m = 0; m < 3; m++) n[m] = l->image[a][m] + chunk[1 + m] - l->image[b][m];
            nearest = fmin(nearest, distance(r, a, b, n));
            f->forbidden += excluded(&r->system, a, b) || (a == b && !n[0] && !n[1] && !n[2]);
            put(pairs, key_of(r, a, b, n));
        }
        f->idle += (entry >> (28 + o) & 1) && !(nearest <= r->params.list_radius + MARGIN || (r->every && nearest < HUGE_VAL));
    }
}

static int gray_rank(uint32_t octets)
{
    return (int)((octets ^ octets >> 1 ^ octets >> 2 ^ octets >> 3) & 15u);
}

static void take_list(const rig *r, const peeked_list *l, pair_set *pairs, faults *f)
{
    for (int32_t c = 0; c < l->n_chunks; c++) {
        const int32_t *chunk = l->chunk[c], n = l->n[c];
        int64_t        last = -1;
        int32_t        real = 0;

        f->order += n % 4 || n < 4 || n > 64 || chunk[4] % 4 || (c > 0 && n > l->n[c - 1]);
        for (int32_t k = 0; k < n; k++) {
            const uint32_t entry = l->j[chunk[4] + k];
            const int64_t  place = ((int64_t)gray_rank(entry >> 28) << 32) + (entry & 0x0fffffff);

            if (!(entry >> 28)) {
                f->order += k < n - 3; // filling is behind, less than a step of it
                continue;
            }
            f->order += k != real++;
            f->order += chunk[5] < 0 && place <= last; // free entries: by octets in Gray code, then by slot
            last = place;
            take_entry(r, l, c, k, pairs, f);
        }
    }
}

/// All images that may matter.
static void look_for_all(const rig *r, const pair_set *pairs, faults *f)
{
    const bool   periodic = !mds_box_is_none(&r->state.box);
    const double radius = r->params.list_radius - MARGIN;
    int32_t      most[3] = {0, 0, 0};
    double       width[3];

    if (periodic) mds_box_widths(&r->state.box, width);
    for (int k = 0; k < 3 && periodic; k++) most[k] = 1 + (int32_t)ceil(radius / width[k]);
    for (int32_t a = 0; a < r->system.n_atoms; a++)
        for (int32_t b = a; b < r->system.n_atoms; b++) {
            int32_t n[3], base[3] = {0, 0, 0};
            double  u[3], inverse[3][3] = {{0}};

            if (excluded(&r->system, a, b)) continue;
            for (int k = 0; k < 3; k++) u[k] = r->state.x[a][k] - r->state.x[b][k];
            if (periodic) mds_box_inverse(&r->state.box, inverse);
            for (int k = 0; k < 3; k++) base[k] = -(int32_t)rint(u[0] * inverse[0][k] + u[1] * inverse[1][k] + u[2] * inverse[2][k]);
            for (n[0] = base[0] - most[0]; n[0] <= base[0] + most[0]; n[0]++)
                for (n[1] = base[1] - most[1]; n[1] <= base[1] + most[1]; n[1]++)
                    for (n[2] = base[2] - most[2]; n[2] <= base[2] + most[2]; n[2]++) {
                        const uint64_t key = key_of(r, a, b, n);

                        if (a == b && !n[0] && !n[1] && !n[2]) continue;
                        if (!r->every && distance(r, a, b, n) >= radius) continue;
                        f->missing += !bsearch(&key, pairs->key, pairs->n, sizeof key, by_number);
                    }
        }
}

static void expect_same(const peeked_list *a, const peeked_list *b)
{
    TEST_INT(a->n_chunks, b->n_chunks);
    TEST_INT(a->n_slots, b->n_slots);
    TEST_INT(a->n_entries, b->n_entries);
    TEST_INT(a->n_words, b->n_words);
    if (a->n_chunks != b->n_chunks || a->n_slots != b->n_slots || a->n_entries != b->n_entries || a->n_words != b->n_words) return;
    TEST_TRUE(!memcmp(a->chunk, b->chunk, (size_t)a->n_chunks * sizeof *a->chunk));
    TEST_TRUE(!memcmp(a->n, b->n, (size_t)a->n_chunks * sizeof *a->n));
    TEST_TRUE(!memcmp(a->atom_of, b->atom_of, (size_t)a->n_slots * sizeof *a->atom_of));
    TEST_TRUE(!memcmp(a->j, b->j, (size_t)a->n_entries * sizeof *a->j));
    TEST_TRUE(!memcmp(a->allow, b->allow, (size_t)a->n_words * sizeof *a->allow));
}

/// What a list costs: slots as table 2 of the design counts them, and as a warp computes them that takes four entries at a time.
static void print_figures(const char *what, const rig *r, const mds_device *d, const peeked_list *l)
{
    mds_list_figures f;
    int64_t          computed = 0;

    backend->figures(d, &f);
    if (!f.outer) return; // three atoms that exclude each other
    for (int32_t c = 0; c < l->n_chunks; c++)
        for (int32_t k = 0; k < l->n[c]; k += 4) {
            uint32_t any = 0;

            for (int e = 0; e < 4; e++) any |= l->j[l->chunk[c][4] + k + e] >> 28;
            computed += 32 * __builtin_popcount(any);
        }
    fprintf(stderr, "%s: %d atoms, %d slots, %d chunks; pair slots an atom %.1f, within the cut-off %.3f; by steps of four %.1f, %.3f\n", what,
            (int)r->system.n_atoms, (int)l->n_slots, (int)l->n_chunks, (double)f.outer / r->system.n_atoms, (double)f.inside / (double)f.outer,
            (double)computed / r->system.n_atoms, (double)f.inside / (double)computed);
    if (strcmp(what, "water")) return;
    // the design's figures for bulk water at this radius and cut-off are 295 and 0.519; a small box has more blocks that are not full
    TEST_TRUE((double)f.outer / r->system.n_atoms < 330);
    TEST_TRUE((double)f.inside / (double)f.outer > 0.47);
}

static void expect_right(const char *what, rig *r)
{
    mds_device *d;
    peeked_list list, again;
    pair_set    pairs = {0};
    faults      f = {0};
    mds_state   other = {0};
    mds_poll    poll;

    r->every = r->params.cut_lj <= 0;
    TEST_OK(backend->open(&r->system, &r->params, 1, "octet", &d));
    TEST_OK(backend->upload(d, whole(r), &r->state));
    TEST_OK(backend->search(d, whole(r)));
    TEST_OK(backend->poll(d, &poll));
    TEST_INT(poll.fault, 0);
    peek_list(d, &list);
    take_list(r, &list, &pairs, &f);
    qsort(pairs.key, pairs.n, sizeof *pairs.key, by_number);
    for (size_t k = 1; k < pairs.n; k++) f.twice += pairs.key[k] == pairs.key[k - 1];
    look_for_all(r, &pairs, &f);
    if (f.twice || f.missing || f.forbidden || f.idle || f.order)
        fprintf(stderr, "%s: %d twice, %d missing, %d forbidden, %d for nothing, %d out of order\n", what, f.twice, f.missing, f.forbidden, f.idle, f.order);
    TEST_INT(f.twice, 0);
    TEST_INT(f.missing, 0);
    TEST_INT(f.forbidden, 0);
    TEST_INT(f.idle, 0);
    TEST_INT(f.order, 0);
    print_figures(what, r, d, &list);

    // the same from another history
    TEST_OK(mds_state_copy(&other, &r->state));
    for (int32_t i = 0; i < r->system.n_atoms; i++) memcpy(other.x[i], r->state.x[(i + 7) % r->system.n_atoms], sizeof other.x[i]);
    TEST_OK(backend->upload(d, whole(r), &other));
    TEST_OK(backend->search(d, whole(r)));
    TEST_OK(backend->upload(d, whole(r), &r->state));
    TEST_OK(backend->search(d, whole(r)));
    peek_list(d, &again);
    expect_same(&list, &again);
    peek_list_free(&list);
    peek_list_free(&again);
    mds_state_free(&other);
    free(pairs.key);
    backend->close(d);
    drop(r);
}

static mds_box octahedron(double a)
{
    return (mds_box){{{a, 0, 0}, {a / 3, a * sqrt(8.0) / 3, 0}, {-a / 3, a * sqrt(2.0) / 3, a * sqrt(6.0) / 3}}};
}

static void every_pair_is_listed_once(void)
{
    const mds_box none = {{{0}}}, cube = {{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}};
    const int32_t many = is_small ? 500 : 1200;
    rig           r;

    r = is_small ? water(600, 0.8, 0.84) : water(3000, 0.9, 0.94);
    expect_right(is_small ? "a little water" : "water", &r);
    r = gas((mds_box){{{25, 0, 0}, {0, 20, 0}, {0, 0, 22}}}, 400, 2.5, 3, 0);
    expect_right("dilute gas", &r);
    r = gas(octahedron(2.9), many, 0.8, 1.0, 0);
    expect_right("octahedron", &r);
    r = gas((mds_box){{{3, 0, 0}, {-1.4, 2.8, 0}, {1.5, -1.3, 2.6}}}, many, 0.8, 1.0, 0);
    expect_right("skewed box", &r);
    r = gas((mds_box){{{1, 0, 0}, {0, 1.1, 0}, {0, 0, 1.2}}}, 100, 0.5, 2.3, 0);
    expect_right("radius of two box edges", &r);
    r = gas(octahedron(1.3), 120, 0.6, 1.4, 0);
    expect_right("radius above the edge of an octahedron", &r);
    r = gas(cube, many, 0.9, 1.0, 400);
    expect_right("an atom that excludes many", &r);
    r = gas(cube, 3, 1.4, 1.5, 0);
    expect_right("three atoms", &r);
    r = gas(none, 1200, 0.8, 1.0, 0);
    for (int32_t i = 0; i < 1200; i += 17) r.state.x[i][i % 3] += i % 2 ? 3e5 : -40.0 * i;
    expect_right("no box, atoms far outside", &r);
    r = gas(none, is_small ? 500 : 2300, 0, 0, 0);
    expect_right("no box, every pair", &r); // a block's entries are more than a window of them
}

// ------------------------------------------------------------------------------------------------------- sums

static void sums_are_those_of_a_loop(void)
{
    static const size_t sizes[] = {0, 1, 7, 31, 32, 33, 2047, 2048, 2049, 4096, 70001, 530000};
    rig                 r = gas((mds_box){{{3, 0, 0}, {0, 3, 0}, {0, 0, 3}}}, 3, 1.4, 1.5, 0);
    mds_device         *d;

    TEST_OK(backend->open(&r.system, &r.params, 1, "octet", &d));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int rows = 1; rows <= 3; rows += 2) {
            const size_t n = sizes[k], size = (size_t)rows * (n + 1);
            int32_t     *data;
            int64_t      total[3];
            size_t       wrong = 0;

            if (is_small && n > 5000) continue;
            TEST_OK(mds_alloc(&data, size, sizeof *data));
            for (size_t i = 0; i < size; i++) data[i] = (int32_t)((i * 2654435761u) >> 12 & 1023); // the last of a row is not counted
            peek_scan(d, rows, n, data, total);
            for (int row = 0; row < rows; row++) {
                int64_t sum = 0;

                for (size_t i = 0; i <= n; i++) {
                    wrong += data[(size_t)row * (n + 1) + i] != sum;
                    if (i < n) sum += (int32_t)((((size_t)row * (n + 1) + i) * 2654435761u) >> 12 & 1023);
                }
                TEST_INT(total[row], sum);
            }
            TEST_INT(wrong, 0);
            mds_free(data);
        }
    // a total beyond what an index holds is seen
    int32_t large[2001];
    int64_t total;
    for (int i = 0; i < 2001; i++) large[i] = INT32_MAX;
    peek_scan(d, 1, 2000, large, &total);
    TEST_INT(total, 2000 * (int64_t)INT32_MAX);
    backend->close(d);
    drop(&r);
}

int main(int argc, char **argv)
{
    TEST_OK(mds_backend_find(argc > 1 ? argv[1] : "emu", &backend));
    is_small = getenv("MDS_SMALL");
    sums_are_those_of_a_loop();
    every_pair_is_listed_once();
    return test_end();
}
