// SPDX-License-Identifier: Apache-2.0
// Bonded terms: one thread a term, one launch for all kinds (layout: bonded.h; formulas: num/bonded.h, docs/theory/bonded.md).
//
// Precision. Positions are subtracted in double, all that follows is float, but for the one cancellation that matters: a
// stretch r - r0 is (r^2 - r0^2)/(r + r0) with the difference of squares in double. What is left is rounding of the difference
// vectors, 6e-8 of their length, and of the arithmetic, some 1e-7 of each quantity: a stiff bond (4e5 kJ/mol/nm^2) is off by 1e-3
// kJ/mol/nm, an angle by 1e-7 rad, 1e-6 of typical forces where the mesh and the pairs leave 1e-5. A torsion in double would be
// 150 operations on units that many chips have one of for 32 or 64 of float: as much time on those as all its memory traffic
// many times over. (Compare cpu, where double is half the speed of float and all bonded terms are double.)
//
// No term needs a sine in double or a table but CMAP. Torsions that are sums of cosines are polynomials in cos phi and sin phi,
// which the vectors give without the angle. What has no direction (zero bonds, straight angles, collinear torsions) has no force:
// below a sine of 1e-6, where float directions are noise.
//
// Traffic of a torsion: 16 bytes of atoms and 16 to 64 of parameters, coalesced; four positions of 24 and four slots of 4,
// shared with neighbours through the caches; 12 atomic additions of 8 bytes in 4 sectors.
#include "bonded.h"

#include "num/bonded.h"

/// Squared sine below which three points count as collinear: cross products of floats carry some 1e-7.
#define COLLINEAR 1e-12f

/// Where a thread works. Those beyond the last term of a block do its first one and keep the result for themselves.
typedef struct {
    const gpu_view     *p;
    const term_images  *images;
    term_stage         *stage;  // of the warp
    const bonded_lists *lists;
    bool                active;
} place;

/// Of one term, kJ/mol.
typedef struct {
    float energy, coulomb, virial[9];
} term_sums;
enum { N_TERM_SUMS = 11 };

static __device__ __forceinline__ void add_virial(term_sums *sums, const float r[3], const float f[3])
{
    int k, l;

    for (k = 0; k < 3; k++)
        for (l = 0; l < 3; l++) sums->virial[3 * k + l] -= 0.5f * r[k] * f[l];
}

static __device__ __forceinline__ float reciprocal_root(float v)
{
    return v > 0 ? rsqrtf(v) : 0.0f;
}

// ------------------------------------------------------------------------------------------------ two atoms

/// r - r0 of a length whose square is given in double and its root in float.
static __device__ __forceinline__ float stretch(double square, float length, float r0_hi, float r0_lo)
{
    const double r0 = (double)r0_hi + (double)r0_lo;
    const float  sum = length + r0_hi;

    return sum > 0 ? (float)(square - r0 * r0) / sum : 0.0f;
}

template <bool want> static __device__ __forceinline__ void two_atoms(const place *w, int batch, int4 atom, float4 q, term_sums *sums)
{
    const gpu_view *p = w->p;
    const double   *a = p->x[atom.x], *b = p->x[atom.y];
    double          d[3];
    float           r[3], s = 0;
    int             k;

    for (k = 0; k < 3; k++) d[k] = a[k] - b[k];
    mds_images_nearest(&w->images->m, d);
    for (k = 0; k < 3; k++) r[k] = (float)d[k];
    const double square = mds_dot(d, d);
    const float  inv = reciprocal_root((float)square), length = (float)square * inv;

    if (batch == BATCH_BOND) {
        const float off = stretch(square, length, q.x, q.y);

        s = -q.z * off * inv;
        sums->energy = 0.5f * q.z * off * off;
    } else if (batch == BATCH_PAIR14) {
        // at one point huge but finite: floats end at 3e38, and the sums of forces at 1e8 long before
        const float inv2 = 1 / fmaxf((float)square, 1e-8f), inv6 = inv2 * inv2 * inv2;
        const float v6 = q.x * inv6, v12 = fminf(q.y * inv6 * inv6, 1e30f);

        sums->coulomb = q.z * sqrtf(inv2);
        s = fminf((12 * v12 - 6 * v6 + sums->coulomb) * inv2, 1e30f);
        sums->energy = v12 - v6;
    } else if (batch == BATCH_BOND_MORSE) {
        const float rest = expm1f(-q.w * stretch(square, length, q.x, q.y)); // exp() - 1

        s = 2 * q.z * q.w * rest * (rest + 1) * inv;
        sums->energy = q.z * rest * rest;
    } else {
        const double r0 = (double)q.x + (double)q.y;
        const float  off = (float)(square - r0 * r0);

        s = -q.z * off;
        sums->energy = 0.25f * q.z * off * off;
    }
    const int   slot[2] = {p->slot_of[atom.x], p->slot_of[atom.y]};
    const float f[1][3] = {{s * r[0], s * r[1], s * r[2]}};
    term_add_forces<2>(p, w->stage, w->active, slot, f);
    if (want) add_virial(sums, r, f[0]);
}

