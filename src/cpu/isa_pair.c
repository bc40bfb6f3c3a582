// SPDX-License-Identifier: Apache-2.0
// The pair kernels of one instruction set level, all flavours from one text.
//
// For every inner entry: 8 atoms i are moved by the entry's translation t (in double, rounded once) and stay in registers or
// near cache while clusters j stream past. A tile's arithmetic, with s = 2/r from one Newton step and r2 = r^2:
//
//     Coulomb  F/r = qq (s^3 - P(r2))          qq carries 1/8: s^3 = 8/r^3, P the polynomial of num.h times 8/rc^3
//     LJ       F/r = s^2 s^6 (C12 s^6 - C6)    C12 = 12 c12/2^14, C6 = 6 c6/2^8
//
// so no factor 1/2 is ever multiplied. Lanes beyond the cut-off or excluded are cleared by a mask at the end; r2 is kept
// above R2_MIN so that atoms on top of each other give finite numbers. By rule:
//     geometric  C12 = a_i a_j, C6 = b_i b_j
//     Lorentz    w = (a_i + a_j) s = sigma/r, e = b_i b_j = 6 epsilon:  F/r = s^2 e w^6 (2 w^6 - 1)
//     matrix     C12, C6, C4 gathered by types; 12-6-4 adds -4 c4/r^6 to F/r
// Derivation, modifiers and errors: docs/theory/pair.md [pall2013].
#include "cpu/isa.h"
#include "cpu/simd.h"

#define R2_MIN 1e-4f // nm^2: a pair closer than 0.01 nm is treated as if at 0.01 nm

/// Atoms i of one part (VF_GROUPS of them) of one half.
typedef struct {
    vf x, y, z, q, a, b;
    vi row;
} atoms_i;

typedef struct {
    vf x, y, z, q, a, b;
    vi column;
} atoms_j;

/// What is fixed when a kernel is compiled.
typedef struct {
    int  lj, modifier, degree; // degree -1: from the form
    bool two_cuts, energy;
} flavour;
enum { PLAIN, POTENTIAL_SWITCH, FORCE_SWITCH };

/// Constants in vectors, loaded once per call.
typedef struct {
    vf cut2, middle, force[13];
} constants;

/// Sums of an entry.
typedef struct {
    vf     xx, xy, xz, yy, yz, zz; // r (x) f
    double lj, q;
} sums;

/// Polynomial by Horner's rule; constant trip count where the flavour fixes the degree.
ALWAYS vf polynomial(const float *c, int degree, vf v)
{
    vf  p = vf_set(c[degree]);
    int k;

    for (k = degree - 1; k >= 0; k--) p = p * v + vf_set(c[k]);
    return p;
}

ALWAYS vf polynomial_fixed(const vf *c, int degree, vf v)
{
    vf  p = c[degree];
    int k;

#pragma GCC unroll 16
    for (k = degree - 1; k >= 0; k--) p = p * v + c[k];
    return p;
}

/// Scaled C12, C6 and C4 of a part of a tile.
ALWAYS void coefficients(const cpu_form *form, int lj, const atoms_i *i, const atoms_j *j, vf *c12, vf *c6, vf *c4)
{
    *c4 = vf_set(0);
    if (lj == CPU_LJ_GEOMETRIC) {
        *c12 = i->a * j->a;
        *c6 = i->b * j->b;
    } else if (lj == CPU_LJ_LORENTZ) {
        const vf sigma = i->a + j->a, sigma2 = sigma * sigma, sigma6 = sigma2 * sigma2 * sigma2;

        *c6 = i->b * j->b * sigma6;
        *c12 = 2.0f * *c6 * sigma6;
    } else {
        const vi index = i->row + j->column;

        *c12 = vf_gather(form->matrix, index);
        *c6 = vf_gather(form->matrix + 1, index);
        *c4 = vf_gather(form->matrix + 2, index);
    }
}

/// LJ F/r without modifier, forces only.
ALWAYS vf plain_lj(const cpu_form *form, int lj, const atoms_i *i, const atoms_j *j, vf s, vf s2)
{
    if (lj == CPU_LJ_LORENTZ) {
        const vf w = (i->a + j->a) * s, w2 = w * w, w6 = w2 * w2 * w2;

        return (i->b * j->b) * s2 * (w6 * (2.0f * w6 - 1.0f));
    }
    const vf s4 = s2 * s2, s6 = s4 * s2;
    vf       c12, c6, c4;

    coefficients(form, lj, i, j, &c12, &c6, &c4);
    if (lj == CPU_LJ_MATRIX) return s2 * (s6 * (c12 * s6 - c6) - c4 * s4);
    return s2 * (s6 * (c12 * s6 - c6));
}

