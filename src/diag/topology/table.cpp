// SPDX-License-Identifier: Apache-2.0
// All checks of a machine, in the order of the spec (topology section 3).
#include "diag/topology/themes.hpp"

namespace ringcomm::inline v0 {
namespace diag {
namespace {

constexpr auto kInfo = Severity::info;
constexpr auto kWarning = Severity::warning;
constexpr auto kFailure = Severity::failure;

constexpr std::array kChecks{
    Check{{"acs_redirect", kFailure, "ACS redirect is off on the bridges between GPUs and NICs"},
          check_acs_redirect},
    Check{{"pcie_width_below_slot", kFailure, "PCIe links are as wide as card and slot allow"},
          check_pcie_width_below_slot},
    Check{{"pcie_speed_low", kWarning, "PCIe links of NICs are as fast as card and slot allow"},
          check_pcie_speed_low},
    Check{{"pcie_bridge_slow", kWarning, "no bridge claims to be far slower than what is below it"},
          check_pcie_bridge_slow},
    Check{{"relaxed_ordering", kWarning, "NICs use relaxed ordering where the CPU needs it"},
          check_relaxed_ordering},
    Check{{"max_read_request", kInfo, "maximum read requests are 4096 bytes"}, check_max_read_request},
    Check{{"client_chipset", kWarning, "GPU and NIC do not meet at the root of a client CPU"},
          check_client_chipset},
    Check{{"bar1_small", kFailure, "BAR1 of the GPUs is large enough for RDMA"}, check_bar1_small},
    Check{{"numa_node_missing", kWarning, "every GPU has a NUMA node"}, check_numa_node_missing},
    Check{{"numa_nodes_per_package", kInfo, "GPUs are spread over the NUMA nodes of their package"},
          check_numa_nodes_per_package},
    Check{{"vm_without_topology_file", kFailure,
           "a virtual machine that hides its switches has a topology file"},
          check_vm_without_topology_file},
    Check{{"topology_file_self_link", kFailure, "no NVLink ends in its own GPU"},
          check_topology_file_self_link},
    Check{{"topology_file_affinity_short", kFailure, "affinity masks give every node its CPUs"},
          check_topology_file_affinity_short},
    Check{{"topology_file_unknown_speed", kFailure, "NCCL knows every speed string"},
          check_topology_file_unknown_speed},
    Check{{"topology_file_no_gpu", kWarning, "the topology file names the GPUs"}, check_topology_file_no_gpu},
    Check{{"gpu_used_twice", kFailure, "every rank has a GPU of its own"}, check_gpu_used_twice},
    Check{{"nvlink_inactive", kFailure, "all NVLinks of the product are active"}, check_nvlink_inactive},
    Check{{"nvlink_missing_on_gpu", kFailure, "no GPU is without NVLink among peers that have it"},
          check_nvlink_missing_on_gpu},
    Check{{"nvlink_fewer_than_peers", kFailure, "GPUs behind switches have equal numbers of NVLinks"},
          check_nvlink_fewer_than_peers},
    Check{{"nvlink_uneven_pair", kWarning, "pairs have as many NVLinks one way as the other"},
          check_nvlink_uneven_pair},
    Check{{"fabric_not_ready", kFailure, "the NVSwitch fabric is ready"}, check_fabric_not_ready},
    Check{{"fabric_clique_differs", kFailure, "all GPUs are in one NVLink cluster and clique"},
          check_fabric_clique_differs},
    Check{{"p2p_refused", kFailure, "GPUs may access each other's memory"}, check_p2p_refused},
    Check{{"gpu_direct_disabled", kFailure, "GPUDirect RDMA is on"}, check_gpu_direct_disabled},
    Check{{"gpu_direct_one_side", kWarning, "GPUDirect RDMA is on at both sides"}, check_gpu_direct_one_side},
    Check{{"compute_mode_exclusive", kWarning, "compute mode lets several processes in"},
          check_compute_mode_exclusive},
    Check{{"mig_enabled", kFailure, "MIG is off on every GPU"}, check_mig_enabled},
    Check{{"persistence_off", kInfo, "persistence mode is on"}, check_persistence_off},
    Check{{"gpu_memory_errors", kFailure, "no uncorrected memory errors, no rows to remap"},
          check_gpu_memory_errors},
    Check{{"clocks_held_down", kWarning, "neither heat nor power supply holds clocks down"},
          check_clocks_held_down},
    Check{{"c2c_missing", kWarning, "Arm hosts with NVIDIA GPUs show their C2C links"}, check_c2c_missing},
    Check{{"gpu_memory_node_in_policy", kFailure, "no rank takes memory from a GPU's own memory node"},
          check_gpu_memory_node_in_policy},
    Check{{"port_down", kFailure, "ports are active"}, check_port_down},
    Check{{"port_disabled", kFailure, "no port was disabled"}, check_port_disabled},
    Check{{"port_polling", kFailure, "every port has somebody at the other end"}, check_port_polling},
    Check{{"port_state_unknown", kInfo, "the state of every port is known"}, check_port_state_unknown},
    Check{{"port_rate_below_peers", kFailure, "ports run at the rate of their peers"},
          check_port_rate_below_peers},
    Check{{"port_errors", kWarning, "error counters of ports do not grow"}, check_port_errors},
    Check{{"port_mtu", kFailure, "ports have one MTU"}, check_port_mtu},
    Check{{"gid_index", kFailure, "the GID index in use is RoCE v2 with an address that routes"},
          check_gid_index},
    Check{{"nic_far_from_gpu", kWarning, "GPUs use NICs near them"}, check_nic_far_from_gpu},
    Check{{"nics_idle", kWarning, "the job uses all usable NICs"}, check_nics_idle},
    Check{{"nic_not_a_rail", kWarning, "no management NIC, bond or far NIC is used as a rail"},
          check_nic_not_a_rail},
    Check{{"hca_sets_differ", kFailure, "hosts have the same NICs"}, check_hca_sets_differ},
    Check{{"no_rdma_nic", kWarning, "RDMA NICs are visible"}, check_no_rdma_nic},
    Check{
        {"rails_not_connected", kFailure, "NICs reach the NICs of other hosts that the plan pairs them with"},
        check_rails_not_connected},
    Check{{"qp_failure", kFailure, "verbs calls succeed"}, check_qp_failure},
    Check{{"verbs_missing", kFailure, "libibverbs is installed"}, check_verbs_missing},
    Check{{"socket_network", kWarning, "the job uses the RDMA network"}, check_socket_network},
    Check{{"bootstrap_interface", kFailure, "the job uses interfaces that other hosts reach"},
          check_bootstrap_interface},
    Check{{"firewall", kFailure, "ranks can connect to each other"}, check_firewall},
    Check{{"shm_too_small", kFailure, "/dev/shm has room"}, check_shm_too_small},
    Check{{"memlock_low", kFailure, "memory may be locked"}, check_memlock_low},
    Check{{"affinity_narrow", kWarning, "ranks may use all CPUs near their GPU"}, check_affinity_narrow},
    Check{{"affinity_off_node", kFailure, "ranks run on CPUs near their GPU"}, check_affinity_off_node},
    Check{{"affinity_overlap", kFailure, "every rank has a CPU of its own"}, check_affinity_overlap},
    Check{{"no_device_evidence", kWarning, "the evidence could show devices"}, check_no_device_evidence},
    Check{{"versions_differ", kFailure, "all ranks run the same versions"}, check_versions_differ},
    Check{{"hwloc_too_old", kWarning, "hwloc knows this machine"}, check_hwloc_too_old},
    Check{{"evidence_contradiction", kWarning, "files agree with each other"}, check_evidence_contradiction},
    Check{{"plan_slower_than_best", kWarning, "the ring in use is as fast as the best one"},
          check_plan_slower_than_best},
};

}  // namespace

std::span<const Check> checks() { return kChecks; }

}  // namespace diag

std::vector<CheckId> topology_check_ids() {
  std::vector<CheckId> ids;
  for (const diag::Check& check : diag::checks()) ids.push_back(check.info);
  return ids;
}

}  // namespace ringcomm::inline v0
