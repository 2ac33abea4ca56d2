// SPDX-License-Identifier: Apache-2.0
// Minimum-cost assignment.
#pragma once

#include <cstdint>
#include <vector>

namespace ringcomm::inline v0::topology {

/// `costs` [rows * columns], rows <= columns: the column of each row, all different, with the least sum.
/// Cost: rows squared x columns (Kuhn 1955, with potentials).
std::vector<std::size_t> assign_rows(const std::vector<std::int64_t>& costs, std::size_t rows,
                                     std::size_t columns);

}  // namespace ringcomm::inline v0::topology
