// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/memory.hpp"

#include <cstring>
#include <utility>

#include "bootstrap/rank_list.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::shm {

using bootstrap::UniqueFd;

namespace {

constexpr int kPollMsMax = 100;
constexpr std::size_t kUnreadLook = 16;  // from here on, look whether announced segments were taken back

std::uint64_t random_number() {
  const bootstrap::Nonce bytes = bootstrap::make_nonce();
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace

Memory::Memory(int rank, int size, Liveness liveness)
    : rank_(rank), liveness_(std::move(liveness)), peers_(static_cast<std::size_t>(size)) {}

Result<std::unique_ptr<Memory>> Memory::create(int rank, int size) {
  RINGCOMM_TRY_ASSIGN(auto liveness, Liveness::create());
  std::unique_ptr<Memory> memory(new Memory(rank, size, std::move(liveness)));
  auto& own = memory->peers_[static_cast<std::size_t>(rank)].control;
  RINGCOMM_TRY_ASSIGN(own,
                      Segment::create({.bytes = control_segment_bytes(size), .name = "ringcomm-control"}));
  RINGCOMM_TRY(own->exclude_from_fork());
  auto* header = reinterpret_cast<ControlHeader*>(own->data());
  header->identity.nonce.store(random_number(), std::memory_order_release);
  return memory;
}

const ControlHeader& Memory::header(int peer) const {
  return *reinterpret_cast<const ControlHeader*>(peers_[static_cast<std::size_t>(peer)].control->data());
}

std::uint64_t Memory::nonce() const { return header(rank_).identity.nonce.load(std::memory_order_acquire); }

std::byte* Memory::own_control() { return peers_[static_cast<std::size_t>(rank_)].control->data(); }

const std::byte* Memory::control(int peer) { return peers_[static_cast<std::size_t>(peer)].control->data(); }

Status Memory::call(Bootstrap& bootstrap, int peer) {
  RINGCOMM_TRY_ASSIGN(const int socket, bootstrap.take_socket(peer));
  UniqueFd owned(socket);
  RINGCOMM_TRY_ASSIGN(const int pid, bootstrap.peer_pid(peer));
  // The number cannot have passed to another process: the peer still has to answer before connect() ends.
  RINGCOMM_TRY(liveness_.watch(peer, pid));
  peers_[static_cast<std::size_t>(peer)].link = std::make_unique<Link>(std::move(owned), peer, pid);
  return link(peer).announce(kControlId, *peers_[static_cast<std::size_t>(rank_)].control);
}

Status Memory::map_control(int peer, std::uint64_t nonce) {
  RINGCOMM_TRY_ASSIGN(auto mapped, link(peer).map(kControlId));
  if (mapped->bytes() < control_segment_bytes(static_cast<int>(peers_.size()))) {
    return Status::corrupt_data(concat("control segment of rank ", peer, " has ", mapped->bytes(),
                                       " bytes, not ", control_segment_bytes(static_cast<int>(peers_.size())),
                                       " (is it another version of ringcomm?)"));
  }
  RINGCOMM_TRY(mapped->exclude_from_fork());
  peers_[static_cast<std::size_t>(peer)].control = std::move(mapped);
  if (header(peer).identity.nonce.load(std::memory_order_acquire) == nonce) return {};
  return Status::not_available(concat("rank ", rank_, " does not see the memory of rank ", peer,
                                      " (the nonce in the control segment is not the one it wrote)"));
}

Status Memory::await_controls(const std::vector<std::uint64_t>& nonces, Deadline deadline) {
  const std::int64_t began_ns = now_ns();
  while (true) {
    std::vector<int> missing;
    std::vector<pollfd> fds;
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      if (peers_[static_cast<std::size_t>(peer)].control) continue;
      const Status status = map_control(peer, nonces[static_cast<std::size_t>(peer)]);
      if (status.is_ok()) continue;
      if (status.code() != StatusCode::not_found) return status;
      missing.push_back(peer);
      fds.push_back({link(peer).socket(), POLLIN, 0});
    }
    if (missing.empty()) return {};
    if (const auto ended = liveness_.find_ended()) {
      return Status::peer_lost(
          concat("rank ", *ended, " (pid ", link(*ended).peer_pid(), ") died while the ranks connected"));
    }
    if (deadline.is_expired()) {
      return Status::timeout(concat(bootstrap::list_ranks(missing), " of ", peers_.size(),
                                    " did not hand over the control segment within ",
                                    (now_ns() - began_ns) / 1'000'000, " ms"));
    }
    bootstrap::wait_ready(fds, deadline, kPollMsMax);
  }
}

Status Memory::meet(Bootstrap& bootstrap, const std::vector<std::uint64_t>& nonces, Deadline deadline) {
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peer != rank_) RINGCOMM_TRY(call(bootstrap, peer));
  }
  return await_controls(nonces, deadline);
}

Status Memory::announce(int peer, std::uint32_t segment_id, const std::shared_ptr<Segment>& segment) {
  if (peer == rank_) {
    own_segments_[segment_id] = segment;
    return {};
  }
  RINGCOMM_TRY(link(peer).announce(segment_id, *segment));
  auto* own = reinterpret_cast<ControlHeader*>(own_control());
  own->identity.parcels_sent.fetch_add(1, std::memory_order_release);
  return {};
}

Result<std::shared_ptr<Segment>> Memory::map(int peer, std::uint32_t segment_id) {
  if (peer == rank_) {
    const auto found = own_segments_.find(segment_id);
    if (found != own_segments_.end()) return found->second;
    return Status::invalid_argument(concat("rank ", peer, " took back the memory that it offered to itself"));
  }
  auto mapped = link(peer).map(segment_id);
  if (link(peer).unread_count() >= kUnreadLook) {
    const auto& registered = header(peer).segments;
    link(peer).forget_unless([&](std::uint32_t id) {
      return registered[id % kSegmentsMax].load(std::memory_order_acquire) == id;
    });
  }
  if (mapped.status().code() != StatusCode::not_found) return mapped;
  return Status::corrupt_data(concat("rank ", peer, " (pid ", link(peer).peer_pid(),
                                     ") offered memory of segment ", segment_id,
                                     ", which it has not announced"));
}

Status Memory::check_alive(int& culprit) {
  const auto ended = liveness_.find_ended();
  if (!ended) return {};
  switch (static_cast<Life>(header(*ended).state.life.load(std::memory_order_acquire))) {
    case Life::closed:
      liveness_.forget(*ended);
      return {};
    case Life::failed:
      return {};  // its own report says more
    default:
      culprit = *ended;
      return Status::peer_lost(concat("rank ", *ended, " (pid ", link(*ended).peer_pid(),
                                      ") died: its process ended without leaving the group"));
  }
}

}  // namespace ringcomm::inline v0::transport::shm
