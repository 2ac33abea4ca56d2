// SPDX-License-Identifier: Apache-2.0
#include "transport/common/lane_channel.hpp"

#include <utility>

#include "core/try.hpp"
#include "device/host/nontemporal_copy.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport {
namespace {

bool is_two_sided(const TransportOp& op) {
  return op.kind == TransportOpKind::send || op.kind == TransportOpKind::recv;
}

bool is_source(const TransportOp& op) {
  return op.kind == TransportOpKind::send || op.kind == TransportOpKind::offer;
}

bool is_outgoing(const TransportOp& op) { return is_source(op) || op.kind == TransportOpKind::reclaim; }

bool has_address(const TransportOp& op) {
  return is_source(op) || op.kind == TransportOpKind::pull || op.kind == TransportOpKind::recv;
}

std::string_view name_of(ParcelKind kind) { return kind == ParcelKind::offer ? "an offer" : "a send"; }

}  // namespace

LaneChannel::LaneChannel(std::shared_ptr<Endpoint> endpoint, Endpoint::OpenChannel channel)
    : endpoint_(std::move(endpoint)),
      lease_(std::move(channel.lease)),
      policy_(endpoint_->policy()),
      members_(lease_.members.size()) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (lease_.members[i] == endpoint_->rank()) position_ = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& m = members_[i];
    m.rank = lease_.members[i];
    m.head = &channel.blocks[i]->head;
    m.control = &endpoint_->peer(m.rank);
    m.lane = Lane(lease_.block->lanes()[i], channel.blocks[i]->lanes()[position_], channel.first_epoch,
                  endpoint_->futex_scope());
    m.viewed.reserve(kOwnSegmentsCached);
  }
  endpoint_->attach(counters_);
}

LaneChannel::~LaneChannel() {
  endpoint_->detach(counters_);
  endpoint_->close(std::move(lease_));
}

void LaneChannel::announce(const Descriptor& descriptor) {
  entered_ = descriptor;
  write_shared(lease_.block->head.entered, descriptor);
  if (++operations_ % kOperationsPerSweep == 0) drop_withdrawn();
}

void LaneChannel::drop_withdrawn() {
  for (Member& m : members_) {
    const auto& registered = m.control->segments;
    if (m.theirs != nullptr && m.lane.unreleased() == 0 &&
        registered[m.theirs_id % kSegmentsMax].load(std::memory_order_acquire) != m.theirs_id) {
      m.theirs = nullptr;
      m.theirs_id = 0;
    }
    endpoint_->segments().drop_withdrawn(m.rank, registered);
  }
}

Status LaneChannel::run(std::span<const TransportOp> batch, Deadline deadline) {
  if (endpoint_->is_forked_copy()) [[unlikely]]
    return Status::not_available("channel used in a forked child (its lanes stayed with the parent)");
  now_ = {};
  Status refused = endpoint_->failure().is_set() ? endpoint_->failure().status() : check(batch);
  if (!refused.is_ok()) [[unlikely]] {
    record_read(batch);
    return refused;
  }
  for (std::size_t i = 0; i < batch.size();) {
    if (i % kOperationsPerInstant == 0) now_ = {};
    std::size_t next = i + 1;
    while (is_two_sided(batch[i]) && next < batch.size() && is_two_sided(batch[next])) ++next;
    Status status = is_two_sided(batch[i]) ? run_group(batch.subspan(i, next - i), deadline)
                                           : run_one(batch[i], deadline);
    if (!status.is_ok()) [[unlikely]] {
      record(is_outgoing(batch[i]) ? Direction::outgoing : Direction::incoming, batch[i], OpState::failed);
      return status;
    }
    i = next;
  }
  return {};
}

/// A batch that does not run: what its caller has read is read all the same.
void LaneChannel::record_read(std::span<const TransportOp> batch) {
  for (const TransportOp& op : batch) {
    const bool has_member = op.peer >= 0 && static_cast<std::size_t>(op.peer) < members_.size();
    if (op.ends_reading && has_member) record(Direction::incoming, op, OpState::computed);
  }
}

