// SPDX-License-Identifier: Apache-2.0
// Blocks inside one operation, from ringcomm's own records: who waits for whose block.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "diag/explain/groups/waits.hpp"

namespace ringcomm::inline v0::diag {

class StepIndex {
 public:
  explicit StepIndex(const JobPicture& picture);

  bool has_steps(int group) const { return group >= 0 && has_steps_[static_cast<std::size_t>(group)] != 0; }
  /// What a rank waits for inside its open operation: the block that has not come, or the reader that has not
  /// given back. Nothing: it waits for no block (it computes), or the block was sent.
  std::optional<WaitTarget> target(int group, int rank, std::int64_t seq,
                                   const std::vector<RankWait>& ranks) const;
  /// Blocks of this operation are recorded of this rank.
  bool is_inside(int group, int rank, std::int64_t seq) const;
  /// The step that a rank is in, of its open operation.
  const StepFact* waiting_step(int group, int rank, std::int64_t seq) const;

 private:
  using Key = std::tuple<int, int, int, std::int64_t, int>;  // group, sender, receiver, seq, step

  const JobPicture& picture_;
  std::vector<char> has_steps_;
  std::map<Key, const StepFact*> sent_;  ///< outgoing blocks of the newest operations
};

}  // namespace ringcomm::inline v0::diag
