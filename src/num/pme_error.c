// SPDX-License-Identifier: Apache-2.0
// How large is the force error of a mesh, before a step is run: and which mesh is the cheapest for an error
// asked for.
//
// A pair of charges feels, instead of the mesh's true force R_q = q 4 pi/q^2 ghat(q) per wave q, what the
// spline mesh gives: a charge is seen at wave k and at its aliases k_s through the spline's spectrum U,
// multiplied by the influence G = 4 pi/k^2 ghat(k) |b(k)|^2, and acts on a charge through k and its aliases
// again [hockney1988, deserno1998, wang2010]:
//
//     Q(k) = sum_s S(k_s) [ |k_s U_s^2 G - R_s|^2 + G^2 U_s^2 sum_{s' != s} |k_s'|^2 U_s'^2 ]
//     <dF^2> = C f^2 (sum q^2)^2/(N V) int d^3k/(2 pi)^3 Q(k) + f^2 (sum q^4/N) 2 sum_d |A_d|^2
//     A_d = int d^3k/(2 pi)^3 G sum_s k_s+d U_s+d U_s S(k_s)            (k over the mesh's first zone)
//
// A_d is the force of a charge on itself, which repeats with the mesh: no mean over many pairs, but the same
// for all. It rules in dilute systems. Analytic differentiation (k_s' on the receiving side), truncation of
// the spectrum by the mesh (R_s), the real influence factors and skewed boxes are all in it; what is left to
// know is how the charges are arranged, and that is measured (pme_structure.c): their structure factor S(k) and how
// crowded they are, C. Both are 1 for independent charges in a uniform box. In a liquid S rises from 1e-3 at long
// waves to 1 near 28/nm, which spares the mesh most of its error, and overshoots: 1.2 near 32/nm and 1.4
// near 50/nm. There the aliases of a mesh of 0.1 to 0.15 nm are, and they make its error. What is left out: that a
// charge, its neighbours and theirs are arranged at once (three at a time), and that real boxes are small.
//
// The Gaussian's force cut off at rc: for r > rc it is A exp(-a (r - rc))/r with a = 2 beta^2 rc and A/rc the force at rc,
// whose spectrum falls like 1/(k^2 + a^2); integrated with S(k) in place of 1 this is Kolafa and Perram's
// estimate [kolafa1992] for charges that screen. The edge-subtracted prolate has nothing beyond rc.
#include "num/num.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

enum { ALIASES = 3, POINTS = 8, SINGLES = 3, NODES = POINTS + SINGLES };

static const double k_reach = 70; // k rc; beyond it the spectrum is below 1e-6 for c >= 6 and taken for 0
static const double least_spacing = 0.025, most_spacing = 0.5; // nm, of a mesh that is chosen

// ------------------------------------------------------------------------------------------------- estimate

/// One direction of the mesh at one phase, aliases 0, 1, -1.
typedef struct {
    double phase[ALIASES];          // from point to point, rad
    double u[ALIASES], u2[ALIASES]; // size of the spline's spectrum, its square
    double b2;                      // |b|^2
    double sum, sum1, sum2;         // of u2, phase u2, phase^2 u2
    double weight;                  // share of the zone
} side;

/// theta: phase from point to point, in (0, pi].
static side side_at(double theta, double weight, int order)
{
    side   s = {.weight = weight};
    double plain = 0;
    int    m;

    for (m = 0; m < ALIASES; m++) {
        const double x = 0.5 * theta + MDS_PI * ((m + 1) % 3 - 1), u = pow(sin(x) / x, order);

        s.phase[m] = 2 * x;
        s.u[m] = fabs(u);
        s.u2[m] = u * u;
        plain += u;
        s.sum += s.u2[m];
        s.sum1 += s.phase[m] * s.u2[m];
        s.sum2 += s.phase[m] * s.phase[m] * s.u2[m];
    }
    s.b2 = order % 2 ? s.u2[0] / (s.sum * s.sum) : 1 / (plain * plain); // as mds_spline_moduli
    return s;
}

