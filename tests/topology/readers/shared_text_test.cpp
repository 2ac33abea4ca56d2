// SPDX-License-Identifier: Apache-2.0
// The captured machines that are text of nvidia-smi, lspci and InfiniBand tools. Oracle: the facts of the
// set's README.md that a reader alone can hold (rings are the planner's).
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "topology/readers/evidence_text.hpp"
#include "topology/readers/nvidia_smi_nvlink.hpp"
#include "topology/readers/nvidia_smi_nvlink_remote.hpp"
#include "topology/readers/nvidia_smi_p2p.hpp"
#include "topology/readers/nvidia_smi_topo.hpp"

namespace ringcomm {
namespace {

using testing::gpu_ref;
using testing::has_skipped;
using testing::nic_ref;
using testing::skipped_text;
using testing::stated;

using Read = Result<Reading> (*)(std::string_view, const std::string&);

class SharedTextTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_shared_data()) GTEST_SKIP() << "no shared data beside the source tree";
  }

  static Reading read(const std::string& name, Read reader) {
    const std::string text = testing::read_text(testing::kSharedData + name);
    EXPECT_FALSE(text.empty()) << name;
    auto reading = reader(text, name);
    EXPECT_TRUE(reading.is_ok()) << reading.status().message();
    return reading.is_ok() ? std::move(reading).value() : Reading{};
  }
  static Reading read_topo(const std::string& name) {
    const std::string path = "nvidia-smi-topo/" + name;
    EXPECT_TRUE(topology::nvidia_smi_topo::looks_like(testing::read_text(testing::kSharedData + path)))
        << name;
    return read(path, topology::nvidia_smi_topo::read);
  }
};

/// All GPU pairs that have a path of this word.
int count_pairs(const Machine& machine, std::string_view word) {
  int count = 0;
  for (int i = 0; i < static_cast<int>(machine.gpus.size()); ++i) {
    for (int j = 0; j < i; ++j) count += stated(machine, gpu_ref(i), gpu_ref(j)) == word ? 1 : 0;
  }
  return count;
}

std::vector<int> numa_of_gpus(const Machine& machine) {
  std::vector<int> nodes;
  for (const Gpu& gpu : machine.gpus) nodes.push_back(gpu.numa_node.value_or(-1));
  return nodes;
}

std::string gpu_to_nic(const Machine& machine, int gpu, const std::string& nic) {
  return stated(machine, gpu_ref(gpu), nic_ref(testing::position_of_nic(machine, nic)));
}

