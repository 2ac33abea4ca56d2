// SPDX-License-Identifier: Apache-2.0
// NVLink, GPU and peer checks on small machines; each is seen wrong, right and unknown.
#include <gtest/gtest.h>

#include "diag/topology/build_machine.hpp"

namespace ringcomm {
namespace {

using topology_test::add_gpu;
using topology_test::add_link;
using topology_test::case_of;
using topology_test::event;
using topology_test::finding_of;
using topology_test::gpu;

std::vector<Finding> judged(Machine machine, std::vector<LogEvent> events = {}) {
  return check_topology(case_of(std::move(machine), std::move(events)));
}

Machine gpus(int count) {
  Machine machine = topology_test::one_host(1);
  for (int i = 0; i < count; ++i) add_gpu(machine, {});
  return machine;
}

Machine switched(int count, int links) {
  Machine machine = gpus(count);
  for (int i = 0; i < count; ++i) topology_test::add_switch_link(machine, i, links);
  return machine;
}

void set_ports(Gpu& gpu, int active, int inactive) {
  gpu.nvlink_ports.clear();
  for (int i = 0; i < active + inactive; ++i) {
    NvLinkPort port;
    port.index = i;
    port.is_active = i < active;
    gpu.nvlink_ports.push_back(port);
  }
}

TEST(NvlinkChecksTest, InactiveLinksAreJudgedByProductOrByPeers) {
  Machine machine = gpus(1);
  machine.has_link_evidence = true;
  set_ports(machine.gpus[0], 4, 2);
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_inactive"));
  EXPECT_TRUE(finding_of(judged(machine), "nvlink_inactive", CheckState::unknown));
  machine.gpus[0].name = "Tesla V100-SXM2-32GB";
  const auto finding = finding_of(judged(machine), "nvlink_inactive");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].wanted, "6 on Tesla V100-SXM2-32GB");
  Machine pair = gpus(2);
  pair.has_link_evidence = true;
  set_ports(pair.gpus[0], 4, 2);
  set_ports(pair.gpus[1], 6, 0);
  EXPECT_TRUE(finding_of(judged(pair), "nvlink_inactive"));
  set_ports(pair.gpus[1], 4, 2);  // all alike
  EXPECT_FALSE(finding_of(judged(pair), "nvlink_inactive"));
  pair.gpus[1].nvlink_ports[0].is_active.reset();
  EXPECT_TRUE(finding_of(judged(pair), "nvlink_inactive", CheckState::unknown));
}

TEST(NvlinkChecksTest, OddBridgeIsPartlySeated) {
  Machine machine = gpus(2);
  machine.has_link_evidence = true;
  topology_test::state_path(machine, gpu(0), gpu(1), PathClass::nvl, 3);
  EXPECT_TRUE(finding_of(judged(machine), "nvlink_inactive"));
  for (StatedPath& path : machine.stated_paths) path.nvlinks = 4;
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_inactive"));
  for (StatedPath& path : machine.stated_paths) path.nvlinks.reset();
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_inactive"));
  EXPECT_TRUE(finding_of(judged(machine), "nvlink_inactive", CheckState::unknown));
}

TEST(NvlinkChecksTest, GpuWithoutLinksAmongAFabricIsMissing) {
  Machine machine = switched(3, 18);
  add_gpu(machine, {});
  const auto finding = finding_of(judged(machine), "nvlink_missing_on_gpu");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->devices, std::vector<DeviceRef>{gpu(3)});
  EXPECT_EQ(finding->evidence[0].wanted, "18, as GPU0");
  machine.links[0].count.reset();
  EXPECT_TRUE(finding_of(judged(machine), "nvlink_missing_on_gpu", CheckState::unknown));
}

TEST(NvlinkChecksTest, AGpuThatNoSourceOfLinksListsIsUnknownAndNotMissing) {
  Machine machine = gpus(5);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from != to) add_link(machine, from, to, 4);
    }
  }
  machine.gpus[4].is_link_count_unknown = true;
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_missing_on_gpu"));
  EXPECT_TRUE(finding_of(judged(machine), "nvlink_missing_on_gpu", CheckState::unknown));
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_uneven_pair", CheckState::unknown));
  // It hides no GPU that lost its links.
  add_gpu(machine, {});
  const auto finding = finding_of(judged(machine), "nvlink_missing_on_gpu");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->devices.size(), 1U);
  machine.gpus[4].is_link_count_unknown = false;
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_missing_on_gpu"));
}

