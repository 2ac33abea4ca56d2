// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/topology/build_machine.hpp"

namespace ringcomm {
namespace {

/// One card with two functions, as NCCL's file shows it.
Nic two_ports() {
  Machine machine;
  topology_test::add_nic(machine, "mlx5_3", {});
  Nic nic = machine.nics[0];
  nic.ports.push_back(nic.ports[0]);
  nic.ports[0].net_name = "mlx5_3";
  nic.ports[0].net_index = 2;
  nic.ports[1].net_name = "mlx5_4";
  nic.ports[1].net_index = 3;
  nic.ports[1].number = 2;
  return nic;
}

std::string text_of(const std::optional<PortName>& name) {
  return name ? name->device + ":" + std::to_string(name->port) : "nothing";
}

TEST(PortNameTest, FunctionsOfACardAreDevicesOfTheirOwn) {
  EXPECT_EQ(text_of(port_name(two_ports(), 1)), "mlx5_3:1");
  EXPECT_EQ(text_of(port_name(two_ports(), 2)), "mlx5_4:1");
  EXPECT_EQ(text_of(port_name(two_ports())), "mlx5_3:1");
}

TEST(PortNameTest, PortsOfOneDeviceKeepTheirNumbers) {
  Nic nic = two_ports();
  for (Port& port : nic.ports) {
    port.net_index.reset();
    port.net_name = "eth7";
  }
  EXPECT_EQ(text_of(port_name(nic, 2)), "mlx5_3:2");
  nic.ports[1].net_index = 3;  // merged with a file that numbers it: still an interface's name
  EXPECT_EQ(text_of(port_name(nic, 2)), "mlx5_3:2");
  nic.ports.clear();
  EXPECT_EQ(text_of(port_name(nic, 1)), "mlx5_3:1");
}

TEST(PortNameTest, NumbersAndBusIdsAreNoNames) {
  Nic nic = two_ports();
  nic.ports.clear();
  for (const char* name : {"NIC0", "NIC12", "NET1", "0000:0c:00.0", "", "-x", "mlx5_0$(reboot)"}) {
    nic.name = name;
    EXPECT_EQ(text_of(port_name(nic)), "nothing") << name;
  }
  for (const char* name : {"NICE0", "rdmap16s27", "mlx5_bond_0"}) {
    nic.name = name;
    EXPECT_TRUE(port_name(nic)) << name;
  }
}

}  // namespace
}  // namespace ringcomm
