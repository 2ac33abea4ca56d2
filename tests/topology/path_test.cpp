// SPDX-License-Identifier: Apache-2.0
// Machines by hand, whose classes nvidia-smi and NCCL would print in the same words; every attribute that a
// bandwidth is made of is taken away in turn.
#include "ringcomm/topology/path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "topology/machines.hpp"

namespace ringcomm::inline v0 {
namespace {

PathMatrix paths_of(const Machine& machine) { return derive_paths(machine, CostModel::table()); }

DeviceRef gpu_ref(int position) { return {.kind = PartKind::gpu, .position = position}; }
DeviceRef nic_ref(int position) { return {.kind = PartKind::nic, .position = position}; }
DeviceRef node_ref(int position) { return {.kind = PartKind::numa_node, .position = position}; }

const Path& between(const PathMatrix& paths, DeviceRef from, DeviceRef to) {
  return paths.at(paths.find(from), paths.find(to));
}
PathClass class_of(const PathMatrix& paths, DeviceRef from, DeviceRef to) {
  return between(paths, from, to).path_class;
}

TEST(PathTest, PortsOfOneSwitchArePix) {
  const auto paths = paths_of(pcie_machine());
  EXPECT_TRUE(paths.left_out.empty());
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(1)), PathClass::pix);
  EXPECT_EQ(class_of(paths, gpu_ref(0), nic_ref(0)), PathClass::pix);
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(0)), PathClass::loc);
}

TEST(PathTest, HostBridgesOfOneNodeAreNodeAndSocketsAreSys) {
  const auto paths = paths_of(pcie_machine());
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(2)), PathClass::node);
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(4)), PathClass::sys);
  EXPECT_EQ(class_of(paths, gpu_ref(0), nic_ref(3)), PathClass::sys);
}

TEST(PathTest, RootPortsOfOneHostBridgeArePhb) {
  MachineMaker maker;
  const int a = maker.pci("0000:00:01.0", std::nullopt, 0);
  const int b = maker.pci("0000:00:02.0", std::nullopt, 0);
  maker.gpu("0000:01:00.0", a, 0);
  maker.gpu("0000:02:00.0", b, 0);
  EXPECT_EQ(class_of(paths_of(maker.machine), gpu_ref(0), gpu_ref(1)), PathClass::phb);
}

TEST(PathTest, SwitchBelowSwitchIsPxb) {
  MachineMaker maker;
  const int root = maker.pci("0000:10:01.0", std::nullopt, 0);
  const int top = maker.pci("0000:11:00.0", root, 0);
  for (int i = 0; i < 2; ++i) {
    const std::string digit = std::to_string(2 + i);
    const int port = maker.pci("0000:12:0" + std::to_string(i) + ".0", top, 0);
    const int upstream = maker.pci("0000:" + digit + "0:00.0", port, 0);
    const int downstream = maker.pci("0000:" + digit + "1:00.0", upstream, 0);
    maker.gpu("0000:" + digit + "2:00.0", downstream, 0);
  }
  EXPECT_EQ(class_of(paths_of(maker.machine), gpu_ref(0), gpu_ref(1)), PathClass::pxb);
}

/// NCCL's XML has one bridge per switch, and devices that hang at the CPU.
Machine flat_tree(std::uint16_t vendor, std::uint16_t device) {
  MachineMaker maker;
  const int top = maker.pci("0000:08:00.0", std::nullopt, 0);
  const int left = maker.pci("0000:0d:00.0", top, 0);
  const int right = maker.pci("0000:0a:00.0", top, 0);
  maker.gpu("0000:0f:00.0", left, 0);
  maker.gpu("0000:0c:00.0", right, 0);
  maker.gpu("0000:21:00.0", std::nullopt, 0);
  for (const int bridge : {top, left, right}) {
    maker.machine.pci[static_cast<std::size_t>(bridge)].vendor = vendor;
    maker.machine.pci[static_cast<std::size_t>(bridge)].device = device;
  }
  return maker.machine;
}

