// SPDX-License-Identifier: Apache-2.0
// What the plug-in loader says about files that it cannot take; the oracle is the list of the process's own
// mappings. Real plug-ins: ucx_plugin_test.
#include "transport/plugin.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/env_guard.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/version.hpp"
#include "transport/registry.hpp"

namespace ringcomm {
namespace {

using transport::load_plugin;
using transport::LoadVariable;

bool is_mapped(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file) != std::string::npos) return true;
  }
  return false;
}

void expect_refused(const Status& status, const std::vector<std::string>& words) {
  EXPECT_EQ(status.code(), StatusCode::not_available);
  for (const std::string& word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos) << word << " in: " << status.to_string();
  }
}

TEST(PluginTest, AMissingFileIsNamedWithTheOptionAndThePackage) {
  const auto loaded = load_plugin({"pigeon", "RINGCOMM_WITH_PIGEON", "libpigeon4", {}});
  expect_refused(loaded.status(), {"libringcomm_pigeon.so.", "cannot open shared object file",
                                   "RINGCOMM_WITH_PIGEON=ON", "apt-get install libpigeon4"});
}

TEST(PluginTest, APluginOfAnotherVersionIsRefusedAndBothAreNamed) {
  expect_refused(load_plugin({"stale", "O", "p", {}}).status(),
                 {"libringcomm_stale.so.", "ringcomm 9.90.1", RINGCOMM_VERSION, "one build"});
}

TEST(PluginTest, AFileWithoutAPortIsRefused) {
  expect_refused(load_plugin({"toothless", "O", "p", {}}).status(), {"lacks ringcomm_toothless_port_v0"});
}

TEST(PluginTest, VariablesForLoadingAreGoneAfterwardsAndTheUsersStay) {
  const test::EnvGuard users("RINGCOMM_TEST_USERS", "mine");
  const test::EnvGuard ours("RINGCOMM_TEST_OURS", std::nullopt);
  constexpr std::array kVariables{LoadVariable{"RINGCOMM_TEST_USERS", "x"},
                                  LoadVariable{"RINGCOMM_TEST_OURS", "x"}};
  EXPECT_FALSE(load_plugin({"pigeon", "O", "p", kVariables}).is_ok());
  EXPECT_STREQ(std::getenv("RINGCOMM_TEST_USERS"), "mine");
  EXPECT_EQ(std::getenv("RINGCOMM_TEST_OURS"), nullptr);
}

TEST(PluginTest, ByDefaultNoNetworkIsLoadedForRanksOfOneHost) {
  const auto factories = default_transports();
  ASSERT_EQ(factories.size(), 3U);
  const auto network = factories[2]();
  EXPECT_EQ(network->name(), "ucx");
  auto groups = bootstrap_threads(1);
  ASSERT_TRUE(groups.is_ok());
  expect_refused(network->can_serve(*groups.value()[0]), {"share a host", "name ucx in RINGCOMM_TRANSPORTS"});
  EXPECT_TRUE(network->capabilities().two_sided);
  EXPECT_TRUE(network->health().is_ok());
  EXPECT_FALSE(is_mapped(transport::plugin_file("ucx")));
}

TEST(PluginTest, NamesOfTransports) {
  for (const std::string_view name : {"inproc", "shm", "ucx", "mpi"}) {
    const TransportFactory factory = transport_named(name);
    ASSERT_TRUE(factory) << name;
    EXPECT_EQ(factory()->name(), name);
    EXPECT_NE(kTransportNames.find(name), std::string_view::npos);
  }
  EXPECT_FALSE(transport_named("pigeon"));
}

}  // namespace
}  // namespace ringcomm
