// SPDX-License-Identifier: Apache-2.0
// Excluded pairs, a vector of them at a time, in double (excluded.c says what they are).
//
// Compiled once per instruction set level (isa.h). Pairs of a molecule work on the rows of its block (bonded.h); triples, which
// are waters and so the bulk, take their three positions from the device's array once for three pairs and add to its float lines
// directly. Lanes beyond the cut-off or across the box, which take a molecule as long as that, are done one by one.
#include "cpu/excluded.h"
#include "cpu/isa.h"
#include "cpu/simd_double.h"

enum { PARTS = EXCLUDED_LANES / VD_WIDTH };

/// Phi/r and (Phi/r - Phi')/r^2 beyond the cut-off.
static void beyond(const excluded_frame *frame, double r2, double *potential, double *force)
{
    const double r = sqrt(r2);
    double       slope, phi = mds_split_phi(frame->split, r, &slope);

    *potential = phi / r;
    *force = (phi - slope) / (r * r2);
}

static void take_nearest(const excluded_frame *frame, vd r[3])
{
    for (int l = 0; l < VD_WIDTH; l++) {
        double d[3] = {r[0][l], r[1][l], r[2][l]};

        mds_images_nearest(&frame->images, d);
        for (int k = 0; k < 3; k++) r[k][l] = d[k];
    }
}

static void take_beyond(const excluded_frame *frame, vd r2, vd *potential, vd *force)
{
    for (int l = 0; l < VD_WIDTH; l++) {
        double v = 0, f = 0;

        if (r2[l] < frame->cut2) continue;
        if (frame->far) beyond(frame, r2[l], &v, &f);
        (*potential)[l] = v;
        (*force)[l] = f;
    }
}

/// Horner's rule for n arguments side by side, so that they wait for each other's latency.
VD_INLINE void polynomial(const double *c, int degree, int n, const vd *x, vd *out)
{
    for (int p = 0; p < n; p++) out[p] = vd_set(c[degree]);
    while (degree-- > 0) {
        const vd next = vd_set(c[degree]);

        for (int p = 0; p < n; p++) out[p] = out[p] * x[p] + next;
    }
}

/// Of n pairs r with charge products qq: scalar force f (force on the first is f r) and, if `sums`, energies v.
VD_INLINE void evaluate(const excluded_frame *frame, int n, vd (*r)[3], const vd *qq, vd *f, vd *v, bool sums)
{
    vd r2[3], x[3], longest = {0};

    for (int p = 0; p < n; p++) {
        r2[p] = vd_dot(r[p], r[p]);
        longest = vd_if_greater(r2[p], longest, r2[p], longest);
        v[p] = longest * 0;
    }
    if (frame->images.periodic && vd_any_greater(longest, vd_set(frame->images.near2)))
        for (int p = 0; p < n; p++) {
            take_nearest(frame, r[p]);
            r2[p] = vd_dot(r[p], r[p]);
        }
    for (int p = 0; p < n; p++) x[p] = 2 * frame->inv_cut2 * r2[p] - 1;
    polynomial(frame->range->force_centred, frame->range->degree_force, n, x, f);
    if (sums) polynomial(frame->range->pot_centred, frame->range->degree_pot, n, x, v);
    for (int p = 0; p < n; p++) {
        f[p] *= frame->inv_cut3;
        v[p] *= frame->inv_cut;
        if (!vd_all_within(r2[p], vd_set(frame->cut2))) take_beyond(frame, r2[p], &v[p], &f[p]);
        f[p] *= -qq[p] * frame->weight;
        v[p] *= -qq[p];
    }
}

/// Energies and virials by lanes.
typedef struct {
    vd energy, virial[3][3];
} lane_sums;

VD_INLINE void add_sums(int n, const vd (*r)[3], const vd *f, const vd *v, lane_sums *sums)
{
    for (int p = 0; p < n; p++) {
        sums->energy += v[p];
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++) sums->virial[k][l] -= 0.5 * f[p] * r[p][k] * r[p][l];
    }
}

/// The first n lanes.
static void total(const lane_sums *sums, int n, cpu_sums *out)
{
    for (int l = 0; l < n; l++) out->energy[MDS_EN_COUL] += sums->energy[l];
    for (int k = 0; k < 9; k++)
        for (int l = 0; l < n; l++) out->virial[k / 3][k % 3] += sums->virial[k / 3][k % 3][l];
}

