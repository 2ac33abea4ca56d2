// SPDX-License-Identifier: Apache-2.0
// Every read of a slot by any rank, with what the reader believes it finds there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/verify/slot_access.hpp"
#include "plan/wait_graph.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/plan/verify.hpp"

namespace ringcomm::inline v0::plan {

/// A contiguous part of a block, or of the rows that its rank has merged.
struct Content {
  enum class Kind : std::uint8_t { block, merged_rows };
  std::int32_t block = kNone;
  std::uint64_t origin = 0;  ///< byte of the block at the first byte of the range
  Kind kind = Kind::block;
  friend bool operator==(const Content&, const Content&) = default;
};

struct Read {
  OpRef op;
  std::int32_t owner = 0;  ///< whose slot: op's own rank, or the peer's for a pull or a view
  SlotRange range;
  std::int32_t block = kNone;
  std::optional<std::uint64_t> origin;  ///< absent: any, as long as it is contiguous
  std::optional<Content::Kind> kind;
};

/// invalid_argument where a compute uses a view that is not held from before it starts until after it ends,
/// or that has other bytes or another block. `coverage` says where in a block consumers begin.
Result<std::vector<Read>> collect_reads(std::span<const RankPlan> slices, const Lanes& lanes,
                                        const WaitGraph& graph, const Coverage& coverage);

}  // namespace ringcomm::inline v0::plan
