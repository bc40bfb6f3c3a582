// SPDX-License-Identifier: Apache-2.0
// The mesh in double precision: phases and formulas of mesh.cu, nothing in float; written to be read.
//
//   spread   charges in 64-bit fixed point, 2^-44 of a charge of sqrt(MDS_COULOMB) e a unit: integer sums, so bits do not depend on the
//            schedule; half a million such charges fit on a point
//   FFT      to double, the fixed-point mesh cleared for the next step; cuFFT D2Z
//   solve    waves times influence factors, energy and virial when due
//   FFT      cuFFT Z2D, which may ruin the waves
//   gather   forces from derivatives of the weights
//
// Blocks of 128 threads do 32 atoms, in atom order: first three warps make the weights, a thread an atom and direction, in shared memory
// (which may be indexed by a counter, unlike registers, so that one kernel does every order); then spread deals out columns of points,
// and gather takes a warp an atom, a lane a column. ghat comes from the split's own table, quintics good to 1e-12 (num/split.c), or
// from the Gaussian itself.
#include "mesh.h"
#include "terms.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

enum { MESH_ROW = 3 * MESH_MAX_ORDER + 1, WAVE_SUMS = 7 }; // energy; xx, xy, xz, yy, yz, zz of the virial, times -2
#define MESH_UNITS 17592186044416.0 // 2^44

/// What the kernels get, by value.
typedef struct {
    int                 n[3], half, order;
    unsigned long long *charge;        // [n0 n1 n2] units; 0 between the steps
    double             *real;          // [n0 n1 n2] charge, then potential
    double2            *wave;          // [n0][n1][half]
    const double       *moduli[3];     // [n[k]] |b(m)|^2
    int                 gaussian, n_k;
    double              beta, cut, rate, step; // 1/nm; nm; of the table: rows a 1/nm, rows apart in k rc
    const double      (*spectrum)[3];  // [n_k] ghat and two derivatives by k rc, every 1/rate
    double              background;    // as mesh_view
} double_view;

struct gpu_mesh_double {
    double_view view;
    cufftHandle forward, backward; // 0: none
};

// ------------------------------------------------------------------------------------------------ weights

/// Weights of 32 atoms, in shared memory.
typedef struct {
    double   theta[GPU_BLOCK][MESH_ROW], slope[GPU_BLOCK][MESH_ROW]; // slope: d theta/d w
    unsigned offset[GPU_BLOCK][MESH_ROW];                            // the point's share of the index
} mesh_points;

/// num/spline.c, in place.
static __device__ __forceinline__ void spline(int order, double w, double *theta, double *slope)
{
    int n, k;

    theta[0] = 1 - w;
    theta[1] = w;
    for (n = 3; n <= order; n++) {
        const double scale = 1.0 / (n - 1);

        if (n == order) {
            slope[0] = -theta[0];
            for (k = 1; k < order - 1; k++) slope[k] = theta[k - 1] - theta[k];
            slope[order - 1] = theta[order - 2];
        }
        theta[n - 1] = scale * w * theta[n - 2];
        for (k = n - 2; k > 0; k--) theta[k] = scale * ((w + n - 1 - k) * theta[k - 1] + (k + 1 - w) * theta[k]);
        theta[0] = scale * (1 - w) * theta[0];
    }
}

/// The weights of the block's atoms, by all its threads. A barrier must follow.
static __device__ __forceinline__ void make_points(const gpu_view *p, const double_view *m, mesh_points *points)
{
    const int atom = (int)threadIdx.x % GPU_BLOCK, k = (int)threadIdx.x / GPU_BLOCK, i = (int)blockIdx.x * GPU_BLOCK + atom;
    double    s = 0;
    int       l, j;

    if (k > 2 || i >= p->n_atoms) return;
    for (l = k; l < 3; l++) s += p->x[i][l] * p->control->inverse[l][k];
    s -= floor(s);
    const int    n = mesh_pick(k, m->n[0], m->n[1], m->n[2]), stride = mesh_pick(k, m->n[1] * m->n[2], m->n[2], 1);
    const double u = s >= 0 && s < 1 ? s * n : 0; // 1 after rounding, and not a number, are 0
    const int    cell = min((int)u, n - 1);

    spline(m->order, u - cell, &points->theta[atom][k * m->order], &points->slope[atom][k * m->order]);
    for (j = 0; j < m->order; j++) {
        const int at = cell - (m->order - 1) + j;

        points->offset[atom][k * m->order + j] = (unsigned)((at < 0 ? at + n : at) * stride);
    }
}

// ------------------------------------------------------------------------------------------------- kernels

