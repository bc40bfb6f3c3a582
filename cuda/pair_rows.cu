// SPDX-License-Identifier: Apache-2.0
// pair, the other way: a lane for every j atom. What it is about: pair.cu; which of the two a run takes: engine/tune.c.
//
// One warp works on a part of an octet's row: 32 atoms j a turn, a lane each, against the eight atoms i one after another, whose positions all
// lanes read from shared memory at once. The force on its j atom stays in the lane, and those on the i atoms, 24 numbers a
// lane, stay there until the item ends: no exchanges in the loop, and what an atom j costs is shared by eight pairs and not, as in
// pair.cu, by the one or two octets that a lane there has of it. Forces on j atoms go through shared memory so that the components of a slot are
// added by neighbouring lanes: they lie in one sector, which is what atomics are counted in.
//
//     a turn    6 bytes of entry, 32 of position and origin and 8 of LJ a lane; 3 fixed-point sums a lane
//     an item   its octet: 24 bytes an atom; 25 exchanges, a fixed-point sum a lane
//
// Rows are of single atoms near the octet ("lane") or of quads of slots ("tile": tiles of 8 x 4, more pairs of which fewer are within the
// cut-off, but a quarter of the entries, and neighbours in memory together): gpu_rows.shift says which, and the kernel is one.
//
// A word says which of the eight pairs count; excluded pairs and those of an octet with itself need nothing else. Sums do not depend on
// the schedule, as in pair.cu: floats are added within an item only, in the order of the list.
#include "pair_kernel.h"
#include "rows.h"

enum { THREADS = PAIR_THREADS, WARPS = THREADS / GPU_WARP, OCTETS = GPU_BLOCK / GPU_OCTET };

/// Of one warp.
typedef struct {
    float4 x[GPU_OCTET];   // i atoms: position and charge
    float2 lj[GPU_OCTET];  // a and b, or the row of the matrix in the bits of the first
    float4 force[GPU_WARP]; // on j atoms, and their slots in bits
} row_room;

/// Forces on the i atoms, as far as they come from this lane's j atoms: x, y and z of each.
typedef struct {
    float f[3 * GPU_OCTET];
} octet_force;

template <int RULE>
static __device__ __forceinline__ void load_octet(const pair_args *a, row_room *s, int octet, int lane)
{
    if (lane < GPU_OCTET) {
        const int    slot = GPU_OCTET * octet + lane;
        const float4 x = a->view.xq[slot];

        s->x[lane] = make_float4(x.x, x.y, x.z, x.w * a->form.charge_scale);
        s->lj[lane] = RULE == PAIR_MATRIX ? make_float2(__int_as_float(a->type[slot] * a->stride), 0) : a->lj[slot];
    }
    __syncwarp();
}

/// Forces on 32 j atoms to the sums of their slots, three neighbouring lanes a slot; sums of floats a lane a slot where the chip can.
static __device__ __forceinline__ void put_row(const pair_args *a, row_room *s, int lane, int slot, float fx, float fy, float fz)
{
    int k;

#if GPU_VECTOR_ADD
    if (a->view.in_float) {
        if (fx != 0 || fy != 0 || fz != 0) gpu_add_force_vector(&a->view, slot, fx, fy, fz);
        return;
    }
#endif
    s->force[lane] = make_float4(fx, fy, fz, __int_as_float(slot));
    __syncwarp();
    GPU_UNROLL
    for (k = 0; k < 3; k++) {
        const int   row = (GPU_WARP * k + lane) / 3, component = (GPU_WARP * k + lane) % 3;
        const float f = reinterpret_cast<const float *>(&s->force[row])[component];

        if (f != 0) gpu_add_force(&a->view, __float_as_int(s->force[row].w), component, f); // many are beyond the cut-off of all eight
    }
    __syncwarp();
}

/// 32 atoms of a row, from place `at` on.
template <int ENERGY, int RULE, int FORM, int DEGREE>
static __device__ __forceinline__ void do_turn(const pair_args *a, row_room *s, const gpu_image *image, float4 base, int octet, int first, int at,
                                               int end, int lane, octet_force *i, pair_sums *sums)
{
    const gpu_rows *r = &a->rows;
    const int       pos = at + lane;
    const unsigned  word = pos < end ? r->word[(first << r->shift) + pos] : 0; // filling: no pair counts
    const int       j = pos < end ? gpu_row_slot(r, first, pos) : GPU_OCTET * octet;
    const float4    xq = a->view.xq[j];
    const float3    x = gpu_row_place(xq, a->view.origin[j / GPU_BLOCK], base, &image[word >> 8]);
    float           fx = 0, fy = 0, fz = 0;
    pair_couple     couple = pair_of_j<RULE>(a, j);
    int             k;

    GPU_UNROLL
    for (k = 0; k < GPU_OCTET; k++) {
        const float4 xi = s->x[k];
        const float2 lj = s->lj[k];
        const float  dx = x.x - xi.x, dy = x.y - xi.y, dz = x.z - xi.z;

        couple.qq = xi.w * xq.w;
        if (RULE == PAIR_MATRIX) {
            couple.row = __float_as_int(lj.x);
        } else {
            couple.a_i = lj.x;
            couple.b_i = lj.y;
        }
        const float f = pair_force<ENERGY, RULE, FORM, DEGREE>(a, &couple, (word & 1u << k) != 0, dx * dx + dy * dy + dz * dz, &sums->lj, &sums->q);
        fx += f * dx;
        fy += f * dy;
        fz += f * dz;
        i->f[3 * k] -= f * dx;
        i->f[3 * k + 1] -= f * dy;
        i->f[3 * k + 2] -= f * dz;
    }
    if (ENERGY) {
        pair_add_virial(sums, x.x, x.y, x.z, fx, fy, fz);
        pair_name(&a->view, j, sums);
    }
    put_row(a, s, lane, j, fx, fy, fz);
}

