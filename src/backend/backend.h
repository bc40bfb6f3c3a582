// SPDX-License-Identifier: Apache-2.0
// The verbs: the table of stages that every backend fills, and its contract.
//
// Six rules (docs/architecture.md gives the reasons):
//  1. Enqueue. Stages never wait for the device and never return device results. Only open, upload, search,
//     mark, poll, collect and parcel may wait.
//  2. As-if. Stage boundaries are meaning, not kernels: a backend may postpone, merge or split work as long as
//     poll, collect, parcel and the next stages see the same values.
//  3. No per-step arguments. What changes every step (step counter, noise key, scaling) lives on the device and is
//     advanced there.
//  4. Growth only in upload and search. Lists are filled in two passes, so their order never depends on the order
//     of threads: forces are a pure function of the state and of the list's reference positions.
//  5. A trip is not a loss. When an atom has moved further than the buffer allows, `move` sets a stop word; later
//     stages fall through untouched until `search`, and the host goes on from that very step.
//  6. Tables are complete: no NULL but the optional ones at its end.
#ifndef MDS_BACKEND_H
#define MDS_BACKEND_H

#include "model/model.h"

MDS_BEGIN

typedef struct mds_device mds_device; // opaque, each backend its own

/// What a step must do beside moving atoms.
typedef uint32_t mds_work;
enum {
    MDS_ENERGY = 1u << 0,  // energies of every term
    MDS_VIRIAL = 1u << 1,  // the virial tensor
    MDS_SEARCH = 1u << 2,  // a new pair list
    MDS_OBSERVE = 1u << 3, // a frame leaves the device
    MDS_COUPLE = 1u << 4,  // thermostat, barostat and centre-of-mass removal act
    MDS_UNSEEN = 1u << 5,  // nobody looks at this step's forces or at the velocities that end it: what the next FIX_X takes back anyway
                           // (forces and velocities along constraints) may be left out. A hint: x and v agree to rounding without it
    MDS_FAST = 1u << 6     // multiple time steps (params.mesh_every): the slow forces are left out here. Never with energies or virial
};

enum { MDS_CAP_REPLAY = 1u << 0, MDS_CAP_DEVICE_MPI = 1u << 1 };

typedef enum { MDS_HOME, MDS_HALO } mds_where;          // pairs inside the brick / pairs with copies
typedef enum { MDS_X, MDS_F, MDS_ATOM } mds_field;      // what a message carries
typedef enum { MDS_SPREAD, MDS_FFT, MDS_SOLVE, MDS_IFFT, MDS_GATHER, MDS_MESH_ALL } mds_phase;

/// One operation of an integrator. `fraction` is of dt.
///   KICK   v += fraction dt f/m
///   DRIFT  x += fraction dt v
///   NOISE  Ornstein-Uhlenbeck on v for fraction dt with friction 1/tau_t, then the noise along constraints is
///          taken out; the heat goes to work_noise
///   FIX_X  put positions back on the constraints along the bond directions from before the drift in the same list, and
///          add (change of x)/(fraction dt) to v; a fraction of 0 leaves v alone
///   FIX_V  take velocities along constraints out
///   MIX    FIRE's velocity mixing with params.mix and the force that constraints leave; v = 0 if f.v <= 0 or mix < 0.
///          The frame's fv, ff, vv are those from before it
typedef enum { MDS_STOP, MDS_KICK, MDS_DRIFT, MDS_NOISE, MDS_FIX_X, MDS_FIX_V, MDS_MIX } mds_op_kind;
typedef struct {
    mds_op_kind kind;
    double      fraction;
} mds_op;

/// Multiple time steps. Slow forces are what the mesh gives less what excluded pairs take back of it. In a step without MDS_FAST they
/// act params.mesh_every times as strongly on whatever KICK moves; energies, virials (that of constraints too) and the forces of a
/// frame are those of the potential, each force once (docs/theory/integrators.md).

/// An integrator is data: operations before and after the forces, each list ended by MDS_STOP.
typedef struct {
    const char *name;
    mds_op      before[8], after[8];
    bool        half_step_velocities; // v lives half a step from x: kinetic energy is the mean of two half steps
} mds_integrator;

/// "verlet", "leapfrog", "langevin", "minimize"; NULL if unknown.
const mds_integrator *mds_integrator_find(const char *name);

typedef struct {
    void  *send, *recv;
    size_t n_send, n_recv; // bytes
} mds_parcel;

/// Where a device stands; the cheap look of the engine between steps.
typedef struct {
    int64_t  step;
    bool     tripped; // an atom left the buffer in the step that was begun: search, then finish that step
    uint32_t fault;
} mds_poll;

/// What a device's pair list looks like at the last search, for benchmarks; all 0 where a backend keeps no list.
typedef struct {
    int64_t outer, inner; // pair slots: of the list, and of what is computed every step
    int64_t inside;       // pairs of those computed that are within the larger cut-off
    int64_t searches, prunes; // since open
} mds_list_figures;

