// SPDX-License-Identifier: Apache-2.0
// Oracle: the local k-way merge of all ranks' partials, bit by bit, of rows that are read where their mergers
// left them: right after the call, and after a delay in which the owners have gone on to their next call.
#include <gtest/gtest.h>

#include <thread>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "collectives/softmax_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "support/wrapping_transport.hpp"

namespace ringcomm {
namespace {

using namespace test;

/// Bytes of rows of `view` from `first` on equal `part`.
bool is_same_rows(const TensorView& view, std::int64_t first, const TensorView& part) {
  const std::size_t row_bytes =
      part.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(part.shape[0], 1));
  return std::memcmp(static_cast<const std::byte*>(view.data) + static_cast<std::size_t>(first) * row_bytes,
                     part.data, part.bytes()) == 0;
}

Status expect_parts(const MergedRows& merged, const Shape& shape, int ranks, int salt) {
  const Owned expected = expected_of(shape, ranks, salt);
  std::int64_t next = 0;
  for (const MergedRows::Part& part : merged.parts()) {
    RINGCOMM_TRY(expect(part.first_row == next && part.rows.rows() > 0, concat("a gap at row ", next)));
    RINGCOMM_TRY(expect(is_same_rows(expected.view.out, next, part.rows.out) &&
                            is_same_rows(expected.view.statistic, next, part.rows.statistic),
                        concat("other bits in rows of ", part.owner, ", salt ", salt)));
    next += part.rows.rows();
  }
  return expect(next == shape.rows, concat(next, " of ", shape.rows, " rows"));
}

class SoftmaxInPlaceTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(SoftmaxInPlaceTest, PartsAreTheBitsOfTheLocalMerge) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    int salt = 0;
    for (const MergeChoice algorithm :
         {MergeChoice::automatic, MergeChoice::one_shot, MergeChoice::two_shot}) {
      for (const Shape& shape : {Shape{70, 65, DType::float32, PartialForm::normalised},
                                 Shape{9, 3, DType::float16, PartialForm::unnormalised},
                                 Shape{2, 8, DType::bfloat16, PartialForm::normalised},
                                 Shape{0, 4, DType::float32, PartialForm::normalised}}) {
        RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(shape.bytes()));
        RINGCOMM_TRY_ASSIGN(const SoftmaxPartial in_window,
                            SoftmaxPartial::in(window, shape.rows, shape.dim, shape.dtype, shape.form));
        Owned own(shape, 2);
        for (const SoftmaxPartial& partial : {in_window, own.view}) {
          SoftmaxAllReduceOptions options;
          options.algorithm = algorithm;
          fill(partial, comm.rank(), ++salt);
          RINGCOMM_TRY_ASSIGN(const MergedRows merged,
                              softmax_all_reduce_in_place(comm.channel(), partial, options));
          RINGCOMM_TRY(expect_parts(merged, shape, comm.size(), salt));
        }
      }
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

/// A partial in a window, merged in two rounds, so that every rank reads the other's rows.
struct LoanCase {
  Shape shape{24, 16, DType::float32, PartialForm::normalised};
  SoftmaxAllReduceOptions options;
  Window window;
  SoftmaxPartial partial;
};

Result<LoanCase> make_loan_case(Communicator& comm) {
  LoanCase made;
  made.options.algorithm = MergeChoice::two_shot;
  RINGCOMM_TRY_ASSIGN(made.window, comm.allocate(made.shape.bytes()));
  RINGCOMM_TRY_ASSIGN(made.partial, SoftmaxPartial::in(made.window, made.shape.rows, made.shape.dim));
  return made;
}

/// inproc, whose batches go through a stream.
struct InStream {
  Capabilities capabilities(Capabilities inner) const {
    inner.stream_ordered = true;
    return inner;
  }
  void connected(Transport& /*inner*/, int /*rank*/) const {}
  Status run(TransportChannel& inner, std::span<const TransportOp> batch, StreamView stream,
             Deadline deadline) const {
    return inner.submit(batch, stream, deadline);
  }
};

std::unique_ptr<Transport> make_in_stream() {
  return std::make_unique<testing_support::WrappingTransport<InStream>>(inproc_transport()(),
                                                                        std::make_shared<InStream>());
}

// What a run leaves for later must not be submitted with it: it would run twice.
TEST(SoftmaxInPlaceStreamTest, LentRowsAreGivenBackOnce) {
  CommunicatorOptions communicator = with_deadline(std::chrono::seconds(30));
  communicator.transports = {make_in_stream};
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const LoanCase made, make_loan_case(comm));
        for (int salt = 1; salt < 5; ++salt) {
          fill(made.partial, comm.rank(), salt);
          RINGCOMM_TRY_ASSIGN(const MergedRows merged,
                              softmax_all_reduce_in_place(comm.channel(), made.partial, made.options));
          RINGCOMM_TRY(expect_parts(merged, made.shape, comm.size(), salt));
        }
        return {};
      },
      communicator);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// The last rank is slow and reads late; the others have released and merge other rows meanwhile.
