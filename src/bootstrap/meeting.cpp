// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/meeting.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bootstrap/packet.hpp"
#include "bootstrap/rank_list.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {

/// First packet of the caller, and the answer; both show the nonce of the rank that was called.
struct Meeting::Hello {
  std::uint32_t magic = kMagic;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t reserved = 0;
  Nonce nonce{};

  static constexpr std::uint32_t kMagic = 0x52434831;  // "RCH1"
};

namespace {

constexpr int kPauseMsMax = 20;  // the directory is read again this often
constexpr std::chrono::seconds kContradictWait{1};
constexpr std::size_t kCallersMax = 64;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// The process at the other end; no value when it belongs to another user or cannot be seen from here.
bool is_ours(int socket, int& pid) {
  ucred who{};
  socklen_t length = sizeof(who);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return false;
  pid = who.pid;
  return who.uid == ::geteuid() && who.pid > 0;
}

}  // namespace

Meeting::Meeting(const StoreDirectory& directory, const RankEntry& me, UniqueFd listener)
    : directory_(directory),
      me_(me),
      listener_(std::move(listener)),
      peers_(static_cast<std::size_t>(me.size)) {}

Meeting::Hello Meeting::my_hello(const Nonce& shown) const {
  Hello hello;
  hello.rank = me_.rank;
  hello.size = me_.size;
  hello.nonce = shown;
  return hello;
}

bool Meeting::is_complete() const {
  return std::count_if(peers_.begin(), peers_.end(), [](const Peer& p) { return p.is_connected; }) + 1 ==
         me_.size;
}

Status Meeting::check_size(int rank, int size, int pid) const {
  if (size == me_.size) return {};
  return Status::invalid_argument(concat("world size differs at ", directory_.name(), ": rank ", me_.rank,
                                         " (pid ", me_.pid, ") says ", me_.size, ", rank ", rank, " (pid ",
                                         pid, ") says ", size));
}

bool Meeting::call(const RankEntry& entry) {
  UniqueFd socket = directory_.connect(entry.nonce);
  int pid = 0;
  if (!socket.is_open() || !is_ours(socket.get(), pid) || pid != entry.pid) return false;
  if (send_packet(socket.get(), bytes_of(my_hello(entry.nonce))) != IoState::done) return false;
  if (entry.size != me_.size) return true;
  Peer& peer = peers_[static_cast<std::size_t>(entry.rank)];
  peer.socket = std::move(socket);
  peer.nonce = entry.nonce;
  peer.pid = pid;
  return true;
}

void Meeting::contradict(const RankEntry& entry) {
  const Deadline patience = Deadline::after(kContradictWait);
  while (is_alive(entry) && !patience.is_expired() && !call(entry)) wait_ready({}, patience, 1);
}

Status Meeting::call_those_there() {
  for (const RankEntry& entry : directory_.live_entries()) {
    if (entry.size != me_.size) {
      contradict(entry);
      return check_size(entry.rank, entry.size, entry.pid);
    }
    if (entry.rank < me_.rank && !peers_[static_cast<std::size_t>(entry.rank)].socket.is_open()) call(entry);
  }
  return {};
}

void Meeting::hear_welcome(int rank) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  Hello hello;
  const ReceivedPacket packet =
      receive_packet(peer.socket.get(), std::as_writable_bytes(std::span(&hello, 1)));
  if (packet.state == IoState::would_block) return;
  peer.is_connected = packet.state == IoState::done && packet.bytes == sizeof(hello) &&
                      !packet.was_truncated && hello.magic == Hello::kMagic && hello.rank == rank &&
                      is_same(hello.nonce, peer.nonce);
  if (!peer.is_connected) peer.socket.reset();  // it may have died; called again when its rank is there again
}

Status Meeting::check_connected(int rank) {
  const Peer& peer = peers_[static_cast<std::size_t>(rank)];
  // A peer that is done here may already greet: that packet is the group's.
  bool is_closed = false;
  RINGCOMM_TRY(hear_goodbye(peer.socket.get(), concat("rank ", rank), is_closed));
  if (!is_closed) return {};
  return Status::peer_lost(
      concat("rank ", rank, " (pid ", peer.pid, ") died or left while the ranks met at ", directory_.name()));
}

