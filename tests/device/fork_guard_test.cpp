// SPDX-License-Identifier: Apache-2.0
// The oracle is the number of forks that the test makes itself.
#include "device/host/fork_guard.hpp"

#include <gtest/gtest.h>

#include "device/fork_util.hpp"

namespace ringcomm {
namespace {

TEST(ForkGuardTest, GrowsByOneInAChildAndStaysInTheParent) {
  const std::uint32_t mine = fork_generation();
  EXPECT_EQ(exit_code_of_child([&] {
              if (fork_generation() != mine + 1) return 1;
              return exit_code_of_child([&] { return fork_generation() == mine + 2 ? 0 : 1; });
            }),
            0);
  EXPECT_EQ(fork_generation(), mine);
}

}  // namespace
}  // namespace ringcomm
