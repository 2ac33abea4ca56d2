// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/port.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/ucx/am_ids.hpp"
#include "transport/ucx/check.hpp"

namespace ringcomm::inline v0::transport::ucx {
namespace {

constexpr std::int64_t kWatchEveryNs = 50'000'000;
constexpr std::int64_t kGapMaxNs = 5'000'000'000;
/// A lost peer's last messages may still be on their way over another of its connections.
constexpr std::int64_t kLostGraceNs = 100'000'000;
/// Shared memory may hand over one message a round: what has come is looked at together, a failure with what
/// led to it.
constexpr int kProgressRoundsMax = 256;

/// UCX sends blocks over TCP by rendezvous from some kilobytes on: two more messages, each a trip through
/// both kernels, for one copy less. Below this the copy is cheaper (docs/performance.md).
constexpr std::size_t kEagerOverTcpMax = std::size_t{256} << 10;

constexpr std::uint32_t kMoreFollows = 1U << 31;
/// UCX puts what is this short into the receiver's own memory even between processes. Longer messages over
/// shared memory (posix, sysv) are lost when their sender leaves before they are read, and the last word of a
/// rank that has failed is such a message.
constexpr std::size_t kPieceBytes = 64;
constexpr std::size_t kInPiecesMax = 1024;

}  // namespace

bool UcxPort::is_eager(const Peer& to, std::size_t bytes) {
  return to.is_over_tcp && bytes <= kEagerOverTcpMax;
}

Status UcxPort::send_am(Peer& peer, std::span<const std::byte> bytes, bool is_last) {
  if (unused_buffers_.empty()) {
    buffers_.push_back(std::make_unique<ControlBuffer>());
    buffers_.back()->port = this;
    unused_buffers_.reserve(buffers_.size());
    unused_buffers_.push_back(buffers_.back().get());
  }
  ControlBuffer* const buffer = unused_buffers_.back();
  unused_buffers_.pop_back();
  buffer->header = {.source = static_cast<std::uint32_t>(rank_) | (is_last ? 0 : kMoreFollows),
                    .number = peer.sent};
  std::ranges::copy(bytes, buffer->bytes.begin());
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.user_data = buffer;
  param.cb.send = [](void* request, ucs_status_t, void* user_data) {
    // A failure is the endpoint's and is told by its error handler.
    auto* const sent = static_cast<ControlBuffer*>(user_data);
    sent->port->unused_buffers_.push_back(sent);
    ucp_request_free(request);
  };
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(peer.endpoint, kControlAm, &buffer->header, sizeof(ControlHeader), buffer->bytes.data(),
                      bytes.size(), &param);
  // What UCX refused takes no number: the peer would wait for it.
  if (!UCS_PTR_IS_ERR(request)) ++peer.sent;
  if (UCS_PTR_IS_PTR(request)) return {};
  unused_buffers_.push_back(buffer);
  if (request == nullptr) return {};
  return to_status(UCS_PTR_STATUS(request), concat("a message to rank ", peer.rank));
}

Status UcxPort::send_control(int peer, std::span<const std::byte> bytes) {
  if (bytes.size() > kControlBytesMax) {
    return Status::internal(
        concat("ucx: a control message of ", bytes.size(), " bytes (", kControlBytesMax, " at most)"));
  }
  if (peer == rank_) {
    post_mail(peer, bytes);
    return {};
  }
  Peer& to = peers_[static_cast<std::size_t>(peer)];
  if (to.is_lost) return to.reason;
  if (to.is_near && bytes.size() <= kInPiecesMax) {
    for (; bytes.size() > kPieceBytes; bytes = bytes.subspan(kPieceBytes))
      RINGCOMM_TRY(send_am(to, bytes.first(kPieceBytes), false));
  }
  return send_am(to, bytes, true);
}

Result<TransferId> UcxPort::send(int peer, std::uint64_t tag, const std::byte* data, std::size_t bytes) {
  if (peer == rank_) return transfers_->send_to_self(rank_, tag, data, bytes);
  const Peer& to = peers_[static_cast<std::size_t>(peer)];
  if (to.is_lost) return to.reason;
  return transfers_->send({.endpoint = to.endpoint, .peer = peer, .is_eager = is_eager(to, bytes)},
                          {.tag = tag, .source = static_cast<std::uint32_t>(rank_)}, {}, data, bytes);
}

Result<TransferId> UcxPort::send_announced(int peer, std::span<const std::byte> announcement,
                                           std::uint64_t tag, const std::byte* data, std::size_t bytes) {
  // A near peer's control messages are kept small (kPieceBytes), which a block is not.
  if (peer == rank_ || announcement.empty() || announcement.size() > kAnnouncementBytesMax ||
      peers_[static_cast<std::size_t>(peer)].is_near)
    return MessagePort::send_announced(peer, announcement, tag, data, bytes);
  Peer& to = peers_[static_cast<std::size_t>(peer)];
  if (to.is_lost) return to.reason;
  auto transfer =
      transfers_->send({.endpoint = to.endpoint, .peer = peer, .is_eager = is_eager(to, bytes)},
                       {.tag = tag, .source = static_cast<std::uint32_t>(rank_), .number = to.sent},
                       announcement, data, bytes);
  if (transfer.is_ok()) ++to.sent;
  return transfer;
}

Result<TransferId> UcxPort::receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) {
  const Peer& from = peers_[static_cast<std::size_t>(peer)];
  if (from.is_told && !transfers_->has_arrival(peer, tag)) return from.reason;  // what it sent stays good
  const TransferId transfer = transfers_->receive(peer, tag, data, bytes);
  transfers_->start_matches();
  return transfer;
}

