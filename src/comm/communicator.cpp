// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/comm/communicator.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "comm/comm_state.hpp"
#include "comm/guard.hpp"
#include "comm/select_transport.hpp"
#include "comm/settings.hpp"
#include "core/try.hpp"
#include "device/host/fork_guard.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

namespace comm {
namespace {

constexpr int kRanksMax = 1024;
constexpr std::chrono::minutes kDeadlineDefault{10};

// What a rank can prepare without the others; its failure is told to them by select_transport().
Status prepare(CommState& state, const Bootstrap& bootstrap, const CommunicatorOptions& options,
               Settings& settings, TopologyWish& topology) {
  state.rank = bootstrap.rank();
  state.size = bootstrap.size();
  state.kind = bootstrap.kind();
  state.options = options;
  state.fork_generation = fork_generation();
  state.deadline = kDeadlineDefault;
  RINGCOMM_TRY_ASSIGN(settings, resolve_settings(options));
  state.deadline = settings.deadline;
  RINGCOMM_TRY_ASSIGN(topology, resolve_topology(options));
  state.options.machine = topology.machine;  // so that a split reads no file again
  return {};
}

Status find_place(CommState& state, Bootstrap& bootstrap, const TopologyWish& wish, const Ancestry* parent,
                  Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(Agreement agreed, agree_on_places(bootstrap, wish, parent, deadline));
  state.placement = std::move(agreed.placement);
  state.places = std::move(agreed.places);
  state.ring_order = std::move(agreed.ring_order);
  state.is_order_forced = !wish.ring_order.empty();
  state.speeds = agreed.speeds;
  state.merge = agreed.merge;
  state.identity = std::move(agreed.identity);
  if (state.rank == 0 && log_level() >= LogLevel::info) {
    log(LogLevel::info, explain_ring(state.places, state.ring_order));
    log(LogLevel::info, explain_merge(state.merge));
  }
  return {};
}

// Only peers that read this memory in place need it to be shareable.
Status make_pool(CommState& state, GroupKind kind, const Settings& settings) {
  PoolOptions pool;
  const bool is_mapped = kind != GroupKind::threads && state.transport->capabilities().direct_read;
  pool.kind = is_mapped ? SegmentKind::shareable : SegmentKind::local;
  pool.memory_node = state.placement.memory_node;
  pool.arena_bytes = settings.arena_bytes;
  pool.pin = settings.pin;
  RINGCOMM_TRY_ASSIGN(state.pool, MemoryPool::create(pool));
  return {};
}

Status connect(CommState& state, Bootstrap& bootstrap, const Settings& settings, Deadline deadline) {
  const Status pooled = make_pool(state, bootstrap.kind(), settings);
  state.recording.start(settings.record, state.identity, state.rank, state.size, state.transport->name(),
                        state.options.sink);
  TransportOptions options = settings.transport;
  options.listener = &state.recording;
  RINGCOMM_TRY(state.transport->connect(bootstrap, options, deadline));
  Status opened = pooled.is_ok() ? state.pool->attach(*state.transport) : pooled;
  if (opened.is_ok()) {
    std::vector<int> everybody(static_cast<std::size_t>(state.size));
    std::iota(everybody.begin(), everybody.end(), 0);
    auto all = state.open(std::move(everybody), 0, {}, deadline);
    opened = all.status();
    if (all.is_ok()) state.channels.push_back(std::move(all).value());
  }
  // Whoever connected and then fails releases the others, which are already waiting for it.
  if (!opened.is_ok())
    state.transport->abort(pooled.is_ok() ? opened
                                          : could_not_set_up(state.rank, pooled.code(), pooled.message()));
  if (opened.is_ok()) state.note_memory();
  return opened;
}

Status check_members(const std::vector<int>& members, int rank, int size) {
  std::vector<bool> seen(static_cast<std::size_t>(size));
  for (const int member : members) {
    if (member < 0 || member >= size) {
      return Status::invalid_argument(
          concat("open_channel: member ", member, " is no rank of a communicator of ", size));
    }
    if (seen[static_cast<std::size_t>(member)])
      return Status::invalid_argument(concat("open_channel: rank ", member, " is listed twice"));
    seen[static_cast<std::size_t>(member)] = true;
  }
  if (members.empty() || !seen[static_cast<std::size_t>(rank)])
    return Status::invalid_argument(
        concat("open_channel: rank ", rank, " is not among the members it listed"));
  return {};
}

Status check_channel(std::uint32_t ordinal, const ChannelOptions& options) {
  if (ordinal >= kOwnOrdinals) {
    return Status::invalid_argument(concat("open_channel: ordinal ", ordinal,
                                           " is the library's own (take one below ", kOwnOrdinals, ")"));
  }
  if (options.deadline.count() >= 0) return {};
  return Status::invalid_argument(
      concat("open_channel: deadline is ", options.deadline.count(), " ms (it may not be negative)"));
}

}  // namespace
}  // namespace comm

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  Communicator moved(std::move(other));
  std::swap(impl_, moved.impl_);
  return *this;
}

// A forked child has the object but neither its threads nor its arena; giving anything back would harm the
// parent, so the copy is left as it is.
Communicator::~Communicator() {
  if (!impl_ || !impl_->state.is_forked_copy()) return;
  impl_->state.recording.forget();
  static_cast<void>(impl_.release());
}

Result<Communicator> Communicator::create(std::unique_ptr<Bootstrap> bootstrap,
                                          const CommunicatorOptions& options) {
  return create_under(std::move(bootstrap), options, nullptr);
}

