// SPDX-License-Identifier: Apache-2.0
// The machine that a job's log shows, from small logs of our own and, where they are, from real ones.
#include "topology/readers/nccl_log/job_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/small_file.hpp"
#include "ringcomm/core/text.hpp"
#include "test_paths.hpp"
#include "topology/readers/nccl_log.hpp"

namespace ringcomm::topology {
namespace {

Reading read_file(const std::filesystem::path& path) {
  return nccl_log::read(read_small_file(path, 1 << 20), path.filename().native()).value();
}
Reading read_own(const std::string& name) {
  return read_file(std::filesystem::path(RINGCOMM_SOURCE_DIR) / "tests/data/topology/nccl-log" / name);
}
std::vector<LogEvent> events_of(const Reading& reading, LogEventKind kind) {
  std::vector<LogEvent> events;
  std::ranges::copy_if(reading.job.events, std::back_inserter(events),
                       [&](const LogEvent& event) { return event.kind == kind; });
  return events;
}

TEST(JobMachineTest, NodesOfBothEras) {
  const auto now = nccl_log::parse_graph_node("   + PCI[0.2] - PCI/0-65000 (104c823200000000)");
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->link_class, "PCI");
  EXPECT_EQ(now->gb_per_s, 0.2);
  EXPECT_EQ(now->type, "PCI");
  EXPECT_EQ(now->system, "0");
  EXPECT_EQ(now->id, "65000");
  EXPECT_EQ(now->detail, "104c823200000000");
  const auto then = nccl_log::parse_graph_node("+ PCI[24.0] - GPU/E000 (0)");
  ASSERT_TRUE(then.has_value());
  EXPECT_EQ(then->id, "E000");
  EXPECT_EQ(nccl_log::parse_graph_node("CPU/1 (1/2/-1)")->link_class, "");
  for (const char* const bad :
       {"+ PCI[x] - PCI/1", "+ PCI[1.0] PCI/1", "CPU/", "+ PCI[1.0] - XYZ/1", "CPUs", "+ "})
    EXPECT_FALSE(nccl_log::parse_graph_node(bad).has_value()) << bad;
}

TEST(JobMachineTest, TheGraphOfOneRankBecomesTheMachine) {
  const auto reading = read_own("graph-two-gpus.log");
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.hosts.size(), 1U);
  EXPECT_EQ(machine.hosts[0].name, "alpha");
  ASSERT_EQ(machine.gpus.size(), 2U);
  const Gpu& far = machine.gpus[0];  // named by its rank before the graph
  EXPECT_EQ(far.bus->to_text(), "0000:3b:00.0");
  EXPECT_EQ(far.index, 5);
  EXPECT_EQ(far.rank, 1);
  EXPECT_EQ(far.numa_node, 1);
  const Gpu& near = machine.gpus[1];
  EXPECT_EQ(near.bus->to_text(), "0000:19:00.0");
  EXPECT_EQ(near.index, 6);  // no line tells it
  EXPECT_EQ(near.rank, 0);
  EXPECT_EQ(near.numa_node, 0);
  const PciDevice& bridge =
      machine.pci[static_cast<std::size_t>(*machine.pci[static_cast<std::size_t>(*near.pci)].parent)];
  EXPECT_EQ(bridge.id.to_text(), "0000:17:00.0");
  EXPECT_TRUE(bridge.is_bridge);
  EXPECT_EQ(bridge.vendor, 0x1000);
  EXPECT_EQ(bridge.device, 0xc010);
  EXPECT_FALSE(bridge.link.gb_per_s().has_value());  // NCCL's figure is its model
  ASSERT_EQ(machine.nics.size(), 1U);
  EXPECT_EQ(machine.nics[0].name, "mlx5_3");
  EXPECT_EQ(machine.nics[0].guid, "506b4b0300aabbcc");
  EXPECT_EQ(machine.nics[0].ports.at(0).gbit_per_s, 200.0);
  EXPECT_EQ(machine.nics[0].ports.at(0).net_index, 1);
  ASSERT_EQ(machine.links.size(), 2U);
  EXPECT_EQ(machine.links[0].gpu, 1);
  EXPECT_EQ(machine.links[0].peer, 0);
  EXPECT_FALSE(machine.links[0].count.has_value());
  EXPECT_EQ(machine.numa_nodes.size(), 2U);
  EXPECT_TRUE(machine.has_gpu_evidence && machine.has_nic_evidence && machine.has_link_evidence);
}

