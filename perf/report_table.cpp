// SPDX-License-Identifier: Apache-2.0
#include "report_table.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "buffer.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/version.hpp"

namespace ringcomm::perf {
namespace {

constexpr const char* kPreamble = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}";
constexpr int kExtraWidth = 11;

std::string format_side(const Options& options, const RowHead& head, const Side& side) {
  if (!side.ran) {
    std::string text = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
    if (options.per_iteration) text += fmt::format("  {0:>7}  {0:>7}  {0:>7}  {0:>7}", "N/A");
    return text;
  }
  const double bandwidth = algorithm_bandwidth(head, side);
  const std::string algorithm = head.has_bandwidth ? format_number(bandwidth, 6) : "N/A";
  const std::string bus = head.has_bandwidth ? format_number(bandwidth * head.bus_factor, 6) : "N/A";
  const std::string wrong = side.wrong < 0 ? "N/A" : fmt::format("{:g}", static_cast<double>(side.wrong));
  std::string text =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", format_number(side.time_us, 7), algorithm, bus, wrong);
  if (options.per_iteration) {
    text += fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", format_number(side.us.min, 7),
                        format_number(side.us.max, 7), format_number(side.us.p99, 7),
                        format_number(side.us.cv_percent(), 7));
  }
  return text;
}

/// One line when all pairs have the same path, else a matrix.
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

std::string blocking_line(Blocking blocking) {
  switch (blocking) {
    case Blocking::barrier_inside:
      return "# Blocking Enabled: wait and barrier after each inner iteration (-m) \n";
    case Blocking::no_barrier:
      return "# Blocking Enabled: wait after each inner iteration (-m), no barrier \n";
    case Blocking::barrier_outside:
      return "# Blocking Enabled: wait and barrier before each outer iteration (-n); time excludes barrier "
             "\n";
    default:
      return {};
  }
}

}  // namespace

std::string format_number(double value, int width) {
  for (const int decimals : {2, 1, 0}) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  return fmt::format("{:.{}e}", value, width >= 7 ? 1 : 0);
}

double algorithm_bandwidth(const RowHead& head, const Side& side) {
  return side.time_us > 0 ? static_cast<double>(head.size) / side.time_us * 1e-3 : 0;
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

Verdict judge(std::int64_t wrong, const std::vector<Row>& rows) {
  Verdict verdict{.wrong = wrong, .average_bus = average_bus_bandwidth(rows), .least_bus = {}};
  if (const char* least = std::getenv("NCCL_TESTS_MIN_BW")) verdict.least_bus = std::strtod(least, nullptr);
  return verdict;
}

std::string describe_buffers(const Options& options) {
  const auto word = [](Memory memory) { return memory == Memory::window ? "window" : "private memory"; };
  std::string memory = word(options.memory);
  if (options.input_memory || options.result != ResultPlace::as_buffers) {
    const std::string result = options.result == ResultPlace::in_place         ? "read where they were merged"
                               : options.result == ResultPlace::private_memory ? "private memory"
                               : options.result == ResultPlace::window         ? "window"
                                                                               : word(options.memory);
    memory = concat(options.op == "sendrecv" ? "input: " : "partials: ",
                    word(options.input_memory.value_or(options.memory)), ", results: ", result);
  }
  if (!options.is_cold) return concat(memory, ", warm (the same buffers in every iteration)");
  const bool is_flushed = options.op == "ring_rotate";
  return concat(memory, ", cold (",
                is_flushed ? "caches flushed before each iteration: " : "buffers take turns: ",
                format_bytes(cold_bytes(options)), " over all ranks, last cache ",
                format_bytes(last_cache_bytes()), ")");
}

std::string format_header(const Options& options, const RunInfo& run) {
  std::string text = fmt::format("# ringcomm-perf version {} kernels={}\n# Collective test starting: {}\n",
                                 RINGCOMM_VERSION, run.cpu_level, program_name(options));
  text += fmt::format(
      "# nThread {} nGpus 1 minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg iters: {} "
      "validation: {} graph: 0 unalign: {}\n",
      run.launch == "threads" ? run.ranks.size() : 1, options.bytes_min, options.bytes_max,
      options.factor > 1 ? fmt::format("{}", options.factor) : fmt::format("{}", options.bytes_step),
      options.factor > 1 ? "factor" : "bytes", options.warmup, options.iterations, options.aggregated,
      options.checks, options.unalign);
  text += blocking_line(options.blocking);
  if (options.per_iteration) {
    text += "# Per-Iteration Report: wall time; i_* uses max over ranks";
    if (options.per_iteration_skip > 0)
      text += fmt::format("; summary skips first {} iterations", options.per_iteration_skip);
    text += " \n";
  }
  text += "#\n# Using devices\n";
  for (const RankInfo& rank : run.ranks) {
    text +=
        fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [host] {} cpus {}\n", rank.rank,
                    0, rank.pid, rank.host, 0, run.device, rank.cpus.empty() ? "any" : rank.cpus);
  }
  text += format_paths(run.ranks);
  text +=
      fmt::format("# Ranks: {} ({}). Buffers: {}\n", run.ranks.size(), run.launch, describe_buffers(options));
  if (!options.background.empty()) {
    text +=
        fmt::format("# Background: {} of {} bytes on a channel of its own, launched with each iteration\n",
                    options.background, options.background_bytes);
  }
  return text;
}

