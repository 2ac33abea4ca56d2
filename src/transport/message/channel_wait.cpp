// SPDX-License-Identifier: Apache-2.0
// What a MessageChannel hears from its members, and its waits: who is told, who is named when nothing comes.
#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/common/wait_report.hpp"
#include "transport/message/channel.hpp"

namespace ringcomm::inline v0::transport::message {
namespace {

/// Operations that follow each other faster are told only when this rank comes to wait in one.
constexpr std::int64_t kTellSpacingNs = 1'000'000;
/// A wait that lasts so long tells the members what this rank is in; or a quarter of the deadline.
constexpr std::int64_t kTellAfterNs = 20'000'000;
/// What a member sent before it left may still be on its way.
constexpr std::int64_t kLeftGraceNs = 1'000'000'000;

}  // namespace

void MessageChannel::announce(const Descriptor& descriptor) {
  if (core_->is_forked_copy() || core_->has_failed()) return;
  const Turn turn(*core_);
  entered_ = descriptor;
  is_entered_told_ = false;
  if (now_ns() - told_ns_ >= kTellSpacingNs) tell(0);
}

void MessageChannel::tell(std::uint32_t awaits) {
  is_entered_told_ = true;
  awaits_told_ = awaits;
  told_ns_ = now_ns();
  for (const Lane& l : lanes_) {
    if (is_own(l)) continue;
    const MessageWriter writer = MessageWriter({.kind = MessageKind::head,
                                                .channel = l.number,
                                                .position = static_cast<std::uint32_t>(position_)})
                                     .add(HeadBody{.entered = entered_, .awaits = awaits});
    (void)core_->send(l.rank, writer.bytes());
  }
}

void MessageChannel::deliver(int peer, const Message& message) {
  const std::uint32_t position = message.envelope.position;
  if (position >= lanes_.size() || lanes_[position].rank != peer) {
    (void)core_->fail(
        Status::corrupt_data(concat("rank ", peer, " wrote to member ", position, " of a channel with ",
                                    lanes_.size(), " members, which is another rank")),
        peer);
    return;
  }
  Lane& l = lanes_[position];
  if (message.envelope.kind == MessageKind::head) {
    l.entered = message.head.entered;
    l.awaits = message.head.awaits;
    return;
  }
  on_credit(l, message.envelope.taken);
  if (message.envelope.kind == MessageKind::parcel) on_parcel(l, message);
}

void MessageChannel::on_credit(Lane& l, std::uint32_t taken) {
  if (l.posted - taken > l.posted - l.taken_by_peer) {
    (void)fail(Status::corrupt_data(concat("rank ", l.rank, " says that it took ", taken, " blocks of ",
                                           l.posted, " (", l.taken_by_peer, " before)")),
               l);
    return;
  }
  l.taken_by_peer = taken;
}

void MessageChannel::on_parcel(Lane& l, const Message& message) {
  if (++l.arrived - l.taken > kParcelsInFlightMax) {
    (void)fail(Status::corrupt_data(
                   concat("rank ", l.rank, " announced more than ", kParcelsInFlightMax, " blocks ahead")),
               l);
    return;
  }
  Parcel* parcel = core_->pool().take();
  parcel->descriptor = message.parcel.descriptor;
  parcel->bytes = message.parcel.bytes;
  parcel->tag = message.parcel.tag;
  std::copy(message.rest.begin(), message.rest.end(), parcel->inline_block.begin());
  l.parcels.push(parcel);
  compare_with_entered(l, message.parcel.descriptor);
}

void MessageChannel::compare_with_entered(const Lane& l, Descriptor theirs) {
  if (entered_.op == OpCode::none || theirs.op == OpCode::none || theirs.sequence != entered_.sequence)
    return;
  // Pairs may exchange messages that count for themselves.
  if (theirs.op == OpCode::send_recv || entered_.op == OpCode::send_recv) return;
  theirs.bytes = entered_.bytes;
  theirs.step = entered_.step;
  if (entered_.op != OpCode::broadcast) theirs.block = entered_.block;  // there it is the root
  Status same = compare(entered_, core_->rank(), theirs, l.rank);
  if (!same.is_ok()) (void)fail(std::move(same), l);
}

Status MessageChannel::run_batch(std::span<const TransportOp> batch, Deadline deadline, Turn& turn) {
  if (core_->has_failed()) return core_->failure();
  chain(batch);
  Wait wait{.batch = batch, .deadline = deadline};
  for (;;) {
    bool is_done = false;
    RINGCOMM_TRY(advance(batch, is_done));
    if (is_done) break;
    const bool is_time_to_look = turn.step(deadline);
    if (core_->has_failed()) {  // what came together with a failure is there all the same
      if (advance(batch, is_done).is_ok() && is_done) break;
      return core_->failure();
    }
    if (is_time_to_look) {
      RINGCOMM_TRY(advance(batch, is_done));  // a deadline must not hide what is there
      if (is_done) break;
      RINGCOMM_TRY(look_around(wait));
    }
  }
  if (awaits_told_ != 0) tell(0);
  return {};
}

const TransportOp& MessageChannel::waiting_op(const Wait& wait, const Lane& l) const {
  const std::size_t first = std::min(l.next_receive, l.next_send);
  if (first != kNone) return wait.batch[first];
  for (const Transfer& transfer : transfers_) {
    if (transfer.lane == &l) return *transfer.op;
  }
  return wait.batch.front();
}

Status MessageChannel::look_around(Wait& wait) {
  const std::int64_t now = now_ns();
  if (wait.started_ns == 0) {
    wait.started_ns = now;
    wait.tell_ns = now + std::min(kTellAfterNs, wait.deadline.remaining_ns() / 4);
  }
  const Lane* awaited = nullptr;
  for (const Lane* l : active_) {  // all members first: a deadline must not hide what is wrong
    if (!is_pending(*l)) continue;
    RINGCOMM_TRY(check_member(wait, *l));
    // Of several, the one that is furthest behind is the one to ask.
    if (awaited == nullptr || static_cast<std::int32_t>(l->entered.sequence - awaited->entered.sequence) < 0)
      awaited = l;
  }
  if (awaited == nullptr) return {};
  const std::uint32_t awaits = position_of(*awaited) + 1;
  if (now >= wait.tell_ns && (!is_entered_told_ || awaits_told_ != awaits)) {
    tell(awaits);
    wait.tell_ns = now + kTellAfterNs;
  }
  return wait.deadline.is_expired() ? explain_timeout(wait, *awaited) : Status();
}

Status MessageChannel::check_member(const Wait& wait, const Lane& l) {
  if (is_own(l)) return {};
  const bool is_moving = l.sending + l.receiving > 0;
  if (core_->has_left(l.rank) && (!is_moving || now_ns() - core_->left_since_ns(l.rank) > kLeftGraceNs)) {
    return fail(Status::peer_lost(concat(
                    "rank ", l.rank, " has left (its communicator was destroyed) while rank ", core_->rank(),
                    " waited for it in ", place_and_step(waiting_op(wait, l).descriptor))),
                l);
  }
  Descriptor theirs = l.entered;
  if (theirs.op == OpCode::none || entered_.op == OpCode::none || theirs.sequence != entered_.sequence)
    return {};
  theirs.step = entered_.step;
  Status same = compare(entered_, core_->rank(), theirs, l.rank);
  return same.is_ok() ? same : fail(std::move(same), l);
}

std::string_view MessageChannel::missing_act(const Lane& l) {
  if (l.receiving > 0) return " did not finish its block for rank ";
  if (l.next_receive != kNone) return " did not send its block to rank ";
  if (l.sending > 0) return " did not receive the block of rank ";
  return " did not take the blocks announced by rank ";
}

Status MessageChannel::explain_timeout(const Wait& wait, const Lane& awaited) {
  std::vector<MemberState> states;
  for (const Lane& l : lanes_)
    states.push_back({.rank = l.rank, .entered = is_own(l) ? entered_ : l.entered, .awaits = l.awaits});
  const WaitReport report = explain_wait({.members = states,
                                          .own = position_,
                                          .awaited = position_of(awaited),
                                          .has_announced = entered_.op != OpCode::none,
                                          .in = &waiting_op(wait, awaited).descriptor,
                                          .missing_act = missing_act(awaited),
                                          .waited_ms = (now_ns() - wait.started_ns + 500'000) / 1'000'000});
  return core_->fail(Status::timeout(report.text), report.culprit);
}

}  // namespace ringcomm::inline v0::transport::message
