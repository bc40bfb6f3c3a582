// SPDX-License-Identifier: Apache-2.0
// The pair stage against the oracle: every LJ rule, modifier, Coulomb form, cut-offs apart, boxes of every shape, no box.
// Each case runs at every instruction set level that this machine has, with one and two threads, with and without an
// inner list; forces, energies and virial are compared, and the force-only kernel with the energy kernel. The GPU backend's levels are its
// pair kernels; what excluded pairs get of the mesh is with its bonded stage; bits of its results must not depend on the order of threads.
#include "backend/backend.h"

#include "base/rng.h"
#include "base/units.h"
#include "stage/poke_list.h"
#include "test.h"

static const mds_backend *backend, *oracle;
#ifdef TEST_EMU
static const char *levels[] = {"octet", "lane", "tile"};
enum { MOST_THREADS = 1, MOST_ATOMS = 900 }; // threads of the host; atoms that the emulation is done with soon
static const bool is_emu = true;
#else
static const char *levels[] = {"generic", "avx2", "avx512"};
enum { MOST_THREADS = 2, MOST_ATOMS = 3000 };
static const bool is_emu = false;
#endif
static double             worst_force, worst_energy, worst_virial; // of the tolerance, for the log

// ------------------------------------------------------------------------------------------------ systems

typedef struct {
    mds_system system;
    mds_state  state;
    mds_params params;
} rig;

static mds_params parameters(double cut, mds_coulomb coulomb)
{
    return (mds_params){.deterministic = true,
                        .dt = 0.001,
                        .coulomb = coulomb,
                        .lj_modifier = MDS_LJ_SHIFT,
                        .coulomb_shift = true,
                        .cut_lj = cut,
                        .cut_q = cut,
                        .lj_switch = 0.8 * cut,
                        .rf_dielectric = 78,
                        .list_radius = cut + 0.1,
                        .prune_radius = cut + 0.03,
                        .list_interval = 20,
                        .split = MDS_SPLIT_GAUSSIAN,
                        .split_shape = 3.12 / cut,
                        .grid = {24, 24, 24},
                        .order = 4,
                        .constraint_tolerance = 1e-10};
}

/// Systems are to be small and cases few, every kernel in one: the thread sanitizer watches.
static bool small(void)
{
    return getenv("MDS_SMALL") != NULL;
}

static rig made(const char *name, int32_t n, double cut, mds_coulomb coulomb)
{
    const int32_t most = small() ? 700 : MOST_ATOMS;
    rig           r = {.params = parameters(cut, coulomb)};

    if (n > most) n = most;
    TEST_OK(mds_make(name, n, 7, &r.system, &r.state));
    TEST_OK(mds_system_freeze(&r.system));
    return r;
}

static void drop(rig *r)
{
    mds_system_free(&r->system);
    mds_state_free(&r->state);
}

enum { RULE_GEOMETRIC, RULE_LORENTZ, RULE_NBFIX, RULE_C4 };

