// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/doorman.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr int kAcceptsAtOnce = 64;  // so that those who are in are heard between two bursts
constexpr std::array<std::string_view, 9> kKindTexts{
    "said nothing in time",
    "closed before they had said who they are",
    "sent an HTTP request",
    "sent a TLS greeting",
    "sent bytes of another protocol",
    "speak another version of ringcomm",
    "announced an impossible length",
    "did not know the group's secret",
    "had said nothing when too many others waited",
};

}  // namespace

Doorman::Doorman(UniqueFd listener, const Secret& secret, std::string name)
    : listener_(std::move(listener)), secret_(secret), name_(std::move(name)) {}

void Doorman::add_to(std::vector<pollfd>& fds) const {
  if (listener_.is_open() && !is_short_of_descriptors_) fds.push_back({listener_.get(), POLLIN, 0});
  for (const Pending& pending : pending_) fds.push_back({pending.socket.get(), POLLIN, 0});
}

Deadline Doorman::next_expiry() const {
  // Without a free descriptor the listener stays ready: look again in a moment instead of at once.
  if (is_short_of_descriptors_) return Deadline::after(std::chrono::milliseconds(20));
  return pending_.empty() ? Deadline() : pending_.front().deadline;  // all have the same time, in order
}

void Doorman::drop(Kind kind, const Endpoint& from) {
  Count& count = counts_[static_cast<std::size_t>(kind)];
  ++count.connections;
  count.last_from = from.host();
}

void Doorman::greet(UniqueFd socket, const Endpoint& from) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Pending pending;
  pending.banner = make_nonce();
  pending.from = from;
  pending.deadline = Deadline::after(kHelloWait);
  Outbox banner;
  banner.push(make_frame(FrameHeader{}, pending.banner));
  if (banner.flush(socket.get()) != IoState::done) return drop(Kind::gone, from);
  pending.socket = std::move(socket);
  if (pending_.size() == kPendingMax) {
    drop(Kind::crowd, pending_.front().from);
    pending_.erase(pending_.begin());
  }
  pending_.push_back(std::move(pending));
}

void Doorman::accept_some() {
  is_short_of_descriptors_ = false;
  for (int i = 0; i < kAcceptsAtOnce && listener_.is_open(); ++i) {
    Endpoint from;
    from.length = sizeof(from.address);
    UniqueFd socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from.address), &from.length,
                              SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) {
      greet(std::move(socket), from);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      is_short_of_descriptors_ = pending_.empty();
      if (pending_.empty()) return;
      drop(Kind::crowd, pending_.front().from);
      pending_.erase(pending_.begin());
      continue;
    }
    if (errno == EAGAIN) return;
  }
}

Doorman::Kind Doorman::kind_of(const FrameReader& reader) {
  if (reader.fault() == FrameReader::Fault::version) return Kind::version;
  if (reader.fault() == FrameReader::Fault::length) return Kind::length;
  const auto bytes = reader.beginning();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const std::string_view verb : {"GET ", "HEAD", "POST", "PUT ", "OPTI", "CONN", "DELE", "PRI "}) {
    if (text.starts_with(verb)) return Kind::http;
  }
  return text.starts_with("\x16\x03") ? Kind::tls : Kind::other;
}

bool Doorman::hear(Pending& pending, std::vector<Visitor>& visitors) {
  const IoState state = pending.reader.receive(pending.socket.get());
  if (state == IoState::would_block) {
    if (!pending.deadline.is_expired()) return false;
    drop(Kind::silent, pending.from);
    return true;
  }
  if (state == IoState::closed) {
    drop(Kind::gone, pending.from);
    return true;
  }
  if (state == IoState::failed) {
    drop(kind_of(pending.reader), pending.from);
    return true;
  }
  const auto hello = read_hello(pending.reader.payload());
  if (!hello || pending.reader.header().kind != FrameKind::hello) {
    drop(Kind::length, pending.from);
    return true;
  }
  if (!is_proved(*hello, secret_, pending.banner)) {
    drop(Kind::secret, pending.from);
    return true;
  }
  FrameHeader header;
  header.kind = FrameKind::admitted;
  Outbox answer;
  answer.push(make_frame(header, answer_to(*hello, secret_, pending.banner)));
  if (answer.flush(pending.socket.get()) != IoState::done) {
    drop(Kind::gone, pending.from);
    return true;
  }
  visitors.push_back({std::move(pending.socket), *hello, pending.from});
  return true;
}

std::vector<Visitor> Doorman::step() {
  std::vector<Visitor> visitors;
  accept_some();
  std::vector<Pending> silent;
  for (Pending& pending : pending_) {
    if (!hear(pending, visitors)) silent.push_back(std::move(pending));
  }
  pending_ = std::move(silent);
  return visitors;
}

void Doorman::close() {
  if (!listener_.is_open()) return;
  // Also for children that were forked meanwhile and have the descriptor: closing it here would leave it
  // open.
  ::shutdown(listener_.get(), SHUT_RDWR);
  listener_.reset();
  // Whoever is here now came too late to be judged; a rank of ours is in already.
  for (const Pending& pending : pending_) drop(Kind::silent, pending.from);
  pending_.clear();
  for (std::size_t kind = 0; kind < counts_.size(); ++kind) {
    const Count& count = counts_[kind];
    if (count.connections == 0) continue;
    log(LogLevel::warn, concat("the meeting at ", name_, " dropped ", count.connections,
                               count.connections == 1 ? " connection that " : " connections that ",
                               kKindTexts[kind], " (the last one from ", count.last_from, ")"));
  }
}

}  // namespace ringcomm::inline v0::bootstrap
