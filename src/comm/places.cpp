// SPDX-License-Identifier: Apache-2.0
#include "comm/places.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "core/affinity.hpp"
#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/rank_order.hpp"

namespace ringcomm::inline v0::comm {
namespace {

using Cores = std::vector<CoreInfo>;

template <class T>
requires std::is_trivially_copyable_v<T> Result<std::vector<T>> gather(Bootstrap& group, const T& mine,
                                                                       Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(const auto all, group.all_gather(std::as_bytes(std::span(&mine, 1)), deadline));
  std::vector<T> values(all.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].size() != sizeof(T)) {
      return Status::corrupt_data(concat("rank ", rank, " said ", all[rank].size(),
                                         " bytes about where it runs, not ", sizeof(T),
                                         " (is it another version of ringcomm?)"));
    }
    std::memcpy(&values[rank], all[rank].data(), sizeof(T));
  }
  return values;
}

template <class Range>
std::uint64_t hash_of(const Range& values) {
  plan::Fnv fnv;
  for (const auto value : values) fnv.add(static_cast<std::int64_t>(value));
  return fnv.value();
}

/// What a rank says first: enough to find those that share its host, and whether a launcher has bound them.
struct Home {
  std::uint64_t host = 0;
  std::uint64_t cpus = 0;   ///< hash of the allowed CPUs
  std::uint64_t order = 0;  ///< hash of the forced order; 0: none, 1: that of the ranks
  std::uint64_t job = 0;    ///< rank 0's are everybody's
  std::uint64_t communicator = 0;
  std::int32_t world_rank = 0;
  std::int32_t world_size = 1;
};

/// What it says then.
struct Answer {
  Place place;
  MeasuredSpeeds speeds;
  MergeLimits merge;
};

/// 32 MiB where the system does not say. The C library counts every cache of the package on some machines
/// (ten of 32 MiB: 320), the kernel the one that this core shares.
std::uint64_t last_cache_bytes() {
  for (const char* const index : {"3", "2"}) {  // levels 3 and 2, where level 1 has two entries as is usual
    const std::string size =
        read_small_file(concat("/sys/devices/system/cpu/cpu0/cache/index", index, "/size"), 32);
    const auto bytes = parse_bytes(size.substr(0, size.find('\n')));
    if (bytes.is_ok() && bytes.value() > 0) return static_cast<std::uint64_t>(bytes.value());
  }
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long bytes = ::sysconf(name); bytes > 0) return static_cast<std::uint64_t>(bytes);
  }
  return std::uint64_t{32} << 20;
}

Home home_of(const TopologyWish& wish) {
  std::string host = read_small_file("/proc/sys/kernel/random/boot_id", 64);
  if (host.empty()) {  // a sandbox without /proc: the name is second best
    host.resize(256);
    if (::gethostname(host.data(), host.size()) != 0) host.clear();
  }
  return {.host = hash_of(host),
          .cpus = hash_of(allowed_cpus()),
          .order = wish.keeps_rank_order     ? 1
                   : wish.ring_order.empty() ? 0
                                             : hash_of(wish.ring_order)};
}

/// Not 0, and nobody else's.
std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number || number == 0) number = 0;
  return number;
}

void introduce(Home& home, const Bootstrap& group, const Ancestry* parent) {
  if (group.rank() == 0) home.communicator = random_number();
  if (parent != nullptr) {
    home.job = parent->job;
    home.world_rank = parent->world_rank;
    home.world_size = parent->world_size;
  } else {
    home.job = home.communicator;
    home.world_rank = group.rank();
    home.world_size = group.size();
  }
}

JobIdentity identity_of(const std::vector<Home>& homes, std::size_t rank) {
  JobIdentity identity{.job = homes[0].job,
                       .communicator = homes[0].communicator,
                       .world_rank = homes[rank].world_rank,
                       .world_size = homes[rank].world_size};
  for (const Home& home : homes) identity.world_ranks.push_back(home.world_rank);
  return identity;
}

Status check_same_order(const std::vector<Home>& homes, const TopologyWish& wish) {
  for (std::size_t rank = 1; rank < homes.size(); ++rank) {
    if (homes[rank].order == homes[0].order) continue;
    return Status::mismatch(concat("ring order: rank 0 and rank ", rank, " were given different ones (",
                                   wish.order_source, " has to be the same on all ranks)"));
  }
  return {};
}

/// Cores of a description: its own list, else each CPU of its memory nodes as a core.
Cores cores_of(const Machine& machine) {
  if (!machine.cores.empty()) return machine.cores;
  Cores cores;
  for (const NumaNode& node : machine.numa_nodes) {
    if (node.host != 0 || !node.cpus) continue;
    for (const int cpu : *node.cpus)
      cores.push_back({.package = node.package.value_or(-1), .memory_node = node.id, .cpus = {cpu}});
  }
  return cores;
}

Place place_of(const Placement& placement, const Cores& cores, std::uint64_t host) {
  Place place{.host = host, .package = -1, .memory_node = placement.memory_node};
  bool is_first = true;
  for (const CoreInfo& core : cores) {
    const bool is_mine = std::ranges::any_of(
        core.cpus, [&](int cpu) { return std::ranges::find(placement.cpus, cpu) != placement.cpus.end(); });
    if (!is_mine) continue;
    if (!is_first && place.package != core.package) place.package = -1;
    if (is_first) place.package = core.package;
    is_first = false;
  }
  return place;
}

