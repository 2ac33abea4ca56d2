// SPDX-License-Identifier: Apache-2.0
#include "fuzz/inputs.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/machine_promises.hpp"
#include "ringcomm/topology/cluster_rings.hpp"
#include "ringcomm/topology/cost_model.hpp"
#include "ringcomm/topology/evidence.hpp"
#include "ringcomm/topology/path.hpp"
#include "topology/readers/evidence_readers.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::fuzz {
namespace {

// The matrix is quadratic: hostile counts are for the readers to bound, not for the planner to plan.
constexpr std::size_t kDevicesOfAMatrix = 48;

void check_reading(const Reading& reading) {
  check_promises(reading.machine);
  promise(reading.skipped.size() <= topology::kSkippedMax + 8, "skipped entries are bounded");
  for (const auto& skipped : reading.skipped)
    promise(skipped.text.size() <= 4 * 80 + 3, "skipped text is short");
  promise(reading.job.events.size() <= topology::kEventsMax, "events are bounded");
}

void derive(const Machine& machine) {
  if (machine.gpus.size() + machine.nics.size() + machine.numa_nodes.size() > kDevicesOfAMatrix) return;
  const PathMatrix matrix = derive_paths(machine, CostModel::table());
  promise(matrix.paths.size() == matrix.devices.size() * matrix.devices.size(), "the matrix is square");
}

}  // namespace

void read_format(std::string_view format, std::string_view text) {
  for (const auto& reader : topology::evidence_readers()) {
    if (reader.name != format) continue;
    reader.looks_like(text);
    const auto reading = reader.read(text, "input");
    if (reading.is_ok()) check_reading(reading.value());
    return;
  }
  promise(false, "the format has a reader");
}

void read_and_merge(std::string_view text) {
  std::vector<Reading> readings;
  for (;;) {
    const std::size_t past = text.find("\n====\n");
    auto reading = read_evidence(text.substr(0, past), "input");
    if (reading.is_ok()) {
      check_reading(reading.value());
      readings.push_back(std::move(reading).value());
    }
    if (past == std::string_view::npos || readings.size() == 8) break;
    text.remove_prefix(past + 6);
  }
  if (readings.size() == 1) readings.push_back(readings.front());
  const MergedEvidence merged = merge_evidence(std::move(readings));
  check_promises(merged.machine);
  derive(merged.machine);
}

void parse_words(std::string_view text) {
  for (const auto& parse : {parse_pci_bus_id, parse_packed_bus_id}) {
    const auto id = parse(text);
    // What was read can be written and read again.
    if (id.is_ok()) promise(parse_pci_bus_id(id->to_text()).is_ok(), "bus ids round trip");
  }
  if (const auto speed = parse_link_speed(text)) promise(*speed > 0 && *speed < 1e6, "speeds are sane");
  for (const auto& parse : {topology::parse_cpu_list, topology::parse_cpu_mask}) {
    const auto cpus = parse(text);
    if (!cpus) continue;
    check_cpus(*cpus);
    if (!cpus->empty())
      promise(topology::parse_cpu_list(topology::cpu_list_text(*cpus)) == cpus, "CPU lists round trip");
  }
  topology::parse_base0(text);
  parse_path_class(text);
  promise(topology::shown(text).size() <= 4 * 80 + 3, "shown text is short");
}

void parse_costs(std::string_view text) {
  const auto costs = CostModel::from_json(text, "input");
  if (costs.is_ok()) {
    for (const auto path_class :
         {PathClass::loc, PathClass::nvl, PathClass::pix, PathClass::sys, PathClass::net}) {
      const ClassCost& cost = costs->of(path_class);
      promise(!cost.gb_per_s || *cost.gb_per_s > 0, "no bandwidth is 0");
      promise(!cost.alpha_us || *cost.alpha_us >= 0, "no latency is negative");
    }
  }
  const std::vector<std::string> names{"node01", "node02", "node03"};
  const auto order = parse_host_order(text, names, "input");
  if (!order.is_ok()) return;
  auto sorted = order.value();
  std::ranges::sort(sorted);
  promise(sorted == std::vector<int>{0, 1, 2}, "a host order names each host once");
}

}  // namespace ringcomm::fuzz
