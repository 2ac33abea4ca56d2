// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/rail_routes.hpp"

#include <algorithm>

namespace ringcomm::inline v0::topology {
namespace {

/// Rails of each hop for ring 0, as places in the list of rails; ring r adds r to all of them, so that no two
/// rings meet on one NIC.
struct Steps {
  std::vector<int> in{};   ///< [place]
  std::vector<int> out{};  ///< [place]
};

int rail_count(const RouteTask& task) { return static_cast<int>(task.rails.front().size()); }

RailRoute make_route(const RouteTask& task, const Steps& steps, RailRule rule, RailExit exit) {
  RailRoute route{.rule = rule, .exit = exit};
  const auto count = static_cast<std::size_t>(rail_count(task));
  for (int ring = 0; ring < task.rings; ++ring) {
    std::vector<int> in;
    std::vector<int> out;
    for (std::size_t place = 0; place < task.host_order.size(); ++place) {
      const auto& rails = task.rails[static_cast<std::size_t>(task.host_order[place])];
      const auto rail = [&](int step) {
        return count == 0 ? -1 : rails[static_cast<std::size_t>(step + ring) % count];
      };
      in.push_back(rail(steps.in[place]));
      out.push_back(rail(steps.out[place]));
    }
    route.rail_in.push_back(std::move(in));
    route.rail_out.push_back(std::move(out));
  }
  return route;
}

Steps same_rail(std::size_t places) { return {std::vector<int>(places, 0), std::vector<int>(places, 0)}; }

/// Neighbouring hops differ: 0 shift 0 shift ..., and with an odd number of hosts the last one is `third`.
Steps alternating(std::size_t places, int shift, int third) {
  Steps steps;
  for (std::size_t place = 0; place < places; ++place)
    steps.out.push_back(place % 2 == 1 ? shift : places % 2 == 1 && place + 1 == places ? third : 0);
  steps.in = steps.out;
  std::rotate(steps.in.begin(), steps.in.end() - 1, steps.in.end());
  return steps;
}

/// Edges of each level inside all hosts; nothing when a host has no such path.
std::optional<std::vector<long long>> cost(const RouteTask& task, const RailRoute& route, HostPaths& paths) {
  std::vector<long long> counts(paths.level_count());
  for (std::size_t ring = 0; ring < route.rail_in.size(); ++ring)
    for (std::size_t place = 0; place < task.host_order.size(); ++place) {
      const auto& path = paths.between(task.host_order[place], route.rail_in[ring][place],
                                       route.rail_out[ring][place], route.exit);
      if (!path) return {};
      for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += path->counts[i];
    }
  return counts;
}

std::optional<RailRoute> best_alternating(const RouteTask& task, HostPaths& paths) {
  const std::size_t places = task.host_order.size();
  const int count = rail_count(task);
  const bool is_odd = places % 2 == 1;
  std::optional<RailRoute> best;
  std::vector<long long> best_cost;
  for (int shift = 1; shift < count; ++shift) {
    int third = is_odd ? 1 : 0;
    if (third == shift) ++third;
    if (third >= count) continue;
    auto route =
        make_route(task, alternating(places, shift, third), RailRule::alternating, RailExit::near_gpu);
    const auto counts = cost(task, route, paths);
    if (!counts || (best && *counts >= best_cost)) continue;
    best = std::move(route);
    best_cost = *counts;
  }
  return best;
}

}  // namespace

std::optional<RailRoute> find_route(const RouteTask& task, HostPaths& paths) {
  const std::size_t places = task.host_order.size();
  auto route = make_route(task, same_rail(places), RailRule::shared_nic, RailExit::near_gpu);
  if (cost(task, route, paths)) return route;
  if (auto alternate = best_alternating(task, paths)) return alternate;
  if (task.request->rails != Rails::same_index && rail_count(task) > 1) {
    const Steps across{std::vector<int>(places, 0), std::vector<int>(places, 1)};
    route = make_route(task, across, RailRule::any_rail, RailExit::near_gpu);
    if (cost(task, route, paths)) return route;
  }
  route = make_route(task, same_rail(places), RailRule::over_peer, RailExit::over_peer);
  if (cost(task, route, paths)) return route;
  return {};
}

RailRoute route_over_host(const RouteTask& task) {
  return make_route(task, same_rail(task.host_order.size()), RailRule::over_host, RailExit::over_host);
}

std::string describe(const RailRoute& route, const RouteTask& task) {
  switch (route.rule) {
    case RailRule::shared_nic:
      if (rail_count(task) == 0)
        return "no host names a NIC near its GPUs, so which NIC carries a hop is unknown";
      return "rule (a): every ring enters and leaves a host by one NIC, which two GPUs share or the only GPU "
             "has";
    case RailRule::alternating:
      if (task.host_order.size() % 2 == 1)
        return "rule (c): alternating orders, a ring leaves by another NIC than it came in by and the next "
               "host "
               "mirrors it; the number of hosts is odd, so the last hop takes a third NIC";
      return "rule (c): alternating orders, a ring leaves by another NIC than it came in by and the next "
             "host "
             "mirrors it";
    case RailRule::any_rail:
      return "rule (d): the network joins all NICs, so a ring may leave by one rail and arrive on another";
    case RailRule::over_peer:
      return "rule (b): the last GPU of a host hands its data over the peer that has the NIC (PXN), at twice "
             "the "
             "NIC's rate or more";
    case RailRule::over_host:
      return "none of rules (a) to (d) applies: the last GPU of a host sends to a NIC that is not its own, "
             "across "
             "the host and perhaps below the NIC's rate";
  }
  return {};
}

}  // namespace ringcomm::inline v0::topology
