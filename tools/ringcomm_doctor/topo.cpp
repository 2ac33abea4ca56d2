// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor topo: evidence in, report out.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "command.hpp"
#include "core/parse.hpp"
#include "core/try.hpp"
#include "finding_text.hpp"
#include "labels.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/nccl_xml.hpp"
#include "topo_evidence.hpp"
#include "topo_options.hpp"
#include "topo_report.hpp"

namespace ringcomm::doctor {
namespace {

constexpr const char* kName = "ringcomm-doctor topo";
constexpr std::int64_t kNumberMax = 1 << 20;  // more devices than any evidence may have
constexpr int kNotWritten = 74;               // sysexits.h: EX_IOERR
constexpr const char* kRingOrder = "RINGCOMM_RING_ORDER";

Result<CostModel> load_costs(const std::string& path) {
  if (path.empty()) return CostModel::table();
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return Status::not_found(concat("cannot read ", path));
  return CostModel::from_json(text.str(), path);
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// Numbers as order_text() prints them, to positions in the ring graph.
Result<std::vector<int>> positions_of(const TopologyCase& input, const std::string& text) {
  const MachineGraph& graph = input.rings.graph;
  std::vector<int> known, positions, numbers;
  for (const std::string_view word : split_at_commas(text)) {
    const auto number = parse_count(word);
    if (!number || *number > kNumberMax)
      return Status::invalid_argument(concat("--order wants numbers and commas, not '", text, "'"));
    numbers.push_back(static_cast<int>(*number));
  }
  for (std::size_t i = 0; i < graph.devices.size(); ++i)
    known.push_back(vertex_number(input.evidence.machine, graph, static_cast<int>(i)));
  for (const int number : numbers) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] == number) positions.push_back(static_cast<int>(i));
    }
  }
  const bool is_permutation = positions.size() == numbers.size() && numbers.size() == known.size() &&
                              std::set<int>(positions.begin(), positions.end()).size() == known.size();
  if (is_permutation) return positions;
  std::string all;
  for (const int number : known) all += concat(all.empty() ? "" : ",", number);
  return Status::invalid_argument(
      concat("--order must name each of ", all.empty() ? "(no device)" : all, " once"));
}

/// The checks see a given order as what the job is told to use, and nothing else.
void configure_order(TopologyCase& input, const std::vector<int>& positions) {
  std::string text;
  const std::vector<int> vertices = vertices_in_rank_order(input);
  for (const int position : positions) {
    const auto rank = std::find(vertices.begin(), vertices.end(), position) - vertices.begin();
    text += concat(text.empty() ? "" : ",", static_cast<int>(rank));
  }
  JobEvidence& job = input.evidence.job;
  job.graphs.clear();
  job.rings.clear();
  std::erase_if(job.events, [](const LogEvent& event) {
    return event.kind == LogEventKind::environment && event.value("name") == kRingOrder;
  });
  job.events.push_back(
      {LogEventKind::environment, {}, {}, {{"name", kRingOrder}, {"value", text}}, {"--order", 0}});
}

int list_formats() {
  std::printf("%s", formats_text().c_str());
  return kOk;
}

std::optional<std::string> wrong_use(const TopoOptions& options) {
  if (options.format.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const EvidenceFormat& format : evidence_formats()) {
    if (format.name == options.format)
      return options.files.empty() ? std::optional<std::string>("--format needs a FILE") : std::nullopt;
    names.emplace_back(format.name);
  }
  return concat("no format ", options.format, ". Did you mean ", nearest_word(options.format, names),
                "? --formats lists them");
}

/// An existing file is not overwritten: it may be the evidence itself.
Status write_topology(const Machine& machine, const std::string& path) {
  RINGCOMM_TRY_ASSIGN(const std::string text, write_nccl_topology(machine));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wbx"), &std::fclose);
  const bool is_written = file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                          std::fflush(file.get()) == 0;
  if (is_written) return {};
  return Status::not_available(concat("cannot write ", path, " (an existing file is kept)"));
}

int report(const TopoOptions& options) {
  auto costs = load_costs(options.costs);
  if (!costs.is_ok()) return usage_error(kName, std::string(costs.status().message()));
  Evidence evidence = gather_evidence(options.files, options.format);
  TopoReport report;
  report.sources = std::move(evidence.sources);
  report.input = make_topology_case(std::move(evidence.merged), costs.value(), std::move(evidence.unread));
  std::optional<std::vector<int>> order;
  if (!options.order.empty()) {
    auto positions = positions_of(report.input, options.order);
    if (!positions.is_ok()) return usage_error(kName, std::string(positions.status().message()));
    order = std::move(positions).value();
    configure_order(report.input, *order);
  }
  report.comparison = compare_plan(report.input, order);
  report.findings = check_topology(report.input);
  report.exit_code = evidence.is_incomplete ? kUnreadable : exit_code_of(report.findings);
  if (!options.write_nccl.empty()) {
    if (const Status status = write_topology(report.input.evidence.machine, options.write_nccl);
        !status.is_ok()) {
      std::fprintf(stderr, "%s: --write-nccl: %s\n", kName, std::string(status.message()).c_str());
      return kNotWritten;
    }
  }
  if (options.json) {
    std::printf("%s", topo_json(report).c_str());
    return report.exit_code;
  }
  std::printf("%s", topo_text(report, options.style, options.rails).c_str());
  return report.exit_code;
}

}  // namespace

int run_topo(int argc, char** argv) {
  TopoOptions options;
  CLI::App app{"Shows a machine, plans its best rings and says what is wrong and how to mend it.", kName};
  add_topo_options(app, options);
  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  if (options.list_formats) return list_formats();
  if (const auto wrong = wrong_use(options)) return usage_error(kName, *wrong);
  return report(options);
}

}  // namespace ringcomm::doctor
