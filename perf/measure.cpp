// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <unistd.h>

#include <cstdio>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

/// Element-wise mean over ranks.
Result<std::vector<double>> mean_over_ranks(Communicator& comm, std::vector<double> mine) {
  const auto count = static_cast<std::int64_t>(mine.size());
  std::vector<double> all(mine.size() * static_cast<std::size_t>(comm.size()));
  auto gathered = all_gather(comm.channel(), TensorView::contiguous(mine.data(), DType::float64, {count}),
                             TensorView::contiguous(all.data(), DType::float64, {count * comm.size()}));
  if (!gathered.is_ok()) return gathered.status();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    double sum = 0;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank)
      sum += all[rank * mine.size() + i];
    mine[i] = sum / comm.size();
  }
  return mine;
}

/// Says how far it is, once a second at most, where a person watches.
class ProgressLine {
 public:
  ProgressLine(const Communicator& comm, std::size_t size) : size_(size) {
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
    std::fprintf(stderr, "\r\033[Ksize %zu: iteration %d of %d", size_, done, total);
  }

 private:
  std::size_t size_;
  bool is_shown_ = false, was_written_ = false;
  std::int64_t last_ns_ = now_ns();
};

Result<Side> measure_side(Communicator& comm, const Options& options, Case& subject, Buffers buffers,
                          std::size_t size) {
  ProgressLine progress(comm, size);
  for (int i = 0; i < options.warmup; ++i) {
    if (auto seconds = subject.run(buffers); !seconds.is_ok()) return seconds.status();
  }
  subject.start_counting();
  std::vector<double> us;
  for (int i = 0; i < options.iterations; ++i) {
    progress.update(i, options.iterations);
    auto seconds = subject.run(buffers);
    if (!seconds.is_ok()) return seconds.status();
    us.push_back(seconds.value() * 1e6);
  }
  Side side;
  side.ran = true;
  auto means = mean_over_ranks(comm, us);
  if (!means.is_ok()) return means.status();
  side.us = stats_of(means.value());
  double wrong = 0;
  for (int i = 0; i < options.checks; ++i) {
    auto differing = subject.check(buffers);
    if (!differing.is_ok()) return differing.status();
    wrong += static_cast<double>(differing.value());
  }
  auto total = mean_over_ranks(comm, {wrong * comm.size()});
  if (!total.is_ok()) return total.status();
  if (options.checks > 0) side.wrong = static_cast<std::int64_t>(total.value()[0] + 0.5);
  return side;
}

Result<Row> measure_row(Communicator& comm, const Options& options, Case& subject, std::size_t bytes) {
  auto head = subject.prepare(bytes);
  if (!head.is_ok()) return head.status();
  Row row;
  row.head = head.value();
  for (const Buffers buffers : {Buffers::out_of_place, Buffers::in_place}) {
    if (buffers == Buffers::in_place && !row.head.has_in_place) continue;
    auto side = measure_side(comm, options, subject, buffers, row.head.size);
    if (!side.is_ok()) return side.status();
    row.sides[static_cast<int>(buffers)] = side.value();
  }
  row.extras = subject.extras();
  std::vector<double> values;
  for (const auto& extra : row.extras) values.push_back(extra.second);
  auto means = mean_over_ranks(comm, values);
  if (!means.is_ok()) return means.status();
  for (std::size_t i = 0; i < values.size(); ++i) row.extras[i].second = means.value()[i];
  return row;
}

}  // namespace

Result<std::int64_t> measure(Communicator& comm, const Options& options, Case& subject,
                             const std::function<void(const Row&)>& row_done) {
  std::int64_t wrong = 0;
  for (const std::size_t bytes : subject.sizes(options)) {
    auto row = measure_row(comm, options, subject, bytes);
    if (!row.is_ok()) return row.status();
    for (const Side& side : row->sides) wrong += side.wrong > 0 ? side.wrong : 0;
    if (comm.rank() == 0) row_done(row.value());
  }
  return wrong;
}

}  // namespace ringcomm::perf