TEST(PathTest, BroadcomPairsOfLevelsAreOneSwitch) {
  EXPECT_EQ(class_of(paths_of(flat_tree(0x1000, 0xc030)), gpu_ref(0), gpu_ref(1)), PathClass::pix);
  EXPECT_EQ(class_of(paths_of(flat_tree(0x15b3, 0x197c)), gpu_ref(0), gpu_ref(1)), PathClass::pxb);
}

TEST(PathTest, MadeUpBusIdsSayNothingOfSockets) {
  MachineMaker maker(2);
  for (int i = 0; i < 2; ++i) {
    const std::string digit = std::to_string(i + 1);
    const int bridge = maker.pci("ffff:ff:0" + digit + ".0", std::nullopt, i);
    maker.gpu("000" + digit + ":00:00.0", bridge, i);
  }
  EXPECT_EQ(class_of(paths_of(maker.machine), gpu_ref(0), gpu_ref(1)), PathClass::sys);
  for (auto& pci : maker.machine.pci) pci.numa_node = {};
  maker.machine.gpus[0].numa_node = {};
  EXPECT_EQ(class_of(paths_of(maker.machine), gpu_ref(0), gpu_ref(1)), PathClass::unknown);
}

TEST(PathTest, HiddenHostBridgesArePhb) {
  EXPECT_EQ(class_of(paths_of(flat_tree(0x1000, 0xc030)), gpu_ref(0), gpu_ref(2)), PathClass::phb);
}

TEST(PathTest, NvlinkCountsAndSwitchesGiveTheirWeakerEnd) {
  MachineMaker maker;
  for (int i = 0; i < 3; ++i) maker.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, 0, 90);
  maker.to_switch(0, "0000:aa:00.0", 10);
  maker.to_switch(0, "0000:ab:00.0", 8);
  maker.to_switch(1, "0000:aa:00.0", 9);
  maker.to_switch(1, "0000:ab:00.0", 8);
  const auto paths = paths_of(maker.machine);
  const auto& path = between(paths, gpu_ref(0), gpu_ref(1));
  EXPECT_EQ(path.path_class, PathClass::nvl);
  EXPECT_EQ(path.nvlinks, 17);
  EXPECT_TRUE(path.is_switched);
  EXPECT_DOUBLE_EQ(path.bandwidth.gb_per_s.value_or(0), 17 * 20.6);
  EXPECT_EQ(path.bandwidth.source, Source::table);
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(2)), PathClass::phb);
}

TEST(PathTest, SwitchesThatNobodySharesJoinNothing) {
  MachineMaker maker;
  maker.gpu("0000:01:00.0", std::nullopt, 0, 70);
  maker.gpu("0000:02:00.0", std::nullopt, 0, 70);
  maker.to_switch(0, "0000:aa:00.0", 6);
  maker.to_switch(1, "0000:ab:00.0", 6);
  EXPECT_EQ(class_of(paths_of(maker.machine), gpu_ref(0), gpu_ref(1)), PathClass::phb);
}

Machine two_trays(const std::string& cluster_of_second) {
  MachineMaker maker;
  maker.machine.hosts.push_back({.name = "b"});
  maker.gpu("0000:01:00.0", std::nullopt, 0, 103);
  maker.gpu("0000:01:00.0", std::nullopt, std::nullopt, 103);
  maker.machine.gpus[1].host = 1;
  maker.machine.pci[1].host = 1;
  maker.machine.gpus[0].state.fabric_cluster = "one";
  maker.machine.gpus[1].state.fabric_cluster = cluster_of_second;
  for (int i = 0; i < 2; ++i) maker.to_switch(i, "fffffff:ff:ff.0", 18);
  return maker.machine;
}

TEST(PathTest, HiddenSwitchReachesOtherHostsOfOneFabric) {
  EXPECT_EQ(class_of(paths_of(two_trays("one")), gpu_ref(0), gpu_ref(1)), PathClass::nvl);
  EXPECT_EQ(class_of(paths_of(two_trays("")), gpu_ref(0), gpu_ref(1)), PathClass::nvl);
  EXPECT_EQ(class_of(paths_of(two_trays("two")), gpu_ref(0), gpu_ref(1)), PathClass::net);
}

