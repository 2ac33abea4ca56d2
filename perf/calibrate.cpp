// SPDX-License-Identifier: Apache-2.0
#include "calibrate.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>

#include "buffer.hpp"
#include "report_json.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/core/text.hpp"
#include "run_info.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

constexpr std::size_t kSmallBytes = 8;
// Round trips of 8 bytes in one sample: the clock's 30 ns then weigh nothing.
constexpr int kRoundTripsPerSample = 50;
constexpr std::uint32_t kFirstOrdinal = 100;

TensorView bytes_of(std::byte* data, std::size_t bytes) {
  return TensorView::contiguous(data, DType::uint8, {static_cast<std::int64_t>(bytes)});
}

template <class T>
Result<std::vector<T>> gather(Communicator& comm, T mine) {
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  PERF_TRY(all_gather(comm.channel(), bytes_of(reinterpret_cast<std::byte*>(&mine), sizeof(T)),
                      bytes_of(reinterpret_cast<std::byte*>(all.data()), sizeof(T) * all.size()))
               .status());
  return all;
}

struct Announcement {
  std::array<char, 64> host{};
  int package = -1;
  int memory_node = -1;
};

Result<std::vector<RankPlace>> gather_places(Communicator& comm) {
  Announcement mine;
  gethostname(mine.host.data(), mine.host.size() - 1);
  const auto& cpus = comm.placement().cpus;
  for (const auto& core : discover_cores()) {
    if (cpus.empty() || std::ranges::find(core.cpus, cpus.front()) == core.cpus.end()) continue;
    mine.package = core.package;
    mine.memory_node = core.memory_node;
  }
  PERF_TRY_ASSIGN(const auto all, gather(comm, mine));
  std::vector<RankPlace> places;
  for (const auto& one : all) {
    const auto first = std::ranges::find(all, one.host, &Announcement::host) - all.begin();
    places.push_back(
        {.host = static_cast<int>(first), .package = one.package, .memory_node = one.memory_node});
  }
  return places;
}

