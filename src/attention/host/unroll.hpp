// SPDX-License-Identifier: Apache-2.0
// Keeps the arrays of vectors of a micro-tile in registers.
#pragma once

/// Part of its caller in every build: sums that pass between functions would go through memory.
#define RINGCOMM_IN_PLACE [[gnu::always_inline]] inline

#if defined(__clang__)
#define RINGCOMM_UNROLL _Pragma("unroll")
#else
#define RINGCOMM_UNROLL _Pragma("GCC unroll 16")
#endif