TEST(PathTest, SelfLinkJoinsNothing) {
  MachineMaker maker;
  maker.gpu("0000:01:00.0", std::nullopt, 0);
  maker.gpu("0000:02:00.0", std::nullopt, 0);
  maker.nvlink(0, 0, 12);
  EXPECT_EQ(class_of(paths_of(maker.machine), gpu_ref(0), gpu_ref(1)), PathClass::phb);
  NvLinkPort port;
  port.is_active = true;
  maker.machine.gpus[0].nvlink_ports = {port};
  EXPECT_EQ(class_of(paths_of(maker.machine), gpu_ref(0), gpu_ref(1)), PathClass::unknown)
      << "nobody knows where the link really leads";
}

TEST(PathTest, LinkWithUnknownEndLeavesThePairUnknown) {
  Machine machine = pcie_machine();
  Link link{.gpu = 0};
  link.count = 4;
  machine.links.push_back(link);
  const auto paths = paths_of(machine);
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(1)), PathClass::unknown);
  EXPECT_NE(between(paths, gpu_ref(0), gpu_ref(1)).reason.find("unknown end"), std::string::npos);
  EXPECT_EQ(class_of(paths, gpu_ref(1), gpu_ref(2)), PathClass::node);
}

TEST(PathTest, PortsThatLeadNowhereKnownLeaveThePairUnknown) {
  Machine machine = pcie_machine();
  NvLinkPort port;
  port.is_active = false;
  machine.gpus[0].nvlink_ports = {port};
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), gpu_ref(1)), PathClass::pix) << "a port that is down";
  machine.gpus[0].nvlink_ports[0].is_active = true;
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), gpu_ref(1)), PathClass::unknown);
}

TEST(PathTest, RawRateOfAPortGivesThePlannedOne) {
  MachineMaker maker;
  for (int i = 0; i < 2; ++i) {
    maker.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, 0);
    auto& gpu = maker.machine.gpus.back();
    gpu.compute_capability = {};
    NvLinkPort port;
    port.is_active = true;
    port.gb_per_s = 26.562;
    gpu.nvlink_ports = {port};
  }
  StatedPath stated{.from = gpu_ref(0), .to = gpu_ref(1), .path_class = PathClass::nvl};
  stated.nvlinks = 18;
  maker.machine.stated_paths.push_back(stated);
  const auto paths = paths_of(maker.machine);
  const auto& path = between(paths, gpu_ref(0), gpu_ref(1));
  EXPECT_NEAR(path.bandwidth.gb_per_s.value_or(0), 370.8, 1);
  EXPECT_EQ(path.bandwidth.source, Source::evidence);
}

TEST(PathTest, OneGpuInBetweenIsNvb) {
  const auto paths = paths_of(cube_mesh());
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(3)), PathClass::nvl);
  const auto& path = between(paths, gpu_ref(0), gpu_ref(7));
  EXPECT_EQ(path.path_class, PathClass::nvb);
  EXPECT_EQ(path.nvlinks, 2);
  EXPECT_EQ(path.reason, "over GPU4");
  EXPECT_DOUBLE_EQ(path.bandwidth.gb_per_s.value_or(0), 40);
}

TEST(PathTest, NicNearAPeerIsPxnWhenNvlinkIsTwiceAsFast) {
  Machine machine = cube_mesh();
  for (auto& nic : machine.nics) nic.ports.front().gbit_per_s = 80;  // 10 GB/s; one NVLink 20
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), nic_ref(1)), PathClass::pxn);
  for (auto& nic : machine.nics) nic.ports.front().gbit_per_s = 400;  // 50 GB/s; two NVLinks 40
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), nic_ref(1)), PathClass::node);
  for (auto& nic : machine.nics) nic.ports.front().gbit_per_s = {};
  const auto paths = paths_of(machine);
  EXPECT_EQ(class_of(paths, gpu_ref(0), nic_ref(1)), PathClass::node);
  const auto& reason = between(paths, gpu_ref(0), nic_ref(1)).reason;
  EXPECT_NE(reason.find("rate of the NIC unknown"), std::string::npos) << reason;
}

