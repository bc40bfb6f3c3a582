// SPDX-License-Identifier: Apache-2.0
// Fibres: stacks, the switch, and what the sanitizers must be told about both.
//
// x86-64 switches by hand: six callee-saved registers and the stack pointer. Elsewhere ucontext does, some fifteen times slower,
// because swapcontext makes a system call. Stacks start a few cache lines apart: at equal page offsets they would fight
// for the same sets of the first-level cache. This file and block.cpp are compiled without the race detector and call
// nothing that it intercepts while a fibre runs.
#include "emu.h"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMU_TSAN
extern "C" void *__tsan_get_current_fiber(void);
extern "C" void *__tsan_create_fiber(unsigned);
extern "C" void  __tsan_switch_to_fiber(void *, unsigned);
extern "C" void  __tsan_acquire(void *);
extern "C" void  __tsan_release(void *);
#endif

struct emu_fibre {
    char *stack; // lowest usable byte; the page below is closed
    void (*entry)(void *);
    void *argument;
#ifdef __x86_64__
    void *pointer;
#else
    ucontext_t context;
#endif
    void *fake, *race; // of the sanitizers
    bool  begun;
};

static emu_fibre  *fibres[EMU_SETS][EMU_MAX_THREADS];
static emu_fibre  *current;
static long        n_switches;
static size_t      page;
#ifdef __SANITIZE_ADDRESS__
static void       *scheduler_fake;
static const void *scheduler_bottom;
static size_t      scheduler_size;
#endif
#ifdef EMU_TSAN
static void *scheduler_race;
#endif
#ifdef __x86_64__
static void *scheduler_pointer;
#else
static ucontext_t scheduler_context;
#endif

long emu_switches()
{
    return n_switches;
}

#ifdef __x86_64__
extern "C" void emu_swap(void **save, void *to);
asm(".text\n"
    ".globl emu_swap\n"
    ".type emu_swap, @function\n"
    "emu_swap:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size emu_swap, .-emu_swap\n");
#endif

static void to_scheduler()
{
    emu_fibre *from = current;

#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake, scheduler_bottom, scheduler_size);
#endif
#ifdef EMU_TSAN
    __tsan_switch_to_fiber(scheduler_race, 1); // 1: switching orders nothing
#endif
#ifdef __x86_64__
    emu_swap(&from->pointer, scheduler_pointer);
#else
    swapcontext(&from->context, &scheduler_context);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake, nullptr, nullptr);
#endif
}

/// Bottom of every fibre: one thread after another, for ever.
static void loop()
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_bottom, &scheduler_size);
#endif
    for (;;) {
        current->entry(current->argument);
        to_scheduler();
    }
}

static void to_fibre(emu_fibre *fibre)
{
    current = fibre;
    n_switches++;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&scheduler_fake, fibre->stack, EMU_STACK);
#endif
#ifdef EMU_TSAN
    scheduler_race = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fibre->race, 1);
#endif
#ifdef __x86_64__
    emu_swap(&scheduler_pointer, fibre->pointer);
#else
    swapcontext(&scheduler_context, &fibre->context);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(scheduler_fake, nullptr, nullptr);
#endif
    current = nullptr;
}

static emu_fibre *make(int index)
{
    emu_fibre *f = static_cast<emu_fibre *>(calloc(1, sizeof *f));

    page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *map = mmap(nullptr, EMU_STACK + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!f || map == MAP_FAILED || mprotect(map, page, PROT_NONE)) emu_fault("no memory for a fibre");
    f->stack = static_cast<char *>(map) + page;
#ifdef __x86_64__
    const size_t shift = static_cast<size_t>(index % 16) * 192;
    void       **top = reinterpret_cast<void **>(f->stack + EMU_STACK - shift);

    *--top = nullptr; // no return address; keeps the alignment that a call would give
    *--top = reinterpret_cast<void *>(loop);
    for (int k = 0; k < 6; k++) *--top = nullptr;
    f->pointer = top;
#else
    (void)index;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = EMU_STACK;
    makecontext(&f->context, loop, 0);
#endif
#ifdef EMU_TSAN
    f->race = __tsan_create_fiber(0);
#endif
    return f;
}

emu_fibre *emu_fibre_of(int set, int index)
{
    if (!fibres[set][index]) fibres[set][index] = make(index);
    return fibres[set][index];
}

void emu_fibre_run(emu_fibre *fibre, void (*entry)(void *), void *argument)
{
    fibre->entry = entry;
    fibre->argument = argument;
    to_fibre(fibre);
}

void emu_fibre_resume(emu_fibre *fibre)
{
    to_fibre(fibre);
}

void emu_fibre_yield()
{
    to_scheduler();
}

int emu_fibre_guard(const void *address)
{
    const char *a = static_cast<const char *>(address);

    for (int set = 0; set < EMU_SETS; set++)
        for (int k = 0; k < EMU_MAX_THREADS; k++)
            if (fibres[set][k] && a < fibres[set][k]->stack && a >= fibres[set][k]->stack - page) return k;
    return -1;
}

#ifdef EMU_TSAN
void emu_release(void *sync)
{
    __tsan_release(sync);
}

void emu_acquire(void *sync)
{
    __tsan_acquire(sync);
}

static char *first_sync, *next_sync, *end_sync;

/// Never the same address twice: an old one would carry the order of work long past.
void *emu_fresh_sync()
{
    if (next_sync == end_sync) {
        const size_t size = size_t{1} << 26;
        void        *map = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (map == MAP_FAILED) emu_fault("no address space for the race detector");
        first_sync = next_sync = static_cast<char *>(map);
        end_sync = next_sync + size;
    }
    next_sync += 8;
    return next_sync - 8;
}

/// Give back those handed out so far. The detector forgets what it knows of addresses that are unmapped: some hundred bytes a thread and
/// barrier, which in a long run would come to more pieces of memory than a process may have.
void emu_forget_syncs()
{
    const size_t worth_it = size_t{1} << 14, used = static_cast<size_t>(next_sync - first_sync) / page * page;

    if (used < worth_it) return;
    munmap(first_sync, used);
    first_sync += used;
}
#else
void emu_release(void *) {}
void emu_acquire(void *) {}
void *emu_fresh_sync()
{
    return nullptr;
}
void emu_forget_syncs() {}
#endif
