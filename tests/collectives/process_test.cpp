// SPDX-License-Identifier: Apache-2.0
// The collectives with ranks as forked processes over shm: the same oracles, the counters, and ranks that die
// or stop in the middle. This program starts no thread before it forks.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm {
namespace {

using namespace test;

struct Block {
  Window window;
  std::vector<float> memory;
  TensorView k, v;
};

constexpr std::int64_t kDim = 6;

Result<Block> own_block(Communicator& comm, std::int64_t rows, bool in_window) {
  Block block;
  float* data = nullptr;
  if (in_window) {
    RINGCOMM_TRY_ASSIGN(block.window,
                        comm.allocate(static_cast<std::size_t>(2 * rows * kDim) * sizeof(float)));
    data = block.window.span<float>().data();
  } else {
    block.memory.resize(static_cast<std::size_t>(2 * rows * kDim));
    data = block.memory.data();
  }
  for (std::int64_t i = 0; i < 2 * rows * kDim; ++i) data[i] = value_of(comm.rank(), i);
  block.k = TensorView::contiguous(data, DType::float32, {rows, 1, kDim});
  block.v = TensorView::contiguous(data + rows * kDim, DType::float32, {rows, 1, kDim});
  return block;
}

Status rotate(Communicator& comm, RotationChoice mode, bool in_window) {
  RotationOptions options;
  options.mode = mode;
  for (int rank = 0; rank < comm.size(); ++rank) options.rows.push_back(rank % 3 == 1 ? 0 : 5 + rank);
  RINGCOMM_TRY_ASSIGN(const Block block,
                      own_block(comm, options.rows[static_cast<std::size_t>(comm.rank())], in_window));
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  for (int repeat = 0; repeat < 5; ++repeat) {
    RINGCOMM_TRY(rotation.start());
    int steps = 0;
    while (RotationStep step = rotation.next()) {
      random_delay(static_cast<std::uint32_t>(repeat * 100 + comm.rank() * 10 + steps));
      const RotationPart& part = step.parts()[0];
      RINGCOMM_TRY(expect(part.row_count == options.rows[static_cast<std::size_t>(part.source)], "rows"));
      for (std::int64_t i = 0; i < part.row_count * kDim; ++i) {
        RINGCOMM_TRY(expect(static_cast<const float*>(part.k.data)[i] == value_of(part.source, i), "k"));
        RINGCOMM_TRY(expect(
            static_cast<const float*>(part.v.data)[i] == value_of(part.source, part.row_count * kDim + i),
            "v"));
      }
      ++steps;
    }
    RINGCOMM_TRY(rotation.status());
    RINGCOMM_TRY(expect(steps == comm.size(), "steps"));
  }
  const CommunicatorCounters counters = comm.counters();
  if (mode == RotationChoice::direct)
    RINGCOMM_TRY(expect(counters.transport.bytes_copied == 0, "direct copied"));
  return expect(in_window == (counters.bytes_packed == 0) || block.k.element_count() == 0, "packed");
}

Status gather(Communicator& comm) {
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < comm.size(); ++rank) counts.push_back(3 * rank);
  std::vector<float> in(static_cast<std::size_t>(3 * comm.rank()), static_cast<float>(comm.rank()));
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<float> out(static_cast<std::size_t>(total), -1.0F);
  RINGCOMM_TRY(all_gather(comm.channel(),
                          TensorView::contiguous(in.data(), DType::float32, {3 * comm.rank()}),
                          TensorView::contiguous(out.data(), DType::float32, {total}), counts)
                   .status());
  std::size_t at = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    for (int i = 0; i < 3 * rank; ++i)
      RINGCOMM_TRY(expect(out[at++] == static_cast<float>(rank), "gathered"));
  }
  return {};
}

