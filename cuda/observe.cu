// SPDX-License-Identifier: Apache-2.0
// Frames: the scalars and the arrays asked for leave the device through pinned memory, three of them: two take the frames of a
// trajectory in turn, the third what the engine looks at itself.
//
// `observe` queues a copy into the slot's pinned buffer and an event behind it; the step goes on. `collect` waits for that event and
// copies; `view` hands out the buffer itself, to be written by another thread while the device computes. Arrays are in atom order
// already, so a frame is a plain copy.
#include "device.h"

#include <math.h>
#include <string.h>

enum { THREADS = 256, PARTS = 64, SLOTS = 3 }; // parts: at most so many blocks

/// A frame on its way.
typedef struct {
    gpu_control *control;        // pinned
    double     (*array[3])[3];   // pinned: x, v, f; [n_atoms]
    cudaEvent_t  here;
    uint32_t     fields;
    bool         has_energy, has_virial;
} flight;

struct gpu_frames {
    flight  slot[SLOTS];
    double *size;  // [PARTS] device: largest squared force of a part
    int    *atom;  // [PARTS] device: and whose
};

/// Of two candidates the one to keep: the larger force, of equals the smaller id.
static __device__ __forceinline__ void keep_larger(double *size, int *atom, double other, int of)
{
    if (other < *size || (other == *size && of > *atom)) return;
    *size = other;
    *atom = of;
}

/// The largest squared force of every block's share, not a number counting as infinite. Ties go to the smallest id.
static __global__ void k_largest(gpu_view p, const double (*f)[3], double *size, int *atom)
{
    GPU_SHARED(double, best, [THREADS]);
    GPU_SHARED(int, whose, [THREADS]);
    const int t = (int)threadIdx.x;
    double    mine = -1;
    int       id = GPU_NO_ATOM, i, k;

    for (i = (int)blockIdx.x * THREADS + t; i < p.n_atoms; i += (int)gridDim.x * THREADS) {
        const double f2 = mds_dot(f[i], f[i]);

        keep_larger(&mine, &id, isnan(f2) ? HUGE_VAL : f2, i);
    }
    best[t] = mine;
    whose[t] = id;
    __syncthreads();
    for (k = THREADS / 2; k > 0; k /= 2) {
        if (t < k) keep_larger(&best[t], &whose[t], best[t + k], whose[t + k]);
        __syncthreads();
    }
    if (t == 0) {
        size[blockIdx.x] = best[0];
        atom[blockIdx.x] = whose[0];
    }
}

static __global__ void k_largest_of_all(gpu_view p, const double (*f)[3], const double *size, const int *atom, int parts)
{
    double best = -1;
    int    id = GPU_NO_ATOM, k;

    for (k = 0; k < parts; k++) keep_larger(&best, &id, size[k], atom[k]);
    p.control->f_max = id == GPU_NO_ATOM ? 0 : mds_norm(f[id]);
    p.control->f_max_atom = id == GPU_NO_ATOM ? -1 : id;
}

mds_status GPU_NAME(observe_open)(mds_device *d)
{
    MDS_TRY(mds_alloc(&d->frames, 1, sizeof *d->frames));
    for (int k = 0; k < SLOTS; k++) {
        GPU_TRY(cudaMallocHost(&d->frames->slot[k].control, sizeof(gpu_control)));
        GPU_TRY(cudaEventCreateWithFlags(&d->frames->slot[k].here, cudaEventDisableTiming));
    }
    MDS_TRY(gpu_alloc(&d->frames->size, PARTS));
    return gpu_alloc(&d->frames->atom, PARTS);
}

void GPU_NAME(observe_close)(mds_device *d)
{
    gpu_frames *f = d->frames;

    if (!f) return;
    for (int k = 0; k < SLOTS; k++) {
        if (f->slot[k].control) (void)cudaFreeHost(f->slot[k].control);
        for (int a = 0; a < 3; a++)
            if (f->slot[k].array[a]) (void)cudaFreeHost(f->slot[k].array[a]);
        if (f->slot[k].here) (void)cudaEventDestroy(f->slot[k].here);
    }
    GPU_NAME(release)(f->size);
    GPU_NAME(release)(f->atom);
    mds_free(f);
    d->frames = NULL;
}

