// SPDX-License-Identifier: Apache-2.0
#include "device/host/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace ringcomm::inline v0 {
namespace {

std::atomic<std::uint32_t> generation{0};

void count_fork() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint32_t fork_generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace ringcomm::inline v0
