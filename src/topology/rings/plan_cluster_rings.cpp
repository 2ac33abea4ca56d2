// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <set>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/rings/cluster_check.hpp"
#include "topology/rings/double_ring.hpp"
#include "topology/rings/rail_routes.hpp"

namespace ringcomm::inline v0 {
namespace {

using topology::DoubleRing;
using topology::HostPaths;
using topology::RailRoute;
using topology::RailRule;
using topology::RouteTask;

ClusterRing build_ring(const RouteTask& task, const RailRoute& route, std::size_t ring, HostPaths& paths) {
  const auto first_rank = topology::first_ranks(*task.request);
  const std::size_t places = task.host_order.size();
  ClusterRing result{.share = 1.0 / task.rings};
  std::vector<std::size_t> starts;
  for (std::size_t place = 0; place < places; ++place) {
    const int host = task.host_order[place];
    starts.push_back(result.order.size());
    const auto& path =
        paths.between(host, route.rail_in[ring][place], route.rail_out[ring][place], route.exit);
    for (const int gpu : path->gpus) result.order.push_back(first_rank[static_cast<std::size_t>(host)] + gpu);
  }
  starts.push_back(result.order.size());
  for (std::size_t place = 0; place < places; ++place)
    for (std::size_t i = starts[place]; i < starts[place + 1]; ++i) {
      ClusterHop hop{.from = result.order[i], .to = result.order[(i + 1) % result.order.size()]};
      if (i + 1 == starts[place + 1]) {
        hop.from_rail = route.rail_out[ring][place];
        hop.to_rail = route.rail_in[ring][(place + 1) % places];
      }
      result.hops.push_back(hop);
    }
  return result;
}

/// The exchange between hosts; `order` is host by host, in inner order.
ClusterRing build_outer(const ClusterPlan& plan, const DoubleRing& found) {
  ClusterRing outer;
  const std::size_t places = plan.host_order.size();
  for (std::size_t place = 0; place < places; ++place) {
    const auto host = static_cast<std::size_t>(plan.host_order[place]);
    const auto next = static_cast<std::size_t>(plan.host_order[(place + 1) % places]);
    for (std::size_t i = 0; i < plan.inner[host].size(); ++i) {
      outer.order.push_back(plan.inner[host][i]);
      outer.hops.push_back({.from = plan.inner[host][i],
                            .to = plan.inner[next][i],
                            .from_rail = found.rail[host][i],
                            .to_rail = found.rail[next][i]});
    }
  }
  return outer;
}

/// Of the slowest NIC; 0 when one is unknown.
double nic_gb_per_s(const ClusterRequest& request) {
  double slowest = request.hosts.front().nic_gb_per_s;
  for (const auto& host : request.hosts) slowest = std::min(slowest, host.nic_gb_per_s);
  return slowest;
}

void count_nics(const ClusterRequest& request, ClusterPlan& plan) {
  const auto first_rank = topology::first_ranks(request);
  const auto host_of = [&](int rank) {
    return std::ranges::upper_bound(first_rank, rank) - first_rank.begin();
  };
  for (const auto& host : request.hosts) plan.nics_total += static_cast<int>(topology::rails_of(host).size());
  std::set<std::pair<std::ptrdiff_t, int>> used;
  for (const auto& ring : plan.rings)
    for (const auto& hop : ring.hops) {
      if (hop.from_rail >= 0) used.insert({host_of(hop.from), hop.from_rail});
      if (hop.to_rail >= 0) used.insert({host_of(hop.to), hop.to_rail});
      plan.cross_rail_hops += hop.from_rail != hop.to_rail ? 1 : 0;
    }
  plan.nics_used = static_cast<int>(used.size());
}

ClusterPlan plan_double(const ClusterRequest& request, std::vector<int> host_order, const DoubleRing& found) {
  ClusterPlan plan{.scheme = ClusterScheme::double_ring, .host_order = std::move(host_order)};
  const auto first_rank = topology::first_ranks(request);
  std::ptrdiff_t busiest = 1;
  for (std::size_t host = 0; host < found.inner.size(); ++host) {
    auto& inner = plan.inner.emplace_back();
    for (const int gpu : found.inner[host]) inner.push_back(first_rank[host] + gpu);
    for (const int rail : found.rail[host])
      busiest = std::max(busiest, std::ranges::count(found.rail[host], rail));
  }
  plan.rings.push_back(build_outer(plan, found));
  // `busiest` blocks leave by one NIC in as many steps as a host has GPUs.
  plan.network_step_gb_per_s =
      nic_gb_per_s(request) * static_cast<double>(found.inner.front().size()) / static_cast<double>(busiest);
  return plan;
}

ClusterPlan plan_routes(const RouteTask& task, const RailRoute& route, HostPaths& paths) {
  ClusterPlan plan{.scheme = task.rings == 1                       ? ClusterScheme::flat
                             : route.rule == RailRule::alternating ? ClusterScheme::alternating_rings
                                                                   : ClusterScheme::rail_rings,
                   .host_order = task.host_order};
  for (std::size_t ring = 0; ring < route.rail_in.size(); ++ring)
    plan.rings.push_back(build_ring(task, route, ring, paths));
  if (!task.rails.front().empty()) plan.network_step_gb_per_s = nic_gb_per_s(*task.request) * task.rings;
  return plan;
}

/// Rails in the order in which the first host's best ring meets them: neighbours on the list are then close.
Status sort_by_first_ring(const ClusterRequest& request, int first_host,
                          std::vector<std::vector<int>>& usable) {
  const ClusterHost& host = request.hosts[static_cast<std::size_t>(first_host)];
  RINGCOMM_TRY_ASSIGN(const auto best, plan_ring(host.local));
  std::vector<int> met;
  for (const int gpu : best.order) met.push_back(host.nic_of_gpu[static_cast<std::size_t>(gpu)]);
  const auto place = [&](int rail) { return std::ranges::find(met, rail) - met.begin(); };
  for (auto& rails : usable) std::ranges::stable_sort(rails, {}, place);
  return {};
}

Result<ClusterPlan> plan_one_host(const ClusterRequest& request) {
  RINGCOMM_TRY_ASSIGN(auto best, plan_ring(request.hosts.front().local));
  ClusterPlan plan{.host_order = {0}, .explanation = "one host: its best ring, no network"};
  ClusterRing ring{.order = std::move(best.order)};
  for (std::size_t i = 0; i < ring.order.size(); ++i)
    ring.hops.push_back({.from = ring.order[i], .to = ring.order[(i + 1) % ring.order.size()]});
  plan.rings.push_back(std::move(ring));
  return plan;
}

std::string why_one_ring(const ClusterRequest& request, int rails) {
  if (rails == 0 && request.rails == Rails::same_index)
    return "one ring, hosts contiguous: no NIC index is common to all hosts";
  if (request.rails == Rails::none) return "one ring, hosts contiguous: no rails are declared";
  if (rails == 1) return "one ring, hosts contiguous: one NIC per host is usable";
  return concat("one ring, hosts contiguous: ", request.kv_heads, " KV heads do not split over ", rails,
                " rails, and the hosts' GPUs and rails do not match for a double ring");
}

}  // namespace

std::string_view name_of(ClusterScheme scheme) {
  switch (scheme) {
    case ClusterScheme::flat:
      return "flat ring";
    case ClusterScheme::rail_rings:
      return "rail rings";
    case ClusterScheme::alternating_rings:
      return "alternating rings";
    case ClusterScheme::double_ring:
      return "double ring";
  }
  return "?";
}

Result<ClusterPlan> plan_cluster_rings(const ClusterRequest& request) {
  RINGCOMM_TRY(topology::check_cluster(request));
  if (request.hosts.size() == 1) {
    RINGCOMM_TRY_ASSIGN(auto plan, plan_one_host(request));
    count_nics(request, plan);
    return plan;
  }
  RouteTask task{
      .request = &request, .host_order = request.host_order, .rails = topology::usable_rails(request)};
  if (task.host_order.empty()) {
    task.host_order.resize(request.hosts.size());
    std::iota(task.host_order.begin(), task.host_order.end(), 0);
  }
  RINGCOMM_TRY(sort_by_first_ring(request, task.host_order.front(), task.rails));
  const int rails = static_cast<int>(task.rails.front().size());
  const bool has_rails = rails > 1 && request.rails != Rails::none;
  if (has_rails && request.kv_heads % rails == 0) task.rings = rails;

  HostPaths paths(request.hosts);
  auto route = !has_rails || task.rings > 1 ? find_route(task, paths) : std::nullopt;
  ClusterPlan plan;
  std::optional<DoubleRing> pair;
  if (has_rails && !route) {
    RINGCOMM_TRY_ASSIGN(pair, topology::align_inner_rings(request, task.rails, paths));
  }
  if (pair) {
    plan = plan_double(request, task.host_order, *pair);
    plan.explanation =
        concat("double ring: ",
               task.rings == 1 ? concat(request.kv_heads, " KV heads do not split over ", rails, " rails")
                               : std::string("rail rings would leave their rail"),
               "; every GPU exchanges with the same position of the next host once per ",
               plan.inner.front().size(), " steps, which keeps the rail without rules (a) to (d)");
  } else {
    if (!route && task.rings == 1) route = find_route(task, paths);
    if (!route) route = topology::route_over_host(task);
    plan = plan_routes(task, *route, paths);
    plan.explanation = concat(task.rings > 1 ? concat(rails, " rings over ", rails, " rails, heads split")
                                             : why_one_ring(request, rails),
                              "; ", describe(*route, task));
  }
  count_nics(request, plan);
  return plan;
}

}  // namespace ringcomm::inline v0