/// LJ F/r and energy with a modifier.
ALWAYS vf modified_lj(const cpu_form *form, const flavour f, const atoms_i *i, const atoms_j *j, vf r2, vf s, vf s2,
                      vf *energy)
{
    const vf s4 = s2 * s2, s6 = s4 * s2;
    vf       c12, c6, c4, force, v;

    coefficients(form, f.lj, i, j, &c12, &c6, &c4);
    force = s2 * (s6 * (c12 * s6 - c6));
    v = s6 * (c12 * s6 * (1.0f / 3) - c6 * (2.0f / 3));
    if (f.modifier == PLAIN) {
        v -= c12 * vf_set(form->shift12) - c6 * vf_set(form->shift6);
    } else {
        const vf inv_r = 0.5f * s, t = vf_max(r2 * inv_r - vf_set(form->lj_switch), vf_set(0));

        if (f.modifier == POTENTIAL_SWITCH) {
            const vf w = vf_set(form->inv_width), u = t * w, u2 = u * u;
            const vf level = 1.0f - u2 * u * (10.0f - u * (15.0f - 6.0f * u));
            const vf slope = w * u2 * (u * (60.0f - 30.0f * u) - 30.0f);

            force = force * level - v * slope * inv_r;
            v *= level;
        } else {
            const vf t2 = t * t, t3 = t2 * t;

            force += inv_r * t2 *
                     (c12 * (vf_set(form->a12) + vf_set(form->b12) * t) - c6 * (vf_set(form->a6) + vf_set(form->b6) * t));
            v -= c12 * (t3 * (vf_set(form->a12) * (1.0f / 3) + vf_set(form->b12) * 0.25f * t) + vf_set(form->c12)) -
                 c6 * (t3 * (vf_set(form->a6) * (1.0f / 3) + vf_set(form->b6) * 0.25f * t) + vf_set(form->c6));
        }
    }
    if (f.lj == CPU_LJ_MATRIX) { // 12-6-4: no modifier acts on it
        force -= s2 * c4 * s4;
        v -= c4 * s4;
    }
    *energy = v;
    return force;
}

/// One part of a tile: force on i (k = x, y, z) into f.
ALWAYS void part_of_tile(const cpu_form *form, const constants *c, const flavour f, const atoms_i *i, const atoms_j *j,
                         bool masked, vm mask, vf *fx, vf *fy, vf *fz, sums *sum)
{
    const vf dx = i->x - j->x, dy = i->y - j->y, dz = i->z - j->z;
    const vf r2 = vf_max(dx * dx + dy * dy + dz * dz, vf_set(R2_MIN));
    const vf s = vf_two_over_sqrt(r2), s2 = s * s, qq = i->q * j->q, v = r2 - c->middle;
    vm       in = vf_less(r2, c->cut2);
    vf       force;

    if (masked) in &= mask;
    if (!f.two_cuts) {
        force = qq * (s2 * s - polynomial_fixed(c->force, f.degree, v)) + plain_lj(form, f.lj, i, j, s, s2);
        force = vf_keep(in, force);
    } else {
        const vm in_q = in & vf_less(r2, vf_set(form->cut2_q)), in_lj = in & vf_less(r2, vf_set(form->cut2_lj));
        vf       energy_lj;

        force = vf_keep(in_q, qq * (s2 * s - polynomial(form->force, form->degree_force, v)));
        force += vf_keep(in_lj, modified_lj(form, f, i, j, r2, s, s2, &energy_lj));
        if (f.energy) {
            const vf energy_q = qq * (4.0f * s - polynomial(form->pot, form->degree_pot, v));

            sum->lj += vf_sum(vf_keep(in_lj, energy_lj));
            sum->q += vf_sum(vf_keep(in_q, energy_q));
        }
    }
    *fx = force * dx;
    *fy = force * dy;
    *fz = force * dz;
    if (f.energy) {
        sum->xx += dx * *fx;
        sum->xy += dx * *fy;
        sum->xz += dx * *fz;
        sum->yy += dy * *fy;
        sum->yz += dy * *fz;
        sum->zz += dz * *fz;
    }
}

/// Forces on i of one half of a super.
typedef struct {
    vf x[VF_PARTS], y[VF_PARTS], z[VF_PARTS];
} force_i;

