// SPDX-License-Identifier: Apache-2.0
// One rank's end of a message network, shared by its transport and its channels, whichever goes last.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/host/fork_guard.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/transport/message_port.hpp"
#include "transport/common/failure.hpp"
#include "transport/common/live_counters.hpp"
#include "transport/common/wait.hpp"
#include "transport/message/parcels.hpp"
#include "transport/message/wire.hpp"

namespace ringcomm::inline v0::transport::message {

class MessageChannel;

/// Everything below is used with the lock (Turn), unless it says otherwise.
class Core final : public MessageSink {
 public:
  struct Setup {
    int rank = 0;
    int size = 1;
    int ranks_on_host = 1;
    TransportOptions options;
  };
  Core(const Setup& setup, std::unique_ptr<MessagePort> port);
  ~Core() override;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Collective; without the lock, before anything else.
  Status connect(Bootstrap& bootstrap, Deadline deadline);

  int rank() const { return setup_.rank; }
  int size() const { return setup_.size; }
  MessagePort& port() { return *port_; }
  ParcelPool& pool() { return pool_; }
  LiveCounters& counters() { return counters_; }  ///< added to with the lock, read without
  /// True in a forked child: the network's state belongs to the parent.
  bool is_forked_copy() const { return fork_generation_ != fork_generation(); }

  /// What this rank has found; the listener explains it. Without the lock too. The first failure stays;
  /// settle() tells it.
  Status fail(Status status, int culprit);
  bool has_failed() const { return failure_.is_set(); }
  Status failure() const { return failure_.status(); }
  /// Any thread, never blocks: fails, and tells the peers now or lets the thread that holds the port do so.
  void abort(Status reason);
  /// Any thread, never blocks: looks at the network if nobody else does.
  void poll();

  /// A peer's end that has said that it leaves, and since when.
  bool has_left(int peer) const { return peers_[index(peer)].life == Life::closed; }
  std::int64_t left_since_ns(int peer) const { return peers_[index(peer)].left_ns; }
  /// A control message; to a peer that has left or failed, nothing happens.
  Status send(int peer, std::span<const std::byte> bytes);
  /// A block and, unless the peer has left or failed, the message that announces it.
  Result<TransferId> send_announced(int peer, std::span<const std::byte> announcement, std::uint64_t tag,
                                    const std::byte* data, std::size_t bytes);
  /// Moves things on; returns whether anything happened.
  bool progress();
  /// Tells the own failure to all peers, once. Not from inside progress().
  void settle();
  /// After a failure: tells it, then has the port give up what it knows of callers' memory.
  void let_go();
  /// The transport goes; channels may still be there.
  void leave();

  /// Numbers the channel, for messages that are addressed to it.
  std::uint32_t add(MessageChannel& channel);
  void remove(std::uint32_t number) { channels_.erase(number); }

  /// (hash of the key, how often it had been opened before).
  using OpeningId = std::pair<std::uint64_t, std::uint32_t>;
  struct OpenNote {
    int rank = 0;
    std::uint32_t channel = 0;  ///< that rank's number
  };
  OpeningId next_opening(std::uint64_t key_hash) { return {key_hash, generations_[key_hash]++}; }
  std::vector<OpenNote>& notes_of(const OpeningId& id) { return notes_[id]; }
  void forget_notes(const OpeningId& id) { notes_.erase(id); }

  Status register_segment(std::shared_ptr<Segment> segment);
  void deregister_segment(const Segment* segment);

 private:
  friend class Turn;
  struct Peer {
    Life life = Life::live;
    std::int64_t left_ns = 0;
  };
  std::size_t index(int peer) const { return static_cast<std::size_t>(peer); }

  void on_control(int peer, std::span<const std::byte> bytes) override;
  void on_peer_lost(int peer, Status reason) override;
  void deliver(int peer, const Message& message);
  void tell_failure();
  void rouse_followers();

  const std::uint32_t fork_generation_ = fork_generation();
  const Setup setup_;
  const WaitPolicy policy_;
  std::unique_ptr<MessagePort> port_;
  std::atomic<bool> is_connected_{false};
  StateBlock state_{};  ///< the own failure as it is told
  Failure failure_;
  bool is_told_ = false;
  std::vector<Peer> peers_;
  ParcelPool pool_;
  LiveCounters counters_;
  std::uint32_t last_number_ = 0;
  std::unordered_map<std::uint32_t, MessageChannel*> channels_;
  std::map<std::uint64_t, std::uint32_t> generations_;
  std::map<OpeningId, std::vector<OpenNote>> notes_;
  std::vector<std::shared_ptr<Segment>> segments_;

  // The turn at the port (turn.hpp). Followers sleep on a lock of their own and then ask for the turn like
  // everybody else: woken inside the wait, they would fight for the lock unseen.
  std::mutex mutex_;
  std::atomic<int> waiting_{0};         ///< threads that want the lock
  std::atomic<bool> is_asleep_{false};  ///< the holder of the lock is in MessagePort::sleep()
  bool has_leader_ = false;
  int followers_ = 0;
  std::mutex note_mutex_;
  std::condition_variable moved_;
  std::uint64_t moves_ = 0;  ///< guarded by note_mutex_
};

}  // namespace ringcomm::inline v0::transport::message
