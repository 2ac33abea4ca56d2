// SPDX-License-Identifier: Apache-2.0
#include "json_value.hpp"
#include "labels.hpp"

namespace ringcomm::doctor {
namespace {

Json word(std::string_view text) { return text == "unknown" ? Json(nullptr) : Json(text); }

std::string_view vendor_word(GpuVendor vendor) {
  switch (vendor) {
    case GpuVendor::nvidia:
      return "nvidia";
    case GpuVendor::amd:
      return "amd";
    case GpuVendor::intel:
      return "intel";
    case GpuVendor::unknown:
      break;
  }
  return "unknown";
}

std::string_view state_word(PortState state) {
  constexpr std::string_view kWords[]{"unknown", "down", "initializing", "armed", "active"};
  return kWords[static_cast<std::size_t>(state)];
}
std::string_view phys_word(PhysState state) {
  constexpr std::string_view kWords[]{"unknown",  "sleep",   "polling",       "disabled",
                                      "training", "link_up", "error_recovery"};
  return kWords[static_cast<std::size_t>(state)];
}
std::string_view layer_word(LinkLayer layer) {
  constexpr std::string_view kWords[]{"unknown", "infiniband", "ethernet"};
  return kWords[static_cast<std::size_t>(layer)];
}

Json cpus_json(const std::optional<std::vector<int>>& cpus) {
  if (!cpus) return nullptr;
  return cpus->empty() ? Json("") : Json(cpu_list(*cpus));
}

Json links_json(const Machine& machine, int gpu) {
  constexpr std::string_view kKinds[]{"nvlink", "xgmi", "c2c"};
  constexpr std::string_view kEnds[]{"gpu", "nvswitch", "numa_node", "unknown"};
  Json out = Json::array();
  for (const Link& link : machine.links) {
    if (link.gpu != gpu) continue;
    out.push_back({{"kind", kKinds[static_cast<std::size_t>(link.kind)]},
                   {"end", word(kEnds[static_cast<std::size_t>(link.end)])},
                   {"peer", json_of(link.peer)},
                   {"target", json_of(link.target)},
                   {"count", json_of(link.count)},
                   {"gb_per_s_each", json_of(link.gb_per_s_each)}});
  }
  return out;
}

Json gpu_json(const Machine& machine, int position) {
  const Gpu& gpu = machine.gpus[static_cast<std::size_t>(position)];
  return {{"name", name_of(machine, {PartKind::gpu, position})},
          {"host", gpu.host},
          {"index", gpu.index},
          {"bus", json_of(gpu.bus)},
          {"vendor", word(vendor_word(gpu.vendor))},
          {"model", json_of(gpu.name)},
          {"uuid", json_of(gpu.uuid)},
          {"compute_capability", json_of(gpu.compute_capability)},
          {"rank", json_of(gpu.rank)},
          {"numa_node", json_of(gpu.numa_node)},
          {"cpus", cpus_json(gpu.cpus)},
          {"gpu_direct", json_of(gpu.gpu_direct)},
          {"links", links_json(machine, position)},
          {"where", json_of(gpu.where)}};
}

Json port_json(const Port& port) {
  return {{"number", port.number},
          {"net_name", json_of(port.net_name)},
          {"state", word(state_word(port.state))},
          {"phys_state", word(phys_word(port.phys_state))},
          {"link_layer", word(layer_word(port.link_layer))},
          {"gbit_per_s", json_of(port.gbit_per_s)},
          {"active_mtu_bytes", json_of(port.active_mtu_bytes)},
          {"gpu_direct", json_of(port.gpu_direct)}};
}

Json nic_json(const Machine& machine, int position) {
  const Nic& nic = machine.nics[static_cast<std::size_t>(position)];
  Json ports = Json::array();
  for (const Port& port : nic.ports) ports.push_back(port_json(port));
  return {{"name", name_of(machine, {PartKind::nic, position})},
          {"host", nic.host},
          {"bus", json_of(nic.bus)},
          {"numa_node", json_of(nic.numa_node)},
          {"is_rdma", nic.is_rdma},
          {"model", json_of(nic.model)},
          {"firmware", json_of(nic.firmware)},
          {"ports", ports},
          {"where", json_of(nic.where)}};
}

Json numa_json(const NumaNode& node) {
  return {{"host", node.host},
          {"id", node.id},
          {"package", json_of(node.package)},
          {"cpus", cpus_json(node.cpus)},
          {"memory_bytes", json_of(node.memory_bytes)},
          {"subtype", json_of(node.subtype)}};
}

}  // namespace

Json machine_json(const Machine& machine) {
  Json hosts = Json::array(), packages = Json::array(), nodes = Json::array(), gpus = Json::array(),
       nics = Json::array();
  for (const Host& host : machine.hosts)
    hosts.push_back({{"name", json_of(host.name)},
                     {"product", json_of(host.product)},
                     {"is_virtual", json_of(host.is_virtual)}});
  for (const Package& package : machine.packages)
    packages.push_back({{"host", package.host},
                        {"id", package.id},
                        {"vendor", json_of(package.vendor)},
                        {"model_name", json_of(package.model_name)},
                        {"arch", json_of(package.arch)}});
  for (const NumaNode& node : machine.numa_nodes) nodes.push_back(numa_json(node));
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    gpus.push_back(gpu_json(machine, static_cast<int>(i)));
  for (std::size_t i = 0; i < machine.nics.size(); ++i)
    nics.push_back(nic_json(machine, static_cast<int>(i)));
  return {{"hosts", hosts},
          {"packages", packages},
          {"numa_nodes", nodes},
          {"gpus", gpus},
          {"nics", nics},
          {"known",
           {{"gpus", machine.has_gpu_evidence},
            {"nics", machine.has_nic_evidence},
            {"links", machine.has_link_evidence}}}};
}

}  // namespace ringcomm::doctor
