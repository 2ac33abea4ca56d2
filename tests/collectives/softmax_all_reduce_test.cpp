// SPDX-License-Identifier: Apache-2.0
// Oracle: the local k-way merge of all ranks' partials in rank order, compared bit by bit: the same on every
// rank, for every canonical algorithm and medium, any place of the memory, blocking or in a stream.
#include <gtest/gtest.h>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "collectives/softmax_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr MergeChoice kCanonical[] = {MergeChoice::one_shot, MergeChoice::two_shot,
                                      MergeChoice::packed_all_to_all, MergeChoice::gather_stats};

enum class Place { window, window_in_place, private_memory, strided, private_in_place };

Status reduce_and_compare(Communicator& comm, const Shape& shape, Place place,
                          const SoftmaxAllReduceOptions& options, int salt) {
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(shape.bytes()));
  Owned own(shape, place == Place::strided ? 3 : 0);
  Owned out(shape, place == Place::strided ? 1 : 0);
  SoftmaxPartial partial = own.view;
  if (place == Place::window || place == Place::window_in_place) {
    RINGCOMM_TRY_ASSIGN(partial, SoftmaxPartial::in(window, shape.rows, shape.dim, shape.dtype, shape.form));
  }
  const bool is_in_place = place == Place::window_in_place || place == Place::private_in_place;
  const SoftmaxPartial result = is_in_place ? partial : out.view;
  for (int repeat = 0; repeat < 2; ++repeat) {
    fill(partial, comm.rank(), salt + repeat);
    random_delay(static_cast<std::uint32_t>(salt * 100 + comm.rank()));
    RINGCOMM_TRY_ASSIGN(const Work work, softmax_all_reduce(comm.channel(), partial, result, options));
    RINGCOMM_TRY(work.wait(Deadline::after(std::chrono::seconds(30))));
    const Owned expected = expected_of(shape, comm.size(), salt + repeat);
    RINGCOMM_TRY(expect(
        is_same(expected.view, result),
        concat("other bits, rows ", shape.rows, " dim ", shape.dim, " place ", static_cast<int>(place))));
  }
  return {};
}

