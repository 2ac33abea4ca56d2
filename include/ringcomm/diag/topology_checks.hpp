// SPDX-License-Identifier: Apache-2.0
// The checks of a machine (spec topology section 3.1 to 3.3 and 52, 53, 55, 56, 65, 66, 69, 71, 72 of 3.4).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/finding.hpp"
#include "ringcomm/topology/evidence.hpp"
#include "ringcomm/topology/machine_rings.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Everything a check may look at. Plain data: nothing here is live.
struct TopologyCase {
  MergedEvidence evidence{};
  CostModel costs = CostModel::table();
  PathMatrix paths{};
  MachineRings rings{};  ///< empty where `rings_status` is an error
  Status rings_status{};
  std::vector<UnreadFile> unread{};
};
/// Derives paths and rings. Deterministic.
TopologyCase make_topology_case(MergedEvidence evidence, const CostModel& costs,
                                std::vector<UnreadFile> unread = {});

/// Positions in MachineGraph::devices in rank order: launchers start rank i of a host on the GPU with the
/// i-th index, while the graph has the order of the file. NUMA nodes keep the file's order.
std::vector<int> vertices_in_rank_order(const TopologyCase& input);

/// What NCCL_IB_HCA and UCX_NET_DEVICES call a port: NCCL's files list the functions of one card as ports of
/// one NIC, each with the name of a device of its own.
struct PortName {
  std::string device{};  ///< "mlx5_1"
  int port = 1;          ///< the device's own number of it
};
/// Of the port with this Port::number, else of the first. Nothing where the evidence has no such name:
/// `topo -m` without its legend has NIC0, NIC1, ..., some files bus ids only.
std::optional<PortName> port_name(const Nic& nic, std::optional<int> number = {});
/// Devices of all its ports, each once; empty where one has no known name.
std::vector<std::string> device_names(const Nic& nic);

/// All checks of check_topology, in the order of the spec; docs/topology.md lists them.
std::vector<CheckId> topology_check_ids();

/// Problems, worst first and followers behind their cause, then unknowns; checks that found nothing wrong are
/// left out unless `KeepOk::yes`, checks with nothing to look at always. One finding per check and severity,
/// with one evidence entry per device. At most three unknowns ask for more files: their `fix` is the command.
/// Deterministic; devices and evidence in the machine's order.
enum class KeepOk : std::uint8_t { no, yes };
std::vector<Finding> check_topology(const TopologyCase& input, KeepOk keep_ok = KeepOk::no);

/// One edge of the configured order; `best` values are of the edge that leaves `from` in the best ring.
struct EdgeComparison {
  DeviceRef from{};
  DeviceRef to_now{};
  DeviceRef to_best{};
  std::string level_now{};
  std::string level_best{};
  Bandwidth now{};
  Bandwidth best{};
  std::string cause{};
};
struct PlanComparison {
  /// false: nothing is configured in the evidence; the order compared is then the devices' own, as an
  /// example.
  bool is_known = false;
  std::string source{};      ///< "NCCL channel 00 of log.txt:12", "RINGCOMM_RING_ORDER", "rank order"
  std::vector<int> order{};  ///< positions in MachineGraph::devices
  std::vector<EdgeComparison> edges{};
  std::string slowest_now{};
  std::string slowest_best{};
  int links_used_now = 0;
  int links_used_best = 0;
  int links_total = 0;
  int nics_used = 0;
  int nics_usable = 0;
  bool is_ok = true;       ///< within 5 %
  std::string variable{};  ///< "RINGCOMM_RING_ORDER=0,3,2,1,5,6,7,4", "CUDA_VISIBLE_DEVICES=..."
};
/// Configured against best (spec 2.8). `configured` is a given order (positions in MachineGraph::devices);
/// else graph files, log channels, RINGCOMM_RING_ORDER in the log, in this order. Of several rings the
/// slowest is compared edge by edge. Without a ring (no devices) or with an order that does not fit them,
/// `source` says why and the rest is empty.
PlanComparison compare_plan(const TopologyCase& input, std::optional<std::vector<int>> configured = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
