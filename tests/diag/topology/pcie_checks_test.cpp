// SPDX-License-Identifier: Apache-2.0
// PCIe and platform checks on machines written down field by field. Each case breaks one value of a healthy
// host, and blanks it to see "unknown"; the oracle is the spec's threshold.
#include <gtest/gtest.h>

#include "diag/topology/build_machine.hpp"

namespace ringcomm {
namespace {

using topology_test::case_of;
using topology_test::finding_of;
using topology_test::switched_host;

constexpr int kRoot = 0;
constexpr int kUpstream = 1;
constexpr int kGpuPort = 2;
constexpr int kGpuFunction = 3;
constexpr int kNicFunction = 5;
// add_pci order of one host: root, upstream, port_a, port_b, GPU, NIC
PciDevice& function(Machine& machine, int number) {
  const std::array<std::size_t, 6> order{0, 1, 2, 4, 3, 5};
  return machine.pci[order[static_cast<std::size_t>(number)]];
}

std::vector<Finding> judged(Machine machine, std::vector<LogEvent> events = {}) {
  return check_topology(case_of(std::move(machine), std::move(events)));
}

TEST(PcieChecksTest, HealthySwitchedHostHasNoProblem) {
  EXPECT_TRUE(topology_test::problem_ids(judged(switched_host()), Severity::info).empty());
}

TEST(PcieChecksTest, RedirectBelowTheCommonBridgeIsAProblem) {
  Machine machine = switched_host(1);
  function(machine, kGpuPort).acs->request_redirect = true;
  const auto finding = finding_of(judged(machine), "acs_redirect");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::failure);
  EXPECT_EQ(finding->fix, "for b in 0000:12:00.0; do setpci -s $b ECAP_ACS+6.w=0000; done");
  EXPECT_TRUE(finding->needs_root);
  EXPECT_EQ(finding->evidence.at(0).where.to_text(), "made.txt:18");
}

TEST(PcieChecksTest, RedirectAboveTheNicIsAProblemToo) {
  Machine machine = switched_host(1);
  machine.pci[3].acs->completion_redirect = true;  // the NIC's port of the switch
  const auto finding = finding_of(judged(machine), "acs_redirect");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence.at(0).read, "bridge 0000:13:00.0: CmpltRedir+");
}

TEST(PcieChecksTest, RedirectAtOrAboveTheCommonBridgeIsNone) {
  Machine machine = switched_host(1);
  function(machine, kRoot).acs->request_redirect = true;
  function(machine, kUpstream).acs->request_redirect = true;
  EXPECT_FALSE(finding_of(judged(machine), "acs_redirect"));
}

TEST(PcieChecksTest, UnreadableAcsIsUnknownAndAsksForLspciAsRoot) {
  Machine machine = switched_host(1);
  function(machine, kGpuPort).acs.reset();
  const auto finding = finding_of(judged(machine), "acs_redirect", CheckState::unknown);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fix, "sudo lspci -vvv > lspci.txt");
}

TEST(PcieChecksTest, VirtualMachinesNeedRedirectAndThenDirectTranslation) {
  Machine machine = switched_host(1);
  machine.hosts[0].is_virtual = true;
  function(machine, kGpuPort).acs->request_redirect = true;
  EXPECT_TRUE(finding_of(judged(machine), "acs_redirect"));
  function(machine, kGpuPort).acs->direct_translated = true;
  EXPECT_FALSE(finding_of(judged(machine), "acs_redirect"));
}

TEST(PcieChecksTest, WidthIsComparedWithCardAndSlot) {
  Machine machine = switched_host(1);
  function(machine, kGpuFunction).link.width = 8;
  auto finding = finding_of(judged(machine), "pcie_width_below_slot");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::failure);
  function(machine, kGpuPort).slot.width = 8;  // the board's design
  finding = finding_of(judged(machine), "pcie_width_below_slot");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::warning);
  function(machine, kGpuFunction).link.width.reset();
  EXPECT_FALSE(finding_of(judged(machine), "pcie_width_below_slot"));
  EXPECT_TRUE(finding_of(judged(machine), "pcie_width_below_slot", CheckState::unknown));
}

TEST(PcieChecksTest, SpeedOfANicIsJudgedAndThatOfAnIdleGpuIsUnknown) {
  Machine machine = switched_host(1);
  function(machine, kGpuFunction).link.gt_per_s = 2.5;
  EXPECT_FALSE(finding_of(judged(machine), "pcie_speed_low"));
  EXPECT_TRUE(finding_of(judged(machine), "pcie_speed_low", CheckState::unknown));
  function(machine, kNicFunction).link.gt_per_s = 16;
  EXPECT_TRUE(finding_of(judged(machine), "pcie_speed_low"));
}

