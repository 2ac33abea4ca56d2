// SPDX-License-Identifier: Apache-2.0
// The facts of captured machines (shared/data/topology/README.md) that reading hwloc's XML alone decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/xml_files.hpp"
#include "topology/readers/hwloc_xml.hpp"

namespace ringcomm {
namespace {

class HwlocMachinesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_shared_topology_files()) GTEST_SKIP() << "no captured machines beside the project";
  }
  static Machine read_ok(const std::string& name) {
    auto reading = topology::hwloc_xml::read(text_of_file(shared_topology_file("hwloc-xml/" + name)), name);
    EXPECT_TRUE(reading.is_ok()) << reading.status().to_string();
    return reading.is_ok() ? std::move(reading).value().machine : Machine{};
  }
  static std::size_t cpus_of(const Machine& machine) {
    std::set<int> cpus;
    for (const CoreInfo& core : machine.cores) cpus.insert(core.cpus.begin(), core.cpus.end());
    return cpus.size();
  }
  static std::vector<int> gpu_nodes(const Machine& machine) {
    std::vector<int> nodes(machine.gpus.size(), -1);
    for (const Gpu& gpu : machine.gpus)
      nodes.at(static_cast<std::size_t>(gpu.index)) = gpu.numa_node.value_or(-1);
    return nodes;
  }
  static int node_of_nic(const Machine& machine, const std::string& name) {
    const auto nic = std::ranges::find(machine.nics, name, &Nic::name);
    return nic == machine.nics.end() ? -2 : nic->numa_node.value_or(-1);
  }
};

