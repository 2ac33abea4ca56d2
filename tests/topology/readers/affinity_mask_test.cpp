// SPDX-License-Identifier: Apache-2.0
// The oracle is the list that goes in: each CPU comes out as one core.
#include "topology/readers/affinity_mask.hpp"

#include <gtest/gtest.h>

#include <array>

namespace ringcomm {
namespace {

TEST(AffinityMaskReaderTest, EachCpuIsACoreOfPackageZero) {
  const auto cores = topology::affinity_mask::read_cores(std::array{1, 5});
  ASSERT_EQ(cores.size(), 2U);
  EXPECT_EQ(cores[0].cpus, std::vector<int>{1});
  EXPECT_EQ(cores[1].cpus, std::vector<int>{5});
  EXPECT_EQ(cores[1].package, 0);
  EXPECT_EQ(cores[1].memory_node, -1);
  EXPECT_TRUE(topology::affinity_mask::read_cores({}).empty());
}

}  // namespace
}  // namespace ringcomm