/// Seconds of one round trip.
Result<double> round_trip(Channel& channel, bool is_first, const TensorView& sent,
                          const TensorView& received) {
  const auto start = std::chrono::steady_clock::now();
  if (is_first) {
    PERF_TRY(send(channel, sent, 1).status());
    PERF_TRY(receive(channel, received, 1).status());
  } else {
    PERF_TRY(receive(channel, received, 0).status());
    PERF_TRY(send(channel, sent, 0).status());
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One way, microseconds, [samples].
Result<std::vector<double>> one_way_us(Channel& channel, const Options& options, bool is_first,
                                       const TensorView& sent, const TensorView& received, int trips) {
  std::vector<double> samples;
  for (int sample = -options.warmup; sample < options.iterations; ++sample) {
    double seconds = 0;
    for (int trip = 0; trip < trips; ++trip) {
      PERF_TRY_ASSIGN(const double one, round_trip(channel, is_first, sent, received));
      seconds += one;
    }
    if (sample >= 0) samples.push_back(seconds * 1e6 / (2 * trips));
  }
  return samples;
}

/// Both ranks of the pair call it.
Result<PairTimes> measure_pair(Communicator& comm, const Options& options, const CalibrationPair& pair,
                               std::uint32_t ordinal) {
  const bool is_first = comm.rank() == pair.from;
  PERF_TRY_ASSIGN(Channel* const channel, comm.open_channel({pair.from, pair.to}, ordinal));
  PERF_TRY_ASSIGN(Buffer sent, Buffer::allocate(comm, options, options.bytes_max));
  PERF_TRY_ASSIGN(Buffer received, Buffer::allocate(comm, options, options.bytes_max));
  std::memset(sent.data(), is_first ? 0x5a : 0xa5, sent.bytes());
  std::memset(received.data(), 0, received.bytes());
  PERF_TRY_ASSIGN(auto small, one_way_us(*channel, options, is_first, bytes_of(sent.data(), kSmallBytes),
                                         bytes_of(received.data(), kSmallBytes), kRoundTripsPerSample));
  PERF_TRY_ASSIGN(auto large, one_way_us(*channel, options, is_first, bytes_of(sent.data(), sent.bytes()),
                                         bytes_of(received.data(), received.bytes()), 1));
  const auto wanted = std::byte{static_cast<unsigned char>(is_first ? 0xa5 : 0x5a)};
  const std::byte* const data = received.data();
  if (std::any_of(data, data + received.bytes(), [&](std::byte byte) { return byte != wanted; }))
    return Status::corrupt_data(concat("rank ", comm.rank(), " received other bytes than were sent"));
  return PairTimes{.small_us = stats_of(std::move(small)), .large_us = stats_of(std::move(large))};
}

/// Every rank takes part in what it is one end of, and learns all results.
Result<std::vector<ClassResult>> measure_pairs(Communicator& comm, const Options& options,
                                               const std::vector<CalibrationPair>& pairs) {
  std::vector<ClassResult> results;
  std::uint32_t ordinal = kFirstOrdinal;
  for (const auto& pair : pairs) {
    PairTimes mine;
    if (comm.rank() == pair.from || comm.rank() == pair.to) {
      PERF_TRY_ASSIGN(mine, measure_pair(comm, options, pair, ordinal));
    }
    ++ordinal;
    PERF_TRY_ASSIGN(const auto all, gather(comm, mine));
    results.push_back({.pair = pair, .times = all[static_cast<std::size_t>(pair.from)]});
    PERF_TRY(check_times(results.back()));
  }
  return results;
}

std::string describe(const ClassResult& result, std::size_t large_bytes) {
  const auto& times = result.times;
  return fmt::format("# {:<4} ranks {} and {} over {}: alpha {:.2f} us ({:.2f} to {:.2f}), {:.2f} GB/s\n",
                     name_of(result.pair.path_class), result.pair.from, result.pair.to, result.transport,
                     times.small_us.p50, times.small_us.min, times.small_us.max,
                     gb_per_s_of(times, large_bytes));
}

std::string describe(const MergeLimits& limits) {
  const auto shown = [](std::uint64_t bytes) {
    return bytes == 0 ? "as built" : bytes == 1 ? "never" : fmt::format("up to {} bytes", bytes);
  };
  return fmt::format(
      "# softmax merges of {} ranks: one round {}, with copied results {}; around the caches beyond {}\n",
      limits.ranks, shown(limits.one_shot_bytes), shown(limits.copied_one_shot_bytes),
      limits.cache_bytes == 0 ? "what the last cache holds"
                              : fmt::format("{} bytes in all", limits.cache_bytes));
}

}  // namespace

PathClass class_between(const RankPlace& a, const RankPlace& b) {
  if (a.host != b.host) return PathClass::net;
  if (a.package < 0 || b.package < 0) return PathClass::unknown;
  if (a.package != b.package) return PathClass::sys;
  return a.memory_node == b.memory_node ? PathClass::loc : PathClass::node;
}

std::vector<CalibrationPair> choose_pairs(const std::vector<RankPlace>& places) {
  std::vector<CalibrationPair> pairs;
  std::set<PathClass> seen{PathClass::unknown};
  for (std::size_t from = 0; from < places.size(); ++from) {
    for (std::size_t to = from + 1; to < places.size(); ++to) {
      const auto path_class = class_between(places[from], places[to]);
      if (!seen.insert(path_class).second) continue;
      pairs.push_back({.path_class = path_class, .from = static_cast<int>(from), .to = static_cast<int>(to)});
    }
  }
  std::ranges::sort(pairs, {}, &CalibrationPair::path_class);
  return pairs;
}

Status check_times(const ClassResult& result) {
  if (result.times.large_us.p50 > result.times.small_us.p50) return {};
  return Status::corrupt_data(concat("a large block between ranks ", result.pair.from, " and ",
                                     result.pair.to, " took ", result.times.large_us.p50,
                                     " us, not longer than 8 bytes (", result.times.small_us.p50,
                                     " us): give a larger -e"));
}

double gb_per_s_of(const PairTimes& times, std::size_t large_bytes) {
  return static_cast<double>(large_bytes - kSmallBytes) / (times.large_us.p50 - times.small_us.p50) * 1e-3;
}

int calibration_ranks(const std::vector<CoreInfo>& cores) {
  std::set<std::pair<int, int>> nodes;
  for (const auto& core : cores) nodes.insert({core.package, core.memory_node});
  const auto wanted = std::min({2 * nodes.size(), cores.size(), std::size_t{64}});
  return std::max(2, static_cast<int>(wanted));
}

Status run_calibration(Communicator& comm, const Options& options, Calibration head) {
  if (comm.size() < 2) {
    return Status::invalid_argument(
        "--calibrate with one rank (a path has two ends: give -t 2, --procs 2 or more)");
  }
  PERF_TRY_ASSIGN(const auto places, gather_places(comm));
  const auto pairs = choose_pairs(places);
  if (pairs.empty())
    return Status::not_available("no rank knows the core that it runs on, so that no path has a class");
  std::string file;
  if (comm.rank() == 0) {
    PERF_TRY_ASSIGN(file, claim_file(options.calibrate));
  }
  auto classes = measure_pairs(comm, options, pairs);
  auto merge = classes.is_ok() ? measure_merges(comm, options) : Result<MergeLimits>(classes.status());
  if (!merge.is_ok()) {
    if (!file.empty()) std::remove(file.c_str());  // an empty file would be read as a broken one
    return merge.status();
  }
  head.classes = std::move(classes).value();
  head.merge = merge.value();
  PERF_TRY_ASSIGN(const RunInfo run, gather_run_info(comm, head.launch));
  if (comm.rank() != 0) return {};
  head.large_bytes = options.bytes_max;
  head.samples = options.iterations;
  head.ranks = comm.size();
  head.cpu = run.device;
  for (auto& result : head.classes) {
    const auto& from = run.ranks[static_cast<std::size_t>(result.pair.from)];
    result.transport = from.paths[static_cast<std::size_t>(result.pair.to)];
    fmt::print("{}", describe(result, head.large_bytes));
  }
  if (head.merge.ranks > 0) fmt::print("{}", describe(head.merge));
  PERF_TRY(write_file(file, format_costs(head)));
  fmt::print("# wrote {}\n", file);
  return {};
}

}  // namespace ringcomm::perf
