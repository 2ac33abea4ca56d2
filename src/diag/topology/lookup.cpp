// SPDX-License-Identifier: Apache-2.0
#include "diag/topology/lookup.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kNamesMax = 4;

DeviceRef ref(PartKind kind, std::size_t position) {
  return {.kind = kind, .position = static_cast<int>(position)};
}

char lower(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }

}  // namespace

DeviceRef gpu_ref(std::size_t position) { return ref(PartKind::gpu, position); }
DeviceRef nic_ref(std::size_t position) { return ref(PartKind::nic, position); }
DeviceRef numa_ref(std::size_t position) { return ref(PartKind::numa_node, position); }

std::string names_text(const Machine& machine, const std::vector<DeviceRef>& devices) {
  if (devices.empty()) return "nothing";
  std::string text;
  const std::size_t shown = devices.size() <= kNamesMax + 1 ? devices.size() : kNamesMax;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += name_of(machine, devices[i]);
  }
  return shown < devices.size() ? concat(text, " and ", devices.size() - shown, " more") : text;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string counted(std::size_t count, std::string_view noun) {
  return count == 1 ? concat("1 ", noun) : concat(count, " ", noun, "s");
}

bool contains_ignoring_case(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return lower(a) == lower(b); };
  return word.empty() || std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::vector<int> bridges_above(const Machine& machine, int pci) {
  std::vector<int> above;
  const auto size = static_cast<int>(machine.pci.size());
  std::optional<int> at =
      pci >= 0 && pci < size ? machine.pci[static_cast<std::size_t>(pci)].parent : std::optional<int>();
  while (at && *at >= 0 && *at < size && std::ranges::find(above, *at) == above.end()) {
    above.push_back(*at);
    at = machine.pci[static_cast<std::size_t>(*at)].parent;
  }
  return above;
}

std::vector<Endpoint> endpoints(const Machine& machine) {
  std::vector<Endpoint> all;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    all.push_back({.device = gpu_ref(i), .host = machine.gpus[i].host, .pci = machine.gpus[i].pci});
  }
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (!machine.nics[i].is_rdma) continue;
    all.push_back({.device = nic_ref(i), .host = machine.nics[i].host, .pci = machine.nics[i].pci});
  }
  return all;
}

const PciDevice* function_of(const Machine& machine, const Endpoint& endpoint) {
  if (!endpoint.pci || *endpoint.pci < 0) return nullptr;
  const auto position = static_cast<std::size_t>(*endpoint.pci);
  return position < machine.pci.size() ? &machine.pci[position] : nullptr;
}

bool has_place(const Machine& machine, DeviceRef device) {
  const auto position = static_cast<std::size_t>(device.position);
  const bool is_gpu = device.kind == PartKind::gpu;
  if (is_gpu ? machine.gpus[position].pci.has_value() : machine.nics[position].pci.has_value()) return true;
  return std::ranges::any_of(
      machine.stated_paths, [&](const StatedPath& path) { return path.from == device || path.to == device; });
}

std::optional<std::vector<int>> near_cpus(const Machine& machine, const Gpu& gpu) {
  if (gpu.cpus) return gpu.cpus;
  if (!gpu.numa_node) return std::nullopt;
  const NumaNode* node = numa_node(machine, gpu.host, *gpu.numa_node);
  return node == nullptr ? std::nullopt : node->cpus;
}

std::size_t common_count(const std::vector<int>& a, const std::vector<int>& b) {
  return static_cast<std::size_t>(
      std::ranges::count_if(a, [&](int cpu) { return std::ranges::find(b, cpu) != b.end(); }));
}

const NumaNode* numa_node(const Machine& machine, int host, int id) {
  const auto found = std::ranges::find_if(
      machine.numa_nodes, [&](const NumaNode& node) { return node.host == host && node.id == id; });
  return found == machine.numa_nodes.end() ? nullptr : &*found;
}

bool has_c2c(const Machine& machine, int gpu) {
  return std::ranges::any_of(machine.links,
                             [&](const Link& link) { return link.kind == LinkKind::c2c && link.gpu == gpu; });
}

bool is_rdma_host(const Machine& machine, int host) {
  return std::ranges::any_of(machine.nics, [&](const Nic& nic) { return nic.host == host && nic.is_rdma; });
}

std::vector<const LogEvent*> events_of(const TopologyCase& input, LogEventKind kind) {
  std::vector<const LogEvent*> found;
  for (const LogEvent& event : input.evidence.job.events) {
    if (event.kind == kind) found.push_back(&event);
  }
  return found;
}

std::optional<std::string> variable_of(const TopologyCase& input, std::string_view name) {
  std::optional<std::string> value;
  for (const LogEvent* event : events_of(input, LogEventKind::environment)) {
    if (event->value("name") == name) value = std::string(event->value("value"));
  }
  return value;
}

const Path* path_between(const TopologyCase& input, DeviceRef from, DeviceRef to) {
  const std::size_t a = input.paths.find(from);
  const std::size_t b = input.paths.find(to);
  const std::size_t size = input.paths.devices.size();
  if (a >= size || b >= size || input.paths.paths.size() < size * size) return nullptr;
  return &input.paths.at(a, b);
}

}  // namespace ringcomm::inline v0::diag

namespace ringcomm::inline v0 {

std::vector<int> vertices_in_rank_order(const TopologyCase& input) {
  const auto& devices = input.rings.graph.devices;
  const auto place_of = [&](int vertex) {
    const DeviceRef device = devices[static_cast<std::size_t>(vertex)];
    const Machine& machine = input.evidence.machine;
    const auto position = static_cast<std::size_t>(device.position);
    return device.kind == PartKind::gpu ? std::pair(machine.gpus[position].host, machine.gpus[position].index)
                                        : std::pair(machine.numa_nodes[position].host, 0);
  };
  std::vector<int> vertices(devices.size());
  std::iota(vertices.begin(), vertices.end(), 0);
  std::ranges::stable_sort(vertices, {}, place_of);
  return vertices;
}

}  // namespace ringcomm::inline v0
