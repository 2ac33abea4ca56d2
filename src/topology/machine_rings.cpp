// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/machine_rings.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/nic_choice.hpp"
#include "topology/rank_placement.hpp"

namespace ringcomm::inline v0 {
namespace {

// A pair with a bridge beside a GPU without one is how such machines are built; three linked GPUs beside one
// that is not are not.
constexpr std::size_t kLinkedPeersMin = 3;

std::vector<RingStep> steps_of(const MachineGraph& graph, const PathMatrix& paths, const RingOrder& ring) {
  std::vector<RingStep> steps;
  if (ring.order.size() < 2) return steps;
  for (std::size_t i = 0; i < ring.order.size(); ++i) {
    const int from = ring.order[i];
    const int to = ring.order[(i + 1) % ring.order.size()];
    RingStep step{.from = graph.devices[static_cast<std::size_t>(from)],
                  .to = graph.devices[static_cast<std::size_t>(to)]};
    const auto& path = paths.at(paths.find(step.from), paths.find(step.to));
    step.level = graph.level_names[static_cast<std::size_t>(graph.graph.at(from, to).level)];
    step.bandwidth = path.bandwidth;
    step.reason = path.reason;
    steps.push_back(std::move(step));
  }
  return steps;
}

/// GPUs of a host without NVLink to anyone, while all others of it reach each other over NVLink.
std::vector<int> unlinked_gpus(const Machine& machine, const MachineGraph& graph, const PathMatrix& paths) {
  std::vector<std::size_t> at;  // [GPUs of the graph] in the matrix
  for (const auto& device : graph.devices) {
    if (device.kind == PartKind::gpu) at.push_back(paths.find(device));
  }
  const auto linked = [&](std::size_t a, std::size_t b) {
    return a != b && paths.at(a, b).path_class == PathClass::nvl;
  };
  std::vector<int> unlinked;
  std::map<int, std::vector<std::size_t>> linked_on;  // host -> its GPUs that have a link
  std::vector<DeviceRef> without;
  for (const std::size_t gpu : at) {
    const DeviceRef device = paths.devices[gpu];
    if (std::ranges::any_of(at, [&](std::size_t peer) { return linked(gpu, peer); })) {
      linked_on[machine.gpus[static_cast<std::size_t>(device.position)].host].push_back(gpu);
    } else {
      without.push_back(device);
    }
  }
  std::erase_if(linked_on, [&](const auto& entry) {
    const auto& peers = entry.second;
    return peers.size() < kLinkedPeersMin || !std::ranges::all_of(peers, [&](std::size_t a) {
             return std::ranges::all_of(peers, [&](std::size_t b) { return a == b || linked(a, b); });
           });
  });
  for (const auto& device : without) {
    if (linked_on.contains(machine.gpus[static_cast<std::size_t>(device.position)].host))
      unlinked.push_back(device.position);
  }
  return unlinked;
}

}  // namespace

Result<MachineRings> plan_machine_rings(const Machine& machine, const PathMatrix& paths,
                                        const RingOptions& options) {
  MachineRings plan;
  plan.graph = ring_graph(machine, paths);
  if (plan.graph.devices.empty()) {
    return Status(StatusCode::not_available,
                  "no ring can be planned: the evidence has neither a GPU nor a NUMA node with CPUs");
  }
  RINGCOMM_TRY_ASSIGN(plan.best, plan_ring(plan.graph.graph, options));
  RINGCOMM_TRY_ASSIGN(plan.rings, plan_disjoint_rings(plan.graph.graph, options));
  for (const auto& ring : plan.rings.rings) plan.steps.push_back(steps_of(plan.graph, paths, ring));
  const bool has_best =
      std::ranges::any_of(plan.rings.rings, [&](const auto& ring) { return ring.order == plan.best.order; });
  if (!has_best) plan.steps.push_back(steps_of(plan.graph, paths, plan.best));
  plan.excluded = topology::exclude_nics(machine, paths);
  plan.nics = topology::choose_nics(machine, paths, plan.excluded);
  plan.placements = topology::place_ranks(machine, plan.graph.devices, plan.nics);
  plan.left_out = unlinked_gpus(machine, plan.graph, paths);
  return plan;
}

}  // namespace ringcomm::inline v0
