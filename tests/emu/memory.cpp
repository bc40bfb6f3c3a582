// SPDX-License-Identifier: Apache-2.0
// Device and pinned memory. Fresh memory is all ones: NaN as a float, -1 as an integer.
//
// Protect mode: each allocation has pages of its own and ends at a closed one, and all of it is closed while no device
// work runs. So the host that reads a device pointer, a kernel that runs past an end, and use after free are all caught
// at the very access; the handler below names them. Freed addresses are never given out again.
#include "emu.h"

#include <cuda_runtime.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

struct block {
    char  *map; // protect mode: all pages, the closed one last
    size_t size, mapped;
    bool   freed;
};
static std::map<const char *, block> &device_blocks() // by first byte; never destroyed, so usable at exit
{
    static auto *m = new std::map<const char *, block>;
    return *m;
}
static std::map<const char *, size_t> &pinned_blocks()
{
    static auto *m = new std::map<const char *, size_t>;
    return *m;
}
static int depth; // of device work

template <class M> static typename M::const_iterator find(const M &m, const void *address, size_t slack)
{
    const char *a = static_cast<const char *>(address);
    auto        it = m.upper_bound(a);

    if (it == m.begin()) return m.end();
    --it;
    if constexpr (std::is_same_v<typename M::mapped_type, size_t>)
        return a < it->first + it->second + slack ? it : m.end();
    else
        return a < it->first + it->second.size + slack ? it : m.end();
}

bool emu_is_pinned(const void *address)
{
    return find(pinned_blocks(), address, 0) != pinned_blocks().end();
}

bool emu_is_device(const void *address)
{
    const auto it = find(device_blocks(), address, 0);

    return it != device_blocks().end() && !it->second.freed;
}

static void open_all(int mode)
{
    if (!emu_get_options()->protect) return;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (auto &[first, b] : device_blocks())
        if (!b.freed && mprotect(b.map, b.mapped - page, mode)) emu_fault("mprotect failed");
}

void emu_device_enter()
{
    if (depth++ == 0) open_all(PROT_READ | PROT_WRITE);
}

void emu_device_leave()
{
    if (--depth == 0) open_all(PROT_NONE);
}

/// Bad access: of which allocation, by whom. Works on a stack of its own, because the fibre's may be what overflowed.
static void on_fault(int, siginfo_t *info, void *)
{
    const char *a = static_cast<const char *>(info->si_addr);
    const auto  it = find(device_blocks(), a, 65536);

    if (emu_fibre_guard(a) >= 0) emu_fault("stack of a thread overflows %d bytes: a local array too large?", EMU_STACK);
    if (it == device_blocks().end()) emu_fault("bad address %p", static_cast<const void *>(a));
    const long offset = static_cast<long>(a - it->first);
    if (it->second.freed) emu_fault("use of device memory after cudaFree: byte %ld of %zu", offset, it->second.size);
    if (offset >= static_cast<long>(it->second.size))
        emu_fault("access past the end of device memory: byte %ld of %zu", offset, it->second.size);
    emu_fault("the host touches device memory: byte %ld of %zu", offset, it->second.size);
}

static void catch_faults()
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(EMU_TSAN)
    static bool done;
    static char stack[65536];

    if (done) return;
    done = true;
    stack_t alternative = {};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
#else
    (void)on_fault;
#endif
}

extern "C" cudaError_t cudaMalloc(void **p, size_t size)
{
    block b = {};
    char *first;

    catch_faults();
    if (int e = emu_capture_forbids()) return static_cast<cudaError_t>(e);
    *p = nullptr;
    if (!size) return cudaSuccess;
    b.size = size;
    if (emu_get_options()->protect) {
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), used = (size + 15) / 16 * 16;
        const size_t pages = (used + page - 1) / page * page;

        b.mapped = pages + page;
        void *map = mmap(nullptr, b.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) return static_cast<cudaError_t>(emu_set_error(cudaErrorMemoryAllocation));
        b.map = static_cast<char *>(map);
        if (mprotect(b.map + pages, page, PROT_NONE)) emu_fault("mprotect failed");
        first = b.map + pages - used;
    } else {
        first = static_cast<char *>(aligned_alloc(256, (size + 255) / 256 * 256));
#ifdef __SANITIZE_ADDRESS__
        free(first); // exact end instead of an aligned size
        void *exact = nullptr;
        first = posix_memalign(&exact, 256, size) ? nullptr : static_cast<char *>(exact);
#endif
        if (!first) return static_cast<cudaError_t>(emu_set_error(cudaErrorMemoryAllocation));
    }
    memset(first, 0xff, size);
    if (b.map && depth == 0) mprotect(b.map, b.mapped - static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE);
    device_blocks()[first] = b;
    *p = first;
    return cudaSuccess;
}

