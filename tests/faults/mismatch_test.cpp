// SPDX-License-Identifier: Apache-2.0
// Values that differ between ranks: every rank gets a mismatch that names both values, long before the
// deadline of 60 s. Oracle: golden messages; who finds it first, and so speaks first, is open.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr int kRanks = 3;
constexpr int kOdd = 1;  ///< the rank that believes something else
/// The library looks every 100 ms at the latest; the rest is for busy machines.
constexpr std::int64_t kSoonMs = 2000;

struct Values {
  std::string usual;
  std::string odd;
};

struct Difference {
  std::string what;            ///< "block size in bytes differs in ring_rotate #2"
  std::vector<Values> values;  ///< any of these pairs, where two things differ at once

  std::vector<std::string> golden_messages() const {
    std::vector<std::string> texts;
    for (const auto& [usual, odd] : values) {
      for (const int other : {0, 2}) {
        const std::string a = concat("rank ", other, " has ", usual);
        const std::string b = concat("rank ", kOdd, " has ", odd);
        texts.push_back(concat("mismatch: ", what, ": ", a, ", ", b));
        texts.push_back(concat("mismatch: ", what, ": ", b, ", ", a));
      }
    }
    return texts;
  }
};

class MismatchTest : public testing::TestWithParam<Medium> {
 protected:
  void expect_mismatch(const Difference& difference, const Body& body) {
    const LeftBehind before;
    const auto golden_messages = difference.golden_messages();
    const auto all = outcomes(GetParam(), kRanks, body, patient());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      EXPECT_EQ(std::ranges::count(golden_messages, all[rank].said), 1)
          << "rank " << rank << " said: " << all[rank].said << "\nnot as: " << golden_messages[0];
      EXPECT_EQ(all[rank].health, all[rank].said) << "rank " << rank;
      EXPECT_LT(all[rank].ms, kSoonMs) << "rank " << rank;
      EXPECT_EQ(all[rank].left, "") << "rank " << rank;
    }
    EXPECT_EQ(before.differences(), "");
  }
};

INSTANTIATE_TEST_SUITE_P(Media, MismatchTest, testing::Values(Medium::threads, Medium::processes),
                         [](const auto& tested) { return name_of(tested.param); });

Status rotate(Communicator& comm, const BlockShape& shape, const RotationOptions& options = {}) {
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm, shape));
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  RINGCOMM_TRY(rotation.start());
  while (RotationStep step = rotation.next()) continue;
  return rotation.status();
}

TEST_P(MismatchTest, RowsOfARotation) {
  // A row is 2 heads * (8 + 8) * 4 = 128 bytes.
  expect_mismatch({"block size in bytes differs in ring_rotate #2", {{"2048", "2176"}}},
                  [](Communicator& comm) {
                    BlockShape shape;
                    if (comm.rank() == kOdd) shape.rows = 17;
                    return rotate(comm, shape);
                  });
}

TEST_P(MismatchTest, RowsOfARelayedRotation) {
  RotationOptions options;
  options.mode = RotationChoice::relay;
  expect_mismatch({"block size in bytes differs in ring_rotate #2", {{"2048", "2176"}}},
                  [&](Communicator& comm) {
                    BlockShape shape;
                    if (comm.rank() == kOdd) shape.rows = 17;
                    return rotate(comm, shape, options);
                  });
}

TEST_P(MismatchTest, DataTypesOfARotation) {
  expect_mismatch({"data type differs in ring_rotate #2", {{"bfloat16", "float16"}}}, [](Communicator& comm) {
    BlockShape shape;
    shape.dtype = comm.rank() == kOdd ? DType::float16 : DType::bfloat16;
    return rotate(comm, shape);
  });
}

TEST_P(MismatchTest, HeadDimsOfARotation) {
  // Whichever is seen first: the bytes of a row, which ranks tell each other before any block, or the
  // block's.
  expect_mismatch({"block size in bytes differs in ring_rotate #2", {{"128", "256"}, {"2048", "4096"}}},
                  [](Communicator& comm) {
                    BlockShape shape;
                    if (comm.rank() == kOdd) shape.dim = 16;
                    return rotate(comm, shape);
                  });
}

TEST_P(MismatchTest, CountsOfAnAllGather) {
  expect_mismatch({"block size in bytes differs in all_gather #2", {{"16", "20"}}}, [](Communicator& comm) {
    std::vector<float> memory(64);
    // Rank 1 believes that each rank brings five elements.
    const std::int64_t count = comm.rank() == kOdd ? 5 : 4;
    return all_gather(comm.channel(), TensorView::contiguous(memory.data(), DType::float32, {count}),
                      TensorView::contiguous(memory.data() + 32, DType::float32, {count * kRanks}))
        .status();
  });
}

