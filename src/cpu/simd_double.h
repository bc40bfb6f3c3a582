// SPDX-License-Identifier: Apache-2.0
// Vectors of doubles as the kernels of bonded terms and motion see them; the floats of the pair kernels are in simd.h.
//
// A vector holds one number of VD_WIDTH = 8, 4 or 2 terms or groups of atoms, one a lane. Atoms come from rows of doubles in
// memory (x y z, and a fourth number or the next atom's x) through a transposition in registers: 11 shuffles for eight rows with
// AVX-512, where hardware gathers take some 70 cycles for the same. Arithmetic is written with the operators of GCC's vector
// extensions; a * b + c becomes a fused multiply-add where the level has one.
#ifndef MDS_SIMD_DOUBLE_H
#define MDS_SIMD_DOUBLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VD_WIDTH 8
#elif defined(__AVX2__)
#define VD_WIDTH 4
#else
#define VD_WIDTH 2
#endif
#define VD_INLINE static inline __attribute__((always_inline))

typedef double  vd __attribute__((vector_size(8 * VD_WIDTH), may_alias));
typedef int64_t vl __attribute__((vector_size(8 * VD_WIDTH), may_alias));

VD_INLINE vd vd_set(double a)
{
    const vd zero = {0};

    return zero + a;
}

VD_INLINE vd vd_load(const double *p) // any alignment
{
    vd v;

    memcpy(&v, p, sizeof v);
    return v;
}

VD_INLINE vd vd_root(vd a)
{
#if VD_WIDTH == 8
    return (vd)_mm512_sqrt_pd((__m512d)a);
#elif VD_WIDTH == 4
    return (vd)_mm256_sqrt_pd((__m256d)a);
#elif defined(__SSE2__)
    return (vd)_mm_sqrt_pd((__m128d)a);
#else
    return (vd){sqrt(a[0]), sqrt(a[1])};
#endif
}

/// 1/sqrt(a), to two roundings; NaN for a < 0.
VD_INLINE vd vd_inv_root(vd a)
{
#if VD_WIDTH == 8
    vd y = (vd)_mm512_rsqrt14_pd((__m512d)a); // 2^-14, then 2^-27, then rounding

    y += 0.5 * y * (1 - a * y * y);
    return y + 0.5 * y * (1 - a * y * y);
#else
    return 1 / vd_root(a);
#endif
}

/// yes where a > b, no elsewhere and where one of them is NaN.
VD_INLINE vd vd_if_greater(vd a, vd b, vd yes, vd no)
{
#if VD_WIDTH == 8
    return (vd)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ), (__m512d)no, (__m512d)yes);
#elif VD_WIDTH == 4
    return (vd)_mm256_blendv_pd((__m256d)no, (__m256d)yes, _mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GT_OQ));
#else
    const vl more = a > b;

    return (vd)(((vl)yes & more) | ((vl)no & ~more));
#endif
}

/// Whether a > b in some lane; NaN is not.
VD_INLINE bool vd_any_greater(vd a, vd b)
{
#if VD_WIDTH == 8
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ) != 0;
#elif VD_WIDTH == 4
    return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GT_OQ)) != 0;
#else
    const vl more = a > b;

    return (more[0] | more[1]) != 0;
#endif
}

/// Whether a <= b in every lane; NaN is not.
VD_INLINE bool vd_all_within(vd a, vd b)
{
#if VD_WIDTH == 8
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ) == 0xff;
#elif VD_WIDTH == 4
    return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LE_OQ)) == 0xf;
#else
    const vl within = a <= b;

    return (within[0] & within[1]) != 0;
#endif
}

/// |a|, and the sign of b on a >= 0.
VD_INLINE vd vd_abs(vd a)
{
    return (vd)((vl)a & INT64_MAX);
}

VD_INLINE vd vd_sign_of(vd b, vd a)
{
    return (vd)((vl)a | ((vl)b & INT64_MIN));
}

/// Nearest integer, |a| < 2^51.
VD_INLINE vd vd_nearest(vd a)
{
    const double big = 6755399441055744.0; // 1.5 2^52

    return (a + big) - big;
}

