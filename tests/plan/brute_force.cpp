// SPDX-License-Identifier: Apache-2.0
#include "plan/brute_force.hpp"

#include <set>

#include "plan/toy_machine.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::plan::testing {
namespace {

bool is_between(std::int64_t value, std::int64_t first, std::int64_t end) {
  return first <= value && value < end;
}

bool fits(const RankPlan& slice, std::int32_t slot, std::uint64_t offset, std::uint64_t bytes) {
  if (!is_between(slot, 0, static_cast<std::int64_t>(slice.slots.size()))) return false;
  const std::uint64_t size = slice.slots[static_cast<std::size_t>(slot)].bytes;
  return bytes <= size && offset <= size - bytes;
}

bool may_write(const RankPlan& slice, std::int32_t slot, std::uint64_t offset, std::uint64_t bytes) {
  return fits(slice, slot, offset, bytes) &&
         slice.slots[static_cast<std::size_t>(slot)].kind != SlotKind::own;
}

bool has_good_slots(const RankPlan& slice, const Op& op) {
  switch (op.kind) {
    case OpKind::offer:
    case OpKind::send:
      return fits(slice, op.slot, op.offset, op.bytes);
    case OpKind::pull:
    case OpKind::recv:
      return may_write(slice, op.slot, op.offset, op.bytes);
    case OpKind::compute: {
      if (op.slot == kNone && op.peer == kNone) return false;
      const bool merges = op.code == static_cast<std::uint32_t>(ComputeCode::merge);
      const bool reads_at_offset = op.target_slot == kNone || merges;
      if (op.slot != kNone && !fits(slice, op.slot, reads_at_offset ? op.offset : 0, op.bytes)) return false;
      if (op.target_slot == kNone) return true;
      return op.slot != op.target_slot && may_write(slice, op.target_slot, merges ? 0 : op.offset, op.bytes);
    }
    default:
      return true;
  }
}

/// Bounds, and groups that are torn apart: what an executor would trip over before it starts.
std::string find_bad_operation(const RankPlan& slice) {
  std::set<std::int32_t> finished_groups;
  std::int32_t open[2] = {kNone, kNone};
  for (std::size_t index = 0; index < slice.ops.size(); ++index) {
    const Op& op = slice.ops[index];
    const bool has_peer = op.kind != OpKind::compute || op.peer != kNone;
    if ((has_peer && (!is_between(op.peer, 0, slice.ranks) || op.peer == slice.rank)) ||
        !is_between(op.block, 0, slice.ranks) || !is_between(op.step, 0, slice.steps) ||
        !has_good_slots(slice, op))
      return concat("rank ", slice.rank, " operation ", index);
    std::int32_t& current = open[op.stream == StreamRole::comm ? 0 : 1];
    if (current == op.group) continue;
    if (current != kNone) finished_groups.insert(current);
    current = op.group;
    if (finished_groups.count(current) != 0) return concat("rank ", slice.rank, " group ", current);
  }
  return {};
}

/// Delays each unit for ever in turn.
class RaceSearch {
 public:
  explicit RaceSearch(ToyMachine& machine) : machine_(machine), begun_(machine.units().size()) {}

  std::string run(const std::vector<Touch>& touches) {
    for (std::size_t a = 0; a < touches.size(); ++a) {
      for (std::size_t b = a + 1; b < touches.size(); ++b) {
        const Touch& x = touches[a];
        const Touch& y = touches[b];
        const bool conflict = x.owner == y.owner && x.place == y.place && (x.writes || y.writes) &&
                              x.first < y.end && y.first < x.end;
        if (conflict && is_race(x, y)) return name(x) + " and " + name(y);
      }
    }
    return {};
  }

 private:
  bool is_race(const Touch& x, const Touch& y) {
    if (x.unit == y.unit) return x.writes != y.writes || machine_.units()[index(x.unit)].ops.size() > 1;
    return begins_without(y.unit, x.unit) && begins_without(x.unit, y.unit);
  }
  /// True if `unit` begins although `held` never ends.
  bool begins_without(int unit, int held) {
    auto& begun = begun_[index(held)];
    if (begun.empty()) begun = machine_.run(held).begun;
    return begun[index(unit)] != 0;
  }
  std::string name(const Touch& touch) const {
    const Unit& unit = machine_.units()[index(touch.unit)];
    return concat("rank ", unit.rank, " operation ", unit.ops.front(),
                  touch.writes ? " (writes place " : " (reads place ", touch.place, " of rank ", touch.owner,
                  ")");
  }
  static std::size_t index(int value) { return static_cast<std::size_t>(value); }

  ToyMachine& machine_;
  std::vector<std::vector<char>> begun_;
};

std::string find_missing_block(const std::vector<RankPlan>& slices, const Coverage& coverage) {
  const std::size_t ranks = slices.size();
  for (std::size_t pair = 0; pair < coverage.consumed.size(); ++pair) {
    const RankPlan& slice = slices[pair / ranks];
    const bool is_reduced = slice.op == OpCode::softmax_all_reduce ||
                            slice.op == OpCode::softmax_reduce_scatter || slice.op == OpCode::all_reduce ||
                            slice.op == OpCode::reduce_scatter;
    const auto code =
        static_cast<std::uint32_t>(is_reduced ? ComputeCode::copy_result : ComputeCode::consume);
    const std::uint64_t size =
        coverage.sizes.empty() ? slices[pair % ranks].slots[is_reduced ? 1 : 0].bytes : coverage.sizes[pair];
    int count = 0;
    for (const Op& op : slice.ops) {
      if (op.kind != OpKind::compute || op.code != code || op.block != static_cast<int>(pair % ranks))
        continue;
      if (op.bytes != size) return concat("rank ", slice.rank, " gets a part of block ", op.block);
      ++count;
    }
    if (count != coverage.consumed[pair])
      return concat("rank ", slice.rank, " gets block ", pair % ranks, " ", count, " times");
  }
  return {};
}

std::string find_missing_pair(const std::vector<RankPlan>& slices, const Coverage& coverage) {
  for (int q = 0; q < coverage.chunks; ++q) {
    for (int k = 0; k < coverage.chunks; ++k) {
      int count = 0;
      for (const RankPlan& slice : slices) {
        for (const Op& op : slice.ops) {
          if (op.kind != OpKind::compute) continue;
          for (std::uint32_t tile = 0; tile < op.tile_count; ++tile)
            count += slice.tiles[op.tile_first + tile] == Tile{q, k} ? 1 : 0;
        }
      }
      if (count != coverage.visible[static_cast<std::size_t>(q * coverage.chunks + k)])
        return concat("pair ", q, " ", k, " is computed ", count, " times");
    }
  }
  return {};
}

}  // namespace

Judgement judge(const std::vector<RankPlan>& slices, const Coverage& coverage) {
  for (const RankPlan& slice : slices) {
    if (const std::string bad = find_bad_operation(slice); !bad.empty()) return {"bounds", bad};
  }
  ToyMachine machine(slices, coverage.origins);
  const ToyMachine::Outcome whole = machine.run(-1);
  if (!whole.fault.empty()) return {whole.fault, whole.detail};
  if (!whole.is_finished) return {"deadlock", "not everything ends"};
  if (const std::string race = RaceSearch(machine).run(whole.touches); !race.empty()) return {"race", race};
  if (const std::string gap = find_missing_block(slices, coverage); !gap.empty()) return {"coverage", gap};
  if (const std::string gap = find_missing_pair(slices, coverage); !gap.empty()) return {"coverage", gap};
  return {};
}

}  // namespace ringcomm::plan::testing
