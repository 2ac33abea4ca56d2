// SPDX-License-Identifier: Apache-2.0
// The oracle is hwloc's synthetic notation, in which the test describes the machine that it expects back.
#include "topology/readers/hwloc.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace ringcomm {
namespace {

using topology::hwloc::read_synthetic_cores;

std::vector<int> all_cpus(int count) {
  std::vector<int> cpus(static_cast<std::size_t>(count));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

TEST(HwlocReaderTest, PackagesNodesCoresAndThreadsComeThrough) {
  const auto cores = read_synthetic_cores("package:2 [numa] core:2 pu:2", all_cpus(8));
  ASSERT_EQ(cores.size(), 4U);
  for (int i = 0; i < 4; ++i) {
    const auto& core = cores[static_cast<std::size_t>(i)];
    EXPECT_EQ(core.package, i / 2);
    EXPECT_EQ(core.memory_node, i / 2);
    EXPECT_EQ(core.cpus, (std::vector<int>{2 * i, 2 * i + 1}));
  }
}

TEST(HwlocReaderTest, SystemNumbersAreUsedAndLogicalOrderIsKept) {
  // Threads numbered as Linux does: first threads of all cores, then the second ones.
  const auto cores =
      read_synthetic_cores("package:2 [numa(indexes=5,3)] core:1 pu:2(indexes=0,2,1,3)", all_cpus(4));
  ASSERT_EQ(cores.size(), 2U);
  EXPECT_EQ(cores[0].cpus, (std::vector<int>{0, 2}));
  EXPECT_EQ(cores[1].cpus, (std::vector<int>{1, 3}));
  EXPECT_EQ(cores[0].memory_node, 5);
  EXPECT_EQ(cores[1].memory_node, 3);
}

TEST(HwlocReaderTest, OnlyAllowedThreadsAreListed) {
  const auto cores = read_synthetic_cores("package:2 core:2 pu:2", std::vector<int>{1, 6, 7});
  ASSERT_EQ(cores.size(), 2U);
  EXPECT_EQ(cores[0].cpus, std::vector<int>{1});
  EXPECT_EQ(cores[1].cpus, (std::vector<int>{6, 7}));
  EXPECT_TRUE(read_synthetic_cores("package:2 core:2 pu:2", {}).empty());
}

TEST(HwlocReaderTest, PuWithoutACoreIsACore) {
  const auto cores = read_synthetic_cores("package:1 pu:3", all_cpus(3));
  ASSERT_EQ(cores.size(), 3U);
  EXPECT_EQ(cores[2].cpus, std::vector<int>{2});
}

TEST(HwlocReaderTest, UnreadableDescriptionIsEmpty) {
  EXPECT_TRUE(read_synthetic_cores("no such machine", all_cpus(4)).empty());
}

}  // namespace
}  // namespace ringcomm
