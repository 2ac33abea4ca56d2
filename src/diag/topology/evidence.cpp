// SPDX-License-Identifier: Apache-2.0
// Evidence against itself, and evidence that a tool is too old to show (spec checks 69, 71).
#include <algorithm>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// "2.9.1" is; "2.11.2" and text without numbers are not.
bool is_before_2_11(std::string_view version) {
  const std::size_t dot = version.find('.');
  const auto major = number_in(version.substr(0, dot));
  if (!major || dot == std::string_view::npos) return false;
  const std::string_view rest = version.substr(dot + 1);
  const auto minor = number_in(rest.substr(0, rest.find_first_not_of("0123456789")));
  return *major < 2 || (*major < 3 && minor && *minor < 11);
}

}  // namespace

void check_hwloc_too_old(const TopologyCase& input, Report& report) {
  for (const UnreadFile& file : input.unread) {
    const bool is_version = file.status.code() == StatusCode::not_available;
    if (!is_version || !contains_ignoring_case(file.status.message(), "hwloc")) continue;
    report.problem({.read = std::string(file.status.message()),
                    .wanted = "hwloc XML of version 1 or 2",
                    .where = {.file = file.file, .line = 0}},
                   {});
    report.word({.title = concat(file.file, " is of an hwloc version that this build does not read"),
                 .fix = concat("lstopo -i ", file.file, " --of v2xml out.xml")});
  }
  const Machine& machine = input.evidence.machine;
  std::vector<DeviceRef> blind;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    const bool is_new = gpu.compute_capability.value_or(0) >= 90 ||
                        contains_ignoring_case(gpu.name, "H100") ||
                        contains_ignoring_case(gpu.name, "H200") || contains_ignoring_case(gpu.name, "B200");
    if (is_new && !machine.has_link_evidence) blind.push_back(gpu_ref(i));
  }
  if (blind.empty()) return;
  const Where& where = machine.gpus[static_cast<std::size_t>(blind.front().position)].where;
  for (const LogEvent* event : events_of(input, LogEventKind::version)) {
    if (event->value("library") != "hwloc" || !is_before_2_11(event->value("version"))) continue;
    report.problem({.read = concat("hwloc ", event->value("version"), " shows no NVLink of ",
                                   names_text(machine, blind)),
                    .wanted = "hwloc 2.11 or later, which knows NVLink 4 and 5",
                    .where = event->where},
                   blind);
    report.word(
        {.title = concat("hwloc ", event->value("version"), " is too old to show the NVLinks of these GPUs"),
         .fix = "nvidia-smi topo -m > topo.txt, and give both files"});
    return;
  }
  report.unknown(concat("NVLinks of ", names_text(machine, blind),
                        " are not shown: hwloc before 2.11 does not know NVLink 4"),
                 Ask::topo_matrix, where, blind);
}

void check_evidence_contradiction(const TopologyCase& input, Report& report) {
  for (const Contradiction& entry : input.evidence.contradictions) {
    report.problem({.read = concat(entry.subject, ": ", entry.first, " (", entry.first_where.to_text(), ")"),
                    .wanted = concat(entry.second, " (", entry.second_where.to_text(), ")"),
                    .where = entry.second_where},
                   {});
  }
  report.word({.title = concat("files contradict each other about ", counted(report.problems(), "value")),
               .fix = "are all files of one host, taken at one time? leave out those that are not"});
}

}  // namespace ringcomm::inline v0::diag
