// SPDX-License-Identifier: Apache-2.0
// Ranks that call with different values, or do not come at all: every rank gets the error, long before its
// deadline, with the values in it. Where a bound in time is asserted it has a large margin.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm {
namespace {

using namespace test;
using Body = std::function<Status(Communicator&)>;

constexpr std::int64_t kBoundNs = 10'000'000'000;  // a sixth of the deadline; the claim itself is 100 ms

/// What each rank's body returned.
std::vector<Status> outcomes(const MediumAndRanks& medium, std::chrono::milliseconds deadline,
                             const Body& body) {
  std::vector<Status> results(static_cast<std::size_t>(medium.ranks));
  CommunicatorOptions options = with_deadline(deadline);
  options.transports = medium.transports;
  const Status ran = run_threads(
      medium.ranks,
      [&](Communicator& comm) {
        Status status = body(comm);
        results[static_cast<std::size_t>(comm.rank())] = status;
        if (status.is_ok()) return status;
        const Status again = barrier(comm.channel()).status();
        EXPECT_EQ(again.code(), status.code()) << "a later call returns the failure: " << again.to_string();
        return Status();
      },
      options);
  EXPECT_TRUE(ran.is_ok()) << ran.to_string();
  return results;
}

class DisagreementTest : public testing::TestWithParam<MediumAndRanks> {
 protected:
  /// All ranks get `code`; some message holds every one of `parts`.
  void expect_all(StatusCode code, const std::vector<std::string>& parts, const Body& body) {
    const std::int64_t started = now_ns();
    const auto results = outcomes(GetParam(), std::chrono::seconds(60), body);
    EXPECT_LT(now_ns() - started, kBoundNs);
    for (const Status& status : results) {
      EXPECT_EQ(status.code(), code) << status.to_string();
      for (const std::string& part : parts)
        EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.to_string();
    }
  }
};

TEST_P(DisagreementTest, OperationsThatDifferAreNamed) {
  expect_all(StatusCode::mismatch, {"barrier", "all_gather"}, [](Communicator& comm) -> Status {
    if (comm.rank() == 1) return barrier(comm.channel()).status();
    float in = 0;
    std::vector<float> out(static_cast<std::size_t>(comm.size()));
    return all_gather(comm.channel(), TensorView::contiguous(&in, DType::float32, {1}),
                      TensorView::contiguous(out.data(), DType::float32, {comm.size()}))
        .status();
  });
}

TEST_P(DisagreementTest, GatheredSizesThatDifferAreNamedInBytes) {
  expect_all(StatusCode::mismatch, {"bytes", "12", "20"}, [](Communicator& comm) -> Status {
    const std::int64_t count = comm.rank() == 1 ? 5 : 3;
    std::vector<float> in(5);
    std::vector<float> out(static_cast<std::size_t>(count * comm.size()));
    return all_gather(comm.channel(), TensorView::contiguous(in.data(), DType::float32, {count}),
                      TensorView::contiguous(out.data(), DType::float32, {count * comm.size()}))
        .status();
  });
}

TEST_P(DisagreementTest, GatheredTypesThatDifferAreNamed) {
  expect_all(StatusCode::mismatch, {"float32", "int32"}, [](Communicator& comm) -> Status {
    const DType type = comm.rank() == 1 ? DType::int32 : DType::float32;
    float in = 0;
    std::vector<float> out(static_cast<std::size_t>(comm.size()));
    return all_gather(comm.channel(), TensorView::contiguous(&in, type, {1}),
                      TensorView::contiguous(out.data(), type, {comm.size()}))
        .status();
  });
}

Status reduce(Communicator& comm, std::int64_t rows, std::int64_t dim, PartialForm form, LogBase base) {
  std::vector<float> out(static_cast<std::size_t>(rows * dim));
  std::vector<float> statistic(static_cast<std::size_t>(rows * 2));
  SoftmaxPartial partial;
  partial.form = form;
  partial.base = base;
  partial.out = TensorView::contiguous(out.data(), DType::float32, {rows, dim});
  partial.statistic = form == PartialForm::normalised
                          ? TensorView::contiguous(statistic.data(), DType::float32, {rows})
                          : TensorView::contiguous(statistic.data(), DType::float32, {rows, 2});
  return softmax_all_reduce(comm.channel(), partial, partial).status();
}

TEST_P(DisagreementTest, SoftmaxRowsDimFormAndBaseThatDifferAreAMismatch) {
  expect_all(StatusCode::mismatch, {"bytes"}, [](Communicator& comm) {
    return reduce(comm, comm.rank() == 1 ? 6 : 4, 4, PartialForm::normalised, LogBase::e);
  });
  expect_all(StatusCode::mismatch, {"bytes"}, [](Communicator& comm) {
    return reduce(comm, 4, comm.rank() == 1 ? 6 : 4, PartialForm::normalised, LogBase::e);
  });
  // Equal bytes in all: 8 rows of 16 floats and 16 rows of 8, statistics included.
  expect_all(StatusCode::mismatch, {}, [](Communicator& comm) {
    return reduce(comm, comm.rank() == 1 ? 16 : 8, comm.rank() == 1 ? 7 : 15, PartialForm::normalised,
                  LogBase::e);
  });
  expect_all(StatusCode::mismatch, {}, [](Communicator& comm) {
    const bool is_odd = comm.rank() == 1;
    return reduce(comm, 4, is_odd ? 4 : 5, is_odd ? PartialForm::unnormalised : PartialForm::normalised,
                  LogBase::e);
  });
  expect_all(StatusCode::mismatch, {"signature"}, [](Communicator& comm) {
    return reduce(comm, 4, 4, PartialForm::normalised, comm.rank() == 1 ? LogBase::two : LogBase::e);
  });
}

Status merge_by(Communicator& comm, MergeChoice algorithm, MergeOrder order) {
  std::vector<float> out(16);
  std::vector<float> statistic(4);
  SoftmaxPartial partial;
  partial.out = TensorView::contiguous(out.data(), DType::float32, {4, 4});
  partial.statistic = TensorView::contiguous(statistic.data(), DType::float32, {4});
  return softmax_all_reduce(comm.channel(), partial, partial, {.algorithm = algorithm, .order = order})
      .status();
}

TEST_P(DisagreementTest, SoftmaxAlgorithmsThatDifferAreAMismatch) {
  constexpr MergeChoice kChoices[] = {MergeChoice::one_shot, MergeChoice::two_shot,
                                      MergeChoice::packed_all_to_all, MergeChoice::gather_stats,
                                      MergeChoice::recursive_doubling};
  for (const MergeChoice odd : kChoices) {
    if (odd == MergeChoice::two_shot) continue;
    expect_all(StatusCode::mismatch, {"softmax_all_reduce", "rank 1"}, [odd](Communicator& comm) {
      return merge_by(comm, comm.rank() == 1 ? odd : MergeChoice::two_shot, MergeOrder::fast);
    });
  }
}

Status scatter(Communicator& comm, const SoftmaxReduceScatterOptions& options, std::int64_t kept) {
  constexpr std::int64_t kRows = 24;
  std::vector<float> out(kRows), statistic(kRows), result(kRows), result_statistic(kRows);
  SoftmaxPartial partial;
  partial.out = TensorView::contiguous(out.data(), DType::float32, {kRows, 1});
  partial.statistic = TensorView::contiguous(statistic.data(), DType::float32, {kRows});
  SoftmaxPartial share;
  share.out = TensorView::contiguous(result.data(), DType::float32, {kept, 1});
  share.statistic = TensorView::contiguous(result_statistic.data(), DType::float32, {kept});
  return softmax_reduce_scatter(comm.channel(), partial, share, options).status();
}

TEST_P(DisagreementTest, ScatteredSoftmaxSharesThatDifferAreAMismatch) {
  const auto shares = [](const Communicator& comm, bool is_odd) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(comm.size()), 0);
    counts[is_odd ? 0 : 1] = 24;
    return counts;
  };
  const std::vector<std::string> named{"softmax_reduce_scatter", "rank 1"};
  expect_all(StatusCode::mismatch, named, [&](Communicator& comm) {  // counts
    SoftmaxReduceScatterOptions options;
    options.counts = shares(comm, comm.rank() == 1);
    return scatter(comm, options, options.counts[static_cast<std::size_t>(comm.rank())]);
  });
  expect_all(StatusCode::mismatch, named, [&](Communicator& comm) {  // rows against heads, the same counts
    SoftmaxReduceScatterOptions options;
    options.scatter = comm.rank() == 1 ? MergeScatter::heads : MergeScatter::rows;
    options.heads = 24;
    options.counts = shares(comm, false);
    return scatter(comm, options, options.counts[static_cast<std::size_t>(comm.rank())]);
  });
  expect_all(StatusCode::mismatch, named, [&](Communicator& comm) {  // heads of a token, the same rows kept
    SoftmaxReduceScatterOptions options;
    options.scatter = MergeScatter::heads;
    options.heads = comm.rank() == 1 ? 12 : 24;
    options.counts = shares(comm, false);
    options.counts[1] = options.heads;
    return scatter(comm, options, comm.rank() == 1 ? 24 : 0);
  });
  expect_all(StatusCode::mismatch, named, [&](Communicator& comm) {
    SoftmaxReduceScatterOptions options;
    options.algorithm = comm.rank() == 1 ? MergeChoice::gather_stats : MergeChoice::two_shot;
    options.counts = shares(comm, false);
    return scatter(comm, options, options.counts[static_cast<std::size_t>(comm.rank())]);
  });
}

