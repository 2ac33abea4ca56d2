// SPDX-License-Identifier: Apache-2.0
// Two-sided transfers of a LaneChannel: a send is an offer that the receiver copies and gives back at once.
#include <algorithm>

#include "core/try.hpp"
#include "transport/common/lane_channel.hpp"

namespace ringcomm::inline v0::transport {
namespace {

/// The first operation of this kind for this peer at or after `from`; group.size() if there is none.
std::size_t find_next(std::span<const TransportOp> group, TransportOpKind kind, int peer, std::size_t from) {
  while (from < group.size() && (group[from].kind != kind || group[from].peer != peer)) ++from;
  return from;
}

}  // namespace

Status LaneChannel::run_group(std::span<const TransportOp> group, Deadline deadline) {
  for (Member& m : members_) {
    m.next_send = find_next(group, TransportOpKind::send, position_of(m), 0);
    m.next_receive = find_next(group, TransportOpKind::recv, position_of(m), 0);
  }
  for (const TransportOp& op : group)
    if (op.kind == TransportOpKind::recv) record(Direction::incoming, op, OpState::posted);
  Status moved;
  const auto ready = [&] {
    bool is_done = false;
    moved = advance(group, is_done);
    return is_done || !moved.is_ok();
  };
  if (ready()) {
    if (moved.is_ok()) record_sends_done(group);
    return moved;
  }
  std::int64_t started_ns = 0;
  Status waited = wait_until(
      policy_, ready, [&] { return look_around(group, deadline, started_ns); },
      [&] { sleep(group, deadline); });
  say_awaited(nullptr);
  if (waited.is_ok()) waited = moved;
  if (waited.is_ok()) record_sends_done(group);
  return waited;
}

void LaneChannel::record_sends_done(std::span<const TransportOp> group) {
  for (const TransportOp& op : group)
    if (op.kind == TransportOpKind::send) record(Direction::outgoing, op, OpState::released);
}

Status LaneChannel::advance(std::span<const TransportOp> group, bool& is_done) {
  is_done = true;
  now_ = {};
  for (Member& m : members_) {
    RINGCOMM_TRY(advance_sends(m, group));
    RINGCOMM_TRY(advance_receives(m, group));
    is_done = is_done && pending(m, group) == Sleeping::awake;
  }
  return {};
}

Status LaneChannel::advance_sends(Member& m, std::span<const TransportOp> group) {
  while (m.next_send < group.size() && m.lane.has_room()) {
    const TransportOp& op = group[m.next_send];
    BlockAddress address{};
    RINGCOMM_TRY(own_block(op, m, address));
    post(op, m, ParcelKind::send, address);
    m.next_send = find_next(group, TransportOpKind::send, position_of(m), m.next_send + 1);
  }
  return {};
}

Status LaneChannel::advance_receives(Member& m, std::span<const TransportOp> group) {
  while (m.next_receive < group.size() && m.lane.has_parcel()) {
    const TransportOp& op = group[m.next_receive];
    const std::byte* data = nullptr;
    RINGCOMM_TRY(open_parcel(op, m, ParcelKind::send, data));
    copy_in(op, data);
    m.lane.consume();
    m.lane.complete_receive();
    record(Direction::incoming, op, OpState::arrived);
    if (!op.is_read_later) record(Direction::incoming, op, OpState::released);
    m.next_receive = find_next(group, TransportOpKind::recv, position_of(m), m.next_receive + 1);
  }
  return {};
}

Sleeping LaneChannel::pending(const Member& m, std::span<const TransportOp> group) const {
  if (m.next_receive < group.size()) return Sleeping::on_data;
  if (m.next_send < group.size()) return Sleeping::on_taken;
  return m.lane.are_sends_received() ? Sleeping::awake : Sleeping::on_receive;
}

Status LaneChannel::look_around(std::span<const TransportOp> group, Deadline deadline,
                                std::int64_t& started_ns) {
  if (started_ns == 0) started_ns = now_ns();
  RINGCOMM_TRY(endpoint_->check_peers(&group.front().descriptor));
  for (const bool is_last_look :
       {false, true}) {  // all members first: a deadline must not hide what is wrong
    for (Member& m : members_) {
      const Sleeping what = pending(m, group);
      if (what == Sleeping::awake) continue;
      const std::size_t index = std::min({m.next_receive, m.next_send, group.size() - 1});
      Wait wait{.member = m,
                .what = what,
                .mine = group[index].descriptor,
                .deadline = deadline,
                .started_ns = started_ns};
      if (is_last_look) return check_deadline(wait);
      RINGCOMM_TRY(check_member(wait));
    }
  }
  return {};
}

void LaneChannel::sleep(std::span<const TransportOp> group, Deadline deadline) {
  for (Member& m : members_) {
    const Sleeping what = pending(m, group);
    if (what == Sleeping::awake) continue;
    counters_.sleeps.add(1);
    m.lane.sleep(what, std::min(kShortSliceNs, deadline.remaining_ns()));
    return;
  }
}

}  // namespace ringcomm::inline v0::transport