VD_INLINE void run_pairs(const excluded_frame *frame, const bonded_run *run, const double *x, double *f, cpu_sums *out, bool sums)
{
    lane_sums lanes = {{0}, {{{0}}}};

    for (int32_t i = 0; i < run->n * PARTS; i++) {
        const int32_t *offset = run->offset + (size_t)(i / PARTS) * 2 * BONDED_LANES + i % PARTS * VD_WIDTH;
        const vd       qq = vd_load(run->param + (size_t)(i / PARTS) * BONDED_LANES + i % PARTS * VD_WIDTH);
        vd             a[3], b[3], r[1][3], pull, v;

        vd_rows(x, offset, a);
        vd_rows(x, offset + BONDED_LANES, b);
        for (int k = 0; k < 3; k++) r[0][k] = a[k] - b[k];
        evaluate(frame, 1, r, &qq, &pull, &v, sums);
        for (int k = 0; k < 3; k++) {
            a[k] = pull * r[0][k];
            b[k] = -a[k];
        }
        vd_add_rows(f, offset, (const vd *)a);
        vd_add_rows(f, offset + BONDED_LANES, (const vd *)b);
        if (sums) add_sums(1, (const vd(*)[3])r, &pull, &v, &lanes); // lanes that fill up have qq = 0
    }
    if (sums) total(&lanes, VD_WIDTH, out);
}

static void pairs(const excluded_frame *frame, const bonded_run *run, const double *x, double *f, cpu_sums *sums)
{
    if (frame->sums)
        run_pairs(frame, run, x, f, sums, true);
    else
        run_pairs(frame, run, x, f, sums, false);
}

/// Forces of n lanes onto the lines.
VD_INLINE void add_to_lines(float *lines, const int32_t *slot, int n, const vd force[9])
{
    float part[9][VD_WIDTH];

    for (int k = 0; k < 9; k++)
        for (int l = 0; l < VD_WIDTH; l++) part[k][l] = (float)force[k][l];
    for (int l = 0; l < n; l++)
        for (int a = 0; a < 3; a++) {
            const int32_t s = slot[a * EXCLUDED_LANES + l];
            float        *line = lines + ((ptrdiff_t)(s & ~3) * 4 + (s & 3));

            line[0] += part[3 * a][l];
            line[CPU_CLUSTER] += part[3 * a + 1][l];
            line[2 * CPU_CLUSTER] += part[3 * a + 2][l];
        }
}

VD_INLINE void run_triples(const excluded_frame *frame, const excluded_triples *t, int32_t first, int32_t last,
                           const double (*position)[3], float *lines, cpu_sums *out, bool sums)
{
    const vd qq[3] = {vd_set(t->qq[0]), vd_set(t->qq[1]), vd_set(t->qq[2])};

    for (int32_t i = first * PARTS; i < last * PARTS; i++) {
        const int32_t *slot = t->slot + (size_t)(i / PARTS) * 3 * EXCLUDED_LANES + i % PARTS * VD_WIDTH;
        const int      left = t->n - i * VD_WIDTH, n = left < VD_WIDTH ? left : VD_WIDTH;
        vd             x[3][3], r[3][3], f[3], v[3], force[9];

        if (n <= 0) break;
        for (int a = 0; a < 3; a++) {
            const double *row[VD_WIDTH];

            for (int l = 0; l < VD_WIDTH; l++) row[l] = position[slot[a * EXCLUDED_LANES + l]];
            vd_turn(row, x[a]);
        }
        for (int k = 0; k < 3; k++) {
            r[0][k] = x[0][k] - x[1][k];
            r[1][k] = x[0][k] - x[2][k];
            r[2][k] = x[1][k] - x[2][k];
        }
        evaluate(frame, 3, r, qq, f, v, sums);
        for (int k = 0; k < 3; k++) {
            const vd f01 = f[0] * r[0][k], f02 = f[1] * r[1][k], f12 = f[2] * r[2][k];

            force[k] = f01 + f02;
            force[3 + k] = f12 - f01;
            force[6 + k] = -f02 - f12;
        }
        add_to_lines(lines, slot, n, force);
        if (!sums) continue;
        lane_sums lanes = {{0}, {{{0}}}};

        add_sums(3, (const vd(*)[3])r, f, v, &lanes);
        total(&lanes, n, out);
    }
}

static void triples(const excluded_frame *frame, const excluded_triples *t, int32_t first, int32_t last, const double (*x)[3],
                    float *lines, cpu_sums *sums)
{
    if (frame->sums)
        run_triples(frame, t, first, last, x, lines, sums, true);
    else
        run_triples(frame, t, first, last, x, lines, sums, false);
}

extern const excluded_kernels MDS_ISA_NAME(mds_isa_excluded);
const excluded_kernels        MDS_ISA_NAME(mds_isa_excluded) = {pairs, triples};