/// A fluid of four kinds of atom on a shaken lattice of about 0.36 nm that fits the box, some bonded neighbours excluded,
/// atoms scattered over periodic images.
static rig fluid(mds_box box, int rule, double cut, mds_coulomb coulomb)
{
    static const double sigma[4] = {0.30, 0.27, 0.33, 0.25}, epsilon[4] = {0.6, 0.3, 1.0, 0.1};
    rig                 r = {.params = parameters(cut, coulomb)};
    int32_t             n[3], residue, i, j, k, atom = 0;

    for (k = 0; k < 3; k++) n[k] = (int32_t)(box.a[k][k] / 0.36);
    TEST_OK(mds_system_set_types(&r.system, 4, rule == RULE_C4));
    for (i = 0; i < 4; i++)
        for (j = 0; j <= i; j++) {
            double s = 0.5 * (sigma[i] + sigma[j]), e = sqrt(epsilon[i] * epsilon[j]), c6, c12;

            if (rule == RULE_GEOMETRIC) s = sqrt(sigma[i] * sigma[j]);
            if (rule >= RULE_NBFIX && i != j) s *= 0.9 + 0.05 * j, e *= 1.4;
            c6 = 4 * e * pow(s, 6);
            c12 = c6 * pow(s, 6);
            if (rule == RULE_NBFIX && i == 3) c6 = c12 = 0;
            mds_system_set_lj(&r.system, i, j, c6, c12);
            if (rule == RULE_C4) r.system.c4[4 * i + j] = r.system.c4[4 * j + i] = 0.002 * (i + j);
        }
    TEST_OK(mds_system_add_residue(&r.system, "MIX", 1, &residue));
    for (i = 0; i < n[0] * n[1] * n[2]; i++)
        TEST_OK(mds_system_add_atom(&r.system, "X", residue, (i * 7 / 3) % 4, i % 2 ? 0.4 : -0.4, 20, 0, NULL));
    for (i = 0; i + 3 < r.system.n_atoms; i += 3) {
        TEST_OK(mds_system_add_exclusion(&r.system, i, i + 1));
        TEST_OK(mds_system_add_exclusion(&r.system, i, i + 3));
    }
    TEST_OK(mds_system_freeze(&r.system));
    TEST_OK(mds_state_init(&r.state, r.system.n_atoms));
    r.state.box = box;
    for (i = 0; i < n[0]; i++)
        for (j = 0; j < n[1]; j++)
            for (k = 0; k < n[2]; k++, atom++) {
                double u[4], s[3];
                int    d, m;

                mds_uniform4(11, MDS_RNG_MAKE, 0, (uint32_t)atom, u);
                s[0] = (i + 0.3 * u[0]) / n[0] + (double)(atom % 5 - 2);
                s[1] = (j + 0.3 * u[1]) / n[1] + (double)(atom % 3 - 1);
                s[2] = (k + 0.3 * u[2]) / n[2] + (double)(atom % 7 - 3);
                for (d = 0; d < 3; d++)
                    for (m = 0; m < 3; m++) r.state.x[atom][d] += s[m] * box.a[m][d];
            }
    return r;
}

static mds_box cube(double a)
{
    return (mds_box){{{a, 0, 0}, {0, a, 0}, {0, 0, a}}};
}

/// Truncated octahedron of edge a, lower triangular and reduced.
static mds_box octahedron(double a)
{
    return (mds_box){{{a, 0, 0}, {a / 3, a * sqrt(8.0) / 3, 0}, {-a / 3, a * sqrt(2.0) / 3, a * sqrt(6.0) / 3}}};
}

/// No box: atoms of `r` unwrapped as they are, periodicity off.
static void open_up(rig *r)
{
    memset(&r->state.box, 0, sizeof r->state.box);
}

// ------------------------------------------------------------------------------------------------- running

static void run(const mds_backend *be, mds_device *d, const rig *r, mds_work work, mds_frame *frame)
{
    const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = r->system.n_atoms, .n_all = r->system.n_atoms};

    TEST_OK(be->upload(d, &domain, &r->state));
    TEST_OK(be->search(d, &domain));
    TEST_OK(be->begin(d, work));
    TEST_OK(be->pair(d, MDS_HOME, work));
    TEST_OK(be->pair(d, MDS_HALO, work));
#ifdef TEST_EMU
    TEST_OK(be->bonded(d, work)); // excluded pairs
#endif
    TEST_OK(be->finish(d, work));
    TEST_OK(be->observe(d, MDS_FIELD_F, 0));
    TEST_OK(be->collect(d, 0, frame));
    mds_frame_sort(frame);
}

static double rms(const mds_frame *f)
{
    double sum = 0;
    for (int32_t i = 0; i < f->n; i++) sum += mds_dot(f->f[i], f->f[i]);
    return sqrt(sum / f->n);
}

/// Largest difference of a force component.
static double difference(const mds_frame *a, const mds_frame *b)
{
    double most = 0;
    for (int32_t i = 0; i < a->n; i++)
        for (int k = 0; k < 3; k++) {
            const double u = fabs(a->f[i][k] - b->f[i][k]);
            if (!(u <= most)) most = u; // NaN counts
        }
    return most;
}

