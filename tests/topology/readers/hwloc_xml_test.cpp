// SPDX-License-Identifier: Apache-2.0
// Our own small files show each trap; facts of captured machines are in hwloc_machines_test.cpp.
#include "topology/readers/hwloc_xml.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/xml_files.hpp"

namespace ringcomm {
namespace {

using topology::hwloc_xml::looks_like;

Reading read_ok(const std::string& text) {
  auto reading = topology::hwloc_xml::read(text, "h.xml");
  EXPECT_TRUE(reading.is_ok()) << reading.status().to_string();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}
std::string two_gpus() { return text_of_file(own_topology_file("2gpu-nvswitch-hwloc2.xml")); }
std::string format_1() { return text_of_file(own_topology_file("1gpu-hwloc1.xml")); }

TEST(HwlocXmlTest, KnowsItsFilesByTheOutermostElement) {
  EXPECT_TRUE(looks_like(two_gpus()));
  EXPECT_TRUE(looks_like(format_1()));
  EXPECT_FALSE(looks_like("<system version=\"1\"/>"));
}

TEST(HwlocXmlTest, Format3IsRefusedWithTheCommand) {
  const auto reading =
      topology::hwloc_xml::read(replaced(two_gpus(), "version=\"2.0\"", "version=\"3.0\""), "h.xml");
  EXPECT_EQ(reading.status().code(), StatusCode::not_available);
  EXPECT_NE(reading.status().message().find("format 3.0"), std::string_view::npos);
  EXPECT_NE(reading.status().message().find("lstopo -i h.xml --of v2xml out.xml"), std::string_view::npos);
  EXPECT_TRUE(
      topology::hwloc_xml::read(replaced(two_gpus(), "version=\"2.0\"", "version=\"2.1\""), "h").is_ok());
}

TEST(HwlocXmlTest, HostPackagesAndCores) {
  const Reading reading = read_ok(two_gpus());
  const Machine& machine = reading.machine;
  EXPECT_EQ(machine.hosts.at(0).name, "node01");
  EXPECT_EQ(machine.hosts.at(0).product, "Example 2G");
  ASSERT_EQ(machine.packages.size(), 2U);
  EXPECT_EQ(machine.packages[0].vendor, "GenuineIntel");
  EXPECT_EQ(machine.packages[0].model, 85);
  EXPECT_EQ(machine.packages[0].arch, "x86_64");
  ASSERT_EQ(machine.cores.size(), 3U);
  EXPECT_EQ(machine.cores[0].cpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(machine.cores[0].memory_node, 0);
  EXPECT_EQ(machine.cores[2].package, 1);
  EXPECT_EQ(machine.cores[2].memory_node, 1);
  ASSERT_EQ(reading.job.events.size(), 1U);
  EXPECT_EQ(reading.job.events[0].value("version"), "2.9.0");
}

TEST(HwlocXmlTest, NodesOfGpuMemoryHaveNoCpus) {
  const Machine machine = read_ok(two_gpus()).machine;
  ASSERT_EQ(machine.numa_nodes.size(), 3U);
  EXPECT_EQ(machine.numa_nodes[0].cpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(machine.numa_nodes[0].package, 0);
  EXPECT_EQ(machine.numa_nodes[0].memory_bytes, 1073741824U);
  EXPECT_EQ(machine.numa_nodes[1].id, 8);
  EXPECT_TRUE(machine.numa_nodes[1].is_memory_only());
  EXPECT_EQ(machine.gpus.at(0).memory_numa_node, 8);
  EXPECT_FALSE(machine.numa_nodes[2].memory_bytes);
  const Machine hbm = read_ok(replaced(two_gpus(), "subtype=\"GPUMemory\"", "subtype=\"HBM\"")).machine;
  EXPECT_TRUE(hbm.numa_nodes[1].is_memory_only()) << "a CPU has one node";
}

TEST(HwlocXmlTest, OneGpuPerFunctionNumberedByNvml) {
  const Machine machine = read_ok(two_gpus()).machine;
  ASSERT_EQ(machine.gpus.size(), 2U) << "BMC video is no GPU";
  EXPECT_EQ(machine.gpus[0].index, 0) << "cuda1 is nvml0";
  EXPECT_EQ(machine.gpus[0].bus->to_text(), "0000:34:00.0");
  EXPECT_EQ(machine.gpus[0].name, "Tesla V100");
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-0001");
  EXPECT_EQ(machine.gpus[0].vendor, GpuVendor::nvidia);
  EXPECT_EQ(machine.gpus[0].numa_node, 0) << "GPU memory is not where a GPU is near to";
  EXPECT_EQ(machine.gpus[1].numa_node, 1);
  EXPECT_EQ(read_ok(replaced(two_gpus(), "nvml1", "nvml0")).machine.gpus.at(1).index, 1)
      << "numbers are unique";
}

TEST(HwlocXmlTest, PciTree) {
  const Machine machine = read_ok(two_gpus()).machine;
  ASSERT_EQ(machine.pci.size(), 7U);
  EXPECT_TRUE(machine.pci[0].is_bridge);
  EXPECT_EQ(machine.pci[1].parent, 0);
  EXPECT_FALSE(machine.pci[4].parent);
  EXPECT_EQ(machine.pci[0].root_bus, (PciRootBus{.domain = 0, .bus = 0x2b}));
  EXPECT_EQ(machine.pci[1].root_bus, machine.pci[0].root_bus);
  EXPECT_EQ(machine.pci[4].root_bus, (PciRootBus{.domain = 0, .bus = 0x5e}));
  const std::string unreadable = replaced(two_gpus(), "0000:[2b-3b]", "0000:[]");
  EXPECT_FALSE(read_ok(unreadable).machine.pci[1].root_bus);
  EXPECT_EQ(machine.pci[1].class_code, 0x030200U);
  EXPECT_EQ(machine.pci[1].vendor, 0x10de);
  EXPECT_EQ(machine.pci[1].device, 0x1db8);
  EXPECT_EQ(machine.pci[1].link.stated_gb_per_s, 15.753846);
  EXPECT_FALSE(machine.pci[2].link.gb_per_s()) << "speed 0 is unknown";
}

TEST(HwlocXmlTest, NicsWithTheStatesOfTheirPorts) {
  const Machine machine = read_ok(two_gpus()).machine;
  ASSERT_EQ(machine.nics.size(), 2U) << "ib0 is mlx5_0";
  const Nic& nic = machine.nics[0];
  EXPECT_EQ(nic.name, "mlx5_0");
  EXPECT_EQ(nic.guid, "0x0200000000000001");
  ASSERT_EQ(nic.ports.size(), 2U);
  EXPECT_EQ(nic.ports[0].state, PortState::active);
  EXPECT_EQ(nic.ports[0].lid, 0x527);
  EXPECT_EQ(nic.ports[0].gids.size(), 1U);
  EXPECT_EQ(nic.ports[1].state, PortState::down);
  EXPECT_FALSE(nic.ports[1].lid);
  EXPECT_FALSE(machine.nics[1].is_rdma);
  EXPECT_EQ(machine.nics[1].name, "eth0");
}

TEST(HwlocXmlTest, SwitchesJoinTheirGpusByTheWeakerOne) {
  const Machine machine = read_ok(two_gpus()).machine;
  EXPECT_TRUE(machine.has_link_evidence);
  ASSERT_EQ(machine.links.size(), 2U);
  EXPECT_EQ(machine.links[0].end, LinkEnd::nvswitch);
  EXPECT_EQ(machine.links[0].target->to_text(), "0000:36:00.0");
  EXPECT_EQ(machine.links[0].count, 4);
  EXPECT_EQ(machine.links[1].gb_per_s_each, 25.0);
  ASSERT_EQ(machine.stated_paths.size(), 2U);
  EXPECT_EQ(machine.stated_paths[0].gb_per_s, 100.0);
  EXPECT_EQ(machine.stated_paths[0].nvlinks, 4);
  EXPECT_EQ(machine.stated_paths[0].path_class, PathClass::nvl);
}

TEST(HwlocXmlTest, WithoutSwitchesTheMatrixStaysRaw) {
  // The end that was a switch is now no device: each GPU's own value to it must not join them.
  const Machine machine = read_ok(replaced(two_gpus(), "PCIDev:19", "PCIDev:29")).machine;
  EXPECT_TRUE(machine.stated_paths.empty());
  EXPECT_TRUE(machine.links.empty());
}

TEST(HwlocXmlTest, LinksToAPackageEndInItsNode) {
  const Machine machine =
      read_ok(replaced(two_gpus(), "1000000 0 100000 0 ", "1000000 0 100000 50000 ")).machine;
  ASSERT_EQ(machine.links.size(), 3U);
  EXPECT_EQ(machine.links[1].end, LinkEnd::numa_node);
  EXPECT_EQ(machine.links[1].peer, 0);
  EXPECT_EQ(machine.links[1].count, 2);
}

TEST(HwlocXmlTest, UnknownGenerationHasUnknownCount) {
  const Machine machine = read_ok(replaced(two_gpus(), "10de:1db8", "10de:ffee")).machine;
  EXPECT_FALSE(machine.links.at(0).count);
  EXPECT_FALSE(machine.stated_paths.at(0).nvlinks);
  EXPECT_EQ(machine.stated_paths.at(0).gb_per_s, 100.0);
}

TEST(HwlocXmlTest, ACutMatrixIsReportedAndNotUsed) {
  const Reading reading = read_ok(replaced(two_gpus(), "150000 1000000 0 0 0 0 1000000", "150000"));
  EXPECT_TRUE(reading.machine.stated_paths.empty());
  EXPECT_FALSE(reading.machine.has_link_evidence);
  EXPECT_EQ(reading.skipped.size(), 1U);
}

TEST(HwlocXmlTest, DistancesOfMemoryNodes) {
  const Machine machine = read_ok(two_gpus()).machine;
  ASSERT_EQ(machine.numa_distances.size(), 4U);
  EXPECT_EQ(machine.numa_distances[1].from, 0);
  EXPECT_EQ(machine.numa_distances[1].to, 1);
  EXPECT_EQ(machine.numa_distances[1].value, 21);
}

TEST(HwlocXmlTest, Format1) {
  const Machine machine = read_ok(format_1()).machine;
  ASSERT_EQ(machine.numa_nodes.size(), 2U);
  EXPECT_EQ(machine.numa_nodes[1].id, 8);
  EXPECT_EQ(machine.numa_nodes[1].package, 1);
  EXPECT_EQ(machine.numa_distances.at(1).value, 40);
  EXPECT_EQ(machine.numa_distances.at(1).to, 8);
  EXPECT_EQ(machine.packages.at(0).arch, "ppc64");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].numa_node, 0);
  EXPECT_FALSE(machine.has_link_evidence);
  EXPECT_EQ(machine.cores.size(), 2U);
}

TEST(HwlocXmlTest, WithoutPciObjectsNothingIsSaidOfDevices) {
  const Reading reading =
      read_ok("<topology version='2.0'><object type='Machine' os_index='0' nodeset='0x1'/></topology>");
  EXPECT_FALSE(reading.machine.has_gpu_evidence || reading.machine.has_nic_evidence);
  EXPECT_EQ(reading.skipped.size(), 1U);
  EXPECT_TRUE(read_ok(two_gpus()).machine.has_gpu_evidence);
}

TEST(HwlocXmlTest, CountsAreLimited) {
  const auto file_of = [](int count) {
    std::string text = "<topology version='2.0'><object type='Machine'>";
    for (int i = 0; i < count; ++i) text += "<object type='NUMANode' os_index='" + std::to_string(i) + "'/>";
    return text + "</object></topology>";
  };
  EXPECT_EQ(read_ok(file_of(1024)).machine.numa_nodes.size(), 1024U);
  EXPECT_EQ(topology::hwloc_xml::read(file_of(1025), "h").status().code(), StatusCode::corrupt_data);
}

TEST(HwlocXmlTest, AMissingIdIsAnErrorWithItsPlace) {
  const std::pair<const char*, const char*> breaks[] = {
      {"pci_busid=\"0000:34:00.0\"", "h.xml:24: <object> has no valid pci_busid"},
      {"type=\"PU\" os_index=\"1\"", "h.xml:20: <object> has no valid os_index"},
      {"os_index=\"8\"", "h.xml:15: <object> has no valid os_index"}};
  for (const auto& [id, message] : breaks) {
    const std::string with = std::string(id).starts_with("type") ? "type=\"PU\"" : "";
    const auto reading = topology::hwloc_xml::read(replaced(two_gpus(), id, with), "h.xml");
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data) << id;
    EXPECT_TRUE(reading.status().message().starts_with(message)) << reading.status().message();
  }
}

}  // namespace
}  // namespace ringcomm
