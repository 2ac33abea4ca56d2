// SPDX-License-Identifier: Apache-2.0
// Ports, NICs and what a job's log says; each check is seen wrong, right and unknown.
#include <gtest/gtest.h>

#include <array>

#include "diag/topology/build_machine.hpp"

namespace ringcomm {
namespace {

using topology_test::case_of;
using topology_test::event;
using topology_test::finding_of;
using topology_test::nic;
using topology_test::switched_host;

std::vector<Finding> judged(Machine machine, std::vector<LogEvent> events = {}) {
  return check_topology(case_of(std::move(machine), std::move(events)));
}

TEST(PortChecksTest, EveryWayToBeDownHasItsOwnId) {
  const auto with = [](PortState state, PhysState phys) {
    Machine machine = switched_host(1);
    machine.nics[0].ports[0].state = state;
    machine.nics[0].ports[0].phys_state = phys;
    return judged(machine);
  };
  EXPECT_TRUE(finding_of(with(PortState::down, PhysState::polling), "port_polling"));
  EXPECT_TRUE(finding_of(with(PortState::down, PhysState::disabled), "port_disabled"));
  EXPECT_TRUE(finding_of(with(PortState::initializing, PhysState::link_up), "port_down"));
  EXPECT_FALSE(finding_of(with(PortState::down, PhysState::polling), "port_down"));
  const auto blank = with(PortState::unknown, PhysState::polling);
  EXPECT_FALSE(finding_of(blank, "port_polling"));
  EXPECT_TRUE(finding_of(blank, "port_state_unknown", CheckState::unknown));
  const auto no_reason = with(PortState::down, PhysState::unknown);
  EXPECT_TRUE(finding_of(no_reason, "port_down"));
  EXPECT_TRUE(finding_of(no_reason, "port_state_unknown", CheckState::unknown));
}

TEST(PortChecksTest, MissingPortSectionIsUnknownNotDown) {
  Machine machine = switched_host(1);
  machine.nics[0].ports.clear();
  const auto findings = judged(machine);
  EXPECT_FALSE(finding_of(findings, "port_down"));
  EXPECT_TRUE(finding_of(findings, "port_state_unknown", CheckState::unknown));
}

TEST(PortChecksTest, RateIsComparedWithPeersOfTheSameLinkLayer) {
  Machine machine = switched_host(4);
  machine.nics[2].ports[0].gbit_per_s = 200;
  const auto finding = finding_of(judged(machine), "port_rate_below_peers");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].wanted, "400 Gb/s, as its peers");
  machine.nics[2].ports[0].gbit_per_s.reset();
  EXPECT_FALSE(finding_of(judged(machine), "port_rate_below_peers"));
  EXPECT_TRUE(finding_of(judged(machine), "port_rate_below_peers", CheckState::unknown));
  machine.nics[2].ports[0].gbit_per_s = 200;
  machine.nics[2].ports[0].state = PortState::down;  // a port that is down reports its lowest rate
  EXPECT_FALSE(finding_of(judged(machine), "port_rate_below_peers"));
}

TEST(PortChecksTest, MtuOfAllPortsIsOne) {
  Machine machine = switched_host(2);
  machine.nics[1].ports[0].active_mtu_bytes = 2048;
  auto finding = finding_of(judged(machine), "port_mtu");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::failure);
  for (Nic& one : machine.nics) {
    one.ports[0].active_mtu_bytes = 1024;
    one.ports[0].link_layer = LinkLayer::ethernet;
  }
  finding = finding_of(judged(machine), "port_mtu");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::warning);
}

TEST(PortChecksTest, GidIsChosenByContent) {
  Machine machine = switched_host(1);
  Port& port = machine.nics[0].ports[0];
  port.link_layer = LinkLayer::ethernet;
  const auto add = [&](int index, const char* address, const char* type) {
    Gid gid;
    gid.index = index;
    gid.address = address;
    gid.type = type;
    port.gids.push_back(gid);
  };
  add(0, "fe80:0000:0000:0000:0200:00ff:fe00:0001", "RoCE v1");
  add(1, "fe80::200:ff:fe00:1", "RoCE v2");
  add(5, "::ffff:192.0.2.6", "RoCE v2");
  const auto uses = [](const char* index) {
    return event(LogEventKind::environment, {{"name", "NCCL_IB_GID_INDEX"}, {"value", index}});
  };
  EXPECT_FALSE(finding_of(judged(machine), "gid_index"));
  EXPECT_FALSE(finding_of(judged(machine, {uses("5")}), "gid_index"));
  for (const char* bad : {"0", "1", "3"}) {
    const auto finding = finding_of(judged(machine, {uses(bad)}), "gid_index");
    ASSERT_TRUE(finding) << bad;
    EXPECT_EQ(finding->fix, "export NCCL_IB_GID_INDEX=5 UCX_IB_GID_INDEX=5");
  }
}