TEST(JobMachineTest, EdgesKeepTheirDepthAndParent) {
  const auto reading = read_own("graph-two-gpus.log");
  const auto edges = events_of(reading, LogEventKind::graph_edge);
  ASSERT_EQ(edges.size(), 9U);
  EXPECT_EQ(edges[2].value("target"), "GPU/0-19000");
  EXPECT_EQ(edges[2].value("depth"), "2");
  EXPECT_EQ(edges[2].value("parent"), "PCI/0-17000");
  EXPECT_EQ(edges[2].value("gb_per_s"), "24");
  EXPECT_EQ(edges[7].value("depth"), "1");
  EXPECT_EQ(edges[7].value("parent"), "CPU/0-1");
}

TEST(JobMachineTest, TornLinesGiveWhatIsWhole) {
  const auto reading = read_own("torn.log");
  ASSERT_EQ(reading.job.rings.size(), 2U);
  EXPECT_EQ(reading.job.rings[1].order, (std::vector<int>{0, 3, 2, 1}));
  EXPECT_TRUE(events_of(reading, LogEventKind::transport).empty());
  EXPECT_EQ(events_of(reading, LogEventKind::shm_failure).size(), 1U);
  const auto failures = events_of(reading, LogEventKind::qp_failure);
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].host, "node08.example.com");
  EXPECT_EQ(failures[0].value("code"), "110");
}

TEST(JobMachineTest, AGpuOutsideTheGraphHasUnknownLinks) {
  const auto reading =
      nccl_log::read(
          "n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 19000 commId 0x1\n"
          "n:3:4 [1] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 3b000 commId 0x1\n"
          "n:1:2 [0] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===\n"
          "n:1:2 [0] NCCL INFO CPU/0-0 (1/1/2)\n"
          "n:1:2 [0] NCCL INFO + PCI[24.0] - GPU/0-19000 (0)\n"
          "n:1:2 [0] NCCL INFO               + NVL[40.0] - NVS/0-0\n",
          "x")
          .value();
  ASSERT_EQ(reading.machine.links.size(), 1U);
  ASSERT_EQ(reading.machine.gpus.size(), 2U);
  EXPECT_FALSE(reading.machine.gpus[0].is_link_count_unknown);
  EXPECT_TRUE(reading.machine.gpus[1].is_link_count_unknown);
}

TEST(JobMachineTest, NoGpusAndNoLinksIsNoEvidenceOfNone) {
  const auto reading = nccl_log::read("n:1:2 [0] NCCL INFO Using network IB\n", "x").value();
  EXPECT_FALSE(reading.machine.has_gpu_evidence || reading.machine.has_nic_evidence ||
               reading.machine.has_link_evidence);
  EXPECT_TRUE(reading.machine.hosts.empty());
}

class CapturedLogTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(RINGCOMM_SOURCE_DIR) / "../shared/data/topology/nccl-log";
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "the captured machines are not in this checkout";
  }
  Reading read(const std::string& name) const { return read_file(folder_ / name); }
  std::filesystem::path folder_;
};

TEST_F(CapturedLogTest, SlingshotsTornLinesHold24ChannelsOfSixDirectedRings) {
  const auto reading = read("slingshot-4xa100-torn-lines.log");
  std::set<int> channels;
  std::set<std::vector<int>> orders;
  for (const auto& ring : reading.job.rings) {
    channels.insert(ring.channel);
    orders.insert(ring.order);
    EXPECT_EQ(ring.channels, 24);
  }
  EXPECT_EQ(channels.size(), 24U);
  EXPECT_EQ(orders.size(), 6U);
  for (const auto& event : events_of(reading, LogEventKind::communicator))
    EXPECT_EQ(event.value("ranks"), "4");
  for (const auto& event : events_of(reading, LogEventKind::gpu_direct))
    EXPECT_EQ(event.value("hca"), "cxi0");
  for (const auto& event : reading.job.events)
    EXPECT_TRUE(event.host.empty() || event.host == "node01") << event.host;
}