// ---------------------------------------------------------------------------------------------- three atoms

template <bool want> static __device__ __forceinline__ void three_atoms(const place *w, int batch, int4 atom, float4 q, term_sums *sums)
{
    const gpu_view *p = w->p;
    float           u[3], v[3], n[3], f[2][3], pull, pu, pv;
    int             k;

    term_difference(w->images, p->x[atom.x], p->x[atom.y], u);
    term_difference(w->images, p->x[atom.z], p->x[atom.y], v);
    const float u2 = term_dot(u, u), v2 = term_dot(v, v), uv = term_dot(u, v);
    if (batch == BATCH_ANGLE) {
        term_cross(u, v, n);
        const float sine2 = term_dot(n, n); // (|u||v| sin)^2
        const float off = atan2f(sqrtf(sine2), uv) - q.x;
        const bool  bent = sine2 > COLLINEAR * u2 * v2;

        pull = bent ? q.y * off * rsqrtf(sine2) : 0.0f;
        pu = bent ? uv / u2 : 0.0f;
        pv = bent ? uv / v2 : 0.0f;
        sums->energy = 0.5f * q.y * off * off;
    } else {
        const float inv = reciprocal_root(u2) * reciprocal_root(v2), off = (inv > 0 ? uv * inv : 1.0f) - q.x;

        pull = -q.y * off * inv;
        pu = inv > 0 ? uv / u2 : 0.0f;
        pv = inv > 0 ? uv / v2 : 0.0f;
        sums->energy = 0.5f * q.y * off * off;
    }
    for (k = 0; k < 3; k++) {
        f[0][k] = pull * (v[k] - pu * u[k]);
        f[1][k] = pull * (u[k] - pv * v[k]);
    }
    const int slot[3] = {p->slot_of[atom.x], p->slot_of[atom.z], p->slot_of[atom.y]};
    term_add_forces<3>(p, w->stage, w->active, slot, f);
    if (!want) return;
    add_virial(sums, u, f[0]);
    add_virial(sums, v, f[1]);
}

// ----------------------------------------------------------------------------------------------- four atoms

/// f, g, h of num/bonded.h, and what forces need of them. sine and cosine of the torsion are times the same number.
typedef struct {
    float f[3], g[3], h[3], m[3], n[3], sine, cosine, axis_m, axis_n, pf, ph; // axis_m: |g|/m^2, axis_n: |g|/n^2
    bool  whole;
} twist;

static __device__ __forceinline__ void twist_of(twist *t)
{
    term_cross(t->f, t->g, t->m);
    term_cross(t->g, t->h, t->n);
    const float f2 = term_dot(t->f, t->f), g2 = term_dot(t->g, t->g), h2 = term_dot(t->h, t->h);
    const float m2 = term_dot(t->m, t->m), n2 = term_dot(t->n, t->n), axis = sqrtf(g2);

    t->sine = axis * term_dot(t->f, t->n);
    t->cosine = term_dot(t->m, t->n);
    t->whole = m2 > COLLINEAR * f2 * g2 && n2 > COLLINEAR * h2 * g2 && m2 * n2 > 1e-36f;
    t->axis_m = t->whole ? axis / m2 : 0.0f;
    t->axis_n = t->whole ? axis / n2 : 0.0f;
    t->pf = t->whole ? term_dot(t->f, t->g) / g2 : 0.0f;
    t->ph = t->whole ? term_dot(t->h, t->g) / g2 : 0.0f;
}