VD_INLINE vd vd_dot(const vd a[3], const vd b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

VD_INLINE void vd_cross(const vd a[3], const vd b[3], vd out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/// Sum of all lanes, in lane order.
VD_INLINE double vd_sum(vd a)
{
    double sum = 0;

    for (int l = 0; l < VD_WIDTH; l++) sum += a[l];
    return sum;
}

#if VD_WIDTH == 8
/// Eight rows of four doubles to x, y, z.
VD_INLINE void vd_turn(const double *const row[8], vd out[3])
{
#define ROWS(l, m) _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(row[l])), _mm256_loadu_pd(row[m]), 1)
    const __m512d a = ROWS(0, 2), b = ROWS(1, 3), c = ROWS(4, 6), d = ROWS(5, 7);
    const __m512d ab = _mm512_unpacklo_pd(a, b), cd = _mm512_unpacklo_pd(c, d); // x01 z01 x23 z23, x45 z45 x67 z67

    out[0] = (vd)_mm512_shuffle_f64x2(ab, cd, 0x88);
    out[1] = (vd)_mm512_shuffle_f64x2(_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d), 0x88);
    out[2] = (vd)_mm512_shuffle_f64x2(ab, cd, 0xdd);
#undef ROWS
}
#elif VD_WIDTH == 4
VD_INLINE void vd_turn(const double *const row[4], vd out[3])
{
    const __m256d a = _mm256_loadu_pd(row[0]), b = _mm256_loadu_pd(row[1]), c = _mm256_loadu_pd(row[2]), d = _mm256_loadu_pd(row[3]);
    const __m256d ab = _mm256_unpacklo_pd(a, b), cd = _mm256_unpacklo_pd(c, d); // x01 z01, x23 z23

    out[0] = (vd)_mm256_permute2f128_pd(ab, cd, 0x20);
    out[1] = (vd)_mm256_permute2f128_pd(_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d), 0x20);
    out[2] = (vd)_mm256_permute2f128_pd(ab, cd, 0x31);
}
#else
VD_INLINE void vd_turn(const double *const row[2], vd out[3])
{
    for (int k = 0; k < 3; k++) out[k] = (vd){row[0][k], row[1][k]};
}
#endif

/// x, y, z of the rows at base + offset[lane]. Reads four doubles of each: arrays by slot have room for that (cpu.c).
VD_INLINE void vd_rows(const double *base, const int32_t *offset, vd out[3])
{
    const double *row[VD_WIDTH];

    for (int l = 0; l < VD_WIDTH; l++) row[l] = base + offset[l];
    vd_turn(row, out);
}

/// The first n lanes of x, y, z to the rows at base + offset[lane]. Rows of three doubles: no store may touch what comes after.
VD_INLINE void vd_store_rows(double *base, const int32_t *offset, int n, const vd x[3])
{
#if VD_WIDTH == 8
    const __m512d even = _mm512_unpacklo_pd((__m512d)x[0], (__m512d)x[1]), odd = _mm512_unpackhi_pd((__m512d)x[0], (__m512d)x[1]);
    const __m512d z = (__m512d)x[2];
#define PAIR(l) (l == 0 ? _mm512_castpd512_pd128(even) : l == 1 ? _mm512_castpd512_pd128(odd) : l % 2 ? _mm512_extractf64x2_pd(odd, l / 2) : _mm512_extractf64x2_pd(even, l / 2))
#define LAST(l) (l < 2 ? _mm512_castpd512_pd128(z) : _mm512_extractf64x2_pd(z, l / 2))
#define ROW(l)                                                                                               \
    do {                                                                                                     \
        _mm_storeu_pd(base + offset[l], PAIR(l));                                                                 \
        if (l % 2)                                                                                           \
            _mm_storeh_pd(base + offset[l] + 2, LAST(l));                                                         \
        else                                                                                                 \
            _mm_storel_pd(base + offset[l] + 2, LAST(l));                                                         \
    } while (0)
    if (__builtin_expect(n == 8, 1)) {
        ROW(0);
        ROW(1);
        ROW(2);
        ROW(3);
        ROW(4);
        ROW(5);
        ROW(6);
        ROW(7);
        return;
    }
#undef ROW
#undef LAST
#undef PAIR
#endif
    for (int l = 0; l < n; l++)
        for (int k = 0; k < 3; k++) base[offset[l] + k] = x[k][l];
}