static void compare(const char *what, const char *level, const mds_frame *got, const mds_frame *want, bool energies)
{
    // Floats: a pair term has a relative error of some 1e-6 (12 powers of 2/r with 1e-7 each), and in a liquid the terms are
    // some 10 times the rms of their sums: 2e-5 of the rms (the requirement is 1e-4). Where one contact outweighs all others
    // its own error counts: positions near 4 nm are rounded by 1.2e-7 nm, 1e-6 of a contact of 0.15 nm, times its power of 13
    const double f_tol = 2e-5 * rms(want) + 1e-5 * want->f_max, f = difference(got, want);
    const int    before = test_failures;
    double       largest = 0;

    TEST_TRUE(f <= f_tol);
    worst_force = fmax(worst_force, f / f_tol);
    if (energies) {
        // sums of terms of both signs, several times their value: the requirement is 1e-5
        const double scale = fabs(want->energy[MDS_EN_COUL]) + fabs(want->energy[MDS_EN_LJ]);

        for (int e = MDS_EN_LJ; e <= MDS_EN_COUL; e++) {
            if (e == MDS_EN_TAIL) continue;
            TEST_NEAR(got->energy[e], want->energy[e], 3e-6 * scale + 1e-6);
            worst_energy = fmax(worst_energy, fabs(got->energy[e] - want->energy[e]) / (3e-6 * scale + 1e-6));
        }
        for (int k = 0; k < 9; k++) largest = fmax(largest, fabs(want->virial[k / 3][k % 3]));
        for (int k = 0; k < 9; k++) {
            // r f of a contact is some 0.3 nm times its force: cancels in the sum like the forces do; required 1e-4
            TEST_NEAR(got->virial[k / 3][k % 3], want->virial[k / 3][k % 3], 2e-5 * largest + 1e-3);
            worst_virial = fmax(worst_virial, fabs(got->virial[k / 3][k % 3] - want->virial[k / 3][k % 3]) /
                                                  (2e-5 * largest + 1e-3));
        }
    }
    if (test_failures != before)
        fprintf(stderr, "  in %s, %s: force off by %.3g (rms %.4g)\n", what, level, f, rms(want));
}

/// Whether a case is for a level: in the emulation, which takes its time, the two kinds of rows take turns, for they share their kernels.
static bool has_turn(int number, size_t level)
{
    return !is_emu || level == 0 || (size_t)(number % 2) == level - 1;
}

/// All levels and threads against the oracle.
static void check(const char *what, rig *r)
{
    const mds_work all = MDS_ENERGY | MDS_VIRIAL;
    static int     number;
    mds_frame      want = {0}, first = {0}, got = {0};
    mds_device    *d;

    TEST_OK(oracle->open(&r->system, &r->params, 1, NULL, &d));
    run(oracle, d, r, all, &want);
    oracle->close(d);
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++)
        for (int threads = 1; threads <= MOST_THREADS; threads++) {
            if (!has_turn(number, level) || backend->open(&r->system, &r->params, threads, levels[level], &d) != MDS_OK) continue;
            run(backend, d, r, all, &got);
            compare(what, levels[level], &got, &want, true);
            run(backend, d, r, 0, &first);
            compare(what, levels[level], &first, &want, false);
            if (!is_emu || number < 6) {
                run(backend, d, r, 0, &got);
                TEST_TRUE(!memcmp(got.f, first.f, (size_t)got.n * sizeof *got.f)); // the same bits again
            }
            backend->close(d);
        }
    number++;
    mds_frame_free(&want);
    mds_frame_free(&first);
    mds_frame_free(&got);
}

// -------------------------------------------------------------------------------------------------- cases

