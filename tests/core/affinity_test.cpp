// SPDX-License-Identifier: Apache-2.0
// The oracle is the mask that the test sets on a thread of its own.
#include "core/affinity.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace ringcomm {
namespace {

TEST(AffinityTest, AllowedCpusAreThoseOfTheThread) {
  std::thread([] {
    const auto all = allowed_cpus();
    ASSERT_FALSE(all.empty());
    EXPECT_TRUE(std::ranges::is_sorted(all));
    for (const int cpu : all) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<unsigned>(cpu), &one);
      ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
      EXPECT_EQ(allowed_cpus(), std::vector<int>{cpu});
    }
  }).join();
}

}  // namespace
}  // namespace ringcomm
