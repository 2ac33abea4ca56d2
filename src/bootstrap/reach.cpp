// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/reach.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

constexpr std::chrono::milliseconds kRetryFirst{5};
constexpr std::chrono::milliseconds kRetryMax{250};
constexpr std::chrono::seconds kSilenceMax{5};  // of a program that accepts and says nothing
constexpr int kPollMsMax = 250;

class Attempt {
 public:
  enum class Outcome : std::uint8_t { nobody, silent, stranger, refused };

  explicit Attempt(const Endpoint& where) : where_(where) {}
  /// True when the hub has answered.
  bool step(const Secret& secret, const Hello& hello);
  /// Adds what it waits for; returns when it wants to be called again.
  Deadline add_to(std::vector<pollfd>& fds) const;
  UniqueFd take() { return std::move(socket_); }
  const Endpoint& where() const { return where_; }
  Outcome outcome() const { return outcome_; }
  int error() const { return error_; }

 private:
  enum class Stage : std::uint8_t { resting, connecting, banner, answer };

  void connect();
  void finish_connecting();
  bool hear(const Secret& secret, const Hello& hello);
  bool hear_banner(const Secret& secret, const Hello& hello);
  void rest(Outcome outcome);

  Endpoint where_;
  UniqueFd socket_;
  Stage stage_ = Stage::resting;
  Outcome outcome_ = Outcome::nobody;
  int error_ = 0;
  std::chrono::milliseconds pause_ = kRetryFirst;
  Deadline next_ = Deadline::at_ns(0);  ///< resting: the next try; else: the end of patience
  FrameReader reader_{sizeof(Hello)};
  Nonce banner_{};
};

void Attempt::rest(Outcome outcome) {
  socket_.reset();
  reader_ = FrameReader(sizeof(Hello));
  stage_ = Stage::resting;
  outcome_ = outcome;
  next_ = Deadline::after(pause_);
  pause_ = std::min(2 * pause_, kRetryMax);
}

void Attempt::connect() {
  socket_.reset(::socket(where_.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_.is_open()) {
    error_ = errno;
    return rest(Outcome::nobody);
  }
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  stage_ = Stage::connecting;
  next_ = Deadline::after(kSilenceMax);
  if (::connect(socket_.get(), where_.get(), where_.length) == 0 || errno == EINPROGRESS) return;
  error_ = errno;
  rest(Outcome::nobody);
}

void Attempt::finish_connecting() {
  pollfd entry{socket_.get(), POLLOUT, 0};
  if (::poll(&entry, 1, 0) <= 0) return;
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    error_ = error;
    return rest(Outcome::nobody);
  }
  // Linux lets a socket connect to itself when its own port happens to be the one that it seeks.
  const Endpoint mine = local_end(socket_.get());
  if (mine.port() == where_.port() && is_same_host(mine, where_)) return rest(Outcome::nobody);
  stage_ = Stage::banner;
}

bool Attempt::hear_banner(const Secret& secret, const Hello& hello) {
  const Bytes payload = reader_.take();
  if (payload.size() != banner_.size()) return false;
  std::memcpy(banner_.data(), payload.data(), banner_.size());
  FrameHeader header;
  header.kind = FrameKind::hello;
  const Hello signed_hello = proved(hello, secret, banner_);
  Outbox box;
  box.push(make_frame(header, std::as_bytes(std::span(&signed_hello, 1))));
  stage_ = Stage::answer;
  return box.flush(socket_.get()) == IoState::done;
}

bool Attempt::hear(const Secret& secret, const Hello& hello) {
  const IoState state = reader_.receive(socket_.get());
  if (state == IoState::would_block) return false;
  if (state != IoState::done) {
    rest(stage_ == Stage::answer && state == IoState::closed ? Outcome::refused : Outcome::stranger);
    return false;
  }
  const FrameKind due = stage_ == Stage::banner ? FrameKind::banner : FrameKind::admitted;
  if (reader_.header().kind != due) {
    rest(Outcome::stranger);
    return false;
  }
  if (stage_ == Stage::banner) {
    if (!hear_banner(secret, hello)) rest(Outcome::stranger);
    return false;
  }
  const Bytes payload = reader_.take();
  Proof proof{};
  if (payload.size() == proof.size()) std::memcpy(proof.data(), payload.data(), proof.size());
  if (is_same(proof, answer_to(hello, secret, banner_))) return true;
  rest(Outcome::stranger);
  return false;
}

bool Attempt::step(const Secret& secret, const Hello& hello) {
  if (stage_ == Stage::resting && next_.is_expired()) connect();
  if (stage_ == Stage::connecting) finish_connecting();
  if (stage_ == Stage::banner && hear(secret, hello)) return true;
  if (stage_ == Stage::answer && hear(secret, hello)) return true;
  if (stage_ != Stage::resting && next_.is_expired()) rest(Outcome::silent);
  return false;
}

Deadline Attempt::add_to(std::vector<pollfd>& fds) const {
  const int events = stage_ == Stage::connecting ? POLLOUT : POLLIN;
  if (stage_ != Stage::resting) fds.push_back({socket_.get(), static_cast<short>(events), 0});
  return next_;
}

Status not_reached(const std::vector<Attempt>& attempts, std::string_view name, int size, std::int64_t ms) {
  const auto with = [&](Attempt::Outcome outcome) {
    return std::ranges::count(attempts, outcome, &Attempt::outcome);
  };
  std::string found;
  const auto refused = with(Attempt::Outcome::refused);
  const auto others = with(Attempt::Outcome::stranger) + with(Attempt::Outcome::silent);
  if (refused > 0) {
    found += concat(
        "; a meeting place there refused this rank's secret. Is RINGCOMM_SECRET the same on all "
        "ranks?");
  } else if (others > 0) {
    found += concat("; ", others, " of ", attempts.size(), " ports belong to other programs");
  } else if (attempts[0].error() != 0) {
    found += concat("; ", describe_errno(attempts[0].error()));
  }
  if (attempts[0].where().is_loopback()) found += "; loopback leads to ranks of this host only";
  return Status::timeout(concat("rank 0 of ", size, " has not opened its meeting place at ", name, " within ",
                                ms, " ms (nobody there holds this group's secret", found, ")"));
}

}  // namespace

Result<Reached> reach_hub(const std::vector<Endpoint>& places, const Secret& secret, const Hello& hello,
                          std::string_view name, Deadline deadline) {
  const std::int64_t began_ns = now_ns();
  std::vector<Attempt> attempts;
  for (const Endpoint& place : places) attempts.emplace_back(place);
  while (true) {
    std::vector<pollfd> fds;
    std::int64_t ns = deadline.remaining_ns();
    for (Attempt& attempt : attempts) {
      if (attempt.step(secret, hello)) return Reached{attempt.take(), attempt.where()};
      ns = std::min(ns, attempt.add_to(fds).remaining_ns());
    }
    if (deadline.is_expired())
      return not_reached(attempts, name, hello.size, (now_ns() - began_ns) / 1'000'000);
    wait_ready(fds, Deadline::after(std::chrono::nanoseconds(ns)), kPollMsMax);
  }
}

}  // namespace ringcomm::inline v0::bootstrap