static void liquids(void)
{
    rig r = made("argon", 2000, 0.9, MDS_COULOMB_NONE);

    check("argon", &r);
    r.params.prune_radius = 0; // no inner list
    if (!small()) check("argon, one list", &r);
    drop(&r);
    r = made("water", 2400, 0.9, MDS_COULOMB_PME);
    check("water, Gaussian split", &r);
    r.params.split = MDS_SPLIT_PROLATE;
    r.params.split_shape = 10;
    check("water, prolate split", &r);
    if (small()) {
        drop(&r);
        return;
    }
    r.params.split = MDS_SPLIT_GAUSSIAN;
    r.params.split_shape = 4.3;
    r.params.coulomb_shift = false;
    check("water, steep Gaussian, no shift", &r);
    r.params.coulomb = MDS_COULOMB_REACTION_FIELD;
    check("water, reaction field", &r);
    r.params.rf_dielectric = 0;
    check("water, reaction field, conducting", &r);
    r.params.coulomb = MDS_COULOMB_CUT;
    r.params.coulomb_shift = true;
    check("water, shifted cut-off", &r);
    r.params.coulomb_shift = false;
    check("water, plain cut-off", &r);
    r.params.coulomb = MDS_COULOMB_NONE;
    check("water, no Coulomb", &r);
    drop(&r);
    r = made("salt", 3000, small() ? 0.9 : 1.0, MDS_COULOMB_PME);
    check("salt water", &r);
    drop(&r);
}

static void rules_and_modifiers(void)
{
    static const char *rule_name[] = {"geometric", "Lorentz-Berthelot", "NBFIX", "12-6-4"};
    static const char *modifier_name[] = {"shift", "cut", "switch", "force switch"};
    char               what[80];

    for (int rule = RULE_GEOMETRIC; rule <= RULE_C4; rule++) {
        rig r = fluid(cube(2.6), rule, 0.9, MDS_COULOMB_PME);

        TEST_INT(mds_system_lj_rule(&r.system), rule == RULE_GEOMETRIC ? MDS_LJ_GEOMETRIC
                                                : rule == RULE_LORENTZ ? MDS_LJ_LORENTZ_BERTHELOT
                                                                       : MDS_LJ_MATRIX);
        for (int modifier = MDS_LJ_SHIFT; modifier <= MDS_LJ_FORCE_SWITCH; modifier++) {
            r.params.lj_modifier = (mds_lj_modifier)modifier;
            snprintf(what, sizeof what, "%s, %s", rule_name[rule], modifier_name[modifier]);
            check(what, &r);
            if (small()) continue;
            r.params.cut_lj = 0.75;
            r.params.lj_switch = 0.6;
            snprintf(what, sizeof what, "%s, %s, LJ cut-off shorter", rule_name[rule], modifier_name[modifier]);
            check(what, &r);
            r.params.cut_lj = 0.9;
            r.params.lj_switch = 0.72;
            r.params.cut_q = 0.7;
            snprintf(what, sizeof what, "%s, %s, Coulomb cut-off shorter", rule_name[rule], modifier_name[modifier]);
            check(what, &r);
            r.params.cut_q = 0.9;
        }
        drop(&r);
    }
}

static void take_charges(rig *r)
{
    memset(r->system.charge, 0, (size_t)r->system.n_atoms * sizeof *r->system.charge);
}

/// Whether the list of these parameters is done by the kernel for LJ alone, which knows no charge.
#ifndef TEST_EMU
static bool takes_lj_alone(const rig *r)
{
    mds_frame   frame = {0};
    mds_device *d;

    TEST_OK(backend->open(&r->system, &r->params, 1, NULL, &d));
    run(backend, d, r, 0, &frame);
    const bool alone = peek_lj_alone(d);
    backend->close(d);
    mds_frame_free(&frame);
    return alone;
}
#define TAKES_LJ_ALONE(r, want) TEST_INT(takes_lj_alone(r), want)
#else
#define TAKES_LJ_ALONE(r, want) (void)(want) // one kernel for all of a list
#endif

