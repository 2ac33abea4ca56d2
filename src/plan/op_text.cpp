// SPDX-License-Identifier: Apache-2.0
#include "plan/op_text.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {

std::string describe(std::span<const RankPlan> slices, OpRef ref) {
  const Op& op = op_at(slices, ref);
  std::string text =
      concat("rank ", ref.rank, " operation ", ref.index, " (", name_of(op.kind), ", step ", op.step);
  if (op.peer != kNone) text += concat(", peer ", op.peer);
  if (op.block != kNone) text += concat(", block ", op.block);
  if (op.slot != kNone) text += concat(", slot ", op.slot);
  return text + ")";
}

}  // namespace ringcomm::inline v0::plan
