// SPDX-License-Identifier: Apache-2.0
// What it costs that a GPU uses a NIC (topology spec 2.7).
#pragma once

#include <cstddef>
#include <vector>

#include "ringcomm/topology/path.hpp"
#include "topology/matching.hpp"

namespace ringcomm::inline v0::topology {

/// Of one host, both in planning order.
struct NicRows {
  std::vector<std::size_t> gpus{};  ///< positions in the matrix
  std::vector<std::size_t> nics{};
};

/// [gpus][nics][copies], for assign_rows(). Class, then whose uplink would be shared, then the rate, then the
/// GPUs that the NIC already serves (its copy), then the distance in the order of bus ids. An uplink is the
/// highest bridge above a NIC, else the card itself; one that carries all of its NICs at once (both known) is
/// not counted as shared.
std::vector<MatchCost> nic_costs(const Machine& machine, const PathMatrix& paths, const NicRows& rows,
                                 std::size_t copies);

}  // namespace ringcomm::inline v0::topology
