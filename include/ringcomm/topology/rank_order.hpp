// SPDX-License-Identifier: Apache-2.0
// In which order a ring visits ranks that run on CPUs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Where one rank runs, as far as a path between two of them is concerned. -1: unknown, or several.
struct RankPlace {
  std::uint64_t host = 0;  ///< equal on one host
  std::int32_t package = -1;
  std::int32_t memory_node = -1;
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// The ring of least cost, begun at rank 0: hosts are entered once, packages of a host once, memory nodes of
/// a package once; ranks that share a place are neighbours. Where the order 0, 1, 2, ... costs no more, it is
/// the result. The same on every rank for the same places. Cost: plan_ring() over the different places.
Result<std::vector<int>> ring_over(std::span<const RankPlace> places);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
