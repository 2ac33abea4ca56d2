// SPDX-License-Identifier: Apache-2.0
#include "collectives/lower.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

using plan::Op;
using plan::OpKind;
using plan::StreamRole;

TransportOpKind transport_kind(OpKind kind) {
  switch (kind) {
    case OpKind::take:
      return TransportOpKind::take;
    case OpKind::pull:
      return TransportOpKind::pull;
    case OpKind::release:
      return TransportOpKind::release;
    case OpKind::reclaim:
      return TransportOpKind::reclaim;
    case OpKind::send:
      return TransportOpKind::send;
    case OpKind::recv:
      return TransportOpKind::recv;
    default:
      return TransportOpKind::offer;
  }
}

bool is_slot_read_or_written(OpKind kind) {
  return kind == OpKind::offer || kind == OpKind::pull || kind == OpKind::send || kind == OpKind::recv;
}

class Lowering {
 public:
  Lowering(Program& program, std::span<std::byte* const> slots, const Descriptor& common)
      : program_(program), slice_(program.slice), slots_(slots), common_(common) {}

  Status run() {
    if (slots_.size() != slice_.slots.size())
      return broken(0, concat(slots_.size(), " slot addresses for ", slice_.slots.size(), " slots"));
    program_.views.resize(static_cast<std::size_t>(slice_.ranks));
    program_.ops.reserve(slice_.ops.size());
    program_.has_comm_queue =
        std::ranges::any_of(slice_.ops, [](const Op& op) { return op.stream == StreamRole::comm; });
    place_.assign(slice_.ops.size(), kNoIndex);
    mark_waited_for();
    for (std::size_t index = 0; index < slice_.ops.size(); ++index) {
      RINGCOMM_TRY(check(index));
      if (slice_.ops[index].kind == OpKind::compute) {
        add_compute(index);
      } else {
        add_transfer(index);
      }
    }
    mark_read_later();
    tell_with_releases();
    return resolve_edges();
  }

 private:
  Status broken(std::size_t index, const std::string& what) const {
    return Status::internal(
        concat("plan of ", name_of(slice_.op), ", rank ", slice_.rank, ", operation ", index, ": ", what));
  }

  bool has_slot(std::int32_t slot) const {
    return slot >= 0 && static_cast<std::size_t>(slot) < slice_.slots.size();
  }

  Status check(std::size_t index) const {
    const Op& op = slice_.ops[index];
    const bool is_compute = op.kind == OpKind::compute;
    if ((op.peer != plan::kNone || !is_compute) && (op.peer < 0 || op.peer >= slice_.ranks))
      return broken(index, concat("peer ", op.peer, " of ", slice_.ranks));
    if (op.slot != plan::kNone && !has_slot(op.slot)) return broken(index, concat("slot ", op.slot));
    if (op.target_slot != plan::kNone && !has_slot(op.target_slot))
      return broken(index, concat("target slot ", op.target_slot));
    if (is_slot_read_or_written(op.kind)) {
      if (!has_slot(op.slot)) return broken(index, "no slot");
      const std::uint64_t size = slice_.slots[static_cast<std::size_t>(op.slot)].bytes;
      if (op.bytes > size || op.offset > size - op.bytes)
        return broken(index, concat(op.bytes, " bytes at ", op.offset, " in a slot of ", size));
      if (op.bytes > 0 && slots_[static_cast<std::size_t>(op.slot)] == nullptr)
        return broken(index, concat("slot ", op.slot, " has no memory"));
    }
    if (program_.has_comm_queue && is_compute == (op.stream == StreamRole::comm))
      return broken(index, "transfers and computes share a queue although there are two");
    if (op.after != plan::kNone && (op.after < 0 || static_cast<std::size_t>(op.after) >= slice_.ops.size()))
      return broken(index, concat("waits for operation ", op.after));
    return {};
  }

  // A compute starts when its data are there, not when the batch happens to be large: what it waits for ends
  // a batch.
  void mark_waited_for() {
    ends_batch_.assign(slice_.ops.size(), false);
    if (!program_.has_comm_queue) return;
    for (const Op& op : slice_.ops) {
      if (op.kind == OpKind::compute && op.after >= 0 &&
          static_cast<std::size_t>(op.after) < ends_batch_.size())
        ends_batch_[static_cast<std::size_t>(op.after)] = true;
    }
  }

