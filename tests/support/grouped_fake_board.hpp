// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a GroupedFakeTransport meet: one lock over everything, for clearness, not for speed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ringcomm/transport/transport.hpp"
#include "support/grouped_fake_transport.hpp"

namespace ringcomm::testing_support {

struct GroupedFakeTransport::Counted {
  TransportCounters counters;  ///< under the board's lock
};

class GroupedFakeTransport::Board {
 public:
  /// A batch whose turn has come on its stream.
  struct Group {
    std::span<const TransportOp> batch;
    int readers_left = 0;  ///< peers (by batch) that have not copied yet
  };
  /// One channel, once per (key, how often it was opened).
  struct Room {
    explicit Room(std::vector<int> ranks)
        : members(std::move(ranks)),
          open(members.size()),
          heads(members.size()),
          awaits(members.size(), -1) {}
    std::vector<int> members;
    std::vector<bool> open;
    std::vector<Descriptor> heads;
    std::vector<int> awaits;  ///< by position: the position waited for, -1
    std::map<std::pair<int, int>, std::vector<std::shared_ptr<Group>>> groups;  ///< (of, with): in order
  };

  explicit Board(int ranks) : left_(static_cast<std::size_t>(ranks)), opened_(left_.size()) {}

  Result<std::shared_ptr<Room>> open(const ChannelKey& key, int rank, Deadline deadline);
  void announce(Room& room, int position, const Descriptor& descriptor);
  /// Runs on the stream: posts the batch, meets the peers' batches, copies, waits until all have copied.
  Status run(Room& room, int position, std::span<const TransportOp> batch, Deadline deadline,
             Counted& counted);
  Status fail(Status status);
  Status failure() const;
  void leave(int rank);
  int size() const { return static_cast<int>(left_.size()); }
  TransportCounters read(const Counted& counted) const;

 private:
  /// A batch that is being run.
  struct Turn {
    Room& room;
    int position;
    std::span<const TransportOp> batch;
    Deadline deadline;
    std::int64_t started_ns = 0;
    std::map<int, std::size_t> peers{};  ///< position and index of the group shared with it
  };
  using Lock = std::unique_lock<std::mutex>;

  Status post(Turn& turn, const std::shared_ptr<Group>& group);
  Status meet(Turn& turn, Lock& lock);
  Status copy(Turn& turn, Counted& counted);
  Status wait_for(Turn& turn, int peer, Lock& lock);
  Status explain(const Turn& turn, int peer) const;
  int follow(const Room& room, int first, int self) const;
  Status fail_locked(Status status);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Status failure_;
  std::vector<bool> left_;
  std::map<std::pair<std::string, int>, std::shared_ptr<Room>> rooms_;
  std::vector<std::map<std::string, int>> opened_;  ///< by rank: how often each key
};

}  // namespace ringcomm::testing_support
