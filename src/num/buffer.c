// SPDX-License-Identifier: Apache-2.0
// How far the pair lists must reach: the buffer from a tolerance of the energy [pall2013; the GROMACS manual's Verlet buffer].
//
// A pair that was beyond cut-off + buffer when a list was made may have come within the cut-off before the next one. With
// displacements along the pair that are Gaussian of variance s^2, and a surface at the cut-off that is flat on the scale of s, the
// energy that is missing per atom is, summed over kinds of pairs,
//     E(buffer) = 2 pi rc^2 N_a rho_b / N  integral_0^inf |U(rc - h)| Q((buffer + h)/s) dh,   Q the normal tail,
// U the pair energy below that at the cut-off, the Coulomb part with the mean charges of the kind. It appears at once
// when the list is made anew, so E over the life of the list is a drift, in kJ/mol/ps/atom. Kinds: heavy and light
// (hydrogens: mds_is_light), because the light ones go far but feel little at the cut-off.
//
// Displacements. Heavy atoms fly straight, s = speed t: an upper bound. Light ones are bound to heavy ones and turn
// back: an Ornstein-Uhlenbeck process, s^2 = 2 speed^2 tau^2 (t/tau - 1 + exp(-t/tau)), tau = 15 fs, reproduces what was
// measured for protein and TIP3P water at 300 K: 0.0090, 0.0164, 0.0275, 0.034 nm after 8, 16, 40, 80 fs (the
// model: 0.0084, 0.0155, 0.032, 0.051). Speeds are those of the constrained motion (engine/params.c).
//
// Depth: how far below the cut-off a pair's force is still under a bound, for the largest charges of its kind.
#include "num/num.h"

#include "base/units.h"

#include <math.h>

#define TAU 0.015    // ps
#define STEP 2e-4    // nm: of the integral and of the search for a depth
#define DEEPEST 0.25 // of the cut-off: nothing is said below

static double sigma(const mds_buffer_system *s, int kind, double t)
{
    const double heavy = s->speed[0] * t, x = t / TAU, light = s->speed[1] * TAU * sqrt(2 * (x - 1 + exp(-x)));
    const double a = kind == 2 ? light : heavy, b = kind == 0 ? heavy : light;

    return sqrt(a * a + b * b);
}

/// Energy and force of a pair at r, those of its kind's mean or strongest one; Coulomb in its short-range form.
static double pair_at(const mds_buffer_system *s, double qq, const double lj[2], double r, double *force)
{
    const mds_short *c = s->coulomb;
    const double     t = c->cut > 0 ? r / c->cut : 0, x = 2 * t * t - 1, r6 = pow(r, -6);
    double           energy = 0, p = 0, f = 0;
    int              k;

    *force = 0;
    if (qq != 0 && t <= 1) {
        for (k = c->degree_pot; c->cut > 0 && k >= 0; k--) p = p * x + c->pot_centred[k];
        for (k = c->degree_force; c->cut > 0 && k >= 0; k--) f = f * x + c->force_centred[k];
        energy = MDS_COULOMB * qq * (1 / r - (c->cut > 0 ? p / c->cut : 0));
        *force = MDS_COULOMB * qq * fabs(1 / (r * r) - (c->cut > 0 ? r * f / pow(c->cut, 3) : 0));
    }
    if (r > s->cut_lj) return energy;
    *force += fabs(12 * lj[1] * r6 * r6 - 6 * lj[0] * r6) / r;
    return energy + lj[1] * r6 * r6 - lj[0] * r6;
}

/// Pairs of the kind per atom of the system, as a share of all its neighbours; each pair counted once.
static double share_of(const mds_buffer_system *s, int kind)
{
    return 0.5 * (kind == 1 ? 2 * s->share[0] * s->share[1] : s->share[kind / 2] * s->share[kind / 2]);
}

static double normal_tail(double z)
{
    return 0.5 * erfc(z * sqrt(0.5));
}

double mds_buffer_depth(const mds_buffer_system *s, int kind, double bound)
{
    double h, force;

    for (h = 0; h < DEEPEST * s->cut; h += STEP) {
        (void)pair_at(s, s->qq_most[kind], s->lj_most[kind], s->cut - h, &force);
        if (!(force <= bound)) break;
    }
    return fmax(h - 2 * STEP, 0);
}

double mds_buffer_error(const mds_buffer_system *s, double buffer, double t)
{
    double total = 0;
    int    kind;

    for (kind = 0; kind < 3; kind++) {
        const double width = sigma(s, kind, t);
        double       force, h, sum = 0;

        if (!(width > 0) || share_of(s, kind) <= 0) continue;
        const double edge = pair_at(s, s->qq_mean[kind], s->lj_mean[kind], s->cut, &force);
        for (h = 0.5 * STEP; h < DEEPEST * s->cut; h += STEP) {
            const double tail = normal_tail((buffer + h) / width);

            if (tail < 1e-40) break;
            sum += fabs(pair_at(s, s->qq_mean[kind], s->lj_mean[kind], s->cut - h, &force) - edge) * tail * STEP;
        }
        total += 4 * MDS_PI * s->cut * s->cut * s->density * share_of(s, kind) * sum;
    }
    return total;
}

