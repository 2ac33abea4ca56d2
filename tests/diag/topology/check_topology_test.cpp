// SPDX-License-Identifier: Apache-2.0
// The run of all checks: ids, order, causes, and how many files are asked for.
#include <gtest/gtest.h>

#include "diag/topology/build_machine.hpp"

namespace ringcomm {
namespace {

using topology_test::case_of;
using topology_test::event;
using topology_test::finding_of;

TEST(CheckTopologyTest, IdsAreUniqueLowerCaseWordsWithASentence) {
  std::set<std::string_view> ids;
  for (const CheckId& check : topology_check_ids()) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_EQ(check.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos);
    EXPECT_GT(check.sentence.size(), 10U) << check.id;
  }
  EXPECT_GT(ids.size(), 50U);
}

TEST(CheckTopologyTest, NothingInNothingOut) { EXPECT_TRUE(check_topology({}).empty()); }

TEST(CheckTopologyTest, AtMostThreeUnknownsAskForFilesAndTheirCommandsDiffer) {
  Machine machine = topology_test::one_host(2);
  for (int i = 0; i < 4; ++i) topology_test::add_gpu(machine, {}, i / 2);
  topology_test::add_nic(machine, "mlx5_0", {});
  machine.nics[0].ports.clear();
  std::set<std::string> commands;
  std::size_t asks = 0;
  std::size_t unknowns = 0;
  for (const Finding& finding : check_topology(case_of(machine))) {
    if (finding.state != CheckState::unknown) continue;
    ++unknowns;
    EXPECT_FALSE(finding.title.empty()) << finding.id;
    if (finding.fix.empty()) continue;
    ++asks;
    commands.insert(finding.fix);
  }
  EXPECT_GT(unknowns, 5U);
  EXPECT_EQ(asks, 3U);
  EXPECT_EQ(commands.size(), 3U);
}

TEST(CheckTopologyTest, WorstProblemsComeFirstAndFollowersBehindTheirCause) {
  std::vector<LogEvent> events;
  events.push_back(event(LogEventKind::network, {{"name", "Socket"}}));
  events.push_back(event(LogEventKind::verbs_missing, {{"library", "libibverbs.so"}}));
  events.push_back(event(LogEventKind::shm_failure, {{"call", "posix_fallocate"}}));
  Machine machine = topology_test::one_host(2);
  topology_test::add_gpu(machine, {}, 0);
  topology_test::add_gpu(machine, {}, 1);
  machine.gpus[1].numa_node.reset();
  machine.gpus[1].cpus = std::vector<int>{16};
  std::vector<std::string> order;
  for (const Finding& finding : check_topology(case_of(machine, events))) {
    if (finding.state == CheckState::problem) order.push_back(finding.id);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"verbs_missing", "socket_network", "shm_too_small",
                                             "numa_node_missing"}));
}

TEST(CheckTopologyTest, SlowBridgeAndSlowPlanOfAVirtualMachineAreOneProblem) {
  Machine machine = topology_test::one_host(2);
  machine.hosts[0].is_virtual = true;
  for (int i = 0; i < 4; ++i) {
    const int bridge = topology_test::add_pci(machine, 16 * (i + 1), {}, 0x060400);
    PciDevice& above = machine.pci[static_cast<std::size_t>(bridge)];
    above.link.gt_per_s = 2.5;
    above.link.width = 1;
    above.slot = {};
    topology_test::add_gpu(machine, topology_test::add_pci(machine, (16 * (i + 1)) + 1, bridge, 0x030200),
                           i / 2);
  }
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      topology_test::state_path(machine, topology_test::gpu(a), topology_test::gpu(b),
                                a / 2 == b / 2 ? PathClass::phb : PathClass::sys);
    }
  }
  topology_test::add_nic(machine, "mlx5_0", {});
  for (int a = 0; a < 4; ++a) {
    topology_test::state_path(machine, topology_test::gpu(a), topology_test::nic(0), PathClass::sys);
  }
  const auto findings = check_topology(case_of(machine));
  ASSERT_TRUE(finding_of(findings, "vm_without_topology_file"));
  ASSERT_TRUE(finding_of(findings, "pcie_bridge_slow"));
  EXPECT_EQ(finding_of(findings, "pcie_bridge_slow")->cause, "vm_without_topology_file");
  EXPECT_EQ(findings[0].id, "vm_without_topology_file");
  EXPECT_EQ(findings[1].id, "pcie_bridge_slow");
}

TEST(CheckTopologyTest, SameInputSameFindings) {
  const auto once = check_topology(case_of(topology_test::switched_host(3)), KeepOk::yes);
  const auto twice = check_topology(case_of(topology_test::switched_host(3)), KeepOk::yes);
  ASSERT_EQ(once.size(), twice.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].id, twice[i].id);
    EXPECT_EQ(once[i].title, twice[i].title);
  }
}

}  // namespace
}  // namespace ringcomm
