// SPDX-License-Identifier: Apache-2.0
// Oracle: the k-way merge of attention spec 6.2 in float64, from the very inputs. All algorithms and orders
// are held to it, with rows of -inf, +inf and NaN among them; recursive doubling also to equal bits on all
// ranks.
#include <gtest/gtest.h>

#include <array>
#include <mutex>

#include "collectives/media.hpp"
#include "collectives/softmax_data.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using namespace test;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Choice {
  MergeChoice algorithm;
  MergeOrder order;
};
constexpr Choice kChoices[] = {{MergeChoice::one_shot, MergeOrder::canonical},
                               {MergeChoice::two_shot, MergeOrder::fast},
                               {MergeChoice::packed_all_to_all, MergeOrder::canonical},
                               {MergeChoice::gather_stats, MergeOrder::canonical},
                               {MergeChoice::recursive_doubling, MergeOrder::fast},
                               {MergeChoice::automatic, MergeOrder::fast}};

/// fill() with rows that are hard: all ranks empty, one rank only, NaN, +inf, far apart, larger than exp
/// holds.
void fill_hard(const SoftmaxPartial& partial, int rank, int ranks, int salt) {
  fill(partial, rank, salt);
  auto* const statistic = static_cast<float*>(partial.statistic.data);
  const std::int64_t pair = partial.form == PartialForm::unnormalised ? 2 : 1;
  for (std::int64_t row = 0; row < partial.rows(); ++row) {
    float& value = statistic[row * pair];
    const std::int64_t kind = row % 10;
    const bool is_last = rank == ranks - 1;
    if (kind == 2 && is_last) value = std::nanf("");
    if (kind == 3) value = is_last ? std::nanf("") : -kInfinity;
    if (kind == 4 && rank == 0) value = kInfinity;
    if (kind == 5) value = is_last ? 900.0F : -900.0F;
    if (kind == 6) value = 1000.0F;
    if (kind == 7) value = is_last ? 1.5F : -kInfinity;
    const bool is_empty = value == -kInfinity;
    if (pair == 2) statistic[row * pair + 1] = is_empty ? 0.0F : 1.25F;
    for (std::int64_t d = 0; d < partial.dim(); ++d) {
      if (is_empty) {
        set(partial.out, row, d, std::nanf(""));
      } else if (std::isnan(get(partial.out, row, d))) {
        set(partial.out, row, d, 0.5F);
      }
    }
  }
}

struct Row {
  double statistic = 0, sum = 0;
  std::vector<double> out;
};

Row oracle(const std::vector<Owned>& all, std::int64_t row, PartialForm form, LogBase base) {
  const std::int64_t pair = form == PartialForm::unnormalised ? 2 : 1;
  const auto value = [&](const Owned& one) {
    return static_cast<double>(one.statistic[static_cast<std::size_t>(row * pair)]);
  };
  const std::int64_t dim = all[0].view.dim();
  Row merged{-kInfinity, 0, std::vector<double>(static_cast<std::size_t>(dim), 0.0)};
  bool is_empty = true;
  for (const Owned& one : all) {
    is_empty = is_empty && value(one) == -kInfinity;
    merged.statistic = std::isnan(value(one)) || std::isnan(merged.statistic)
                           ? std::nan("")
                           : std::max(merged.statistic, value(one));
  }
  if (is_empty) return merged;
  for (const Owned& one : all) {
    const double shifted = value(one) - merged.statistic;
    const double weight = value(one) == -kInfinity ? 0.0
                          : base == LogBase::e     ? std::exp(shifted)
                                                   : std::exp2(shifted);
    if (weight == 0.0) continue;
    merged.sum +=
        weight *
        (pair == 2 ? static_cast<double>(one.statistic[static_cast<std::size_t>(row * pair + 1)]) : 1.0);
    for (std::int64_t d = 0; d < dim; ++d)
      merged.out[static_cast<std::size_t>(d)] += weight * static_cast<double>(get(one.view.out, row, d));
  }
  if (pair == 2) return merged;
  for (double& element : merged.out) element /= merged.sum;
  merged.statistic += base == LogBase::e ? std::log(merged.sum) : std::log2(merged.sum);
  return merged;
}