/// Every rank's partial is (rank, lse = 0): the merge is the mean of the ranks.
Status reduce(Communicator& comm, std::int64_t rows, MergeChoice algorithm) {
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(SoftmaxPartial::bytes_needed(rows, kDim)));
  RINGCOMM_TRY_ASSIGN(const SoftmaxPartial partial, SoftmaxPartial::in(window, rows, kDim));
  SoftmaxAllReduceOptions options;
  options.algorithm = algorithm;
  options.order = MergeOrder::fast;
  const auto ranks = static_cast<float>(comm.size());
  for (int repeat = 0; repeat < 3; ++repeat) {
    auto* const out = static_cast<float*>(partial.out.data);
    auto* const lse = static_cast<float*>(partial.statistic.data);
    std::fill_n(out, rows * kDim, static_cast<float>(comm.rank()));
    std::fill_n(lse, rows, 0.0F);
    RINGCOMM_TRY(softmax_all_reduce(comm.channel(), partial, partial, options).status());
    for (std::int64_t i = 0; i < rows * kDim; ++i)
      RINGCOMM_TRY(expect(std::fabs(out[i] - (ranks - 1) / 2) < 1e-6F * ranks, "mean"));
    for (std::int64_t row = 0; row < rows; ++row)
      RINGCOMM_TRY(expect(std::fabs(lse[row] - std::log(ranks)) < 1e-6F, "lse"));
  }
  return {};
}

class ProcessTest : public testing::TestWithParam<int> {};

TEST_P(ProcessTest, CollectivesGiveTheSameOverSharedMemory) {
  for (const RotationChoice mode : {RotationChoice::direct, RotationChoice::relay}) {
    for (const bool in_window : {true, false}) {
      const Status status = run_processes(
          GetParam(), [&](Communicator& comm) { return rotate(comm, mode, in_window); },
          with_deadline(std::chrono::seconds(30)));
      EXPECT_TRUE(status.is_ok()) << status.to_string();
    }
  }
  const Status status = run_processes(
      GetParam(),
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY(gather(comm));
        for (const std::int64_t rows : {0, 1, 13}) {
          for (const MergeChoice algorithm :
               {MergeChoice::one_shot, MergeChoice::two_shot, MergeChoice::packed_all_to_all,
                MergeChoice::gather_stats, MergeChoice::recursive_doubling})
            RINGCOMM_TRY(reduce(comm, rows, algorithm));
        }
        return barrier(comm.channel()).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProcessTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return concat("ranks", tested.param); });

enum class Fault { killed, stopped };

/// Rank `victim` dies or stops at step 1 of its third rotation.
Status rotate_until(Communicator& comm, int victim, Fault fault, RotationChoice mode) {
  RINGCOMM_TRY_ASSIGN(const Block block, own_block(comm, 4, true));
  RotationOptions options;
  options.mode = mode;
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  for (int repeat = 0; repeat < 100; ++repeat) {
    RINGCOMM_TRY(rotation.start());
    while (RotationStep step = rotation.next()) {
      if (repeat == 2 && step.index() == 1 && comm.rank() == victim)
        raise(fault == Fault::killed ? SIGKILL : SIGSTOP);
    }
    RINGCOMM_TRY(rotation.status());
  }
  return {};
}

TEST(ProcessFaultTest, ARankKilledInTheMiddleOfARotationIsNamedAndTheOthersEnd) {
  for (const RotationChoice mode : {RotationChoice::direct, RotationChoice::relay}) {
    for (const int victim : {0, 2}) {
      const std::int64_t started = now_ns();
      const Status status = run_processes(
          4, [&](Communicator& comm) { return rotate_until(comm, victim, Fault::killed, mode); },
          with_deadline(std::chrono::seconds(60)));
      EXPECT_EQ(status.code(), StatusCode::peer_lost);
      EXPECT_EQ(status.message(), concat("rank ", victim, " was killed by signal 9"));
      EXPECT_LT(now_ns() - started, 20'000'000'000);
    }
  }
}

TEST(ProcessFaultTest, AStoppedRankIsNamedAtTheDeadline) {
  const Status status = run_processes(
      3, [](Communicator& comm) { return rotate_until(comm, 1, Fault::stopped, RotationChoice::direct); },
      with_deadline(std::chrono::seconds(2)));
  EXPECT_EQ(status.code(), StatusCode::timeout) << status.to_string();
  EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