ucs_status_t UcxPort::on_control(const void* header, std::size_t header_bytes, const void* data,
                                 std::size_t bytes) {
  ControlHeader said;
  if (header_bytes != sizeof(said) || bytes > kControlBytesMax) return UCS_OK;  // not one of ours
  std::memcpy(&said, header, sizeof(said));
  const std::uint32_t source = said.source & ~kMoreFollows;
  if (source >= peers_.size()) return UCS_OK;
  Peer& peer = peers_[source];
  hear(peer, said.number, (said.source & kMoreFollows) == 0, {static_cast<const std::byte*>(data), bytes});
  return UCS_OK;
}

bool UcxPort::hear(Peer& peer, std::uint32_t number, bool is_last, std::span<const std::byte> bytes) {
  const auto deliver = [&](std::uint32_t, std::span<const std::byte> message) {
    if (peer.greetings < kGreetings) {
      ++peer.greetings;
    } else {
      post_mail(peer.rank, message);
    }
  };
  const bool is_heard = peer.heard.hear(number, is_last, bytes, deliver);
  peer.gap_since_ns = peer.heard.has_gap() ? now_ns() : 0;
  if (is_heard) return true;
  lose(peer, Status::internal(concat("ucx: control message ", number, " of rank ", peer.rank, " came where ",
                                     peer.heard.due(), " was due")));
  return false;
}

ucs_status_t UcxPort::on_data(const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t& param) {
  DataHeader said;
  if (header_bytes < sizeof(said) || header_bytes > sizeof(said) + kAnnouncementBytesMax) return UCS_OK;
  std::memcpy(&said, header, sizeof(said));
  if (said.source >= peers_.size()) return UCS_OK;
  const std::span announcement(static_cast<const std::byte*>(header) + sizeof(said),
                               header_bytes - sizeof(said));
  if (!announcement.empty() && !hear(peers_[said.source], said.number, true, announcement)) return UCS_OK;
  return transfers_->arrive(said, data, bytes, param);
}

void UcxPort::post_mail(int peer, std::span<const std::byte> bytes) {
  inbox_.mails.push_back({.peer = peer, .offset = inbox_.bytes.size(), .bytes = bytes.size()});
  inbox_.bytes.insert(inbox_.bytes.end(), bytes.begin(), bytes.end());
}

void UcxPort::lose(Peer& peer, Status reason) {
  if (std::exchange(peer.is_lost, true)) return;
  peer.reason = std::move(reason);
  peer.lost_ns = now_ns();
  has_lost_ = true;
}