/// Forces on atoms 0, 2 and 3 for the slope dV/dphi; that on atom 1 is minus their sum.
static __device__ __forceinline__ void twist_forces(const twist *t, float slope, float (&f)[3][3])
{
    int k;

    for (k = 0; k < 3; k++) {
        const float first = -slope * t->axis_m * t->m[k], last = slope * t->axis_n * t->n[k];

        f[0][k] = first;
        f[1][k] = -(t->pf * first - t->ph * last) - last;
        f[2][k] = last;
    }
}

static __device__ __forceinline__ void twist_virial(const twist *t, const float (&f)[3][3], term_sums *sums)
{
    const float last[3] = {t->g[0] - t->h[0], t->g[1] - t->h[1], t->g[2] - t->h[2]};

    add_virial(sums, t->f, f[0]);
    add_virial(sums, t->g, f[1]);
    add_virial(sums, last, f[2]);
}

/// Value of P(c) + s Q(c) and its slope by phi.
template <int degree, bool sines> static __device__ __forceinline__ float polynomial(const float *p, float c, float s, float *slope)
{
    float v = p[degree], dv = 0;
    int   k;

    GPU_UNROLL
    for (k = degree - 1; k >= 0; k--) {
        dv = dv * c + v;
        v = v * c + p[k];
    }
    *slope = -s * dv;
    if (!sines) return v;
    const float *q = p + degree + 1;
    const float  even = v;
    v = q[degree - 1];
    dv = 0;
    GPU_UNROLL
    for (k = degree - 2; k >= 0; k--) {
        dv = dv * c + v;
        v = v * c + q[k];
    }
    *slope += c * v - s * s * dv;
    return even + s * v;
}

/// x into [-pi, pi].
static __device__ __forceinline__ float turn_back(float x)
{
    return x - 6.2831853f * rintf(x * 0.15915494f);
}

template <bool want> static __device__ __forceinline__ void four_atoms(const place *w, int batch, int4 atom, const float4 *param,
                                                                       term_sums *sums)
{
    const gpu_view *p = w->p;
    const float4    q = param[0];
    float           slope, f[3][3];
    twist           t;

    term_difference(w->images, p->x[atom.x], p->x[atom.y], t.f);
    term_difference(w->images, p->x[atom.z], p->x[atom.y], t.g);
    term_difference(w->images, p->x[atom.z], p->x[atom.w], t.h);
    twist_of(&t);
    if (batch == BATCH_IMPROPER) {
        const float off = turn_back(atan2f(t.sine, t.cosine) - q.x);

        slope = q.y * off;
        sums->energy = 0.5f * slope * off;
    } else if (batch == BATCH_MULTIPLE) {
        float sine, cosine;

        __sincosf(turn_back(q.z * atan2f(t.sine, t.cosine) - q.x), &sine, &cosine); // off by 4e-7
        slope = -q.y * q.z * sine;
        sums->energy = q.y * (1 + cosine);
    } else {
        const float norm = t.whole ? rsqrtf(t.sine * t.sine + t.cosine * t.cosine) : 0.0f;
        const float c = t.whole ? norm * t.cosine : 1.0f, s = norm * t.sine;

        if (batch == BATCH_COSINE_3) {
            const float of[4] = {q.x, q.y, q.z, q.w};

            sums->energy = polynomial<3, false>(of, c, s, &slope);
        } else {
            const float4 q1 = param[TERM_THREADS];

            if (batch == BATCH_COSINE_6) {
                const float of[7] = {q.x, q.y, q.z, q.w, q1.x, q1.y, q1.z};

                sums->energy = polynomial<6, false>(of, c, s, &slope);
            } else {
                const float4 q2 = param[2 * TERM_THREADS], q3 = param[3 * TERM_THREADS];
                const float  of[13] = {q.x, q.y, q.z, q.w, q1.x, q1.y, q1.z, q1.w, q2.x, q2.y, q2.z, q2.w, q3.x};

                sums->energy = polynomial<6, true>(of, c, s, &slope);
            }
        }
    }
    twist_forces(&t, slope, f);
    const int slot[4] = {p->slot_of[atom.x], p->slot_of[atom.z], p->slot_of[atom.w], p->slot_of[atom.y]};
    term_add_forces<4>(p, w->stage, w->active, slot, f);
    if (want) twist_virial(&t, f, sums);
}

