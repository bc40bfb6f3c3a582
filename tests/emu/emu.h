// SPDX-License-Identifier: Apache-2.0
// CUDA on the host: what the parts of the emulation share. How it works and what it can show: README.md beside this file.
//
// A block's threads are fibres on one OS thread. A fibre runs until it blocks in a collective (warp operation or block
// barrier) or ends; then the next one runs, in an order that is a policy. So a missing barrier gives wrong numbers at
// once instead of now and then. Test equipment: never shipped, never timed against anything.
#ifndef EMU_H
#define EMU_H

#include <cstddef>
#include <cstdint>

enum { EMU_EXIT = 96 };          // exit status of every fault that the emulation itself finds
enum { EMU_MAX_THREADS = 1024 }; // of a block
enum { EMU_WARP = 32 };
enum { EMU_STACK = 65536 };      // bytes of a fibre's stack; a guard page lies below

enum emu_order { EMU_FORWARD, EMU_REVERSE, EMU_RANDOM };

/// How to run; read once from the environment (README.md).
struct emu_options {
    emu_order order;
    uint64_t  seed;     // of EMU_RANDOM
    bool      lazy;     // streams run when somebody waits for them
    bool      protect;  // device memory between guard pages, closed while no device work runs
    int       watchdog; // s without a switch of fibres until a fault
};
const emu_options *emu_get_options();
uint64_t           emu_random(); // of the schedule, xorshift from the seed

/// Ends the process with EMU_EXIT after a message that names kernel, block and thread where there are any.
[[noreturn]] void emu_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---------------------------------------------------------------------------------------------------- fibres

struct emu_fibre;
/// Fibre `index` of a set, made when first asked for. Sets exist so that the race detector does not take the order
/// of two blocks on one stack for an order of the program.
emu_fibre *emu_fibre_of(int set, int index);
enum { EMU_SETS = 4 };
void emu_fibre_run(emu_fibre *fibre, void (*entry)(void *), void *argument); // from the scheduler: until it yields or ends
void emu_fibre_resume(emu_fibre *fibre);
void emu_fibre_yield();                                                      // from a fibre: back to the scheduler
/// Fibre whose guard page holds the address, -1: none.
int  emu_fibre_guard(const void *address);
long emu_switches();

// Edges for the race detector; nothing without it. Addresses come from emu_fresh_sync.
void  emu_release(void *sync);
void  emu_acquire(void *sync);
void *emu_fresh_sync();
void  emu_forget_syncs(); // at the end of a grid, when nobody will use them again

// ---------------------------------------------------------------------------------------------------- blocks

struct emu_grid {
    const char *name;
    unsigned    grid[3], block[3];
    size_t      shared_bytes; // dynamic
    void (*body)(void *);     // one thread's call of the kernel
    void       *argument;
};
/// Run all blocks, one after another.
void emu_run_grid(const emu_grid *grid);
/// Book what a grid did since `before` (counts.cpp).
struct emu_counters;
void emu_count_grid(const emu_grid *grid, const emu_counters *before);
/// What runs now, for messages: kernel name (NULL: none), block and thread indices.
struct emu_place {
    const char *kernel;
    unsigned    block[3], thread[3];
};
emu_place emu_where();

// ---------------------------------------------------------------------------------------------------- memory

/// Device work begins and ends: opens and closes device memory in protect mode.
void emu_device_enter();
void emu_device_leave();
bool emu_is_pinned(const void *address);
bool emu_is_device(const void *address);

// ---------------------------------------------------------------------------------------------------- streams

struct emu_stream;
/// Put work on a stream (NULL: the default one). Returns a cudaError_t as int: capture rules may refuse it.
typedef void (*emu_work)(void *argument);
int emu_enqueue(emu_stream *stream, emu_work work, void *argument, emu_work destroy);
int emu_capture_forbids(); // a cudaError_t: allocation, synchronisation and the like while a capture is on
int emu_wait(emu_stream *stream);
int emu_wait_all();
int emu_set_error(int error); // remembered for cudaGetLastError; returns it

#endif