TEST(NvlinkChecksTest, LoneGpuBesideABridgedPairIsADesign) {
  Machine machine = gpus(3);
  add_link(machine, 0, 1, 4);
  add_link(machine, 1, 0, 4);
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_missing_on_gpu"));
}

TEST(NvlinkChecksTest, FewerLinksThanPeersBehindSwitches) {
  Machine machine = switched(4, 18);
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_fewer_than_peers"));
  machine.links[2].count = 16;
  const auto finding = finding_of(judged(machine), "nvlink_fewer_than_peers");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].read, "GPU2: 16 NVLinks to switches");
}

TEST(NvlinkChecksTest, MatrixOfASwitchShowsTheWeakerEnd) {
  Machine machine = gpus(4);
  machine.has_link_evidence = true;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      topology_test::state_path(machine, gpu(a), gpu(b), PathClass::nvl, b == 3 ? 16 : 18);
    }
  }
  const auto finding = finding_of(judged(machine), "nvlink_fewer_than_peers");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->devices, std::vector<DeviceRef>{gpu(3)});
}

TEST(NvlinkChecksTest, MeshesOfUnequalPairsAreNoSwitch) {
  Machine machine = gpus(4);  // p3.8xlarge: 4, 4, 5 and 5 links
  machine.has_link_evidence = true;
  topology_test::state_path(machine, gpu(0), gpu(1), PathClass::nvl, 1);
  topology_test::state_path(machine, gpu(0), gpu(2), PathClass::nvl, 1);
  topology_test::state_path(machine, gpu(0), gpu(3), PathClass::nvl, 2);
  topology_test::state_path(machine, gpu(1), gpu(2), PathClass::nvl, 2);
  topology_test::state_path(machine, gpu(1), gpu(3), PathClass::nvl, 1);
  topology_test::state_path(machine, gpu(2), gpu(3), PathClass::nvl, 2);
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_fewer_than_peers"));
}

TEST(NvlinkChecksTest, PairsDifferByDirection) {
  Machine machine = gpus(2);
  add_link(machine, 0, 1, 2);
  add_link(machine, 1, 0, 1);
  EXPECT_TRUE(finding_of(judged(machine), "nvlink_uneven_pair"));
  machine.links[1].count.reset();
  EXPECT_FALSE(finding_of(judged(machine), "nvlink_uneven_pair"));
  EXPECT_TRUE(finding_of(judged(machine), "nvlink_uneven_pair", CheckState::unknown));
}

TEST(NvlinkChecksTest, ArmHostsShowC2c) {
  Machine machine = switched(1, 18);
  machine.packages[0].arch = "arm64";
  // nvidia-smi and hwloc show NVLinks and no C2C.
  EXPECT_FALSE(finding_of(judged(machine), "c2c_missing"));
  EXPECT_TRUE(finding_of(judged(machine), "c2c_missing", CheckState::unknown));
  machine.gpus[0].compute_capability = 90;
  EXPECT_TRUE(finding_of(judged(machine), "c2c_missing", CheckState::unknown));
  machine.gpus[0].gpu_direct = true;
  EXPECT_TRUE(finding_of(judged(machine), "c2c_missing"));
  machine.gpus[0].compute_capability = 80;  // an A100 in an Ampere Altra host
  EXPECT_FALSE(finding_of(judged(machine), "c2c_missing"));
  EXPECT_FALSE(finding_of(judged(machine), "c2c_missing", CheckState::unknown));
  machine.gpus[0].compute_capability = 90;
  Link c2c;
  c2c.kind = LinkKind::c2c;
  machine.links.push_back(c2c);
  EXPECT_FALSE(finding_of(judged(machine), "c2c_missing"));
}

