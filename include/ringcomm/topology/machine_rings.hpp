// SPDX-License-Identifier: Apache-2.0
// From a machine to its rings: what to order, which NIC and which cores each rank gets, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringcomm/core/placement.hpp"
#include "ringcomm/topology/path.hpp"
#include "ringcomm/topology/ring_order.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// A ring's vertex i is devices[i]: a GPU, or without GPUs a NUMA node.
struct MachineGraph {
  RingGraph graph{};
  std::vector<DeviceRef> devices{};
  std::vector<std::string>
      level_names{};  ///< "NV2", "PIX", "SYS": what each level of the graph is, best first
};
/// The block for which measured edges are compared: time = alpha + kRingLevelBytes / beta.
inline constexpr std::size_t kRingLevelBytes = std::size_t{4} << 20;

/// Levels are path classes with their link counts; where every edge is measured, times. Keys are (host, NUMA
/// node, bus id). Resources are PathMatrix::shared, each one direction. Without GPUs and NUMA nodes the graph
/// is empty.
MachineGraph ring_graph(const Machine& machine, const PathMatrix& paths);

/// One row of the explanation.
struct RingStep {
  DeviceRef from{};
  DeviceRef to{};
  std::string level{};  ///< "NV2"
  Bandwidth bandwidth{};
  std::string reason{};
};

/// NIC of a GPU (spec 2.7): minimum-cost matching on class, shared uplink, rate, load; ties by bus id.
struct NicChoice {
  int gpu = 0;                ///< position in Machine::gpus
  std::optional<int> nic{};   ///< position in Machine::nics
  std::optional<int> port{};  ///< Port::number
  PathClass path_class = PathClass::unknown;
  std::string reason{};
  Bandwidth bandwidth{};  ///< rate of the port, or of the path to it where that is slower; absent: unknown
};
struct ExcludedNic {
  int nic = 0;
  std::string
      reason{};  ///< "not ACTIVE (Down, Polling)", "SYS to every GPU", "Ethernet bond among InfiniBand rails"
};

struct MachineRings {
  MachineGraph graph{};
  RingSet rings{};
  RingOrder best{};  ///< the best single ring
  std::vector<std::vector<RingStep>>
      steps{};                    ///< [rings.rings], then of `best` alone if it is not among them
  std::vector<NicChoice> nics{};  ///< [gpus]
  std::vector<ExcludedNic> excluded{};
  std::vector<Placement> placements{};  ///< [graph.devices] near CPUs, NUMA node with CPUs
  std::vector<int>
      left_out{};  ///< GPUs (positions) better left out of the ring, with no NVLink among peers that have
};
/// Errors: not_available (the evidence has neither a GPU nor a NUMA node with CPUs), and those of plan_ring.
/// Deterministic; does not depend on how GPUs are numbered where they have bus ids.
Result<MachineRings> plan_machine_rings(const Machine& machine, const PathMatrix& paths,
                                        const RingOptions& options = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
