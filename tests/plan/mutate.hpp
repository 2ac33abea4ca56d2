// SPDX-License-Identifier: Apache-2.0
// Breaks plans in the ways in which a planner's author would.
#pragma once

#include <array>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "plan/plan_kinds.hpp"

namespace ringcomm::plan::testing {

enum class Mutation {
  op_deleted,
  op_doubled,
  ops_swapped,
  op_moved,
  slot_shared,
  after_removed,
  number_changed,
  release_earlier,
};
inline constexpr std::array kMutationNames = {"op deleted",     "op doubled",     "ops swapped",
                                              "op moved",       "slot shared",    "after removed",
                                              "number changed", "release earlier"};

struct Mutant {
  std::vector<RankPlan> slices;
  std::string what;
};

/// Changes one slice of `original`; empty if it holds nothing that this mutation could change. `after`
/// follows the operation that it names; if that is gone, so is the edge.
std::optional<Mutant> mutate(const std::vector<RankPlan>& original, Mutation mutation, std::mt19937& random);

}  // namespace ringcomm::plan::testing