// ----------------------------------------------------------------------------------------------- five and one

/// Energy of a map at two torsions and its slopes, kJ/mol/rad (num/bonded.h, mds_cmap, in float).
static __device__ __forceinline__ float map_value(int n, const float4 *cells, float phi, float psi, float slope[2])
{
    // counted from the middle of the map, where floats are finest; at the ends rounding may leave it by a step
    const float   steps = (float)n * 0.15915494f, half = 0.5f * (float)(n % 2);
    const float   x = phi * steps + half, y = psi * steps + half;
    const float   fx = floorf(x), fy = floorf(y), u = x - fx, v = y - fy;
    const int     i = ((int)fx + n / 2 + n) % n, j = ((int)fy + n / 2 + n) % n;
    const float4 *c = cells + 4 * (i * n + j);
    float         e = 0, du = 0, dv = 0;
    int           a;

    GPU_UNROLL
    for (a = 3; a >= 0; a--) {
        const float4 r = c[a];
        const float  row = ((r.w * v + r.z) * v + r.y) * v + r.x;

        du = du * u + e;
        e = e * u + row;
        dv = dv * u + (3 * r.w * v + 2 * r.z) * v + r.y;
    }
    slope[0] = du * steps;
    slope[1] = dv * steps;
    return e;
}

template <bool want> static __device__ __forceinline__ void map(const place *w, int4 atom, float4 q, term_sums *sums)
{
    const gpu_view *p = w->p;
    const int       last = __float_as_int(q.x), n = w->lists->map_size;
    float           fa[3][3], fb[3][3], f[4][3], slope[2];
    twist           t, u;
    int             k;

    term_difference(w->images, p->x[atom.x], p->x[atom.y], t.f);
    term_difference(w->images, p->x[atom.z], p->x[atom.y], t.g);
    term_difference(w->images, p->x[atom.z], p->x[atom.w], t.h);
    term_difference(w->images, p->x[atom.w], p->x[last], u.h);
    for (k = 0; k < 3; k++) {
        u.f[k] = -t.g[k];
        u.g[k] = -t.h[k];
    }
    twist_of(&t);
    twist_of(&u);
    sums->energy = map_value(n, w->lists->cells + (size_t)__float_as_int(q.y) * 4 * (size_t)n * (size_t)n, atan2f(t.sine, t.cosine),
                             atan2f(u.sine, u.cosine), slope);
    twist_forces(&t, slope[0], fa);
    twist_forces(&u, slope[1], fb);
    for (k = 0; k < 3; k++) { // atoms 0, 1, 3, 4; the rest on 2, which is atom 1 of the second torsion
        f[0][k] = fa[0][k];
        f[1][k] = fb[0][k] - (fa[0][k] + fa[1][k] + fa[2][k]);
        f[2][k] = fa[2][k] + fb[1][k];
        f[3][k] = fb[2][k];
    }
    const int slot[5] = {p->slot_of[atom.x], p->slot_of[atom.y], p->slot_of[atom.w], p->slot_of[last], p->slot_of[atom.z]};
    term_add_forces<5>(p, w->stage, w->active, slot, f);
    if (!want) return;
    twist_virial(&t, fa, sums);
    twist_virial(&u, fb, sums);
}

/// The reference points do not scale with the box: the virial counts from the origin of space (docs/theory/bonded.md).
template <bool want> static __device__ __forceinline__ void restraint(const place *w, int4 atom, const float4 *param, term_sums *sums)
{
    const float4 hi = param[0], lo = param[TERM_THREADS];
    const double at[3] = {(double)hi.x + (double)lo.x, (double)hi.y + (double)lo.y, (double)hi.z + (double)lo.z};
    const float  stiff[3] = {hi.w, lo.w, param[2 * TERM_THREADS].x};
    long long    units[3];
    float        r[3], f[3], image[3];
    unsigned     fault = 0;
    int          k;

    term_difference(w->images, w->p->x[atom.x], at, r);
    for (k = 0; k < 3; k++) {
        f[k] = -stiff[k] * r[k];
        sums->energy -= 0.5f * f[k] * r[k];
        image[k] = (float)(at[k] + (double)r[k]);
        units[k] = term_units(f[k], &fault);
    }
    term_add(w->p, w->stage, w->active ? w->p->slot_of[atom.x] : -1, units);
    if (w->active && fault) gpu_fault(w->p->control, fault, atom.x);
    if (want) add_virial(sums, image, f);
}

