// SPDX-License-Identifier: Apache-2.0
// Short-range forces on the GPU: the arithmetic of one pair, and the sums over lanes. pair.cu has the kernel.
//
// With y = 1/r from the chip's approximation (2 units in the last place) and v = r^2 less the middle of the Coulomb range:
//
//     Coulomb  F/r = qq (y^3 - P(v))         P the polynomial of num.h over rc^3; charges carry the root of the Coulomb constant
//     LJ       F/r = y^8 (C12 y^6 - C6)      C12 = 12 c12, C6 = 6 c6
//
// PME of either split, reaction field and plain cut-offs differ in P alone. C12 and C6 come
//     geometric  from a_i a_j, b_i b_j, the roots of the atoms' own
//     Lorentz    from sigma = a_i + a_j, e = b_i b_j = 48 epsilon:  F/r = y^2 e w (w - 1/2), w = (sigma y)^6
//     matrix     from a table by types, with c4 of 12-6-4 beside it: F/r less 4 c4/r^6
// A pair closer than 0.01 nm counts as if at 0.01 nm, so that atoms on top of each other give finite numbers.
// Modifiers and errors: docs/theory/pair.md.
#ifndef MDS_CUDA_PAIR_KERNEL_H
#define MDS_CUDA_PAIR_KERNEL_H

#include "search.h"

enum { PAIR_GEOMETRIC, PAIR_LORENTZ, PAIR_MATRIX, PAIR_N_RULES };
/// One cut-off, LJ cut or shifted, no 12-6-4; the same with two cut-offs and 12-6-4; with modifiers of LJ, likewise.
enum { PAIR_ONE_CUT, PAIR_TWO_CUTS, PAIR_SWITCH, PAIR_FORCE_SWITCH, PAIR_N_FORMS };
/// Degree of P that a kernel has in a row without a loop; PAIR_ANY goes up to MDS_SHORT_MAX, the part above 12 in a loop.
enum { PAIR_NO_COULOMB = -1, PAIR_ANY = 12, PAIR_POTENTIAL = 10 };

/// Constants of the forms, by value with every launch. Polynomials are in powers of r^2 - middle, zero above their degree.
typedef struct {
    float cut2, cut2_lj, cut2_q; // nm^2; the first is the larger
    float charge_scale;          // 1, or 0 where charges do not count
    float middle;                // nm^2
    int   degree_force, degree_pot;
    float force[MDS_SHORT_MAX + 1], pot[MDS_SHORT_MAX + 1];
    float shift12, shift6;                // taken off r^-12/12 and r^-6/6
    float lj_switch, inv_width;           // where modifiers begin, nm; 1/(rc - that)
    float a12, b12, c12, a6, b6, c6;      // force switch [gromacs2022, 5.1.1]
} pair_form;

typedef struct {
    gpu_view      view;
    gpu_list      list; // this
    gpu_rows      rows; // or this
    const float2 *lj;     // [n_slots] a and b of the rules; not of the matrix
    const int    *type;   // [n_slots] of the matrix
    const float2 *matrix; // [stride][stride] C12, C6
    const float  *c4;     // likewise, NULL without 12-6-4
    int           stride;
    pair_form     form;
} pair_args;

enum { PAIR_THREADS = 128, PAIR_N_TERMS = 8 }; // of a block; LJ, Coulomb, virial xx xy xz yy yz zz

typedef void (*pair_kernel)(pair_args);

/// Which kernels there are: those that runs use much, and one for everything else of a rule and form. Columns: no Coulomb, 1/r alone,
/// P up to degree 7, any P.
typedef struct {
    pair_kernel force[PAIR_N_RULES][PAIR_N_FORMS][4], energy[PAIR_N_RULES][PAIR_N_FORMS];
} pair_kernels;
#define PAIR_ONE_CUT_OF(k, rule) {k<0, rule, PAIR_ONE_CUT, PAIR_NO_COULOMB>, k<0, rule, PAIR_ONE_CUT, 0>, \
                                  k<0, rule, PAIR_ONE_CUT, 7>, k<0, rule, PAIR_ONE_CUT, PAIR_ANY>}
