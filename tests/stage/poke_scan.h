// SPDX-License-Identifier: Apache-2.0
// Prefix sums of the GPU backend, for a test.
#ifndef MDS_TEST_POKE_SCAN_H
#define MDS_TEST_POKE_SCAN_H

#include "base/base.h"

MDS_BEGIN

enum { POKE_SCAN_ROWS = 3 };

/// Totals of rows of n counts each, all `count` in the first row, one less in each row after it.
void poke_scan(size_t n, int count, long long total[POKE_SCAN_ROWS]);

MDS_END

#endif
