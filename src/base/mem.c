// SPDX-License-Identifier: Apache-2.0
// Memory: aligned, zeroed, overflow-checked. The only malloc of the program.
//
// Large blocks ask for large pages: the arrays of a million atoms fill half a million pages of 4 KiB, whose faults were a tenth of
// the set-up and whose addresses do not fit the processor's tables.
#include "base/base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { ALIGNMENT = 64, PAGE = 4096, LARGE = 4 << 20 };

/// Advice only: where the system has none to give, nothing changes.
static void prefer_large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t skip = (PAGE - (uintptr_t)memory % PAGE) % PAGE;

    if (bytes >= LARGE) (void)madvise((char *)memory + skip, (bytes - skip) / PAGE * PAGE, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

void mds_memory_setup(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20); // else it grows with what is freed, and the holes stay resident
#endif
}

mds_status mds_alloc(void *out, size_t n, size_t size)
{
    void *memory = NULL;

    memcpy(out, &memory, sizeof memory);
    if (n == 0 || size == 0) return MDS_OK;
    MDS_CHECK(n <= (SIZE_MAX - ALIGNMENT) / size, MDS_E_MEMORY, "%zu elements of %zu bytes do not fit in memory", n,
              size);
    const size_t bytes = (n * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    memory = aligned_alloc(ALIGNMENT, bytes);
    MDS_CHECK(memory, MDS_E_MEMORY, "out of memory: %zu bytes asked for", bytes);
    prefer_large_pages(memory, bytes);
    memset(memory, 0, bytes);
    memcpy(out, &memory, sizeof memory);
    return MDS_OK;
}

mds_status mds_grow(void *pointer, size_t *capacity, size_t need, size_t size)
{
    size_t wanted;

    if (need <= *capacity) return MDS_OK;
    wanted = *capacity + *capacity / 2;
    if (wanted < need) wanted = need;
    if (wanted < 16) wanted = 16;
    return mds_reserve(pointer, capacity, need, wanted - need, size);
}

mds_status mds_reserve(void *pointer, size_t *capacity, size_t need, size_t spare, size_t size)
{
    const size_t wanted = spare < SIZE_MAX - need ? need + spare : SIZE_MAX; // too much for mds_alloc
    void        *old, *grown;

    if (need <= *capacity) return MDS_OK;
    memcpy(&old, pointer, sizeof old);
    MDS_TRY(mds_alloc(&grown, wanted, size));
    if (old) memcpy(grown, old, *capacity * size);
    free(old);
    memcpy(pointer, &grown, sizeof grown);
    *capacity = wanted;
    return MDS_OK;
}

mds_status mds_fit(void *pointer, size_t *capacity, size_t n, size_t size)
{
    void *old, *fitted;

    if (*capacity <= n) return MDS_OK;
    memcpy(&old, pointer, sizeof old);
    MDS_TRY(mds_alloc(&fitted, n, size));
    if (n) memcpy(fitted, old, n * size);
    free(old);
    memcpy(pointer, &fitted, sizeof fitted);
    *capacity = n;
    return MDS_OK;
}

void mds_free(void *memory)
{
    free(memory);
}

mds_status mds_copy_text(char **out, const char *text, size_t n)
{
    if (n == SIZE_MAX) n = strlen(text);
    MDS_TRY(mds_alloc(out, n + 1, 1));
    memcpy(*out, text, n);
    (*out)[n] = '\0';
    return MDS_OK;
}

uint64_t mds_memory_peak(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage)) return 0;
    return (uint64_t)usage.ru_maxrss * 1024; // kilobytes on Linux
}