TEST(PcieChecksTest, BridgeBelowAQuarterOfItsDeviceIsSlow) {
  Machine machine = switched_host(1);
  PciDevice& bridge = function(machine, kUpstream);
  bridge.slot = {};
  bridge.link.gt_per_s = 2.5;
  bridge.link.width = 1;
  auto finding = finding_of(judged(machine), "pcie_bridge_slow");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence.size(), 2U);  // above the GPU and above the NIC
  EXPECT_EQ(finding->evidence[0].read, "0000:11:00.0 above GPU0: 2.5 GT/s x1");
  bridge.link.gt_per_s.reset();
  EXPECT_FALSE(finding_of(judged(machine), "pcie_bridge_slow"));
  EXPECT_TRUE(finding_of(judged(machine), "pcie_bridge_slow", CheckState::unknown));
  bridge.link.gt_per_s = 8;
  bridge.link.width = 16;  // exactly a quarter
  EXPECT_FALSE(finding_of(judged(machine), "pcie_bridge_slow"));
}

TEST(PcieChecksTest, SpeedAloneTellsASlowBridgeWhereTheWidthIsUnknown) {
  Machine machine = switched_host(1);
  PciDevice& bridge = function(machine, kUpstream);
  bridge.slot = {};
  bridge.link.gt_per_s = 2.5;
  bridge.link.width = 1;
  for (const int number : {kGpuFunction, kNicFunction}) {
    function(machine, number).slot = {};
    function(machine, number).link.width.reset();
  }
  EXPECT_TRUE(finding_of(judged(machine), "pcie_bridge_slow"));
}

TEST(PcieChecksTest, BandwidthOfTheMomentTellsNothingOfABridge) {
  Machine machine = switched_host(1);
  for (PciDevice& device : machine.pci) {
    device.slot = {};
    device.link = {};
    device.link.stated_gb_per_s = device.is_bridge ? 0.25 : 15.75;  // hwloc, idle
  }
  EXPECT_FALSE(finding_of(judged(machine), "pcie_bridge_slow"));
  EXPECT_TRUE(finding_of(judged(machine), "pcie_bridge_slow", CheckState::unknown));
}

TEST(PcieChecksTest, LoggedGraphShowsASlowBridge) {
  const auto edge = [](std::string depth, std::string speed, std::string target) {
    return topology_test::event(
        LogEventKind::graph_edge,
        {{"depth", depth}, {"class", "PCI"}, {"gb_per_s", speed}, {"target", target}});
  };
  const std::vector<LogEvent> slow{edge("1", "0.2", "PCI/0-65000"), edge("2", "48.0", "NIC/0-67000"),
                                   edge("2", "48.0", "GPU/0-68000")};
  const auto finding = finding_of(judged({}, slow), "pcie_bridge_slow");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence.size(), 1U);
  const std::vector<LogEvent> side_by_side{edge("1", "0.2", "PCI/0-65000"), edge("1", "48.0", "PCI/0-69000")};
  EXPECT_FALSE(finding_of(judged({}, side_by_side), "pcie_bridge_slow"));
}

TEST(PcieChecksTest, RelaxedOrderingMattersOnSomeCpusOnly) {
  Machine machine = switched_host(1);
  function(machine, kNicFunction).relaxed_ordering = false;
  EXPECT_FALSE(finding_of(judged(machine), "relaxed_ordering"));  // model 85 is Skylake
  machine.packages[0].model = 143;
  EXPECT_TRUE(finding_of(judged(machine), "relaxed_ordering"));
  machine.packages[0].model.reset();
  EXPECT_TRUE(finding_of(judged(machine), "relaxed_ordering", CheckState::unknown));
  machine.packages[0].vendor = "AuthenticAMD";
  EXPECT_TRUE(finding_of(judged(machine), "relaxed_ordering"));
  function(machine, kNicFunction).relaxed_ordering.reset();
  EXPECT_FALSE(finding_of(judged(machine), "relaxed_ordering"));
}

TEST(PcieChecksTest, SmallReadRequestsAndSmallBar1AreNamed) {
  Machine machine = switched_host(1);
  function(machine, kGpuFunction).max_read_request_bytes = 512;
  function(machine, kNicFunction).max_read_request_bytes = 4096;
  machine.gpus[0].state.bar1_bytes = std::uint64_t{256} << 20;
  const auto findings = judged(machine);
  ASSERT_TRUE(finding_of(findings, "max_read_request"));
  EXPECT_EQ(finding_of(findings, "max_read_request")->evidence.size(), 1U);
  EXPECT_TRUE(finding_of(findings, "bar1_small"));
  machine.gpus[0].state.bar1_bytes = std::uint64_t{128} << 30;
  EXPECT_FALSE(finding_of(judged(machine), "bar1_small"));
}

TEST(PlatformChecksTest, OneGpuWithoutNodeAmongOthersIsNamed) {
  Machine machine = switched_host(2);
  machine.gpus[0].numa_node.reset();
  EXPECT_FALSE(finding_of(judged(machine), "numa_node_missing"));
  EXPECT_TRUE(finding_of(judged(machine), "numa_node_missing", CheckState::unknown));
  machine.gpus[0].cpus = std::vector<int>{0, 1};  // "N/A" beside a list of CPUs
  const auto finding = finding_of(judged(machine), "numa_node_missing");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->devices, std::vector<DeviceRef>{topology_test::gpu(0)});
}