#define PAIR_ANY_OF(k, energy, rule, form) k<energy, rule, form, PAIR_ANY>
#define PAIR_MODIFIED_OF(k, rule, form) {PAIR_ANY_OF(k, 0, rule, form), k<0, rule, form, 7>, k<0, rule, form, 7>, PAIR_ANY_OF(k, 0, rule, form)}
#define PAIR_FORCE_OF(k, rule)                                                                               \
    {PAIR_ONE_CUT_OF(k, rule),                                                                               \
     {PAIR_ANY_OF(k, 0, rule, PAIR_TWO_CUTS), PAIR_ANY_OF(k, 0, rule, PAIR_TWO_CUTS), PAIR_ANY_OF(k, 0, rule, PAIR_TWO_CUTS), \
      PAIR_ANY_OF(k, 0, rule, PAIR_TWO_CUTS)},                                                               \
     PAIR_MODIFIED_OF(k, rule, PAIR_SWITCH),                                                                 \
     PAIR_MODIFIED_OF(k, rule, PAIR_FORCE_SWITCH)}
#define PAIR_ENERGY_OF(k, rule)                                                                              \
    {PAIR_ANY_OF(k, 1, rule, PAIR_TWO_CUTS), PAIR_ANY_OF(k, 1, rule, PAIR_TWO_CUTS), PAIR_ANY_OF(k, 1, rule, PAIR_SWITCH), \
     PAIR_ANY_OF(k, 1, rule, PAIR_FORCE_SWITCH)}
/// All kernels of a template k<energy, rule, form, degree>.
#define PAIR_KERNELS(k)                                                                                      \
    {{PAIR_FORCE_OF(k, PAIR_GEOMETRIC), PAIR_FORCE_OF(k, PAIR_LORENTZ), PAIR_FORCE_OF(k, PAIR_MATRIX)},      \
     {PAIR_ENERGY_OF(k, PAIR_GEOMETRIC), PAIR_ENERGY_OF(k, PAIR_LORENTZ), PAIR_ENERGY_OF(k, PAIR_MATRIX)}}
/// Those for the list in rows (pair_rows.cu).
const pair_kernels *GPU_NAME(pair_row_kernels)(void);

/// What a pair is made of, beside its distance.
typedef struct {
    float qq;
    float a_i, b_i, a_j, b_j; // not of the matrix
    int   row, column;        // of the matrix
} pair_couple;

/// With what belongs to the atom in slot j.
template <int RULE> static __device__ __forceinline__ pair_couple pair_of_j(const pair_args *a, int j)
{
    pair_couple couple = {0, 0, 0, 0, 0, 0, 0};

    if (RULE == PAIR_MATRIX) {
        couple.column = a->type[j];
    } else {
        const float2 lj = a->lj[j];

        couple.a_j = lj.x;
        couple.b_j = lj.y;
    }
    return couple;
}

/// Horner's rule; with PAIR_ANY and PAIR_POTENTIAL what lies above that degree in a loop, which most forms do not enter.
template <int DEGREE> static __device__ __forceinline__ float pair_polynomial(const float *c, int degree, float v)
{
    float p = 0;
    int   k;

    if (DEGREE == PAIR_ANY || DEGREE == PAIR_POTENTIAL)
        for (k = degree; k > DEGREE; k--) p = p * v + c[k];
    if (DEGREE == PAIR_ANY || DEGREE == PAIR_POTENTIAL)
        p = p * v + c[DEGREE];
    else
        p = c[DEGREE];
    GPU_UNROLL
    for (k = DEGREE - 1; k >= 0; k--) p = p * v + c[k];
    return p;
}

template <int RULE> static __device__ __forceinline__ float2 pair_coefficients(const pair_args *a, const pair_couple *p)
{
    if (RULE == PAIR_GEOMETRIC) return make_float2(p->a_i * p->a_j, p->b_i * p->b_j);
    if (RULE == PAIR_LORENTZ) {
        const float sigma = p->a_i + p->a_j, sigma2 = sigma * sigma, sigma6 = sigma2 * sigma2 * sigma2, e = p->b_i * p->b_j * sigma6;

        return make_float2(e * sigma6, 0.5f * e);
    }
    return __ldg(&a->matrix[p->row + p->column]);
}

