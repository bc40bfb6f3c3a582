// SPDX-License-Identifier: Apache-2.0
// Smooth particle-mesh Ewald on the device [essmann1995]: life, tables, the order of the phases. Formulas: docs/theory/mesh.md.
//
//   spread   charges in 32-bit fixed point (spread.cu)
//   FFT      to float, the fixed-point mesh cleared for the next step; cuFFT real to complex
//   solve    waves times influence factors made on the fly, energy and virial when due (solve.cu)
//   FFT      cuFFT complex to real, which may ruin the waves
//   gather   forces from derivatives of the weights, to the sums that all stages share (gather.cu)
//
// With backend.precision = "double" all of it is done by mesh_double.cu instead.
//
// Small meshes go from fixed-point charges to the potential in one block instead (fft.cu); that counts as solve. Transforms as products of
// matrices (dft.cu) are the third way. Without a wish one block does what it is known to be good for; the start-up tuner asks for each
// way and times them (engine/tune.c).
//
// All of it is queued on the mesh's own stream, beside the pair kernels. When the stop word is set the kernels fall through; the
// transforms run on what is there, which does no harm: nothing is spread into a mesh that is not cleared in the same step.
//
// ghat and k dghat/dk come from cubics in k, four points of the split's own function a cell. The cells are 1/16 of 1/rc wide (Gaussian:
// also 1/16 of its width 2 beta, whichever is less), where a cubic through Chebyshev's points is off by h^4/3072 |ghat''''| < 5e-9.
#include "mesh.h"
#include "sizes.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const way_name[] = {"", "cufft", "block", "gemm"}; // of mesh_way
enum { MESH_WAYS = sizeof way_name / sizeof *way_name };

const char *GPU_NAME(mesh_wish)(const char *isa)
{
    const char *word = isa ? strchr(isa, '-') : NULL;

    for (int k = 1; k < MESH_WAYS && word; k++)
        if (!strcmp(word + 1, way_name[k])) return way_name[k];
    return "";
}

/// Ways that there are, the one in use first.
static void name_ways(mds_device *d)
{
    const mesh_view *v = &d->mesh->view;
    size_t           used = (size_t)snprintf(d->ways, sizeof d->ways, "%s", way_name[d->mesh->way]);

    for (int k = 1; k < MESH_WAYS; k++) {
        if (k == (int)d->mesh->way || (k == MESH_BLOCK && !GPU_NAME(mesh_fits)(v, true))) continue;
        if (k == MESH_GEMM && (v->n[0] > MESH_GEMM_MOST || v->n[1] > MESH_GEMM_MOST || v->n[2] > MESH_GEMM_MOST)) continue;
        used += (size_t)snprintf(d->ways + used, sizeof d->ways - used, " %s", way_name[k]);
    }
}

const char *GPU_NAME(ways)(const mds_device *d)
{
    return d->params.coulomb == MDS_COULOMB_PME && !d->params.double_precision ? d->ways : "";
}

mds_status GPU_NAME(mesh_open)(mds_device *d)
{
    const mds_system *s = d->system;

    MDS_TRY(mds_alloc(&d->mesh, 1, sizeof *d->mesh));
    for (int k = 0; k < MESH_WAYS; k++)
        if (!strcmp(GPU_NAME(mesh_wish)(d->flavour), way_name[k])) d->mesh->wish = (mesh_way)k;
    for (int32_t i = 0; i < s->n_atoms; i++) d->mesh->largest = fmax(d->mesh->largest, fabs(s->charge[i]) * sqrt(MDS_COULOMB));
    return MDS_OK;
}

static void forget_mesh(gpu_mesh *m)
{
    const mesh_view *v = &m->view;
    const void      *memory[] = {v->charge, v->real, v->wave, v->moduli[0], v->moduli[1], v->moduli[2], v->turn};

    for (size_t k = 0; k < sizeof memory / sizeof memory[0]; k++) GPU_NAME(release)(memory[k]);
    GPU_NAME(mesh_dft_close)(m);
    if (m->forward) (void)cufftDestroy(m->forward);
    if (m->backward) (void)cufftDestroy(m->backward);
    m->forward = m->backward = 0;
    m->view.charge = NULL;
    m->view.real = NULL;
    m->view.wave = NULL;
    m->view.turn = NULL;
    m->view.moduli[0] = m->view.moduli[1] = m->view.moduli[2] = NULL;
    m->order = 0;
}

static void forget_tables(gpu_mesh *m)
{
    GPU_NAME(release)(m->view.spectrum);
    GPU_NAME(release)(m->view.slope);
    m->view.spectrum = m->view.slope = NULL;
}

void GPU_NAME(mesh_close)(mds_device *d)
{
    if (!d->mesh) return;
    if (d->mesh_stream) (void)cudaStreamSynchronize(d->mesh_stream);
    forget_mesh(d->mesh);
    forget_tables(d->mesh);
    GPU_NAME(mesh_double_close)(d->mesh);
    mds_free(d->mesh);
    d->mesh = NULL;
}

// ------------------------------------------------------------------------------------------------ tables

