// SPDX-License-Identifier: Apache-2.0
// Kernels of the mesh's Fourier transform, compiled once per ISA level.
//
// Eight transforms run side by side, one in each lane, so a 1-D transform is scalar code on vectors: Stockham stages of
// radix 2 to 13, any other factor by its sum. Real and imaginary parts are vectors of their own; an inverse transform is a
// forward one with the two exchanged. How a plane goes (x fixed):
//   1. along y, lanes are neighbours in z: real rows as they lie. The z of one vector are the real parts, those of the
//      next the imaginary parts of one complex transform, which is taken apart into two half spectra afterwards
//   2. blocks of 8 x 8 are transposed: lanes are neighbours in ky
//   3. along z; the last stage writes the plane of waves [kz][ky]
// then along x on the waves as they lie. Half of the waves are along y because that needs one transposition where half along z needs
// two. Everything of a plane but its ends is in the first-level cache. Sources: [frigo2005] for the two-for-one transform.
#include "cpu/isa_fft.h"
#include "cpu/isa.h"
#include "cpu/shuffle.h"

#include <stddef.h>
#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

// Levels without vectors of eight go through the lanes four at a time.
#if defined(__AVX__)
enum { TOGETHER = 8 };
typedef float vec __attribute__((vector_size(32), may_alias));
#else
enum { TOGETHER = 4 };
typedef float vec __attribute__((vector_size(16), may_alias));
#endif
typedef float row4 __attribute__((vector_size(16), may_alias));

enum { MOST = 13 }; // largest radix with code of its own

/// n vectors of one part, `stride` floats apart.
typedef struct {
    float    *re, *im;
    ptrdiff_t stride;
} lanes;

typedef struct {
    vec re, im;
} wave;

ALWAYS wave load(const lanes *a, ptrdiff_t i)
{
    wave w;

    memcpy(&w.re, a->re + i * a->stride, sizeof w.re);
    memcpy(&w.im, a->im + i * a->stride, sizeof w.im);
    return w;
}

ALWAYS void store(const lanes *a, ptrdiff_t i, wave w)
{
    memcpy(a->re + i * a->stride, &w.re, sizeof w.re);
    memcpy(a->im + i * a->stride, &w.im, sizeof w.im);
}

ALWAYS wave sum(wave a, wave b)
{
    return (wave){a.re + b.re, a.im + b.im};
}

ALWAYS wave less(wave a, wave b)
{
    return (wave){a.re - b.re, a.im - b.im};
}

/// a + i c b
ALWAYS wave turned(wave a, float c, wave b)
{
    return (wave){a.re - c * b.im, a.im + c * b.re};
}

// cos and sin of 2 pi k/radix
static const float cos_3[] = {1, -0.5f, -0.5f}, sin_3[] = {0, 0.86602540378443865f, -0.86602540378443865f};
static const float cos_5[] = {1, 0.30901699437494742f, -0.80901699437494742f, -0.80901699437494742f, 0.30901699437494742f};
static const float sin_5[] = {0, 0.95105651629515357f, 0.58778525229247313f, -0.58778525229247313f, -0.95105651629515357f};
static const float cos_7[] = {1, 0.62348980185873353f, -0.22252093395631440f, -0.90096886790241913f, -0.90096886790241913f,
                              -0.22252093395631440f, 0.62348980185873353f};
static const float sin_7[] = {0, 0.78183148246802981f, 0.97492791218182361f, 0.43388373911755812f, -0.43388373911755812f,
                              -0.97492791218182361f, -0.78183148246802981f};

/// Sums of an odd radix: x_j + x_(r-j) goes with the cosines, x_j - x_(r-j) with the sines.
ALWAYS void odd(int r, const float *c, const float *s, wave *x)
{
    const wave first = x[0];
    wave       even[MOST], rest[MOST];

#pragma GCC unroll 16
    for (int j = 1; j <= r / 2; j++) {
        even[j] = sum(x[j], x[r - j]);
        rest[j] = less(x[j], x[r - j]);
        x[0] = sum(x[0], even[j]);
    }
#pragma GCC unroll 16
    for (int k = 1; k <= r / 2; k++) {
        wave a = first, b = {{0}, {0}};

#pragma GCC unroll 16
        for (int j = 1; j <= r / 2; j++) {
            a.re += c[j * k % r] * even[j].re;
            a.im += c[j * k % r] * even[j].im;
            b.re += s[j * k % r] * rest[j].re;
            b.im += s[j * k % r] * rest[j].im;
        }
        x[k] = turned(a, -1, b);
        x[r - k] = turned(a, 1, b);
    }
}

