// SPDX-License-Identifier: Apache-2.0
// A made-up operation whose times and errors are known.
#include "../../perf/measure.hpp"

#include <gtest/gtest.h>

namespace ringcomm::perf {
namespace {

/// Takes (ranks - rank) ms per call, finds 2 wrong elements per check on rank 1.
class KnownCase final : public Case {
 public:
  explicit KnownCase(Communicator& comm) : comm_(comm) {}
  Result<RowHead> prepare(const RowSpec& spec) override {
    return RowHead{.size = spec.bytes, .has_in_place = true};
  }
  Result<double> run(Buffers /*buffers*/) override { return 1e-3 * (comm_.size() - comm_.rank()); }
  Result<std::int64_t> check(Buffers /*buffers*/) override { return comm_.rank() == 1 ? 2 : 0; }
  std::vector<std::pair<std::string, double>> extras() override { return {{"rank", comm_.rank()}}; }

 private:
  Communicator& comm_;
};

TEST(PerfMeasureTest, AverageOverRanksIsAsAsked) {
  const std::vector<std::vector<double>> times{{4, 6}, {1, 1}, {9, 11}};
  EXPECT_EQ(average_over_ranks(times, Average::rank0), 5);
  EXPECT_EQ(average_over_ranks(times, Average::mean), 16.0 / 3);
  EXPECT_EQ(average_over_ranks(times, Average::min), 1);
  EXPECT_EQ(average_over_ranks(times, Average::max), 10);
}

TEST(PerfMeasureTest, RowsHoldAllRanksTimesAndErrors) {
  Options options;
  options.op = "all_gather";
  options.bytes_min = options.bytes_max = 64;
  options.iterations = 3;
  options.checks = 2;
  options.cycles = 2;
  options.per_iteration_skip = 100;  // more than there are: the last one stays
  const Status status = run_threads(2, [&](Communicator& comm) -> Status {
    KnownCase known(comm);
    std::vector<Row> rows;
    const auto wrong = measure(comm, options, known, [&](const Row& row) { rows.push_back(row); });
    if (!wrong.is_ok()) return wrong.status();
    EXPECT_EQ(wrong.value(), 2 * 2 * 2 * 2);  // 2 elements, checks, sides, cycles
    if (comm.rank() != 0) {
      EXPECT_TRUE(rows.empty());
      return {};
    }
    EXPECT_EQ(rows.size(), 2U);
    EXPECT_NEAR(rows[0].sides[0].time_us, 1500, 1e-6);
    EXPECT_NEAR(rows[0].sides[0].us.mean, 2000, 1e-6);  // the slowest rank
    EXPECT_EQ(rows[0].sides[0].rank_times_us.size(), 2U);
    EXPECT_EQ(rows[0].sides[1].wrong, 4);
    EXPECT_EQ(rows[0].extras[0].second, 0.5);
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm::perf
