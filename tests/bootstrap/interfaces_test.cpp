// SPDX-License-Identifier: Apache-2.0
// A table of NCCL's patterns over an invented host; this machine's own interfaces for what the system is
// asked.
#include "bootstrap/interfaces.hpp"

#include <gtest/gtest.h>

#include "core/env_guard.hpp"

namespace ringcomm::bootstrap {
namespace {

std::vector<Interface> invented() {
  const auto at = [](const char* host) { return resolve({host, 1})->front(); };
  return {{"lo", at("127.0.0.1"), true},    {"docker0", at("172.17.0.1"), false},
          {"eth0", at("fd00::5"), false},   {"eth0", at("10.0.0.5"), false},
          {"eth01", at("10.1.0.5"), false}, {"ib0", at("10.2.0.5"), false}};
}

TEST(InterfacesTest, PatternsOfNccl) {
  struct Row {
    std::string_view pattern, name;
    bool is_match;
  };
  for (const Row& row :
       {Row{"eth", "eth0", true}, Row{"eth", "ib0", false}, Row{"eth,ib", "ib0", true},
        Row{"=eth0", "eth0", true}, Row{"=eth0", "eth01", false}, Row{"=eth1,ib0", "ib0", true},
        Row{"^docker,lo", "docker0", false}, Row{"^docker,lo", "lo", false}, Row{"^docker,lo", "eth0", true},
        Row{"^=eth0", "eth01", true}, Row{"^=eth0", "eth0", false}, Row{"eth0", "eth01", true},
        Row{"", "eth0", false}, Row{"^", "eth0", true}, Row{"=", "eth0", false},
        Row{",eth,", "eth0", true}}) {
    EXPECT_EQ(is_match(row.pattern, row.name), row.is_match) << row.pattern << " " << row.name;
  }
}

TEST(InterfacesTest, FirstMatchLoopbackLastIpv4First) {
  for (const auto& [pattern, address] : {std::pair{"eth", "10.0.0.5"},
                                         {"=eth01", "10.1.0.5"},
                                         {"^docker", "10.0.0.5"},
                                         {"lo", "127.0.0.1"},
                                         {"^eth,ib,docker", "127.0.0.1"},
                                         {"ib,eth", "10.0.0.5"}}) {
    const auto chosen = choose_interface(invented(), pattern);
    ASSERT_TRUE(chosen.is_ok()) << chosen.status().to_string();
    EXPECT_EQ(chosen->address.host(), address) << pattern;
  }
}

TEST(InterfacesTest, NoMatchNamesThemAll) {
  const Status status = choose_interface(invented(), "=wlan0").status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  for (const char* part : {"RINGCOMM_SOCKET_IFNAME==wlan0", "lo (127.0.0.1)", "docker0 (172.17.0.1)",
                           "eth0 (fd00::5)", "ib0 (10.2.0.5)"}) {
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.to_string();
  }
}

TEST(InterfacesTest, ThisMachineHasLoopbackAndARouteToIt) {
  const auto all = list_interfaces();
  const auto chosen = choose_interface(all, "=lo");
  ASSERT_TRUE(chosen.is_ok()) << chosen.status().to_string();
  EXPECT_TRUE(chosen->is_loopback);
  const auto source = route_to(chosen->address);
  ASSERT_TRUE(source.has_value());
  ASSERT_TRUE(interface_with(all, *source).has_value());
  EXPECT_EQ(interface_with(all, *source)->name, "lo");
  EXPECT_FALSE(interface_with(all, resolve({"192.0.2.7", 5})->front()).has_value());
  EXPECT_FALSE(outward_interface(all).name.empty());
  EXPECT_TRUE(outward_interface({}).is_loopback);
}

TEST(InterfacesTest, TheVariableIsReadEachTime) {
  {
    const test::EnvGuard none("RINGCOMM_SOCKET_IFNAME", std::nullopt);
    ASSERT_TRUE(interface_by_name().is_ok());
    EXPECT_FALSE(interface_by_name()->has_value());
  }
  const test::EnvGuard loopback("RINGCOMM_SOCKET_IFNAME", "=lo");
  ASSERT_TRUE(interface_by_name().is_ok());
  EXPECT_EQ(interface_by_name().value()->name, "lo");
}

}  // namespace
}  // namespace ringcomm::bootstrap
