// SPDX-License-Identifier: Apache-2.0
#include "labels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::doctor {
namespace {

/// Level of each edge of the closed order.
std::vector<int> levels_of(const MachineGraph& graph, const std::vector<int>& order) {
  std::vector<int> levels;
  if (order.size() < 2) return levels;
  for (std::size_t i = 0; i < order.size(); ++i)
    levels.push_back(graph.graph.at(order[i], order[(i + 1) % order.size()]).level);
  return levels;
}

std::string level_name(const MachineGraph& graph, int level) {
  const auto position = static_cast<std::size_t>(level);
  return position < graph.level_names.size() ? graph.level_names[position] : "?";
}

}  // namespace

std::string cpu_list(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());  // placements list the first hardware threads of all cores first
  return cpus.empty() ? "none" : topology::cpu_list_text(cpus);
}

std::string speed(const std::optional<double>& gb_per_s) {
  if (!gb_per_s) return "?";
  return *gb_per_s >= 10 ? fmt::format("{:.0f} GB/s", *gb_per_s) : fmt::format("{:.2g} GB/s", *gb_per_s);
}

std::string speed(const Bandwidth& bandwidth) {
  if (!bandwidth.gb_per_s) return "?";
  return concat(speed(bandwidth.gb_per_s), " (", name_of(bandwidth.source), ")");
}

std::string class_word(const Path& path) {
  if (path.path_class == PathClass::loc) return "X";
  if (path.path_class == PathClass::nvl && path.nvlinks) return concat("NV", *path.nvlinks);
  return std::string(name_of(path.path_class));
}

std::string short_bus(const Machine& machine, const PciBusId& bus) {
  const auto has_other_domain = [&](const auto& device) { return device.bus && device.bus->domain != 0; };
  const bool is_one_domain = std::none_of(machine.gpus.begin(), machine.gpus.end(), has_other_domain) &&
                             std::none_of(machine.nics.begin(), machine.nics.end(), has_other_domain);
  const std::string text = bus.to_text();
  return is_one_domain ? text.substr(text.find(':') + 1) : text;
}

int vertex_number(const Machine& machine, const MachineGraph& graph, int vertex) {
  const DeviceRef device = graph.devices[static_cast<std::size_t>(vertex)];
  if (machine.hosts.size() > 1) return vertex;
  const auto position = static_cast<std::size_t>(device.position);
  return device.kind == PartKind::gpu ? machine.gpus[position].index : machine.numa_nodes[position].id;
}

std::string order_text(const Machine& machine, const MachineGraph& graph, const std::vector<int>& order,
                       const char* between) {
  std::string out;
  for (const int vertex : order)
    out += concat(out.empty() ? "" : between, vertex_number(machine, graph, vertex));
  return out;
}

std::string slowest_level(const MachineGraph& graph, const std::vector<int>& order) {
  const std::vector<int> levels = levels_of(graph, order);
  return levels.empty() ? std::string() : level_name(graph, *std::max_element(levels.begin(), levels.end()));
}

std::string level_counts(const MachineGraph& graph, const std::vector<int>& order) {
  std::vector<int> levels = levels_of(graph, order);
  std::sort(levels.rbegin(), levels.rend());
  std::string out;
  for (std::size_t i = 0; i < levels.size();) {
    const auto same = static_cast<std::size_t>(std::count(levels.begin(), levels.end(), levels[i]));
    out += concat(out.empty() ? "" : ", ", same, " x ", level_name(graph, levels[i]));
    i += same;
  }
  return out;
}

std::size_t best_position(const MachineRings& rings) {
  for (std::size_t i = 0; i < rings.rings.rings.size(); ++i) {
    if (rings.rings.rings[i].order == rings.best.order) return i;
  }
  return rings.rings.rings.size();
}

bool is_any_edge_known(const MachineRings& rings) {
  const std::vector<int> levels = levels_of(rings.graph, rings.best.order);
  return std::any_of(levels.begin(), levels.end(),
                     [&](int level) { return level_name(rings.graph, level) != "?"; });
}

}  // namespace ringcomm::doctor
