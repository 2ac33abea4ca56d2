// SPDX-License-Identifier: Apache-2.0
// What run_threads() returns: the first failure in time with its rank, and nobody left waiting.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm {
namespace {

CommunicatorOptions options() {
  CommunicatorOptions made;
  made.deadline = std::chrono::seconds(60);
  made.arena_bytes = 1 << 16;
  return made;
}

TEST(RunThreadsTest, TheFirstFailureInTimeWinsAndReleasesTheOthers) {
  std::atomic<int> told{0};
  const Status status = run_threads(
      4,
      [&](Communicator& comm) -> Status {
        if (comm.rank() == 2) return Status::not_found("the map");
        const Status released = barrier(comm.channel()).status();
        told +=
            released.code() == StatusCode::aborted && released.message().find("the map") != std::string::npos;
        return released;
      },
      options());
  EXPECT_EQ(told.load(), 3) << "the others hear the reason";
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_EQ(status.message(), "rank 2: the map");
}

TEST(RunThreadsTest, AnExceptionOfABodyIsItsFailure) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        if (comm.rank() == 1) throw std::runtime_error("thrown by a test");
        return barrier(comm.channel()).status();
      },
      options());
  EXPECT_EQ(status.code(), StatusCode::internal);
  EXPECT_NE(status.message().find("rank 1: the body threw an exception: thrown by a test"), std::string::npos)
      << status.to_string();
}

TEST(RunThreadsTest, ImpossibleRanksAreRefused) {
  EXPECT_EQ(run_threads(0, [](Communicator&) { return Status(); }).code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace ringcomm
