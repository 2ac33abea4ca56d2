// SPDX-License-Identifier: Apache-2.0
// The oracle is memcpy into a second buffer, whose surroundings must stay as they were too.
#include "device/host/nontemporal_copy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ringcomm {
namespace {

constexpr std::size_t kMargin = 128;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (auto& value : out) value = static_cast<std::byte>((seed = seed * 1664525U + 1013904223U) >> 24);
  return out;
}

template <class Copy>
void expect_like_memcpy(Copy copy, std::size_t target_offset, std::size_t source_offset, std::size_t bytes) {
  const auto source = pattern(bytes + kMargin, 1);
  auto expected = pattern(bytes + 2 * kMargin, 2);
  auto actual = expected;
  std::memcpy(expected.data() + target_offset, source.data() + source_offset, bytes);
  copy(actual.data() + target_offset, source.data() + source_offset, bytes);
  ASSERT_EQ(actual, expected) << bytes << " bytes from " << source_offset << " to " << target_offset;
}

TEST(NontemporalCopyTest, EveryLengthUpTo200) {
  for (const auto& [name, copy] : nontemporal_copies()) {
    SCOPED_TRACE(name);
    for (std::size_t bytes = 0; bytes <= 200; ++bytes) {
      for (const std::size_t offset : {0U, 1U, 31U, 63U}) expect_like_memcpy(copy, offset, offset / 2, bytes);
    }
  }
}

TEST(NontemporalCopyTest, EveryAlignmentOfBothSides) {
  for (const auto& [name, copy] : nontemporal_copies()) {
    SCOPED_TRACE(name);
    for (std::size_t target = 0; target < 64; ++target) {
      for (std::size_t source = 0; source < 64; source += target % 8 == 0 ? 1 : 7) {
        expect_like_memcpy(copy, target, source, 64 + 64 + 3);
      }
    }
  }
}

TEST(NontemporalCopyTest, LargeOddSizes) {
  for (const auto& [name, copy] : nontemporal_copies()) {
    SCOPED_TRACE(name);
    expect_like_memcpy(copy, 5, 11, (1U << 20) + 13);
  }
}

TEST(NontemporalCopyTest, BothSidesOfTheThreshold) {
  const std::size_t bytes = kNontemporalBytes + 1;
  const auto source = pattern(bytes, 3);
  std::vector<std::byte> target(bytes);
  for (const std::size_t count : {kNontemporalBytes - 1, kNontemporalBytes, bytes}) {
    std::memset(target.data(), 0, bytes);
    copy_block(target.data(), source.data(), count);
    EXPECT_EQ(std::memcmp(target.data(), source.data(), count), 0);
    EXPECT_TRUE(count == bytes || target[count] == std::byte{0});
  }
}

TEST(NontemporalCopyTest, NothingFromNowhere) {
  copy_block(nullptr, nullptr, 0);
  for (const auto& [name, copy] : nontemporal_copies()) copy(nullptr, nullptr, 0);
}

TEST(NontemporalCopyTest, UsesTheBestThatRunsHere) {
  ASSERT_FALSE(nontemporal_copies().empty());
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  const std::string_view last = nontemporal_copies().back().name;
  EXPECT_TRUE(last == "sse2" || last == "plain") << last;
#endif
}

}  // namespace
}  // namespace ringcomm
