// SPDX-License-Identifier: Apache-2.0
// The oracle is the affinity mask that the kernel reports for a thread of the test.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>

#include "core/affinity.hpp"
#include "core/env_guard.hpp"
#include "ringcomm/config.hpp"
#include "ringcomm/topology/binding.hpp"

namespace ringcomm {
namespace {

std::vector<int> discovered_cpus() {
  std::vector<int> cpus;
  for (const auto& core : discover_cores()) {
    EXPECT_FALSE(core.cpus.empty());
    cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
  }
  std::ranges::sort(cpus);
  return cpus;
}

TEST(DiscoverCoresTest, FindsEachAllowedCpuOnce) { EXPECT_EQ(discovered_cpus(), allowed_cpus()); }

TEST(DiscoverCoresTest, NamesItsSource) {
  EXPECT_EQ(core_source(), RINGCOMM_HAVE_HWLOC ? "hwloc" : "affinity mask");
}

TEST(DiscoverCoresTest, RestrictedThreadSeesOnlyItsCpus) {
  std::thread([] {
    for (const int cpu : allowed_cpus()) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<unsigned>(cpu), &one);
      ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
      EXPECT_EQ(discovered_cpus(), std::vector<int>{cpu});
      EXPECT_EQ(spread_ranks(discover_cores(), 3)[2].cpus, std::vector<int>{cpu});
    }
  }).join();
}

TEST(DiscoverCoresTest, AnotherMachineInTheEnvironmentOfHwlocIsNotBelieved) {
  const test::EnvGuard guard("HWLOC_SYNTHETIC", "package:2 core:64 pu:1");
  EXPECT_EQ(discovered_cpus(), allowed_cpus());
  EXPECT_EQ(core_source(), "affinity mask");
}

}  // namespace
}  // namespace ringcomm