static __global__ void __launch_bounds__(MESH_THREADS) k_spread_double(gpu_view p, double_view m)
{
    GPU_SHARED(mesh_points, points, [1]);
    const int columns = m.order * m.order;

    if (p.control->tripped) return;
    make_points(&p, &m, points);
    __syncthreads();
    for (int c = (int)threadIdx.x; c < GPU_BLOCK * columns; c += MESH_THREADS) {
        const int of = c / columns, y = m.order + c % columns / m.order, z = 2 * m.order + c % m.order, i = (int)blockIdx.x * GPU_BLOCK + of;

        if (i >= p.n_atoms || p.charge[i] == 0) continue;
        const double   q = p.charge[i] * sqrt(MDS_COULOMB) * MESH_UNITS * points->theta[of][y] * points->theta[of][z];
        const unsigned yz = points->offset[of][y] + points->offset[of][z];
        for (int j = 0; j < m.order; j++)
            atomicAdd(&m.charge[yz + points->offset[of][j]], (unsigned long long)__double2ll_rn(q * points->theta[of][j]));
    }
}

static __global__ void k_convert_double(const gpu_control *c, unsigned long long *charge, double *real, int n)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (c->tripped || i >= n) return;
    real[i] = (double)(long long)charge[i] * (1 / MESH_UNITS);
    charge[i] = 0;
}

/// ghat and k dghat/dk.
static __device__ __forceinline__ void spectrum_of(const double_view *m, double k, double *ghat, double *rise)
{
    if (m->gaussian) {
        const double z = k * k / (4 * m->beta * m->beta);

        *ghat = exp(-z);
        *rise = -2 * z * *ghat;
        return;
    }
    const double  y = fmin(k * m->rate, (double)(m->n_k - 1)); // beyond the table its last value: of the order of the split's own error
    const int     i = min((int)y, m->n_k - 2);
    const double  s = y - i, h = m->step, *a = m->spectrum[i], *b = m->spectrum[i + 1];
    const double  a1 = h * a[1], a2 = 0.5 * h * h * a[2], b1 = h * b[1], b2 = 0.5 * h * h * b[2];
    const double  d = b[0] - a[0] - a1 - a2, e = b1 - a1 - 2 * a2, f = b2 - a2;
    const double  c3 = 10 * d - 4 * e + f, c4 = -15 * d + 7 * e - 2 * f, c5 = 6 * d - 3 * e + f;

    *ghat = a[0] + s * (a1 + s * (a2 + s * (c3 + s * (c4 + s * c5))));
    *rise = y * (a1 + s * (2 * a2 + s * (3 * c3 + s * (4 * c4 + s * 5 * c5))));
}

/// Factor of a wave without the moduli; with the square s2 of its amplitude its terms are added to sum.
static __device__ __forceinline__ double wave_factor(const gpu_control *c, const double_view *m, int i, int j, int l, double s2, double (&sum)[WAVE_SUMS])
{
    const double(*inv)[3] = c->inverse;
    const double k[3] = {2 * MDS_PI * inv[0][0] * i, 2 * MDS_PI * (inv[1][0] * i + inv[1][1] * j),
                         2 * MDS_PI * (inv[2][0] * i + inv[2][1] * j + inv[2][2] * l)};
    const double k2 = mds_dot(k, k);
    double       ghat, rise;

    if (!(k2 > 0)) return 0;
    spectrum_of(m, sqrt(k2), &ghat, &rise);
    const double green = 4 * MDS_PI / (k2 * mds_box_volume(&c->box)), energy = s2 * green * ghat, part = (s2 * green * rise - 2 * energy) / k2;
    sum[0] += energy;
    sum[1] += part * k[0] * k[0] + energy;
    sum[2] += part * k[0] * k[1];
    sum[3] += part * k[0] * k[2];
    sum[4] += part * k[1] * k[1] + energy;
    sum[5] += part * k[1] * k[2];
    sum[6] += part * k[2] * k[2] + energy;
    return green * ghat;
}

