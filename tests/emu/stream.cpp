// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs, launches, and the options of the emulation.
//
// Eager: work runs when it is put on a stream. Lazy: it runs when somebody waits for it - a synchronisation, an event that
// another stream waits for, or work on the default stream, which waits for all blocking streams first. Lazy is as late as
// CUDA allows, so a host that reads too early, or a stream that forgot to wait, sees old data. A capture collects closures
// in the order of the calls, which is one order that the dependencies allow; whether those are complete, it cannot tell.
#include "emu.h"

#include <cuda_runtime.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <vector>

struct work_item {
    emu_work run;
    void    *argument;
    emu_work destroy;
};

struct emu_graph {
    std::vector<work_item> items;
    bool                   owns; // the graph, not what was instantiated from it
    int                    users;
    emu_graph             *origin;
};

struct emu_stream {
    std::deque<work_item> queue;
    long                  put, done;
    bool                  blocking;
    emu_graph            *capture;
};

struct emu_event {
    emu_stream *stream;
    long        place; // in its stream; 0: not recorded
    emu_graph  *capture;
    std::chrono::steady_clock::time_point time;
};

static std::set<emu_stream *> &streams()
{
    static auto *s = new std::set<emu_stream *>;
    return *s;
}
static std::map<const void *, int> &shared_limits()
{
    static auto *m = new std::map<const void *, int>;
    return *m;
}
static int last_error;
static int n_captures;

// ---------------------------------------------------------------------------------------------------- options

static emu_options read_options()
{
    emu_options o = {EMU_FORWARD, 1, false, false, 20};
    const char *order = getenv("EMU_ORDER"), *lazy = getenv("EMU_LAZY"), *protect = getenv("EMU_PROTECT");
    const char *seed = getenv("EMU_SEED"), *watchdog = getenv("EMU_WATCHDOG");

    if (order && !strcmp(order, "reverse")) o.order = EMU_REVERSE;
    else if (order && !strcmp(order, "random")) o.order = EMU_RANDOM;
    else if (order && strcmp(order, "forward")) emu_fault("EMU_ORDER = %s: forward, reverse or random", order);
    if (seed) o.seed = strtoull(seed, nullptr, 10) | 1;
    if (watchdog) o.watchdog = atoi(watchdog);
    o.lazy = lazy && *lazy == '1';
    o.protect = protect && *protect == '1';
    return o;
}

const emu_options *emu_get_options()
{
    static const emu_options o = read_options();
    return &o;
}

uint64_t emu_random()
{
    static uint64_t s = emu_get_options()->seed * 0x9e3779b97f4a7c15u;

    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s >> 16;
}

// ----------------------------------------------------------------------------------------------------- errors

int emu_set_error(int error)
{
    if (error) last_error = error;
    return error;
}

static cudaError_t give(int error)
{
    return static_cast<cudaError_t>(emu_set_error(error));
}

extern "C" cudaError_t cudaPeekAtLastError(void)
{
    return static_cast<cudaError_t>(last_error);
}

extern "C" cudaError_t cudaGetLastError(void)
{
    const int e = last_error;

    last_error = 0;
    return static_cast<cudaError_t>(e);
}

extern "C" const char *cudaGetErrorName(cudaError_t e)
{
    switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureImplicit: return "cudaErrorStreamCaptureImplicit";
    default: return "another CUDA error";
    }
}

extern "C" const char *cudaGetErrorString(cudaError_t e)
{
    return cudaGetErrorName(e);
}

int emu_capture_forbids()
{
    return n_captures ? emu_set_error(cudaErrorStreamCaptureUnsupported) : 0;
}

// ---------------------------------------------------------------------------------------------------- streams

static void finish_item(const work_item &item)
{
    item.run(item.argument);
    if (item.destroy) item.destroy(item.argument);
}

static void run_until(emu_stream *s, long place)
{
    while (s->done < place) {
        const work_item item = s->queue.front();

        s->queue.pop_front();
        s->done++;
        finish_item(item);
    }
}

