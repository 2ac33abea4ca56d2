// SPDX-License-Identifier: Apache-2.0
// Passes everything on to another transport; the wrappers override how batches run.
#pragma once

#include <memory>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::testing_support {

/// `Hook` lives as long as transport and channels and has
///   Status run(TransportChannel& inner, std::span<const TransportOp>, StreamView, Deadline)
/// and may have
///   Capabilities capabilities(Capabilities inner) const.
template <class Hook>
class WrappingChannel final : public TransportChannel {
 public:
  WrappingChannel(std::unique_ptr<TransportChannel> inner, std::shared_ptr<Hook> hook)
      : inner_(std::move(inner)), hook_(std::move(hook)) {}
  void set_sink(ChannelSink* sink) override { inner_->set_sink(sink); }
  void announce(const Descriptor& descriptor) override { inner_->announce(descriptor); }
  Status run(std::span<const TransportOp> batch, Deadline deadline) override {
    return hook_->run(*inner_, batch, {}, deadline);
  }
  Status submit(std::span<const TransportOp> batch, StreamView stream, Deadline deadline) override {
    return hook_->run(*inner_, batch, stream, deadline);
  }

 private:
  std::unique_ptr<TransportChannel> inner_;
  std::shared_ptr<Hook> hook_;
};

template <class Hook>
class WrappingTransport final : public Transport {
 public:
  WrappingTransport(std::unique_ptr<Transport> inner, std::shared_ptr<Hook> hook)
      : inner_(std::move(inner)), hook_(std::move(hook)) {}
  std::string_view name() const override { return inner_->name(); }
  Capabilities capabilities() const override {
    if constexpr (requires { hook_->capabilities(inner_->capabilities()); }) {
      return hook_->capabilities(inner_->capabilities());
    } else {
      return inner_->capabilities();
    }
  }
  Status can_serve(const Bootstrap& bootstrap) const override { return inner_->can_serve(bootstrap); }
  Status connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) override {
    hook_->connected(*inner_, bootstrap.rank());
    return inner_->connect(bootstrap, options, deadline);
  }
  Result<std::unique_ptr<TransportChannel>> open_channel(const ChannelKey& key, Deadline deadline) override {
    RINGCOMM_TRY_ASSIGN(auto channel, inner_->open_channel(key, deadline));
    return std::unique_ptr<TransportChannel>(
        std::make_unique<WrappingChannel<Hook>>(std::move(channel), hook_));
  }
  Status register_segment(std::shared_ptr<Segment> segment) override {
    return inner_->register_segment(std::move(segment));
  }
  void deregister_segment(const Segment* segment) override { inner_->deregister_segment(segment); }
  std::string_view path_name(int peer) const override { return inner_->path_name(peer); }
  void abort(Status reason) override { inner_->abort(std::move(reason)); }
  Status health() const override { return inner_->health(); }
  TransportCounters counters() const override { return inner_->counters(); }

 private:
  std::unique_ptr<Transport> inner_;
  std::shared_ptr<Hook> hook_;
};

}  // namespace ringcomm::testing_support
