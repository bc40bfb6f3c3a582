// SPDX-License-Identifier: Apache-2.0
// Monte Carlo relaxation of a small cell of rigid molecules: how made systems come to liquid structure.
//
// Why Monte Carlo: it needs energies only, takes any start (a lattice with hydrogens clashing), has no time step to
// blow up and no constraints to solve, and what it converges to is the very distribution that a run at this
// temperature samples, so that pressure and energy start near their means. A trial moves one molecule by a random
// vector and turns it about a random coordinate axis; it is accepted with probability min(1, exp(-dE/kT))
// [metropolis1953]. The step length is tuned to an acceptance of 0.4 during the first half, then kept.
//
// Energy: Lennard-Jones between the sites 0 and Coulomb between all sites with an infinite-dielectric reaction field,
// V = q q (1/r + r^2 / (2 rc^3) - 3 / (2 rc)), both by whole molecules: a pair counts if its sites 0 are
// nearer than rc. At this length of system that is within a few hundred bar of Ewald, which is all that is asked.
//
// Speed: the neighbours of the molecule to move are gathered, shifted to the nearest image, into short float arrays,
// one per coordinate and site, and the loops over them are plain enough for the compiler to vectorise. Float is enough:
// a cell is a few nm wide, so that a coordinate is good to 3e-7 nm. Positions themselves are kept in double. Only molecules
// within the cut-off of where the one is or of where it would go are gathered, and both energies are summed in one pass. The
// loops are compiled for AVX2 too: lanes are independent, sums stay in order and nothing is fused, so the bits are the same.
#include "base/rng.h"
#include "base/units.h"
#include "model/make.h"

#include <math.h>

enum { MAX_NEAR = 512, LANES = 8 }; // a sphere of 1.1 nm of water holds 190 molecules, of 1.2 nm argon 150; a multiple of LANES

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#endif
#define INLINE static inline __attribute__((always_inline)) // into each level

typedef float sites[MDS_MAKE_SITES][3];
struct bath;
typedef double cost_of(struct bath *b, const mds_make_cell *cell, int32_t i, const sites from, const sites to);

/// What a trial works on: float copies of all molecules and the neighbours of one.
typedef struct bath {
    float   *x[MDS_MAKE_SITES][3]; // [n] nm, wrapped so that site 0 is in the cell
    float    edge, cut2, rf_k, rf_c;
    float    c6[MDS_MAKE_SPECIES][MDS_MAKE_SPECIES], c12[MDS_MAKE_SPECIES][MDS_MAKE_SPECIES];
    float    charge[MDS_MAKE_SITES][MDS_MAKE_SPECIES];
    cost_of *cost;
    double   energy;
    bool     one_species; // near_q, near_c6 and near_c12 are always the same
    float   *r2; // [n] squared distances of sites 0, the smaller of two
    int32_t *at; // [n + 1] the molecules gathered
    int      n_near;
    float    near_x[MDS_MAKE_SITES][3][MAX_NEAR], near_q[MDS_MAKE_SITES][MAX_NEAR];
    float    near_c6[MAX_NEAR], near_c12[MAX_NEAR];
} bath;

void mds_make_cell_fill(mds_make_cell *cell, uint64_t seed)
{
    // lattice with the fewest sites >= n among nearly cubic ones
    const int32_t m = (int32_t)ceil(cbrt((double)cell->n) - 1e-9);
    int32_t       d[3] = {m, m, m}, try, i, k;

    for (try = 0; try < 8; try++) {
        const int32_t a = m - (try & 1), b = m - (try >> 1 & 1), c = m + (try >> 2 & 1);

        if (a > 0 && b > 0 && a * b * c >= cell->n && a * b * c < d[0] * d[1] * d[2]) {
            d[0] = a;
            d[1] = b;
            d[2] = c;
        }
    }
    // shuffle the species over the molecules' places, so that ions do not sit side by side
    for (i = cell->n - 1; i > 0; i--) {
        double  u[4];
        int32_t j, kept;

        mds_uniform4(seed, MDS_RNG_MAKE, 0, (uint32_t)i, u);
        j = (int32_t)(u[0] * (i + 1));
        kept = cell->species[i];
        cell->species[i] = cell->species[j];
        cell->species[j] = kept;
    }
    for (i = 0; i < cell->n; i++) {
        const mds_make_molecule *molecule = &cell->molecule[cell->species[i]];
        // empty sites spread evenly: molecule i takes site floor(i sites / n)
        const int32_t site = (int32_t)((int64_t)i * d[0] * d[1] * d[2] / cell->n);
        const int32_t at[3] = {site % d[0], site / d[0] % d[1], site / (d[0] * d[1])};
        double        u[4], axis[4], side[3], norm;

        mds_gauss4(seed, MDS_RNG_MAKE, 1, (uint32_t)i, axis);
        mds_gauss4(seed, MDS_RNG_MAKE, 2, (uint32_t)i, u);
        norm = mds_norm(axis);
        for (k = 0; k < 3; k++) axis[k] /= norm;
        mds_cross(axis, u, side);
        norm = mds_norm(side);
        for (k = 0; k < 3; k++) side[k] /= norm;
        for (k = 0; k < 3; k++) {
            const double centre = (at[k] + 0.5) * cell->edge / d[k];
            const double along = molecule->bond * cos(molecule->angle / 2), out = molecule->bond * sin(molecule->angle / 2);

            cell->x[i][0][k] = centre;
            cell->x[i][1][k] = centre + along * axis[k] + out * side[k];
            cell->x[i][2][k] = centre + along * axis[k] - out * side[k];
        }
    }
}