static void run_blocking_streams()
{
    for (emu_stream *s : streams())
        if (s->blocking) run_until(s, s->put);
}

int emu_enqueue(emu_stream *stream, emu_work run, void *argument, emu_work destroy)
{
    const work_item item = {run, argument, destroy};

    if (!stream) {
        if (n_captures) {
            if (destroy) destroy(argument);
            return emu_set_error(cudaErrorStreamCaptureImplicit);
        }
        run_blocking_streams();
        finish_item(item);
        return 0;
    }
    if (stream->capture) {
        stream->capture->items.push_back(item);
        return 0;
    }
    stream->queue.push_back(item);
    stream->put++;
    if (!emu_get_options()->lazy) run_until(stream, stream->put);
    return 0;
}

int emu_wait(emu_stream *stream)
{
    if (stream ? stream->capture != nullptr : n_captures > 0) return emu_set_error(cudaErrorStreamCaptureUnsupported);
    if (stream)
        run_until(stream, stream->put);
    else
        run_blocking_streams();
    return 0;
}

int emu_wait_all()
{
    for (emu_stream *s : streams()) run_until(s, s->put);
    return 0;
}

extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    *stream = new emu_stream{};
    (*stream)->blocking = !(flags & cudaStreamNonBlocking);
    streams().insert(*stream);
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

extern "C" cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}

extern "C" cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream || !streams().count(stream)) return give(cudaErrorInvalidResourceHandle);
    run_until(stream, stream->put); // the device would finish it
    streams().erase(stream);
    delete stream;
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return give(emu_wait(stream));
}

extern "C" cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return stream && stream->done < stream->put ? cudaErrorNotReady : cudaSuccess;
}

extern "C" cudaError_t cudaDeviceSynchronize(void)
{
    if (int e = emu_capture_forbids()) return static_cast<cudaError_t>(e);
    return give(emu_wait_all());
}

// ----------------------------------------------------------------------------------------------------- events

static void mark_time(void *event)
{
    static_cast<emu_event *>(event)->time = std::chrono::steady_clock::now();
}

extern "C" cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    *event = new emu_event{};
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

extern "C" cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (event && event->stream && streams().count(event->stream)) run_until(event->stream, event->place);
    delete event;
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (!stream) return give(emu_enqueue(nullptr, mark_time, event, nullptr));
    event->stream = stream;
    event->capture = stream->capture;
    if (!stream->capture) event->place = stream->put + 1;
    return give(emu_enqueue(stream, mark_time, event, nullptr));
}

struct wait_work {
    emu_stream *stream;
    long        place;
};
static void run_wait(void *argument)
{
    const wait_work *w = static_cast<const wait_work *>(argument);

    if (streams().count(w->stream)) run_until(w->stream, w->place);
}
static void free_wait(void *argument)
{
    delete static_cast<wait_work *>(argument);
}

extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    if (!event || !event->stream) return cudaSuccess; // never recorded: nothing to wait for
    if (event->capture && stream && !stream->capture) stream->capture = event->capture; // the stream joins the capture
    if (event->capture) return cudaSuccess;
    return give(emu_enqueue(stream, run_wait, new wait_work{event->stream, event->place}, free_wait));
}

extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->capture) return give(cudaErrorStreamCaptureUnsupported);
    if (event->stream && streams().count(event->stream)) run_until(event->stream, event->place);
    return cudaSuccess;
}

extern "C" cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return event->stream && event->stream->done < event->place ? cudaErrorNotReady : cudaSuccess;
}

extern "C" cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return cudaSuccess;
}

// ----------------------------------------------------------------------------------------------------- graphs

extern "C" cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    if (!stream || stream->capture) return give(cudaErrorStreamCaptureUnsupported);
    stream->capture = new emu_graph{};
    stream->capture->owns = true;
    n_captures++;
    return cudaSuccess;
}

extern "C" cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (!stream || !stream->capture) return give(cudaErrorStreamCaptureInvalidated);
    *graph = stream->capture;
    for (emu_stream *s : streams())
        if (s->capture == *graph) s->capture = nullptr;
    n_captures--;
    return cudaSuccess;
}

