// SPDX-License-Identifier: Apache-2.0
// --calibrate: where softmax merges change from one way to another.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "buffer.hpp"
#include "calibrate.hpp"
#include "read_all.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/comm/channel.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

constexpr std::int64_t kDim = 128;
constexpr std::int64_t kRowBytes = 4 * (kDim + 1);

struct Way {
  SoftmaxAllReduceOptions options;
  bool copies = false;
};

/// Merges of this communicator's ranks, partials in a window and freshly written before each.
class Merges {
 public:
  static Result<Merges> make(Communicator& comm, const Options& options) {
    Merges made(comm, options.iterations);
    const auto bytes = static_cast<std::size_t>(most_rows(options) * kRowBytes);
    PERF_TRY_ASSIGN(made.input_, Buffer::allocate(comm, options, bytes, 0, Memory::window));
    PERF_TRY_ASSIGN(made.output_, Buffer::allocate(comm, options, bytes, 0, Memory::private_memory));
    std::memset(made.output_.data(), 0, bytes);
    return made;
  }
  static std::int64_t most_rows(const Options& options) {
    return static_cast<std::int64_t>(options.bytes_max) / kRowBytes;
  }

  /// [ways] medians of the slowest rank, the ways in turns.
  Result<std::array<double, 2>> times_us(std::int64_t rows, const std::array<Way, 2>& ways) {
    std::array<std::vector<double>, 2> samples;
    for (int turn = -1; turn < iterations_; ++turn) {
      for (std::size_t way = 0; way < ways.size(); ++way) {
        PERF_TRY_ASSIGN(const double us, one_us(rows, ways[way]));
        if (turn >= 0) samples[way].push_back(us);
      }
    }
    std::array<double, 2> mine{median(samples[0]), median(samples[1])};
    std::vector<double> all(2 * static_cast<std::size_t>(comm_->size()));
    PERF_TRY(all_gather(comm_->channel(), TensorView::contiguous(mine.data(), DType::float64, {2}),
                        TensorView::contiguous(all.data(), DType::float64, {2 * comm_->size()}))
                 .status());
    for (std::size_t i = 0; i < all.size(); ++i) mine[i % 2] = std::max(mine[i % 2], all[i]);
    return mine;
  }

 private:
  Merges(Communicator& comm, int iterations) : comm_(&comm), iterations_(iterations) {}

  static SoftmaxPartial view(std::byte* at, std::int64_t rows) {
    return {.out = TensorView::contiguous(at, DType::float32, {rows, kDim}),
            .statistic = TensorView::contiguous(at + rows * kDim * 4, DType::float32, {rows})};
  }

  Result<double> one_us(std::int64_t rows, const Way& way) {
    std::memset(input_.data(), 0, static_cast<std::size_t>(rows * kRowBytes));
    PERF_TRY(barrier(comm_->channel()).status());
    MergedRows merged;  // given back when the time has been taken
    const auto begun = std::chrono::steady_clock::now();
    if (way.copies) {
      PERF_TRY(softmax_all_reduce(comm_->channel(), view(input_.data(), rows), view(output_.data(), rows),
                                  way.options)
                   .status());
      read(view(output_.data(), rows).out);
    } else {
      PERF_TRY_ASSIGN(merged,
                      softmax_all_reduce_in_place(comm_->channel(), view(input_.data(), rows), way.options));
      for (const MergedRows::Part& part : merged.parts()) read(part.rows.out);
    }
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
  }

  /// Whoever merges wants the rows: where they lie is part of what a way costs.
  void read(const TensorView& out) {
    sink_ = sink_ + read_all(static_cast<const std::byte*>(out.data), out.bytes());
  }

  Communicator* comm_;
  int iterations_;
  Buffer input_, output_;
  std::uint64_t sink_ = 0;
};

struct Limit {
  std::uint64_t bytes = 0;  ///< of a partial: up to here the first way is the better one
  bool is_all = false;      ///< at all sizes that were measured
  bool is_measured = false;
};

/// Of partials of `first` rows and twice as many up to `last`. Nothing is said beyond half as much again as
/// the largest that was measured.
Result<Limit> limit_of(Merges& merges, std::int64_t first, std::int64_t last,
                       const std::array<Way, 2>& ways) {
  std::vector<std::array<double, 2>> times;
  for (std::int64_t rows = first; rows <= last; rows *= 2) {
    PERF_TRY_ASSIGN(const auto both, merges.times_us(rows, ways));
    times.push_back(both);
  }
  const std::size_t won = crossover(times);
  if (won == 0) return Limit{.is_measured = !times.empty()};
  const auto largest = static_cast<std::uint64_t>((first << (won - 1)) * kRowBytes);
  return Limit{.bytes = largest + largest / 2, .is_all = won == times.size(), .is_measured = true};
}

}  // namespace

std::size_t crossover(const std::vector<std::array<double, 2>>& times) {
  std::size_t best = 0;
  double least = 0;
  double saved = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    saved += std::log(times[i][0] / times[i][1]);
    if (saved >= least) continue;
    least = saved;
    best = i + 1;
  }
  return best;
}

Result<MergeLimits> measure_merges(Communicator& comm, const Options& options) {
  MergeLimits limits;
  if (!comm.channel().capabilities().direct_read) return limits;
  PERF_TRY_ASSIGN(Merges merges, Merges::make(comm, options));
  const std::int64_t most = Merges::most_rows(options);
  const auto by = [](MergeChoice algorithm, bool copies, MergeStores stores = MergeStores::automatic) {
    return Way{.options = {.algorithm = algorithm, .stores = stores, .call = {}}, .copies = copies};
  };
  constexpr std::int64_t kSmallRows = 4, kSmallRowsMax = 128, kLargeRows = 512;
  PERF_TRY_ASSIGN(const Limit in_place,
                  limit_of(merges, kSmallRows, std::min(most, kSmallRowsMax),
                           {by(MergeChoice::one_shot, false), by(MergeChoice::two_shot, false)}));
  PERF_TRY_ASSIGN(
      const Limit copied,
      limit_of(merges, kSmallRows, most, {by(MergeChoice::one_shot, true), by(MergeChoice::two_shot, true)}));
  PERF_TRY_ASSIGN(const Limit cached,
                  limit_of(merges, kLargeRows, most,
                           {by(MergeChoice::two_shot, false, MergeStores::cached),
                            by(MergeChoice::two_shot, false, MergeStores::around_caches)}));
  limits.ranks = static_cast<std::uint64_t>(comm.size());
  if (in_place.is_measured) limits.one_shot_bytes = std::max(in_place.bytes, std::uint64_t{1});
  // Two ranks: as built, where one_shot won wherever it was measured (one round less, nothing more to merge).
  if (copied.is_measured && !(copied.is_all && comm.size() == 2))
    limits.copied_one_shot_bytes = std::max(copied.bytes, std::uint64_t{1});
  if (!cached.is_measured) return limits;
  // Partials of all and one result. What is beyond all sizes stays as the last cache says.
  const std::uint64_t least = static_cast<std::uint64_t>(kLargeRows * kRowBytes);
  limits.cache_bytes = (cached.bytes == 0 ? least / 2 : cached.bytes) * (limits.ranks + 1);
  if (cached.is_all)
    limits.cache_bytes = std::max(limits.cache_bytes, comm.channel().merge_limits().cache_bytes);
  return limits;
}

}  // namespace ringcomm::perf
