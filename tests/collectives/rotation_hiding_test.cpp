// SPDX-License-Identifier: Apache-2.0
// A relay hides the messages' time behind the work on the blocks. Messages are made slow by a transport that
// waits before each batch; work and wait both sleep, so that ranks need no cores of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "support/delayed_transport.hpp"

namespace ringcomm {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kDelay{60};  ///< before each batch of messages
constexpr milliseconds kWork{80};   ///< on each block
constexpr std::int64_t kRows = 4;

struct Turn {
  double wall_ms = 0;       ///< of the slowest rank
  double most_late_ms = 0;  ///< how much longer than asked for one sleep of work took: a busy machine
  int wrong = 0;
};

/// One rotation on a rank; `late_ms` as Turn.
Result<double> rotate(Communicator& comm, plan::Overlap overlap, Turn& turn, std::mutex& mutex) {
  auto window = comm.allocate(2 * kRows * sizeof(float));
  if (!window.is_ok()) return window.status();
  auto* data = reinterpret_cast<float*>(window->data());
  std::fill_n(data, 2 * kRows, static_cast<float>(comm.rank()));
  const TensorView k = TensorView::contiguous(data, DType::float32, {kRows, 1, 1});
  const TensorView v = TensorView::contiguous(data + kRows, DType::float32, {kRows, 1, 1});
  auto rotation =
      RingRotation::create(comm.channel(), k, v, {.mode = RotationChoice::relay, .overlap = overlap});
  if (!rotation.is_ok()) return rotation.status();
  if (auto entered = barrier(comm.channel()); !entered.is_ok()) return entered.status();
  double late_ms = 0;
  int wrong = 0;
  const auto begun = Clock::now();
  const Status status = rotation->run([&](const RotationStep& step) {
    const auto work_begun = Clock::now();
    std::this_thread::sleep_for(kWork);
    const std::chrono::duration<double, std::milli> worked = Clock::now() - work_begun;
    late_ms = std::max(late_ms, worked.count() - static_cast<double>(kWork.count()));
    const auto seen = static_cast<const float*>(step.parts().front().k.data)[0];
    const int expected = (comm.rank() - step.index() + comm.size()) % comm.size();
    wrong += static_cast<int>(seen) == expected ? 0 : 1;
  });
  if (!status.is_ok()) return status;
  const std::chrono::duration<double, std::milli> spent = Clock::now() - begun;
  const std::lock_guard lock(mutex);
  turn.wall_ms = std::max(turn.wall_ms, spent.count());
  turn.most_late_ms = std::max(turn.most_late_ms, late_ms);
  turn.wrong += wrong;
  return spent.count();
}

Turn run_turn(int ranks, plan::Overlap overlap) {
  CommunicatorOptions options;
  options.arena_bytes = 1U << 20;
  options.transports = {testing_support::delayed_transport(inproc_transport(), {kDelay, kDelay})};
  Turn turn;
  std::mutex mutex;
  const Status status = run_threads(
      ranks, [&](Communicator& comm) { return rotate(comm, overlap, turn, mutex).status(); }, options);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return turn;
}

class RotationHidingTest : public testing::TestWithParam<int> {};

TEST_P(RotationHidingTest, WorkHidesTheMessages) {
  const int ranks = GetParam();
  const double work_ms = static_cast<double>(ranks * kWork.count());
  const double messages_ms = static_cast<double>((ranks - 1) * kDelay.count());
  const Turn serial = run_turn(ranks, plan::Overlap::off);
  const Turn hidden = run_turn(ranks, plan::Overlap::on);
  std::printf("%d ranks: work %.0f ms, messages %.0f ms, one after the other %.0f ms, overlapped %.0f ms\n",
              ranks, work_ms, messages_ms, serial.wall_ms, hidden.wall_ms);
  EXPECT_EQ(serial.wrong + hidden.wrong, 0);
  // A lower bound: nothing can be faster than its sleeps.
  EXPECT_GE(serial.wall_ms, work_ms + messages_ms);
  // Half of the messages' time is the margin for a busy machine, and what the sleeps of work came late.
  EXPECT_LT(hidden.wall_ms, work_ms + messages_ms / 2 + ranks * hidden.most_late_ms);
}

INSTANTIATE_TEST_SUITE_P(Ranks, RotationHidingTest, testing::Values(2, 3, 4),
                         [](const auto& param) { return "ranks" + std::to_string(param.param); });

}  // namespace
}  // namespace ringcomm
