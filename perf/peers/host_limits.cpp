// SPDX-License-Identifier: Apache-2.0
// What this machine's memory can do, in the minutes of the comparison: ringcomm-host-limits KIND THREADS
// answers each "go BYTES ITERATIONS" with the time of the slowest thread for BYTES of its own block, which it
// has just written. KIND: memcpy, nt_copy (non-temporal stores), read (a sum), nt_write.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../read_all.hpp"
#include "../sample_request.hpp"
#include "answer.hpp"
#include "bind.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ringcomm::perf::peers {
namespace {

enum class Kind : std::uint8_t { memcpy, nt_copy, read, nt_write };

#if defined(__SSE2__)
constexpr bool kHasNonTemporal = true;
/// `from` null: writes a constant.
void store_non_temporal(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__AVX512F__)
  using Vector = __m512i;
  const auto store = [](std::byte* at, Vector value) {
    _mm512_stream_si512(reinterpret_cast<Vector*>(at), value);
  };
#else
  using Vector = __m128i;
  const auto store = [](std::byte* at, Vector value) {
    _mm_stream_si128(reinterpret_cast<Vector*>(at), value);
  };
#endif
  Vector value{};
  for (std::size_t i = 0; i < bytes; i += sizeof(value)) {
    if (from != nullptr) std::memcpy(&value, from + i, sizeof(value));
    store(to + i, value);
  }
  _mm_sfence();
}
#else
constexpr bool kHasNonTemporal = false;
void store_non_temporal(std::byte*, const std::byte*, std::size_t) {}
#endif

/// Blocks of one thread, aligned for any vector.
class Blocks {
 public:
  explicit Blocks(std::size_t bytes)
      : bytes_(bytes),
        source_(static_cast<std::byte*>(std::aligned_alloc(64, bytes))),
        target_(static_cast<std::byte*>(std::aligned_alloc(64, bytes))) {
    std::memset(target_.get(), 1, bytes_);
  }
  /// Plain stores, as the owner of a block writes it.
  void rewrite(std::uint64_t round) {
    for (std::size_t at = 0; at < bytes_; at += sizeof(at)) {
      const std::uint64_t word = at * (round + 1);
      std::memcpy(source_.get() + at, &word, sizeof(word));
    }
  }
  void run(Kind kind) {
    if (kind == Kind::memcpy) std::memcpy(target_.get(), source_.get(), bytes_);
    if (kind == Kind::nt_copy) store_non_temporal(target_.get(), source_.get(), bytes_);
    if (kind == Kind::nt_write) store_non_temporal(target_.get(), nullptr, bytes_);
    if (kind == Kind::read) sink_ = sink_ + read_all(source_.get(), bytes_);
  }

 private:
  struct Free {
    void operator()(std::byte* block) const { std::free(block); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> source_, target_;
  volatile std::uint64_t sink_ = 0;
};

/// Microseconds of the slowest thread, per iteration.
std::vector<double> measure(Kind kind, int threads, std::size_t bytes, int iterations) {
  const auto turns = static_cast<std::size_t>(iterations) + 1;  // one to warm up
  std::vector<std::vector<double>> us(static_cast<std::size_t>(threads), std::vector<double>(turns));
  std::atomic<std::size_t> arrived{0};
  const auto work = [&](int thread) {
    bind_rank(thread);
    Blocks blocks(bytes);
    for (std::size_t turn = 0; turn < turns; ++turn) {
      blocks.rewrite(turn);
      ++arrived;
      while (arrived.load() < (turn + 1) * static_cast<std::size_t>(threads)) std::this_thread::yield();
      const auto begun = std::chrono::steady_clock::now();
      blocks.run(kind);
      us[static_cast<std::size_t>(thread)][turn] =
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
    }
  };
  std::vector<std::thread> others;
  for (int thread = 0; thread < threads; ++thread) others.emplace_back(work, thread);
  for (std::thread& other : others) other.join();
  std::vector<double> slowest(us.front().begin() + 1, us.front().end());
  for (const auto& of_thread : us) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], of_thread[i + 1]);
  }
  return slowest;
}

int run(const std::string& name, int threads) {
  const std::vector<std::string> names{"memcpy", "nt_copy", "read", "nt_write"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end() || threads < 1) {
    std::fprintf(stderr, "usage: ringcomm-host-limits memcpy|nt_copy|read|nt_write THREADS\n");
    return 6;
  }
  const auto kind = static_cast<Kind>(found - names.begin());
  if (!kHasNonTemporal && (kind == Kind::nt_copy || kind == Kind::nt_write)) {
    std::fprintf(stderr, "ringcomm-host-limits: no non-temporal stores on this architecture\n");
    return 5;
  }
  for (SampleRequest request; (request = read_request(stdin)).iterations > 0;) {
    const std::size_t bytes = (static_cast<std::size_t>(request.bytes) + 63) / 64 * 64;
    print_answer(stats_of(measure(kind, threads, bytes, request.iterations)), 0, bytes, name);
  }
  return 0;
}

}  // namespace
}  // namespace ringcomm::perf::peers

int main(int argc, char** argv) {
  return ringcomm::perf::peers::run(argc > 1 ? argv[1] : "", argc > 2 ? std::atoi(argv[2]) : 1);
}