/// 2 N sums over lanes become N: a lane gives its partner at distance `bit` one half and takes the other.
template <int N> static __device__ __forceinline__ void halve(float *f, int lane, int bit)
{
    int k;

    GPU_UNROLL
    for (k = 0; k < N; k++) {
        const float give = lane & bit ? f[k] : f[k + N];

        f[k] = (lane & bit ? f[k + N] : f[k]) + __shfl_xor_sync(GPU_ALL, give, bit);
    }
}

/// Forces of an item on its octet: 24 sums over 32 lanes.
static __device__ __forceinline__ void put_octet(const pair_args *a, int octet, int lane, octet_force *i)
{
    halve<12>(i->f, lane, 16);
    halve<6>(i->f, lane, 8);
    halve<3>(i->f, lane, 4);
    // left: x, y and z of the atom that the lane's upper three bits say, over four lanes
    const bool odd = lane & 1, upper = lane & 2;
    float      f = (odd ? i->f[1] : i->f[0]) + __shfl_xor_sync(GPU_ALL, odd ? i->f[0] : i->f[1], 1);
    float      z = i->f[2] + __shfl_xor_sync(GPU_ALL, i->f[2], 1);
    f = (upper ? z : f) + __shfl_xor_sync(GPU_ALL, upper ? f : z, 2);
    const int component = lane & 3;
    if (component < 3) gpu_add_force(&a->view, GPU_OCTET * octet + lane / 4, component, f);
}

/// First turn of a part of an item's row: turns part / parts, without a division.
static __device__ __forceinline__ int row_turn(const gpu_row_item *item, int part, int turns)
{
    return (int)((unsigned long long)(unsigned)(turns * part) * item->inverse >> 32);
}

template <int ENERGY, int RULE, int FORM, int DEGREE>
static __global__ void __launch_bounds__(THREADS, ENERGY ? 3 : RULE != PAIR_MATRIX && FORM == PAIR_ONE_CUT && (DEGREE == 0 || DEGREE == 7) ? 6 : 4)
k_row(pair_args a)
{
    GPU_SHARED(row_room, rooms, [WARPS]);
    GPU_SHARED(gpu_image, image, [GPU_MOST_IMAGES]);
    const int          lane = (int)threadIdx.x % GPU_WARP, n_warps = (int)gridDim.x * WARPS;
    row_room          *s = &rooms[threadIdx.x / GPU_WARP];
    unsigned long long sum[PAIR_N_TERMS] = {0, 0, 0, 0, 0, 0, 0, 0};
    unsigned           fault = 0;
    int                c, at, k;

    if (a.view.control->tripped) return;
    gpu_row_images(&a.rows, a.view.control, image, (int)threadIdx.x, THREADS);
    __syncthreads();
    for (c = (int)(blockIdx.x * WARPS + threadIdx.x / GPU_WARP); c < a.rows.n_items; c += n_warps) {
        const gpu_row_item item = a.rows.item[c];
        const int          first = a.rows.first[item.octet], n = a.rows.n[item.octet] << a.rows.shift, turns = (n + GPU_WARP - 1) / GPU_WARP;
        const int          end = item.part + 1 == item.parts ? n : GPU_WARP * row_turn(&item, item.part + 1, turns);
        const float4       base = a.view.origin[item.octet / OCTETS];
        pair_sums          sums = {0, 0, 0, 0, 0, 0, 0, 0, false};
        octet_force        i;

        GPU_UNROLL
        for (k = 0; k < 3 * GPU_OCTET; k++) i.f[k] = 0;
        load_octet<RULE>(&a, s, item.octet, lane);
        for (at = GPU_WARP * row_turn(&item, item.part, turns); at < end; at += GPU_WARP)
            do_turn<ENERGY, RULE, FORM, DEGREE>(&a, s, image, base, item.octet, first, at, end, lane, &i, &sums);
        if (ENERGY) {
            GPU_UNROLL
            for (k = 0; k < GPU_OCTET; k++) {
                const float4 x = s->x[k];

                pair_add_virial(&sums, x.x, x.y, x.z, i.f[3 * k], i.f[3 * k + 1], i.f[3 * k + 2]);
            }
            pair_add_sums(&sums, sum, &fault);
        }
        put_octet(&a, item.octet, lane, &i);
        __syncwarp();
    }
    if (ENERGY) pair_put_sums(a.view.control, sum, fault, lane);
}

const pair_kernels *GPU_NAME(pair_row_kernels)(void)
{
    static const pair_kernels all = PAIR_KERNELS(k_row);

    return &all;
}
