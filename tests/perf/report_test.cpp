// SPDX-License-Identifier: Apache-2.0
// The oracle is nccl-tests' layout (communication spec 2.1): columns by position, header and footer lines.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <sstream>

#include "../../perf/report_table.hpp"

namespace ringcomm::perf {
namespace {

Row sample_row() {
  Row row;
  row.head = {.size = 1048576, .count = 262144, .type = "float", .bus_factor = 0.5, .has_in_place = true};
  row.sides[0].ran = row.sides[1].ran = true;
  row.sides[0].us = stats_of({100.0, 100.0});
  row.sides[0].time_us = 100;
  row.sides[0].wrong = 0;
  row.sides[1].us = stats_of({50.0});
  row.sides[1].time_us = 50;
  row.timestamp = "2026-11-29 20:00:00";
  return row;
}

Options sample_options() {
  Options options;
  options.op = "all_gather";
  return options;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(PerfReportTest, RowHasThirteenColumnsInPlace) {
  const std::string row = format_row({}, sample_row());
  EXPECT_EQ(words(row), (std::vector<std::string>{"1048576", "262144", "float", "none", "-1", "100.00",
                                                  "10.49", "5.24", "0", "50.00", "20.97", "10.49", "N/A"}));
}

TEST(PerfReportTest, ColumnsEndWhereNcclTestsEndsThem) {
  // Widths 12, 12, 8, 6, 6, then twice 7, 6, 6, 6, with two spaces between.
  const std::string row = format_row({}, sample_row());
  std::size_t end = 0;
  std::size_t index = 0;
  const auto seen = words(row);
  for (const std::size_t width : {12, 14, 10, 8, 8, 9, 8, 8, 8, 9, 8, 8, 8}) {
    end += width;
    ASSERT_LT(index, seen.size());
    EXPECT_EQ(row.substr(end - seen[index].size(), seen[index].size()), seen[index]) << "column " << index;
    ++index;
  }
  EXPECT_EQ(row.size(), end + 1);
}

TEST(PerfReportTest, TitlesStandOverTheirColumns) {
  for (const bool per_iteration : {false, true}) {
    Options options;
    options.per_iteration = per_iteration;
    const auto titles = lines_of(format_titles(options, {}));
    ASSERT_EQ(titles.size(), 4U);
    EXPECT_EQ(titles[0], "#");
    const std::string row = format_row(options, sample_row());
    EXPECT_EQ(titles[1].size(), row.size() - 1);
    EXPECT_EQ(titles[2].size(), row.size() - 1);
    EXPECT_EQ(titles[3].size(), row.size() - 1);
    EXPECT_EQ(titles[2].find("size") + 4, 12U);
    EXPECT_EQ(titles[2].find("time") + 4, row.find("100.00") + 6);
    EXPECT_EQ(titles[2].rfind("busbw") + 5, titles[3].rfind("(GB/s)") + 6);
    if (per_iteration) {
      EXPECT_EQ(words(titles[2]).size(), 1U + 5 + 2 * 8);
    }
  }
}

TEST(PerfReportTest, TimestampTakesTwentyOneColumns) {
  Options options;
  options.timestamps = true;
  const std::string plain = format_row({}, sample_row());
  const std::string row = format_row(options, sample_row());
  EXPECT_EQ(row, plain.substr(0, plain.size() - 1) + "  2026-11-29 20:00:00\n");
  EXPECT_EQ(lines_of(format_titles(options, {}))[2].size(), row.size() - 1);
}

TEST(PerfReportTest, NumbersLoseDecimalsBeforeColumns) {
  EXPECT_EQ(format_number(9999.99, 7), "9999.99");
  EXPECT_EQ(format_number(10000.04, 7), "10000.0");
  EXPECT_EQ(format_number(1234567.8, 7), "1234568");
  EXPECT_EQ(format_number(123456789, 7), "1.2e+08");
  EXPECT_EQ(format_number(999.994, 6), "999.99");
  EXPECT_EQ(format_number(1e7, 6), "1e+07");
}

TEST(PerfReportTest, RowWithoutBandwidthSaysSo) {
  Row row = sample_row();
  row.head.has_bandwidth = false;
  row.sides[1].ran = false;
  EXPECT_EQ(words(format_row({}, row)).at(6), "N/A");
  EXPECT_EQ(average_bus_bandwidth({row}), 0);
}

TEST(PerfReportTest, HeaderNamesEveryRankAndPath) {
  RunInfo run{.cpu_level = "scalar", .device = "Some CPU", .launch = "threads"};
  for (int rank = 0; rank < 2; ++rank)
    run.ranks.push_back({.rank = rank, .pid = 42, .host = "h", .cpus = "1", .paths = {"self", "inproc"}});
  run.ranks[1].paths = {"inproc", "self"};
  const auto lines = lines_of(format_header(sample_options(), run));
  ASSERT_EQ(lines.size(), 9U);
  EXPECT_EQ(lines[1], "# Collective test starting: all_gather_perf");
  EXPECT_EQ(
      lines[2],
      "# nThread 2 nGpus 1 minBytes 33554432 maxBytes 33554432 step: 1048576(bytes) warmup iters: 1 iters: "
      "20 agg iters: 1 validation: 1 graph: 0 unalign: 0");
  EXPECT_EQ(lines[4], "# Using devices");
  EXPECT_EQ(lines[5], "#  Rank  0 Group  0 Pid     42 on          h device  0 [host] Some CPU cpus 1");
  EXPECT_EQ(lines[7], "# Transport of every pair: inproc (2 pairs)");
  EXPECT_NE(lines[8].find("warm"), std::string::npos);
  Options cold = sample_options();
  cold.is_cold = true;
  EXPECT_NE(format_header(cold, run).find("cold (buffers take turns"), std::string::npos);
  run.ranks[0].paths = {"self", "shm"};
  EXPECT_NE(format_header(cold, run).find("#  from rank  0:    self     shm\n"), std::string::npos);
}

TEST(PerfReportTest, FooterHasNcclTestsLines) {
  const std::string good = format_footer(sample_options(), judge(0, {sample_row()}));
  EXPECT_EQ(good,
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 7.86432 \n#\n"
            "# Collective test concluded: all_gather_perf\n#\n");
  EXPECT_NE(format_footer(sample_options(), judge(3, {})).find("# Out of bounds values : 3 FAILED\n"),
            std::string::npos);
}

TEST(PerfReportTest, LeastBandwidthIsJudgedAtNineTenths) {
  setenv("NCCL_TESTS_MIN_BW", "8.7", 1);
  EXPECT_TRUE(judge(0, {sample_row()}).bandwidth_is_ok());
  EXPECT_NE(format_footer(sample_options(), judge(0, {sample_row()})).find("7.86432 OK"), std::string::npos);
  setenv("NCCL_TESTS_MIN_BW", "8.8", 1);
  EXPECT_FALSE(judge(0, {sample_row()}).bandwidth_is_ok());
  EXPECT_NE(format_footer(sample_options(), judge(0, {sample_row()})).find("7.86432 FAILED"),
            std::string::npos);
  unsetenv("NCCL_TESTS_MIN_BW");
}

}  // namespace
}  // namespace ringcomm::perf
