// SPDX-License-Identifier: Apache-2.0
#include "transport/message/core.hpp"

#include <algorithm>
#include <string_view>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/message/channel.hpp"
#include "transport/message/turn.hpp"

namespace ringcomm::inline v0::transport::message {
namespace {

/// Above that a failure is told by the rank that saw it alone, not again by all who have heard of it.
constexpr int kRanksThatRelay = 64;
constexpr int kAbortAttempts = 20;

}  // namespace

Core::Core(const Setup& setup, std::unique_ptr<MessagePort> port)
    : setup_(setup),
      policy_(wait_policy(setup.options.wait_style, setup.ranks_on_host)),
      port_(std::move(port)),
      failure_(setup.rank, setup.options.listener),
      peers_(static_cast<std::size_t>(setup.size)) {
  failure_.publish_in(state_);
}

Core::~Core() {
  if (is_forked_copy()) (void)port_.release();  // the network's memory and sockets are the parent's
}

Status Core::connect(Bootstrap& bootstrap, Deadline deadline) {
  RINGCOMM_TRY(port_->connect(bootstrap, *this, deadline));
  is_connected_.store(true);
  const Turn turn(*this);  // an early abort() is told now
  return {};
}

Status Core::fail(Status status, int culprit) {
  if (is_forked_copy()) return status;
  // Mostly under the turn, which then stands still for these 100 to 300 ms: of this communicator alone, which
  // has failed anyway.
  if (setup_.options.listener != nullptr && !failure_.is_set())
    status = setup_.options.listener->explain(std::move(status), culprit);
  return failure_.fail({.status = std::move(status), .culprit = culprit, .reporter = setup_.rank});
}

void Core::abort(Status reason) {
  if (is_forked_copy()) return;
  (void)failure_.fail({.status = std::move(reason), .culprit = setup_.rank, .reporter = setup_.rank});
  if (!is_connected_.load()) return;
  // Either the lock is free, or its holder is woken and tells; a holder that is just leaving may not.
  for (int attempt = 0; attempt < kAbortAttempts; ++attempt) {
    if (mutex_.try_lock()) {
      settle();
      mutex_.unlock();
      return;
    }
    port_->wake();
    yield_cpu();
  }
}

void Core::poll() {
  if (is_forked_copy() || !is_connected_.load() || !mutex_.try_lock()) return;
  (void)progress();
  mutex_.unlock();
}

Status Core::send(int peer, std::span<const std::byte> bytes) {
  if (peers_[index(peer)].life != Life::live) return {};
  Status status = port_->send_control(peer, bytes);
  return status.is_ok() ? status : fail(std::move(status), peer);
}

Result<TransferId> Core::send_announced(int peer, std::span<const std::byte> announcement, std::uint64_t tag,
                                        const std::byte* data, std::size_t bytes) {
  if (peers_[index(peer)].life != Life::live) return port_->send(peer, tag, data, bytes);
  return port_->send_announced(peer, announcement, tag, data, bytes);
}

bool Core::progress() {
  const Result<bool> moved = port_->progress();
  if (!moved.is_ok()) (void)fail(moved.status(), -1);
  settle();
  const bool has_moved = !moved.is_ok() || moved.value();
  if (has_moved) rouse_followers();
  return has_moved;
}

void Core::settle() {
  // Not has_failed(): another thread's abort() may have set the failure and not yet written its text.
  const auto life = static_cast<Life>(state_.life.load(std::memory_order_acquire));
  if (life != Life::failed || is_told_ || !is_connected_.load()) return;
  is_told_ = true;
  tell_failure();
  rouse_followers();
}

void Core::rouse_followers() {
  if (followers_ == 0) return;
  {
    const std::lock_guard lock(note_mutex_);
    ++moves_;
  }
  moved_.notify_all();
}

void Core::tell_failure() {
  const FailureReport report = read_failure(state_);
  if (report.reporter != setup_.rank && setup_.size > kRanksThatRelay) return;
  const std::string_view text = report.status.message();
  const MessageWriter writer = MessageWriter({.kind = MessageKind::failure})
                                   .add(FailureBody{.code = static_cast<std::uint32_t>(report.status.code()),
                                                    .culprit = report.culprit,
                                                    .reporter = report.reporter})
                                   .add_bytes(text.data(), text.size());
  for (int peer = 0; peer < setup_.size; ++peer) {
    if (peer != setup_.rank && peers_[index(peer)].life == Life::live)
      (void)port_->send_control(peer, writer.bytes());
  }
  (void)port_->progress();
}

void Core::let_go() {
  // The peers are told before their connections may end. An abort() of another thread that has just set the
  // failure is about to write its text.
  for (int attempt = 0; attempt < kAbortAttempts && !is_told_; ++attempt) {
    settle();
    if (!is_told_) yield_cpu();
  }
  port_->cancel();
}

void Core::leave() {
  if (is_forked_copy() || !is_connected_.load()) return;
  Turn turn(*this);
  settle();
  if (has_failed()) return;
  const MessageWriter writer({.kind = MessageKind::leave});
  for (int peer = 0; peer < setup_.size; ++peer) {
    if (peer != setup_.rank) (void)send(peer, writer.bytes());
  }
  (void)progress();
}

std::uint32_t Core::add(MessageChannel& channel) {
  // Counts on, so that a number comes again only after 2^32 channels: what is late finds nobody.
  while (!channels_.emplace(++last_number_, &channel).second) continue;
  return last_number_;
}

void Core::on_control(int peer, std::span<const std::byte> bytes) {
  const Result<Message> message = read_message(bytes, peer);
  if (!message.is_ok()) {
    (void)fail(message.status(), peer);
  } else {
    deliver(peer, message.value());
  }
}

void Core::deliver(int peer, const Message& message) {
  Peer& from = peers_[index(peer)];
  switch (message.envelope.kind) {
    case MessageKind::open:
      notes_[{message.open.key_hash, message.open.generation}].push_back({peer, message.open.channel});
      return;
    case MessageKind::failure:
      from.life = Life::failed;
      (void)failure_.fail(report_of(message));
      return;
    case MessageKind::leave:
      from = {.life = Life::closed, .left_ns = now_ns()};
      return;
    case MessageKind::parcel:
    case MessageKind::credit:
    case MessageKind::head:
      break;
  }
  const auto found = channels_.find(message.envelope.channel);
  if (found != channels_.end()) found->second->deliver(peer, message);  // else it was closed here
}

void Core::on_peer_lost(int peer, Status reason) {
  Peer& lost = peers_[index(peer)];
  const bool is_news = lost.life == Life::live;
  if (is_news) lost.life = Life::failed;
  if (is_news) {
    (void)fail(Status::peer_lost(concat("rank ", peer, " is lost: ", reason.message())), peer);
  }
}

Status Core::register_segment(std::shared_ptr<Segment> segment) {
  if (segment == nullptr) return Status::invalid_argument("register_segment got a null segment");
  if (std::find(segments_.begin(), segments_.end(), segment) != segments_.end()) return {};
  RINGCOMM_TRY(port_->register_memory(segment->data(), segment->bytes()));
  segments_.push_back(std::move(segment));
  return {};
}

void Core::deregister_segment(const Segment* segment) {
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const auto& have) { return have.get() == segment; });
  if (found == segments_.end()) return;
  port_->deregister_memory((*found)->data());
  segments_.erase(found);
}

}  // namespace ringcomm::inline v0::transport::message
