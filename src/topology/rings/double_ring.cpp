// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/double_ring.hpp"

#include <algorithm>

#include "core/try.hpp"

namespace ringcomm::inline v0::topology {
namespace {

struct Inner {
  std::vector<int> ring{};
  std::vector<int> rail{};
};

/// A GPU's own rail, or of those it reaches over a peer the one over its best edge.
std::optional<int> rail_for(const ClusterHost& host, int gpu, const std::vector<int>& usable) {
  const int own = host.nic_of_gpu[static_cast<std::size_t>(gpu)];
  if (std::ranges::find(usable, own) != usable.end()) return own;
  std::optional<int> best;
  int best_level = 0;
  for (const int rail : usable) {
    const auto owner = relay_to_rail(host, gpu, rail);
    if (!owner || (best && host.local.at(gpu, *owner).level >= best_level)) continue;
    best = rail;
    best_level = host.local.at(gpu, *owner).level;
  }
  return best;
}

Result<std::optional<Inner>> inner_of(const ClusterHost& host, const std::vector<int>& usable) {
  RINGCOMM_TRY_ASSIGN(const auto best, plan_ring(host.local));
  Inner inner{.ring = best.order};
  for (const int gpu : inner.ring) {
    const auto rail = rail_for(host, gpu, usable);
    if (!rail) return std::optional<Inner>{};
    inner.rail.push_back(*rail);
  }
  return std::optional<Inner>(std::move(inner));
}

void turn(Inner& inner) {
  std::rotate(inner.ring.begin(), inner.ring.begin() + 1, inner.ring.end());
  std::rotate(inner.rail.begin(), inner.rail.begin() + 1, inner.rail.end());
}

/// Turned or mirrored if that does; else each position takes the next GPU of its rail, which gives up the
/// best inner order for the rail.
bool align(Inner& inner, const std::vector<int>& rails) {
  if (inner.ring.size() != rails.size()) return false;
  for (int side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < rails.size(); ++i) {
      if (inner.rail == rails) return true;
      turn(inner);
    }
    std::ranges::reverse(inner.ring);
    std::ranges::reverse(inner.rail);
  }
  Inner matched{.ring = {}, .rail = rails};
  for (const int rail : rails) {
    const auto at = std::ranges::find(inner.rail, rail);
    if (at == inner.rail.end()) return false;
    const auto offset = at - inner.rail.begin();
    matched.ring.push_back(inner.ring[static_cast<std::size_t>(offset)]);
    inner.ring.erase(inner.ring.begin() + offset);
    inner.rail.erase(at);
  }
  inner = std::move(matched);
  return true;
}

}  // namespace

Result<std::optional<DoubleRing>> align_inner_rings(const ClusterRequest& request,
                                                    const std::vector<std::vector<int>>& usable,
                                                    const HostPaths& paths) {
  const std::optional<DoubleRing> none;
  std::vector<std::optional<Inner>> of_kind(static_cast<std::size_t>(paths.kind_count()));
  DoubleRing result;
  for (std::size_t host = 0; host < request.hosts.size(); ++host) {
    auto& inner = of_kind[static_cast<std::size_t>(paths.kind_of(static_cast<int>(host)))];
    if (!inner) {
      RINGCOMM_TRY_ASSIGN(inner, inner_of(request.hosts[host], usable[host]));
      if (!inner) return none;
      if (host > 0) {
        const bool fits = request.rails == Rails::same_index
                              ? align(*inner, result.rail.front())
                              : inner->ring.size() == result.inner.front().size();
        if (!fits) return none;
      }
    }
    result.inner.push_back(inner->ring);
    result.rail.push_back(inner->rail);
  }
  return std::optional<DoubleRing>(std::move(result));
}

}  // namespace ringcomm::inline v0::topology
