// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/cluster_check.hpp"

#include <algorithm>
#include <iterator>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/rings/level_table.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// 2^30 ranks: global ranks must stay within an int.
constexpr std::size_t kRanksMax = std::size_t{1} << 30;

Status check_host(const ClusterHost& host, std::size_t index) {
  const std::string who = concat("host ", index, " (", host.name, ")");
  if (const Status status = check_graph(host.local); !status.is_ok())
    return Status::invalid_argument(concat(who, ": ", status.message()));
  if (host.nic_of_gpu.size() != static_cast<std::size_t>(host.local.size))
    return Status::invalid_argument(
        concat(who, " has ", host.local.size, " GPUs and NICs for ", host.nic_of_gpu.size()));
  for (std::size_t gpu = 0; gpu < host.nic_of_gpu.size(); ++gpu)
    if (host.nic_of_gpu[gpu] < -1)
      return Status::invalid_argument(concat(who, ": the NIC of GPU ", gpu, " is ", host.nic_of_gpu[gpu],
                                             " (wanted a number from 0, or -1 for none)"));
  if (!(host.nic_gb_per_s >= 0))
    return Status::invalid_argument(
        concat(who, ": NICs of ", host.nic_gb_per_s, " GB/s (wanted 0 or more; 0 is unknown)"));
  return {};
}

}  // namespace

Status check_cluster(const ClusterRequest& request) {
  const std::size_t hosts = request.hosts.size();
  if (hosts == 0) return Status::invalid_argument("rings over 0 hosts (wanted at least 1)");
  if (request.kv_heads < 1)
    return Status::invalid_argument(concat("rings for ", request.kv_heads, " KV heads (wanted at least 1)"));
  std::size_t ranks = 0;
  for (std::size_t i = 0; i < hosts; ++i) {
    RINGCOMM_TRY(check_host(request.hosts[i], i));
    ranks += static_cast<std::size_t>(request.hosts[i].local.size);
  }
  if (ranks > kRanksMax)
    return Status::invalid_argument(concat("rings over ", ranks, " GPUs (at most ", kRanksMax, ")"));
  if (request.host_order.empty()) return {};
  if (request.host_order.size() != hosts)
    return Status::invalid_argument(
        concat("a host order of ", request.host_order.size(), " hosts for ", hosts));
  std::vector<bool> seen(hosts);
  for (const int host : request.host_order) {
    if (host < 0 || static_cast<std::size_t>(host) >= hosts || seen[static_cast<std::size_t>(host)])
      return Status::invalid_argument(
          concat("host ", host, " in a host order (each of 0 to ", hosts - 1, " comes once)"));
    seen[static_cast<std::size_t>(host)] = true;
  }
  return {};
}

std::vector<int> rails_of(const ClusterHost& host) {
  std::vector<int> rails = host.nic_of_gpu;
  std::erase(rails, -1);
  std::ranges::sort(rails);
  rails.erase(std::unique(rails.begin(), rails.end()), rails.end());
  return rails;
}

std::vector<std::vector<int>> usable_rails(const ClusterRequest& request) {
  std::vector<std::vector<int>> usable;
  std::vector<int> common = rails_of(request.hosts.front());
  std::size_t least = common.size();
  for (const ClusterHost& host : request.hosts) {
    usable.push_back(rails_of(host));
    least = std::min(least, usable.back().size());
    std::vector<int> both;
    std::ranges::set_intersection(common, usable.back(), std::back_inserter(both));
    common = std::move(both);
  }
  for (auto& rails : usable) {
    if (request.rails == Rails::same_index)
      rails = common;
    else if (common.size() == least)
      rails = common;
    else
      rails.resize(least);
  }
  return usable;
}

std::vector<int> first_ranks(const ClusterRequest& request) {
  std::vector<int> first;
  int next = 0;
  for (const ClusterHost& host : request.hosts) {
    first.push_back(next);
    next += host.local.size;
  }
  return first;
}

}  // namespace ringcomm::inline v0::topology