/// LJ F/r and energy, with any modifier.
template <int RULE, int FORM>
static __device__ __forceinline__ float pair_lj(const pair_args *a, const pair_couple *p, float r2, float y, float y2, float *energy)
{
    const pair_form *form = &a->form;
    const float2     c = pair_coefficients<RULE>(a, p);
    const float      y4 = y2 * y2, y6 = y4 * y2, repulsion = c.x * y6;
    float            force = y4 * y4 * (repulsion - c.y), v = y6 * (repulsion * (1.0f / 12) - c.y * (1.0f / 6));

    if (FORM == PAIR_TWO_CUTS || FORM == PAIR_ONE_CUT) {
        v -= c.x * form->shift12 - c.y * form->shift6;
    } else {
        const float t = fmaxf(r2 * y - form->lj_switch, 0.0f), t2 = t * t;

        if (FORM == PAIR_SWITCH) {
            const float u = t * form->inv_width, u2 = u * u;
            const float level = 1.0f - u2 * u * (10.0f - u * (15.0f - 6.0f * u));
            const float slope = form->inv_width * u2 * (u * (60.0f - 30.0f * u) - 30.0f);

            force = force * level - v * slope * y;
            v *= level;
        } else {
            force += y * t2 * (c.x * (form->a12 + form->b12 * t) - c.y * (form->a6 + form->b6 * t));
            v -= c.x * (t2 * t * (form->a12 * (1.0f / 3) + form->b12 * 0.25f * t) + form->c12) -
                 c.y * (t2 * t * (form->a6 * (1.0f / 3) + form->b6 * 0.25f * t) + form->c6);
        }
    }
    if (RULE == PAIR_MATRIX && FORM != PAIR_ONE_CUT && a->c4) { // no modifier acts on it
        const float c4 = __ldg(&a->c4[p->row + p->column]);

        force -= 4.0f * c4 * y6;
        v -= c4 * y4;
    }
    *energy = v;
    return force;
}

/// F/r of a pair at r2, 0 beyond the cut-offs or where `counts` is false; its energies are added to *lj and *q.
template <int ENERGY, int RULE, int FORM, int DEGREE>
static __device__ __forceinline__ float pair_force(const pair_args *a, const pair_couple *p, bool counts, float square, float *lj,
                                                   float *q)
{
    const pair_form *form = &a->form;
    const float      r2 = fmaxf(square, 1e-4f), y = gpu_rsqrt(r2), y2 = y * y, v = r2 - form->middle;
    float            force, energy;

    if (FORM == PAIR_ONE_CUT) {
        if (RULE == PAIR_LORENTZ) {
            const float w = (p->a_i + p->a_j) * y, w2 = w * w, w6 = w2 * w2 * w2;

            force = p->b_i * p->b_j * y2 * w6 * (w6 - 0.5f);
        } else {
            const float2 c = pair_coefficients<RULE>(a, p);
            const float  y4 = y2 * y2;

            force = y4 * y4 * (c.x * (y4 * y2) - c.y);
        }
        if (DEGREE != PAIR_NO_COULOMB) force += p->qq * (y * y2 - pair_polynomial<DEGREE>(form->force, form->degree_force, v));
        return counts && r2 < form->cut2 ? force : 0.0f;
    }
    const bool in_lj = counts && r2 < form->cut2_lj, in_q = counts && r2 < form->cut2_q;
    force = pair_lj<RULE, FORM>(a, p, r2, y, y2, &energy);
    force = in_lj ? force : 0.0f;
    if (ENERGY) *lj += in_lj ? energy : 0.0f;
    if (DEGREE != PAIR_NO_COULOMB) {
        const float f = p->qq * (y * y2 - pair_polynomial<DEGREE>(form->force, form->degree_force, v));

        force += in_q ? f : 0.0f;
        if (ENERGY) {
            energy = p->qq * (y - pair_polynomial<PAIR_POTENTIAL>(form->pot, form->degree_pot, v));
            *q += in_q ? energy : 0.0f;
        }
    }
    return force;
}

// ------------------------------------------------------------------------------------------- sums over lanes
// Several sums at once: a lane gives away what its partner wants and keeps the rest, so every exchange halves what is left.

/// x, y and z summed over the eight lanes of a row: the sum of x is in lanes 0 and 4 of it, of y in 1 and 5, of z in the others.
static __device__ __forceinline__ float pair_sum_row(float x, float y, float z, int lane)
{
    const bool  odd = lane & 1, upper = lane & 2;
    const float give = odd ? x : y;
    float       sum = odd ? y : x;

    sum += __shfl_xor_sync(GPU_ALL, give, 1);
    z += __shfl_xor_sync(GPU_ALL, z, 1);
    const float give_2 = upper ? sum : z;
    sum = upper ? z : sum;
    sum += __shfl_xor_sync(GPU_ALL, give_2, 2);
    return sum + __shfl_xor_sync(GPU_ALL, sum, 4);
}

