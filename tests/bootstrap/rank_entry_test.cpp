// SPDX-License-Identifier: Apache-2.0
// An entry read back equals the one written; every other text is refused; the kernel says who is alive.
#include "bootstrap/rank_entry.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ringcomm::bootstrap {
namespace {

TEST(RankEntryTest, SurvivesTheRoundTrip) {
  const RankEntry entry = make_entry(3, 8);
  const std::string text = to_text(entry);
  EXPECT_LT(text.size(), kEntryBytesMax);
  const auto back = parse_entry(text);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->rank, 3);
  EXPECT_EQ(back->size, 8);
  EXPECT_EQ(back->pid, ::getpid());
  EXPECT_EQ(back->start_ticks, entry.start_ticks);
  EXPECT_TRUE(is_same(back->nonce, entry.nonce));
}

TEST(RankEntryTest, EveryShorterTextAndOtherTextsAreRefused) {
  const std::string text = to_text(make_entry(0, 2));
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(parse_entry(text.substr(0, length)).has_value()) << length;
  }
  for (const char* bad :
       {"", "x", "ringcomm-rank-1 rank -1 size 2 pid 3 start 4 nonce 0",
        "ringcomm-rank-1 rank 5 size 2 pid 3 start 4 nonce 00112233445566778899aabbccddeeff",
        "ringcomm-rank-1 rank 0 size 2 pid -3 start 4 nonce 00112233445566778899aabbccddeeff",
        "ringcomm-rank-1 rank 0 size 2 pid 3 start 4 nonce 0011223344556677889 aabbccddeeff00",
        "ringcomm-rank-1 rank 0 size 2 pid 3 start 4 nonce 00112233445566778899aabbccddeefg"}) {
    EXPECT_FALSE(parse_entry(bad).has_value()) << bad;
  }
}

TEST(RankEntryTest, ThisProcessIsAliveAnotherStartTimeIsNot) {
  RankEntry entry = make_entry(0, 1);
  EXPECT_TRUE(is_alive(entry));
  ++entry.start_ticks;
  EXPECT_FALSE(is_alive(entry)) << "a reused process id must not pass";
}

TEST(RankEntryTest, ZombiesAndReapedProcessesAreNotAlive) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  RankEntry entry = make_entry(0, 1);
  entry.pid = child;
  // A child may start in the tick of this entry or later; find its own ticks as the entry's writer would.
  bool was_alive = false;
  for (std::uint64_t ticks = entry.start_ticks; ticks < entry.start_ticks + 100'000 && !was_alive; ++ticks) {
    RankEntry tried = entry;
    tried.start_ticks = ticks;
    was_alive = is_alive(tried);
    if (was_alive) entry = tried;
  }
  EXPECT_TRUE(was_alive);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(is_alive(entry)) << "zombie";
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_alive(entry)) << "reaped";
}

TEST(RankEntryTest, FileNamesGiveTheRankBack) {
  EXPECT_EQ(rank_in_file_name(entry_file_name(17)), 17);
  for (const char* other : {"rank.", "rank.x", "rank.1x", "rank", "socket.1", ".", ""}) {
    EXPECT_EQ(rank_in_file_name(other), -1) << other;
  }
}

}  // namespace
}  // namespace ringcomm::bootstrap
