// SPDX-License-Identifier: Apache-2.0
// Measured costs of path classes, as `ringcomm-perf --calibrate` writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/cost_model.hpp"

namespace ringcomm::inline v0::topology::cost_json {

struct MeasuredCosts {
  PartKind kind = PartKind::numa_node;  ///< what was measured between: host ranks or GPUs
  std::vector<ClassCost> classes{};
  MergeLimits merge{};
};

/// Strict: an unknown key, a class named twice and a number out of range are corrupt_data that names the key.
Result<MeasuredCosts> read(std::string_view text, const std::string& file);

}  // namespace ringcomm::inline v0::topology::cost_json
