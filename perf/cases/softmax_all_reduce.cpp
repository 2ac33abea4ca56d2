// SPDX-License-Identifier: Apache-2.0
// Merge of softmax partials on all ranks, checked against a merge in double and for equal bits on every rank.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../case.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

double load(const TensorView& view, std::int64_t index) {
  switch (view.dtype) {
    case DType::bfloat16:
      return static_cast<double>(to_float(static_cast<const bf16*>(view.data)[index]));
    case DType::float16:
      return static_cast<double>(to_float(static_cast<const fp16*>(view.data)[index]));
    default:
      return static_cast<double>(static_cast<const float*>(view.data)[index]);
  }
}

void store(const TensorView& view, std::int64_t index, float value) {
  switch (view.dtype) {
    case DType::bfloat16:
      static_cast<bf16*>(view.data)[index] = to_bf16(value);
      break;
    case DType::float16:
      static_cast<fp16*>(view.data)[index] = to_fp16(value);
      break;
    default:
      static_cast<float*>(view.data)[index] = value;
      break;
  }
}

/// One rounding of the payload type, plus the fp32 merge's own few roundings.
double tolerance(DType type) {
  return type == DType::float32 ? 4e-6 : type == DType::float16 ? 0x1p-10 : 0x1p-7;
}

class SoftmaxAllReduce final : public Case {
 public:
  SoftmaxAllReduce(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}

  Result<RowHead> prepare(std::size_t bytes) override {
    const std::size_t statistic = options_.form == PartialForm::normalised ? 4 : 8;
    const std::size_t row =
        static_cast<std::size_t>(options_.head_dim) * bytes_of(options_.dtype) + statistic;
    rows_ = static_cast<std::int64_t>(bytes / row);
    const std::size_t needed =
        SoftmaxPartial::bytes_needed(rows_, options_.head_dim, options_.dtype, options_.form);
    for (auto* window : {&input_, &output_}) {
      auto allocated = comm_.allocate(needed);
      if (!allocated.is_ok()) return allocated.status();
      *window = std::move(allocated).value();
    }
    auto partial = SoftmaxPartial::in(input_, rows_, options_.head_dim, options_.dtype, options_.form);
    auto result = SoftmaxPartial::in(output_, rows_, options_.head_dim, options_.dtype, options_.form);
    if (!partial.is_ok()) return partial.status();
    if (!result.is_ok()) return result.status();
    partial_ = partial.value();
    result_ = result.value();
    fill(partial_, comm_.rank());
    RowHead head{.size = row * static_cast<std::size_t>(rows_),
                 .count = rows_ * options_.head_dim,
                 .type = std::string(name_of(options_.dtype)),
                 .redop = "softmax"};
    head.bus_factor = 2.0 * (comm_.size() - 1) / comm_.size();
    head.has_in_place = true;
    return head;
  }

  Result<double> run(Buffers buffers) override {
    if (buffers == Buffers::in_place) fill(result_, comm_.rank());
    if (auto entered = barrier(comm_.channel()); !entered.is_ok()) return entered.status();
    const std::int64_t begun_ns = now_ns();
    auto done = softmax_all_reduce(comm_.channel(), buffers == Buffers::in_place ? result_ : partial_,
                                   result_, {.algorithm = options_.algorithm, .call = {}});
    if (!done.is_ok()) return done.status();
    return static_cast<double>(now_ns() - begun_ns) * 1e-9;
  }

