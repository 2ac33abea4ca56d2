// SPDX-License-Identifier: Apache-2.0
// What grows with the number of ranks, and what must not: start-up, memory, a rotation step at one block
// size, and the chunks of a relay. Ranks are threads of this process.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "read_all.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/limits.hpp"
#include "stats.hpp"

namespace {

namespace rc = ringcomm;

constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::size_t kRelayBytes = 1 << 20;
constexpr int kStartUps = 5;
constexpr int kRounds = 31;
constexpr int kChannels = 32;
constexpr int kOpenings = 5;

struct Memory {
  std::int64_t mapped = 0, resident = 0;
};

/// Of this process, bytes. The resident ones are counted page by page: the kernel's running count is a guess.
Memory memory_now() {
  Memory memory;
  std::ifstream("/proc/self/statm") >> memory.mapped;
  memory.mapped *= sysconf(_SC_PAGESIZE);
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  while (file >> word && word != "Rss:") continue;
  file >> memory.resident;
  memory.resident *= 1024;
  return memory;
}

double ms_since(std::int64_t begun_ns) { return static_cast<double>(rc::now_ns() - begun_ns) * 1e-6; }

/// Of one number of ranks; times are medians.
struct Scale {
  int ranks = 0;
  double start_ms = 0;          ///< all communicators of the process
  Memory per_rank{};            ///< of a communicator with the default arena
  std::size_t arena_bytes = 0;  ///< of it
  double channel_us = 0;        ///< all members open one more channel of all ranks
  double flag_us = 0;           ///< per step of a full rotation that reads nothing
  double step_us = 0;           ///< the same with the read of every block
};

struct Chunk {
  std::size_t bytes = 0;  ///< 0: whole blocks
  double step_us = 0;
};

/// The slowest rank's time is the operation's.
class Slowest {
 public:
  void add(double value) {
    double seen = value_.load();
    while (seen < value && !value_.compare_exchange_weak(seen, value)) continue;
  }
  double take() { return value_.exchange(0); }

 private:
  std::atomic<double> value_{0};
};

std::uint64_t read_all(const rc::TensorView& view) {
  return rc::perf::read_all(static_cast<const std::byte*>(view.data), view.bytes());
}

struct RotationCase {
  std::size_t block_bytes = kBlockBytes;
  rc::RotationChoice mode = rc::RotationChoice::direct;
  std::size_t chunk_bytes = 0;
  bool is_read = true;
};

/// Microseconds per step of full rotations; the owners rewrite their blocks untimed.
rc::Status rotate(rc::Communicator& comm, const RotationCase& what, Slowest& slowest,
                  std::vector<double>& steps_us) {
  auto window = comm.allocate(what.block_bytes);
  if (!window.is_ok()) return window.status();
  const auto rows = static_cast<std::int64_t>(what.block_bytes / 128);
  const auto k = rc::TensorView::contiguous(window->data(), rc::DType::uint8, {rows, 1, 64});
  const auto v =
      rc::TensorView::contiguous(window->data() + what.block_bytes / 2, rc::DType::uint8, {rows, 1, 64});
  auto rotation =
      rc::RingRotation::create(comm.channel(), k, v, {.mode = what.mode, .chunk_bytes = what.chunk_bytes});
  if (!rotation.is_ok()) return rotation.status();
  std::uint64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::fill_n(window->data(), what.block_bytes, static_cast<std::byte>(round));
    if (rc::Status met = rc::barrier(comm.channel()).status(); !met.is_ok()) return met;
    const std::int64_t begun_ns = rc::now_ns();
    const rc::Status status = rotation->run([&](const rc::RotationStep& step) {
      for (const rc::RotationPart& part : step.parts()) {
        if (what.is_read && part.source != comm.rank()) sum += read_all(part.k) + read_all(part.v);
      }
    });
    if (!status.is_ok()) return status;
    slowest.add(ms_since(begun_ns) * 1e3 / std::max(1, comm.size() - 1));
    if (rc::Status met = rc::barrier(comm.channel()).status(); !met.is_ok()) return met;
    if (comm.rank() == 0) steps_us.push_back(slowest.take());
    if (rc::Status met = rc::barrier(comm.channel()).status(); !met.is_ok()) return met;
  }
  return sum == 1 ? rc::Status::internal("a sum of one") : rc::Status();
}

