// SPDX-License-Identifier: Apache-2.0
// Who waits for whom over all groups. The members that a collective misses are stored once for each group
// and sequence, not once for each waiting rank: the graph is linear in ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

enum class TargetState : std::uint8_t {
  missing,  ///< has not made the call: its own evidence says so
  behind,   ///< has made it, but an earlier call of its own holds it
  unknown,  ///< no evidence of it
};

struct WaitTarget {
  int rank = kUnknown;  ///< index into JobPicture::ranks; kUnknown: a member that nobody names
  TargetState state = TargetState::unknown;
};

/// All that a call waits for (AND over the targets), and the ranks whose oldest open call it is.
struct WaitSet {
  int group = kUnknown;
  std::optional<std::int64_t> seq;
  const OpFact* op = nullptr;  ///< one of the waiting calls; null where only counts are known
  bool is_p2p = false;
  bool is_step = false;  ///< inside one collective: a block that has not come
  std::vector<WaitTarget> targets;
  std::vector<int> waiters;
};

/// The oldest open call of one rank in one group.
struct Head {
  int group = kUnknown;
  const OpFact* op = nullptr;
  std::optional<std::int64_t> seq;
  std::vector<const OpFact*> parts;  ///< of a coalesced call
};

struct RankWait {
  std::vector<Head> heads;  ///< oldest first; empty: nothing open
  int set = kUnknown;       ///< index into WaitGraph::sets; kUnknown: waits for nobody
  bool is_lagging = false;  ///< its peers completed what it has still open
  bool is_lagging_everywhere = false;
  std::int64_t lag = 0;  ///< how many calls its peers are ahead, at most
};

struct WaitGraph {
  std::vector<RankWait> ranks;  ///< as JobPicture::ranks
  std::vector<WaitSet> sets;
  bool is_timed = false;  ///< the order of calls of different groups is known
  std::size_t work = 0;   ///< members looked at; linear in ranks and facts

  /// Ranks that are waited for and wait for nobody.
  std::vector<int> sinks() const;
  /// Ranks of each cycle that nobody can leave: waits for its own members only.
  std::vector<std::vector<int>> closed_cycles() const;
  /// Ranks whose wait ends, over any number of steps, at one of these.
  std::vector<int> waiting_for(const std::vector<int>& ranks) const;
};

WaitGraph wait_graph_of(const JobPicture& picture);

}  // namespace ringcomm::inline v0::diag
