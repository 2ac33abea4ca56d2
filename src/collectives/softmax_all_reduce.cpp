// SPDX-License-Identifier: Apache-2.0
// One-shot and two-shot merge of all ranks' partials, in canonical order.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/softmax_merge.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0 {
namespace collectives {
namespace {

// Below, one round costs less than two; measured on shared memory (communication.md 7.2).
constexpr std::uint64_t kOneShotBytesOfTwo = 8192;
constexpr std::uint64_t kOneShotBytesOfMany = 4096;

plan::MergeAlgorithm chosen(MergeChoice choice, int ranks, std::uint64_t bytes) {
  if (choice == MergeChoice::one_shot) return plan::MergeAlgorithm::one_shot;
  if (choice == MergeChoice::two_shot) return plan::MergeAlgorithm::two_shot;
  const std::uint64_t limit = ranks <= 2 ? kOneShotBytesOfTwo : kOneShotBytesOfMany;
  return bytes <= limit || ranks == 1 ? plan::MergeAlgorithm::one_shot : plan::MergeAlgorithm::two_shot;
}

/// All that one call is about.
struct Reduction {
  SoftmaxPartial partial;
  SoftmaxPartial result;
  plan::SoftmaxRule rule;
  bool is_offerable = false;  ///< the partial is a block that peers can read where it lies
  bool is_in_place = false;
};

/// A block as rows_in_block() lays it out, in memory that peers can read.
bool is_offerable_block(const Channel& channel, const SoftmaxPartial& partial, std::uint64_t bytes) {
  auto* const block = static_cast<std::byte*>(partial.out.data);
  const PartialRows laid_out =
      rows_in_block(block, partial.rows(), partial.dim(), partial.out.dtype, partial.form);
  return partial.out.is_contiguous() && partial.statistic.is_contiguous() &&
         partial.statistic.data == laid_out.statistic && channel.is_offerable(block, bytes);
}

class SoftmaxRun : public Runnable {
 public:
  SoftmaxRun(Channel& channel, const Reduction& call)
      : channel_(channel),
        rule_(call.rule),
        kind_{call.partial.form, call.partial.base},
        dim_(call.partial.dim()),
        partial_(rows_of(call.partial)),
        result_(rows_of(call.result)),
        sources_(static_cast<std::size_t>(rule_.ranks)),
        weights_(static_cast<std::size_t>(rule_.ranks)) {
    // Peers that read the partial in place must not see the result in it: then the plan's reclaims come
    // first.
    merges_into_result_ =
        rule_.algorithm == plan::MergeAlgorithm::one_shot && !(call.is_in_place && call.is_offerable);
    compute = [](Runnable& self, const Compute& step) {
      auto& run = static_cast<SoftmaxRun&>(self);
      if (step.op.code == static_cast<std::uint32_t>(plan::ComputeCode::merge)) {
        run.merge(step);
      } else {
        run.copy_result(step);
      }
    };
  }

  Status allocate(const Reduction& call, plan::RankPlan slice) {
    std::vector<std::byte*> slots{static_cast<std::byte*>(call.partial.out.data)};
    if (!call.is_offerable || !is_direct()) {
      RINGCOMM_TRY_ASSIGN(slots[0], take_block(slice.slots[0].bytes));
      staged_ = slots[0];
      prepare = [](Runnable& self) { static_cast<SoftmaxRun&>(self).stage(); };
    }
    for (std::size_t slot = 1; slot < slice.slots.size(); ++slot) {
      RINGCOMM_TRY_ASSIGN(std::byte* const block, take_block(slice.slots[slot].bytes));
      slots.push_back(block);
    }
    RINGCOMM_TRY_ASSIGN(program, lower(std::move(slice), slots, common));
    return {};
  }

