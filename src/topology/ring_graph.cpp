// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/machine_rings.hpp"
#include "topology/device_place.hpp"

namespace ringcomm::inline v0 {
namespace {

using topology::DevicePlace;

/// What makes one edge better than another; smaller is better.
struct LevelKey {
  double time_us = 0;  ///< where every edge is measured, else 0
  PathClass path_class = PathClass::unknown;
  int fewer_links = 0;       ///< negative count
  double less_gb_per_s = 0;  ///< negative; only where NVLinks have a bandwidth and no count
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the defaulted comparison for a 0
  friend auto operator<=>(const LevelKey&, const LevelKey&) = default;
};

bool has_link_count(PathClass path_class) {
  return path_class == PathClass::nvl || path_class == PathClass::nvb;
}

bool is_timed(const Path& path) {
  return path.bandwidth.source == Source::measured && path.bandwidth.gb_per_s && path.alpha_us;
}

LevelKey key_of(const Path& path, bool by_time) {
  LevelKey key{.path_class = path.path_class};
  if (by_time) {
    // 1e3 B/us is 1e-3 GB/s.
    key.time_us = *path.alpha_us + (static_cast<double>(kRingLevelBytes) / (*path.bandwidth.gb_per_s * 1e3));
    return key;
  }
  if (!has_link_count(path.path_class)) return key;
  key.fewer_links = -path.nvlinks.value_or(0);
  if (!path.nvlinks) key.less_gb_per_s = -path.bandwidth.gb_per_s.value_or(0);
  return key;
}

std::string level_name(const LevelKey& key) {
  if (key.path_class == PathClass::nvl && key.fewer_links < 0) return concat("NV", -key.fewer_links);
  if (key.path_class == PathClass::nvb && key.fewer_links < 0) return concat("NVB", -key.fewer_links);
  if (key.less_gb_per_s < 0) return concat(name_of(key.path_class), " ", -key.less_gb_per_s, " GB/s");
  return std::string(name_of(key.path_class));
}

/// Positions in the matrix of what a ring can visit.
std::vector<std::size_t> vertices_of(const PathMatrix& paths) {
  for (const PartKind kind : {PartKind::gpu, PartKind::numa_node}) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < paths.devices.size(); ++i) {
      if (paths.devices[i].kind == kind) found.push_back(i);
    }
    if (!found.empty()) return found;
  }
  return {};
}

std::vector<std::int64_t> keys_of(const Machine& machine, const std::vector<DeviceRef>& devices) {
  std::vector<DevicePlace> places;
  for (const auto& device : devices) places.push_back(topology::place_of(machine, device));
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return topology::comes_before(machine, places[a], places[b]);
  });
  std::vector<std::int64_t> keys(devices.size());
  for (std::size_t i = 0; i < order.size(); ++i) keys[order[i]] = static_cast<std::int64_t>(i);
  return keys;
}

/// Links of one pair that no other pair uses: a switch's are shared by all.
int own_links(const Path& path) {
  return path.path_class == PathClass::nvl && !path.is_switched ? path.nvlinks.value_or(0) : 0;
}

void add_resources(const PathMatrix& paths, const std::vector<std::size_t>& vertices, RingGraph& graph) {
  std::vector<int> resource_of(paths.shared.size(), -1);
  for (int from = 0; from < graph.size; ++from) {
    for (int to = 0; to < graph.size; ++to) {
      if (from == to) continue;
      const auto& path =
          paths.at(vertices[static_cast<std::size_t>(from)], vertices[static_cast<std::size_t>(to)]);
      for (const int crossed : path.crosses) {
        const auto& shared = paths.shared[static_cast<std::size_t>(crossed)];
        int& resource = resource_of[static_cast<std::size_t>(crossed)];
        if (resource < 0) {
          resource = static_cast<int>(graph.resources.size());
          graph.resources.push_back(
              {.name = shared.name, .gb_per_s = shared.bandwidth.gb_per_s, .edges = {}});
        }
        graph.resources[static_cast<std::size_t>(resource)].edges.push_back((from * graph.size) + to);
      }
    }
  }
}

}  // namespace

MachineGraph ring_graph(const Machine& machine, const PathMatrix& paths) {
  MachineGraph result;
  const auto vertices = vertices_of(paths);
  RingGraph& graph = result.graph;
  graph.size = static_cast<int>(vertices.size());
  graph.edges.resize(vertices.size() * vertices.size());
  for (const std::size_t vertex : vertices) result.devices.push_back(paths.devices[vertex]);
  bool by_time = graph.size > 1;
  for (const std::size_t from : vertices) {
    for (const std::size_t to : vertices) by_time = by_time && (from == to || is_timed(paths.at(from, to)));
  }
  std::vector<LevelKey> levels;
  for (const std::size_t from : vertices) {
    for (const std::size_t to : vertices) {
      if (from != to) levels.push_back(key_of(paths.at(from, to), by_time));
    }
  }
  std::ranges::sort(levels, [](const auto& a, const auto& b) { return a < b; });
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  for (const auto& level : levels) result.level_names.push_back(level_name(level));
  for (std::size_t from = 0; from < vertices.size(); ++from) {
    for (std::size_t to = 0; to < vertices.size(); ++to) {
      if (from == to) continue;
      const auto& path = paths.at(vertices[from], vertices[to]);
      const auto level = std::ranges::find(levels, key_of(path, by_time)) - levels.begin();
      graph.edges[(from * vertices.size()) + to] = {
          .level = static_cast<int>(level), .gb_per_s = path.bandwidth.gb_per_s, .links = own_links(path)};
    }
  }
  add_resources(paths, vertices, graph);
  graph.keys = keys_of(machine, result.devices);
  return result;
}

}  // namespace ringcomm::inline v0
