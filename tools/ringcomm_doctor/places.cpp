// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "labels.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

/// Order of the boxes: packages, nodes without one, CPU lists, the rest.
enum class Kind : std::uint8_t { package, node, cpus, unknown };
struct BoxKey {
  int host = 0;
  Kind kind = Kind::unknown;
  int id = 0;  ///< position of the package; os id of the node
  std::string cpus{};
  friend auto operator<=>(const BoxKey&, const BoxKey&) = default;
};
/// Box, then os id of the node in it.
struct PlaceKey {
  BoxKey box{};
  int node = 0;
  friend auto operator<=>(const PlaceKey&, const PlaceKey&) = default;
};

const NumaNode* find_node(const Machine& machine, int host, int id) {
  for (const NumaNode& node : machine.numa_nodes) {
    if (node.host == host && node.id == id) return &node;
  }
  return nullptr;
}

PlaceKey key_of_node(const Machine& machine, int host, int id) {
  const NumaNode* node = find_node(machine, host, id);
  if (node != nullptr && node->package) return {{host, Kind::package, *node->package, {}}, id};
  return {{host, Kind::node, id, {}}, id};
}

template <class Device>
std::optional<int> node_of(const Machine& machine, const Device& device) {
  if (device.numa_node) return device.numa_node;
  return device.pci ? machine.pci[static_cast<std::size_t>(*device.pci)].numa_node : std::nullopt;
}

PlaceKey key_of(const Machine& machine, const Gpu& gpu) {
  if (const auto node = node_of(machine, gpu)) return key_of_node(machine, gpu.host, *node);
  if (gpu.cpus && !gpu.cpus->empty())
    return {{gpu.host, Kind::cpus, gpu.cpus->front(), cpu_list(*gpu.cpus)}, 0};
  return {{gpu.host, Kind::unknown, 0, {}}, 0};
}

PlaceKey key_of(const Machine& machine, const PathMatrix& paths, int position) {
  const Nic& nic = machine.nics[static_cast<std::size_t>(position)];
  if (const auto node = node_of(machine, nic)) return key_of_node(machine, nic.host, *node);
  const std::size_t row = paths.find({PartKind::nic, position});
  const Gpu* nearest = nullptr;
  PathClass best = PathClass::node;  // within a NUMA node, in nvidia-smi's words
  for (std::size_t i = 0; row < paths.devices.size() && i < paths.devices.size(); ++i) {
    if (paths.devices[i].kind != PartKind::gpu) continue;
    const Gpu& gpu = machine.gpus[static_cast<std::size_t>(paths.devices[i].position)];
    const PathClass path_class = paths.at(row, i).path_class;
    if (gpu.host != nic.host || path_class > best || (nearest != nullptr && path_class == best)) continue;
    best = path_class;
    nearest = &gpu;
  }
  return nearest != nullptr ? key_of(machine, *nearest) : PlaceKey{{nic.host, Kind::unknown, 0, {}}, 0};
}

std::string label_of(const Machine& machine, const PlaceKey& key) {
  if (key.box.kind == Kind::cpus) return concat("near CPUs ", key.box.cpus);
  if (key.box.kind == Kind::unknown) return "place unknown";
  const NumaNode* node = find_node(machine, key.box.host, key.node);
  std::string label = concat("NUMA ", key.node);
  if (node == nullptr) return label;
  if (!node->cpus) return concat(label, "  CPUs ?");
  label += node->is_memory_only() ? "  memory only" : concat("  CPUs ", cpu_list(*node->cpus));
  if (!node->subtype.empty()) label += concat(" ", node->subtype);
  if (node->memory_bytes) label += concat("  ", format_bytes(*node->memory_bytes));
  return label;
}

std::string title_of(const Machine& machine, const BoxKey& key) {
  const std::string host = machine.hosts.size() > 1 ? concat("host", key.host, ", ") : std::string();
  if (key.kind == Kind::package) {
    const Package& package = machine.packages[static_cast<std::size_t>(key.id)];
    const std::string& name = package.model_name.empty() ? package.vendor : package.model_name;
    const std::string tail = !name.empty() ? name : package.arch;
    return concat(host, "package ", package.id, tail.empty() ? "" : ": ", tail);
  }
  return host;
}

}  // namespace

std::vector<PackagePlaces> find_places(const Machine& machine, const PathMatrix& paths) {
  std::map<PlaceKey, Place> places;
  for (const NumaNode& node : machine.numa_nodes) places[key_of_node(machine, node.host, node.id)];
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    places[key_of(machine, machine.gpus[i])].gpus.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < machine.nics.size(); ++i)
    places[key_of(machine, paths, static_cast<int>(i))].nics.push_back(static_cast<int>(i));

  std::vector<PackagePlaces> out;
  std::optional<BoxKey> box;
  for (auto& [key, place] : places) {
    if (box != key.box)
      out.push_back({key.box.host, title_of(machine, key.box), key.box.kind != Kind::package, {}});
    box = key.box;
    place.label = label_of(machine, key);
    out.back().places.push_back(std::move(place));
  }
  return out;
}

}  // namespace ringcomm::doctor