 private:
  bool is_direct() const { return rule_.access == plan::Access::direct_read; }
  bool is_two_shot() const { return rule_.algorithm == plan::MergeAlgorithm::two_shot; }
  std::int64_t first_row(int rank) const {
    return is_two_shot() ? static_cast<std::int64_t>(plan::slice_first(rule_.rows, rule_.ranks, rank)) : 0;
  }
  std::int64_t row_count(int rank) const {
    return is_two_shot() ? first_row(rank + 1) - first_row(rank) : static_cast<std::int64_t>(rule_.rows);
  }
  std::int64_t byte_of(std::int64_t row) const { return row * static_cast<std::int64_t>(rule_.row_bytes); }
  PartialRows block(std::byte* at, std::int64_t rows) const {
    return rows_in_block(at, rows, dim_, partial_.dtype, kind_.form);
  }

  Result<std::byte*> take_block(std::uint64_t bytes) {
    RINGCOMM_TRY_ASSIGN(auto taken, channel_.allocate(bytes));
    blocks_.push_back(std::move(taken));
    return blocks_.back().data();
  }

  // Peers that read in place see the whole block; messages carry one slice each, so the slices lie apart.
  void stage() {
    if (is_direct()) {
      const auto rows = static_cast<std::int64_t>(rule_.rows);
      copy_rows(partial_, block(staged_, rows), rows, dim_, kind_.form);
    } else {
      for (int rank = 0; rank < (is_two_shot() ? rule_.ranks : 1); ++rank) {
        const std::int64_t first = first_row(rank);
        copy_rows(advanced(partial_, first), block(staged_ + byte_of(first), row_count(rank)),
                  row_count(rank), dim_, kind_.form);
      }
    }
    channel_.count_packed(static_cast<std::size_t>(byte_of(static_cast<std::int64_t>(rule_.rows))));
  }

  // The k-way merge in rank order: canonical, so that every rank and both algorithms give the same bits.
  void merge(const Compute& step) {
    const int own = program.slice.rank;
    const std::int64_t first = first_row(own);
    const std::int64_t count = row_count(own);
    if (count == 0) return;
    for (int rank = 0; rank < rule_.ranks; ++rank)
      sources_[static_cast<std::size_t>(rank)] = source_of(rank, first, count);
    const PartialRows target = merges_into_result_ ? result_ : block(step.target, count);
    merge_rows(kind_, dim_, target, sources_, 0, count, weights_);
  }

  PartialRows source_of(int rank, std::int64_t first, std::int64_t count) const {
    if (rank == program.slice.rank) return advanced(partial_, first);
    const auto at = static_cast<std::size_t>(rank);
    if (!is_direct()) return block(blocks_[at + inbox_first()].data(), count);
    // The view begins `first` rows into the peer's block; out and statistics of a slice lie in two places of
    // it.
    auto* const view = const_cast<std::byte*>(program.views[at].data);
    return advanced(block(view - byte_of(first), static_cast<std::int64_t>(rule_.rows)), first);
  }

  /// Blocks: the staged partial (always, with messages), the merged slice, then the inboxes by rank.
  static constexpr std::size_t inbox_first() { return 2; }

  void copy_result(const Compute& step) {
    if (merges_into_result_ || step.op.bytes == 0) return;
    auto* const from = step.view != nullptr ? const_cast<std::byte*>(step.view->data) : step.slot;
    const std::int64_t count = row_count(step.op.block);
    copy_rows(block(from, count), advanced(result_, first_row(step.op.block)), count, dim_, kind_.form);
  }

