// SPDX-License-Identifier: Apache-2.0
// Wrong arguments, each with its golden message (exact text): every rank is refused at the call, nobody else
// is harmed, and the communicator works on. Oracle: the table below, read by a person.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

/// Arguments that are right, each test case spoils one of them.
struct Arguments {
  std::vector<float> memory = std::vector<float>(1024);
  TensorView k = TensorView::contiguous(memory.data(), DType::float32, {4, 2, 8});
  TensorView v = TensorView::contiguous(memory.data() + 64, DType::float32, {4, 2, 8});
  RotationOptions rotation;

  TensorView input = TensorView::contiguous(memory.data(), DType::float32, {4});
  TensorView output = TensorView::contiguous(memory.data() + 64, DType::float32, {8});
  std::vector<std::int64_t> counts;

  SoftmaxPartial partial{.out = TensorView::contiguous(memory.data(), DType::float32, {4, 8}),
                         .statistic = TensorView::contiguous(memory.data() + 32, DType::float32, {4})};
  SoftmaxPartial result{.out = TensorView::contiguous(memory.data() + 64, DType::float32, {4, 8}),
                        .statistic = TensorView::contiguous(memory.data() + 96, DType::float32, {4})};
  CallOptions call;
};

using Call = std::function<Status(Communicator&, const Arguments&)>;
struct Wrong {
  std::string message;  ///< RANK stands for the own rank
  std::function<void(Arguments&)> spoil;
};

Status refused(Communicator& comm, const Wrong& wrong, const Call& call) {
  Arguments arguments;
  wrong.spoil(arguments);
  const std::string got = golden(call(comm, arguments).to_string());
  std::string expected = wrong.message;
  if (const auto at = expected.find("RANK"); at != std::string::npos)
    expected.replace(at, 4, std::to_string(comm.rank()));
  if (got == expected) return {};
  return Status::internal(concat("expected \"", expected, "\", got \"", got, "\""));
}

class WrongArgumentsTest : public testing::TestWithParam<Medium> {
 protected:
  /// All cases, and after them the right call, on two ranks.
  void expect_refused(const std::vector<Wrong>& table, const Call& call) {
    const LeftBehind before;
    const auto all = outcomes(
        GetParam(), 2,
        [&](Communicator& comm) -> Status {
          for (const Wrong& wrong : table) RINGCOMM_TRY(refused(comm, wrong, call));
          return call(comm, Arguments());
        },
        patient());
    for (const RankOutcome& rank : all) {
      EXPECT_EQ(rank.said, "ok");
      EXPECT_EQ(rank.health, "ok");
      EXPECT_EQ(rank.left, "");
    }
    EXPECT_EQ(before.differences(), "");
  }
};

INSTANTIATE_TEST_SUITE_P(Media, WrongArgumentsTest, testing::Values(Medium::threads, Medium::processes),
                         [](const auto& tested) { return name_of(tested.param); });

const std::vector<Wrong> kRotation = {
    {"invalid_argument: ring rotation: k has 2 axes, v has 3 (both take [rows, heads, dim])",
     [](Arguments& a) {
       a.k = TensorView::contiguous(a.memory.data(), DType::float32, {4, 16});
     }},
    {"invalid_argument: ring rotation: k has 5 axes (0 to 4 are possible)",
     [](Arguments& a) { a.k.axes = 5; }},
    {"invalid_argument: ring rotation: k is float32, v is bfloat16",
     [](Arguments& a) { a.v.dtype = DType::bfloat16; }},
    {"invalid_argument: ring rotation: v has data type number 200 (unknown)",
     [](Arguments& a) { a.v.dtype = DType{200}; }},
    {"invalid_argument: ring rotation: k has 4 rows, v has 3", [](Arguments& a) { a.v.shape[0] = 3; }},
    {"invalid_argument: ring rotation: k has 2 heads, v has 1", [](Arguments& a) { a.v.shape[1] = 1; }},
    {"invalid_argument: ring rotation: k has extent -4 on axis 0 (negative)",
     [](Arguments& a) { a.k.shape[0] = a.v.shape[0] = -4; }},
    {"invalid_argument: ring rotation: v has stride -8 on axis 1 (negative)",
     [](Arguments& a) { a.v.strides[1] = -8; }},
    {"invalid_argument: ring rotation: k is larger than 2^63 bytes (extent 4611686018427387904 on axis 0)",
     [](Arguments& a) { a.k.shape[0] = a.v.shape[0] = kHuge; }},
    {"invalid_argument: ring rotation: k has no memory (null pointer) but 256 bytes",
     [](Arguments& a) { a.k.data = nullptr; }},
    {"not_available: ring rotation: k or v is not in host memory",
     [](Arguments& a) {
       a.v.device = {DeviceKind::cuda, 0};
     }},
    {"invalid_argument: ring rotation: 3 row counts for 2 ranks",
     [](Arguments& a) {
       a.rotation.rows = {4, 4, 4};
     }},
    {"invalid_argument: ring rotation: the block of rank 1 has -1 rows (negative)",
     [](Arguments& a) {
       a.rotation.rows = {4, -1};
     }},
    {"invalid_argument: ring rotation: k and v of rank RANK have 4 rows, its row count is 7",
     [](Arguments& a) {
       a.rotation.rows = {7, 7};
     }},
    {"invalid_argument: ring rotation: k has 4 rows, v has 4611686018427387904",
     [](Arguments& a) {
       a.v.shape[0] = kHuge;
       a.v.shape[1] = 0;
       a.k.shape[1] = 0;
     }},
    {"invalid_argument: ring rotation: direction is 2 (+1 or -1)",
     [](Arguments& a) { a.rotation.direction = 2; }},
    {"invalid_argument: ring rotation: needed has 3 entries for 2 ranks (none, or 4)",
     [](Arguments& a) {
       a.rotation.needed = {1, 1, 1};
     }},
    {"invalid_argument: deadline of ring_rotate is -1 ms (it may not be negative)",
     [](Arguments& a) { a.rotation.deadline = std::chrono::milliseconds(-1); }},
};

