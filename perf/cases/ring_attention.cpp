// SPDX-License-Identifier: Apache-2.0
// A whole forward pass on random inputs that anyone can compute again, sample rows checked in double; beside
// it, the same work on keys that are all local.
#include <cstring>
#include <optional>

#include "../attention_limits.hpp"
#include "../case.hpp"
#include "../operations.hpp"
#include "../stats.hpp"
#include "../try.hpp"
#include "ringcomm/core/deadline.hpp"

namespace ringcomm::perf {
namespace {

class RingAttentionCase final : public Case {
 public:
  RingAttentionCase(Communicator& comm, const Options& options) : comm_(comm), options_(options) {}

  /// The command line has --seq instead; samples on demand have a size.
  std::vector<std::size_t> sizes(const Options& /*options*/) const override { return {0}; }

  Result<RowHead> prepare(const RowSpec& row) override {
    shape_ = {options_.q_heads, options_.kv_heads, options_.head_dim, row.dtype};
    tokens_ = row.bytes > 0 ? static_cast<std::int64_t>(row.bytes / shape_.token_bytes()) : options_.tokens;
    limits_.reset();
    PERF_TRY(create_ring());
    if (options_.local != Local::none || options_.limits) {
      PERF_TRY_ASSIGN(AttentionLimits limits,
                      AttentionLimits::create(*ring_, comm_.size(), comm_.rank(), comm_.placement()));
      limits_.emplace(std::move(limits));
    }
    RowHead head{.size = shape_.token_bytes() * static_cast<std::size_t>(tokens_),
                 .count = tokens_,
                 .type = std::string(nccl_name_of(row.dtype))};
    head.bus_factor = static_cast<double>(comm_.size() - 1) / comm_.size();
    head.work = 1;  // all ranks share one sequence
    return head;
  }

  Result<double> run(Buffers /*buffers*/) override {
    if (options_.local != Local::none) return run_local(options_.local, total_us_);
    if (options_.limits) {
      PERF_TRY(run_local(Local::one_pass, one_pass_us_).status());
      PERF_TRY(run_local(Local::partials, partials_us_).status());
    }
    rewrite();
    PERF_TRY(timed(schedule_us_, [&] { return ring_->rehearse(); }).status());
    rewrite();
    PERF_TRY(launch_companion());
    return timed(total_us_, [&] { return ring_->forward(); });
  }

  Result<std::int64_t> check(Buffers /*buffers*/) override {
    if (options_.local != Local::none) return check_local(options_.local);
    std::int64_t wrong = 0;
    if (options_.limits) {
      for (const Local local : {Local::one_pass, Local::partials}) {
        PERF_TRY_ASSIGN(const std::int64_t of_local, check_local(local));
        wrong += of_local;
      }
    }
    std::memset(ring_->out().data, 0xff, ring_->out().bytes());
    PERF_TRY(ring_->forward());
    return wrong + count_wrong(ring_->out());
  }

  /// Medians, so that the columns can be divided by each other on a machine with neighbours.
  std::vector<std::pair<std::string, double>> extras() override {
    const double total_us = median(total_us_);
    const double flop = pairs() * 4.0 * static_cast<double>(options_.head_dim) * options_.q_heads;
    std::vector<std::pair<std::string, double>> columns{
        {"TFLOP/s", total_us > 0 ? flop / total_us * 1e-6 : 0}};
    if (options_.local != Local::none) return columns;
    columns.emplace_back("exposed(us)", total_us - median(schedule_us_));
    columns.emplace_back("copied(B)", static_cast<double>(ring_->report().bytes_copied));
    if (options_.limits) {
      columns.emplace_back("one_pass(us)", median(one_pass_us_));
      columns.emplace_back("partials(us)", median(partials_us_));
      columns.emplace_back("schedule(us)", median(schedule_us_));
      columns.emplace_back("ring(us)", total_us);
    }
    return columns;
  }

