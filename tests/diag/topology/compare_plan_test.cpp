// SPDX-License-Identifier: Apache-2.0
// Configured against best on the DGX-1 mesh: its one all-NV2 ring and the default order are known.
#include <gtest/gtest.h>

#include <array>

#include "diag/topology/build_machine.hpp"

namespace ringcomm {
namespace {

using topology_test::gpu;

Machine dgx1() {
  Machine machine = topology_test::one_host(2);
  for (int i = 0; i < 8; ++i) {
    topology_test::add_gpu(machine, {}, i / 4);
    machine.gpus.back().compute_capability = 70;
  }
  machine.has_link_evidence = true;
  constexpr std::array<std::array<int, 8>, 8> kLinks{{{0, 1, 1, 2, 2, 0, 0, 0},
                                                      {1, 0, 2, 1, 0, 2, 0, 0},
                                                      {1, 2, 0, 2, 0, 0, 1, 0},
                                                      {2, 1, 2, 0, 0, 0, 0, 1},
                                                      {2, 0, 0, 0, 0, 1, 1, 2},
                                                      {0, 2, 0, 0, 1, 0, 2, 1},
                                                      {0, 0, 1, 0, 1, 2, 0, 2},
                                                      {0, 0, 0, 1, 2, 1, 2, 0}}};
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) {
      const int links = kLinks[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
      topology_test::state_path(machine, gpu(a), gpu(b), links > 0 ? PathClass::nvl : PathClass::sys,
                                links > 0 ? std::optional(links) : std::nullopt);
    }
  }
  return machine;
}

/// [0 3 2 1 5 6 7 4] with devices by their index; turning and reversing are allowed.
std::vector<int> order_in_devices(const TopologyCase& input, const std::vector<int>& indices) {
  std::vector<int> order;
  for (const int index : indices) {
    for (std::size_t i = 0; i < input.rings.graph.devices.size(); ++i) {
      if (input.rings.graph.devices[i] == gpu(index)) order.push_back(static_cast<int>(i));
    }
  }
  return order;
}

TEST(ComparePlanTest, DefaultOrderHasTwoSlowEdgesAndTheVariableNamesTheBest) {
  const TopologyCase input = topology_test::case_of(dgx1());
  const auto plan = compare_plan(input, order_in_devices(input, {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(plan.is_known);
  EXPECT_FALSE(plan.is_ok);
  EXPECT_EQ(plan.slowest_now, "SYS");
  EXPECT_EQ(plan.slowest_best, "NV2");
  ASSERT_EQ(plan.edges.size(), 8U);
  std::size_t slow = 0;
  for (const EdgeComparison& edge : plan.edges) {
    if (edge.level_now == "SYS") {
      ++slow;
      EXPECT_NE(edge.cause.find("SYS instead of NV2"), std::string::npos) << edge.cause;
    }
  }
  EXPECT_EQ(slow, 2U);
  EXPECT_EQ(plan.variable.substr(0, 20), "RINGCOMM_RING_ORDER=");
}

TEST(ComparePlanTest, BestOrderIsOkEitherWayRound) {
  const TopologyCase input = topology_test::case_of(dgx1());
  for (const auto& order : {std::vector{0, 3, 2, 1, 5, 6, 7, 4}, std::vector{5, 1, 2, 3, 0, 4, 7, 6}}) {
    const auto plan = compare_plan(input, order_in_devices(input, order));
    EXPECT_TRUE(plan.is_ok) << plan.slowest_now;
    EXPECT_TRUE(plan.variable.empty());
    for (const EdgeComparison& edge : plan.edges) EXPECT_EQ(edge.level_now, "NV2");
  }
}

TEST(ComparePlanTest, LogChannelsAreComparedAndTheirProblemIsFound) {
  TopologyCase input = topology_test::case_of(dgx1());
  ConfiguredRing ring;
  ring.order = {0, 1, 2, 3, 4, 5, 6, 7};
  ring.where = {.file = "job.log", .line = 12};
  input.evidence.job.rings = {ring};
  const auto plan = compare_plan(input);
  EXPECT_EQ(plan.source, "NCCL channel 0 of job.log:12");
  EXPECT_EQ(plan.variable.substr(0, 21), "CUDA_VISIBLE_DEVICES=");
  const auto finding = topology_test::finding_of(check_topology(input), "plan_slower_than_best");
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[0].where.to_text(), "job.log:12");
  EXPECT_EQ(finding->fix, "export " + plan.variable);
}

TEST(ComparePlanTest, IdleLinksOfACompleteListAreAProblem) {
  TopologyCase input = topology_test::case_of(dgx1());
  ConfiguredRing ring;
  ring.order = {0, 3, 2, 1, 5, 6, 7, 4};
  input.evidence.job.rings = {ring, ring};
  input.evidence.job.rings[1].channel = 1;
  const auto plan = compare_plan(input);
  EXPECT_FALSE(plan.is_ok);
  EXPECT_EQ(plan.slowest_now, plan.slowest_best);
  EXPECT_EQ(plan.links_used_now, 16);
  EXPECT_EQ(plan.links_total, 48);
  input.evidence.job.rings[1].channel = 7;  // a gap: the list was cut
  EXPECT_TRUE(compare_plan(input).is_ok);
}

TEST(ComparePlanTest, LinksAreCountedAlikeOnBothSides) {
  const TopologyCase input = topology_test::case_of(dgx1());
  const auto best = compare_plan(input, input.rings.best.order);
  EXPECT_EQ(best.links_used_now, 32);  // 8 edges, 2 links, 2 directions
  EXPECT_EQ(best.links_used_best, 32);
  const auto slow = compare_plan(input, order_in_devices(input, {0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(slow.links_used_now, 12);  // 2 edges have no link
  EXPECT_EQ(slow.links_used_best, 32);
}

TEST(ComparePlanTest, NothingConfiguredIsNoProblem) {
  const TopologyCase input = topology_test::case_of(dgx1());
  const auto plan = compare_plan(input);
  EXPECT_FALSE(plan.is_known);
  EXPECT_EQ(plan.edges.size(), 8U);
  EXPECT_FALSE(topology_test::finding_of(check_topology(input), "plan_slower_than_best"));
}

/// The same mesh, GPUs in the file the other way round.
Machine dgx1_backwards() {
  Machine machine = dgx1();
  for (std::size_t i = 0; i < 8; ++i) {
    machine.gpus[i].index = 7 - static_cast<int>(i);
    machine.gpus[i].bus = topology_test::bus(200 + static_cast<int>(i));
  }
  return machine;
}

TEST(ComparePlanTest, RanksAreCountedByGpuIndexNotByTheFilesOrder) {
  TopologyCase input = topology_test::case_of(dgx1_backwards());
  const auto indices = [&](const std::vector<int>& order) {
    std::vector<int> out;
    for (const int vertex : order) {
      const auto position =
          static_cast<std::size_t>(input.rings.graph.devices[static_cast<std::size_t>(vertex)].position);
      out.push_back(input.evidence.machine.gpus[position].index);
    }
    return out;
  };
  EXPECT_EQ(indices(compare_plan(input).order), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  const auto given = compare_plan(input, input.rings.best.order);
  EXPECT_TRUE(given.is_ok);
  const auto bad = compare_plan(input, order_in_devices(input, {0, 1, 2, 3, 4, 5, 6, 7}));
  ASSERT_FALSE(bad.is_ok);
  // What it says to set is read back as the best order.
  input.evidence.job.events.push_back(topology_test::event(
      LogEventKind::environment, {{"name", "RINGCOMM_RING_ORDER"}, {"value", bad.variable.substr(20)}}));
  const auto set = compare_plan(input);
  EXPECT_TRUE(set.is_known);
  EXPECT_EQ(set.order, input.rings.best.order);
  std::string wanted;
  for (const int index : indices(input.rings.best.order)) wanted += "," + std::to_string(index);
  EXPECT_EQ(bad.variable, "RINGCOMM_RING_ORDER=" + wanted.substr(1));
}

TEST(ComparePlanTest, OrderThatDoesNotFitSaysSo) {
  const TopologyCase input = topology_test::case_of(dgx1());
  for (const auto& order : {std::vector{0, 1}, std::vector{0, 1, 2, 3, 4, 5, 6, 6}}) {
    const auto plan = compare_plan(input, order);
    EXPECT_FALSE(plan.is_known);
    EXPECT_NE(plan.source.find("does not fit"), std::string::npos) << plan.source;
    EXPECT_TRUE(plan.edges.empty());
  }
  EXPECT_TRUE(compare_plan({}).edges.empty());
}

TEST(ComparePlanTest, RingcommsOwnVariableIsReadFromTheLog) {
  TopologyCase input = topology_test::case_of(dgx1());
  input.evidence.job.events.push_back(topology_test::event(
      LogEventKind::environment, {{"name", "RINGCOMM_RING_ORDER"}, {"value", "0,1,2,3,4,5,6,7"}}));
  const auto plan = compare_plan(input);
  EXPECT_EQ(plan.source, "RINGCOMM_RING_ORDER");
  EXPECT_TRUE(plan.is_known);
}

}  // namespace
}  // namespace ringcomm
