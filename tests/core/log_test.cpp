// SPDX-License-Identifier: Apache-2.0
// The oracle is the exact text that a child process leaves on standard error; the level is read once per
// process, so each level gets a process of its own.
#include "ringcomm/core/log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ringcomm {
namespace {

class LogTest : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
  void TearDown() override { set_log_sink({}); }
};

/// Runs in a child process: one line of each level, then exit 0.
[[noreturn]] void say_all(const char* level) {
  if (level == nullptr) {
    ::unsetenv("RINGCOMM_DEBUG");
  } else {
    ::setenv("RINGCOMM_DEBUG", level, 1);
  }
  log(LogLevel::warn, "w");
  log(LogLevel::info, "i");
  log(LogLevel::trace, "t");
  log(LogLevel::off, "never");
  std::exit(0);
}
const testing::ExitedWithCode kExitsWith0(0);

TEST_F(LogTest, WarnIsTheDefault) { EXPECT_EXIT(say_all(nullptr), kExitsWith0, "^ringcomm warn: w\n$"); }

TEST_F(LogTest, EachLevelPrintsItselfAndTheMoreSevere) {
  EXPECT_EXIT(say_all("off"), kExitsWith0, "^$");
  EXPECT_EXIT(say_all("info"), kExitsWith0, "^ringcomm warn: w\nringcomm info: i\n$");
  EXPECT_EXIT(say_all("TRACE"), kExitsWith0, "^ringcomm warn: w\nringcomm info: i\nringcomm trace: t\n$");
}

TEST_F(LogTest, UnknownLevelIsSaidOnceAndCountsAsWarn) {
  EXPECT_EXIT(say_all("loud"), kExitsWith0,
              "^ringcomm warn: RINGCOMM_DEBUG=loud is not accepted \\(off, warn, info or trace\\)\\. Using "
              "warn\\.\nringcomm warn: w\n$");
}

TEST_F(LogTest, LineEndsInAMessageDoNotMakeASecondLine) {
  EXPECT_EXIT((log(LogLevel::warn, "one\ntwo\rthree"), std::exit(0)), kExitsWith0,
              "^ringcomm warn: one two three\n$");
}

TEST_F(LogTest, SinkThatThrowsDoesNotReachTheCaller) {
  set_log_sink([](LogLevel, std::string_view) { throw std::runtime_error("sink"); });
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(log(LogLevel::warn, "lost"));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("a log line was lost"), std::string::npos);
}

TEST_F(LogTest, SinkReplacesStandardErrorUntilItIsEmptied) {
  std::vector<std::string> seen;
  set_log_sink([&](LogLevel level, std::string_view text) {
    EXPECT_EQ(level, LogLevel::warn);
    seen.emplace_back(text);
  });
  testing::internal::CaptureStderr();
  log(LogLevel::warn, "to the sink");
  set_log_sink({});
  log(LogLevel::warn, "to standard error");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ringcomm warn: to standard error\n");
  EXPECT_EQ(seen, std::vector<std::string>{"to the sink"});
}

TEST_F(LogTest, SinkMayLogAndReplaceItselfWhileOtherThreadsLog) {
  std::atomic<int> count = 0;
  set_log_sink([&](LogLevel, std::string_view text) {
    ++count;
    if (text == "outer") log(LogLevel::warn, "inner");
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int line = 0; line < 100; ++line) log(LogLevel::warn, "outer");
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 800);
}

TEST_F(LogTest, LinesOfThreadsDoNotMix) {
  testing::internal::CaptureStderr();
  const std::string body(200, 'x');
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int line = 0; line < 50; ++line) log(LogLevel::warn, body);
    });
  }
  for (auto& thread : threads) thread.join();
  const std::string text = testing::internal::GetCapturedStderr();
  const std::string line = "ringcomm warn: " + body + "\n";
  ASSERT_EQ(text.size(), 200 * line.size());
  for (std::size_t at = 0; at < text.size(); at += line.size())
    ASSERT_EQ(text.compare(at, line.size(), line), 0);
}

}  // namespace
}  // namespace ringcomm
