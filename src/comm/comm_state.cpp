// SPDX-License-Identifier: Apache-2.0
#include "comm/comm_state.hpp"

#include <algorithm>

#include "comm/rotation_mode.hpp"
#include "core/try.hpp"
#include "device/host/fork_guard.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/device/device.hpp"

namespace ringcomm::inline v0::comm {

// Queued work uses lanes and slots, slots belong to the arenas, and the arenas' memory is the transport's to
// let go: the order below is the order of use.
CommState::~CommState() {
  stream.reset();
  control.reset();
  channels.clear();
  if (pool) pool->close();
  if (transport) {
    // Transports that do not know the listener.
    if (const Status health = transport->health(); !health.is_ok()) recording.on_failure(health, -1);
  }
  transport.reset();
  recording.close();
}

bool CommState::is_forked_copy() const { return fork_generation != ringcomm::fork_generation(); }

Status CommState::fork_error() const {
  return Status::not_available(concat("communicator used in a forked child: rank ", rank, " of ", size,
                                      " belongs to the parent process (the child's copy is dead)"));
}

Status CommState::health() const { return is_forked_copy() ? fork_error() : transport->health(); }

void CommState::note_memory() { recording.set_memory(pool->high_water_bytes(), pool->window_bytes()); }

Result<StreamView> CommState::own_stream(int priority) {
  const std::lock_guard lock(stream_mutex);
  if (!stream) {
    StreamOptions stream_options;
    stream_options.placement = placement;
    stream_options.priority = priority;
    RINGCOMM_TRY_ASSIGN(auto made, host_device().create_stream(stream_options));
    stream = std::make_unique<Stream>(std::move(made));
  }
  return stream->view();
}

void CommState::order_ring(Channel::Parts& parts, const std::vector<int>& members) const {
  std::vector<Place> member_places;
  for (const int member : members) member_places.push_back(places[static_cast<std::size_t>(member)]);
  std::vector<int> order;
  for (const int next : ring_order) {
    const auto found = std::ranges::find(members, next);
    if (found != members.end()) order.push_back(static_cast<int>(found - members.begin()));
  }
  parts.prefers_relay = relay_is_faster(member_places, order, speeds);
  if (!std::ranges::is_sorted(order)) parts.ring_order = std::move(order);
}

Result<std::unique_ptr<Channel>> CommState::open(std::vector<int> members, std::uint32_t ordinal,
                                                 const ChannelOptions& channel_options, Deadline wait_until,
                                                 std::string_view name) {
  auto parts = std::make_unique<Channel::Parts>();
  parts->state = this;
  parts->position = static_cast<int>(std::ranges::find(members, rank) - members.begin());
  RINGCOMM_TRY_ASSIGN(parts->lanes, transport->open_channel(ChannelKey{members, ordinal}, wait_until));
  parts->sinks = recording.open_channel(members, ordinal, name);
  parts->lanes->set_sink(parts->sinks.all);
  order_ring(*parts, members);
  parts->members = std::move(members);
  parts->ordinal = ordinal;
  parts->options = channel_options;
  return std::make_unique<Channel>(std::move(parts));
}

}  // namespace ringcomm::inline v0::comm