static void copy_to_bath(bath *b, int32_t i, const double x[MDS_MAKE_SITES][3])
{
    int s, k;

    for (k = 0; k < 3; k++) {
        const double shift = -floor(x[0][k] / b->edge) * b->edge;

        for (s = 0; s < MDS_MAKE_SITES; s++) b->x[s][k][i] = (float)(x[s][k] + shift);
    }
}

INLINE float fold(float d, float half)
{
    return half - fabsf(half - fabsf(d));
}

INLINE int whole_vectors(int n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/// Neighbour m of a molecule of species a is of species c.
INLINE void set_neighbour(bath *b, int m, int32_t a, int32_t c)
{
    for (int s = 0; s < MDS_MAKE_SITES; s++) b->near_q[s][m] = b->charge[s][c];
    b->near_c6[m] = b->c6[a][c];
    b->near_c12[m] = b->c12[a][c];
}

/// Gather what is within the cut-off of site 0 of molecule i, at `from` or at `to`, in the image nearest to `from`.
INLINE void gather(bath *b, const mds_make_cell *cell, int32_t i, const float from[3], const float to[3])
{
    const float   edge = b->edge, half = edge / 2;
    const float   reach2 = b->cut2 + 1e-4f; // more than the rounding of two images
    const int32_t n = cell->n, a = cell->species[i];
    const float  *MDS_RESTRICT x = b->x[0][0], *MDS_RESTRICT y = b->x[0][1], *MDS_RESTRICT z = b->x[0][2];
    float *MDS_RESTRICT   r2 = b->r2;
    int32_t *MDS_RESTRICT at = b->at;
    int                   n_near = 0, k, s;

    for (int32_t j = 0; j < n; j++) {
        const float dx = fold(x[j] - from[0], half), dy = fold(y[j] - from[1], half), dz = fold(z[j] - from[2], half);
        const float ex = fold(x[j] - to[0], half), ey = fold(y[j] - to[1], half), ez = fold(z[j] - to[2], half);
        const float d2 = dx * dx + dy * dy + dz * dz, e2 = ex * ex + ey * ey + ez * ez;

        r2[j] = d2 < e2 ? d2 : e2;
    }
    r2[i] = reach2; // not itself
    for (int32_t j = 0; j < n; j++) {
        at[n_near] = j;
        n_near += r2[j] < reach2;
    }
    b->n_near = n_near;
    for (k = 0; k < 3; k++) {
        float shift[MAX_NEAR];

        for (s = 0; s < MDS_MAKE_SITES; s++) {
            const float *MDS_RESTRICT all = b->x[s][k];
            float *MDS_RESTRICT       near = b->near_x[s][k];

            for (int m = 0; m < n_near; m++) near[m] = all[at[m]];
            for (int m = 0; m < whole_vectors(n_near) && s == 0; m++) {
                const float d = near[m] - from[k];

                shift[m] = d > half ? -edge : d < -half ? edge : 0;
            }
            for (int m = 0; m < whole_vectors(n_near); m++) near[m] += shift[m];
        }
    }
    if (b->one_species) return;
    for (int m = 0; m < n_near; m++) set_neighbour(b, m, a, cell->species[at[m]]);
}

/// Energies of one molecule with each gathered neighbour, 0 beyond the cut-off, kJ/mol: e [n_near, up to whole vectors].
INLINE void energies_of(const bath *b, const mds_make_molecule *molecule, const sites x, float *MDS_RESTRICT e)
{
    const int n = whole_vectors(b->n_near);
    float     in[MAX_NEAR];
    int       m, s, t;

    for (m = 0; m < n; m++) {
        const float dx = b->near_x[0][0][m] - x[0][0], dy = b->near_x[0][1][m] - x[0][1];
        const float dz = b->near_x[0][2][m] - x[0][2], r2 = dx * dx + dy * dy + dz * dz + 1e-6f; // 0 must not trap
        const float inv2 = 1 / r2, inv6 = inv2 * inv2 * inv2;

        in[m] = r2 < b->cut2 ? 1.0f : 0.0f;
        e[m] = inv6 * (b->near_c12[m] * inv6 - b->near_c6[m]);
    }
    for (s = 0; s < molecule->n_sites; s++) {
        const float q = (float)(MDS_COULOMB * molecule->charge[s]);

        if (q == 0) continue;
        for (t = 0; t < MDS_MAKE_SITES; t++) {
            const float *MDS_RESTRICT nx = b->near_x[t][0], *MDS_RESTRICT ny = b->near_x[t][1];
            const float *MDS_RESTRICT nz = b->near_x[t][2], *MDS_RESTRICT nq = b->near_q[t];

            for (m = 0; m < n; m++) {
                const float dx = nx[m] - x[s][0], dy = ny[m] - x[s][1], dz = nz[m] - x[s][2];
                const float r2 = dx * dx + dy * dy + dz * dz + 1e-6f;

                e[m] += q * nq[m] * (1 / sqrtf(r2) + b->rf_k * r2 - b->rf_c);
            }
        }
    }
    for (m = 0; m < n; m++) e[m] *= in[m];
}

/// What moving molecule i costs, kJ/mol; b->energy is what it had.
INLINE double cost_in(bath *b, const mds_make_cell *cell, int32_t i, const sites from, const sites to)
{
    const mds_make_molecule *molecule = &cell->molecule[cell->species[i]];
    float                    old[MAX_NEAR], new[MAX_NEAR];
    double                   before = 0, after = 0;

    gather(b, cell, i, from[0], to[0]);
    energies_of(b, molecule, from, old);
    energies_of(b, molecule, to, new);
    for (int m = 0; m < b->n_near; m++) {
        before += (double)old[m];
        after += (double)new[m];
    }
    b->energy = before;
    return after - before;
}

static double cost_plain(bath *b, const mds_make_cell *cell, int32_t i, const sites from, const sites to)
{
    return cost_in(b, cell, i, from, to);
}

#ifdef WIDE
WIDE static double cost_wide(bath *b, const mds_make_cell *cell, int32_t i, const sites from, const sites to)
{
    return cost_in(b, cell, i, from, to);
}
#endif

/// A moved and turned copy of a molecule. `u` [8]: uniform numbers.
static void trial_move(const double from[MDS_MAKE_SITES][3], const double *u, double step, double to[MDS_MAKE_SITES][3])
{
    const double turn = (2 * u[3] - 1) * step / 0.1; // an arm of 0.1 nm moves as far as the molecule
    const double c = cos(turn), s = sin(turn);
    const int    axis = (int)(3 * u[4]), p = (axis + 1) % 3, q = (axis + 2) % 3;
    double       centre[3];
    int          site, k;

    for (k = 0; k < 3; k++) centre[k] = from[0][k] + (2 * u[k] - 1) * step;
    for (site = 0; site < MDS_MAKE_SITES; site++) {
        double d[3];

        for (k = 0; k < 3; k++) d[k] = from[site][k] - from[0][k];
        to[site][axis] = centre[axis] + d[axis];
        to[site][p] = centre[p] + c * d[p] - s * d[q];
        to[site][q] = centre[q] + s * d[p] + c * d[q];
    }
}

static void to_float(const double x[MDS_MAKE_SITES][3], const double centre[3], const float image[3], sites out)
{
    int s, k;

    for (s = 0; s < MDS_MAKE_SITES; s++)
        for (k = 0; k < 3; k++) out[s][k] = (float)(x[s][k] - centre[k]) + image[k];
}

/// One trial of molecule i; true if it was accepted.
static bool trial(bath *b, mds_make_cell *cell, int32_t i, double step, double beta, const double *u)
{
    const float image[3] = {b->x[0][0][i], b->x[0][1][i], b->x[0][2][i]};
    double      moved[MDS_MAKE_SITES][3], cost;
    sites       old, new;

    trial_move(cell->x[i], u, step, moved);
    to_float(cell->x[i], cell->x[i][0], image, old);
    to_float(moved, cell->x[i][0], image, new);
    cost = b->cost(b, cell, i, old, new);
    if (cost > 0 && u[5] >= exp(-beta * cost)) return false;
    for (int s = 0; s < MDS_MAKE_SITES; s++)
        for (int k = 0; k < 3; k++) cell->x[i][s][k] = moved[s][k];
    copy_to_bath(b, i, cell->x[i]);
    return true;
}

static mds_status bath_init(bath *b, const mds_make_cell *cell, double cut)
{
    int s, k, a, c;

    b->edge = (float)cell->edge;
    b->cut2 = (float)(cut * cut);
    b->rf_k = (float)(0.5 / (cut * cut * cut));
    b->rf_c = (float)(1.5 / cut);
    for (a = 0; a < MDS_MAKE_SPECIES && cell->molecule[a].n_sites; a++)
        for (c = 0; c < MDS_MAKE_SPECIES && cell->molecule[c].n_sites; c++) {
            const double one[2] = {cell->molecule[a].sigma, cell->molecule[a].epsilon};
            const double two[2] = {cell->molecule[c].sigma, cell->molecule[c].epsilon};
            double       c6, c12;

            mds_lj_combine(2, one, two, &c6, &c12);
            b->c6[a][c] = (float)c6;
            b->c12[a][c] = (float)c12;
        }
    for (a = 0; a < MDS_MAKE_SPECIES && cell->molecule[a].n_sites; a++)
        for (s = 0; s < MDS_MAKE_SITES; s++) b->charge[s][a] = (float)cell->molecule[a].charge[s];
    b->one_species = true;
    for (k = 1; k < cell->n; k++) b->one_species &= cell->species[k] == cell->species[0];
    for (k = 0; k < MAX_NEAR && b->one_species; k++) set_neighbour(b, k, cell->species[0], cell->species[0]);
    b->cost = cost_plain;
#ifdef WIDE
    if (__builtin_cpu_supports("avx2")) b->cost = cost_wide;
#endif
    for (s = 0; s < MDS_MAKE_SITES; s++)
        for (k = 0; k < 3; k++) MDS_TRY(mds_alloc(&b->x[s][k], (size_t)cell->n, sizeof(float)));
    MDS_TRY(mds_alloc(&b->at, (size_t)cell->n + 1, sizeof *b->at));
    return mds_alloc(&b->r2, (size_t)cell->n, sizeof(float));
}

mds_status mds_make_cell_relax(mds_make_cell *cell, double temperature, int sweeps, uint64_t seed, double *energy)
{
    const double max_step = 0.06, cut = fmin(0.9, cell->edge / 2);
    const double beta = 1 / (MDS_BOLTZMANN * temperature);
    double       step = 0.02;
    bath        *b = NULL;
    mds_status   status = MDS_OK;
    int          sweep, s, k;
    int32_t      i;

    MDS_CHECK(cell->n <= MAX_NEAR, MDS_E_INTERNAL, "a cell of %d molecules is too large", cell->n);
    MDS_TRY(mds_alloc(&b, 1, sizeof *b));
    MDS_TRY_GOTO(bath_init(b, cell, cut));
    for (i = 0; i < cell->n; i++) copy_to_bath(b, i, cell->x[i]);
    for (sweep = 0; sweep < sweeps; sweep++) {
        int32_t accepted = 0;

        for (i = 0; i < cell->n; i++) {
            double u[8];

            mds_uniform4(seed, MDS_RNG_MAKE, 16 + (uint64_t)sweep, (uint32_t)(2 * i), u);
            mds_uniform4(seed, MDS_RNG_MAKE, 16 + (uint64_t)sweep, (uint32_t)(2 * i + 1), u + 4);
            accepted += trial(b, cell, i, step, beta, u);
        }
        if (sweep < sweeps / 2) step = fmin(max_step, fmax(1e-3, step * (accepted > 0.4 * cell->n ? 1.05 : 0.95)));
    }
    *energy = 0;
    for (i = 0; i < cell->n; i++) {
        const float image[3] = {b->x[0][0][i], b->x[0][1][i], b->x[0][2][i]};
        sites       x;

        to_float(cell->x[i], cell->x[i][0], image, x);
        (void)b->cost(b, cell, i, x, x);
        *energy += 0.5 * b->energy / cell->n;
    }
fail:
    for (s = 0; s < MDS_MAKE_SITES; s++)
        for (k = 0; k < 3; k++) mds_free(b->x[s][k]);
    mds_free(b->r2);
    mds_free(b->at);
    mds_free(b);
    return status;
}