Status rotate(Communicator& comm, std::vector<std::int64_t> rows, std::int64_t dim, RotationChoice mode) {
  const std::int64_t own = rows[static_cast<std::size_t>(comm.rank())];
  std::vector<float> memory(static_cast<std::size_t>(2 * own * dim));
  RotationOptions options;
  options.rows = std::move(rows);
  options.mode = mode;
  RINGCOMM_TRY_ASSIGN(
      auto rotation,
      RingRotation::create(
          comm.channel(), TensorView::contiguous(memory.data(), DType::float32, {own, 1, dim}),
          TensorView::contiguous(memory.data() + own * dim, DType::float32, {own, 1, dim}), options));
  return rotation.run([](const RotationStep&) {});
}

TEST_P(DisagreementTest, RotationsWithOtherRowsOrDimsAreNamedInBytes) {
  for (const RotationChoice mode : {RotationChoice::automatic, RotationChoice::relay}) {
    // Rank 0 believes that the last rank has 4 rows; it has 3.
    expect_all(StatusCode::mismatch, {"bytes", "24", "32"}, [mode](Communicator& comm) {
      std::vector<std::int64_t> rows(static_cast<std::size_t>(comm.size()), 2);
      rows.back() = comm.rank() == 0 ? 4 : 3;
      return rotate(comm, rows, 1, mode);
    });
    expect_all(StatusCode::mismatch, {"bytes"}, [mode](Communicator& comm) {
      return rotate(comm, std::vector<std::int64_t>(static_cast<std::size_t>(comm.size()), 2),
                    comm.rank() == 1 ? 2 : 1, mode);
    });
  }
}

