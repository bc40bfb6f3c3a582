// SPDX-License-Identifier: Apache-2.0
// Lanes of two vectors in another order, for whichever compiler.
//
// clang knows only __builtin_shufflevector, gcc before 12 only its own __builtin_shuffle; gcc 12 and newer have both and make
// the same instructions of them.
#ifndef MDS_SHUFFLE_H
#define MDS_SHUFFLE_H

#include <stdint.h>

typedef int32_t shuffle_index4 __attribute__((vector_size(16)));

/// Lanes i j k l of the eight of a and b, vectors of four floats: 0 to 3 are those of a, 4 to 7 those of b. Constants.
#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define SHUFFLE4(a, b, i, j, k, l) __builtin_shuffle(a, b, (shuffle_index4){i, j, k, l})
#endif

#endif
