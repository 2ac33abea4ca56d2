// SPDX-License-Identifier: Apache-2.0
// Sends and receives, paired: the k-th send of a to b with the k-th receive of b from a.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "diag/explain/groups/waits.hpp"

namespace ringcomm::inline v0::diag {

class PairIndex {
 public:
  explicit PairIndex(const JobPicture& picture);

  /// What this send or receive of `rank` waits for; nothing: its other half is there and nothing holds it.
  std::optional<WaitTarget> target(int group, int rank, const OpFact& op,
                                   const std::vector<RankWait>& ranks) const;

 private:
  /// Calls of one member in one direction with one peer.
  struct Calls {
    std::size_t completed = 0;
    std::vector<const OpFact*> open;
  };
  using Key = std::tuple<int, int, int, bool>;  // group, member, peer (both by place), is it a send

  const Calls* find(const Key& key) const;

  const JobPicture& picture_;
  std::map<Key, Calls> calls_;
  /// Group and member of which every send and receive since the start is known.
  std::map<std::pair<int, int>, bool> is_whole_;
};

}  // namespace ringcomm::inline v0::diag
