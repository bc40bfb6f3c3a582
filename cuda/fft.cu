// SPDX-License-Identifier: Apache-2.0
// The whole way from charges to potential in one block, for meshes that fit its shared memory: no launch between the passes, where cuFFT
// takes five to seven kernels of which each lasts as long as its launch.
//
//   x    lines from the fixed-point mesh, which is cleared on the way, into registers, transformed, to shared memory
//   y    lines in place;  z  lines in place
//   waves times their influence factors, energy and virial when due
//   z, y lines in place, x lines to the potential in global memory
//
// The mesh is real: two neighbours along z count as one complex point, so all passes are complex transforms over n2/2 points along
// z and the spectrum takes no more room than the mesh. With C its transform, k and -k give E = (C(k) + C(-k)*)/2 and O = (C(k) - C(-k)*)/2i,
// and S(k) = E + w O, S(k + n2/2) = E - w O, w = e^(-2 pi i k2/n2), are the waves of the real mesh. Both belong to one thread, which
// multiplies them by their factors and packs them again. An inverse transform is a forward one with re and im exchanged.
//
// A thread takes a line in its registers (fft_line.h), so a pass reads and writes shared memory once. Real and imaginary parts are apart;
// rows along z have an odd length, and a plane goes on at the bank where the last row of the one before it would: lanes meet no common
// bank. Shared memory: 8 bytes for two points and padding, 139 kB for 32^3, 96 kB for 28^3, 64 kB for 24^3. Flops for 32^3: 2.4 M a
// direction and some 100 a wave; modelled 10 to 15 us on an H200 (not measured).
#include "fft_line.h"
#include "wave.h"

#include <string.h>

enum { FFT_THREADS = 512, FFT_MAX = 36, FFT_POINTS = 32768 }; // FFT_POINTS: above them cuFFT has enough to do (modelled)

/// One pass of lines. A line q = u across + v begins at u big + v small in shared memory, at q in global memory.
typedef struct {
    float   *re, *im;
    int2    *charge;    // where lines come from instead of shared memory, or NULL
    float2  *potential; // where they go instead, or NULL
    int      count, across, big, small, stride;
    unsigned magic;     // divides by across
} fft_pass;

/// Returns whether a charge was out of range.
template <int N> static __device__ GPU_PART bool lines(const fft_pass *p)
{
    bool out = false;

    for (int q = (int)threadIdx.x; q < p->count; q += (int)blockDim.x) {
        const int u = (int)__umulhi((unsigned)q, p->magic), from = u * p->big + (q - u * p->across) * p->small;
        float     re[N], im[N];

        if (p->charge) {
            GPU_UNROLL
            for (int k = 0; k < N; k++) {
                const int2 two = p->charge[q + k * p->count];

                p->charge[q + k * p->count] = make_int2(0, 0);
                out |= max(two.x, two.y) > 1 << 30 || min(two.x, two.y) < -(1 << 30);
                re[k] = (float)two.x;
                im[k] = (float)two.y;
            }
        } else {
            GPU_UNROLL
            for (int k = 0; k < N; k++) {
                re[k] = p->re[from + k * p->stride];
                im[k] = p->im[from + k * p->stride];
            }
        }
        fft_line<N>(re, im);
        if (p->potential) { // of the way back: exchanged
            GPU_UNROLL
            for (int k = 0; k < N; k++) p->potential[q + k * p->count] = make_float2(im[k], re[k]);
        } else {
            GPU_UNROLL
            for (int k = 0; k < N; k++) {
                p->re[from + k * p->stride] = re[k];
                p->im[from + k * p->stride] = im[k];
            }
        }
    }
    return out;
}

#define FFT_LENGTHS(DO) \
    DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(12) DO(14) DO(15) DO(16) DO(18) DO(20) DO(21) DO(24) DO(25) DO(27) DO(28) \
    DO(30) DO(32) DO(35) DO(36)

static __device__ __forceinline__ bool lines_of(const fft_pass *p, int n)
{
#define LINES(length) case length: return lines<length>(p);
    switch (n) { FFT_LENGTHS(LINES) }
#undef LINES
    return false;
}

/// The mesh as it lies in shared memory, and what divides indices.
typedef struct {
    int      n[3];        // complex points
    int      row, plane;  // words from row to row along y, from plane to plane along x
    int      size;        // words of the real parts
    int      edge, pairs; // rows (i, j) of waves with i = 0 or n0/2 that have an opposite there; pairs of opposite rows
    unsigned magic[3];    // divide by n1, n2 (complex)
} fft_shape;

/// Constants of a step.
typedef struct {
    mesh_box box;
    float    moduli[3][FFT_MAX];
    float2   turn[FFT_MAX]; // cos, sin of 2 pi k/n2
} fft_tables;