TEST_P(WrongArgumentsTest, RotationNamesTheArgumentAndItsValue) {
  expect_refused(kRotation, [](Communicator& comm, const Arguments& a) -> Status {
    RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), a.k, a.v, a.rotation));
    return rotation.run([](const RotationStep&) {});
  });
}

TEST_P(WrongArgumentsTest, RowsOfAnotherRankThatOverflowAreNamed) {
  const std::vector<Wrong> table = {
      {"invalid_argument: ring rotation: the block of rank 1 with 1152921504606846976 rows is larger than "
       "2^60 "
       "elements",
       [](Arguments& a) {
         a.rotation.rows = {4, std::int64_t{1} << 60};
       }}};
  const auto all = outcomes(
      GetParam(), 2,
      [&](Communicator& comm) -> Status {
        if (comm.rank() != 0) return {};
        return refused(comm, table[0], [](Communicator& c, const Arguments& a) {
          return RingRotation::create(c.channel(), a.k, a.v, a.rotation).status();
        });
      },
      patient());
  EXPECT_EQ(all[0].said, "ok");
}

const std::vector<Wrong> kGather = {
    {"invalid_argument: all_gather: 3 counts for 2 ranks",
     [](Arguments& a) {
       a.counts = {4, 4, 4};
     }},
    {"invalid_argument: all_gather: count of rank 1 is -9223372036854775808 (negative)",
     [](Arguments& a) {
       a.counts = {4, std::numeric_limits<std::int64_t>::min()};
     }},
    {"invalid_argument: all_gather: input of rank RANK has 4 elements, its count is 3",
     [](Arguments& a) {
       a.counts = {3, 3};
     }},
    {"invalid_argument: all_gather: input of rank RANK has 3 elements, its count is 4",
     [](Arguments& a) {
       a.input.shape[0] = 3;
       a.counts = {4, 4};
     }},
    {"invalid_argument: all_gather: output is int32, input is float32",
     [](Arguments& a) { a.output.dtype = DType::int32; }},
    {"invalid_argument: all_gather: output has 7 elements, the counts sum to 8",
     [](Arguments& a) { a.output.shape[0] = 7; }},
    {"invalid_argument: all_gather: output is not contiguous", [](Arguments& a) { a.output.strides[0] = 2; }},
    {"invalid_argument: all_gather: input overlaps output without being the input's own place in it",
     [](Arguments& a) { a.input.data = a.memory.data() + 65; }},
    {"invalid_argument: all_gather: input has extent -1 on axis 0 (negative)",
     [](Arguments& a) { a.input.shape[0] = -1; }},
    {"invalid_argument: all_gather: output is larger than 2^63 bytes (extent 4611686018427387904 on axis 0)",
     [](Arguments& a) { a.output.shape[0] = kHuge; }},
    {"invalid_argument: all_gather: output has no memory (null pointer) but 32 bytes",
     [](Arguments& a) { a.output.data = nullptr; }},
    {"not_available: all_gather: input or output is not in host memory",
     [](Arguments& a) {
       a.input.device = {DeviceKind::cuda, 0};
     }},
    {"invalid_argument: deadline of all_gather is -5 ms (it may not be negative)",
     [](Arguments& a) { a.call.deadline = std::chrono::milliseconds(-5); }},
};

