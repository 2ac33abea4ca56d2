// SPDX-License-Identifier: Apache-2.0
// One rank's operations in rounds where every rank gives and takes ranges: shared by reductions and merges.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Collects operations as `access` has them: offers and takes in place, or sends and receives, one group a
/// step.
class ExchangeSlice {
 protected:
  ExchangeSlice(Access access, int ranks, int rank) : rank_(rank), ranks_(ranks), access_(access) {}
  bool is_direct() const { return access_ == Access::direct_read; }
  int to(int distance) const { return (rank_ + distance) % ranks_; }
  int from(int distance) const { return (rank_ - distance + ranks_) % ranks_; }
  /// Direct: also notes the reclaim, for the caller to place.
  void give(int step, int peer, std::int32_t slot, Range range);
  /// Messages arrive at `range` of `slot`; in place, only its bytes count.
  void accept(int step, int peer, std::int32_t slot, Range range);
  void give_back(int step, int peer, std::uint64_t bytes);

  int rank_;
  std::vector<Op> ops_;
  std::vector<Op> reclaims_;

 private:
  int ranks_;
  Access access_;
};

}  // namespace ringcomm::inline v0::plan
