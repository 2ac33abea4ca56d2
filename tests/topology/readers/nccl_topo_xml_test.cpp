// SPDX-License-Identifier: Apache-2.0
// Our own small files show each trap; facts of captured machines are in nccl_topo_machines_test.cpp.
#include "topology/readers/nccl_topo_xml.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/xml_files.hpp"

namespace ringcomm {
namespace {

using topology::nccl_topo_xml::looks_like;

Reading read_ok(const std::string& text) {
  auto reading = topology::nccl_topo_xml::read(text, "t.xml");
  EXPECT_TRUE(reading.is_ok()) << reading.status().to_string();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}
std::string around(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\">\n" + inside + "</cpu></system>";
}
bool is_skipped(const Reading& reading, const std::string& reason) {
  return std::ranges::any_of(reading.skipped,
                             [&](const Skipped& s) { return s.reason.find(reason) != std::string::npos; });
}

TEST(NcclTopoXmlTest, KnowsItsFilesByTheOutermostElement) {
  EXPECT_TRUE(looks_like("<!-- a comment -->\n<system version=\"1\">"));
  EXPECT_FALSE(looks_like("<topology version=\"2.0\">"));
  EXPECT_FALSE(looks_like("text about <system version=\"1\">"));
}

TEST(NcclTopoXmlTest, TwoHostsByTheirHashes) {
  const Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml"))).machine;
  ASSERT_EQ(machine.hosts.size(), 2U);
  EXPECT_EQ(machine.hosts[1].name, "0xa");
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.gpus[1].host, 1);
  EXPECT_EQ(machine.gpus[0].index, machine.gpus[1].index);
  EXPECT_EQ(machine.gpus[1].rank, 1);
  EXPECT_EQ(machine.gpus[0].compute_capability, 103);
  EXPECT_EQ(machine.gpus[0].bus, machine.gpus[1].bus);
  EXPECT_EQ(machine.gpus[1].gpu_direct, false);
  EXPECT_EQ(machine.gpus[0].where.line, 6 + 1);
  EXPECT_TRUE(machine.has_gpu_evidence && machine.has_link_evidence && machine.has_nic_evidence);
}

TEST(NcclTopoXmlTest, PciTreeKeepsUnknownApartFromZero) {
  const Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml"))).machine;
  ASSERT_EQ(machine.pci.size(), 4U);
  EXPECT_TRUE(machine.pci[0].is_bridge);
  EXPECT_EQ(machine.pci[0].link.width, 1);
  EXPECT_EQ(machine.pci[1].parent, 0);
  EXPECT_EQ(machine.pci[1].link.gt_per_s, 64.0);
  EXPECT_EQ(machine.pci[1].class_code, 0x030200U);
  EXPECT_EQ(machine.pci[1].vendor, 0x10de);
  EXPECT_FALSE(machine.pci[3].link.width);
  EXPECT_FALSE(machine.pci[3].link.gt_per_s);
  EXPECT_EQ(machine.gpus[1].pci, 3);
}

TEST(NcclTopoXmlTest, ASpeedThatIsNoneIsUnknownAndReported) {
  const Reading reading =
      read_ok(around("<pci busid='0:1:0.0' link_speed='fast'/><pci busid='0:2:0.0' link_speed=''/>"));
  EXPECT_FALSE(reading.machine.pci.at(0).link.gt_per_s);
  EXPECT_EQ(reading.machine.pci.at(0).link.speed_text, "fast");
  ASSERT_EQ(reading.skipped.size(), 1U) << "an empty speed says itself that it is unknown";
  EXPECT_EQ(reading.skipped[0].where.line, 2);
}

TEST(NcclTopoXmlTest, LinksToTheHiddenSwitchAndToTheCpu) {
  const Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml"))).machine;
  ASSERT_EQ(machine.links.size(), 3U);
  EXPECT_EQ(machine.links[0].end, LinkEnd::nvswitch);
  EXPECT_TRUE(machine.links[0].target->is_hidden_switch());
  EXPECT_EQ(machine.links[0].count, 18);
  EXPECT_EQ(machine.links[1].kind, LinkKind::c2c);
  EXPECT_EQ(machine.links[1].peer, 0);
  EXPECT_EQ(machine.links[1].count, 5);
  EXPECT_DOUBLE_EQ(machine.links[1].gb_per_s_each.value_or(0), 44.712);
}

TEST(NcclTopoXmlTest, PortsWithOneGuidAreOneNic) {
  const Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml"))).machine;
  ASSERT_EQ(machine.nics.size(), 2U);
  const Nic& nic = machine.nics[0];
  ASSERT_EQ(nic.ports.size(), 2U);
  EXPECT_EQ(nic.name, "mlx5_0");
  EXPECT_EQ(nic.guid, "0x0200000000000001");
  EXPECT_EQ(nic.ports[0].gbit_per_s, 200.0);
  EXPECT_FALSE(nic.ports[1].gbit_per_s) << "speed 0 is unknown";
  EXPECT_EQ(nic.ports[1].number, 2);
  EXPECT_EQ(nic.ports[1].gpu_direct, false);
  EXPECT_TRUE(nic.is_rdma);
}

TEST(NcclTopoXmlTest, FunctionsOfOneCardAreOneNicButOtherSlotsAreNot) {
  const auto card = [](const char* bus, const char* name, const char* dev) {
    return std::string("<pci busid=\"") + bus + "\"><nic><net name=\"" + name + "\" dev=\"" + dev +
           "\" guid=\"0x7\"/></nic></pci>\n";
  };
  const Machine machine =
      read_ok(around(card("0:1:0.0", "a", "0") + card("0:1:0.1", "b", "1") + card("0:2:0.0", "c", "2")))
          .machine;
  ASSERT_EQ(machine.nics.size(), 2U);
  EXPECT_EQ(machine.nics[0].ports.size(), 2U);
  EXPECT_EQ(machine.nics[1].name, "c");
}

TEST(NcclTopoXmlTest, OneInterfaceBelowTwoCpusIsOneDevice) {
  const Reading reading = read_ok(text_of_file(own_topology_file("2host-nccl.xml")));
  const Nic& nic = reading.machine.nics[1];
  EXPECT_EQ(nic.name, "eth0");
  EXPECT_EQ(nic.host, 1);
  EXPECT_EQ(nic.ports.size(), 1U);
  EXPECT_FALSE(nic.is_rdma);
  EXPECT_FALSE(nic.numa_node) << "below two nodes";
  EXPECT_TRUE(is_skipped(reading, "listed twice"));
}

TEST(NcclTopoXmlTest, AffinityGroupsAndNodesWithoutCpus) {
  const Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml"))).machine;
  ASSERT_EQ(machine.numa_nodes.size(), 3U);
  ASSERT_TRUE(machine.numa_nodes[0].cpus);
  EXPECT_EQ(machine.numa_nodes[0].cpus->size(), 36U);
  EXPECT_TRUE(machine.numa_nodes[2].is_memory_only());
  EXPECT_FALSE(read_ok("<system version=\"1\"><cpu numaid=\"0\"/></system>").machine.numa_nodes[0].cpus);
  const Reading bad = read_ok("<system version=\"1\"><cpu numaid=\"0\" affinity=\"xyz\"/></system>");
  EXPECT_FALSE(bad.machine.numa_nodes[0].cpus);
  EXPECT_TRUE(is_skipped(bad, "affinity"));
}

TEST(NcclTopoXmlTest, CpuTypesAreKeptWithoutClaimingPackages) {
  const Machine machine =
      read_ok(
          "<system version='1'><cpu numaid='3' arch='x86_64' vendor='AuthenticAMD' familyid='143' "
          "modelid='49'/>"
          "<cpu numaid='1' arch='x86_64' vendor='AuthenticAMD' familyid='143' modelid='49'/></system>")
          .machine;
  ASSERT_EQ(machine.packages.size(), 1U);
  EXPECT_EQ(machine.packages[0].vendor, "AuthenticAMD");
  EXPECT_EQ(machine.packages[0].family, 143);
  EXPECT_EQ(machine.numa_nodes[0].id, 3);
  EXPECT_FALSE(machine.numa_nodes[0].package);
}

TEST(NcclTopoXmlTest, UnknownNodeIsNoNode) {
  const Machine machine =
      read_ok("<system version='1'><cpu numaid='-1'><pci busid='0:1:0.0' class='0x030200'/></cpu></system>")
          .machine;
  EXPECT_FALSE(machine.gpus.at(0).numa_node);
}

TEST(NcclTopoXmlTest, ALinkToItselfIsKeptAndReported) {
  const Reading reading =
      read_ok(around("<pci busid='1:0:0.0'><gpu dev='0'><nvlink target='0001:00:00.0' count='12' "
                     "tclass='0x030200'/></gpu></pci>"));
  ASSERT_EQ(reading.machine.links.size(), 1U);
  EXPECT_EQ(reading.machine.links[0].end, LinkEnd::gpu);
  EXPECT_EQ(reading.machine.links[0].peer, reading.machine.links[0].gpu);
  ASSERT_EQ(reading.skipped.size(), 1U);
  EXPECT_EQ(reading.skipped[0].where.to_text(), "t.xml:2");
}

TEST(NcclTopoXmlTest, LinksOfPowerEndInTheCpuAndOthersAreUnknown) {
  const Reading reading = read_ok(
      around("<pci busid='1:0:0.0'><gpu dev='0'><nvlink target='0004:00:00.0' count='2' tclass='0x060400'/>"
             "<nvlink target='0005:00:00.0' count='' tclass='0x030200'/><nvlink count='1'/></gpu></pci>"));
  const auto& links = reading.machine.links;
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].end, LinkEnd::numa_node);
  EXPECT_EQ(links[0].peer, 0);
  EXPECT_EQ(links[1].end, LinkEnd::unknown);
  EXPECT_FALSE(links[1].count);
  EXPECT_FALSE(links[2].target);
  EXPECT_EQ(reading.skipped.size(), 3U);
}