static void drop(emu_graph *g)
{
    if (--g->users >= 0) return;
    for (const work_item &item : g->items)
        if (item.destroy) item.destroy(item.argument);
    delete g;
}

extern "C" cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    graph->users++;
    *exec = new emu_graph{};
    (*exec)->origin = graph;
    return cudaSuccess;
}

/// A graph of another length is refused; what else CUDA refuses (other kinds of node, other dependencies) is not told apart here.
extern "C" cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    info->result = exec->origin->items.size() != graph->items.size();
    if (info->result) return give(cudaErrorGraphExecUpdateFailure);
    graph->users++;
    drop(exec->origin);
    exec->origin = graph;
    return cudaSuccess;
}

static void run_graph(void *graph)
{
    for (const work_item &item : static_cast<emu_graph *>(graph)->items) item.run(item.argument);
}

static void drop_graph(void *graph)
{
    drop(static_cast<emu_graph *>(graph));
}

extern "C" cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    exec->origin->users++;
    return give(emu_enqueue(stream, run_graph, exec->origin, drop_graph));
}

extern "C" cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    drop(graph);
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    drop(exec->origin);
    delete exec;
    return cudaSuccess;
}

// --------------------------------------------------------------------------------------------------- launches

struct launch_work {
    emu_grid grid;
    void (*destroy)(void *);
};

static void run_launch(void *argument)
{
    emu_device_enter();
    emu_run_grid(&static_cast<launch_work *>(argument)->grid);
    emu_device_leave();
}

static void free_launch(void *argument)
{
    launch_work *w = static_cast<launch_work *>(argument);

    w->destroy(w->grid.argument);
    delete w;
}

extern "C" cudaError_t emu_attribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value > 232448) return give(cudaErrorInvalidValue); // 227 KB: the most of any GPU
    shared_limits()[kernel] = value;
    return cudaSuccess;
}

extern "C" cudaError_t emu_launch(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                                  void (*body)(void *), void *argument, void (*destroy)(void *))
{
    const auto   limit = shared_limits().find(kernel);
    const size_t threads = static_cast<size_t>(block.x) * block.y * block.z;
    const bool   legal = threads >= 1 && threads <= EMU_MAX_THREADS && block.z <= 64 && grid.x >= 1 && grid.y >= 1 && grid.z >= 1 &&
                       grid.x <= 2147483647u && grid.y <= 65535 && grid.z <= 65535 &&
                       shared <= static_cast<size_t>(limit == shared_limits().end() ? 49152 : limit->second);

    if (!legal) {
        destroy(argument);
        return give(cudaErrorInvalidConfiguration);
    }
    launch_work *w = new launch_work{{name, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, body, argument}, destroy};
    return give(emu_enqueue(stream, run_launch, w, free_launch));
}

// ----------------------------------------------------------------------------------------------------- device

extern "C" cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

extern "C" cudaError_t cudaSetDevice(int device)
{
    return device == 0 ? cudaSuccess : give(cudaErrorInvalidValue);
}

extern "C" cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}

extern "C" cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    if (device != 0) return give(cudaErrorInvalidValue);
    snprintf(id, static_cast<size_t>(size), "ffff:ff:1f.7"); // of no real device
    return cudaSuccess;
}

extern "C" cudaError_t cudaDeviceReset(void)
{
    return cudaDeviceSynchronize();
}

extern "C" cudaError_t emu_properties(cudaDeviceProp *p)
{
    *p = cudaDeviceProp{};
    snprintf(p->name, sizeof p->name, "emulation on the host (not a GPU)");
    p->totalGlobalMem = size_t{16} << 30;
    p->sharedMemPerBlock = 49152;
    p->sharedMemPerBlockOptin = 65536; // of the smallest GPU aimed at, sm_75
    p->major = 7;
    p->minor = 5;
    p->multiProcessorCount = 4;
    p->warpSize = 32;
    p->maxThreadsPerBlock = EMU_MAX_THREADS;
    return cudaSuccess;
}