/// What a device's own instruments read now; NAN: not known.
typedef struct {
    double joule;           // spent since a moment that stays the same
    double watt, clock_mhz; // power, and clock of the processors
} mds_meter;

typedef struct {
    const char *name;
    uint32_t    caps;

    // life
    mds_status (*open)(const mds_system *system, const mds_params *params, int threads, const char *isa,
                       mds_device **out);
    void (*close)(mds_device *device);
    /// One line for logs: "cpu: avx512, 2 threads". Static or owned by the device.
    const char *(*describe)(const mds_device *device);
    /// Values of `isa` that open() takes here, best first, separated by blanks: "avx512 avx2 generic". Static. With `ways`, also with one of
    /// those behind it: "lane-gemm".
    const char *(*flavours)(void);
    /// The one of them that a device uses.
    const char *(*flavour)(const mds_device *device);
    /// Counts pairs: slow.
    void (*figures)(const mds_device *device, mds_list_figures *out);

    /// How many devices answer on this machine, and a text about device k (name, memory); where none answers, why. The host
    /// itself is one without a text.
    int (*devices)(int k, char *text, size_t size);

    // doors: the only copies between host and device
    mds_status (*upload)(mds_device *device, const mds_domain *domain, const mds_state *state);
    mds_status (*set)(mds_device *device, const mds_params *params);
    mds_status (*observe)(mds_device *device, uint32_t fields, int slot); // starts a frame on its way; slot 0 or 1, with view also 2
    mds_status (*collect)(mds_device *device, int slot, mds_frame *out);  // waits for it
    mds_status (*poll)(mds_device *device, mds_poll *out);

    // stages: enqueue and return
    mds_status (*search)(mds_device *device, const mds_domain *domain);
    mds_status (*begin)(mds_device *device, mds_work work);               // clear sums, place virtual sites
    mds_status (*pair)(mds_device *device, mds_where where, mds_work work);
    mds_status (*bonded)(mds_device *device, mds_work work);
    mds_status (*mesh)(mds_device *device, mds_phase phase, mds_work work);
    mds_status (*finish)(mds_device *device, mds_work work);              // sum forces, spread virtual-site forces
    mds_status (*move)(mds_device *device, const mds_op *until_stop, mds_work work);
    mds_status (*couple)(mds_device *device, mds_work work);

    // messages: more than one rank only
    mds_status (*mark)(mds_device *device, const mds_domain *domain, mds_field field, int32_t *counts);
    mds_status (*pack)(mds_device *device, mds_field field, int leg);
    mds_status (*parcel)(mds_device *device, mds_field field, int leg, mds_parcel *out);
    mds_status (*unpack)(mds_device *device, mds_field field, int leg);

    // optional (NULL: the engine loops)
    /// n steps of one kind, each as `record` enqueues it. kind: 0 or MDS_FAST; what is recorded is kept by it.
    mds_status (*replay)(mds_device *device, mds_status (*record)(void *), void *arg, mds_work kind, int n);
    /// collect without a copy, once a poll has followed the observe: arrays that are the device's, in input order (id NULL), and stay
    /// until the slot is observed again. Other threads may read them. Errors: MDS_E_INTERNAL if the frame has not arrived.
    mds_status (*view)(mds_device *device, int slot, mds_frame *out);
    /// NULL: the device is the host, whose counters are not this table's (engine/machine.c). Takes up to some ms.
    void (*meter)(const mds_device *device, mds_meter *out);
    /// What a search [0], a pruning [1], the pairs of a step [2] and its mesh [3] take by the device's own clock, s, at the positions of the last
    /// upload. Forces are worth nothing afterwards.
    mds_status (*time_pairs)(mds_device *device, const mds_domain *domain, double seconds[4]);
    /// The next larger numbers of mesh points that this backend's devices transform best; as they are, if there are none near. Asked where nobody
    /// has given a mesh, so the answer must not depend on the device. NULL: any size will do.
    void (*round_grid)(int32_t grid[3]);
    /// Ways in which this device could transform the mesh that it has, the one in use first, separated by blanks; "" where there is nothing
    /// to choose. Owned by the device.
    const char *(*ways)(const mds_device *device);
} mds_backend;

/// Backend k of those compiled in, NULL beyond the last.
const mds_backend *mds_backend_at(int k);

/// `devices` of a backend that runs on the host.
int mds_host_devices(int k, char *text, size_t size);
/// Message stages for backends that run on one rank: always MDS_E_UNSUPPORTED.
mds_status mds_one_rank_mark(mds_device *device, const mds_domain *domain, mds_field field, int32_t *counts);
mds_status mds_one_rank_leg(mds_device *device, mds_field field, int leg);
mds_status mds_one_rank_parcel(mds_device *device, mds_field field, int leg, mds_parcel *out);

/// The compiled-in backend of that name. Errors: MDS_E_UNSUPPORTED (known but not compiled in), MDS_E_INPUT (unknown).
mds_status mds_backend_find(const char *name, const mds_backend **out);

MDS_END
#endif
