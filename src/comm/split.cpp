// SPDX-License-Identifier: Apache-2.0
// Communicator::split: ranks of one color become a communicator of their own.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "comm/channel_gather.hpp"
#include "comm/comm_state.hpp"
#include "comm/guard.hpp"
#include "comm/thread_groups.hpp"
#include "core/try.hpp"
#include "ringcomm/core/limits.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace comm {
namespace {

/// What a rank tells the others.
struct Wish {
  std::int32_t color = 0;
  std::int32_t key = 0;
  std::uint64_t group_number = 0;  ///< for the group, if this rank turns out to be its first
};

// A channel of its own: channel 0 may have an operation under way in a stream.
Result<std::vector<Wish>> gather_wishes(CommState& state, const Wish& mine, Deadline deadline) {
  if (!state.control) {
    std::vector<int> everybody(static_cast<std::size_t>(state.size));
    std::iota(everybody.begin(), everybody.end(), 0);
    RINGCOMM_TRY_ASSIGN(state.control, state.open(std::move(everybody), kOwnOrdinals, {}, deadline));
  }
  std::vector<Wish> all(static_cast<std::size_t>(state.size));
  RINGCOMM_TRY(gather_bytes(*state.control, std::as_bytes(std::span(&mine, 1)),
                            std::as_writable_bytes(std::span(all)), deadline));
  ++state.splits;
  return all;
}

Status check(const std::vector<Wish>& wishes) {
  for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
    if (wishes[rank].color >= Communicator::kNoColor) continue;
    return Status::invalid_argument(concat("split: rank ", rank, " gave color ", wishes[rank].color,
                                           " (0 or more, or ", Communicator::kNoColor, " for no group)"));
  }
  return {};
}

/// Ranks of the old communicator in the order of the new one.
std::vector<int> members_of(const std::vector<Wish>& wishes, std::int32_t color) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < wishes.size(); ++rank)
    if (wishes[rank].color == color) members.push_back(static_cast<int>(rank));
  std::ranges::stable_sort(members, {}, [&](int rank) { return wishes[static_cast<std::size_t>(rank)].key; });
  return members;
}

/// How the members of a group meet: threads in this process, others over a channel of the old communicator,
/// which lives as long as the bootstrap needs it.
Result<std::unique_ptr<Bootstrap>> meet(CommState& state, const std::vector<int>& members, int rank,
                                        std::uint64_t group_number, Deadline deadline) {
  const auto size = static_cast<int>(members.size());
  if (state.kind == GroupKind::threads) return join_thread_group(group_number, rank, size);
  RINGCOMM_TRY_ASSIGN(auto opened, state.open(members, kOwnOrdinals + state.splits, {}, deadline));
  const std::shared_ptr<Channel> channel = std::move(opened);
  return bootstrap_callback(
      rank, size,
      [channel](std::span<const std::byte> mine, std::span<std::byte> all, Deadline wait_until) {
        return gather_bytes(*channel, mine, all, wait_until);
      },
      deadline);
}

/// `members`: the new group's ranks in the parent.
CommunicatorOptions inherited(const CommState& parent, const std::vector<int>& members,
                              CommunicatorOptions options) {
  if (options.deadline.count() == 0) options.deadline = parent.deadline;
  if (options.arena_bytes == 0) options.arena_bytes = parent.options.arena_bytes;
  if (options.transports.empty()) options.transports = parent.options.transports;
  if (options.wait_style == WaitStyle::automatic) options.wait_style = parent.options.wait_style;
  // The groups share the CPUs: what is too much for all of them together is so for each.
  if (options.wait_style == WaitStyle::automatic && parent.kind != GroupKind::network &&
      parent.size > read_limits().usable_cpus())
    options.wait_style = WaitStyle::oversubscribed;
  if (options.sink == nullptr) options.sink = parent.options.sink;
  if (options.record_entries == 0) options.record_entries = parent.options.record_entries;
  if (!options.machine) options.machine = parent.options.machine;
  if (!options.ring_order.empty() || !parent.is_order_forced) return options;
  for (const int rank : parent.ring_order) {  // what was forced for the parent holds for its parts
    const auto found = std::ranges::find(members, rank);
    if (found != members.end()) options.ring_order.push_back(static_cast<int>(found - members.begin()));
  }
  return options;
}

}  // namespace
}  // namespace comm

Result<std::optional<Communicator>> Communicator::split(int color, int key,
                                                        const CommunicatorOptions& options) {
  comm::CommState& state = impl_->state;
  RINGCOMM_TRY(state.health());
  return comm::guard("split", [&]() -> Result<std::optional<Communicator>> {
    const Deadline deadline = Deadline::after(state.deadline);
    const comm::Wish mine{.color = color, .key = key, .group_number = comm::new_group_number()};
    RINGCOMM_TRY_ASSIGN(const auto wishes, comm::gather_wishes(state, mine, deadline));
    RINGCOMM_TRY(comm::check(wishes));
    if (color == kNoColor) return std::optional<Communicator>();
    const std::vector<int> members = comm::members_of(wishes, color);
    const auto rank = static_cast<int>(std::ranges::find(members, state.rank) - members.begin());
    const std::uint64_t number = wishes[static_cast<std::size_t>(members[0])].group_number;
    RINGCOMM_TRY_ASSIGN(auto bootstrap, comm::meet(state, members, rank, number, deadline));
    Inherited parent;
    parent.placement = state.placement;
    parent.job = state.identity.job;
    parent.world_rank = state.identity.world_rank;
    parent.world_size = state.identity.world_size;
    RINGCOMM_TRY_ASSIGN(
        auto made, create_under(std::move(bootstrap), comm::inherited(state, members, options), &parent));
    return std::optional<Communicator>(std::move(made));
  });
}

}  // namespace ringcomm::inline v0
