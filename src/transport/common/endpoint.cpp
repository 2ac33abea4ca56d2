// SPDX-License-Identifier: Apache-2.0
#include "transport/common/endpoint.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/common/channel_key.hpp"

namespace ringcomm::inline v0::transport {
Endpoint::Endpoint(const Setup& setup, std::unique_ptr<PeerMemory> memory)
    : setup_(setup),
      policy_(wait_policy(setup.options.wait_style, setup.size)),
      memory_(std::move(memory)),
      control_bytes_(control_segment_bytes(setup.size)),
      control_(memory_->own_control(), control_bytes_),
      segments_(setup.size, control_.header().segments, *memory_),
      failure_(setup.rank, setup.options.listener) {
  for (int r = 0; r < setup.size; ++r)
    peers_.push_back(reinterpret_cast<const ControlHeader*>(memory_->control(r)));
  IdentityBlock& identity = control_.header().identity;
  identity.rank.store(static_cast<std::uint32_t>(setup.rank), std::memory_order_relaxed);
  identity.ranks.store(static_cast<std::uint32_t>(setup.size), std::memory_order_relaxed);
  identity.magic.store(kControlMagic, std::memory_order_release);
  failure_.publish_in(control_.header().state);
}

Endpoint::~Endpoint() { leave(); }

Status Endpoint::adopt_any() {
  if (failure_.is_set()) return failure_.status();
  for (int r = 0; r < setup_.size; ++r) {
    if (r != setup_.rank && life_of(r) == Life::failed) return adopt(r);
  }
  return {};
}

Status Endpoint::fail(Status status, int culprit) {
  if (is_forked_copy()) return status;
  if (setup_.options.listener != nullptr && !failure_.is_set()) {
    status = setup_.options.listener->explain(std::move(status), culprit);
    RINGCOMM_TRY(adopt_any());  // who was quicker has told everybody else
  }
  return failure_.fail({std::move(status), culprit, setup_.rank});
}

Status Endpoint::check_peers(const Descriptor* waited_in) {
  RINGCOMM_TRY(adopt_any());
  int culprit = -1;
  Status alive = memory_->check_alive(culprit);
  if (alive.is_ok()) return alive;
  if (waited_in != nullptr) {
    alive = Status(alive.code(),
                   concat(alive.message(), ", while rank ", setup_.rank, " waited in ",
                          name_of(waited_in->op), " #", waited_in->sequence, " step ", waited_in->step));
  }
  return fail(std::move(alive), culprit);
}

Result<Endpoint::OpenChannel> Endpoint::open(const ChannelKey& key, Deadline deadline) {
  RINGCOMM_TRY(failure_.status());
  RINGCOMM_TRY(check_channel_key(key, setup_.rank, setup_.size));
  OpenChannel channel{.lease = {},
                      .blocks = std::vector<const ChannelBlock*>(key.members.size()),
                      .first_epoch = setup_.first_epoch};
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t hash = hash_of(key);
    const ChannelId id{.key_hash = hash, .generation = generations_[hash]++};
    const auto may_read = [this](int rank, const ChannelId& closed) {
      if (rank == setup_.rank || life_of(rank) == Life::closed) return false;
      return find_channel(reinterpret_cast<const std::byte*>(&peer(rank)), control_bytes_, closed) != nullptr;
    };
    RINGCOMM_TRY_ASSIGN(channel.lease, control_.open(id, key.members, setup_.first_epoch, may_read));
  }
  if (Status status = find_members(channel, key, deadline); !status.is_ok()) {
    close(std::move(channel.lease));
    return status;
  }
  return channel;
}

Status Endpoint::find_members(OpenChannel& channel, const ChannelKey& key, Deadline deadline) {
  constexpr auto kPause = std::chrono::microseconds(100);
  const std::int64_t started_ns = now_ns();
  for (;;) {
    // Looked at before the directory: if all have opened by now, the channel stands and its first run()
    // tells.
    const Status peers = check_peers();
    int gone = -1;
    bool is_complete = true;
    for (std::size_t i = 0; i < key.members.size(); ++i) {
      if (channel.blocks[i] != nullptr) continue;
      const bool has_left = life_of(key.members[i]) == Life::closed;
      // A member may open it, need it no more and leave before this rank looks.
      channel.blocks[i] = find_channel(reinterpret_cast<const std::byte*>(&peer(key.members[i])),
                                       control_bytes_, channel.lease.id, Found::closed);
      is_complete = is_complete && channel.blocks[i] != nullptr;
      if (channel.blocks[i] == nullptr && has_left) gone = key.members[i];
    }
    if (is_complete) return {};
    RINGCOMM_TRY(peers);
    if (gone >= 0) {
      return fail(
          Status::peer_lost(concat("rank ", gone, " has left (its communicator was destroyed) while rank ",
                                   setup_.rank, " waited for it to open a channel")),
          gone);
    }
    if (deadline.is_expired()) return explain_missing(channel, key, now_ns() - started_ns);
    std::this_thread::sleep_for(kPause);
  }
}

Status Endpoint::explain_missing(const OpenChannel& channel, const ChannelKey& key, std::int64_t waited_ns) {
  std::string missing;
  int culprit = -1;
  for (std::size_t i = 0; i < key.members.size(); ++i) {
    if (channel.blocks[i] != nullptr) continue;
    if (culprit < 0) culprit = key.members[i];
    missing += concat(missing.empty() ? "" : ", ", key.members[i]);
  }
  return fail(Status::timeout(concat("open_channel: of ", key.members.size(), " members, rank ", missing,
                                     " did not open the channel (ordinal ", key.ordinal, ") within ",
                                     waited_ns / 1'000'000, " ms. Is the member list the same everywhere?")),
              culprit);
}

void Endpoint::close(ControlSegment::Lease lease) {
  if (is_forked_copy()) return;
  const std::lock_guard lock(mutex_);
  control_.close(std::move(lease));
}

void Endpoint::attach(const LiveCounters& counters) {
  const std::lock_guard lock(mutex_);
  live_counters_.push_back(&counters);
}

void Endpoint::detach(const LiveCounters& counters) {
  const std::lock_guard lock(mutex_);
  std::erase(live_counters_, &counters);
  counters.add_to(detached_counters_);
}

TransportCounters Endpoint::counters() const {
  const std::lock_guard lock(mutex_);
  TransportCounters sum = detached_counters_;
  for (const LiveCounters* live : live_counters_) live->add_to(sum);
  return sum;
}

}  // namespace ringcomm::inline v0::transport
