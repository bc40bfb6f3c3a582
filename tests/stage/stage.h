// SPDX-License-Identifier: Apache-2.0
// What stage tests share: small systems built in code, a backend opened by name, single stages run, a frame taken.
#ifndef MDS_STAGE_H
#define MDS_STAGE_H

#include "backend/backend.h"
#include "base/rng.h"
#include "base/units.h"
#include "test.h"

/// Which stages an evaluation runs between begin and finish.
enum { STAGE_PAIR = 1, STAGE_BONDED = 2, STAGE_MESH = 4, STAGE_ALL = 7 };

/// A device opened on a system, and the last frame taken from it (global order: row i is atom i).
typedef struct {
    const mds_backend *backend;
    const mds_system  *system;
    mds_device        *device;
    mds_frame          frame;
    int32_t            every; // gradient checks: atoms 0, every, 2 every ... and those that sites are built from; 0: all
    bool               force_only; // evaluations ask for no energies and no virial
    mds_work           also;       // what evaluations ask for besides
    double             step;    // of the differences, nm and 1; 0: 2e-4
} stage;

/// Whether the environment (MDS_DOUBLE) asks for double precision throughout, of a backend that has both: tests then have ref's tolerances.
bool stage_double(void);
/// Parameters to start from: LJ and Coulomb plain cut-off `cut`, no shift, no tail, lists a little beyond the cut-off.
mds_params stage_params(double cut);
/// Gaussian (beta) or prolate (c) split with this order and a grid of `n` points a side.
void stage_pme(mds_params *params, mds_split_kind split, double shape, int order, int n);
/// n atoms more, in one residue, of type 0 and mass 12: returns the id of the first. Test ends where it fails.
int32_t stage_atoms(mds_system *system, int32_t n, double charge);
/// A state of `system` with a box (zeros: none) and all positions zero.
void stage_state(const mds_system *system, const double box[3][3], mds_state *state);
/// Uniform numbers in (0, 1) that are the same on every machine.
double stage_random(uint64_t seed, uint32_t index);

void stage_open(const char *backend, const mds_system *system, const mds_params *params, stage *out);
void stage_close(stage *s);
/// upload, search, begin, the stages of `mask`, finish, observe, collect: s->frame with x and f.
void stage_forces(stage *s, const mds_state *state, int mask);
/// All of the above for one state; the frame is the caller's.
void stage_once(const char *backend, const mds_system *system, const mds_params *params, const mds_state *state,
                int mask, mds_frame *frame);

/// Largest |component| of the force difference of two frames, kJ/mol/nm.
double stage_force_gap(const mds_frame *a, const mds_frame *b);
/// Largest |component| of the forces, kJ/mol/nm.
double stage_force_size(const mds_frame *a);
/// Largest |component| of a tensor and of a difference of tensors.
double stage_tensor_size(const double a[3][3]);
double stage_tensor_gap(const double a[3][3], const double b[3][3]);

/// Forces against minus the numerical gradient of the potential, virial against the numerical strain derivative, for
/// the atoms that s->every asks for. `tolerance` is relative to the largest force and largest strain derivative.
/// Prints what is off and returns how many: the caller checks for 0.
int stage_check_gradient(stage *s, const mds_state *state, int mask, double tolerance, const char *what);

/// One number of the bits of forces, energies and virial.
uint64_t stage_fingerprint(const mds_frame *frame);
/// Checks that `program`, run again with the words `backend` and "fingerprint", prints `want` (hexadecimal) whatever the order in which
/// the emulation runs threads: it reads that order once, so each takes a process of its own.
void stage_check_orders(const char *program, const char *backend, uint64_t want);
#endif
