// SPDX-License-Identifier: Apache-2.0
// The path matrix, small enough to read.
#pragma once

#include <string>

#include "ringcomm/diag/topology_checks.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

/// Up to this many devices in the columns the matrix is printed; above (or without `verbose`) each class is
/// counted.
inline constexpr std::size_t kMatrixColumns = 17;

/// Rows are GPUs, columns GPUs and NICs; without GPUs NUMA nodes and NICs. Empty where there is only one
/// device.
std::string path_text(const TopologyCase& input, const TextStyle& style);

}  // namespace ringcomm::doctor
