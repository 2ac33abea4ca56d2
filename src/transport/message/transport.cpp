// SPDX-License-Identifier: Apache-2.0
#include "transport/message/transport.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/small_file.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/message/open.hpp"
#include "transport/message/turn.hpp"

namespace ringcomm::inline v0 {
namespace transport::message {
namespace {

constexpr std::size_t kBootIdBytes = 36;

Status not_connected() {
  return Status::invalid_argument(
      "the transport is not connected (connect() comes first, and not in a forked child)");
}

/// What the ranks tell each other before the port connects: wire version, host, port's name.
std::string introduction(std::string_view port_name) {
  std::string host = read_small_file("/proc/sys/kernel/random/boot_id", kBootIdBytes);
  host.resize(kBootIdBytes, ' ');
  return concat(static_cast<char>(kWireVersion), host, port_name);
}

/// How many ranks share this host, once all have said the same version and port.
Result<int> meet(Bootstrap& bootstrap, std::string_view port_name, Deadline deadline) {
  const std::string mine = introduction(port_name);
  RINGCOMM_TRY_ASSIGN(const auto all, bootstrap.all_gather(std::as_bytes(std::span(mine)), deadline));
  int on_host = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string_view theirs(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
    if (theirs.size() <= kBootIdBytes || theirs[0] != mine[0]) {
      return Status::mismatch(concat("message transport of rank ", rank,
                                     " speaks another version than that of rank ", bootstrap.rank(),
                                     " (different ringcomm libraries?)"));
    }
    if (theirs.substr(1 + kBootIdBytes) != port_name) {
      return Status::mismatch(concat("message transport of rank ", rank, " is over ",
                                     theirs.substr(1 + kBootIdBytes), ", that of rank ", bootstrap.rank(),
                                     " over ", port_name));
    }
    if (theirs.substr(0, 1 + kBootIdBytes) == std::string_view(mine).substr(0, 1 + kBootIdBytes)) ++on_host;
  }
  return on_host;
}

}  // namespace

MessageTransport::MessageTransport(std::unique_ptr<MessagePort> port) : port_(std::move(port)) {
  if (port_ == nullptr) return;
  name_ = port_->name();
  survives_peer_death_ = port_->survives_peer_death();
}

MessageTransport::~MessageTransport() {
  if (core_ != nullptr) core_->leave();
}

std::shared_ptr<Core> MessageTransport::core() const {
  const std::lock_guard lock(mutex_);
  return core_ == nullptr || core_->is_forked_copy() ? nullptr : core_;
}

Capabilities MessageTransport::capabilities() const {
  return {.two_sided = true, .survives_peer_death = survives_peer_death_, .progress = Progress::caller};
}

Status MessageTransport::can_serve(const Bootstrap& bootstrap) const {
  if (port_ == nullptr && name_.empty())
    return Status::not_available("message transport has no port (the factory made none)");
  return port_ == nullptr ? Status() : port_->can_serve(bootstrap);
}

Status MessageTransport::connect(Bootstrap& bootstrap, const TransportOptions& options, Deadline deadline) {
  if (port_ == nullptr && !name_.empty())
    return Status::invalid_argument(concat("message transport over ", name_, " is connected already"));
  RINGCOMM_TRY(can_serve(bootstrap));
  RINGCOMM_TRY_ASSIGN(const int on_host, meet(bootstrap, name_, deadline));
  const Core::Setup setup{
      .rank = bootstrap.rank(), .size = bootstrap.size(), .ranks_on_host = on_host, .options = options};
  auto made = std::make_shared<Core>(setup, std::move(port_));
  RINGCOMM_TRY(made->connect(bootstrap, deadline));
  const std::lock_guard lock(mutex_);
  core_ = std::move(made);
  if (!early_abort_.is_ok()) core_->abort(early_abort_);
  return {};
}

Result<std::unique_ptr<TransportChannel>> MessageTransport::open_channel(const ChannelKey& key,
                                                                         Deadline deadline) {
  const auto connected = core();
  if (connected == nullptr) return not_connected();
  return message::open_channel(connected, key, deadline);
}

Status MessageTransport::register_segment(std::shared_ptr<Segment> segment) {
  const auto connected = core();
  if (connected == nullptr) return not_connected();
  const Turn turn(*connected);
  return connected->register_segment(std::move(segment));
}

void MessageTransport::deregister_segment(const Segment* segment) {
  const auto connected = core();
  if (connected == nullptr) return;
  const Turn turn(*connected);
  connected->deregister_segment(segment);
}

std::string_view MessageTransport::path_name(int peer) const {
  const auto connected = core();
  if (connected == nullptr) return name_;
  const Turn turn(*connected);
  return connected->port().path_name(peer);
}

void MessageTransport::abort(Status reason) {
  if (reason.is_ok()) reason = Status::aborted("abort() was called without a reason");
  const std::lock_guard lock(mutex_);
  if (core_ != nullptr) {
    core_->abort(std::move(reason));
  } else if (early_abort_.is_ok()) {
    early_abort_ = std::move(reason);
  }
}

Status MessageTransport::health() const {
  {
    const std::lock_guard lock(mutex_);
    if (core_ == nullptr) return early_abort_;
  }
  if (const auto connected = core(); connected != nullptr) {
    connected->poll();
    return connected->failure();
  }
  return core_->failure();
}

TransportCounters MessageTransport::counters() const {
  TransportCounters sum;
  if (const auto connected = core(); connected != nullptr) connected->counters().add_to(sum);
  return sum;
}

}  // namespace transport::message

TransportFactory message_transport(MessagePortFactory make) {
  return [make = std::move(make)]() -> std::unique_ptr<Transport> {
    return std::make_unique<transport::message::MessageTransport>(make());
  };
}

}  // namespace ringcomm::inline v0
