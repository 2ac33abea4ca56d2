// SPDX-License-Identifier: Apache-2.0
#include "support/grouped_fake_board.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::testing_support {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(20);

std::string place(const Descriptor& d) { return concat(name_of(d.op), " #", d.sequence); }

std::vector<TransportOp> select(std::span<const TransportOp> batch, TransportOpKind kind, int peer) {
  std::vector<TransportOp> chosen;
  for (const TransportOp& op : batch) {
    if (op.kind == kind && op.peer == peer) chosen.push_back(op);
  }
  return chosen;
}

std::string text_of(const ChannelKey& key) {
  std::string text = concat(key.ordinal);
  for (const int member : key.members) text += concat(",", member);
  return text;
}

bool has_arrived(const Descriptor& head, const Descriptor& mine) {
  return head.op != OpCode::none && head.sequence >= mine.sequence;
}

}  // namespace

Status GroupedFakeTransport::Board::fail_locked(Status status) {
  if (failure_.is_ok()) failure_ = std::move(status);
  changed_.notify_all();
  return failure_;
}

Status GroupedFakeTransport::Board::fail(Status status) {
  const std::lock_guard lock(mutex_);
  return fail_locked(std::move(status));
}

Status GroupedFakeTransport::Board::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void GroupedFakeTransport::Board::leave(int rank) {
  const std::lock_guard lock(mutex_);
  left_[static_cast<std::size_t>(rank)] = true;
  changed_.notify_all();
}

TransportCounters GroupedFakeTransport::Board::read(const Counted& counted) const {
  const std::lock_guard lock(mutex_);
  return counted.counters;
}

Result<std::shared_ptr<GroupedFakeTransport::Board::Room>> GroupedFakeTransport::Board::open(
    const ChannelKey& key, int rank, Deadline deadline) {
  Lock lock(mutex_);
  RINGCOMM_TRY(failure_);
  const std::string name = text_of(key);
  const int generation = opened_[static_cast<std::size_t>(rank)][name]++;
  auto& room = rooms_[{name, generation}];
  if (room == nullptr) room = std::make_shared<Room>(key.members);
  const auto mine = room;
  for (std::size_t i = 0; i < key.members.size(); ++i) {
    if (key.members[i] == rank) mine->open[i] = true;
  }
  changed_.notify_all();
  while (std::find(mine->open.begin(), mine->open.end(), false) != mine->open.end()) {
    std::string missing;
    for (std::size_t i = 0; i < mine->open.size(); ++i) {
      if (mine->open[i]) continue;
      missing += concat(missing.empty() ? "" : ", ", key.members[i]);
      if (left_[static_cast<std::size_t>(key.members[i])]) {
        return fail_locked(
            Status::peer_lost(concat("rank ", key.members[i], " has left before it opened a channel")));
      }
    }
    RINGCOMM_TRY(failure_);
    if (deadline.is_expired())
      return fail_locked(
          Status::timeout(concat("open_channel: rank ", missing, " did not open the channel in time")));
    changed_.wait_for(lock, kSlice);
  }
  return mine;
}

void GroupedFakeTransport::Board::announce(Room& room, int position, const Descriptor& descriptor) {
  const std::lock_guard lock(mutex_);
  room.heads[static_cast<std::size_t>(position)] = descriptor;
  changed_.notify_all();
}

Status GroupedFakeTransport::Board::run(Room& room, int position, std::span<const TransportOp> batch,
                                        Deadline deadline, Counted& counted) {
  Lock lock(mutex_);
  RINGCOMM_TRY(failure_);
  Turn turn{.room = room, .position = position, .batch = batch, .deadline = deadline, .started_ns = now_ns()};
  const auto group = std::make_shared<Group>(Group{.batch = batch});
  RINGCOMM_TRY(post(turn, group));
  RINGCOMM_TRY(meet(turn, lock));
  RINGCOMM_TRY(copy(turn, counted));
  while (group->readers_left > 0) {
    RINGCOMM_TRY(failure_);
    if (deadline.is_expired())
      return fail_locked(Status::timeout("a peer of the group did not copy in time"));
    changed_.wait_for(lock, kSlice);
  }
  return {};
}

Status GroupedFakeTransport::Board::post(Turn& turn, const std::shared_ptr<Group>& group) {
  for (const TransportOp& op : turn.batch) {
    if (op.kind == TransportOpKind::recv && op.bytes > 0) std::memset(op.address, 0xff, op.bytes);
    if (turn.peers.count(op.peer) != 0) continue;
    auto& shared = turn.room.groups[{turn.position, op.peer}];
    turn.peers[op.peer] = shared.size();
    shared.push_back(group);
    ++group->readers_left;
  }
  changed_.notify_all();
  return {};
}

