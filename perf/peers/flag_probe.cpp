// SPDX-License-Identifier: Apache-2.0
// How far apart the first two CPUs are right now: a lockstep exchange of one flag for a millisecond. Virtual
// machines move their CPUs between core complexes, which changes every other figure by 3 to 10 times.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "bind.hpp"

namespace ringcomm::perf::peers {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds per hand-over: the best of ten parts of about `milliseconds` / 10 each, so that a preemption
/// spoils one part only.
double probe_ns(int first, int second, double milliseconds) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  alignas(64) std::atomic<std::uint64_t> ping{0};
  alignas(64) std::atomic<std::uint64_t> pong{0};
  std::thread answerer([&] {
    bind_to(second);
    for (std::uint64_t expected = 1;;) {
      const std::uint64_t seen = ping.load(std::memory_order_acquire);
      if (seen == kEnd) return;
      if (seen != expected) continue;
      pong.store(expected++, std::memory_order_release);
    }
  });
  bind_to(first);
  double best = 1e12;
  std::uint64_t turn = 0;
  for (int part = 0; part < 10; ++part) {
    const std::int64_t begun = now_ns();
    const std::uint64_t first_turn = turn;
    std::int64_t ended = begun;
    do {
      for (int i = 0; i < 50; ++i) {
        ping.store(++turn, std::memory_order_release);
        while (pong.load(std::memory_order_acquire) != turn) {
        }
      }
      ended = now_ns();
    } while (static_cast<double>(ended - begun) < milliseconds * 1e5);
    best = std::min(best, static_cast<double>(ended - begun) / static_cast<double>(turn - first_turn) / 2);
  }
  ping.store(kEnd, std::memory_order_release);
  answerer.join();
  return best;
}

}  // namespace
}  // namespace ringcomm::perf::peers

/// Answers each "go" line of standard input with {"ns": ...}; with one CPU there is nothing to measure.
int main() {
  using ringcomm::perf::peers::allowed_cpus;
  const std::vector<int> cpus = allowed_cpus();
  for (char line[64]; std::fgets(line, sizeof(line), stdin) != nullptr && std::strncmp(line, "go", 2) == 0;) {
    std::printf("{\"ns\": %.1f}\n",
                cpus.size() < 2 ? 0.0 : ringcomm::perf::peers::probe_ns(cpus[0], cpus[1], 1));
    std::fflush(stdout);
  }
  return 0;
}
