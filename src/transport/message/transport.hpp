// SPDX-License-Identifier: Apache-2.0
// Two-sided transport over any MessagePort.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "ringcomm/transport/message_port.hpp"
#include "transport/message/core.hpp"

namespace ringcomm::inline v0::transport::message {

class MessageTransport final : public Transport {
 public:
  explicit MessageTransport(std::unique_ptr<MessagePort> port);
  ~MessageTransport() override;

  std::string_view name() const override { return name_; }
  Capabilities capabilities() const override;
  Status can_serve(const Bootstrap& bootstrap) const override;
  Status connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) override;
  Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey& key, Deadline deadline) override;
  Status register_segment(std::shared_ptr<Segment> segment) override;
  void deregister_segment(const Segment* segment) override;
  std::string_view path_name(int peer) const override;
  void abort(Status reason) override;
  Status health() const override;
  TransportCounters counters() const override;

 private:
  /// Null before connect(), and in a forked child.
  std::shared_ptr<Core> core() const;

  std::unique_ptr<MessagePort> port_;  ///< until connect()
  std::string name_;
  bool survives_peer_death_ = true;
  mutable std::mutex mutex_;
  std::shared_ptr<Core> core_;
  Status early_abort_;  ///< before connect()
};

}  // namespace ringcomm::inline v0::transport::message
