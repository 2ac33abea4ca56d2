// SPDX-License-Identifier: Apache-2.0
#include "report_table.hpp"

#include <fmt/format.h>

#include <map>

#include "ringcomm/version.hpp"

namespace ringcomm::perf {
namespace {

/// Seven columns whatever the value: 2, 1, 0 decimals, then exponent (as nccl-tests).
std::string format_time(double us) {
  if (us < 1e4 - 0.005) return fmt::format("{:.2f}", us);
  if (us < 1e5 - 0.05) return fmt::format("{:.1f}", us);
  if (us < 1e7 - 0.5) return fmt::format("{:.0f}", us);
  return fmt::format("{:.1e}", us);
}

std::string format_side(const Options& options, const RowHead& head, const Side& side) {
  if (!side.ran) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
  const double bandwidth = algorithm_bandwidth(head, side);
  const std::string algorithm = head.has_bandwidth ? fmt::format("{:.2f}", bandwidth) : "N/A";
  const std::string bus = head.has_bandwidth ? fmt::format("{:.2f}", bandwidth * head.bus_factor) : "N/A";
  const std::string wrong = side.wrong < 0 ? "N/A" : fmt::format("{}", side.wrong);
  std::string text =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", format_time(side.us.mean), algorithm, bus, wrong);
  if (options.per_iteration) {
    text += fmt::format("  {:>7}  {:>7}  {:>7}  {:>6.1f}", format_time(side.us.min), format_time(side.us.max),
                        format_time(side.us.p99), side.us.cv_percent());
  }
  return text;
}

/// "rank 0 -> 1, 2: shm" lines, and which ranks share a path with all.
std::string format_paths(const std::vector<RankInfo>& ranks) {
  std::map<std::string, int> counts;
  for (const RankInfo& from : ranks) {
    for (const RankInfo& to : ranks) {
      if (from.rank != to.rank) ++counts[from.paths[static_cast<std::size_t>(to.rank)]];
    }
  }
  if (counts.empty()) return "# Transport: none (one rank)\n";
  if (counts.size() == 1) {
    return fmt::format("# Transport of every pair: {} ({} pairs)\n", counts.begin()->first,
                       counts.begin()->second);
  }
  std::string text = "# Transport per pair:\n";
  for (const RankInfo& from : ranks) {
    text += fmt::format("#  from rank {:2}:", from.rank);
    for (const std::string& path : from.paths) text += fmt::format(" {:>7}", path);
    text += "\n";
  }
  return text;
}

}  // namespace

double algorithm_bandwidth(const RowHead& head, const Side& side) {
  return side.us.mean > 0 ? static_cast<double>(head.size) / side.us.mean * 1e-3 : 0;
}

double average_bus_bandwidth(const std::vector<Row>& rows) {
  double sum = 0;
  int count = 0;
  for (const Row& row : rows) {
    for (const Side& side : row.sides) {
      if (!side.ran || !row.head.has_bandwidth) continue;
      sum += algorithm_bandwidth(row.head, side) * row.head.bus_factor;
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

std::string format_header(const Options& options, const std::vector<RankInfo>& ranks,
                          const std::string& cpu_level) {
  std::string text = fmt::format("# ringcomm-perf version {} kernels={}\n# Collective test starting: {}\n",
                                 RINGCOMM_VERSION, cpu_level, options.op);
  text += fmt::format(
      "# {} {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} validation: {}\n#\n",
      options.processes > 0 ? "nProcs" : "nThreads", options.ranks(), options.bytes_min, options.bytes_max,
      options.factor > 1 ? fmt::format("{}", options.factor) : fmt::format("{}", options.bytes_step),
      options.factor > 1 ? "factor" : "bytes", options.warmup, options.iterations, options.checks);
  text += "# Using devices\n";
  for (const RankInfo& rank : ranks) {
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device  0 [host] cpus {}\n", rank.rank,
                        rank.pid, rank.host, rank.cpus.empty() ? "any" : rank.cpus);
  }
  return text + format_paths(ranks) + "#\n";
}

std::string format_titles(const Options& options, const std::vector<std::pair<std::string, double>>& extras) {
  const std::string side_title =
      options.per_iteration ? fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>7}  {:>7}  {:>6}", "time",
                                          "algbw", "busbw", "#wrong", "i_min", "i_max", "i_p99", "i_cv%")
                            : fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "time", "algbw", "busbw", "#wrong");
  const std::string side_unit =
      options.per_iteration ? fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>7}  {:>7}  {:>6}", "(us)",
                                          "(GB/s)", "(GB/s)", "", "(us)", "(us)", "(us)", "")
                            : fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  std::string extra_titles;
  for (const auto& extra : extras) extra_titles += fmt::format("  {:>11}", extra.first);
  const int width = static_cast<int>(side_title.size());
  return fmt::format("# {:>54}{:^{}}{:^{}}\n", "", "out-of-place", width, "in-place", width) +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}\n", "size", "count", "type", "redop",
                     "root", side_title, side_title, extra_titles) +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "", "",
                     side_unit, side_unit);
}

std::string format_row(const Options& options, const Row& row) {
  std::string text = fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.head.size, row.head.count,
                                 row.head.type, row.head.redop.substr(0, 7), row.head.root);
  for (const Side& side : row.sides) text += format_side(options, row.head, side);
  for (const auto& extra : row.extras) text += fmt::format("  {:>11.3f}", extra.second);
  return text + "\n";
}

std::string format_footer(const Options& options, std::int64_t wrong, const std::vector<Row>& rows) {
  return fmt::format(
      "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n#\n# Collective test concluded: {}\n",
      wrong, wrong == 0 ? "OK" : "FAILED", average_bus_bandwidth(rows), options.op);
}

}  // namespace ringcomm::perf
