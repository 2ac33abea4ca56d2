// SPDX-License-Identifier: Apache-2.0
// Rings over several hosts: rails, alternating orders, double ring.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/topology/ring_order.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Which NICs of different hosts can reach each other. A property of the network that no host can see:
/// declared. same_index: only NICs of one number; full: all; none: nothing is declared, one NIC per host and
/// direction is used.
enum class Rails : std::uint8_t { same_index, full, none };

struct ClusterHost {
  std::string name{};
  RingGraph local{};              ///< its GPUs
  std::vector<int> nic_of_gpu{};  ///< [local.size] rail (NIC) of each GPU, -1: none near; GPUs may share one
  double nic_gb_per_s = 0;        ///< of one NIC; 0: unknown
};
struct ClusterRequest {
  std::vector<ClusterHost> hosts{};
  std::vector<int> host_order{};  ///< as given by a file (leaf, NVLink domain); empty: as listed
  Rails rails = Rails::same_index;
  int kv_heads = 1;  ///< rail rings split heads
};

enum class ClusterScheme : std::uint8_t { flat, rail_rings, alternating_rings, double_ring };
std::string_view name_of(ClusterScheme scheme);

struct ClusterHop {
  int from = 0;  ///< global rank: GPUs of host 0, then of host 1, ... as listed in the request
  int to = 0;
  /// NICs of the two hosts. -1: inside a host, or no NIC is known. A rail that is not the sending GPU's own
  /// is reached over a peer, or across the host (the explanation says which).
  int from_rail = -1;
  int to_rail = -1;
};
struct ClusterRing {
  std::vector<int> order{};        ///< global ranks; double_ring: host by host in inner order
  std::vector<ClusterHop> hops{};  ///< order.size() of them; double_ring: the exchange between hosts
  double share = 1;
};
struct ClusterPlan {
  ClusterScheme scheme = ClusterScheme::flat;
  std::vector<ClusterRing> rings{};
  /// double_ring: the inner ring of each host (global ranks); the outer exchange is with the same position.
  std::vector<std::vector<int>> inner{};
  std::vector<int> host_order{};
  int nics_used = 0;
  int nics_total = 0;
  int cross_rail_hops = 0;           ///< 0 with Rails::same_index
  double network_step_gb_per_s = 0;  ///< of one step's block over the slowest host boundary; 0: unknown
  std::string explanation{};         ///< which of spec 2.5 (a) to (d) keeps the rails, and why
};
/// Rail rings when `kv_heads` splits over the usable rails, else a double ring, else one flat ring. Inside
/// every host the best path between the GPUs of the two NICs (exact up to 12 GPUs, searched above). Rails
/// keep by, in this order: (a) a NIC that two GPUs share; (c) alternating orders, with an odd number of hosts
/// over a third rail; (d) a network that joins all; (b) a peer, at twice the NIC's rate or more.
/// Deterministic. Cost: linear in hosts, about 1 ms for each 8 rings over 128 GPUs; one path search per kind
/// of host and pair of rails. Errors: invalid_argument names host and number.
Result<ClusterPlan> plan_cluster_rings(const ClusterRequest& request);

/// One host name per line, comments with '#'; names that are not in `names`, come twice or are missing are
/// invalid_argument, with `file` and line. Several hosts of one name are taken in the order of `names`.
Result<std::vector<int>> parse_host_order(std::string_view text, const std::vector<std::string>& names,
                                          const std::string& file);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
