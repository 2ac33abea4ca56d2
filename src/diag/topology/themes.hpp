// SPDX-License-Identifier: Apache-2.0
// The checks of a machine, one function each, by file.
#pragma once

#include "diag/topology/check.hpp"

namespace ringcomm::inline v0::diag {

// pcie.cpp
void check_acs_redirect(const TopologyCase& input, Report& report);
void check_pcie_width_below_slot(const TopologyCase& input, Report& report);
void check_pcie_speed_low(const TopologyCase& input, Report& report);
void check_pcie_bridge_slow(const TopologyCase& input, Report& report);
// pcie_settings.cpp
void check_relaxed_ordering(const TopologyCase& input, Report& report);
void check_max_read_request(const TopologyCase& input, Report& report);
void check_client_chipset(const TopologyCase& input, Report& report);
void check_bar1_small(const TopologyCase& input, Report& report);
// platform.cpp
void check_numa_node_missing(const TopologyCase& input, Report& report);
void check_numa_nodes_per_package(const TopologyCase& input, Report& report);
void check_vm_without_topology_file(const TopologyCase& input, Report& report);
void check_gpu_memory_node_in_policy(const TopologyCase& input, Report& report);
void check_no_device_evidence(const TopologyCase& input, Report& report);
// topology_file.cpp
void check_topology_file_self_link(const TopologyCase& input, Report& report);
void check_topology_file_affinity_short(const TopologyCase& input, Report& report);
void check_topology_file_unknown_speed(const TopologyCase& input, Report& report);
void check_topology_file_no_gpu(const TopologyCase& input, Report& report);
// nvlink.cpp
void check_nvlink_inactive(const TopologyCase& input, Report& report);
void check_nvlink_missing_on_gpu(const TopologyCase& input, Report& report);
void check_nvlink_fewer_than_peers(const TopologyCase& input, Report& report);
void check_nvlink_uneven_pair(const TopologyCase& input, Report& report);
void check_c2c_missing(const TopologyCase& input, Report& report);
// gpu.cpp
void check_gpu_used_twice(const TopologyCase& input, Report& report);
void check_compute_mode_exclusive(const TopologyCase& input, Report& report);
void check_mig_enabled(const TopologyCase& input, Report& report);
void check_persistence_off(const TopologyCase& input, Report& report);
void check_gpu_memory_errors(const TopologyCase& input, Report& report);
void check_clocks_held_down(const TopologyCase& input, Report& report);
// peer.cpp
void check_p2p_refused(const TopologyCase& input, Report& report);
void check_gpu_direct_disabled(const TopologyCase& input, Report& report);
void check_gpu_direct_one_side(const TopologyCase& input, Report& report);
void check_fabric_not_ready(const TopologyCase& input, Report& report);
void check_fabric_clique_differs(const TopologyCase& input, Report& report);
// port.cpp
void check_port_down(const TopologyCase& input, Report& report);
void check_port_disabled(const TopologyCase& input, Report& report);
void check_port_polling(const TopologyCase& input, Report& report);
void check_port_state_unknown(const TopologyCase& input, Report& report);
void check_port_rate_below_peers(const TopologyCase& input, Report& report);
void check_port_errors(const TopologyCase& input, Report& report);
void check_port_mtu(const TopologyCase& input, Report& report);
void check_gid_index(const TopologyCase& input, Report& report);
// nic.cpp
void check_nic_far_from_gpu(const TopologyCase& input, Report& report);
void check_nics_idle(const TopologyCase& input, Report& report);
void check_nic_not_a_rail(const TopologyCase& input, Report& report);
void check_hca_sets_differ(const TopologyCase& input, Report& report);
void check_no_rdma_nic(const TopologyCase& input, Report& report);
// log.cpp
void check_rails_not_connected(const TopologyCase& input, Report& report);
void check_qp_failure(const TopologyCase& input, Report& report);
void check_verbs_missing(const TopologyCase& input, Report& report);
void check_socket_network(const TopologyCase& input, Report& report);
void check_bootstrap_interface(const TopologyCase& input, Report& report);
void check_firewall(const TopologyCase& input, Report& report);
void check_shm_too_small(const TopologyCase& input, Report& report);
void check_memlock_low(const TopologyCase& input, Report& report);
void check_versions_differ(const TopologyCase& input, Report& report);
// binding.cpp
void check_affinity_narrow(const TopologyCase& input, Report& report);
void check_affinity_off_node(const TopologyCase& input, Report& report);
void check_affinity_overlap(const TopologyCase& input, Report& report);
// evidence.cpp
void check_hwloc_too_old(const TopologyCase& input, Report& report);
void check_evidence_contradiction(const TopologyCase& input, Report& report);
// plan.cpp
void check_plan_slower_than_best(const TopologyCase& input, Report& report);

}  // namespace ringcomm::inline v0::diag
