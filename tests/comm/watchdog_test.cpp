// SPDX-License-Identifier: Apache-2.0
// One verdict for all ranks when a deadline passes, rank 0 as the culprit too.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

class WatchdogTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("RINGCOMM_RECORD_DIR", folder_.path().c_str(), 1);
    set_log_sink([this](LogLevel, std::string_view text) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(text);
    });
  }
  void TearDown() override {
    set_log_sink({});
    ::unsetenv("RINGCOMM_RECORD_DIR");
    ::unsetenv("RINGCOMM_WATCHDOG");
  }

  struct Heard {
    Status status;
    std::string verdict;
  };
  /// Four ranks meet, then `culprit` stays away from the barrier until the others have failed.
  std::vector<Heard> stay_away(int culprit) {
    CommunicatorOptions options;
    options.arena_bytes = 1 << 18;
    options.deadline = std::chrono::milliseconds(1500);
    auto made = Communicator::create_local(4, options).value();
    std::vector<Heard> heard(4);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 4; ++rank) {
      threads.emplace_back([&, rank] {
        Communicator& comm = made[static_cast<std::size_t>(rank)];
        Heard& mine = heard[static_cast<std::size_t>(rank)];
        mine.status = barrier(comm.channel()).status();
        if (!mine.status.is_ok()) return;
        if (rank == culprit) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        mine.status = barrier(comm.channel()).status();
        mine.verdict = comm.verdict();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return heard;
  }

  std::size_t verdicts_printed() {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        lines_, [](const std::string& line) { return line.find("barrier") != std::string::npos; }));
  }

  test::TempDir folder_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_F(WatchdogTest, ExactlyOneVerdictNamesTheRankThatStaysAway) {
  for (const int culprit : {2, 0}) {
    lines_.clear();
    const std::vector<Heard> heard = stay_away(culprit);
    EXPECT_EQ(verdicts_printed(), 1U);
    for (const std::string& line : lines_)
      EXPECT_NE(line.find(concat("rank ", culprit)), std::string::npos) << line;
    for (std::size_t rank = 0; rank < heard.size(); ++rank) {
      SCOPED_TRACE(concat("rank ", rank, " of culprit ", culprit));
      EXPECT_EQ(heard[rank].status.code(), StatusCode::timeout);
      EXPECT_NE(heard[rank].status.message().find("; verdict: "), std::string::npos)
          << heard[rank].status.message();
      EXPECT_NE(heard[rank].verdict.find(std::to_string(culprit)), std::string::npos) << heard[rank].verdict;
    }
  }
}

TEST_F(WatchdogTest, CanBeSwitchedOff) {
  ::setenv("RINGCOMM_WATCHDOG", "0", 1);
  const std::vector<Heard> heard = stay_away(1);
  EXPECT_EQ(verdicts_printed(), 0U);
  for (const Heard& mine : heard) {
    EXPECT_EQ(mine.status.code(), StatusCode::timeout);
    EXPECT_EQ(mine.status.message().find("verdict"), std::string::npos);
    EXPECT_EQ(mine.verdict, "");
  }
}

TEST_F(WatchdogTest, APlainAbortHasNoVerdict) {
  CommunicatorOptions options;
  options.arena_bytes = 1 << 18;
  auto made = Communicator::create_local(2, options).value();
  made[0].abort("on purpose");
  EXPECT_EQ(barrier(made[1].channel()).status().code(), StatusCode::aborted);
  EXPECT_EQ(verdicts_printed(), 0U);
}

}  // namespace
}  // namespace ringcomm
