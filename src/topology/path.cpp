// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/path.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "ringcomm/core/text.hpp"
#include "topology/detour.hpp"
#include "topology/path_builder.hpp"

namespace ringcomm::inline v0 {
namespace {

using topology::DevicePlace;
using topology::is_over_pci;
using topology::PathBuilder;
using Pair = std::pair<DeviceRef, DeviceRef>;

void list_devices(const Machine& machine, PathMatrix& matrix) {
  const auto add = [&](PartKind kind, std::size_t count, const auto& is_wanted) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_wanted(i)) continue;
      auto& list = matrix.devices.size() < kPathDevicesMax ? matrix.devices : matrix.left_out;
      list.push_back({.kind = kind, .position = static_cast<int>(i)});
    }
  };
  const auto any = [](std::size_t) { return true; };
  add(PartKind::gpu, machine.gpus.size(), any);
  add(PartKind::nic, machine.nics.size(), any);
  add(PartKind::numa_node, machine.numa_nodes.size(),
      [&](std::size_t i) { return topology::has_cpus(machine.numa_nodes[i]); });
}

/// Each ordered pair's first statement; where only the other direction is stated (rows are cut), that one.
std::map<Pair, const StatedPath*> stated_by_pair(const Machine& machine) {
  std::map<Pair, const StatedPath*> stated;
  for (const auto& path : machine.stated_paths) {
    if (path.path_class != PathClass::unknown) stated.try_emplace(Pair(path.from, path.to), &path);
  }
  for (const auto& path : machine.stated_paths) {
    if (path.path_class != PathClass::unknown) stated.try_emplace(Pair(path.to, path.from), &path);
  }
  return stated;
}

Path overlay(const StatedPath& stated, Path derived, const PathBuilder& builder) {
  Path path{.path_class = stated.path_class, .nvlinks = stated.nvlinks};
  path.reason = concat("stated by ", stated.where.to_text());
  const bool same_way = stated.path_class == derived.path_class ||
                        (is_over_pci(stated.path_class) && is_over_pci(derived.path_class));
  if (same_way) {
    path.bandwidth = derived.bandwidth;
    path.crosses = std::move(derived.crosses);
    if (!path.nvlinks && path.path_class == PathClass::nvl) path.nvlinks = derived.nvlinks;
    path.is_switched = derived.is_switched;
    path.reason = concat(path.reason, "; ", derived.reason);
  }
  if (stated.path_class == PathClass::nvl && stated.nvlinks && stated.from.kind == PartKind::gpu &&
      stated.to.kind == PartKind::gpu && (!same_way || derived.nvlinks != stated.nvlinks)) {
    path.bandwidth = builder.stated_nvlinks(stated.from.position, stated.to.position, *stated.nvlinks);
    if (!path.bandwidth.gb_per_s)
      path.reason += "; bandwidth of a link unknown (the GPU's generation is not told)";
  }
  if (stated.gb_per_s) {  // raw, as a link's own value is
    path.bandwidth = {.gb_per_s = *stated.gb_per_s * topology::kPlannedShareOfRaw,
                      .source = Source::evidence};
  }
  return path;
}

// More links than any GPU up to NVLink 5 has (NCCL probes at most 18).
constexpr int kLinksPerGpuMax = 18;

/// `nvidia-smi topo -m` prints a GPU's links to its switches for every pair. The counts of one GPU are then
/// all the same, and their sum is more than a GPU has.
void mark_switched(const std::vector<bool>& is_stated, PathMatrix& matrix) {
  const std::size_t size = matrix.devices.size();
  for (std::size_t from = 0; from < size && matrix.devices[from].kind == PartKind::gpu; ++from) {
    std::optional<int> count;
    bool all_equal = true;
    int sum = 0;
    for (std::size_t to = 0; to < size && matrix.devices[to].kind == PartKind::gpu; ++to) {
      const auto& path = matrix.at(from, to);
      if (from == to || path.path_class != PathClass::nvl || !path.nvlinks) continue;
      all_equal = all_equal && (!count || count == path.nvlinks) && is_stated[(from * size) + to];
      count = path.nvlinks;
      sum += *path.nvlinks;
    }
    if (!all_equal || sum <= kLinksPerGpuMax) continue;
    for (std::size_t to = 0; to < size && matrix.devices[to].kind == PartKind::gpu; ++to) {
      auto& path = matrix.paths[(from * size) + to];
      if (path.path_class == PathClass::nvl && from != to) path.is_switched = true;
    }
  }
}

/// Host ranks' times say nothing of GPUs, and the other way round.
void apply_costs(const CostModel& costs, const CostModel& table, const Pair& pair, Path& path) {
  const auto& cost = costs.of(path.path_class);
  if (cost.source != Source::measured) {
    path.alpha_us = cost.alpha_us;
    return;
  }
  if (pair.first.kind != pair.second.kind || !costs.is_measured_between(pair.first.kind)) {
    path.alpha_us = table.of(path.path_class).alpha_us;
    return;
  }
  path.alpha_us = cost.alpha_us;
  if (!cost.gb_per_s) return;
  path.bandwidth = {.gb_per_s = cost.gb_per_s, .source = Source::measured};
  path.reason = concat(path.reason, "; measured: ", cost.where);
}

}  // namespace

std::size_t PathMatrix::find(DeviceRef device) const {
  return static_cast<std::size_t>(std::ranges::find(devices, device) - devices.begin());
}

PathMatrix derive_paths(const Machine& machine, const CostModel& costs) {
  PathMatrix matrix;
  list_devices(machine, matrix);
  const std::size_t size = matrix.devices.size();
  std::vector<DevicePlace> places;
  for (const auto& device : matrix.devices) places.push_back(topology::place_of(machine, device));
  PathBuilder builder(machine, costs, matrix.shared);
  const auto stated = stated_by_pair(machine);
  std::vector<bool> is_stated(size * size, false);
  matrix.paths.resize(size * size);
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      Path& path = matrix.paths[(from * size) + to];
      path = builder.derive(places[from], places[to]);
      const auto said = stated.find({matrix.devices[from], matrix.devices[to]});
      if (said == stated.end() || from == to) continue;
      is_stated[(from * size) + to] = true;
      path = overlay(*said->second, std::move(path), builder);
    }
  }
  mark_switched(is_stated, matrix);
  const topology::DetourInput input{.machine = machine, .places = places, .is_stated = is_stated};
  topology::add_nvlink_detours(input, matrix);
  topology::add_nic_detours(input, matrix);
  const CostModel table = CostModel::table();
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      apply_costs(costs, table, {matrix.devices[from], matrix.devices[to]}, matrix.paths[(from * size) + to]);
    }
  }
  return matrix;
}

}  // namespace ringcomm::inline v0
