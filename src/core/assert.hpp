// SPDX-License-Identifier: Apache-2.0
// For our own invariants only; whatever a caller or the world does wrong becomes a Status.
#pragma once

#include <cstdio>
#include <cstdlib>

/// On in every build. Prints the condition with file and line and aborts.
#define RINGCOMM_ASSERT(condition)                                                                     \
  do {                                                                                                 \
    if (!(condition)) [[unlikely]] {                                                                   \
      std::fprintf(stderr, "ringcomm: %s:%d: broken invariant: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                    \
    }                                                                                                  \
  } while (false)
