// SPDX-License-Identifier: Apache-2.0
#include "diag/topology/plan_sources.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/lookup.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr int kRingPattern = 4;  // NCCL_TOPO_PATTERN_RING

/// Position in MachineGraph::devices of the GPU of which `is_it` holds.
template <class Predicate>
std::optional<int> position_of(const TopologyCase& input, Predicate is_it) {
  const auto& devices = input.rings.graph.devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind != PartKind::gpu) continue;
    if (is_it(input.evidence.machine.gpus[static_cast<std::size_t>(devices[i].position)]))
      return static_cast<int>(i);
  }
  return std::nullopt;
}

/// Bus ids of ranks, as the log gives them.
std::map<int, PciBusId> buses_of_ranks(const TopologyCase& input) {
  std::map<int, PciBusId> buses;
  for (const LogEvent* event : events_of(input, LogEventKind::communicator)) {
    const auto rank = number_in(event->value("rank"));
    const auto bus = parse_packed_bus_id(event->value("bus"));
    if (rank && bus.is_ok()) buses[static_cast<int>(*rank)] = bus.value();
  }
  return buses;
}

enum class Numbers : std::uint8_t { ranks, devices };

std::optional<int> position(const TopologyCase& input, Numbers numbers, const std::map<int, PciBusId>& buses,
                            int number) {
  if (numbers == Numbers::ranks) {
    if (const auto found = position_of(input, [&](const Gpu& gpu) { return gpu.rank == number; }))
      return found;
    const auto bus = buses.find(number);
    if (bus != buses.end()) {
      if (const auto found = position_of(input, [&](const Gpu& gpu) { return gpu.bus == bus->second; }))
        return found;
    }
    if (input.rings.graph.devices.front().kind == PartKind::numa_node) return number;
  }
  if (input.evidence.machine.hosts.size() > 1) return std::nullopt;
  return position_of(input, [&](const Gpu& gpu) { return gpu.index == number; });
}

/// Adds the rings that fit the devices; says which one does not.
void add_rings(const TopologyCase& input, Numbers numbers, const std::vector<ConfiguredRing>& rings,
               PlanSource& plan) {
  const auto buses = buses_of_ranks(input);
  std::set<int> channels;
  for (const ConfiguredRing& ring : rings) {
    std::vector<int> order;
    for (const int number : ring.order) {
      if (const auto found = position(input, numbers, buses, number)) order.push_back(*found);
    }
    channels.insert(ring.channel);
    if (order.size() == input.rings.graph.devices.size() && order.size() == ring.order.size()) {
      plan.orders.push_back(std::move(order));
      continue;
    }
    plan.source =
        concat("NCCL channel ", ring.channel, " of ", ring.where.to_text(), " has ", ring.order.size(),
               " ranks, which are not the ", input.rings.graph.devices.size(), " devices of the machine");
    plan.orders.clear();
    return;
  }
  if (plan.orders.empty()) return;
  plan.is_known = true;
  plan.kind = PlanKind::nccl;
  plan.where = rings.front().where;
  plan.source = concat("NCCL channel ", rings.front().channel, " of ", plan.where.to_text(),
                       rings.size() > 1 ? concat(" and ", rings.size() - 1, " more") : std::string());
  // A log is often cut: with a gap in the channels, or one alone, links that seem idle may be in use.
  plan.has_all_rings = rings.size() > 1 && *channels.begin() == 0 &&
                       *channels.rbegin() + 1 == static_cast<int>(channels.size());
}

std::optional<std::vector<int>> numbers_of(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto number = number_in(text.substr(0, comma));
    if (!number) return std::nullopt;
    numbers.push_back(static_cast<int>(*number));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers.empty() ? std::nullopt : std::optional(numbers);
}

}  // namespace

PlanSource find_plan(const TopologyCase& input, std::optional<std::vector<int>> configured) {
  PlanSource plan;
  if (configured) {
    plan.is_known = true;
    plan.source = "the given order";
    plan.orders.push_back(std::move(*configured));
    return plan;
  }
  for (const ConfiguredGraph& graph : input.evidence.job.graphs) {
    if (graph.pattern != kRingPattern || graph.rings.empty()) continue;
    add_rings(input, Numbers::devices, graph.rings, plan);
    if (plan.is_known) return plan;
  }
  if (!input.evidence.job.rings.empty()) add_rings(input, Numbers::ranks, input.evidence.job.rings, plan);
  if (plan.is_known) return plan;
  if (const auto text = variable_of(input, "RINGCOMM_RING_ORDER")) {
    if (auto order = numbers_of(*text)) {
      const std::vector<int> ranks = vertices_in_rank_order(input);
      for (int& number : *order) {  // a number that is no rank is kept: the order then does not fit
        if (number >= 0 && static_cast<std::size_t>(number) < ranks.size())
          number = ranks[static_cast<std::size_t>(number)];
      }
      plan.is_known = true;
      plan.source = "RINGCOMM_RING_ORDER";
      plan.orders.push_back(std::move(*order));
      return plan;
    }
  }
  if (plan.source.empty())
    plan.source = "nothing is configured in the evidence; the devices' own order is shown";
  plan.kind = PlanKind::nccl;
  plan.orders.push_back(vertices_in_rank_order(input));
  return plan;
}

}  // namespace ringcomm::inline v0::diag