/// A thread a wave. Which waves, which signs and why the mean with the opposite one: solve.cu.
static __global__ void __launch_bounds__(MESH_THREADS) k_solve_double(gpu_control *c, double_view m, int due)
{
    GPU_SHARED(double, part, [TERM_WARPS][WAVE_SUMS]);
    const int t = (int)threadIdx.x, at = (int)blockIdx.x * MESH_THREADS + t, i = (int)blockIdx.y;
    double    sum[WAVE_SUMS] = {0, 0, 0, 0, 0, 0, 0};

    if (c->tripped) return;
    if (at < m.n[1] * m.half) {
        const int     j = at / m.half, l = at % m.half, fi = 2 * i < m.n[0] ? i : i - m.n[0], fj = 2 * j < m.n[1] ? j : j - m.n[1];
        const bool    both = l == 0 || 2 * l == m.n[2];
        const double  b2 = m.moduli[0][i] * m.moduli[1][j] * m.moduli[2][l];
        double2      *here = m.wave + ((size_t)i * (size_t)(m.n[1] * m.half) + (size_t)at);
        const double2 s = *here;
        const double  s2 = b2 * (s.x * s.x + s.y * s.y) * (both ? 0.25 : 1.0); // half of a wave for each image, and its opposite comes too
        double        factor = wave_factor(c, &m, fi, fj, l, s2, sum);

        if (both) factor = 0.5 * (factor + wave_factor(c, &m, 2 * i == m.n[0] ? fi : -fi, 2 * j == m.n[1] ? fj : -fj, l, s2, sum));
        *here = make_double2(s.x * factor * b2, s.y * factor * b2);
    }
    if (!due) return;
    const double total = term_block_sum(sum, part), self = blockIdx.x == 0 && i == 0 ? m.background / mds_box_volume(&c->box) : 0;
    const int    k = t < 4 ? 0 : t < 6 ? 1 : 2, l = t < 4 ? t - 1 : t < 6 ? t - 3 : 2;
    if (t == 0) gpu_add_sum_fine(c, GPU_ENERGY + MDS_EN_RECIP, total + self);
    if (t == 0 || t >= WAVE_SUMS) return;
    gpu_add_sum_fine(c, GPU_VIRIAL + 3 * k + l, -0.5 * (k == l ? total + self : total));
    if (k != l) gpu_add_sum_fine(c, GPU_VIRIAL + 3 * l + k, -0.5 * total);
}

static __global__ void __launch_bounds__(MESH_THREADS) k_gather_double(gpu_view p, double_view m, int times)
{
    GPU_SHARED(mesh_points, points, [1]);
    const int lane = (int)threadIdx.x % GPU_WARP, columns = m.order * m.order;

    if (p.control->tripped) return;
    make_points(&p, &m, points);
    __syncthreads();
    for (int of = (int)threadIdx.x / GPU_WARP; of < GPU_BLOCK; of += MESH_THREADS / GPU_WARP) {
        const int i = (int)blockIdx.x * GPU_BLOCK + of;
        double    du[3] = {0, 0, 0}; // dE/du over the charge, u in grid units

        if (i >= p.n_atoms || p.charge[i] == 0) continue; // the warp as a whole
        const double *theta = points->theta[of], *slope = points->slope[of];
        for (int c = lane; c < columns; c += GPU_WARP) {
            const int      y = m.order + c / m.order, z = 2 * m.order + c % m.order;
            const unsigned yz = points->offset[of][y] + points->offset[of][z];
            double         sum = 0, rise = 0;

            for (int j = 0; j < m.order; j++) {
                const double phi = m.real[yz + points->offset[of][j]];

                sum += theta[j] * phi;
                rise += slope[j] * phi;
            }
            du[0] += rise * theta[y] * theta[z];
            du[1] += sum * slope[y] * theta[z];
            du[2] += sum * theta[y] * slope[z];
        }
        for (int k = 0; k < 3; k++) {
            const double all = gpu_sum_warp(du[k]);
            du[k] = all * -sqrt(MDS_COULOMB) * p.charge[i] * m.n[k];
        }
        for (int k = 0; k < 3; k++) { // the inverse of a lower triangular box is lower triangular
            double f = 0;

            for (int l = 0; l <= k; l++) f += du[l] * p.control->inverse[k][l];
            if (lane == k) gpu_add_force_double(&p, p.slot_of[i], k, times * f);
        }
    }
}

// ---------------------------------------------------------------------------------------------------- life

static void forget(gpu_mesh_double *m)
{
    const double_view *v = &m->view;
    const void        *memory[] = {v->charge, v->real, v->wave, v->moduli[0], v->moduli[1], v->moduli[2], v->spectrum};

    for (size_t k = 0; k < sizeof memory / sizeof memory[0]; k++) GPU_NAME(release)(memory[k]);
    if (m->forward) (void)cufftDestroy(m->forward);
    if (m->backward) (void)cufftDestroy(m->backward);
    *m = gpu_mesh_double{};
}

void GPU_NAME(mesh_double_close)(gpu_mesh *m)
{
    if (!m->in_double) return;
    forget(m->in_double);
    mds_free(m->in_double);
    m->in_double = NULL;
}

static mds_status copy_moduli(double_view *v, int k)
{
    double    *b2, *there;
    mds_status status;

    MDS_TRY(mds_alloc(&b2, (size_t)v->n[k], sizeof *b2));
    mds_spline_moduli(v->n[k], v->order, b2);
    status = gpu_copy_in(&there, b2, v->n[k]);
    mds_free(b2);
    MDS_TRY(status);
    v->moduli[k] = there;
    return MDS_OK;
}

