// SPDX-License-Identifier: Apache-2.0
// Where the GPU backend's indices end (cuda/sizes.h): refused with a message from the first number that does not fit, and right up to
// the last one that does. The sums of counts that these limits are held against are 64 bits wide on the device.
#include "sizes.h"

#include "stage/poke_scan.h"
#include "test.h"

static void blocks_of_slots(void)
{
    const long long most = (1LL << GPU_SLOT_BITS) / GPU_SLOTS_A_BLOCK - 1;
    uint32_t        octets;

    TEST_OK(gpu_fit_blocks(0));
    TEST_OK(gpu_fit_blocks(1490000 / 8)); // where another engine went wrong, in blocks of a quarter full
    TEST_OK(gpu_fit_blocks(most));
    TEST_FAILS(gpu_fit_blocks(most + 1), MDS_E_UNSUPPORTED, "8388608 blocks");
    TEST_FAILS(gpu_fit_blocks(1LL << 32), MDS_E_UNSUPPORTED, "4294967296 blocks"); // whose slots are none in 32 bits
    TEST_FAILS(gpu_fit_blocks(-1), MDS_E_UNSUPPORTED, "-1 blocks");
    // the last slot and every set of octets in an entry, as list.cu packs and pair.cu unpacks them
    for (octets = 0; octets < 16; octets++) {
        const uint32_t slot = (uint32_t)(most * GPU_SLOTS_A_BLOCK + GPU_SLOTS_A_BLOCK - 1), entry = slot | octets << GPU_SLOT_BITS;

        TEST_TRUE((entry & 0x0fffffffu) == slot && entry >> GPU_SLOT_BITS == octets);
    }
}

static void entries_of_lists(void)
{
    TEST_OK(gpu_fit_list(0));
    TEST_OK(gpu_fit_list(INT_MAX - 1));
    TEST_FAILS(gpu_fit_list(INT_MAX), MDS_E_UNSUPPORTED, "2147483647 entries");
    TEST_FAILS(gpu_fit_list(1LL << 31), MDS_E_UNSUPPORTED, "2147483648 entries");
    TEST_FAILS(gpu_fit_list((1LL << 32) + 5), MDS_E_UNSUPPORTED, "4294967301 entries");
    TEST_FAILS(gpu_fit_list(-1), MDS_E_UNSUPPORTED, "-1 entries");
    TEST_OK(gpu_fit_cells(46340, 46340)); // 46341^2 > 2^31
    TEST_FAILS(gpu_fit_cells(46341, 46341), MDS_E_UNSUPPORTED, "too many cells");
    TEST_FAILS(gpu_fit_cells(INT_MAX, 1), MDS_E_UNSUPPORTED, "too many cells");
}

/// (at * magic) >> 32 is at / half for every place of a row and column of waves, at both ends and every place about a step.
static void meshes(void)
{
    static const int32_t good[][3] = {{4, 4, 4}, {1024, 1024, 1024}, {65535, 128, 255}, {2, 2, 92678}, {4, 65536, 508}, {2000, 1030, 1040}};
    static const int32_t bad[][3] = {{65536, 4, 4}, {2048, 1024, 1024}, {4, 2, 92682}, {4, 65536, 510}, {65535, 65535, 65535}};
    size_t               k;

    for (k = 0; k < sizeof good / sizeof *good; k++) {
        const uint32_t half = (uint32_t)good[k][2] / 2 + 1, magic = gpu_magic((int)half), n = (uint32_t)good[k][1] * half;
        uint32_t       row, wrong = 0;

        TEST_OK(gpu_fit_mesh(good[k]));
        for (row = 1; row <= (uint32_t)good[k][1]; row++) {
            const uint32_t last = row * half - 1, first = last + 1;

            wrong += (uint32_t)((uint64_t)last * magic >> 32) != row - 1;
            wrong += first < n && (uint32_t)((uint64_t)first * magic >> 32) != row;
        }
        TEST_INT(wrong, 0);
    }
    for (k = 0; k < sizeof bad / sizeof *bad; k++) TEST_FAILS(gpu_fit_mesh(bad[k]), MDS_E_UNSUPPORTED, "is too large");
}

/// Counts whose sum is beyond 31, 32 and 40 bits, in rows that begin anywhere in a part: the totals are exact, so the limits see them.
static void totals_are_wide(void)
{
    static const size_t lengths[] = {1, 2047, 2048, 2049, 5000};
    long long           total[POKE_SCAN_ROWS];
    size_t              k;
    int                 row;

    for (k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const size_t n = lengths[k];

        poke_scan(n, INT_MAX - 3, total);
        for (row = 0; row < POKE_SCAN_ROWS; row++) TEST_INT(total[row], (long long)n * (INT_MAX - 3 - row));
    }
    TEST_FAILS(gpu_fit_list(total[0]), MDS_E_UNSUPPORTED, "entries is too long");
}

int main(void)
{
    blocks_of_slots();
    entries_of_lists();
    meshes();
    totals_are_wide();
    return test_end();
}
