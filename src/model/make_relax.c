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
// a cell is a few nm wide, so that a coordinate is good to 3e-7 nm. Positions themselves are kept in double.
#include "base/rng.h"
#include "base/units.h"
#include "model/make.h"

#include <math.h>

enum { MAX_NEAR = 512 }; // a sphere of 1.1 nm of water holds 190 molecules, of 1.2 nm argon 150

/// What a trial works on: float copies of all molecules and the neighbours of one.
typedef struct {
    float   *x[MDS_MAKE_SITES][3]; // [n] nm, wrapped so that site 0 is in the cell
    float    edge, cut2, rf_k, rf_c, reach2;
    float    c6[MDS_MAKE_SPECIES][MDS_MAKE_SPECIES], c12[MDS_MAKE_SPECIES][MDS_MAKE_SPECIES];
    float   *r2; // [n] squared distances of sites 0
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

/// Gather the neighbours of molecule i, at the image nearest to its site 0 at `centre`.
static void gather(bath *b, const mds_make_cell *cell, int32_t i, const float centre[3])
{
    const float   edge = b->edge, half = edge / 2;
    const int32_t n = cell->n;
    const float  *MDS_RESTRICT x = b->x[0][0], *MDS_RESTRICT y = b->x[0][1], *MDS_RESTRICT z = b->x[0][2];
    float *MDS_RESTRICT r2 = b->r2;

    for (int32_t j = 0; j < n; j++) {
        const float dx = half - fabsf(half - fabsf(x[j] - centre[0]));
        const float dy = half - fabsf(half - fabsf(y[j] - centre[1]));
        const float dz = half - fabsf(half - fabsf(z[j] - centre[2]));

        r2[j] = dx * dx + dy * dy + dz * dz;
    }
    b->n_near = 0;
    for (int32_t j = 0; j < n; j++) {
        const int32_t a = cell->species[i], c = cell->species[j];
        const int     m = b->n_near;
        int           k, s;

        if (r2[j] >= b->reach2 || j == i || m == MAX_NEAR) continue;
        for (k = 0; k < 3; k++) {
            const float d = b->x[0][k][j] - centre[k], shift = d > half ? -edge : d < -half ? edge : 0;

            for (s = 0; s < MDS_MAKE_SITES; s++) b->near_x[s][k][m] = b->x[s][k][j] + shift;
        }
        for (s = 0; s < MDS_MAKE_SITES; s++) b->near_q[s][m] = (float)cell->molecule[c].charge[s];
        b->near_c6[m] = b->c6[a][c];
        b->near_c12[m] = b->c12[a][c];
        b->n_near++;
    }
}

/// Energy of one molecule with its gathered neighbours, kJ/mol.
static double energy_of(const bath *b, const mds_make_molecule *molecule, const float x[MDS_MAKE_SITES][3])
{
    float  e[MAX_NEAR], in[MAX_NEAR];
    double sum = 0;
    int    m, s, t;

    for (m = 0; m < b->n_near; m++) {
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

            for (m = 0; m < b->n_near; m++) {
                const float dx = nx[m] - x[s][0], dy = ny[m] - x[s][1], dz = nz[m] - x[s][2];
                const float r2 = dx * dx + dy * dy + dz * dz + 1e-6f;

                e[m] += q * nq[m] * (1 / sqrtf(r2) + b->rf_k * r2 - b->rf_c);
            }
        }
    }
    for (m = 0; m < b->n_near; m++) sum += (double)(e[m] * in[m]);
    return sum;
}

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

static void to_float(const double x[MDS_MAKE_SITES][3], const double centre[3], const float image[3],
                     float out[MDS_MAKE_SITES][3])
{
    int s, k;

    for (s = 0; s < MDS_MAKE_SITES; s++)
        for (k = 0; k < 3; k++) out[s][k] = (float)(x[s][k] - centre[k]) + image[k];
}

/// One trial of molecule i; true if it was accepted.
static bool trial(bath *b, mds_make_cell *cell, int32_t i, double step, double beta, const double *u)
{
    const mds_make_molecule *molecule = &cell->molecule[cell->species[i]];
    const float              image[3] = {b->x[0][0][i], b->x[0][1][i], b->x[0][2][i]};
    double                   moved[MDS_MAKE_SITES][3], cost;
    float                    old[MDS_MAKE_SITES][3], new[MDS_MAKE_SITES][3];

    gather(b, cell, i, image);
    trial_move(cell->x[i], u, step, moved);
    to_float(cell->x[i], cell->x[i][0], image, old);
    to_float(moved, cell->x[i][0], image, new);
    cost = energy_of(b, molecule, new) - energy_of(b, molecule, old);
    if (cost > 0 && u[5] >= exp(-beta * cost)) return false;
    for (int s = 0; s < MDS_MAKE_SITES; s++)
        for (int k = 0; k < 3; k++) cell->x[i][s][k] = moved[s][k];
    copy_to_bath(b, i, cell->x[i]);
    return true;
}

static mds_status bath_init(bath *b, const mds_make_cell *cell, double cut, double max_step)
{
    int s, k, a, c;

    b->edge = (float)cell->edge;
    b->cut2 = (float)(cut * cut);
    b->reach2 = (float)((cut + 1.8 * max_step) * (cut + 1.8 * max_step)); // a step is at most sqrt(3) max_step long
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
    for (s = 0; s < MDS_MAKE_SITES; s++)
        for (k = 0; k < 3; k++) MDS_TRY(mds_alloc(&b->x[s][k], (size_t)cell->n, sizeof(float)));
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

    MDS_TRY(mds_alloc(&b, 1, sizeof *b));
    MDS_TRY_GOTO(bath_init(b, cell, cut, max_step));
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
        float       x[MDS_MAKE_SITES][3];

        gather(b, cell, i, image);
        to_float(cell->x[i], cell->x[i][0], image, x);
        *energy += 0.5 * energy_of(b, &cell->molecule[cell->species[i]], x) / cell->n;
    }
fail:
    for (s = 0; s < MDS_MAKE_SITES; s++)
        for (k = 0; k < 3; k++) mds_free(b->x[s][k]);
    mds_free(b->r2);
    mds_free(b);
    return status;
}