/// Units of the fixed-point mesh. The weights come out (order - 1)!^3 times too large.
static void set_scale(gpu_mesh *m)
{
    double factorial = 1, scale = 67108864; // 2^26

    for (int k = 2; k < m->order; k++) factorial *= k;
    m->view.norm = 1 / (factorial * factorial * factorial);
    while (scale > 67108864 * m->view.norm || 8 * m->largest * scale >= 2147483648.0 * m->view.norm) scale /= 2;
    m->view.scale = (float)scale;
    m->view.unit = m->view.norm / scale;
}

static mds_status copy_moduli(gpu_mesh *m, int k)
{
    const size_t n = (size_t)m->view.n[k];
    double      *b2 = NULL;
    float       *rounded = NULL;
    mds_status   status = MDS_OK;

    MDS_TRY_GOTO(mds_alloc(&b2, n, sizeof *b2));
    MDS_TRY_GOTO(mds_alloc(&rounded, n, sizeof *rounded));
    mds_spline_moduli((int)n, m->order, b2);
    for (size_t i = 0; i < n; i++) rounded[i] = (float)b2[i];
    MDS_TRY_GOTO(gpu_copy_in(&m->view.moduli[k], rounded, n));
fail:
    mds_free(b2);
    mds_free(rounded);
    return status;
}

static mds_status copy_turns(mesh_view *v)
{
    float2    *turn;
    mds_status status;

    MDS_TRY(mds_alloc(&turn, (size_t)v->half, sizeof *turn));
    for (int k = 0; k < v->half; k++)
        turn[k] = make_float2((float)cos(2 * MDS_PI * k / v->n[2]), (float)sin(2 * MDS_PI * k / v->n[2]));
    status = gpu_copy_in(&v->turn, turn, v->half);
    mds_free(turn);
    return status;
}

/// The cubic through values at Chebyshev's points (1 + cos((2i + 1) pi/8))/2 of a cell, in powers of the place in it.
static float4 cubic_through(const double at[4], const double value[4])
{
    double c[4] = {value[0], value[1], value[2], value[3]}, power[4] = {0, 0, 0, 0};

    for (int k = 1; k < 4; k++) // Newton's divided differences
        for (int i = 3; i >= k; i--) c[i] = (c[i] - c[i - 1]) / (at[i] - at[i - k]);
    for (int i = 3; i >= 0; i--) { // power = power (s - at[i]) + c[i]
        for (int k = 3; k > 0; k--) power[k] = power[k - 1] - at[i] * power[k];
        power[0] = c[i] - at[i] * power[0];
    }
    return make_float4((float)power[0], (float)power[1], (float)power[2], (float)power[3]);
}

/// Tables of the split up to the largest wave that d->split knows, for boxes that shrink too.
static mds_status copy_tables(mds_device *d)
{
    mesh_view       *v = &d->mesh->view;
    const mds_split *split = &d->split;
    double           rate = 16 * split->cut, spacing = 1, at[4], ghat[4], rise[4];
    float4          *spectrum = NULL, *slope = NULL;
    mds_status       status = MDS_OK;

    if (split->kind == MDS_NUM_GAUSSIAN) rate = fmax(rate, 8 / split->shape);
    for (int k = 0; k < 3; k++) spacing = fmin(spacing, d->box.a[k][k] / v->n[k]);
    v->cells = (int)fmin(4 * 3.15 / spacing * rate, 1 << 20); // as far as mds_short_form goes
    v->rate = (float)rate;
    for (int k = 0; k < 4; k++) at[k] = 0.5 * (1 + cos((2 * k + 1) * MDS_PI / 8));
    MDS_TRY_GOTO(mds_alloc(&spectrum, (size_t)v->cells, sizeof *spectrum));
    MDS_TRY_GOTO(mds_alloc(&slope, (size_t)v->cells, sizeof *slope));
    for (int i = 0; i < v->cells; i++) {
        for (int k = 0; k < 4; k++) mds_split_spectrum(split, (i + at[k]) / (double)v->rate, &ghat[k], &rise[k]);
        spectrum[i] = cubic_through(at, ghat);
        slope[i] = cubic_through(at, rise);
    }
    forget_tables(d->mesh);
    MDS_TRY_GOTO(gpu_copy_in(&v->spectrum, spectrum, v->cells));
    MDS_TRY_GOTO(gpu_copy_in(&v->slope, slope, v->cells));
fail:
    mds_free(spectrum);
    mds_free(slope);
    return status;
}

static mds_status make_plans(mds_device *d)
{
    gpu_mesh   *m = d->mesh;
    mesh_view  *v = &m->view;

    MDS_TRY(gpu_alloc(&v->wave, (size_t)v->n[0] * (size_t)v->n[1] * (size_t)v->half));
    FFT_TRY(cufftPlan3d(&m->forward, v->n[0], v->n[1], v->n[2], CUFFT_R2C));
    FFT_TRY(cufftPlan3d(&m->backward, v->n[0], v->n[1], v->n[2], CUFFT_C2R));
    FFT_TRY(cufftSetStream(m->forward, d->mesh_stream));
    FFT_TRY(cufftSetStream(m->backward, d->mesh_stream));
    return MDS_OK;
}

