// SPDX-License-Identifier: Apache-2.0
// Ties that only one part of a NIC's cost settles: the shared uplink, or the order of bus ids.
#include "topology/nic_cost.hpp"

#include <gtest/gtest.h>

#include "ringcomm/core/text.hpp"
#include "topology/machines.hpp"
#include "topology/nic_choice.hpp"

namespace ringcomm::inline v0::topology {
namespace {

std::vector<int> choices(const Machine& machine) {
  const auto paths = derive_paths(machine, CostModel::table());
  std::vector<int> nics;
  for (const auto& choice : choose_nics(machine, paths, {})) nics.push_back(choice.nic.value_or(-1));
  return nics;
}

/// One GPU per root port of bus 0; NICs 0 and 1 below one root port, NIC 2 below another.
Machine two_uplinks(int gpus, double gbit_per_s) {
  MachineMaker maker;
  for (int i = 0; i < gpus; ++i) {
    const std::string digit = std::to_string(i + 1);
    maker.gpu("0000:0" + digit + ":00.0", maker.pci("0000:00:0" + digit + ".0", std::nullopt, 0), 0);
  }
  const int shared = maker.pci("0000:00:08.0", std::nullopt, 0);
  maker.nic("mlx5_0", "0000:18:00.0", shared, 0, gbit_per_s);
  maker.nic("mlx5_1", "0000:18:00.1", shared, 0, gbit_per_s);
  maker.nic("mlx5_2", "0000:19:00.0", maker.pci("0000:00:09.0", std::nullopt, 0), 0, gbit_per_s);
  return maker.machine;
}

TEST(NicCostTest, NicWhoseUplinkIsNotLoadedIsPreferred) {
  EXPECT_EQ(choices(two_uplinks(2, 200)), (std::vector<int>{0, 2})) << "31.5 GB/s for two NICs of 25";
  EXPECT_EQ(choices(two_uplinks(3, 200)), (std::vector<int>{0, 1, 2})) << "all are needed";
}

TEST(NicCostTest, UplinkThatCarriesAllItsNicsIsNotShared) {
  EXPECT_EQ(choices(two_uplinks(2, 100)), (std::vector<int>{0, 1})) << "31.5 GB/s for two NICs of 12.5";
  Machine machine = two_uplinks(2, 100);
  for (auto& pci : machine.pci) pci.link = {};
  EXPECT_EQ(choices(machine), (std::vector<int>{0, 2})) << "nobody knows that it carries both";
}

TEST(NicCostTest, FunctionsOfOneCardShareIt) {
  MachineMaker maker;
  for (int i = 0; i < 2; ++i) maker.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, 0);
  maker.nic("mlx5_0", "0000:18:00.0", std::nullopt, 0);
  maker.nic("mlx5_1", "0000:18:00.1", std::nullopt, 0);
  maker.nic("mlx5_2", "0000:19:00.0", std::nullopt, 0);
  EXPECT_EQ(choices(maker.machine), (std::vector<int>{0, 2}));
}

TEST(NicCostTest, BusIdsSettleWhatIsEqual) {
  // Every assignment of two GPUs to two of these four has one class, one rate and no load.
  MachineMaker maker;
  for (const auto* bus : {"0000:02:00.0", "0000:01:00.0"}) maker.gpu(bus, std::nullopt, 0);
  for (const auto* bus : {"0000:14:00.0", "0000:13:00.0", "0000:12:00.0", "0000:11:00.0"})
    maker.nic(concat("mlx5_", maker.machine.nics.size()), bus, std::nullopt, 0);
  EXPECT_EQ(choices(maker.machine), (std::vector<int>{1, 3})) << "first GPU and NIC in bus order, third NIC";
}

TEST(NicCostTest, BandwidthIsNotMoreThanThatOfThePath) {
  Machine machine = two_uplinks(1, 400);
  const auto bandwidth_of = [](const Machine& of) {
    return choose_nics(of, derive_paths(of, CostModel::table()), {})[0].bandwidth;
  };
  EXPECT_EQ(bandwidth_of(machine).gb_per_s, 24.0) << "Gen4 x16 before 50";
  machine.nics[0].ports[0].gbit_per_s = machine.nics[1].ports[0].gbit_per_s = 100;
  machine.nics[2].ports[0].gbit_per_s = 100;
  EXPECT_EQ(bandwidth_of(machine).gb_per_s, 12.5);
  for (auto& nic : machine.nics) nic.ports[0].gbit_per_s = {};
  EXPECT_FALSE(bandwidth_of(machine).gb_per_s.has_value());
  machine = two_uplinks(1, 400);
  for (auto& pci : machine.pci) pci.link = {};
  EXPECT_EQ(bandwidth_of(machine).gb_per_s, 50.0) << "the path is unknown";
}

TEST(NicCostTest, PartsComeInTheirOrder) {
  const Machine machine = two_uplinks(2, 200);
  const auto paths = derive_paths(machine, CostModel::table());
  NicRows rows;
  for (int i = 0; i < 2; ++i) rows.gpus.push_back(paths.find({.kind = PartKind::gpu, .position = i}));
  for (int i = 0; i < 3; ++i) rows.nics.push_back(paths.find({.kind = PartKind::nic, .position = i}));
  const auto costs = nic_costs(machine, paths, rows, 2);
  ASSERT_EQ(costs.size(), 12U);
  EXPECT_LT(costs[4], costs[2]) << "NIC 2 rather than the uplink's second NIC";
  EXPECT_EQ(costs[0].first, costs[4].first) << "the first NIC of an uplink shares with nobody";
  EXPECT_LT(costs[2].first, costs[1].first) << "the second NIC rather than the first NIC's second GPU";
}

}  // namespace
}  // namespace ringcomm::inline v0::topology