TEST_P(WrongArgumentsTest, AllGatherNamesTheArgumentAndItsValue) {
  expect_refused(kGather, [](Communicator& comm, const Arguments& a) {
    return all_gather(comm.channel(), a.input, a.output, a.counts, a.call).status();
  });
}

TEST(WrongCountsTest, CountsWhoseSumOverflowsAreRefused) {
  // The place of the own block is itself a sum of counts: ranks 1 and 2 would compute it out of range.
  const auto all = outcomes(
      Medium::threads, 3,
      [](Communicator& comm) {
        Arguments a;
        std::vector<std::int64_t> counts(3, kHuge);
        counts[static_cast<std::size_t>(comm.rank())] = 4;
        counts[(static_cast<std::size_t>(comm.rank()) + 1) % 3] = std::numeric_limits<std::int64_t>::max();
        return all_gather(comm.channel(), a.input, a.output, counts).status();
      },
      patient());
  for (const RankOutcome& rank : all) {
    EXPECT_EQ(rank.said, "invalid_argument: all_gather: the sum of the counts does not fit 63 bits");
    EXPECT_EQ(rank.health, "ok");
  }
}

const std::vector<Wrong> kSoftmax = {
    {"invalid_argument: softmax_all_reduce: partial out is int32 (float32, bfloat16 and float16 are merged)",
     [](Arguments& a) { a.partial.out.dtype = DType::int32; }},
    {"invalid_argument: softmax_all_reduce: partial out has 1 axes (it takes [rows, dim])",
     [](Arguments& a) { a.partial.out.axes = 1; }},
    {"invalid_argument: softmax_all_reduce: partial out has stride 2 on axis 1 (the elements of a row have "
     "to be "
     "neighbours)",
     [](Arguments& a) {
       a.partial.out.strides = {16, 2};
     }},
    {"invalid_argument: softmax_all_reduce: result statistic is bfloat16 (statistics are float32)",
     [](Arguments& a) { a.result.statistic.dtype = DType::bfloat16; }},
    {"invalid_argument: softmax_all_reduce: partial statistic has 1 axes and 3 rows (normalised partials "
     "take [4])",
     [](Arguments& a) { a.partial.statistic.shape[0] = 3; }},
    {"invalid_argument: softmax_all_reduce: partial statistic has 1 axes and 4 rows (unnormalised partials "
     "take "
     "[4, 2])",
     [](Arguments& a) { a.partial.form = PartialForm::unnormalised; }},
    {"invalid_argument: rows differs: softmax_all_reduce: partial has 4, result has 3",
     [](Arguments& a) { a.result.out.shape[0] = a.result.statistic.shape[0] = 3; }},
    {"invalid_argument: dim differs: softmax_all_reduce: partial has 8, result has 7",
     [](Arguments& a) { a.result.out.shape[1] = 7; }},
    {"invalid_argument: log base differs: softmax_all_reduce: partial has 2, result has e",
     [](Arguments& a) { a.partial.base = LogBase::two; }},
    {"invalid_argument: softmax_all_reduce: partial is float16, result is float32",
     [](Arguments& a) { a.partial.out.dtype = DType::float16; }},
    {"invalid_argument: softmax_all_reduce: partial overlaps result without being the same memory (in place "
     "needs "
     "equal pointers)",
     [](Arguments& a) { a.result.out.data = a.memory.data() + 8; }},
    {"invalid_argument: softmax_all_reduce: partial out has extent -4 on axis 0 (negative)",
     [](Arguments& a) { a.partial.out.shape[0] = -4; }},
    {"invalid_argument: softmax_all_reduce: partial out is larger than 2^63 bytes (extent "
     "4611686018427387904 on "
     "axis 0)",
     [](Arguments& a) { a.partial.out.shape[0] = kHuge; }},
    {"invalid_argument: softmax_all_reduce: partial statistic has no memory (null pointer) but 16 bytes",
     [](Arguments& a) { a.partial.statistic.data = nullptr; }},
};

TEST_P(WrongArgumentsTest, SoftmaxAllReduceNamesTheArgumentAndItsValue) {
  expect_refused(kSoftmax, [](Communicator& comm, const Arguments& a) {
    return softmax_all_reduce(comm.channel(), a.partial, a.result, {.call = a.call}).status();
  });
}