ALWAYS void butterfly(int r, wave *x)
{
    if (r == 2) {
        const wave a = x[0];

        x[0] = sum(a, x[1]);
        x[1] = less(a, x[1]);
    } else if (r == 4) {
        const wave a = sum(x[0], x[2]), b = less(x[0], x[2]), c = sum(x[1], x[3]), d = less(x[1], x[3]);

        x[0] = sum(a, c);
        x[1] = turned(b, -1, d);
        x[2] = less(a, c);
        x[3] = turned(b, 1, d);
    } else if (r == 3) {
        odd(3, cos_3, sin_3, x);
    } else if (r == 5) {
        odd(5, cos_5, sin_5, x);
    } else {
        odd(7, cos_7, sin_7, x);
    }
}

/// One stage of radix r: `m` = waves of this stage's transform over r, `s` = transforms interleaved.
ALWAYS void stage(int r, int32_t m, int32_t s, const float *twiddle, const lanes *in, const lanes *out)
{
    for (int32_t p = 0; p < m; p++) {
        const float *w = twiddle + (ptrdiff_t)p * (r - 1) * 2;

        for (int32_t q = 0; q < s; q++) {
            wave x[8];

#pragma GCC unroll 8
            for (int j = 0; j < r; j++) x[j] = load(in, q + (ptrdiff_t)s * (p + (ptrdiff_t)m * j));
            butterfly(r, x);
            store(out, q + (ptrdiff_t)s * r * p, x[0]);
#pragma GCC unroll 8
            for (int k = 1; k < r; k++) {
                const float c = w[2 * k - 2], d = w[2 * k - 1];

                if (p) x[k] = (wave){c * x[k].re - d * x[k].im, c * x[k].im + d * x[k].re};
                store(out, q + (ptrdiff_t)s * (r * p + k), x[k]);
            }
        }
    }
}

static void stage_2(int32_t m, int32_t s, const float *twiddle, const lanes *in, const lanes *out)
{
    stage(2, m, s, twiddle, in, out);
}
static void stage_3(int32_t m, int32_t s, const float *twiddle, const lanes *in, const lanes *out)
{
    stage(3, m, s, twiddle, in, out);
}
static void stage_4(int32_t m, int32_t s, const float *twiddle, const lanes *in, const lanes *out)
{
    stage(4, m, s, twiddle, in, out);
}
static void stage_5(int32_t m, int32_t s, const float *twiddle, const lanes *in, const lanes *out)
{
    stage(5, m, s, twiddle, in, out);
}
static void stage_7(int32_t m, int32_t s, const float *twiddle, const lanes *in, const lanes *out)
{
    stage(7, m, s, twiddle, in, out);
}

/// Any radix, by its sum.
static void stage_any(int32_t r, const float *root, int32_t m, int32_t s, const float *twiddle, const lanes *in,
                      const lanes *out)
{
    for (int32_t p = 0; p < m; p++)
        for (int32_t q = 0; q < s; q++)
            for (int32_t k = 0; k < r; k++) {
                const float *w = k ? twiddle + ((ptrdiff_t)p * (r - 1) + k - 1) * 2 : root;
                wave         a = {{0}, {0}};

                for (int32_t j = 0, e = 0; j < r; j++, e = e + k < r ? e + k : e + k - r) {
                    const wave x = load(in, q + (ptrdiff_t)s * (p + (ptrdiff_t)m * j));

                    a.re += root[2 * e] * x.re - root[2 * e + 1] * x.im;
                    a.im += root[2 * e] * x.im + root[2 * e + 1] * x.re;
                }
                store(out, q + (ptrdiff_t)s * ((ptrdiff_t)r * p + k),
                      (wave){w[0] * a.re - w[1] * a.im, w[0] * a.im + w[1] * a.re});
            }
}

/// in to out, which may be the same place; work [2][n][FFT_WAVE]. An inverse exchanges re and im of both.
static void transform_some(const fft_line *l, const lanes *in, const lanes *out, float *work)
{
    const bool turn = in->re > in->im; // the work may lie either way
    int32_t    n = l->n, s = 1;
    lanes      from = *in;

    for (int32_t k = 0; k < l->n_stages; k++) {
        float *place = work + (k & 1 ? (ptrdiff_t)l->n * FFT_WAVE : 0);
        lanes  to = {place + (turn ? FFT_LANES : 0), place + (turn ? 0 : FFT_LANES), FFT_WAVE};
        const int32_t r = l->radix[k], m = n / r;

        if (k > 0 && k + 1 == l->n_stages) to = *out;
        switch (r) {
        case 2: stage_2(m, s, l->twiddle[k], &from, &to); break;
        case 3: stage_3(m, s, l->twiddle[k], &from, &to); break;
        case 4: stage_4(m, s, l->twiddle[k], &from, &to); break;
        case 5: stage_5(m, s, l->twiddle[k], &from, &to); break;
        case 7: stage_7(m, s, l->twiddle[k], &from, &to); break;
        default: stage_any(r, l->root[k], m, s, l->twiddle[k], &from, &to); break;
        }
        from = to;
        n = m;
        s *= r;
    }
    if (l->n_stages < 2) // nothing was written to `out`, which may be `in`
        for (int32_t i = 0; i < l->n; i++) store(out, i, load(&from, i));
}

