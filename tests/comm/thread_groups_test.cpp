// SPDX-License-Identifier: Apache-2.0
// Handles on groups of threads: each once, groups kept apart by number, nothing left once all are taken.
#include "comm/thread_groups.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ringcomm/core/deadline.hpp"

namespace ringcomm {
namespace {

TEST(ThreadGroupsTest, NumbersAreNeverReused) {
  const std::uint64_t first = comm::new_group_number();
  EXPECT_GT(comm::new_group_number(), first);
}

TEST(ThreadGroupsTest, AllMembersOfANumberMeetInAnyOrder) {
  const std::uint64_t number = comm::new_group_number();
  std::vector<std::jthread> threads;
  for (const int rank : {2, 0, 1}) {
    threads.emplace_back([number, rank] {
      auto handle = comm::join_thread_group(number, rank, 3);
      ASSERT_TRUE(handle.is_ok()) << handle.status().to_string();
      EXPECT_EQ(handle.value()->rank(), rank);
      EXPECT_EQ(handle.value()->kind(), GroupKind::threads);
      const auto mine = static_cast<std::byte>(rank);
      const auto all = handle.value()->all_gather({&mine, 1}, Deadline::after(std::chrono::seconds(20)));
      ASSERT_TRUE(all.is_ok()) << all.status().to_string();
      for (std::size_t peer = 0; peer < 3; ++peer)
        EXPECT_EQ(all.value()[peer][0], static_cast<std::byte>(peer));
    });
  }
}

TEST(ThreadGroupsTest, APlaceIsTakenOnce) {
  const std::uint64_t number = comm::new_group_number();
  auto first = comm::join_thread_group(number, 0, 2);
  ASSERT_TRUE(first.is_ok());
  EXPECT_EQ(comm::join_thread_group(number, 0, 2).status().code(), StatusCode::internal);
  EXPECT_TRUE(comm::join_thread_group(number, 1, 2).is_ok());
  EXPECT_TRUE(comm::join_thread_group(number, 0, 1).is_ok()) << "all were taken, so the number is free again";
}

}  // namespace
}  // namespace ringcomm
