// SPDX-License-Identifier: Apache-2.0
#include "transport/common/lane_transport.hpp"

#include "core/try.hpp"
#include "transport/common/lane_channel.hpp"

namespace ringcomm::inline v0::transport {
namespace {

Status not_connected() {
  return Status::invalid_argument(
      "the transport is not connected (connect() comes first, and not in a forked child)");
}

}  // namespace

LaneTransport::LaneTransport(std::uint32_t first_epoch) : first_epoch_(first_epoch) {}

LaneTransport::~LaneTransport() {
  if (endpoint_ != nullptr) endpoint_->leave();
}

void LaneTransport::start(int rank, int size, const TransportOptions& options,
                          std::unique_ptr<PeerMemory> memory) {
  auto made = std::make_shared<Endpoint>(
      Endpoint::Setup{.rank = rank, .size = size, .options = options, .first_epoch = first_epoch_},
      std::move(memory));
  const std::lock_guard lock(mutex_);
  endpoint_ = std::move(made);
  if (!early_abort_.is_ok()) (void)endpoint_->abort(early_abort_);
}

std::shared_ptr<Endpoint> LaneTransport::endpoint() const {
  const std::lock_guard lock(mutex_);
  return endpoint_ == nullptr || endpoint_->is_forked_copy() ? nullptr : endpoint_;
}

Capabilities LaneTransport::capabilities() const {
  return {.direct_read = true, .two_sided = true, .survives_peer_death = true, .progress = Progress::caller};
}

Result<std::unique_ptr<TransportChannel>> LaneTransport::open_channel(const ChannelKey& key,
                                                                      Deadline deadline) {
  const auto connected = endpoint();
  if (connected == nullptr) return not_connected();
  RINGCOMM_TRY_ASSIGN(Endpoint::OpenChannel channel, connected->open(key, deadline));
  return std::unique_ptr<TransportChannel>(std::make_unique<LaneChannel>(connected, std::move(channel)));
}

Status LaneTransport::register_segment(std::shared_ptr<Segment> segment) {
  const auto connected = endpoint();
  return connected == nullptr ? not_connected() : connected->segments().add(std::move(segment));
}

void LaneTransport::deregister_segment(const Segment* segment) {
  if (const auto connected = endpoint(); connected != nullptr) connected->segments().remove(segment);
}

std::string_view LaneTransport::path_name(int) const { return name(); }

void LaneTransport::abort(Status reason) {
  if (reason.is_ok()) reason = Status::aborted("abort() was called without a reason");
  const std::lock_guard lock(mutex_);
  if (endpoint_ == nullptr) {
    if (early_abort_.is_ok()) early_abort_ = std::move(reason);
  } else {
    (void)endpoint_->abort(std::move(reason));
  }
}

Status LaneTransport::health() const {
  const std::lock_guard lock(mutex_);
  return endpoint_ == nullptr ? early_abort_ : endpoint_->failure().status();
}

TransportCounters LaneTransport::counters() const {
  const auto connected = endpoint();
  return connected == nullptr ? TransportCounters{} : connected->counters();
}

}  // namespace ringcomm::inline v0::transport
