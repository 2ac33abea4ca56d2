// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/link.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::shm {

using bootstrap::IoState;

namespace {

// More than a peer's lanes can have outstanding in practice; what its owner took back is dropped before.
constexpr std::size_t kArrivedMax = 1024;

}  // namespace

Link::Link(bootstrap::UniqueFd socket, int peer, int peer_pid)
    : socket_(std::move(socket)), peer_(peer), peer_pid_(peer_pid) {}

Status Link::announce(std::uint32_t segment_id, const Segment& segment) {
  if (segment.fd() < 0) {
    return Status::invalid_argument(concat("segment of ", segment.bytes(),
                                           " bytes is local memory: other processes cannot map it (create it "
                                           "as shareable)"));
  }
  Announcement announcement;
  announcement.segment_id = segment_id;
  announcement.bytes = segment.bytes();
  switch (bootstrap::send_packet(socket_.get(), std::as_bytes(std::span(&announcement, 1)), segment.fd())) {
    case IoState::done:
      return {};
    case IoState::would_block:
      return Status::not_available(
          concat("rank ", peer_,
                 " has not read the announcements of earlier segments (the socket to "
                 "it is full). Are new windows offered faster than it takes them?"));
    case IoState::closed:
      return Status::peer_lost(concat("rank ", peer_, " (pid ", peer_pid_, ") has closed its socket"));
    default:
      return Status::not_available(concat("handing a segment of ", segment.bytes(), " bytes to rank ", peer_,
                                          " failed: ", bootstrap::describe_errno(errno)));
  }
}

Status Link::accept(bootstrap::ReceivedPacket& packet, const Announcement& announcement) {
  if (packet.pid != peer_pid_) {
    return Status::corrupt_data(concat("process ", packet.pid, " wrote to the socket of rank ", peer_,
                                       " (pid ", peer_pid_, "). Did it fork?"));
  }
  if (packet.lost_descriptor) {
    return Status::not_available(concat(
        "memory of rank ", peer_, " cannot be received: too many open files. Is RLIMIT_NOFILE too low?"));
  }
  if (packet.bytes != sizeof(announcement) || packet.was_truncated ||
      announcement.magic != Announcement::kMagic || !packet.fd.is_open()) {
    return Status::corrupt_data(concat("rank ", peer_, " sent ", packet.was_truncated ? "more than " : "",
                                       packet.bytes, " bytes that announce no segment (a descriptor was ",
                                       packet.fd.is_open() ? "" : "not ", "enclosed)"));
  }
  if (arrived_.size() == kArrivedMax) {
    return Status::corrupt_data(
        concat("rank ", peer_, " announced ", kArrivedMax, " segments without offering them"));
  }
  arrived_.push_back({announcement.segment_id, announcement.bytes, std::move(packet.fd)});
  return {};
}

Status Link::drain() {
  while (!is_closed_) {
    Announcement announcement{};
    bootstrap::ReceivedPacket packet =
        bootstrap::receive_packet(socket_.get(), std::as_writable_bytes(std::span(&announcement, 1)));
    if (packet.state == IoState::would_block) return {};
    if (packet.state == IoState::failed) {
      return Status::internal(
          concat("reading the socket of rank ", peer_, " failed: ", bootstrap::describe_errno(errno)));
    }
    is_closed_ = packet.state == IoState::closed;
    if (!is_closed_) RINGCOMM_TRY(accept(packet, announcement));
  }
  return {};
}

Result<std::shared_ptr<Segment>> Link::map(std::uint32_t segment_id) {
  const auto is_it = [&](const Arrived& a) { return a.segment_id == segment_id; };
  auto found = std::find_if(arrived_.begin(), arrived_.end(), is_it);
  if (found == arrived_.end()) {
    RINGCOMM_TRY(drain());
    found = std::find_if(arrived_.begin(), arrived_.end(), is_it);
  }
  if (found == arrived_.end()) {
    if (is_closed_) return Status::peer_lost(concat("rank ", peer_, " (pid ", peer_pid_, ") died or left"));
    return Status::not_found(concat("rank ", peer_, " has announced no segment ", segment_id));
  }
  const std::uint64_t bytes = found->bytes;
  const int fd = found->fd.release();
  arrived_.erase(found);
  auto mapped = Segment::map_read_only(fd, bytes);
  if (mapped.is_ok()) return mapped;
  return Status(mapped.status().code(), concat("segment ", segment_id, " of rank ", peer_, " (pid ",
                                               peer_pid_, "): ", mapped.status().message()));
}

}  // namespace ringcomm::inline v0::transport::shm
