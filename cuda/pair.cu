// SPDX-License-Identifier: Apache-2.0
// pair: short-range forces, energies and virial over the list. Pairs that are excluded have nothing here (excluded.cu).
//
// One warp works on a chunk: at most 64 entries j against a block of 32 atoms i. A step takes four entries. Lane l holds the four
// atoms (l & 7) of the block's octets in registers, and atom j number l >> 3 of the step: four pairs a lane, 128 a warp, and an
// octet that none of the four is near to is left out, which all lanes see alike. Forces on i gather in registers until the chunk ends;
// those on j are summed over a row's octets in registers, over its eight lanes by four exchanges, and added to memory by three of them at
// once: the components of a slot lie in one sector, which is what atomics are counted in.
//
//     a step    16 bytes of entries a warp; a j atom 32 bytes of position and origin, 8 of LJ; 4 exchanges, 1 fixed-point sum a lane
//     a chunk   its block: 24 bytes an atom; 16 exchanges, 4 fixed-point sums a lane
//     a slot    36 instructions (geometric), 38 (matrix), 39 (Lorentz) with one cut-off and a P of degree 7, and some 85 a step beside
//               them: 58 to 61 a slot where all octets are near (counted in the code for compute capability 9.0), none in double
//
// Positions are taken relative to the origin of the i block: the difference of two origins and the raster part of the image vector
// are exact in float, so what is rounded is of the size of the cut-off (docs/decisions/007-gpu-order.md); the rest of the image vector
// goes to the atoms i, once a chunk.
//
// Sums do not depend on the schedule: floats are added within a chunk only, whose order is that of the list, and everything beyond
// is fixed point. The virial is that of the forces of the chunk: sum over i of x f and over j of x f, six products a step and not a pair.
#include "pair_kernel.h"

#include "base/units.h"

#include <math.h>

enum { THREADS = PAIR_THREADS, WARPS = THREADS / GPU_WARP, OCTETS = GPU_BLOCK / GPU_OCTET };
#define EVERYWHERE 4e9 // nm: what stands for no cut-off
#define FAR 1e15f      // nm: beyond it, and its square still fits a float

struct gpu_pair {
    int     rule;                // PAIR_GEOMETRIC ..
    int     stride;              // of the matrix: types and one more for padding
    float2 *type_lj, *matrix;    // [stride], [stride][stride] device
    float  *type_c4;             // [stride][stride] device, NULL without 12-6-4
    bool    charged;             // some charge is not 0
    float2 *lj;                  // [n_slots] device
    int    *type;                // [n_slots] device
    size_t  lj_room, type_room;
    pair_form   form;
    pair_kernel force[2], energy[2]; // of the list in chunks and of that in rows
    unsigned    most_blocks;     // of the energy kernel: what the chip holds at once, so that few warps add to the sums
};

// ------------------------------------------------------------------------------------------------- kernels

/// Atoms i of a lane, one an octet, moved to the image that the chunk is about, and the forces on them.
typedef struct {
    float x[OCTETS], y[OCTETS], z[OCTETS], q[OCTETS], a[OCTETS], b[OCTETS];
    int   row[OCTETS];
    float fx[OCTETS], fy[OCTETS], fz[OCTETS];
} atoms_i;

/// LJ parameters in slot order.
static __global__ void k_remap(gpu_view p, int padding, const float2 *type_lj, float2 *lj, int *type)
{
    const int slot = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (slot >= p.n_slots) return;
    const int atom = p.atom_of[slot], of = atom < 0 ? padding : p.type[atom];
    if (type)
        type[slot] = of;
    else
        lj[slot] = type_lj[of];
}

/// The block of a chunk.
template <int RULE>
static __device__ __forceinline__ void load_block(const pair_args *a, int block, int lane, float3 rest, atoms_i *i)
{
    int o;

    GPU_UNROLL
    for (o = 0; o < OCTETS; o++) {
        const int    slot = GPU_BLOCK * block + GPU_OCTET * o + lane % GPU_OCTET;
        const float4 xq = a->view.xq[slot];

        i->x[o] = xq.x + rest.x;
        i->y[o] = xq.y + rest.y;
        i->z[o] = xq.z + rest.z;
        i->q[o] = xq.w * a->form.charge_scale;
        i->fx[o] = i->fy[o] = i->fz[o] = 0;
        if (RULE == PAIR_MATRIX) {
            i->row[o] = a->type[slot] * a->stride;
        } else {
            const float2 lj = a->lj[slot];

            i->a[o] = lj.x;
            i->b[o] = lj.y;
        }
    }
}

