// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/hwloc_bitmap.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

using topology::parse_hwloc_bitmap;
using Cpus = std::vector<int>;

TEST(HwlocBitmapTest, GroupsOf32BitsHighestFirst) {
  EXPECT_EQ(parse_hwloc_bitmap("0x00000005"), (Cpus{0, 2}));
  EXPECT_EQ(parse_hwloc_bitmap("0x00000001,0x80000000"), (Cpus{31, 32}));
  EXPECT_EQ(parse_hwloc_bitmap("0x1,,0x1"), (Cpus{0, 64})) << "an empty group is zero";
  EXPECT_EQ(parse_hwloc_bitmap("0x1,,,0x0"), (Cpus{96}));
}

TEST(HwlocBitmapTest, EmptyIsEmptyAndTheRestIsNothing) {
  EXPECT_EQ(parse_hwloc_bitmap("0x0"), Cpus{});
  EXPECT_EQ(parse_hwloc_bitmap(""), Cpus{});
  EXPECT_EQ(parse_hwloc_bitmap("0xf...f"), std::nullopt);
  EXPECT_EQ(parse_hwloc_bitmap("0x1ffffffff"), std::nullopt);
  EXPECT_EQ(parse_hwloc_bitmap("12x"), std::nullopt);
  EXPECT_EQ(parse_hwloc_bitmap("0x1" + std::string(600, ',')), std::nullopt) << "beyond the limit of CPUs";
}

}  // namespace
}  // namespace ringcomm
