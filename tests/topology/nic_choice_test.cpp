// SPDX-License-Identifier: Apache-2.0
// Machines by hand: the NIC that a person would name, and each reason to leave one out.
#include "topology/nic_choice.hpp"

#include <gtest/gtest.h>

#include "topology/machines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

PathMatrix paths_of(const Machine& machine) { return derive_paths(machine, CostModel::table()); }

std::vector<int> choices(const Machine& machine) {
  const auto paths = paths_of(machine);
  std::vector<int> nics;
  for (const auto& choice : choose_nics(machine, paths, exclude_nics(machine, paths)))
    nics.push_back(choice.nic.value_or(-1));
  return nics;
}

std::string why_out(const Machine& machine, int nic) {
  for (const auto& excluded : exclude_nics(machine, paths_of(machine))) {
    if (excluded.nic == nic) return excluded.reason;
  }
  return {};
}

TEST(NicChoiceTest, GpusShareTheNicOfTheirSwitch) {
  EXPECT_EQ(choices(pcie_machine()), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(NicChoiceTest, EqualNicsGoByBusIdAndNeverByName) {
  MachineMaker maker;
  for (int i = 0; i < 4; ++i) maker.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, 0);
  for (int i = 0; i < 4; ++i)  // the names run against the bus ids
    maker.nic("mlx5_" + std::to_string(3 - i), "0000:1" + std::to_string(i) + ":00.0", std::nullopt, 0);
  EXPECT_EQ(choices(maker.machine), (std::vector<int>{0, 1, 2, 3}));
}

TEST(NicChoiceTest, ClassWinsOverIndex) {
  MachineMaker maker;
  for (int i = 0; i < 4; ++i) {  // GPU i shares a switch with NIC 3 - i
    const std::string digit = std::to_string(i + 1);
    const int bridge = maker.pci("0000:" + digit + "0:00.0", std::nullopt, 0);
    maker.gpu("0000:" + digit + "1:00.0", bridge, 0);
  }
  for (int i = 0; i < 4; ++i) {
    const std::string digit = std::to_string(4 - i);
    maker.nic("mlx5_" + std::to_string(i), "0000:" + digit + "2:00.0", (3 - i) * 2, 0);
  }
  EXPECT_EQ(choices(maker.machine), (std::vector<int>{3, 2, 1, 0}));
}

TEST(NicChoiceTest, FasterNicIsTakenOfTwo) {
  MachineMaker maker;
  maker.gpu("0000:01:00.0", std::nullopt, 0);
  maker.nic("slow", "0000:02:00.0", std::nullopt, 0, 100);
  maker.nic("fast", "0000:03:00.0", std::nullopt, 0, 200);
  EXPECT_EQ(choices(maker.machine), std::vector<int>{1});
}

TEST(NicChoiceTest, PortsOfOneNicAreSharedOut) {
  MachineMaker maker;
  maker.gpu("0000:01:00.0", std::nullopt, 0);
  maker.gpu("0000:02:00.0", std::nullopt, 0);
  maker.nic("mlx5_0", "0000:03:00.0", std::nullopt, 0);
  Port second = maker.machine.nics[0].ports[0];
  second.number = 2;
  maker.machine.nics[0].ports.push_back(second);
  const auto paths = paths_of(maker.machine);
  const auto chosen = choose_nics(maker.machine, paths, {});
  EXPECT_EQ(chosen[0].port.value_or(0) + chosen[1].port.value_or(0), 3);
}

TEST(NicChoiceTest, InactivePortIsLeftOut) {
  Machine machine = pcie_machine();
  machine.nics[1].ports[0].state = PortState::down;
  machine.nics[1].ports[0].phys_state = PhysState::polling;
  EXPECT_EQ(why_out(machine, 1), "not ACTIVE (Down, Polling)");
  machine.nics[1].ports[0].state = PortState::unknown;
  EXPECT_EQ(why_out(machine, 1), "") << "unknown is not down";
}

TEST(NicChoiceTest, BondAndSlowNicAmongRailsAreLeftOut) {
  Machine machine = pcie_machine();
  machine.nics[2].name = "mlx5_bond_0";
  machine.nics[2].ports[0].link_layer = LinkLayer::ethernet;
  EXPECT_EQ(why_out(machine, 2), "Ethernet bond among InfiniBand rails");
  machine.nics[3].ports[0].gbit_per_s = 25;
  EXPECT_EQ(why_out(machine, 3), "25 Gbit/s among rails of 200");
  machine.nics[3].ports[0].gbit_per_s = 100;
  EXPECT_EQ(why_out(machine, 3), "") << "half of the lanes is still a rail";
  for (auto& nic : machine.nics) nic.ports[0].link_layer = LinkLayer::ethernet;
  EXPECT_EQ(why_out(machine, 2), "") << "RoCE rails";
}

TEST(NicChoiceTest, SocketsAreNoRails) {
  Machine machine = pcie_machine();
  machine.nics[0].is_rdma = false;
  EXPECT_EQ(why_out(machine, 0), "sockets only, no RDMA");
}

TEST(NicChoiceTest, FarFromEveryGpuIsLeftOutWhileOthersAreNear) {
  MachineMaker maker(2);
  maker.gpu("0000:01:00.0", std::nullopt, 0);
  const int near = maker.nic("near", "0000:02:00.0", std::nullopt, 0);
  const int far = maker.nic("far", "0000:03:00.0", std::nullopt, 1);
  EXPECT_EQ(why_out(maker.machine, far), "SYS to every GPU while others are nearer");
  maker.machine.nics[static_cast<std::size_t>(near)].ports[0].state = PortState::down;
  EXPECT_EQ(why_out(maker.machine, far), "") << "nothing nearer is left";
  EXPECT_EQ(choices(maker.machine), std::vector<int>{far});
}

TEST(NicChoiceTest, UnknownPathsChooseNothing) {
  Machine machine = pcie_machine();
  for (auto& nic : machine.nics) {
    nic.pci = {};
    nic.numa_node = {};
  }
  for (const int nic : choices(machine)) EXPECT_EQ(nic, -1);
  const auto paths = paths_of(machine);
  EXPECT_NE(choose_nics(machine, paths, {})[0].reason.find("no path to a NIC is known"), std::string::npos);
}

TEST(NicChoiceTest, HostsKeepTheirOwnNics) {
  MachineMaker maker;
  maker.machine.hosts.push_back({.name = "b"});
  for (int host = 0; host < 2; ++host) {
    maker.gpu("0000:01:00.0", std::nullopt, 0);
    maker.nic("mlx5_0", "0000:02:00.0", std::nullopt, 0);
    maker.machine.gpus.back().host = maker.machine.nics.back().host = host;
    maker.machine.pci[maker.machine.pci.size() - 1].host =
        maker.machine.pci[maker.machine.pci.size() - 2].host = host;
  }
  EXPECT_EQ(choices(maker.machine), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace ringcomm::inline v0::topology