/// x, y and z summed over the four rows: the sum of x is in row 0, of y in rows 1 and 3, of z in row 2.
static __device__ __forceinline__ float pair_sum_rows(float x, float y, float z, int lane)
{
    const bool  odd = lane & 8, upper = lane & 16;
    const float give = odd ? x : y;
    float       sum = odd ? y : x;

    sum += __shfl_xor_sync(GPU_ALL, give, 8);
    z += __shfl_xor_sync(GPU_ALL, z, 8);
    const float give_2 = upper || odd ? sum : z; // of odd rows both have y
    sum = upper && !odd ? z : sum;
    return sum + __shfl_xor_sync(GPU_ALL, give_2, 16);
}

// --------------------------------------------------------------------------------------- energies and virial

/// Kilojoules to units of the sums.
static __device__ __forceinline__ unsigned long long pair_units(float v, unsigned *fault)
{
    const float limit = GPU_PART_LIMIT * GPU_SUM_SCALE, scaled = v * GPU_SUM_SCALE;
    const bool  fits = fabsf(scaled) < limit;

    if (!fits) *fault |= isnan(v) ? MDS_FAULT_NOT_FINITE : MDS_FAULT_RANGE;
    return (unsigned long long)__float2ll_rn(fits ? scaled : scaled > 0 ? limit : scaled < 0 ? -limit : 0.0f);
}

/// Sums of all lanes to control, once a warp.
static __device__ __forceinline__ void pair_put_sums(gpu_control *c, unsigned long long sum[PAIR_N_TERMS], unsigned fault, int lane)
{
    int bit = 1, n = PAIR_N_TERMS / 2, t;

    GPU_UNROLL
    for (; n > 0; n /= 2, bit *= 2)
        GPU_UNROLL
        for (t = 0; t < n; t++) {
            const unsigned long long give = lane & bit ? sum[t] : sum[t + n];

            sum[t] = lane & bit ? sum[t + n] : sum[t];
            sum[t] += __shfl_xor_sync(GPU_ALL, give, bit);
        }
    sum[0] += __shfl_xor_sync(GPU_ALL, sum[0], 8);
    sum[0] += __shfl_xor_sync(GPU_ALL, sum[0], 16);
    const int term = (lane & 1) * 4 + (lane & 2) + (lane >> 2 & 1); // of eight, which this lane has
    if (lane < PAIR_N_TERMS && term < 2) atomicAdd(&c->sum[GPU_ENERGY + (term ? MDS_EN_COUL : MDS_EN_LJ)], sum[0]);
    if (lane < PAIR_N_TERMS && term >= 2) {
        const int k = term < 5 ? 0 : term < 7 ? 1 : 2, l = term < 5 ? term - 2 : term < 7 ? term - 4 : 2;

        atomicAdd(&c->sum[GPU_VIRIAL + 3 * k + l], sum[0]);
        if (k != l) atomicAdd(&c->sum[GPU_VIRIAL + 3 * l + k], sum[0]);
    }
    if (fault) gpu_fault(c, fault, GPU_NO_ATOM);
}

/// Energies and virial of a chunk, in floats of its own.
typedef struct {
    float lj, q, xx, xy, xz, yy, yz, zz;
    bool  named; // an atom has been named for an energy beyond the limit
} pair_sums;

/// After the pairs of the atom in slot j: if they bring the chunk's energy in this lane beyond the limit, that atom is to be named. Forces
/// alone do not tell: between atoms at one point there is none.
static __device__ __forceinline__ void pair_name(const gpu_view *p, int j, pair_sums *s)
{
    if (s->named || fmaxf(fabsf(s->lj), fabsf(s->q)) < GPU_PART_LIMIT) return;
    s->named = true;
    gpu_fault(p->control, MDS_FAULT_RANGE, p->atom_of[j]);
}

static __device__ __forceinline__ void pair_add_virial(pair_sums *s, float x, float y, float z, float fx, float fy, float fz)
{
    s->xx += x * fx;
    s->xy += x * fy;
    s->xz += x * fz;
    s->yy += y * fy;
    s->yz += y * fz;
    s->zz += z * fz;
}

/// Sums of a chunk to those of the lane.
static __device__ __forceinline__ void pair_add_sums(const pair_sums *s, unsigned long long sum[PAIR_N_TERMS], unsigned *fault)
{
    const float term[PAIR_N_TERMS] = {s->lj, s->q, -0.5f * s->xx, -0.5f * s->xy, -0.5f * s->xz, -0.5f * s->yy, -0.5f * s->yz, -0.5f * s->zz};
    int         k;

    GPU_UNROLL
    for (k = 0; k < PAIR_N_TERMS; k++) sum[k] += pair_units(term[k], fault);
}

#endif
