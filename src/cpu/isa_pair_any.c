// SPDX-License-Identifier: Apache-2.0
// The pair kernels of one instruction set level for every case, all flavours from one text: a cut-off each for LJ and Coulomb, a modifier
// of LJ forces, energies and virial. Formulas: isa_pair.c, docs/theory/pair.md.
#include "cpu/isa_pair.h"

/// What is fixed when a kernel is compiled.
typedef struct {
    int  lj, modifier; // CPU_LJ_...
    bool energy;
} flavour;

/// Forces on j of a vector of pairs.
typedef struct {
    vf x, y, z;
} force_j;

/// Polynomial by Horner's rule.
ALWAYS vf polynomial(const float *c, int degree, vf v)
{
    vf  p = vf_set(c[degree]);
    int k;

    for (k = degree - 1; k >= 0; k--) p = p * v + vf_set(c[k]);
    return p;
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

/// One vector of pairs: forces on j into `on`, energies and virial into `sum`.
ALWAYS void interact(const cpu_form *form, const flavour f, bool masked, vm mask, const atoms_i *i, const atoms_j *j, force_j *on, sums *sum)
{
    const vf dx = j->x - i->x, dy = j->y - i->y, dz = j->z - i->z;
    const vf r2 = vf_max(dx * dx + dy * dy + dz * dz, vf_set(R2_MIN));
    const vf s = vf_two_over_sqrt(r2), s2 = s * s, qq = i->q * j->q, v = r2 - vf_set(form->middle);
    vm       in_q = vf_less(r2, vf_set(form->cut2_q)), in_lj = vf_less(r2, vf_set(form->cut2_lj));
    vf       energy_lj, force;

    if (masked) in_q &= mask, in_lj &= mask;
    force = vf_keep(in_q, qq * (s2 * s - polynomial(form->force, form->degree_force, v)));
    force += vf_keep(in_lj, modified_lj(form, f, i, j, r2, s, s2, &energy_lj));
    on->x = force * dx;
    on->y = force * dy;
    on->z = force * dz;
    if (!f.energy) return;
    const vf energy_q = qq * (4.0f * s - polynomial(form->pot, form->degree_pot, v));

    sum->lj += vf_keep(in_lj, energy_lj);
    sum->q += vf_keep(in_q, energy_q);
    sum->xx += dx * on->x;
    sum->xy += dx * on->y;
    sum->xz += dx * on->z;
    sum->yy += dy * on->y;
    sum->yz += dy * on->z;
    sum->zz += dz * on->z;
}

/// n tiles against A and B (both), or against the half that i and on are of.
ALWAYS void segment(const cpu_pair_args *a, const flavour f, bool both, bool masked, const atoms_i *i, force_i *on, sums *sum,
                    const int32_t *list, const uint32_t *mask, int32_t n)
{
    int32_t k;
    int     p;

    for (k = 0; k < n; k++) {
        const uint32_t bits = masked ? mask[k] : 0;
        atoms_j        j;
        force_j        all = {vf_set(0), vf_set(0), vf_set(0)}, here;

        load_x(a, list[k], &j);
        load_parameters(a, f.lj, list[k], &j);
#pragma GCC unroll 8
        for (p = 0; p < 2 * VF_PARTS; p++) {
            if (!both && p >= VF_PARTS) continue;
            force_i *half = on + p / VF_PARTS;

            interact(a->form, f, masked, vm_of_tile(bits >> (p / VF_PARTS * 16), p % VF_PARTS), i + p, &j, &here, sum);
            half->x[p % VF_PARTS] -= here.x;
            half->y[p % VF_PARTS] -= here.y;
            half->z[p % VF_PARTS] -= here.z;
            all.x += here.x;
            all.y += here.y;
            all.z += here.z;
        }
        vf_add_to_line(a->force + 16 * (size_t)list[k], all.x, all.y, all.z);
    }
}

/// All six segments of an entry.
ALWAYS void segments(const cpu_pair_args *a, const flavour f, const cpu_part *part, const atoms_i *i, force_i *on, sums *sum)
{
    const int32_t  *j = a->list->j + part->first;
    const uint32_t *mask = a->list->mask + part->first_mask;

    segment(a, f, true, true, i, on, sum, j, mask, part->n[CPU_BOTH_MASKED]);
    j += part->n[CPU_BOTH_MASKED];
    segment(a, f, true, false, i, on, sum, j, NULL, part->n[CPU_BOTH]);
    j += part->n[CPU_BOTH];
    mask += part->n[CPU_BOTH_MASKED];
    for (int half = 0; half < 2; half++) {
        const int32_t *n = &part->n[half ? CPU_B_MASKED : CPU_A_MASKED];

        segment(a, f, false, true, i + half * VF_PARTS, on + half, sum, j, mask, n[0]);
        segment(a, f, false, false, i + half * VF_PARTS, on + half, sum, j + n[0], NULL, n[1]);
        j += n[0] + n[1];
        mask += n[0];
    }
}

ALWAYS void run(cpu_pair_args *args, const flavour f)
{
    cpu_pair_args copy = *args, *a = &copy; // its pointers stay in registers: no store of forces can change them
    totals        all = {0};
    int32_t       e;

    for (e = 0; e < a->list->n_parts; e++) {
        const cpu_part *part = &a->list->part[e];
        atoms_i         i[2 * VF_PARTS];
        force_i         on[2];
        sums            sum;

        clear_i(on);
        if (f.energy) clear_sums(&sum);
        load_i(a, f.lj, part, i);
        segments(a, f, part, i, on, &sum);
        store_i(a->force, part->super, on);
        if (f.energy) add_lanes(&sum, &all);
    }
    if (f.energy) finish(&all, args);
}

#define KERNELS(rule, LJ)                                                                                    \
    KERNEL(rule##_force, .lj = LJ, .modifier = PLAIN)                                                        \
    KERNEL(rule##_force_s, .lj = LJ, .modifier = POTENTIAL_SWITCH)                                           \
    KERNEL(rule##_force_f, .lj = LJ, .modifier = FORCE_SWITCH)                                               \
    KERNEL(rule##_energy, .lj = LJ, .modifier = PLAIN, .energy = true)                                       \
    KERNEL(rule##_energy_s, .lj = LJ, .modifier = POTENTIAL_SWITCH, .energy = true)                          \
    KERNEL(rule##_energy_f, .lj = LJ, .modifier = FORCE_SWITCH, .energy = true)
#define ROW(rule) {{rule##_force, rule##_energy}, {rule##_force_s, rule##_energy_s}, {rule##_force_f, rule##_energy_f}}

KERNELS(geometric, CPU_LJ_GEOMETRIC)
KERNELS(lorentz, CPU_LJ_LORENTZ)
KERNELS(matrix, CPU_LJ_MATRIX)

extern const cpu_pair_any MDS_ISA_NAME(mds_isa_pair_any);
const cpu_pair_any        MDS_ISA_NAME(mds_isa_pair_any) = {.kernel = {ROW(geometric), ROW(lorentz), ROW(matrix)}};
