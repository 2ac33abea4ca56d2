// SPDX-License-Identifier: Apache-2.0
#include "transport/message/channel.hpp"

#include <algorithm>
#include <cstring>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::message {
namespace {

bool is_two_sided(const TransportOp& op) {
  return op.kind == TransportOpKind::send || op.kind == TransportOpKind::recv;
}

/// A lane's tags count its parcels; the upper half keeps the channels of a pair apart (MessagePort::send()).
std::uint64_t tag_of(std::uint32_t channel, std::uint32_t parcel) {
  return (static_cast<std::uint64_t>(channel) << 32U) | parcel;
}

}  // namespace

MessageChannel::MessageChannel(std::shared_ptr<Core> core, const std::vector<int>& members)
    : core_(std::move(core)), lanes_(members.size()) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    lanes_[i].rank = members[i];
    if (members[i] == core_->rank()) position_ = i;
  }
}

MessageChannel::~MessageChannel() {
  if (number_ == 0 || core_->is_forked_copy()) return;
  const Turn turn(*core_);
  core_->remove(number_);
  for (Lane& l : lanes_) {
    while (!l.parcels.is_empty()) core_->pool().give_back(l.parcels.pop());
  }
}

void MessageChannel::connect(int rank, std::uint32_t its_number) {
  for (Lane& l : lanes_) {
    if (l.rank != rank) continue;
    l.number = its_number;
    l.is_open = true;
  }
}

Status MessageChannel::run(std::span<const TransportOp> batch, Deadline deadline) {
  if (core_->is_forked_copy()) [[unlikely]]
    return Status::not_available("channel used in a forked child (its connections stayed with the parent)");
  if (core_->has_failed()) [[unlikely]]
    return core_->failure();
  RINGCOMM_TRY(check(batch));
  if (batch.empty()) return {};
  Turn turn(*core_);
  Status status = run_batch(batch, deadline, turn);
  if (!status.is_ok()) [[unlikely]] {
    record(batch.front(), OpState::failed);
    core_->let_go();
  }
  return status;
}

Status MessageChannel::check(std::span<const TransportOp> batch) const {
  for (const TransportOp& op : batch) {
    if (op.peer < 0 || static_cast<std::size_t>(op.peer) >= lanes_.size()) {
      return Status::invalid_argument(concat("operation on peer ", op.peer, " of a channel with ",
                                             lanes_.size(), " members (positions count from 0)"));
    }
    if (op.kind > TransportOpKind::recv)
      return Status::invalid_argument(concat("unknown kind of operation ", static_cast<int>(op.kind)));
    if (!is_two_sided(op)) {
      return Status::invalid_argument(
          concat("operation in ", describe(op.descriptor),
                 " reads a peer's memory in place, which messages cannot (Capabilities::direct_read is "
                 "false; use send and recv)"));
    }
    if (op.bytes != 0 && op.address == nullptr) {
      return Status::invalid_argument(
          concat("operation in ", describe(op.descriptor), " has a null address but ", op.bytes, " bytes"));
    }
  }
  return {};
}

void MessageChannel::chain(std::span<const TransportOp> batch) {
  next_.resize(std::max(next_.size(), batch.size()));
  active_.clear();
  transfers_.clear();
  for (std::size_t i = batch.size(); i-- > 0;) {
    Lane& l = lane(batch[i].peer);
    if (!is_pending(l)) active_.push_back(&l);
    std::size_t& first = batch[i].kind == TransportOpKind::send ? l.next_send : l.next_receive;
    next_[i] = first;
    first = i;
  }
  for (const TransportOp& op : batch)
    if (op.kind == TransportOpKind::recv) record(op, OpState::posted);
  for (const Lane* l : active_)
    if (!is_own(*l)) expect(*l, batch);
}

/// Parcels are taken in the order of their tags, so that those of blocks which are not announced yet are
/// known.
void MessageChannel::expect(const Lane& l, std::span<const TransportOp> batch) {
  std::uint32_t parcel = l.taken;
  for (std::size_t at = l.next_receive; at != kNone; at = next_[at]) {
    const TransportOp& op = batch[at];
    if (static_cast<std::int32_t>(++parcel - l.arrived) > 0 && op.bytes > kInlineBytesMax)
      core_->port().expect(l.rank, tag_of(number_, parcel), op.address, op.bytes);
  }
}

Status MessageChannel::advance(std::span<const TransportOp> batch, bool& is_done) {
  RINGCOMM_TRY(advance_transfers());
  is_done = true;
  for (Lane* l : active_) {
    RINGCOMM_TRY(advance_sends(*l, batch));
    RINGCOMM_TRY(advance_receives(*l, batch));
    if (is_own(*l)) RINGCOMM_TRY(advance_sends(*l, batch));  // a receive made room
    is_done = is_done && !is_pending(*l);
  }
  return {};
}

Status MessageChannel::advance_sends(Lane& l, std::span<const TransportOp> batch) {
  while (l.next_send != kNone && l.posted - l.taken_by_peer < kParcelsInFlightMax) {
    if (!is_own(l) && core_->has_left(l.rank)) return {};  // look_around() says so
    const TransportOp& op = batch[l.next_send];
    RINGCOMM_TRY(is_own(l) ? post_to_self(op, l) : post(op, l));
    l.next_send = next_[l.next_send];
  }
  return {};
}