static mds_status make_mesh(mds_device *d, int order, const int32_t grid[3])
{
    gpu_mesh    *m = d->mesh;
    mesh_view   *v = &m->view;
    const double points = (double)grid[0] * grid[1] * grid[2];
    const size_t room = ((size_t)points + 3) / 4 * 4;

    forget_mesh(m);
    for (int k = 0; k < 3; k++) m->planned[k] = v->n[k] = grid[k];
    v->half = grid[2] / 2 + 1;
    v->magic = gpu_magic(v->half);
    MDS_TRY(gpu_fit_mesh(grid));
    m->order = order;
    set_scale(m);
    MDS_TRY(gpu_alloc(&v->charge, room));
    MDS_TRY(gpu_alloc(&v->real, room));
    GPU_TRY(cudaMemset(v->charge, 0, room * sizeof *v->charge));
    GPU_TRY(cudaMemset(v->real, 0, room * sizeof *v->real));
    for (int k = 0; k < 3; k++) MDS_TRY(copy_moduli(m, k));
    MDS_TRY(copy_turns(v));
    m->way = m->wish == MESH_GEMM ? MESH_GEMM
             : m->wish != MESH_CUFFT && GPU_NAME(mesh_fits)(v, m->wish == MESH_BLOCK) ? MESH_BLOCK : MESH_CUFFT;
    if (m->wish == MESH_BLOCK && m->way != MESH_BLOCK)
        mds_note("one block of this GPU cannot transform a mesh of %d x %d x %d: cuFFT does it", (int)grid[0], (int)grid[1], (int)grid[2]);
    name_ways(d);
    if (m->way == MESH_GEMM) return GPU_NAME(mesh_dft_open)(d);
    return m->way == MESH_CUFFT ? make_plans(d) : MDS_OK;
}

mds_status GPU_NAME(mesh_set)(mds_device *d)
{
    const mds_params *p = &d->params;
    gpu_mesh         *m = d->mesh;
    const double      charge = d->system->total_charge;

    MDS_CHECK(p->order >= MESH_MIN_ORDER && p->order <= MESH_MAX_ORDER, MDS_E_INPUT, "mesh order %d is not in %d to %d", (int)p->order,
              (int)MESH_MIN_ORDER, (int)MESH_MAX_ORDER);
    for (int k = 0; k < 3; k++)
        MDS_CHECK(p->grid[k] >= p->order, MDS_E_INPUT, "a mesh of %d points is too small for order %d", (int)p->grid[k], (int)p->order);
    if (!d->periodic) return MDS_OK; // the stage says so; a box calls again
    m->view.background = -MDS_COULOMB * d->split.background * charge * charge;
    if (p->double_precision) return GPU_NAME(mesh_double_set)(d);
    if (m->order != p->order || memcmp(m->planned, p->grid, sizeof m->planned)) MDS_TRY(make_mesh(d, p->order, p->grid));
    return copy_tables(d);
}

// ------------------------------------------------------------------------------------------------- stage

mds_status GPU_NAME(mesh)(mds_device *d, mds_phase phase, mds_work work)
{
    const bool all = phase == MDS_MESH_ALL;
    gpu_mesh  *m = d->mesh;

    if (d->params.coulomb != MDS_COULOMB_PME) return MDS_OK;
    MDS_CHECK(d->periodic, MDS_E_INPUT, "PME needs a box");
    if (d->params.double_precision) return GPU_NAME(mesh_double)(d, phase, work);
    if (all || phase == MDS_SPREAD) MDS_TRY(GPU_NAME(mesh_spread)(d));
    if (m->way == MESH_BLOCK && (all || phase == MDS_SOLVE)) MDS_TRY(GPU_NAME(mesh_transform)(d, work));
    if (m->way != MESH_BLOCK && (all || phase == MDS_FFT)) {
        MDS_TRY(GPU_NAME(mesh_convert)(d));
        if (m->way == MESH_GEMM) MDS_TRY(GPU_NAME(mesh_dft)(d, false));
        else FFT_TRY(cufftExecR2C(m->forward, m->view.real, m->view.wave));
    }
    if (m->way != MESH_BLOCK && (all || phase == MDS_SOLVE)) MDS_TRY(GPU_NAME(mesh_solve)(d, work));
    if (m->way == MESH_GEMM && (all || phase == MDS_IFFT)) MDS_TRY(GPU_NAME(mesh_dft)(d, true));
    if (m->way == MESH_CUFFT && (all || phase == MDS_IFFT)) FFT_TRY(cufftExecC2R(m->backward, m->view.wave, m->view.real));
    if (all || phase == MDS_GATHER) MDS_TRY(GPU_NAME(mesh_gather)(d, gpu_slow_times(d, work), d->mesh_stream));
    return MDS_OK;
}

mds_status GPU_NAME(mesh_again)(mds_device *d, int times)
{
    return d->params.double_precision ? GPU_NAME(mesh_double_gather)(d, times, d->stream) : GPU_NAME(mesh_gather)(d, times, d->stream);
}
