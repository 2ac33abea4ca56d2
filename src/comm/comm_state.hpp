// SPDX-License-Identifier: Apache-2.0
// What a communicator and its channels share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/memory_pool.hpp"
#include "comm/places.hpp"
#include "comm/recording.hpp"
#include "comm/turn.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::inline v0::comm {

struct CommState {
  CommState() = default;
  CommState(const CommState&) = delete;
  CommState& operator=(const CommState&) = delete;
  ~CommState();

  int rank = 0;
  int size = 1;
  std::uint32_t fork_generation = 0;
  std::chrono::milliseconds deadline{0};
  GroupKind kind = GroupKind::threads;
  CommunicatorOptions options;  ///< as the caller gave them
  Placement placement;
  std::vector<Place> places;
  std::vector<int> ring_order;
  bool is_order_forced = false;  ///< a list was given
  MeasuredSpeeds speeds;
  MergeLimits merge;  ///< as agreed
  JobIdentity identity;
  mutable Recording recording;  ///< outlives transport and channels
  std::unique_ptr<Transport> transport;
  std::shared_ptr<MemoryPool> pool;
  std::vector<std::unique_ptr<Channel>> channels;  ///< the first one has all ranks
  std::unique_ptr<Channel> control;                ///< of all ranks, for split(); opened by the first of them
  std::uint32_t splits = 0;
  Turn turn;
  std::atomic<std::uint64_t> bytes_packed{0};
  std::mutex stream_mutex;
  std::unique_ptr<Stream> stream;

  bool is_forked_copy() const;
  /// not_available in a forked child, else the transport's health.
  Status health() const;
  Status fork_error() const;
  /// The recorder's high-water marks.
  void note_memory();
  Result<StreamView> own_stream(int priority);
  void order_ring(Channel::Parts& parts, const std::vector<int>& members) const;
  /// Collective over `members`, this rank among them.
  Result<std::unique_ptr<Channel>> open(std::vector<int> members, std::uint32_t ordinal,
                                        const ChannelOptions& channel_options, Deadline wait_until,
                                        std::string_view name = {});
};

/// Of channels that the library opens for itself.
inline constexpr std::uint32_t kOwnOrdinals = std::uint32_t{1} << 31;

}  // namespace ringcomm::inline v0::comm

namespace ringcomm::inline v0 {

struct Communicator::Inherited : comm::Ancestry {};

struct Communicator::Impl {
  comm::CommState state;
};

struct Channel::Parts {
  comm::CommState* state = nullptr;
  std::vector<int> members;
  std::uint32_t ordinal = 0;
  ChannelOptions options;
  std::vector<int> ring_order;  ///< empty: as listed
  bool prefers_relay = false;
  int position = 0;
  std::uint32_t sequence = 0;
  bool is_busy = false;  ///< between begin() and the end of its scope
  std::unique_ptr<TransportChannel> lanes;
  comm::Recording::Sinks sinks;
  std::shared_ptr<void> extension;
};

}  // namespace ringcomm::inline v0
