// SPDX-License-Identifier: Apache-2.0
// Keeps the arrays of vectors of a micro-tile in registers.
#pragma once

#if defined(__clang__)
#define RINGCOMM_UNROLL _Pragma("unroll")
#else
#define RINGCOMM_UNROLL _Pragma("GCC unroll 16")
#endif