/// Inside UCX only; nothing is delivered.
bool UcxPort::advance() {
  bool has_moved = false;
  for (int round = 0; round < kProgressRoundsMax && ucp_worker_progress(worker_->handle()) != 0; ++round)
    has_moved = true;
  return transfers_->start_matches() || has_moved;
}

bool UcxPort::deliver_mail() {
  if (inbox_.mails.empty()) return false;
  std::swap(inbox_, delivering_);  // the sink may send to this very rank
  for (const Mail& mail : delivering_.mails)
    sink_->on_control(mail.peer, std::span(delivering_.bytes).subspan(mail.offset, mail.bytes));
  delivering_.mails.clear();
  delivering_.bytes.clear();
  return true;
}

/// Whoever was lost first is told first: others leave because of it.
bool UcxPort::tell_lost(bool has_moved) {
  bool has_told = false;
  while (true) {
    Peer* first = nullptr;
    for (Peer& peer : peers_) {
      if (peer.is_lost && !peer.is_told && (first == nullptr || peer.lost_ns < first->lost_ns)) first = &peer;
    }
    has_lost_ = first != nullptr;
    if (first == nullptr || (has_moved && now_ns() - first->lost_ns < kLostGraceNs)) return has_told;
    first->is_told = has_told = true;
    transfers_->fail(first->rank, first->reason);
    sink_->on_peer_lost(first->rank, first->reason);
  }
}

void UcxPort::find_ended_processes() {
  watched_ns_ = now_ns();
  while (const auto rank = watch_.find_ended())
    lose(peers_[static_cast<std::size_t>(*rank)],
         Status::peer_lost(concat("the process of rank ", *rank, " has ended")));
}

/// UCX does not lose messages: a peer whose numbers leave a gap for long cannot be followed any more.
void UcxPort::find_gaps() {
  for (Peer& peer : peers_) {
    if (peer.gap_since_ns == 0 || now_ns() - peer.gap_since_ns < kGapMaxNs) continue;
    peer.gap_since_ns = 0;
    lose(peer, Status::internal(concat("ucx: control message ", peer.heard.due(), " of rank ", peer.rank,
                                       " is missing, though later ones have come")));
  }
}

Result<bool> UcxPort::progress() {
  bool has_moved = advance();
  if (now_ns() - watched_ns_ > kWatchEveryNs) {
    find_gaps();
    find_ended_processes();
  }
  has_moved = deliver_mail() || has_moved;
  if (has_lost_) has_moved = tell_lost(has_moved) || has_moved;
  return has_moved;
}

void UcxPort::sleep(std::chrono::microseconds at_most) {
  if (has_lost_ || !inbox_.mails.empty() || !worker_->arm()) return;
  pollfd waits[] = {{.fd = worker_->event_fd(), .events = POLLIN, .revents = 0},
                    {.fd = wake_fd_, .events = POLLIN, .revents = 0},
                    {.fd = watch_.fd(), .events = POLLIN, .revents = 0}};
  const auto us = std::max<std::chrono::microseconds::rep>(at_most.count(), 0);
  const timespec limit{.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1000};
  if (::ppoll(waits, std::size(waits), &limit, nullptr) <= 0) return;
  std::uint64_t count = 0;
  if (waits[1].revents != 0) static_cast<void>(!::read(wake_fd_, &count, sizeof(count)));
  if (waits[2].revents != 0) find_ended_processes();
}

void UcxPort::wake() {
  const std::uint64_t one = 1;
  if (wake_fd_ >= 0) static_cast<void>(!::write(wake_fd_, &one, sizeof(one)));
}

Status UcxPort::register_memory(std::byte* data, std::size_t bytes) {
  if (worker_ && bytes != 0) worker_->register_memory(data, bytes);
  return {};
}

void UcxPort::deregister_memory(std::byte* data) {
  if (worker_) worker_->deregister_memory(data);
}

}  // namespace ringcomm::inline v0::transport::ucx