/// Add x, y, z of every lane to the row of four doubles at base + offset[lane], lane after lane; the fourth stays.
VD_INLINE void vd_add_rows(double *base, const int32_t *offset, const vd x[3])
{
#if VD_WIDTH == 8
    const __m512d zero = _mm512_setzero_pd();
    const __m512d xy0 = _mm512_unpacklo_pd((__m512d)x[0], (__m512d)x[1]), z0 = _mm512_unpacklo_pd((__m512d)x[2], zero); // 0 2 4 6
    const __m512d xy1 = _mm512_unpackhi_pd((__m512d)x[0], (__m512d)x[1]), z1 = _mm512_unpackhi_pd((__m512d)x[2], zero); // 1 3 5 7
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    const __m512d r02 = _mm512_permutex2var_pd(xy0, low, z0), r46 = _mm512_permutex2var_pd(xy0, high, z0);
    const __m512d r13 = _mm512_permutex2var_pd(xy1, low, z1), r57 = _mm512_permutex2var_pd(xy1, high, z1);
    const __m256d row[8] = {_mm512_castpd512_pd256(r02),       _mm512_castpd512_pd256(r13),       _mm512_extractf64x4_pd(r02, 1),
                            _mm512_extractf64x4_pd(r13, 1),    _mm512_castpd512_pd256(r46),       _mm512_castpd512_pd256(r57),
                            _mm512_extractf64x4_pd(r46, 1),    _mm512_extractf64x4_pd(r57, 1)};

#pragma GCC unroll 8
    for (int l = 0; l < 8; l++) _mm256_storeu_pd(base + offset[l], _mm256_add_pd(_mm256_loadu_pd(base + offset[l]), row[l]));
#elif VD_WIDTH == 4
    const __m256d zero = _mm256_setzero_pd();
    const __m256d xy0 = _mm256_unpacklo_pd((__m256d)x[0], (__m256d)x[1]), z0 = _mm256_unpacklo_pd((__m256d)x[2], zero); // 0 2
    const __m256d xy1 = _mm256_unpackhi_pd((__m256d)x[0], (__m256d)x[1]), z1 = _mm256_unpackhi_pd((__m256d)x[2], zero); // 1 3
    const __m256d row[4] = {_mm256_permute2f128_pd(xy0, z0, 0x20), _mm256_permute2f128_pd(xy1, z1, 0x20),
                            _mm256_permute2f128_pd(xy0, z0, 0x31), _mm256_permute2f128_pd(xy1, z1, 0x31)};

    for (int l = 0; l < 4; l++) _mm256_storeu_pd(base + offset[l], _mm256_add_pd(_mm256_loadu_pd(base + offset[l]), row[l]));
#else
    for (int l = 0; l < VD_WIDTH; l++)
        for (int k = 0; k < 3; k++) base[offset[l] + k] += x[k][l];
#endif
}

/// The angle of (x, y) in (-pi, pi], good to a few roundings; 0 at the origin. Half angles have no branch cut and no quotient of
/// like numbers: tan(phi/2) = y/(|x| + r); once more where that is above tan(pi/8), then the series.
VD_INLINE vd vd_atan2(vd y, vd x)
{
    // atan(t)/t in t^2 for t <= tan(pi/8): Chebyshev fit, error 1.3e-18
    static const double c[] = {1.0, -0.3333333333333312, 0.1999999999994089, -0.1428571427925024,
                               0.11111110744919396, -0.09090896809056438, 0.07692045330765912, -0.06662951812061838,
                               0.05846878285787001, -0.050351024039430294, 0.037965256099576565, -0.017805395704537506};
    const vd zero = {0}, h = vd_abs(x) + vd_root(x * x + y * y);
    vd       t = vd_abs(y) / vd_if_greater(h, zero, h, zero + 1), times = zero + 2, sum, u;

    if (vd_any_greater(t, zero + 0.4142135623730951)) {
        t = t / (1 + vd_root(1 + t * t));
        times += 2;
    }
    u = t * t;
    sum = zero + c[11];
#pragma GCC unroll 11
    for (int k = 10; k >= 0; k--) sum = sum * u + c[k];
    sum *= times * t;
    return vd_sign_of(y, vd_if_greater(zero, x, 3.14159265358979323846 - sum, sum));
}

#endif