static mds_status copy_spectrum(const mds_split *split, double_view *v)
{
    double (*there)[3];

    v->gaussian = split->kind == MDS_NUM_GAUSSIAN;
    v->beta = split->shape;
    v->cut = split->cut;
    if (v->gaussian) return MDS_OK;
    v->n_k = split->n_k;
    v->rate = 1 / split->k_step;
    v->step = split->k_step * split->cut;
    MDS_TRY(gpu_copy_in(&there, split->spectrum, split->n_k));
    v->spectrum = there;
    return MDS_OK;
}

/// All of it anew: parameters of forces change seldom, and speed is not what this is for.
mds_status GPU_NAME(mesh_double_set)(mds_device *d)
{
    const mds_params *p = &d->params;
    const double      points = (double)p->grid[0] * p->grid[1] * p->grid[2];

    if (!d->mesh->in_double) MDS_TRY(mds_alloc(&d->mesh->in_double, 1, sizeof *d->mesh->in_double));
    gpu_mesh_double *m = d->mesh->in_double;
    double_view     *v = &m->view;
    forget(m);
    MDS_CHECK(points < 2147483644.0 && p->grid[0] < 65536, MDS_E_UNSUPPORTED, "a mesh of %d x %d x %d is too large", (int)p->grid[0], (int)p->grid[1],
              (int)p->grid[2]);
    for (int k = 0; k < 3; k++) v->n[k] = p->grid[k];
    v->half = v->n[2] / 2 + 1;
    v->order = p->order;
    v->background = d->mesh->view.background;
    MDS_TRY(gpu_alloc(&v->charge, points));
    MDS_TRY(gpu_alloc(&v->real, points));
    MDS_TRY(gpu_alloc(&v->wave, (size_t)v->n[0] * (size_t)v->n[1] * (size_t)v->half));
    GPU_TRY(cudaMemset(v->charge, 0, (size_t)points * sizeof *v->charge));
    GPU_TRY(cudaMemset(v->real, 0, (size_t)points * sizeof *v->real));
    for (int k = 0; k < 3; k++) MDS_TRY(copy_moduli(v, k));
    MDS_TRY(copy_spectrum(&d->split, v));
    FFT_TRY(cufftPlan3d(&m->forward, v->n[0], v->n[1], v->n[2], CUFFT_D2Z));
    FFT_TRY(cufftPlan3d(&m->backward, v->n[0], v->n[1], v->n[2], CUFFT_Z2D));
    FFT_TRY(cufftSetStream(m->forward, d->mesh_stream));
    FFT_TRY(cufftSetStream(m->backward, d->mesh_stream));
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------- the stage

mds_status GPU_NAME(mesh_double_gather)(mds_device *d, int times, cudaStream_t stream)
{
    GPU_LAUNCH(k_gather_double, (unsigned)(d->view.n_atoms + GPU_BLOCK - 1) / GPU_BLOCK, MESH_THREADS, 0, stream, d->view, d->mesh->in_double->view, times);
    return MDS_OK;
}

mds_status GPU_NAME(mesh_double)(mds_device *d, mds_phase phase, mds_work work)
{
    const bool         all = phase == MDS_MESH_ALL;
    gpu_mesh_double   *m = d->mesh->in_double;
    const double_view *v = &m->view;
    const unsigned     blocks = (unsigned)(d->view.n_atoms + GPU_BLOCK - 1) / GPU_BLOCK;
    const int          n = v->n[0] * v->n[1] * v->n[2], due = (work & (MDS_ENERGY | MDS_VIRIAL)) != 0;
    const dim3         grid((unsigned)(v->n[1] * v->half + MESH_THREADS - 1) / MESH_THREADS, (unsigned)v->n[0]);

    if (all || phase == MDS_SPREAD) GPU_LAUNCH(k_spread_double, blocks, MESH_THREADS, 0, d->mesh_stream, d->view, *v);
    if (all || phase == MDS_FFT) {
        GPU_LAUNCH(k_convert_double, (unsigned)(n + MESH_THREADS - 1) / MESH_THREADS, MESH_THREADS, 0, d->mesh_stream, d->view.control, v->charge,
                   v->real, n);
        FFT_TRY(cufftExecD2Z(m->forward, v->real, v->wave));
    }
    if (all || phase == MDS_SOLVE) GPU_LAUNCH(k_solve_double, grid, MESH_THREADS, 0, d->mesh_stream, d->view.control, *v, due);
    if (all || phase == MDS_IFFT) FFT_TRY(cufftExecZ2D(m->backward, v->wave, v->real));
    if (all || phase == MDS_GATHER) MDS_TRY(GPU_NAME(mesh_double_gather)(d, gpu_slow_times(d, work), d->mesh_stream));
    return MDS_OK;
}

static_assert((int)MESH_THREADS == (int)TERM_THREADS && MESH_THREADS >= 3 * GPU_BLOCK, "sums over a block; a thread an atom and direction");