rc::Result<double> step_us(int ranks, const RotationCase& what) {
  Slowest slowest;
  std::vector<double> us;
  const rc::Status status =
      rc::run_threads(ranks, [&](rc::Communicator& comm) { return rotate(comm, what, slowest, us); });
  if (!status.is_ok()) return status;
  return rc::perf::median(us);
}

rc::Result<Scale> measure_start(int ranks) {
  Scale scale{.ranks = ranks};
  std::vector<double> start_ms;
  for (int i = 0; i < kStartUps; ++i) {
    const Memory before = memory_now();
    const std::int64_t begun_ns = rc::now_ns();
    const auto comms = rc::Communicator::create_local(ranks);
    if (!comms.is_ok()) return comms.status();
    start_ms.push_back(ms_since(begun_ns));
    const Memory after = memory_now();
    scale.per_rank = {(after.mapped - before.mapped) / ranks, (after.resident - before.resident) / ranks};
    scale.arena_bytes = comms.value().front().counters().arena_bytes;
  }
  scale.start_ms = rc::perf::median(start_ms);
  return scale;
}

rc::Status open_channels(Scale& scale) {
  std::vector<int> members;
  for (int rank = 0; rank < scale.ranks; ++rank) members.push_back(rank);
  return rc::run_threads(scale.ranks, [&](rc::Communicator& comm) -> rc::Status {
    if (rc::Status met = rc::barrier(comm.channel()).status(); !met.is_ok()) return met;
    const std::int64_t begun_ns = rc::now_ns();
    for (int ordinal = 1; ordinal <= kChannels; ++ordinal) {
      auto channel = comm.open_channel(members, static_cast<std::uint32_t>(ordinal));
      if (!channel.is_ok()) return channel.status();
      if (rc::Status met = rc::barrier(*channel.value()).status(); !met.is_ok()) return met;
    }
    if (comm.rank() != 0) return rc::barrier(comm.channel()).status();
    scale.channel_us = ms_since(begun_ns) * 1e3 / kChannels;
    return rc::barrier(comm.channel()).status();
  });
}

rc::Status measure_channels(Scale& scale) {
  std::vector<double> us;
  for (int i = 0; i < kOpenings; ++i) {
    if (rc::Status status = open_channels(scale); !status.is_ok()) return status;
    us.push_back(scale.channel_us);
  }
  scale.channel_us = rc::perf::median(us);
  return {};
}

rc::Result<Scale> measure(int ranks) {
  auto scale = measure_start(ranks);
  if (!scale.is_ok()) return scale;
  if (rc::Status status = measure_channels(scale.value()); !status.is_ok()) return status;
  const auto flags = step_us(ranks, {.is_read = false});
  if (!flags.is_ok()) return flags.status();
  const auto steps = step_us(ranks, {});
  if (!steps.is_ok()) return steps.status();
  scale->flag_us = flags.value();
  scale->step_us = steps.value();
  return scale;
}

rc::Result<std::vector<Chunk>> sweep_chunks() {
  std::vector<Chunk> chunks;
  for (const std::size_t bytes : {std::size_t{0}, kRelayBytes / 2, kRelayBytes / 4, kRelayBytes / 8,
                                  kRelayBytes / 16, kRelayBytes / 32}) {
    const auto us =
        step_us(2, {.block_bytes = kRelayBytes, .mode = rc::RotationChoice::relay, .chunk_bytes = bytes});
    if (!us.is_ok()) return us.status();
    chunks.push_back({bytes, us.value()});
  }
  return chunks;
}

