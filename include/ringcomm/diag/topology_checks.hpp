// SPDX-License-Identifier: Apache-2.0
// The checks of a machine (spec topology section 3.1 to 3.3 and 55, 69, 71, 72 of 3.4).
#pragma once

#include <span>

#include "ringcomm/diag/finding.hpp"
#include "ringcomm/topology/evidence.hpp"
#include "ringcomm/topology/machine_rings.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Everything a check may look at. Plain data: nothing here is live.
struct TopologyCase {
  MergedEvidence evidence{};
  CostModel costs = CostModel::table();
  PathMatrix paths{};
  MachineRings rings{};
  std::vector<UnreadFile> unread{};
};
/// Derives paths and rings.
TopologyCase make_topology_case(MergedEvidence evidence, const CostModel& costs,
                                std::vector<UnreadFile> unread = {});

/// Problems and unknowns, worst first, followers behind their cause; checks that are ok are left out unless
/// `with_ok`. At most three unknowns ask for more files, with the commands.
enum class KeepOk : std::uint8_t { no, yes };
std::vector<Finding> check_topology(const TopologyCase& input, KeepOk keep_ok = KeepOk::no);

/// Configured against best (spec 2.8).
struct EdgeComparison {
  DeviceRef from{};
  DeviceRef to_now{};
  DeviceRef to_best{};
  std::string level_now{};
  std::string level_best{};
  Bandwidth now{};
  Bandwidth best{};
  std::string cause{};
};
struct PlanComparison {
  bool is_known = false;     ///< false: nothing configured in the evidence; `source` says so
  std::string source{};      ///< "NCCL channel 00 of log.txt:12", "RINGCOMM_RING_ORDER", "rank order"
  std::vector<int> order{};  ///< positions in MachineGraph::devices
  std::vector<EdgeComparison> edges{};
  std::string slowest_now{};
  std::string slowest_best{};
  int links_used_now = 0;
  int links_used_best = 0;
  int links_total = 0;
  int nics_used = 0;
  int nics_usable = 0;
  bool is_ok = true;       ///< within 5 %
  std::string variable{};  ///< "RINGCOMM_RING_ORDER=0,3,2,1,5,6,7,4", "CUDA_VISIBLE_DEVICES=..."
};
PlanComparison compare_plan(const TopologyCase& input, std::optional<std::vector<int>> configured = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
