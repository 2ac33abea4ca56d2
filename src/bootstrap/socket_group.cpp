// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/socket_group.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "bootstrap/packet.hpp"
#include "bootstrap/rank_list.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr int kPollMsMax = 20;  // goodbyes of peers from whom nothing is due are noticed within this time
constexpr std::chrono::seconds kGreetingWait{10};

Status corrupt(int peer, std::string_view what) {
  return Status::corrupt_data(concat("rank ", peer, " sent ", what, " while the ranks met"));
}

}  // namespace

SocketGroup::SocketGroup(int rank, std::size_t size)
    : rank_(rank), peers_(size), buffer_(sizeof(PacketHeader) + kChunkBytesMax) {}

Result<std::unique_ptr<SocketGroup>> SocketGroup::create(int rank, std::vector<UniqueFd> sockets) {
  std::unique_ptr<SocketGroup> group(new SocketGroup(rank, sockets.size()));
  for (int peer = 0; peer < group->size(); ++peer) {
    if (peer == rank) continue;
    group->peers_[static_cast<std::size_t>(peer)].socket = std::move(sockets[static_cast<std::size_t>(peer)]);
    RINGCOMM_TRY(group->greet(peer));
  }
  return group;
}

Status SocketGroup::greet(int peer) {
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  PacketHeader header;
  header.rank = rank_;
  header.size = size();
  UniqueFd theirs;
  if (rank_ < peer) {
    RINGCOMM_TRY_ASSIGN(auto ends, make_socket_pair());
    entry.transport_socket = std::move(ends.first);
    theirs = std::move(ends.second);
  }
  switch (send_packet(entry.socket.get(), pack(header), theirs.get())) {
    case IoState::done:
      return {};
    case IoState::closed:
      return lost(peer, "before it was greeted");
    default:
      return Status::unreachable(concat("greeting rank ", peer, " failed: ", describe_errno(errno)));
  }
}

Status SocketGroup::accept_greeting(int peer, ReceivedPacket& packet) {
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  const auto header = unpack(std::span(buffer_).first(packet.bytes));
  if (!header || packet.was_truncated || header->kind != PacketKind::greeting) {
    return corrupt(peer, concat("no greeting but ", packet.bytes, " other bytes"));
  }
  if (header->rank != peer) return corrupt(peer, concat("a greeting as rank ", header->rank));
  if (header->size != size()) {
    return Status::invalid_argument(concat("world size differs: rank ", rank_, " says ", size(), ", rank ",
                                           peer, " says ", header->size));
  }
  if (packet.pid <= 0 || packet.uid != ::geteuid()) {
    return Status::invalid_argument(concat(
        "rank ", peer, " runs as process ", packet.pid, " of user ", packet.uid, ", this rank as user ",
        ::geteuid(), " (ranks of one group belong to one user and see each other's processes)"));
  }
  if (packet.lost_descriptor) {
    return Status::not_available(concat("rank ", rank_, " cannot receive the socket of rank ", peer,
                                        " (too many open files). Is RLIMIT_NOFILE too low?"));
  }
  if (rank_ > peer) {
    if (!packet.fd.is_open()) return corrupt(peer, "a greeting without a socket");
    entry.transport_socket = std::move(packet.fd);
  }
  entry.pid = packet.pid;
  entry.has_greeted = true;
  auto process = open_pidfd(packet.pid);
  entry.has_ended = process.status().code() == StatusCode::not_found;
  if (entry.has_ended) return {};  // what it sent before may be all that is needed
  if (!process.is_ok()) {
    return Status(process.status().code(),
                  concat("rank ", rank_, " cannot watch rank ", peer, ": ", process.status().message()));
  }
  entry.process = std::move(process).value();
  return {};
}

Status SocketGroup::accept_chunk(int peer, Inbox& inbox, std::size_t packet_bytes) {
  const auto header = unpack(std::span(buffer_).first(packet_bytes));
  const std::size_t bytes = packet_bytes - sizeof(PacketHeader);
  if (!header || header->kind != PacketKind::chunk) return corrupt(peer, "a packet of no known kind");
  if (header->sequence != sequence_) {
    return Status::mismatch(
        concat("rank ", peer, " is in all_gather #", header->sequence, ", rank ", rank_, " in #", sequence_));
  }
  if (header->total > kGatherBytesMax) {
    return corrupt(peer, concat(header->total, " bytes (", kGatherBytesMax, " at most)"));
  }
  if (!std::exchange(inbox.has_size, true)) inbox.bytes.resize(header->total);
  if (header->total != inbox.bytes.size() || header->offset != inbox.filled ||
      bytes > inbox.bytes.size() - inbox.filled || (bytes == 0 && header->total != 0)) {
    return corrupt(peer, concat("a chunk of ", bytes, " bytes at ", header->offset, " of ", header->total,
                                " where byte ", inbox.filled, " of ", inbox.bytes.size(), " was due"));
  }
  std::copy_n(buffer_.begin() + sizeof(PacketHeader), bytes,
              inbox.bytes.begin() + static_cast<std::ptrdiff_t>(inbox.filled));
  inbox.filled += bytes;
  inbox.is_complete = inbox.filled == inbox.bytes.size();
  return {};
}

