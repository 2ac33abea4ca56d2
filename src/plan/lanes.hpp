// SPDX-License-Identifier: Apache-2.0
// Who meets whom: the FIFO lanes between the ranks, and the check that both sides of each agree.
#pragma once

#include <span>
#include <vector>

#include "plan/op_text.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::plan {

/// The lanes from one rank (the owner of the data) to another (its reader), in list order.
struct Lane {
  std::vector<OpRef> out;       ///< owner: offer, send
  std::vector<OpRef> in;        ///< reader: take, pull, recv
  std::vector<OpRef> releases;  ///< reader
  std::vector<OpRef> reclaims;  ///< owner
};

class Lanes {
 public:
  /// `slices` have passed check_structure and outlive this.
  explicit Lanes(std::span<const RankPlan> slices);
  const Lane& between(int owner, int reader) const { return lanes_[index_of(owner, reader)]; }
  std::span<const Lane> all() const { return lanes_; }

  /// ok when the k-th of every side meets a k-th of the right kind with the same step, block and bytes, every
  /// offer is reclaimed, and every take and pull is released, once and not before it was made. Else mismatch,
  /// or invalid_argument for acknowledgements.
  Status check() const;

 private:
  std::size_t index_of(int owner, int reader) const {
    return static_cast<std::size_t>(owner) * slices_.size() + static_cast<std::size_t>(reader);
  }
  void add(OpRef ref);
  Status check_data(const Lane& lane) const;
  Status check_acknowledgements(const Lane& lane) const;
  Status compare(OpRef a, OpRef b) const;

  std::span<const RankPlan> slices_;
  std::vector<Lane> lanes_;
};

}  // namespace ringcomm::inline v0::plan
