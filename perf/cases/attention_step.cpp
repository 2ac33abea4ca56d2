// SPDX-License-Identifier: Apache-2.0
// One ring step with few queries: attention on the block of the previous rank, which its owner has just
// rewritten, against the same attention on the own block.
#include <cstring>
#include <optional>

#include "../attention_data.hpp"
#include "../buffer.hpp"
#include "../case.hpp"
#include "../operations.hpp"
#include "../stats.hpp"
#include "../try.hpp"
#include "ringcomm/attention/local_attention.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

class AttentionStep final : public Case {
 public:
  AttentionStep(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}

  Result<RowHead> prepare(const RowSpec& spec) override {
    rotation_.reset();
    shape_ = {options_.q_heads, options_.kv_heads, options_.head_dim, spec.dtype};
    rows_ = static_cast<std::int64_t>(spec.bytes / shape_.token_bytes());
    PERF_TRY(allocate());
    PERF_TRY_ASSIGN(LocalAttention attention,
                    LocalAttention::create({.q_rows = options_.queries,
                                            .q_heads = shape_.q_heads,
                                            .kv_heads = shape_.kv_heads,
                                            .head_dim = static_cast<int>(options_.head_dim),
                                            .dtype = shape_.dtype,
                                            .workers = options_.workers,
                                            .placement = comm_.placement()}));
    attention_.emplace(std::move(attention));
    PERF_TRY_ASSIGN(RingRotation rotation,
                    RingRotation::create(comm_.channel(), k_, v_,
                                         {.mode = options_.rotation,
                                          .overlap = options_.overlap.value_or(plan::Overlap::on),
                                          .chunk_bytes = options_.chunk_bytes,
                                          .needed = needed_from_previous(comm_.size())}));
    rotation_.emplace(std::move(rotation));
    const std::size_t block = shape_.token_bytes() * static_cast<std::size_t>(rows_);
    RowHead head{.size = block,
                 .count = static_cast<std::int64_t>(block / bytes_of(spec.dtype)),
                 .type = std::string(nccl_name_of(spec.dtype))};
    head.work = static_cast<double>(block) * comm_.size();
    return head;
  }

  Result<double> run(Buffers /*buffers*/) override {
    PERF_TRY(make_ready());
    std::int64_t begun_ns = now_ns();
    PERF_TRY(attend(k_, v_));
    local_us_.push_back(static_cast<double>(now_ns() - begun_ns) * 1e-3);
    PERF_TRY(make_ready());
    PERF_TRY(launch_companion());
    begun_ns = now_ns();
    PERF_TRY(attend_previous());
    const auto spent_ns = static_cast<double>(now_ns() - begun_ns);
    step_us_.push_back(spent_ns * 1e-3);
    return spent_ns * 1e-9;
  }

  Result<std::int64_t> check(Buffers /*buffers*/) override {
    std::memset(out_.data, 0xff, out_.bytes());
    PERF_TRY(make_ready());
    PERF_TRY(attend_previous());
    const std::int64_t previous = (comm_.rank() + comm_.size() - 1) % comm_.size();
    std::int64_t wrong = 0;
    for (const std::int64_t row : sample_rows(options_.queries)) {
      for (const int head : sample_heads(shape_.q_heads))
        wrong += count_wrong_elements(shape_, {row, previous * rows_, rows_, head}, out_, row);
    }
    return wrong;
  }

  std::vector<std::pair<std::string, double>> extras() override {
    const double local_us = median(local_us_);
    const double step_us = median(step_us_);
    return {{"local(us)", local_us}, {"/local", local_us > 0 ? step_us / local_us : 0}};
  }

  void start_counting() override {
    local_us_.clear();
    step_us_.clear();
  }

 private:
  /// The own block and the previous rank's.
  static std::vector<std::uint8_t> needed_from_previous(int size) {
    const auto ranks = static_cast<std::size_t>(size);
    std::vector<std::uint8_t> needed(ranks * ranks, 0);
    for (std::size_t r = 0; r < ranks; ++r)
      needed[r * ranks + r] = needed[r * ranks + (r + ranks - 1) % ranks] = 1;
    return needed;
  }

  Status allocate() {
    window_ = Buffer();
    const std::size_t bytes = static_cast<std::size_t>(rows_) * shape_.token_bytes();
    PERF_TRY_ASSIGN(window_, Buffer::allocate(comm_, options_, bytes));
    k_ = TensorView::contiguous(window_.data(), shape_.dtype, {rows_, shape_.kv_heads, shape_.head_dim});
    v_ = TensorView::contiguous(window_.data() + k_.bytes(), shape_.dtype,
                                {rows_, shape_.kv_heads, shape_.head_dim});
    const std::vector<std::int64_t> tokens = positions_from(comm_.rank() * rows_, rows_);
    fill_attention(k_, tokens, AttentionTensor::k);
    fill_attention(v_, tokens, AttentionTensor::v);
    pristine_.assign(window_.data(), window_.data() + bytes);
    q_ = view_of(q_memory_, shape_.dtype);
    fill_attention(q_, positions_from(0, options_.queries), AttentionTensor::q);
    out_ = view_of(out_memory_, shape_.dtype);
    lse_memory_.resize(static_cast<std::size_t>(options_.queries * shape_.q_heads));
    lse_ = TensorView::contiguous(lse_memory_.data(), DType::float32, {shape_.q_heads, options_.queries});
    return {};
  }

  TensorView view_of(std::vector<std::byte>& memory, DType dtype) const {
    TensorView view =
        TensorView::contiguous(nullptr, dtype, {options_.queries, shape_.q_heads, shape_.head_dim});
    memory.resize(view.bytes());
    view.data = memory.data();
    return view;
  }

  /// Untimed: a block that stays in its reader's cache would make any figure several times too good.
  Status make_ready() {
    std::memcpy(window_.data(), pristine_.data(), pristine_.size());
    return barrier(comm_.channel()).status();
  }

  Status attend(const TensorView& k, const TensorView& v) {
    PERF_TRY(attention_->begin(q_));
    PERF_TRY(attention_->add(k, v));
    return attention_->finish(out_, lse_);
  }

  /// The own block's step costs nothing and is not computed.
  Status attend_previous() {
    PERF_TRY(attention_->begin(q_));
    Status added;
    PERF_TRY(rotation_->run([&](const RotationStep& step) {
      if (step.source() == comm_.rank() && comm_.size() > 1) return;
      for (const RotationPart& part : step.parts()) {
        if (added.is_ok()) added = attention_->add(part.k, part.v);
      }
    }));
    PERF_TRY(added);
    return attention_->finish(out_, lse_);
  }

  Communicator& comm_;
  const Options& options_;
  AttentionShape shape_;
  std::int64_t rows_ = 0;  ///< keys of a block
  Buffer window_;
  std::vector<std::byte> pristine_, q_memory_, out_memory_;
  std::vector<float> lse_memory_;
  TensorView q_, k_, v_, out_, lse_;
  std::optional<LocalAttention> attention_;
  std::optional<RingRotation> rotation_;
  std::vector<double> local_us_, step_us_;
};

}  // namespace

std::unique_ptr<Case> make_attention_step(Communicator& comm, const Options& options) {
  return std::make_unique<AttentionStep>(comm, options);
}

}  // namespace ringcomm::perf