Machine two_sockets() {
  Machine machine = topology_test::one_host(2);
  for (int i = 0; i < 2; ++i) {
    topology_test::add_gpu(machine, {}, i);
    topology_test::add_nic(machine, "mlx5_" + std::to_string(i), {});
    machine.nics[static_cast<std::size_t>(i)].ports[0].net_index = i;
  }
  topology_test::state_path(machine, topology_test::gpu(0), topology_test::gpu(1), PathClass::sys);
  for (int i = 0; i < 4; ++i) {
    topology_test::state_path(machine, topology_test::gpu(i % 2), nic(i / 2),
                              i % 2 == i / 2 ? PathClass::pix : PathClass::sys);
  }
  return machine;
}

LogEvent sends(const char* from, const char* via) {
  return event(LogEventKind::transport, {{"from", from}, {"to", "9[0]"}, {"via", via}});
}

TEST(NicChecksTest, FarNicIsAProblemWhenANearerOneIsThere) {
  EXPECT_FALSE(finding_of(judged(two_sockets(), {sends("0[0]", "NET/IB/0"), sends("1[1]", "NET/IB/1")}),
                          "nic_far_from_gpu"));
  const auto findings = judged(two_sockets(), {sends("0[0]", "NET/IB/0"), sends("1[1]", "NET/IB/0")});
  const auto finding = finding_of(findings, "nic_far_from_gpu");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].read, "GPU1 uses mlx5_0: SYS");
  const auto idle = finding_of(findings, "nics_idle");
  ASSERT_TRUE(idle);
  EXPECT_EQ(idle->cause, "nic_far_from_gpu");
}

TEST(NicChecksTest, ExcludedNicIsInfoUnlessTheJobNamesIt) {
  TopologyCase input = case_of(two_sockets());
  input.rings.excluded.push_back({.nic = 1, .reason = "SYS to every GPU"});
  auto finding = finding_of(check_topology(input), "nic_not_a_rail");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::info);
  EXPECT_EQ(finding->fix, "export NCCL_IB_HCA=^=mlx5_1");
  input.evidence.job.events.push_back(
      event(LogEventKind::environment, {{"name", "NCCL_IB_HCA"}, {"value", "mlx5_0,mlx5_1"}}));
  finding = finding_of(check_topology(input), "nic_not_a_rail");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::warning);
}

TEST(NicChecksTest, ListOfTheJobIsReadAsNcclReadsIt) {
  struct Row {
    const char* list;
    bool is_used;
  };
  constexpr std::array<Row, 11> kRows{{{"mlx5_1", true},
                                       {"mlx5_1:1", true},
                                       {"mlx5_0,mlx5_1", true},
                                       {"mlx5", true},
                                       {"=mlx5", false},
                                       {"=mlx5_1", true},
                                       {"mlx5_10,mlx5_11", false},
                                       {"^mlx5_10", true},
                                       {"^mlx5_1", false},
                                       {"^=mlx5_1,mlx5_2", false},
                                       {"^=mlx5", true}}};
  for (const Row& row : kRows) {
    TopologyCase input = case_of(two_sockets());
    input.rings.excluded.push_back({.nic = 1, .reason = "SYS to every GPU"});
    input.evidence.job.events.push_back(
        event(LogEventKind::environment, {{"name", "NCCL_IB_HCA"}, {"value", row.list}}));
    const auto finding = finding_of(check_topology(input), "nic_not_a_rail");
    ASSERT_TRUE(finding) << row.list;
    EXPECT_EQ(finding->severity == Severity::warning, row.is_used) << row.list;
  }
}

TEST(NicChecksTest, ColumnNamesAreNeverAdvisedAsDeviceNames) {
  Machine machine = two_sockets();
  for (std::size_t i = 0; i < 2; ++i) machine.nics[i].name = "NIC" + std::to_string(i);
  TopologyCase excluded = case_of(machine);
  excluded.rings.excluded.push_back({.nic = 1, .reason = "SYS to every GPU"});
  const auto not_a_rail = finding_of(check_topology(excluded), "nic_not_a_rail");
  const auto far =
      finding_of(judged(machine, {sends("0[0]", "NET/IB/0"), sends("1[1]", "NET/IB/0")}), "nic_far_from_gpu");
  for (const auto& finding : {not_a_rail, far}) {
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->fix.find("NCCL_IB_HCA"), std::string::npos) << finding->fix;
    EXPECT_NE(finding->fix.find("NIC legend"), std::string::npos) << finding->fix;
  }
}

