// SPDX-License-Identifier: Apache-2.0
// Numerics shared by the product backends (never by ref): the Ewald split, short-range polynomials,
// B-splines, errors of a mesh.
//
// Every Coulomb form is one path for the pair kernels: 1/r minus a polynomial in u = (r/rc)^2, zero beyond
// rc:
//   V/qq = 1/r - (1/rc) sum_k pot[k] u^k,     F/(r qq) = 1/r^3 - (1/rc^3) sum_k force[k] u^k      (r < rc)
// PME (Gaussian or prolate split), reaction field and plain cut-off differ in the coefficients only.
#ifndef MDS_NUM_H
#define MDS_NUM_H

#include "base/base.h"
#include "base/vec.h"

MDS_BEGIN

enum { MDS_SHORT_MAX = 32 };

/// Coefficients of the short-range Coulomb form; `degree` is the highest power used. The same two polynomials
/// are given in powers of u and in powers of x = 2u - 1. Use x in float: it costs one fused multiply-add in
/// place of a multiplication, and Horner's rule in x keeps 1e-6 of the largest value or better, while powers
/// of u alternate and lose 2e-5 at beta rc 3.1, 1e-4 at 3.5 and everything at 5 (test_short).
typedef struct {
    double cut; // rc, nm; 0: no cut-off (vacuum), polynomials unused
    int    degree_pot, degree_force;
    double pot[MDS_SHORT_MAX + 1], force[MDS_SHORT_MAX + 1];                 // powers of u, 1
    double pot_centred[MDS_SHORT_MAX + 1], force_centred[MDS_SHORT_MAX + 1]; // powers of 2u - 1, 1
} mds_short;

/// An Ewald split: what is short range, what goes to the mesh. Formulas: docs/theory/mesh.md.
typedef enum { MDS_NUM_PROLATE, MDS_NUM_GAUSSIAN } mds_num_split;
enum { MDS_SPLIT_TERMS = 64 };
typedef struct {
    mds_num_split kind;
    double        cut, shape; // nm; Gaussian: beta 1/nm; prolate: c, 1
    double        self;       // self energy E = -self q^2, 1/nm (without the Coulomb constant)
    double      background; // E = -background Q^2 / V, nm^2 (without the Coulomb constant); virial -E/2 delta
    // prolate only: weight w(t) = sum_j term[j] P_2j(t) on t = r/rc in [0,1], unit integral
    int         n_terms;
    long double term[MDS_SPLIT_TERMS];
    // ghat and its first two derivatives with respect to k rc, at k = i k_step
    double      k_step; // 1/nm
    int32_t     n_k;
    double (*spectrum)[3]; // [n_k][3]
} mds_split;

/// Gaussian: shape = beta > 0. Prolate: shape = c in [1, 60]. k_max: up to which |k| (1/nm) ghat is
/// tabulated; beyond it the answers are still right but slow. Errors: MDS_E_INPUT (shape out of range),
/// MDS_E_MEMORY. Owner: mds_split_free.
mds_status mds_split_init(mds_split *split, mds_num_split kind, double shape, double cut, double k_max);
void       mds_split_free(mds_split *split);
/// Phi(r), 1: the long-range share of 1/r (erf(beta r) for the Gaussian), and r dPhi/dr, 1. Exact to
/// rounding.
double     mds_split_phi(const mds_split *split, double r, double *r_dphi);
/// Prolate only, in long double: w(t) and Phi, for t = r/rc in [0,1].
void       mds_split_weight(const mds_split *split, long double t, long double *weight, long double *phi);
/// ghat(k) of the mesh, 1 (exp(-k^2/4 beta^2) for the Gaussian) and k dghat/dk, 1, both to 1e-11 of ghat(0)
/// = 1. k in 1/nm.
void       mds_split_spectrum(const mds_split *split, double k, double *ghat, double *slope);
/// Short-range coefficients, good to `tolerance` of the largest value (force; potential a hundred times
/// better). `shift`: potential shifted to zero at rc (Gaussian; the prolate split is zero there by itself).
mds_status mds_short_ewald(const mds_split *split, bool shift, double tolerance, mds_short *out);
/// Reaction field with dielectric `epsilon` (0: infinite): V = 1/r + k r^2 - c.
void       mds_short_reaction_field(double cut, double epsilon, mds_short *out);
/// Plain cut-off, shifted to zero at rc or not.
void       mds_short_cutoff(double cut, bool shift, mds_short *out);
/// The Coulomb form that parameters ask for.
typedef enum { MDS_NUM_PME, MDS_NUM_REACTION_FIELD, MDS_NUM_CUT, MDS_NUM_NO_COULOMB } mds_num_coulomb;
typedef struct {
    mds_num_coulomb kind;
    mds_num_split   split;        // PME
    double          shape;        // PME
    double          cut;          // nm
    bool            shift;        // Gaussian split and plain cut-off: zero at the cut-off
    double          dielectric;   // reaction field, 1; 0: infinite
    double          spacing;      // PME: smallest of the mesh, nm
} mds_short_wish;
/// Its short range as float kernels want it, and with PME its split; `split` is freed first. Errors: as of mds_split_init.
mds_status mds_short_form(const mds_short_wish *wish, mds_split *split, mds_short *out);

