// SPDX-License-Identifier: Apache-2.0
// Relay rotation: every block travels round the ring through two slots per rank.
#include <algorithm>
#include <deque>

#include "plan/rules/rotation.hpp"
#include "plan/rules/slice_builder.hpp"

namespace ringcomm::inline v0::plan {
namespace {

/// The slot that holds what `step` computes on.
int slot_of(int step) { return step == 0 ? 0 : 1 + (step - 1) % 2; }

/// What both relay forms share: which blocks come and go, in which chunks, and who computes.
class Relay {
 public:
  explicit Relay(const RotationView& view) : view_(view) {}

 protected:
  bool arrives(int step) const { return step > 0 && step <= view_.hops(view_.owner_at(step)); }
  bool leaves(int step) const { return step < view_.hops(view_.owner_at(step)); }
  std::uint64_t chunks(int step) const { return view_.chunk_count(view_.owner_at(step)); }

  /// One chunk of the block that this rank holds at `held`, moved at `step`.
  Op move(OpKind kind, int step, int peer, int held, std::uint64_t chunk) const {
    const int owner = view_.owner_at(held);
    Op op{.kind = kind, .stream = comm_stream(), .step = step, .peer = peer, .block = owner};
    op.slot = slot_of(held);
    const std::uint64_t size = view_.bytes(owner);
    op.offset = view_.rule().chunk_bytes * chunk;
    op.bytes = chunks(held) == 1 ? size : std::min(view_.rule().chunk_bytes, size - op.offset);
    return op;
  }

  /// `arrival`: the operation that completes the block, kNone for the own one.
  void compute(int step, std::int32_t arrival) {
    const int owner = view_.owner_at(step);
    if (!view_.needs(view_.rank(), owner)) return;
    Op op{.kind = OpKind::compute, .step = step, .block = owner, .slot = slot_of(step)};
    op.after = across(arrival);
    op.code = static_cast<std::uint32_t>(ComputeCode::consume);
    op.bytes = view_.bytes(owner);
    last_reader_[slot_of(step)] = builder_.add({step - 1, kLastChunk, Moment::computes}, op);
  }

  /// The compute that must be done before `step` may overwrite its slot.
  std::int32_t last_reader(int step) const { return across(last_reader_[slot_of(step)]); }
  int next() const { return view_.reader_at(1); }
  int previous() const { return view_.owner_at(1); }

  const RotationView& view_;
  SliceBuilder builder_;

 private:
  bool overlaps() const { return view_.rule().overlap == Overlap::on; }
  StreamRole comm_stream() const { return overlaps() ? StreamRole::comm : StreamRole::compute; }
  /// `after` orders across queues only; with one queue the list order does.
  std::int32_t across(std::int32_t op) const { return overlaps() ? op : kNone; }
  std::int32_t last_reader_[3] = {kNone, kNone, kNone};
};

class PullRelay : Relay {
 public:
  explicit PullRelay(const RotationView& view) : Relay(view) {}

  std::vector<Op> ops() && {
    offer_block(0);
    compute(0, kNone);
    for (int step = 1; step < view_.ranks(); ++step) {
      if (!arrives(step)) continue;
      // The slot is free once the successor has what it held; nothing is waited for before it is needed.
      if (step > 2) reclaim_up_to(step - 2, {step - 1, 0, Moment::reclaims});
      const std::int32_t arrival = pull_block(step);
      offer_block(step);
      compute(step, arrival);
    }
    reclaim_up_to(view_.ranks(), {view_.ranks(), 0, Moment::reclaims});
    return builder_.ordered();
  }

 private:
  struct Offer {
    int held;
    Op op;
  };

  std::int32_t pull_block(int step) {
    std::int32_t pull = kNone;
    for (std::uint64_t chunk = 0; chunk < chunks(step); ++chunk) {
      Op op = move(OpKind::pull, step, previous(), step, chunk);
      if (chunk == 0) op.after = last_reader(step);
      pull = builder_.add({step - 1, chunk, Moment::moves}, op);
      op.kind = OpKind::release;
      op.slot = op.after = kNone;
      builder_.add({step - 1, chunk, Moment::releases}, op);
    }
    return pull;
  }

  /// Offers each chunk as soon as it is here and the lane has room. The lane has room once the successor has
  /// pulled the offer kLaneDepth before; where that lies in its round decides how far this rank may run
  /// ahead.
  void offer_block(int held) {
    if (!leaves(held)) return;
    for (std::uint64_t chunk = 0; chunk < chunks(held); ++chunk) {
      Moment moment{held - 1, held == 0 ? 0 : chunk, Moment::offers};
      moment = std::max(moment, last_offer_);
      if (in_lane_.size() == kLaneDepth) {
        moment = std::max(moment, in_lane_.front());
        in_lane_.pop_front();
      }
      in_lane_.push_back({held, chunk, Moment::offers});
      last_offer_ = moment;
      Op op = move(OpKind::offer, held + 1, next(), held, chunk);
      builder_.add(moment, op);
      op.kind = OpKind::reclaim;
      op.slot = kNone;
      unclaimed_.push_back({held, op});
    }
  }

  void reclaim_up_to(int held, Moment moment) {
    for (; !unclaimed_.empty() && unclaimed_.front().held <= held; unclaimed_.pop_front())
      builder_.add(moment, unclaimed_.front().op);
  }

  std::deque<Offer> unclaimed_;
  std::deque<Moment> in_lane_;  ///< when the successor empties the lane's places
  Moment last_offer_{-1, 0, Moment::reclaims};
};

class MessageRelay : Relay {
 public:
  explicit MessageRelay(const RotationView& view) : Relay(view) {}

  std::vector<Op> ops() && {
    compute(0, kNone);
    for (int step = 1; step < view_.ranks(); ++step) {
      const std::int32_t arrival = exchange(step);
      if (arrives(step)) compute(step, arrival);
    }
    return builder_.ordered();
  }

 private:
  /// One group per chunk: send what the last step computed on, receive what this one will. Blocks of
  /// different size make groups with only one side.
  std::int32_t exchange(int step) {
    const std::uint64_t out = leaves(step - 1) ? chunks(step - 1) : 0;
    const std::uint64_t in = arrives(step) ? chunks(step) : 0;
    std::int32_t arrival = kNone;
    for (std::uint64_t chunk = 0; chunk < std::max(out, in); ++chunk, ++group_) {
      const Moment moment{step - 1, chunk, Moment::moves};
      // The whole group waits for the slot's last reader, so the edge sits on its first member.
      std::int32_t after = chunk == 0 && in > 0 ? last_reader(step) : kNone;
      if (chunk < out) {
        Op op = move(OpKind::send, step, next(), step - 1, chunk);
        op.group = group_;
        op.after = std::exchange(after, kNone);
        builder_.add(moment, op);
      }
      if (chunk < in) {
        Op op = move(OpKind::recv, step, previous(), step, chunk);
        op.group = group_;
        op.after = after;
        arrival = builder_.add(moment, op);
      }
    }
    return arrival;
  }

  std::int32_t group_ = 0;
};

}  // namespace

std::vector<Op> relay_by_pull(const RotationView& view) { return PullRelay(view).ops(); }
std::vector<Op> relay_by_message(const RotationView& view) { return MessageRelay(view).ops(); }

}  // namespace ringcomm::inline v0::plan