bool is_near(double found, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isinf(expected)) return found == expected;
  return std::fabs(found - expected) <= tolerance * (1.0 + std::fabs(expected));
}

double tolerance_of(DType dtype) {
  return dtype == DType::bfloat16 ? 0.004 : dtype == DType::float16 ? 0.0006 : 2e-6;
}

Status merge_and_compare(Communicator& comm, const Shape& shape, LogBase base, const Choice& choice) {
  std::vector<Owned> all;
  for (int rank = 0; rank < comm.size(); ++rank) {
    all.emplace_back(shape);
    all.back().view.base = base;
    fill_hard(all.back().view, rank, comm.size(), 3);
  }
  Owned& own = all[static_cast<std::size_t>(comm.rank())];
  Owned result(shape);
  result.view.base = base;
  RINGCOMM_TRY(softmax_all_reduce(comm.channel(), own.view, result.view,
                                  {.algorithm = choice.algorithm, .order = choice.order})
                   .status());
  const bool is_pair = shape.form == PartialForm::unnormalised;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const Row expected = oracle(all, row, shape.form, base);
    const auto where =
        concat("rows ", shape.rows, " row ", row, " algorithm ", static_cast<int>(choice.algorithm));
    const auto at = static_cast<std::size_t>(row * (is_pair ? 2 : 1));
    const double statistic = static_cast<double>(result.statistic[at]);
    if (!is_pair) {
      RINGCOMM_TRY(expect(is_near(statistic, expected.statistic, 2e-6), concat("lse, ", where)));
    } else if (std::isnan(expected.statistic) || std::isinf(expected.statistic)) {
      // m may be any rank's; that nothing is lost shows in l.
      const bool is_kept =
          expected.statistic == -static_cast<double>(kInfinity)
              ? statistic == expected.statistic && result.statistic[at + 1] == 0.0F
              : std::isnan(result.statistic[at + 1]) && statistic != -static_cast<double>(kInfinity);
      RINGCOMM_TRY(expect(is_kept, concat("m and l, ", where)));
    } else {
      RINGCOMM_TRY(expect(statistic == expected.statistic, concat("m, ", where)));
      RINGCOMM_TRY(expect(is_near(static_cast<double>(result.statistic[at + 1]), expected.sum, 2e-6),
                          concat("l, ", where)));
    }
    for (std::int64_t d = 0; d < shape.dim; ++d) {
      RINGCOMM_TRY(expect(is_near(static_cast<double>(get(result.view.out, row, d)),
                                  expected.out[static_cast<std::size_t>(d)], tolerance_of(shape.dtype)),
                          concat("out ", d, ", ", where)));
    }
  }
  return {};
}

class SoftmaxPairsTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(SoftmaxPairsTest, EveryAlgorithmKeepsToTheContractInFloat64) {
  const Status status = run_on(GetParam(), [](Communicator& comm) -> Status {
    for (const Choice& choice : kChoices) {
      for (const LogBase base : {LogBase::e, LogBase::two}) {
        for (const PartialForm form : {PartialForm::normalised, PartialForm::unnormalised}) {
          for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
            if (comm.size() > 4 && base == LogBase::two && dtype != DType::float32) continue;
            for (const std::int64_t rows : {1, 23}) {
              RINGCOMM_TRY(merge_and_compare(comm, Shape{rows, 7, dtype, form}, base, choice));
            }
          }
        }
      }
    }
    return {};
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(SoftmaxPairsTest, DoublingGivesTheSameBitsOnAllRanks) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const Shape shape{33, 65, dtype, PartialForm::normalised};
    std::vector<Owned> results(static_cast<std::size_t>(GetParam().ranks), Owned(shape));
    const Status status = run_on(GetParam(), [&](Communicator& comm) -> Status {
      Owned own(shape, 1);
      fill_hard(own.view, comm.rank(), comm.size(), 9);
      Owned result(shape);  // then in place
      const SoftmaxAllReduceOptions options{.algorithm = MergeChoice::recursive_doubling,
                                            .order = MergeOrder::fast};
      RINGCOMM_TRY(softmax_all_reduce(comm.channel(), own.view, result.view, options).status());
      RINGCOMM_TRY(softmax_all_reduce(comm.channel(), own.view, own.view, options).status());
      RINGCOMM_TRY(expect(is_same(own.view, result.view), "in place differs"));
      Owned& kept = results[static_cast<std::size_t>(comm.rank())];
      kept.out = result.out;
      kept.statistic = result.statistic;
      return {};
    });
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    for (const Owned& result : results) {
      EXPECT_EQ(std::memcmp(result.out.data(), results[0].out.data(), result.out.size()), 0);
      EXPECT_EQ(
          std::memcmp(result.statistic.data(), results[0].statistic.data(), 4 * result.statistic.size()), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Media, SoftmaxPairsTest, testing::ValuesIn(thread_media()), name_of_case);

TEST(SoftmaxPairsArgumentsTest, CanonicalOrderRefusesDoublingAndSaysWhy) {
  auto made = Communicator::create_local(1, with_deadline(std::chrono::seconds(30)));
  ASSERT_TRUE(made.is_ok());
  Owned own(Shape{2, 2, DType::float32, PartialForm::normalised});
  SoftmaxAllReduceOptions options;
  options.algorithm = MergeChoice::recursive_doubling;
  const Status got = softmax_all_reduce(made.value()[0].channel(), own.view, own.view, options).status();
  EXPECT_EQ(got.code(), StatusCode::invalid_argument);
  EXPECT_NE(got.message().find("recursive_doubling merges in pairs, which order = canonical"),
            std::string::npos)
      << got.to_string();
  options.order = MergeOrder::fast;
  EXPECT_TRUE(softmax_all_reduce(made.value()[0].channel(), own.view, own.view, options).is_ok());
}

/// However the ranks' 16-bit partials are merged, the result is as near the truth as one rounding allows.
TEST(SoftmaxPairsAccuracyTest, HalfPrecisionIsRoundedOnce) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    const Shape shape{1024, 128, dtype, PartialForm::normalised};  // 131,072 elements
    const std::vector<Owned> all = all_partials(shape, 5, 21);
    for (const Choice& choice : kChoices) {
      Owned merged(shape);
      const Status status = run_threads(
          5,
          [&](Communicator& comm) -> Status {
            Owned result(shape);
            RINGCOMM_TRY(softmax_all_reduce(comm.channel(), all[static_cast<std::size_t>(comm.rank())].view,
                                            result.view,
                                            {.algorithm = choice.algorithm, .order = choice.order})
                             .status());
            if (comm.rank() == 4) merged.out = result.out;
            return {};
          },
          with_deadline(std::chrono::seconds(60)));
      ASSERT_TRUE(status.is_ok()) << status.to_string();
      double found = 0, once = 0;
      Owned rounded(Shape{1, 1, dtype, PartialForm::normalised});
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        const Row truth = oracle(all, row, shape.form, LogBase::e);
        for (std::int64_t d = 0; d < shape.dim; ++d) {
          const double exact = truth.out[static_cast<std::size_t>(d)];
          set(rounded.view.out, 0, 0, static_cast<float>(exact));
          const double a = static_cast<double>(get(merged.view.out, row, d)) - exact;
          const double b = static_cast<double>(get(rounded.view.out, 0, 0)) - exact;
          found += a * a;
          once += b * b;
        }
      }
      EXPECT_GT(once, 0.0);
      EXPECT_LE(std::sqrt(found), 1.1 * std::sqrt(once))
          << "algorithm " << static_cast<int>(choice.algorithm);
      RecordProperty("rms_over_one_rounding", std::to_string(std::sqrt(found / once)));
    }
  }
}

}  // namespace
}  // namespace ringcomm