ALWAYS void add_half(const cpu_form *form, const constants *c, const flavour f, const atoms_i *i, const atoms_j *j,
                     bool masked, uint32_t bits, force_i *on, vf *jx, vf *jy, vf *jz, sums *sum)
{
    int p;

#pragma GCC unroll 4
    for (p = 0; p < VF_PARTS; p++) {
        vf fx, fy, fz;

        part_of_tile(form, c, f, &i[p], j, masked, vm_of_tile(masked ? bits : 0xffff, p), &fx, &fy, &fz, sum);
        on->x[p] += fx;
        on->y[p] += fy;
        on->z[p] += fz;
        *jx += fx;
        *jy += fy;
        *jz += fz;
    }
}

ALWAYS void load_j(const cpu_pair_args *a, int lj, int32_t cluster, atoms_j *j)
{
    const float *line = a->xq + 16 * (size_t)cluster;

    j->x = vf_every_group(line);
    j->y = vf_every_group(line + 4);
    j->z = vf_every_group(line + 8);
    j->q = vf_every_group(line + 12);
    if (lj == CPU_LJ_MATRIX) {
        j->column = vi_every_group(a->type + 4 * (size_t)cluster);
    } else {
        j->a = vf_every_group(a->lj + 8 * (size_t)cluster);
        j->b = vf_every_group(a->lj + 8 * (size_t)cluster + 4);
    }
}

/// n tiles against A and B (both), or against the half i alone.
ALWAYS void segment(const cpu_pair_args *a, const constants *c, const flavour f, bool both, bool masked,
                    const int32_t *list, const uint32_t *mask, int32_t n, const atoms_i *i, force_i *on, sums *sum)
{
    int32_t k;

    for (k = 0; k < n; k++) {
        const uint32_t bits = masked ? mask[k] : 0;
        atoms_j        j;
        vf             jx = vf_set(0), jy = jx, jz = jx;

        load_j(a, f.lj, list[k], &j);
        add_half(a->form, c, f, i, &j, masked, bits, on, &jx, &jy, &jz, sum);
        if (both) add_half(a->form, c, f, i + VF_PARTS, &j, masked, bits >> 16, on + 1, &jx, &jy, &jz, sum);
        vf_take_from_line(a->force + 16 * (size_t)list[k], jx, jy, jz);
    }
}

/// The eight atoms of a super, moved by t.
ALWAYS void load_i(const cpu_pair_args *a, int lj, const cpu_part *part, atoms_i i[2 * VF_PARTS])
{
    int half, p, k;

    for (half = 0; half < 2; half++) {
        const size_t  cluster = 2 * (size_t)part->super + (size_t)half;
        const float  *line = a->xq + 16 * cluster;
        const int32_t width = a->stride / 4;
        float         x[12];
        int32_t       row[4];

        for (k = 0; k < 12; k++) x[k] = (float)((double)line[k] + part->t[k / 4]);
        for (k = 0; k < 4; k++) row[k] = lj == CPU_LJ_MATRIX ? a->type[4 * cluster + (size_t)k] * width : 0;
        for (p = 0; p < VF_PARTS; p++) {
            atoms_i *to = &i[half * VF_PARTS + p];

            to->x = vf_by_group(x + p * VF_GROUPS);
            to->y = vf_by_group(x + 4 + p * VF_GROUPS);
            to->z = vf_by_group(x + 8 + p * VF_GROUPS);
            to->q = vf_by_group(line + 12 + p * VF_GROUPS);
            if (lj == CPU_LJ_MATRIX) {
                to->row = vi_by_group(row + p * VF_GROUPS);
            } else {
                to->a = vf_by_group(a->lj + 8 * cluster + (size_t)(p * VF_GROUPS));
                to->b = vf_by_group(a->lj + 8 * cluster + 4 + (size_t)(p * VF_GROUPS));
            }
        }
    }
}

ALWAYS void store_i(float *force, int32_t super, const force_i on[2])
{
    int half, p;

    for (half = 0; half < 2; half++)
        for (p = 0; p < VF_PARTS; p++) {
            float *line = force + 16 * (2 * (size_t)super + (size_t)half) + p * VF_GROUPS;

            vf_add_groups(line, on[half].x[p]);
            vf_add_groups(line + 4, on[half].y[p]);
            vf_add_groups(line + 8, on[half].z[p]);
        }
}

ALWAYS void finish_sums(const sums *s, cpu_pair_args *a)
{
    const double xx = vf_sum(s->xx), xy = vf_sum(s->xy), xz = vf_sum(s->xz);
    const double yy = vf_sum(s->yy), yz = vf_sum(s->yz), zz = vf_sum(s->zz);

    a->energy_lj += s->lj;
    a->energy_q += s->q;
    a->virial[0][0] -= 0.5 * xx;
    a->virial[0][1] -= 0.5 * xy;
    a->virial[0][2] -= 0.5 * xz;
    a->virial[1][1] -= 0.5 * yy;
    a->virial[1][2] -= 0.5 * yz;
    a->virial[2][2] -= 0.5 * zz;
}