TEST_P(DisagreementTest, ARankThatAbortsReleasesTheOthersWithItsReason) {
  expect_all(StatusCode::aborted, {"rank 1", "out of coffee"}, [](Communicator& comm) -> Status {
    if (comm.rank() == 1) {
      comm.abort("out of coffee");
      return comm.health();
    }
    return barrier(comm.channel()).status();
  });
}

TEST_P(DisagreementTest, ARankThatLeavesIsLostAtOnce) {
  const std::int64_t started = now_ns();
  CommunicatorOptions options = with_deadline(std::chrono::seconds(60));
  options.transports = GetParam().transports;
  std::atomic<int> lost{0};
  const Status status = run_threads(
      GetParam().ranks,
      [&](Communicator& comm) -> Status {
        if (comm.rank() == 1) return {};
        const Status waited = barrier(comm.channel()).status();
        lost += waited.code() == StatusCode::peer_lost && waited.message().find("rank 1") != std::string::npos
                    ? 1
                    : 0;
        return {};
      },
      options);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(lost.load(), GetParam().ranks - 1);
  EXPECT_LT(now_ns() - started, kBoundNs);
}

TEST_P(DisagreementTest, ABarrierTimeoutNamesWhoHasNotCome) {
  std::atomic<int> waiting{GetParam().ranks - 1};
  const auto results =
      outcomes(GetParam(), std::chrono::milliseconds(300), [&](Communicator& comm) -> Status {
        if (comm.rank() == 1) {
          while (waiting.load() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return barrier(comm.channel()).status();
        }
        const Status status = barrier(comm.channel()).status();
        --waiting;
        return status;
      });
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), StatusCode::timeout) << status.to_string();
    EXPECT_NE(status.message().find("rank 1 did not arrive in barrier #1"), std::string::npos)
        << status.to_string();
  }
}