/// Sum over the box vectors of an image, in the direction k.
static __device__ __forceinline__ float along(const float h[3][3], const int image[3], int k)
{
    return (float)image[0] * h[0][k] + (float)image[1] * h[1][k] + (float)image[2] * h[2][k];
}


/// Four entries against the block. WORDS: the chunk has words that say which pairs count. Without them whatever the lanes compute beside
/// the octets of their entries are pairs of the list's owner all the same, only farther apart, so nothing needs to be masked but filling.
template <int ENERGY, int RULE, int FORM, int DEGREE, int WORDS>
static __device__ __forceinline__ void do_step(const pair_args *a, uint4 four, const unsigned *words, float3 base, int lane, atoms_i *i,
                                               pair_sums *s)
{
    const int      row = lane / GPU_OCTET, component = lane % GPU_OCTET;
    const unsigned mine = row == 0 ? four.x : row == 1 ? four.y : row == 2 ? four.z : four.w;
    const unsigned any = four.x | four.y | four.z | four.w;
    const int      j = GPU_J_SLOT(mine);
    const float4   xq = a->view.xq[j], from = a->view.origin[j / GPU_BLOCK];
    float          x = xq.x + (from.x - base.x), fx = 0, fy = 0, fz = 0;
    const float    y = xq.y + (from.y - base.y), z = xq.z + (from.z - base.z);
    unsigned       counts = mine;
    pair_couple    couple = pair_of_j<RULE>(a, j);
    int            o;

    if (WORDS && words) // this lane's bits of the four octets, moved to the top by one multiplication
        counts &= ((words[row] >> component) & 0x01010101u) * 0x10204080u;
    if (!WORDS) x = GPU_J_OCTETS(mine) ? x : FAR;
    GPU_UNROLL
    for (o = 0; o < OCTETS; o++) {
        const unsigned bit = 1u << (28 + o);

        if (!(any & bit)) continue;
        const float dx = x - i->x[o], dy = y - i->y[o], dz = z - i->z[o];
        couple.qq = i->q[o] * xq.w;
        if (RULE == PAIR_MATRIX) {
            couple.row = i->row[o];
        } else {
            couple.a_i = i->a[o];
            couple.b_i = i->b[o];
        }
        const float f = pair_force<ENERGY, RULE, FORM, DEGREE>(a, &couple, !WORDS || (counts & bit), dx * dx + dy * dy + dz * dz, &s->lj,
                                                               &s->q);
        fx += f * dx;
        fy += f * dy;
        fz += f * dz;
        i->fx[o] -= f * dx;
        i->fy[o] -= f * dy;
        i->fz[o] -= f * dz;
    }
    if (ENERGY) {
        pair_add_virial(s, x, y, z, fx, fy, fz);
        pair_name(&a->view, j, s);
    }
    const float f = pair_sum_row(fx, fy, fz, lane);
    if (component < 3 && GPU_J_OCTETS(mine)) gpu_add_force(&a->view, j, component, f);
}

/// Forces of a chunk on its block, and its sums to those of the lane.
template <int ENERGY>
static __device__ __forceinline__ void end_chunk(const pair_args *a, int block, int lane, const atoms_i *i, pair_sums *s,
                                                 unsigned long long sum[PAIR_N_TERMS], unsigned *fault)
{
    const int row = lane / GPU_OCTET, slot = GPU_BLOCK * block + lane % GPU_OCTET;
    int       o;

    GPU_UNROLL
    for (o = 0; o < OCTETS; o++) {
        const float f = pair_sum_rows(i->fx[o], i->fy[o], i->fz[o], lane);
        if (row < 3) gpu_add_force(&a->view, slot + GPU_OCTET * o, row, f);
    }
    if (ENERGY) {
        GPU_UNROLL
        for (o = 0; o < OCTETS; o++) pair_add_virial(s, i->x[o], i->y[o], i->z[o], i->fx[o], i->fy[o], i->fz[o]);
        pair_add_sums(s, sum, fault);
    }
}

