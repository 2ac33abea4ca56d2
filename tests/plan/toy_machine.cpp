// SPDX-License-Identifier: Apache-2.0
#include "plan/toy_machine.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::plan::testing {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
bool is_message(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::recv; }
bool has_code(const Op& op, ComputeCode code) { return op.code == static_cast<std::uint32_t>(code); }
constexpr int kMailboxes = kLaneDepth;

}  // namespace

ToyMachine::ToyMachine(const std::vector<RankPlan>& slices, const std::vector<std::uint64_t>& origins)
    : slices_(slices),
      origins_(origins),
      ranks_(static_cast<int>(slices.size())),
      queues_(2 * slices.size()) {
  for (const RankPlan& slice : slices) {
    unit_of_.emplace_back();
    for (int index = 0; index < static_cast<int>(slice.ops.size()); ++index) {
      const Op& op = slice.ops[at(index)];
      const int queue = op.stream == StreamRole::comm ? 0 : 1;
      std::vector<int>& list = queues_[at(2 * slice.rank + queue)];
      const bool joins = !list.empty() && op.group != kNone &&
                         slice.ops[at(units_[at(list.back())].ops.front())].group == op.group;
      if (!joins) {
        list.push_back(static_cast<int>(units_.size()));
        units_.push_back({slice.rank, queue, {}});
      }
      units_[at(list.back())].ops.push_back(index);
      unit_of_.back().push_back(list.back());
    }
  }
}

ToyMachine::Outcome ToyMachine::run(int held) {
  outcome_ = {};
  outcome_.begun.assign(units_.size(), 0);
  started_.assign(units_.size(), 0);
  ended_.assign(units_.size(), 0);
  turns_.assign(units_.size(), {});
  next_.assign(queues_.size(), 0);
  lanes_.assign(at(ranks_ * ranks_), {});
  views_.clear();
  memory_.assign(slices_.size(), {});
  for (const RankPlan& slice : slices_) {
    for (const Slot& slot : slice.slots) {
      Bytes bytes(slot.bytes);
      for (std::size_t byte = 0; slot.kind == SlotKind::own && byte < bytes.size(); ++byte)
        bytes[byte] = {slice.rank, byte, false};
      memory_[at(slice.rank)].push_back(std::move(bytes));
    }
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (int queue = 0; queue < 2 * ranks_; ++queue) {
      while (step(queue / 2, queue % 2, held)) moved = true;
    }
  }
  outcome_.is_finished = std::all_of(ended_.begin(), ended_.end(), [](char ended) { return ended != 0; });
  for (const Lane& l : lanes_) {
    const bool is_empty = l.offers.empty() && l.unclaimed.empty() && l.unreleased.empty() &&
                          l.acknowledgements.empty() && l.sends.size() == l.recvs.size();
    if (outcome_.is_finished && !is_empty && outcome_.fault.empty())
      outcome_.fault = "left over", outcome_.detail = "a lane is not empty at the end";
  }
  return outcome_;
}

/// True if the queue's next unit ended.
bool ToyMachine::step(int rank, int queue, int held) {
  const auto place = at(2 * rank + queue);
  if (next_[place] == queues_[place].size()) return false;
  const int index = queues_[place][next_[place]];
  if (!may_start(units_[at(index)])) return false;
  if (started_[at(index)] == 0) start(index);
  if (!can_end(index)) return false;
  outcome_.begun[at(index)] = 1;
  if (index == held) return false;
  end(index);
  ended_[at(index)] = 1;
  ++next_[place];
  return true;
}

bool ToyMachine::may_start(const Unit& unit) const {
  return std::all_of(unit.ops.begin(), unit.ops.end(), [&](int index) {
    const std::int32_t after = slices_[at(unit.rank)].ops[at(index)].after;
    return after == kNone || ended_[at(unit_of_[at(unit.rank)][at(after)])] != 0;
  });
}

void ToyMachine::start(int index) {
  const Unit& unit = units_[at(index)];
  started_[at(index)] = 1;
  for (const int member : unit.ops) {
    const Op& op = slices_[at(unit.rank)].ops[at(member)];
    if (!is_message(op)) continue;
    outcome_.begun[at(index)] = 1;  // posted buffers belong to the transport at once
    if (op.kind == OpKind::send) {
      Lane& out = lane(unit.rank, op.peer);
      turns_[at(index)].push_back(out.sends.size());
      Bytes payload = read(index, unit.rank, op.slot, op.offset, op.bytes);
      expect(payload, op.block, op);
      out.sends.push_back({index, &op, std::move(payload)});
    } else {
      Lane& in = lane(op.peer, unit.rank);
      turns_[at(index)].push_back(in.recvs.size());
      in.recvs.push_back(&op);
      touch(index, unit.rank, op.slot, op.offset, op.offset + op.bytes, true);
    }
  }
}