// What goes straight into the result needs no block of the arena.
TEST(SoftmaxAllReduceArenaTest, OneShotIntoOwnMemoryTakesNoBlock) {
  const Status status = run_threads(2, [](Communicator& comm) -> Status {
    const Shape shape{2048, 128, DType::float32, PartialForm::normalised};
    RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(shape.bytes()));
    RINGCOMM_TRY_ASSIGN(const SoftmaxPartial partial,
                        SoftmaxPartial::in(window, shape.rows, shape.dim, shape.dtype, shape.form));
    fill(partial, comm.rank(), 1);
    Owned out(shape);
    const std::size_t before = comm.counters().arena_high_water_bytes;
    SoftmaxAllReduceOptions options;
    options.algorithm = MergeChoice::one_shot;
    RINGCOMM_TRY(softmax_all_reduce(comm.channel(), partial, out.view, options).status());
    return expect(comm.counters().arena_high_water_bytes < before + shape.bytes() / 2, "a block was taken");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

// Private partials are copied into blocks that take turns: peers are told of the right one, again and again.
TEST(SoftmaxAllReduceArenaTest, StagedPartialsTakeTurns) {
  const Status status = run_threads(2, [](Communicator& comm) -> Status {
    const Shape shape{40, 64, DType::float32, PartialForm::normalised};
    Owned own(shape);
    Owned out(shape);
    const std::size_t before = comm.counters().arena_high_water_bytes;
    for (const MergeChoice algorithm :
         {MergeChoice::one_shot, MergeChoice::two_shot, MergeChoice::packed_all_to_all}) {
      SoftmaxAllReduceOptions options;
      options.algorithm = algorithm;
      for (int salt = 0; salt < 70; ++salt) {
        fill(own.view, comm.rank(), salt);
        RINGCOMM_TRY(softmax_all_reduce(comm.channel(), own.view, out.view, options).status());
        const Owned expected = expected_of(shape, comm.size(), salt);
        RINGCOMM_TRY(expect(is_same(expected.view, out.view), concat("other bits in call ", salt)));
      }
    }
    RINGCOMM_TRY(expect(comm.counters().arena_high_water_bytes > before + 16 * shape.bytes(), "no turns"));
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

class SoftmaxAllReduceTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(SoftmaxAllReduceTest, AllRanksGetTheBitsOfTheLocalMergeInRankOrder) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    int salt = 0;
    for (const MergeChoice algorithm :
         {MergeChoice::one_shot, MergeChoice::two_shot, MergeChoice::packed_all_to_all,
          MergeChoice::gather_stats, MergeChoice::automatic}) {
      for (const Shape& shape : {Shape{7, 5, DType::bfloat16, PartialForm::normalised},
                                 Shape{13, 33, DType::float32, PartialForm::unnormalised},
                                 Shape{3, 1, DType::float16, PartialForm::normalised},
                                 Shape{9, 3, DType::float16, PartialForm::unnormalised},
                                 Shape{0, 4, DType::float32, PartialForm::normalised},
                                 Shape{70, 65, DType::float32, PartialForm::normalised}}) {
        SoftmaxAllReduceOptions options;
        options.algorithm = algorithm;
        salt += 10;
        RINGCOMM_TRY(reduce_and_compare(comm, shape, Place::window, options, salt));
      }
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SoftmaxAllReduceTest, AnyMemoryGivesTheSameBits) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    const Shape shape{11, 19, DType::float32, PartialForm::normalised};
    int salt = 0;
    for (const MergeChoice algorithm : kCanonical) {
      for (const Place place :
           {Place::window_in_place, Place::private_memory, Place::strided, Place::private_in_place}) {
        SoftmaxAllReduceOptions options;
        options.algorithm = algorithm;
        RINGCOMM_TRY(reduce_and_compare(comm, shape, place, options, salt += 10));
      }
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SoftmaxAllReduceTest, StreamOrderedGivesTheSameBits) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
    int salt = 0;
    for (const MergeChoice algorithm : kCanonical) {
      for (const Place place : {Place::window, Place::window_in_place, Place::strided}) {
        SoftmaxAllReduceOptions options;
        options.algorithm = algorithm;
        options.call.stream = stream.view();
        const Shape shape{9, 6, DType::bfloat16, PartialForm::unnormalised};
        RINGCOMM_TRY(reduce_and_compare(comm, shape, place, options, salt += 10));
      }
    }
    return stream.synchronize(Deadline::after(std::chrono::seconds(30)));
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Media, SoftmaxAllReduceTest, testing::ValuesIn(thread_media()), name_of_case);

TEST(SoftmaxAllReduceCountersTest, WindowIsReadInPlaceAndPrivateMemoryIsPackedOnce) {
  const Shape shape{8, 16, DType::float32, PartialForm::normalised};
  for (const Place place : {Place::window, Place::private_memory}) {
    const Status status = run_threads(
        3,
        [&](Communicator& comm) -> Status {
          RINGCOMM_TRY(reduce_and_compare(comm, shape, place, {}, 1));
          const std::uint64_t packed = comm.counters().bytes_packed;
          return expect(packed == (place == Place::window ? 0 : 2 * shape.bytes()),
                        concat(packed, " bytes packed"));
        },
        with_deadline(std::chrono::seconds(30)));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
}

TEST(SoftmaxAllReduceArgumentsTest, WrongOnesAreRefusedAndBreakNothing) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        const Shape shape{4, 4, DType::float32, PartialForm::normalised};
        Owned a(shape);
        Owned b(shape);
        fill(a.view, comm.rank(), 0);
        const auto refused = [&](const SoftmaxPartial& result, std::string_view part) {
          const Status got = softmax_all_reduce(comm.channel(), a.view, result).status();
          return expect(
              got.code() == StatusCode::invalid_argument && got.message().find(part) != std::string::npos,
              concat("\"", part, "\", got ", got.to_string()));
        };
        SoftmaxPartial other = b.view;
        other.base = LogBase::two;
        RINGCOMM_TRY(refused(other, "log base differs"));
        other = b.view;
        other.out.dtype = DType::bfloat16;
        RINGCOMM_TRY(refused(other, "partial is float32, result is bfloat16"));
        other = b.view;
        other.out.data = static_cast<float*>(a.view.out.data) + 4;
        RINGCOMM_TRY(refused(other, "overlaps"));
        RINGCOMM_TRY(comm.health());
        return softmax_all_reduce(comm.channel(), a.view, b.view).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
