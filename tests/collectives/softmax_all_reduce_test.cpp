// SPDX-License-Identifier: Apache-2.0
// Oracle: the local k-way merge of all ranks' partials in rank order, compared bit by bit: the same on every
// rank, for both algorithms, every medium, any place of the memory, blocking or in a stream.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "collectives/media.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm {
namespace {

using namespace test;

struct Shape {
  std::int64_t rows, dim;
  DType dtype;
  PartialForm form;
  std::size_t bytes() const { return SoftmaxPartial::bytes_needed(rows, dim, dtype, form); }
};

/// A partial whose parts lie in memory of its own, rows `gap` elements apart.
struct Owned {
  std::vector<std::byte> out;
  std::vector<float> statistic;
  SoftmaxPartial view;

  Owned(const Shape& shape, std::int64_t gap = 0) {
    const bool is_pair = shape.form == PartialForm::unnormalised;
    out.resize(static_cast<std::size_t>(shape.rows * (shape.dim + gap)) * bytes_of(shape.dtype));
    statistic.resize(static_cast<std::size_t>(shape.rows * (is_pair ? 2 : 1)));
    view.form = shape.form;
    view.out = TensorView::contiguous(out.data(), shape.dtype, {shape.rows, shape.dim});
    view.out.strides[0] = shape.dim + gap;
    view.statistic = is_pair ? TensorView::contiguous(statistic.data(), DType::float32, {shape.rows, 2})
                             : TensorView::contiguous(statistic.data(), DType::float32, {shape.rows});
  }
};

void set(const TensorView& view, std::int64_t row, std::int64_t column, float value) {
  const std::int64_t at = row * view.strides[0] + column * view.strides[1];
  if (view.dtype == DType::bfloat16) {
    static_cast<bf16*>(view.data)[at] = to_bf16(value);
  } else if (view.dtype == DType::float16) {
    static_cast<fp16*>(view.data)[at] = to_fp16(value);
  } else {
    static_cast<float*>(view.data)[at] = value;
  }
}

/// The partial of one rank: every third row empty with a NaN payload, all ranks' row 1 empty.
void fill(const SoftmaxPartial& partial, int rank, int salt) {
  std::mt19937 random(static_cast<std::uint32_t>(1000 * salt + rank));
  std::normal_distribution<float> normal;
  auto* const statistic = static_cast<float*>(partial.statistic.data);
  const bool is_pair = partial.form == PartialForm::unnormalised;
  for (std::int64_t row = 0; row < partial.rows(); ++row) {
    const bool is_empty = row == 1 || (row + rank) % 3 == 0;
    const float value = is_empty ? -std::numeric_limits<float>::infinity() : 3.0F * normal(random);
    if (is_pair) {
      statistic[2 * row] = value;
      statistic[2 * row + 1] = is_empty ? 0.0F : 1.0F + std::fabs(normal(random));
    } else {
      statistic[row] = value;
    }
    for (std::int64_t d = 0; d < partial.dim(); ++d)
      set(partial.out, row, d, is_empty ? std::nanf("") : normal(random));
  }
}

bool is_same(const SoftmaxPartial& a, const SoftmaxPartial& b) {
  const auto rows_equal = [](const TensorView& x, const TensorView& y, std::size_t row_bytes) {
    for (std::int64_t row = 0; row < x.shape[0]; ++row) {
      const auto size = static_cast<std::int64_t>(bytes_of(x.dtype));
      if (std::memcmp(static_cast<std::byte*>(x.data) + row * x.strides[0] * size,
                      static_cast<std::byte*>(y.data) + row * y.strides[0] * size, row_bytes) != 0)
        return false;
    }
    return true;
  };
  const std::size_t statistics = a.form == PartialForm::unnormalised ? 8 : 4;
  return rows_equal(a.out, b.out, static_cast<std::size_t>(a.dim()) * bytes_of(a.out.dtype)) &&
         rows_equal(a.statistic, b.statistic, statistics);
}

Owned expected_of(const Shape& shape, int ranks, int salt) {
  std::vector<Owned> all;
  std::vector<SoftmaxPartial> views;
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(shape);
  for (int rank = 0; rank < ranks; ++rank) {
    fill(all[static_cast<std::size_t>(rank)].view, rank, salt);
    views.push_back(all[static_cast<std::size_t>(rank)].view);
  }
  Owned merged(shape);
  EXPECT_TRUE(merge_softmax_partials(merged.view, views).is_ok());
  return merged;
}

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

class SoftmaxAllReduceTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(SoftmaxAllReduceTest, AllRanksGetTheBitsOfTheLocalMergeInRankOrder) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    int salt = 0;
    for (const MergeChoice algorithm :
         {MergeChoice::one_shot, MergeChoice::two_shot, MergeChoice::automatic}) {
      for (const Shape& shape : {Shape{7, 5, DType::bfloat16, PartialForm::normalised},
                                 Shape{13, 33, DType::float32, PartialForm::unnormalised},
                                 Shape{3, 1, DType::float16, PartialForm::normalised},
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
    for (const MergeChoice algorithm : {MergeChoice::one_shot, MergeChoice::two_shot}) {
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
    for (const MergeChoice algorithm : {MergeChoice::one_shot, MergeChoice::two_shot}) {
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
