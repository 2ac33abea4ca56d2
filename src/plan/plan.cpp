// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/plan/plan.hpp"

#include "plan/fnv.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

void pad_to(std::string& line, std::size_t column) {
  if (line.size() + 2 > column) {
    line += "  ";
  } else {
    line.append(column - line.size(), ' ');
  }
}

std::string_view preposition(OpKind kind) {
  switch (kind) {
    case OpKind::offer:
    case OpKind::send:
    case OpKind::release:
      return "to ";
    default:
      return "from ";
  }
}

std::string line_of(const Op& op, std::size_t index) {
  std::string line = concat(index);
  pad_to(line, 5);
  line += concat("step ", op.step);
  pad_to(line, 15);
  line += op.stream == StreamRole::comm ? "comm" : "compute";
  pad_to(line, 24);
  line += name_of(op.kind);
  pad_to(line, 33);
  if (op.peer != kNone) line += concat(preposition(op.kind), op.peer);
  pad_to(line, 43);
  if (op.block != kNone) line += concat("block ", op.block);
  pad_to(line, 54);
  if (op.slot != kNone) line += concat("slot ", op.slot);
  pad_to(line, 63);
  line += concat(op.bytes, " bytes");
  if (op.offset != 0) line += concat(" at ", op.offset);
  if (op.target_slot != kNone) line += concat("  into slot ", op.target_slot);
  if (op.kind == OpKind::compute && op.code != 0) line += concat("  code ", op.code);
  if (op.group != kNone) line += concat("  group ", op.group);
  if (op.after != kNone) line += concat("  after ", op.after);
  if (op.tile_count != 0) line += concat("  tiles ", op.tile_first, "+", op.tile_count);
  return line;
}

}  // namespace

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::offer:
      return "offer";
    case OpKind::take:
      return "take";
    case OpKind::pull:
      return "pull";
    case OpKind::release:
      return "release";
    case OpKind::reclaim:
      return "reclaim";
    case OpKind::send:
      return "send";
    case OpKind::recv:
      return "recv";
    case OpKind::compute:
      return "compute";
  }
  return "unknown";
}

std::uint64_t RankPlan::arena_bytes() const {
  std::uint64_t sum = 0;
  for (const Slot& slot : slots) sum += slot.kind == SlotKind::arena ? slot.bytes : 0;
  return sum;
}

std::uint64_t hash(const RankPlan& slice) {
  Fnv fnv;
  fnv.add(slice.rank).add(slice.ranks).add(slice.op).add(slice.steps).add(slice.signature);
  fnv.add(slice.slots.size());
  for (const Slot& slot : slice.slots) fnv.add(slot.kind).add(slot.bytes);
  fnv.add(slice.ops.size());
  for (const Op& op : slice.ops) {
    fnv.add(op.kind).add(op.stream).add(op.step).add(op.peer).add(op.block).add(op.slot);
    fnv.add(op.target_slot).add(op.group).add(op.after).add(op.code).add(op.offset).add(op.bytes);
    fnv.add(op.tile_first).add(op.tile_count);
  }
  fnv.add(slice.tiles.size());
  for (const Tile& tile : slice.tiles) fnv.add(tile.q_chunk).add(tile.k_chunk);
  return fnv.value();
}

std::string to_text(const RankPlan& slice) {
  std::string text = concat(name_of(slice.op), " on rank ", slice.rank, " of ", slice.ranks, ", ",
                            slice.steps, " steps, ", slice.arena_bytes(), " arena bytes\n");
  for (std::size_t index = 0; index < slice.ops.size(); ++index)
    text += line_of(slice.ops[index], index) + "\n";
  return text;
}

}  // namespace ringcomm::inline v0::plan