TEST_F(CapturedLogTest, BlackwellsContainerUsesSockets) {
  const auto reading = read("container-8xb200-socket.log");
  ASSERT_FALSE(reading.job.rings.empty());
  EXPECT_EQ(reading.job.rings[0].channels, 32);
  EXPECT_EQ(reading.job.rings[0].order.size(), 8U);
  EXPECT_EQ(events_of(reading, LogEventKind::network).at(0).value("name"), "Socket");
  EXPECT_EQ(events_of(reading, LogEventKind::nvls).at(0).value("channels"), "24");
  EXPECT_EQ(events_of(reading, LogEventKind::fabric).at(0).value("uuid"), "0.0");
}

TEST_F(CapturedLogTest, VirtualBridgeOfGen1LimitsTheGraph) {
  const auto reading = read("vm-gen1-bridge-graph.log");
  const auto edges = events_of(reading, LogEventKind::graph_edge);
  EXPECT_EQ(std::ranges::count_if(edges, [](const LogEvent& e) { return e.value("gb_per_s") == "0.2"; }), 3);
  EXPECT_EQ(reading.machine.gpus.size(), 3U);
  EXPECT_EQ(reading.machine.pci.at(0).vendor, 0x104c);
  EXPECT_EQ(reading.machine.pci.at(0).device, 0x8232);
  EXPECT_EQ(reading.machine.nics.at(0).ports.at(0).gbit_per_s, 400.0);
}

TEST_F(CapturedLogTest, TroublesAreFound) {
  EXPECT_EQ(events_of(read("gdr-disabled-peermem-check.log"), LogEventKind::gpu_direct).size(), 4U);
  EXPECT_EQ(events_of(read("shm-full.log"), LogEventKind::shm_failure).at(0).value("error"),
            "No space left on device");
  const auto sockets = read("no-libibverbs-socket-over-ipoib.log");
  EXPECT_EQ(events_of(sockets, LogEventKind::verbs_missing).size(), 1U);
  EXPECT_EQ(events_of(sockets, LogEventKind::interfaces).at(1).value("list"),
            "ibp5s0,ibp70s0,ibp140s0,ibp212s0");
  EXPECT_EQ(events_of(sockets, LogEventKind::system_bandwidth).at(0).value("total"), "252.0");
  EXPECT_EQ(events_of(sockets, LogEventKind::graph_edge).at(0).value("gb_per_s"), "5000");
  EXPECT_EQ(sockets.machine.gpus.at(0).bus->to_text(), "0000:0e:00.0");
  const auto rails =
      events_of(read("rail-only-fabric-cross-nic-timeout.log"), LogEventKind::qp_failure).at(0);
  EXPECT_EQ(concat(rails.value("code"), rails.value("gid_index"), rails.value("next_state")), "1103RTR");
  const auto gb200 = read("gb200-fabric-affinity.log");
  EXPECT_EQ(events_of(gb200, LogEventKind::fabric).size(), 4U);
  EXPECT_EQ(gb200.machine.gpus.size(), 4U);
  EXPECT_EQ(gb200.machine.gpus.at(0).state.fabric_state, "completed");
  const auto masks = events_of(gb200, LogEventKind::affinity);
  EXPECT_EQ(masks.at(0).value("cpus"), "0-71");
  EXPECT_EQ(masks.at(1).value("cpus"), "72-143");
  const auto p4d = read("p4d-affinity-slurm.log");
  EXPECT_EQ(events_of(p4d, LogEventKind::affinity).at(0).value("cpus"), "0-7");
  EXPECT_EQ(events_of(p4d, LogEventKind::topology_file).size(), 1U);
}

}  // namespace
}  // namespace ringcomm::topology