/// Fluids without charges, of one type and of four by every rule, with every modifier: they have a kernel of their own, where one
/// cut-off and the modifier allow it.
static void lj_fluids(void)
{
    static const char *rule_name[] = {"geometric", "Lorentz-Berthelot", "NBFIX", "12-6-4", "one type"};
    enum { ONE_TYPE = RULE_C4 + 1 };
    char what[80];

    for (int rule = RULE_GEOMETRIC; rule <= ONE_TYPE; rule++) {
        rig r = rule == ONE_TYPE ? made("argon", 2000, 0.9, MDS_COULOMB_NONE) : fluid(cube(2.6), rule, 0.9, MDS_COULOMB_NONE);

        take_charges(&r);
        for (int modifier = MDS_LJ_SHIFT; modifier <= MDS_LJ_FORCE_SWITCH; modifier++) {
            const bool plain = modifier == MDS_LJ_CUT || modifier == MDS_LJ_SHIFT;

            r.params.lj_modifier = (mds_lj_modifier)modifier;
            snprintf(what, sizeof what, "no charges, %s, modifier %d", rule_name[rule], modifier);
            check(what, &r);
            TAKES_LJ_ALONE(&r, plain && rule != RULE_C4);
            r.params.coulomb = MDS_COULOMB_PME; // of nothing; and its cut-off is nobody's
            r.params.cut_q = 0.7;
            snprintf(what, sizeof what, "all charges 0, %s, modifier %d", rule_name[rule], modifier);
            check(what, &r);
            TAKES_LJ_ALONE(&r, plain && rule != RULE_C4);
            r.params.coulomb = MDS_COULOMB_NONE;
            r.params.cut_q = 0.9;
        }
        drop(&r);
    }
}

/// Two ions far apart in a fluid of 2,000 neutral atoms: no cluster but theirs has a charge, and their force must not be lost.
static void one_charge_is_enough(void)
{
    static const mds_coulomb forms[] = {MDS_COULOMB_PME, MDS_COULOMB_CUT, MDS_COULOMB_REACTION_FIELD};
    rig                      r = made("argon", 2000, 0.9, MDS_COULOMB_NONE);
    const int32_t            other = r.system.n_atoms > 1234 ? 1234 : 234;
    const int                along = other == 1234 ? 2 : 1; // where no third atom is in the way

    TAKES_LJ_ALONE(&r, true);
    r.system.charge[17] = 1;
    r.system.charge[other] = -1;
    TAKES_LJ_ALONE(&r, true); // charges without Coulomb
    check("two ions in argon, no Coulomb", &r);
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        r.params.coulomb = forms[form];
        TAKES_LJ_ALONE(&r, false);
        check("two ions in argon", &r);
        for (int k = 0; k < 3; k++) r.state.x[other][k] = r.state.x[17][k] + (k == along ? 0.3 : 0); // near each other
        check("a pair of ions in argon", &r);
    }
    drop(&r);
}

static void boxes(void)
{
    const mds_box skewed = {{{2.4, 0, 0}, {-1.1, 2.3, 0}, {1.0, -1.0, 2.2}}};
    const mds_box flat = {{{7.9, 0, 0}, {0, 1.9, 0}, {0, 0, 2.1}}}, tall = {{{1.9, 0, 0}, {0, 1.9, 0}, {0, 0, 17.3}}};
    rig           r = fluid(octahedron(2.8), RULE_GEOMETRIC, 0.9, MDS_COULOMB_PME);

    check("truncated octahedron", &r);
    drop(&r);
    r = fluid(skewed, RULE_LORENTZ, 0.7, MDS_COULOMB_PME);
    check("triclinic", &r);
    drop(&r);
    // the cut-off just fits, the list radius does not: several images of the same cluster are near
    r = fluid(cube(1.801), RULE_GEOMETRIC, 0.9, MDS_COULOMB_PME);
    r.params.list_radius = 1.2;
    check("box just above twice the cut-off", &r);
    drop(&r);
    r = fluid(octahedron(1.3), RULE_LORENTZ, 0.53, MDS_COULOMB_PME); // width 1.0614
    r.params.list_radius = 1.1;
    check("small octahedron, list wider than the box", &r);
    r.params.cut_lj = r.params.cut_q = 0.64; // above half the width, below half the shortest lattice vector
    r.params.list_radius = 0.8;
    check("small octahedron, cut-off above half its width", &r);
    drop(&r);
    r = fluid(flat, RULE_GEOMETRIC, 0.9, MDS_COULOMB_PME);
    check("flat box", &r);
    drop(&r);
    r = fluid(tall, RULE_GEOMETRIC, 0.9, MDS_COULOMB_PME); // three regions along z
    check("tall box", &r);
    drop(&r);
    if (!small()) {
        r = fluid((mds_box){{{19.6, 0, 0}, {3, 9.9, 0}, {-2, 1, 1.9}}}, RULE_GEOMETRIC, 0.9, MDS_COULOMB_PME);
        check("wide triclinic box of several regions", &r);
        drop(&r);
    }
    // a drop about the corner of a large box that no float divides: every pair across a face has a vector of 100 nm to be rid of
    r = fluid(cube(2.6), RULE_GEOMETRIC, 0.9, MDS_COULOMB_PME);
    for (int32_t i = 0; i < r.state.n_atoms; i++)
        for (int k = 0; k < 3; k++) r.state.x[i][k] -= 2.6 * floor(r.state.x[i][k] / 2.6) + 1.3;
    r.state.box = (mds_box){{{100.0003, 0, 0}, {1.0 / 3, 101.7, 0}, {-0.123456789, 0.987654321, 99.9}}};
    check("drop about the corner of a large box", &r);
    drop(&r);
}

