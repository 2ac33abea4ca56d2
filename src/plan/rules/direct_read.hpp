// SPDX-License-Identifier: Apache-2.0
// Blocks read in their owner's memory: shared by the direct rotation and the all-gather.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/plan/plan.hpp"

namespace ringcomm::inline v0::plan {

/// Collects one rank's operations: who reads whom is the caller's to say. All on the compute queue: nothing
/// is copied, so nothing can overlap.
class DirectReads {
 public:
  /// `target_slot`: where consumed blocks are copied to, or kNone.
  DirectReads(int rank, int target_slot) : rank_(rank), target_slot_(target_slot) {}
  void offer(int step, int reader, std::uint64_t bytes);
  /// `place`: first byte inside the target slot.
  void consume_own(std::uint64_t bytes, std::uint64_t place = 0);
  void consume(int step, int owner, std::uint64_t bytes, std::uint64_t place = 0);
  /// The operations, closed by a reclaim for every offer.
  std::vector<Op> finish() &&;

 private:
  int rank_;
  int target_slot_;
  std::vector<Op> ops_;
};

}  // namespace ringcomm::inline v0::plan
