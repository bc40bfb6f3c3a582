// SPDX-License-Identifier: Apache-2.0
// Prefix sums of the emulated GPU backend, apart from everything that counts.
#include "search.h"

#include "stage/poke_scan.h"

#include <stdlib.h>

void poke_scan(size_t n, int count, long long total[POKE_SCAN_ROWS])
{
    const size_t all = POKE_SCAN_ROWS * (n + 1);
    mds_device   device = {};
    gpu_scan     scan = {};
    int         *host = (int *)malloc(all * sizeof *host), *data = NULL;

    if (!host) abort();
    for (size_t k = 0; k < all; k++) host[k] = count - (int)(k / (n + 1));
    if (gpu_copy_in(&data, host, all) || GPU_NAME(scan)(&device, &scan, data, POKE_SCAN_ROWS, n) ||
        cudaMemcpy(total, scan.total, POKE_SCAN_ROWS * sizeof *total, cudaMemcpyDeviceToHost) != cudaSuccess)
        abort();
    GPU_NAME(scan_close)(&scan);
    GPU_NAME(release)(data);
    free(host);
}