  Result<std::int64_t> check(Buffers buffers) override {
    std::memset(output_.data(), 0xff, output_.bytes());
    if (auto done = run(buffers); !done.is_ok()) return done.status();
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < rows_; ++row) wrong += count_wrong(row);
    auto equal = equal_on_all_ranks();
    if (!equal.is_ok()) return equal.status();
    return wrong + (equal.value() ? 0 : 1);
  }

 private:
  /// Statistics of rank's row: every seventh row saw no key, its payload is NaN and must not be read.
  struct RowValues {
    float lse;
    bool is_empty;
  };
  static RowValues values_of(int rank, std::int64_t row) {
    const bool is_empty = (row + rank) % 7 == 3;
    return {is_empty ? -INFINITY
                     : 8 * pattern(static_cast<std::uint64_t>(rank) + 100, static_cast<std::uint64_t>(row)),
            is_empty};
  }
  float payload(int rank, std::int64_t index) const {
    return pattern(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(index));
  }

  void fill(const SoftmaxPartial& partial, int rank) const {
    auto* statistic = static_cast<float*>(partial.statistic.data);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const RowValues values = values_of(rank, row);
      if (options_.form == PartialForm::normalised) {
        statistic[row] = values.lse;
      } else {
        statistic[2 * row] = values.lse;
        statistic[2 * row + 1] = values.is_empty ? 0.0F : 1.0F;
      }
      for (std::int64_t d = 0; d < options_.head_dim; ++d) {
        const std::int64_t index = row * options_.head_dim + d;
        store(partial.out, index, values.is_empty ? NAN : payload(rank, index));
      }
    }
  }

  std::int64_t count_wrong(std::int64_t row) const {
    double largest = -INFINITY;
    for (int rank = 0; rank < comm_.size(); ++rank) {
      largest = std::max(largest, static_cast<double>(values_of(rank, row).lse));
    }
    double sum = 0;
    for (int rank = 0; rank < comm_.size(); ++rank) {
      const RowValues values = values_of(rank, row);
      if (!values.is_empty) sum += std::exp(static_cast<double>(values.lse) - largest);
    }
    const auto* statistic = static_cast<const float*>(result_.statistic.data);
    const bool is_normalised = options_.form == PartialForm::normalised;
    const double seen = is_normalised ? static_cast<double>(statistic[row])
                                      : static_cast<double>(statistic[2 * row]) +
                                            std::log(static_cast<double>(statistic[2 * row + 1]));
    std::int64_t wrong =
        sum == 0 ? (seen == -INFINITY ? 0 : 1) : (std::abs(seen - largest - std::log(sum)) < 1e-5 ? 0 : 1);
    for (std::int64_t d = 0; d < options_.head_dim; ++d) {
      const std::int64_t index = row * options_.head_dim + d;
      double expected = 0;
      double scale = 0;
      for (int rank = 0; rank < comm_.size(); ++rank) {
        const RowValues values = values_of(rank, row);
        if (values.is_empty) continue;
        const double weight =
            std::exp(static_cast<double>(values.lse) - largest) / (is_normalised ? sum : 1.0);
        expected += weight * static_cast<double>(payload(rank, index));
        scale += weight;
      }
      wrong +=
          std::abs(load(result_.out, index) - expected) <= tolerance(options_.dtype) * std::max(scale, 1e-30)
              ? 0
              : 1;
    }
    return wrong;
  }

  Result<bool> equal_on_all_ranks() {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (std::size_t i = 0; i < output_.bytes(); ++i)
      hash = (hash ^ static_cast<std::uint64_t>(output_.data()[i])) * 0x100000001b3U;
    std::vector<std::uint64_t> all(static_cast<std::size_t>(comm_.size()));
    auto done = all_gather(comm_.channel(), TensorView::contiguous(&hash, DType::uint64, {1}),
                           TensorView::contiguous(all.data(), DType::uint64, {comm_.size()}));
    if (!done.is_ok()) return done.status();
    for (const std::uint64_t other : all) {
      if (other != hash) return false;
    }
    return true;
  }

  Communicator& comm_;
  const Options& options_;
  std::int64_t rows_ = 0;
  Window input_, output_;
  SoftmaxPartial partial_, result_;
};

}  // namespace

std::unique_ptr<Case> make_softmax_all_reduce(Communicator& comm, const Options& options) {
  return std::make_unique<SoftmaxAllReduce>(comm, options);
}

}  // namespace ringcomm::perf
