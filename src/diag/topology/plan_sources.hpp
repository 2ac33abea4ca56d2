// SPDX-License-Identifier: Apache-2.0
// The ring order that a job was told to use, or used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::inline v0::diag {

enum class PlanKind : std::uint8_t { ringcomm, nccl };
struct PlanSource {
  bool is_known = false;
  PlanKind kind = PlanKind::ringcomm;
  std::string source{};
  std::vector<std::vector<int>> orders{};  ///< positions in MachineGraph::devices
  bool has_all_rings = false;              ///< the evidence lists every ring that is used
  Where where{};
};
PlanSource find_plan(const TopologyCase& input, std::optional<std::vector<int>> configured);

}  // namespace ringcomm::inline v0::diag
