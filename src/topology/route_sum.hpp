// SPDX-License-Identifier: Apache-2.0
// Bandwidth over several links: the slowest one, unknown as soon as one of them is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ringcomm/topology/path.hpp"
#include "topology/device_place.hpp"

namespace ringcomm::inline v0::topology {

/// Gives every shared link its position in PathMatrix::shared, once.
class SharedLinks {
 public:
  explicit SharedLinks(std::vector<SharedLink>& shared) : shared_(shared) {}
  int position(const std::string& name, const Bandwidth& bandwidth);

 private:
  std::vector<SharedLink>& shared_;
  std::map<std::string, int> positions_;
};

class RouteSum {
 public:
  void cross(const Bandwidth& bandwidth, const std::string& name);
  /// The result; notes the slowest link and the first unknown one in `reason`.
  void finish(Path& path) const;

 private:
  Bandwidth least_;
  std::string least_name_;
  std::string unknown_name_;
  bool is_empty_ = true;
};

/// Between the CPUs of two NUMA nodes, by package.
Bandwidth between_nodes(const Machine& machine, const CostModel& costs, int node_a, int node_b);

}  // namespace ringcomm::inline v0::topology