static void without_box(void)
{
    rig     r = fluid(cube(2.6), RULE_GEOMETRIC, 0.9, MDS_COULOMB_CUT);
    int32_t i, k;

    for (i = 0; i < r.state.n_atoms; i++) // back into one image
        for (k = 0; k < 3; k++) r.state.x[i][k] -= 2.6 * floor(r.state.x[i][k] / 2.6);
    open_up(&r);
    check("drop with a cut-off", &r);
    if (small()) {
        drop(&r);
        return;
    }
    for (i = 0; i < r.state.n_atoms; i += 2) r.state.x[i][0] += 1e6; // two drops, half a million diameters apart
    check("two drops far apart", &r);
    r.params.cut_lj = r.params.cut_q = 0;
    r.params.list_radius = r.params.prune_radius = 0;
    r.params.coulomb_shift = false;
    check("two drops far apart, every pair", &r);
    for (i = 0; i < r.state.n_atoms; i += 2) r.state.x[i][0] -= 1e6;
    check("drop, every pair", &r);
    for (i = 0; i < r.state.n_atoms; i += 29)
        for (k = 0; k < 3; k++) r.state.x[i][k] += (i % 2 ? -1e6 : 4e3) * (k + 1);
    check("drop and atoms far outside, every pair", &r);
    r.params.cut_lj = 0.8;
    r.params.lj_modifier = MDS_LJ_CUT;
    check("drop and atoms far outside, LJ cut off", &r);
    drop(&r);
}

/// Three argon atoms' worth of exact numbers: GROMACS 2019.4 #3056, where LJ was cut at the Coulomb cut-off.
static void lj_has_its_own_cutoff(void)
{
    const double sigma = 0.34, epsilon = 0.997;
    rig          r = {.params = parameters(1.2, MDS_COULOMB_CUT)};
    mds_frame    frame = {0};
    mds_device  *d;
    int32_t      residue;

    r.params.cut_lj = 0.9;
    r.params.lj_modifier = MDS_LJ_CUT;
    TEST_OK(mds_system_set_types(&r.system, 1, false));
    mds_system_set_lj(&r.system, 0, 0, 4 * epsilon * pow(sigma, 6), 4 * epsilon * pow(sigma, 12));
    TEST_OK(mds_system_add_residue(&r.system, "AR", 1, &residue));
    for (int i = 0; i < 2; i++) TEST_OK(mds_system_add_atom(&r.system, "AR", residue, 0, 0, 39.948, 18, NULL));
    TEST_OK(mds_system_freeze(&r.system));
    TEST_OK(mds_state_init(&r.state, 2));
    r.state.box = cube(3);
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        if (backend->open(&r.system, &r.params, 1, levels[level], &d) != MDS_OK) continue;
        r.state.x[1][0] = 0.95;
        run(backend, d, &r, MDS_ENERGY | MDS_VIRIAL, &frame);
        TEST_TRUE(frame.energy[MDS_EN_LJ] == 0 && frame.f[0][0] == 0);
        r.state.x[1][0] = 0.40;
        run(backend, d, &r, MDS_ENERGY | MDS_VIRIAL, &frame);
        // values of cases.md c05, five digits
        TEST_NEAR(frame.energy[MDS_EN_LJ], -0.93681, 1e-5);
        TEST_NEAR(frame.f[1][0], -5.54328, 2e-5);
        TEST_NEAR(-2.0 / 3 / 27 * (frame.virial[0][0] + frame.virial[1][1] + frame.virial[2][2]) * MDS_BAR, -0.45456, 1e-5);
        backend->close(d);
    }
    mds_frame_free(&frame);
    drop(&r);
}

