// SPDX-License-Identifier: Apache-2.0
// The caller's all-gather is a group of threads here, which has its own tests; what comes out is compared
// with the definition.
#include <atomic>

#include "bootstrap/network_ranks.hpp"

namespace ringcomm {
namespace {

using test::gather_and_compare;
using test::run_ranks;
using namespace std::chrono_literals;

AllGatherCallback over(Bootstrap& group) {
  return [&group](std::span<const std::byte> mine, std::span<std::byte> all, Deadline deadline) -> Status {
    auto parts = group.all_gather(mine, deadline);
    if (!parts.is_ok()) return parts.status();
    std::size_t at = 0;
    for (const auto& part : parts.value()) {
      if (part.size() != mine.size()) return Status::internal("lengths differ");
      std::copy(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
      at += part.size();
    }
    return {};
  };
}

class CallbackGroupTest : public ::testing::TestWithParam<int> {};

TEST_P(CallbackGroupTest, RanksOfOneHostAreJoinedThroughTheCallback) {
  const int ranks = GetParam();
  auto threads = bootstrap_threads(ranks);
  ASSERT_TRUE(threads.is_ok());
  run_ranks(ranks, [&](int rank) {
    Bootstrap& inner = *threads.value()[static_cast<std::size_t>(rank)];
    auto group = bootstrap_callback(rank, ranks, over(inner), Deadline::after(20s));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    EXPECT_EQ(group.value()->kind(), GroupKind::processes);
    const Status status = gather_and_compare(*group.value(), Deadline::after(20s));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, CallbackGroupTest, ::testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return "ranks" + std::to_string(tested.param); });

TEST(CallbackGroupFailureTest, AFailureOfTheCallbackKeepsItsCodeAndWords) {
  const auto fails = [](std::span<const std::byte>, std::span<std::byte>, Deadline) {
    return Status::unreachable("the store is down");
  };
  const Status status = bootstrap_callback(1, 2, fails, Deadline::after(1s)).status();
  EXPECT_EQ(status.code(), StatusCode::unreachable);
  EXPECT_EQ(status.message(), "the all-gather callback of rank 1 failed: the store is down");
}

TEST(CallbackGroupFailureTest, WrongOrderSizeAndBytesAreNamed) {
  const auto swapped = [](std::span<const std::byte> mine, std::span<std::byte> all, Deadline) {
    std::copy(mine.begin(), mine.end(), all.begin());
    std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(mine.size()));
    return Status();
  };
  const Status order = bootstrap_callback(1, 2, swapped, Deadline::after(1s)).status();
  EXPECT_EQ(order.code(), StatusCode::invalid_argument);
  EXPECT_NE(order.message().find("put rank 1 at the place of rank 0"), std::string_view::npos)
      << order.to_string();
  const auto empty = [](std::span<const std::byte>, std::span<std::byte>, Deadline) { return Status(); };
  EXPECT_EQ(bootstrap_callback(0, 2, empty, Deadline::after(1s)).status().code(), StatusCode::corrupt_data);
  EXPECT_EQ(bootstrap_callback(0, 2, {}, Deadline::after(1s)).status().code(), StatusCode::invalid_argument);
  auto threads = bootstrap_threads(2);
  run_ranks(2, [&](int rank) {
    const Status status =
        bootstrap_callback(
            rank, 2 + rank,
            [&, rank](auto mine, auto all, Deadline deadline) {
              return over(*threads.value()[static_cast<std::size_t>(rank)])(mine, all, deadline);
            },
            Deadline::after(5s))
            .status();
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_NE(status.message().find("world size differs"), std::string_view::npos) << status.to_string();
  });
}

}  // namespace
}  // namespace ringcomm
