// SPDX-License-Identifier: Apache-2.0
// A network that can pass messages between ranks: what UCX and MPI implement, and what a user may bring.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/transport/transport.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Receives what a port delivers, always from inside MessagePort::progress().
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  /// A control message from `peer`, in the order in which it was sent; `bytes` are valid during the call.
  virtual void on_control(int peer, std::span<const std::byte> bytes) = 0;
  /// `peer` cannot be reached any more. At most once per peer.
  virtual void on_peer_lost(int peer, Status reason) = 0;
};

/// A data transfer in flight; 0 is none.
using TransferId = std::uint64_t;

/// One rank's end of a network. The library's message transport builds everything else on it: descriptors,
/// mismatch, failures, deadlines, channels, order. One thread at a time, which the transport sees to; only
/// wake() may come from any thread. No call but connect(), sleep() and cancel() blocks.
class MessagePort {
 public:
  /// Control messages are at most this long.
  static constexpr std::size_t kControlBytesMax = 4096;

  /// Transfers may be in flight after a failure: the port lets go of them without touching their memory
  /// again. Control messages that were sent before are still delivered, if that is possible within a second
  /// or two.
  virtual ~MessagePort() = default;
  virtual std::string_view name() const = 0;
  /// False when the launcher kills all ranks once one dies (MPI).
  virtual bool survives_peer_death() const { return true; }
  /// ok, or not_available with the clause that fails for this group.
  virtual Status can_serve(const Bootstrap& bootstrap) const = 0;
  /// Collective over the group; `sink` outlives the port.
  virtual Status connect(Bootstrap& bootstrap, MessageSink& sink, Deadline deadline) = 0;

  /// Copies `bytes`. Delivered once, in order with other control messages to the same peer.
  virtual Status send_control(int peer, std::span<const std::byte> bytes) = 0;
  /// The transfer that `peer` receives under the same tag. Each (pair, direction, tag) is used once; both
  /// sides give the same size (> 0), compared by the caller beforehand. Transfers of one pair and direction
  /// whose tags have the same upper 32 bits are posted in the same order on both sides.
  virtual Result<TransferId> send(int peer, std::uint64_t tag, const std::byte* data, std::size_t bytes) = 0;
  virtual Result<TransferId> receive(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) = 0;
  /// send_control(peer, announcement), then send(peer, tag, data, bytes); a network that can carries both in
  /// one message, and so saves half of what a small block costs.
  virtual Result<TransferId> send_announced(int peer, std::span<const std::byte> announcement,
                                            std::uint64_t tag, const std::byte* data, std::size_t bytes) {
    if (Status told = send_control(peer, announcement); !told.is_ok()) return told;
    return send(peer, tag, data, bytes);
  }
  /// A hint: the caller will receive() this once the block has been announced and compared. What comes under
  /// the tag with this size may be put there at once, which saves a copy. Holds until that receive().
  virtual void expect(int peer, std::uint64_t tag, std::byte* data, std::size_t bytes) {
    static_cast<void>(peer), static_cast<void>(tag), static_cast<void>(data), static_cast<void>(bytes);
  }
  /// The group has failed and this rank has said so: what is expected, posted or under way is given up. A
  /// port that can returns when it touches none of that memory any more, and warns where that takes longer
  /// than 0.7 s, because a peer stands still; connections may be closed for it.
  virtual void cancel() {}
  /// True once the memory is the caller's again (sent) or holds the data (received); the id is then spent.
  virtual Result<bool> is_done(TransferId transfer) = 0;
  /// Moves things on and calls the sink. Returns whether anything happened.
  virtual Result<bool> progress() = 0;
  /// Returns when something may have happened, wake() was called, or `at_most` has passed; uses no CPU where
  /// the network has a wake-up.
  virtual void sleep(std::chrono::microseconds at_most) = 0;
  /// Ends a sleep() of another thread, or the next one. Any thread.
  virtual void wake() = 0;

  /// Memory that will be sent from or received into repeatedly; a hint that allows direct puts.
  virtual Status register_memory(std::byte* data, std::size_t bytes) {
    static_cast<void>(data), static_cast<void>(bytes);
    return {};
  }
  virtual void deregister_memory(std::byte* data) { static_cast<void>(data); }
  /// What moves bytes to `peer`, for people: "ucx", "mpi".
  virtual std::string_view path_name(int peer) const {
    static_cast<void>(peer);
    return name();
  }
};

using MessagePortFactory = std::function<std::unique_ptr<MessagePort>()>;

/// A two-sided transport over a port: CommunicatorOptions::transports takes it like any other.
TransportFactory message_transport(MessagePortFactory make);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