std::vector<MediumAndRanks> groups_of_two_and_more() {
  std::vector<MediumAndRanks> media;
  for (const MediumAndRanks& medium : thread_media()) {
    if (medium.ranks == 2 || medium.ranks == 3 || medium.ranks == 5) media.push_back(medium);
  }
  return media;
}

INSTANTIATE_TEST_SUITE_P(Media, DisagreementTest, testing::ValuesIn(groups_of_two_and_more()), name_of_case);

TEST(RingRotationFaultTest, ADestroyedRotationAndAnAbortInTheMiddleReleaseEverybody) {
  for (const RotationChoice mode : {RotationChoice::direct, RotationChoice::relay}) {
    for (const bool aborts : {true, false}) {
      const auto results =
          outcomes({"inproc", 4, {}}, std::chrono::seconds(60), [&](Communicator& comm) -> Status {
            std::vector<float> memory(64);
            RotationOptions options;
            options.mode = mode;
            Status status;
            {
              RINGCOMM_TRY_ASSIGN(
                  auto rotation,
                  RingRotation::create(
                      comm.channel(), TensorView::contiguous(memory.data(), DType::float32, {4, 1, 8}),
                      TensorView::contiguous(memory.data() + 32, DType::float32, {4, 1, 8}), options));
              RINGCOMM_TRY(rotation.start());
              while (RotationStep step = rotation.next()) {
                if (comm.rank() != 2 || step.index() != 1) continue;
                if (!aborts) break;
                std::thread([&comm] { comm.abort("from another thread"); }).join();
              }
              status = rotation.status();
            }
            return comm.rank() == 2 && !aborts ? comm.health() : status;
          });
      for (std::size_t rank = 0; rank < results.size(); ++rank) {
        const Status& status = results[rank];
        // Direct: rank 2 has given rank 1's block back and offered its own, so rank 1 may have finished
        // before. Relay: rank 2's second step may be through beside its first, and then ranks 3 and 0 need
        // nothing more of it.
        const bool may_be_done = mode == RotationChoice::direct ? rank == 1 : rank == 3 || rank == 0;
        if (may_be_done && status.is_ok()) continue;
        EXPECT_EQ(status.code(), StatusCode::aborted) << status.to_string();
        EXPECT_NE(status.message().find("rank 2"), std::string::npos) << status.to_string();
      }
    }
  }
}

}  // namespace
}  // namespace ringcomm