/// Quadrature of one direction: the last waves before the edge of the zone one by one, the rest by the
/// midpoint rule.
static int sides(int32_t n, int order, side *s)
{
    const int    singles = n / 2 < SINGLES ? n / 2 : SINGLES;
    const double end =
        (2.0 * (n / 2 - singles) + 1) / n; // of the midpoint rule, in units of pi: it includes half of wave 0
    int count = 0, i;

    for (i = 0; i < POINTS; i++, count++)
        s[count] = side_at(MDS_PI * end * (i + 0.5) / POINTS, end / POINTS, order);
    for (i = n / 2 - singles + 1; i <= n / 2; i++, count++)
        s[count] = side_at(2 * MDS_PI * i / n, (2 * i == n ? 1.0 : 2.0) / n, order);
    return count;
}

typedef struct {
    const mds_split         *split;
    const mds_pme_structure *structure;
} view;

/// S(k): between the waves that were looked at; 1 beyond, and if nobody has looked.
static double arranged(const view *v, double k)
{
    const double t = k / MDS_PME_WAVE_STEP;
    const int    i = (int)fmin(t, MDS_PME_WAVES);

    if (v->structure->crowd <= 0 || i >= MDS_PME_WAVES - 1) return 1;
    return v->structure->s[i] + (t - i) * (v->structure->s[i + 1] - v->structure->s[i]);
}

static void ghat_of(const view *v, double k, double *ghat)
{
    double slope;

    *ghat = 0;
    if (k * v->split->cut < k_reach) mds_split_spectrum(v->split, k, ghat, &slope);
}

/// How phases make waves: k = sum_i phase_i g_i, g_i = n_i times the reciprocal vector i.
typedef struct {
    double g[3][3]; // g_i . g_j, 1/nm^2
    double cell;    // nm^3
    bool   skewed, cube;
} lattice;

static lattice lattice_of(const mds_pme_system *s, const int32_t n[3])
{
    lattice l = {.cell = s->volume / ((double)n[0] * n[1] * n[2])};
    double  inv[3][3], largest = 0;
    int     i, j, a;

    mds_box_inverse(&s->box, inv);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            for (a = 0; a < 3; a++) l.g[i][j] += inv[a][i] * inv[a][j] * n[i] * n[j];
            if (i != j) largest = fmax(largest, fabs(l.g[i][j]));
        }
    l.skewed = largest > 1e-6 * l.g[0][0];
    l.cube = !l.skewed && n[0] == n[1] && n[0] == n[2] &&
             fabs(l.g[0][0] - l.g[1][1]) + fabs(l.g[0][0] - l.g[2][2]) < 1e-6 * l.g[0][0];
    return l;
}

/// What the mesh does wrong: Q summed, and the force of a charge on itself, one vector (in phases) for each
/// direction.
typedef struct {
    double q, self[3][3];
} fault;