void print_text(const std::vector<Scale>& scales, const std::vector<Chunk>& chunks, int cpus) {
  std::printf("# ranks as threads, %d CPUs; a step of a full rotation in place, blocks of %zu KiB\n", cpus,
              kBlockBytes >> 10);
  std::printf("# step/cpu: the step with the ranks that share a CPU divided out\n");
  std::printf("%5s %9s %10s %10s %10s %9s %9s %9s\n", "ranks", "start ms", "KiB/rank", "resident",
              "channel us", "flag us", "step us", "step/cpu");
  for (const Scale& s : scales) {
    std::printf("%5d %9.2f %10lld %10lld %10.1f %9.2f %9.2f %9.2f\n", s.ranks, s.start_ms,
                static_cast<long long>(s.per_rank.mapped >> 10),
                static_cast<long long>(s.per_rank.resident >> 10), s.channel_us, s.flag_us, s.step_us,
                s.step_us / std::max(1.0, static_cast<double>(s.ranks) / cpus));
  }
  std::printf("# relay, 2 ranks, blocks of %zu KiB, chunk and us per step (* best)\n", kRelayBytes >> 10);
  const auto best = std::min_element(chunks.begin(), chunks.end(),
                                     [](const Chunk& a, const Chunk& b) { return a.step_us < b.step_us; });
  for (auto chunk = chunks.begin(); chunk != chunks.end(); ++chunk) {
    const std::string name = chunk->bytes == 0 ? "whole" : std::to_string(chunk->bytes >> 10) + "K";
    std::printf("%8s %9.2f%s\n", name.c_str(), chunk->step_us, chunk == best ? " *" : "");
  }
}

void print_json(const std::vector<Scale>& scales, const std::vector<Chunk>& chunks, int cpus) {
  std::printf("{\"cpus\": %d, \"block_bytes\": %zu, \"scales\": [", cpus, kBlockBytes);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const Scale& s = scales[i];
    std::printf(
        "%s{\"ranks\": %d, \"start_ms\": %.3f, \"arena_bytes\": %zu, \"mapped_bytes_per_rank\": %lld, "
        "\"resident_bytes_per_rank\": %lld, \"channel_us\": %.2f, \"flag_step_us\": %.3f, \"read_step_us\": "
        "%.3f}",
        i == 0 ? "" : ", ", s.ranks, s.start_ms, s.arena_bytes, static_cast<long long>(s.per_rank.mapped),
        static_cast<long long>(s.per_rank.resident), s.channel_us, s.flag_us, s.step_us);
  }
  std::printf("], \"relay_block_bytes\": %zu, \"chunks\": [", kRelayBytes);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::printf("%s{\"chunk_bytes\": %zu, \"step_us\": %.3f}", i == 0 ? "" : ", ", chunks[i].bytes,
                chunks[i].step_us);
  }
  std::printf("]}\n");
}

int fail(const rc::Status& status) {
  std::fprintf(stderr, "ringcomm-comm-scale: %s\n", status.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_json = false;
  int most = 8;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool is_number = word.size() <= 2 && word.find_first_not_of("0123456789") == std::string_view::npos;
    if (word == "--json") {
      is_json = true;
    } else if (is_number && std::atoi(argv[i]) > 0 && std::atoi(argv[i]) <= 64) {
      most = std::atoi(argv[i]);
    } else {
      std::fprintf(
          word == "--help" ? stdout : stderr,
          "usage: ringcomm-comm-scale [--json] [RANKS]\n"
          "Start-up, memory and rotation steps for 1, 2, 4, ... RANKS (8, at most 64) threads, and a\n"
          "sweep of a relay's chunks.\n");
      return word == "--help" ? 0 : 64;
    }
  }
  std::vector<Scale> scales;
  for (int ranks = 1; ranks <= most; ranks *= 2) {
    auto scale = measure(ranks);
    if (!scale.is_ok()) return fail(scale.status());
    scales.push_back(scale.value());
  }
  const auto chunks = sweep_chunks();
  if (!chunks.is_ok()) return fail(chunks.status());
  const int cpus = rc::read_limits().usable_cpus();
  is_json ? print_json(scales, chunks.value(), cpus) : print_text(scales, chunks.value(), cpus);
  return 0;
}