Status GroupedFakeTransport::Board::meet(Turn& turn, Lock& lock) {
  for (const auto& [peer, index] : turn.peers) {
    while (turn.room.groups[{peer, turn.position}].size() <= index) RINGCOMM_TRY(wait_for(turn, peer, lock));
  }
  turn.room.awaits[static_cast<std::size_t>(turn.position)] = -1;
  return failure_;
}

Status GroupedFakeTransport::Board::wait_for(Turn& turn, int peer, Lock& lock) {
  Room& room = turn.room;
  const auto at = static_cast<std::size_t>(peer);
  const int my_rank = room.members[static_cast<std::size_t>(turn.position)];
  RINGCOMM_TRY(failure_);
  room.awaits[static_cast<std::size_t>(turn.position)] = peer;
  if (left_[static_cast<std::size_t>(room.members[at])]) {
    return fail_locked(Status::peer_lost(
        concat("rank ", room.members[at], " has left (its communicator was destroyed) while rank ", my_rank,
               " waited for it in ", place(turn.batch.front().descriptor))));
  }
  const Descriptor& mine = room.heads[static_cast<std::size_t>(turn.position)];
  if (mine.op != OpCode::none && room.heads[at].op != OpCode::none &&
      room.heads[at].sequence == mine.sequence) {
    if (Status same = compare(mine, my_rank, room.heads[at], room.members[at]); !same.is_ok())
      return fail_locked(std::move(same));
  }
  if (turn.deadline.is_expired()) return fail_locked(explain(turn, peer));
  changed_.wait_for(lock, kSlice);
  return {};
}

int GroupedFakeTransport::Board::follow(const Room& room, int first, int self) const {
  int last = first;
  for (std::size_t hop = 0; hop < room.members.size(); ++hop) {
    const int next = room.awaits[static_cast<std::size_t>(last)];
    if (next < 0) return last;
    if (next == self) break;
    last = next;
  }
  return first;
}

Status GroupedFakeTransport::Board::explain(const Turn& turn, int peer) const {
  const Room& room = turn.room;
  const Descriptor& mine = turn.batch.front().descriptor;
  const int culprit = follow(room, peer, turn.position);
  const Descriptor& head = room.heads[static_cast<std::size_t>(culprit)];
  const auto waited_ms = (now_ns() - turn.started_ns) / 1'000'000;
  std::string arrived;
  for (std::size_t i = 0; i < room.members.size(); ++i) {
    if (has_arrived(room.heads[i], mine)) arrived += concat(arrived.empty() ? "" : ", ", room.members[i]);
  }
  const std::string name = concat("rank ", room.members[static_cast<std::size_t>(culprit)]);
  if (!has_arrived(head, mine)) {
    return Status::timeout(concat(name, " did not arrive in ", place(mine), " within ", waited_ms,
                                  " ms (it is still in ", place(head), "; arrived: rank ", arrived, ")"));
  }
  return Status::timeout(
      concat(name, " did not run its group in ", place(mine), " within ", waited_ms, " ms"));
}

Status GroupedFakeTransport::Board::copy(Turn& turn, Counted& counted) {
  for (const auto& [peer, index] : turn.peers) {
    Group& theirs = *turn.room.groups[{peer, turn.position}][index];
    const int my_rank = turn.room.members[static_cast<std::size_t>(turn.position)];
    const int their_rank = turn.room.members[static_cast<std::size_t>(peer)];
    const auto received = select(turn.batch, TransportOpKind::recv, peer);
    const auto sent = select(theirs.batch, TransportOpKind::send, turn.position);
    for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i) {
      Status same = compare(received[i].descriptor, my_rank, sent[i].descriptor, their_rank);
      if (same.is_ok() && sent[i].bytes != received[i].bytes) same = Status::mismatch("bytes posted differ");
      if (!same.is_ok()) return fail_locked(std::move(same));
      if (sent[i].bytes > 0) std::memcpy(received[i].address, sent[i].address, sent[i].bytes);
      counted.counters.bytes_copied += sent[i].bytes;
    }
    if (sent.size() != received.size()) {
      const Descriptor& mine = turn.room.heads[static_cast<std::size_t>(turn.position)];
      const Descriptor& head = turn.room.heads[static_cast<std::size_t>(peer)];
      if (Status same = compare(mine, my_rank, head, their_rank); !same.is_ok())
        return fail_locked(std::move(same));
      return fail_locked(Status::mismatch(
          concat("group ", index, " between rank ", my_rank, " and rank ", their_rank, ": rank ", their_rank,
                 " sends ", sent.size(), ", rank ", my_rank, " receives ", received.size(),
                 " (all sends and receives of a step must be in one batch)")));
    }
    --theirs.readers_left;
    turn.room.groups[{peer, turn.position}][index].reset();
  }
  for (const TransportOp& op : turn.batch) {
    if (op.kind != TransportOpKind::send) continue;
    counted.counters.messages += 1;
    counted.counters.bytes_offered += op.bytes;
  }
  changed_.notify_all();
  return {};
}

}  // namespace ringcomm::testing_support
