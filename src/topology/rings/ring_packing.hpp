// SPDX-License-Identifier: Apache-2.0
// Rings that share out the links of a graph, each taking one link of every edge it uses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ringcomm::inline v0::topology {

enum class RingUse : std::uint8_t { one_way, two_way };

struct PackingTask {
  int size = 0;              ///< at least 3
  std::vector<int> links{};  ///< [size * size]; two_way: symmetric
  RingUse use = RingUse::two_way;
  int rings = 0;             ///< wanted
  int repeat_max = 1;        ///< how often one ring may come
  std::vector<int> first{};  ///< taken first if it fits; empty: any
};

/// Each begins at position 0; two-way rings in the direction whose second position is lower. Nothing: there
/// is no such packing, or the search used up `steps_left` (then 0 or less). A step is one vertex that is
/// tried, or 16 numbers that are looked at.
std::optional<std::vector<std::vector<int>>> pack_rings(const PackingTask& task, long long& steps_left);

}  // namespace ringcomm::inline v0::topology
