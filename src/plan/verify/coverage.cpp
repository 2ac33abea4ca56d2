// SPDX-License-Identifier: Apache-2.0
#include "plan/verify/coverage.hpp"

#include "core/try.hpp"
#include "plan/op_text.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

/// The compute that hands a block to the caller, and the owner's slot whose size it must have.
struct Delivery {
  ComputeCode code = ComputeCode::consume;
  std::size_t slot = 0;
};

Delivery delivery_of(OpCode op) {
  switch (op) {
    case OpCode::softmax_all_reduce:
    case OpCode::softmax_reduce_scatter:
    case OpCode::all_reduce:
    case OpCode::reduce_scatter:
      return {ComputeCode::copy_result, 1};
    default:
      return {ComputeCode::consume, 0};
  }
}

/// The whole block, or the part of it that is this rank's.
Status check_size(std::span<const RankPlan> slices, OpRef ref, std::size_t slot, const Coverage& coverage) {
  const Op& op = op_at(slices, ref);
  const auto block = static_cast<std::size_t>(op.block);
  const auto& slots = slices[block].slots;
  std::uint64_t wanted = slot < slots.size() ? slots[slot].bytes : op.bytes;
  if (!coverage.sizes.empty())
    wanted = coverage.sizes[static_cast<std::size_t>(ref.rank) * slices.size() + block];
  if (wanted == op.bytes) return {};
  return Status::invalid_argument(
      concat(describe(slices, ref), " hands over ", op.bytes, " bytes of a block that has ", wanted));
}

Status check_parts(const Coverage& coverage, std::size_t ranks) {
  for (const auto* list : {&coverage.origins, &coverage.sizes}) {
    if (list->empty() || list->size() == ranks * ranks) continue;
    return Status::invalid_argument(concat("coverage cuts ", list->size(), " blocks for ", ranks,
                                           " ranks (none, or ", ranks * ranks, ")"));
  }
  return {};
}

Status check_blocks(std::span<const RankPlan> slices, const Coverage& coverage) {
  const std::size_t ranks = slices.size();
  if (coverage.consumed.empty()) return {};
  if (coverage.consumed.size() != ranks * ranks) {
    return Status::invalid_argument(concat("coverage names ", coverage.consumed.size(), " pairs for ", ranks,
                                           " ranks (none, or ", ranks * ranks, ")"));
  }
  RINGCOMM_TRY(check_parts(coverage, ranks));
  std::vector<int> counts(ranks * ranks, 0);
  for (const RankPlan& slice : slices) {
    const Delivery delivery = delivery_of(slice.op);
    for (std::size_t index = 0; index < slice.ops.size(); ++index) {
      const Op& op = slice.ops[index];
      if (op.kind != OpKind::compute || op.code != static_cast<std::uint32_t>(delivery.code)) continue;
      RINGCOMM_TRY(
          check_size(slices, {slice.rank, static_cast<std::int32_t>(index)}, delivery.slot, coverage));
      ++counts[static_cast<std::size_t>(slice.rank) * ranks + static_cast<std::size_t>(op.block)];
    }
  }
  for (std::size_t pair = 0; pair < counts.size(); ++pair) {
    const int wanted = coverage.consumed[pair] != 0 ? 1 : 0;
    if (counts[pair] == wanted) continue;
    return Status::invalid_argument(concat("rank ", pair / ranks, " gets block ", pair % ranks, " ",
                                           counts[pair], " times instead of ", wanted));
  }
  return {};
}

Status count_tiles(const RankPlan& slice, int chunks, std::vector<int>& counts) {
  for (std::size_t index = 0; index < slice.ops.size(); ++index) {
    const Op& op = slice.ops[index];
    if (op.kind != OpKind::compute) continue;
    for (std::size_t at = op.tile_first; at < std::size_t{op.tile_first} + op.tile_count; ++at) {
      const Tile tile = slice.tiles[at];
      if (tile.q_chunk < 0 || tile.q_chunk >= chunks || tile.k_chunk < 0 || tile.k_chunk >= chunks) {
        return Status::invalid_argument(concat("rank ", slice.rank, " operation ", index, " step ", op.step,
                                               ": tile (", tile.q_chunk, ", ", tile.k_chunk,
                                               ") is outside the layout's ", chunks, " chunks"));
      }
      ++counts[static_cast<std::size_t>(tile.q_chunk) * static_cast<std::size_t>(chunks) +
               static_cast<std::size_t>(tile.k_chunk)];
    }
  }
  return {};
}

Status check_pairs(std::span<const RankPlan> slices, const Coverage& coverage) {
  if (coverage.chunks == 0 && coverage.visible.empty()) return {};
  const auto chunks = static_cast<std::size_t>(coverage.chunks);
  if (coverage.chunks < 0 || coverage.visible.size() != chunks * chunks) {
    return Status::invalid_argument(concat("coverage has ", coverage.visible.size(), " chunk pairs for ",
                                           coverage.chunks, " chunks (their square is needed)"));
  }
  std::vector<int> counts(chunks * chunks, 0);
  for (const RankPlan& slice : slices) RINGCOMM_TRY(count_tiles(slice, coverage.chunks, counts));
  for (std::size_t pair = 0; pair < counts.size(); ++pair) {
    const int wanted = coverage.visible[pair] != 0 ? 1 : 0;
    if (counts[pair] == wanted) continue;
    return Status::invalid_argument(concat("query chunk ", pair / chunks, " meets key chunk ", pair % chunks,
                                           " ", counts[pair], " times instead of ", wanted));
  }
  return {};
}

}  // namespace

Status check_coverage(std::span<const RankPlan> slices, const Coverage& coverage) {
  RINGCOMM_TRY(check_blocks(slices, coverage));
  return check_pairs(slices, coverage);
}

}  // namespace ringcomm::inline v0::plan
