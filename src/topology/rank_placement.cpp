// SPDX-License-Identifier: Apache-2.0
#include "topology/rank_placement.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topology/device_place.hpp"

namespace ringcomm::inline v0::topology {
namespace {

std::vector<CoreInfo> cores_of(const Machine& machine, const DevicePlace& place) {
  std::vector<CoreInfo> cores;
  if (place.host != 0 || !place.numa_id) return cores;  // Machine::cores are host 0's
  std::ranges::copy_if(machine.cores, std::back_inserter(cores), [&](const CoreInfo& core) {
    return core.memory_node == *place.numa_id && !core.cpus.empty();
  });
  return cores;
}

/// NICs that ranks use, per NUMA node of theirs.
std::map<std::pair<int, int>, std::set<int>> nics_by_node(const Machine& machine,
                                                          const std::vector<NicChoice>& nics) {
  std::map<std::pair<int, int>, std::set<int>> by_node;
  for (const auto& choice : nics) {
    if (!choice.nic) continue;
    const auto place = place_of(machine, {.kind = PartKind::nic, .position = *choice.nic});
    if (place.numa_id) by_node[{place.host, *place.numa_id}].insert(*choice.nic);
  }
  return by_node;
}

Placement on_near_cpus(const Machine& machine, const DevicePlace& place) {
  Placement placement;
  if (place.numa_id) placement.memory_node = *place.numa_id;
  if (place.device.kind == PartKind::gpu) {
    const auto& cpus = machine.gpus[static_cast<std::size_t>(place.device.position)].cpus;
    if (cpus) placement.cpus = *cpus;
  }
  if (placement.cpus.empty() && place.node) {
    const auto& cpus = machine.numa_nodes[static_cast<std::size_t>(*place.node)].cpus;
    if (cpus) placement.cpus = *cpus;
  }
  return placement;
}

}  // namespace

std::vector<Placement> place_ranks(const Machine& machine, const std::vector<DeviceRef>& devices,
                                   const std::vector<NicChoice>& nics) {
  std::vector<Placement> placements;
  std::vector<DevicePlace> places;
  std::map<std::pair<int, int>, std::vector<std::size_t>> by_node;
  for (const auto& device : devices) {
    const auto place = place_of(machine, device);
    placements.push_back(on_near_cpus(machine, place));
    if (place.numa_id) by_node[{place.host, *place.numa_id}].push_back(places.size());
    places.push_back(place);
  }
  const auto nics_near = nics_by_node(machine, nics);
  for (auto& [node, ranks] : by_node) {
    std::ranges::sort(
        ranks, [&](std::size_t a, std::size_t b) { return comes_before(machine, places[a], places[b]); });
    auto cores = cores_of(machine, places[ranks.front()]);
    if (cores.empty()) continue;
    const auto found = nics_near.find(node);
    const std::size_t wanted = found == nics_near.end() ? 0 : found->second.size();
    const std::size_t spare = cores.size() > ranks.size() ? cores.size() - ranks.size() : 0;
    cores.resize(cores.size() - std::min(wanted, spare));
    auto split = spread_ranks(cores, static_cast<int>(ranks.size()));
    for (std::size_t i = 0; i < ranks.size(); ++i) placements[ranks[i]] = std::move(split[i]);
  }
  return placements;
}

}  // namespace ringcomm::inline v0::topology