Status SocketGroup::accept_packet(int peer, ReceivedPacket& packet, Inbox* inbox) {
  const Peer& entry = peers_[static_cast<std::size_t>(peer)];
  const auto bytes = std::span<const std::byte>(buffer_).first(packet.bytes);
  const auto header = unpack(bytes);
  if (header && header->kind == PacketKind::gave_up) {
    return unpack_reason(*header, bytes.subspan(sizeof(PacketHeader)), concat("rank ", peer));
  }
  if (!entry.has_greeted) return accept_greeting(peer, packet);
  if (packet.pid != entry.pid) return corrupt(peer, concat("bytes from another process, ", packet.pid, ","));
  if (!header || packet.was_truncated || !inbox) {
    return corrupt(peer, concat(packet.bytes, " bytes that are no packet of ours"));
  }
  return accept_chunk(peer, *inbox, packet.bytes);
}

Status SocketGroup::receive_from(int peer, Inbox* inbox) {
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  while (inbox ? !inbox->is_complete : !entry.has_greeted) {
    // Asked before reading: whatever a peer sent before it died is then still read.
    const bool is_dead = entry.has_ended || (entry.process.is_open() && has_ended(entry.process.get()));
    ReceivedPacket packet = receive_packet(entry.socket.get(), buffer_);
    if (packet.state == IoState::failed) {
      return Status::internal(concat("receiving from rank ", peer, " failed: ", describe_errno(errno)));
    }
    if (packet.state == IoState::closed || (packet.state == IoState::would_block && is_dead)) {
      return lost(peer, "while the ranks met");
    }
    if (packet.state == IoState::would_block) return {};
    RINGCOMM_TRY(accept_packet(peer, packet, inbox));
  }
  return {};
}

void SocketGroup::send_chunks(int peer, Inbox& inbox, std::span<const std::byte> mine) {
  const Peer& entry = peers_[static_cast<std::size_t>(peer)];
  while (!inbox.is_sent) {
    const auto piece = mine.subspan(inbox.sent, std::min(kChunkBytesMax, mine.size() - inbox.sent));
    PacketHeader header;
    header.kind = PacketKind::chunk;
    header.sequence = sequence_;
    header.total = mine.size();
    header.offset = inbox.sent;
    const IoState state = send_packet(entry.socket.get(), pack(header, piece));
    if (state == IoState::would_block) return;
    inbox.sent += piece.size();
    // A peer that cannot be sent to is judged by what it sends: nothing more, then it is lost.
    inbox.is_sent = state != IoState::done || inbox.sent == mine.size();
  }
}

void SocketGroup::wait_for_peers(const std::vector<Inbox>& inboxes, Deadline deadline) {
  std::vector<pollfd> fds;
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    const Inbox& inbox = inboxes[peer];
    const int events = (inbox.is_complete ? 0 : POLLIN) | (inbox.is_sent ? 0 : POLLOUT);
    if (events != 0) fds.push_back({peers_[peer].socket.get(), static_cast<short>(events), 0});
    if (!inbox.is_complete && peers_[peer].process.is_open()) {
      fds.push_back({peers_[peer].process.get(), POLLIN, 0});
    }
  }
  wait_ready(fds, deadline, kPollMsMax);
}