Status MessageChannel::post(const TransportOp& op, Lane& l) {
  record(op, OpState::posted);
  core_->counters().messages.add(1);
  core_->counters().bytes_offered.add(op.bytes);
  const bool is_inline = op.bytes <= kInlineBytesMax;
  const std::uint64_t tag = tag_of(l.number, ++l.posted);
  MessageWriter writer({.kind = MessageKind::parcel,
                        .channel = l.number,
                        .position = static_cast<std::uint32_t>(position_),
                        .taken = l.taken});
  l.taken_told = l.taken;
  writer.add(ParcelBody{.descriptor = op.descriptor, .bytes = op.bytes, .tag = tag});
  if (is_inline) {
    writer.add_bytes(op.address, op.bytes);
    RINGCOMM_TRY(core_->send(l.rank, writer.bytes()));
    record(op, OpState::released);
    return {};
  }
  const Result<TransferId> sent = core_->send_announced(l.rank, writer.bytes(), tag, op.address, op.bytes);
  if (!sent.is_ok()) return fail(sent.status(), l);
  transfers_.push_back({.id = sent.value(), .lane = &l, .op = &op});
  ++l.sending;
  return {};
}

Status MessageChannel::post_to_self(const TransportOp& op, Lane& l) {
  record(op, OpState::posted);
  core_->counters().messages.add(1);
  core_->counters().bytes_offered.add(op.bytes);
  Parcel* parcel = core_->pool().take();
  parcel->descriptor = op.descriptor;
  parcel->bytes = op.bytes;
  if (op.bytes > kInlineBytesMax) {
    parcel->local = op.address;  // this send lasts until it is received
    ++l.sending;
  } else {
    if (op.bytes > 0) std::memcpy(parcel->inline_block.data(), op.address, op.bytes);
    record(op, OpState::released);
  }
  l.parcels.push(parcel);
  ++l.posted;
  return {};
}

Status MessageChannel::advance_receives(Lane& l, std::span<const TransportOp> batch) {
  while (l.next_receive != kNone && !l.parcels.is_empty()) {
    const TransportOp& op = batch[l.next_receive];
    RINGCOMM_TRY(receive(op, l, l.parcels.front()));
    core_->pool().give_back(l.parcels.pop());
    ++l.taken;
    if (is_own(l)) l.taken_by_peer = l.taken;
    l.next_receive = next_[l.next_receive];
    RINGCOMM_TRY(give_credit(l));
  }
  return {};
}

Status MessageChannel::receive(const TransportOp& op, Lane& l, const Parcel& parcel) {
  if (Status same = compare(op.descriptor, core_->rank(), parcel.descriptor, l.rank); !same.is_ok())
    return fail(std::move(same), l);
  if (parcel.bytes != op.bytes) {
    return fail(
        Status::mismatch(concat("bytes posted differ in ", describe(op.descriptor), ": rank ", core_->rank(),
                                " expects ", op.bytes, ", rank ", l.rank, " posted ", parcel.bytes)),
        l);
  }
  if (op.bytes <= kInlineBytesMax || parcel.local != nullptr) {
    const std::byte* block = parcel.local != nullptr ? parcel.local : parcel.inline_block.data();
    if (op.bytes > 0) std::memmove(op.address, block, op.bytes);
    if (parcel.local != nullptr) {
      --l.sending;
      if (sink_ != nullptr)
        sink_->record(Direction::outgoing, parcel.descriptor, l.rank, parcel.local, OpState::released);
    }
    finish_receive(op);
    return {};
  }
  const Result<TransferId> posted = core_->port().receive(l.rank, parcel.tag, op.address, op.bytes);
  if (!posted.is_ok()) return fail(posted.status(), l);
  transfers_.push_back({.id = posted.value(), .lane = &l, .op = &op});
  ++l.receiving;
  return {};
}

void MessageChannel::finish_receive(const TransportOp& op) {
  core_->counters().bytes_copied.add(op.bytes);
  record(op, OpState::arrived);
  if (!op.is_read_later) record(op, OpState::released);
}

Status MessageChannel::advance_transfers() {
  for (std::size_t i = 0; i < transfers_.size();) {
    Transfer& transfer = transfers_[i];
    Lane& l = *transfer.lane;
    const Result<bool> is_done = core_->port().is_done(transfer.id);
    if (!is_done.is_ok()) return fail(is_done.status(), l);
    if (!is_done.value()) {
      ++i;
      continue;
    }
    if (transfer.op->kind == TransportOpKind::send) {
      --l.sending;
      record(*transfer.op, OpState::released);
    } else {
      --l.receiving;
      finish_receive(*transfer.op);
    }
    transfer = transfers_.back();
    transfers_.pop_back();
  }
  return {};
}

Status MessageChannel::give_credit(Lane& l) {
  if (is_own(l) || l.taken - l.taken_told < kCreditEvery) return {};
  l.taken_told = l.taken;
  const MessageWriter writer({.kind = MessageKind::credit,
                              .channel = l.number,
                              .position = static_cast<std::uint32_t>(position_),
                              .taken = l.taken});
  return core_->send(l.rank, writer.bytes());
}

}  // namespace ringcomm::inline v0::transport::message