  void start_counting() override {
    for (auto* times : {&total_us_, &schedule_us_, &one_pass_us_, &partials_us_}) times->clear();
  }

 private:
  Status create_ring() {
    ring_.reset();
    const AttentionSpec spec{.tokens = tokens_,
                             .q_heads = options_.q_heads,
                             .kv_heads = options_.kv_heads,
                             .head_dim = static_cast<int>(options_.head_dim),
                             .dtype = shape_.dtype,
                             .mask = options_.mask,
                             .layout = options_.layout,
                             .strategy = options_.strategy,
                             .overlap = options_.overlap.value_or(plan::Overlap::on),
                             .chunk_bytes = options_.chunk_bytes,
                             .workers = options_.workers};
    PERF_TRY_ASSIGN(RingAttention ring, RingAttention::create(comm_, spec));
    ring_.emplace(std::move(ring));
    fill_attention(ring_->q(), ring_->positions(), AttentionTensor::q);
    fill_attention(ring_->k(), ring_->kv_positions(), AttentionTensor::k);
    fill_attention(ring_->v(), ring_->kv_positions(), AttentionTensor::v);
    const auto* k = static_cast<const std::byte*>(ring_->k().data);
    const auto* v = static_cast<const std::byte*>(ring_->v().data);
    pristine_.assign(k, k + ring_->k().bytes());
    pristine_.insert(pristine_.end(), v, v + ring_->v().bytes());
    return {};
  }

  /// Untimed, as the layer before writes K and V: a block that stays in its readers' caches moves for free.
  void rewrite() {
    const std::size_t half = pristine_.size() / 2;
    if (half == 0) return;
    std::memcpy(ring_->k().data, pristine_.data(), half);
    std::memcpy(ring_->v().data, pristine_.data() + half, half);
  }

  /// Seconds from when all ranks are ready until all have finished.
  template <class Call>
  Result<double> timed(std::vector<double>& times_us, Call&& call) {
    PERF_TRY(barrier(comm_.channel()).status());
    const std::int64_t begun_ns = now_ns();
    PERF_TRY(call());
    PERF_TRY(barrier(comm_.channel()).status());
    const auto spent_ns = static_cast<double>(now_ns() - begun_ns);
    times_us.push_back(spent_ns * 1e-3);
    return spent_ns * 1e-9;
  }

  Result<double> run_local(Local local, std::vector<double>& times_us) {
    limits_->rewrite(local);
    return timed(times_us, [&] { return limits_->run(local); });
  }

  Result<std::int64_t> check_local(Local local) {
    std::memset(limits_->out().data, 0xff, limits_->out().bytes());
    PERF_TRY(limits_->run(local));
    return count_wrong(limits_->out());
  }

  std::int64_t count_wrong(const TensorView& out) const {
    std::int64_t wrong = 0;
    for (const std::int64_t row : sample_rows(out.shape[0])) {
      const std::int64_t position = ring_->positions()[static_cast<std::size_t>(row)];
      const std::int64_t keys = options_.mask == Mask::causal ? position + 1 : tokens_;
      for (const int head : sample_heads(options_.q_heads))
        wrong += count_wrong_elements(shape_, {position, 0, keys, head}, out, row);
    }
    return wrong;
  }

  /// Visible (query, key) pairs of all ranks.
  double pairs() const {
    const auto tokens = static_cast<double>(tokens_);
    return options_.mask == Mask::causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
  }

  Communicator& comm_;
  const Options& options_;
  std::optional<RingAttention> ring_;
  std::optional<AttentionLimits> limits_;
  AttentionShape shape_;
  std::int64_t tokens_ = 0;
  std::vector<std::byte> pristine_;
  std::vector<double> total_us_, schedule_us_, one_pass_us_, partials_us_;
};

}  // namespace

std::unique_ptr<Case> make_ring_attention(Communicator& comm, const Options& options) {
  return std::make_unique<RingAttentionCase>(comm, options);
}

}  // namespace ringcomm::perf