/// Add the share of the waves at +- these phases. sign: of the phases along the first two directions.
static void add_wave(const view *v, const lattice *l, const side *const s[3], const int sign[2],
                     double weight, fault *out)
{
    const double xy = 2 * sign[0] * sign[1] * l->g[0][1], xz = 2 * sign[0] * l->g[0][2],
                 yz = 2 * sign[1] * l->g[1][2];
    const side  *x = s[0], *y = s[1], *z = s[2];
    const double all_k = l->g[0][0] * x->sum2 * y->sum * z->sum + l->g[1][1] * x->sum * y->sum2 * z->sum +
                         l->g[2][2] * x->sum * y->sum * z->sum2 + xy * x->sum1 * y->sum1 * z->sum +
                         xz * x->sum1 * y->sum * z->sum1 + yz * x->sum * y->sum1 * z->sum1;
    double ghat, g = 0, sum = 0, seen[ALIASES][ALIASES][ALIASES];
    int    i, j, k, d;

    for (i = 0; i < ALIASES; i++)
        for (j = 0; j < ALIASES; j++)
            for (k = 0; k < ALIASES; k++) {
                const double p = x->phase[i], q = y->phase[j], r = z->phase[k];
                const double k2 = l->g[0][0] * p * p + l->g[1][1] * q * q + l->g[2][2] * r * r + xy * p * q +
                                  xz * p * r + yz * q * r;
                const double u2 = x->u2[i] * y->u2[j] * z->u2[k], length = sqrt(k2);
                double       off;

                ghat_of(v, length, &ghat);
                if (i + j + k == 0)
                    g = 4 * MDS_PI * ghat / k2 * x->b2 * y->b2 * z->b2; // the wave itself comes first
                off = u2 * g - 4 * MDS_PI * ghat / k2;
                seen[i][j][k] = arranged(v, length);
                sum += seen[i][j][k] * (k2 * off * off + g * g * u2 * fmax(0, all_k - k2 * u2));
            }
    out->q += weight * sum;
    for (d = 0; d < 3; d++) { // seen at one alias, acting through the next along d
        const int    up[3] = {d == 0, d == 1, d == 2};
        const double s0 = seen[0][0][0], s1 = seen[up[0]][up[1]][up[2]],
                     s2 = seen[2 * up[0]][2 * up[1]][2 * up[2]];
        const double rest = 0.5 * weight * g * s[0]->u2[0] * s[1]->u2[0] * s[2]->u2[0] / s[d]->u[0];

        for (i = 0; i < 3; i++) {
            const double first = s[d]->u[1] * (s0 * s[i]->phase[i == d] - s1 * s[i]->phase[0]);
            const double second = s[d]->u[2] * (s2 * s[i]->phase[0] - s0 * s[i]->phase[i == d ? 2 : 0]);
            const int    turned = (i < 2 ? sign[i] : 1) * (d < 2 ? sign[d] : 1);

            out->self[d][i] += turned * rest * (first + second);
        }
    }
}

/// Waves of the first zone: mean of Q and of the self force, divided by the volume of a cell.
static fault zone(const view *v, const lattice *l, const int32_t n[3], int order)
{
    side  s[3][NODES];
    fault sum = {.q = 0};
    int   count[3], d, i, j, k, turn;

    for (d = 0; d < 3; d++) count[d] = sides(n[d], order, s[d]);
    for (i = 0; i < count[0]; i++)
        for (j = l->cube ? i : 0; j < count[1]; j++)
            for (k = l->cube ? j : 0; k < count[2]; k++) {
                const int copies = !l->cube || (i == j && j == k) ? 1
                                   : i == j || j == k             ? 3
                                                                  : 6,
                          turns = l->skewed ? 4 : 1;
                const double weight =
                    copies * s[0][i].weight * s[1][j].weight * s[2][k].weight / (turns * l->cell);
                const side *const here[3] = {&s[0][i], &s[1][j], &s[2][k]};

                // octants of a skewed zone differ, opposite ones do not
                for (turn = 0; turn < turns; turn++)
                    add_wave(v, l, here, (int[2]){turn & 1 ? -1 : 1, turn & 2 ? -1 : 1}, weight, &sum);
            }
    return sum;
}

/// Mean square of the force of a unit charge on itself.
static double self2(const fault *f, const lattice *l)
{
    double sum = 0;
    int    d, i, j;

    for (d = 0; d < 3; d++)
        for (i = 0; i < 3; i++)
            for (j = 0; j < 3; j++)
                if (l->skewed || (i == d && j == d))
                    sum += 2 * f->self[d][i] * f->self[d][j] * l->g[i][j]; // others cancel over octants
    if (l->cube) { // the three directions were folded into one another
        double mean = (f->self[0][0] + f->self[1][1] + f->self[2][2]) / 3;

        sum = 6 * mean * mean * l->g[0][0];
    }
    return sum;
}

static double truncation2(const view *v)
{
    const double cut = v->split->cut, beta = v->split->shape, a = 2 * beta * beta * cut;
    const double first = exp(-beta * beta * cut * cut) * 2 * beta / sqrt(MDS_PI) / cut;
    const double force = first + erfc(beta * cut) / (cut * cut); // at rc
    const int    n = 100;
    double       share = 0; // of (2a/pi) int S dk/(a^2 + k^2), with k = a tan
    int          i;

    if (v->split->kind == MDS_NUM_PROLATE) return 0;
    for (i = 0; i < n; i++) {
        const double k = a * tan(0.5 * MDS_PI * (i + 0.5) / n);

        share += arranged(v, k) / n;
    }
    return share * 4 / cut * exp(-a * cut) * (force / first) * (force / first);
}