bool ToyMachine::can_end(int index) {
  const Unit& unit = units_[at(index)];
  const Op& op = slices_[at(unit.rank)].ops[at(unit.ops.front())];
  switch (op.kind) {
    case OpKind::offer:
      return lane(unit.rank, op.peer).offers.size() < kMailboxes;
    case OpKind::take:
    case OpKind::pull:
      return !lane(op.peer, unit.rank).offers.empty();
    case OpKind::reclaim:
      return !lane(unit.rank, op.peer).acknowledgements.empty();
    case OpKind::release:
    case OpKind::compute:
      return true;
    case OpKind::send:
    case OpKind::recv:
      break;
  }
  for (std::size_t member = 0; member < unit.ops.size(); ++member) {
    const Op& message = slices_[at(unit.rank)].ops[at(unit.ops[member])];
    if (!message_can_end(message, unit.rank, turns_[at(index)][member])) return false;
  }
  return true;
}

bool ToyMachine::message_can_end(const Op& op, int rank, std::size_t turn) {
  return op.kind == OpKind::send ? lane(rank, op.peer).recvs.size() > turn
                                 : lane(op.peer, rank).sends.size() > turn;
}

void ToyMachine::end(int index) {
  const Unit& unit = units_[at(index)];
  for (std::size_t member = 0; member < unit.ops.size(); ++member) {
    const Op& op = slices_[at(unit.rank)].ops[at(unit.ops[member])];
    if (op.kind == OpKind::compute) {
      compute(index, op);
    } else if (op.kind == OpKind::recv) {
      const Message& sent = lane(op.peer, unit.rank).sends[turns_[at(index)][member]];
      expect_same(op, *sent.op);
      if (sent.op->bytes == op.bytes) store(unit.rank, op.slot, op.offset, sent.payload);
    } else if (op.kind != OpKind::send) {
      end_transfer(index, op);
    }
  }
}

void ToyMachine::end_transfer(int index, const Op& op) {
  const int rank = units_[at(index)].rank;
  Lane& mine = lane(rank, op.peer);    // this rank owns the data
  Lane& theirs = lane(op.peer, rank);  // this rank reads
  if (op.kind == OpKind::offer) {
    expect(read(index, rank, op.slot, op.offset, op.bytes), op.block, op);
    mine.offers.push_back({index, &op, {}});
    mine.unclaimed.push_back(&op);
  } else if (op.kind == OpKind::take || op.kind == OpKind::pull) {
    const Op& offer = *theirs.offers.front().op;
    theirs.offers.pop_front();
    expect_same(op, offer);
    int view = -1;
    if (op.kind == OpKind::take) {
      view = theirs.latest_view = static_cast<int>(views_.size());
      views_.push_back({op.peer, &offer});
      touch(index, rank, -1 - op.peer, 0, 1, true);
    } else {
      const Bytes bytes = read(index, op.peer, offer.slot, offer.offset, offer.bytes);
      expect(bytes, op.block, op);
      if (offer.bytes == op.bytes) write(index, op.slot, op.offset, bytes);
    }
    theirs.unreleased.push_back({&op, view});
  } else if (op.kind == OpKind::release) {
    if (theirs.unreleased.empty()) return fault("acknowledgement", op, "releases what it does not hold");
    const Lane::Held held = theirs.unreleased.front();
    theirs.unreleased.pop_front();
    expect_same(op, *held.op);
    theirs.acknowledgements.push_back(&op);
    if (held.view < 0) return;
    views_[at(held.view)].is_held = false;
    touch(index, rank, -1000 - held.view, 0, 1, true);
  } else {
    mine.acknowledgements.pop_front();
    if (mine.unclaimed.empty()) return fault("acknowledgement", op, "reclaims what it has not offered");
    expect_same(op, *mine.unclaimed.front());
    mine.unclaimed.pop_front();
  }
}

void ToyMachine::compute(int index, const Op& op) {
  if (has_code(op, ComputeCode::merge)) return merge(index, op);
  Bytes bytes;
  if (op.slot != kNone) {
    bytes = read(index, units_[at(index)].rank, op.slot, op.target_slot == kNone ? op.offset : 0, op.bytes);
  } else if (const View* view = view_of(index, op, op.peer)) {
    if (view->offer->block != op.block || view->offer->bytes != op.bytes)
      return fault("content", op, "view of another block or size");
    bytes = read(index, view->owner, view->offer->slot, view->offer->offset, op.bytes);
  }
  expect(bytes, op.block, op);
  const bool is_result = has_code(op, ComputeCode::copy_result);
  const bool is_cut = !origins_.empty() && !is_result;
  expect_origin(bytes, is_cut ? origins_[at(units_[at(index)].rank * ranks_ + op.block)] : 0, is_result, op);
  if (op.target_slot != kNone) write(index, op.target_slot, op.offset, bytes);
}