// -------------------------------------------------------------------------------------------------- kernel

/// Block b does the terms of lists.block[b]. want: energies and virial.
template <bool want> static __global__ void __launch_bounds__(TERM_THREADS) k_bonded(gpu_view p, bonded_lists b)
{
    GPU_SHARED(term_images, images, [1]);
    GPU_SHARED(term_stage, stage, [TERM_WARPS]);
    GPU_SHARED(double, part, [TERM_WARPS][N_TERM_SUMS]);
    const int t = (int)threadIdx.x;
    term_sums sums = {0, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0}};
    int       k;

    if (p.control->tripped) return;
    term_images_of(p.control, images);
    __syncthreads();
    const int4    block = b.block[blockIdx.x];
    const place   w = {&p, images, &stage[t / GPU_WARP], &b, t < block.z};
    const int     mine = w.active ? t : 0;
    const int4    atom = b.atom[(size_t)blockIdx.x * TERM_THREADS + (size_t)mine];
    const float4 *q = b.param + block.w + mine;

    if (block.x == BATCH_CMAP)
        map<want>(&w, atom, *q, &sums);
    else if (block.x <= BATCH_IMPROPER)
        four_atoms<want>(&w, block.x, atom, q, &sums);
    else if (block.x <= BATCH_ANGLE_G96)
        three_atoms<want>(&w, block.x, atom, *q, &sums);
    else if (block.x < BATCH_RESTRAINT)
        two_atoms<want>(&w, block.x, atom, *q, &sums);
    else
        restraint<want>(&w, atom, q, &sums);
    if (!want) return;
    double v[N_TERM_SUMS] = {w.active ? (double)sums.energy : 0, w.active ? (double)sums.coulomb : 0};
    for (k = 0; k < 9; k++) v[2 + k] = w.active ? (double)sums.virial[k] : 0;
    const double total = term_block_sum(v, part);
    if (t == 0) gpu_add_sum(p.control, block.y, total);
    if (t == 1 && block.x == BATCH_PAIR14) gpu_add_sum(p.control, MDS_EN_COUL14, total);
    if (t >= 2 && t < N_TERM_SUMS) gpu_add_sum(p.control, GPU_VIRIAL + t - 2, total);
}

// ---------------------------------------------------------------------------------------------------- life

mds_status GPU_NAME(bonded_open)(mds_device *d)
{
    return mds_alloc(&d->bonded, 1, sizeof *d->bonded);
}

mds_status GPU_NAME(bonded_set)(mds_device *d)
{
    if (d->bonded->made) return MDS_OK;
    MDS_TRY(GPU_NAME(bonded_blocks)(d->system, d->bonded));
    d->bonded->made = true;
    return MDS_OK;
}

void GPU_NAME(bonded_close)(mds_device *d)
{
    gpu_bonded *b = d->bonded;

    if (!b) return;
    GPU_NAME(release)(b->lists.block);
    GPU_NAME(release)(b->lists.atom);
    GPU_NAME(release)(b->lists.param);
    GPU_NAME(release)(b->lists.cells);
    mds_free(b);
    d->bonded = NULL;
}

mds_status GPU_NAME(bonded)(mds_device *d, mds_work work)
{
    const gpu_bonded *b = d->bonded;

    if (d->params.double_precision)
        MDS_TRY(GPU_NAME(bonded_double)(d, work));
    else if (b->n_blocks && (work & (MDS_ENERGY | MDS_VIRIAL)))
        GPU_LAUNCH(k_bonded<true>, (unsigned)b->n_blocks, TERM_THREADS, 0, d->term_stream, d->view, b->lists);
    else if (b->n_blocks)
        GPU_LAUNCH(k_bonded<false>, (unsigned)b->n_blocks, TERM_THREADS, 0, d->term_stream, d->view, b->lists);
    return GPU_NAME(excluded)(d, work);
}
