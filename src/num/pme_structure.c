// SPDX-License-Identifier: Apache-2.0
// How the charges of a system are arranged, as far as the force error of a mesh depends on it (pme_error.c).
//
// Two facts about a start. First the structure factor S(k) = <|sum q e^ikx|^2>/<sum q^2>: how much of the
// charges a wave finds. Second how crowded they are, C = <density of q^2 about a charge>/<density of q^2>, the
// first mean weighted with the charge's q^2: a charge is hurt by the charges near it, so water between lipid
// or vacuum has the error of water and not that of the same charges spread over the box.
//
// Both are measured in balls about charges that are drawn with a probability proportional to q^2, the weight
// with which they are hurt. In a ball the charges, tapered by W = (1 - r^2/R^2)^2, are summed over waves on a
// line in a random direction. Waves of the whole box would do for a small box of liquid; but in a box tiled
// from a smaller one most of them find nothing and a few find all. A ball of more than one tile's half sees
// peaks as wide as its waves are apart, so that their mean is a liquid's again. The taper's own spectrum is
// narrow enough: the few per mille that water has in long waves are found. The cost does not depend on the
// number of atoms, but for sorting them into cells once.
//
// Draws follow a fixed rule: the same start, the same bits.
#include "num/num.h"

#include "base/rng.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

enum { BALLS = 400, LANES = 16 };

static const double ball_radius = 1.6, crowd_radius = 0.8; // nm
static const double cell_sites = 20;                       // charges a cell

// -------------------------------------------------------------------------------------------------- cells

typedef struct {
    double x[3], q;
} site;

/// Charges sorted into cells of the box.
typedef struct {
    double   inv[3][3], reach[3]; // of a ball, in cells
    int32_t  n[3], n_sites, *start; // [cells + 1]
    site    *all;
    double  *below; // [sites + 1] sum of q^2 before a site
} cells;

static void free_cells(cells *c)
{
    mds_free(c->start);
    mds_free(c->all);
    mds_free(c->below);
}

/// Cell of a point, and the point within the box.
static int32_t cell_of(const cells *c, const mds_box *box, const double x[3], double wrapped[3])
{
    int32_t cell = 0;
    int     a, k;

    for (a = 0; a < 3; a++) wrapped[a] = 0;
    for (k = 0; k < 3; k++) {
        double  s = x[0] * c->inv[0][k] + x[1] * c->inv[1][k] + x[2] * c->inv[2][k];
        int32_t at;

        s -= floor(s);
        if (!(s >= 0 && s < 1)) s = 0; // rounding, or no number
        at = (int32_t)(s * c->n[k]);
        cell = cell * c->n[k] + (at < c->n[k] ? at : c->n[k] - 1);
        for (a = 0; a < 3; a++) wrapped[a] += s * box->a[k][a];
    }
    return cell;
}

static mds_status sort_cells(int32_t n, const double (*x)[3], const double *charge, const mds_box *box, cells *c)
{
    const double edge = cbrt(mds_box_volume(box) * cell_sites / c->n_sites);
    int32_t      i, count = 1, sum = 0;
    int          k;

    mds_box_inverse(box, c->inv);
    for (k = 0; k < 3; k++) {
        const double height = 1 / sqrt(pow(c->inv[0][k], 2) + pow(c->inv[1][k], 2) + pow(c->inv[2][k], 2));

        c->n[k] = (int32_t)fmin(512, fmax(1, height / edge));
        c->reach[k] = ball_radius / height * c->n[k];
        count *= c->n[k];
    }
    MDS_TRY(mds_alloc(&c->start, (size_t)count + 2, sizeof *c->start));
    MDS_TRY(mds_alloc(&c->all, (size_t)c->n_sites, sizeof *c->all));
    MDS_TRY(mds_alloc(&c->below, (size_t)c->n_sites + 1, sizeof *c->below));
    memset(c->start, 0, ((size_t)count + 2) * sizeof *c->start);
    for (i = 0; i < n; i++) {
        double wrapped[3];

        if (charge[i] != 0) c->start[cell_of(c, box, x[i], wrapped) + 2]++;
    }
    for (i = 1; i < count + 2; i++) sum = c->start[i] += sum;
    for (i = 0; i < n; i++) {
        site here = {.q = charge[i]};

        if (charge[i] == 0) continue;
        c->all[c->start[cell_of(c, box, x[i], here.x) + 1]++] = here;
    }
    c->below[0] = 0;
    for (i = 0; i < c->n_sites; i++) c->below[i + 1] = c->below[i] + c->all[i].q * c->all[i].q;
    return MDS_OK;
}

// -------------------------------------------------------------------------------------------------- balls

/// What a ball holds. Charges wait until a vector of them is full; phases turn from wave to wave by one complex
/// product. In float: a hundred additions a lane, and the least that is looked for is 1e-3 of the whole.
typedef struct {
    double near; // q^2 in the inner taper, without the centre
    double all;  // sum of (W q)^2
    int    waiting;
    float  phase[LANES], q[LANES]; // of the first wave, rad; W q
    float  re[MDS_PME_WAVES][LANES], im[MDS_PME_WAVES][LANES];
} ball;

