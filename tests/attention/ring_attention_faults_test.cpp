// SPDX-License-Identifier: Apache-2.0
// Ranks that do not come, and abort: the oracle is the code and the rank that every other rank is told.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "attention/ring_harness.hpp"

namespace ringcomm {
namespace {

AttentionSpec sound_spec() {
  AttentionSpec spec;
  spec.tokens = 20;
  spec.q_heads = 2;
  spec.kv_heads = 1;
  spec.head_dim = 64;
  return spec;
}

TEST(RingAttentionFaultsTest, RankThatNeverCallsForwardIsNamedWithinTheDeadline) {
  std::vector<Status> statuses(3);
  std::atomic<int> given_up{0};
  const auto body = [&](Communicator& comm) -> Status {
    AttentionSpec spec = sound_spec();
    spec.deadline = std::chrono::milliseconds(2000);
    Result<RingAttention> ring = RingAttention::create(comm, spec);
    if (!ring.is_ok()) return ring.status();
    if (comm.rank() == 1) {
      // Holds its end open until the others have given up.
      for (int turn = 0; given_up < 2 && turn < 4000; ++turn)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return {};
    }
    statuses[static_cast<std::size_t>(comm.rank())] = ring->forward();
    ++given_up;
    return {};
  };
  const std::int64_t start_ns = now_ns();
  const Status status = run_threads(3, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();  // the bodies keep what they got
  EXPECT_LT(now_ns() - start_ns, 15'000'000'000);
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_EQ(statuses[rank].code(), StatusCode::timeout) << statuses[rank].to_string();
    EXPECT_NE(statuses[rank].message().find("rank 1 did not arrive in ring_attention"),
              std::string_view::npos)
        << statuses[rank].to_string();
  }
}

TEST(RingAttentionFaultsTest, CreationWaitsLongerThanAForwardMay) {
  const auto body = [](Communicator& comm) -> Status {
    AttentionSpec spec = sound_spec();
    spec.deadline = std::chrono::milliseconds(20);
    if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return RingAttention::create(comm, spec).status();
  };
  const Status status = run_threads(2, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(RingAttentionFaultsTest, AbortReleasesAForwardAndLaterCallsReturnIt) {
  std::vector<Status> statuses(3), later(3);
  std::atomic<int> created{0};
  const auto body = [&](Communicator& comm) -> Status {
    Result<RingAttention> ring = RingAttention::create(comm, sound_spec());
    ++created;
    if (!ring.is_ok()) return ring.status();
    const auto rank = static_cast<std::size_t>(comm.rank());
    if (rank == 1) {
      while (created < 3) std::this_thread::yield();  // an abort would fail their creation
      comm.abort("the test said so");
    } else {
      statuses[rank] = ring->forward();
    }
    later[rank] = ring->forward();
    return {};
  };
  const Status status = run_threads(3, body, test::small_options());
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_EQ(statuses[rank].code(), StatusCode::aborted) << statuses[rank].to_string();
    EXPECT_NE(statuses[rank].message().find("the test said so"), std::string_view::npos);
  }
  for (const Status& call : later) EXPECT_EQ(call.code(), StatusCode::aborted) << call.to_string();
}

}  // namespace
}  // namespace ringcomm
