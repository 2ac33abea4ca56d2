// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cstdio>
#include <map>

#include "measure.hpp"
#include "report_table.hpp"
#include "ringcomm/core/text.hpp"
#include "sweep_board.hpp"
#include "try.hpp"

namespace ringcomm::perf {

std::vector<int> sweep_ranks(int most) {
  std::vector<int> ranks;
  for (int n = 1; n < most; n *= 2) ranks.push_back(n);
  ranks.push_back(most);
  return ranks;
}

SweepVerdict judge_sweep(const std::vector<SweepPoint>& points) {
  SweepVerdict verdict;
  double best_rate = 0;
  for (const SweepPoint& point : points) best_rate = std::max(best_rate, point.rate);
  for (const SweepPoint& point : points) {
    if (point.rate < 0.95 * best_rate) continue;
    verdict.best_ranks = point.ranks;
    break;
  }
  const SweepPoint* best_fewer = nullptr;
  for (const SweepPoint& point : points) {
    if (best_fewer != nullptr && best_fewer->rate > 0) {
      const double loss = 1 - point.rate / best_fewer->rate;
      if (loss > verdict.loss) {
        verdict.loss = loss;
        verdict.loss_ranks = point.ranks;
        verdict.loss_against = best_fewer->ranks;
      }
    }
    if (best_fewer == nullptr || point.rate > best_fewer->rate) best_fewer = &point;
  }
  return verdict;
}

std::string format_sweep(const Options& options, const Launch& launch,
                         const std::vector<SweepPoint>& points) {
  const bool is_fixed_job = options.op == "ring_attention";
  std::string text = fmt::format(
      "# Sweep of {} over ranks as {}: {} per second of all ranks together; against 1 = rate / rate of the "
      "fewest\n# {}\n",
      options.op, launch.kind, is_fixed_job ? "jobs" : "bytes", describe_buffers(options));
  text +=
      fmt::format("# {:>10}  {:>6}  {:>9}  {:>13}  {:>9}\n", "size", "ranks", "time", "rate", "against 1");
  text += fmt::format("# {:>10}  {:>6}  {:>9}  {:>13}  {:>9}\n", "(B)", "", "(us)",
                      is_fixed_job ? "(1/s)" : "(GB/s)", "");
  std::map<std::size_t, std::vector<SweepPoint>> by_row;  // [index of the size]: sizes are rounded per ranks
  std::map<int, std::size_t> seen;
  for (const SweepPoint& point : points) by_row[seen[point.ranks]++].push_back(point);
  for (const auto& [row, of_size] : by_row) {
    for (const SweepPoint& point : of_size) {
      text += fmt::format("{:>12}  {:>6}  {:>9}  {:>13.3f}  {:>9.2f}\n", point.size, point.ranks,
                          format_number(point.time_us, 9), is_fixed_job ? point.rate : point.rate * 1e-9,
                          of_size.front().rate > 0 ? point.rate / of_size.front().rate : 0);
    }
    const SweepVerdict verdict = judge_sweep(of_size);
    text += fmt::format("# size {}: more than {} rank{} do not pay", of_size.front().size, verdict.best_ranks,
                        verdict.best_ranks == 1 ? "" : "s");
    if (verdict.is_flagged()) {
      text += fmt::format("; LOSS of {:.0f} % with {} ranks against {}", 100 * verdict.loss,
                          verdict.loss_ranks, verdict.loss_against);
    }
    text += "\n";
  }
  return text;
}

Status run_sweep(const Options& options, const Launch& launch, const CommunicatorOptions& comm_options) {
  if (launch.kind != "threads" && launch.kind != "processes")
    return Status::invalid_argument("--sweep starts its own ranks (use -t or --procs, without a launcher)");
  PERF_TRY_ASSIGN(SweepBoard board, SweepBoard::create());
  std::int64_t wrong = 0;
  for (const int ranks : sweep_ranks(launch.ranks)) {
    Launch some = launch;
    some.ranks = ranks;
    PERF_TRY(run_ranks(some, comm_options, [&](Communicator& comm) -> Status {
      const std::unique_ptr<Case> subject = make_case(comm, options);
      PERF_TRY_ASSIGN(const std::int64_t differing, measure(comm, options, *subject, [&](const Row& row) {
                        const Side& side = row.sides[0];
                        board.add({.ranks = ranks,
                                   .size = row.head.size,
                                   .time_us = side.time_us,
                                   .rate = side.time_us > 0 ? row.head.work / side.time_us * 1e6 : 0});
                      }));
      if (comm.rank() == 0) board.add_wrong(differing);
      return {};
    }));
  }
  wrong = board.wrong();
  std::printf("%s# %-20s : %lld %s\n", format_sweep(options, launch, board.points()).c_str(),
              "Out of bounds values", static_cast<long long>(wrong), wrong == 0 ? "OK" : "FAILED");
  return wrong == 0 ? Status() : Status::corrupt_data(concat(wrong, " elements are wrong"));
}

}  // namespace ringcomm::perf