static void add_waiting(ball *b)
{
    float re[LANES], im[LANES], c[LANES], s[LANES];
    int   i, k;

    for (i = b->waiting; i < LANES; i++) b->phase[i] = b->q[i] = 0;
    for (i = 0; i < LANES; i++) {
        c[i] = cosf(b->phase[i]);
        s[i] = sinf(b->phase[i]);
        re[i] = b->q[i];
        im[i] = 0;
    }
    for (k = 0; k < MDS_PME_WAVES; k++)
        for (i = 0; i < LANES; i++) {
            const float turned = re[i] * c[i] - im[i] * s[i];

            b->re[k][i] += re[i];
            b->im[k][i] += im[i];
            im[i] = re[i] * s[i] + im[i] * c[i];
            re[i] = turned;
        }
    b->waiting = 0;
}

/// One charge at distance d (nm) from the centre, square r2.
static void add_charge(const double d[3], double r2, double q, const double direction[3], ball *b)
{
    const double u = 1 - r2 / (ball_radius * ball_radius), v = 1 - r2 / (crowd_radius * crowd_radius);

    if (v > 0 && r2 > 0) b->near += q * q * v * v;
    b->all += q * q * u * u * u * u;
    b->phase[b->waiting] = (float)(MDS_PME_WAVE_STEP * mds_dot(d, direction));
    b->q[b->waiting++] = (float)(q * u * u);
    if (b->waiting == LANES) add_waiting(b);
}

static void fill(const cells *c, const mds_box *box, const double centre[3], const double direction[3], ball *b)
{
    int32_t low[3], high[3], at[3], i;
    int     k, a;

    memset(b, 0, sizeof *b);
    for (k = 0; k < 3; k++) {
        const double s = centre[0] * c->inv[0][k] + centre[1] * c->inv[1][k] + centre[2] * c->inv[2][k];

        low[k] = (int32_t)floor(s * c->n[k] - c->reach[k]);
        high[k] = (int32_t)floor(s * c->n[k] + c->reach[k]);
    }
    for (at[0] = low[0]; at[0] <= high[0]; at[0]++)
        for (at[1] = low[1]; at[1] <= high[1]; at[1]++)
            for (at[2] = low[2]; at[2] <= high[2]; at[2]++) {
                double  shift[3] = {-centre[0], -centre[1], -centre[2]};
                int32_t cell = 0;

                for (k = 0; k < 3; k++) { // a small box fills the ball with its images
                    const int32_t image = (int32_t)floor((double)at[k] / c->n[k]);

                    cell = cell * c->n[k] + at[k] - image * c->n[k];
                    for (a = 0; a < 3; a++) shift[a] += image * box->a[k][a];
                }
                for (i = c->start[cell]; i < c->start[cell + 1]; i++) {
                    const double *x = c->all[i].x, d[3] = {x[0] + shift[0], x[1] + shift[1], x[2] + shift[2]};
                    const double  r2 = mds_dot(d, d);

                    if (r2 < ball_radius * ball_radius) add_charge(d, r2, c->all[i].q, direction, b);
                }
            }
    add_waiting(b);
}

/// Draw the b-th ball: its centre from the b-th of equal shares of the sum of q^2 (which lie side by side in space),
/// its direction uniform on the sphere.
static const site *draw(const cells *c, int b, double direction[3])
{
    const uint32_t counter[4] = {(uint32_t)b, 0, 0, MDS_RNG_MESH};
    uint32_t       word[4];
    int32_t        low = 0, high = c->n_sites;
    double         place, r;

    mds_philox(counter, 0, word);
    place = (b + 0x1p-32 * word[0]) / BALLS * c->below[high];
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;

        if (c->below[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    direction[2] = 0x1p-31 * word[1] - 1;
    r = sqrt(fmax(0, 1 - direction[2] * direction[2]));
    direction[0] = r * cos(2 * MDS_PI * 0x1p-32 * word[2]);
    direction[1] = r * sin(2 * MDS_PI * 0x1p-32 * word[2]);
    return &c->all[low];
}

static void measure(const cells *c, const mds_box *box, mds_pme_structure *out)
{
    const double taper = MDS_PI * 32 / 105 * pow(crowd_radius, 3); // int W dV
    double       all = 0, near = 0;
    int          b, k, i;

    for (b = 0; b < BALLS; b++) {
        double      direction[3];
        const site *centre = draw(c, b, direction);
        ball        here;

        fill(c, box, centre->x, direction, &here);
        near += here.near;
        all += here.all;
        for (k = 0; k < MDS_PME_WAVES; k++) {
            double re = 0, im = 0;

            for (i = 0; i < LANES; i++) {
                re += (double)here.re[k][i];
                im += (double)here.im[k][i];
            }
            out->s[k] += re * re + im * im;
        }
    }
    for (k = 0; k < MDS_PME_WAVES; k++) out->s[k] /= all;
    out->s[0] = 0; // of all charges, it exerts no force
    out->crowd = near / BALLS / (c->below[c->n_sites] / mds_box_volume(box) * taper);
}

mds_status mds_pme_look(int32_t n, const double (*x)[3], const double *charge, const mds_box *box,
                        mds_pme_structure *out)
{
    cells      c = {.n_sites = 0};
    mds_status status;
    int32_t    i;

    memset(out, 0, sizeof *out);
    for (i = 0; i < n; i++) c.n_sites += charge[i] != 0;
    if (mds_box_is_none(box) || c.n_sites == 0) return MDS_OK;
    status = sort_cells(n, x, charge, box, &c);
    if (status == MDS_OK) measure(&c, box, out);
    free_cells(&c);
    return status;
}