  std::byte* address(std::int32_t slot, std::uint64_t offset, std::uint64_t bytes) const {
    if (slot == plan::kNone || bytes == 0) return nullptr;
    return slots_[static_cast<std::size_t>(slot)] + offset;
  }

  void add_compute(std::size_t index) {
    const Op& op = slice_.ops[index];
    Compute compute{.op = op};
    if (op.slot != plan::kNone) compute.slot = slots_[static_cast<std::size_t>(op.slot)];
    if (op.target_slot != plan::kNone) compute.target = slots_[static_cast<std::size_t>(op.target_slot)];
    if (op.slot == plan::kNone && op.peer != plan::kNone)
      compute.view = &program_.views[static_cast<std::size_t>(op.peer)];
    give_arrivals(compute);
    place_[index] = static_cast<std::int32_t>(program_.computes.size());
    program_.items.push_back({Item::Kind::compute, static_cast<std::uint32_t>(program_.computes.size())});
    program_.computes.push_back(compute);
    is_open_ = is_open_ && program_.has_comm_queue;
  }

  /// What has come and no compute has read yet.
  struct Arrival {
    const Op* op;
    std::uint32_t transfer;
  };
  /// What was taken or pulled of a peer and not yet given back, oldest first.
  struct Held {
    std::uint32_t transfer;
    bool is_pulled;
  };

  void note_arrival(const Op& op) {
    const auto transfer = static_cast<std::uint32_t>(program_.ops.size());
    if (op.kind == OpKind::take || op.kind == OpKind::pull || op.kind == OpKind::recv)
      unread_.push_back({&op, transfer});
    if (op.kind == OpKind::take || op.kind == OpKind::pull)
      held_[op.peer].push_back({transfer, op.kind == OpKind::pull});
    if (op.kind != OpKind::release) return;
    auto& held = held_[op.peer];
    if (held.empty()) return;  // the verifier's to refuse
    release_of_[held.front().transfer] = transfer;
    // A view that was given back is not read any more.
    if (!held.front().is_pulled)
      std::erase_if(unread_, [&](const Arrival& a) { return a.transfer == held.front().transfer; });
    held.pop_front();
  }

  static bool reads(const Op& compute, const Op& arrival) {
    const auto code = static_cast<plan::ComputeCode>(compute.code);
    if (code == plan::ComputeCode::merge) return true;  // of all peers
    if (arrival.kind == OpKind::take) return compute.slot == plan::kNone && compute.peer == arrival.peer;
    if (code == plan::ComputeCode::merge_pair) return arrival.slot == compute.slot + 1;
    return arrival.slot == compute.slot && arrival.block == compute.block;
  }

  void give_arrivals(Compute& compute) {
    compute.first_arrival = static_cast<std::uint32_t>(program_.arrivals.size());
    for (const Arrival& arrival : unread_) {
      if (reads(compute.op, *arrival.op)) program_.arrivals.push_back(arrival.transfer);
    }
    std::erase_if(unread_, [&](const Arrival& arrival) { return reads(compute.op, *arrival.op); });
    compute.arrivals = static_cast<std::uint32_t>(program_.arrivals.size()) - compute.first_arrival;
  }

  /// Data in slots are the consumer's until it has read them, so that it tells the recorder so.
  void mark_read_later() {
    for (const std::uint32_t index : program_.arrivals) {
      TransportOp& arrival = program_.ops[index];
      if (arrival.kind == TransportOpKind::take) continue;
      arrival.is_read_later = true;
      const auto release = release_of_.find(index);
      if (release != release_of_.end()) program_.ops[release->second].is_read_later = true;
    }
  }

  /// Where views are given back as soon as they are read, the transport tells both in one go: the same
  /// moment, and one look at the clock less in every step.
  void tell_with_releases() {
    for (std::size_t i = 0; i + 1 < program_.items.size(); ++i) {
      const Item& next = program_.items[i + 1];
      if (program_.items[i].kind != Item::Kind::compute || next.kind != Item::Kind::batch) continue;
      Compute& compute = program_.computes[program_.items[i].index];
      const Batch& batch = program_.batches[next.index];
      const auto arrivals = std::span(program_.arrivals).subspan(compute.first_arrival, compute.arrivals);
      const auto is_given_back_first = [&](std::uint32_t arrival) {
        const auto release = release_of_.find(arrival);
        return program_.ops[arrival].kind == TransportOpKind::take && release != release_of_.end() &&
               release->second >= batch.first && release->second < batch.first + compute.arrivals &&
               compute.arrivals <= batch.count;
      };
      compute.is_told_by_releases = !arrivals.empty() && std::ranges::all_of(arrivals, is_given_back_first);
      if (!compute.is_told_by_releases) continue;
      for (const std::uint32_t arrival : arrivals) program_.ops[release_of_[arrival]].ends_reading = true;
    }
  }