static double error_of(const mds_pme_system *s, const mds_split *split, const int32_t n[3], int order)
{
    const view    v = {split, &s->structure};
    const lattice l = lattice_of(s, n);
    const fault   f = zone(&v, &l, n, order);
    const double  crowd = fmax(1, s->structure.crowd); // ions far apart still see each other's waves
    const double  q4 = s->sum_q4 > 0 ? s->sum_q4 : s->sum_q2 * s->sum_q2 / s->n_atoms;

    return MDS_COULOMB *
           sqrt((crowd * s->sum_q2 * s->sum_q2 * (truncation2(&v) + f.q) / s->volume + q4 * self2(&f, &l)) / s->n_atoms);
}

double mds_pme_error(const mds_pme_system *s, const mds_pme_choice *c)
{
    mds_split split;
    double    error;

    if (mds_split_init(&split, c->split, c->shape, c->cut, k_reach / c->cut) != MDS_OK) return INFINITY;
    error = error_of(s, &split, c->grid, c->order);
    mds_split_free(&split);
    return error;
}

// --------------------------------------------------------------------------------------------------- choice

static const double point_cost = 14;

/// Core cycles a step that depend on the choice, from measurements of the cpu backend (AVX-512, 24,000 atoms;
/// benchmarks/results/2026-11-30-mesh.md): weights, spread and gather 3 + 5 order^2 an atom (83 at order 4, 128 at 5), transforms and
/// passes over the mesh 14 a point, the pair kernels' polynomial 12 an atom and degree (about 4 + 0.3 c, or
/// 3.5 beta rc, at 1e-6; they have none below 7).
static double cost_of(const mds_pme_system *s, const mds_split *split, int order, double points)
{
    const double degree =
        split->kind == MDS_NUM_PROLATE ? 4 + 0.3 * split->shape : 3.5 * split->shape * split->cut;

    return s->n_atoms * (3.0 + 5 * order * order + 12 * fmax(7, degree)) + point_cost * points;
}

int32_t mds_fft_size(int32_t n)
{
    static const int factor[] = {2, 3, 5, 7};

    for (n = n < 1 ? 1 : n;; n++) {
        int32_t rest = n;
        int     k;

        for (k = 0; k < 4; k++)
            while (rest % factor[k] == 0) rest /= factor[k];
        if (rest == 1) return n;
    }
}

/// Points along the box vectors at this spacing, or those given; FFT sizes if `rounded`.
static double mesh_of(const mds_pme_system *s, const mds_pme_choice *given, int order, double spacing,
                      bool rounded, int32_t n[3])
{
    double points = 1;
    int    k;

    for (k = 0; k < 3; k++) {
        const double want = fmax(order, ceil(mds_norm(s->box.a[k]) / spacing - 1e-9));

        n[k] = given->grid[k] > 0 ? given->grid[k] : want < 4096 ? (int32_t)want : 4096;
        if (rounded && given->grid[k] <= 0) n[k] = mds_fft_size(n[k]);
        points *= n[k];
    }
    return points;
}

static double error_at(const mds_pme_system *s, const mds_pme_choice *given, const mds_split *split,
                       int order, double h, bool rounded)
{
    int32_t n[3];

    mesh_of(s, given, order, h, rounded, n);
    return error_of(s, split, n, order);
}

typedef struct {
    mds_pme_choice choice;
    double         cost;  // INFINITY: nothing meets the target yet
    double         least; // smallest error seen
} found;

