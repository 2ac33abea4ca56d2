// SPDX-License-Identifier: Apache-2.0
// Whole plans of machines by hand; renumbering a machine must renumber its plan and change nothing else.
#include "ringcomm/topology/machine_rings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>

#include "topology/machines.hpp"

namespace ringcomm::inline v0 {
namespace {

MachineRings plan_of(const Machine& machine) {
  auto plan = plan_machine_rings(machine, derive_paths(machine, CostModel::table()));
  EXPECT_TRUE(plan.is_ok()) << plan.status().message();
  return plan.is_ok() ? std::move(plan).value() : MachineRings{};
}

std::vector<std::string> buses(const Machine& machine, const MachineRings& plan) {
  std::vector<std::string> ids;
  for (const int vertex : plan.best.order) {
    const auto gpu = static_cast<std::size_t>(plan.graph.devices[static_cast<std::size_t>(vertex)].position);
    ids.push_back(machine.gpus[gpu].bus->to_text());
  }
  return ids;
}

TEST(MachineRingsTest, SwitchesAndSocketsStayTogether) {
  const auto plan = plan_of(pcie_machine());
  EXPECT_EQ(plan.graph.level_names, (std::vector<std::string>{"PIX", "NODE", "SYS"}));
  EXPECT_EQ(plan.best.order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(plan.best.level_counts, (std::vector<int>{2, 2, 4}));
  ASSERT_EQ(plan.steps.size(), 1U) << "more rings would share the uplinks";
  ASSERT_EQ(plan.steps[0].size(), 8U);
  EXPECT_EQ(plan.steps[0][0].level, "PIX");
  EXPECT_EQ(plan.steps[0][3].level, "SYS");
  EXPECT_NE(plan.steps[0][3].reason.find("between NUMA0 and NUMA1"), std::string::npos);
}

TEST(MachineRingsTest, CubeMeshHasItsBestRing) {
  const auto plan = plan_of(cube_mesh());
  EXPECT_EQ(plan.graph.level_names.front(), "NV2");
  EXPECT_EQ(plan.best.level_counts.back(), 8);
  EXPECT_EQ(plan.rings.rings.size(), 3U);
  for (const auto& steps : plan.steps) {
    for (const auto& step : steps) EXPECT_EQ(step.level.substr(0, 2), "NV");
  }
}

/// GPU g of `machine` becomes GPU order[g].
Machine renumbered(const Machine& machine, const std::vector<int>& order) {
  Machine result = machine;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    auto& gpu = result.gpus[static_cast<std::size_t>(order[i])];
    gpu = machine.gpus[i];
    gpu.index = order[i];
  }
  for (auto& link : result.links) {
    link.gpu = order[static_cast<std::size_t>(link.gpu)];
    if (link.peer) link.peer = order[static_cast<std::size_t>(*link.peer)];
  }
  return result;
}

TEST(MachineRingsTest, NumberingOfGpusDoesNotMatter) {
  std::minstd_rand random(7);
  for (const auto& machine : {pcie_machine(), cube_mesh()}) {
    const auto plan = plan_of(machine);
    std::vector<int> order(machine.gpus.size());
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < 5; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      const Machine other = renumbered(machine, order);
      const auto same = plan_of(other);
      EXPECT_EQ(buses(other, same), buses(machine, plan));
      EXPECT_EQ(same.best.level_counts, plan.best.level_counts);
      for (std::size_t gpu = 0; gpu < order.size(); ++gpu) {
        EXPECT_EQ(same.nics[static_cast<std::size_t>(order[gpu])].nic, plan.nics[gpu].nic);
      }
    }
  }
}

TEST(MachineRingsTest, GpuWithoutNvlinkIsBetterLeftOut) {
  MachineMaker maker;
  for (int i = 0; i < 5; ++i) maker.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, 0, 100);
  for (const int gpu : {0, 1, 3, 4}) maker.to_switch(gpu, "0000:aa:00.0", 18);
  EXPECT_EQ(plan_of(maker.machine).left_out, std::vector<int>{2});
  MachineMaker pair;  // a bridge between two of three is a design
  for (int i = 0; i < 3; ++i) pair.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, 0);
  pair.nvlink(0, 1, 4);
  EXPECT_TRUE(plan_of(pair.machine).left_out.empty());
}

TEST(MachineRingsTest, ManyGpusWithoutNvlinkArePlannedQuickly) {
  constexpr int kGpus = 200;
  constexpr double kSecondsMax =
      15;  // of this CPU; under one as it is, 40 when every pair looks at all pairs
  MachineMaker maker;
  for (int i = 0; i < kGpus; ++i) {
    maker.gpu("0000:01:00.0", std::nullopt, 0);
    maker.machine.gpus.back().bus->bus = static_cast<std::uint8_t>(i);
  }
  const auto before = std::clock();
  EXPECT_TRUE(plan_of(maker.machine).left_out.empty());
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, kSecondsMax);
}

TEST(MachineRingsTest, WithoutGpusTheNumaNodesMakeTheRing) {
  const auto plan = plan_of(MachineMaker(2, 2).machine);
  EXPECT_EQ(plan.graph.level_names, (std::vector<std::string>{"NODE", "SYS"}));
  EXPECT_EQ(plan.best.level_counts, (std::vector<int>{2, 2}));
  EXPECT_EQ(plan.placements[1].cpus, (std::vector<int>{4, 5, 6, 7}));
}

TEST(MachineRingsTest, NothingToOrderIsSaid) {
  const auto plan = plan_machine_rings({}, derive_paths({}, CostModel::table()));
  ASSERT_FALSE(plan.is_ok());
  EXPECT_EQ(plan.status().code(), StatusCode::not_available);
}

}  // namespace
}  // namespace ringcomm::inline v0