TEST(PathTest, GraceReachesItsCpuOverC2c) {
  MachineMaker maker;
  maker.gpu("0009:01:00.0", std::nullopt, 0, 103);
  maker.nic("mlx5_0", "0002:01:00.0", std::nullopt, 0);
  Link link{.kind = LinkKind::c2c, .gpu = 0, .end = LinkEnd::numa_node, .peer = 0};
  link.count = 5;
  link.gb_per_s_each = 44.712;
  maker.machine.links.push_back(link);
  const auto paths = paths_of(maker.machine);
  EXPECT_EQ(class_of(paths, gpu_ref(0), nic_ref(0)), PathClass::p2c);
  const auto& to_cpu = between(paths, gpu_ref(0), node_ref(0));
  EXPECT_EQ(to_cpu.path_class, PathClass::c2c);
  EXPECT_DOUBLE_EQ(to_cpu.bandwidth.gb_per_s.value_or(0), 223.56);
  EXPECT_EQ(to_cpu.bandwidth.source, Source::evidence);
}

TEST(PathTest, StatedClassWinsAndKeepsTheTreesBandwidth) {
  Machine machine = pcie_machine();
  StatedPath stated{.from = gpu_ref(0), .to = gpu_ref(2), .path_class = PathClass::phb};
  stated.where = {.file = "topo.txt", .line = 4};
  machine.stated_paths.push_back(stated);
  const auto paths = paths_of(machine);
  const auto& path = between(paths, gpu_ref(0), gpu_ref(2));
  EXPECT_EQ(path.path_class, PathClass::phb);
  EXPECT_NE(path.reason.find("topo.txt:4"), std::string::npos);
  EXPECT_EQ(path.bandwidth.gb_per_s,
            between(paths_of(pcie_machine()), gpu_ref(0), gpu_ref(2)).bandwidth.gb_per_s);
  EXPECT_EQ(class_of(paths, gpu_ref(2), gpu_ref(0)), PathClass::phb) << "a cut matrix states one direction";
}

TEST(PathTest, StatedCountOfEveryPairMeansASwitch) {
  const auto stated = [](int gpus, int count) {
    MachineMaker maker;
    for (int i = 0; i < gpus; ++i) maker.gpu("0000:0" + std::to_string(i) + ":00.0", std::nullopt, 0);
    for (int a = 0; a < gpus; ++a) {
      for (int b = 0; b < gpus; ++b) {
        if (a == b) continue;
        StatedPath path{.from = gpu_ref(a), .to = gpu_ref(b), .path_class = PathClass::nvl};
        path.nvlinks = count;
        maker.machine.stated_paths.push_back(path);
      }
    }
    return paths_of(maker.machine);
  };
  EXPECT_TRUE(between(stated(8, 12), gpu_ref(0), gpu_ref(7)).is_switched);
  EXPECT_FALSE(between(stated(4, 4), gpu_ref(0), gpu_ref(3)).is_switched);
  EXPECT_DOUBLE_EQ(between(stated(4, 4), gpu_ref(0), gpu_ref(3)).bandwidth.gb_per_s.value_or(0), 80);
}

TEST(PathTest, BandwidthIsThatOfTheSlowestLink) {
  Machine machine = pcie_machine();
  EXPECT_DOUBLE_EQ(between(paths_of(machine), gpu_ref(0), gpu_ref(1)).bandwidth.gb_per_s.value_or(0), 24);
  const auto paths = paths_of(machine);
  EXPECT_DOUBLE_EQ(between(paths, gpu_ref(0), gpu_ref(4)).bandwidth.gb_per_s.value_or(0), 16)
      << "AMD sockets";
  // A Gen1 x1 bridge of a virtual machine counts, and the reason says so.
  machine.pci[1].link = {.gt_per_s = 2.5, .width = 1};
  const auto slow = paths_of(machine);
  const auto& path = between(slow, gpu_ref(0), gpu_ref(2));
  EXPECT_DOUBLE_EQ(path.bandwidth.gb_per_s.value_or(0), 3.0 / 16);
  EXPECT_NE(path.reason.find("0000:11:00.0 (2.5 GT/s x1)"), std::string::npos) << path.reason;
  EXPECT_DOUBLE_EQ(between(slow, gpu_ref(0), gpu_ref(1)).bandwidth.gb_per_s.value_or(0), 24)
      << "not below that bridge's uplink";
}

