// SPDX-License-Identifier: Apache-2.0
// How arithmetic in headers is declared: in every file that includes it, and for the device too where nvcc reads it.
#ifndef MDS_BASE_INLINE_H
#define MDS_BASE_INLINE_H

#ifdef __CUDACC__
#define MDS_INLINE static __host__ __device__ inline
#else
#define MDS_INLINE static inline
#endif

#endif