static void overlaps_are_finite(void)
{
    static const mds_coulomb forms[] = {MDS_COULOMB_PME, MDS_COULOMB_CUT, MDS_COULOMB_REACTION_FIELD};

    for (int rule = RULE_GEOMETRIC; rule <= RULE_C4; rule++)
        for (int form = 0; form < 3; form++)
            for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
                rig         r = fluid(cube(2.6), rule, 0.9, forms[form]);
                mds_frame   frame = {0};
                mds_device *d;

#ifdef TEST_EMU
                r.params.max_move = 0.01; // forces beyond the fixed-point sums are cut, and that is no fault where an energy is minimised
#endif
                memcpy(r.state.x[10], r.state.x[2], sizeof r.state.x[2]); // not excluded
                memcpy(r.state.x[40], r.state.x[2], sizeof r.state.x[2]);
                r.state.x[40][1] += 1e-5;
                if (has_turn(rule + form, level) && backend->open(&r.system, &r.params, 2, levels[level], &d) == MDS_OK) {
                    run(backend, d, &r, MDS_ENERGY | MDS_VIRIAL, &frame);
                    TEST_TRUE(isfinite(rms(&frame)) && isfinite(frame.energy[MDS_EN_LJ]) &&
                              isfinite(frame.energy[MDS_EN_COUL]) && isfinite(frame.virial[1][1]));
                    TEST_TRUE(fabs(frame.f[40][1]) > 1e6); // and they push
                    TEST_INT(frame.fault, 0);
                    backend->close(d);
                }
                mds_frame_free(&frame);
                drop(&r);
            }
}

#ifdef TEST_EMU
/// What the tuner asks: costs are positive, and after a new start forces have the bits that they had.
static void timing_leaves_no_trace(void)
{
    const mds_domain domain = {.hi = {1, 1, 1}, .dims = {1, 1, 1}, .n_home = 200, .n_all = 200};
    rig              r = made("argon", 200, 0.5, MDS_COULOMB_NONE);
    mds_frame        before = {0}, after = {0};
    mds_device      *d;

    TEST_INT(r.system.n_atoms, 200);
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        double seconds[4] = {-1, -1, -1, -1};

        TEST_OK(backend->open(&r.system, &r.params, 1, levels[level], &d));
        TEST_TRUE(!strcmp(backend->flavour(d), levels[level]));
        run(backend, d, &r, 0, &before);
        TEST_OK(backend->time_pairs(d, &domain, seconds));
        TEST_TRUE(seconds[0] > 0 && seconds[1] >= 0 && seconds[2] > 0 && seconds[3] == 0);
        run(backend, d, &r, 0, &after);
        TEST_TRUE(!memcmp(before.f, after.f, (size_t)before.n * sizeof *before.f));
        backend->close(d);
    }
    mds_frame_free(&before);
    mds_frame_free(&after);
    drop(&r);
}

/// Dynamics cannot go on with forces that do not fit the sums: the fault says so, and names an atom. And what is no number is not hidden.
static void too_large_is_a_fault(void)
{
    rig         r = fluid(cube(2.6), RULE_GEOMETRIC, 0.9, MDS_COULOMB_PME);
    mds_frame   frame = {0};
    mds_device *d;

    memcpy(r.state.x[10], r.state.x[2], sizeof r.state.x[2]);
    r.state.x[10][1] += 1e-3;
    TEST_OK(backend->open(&r.system, &r.params, 1, NULL, &d));
    for (int energy = 0; energy < 2; energy++) {
        run(backend, d, &r, energy ? MDS_ENERGY | MDS_VIRIAL : 0, &frame);
        TEST_INT(frame.fault, MDS_FAULT_RANGE);
        TEST_TRUE(frame.fault_atom == 2 || frame.fault_atom == 10);
    }
    backend->close(d);
    mds_frame_free(&frame);
    drop(&r);
}

