// SPDX-License-Identifier: Apache-2.0
// Turns the elements of one NCCL topology file into a Machine, in the file's order.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/xml_document.hpp"

namespace ringcomm::inline v0::topology::nccl_topo_xml {

class Builder {
 public:
  Builder(const XmlDocument& document, Reading& reading)
      : document_(document), reading_(reading), machine_(reading.machine) {}

  Status add_system(pugi::xml_node system);

 private:
  /// Where an element stands.
  struct Place {
    int host = 0;
    std::optional<int> numa_node{};  // os id
    std::optional<int> pci{};        // the bridge or device around it
  };

  int host_of(pugi::xml_node cpu);
  Status add_cpu(pugi::xml_node cpu);
  void describe_package(pugi::xml_node cpu, int host);
  void add_affinity(pugi::xml_node cpu, NumaNode& node);

  Status add_devices(pugi::xml_node parent, const Place& place);
  Status add_pci(pugi::xml_node node, const Place& place);
  PciDevice pci_device(pugi::xml_node node, PciBusId id, const Place& place) const;
  std::optional<int> known_pci(const PciDevice& device, pugi::xml_node node);
  Status add_gpu(pugi::xml_node node, const Place& place);
  void add_classed_devices();
  void number_gpus();

  Status add_net(pugi::xml_node node, const Place& place);
  Result<Port> port_of(pugi::xml_node node) const;
  Nic& nic_of_port(pugi::xml_node node, const Port& port, const Place& place);

  void add_links();
  void add_nvlink(pugi::xml_node node, int gpu, LinkKind kind);
  void find_end(pugi::xml_node node, Link& link);
  void add_c2c(pugi::xml_node node, int gpu);
  std::optional<int> numa_position(int host, std::optional<int> id) const;

  void skip(pugi::xml_node node, std::string reason);
  Status check_count(pugi::xml_node node, std::size_t count);

  const XmlDocument& document_;
  Reading& reading_;
  Machine& machine_;
  bool is_rccl_ = false;
  std::size_t elements_ = 0;  // checked so far: what is listed again adds no device, but takes time
  std::vector<std::pair<int, pugi::xml_node>> gpu_elements_{};  // position in Machine::gpus
};

}  // namespace ringcomm::inline v0::topology::nccl_topo_xml
