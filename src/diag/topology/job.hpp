// SPDX-License-Identifier: Apache-2.0
// What a job did, as its log shows: which NIC each GPU used.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::inline v0::diag {

/// "0[3] -> 1[2] via NET/IB/5/GDRDMA": the GPU that sends (or receives), and the NIC.
struct NicUse {
  std::optional<std::size_t> gpu{};  ///< position in Machine::gpus
  std::optional<std::size_t> nic{};  ///< position in Machine::nics
  int net = 0;                       ///< NCCL's net dev
  Where where{};
};
std::vector<NicUse> nic_uses(const TopologyCase& input);
/// Distinct net devs of the uses, or of the list of interfaces that the log says are used.
std::set<std::string> nets_used(const TopologyCase& input);
/// NICs that the planner would use.
std::vector<std::size_t> usable_nics(const TopologyCase& input);

}  // namespace ringcomm::inline v0::diag
