// SPDX-License-Identifier: Apache-2.0
// A rotation rule as one rank sees it, and the two relay forms made from it.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {

/// Answers questions about a checked rule; keeps a reference to it.
class RotationView {
 public:
  RotationView(const RotationRule& rule, int rank) : rule_(rule), rank_(rank), place_(place_of(rank)) {}
  const RotationRule& rule() const { return rule_; }
  int rank() const { return rank_; }
  int ranks() const { return rule_.ranks; }
  /// Whose block this rank reads at `step`, and who reads this rank's block at `step`.
  int owner_at(int step) const;
  int reader_at(int step) const;
  std::uint64_t bytes(int owner) const;
  bool needs(int reader, int owner) const;
  /// How far the block of `owner` has to travel to reach its last reader; 0 when only the owner reads it.
  int hops(int owner) const;
  /// Messages per hop of that block; an empty block is one empty message.
  std::uint64_t chunk_count(int owner) const;

 private:
  int place_of(int rank) const;
  /// Who is `offset` places further on than `place`, in the direction of the data.
  int member(int place, int offset) const;
  const RotationRule& rule_;
  int rank_;
  int place_;
};

/// Relay where the successor copies out of this rank's slot.
std::vector<Op> relay_by_pull(const RotationView& view);
/// Relay by grouped send and recv.
std::vector<Op> relay_by_message(const RotationView& view);

}  // namespace ringcomm::inline v0::plan
