// SPDX-License-Identifier: Apache-2.0
// All of a transport over control segments but how the ranks come to see each other's memory.
#pragma once

#include <memory>
#include <mutex>

#include "ringcomm/transport/transport.hpp"
#include "transport/common/endpoint.hpp"
#include "transport/common/peer_memory.hpp"

namespace ringcomm::inline v0::transport {

/// A backend implements name(), can_serve() and connect(), which makes its PeerMemory and ends with start().
class LaneTransport : public Transport {
 public:
  /// `first_epoch`: where all counters start; the same on all ranks.
  explicit LaneTransport(std::uint32_t first_epoch = 0);
  ~LaneTransport() override;

  Capabilities capabilities() const override;
  Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey& key, Deadline deadline) override;
  Status register_segment(std::shared_ptr<Segment> segment) override;
  void deregister_segment(const Segment* segment) override;
  std::string_view path_name(int peer) const override;
  void abort(Status reason) override;
  Status health() const override;
  TransportCounters counters() const override;

 protected:
  /// Writes the identity into the own control segment and goes live. All peers' control segments are mapped;
  /// a peer that is not live yet is waited for where it is needed.
  void start(int rank, int size, const TransportOptions& options, std::unique_ptr<PeerMemory> memory);

 private:
  /// Null before start(), and in a forked child.
  std::shared_ptr<Endpoint> endpoint() const;
  const std::uint32_t first_epoch_;
  mutable std::mutex mutex_;
  std::shared_ptr<Endpoint> endpoint_;
  Status early_abort_;  ///< before connect()
};

}  // namespace ringcomm::inline v0::transport
