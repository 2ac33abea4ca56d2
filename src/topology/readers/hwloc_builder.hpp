// SPDX-License-Identifier: Apache-2.0
// Turns hwloc's tree of objects into a Machine: first the objects, then devices, then distances.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/xml_document.hpp"

namespace ringcomm::inline v0::topology::hwloc_xml {

/// Value of <info name=... value=...> directly below an object; empty when there is none.
std::string info_of(pugi::xml_node object, std::string_view name);

class Builder {
 public:
  Builder(const XmlDocument& document, Reading& reading)
      : document_(document), reading_(reading), machine_(reading.machine) {}

  Status add_topology(pugi::xml_node topology);

 private:
  struct Place {
    std::optional<int> package{};  // position in Machine::packages
    std::optional<int> pci{};      // the bridge or device around an I/O object
    std::optional<PciRootBus> root_bus{};
    std::string_view nodeset{};        // of the nearest object that is no I/O object
    std::vector<int>* core = nullptr;  // CPUs of the core around a PU
  };
  struct OsDevice {
    std::string name{};
    int type = -1;
    std::optional<int> pci{};
    pugi::xml_node node{};
  };
  enum class EndKind : std::uint8_t { none, gpu, nvswitch, package };
  struct End {
    EndKind kind = EndKind::none;
    int position = 0;  // in gpus, pci or packages
  };
  struct Matrix {
    std::string name{};
    std::vector<std::string> ends{};  // "OSDev:802", or a number
    std::vector<std::uint64_t> values{};
  };

  // hwloc_objects.cpp
  Status add_object(pugi::xml_node object, Place place);
  void add_machine(pugi::xml_node object);
  void add_package(pugi::xml_node object);
  void add_numa_node(pugi::xml_node object, const Place& place);
  void add_pu(pugi::xml_node object, const Place& place);
  Status add_pci(pugi::xml_node object, Place& place);
  void settle_places();

  // hwloc_devices.cpp
  void add_gpus();
  void add_gpu(int pci, std::map<int, std::vector<const OsDevice*>>& os_devices);
  void number_gpus();
  void add_nics();
  void add_rdma_ports(const OsDevice& device, Nic& nic);

  // hwloc_matrix.cpp
  void add_distances(pugi::xml_node topology);
  void add_numa_distances(pugi::xml_node node, const Matrix& matrix);
  void add_numa_distances_of_format_1(pugi::xml_node node);
  std::optional<Matrix> matrix_of(pugi::xml_node node);
  End end_of(std::string_view index, std::string_view type) const;
  void add_bandwidths(pugi::xml_node node, const Matrix& matrix, LinkKind kind);
  void add_link(int gpu, End end, double gb_per_s, LinkKind kind, const Where& where);
  void state_paths(const Matrix& matrix, const std::vector<End>& ends, const Where& where);

  void skip(pugi::xml_node node, std::string reason);
  Status check_count(pugi::xml_node node, std::size_t count, std::size_t count_max) const;

  const XmlDocument& document_;
  Reading& reading_;
  Machine& machine_;
  std::string arch_{};
  std::vector<std::string_view> pci_nodesets_{};  // beside Machine::pci
  std::vector<std::vector<int>> package_cpus_{};  // beside Machine::packages
  std::vector<OsDevice> os_devices_{};
  std::map<std::int64_t, int> pci_by_gp_{};
  std::set<int> nvswitches_{};  // positions in Machine::pci
  std::map<std::int64_t, int> package_by_gp_{};
  std::map<int, PciBusId> gpu_memory_{};  // os id of a node -> the GPU whose memory it is
  std::map<int, int> gpu_preference_{};   // position in gpus -> number that the OS device's name has
};

}  // namespace ringcomm::inline v0::topology::hwloc_xml