extern "C" cudaError_t cudaFree(void *p)
{
    if (!p) return cudaSuccess;
    if (int e = emu_capture_forbids()) return static_cast<cudaError_t>(e);
    emu_wait_all(); // as cudaFree does
    const auto it = device_blocks().find(static_cast<char *>(p));
    if (it == device_blocks().end() || it->second.freed) emu_fault("cudaFree of %p, which cudaMalloc did not give", p);
    if (it->second.map) {
        mprotect(it->second.map, it->second.mapped, PROT_NONE);
        madvise(it->second.map, it->second.mapped, MADV_DONTNEED);
        it->second.freed = true;
    } else {
        device_blocks().erase(it);
        free(p);
    }
    return cudaSuccess;
}

extern "C" cudaError_t cudaHostAlloc(void **p, size_t size, unsigned)
{
    if (int e = emu_capture_forbids()) return static_cast<cudaError_t>(e);
    *p = calloc(1, size ? size : 1);
    if (!*p) return static_cast<cudaError_t>(emu_set_error(cudaErrorMemoryAllocation));
    memset(*p, 0xff, size);
    pinned_blocks()[static_cast<char *>(*p)] = size;
    return cudaSuccess;
}

extern "C" cudaError_t cudaMallocHost(void **p, size_t size)
{
    return cudaHostAlloc(p, size, 0);
}

extern "C" cudaError_t cudaFreeHost(void *p)
{
    if (!p) return cudaSuccess;
    emu_wait_all();
    if (!pinned_blocks().erase(static_cast<char *>(p))) emu_fault("cudaFreeHost of %p, which cudaMallocHost did not give", p);
    free(p);
    return cudaSuccess;
}

extern "C" cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    size_t used = 0;

    for (const auto &[first, b] : device_blocks()) used += b.freed ? 0 : b.size;
    *total = size_t{16} << 30;
    *free_bytes = *total > used ? *total - used : 0;
    return cudaSuccess;
}

// --------------------------------------------------------------------------------------------------- copies

struct copy_work {
    void       *to;
    const void *from;
    void       *snapshot; // of pageable memory, as the driver stages it
    size_t      size;
    int         value;
};

static void run_copy(void *argument)
{
    const copy_work *c = static_cast<const copy_work *>(argument);

    emu_device_enter();
    if (c->from)
        memmove(c->to, c->snapshot ? c->snapshot : c->from, c->size);
    else
        memset(c->to, c->value, c->size);
    emu_device_leave();
}

static void free_copy(void *argument)
{
    free(static_cast<copy_work *>(argument)->snapshot);
    delete static_cast<copy_work *>(argument);
}

static void check_side(const void *p, size_t size, bool device, const char *call)
{
    if (!size) return;
    const char *last = static_cast<const char *>(p) + size - 1;
    if (device != emu_is_device(p) || (device && !emu_is_device(last)))
        emu_fault("%s: %p, %zu bytes, is not all %s memory", call, p, size, device ? "device" : "host");
}

static void check_copy(const void *to, const void *from, size_t size, cudaMemcpyKind kind, const char *call)
{
    if (kind == cudaMemcpyDefault) return;
    check_side(to, size, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice, call);
    check_side(from, size, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice, call);
}

extern "C" cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!size) return cudaSuccess;
    check_copy(to, from, size, kind, "cudaMemcpyAsync");
    copy_work *c = new copy_work{to, from, nullptr, size, 0};
    if (!emu_is_device(from) && !emu_is_pinned(from)) {
        c->snapshot = malloc(size);
        if (!c->snapshot) emu_fault("no memory for a copy");
        memcpy(c->snapshot, from, size);
    }
    const int error = emu_enqueue(stream, run_copy, c, free_copy);
    if (!error && !emu_is_device(to) && !emu_is_pinned(to)) return static_cast<cudaError_t>(emu_wait(stream)); // pageable: staged, so done on return
    return static_cast<cudaError_t>(error);
}

extern "C" cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
    if (!size) return cudaSuccess;
    if (int e = emu_capture_forbids()) return static_cast<cudaError_t>(e);
    check_copy(to, from, size, kind, "cudaMemcpy");
    copy_work *c = new copy_work{to, from, nullptr, size, 0};
    const int  error = emu_enqueue(nullptr, run_copy, c, free_copy);
    return static_cast<cudaError_t>(error ? error : emu_wait(nullptr));
}

extern "C" cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t stream)
{
    if (!size) return cudaSuccess;
    check_side(to, size, true, "cudaMemsetAsync");
    return static_cast<cudaError_t>(emu_enqueue(stream, run_copy, new copy_work{to, nullptr, nullptr, size, value}, free_copy));
}

extern "C" cudaError_t cudaMemset(void *to, int value, size_t size)
{
    return cudaMemsetAsync(to, value, size, nullptr);
}