Status LaneChannel::check(std::span<const TransportOp> batch) {
  for (const TransportOp& op : batch) {
    if (op.peer < 0 || static_cast<std::size_t>(op.peer) >= members_.size()) {
      return Status::invalid_argument(concat("operation on peer ", op.peer, " of a channel with ",
                                             members_.size(), " members (positions count from 0)"));
    }
    Member& m = member(op.peer);
    if (m.control->state.life.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Life::failed))
      return endpoint_->adopt(m.rank);
    RINGCOMM_TRY(check(op));
  }
  return {};
}

Status LaneChannel::check(const TransportOp& op) {
  if (op.kind > TransportOpKind::recv)
    return Status::invalid_argument(concat("unknown kind of operation ", static_cast<int>(op.kind)));
  if (op.kind == TransportOpKind::take && op.view == nullptr)
    return Status::invalid_argument(concat("take in ", describe(op.descriptor), " has no view to fill in"));
  if (op.bytes == 0 || !has_address(op)) return {};
  if (op.address == nullptr) {
    return Status::invalid_argument(
        concat("operation in ", describe(op.descriptor), " has a null address but ", op.bytes, " bytes"));
  }
  BlockAddress unused{};
  return is_source(op) ? own_block(op, member(op.peer), unused) : Status();
}

Status LaneChannel::run_one(const TransportOp& op, Deadline deadline) {
  switch (op.kind) {
    case TransportOpKind::offer:
      return offer(op, deadline);
    case TransportOpKind::take:
      return take(op, deadline);
    case TransportOpKind::pull:
      return pull(op, deadline);
    case TransportOpKind::release:
      return release(op);
    default:
      return reclaim(op, deadline);
  }
}

Status LaneChannel::offer(const TransportOp& op, Deadline deadline) {
  Member& m = member(op.peer);
  BlockAddress address{};
  RINGCOMM_TRY(own_block(op, m, address));
  if (!m.lane.has_room()) RINGCOMM_TRY(wait(m, Sleeping::on_taken, op.descriptor, deadline));
  post(op, m, ParcelKind::offer, address);
  return {};
}

void LaneChannel::post(const TransportOp& op, Member& m, ParcelKind kind, const BlockAddress& address) {
  // Counted first: the peer may finish the operation before post() returns. Recorded while the parcel
  // travels.
  counters_.messages.add(1);
  counters_.bytes_offered.add(op.bytes);
  m.lane.post(op.descriptor, address, kind);
  record(Direction::outgoing, op, OpState::posted);
}

Status LaneChannel::take(const TransportOp& op, Deadline deadline) {
  Member& m = member(op.peer);
  if (!m.lane.has_parcel()) {
    record(Direction::incoming, op, OpState::posted);
    RINGCOMM_TRY(wait(m, Sleeping::on_data, op.descriptor, deadline));
  }
  const std::byte* data = nullptr;
  RINGCOMM_TRY(open_parcel(op, m, ParcelKind::offer, data));
  record(Direction::incoming, op, OpState::arrived);
  *op.view = {.data = data, .bytes = op.bytes};
  m.lane.count_take();
  m.lane.consume();
  counters_.bytes_viewed.add(op.bytes);
  return {};
}

Status LaneChannel::pull(const TransportOp& op, Deadline deadline) {
  Member& m = member(op.peer);
  record(Direction::incoming, op, OpState::posted);
  if (!m.lane.has_parcel()) RINGCOMM_TRY(wait(m, Sleeping::on_data, op.descriptor, deadline));
  const std::byte* data = nullptr;
  RINGCOMM_TRY(open_parcel(op, m, ParcelKind::offer, data));
  copy_in(op, data);
  record(Direction::incoming, op, OpState::arrived);
  m.lane.count_take();
  m.lane.consume();
  return {};
}

Status LaneChannel::release(const TransportOp& op) {
  Member& m = member(op.peer);
  if (m.lane.unreleased() == 0) {
    return Status::invalid_argument(concat("release in ", describe(op.descriptor), ": nothing of rank ",
                                           m.rank, " is taken (each release follows its take or pull)"));
  }
  m.lane.release(op.descriptor);
  if (!m.viewed.empty() && m.lane.unreleased() == 0) m.viewed.clear();
  if (op.ends_reading) record(Direction::incoming, op, OpState::computed);
  if (!op.is_read_later) record(Direction::incoming, op, OpState::released);
  return {};
}

