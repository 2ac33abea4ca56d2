// SPDX-License-Identifier: Apache-2.0
// A group of processes over one connected Unix socket per pair, however those sockets came about.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/unix_socket.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm::inline v0::bootstrap {

/// Bytes that one rank may contribute to an all_gather.
inline constexpr std::size_t kGatherBytesMax = std::size_t{1} << 20;

/// Every pair greets each other once: the greeting carries rank and size, the kernel adds the sender's
/// process id and user, and the lower rank encloses one end of the socketpair that take_socket() hands out.
/// The first failure stays and is told to all peers, so that the others report the same cause.
class SocketGroup final : public Bootstrap {
 public:
  /// `sockets[r]` leads to rank r, with pass_credentials() set before anything was sent to it; this rank's
  /// own entry is unused. Sends the greetings, receives none.
  static Result<std::unique_ptr<SocketGroup>> create(int rank, std::vector<UniqueFd> sockets);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  GroupKind kind() const override { return GroupKind::processes; }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                         Deadline deadline) override;
  /// Waits for the peer's greeting for 10 s at most if no all_gather has been done before.
  Result<int> take_socket(int peer) override;
  Result<int> peer_pid(int peer) const override;
  Result<std::shared_ptr<void>> shared_object(std::string_view key,
                                              const std::function<std::shared_ptr<void>()>& make) override;

 private:
  struct Peer {
    UniqueFd socket;
    UniqueFd transport_socket;
    UniqueFd process;
    int pid = 0;
    bool has_greeted = false;
    bool has_ended = false;  ///< before its process could be watched
    bool was_taken = false;
  };
  struct Inbox {
    std::vector<std::byte> bytes;
    std::size_t filled = 0;
    std::size_t sent = 0;  ///< of this rank's own contribution, to this peer
    bool is_complete = false;
    bool is_sent = false;
    bool has_size = false;
  };
  struct Exchange;

  SocketGroup(int rank, std::size_t size);
  Status greet(int peer);
  Status accept_greeting(int peer, ReceivedPacket& packet);
  Status accept_chunk(int peer, Inbox& inbox, std::size_t packet_bytes);
  Status accept_packet(int peer, ReceivedPacket& packet, Inbox* inbox);
  /// Takes in what has come from `peer` until its inbox is complete, or its greeting if there is no inbox.
  Status receive_from(int peer, Inbox* inbox);
  void send_chunks(int peer, Inbox& inbox, std::span<const std::byte> mine);
  Status exchange(std::vector<Inbox>& inboxes, std::span<const std::byte> mine, Deadline deadline);
  void wait_for_peers(const std::vector<Inbox>& inboxes, Deadline deadline);
  Status await_greeting(int peer);
  Status check_peer(int peer) const;
  Status lost(int peer, std::string_view doing) const;
  Status fail(Status reason);

  int rank_;
  std::uint32_t sequence_ = 0;
  std::vector<Peer> peers_;
  std::vector<std::byte> buffer_;
  Status failure_;
};

}  // namespace ringcomm::inline v0::bootstrap
