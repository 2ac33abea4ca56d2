// SPDX-License-Identifier: Apache-2.0
// A whole forward pass on random inputs that anyone can compute again, sample rows checked in double.
#include <algorithm>
#include <cmath>
#include <optional>

#include "../case.hpp"
#include "../operations.hpp"
#include "../try.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

enum Tensor : std::uint64_t { kQ = 1, kK = 2, kV = 3 };

class RingAttentionCase final : public Case {
 public:
  RingAttentionCase(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}

  std::vector<std::size_t> sizes(const Options& /*options*/) const override { return {0}; }

  Result<RowHead> prepare(const RowSpec& row) override {
    dtype_ = row.dtype;
    const AttentionSpec spec{.tokens = options_.tokens,
                             .q_heads = options_.q_heads,
                             .kv_heads = options_.kv_heads,
                             .head_dim = static_cast<int>(options_.head_dim),
                             .dtype = dtype_,
                             .mask = options_.mask,
                             .layout = options_.layout,
                             .strategy = options_.strategy,
                             .overlap = options_.overlap,
                             .chunk_bytes = options_.chunk_bytes,
                             .workers = options_.workers};
    auto created = RingAttention::create(comm_, spec);
    if (!created.is_ok()) return created.status();
    ring_ = std::move(created).value();
    fill(ring_->q(), ring_->positions(), kQ);
    fill(ring_->k(), ring_->kv_positions(), kK);
    fill(ring_->v(), ring_->kv_positions(), kV);
    const std::size_t token_bytes =
        2 * static_cast<std::size_t>(options_.kv_heads * options_.head_dim) * bytes_of(dtype_);
    RowHead head{.size = token_bytes * static_cast<std::size_t>(options_.tokens),
                 .count = options_.tokens,
                 .type = std::string(nccl_name_of(dtype_))};
    head.bus_factor = static_cast<double>(comm_.size() - 1) / comm_.size();
    head.work = 1;  // all ranks share one sequence
    return head;
  }

  Result<double> run(Buffers /*buffers*/) override {
    auto rehearsal = timed([&] { return ring_->rehearse(); });
    if (!rehearsal.is_ok()) return rehearsal.status();
    PERF_TRY(launch_companion());
    auto seconds = timed([&] { return ring_->forward(); });
    if (!seconds.is_ok()) return seconds.status();
    seconds_ += seconds.value();
    rehearsal_seconds_ += rehearsal.value();
    ++runs_;
    return seconds.value();
  }

