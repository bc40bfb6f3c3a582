// SPDX-License-Identifier: Apache-2.0
// Vectors of floats as the kernels see them: the only place where instruction sets are named.
//
// A tile is 4 x 4 atoms, 16 pairs. A vector of VF_WIDTH = 4, 8 or 16 floats holds VF_WIDTH/4 groups of four lanes:
// group g belongs to atom i = g of its part of the tile, the lane inside the group is atom j. So
//
//     width 16:  one part    i0j0 i0j1 i0j2 i0j3 | i1j0 .. | i2j0 .. | i3j0 ..
//     width  8:  two parts   i0j0 i0j1 i0j2 i0j3 | i1j0 ..        and   i2.. | i3..
//     width  4:  four parts  i0j0 i0j1 i0j2 i0j3                  and   i1.. , i2.. , i3..
//
// and bit 4 i + j of a 16-bit tile mask is lane 4 i + j, whatever the width. Arithmetic is written with the operators of
// GCC's vector extensions; a * b + c becomes a fused multiply-add where the level has one (-ffp-contract=fast).
// The width follows from the flags a file is compiled with; without x86 vectors (NEON, others) it is 4.
#ifndef MDS_SIMD_H
#define MDS_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VF_WIDTH 16
#elif defined(__AVX2__)
#define VF_WIDTH 8
#else
#define VF_WIDTH 4
#endif
#define VF_GROUPS (VF_WIDTH / 4) // atoms i in a vector
#define VF_PARTS (16 / VF_WIDTH) // vectors in a tile
#define ALWAYS static inline __attribute__((always_inline))

typedef float   vf __attribute__((vector_size(4 * VF_WIDTH), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * VF_WIDTH), may_alias));
typedef float   vf4 __attribute__((vector_size(16), may_alias));
typedef int32_t vi4 __attribute__((vector_size(16), may_alias));
#if VF_WIDTH == 16
typedef __mmask16 vm;
typedef float     vh __attribute__((vector_size(32), may_alias)); // the lower half of a vector: half the time where those are split in two
#else
typedef vi vm; // all bits of a lane set or none
#endif

ALWAYS vf vf_set(float a)
{
#if VF_WIDTH == 16
    return (vf)_mm512_set1_ps(a);
#elif VF_WIDTH == 8
    return (vf)_mm256_set1_ps(a);
#else
    return (vf){a, a, a, a};
#endif
}

ALWAYS vf vf_load(const float *p) // any alignment
{
    vf v;

    memcpy(&v, p, sizeof v);
    return v;
}

/// The four floats at p in every group: one value for each j.
ALWAYS vf vf_every_group(const float *p)
{
#if VF_WIDTH == 16
    return (vf)_mm512_broadcast_f32x4(_mm_load_ps(p));
#elif VF_WIDTH == 8
    return (vf)_mm256_broadcast_ps((const __m128 *)p);
#else
    return vf_load(p);
#endif
}

ALWAYS vi vi_every_group(const int32_t *p)
{
    return (vi)vf_every_group((const float *)(const void *)p);
}

/// p[0], p[1], ... each over the four lanes of its group: one value for each i.
ALWAYS vf vf_by_group(const float *p)
{
#if VF_WIDTH == 16
    return (vf)_mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
                                     _mm512_castps128_ps512(_mm_loadu_ps(p)));
#elif VF_WIDTH == 8
    return (vf){p[0], p[0], p[0], p[0], p[1], p[1], p[1], p[1]};
#else
    return vf_set(p[0]);
#endif
}

ALWAYS vi vi_by_group(const int32_t *p)
{
    return (vi)vf_by_group((const float *)(const void *)p);
}

ALWAYS vf vf_max(vf a, vf b)
{
#if VF_WIDTH == 16
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif VF_WIDTH == 8
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    const vi less = a < b;

    return (vf)(((vi)b & less) | ((vi)a & ~less));
#endif
}

ALWAYS vf vf_min(vf a, vf b)
{
    return -vf_max(-a, -b);
}

