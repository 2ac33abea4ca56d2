// SPDX-License-Identifier: Apache-2.0
// RINGCOMM_VECTOR_STORES: stores that go around the caches can be written as intrinsics here. Not under
// ThreadSanitizer, which does not see them.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define RINGCOMM_PLAIN_STORES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RINGCOMM_PLAIN_STORES 1
#endif
#endif
#if !defined(RINGCOMM_PLAIN_STORES) && defined(__x86_64__)
#include <immintrin.h>
#define RINGCOMM_VECTOR_STORES 1
#endif
