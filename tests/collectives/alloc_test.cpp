// SPDX-License-Identifier: Apache-2.0
// The oracle is operator new itself, replaced in this program: two ranks as threads, and after a warm-up
// neither may call it.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/exchange.hpp"
#include "ringcomm/collectives/reduce.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "support/allocation_count.hpp"

namespace ringcomm {
namespace {

using namespace test;

/// Allocations of both ranks during 100 rounds, after 4 that may allocate.
long allocations_of(
    const std::function<Status(Communicator&, const std::function<void()>& next_round)>& body) {
  constexpr int kWarmUp = 4;
  constexpr int kRounds = 100;
  std::atomic<long> before{0};
  std::atomic<long> after{0};
  const Status status = run_threads(
      2,
      [&](Communicator& comm) -> Status {
        int round = 0;
        return body(comm, [&]() {
          ++round;
          if (comm.rank() != 0) return;
          if (round == kWarmUp) before = test::allocations();
          if (round == kRounds + kWarmUp) after = test::allocations();
        });
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_GT(after.load(), 0);
  return after - before;
}

constexpr int kRoundsInAll = 105;

TEST(CollectivesAllocationTest, TheCounterCounts) {
  EXPECT_GE(allocations_of([](Communicator&, const auto& next_round) {
              for (int i = 0; i < kRoundsInAll; ++i) {
                ::operator delete(::operator new(4));
                next_round();
              }
              return Status();
            }),
            100);
}

TEST(CollectivesAllocationTest, RepeatedBarriersAllocateNothing) {
  EXPECT_EQ(allocations_of([](Communicator& comm, const auto& next_round) -> Status {
              for (int i = 0; i < kRoundsInAll; ++i) {
                RINGCOMM_TRY(barrier(comm.channel()).status());
                next_round();
              }
              return {};
            }),
            0);
}

TEST(CollectivesAllocationTest, RotationsStartAndStepWithoutAllocating) {
  for (const RotationChoice mode : {RotationChoice::direct, RotationChoice::relay}) {
    for (const plan::Overlap overlap : {plan::Overlap::on, plan::Overlap::off}) {
      EXPECT_EQ(allocations_of([&](Communicator& comm, const auto& next_round) -> Status {
                  RotationOptions options;
                  options.mode = mode;
                  options.overlap = overlap;
                  std::vector<float> memory(64);
                  RINGCOMM_TRY_ASSIGN(
                      auto rotation,
                      RingRotation::create(
                          comm.channel(), TensorView::contiguous(memory.data(), DType::float32, {4, 2, 4}),
                          TensorView::contiguous(memory.data() + 32, DType::float32, {4, 2, 4}), options));
                  for (int i = 0; i < kRoundsInAll; ++i) {
                    RINGCOMM_TRY(rotation.run([](const RotationStep&) {}));
                    next_round();
                  }
                  return {};
                }),
                0)
          << "mode " << static_cast<int>(mode) << " overlap " << static_cast<int>(overlap);
    }
  }
}

TEST(CollectivesAllocationTest, RepeatedSoftmaxAllReducesAllocateNothing) {
  for (const MergeChoice algorithm : {MergeChoice::one_shot, MergeChoice::two_shot}) {
    EXPECT_EQ(allocations_of([&](Communicator& comm, const auto& next_round) -> Status {
                RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(SoftmaxPartial::bytes_needed(16, 8)));
                RINGCOMM_TRY_ASSIGN(const SoftmaxPartial partial, SoftmaxPartial::in(window, 16, 8));
                SoftmaxAllReduceOptions options;
                options.algorithm = algorithm;
                for (int i = 0; i < kRoundsInAll; ++i) {
                  RINGCOMM_TRY(softmax_all_reduce(comm.channel(), partial, partial, options).status());
                  next_round();
                }
                return {};
              }),
              0);
  }
}

TEST(CollectivesAllocationTest, RepeatedMergesReadInPlaceAllocateNothing) {
  for (const bool is_private : {false, true}) {
    EXPECT_EQ(allocations_of([&](Communicator& comm, const auto& next_round) -> Status {
                RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(SoftmaxPartial::bytes_needed(64, 64)));
                RINGCOMM_TRY_ASSIGN(SoftmaxPartial partial, SoftmaxPartial::in(window, 64, 64));
                std::vector<float> own(64 * 64);
                if (is_private) partial.out.data = own.data();
                for (int i = 0; i < kRoundsInAll; ++i) {
                  RINGCOMM_TRY_ASSIGN(MergedRows rows, softmax_all_reduce_in_place(comm.channel(), partial));
                  RINGCOMM_TRY(expect(rows.parts().size() == 2, "not two-shot"));
                  RINGCOMM_TRY(rows.release());
                  next_round();
                }
                return {};
              }),
              0);
  }
}

TEST(CollectivesAllocationTest, RepeatedReductionsAndExchangesAllocateNothing) {
  for (const std::int64_t count : {64, 4096}) {  // one round, and two
    EXPECT_EQ(
        allocations_of([&](Communicator& comm, const auto& next_round) -> Status {
          Channel& channel = comm.channel();
          RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(static_cast<std::size_t>(count) * 12));
          const auto view = [&](std::int64_t first, std::int64_t elements) {
            return TensorView::contiguous(window.span<float>().data() + first, DType::float32, {elements});
          };
          const PointToPoint group[] = {
              {.kind = PointToPoint::Kind::send, .peer = 1 - comm.rank(), .tensor = view(0, count)},
              {.kind = PointToPoint::Kind::receive, .peer = 1 - comm.rank(), .tensor = view(count, count)}};
          const TensorView part = view(2 * count, count / 2);
          for (int i = 0; i < kRoundsInAll; ++i) {
            RINGCOMM_TRY(all_reduce(channel, view(0, count), view(0, count), ReduceOp::max).status());
            RINGCOMM_TRY(reduce_scatter(channel, view(0, count), part, ReduceOp::max).status());
            RINGCOMM_TRY(broadcast(channel, view(0, count), view(count, count), 0).status());
            RINGCOMM_TRY(send_recv(channel, group).status());
            next_round();
          }
          return {};
        }),
        0);
  }
}

// More shapes than the cache holds: the oldest go, the right ones come back, and the arena does not grow for
// ever.
TEST(CollectivesAllocationTest, ManyShapesUseABoundedCache) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        std::vector<float> in(64), out(128);
        std::size_t after_first = 0;
        for (int round = 0; round < 3; ++round) {
          for (std::int64_t count = 0; count < 40; ++count) {
            in[0] = value_of(comm.rank(), count);
            RINGCOMM_TRY(all_gather(comm.channel(),
                                    TensorView::contiguous(in.data(), DType::float32, {count}),
                                    TensorView::contiguous(out.data(), DType::float32, {2 * count}))
                             .status());
            if (count > 0)
              RINGCOMM_TRY(
                  expect(out[static_cast<std::size_t>(count)] == value_of(1, count), "stale program"));
          }
          if (round == 0) after_first = comm.counters().arena_high_water_bytes;
        }
        return expect(comm.counters().arena_high_water_bytes <= 2 * after_first, "the arena grows");
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
