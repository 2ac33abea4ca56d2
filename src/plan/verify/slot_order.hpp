// SPDX-License-Identifier: Apache-2.0
// Proves that nobody rewrites a slot under a reader, and says which write each reader sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/verify/slot_reads.hpp"
#include "plan/wait_graph.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::plan {

struct Write {
  OpRef op;
  SlotRange range;
};

/// A part of a read that one write, or nobody, left behind.
struct Piece {
  std::uint64_t first = 0;     ///< in the slot
  std::int32_t write = kNone;  ///< index into SlotHistory::writes; kNone: what was there at the beginning
};

struct SlotHistory {
  std::vector<Write> writes;               ///< of at least one byte
  std::vector<std::vector<Piece>> pieces;  ///< [read] in ascending order; empty for a read of no bytes
};

/// For all bytes of all slots: any two writes are ordered, and any read is ordered against every write,
/// wherever the reader runs. Else invalid_argument with the two operations. `graph` has no cycle and has its
/// clocks.
Result<SlotHistory> order_accesses(std::span<const RankPlan> slices, const WaitGraph& graph,
                                   std::span<const Read> reads);

}  // namespace ringcomm::inline v0::plan
