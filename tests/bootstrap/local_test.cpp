// SPDX-License-Identifier: Apache-2.0
// Threads exchange bytes that name their rank and round; whoever is missing must be named.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "support/rank_threads.hpp"

namespace ringcomm {
namespace {

using testing_support::run_rank_threads;

Deadline in_ms(int ms) { return Deadline::after(std::chrono::milliseconds(ms)); }

TEST(LocalBootstrapTest, RanksSeeEachOthersBytesInRankOrder) {
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    run_rank_threads(ranks, [ranks](Bootstrap& me) {
      EXPECT_EQ(me.size(), ranks);
      EXPECT_EQ(me.kind(), GroupKind::threads);
      for (int round = 0; round < 50; ++round) {
        const std::vector<std::byte> mine(static_cast<std::size_t>(me.rank()),
                                          static_cast<std::byte>(me.rank() + round));
        const auto all = me.all_gather(mine, in_ms(30'000));
        ASSERT_TRUE(all.is_ok()) << all.status().to_string();
        ASSERT_EQ(all.value().size(), static_cast<std::size_t>(ranks));
        for (int r = 0; r < ranks; ++r) {
          EXPECT_EQ(all.value()[static_cast<std::size_t>(r)],
                    std::vector<std::byte>(static_cast<std::size_t>(r), static_cast<std::byte>(r + round)));
        }
      }
    });
  }
}

TEST(LocalBootstrapTest, MissingRanksAreListedToAllWhoCame) {
  run_rank_threads(4, [](Bootstrap& me) {
    if (me.rank() % 2 == 1) return std::this_thread::sleep_for(std::chrono::milliseconds(800));
    const Status status = me.all_gather({}, in_ms(200)).status();
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_NE(status.message().find("rank 1, 3 of 4 did not join"), std::string_view::npos)
        << status.to_string();
  });
}

TEST(LocalBootstrapTest, ALateRankLearnsThatTheOthersGaveUp) {
  run_rank_threads(2, [](Bootstrap& me) {
    if (me.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    EXPECT_EQ(me.all_gather({}, in_ms(me.rank() == 0 ? 100 : 30'000)).status().code(), StatusCode::timeout);
  });
}

TEST(LocalBootstrapTest, ARankThatLeavesReleasesTheOthers) {
  auto handles = check(bootstrap_threads(3));
  handles[2].reset();
  std::thread other(
      [&] { EXPECT_EQ(handles[1]->all_gather({}, in_ms(30'000)).status().code(), StatusCode::peer_lost); });
  const Status status = handles[0]->all_gather({}, in_ms(30'000)).status();
  other.join();
  EXPECT_EQ(status.code(), StatusCode::peer_lost);
  EXPECT_NE(status.message().find("rank 2 of 3 left"), std::string_view::npos) << status.to_string();
}

TEST(LocalBootstrapTest, SharedObjectsAreMadeOnce) {
  std::atomic<int> made{0};
  run_rank_threads(5, [&](Bootstrap& me) {
    const auto make = [&]() -> std::shared_ptr<void> {
      ++made;
      return std::make_shared<int>(7);
    };
    const auto object = me.shared_object("seven", make);
    ASSERT_TRUE(object.is_ok());
    EXPECT_EQ(*std::static_pointer_cast<int>(object.value()), 7);
  });
  EXPECT_EQ(made, 1);
}

TEST(LocalBootstrapTest, RefusesWhatThreadsDoNotHaveAndWhatIsTooMuch) {
  auto handles = check(bootstrap_threads(1));
  EXPECT_EQ(handles[0]->take_socket(0).status().code(), StatusCode::not_available);
  EXPECT_EQ(handles[0]->peer_pid(0).status().code(), StatusCode::not_available);
  const std::vector<std::byte> much((std::size_t{1} << 20) + 1);
  EXPECT_EQ(handles[0]->all_gather(much, in_ms(1'000)).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(bootstrap_threads(0).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace ringcomm