TEST(PathTest, AnIdleLinkCountsAsFastAsItCanRunNotItsLanes) {
  Machine machine = pcie_machine();
  for (PciDevice& device : machine.pci) {
    if (device.is_bridge) continue;
    device.slot = {.gt_per_s = kTestGen5, .width = 16};
    device.link = {.gt_per_s = 2.5, .width = 16};
  }
  EXPECT_DOUBLE_EQ(between(paths_of(machine), gpu_ref(0), gpu_ref(1)).bandwidth.gb_per_s.value_or(0), 24)
      << "Gen5 cards under Gen4 ports";
  for (PciDevice& device : machine.pci) device.link.width = device.is_bridge ? 16 : 8;
  EXPECT_DOUBLE_EQ(between(paths_of(machine), gpu_ref(0), gpu_ref(1)).bandwidth.gb_per_s.value_or(0), 24)
      << "Gen5 x8 is as fast as Gen4 x16";
  for (PciDevice& device : machine.pci) device.slot = {};
  EXPECT_LT(between(paths_of(machine), gpu_ref(0), gpu_ref(1)).bandwidth.gb_per_s.value_or(99), 2)
      << "what the card can do is not known: the link counts as it is";
}

TEST(PathTest, SharedLinksHaveADirection) {
  const auto paths = paths_of(pcie_machine());
  const auto& there = between(paths, gpu_ref(0), gpu_ref(4));
  const auto& back = between(paths, gpu_ref(4), gpu_ref(0));
  std::vector<std::string> names;
  for (const int shared : there.crosses) names.push_back(paths.shared[static_cast<std::size_t>(shared)].name);
  EXPECT_EQ(names, (std::vector<std::string>{"PCIe uplink 0000:12:00.0 up", "PCIe uplink 0000:11:00.0 up",
                                             "PCIe uplink 0000:10:01.0 up", "NUMA0->NUMA1",
                                             "PCIe uplink 0000:30:01.0 down", "PCIe uplink 0000:31:00.0 down",
                                             "PCIe uplink 0000:32:00.0 down"}));
  for (const int shared : back.crosses)
    EXPECT_EQ(std::ranges::count(there.crosses, shared), 0)
        << paths.shared[static_cast<std::size_t>(shared)].name;
}

TEST(PathTest, NumaNodesKnowTheirPackage) {
  const auto paths = paths_of(MachineMaker(2, 2).machine);
  EXPECT_EQ(class_of(paths, node_ref(0), node_ref(0)), PathClass::loc);
  EXPECT_EQ(class_of(paths, node_ref(0), node_ref(1)), PathClass::node);
  EXPECT_EQ(class_of(paths, node_ref(0), node_ref(2)), PathClass::sys);
  EXPECT_DOUBLE_EQ(between(paths, node_ref(0), node_ref(2)).bandwidth.gb_per_s.value_or(0), 16);
}

TEST(PathTest, SlowestTypeOfCpuCountsWherePackagesAreNotTold) {
  Machine machine = pcie_machine();
  for (auto& node : machine.numa_nodes) node.package = {};
  machine.packages[1].vendor = "IBM";
  const auto sys_of = [&] { return between(paths_of(machine), gpu_ref(0), gpu_ref(4)).bandwidth.gb_per_s; };
  EXPECT_EQ(sys_of(), 16);
  machine.packages[0].vendor.clear();
  EXPECT_FALSE(sys_of().has_value()) << "one of the types is unknown";
}