/// B-spline weights of `order` (4..8) and derivatives at fraction w in [0,1): theta[k] belongs to grid point
/// floor(u) - order + 1 + k, u the scaled coordinate; dtheta is d theta/d u (essmann1995).
void mds_spline(int order, double w, double *theta, double *dtheta);
/// Factor |b(m)|^2 from grid to wave for m = 0..n-1, 1: Euler spline at even orders (essmann1995 eq. 4.4),
/// least squares at odd ones (spline.c says why).
void mds_spline_moduli(int n, int order, double *b2);

/// Smallest size >= n made of the factors 2, 3, 5, 7: what transforms are quick for.
int32_t mds_fft_size(int32_t n);

/// How the charges of a start are arranged (pme_structure.c). Zeroed: independent of each other, in a uniform box.
enum { MDS_PME_WAVES = 36 };
#define MDS_PME_WAVE_STEP 2.0 // 1/nm
typedef struct {
    double s[MDS_PME_WAVES]; // structure factor at k = 0, 1, ... steps; 1 for independent charges
    double crowd;            // density of q^2 about a charge over that of the box; 0: not looked at
} mds_pme_structure;
/// Look at n atoms: x nm, charge e. Neither box nor charges: zeroed. Time 0.1 s, with a million atoms 0.3 s. Errors: MDS_E_MEMORY.
mds_status mds_pme_look(int32_t n, const double (*x)[3], const double *charge, const mds_box *box,
                        mds_pme_structure *out);

/// What pme.force_error asks: the estimated rms over atoms of the force vector's error, kJ/mol/nm, of a
/// choice.
typedef struct {
    mds_box box;
    double  volume;    // nm^3
    double  sum_q2;    // sum of squared charges, e^2
    double  sum_q4;    // sum of fourth powers, e^4; 0: as if all charges were of one size
    int32_t n_atoms;   // charged sites with a force on them (all atoms)
    mds_pme_structure structure;
} mds_pme_system;
typedef struct {
    mds_num_split split;
    double        shape, cut;
    int32_t       order, grid[3];
    double        error; // estimate, kJ/mol/nm
} mds_pme_choice;
/// Estimate for a complete choice, kJ/mol/nm: truncation and mesh, not the rounding of a backend in single
/// precision (about 0.02). Within a tenth of the measured error, mostly within 5 %, on water, protein, DNA and
/// salt solutions, layers and random charges (test_pme_error, docs/validation.md).
double     mds_pme_error(const mds_pme_system *system, const mds_pme_choice *choice);
/// Fill what is not given (shape 0, order 0, grid 0, spacing 0) so that the estimate meets `target` at least
/// cost. split: asked for; changed to Gaussian when the prolate cannot reach the target and no shape is
/// given. A choice that is complete already gets its estimate, whatever the target. Errors: MDS_E_INPUT
/// (cannot be met).
mds_status mds_pme_choose(const mds_pme_system *system, double target, double spacing,
                          mds_pme_choice *choice);

/// What the estimator of list buffers knows of a system. Kinds of pairs by the number of light atoms in them (mds_is_light):
/// 0, 1, 2.
typedef struct {
    double           cut, cut_lj;                 // nm: the larger cut-off; that of LJ
    const mds_short *coulomb;                     // short-range form; charges 0 where there is none
    double           n_atoms, density;            // 1, atoms per nm^3
    double           share[2];                    // of all atoms: heavy, light
    double           speed[2];                    // nm/ps, rms of a component: heavy, light
    double           qq_mean[3], qq_most[3];      // e^2: product of mean absolute charges; of the largest ones
    double           lj_mean[3][2], lj_most[3][2];// C6, C12: of the mean pair; of the strongest one
    double           depth[3];                    // nm: pairs nearer to the cut-off than this may be missed (params.list_depth)
} mds_buffer_system;

/// How far below the cut-off (nm) the force of every pair of the kind stays under `bound` (kJ/mol/nm); 0: not at all.
double mds_buffer_depth(const mds_buffer_system *system, int kind, double bound);
/// Energy (kJ/mol an atom) that a list with that buffer (nm) misses t ps after it was made.
double mds_buffer_error(const mds_buffer_system *system, double buffer, double t);
/// The buffer (nm) for which what is missed at t, once every `period` (ps), is `tolerance` (kJ/mol/ps/atom).
double mds_buffer_for(const mds_buffer_system *system, double t, double period, double tolerance);
/// How many pairs nearer than cut-off less depth such a list is expected to miss at t: what makes the guard ask for a new one.
double mds_buffer_misses(const mds_buffer_system *system, double buffer, double t);
/// Intervals (steps) and buffers (nm) of least cost; what is not 0 in `given` (interval, outer) is kept.
typedef struct {
    int32_t list_interval, prune_interval;
    double  outer, inner;
} mds_buffer_choice;
void mds_buffer_choose(const mds_buffer_system *system, double dt, double tolerance, const mds_buffer_choice *given,
                       mds_buffer_choice *out);

MDS_END
#endif
