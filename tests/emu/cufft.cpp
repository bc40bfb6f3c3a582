// SPDX-License-Identifier: Apache-2.0
// cuFFT calls over FFTW: real-to-complex transforms in three dimensions, float and double.
#include "emu.h"

#include <cufft.h>

#include <fftw3.h>
#include <map>
#include <new>

struct plan {
    int          n[3];
    cufftType    type;
    cudaStream_t stream;
};
static std::map<int, plan> &plans()
{
    static auto *m = new std::map<int, plan>;
    return *m;
}

struct transform {
    plan  what;
    void *in, *out;
};

/// Plans are made for the arrays at hand and thrown away: tests are small, and no plan survives a change of memory.
static void run(void *argument)
{
    const transform *t = static_cast<const transform *>(argument);
    const int       *n = t->what.n;
    const size_t     half = static_cast<size_t>(n[0]) * static_cast<size_t>(n[1]) * static_cast<size_t>(n[2] / 2 + 1);
    float  *rf = static_cast<float *>(t->what.type == CUFFT_R2C ? t->in : t->out);
    double *rd = static_cast<double *>(t->what.type == CUFFT_D2Z ? t->in : t->out);

    emu_device_enter();
    if (t->what.type == CUFFT_R2C || t->what.type == CUFFT_C2R) {
        fftwf_complex *c = static_cast<fftwf_complex *>(t->what.type == CUFFT_R2C ? t->out : t->in);
        fftwf_plan     p = t->what.type == CUFFT_R2C ? fftwf_plan_dft_r2c_3d(n[0], n[1], n[2], rf, c, FFTW_ESTIMATE)
                                                     : fftwf_plan_dft_c2r_3d(n[0], n[1], n[2], c, rf, FFTW_ESTIMATE);
        if (!p) emu_fault("FFTW makes no plan for %d x %d x %d", n[0], n[1], n[2]);
        fftwf_execute(p);
        fftwf_destroy_plan(p);
        if (t->what.type == CUFFT_C2R && t->in != t->out) memset(t->in, 0xff, half * sizeof *c);
    } else {
        fftw_complex *c = static_cast<fftw_complex *>(t->what.type == CUFFT_D2Z ? t->out : t->in);
        fftw_plan     p = t->what.type == CUFFT_D2Z ? fftw_plan_dft_r2c_3d(n[0], n[1], n[2], rd, c, FFTW_ESTIMATE)
                                                    : fftw_plan_dft_c2r_3d(n[0], n[1], n[2], c, rd, FFTW_ESTIMATE);
        if (!p) emu_fault("FFTW makes no plan for %d x %d x %d", n[0], n[1], n[2]);
        fftw_execute(p);
        fftw_destroy_plan(p);
        if (t->what.type == CUFFT_Z2D && t->in != t->out) memset(t->in, 0xff, half * sizeof *c);
    }
    emu_device_leave();
}

static void free_transform(void *argument)
{
    delete static_cast<transform *>(argument);
}

extern "C" cufftResult cufftPlan3d(cufftHandle *handle, int nx, int ny, int nz, cufftType type)
{
    static int next = 1;

    if (nx < 1 || ny < 1 || nz < 1) return CUFFT_INVALID_SIZE;
    if (type == CUFFT_C2C) return CUFFT_INVALID_VALUE; // mdsim has no use for it
    if (emu_capture_forbids()) return CUFFT_EXEC_FAILED;
    plans()[next] = {{nx, ny, nz}, type, nullptr};
    *handle = next++;
    return CUFFT_SUCCESS;
}

extern "C" cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    const auto it = plans().find(handle);

    if (it == plans().end()) return CUFFT_INVALID_PLAN;
    it->second.stream = stream;
    return CUFFT_SUCCESS;
}

extern "C" cufftResult cufftDestroy(cufftHandle handle)
{
    return plans().erase(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

extern "C" cufftResult cufftGetSize(cufftHandle handle, size_t *bytes)
{
    *bytes = 0;
    return plans().count(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

static cufftResult execute(cufftHandle handle, cufftType type, void *in, void *out)
{
    const auto it = plans().find(handle);

    if (it == plans().end() || it->second.type != type) return CUFFT_INVALID_PLAN;
    if (!emu_is_device(in) || !emu_is_device(out)) emu_fault("cuFFT: arrays must be device memory");
    if (emu_enqueue(it->second.stream, run, new transform{it->second, in, out}, free_transform)) return CUFFT_EXEC_FAILED;
    return CUFFT_SUCCESS;
}

extern "C" cufftResult cufftExecR2C(cufftHandle handle, cufftReal *in, cufftComplex *out)
{
    return execute(handle, CUFFT_R2C, in, out);
}

extern "C" cufftResult cufftExecC2R(cufftHandle handle, cufftComplex *in, cufftReal *out)
{
    return execute(handle, CUFFT_C2R, in, out);
}

extern "C" cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal *in, cufftDoubleComplex *out)
{
    return execute(handle, CUFFT_D2Z, in, out);
}

extern "C" cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex *in, cufftDoubleReal *out)
{
    return execute(handle, CUFFT_Z2D, in, out);
}