static __device__ __forceinline__ fft_pass pass_of(const fft_shape *s, int axis)
{
    fft_pass p = {NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0};

    p.count = axis == 0 ? s->n[1] * s->n[2] : axis == 1 ? s->n[0] * s->n[2] : s->n[0] * s->n[1];
    p.across = axis == 2 ? s->n[1] : s->n[2];
    p.magic = axis == 2 ? s->magic[1] : s->magic[2];
    p.big = axis == 0 ? s->row : s->plane;
    p.small = axis == 2 ? s->row : 1;
    p.stride = axis == 0 ? s->plane : axis == 1 ? s->row : 1;
    return p;
}

/// Factor of a wave; where it and its opposite are both in the half (l = 0, n2/2), the mean of theirs.
static __device__ __forceinline__ float factor_of(const mesh_view *m, const fft_tables *k, const int f[2], const int g[2], int l, float b2,
                                                  bool both, bool due, float s2, float sum[WAVE_SUMS])
{
    const mesh_wave w = wave_of(m, &k->box, f[0], f[1], l);

    if (!both) {
        if (due) wave_terms(m, &w, b2 * s2, sum);
        return b2 * w.factor;
    }
    const mesh_wave opposite = wave_of(m, &k->box, g[0], g[1], l);
    if (due) {
        wave_terms(m, &w, 0.5f * b2 * s2, sum);
        wave_terms(m, &opposite, 0.5f * b2 * s2, sum);
    }
    return b2 * 0.5f * (w.factor + opposite.factor);
}

/// The opposite waves C at `at` and D at `to`, which is (i, j, l): their factors.
static __device__ __forceinline__ void solve_pair(const mesh_view *m, const fft_shape *s, const fft_tables *k, float *re, float *im, int i, int j,
                                                  int l, bool due, float sum[WAVE_SUMS])
{
    const int   back_i = i ? s->n[0] - i : 0, back_j = j ? s->n[1] - j : 0, back_l = l ? s->n[2] - l : 0;
    const int   at = i * s->plane + j * s->row + l, to = back_i * s->plane + back_j * s->row + back_l;
    const bool  self = i == back_i && j == back_j;
    const int   f[2] = {2 * i < s->n[0] ? i : i - s->n[0], 2 * j < s->n[1] ? j : j - s->n[1]};
    const int   g[2] = {2 * i == s->n[0] ? f[0] : -f[0], 2 * j == s->n[1] ? f[1] : -f[1]};
    const float b2 = k->moduli[0][i] * k->moduli[1][j], cs = k->turn[l].x, sn = k->turn[l].y;

    if (self && l > back_l) return; // its opposite does both
    const float cx = re[at], cy = im[at], dx = re[to], dy = im[to];
    const float ex = cx + dx, ey = cy - dy, ox = cy + dy, oy = dx - cx; // twice E and O
    const float tx = fmaf(ox, cs, oy * sn), ty = fmaf(oy, cs, -ox * sn);
    const float px = ex + tx, py = ey + ty, qx = ex - tx, qy = ey - ty; // twice S(l), S(l + n2/2)
    const float share = self && l == back_l ? 0.125f : 0.25f; // of |2S|^2: each is then met twice
    const float p = 0.5f * factor_of(m, k, f, g, l, b2 * k->moduli[2][l], l == 0, due, share * fmaf(px, px, py * py), sum);
    const float q = 0.5f * factor_of(m, k, g, f, s->n[2] - l, b2 * k->moduli[2][s->n[2] - l], l == 0, due, share * fmaf(qx, qx, qy * qy), sum);
    const float ux = p * px + q * qx, uy = p * py + q * qy, vx = p * px - q * qx, vy = p * py - q * qy;
    const float wx = fmaf(vx, cs, -vy * sn), wy = fmaf(vy, cs, vx * sn);

    re[at] = ux - wy;
    im[at] = uy + wx;
    if (at == to) return;
    re[to] = ux + wy;
    im[to] = wx - uy;
}

static __device__ GPU_PART void solve(const mesh_view *m, const fft_shape *s, const fft_tables *k, float *re, float *im, bool due,
                                             float sum[WAVE_SUMS])
{
    const int half = s->n[1] / 2 + 1;

    for (int w = (int)threadIdx.x; w < s->pairs * s->n[2]; w += (int)blockDim.x) {
        const int pair = (int)__umulhi((unsigned)w, s->magic[2]), l = w - pair * s->n[2], rest = pair - s->edge;
        int       i = pair < half ? 0 : s->n[0] / 2, j = pair < half ? pair : pair - half;

        if (rest >= 0) {
            i = 1 + (int)__umulhi((unsigned)rest, s->magic[1]);
            j = rest - (i - 1) * s->n[1];
        }
        solve_pair(m, s, k, re, im, i, j, l, due, sum);
    }
}