Status Meeting::hear_peers() {
  for (int rank = 0; rank < me_.size; ++rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (peer.socket.is_open() && !peer.is_connected) hear_welcome(rank);
    if (peer.is_connected) RINGCOMM_TRY(check_connected(rank));
  }
  return {};
}

void Meeting::accept_callers() {
  while (true) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    int pid = 0;
    if (!is_ours(socket.get(), pid) || callers_.size() == kCallersMax) {
      ++strangers_;
      continue;
    }
    callers_.push_back({std::move(socket), pid});
  }
}

Status Meeting::hear_callers() {
  std::vector<Caller> silent;
  for (Caller& caller : callers_) {
    Hello hello;
    const ReceivedPacket packet =
        receive_packet(caller.socket.get(), std::as_writable_bytes(std::span(&hello, 1)));
    if (packet.state == IoState::would_block) {
      silent.push_back(std::move(caller));
      continue;
    }
    if (packet.state != IoState::done || packet.bytes != sizeof(hello) || packet.was_truncated ||
        hello.magic != Hello::kMagic || !is_same(hello.nonce, me_.nonce)) {
      ++strangers_;
      continue;
    }
    RINGCOMM_TRY(admit(caller, hello));
  }
  callers_ = std::move(silent);
  return {};
}

Status Meeting::admit(Caller& caller, const Hello& hello) {
  RINGCOMM_TRY(check_size(hello.rank, hello.size, caller.pid));
  if (hello.rank <= me_.rank || hello.rank >= me_.size) {
    ++strangers_;
    return {};
  }
  Peer& peer = peers_[static_cast<std::size_t>(hello.rank)];
  if (peer.is_connected || send_packet(caller.socket.get(), bytes_of(my_hello(me_.nonce))) != IoState::done) {
    return {};
  }
  peer.socket = std::move(caller.socket);
  peer.pid = caller.pid;
  peer.is_connected = true;
  return {};
}

void Meeting::wait(Deadline deadline) {
  std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}};
  for (const Caller& caller : callers_) fds.push_back({caller.socket.get(), POLLIN, 0});
  for (const Peer& peer : peers_) {
    if (!peer.socket.is_open()) continue;
    fds.push_back({peer.socket.get(), static_cast<short>(peer.is_connected ? 0 : POLLIN), 0});
  }
  wait_ready(fds, deadline, pause_ms_);
  pause_ms_ = std::min(2 * pause_ms_, kPauseMsMax);
}

Status Meeting::timed_out(std::int64_t waited_ms) const {
  std::vector<int> missing;
  std::vector<int> there;
  for (int rank = 0; rank < me_.size; ++rank) {
    const bool is_there = rank == me_.rank || peers_[static_cast<std::size_t>(rank)].is_connected;
    (is_there ? there : missing).push_back(rank);
  }
  return Status::timeout(concat(list_ranks(missing), " of ", me_.size, missing.size() == 1 ? " has" : " have",
                                " not come to ", directory_.name(), " within ", waited_ms, " ms (",
                                list_ranks(there), there.size() == 1 ? " is" : " are", " there)"));
}

void Meeting::tell(const Status& reason) {
  const auto packet = pack_reason(reason);
  for (const Peer& peer : peers_) {
    if (peer.is_connected) send_packet(peer.socket.get(), packet);
  }
}

Status Meeting::step() {
  accept_callers();
  RINGCOMM_TRY(hear_callers());
  RINGCOMM_TRY(hear_peers());
  return call_those_there();
}

Status Meeting::run(Deadline deadline) {
  const std::int64_t began_ns = now_ns();
  while (true) {
    Status status = step();
    if (status.is_ok() && is_complete()) return {};
    if (status.is_ok() && deadline.is_expired()) status = timed_out((now_ns() - began_ns) / 1'000'000);
    if (!status.is_ok()) {
      tell(status);
      return status;
    }
    wait(deadline);
  }
}

std::vector<UniqueFd> Meeting::take_sockets() {
  std::vector<UniqueFd> sockets;
  for (Peer& peer : peers_) sockets.push_back(std::move(peer.socket));
  return sockets;
}

}  // namespace ringcomm::inline v0::bootstrap