// blocks at once: as many as registers allow without spilling on every chip; waiting for entries and positions is hidden by other warps
template <int ENERGY, int RULE, int FORM, int DEGREE>
static __global__ void __launch_bounds__(THREADS, ENERGY ? 4 : FORM != PAIR_ONE_CUT || DEGREE == PAIR_ANY ? 5 : 6) k_pair(pair_args a)
{
    enum { APART = FORM == PAIR_ONE_CUT && !ENERGY }; // a loop of their own for chunks without words, where speed counts
    const gpu_control *control = a.view.control;
    const int          lane = (int)threadIdx.x % GPU_WARP, n_warps = (int)gridDim.x * WARPS;
    unsigned long long sum[PAIR_N_TERMS] = {0, 0, 0, 0, 0, 0, 0, 0};
    unsigned           fault = 0;
    int                c, e;

    if (control->tripped) return;
    for (c = (int)(blockIdx.x * WARPS + threadIdx.x / GPU_WARP); c < a.list.n_chunks; c += n_warps) {
        const gpu_chunk chunk = a.list.chunk[c];
        const int       n = a.list.n[c];
        const float4    origin = a.view.origin[chunk.block];
        const uint4    *four = reinterpret_cast<const uint4 *>(a.list.j + chunk.first);
        const unsigned *words = chunk.allow < 0 ? NULL : a.list.allow + chunk.allow;
        const float3    base = {origin.x + along(control->raster, chunk.image, 0), origin.y + along(control->raster, chunk.image, 1),
                                origin.z + along(control->raster, chunk.image, 2)};
        const float3    rest = {along(control->rest, chunk.image, 0), along(control->rest, chunk.image, 1),
                                along(control->rest, chunk.image, 2)};
        pair_sums      s = {0, 0, 0, 0, 0, 0, 0, 0, false};
        atoms_i         i;

        load_block<RULE>(&a, chunk.block, lane, rest, &i);
        if (APART && !words) {
            for (e = 0; e < n; e += GPU_J_STEP)
                do_step<ENERGY, RULE, FORM, DEGREE, 0>(&a, four[e / GPU_J_STEP], NULL, base, lane, &i, &s);
        } else {
            for (e = 0; e < n; e += GPU_J_STEP)
                do_step<ENERGY, RULE, FORM, DEGREE, 1>(&a, four[e / GPU_J_STEP], words ? words + e : NULL, base, lane, &i, &s);
        }
        end_chunk<ENERGY>(&a, chunk.block, lane, &i, &s, sum, &fault);
    }
    if (ENERGY) pair_put_sums(a.view.control, sum, fault, lane);
}

// ------------------------------------------------------------------------------------------- constants

static const pair_kernels octet_kernels = PAIR_KERNELS(k_pair);

/// Parameters of one type by the rule. False where it has none: the matrix must do.
static bool type_parameters(int rule, double c6, double c12, float2 *out)
{
    *out = float2{0, 0};
    if (c6 < 0 || c12 < 0) return false; // no roots of these
    if (rule == PAIR_GEOMETRIC) *out = float2{(float)sqrt(12 * c12), (float)sqrt(6 * c6)};
    if (rule == PAIR_LORENTZ && c6 > 0 && c12 > 0) // half of sigma; the root of 48 epsilon
        *out = float2{(float)(0.5 * pow(c12 / c6, 1.0 / 6)), (float)sqrt(12 * c6 * c6 / c12)};
    return true;
}

