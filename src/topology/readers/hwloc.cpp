// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/hwloc.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace ringcomm::inline v0::topology::hwloc {
namespace {

using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

Topology new_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) topology = nullptr;
  return {topology, &hwloc_topology_destroy};
}

int package_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, pu);
  return package == nullptr ? 0 : static_cast<int>(package->logical_index);
}

/// Platforms that do not name cores leave a PU without one; it is then a core of its own.
std::vector<CoreInfo> cores_of(hwloc_topology_t topology, std::span<const int> allowed_cpus) {
  std::vector<CoreInfo> cores;
  hwloc_obj_t last_core = nullptr;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr) {
    const int cpu = static_cast<int>(pu->os_index);
    if (std::ranges::find(allowed_cpus, cpu) == allowed_cpus.end()) continue;
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    if (core == nullptr || core != last_core) {
      cores.push_back({.package = package_of(topology, pu),
                       .memory_node = pu->nodeset == nullptr ? -1 : hwloc_bitmap_first(pu->nodeset),
                       .cpus = {}});
    }
    cores.back().cpus.push_back(cpu);
    last_core = core;
  }
  return cores;
}

}  // namespace

std::vector<CoreInfo> read_cores(std::span<const int> allowed_cpus) {
  const Topology topology = new_topology();
  if (!topology || hwloc_topology_load(topology.get()) != 0) return {};
  if (hwloc_topology_is_thissystem(topology.get()) == 0) return {};
  return cores_of(topology.get(), allowed_cpus);
}

std::vector<CoreInfo> read_synthetic_cores(const std::string& description,
                                           std::span<const int> allowed_cpus) {
  const Topology topology = new_topology();
  if (!topology || hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0) return {};
  if (hwloc_topology_load(topology.get()) != 0) return {};
  return cores_of(topology.get(), allowed_cpus);
}

Result<std::string> export_live_xml() {
  const Topology topology = new_topology();
  if (!topology) return Status::not_available("hwloc could not start");
  // Plug-ins that start GPU runtimes have no place in a library (NVML is read by ourselves), and the one for
  // PCI leaks libpciaccess's tables, while hwloc's Linux part reads the same from sysfs.
  for (const char* const component : {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl", "pci"})
    static_cast<void>(
        hwloc_topology_set_components(topology.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component));
  // I/O objects are left out by default.
  if (hwloc_topology_set_io_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    return Status::not_available("hwloc could not read this machine");
  if (hwloc_topology_is_thissystem(topology.get()) == 0)
    return Status::not_available("hwloc was told to show another machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC)");
#if HWLOC_API_VERSION >= 0x00030000
  constexpr unsigned long kFormat2 = HWLOC_TOPOLOGY_EXPORT_XML_FLAG_V2;
#else
  constexpr unsigned long kFormat2 = 0;
#endif
  char* buffer = nullptr;
  int bytes = 0;
  if (hwloc_topology_export_xmlbuffer(topology.get(), &buffer, &bytes, kFormat2) != 0)
    return Status::not_available("hwloc could not export this machine as XML");
  // The count includes the terminating zero.
  std::string text(buffer, bytes > 0 ? static_cast<std::size_t>(bytes) - 1 : 0);
  hwloc_free_xmlbuffer(topology.get(), buffer);
  return text;
}

}  // namespace ringcomm::inline v0::topology::hwloc