Status reduce(Communicator& comm, std::int64_t rows, std::int64_t dim, DType dtype, PartialForm form) {
  std::vector<float> memory(4096);
  const auto partial_at = [&](float* at) {
    const auto statistic = form == PartialForm::normalised
                               ? TensorView::contiguous(at + 1024, DType::float32, {rows})
                               : TensorView::contiguous(at + 1024, DType::float32, {rows, 2});
    return SoftmaxPartial{
        .form = form, .out = TensorView::contiguous(at, dtype, {rows, dim}), .statistic = statistic};
  };
  return softmax_all_reduce(comm.channel(), partial_at(memory.data()), partial_at(memory.data() + 2048))
      .status();
}

TEST_P(MismatchTest, RowsOfASoftmaxAllReduce) {
  // A row is 8 * 4 bytes and a statistic of 4.
  expect_mismatch(
      {"block size in bytes differs in softmax_all_reduce #2", {{"144", "180"}}}, [](Communicator& comm) {
        return reduce(comm, comm.rank() == kOdd ? 5 : 4, 8, DType::float32, PartialForm::normalised);
      });
}

TEST_P(MismatchTest, DataTypesOfASoftmaxAllReduce) {
  expect_mismatch({"data type differs in softmax_all_reduce #2", {{"bfloat16", "float16"}}},
                  [](Communicator& comm) {
                    return reduce(comm, 4, 8, comm.rank() == kOdd ? DType::float16 : DType::bfloat16,
                                  PartialForm::normalised);
                  });
}

TEST_P(MismatchTest, FormsOfASoftmaxAllReduce) {
  // 8 * 4 + 4 bytes a row on both sides: (8, lse) against (7, max, sum).
  expect_mismatch(
      {"reduce op differs in softmax_all_reduce #2", {{"softmax (out, lse)", "softmax (max, sum, out)"}}},
      [](Communicator& comm) {
        return comm.rank() == kOdd ? reduce(comm, 4, 7, DType::float32, PartialForm::unnormalised)
                                   : reduce(comm, 4, 8, DType::float32, PartialForm::normalised);
      });
}

TEST_P(MismatchTest, OperationsInAnotherOrder) {
  // The odd rank calls its own operation by its name, and so does the other: the first word is the finder's.
  const LeftBehind before;
  const auto all = outcomes(
      GetParam(), kRanks,
      [](Communicator& comm) {
        if (comm.rank() != kOdd) return barrier(comm.channel()).status();
        return reduce(comm, 4, 8, DType::float32, PartialForm::normalised);
      },
      patient());
  for (const RankOutcome& rank : all) {
    const bool is_by_odd = rank.said.find("in softmax_all_reduce #2: rank 1 has softmax_all_reduce, rank ") !=
                               std::string::npos &&
                           rank.said.ends_with(" has barrier");
    const bool is_by_other = rank.said.find("in barrier #2: rank ") != std::string::npos &&
                             rank.said.ends_with(" has barrier, rank 1 has softmax_all_reduce");
    EXPECT_TRUE(rank.said.starts_with("mismatch: operation differs ") && (is_by_odd || is_by_other))
        << rank.said;
    EXPECT_LT(rank.ms, kSoonMs);
  }
  EXPECT_EQ(before.differences(), "");
}

TEST_P(MismatchTest, ModesOfARotationDifferInThePlan) {
  // What has no name of its own in the descriptor shows as another plan; the values are hashes.
  const auto all = outcomes(
      GetParam(), kRanks,
      [](Communicator& comm) {
        RotationOptions options;
        options.mode = comm.rank() == kOdd ? RotationChoice::relay : RotationChoice::direct;
        return rotate(comm, {}, options);
      },
      patient());
  for (const RankOutcome& rank : all) {
    EXPECT_TRUE(rank.said.starts_with("mismatch: plan signature differs in ring_rotate #2: rank "))
        << rank.said;
    EXPECT_LT(rank.ms, kSoonMs);
  }
}

TEST_P(MismatchTest, ARankThatHasPassedByWithoutSendingAnythingIsFoundAtOnce) {
  // The odd rank believes that nobody needs a block, so that nothing ever arrives from it: the line that says
  // which operation it has entered is all that the others can see, until its next call much later.
  const auto all = outcomes(
      GetParam(), kRanks,
      [](Communicator& comm) -> Status {
        RotationOptions options;
        if (comm.rank() != kOdd) return rotate(comm, {}, options);
        options.needed.assign(kRanks * kRanks, 0);
        RINGCOMM_TRY(rotate(comm, {}, options));
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        return barrier(comm.channel()).status();
      },
      patient());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_TRUE(all[rank].said.starts_with("mismatch: plan signature differs in ring_rotate #2: rank "))
        << all[rank].said;
    EXPECT_LT(all[rank].ms, rank == kOdd ? 5000 : 1000);
  }
}

}  // namespace
}  // namespace ringcomm