mds_status GPU_NAME(observe)(mds_device *d, uint32_t fields, int slot)
{
    const gpu_view *p = &d->view;
    flight         *out = &d->frames->slot[slot];
    double (*const f)[3] = d->seen ? d->f_seen : p->f;
    const void *const from[3] = {p->x, p->v, f};
    const size_t      bytes = (size_t)p->n_atoms * sizeof *p->x;
    const int         parts = p->n_atoms < PARTS * THREADS ? p->n_atoms / THREADS + 1 : PARTS;

    MDS_TRY(GPU_NAME(catch_up)(d));
    MDS_TRY(GPU_NAME(sum_forces)(d));
    GPU_LAUNCH(k_largest, (unsigned)parts, THREADS, 0, d->stream, *p, f, d->frames->size, d->frames->atom);
    GPU_LAUNCH(k_largest_of_all, 1, 1, 0, d->stream, *p, f, d->frames->size, d->frames->atom, parts);
    GPU_TRY(cudaMemcpyAsync(out->control, p->control, sizeof *out->control, cudaMemcpyDeviceToHost, d->stream));
    for (int a = 0; a < 3; a++) {
        if (!(fields & (1u << a))) continue; // MDS_FIELD_X, _V, _F
        if (!out->array[a]) GPU_TRY(cudaMallocHost(&out->array[a], bytes));
        GPU_TRY(cudaMemcpyAsync(out->array[a], from[a], bytes, cudaMemcpyDeviceToHost, d->stream));
    }
    GPU_TRY(cudaEventRecord(out->here, d->stream));
    out->fields = fields;
    out->has_energy = d->has_energy;
    out->has_virial = d->has_virial;
    return MDS_OK;
}

static void copy_scalars(const mds_device *d, const flight *in, mds_frame *out)
{
    const gpu_control *c = in->control;

    out->step = c->step;
    out->time = c->time;
    out->box = c->box;
    memcpy(out->energy, c->energy, sizeof out->energy);
    memcpy(out->kinetic, c->kinetic, sizeof out->kinetic);
    memcpy(out->virial, c->virial, sizeof out->virial);
    memcpy(out->constraint_virial, c->constraint_virial, sizeof out->constraint_virial);
    memcpy(out->coupling, c->coupling, sizeof out->coupling);
    out->work_noise = c->work_noise;
    out->work_scale = c->work_scale;
    out->fv = c->fv;
    out->ff = c->ff;
    out->vv = c->vv;
    out->f_max = c->f_max;
    out->f_max_atom = c->f_max_atom;
    out->has_energy = in->has_energy;
    out->has_virial = in->has_virial;
    out->fault = GPU_NAME(faults)(d, c);
    out->fault_atom = out->fault && c->fault_atom != GPU_NO_ATOM ? c->fault_atom : -1;
}

mds_status GPU_NAME(collect)(mds_device *d, int slot, mds_frame *out)
{
    flight        *in = &d->frames->slot[slot];
    const int32_t  n = d->view.n_atoms;
    const size_t   bytes = (size_t)n * sizeof *d->view.x;

    GPU_TRY(cudaEventSynchronize(in->here));
    copy_scalars(d, in, out);
    out->n = 0;
    if (!in->fields) return MDS_OK;
    MDS_TRY(mds_frame_reserve(out, n, in->fields));
    out->n = n;
    for (int32_t i = 0; i < n; i++) out->id[i] = i;
    if (in->fields & MDS_FIELD_X) memcpy(out->x, in->array[0], bytes);
    if (in->fields & MDS_FIELD_V) memcpy(out->v, in->array[1], bytes);
    if (in->fields & MDS_FIELD_F) memcpy(out->f, in->array[2], bytes);
    return MDS_OK;
}

mds_status GPU_NAME(view)(mds_device *d, int slot, mds_frame *out)
{
    flight           *in = &d->frames->slot[slot];
    const cudaError_t state = cudaEventQuery(in->here);

    MDS_CHECK(state != cudaErrorNotReady, MDS_E_INTERNAL, "the frame in slot %d was looked at before it had arrived", slot);
    GPU_TRY(state);
    *out = mds_frame{};
    copy_scalars(d, in, out);
    out->n = in->fields ? d->view.n_atoms : 0;
    out->x = in->fields & MDS_FIELD_X ? in->array[0] : NULL;
    out->v = in->fields & MDS_FIELD_V ? in->array[1] : NULL;
    out->f = in->fields & MDS_FIELD_F ? in->array[2] : NULL;
    return MDS_OK;
}
