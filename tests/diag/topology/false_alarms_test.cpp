// SPDX-License-Identifier: Apache-2.0
// What looks wrong and is not (spec topology 3.5): each case has exactly that oddity, and nothing is a
// problem.
#include <gtest/gtest.h>

#include "diag/topology/build_machine.hpp"

namespace ringcomm {
namespace {

using topology_test::add_gpu;
using topology_test::case_of;
using topology_test::finding_of;
using topology_test::gpu;
using topology_test::nic;
using topology_test::problem_ids;
using topology_test::switched_host;

using Ids = std::set<std::string>;

Ids alarms(Machine machine, std::vector<LogEvent> events = {}) {
  return problem_ids(check_topology(case_of(std::move(machine), std::move(events))));
}

TEST(FalseAlarmsTest, SourceValidationAlone) {
  Machine machine = switched_host();
  for (PciDevice& device : machine.pci) {
    if (device.acs) device.acs->source_validation = true;
  }
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, RedirectOnBridgesThatNoGpuOrNicIsBelow) {
  Machine machine = switched_host();
  const int above_nvswitch = topology_test::add_pci(machine, 0x82, {}, 0x060400);
  machine.pci[static_cast<std::size_t>(above_nvswitch)].acs->request_redirect = true;
  topology_test::add_pci(machine, 0x83, above_nvswitch, 0x068000);
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, Gen1WhileIdle) {
  Machine machine = switched_host();
  for (const Gpu& one : machine.gpus) {
    PciDevice& function = machine.pci[static_cast<std::size_t>(*one.pci)];
    function.link.gt_per_s = 2.5;
    machine.pci[static_cast<std::size_t>(*function.parent)].link.gt_per_s = 2.5;
  }
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, DowngradedManagementPorts) {
  Machine machine = switched_host();
  const int root = topology_test::add_pci(machine, 0x01, {}, 0x060400);
  const int video = topology_test::add_pci(machine, 0x02, root, 0x030000);
  for (const int position : {root, video}) {
    PciDevice& device = machine.pci[static_cast<std::size_t>(position)];
    device.link.gt_per_s = 5;
    device.link.width = 1;
    device.link.speed_text = "5GT/s (downgraded)";
    device.slot.gt_per_s = 8;
    device.slot.width = 1;
  }
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, SlowerNicInAFasterSlot) {
  Machine machine = switched_host();
  for (const Nic& one : machine.nics) {
    PciDevice& function = machine.pci[static_cast<std::size_t>(*one.pci)];
    function.link.gt_per_s = 16;
    function.slot.gt_per_s = 16;
    machine.pci[static_cast<std::size_t>(*function.parent)].link.gt_per_s = 16;  // of 32, "(downgraded)"
  }
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, TwelveLinksOfEighteenOnBridgeBoards) {
  Machine machine = topology_test::one_host(1);
  machine.has_link_evidence = true;
  for (int i = 0; i < 2; ++i) {
    add_gpu(machine, {});
    Gpu& one = machine.gpus[static_cast<std::size_t>(i)];
    one.name = "NVIDIA H100 NVL";
    one.compute_capability = 90;
    for (int link = 0; link < 18; ++link) {
      NvLinkPort port;
      port.index = link;
      port.is_active = link < 12;
      one.nvlink_ports.push_back(port);
    }
  }
  topology_test::state_path(machine, gpu(0), gpu(1), PathClass::nvl, 12);
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, SoftwarePowerCap) {
  Machine machine = switched_host();
  for (Gpu& one : machine.gpus) one.state.clock_event_reasons = "SW Power Cap";
  const auto findings = check_topology(case_of(machine), KeepOk::yes);
  EXPECT_EQ(problem_ids(findings), Ids());
  EXPECT_TRUE(finding_of(findings, "clocks_held_down", CheckState::ok));
}

TEST(FalseAlarmsTest, EthernetBondOfALowerRate) {
  Machine machine = switched_host(4);
  topology_test::add_nic(machine, "mlx5_bond_0", {}, 200);
  machine.nics.back().ports[0].link_layer = LinkLayer::ethernet;
  EXPECT_EQ(alarms(machine), Ids());
  for (Nic& one : machine.nics) one.ports[0].link_layer = LinkLayer::ethernet;  // RoCE rails beside it
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, MatrixThatHidesNvlink) {
  Machine machine = topology_test::one_host(2);
  for (int i = 0; i < 4; ++i) add_gpu(machine, {}, i / 2);
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      topology_test::state_path(machine, gpu(a), gpu(b), a / 2 == b / 2 ? PathClass::node : PathClass::sys);
    }
  }
  machine.has_link_evidence = false;
  const auto findings = check_topology(case_of(machine));
  EXPECT_EQ(problem_ids(findings), Ids());
  EXPECT_TRUE(finding_of(findings, "nvlink_missing_on_gpu", CheckState::unknown));
}

TEST(FalseAlarmsTest, MemoryNodesOfGpus) {
  Machine machine = switched_host();
  for (int id = 250; id < 252; ++id) {
    NumaNode node;
    node.id = id;
    node.cpus = std::vector<int>{};
    node.subtype = "GPUMemory";
    machine.numa_nodes.push_back(node);
    machine.gpus[static_cast<std::size_t>(id - 250)].memory_numa_node = id;
  }
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, HiddenSwitchOfMultiNodeNvlink) {
  Machine machine = topology_test::one_host(1);
  for (int i = 0; i < 4; ++i) {
    add_gpu(machine, {});
    topology_test::add_switch_link(machine, i, 18);
    machine.links.back().target = PciBusId{.domain = 0xfffffff, .bus = 0xff, .device = 0xff, .function = 0};
  }
  EXPECT_EQ(alarms(machine), Ids());
}

TEST(FalseAlarmsTest, SaturatedCounters) {
  Machine machine = switched_host();
  machine.nics[1].ports[0].counters = {{"link_downed", 255}, {"symbol_error", 65535}};
  const auto findings = check_topology(case_of(machine));
  EXPECT_EQ(problem_ids(findings), Ids());
  EXPECT_TRUE(finding_of(findings, "port_errors", CheckState::unknown));
}

TEST(FalseAlarmsTest, SingleNumaNode) {
  Machine machine = switched_host();
  for (Gpu& one : machine.gpus) one.numa_node.reset();  // "N/A": there is one node only
  for (Nic& one : machine.nics) one.numa_node.reset();
  const auto findings = check_topology(case_of(machine), KeepOk::yes);
  EXPECT_EQ(problem_ids(findings), Ids());
  EXPECT_FALSE(finding_of(findings, "numa_node_missing", CheckState::unknown));
}

TEST(FalseAlarmsTest, MeshWhoseGpusHaveUnequalSums) {
  Machine machine = topology_test::one_host(1);  // p3.8xlarge: part of a cube mesh
  for (int i = 0; i < 4; ++i) add_gpu(machine, {});
  const std::array<std::array<int, 3>, 6> pairs{
      {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2}}};
  for (const auto& [a, b, count] : pairs) {
    topology_test::add_link(machine, a, b, count);
    topology_test::add_link(machine, b, a, count);
  }
  EXPECT_EQ(alarms(machine), Ids());
}

}  // namespace
}  // namespace ringcomm
