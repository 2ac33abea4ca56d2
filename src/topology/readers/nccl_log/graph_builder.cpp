// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_log/graph_builder.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology::nccl_log {
namespace {

template <class T>
std::optional<T> parse_hex(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<PciBusId> bus_of(const GraphNode& node) {
  const auto bus = parse_packed_bus_id(node.id);
  return bus.is_ok() ? std::optional(bus.value()) : std::nullopt;
}

std::optional<int> numa_id(const GraphNode& node) {
  const auto id = parse_hex<int>(node.id);
  return id && *id >= 0 ? id : std::nullopt;
}

}  // namespace

void GraphBuilder::build() {
  const std::size_t first_gpu = machine_.gpus.size();
  std::set<std::string> systems;
  for (const GraphNode& node : log_.nodes) systems.insert(node.system);
  has_systems_ = systems.size() > 1;
  if (!log_.gpus.empty()) {
    const int host = add_host(host_name_);
    for (const auto& [bus, gpu] : log_.gpus) add_gpu(host, bus, gpu);
  }
  for (std::size_t i = 0; i < log_.nodes.size(); ++i) {
    const GraphNode& node = log_.nodes[i];
    if (node.type == "NET") {
      add_port(i);
    } else if (node.type == "PCI" || node.type == "GPU" || node.type == "NIC") {
      // The target of a link stands elsewhere in the tree.
      if (node.link_class == "PCI") add_pci(i);
    } else if (const auto id = numa_id(node); id && node.type == "CPU") {
      const int host = host_of(node);
      const bool is_known = std::ranges::any_of(
          machine_.numa_nodes, [&](const NumaNode& other) { return other.host == host && other.id == *id; });
      if (!is_known && machine_.numa_nodes.size() < kDevicesMax)
        machine_.numa_nodes.push_back({.host = host, .id = *id, .where = node.where});
    }
  }
  for (std::size_t i = 0; i < log_.nodes.size(); ++i) add_link(i);
  number_gpus(first_gpu);
  // A GPU outside the graph: a host that printed none, or a bus id that was torn.
  for (std::size_t i = first_gpu; i < machine_.gpus.size(); ++i)
    machine_.gpus[i].is_link_count_unknown = !machine_.gpus[i].pci;
  machine_.has_gpu_evidence |= machine_.gpus.size() > first_gpu;
  machine_.has_nic_evidence |= !machine_.nics.empty();
  machine_.has_link_evidence |= !machine_.links.empty();
}

int GraphBuilder::add_host(const std::string& name) {
  const auto [found, is_new] = hosts_.emplace(name, static_cast<int>(machine_.hosts.size()));
  if (is_new) machine_.hosts.push_back({.name = name});
  return found->second;
}

// With multi-node NVLink one host prints the graph of all; its systems are numbers.
int GraphBuilder::host_of(const GraphNode& node) {
  return add_host(has_systems_ ? concat(host_name_, " system ", node.system) : host_name_);
}

std::optional<std::size_t> GraphBuilder::above(std::size_t i, std::string_view type) const {
  for (auto at = log_.nodes[i].parent; at; at = log_.nodes[*at].parent) {
    if (log_.nodes[*at].type == type) return at;
  }
  return std::nullopt;
}

void GraphBuilder::add_pci(std::size_t i) {
  const GraphNode& node = log_.nodes[i];
  const auto bus = bus_of(node);
  if (!bus || machine_.pci.size() >= 4 * kDevicesMax) return;
  PciDevice device{.host = host_of(node), .id = *bus, .is_bridge = node.type == "PCI", .where = node.where};
  if (const auto bridge = above(i, "PCI"); bridge && pci_of_node_.contains(*bridge))
    device.parent = pci_of_node_.at(*bridge);
  if (const auto cpu = above(i, "CPU")) device.numa_node = numa_id(log_.nodes[*cpu]);
  if (node.type == "PCI" && node.detail.size() >= 8) {
    device.vendor = parse_hex<std::uint16_t>(std::string_view(node.detail).substr(0, 4));
    device.device = parse_hex<std::uint16_t>(std::string_view(node.detail).substr(4, 4));
  }
  const int position = static_cast<int>(machine_.pci.size());
  pci_of_node_[i] = position;
  machine_.pci.push_back(device);
  if (node.type == "GPU") {
    add_gpu(device.host, *bus, {.rank = parse_decimal<int>(node.detail), .where = node.where});
    const auto found = gpus_.find({device.host, *bus});
    if (found == gpus_.end()) return;
    Gpu& gpu = machine_.gpus[static_cast<std::size_t>(found->second)];
    gpu.pci = position;
    gpu.numa_node = device.numa_node;
    gpu_of_node_[i] = found->second;
    gpu_of_id_[{device.host, node.id}] = found->second;
  }
  if (node.type == "NIC" && machine_.nics.size() < kDevicesMax) {
    nic_of_node_[i] = static_cast<int>(machine_.nics.size());
    machine_.nics.push_back({.host = device.host,
                             .bus = *bus,
                             .pci = position,
                             .numa_node = device.numa_node,
                             .is_rdma = log_.is_rdma,
                             .where = node.where});
  }
}

// "NET/0-c (0/2000000000000001/1/50.000000)": ..., guid, port, GB/s.
void GraphBuilder::add_port(std::size_t i) {
  const GraphNode& node = log_.nodes[i];
  const auto parent = above(i, "NIC");
  if (!parent || !nic_of_node_.contains(*parent)) return;
  Nic& nic = machine_.nics[static_cast<std::size_t>(nic_of_node_.at(*parent))];
  const auto fields = split(node.detail, '/');
  Port port{.number = static_cast<int>(nic.ports.size()) + 1, .where = node.where};
  if (fields.size() >= 3) {
    port.number = parse_decimal<int>(fields[fields.size() - 2]).value_or(port.number);
    const auto gb_per_s = parse_decimal<double>(fields.back());
    if (gb_per_s && *gb_per_s > 0) port.gbit_per_s = *gb_per_s * 8;
    nic.guid = std::string(fields[fields.size() - 3]);
  }
  port.net_index = parse_hex<int>(node.id);
  if (nic.ports.size() >= kDevicesMax) return;
  const auto index = static_cast<std::size_t>(port.net_index.value_or(-1));
  port.net_name = index < log_.interfaces.size() ? log_.interfaces[index] : concat("NET", node.id);
  if (nic.name.empty()) nic.name = port.net_name;
  nic.ports.push_back(std::move(port));
}

void GraphBuilder::add_gpu(int host, const PciBusId& bus, const JobGpu& job_gpu) {
  const auto [found, is_new] = gpus_.emplace(std::pair(host, bus), static_cast<int>(machine_.gpus.size()));
  if (!is_new) {
    Gpu& gpu = machine_.gpus[static_cast<std::size_t>(found->second)];
    if (!gpu.rank) gpu.rank = job_gpu.rank;
    return;
  }
  if (machine_.gpus.size() >= kDevicesMax) {
    gpus_.erase(found);
    return;
  }
  Gpu gpu;
  gpu.host = host;
  gpu.index = job_gpu.index.value_or(-1);
  gpu.bus = bus;
  gpu.rank = job_gpu.rank;
  gpu.state.fabric_state = job_gpu.fabric_state;
  gpu.state.fabric_cluster = job_gpu.fabric_cluster;
  gpu.where = job_gpu.where;
  machine_.gpus.push_back(std::move(gpu));
}

void GraphBuilder::add_link(std::size_t i) {
  const GraphNode& node = log_.nodes[i];
  const bool is_c2c = node.link_class == "C2C";
  if (!is_c2c && node.link_class != "NVL" && node.link_class != "XGMI") return;
  if (!node.parent || !gpu_of_node_.contains(*node.parent)) return;
  Link link{.kind = is_c2c                      ? LinkKind::c2c
                    : node.link_class == "XGMI" ? LinkKind::xgmi
                                                : LinkKind::nvlink,
            .gpu = gpu_of_node_.at(*node.parent),
            .where = node.where};
  if (node.type == "NVS") link.end = LinkEnd::nvswitch;
  if (node.type == "GPU") {
    const auto peer = gpu_of_id_.find({host_of(node), node.id});
    if (peer == gpu_of_id_.end()) return;
    link.end = LinkEnd::gpu;
    link.peer = peer->second;
    link.target = bus_of(node);
  }
  if (node.type == "CPU") {
    const int host = host_of(node);
    const auto numa = std::ranges::find_if(machine_.numa_nodes, [&](const NumaNode& other) {
      return other.host == host && other.id == numa_id(node);
    });
    link.end = LinkEnd::numa_node;
    if (numa != machine_.numa_nodes.end()) link.peer = static_cast<int>(numa - machine_.numa_nodes.begin());
  }
  machine_.links.push_back(link);
}

/// GPUs whose number no line tells are counted in the order of their bus ids, behind the others.
void GraphBuilder::number_gpus(std::size_t first) {
  std::map<int, std::set<int>> used;
  std::vector<std::size_t> without;
  for (std::size_t i = first; i < machine_.gpus.size(); ++i) {
    Gpu& gpu = machine_.gpus[i];
    if (gpu.index < 0 || !used[gpu.host].insert(gpu.index).second) without.push_back(i);
  }
  std::ranges::stable_sort(without, {}, [&](std::size_t i) { return machine_.gpus[i].bus; });
  for (const std::size_t i : without) {
    Gpu& gpu = machine_.gpus[i];
    auto& taken = used[gpu.host];
    gpu.index = taken.empty() ? 0 : *taken.rbegin() + 1;
    taken.insert(gpu.index);
  }
}

}  // namespace ringcomm::inline v0::topology::nccl_log