std::string format_titles(const Options& options, const std::vector<std::pair<std::string, double>>& extras) {
  const char* time = options.cpu_time ? "cputime" : "time";
  const bool detailed = options.per_iteration;
  const std::string iteration_titles =
      detailed ? fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "i_min", "i_max", "i_p99", "i_cv%") : "";
  const std::string iteration_units =
      detailed ? fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "(us)", "(us)", "(us)", "(%)") : "";
  const std::string side =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, "algbw", "busbw", "#wrong") + iteration_titles;
  const std::string unit =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "") + iteration_units;
  std::string extra_titles, extra_units;
  for (const auto& extra : extras) {
    extra_titles += fmt::format("  {:>{}}", extra.first, kExtraWidth);
    extra_units += fmt::format("  {:>{}}", "", kExtraWidth);
  }
  const std::string stamp_title = options.timestamps ? fmt::format(" {:>20}", "timestamp") : "";
  const std::string stamp_unit = options.timestamps ? fmt::format(" {:>20}", "YYYY-MM-DD hh:mm:ss") : "";
  const int width = static_cast<int>(side.size());
  const std::string out = detailed ? "out-of-place (+ per-iteration)" : "out-of-place";
  const std::string in = detailed ? "in-place (+ per-iteration)" : "in-place";
  return "#\n" + fmt::format(fmt::runtime(kPreamble), "", "", "", "", "") +
         fmt::format("{:^{}}{:^{}}\n", out, width, in, width) +
         fmt::format(fmt::runtime(kPreamble), "size", "count", "type", "redop", "root") + side + side +
         stamp_title + extra_titles + "\n" +
         fmt::format(fmt::runtime(kPreamble), "(B)", "(elements)", "", "", "") + unit + unit + stamp_unit +
         extra_units + "\n";
}

std::string format_row(const Options& options, const Row& row) {
  std::string text = fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.head.size, row.head.count,
                                 row.head.type, row.head.redop.substr(0, 6), row.head.root);
  for (const Side& side : row.sides) text += format_side(options, row.head, side);
  if (options.timestamps) text += fmt::format("{:>21}", row.timestamp);
  for (const auto& extra : row.extras) text += fmt::format("  {:>{}.3f}", extra.second, kExtraWidth);
  return text + "\n";
}

std::string format_footer(const Options& options, const Verdict& verdict) {
  const char* bandwidth = !verdict.least_bus ? "" : verdict.bandwidth_is_ok() ? "OK" : "FAILED";
  return fmt::format("# {:<20} : {} {}\n# {:<20} : {:g} {}\n#\n# Collective test concluded: {}\n#\n",
                     "Out of bounds values", verdict.wrong, verdict.wrong == 0 ? "OK" : "FAILED",
                     "Avg bus bandwidth", verdict.average_bus, bandwidth, program_name(options));
}

}  // namespace ringcomm::perf