TEST(PathTest, MemoryOnlyNodesAreNoDevices) {
  MachineMaker maker(2);
  maker.machine.numa_nodes.push_back({.id = 250, .package = 0, .cpus = std::vector<int>{}});
  maker.machine.numa_nodes.push_back({.id = 251, .package = 0, .subtype = "GPUMemory"});
  EXPECT_EQ(paths_of(maker.machine).devices.size(), 2U);
}

/// One attribute that a class or a bandwidth is made of.
struct Attribute {
  std::string name;
  std::function<void(Machine&)> blank;
};

std::vector<Attribute> attributes_of(const Machine& machine) {
  std::vector<Attribute> attributes;
  for (std::size_t i = 0; i < machine.pci.size(); ++i) {
    const std::string id = machine.pci[i].id.to_text();
    attributes.push_back({"speed of " + id, [i](Machine& m) { m.pci[i].link.gt_per_s = {}; }});
    attributes.push_back({"width of " + id, [i](Machine& m) { m.pci[i].link.width = {}; }});
  }
  for (std::size_t i = 0; i < machine.packages.size(); ++i)
    attributes.push_back({"vendor", [i](Machine& m) { m.packages[i].vendor.clear(); }});
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    attributes.push_back({"place of a GPU", [i](Machine& m) { m.gpus[i].pci = {}; }});
    attributes.push_back({"node of a GPU", [i](Machine& m) { m.gpus[i].numa_node = {}; }});
    attributes.push_back({"node of a GPU and its bridges", [i](Machine& m) {
                            m.gpus[i].numa_node = {};
                            for (auto& pci : m.pci) pci.numa_node = {};
                          }});
  }
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    attributes.push_back({"place of a NIC", [i](Machine& m) { m.nics[i].pci = {}; }});
    attributes.push_back({"node of a NIC", [i](Machine& m) { m.nics[i].numa_node = {}; }});
  }
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    attributes.push_back({"package of a node", [i](Machine& m) { m.numa_nodes[i].package = {}; }});
    attributes.push_back({"CPUs of a node", [i](Machine& m) { m.numa_nodes[i].cpus = {}; }});
  }
  return attributes;
}

/// Whatever is taken away, a value stays what it was or is unknown: it never becomes another.
TEST(PathTest, EveryBlankedAttributeKeepsAValueOrMakesItUnknown) {
  const Machine machine = pcie_machine();
  const auto whole = paths_of(machine);
  int fed = 0;
  for (const auto& attribute : attributes_of(machine)) {
    Machine blanked = machine;
    attribute.blank(blanked);
    const auto paths = paths_of(blanked);
    for (std::size_t i = 0; i < whole.paths.size(); ++i) {
      if (paths.paths[i].path_class != whole.paths[i].path_class) {
        ++fed;
        EXPECT_EQ(paths.paths[i].path_class, PathClass::unknown) << attribute.name;
        EXPECT_NE(paths.paths[i].reason.find("unknown"), std::string::npos) << paths.paths[i].reason;
        EXPECT_FALSE(paths.paths[i].bandwidth.gb_per_s.has_value()) << attribute.name;
        continue;
      }
      if (!paths.paths[i].bandwidth.gb_per_s && whole.paths[i].bandwidth.gb_per_s) {
        ++fed;
        EXPECT_EQ(paths.paths[i].bandwidth.source, Source::unknown);
        EXPECT_NE(paths.paths[i].reason.find("unknown"), std::string::npos) << paths.paths[i].reason;
        continue;
      }
      EXPECT_EQ(paths.paths[i].bandwidth.gb_per_s, whole.paths[i].bandwidth.gb_per_s) << attribute.name;
    }
  }
  // 28 PCI functions with two attributes each, crossed by many pairs, and two vendors.
  EXPECT_GT(fed, 1000);
}