  Channel& channel_;
  plan::SoftmaxRule rule_;
  MergeKind kind_;
  std::int64_t dim_;
  PartialRows partial_;
  PartialRows result_;
  bool merges_into_result_ = false;
  std::byte* staged_ = nullptr;
  std::vector<ArenaBlock> blocks_;
  std::vector<PartialRows> sources_;  ///< scratch of merge()
  std::vector<float> weights_;
};

Result<Reduction> check_call(const Channel& channel, const SoftmaxPartial& partial,
                             const SoftmaxPartial& result, MergeChoice choice) {
  RINGCOMM_TRY(check_partial(partial, "softmax_all_reduce: partial"));
  RINGCOMM_TRY(check_partial(result, "softmax_all_reduce: result"));
  RINGCOMM_TRY(check_same(partial, "softmax_all_reduce: partial", result, "result"));
  if (partial.out.dtype != result.out.dtype) {
    return Status::invalid_argument(concat("softmax_all_reduce: partial is ", name_of(partial.out.dtype),
                                           ", result is ", name_of(result.out.dtype)));
  }
  RINGCOMM_TRY(check_aliasing(partial, "softmax_all_reduce: partial", result, "result"));
  Reduction call{.partial = partial, .result = result, .rule = {}};
  call.rule.ranks = channel.size();
  call.rule.access = channel.capabilities().direct_read ? plan::Access::direct_read : plan::Access::two_sided;
  call.rule.rows = static_cast<std::uint64_t>(partial.rows());
  call.rule.row_bytes = softmax_row_bytes(partial.dim(), partial.out.dtype, partial.form);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(call.rule.rows, call.rule.row_bytes, &bytes))
    return Status::invalid_argument("softmax_all_reduce: the partial is larger than 2^64 bytes");
  call.rule.algorithm = chosen(choice, channel.size(), bytes);
  call.is_offerable = is_offerable_block(channel, partial, bytes);
  call.is_in_place = partial.out.data == result.out.data || partial.statistic.data == result.statistic.data;
  return call;
}

Result<std::shared_ptr<Runnable>> make_reduction(Channel& channel, const Reduction& call) {
  const plan::SoftmaxRule& rule = call.rule;
  RINGCOMM_TRY(check_plan(rule.ranks, [&](int rank) { return plan::softmax_slice(rule, rank); }));
  RINGCOMM_TRY_ASSIGN(auto slice, plan::softmax_slice(rule, channel.rank()));
  auto made = std::make_shared<SoftmaxRun>(channel, call);
  made->common.op = OpCode::softmax_all_reduce;
  made->common.dtype = call.partial.out.dtype;
  made->common.reduce_op = call.partial.form == PartialForm::normalised ? ReduceOp::softmax_normalised
                                                                        : ReduceOp::softmax_unnormalised;
  // Rows travel as bytes with every block, so that a difference is named in numbers.
  made->common.bytes = rule.row_bytes;
  made->common.signature = plan::Fnv()
                               .add(rule.ranks)
                               .add(rule.access)
                               .add(rule.algorithm)
                               .add(call.partial.dim())
                               .add(call.partial.base)
                               .value();
  RINGCOMM_TRY(made->allocate(call, std::move(slice)));
  return std::shared_ptr<Runnable>(std::move(made));
}

ProgramKey key_of(const Reduction& call) {
  return ProgramKey()
      .add(static_cast<std::uint64_t>(OpCode::softmax_all_reduce))
      .add(static_cast<std::uint64_t>(call.rule.algorithm))
      .add(static_cast<std::uint64_t>(call.partial.form))
      .add(static_cast<std::uint64_t>(call.partial.base))
      .add(static_cast<std::uint64_t>(call.is_offerable))
      .add(call.partial.out)
      .add(call.partial.statistic)
      .add(call.result.out)
      .add(call.result.statistic);
}

}  // namespace
}  // namespace collectives

Result<Work> softmax_all_reduce(Channel& channel, const SoftmaxPartial& partial, const SoftmaxPartial& result,
                                const SoftmaxAllReduceOptions& options) {
  return comm::guard("softmax_all_reduce", [&]() -> Result<Work> {
    RINGCOMM_TRY_ASSIGN(const auto call,
                        collectives::check_call(channel, partial, result, options.algorithm));
    auto& programs = collectives::ChannelState::of(channel).programs;
    const collectives::ProgramKey key = collectives::key_of(call);
    auto runnable = programs.find(key, {});
    if (!runnable) {
      auto made = collectives::make_reduction(channel, call);
      RINGCOMM_TRY(collectives::prepared_or_failed(channel, made.status()));
      runnable = std::move(made).value();
      programs.insert(key, {}, runnable);
    }
    return collectives::launch(channel, runnable, options.call);
  });
}

}  // namespace ringcomm::inline v0