Status SocketGroup::exchange(std::vector<Inbox>& inboxes, std::span<const std::byte> mine,
                             Deadline deadline) {
  const std::int64_t began_ns = now_ns();
  while (true) {
    std::vector<int> missing;
    for (int peer = 0; peer < size(); ++peer) {
      Inbox& inbox = inboxes[static_cast<std::size_t>(peer)];
      if (peer == rank_) continue;
      if (!inbox.is_sent) send_chunks(peer, inbox, mine);
      RINGCOMM_TRY(receive_from(peer, &inbox));
      if (inbox.is_complete) {
        bool is_closed = false;  // no harm: it has given all that it owes to this gather
        RINGCOMM_TRY(hear_goodbye(peers_[static_cast<std::size_t>(peer)].socket.get(), concat("rank ", peer),
                                  is_closed));
      }
      if (!inbox.is_complete || !inbox.is_sent) missing.push_back(peer);
    }
    if (missing.empty()) return {};
    if (deadline.is_expired()) {
      return Status::timeout(concat(list_ranks(missing), " of ", size(),
                                    missing.size() == 1 ? " has" : " have", " not come to all_gather #",
                                    sequence_, " of the meeting within ", (now_ns() - began_ns) / 1'000'000,
                                    " ms"));
    }
    wait_for_peers(inboxes, deadline);
  }
}

Result<std::vector<std::vector<std::byte>>> SocketGroup::all_gather(std::span<const std::byte> mine,
                                                                    Deadline deadline) {
  RINGCOMM_TRY(failure_);
  if (mine.size() > kGatherBytesMax) {
    return Status::invalid_argument(
        concat("all_gather of ", mine.size(), " bytes by rank ", rank_, " (", kGatherBytesMax, " at most)"));
  }
  ++sequence_;
  std::vector<Inbox> inboxes(peers_.size());
  Inbox& own = inboxes[static_cast<std::size_t>(rank_)];
  own.bytes.assign(mine.begin(), mine.end());
  own.is_complete = own.is_sent = true;
  if (Status status = exchange(inboxes, mine, deadline); !status.is_ok()) return fail(std::move(status));
  std::vector<std::vector<std::byte>> all(peers_.size());
  for (std::size_t peer = 0; peer < all.size(); ++peer) all[peer] = std::move(inboxes[peer].bytes);
  return all;
}

Status SocketGroup::check_peer(int peer) const {
  if (peer >= 0 && peer < size() && peer != rank_) return {};
  return Status::invalid_argument(concat("no peer ", peer, " of rank ", rank_, " in a group of ", size()));
}

Status SocketGroup::await_greeting(int peer) {
  const Deadline deadline = Deadline::after(kGreetingWait);
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  while (!entry.has_greeted) {
    RINGCOMM_TRY(receive_from(peer, nullptr));
    if (entry.has_greeted) break;
    if (deadline.is_expired()) {
      return Status::timeout(concat("rank ", peer, " of ", size(), " has not greeted rank ", rank_,
                                    " within ", kGreetingWait.count(), " s"));
    }
    pollfd fd{entry.socket.get(), POLLIN, 0};
    wait_ready(std::span(&fd, 1), deadline, kPollMsMax);
  }
  return {};
}

Result<int> SocketGroup::take_socket(int peer) {
  RINGCOMM_TRY(failure_);
  RINGCOMM_TRY(check_peer(peer));
  Peer& entry = peers_[static_cast<std::size_t>(peer)];
  if (entry.was_taken) {
    return Status::invalid_argument(concat("the socket to rank ", peer, " was taken before"));
  }
  if (Status status = await_greeting(peer); !status.is_ok()) return fail(std::move(status));
  entry.was_taken = true;
  return entry.transport_socket.release();
}

Result<int> SocketGroup::peer_pid(int peer) const {
  if (peer == rank_) return static_cast<int>(::getpid());
  RINGCOMM_TRY(check_peer(peer));
  const Peer& entry = peers_[static_cast<std::size_t>(peer)];
  if (entry.has_greeted) return entry.pid;
  return Status::not_available(concat("rank ", peer, " has not greeted yet (do an all_gather first)"));
}

Result<std::shared_ptr<void>> SocketGroup::shared_object(std::string_view key,
                                                         const std::function<std::shared_ptr<void>()>&) {
  return Status::not_available(concat("processes share no object \"", key, "\""));
}

Status SocketGroup::lost(int peer, std::string_view doing) const {
  const Peer& entry = peers_[static_cast<std::size_t>(peer)];
  const std::string process = entry.has_greeted ? concat(" (pid ", entry.pid, ")") : std::string();
  return Status::peer_lost(concat("rank ", peer, process, " died or left ", doing));
}

Status SocketGroup::fail(Status reason) {
  if (!failure_.is_ok()) return failure_;
  failure_ = std::move(reason);
  const auto packet = pack_reason(failure_);
  for (const Peer& entry : peers_) {
    if (entry.socket.is_open()) send_packet(entry.socket.get(), packet);
  }
  return failure_;
}

}  // namespace ringcomm::inline v0::bootstrap