TEST(PathTest, EveryBlankedNvlinkAttributeMakesItUnknown) {
  const Machine machine = cube_mesh();
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    Machine blanked = machine;
    blanked.links[i].count = {};
    const auto& link = machine.links[i];
    const auto without_count = paths_of(blanked);
    const auto& path = between(without_count, gpu_ref(link.gpu), gpu_ref(*link.peer));
    EXPECT_EQ(path.path_class, PathClass::nvl);
    EXPECT_FALSE(path.nvlinks.has_value());
    EXPECT_FALSE(path.bandwidth.gb_per_s.has_value());
    EXPECT_NE(path.reason.find("unknown"), std::string::npos);
  }
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    Machine blanked = machine;
    blanked.gpus[i].compute_capability = {};
    const auto without_generation = paths_of(blanked);
    for (int peer = 0; peer < 8; ++peer) {
      const auto& path = between(without_generation, gpu_ref(static_cast<int>(i)), gpu_ref(peer));
      EXPECT_FALSE(path.path_class == PathClass::nvl && path.bandwidth.gb_per_s.has_value());
    }
  }
}

TEST(PathTest, BlankedNumaNodesMakeTheClassUnknown) {
  Machine machine = pcie_machine();
  for (auto& pci : machine.pci) pci.numa_node = {};
  machine.gpus[0].numa_node = {};
  const auto paths = paths_of(machine);
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(1)), PathClass::pix) << "the tree knows";
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(4)), PathClass::unknown);
  EXPECT_EQ(between(paths, gpu_ref(0), gpu_ref(4)).reason, "NUMA node of GPU0 unknown");
  machine.gpus[0].cpus = std::vector<int>{0, 1};
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), gpu_ref(4)), PathClass::sys) << "near CPUs tell the node";
}

TEST(PathTest, NearCpusOfSeveralNodesTellNoNode) {
  Machine machine = pcie_machine();
  for (auto& pci : machine.pci) pci.numa_node = {};
  machine.gpus[0].numa_node = {};
  machine.gpus[0].cpus = std::vector<int>{0, 1, 4, 5};
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), gpu_ref(4)), PathClass::unknown);
}

TEST(PathTest, EndOfALinkIsFoundByItsTarget) {
  Machine machine = cube_mesh();
  for (auto& link : machine.links) {
    link.end = LinkEnd::unknown;
    link.peer = {};
  }
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), gpu_ref(3)), PathClass::nvl);
  for (auto& link : machine.links) link.target = parse_pci_bus_id("0000:ee:00.0").value();
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), gpu_ref(3)), PathClass::unknown) << "a switch, maybe";
  for (auto& link : machine.links) link.end = LinkEnd::gpu;
  EXPECT_EQ(class_of(paths_of(machine), gpu_ref(0), gpu_ref(1)), PathClass::pix) << "GPUs of elsewhere";
}

TEST(PathTest, DeviceWithoutItsPciPlaceIsUnknown) {
  Machine machine = pcie_machine();
  machine.gpus[0].pci = {};
  const auto paths = paths_of(machine);
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(1)), PathClass::unknown);
  const auto& across = between(paths, gpu_ref(0), gpu_ref(4));
  EXPECT_EQ(across.path_class, PathClass::sys);
  EXPECT_FALSE(across.bandwidth.gb_per_s.has_value());
}

TEST(PathTest, CircleOfBridgesIsNoTree) {
  Machine machine = pcie_machine();
  machine.pci[0].parent = 2;
  const auto paths = paths_of(machine);
  EXPECT_EQ(class_of(paths, gpu_ref(0), gpu_ref(1)), PathClass::unknown);
}

TEST(PathTest, MatrixIsBounded) {
  Machine machine;
  machine.gpus.resize(5000);
  const auto paths = paths_of(machine);
  EXPECT_EQ(paths.devices.size(), kPathDevicesMax);
  EXPECT_EQ(paths.find(gpu_ref(4999)), paths.devices.size());
  ASSERT_EQ(paths.left_out.size(), 5000 - kPathDevicesMax);
  EXPECT_EQ(paths.left_out.back(), gpu_ref(4999));
}

}  // namespace
}  // namespace ringcomm::inline v0