TEST(NicChecksTest, BondIsFoundInEvidenceOfNicsAlone) {
  Machine machine;
  machine.hosts.emplace_back();
  for (const char* name : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_bond_0"})
    topology_test::add_nic(machine, name, {});
  EXPECT_FALSE(finding_of(judged(machine), "nic_not_a_rail"));
  machine.nics[3].ports[0].link_layer = LinkLayer::ethernet;
  machine.nics[3].ports[0].gbit_per_s = 25;
  const auto finding = finding_of(judged(machine), "nic_not_a_rail");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fix, "export NCCL_IB_HCA=^=mlx5_bond_0");
}

TEST(NicChecksTest, WordsFitTheMachine) {
  Machine machine = two_sockets();
  machine.nics.pop_back();
  std::erase_if(machine.stated_paths,
                [](const StatedPath& path) { return path.to == nic(1) || path.from == nic(1); });
  auto finding = finding_of(judged(machine), "nic_far_from_gpu");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fix.find("PXN"), std::string::npos) << finding->fix;
  EXPECT_EQ(finding->title, "GPU1 has no NIC nearer than SYS");
  Machine sockets = two_sockets();
  for (Nic& one : sockets.nics) one.is_rdma = false;
  finding = finding_of(judged(sockets), "no_rdma_nic");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].wanted.find("NVSwitch"), std::string::npos);
}

TEST(NicChecksTest, HostsHaveTheSameNics) {
  Machine machine = two_sockets();
  machine.hosts.emplace_back();
  machine.nics[1].host = 1;
  EXPECT_TRUE(finding_of(judged(machine), "hca_sets_differ"));
  machine.nics[1].name = machine.nics[0].name;
  EXPECT_FALSE(finding_of(judged(machine), "hca_sets_differ"));
  machine.nics[1].ports[0].gbit_per_s.reset();
  EXPECT_TRUE(finding_of(judged(machine), "hca_sets_differ", CheckState::unknown));
}

TEST(NicChecksTest, SocketNicsAloneAreAProblemBesideNvswitch) {
  Machine machine = two_sockets();
  for (Nic& one : machine.nics) one.is_rdma = false;
  auto finding = finding_of(judged(machine), "no_rdma_nic");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::info);
  topology_test::add_switch_link(machine, 0, 18);
  topology_test::add_switch_link(machine, 1, 18);
  finding = finding_of(judged(machine), "no_rdma_nic");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::warning);
}

TEST(LogChecksTest, EveryKindOfEventHasItsFinding) {
  struct Row {
    const char* id;
    LogEvent event;
  };
  const std::vector<Row> rows{
      {"rails_not_connected", event(LogEventKind::qp_failure, {{"call", "ibv_modify_qp"}, {"code", "110"}})},
      {"qp_failure", event(LogEventKind::qp_failure, {{"call", "ibv_modify_qp"}, {"code", "22"}})},
      {"verbs_missing", event(LogEventKind::verbs_missing, {{"library", "libibverbs.so"}})},
      {"socket_network", event(LogEventKind::interfaces, {{"plugin", "Socket"}, {"list", "ibp5s0,ibp70s0"}})},
      {"bootstrap_interface", event(LogEventKind::interfaces, {{"plugin", "Socket"}, {"list", "docker0"}})},
      {"firewall",
       event(LogEventKind::warning, {{"text", "connect to 192.0.2.1 failed : Connection refused"}})},
      {"shm_too_small",
       event(LogEventKind::shm_failure, {{"call", "posix_fallocate"}, {"error", "No space"}})},
      {"memlock_low", event(LogEventKind::warning, {{"text", "Call to ibv_reg_mr failed"}})},
      {"p2p_refused", event(LogEventKind::p2p_disabled, {{"text", "P2P is disabled between NVLINK"}})},
      {"gpu_used_twice", event(LogEventKind::warning, {{"text", "Duplicate GPU detected : rank 0 and 1"}})},
  };
  for (const Row& row : rows) {
    const auto finding = finding_of(judged({}, {row.event}), row.id);
    ASSERT_TRUE(finding) << row.id;
    EXPECT_GE(finding->severity, Severity::warning) << row.id;
    EXPECT_EQ(finding->evidence.at(0).where.to_text(), "job.log:7") << row.id;
    EXPECT_FALSE(finding->fix.empty()) << row.id;
    for (const Row& other : rows) {
      const bool is_found = finding_of(judged({}, {other.event}), row.id).has_value();
      EXPECT_EQ(is_found, other.id == row.id) << row.id << " by the event of " << other.id;
    }
  }
}

