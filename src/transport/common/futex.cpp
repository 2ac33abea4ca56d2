// SPDX-License-Identifier: Apache-2.0
#include "transport/common/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace ringcomm::inline v0::transport {
namespace {

int scoped(int operation, FutexScope scope) {
  return scope == FutexScope::threads ? operation | FUTEX_PRIVATE_FLAG : operation;
}

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t span_ns,
                FutexScope scope) {
  const timespec span{.tv_sec = span_ns / 1'000'000'000, .tv_nsec = span_ns % 1'000'000'000};
  syscall(SYS_futex, &word, scoped(FUTEX_WAIT, scope), expected, &span, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word, FutexScope scope) {
  syscall(SYS_futex, &word, scoped(FUTEX_WAKE, scope), INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ringcomm::inline v0::transport
