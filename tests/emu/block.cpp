// SPDX-License-Identifier: Apache-2.0
// One block after another: the scheduler of its threads, barriers, warp operations, shared memory.
//
// A warp operation is a record: kind, mask, source line, what each lane brought. The lane that completes the mask computes
// everybody's result and makes them ready. Whatever CUDA leaves undefined is a fault here: a caller outside its own mask, a
// mask that names a lane that does not exist or has returned, a source lane outside the mask, different barriers in one
// block, a return while somebody still waits. If at last nobody can run, every open record is printed with who is missing
// and where those are instead: that is divergence.
#include "emu.h"

#include "emu_kernel.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum state { WAITING, READY, DONE };

struct thread_data {
    emu_fibre  *fibre; // NULL: not begun
    state       now;
    const char *file;  // of the collective that it waits in
    int         line;
};

struct record {
    int         kind, width, line;
    unsigned    mask, arrived;
    const char *file;
    uint64_t    value[EMU_WARP];
    int         argument[EMU_WARP];
    void       *sync;
};
enum { RECORDS = EMU_WARP }; // a lane waits in one at most

struct site {
    const void *key;
    char       *memory;
};

emu_thread  *emu_self;
emu_indices  emu_now;
emu_counters emu_counts;

static emu_thread      threads[EMU_MAX_THREADS];
static thread_data     data[EMU_MAX_THREADS];
static uint64_t        ready[EMU_MAX_THREADS / 64];
static record          records[EMU_MAX_THREADS / EMU_WARP][RECORDS];
static uint32_t        open_records[EMU_MAX_THREADS / EMU_WARP]; // bit of each record in use
static uint32_t        returned[EMU_MAX_THREADS / EMU_WARP];     // bit of each lane that is done
static emu_order       order;                                    // of this grid's threads
static int             n_threads, n_done;
static const emu_grid *grid;
static void           *grid_sync, *block_sync, *fence_sync;

// the block's barrier
static struct {
    int         arrived, kind, line, count;
    const char *file;
    void       *sync;
} barrier;

// shared memory
enum { SITES = 64, GAP = 64 };
static site   sites[SITES];
static int    n_sites;
static char  *arena, *arena_next, *dynamic_memory;
static size_t static_bytes;
enum { ARENA = 512 * 1024 };

// ---------------------------------------------------------------------------------------------------- faults

emu_place emu_where()
{
    emu_place p = {};

    if (!grid) return p;
    p.kernel = grid->name;
    memcpy(p.block, &emu_now.block, sizeof p.block);
    if (emu_self) memcpy(p.thread, &emu_self->index, sizeof p.thread);
    return p;
}

