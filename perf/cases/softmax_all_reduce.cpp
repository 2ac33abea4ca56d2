// SPDX-License-Identifier: Apache-2.0
// Merge of softmax partials on all ranks, checked against a merge in double and for equal bits on every rank.
#include <algorithm>
#include <cstring>

#include "../collective_case.hpp"
#include "../operations.hpp"
#include "../softmax_data.hpp"
#include "../try.hpp"

namespace ringcomm::perf {
namespace {

class SoftmaxAllReduce final : public CollectiveCase {
 public:
  using CollectiveCase::CollectiveCase;

  Result<RowHead> prepare(const RowSpec& spec) override {
    spec_ = spec;
    data_ = SoftmaxData(comm_.size(), options_.head_dim, spec.dtype, options_.form);
    rows_ = static_cast<std::int64_t>(spec.bytes / data_.row_bytes());
    input_ = Buffer();
    output_ = Buffer();
    merged_ = MergedRows();
    const std::size_t bytes = data_.bytes_of_rows(rows_);
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, bytes, unaligned_bytes(),
                                             options_.input_memory.value_or(options_.memory)));
    PERF_TRY_ASSIGN(output_, Buffer::allocate(comm_, options_, bytes, unaligned_bytes(), result_memory()));
    pristine_.resize(data_.bytes_of_rows(rows_));
    data_.fill(data_.view(pristine_.data(), rows_), comm_.rank());
    write(input_);
    input_.replicate();
    RowHead head{.size = data_.row_bytes() * static_cast<std::size_t>(rows_),
                 .count = rows_ * options_.head_dim,
                 .type = std::string(nccl_name_of(spec.dtype)),
                 .redop = "softmax"};
    head.bus_factor = 2.0 * (comm_.size() - 1) / comm_.size();
    head.has_in_place = !options_.input_memory && options_.result == ResultPlace::as_buffers;
    head.work = static_cast<double>(head.size) * comm_.size();
    return head;
  }

  Result<std::int64_t> check(Buffers buffers) override {
    if (buffers == Buffers::out_of_place) std::memset(output_.data(), 0xff, output_.bytes());
    if (refresh(buffers)) PERF_TRY(barrier(comm_.channel()).status());
    PERF_TRY(call(buffers));
    copy_merged();
    const SoftmaxPartial result = data_.view(output_.data(), rows_);
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < rows_; ++row) wrong += data_.count_wrong(result, row, row);
    PERF_TRY_ASSIGN(const bool is_equal, equal_on_all_ranks());
    bits_ = is_equal && bits_ != "no" ? "yes" : "no";
    return wrong + (is_equal ? 0 : 1);
  }

  std::vector<std::pair<std::string, double>> extras() override {
    return {{"rows", static_cast<double>(rows_)}};
  }

  std::string remark() const override { return bits_.empty() ? "" : "Equal bits on ranks  : " + bits_; }

 protected:
  /// The partials are freshly written before each timed call, as in attention; with --cold they are long
  /// since.
  bool refresh(Buffers buffers) override {
    if (buffers == Buffers::in_place) {
      write(output_);
    } else if (!options_.is_cold) {
      write(input_);
    }
    return true;
  }

  Status call(Buffers buffers) override {
    const SoftmaxAllReduceOptions how{.algorithm = options_.algorithm, .order = options_.order, .call = {}};
    if (options_.result == ResultPlace::in_place) {
      PERF_TRY_ASSIGN(merged_,
                      softmax_all_reduce_in_place(comm_.channel(), data_.view(input_.data(), rows_), how));
      return {};
    }
    const SoftmaxPartial result = data_.view(output_.data(), rows_);
    return softmax_all_reduce(comm_.channel(),
                              buffers == Buffers::in_place ? result : data_.view(input_.data(), rows_),
                              result, how)
        .status();
  }

  void advance() override {
    input_.advance();
    output_.advance();
  }

 private:
  Memory result_memory() const {
    if (options_.result == ResultPlace::as_buffers) return options_.memory;
    return options_.result == ResultPlace::window ? Memory::window : Memory::private_memory;
  }

  /// For the check, which looks at `output_`.
  void copy_merged() {
    for (const MergedRows::Part& part : merged_.parts()) {
      SoftmaxPartial target = data_.view(output_.data(), rows_);
      auto* const out = static_cast<std::byte*>(target.out.data);
      auto* const statistic = static_cast<std::byte*>(target.statistic.data);
      const auto first = static_cast<std::size_t>(part.first_row);
      const std::size_t row_bytes = target.out.bytes() / static_cast<std::size_t>(rows_);
      const std::size_t statistic_bytes = target.statistic.bytes() / static_cast<std::size_t>(rows_);
      std::memcpy(out + first * row_bytes, part.rows.out.data, part.rows.out.bytes());
      std::memcpy(statistic + first * statistic_bytes, part.rows.statistic.data, part.rows.statistic.bytes());
    }
  }

  void write(const Buffer& target) { std::copy(pristine_.begin(), pristine_.end(), target.data()); }

  Result<bool> equal_on_all_ranks() {
    std::uint64_t hash = hash_of(output_.data(), output_.bytes());
    std::vector<std::uint64_t> all(ranks());
    PERF_TRY(all_gather(comm_.channel(), TensorView::contiguous(&hash, DType::uint64, {1}),
                        TensorView::contiguous(all.data(), DType::uint64, {comm_.size()}))
                 .status());
    return std::all_of(all.begin(), all.end(), [&](std::uint64_t other) { return other == hash; });
  }

  SoftmaxData data_;
  std::int64_t rows_ = 0;
  std::string bits_;
  Buffer input_, output_;
  MergedRows merged_;  ///< of --result in_place; the next call hands it back
  std::vector<std::byte> pristine_;
};

}  // namespace

std::unique_ptr<Case> make_softmax_all_reduce(Communicator& comm, const Options& options) {
  return std::make_unique<SoftmaxAllReduce>(comm, options);
}

}  // namespace ringcomm::perf
