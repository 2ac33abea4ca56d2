// SPDX-License-Identifier: Apache-2.0
// The oracle is the table of settings below: what is accepted, and which variable each refusal must name.
#include <gtest/gtest.h>

#include "core/env_guard.hpp"
#include "ringcomm/bootstrap/bootstrap.hpp"

namespace ringcomm {
namespace {

using test::EnvGuard;

struct Case {
  std::optional<std::string> rank, size, store;
  StatusCode code;
  std::string_view named;
};

Status read_with(const Case& c) {
  const EnvGuard rank("RINGCOMM_RANK", c.rank);
  const EnvGuard size("RINGCOMM_SIZE", c.size);
  const EnvGuard store("RINGCOMM_STORE", c.store);
  return read_launch_environment().status();
}

TEST(LaunchEnvironmentTest, ReadsAllThreeVariables) {
  const EnvGuard rank("RINGCOMM_RANK", "2");
  const EnvGuard size("RINGCOMM_SIZE", "3");
  const EnvGuard store("RINGCOMM_STORE", "file:///tmp/x");
  const auto info = read_launch_environment();
  ASSERT_TRUE(info.is_ok()) << info.status().to_string();
  EXPECT_EQ(info->rank, 2);
  EXPECT_EQ(info->size, 3);
  EXPECT_EQ(info->store, "file:///tmp/x");
}

TEST(LaunchEnvironmentTest, NothingSetIsNotFound) {
  EXPECT_EQ(read_with({{}, {}, {}, {}, {}}).code(), StatusCode::not_found);
}

TEST(LaunchEnvironmentTest, RefusalsNameTheVariable) {
  const auto bad = StatusCode::invalid_argument;
  for (const Case& c :
       {Case{"0", {}, {}, bad, "RINGCOMM_SIZE, RINGCOMM_STORE is not set"},
        Case{{}, "2", "file:///tmp/x", bad, "RINGCOMM_RANK is not set"},
        Case{"0", "2", {}, bad, "RINGCOMM_STORE is not set"},
        Case{"2", "2", "file:///x", bad, "RINGCOMM_RANK=2 contradicts RINGCOMM_SIZE=2"},
        Case{"-1", "2", "file:///x", bad, "RINGCOMM_RANK"}, Case{"0", "0", "file:///x", bad, "RINGCOMM_SIZE"},
        Case{"0", "two", "file:///x", bad, "RINGCOMM_SIZE"},
        Case{"0", "99999999999", "file:///x", bad, "RINGCOMM_SIZE"},
        Case{"0", "2", "/tmp/x", bad, "RINGCOMM_STORE=/tmp/x"},
        Case{"0", "2", "file://x", bad, "RINGCOMM_STORE"}, Case{"0", "2", "file:///", bad, "RINGCOMM_STORE"},
        Case{"0", "2", "tcp://1.2.3.4:5", bad, "RINGCOMM_STORE"}}) {
    const Status status = read_with(c);
    EXPECT_EQ(status.code(), c.code) << c.named;
    EXPECT_NE(status.message().find(c.named), std::string_view::npos) << status.to_string();
  }
}

}  // namespace
}  // namespace ringcomm