/// Tables of the types; the last row and column are padding's: all zero.
static mds_status fill_tables(const mds_system *s, gpu_pair *g, float2 *type_lj, float2 *matrix, float *c4)
{
    const mds_lj_rule rule = mds_system_lj_rule(s);
    const size_t      n = (size_t)s->n_types, stride = n + 1;
    size_t            i, j;

    g->stride = (int)stride;
    g->rule = rule == MDS_LJ_GEOMETRIC ? PAIR_GEOMETRIC : rule == MDS_LJ_LORENTZ_BERTHELOT ? PAIR_LORENTZ : PAIR_MATRIX;
    type_lj[n] = float2{0, 0};
    for (i = 0; i < n; i++) {
        if (!type_parameters(g->rule, s->c6[i * n + i], s->c12[i * n + i], &type_lj[i])) g->rule = PAIR_MATRIX;
        for (j = 0; j < n; j++) {
            matrix[i * stride + j] = float2{(float)(12 * s->c12[i * n + j]), (float)(6 * s->c6[i * n + j])};
            if (s->c4) c4[i * stride + j] = (float)s->c4[i * n + j];
        }
    }
    MDS_TRY(gpu_copy_in(&g->type_lj, type_lj, stride));
    MDS_TRY(gpu_copy_in(&g->matrix, matrix, stride * stride));
    return s->c4 ? gpu_copy_in(&g->type_c4, c4, stride * stride) : MDS_OK;
}

static mds_status make_tables(const mds_system *s, gpu_pair *g)
{
    const size_t stride = (size_t)s->n_types + 1;
    float2      *type_lj = NULL, *matrix = NULL;
    float       *c4 = NULL;
    mds_status   status;

    MDS_TRY_GOTO(mds_alloc(&type_lj, stride, sizeof *type_lj));
    MDS_TRY_GOTO(mds_alloc(&matrix, stride * stride, sizeof *matrix));
    MDS_TRY_GOTO(mds_alloc(&c4, stride * stride, sizeof *c4));
    MDS_TRY_GOTO(fill_tables(s, g, type_lj, matrix, c4));
fail:
    mds_free(type_lj);
    mds_free(matrix);
    mds_free(c4);
    return status;
}

mds_status GPU_NAME(pair_open)(mds_device *d)
{
    const mds_system *s = d->system;
    cudaDeviceProp    about;
    gpu_pair         *g;

    MDS_TRY(mds_alloc(&g, 1, sizeof *g));
    d->pair = g;
    for (int32_t i = 0; i < s->n_atoms; i++) g->charged = g->charged || s->charge[i] != 0;
    GPU_TRY(cudaGetDeviceProperties(&about, 0));
    g->most_blocks = 4 * (unsigned)about.multiProcessorCount; // 16 warps of up to 128 registers
    return make_tables(s, g);
}

void GPU_NAME(pair_close)(mds_device *d)
{
    gpu_pair *g = d->pair;

    if (!g) return;
    GPU_NAME(release)(g->type_lj);
    GPU_NAME(release)(g->matrix);
    GPU_NAME(release)(g->type_c4);
    GPU_NAME(release)(g->lj);
    GPU_NAME(release)(g->type);
    mds_free(g);
    d->pair = NULL;
}

/// Coulomb polynomials in r^2 - rc^2/2 from those in x = 2 (r/rc)^2 - 1 (num.h says why not in r^2).
static void set_coulomb_form(const mds_short *from, pair_form *form)
{
    const double rc = from->cut, scale = 2 / (rc * rc);

    if (!(rc > 0)) return; // 1/r alone
    form->middle = (float)(1 / scale);
    form->degree_force = from->degree_force;
    form->degree_pot = from->degree_pot;
    for (int k = 0; k <= from->degree_force; k++) form->force[k] = (float)(from->force_centred[k] * pow(scale, k) / (rc * rc * rc));
    for (int k = 0; k <= from->degree_pot; k++) form->pot[k] = (float)(from->pot_centred[k] * pow(scale, k) / rc);
}

/// A, B and the constant of the force switch of 1/r^alpha, over `unit`.
static void force_switch(int alpha, double rs, double rc, double unit, float *a, float *b, float *c)
{
    const double w = rc - rs, p = pow(rc, alpha + 2);
    const double A = -alpha * ((alpha + 4) * rc - (alpha + 1) * rs) / (p * w * w);
    const double B = alpha * ((alpha + 3) * rc - (alpha + 1) * rs) / (p * w * w * w);

    *a = (float)(A / unit);
    *b = (float)(B / unit);
    *c = (float)((pow(rc, -alpha) - A / 3 * w * w * w - B / 4 * w * w * w * w) / unit);
}