/// Forces, energies and virials of some systems, as one number for all their bits.
static uint64_t fingerprint(void)
{
    uint64_t hash = 14695981039346656037u;

    for (int k = 0; k < 3; k++) {
        rig         r = k == 0 ? made("water", 900, 0.9, MDS_COULOMB_PME) : fluid(cube(2.6), k == 1 ? RULE_LORENTZ : RULE_NBFIX, 0.9, MDS_COULOMB_PME);
        mds_frame   frame = {0};
        mds_device *d;

        TEST_OK(backend->open(&r.system, &r.params, 1, NULL, &d));
        for (int energy = 0; energy < 2; energy++) {
            run(backend, d, &r, energy ? MDS_ENERGY | MDS_VIRIAL : 0, &frame);
            const struct {
                const void *data;
                size_t      size;
            } parts[] = {{frame.f, (size_t)frame.n * sizeof *frame.f}, {frame.energy, energy ? sizeof frame.energy : 0}, {frame.virial, energy ? sizeof frame.virial : 0}};
            for (size_t part = 0; part < sizeof parts / sizeof *parts; part++)
                for (size_t i = 0; i < parts[part].size; i++) hash = (hash ^ ((const unsigned char *)parts[part].data)[i]) * 1099511628211u;
        }
        backend->close(d);
        mds_frame_free(&frame);
        drop(&r);
    }
    return hash;
}

/// The same bits whatever the order of threads and blocks: this program again, in other orders.
static void order_does_not_matter(const char *program)
{
    static const char *orders[] = {"EMU_ORDER=forward", "EMU_ORDER=reverse", "EMU_ORDER=random EMU_SEED=1"};
    const uint64_t     want = fingerprint();

    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        char               command[1200];
        unsigned long long got = 0;
        FILE              *other;

        snprintf(command, sizeof command, "%s '%s' emu fingerprint", orders[k], program);
        other = popen(command, "r");
        TEST_TRUE(other && fscanf(other, "%llx", &got) == 1 && got == want);
        if (other) pclose(other);
    }
}
#else
static void unknown_level_is_refused(void)
{
    rig         r = made("argon", 100, 0.5, MDS_COULOMB_NONE);
    mds_device *d;

    TEST_FAILS(backend->open(&r.system, &r.params, 1, "mmx", &d), MDS_E_UNSUPPORTED, "generic");
    setenv("MDS_ISA", "generic", 1);
    TEST_OK(backend->open(&r.system, &r.params, 3, "auto", &d));
    TEST_TRUE(strstr(backend->describe(d), "generic, 3 threads"));
    backend->close(d);
    unsetenv("MDS_ISA");
    drop(&r);
}

#endif

int main(int argc, char **argv)
{
    TEST_OK(mds_backend_find(argc > 1 ? argv[1] : "cpu", &backend));
    TEST_OK(mds_backend_find("ref", &oracle));
#ifdef TEST_EMU
    if (argc > 2) {
        printf("%llx\n", (unsigned long long)fingerprint());
        return test_failures > 0;
    }
    too_large_is_a_fault();
    timing_leaves_no_trace();
    if (!small()) order_does_not_matter(argv[0]);
#endif
    lj_has_its_own_cutoff();
    liquids();
    rules_and_modifiers();
    if (!small()) {
        lj_fluids();
        one_charge_is_enough();
        boxes();
        overlaps_are_finite();
    }
    without_box();
#ifndef TEST_EMU
    unknown_level_is_refused();
#endif
    printf("worst of the tolerance: force %.2g, energy %.2g, virial %.2g\n", worst_force, worst_energy, worst_virial);
    return test_end();
}