TEST(LogChecksTest, SocketsFollowFromMissingVerbs) {
  const auto findings =
      judged({}, {event(LogEventKind::verbs_missing, {{"library", "libibverbs.so"}}),
                  event(LogEventKind::interfaces, {{"plugin", "Socket"}, {"list", "ibp5s0"}})});
  ASSERT_TRUE(finding_of(findings, "socket_network"));
  EXPECT_EQ(finding_of(findings, "socket_network")->cause, "verbs_missing");
  EXPECT_EQ(findings[0].id, "verbs_missing");
  EXPECT_EQ(findings[1].id, "socket_network");
}

TEST(LogChecksTest, SocketsWithoutAnyRdmaAreInfo) {
  const auto finding =
      finding_of(judged({}, {event(LogEventKind::network, {{"name", "Socket"}})}), "socket_network");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::info);
}

TEST(LogChecksTest, VersionsOfOneLibraryDiffer) {
  const auto version = [](const char* library, const char* number) {
    return event(LogEventKind::version, {{"library", library}, {"version", number}});
  };
  EXPECT_FALSE(finding_of(judged({}, {version("NCCL", "2.27"), version("CUDA", "12.9")}), "versions_differ"));
  EXPECT_TRUE(finding_of(judged({}, {version("NCCL", "2.27"), version("NCCL", "2.28")}), "versions_differ"));
}

LogEvent bound(const char* gpu, const char* cpus) {
  return event(LogEventKind::affinity, {{"gpu", gpu}, {"mask", "ff"}, {"cpus", cpus}});
}

TEST(BindingChecksTest, MaskIsComparedWithTheGpusNode) {
  const Machine machine = two_sockets();
  EXPECT_FALSE(finding_of(judged(machine, {bound("1", "16-31")}), "affinity_narrow"));
  EXPECT_TRUE(finding_of(judged(machine, {bound("1", "16-19")}), "affinity_narrow"));
  EXPECT_TRUE(finding_of(judged(machine, {bound("1", "0-15")}), "affinity_off_node"));
  EXPECT_FALSE(finding_of(judged(machine, {bound("1", "0-31")}), "affinity_off_node"));
  Machine blank = machine;
  blank.gpus[1].numa_node.reset();
  EXPECT_FALSE(finding_of(judged(blank, {bound("1", "0-15")}), "affinity_off_node"));
  EXPECT_TRUE(finding_of(judged(blank, {bound("1", "0-15")}), "affinity_narrow", CheckState::unknown));
}

TEST(BindingChecksTest, MoreRanksThanCpusOverlap) {
  EXPECT_TRUE(finding_of(judged({}, {bound("0", "3"), bound("1", "3")}), "affinity_overlap"));
  EXPECT_FALSE(finding_of(judged({}, {bound("0", "0-15"), bound("1", "0-15")}), "affinity_overlap"));
}

TEST(EvidenceChecksTest, RefusedHwlocXmlSaysHowToExport) {
  TopologyCase input;
  input.unread.push_back(
      {.file = "new.xml", .status = Status::not_available("hwloc XML version 3.0 (hwloc 2 reads 1 and 2)")});
  const auto finding = finding_of(check_topology(input), "hwloc_too_old");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->fix, "lstopo -i new.xml --of v2xml out.xml");
}

TEST(EvidenceChecksTest, OldHwlocDoesNotShowHopperLinks) {
  const auto judged_with = [](const char* version, int capability) {
    Machine machine = two_sockets();
    machine.stated_paths.clear();
    machine.has_link_evidence = false;
    for (Gpu& one : machine.gpus) one.compute_capability = capability;
    return judged(machine, {event(LogEventKind::version, {{"library", "hwloc"}, {"version", version}})});
  };
  EXPECT_TRUE(finding_of(judged_with("2.9.1", 90), "hwloc_too_old"));
  EXPECT_FALSE(finding_of(judged_with("2.11.0", 90), "hwloc_too_old"));
  EXPECT_TRUE(finding_of(judged_with("2.11.0", 90), "hwloc_too_old", CheckState::unknown));
  EXPECT_FALSE(finding_of(judged_with("2.9.1", 80), "hwloc_too_old"));
}

TEST(EvidenceChecksTest, ContradictionsShowBothSides) {
  TopologyCase input;
  input.evidence.contradictions.push_back({.subject = "GPU3 NVLinks",
                                           .first = "18",
                                           .first_where = {.file = "a.txt", .line = 4},
                                           .second = "0",
                                           .second_where = {.file = "b.txt", .line = 9}});
  const auto finding = finding_of(check_topology(input), "evidence_contradiction");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].read, "GPU3 NVLinks: 18 (a.txt:4)");
  EXPECT_EQ(finding->evidence[0].wanted, "0 (b.txt:9)");
}

}  // namespace
}  // namespace ringcomm