const std::vector<Wrong> kChannels = {
    {"invalid_argument: open_channel: member 2 is no rank of a communicator of 2",
     [](Arguments& a) {
       a.counts = {0, 2};
     }},
    {"invalid_argument: open_channel: member -1 is no rank of a communicator of 2",
     [](Arguments& a) { a.counts = {-1}; }},
    {"invalid_argument: open_channel: rank 1 is listed twice",
     [](Arguments& a) {
       a.counts = {0, 1, 1};
     }},
    {"invalid_argument: open_channel: rank RANK is not among the members it listed",
     [](Arguments& a) { a.counts = {}; }},
};

TEST_P(WrongArgumentsTest, OpenChannelNamesTheMember) {
  const auto all = outcomes(
      GetParam(), 2,
      [](Communicator& comm) -> Status {
        for (const Wrong& wrong : kChannels) {
          RINGCOMM_TRY(refused(comm, wrong, [](Communicator& c, const Arguments& a) {
            return c.open_channel({a.counts.begin(), a.counts.end()}).status();
          }));
        }
        RINGCOMM_TRY_ASSIGN(Channel * pair, comm.open_channel({0, 1}));
        RINGCOMM_TRY(barrier(*pair).status());
        const Status again = comm.open_channel({0, 1}).status();
        return again.to_string() ==
                       "invalid_argument: open_channel: ordinal 1 is open already for these members (take "
                       "another "
                       "one)"
                   ? Status()
                   : again;
      },
      patient());
  for (const RankOutcome& rank : all) EXPECT_EQ(rank.said, "ok");
}

// Before there is any communicator.
TEST(WrongCreationTest, SizesAndOptionsAreNamed) {
  const LeftBehind before;
  const Body nothing = [](Communicator&) { return Status(); };
  EXPECT_EQ(Communicator::create_local(0).status().to_string(),
            "invalid_argument: create_local of 0 ranks (1 to 1024 are possible)");
  EXPECT_EQ(Communicator::create_local(-3).status().to_string(),
            "invalid_argument: create_local of -3 ranks (1 to 1024 are possible)");
  EXPECT_EQ(run_threads(2'000'000'000, nothing).to_string(),
            "invalid_argument: create_local of 2000000000 ranks (1 to 1024 are possible)");
  EXPECT_EQ(run_processes(-1, nothing).to_string(),
            "invalid_argument: run_processes of -1 ranks (1 to 256 are possible)");
  EXPECT_EQ(run_processes(257, nothing).to_string(),
            "invalid_argument: run_processes of 257 ranks (1 to 256 are possible)");
  EXPECT_EQ(Communicator::create(nullptr).status().to_string(),
            "invalid_argument: Communicator::create got no bootstrap (null pointer)");
  CommunicatorOptions options;
  options.deadline = std::chrono::milliseconds(-7);
  EXPECT_EQ(Communicator::create_local(1, options).status().to_string(),
            "invalid_argument: CommunicatorOptions::deadline is -7 ms (it may not be negative)");
  options.deadline = {};
  options.arena_bytes = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(
      Communicator::create_local(1, options).status().to_string(),
      "invalid_argument: segment of 18446744073709551615 bytes (no address space is that large). Did a size "
      "overflow?");
  EXPECT_EQ(before.differences(), "");
}

TEST(WrongCreationTest, WindowsThatCannotBeAreNamed) {
  auto made = Communicator::create_local(1, patient());
  ASSERT_TRUE(made.is_ok()) << made.status().to_string();
  Communicator& comm = made.value().front();
  EXPECT_EQ(
      comm.allocate(std::numeric_limits<std::size_t>::max()).status().to_string(),
      "invalid_argument: segment of 18446744073709551615 bytes (no address space is that large). Did a size "
      "overflow?");
  // What the limit is depends on the machine; that there is one does not.
  const Status large = comm.allocate(std::size_t{1} << 50).status();
  EXPECT_EQ(large.code(), StatusCode::out_of_memory);
  EXPECT_TRUE(large.message().starts_with("segment \"ringcomm-window\" of 1024 TiB does not fit: "))
      << large.message();
  const auto window = comm.allocate(100);
  ASSERT_TRUE(window.is_ok());
  EXPECT_EQ(SoftmaxPartial::in(window.value(), 4, 8).status().to_string(),
            "invalid_argument: softmax partial of 4 rows of 8 float32 needs 144 bytes, the window has 100");
  EXPECT_TRUE(comm.health().is_ok());
}

}  // namespace
}  // namespace ringcomm