static __global__ __launch_bounds__(FFT_THREADS) void k_fft(gpu_control *c, mesh_view m, fft_shape s, int due)
{
    GPU_SHARED(fft_tables, k, [1]);
    GPU_SHARED_DYN(float, re);
    float    *im = re + s.size;
    const int t = (int)threadIdx.x;
    bool      out = false;

    if (c->tripped) return;
    wave_box(c, m.unit, &k->box);
    for (int a = t; a < m.n[0]; a += (int)blockDim.x) k->moduli[0][a] = m.moduli[0][a];
    for (int a = t; a < m.n[1]; a += (int)blockDim.x) k->moduli[1][a] = m.moduli[1][a];
    for (int a = t; a < m.half; a += (int)blockDim.x) k->moduli[2][a] = m.moduli[2][a];
    for (int a = t; a < s.n[2]; a += (int)blockDim.x) k->turn[a] = m.turn[a];
    for (int pass = 0; pass < 6; pass++) {
        const int axis = pass < 3 ? pass : 5 - pass, n = axis == 0 ? s.n[0] : axis == 1 ? s.n[1] : s.n[2];
        fft_pass  p = pass_of(&s, axis);

        p.re = pass < 3 ? re : im;
        p.im = pass < 3 ? im : re;
        if (pass == 0) p.charge = (int2 *)m.charge;
        if (pass == 5) p.potential = (float2 *)m.real;
        if (pass == 3) {
            float sum[WAVE_SUMS] = {0, 0, 0, 0, 0, 0, 0};

            solve(&m, &s, k, re, im, due != 0, sum);
            if (due) wave_sums<FFT_THREADS>(c, sum, m.unit);
            __syncthreads();
        }
        out |= lines_of(&p, n);
        __syncthreads();
    }
    if (out) gpu_fault(c, MDS_FAULT_RANGE, GPU_NO_ATOM);
    if (due && t == 0) wave_background(c, &m);
}

// --------------------------------------------------------------------------------------------------- host

static bool is_length(int n)
{
#define IS(length) || n == length
    return false FFT_LENGTHS(IS);
#undef IS
}

void GPU_NAME(round_grid)(int32_t grid[3])
{
    int64_t points = 1;
    int     n[3];

    for (int k = 0; k < 3; k++) {
        const int part = k == 2 ? 2 : 1; // pairs along z
        int       length = (grid[k] + part - 1) / part;

        while (length <= FFT_MAX && !is_length(length)) length++;
        if (length > FFT_MAX) return;
        n[k] = part * length;
        points *= n[k];
    }
    if (points > FFT_POINTS || n[2] / 2 + 1 > FFT_MAX) return;
    for (int k = 0; k < 3; k++) grid[k] = n[k];
}

static fft_shape shape_of(const mesh_view *m)
{
    const int n1 = m->n[1], n2 = m->n[2] / 2;
    fft_shape s = {{m->n[0], n1, n2}, n2 | 1, 0, 0, 0, 0, {0, 0, 0}};

    s.plane = n1 * s.row + ((n2 - n1 * s.row) % GPU_WARP + GPU_WARP) % GPU_WARP;
    s.size = m->n[0] * s.plane;
    s.edge = (n1 / 2 + 1) * (m->n[0] % 2 ? 1 : 2);
    s.pairs = s.edge + (m->n[0] - 1) / 2 * n1;
    for (int k = 1; k < 3; k++) s.magic[k] = (unsigned)(4294967296.0 / s.n[k]) + 1;
    return s;
}

bool GPU_NAME(mesh_fits)(const mesh_view *m, bool wanted)
{
    const fft_shape s = shape_of(m);
    cudaDeviceProp  about;
    const size_t    bytes = 2 * (size_t)s.size * sizeof(float), own = sizeof(fft_tables) + 1024; // with the sums of a block

    if (m->n[2] % 2 || m->half > FFT_MAX || (!wanted && m->n[0] * m->n[1] * m->n[2] > FFT_POINTS)) return false;
    for (int k = 0; k < 3; k++)
        if (!is_length(s.n[k])) return false;
    if (cudaGetDeviceProperties(&about, 0) != cudaSuccess || bytes + own > about.sharedMemPerBlockOptin) return false;
    if (cudaFuncSetAttribute(k_fft, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes) == cudaSuccess) return true;
    (void)cudaGetLastError(); // heard: the next launch shall not be blamed
    return false;
}

mds_status GPU_NAME(mesh_transform)(mds_device *d, mds_work work)
{
    const mesh_view *m = &d->mesh->view;
    const fft_shape  s = shape_of(m);
    int              most = s.n[0] > s.n[2] ? s.n[0] : s.n[2], threads;

    most *= s.n[1] > s.n[2] ? s.n[1] : s.n[2];
    threads = (most + FFT_THREADS - 1) / FFT_THREADS;                                         // rounds
    threads = ((most + threads - 1) / threads + GPU_WARP - 1) / GPU_WARP * GPU_WARP;          // in rounds alike
    GPU_LAUNCH(k_fft, 1, (unsigned)threads, 2 * (size_t)s.size * sizeof(float), d->mesh_stream, d->view.control, *m, s,
               (work & (MDS_ENERGY | MDS_VIRIAL)) != 0);
    return MDS_OK;
}
