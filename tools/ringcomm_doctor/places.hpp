// SPDX-License-Identifier: Apache-2.0
// Which devices belong together on the picture of a machine: host, package, NUMA node.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/topology/path.hpp"

namespace ringcomm::doctor {

/// Devices of one NUMA node; or, where no node is known, of one list of near CPUs, or without a known place.
struct Place {
  std::string label{};      ///< "NUMA 0  CPUs 0-47  503 GiB", "near CPUs 0-19,40-59", "place unknown"
  std::vector<int> gpus{};  ///< positions in the machine
  std::vector<int> nics{};
};
struct PackagePlaces {
  int host = 0;
  std::string title{};
  bool is_one_place = false;  ///< no package is known: the title is only the host's, the place's label tells
  std::vector<Place> places{};
};

/// In the order of hosts, packages and nodes. A NIC without a NUMA node is put beside the GPU that it shares
/// a NUMA node with by their path (NODE or nearer); every GPU and NIC is in exactly one place.
std::vector<PackagePlaces> find_places(const Machine& machine, const PathMatrix& paths);

}  // namespace ringcomm::doctor
