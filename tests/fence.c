// SPDX-License-Identifier: Apache-2.0
// Every block of mds_alloc (base/mem.c) before a page that nobody may touch: preloaded into a test, at the speed of the machine.
//
// The kernels of the `cpu` backend load and store whole vectors, and where a loop's last turn reaches past the end of an array the array
// must have room for it. On the heap such a load goes unseen. Here the last byte of a block is the last of a page, the page behind it is
// not mapped for access, and the pages of a freed block are taken away: whoever touches either ends with SIGSEGV. mds_alloc rounds sizes to
// 64 bytes, so up to 63 bytes behind an array may still be read unseen; AddressSanitizer (preset asan) has the same grain.
//
// Addresses are never used twice: the arena is 4 TiB of reserved addresses, of which only blocks have memory.
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
#define ARENA_PAGES ((size_t)1 << 30)

static char         *arena;     // [ARENA_PAGES] pages
static uint32_t     *length_of; // [ARENA_PAGES] pages of the block that begins there
static atomic_size_t next_page;
static void (*free_elsewhere)(void *);

static void *reserve(size_t bytes, int access)
{
    void *p = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) abort();
    return p;
}

__attribute__((constructor)) static void set_up(void)
{
    free_elsewhere = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    length_of = reserve(ARENA_PAGES * sizeof *length_of, PROT_READ | PROT_WRITE);
    arena = reserve(ARENA_PAGES * PAGE, PROT_NONE);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    const size_t pages = (bytes + PAGE - 1) / PAGE;
    const size_t first = atomic_fetch_add(&next_page, pages + 1);

    if (!arena || pages >= UINT32_MAX || first + pages >= ARENA_PAGES || bytes % alignment || alignment > PAGE ||
        mprotect(arena + first * PAGE, pages * PAGE, PROT_READ | PROT_WRITE)) {
        errno = ENOMEM;
        return NULL;
    }
    length_of[first] = (uint32_t)pages;
    return arena + (first + pages) * PAGE - bytes;
}

void free(void *block)
{
    const uintptr_t from = (uintptr_t)arena, at = (uintptr_t)block;

    if (!arena || at < from || at >= from + ARENA_PAGES * PAGE) {
        if (free_elsewhere) free_elsewhere(block); // before the set-up nothing worth freeing exists
        return;
    }
    const size_t first = (at - from) / PAGE;

    if (!length_of[first]) abort(); // freed before, or no block of ours
    if (mmap(arena + first * PAGE, length_of[first] * (size_t)PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        abort();
    length_of[first] = 0;
}