TEST_F(HwlocMachinesTest, Dgx2) {
  const Machine machine = read_ok("dgx2-16xv100-12nvswitch.xml");
  EXPECT_EQ(machine.packages.size(), 2U);
  EXPECT_EQ(machine.numa_nodes.size(), 2U);
  EXPECT_EQ(cpus_of(machine), 4U);
  EXPECT_EQ(gpu_nodes(machine), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_NEAR(*machine.pci[static_cast<std::size_t>(*machine.gpus[0].pci)].link.gb_per_s(), 15.75, 0.01);
  ASSERT_EQ(machine.links.size(), 16U * 6U);
  std::set<std::string> first, second;
  for (const Link& link : machine.links) {
    EXPECT_EQ(link.count, 1);
    (machine.gpus[static_cast<std::size_t>(link.gpu)].index < 8 ? first : second)
        .insert(link.target->to_text());
  }
  EXPECT_EQ(first.size(), 6U);
  EXPECT_EQ(second.size(), 6U);
  for (const std::string& target : first) EXPECT_FALSE(second.contains(target));
  ASSERT_EQ(machine.stated_paths.size(), 16U * 15U);
  for (const StatedPath& path : machine.stated_paths) {
    EXPECT_EQ(path.gb_per_s, 150.0);
    EXPECT_EQ(path.nvlinks, 6);
  }
}

TEST_F(HwlocMachinesTest, Dgx2InFormat3IsRefused) {
  const std::string path = shared_topology_file("hwloc-xml/dgx2-xml-format-3.0.xml");
  const auto reading = topology::hwloc_xml::read(text_of_file(path), path);
  EXPECT_EQ(reading.status().code(), StatusCode::not_available);
  EXPECT_NE(reading.status().message().find("--of v2xml out.xml"), std::string_view::npos);
}

TEST_F(HwlocMachinesTest, Power8) {
  const Machine machine = read_ok("power8-4xp100-nvlink.xml");
  EXPECT_EQ(machine.numa_nodes.size(), 2U);
  ASSERT_EQ(machine.stated_paths.size(), 4U) << "no closure over the packages";
  for (const StatedPath& path : machine.stated_paths) {
    EXPECT_EQ(path.gb_per_s, 40.0);
    EXPECT_EQ(path.nvlinks, 2);
    EXPECT_EQ(path.from.position / 2, path.to.position / 2);
  }
  EXPECT_EQ(std::ranges::count(machine.links, LinkEnd::numa_node, &Link::end), 4);
  for (const Link& link : machine.links) {
    if (link.end != LinkEnd::numa_node) continue;
    EXPECT_EQ(machine.numa_nodes.at(static_cast<std::size_t>(link.peer.value_or(9))).id,
              machine.gpus[static_cast<std::size_t>(link.gpu)].numa_node);
  }
}

TEST_F(HwlocMachinesTest, Power9) {
  const Machine machine = read_ok("power9-4xv100-4ib.xml");
  EXPECT_EQ(machine.packages.size(), 2U);
  EXPECT_EQ(cpus_of(machine), 160U);
  EXPECT_EQ(gpu_nodes(machine), (std::vector<int>{0, 0, 8, 8}));
  for (const auto& [name, node] : {std::pair{"mlx5_0", 0}, {"mlx5_1", 0}, {"mlx5_2", 8}, {"mlx5_3", 8}})
    EXPECT_EQ(node_of_nic(machine, name), node) << name;
  for (const Nic& nic : machine.nics) {
    if (!nic.is_rdma) continue;
    EXPECT_EQ(nic.ports.at(0).state, PortState::active);
  }
  EXPECT_FALSE(machine.has_link_evidence);
}

TEST_F(HwlocMachinesTest, Power9WithGpuMemory) {
  const Machine machine = read_ok("power9-6xv100-gpu-memory-numa.xml");
  EXPECT_EQ(machine.numa_nodes.size(), 8U);
  for (const NumaNode& node : machine.numa_nodes) EXPECT_EQ(node.is_memory_only(), node.id >= 250) << node.id;
  EXPECT_EQ(gpu_nodes(machine), (std::vector<int>{0, 0, 0, 8, 8, 8}));
  std::set<int> memories, distances;
  for (const Gpu& gpu : machine.gpus) memories.insert(gpu.memory_numa_node.value_or(-1));
  EXPECT_EQ(memories, (std::set<int>{250, 251, 252, 253, 254, 255}));
  for (const NumaDistance& distance : machine.numa_distances) distances.insert(distance.value);
  EXPECT_EQ(distances, (std::set<int>{10, 40, 80}));
}

TEST_F(HwlocMachinesTest, Power8InFormat1) {
  const Machine machine = read_ok("power8-4xp100-format1.xml");
  EXPECT_EQ(cpus_of(machine), 160U);
  EXPECT_EQ(machine.gpus.size(), 4U) << "card0 is the BMC's";
  for (const PciDevice& device : machine.pci) EXPECT_FALSE(device.link.gb_per_s());
  EXPECT_EQ(node_of_nic(machine, "mlx5_0"), 0);
  EXPECT_EQ(node_of_nic(machine, "mlx5_1"), 1);
}

TEST_F(HwlocMachinesTest, G4dn) {
  const Machine machine = read_ok("g4dn-metal-8xt4.xml");
  EXPECT_EQ(cpus_of(machine), 96U);
  EXPECT_EQ(gpu_nodes(machine), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(node_of_nic(machine, "rdmap197s0"), 1);
  EXPECT_EQ(std::ranges::count(machine.nics, true, &Nic::is_rdma), 1);
}

TEST_F(HwlocMachinesTest, SandyBridge) {
  const Machine machine = read_ok("snb-2s-gpu-opencl-mlx5.xml");
  ASSERT_EQ(machine.gpus.size(), 2U);
  const auto cuda = std::ranges::find(machine.gpus, GpuVendor::nvidia, &Gpu::vendor);
  ASSERT_NE(cuda, machine.gpus.end());
  EXPECT_EQ(cuda->bus->to_text(), "0000:84:00.0");
  EXPECT_EQ(cuda->numa_node, 1);
  EXPECT_EQ(cuda->index, 0);
  EXPECT_EQ(node_of_nic(machine, "mlx5_0"), 1);
  for (const PciDevice& device : machine.pci) EXPECT_FALSE(device.link.gb_per_s());
}

TEST_F(HwlocMachinesTest, Westmere) {
  const Machine machine = read_ok("westmere-2s-mlx4.xml");
  EXPECT_TRUE(machine.gpus.empty() && machine.has_gpu_evidence);
  EXPECT_EQ(node_of_nic(machine, "mlx4_0"), 0);
  const auto nic = std::ranges::find(machine.nics, "mlx4_0", &Nic::name);
  ASSERT_NE(nic, machine.nics.end());
  const PciDevice& device = machine.pci[static_cast<std::size_t>(*nic->pci)];
  EXPECT_EQ(device.link.gb_per_s(), 2.0);
  EXPECT_EQ(device.class_code, 0x0c0600U);
}

}  // namespace
}  // namespace ringcomm
