// SPDX-License-Identifier: Apache-2.0
// Oracle: the rows that a member keeps of the local k-way merge of all partials in rank order, bit by bit;
// kept by ranges of rows and of heads, cut evenly and by counts with zeros among them.
#include <gtest/gtest.h>

#include <numeric>

#include "collectives/media.hpp"
#include "collectives/softmax_data.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr MergeChoice kChoices[] = {MergeChoice::automatic, MergeChoice::two_shot,
                                    MergeChoice::packed_all_to_all, MergeChoice::gather_stats};

std::vector<std::int64_t> even(std::int64_t total, int ranks) {
  std::vector<std::int64_t> counts;
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    counts.push_back((rank + 1) * total / ranks - rank * total / ranks);
  return counts;
}

/// Zero, all that is left, or something between, from a seed.
std::vector<std::int64_t> uneven(std::int64_t total, int ranks, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 0);
  for (std::int64_t& count : counts) {
    count =
        random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(total + 1));
    total -= count;
  }
  counts[random() % counts.size()] += total;
  return counts;
}

/// Rows of `whole` that member `rank` keeps, in its order.
Owned share_of(const Owned& whole, const Shape& shape, const std::vector<std::int64_t>& counts, int rank,
               std::int64_t heads) {
  const auto at = static_cast<std::size_t>(rank);
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
  const std::int64_t tokens = heads == 0 ? 1 : shape.rows / heads;
  const std::int64_t stride = heads == 0 ? shape.rows : heads;
  Owned share({tokens * counts[at], shape.dim, shape.dtype, shape.form});
  const std::int64_t per_row = shape.form == PartialForm::unnormalised ? 2 : 1;
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t i = 0; i < counts[at]; ++i) {
      const std::int64_t from = token * stride + first + i;
      const std::int64_t to = token * counts[at] + i;
      for (std::int64_t d = 0; d < shape.dim; ++d) set(share.view.out, to, d, get(whole.view.out, from, d));
      for (std::int64_t k = 0; k < per_row; ++k)
        share.statistic[static_cast<std::size_t>(to * per_row + k)] =
            whole.statistic[static_cast<std::size_t>(from * per_row + k)];
    }
  }
  return share;
}

struct Cut {
  std::int64_t heads = 0;  // 0: by rows
  bool is_even = true;
};

Status scatter_and_compare(Communicator& comm, const Shape& shape, MergeChoice algorithm, const Cut& cut,
                           bool in_window, LogBase base, std::uint32_t salt) {
  const std::int64_t total = cut.heads == 0 ? shape.rows : cut.heads;
  SoftmaxReduceScatterOptions options;
  options.algorithm = algorithm;
  const auto counts = cut.is_even ? even(total, comm.size()) : uneven(total, comm.size(), salt);
  if (!cut.is_even) options.counts = counts;
  if (cut.heads != 0) {
    options.scatter = MergeScatter::heads;
    options.heads = cut.heads;
  }
  RINGCOMM_TRY_ASSIGN(const Window window, comm.allocate(shape.bytes() + 64));
  Owned own(shape, 2);
  SoftmaxPartial partial = own.view;
  if (in_window) {
    RINGCOMM_TRY_ASSIGN(partial, SoftmaxPartial::in(window, shape.rows, shape.dim, shape.dtype, shape.form));
  }
  partial.base = base;
  const Owned expected = share_of(expected_of(shape, comm.size(), static_cast<int>(salt), base), shape,
                                  counts, comm.rank(), cut.heads);
  Owned result({expected.view.rows(), shape.dim, shape.dtype, shape.form}, 1);
  result.view.base = base;
  for (int repeat = 0; repeat < 2; ++repeat) {
    fill(partial, comm.rank(), static_cast<int>(salt));
    random_delay(salt + static_cast<std::uint32_t>(comm.rank()));
    RINGCOMM_TRY(softmax_reduce_scatter(comm.channel(), partial, result.view, options).status());
    RINGCOMM_TRY(expect(is_same(expected.view, result.view),
                        concat("other bits: algorithm ", static_cast<int>(algorithm), " heads ", cut.heads,
                               " rows ", shape.rows, " even ", cut.is_even, " window ", in_window)));
  }
  return {};
}

class SoftmaxReduceScatterTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(SoftmaxReduceScatterTest, EveryMemberKeepsItsShareOfTheLocalMerge) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    std::uint32_t salt = 0;
    for (const MergeChoice algorithm : kChoices) {
      for (const Shape& shape : {Shape{21, 5, DType::bfloat16, PartialForm::normalised},
                                 Shape{14, 33, DType::float32, PartialForm::unnormalised},
                                 Shape{7, 1, DType::float16, PartialForm::normalised},
                                 Shape{0, 4, DType::float32, PartialForm::normalised},
                                 Shape{70, 64, DType::float32, PartialForm::normalised}}) {
        for (const Cut cut : {Cut{0, true}, Cut{0, false}, Cut{7, true}, Cut{7, false}, Cut{1, false}}) {
          // Memory and base alternate along the other lists, whose lengths have no common factor with theirs.
          const bool in_window = salt % 2 == 0;
          if (cut.heads == 1 || comm.size() < 5 || salt % 3 != 0) {
            RINGCOMM_TRY(scatter_and_compare(comm, shape, algorithm, cut, in_window,
                                             salt / 2 % 2 == 0 ? LogBase::e : LogBase::two, salt));
          }
          ++salt;
        }
      }
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SoftmaxReduceScatterTest, InAStreamItIsTheSame) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
    const Shape shape{12, 8, DType::float32, PartialForm::normalised};
    for (const MergeChoice algorithm : kChoices) {
      Owned own(shape);
      fill(own.view, comm.rank(), 5);
      const auto counts = even(12, comm.size());
      const Owned expected = share_of(expected_of(shape, comm.size(), 5), shape, counts, comm.rank(), 0);
      Owned result({expected.view.rows(), shape.dim, shape.dtype, shape.form});
      SoftmaxReduceScatterOptions options;
      options.algorithm = algorithm;
      options.call.stream = stream.view();
      RINGCOMM_TRY_ASSIGN(const Work work,
                          softmax_reduce_scatter(comm.channel(), own.view, result.view, options));
      RINGCOMM_TRY(work.wait(Deadline::after(std::chrono::seconds(30))));
      RINGCOMM_TRY(expect(is_same(expected.view, result.view), "other bits"));
    }
    return stream.synchronize(Deadline::after(std::chrono::seconds(30)));
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Media, SoftmaxReduceScatterTest, testing::ValuesIn(thread_media()), name_of_case);

TEST(SoftmaxReduceScatterArgumentsTest, WrongOnesAreRefusedByNameAndBreakNothing) {
  const Status status = run_threads(
      2,
      [](Communicator& comm) -> Status {
        const Shape shape{6, 4, DType::float32, PartialForm::normalised};
        Owned own(shape), kept({3, 4, DType::float32, PartialForm::normalised});
        fill(own.view, comm.rank(), 0);
        const auto refused = [&](const SoftmaxPartial& result, const SoftmaxReduceScatterOptions& options,
                                 std::string_view part) {
          const Status got = softmax_reduce_scatter(comm.channel(), own.view, result, options).status();
          return expect(
              got.code() == StatusCode::invalid_argument && got.message().find(part) != std::string::npos,
              concat("\"", part, "\", got ", got.to_string()));
        };
        SoftmaxReduceScatterOptions options;
        options.algorithm = MergeChoice::one_shot;
        RINGCOMM_TRY(refused(kept.view, options, "algorithm one_shot gives all rows to all"));
        options.algorithm = MergeChoice::recursive_doubling;
        RINGCOMM_TRY(refused(kept.view, options, "algorithm recursive_doubling"));
        options.algorithm = MergeChoice::automatic;
        options.counts = {6};
        RINGCOMM_TRY(refused(kept.view, options, "1 counts for 2 ranks"));
        options.counts = {-1, 7};
        RINGCOMM_TRY(refused(kept.view, options, "count of rank 0 is -1"));
        options.counts = {3, 4};
        RINGCOMM_TRY(refused(kept.view, options, "ranks 0 to 1 are more than the 6 rows"));
        options.counts = {3, 2};
        RINGCOMM_TRY(refused(kept.view, options, "the counts sum to 5"));
        options.counts = {1, 5};
        RINGCOMM_TRY(refused(kept.view, options, "rows differs"));
        options.counts.clear();
        options.scatter = MergeScatter::heads;
        for (const std::int64_t heads : {0, -2, 4, 7}) {
          options.heads = heads;
          RINGCOMM_TRY(refused(kept.view, options, concat("heads = ", heads, " does not divide 6 rows")));
        }
        options.scatter = MergeScatter::rows;
        SoftmaxPartial inside = own.view;
        inside.out.shape[0] = inside.statistic.shape[0] = 3;
        RINGCOMM_TRY(refused(inside, options, "result overlaps partial"));
        RINGCOMM_TRY(comm.health());
        return softmax_reduce_scatter(comm.channel(), own.view, kept.view, options).status();
      },
      with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