TEST(PlatformChecksTest, SubNumaNodesWithAllGpusOnOneAreNamed) {
  Machine machine = topology_test::one_host(2);
  machine.numa_nodes[1].package = 0;
  topology_test::add_gpu(machine, {}, 0);
  topology_test::add_gpu(machine, {}, 0);
  EXPECT_TRUE(finding_of(judged(machine), "numa_nodes_per_package"));
  machine.gpus[1].numa_node = 1;
  EXPECT_FALSE(finding_of(judged(machine), "numa_nodes_per_package"));
}

Machine flat_vm() {
  Machine machine = topology_test::one_host(1);
  machine.hosts[0].is_virtual = true;
  machine.hosts[0].product = "Virtual Machine";
  for (int i = 0; i < 2; ++i) {
    topology_test::add_gpu(machine, {});
    topology_test::add_nic(machine, "mlx5_" + std::to_string(i), {});
  }
  topology_test::state_path(machine, topology_test::gpu(0), topology_test::gpu(1), PathClass::phb);
  for (int i = 0; i < 4; ++i) {
    topology_test::state_path(machine, topology_test::gpu(i % 2), topology_test::nic(i / 2), PathClass::phb);
  }
  return machine;
}

TEST(PlatformChecksTest, FlatVirtualMachineWantsATopologyFile) {
  EXPECT_TRUE(finding_of(judged(flat_vm()), "vm_without_topology_file"));
  const auto file = topology_test::event(LogEventKind::topology_file,
                                         {{"variable", "NCCL_TOPO_FILE"}, {"path", "/opt/ndv4-topo.xml"}});
  EXPECT_FALSE(finding_of(judged(flat_vm(), {file}), "vm_without_topology_file"));
  Machine bare = flat_vm();
  bare.hosts[0] = {};
  EXPECT_FALSE(finding_of(judged(bare), "vm_without_topology_file"));
  EXPECT_TRUE(finding_of(judged(bare), "vm_without_topology_file", CheckState::unknown));
}

TEST(PlatformChecksTest, MemoryOfAGpuIsNoPlaceForARank) {
  Machine machine = topology_test::one_host(1);
  NumaNode memory;
  memory.id = 250;
  memory.cpus = std::vector<int>{};
  memory.subtype = "GPUMemory";
  machine.numa_nodes.push_back(memory);
  topology_test::add_gpu(machine, {}, 0);
  EXPECT_FALSE(finding_of(judged(machine), "gpu_memory_node_in_policy"));
  machine.gpus[0].numa_node = 250;
  const auto finding = finding_of(judged(machine), "gpu_memory_node_in_policy");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fix, "numactl --membind=0");
}

TEST(TopologyFileChecksTest, SelfLinkIsAnErrorOfTheFile) {
  Machine machine = topology_test::one_host(1);
  topology_test::add_gpu(machine, {});
  topology_test::add_gpu(machine, {});
  topology_test::add_link(machine, 0, 1, 4);
  topology_test::add_link(machine, 1, 0, 4);
  EXPECT_FALSE(finding_of(judged(machine), "topology_file_self_link"));
  machine.links[0].peer = 0;
  machine.links[0].target = machine.gpus[0].bus;
  EXPECT_TRUE(finding_of(judged(machine), "topology_file_self_link"));
  machine.links[0].peer.reset();
  machine.links[0].target.reset();
  EXPECT_TRUE(finding_of(judged(machine), "topology_file_self_link", CheckState::unknown));
}

TEST(TopologyFileChecksTest, OneShortMaskAmongEqualOnesIsNamed) {
  Machine machine = topology_test::one_host(4);
  EXPECT_FALSE(finding_of(judged(machine), "topology_file_affinity_short"));
  machine.numa_nodes[3].cpus->resize(12);
  const auto finding = finding_of(judged(machine), "topology_file_affinity_short");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].read, "NUMA3: 12 CPUs");
  machine.numa_nodes[3].cpus.reset();
  EXPECT_TRUE(finding_of(judged(machine), "topology_file_affinity_short", CheckState::unknown));
}

TEST(TopologyFileChecksTest, SpeedStringsAreThoseOfNccl) {
  Machine machine = switched_host(1);
  for (const char* text : {"8 GT/s", "16.0 GT/s PCIe", "32GT/s", "2.5GT/s (downgraded)", ""}) {
    machine.pci[0].link.speed_text = text;
    EXPECT_FALSE(finding_of(judged(machine), "topology_file_unknown_speed")) << text;
  }
  machine.pci[0].link.speed_text = "32 GT/s PCIe/s";
  EXPECT_TRUE(finding_of(judged(machine), "topology_file_unknown_speed"));
}

TEST(TopologyFileChecksTest, DevicesWithoutClassAreNotGpus) {
  Machine machine = topology_test::one_host(1);
  topology_test::add_pci(machine, 16, {}, 0x060400);
  topology_test::add_pci(machine, 17, 0, 0x020000);
  EXPECT_FALSE(finding_of(judged(machine), "topology_file_no_gpu"));
  machine.pci[1].class_code.reset();
  EXPECT_TRUE(finding_of(judged(machine), "topology_file_no_gpu"));
}

}  // namespace
}  // namespace ringcomm
