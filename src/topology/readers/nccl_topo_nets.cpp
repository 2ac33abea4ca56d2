// SPDX-License-Identifier: Apache-2.0
// The <net> elements: one for each port, which are gathered into NICs.
#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/nccl_topo_builder.hpp"

namespace ringcomm::inline v0::topology::nccl_topo_xml {

Result<Port> Builder::port_of(pugi::xml_node node) const {
  Port port;
  port.net_index = int_attribute(node, "dev");
  port.net_name = node.attribute("name").value();
  if (!port.net_index) return document_.missing(node, "dev");
  if (port.net_name.empty()) return document_.missing(node, "name");
  const auto mbit_per_s = number_attribute(node, "speed");
  if (mbit_per_s && *mbit_per_s > 0) port.gbit_per_s = *mbit_per_s / 1000;
  port.gpu_direct = flag_attribute(node, "gdr");
  port.where = document_.where(node);
  return port;
}

namespace {

/// "0x0200000000000001": one spelling for all readers.
std::string guid_text(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty() || text.size() > 16 || text.find_first_not_of("0123456789abcdefABCDEF") < text.size())
    return {};
  std::string digits(text);
  for (char& c : digits) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  return concat("0x", std::string(16 - digits.size(), '0'), digits);
}

/// NCCL's socket plugin names nets by the network interface and allows 65,536 connections (net_socket.cc,
/// maxComms); verbs plugins allow other numbers.
bool is_socket(pugi::xml_node net) {
  const std::string_view name = net.attribute("name").value();
  constexpr std::string_view kInterfaces[] = {"eth", "eno",  "ens",    "enp", "enP",
                                              "enx", "bond", "docker", "veth"};
  return int_attribute(net, "maxconn") == 65536 ||
         std::ranges::any_of(kInterfaces, [&](std::string_view word) { return name.starts_with(word); });
}

}  // namespace

Nic& Builder::nic_of_port(pugi::xml_node node, const Port& port, const Place& place) {
  const std::string guid = guid_text(node.attribute("guid").value());
  for (Nic& nic : machine_.nics) {
    if (nic.host != place.host) continue;
    // Two functions of one card (same guid and slot) are one NIC with two ports.
    const bool is_same_card = place.pci && nic.bus && !guid.empty() && nic.guid == guid && [&] {
      const PciBusId& bus = machine_.pci[static_cast<std::size_t>(*place.pci)].id;
      return bus.domain == nic.bus->domain && bus.bus == nic.bus->bus && bus.device == nic.bus->device;
    }();
    const bool is_same_name = !place.pci && !nic.bus && nic.name == port.net_name;
    if ((place.pci && nic.pci == place.pci) || is_same_card || is_same_name) return nic;
  }
  Nic& nic = machine_.nics.emplace_back();
  nic.host = place.host;
  nic.name = port.net_name;
  nic.pci = place.pci;
  if (place.pci) nic.bus = machine_.pci[static_cast<std::size_t>(*place.pci)].id;
  nic.numa_node = place.numa_node;
  nic.guid = guid;
  nic.is_rdma = !is_socket(node);
  nic.where = port.where;
  return nic;
}

Status Builder::add_net(pugi::xml_node node, const Place& place) {
  RINGCOMM_TRY(check_count(node, machine_.nics.size()));
  RINGCOMM_TRY_ASSIGN(Port port, port_of(node));
  machine_.has_nic_evidence = true;
  Nic& nic = nic_of_port(node, port, place);
  const auto twin = std::ranges::find_if(nic.ports, [&](const Port& other) {
    return other.net_name == port.net_name && other.net_index == port.net_index;
  });
  if (twin != nic.ports.end()) {
    if (nic.numa_node != place.numa_node) nic.numa_node.reset();
    skip(node, "this net is listed twice; taken as one device");
    return {};
  }
  RINGCOMM_TRY(check_count(node, nic.ports.size()));
  port.number = int_attribute(node, "port").value_or(static_cast<int>(nic.ports.size()) + 1);
  nic.ports.push_back(std::move(port));
  return {};
}

}  // namespace ringcomm::inline v0::topology::nccl_topo_xml