TEST(GpuChecksTest, StatesAreJudgedAndBlanksAreUnknown) {
  struct Row {
    const char* id;
    void (*set)(GpuState& state, bool is_bad);
  };
  const std::array rows{
      Row{"mig_enabled", [](GpuState& state, bool bad) { state.mig_enabled = bad; }},
      Row{"compute_mode_exclusive",
          [](GpuState& state, bool bad) { state.compute_mode = bad ? "Exclusive_Process" : "Default"; }},
      Row{"persistence_off", [](GpuState& state, bool bad) { state.persistence = !bad; }},
      Row{"gpu_memory_errors",
          [](GpuState& state, bool bad) {
            state.ecc_uncorrected = 0;
            state.remap_pending = bad;
            state.remap_failed = false;
          }},
      Row{"clocks_held_down",
          [](GpuState& state, bool bad) {
            state.clock_event_reasons = bad ? "HW Slowdown" : "SW Power Cap";
          }},
  };
  for (const Row& row : rows) {
    Machine machine = gpus(2);
    EXPECT_TRUE(finding_of(judged(machine), row.id, CheckState::unknown)) << row.id;
    for (Gpu& one : machine.gpus) row.set(one.state, false);
    EXPECT_FALSE(finding_of(judged(machine), row.id)) << row.id;
    EXPECT_FALSE(finding_of(judged(machine), row.id, CheckState::unknown)) << row.id;
    row.set(machine.gpus[1].state, true);
    const auto finding = finding_of(judged(machine), row.id);
    ASSERT_TRUE(finding) << row.id;
    EXPECT_EQ(finding->devices, std::vector<DeviceRef>{gpu(1)}) << row.id;
  }
}

TEST(GpuChecksTest, OneUuidTwiceIsAGpuUsedTwice) {
  Machine machine = gpus(2);
  machine.gpus[0].uuid = machine.gpus[1].uuid = "GPU-1";
  EXPECT_TRUE(finding_of(judged(machine), "gpu_used_twice"));
  machine.gpus[1].uuid = "GPU-2";
  EXPECT_FALSE(finding_of(judged(machine), "gpu_used_twice"));
}

TEST(PeerChecksTest, RefusalSaysWhy) {
  Machine machine = gpus(2);
  EXPECT_TRUE(finding_of(judged(machine), "p2p_refused", CheckState::unknown));
  P2pStatus cell;
  cell.to = 1;
  cell.status = "OK";
  machine.p2p.push_back(cell);
  EXPECT_FALSE(finding_of(judged(machine), "p2p_refused"));
  machine.p2p[0].status = "GNS";
  const auto finding = finding_of(judged(machine), "p2p_refused");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].read, "GPU0 to GPU1: GNS, the GPU or its driver does not support it");
  machine.p2p[0].status = "";
  EXPECT_TRUE(finding_of(judged(machine), "p2p_refused", CheckState::unknown));
}

TEST(PeerChecksTest, GpuDirectIsReadFromLogsAndDevices) {
  const auto off = event(LogEventKind::gpu_direct, {{"state", "Disabled"}, {"hca", "mlx5_0"}});
  EXPECT_TRUE(finding_of(judged({}, {off}), "gpu_direct_disabled"));
  auto on = event(LogEventKind::gpu_direct, {{"state", "Enabled"}, {"hca", "mlx5_0"}});
  EXPECT_FALSE(finding_of(judged({}, {on}), "gpu_direct_disabled"));
  on.host = "node02";
  const auto findings = judged({}, {off, on});
  const auto one_side = finding_of(findings, "gpu_direct_one_side");
  ASSERT_TRUE(one_side);
  EXPECT_EQ(one_side->cause, "gpu_direct_disabled");
}

TEST(PeerChecksTest, FabricMustBeReadyAndOne) {
  Machine machine = switched(2, 18);
  EXPECT_TRUE(finding_of(judged(machine), "fabric_not_ready", CheckState::unknown));
  machine.gpus[0].state.fabric_state = machine.gpus[1].state.fabric_state = "completed";
  EXPECT_FALSE(finding_of(judged(machine), "fabric_not_ready"));
  machine.gpus[1].state.fabric_state = "in progress";
  EXPECT_TRUE(finding_of(judged(machine), "fabric_not_ready"));
  const auto clique = [](const char* name) {
    return event(LogEventKind::fabric,
                 {{"bus", "901000"}, {"uuid", "1.1"}, {"clique", name}, {"state", "3"}});
  };
  EXPECT_FALSE(finding_of(judged({}, {clique("0x1"), clique("0x1")}), "fabric_clique_differs"));
  EXPECT_TRUE(finding_of(judged({}, {clique("0x1"), clique("0x2")}), "fabric_clique_differs"));
}

}  // namespace
}  // namespace ringcomm