/// The same lines, lanes from `first` on.
ALWAYS lanes from_lane(const lanes *a, int first)
{
    return (lanes){a->re + first, a->im + first, a->stride};
}

ALWAYS void transform(const fft_line *l, const lanes *in, const lanes *out, float *work)
{
    for (int first = 0; first < FFT_LANES; first += TOGETHER) {
        const lanes from = from_lane(in, first), to = from_lane(out, first);

        transform_some(l, &from, &to, work);
    }
}

ALWAYS lanes parts(float *at, ptrdiff_t stride)
{
    return (lanes){at, at + FFT_LANES, stride};
}

ALWAYS lanes swapped(lanes a)
{
    return (lanes){a.im, a.re, a.stride};
}

/// to[j][i] = from[i][j], 8 x 8.
ALWAYS void transpose(const float *from, ptrdiff_t from_stride, float *to, ptrdiff_t to_stride)
{
    for (int i = 0; i < FFT_LANES; i += 4)
        for (int j = 0; j < FFT_LANES; j += 4) {
            row4 a[4], b[4];

            for (int k = 0; k < 4; k++) memcpy(&a[k], from + (i + k) * from_stride + j, sizeof a[k]);
            b[0] = SHUFFLE4(a[0], a[1], 0, 4, 1, 5);
            b[1] = SHUFFLE4(a[0], a[1], 2, 6, 3, 7);
            b[2] = SHUFFLE4(a[2], a[3], 0, 4, 1, 5);
            b[3] = SHUFFLE4(a[2], a[3], 2, 6, 3, 7);
            a[0] = SHUFFLE4(b[0], b[2], 0, 1, 4, 5);
            a[1] = SHUFFLE4(b[0], b[2], 2, 3, 6, 7);
            a[2] = SHUFFLE4(b[1], b[3], 0, 1, 4, 5);
            a[3] = SHUFFLE4(b[1], b[3], 2, 3, 6, 7);
            for (int k = 0; k < 4; k++) memcpy(to + (j + k) * to_stride + i, &a[k], sizeof a[k]);
        }
}

/// The work of a plane: [2][longest][FFT_WAVE] for stages, [longest][FFT_WAVE] for a line, and the half spectra along y:
/// [row/8][8 blocks][FFT_WAVE], lanes in z.
ALWAYS float *line_of(const fft_plan *plan, float *work)
{
    const int32_t *n = plan->n, longest = n[1] > n[2] ? n[1] : n[2];

    return work + 2 * (ptrdiff_t)(longest > n[0] ? longest : n[0]) * FFT_WAVE;
}

ALWAYS float *spectra_of(const fft_plan *plan, float *work)
{
    const int32_t long_one = plan->n[0] > plan->n[1] ? plan->n[0] : plan->n[1];

    // whole vectors along z are written
    return line_of(plan, work) + (ptrdiff_t)(plan->row > long_one ? plan->row : long_one) * FFT_WAVE;
}

static void forward(const fft_plan *plan, const float *real, float *waves, float *work)
{
    const int32_t   n1 = plan->n[1], half = plan->half, blocks = plan->blocks;
    const ptrdiff_t spectrum = (ptrdiff_t)blocks * FFT_LANES * FFT_WAVE;
    float          *line = line_of(plan, work), *spectra = spectra_of(plan, work);
    const lanes     here = parts(line, FFT_WAVE);

    for (int32_t z = 0; z < plan->row; z += FFT_WAVE) {
        const lanes in = parts((float *)(uintptr_t)(real + z), plan->row); // only read
        const lanes a = parts(spectra + z / FFT_LANES * spectrum, FFT_WAVE),
                    b = parts(spectra + (z / FFT_LANES + 1) * spectrum, FFT_WAVE);

        transform(&plan->line[1], &in, &here, work);
        for (int first = 0; first < FFT_LANES; first += TOGETHER) {
            const lanes of = from_lane(&here, first), to_a = from_lane(&a, first), to_b = from_lane(&b, first);

            for (int32_t k = 0; k < half; k++) {
                const wave u = load(&of, k), v = load(&of, k ? n1 - k : 0);

                store(&to_a, k, (wave){0.5f * (u.re + v.re), 0.5f * (u.im - v.im)});
                store(&to_b, k, (wave){0.5f * (u.im + v.im), 0.5f * (v.re - u.re)});
            }
        }
    }
    for (int32_t k = 0; k < blocks; k++) {
        const lanes out = parts(waves + (ptrdiff_t)k * FFT_WAVE, (ptrdiff_t)blocks * FFT_WAVE);

        for (int32_t z = 0; z < plan->row; z += FFT_LANES)
            for (int part = 0; part < FFT_WAVE; part += FFT_LANES)
                transpose(spectra + z / FFT_LANES * spectrum + (ptrdiff_t)k * FFT_LANES * FFT_WAVE + part, FFT_WAVE,
                          line + (ptrdiff_t)z * FFT_WAVE + part, FFT_WAVE);
        transform(&plan->line[2], &here, &out, work);
    }
}

