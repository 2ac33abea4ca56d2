// SPDX-License-Identifier: Apache-2.0
// Processes see each other's memory through sealed memfds that their owners hand over.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/deadline.hpp"
#include "transport/common/control_layout.hpp"
#include "transport/common/peer_memory.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/liveness.hpp"

namespace ringcomm::inline v0::transport::shm {

class Memory final : public PeerMemory {
 public:
  /// Makes the own control segment, with a random nonce in it. Local.
  static Result<std::unique_ptr<Memory>> create(int rank, int size);
  /// Hands the own control segment to every peer and maps theirs. `nonces` are what the ranks say their
  /// segments hold: if a mapping shows another number, it is not the same memory.
  Status meet(Bootstrap& bootstrap, const std::vector<std::uint64_t>& nonces, Deadline deadline);
  std::uint64_t nonce() const;

  std::byte* own_control() override;
  const std::byte* control(int peer) override;
  FutexScope futex_scope() const override { return FutexScope::processes; }
  Status announce(int peer, std::uint32_t segment_id, const std::shared_ptr<Segment>& segment) override;
  /// Nothing to tell: the peers see it in the control segment's list.
  void withdraw(std::uint32_t segment_id) override { own_segments_.erase(segment_id); }
  Result<std::shared_ptr<Segment>> map(int peer, std::uint32_t segment_id) override;
  Status check_alive(int& culprit) override;

 private:
  struct Peer {
    std::unique_ptr<Link> link;  ///< none to itself
    std::shared_ptr<Segment> control;
  };
  Memory(int rank, int size, Liveness liveness);
  Status call(Bootstrap& bootstrap, int peer);
  Status map_control(int peer, std::uint64_t nonce);
  Status await_controls(const std::vector<std::uint64_t>& nonces, Deadline deadline);
  Link& link(int peer) { return *peers_[static_cast<std::size_t>(peer)].link; }
  const ControlHeader& header(int peer) const;

  int rank_;
  Liveness liveness_;
  std::vector<Peer> peers_;
  std::map<std::uint32_t, std::shared_ptr<Segment>> own_segments_;  ///< that this rank offers to itself
};

}  // namespace ringcomm::inline v0::transport::shm