void ToyMachine::merge(int index, const Op& op) {
  const int rank = units_[at(index)].rank;
  const RankPlan& slice = slices_[at(rank)];
  const auto check = [&](const Bytes& bytes, int block) {
    expect(bytes, block, op);
    expect_origin(bytes, op.offset, false, op);
  };
  check(read(index, rank, op.slot, op.offset, op.bytes), op.block);
  for (int peer = 0; peer < ranks_; ++peer) {
    if (peer == rank) continue;
    if (slice.slots.size() > at(2 + peer) && slice.slots[at(2 + peer)].kind == SlotKind::arena) {  // received
      if (slice.slots[at(2 + peer)].bytes < op.bytes) return fault("bounds", op, "partial is too small");
      check(read(index, rank, 2 + peer, 0, op.bytes), peer);
    } else if (const View* view = view_of(index, op, peer)) {
      if (view->offer->block != peer || view->offer->bytes != op.bytes)
        return fault("content", op, "partial of another rank or size");
      check(read(index, peer, view->offer->slot, view->offer->offset, op.bytes), peer);
    }
  }
  Bytes rows(op.bytes);
  for (std::size_t byte = 0; byte < rows.size(); ++byte) rows[byte] = {op.block, byte, true};
  write(index, op.target_slot, 0, rows);
}

const ToyMachine::View* ToyMachine::view_of(int index, const Op& op, int peer) {
  const int rank = units_[at(index)].rank;
  const int latest = lane(peer, rank).latest_view;
  touch(index, rank, -1 - peer, 0, 1, false);
  if (latest < 0 || !views_[at(latest)].is_held) {
    fault("view", op, "holds no view of that peer");
    return nullptr;
  }
  touch(index, rank, -1000 - latest, 0, 1, false);
  return &views_[at(latest)];
}

Bytes ToyMachine::read(int index, int owner, int slot, std::uint64_t offset, std::uint64_t bytes) {
  touch(index, owner, slot, offset, offset + bytes, false);
  const auto first = memory_[at(owner)][at(slot)].begin() + static_cast<std::ptrdiff_t>(offset);
  return {first, first + static_cast<std::ptrdiff_t>(bytes)};
}

void ToyMachine::write(int index, int slot, std::uint64_t offset, const Bytes& bytes) {
  const int rank = units_[at(index)].rank;
  touch(index, rank, slot, offset, offset + bytes.size(), true);
  store(rank, slot, offset, bytes);
}

void ToyMachine::store(int rank, int slot, std::uint64_t offset, const Bytes& bytes) {
  std::copy(bytes.begin(), bytes.end(),
            memory_[at(rank)][at(slot)].begin() + static_cast<std::ptrdiff_t>(offset));
}

void ToyMachine::touch(int index, int owner, int place, std::uint64_t first, std::uint64_t end, bool writes) {
  if (first != end) outcome_.touches.push_back({index, owner, place, first, end, writes});
}

void ToyMachine::expect(const Bytes& bytes, int block, const Op& op) {
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    const Byte& found = bytes[byte];
    if (found.block != block || found.offset != bytes[0].offset + byte ||
        found.is_merged != bytes[0].is_merged) {
      return fault("content", op,
                   concat("byte ", byte, " is byte ", found.offset, " of block ", found.block));
    }
  }
}

void ToyMachine::expect_origin(const Bytes& bytes, std::uint64_t origin, bool is_merged, const Op& op) {
  if (bytes.empty()) return;
  if (bytes[0].offset != origin) fault("content", op, "begins elsewhere in the block");
  if (bytes[0].is_merged != is_merged) fault("content", op, "merged or not");
}

void ToyMachine::expect_same(const Op& a, const Op& b) {
  if (a.step != b.step || a.block != b.block || a.bytes != b.bytes)
    fault("match", a, concat("the other side has step ", b.step, " block ", b.block, " bytes ", b.bytes));
}

void ToyMachine::fault(const char* kind, const Op& op, std::string detail) {
  if (!outcome_.fault.empty()) return;
  outcome_.fault = kind;
  outcome_.detail = concat(name_of(op.kind), " step ", op.step, " peer ", op.peer, ": ", detail);
}

}  // namespace ringcomm::plan::testing
