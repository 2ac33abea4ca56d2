// SPDX-License-Identifier: Apache-2.0
// The facts of captured machines (shared/data/topology/README.md) that reading alone decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/xml_files.hpp"
#include "topology/readers/nccl_topo_xml.hpp"

namespace ringcomm {
namespace {

class NcclTopoMachinesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_shared_topology_files()) GTEST_SKIP() << "no captured machines beside the project";
  }
  static Reading read_ok(const std::string& name) {
    const std::string path = shared_topology_file("nccl-topo-xml/" + name);
    auto reading = topology::nccl_topo_xml::read(text_of_file(path), name);
    EXPECT_TRUE(reading.is_ok()) << reading.status().to_string();
    return reading.is_ok() ? std::move(reading).value() : Reading{};
  }
  static int bridge_of(const Machine& machine, std::optional<int> pci) {
    return pci ? machine.pci[static_cast<std::size_t>(*pci)].parent.value_or(-1) : -1;
  }
  static int links_of(const Machine& machine, int gpu) {
    int count = 0;
    for (const Link& link : machine.links)
      if (link.gpu == gpu && link.kind != LinkKind::c2c) count += link.count.value_or(0);
    return count;
  }
};

TEST_F(NcclTopoMachinesTest, P4dHasFourSwitchesOfTwoGpusAndOneNic) {
  const Machine machine = read_ok("aws-p4d-8xa100-4efa.xml").machine;
  EXPECT_EQ(machine.numa_nodes.size(), 2U);
  ASSERT_EQ(machine.gpus.size(), 8U);
  ASSERT_EQ(machine.nics.size(), 4U);
  for (std::size_t gpu = 0; gpu < 8; ++gpu)
    EXPECT_EQ(bridge_of(machine, machine.gpus[gpu].pci), bridge_of(machine, machine.nics[gpu / 2].pci))
        << gpu;
  for (const PciDevice& device : machine.pci) {
    EXPECT_EQ(device.link.gt_per_s, 8.0);
    EXPECT_EQ(device.link.width, 16);
  }
  EXPECT_FALSE(machine.has_link_evidence);
}

TEST_F(NcclTopoMachinesTest, P5WithoutClassesHasUnknownDevices) {
  const Reading reading = read_ok("aws-p5-32efa-no-gpu.xml");
  EXPECT_FALSE(reading.machine.has_gpu_evidence || reading.machine.has_nic_evidence);
  EXPECT_EQ(std::ranges::count_if(reading.machine.pci, [](const PciDevice& d) { return d.is_bridge; }), 8);
  EXPECT_EQ(std::ranges::count_if(reading.machine.pci, [](const PciDevice& d) { return !d.is_bridge; }), 32);
  EXPECT_EQ(reading.machine.pci[1].link.speed_text, "32 GT/s PCIe/s");
  EXPECT_EQ(reading.machine.pci[1].link.gt_per_s, 32.0);
  EXPECT_FALSE(reading.machine.numa_nodes.at(0).cpus);
}

TEST_F(NcclTopoMachinesTest, NdV4OrderIsNotNumaOrder) {
  const Machine machine = read_ok("azure-ndv4-8xa100-8ib.xml").machine;
  std::map<unsigned, int> node_of_domain;
  for (const Gpu& gpu : machine.gpus) node_of_domain[gpu.bus->domain] = *gpu.numa_node;
  EXPECT_EQ(node_of_domain, (std::map<unsigned, int>{
                                {1, 1}, {2, 1}, {3, 0}, {4, 0}, {0xb, 3}, {0xc, 3}, {0xd, 2}, {0xe, 2}}));
  EXPECT_EQ(machine.nics.size(), 8U);
  // The first of the file is on NUMA node 0, and device 2 of nvidia-smi.
  EXPECT_EQ(machine.gpus[0].index, 2);
  EXPECT_EQ(std::ranges::find(machine.gpus, 0, &Gpu::index)->bus->domain, 1U);
}

TEST_F(NcclTopoMachinesTest, NdV5PairsGpuAndNic) {
  const Machine machine = read_ok("azure-ndv5-8xh100-8ib.xml").machine;
  ASSERT_EQ(machine.gpus.size(), 8U);
  ASSERT_EQ(machine.nics.size(), 8U);
  EXPECT_EQ(machine.numa_nodes.at(0).cpus->size(), 48U);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(bridge_of(machine, machine.gpus[i].pci), bridge_of(machine, machine.nics[i].pci));
}

TEST_F(NcclTopoMachinesTest, NcV4LinksItselfAndNc48Does) {
  const Reading bad = read_ok("azure-ncv4-4xa100pcie-selflink.xml");
  ASSERT_EQ(bad.machine.links.size(), 4U);
  for (const Link& link : bad.machine.links) EXPECT_EQ(link.peer, link.gpu);
  EXPECT_EQ(bad.skipped.size(), 4U);
  const Machine good = read_ok("azure-nc48v4-2xa100pcie.xml").machine;
  ASSERT_EQ(good.links.size(), 2U);
  EXPECT_EQ(good.links[0].peer, 1);
  EXPECT_EQ(good.links[0].count, 12);
  EXPECT_FALSE(good.pci.at(0).link.width);
}