ALWAYS vf vf_root(vf a)
{
#if VF_WIDTH == 16
    return (vf)_mm512_sqrt_ps((__m512)a);
#elif VF_WIDTH == 8
    return (vf)_mm256_sqrt_ps((__m256)a);
#elif defined(__SSE2__)
    return (vf)_mm_sqrt_ps((__m128)a);
#else
    return (vf){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
#endif
}

/// Whole numbers, towards 0.
ALWAYS vi vi_of(vf a)
{
    return __builtin_convertvector(a, vi);
}

/// 0, 1, 2, ..
ALWAYS vi vi_count(void)
{
#if VF_WIDTH == 16
    return (vi){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif VF_WIDTH == 8
    return (vi){0, 1, 2, 3, 4, 5, 6, 7};
#else
    return (vi){0, 1, 2, 3};
#endif
}

ALWAYS vm vf_less(vf a, vf b)
{
#if VF_WIDTH == 16
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
#else
    return a < b;
#endif
}

/// Lanes of part `part` of a 16-bit tile mask.
ALWAYS vm vm_of_tile(uint32_t bits, int part)
{
#if VF_WIDTH == 16
    (void)part;
    return (__mmask16)bits;
#elif VF_WIDTH == 8
    const vi bit = {1, 2, 4, 8, 16, 32, 64, 128};
    const vi all = (vi)_mm256_set1_epi32((int32_t)(bits >> (8 * part)));

    return (all & bit) != 0;
#else
    const int32_t b = (int32_t)(bits >> (4 * part));
    const vi      bit = {1, 2, 4, 8}, all = {b, b, b, b};

    return (all & bit) != 0;
#endif
}

ALWAYS bool vm_any(vm m)
{
#if VF_WIDTH == 16
    return m != 0;
#elif VF_WIDTH == 8
    return !_mm256_testz_si256((__m256i)m, (__m256i)m);
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)m) != 0;
#else
    return (m[0] | m[1] | m[2] | m[3]) != 0;
#endif
}

/// One bit a lane.
ALWAYS uint32_t vm_bits(vm m)
{
#if VF_WIDTH == 16
    return m;
#elif VF_WIDTH == 8
    return (uint32_t)_mm256_movemask_ps((__m256)m);
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)m);
#else
    return (uint32_t)((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
#endif
}

ALWAYS vi vi_load(const void *p) // any alignment
{
    vi v;

    memcpy(&v, p, sizeof v);
    return v;
}

/// Even and odd elements of 2 VF_WIDTH integers.
ALWAYS void vi_load_pairs(const void *p, vi *even, vi *odd)
{
    const vi low = vi_load(p), high = vi_load((const char *)p + sizeof low);

#if VF_WIDTH == 16
    const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);

    *even = (vi)_mm512_permutex2var_epi32((__m512i)low, first, (__m512i)high);
    *odd = (vi)_mm512_permutex2var_epi32((__m512i)low, _mm512_add_epi32(first, _mm512_set1_epi32(1)), (__m512i)high);
#else
    int k;

    for (k = 0; k < VF_WIDTH / 2; k++) {
        (*even)[k] = low[2 * k];
        (*odd)[k] = low[2 * k + 1];
        (*even)[VF_WIDTH / 2 + k] = high[2 * k];
        (*odd)[VF_WIDTH / 2 + k] = high[2 * k + 1];
    }
#endif
}

#if VF_WIDTH == 16
/// Write j + n for every bit n that is set, packed, and something beyond them up to a whole vector. Returns how many.
ALWAYS int32_t vi_append_numbers(int32_t *to, uint32_t bits, int32_t j)
{
    // not the compressing store, which is slow on Zen
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)bits, (__m512i)(vi_count() + j)));
    return __builtin_popcount(bits & 0xffff);
}

/// Write the lanes of v where a is b, packed, and something beyond them up to a whole vector. Returns how many.
ALWAYS int32_t vi_append_over(int32_t *to, vi a, int32_t b, vi v)
{
    const __mmask16 m = _mm512_cmpeq_epi32_mask((__m512i)a, _mm512_set1_epi32(b));

    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(m, (__m512i)v));
    return __builtin_popcount(m);
}
#endif

/// a where the mask is set, 0 elsewhere (a may be infinite or NaN there).
ALWAYS vf vf_keep(vm m, vf a)
{
#if VF_WIDTH == 16
    return (vf)_mm512_maskz_mov_ps(m, (__m512)a);
#else
    return (vf)((vi)a & m);
#endif
}

/// a where the sign bit of `sign` is clear, 0 elsewhere (a may be infinite or NaN there). Integer work: multipliers stay free.
ALWAYS vf vf_keep_positive(vf sign, vf a)
{
    return (vf)(~((vi)sign >> 31) & (vi)a);
}

/// a * b, kept as a product. A compiler that may contract makes two fused operations of a product that is added to two
/// sums: where additions have pipes of their own (Zen), that takes twice the multiplier's time.
ALWAYS vf vf_product(vf a, vf b)
{
    vf product = a * b;

#if defined(__AVX512F__)
    __asm__("" : "+v"(product));
#elif defined(__SSE2__)
    __asm__("" : "+x"(product));
#endif
    return product;
}

/// About 1/sqrt(a), to 2^-14 or 1.5 2^-12 as the hardware has it.
ALWAYS vf vf_estimate_rsqrt(vf a)
{
#if VF_WIDTH == 16
    return (vf)_mm512_rsqrt14_ps((__m512)a);
#elif VF_WIDTH == 8
    return (vf)_mm256_rsqrt_ps((__m256)a);
#elif defined(__SSE2__)
    return (vf)_mm_rsqrt_ps((__m128)a);
#else
    return (vf){1 / sqrtf(a[0]), 1 / sqrtf(a[1]), 1 / sqrtf(a[2]), 1 / sqrtf(a[3])};
#endif
}