Result<Communicator> Communicator::create_under(std::unique_ptr<Bootstrap> bootstrap,
                                                const CommunicatorOptions& options, const Inherited* parent) {
  if (!bootstrap) return Status::invalid_argument("Communicator::create got no bootstrap (null pointer)");
  return comm::guard("Communicator::create", [&]() -> Result<Communicator> {
    auto impl = std::make_unique<Impl>();
    comm::CommState& state = impl->state;
    comm::Settings settings;
    comm::TopologyWish topology;
    const Status prepared = comm::prepare(state, *bootstrap, options, settings, topology);
    const Deadline deadline = Deadline::after(state.deadline);
    RINGCOMM_TRY_ASSIGN(state.transport,
                        comm::select_transport(*bootstrap, settings.transports, prepared, deadline));
    RINGCOMM_TRY(comm::find_place(state, *bootstrap, topology, parent, deadline));
    RINGCOMM_TRY(comm::connect(state, *bootstrap, settings, deadline));
    state.recording.arm();
    return Communicator(std::move(impl));
  });
}

Result<std::vector<Communicator>> Communicator::create_local(int ranks, const CommunicatorOptions& options) {
  if (ranks < 1 || ranks > comm::kRanksMax) {
    return Status::invalid_argument(
        concat("create_local of ", ranks, " ranks (1 to ", comm::kRanksMax, " are possible)"));
  }
  return comm::guard("create_local", [&]() -> Result<std::vector<Communicator>> {
    RINGCOMM_TRY_ASSIGN(auto bootstraps, bootstrap_threads(ranks));
    std::vector<Result<Communicator>> made;
    for (int rank = 0; rank < ranks; ++rank) made.emplace_back(Status::internal("not created"));
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < made.size(); ++rank) {
        threads.emplace_back([&, rank] { made[rank] = create(std::move(bootstraps[rank]), options); });
      }
    }
    std::vector<Communicator> communicators;
    for (auto& result : made) {
      RINGCOMM_TRY(result.status());
      communicators.push_back(std::move(result).value());
    }
    return communicators;
  });
}

Result<Communicator> Communicator::from_environment(const CommunicatorOptions& options) {
  return comm::guard("from_environment", [&]() -> Result<Communicator> {
    const Status launch = read_launch_environment().status();
    if (launch.code() == StatusCode::not_found) {
      RINGCOMM_TRY_ASSIGN(auto alone, bootstrap_threads(1));
      return create(std::move(alone[0]), options);
    }
    RINGCOMM_TRY(launch);
    RINGCOMM_TRY_ASSIGN(const comm::Settings settings, comm::resolve_settings(options));
    RINGCOMM_TRY_ASSIGN(auto bootstrap, bootstrap_from_environment(Deadline::after(settings.deadline)));
    return create(std::move(bootstrap), options);
  });
}

int Communicator::rank() const { return impl_->state.rank; }
int Communicator::size() const { return impl_->state.size; }
Status Communicator::health() const { return impl_->state.health(); }
const Placement& Communicator::placement() const { return impl_->state.placement; }
std::chrono::milliseconds Communicator::deadline() const { return impl_->state.deadline; }
const std::vector<int>& Communicator::ring_order() const { return impl_->state.ring_order; }
std::string Communicator::record_path() const {
  return impl_->state.is_forked_copy() ? std::string() : impl_->state.recording.path();
}

std::string Communicator::verdict() const {
  if (impl_->state.is_forked_copy()) return {};
  try {
    return impl_->state.recording.verdict();
  } catch (const std::exception&) {  // no memory
    return {};
  }
}

Channel& Communicator::channel() { return *impl_->state.channels.front(); }

Result<Window> Communicator::allocate(std::size_t bytes) {
  comm::CommState& state = impl_->state;
  if (state.is_forked_copy()) return state.fork_error();
  return comm::guard("Communicator::allocate", [&] {
    auto window = state.pool->allocate_window(bytes);
    state.note_memory();
    return window;
  });
}

void Communicator::abort(std::string_view reason) {
  comm::CommState& state = impl_->state;
  if (state.is_forked_copy()) return;
  state.transport->abort(Status::aborted(concat("rank ", state.rank, " aborted: ", reason)));
}

std::string_view Communicator::path_name(int peer) const {
  const comm::CommState& state = impl_->state;
  return peer == state.rank ? "self" : state.transport->path_name(peer);
}

CommunicatorCounters Communicator::counters() const {
  const comm::CommState& state = impl_->state;
  if (state.is_forked_copy()) return {};
  CommunicatorCounters counters;
  counters.transport = state.transport->counters();
  counters.bytes_packed = state.bytes_packed.load(std::memory_order_relaxed);
  counters.arena_bytes = state.pool->arena_bytes();
  counters.arena_high_water_bytes = state.pool->high_water_bytes();
  counters.arena_pinned_bytes = state.pool->pinned_bytes();
  return counters;
}

Result<Channel*> Communicator::open_channel(std::vector<int> members, std::uint32_t ordinal,
                                            const ChannelOptions& options) {
  comm::CommState& state = impl_->state;
  RINGCOMM_TRY(state.health());
  RINGCOMM_TRY(comm::check_members(members, state.rank, state.size));
  RINGCOMM_TRY(comm::check_channel(ordinal, options));
  return comm::guard("open_channel", [&]() -> Result<Channel*> {
    for (const auto& open : state.channels) {
      if (!open->is_key(members, ordinal)) continue;
      return Status::invalid_argument(
          concat("open_channel: ordinal ", ordinal, " is open already for these members (take another one)"));
    }
    const Deadline deadline =
        Deadline::after(options.deadline.count() == 0 ? state.deadline : options.deadline);
    RINGCOMM_TRY_ASSIGN(auto opened, state.open(std::move(members), ordinal, options, deadline));
    state.channels.push_back(std::move(opened));
    return state.channels.back().get();
  });
}

}  // namespace ringcomm::inline v0
