// SPDX-License-Identifier: Apache-2.0
// Gaussian numbers by the vector: the bits of base/rng.h, the logarithm and the sine and cosine of Box and Muller as polynomials.
//
// Philox works on 32-bit words kept in lanes of 64 bits, where the hardware multiplies 32 x 32 to 64. Logarithm: the fraction
// brought to [1/sqrt 2, sqrt 2], then 2 artanh((f - 1)/(f + 1)), and the exponent's ln 2 in two parts. Sine and cosine of a number
// of turns: the nearest quarter out, exact since the bits have 33 places, then both polynomials on an eighth each way.
// Equal to libm's to a rounding or two (test_move).
#ifndef MDS_CPU_ISA_GAUSS_H
#define MDS_CPU_ISA_GAUSS_H

#include "cpu/simd_double.h"

typedef uint64_t vu __attribute__((vector_size(8 * VD_WIDTH), may_alias));

/// The low words' product.
VD_INLINE vu vu_multiply(vu a, uint32_t b)
{
    const vu zero = {0}, factor = zero + b;

#if VD_WIDTH == 8
    return (vu)_mm512_mul_epu32((__m512i)a, (__m512i)factor);
#elif VD_WIDTH == 4
    return (vu)_mm256_mul_epu32((__m256i)a, (__m256i)factor);
#elif defined(__SSE2__)
    return (vu)_mm_mul_epu32((__m128i)a, (__m128i)factor);
#else
    return (a & 0xffffffffu) * factor;
#endif
}

/// mds_philox for one counter a lane; words in the low halves, what the high ones hold in between does not matter.
VD_INLINE void vu_philox(vu c[4], uint64_t key)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

    for (int round = 0; round < 10; round++) {
        const vu p0 = vu_multiply(c[0], 0xD2511F53u), p1 = vu_multiply(c[2], 0xCD9E8D57u);

        c[0] = (p1 >> 32) ^ c[1] ^ k0;
        c[2] = (p0 >> 32) ^ c[3] ^ k1;
        c[1] = p1;
        c[3] = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int k = 0; k < 4; k++) c[k] &= 0xffffffffu;
}

/// (word + 1/2)/2^32, exact.
VD_INLINE vd vd_uniform(vu word)
{
    // 2^52 + word has the word as its last bits
    const vd shifted = (vd)(word | 0x4330000000000000u) - 4503599627370496.0;

    return (shifted + 0.5) * (1.0 / 4294967296.0);
}

/// ln a for normal a > 0.
VD_INLINE vd vd_log(vd a)
{
    // bits above those of 1/sqrt 2 count as exponent
    const vu bits = (vu)a - 0x3fe6a09e667f3bcdu, whole = bits & 0xfff0000000000000u;
    const vd f = (vd)((vu)a - whole) - 1;
    const vl exponent = (vl)whole >> 52;
    const vd e = (vd)((vu)exponent + 0x4338000000000000u) - 6755399441055744.0; // 1.5 2^52 + exponent
    // (log((1+s)/(1-s)) - 2s)/s^3 in s^2, s up to 0.1716: minimax, error 1e-17 of the result [sun1993]
    const vd s = f / (2 + f), z = s * s;
    const vd p = z * (0.6666666666666735130 + z * (0.3999999999940941908 + z * (0.2857142874366239149 + z * (0.2222219843214978396 + z * (0.1818357216161805012 + z * (0.1531383769920937332 + z * 0.1479819860511658591))))));
    const vd half = 0.5 * f * f;

    return e * 6.93147180369123816490e-01 - ((half - (s * (half + p) + e * 1.90821492927058770002e-10)) - f);
}

/// Cosine and sine of 2 pi a, 0 <= a <= 1.
VD_INLINE void vd_turn_about(vd a, vd *cosine, vd *sine)
{
    const vd big = vd_set(6755399441055744.0), quarters = 4 * a + big; // the last bits are the nearest quarter
    const vd t = (a - 0.25 * (quarters - big)) * 6.283185307179586477, z = t * t;
    // minimax on an eighth of a turn each way, errors below 1e-17
    const vd s = t + t * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    const vd c = 1 - (0.5 * z - z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))));
    const vu zero = {0}, q = (vu)quarters, odd = zero - (q & 1), second = (q & 2) << 62, minus = ((q + 1) & 2) << 62;

    *sine = (vd)((((vu)s & ~odd) | ((vu)c & odd)) ^ second);
    *cosine = (vd)((((vu)c & ~odd) | ((vu)s & odd)) ^ minus);
}

/// The first three numbers of mds_gauss4, for one index a lane.
VD_INLINE void vd_gauss3(uint64_t seed, uint32_t purpose, uint64_t step, const int32_t *index, vd out[3])
{
    const vu zero = {0};
    vu       c[4] = {zero + (uint32_t)step, zero + (uint32_t)(step >> 32), zero, zero + purpose};
    uint64_t lane[VD_WIDTH];
    vd       cosine, sine, r;

    for (int l = 0; l < VD_WIDTH; l++) lane[l] = (uint32_t)index[l];
    memcpy(&c[2], lane, sizeof c[2]);
    vu_philox(c, seed);
    r = vd_root(-2 * vd_log(vd_uniform(c[0])));
    vd_turn_about(vd_uniform(c[1]), &cosine, &sine);
    out[0] = r * cosine;
    out[1] = r * sine;
    r = vd_root(-2 * vd_log(vd_uniform(c[2])));
    vd_turn_about(vd_uniform(c[3]), &cosine, &sine);
    out[2] = r * cosine;
}

#endif
