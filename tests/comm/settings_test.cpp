// SPDX-License-Identifier: Apache-2.0
// Options over environment over default, and what a wrong value says.
#include "comm/settings.hpp"

#include <gtest/gtest.h>

#include "core/env_guard.hpp"

namespace ringcomm {
namespace {

using test::EnvGuard;

TEST(SettingsTest, OptionsWinOverTheEnvironmentAndThatOverTheDefault) {
  const EnvGuard no_timeout("RINGCOMM_TIMEOUT", std::nullopt);
  const EnvGuard no_arena("RINGCOMM_ARENA_BYTES", std::nullopt);
  auto settings = comm::resolve_settings({});
  ASSERT_TRUE(settings.is_ok()) << settings.status().to_string();
  EXPECT_EQ(settings.value().deadline, std::chrono::minutes(10));
  EXPECT_EQ(settings.value().arena_bytes, 16U << 20);

  const EnvGuard timeout("RINGCOMM_TIMEOUT", "3s");
  const EnvGuard arena("RINGCOMM_ARENA_BYTES", "64K");
  const EnvGuard wait("RINGCOMM_WAIT", "oversubscribed");
  const EnvGuard transports("RINGCOMM_TRANSPORTS", "shm, inproc");
  settings = comm::resolve_settings({});
  ASSERT_TRUE(settings.is_ok()) << settings.status().to_string();
  EXPECT_EQ(settings.value().deadline, std::chrono::seconds(3));
  EXPECT_EQ(settings.value().arena_bytes, 64U << 10);
  EXPECT_EQ(settings.value().transport.wait_style, WaitStyle::oversubscribed);
  ASSERT_EQ(settings.value().transports.size(), 2U);
  EXPECT_EQ(settings.value().transports[0]()->name(), "shm");

  CommunicatorOptions options;
  options.deadline = std::chrono::seconds(7);
  options.arena_bytes = 12345;
  options.wait_style = WaitStyle::own_core;
  options.transports = {inproc_transport()};
  settings = comm::resolve_settings(options);
  ASSERT_TRUE(settings.is_ok());
  EXPECT_EQ(settings.value().deadline, std::chrono::seconds(7));
  EXPECT_EQ(settings.value().arena_bytes, 12345U);
  EXPECT_EQ(settings.value().transport.wait_style, WaitStyle::own_core);
  EXPECT_EQ(settings.value().transports.size(), 1U);
}

void expect_refused(const std::string& name, const std::string& value) {
  const EnvGuard guard(name, value);
  const Status status = comm::resolve_settings({}).status();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument) << name << "=" << value;
  EXPECT_NE(status.message().find(name), std::string::npos) << status.to_string();
}

TEST(SettingsTest, WrongVariablesAreRefusedByName) {
  expect_refused("RINGCOMM_TIMEOUT", "soon");
  expect_refused("RINGCOMM_TIMEOUT", "0");
  expect_refused("RINGCOMM_ARENA_BYTES", "many");
  expect_refused("RINGCOMM_ARENA_BYTES", "0");
  expect_refused("RINGCOMM_WAIT", "patiently");
  expect_refused("RINGCOMM_TRANSPORTS", "pigeon");
  expect_refused("RINGCOMM_TRANSPORTS", " , ");
  expect_refused("RINGCOMM_PIN", "maybe");
}

}  // namespace
}  // namespace ringcomm
