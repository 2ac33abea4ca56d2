// SPDX-License-Identifier: Apache-2.0
// Derives one path after the other; path.cpp puts them together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringcomm/topology/path.hpp"
#include "topology/device_place.hpp"
#include "topology/nvlink_map.hpp"
#include "topology/pci_path.hpp"
#include "topology/route_sum.hpp"

namespace ringcomm::inline v0::topology {

class PathBuilder {
 public:
  PathBuilder(const Machine& machine, const CostModel& costs, std::vector<SharedLink>& shared);

  /// From the devices' places alone; nothing that somebody stated.
  Path derive(const DevicePlace& from, const DevicePlace& to);
  /// NVLink or xGMI between two GPUs, directly or over switches.
  std::optional<Path> over_nvlink(int gpu_a, int gpu_b) const;
  /// Planning bandwidth of `count` NVLinks between two GPUs whose links the evidence does not list.
  Bandwidth stated_nvlinks(int gpu_a, int gpu_b, int count) const;

 private:
  Path between_hosts(const DevicePlace& from, const DevicePlace& to) const;
  Path between_numa_nodes(const DevicePlace& from, const DevicePlace& to);
  Path over_pci(const DevicePlace& from, const DevicePlace& to);
  Path to_cpu(const DevicePlace& device, const DevicePlace& node, bool is_upwards);
  void cross_socket(const DevicePlace& from, const DevicePlace& to, Path& path, RouteSum& sum);
  void cross_pci(const std::vector<int>& links, bool is_upwards, Path& path, RouteSum& sum);
  const LinkBundle* cpu_link(const DevicePlace& place) const;
  std::string on_host(int host) const;

  const Machine& machine_;
  const CostModel& costs_;
  SharedLinks shared_;
  std::vector<GpuLinks> links_;
  std::vector<double> stated_below_;  ///< [Machine::pci]
};

}  // namespace ringcomm::inline v0::topology
