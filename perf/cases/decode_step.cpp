// SPDX-License-Identifier: Apache-2.0
// One decode step: every rank attends its shard of each sequence's keys, then the partials are merged.
#include <cstring>
#include <optional>

#include "../buffer.hpp"
#include "../case.hpp"
#include "../decode_batch.hpp"
#include "../operations.hpp"
#include "../softmax_data.hpp"
#include "../stats.hpp"
#include "../try.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

class DecodeStep final : public Case {
 public:
  DecodeStep(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}

  Result<RowHead> prepare(const RowSpec& spec) override {
    const SoftmaxData layout(comm_.size(), options_.head_dim, DType::float32, PartialForm::normalised);
    const std::size_t sequence_bytes = layout.row_bytes() * static_cast<std::size_t>(options_.q_heads);
    const auto batch = static_cast<std::int64_t>(spec.bytes / sequence_bytes);
    batch_.reset();
    PERF_TRY_ASSIGN(DecodeBatch made, DecodeBatch::create({.shape = {.q_heads = options_.q_heads,
                                                                     .kv_heads = options_.kv_heads,
                                                                     .head_dim = options_.head_dim,
                                                                     .dtype = spec.dtype},
                                                           .batch = batch,
                                                           .tokens = options_.tokens,
                                                           .ranks = comm_.size(),
                                                           .rank = comm_.rank(),
                                                           .peers_read_out = true,
                                                           .placement = comm_.placement()}));
    batch_.emplace(std::move(made));
    for (Buffer* buffer : {&input_, &output_}) *buffer = Buffer();
    const std::size_t bytes = layout.bytes_of_rows(batch_->rows());
    PERF_TRY_ASSIGN(input_, Buffer::allocate(comm_, options_, bytes));
    PERF_TRY_ASSIGN(output_, Buffer::allocate(comm_, options_, bytes));
    partial_ = layout.view(input_.data(), batch_->rows());
    result_ = layout.view(output_.data(), batch_->rows());
    RowHead head{.size = sequence_bytes * static_cast<std::size_t>(batch),
                 .count = batch_->rows() * options_.head_dim,
                 .type = std::string(nccl_name_of(spec.dtype))};
    head.bus_factor = 2.0 * (comm_.size() - 1) / comm_.size();
    head.work = static_cast<double>(batch);
    return head;
  }

  Result<double> run(Buffers /*buffers*/) override {
    PERF_TRY(barrier(comm_.channel()).status());
    PERF_TRY(launch_companion());
    const std::int64_t begun_ns = now_ns();
    PERF_TRY(attend());
    const std::int64_t attended_ns = now_ns();
    PERF_TRY(merge());
    const std::int64_t ended_ns = now_ns();
    attention_us_.push_back(static_cast<double>(attended_ns - begun_ns) * 1e-3);
    merge_us_.push_back(static_cast<double>(ended_ns - attended_ns) * 1e-3);
    return static_cast<double>(ended_ns - begun_ns) * 1e-9;
  }

  Result<std::int64_t> check(Buffers /*buffers*/) override {
    std::memset(output_.data(), 0xff, output_.bytes());
    PERF_TRY(barrier(comm_.channel()).status());
    PERF_TRY(attend());
    PERF_TRY(merge());
    return batch_->count_wrong(static_cast<const float*>(result_.out.data));
  }

  /// The wait for a slower rank is part of merge(us).
  std::vector<std::pair<std::string, double>> extras() override {
    return {{"attention(us)", median(attention_us_)}, {"merge(us)", median(merge_us_)}};
  }

  void start_counting() override {
    attention_us_.clear();
    merge_us_.clear();
  }

 private:
  Status attend() {
    return batch_->attend(static_cast<float*>(partial_.out.data),
                          static_cast<float*>(partial_.statistic.data));
  }
  Status merge() {
    return softmax_all_reduce(comm_.channel(), partial_, result_,
                              {.algorithm = options_.algorithm, .order = options_.order, .call = {}})
        .status();
  }

  Communicator& comm_;
  const Options& options_;
  std::optional<DecodeBatch> batch_;
  Buffer input_, output_;
  SoftmaxPartial partial_, result_;
  std::vector<double> attention_us_, merge_us_;
};

}  // namespace

std::unique_ptr<Case> make_decode_step(Communicator& comm, const Options& options) {
  return std::make_unique<DecodeStep>(comm, options);
}

}  // namespace ringcomm::perf