static void backward(const fft_plan *plan, const float *waves, float *real, float *work)
{
    const int32_t   n1 = plan->n[1], half = plan->half, blocks = plan->blocks;
    const ptrdiff_t spectrum = (ptrdiff_t)blocks * FFT_LANES * FFT_WAVE;
    float          *line = line_of(plan, work), *spectra = spectra_of(plan, work);
    const lanes     here = swapped(parts(line, FFT_WAVE));

    // lanes beyond n2 share transforms with others: they must not hold what was here before
    memset(line + (ptrdiff_t)plan->n[2] * FFT_WAVE, 0, (size_t)(plan->row - plan->n[2]) * FFT_WAVE * sizeof *line);
    for (int32_t k = 0; k < blocks; k++) {
        const lanes in = swapped(parts((float *)(uintptr_t)(waves + (ptrdiff_t)k * FFT_WAVE), (ptrdiff_t)blocks * FFT_WAVE));

        transform(&plan->line[2], &in, &here, work);
        for (int32_t z = 0; z < plan->row; z += FFT_LANES)
            for (int part = 0; part < FFT_WAVE; part += FFT_LANES)
                transpose(line + (ptrdiff_t)z * FFT_WAVE + part, FFT_WAVE,
                          spectra + z / FFT_LANES * spectrum + (ptrdiff_t)k * FFT_LANES * FFT_WAVE + part, FFT_WAVE);
    }
    for (int32_t z = 0; z < plan->row; z += FFT_WAVE) {
        const lanes out = swapped(parts(real + z, plan->row));
        const lanes a = parts(spectra + z / FFT_LANES * spectrum, FFT_WAVE),
                    b = parts(spectra + (z / FFT_LANES + 1) * spectrum, FFT_WAVE), to = parts(line, FFT_WAVE);

        for (int first = 0; first < FFT_LANES; first += TOGETHER) {
            const lanes of_a = from_lane(&a, first), of_b = from_lane(&b, first), into = from_lane(&to, first);

            for (int32_t k = 0; k < half; k++) {
                wave u = load(&of_a, k), v = load(&of_b, k);

                if (k == 0 || 2 * k == n1) u.im = v.im = (vec){0}; // real, but for rounding
                store(&into, k, (wave){u.re - v.im, u.im + v.re});
                if (k) store(&into, n1 - k, (wave){u.re + v.im, v.re - u.im});
            }
        }
        transform(&plan->line[1], &here, &out, work);
    }
}

static void along(const fft_plan *plan, int sign, float *waves, int32_t stride, float *work)
{
    const lanes here = parts(waves, stride), back = swapped(here);

    transform(&plan->line[0], sign < 0 ? &here : &back, sign < 0 ? &here : &back, work);
}

static void convolve(const fft_plan *plan, float *waves, int32_t stride, const float *factor, int32_t factor_stride,
                     float *work)
{
    float      *line = line_of(plan, work);
    const lanes here = parts(waves, stride), held = parts(line, FFT_WAVE);
    const lanes back_here = swapped(here), back_held = swapped(held);

    transform(&plan->line[0], &here, &held, work);
    for (int first = 0; first < FFT_LANES; first += TOGETHER) {
        const lanes of = from_lane(&held, first);

        for (int32_t i = 0; i < plan->n[0]; i++) {
            wave w = load(&of, i);
            vec  f;

            memcpy(&f, factor + (ptrdiff_t)i * factor_stride + first, sizeof f);
            w.re *= f;
            w.im *= f;
            store(&of, i, w);
        }
    }
    transform(&plan->line[0], &back_held, &back_here, work);
}

extern const isa_fft MDS_ISA_NAME(mds_isa_fft);
const isa_fft        MDS_ISA_NAME(mds_isa_fft) = {.forward = forward, .backward = backward, .along = along, .convolve = convolve};
