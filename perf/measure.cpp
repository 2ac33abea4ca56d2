// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>

#include "operations.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/deadline.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

/// [ranks][n] of everybody's n numbers.
Result<std::vector<std::vector<double>>> gather_numbers(Communicator& comm, std::vector<double> mine) {
  const auto count = static_cast<std::int64_t>(mine.size());
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<double> all(mine.size() * ranks);
  PERF_TRY(all_gather(comm.channel(), TensorView::contiguous(mine.data(), DType::float64, {count}),
                      TensorView::contiguous(all.data(), DType::float64, {count * comm.size()}))
               .status());
  std::vector<std::vector<double>> rows;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * mine.size());
    rows.emplace_back(first, first + count);
  }
  return rows;
}

/// Says how far it is, once a second at most, where a person watches.
class ProgressLine {
 public:
  explicit ProgressLine(const Communicator& comm) {
    is_shown_ = comm.rank() == 0 && isatty(STDERR_FILENO) != 0;
  }
  ~ProgressLine() {
    if (is_shown_ && was_written_) std::fprintf(stderr, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void update(int done, int total) {
    if (!is_shown_ || now_ns() - last_ns_ < 1000000000) return;
    last_ns_ = now_ns();
    was_written_ = true;
    std::fprintf(stderr, "\r\033[Kiteration %d of %d", done, total);
  }

 private:
  bool is_shown_ = false, was_written_ = false;
  std::int64_t last_ns_ = now_ns();
};

/// Times of all ranks over options.iterations runs; `background` may be null.
Result<std::vector<std::vector<double>>> time_runs(Communicator& comm, const Options& options, Case& subject,
                                                   Buffers buffers, Background* background) {
  ProgressLine progress(comm);
  subject.set_companion(background != nullptr ? [background] { return background->launch(); }
                                              : std::function<Status()>());
  std::vector<double> us;
  for (int i = -options.warmup; i < options.iterations; ++i) {
    if (i == 0) subject.start_counting();
    progress.update(std::max(i, 0), options.iterations);
    PERF_TRY_ASSIGN(const double seconds, subject.run(buffers));
    if (background != nullptr) PERF_TRY(background->finish());
    if (i >= 0) us.push_back(seconds * 1e6);
  }
  subject.set_companion({});
  return gather_numbers(comm, std::move(us));
}

std::vector<double> slowest_per_iteration(const std::vector<std::vector<double>>& ranks) {
  std::vector<double> slowest = ranks.front();
  for (const auto& times : ranks) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], times[i]);
  }
  return slowest;
}

}  // namespace

double average_over_ranks(const std::vector<std::vector<double>>& rank_times_us, Average average) {
  std::vector<double> means;
  for (const auto& times : rank_times_us) {
    means.push_back(times.empty() ? 0
                                  : std::accumulate(times.begin(), times.end(), 0.0) /
                                        static_cast<double>(times.size()));
  }
  if (means.empty()) return 0;
  switch (average) {
    case Average::rank0:
      return means.front();
    case Average::min:
      return *std::min_element(means.begin(), means.end());
    case Average::max:
      return *std::max_element(means.begin(), means.end());
    default:
      return std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
  }
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

Result<Side> measure_side(Communicator& comm, const Options& options, Case& subject, Buffers buffers,
                          Background* background) {
  Side side;
  side.ran = true;
  if (background != nullptr) {
    PERF_TRY_ASSIGN(const auto alone, time_runs(comm, options, subject, buffers, nullptr));
    side.alone_us = average_over_ranks(alone, options.average);
  }
  PERF_TRY_ASSIGN(side.rank_times_us, time_runs(comm, options, subject, buffers, background));
  side.time_us = average_over_ranks(side.rank_times_us, options.average);
  side.times_us = slowest_per_iteration(side.rank_times_us);
  const auto skipped =
      std::min<std::size_t>(static_cast<std::size_t>(options.per_iteration_skip), side.times_us.size() - 1);
  side.us = stats_of({side.times_us.begin() + static_cast<std::ptrdiff_t>(skipped), side.times_us.end()});
  double wrong = 0;
  for (int i = 0; i < options.checks; ++i) {
    PERF_TRY_ASSIGN(const std::int64_t differing, subject.check(buffers));
    wrong += static_cast<double>(differing);
  }
  PERF_TRY_ASSIGN(const auto all_wrong, gather_numbers(comm, {wrong}));
  if (options.checks > 0) {
    double total = 0;
    for (const auto& of_rank : all_wrong) total += of_rank[0];
    side.wrong = static_cast<std::int64_t>(total);
  }
  return side;
}

Result<Extras> mean_extras(Communicator& comm, Case& subject) {
  Extras extras = subject.extras();
  std::vector<double> values;
  for (const auto& extra : extras) values.push_back(extra.second);
  PERF_TRY_ASSIGN(const auto all, gather_numbers(comm, values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (const auto& of_rank : all) sum += of_rank[i];
    extras[i].second = sum / comm.size();
  }
  return extras;
}

namespace {

Result<Row> measure_row(Communicator& comm, const Options& options, Case& subject, const RowSpec& spec,
                        Background* background) {
  Row row;
  PERF_TRY_ASSIGN(row.head, subject.prepare(spec));
  const Operation* operation = find_operation(options.op);
  if (operation != nullptr && operation->reduces) row.head.redop = name_of(spec.redop);
  if (operation != nullptr && operation->is_rooted) row.head.root = std::to_string(spec.root);
  for (const Buffers buffers : {Buffers::out_of_place, Buffers::in_place}) {
    if (buffers == Buffers::in_place && !row.head.has_in_place) continue;
    PERF_TRY_ASSIGN(row.sides[static_cast<int>(buffers)],
                    measure_side(comm, options, subject, buffers, background));
  }
  PERF_TRY_ASSIGN(row.extras, mean_extras(comm, subject));
  if (background != nullptr) {
    const Side& side = row.sides[0];
    row.extras.emplace_back("alone(us)", side.alone_us);
    row.extras.emplace_back("slow-down", side.alone_us > 0 ? side.time_us / side.alone_us : 0);
  }
  row.timestamp = time_now();
  return row;
}

}  // namespace

Result<std::int64_t> measure(Communicator& comm, const Options& options, Case& subject,
                             const std::function<void(const Row&)>& row_done) {
  const Operation* operation = find_operation(options.op);
  const bool reduces = operation != nullptr && operation->reduces;
  const bool is_rooted = operation != nullptr && operation->is_rooted;
  std::vector<RowSpec> specs;
  for (const DType dtype : options.dtypes) {
    for (const ReduceOp redop : reduces ? options.redops : std::vector<ReduceOp>{ReduceOp::none}) {
      for (int root = 0; root < (is_rooted && options.all_roots ? comm.size() : 1); ++root) {
        for (const std::size_t bytes : subject.sizes(options))
          specs.push_back({bytes, dtype, redop, options.all_roots ? root : options.root});
      }
    }
  }
  std::unique_ptr<Background> background;
  if (!options.background.empty()) {
    PERF_TRY_ASSIGN(background, Background::create(comm, options));
  }
  std::int64_t wrong = 0;
  for (int cycle = 0; options.cycles == 0 || cycle < options.cycles; ++cycle) {
    for (const RowSpec& spec : specs) {
      PERF_TRY_ASSIGN(const Row row, measure_row(comm, options, subject, spec, background.get()));
      for (const Side& side : row.sides) wrong += side.wrong > 0 ? side.wrong : 0;
      if (comm.rank() == 0) row_done(row);
    }
  }
  return wrong;
}

}  // namespace ringcomm::perf