TEST(NcclTopoXmlTest, RcclsXgmiAndGpuClasses) {
  const Reading reading = read_ok(
      "<system version='2'><cpu numaid='0'><pci busid='0:1d:0.0' class='0x038000'><gpu dev='0' sm='64' "
      "gcn='906' rank='0'>"
      "<xgmi target='0000:20:00.0' count='1' tclass='0x038000'/></gpu></pci><pci busid='0:20:0.0' "
      "class='0x120000'>"
      "<gpu dev='1' gcn='910'/></pci></cpu></system>");
  ASSERT_EQ(reading.machine.gpus.size(), 2U);
  EXPECT_EQ(reading.machine.gpus[0].vendor, GpuVendor::amd);
  EXPECT_EQ(reading.machine.gpus[0].name, "gfx906");
  EXPECT_FALSE(reading.machine.gpus[0].compute_capability);
  ASSERT_EQ(reading.machine.links.size(), 1U);
  EXPECT_EQ(reading.machine.links[0].kind, LinkKind::xgmi);
  EXPECT_EQ(reading.machine.links[0].peer, 1);
}

TEST(NcclTopoXmlTest, ClassesShowDevicesOnlyWhereNothingElseDoes) {
  const std::string devices =
      "<pci busid='0:1:0.0' class='0x060400'><pci busid='0:2:0.0' class='0x030200' vendor='0xffff'/>"
      "<pci busid='0:3:0.0' class='0x020700'/><pci busid='0:4:0.0'/></pci>";
  const Machine machine = read_ok(around(devices)).machine;
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_EQ(machine.gpus[0].vendor, GpuVendor::unknown);
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_EQ(machine.nics[0].name, "0000:03:00.0");
  EXPECT_FALSE(machine.has_link_evidence);
  const Machine unclassed = read_ok(around("<pci busid='0:1:0.0'><pci busid='0:4:0.0'/></pci>")).machine;
  EXPECT_TRUE(unclassed.pci.at(0).is_bridge);
  EXPECT_FALSE(unclassed.has_gpu_evidence || unclassed.has_nic_evidence);
  EXPECT_EQ(read_ok(around(devices + "<pci busid='0:9:0.0'><gpu dev='0'/></pci>")).machine.gpus.size(), 1U);
}