double mds_buffer_misses(const mds_buffer_system *s, double buffer, double t)
{
    double total = 0;
    int    kind;

    for (kind = 0; kind < 3; kind++) {
        const double width = sigma(s, kind, t), z = (buffer + s->depth[kind]) / width, r = s->cut - s->depth[kind];

        if (!(width > 0)) continue; // else: the integral of the tail from z on
        total += 4 * MDS_PI * r * r * s->density * share_of(s, kind) * width *
                 (exp(-0.5 * z * z) / sqrt(2 * MDS_PI) - z * normal_tail(z));
    }
    return total * s->n_atoms;
}

double mds_buffer_for(const mds_buffer_system *s, double t, double period, double tolerance)
{
    double lo = 0, hi = s->cut;
    int    k;

    if (mds_buffer_error(s, 0, t) <= tolerance * period) return 0;
    for (k = 0; k < 24; k++) {
        const double middle = 0.5 * (lo + hi);

        if (mds_buffer_error(s, middle, t) > tolerance * period)
            lo = middle;
        else
            hi = middle;
    }
    return hi;
}

/// The outer buffer: within the tolerance, and the guard seldom asks for a list before its time.
static double outer_buffer(const mds_buffer_system *s, double t, double tolerance)
{
    double buffer = mds_buffer_for(s, t, t, tolerance);

    while (buffer < s->cut && mds_buffer_misses(s, buffer, t) > 0.01) buffer += 0.001;
    return fmax(buffer, 0.01);
}

/// The inner buffer t ps before or after the moment that it is made for. The largest ways of all atoms must stay below it (copy.c):
/// about sqrt(2 ln N) + 2 widths of a component, the 2 for three components and for hydrogens that turn faster than others.
static double inner_buffer(const mds_buffer_system *s, double t, double period, double tolerance)
{
    const double z = sqrt(2 * log(fmax(s->n_atoms, 2))) + 2, heavy = z * s->speed[0] * t, light = z * s->speed[1] * t;
    double       buffer = fmax(mds_buffer_for(s, t, period, tolerance), 0.005);

    if (s->share[0] > 0) buffer = fmax(buffer, 2 * heavy - s->depth[0]);
    if (s->share[0] > 0 && s->share[1] > 0) buffer = fmax(buffer, heavy + light - s->depth[1]);
    if (s->share[1] > 0) buffer = fmax(buffer, 2 * light - s->depth[2]);
    return buffer;
}

/// The inner list is made for halfway to the next pruning. Atoms do not fly straight until then: at the end they are as far from
/// where they were expected as from where they were after this share of the interval (measured, decision 005).
#define FORESIGHT 0.65

/// Costs in core cycles an atom, measured with avx512 on DHFR (benchmarks/results/2026-12-01-lists.md): a search and a pruning with an outer
/// radius of 1.08 nm, the kernel with an inner one of 0.945 nm. The first number of a pair is there whatever the list holds, the other
/// goes with its tiles: with the density, and lists reach as far as clusters of four atoms are wide.
static const double search_cost[2] = {450, 530}, prune_cost[2] = {150, 210}, kernel_cost = 680;
#define WATER 100.0 // 1/nm^3
#define WIDE 0.35   // nm: of a cluster there

/// Tiles of a list of that radius over those of a list of `reference` in water.
static double tiles(const mds_buffer_system *s, double radius, double reference)
{
    const double wide = WIDE * cbrt(WATER / s->density);

    return s->density / WATER * pow((radius + wide) / (reference + WIDE), 3);
}

/// Prunings of a list that lives for n steps. The one at the search, which is not made for later, holds half as long as the others.
static int prunings(int n, int every)
{
    const int first = (every + 1) / 2;

    return 1 + (n > first ? (n - first + every - 1) / every : 0);
}

void mds_buffer_choose(const mds_buffer_system *s, double dt, double tolerance, const mds_buffer_choice *given,
                       mds_buffer_choice *out)
{
    static const int interval[] = {4, 5, 10, 20, 25, 50, 100}; // checkpoints fall on searches: round numbers of steps
    double           best = HUGE_VAL;
    size_t           k;
    int              every;

    for (k = 0; k < (given->list_interval > 0 ? 1 : sizeof interval / sizeof *interval); k++) {
        const int    n = given->list_interval > 0 ? given->list_interval : interval[k];
        const double outer = given->outer > 0 ? given->outer : outer_buffer(s, n * dt, tolerance);
        const double lists = tiles(s, s->cut + outer, 1.08);
        const double search = search_cost[0] + search_cost[1] * lists, prune = prune_cost[0] + prune_cost[1] * lists;

        for (every = 1; every <= 12; every++) {
            const double inner = fmin(inner_buffer(s, FORESIGHT * every * dt, every * dt, tolerance), outer);
            const double cost = (search + prune * prunings(n, every)) / n + kernel_cost * tiles(s, s->cut + inner, 0.945);

            if (cost >= best) continue;
            best = cost;
            *out = (mds_buffer_choice){.list_interval = n, .prune_interval = every, .outer = outer, .inner = inner};
        }
    }
}
