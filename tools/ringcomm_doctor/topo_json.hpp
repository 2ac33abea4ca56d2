// SPDX-License-Identifier: Apache-2.0
// The report for programs: docs/topology-schema.json. Unknown is null, never 0.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::doctor {

/// Raised when a key changes its meaning or goes; new keys do not raise it.
inline constexpr int kJsonSchema = 1;

struct SourceFile {
  std::string file{};
  std::string format{};
};

struct TopoReport {
  TopologyCase input{};
  std::vector<Finding> findings{};
  PlanComparison comparison{};
  std::vector<SourceFile> sources{};  ///< what was read; "live" for this machine
  int exit_code = 0;
};

std::string topo_json(const TopoReport& report);

}  // namespace ringcomm::doctor
