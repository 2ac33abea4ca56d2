// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/host_paths.hpp"

#include <algorithm>

#include "topology/rings/ring_search.hpp"

namespace ringcomm::inline v0::topology {
namespace {

bool is_same_edge(const RingEdge& a, const RingEdge& b) {
  return a.level == b.level && a.gb_per_s == b.gb_per_s;
}

/// Alike for a path: the numbers that decide it, not the name.
bool is_same_kind(const ClusterHost& a, const ClusterHost& b) {
  return a.nic_of_gpu == b.nic_of_gpu && a.nic_gb_per_s == b.nic_gb_per_s && a.local.keys == b.local.keys &&
         std::ranges::equal(a.local.edges, b.local.edges, is_same_edge);
}

}  // namespace

std::optional<int> relay_to_rail(const ClusterHost& host, int gpu, int rail) {
  for (int owner = 0; owner < host.local.size; ++owner) {
    if (owner == gpu || host.nic_of_gpu[static_cast<std::size_t>(owner)] != rail) continue;
    const auto rate = host.local.at(gpu, owner).gb_per_s;
    if (rate && host.nic_gb_per_s > 0 && *rate >= 2 * host.nic_gb_per_s) return owner;
  }
  return {};
}

HostPaths::HostPaths(const std::vector<ClusterHost>& hosts) {
  for (const ClusterHost& host : hosts) {
    const auto kind =
        std::ranges::find_if(kinds_, [&](const Kind& known) { return is_same_kind(*known.host, host); });
    kind_of_.push_back(static_cast<int>(kind - kinds_.begin()));
    if (kind == kinds_.end()) kinds_.push_back({.host = &host, .table = make_level_table(host.local)});
  }
  for (const Kind& kind : kinds_)
    for (int from = 0; from < kind.host->local.size; ++from)
      for (int to = 0; to < kind.host->local.size; ++to)
        if (from != to) levels_.push_back(kind.host->local.at(from, to).level);
  std::ranges::sort(levels_);
  levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
}

const std::optional<HostPath>& HostPaths::between(int host, int rail_in, int rail_out, RailExit exit) {
  const int kind = kind_of(host);
  const auto [at, is_new] = found_.try_emplace({kind, rail_in, rail_out, exit});
  if (is_new) at->second = find(kinds_[static_cast<std::size_t>(kind)], rail_in, rail_out, exit);
  return at->second;
}

std::optional<HostPath> HostPaths::find(const Kind& kind, int rail_in, int rail_out, RailExit exit) const {
  const ClusterHost& host = *kind.host;
  const int size = host.local.size;
  const auto gpu = [&](int position) { return kind.table.vertex[static_cast<std::size_t>(position)]; };
  const auto rail = [&](int position) { return host.nic_of_gpu[static_cast<std::size_t>(gpu(position))]; };
  if (rail_in < 0 && rail_out < 0) return path(kind, {}, {});
  if (size == 1) return rail(0) == rail_in && rail_in == rail_out ? path(kind, {}, {}) : std::nullopt;
  std::optional<HostPath> best;
  for (int first = 0; first < size; ++first) {
    if (rail(first) != rail_in) continue;
    for (int last = 0; last < size; ++last) {
      const bool leaves_here = exit == RailExit::near_gpu ? rail(last) == rail_out
                               : exit == RailExit::over_peer
                                   ? relay_to_rail(host, gpu(last), rail_out).has_value()
                                   : true;
      if (first == last || !leaves_here) continue;
      auto found = path(kind, first, last);
      if (!best || found->counts < best->counts) best = std::move(found);
    }
  }
  return best;
}

std::optional<HostPath> HostPaths::path(const Kind& kind, std::optional<int> first,
                                        std::optional<int> last) const {
  HostPath result{.gpus = best_path(kind.table, first, last), .counts = std::vector<int>(levels_.size())};
  for (int& gpu : result.gpus) gpu = kind.table.vertex[static_cast<std::size_t>(gpu)];
  for (std::size_t i = 0; i + 1 < result.gpus.size(); ++i) {
    const int level = kind.host->local.at(result.gpus[i], result.gpus[i + 1]).level;
    ++result.counts[static_cast<std::size_t>(levels_.end() - std::ranges::lower_bound(levels_, level) - 1)];
  }
  return result;
}

}  // namespace ringcomm::inline v0::topology