TEST_F(SharedTextTest, TopoDgx1) {
  const Reading reading = read_topo("dgx1-8xv100-4ib.txt");
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.gpus.size(), 8U);
  ASSERT_EQ(machine.nics.size(), 4U);
  for (const int position : {0, 1, 2, 3})
    EXPECT_EQ(machine.nics[static_cast<std::size_t>(position)].name,
              (std::array{"mlx5_0", "mlx5_2", "mlx5_1", "mlx5_3"}[static_cast<std::size_t>(position)]));
  for (int i = 0; i < 8; ++i) {
    int links = 0;
    for (int j = 0; j < 8; ++j) {
      const std::string path = stated(machine, gpu_ref(i), gpu_ref(j));
      if (path.starts_with("NV")) links += std::stoi(path.substr(2));
    }
    EXPECT_EQ(links, 6) << i;
    EXPECT_EQ(gpu_to_nic(machine, i, "mlx5_" + std::to_string(i / 2)), "PIX") << i;
  }
  EXPECT_EQ(stated(machine, gpu_ref(3), gpu_ref(4)), "SYS");
  EXPECT_EQ(stated(machine, gpu_ref(7), gpu_ref(0)), "SYS");
  EXPECT_TRUE(machine.numa_nodes.empty()) << "no NUMA column";
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST_F(SharedTextTest, TopoHgxH200) {
  const Reading reading = read_topo("hgx-8xh200-8nic.txt");
  const Machine& machine = reading.machine;
  EXPECT_EQ(count_pairs(machine, "NV18"), 28);
  EXPECT_EQ(numa_of_gpus(machine), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(gpu_to_nic(machine, i, "mlx5_" + std::to_string(i)), "PIX");
  ASSERT_EQ(machine.numa_nodes.size(), 2U);
  EXPECT_EQ(machine.numa_nodes[0].cpus->size() + machine.numa_nodes[1].cpus->size(), 192U);
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST_F(SharedTextTest, TopoSlingshot) {
  const Reading reading = read_topo("slingshot-4xa100-nv4.txt");
  EXPECT_EQ(count_pairs(reading.machine, "NV4"), 6);
  EXPECT_EQ(numa_of_gpus(reading.machine), (std::vector<int>{3, 2, 1, 0}));
  EXPECT_TRUE(reading.machine.nics.empty());
  EXPECT_FALSE(reading.machine.has_nic_evidence) << "Slingshot is not in this table";
}

TEST_F(SharedTextTest, TopoAllSys4090) {
  const Reading reading = read_topo("8x4090-all-sys-no-legend.txt");
  EXPECT_EQ(count_pairs(reading.machine, "SYS"), 28);
  EXPECT_EQ(numa_of_gpus(reading.machine), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(gpu_to_nic(reading.machine, i, "NIC0"), i == 6 ? "PHB" : "SYS");
  EXPECT_FALSE(reading.machine.has_link_evidence);
}

TEST_F(SharedTextTest, TopoOddNumaNodesAndCpuLists) {
  const Reading reading = read_topo("4xh100-nv6-8numa-4nic.txt");
  EXPECT_EQ(count_pairs(reading.machine, "NV6"), 6);
  EXPECT_EQ(numa_of_gpus(reading.machine), (std::vector<int>{3, 1, 7, 5}));
  EXPECT_EQ(reading.machine.gpus[0].cpus, (std::vector<int>{6, 14, 22, 30}));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(gpu_to_nic(reading.machine, i, "NIC" + std::to_string(i)), "PIX");
}

TEST_F(SharedTextTest, TopoVmWithAFarNic) {
  const Reading reading = read_topo("8xl40s-2s-vm-nic-sys.txt");
  EXPECT_EQ(count_pairs(reading.machine, "NODE"), 12);
  EXPECT_EQ(count_pairs(reading.machine, "SYS"), 16);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(gpu_to_nic(reading.machine, i, "NIC0"), "SYS");
}

TEST_F(SharedTextTest, TopoNumaNotAvailable) {
  const Reading reading = read_topo("2x3090-sys-numa-na.txt");
  EXPECT_EQ(count_pairs(reading.machine, "SYS"), 1);
  EXPECT_EQ(numa_of_gpus(reading.machine), (std::vector<int>{-1, 1}));
  EXPECT_EQ(reading.machine.gpus[0].cpus->size(), 16U);
  EXPECT_EQ(reading.machine.gpus[0].cpus->back(), 23);
  EXPECT_EQ(reading.machine.gpus[1].cpus->front(), 8);
  EXPECT_TRUE(reading.machine.has_link_evidence) << "NV# is in the legend: these two have none";
}

TEST_F(SharedTextTest, TopoSmallNvlinkMachines) {
  EXPECT_EQ(count_pairs(read_topo("2gpu-nv3-bridge-partly-seated.txt").machine, "NV3"), 1);
  const Reading p3 = read_topo("p3-8xlarge-4xv100.txt");
  EXPECT_EQ(count_pairs(p3.machine, "NV1"), 3);
  EXPECT_EQ(count_pairs(p3.machine, "NV2"), 3);
  EXPECT_EQ(stated(p3.machine, gpu_ref(0), gpu_ref(1)), "NV1");
  EXPECT_EQ(p3.machine.gpus[0].cpus->size(), 32U);
  EXPECT_FALSE(p3.machine.gpus[0].numa_node);
  const Reading three = read_topo("3gpu-one-nv4-pair-2nic.txt");
  EXPECT_EQ(count_pairs(three.machine, "NV4"), 1);
  EXPECT_EQ(count_pairs(three.machine, "NODE"), 2);
  EXPECT_EQ(gpu_to_nic(three.machine, 2, "mlx5_0"), "PHB");
  EXPECT_EQ(gpu_to_nic(three.machine, 0, "mlx5_1"), "NODE");
  EXPECT_EQ(three.machine.gpus[0].cpus->front(), 64);
  EXPECT_EQ(three.machine.gpus[0].cpus->size(), 8U);
}

TEST_F(SharedTextTest, TopoContainerWithoutAffinity) {
  const Reading reading = read_topo("container-2xa100-8nic-no-affinity.txt");
  EXPECT_EQ(count_pairs(reading.machine, "NV12"), 1);
  for (int nic = 0; nic < 8; ++nic)
    EXPECT_EQ(gpu_to_nic(reading.machine, 1, "NIC" + std::to_string(nic)), nic < 6 ? "SYS" : "PXB");
  for (const Gpu& gpu : reading.machine.gpus) EXPECT_FALSE(gpu.cpus || gpu.numa_node);
}

TEST_F(SharedTextTest, TopoWithoutHeaderAndCut) {
  const Reading reading = read_topo("8xb200-gpu2-off-nvlink-cut-paste.txt");
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.gpus.size(), 8U) << "GPU7 is a column with NV cells";
  EXPECT_EQ(count_pairs(machine, "NV18"), 21);
  for (int i = 0; i < 8; ++i) {
    if (i == 2) continue;
    EXPECT_EQ(stated(machine, gpu_ref(2), gpu_ref(i)), i < 4 ? "NODE" : "SYS") << i;
  }
  EXPECT_TRUE(has_skipped(reading, 7, "the text ends after 14 of 20")) << skipped_text(reading);
  EXPECT_TRUE(has_skipped(reading, 1, "columns without a header"));
}

TEST_F(SharedTextTest, TopoGpuMemoryNodes) {
  const Reading reading = read_topo("gb200-4gpu-6nic-cut-paste.txt");
  const Machine& machine = reading.machine;
  EXPECT_EQ(count_pairs(machine, "NV18"), 6);
  EXPECT_EQ(numa_of_gpus(machine), (std::vector<int>{0, 0, 1, -1}));
  EXPECT_EQ(machine.gpus[0].memory_numa_node, 2);
  EXPECT_EQ(machine.gpus[1].memory_numa_node, 10);
  EXPECT_EQ(machine.gpus[2].memory_numa_node, 18);
  for (int nic = 0; nic < 6; ++nic) EXPECT_EQ(gpu_to_nic(machine, 0, "NIC" + std::to_string(nic)), "SYS");
  EXPECT_TRUE(has_skipped(reading, 5, "the text ends after 5 of 10")) << skipped_text(reading);
}

TEST_F(SharedTextTest, TopoTwoPcieSwitches) {
  const Reading reading = read_topo("8gpu-2pcie-switch-8nic-cut-paste.txt");
  const Machine& machine = reading.machine;
  EXPECT_EQ(count_pairs(machine, "PIX"), 12);
  EXPECT_EQ(count_pairs(machine, "SYS"), 16);
  for (const int nic : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const bool is_near_0 = nic == 1 || (nic >= 3 && nic <= 5);
    EXPECT_EQ(gpu_to_nic(machine, 0, "NIC" + std::to_string(nic)), is_near_0 ? "PIX" : "SYS") << nic;
    EXPECT_EQ(gpu_to_nic(machine, 7, "NIC" + std::to_string(nic)), is_near_0 ? "SYS" : "PIX") << nic;
  }
  EXPECT_TRUE(has_skipped(reading, 17, "the text ends after 12 of 16")) << skipped_text(reading);
}

TEST_F(SharedTextTest, TopoNicsInReversedOrder) {
  const Reading reading = read_topo("8xh100-9nic-reversed-order.txt");
  const Machine& machine = reading.machine;
  EXPECT_EQ(count_pairs(machine, "NV18"), 28);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(gpu_to_nic(machine, i, "NIC" + std::to_string(8 - i)), "PIX") << i;
    EXPECT_EQ(gpu_to_nic(machine, i, "NIC0"), "SYS") << i;
  }
  for (const std::string nic : {"NIC6", "NIC7", "NIC8"})
    EXPECT_NE(skipped_text(reading).find("'" + nic + "': its row is missing"), std::string::npos);
}

TEST_F(SharedTextTest, NvlinkStatus) {
  const auto expect_links = [](const Reading& reading, std::size_t gpus, std::size_t links, double rate) {
    ASSERT_EQ(reading.machine.gpus.size(), gpus);
    for (const Gpu& gpu : reading.machine.gpus) {
      EXPECT_EQ(gpu.nvlink_ports.size(), links);
      for (const NvLinkPort& port : gpu.nvlink_ports) EXPECT_EQ(port.gb_per_s, rate);
    }
    EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
  };
  expect_links(read("nvidia-smi-nvlink/hgx-8xh200-status.txt", topology::nvidia_smi_nvlink::read), 8, 18,
               26.562);
  expect_links(read("nvidia-smi-nvlink/slingshot-4xa100-status.txt", topology::nvidia_smi_nvlink::read), 4,
               12, 25);
}

TEST_F(SharedTextTest, NvlinkStatusOfAnExcerptWithInactiveLinks) {
  const Reading reading =
      read("nvidia-smi-nvlink/v100-two-links-inactive-excerpt.txt", topology::nvidia_smi_nvlink::read);
  ASSERT_EQ(reading.machine.gpus.size(), 1U);
  const Gpu& gpu = reading.machine.gpus[0];
  EXPECT_EQ(gpu.index, 3);
  EXPECT_EQ(gpu.uuid, "");
  std::vector<int> inactive;
  for (const NvLinkPort& port : gpu.nvlink_ports) {
    if (port.is_active == false) inactive.push_back(port.index);
  }
  EXPECT_EQ(gpu.nvlink_ports.size(), 6U);
  EXPECT_EQ(inactive, (std::vector<int>{3, 5}));
  EXPECT_TRUE(has_skipped(reading, 1, "no line of")) << skipped_text(reading);
}

TEST_F(SharedTextTest, NvlinkRemote) {
  const Reading reading =
      read("nvidia-smi-nvlink/hgx-h200-gpu0-remote.txt", topology::nvidia_smi_nvlink_remote::read);
  std::map<std::string, int> counts;
  for (const Link& link : reading.machine.links) counts[link.target->to_text()] = link.count.value_or(0);
  EXPECT_EQ(counts, (std::map<std::string, int>{
                        {"0000:c3:00.0", 4}, {"0000:c4:00.0", 5}, {"0000:c5:00.0", 5}, {"0000:c6:00.0", 4}}));
}

TEST_F(SharedTextTest, P2p) {
  const Reading ok = read("nvidia-smi-p2p/hgx-8xh200-ok.txt", topology::nvidia_smi_p2p::read);
  EXPECT_EQ(ok.machine.p2p.size(), 56U);
  for (const P2pStatus& cell : ok.machine.p2p) EXPECT_EQ(cell.status, "OK");
  const Reading gns = read("nvidia-smi-p2p/2x5090-gns.txt", topology::nvidia_smi_p2p::read);
  ASSERT_EQ(gns.machine.p2p.size(), 2U);
  for (const P2pStatus& cell : gns.machine.p2p) EXPECT_EQ(cell.status, "GNS");
  EXPECT_TRUE(ok.skipped.empty() && gns.skipped.empty()) << skipped_text(ok) << skipped_text(gns);
}

}  // namespace
}  // namespace ringcomm