  Result<std::int64_t> check(Buffers /*buffers*/) override {
    if (Status status = ring_->forward(); !status.is_ok()) return status;
    const auto& positions = ring_->positions();
    const auto rows = static_cast<std::int64_t>(positions.size());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(rows, 4); ++i) {
      const std::int64_t row = rows <= 4 ? i : i * (rows - 1) / 3;
      for (int head = 0; head < options_.q_heads; head += std::max(1, options_.q_heads / 4))
        wrong += count_wrong(row, head);
    }
    return wrong;
  }

  std::vector<std::pair<std::string, double>> extras() override {
    const double runs = std::max(runs_, 1);
    const double seconds = seconds_ / runs;
    const double tflop = ring_->report().flop * comm_.size() * 1e-12;
    std::vector<std::pair<std::string, double>> columns{
        {"TFLOP/s", seconds > 0 ? tflop / seconds : 0},
        {"exposed(us)", (seconds_ - rehearsal_seconds_) / runs * 1e6},
        {"copied(B)", static_cast<double>(ring_->report().bytes_copied)}};
    return columns;
  }

  void start_counting() override { runs_ = 0, seconds_ = 0, rehearsal_seconds_ = 0; }

 private:
  template <class Call>
  Result<double> timed(Call&& call) {
    if (auto entered = barrier(comm_.channel()); !entered.is_ok()) return entered.status();
    const std::int64_t begun_ns = now_ns();
    if (Status status = call(); !status.is_ok()) return status;
    if (auto left = barrier(comm_.channel()); !left.is_ok()) return left.status();
    return static_cast<double>(now_ns() - begun_ns) * 1e-9;
  }

  float value(Tensor tensor, std::int64_t position, int head, std::int64_t d) const {
    return pattern(static_cast<std::uint64_t>(tensor) << 32 | static_cast<std::uint64_t>(position),
                   static_cast<std::uint64_t>(head * options_.head_dim + d));
  }

  void fill(const TensorView& view, const std::vector<std::int64_t>& positions, Tensor tensor) const {
    for (std::int64_t row = 0; row < view.shape[0]; ++row) {
      for (int head = 0; head < view.shape[1]; ++head) {
        for (std::int64_t d = 0; d < view.shape[2]; ++d) {
          const float x = value(tensor, positions[static_cast<std::size_t>(row)], head, d);
          const std::int64_t at = row * view.strides[0] + head * view.strides[1] + d;
          switch (view.dtype) {
            case DType::bfloat16:
              static_cast<bf16*>(view.data)[at] = to_bf16(x);
              break;
            case DType::float16:
              static_cast<fp16*>(view.data)[at] = to_fp16(x);
              break;
            default:
              static_cast<float*>(view.data)[at] = x;
              break;
          }
        }
      }
    }
  }

  double seen(const TensorView& out, std::int64_t at) const {
    switch (out.dtype) {
      case DType::bfloat16:
        return static_cast<double>(to_float(static_cast<const bf16*>(out.data)[at]));
      case DType::float16:
        return static_cast<double>(to_float(static_cast<const fp16*>(out.data)[at]));
      default:
        return static_cast<double>(static_cast<const float*>(out.data)[at]);
    }
  }

  /// Softmax in double over all visible keys; values lie in [-1, 1), so absolute bounds are relative to 1.
  std::int64_t count_wrong(std::int64_t row, int head) const {
    const std::int64_t position = ring_->positions()[static_cast<std::size_t>(row)];
    const std::int64_t keys = options_.mask == Mask::causal ? position + 1 : options_.tokens;
    const int kv_head = head / (options_.q_heads / options_.kv_heads);
    const auto dim = static_cast<std::size_t>(options_.head_dim);
    std::vector<double> expected(dim, 0.0), query(dim);
    for (std::size_t d = 0; d < dim; ++d)
      query[d] = static_cast<double>(value(kQ, position, head, static_cast<std::int64_t>(d)));
    double sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      double x = 0;
      for (std::size_t d = 0; d < dim; ++d)
        x += query[d] * static_cast<double>(value(kK, j, kv_head, static_cast<std::int64_t>(d)));
      const double weight =
          std::exp(x / std::sqrt(static_cast<double>(dim)));  // |x| <= dim: far from overflow
      sum += weight;
      for (std::size_t d = 0; d < dim; ++d)
        expected[d] += weight * static_cast<double>(value(kV, j, kv_head, static_cast<std::int64_t>(d)));
    }
    const TensorView out = ring_->out();
    const double bound = dtype_ == DType::float32 ? 1e-5 : dtype_ == DType::float16 ? 2e-3 : 8e-3;
    std::int64_t wrong = 0;
    for (std::size_t d = 0; d < dim; ++d) {
      const double value_seen =
          seen(out, row * out.strides[0] + head * out.strides[1] + static_cast<std::int64_t>(d));
      wrong += std::abs(value_seen - expected[d] / sum) <= bound ? 0 : 1;
    }
    return wrong;
  }

  Communicator& comm_;
  const Options& options_;
  std::optional<RingAttention> ring_;
  DType dtype_ = DType::bfloat16;
  int runs_ = 0;
  double seconds_ = 0, rehearsal_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Case> make_ring_attention(Communicator& comm, const Options& options) {
  return std::make_unique<RingAttentionCase>(comm, options);
}

}  // namespace ringcomm::perf