  // Sends and receives of one batch proceed together, so that two groups may not share one.
  bool fits_open_batch(const Op& op) const {
    if (!is_open_ || (program_.has_comm_queue && op.after != plan::kNone)) return false;
    return op.group == plan::kNone || open_group_ == plan::kNone || op.group == open_group_;
  }

  void add_transfer(std::size_t index) {
    const Op& op = slice_.ops[index];
    if (!fits_open_batch(op)) {
      is_open_ = true;
      open_group_ = plan::kNone;
      const auto batch = static_cast<std::uint32_t>(program_.batches.size());
      program_.batches.push_back({.first = static_cast<std::uint32_t>(program_.ops.size())});
      if (program_.has_comm_queue) {
        program_.batches.back().after = op.after;  // an operation's index until resolve_edges()
      } else {
        program_.items.push_back({Item::Kind::batch, batch});
      }
    }
    if (op.group != plan::kNone) open_group_ = op.group;
    TransportOp transfer{.kind = transport_kind(op.kind), .peer = op.peer, .bytes = op.bytes};
    transfer.address = address(op.slot, op.offset, op.bytes);
    transfer.descriptor = common_;
    transfer.descriptor.bytes = op.bytes;
    transfer.descriptor.step = op.step;
    transfer.descriptor.block = op.block;
    if (op.kind == OpKind::take) transfer.view = &program_.views[static_cast<std::size_t>(op.peer)];
    note_arrival(op);
    program_.ops.push_back(transfer);
    ++program_.batches.back().count;
    place_[index] = static_cast<std::int32_t>(program_.batches.size()) - 1;
    if (ends_batch_[index]) is_open_ = false;
  }

  Status resolve_edges() {
    if (!program_.has_comm_queue) return {};
    for (Batch& batch : program_.batches) {
      if (batch.after == plan::kNone) continue;
      const auto index = static_cast<std::size_t>(batch.after);
      if (slice_.ops[index].kind != OpKind::compute)
        return broken(index, "is waited for inside its own queue");
      batch.after = place_[index];
    }
    for (Compute& compute : program_.computes) {
      if (compute.op.after == plan::kNone) continue;
      const auto index = static_cast<std::size_t>(compute.op.after);
      if (slice_.ops[index].kind == OpKind::compute)
        return broken(index, "is waited for inside its own queue");
      compute.wait_for = place_[index];
      program_.batches[static_cast<std::size_t>(compute.wait_for)].is_waited_for = true;
    }
    return {};
  }

  Program& program_;
  const plan::RankPlan& slice_;
  std::span<std::byte* const> slots_;
  const Descriptor& common_;
  std::vector<std::int32_t> place_;  ///< of each operation: its compute or batch
  std::vector<bool> ends_batch_;
  std::vector<Arrival> unread_;
  std::map<std::int32_t, std::deque<Held>> held_;      ///< by peer
  std::map<std::uint32_t, std::uint32_t> release_of_;  ///< of a take or pull
  bool is_open_ = false;
  std::int32_t open_group_ = plan::kNone;
};

}  // namespace

void record_computed(const Channel& channel, const Program& program, const Compute& compute) {
  ChannelSink* const sink = channel.sink();
  Instant now;
  if (sink == nullptr || compute.arrivals == 0 || compute.is_told_by_releases) return;
  for (const std::uint32_t index :
       std::span(program.arrivals).subspan(compute.first_arrival, compute.arrivals)) {
    const TransportOp& arrival = program.ops[index];
    const int peer = channel.member(arrival.peer);
    sink->record_at(Direction::incoming, arrival.descriptor, peer, arrival.address, OpState::computed, now);
    if (arrival.is_read_later)
      sink->record_at(Direction::incoming, arrival.descriptor, peer, arrival.address, OpState::released, now);
  }
}

Result<Program> lower(plan::RankPlan slice, std::span<std::byte* const> slots, const Descriptor& common) {
  Program program;
  program.slice = std::move(slice);
  RINGCOMM_TRY(Lowering(program, slots, common).run());
  return program;
}

}  // namespace ringcomm::inline v0::collectives
