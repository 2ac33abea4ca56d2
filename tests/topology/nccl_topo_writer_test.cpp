// SPDX-License-Identifier: Apache-2.0
// The oracle is our own reader: what was written is read again and compared part by part, places aside.
#include <gtest/gtest.h>

#include <filesystem>

#include "ringcomm/topology/nccl_xml.hpp"
#include "support/xml_files.hpp"
#include "topology/readers/hwloc_xml.hpp"
#include "topology/readers/nccl_topo_xml.hpp"

namespace ringcomm {
namespace {

Machine read_ok(const std::string& text) {
  auto reading = topology::nccl_topo_xml::read(text, "t.xml");
  EXPECT_TRUE(reading.is_ok()) << reading.status().to_string() << "\n" << text;
  return reading.is_ok() ? std::move(reading).value().machine : Machine{};
}
std::string write_ok(const Machine& machine) {
  auto text = write_nccl_topology(machine);
  EXPECT_TRUE(text.is_ok()) << text.status().to_string();
  return text.is_ok() ? std::move(text).value() : std::string();
}

void expect_same_devices(const Machine& a, const Machine& b) {
  ASSERT_EQ(a.pci.size(), b.pci.size());
  for (std::size_t i = 0; i < a.pci.size(); ++i) {
    EXPECT_EQ(a.pci[i].id, b.pci[i].id);
    EXPECT_EQ(a.pci[i].parent, b.pci[i].parent);
    EXPECT_EQ(a.pci[i].class_code, b.pci[i].class_code);
    EXPECT_EQ(a.pci[i].vendor, b.pci[i].vendor);
    EXPECT_EQ(a.pci[i].device, b.pci[i].device);
    EXPECT_EQ(a.pci[i].is_bridge, b.pci[i].is_bridge);
    EXPECT_EQ(a.pci[i].link.speed_text, b.pci[i].link.speed_text);
    EXPECT_EQ(a.pci[i].link.width, b.pci[i].link.width);
    EXPECT_EQ(a.pci[i].numa_node, b.pci[i].numa_node);
    EXPECT_EQ(a.pci[i].host, b.pci[i].host);
  }
  ASSERT_EQ(a.gpus.size(), b.gpus.size());
  for (std::size_t i = 0; i < a.gpus.size(); ++i) {
    EXPECT_EQ(a.gpus[i].host, b.gpus[i].host);
    EXPECT_EQ(a.gpus[i].index, b.gpus[i].index);
    EXPECT_EQ(a.gpus[i].pci, b.gpus[i].pci);
    EXPECT_EQ(a.gpus[i].vendor, b.gpus[i].vendor);
    EXPECT_EQ(a.gpus[i].rank, b.gpus[i].rank);
    EXPECT_EQ(a.gpus[i].compute_capability, b.gpus[i].compute_capability);
    EXPECT_EQ(a.gpus[i].gpu_direct, b.gpus[i].gpu_direct);
    EXPECT_EQ(a.gpus[i].numa_node, b.gpus[i].numa_node);
  }
  ASSERT_EQ(a.nics.size(), b.nics.size());
  for (std::size_t i = 0; i < a.nics.size(); ++i) {
    EXPECT_EQ(a.nics[i].name, b.nics[i].name);
    EXPECT_EQ(a.nics[i].pci, b.nics[i].pci);
    EXPECT_EQ(a.nics[i].guid, b.nics[i].guid);
    EXPECT_EQ(a.nics[i].is_rdma, b.nics[i].is_rdma);
    EXPECT_EQ(a.nics[i].numa_node, b.nics[i].numa_node);
    ASSERT_EQ(a.nics[i].ports.size(), b.nics[i].ports.size());
    for (std::size_t port = 0; port < a.nics[i].ports.size(); ++port) {
      EXPECT_EQ(a.nics[i].ports[port].net_name, b.nics[i].ports[port].net_name);
      EXPECT_EQ(a.nics[i].ports[port].net_index, b.nics[i].ports[port].net_index);
      EXPECT_EQ(a.nics[i].ports[port].number, b.nics[i].ports[port].number);
      EXPECT_EQ(a.nics[i].ports[port].gbit_per_s, b.nics[i].ports[port].gbit_per_s);
      EXPECT_EQ(a.nics[i].ports[port].gpu_direct, b.nics[i].ports[port].gpu_direct);
    }
  }
}

void expect_same(const Machine& a, const Machine& b) {
  ASSERT_EQ(a.hosts.size(), b.hosts.size());
  for (std::size_t i = 0; i < a.hosts.size(); ++i) EXPECT_EQ(a.hosts[i].name, b.hosts[i].name);
  ASSERT_EQ(a.packages.size(), b.packages.size());
  for (std::size_t i = 0; i < a.packages.size(); ++i) {
    EXPECT_EQ(a.packages[i].vendor, b.packages[i].vendor);
    EXPECT_EQ(a.packages[i].arch, b.packages[i].arch);
    EXPECT_EQ(a.packages[i].family, b.packages[i].family);
    EXPECT_EQ(a.packages[i].model, b.packages[i].model);
  }
  ASSERT_EQ(a.numa_nodes.size(), b.numa_nodes.size());
  for (std::size_t i = 0; i < a.numa_nodes.size(); ++i) {
    EXPECT_EQ(a.numa_nodes[i].id, b.numa_nodes[i].id);
    EXPECT_EQ(a.numa_nodes[i].host, b.numa_nodes[i].host);
    EXPECT_EQ(a.numa_nodes[i].cpus, b.numa_nodes[i].cpus);
  }
  expect_same_devices(a, b);
  ASSERT_EQ(a.links.size(), b.links.size());
  for (std::size_t i = 0; i < a.links.size(); ++i) {
    EXPECT_EQ(a.links[i].kind, b.links[i].kind);
    EXPECT_EQ(a.links[i].gpu, b.links[i].gpu);
    EXPECT_EQ(a.links[i].end, b.links[i].end);
    EXPECT_EQ(a.links[i].peer, b.links[i].peer);
    EXPECT_EQ(a.links[i].target, b.links[i].target);
    EXPECT_EQ(a.links[i].count, b.links[i].count);
    EXPECT_EQ(a.links[i].gb_per_s_each, b.links[i].gb_per_s_each);
  }
  EXPECT_EQ(a.has_gpu_evidence, b.has_gpu_evidence);
  EXPECT_EQ(a.has_nic_evidence, b.has_nic_evidence);
  EXPECT_EQ(a.has_link_evidence, b.has_link_evidence);
}

TEST(NcclTopoWriterTest, WhatWasReadIsReadAgain) {
  const Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml")));
  const std::string text = write_ok(machine);
  expect_same(machine, read_ok(text));
  EXPECT_EQ(text, write_ok(read_ok(text)));
}

TEST(NcclTopoWriterTest, CapturedMachinesAreReadAgain) {
  if (!has_shared_topology_files()) GTEST_SKIP() << "no captured machines beside the project";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_topology_file("nccl-topo-xml"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("rccl")) continue;
    SCOPED_TRACE(name);
    const Machine machine = read_ok(text_of_file(entry.path().string()));
    expect_same(machine, read_ok(write_ok(machine)));
    ++files;
  }
  EXPECT_EQ(files, 12);
}

TEST(NcclTopoWriterTest, UnknownValuesAreNotWritten) {
  const std::string text = write_ok(read_ok(
      "<system version='1'><cpu numaid='0'><pci busid='0:1:0.0' link_width='0' link_speed=''><gpu dev='3'>"
      "<nvlink target='0:9:0.0'/></gpu><nic><net name='a&amp;&lt;b' dev='0' "
      "speed='-1'/></nic></pci></cpu></system>"));
  EXPECT_EQ(text,
            "<system version=\"1\">\n"
            "  <cpu numaid=\"0\">\n"
            "    <pci busid=\"0000:01:00.0\">\n"
            "      <gpu dev=\"3\">\n"
            "        <nvlink target=\"0000:09:00.0\"/>\n"
            "      </gpu>\n"
            "      <nic>\n"
            "        <net name=\"a&amp;&lt;b\" dev=\"0\" port=\"1\"/>\n"
            "      </nic>\n"
            "    </pci>\n"
            "  </cpu>\n"
            "</system>\n");
}

TEST(NcclTopoWriterTest, DevicesOfUnknownNodesGoBelowTheUnknownCpu) {
  Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml")));
  machine.numa_nodes.clear();
  for (PciDevice& device : machine.pci) device.numa_node.reset();
  const std::string text = write_ok(machine);
  EXPECT_NE(text.find("<cpu host_hash=\"0xb\" numaid=\"-1\">"), std::string::npos) << text;
  EXPECT_EQ(read_ok(text).gpus.size(), 2U);
  EXPECT_FALSE(read_ok(text).gpus[0].numa_node);
}

TEST(NcclTopoWriterTest, AMachineOfHwlocBecomesAFileOfNccl) {
  auto reading =
      topology::hwloc_xml::read(text_of_file(own_topology_file("2gpu-nvswitch-hwloc2.xml")), "h.xml");
  ASSERT_TRUE(reading.is_ok());
  const std::string text = write_ok(reading->machine);
  const Machine again = read_ok(text);
  ASSERT_EQ(again.gpus.size(), 2U);
  EXPECT_EQ(again.links.size(), 2U);
  EXPECT_EQ(again.links[0].end, LinkEnd::nvswitch);
  EXPECT_EQ(again.numa_nodes.size(), 2U) << "a GPU's memory is no CPU";
  EXPECT_EQ(text.find("1a03"), std::string::npos) << "neither is BMC video a device of NCCL's: " << text;
}

TEST(NcclTopoWriterTest, WithoutLinkEvidenceNoGpuElementClaimsThatThereAreNone) {
  Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml")));
  machine.links.clear();
  machine.has_link_evidence = false;
  EXPECT_EQ(write_ok(machine).find("<gpu"), std::string::npos);
}

TEST(NcclTopoWriterTest, Refusals) {
  Machine machine = read_ok(text_of_file(own_topology_file("2host-nccl.xml")));
  Machine without_bus = machine;
  without_bus.gpus[1].bus.reset();
  EXPECT_EQ(write_nccl_topology(without_bus).status().code(), StatusCode::invalid_argument);
  EXPECT_NE(write_nccl_topology(without_bus).status().message().find("host1/GPU0"), std::string_view::npos);
  Machine broken = machine;
  broken.gpus[0].pci = 99;
  EXPECT_EQ(write_nccl_topology(broken).status().code(), StatusCode::invalid_argument);
  machine.links[0].kind = LinkKind::xgmi;
  EXPECT_EQ(write_nccl_topology(machine).status().code(), StatusCode::not_available);
  EXPECT_EQ(write_ok(Machine{}), "<system version=\"1\">\n</system>\n");
}

}  // namespace
}  // namespace ringcomm