TEST(NcclTopoXmlTest, GpusWithoutANumberAreNumberedByBusOnEachHost) {
  const Machine machine =
      read_ok(
          "<system version='1'>"
          "<cpu numaid='0' host_hash='0x1'><pci busid='0003:00:00.0' class='0x030200'/></cpu>"
          "<cpu numaid='0' host_hash='0x2'><pci busid='0002:00:00.0' class='0x030200'/></cpu>"
          "<cpu numaid='1' host_hash='0x1'><pci busid='0001:00:00.0' class='0x030200'/></cpu></system>")
          .machine;
  ASSERT_EQ(machine.gpus.size(), 3U);
  EXPECT_EQ(machine.gpus[0].bus->domain, 3U);
  EXPECT_EQ(machine.gpus[0].index, 1);
  EXPECT_EQ(machine.gpus[1].index, 0);
  EXPECT_EQ(machine.gpus[2].index, 0);
}

TEST(NcclTopoXmlTest, AMissingIdIsAnErrorWithItsPlace) {
  const std::string text = text_of_file(own_topology_file("2host-nccl.xml"));
  const std::pair<const char*, const char*> breaks[] = {
      {"busid=\"0008:01:00.0\"", "t.xml:5: <pci> has no valid busid"},
      {"dev=\"0\"", "t.xml:7: <gpu> has no valid dev"},
      {"numaid=\"0\"", "t.xml:4: <cpu> has no valid numaid"},
      {"name=\"mlx5_1\"", "t.xml:16: <net> has no valid name"},
      {"dev=\"1\"", "t.xml:16: <net> has no valid dev"}};
  for (const auto& [id, message] : breaks) {
    const auto reading = topology::nccl_topo_xml::read(replaced(text, id, "x=\"\""), "t.xml");
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data) << id;
    EXPECT_NE(reading.status().message().find(message), std::string_view::npos) << reading.status().message();
  }
}

TEST(NcclTopoXmlTest, CountsAreLimited) {
  std::string devices;
  for (int i = 0; i <= 4096; ++i)
    devices += "<pci busid='" + std::to_string(i % 10) + ":0:0.0'><gpu dev='0'/></pci>";
  EXPECT_TRUE(read_ok(around(devices)).skipped.size() > 1000) << "repeated ids are one device";
  devices.clear();
  for (int i = 0; i <= 4096; ++i) devices += "<cpu numaid='" + std::to_string(i) + "'/>";
  EXPECT_FALSE(topology::nccl_topo_xml::read("<system version='1'>" + devices + "</system>", "t").is_ok());
  devices.clear();
  for (int i = 0; i <= 16 * 4096; ++i) devices += "<pci busid='0:1:0.0'/>";
  EXPECT_FALSE(topology::nccl_topo_xml::read(around(devices), "t").is_ok()) << "repeated without end";
}

TEST(NcclTopoXmlTest, UnknownElementsAndVersionsAreReported) {
  const Reading reading = read_ok("<system version='9'><gpu dev='0'/><cpu numaid='0'><fan/></cpu></system>");
  EXPECT_EQ(reading.skipped.size(), 3U);
}

}  // namespace
}  // namespace ringcomm