/// The LJ part of a form, and which one it is.
static int set_lj_form(const mds_params *p, pair_form *form)
{
    const double rc = p->cut_lj, rs = p->lj_switch;

    if (!(rc > 0) || p->lj_modifier == MDS_LJ_CUT) return PAIR_TWO_CUTS;
    form->lj_switch = (float)rs;
    if (p->lj_modifier == MDS_LJ_SWITCH) {
        form->inv_width = (float)(1 / (rc - rs));
        return PAIR_SWITCH;
    }
    if (p->lj_modifier == MDS_LJ_FORCE_SWITCH) {
        force_switch(12, rs, rc, 12, &form->a12, &form->b12, &form->c12);
        force_switch(6, rs, rc, 6, &form->a6, &form->b6, &form->c6);
        return PAIR_FORCE_SWITCH;
    }
    form->shift12 = (float)(pow(rc, -12) / 12);
    form->shift6 = (float)(pow(rc, -6) / 6);
    return PAIR_TWO_CUTS;
}

mds_status GPU_NAME(pair_set)(mds_device *d)
{
    const mds_params *p = &d->params;
    gpu_pair         *g = d->pair;
    const bool        charged = p->coulomb != MDS_COULOMB_NONE && g->charged;
    const double      cut_lj = p->cut_lj > 0 ? p->cut_lj : EVERYWHERE;
    const double      cut_q = !charged ? cut_lj : p->cut_q > 0 ? p->cut_q : EVERYWHERE;
    int               form, degree;

    g->form = pair_form{};
    g->form.cut2_lj = (float)(cut_lj * cut_lj);
    g->form.cut2_q = (float)(cut_q * cut_q);
    g->form.cut2 = fmaxf(g->form.cut2_lj, g->form.cut2_q);
    g->form.charge_scale = charged ? 1 : 0;
    if (charged) set_coulomb_form(&d->short_range, &g->form);
    form = set_lj_form(p, &g->form);
    if (form == PAIR_TWO_CUTS && cut_lj == cut_q && !g->type_c4) form = PAIR_ONE_CUT;
    degree = !charged ? 0 : g->form.degree_force == 0 ? 1 : g->form.degree_force <= 7 ? 2 : 3;
    const pair_kernels *const all[2] = {&octet_kernels, GPU_NAME(pair_row_kernels)()};
    for (int k = 0; k < 2; k++) {
        g->force[k] = all[k]->force[g->rule][form][degree];
        g->energy[k] = all[k]->energy[g->rule][form];
    }
    return MDS_OK;
}

mds_status GPU_NAME(pair_remap)(mds_device *d)
{
    gpu_pair *g = d->pair;

    if (g->rule == PAIR_MATRIX)
        MDS_TRY(gpu_room(&g->type, &g->type_room, d->view.n_slots));
    else
        MDS_TRY(gpu_room(&g->lj, &g->lj_room, d->view.n_slots));
    GPU_LAUNCH(k_remap, (unsigned)(d->view.n_slots + THREADS - 1) / THREADS, THREADS, 0, d->stream, d->view, g->stride - 1, g->type_lj,
               g->lj, g->type);
    return MDS_OK;
}

// ------------------------------------------------------------------------------------------- the stage

mds_status GPU_NAME(pair)(mds_device *d, mds_where where, mds_work work)
{
    const gpu_pair *g = d->pair;
    const bool      energy = work & (MDS_ENERGY | MDS_VIRIAL);

    if (where == MDS_HALO) return MDS_OK; // one rank has no copies
    MDS_TRY(GPU_NAME(prune)(d));
    const int rows = d->search->rows.n_items > 0, n = rows ? d->search->rows.n_items : d->list.n_chunks; // a warp each
    if (n == 0) return MDS_OK;
    if (d->params.double_precision) return GPU_NAME(pair_double)(d, work);
    const unsigned    blocks = (unsigned)(n + WARPS - 1) / WARPS;
    const pair_args   args = {d->view, d->list, d->search->rows, g->lj, g->type, g->matrix, g->type_c4, g->stride, g->form};
    const pair_kernel kernel = energy ? g->energy[rows] : g->force[rows];
    GPU_LAUNCH(kernel, energy && blocks > g->most_blocks ? g->most_blocks : blocks, THREADS, 0, d->stream, args);
    return MDS_OK;
}
