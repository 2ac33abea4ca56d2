// SPDX-License-Identifier: Apache-2.0
#include "collectives/softmax_call.hpp"

#include <memory>
#include <utility>

#include "collectives/plan_check.hpp"
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

/// A block as rows_in_block() lays it out, in memory that peers can read.
bool is_offerable_block(const Channel& channel, const SoftmaxPartial& partial, std::uint64_t bytes) {
  auto* const block = static_cast<std::byte*>(partial.out.data);
  const PartialRows laid_out =
      rows_in_block(block, partial.rows(), partial.dim(), partial.out.dtype, partial.form);
  return partial.out.is_contiguous() && partial.statistic.is_contiguous() &&
         partial.statistic.data == laid_out.statistic && channel.is_offerable(block, bytes);
}

Descriptor common_of(const SoftmaxCall& call) {
  Descriptor common;
  common.op = call.op;
  common.dtype = call.partial.out.dtype;
  common.reduce_op = call.partial.form == PartialForm::normalised ? ReduceOp::softmax_normalised
                                                                  : ReduceOp::softmax_unnormalised;
  // Rows travel as bytes with every block, so that a difference is named in numbers.
  common.bytes = call.rule.row_bytes;
  plan::Fnv signature;
  signature.add(call.rule.ranks).add(call.rule.access).add(call.rule.algorithm);
  signature.add(call.partial.dim()).add(call.partial.base);
  if (call.rule.leaves_results) signature.add(call.rule.leaves_results);
  if (call.rule.is_scattered) {
    signature.add(call.heads).add(call.head_counts.size());
    for (const std::uint64_t count : call.rule.counts) signature.add(count);
  }
  common.signature = signature.value();
  return common;
}

ProgramKey key_of(const SoftmaxCall& call) {
  return ProgramKey()
      .add(static_cast<std::uint64_t>(call.op))
      .add(static_cast<std::uint64_t>(call.rule.algorithm))
      .add(static_cast<std::uint64_t>(call.partial.form))
      .add(static_cast<std::uint64_t>(call.partial.base))
      .add(static_cast<std::uint64_t>(call.is_offerable))
      .add(static_cast<std::uint64_t>(call.rule.leaves_results))
      .add(static_cast<std::uint64_t>(call.stores))
      .add(call.heads)
      .add(static_cast<std::uint64_t>(call.head_counts.size()))
      .add(call.partial.out)
      .add(call.partial.statistic)
      .add(call.result.out)
      .add(call.result.statistic);
}

Result<std::shared_ptr<Runnable>> make_runnable(Channel& channel, const SoftmaxCall& call) {
  const plan::SoftmaxRule& rule = call.rule;
  RINGCOMM_TRY(check_plan(rule.ranks, [&](int rank) { return plan::softmax_slice(rule, rank); }));
  return rule.algorithm == plan::MergeAlgorithm::recursive_doubling
             ? make_softmax_pairs(channel, call, common_of(call))
             : make_softmax_run(channel, call, common_of(call));
}

}  // namespace

Status set_rule(const Channel& channel, SoftmaxCall& call, std::string_view what) {
  const SoftmaxPartial& partial = call.partial;
  call.rule.ranks = channel.size();
  call.rule.access = channel.capabilities().direct_read ? plan::Access::direct_read : plan::Access::two_sided;
  call.rule.rows = static_cast<std::uint64_t>(partial.rows());
  call.rule.row_bytes = softmax_row_bytes(partial.dim(), partial.out.dtype, partial.form);
  call.rule.statistic_bytes = static_cast<std::uint64_t>(4 * statistics_per_row(partial.form));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(call.rule.rows, call.rule.row_bytes, &bytes))
    return Status::invalid_argument(concat(what, ": the partial is larger than 2^64 bytes"));
  call.is_offerable = is_offerable_block(channel, partial, bytes);
  call.is_in_place =
      partial.out.data == call.result.out.data || partial.statistic.data == call.result.statistic.data;
  return {};
}

std::uint64_t one_shot_limit(const Channel& channel, const plan::SoftmaxRule& rule) {
  const bool is_direct = rule.access == plan::Access::direct_read;
  const bool copies_results = !rule.leaves_results && is_direct;
  const MergeLimits& limits = channel.merge_limits();
  const std::uint64_t measured = copies_results ? limits.copied_one_shot_bytes : limits.one_shot_bytes;
  if (measured > 0 && is_direct && limits.ranks == static_cast<std::uint64_t>(rule.ranks)) return measured;
  if (rule.ranks > 2) return copies_results && rule.ranks <= 4 ? 40960 : 4096;
  return copies_results ? ~std::uint64_t{0} : is_direct ? 4096 : 8192;
}

MergeStores stores_for(const Channel& channel, const plan::SoftmaxRule& rule, MergeStores wanted) {
  if (wanted != MergeStores::automatic) return wanted;
  const auto ranks = static_cast<std::uint64_t>(rule.ranks);
  const std::uint64_t copies = ranks + (rule.leaves_results || rule.is_scattered ? 1 : ranks);
  return rule.rows * rule.row_bytes > channel.merge_limits().cache_bytes / copies ? MergeStores::around_caches
                                                                                  : MergeStores::cached;
}

Result<std::shared_ptr<Runnable>> program_of(Channel& channel, const SoftmaxCall& call) {
  auto& programs = ChannelState::of(channel).programs;
  const ProgramKey key = key_of(call);
  const std::vector<std::int64_t> counts(call.rule.counts.begin(), call.rule.counts.end());
  auto runnable = programs.find(key, counts);
  if (!runnable) {
    auto made = make_runnable(channel, call);
    RINGCOMM_TRY(prepared_or_failed(channel, made.status()));
    runnable = std::move(made).value();
    channel.keep_plan(runnable->common.signature, runnable->program.slice);
    programs.insert(key, counts, runnable);
  }
  return runnable;
}

Result<Work> run_call(Channel& channel, const SoftmaxCall& call, const CallOptions& options) {
  RINGCOMM_TRY_ASSIGN(const auto runnable, program_of(channel, call));
  return launch(channel, runnable, options);
}

}  // namespace ringcomm::inline v0::collectives