void emu_fault(const char *format, ...)
{
    const emu_place p = emu_where();
    va_list         args;

    fflush(stdout);
    fprintf(stderr, "emulation fault: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (p.kernel)
        fprintf(stderr, "\n  in kernel %s, block (%u, %u, %u), thread (%u, %u, %u)", p.kernel, p.block[0], p.block[1], p.block[2],
                p.thread[0], p.thread[1], p.thread[2]);
    fprintf(stderr, "\n");
    fflush(stderr);
    _exit(EMU_EXIT);
}

static const char *place_name(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : nullptr;

    return slash ? slash + 1 : file ? file : "?";
}

/// Everybody waits: say for whom, and where those are.
[[noreturn]] static void stuck()
{
    fprintf(stderr, "emulation fault: no thread of the block can run\n  in kernel %s, block (%u, %u, %u)\n", grid->name,
            emu_now.block.x, emu_now.block.y, emu_now.block.z);
    if (barrier.arrived)
        fprintf(stderr, "  block barrier at %s:%d: %d of %d threads arrived\n", place_name(barrier.file), barrier.line,
                barrier.arrived, n_threads);
    for (int w = 0; w < (n_threads + EMU_WARP - 1) / EMU_WARP; w++)
        for (int k = 0; k < RECORDS; k++) {
            const record *r = &records[w][k];

            if (!(open_records[w] >> k & 1)) continue;
            fprintf(stderr, "  warp %d: %s at %s:%d, mask %08x, arrived %08x, missing %08x\n", w, emu_kind_name(r->kind),
                    place_name(r->file), r->line, r->mask, r->arrived, r->mask & ~r->arrived);
            for (int lane = 0; lane < EMU_WARP; lane++) {
                const thread_data *t = &data[w * EMU_WARP + lane];

                if (!((r->mask & ~r->arrived) >> lane & 1)) continue;
                if (t->now == DONE)
                    fprintf(stderr, "    lane %d has returned\n", lane);
                else
                    fprintf(stderr, "    lane %d waits at %s:%d\n", lane, place_name(t->file), t->line);
                break; // one of them says it all
            }
        }
    fflush(stderr);
    _exit(EMU_EXIT);
}

/// A thread that spins for another never comes back to the scheduler. Watched from a thread of the system, because the
/// race detector holds signals back.
static void *watch(void *)
{
    long before = -1;
    int  seconds = 0;

    for (;;) {
        sleep(1);
        if (!grid || emu_switches() != before) {
            before = emu_switches();
            seconds = 0;
        } else if (++seconds >= emu_get_options()->watchdog) {
            emu_fault("watchdog: a thread has run for %d s without a collective or an end (spin wait?)", seconds);
        }
    }
    return nullptr;
}

// ------------------------------------------------------------------------------------------------- scheduling

static void make_ready(int t)
{
    data[t].now = READY;
    ready[t / 64] |= uint64_t{1} << t % 64;
}

/// Next thread by the policy, -1: none is ready.
static int next_thread()
{
    const int words = (n_threads + 63) / 64;

    if (order == EMU_REVERSE) {
        for (int w = words - 1; w >= 0; w--)
            if (ready[w]) return 64 * w + 63 - __builtin_clzll(ready[w]);
        return -1;
    }
    const int start = order == EMU_RANDOM ? static_cast<int>(emu_random() % static_cast<unsigned>(n_threads)) : 0;
    for (int k = 0, w = start / 64; k <= words; k++, w = w + 1 == words ? 0 : w + 1) {
        uint64_t bits = ready[w];

        if (k == 0) bits &= ~uint64_t{0} << start % 64;
        if (k == words) bits &= ~(~uint64_t{0} << start % 64);
        if (bits) return 64 * w + __builtin_ctzll(bits);
    }
    return -1;
}

static void end_thread(int t)
{
    const int lane = t % EMU_WARP;

    emu_release(grid_sync);
    data[t].now = DONE;
    returned[t / EMU_WARP] |= 1u << lane;
    n_done++;
    if (barrier.arrived)
        emu_fault("thread returns while %d threads wait in the block barrier at %s:%d", barrier.arrived, place_name(barrier.file),
                  barrier.line);
    for (uint32_t bits = open_records[t / EMU_WARP]; bits; bits &= bits - 1) {
        const record *r = &records[t / EMU_WARP][__builtin_ctz(bits)];

        if (r->mask >> lane & 1)
            emu_fault("lane %d returns while %s at %s:%d with mask %08x waits for it", lane, emu_kind_name(r->kind),
                      place_name(r->file), r->line, r->mask);
    }
}

static void run_thread(void *argument)
{
    const int t = static_cast<int>(static_cast<emu_thread *>(argument) - threads);

    emu_acquire(block_sync);
    grid->body(grid->argument);
    end_thread(t);
}

/// Leave the processor until somebody makes this thread ready again.
static void block_here(const char *file, int line)
{
    thread_data *t = &data[emu_self->linear];

    t->now = WAITING;
    t->file = file;
    t->line = line;
    emu_fibre_yield();
}

/// Having completed a collective: under the random policy the order is open again.
static void pass_on()
{
    if (order != EMU_RANDOM) return;
    make_ready(emu_self->linear);
    emu_fibre_yield();
}

static void run_block(int set)
{
    int spare = -1; // fibre of the thread that ended last: its stack is warm

    memset(ready, 0, sizeof ready);
    memset(open_records, 0, sizeof open_records);
    memset(returned, 0, sizeof returned);
    memset(&barrier, 0, sizeof barrier);
    n_done = 0;
    for (int t = 0; t < n_threads; t++) {
        const unsigned u = static_cast<unsigned>(t), *b = grid->block;

        threads[t].index = {u % b[0], u / b[0] % b[1], u / (b[0] * b[1])};
        threads[t].linear = t;
        data[t].fibre = nullptr;
        make_ready(t);
    }
    block_sync = emu_fresh_sync();
    emu_release(block_sync);
    while (n_done < n_threads) {
        const int t = next_thread();

        if (t < 0) stuck();
        ready[t / 64] &= ~(uint64_t{1} << t % 64);
        emu_self = &threads[t];
        if (data[t].fibre) {
            emu_fibre_resume(data[t].fibre);
        } else {
#ifdef EMU_TSAN
            spare = -1; // a stack that somebody used would order two threads
#endif
            const int index = spare >= 0 ? spare : t;

            data[t].fibre = emu_fibre_of(set, index);
            threads[t].fibre = index;
            spare = -1;
            emu_fibre_run(data[t].fibre, run_thread, &threads[t]);
        }
        if (data[t].now == DONE) spare = threads[t].fibre;
        emu_self = nullptr;
    }
}

// ---------------------------------------------------------------------------------------------- shared memory

static char *shared_piece(size_t size)
{
    char *piece = arena_next;

    arena_next += (size + 15) / 16 * 16 + GAP;
    if (arena_next > arena + ARENA) emu_fault("shared memory of a block does not fit the emulation");
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(piece, size);
#endif
    return piece;
}

/// Unwritten shared memory holds NaN and -1. Fresh for every block under the race detector, else cleaned.
static void new_arena()
{
#ifdef EMU_TSAN
    // the detector forgets what is unmapped: this block and the one before have nothing to do with each other
    if (arena) munmap(arena, ARENA);
    arena = nullptr;
#endif
    if (!arena) {
        void *map = mmap(nullptr, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (map == MAP_FAILED) emu_fault("no memory for shared arrays");
        arena = static_cast<char *>(map);
        arena_next = arena + ARENA;
    }
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(arena, ARENA);
#endif
    // a static array of the block before may have been larger, so all that was used is cleaned
    const size_t used = arena_next == arena + ARENA ? grid->shared_bytes + 65536 : static_cast<size_t>(arena_next - arena);
    for (size_t k = 0; k < used && k < ARENA; k++) arena[k] = static_cast<char>(0xff);
#ifdef __SANITIZE_ADDRESS__
    ASAN_POISON_MEMORY_REGION(arena, ARENA);
#endif
    arena_next = arena;
    n_sites = 0;
    static_bytes = 0;
    dynamic_memory = grid->shared_bytes ? shared_piece(grid->shared_bytes) : nullptr;
}

void *emu_shared(const void *key, size_t size)
{
    int k;

    for (k = 0; k < n_sites; k++)
        if (sites[k].key == key) return sites[k].memory;
    if (n_sites == SITES) emu_fault("more than %d shared arrays in a kernel", SITES);
    static_bytes += size;
    if (static_bytes > 49152) emu_fault("%zu bytes of static shared memory: 49152 is what every GPU has", static_bytes);
    sites[n_sites].key = key;
    return sites[n_sites++].memory = shared_piece(size);
}

void *emu_shared_dynamic()
{
    if (!dynamic_memory) emu_fault("dynamic shared memory used, but the launch asks for none");
    return dynamic_memory;
}

void emu_run_grid(const emu_grid *g)
{
    static bool     watching;
    const long long n_blocks = static_cast<long long>(g->grid[0]) * g->grid[1] * g->grid[2];
    const emu_counters before = emu_counts;
    long long       k, stride = 1;

    if (grid) emu_fault("a kernel launched from a kernel");
    if (!watching) {
        pthread_t watcher;

        watching = !pthread_create(&watcher, nullptr, watch, nullptr) && !pthread_detach(watcher);
    }
    grid = g;
    order = emu_get_options()->order;
    grid_sync = emu_fresh_sync();
    fence_sync = emu_fresh_sync();
    n_threads = static_cast<int>(g->block[0] * g->block[1] * g->block[2]);
    emu_now.block_dim = {g->block[0], g->block[1], g->block[2]};
    emu_now.grid_dim = {g->grid[0], g->grid[1], g->grid[2]};
    if (order == EMU_RANDOM) { // a stride without common factor visits every block once
        stride = static_cast<long long>(emu_random() % static_cast<uint64_t>(n_blocks)) + 1;
        for (;; stride++) {
            long long a = stride, b = n_blocks;

            while (b) {
                const long long c = a % b;

                a = b;
                b = c;
            }
            if (a == 1) break;
        }
    }
    for (k = 0; k < n_blocks; k++) {
        const unsigned long long at = static_cast<unsigned long long>(
            order == EMU_REVERSE ? n_blocks - 1 - k : static_cast<__int128>(k) * stride % n_blocks);

        emu_now.block = {static_cast<unsigned>(at % g->grid[0]), static_cast<unsigned>(at / g->grid[0] % g->grid[1]),
                         static_cast<unsigned>(at / g->grid[0] / g->grid[1])};
        new_arena();
        run_block(static_cast<int>(k % EMU_SETS));
    }
    emu_acquire(grid_sync);
    emu_forget_syncs();
    grid = nullptr;
    emu_counts.grids++;
    emu_counts.blocks += n_blocks;
    emu_count_grid(g, &before);
}

// ------------------------------------------------------------------------------------------------ collectives

/// Nearly always the same literal.
static bool same_file(const char *a, const char *b)
{
    return a == b || !strcmp(a, b);
}

int emu_barrier(int kind, int predicate, const char *file, int line)
{
    if (barrier.arrived && (barrier.kind != kind || barrier.line != line || !same_file(barrier.file, file)))
        emu_fault("barrier at %s:%d while %d threads of the block wait in the barrier at %s:%d", place_name(file), line,
                  barrier.arrived, place_name(barrier.file), barrier.line);
    if (n_done) emu_fault("barrier at %s:%d, but %d threads of the block have returned", place_name(file), line, n_done);
    if (!barrier.arrived) {
        barrier = {0, kind, line, 0, file, emu_fresh_sync()};
        emu_counts.barriers++;
    }
    void *sync = barrier.sync;

    barrier.count += predicate != 0;
    emu_release(sync);
    if (++barrier.arrived == n_threads) {
        const int count = barrier.count, result = kind == EMU_OR ? count > 0 : kind == EMU_AND ? count == n_threads : count;

        barrier.arrived = 0;
        for (int t = 0; t < n_threads; t++) {
            threads[t].value = static_cast<uint64_t>(result);
            make_ready(t);
        }
        emu_fibre_yield(); // every order starts anew
    } else {
        block_here(file, line);
    }
    emu_acquire(sync);
    return static_cast<int>(emu_self->value);
}

static int source_lane(const record *r, int lane)
{
    const int width = r->width, first = lane & ~(width - 1), arg = r->argument[lane];
    int       from;

    switch (r->kind) {
    case EMU_SHFL: return first | (arg & (width - 1));
    case EMU_SHFL_UP: from = lane - arg; return from < first ? lane : from;
    case EMU_SHFL_DOWN: from = lane + arg; return from >= first + width ? lane : from;
    default: from = lane ^ arg; return from >= first + width ? lane : from;
    }
}

/// Sum, extremum or bits of 32-bit values.
static uint64_t reduce(const record *r)
{
    uint32_t sum = r->kind == EMU_MIN || r->kind == EMU_BAND ? 0xffffffffu : 0;
    int32_t  low = INT32_MAX, high = INT32_MIN;

    for (int lane = 0; lane < EMU_WARP; lane++) {
        const uint32_t v = static_cast<uint32_t>(r->value[lane]);
        const int32_t  s = static_cast<int32_t>(v);

        if (!(r->mask >> lane & 1)) continue;
        switch (r->kind) {
        case EMU_ADD: sum += v; break;
        case EMU_MIN: sum = v < sum ? v : sum; break;
        case EMU_MAX: sum = v > sum ? v : sum; break;
        case EMU_BAND: sum &= v; break;
        case EMU_BOR: sum |= v; break;
        case EMU_BXOR: sum ^= v; break;
        default: low = s < low ? s : low; high = s > high ? s : high; break;
        }
    }
    return r->kind == EMU_MIN_SIGNED ? static_cast<uint32_t>(low) : r->kind == EMU_MAX_SIGNED ? static_cast<uint32_t>(high) : sum;
}

/// Whether every lane gets a result of its own.
static bool differs_by_lane(int kind)
{
    return kind == EMU_SHFL || kind == EMU_SHFL_UP || kind == EMU_SHFL_DOWN || kind == EMU_SHFL_XOR || kind == EMU_MATCH;
}

static uint64_t result_of(const record *r, int lane)
{
    unsigned bits = 0;
    int      from;

    switch (r->kind) {
    case EMU_SYNC: return 0;
    case EMU_SHFL:
    case EMU_SHFL_UP:
    case EMU_SHFL_DOWN:
    case EMU_SHFL_XOR:
        from = source_lane(r, lane);
        if (from < 0 || from >= EMU_WARP || !(r->mask >> from & 1))
            emu_fault("%s at %s:%d: lane %d reads lane %d, which is not in the mask %08x", emu_kind_name(r->kind), place_name(r->file),
                      r->line, lane, from, r->mask);
        return r->value[from];
    case EMU_BALLOT:
    case EMU_ANY:
    case EMU_ALL:
        for (int k = 0; k < EMU_WARP; k++) bits |= static_cast<unsigned>((r->mask >> k & 1) && r->value[k] != 0) << k;
        return r->kind == EMU_BALLOT ? bits : r->kind == EMU_ANY ? bits != 0 : bits == r->mask;
    case EMU_MATCH:
        for (int k = 0; k < EMU_WARP; k++) bits |= static_cast<unsigned>((r->mask >> k & 1) && r->value[k] == r->value[lane]) << k;
        return bits;
    default: return reduce(r);
    }
}

static record *find_record(int warp, int kind, unsigned mask, int width, const char *file, int line)
{
    for (uint32_t bits = open_records[warp]; bits; bits &= bits - 1) {
        record *r = &records[warp][__builtin_ctz(bits)];

        if (r->kind == kind && r->mask == mask && r->line == line && r->width == width && same_file(r->file, file)) return r;
    }
    record *r = &records[warp][__builtin_ctz(~open_records[warp])]; // one is free: this lane waits nowhere

    open_records[warp] |= 1u << (r - records[warp]);
    r->kind = kind;
    r->mask = mask;
    r->width = width;
    r->file = file;
    r->line = line;
    r->arrived = 0;
    r->sync = emu_fresh_sync();
    emu_counts.warp_operations++;
    return r;
}

uint64_t emu_warp(int kind, unsigned mask, uint64_t value, int argument, int width, const char *file, int line)
{
    const int      self = emu_self->linear, warp = self / EMU_WARP, lane = self % EMU_WARP;
    const int      here = n_threads - warp * EMU_WARP;
    const unsigned exist = here >= EMU_WARP ? 0xffffffffu : (1u << here) - 1;

    if (!(mask >> lane & 1))
        emu_fault("%s at %s:%d: lane %d is not in its own mask %08x", emu_kind_name(kind), place_name(file), line, lane, mask);
    if (mask & ~exist)
        emu_fault("%s at %s:%d: mask %08x names lanes that the block has not (%08x)", emu_kind_name(kind), place_name(file), line, mask,
                  mask & ~exist);
    if (width < 1 || width > EMU_WARP || (width & (width - 1)))
        emu_fault("%s at %s:%d: width %d", emu_kind_name(kind), place_name(file), line, width);
    if (mask & returned[warp])
        emu_fault("%s at %s:%d: mask %08x names lane %d, which has returned", emu_kind_name(kind), place_name(file), line, mask,
                  __builtin_ctz(mask & returned[warp]));
    record *r = find_record(warp, kind, mask, width, file, line);
    void   *sync = r->sync;

    r->value[lane] = value;
    r->argument[lane] = argument;
    r->arrived |= 1u << lane;
    if (kind == EMU_SYNC) emu_release(sync); // a shuffle is no fence
    if (r->arrived == mask) {
        const bool     by_lane = differs_by_lane(kind);
        const uint64_t common = by_lane ? 0 : result_of(r, lane);

        for (unsigned bits = mask; bits; bits &= bits - 1) {
            const int k = __builtin_ctz(bits);

            threads[warp * EMU_WARP + k].value = by_lane ? result_of(r, k) : common;
            if (k != lane) make_ready(warp * EMU_WARP + k);
        }
        open_records[warp] &= ~(1u << (r - records[warp]));
        pass_on();
    } else {
        block_here(file, line);
    }
    if (kind == EMU_SYNC) emu_acquire(sync);
    return emu_self->value;
}

/// Orders everything before with everything after the fences of others: more than the hardware promises, so the race
/// detector may miss a fence on the wrong side, but not a missing one.
void emu_fence()
{
    emu_release(fence_sync);
    emu_acquire(fence_sync);
}