Status LaneChannel::reclaim(const TransportOp& op, Deadline deadline) {
  Member& m = member(op.peer);
  if (m.lane.unreclaimed() == 0) {
    return Status::invalid_argument(concat("reclaim in ", describe(op.descriptor),
                                           ": nothing is offered to rank ", m.rank,
                                           " (each reclaim follows its offer)"));
  }
  if (!m.lane.is_released()) RINGCOMM_TRY(wait(m, Sleeping::on_release, op.descriptor, deadline));
  if (!m.lane.agrees_on_release(op.descriptor)) {
    Status differs = compare(op.descriptor, endpoint_->rank(), m.lane.refused_release(op.descriptor), m.rank);
    if (!differs.is_ok()) return fail(std::move(differs), m);
  }
  m.lane.reclaim();
  record(Direction::outgoing, op, OpState::released);
  return {};
}

Status LaneChannel::own_block(const TransportOp& op, Member& m, BlockAddress& address) {
  address = {.offset = 0, .bytes = op.bytes, .segment_id = 0};
  if (op.bytes == 0) return {};
  const std::uint64_t version = endpoint_->segments().version();
  const OwnSegment* found = &m.own[m.own_latest];
  for (std::size_t i = 0; found->version != version || !found->contains(op.address, op.bytes); ++i) {
    if (i == m.own.size()) {
      OwnSegment& slot = m.own[++m.own_replaced % m.own.size()];
      RINGCOMM_TRY_ASSIGN(slot, endpoint_->segments().find(op.address, op.bytes, m.rank));
      found = &slot;
      break;
    }
    found = &m.own[i];
  }
  m.own_latest = static_cast<std::size_t>(found - m.own.data());
  address.segment_id = found->id;
  address.offset = static_cast<std::uint64_t>(op.address - found->data);
  return {};
}

Status LaneChannel::open_parcel(const TransportOp& op, Member& m, ParcelKind kind, const std::byte*& data) {
  const Parcel& parcel = m.lane.front();
  const int my_rank = endpoint_->rank();
  if (Status same = compare(op.descriptor, my_rank, parcel.descriptor, m.rank); !same.is_ok())
    return fail(std::move(same), m);
  if (parcel.kind != kind) {
    return fail(Status::mismatch(concat("kind of transfer differs in ", describe(op.descriptor), ": rank ",
                                        my_rank, " waits for ", name_of(kind), ", rank ", m.rank, " posted ",
                                        name_of(parcel.kind))),
                m);
  }
  if (parcel.bytes != op.bytes) {
    return fail(
        Status::mismatch(concat("bytes posted differ in ", describe(op.descriptor), ": rank ", my_rank,
                                " expects ", op.bytes, ", rank ", m.rank, " posted ", parcel.bytes)),
        m);
  }
  return find_data(parcel.address(), m, data);
}

Status LaneChannel::find_data(const BlockAddress& address, Member& m, const std::byte*& data) {
  if (address.bytes == 0) return {};
  if (address.segment_id != m.theirs_id) {
    auto mapped = endpoint_->segments().map(m.rank, address.segment_id, m.control->segments);
    if (!mapped.is_ok()) {
      RINGCOMM_TRY(endpoint_->check_peers());  // a rank that failed and left took its memory along: tell that
      return fail(mapped.status(), m);
    }
    if (m.lane.unreleased() != 0 && m.theirs != nullptr) m.viewed.push_back(std::move(m.theirs));
    m.theirs = std::move(mapped).value();
    now_ = {};  // mapping takes long
    m.theirs_id = address.segment_id;
  }
  if (address.bytes > m.theirs->bytes() || address.offset > m.theirs->bytes() - address.bytes) {
    return fail(Status::corrupt_data(concat("rank ", m.rank, " offered bytes ", address.offset, " to ",
                                            address.offset + address.bytes, " of a segment of ",
                                            m.theirs->bytes(), " bytes")),
                m);
  }
  data = m.theirs->data() + address.offset;
  return {};
}

void LaneChannel::copy_in(const TransportOp& op, const std::byte* data) {
  if (op.bytes == 0) return;
  copy_block(op.address, data, op.bytes);
  now_ = {};
  counters_.bytes_copied.add(op.bytes);
}

}  // namespace ringcomm::inline v0::transport
