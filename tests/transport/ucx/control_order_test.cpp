// SPDX-License-Identifier: Apache-2.0
// Control messages that overtake each other are delivered in the order of their numbers.
#include "transport/ucx/control_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace ringcomm {
namespace {

using transport::ucx::ControlOrder;

struct Listener {
  explicit Listener(std::uint32_t first = 0) : order(64, first) {}
  ControlOrder order;
  std::vector<std::string> heard;

  bool hear(std::uint32_t number, const std::string& text, bool is_last = true) {
    return order.hear(
        number, is_last, std::as_bytes(std::span(text)),
        [&](std::uint32_t which, std::span<const std::byte> bytes) {
          heard.push_back(std::to_string(which) + ":" +
                          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
        });
  }
};

TEST(ControlOrder, DeliversAtOnceWhatIsDue) {
  Listener listener;
  EXPECT_TRUE(listener.hear(0, "a"));
  EXPECT_TRUE(listener.hear(1, ""));
  EXPECT_EQ(listener.heard, (std::vector<std::string>{"0:a", "1:"}));
  EXPECT_EQ(listener.order.due(), 2U);
}

TEST(ControlOrder, WhatOvertookWaitsForItsTurn) {
  Listener listener;
  EXPECT_TRUE(listener.hear(2, "c"));
  EXPECT_TRUE(listener.hear(1, "b"));
  EXPECT_TRUE(listener.heard.empty());
  EXPECT_TRUE(listener.hear(0, "a"));
  EXPECT_EQ(listener.heard, (std::vector<std::string>{"0:a", "1:b", "2:c"}));
}

TEST(ControlOrder, AnyShuffleComesOutInOrder) {
  constexpr std::uint32_t kMessages = 200;
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::uint32_t> numbers(kMessages);
    for (std::uint32_t i = 0; i < kMessages; ++i) numbers[i] = i;
    std::ranges::shuffle(numbers, random);
    Listener listener;
    for (const std::uint32_t number : numbers) ASSERT_TRUE(listener.hear(number, std::to_string(number * 3)));
    ASSERT_EQ(listener.heard.size(), kMessages);
    for (std::uint32_t i = 0; i < kMessages; ++i)
      ASSERT_EQ(listener.heard[i], std::to_string(i) + ":" + std::to_string(i * 3));
  }
}

TEST(ControlOrder, NumbersWrap) {
  constexpr std::uint32_t kFirst = 0U - 2;
  Listener listener(kFirst);
  EXPECT_TRUE(listener.hear(1, "d"));
  EXPECT_TRUE(listener.hear(kFirst, "a"));
  EXPECT_TRUE(listener.order.has_gap());
  EXPECT_TRUE(listener.hear(0, "c"));
  EXPECT_TRUE(listener.hear(kFirst + 1, "b"));
  EXPECT_FALSE(listener.order.has_gap());
  EXPECT_EQ(listener.heard, (std::vector<std::string>{"4294967294:a", "4294967295:b", "0:c", "1:d"}));
}

TEST(ControlOrder, PiecesAreJoinedByNumber) {
  Listener listener;
  EXPECT_TRUE(listener.hear(2, "!", true));
  EXPECT_TRUE(listener.hear(3, "next"));
  EXPECT_TRUE(listener.hear(1, "lo", false));
  EXPECT_TRUE(listener.hear(0, "hel", false));
  EXPECT_EQ(listener.heard, (std::vector<std::string>{"2:hello!", "3:next"}));
}

TEST(ControlOrder, RefusesWhatCameBeforeOrIsFarAhead) {
  Listener listener;
  EXPECT_TRUE(listener.hear(0, "a"));
  EXPECT_FALSE(listener.hear(0, "a"));
  EXPECT_TRUE(listener.hear(3, "d"));
  EXPECT_FALSE(listener.hear(3, "d"));
  EXPECT_FALSE(listener.hear(2 + ControlOrder::kOvertakenMax, "z"));
  EXPECT_TRUE(listener.hear(1 + ControlOrder::kOvertakenMax, "z"));
  EXPECT_EQ(listener.heard, std::vector<std::string>{"0:a"});
}

}  // namespace
}  // namespace ringcomm