TEST_P(SoftmaxInPlaceTest, OwnersDoNotWriteOverRowsThatAPeerStillReads) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(const LoanCase made, make_loan_case(comm));
    const auto& [shape, options, window, partial] = made;
    MergedRows merged;
    for (int round = 0; round < 6; ++round) {
      fill(partial, comm.rank(), round);
      RINGCOMM_TRY_ASSIGN(merged, softmax_all_reduce_in_place(comm.channel(), partial, options));
      const bool is_slow = round % comm.size() == comm.rank();
      if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      RINGCOMM_TRY(expect_parts(merged, shape, comm.size(), round));
      if (round % 2 == 0) RINGCOMM_TRY(merged.release());
      RINGCOMM_TRY(expect(round % 2 == 1 || merged.parts().empty(), "released rows are still offered"));
      // Another operation of the channel between two calls ends the loan too.
      if (round % 3 == 2) RINGCOMM_TRY(barrier(comm.channel()).status());
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Media, SoftmaxInPlaceTest, testing::ValuesIn(thread_media()), name_of_case);

// A plan that writes its rows before the readers have given them back would pass the test above by luck of
// timing; here the reader is known to read after the owner's next call has begun.
TEST(SoftmaxInPlaceLoanTest, TheNextCallWaitsForTheReader) {
  std::atomic<int> begun{0};
  const Status status = run_threads(
      2,
      [&](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const LoanCase made, make_loan_case(comm));
        const auto& [shape, options, window, partial] = made;
        fill(partial, comm.rank(), 1);
        RINGCOMM_TRY_ASSIGN(MergedRows merged, softmax_all_reduce_in_place(comm.channel(), partial, options));
        if (comm.rank() == 0) {
          fill(partial, comm.rank(), 2);
          begun = 1;
        } else {
          while (begun == 0) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          RINGCOMM_TRY(expect_parts(merged, shape, 2, 1));
          fill(partial, comm.rank(), 2);
        }
        RINGCOMM_TRY_ASSIGN(merged, softmax_all_reduce_in_place(comm.channel(), partial, options));
        return expect_parts(merged, shape, 2, 2);
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// A checked arena fills what is given back with NaN; the thread sanitizer sees the hand-over.
TEST(SoftmaxInPlaceLoanTest, TheOwnersEndWaitsForTheReader) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const LoanCase made, make_loan_case(comm));
        const auto& [shape, options, window, partial] = made;
        fill(partial, comm.rank(), 1);
        RINGCOMM_TRY_ASSIGN(const MergedRows merged,
                            softmax_all_reduce_in_place(comm.channel(), partial, options));
        if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return expect_parts(merged, shape, 2, 1);
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(SoftmaxInPlaceArgumentsTest, WhatCannotBeLeftInPlaceIsRefusedAndBreaksNothing) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        const Shape shape{4, 4, DType::float32, PartialForm::normalised};
        Owned own(shape);
        fill(own.view, comm.rank(), 0);
        const auto refused = [&](const SoftmaxAllReduceOptions& options, std::string_view part) {
          const Status got = softmax_all_reduce_in_place(comm.channel(), own.view, options).status();
          return expect(
              got.code() == StatusCode::invalid_argument && got.message().find(part) != std::string::npos,
              concat("\"", part, "\", got ", got.to_string()));
        };
        SoftmaxAllReduceOptions options;
        options.algorithm = MergeChoice::gather_stats;
        RINGCOMM_TRY(refused(options, "gather_stats does not leave results in place"));
        options.algorithm = MergeChoice::recursive_doubling;
        options.order = MergeOrder::fast;
        RINGCOMM_TRY(refused(options, "recursive_doubling"));
        options = {};
        RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
        options.call.stream = stream.view();
        RINGCOMM_TRY(refused(options, "a stream was given"));
        RINGCOMM_TRY(comm.health());
        return softmax_all_reduce_in_place(comm.channel(), own.view).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// Rows may outlive what lent them; nothing of theirs is touched then.
TEST(SoftmaxInPlaceLoanTest, RowsMayOutliveTheirCommunicator) {
  std::array<MergedRows, 2> kept;
  const Status status = run_threads(
      2,
      [&](Communicator& comm) -> Status {
        const Shape shape{24, 16, DType::float32, PartialForm::normalised};
        Owned own(shape);
        fill(own.view, comm.rank(), 1);
        auto& merged = kept[static_cast<std::size_t>(comm.rank())];
        RINGCOMM_TRY_ASSIGN(merged, softmax_all_reduce_in_place(comm.channel(), own.view));
        return {};
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  for (MergedRows& merged : kept) EXPECT_TRUE(merged.release().is_ok());
}

}  // namespace
}  // namespace ringcomm