/// CPUs of a description that are not here cannot be bound to, nor can memory come from its nodes.
Placement usable(Placement placement) {
  const std::vector<int> allowed = allowed_cpus();
  const std::size_t before = placement.cpus.size();
  std::erase_if(placement.cpus, [&](int cpu) { return std::ranges::find(allowed, cpu) == allowed.end(); });
  if (placement.cpus.size() != before) placement.memory_node = -1;
  return placement;
}

Placement spread(const Cores& cores, const std::vector<Home>& homes, std::size_t rank) {
  std::size_t count = 0;
  std::size_t index = 0;
  bool are_bound = false;
  for (std::size_t other = 0; other < homes.size(); ++other) {
    if (homes[other].host != homes[rank].host) continue;
    if (other < rank) ++index;
    ++count;
    are_bound = are_bound || homes[other].cpus != homes[rank].cpus;
  }
  const auto placements = spread_ranks(cores, are_bound ? 1 : static_cast<int>(count));
  if (placements.empty()) return {};
  return placements[are_bound ? 0 : index];
}

}  // namespace

Result<Agreement> agree_on_places(Bootstrap& group, const TopologyWish& wish, const Ancestry* parent,
                                  Deadline deadline) {
  Home home = home_of(wish);
  introduce(home, group, parent);
  RINGCOMM_TRY_ASSIGN(const auto homes, gather(group, home, deadline));
  RINGCOMM_TRY(check_same_order(homes, wish));
  const auto rank = static_cast<std::size_t>(group.rank());
  Agreement agreement;
  agreement.identity = identity_of(homes, rank);
  Cores cores = wish.machine ? cores_of(*wish.machine) : Cores();
  if (wish.machine && cores.empty())
    log(LogLevel::warn, "the description of this host names no CPUs: ranks are placed by the live ones");
  if (cores.empty()) cores = discover_cores();
  agreement.placement = parent != nullptr ? parent->placement : spread(cores, homes, rank);
  Answer mine{place_of(agreement.placement, cores, homes[rank].host), wish.speeds, wish.merge};
  if (mine.merge.cache_bytes == 0) mine.merge.cache_bytes = last_cache_bytes();
  if (wish.machine) agreement.placement = usable(std::move(agreement.placement));
  RINGCOMM_TRY_ASSIGN(const auto answers, gather(group, mine, deadline));
  for (const Answer& answer : answers) agreement.places.push_back(answer.place);
  agreement.speeds = answers.front().speeds;
  agreement.merge = answers.front().merge;
  if (wish.keeps_rank_order) {
    agreement.ring_order.resize(agreement.places.size());
    std::iota(agreement.ring_order.begin(), agreement.ring_order.end(), 0);
    return agreement;
  }
  if (!wish.ring_order.empty()) {
    RINGCOMM_TRY(check_ring_order(wish.ring_order, group.size(), wish.order_source));
    agreement.ring_order = wish.ring_order;
    return agreement;
  }
  RINGCOMM_TRY_ASSIGN(agreement.ring_order, ring_over(agreement.places));
  return agreement;
}

std::string explain_ring(std::span<const Place> places, std::span<const int> order) {
  constexpr std::size_t kShown = 64;
  std::string text = "ring order";
  int nodes = 0;
  int packages = 0;
  int hosts = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (at < kShown) text += concat(" ", order[at]);
    const Place& a = places[static_cast<std::size_t>(order[at])];
    const Place& b = places[static_cast<std::size_t>(order[(at + 1) % order.size()])];
    if (a == b) continue;
    ++(a.host != b.host ? hosts : a.package != b.package ? packages : nodes);
  }
  if (order.size() > kShown) text += " ...";
  return concat(text, ": of ", order.size(), " edges ", hosts, " go to another host, ", packages,
                " to another package, ", nodes, " to another memory node");
}

std::string explain_merge(const MergeLimits& limits) {
  const auto shown = [](std::uint64_t bytes) {
    return bytes == 0 ? "as built" : bytes == 1 ? "never" : concat("up to ", format_bytes(bytes));
  };
  const std::string around = concat("around the caches beyond ", format_bytes(limits.cache_bytes), " in all");
  if (limits.ranks == 0) return concat("softmax merges: as built; ", around);
  return concat("softmax merges of ", limits.ranks, " ranks, measured: one round ",
                shown(limits.one_shot_bytes), ", with copied results ", shown(limits.copied_one_shot_bytes),
                "; ", around);
}

Result<std::vector<int>> parse_ring_order(std::string_view text, std::string_view source) {
  std::vector<int> order;
  while (!text.empty()) {
    const std::size_t past = std::min(text.find_first_of(", "), text.size());
    const std::string_view word = text.substr(0, past);
    text.remove_prefix(std::min(past + 1, text.size()));
    if (word.empty()) continue;
    const auto rank = parse_decimal<int>(word);
    if (!rank) {
      return Status::invalid_argument(
          concat(source, " holds \"", word, "\" (auto, rank, or all ranks in ring order: 0,2,1,3)"));
    }
    order.push_back(*rank);
  }
  return order;
}

Status check_ring_order(const std::vector<int>& order, int ranks, std::string_view source) {
  std::vector<int> sorted = order;
  std::ranges::sort(sorted);
  std::vector<int> wanted(static_cast<std::size_t>(ranks));
  std::iota(wanted.begin(), wanted.end(), 0);
  if (sorted == wanted) return {};
  return Status::invalid_argument(concat(source, " lists ", order.size(), " ranks that are not 0 to ",
                                         ranks - 1, ", each once (the ring needs every rank)"));
}

}  // namespace ringcomm::inline v0::comm