/// Try one split and order: the widest spacing that meets the target, if that is cheaper than what was found.
static void try_order(const mds_pme_system *s, const mds_pme_choice *given, double spacing, double target,
                      const mds_split *split, int order, found *best)
{
    const bool fixed = spacing > 0 || (given->grid[0] > 0 && given->grid[1] > 0 && given->grid[2] > 0);
    double     low = fixed ? (spacing > 0 ? spacing : 1) : least_spacing, high = most_spacing, error, points;
    int32_t    n[3];
    int        turn;

    if (!fixed) {
        // as wide as pays: a mesh that costs as much as the best so far must already be good enough
        const double left = best->cost - cost_of(s, split, order, 0);

        if (left <= 0) return;
        if (isfinite(left)) low = fmax(low, cbrt(s->volume * point_cost / left));
        if (low >= high) return;
    }
    error = error_at(s, given, split, order, low, false);
    if (!fixed && error <= target)
        for (turn = 0; turn < 9; turn++) { // to 1 part in 500 of the interval: FFT sizes are further apart
            const double middle = sqrt(low * high), here = error_at(s, given, split, order, middle, false);

            if (here <= target)
                low = middle;
            else
                high = middle;
        }
    error = error_at(s, given, split, order, low, true);
    best->least = fmin(best->least, error);
    points = mesh_of(s, given, order, low, true, n);
    if (error > target || cost_of(s, split, order, points) >= best->cost) return;
    best->cost = cost_of(s, split, order, points);
    best->choice = *given;
    best->choice.split = split->kind;
    best->choice.shape = split->shape;
    best->choice.order = order;
    memcpy(best->choice.grid, n, sizeof n);
    best->choice.error = error;
}

/// Every shape and order that is not given.
static mds_status search(const mds_pme_system *s, const mds_pme_choice *given, double spacing, double target,
                         mds_num_split kind, found *best)
{
    const double first = kind == MDS_NUM_PROLATE ? 6 : 2.2, last = kind == MDS_NUM_PROLATE ? 24 : 5.6,
                 step = kind == MDS_NUM_PROLATE ? 0.5 : 0.1;
    const int n = given->shape > 0 ? 1 : (int)((last - first) / step + 1.5);
    int       i, order;

    for (i = 0; i < n; i++) {
        const double shape =
            given->shape > 0 ? given->shape : (first + i * step) / (kind == MDS_NUM_PROLATE ? 1 : given->cut);
        mds_split split;

        MDS_TRY(mds_split_init(&split, kind, shape, given->cut, k_reach / given->cut));
        for (order = given->order ? given->order : 4; order <= (given->order ? given->order : 8); order++)
            try_order(s, given, spacing, target, &split, order, best);
        mds_split_free(&split);
    }
    return MDS_OK;
}

/// The structure is measured on a sample, and the estimate scatters by 3 % about the measured error (docs/validation.md):
/// where something is left to choose, the choice aims this much below the target.
static const double aim = 0.97;

mds_status mds_pme_choose(const mds_pme_system *s, double target, double spacing, mds_pme_choice *choice)
{
    const bool all_grid = choice->grid[0] > 0 && choice->grid[1] > 0 && choice->grid[2] > 0;
    found      best = {.cost = INFINITY, .least = INFINITY};

    MDS_CHECK(target > 0 && choice->cut > 0 && s->volume > 0, MDS_E_INTERNAL,
              "nothing to choose a mesh from");
    MDS_CHECK(choice->order == 0 || (choice->order >= 4 && choice->order <= 8), MDS_E_INPUT,
              "mesh order %d is not in 4 to 8", (int)choice->order);
    if (choice->shape > 0 && choice->order &&
        (all_grid || spacing > 0)) { // nothing is left to choose: the estimate alone
        mesh_of(s, choice, choice->order, spacing > 0 ? spacing : 1, true, choice->grid);
        choice->error = mds_pme_error(s, choice);
        return MDS_OK;
    }
    MDS_TRY(search(s, choice, spacing, aim * target, choice->split, &best));
    if (!isfinite(best.cost)) MDS_TRY(search(s, choice, spacing, target, choice->split, &best));
    if (!isfinite(best.cost) && choice->split == MDS_NUM_PROLATE && !(choice->shape > 0))
        MDS_TRY(search(s, choice, spacing, target, MDS_NUM_GAUSSIAN, &best));
    MDS_CHECK(isfinite(best.cost), MDS_E_INPUT,
              "no mesh meets a force error of %g kJ/mol/nm%s; the smallest estimate found is %.3g. Ask for "
              "more, or give fewer of split, order and spacing, or a longer cut-off than %g nm",
              target,
              choice->shape > 0 || choice->order || all_grid || spacing > 0 ? " with what is given" : "",
              best.least, choice->cut);
    *choice = best.choice;
    return MDS_OK;
}