ALWAYS void run(cpu_pair_args *args, const flavour f)
{
    cpu_pair_args   copy = *args, *a = &copy; // its pointers stay in registers: no store of forces can change them
    const cpu_form *form = a->form;
    constants       c = {.cut2 = vf_set(form->cut2), .middle = vf_set(form->middle)};
    int32_t         e, k;

    for (k = 0; k <= f.degree; k++) c.force[k] = vf_set(form->force[k]);
    for (e = 0; e < a->list->n_parts; e++) {
        const cpu_part *part = &a->list->part[e];
        const int32_t  *j = a->list->j + part->first;
        const uint32_t *mask = a->list->mask + part->first_mask;
        atoms_i         i[2 * VF_PARTS];
        force_i         on[2];
        sums            sum;

        memset(on, 0, sizeof on);
        memset(&sum, 0, sizeof sum);
        load_i(a, f.lj, part, i);
        for (int half = -1; half < 2; half++) { // -1: both
            const int32_t *n = &part->n[2 * (half + 1)];
            const int      h = half < 0 ? 0 : half;

            if (half < 0) {
                segment(a, &c, f, true, true, j, mask, n[0], i, on, &sum);
                segment(a, &c, f, true, false, j + n[0], mask, n[1], i, on, &sum);
            } else {
                segment(a, &c, f, false, true, j, mask, n[0], i + h * VF_PARTS, on + h, &sum);
                segment(a, &c, f, false, false, j + n[0], mask, n[1], i + h * VF_PARTS, on + h, &sum);
            }
            j += n[0] + n[1];
            mask += n[0];
        }
        store_i(a->force, part->super, on);
        if (f.energy) finish_sums(&sum, args);
    }
}

#define KERNEL(name, ...)                                                                                    \
    static void name(cpu_pair_args *args)                                                                    \
    {                                                                                                        \
        run(args, (flavour){__VA_ARGS__});                                                                   \
    }
#define KERNELS(rule, LJ)                                                                                    \
    KERNEL(rule##_force_7, .lj = LJ, .degree = 7)                                                            \
    KERNEL(rule##_force_9, .lj = LJ, .degree = 9)                                                            \
    KERNEL(rule##_force_12, .lj = LJ, .degree = 12)                                                          \
    KERNEL(rule##_force, .lj = LJ, .degree = -1, .two_cuts = true)                                           \
    KERNEL(rule##_force_s, .lj = LJ, .degree = -1, .two_cuts = true, .modifier = POTENTIAL_SWITCH)           \
    KERNEL(rule##_force_f, .lj = LJ, .degree = -1, .two_cuts = true, .modifier = FORCE_SWITCH)               \
    KERNEL(rule##_energy, .lj = LJ, .degree = -1, .two_cuts = true, .energy = true)                          \
    KERNEL(rule##_energy_s, .lj = LJ, .degree = -1, .two_cuts = true, .modifier = POTENTIAL_SWITCH, .energy = true) \
    KERNEL(rule##_energy_f, .lj = LJ, .degree = -1, .two_cuts = true, .modifier = FORCE_SWITCH, .energy = true)
#define ROW(rule)                                                                                            \
    {rule##_force_7, rule##_force_9, rule##_force_12, rule##_force,   rule##_force_s,                        \
     rule##_force_f, rule##_energy,  rule##_energy_s, rule##_energy_f}

KERNELS(geometric, CPU_LJ_GEOMETRIC)
KERNELS(lorentz, CPU_LJ_LORENTZ)
KERNELS(matrix, CPU_LJ_MATRIX)

// isa_search.c, of the same level
int32_t MDS_ISA_NAME(mds_isa_near)(const cpu_near *query, int32_t j0, int32_t j1, cpu_tile *out);
int32_t MDS_ISA_NAME(mds_isa_trim)(const cpu_exact *query, cpu_tile *tile, int32_t n);
void    MDS_ISA_NAME(mds_isa_prune)(const cpu_exact *query, const cpu_tile *tile, int32_t n, uint8_t *scratch,
                                 cpu_inner *inner);

extern const cpu_isa MDS_ISA_NAME(mds_isa);
const cpu_isa        MDS_ISA_NAME(mds_isa) = {
           .name = MDS_ISA_TEXT,
           .width = VF_WIDTH,
           .near = MDS_ISA_NAME(mds_isa_near),
           .trim = MDS_ISA_NAME(mds_isa_trim),
           .prune = MDS_ISA_NAME(mds_isa_prune),
           .pair = {ROW(geometric), ROW(lorentz), ROW(matrix)},
};
