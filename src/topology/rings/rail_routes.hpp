// SPDX-License-Identifier: Apache-2.0
// Which NIC each ring takes between which hosts, so that it stays on its rail (spec 2.5, (a) to (d)).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/rings/host_paths.hpp"

namespace ringcomm::inline v0::topology {

enum class RailRule : std::uint8_t { shared_nic, alternating, over_peer, any_rail, over_host };

struct RailRoute {
  RailRule rule = RailRule::shared_nic;
  RailExit exit = RailExit::near_gpu;
  std::vector<std::vector<int>> rail_in{};   ///< [ring][place in host order]
  std::vector<std::vector<int>> rail_out{};  ///< [ring][place]; -1: no NIC known
};

struct RouteTask {
  const ClusterRequest* request = nullptr;
  std::vector<int> host_order{};
  std::vector<std::vector<int>> rails{};  ///< [hosts] usable ones, in a good order for neighbours
  int rings = 1;
};

/// The first rule that works: a NIC shared by two GPUs, alternating orders, (not with same-index rails) any
/// rail, over a peer. Nothing when none does.
std::optional<RailRoute> find_route(const RouteTask& task, HostPaths& paths);
/// Sends from any GPU to the NIC, at whatever rate; always possible.
RailRoute route_over_host(const RouteTask& task);
/// A clause for the explanation.
std::string describe(const RailRoute& route, const RouteTask& task);

}  // namespace ringcomm::inline v0::topology
