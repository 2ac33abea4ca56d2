// SPDX-License-Identifier: Apache-2.0
// The oracle is nccl-tests' layout (communication spec 2.1): columns by position, footer lines, JSON keys.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../../perf/report_json.hpp"
#include "../../perf/report_table.hpp"

namespace ringcomm::perf {
namespace {

Row sample_row() {
  Row row;
  row.head = {.size = 1048576, .count = 262144, .type = "float32", .bus_factor = 0.5, .has_in_place = true};
  row.sides[0].ran = row.sides[1].ran = true;
  row.sides[0].us = stats_of({100.0, 100.0});
  row.sides[0].wrong = 0;
  row.sides[1].us = stats_of({50.0});
  return row;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(PerfReportTest, RowHasThirteenColumnsInPlace) {
  const std::string row = format_row({}, sample_row());
  EXPECT_EQ(words(row), (std::vector<std::string>{"1048576", "262144", "float32", "none", "-1", "100.00",
                                                  "10.49", "5.24", "0", "50.00", "20.97", "10.49", "N/A"}));
  EXPECT_EQ(row.substr(0, 12), "     1048576");
  EXPECT_EQ(row.find("float32"), 12U + 2 + 12 + 2 + 1);
}

TEST(PerfReportTest, TitlesStandOverTheirColumns) {
  const std::string titles = format_titles({}, {});
  std::istringstream stream(titles);
  std::string top, names, units;
  std::getline(stream, top);
  std::getline(stream, names);
  std::getline(stream, units);
  const std::string row = format_row({}, sample_row());
  EXPECT_EQ(names.size(), row.size() - 1);
  EXPECT_EQ(names.find("size") + 4, 12U);
  EXPECT_EQ(names.find("time") + 4, row.find("100.00") + 6);
  EXPECT_EQ(names.find("#wrong") + 6, row.find(" 0  ") + 2);
}

TEST(PerfReportTest, RowWithoutBandwidthSaysSo) {
  Row row = sample_row();
  row.head.has_bandwidth = false;
  row.sides[1].ran = false;
  EXPECT_EQ(words(format_row({}, row)).at(6), "N/A");
  EXPECT_EQ(average_bus_bandwidth({row}), 0);
}

TEST(PerfReportTest, FooterHasNcclTestsLines) {
  Options options;
  options.op = "all_gather";
  const std::string good = format_footer(options, 0, {sample_row()});
  EXPECT_NE(good.find("# Out of bounds values : 0 OK\n"), std::string::npos);
  EXPECT_NE(good.find("# Avg bus bandwidth    : 7.86432\n"), std::string::npos);
  EXPECT_NE(good.find("# Collective test concluded: all_gather\n"), std::string::npos);
  EXPECT_NE(format_footer({}, 3, {}).find("# Out of bounds values : 3 FAILED\n"), std::string::npos);
}

TEST(PerfReportTest, JsonHasTheKeysAndOnlyOurEnvironment) {
  setenv("PERF_TEST_SECRET_TOKEN", "hunter2", 1);
  setenv("RINGCOMM_DEBUG", "warn", 1);
  const std::vector<RankInfo> ranks{{.rank = 0, .pid = 1, .host = "h", .cpus = "0", .paths = {"self"}}};
  Options options;
  options.op = "all_gather";
  options.threads = 1;
  const std::string text = format_json(options, {"ringcomm-perf"}, ranks, 0, {sample_row()});
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  EXPECT_EQ(json["env"]["RINGCOMM_DEBUG"], "warn");
  EXPECT_EQ(json["results"][0]["out_of_place"]["nwrong"], 0);
  EXPECT_EQ(json["results"][0]["in_place"]["per_iter"]["p99_us"], 50.0);
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
  EXPECT_EQ(json["config"]["devices"][0]["paths"][0], "self");
  unsetenv("RINGCOMM_DEBUG");
}

}  // namespace
}  // namespace ringcomm::perf
