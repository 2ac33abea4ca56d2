// SPDX-License-Identifier: Apache-2.0
// Calibration of fake placements and times by hand, and one small real run whose file the planner must take.
#include "../../perf/calibrate.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ringcomm/topology/cost_model.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::perf {
namespace {

TEST(CalibrateTest, EveryClassGetsItsLowestPair) {
  const std::vector<RankPlace> places{{0, 0, 0}, {0, 0, 1}, {0, 1, 2}, {0, 0, 0}, {4, 0, 0}};
  const auto pairs = choose_pairs(places);
  ASSERT_EQ(pairs.size(), 4U);
  EXPECT_EQ(pairs[0].path_class, PathClass::loc);
  EXPECT_EQ(pairs[0].to, 3);
  EXPECT_EQ(pairs[1].path_class, PathClass::node);
  EXPECT_EQ(pairs[1].to, 1);
  EXPECT_EQ(pairs[2].path_class, PathClass::sys);
  EXPECT_EQ(pairs[3].path_class, PathClass::net);
  EXPECT_EQ(pairs[3].to, 4);
}

TEST(CalibrateTest, UnknownCoresHaveNoClass) {
  EXPECT_TRUE(choose_pairs({{0, -1, -1}, {0, 0, 0}}).empty());
  EXPECT_TRUE(choose_pairs({{0, 0, 0}}).empty());
}

TEST(CalibrateTest, RanksAreEnoughForEveryClass) {
  std::vector<CoreInfo> cores;
  for (int cpu = 0; cpu < 8; ++cpu)
    cores.push_back({.package = cpu / 4, .memory_node = cpu / 2, .cpus = {cpu}});
  EXPECT_EQ(calibration_ranks(cores), 8);
  cores.resize(2);
  EXPECT_EQ(calibration_ranks(cores), 2);
  cores.resize(1);
  EXPECT_EQ(calibration_ranks(cores), 2);
}

Calibration by_hand() {
  Calibration calibration{.large_bytes = 1000008, .samples = 3, .ranks = 2};
  calibration.command = "ringcomm-perf \"quoted\" \xff";
  ClassResult result{.pair = {.path_class = PathClass::sys, .from = 0, .to = 1}, .transport = "shm"};
  result.times.small_us = stats_of({2, 2, 3});
  result.times.large_us = stats_of({102, 90, 110});
  calibration.classes.push_back(result);
  return calibration;
}

TEST(CalibrateTest, TheModelReadsWhatIsWritten) {
  const auto model = CostModel::from_json(format_costs(by_hand()), "costs.json");
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_TRUE(model->is_measured_between(PartKind::numa_node));
  const auto& cost = model->of(PathClass::sys);
  EXPECT_EQ(cost.source, Source::measured);
  EXPECT_DOUBLE_EQ(cost.alpha_us.value_or(0), 2);
  EXPECT_DOUBLE_EQ(cost.gb_per_s.value_or(0), 10) << "1e6 bytes in 100 us";
  EXPECT_EQ(cost.where, "costs.json");
}

TEST(CalibrateTest, MergeLimitsAreReadAsWritten) {
  Calibration calibration = by_hand();
  const auto read = [&] {
    return CostModel::from_json(format_costs(calibration), "costs.json")->merge_limits();
  };
  EXPECT_EQ(read().ranks, 0U);
  calibration.merge = {.ranks = 2, .one_shot_bytes = 1, .copied_one_shot_bytes = std::uint64_t{1} << 62};
  EXPECT_EQ(read().ranks, 2U);
  EXPECT_EQ(read().one_shot_bytes, 1U);
  EXPECT_EQ(read().copied_one_shot_bytes, std::uint64_t{1} << 62);
  EXPECT_EQ(read().cache_bytes, 0U);
}

TEST(CalibrateTest, ACrossoverIsWhereAllTakeTheLeast) {
  EXPECT_EQ(crossover({}), 0U);
  EXPECT_EQ(crossover({{1, 2}, {3, 2}}), 1U);
  EXPECT_EQ(crossover({{1, 2}, {3, 4}}), 2U);
  EXPECT_EQ(crossover({{2, 1}, {4, 3}}), 0U);
  EXPECT_EQ(crossover({{1, 2}, {1.1, 1}, {1, 2}, {5, 1}}), 3U) << "one sample that noise spoilt";
  EXPECT_EQ(crossover({{1.1, 1}, {1, 1.05}}), 0U);
}

TEST(CalibrateTest, BlockThatIsNotSlowerGivesNoBandwidth) {
  ClassResult result = by_hand().classes.front();
  EXPECT_TRUE(check_times(result).is_ok());
  result.times.large_us = result.times.small_us;
  EXPECT_EQ(check_times(result).code(), StatusCode::corrupt_data);
}

Options small_options(const std::string& file) {
  Options options;
  options.calibrate = file;
  options.bytes_max = 256U << 10;
  options.iterations = 2;
  return options;
}

TEST(CalibrateTest, RanksOfThisMachineAreMeasured) {
  const test::TempDir directory;
  const std::string file = directory.path() / "costs.json";
  const auto status = run_threads(2, [&](Communicator& comm) {
    return run_calibration(comm, small_options(file), {.launch = "threads"});
  });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto model = CostModel::from_json(text.str(), file);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string() << "\n" << text.str();
  EXPECT_TRUE(model->is_measured());
  EXPECT_EQ(model->merge_limits().ranks, 2U);
  // 4 to 128 rows of 516 bytes, or never; all caches hold what was measured, so that nothing less is said.
  const std::uint64_t in_place = model->merge_limits().one_shot_bytes;
  EXPECT_TRUE(in_place == 1 || (in_place >= 6 * 516 && in_place <= 192 * 516)) << in_place;
}

TEST(CalibrateTest, OneRankAndUnwritableFilesAreRefused) {
  const auto run = [](int ranks, const std::string& file) {
    return run_threads(ranks,
                       [&](Communicator& comm) { return run_calibration(comm, small_options(file), {}); });
  };
  const test::TempDir directory;
  const std::string file = directory.path() / "costs.json";
  EXPECT_EQ(run(1, file).code(), StatusCode::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(file));
  const auto unwritable = run(2, directory.path() / "missing" / "costs.json");
  EXPECT_EQ(unwritable.code(), StatusCode::not_available);
  EXPECT_NE(std::string(unwritable.message()).find("missing/costs.json"), std::string::npos);
}

}  // namespace
}  // namespace ringcomm::perf