/// About 1/a, as precise.
ALWAYS vf vf_estimate_inverse(vf a)
{
#if VF_WIDTH == 16
    return (vf)_mm512_rcp14_ps((__m512)a);
#elif VF_WIDTH == 8
    return (vf)_mm256_rcp_ps((__m256)a);
#elif defined(__SSE2__)
    return (vf)_mm_rcp_ps((__m128)a);
#else
    return 1.0f / a;
#endif
}

#if VF_WIDTH == 16
ALWAYS vh vh_load(const float *p)
{
    vh v;

    memcpy(&v, p, sizeof v);
    return v;
}

ALWAYS vh vf_lower(vf a)
{
    return (vh)_mm512_castps512_ps256((__m512)a);
}

/// a below zeros.
ALWAYS vf vf_below_zeros(vh a)
{
    return (vf)_mm512_zextps256_ps512((__m256)a);
}
#endif

/// 2/sqrt(a) for a > 0, relative error below 3e-7: the estimate and one Newton step without its factor 1/2, which the
/// callers fold into their constants.
ALWAYS vf vf_two_over_sqrt(vf a)
{
    const vf y = vf_estimate_rsqrt(a);

    return y * (3.0f - (a * y) * y);
}

/// table[index] lane by lane.
ALWAYS vf vf_gather(const float *table, vi index)
{
#if VF_WIDTH == 16
    return (vf)_mm512_i32gather_ps((__m512i)index, table, 4);
#elif VF_WIDTH == 8
    return (vf)_mm256_i32gather_ps(table, (__m256i)index, 4);
#else
    return (vf){table[index[0]], table[index[1]], table[index[2]], table[index[3]]};
#endif
}

/// Add to the line x4 y4 z4 at f the sums over groups: the forces on the four atoms j.
ALWAYS void vf_add_to_line(float *f, vf x, vf y, vf z)
{
#if VF_WIDTH == 16
    const __m512 low = _mm512_shuffle_f32x4((__m512)x, (__m512)y, 0x44);  // x0 x1 y0 y1 (groups)
    const __m512 high = _mm512_shuffle_f32x4((__m512)x, (__m512)y, 0xee); // x2 x3 y2 y3
    const __m512 xy = _mm512_add_ps(low, high);
    const __m512 zz = _mm512_add_ps((__m512)z, _mm512_shuffle_f32x4((__m512)z, (__m512)z, 0x4e));
    // the fourth group stays 0: that part of the line is padding
    const __m512 sum = _mm512_add_ps(_mm512_maskz_shuffle_f32x4(0x0fff, xy, zz, 0x88), // x02 y02 z02
                                     _mm512_maskz_shuffle_f32x4(0x0fff, xy, zz, 0xdd));

    _mm512_store_ps(f, _mm512_add_ps(_mm512_load_ps(f), sum));
#elif VF_WIDTH == 8
    vf4 *line = (vf4 *)f;

    line[0] += (vf4)_mm256_castps256_ps128((__m256)x) + (vf4)_mm256_extractf128_ps((__m256)x, 1);
    line[1] += (vf4)_mm256_castps256_ps128((__m256)y) + (vf4)_mm256_extractf128_ps((__m256)y, 1);
    line[2] += (vf4)_mm256_castps256_ps128((__m256)z) + (vf4)_mm256_extractf128_ps((__m256)z, 1);
#else
    vf4 *line = (vf4 *)f;

    line[0] += x;
    line[1] += y;
    line[2] += z;
#endif
}

/// out[g] += sum of group g: the force on atom i = g.
ALWAYS void vf_add_groups(float *out, vf a)
{
#if VF_WIDTH == 16
    const __m512i first = _mm512_castsi128_si512(_mm_setr_epi32(0, 4, 8, 12));

    a += (vf)_mm512_permute_ps((__m512)a, 0xb1);
    a += (vf)_mm512_permute_ps((__m512)a, 0x4e);
    _mm_storeu_ps(out, _mm_add_ps(_mm_loadu_ps(out), _mm512_castps512_ps128(_mm512_permutexvar_ps(first, (__m512)a))));
#elif VF_WIDTH == 8
    a += (vf)_mm256_permute_ps((__m256)a, 0xb1);
    a += (vf)_mm256_permute_ps((__m256)a, 0x4e);
    out[0] += a[0];
    out[1] += a[4];
#else
    out[0] += (a[0] + a[1]) + (a[2] + a[3]);
#endif
}

/// Sum of all lanes in double.
ALWAYS double vf_sum(vf a)
{
    double sum = 0;
    int    k;

    for (k = 0; k < VF_WIDTH; k++) sum += (double)a[k];
    return sum;
}

#endif