TEST_F(NcclTopoMachinesTest, OciH100HasEightNicsOfTwoPorts) {
  const Machine machine = read_ok("oci-h100-8gpu-16port.xml").machine;
  ASSERT_EQ(machine.nics.size(), 8U);
  for (const Nic& nic : machine.nics) {
    ASSERT_EQ(nic.ports.size(), 2U);
    EXPECT_EQ(nic.ports[1].gbit_per_s, 180.0);
  }
  for (int gpu = 0; gpu < 8; ++gpu) EXPECT_EQ(links_of(machine, gpu), 18);
  EXPECT_EQ(machine.pci.at(0).link.gt_per_s, 5.0);
}

TEST_F(NcclTopoMachinesTest, OciB4HasAShortMask) {
  const Machine machine = read_ok("oci-b4-8xa100-short-mask.xml").machine;
  std::map<int, std::size_t> cpus;
  for (const NumaNode& node : machine.numa_nodes) cpus[node.id] = node.cpus->size();
  EXPECT_EQ(cpus, (std::map<int, std::size_t>{{3, 32}, {1, 32}, {7, 28}, {5, 32}}));
  EXPECT_EQ(machine.gpus.size(), 8U);
  EXPECT_EQ(machine.nics.size(), 8U);
}

TEST_F(NcclTopoMachinesTest, RcclHasTwoHives) {
  const Machine machine = read_ok("rccl-v2-8xmi50-2hives-1ib.xml").machine;
  ASSERT_EQ(machine.gpus.size(), 8U);
  EXPECT_EQ(machine.links.size(), 16U);
  for (const Link& link : machine.links) EXPECT_EQ(link.gpu / 4, link.peer.value_or(-1) / 4);
}

TEST_F(NcclTopoMachinesTest, SlingshotNumbersRunBackwards) {
  const Machine machine = read_ok("slingshot-4xa100-4nic.xml").machine;
  ASSERT_EQ(machine.gpus.size(), 4U);
  ASSERT_EQ(machine.nics.size(), 4U);
  for (const Gpu& gpu : machine.gpus) EXPECT_EQ(gpu.numa_node, 3 - gpu.index);
  for (const Nic& nic : machine.nics) EXPECT_EQ(nic.name, "cxi" + std::to_string(*nic.numa_node));
  EXPECT_EQ(machine.links.size(), 12U);
}

TEST_F(NcclTopoMachinesTest, ContainerHasOneInterface) {
  const Machine machine = read_ok("container-8xh200-no-rdma-nic.xml").machine;
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_FALSE(machine.nics[0].is_rdma);
  EXPECT_EQ(machine.nics[0].ports.size(), 1U);
  for (int gpu = 0; gpu < 8; ++gpu) EXPECT_EQ(links_of(machine, gpu), 18);
}

TEST_F(NcclTopoMachinesTest, IbmBridgesSayGen1) {
  const Machine machine = read_ok("ibm-vsi-8xh100-8nic-gen1-bridge.xml").machine;
  ASSERT_EQ(machine.gpus.size(), 8U);
  for (const Gpu& gpu : machine.gpus) {
    const int bridge = bridge_of(machine, gpu.pci);
    ASSERT_GE(bridge, 0);
    EXPECT_EQ(machine.pci[static_cast<std::size_t>(bridge)].link.gt_per_s, 2.5);
    EXPECT_FALSE(machine.pci[static_cast<std::size_t>(*gpu.pci)].link.width);
    const auto nic =
        std::ranges::find_if(machine.nics, [&](const Nic& n) { return bridge_of(machine, n.pci) == bridge; });
    ASSERT_NE(nic, machine.nics.end());
    EXPECT_EQ(nic->name, "mlx5_" + std::to_string(7 - gpu.index));
  }
}

TEST_F(NcclTopoMachinesTest, Gb300TraysShareOneSwitch) {
  const Machine machine = read_ok("gb300-2tray-8gpu.xml").machine;
  EXPECT_EQ(machine.hosts.size(), 2U);
  EXPECT_EQ(machine.numa_nodes.size(), 4U);
  ASSERT_EQ(machine.gpus.size(), 8U);
  std::set<int> ranks;
  for (const Gpu& gpu : machine.gpus) ranks.insert(gpu.rank.value_or(-1));
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(machine.nics.size(), 2U);
  for (const Link& link : machine.links) {
    if (link.kind == LinkKind::c2c)
      EXPECT_NEAR(*link.gb_per_s_each * *link.count, 223.56, 0.01);
    else
      EXPECT_TRUE(link.end == LinkEnd::nvswitch && link.target->is_hidden_switch());
  }
}

}  // namespace
}  // namespace ringcomm
